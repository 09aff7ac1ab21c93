"""From user mode's allocation list to the miniport's.

Every handle is looked up, its device checked, and the element converted at the same index; element 0 and others may be NULL. The
last list of a context is remembered, because the next one is usually the same. Models the conversion rules of
"_d3dddi_allocationlist" and "_dxgk_allocationlist".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kernel.errors import refusal
from wddm.ddi.d3dkmddi import (
    DXGK_ALLOCATIONLIST_DTYPE,
    DXGK_ALLOCATIONLIST_SEGMENTID_SHIFT,
    DXGK_ALLOCATIONLIST_WRITEOPERATION,
)
from wddm.ddi.d3dukmdt import (
    D3DDDI_ALLOCATIONLIST_DTYPE,
    D3DDDI_ALLOCATIONLIST_OFFERPRIORITY_MASK,
    D3DDDI_ALLOCATIONLIST_OFFERPRIORITY_SHIFT,
    D3DDDI_ALLOCATIONLIST_RESERVED_MASK,
    D3DDDI_ALLOCATIONLIST_WRITEOPERATION,
    D3DDDI_OFFER_PRIORITY,
    StructArray,
)
from wddm.ddi.status import NTSTATUS

if TYPE_CHECKING:
    from kernel.handles import HandleTable
    from kernel.objects import Context, InstanceHandle
    from kernel.vidmm.allocation import Allocation


@dataclass(slots=True, eq=False)
class ConvertedList:
    """One allocation list: the miniport's array, the flags of its elements, and who stands in it.

    ``epoch``: the placement epoch of the addresses in ``array``; packets in flight may share the array, because whatever is
    submitted has everything in place and is filled for the present epoch first.
    """

    source: bytes
    array: StructArray
    flags: npt.NDArray[np.uint32]
    instances: list[InstanceHandle | None]
    entries: list[Allocation | None]
    uses: list[Allocation]
    writes: list[Allocation]
    offers: list[tuple[Allocation, int]]
    epoch: int = -1



def convert(data: bytes, context: Context, table: HandleTable) -> ConvertedList:
    """Check and convert D3DDDI_ALLOCATIONLIST bytes. Raises CallError, naming the element."""
    from kernel.objects import InstanceHandle

    cached: ConvertedList | None = context.list_cache
    if cached is not None and cached.source == data:
        for instance in cached.instances:
            if instance is not None and (instance.opened.destroyed or instance.allocation.offered):
                break
        else:
            return cached
    if len(data) % D3DDDI_ALLOCATIONLIST_DTYPE.itemsize:
        raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"an allocation list of {len(data)} bytes has no whole elements")
    listed = np.frombuffer(data, D3DDDI_ALLOCATIONLIST_DTYPE)
    if len(listed) > context.info.AllocationListSize:
        raise refusal(
            NTSTATUS.STATUS_INVALID_PARAMETER,
            f"an allocation list of {len(listed)} elements; the context has room for {context.info.AllocationListSize}",
        )
    array = np.zeros(len(listed), DXGK_ALLOCATIONLIST_DTYPE)
    found = ConvertedList(data, array, np.zeros(len(listed), np.uint32), [], [], [], [], [])
    uses: dict[Allocation, None] = {}
    writes: dict[Allocation, None] = {}
    for index, (handle, value) in enumerate(listed.tolist()):
        if value & D3DDDI_ALLOCATIONLIST_RESERVED_MASK:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"allocation list element {index}: reserved bits {value:#x}")
        if handle == 0:
            found.instances.append(None)
            found.entries.append(None)
            continue
        instance = table.get(handle, InstanceHandle, f"allocation list element {index}: hAllocation")
        allocation = _check(instance, context, index)
        write = bool(value & D3DDDI_ALLOCATIONLIST_WRITEOPERATION)
        array["hDeviceSpecificAllocation"][index] = instance.opened.hDeviceSpecific
        found.flags[index] = DXGK_ALLOCATIONLIST_WRITEOPERATION if write else 0
        found.instances.append(instance)
        found.entries.append(allocation)
        uses[allocation] = None
        if write:
            writes[allocation] = None
        priority = (value & D3DDDI_ALLOCATIONLIST_OFFERPRIORITY_MASK) >> D3DDDI_ALLOCATIONLIST_OFFERPRIORITY_SHIFT
        if priority > D3DDDI_OFFER_PRIORITY.AUTO:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"allocation list element {index}: offer priority {priority}")
        if priority:
            found.offers.append((allocation, priority))
    found.uses, found.writes = list(uses), list(writes)
    context.list_cache = found
    return found


def _check(instance: InstanceHandle, context: Context, index: int) -> Allocation:
    if instance.opened.device is not context.device:
        raise refusal(
            NTSTATUS.STATUS_GRAPHICS_WRONG_ALLOCATION_DEVICE,
            f"allocation list element {index}: {instance.handle:#x} belongs to another device",
        )
    if instance.allocation.offered:
        raise refusal(
            NTSTATUS.STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE,
            f"allocation list element {index}: {instance.handle:#x} is offered and must be reclaimed first",
        )
    return instance.allocation


def fill_addresses(converted: ConvertedList, epoch: int) -> None:
    """Write segment and address of every element as they are in placement epoch ``epoch``; SegmentId 0 where there is no place."""
    if converted.epoch == epoch:
        return
    converted.epoch = epoch
    array = converted.array
    segments = [0 if a is None else a.segment_id << DXGK_ALLOCATIONLIST_SEGMENTID_SHIFT for a in converted.entries]
    addresses = [0 if a is None or a.placement is None else a.address for a in converted.entries]
    array["Value"] = converted.flags | np.array(segments, np.uint32)
    array["PhysicalAddress"] = np.array(addresses, np.uint64)
