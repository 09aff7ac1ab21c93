"""From kernel callbacks of a driver to thunk messages: D3DDDI_DEVICECALLBACKS and the DXGI present callback over one connection.

:class:`KernelLink` is the process's connection to the kernel; :class:`KernelDevice` one device on it with its contexts, the
pages of its allocations and its fences. Command buffers are numpy arrays that stay here: pfnRenderCb sends their bytes and hands
the same arrays back. What the kernel must answer is an awaitable of the HRESULT; what it queues returns at once.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import trio

from wddm.ddi import d3dumddi as um
from wddm.ddi.d3dukmdt import (
    D3DDDI_ALLOCATIONLIST_DTYPE,
    D3DDDI_PATCHLOCATIONLIST_DTYPE,
    D3DDDI_RESIDENCYSTATUS,
    D3DDDI_SYNCHRONIZATIONOBJECT_TYPE,
    D3DDDICB_LOCKFLAGS,
    StructArray,
)
from wddm.ddi.dxgiddi import DXGI_DDI_BASE_CALLBACKS, DXGIDDICB_PRESENT
from wddm.ddi.status import HRESULT, hresult_from_ntstatus
from wddm.trace import Tracer
from wddm.wire import thunk
from wddm.wire.channel import Channel, ChannelClosed
from wddm.wire.connection import RemoteError
from wddm.wire.memory import SharedMemory
from wddm.wire.message import Nothing, Struct
from wddm.wire.transport import Transport

if TYPE_CHECKING:
    from .swap_chain import PresentContext

_log = logging.getLogger("runtime")
_R = TypeVar("_R", bound=Struct)
tracer = Tracer("runtime")

REMOVED: Final = int(HRESULT.D3DDDIERR_DEVICEREMOVED)
S_OK: Final = int(HRESULT.S_OK)


def hresult_of(code: int) -> int:
    """The HRESULT of a thunk's failure, which is an NTSTATUS (0xC…, 0xD…) or an HRESULT already."""
    if code >> 28 in (0xC, 0xD) and code >> 16 != 0xC026:
        return int(hresult_from_ntstatus(code))
    return code or int(HRESULT.E_FAIL)


