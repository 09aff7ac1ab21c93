"""Texels as numpy arrays: dtype, shape, pitches."""

from __future__ import annotations

import numpy as np
import pytest

from wddm.client.pixels import DEPTH_STENCIL_64, texels
from wddm.ddi.dxgiformat import DXGI_FORMAT, FORMATS


@pytest.mark.parametrize(
    ("name", "dtype", "shape"),
    [
        ("R8G8B8A8_UNORM", "u1", (6, 10, 4)),
        ("R8_SNORM", "i1", (6, 10, 1)),
        ("R16G16_FLOAT", "f2", (6, 10, 2)),
        ("R32G32B32_SINT", "i4", (6, 10, 3)),
        ("R32_TYPELESS", "u4", (6, 10, 1)),
        ("D32_FLOAT", "f4", (6, 10, 1)),
        ("R10G10B10A2_UNORM", "u4", (6, 10)),
        ("R11G11B10_FLOAT", "u4", (6, 10)),
        ("B5G6R5_UNORM", "u2", (6, 10)),
        ("D24_UNORM_S8_UINT", "u4", (6, 10)),
        ("R8G8_B8G8_UNORM", "u1", (6, 5, 4)),
        ("BC1_UNORM", "u1", (2, 3, 8)),
        ("BC7_UNORM_SRGB", "u1", (2, 3, 16)),
    ],
)
def test_forms(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    form = texels(DXGI_FORMAT[name])
    assert form.dtype == np.dtype(dtype)
    assert form.shape((10, 6)) == shape


def test_depth_and_stencil_of_64_bits() -> None:
    assert texels(DXGI_FORMAT.D32_FLOAT_S8X24_UINT).dtype == DEPTH_STENCIL_64


def test_rows_agree_with_the_format_table() -> None:
    for format, info in FORMATS.items():
        if info.format_class.value in ("V", "?", "L") or not info.bits:
            continue
        form = texels(format)
        if form.across != 2:
            assert form.row_bytes(13) == info.row_bytes(13), format
        assert form.rows(13) == info.rows(13), format


def test_an_image_is_taken_out_of_its_pitches() -> None:
    form = texels(DXGI_FORMAT.R8G8_UINT)
    data = np.arange(64, dtype=np.uint8)
    image = form.image(data, (3, 2, 2), 8, 32)
    assert image.shape == (2, 2, 3, 2)
    assert image[1, 1].tolist() == [[40, 41], [42, 43], [44, 45]]
    assert image.flags.owndata or image.base is None


def test_an_image_beyond_its_data_is_refused() -> None:
    with pytest.raises(ValueError, match="hold no image"):
        texels(DXGI_FORMAT.R8_UINT).image(np.zeros(10, np.uint8), (4, 4), 4, 16)


@pytest.mark.parametrize("format", [0, 103, 4000, 66])
def test_what_has_no_form(format: int) -> None:
    with pytest.raises(ValueError, match="format"):
        texels(format)
