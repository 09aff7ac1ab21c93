"""Surface layouts: where every subresource lies, limits, and that asking costs nothing however large the surface."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wddm.hw.formats import FORMATS, Format
from wddm.hw.layout import (
    MAX_DEPTH,
    MAX_DIMENSION,
    MAX_MIPS,
    MAX_SLICES,
    PITCH_ALIGNMENT,
    SUBRESOURCE_ALIGNMENT,
    full_mip_count,
    mip_extent,
    surface_layout,
)

RGBA8 = Format.R8G8B8A8_UNORM


@st.composite
def surfaces(draw: st.DrawFn) -> tuple[Format, int, int, int, int, int, int]:
    format = draw(st.sampled_from([f for f in Format if FORMATS[f].bytes_per_block]))
    width, height = draw(st.integers(1, 300)), draw(st.integers(1, 300))
    samples = draw(st.sampled_from([1, 1, 1, 2, 4, 8]))
    depth = draw(st.integers(1, 20)) if samples == 1 else 1
    mips = draw(st.integers(1, full_mip_count(width, height, depth))) if samples == 1 else 1
    return format, width, height, depth, mips, draw(st.integers(1, 7)), samples


@settings(deadline=None, max_examples=150)
@given(surfaces())
def test_subresources_follow_each_other_and_hold_their_texels(surface: tuple[Format, int, int, int, int, int, int]) -> None:
    format, width, height, depth, mips, slices, samples = surface
    info = FORMATS[format]
    layout = surface_layout(*surface)
    assert len(layout.subresources) == mips * slices
    end = 0
    for index, sub in enumerate(layout.subresources):
        mip, array_slice = index % mips, index // mips
        assert layout[mip, array_slice] == layout.subresources[index] == sub
        assert sub.offset == -(-end // SUBRESOURCE_ALIGNMENT) * SUBRESOURCE_ALIGNMENT
        assert (sub.width, sub.height, sub.depth) == tuple(mip_extent(n, mip) for n in (width, height, depth))
        assert sub.rows == -(-sub.height // info.block)
        row = -(-sub.width // info.block_width) * info.bytes_per_block
        assert row <= sub.row_pitch < row + PITCH_ALIGNMENT
        assert sub.row_pitch % PITCH_ALIGNMENT == 0
        assert sub.depth_pitch == sub.rows * sub.row_pitch
        assert sub.sample_pitch == sub.depth * sub.depth_pitch
        assert sub.size == samples * sub.sample_pitch
        end = sub.offset + sub.size
    assert layout.size == -(-end // SUBRESOURCE_ALIGNMENT) * SUBRESOURCE_ALIGNMENT == layout.slice_pitch * slices


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((Format.UNKNOWN, 1), "format 0 has no memory layout"),
        ((RGBA8, 0), r"width 0 is not in 1\.\.16384"),
        ((RGBA8, MAX_DIMENSION + 1), "width 16385"),
        ((RGBA8, 1, MAX_DIMENSION + 1), "height 16385"),
        ((RGBA8, 1, 1, MAX_DEPTH + 1), "depth 2049"),
        ((RGBA8, 1, 1, 1, MAX_MIPS + 1), "mips 16"),
        ((RGBA8, 1, 1, 1, 1, MAX_SLICES + 1), "slices 2049"),
        ((RGBA8, 4, 4, 1, 4), "4 mips of a 4x4x1 surface"),
        ((RGBA8, 4, 4, 1, 1, 1, 3), "3 samples"),
        ((RGBA8, 4, 4, 1, 1, 1, 16), "16 samples"),
        ((RGBA8, 4, 4, 1, 2, 1, 4), "multisampled surface has one mip"),
        ((RGBA8, 4, 4, 2, 1, 1, 4), "multisampled surface has one mip"),
    ],
)
def test_what_is_no_surface_is_refused_in_words(arguments: tuple[int, ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        surface_layout(*arguments)  # type: ignore[arg-type]


def test_the_largest_surfaces_cost_nothing_to_describe() -> None:
    begin = time.perf_counter()
    for width in range(MAX_DIMENSION - 200, MAX_DIMENSION):
        surface_layout(RGBA8, width, width, 1, 14, MAX_SLICES)
    assert time.perf_counter() - begin < 2  # some milliseconds; made one by one the subresources would be five million


def test_subresources_are_a_sequence() -> None:
    subresources = surface_layout(RGBA8, 8, 8, 1, 4, 3).subresources
    assert subresources[-1] == subresources[11]
    assert subresources[2:4] == (subresources[2], subresources[3])
    assert subresources[5] in subresources
    assert repr(subresources) == "<12 subresources>"
    for outside in (12, -13):
        with pytest.raises(IndexError, match=f"subresource {outside} of 12"):
            subresources[outside]
    with pytest.raises(IndexError, match="mip 4 of 4"):
        surface_layout(RGBA8, 8, 8, 1, 4, 3)[4, 0]


def test_mips_go_down_to_one_texel() -> None:
    assert full_mip_count(1) == 1
    assert full_mip_count(16384) == 15
    assert full_mip_count(3, 1, 9) == 4
    assert [mip_extent(5, m) for m in range(4)] == [5, 2, 1, 1]
