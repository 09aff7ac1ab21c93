"""DxgkDdiRender: what is refused and why, pre-patching, multipass, and that nothing unvalidated gets through."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from miniport import render
from miniport.private import DMA_PRIVATE_SIZE, DmaFlag, dma_private
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


@pytest.mark.parametrize(("dma", "out"), [(PACKET_SIZE, 64), (3 * PACKET_SIZE, 64), (4096, 1), (4096, 3)])
def test_a_buffer_that_does_not_fit_goes_on_in_the_next(dma: int, out: int) -> None:
    rows = [DRAW if i % 3 == 0 else {**VERTEX_BUFFER, "slot": i} for i in range(10)]
    entries = [(i * PACKET_SIZE + 8, 1 + i % 2, 0) for i in range(10) if i % 3]
    got, offsets, parts = [], [], 0
    a = arguments(packets(*rows), patches(*entries), allocations(placed=True), dma=dma, out=out)
    while True:
        status = render.render(a, SIZES)
        part = a.pDmaBuffer[: a.DmaBufferUsed].view(PACKET).copy()
        private = dma_private(a.pDmaBufferPrivateData)
        assert private is not None
        assert private["flags"][0] == (DmaFlag.CONTINUE if parts else DmaFlag.NONE)
        offsets += [
            sum(map(len, got)) * PACKET_SIZE + int(o) for o in a.pPatchLocationListOut["PatchOffset"][: a.PatchLocationListOutUsed]
        ]
        got.append(part)
        parts += 1
        if status == NTSTATUS.STATUS_SUCCESS:
            break
        assert status == NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
        assert parts < 20
    assert np.concatenate(got)["op"].tolist() == [row["op"] for row in rows]
    assert offsets == [entry[0] for entry in entries]
    whole = np.concatenate(got)
    assert all(whole["address"][o // PACKET_SIZE] != 0 for o in offsets)


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
        assert refused.why  # noqa: PT017
        return
    assert status == NTSTATUS.STATUS_SUCCESS
    rows = a.pDmaBuffer[: a.DmaBufferUsed].view(PACKET)
    bases = allocations()["PhysicalAddress"]
    for side, extent in (("address", "extent"), ("address2", "extent2")):
        for row in rows[rows[side] != 0]:
            inside = [bases[i] <= row[side] and row[side] + row[extent] <= bases[i] + SIZES[i] for i in (1, 2)]
            assert any(inside)
