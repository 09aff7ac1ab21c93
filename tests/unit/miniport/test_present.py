"""DxgkDdiPresent: what may be flipped, where blits and fills go, how colours are seen, and presents of many rectangles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miniport.allocation import Allocations
from miniport.present import present
from miniport.private import DMA_PRIVATE_SIZE
from miniport.render import Refused
from miniport.segments import MemorySizes
from wddm.ddi.d3dkmddi import (
    DXGK_ALLOCATIONINFO,
    DXGK_ALLOCATIONLIST_DTYPE,
    DXGK_PRESENTFLAGS,
    DXGKARG_CREATEALLOCATION,
    DXGKARG_PRESENT,
    dxgk_allocation_list_value,
)
from wddm.ddi.d3dukmdt import D3DDDI_PATCHLOCATIONLIST_DTYPE, RECT
from wddm.ddi.status import NTSTATUS
from wddm.hw.descriptors import View, bits_float
from wddm.hw.driver import ALLOCATION_PRIVATE, AllocationFlag, AllocationKind, private_record
from wddm.hw.formats import Format
from wddm.hw.packets import PACKET, PACKET_SIZE, Blt, ClearKind, Op

Flags = DXGK_PRESENTFLAGS
BASES = {1: 0x1_0100_0000, 2: 0x1_0200_0000}


class Surfaces:
    """Allocations, opened, by name."""

    def __init__(self) -> None:
        self.all = Allocations(MemorySizes(1 << 28, 1 << 24, 1 << 30), lambda text: None)

    def make(self, width: int = 64, height: int = 48, format: Format = Format.B8G8R8A8_UNORM, **fields: int) -> int:
        record = private_record(
            ALLOCATION_PRIVATE,
            **(
                {
                    "kind": AllocationKind.TEXTURE,
                    "flags": AllocationFlag.RENDER_TARGET,
                    "format": format,
                    "width": width,
                    "height": height,
                    "depth": 1,
                    "mips": 1,
                    "slices": 1,
                    "samples": 1,
                }
                | fields
            ),
        )
        info = DXGK_ALLOCATIONINFO(pPrivateDriverData=record, PrivateDriverDataSize=len(record))
        assert self.all.create(DXGKARG_CREATEALLOCATION([info], 1)) == NTSTATUS.STATUS_SUCCESS
        return self.all.open(info.hAllocation)

    def ask(self, flags: Flags, source: int, destination: int, *, dma: int = 64 * PACKET_SIZE, patches: int = 8, **more) -> DXGKARG_PRESENT:
        listed = np.zeros(3, DXGK_ALLOCATIONLIST_DTYPE)
        listed["hDeviceSpecificAllocation"] = [0, source, destination]
        listed["Value"] = [dxgk_allocation_list_value(WriteOperation=w, SegmentId=1) for w in (False, False, True)]
        listed["PhysicalAddress"] = [0, BASES[1], BASES[2]]
        return DXGKARG_PRESENT(
            pAllocationList=listed,
            Flags=flags,
            pDmaBuffer=np.zeros(dma, np.uint8),
            DmaSize=dma,
            pDmaBufferPrivateData=np.full(DMA_PRIVATE_SIZE, 0xEE, np.uint8),
            DmaBufferPrivateDataSize=DMA_PRIVATE_SIZE,
            pPatchLocationListOut=np.zeros(patches, D3DDDI_PATCHLOCATIONLIST_DTYPE),
            PatchLocationListOutSize=patches,
            **more,
        )

    def rows(self, arguments: DXGKARG_PRESENT, status: NTSTATUS = NTSTATUS.STATUS_SUCCESS) -> np.ndarray:
        assert present(arguments, self.all) == status
        assert arguments.pDmaBuffer is not None
        return arguments.pDmaBuffer[: arguments.DmaBufferUsed].view(PACKET)


@pytest.fixture
def s() -> Surfaces:
    return Surfaces()


def corners(row: np.ndarray) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Destination and source rectangle of a BLT packet."""
    d = row["data"].tolist()
    to, from_ = (
        (d[i] & 0xFFFF, d[i] >> 16, d[j] & 0xFFFF, d[j] >> 16)
        for i, j in ((Blt.DST_LEFT_TOP, Blt.DST_RIGHT_BOTTOM), (Blt.SRC_LEFT_TOP, Blt.SRC_RIGHT_BOTTOM))
    )
    return to, from_