class KernelLink:
    """The connection of one client process to the kernel."""

    def __init__(self, transport: Transport) -> None:
        self.channel = Channel(transport, thunk.THUNK, server=False, name="wddm.thunk runtime")
        self.devices: dict[int, KernelDevice] = {}
        self.hAdapter = 0
        self.info: thunk.AdapterInfo | None = None
        self.lost: Callable[[str], None] = lambda why: None
        self.nursery: trio.Nursery | None = None
        self.corked = False
        self._held: list[Struct] = []
        self._memory_ids = 0
        self.kept_descriptors = 0
        self.channel.on(thunk.DeviceStateChanged, self._device_state_changed)
        self.channel.on(thunk.PresentRetired, self._present_retired)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Receive until the kernel is gone, then tell :attr:`lost`."""
        async with trio.open_nursery() as nursery:
            self.nursery = nursery
            await self.channel.run(task_status=task_status)
            nursery.cancel_scope.cancel()
        refused = self.channel.protocol_error
        self.lost(f"the connection to the kernel is lost{f': {refused}' if refused else ''}")

    async def open(self, process: str) -> None:
        """hello, and the adapter. Raises RemoteError or ChannelClosed."""
        await self.channel.request(
            thunk.Hello(protocol=thunk.THUNK.name, version=thunk.THUNK.version, process=process), thunk.HelloReply
        )
        await self.refresh()

    async def refresh(self) -> thunk.AdapterInfo:
        """The adapter with fresh counters."""
        info = self.info = await self.channel.request(thunk.OpenAdapter(), thunk.AdapterInfo)
        self.hAdapter = info.hAdapter
        return info

    def close(self) -> None:
        """Leave: the kernel frees everything of ours."""
        for device in list(self.devices.values()):
            device.forget()
        self.channel.close()

    def memory_id(self) -> int:
        """A number for a block of pages that a client may be given."""
        self._memory_ids += 1
        return self._memory_ids

    # ----- sending: a render travels with what follows it ------------------------------------------------------------------

    def notify(self, message: Struct, *, hold: bool = False) -> None:
        """Tell the kernel. ``hold``: with the next message, or at :meth:`release`. Raises ChannelClosed."""
        held = self._held
        if hold or self.corked:
            if held and not self.corked:
                self.release()
            held.append(message)
        elif held:
            held.append(message)
            self.release()
        else:
            self.channel.notify(message)

    def release(self) -> None:
        """Send what is held, in one piece."""
        if self._held:
            held, self._held = self._held, []
            self.channel.notify_all(held)

    async def request(self, message: Struct, reply: type[_R]) -> _R:
        """Ask the kernel. Raises RemoteError or ChannelClosed."""
        self.release()
        return await self.channel.request(message, reply)

    # ----- events ----------------------------------------------------------------------------------------------------------

    def _device_state_changed(self, message: thunk.DeviceStateChanged) -> None:
        device = self.devices.get(message.hDevice)
        if device is not None:
            device.state_changed(message)

    def _present_retired(self, message: thunk.PresentRetired) -> None:
        for device in self.devices.values():
            context = device.presents.pop(message.id, None)
            if context is not None:
                context.retired(message)
                return

    # ----- adapter callbacks -----------------------------------------------------------------------------------------------

    def adapter_callbacks(self) -> um.D3DDDI_ADAPTERCALLBACKS:
        """pfnQueryAdapterInfoCb and its kin."""

        async def query(hRTAdapter: int, arg: um.D3DDDICB_QUERYADAPTERINFO) -> int:
            tracer("pfnQueryAdapterInfoCb", size=arg.PrivateDriverDataSize or len(arg.pPrivateDriverData))
            data = arg.pPrivateDriverData
            size = arg.PrivateDriverDataSize or len(data)
            message = thunk.QueryAdapterInfo(
                hAdapter=self.hAdapter, type=UMDRIVERPRIVATE, input=bytes(data[:size]), output_size=size
            )
            try:
                reply = await self.request(message, thunk.AdapterData)
            except RemoteError as error:
                return hresult_of(error.code)
            except ChannelClosed:
                return REMOVED
            if len(reply.data) > len(data):
                return int(HRESULT.E_INVALIDARG)
            data[: len(reply.data)] = reply.data
            return S_OK

        return um.D3DDDI_ADAPTERCALLBACKS(
            pfnQueryAdapterInfoCb=query,
            pfnQueryAdapterInfoCb2=query,
            pfnGetMultisampleMethodListCb=lambda hRTAdapter, arg: int(HRESULT.E_NOTIMPL),
        )


#: Descriptors of pages that a process keeps to pass them on; a client cannot use up those of the others.
MAX_KEPT_DESCRIPTORS: Final = 256
UMDRIVERPRIVATE: Final = 0  #: DXGKQAITYPE_UMDRIVERPRIVATE


class Pages:
    """CPU memory of one allocation: shared pages with the number that clients know them by, or a private copy."""

    __slots__ = ("array", "lock_flags", "memory", "memory_id", "told")

    def __init__(self, array: npt.NDArray[np.uint8], memory: SharedMemory | None, memory_id: int) -> None:
        self.array = array
        self.memory = memory
        self.memory_id = memory_id
        self.lock_flags = 0
        self.told = False  #: the client has the descriptor

    @property
    def address(self) -> int:
        """Where the mapping begins in this process."""
        return int(self.array.ctypes.data)


class ContextBuffers:
    """A context's command buffer and lists, used again and again."""

    __slots__ = ("allocations", "allocations_bytes", "commands", "patches", "patches_bytes")

    def __init__(self, command_size: int, allocation_count: int, patch_count: int) -> None:
        self.commands = np.zeros(command_size, np.uint8)
        self.allocations: StructArray = np.zeros(allocation_count, D3DDDI_ALLOCATIONLIST_DTYPE)
        self.patches: StructArray = np.zeros(patch_count, D3DDDI_PATCHLOCATIONLIST_DTYPE)
        self.allocations_bytes = self.allocations.view(np.uint8)
        self.patches_bytes = self.patches.view(np.uint8)


class FencePage:
    """A monitored fence's value: the kernel's page, or a copy that :class:`KernelDevice` keeps up."""

    __slots__ = ("following", "memory", "offset", "size", "value", "wanted")

    def __init__(self, memory: SharedMemory | None, size: int, offset: int, initial: int) -> None:
        self.memory = memory
        self.size = size
        self.offset = offset
        self.value: npt.NDArray[np.uint64] = (
            memory.array[offset : offset + 8].view(np.uint64) if memory is not None else np.array([initial], np.uint64)
        )
        self.wanted = 0
        self.following = False


