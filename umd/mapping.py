"""Maps: the processor's pointer to a resource, without waiting where Direct3D allows it.

Models the Map entries and "Locking an allocation". Discarding renames (a fresh slice, or another instance of the allocation);
no-overwrite never waits; reading waits for the GPU's last write and writing for its last use; DONOTWAIT waits for nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable

from umd.core import Core, Pending
from umd.errors import DeviceError, WasStillDrawing
from umd.memory import Allocation
from umd.placement import place, settle_in
from umd.resource import Resource, ResourceFunctions, request
from umd.upload import CHUNK_SIZE
from wddm.ddi.d3d10umddi import D3D10_DDI_MAP, D3D10_DDI_MAP_FLAG, D3D10DDI_MAPPED_SUBRESOURCE

#: Instances of a larger dynamic resource before a discarding map waits.
MAX_INSTANCES = 4


class MappingFunctions:
    """Entries that map and unmap."""

    def __init__(self, core: Core, resources: ResourceFunctions) -> None:
        self.core = core
        self.get = resources.get
        self.resources = resources.resources

    def ResourceMap(
        self, hDevice: int, hResource: int, Subresource: int, DDIMap: int, Flags: int, out: D3D10DDI_MAPPED_SUBRESOURCE
    ) -> Pending:
        r = self.resources.get(hResource) or self.get(hResource)
        if DDIMap == D3D10_DDI_MAP.WRITE_DISCARD:
            return self._discard(r, Subresource, Flags, out)
        if DDIMap == D3D10_DDI_MAP.WRITE_NOOVERWRITE:
            return self._settled(r, Subresource, out)
        allocation = r.allocation
        if allocation is not None:
            # Reading waits for the last write, writing for the last use.
            serial = allocation.last_write if DDIMap == D3D10_DDI_MAP.READ else allocation.batch
            if serial > self.core.batch.completed():
                return self._map_busy(r, Subresource, Flags, serial, out)
        return self._settled(r, Subresource, out)

    StagingResourceMap = ResourceMap
    DynamicIABufferMapNoOverwrite = ResourceMap
    DynamicConstantBufferMapNoOverwrite = ResourceMap
    DynamicIABufferMapDiscard = ResourceMap
    DynamicResourceMapDiscard = ResourceMap

    def DynamicConstantBufferMapDiscard(
        self, hDevice: int, hResource: int, Subresource: int, DDIMap: int, Flags: int, out: D3D10DDI_MAPPED_SUBRESOURCE
    ) -> Pending:
        r = self.resources.get(hResource)
        chunk = self.core.ring.chunk
        if r is not None and r.renamed and chunk is not None:  # one before every draw: keep it short
            size = r.size
            offset = (chunk.used + 63) & -64
            end = offset + size
            if end <= CHUNK_SIZE:
                chunk.used = end
                settle_in(self.core, r, chunk, offset)
                out.pData = chunk.array[offset:end]
                out.RowPitch = out.DepthPitch = size
                r.mapped += 1
                return None
        return self.ResourceMap(hDevice, hResource, Subresource, DDIMap, Flags, out)

    def ResourceUnmap(self, hDevice: int, hResource: int, Subresource: int) -> None:
        self.resources[hResource].mapped -= 1

    StagingResourceUnmap = ResourceUnmap
    DynamicIABufferUnmap = ResourceUnmap
    DynamicConstantBufferUnmap = ResourceUnmap
    DynamicResourceUnmap = ResourceUnmap

    def ResourceIsStagingBusy(self, hDevice: int, hResource: int) -> bool:
        allocation = self.get(hResource).allocation
        return allocation is not None and allocation.batch > self.core.batch.completed()

    def _map_busy(self, r: Resource, subresource: int, flags: int, serial: int, out: D3D10DDI_MAPPED_SUBRESOURCE) -> Pending:
        if flags & D3D10_DDI_MAP_FLAG.DONOTWAIT:
            # What it waits for must be on its way, or nobody who asks again and again would ever be served.
            pending = self.core.flush() if serial >= self.core.batch.serial else None
            if pending is not None:
                return _then_busy(pending)
            raise WasStillDrawing
        return self._map_later(r, subresource, serial, out)

    async def _map_later(self, r: Resource, subresource: int, serial: int, out: D3D10DDI_MAPPED_SUBRESOURCE) -> None:
        await self.core.wait_for(serial)
        pending = self._settled(r, subresource, out)
        if pending is not None:
            await pending

    def _settled(self, r: Resource, subresource: int, out: D3D10DDI_MAPPED_SUBRESOURCE) -> Pending:
        """Hand out the pointer to where the content is."""
        if r.allocation is None:
            return self.core.retry(lambda: self._place_and_hand_out(r, subresource, out))
        _hand_out(r, subresource, out)
        return None

    def _place_and_hand_out(self, r: Resource, subresource: int, out: D3D10DDI_MAPPED_SUBRESOURCE) -> None:
        place(self.core, r)
        _hand_out(r, subresource, out)

    def _discard(self, r: Resource, subresource: int, flags: int, out: D3D10DDI_MAPPED_SUBRESOURCE) -> Pending:
        core = self.core
        if r.renamed:
            chunk = core.ring.chunk
            if chunk is not None:
                offset = (chunk.used + 63) & -64
                if offset + r.size <= CHUNK_SIZE:
                    chunk.used = offset + r.size
                    settle_in(core, r, chunk, offset)
                    _hand_out(r, subresource, out)
                    return None
            return core.retry(lambda: self._rename(r, subresource, out))
        if r.layout is not None and r.mips * r.slices > 1:
            # Only the mapped subresource is discarded, the others keep their content: no renaming.
            serial = r.placed.batch
            if serial > core.batch.completed():
                return self._map_busy(r, subresource, flags, serial, out)
            return self._settled(r, subresource, out)
        completed = core.batch.completed()
        idle = next((a for a in r.instances if a.batch <= completed), None)
        if r.placed.batch > completed:
            if idle is None:
                if len(r.instances) < MAX_INSTANCES:
                    return self._new_instance(r, subresource, out)
                oldest = min(r.instances, key=lambda a: a.batch)
                return self._recycle(r, oldest, subresource, flags, out)
            r.allocation = idle
            core.moved(r)
        return self._settled(r, subresource, out)

    def _rename(self, r: Resource, subresource: int, out: D3D10DDI_MAPPED_SUBRESOURCE) -> None:
        chunk, offset = self.core.ring.take(r.size)
        settle_in(self.core, r, chunk, offset)
        _hand_out(r, subresource, out)

    async def _new_instance(self, r: Resource, subresource: int, out: D3D10DDI_MAPPED_SUBRESOURCE) -> None:
        instance, _ = await self.core.memory.allocate(request(r, None))
        r.instances.append(instance)
        r.allocation = instance
        self.core.moved(r)
        _hand_out(r, subresource, out)

    def _recycle(
        self, r: Resource, oldest: Allocation, subresource: int, flags: int, out: D3D10DDI_MAPPED_SUBRESOURCE
    ) -> Awaitable[None]:
        if flags & D3D10_DDI_MAP_FLAG.DONOTWAIT:
            raise WasStillDrawing
        return self._recycle_later(r, oldest, subresource, out)

    async def _recycle_later(
        self, r: Resource, oldest: Allocation, subresource: int, out: D3D10DDI_MAPPED_SUBRESOURCE
    ) -> None:
        await self.core.wait_for(oldest.batch)
        r.allocation = oldest
        self.core.moved(r)
        _hand_out(r, subresource, out)


async def _then_busy(pending: Awaitable[None]) -> None:
    await pending
    raise WasStillDrawing


def _hand_out(r: Resource, subresource: int, out: D3D10DDI_MAPPED_SUBRESOURCE) -> None:
    """Fill the result of a map."""
    array = r.placed.array
    if array is None:
        raise DeviceError.invalid("the resource was not created for the processor")
    if r.layout is None:
        out.pData = array[r.offset : r.offset + r.size]
        out.RowPitch = out.DepthPitch = r.size
    else:
        part = r.layout[r.subresource(subresource)]
        start = r.offset + part.offset
        out.pData = array[start : start + part.size]
        out.RowPitch, out.DepthPitch = part.row_pitch, part.depth_pitch
    r.mapped += 1
