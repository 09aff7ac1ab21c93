"""DxgkDdiBuildPagingBuffer: every operation, in buffers of every size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miniport.paging import TRANSFER_CHUNK, build_paging_buffer
from miniport.private import DMA_PRIVATE_SIZE, DmaFlag, dma_private
from wddm.ddi import d3dkmddi as ddi
from wddm.ddi.d3dkmddi import DXGK_PAGING_LOCATION, DXGKARG_BUILDPAGINGBUFFER
from wddm.ddi.status import NTSTATUS
from wddm.hw.memory import APERTURE_BASE, LOCAL_BASE, PAGE_SIZE, bus_address
from wddm.hw.packets import PACKET, PACKET_SIZE, PACKETS, Op


@dataclass(frozen=True)
class Mdl:
    PhysicalAddress: int


SYSTEM = bus_address(7)
MDL = Mdl(SYSTEM)


def build(operation: Any, *, size: int = 64 * PACKET_SIZE, offset: int = 0) -> tuple[int, np.ndarray, DXGKARG_BUILDPAGINGBUFFER]:
    arguments = DXGKARG_BUILDPAGINGBUFFER(
        pDmaBuffer=np.full(size, 0xEE, np.uint8),
        DmaSize=size,
        Parameters=operation,
        pDmaBufferPrivateData=np.full(DMA_PRIVATE_SIZE, 0xEE, np.uint8),
        DmaBufferPrivateDataSize=DMA_PRIVATE_SIZE,
        MultipassOffset=offset,
    )
    status = build_paging_buffer(arguments)
    return status, arguments.pDmaBuffer[: arguments.DmaBufferUsed].view(PACKET), arguments


def passes(operation: Any, size: int) -> list[np.ndarray]:
    parts, offset = [], 0
    while True:
        status, rows, arguments = build(operation, size=size, offset=offset)
        parts.append(rows)
        if status == NTSTATUS.STATUS_SUCCESS:
            return parts
        assert status == NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
        assert arguments.MultipassOffset == offset + len(rows)
        offset = arguments.MultipassOffset


# ----- transfers and fills ----------------------------------------------------------------------------------------------------


def transfer(size: int, *, offset: int = 0, pages: int = 0, out: bool = True) -> ddi.DXGK_BUILDPAGINGBUFFER_TRANSFER:
    local, system = DXGK_PAGING_LOCATION(1, LOCAL_BASE), DXGK_PAGING_LOCATION(0, 0, MDL)
    return ddi.DXGK_BUILDPAGINGBUFFER_TRANSFER(
        hAllocation=0x1010,
        Source=local if out else system,
        Destination=system if out else local,
        TransferSize=size,
        TransferOffset=offset,
        MdlOffset=pages,
    )


@pytest.mark.parametrize("out", [True, False])
def test_a_transfer_copies_with_each_side_at_its_own_offset(out: bool) -> None:
    """TransferOffset counts bytes on the segment side, MdlOffset pages on the system side."""
    status, rows, _ = build(transfer(PAGE_SIZE, offset=0x2000, pages=3, out=out))
    assert status == NTSTATUS.STATUS_SUCCESS
    (row,) = rows
    local, system = LOCAL_BASE + 0x2000, SYSTEM + 3 * PAGE_SIZE
    assert row["op"] == Op.COPY_SYSTEM
    assert (row["address"], row["address2"]) == ((system, local) if out else (local, system))
    assert row["extent"] == row["extent2"] == PAGE_SIZE


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 5 * TRANSFER_CHUNK // PAGE_SIZE), st.integers(1, 4))
def test_large_transfers_are_cut_without_gap_or_overlap(pages: int, room: int) -> None:
    size = pages * PAGE_SIZE
    rows = np.concatenate(passes(transfer(size), room * PACKET_SIZE))
    assert all(len(part) <= room for part in passes(transfer(size), room * PACKET_SIZE))
    end = 0
    for row in rows:
        assert row["address"] == SYSTEM + end
        assert row["address2"] == LOCAL_BASE + end
        assert 0 < row["extent"] <= TRANSFER_CHUNK
        end += int(row["extent"])
    assert end == size


def test_an_eviction_notice_moves_nothing() -> None:
    status, rows, _ = build(transfer(0))
    assert (status, len(rows)) == (NTSTATUS.STATUS_SUCCESS, 0)


@pytest.mark.parametrize("pages", [1, 3, 2 * TRANSFER_CHUNK // PAGE_SIZE + 1])
def test_a_fill_writes_its_pattern_all_over(pages: int) -> None:
    operation = ddi.DXGK_BUILDPAGINGBUFFER_FILL(1, pages * PAGE_SIZE, 0xDEAD_BEEF, DXGK_PAGING_LOCATION(1, LOCAL_BASE))
    status, rows, _ = build(operation)
    assert status == NTSTATUS.STATUS_SUCCESS
    assert set(rows["op"]) == {Op.FILL_SYSTEM}
    assert set(rows["data"][:, 0]) == {0xDEAD_BEEF}
    assert rows["address"][0] == LOCAL_BASE
    assert (np.diff(rows["address"]) == rows["extent"][:-1]).all()
    assert int(rows["extent"].sum()) == pages * PAGE_SIZE


# ----- the others -------------------------------------------------------------------------------------------------------------


def test_aperture_pages_are_bound_and_unbound() -> None:
    bind = ddi.DXGK_BUILDPAGINGBUFFER_MAP_APERTURE_SEGMENT(
        hDevice=0, hAllocation=1, SegmentId=3, OffsetInPages=5, NumberOfPages=9, pMdl=MDL, MdlOffset=2
    )
    _, (row,), _ = build(bind)
    assert (row["op"], row["address2"], row["data"][:2].tolist()) == (Op.MAP_APERTURE, SYSTEM + 2 * PAGE_SIZE, [5, 9])
    unbind = ddi.DXGK_BUILDPAGINGBUFFER_UNMAP_APERTURE_SEGMENT(
        hDevice=0, hAllocation=1, SegmentId=3, OffsetInPages=5, NumberOfPages=9, DummyPage=SYSTEM
    )
    _, (row,), _ = build(unbind)
    assert (row["op"], row["address2"], row["data"][:2].tolist()) == (Op.UNMAP_APERTURE, 0, [5, 9])


def test_the_paging_fence_is_written_with_all_its_bits() -> None:
    _, (row,), _ = build(ddi.DXGK_BUILDPAGINGBUFFER_SIGNAL_MONITORED_FENCE(SYSTEM + 8, 0x1122_3344_5566_7788))
    assert (row["op"], row["address"]) == (Op.WRITE_FENCE, SYSTEM + 8)
    assert row["data"][:2].tolist() == [0x5566_7788, 0x1122_3344]


@pytest.mark.parametrize(
    "operation",
    [
        ddi.DXGK_BUILDPAGINGBUFFER_DISCARD_CONTENT(hAllocation=1, SegmentId=1, SegmentAddress=LOCAL_BASE),
        ddi.DXGK_BUILDPAGINGBUFFER_READ_PHYSICAL(1, LOCAL_BASE),
        ddi.DXGK_BUILDPAGINGBUFFER_WRITE_PHYSICAL(1, APERTURE_BASE),
    ],
)
def test_what_coherent_memory_does_not_need_takes_no_packets(operation: Any) -> None:
    status, rows, arguments = build(operation)
    assert (status, len(rows)) == (NTSTATUS.STATUS_SUCCESS, 0)
    assert arguments.DmaBufferPrivateDataUsed == DMA_PRIVATE_SIZE  # it may be the first of its buffer


def test_operations_of_other_models_are_not_supported() -> None:
    ours = (
        ddi.DXGK_BUILDPAGINGBUFFER_TRANSFER,
        ddi.DXGK_BUILDPAGINGBUFFER_FILL,
        ddi.DXGK_BUILDPAGINGBUFFER_DISCARD_CONTENT,
        ddi.DXGK_BUILDPAGINGBUFFER_READ_PHYSICAL,
        ddi.DXGK_BUILDPAGINGBUFFER_WRITE_PHYSICAL,
        ddi.DXGK_BUILDPAGINGBUFFER_MAP_APERTURE_SEGMENT,
        ddi.DXGK_BUILDPAGINGBUFFER_UNMAP_APERTURE_SEGMENT,
        ddi.DXGK_BUILDPAGINGBUFFER_SIGNAL_MONITORED_FENCE,
    )
    others = [
        kind
        for name, kind in vars(ddi).items()
        if name.startswith("DXGK_BUILDPAGINGBUFFER_") and hasattr(kind, "Operation") and kind not in ours
    ]
    assert others
    for kind in others:
        status, rows, _ = build(object.__new__(kind))
        assert (status, len(rows)) == (NTSTATUS.STATUS_NOT_SUPPORTED, 0)


def test_what_is_no_mdl_is_a_fault_of_the_kernel() -> None:
    with pytest.raises(TypeError, match="is no MDL"):
        build(
            ddi.DXGK_BUILDPAGINGBUFFER_MAP_APERTURE_SEGMENT(
                hDevice=0, hAllocation=1, SegmentId=3, OffsetInPages=0, NumberOfPages=1, pMdl=None
            )
        )


# ----- buffers ----------------------------------------------------------------------------------------------------------------


def test_only_packets_of_the_copy_node_are_used() -> None:
    for operation in (transfer(PAGE_SIZE), ddi.DXGK_BUILDPAGINGBUFFER_SIGNAL_MONITORED_FENCE(SYSTEM, 1)):
        for row in build(operation)[1]:
            assert PACKETS[Op(int(row["op"]))].copy_node


def test_operations_share_a_buffer_and_its_private_data() -> None:
    """The first takes the private data and makes the buffer privileged; later ones find none left."""
    buffer, private = np.zeros(4 * PACKET_SIZE, np.uint8), np.full(DMA_PRIVATE_SIZE, 0xEE, np.uint8)
    used = private_used = 0
    operations = [transfer(PAGE_SIZE), transfer(0), transfer(PAGE_SIZE, offset=PAGE_SIZE), transfer(PAGE_SIZE)]
    for operation in operations:
        arguments = DXGKARG_BUILDPAGINGBUFFER(
            pDmaBuffer=buffer[used:],
            DmaSize=len(buffer) - used,
            Parameters=operation,
            pDmaBufferPrivateData=private[private_used:],
            DmaBufferPrivateDataSize=DMA_PRIVATE_SIZE - private_used,
            DmaBufferWriteOffset=used,
        )
        assert build_paging_buffer(arguments) == NTSTATUS.STATUS_SUCCESS
        used += arguments.DmaBufferUsed
        private_used += arguments.DmaBufferPrivateDataUsed
    assert (used, private_used) == (3 * PACKET_SIZE, DMA_PRIVATE_SIZE)
    record = dma_private(private)
    assert record is not None
    assert record["flags"][0] == DmaFlag.PRIVILEGED
    assert record["signal_count"][0] == 0


def test_a_buffer_without_room_is_told() -> None:
    for size in (0, PACKET_SIZE - 1):
        status, rows, arguments = build(transfer(PAGE_SIZE), size=size)
        assert (status, len(rows)) == (NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, 0)
        assert arguments.MultipassOffset == 0
