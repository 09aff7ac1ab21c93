"""DxgkDdiRender: what is refused and why, pre-patching, multipass, and that nothing unvalidated gets through."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from miniport import render
from miniport.private import DMA_PRIVATE_SIZE, DmaFlag, add_signal, dma_private
from wddm.ddi.d3dkmddi import DXGK_ALLOCATIONLIST_DTYPE, DXGKARG_RENDER, dxgk_allocation_list_value
from wddm.ddi.d3dukmdt import D3DDDI_PATCHLOCATIONLIST_DTYPE
from wddm.ddi.status import NTSTATUS
from wddm.hw.packets import PACKET, PACKET_SIZE, Op

SIZES = np.array([0, 4096, 1 << 20], np.uint64)  # NULL element, a page, a megabyte


def allocations(*, write: bool = True, placed: bool = False) -> np.ndarray:
    list_ = np.zeros(3, DXGK_ALLOCATIONLIST_DTYPE)
    list_["hDeviceSpecificAllocation"] = [0, 0x11, 0x21]
    list_["Value"] = dxgk_allocation_list_value(WriteOperation=write, SegmentId=1 if placed else 0)
    list_["PhysicalAddress"] = [0, 0x1_0000_0000, 0x1_0010_0000]
    return list_


def packets(*rows: dict) -> np.ndarray:
    out = np.zeros(len(rows), PACKET)
    for row, values in zip(out, rows, strict=True):
        for name, value in values.items():
            row[name] = value
    return out


def patches(*entries: tuple[int, int, int]) -> np.ndarray:
    """(PatchOffset, AllocationIndex, AllocationOffset)."""
    out = np.zeros(len(entries), D3DDDI_PATCHLOCATIONLIST_DTYPE)
    for row, (at, index, offset) in zip(out, entries, strict=True):
        row["PatchOffset"], row["AllocationIndex"], row["AllocationOffset"] = at, index, offset
    return out


def arguments(commands: np.ndarray, patch: np.ndarray, listed: np.ndarray, *, dma: int = 4096, out: int = 64) -> DXGKARG_RENDER:
    return DXGKARG_RENDER(
        pCommand=commands.view(np.uint8),
        CommandLength=commands.nbytes,
        pDmaBuffer=np.zeros(dma, np.uint8),
        DmaSize=dma,
        pDmaBufferPrivateData=np.full(DMA_PRIVATE_SIZE, 0xEE, np.uint8),
        DmaBufferPrivateDataSize=DMA_PRIVATE_SIZE,
        pAllocationList=listed,
        AllocationListSize=len(listed),
        pPatchLocationListIn=patch,
        PatchLocationListInSize=len(patch),
        pPatchLocationListOut=np.zeros(out, D3DDDI_PATCHLOCATIONLIST_DTYPE),
        PatchLocationListOutSize=out,
    )


VERTEX_BUFFER = {"op": Op.SET_VERTEX_BUFFER, "slot": 3, "extent": 4096}
DRAW = {"op": Op.DRAW}


def test_a_good_buffer_is_copied_with_its_patch_list() -> None:
    a = arguments(packets(VERTEX_BUFFER, DRAW), patches((8, 1, 0)), allocations())
    assert render.render(a, SIZES) == NTSTATUS.STATUS_SUCCESS
    assert a.DmaBufferUsed == 2 * PACKET_SIZE
    assert a.PatchLocationListOutUsed == 1
    assert a.pDmaBuffer[:128].view(PACKET)["op"].tolist() == [Op.SET_VERTEX_BUFFER, Op.DRAW]
    private = dma_private(a.pDmaBufferPrivateData)
    assert private is not None
    assert private["flags"][0] == DmaFlag.NONE


def test_a_placed_allocation_is_pre_patched_and_still_listed() -> None:
    a = arguments(packets({**VERTEX_BUFFER, "extent": 96}), patches((8, 1, 4000)), allocations(placed=True))
    render.render(a, SIZES)
    assert a.pDmaBuffer[:64].view(PACKET)["address"][0] == 0x1_0000_0000 + 4000
    assert a.PatchLocationListOutUsed == 1


def test_a_null_element_unbinds() -> None:
    a = arguments(packets({"op": Op.SET_VERTEX_BUFFER}), patches((8, 0, 0)), allocations(placed=True))
    assert render.render(a, SIZES) == NTSTATUS.STATUS_SUCCESS
    assert a.pDmaBuffer[:64].view(PACKET)["address"][0] == 0


@pytest.mark.parametrize(
    ("rows", "entries", "status", "why"),
    [
        ([{"op": 0x3F}], [], NTSTATUS.STATUS_ILLEGAL_INSTRUCTION, "packet 0: no opcode 0x3f"),
        ([DRAW, {"op": 0x1234}], [], NTSTATUS.STATUS_ILLEGAL_INSTRUCTION, "packet 1: no opcode 0x1234"),
        ([DRAW, {"op": Op.MAP_APERTURE}], [], NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION, "packet 1: MAP_APERTURE"),
        ([{"op": Op.WRITE_FENCE}], [], NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION, "WRITE_FENCE is privileged"),
        ([{**VERTEX_BUFFER, "address": 1 << 62}], [], NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION, "an address that is not"),
        ([{"op": Op.DRAW, "address2": 8}], [], NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION, "an address that is not patched"),
        ([{**VERTEX_BUFFER, "slot": 32}], [(8, 1, 0)], NTSTATUS.STATUS_INVALID_PARAMETER, "no slot 0x20"),
        ([{"op": Op.SET_UAV, "slot": 0x000}], [], NTSTATUS.STATUS_INVALID_PARAMETER, "SET_UAV has no slot 0x0"),
        ([{"op": Op.SET_UAV, "slot": 0x408}], [], NTSTATUS.STATUS_INVALID_PARAMETER, "SET_UAV has no slot 0x408"),
        ([{"op": Op.SET_SAMPLER, "slot": 0x600}], [], NTSTATUS.STATUS_INVALID_PARAMETER, "no slot 0x600"),
        ([VERTEX_BUFFER], [(8, 7, 0)], NTSTATUS.STATUS_INVALID_PARAMETER, "no allocation 7"),
        ([VERTEX_BUFFER], [(12, 1, 0)], NTSTATUS.STATUS_INVALID_USER_BUFFER, "offset 12 is no address field"),
        ([VERTEX_BUFFER], [(72, 1, 0)], NTSTATUS.STATUS_INVALID_USER_BUFFER, "offset 72 is no address field"),
        ([VERTEX_BUFFER], [(8, 1, 0), (8, 2, 0)], NTSTATUS.STATUS_INVALID_USER_BUFFER, "offset 8 is patched twice"),
        ([DRAW], [(8, 1, 0)], NTSTATUS.STATUS_INVALID_USER_BUFFER, "DRAW takes no address there"),
        ([VERTEX_BUFFER], [(24, 1, 0)], NTSTATUS.STATUS_INVALID_USER_BUFFER, "SET_VERTEX_BUFFER takes no address there"),
        ([VERTEX_BUFFER], [(8, 1, 1)], NTSTATUS.STATUS_INVALID_USER_BUFFER, "bytes up to 4097 of an allocation of 4096"),
        ([{**VERTEX_BUFFER, "extent": 2**32 - 1}], [(8, 1, 2**32 - 1)], NTSTATUS.STATUS_INVALID_USER_BUFFER, "bytes up to"),
        ([{**VERTEX_BUFFER, "extent": 0}], [(8, 1, 0)], NTSTATUS.STATUS_INVALID_USER_BUFFER, "an extent of 0 bytes"),
        ([{"op": Op.DRAW_INDIRECT}], [], NTSTATUS.STATUS_INVALID_HANDLE, "DRAW_INDIRECT without its allocation"),
        (
            [{"op": Op.COPY_BUFFER, "extent": 4, "extent2": 4}],
            [(8, 1, 0)],
            NTSTATUS.STATUS_INVALID_HANDLE,
            "COPY_BUFFER without its allocation",
        ),
    ],
)
def test_a_broken_rule_is_named(rows: list[dict], entries: list[tuple[int, int, int]], status: NTSTATUS, why: str) -> None:
    with pytest.raises(render.Refused, match=why) as info:
        render.render(arguments(packets(*rows), patches(*entries), allocations()), SIZES)
    assert info.value.status == status


def test_half_a_packet_is_no_command() -> None:
    a = arguments(packets(DRAW), patches(), allocations())
    a.CommandLength = 63
    with pytest.raises(render.Refused, match="no whole packets"):
        render.render(a, SIZES)


def test_writing_needs_write_operation_except_for_sources_and_read_only_depth() -> None:
    target = {"op": Op.SET_RENDER_TARGET, "extent": 64}
    with pytest.raises(render.Refused, match="without WriteOperation"):
        render.render(arguments(packets(target), patches((8, 1, 0)), allocations(write=False)), SIZES)
    source = {"op": Op.SET_SURFACE, "slot": 1, "extent": 64}
    depth = {"op": Op.SET_DEPTH_STENCIL, "arg": 3, "extent": 64}
    a = arguments(packets(source, depth), patches((8, 1, 0), (72, 2, 0)), allocations(write=False))
    assert render.render(a, SIZES) == NTSTATUS.STATUS_SUCCESS


@pytest.mark.parametrize("after", ["check_packets", "check_patches"])
def test_user_memory_is_looked_at_once(monkeypatch: pytest.MonkeyPatch, after: str) -> None:
    good, bad = packets(VERTEX_BUFFER, DRAW), packets({"op": Op.WRITE_FENCE, "address": 1 << 62}, {"op": 0xFFFF})
    located, elsewhere = patches((8, 1, 0)), patches((70, 9, 9))
    a = arguments(good, located, allocations(placed=True))
    original = getattr(render, after)

    def attack(*args, **kwargs):
        result = original(*args, **kwargs)
        good[:], located[:] = bad, elsewhere
        return result

    monkeypatch.setattr(render, after, attack)
    assert render.render(a, SIZES) == NTSTATUS.STATUS_SUCCESS
    written = a.pDmaBuffer[:128].view(PACKET)
    assert written["op"].tolist() == [Op.SET_VERTEX_BUFFER, Op.DRAW]
    assert written["address"].tolist() == [0x1_0000_0000, 0]
    assert a.pPatchLocationListOut[0]["AllocationIndex"] == 1


def test_patch_locations_are_the_drivers_own() -> None:
    """What user mode says about slots, splitting and itself goes no further."""
    asked = patches((72, 2, 16), (8, 1, 0))
    asked["Value"] = asked["DriverId"] = asked["SplitOffset"] = 0xFFFF_FFFF
    a = arguments(packets({**VERTEX_BUFFER, "extent": 16}, {**VERTEX_BUFFER, "extent": 16}), asked, allocations())
    assert render.render(a, SIZES) == NTSTATUS.STATUS_SUCCESS
    got = a.pPatchLocationListOut[: a.PatchLocationListOutUsed]
    assert got.tolist() == [(1, 1, 0, 0, 8, 0), (2, 2, 0, 16, 72, 0)]


def test_the_copy_node_takes_copies_alone() -> None:
    copy = {"op": Op.COPY_BUFFER, "extent": 64, "extent2": 64}
    a = arguments(packets(copy), patches((8, 1, 0), (24, 2, 0)), allocations())
    assert render.render(a, SIZES, copy_node=True) == NTSTATUS.STATUS_SUCCESS
    for op in (Op.DRAW, Op.BLT, Op.SET_SHADER):
        with pytest.raises(render.Refused, match=f"packet 1: the copy node takes no {op.name}") as info:
            render.render(arguments(packets({}, {"op": op}), patches(), allocations()), SIZES, copy_node=True)
        assert info.value.status == NTSTATUS.STATUS_ILLEGAL_INSTRUCTION
    with pytest.raises(render.Refused, match="MAP_APERTURE is privileged"):
        render.render(arguments(packets({"op": Op.MAP_APERTURE}), patches(), allocations()), SIZES, copy_node=True)


def test_an_empty_buffer_is_a_buffer() -> None:
    a = arguments(packets(), patches(), allocations())
    assert render.render(a, SIZES) == NTSTATUS.STATUS_SUCCESS
    assert (a.DmaBufferUsed, a.PatchLocationListOutUsed, a.DmaBufferPrivateDataUsed) == (0, 0, DMA_PRIVATE_SIZE)


@pytest.mark.parametrize("private", [None, np.zeros(DMA_PRIVATE_SIZE - 1, np.uint8)])
def test_without_private_data_nothing_is_translated(private: np.ndarray | None) -> None:
    """It would be lost how the buffer is to run."""
    a = arguments(packets(DRAW), patches(), allocations())
    a.pDmaBufferPrivateData = private
    with pytest.raises(render.Refused, match="without 64 bytes of private data"):
        render.render(a, SIZES)


def test_a_used_buffer_begins_without_the_signals_of_the_last() -> None:
    a = arguments(packets(DRAW), patches(), allocations())
    assert a.pDmaBufferPrivateData is not None
    assert add_signal(np.zeros(DMA_PRIVATE_SIZE, np.uint8), 1, 2)
    render.render(a, SIZES)
    assert not a.pDmaBufferPrivateData.any()


# ----- several passes ---------------------------------------------------------------------------------------------------------


class Replay:
    """What the hardware would do with DMA buffers: the bindings that each work packet sees, by allocation."""

    def __init__(self) -> None:
        self.state: dict[tuple[int, int], tuple] = {}
        self.seen: list[tuple] = []

    def run(self, a: DXGKARG_RENDER, place: int) -> None:
        """A part whose allocations lie at ``place`` times 16 GiB beyond where they were."""
        rows = a.pDmaBuffer[: a.DmaBufferUsed].view(PACKET)
        private = dma_private(a.pDmaBufferPrivateData)
        assert private is not None
        if not private["flags"][0] & DmaFlag.CONTINUE:
            self.state.clear()
        for row in rows:
            logical = tuple(self._logical(int(row[side]), place) for side in ("address", "address2"))
            key = (int(row["op"]), int(row["slot"]))
            if row["op"] < render.FIRST_WORK_OP:
                if row["op"] == Op.SET_STREAM_OUTPUT and row["arg"]:
                    self.seen.append(("counter set", *logical))
                self.state[key] = (logical, place, int(row["extent"]))
                if logical == (None, None) and row["op"] != Op.SET_TOPOLOGY:
                    del self.state[key]
                continue
            for (op, slot), (bound, then, _) in self.state.items():
                if bound != (None, None):
                    assert then == place, f"{Op(op).name} slot {slot} is bound where its allocation was, not where it is"
            self.seen.append((key, logical, tuple(sorted((k, v[0], v[2]) for k, v in self.state.items()))))

    def _logical(self, address: int, place: int) -> tuple[int, int] | None:
        if not address:
            return None
        index = [i for i in (1, 2) if 0 <= address - base_of(i, place) < SIZES[i]]
        return index[0], address - base_of(index[0], place)


def base_of(index: int, place: int) -> int:
    return (place << 34) + 0x1_0000_0000 * index


def translate(rows: np.ndarray, locations: np.ndarray, dma: int, out: int) -> tuple[Replay, int]:
    replay, part = Replay(), 0
    a = arguments(rows, locations, allocations(placed=True), dma=dma, out=out)
    while True:
        a.pAllocationList["PhysicalAddress"] = [0, base_of(1, part), base_of(2, part)]
        begun = a.MultipassOffset
        status = render.render(a, SIZES)
        got = a.pPatchLocationListOut[: a.PatchLocationListOutUsed]
        assert (np.diff(got["PatchOffset"].astype(np.int64)) > 0).all()
        assert (got["PatchOffset"] < a.DmaBufferUsed).all()
        replay.run(a, part)
        part += 1
        if status == NTSTATUS.STATUS_SUCCESS:
            return replay, part
        assert status == NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
        assert a.MultipassOffset > begun


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[dict], list[tuple[int, int, int]]]:
    rows, entries = [], []
    for i in range(draw(st.integers(1, 40))):
        kind = draw(st.sampled_from(["draw", "draw", "bind", "bind", "unbind", "topology", "copy", "output", "view"]))
        offset = draw(st.integers(0, 100))
        if kind == "draw":
            rows.append(DRAW)
        elif kind == "topology":
            rows.append({"op": Op.SET_TOPOLOGY, "arg": 4, "extent": draw(st.integers(0, 3))})
        elif kind == "copy":
            rows.append({"op": Op.COPY_BUFFER, "extent": 16, "extent2": 16})
            entries += [(64 * i + 8, 1, offset), (64 * i + 24, 2, offset)]
        elif kind == "output":
            rows.append({"op": Op.SET_STREAM_OUTPUT, "slot": draw(st.integers(0, 1)), "arg": 1, "extent": 8, "extent2": 4})
            entries += [(64 * i + 8, 1, offset), (64 * i + 24, 2, offset)]
        else:
            op = Op.SET_RESOURCE if kind == "view" else Op.SET_VERTEX_BUFFER
            rows.append({"op": op, "slot": draw(st.integers(0, 2)), "extent": 32})
            if kind != "unbind":
                entries.append((64 * i + 8, draw(st.integers(0, 2)), offset))
    return rows, entries


@settings(deadline=None, max_examples=150)
@given(streams(), st.integers(12, 30), st.integers(14, 40))
def test_a_buffer_that_does_not_fit_goes_on_in_the_next_wherever_its_allocations_are_then(stream, dma: int, out: int) -> None:
    rows, entries = packets(*stream[0]), patches(*stream[1])
    whole, parts = translate(rows, entries, 64 * 100, 200)
    assert parts == 1
    pieces, _ = translate(rows, entries, dma * PACKET_SIZE, out)
    assert pieces.seen == whole.seen


def test_the_second_part_continues_and_sets_no_counter_again() -> None:
    output = {"op": Op.SET_STREAM_OUTPUT, "arg": 1, "extent": 8, "extent2": 4}
    rows = packets(output, DRAW, DRAW, DRAW)
    a = arguments(rows, patches((8, 1, 0), (24, 2, 64)), allocations(placed=True), dma=3 * PACKET_SIZE)
    flags, args = [], []
    while True:
        status = render.render(a, SIZES)
        private = dma_private(a.pDmaBufferPrivateData)
        assert private is not None
        flags.append(DmaFlag(int(private["flags"][0])))
        part = a.pDmaBuffer[: a.DmaBufferUsed].view(PACKET)
        args.append([(int(p["op"]), int(p["arg"]), int(p["address2"])) for p in part])
        if status == NTSTATUS.STATUS_SUCCESS:
            break
    assert flags == [DmaFlag.NONE, DmaFlag.CONTINUE]
    counter = 0x1_0010_0000 + 64
    assert args == [
        [(Op.SET_STREAM_OUTPUT, 1, counter), (Op.DRAW, 0, 0), (Op.DRAW, 0, 0)],
        [(Op.SET_STREAM_OUTPUT, 0, counter), (Op.DRAW, 0, 0)],
    ]


@pytest.mark.parametrize(("dma", "out"), [(0, 64), (PACKET_SIZE - 1, 64), (4096, 0), (PACKET_SIZE, 64)])
def test_a_dma_buffer_in_which_nothing_fits_is_told(dma: int, out: int) -> None:
    a = arguments(packets(VERTEX_BUFFER, DRAW), patches((8, 1, 0)), allocations(), dma=dma, out=out)
    with pytest.raises(render.Refused, match=r"packet \d does not fit an empty DMA buffer"):
        while render.render(a, SIZES) != NTSTATUS.STATUS_SUCCESS:
            pass


def test_an_offset_behind_the_buffer_is_none() -> None:
    a = arguments(packets(DRAW), patches(), allocations())
    a.MultipassOffset = 2
    with pytest.raises(render.Refused, match="MultipassOffset 2 lies behind 1 packets"):
        render.render(a, SIZES)
    a.MultipassOffset = 1
    assert render.render(a, SIZES) == NTSTATUS.STATUS_SUCCESS
    assert a.DmaBufferUsed == 0


# ----- anything ---------------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=300)
@given(
    hnp.arrays(np.uint8, st.integers(0, 6).map(lambda n: n * PACKET_SIZE)),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 5), st.integers(0, 2**32 - 1)), max_size=8),
    st.booleans(),
    st.booleans(),
)
def test_any_bytes_are_refused_or_reach_only_their_allocations(raw, entries, tame, placed) -> None:
    commands = raw.view(PACKET).copy()
    if tame:  # make acceptance likely enough to be worth testing
        commands["op"] = [list(Op)[int(o) % len(Op)] for o in commands["op"]]
        commands["address"] = commands["address2"] = 0
        commands["slot"] &= 1
        commands["extent"] %= 5000
        entries = [(at // 64 * 64 + (8 if at & 1 else 24), index % 3, offset % 5000) for at, index, offset in entries]
    a = arguments(commands, patches(*entries), allocations(placed=placed))
    try:
        status = render.render(a, SIZES)
    except render.Refused as refused:
        assert refused.why
        return
    assert status == NTSTATUS.STATUS_SUCCESS
    rows = a.pDmaBuffer[: a.DmaBufferUsed].view(PACKET)
    bases = allocations()["PhysicalAddress"]
    for side, extent in (("address", "extent"), ("address2", "extent2")):
        for row in rows[rows[side] != 0]:
            inside = [bases[i] <= row[side] and row[side] + row[extent] <= bases[i] + SIZES[i] for i in (1, 2)]
            assert any(inside)
