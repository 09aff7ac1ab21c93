"""Thunks of submission: render and present, and how a sender is held back. Models D3DKMTRender and D3DKMTPresent."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from kernel.errors import refusal
from kernel.miniport_host import tracer
from kernel.objects import Context, ExecutionState
from kernel.sync import MonitoredFence
from kernel.vidsch.packets import WaitPacket
from wddm.ddi.d3dukmdt import D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS
from wddm.ddi.status import NTSTATUS, hresult_from_ntstatus
from wddm.wire import thunk

from .group import Handlers, ThunkGroup, wait_for

_NO_SIGNAL: Final = int(D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoSignal)


class SubmissionThunks(ThunkGroup):
    """Render and present."""

    def notifications(self) -> Handlers:
        """What is only told."""
        return {
            thunk.Render: self._render,
            thunk.Present: self._present,
        }

    def _render(self, message: thunk.Render) -> Awaitable[None] | None:
        context = self._active_context(message.hContext)
        if context is None:
            return None
        adapter = self.adapter
        packets = adapter.renderer.translate(
            context, message, self.process.table, adapter.vidsch.next_sequence(), adapter.vidmm.epoch
        )
        for packet in packets:
            adapter.vidsch.enqueue(context, packet)
        if message.fences or message.values:
            self._signal(context, message)
        if len(context.queue) > adapter.options.max_queued_packets:
            return self._room(context)
        return None

    def _signal(self, context: Context, message: thunk.Render) -> None:
        """What would be a D3DKMTSignalSynchronizationObject2 for each fence."""
        if len(message.fences) != len(message.values):
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER, f"{len(message.fences)} fences and {len(message.values)} values to signal"
            )
        for index, (handle, value) in enumerate(zip(message.fences, message.values, strict=True)):
            fence = self.process.table.get(handle, MonitoredFence, f"fences[{index}]")
            if fence.flags & _NO_SIGNAL:
                raise refusal(NTSTATUS.STATUS_ACCESS_DENIED, f"{handle:#x} was created with NoSignal")
            if tracer.enabled:
                tracer("D3DKMTSignalSynchronizationObject", hContext=context.handle, value=value)
            wrong = fence.queue(value)
            if wrong is not None:
                raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, wrong)
            self.services.signals.signal(context, fence, value)

    async def _room(self, context: Context) -> None:
        """Hold the sender back while the queue is long and moving. One that a wait holds up cannot be waited for: it may be this
        sender who has to signal."""
        limit = self.adapter.options.max_queued_packets
        self.adapter.pump()
        while len(context.queue) > limit and context.device.cause is None:
            if type(context.queue[0]) is WaitPacket:
                if len(context.queue) > 64 * limit:
                    raise_to = f"{len(context.queue)} packets are queued behind a wait"
                    self.adapter.fail_device(
                        context.device,
                        ExecutionState.ERROR_OUTOFMEMORY,
                        hresult_from_ntstatus(NTSTATUS.STATUS_NO_MEMORY),
                        raise_to,
                    )
                return
            await wait_for(context.on_space.append)

    def _present(self, message: thunk.Present) -> Awaitable[None] | None:
        context = self._active_context(message.hContext)
        if context is None:
            return None
        presenter = self.services.presenter
        if presenter.busy(context, message):
            return None
        presenter.present(context, message)
        if context.device.queued_presents > self.adapter.options.max_queued_presents:
            return self._present_room(context)
        return None

    async def _present_room(self, context: Context) -> None:
        """Hold the sender back while its device has too many presents queued."""
        device = context.device
        self.adapter.pump()
        while device.queued_presents > self.adapter.options.max_queued_presents and device.cause is None:
            if context.queue and type(context.queue[0]) is WaitPacket:
                return
            await wait_for(context.on_space.append)
