"""Lock and unlock: the processor's access to allocations.

What is in video memory is first evicted; what is busy is waited for, refused or, with Discard, renamed. The waiting is done by
callbacks: :meth:`Locks.lock` is called again when what it waits for has happened. Models "pfnLockCb" and "Requesting to Rename an
Allocation".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from wddm.ddi.d3dukmdt import D3DDDICB_LOCKFLAGS as Flag
from wddm.ddi.status import HRESULT, NTSTATUS
from wddm.wire import thunk
from wddm.wire.channel import CallError

from .adapter import Adapter
from .allocations import check_active
from .bus_link import MemoryBlock
from .errors import refusal
from .objects import Device, InstanceHandle
from .vidmm.allocation import Allocation, Content
from .vidsch.packets import DmaPacket

_DEFINED: Final = (
    Flag.ReadOnly
    | Flag.WriteOnly
    | Flag.DonotWait
    | Flag.IgnoreSync
    | Flag.LockEntire
    | Flag.DonotEvict
    | Flag.Discard
    | Flag.NoExistingReference
    | Flag.IgnoreReadSync
)
#: Instances that renaming makes of one allocation when the miniport sets no limit.
_MAX_INSTANCES: Final = 64

#: Waits until a function it is given has been called.
WaitFor = Callable[[Callable[[Callable[[], None]], None]], Awaitable[None]]


class Locks:
    """Locking on one adapter. ``wait_for`` is the shell's: it awaits a callback."""

    def __init__(self, adapter: Adapter, wait_for: WaitFor) -> None:
        self.adapter = adapter
        self._wait_for = wait_for

    def lock(
        self, device: Device, instance: InstanceHandle, flags: int
    ) -> tuple[InstanceHandle, MemoryBlock] | Awaitable[tuple[InstanceHandle, MemoryBlock]]:
        """pfnLockCb: the instance that is locked now, and its pages; an awaitable when there is something to wait for.

        What is waited for is what was submitted before. Raises CallError.
        """
        self._check(device, instance, flags)
        if flags & Flag.Discard and not self._pinned_identity(instance):
            instance, busy = self._rename(instance)
        else:
            busy = self._busy(instance.allocation, flags)
        if busy or instance.allocation.in_memory_segment or instance.allocation.paging is not None:
            return self._lock_later(device, instance, flags, busy)
        return self._take(instance)

    async def _lock_later(
        self, device: Device, instance: InstanceHandle, flags: int, busy: list[DmaPacket]
    ) -> tuple[InstanceHandle, MemoryBlock]:
        unfinished = [packet for packet in busy if not packet.finished]
        if unfinished:
            await self._wait_for(partial(_when_all_finished, unfinished))
        await self._bring_home(device, instance, flags)
        return self._take(instance)

    def _take(self, instance: InstanceHandle) -> tuple[InstanceHandle, MemoryBlock]:
        allocation = instance.allocation
        block = self.adapter.vidmm.backing(allocation)
        if allocation.content is Content.FRESH:
            allocation.content = Content.BACKING  # the processor may write from now on
        allocation.locks += 1
        instance.locks += 1
        instance.mapped = True
        return instance, block

    def _check(self, device: Device, instance: InstanceHandle, flags: int) -> None:
        check_active(self.adapter, device)
        info = instance.opened.info
        if instance.opened.device is not device:
            raise refusal(
                NTSTATUS.STATUS_GRAPHICS_WRONG_ALLOCATION_DEVICE, f"hAllocation {instance.handle:#x} belongs to another device"
            )
        if flags & (Flag.AcquireAperture | Flag.UseAlternateVA):
            raise CallError(HRESULT.D3DDDIERR_NOTAVAILABLE, "D3DDDIERR_NOTAVAILABLE", "the adapter has no swizzling ranges")
        if flags & ~int(_DEFINED) or (flags & Flag.ReadOnly and flags & Flag.WriteOnly):
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"lock flags {flags:#x} do not go together")
        if not info.cpu_visible:
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER, f"hAllocation {instance.handle:#x} is not CpuVisible and cannot be locked"
            )
        if instance.allocation.offered:
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER, f"hAllocation {instance.handle:#x} is offered and must be reclaimed first"
            )
        if info.shared and instance.opened.resource is not None and not instance.opened.resource.creator:
            raise refusal(NTSTATUS.STATUS_ACCESS_DENIED, "only the device that created a shared allocation locks it")
        if flags & Flag.IgnoreSync and not self._may_live_in_aperture(instance.allocation):
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER, "IgnoreSync is for allocations that can live in an aperture segment"
            )

    def _may_live_in_aperture(self, allocation: Allocation) -> bool:
        segments = self.adapter.vidmm.segments
        return any(segments[number].aperture for number, _ in allocation.info.choices)

    @staticmethod
    def _pinned_identity(instance: InstanceHandle) -> bool:
        """Discard means nothing for primaries, shared and displayed allocations."""
        info = instance.opened.info
        return info.primary or info.shared

    # ----- busy --------------------------------------------------------------------------------------------------------------

    @staticmethod
    def _busy(allocation: Allocation, flags: int) -> list[DmaPacket]:
        """What has to be finished first."""
        if flags & Flag.IgnoreSync:
            return []
        busy = allocation.busy(writes_only=bool(flags & (Flag.ReadOnly | Flag.IgnoreReadSync)))
        if busy and flags & Flag.DonotWait:
            raise refusal(NTSTATUS.STATUS_GRAPHICS_ALLOCATION_BUSY, "the GPU still uses the allocation")
        return busy

    def _rename(self, instance: InstanceHandle) -> tuple[InstanceHandle, list[DmaPacket]]:
        """Another instance that is idle; this one when it is, or when there may be no more (then what to wait for)."""
        opened = instance.opened
        busy = instance.allocation.busy()
        if not busy:
            return instance, []
        for other in opened.instances:
            if not other.locks and not other.allocation.busy():
                return other, []
        limit = opened.info.max_renaming or _MAX_INSTANCES
        if len(opened.instances) < limit:
            other = InstanceHandle(opened, self.adapter.vidmm.add(opened.info))
            other.handle = opened.device.process.table.add(other)
            opened.instances.append(other)
            return other, []
        return instance, busy

    # ----- to where the processor sees it ------------------------------------------------------------------------------------

    async def _bring_home(self, device: Device, instance: InstanceHandle, flags: int) -> None:
        allocation = instance.allocation
        while True:
            if instance.opened.destroyed or allocation.destroyed:
                raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, f"hAllocation {instance.handle:#x} was destroyed meanwhile")
            check_active(self.adapter, device)
            if allocation.in_memory_segment:
                if flags & Flag.DonotEvict:
                    raise CallError(
                        HRESULT.D3DDDIERR_NOTAVAILABLE,
                        "D3DDDIERR_NOTAVAILABLE",
                        "the allocation is in video memory and DonotEvict was asked",
                    )
                busy = allocation.busy()
                if not allocation.movable:
                    if not busy:
                        raise refusal(
                            NTSTATUS.STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION, "the allocation is pinned in video memory"
                        )
                    await self._wait_for(partial(_when_all_finished, busy))
                    continue
                self.adapter.guard(partial(self._evict, allocation))
                self.adapter.pump()
                self.adapter.check_running()
            batch = allocation.paging
            if batch is None or batch.done:
                return
            await self._wait_for(batch.on_done.append)

    def _evict(self, allocation: Allocation) -> None:
        self.adapter.vidmm.evict(allocation)

    # ----- the rest ----------------------------------------------------------------------------------------------------------

    def unlock(self, device: Device, instance: InstanceHandle) -> None:
        """pfnUnlockCb. Raises CallError when it is not locked."""
        if instance.opened.device is not device:
            raise refusal(
                NTSTATUS.STATUS_GRAPHICS_WRONG_ALLOCATION_DEVICE, f"hAllocation {instance.handle:#x} belongs to another device"
            )
        if instance.locks == 0:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"hAllocation {instance.handle:#x} is not locked")
        instance.locks -= 1
        instance.allocation.locks -= 1

    def read(self, instance: InstanceHandle, offset: int, size: int) -> bytes:
        """Bytes of an allocation that has been locked. Raises CallError."""
        return self._window(instance, offset, min(size, thunk.ALLOCATION_CHUNK), size).tobytes()

    def write(self, instance: InstanceHandle, offset: int, data: bytes) -> None:
        """Change bytes of an allocation that has been locked. Raises CallError."""
        self._window(instance, offset, len(data), len(data))[:] = np.frombuffer(data, np.uint8)

    def _window(self, instance: InstanceHandle, offset: int, size: int, asked: int) -> npt.NDArray[np.uint8]:
        # As with shared pages, what was mapped once stays in reach after the unlock (drivers keep pointers of dynamic buffers).
        allocation = instance.allocation
        if not instance.mapped or allocation.backing is None:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"hAllocation {instance.handle:#x} has never been locked")
        if asked > thunk.ALLOCATION_CHUNK or offset + size > allocation.info.size:
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER,
                f"bytes {offset}..{offset + asked} of an allocation of {allocation.info.size} bytes,"
                f" at most {thunk.ALLOCATION_CHUNK} at once",
            )
        return allocation.backing.array[offset : offset + size]


def _when_all_finished(packets: list[DmaPacket], done: Callable[[], None]) -> None:
    left = len(packets)

    def one_less() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            done()

    for packet in packets:
        packet.on_finish.append(one_less)
