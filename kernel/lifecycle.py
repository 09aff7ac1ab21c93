"""Creation and destruction of devices, contexts, allocations, resources and synchronisation objects.

Each function checks what user mode asked, calls the miniport, keeps handles and objects in step, and undoes what it did when
something fails. Destruction of what the GPU may still use is deferred; ``done`` is called when it is over. Models
D3DKMTCreateDevice, CreateContext, CreateAllocation, OpenResource, CreateSynchronizationObject and their counterparts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from wddm.ddi import d3dkmddi as ddi
from wddm.ddi.d3dukmdt import (
    D3DDDI_ALLOCATIONINFO_FLAGS,
    D3DDDI_CREATECONTEXTFLAGS,
    D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS,
    D3DDDI_SYNCHRONIZATIONOBJECT_TYPE,
    segment_preference_choices,
)
from wddm.ddi.status import NTSTATUS, hresult_from_ntstatus
from wddm.wire import thunk
from wddm.wire.channel import CallError

from .adapter import Adapter, contexts_of
from .errors import BugCheckCode, BugCheckError, refusal, status_of
from .objects import (
    Context,
    Device,
    ExecutionState,
    InstanceHandle,
    OpenAllocation,
    OpenResource,
    Process,
)
from .sync import CpuNotification, Fence, FencePages, MonitoredFence, Mutex, Semaphore, SyncObject
from .vidmm.allocation import Allocation, AllocationInfo, Resource
from .vidmm.segment import PAGE_SIZE, align_up
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
        #: Shared resources by the creator's handle.
        self.shared: dict[int, Resource] = {}

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
            self.destroy_resource(resource)
        for opened in list(device.allocations):
            self.destroy_opened([opened])

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

    def check_active(self, device: Device) -> None:
        """Raises CallError (STATUS_DEVICE_REMOVED or STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE) for a lost device."""
        self.adapter.check_running()
        if device.cause is None:
            return
        lost = device.cause.state in (ExecutionState.RESET, ExecutionState.HUNG, ExecutionState.STOPPED)
        status = NTSTATUS.STATUS_DEVICE_REMOVED if lost else NTSTATUS.STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE
        raise refusal(status, f"the device is lost: {device.cause.sentence}")

    # ----- contexts ----------------------------------------------------------------------------------------------------------

    def create_context(self, device: Device, message: thunk.CreateContext) -> Context:
        """D3DKMTCreateContext. Raises CallError."""
        self.check_active(device)
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

    # ----- allocations -------------------------------------------------------------------------------------------------------

    def create_allocations(self, device: Device, message: thunk.CreateAllocation) -> thunk.AllocationsCreated:
        """D3DKMTCreateAllocation: all or nothing. Raises CallError."""
        self.check_active(device)
        if not message.allocations:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "no allocation is asked for")
        if message.shared and not message.create_resource:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "only resources can be shared")
        if message.create_resource and message.hResource:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "create_resource together with an existing hResource")
        existing: OpenResource | None = None
        if message.hResource:
            existing = device.process.table.get(message.hResource, OpenResource, "hResource")
            if existing.device is not device:
                raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, f"hResource {message.hResource:#x} belongs to another device")
        infos, kmd = self._ask_miniport(device, message, existing)
        hResource, resource = 0, existing
        try:
            for info in infos:
                self.adapter.vidmm.check_choices(info)
            if message.create_resource:
                resource = OpenResource(device, Resource(kmd.hResource, bytes(message.private), shared=message.shared))
                hResource = resource.handle = device.process.table.add(resource)
            handles, privates = self._open(device, infos, resource, create=True, private=bytes(message.private))
        except CallError:
            if hResource:
                device.process.table.remove(hResource)
            self._destroy_at_miniport([i.hAllocation for i in infos], kmd.hResource if message.create_resource else 0)
            raise
        if resource is not None:
            resource.resource.infos += infos
        if message.create_resource and resource is not None:
            resource.resource.opens = 1
            device.resources.append(resource)
            if message.shared:
                self.shared[hResource] = resource.resource
        return thunk.AllocationsCreated(
            hResource=hResource or message.hResource, handles=handles, privates=[bytes(p) for p in privates]
        )

    def _ask_miniport(
        self, device: Device, message: thunk.CreateAllocation, existing: OpenResource | None
    ) -> tuple[list[AllocationInfo], ddi.DXGKARG_CREATEALLOCATION]:
        asked = [
            ddi.DXGK_ALLOCATIONINFO(pPrivateDriverData=bytearray(a.private), PrivateDriverDataSize=len(a.private))
            for a in message.allocations
        ]
        in_resource = message.create_resource or existing is not None
        arguments = ddi.DXGKARG_CREATEALLOCATION(
            asked,
            len(asked),
            pPrivateDriverData=message.private or None,
            PrivateDriverDataSize=len(message.private),
            hResource=existing.resource.hResource if existing is not None else 0,
            Flags=ddi.DXGK_CREATEALLOCATIONFLAGS.Resource if in_resource else ddi.DXGK_CREATEALLOCATIONFLAGS.NONE,
        )
        for index, a in enumerate(message.allocations):
            primary = a.flags & D3DDDI_ALLOCATIONINFO_FLAGS.Primary
            if a.flags & ~int(D3DDDI_ALLOCATIONINFO_FLAGS.Primary):
                raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"allocation {index}: flags {a.flags:#x} are not supported")
            if primary:
                self.adapter.display.source(a.VidPnSourceId)
            elif a.VidPnSourceId:
                raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"allocation {index}: VidPnSourceId without the Primary flag")
        status = self.host.call("DxgkDdiCreateAllocation", self.host.hAdapter, arguments)
        if status != _OK:
            raise refusal(status, self.adapter.explain(f"the miniport created no allocation: {status_of(status).sentence}"))
        infos = [
            self._check_info(device, asked_for, answer, shared=message.shared)
            for asked_for, answer in zip(message.allocations, asked, strict=True)
        ]
        return infos, arguments

    def _check_info(
        self, device: Device, asked: thunk.AllocationInfo, answer: ddi.DXGK_ALLOCATIONINFO, *, shared: bool
    ) -> AllocationInfo:
        """What the miniport answered, or a bug check when no miniport may answer so."""
        segments = self.adapter.vidmm.segments
        supported = answer.SupportedWriteSegmentSet
        choices: dict[int, bool] = {}
        for number, from_end in segment_preference_choices(answer.PreferredSegment):
            if not supported >> (number - 1) & 1:
                raise BugCheckError(
                    BugCheckCode.VIDEO_MEMORY_MANAGEMENT_INTERNAL, 0xD, f"segment {number} is preferred but not supported"
                )
            if number in segments:
                choices.setdefault(number, from_end)
        from_end = bool(answer.Flags & ddi.DXGK_ALLOCATIONINFOFLAGS.FromEndOfSegment)
        rest = [n for n in segments if supported >> (n - 1) & 1 and n not in choices]
        for number in sorted(rest, key=lambda n: segments[n].aperture):
            choices[number] = from_end
        alignment = max(PAGE_SIZE, answer.Alignment)
        primary = bool(asked.flags & D3DDDI_ALLOCATIONINFO_FLAGS.Primary)
        if not choices or not 0 < answer.Size < _MAX_ALLOCATION or alignment % PAGE_SIZE or not answer.AllocationPriority:
            raise BugCheckError(
                BugCheckCode.VIDEO_MEMORY_MANAGEMENT_INTERNAL,
                0xD,
                f"DxgkDdiCreateAllocation answered size {answer.Size}, alignment {answer.Alignment}, segments {supported:#x},"
                f" priority {answer.AllocationPriority:#x}",
            )
        return AllocationInfo(
            answer.hAllocation,
            align_up(answer.Size, PAGE_SIZE),
            alignment,
            tuple(choices.items()),
            answer.Flags,
            answer.AllocationPriority,
            bytes(answer.pPrivateDriverData or b""),
            hDevice=0 if primary else device.hKmd,
            max_renaming=answer.MaximumRenamingListLength,
            primary=primary,
            VidPnSourceId=asked.VidPnSourceId,
            shared=shared,
        )

    def _open(
        self, device: Device, infos: Sequence[AllocationInfo], resource: OpenResource | None, *, create: bool, private: bytes
    ) -> tuple[list[int], list[bytes]]:
        """DxgkDdiOpenAllocation for a device: handles, and private data as the miniport left it. Raises CallError."""
        table = device.process.table
        instances: list[InstanceHandle] = []
        try:
            for info in infos:
                opened = OpenAllocation(device, info, 0, resource)
                allocation = info.shared_instance or self.adapter.vidmm.add(info)
                instance = InstanceHandle(opened, allocation)
                instance.handle = table.add(instance)
                opened.instances.append(instance)
                instances.append(instance)
            asked = [
                ddi.DXGK_OPENALLOCATIONINFO(i.handle, bytearray(i.opened.info.private), len(i.opened.info.private))
                for i in instances
            ]
            self.adapter.opening = {i.handle: i.opened.info for i in instances}
            flags = ddi.DXGK_OPENALLOCATIONFLAGS.Create if create else ddi.DXGK_OPENALLOCATIONFLAGS.NONE
            arguments = ddi.DXGKARG_OPENALLOCATION(asked, len(asked), private or None, len(private), flags)
            status = self.host.call("DxgkDdiOpenAllocation", device.hKmd, arguments)
            self.adapter.opening = {}
            if status != _OK:
                raise refusal(status, f"the miniport did not open the allocations: {status_of(status).sentence}")
        except CallError:
            for instance in instances:
                table.remove(instance.handle)
                if instance.opened.info.shared_instance is None:
                    self.adapter.vidmm.destroy(instance.allocation)
            raise
        for instance, answer in zip(instances, asked, strict=True):
            instance.opened.hDeviceSpecific = answer.hDeviceSpecificAllocation
            if instance.opened.info.shared:
                instance.opened.info.shared_instance = instance.allocation
            device.allocations.append(instance.opened)
            if resource is not None:
                resource.allocations.append(instance.opened)
        return [i.handle for i in instances], [bytes(a.pPrivateDriverData or b"") for a in asked]

    def open_resource(self, device: Device, hGlobalShare: int) -> thunk.SharedOpened:
        """D3DKMTOpenResource. Raises CallError."""
        self.check_active(device)
        resource = self.shared.get(hGlobalShare)
        if resource is None:
            raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, f"hGlobalShare {hGlobalShare:#x} names no shared resource")
        opened = OpenResource(device, resource, creator=False)
        opened.handle = device.process.table.add(opened)
        try:
            handles, privates = self._open(device, resource.infos, opened, create=False, private=resource.private)
        except CallError:
            device.process.table.remove(opened.handle)
            raise
        resource.opens += 1
        device.resources.append(opened)
        return thunk.SharedOpened(hResource=opened.handle, private=resource.private, handles=handles, privates=privates)

    # ----- destruction -------------------------------------------------------------------------------------------------------

    def destroy_resource(self, opened: OpenResource) -> None:
        """The resource and its allocations, as far as this device is concerned."""
        opened.device.process.table.remove(opened.handle)
        opened.device.resources.remove(opened)
        resource = opened.resource
        resource.opens -= 1
        if resource.opens == 0:
            for handle in [h for h, r in self.shared.items() if r is resource]:
                del self.shared[handle]
        self.destroy_opened(list(opened.allocations), resource if resource.opens == 0 else None)

    def destroy_opened(self, opened: list[OpenAllocation], resource: Resource | None = None) -> None:
        """Handles are void at once; memory and the miniport's objects go when nothing uses them any more."""
        gone: list[Allocation] = []
        for one in opened:
            one.destroyed = True
            one.device.allocations.remove(one)
            if one.resource is not None:
                one.resource.allocations.remove(one)
            for instance in one.instances:
                one.device.process.table.remove(instance.handle)
                instance.allocation.locks -= instance.locks
                instance.locks = 0
                gone.append(instance.allocation)

        def finish() -> None:
            by_device: dict[int, list[int]] = {}
            for one in opened:
                by_device.setdefault(one.device.hKmd, []).append(one.hDeviceSpecific)
            for hDevice, handles in by_device.items():
                arguments = ddi.DXGKARG_CLOSEALLOCATION(handles, len(handles))
                self.host.call("DxgkDdiCloseAllocation", hDevice, arguments)
            # A shared allocation lives until the last device has closed its resource.
            last = [one.info for one in opened if not one.info.shared]
            leaving = [i.allocation for one in opened if not one.info.shared for i in one.instances]
            if resource is not None:
                shared = [info for info in resource.infos if info.shared]
                last += shared
                leaving += [info.shared_instance for info in shared if info.shared_instance is not None]
            for allocation in leaving:
                self.adapter.vidmm.destroy(allocation)
            if last or resource is not None:
                self._destroy_at_miniport(
                    [info.hAllocation for info in last], resource.hResource if resource is not None else 0
                )

        self.adapter.dying.append((gone, finish))

    def _destroy_at_miniport(self, handles: list[int], hResource: int) -> None:
        flags = ddi.DXGK_DESTROYALLOCATIONFLAGS
        arguments = ddi.DXGKARG_DESTROYALLOCATION(
            handles, len(handles), hResource, flags.DestroyResource if hResource else flags.NONE
        )
        self.host.call("DxgkDdiDestroyAllocation", self.host.hAdapter, arguments)

    # ----- synchronisation objects -------------------------------------------------------------------------------------------

    def create_sync(self, device: Device, message: thunk.CreateSynchronizationObject) -> SyncObject:
        """D3DKMTCreateSynchronizationObject2. Raises CallError."""
        self.check_active(device)
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
            self.adapter.vidsch.fences_with_waiters.discard(item)
            for wait in list(item.cpu_waits):
                self.adapter.vidsch.end_cpu_wait(wait, sentence)
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
