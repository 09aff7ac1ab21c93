"""Callbacks about memory: allocate, deallocate, lock, unlock, priority, residency, offer and reclaim.

Pages come with the first lock of an allocation and stay mapped; the descriptor is kept to be passed on to the client, once.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from wddm.ddi import d3dumddi as um
from wddm.ddi.d3dukmdt import (
    D3DDDI_ALLOCATIONLIST_WRITEOPERATION,
    D3DDDI_RESIDENCYSTATUS,
    D3DDDICB_LOCKFLAGS,
    StructArray,
)
from wddm.ddi.status import HRESULT
from wddm.wire import thunk
from wddm.wire.channel import ChannelClosed
from wddm.wire.connection import RemoteError
from wddm.wire.memory import SharedMemory
from wddm.wire.message import Struct

from .kernel_link import REMOVED, S_OK, KernelLink, hresult_of
from .kernel_memory import ContextBuffers, FencePage, Pages
from .mirror import Mirror

if TYPE_CHECKING:
    from .presenting import PresentContext

_log = logging.getLogger("runtime")
_R = TypeVar("_R", bound=Struct)

#: Descriptors of pages that a process keeps to pass them on; a client cannot use up those of the others.
MAX_KEPT_DESCRIPTORS: Final = 256


class AllocationThunks:
    """One kernel device: its memory, and how its callbacks speak to the kernel."""

    def __init__(self, link: KernelLink, hDevice: int, on_lost: Callable[[int, str], None]) -> None:
        self.link = link
        self.hDevice = hDevice
        self.on_lost = on_lost
        self.contexts: dict[int, ContextBuffers] = {}
        self.pages: dict[int, Pages] = {}
        self.mirrors: dict[int, Mirror] = {}
        self.written: set[int] = set()  #: allocations that the GPU has written, where mirrors are kept
        self.renders = 0  #: submissions, where mirrors are kept
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
        self.mirrors.pop(handle, None)
        self.written.discard(handle)
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
            pages = Pages(memory, self.link.memory_id())
            if self.link.kept_descriptors >= MAX_KEPT_DESCRIPTORS:
                memory.close()  # still mapped here; the client gets copies of it
            else:
                self.link.kept_descriptors += 1
        elif pages is None:
            pages = Pages(None, 0, Mirror(reply.size))
        self.pages[handle] = pages
        if pages.mirror is not None:
            self.mirrors[handle] = pages.mirror
            if handle in self.written and not flags & (D3DDDICB_LOCKFLAGS.WriteOnly | D3DDDICB_LOCKFLAGS.Discard):
                code = await self._pull(handle, pages.mirror)
                if code != S_OK:
                    return code
        arg.hAllocation = handle
        arg.pData = pages.array[: reply.size]
        return S_OK

    def unlock(self, hRTDevice: int, arg: um.D3DDDICB_UNLOCK) -> int:
        """pfnUnlockCb."""
        handles = list(arg.phAllocations)[: arg.NumAllocations or None]
        self._push(handles)
        return self._tell(thunk.Unlock(hDevice=self.hDevice, handles=handles))

    # ----- where pages cannot be shared ------------------------------------------------------------------------------------

    def _push(self, handles: Iterable[int]) -> None:
        """Send what the driver changed in mirrors."""
        for handle in handles:
            mirror = self.mirrors.get(handle)
            if mirror is not None:
                for offset, data in mirror.changes(thunk.ALLOCATION_CHUNK):
                    self._tell(thunk.WriteAllocation(hAllocation=handle, offset=offset, data=data.tobytes()))

    def submitting(self, entries: StructArray) -> None:
        """A command buffer with these allocations is about to go: mirrors first, and what the GPU writes is stale from now on."""
        self.renders += 1
        listed = entries["hAllocation"].tolist()
        self._push(listed)
        for handle, value in zip(listed, entries["Value"].tolist(), strict=True):
            if value & D3DDDI_ALLOCATIONLIST_WRITEOPERATION:
                self.written.add(handle)
                mirror = self.mirrors.get(handle)
                if mirror is not None:
                    mirror.stale_at = self.renders

    async def _pull(self, handle: int, mirror: Mirror) -> int:
        """Take in what the kernel has."""
        for at in range(0, mirror.array.nbytes, thunk.ALLOCATION_CHUNK):
            size = min(thunk.ALLOCATION_CHUNK, mirror.array.nbytes - at)
            message = thunk.ReadAllocation(hAllocation=handle, offset=at, size=size)
            code, reply = await self._ask(message, thunk.AllocationData)
            if reply is None:
                return code
            mirror.merge(at, reply.data)
        return S_OK

    async def pull_finished(self, renders: int) -> None:
        """The GPU is done with that many submissions: take in what they wrote."""
        for handle, mirror in list(self.mirrors.items()):
            if mirror.stale_at:
                stale_at = mirror.stale_at
                await self._pull(handle, mirror)
                if mirror.stale_at == stale_at <= renders:
                    mirror.stale_at = 0

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