class KernelDevice:
    """One kernel device. Its callbacks are what the user-mode driver gets."""

    def __init__(self, link: KernelLink, hDevice: int, on_lost: Callable[[int, str], None]) -> None:
        self.link = link
        self.hDevice = hDevice
        self.on_lost = on_lost
        self.contexts: dict[int, ContextBuffers] = {}
        self.pages: dict[int, Pages] = {}
        self.resources: dict[int, list[int]] = {}  #: hKMResource → allocations
        self.kernel_resource: dict[int, int] = {}  #: hRTResource → hKMResource
        self.fences: dict[int, FencePage] = {}
        self.presents: dict[int, PresentContext] = {}
        self.presenting: PresentContext | None = None
        self._passed: Pages | None = None
        self.state: thunk.DeviceStateChanged | None = None
        #: Told the memory ids of pages that are gone.
        self.on_forget: Callable[[int], None] = lambda memory_id: None
        link.devices[hDevice] = self

    def state_changed(self, message: thunk.DeviceStateChanged) -> None:
        """The kernel says that the device is in error."""
        self.state = message
        self.on_lost(hresult_of(message.reason), message.sentence)

    def forget(self) -> None:
        """Give up what this end holds of the device."""
        self.link.devices.pop(self.hDevice, None)
        for handle in list(self.pages):
            self._drop(handle)
        for fence in self.fences.values():
            if fence.memory is not None:
                fence.memory.close()
        self.fences.clear()

    def pages_at(self, data: Any) -> tuple[Pages, int] | None:
        """The shared pages that an array of the driver lies in, and its byte offset there."""
        array = np.asarray(data)
        start = int(array.ctypes.data)
        for pages in self.pages.values():
            if pages.memory is not None and 0 <= start - pages.address < pages.array.nbytes:
                return (pages, start - pages.address) if pages.told or pages.memory.descriptor >= 0 else None
        return None

    # ----- helpers ---------------------------------------------------------------------------------------------------------

    def _tell(self, message: Struct, *, hold: bool = False) -> int:
        try:
            self.link.notify(message, hold=hold)
        except ChannelClosed:
            return REMOVED
        return S_OK

    async def _ask(self, message: Struct, reply: type[_R]) -> tuple[int, _R | None]:
        try:
            return S_OK, await self.link.request(message, reply)
        except RemoteError as error:
            _log.info("%s failed: %s", type(message).__name__, error)
            return hresult_of(error.code), None
        except ChannelClosed:
            return REMOVED, None

    # ----- allocations -----------------------------------------------------------------------------------------------------

    async def allocate(self, hRTDevice: int, arg: um.D3DDDICB_ALLOCATE) -> int:
        """pfnAllocateCb."""
        infos = list(arg.pAllocationInfo)[: arg.NumAllocations or None]
        message = thunk.CreateAllocation(
            hDevice=self.hDevice,
            allocations=[
                thunk.AllocationInfo(
                    private=bytes(info.pPrivateDriverData or b""), flags=int(info.Flags), VidPnSourceId=info.VidPnSourceId
                )
                for info in infos
            ],
            create_resource=bool(arg.hResource),
            private=bytes(arg.pPrivateDriverData or b""),
        )
        code, reply = await self._ask(message, thunk.AllocationsCreated)
        if reply is None:
            return code
        if len(reply.handles) != len(infos) or len(reply.privates) != len(infos):
            return int(HRESULT.E_UNEXPECTED)
        for info, handle, private in zip(infos, reply.handles, reply.privates, strict=True):
            info.hAllocation = handle
            if isinstance(info.pPrivateDriverData, bytearray) and len(private) == len(info.pPrivateDriverData):
                info.pPrivateDriverData[:] = private
        arg.hKMResource = reply.hResource
        if reply.hResource:
            self.resources[reply.hResource] = list(reply.handles)
            self.kernel_resource[arg.hResource] = reply.hResource
        return S_OK

    def deallocate(self, hRTDevice: int, arg: um.D3DDDICB_DEALLOCATE) -> int:
        """pfnDeallocateCb: by runtime resource, or by list."""
        if arg.hResource:
            kernel = self.kernel_resource.pop(arg.hResource, 0)
            if not kernel:
                return int(HRESULT.E_INVALIDARG)
            handles = self.resources.pop(kernel, [])
            code = self._tell(thunk.DestroyAllocation(hDevice=self.hDevice, hResource=kernel))
        else:
            handles = list(arg.HandleList)[: arg.NumAllocations or None]
            code = self._tell(thunk.DestroyAllocation(hDevice=self.hDevice, handles=handles))
        for handle in handles:
            self._drop(handle)
        return code

    def _drop(self, handle: int) -> None:
        pages = self.pages.pop(handle, None)
        if pages is not None and pages.memory is not None:
            self.close_descriptor(pages)
            if pages.told:
                self.on_forget(pages.memory_id)

    def pass_on(self, pages: Pages) -> None:
        """The client gets the descriptor with the next answer; that of the one before can go, it has been sent."""
        passed, self._passed = self._passed, pages
        if passed is not None:
            self.close_descriptor(passed)

    def close_descriptor(self, pages: Pages) -> None:
        """The descriptor is not needed any more."""
        if pages.memory is not None and pages.memory.descriptor >= 0:
            pages.memory.close()
            self.link.kept_descriptors -= 1

    def set_priority(self, hRTDevice: int, arg: um.D3DDDICB_SETPRIORITY) -> int:
        """pfnSetPriorityCb."""
        return self._tell(
            thunk.SetAllocationPriority(
                hDevice=self.hDevice,
                hResource=self.kernel_resource.get(arg.hResource, 0),
                handles=list(arg.HandleList),
                priorities=list(arg.pPriorities),
            )
        )

    async def query_residency(self, hRTDevice: int, arg: um.D3DDDICB_QUERYRESIDENCY) -> int:
        """pfnQueryResidencyCb."""
        message = thunk.QueryAllocationResidency(
            hDevice=self.hDevice, hResource=self.kernel_resource.get(arg.hResource, 0), handles=list(arg.HandleList)
        )
        code, reply = await self._ask(message, thunk.Residency)
        if reply is not None:
            arg.pResidencyStatus[:] = [D3DDDI_RESIDENCYSTATUS(s) for s in reply.statuses]
        return code

    async def lock(self, hRTDevice: int, arg: um.D3DDDICB_LOCK) -> int:
        """pfnLockCb: the pages come with the first lock of an allocation and stay."""
        flags = int(arg.Flags)
        message = thunk.Lock(hDevice=self.hDevice, hAllocation=arg.hAllocation, flags=flags)
        code, reply = await self._ask(message, thunk.Locked)
        if reply is None:
            return code
        handle = reply.hAllocation
        pages = self.pages.get(handle)
        if reply.memory is not None and pages is not None:
            os.close(reply.memory.number)
        elif reply.memory is not None:
            memory = SharedMemory.open(reply.memory.number, reply.size)
            pages = Pages(memory.array, memory, self.link.memory_id())
            if self.link.kept_descriptors >= MAX_KEPT_DESCRIPTORS:
                memory.close()  # still mapped here; the client gets copies of it
            else:
                self.link.kept_descriptors += 1
        elif pages is None:
            pages = Pages(np.zeros(reply.size, np.uint8), None, 0)
        self.pages[handle] = pages
        pages.lock_flags = flags
        if pages.memory is None and not flags & (D3DDDICB_LOCKFLAGS.WriteOnly | D3DDDICB_LOCKFLAGS.Discard):
            for at in range(0, pages.array.nbytes, thunk.ALLOCATION_CHUNK):
                size = min(thunk.ALLOCATION_CHUNK, pages.array.nbytes - at)
                code, data = await self._ask(
                    thunk.ReadAllocation(hAllocation=handle, offset=at, size=size), thunk.AllocationData
                )
                if data is None:
                    return code
                pages.array[at : at + len(data.data)] = np.frombuffer(data.data, np.uint8)
        arg.hAllocation = handle
        arg.pData = pages.array[: reply.size]
        return S_OK

    def unlock(self, hRTDevice: int, arg: um.D3DDDICB_UNLOCK) -> int:
        """pfnUnlockCb."""
        handles = list(arg.phAllocations)[: arg.NumAllocations or None]
        for handle in handles:
            pages = self.pages.get(handle)
            if pages is not None and pages.memory is None and not pages.lock_flags & D3DDDICB_LOCKFLAGS.ReadOnly:
                for at in range(0, pages.array.nbytes, thunk.ALLOCATION_CHUNK):
                    data = pages.array[at : at + thunk.ALLOCATION_CHUNK]
                    self._tell(thunk.WriteAllocation(hAllocation=handle, offset=at, data=data.tobytes()))
        return self._tell(thunk.Unlock(hDevice=self.hDevice, handles=handles))

    def offer(self, hRTDevice: int, arg: um.D3DDDICB_OFFERALLOCATIONS) -> int:
        """pfnOfferAllocationsCb."""
        return self._tell(
            thunk.OfferAllocations(
                hDevice=self.hDevice, handles=self._listed(arg.pResources, arg.HandleList), priority=int(arg.Priority)
            )
        )

    async def reclaim(self, hRTDevice: int, arg: um.D3DDDICB_RECLAIMALLOCATIONS) -> int:
        """pfnReclaimAllocationsCb."""
        message = thunk.ReclaimAllocations(hDevice=self.hDevice, handles=self._listed(arg.pResources, arg.HandleList))
        code, reply = await self._ask(message, thunk.Reclaimed)
        if reply is not None and arg.pDiscarded is not None:
            arg.pDiscarded[:] = reply.discarded
        return code

    def _listed(self, resources: Any, handles: Any) -> list[int]:
        if resources is None:
            return list(handles or ())
        return [h for r in resources for h in self.resources.get(self.kernel_resource.get(r, 0), [])]

    # ----- contexts and submission -----------------------------------------------------------------------------------------

    async def create_context(self, hRTDevice: int, arg: um.D3DDDICB_CREATECONTEXT) -> int:
        """pfnCreateContextCb."""
        message = thunk.CreateContext(
            hDevice=self.hDevice,
            node_ordinal=arg.NodeOrdinal,
            engine_affinity=arg.EngineAffinity,
            flags=int(arg.Flags),
            private=bytes(arg.pPrivateDriverData or b""),
        )
        code, reply = await self._ask(message, thunk.ContextCreated)
        if reply is None:
            return code
        if max(reply.command_buffer_size, reply.allocation_list_size, reply.patch_location_list_size) > thunk.MAX_COMMAND:
            return int(HRESULT.E_UNEXPECTED)
        buffers = self.contexts[reply.hContext] = ContextBuffers(
            reply.command_buffer_size, reply.allocation_list_size, reply.patch_location_list_size
        )
        arg.hContext = reply.hContext
        arg.pCommandBuffer, arg.CommandBufferSize = buffers.commands, len(buffers.commands)
        arg.pAllocationList, arg.AllocationListSize = buffers.allocations, len(buffers.allocations)
        arg.pPatchLocationList, arg.PatchLocationListSize = buffers.patches, len(buffers.patches)
        return S_OK

    async def destroy_context(self, hRTDevice: int, arg: um.D3DDDICB_DESTROYCONTEXT) -> int:
        """pfnDestroyContextCb."""
        self.contexts.pop(arg.hContext, None)
        return (await self._ask(thunk.DestroyContext(hContext=arg.hContext), Nothing))[0]

    def render(self, hRTDevice: int, arg: um.D3DDDICB_RENDER) -> Any:
        """pfnRenderCb: the bytes go, the arrays come back as the next buffer."""
        buffers = self.contexts.get(arg.hContext)
        if buffers is None:
            return int(HRESULT.E_INVALIDARG)
        start, end = arg.CommandOffset, arg.CommandLength
        if (
            not 0 <= start <= end <= len(buffers.commands)
            or not 0 <= arg.NumAllocations <= len(buffers.allocations)
            or not 0 <= arg.NumPatchLocations <= len(buffers.patches)
        ):
            return int(HRESULT.E_INVALIDARG)
        code = self._tell(
            thunk.Render(
                hContext=arg.hContext,
                sequence=arg.RenderCBSequence & 0xFFFF_FFFF,
                commands=buffers.commands[start:end].tobytes(),
                allocation_list=buffers.allocations_bytes[: arg.NumAllocations * 8].tobytes(),
                patch_location_list=buffers.patches_bytes[: arg.NumPatchLocations * 24].tobytes(),
                flags=int(arg.Flags),
            ),
            hold=True,
        )
        if int(arg.Flags) & int(
            um.D3DDDICB_RENDERFLAGS.ResizeCommandBuffer
            | um.D3DDDICB_RENDERFLAGS.ResizeAllocationList
            | um.D3DDDICB_RENDERFLAGS.ResizePatchLocationList
        ):
            buffers = self.contexts[arg.hContext] = _resized(buffers, arg)
        arg.pNewCommandBuffer, arg.NewCommandBufferSize = buffers.commands, len(buffers.commands)
        arg.pNewAllocationList, arg.NewAllocationListSize = buffers.allocations, len(buffers.allocations)
        arg.pNewPatchLocationList, arg.NewPatchLocationListSize = buffers.patches, len(buffers.patches)
        if self.link.channel.congested:
            return self._drained(code)
        return code

    async def _drained(self, code: int) -> int:
        """A slow kernel slows the driver."""
        await self.link.channel.drained()
        return code

    async def escape(self, hRTDevice: int, arg: um.D3DDDICB_ESCAPE) -> int:
        """pfnEscapeCb."""
        data = arg.pPrivateDriverData
        message = thunk.Escape(
            hAdapter=self.link.hAdapter, hDevice=self.hDevice, hContext=arg.hContext, data=bytes(data)
        )
        code, reply = await self._ask(message, thunk.AdapterData)
        if reply is not None:
            data[: len(reply.data)] = reply.data[: len(data)]
        return code

    async def set_display_mode(self, hRTDevice: int, arg: um.D3DDDICB_SETDISPLAYMODE) -> int:
        """pfnSetDisplayModeCb."""
        return (await self._ask(thunk.SetDisplayMode(hDevice=self.hDevice, hPrimary=arg.hPrimaryAllocation), Nothing))[0]

    def present(self, hRTDevice: int, arg: DXGIDDICB_PRESENT) -> int:
        """The DXGI pfnPresentCb: only inside Present, with its pDXGIContext."""
        context = self.presenting
        if context is None or arg.pDXGIContext is not context or context.submitted:
            return int(HRESULT.E_INVALIDARG)
        context.submitted = True
        message = context.message(arg)
        self.presents[message.id] = context
        return self._tell(message)

    # ----- synchronisation -------------------------------------------------------------------------------------------------

    async def create_fence(self, *, keep: bool = False) -> tuple[int, int]:
        """A monitored fence of the runtime itself, from 0: HRESULT and handle."""
        return await self._create_sync(int(D3DDDI_SYNCHRONIZATIONOBJECT_TYPE.MONITORED_FENCE), 0, 0, 0, keep=keep)

    async def _create_sync(
        self, type: int, flags: int, initial: int, maximum: int, *, keep: bool = False
    ) -> tuple[int, int]:
        """HRESULT and handle. ``keep``: the descriptor of a fence's page will be passed on."""
        message = thunk.CreateSynchronizationObject(
            hDevice=self.hDevice, type=type, flags=flags, initial=initial, maximum=maximum
        )
        code, reply = await self._ask(message, thunk.SyncObjectCreated)
        if reply is None:
            return code, 0
        if type == D3DDDI_SYNCHRONIZATIONOBJECT_TYPE.MONITORED_FENCE:
            memory = None
            if reply.page is not None:
                memory = SharedMemory.open(reply.page.number, reply.page_size, read_only=True)
                if not keep:
                    memory.close()
            self.fences[reply.hSyncObject] = FencePage(memory, reply.page_size, reply.offset, initial)
        return S_OK, reply.hSyncObject

    async def create_sync(self, hRTDevice: int, arg: um.D3DDDICB_CREATESYNCHRONIZATIONOBJECT) -> int:
        """pfnCreateSynchronizationObjectCb: mutexes and semaphores."""
        info = arg.Info
        if info.SynchronizationMutex is not None:
            initial, maximum = int(info.SynchronizationMutex.InitialState), 0
        elif info.Semaphore is not None:
            initial, maximum = info.Semaphore.InitialCount, info.Semaphore.MaxCount
        else:
            return int(HRESULT.E_INVALIDARG)
        code, arg.hSyncObject = await self._create_sync(int(info.Type), 0, initial, maximum)
        return code

    async def create_sync2(self, hRTDevice: int, arg: um.D3DDDICB_CREATESYNCHRONIZATIONOBJECT2) -> int:
        """pfnCreateSynchronizationObject2Cb: all types."""
        info, maximum = arg.Info, 0
        if info.SynchronizationMutex is not None:
            initial = int(info.SynchronizationMutex.InitialState)
        elif info.Semaphore is not None:
            initial, maximum = info.Semaphore.InitialCount, info.Semaphore.MaxCount
        elif info.Fence is not None:
            initial = info.Fence.FenceValue
        elif info.MonitoredFence is not None:
            initial = info.MonitoredFence.InitialFenceValue
        else:
            return int(HRESULT.E_INVALIDARG)
        code, arg.hSyncObject = await self._create_sync(int(info.Type), int(info.Flags), initial, maximum)
        fence = self.fences.get(arg.hSyncObject)
        if info.MonitoredFence is not None and fence is not None:
            info.MonitoredFence.FenceValueCPUVirtualAddress = fence.value
        return code

    def destroy_sync(self, hRTDevice: int, arg: um.D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT) -> int:
        """pfnDestroySynchronizationObjectCb."""
        return self.destroy_fence(arg.hSyncObject)

    def destroy_fence(self, hSyncObject: int) -> int:
        """Destroy a synchronisation object."""
        fence = self.fences.pop(hSyncObject, None)
        if fence is not None and fence.memory is not None:
            fence.memory.close()
        return self._tell(thunk.DestroySynchronizationObject(hSyncObject=hSyncObject))

    def signal(self, hContext: int, handles: list[int], value: int, flags: int = 0, broadcast: list[int] | None = None) -> int:
        """Queue a signal in the command stream of a context."""
        code = self._tell(
            thunk.SignalSynchronizationObject(
                hContext=hContext, handles=handles, value=value, flags=flags, broadcast=broadcast or []
            )
        )
        for handle in handles:
            fence = self.fences.get(handle)
            if fence is not None and fence.memory is None:
                self._follow(handle, fence, value)
        return code

    def _follow(self, handle: int, fence: FencePage, value: int) -> None:
        """Keep up the copy of a fence whose page cannot come here."""
        fence.wanted = max(fence.wanted, value)
        if not fence.following and self.link.nursery is not None:
            fence.following = True
            self.link.nursery.start_soon(self._following, handle, fence)

    async def _following(self, handle: int, fence: FencePage) -> None:
        while int(fence.value[0]) < fence.wanted:
            value = fence.wanted
            code, _ = await self._ask(thunk.WaitFromCpu(handles=[handle], values=[value]), Nothing)
            if code != S_OK:
                break
            fence.value[0] = max(int(fence.value[0]), value)
        fence.following = False

    def _signal_sync(self, hRTDevice: int, arg: Any) -> int:
        """pfnSignalSynchronizationObjectCb and …2Cb."""
        return self.signal(
            arg.hContext,
            list(arg.ObjectHandleArray),
            getattr(arg, "FenceValue", 0),
            int(arg.Flags),
            list(getattr(arg, "BroadcastContext", ())),
        )

    def _wait_sync(self, hRTDevice: int, arg: Any) -> int:
        """pfnWaitForSynchronizationObjectCb and …2Cb."""
        return self._tell(
            thunk.WaitForSynchronizationObject(
                hContext=arg.hContext, handles=list(arg.ObjectHandleArray), value=getattr(arg, "FenceValue", 0)
            )
        )

    async def wait_from_cpu(self, handles: list[int], values: list[int], any: bool = False) -> int:
        """Until the fences have reached their values."""
        code, _ = await self._ask(thunk.WaitFromCpu(handles=handles, values=values, any=any), Nothing)
        if code == S_OK and not any:
            for handle, value in zip(handles, values, strict=True):
                fence = self.fences.get(handle)
                if fence is not None and fence.memory is None:
                    fence.value[0] = max(int(fence.value[0]), value)
        return code

    def _wait_from_cpu(self, hRTDevice: int, arg: um.D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU) -> Awaitable[int]:
        """pfnWaitForSynchronizationObjectFromCpuCb. DEVIATES: hAsyncEvent is not used, the awaitable takes its place."""
        return self.wait_from_cpu(list(arg.ObjectHandleArray), list(arg.FenceValueArray), bool(int(arg.Flags) & 1))

    def _signal_from_cpu(self, hRTDevice: int, arg: um.D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMCPU) -> int:
        """pfnSignalSynchronizationObjectFromCpuCb."""
        return self._tell(thunk.SignalFromCpu(handles=list(arg.ObjectHandleArray), values=list(arg.FenceValueArray)))

    def _signal_from_gpu(self, hRTDevice: int, arg: um.D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU) -> int:
        """pfnSignalSynchronizationObjectFromGpuCb."""
        code = S_OK
        for handle, value in zip(arg.ObjectHandleArray, arg.MonitoredFenceValueArray, strict=True):
            code = self.signal(arg.hContext, [handle], value) or code
        return code

    def _wait_from_gpu(self, hRTDevice: int, arg: um.D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMGPU) -> int:
        """pfnWaitForSynchronizationObjectFromGpuCb."""
        code = S_OK
        for handle, value in zip(arg.ObjectHandleArray, arg.MonitoredFenceValueArray, strict=True):
            code = self._tell(thunk.WaitForSynchronizationObject(hContext=arg.hContext, handles=[handle], value=value)) or code
        return code

    # ----- tables ----------------------------------------------------------------------------------------------------------

    def callbacks(self) -> um.D3DDDI_DEVICECALLBACKS:
        """The kernel services, traced. What WDDM 2 and overlays add is absent, as with the negotiated 11.0 interface."""
        table = um.D3DDDI_DEVICECALLBACKS()
        for name, function in (
            ("pfnAllocateCb", self.allocate),
            ("pfnDeallocateCb", self.deallocate),
            ("pfnSetPriorityCb", self.set_priority),
            ("pfnQueryResidencyCb", self.query_residency),
            ("pfnSetDisplayModeCb", self.set_display_mode),
            ("pfnRenderCb", self.render),
            ("pfnLockCb", self.lock),
            ("pfnUnlockCb", self.unlock),
            ("pfnEscapeCb", self.escape),
            ("pfnCreateContextCb", self.create_context),
            ("pfnDestroyContextCb", self.destroy_context),
            ("pfnCreateSynchronizationObjectCb", self.create_sync),
            ("pfnDestroySynchronizationObjectCb", self.destroy_sync),
            ("pfnWaitForSynchronizationObjectCb", self._wait_sync),
            ("pfnSignalSynchronizationObjectCb", self._signal_sync),
            ("pfnOfferAllocationsCb", self.offer),
            ("pfnReclaimAllocationsCb", self.reclaim),
            ("pfnCreateSynchronizationObject2Cb", self.create_sync2),
            ("pfnWaitForSynchronizationObject2Cb", self._wait_sync),
            ("pfnSignalSynchronizationObject2Cb", self._signal_sync),
            ("pfnWaitForSynchronizationObjectFromCpuCb", self._wait_from_cpu),
            ("pfnSignalSynchronizationObjectFromCpuCb", self._signal_from_cpu),
            ("pfnWaitForSynchronizationObjectFromGpuCb", self._wait_from_gpu),
            ("pfnSignalSynchronizationObjectFromGpuCb", self._signal_from_gpu),
        ):
            setattr(table, name, traced_callback(name, function))
        table.pfnSetAsyncCallbacksCb = lambda hRTDevice, on: None
        return table

    def dxgi_callbacks(self) -> DXGI_DDI_BASE_CALLBACKS:
        """The DXGI table: the present callback."""
        return DXGI_DDI_BASE_CALLBACKS(pfnPresentCb=traced_callback("pfnPresentCb", self.present))