# ----- flips ------------------------------------------------------------------------------------------------------------------


def test_a_flip_of_a_primary_is_good_and_writes_nothing(s: Surfaces) -> None:
    a = s.ask(Flags.Flip, s.make(flags=AllocationFlag.PRIMARY), 0)
    a.pDmaBuffer = a.pDmaBufferPrivateData = a.pPatchLocationListOut = None
    assert present(a, s.all) == NTSTATUS.STATUS_SUCCESS
    assert (a.DmaBufferUsed, a.PatchLocationListOutUsed) == (0, 0)


def test_other_flips_are_refused(s: Surfaces) -> None:
    primary, plain = s.make(flags=AllocationFlag.PRIMARY), s.make()
    for flags, source, destination, why in (
        (Flags.Flip, 0, 0, "a flip has a source"),
        (Flags.Flip, primary, plain, "no destination"),
        (Flags.Flip | Flags.Blt, primary, 0, "is nothing else"),
        (Flags.FlipWithNoWait, plain, 0, "not created as a primary"),
    ):
        with pytest.raises(Refused, match=why) as info:
            present(s.ask(flags, source, destination), s.all)
        assert info.value.status == NTSTATUS.STATUS_INVALID_PARAMETER


@pytest.mark.parametrize("flag", ["SrcColorKey", "DstColorKey", "Rotate", "FlipStereo", "FlipWithMultiPlaneOverlay", "RedirectedFlip"])
def test_what_this_hardware_does_not_do_is_refused(s: Surfaces, flag: str) -> None:
    with pytest.raises(Refused, match="not supported") as info:
        present(s.ask(Flags.Blt | Flags[flag], s.make(), s.make()), s.all)
    assert info.value.status == NTSTATUS.STATUS_ILLEGAL_INSTRUCTION


# ----- blits ------------------------------------------------------------------------------------------------------------------


def blit(s: Surfaces, source: int, destination: int, dst: tuple, src: tuple, *subs: tuple, **more) -> DXGKARG_PRESENT:
    flags = more.pop("flags", Flags.Blt)
    rectangles = [RECT(*r) for r in subs]
    return s.ask(
        flags, source, destination, DstRect=RECT(*dst), SrcRect=RECT(*src), SubRectCnt=len(subs), pDstSubRects=rectangles, **more
    )


def test_a_whole_blit_names_both_surfaces_and_one_rectangle(s: Surfaces) -> None:
    a = blit(s, s.make(), s.make(128, 96), (0, 0, 128, 96), (0, 0, 64, 48))
    rows = s.rows(a)
    assert rows["op"].tolist() == [Op.SET_SURFACE, Op.SET_SURFACE, Op.BLT]
    assert rows["slot"].tolist() == [0, 1, 0]
    assert rows["address"].tolist() == [BASES[2], BASES[1], 0]  # pre-patched: Patch may be skipped
    assert corners(rows[2]) == ((0, 0, 128, 96), (0, 0, 64, 48))
    views = [View.unpack(r["data"].tolist()) for r in rows[:2]]
    assert [(v.width, v.height, v.samples) for v in views] == [(128, 96, 1), (64, 48, 1)]
    got = a.pPatchLocationListOut[: a.PatchLocationListOutUsed]
    assert got["AllocationIndex"].tolist() == got["Value"].tolist() == [2, 1]
    assert got["PatchOffset"].tolist() == [8, 72]
    assert a.DmaBufferPrivateDataUsed == DMA_PRIVATE_SIZE
    assert not a.pDmaBufferPrivateData.any()


