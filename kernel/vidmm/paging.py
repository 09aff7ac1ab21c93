"""Paging: moving allocations with paging buffers on the paging node.

A :class:`PagingBatch` is a list of operations that belong together; DxgkDdiBuildPagingBuffer turns them into as many paging buffers
as they take, which the scheduler submits in order. Content is out before its place is given to another: that order is the
node's. Models "Paging Video Memory Resources" and "DxgkDdiBuildPagingBuffer".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from kernel.bus_link import MemoryBlock
from kernel.errors import vidmm_bug_check
from kernel.vidsch.dma import DmaBuffer, DmaPool
from kernel.vidsch.packets import DmaPacket, PacketKind, PacketState
from wddm.ddi.d3dkmddi import (
    DXGK_BUILDPAGINGBUFFER_DISCARD_CONTENT,
    DXGK_BUILDPAGINGBUFFER_FILL,
    DXGK_BUILDPAGINGBUFFER_MAP_APERTURE_SEGMENT,
    DXGK_BUILDPAGINGBUFFER_PARAMETERS,
    DXGK_BUILDPAGINGBUFFER_TRANSFER,
    DXGK_BUILDPAGINGBUFFER_UNMAP_APERTURE_SEGMENT,
    DXGK_DISCARDCONTENTFLAGS,
    DXGK_MAPAPERTUREFLAGS,
    DXGK_PAGING_LOCATION,
    DXGK_SEGMENTFLAGS,
    DXGK_SUBMITCOMMANDFLAGS,
    DXGK_TRANSFERFLAGS,
    DXGKARG_BUILDPAGINGBUFFER,
)
from wddm.ddi.status import NTSTATUS
from wddm.wire.channel import CallError

from .allocation import Allocation, Content, Segment
from .segment import PAGE_SIZE, Range

_WHOLE: Final = DXGK_TRANSFERFLAGS.TransferStart | DXGK_TRANSFERFLAGS.TransferEnd | DXGK_TRANSFERFLAGS.AllocationIsIdle
#: Calls for one operation after which a miniport that never finishes is stopped.
_MAX_PASSES: Final = 1 << 16


@dataclass(slots=True, eq=False)
class PagingBatch:
    """Operations in order. ``to_device``/``from_device``: blocks that the hardware reads or writes (links that copy)."""

    sequence: int
    operations: list[DXGK_BUILDPAGINGBUFFER_PARAMETERS] = field(default_factory=list)
    to_device: list[MemoryBlock] = field(default_factory=list)
    from_device: list[MemoryBlock] = field(default_factory=list)
    allocations: list[Allocation] = field(default_factory=list)
    saving: list[Allocation] = field(default_factory=list)  #: their only valid content is on its way to system memory
    waiting: int = 0  #: paging buffers that are not done
    done: bool = False
    on_done: list[Callable[[], None]] = field(default_factory=list)

    def finish(self) -> None:
        """Everything has been moved."""
        self.done = True
        for allocation in self.allocations:
            if allocation.paging is self:
                allocation.paging = None
        callbacks, self.on_done = self.on_done, []
        for callback in callbacks:
            callback()

    # ----- operations --------------------------------------------------------------------------------------------------------

    def move_out(self, allocation: Allocation, segment: Segment, place: Range[Allocation], dummy: MemoryBlock) -> None:
        """The allocation leaves its place; ``allocation.backing`` exists when content has to be kept."""
        self._joins(allocation)
        info = allocation.info
        if segment.aperture:
            self.operations.append(
                DXGK_BUILDPAGINGBUFFER_UNMAP_APERTURE_SEGMENT(
                    hDevice=info.hDevice,
                    hAllocation=info.hAllocation,
                    SegmentId=segment.id,
                    OffsetInPages=place.start // PAGE_SIZE,
                    NumberOfPages=place.size // PAGE_SIZE,
                    DummyPage=dummy.address,
                )
            )
            return
        address = segment.base + place.start
        if allocation.discardable or allocation.content is not Content.LOCAL or allocation.backing_valid:
            # Nothing to keep, or a clean copy is in the backing store: discard instead of copying.
            if allocation.discardable:
                allocation.lost, allocation.content = True, Content.FRESH
            elif allocation.content is Content.LOCAL:
                allocation.content = Content.BACKING
            self.operations.append(
                DXGK_BUILDPAGINGBUFFER_DISCARD_CONTENT(
                    hAllocation=info.hAllocation,
                    SegmentId=segment.id,
                    SegmentAddress=address,
                    Flags=DXGK_DISCARDCONTENTFLAGS.AllocationIsIdle,
                )
            )
            return
        backing = allocation.backing
        assert backing is not None
        self.operations.append(
            DXGK_BUILDPAGINGBUFFER_TRANSFER(
                hAllocation=info.hAllocation,
                Source=DXGK_PAGING_LOCATION(segment.id, address),
                Destination=DXGK_PAGING_LOCATION(0, 0, backing),
                TransferSize=info.size,
                Flags=_WHOLE,
            )
        )
        self.from_device.append(backing)
        self.saving.append(allocation)
        allocation.content = Content.BACKING

    def move_in(self, allocation: Allocation) -> None:
        """The allocation has a new place: bring or map its content there, or fill it with zeros."""
        self._joins(allocation)
        info, segment, place = allocation.info, allocation.segment, allocation.placement
        assert segment is not None
        assert place is not None
        if segment.aperture:
            backing = allocation.backing
            assert backing is not None
            coherent = segment.descriptor.Flags & DXGK_SEGMENTFLAGS.CacheCoherent
            self.operations.append(
                DXGK_BUILDPAGINGBUFFER_MAP_APERTURE_SEGMENT(
                    hDevice=info.hDevice,
                    hAllocation=info.hAllocation,
                    SegmentId=segment.id,
                    OffsetInPages=place.start // PAGE_SIZE,
                    NumberOfPages=place.size // PAGE_SIZE,
                    pMdl=backing,
                    Flags=DXGK_MAPAPERTUREFLAGS.CacheCoherent if coherent else DXGK_MAPAPERTUREFLAGS.NONE,
                )
            )
            self.to_device.append(backing)
            allocation.content = Content.BACKING
            return
        there = DXGK_PAGING_LOCATION(segment.id, allocation.address)
        if allocation.content is Content.BACKING:
            backing = allocation.backing
            assert backing is not None
            self.operations.append(
                DXGK_BUILDPAGINGBUFFER_TRANSFER(
                    hAllocation=info.hAllocation,
                    Source=DXGK_PAGING_LOCATION(0, 0, backing),
                    Destination=there,
                    TransferSize=info.size,
                    Flags=_WHOLE,
                )
            )
            self.to_device.append(backing)
            allocation.backing_valid = True
        else:
            # Fresh space may hold what others left there.
            self.operations.append(DXGK_BUILDPAGINGBUFFER_FILL(info.hAllocation, info.size, 0, there))
            allocation.backing_valid = False
        allocation.content = Content.LOCAL

    def _joins(self, allocation: Allocation) -> None:
        allocation.paging = self
        self.allocations.append(allocation)


class BuildPagingBuffer(Protocol):
    """The miniport's entry, as its host offers it."""

    def DxgkDdiBuildPagingBuffer(self, arguments: DXGKARG_BUILDPAGINGBUFFER) -> int: ...


