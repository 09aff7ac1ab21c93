"""Recovery from hangs and faults: reset of one engine, or of the whole adapter.

The steps wait for the bus (register reads, barriers), so this is the asynchronous half of TDR; the decisions are in
:mod:`kernel.vidsch.tdr`. Models "TDR Changes in Windows 8", "Timeout Detection and Recovery" and the tables of bug checks 0x116 and
0x119.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import numpy as np

from wddm.ddi import d3dkmddi as ddi
from wddm.ddi.status import HRESULT, NTSTATUS, ntstatus_name

from .adapter import Adapter
from .errors import BugCheckCode, BugCheckError, vidsch_bug_check
from .miniport_host import tracer
from .objects import Context, Device, ExecutionState, InstanceHandle, Process
from .vidmm.allocation import Allocation, Segment
from .vidmm.segment import PAGE_SIZE
from .vidsch.fence import reached
from .vidsch.node import Node
from .vidsch.packets import CallPacket, DmaPacket, PacketState

_log = logging.getLogger("kernel")
_OK = NTSTATUS.STATUS_SUCCESS
#: Engine time-outs of one process within TdrLimitTime after which it is blocked: one less than the adapter's limit.
_ENGINE_LIMIT_LESS = 1


class Recovery:
    """Recovers one adapter. Raises BugCheckError where Windows gives up."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter

    async def recover(self, node: Node, why: str) -> None:
        """Make ``node`` work again."""
        adapter = self.adapter
        node.stopped = True
        _log.warning("node %d: %s", node.ordinal, why)
        tracer("TdrEngine", node=node.ordinal, why=why)
        await adapter.host.refresh()
        if self._made_progress(node):
            return
        if node.hw[0].paging or not adapter.caps.SupportPerEngineTDR or not adapter.host.has("DxgkDdiResetEngine"):
            await self.reset_adapter(node, why)
            return
        group = ddi.DXGKARG_QUERYDEPENDENTENGINEGROUP(node.ordinal)
        status = adapter.host.call("DxgkDdiQueryDependentEngineGroup", adapter.host.hAdapter, group)
        mask = group.DependentNodeOrdinalMask if status == _OK else 1 << node.ordinal
        if not mask >> node.ordinal & 1:
            raise vidsch_bug_check(0x8, f"the dependent engines of node {node.ordinal} are {mask:#x}, without itself", mask)
        for other in adapter.vidsch.nodes:
            if mask >> other.ordinal & 1:
                other.stopped = True
        for other in adapter.vidsch.nodes:
            if mask >> other.ordinal & 1 and not await self._reset_engine(other, why, culprit=other is node):
                await self.reset_adapter(node, f"{why}; the reset of engine {other.ordinal} failed")
                return
        for other in adapter.vidsch.nodes:
            if mask >> other.ordinal & 1:
                other.stopped = False

    def _made_progress(self, node: Node) -> bool:
        """Whether the node has completed something that nobody had heard of (DxgkDdiQueryCurrentFence): then it does not hang."""
        adapter = self.adapter
        oldest = node.hw[0] if node.hw else None
        if oldest is not None and adapter.host.has("DxgkDdiQueryCurrentFence"):
            adapter.host.call(
                "DxgkDdiQueryCurrentFence", adapter.host.hAdapter, ddi.DXGKARG_QUERYCURRENTFENCE(node.ordinal)
            )
            adapter.host.run_dpc()
        if node.hw and node.hw[0] is oldest:
            return False
        node.stopped = False
        if node.preemption is not None:
            # The answer is still owed: forgetting it would lose the packets that it gives back. The time to answer begins anew.
            node.preemption.since = adapter.clock()
        return True

    # ----- one engine --------------------------------------------------------------------------------------------------------

    async def _reset_engine(self, node: Node, why: str, *, culprit: bool) -> bool:
        adapter, host = self.adapter, self.adapter.host
        if not node.hw:
            return True
        last_completed, last_submitted = node.last_completed, node.last_submitted
        arguments = ddi.DXGKARG_RESETENGINE(node.ordinal)
        status = host.call("DxgkDdiResetEngine", host.hAdapter, arguments)
        if status != _OK:
            return False
        aborted_fence = arguments.LastAbortedFenceId
        if not reached(aborted_fence, last_completed) or not reached(last_submitted, aborted_fence):
            raise vidsch_bug_check(
                0xA,
                f"the reset of engine {node.ordinal} aborted fence {aborted_fence}, outside {last_completed}..{last_submitted}",
                aborted_fence,
                last_completed,
            )
        adapter.history.engine += 1
        # Interrupts that were raised before the reset come before the answer to this.
        await adapter.link.read_registers([])
        packets = list(node.hw)
        node.hw.clear()
        node.preemption = None
        aborted = [p for p in packets if reached(aborted_fence, p.fence)]
        returned = [p for p in packets if not reached(aborted_fence, p.fence)]
        if reached(aborted_fence, node.last_completed):
            node.last_completed = aborted_fence
        if any(p.paging for p in aborted):
            node.hw.extend(packets)
            return False
        adapter.vidsch.give_back(node, returned)
        for index, packet in enumerate(aborted):
            context = packet.context
            assert context is not None
            # First the device is lost, so that nothing that waited for the packet is taken for done.
            if context.device.cause is None:
                if culprit and index == 0:
                    self._blame(context, f"{why}; its DMA buffer was stopped and engine {node.ordinal} reset")
                else:
                    self._lose(context.device, f"engine {node.ordinal} was reset while it ran work of this device")
            self._abort(packet)
        return True

    def _abort(self, packet: DmaPacket) -> None:
        packet.aborted = True
        if packet.context is not None and packet in packet.context.submitted:
            packet.context.submitted.remove(packet)
            self.adapter.vidsch.look_at(packet.context)
        self.adapter.vidsch.abandon(packet)

    def _blame(self, context: Context, sentence: str) -> None:
        device, now = context.device, self.adapter.clock()
        self.adapter.fail_device(device, ExecutionState.HUNG, HRESULT.DXGI_ERROR_DEVICE_HUNG, sentence)
        process = device.process
        settings = self.adapter.tdr
        process.engine_timeouts = [t for t in process.engine_timeouts if t > now - settings.limit_time] + [now]
        if len(process.engine_timeouts) >= settings.limit_count - _ENGINE_LIMIT_LESS + 1:
            process.blocked = True
            _log.error("%s is blocked: it hung the GPU %d times", process, len(process.engine_timeouts))

    def _lose(self, device: Device, sentence: str) -> None:
        self.adapter.fail_device(device, ExecutionState.RESET, HRESULT.DXGI_ERROR_DEVICE_RESET, sentence)

    # ----- the adapter -------------------------------------------------------------------------------------------------------

    async def reset_adapter(self, node: Node, why: str) -> None:
        """ResetFromTimeout, purge, RestartFromTimeout: content of video memory is lost."""
        adapter, host = self.adapter, self.adapter.host
        tracer("TdrAdapter", node=node.ordinal, why=why)
        for one in adapter.vidsch.nodes:
            one.stopped = True
        if not adapter.history.adapter_reset(adapter.clock()):
            raise BugCheckError(
                BugCheckCode.VIDEO_TDR_FAILURE,
                0,
                f"more than {adapter.tdr.limit_count} resets in {adapter.tdr.limit_time} s: {why}",
            )
        status = host.call("DxgkDdiResetFromTimeout", host.hAdapter)
        if status != _OK:
            raise BugCheckError(BugCheckCode.VIDEO_TDR_FAILURE, 0, f"DxgkDdiResetFromTimeout: {ntstatus_name(status)}", status)
        await adapter.link.read_registers([])
        await adapter.host.refresh()
        culprit = node.hw[0].context if node.hw else None
        if culprit is not None and culprit.device.cause is None:
            self._blame(culprit, f"{why}; the adapter was reset")
        sentence = f"the adapter was reset and this device lost work or content: {why}"
        self._drop_hardware_work(sentence)
        were, lost = adapter.vidmm.purge()
        for allocation, segment, start in were:
            self._notice(allocation, segment, start)
        status = host.call("DxgkDdiRestartFromTimeout", host.hAdapter)
        if status != _OK:
            raise BugCheckError(BugCheckCode.VIDEO_TDR_FAILURE, 0, f"DxgkDdiRestartFromTimeout: {ntstatus_name(status)}", status)
        self._requeue()
        adapter.display.after_reset()
        for device in self._owners(lost):
            if device.cause is None:
                self._lose(device, sentence)
        for one in adapter.vidsch.nodes:
            one.stopped = False

    def _drop_hardware_work(self, sentence: str) -> None:
        """Nothing is in the hardware any more: devices whose work was there are lost."""
        for node in self.adapter.vidsch.nodes:
            packets = [*node.hw, *node.paging]
            node.hw.clear()
            node.paging.clear()
            node.ready.clear()
            node.preemption = None
            node.last_completed = node.last_submitted
            for packet in packets:
                if packet.context is not None and packet.context.device.cause is None:
                    self._lose(packet.context.device, sentence)
            for packet in packets:
                if packet.paging:
                    self._drop_paging(packet)
                else:
                    self._abort(packet)

    def _drop_paging(self, packet: DmaPacket) -> None:
        """The move did not happen, or half of it: what was being saved is lost; everything else is placed again."""
        batch = packet.batch
        assert batch is not None
        packet.state = PacketState.FINISHED
        self.adapter.pool.release(packet.dma)
        if not batch.done:
            for allocation in batch.saving:
                allocation.lost = True
            batch.finish()

    def _owners(self, lost: Iterable[Allocation]) -> set[Device]:
        gone = {id(a) for a in lost} | {id(a) for a in self.adapter.vidmm.all if a.lost and not a.offered}
        return {
            item.opened.device
            for process in self.adapter.processes
            for item in process.table.values()
            if isinstance(item, InstanceHandle) and id(item.allocation) in gone
        }

    def _notice(self, allocation: Allocation, segment: Segment, start: int) -> None:
        """Tell the miniport that an allocation has left its place; nothing of it is submitted."""
        if allocation.destroyed:
            return
        info = allocation.info
        parameters: ddi.DXGK_BUILDPAGINGBUFFER_PARAMETERS
        if segment.aperture:
            parameters = ddi.DXGK_BUILDPAGINGBUFFER_UNMAP_APERTURE_SEGMENT(
                info.hDevice, info.hAllocation, segment.id, start // PAGE_SIZE, info.size // PAGE_SIZE, 0
            )
        else:
            there = ddi.DXGK_PAGING_LOCATION(segment.id, segment.base + start)
            parameters = ddi.DXGK_BUILDPAGINGBUFFER_TRANSFER(info.hAllocation, there, ddi.DXGK_PAGING_LOCATION(), 0)
        scratch = np.zeros(PAGE_SIZE, np.uint8)
        private = np.zeros(PAGE_SIZE, np.uint8)
        arguments = ddi.DXGKARG_BUILDPAGINGBUFFER(scratch, PAGE_SIZE, parameters, private, PAGE_SIZE)
        status = self.adapter.host.DxgkDdiBuildPagingBuffer(arguments)
        if status != _OK:
            raise BugCheckError(
                BugCheckCode.VIDEO_MEMORY_MANAGEMENT_INTERNAL, 0x14, f"purge of a segment: {ntstatus_name(status)}", status
            )

    def _requeue(self) -> None:
        """What was prepared has lost its places: it is prepared again. What was preempted has lost its saved state."""
        vidsch = self.adapter.vidsch
        for context in (c for p in self.adapter.processes for c in _contexts(p)):
            for packet in list(context.queue):
                if isinstance(packet, (DmaPacket, CallPacket)) and packet.state in (PacketState.READY, PacketState.PAGING):
                    packet.state = PacketState.QUEUED
                    packet.batch = None
                if isinstance(packet, DmaPacket) and packet.resubmitted and context.device.cause is None:
                    self._lose(context.device, "the adapter was reset while preempted work of this device was saved in it")
                    break
            vidsch.look_at(context)


def _contexts(process: Process) -> list[Context]:
    return [context for device in process.devices for context in device.contexts]