def test_sub_rectangles_are_clipped_to_the_destination_rectangle_and_the_surface(s: Surfaces) -> None:
    subs = [(-5, -5, 10, 10), (10, 10, 20, 20), (60, 40, 1000, 1000), (100, 100, 120, 120), (5, 5, 5, 9), (0, 46, 64, 60)]
    rows = s.rows(blit(s, s.make(), s.make(), (2, 2, 66, 50), (0, 0, 64, 48), *subs))[2:]
    assert [corners(r) for r in rows] == [
        ((2, 2, 10, 10), (0, 0, 8, 8)),
        ((10, 10, 20, 20), (8, 8, 18, 18)),
        ((60, 40, 64, 48), (58, 38, 62, 46)),
        ((2, 46, 64, 48), (0, 44, 62, 46)),
    ]


def test_a_blit_that_falls_beside_the_surface_does_nothing(s: Surfaces) -> None:
    rows = s.rows(blit(s, s.make(), s.make(), (100, 100, 200, 200), (0, 0, 64, 48)))
    assert rows["op"].tolist() == [Op.SET_SURFACE, Op.SET_SURFACE]


@pytest.mark.parametrize(
    ("dst", "src", "why"),
    [
        ((5, 5, 5, 9), (0, 0, 1, 1), "an empty destination rectangle"),
        ((5, 9, 9, 5), (0, 0, 1, 1), "an empty destination rectangle"),
        ((0, 0, 8, 8), (0, 0, 0, 4), "outside its surface"),
        ((0, 0, 8, 8), (-1, 0, 4, 4), "outside its surface"),
        ((0, 0, 8, 8), (0, 0, 65, 4), "outside its surface"),
        ((0, 0, 8, 8), (0, 0, 4, 49), "outside its surface"),
    ],
)
def test_bad_rectangles_are_refused(s: Surfaces, dst: tuple, src: tuple, why: str) -> None:
    with pytest.raises(Refused, match=why) as info:
        present(blit(s, s.make(), s.make(), dst, src), s.all)
    assert info.value.status == NTSTATUS.STATUS_INVALID_PARAMETER


_int32 = st.one_of(st.integers(-80, 150), st.integers(-(1 << 31), (1 << 31) - 1))
_rect = st.tuples(_int32, _int32, _int32, _int32)


@settings(deadline=None, max_examples=150)
@given(_rect, _rect | st.just((0, 0, 64, 48)), st.lists(_rect, max_size=4))
def test_any_rectangles_are_refused_or_stay_inside_both_surfaces(dst: tuple, src: tuple, subs: list[tuple]) -> None:
    s = Surfaces()
    a = blit(s, s.make(64, 48), s.make(100, 90), dst, src, *subs)
    try:
        rows = s.rows(a)[2:]
    except Refused:
        return
    for row in rows:
        to, from_ = corners(row)
        assert 0 <= to[0] < to[2] <= 100
        assert 0 <= to[1] < to[3] <= 90
        assert src[0] <= from_[0] < from_[2] <= src[2]
        assert src[1] <= from_[1] < from_[3] <= src[3]


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 60), st.integers(1, 120), st.lists(st.integers(0, 120), min_size=1, max_size=6))
def test_the_parts_of_a_stretched_blit_cover_its_source_in_order(size: int, over: int, cuts: list[int]) -> None:
    """Neighbouring clip rectangles take neighbouring texels, the first from the first and the last to the last."""
    s = Surfaces()
    edges = sorted({0, over, *(c for c in cuts if c < over)})
    subs = [(a, 0, b, 4) for a, b in pairwise(edges)]
    rows = s.rows(blit(s, s.make(64, 48), s.make(128, 48), (0, 0, over, 4), (0, 0, size, 4), *subs))[2:]
    parts = [(from_[0], from_[2]) for _, from_ in map(corners, rows)]
    assert parts[0][0] == 0
    assert parts[-1][1] == size
    assert all(abs(b[0] - a[1]) <= 1 for a, b in pairwise(parts))
    exact = size == over
    assert not exact or parts == list(pairwise(edges))


