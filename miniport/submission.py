"""The rings: DxgkDdiPatch, SubmitCommand, PreemptCommand, engine reset, and what the scheduler is told about fences.

Models "dxgkddi_patch", "dxgkddi_submitcommand", "dxgkddi_preemptcommand", "dxgkddi_resetengine" and "supplying fence identifiers".
One ring per node in system memory; a submission is one ring entry and a write of the tail register. Fence ids are 32 bits and
compared with wraparound. Nothing here waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from miniport.hardware import Registers
from miniport.private import DmaFlag, dma_private
from miniport.render import write_addresses
from wddm.ddi.d3dkmddi import (
    DXGK_INTERRUPT_DMA_COMPLETED,
    DXGK_INTERRUPT_DMA_PREEMPTED,
    DXGK_PATCHFLAGS,
    DXGK_SUBMITCOMMANDFLAGS,
    DXGKARG_PATCH,
    DXGKARG_PREEMPTCOMMAND,
    DXGKARG_QUERYCURRENTFENCE,
    DXGKARG_QUERYENGINESTATUS,
    DXGKARG_RESETENGINE,
    DXGKARG_SUBMITCOMMAND,
)
from wddm.hw.packets import RING_ENTRY, RING_ENTRY_SIZE, RingFlag, RingOp
from wddm.hw.registers import NodeControl, NodeRegister

#: Entries of a ring: more than HwQueuePacketCap allows in flight, so that it never wraps onto work that waits.
RING_ENTRIES: Final = 64
#: Packets that the scheduler may have queued in hardware on one node.
HW_QUEUE_PACKET_CAP: Final = 8
RING_SIZE: Final = RING_ENTRIES * RING_ENTRY_SIZE

Notify = Callable[[DXGK_INTERRUPT_DMA_COMPLETED | DXGK_INTERRUPT_DMA_PREEMPTED], None]


def fence_after(a: int, b: int) -> bool:
    """Whether fence id ``a`` is later than ``b``, across the wrap of 32 bits."""
    return 0 < (a - b) & 0xFFFF_FFFF < 0x8000_0000


def patch(arguments: DXGKARG_PATCH) -> None:
    """DxgkDdiPatch: final addresses into the portion that will be submitted. Paging buffers have them already."""
    if arguments.Flags & DXGK_PATCHFLAGS.Paging or arguments.pPatchLocationList is None or arguments.pAllocationList is None:
        return
    start = arguments.PatchLocationListSubmissionStart
    entries: npt.NDArray[Any] = arguments.pPatchLocationList[start : start + arguments.PatchLocationListSubmissionLength]
    if not len(entries):
        return
    offset = entries["PatchOffset"].astype(np.int64)
    begin, end = arguments.DmaBufferSubmissionStartOffset, arguments.DmaBufferSubmissionEndOffset
    inside = (offset >= begin) & (offset < end)
    index = entries["AllocationIndex"]
    listed = arguments.pAllocationList
    # A NULL allocation means "unbind this slot here": its address is 0.
    bound = listed["hDeviceSpecificAllocation"][index] != 0
    address = np.where(bound, listed["PhysicalAddress"][index] + entries["AllocationOffset"].astype(np.uint64), np.uint64(0))
    write_addresses(arguments.pDmaBuffer, offset[inside], address[inside])


class NodeQueue:
    """One node: its ring and the fence ids that are in it."""

    def __init__(self, registers: Registers, node: int, memory: npt.NDArray[np.uint8], address: int) -> None:
        self._registers = registers
        self.node = node
        self._entries: npt.NDArray[Any] = memory[: RING_ENTRIES * RING_ENTRY_SIZE].view(RING_ENTRY)
        self._address = address
        self._tail = 0
        self.submitted: deque[int] = deque()  #: ids given to the hardware and not reported complete, in order
        self.last_completed = 0
        self.last_submitted = 0
        self._preempting: int | None = None
        self._asked_at: int | None = None

    def start(self) -> None:
        """Program the ring and let the node fetch."""
        write = self._registers.write_node
        write(self.node, NodeRegister.RING_BASE_LO, self._address)
        write(self.node, NodeRegister.RING_BASE_HI, self._address >> 32)
        write(self.node, NodeRegister.RING_ENTRIES, RING_ENTRIES)
        write(self.node, NodeRegister.CONTROL, NodeControl.ENABLE)
        self._tail = 0
        self.submitted.clear()

    def submit(self, arguments: DXGKARG_SUBMITCOMMAND, context: int) -> None:
        """DxgkDdiSubmitCommand. ``context`` is the hardware context, 0 for system work."""
        flags = RingFlag.INTERRUPT
        begin = arguments.DmaBufferPrivateDataSubmissionStartOffset
        data = None if arguments.pDmaBufferPrivateData is None else arguments.pDmaBufferPrivateData[begin:]
        record = dma_private(data)
        signals: list[tuple[int, int]] = []
        if record is not None:
            private = DmaFlag(int(record["flags"][0]))
            if private & DmaFlag.CONTINUE:
                flags |= RingFlag.CONTINUE
            if private & DmaFlag.PRIVILEGED:
                flags |= RingFlag.PRIVILEGED
            count = int(record["signal_count"][0])
            signals = [(int(record["signal_address"][0, i]), int(record["signal_value"][0, i])) for i in range(count)]
        if arguments.Flags & DXGK_SUBMITCOMMANDFLAGS.NullRendering:
            flags |= RingFlag.NULL_RENDERING
        if arguments.Flags & DXGK_SUBMITCOMMANDFLAGS.Resubmission:
            flags |= RingFlag.RESUME
        size = arguments.DmaBufferSubmissionEndOffset - arguments.DmaBufferSubmissionStartOffset
        self._put(
            op=RingOp.SUBMIT,
            flags=flags,
            fence=arguments.SubmissionFenceId,
            context=context,
            address=arguments.DmaBufferPhysicalAddress + arguments.DmaBufferSubmissionStartOffset if size else 0,
            size=size,
            signals=signals,
        )

    def _put(
        self, *, op: RingOp, flags: int, fence: int, context: int, address: int, size: int, signals: list[tuple[int, int]]
    ) -> None:
        (a1, v1), (a2, v2) = [*signals, (0, 0), (0, 0)][:2]
        self._entries[self._tail % RING_ENTRIES] = (op, flags, fence, context, address, size, 0, a1, v1, a2, v2)
        self._tail += 1
        self.submitted.append(fence)
        self.last_submitted = fence
        self._registers.write_node(self.node, NodeRegister.RING_TAIL, self._tail)

    def preempt(self, arguments: DXGKARG_PREEMPTCOMMAND, notify: Notify) -> None:
        """DxgkDdiPreemptCommand. When everything is complete and reported, the answer is given at once."""
        if not self.submitted:
            notify(DXGK_INTERRUPT_DMA_PREEMPTED(arguments.PreemptionFenceId, self.last_completed, self.node))
            return
        self._preempting = arguments.PreemptionFenceId
        self._registers.write_node(self.node, NodeRegister.PREEMPT_FENCE, arguments.PreemptionFenceId)
        self._registers.write_node(self.node, NodeRegister.CONTROL, NodeControl.ENABLE | NodeControl.PREEMPT)

    def completed(self, fence: int) -> bool:
        """The hardware has completed ``fence``; False when that had been reported before."""
        if not fence_after(fence, self.last_completed):
            return False
        while self.submitted and not fence_after(self.submitted[0], fence):
            self.submitted.popleft()
        self.last_completed = fence
        return True

    def preempted(self, completed: int) -> None:
        """The ring was emptied; what had not completed is no longer in the hardware."""
        self.completed(completed)
        self.submitted.clear()
        self._preempting = None

    def query_fence(self, arguments: DXGKARG_QUERYCURRENTFENCE, notify: Notify) -> None:
        """DxgkDdiQueryCurrentFence: report what was not reported yet, before returning."""
        fence = self._registers.read_node(self.node, NodeRegister.FENCE_COMPLETED)
        if self.completed(fence):
            notify(DXGK_INTERRUPT_DMA_COMPLETED(fence, self.node))
        arguments.CurrentFence = self.last_completed

    def query_status(self, arguments: DXGKARG_QUERYENGINESTATUS) -> None:
        """DxgkDdiQueryEngineStatus: has anything completed since the last question, or is there nothing to do?"""
        arguments.Responsive = not self.submitted or self._asked_at != self.last_completed
        self._asked_at = self.last_completed

    def reset(self, arguments: DXGKARG_RESETENGINE) -> None:
        """DxgkDdiResetEngine: abandon the running buffer and empty the ring.

        The aborted id is the one that was running: the first that has not completed. Register writes are in order, so that a later
        submission finds the node reset.
        """
        arguments.LastAbortedFenceId = self.submitted[0] if self.submitted else self.last_completed
        self._registers.write_node(self.node, NodeRegister.CONTROL, NodeControl.RESET)
        self.last_completed = arguments.LastAbortedFenceId
        self._preempting = None
        self.start()

    def abandon(self) -> None:
        """After a device reset: everything submitted counts as done."""
        self.last_completed = self.last_submitted
        self.submitted.clear()
        self._preempting = None