def _resized(old: ContextBuffers, arg: um.D3DDDICB_RENDER) -> ContextBuffers:
    """Buffers of the sizes that the driver asks for, within reason."""
    flags = int(arg.Flags)

    def size(bit: int, wanted: int, now: int, most: int) -> int:
        return min(max(wanted, 1), most) if flags & bit else now

    return ContextBuffers(
        size(1, arg.NewCommandBufferSize, len(old.commands), thunk.MAX_COMMAND),
        size(2, arg.NewAllocationListSize, len(old.allocations), (1 << 22) // 8),
        size(4, arg.NewPatchLocationListSize, len(old.patches), thunk.MAX_COMMAND // 24),
    )


def traced_callback(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The callback, traced when somebody listens."""
    if not tracer.enabled:
        return function

    def call(hRTDevice: int, arg: Any) -> Any:
        tracer(name, hRTDevice=hRTDevice, **_traced(name, arg))
        return function(hRTDevice, arg)

    return call


def _traced(name: str, arg: Any) -> dict[str, Any]:
    """The few members of an argument that a timeline wants."""
    found = {}
    for member in ("hContext", "hAllocation", "hResource", "CommandLength", "NumAllocations", "NodeOrdinal", "FenceValue"):
        value = getattr(arg, member, None)
        if value is not None:
            found[member] = int(value)
    return found