def test_a_surface_may_be_blitted_within_itself_where_nothing_overlaps(s: Surfaces) -> None:
    screen = s.make()
    s.rows(blit(s, screen, screen, (0, 0, 8, 8), (8, 8, 16, 16)))
    with pytest.raises(Refused, match="overlap"):
        present(blit(s, screen, screen, (0, 0, 9, 9), (8, 8, 16, 16)), s.all)


def test_what_is_missing_is_told(s: Surfaces) -> None:
    for flags, source, destination, status in (
        (Flags.Blt, s.make(), 0, NTSTATUS.STATUS_INVALID_HANDLE),
        (Flags.Blt, 0, s.make(), NTSTATUS.STATUS_INVALID_HANDLE),
        (Flags.Blt, s.make(), 0x999, NTSTATUS.STATUS_INVALID_HANDLE),
        (Flags.ColorFill, s.make(), s.make(), NTSTATUS.STATUS_INVALID_PARAMETER),
    ):
        with pytest.raises(Refused) as info:
            present(s.ask(flags, source, destination, DstRect=RECT(0, 0, 1, 1), SrcRect=RECT(0, 0, 1, 1)), s.all)
        assert info.value.status == status
    a = blit(s, s.make(), s.make(), (0, 0, 8, 8), (0, 0, 8, 8))
    a.pDmaBuffer = None
    with pytest.raises(Refused, match="needs a DMA buffer"):
        present(a, s.all)
    a = blit(s, s.make(), s.make(), (0, 0, 8, 8), (0, 0, 8, 8))
    a.pDmaBufferPrivateData = None
    with pytest.raises(Refused, match="without 64 bytes of private data"):
        present(a, s.all)
    with pytest.raises(Refused, match="the copy node neither"):
        present(blit(s, s.make(), s.make(), (0, 0, 8, 8), (0, 0, 8, 8)), s.all, copy_node=True)


# ----- colours ----------------------------------------------------------------------------------------------------------------

BGRA, BGRA_S, RGBA, RGBA_S = (
    Format.B8G8R8A8_UNORM,
    Format.B8G8R8A8_UNORM_SRGB,
    Format.R8G8B8A8_UNORM,
    Format.R8G8B8A8_UNORM_SRGB,
)
HALF, TEN = Format.R16G16B16A16_FLOAT, Format.R10G10B10A2_UNORM


@pytest.mark.parametrize(
    ("source", "destination", "linear", "seen"),
    [
        (BGRA, RGBA, False, (BGRA, RGBA)),  # integers are copied as they stand,
        (RGBA_S, BGRA, False, (RGBA, BGRA)),  # also when one of them is called sRGB
        (BGRA_S, RGBA_S, False, (BGRA, RGBA)),
        (TEN, BGRA, False, (TEN, BGRA)),
        (HALF, HALF, False, (HALF, HALF)),
        (HALF, BGRA, False, (HALF, BGRA_S)),  # light becomes sRGB
        (RGBA, HALF, False, (RGBA_S, HALF)),  # and the other way
        (RGBA, BGRA, True, (RGBA, BGRA_S)),  # the source's integers are linear
        (HALF, BGRA, True, (HALF, BGRA_S)),
    ],
)
def test_surfaces_are_seen_so_that_colours_stay(s: Surfaces, source: Format, destination: Format, linear: bool, seen: tuple) -> None:
    flags = Flags.Blt | Flags.LinearToSrgb if linear else Flags.Blt
    rows = s.rows(blit(s, s.make(format=source), s.make(format=destination), (0, 0, 8, 8), (0, 0, 8, 8), flags=flags))
    assert tuple(View.unpack(r["data"].tolist()).format for r in rows[1::-1]) == seen


@pytest.mark.parametrize(("source", "destination"), [(HALF, TEN), (TEN, HALF), (Format.R8_UNORM, BGRA), (BGRA, Format.BC1_UNORM)])
def test_what_cannot_be_converted_is_told(s: Surfaces, source: Format, destination: Format) -> None:
    with pytest.raises(Refused) as info:
        present(blit(s, s.make(format=source), s.make(format=destination), (0, 0, 8, 8), (0, 0, 8, 8)), s.all)
    assert info.value.status == NTSTATUS.STATUS_GRAPHICS_CANNOTCOLORCONVERT


