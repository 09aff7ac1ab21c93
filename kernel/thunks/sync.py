"""Thunks of synchronisation objects: signals and waits, of contexts and of the CPU. Models D3DKMTSignalSynchronizationObject2,
WaitForSynchronizationObject2, their FromCpu forms and creation."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

import trio

from kernel.errors import refusal
from kernel.sync import CpuNotification, CpuWait, MonitoredFence, SyncObject
from kernel.vidsch.packets import Broadcast, SignalPacket, WaitPacket
from wddm.ddi.d3dukmdt import (
    D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS,
    D3DDDICB_SIGNALFLAGS,
)
from wddm.ddi.status import NTSTATUS
from wddm.wire import thunk
from wddm.wire.message import Descriptor

from .group import Handlers, ThunkGroup

_AT_SUBMISSION: Final = int(D3DDDICB_SIGNALFLAGS.SignalAtSubmission)
_REWIND: Final = int(D3DDDICB_SIGNALFLAGS.AllowFenceRewind)
_NO_SIGNAL: Final = int(D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoSignal)
_NO_WAIT: Final = int(D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoWait)


class SyncThunks(ThunkGroup):
    """Synchronisation objects."""

    def requests(self) -> Handlers:
        """What is answered."""
        return {
            thunk.CreateSynchronizationObject: self._create_sync,
            thunk.WaitFromCpu: self._wait_from_cpu,
        }

    def notifications(self) -> Handlers:
        """What is only told."""
        return {
            thunk.SignalSynchronizationObject: self._signal,
            thunk.WaitForSynchronizationObject: self._wait,
            thunk.SignalFromCpu: self._signal_from_cpu,
            thunk.DestroySynchronizationObject: self._destroy_sync,
        }

    def _sync_objects(self, handles: list[int]) -> list[SyncObject]:
        found = []
        for index, handle in enumerate(handles):
            item = self.process.table.peek(handle)
            if not isinstance(item, SyncObject):
                self.process.table.get(handle, SyncObject, f"handles[{index}]")
            assert isinstance(item, SyncObject)
            found.append(item)
        return found

    def _signal(self, message: thunk.SignalSynchronizationObject) -> None:
        context = self._active_context(message.hContext)
        others = [self._context(h) for h in message.broadcast] if message.broadcast else ()
        if context is None:
            return
        if message.flags & ~(_AT_SUBMISSION | _REWIND):
            raise refusal(NTSTATUS.STATUS_NOT_SUPPORTED, f"signal flags {message.flags:#x} are not supported")
        objects = self._sync_objects(message.handles)
        if not objects:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "nothing to signal")
        rewind, at_submission = bool(message.flags & _REWIND), bool(message.flags & _AT_SUBMISSION)
        by_gpu = not others and not at_submission
        for item in objects:
            if item.flags & _NO_SIGNAL:
                raise refusal(NTSTATUS.STATUS_ACCESS_DENIED, f"{item.handle:#x} was created with NoSignal")
            by_gpu = by_gpu and type(item) is MonitoredFence
        if not by_gpu:
            broadcast = Broadcast(1 + len(others))
            for one in (context, *others):
                self.adapter.vidsch.enqueue(one, SignalPacket(objects, message.value, broadcast, rewind, at_submission))
            return
        for fence in objects:
            assert isinstance(fence, MonitoredFence)
            wrong = fence.queue(message.value, rewind=rewind)
            if wrong is not None:
                raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, wrong)
            self.services.signals.signal(context, fence, message.value, rewind=rewind)

    def _wait(self, message: thunk.WaitForSynchronizationObject) -> None:
        context = self._active_context(message.hContext)
        if context is None:
            return
        objects = self._sync_objects(message.handles)
        if not objects or len(set(message.handles)) != len(objects):
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "nothing, or one object twice, to wait for")
        for item in objects:
            if item.flags & _NO_WAIT:
                raise refusal(NTSTATUS.STATUS_ACCESS_DENIED, f"{item.handle:#x} was created with NoWait")
            if isinstance(item, CpuNotification):
                raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "the GPU cannot wait for a CPU notification")
        self.adapter.vidsch.enqueue(context, WaitPacket(objects, message.value))

    def _fences(self, handles: list[int], values: list[int]) -> list[MonitoredFence]:
        if len(handles) != len(values) or not handles:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"{len(handles)} fences and {len(values)} values")
        return [self.process.table.get(h, MonitoredFence, f"handles[{i}]") for i, h in enumerate(handles)]

    def _signal_from_cpu(self, message: thunk.SignalFromCpu) -> None:
        fences = self._fences(message.handles, message.values)
        for fence in fences:
            if fence.flags & _NO_SIGNAL:
                raise refusal(NTSTATUS.STATUS_ACCESS_DENIED, f"{fence.handle:#x} was created with NoSignal")
        for fence, value in zip(fences, message.values, strict=True):
            wrong = fence.signal(value)
            if wrong is not None:
                raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, wrong)
            self.adapter.vidsch.waits.signalled(fence)

    def _wait_from_cpu(self, message: thunk.WaitFromCpu) -> Awaitable[None] | None:
        fences = self._fences(message.handles, message.values)
        for fence in fences:
            if fence.flags & _NO_WAIT:
                raise refusal(NTSTATUS.STATUS_ACCESS_DENIED, f"{fence.handle:#x} was created with NoWait")
        event = trio.Event()
        failures: list[str] = []

        def done(sentence: str | None) -> None:
            if sentence is not None:
                failures.append(sentence)
            event.set()

        wait = CpuWait(fences, message.values, message.any, done)
        if wait.satisfied:
            return None
        for fence in fences:
            if wait not in fence.cpu_waits:
                fence.cpu_waits.append(wait)
            self.adapter.vidsch.waits.fences_with_waiters.add(fence)
        return self._finish_cpu_wait(wait, event, failures)

    async def _finish_cpu_wait(self, wait: CpuWait, event: trio.Event, failures: list[str]) -> None:
        try:
            await event.wait()
        finally:
            for fence in wait.fences:
                if wait in fence.cpu_waits:
                    fence.cpu_waits.remove(wait)
        if failures:
            raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, failures[0])

    def _create_sync(
        self, message: thunk.CreateSynchronizationObject
    ) -> thunk.SyncObjectCreated | Awaitable[thunk.SyncObjectCreated]:
        item = self.services.lifecycle.create_sync(self._device(message.hDevice), message)
        if not isinstance(item, MonitoredFence) or not self.channel.passes_descriptors:
            return thunk.SyncObjectCreated(hSyncObject=item.handle, page=None, page_size=0, offset=0)
        return _fence_created(item) if item.page.sealed else self._seal(item)

    async def _seal(self, fence: MonitoredFence) -> thunk.SyncObjectCreated:
        assert self.process.pages is not None
        await self.process.pages.seal(fence.page)
        return _fence_created(fence)

    def _destroy_sync(self, message: thunk.DestroySynchronizationObject) -> None:
        self.services.lifecycle.destroy_sync(self._sync_objects([message.hSyncObject])[0])


def _fence_created(fence: MonitoredFence) -> thunk.SyncObjectCreated:
    memory = fence.page.block.memory
    return thunk.SyncObjectCreated(
        hSyncObject=fence.handle, page=Descriptor(memory.descriptor), page_size=memory.size, offset=fence.slot * 8
    )
