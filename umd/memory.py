"""Kernel allocations as the driver holds them, and how they are asked for and given back.

Owns :class:`Allocation` (handle, size, the submissions that last used it, the processor's view of it when it has one) and
:class:`AllocationManager` (pfnAllocateCb, pfnLockCb, pfnDeallocateCb, deferred destruction). Places nothing: the miniport chooses
segments by the flags in the private data.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from umd.callbacks import Callbacks
from umd.errors import DeviceError
from wddm.ddi.d3dukmdt import D3DDDI_ALLOCATIONINFO, D3DDDI_ALLOCATIONINFO_FLAGS, D3DDDICB_LOCKFLAGS
from wddm.ddi.d3dumddi import D3DDDICB_ALLOCATE, D3DDDICB_DEALLOCATE, D3DDDICB_LOCK, D3DDDICB_UNLOCK
from wddm.hw.driver import ALLOCATION_PRIVATE, AllocationFlag, AllocationKind, private_record
from wddm.hw.memory import PAGE_SIZE

#: Destroyed allocations that may wait for a submission before those that nothing unsubmitted names are freed at once.
MAX_DOOMED = 64


class Allocation:
    """One kernel allocation.

    ``batch`` is the number of the newest submission that names it (also of the one being recorded), ``last_write`` of the newest
    that writes it; both are fence values of the device. ``view`` is the processor's mapping, kept for life for allocations in
    the aperture.
    """

    __slots__ = ("array", "batch", "h_resource", "handle", "index", "last_write", "size", "view", "written")

    def __init__(self, handle: int, size: int, h_resource: int = 0) -> None:
        self.handle = handle
        self.size = size
        self.h_resource = h_resource  #: runtime resource that groups it; freed by that handle
        self.batch = 0
        self.index = 0  #: place in the allocation list of submission ``batch``
        self.written = False  #: listed there with WriteOperation
        self.last_write = 0
        self.view: memoryview | None = None
        self.array: npt.NDArray[np.uint8] | None = None  #: the same bytes as ``view``


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask pfnAllocateCb for. ``fields`` are the texture fields of ALLOCATION_PRIVATE."""

    size: int
    kind: AllocationKind
    flags: AllocationFlag
    fields: tuple[tuple[str, int], ...] = ()
    vidpn_source: int = 0
    primary: bool = False


class AllocationManager:
    """Allocations of one device."""

    def __init__(self, callbacks: Callbacks, serial: Callable[[], int]) -> None:
        self._callbacks = callbacks
        self._serial = serial  #: number of the submission being recorded
        self._doomed: deque[Allocation] = deque()
        self.live = 0  #: bytes allocated

    async def allocate(
        self, request: Request, *, h_resource: int = 0, resource_private: bytes | bytearray | None = None
    ) -> tuple[Allocation, int]:
        """One allocation and its kernel resource handle (0 without ``h_resource``). Raises DeviceError with the HRESULT."""
        private = private_record(
            ALLOCATION_PRIVATE,
            kind=request.kind,
            flags=int(request.flags),
            size=request.size,
            alignment=PAGE_SIZE,
            vidpn_source=request.vidpn_source,
            **dict(request.fields),
        )
        info = D3DDDI_ALLOCATIONINFO(pPrivateDriverData=private, PrivateDriverDataSize=len(private))
        if request.primary:
            info.Flags = D3DDDI_ALLOCATIONINFO_FLAGS.Primary
            info.VidPnSourceId = request.vidpn_source
        arg = D3DDDICB_ALLOCATE(pAllocationInfo=[info], NumAllocations=1, hResource=h_resource)
        if resource_private is not None:
            arg.pPrivateDriverData, arg.PrivateDriverDataSize = resource_private, len(resource_private)
        await self._callbacks.call("pfnAllocateCb", arg)
        allocation = Allocation(info.hAllocation, request.size, h_resource)
        if request.flags & AllocationFlag.CPU_ACCESS:
            try:
                allocation.view = await self._map(info.hAllocation, request.size)
                allocation.array = np.frombuffer(allocation.view, np.uint8)
            except DeviceError:
                self._free([allocation])
                raise
        self.live += request.size
        return allocation, arg.hKMResource

    async def _map(self, handle: int, size: int) -> memoryview:
        """The processor's view of an allocation in the aperture, which stays valid behind the unlock."""
        lock = D3DDDICB_LOCK(handle, D3DDDICB_LOCKFLAGS.LockEntire | D3DDDICB_LOCKFLAGS.IgnoreSync)
        await self._callbacks.call("pfnLockCb", lock)
        if lock.pData is None or lock.pData.nbytes < size:
            raise DeviceError.invalid("pfnLockCb returned no mapping of the whole allocation")
        view = lock.pData.data.cast("B")
        self._callbacks.call_now("pfnUnlockCb", D3DDDICB_UNLOCK([lock.hAllocation], 1))
        return view

    def destroy(self, allocation: Allocation) -> None:
        """Free it after the submission being recorded if that names it. The kernel waits for the GPU by itself."""
        self._doomed.append(allocation)
        if len(self._doomed) >= MAX_DOOMED:
            current = self._serial()
            ready = [a for a in self._doomed if a.batch < current]
            self._doomed = deque(a for a in self._doomed if a.batch >= current)
            self._free(ready)

    def drain(self) -> None:
        """After a submission (or when there is nothing to submit): free what was destroyed."""
        if self._doomed:
            doomed, self._doomed = list(self._doomed), deque()
            self._free(doomed)

    def free_now(self, allocation: Allocation) -> None:
        """Free without waiting for a submission; nothing unsubmitted may name it."""
        self._free([allocation])

    def _free(self, allocations: list[Allocation]) -> None:
        loose = [a.handle for a in allocations if not a.h_resource]
        if loose:
            self._callbacks.call_now("pfnDeallocateCb", D3DDDICB_DEALLOCATE(NumAllocations=len(loose), HandleList=loose))
        for allocation in allocations:
            if allocation.h_resource:
                self._callbacks.call_now("pfnDeallocateCb", D3DDDICB_DEALLOCATE(hResource=allocation.h_resource))
            allocation.view = allocation.array = None
            self.live -= allocation.size
