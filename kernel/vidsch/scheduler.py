"""VidSch: from the contexts' software queues to the hardware's, and back at completion.

Owns queues, nodes and fence ids. :meth:`VidSch.pump` does all that can be done now: heads of queues are looked at, packets made
resident, policies asked, work submitted; interrupts and their DPC feed it. It is plain code that never waits; the time comes from
``clock``. Models "Video Memory Management and GPU Scheduling", "Submitting a Command Buffer" and "GPU Preemption".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Final, Protocol

from kernel.bus_link import BusLink, MemoryBlock
from kernel.errors import vidsch_bug_check
from kernel.miniport_host import tracer
from kernel.objects import Context, Device, ExecutionState
from kernel.vidmm.allocation import Allocation
from kernel.vidmm.manager import Residency, VidMm
from kernel.vidmm.paging import PagingBatch, PagingBuilder
from wddm.ddi.d3dkmddi import (
    DXGK_PATCHFLAGS,
    DXGK_SUBMITCOMMANDFLAGS,
    DXGKARG_CANCELCOMMAND,
    DXGKARG_PATCH,
    DXGKARG_PREEMPTCOMMAND,
    DXGKARG_SUBMITCOMMAND,
)
from wddm.ddi.status import NTSTATUS, hresult_from_ntstatus
from wddm.wire.channel import CallError

from .allocation_list import fill_addresses
from .dma import DmaPool
from .fence import reached
from .node import Node, Preemption
from .packets import CallPacket, DmaPacket, Packet, PacketState, SignalPacket, WaitPacket
from .waits import Waits, drop_from_broadcast

#: The flags of a submission that Patch is told as well, by their number.
_PATCH_FLAGS: Final = tuple(DXGK_PATCHFLAGS(number) for number in range(16))


_RESUBMISSION: Final = int(DXGK_SUBMITCOMMANDFLAGS.Resubmission)
_SUBMIT_FLAGS: Final = tuple(DXGK_SUBMITCOMMANDFLAGS(number) for number in range(2 * _RESUBMISSION))


class SchedulerHost(Protocol):
    """The miniport's entries that the scheduler calls."""

    def DxgkDdiPatch(self, arguments: DXGKARG_PATCH) -> None: ...
    def DxgkDdiSubmitCommand(self, arguments: DXGKARG_SUBMITCOMMAND) -> None: ...
    def DxgkDdiPreemptCommand(self, arguments: DXGKARG_PREEMPTCOMMAND) -> None: ...
    def DxgkDdiCancelCommand(self, arguments: DXGKARG_CANCELCOMMAND) -> None: ...


