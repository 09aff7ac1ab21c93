"""Creation and destruction of devices, contexts and synchronisation objects, and the end of a process.

Each function checks what user mode asked, calls the miniport, keeps handles and objects in step, and undoes what it did when
something fails. Destruction of what the GPU may still use is deferred; ``done`` is called when it is over. Models
D3DKMTCreateDevice, CreateContext, CreateSynchronizationObject and their counterparts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from wddm.ddi import d3dkmddi as ddi
from wddm.ddi.d3dukmdt import (
    D3DDDI_CREATECONTEXTFLAGS,
    D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS,
    D3DDDI_SYNCHRONIZATIONOBJECT_TYPE,
)
from wddm.ddi.status import NTSTATUS, hresult_from_ntstatus
from wddm.wire import thunk

from .adapter import Adapter, contexts_of
from .allocations import Allocations, check_active
from .errors import BugCheckCode, BugCheckError, refusal, status_of
from .objects import (
    Context,
    Device,
    ExecutionState,
    Process,
)
from .sync import CpuNotification, Fence, FencePages, MonitoredFence, Mutex, Semaphore, SyncObject
from .vidsch.packets import DmaPacket

_OK: Final = NTSTATUS.STATUS_SUCCESS
_MAX_ALLOCATION: Final = 1 << 36
_KNOWN_CONTEXT_FLAGS: Final = int(
    D3DDDI_CREATECONTEXTFLAGS.NullRendering
    | D3DDDI_CREATECONTEXTFLAGS.InitialData
    | D3DDDI_CREATECONTEXTFLAGS.DisableGpuTimeout
)
_KNOWN_SYNC_FLAGS: Final = int(
    D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.TopOfPipeline
    | D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoSignal
    | D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoWait
    | D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoSignalMaxValueOnTdr
    | D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoGPUAccess
    | D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.LocalMemoryPreferred
)


class Lifecycle:
    """Makes and destroys objects on one adapter."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.host = adapter.host
        self.allocations = Allocations(adapter)

    # ----- devices -----------------------------------------------------------------------------------------------------------

    def create_device(self, process: Process, flags: int) -> Device:
        """D3DKMTCreateDevice. Raises CallError."""
        if process.blocked:
            raise refusal(
                NTSTATUS.STATUS_ACCESS_DENIED, f"{process} has hung the GPU again and again and may not use it any more"
            )
        if flags & ~0xF:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"device flags {flags:#x} are not defined")
        device = Device(process)
        device.handle = process.table.add(device)
        arguments = ddi.DXGKARG_CREATEDEVICE(device.handle)
        status = self.host.call("DxgkDdiCreateDevice", self.host.hAdapter, arguments)
        if status != _OK:
            process.table.remove(device.handle)
            raise refusal(status, f"the miniport created no device: {status_of(status).sentence}")
        device.hKmd = arguments.hDevice
        process.devices.append(device)
        return device

    def destroy_device(self, device: Device, done: Callable[[], None]) -> None:
        """Wait for its work (what waits for what may never come is dropped), then destroy it with all it owns."""
        if device.destroying:
            raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, "the device is being destroyed already")
        device.destroying = True
        device.process.table.remove(device.handle)
        remaining = len(device.contexts) + 1

        def one_less() -> None:
            nonlocal remaining
            remaining -= 1
            if remaining == 0:
                self._finish_device(device, done)

        for context in list(device.contexts):
            if not context.destroying:
                self.destroy_context(context, one_less)
            else:
                context.on_idle.append(one_less)
        one_less()

    def _finish_device(self, device: Device, done: Callable[[], None]) -> None:
        self.adapter.display.release_device(device)
        for item in list(device.sync_objects):
            self.destroy_sync(item)
        for resource in list(device.resources):
            self.allocations.destroy_resource(resource)
        for opened in list(device.allocations):
            self.allocations.destroy_opened([opened])

        def last() -> None:
            self.host.call("DxgkDdiDestroyDevice", device.hKmd)
            process = device.process
            process.devices.remove(device)
            done()
            if process.gone and not process.devices and process.on_empty is not None:
                process.on_empty()

        # Behind its allocations: the miniport closes them first.
        instances = [a for entry in self.adapter.dying for a in entry[0]]
        self.adapter.dying.append((instances, last))

    # ----- contexts ----------------------------------------------------------------------------------------------------------

    def create_context(self, device: Device, message: thunk.CreateContext) -> Context:
        """D3DKMTCreateContext. Raises CallError."""
        check_active(self.adapter, device)
        nodes = self.adapter.vidsch.nodes
        if message.node_ordinal >= len(nodes):
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER, f"node_ordinal {message.node_ordinal}: the adapter has {len(nodes)} nodes"
            )
        if message.engine_affinity not in (0, 1):
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER,
                f"engine_affinity {message.engine_affinity:#x}: the adapter is not linked, so that it is 1",
            )
        if message.flags & ~_KNOWN_CONTEXT_FLAGS:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"context flags {message.flags:#x} are not supported")
        context = Context(device, message.node_ordinal, ddi.DXGK_CONTEXTINFO(), message.flags)
        context.handle = device.process.table.add(context)
        arguments = ddi.DXGKARG_CREATECONTEXT(
            context.handle,
            message.node_ordinal,
            EngineAffinity=1,
            pPrivateDriverData=message.private or None,
            PrivateDriverDataSize=len(message.private),
        )
        status = self.host.call("DxgkDdiCreateContext", device.hKmd, arguments)
        if status != _OK:
            device.process.table.remove(context.handle)
            raise refusal(status, f"the miniport created no context on node {message.node_ordinal}: {status_of(status).sentence}")
        info = arguments.ContextInfo
        if info.DmaBufferSegmentSet or info.DmaBufferSize <= 0 or info.AllocationListSize <= 0 or info.PatchLocationListSize < 0:
            raise BugCheckError(
                BugCheckCode.VIDEO_DXGKRNL_FATAL_ERROR, 0, f"DxgkDdiCreateContext gave impossible sizes: {info}"
            )
        context.hKmd, context.info = arguments.hContext, info
        device.contexts.append(context)
        return context

    def destroy_context(self, context: Context, done: Callable[[], None]) -> None:
        """Wait for its work, then destroy it. Raises CallError when that is under way."""
        if context.destroying:
            raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, "the context is being destroyed already")
        context.destroying = True
        context.device.process.table.remove(context.handle)

        def finish() -> None:
            self.adapter.vidsch.forget(context)
            for table in (a for a in self.adapter.vidmm.all if context in a.last_use or context in a.last_write):
                table.last_use.pop(context, None)
                table.last_write.pop(context, None)
            self.host.call("DxgkDdiDestroyContext", context.hKmd)
            context.device.contexts.remove(context)
            done()

        if context.idle:
            finish()
        else:
            # What waits for something that may never come is dropped by the scheduler: see VidSch._advance.
            context.on_idle.append(finish)
            self.adapter.vidsch.look_at(context)

    # ----- synchronisation objects -------------------------------------------------------------------------------------------

    def create_sync(self, device: Device, message: thunk.CreateSynchronizationObject) -> SyncObject:
        """D3DKMTCreateSynchronizationObject2. Raises CallError."""
        check_active(self.adapter, device)
        kinds = D3DDDI_SYNCHRONIZATIONOBJECT_TYPE
        try:
            kind = kinds(message.type)
        except ValueError:
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER, f"there is no synchronisation object of type {message.type}"
            ) from None
        flags = message.flags
        if flags & ~_KNOWN_SYNC_FLAGS:
            raise refusal(NTSTATUS.STATUS_NOT_SUPPORTED, f"synchronisation object flags {flags:#x} are not supported")
        both = int(D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoSignal | D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoWait)
        if flags & both == both:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "NoSignal and NoWait exclude one another")
        item: SyncObject
        if kind is kinds.SYNCHRONIZATION_MUTEX:
            item = Mutex(device, kind, flags, owned=bool(message.initial))
        elif kind is kinds.SEMAPHORE:
            if not message.maximum > 0 or message.initial > message.maximum:
                raise refusal(
                    NTSTATUS.STATUS_INVALID_PARAMETER, f"a semaphore with count {message.initial} of {message.maximum}"
                )
            item = Semaphore(device, kind, flags, count=message.initial, maximum=message.maximum)
        elif kind is kinds.FENCE:
            item = Fence(device, kind, flags, value_=message.initial)
        elif kind is kinds.CPU_NOTIFICATION:
            item = CpuNotification(device, kind, flags)
        elif kind is kinds.MONITORED_FENCE:
            process = device.process
            if process.pages is None:
                process.pages = FencePages(self.adapter.link)
            page, slot = process.pages.slot()
            page.values[slot] = message.initial
            self.adapter.link.to_device(page.block)
            item = MonitoredFence(device, kind, flags, page=page, slot=slot)
        else:
            raise refusal(NTSTATUS.STATUS_NOT_SUPPORTED, f"{kind.name} objects are not supported")
        item.handle = device.process.table.add(item)
        device.sync_objects.append(item)
        return item

    def destroy_sync(self, item: SyncObject) -> None:
        """Waiters are released with an error: their devices fail, their calls are refused."""
        item.destroyed = True
        device = item.device
        device.process.table.remove(item.handle)
        device.sync_objects.remove(item)
        sentence = f"synchronisation object {item.handle:#x} was destroyed while something waited for it"
        waiting, item.waiters = item.waiters, []
        for context in waiting:
            if context.device.cause is None and not context.device.destroying and not context.destroying:
                self.adapter.fail_device(
                    context.device,
                    ExecutionState.STOPPED,
                    hresult_from_ntstatus(NTSTATUS.STATUS_INVALID_HANDLE),
                    sentence,
                )
        if isinstance(item, MonitoredFence):
            self.adapter.vidsch.waits.fences_with_waiters.discard(item)
            for wait in list(item.cpu_waits):
                self.adapter.vidsch.waits.end_cpu_wait(wait, sentence)
            self._free_slot(item)

    def _free_slot(self, fence: MonitoredFence) -> None:
        """Its place in the page can be used again when no packet on its way writes to it."""
        pages = fence.device.process.pages
        assert pages is not None
        writers = [
            packet
            for context in contexts_of(fence.device.process)
            for packet in (*context.queue, *context.submitted)
            if isinstance(packet, DmaPacket) and any(item is fence for item, _ in packet.signals)
        ]
        if not writers:
            pages.give_back(fence)
            return
        left = len(writers)

        def one_less() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                pages.give_back(fence)

        for packet in writers:
            packet.on_finish.append(one_less)

    # ----- the end of a process ----------------------------------------------------------------------------------------------

    def reap(self, process: Process, done: Callable[[], None]) -> None:
        """The connection is gone: cancel what is queued, wait for what runs, then take everything down."""
        process.gone = True
        for device in process.devices:
            for context in device.contexts:
                self.adapter.vidsch.cancel(context)
            self.adapter.display.release_device(device)

        def finish() -> None:
            if process.pages is not None:
                process.pages.close()
            process.table.clear()
            done()

        process.on_empty = finish
        for device in list(process.devices):
            if not device.destroying:
                self.destroy_device(device, lambda: None)
        if not process.devices:
            finish()
