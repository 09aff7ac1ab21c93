"""Short command buffers: packet by packet is the same as by columns; patching a few places is the same as patching many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from miniport import render, short, submission
from miniport.private import DMA_PRIVATE_SIZE
from wddm.ddi.d3dkmddi import (
    DXGK_ALLOCATIONLIST_DTYPE,
    DXGKARG_PATCH,
    DXGKARG_RENDER,
    dxgk_allocation_list_value,
)
from wddm.ddi.d3dukmdt import D3DDDI_PATCHLOCATIONLIST_DTYPE
from wddm.ddi.status import NTSTATUS
from wddm.hw.packets import ADDRESS2_OFFSET, ADDRESS_OFFSET, PACKET, PACKET_SIZE, PACKETS, Op

SIZES = {0: 0, 0x11: 4096, 0x21: 1 << 20, 0x31: 64}

allocation_lists = st.lists(st.tuples(st.sampled_from(list(SIZES)), st.booleans(), st.integers(0, 2)), min_size=1, max_size=4)


@st.composite
def command_buffers(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Packets, patch locations and an allocation list: mostly right, sometimes wrong in one of many ways."""
    mostly = st.integers(0, 19).map(bool)
    listed = draw(allocation_lists)
    packets = np.zeros(draw(st.integers(0, 6)), PACKET)
    locations: list[tuple[int, int, int]] = []
    for at, packet in enumerate(packets):
        op = draw(st.sampled_from([o for o, info in PACKETS.items() if not info.privileged]))
        info = PACKETS[op]
        packet["op"] = op if draw(mostly) else draw(st.one_of(st.integers(0, 300), st.sampled_from(list(Op))))
        packet["slot"] = draw(st.integers(0, max(0, info.slots - draw(mostly)))) | draw(st.sampled_from([0, 1, 4, 5, 6])) << 8 * info.staged
        packet["arg"] = draw(st.integers(0, 3))
        packet["data"] = draw(st.integers(0, 2**32 - 1))
        packet["address"] = 0 if draw(mostly) else 8
        for place, name, used in ((ADDRESS_OFFSET, "extent", info.address), (ADDRESS2_OFFSET, "extent2", info.address2)):
            packet[name] = draw(st.sampled_from([1, 64, 64, 64, 0, 4096, 2**32 - 1]))
            if bool(used) == draw(mostly):
                index = draw(st.integers(0, len(listed) - draw(mostly)))
                locations.append((at * PACKET_SIZE + place, index, draw(st.sampled_from([0, 0, 8, 4032, 2**32 - 1]))))
    if not draw(mostly):
        locations.append((draw(st.integers(0, 8 * PACKET_SIZE)), 0, 0))
    patches = np.zeros(len(locations), D3DDDI_PATCHLOCATIONLIST_DTYPE)
    for patch, (offset, index, inside) in zip(patches, draw(st.permutations(locations)), strict=True):
        patch["PatchOffset"], patch["AllocationIndex"], patch["AllocationOffset"] = offset, index, inside
        patch["Value"], patch["SplitOffset"] = 7, 9
    allocations = np.zeros(len(listed), DXGK_ALLOCATIONLIST_DTYPE)
    for element, (handle, write, segment) in zip(allocations, listed, strict=True):
        element["hDeviceSpecificAllocation"] = handle
        element["Value"] = dxgk_allocation_list_value(WriteOperation=write, SegmentId=segment)
        element["PhysicalAddress"] = handle << 32
    return packets, patches, allocations


def arguments(packets: np.ndarray, patches: np.ndarray, allocations: np.ndarray, dma: int, room: int) -> DXGKARG_RENDER:
    return DXGKARG_RENDER(
        pCommand=packets.view(np.uint8).copy(),
        CommandLength=packets.nbytes,
        pDmaBuffer=np.full(dma, 0xEE, np.uint8),
        DmaSize=dma,
        pDmaBufferPrivateData=np.full(DMA_PRIVATE_SIZE, 0xEE, np.uint8),
        DmaBufferPrivateDataSize=DMA_PRIVATE_SIZE,
        pAllocationList=allocations,
        AllocationListSize=len(allocations),
        pPatchLocationListIn=patches,
        PatchLocationListInSize=len(patches),
        pPatchLocationListOut=np.ones(room, D3DDDI_PATCHLOCATIONLIST_DTYPE),
        PatchLocationListOutSize=room,
    )