def test_samples_and_mips_of_the_source_are_told_to_the_hardware(s: Surfaces) -> None:
    rows = s.rows(blit(s, s.make(samples=4), s.make(), (0, 0, 8, 8), (0, 0, 8, 8)))
    assert View.unpack(rows[1]["data"].tolist()).samples == 4
    rows = s.rows(blit(s, s.make(mips=3, slices=2), s.make(), (0, 0, 8, 8), (0, 0, 8, 8)))
    view = View.unpack(rows[1]["data"].tolist())
    assert (view.mips, view.mip_count, view.slices, view.slice_count) == (3, 1, 2, 1)


def test_a_fill_has_its_colour_in_every_rectangle(s: Surfaces) -> None:
    a = s.ask(
        Flags.ColorFill,
        0,
        s.make(format=BGRA_S),
        Color=0x80FF_3300,
        DstRect=RECT(0, 0, 64, 48),
        SubRectCnt=3,
        pDstSubRects=[RECT(-3, 1, 4, 5), RECT(9, 9, 9, 9), RECT(60, 40, 99, 99)],
    )
    rows = s.rows(a)
    assert rows["op"].tolist() == [Op.SET_SURFACE, Op.CLEAR_COLOR, Op.CLEAR_COLOR]
    assert View.unpack(rows[0]["data"].tolist()).format == BGRA  # the numbers are stored as they stand
    assert rows["arg"][1:].tolist() == [ClearKind.RECTANGLE] * 2
    colour = [bits_float(b) for b in rows["data"][1, :4].tolist()]
    assert colour == pytest.approx([1.0, 0x33 / 255, 0.0, 0x80 / 255])
    assert rows["data"][1:, 4:].tolist() == [[0, 1, 4, 5], [60, 40, 64, 48]]
    assert a.PatchLocationListOutUsed == 1


def test_a_fill_of_floats_is_light(s: Surfaces) -> None:
    rows = s.rows(s.ask(Flags.ColorFill, 0, s.make(format=HALF), Color=0xFF80_0A00, DstRect=RECT(0, 0, 8, 8)))
    colour = [bits_float(b) for b in rows["data"][1, :4].tolist()]
    assert colour == pytest.approx([0.21586, 0x0A / 255 / 12.92, 0.0, 1.0], rel=1e-3)


# ----- several passes ---------------------------------------------------------------------------------------------------------


def test_rectangles_that_do_not_fit_go_on_in_the_next_buffer(s: Surfaces) -> None:
    subs = [(4 * i, 0, 4 * i + 4, 4) for i in range(10)]
    a = blit(s, s.make(), s.make(), (0, 0, 64, 48), (0, 0, 64, 48), *subs, dma=5 * PACKET_SIZE)
    seen: list[tuple] = []
    for part in range(4):
        last = part == 3
        rows = s.rows(a, NTSTATUS.STATUS_SUCCESS if last else NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
        # Each buffer binds its surfaces: paging may come in between.
        assert rows["op"][:2].tolist() == [Op.SET_SURFACE, Op.SET_SURFACE]
        assert a.PatchLocationListOutUsed == 2
        seen += [corners(r)[0] for r in rows[2:]]
    assert seen == subs


@pytest.mark.parametrize(("dma", "patches"), [(2 * PACKET_SIZE, 8), (64 * PACKET_SIZE, 1), (0, 8)])
def test_a_buffer_that_cannot_hold_one_rectangle_is_told(s: Surfaces, dma: int, patches: int) -> None:
    with pytest.raises(Refused, match="cannot hold one rectangle") as info:
        present(blit(s, s.make(), s.make(), (0, 0, 8, 8), (0, 0, 8, 8), dma=dma, patches=patches), s.all)
    assert info.value.status == NTSTATUS.STATUS_INSUFFICIENT_RESOURCES
