"""Thunks of allocations. Models D3DKMTCreateAllocation, Lock, OfferAllocations, QueryAllocationResidency and their kin."""

from __future__ import annotations

from collections.abc import Awaitable

from kernel.bus_link import MemoryBlock
from kernel.errors import refusal
from kernel.objects import Device, InstanceHandle, OpenResource
from kernel.vidmm.allocation import Allocation
from wddm.ddi.d3dukmdt import (
    D3DDDI_OFFER_PRIORITY,
    D3DDDI_RESIDENCYSTATUS,
)
from wddm.ddi.status import NTSTATUS
from wddm.wire import thunk
from wddm.wire.message import Descriptor

from .group import Handlers, ThunkGroup


class MemoryThunks(ThunkGroup):
    """Allocations and resources."""

    def requests(self) -> Handlers:
        """What is answered."""
        return {
            thunk.CreateAllocation: self._create_allocation,
            thunk.OpenResource: self._open_resource,
            thunk.Lock: self._lock,
            thunk.ReadAllocation: self._read_allocation,
            thunk.QueryAllocationResidency: self._query_residency,
            thunk.ReclaimAllocations: self._reclaim,
        }

    def notifications(self) -> Handlers:
        """What is only told."""
        return {
            thunk.DestroyAllocation: self._destroy_allocation,
            thunk.Unlock: self._unlock,
            thunk.WriteAllocation: self._write_allocation,
            thunk.SetAllocationPriority: self._set_allocation_priority,
            thunk.OfferAllocations: self._offer,
        }

    def _create_allocation(self, message: thunk.CreateAllocation) -> thunk.AllocationsCreated:
        return self.services.lifecycle.allocations.create_allocations(self._device(message.hDevice), message)

    def _open_resource(self, message: thunk.OpenResource) -> thunk.SharedOpened:
        return self.services.lifecycle.allocations.open_resource(self._device(message.hDevice), message.hGlobalShare)

    def _instances(self, device: Device, handles: list[int], hResource: int = 0) -> list[InstanceHandle]:
        """The instances that a resource or a list of handles names. Raises CallError."""
        if hResource:
            resource = self.process.table.get(hResource, OpenResource, "hResource")
            if resource.device is not device:
                raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, f"hResource {hResource:#x} belongs to another device")
            return [o.instances[0] for o in resource.allocations]
        found = []
        for index, handle in enumerate(handles):
            instance = self.process.table.get(handle, InstanceHandle, f"handles[{index}]")
            if instance.opened.device is not device:
                raise refusal(
                    NTSTATUS.STATUS_GRAPHICS_WRONG_ALLOCATION_DEVICE, f"handles[{index}] {handle:#x} belongs to another device"
                )
            found.append(instance)
        return found

    def _destroy_allocation(self, message: thunk.DestroyAllocation) -> None:
        device = self._device(message.hDevice)
        if message.hResource:
            resource = self.process.table.get(message.hResource, OpenResource, "hResource")
            if resource.device is not device:
                raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, f"hResource {message.hResource:#x} belongs to another device")
            self.services.lifecycle.allocations.destroy_resource(resource)
            return
        opened = list(dict.fromkeys(i.opened for i in self._instances(device, message.handles)))
        if len(set(message.handles)) != len(message.handles):
            raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, "a handle stands twice in the list to destroy")
        self.services.lifecycle.allocations.destroy_opened(opened)

    def _lock(self, message: thunk.Lock) -> thunk.Locked | Awaitable[thunk.Locked]:
        device = self._device(message.hDevice)
        instance = self.process.table.get(message.hAllocation, InstanceHandle, "hAllocation")
        locked = self.services.locks.lock(device, instance, message.flags)
        return self._locked(*locked) if isinstance(locked, tuple) else self._lock_later(locked)

    async def _lock_later(self, waiting: Awaitable[tuple[InstanceHandle, MemoryBlock]]) -> thunk.Locked:
        return self._locked(*await waiting)

    def _locked(self, instance: InstanceHandle, block: MemoryBlock) -> thunk.Locked:
        memory = Descriptor(block.memory.descriptor) if self.channel.passes_descriptors else None
        return thunk.Locked(hAllocation=instance.handle, size=instance.allocation.info.size, memory=memory)

    def _unlock(self, message: thunk.Unlock) -> None:
        device = self._device(message.hDevice)
        for instance in self._instances(device, message.handles):
            self.services.locks.unlock(device, instance)

    def _read_allocation(self, message: thunk.ReadAllocation) -> thunk.AllocationData:
        instance = self.process.table.get(message.hAllocation, InstanceHandle, "hAllocation")
        return thunk.AllocationData(data=self.services.locks.read(instance, message.offset, message.size))

    def _write_allocation(self, message: thunk.WriteAllocation) -> None:
        instance = self.process.table.get(message.hAllocation, InstanceHandle, "hAllocation")
        self.services.locks.write(instance, message.offset, message.data)

    def _set_allocation_priority(self, message: thunk.SetAllocationPriority) -> None:
        instances = self._instances(self._device(message.hDevice), message.handles, message.hResource)
        priorities = message.priorities
        if message.hResource and len(priorities) == 1:
            priorities = priorities * len(instances)
        if len(priorities) != len(instances) or 0 in priorities:
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER, f"{len(message.priorities)} priorities for {len(instances)} allocations, none 0"
            )
        for instance, priority in zip(instances, priorities, strict=True):
            instance.opened.info.priority = priority

    def _query_residency(self, message: thunk.QueryAllocationResidency) -> thunk.Residency:
        instances = self._instances(self._device(message.hDevice), message.handles, message.hResource)
        return thunk.Residency(statuses=[_residency(i.allocation) for i in instances])

    def _offer(self, message: thunk.OfferAllocations) -> None:
        instances = self._instances(self._device(message.hDevice), message.handles)
        if not D3DDDI_OFFER_PRIORITY.LOW <= message.priority <= D3DDDI_OFFER_PRIORITY.AUTO:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"offer priority {message.priority} is not in 1..4")
        for instance in instances:
            if instance.locks or instance.allocation.offered:
                raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"{instance.handle:#x} is locked or offered already")
        for instance in instances:
            instance.allocation.offered = message.priority

    def _reclaim(self, message: thunk.ReclaimAllocations) -> thunk.Reclaimed:
        instances = self._instances(self._device(message.hDevice), message.handles)
        discarded = [i.allocation.lost for i in instances]
        for instance in instances:
            instance.allocation.offered = 0
            instance.allocation.lost = False
        return thunk.Reclaimed(discarded=discarded)


def _residency(allocation: Allocation) -> int:
    if allocation.in_memory_segment:
        return D3DDDI_RESIDENCYSTATUS.RESIDENTINGPUMEMORY
    if allocation.in_aperture:
        return D3DDDI_RESIDENCYSTATUS.RESIDENTINSHAREDMEMORY
    return D3DDDI_RESIDENCYSTATUS.NOTRESIDENT