def outcome(a: DXGKARG_RENDER) -> tuple[Any, ...]:
    """Everything that a call may have written."""
    assert a.pDmaBufferPrivateData is not None
    return (
        a.pDmaBuffer.tobytes(),
        a.pDmaBufferPrivateData.tobytes(),
        a.pPatchLocationListOut.tobytes(),
        a.DmaBufferUsed,
        a.DmaBufferPrivateDataUsed,
        a.PatchLocationListOutUsed,
        a.MultipassOffset,
    )


@settings(deadline=None, max_examples=400)
@given(command_buffers(), st.sampled_from([512, 512, 512, 128]), st.sampled_from([16, 16, 16, 2]), st.booleans())
def test_packet_by_packet_is_the_same_as_by_columns(buffer, dma: int, room: int, copy_node: bool) -> None:
    by_packet, by_column = arguments(*buffer, dma, room), arguments(*buffer, dma, room)
    before = outcome(by_packet)
    sizes = np.array([SIZES[h] for h in buffer[2]["hDeviceSpecificAllocation"].tolist()], np.uint64)
    try:
        passed = render.render(by_column, sizes, copy_node=copy_node) == NTSTATUS.STATUS_SUCCESS
    except render.Refused:
        passed = False
    done = short.translate(by_packet, SIZES.__getitem__, copy_node=copy_node)
    event(f"passed {passed}")
    if len(buffer[1]) <= room:
        assert done == passed
    else:
        assert not done
    assert outcome(by_packet) == (outcome(by_column) if done else before)


@pytest.mark.parametrize("op", list(PACKETS))
@pytest.mark.parametrize("copy_node", [False, True])
def test_every_packet_is_judged_alike(op: Op, copy_node: bool) -> None:
    allocations = np.zeros(2, DXGK_ALLOCATIONLIST_DTYPE)
    allocations["hDeviceSpecificAllocation"] = 0x11
    allocations["Value"] = [0, 1]
    packets = np.zeros(1, PACKET)
    packets["op"], packets["extent"], packets["extent2"] = op, 64, 64
    for slot in (0, 1, 2, 0x400, 0x501):
        for arg in (0, 3):
            for places in ((), (8,), (24,), (8, 24)):
                for index in (0, 1):
                    packets["slot"], packets["arg"] = slot, arg
                    patches = np.zeros(len(places), D3DDDI_PATCHLOCATIONLIST_DTYPE)
                    patches["PatchOffset"], patches["AllocationIndex"] = places, index
                    a, b = (arguments(packets, patches, allocations, 64, 2) for _ in range(2))
                    try:
                        passed = render.render(a, np.array([4096, 4096], np.uint64), copy_node=copy_node) == 0
                    except render.Refused:
                        passed = False
                    assert short.translate(b, SIZES.__getitem__, copy_node=copy_node) == passed


@settings(deadline=None, max_examples=100)
@given(command_buffers(), st.integers(0, 8), st.integers(0, 8))
def test_few_places_are_patched_as_many_are(buffer, begin: int, end: int) -> None:
    _, patches, allocations = buffer
    patches = patches[(patches["AllocationIndex"] < len(allocations)) & (patches["PatchOffset"] % 8 == 0)]
    memory = []
    for few in (submission.FEW_PATCHES, -1):
        array = np.full(9 * PACKET_SIZE, 0xEE, np.uint8)
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(submission, "FEW_PATCHES", few)
            submission.patch(
                DXGKARG_PATCH(
                    hContext=0,
                    pDmaBuffer=array,
                    DmaBufferSize=array.nbytes,
                    DmaBufferSubmissionStartOffset=begin * PACKET_SIZE,
                    DmaBufferSubmissionEndOffset=end * PACKET_SIZE,
                    SubmissionFenceId=1,
                    pAllocationList=allocations,
                    AllocationListSize=len(allocations),
                    pPatchLocationList=patches,
                    PatchLocationListSize=len(patches),
                    PatchLocationListSubmissionLength=len(patches),
                )
            )
        memory.append(array.tobytes())
    assert memory[0] == memory[1]