class VidSch:
    """The scheduler of one adapter. ``fail_device`` is called with a device, its new state, an HRESULT and a sentence."""

    def __init__(
        self,
        host: SchedulerHost,
        link: BusLink,
        pool: DmaPool,
        nodes: list[Node],
        paging_node: int,
        clock: Callable[[], float],
        fail_device: Callable[[Device, ExecutionState, int, str], None],
    ) -> None:
        self._host = host
        self._link = link
        self._pool = pool
        self.nodes = nodes
        self.paging_node = nodes[paging_node]
        self._clock = clock
        self._fail_device = fail_device
        self.vidmm: VidMm  # set by the adapter: the two need each other
        self.builder: PagingBuilder
        self._attention: dict[Context, None] = {}
        self._memory_waiters: dict[Context, None] = {}
        self._flip_waiters: dict[Context, None] = {}
        #: Whether the display still needs the content of an allocation (set by the adapter).
        self.is_scanned_out: Callable[[Allocation], bool] = lambda allocation: False
        self._sequence = 0
        self._pumping = False
        self._interrupts: list[tuple[str, Node, int, int]] = []
        self.waits = Waits(self.look_at, fail_device)
        self.paging_count = 0
        #: Called, once each, when room may have been made.
        self.on_memory: list[Callable[[], None]] = []

    # ----- what goes in ------------------------------------------------------------------------------------------------------

    def next_sequence(self) -> int:
        """Sequence number of a packet: the order in which user mode asked."""
        self._sequence += 1
        return self._sequence

    def enqueue(self, context: Context, packet: Packet) -> None:
        """Append to a context's software queue; :meth:`pump` does the rest."""
        context.queue.append(packet)
        if isinstance(packet, CallPacket):
            for allocation in packet.uses:
                allocation.holds += 1
        elif isinstance(packet, DmaPacket):
            for allocation in packet.uses:
                allocation.last_use[context] = packet
            for allocation in packet.writes:
                allocation.last_write[context] = packet
        self._attention[context] = None

    def look_at(self, context: Context) -> None:
        """Something may have changed for the head of this context."""
        self._attention[context] = None

    def submit_paging(self, batch: PagingBatch) -> None:
        """Queue a batch on the paging node, before all work of contexts."""
        packets = self.builder.build(batch, self.next_sequence)
        self.paging_node.paging.extend(packets)
        self.paging_count += len(packets)
        if not packets:
            batch.finish()

    # ----- the pump ----------------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Do all that can be done now."""
        if self._pumping:
            return
        self._pumping = True
        try:
            while True:
                while self._attention:
                    context = next(iter(self._attention))
                    del self._attention[context]
                    self._advance(context)
                for node in self.nodes:
                    if node.ready or node.paging or node.hw:
                        self._dispatch(node)
                    else:
                        node.wake_at = None
                if not self._attention:
                    return
        finally:
            self._pumping = False

    def _advance(self, context: Context) -> None:
        """Take from the head of a software queue what needs no hardware, and make the first DMA packet ready."""
        node = self.nodes[context.node]
        while context.queue:
            head = context.queue[0]
            if type(head) is DmaPacket:
                if head.state is PacketState.READY or self._make_ready(context, head, head.uses, head.writes):
                    node.ready[context] = None
                    self._tell_progress(context)
                    return
                break
            if type(head) is WaitPacket:
                if not self.waits.try_wait(context, head):
                    if not context.destroying:
                        break
                    # Nobody is left to signal what it waits for: drop the rest.
                    self.cancel(context)
                    continue
                context.queue.popleft()
            elif type(head) is SignalPacket:
                context.queue.popleft()
                if head.at_submission:
                    self.waits.signal(head)
                else:
                    self._when_outstanding_done(context, partial(self.waits.signal, head))
            elif type(head) is CallPacket:
                if head.state is not PacketState.READY and not self._make_ready(context, head, head.uses, ()):
                    break
                context.queue.popleft()
                for allocation in head.uses:
                    allocation.holds -= 1
                head.started()
                self._when_outstanding_done(context, head.action)
        node.ready.pop(context, None)
        self._tell_progress(context)

    def _tell_progress(self, context: Context) -> None:
        if context.on_space:
            callbacks, context.on_space = context.on_space, []
            for callback in callbacks:
                callback()
        if context.idle and context.on_idle:
            callbacks, context.on_idle = context.on_idle, []
            for callback in callbacks:
                callback()

    @staticmethod
    def _when_outstanding_done(context: Context, action: Callable[[], None]) -> None:
        if context.submitted:
            context.submitted[-1].on_finish.append(action)
        else:
            action()

    # ----- residency ---------------------------------------------------------------------------------------------------------

    def _make_ready(
        self, context: Context, packet: DmaPacket | CallPacket, uses: Sequence[Allocation], writes: Iterable[Allocation]
    ) -> bool:
        """Whether everything that ``packet`` uses is resident and pinned; asks for it if not."""
        if packet.state is PacketState.READY:
            return True
        if packet.state is PacketState.PAGING:
            return False
        for allocation in writes:
            if (allocation.flipping or allocation.displayed) and self.is_scanned_out(allocation):
                # A back buffer that the display has not given back: the GPU must not draw into it yet.
                self._flip_waiters[context] = None
                return False
        if self._memory_waiters and next(iter(self._memory_waiters)) is not context:
            # Somebody waits for room: nobody else is prepared until what is in flight has made it.
            self._memory_waiters[context] = None
            return False
        try:
            residency, batch = self.vidmm.prepare(uses, writes)
        except CallError as error:
            out_of_memory = error.code != NTSTATUS.STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION
            state = ExecutionState.ERROR_OUTOFMEMORY if out_of_memory else ExecutionState.STOPPED
            self._memory_waiters.pop(context, None)
            self._wake_memory_waiters()
            self._fail_device(context.device, state, hresult_from_ntstatus(error.code), error.message)
            return False
        if residency is Residency.WAIT:
            self._memory_waiters[context] = None
            return False
        if context in self._memory_waiters:
            del self._memory_waiters[context]
            self._wake_memory_waiters()
        if batch is None:
            packet.state = PacketState.READY
            return True
        packet.state = PacketState.PAGING
        packet.batch = batch
        batch.on_done.append(partial(self._paged, context, packet))
        return False

    def _paged(self, context: Context, packet: DmaPacket | CallPacket) -> None:
        if packet.state is PacketState.PAGING:
            packet.state = PacketState.READY
            packet.batch = None
            self._attention[context] = None

    def _wake_memory_waiters(self) -> None:
        for context in self._memory_waiters:
            self._attention[context] = None

    def flipped(self) -> None:
        """The screen changed: who waits for a back buffer looks again."""
        self._attention.update(self._flip_waiters)
        self._flip_waiters.clear()
        self.memory_freed()

    def memory_freed(self) -> None:
        """Pins have gone: who waits for room looks again."""
        if self.on_memory:
            callbacks, self.on_memory = self.on_memory, []
            for callback in callbacks:
                callback()
        if self._memory_waiters:
            self._attention[next(iter(self._memory_waiters))] = None

    # ----- submission --------------------------------------------------------------------------------------------------------

    def _dispatch(self, node: Node) -> None:
        """Fill the hardware's queue of one node."""
        while not node.stopped and node.preemption is None:
            hw = node.hw
            if node.paging and len(hw) < node.cap:
                self._submit(node, node.paging.popleft())
                continue
            if not node.ready and len(hw) < 2:
                node.wake_at = None
                return
            behind = [p.context for p in islice(hw, 1, None) if p.context is not None] if len(hw) > 1 else ()
            decision = node.policy.decide(self._clock(), node.running, list(node.ready), behind)
            node.wake_at = decision.wake_at
            if decision.preempt and hw:
                self.preempt(node)
                return
            context = decision.run
            if context is None or len(hw) >= node.cap:
                return
            assert isinstance(context, Context)
            packet = context.queue.popleft()
            assert isinstance(packet, DmaPacket)
            del node.ready[context]
            context.submitted.append(packet)
            self._submit(node, packet)
            self._advance(context)

    def _submit(self, node: Node, packet: DmaPacket) -> None:
        """Patch and submit: the last change to the buffer, then the doorbell."""
        if not (packet.paging and packet.resubmitted):
            packet.fence = node.new_fence()
        hContext = packet.context.hKmd if packet.context is not None else 0
        dma, flags = packet.dma, packet.flags
        if packet.resubmitted:
            # DEVIATES: WDDM 1 leaves this flag 0; this hardware has to be told to go on where it was stopped.
            flags |= _RESUBMISSION
        listed = packet.allocations
        if listed is not None:
            fill_addresses(listed, self.vidmm.epoch)
        patch = dma.patch_arguments
        patch.hContext = hContext
        patch.DmaBufferSubmissionEndOffset = packet.size
        patch.DmaBufferPrivateDataSubmissionEndOffset = packet.private_used
        patch.SubmissionFenceId = packet.fence
        patch.pAllocationList = None if listed is None else listed.array
        patch.AllocationListSize = 0 if listed is None else len(listed.array)
        patch.pPatchLocationList = None if packet.paging else dma.patches
        patch.PatchLocationListSize = 0 if packet.paging else len(dma.patches)
        patch.PatchLocationListSubmissionLength = packet.patch_count
        patch.Flags = _PATCH_FLAGS[packet.flags & 0xF]
        self._host.DxgkDdiPatch(patch)
        if not self._link.shared:
            self._show_device(packet)
        packet.state = PacketState.SUBMITTED
        if not node.hw:
            node.head_since = self._clock()
        node.hw.append(packet)
        node.submitted_count += 1
        submit = dma.submit_arguments
        submit.hContext = hContext
        submit.NodeOrdinal = node.ordinal
        submit.DmaBufferSubmissionEndOffset = packet.size
        submit.DmaBufferPrivateDataSubmissionEndOffset = packet.private_used
        submit.SubmissionFenceId = packet.fence
        submit.Flags = _SUBMIT_FLAGS[flags]
        self._host.DxgkDdiSubmitCommand(submit)

    def _show_device(self, packet: DmaPacket) -> None:
        """On links that copy: the device gets the buffer and every page that the processor may have changed."""
        link = self._link
        if packet.size:
            link.to_device(packet.dma.block, 0, packet.size)
        for allocation in packet.uses:
            if allocation.in_aperture and allocation.info.cpu_visible and allocation.backing is not None:
                link.to_device(allocation.backing)
        if packet.batch is not None:
            for block in packet.batch.to_device:
                link.to_device(block)

    # ----- preemption --------------------------------------------------------------------------------------------------------

    def preempt(self, node: Node, *, because_of_time: bool = False) -> None:
        """Ask the hardware to give back what it has of the node."""
        node.preempt_fences += 1
        node.preemption = Preemption(node.preempt_fences & 0xFFFF_FFFF, self._clock(), because_of_time)
        self._host.DxgkDdiPreemptCommand(DXGKARG_PREEMPTCOMMAND(node.preemption.fence, node.ordinal))

    def give_back(self, node: Node, packets: list[DmaPacket]) -> None:
        """Packets that the hardware did not finish go back to the front of their queues, in order."""
        for packet in reversed(packets):
            packet.resubmitted = True
            packet.state = PacketState.READY
            node.preempted_count += 1
            context = packet.context
            if context is None:
                node.paging.appendleft(packet)
                continue
            last = context.submitted.pop()
            assert last is packet
            context.queue.appendleft(packet)
            node.ready[context] = None
        for packet in packets:
            if packet.context is not None and (packet.context.device.cause is not None or packet.context.destroying):
                self.cancel(packet.context)

    # ----- interrupts --------------------------------------------------------------------------------------------------------

    def note_completed(self, ordinal: int, fence: int) -> None:
        """At interrupt level: everything up to ``fence`` is complete. Raises BugCheckError (0x119, 1) for an id never submitted."""
        node = self.node(ordinal)
        if not node.plausible(fence):
            raise vidsch_bug_check(0x1, f"completion of fence {fence}, which was never submitted to node {ordinal}", fence)
        self._interrupts.append(("completed", node, fence, 0))

    def note_preempted(self, ordinal: int, preempt_fence: int, completed: int) -> None:
        """At interrupt level: a preemption is done."""
        node = self.node(ordinal)
        if not node.plausible(completed):
            raise vidsch_bug_check(0x1, f"preemption reports fence {completed}, never submitted to node {ordinal}", completed)
        self._interrupts.append(("preempted", node, completed, preempt_fence))

    def node(self, ordinal: int) -> Node:
        """A node by number. Raises BugCheckError (0x119, 1)."""
        if not 0 <= ordinal < len(self.nodes):
            raise vidsch_bug_check(0x1, f"an interrupt names node {ordinal} of {len(self.nodes)}", ordinal)
        return self.nodes[ordinal]

    def dpc(self) -> None:
        """After DxgkCbNotifyDpc: what interrupts have noted takes effect."""
        noted, self._interrupts = self._interrupts, []
        for what, node, fence, preempt_fence in noted:
            self._complete(node, fence)
            if what == "preempted" and node.preemption is not None and node.preemption.fence == preempt_fence:
                node.preemption = None
                returned = list(node.hw)
                node.hw.clear()
                self._account(node, returned[:1])
                self.give_back(node, returned)

    def _account(self, node: Node, stopped: list[DmaPacket]) -> None:
        now = self._clock()
        for packet in stopped:
            node.busy_ns += int((now - node.head_since) * 1e9)
            if packet.context is not None:
                node.policy.ran(packet.context, now - node.head_since)

    def _complete(self, node: Node, fence: int) -> None:
        now = self._clock()
        while node.hw and reached(fence, node.hw[0].fence):
            packet = node.hw.popleft()
            self._account(node, [packet])
            node.head_since = now
            node.completed_count += 1
            packet.state = PacketState.COMPLETED
            self._link.from_device(self._written_blocks(packet), partial(self._retire, packet))
        if reached(fence, node.last_completed):
            node.last_completed = fence

    def _written_blocks(self, packet: DmaPacket) -> list[MemoryBlock]:
        if self._link.shared:
            return []
        if packet.batch is not None:
            return packet.batch.from_device if packet.closes_batch else []
        return [a.backing for a in packet.writes if a.in_aperture and a.backing is not None]

    def _retire(self, packet: DmaPacket) -> None:
        """Everybody is told: the packet's work is done and can be seen."""
        context = packet.context
        if tracer.enabled:
            tracer("Retire", SubmissionFenceId=packet.fence, kind=packet.kind.name)
        if context is None:
            batch = packet.batch
            assert batch is not None
            packet.state = PacketState.FINISHED
            self._pool.release(packet.dma)
            batch.waiting -= 1
            if batch.waiting == 0:
                batch.finish()
                self.memory_freed()
            return
        context.submitted.remove(packet)
        self._finish(packet)
        if not self._link.shared:
            # The device wrote its own copy of the fence page.
            for fence, value in packet.signals:
                if not fence.destroyed:
                    fence.page.values[fence.slot] = value
        self._attention[context] = None
        if self.waits.fences_with_waiters:
            self.waits.look_at_fences()

    def _finish(self, packet: DmaPacket) -> None:
        packet.state = PacketState.FINISHED
        self.vidmm.release(packet.uses)
        for allocation, priority in packet.offers:
            allocation.offered = priority
        self._pool.release(packet.dma)
        callbacks, packet.on_finish = packet.on_finish, []
        for callback in callbacks:
            callback()
        self.memory_freed()

    # ----- cancellation ------------------------------------------------------------------------------------------------------

    def cancel(self, context: Context) -> None:
        """Drop everything that is queued and not with the hardware (the device is lost, or the process gone)."""
        self.nodes[context.node].ready.pop(context, None)
        self._memory_waiters.pop(context, None)
        self._flip_waiters.pop(context, None)
        queue, context.queue = list(context.queue), type(context.queue)()
        for packet in queue:
            if isinstance(packet, DmaPacket):
                self._cancel_dma(context, packet)
            elif isinstance(packet, WaitPacket):
                self.waits.forget(context, packet)
            elif isinstance(packet, CallPacket):
                if packet.state in (PacketState.READY, PacketState.PAGING):
                    self.vidmm.release(packet.uses)
                packet.state = PacketState.FINISHED
                for allocation in packet.uses:
                    allocation.holds -= 1
                packet.cancel()
            elif isinstance(packet, SignalPacket):
                drop_from_broadcast(packet.broadcast)
        self._wake_memory_waiters()
        self._attention[context] = None

    def _cancel_dma(self, context: Context, packet: DmaPacket) -> None:
        dma, listed = packet.dma, packet.allocations
        self._host.DxgkDdiCancelCommand(
            DXGKARG_CANCELCOMMAND(
                hContext=context.hKmd,
                pDmaBuffer=dma.array,
                DmaBufferSize=dma.size,
                DmaBufferSubmissionStartOffset=0,
                DmaBufferSubmissionEndOffset=packet.size,
                pDmaBufferPrivateData=dma.private,
                DmaBufferPrivateDataSize=len(dma.private),
                DmaBufferPrivateDataSubmissionEndOffset=packet.private_used,
                pAllocationList=None if listed is None else listed.array,
                AllocationListSize=0 if listed is None else len(listed.array),
                pPatchLocationList=dma.patches,
                PatchLocationListSize=len(dma.patches),
                PatchLocationListSubmissionLength=packet.patch_count,
            )
        )
        packet.aborted = True
        self.abandon(packet)

    def abandon(self, packet: DmaPacket) -> None:
        """A packet that will never complete: undo its pins, tell who waits for it."""
        prepared = packet.state is not PacketState.QUEUED
        packet.state = PacketState.FINISHED
        if prepared:
            self.vidmm.release(packet.uses)
        self._pool.release(packet.dma)
        callbacks, packet.on_finish = packet.on_finish, []
        for callback in callbacks:
            callback()
        self.memory_freed()

    def forget(self, context: Context) -> None:
        """The context is gone."""
        self.cancel(context)
        self._attention.pop(context, None)
        self.nodes[context.node].policy.forget(context)
        self.memory_freed()

    # ----- time --------------------------------------------------------------------------------------------------------------

    def wake_at(self) -> float | None:
        """When a policy wants to be asked again."""
        earliest = None
        for node in self.nodes:
            time = node.wake_at
            if time is not None and (earliest is None or time < earliest) and node.preemption is None and not node.stopped:
                earliest = time
        return earliest