class PagingBuilder:
    """Turns batches into paging packets. Sizes as QUERYSEGMENT told them."""

    def __init__(
        self, host: BuildPagingBuffer, pool: DmaPool, *, size: int, private_size: int, hSystemContext: int = 0
    ) -> None:
        self._host = host
        self._pool = pool
        self._size = size
        self._private_size = private_size
        self.hSystemContext = hSystemContext

    def build(self, batch: PagingBatch, sequence: Callable[[], int]) -> list[DmaPacket]:
        """The packets of ``batch``, in order, READY. Raises BugCheckError (0x10E)."""
        packets: list[DmaPacket] = []
        current: _Open | None = None
        for operation in batch.operations:
            multipass = 0
            for _ in range(_MAX_PASSES):
                if current is None:
                    current = _Open(self._acquire())
                status, multipass = self._append(current, operation, multipass)
                if status == NTSTATUS.STATUS_SUCCESS:
                    break
                if status != NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER:
                    # Everything that is moved is idle, so ALLOCATION_BUSY is as wrong as any other answer.
                    raise vidmm_bug_check(
                        0xB, f"DxgkDdiBuildPagingBuffer({operation.Operation.name}) returned {status:#x}", status
                    )
                if current.used == 0:
                    raise vidmm_bug_check(
                        0xB, f"DxgkDdiBuildPagingBuffer({operation.Operation.name}) found an empty buffer too small"
                    )
                packets.append(current.close(batch, sequence()))
                current = None
            else:
                raise vidmm_bug_check(0xB, f"DxgkDdiBuildPagingBuffer({operation.Operation.name}) never comes to an end")
        if current is not None:
            packets.append(current.close(batch, sequence()))
        batch.waiting = len(packets)
        if packets:
            packets[-1].closes_batch = True
        return packets

    def _acquire(self) -> DmaBuffer:
        try:
            return self._pool.acquire(self._size, self._private_size, 0, reserve=True)
        except CallError as error:  # what was decided cannot be taken back any more
            raise vidmm_bug_check(0x5, f"no memory for a paging buffer: {error.message}") from None

    def _append(
        self, current: _Open, operation: DXGK_BUILDPAGINGBUFFER_PARAMETERS, multipass: int
    ) -> tuple[int, int]:
        dma = current.dma
        arguments = DXGKARG_BUILDPAGINGBUFFER(
            pDmaBuffer=dma.array[current.used :],
            DmaSize=dma.size - current.used,
            Parameters=operation,
            pDmaBufferPrivateData=dma.private[current.private_used :],
            DmaBufferPrivateDataSize=len(dma.private) - current.private_used,
            MultipassOffset=multipass,
            hSystemContext=self.hSystemContext,
            DmaBufferWriteOffset=current.used,
        )
        status = self._host.DxgkDdiBuildPagingBuffer(arguments)
        if not 0 <= arguments.DmaBufferUsed <= arguments.DmaSize:
            raise vidmm_bug_check(0x12, f"a paging buffer of {arguments.DmaSize} bytes took {arguments.DmaBufferUsed}")
        if not 0 <= arguments.DmaBufferPrivateDataUsed <= arguments.DmaBufferPrivateDataSize:
            raise vidmm_bug_check(0x13, f"private data of a paging buffer took {arguments.DmaBufferPrivateDataUsed} bytes")
        current.used += arguments.DmaBufferUsed
        current.private_used += arguments.DmaBufferPrivateDataUsed
        return status, arguments.MultipassOffset


class _Open:
    """A paging buffer that is being filled."""

    def __init__(self, dma: DmaBuffer) -> None:
        self.dma = dma
        self.used = 0
        self.private_used = 0

    def close(self, batch: PagingBatch, sequence: int) -> DmaPacket:
        return DmaPacket(
            None,
            PacketKind.PAGING,
            self.dma,
            self.used,
            self.private_used,
            sequence,
            flags=DXGK_SUBMITCOMMANDFLAGS.Paging,
            state=PacketState.READY,
            batch=batch,
        )
