"""Mapping: which entry maps what, the rules of D3D11_MAP, and writes that need no answer."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final

import numpy as np

from wddm.client.enums import BindFlag, CpuAccessFlag, MapFlag, MapType, Usage
from wddm.ddi import d3d10umddi as dd

from .commands import Pending
from .copy_commands import CopyCommands
from .errors import invalid_arg
from .resources import Buffer, Resource

_BUFFER: Final = dd.D3D10DDIRESOURCE_TYPE.BUFFER
_CONSTANT_BUFFER: Final = int(BindFlag.CONSTANT_BUFFER)
_INPUT_BUFFERS: Final = int(BindFlag.VERTEX_BUFFER | BindFlag.INDEX_BUFFER)
_READ: Final = int(CpuAccessFlag.READ)
_WRITE: Final = int(CpuAccessFlag.WRITE)
_DO_NOT_WAIT: Final = int(MapFlag.DO_NOT_WAIT)
_READ_MAP: Final = int(MapType.READ)
_READ_WRITE: Final = int(MapType.READ_WRITE)
_WRITE_DISCARD: Final = int(MapType.WRITE_DISCARD)
_WRITE_NO_OVERWRITE: Final = int(MapType.WRITE_NO_OVERWRITE)
_DDI_MAP: Final = {int(kind): dd.D3D10_DDI_MAP(int(kind)) for kind in MapType}
_DDI_DISCARD: Final = _DDI_MAP[_WRITE_DISCARD]
_NO_FLAGS: Final = dd.D3D10_DDI_MAP_FLAG.NONE



class MapCommands(CopyCommands):
    """Map, unmap, and both at once."""

    def _map_slots(self, resource: Resource, kind: int) -> tuple[str, str]:
        """Which entries map and unmap, by usage and bind flags."""
        if resource.usage is Usage.STAGING:
            return "pfnStagingResourceMap", "pfnStagingResourceUnmap"
        flags = resource.bind_flags
        if flags == _CONSTANT_BUFFER:
            return "pfnDynamicConstantBufferMapDiscard", "pfnDynamicConstantBufferUnmap"
        if flags and not flags & ~_INPUT_BUFFERS:
            if kind == _WRITE_NO_OVERWRITE:
                return "pfnDynamicIABufferMapNoOverwrite", "pfnDynamicIABufferUnmap"
            return "pfnDynamicIABufferMapDiscard", "pfnDynamicIABufferUnmap"
        if kind == _WRITE_NO_OVERWRITE:
            return "pfnResourceMap", "pfnResourceUnmap"
        return "pfnDynamicResourceMapDiscard", "pfnDynamicResourceUnmap"

    def check_map(self, id: int, sub: int, kind: int, flags: int) -> Resource:
        """The resource, when it may be mapped so. Raises ApiError."""
        resource: Resource = self.device.get(id, Resource, "resource")
        if kind not in _DDI_MAP:
            raise invalid_arg(f"map_type: {kind} is no D3D11_MAP")
        if flags & ~_DO_NOT_WAIT:
            raise invalid_arg(f"map_flags: {flags:#x} has unknown bits")
        if sub >= resource.subresources:
            raise invalid_arg(f"subresource: {sub}, there are {resource.subresources}")
        if sub in resource.mapped:
            raise invalid_arg(f"subresource: {sub} is mapped already")
        access = resource.cpu_access_flags
        if kind in (_READ_MAP, _READ_WRITE) and not access & _READ:
            raise invalid_arg(f"map_type: {MapType(kind).name} of a resource without CPU access READ")
        if kind != _READ_MAP and not access & _WRITE:
            raise invalid_arg(f"map_type: {MapType(kind).name} of a resource without CPU access WRITE")
        if kind not in (_WRITE_DISCARD, _WRITE_NO_OVERWRITE):
            if resource.usage is not Usage.STAGING:
                raise invalid_arg(f"map_type: {MapType(kind).name} is for STAGING resources")
            return resource
        if resource.usage is not Usage.DYNAMIC:
            raise invalid_arg(f"map_type: {MapType(kind).name} is for DYNAMIC resources")
        if flags:
            raise invalid_arg(f"map_flags: DO_NOT_WAIT with {MapType(kind).name}, which never waits")
        if kind == _WRITE_NO_OVERWRITE and not (resource.dimension is _BUFFER and resource.bind_flags & _INPUT_BUFFERS):
            raise invalid_arg("map_type: WRITE_NO_OVERWRITE is for vertex and index buffers")
        return resource

    async def map(self, id: int, sub: int, type_: int, flags: int) -> tuple[Resource, dd.D3D10DDI_MAPPED_SUBRESOURCE]:
        """ID3D11DeviceContext::Map. Raises ApiError."""
        resource = self.check_map(id, sub, type_, flags)
        slot, _ = self._map_slots(resource, type_)
        mapped = dd.D3D10DDI_MAPPED_SUBRESOURCE()
        self.core.do_not_wait = bool(flags)
        try:
            code = await self.device.invoke(
                slot, resource.handle, sub, _DDI_MAP[type_], dd.D3D10_DDI_MAP_FLAG(flags), mapped
            )
        finally:
            self.core.do_not_wait = False
        self.device.raise_error(code, "Map")
        self.device.check_removed()
        if mapped.pData is None:
            self.core.fault(f"the driver's {slot.removeprefix('pfn')} returned no memory")
            self.device.check_removed()
        resource.mapped[sub] = mapped
        return resource, mapped

    def unmap(self, id: int, sub: int) -> Pending:
        resource: Resource = self.device.get(id, Resource, "resource")
        return self._unmap(resource, sub)

    def _unmap(self, resource: Resource, sub: int) -> Pending:
        if resource.mapped.pop(sub, None) is None:
            raise invalid_arg(f"subresource: {sub} is not mapped")
        _, slot = self._map_slots(resource, _WRITE_DISCARD)
        return getattr(self._ddi, slot)(resource.handle, sub)  # type: ignore[no-any-return]

    def unmap_written(self, id: int, sub: int, data: Any) -> Pending:
        resource: Resource = self.device.get(id, Resource, "resource")
        mapped = resource.mapped.get(sub)
        if mapped is None:
            raise invalid_arg(f"subresource: {sub} is not mapped")

        def write(memory: Any) -> Pending:
            self._copy_in(mapped, 0, memory.data)
            return self._unmap(resource, sub)

        return self._using(data, write)

    def write_dynamic(self, id: int, sub: int, type_: int, offset: int, data: Any) -> Pending:
        if type(data) is bytes:
            target = self.device.objects.by_id.get(id)
            if (  # the one that comes with every draw: a constant buffer, which the driver renames
                type(target) is Buffer
                and target.bind_flags == _CONSTANT_BUFFER
                and type_ == _WRITE_DISCARD
                and target.usage is Usage.DYNAMIC
                and target.device is self.device
                and offset + len(data) <= target.byte_width
                and not target.mapped
                and sub == 0
            ):
                return self._write_constants(target, offset, data)
            return self._write_dynamic(id, sub, type_, offset, memoryview(data))
        return self._using(data, lambda memory: self._write_dynamic(id, sub, type_, offset, memory.data))

    def _write_constants(self, target: Buffer, offset: int, data: bytes) -> Pending:
        ddi, handle, mapped = self._ddi, target.handle, dd.D3D10DDI_MAPPED_SUBRESOURCE()
        pending = ddi.pfnDynamicConstantBufferMapDiscard(handle, 0, _DDI_DISCARD, _NO_FLAGS, mapped)
        if pending is not None:
            return self._write_later(pending, target, 0, mapped, offset, memoryview(data))
        memory = mapped.pData
        if memory is None:
            return None  # the driver has reported why
        memory.data[offset : offset + len(data)] = data
        return ddi.pfnDynamicConstantBufferUnmap(handle, 0)  # type: ignore[no-any-return]

    def _write_dynamic(self, id: int, sub: int, kind: int, offset: int, memory: memoryview) -> Pending:
        if kind != _WRITE_DISCARD and kind != _WRITE_NO_OVERWRITE:
            raise invalid_arg(f"map_type: {kind} is not WRITE_DISCARD or WRITE_NO_OVERWRITE")
        resource = self.check_map(id, sub, kind, 0)
        total = resource.mip_bytes(0)[2]
        if resource.dimension is _BUFFER:
            if offset + memory.nbytes > total:
                raise invalid_arg(f"data: {memory.nbytes} bytes at {offset} of {total}")
        elif offset or memory.nbytes != total:
            raise invalid_arg(f"data: {memory.nbytes} bytes, the texture has {total}")
        slot, _ = self._map_slots(resource, kind)
        mapped = dd.D3D10DDI_MAPPED_SUBRESOURCE()
        pending = getattr(self._ddi, slot)(resource.handle, sub, _DDI_MAP[kind], _NO_FLAGS, mapped)
        if pending is not None:
            return self._write_later(pending, resource, sub, mapped, offset, memory)
        return self._write_now(resource, sub, mapped, offset, memory)

    async def _write_later(
        self, pending: Awaitable[Any], resource: Resource, sub: int, mapped: Any, offset: int, memory: Any
    ) -> None:
        await pending
        following = self._write_now(resource, sub, mapped, offset, memory)
        if following is not None:
            await following

    def _write_now(self, resource: Resource, sub: int, mapped: Any, offset: int, memory: Any) -> Pending:
        if mapped.pData is None:
            return None  # the driver has reported why
        resource.mapped[sub] = mapped
        if resource.dimension is _BUFFER:
            self._copy_in(mapped, offset, memory)
        else:
            row, slice_, _ = resource.mip_bytes(0)
            rows, depth = slice_ // row, resource.depth
            target = np.frombuffer(mapped.pData, np.uint8)
            source = np.frombuffer(memory, np.uint8).reshape(depth, rows, row)
            for z in range(depth):
                start = z * mapped.DepthPitch
                plane = target[start : start + (rows - 1) * mapped.RowPitch + row]
                view = np.lib.stride_tricks.as_strided(plane, (rows, row), (mapped.RowPitch, 1))
                view[...] = source[z]
        return self._unmap(resource, sub)

    @staticmethod
    def _copy_in(mapped: dd.D3D10DDI_MAPPED_SUBRESOURCE, offset: int, memory: memoryview) -> None:
        target: Any = mapped.pData
        if type(target) is not memoryview:
            target = memoryview(target).cast("B")
        end = min(offset + memory.nbytes, target.nbytes)
        target[offset:end] = memory[: end - offset]
