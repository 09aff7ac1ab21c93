"""Descriptors: what is packed comes out again, and a number that does not fit its field is refused."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wddm.hw.descriptors import (
    DepthStencil,
    InputElement,
    Rasterizer,
    Sampler,
    StencilFace,
    TargetBlend,
    View,
    ViewDimension,
    bits_float,
    float_bits,
)


def bits(width: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << width) - 1)


floats = st.floats(width=32, allow_nan=False)
views = st.builds(
    View,
    dimension=st.sampled_from(ViewDimension),
    **{n: bits(8) for n in ("format", "mips", "samples", "first_mip", "mip_count", "flags")},
    **{n: bits(16) for n in ("depth", "slices", "first_slice", "slice_count")},
    **{n: bits(32) for n in ("width", "height", "stride")},
    min_lod=floats,
)
samplers = st.builds(
    Sampler,
    **{n: bits(1) for n in ("min_filter", "mag_filter", "mip_filter")},
    anisotropic=st.booleans(),
    compare=st.booleans(),
    **{n: bits(3) for n in ("address_u", "address_v", "address_w")},
    comparison=bits(4),
    max_anisotropy=bits(5),
    **{n: floats for n in ("mip_lod_bias", "min_lod", "max_lod")},
    border=st.tuples(floats, floats, floats, floats),
)
faces = st.builds(StencilFace, bits(8), bits(8), bits(8), bits(8))
depth_stencils = st.builds(
    DepthStencil, st.booleans(), st.booleans(), bits(4), st.booleans(), bits(8), bits(8), faces, faces, bits(8)
)
rasterizers = st.builds(
    Rasterizer, bits(2), bits(2), *[st.booleans()] * 5, st.integers(-(1 << 31), (1 << 31) - 1), floats, floats
)
blends = st.builds(TargetBlend, st.booleans(), bits(5), bits(5), bits(3), bits(5), bits(5), bits(3), bits(4))
elements = st.builds(InputElement, bits(5), bits(5), bits(8), bits(16), st.booleans(), bits(16))


@settings(deadline=None, max_examples=200)
@given(st.one_of(views, samplers, depth_stencils, rasterizers))
def test_eight_dwords_come_out_again(descriptor: Any) -> None:
    data = descriptor.pack()
    assert len(data) == 8
    assert all(0 <= word < 1 << 32 for word in data)
    assert type(descriptor).unpack(data) == descriptor


@settings(deadline=None, max_examples=100)
@given(faces, blends, elements)
def test_smaller_ones_come_out_again(face: StencilFace, blend: TargetBlend, element: InputElement) -> None:
    assert StencilFace.unpack(face.pack()) == face
    assert TargetBlend.unpack(blend.pack()) == blend
    assert InputElement.unpack(*element.pack()) == element


LIMITS = [
    (View(ViewDimension.TEXTURE2D, 28, 1), {"width": 32, "depth": 16, "slices": 16, "slice_count": 16, "samples": 8, "mips": 8}),
    (Sampler(), {"min_filter": 1, "address_v": 3, "comparison": 4, "max_anisotropy": 5}),
    (TargetBlend(), {"src": 5, "dst_alpha": 5, "op": 3, "op_alpha": 3, "write_mask": 4}),
    (StencilFace(), {"fail": 8, "comparison": 8}),
    (DepthStencil(), {"read_mask": 8, "reference": 8, "comparison": 4}),
    (Rasterizer(), {"fill": 2, "cull": 2}),
    (InputElement(0, 0, 28, 0), {"register": 5, "slot": 5, "format": 8, "offset": 16, "step_rate": 16}),
]


@pytest.mark.parametrize(
    ("descriptor", "field", "width"),
    [(d, field, width) for d, fields in LIMITS for field, width in fields.items()],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_number_that_does_not_fit_is_refused_by_name(descriptor: Any, field: str, width: int) -> None:
    dataclasses.replace(descriptor, **{field: (1 << width) - 1}).pack()
    for wrong in (1 << width, -1):
        with pytest.raises(ValueError, match=rf"{type(descriptor).__name__}\.{field} {wrong} does not fit {width} bits"):
            dataclasses.replace(descriptor, **{field: wrong}).pack()


def test_a_view_without_a_dimension_is_no_view() -> None:
    with pytest.raises(ValueError, match="ViewDimension"):
        View.unpack((1, 1, 1, 0xFF00, 0, 0, 0, 0))


def test_floats_beyond_the_range_become_infinities() -> None:
    assert float_bits(1e300) == float_bits(math.inf) == 0x7F80_0000
    assert float_bits(-1e300) == 0xFF80_0000
    assert math.isnan(bits_float(float_bits(math.nan)))
    assert bits_float(float_bits(-0.1)) == pytest.approx(-0.1)
    assert bits_float(0x3F80_0000) == 1.0
