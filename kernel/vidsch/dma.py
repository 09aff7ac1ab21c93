"""DMA buffers: blocks of system memory that the miniport fills and the hardware reads, kept and used again.

A buffer has its bytes, its private data and its patch list, of the sizes that the miniport asked for. Private data is zeroed
before each use, so that nothing of one context reaches another. Models "Introduction to Command and DMA Buffers";
DmaBufferSegmentId is always 0 (contiguous system memory).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from kernel.bus_link import BusLink, MemoryBlock
from wddm.ddi.d3dkmddi import (
    DXGK_ALLOCATIONLIST_DTYPE,
    DXGKARG_PATCH,
    DXGKARG_RENDER,
    DXGKARG_SIGNALMONITOREDFENCE,
    DXGKARG_SUBMITCOMMAND,
)
from wddm.ddi.d3dukmdt import D3DDDI_PATCHLOCATIONLIST_DTYPE, StructArray

_NOTHING: Final = np.zeros(0, np.uint8)
_NO_ALLOCATIONS: Final = np.zeros(0, DXGK_ALLOCATIONLIST_DTYPE)


@dataclass(slots=True, eq=False)
class DmaBuffer:
    """``array``: the bytes; ``private``: the miniport's; ``patches``: room for the patch list.

    ``render_arguments``, ``signal_arguments``, ``patch_arguments`` and ``submit_arguments``: what DxgkDdiRender,
    SignalMonitoredFence, Patch and SubmitCommand are told of this buffer; the members that are the buffer's own are filled in for
    good, each call sets the others.
    """

    block: MemoryBlock
    size: int
    array: npt.NDArray[np.uint8]
    private: npt.NDArray[np.uint8]
    patches: StructArray
    key: tuple[int, int, int]
    render_arguments: DXGKARG_RENDER
    signal_arguments: DXGKARG_SIGNALMONITOREDFENCE
    patch_arguments: DXGKARG_PATCH
    submit_arguments: DXGKARG_SUBMITCOMMAND

    @property
    def address(self) -> int:
        """Bus address of the first byte."""
        return self.block.address


class DmaPool:
    """DMA buffers of all sizes. At most ``keep`` idle ones of a size stay."""

    def __init__(self, link: BusLink, *, keep: int = 32) -> None:
        self._link = link
        self._keep = keep
        self._idle: dict[tuple[int, int, int], list[DmaBuffer]] = defaultdict(list)

    def acquire(self, size: int, private_size: int, patch_count: int, *, reserve: bool = False) -> DmaBuffer:
        """A buffer of these sizes (bytes, bytes, elements). Raises CallError (STATUS_NO_MEMORY); see ``BusLink.create``."""
        key = (size, private_size, patch_count)
        idle = self._idle[key]
        if idle:
            buffer = idle.pop()
            buffer.private.fill(0)
            return buffer
        block = self._link.create(size, "DMA buffer", reserve=reserve)
        array = block.array[:size]
        private = np.zeros(private_size, np.uint8)
        patches = np.zeros(patch_count, D3DDDI_PATCHLOCATIONLIST_DTYPE)
        render = DXGKARG_RENDER(
            pCommand=_NOTHING,
            CommandLength=0,
            pDmaBuffer=array,
            DmaSize=size,
            pDmaBufferPrivateData=private,
            DmaBufferPrivateDataSize=private_size,
            pAllocationList=_NO_ALLOCATIONS,
            AllocationListSize=0,
            pPatchLocationListIn=patches[:0],
            PatchLocationListInSize=0,
            pPatchLocationListOut=patches,
            PatchLocationListOutSize=patch_count,
            DmaBufferPhysicalAddress=block.address,
        )
        signal = DXGKARG_SIGNALMONITOREDFENCE(0, 0, array, size, private, private_size)
        patch = DXGKARG_PATCH(
            hContext=0,
            pDmaBuffer=array,
            DmaBufferSize=size,
            DmaBufferSubmissionStartOffset=0,
            DmaBufferSubmissionEndOffset=0,
            SubmissionFenceId=0,
            DmaBufferPhysicalAddress=block.address,
            pDmaBufferPrivateData=private,
            DmaBufferPrivateDataSize=private_size,
        )
        submit = DXGKARG_SUBMITCOMMAND(
            hContext=0,
            DmaBufferSegmentId=0,
            DmaBufferPhysicalAddress=block.address,
            DmaBufferSize=size,
            DmaBufferSubmissionStartOffset=0,
            DmaBufferSubmissionEndOffset=0,
            SubmissionFenceId=0,
            NodeOrdinal=0,
            pDmaBufferPrivateData=private,
            DmaBufferPrivateDataSize=private_size,
        )
        return DmaBuffer(block, size, array, private, patches, key, render, signal, patch, submit)

    def release(self, buffer: DmaBuffer) -> None:
        """The hardware is done with it."""
        idle = self._idle[buffer.key]
        if len(idle) < self._keep:
            idle.append(buffer)
        else:
            self._link.remove(buffer.block)
