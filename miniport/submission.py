"""The rings: DxgkDdiPatch, SubmitCommand, PreemptCommand, engine reset, and what the scheduler is told about fences.

Models "dxgkddi_patch", "dxgkddi_submitcommand", "dxgkddi_preemptcommand", "dxgkddi_resetengine" and "supplying fence identifiers".
One ring per node in system memory; a submission is one ring entry and a write of the tail register. Nothing here waits.

What the hardware reports is believed only for fence ids that it still has: reports that were under way when the engine was reset
arrive after it, and say nothing about what was submitted since. So do preemptions that a reset has overtaken.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

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
from wddm.ddi.d3dukmdt import D3DDDI_PATCHLOCATIONLIST_DTYPE
from wddm.hw.packets import RING_ENTRY_SIZE, RingFlag, RingOp
from wddm.hw.registers import NodeControl, NodeRegister, NodeStatus

from .hardware import Registers
from .private import DmaFlag, Record, asked, record_at, spend
from .render import write_addresses

#: Entries of a ring: more than can be in flight, so that it never wraps onto work that waits.
RING_ENTRIES: Final = 64
#: Packets that the scheduler may have queued in hardware on one node.
HW_QUEUE_PACKET_CAP: Final = 8
#: Contexts that one submission lets the hardware forget.
FORGET_AT_ONCE: Final = 4
RING_SIZE: Final = RING_ENTRIES * RING_ENTRY_SIZE
assert HW_QUEUE_PACKET_CAP * (1 + FORGET_AT_ONCE) <= RING_ENTRIES

#: Patch locations up to which one after the other is faster than by columns.
FEW_PATCHES: Final = 32
#: AllocationIndex, Value, DriverId, AllocationOffset, PatchOffset, SplitOffset
_PATCH: Final = struct.Struct("<6I")
_ADDRESS: Final = struct.Struct("<Q")
_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_PAGING: Final = int(DXGK_PATCHFLAGS.Paging)
assert _PATCH.size == D3DDDI_PATCHLOCATIONLIST_DTYPE.itemsize

Notify = Callable[[DXGK_INTERRUPT_DMA_COMPLETED | DXGK_INTERRUPT_DMA_PREEMPTED], None]
#: Ring flags by those of the DMA buffer's private data, and by those of the submission.
_RING_FLAGS: Final = tuple(
    int(RingFlag.INTERRUPT)
    | (RingFlag.CONTINUE if flags & DmaFlag.CONTINUE else 0)
    | (RingFlag.PRIVILEGED if flags & DmaFlag.PRIVILEGED else 0)
    for flags in range(4)
)
_NULL_RENDERING, _RESUBMISSION = int(DXGK_SUBMITCOMMANDFLAGS.NullRendering), int(DXGK_SUBMITCOMMANDFLAGS.Resubmission)
_RING_NULL_RENDERING, _RING_RESUME = int(RingFlag.NULL_RENDERING), int(RingFlag.RESUME)
_SUBMIT, _CONTEXT_DESTROY = int(RingOp.SUBMIT), int(RingOp.CONTEXT_DESTROY)
_NO_SIGNAL: Final = (0, 0)
#: The members of RING_ENTRY, in order.
_ENTRY: Final = struct.Struct("<4IQII4Q")
assert _ENTRY.size == RING_ENTRY_SIZE


def patch(arguments: DXGKARG_PATCH) -> None:
    """DxgkDdiPatch: final addresses into the portion that will be submitted. Paging buffers have them already."""
    listed = arguments.pAllocationList
    if int(arguments.Flags) & _PAGING or arguments.pPatchLocationList is None or listed is None:
        return
    start = arguments.PatchLocationListSubmissionStart
    entries: npt.NDArray[Any] = arguments.pPatchLocationList[start : start + arguments.PatchLocationListSubmissionLength]
    begin, end = arguments.DmaBufferSubmissionStartOffset, arguments.DmaBufferSubmissionEndOffset
    # A NULL allocation means "unbind this slot here": its address is 0.
    if len(entries) <= FEW_PATCHES:
        memory = arguments.pDmaBuffer.data
        for which, _, _, into, at, _ in _PATCH.iter_unpack(entries.tobytes()):
            if begin <= at < end:
                handle, _, place = listed.item(which)
                _ADDRESS.pack_into(memory, at, (place + into) & _MASK if handle else 0)
        return
    offset = entries["PatchOffset"].astype(np.int64)
    inside = (offset >= begin) & (offset < end)
    index = entries["AllocationIndex"]
    bound = listed["hDeviceSpecificAllocation"][index] != 0
    address = np.where(bound, listed["PhysicalAddress"][index] + entries["AllocationOffset"].astype(np.uint64), np.uint64(0))
    write_addresses(arguments.pDmaBuffer, offset[inside], address[inside])


@dataclass(slots=True)
class Submission:
    """What the hardware has and has not reported. ``context`` is ours; ``forgets``: the hardware contexts that its ring entry has
    CONTEXT_DESTROY entries before it for."""

    fence: int
    context: int
    private: Record | None
    forgets: list[int]


class NodeQueue:
    """One node: its ring and what is in it."""

    def __init__(self, registers: Registers, node: int, memory: npt.NDArray[np.uint8], address: int) -> None:
        self._registers = registers
        self.node = node
        self._entries = memory[:RING_SIZE].data
        self._address = address
        self._tail = 0
        self.submitted: deque[Submission] = deque()  #: in order
        self.last_completed = 0  #: newest id of which everything up to it is over
        self.last_submitted = 0
        self._preempting: int | None = None
        self._dying: deque[int] = deque()  # hardware contexts that nobody needs any more
        self._asked_at = 0  # last_completed when somebody wanted to know about progress

    def start(self) -> None:
        """Program the ring and let the node fetch."""
        write = self._registers.write_node
        write(self.node, NodeRegister.RING_BASE_LO, self._address)
        write(self.node, NodeRegister.RING_BASE_HI, self._address >> 32)
        write(self.node, NodeRegister.RING_ENTRIES, RING_ENTRIES)
        write(self.node, NodeRegister.CONTROL, NodeControl.ENABLE)
        self._tail = 0
        self._preempting = None
        self._asked_at = self.last_completed

    # ----- submission ------------------------------------------------------------------------------------------------------

    def submit(self, arguments: DXGKARG_SUBMITCOMMAND, context: int, hardware: int) -> bool:
        """DxgkDdiSubmitCommand. ``context`` is our handle, ``hardware`` its number there; both 0 for system work.

        False when the hardware has HW_QUEUE_PACKET_CAP submissions already.
        """
        if len(self.submitted) >= HW_QUEUE_PACKET_CAP:
            return False
        data = arguments.pDmaBufferPrivateData if arguments.DmaBufferPrivateDataSize else None
        record = record_at(data, arguments.DmaBufferPrivateDataSubmissionStartOffset)
        private, signals = (0, []) if record is None else asked(record)
        submit, fence = int(arguments.Flags), arguments.SubmissionFenceId
        flags = _RING_FLAGS[private & 3]
        if submit & _NULL_RENDERING:
            flags |= _RING_NULL_RENDERING
        if submit & _RESUBMISSION:
            flags |= _RING_RESUME
        forgets: list[int] = []
        while self._dying and len(forgets) < FORGET_AT_ONCE:
            forgets.append(self._dying.popleft())
            # Done when everything before it is: it reports what is true then, without an interrupt.
            self._put(_CONTEXT_DESTROY, 0, self._newest, forgets[-1], 0, 0, [])
        size = arguments.DmaBufferSubmissionEndOffset - arguments.DmaBufferSubmissionStartOffset
        address = arguments.DmaBufferPhysicalAddress + arguments.DmaBufferSubmissionStartOffset if size else 0
        self._put(_SUBMIT, flags, fence, hardware, address, size, signals)
        self.submitted.append(Submission(fence, context, record, forgets))
        self.last_submitted = fence
        self._registers.write_node(self.node, NodeRegister.RING_TAIL, self._tail)
        return True

    @property
    def _newest(self) -> int:
        """The fence id of the last entry of the ring."""
        return self.submitted[-1].fence if self.submitted else self.last_completed

    def _put(
        self, op: int, flags: int, fence: int, context: int, address: int, size: int, signals: list[tuple[int, int]]
    ) -> None:
        a1, v1 = signals[0] if signals else _NO_SIGNAL
        a2, v2 = signals[1] if len(signals) > 1 else _NO_SIGNAL
        at = self._tail % RING_ENTRIES * RING_ENTRY_SIZE
        _ENTRY.pack_into(self._entries, at, op, flags, fence, context, address, size, 0, a1, v1, a2, v2)
        self._tail += 1

    def forget(self, hardware: int) -> None:
        """Nobody needs a hardware context any more: the hardware is told with the next submission."""
        self._dying.append(hardware)

    # ----- what the hardware reports -----------------------------------------------------------------------------------------

    def has(self, fence: int) -> bool:
        """Whether the hardware has this submission, as far as it has reported."""
        return any(s.fence == fence for s in self.submitted)

    def completed(self, fence: int) -> bool:
        """The hardware has completed ``fence`` and all before it; False when that is no news."""
        if not self.has(fence):
            return False
        while True:
            done = self.submitted.popleft()
            spend(done.private)
            self.last_completed = done.fence
            if done.fence == fence:
                return True

    def preempted(self, preempt_fence: int, completed: int) -> bool:
        """The ring was emptied; what had not completed is no longer in the hardware. False when nobody waits for that."""
        if preempt_fence != self._preempting:
            return False
        self._preempting = None
        self.completed(completed)
        self._take_back()
        return True

    def faulted(self, fence: int) -> Submission | None:
        """The submission at which the node stopped; 0 says that its ring entry could not be read. None when it is not there."""
        for submission in self.submitted:
            if fence in (submission.fence, 0):
                return submission
        return None

    def _take_back(self) -> None:
        """The hardware has nothing any more; whatever is submitted again brings its private data along."""
        for submission in self.submitted:
            self._dying.extend(submission.forgets)
        self.submitted.clear()

    # ----- preemption, progress, reset -----------------------------------------------------------------------------------------

    def preempt(self, arguments: DXGKARG_PREEMPTCOMMAND, notify: Notify) -> None:
        """DxgkDdiPreemptCommand. When everything is complete and reported, the answer is given at once."""
        self._asked_at = self.last_completed
        if not self.submitted:
            notify(DXGK_INTERRUPT_DMA_PREEMPTED(arguments.PreemptionFenceId, self.last_completed, self.node))
            return
        self._preempting = arguments.PreemptionFenceId
        self._registers.write_node(self.node, NodeRegister.PREEMPT_FENCE, arguments.PreemptionFenceId)
        self._registers.write_node(self.node, NodeRegister.CONTROL, NodeControl.ENABLE | NodeControl.PREEMPT)

    def query_fence(self, arguments: DXGKARG_QUERYCURRENTFENCE, notify: Notify) -> None:
        """DxgkDdiQueryCurrentFence: report what was not reported yet, before returning."""
        fence = self._registers.read_node(self.node, NodeRegister.FENCE_COMPLETED)
        if self.completed(fence):
            notify(DXGK_INTERRUPT_DMA_COMPLETED(fence, self.node))
        arguments.CurrentFence = self.last_completed

    def query_status(self, arguments: DXGKARG_QUERYENGINESTATUS) -> None:
        """DxgkDdiQueryEngineStatus: is there nothing to do, or has something completed since the last question or preemption?"""
        stopped = self._registers.read_node(self.node, NodeRegister.STATUS) & NodeStatus.FAULTED
        news = self.has(self._registers.read_node(self.node, NodeRegister.FENCE_COMPLETED))
        moved = news or self.last_completed != self._asked_at
        arguments.Responsive = not self.submitted or (moved and not stopped)
        self._asked_at = self.last_completed

    def reset(self, arguments: DXGKARG_RESETENGINE) -> None:
        """DxgkDdiResetEngine: abandon the running buffer and empty the ring.

        The aborted id is the one that was running: the first that has not completed; without one, the last completed id. Those
        behind it were not begun and will be submitted again. Register writes are in order, so that a later submission finds the
        node reset.
        """
        self.completed(self._registers.read_node(self.node, NodeRegister.FENCE_COMPLETED))
        if self.submitted:
            running = self.submitted[0]
            spend(running.private)
            self.last_completed = running.fence
        arguments.LastAbortedFenceId = self.last_completed
        self._take_back()
        self._registers.write_node(self.node, NodeRegister.CONTROL, NodeControl.RESET)
        self.start()

    def abandon(self) -> None:
        """After a device reset: everything submitted counts as done, and the hardware knows no context any more."""
        for submission in self.submitted:
            spend(submission.private)
        self.submitted.clear()
        self._dying.clear()
        self.last_completed = self.last_submitted
        self._preempting = None
