"""Commands that fill and copy: clears, copies, updates, resolves, mips."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import numpy as np

from wddm.client.enums import BindFlag, ResourceMiscFlag, Usage
from wddm.ddi import d3d10umddi as dd
from wddm.ddi.dxgiformat import FormatAbility

from . import bindings as b
from .commands import CommandGroup, Pending
from .errors import ApiError, float4, float32, invalid_arg, require
from .resources import Buffer, Resource, Texture, format_info
from .views import DepthStencilView, RenderTargetView, ShaderResourceView, UnorderedAccessView

_BUFFER: Final = dd.D3D10DDIRESOURCE_TYPE.BUFFER
_DEPTH_STENCIL: Final = int(BindFlag.DEPTH_STENCIL)
_CONSTANT_BUFFER: Final = int(BindFlag.CONSTANT_BUFFER)



class CopyCommands(CommandGroup):
    """Clears, copies, updates."""

    # ----- clears ----------------------------------------------------------------------------------------------------------

    def clear_render_target_view(self, id: int, color: list[float]) -> Pending:
        view = self.device.get(id, RenderTargetView, "render_target_view")
        view.resource.written = True
        return self._ddi.pfnClearRenderTargetView(view.handle, float4(color))  # type: ignore[no-any-return]

    def clear_depth_stencil_view(self, id: int, flags: int, depth: float, stencil: int) -> Pending:
        view = self.device.get(id, DepthStencilView, "depth_stencil_view")
        if flags & ~3:
            raise invalid_arg(f"clear_flags: {flags:#x} has unknown bits")
        if stencil > 0xFF:
            raise invalid_arg(f"stencil: {stencil} is not in 0..255")
        # ClearDepthStencilView: the depth is clamped to 0..1; no number clears to 0.
        depth = min(1.0, max(0.0, depth))
        require(b.writes(view), "depth_stencil_view: it is read-only")
        view.resource.written = True
        return self._ddi.pfnClearDepthStencilView(  # type: ignore[no-any-return]
            view.handle, dd.D3D10_DDI_CLEAR_FLAG(flags), float(depth), stencil
        )

    def clear_unordered_access_view_uint(self, id: int, values: list[int]) -> Pending:
        view = self.device.get(id, UnorderedAccessView, "unordered_access_view")
        return self._ddi.pfnClearUnorderedAccessViewUint(view.handle, tuple(values))  # type: ignore[no-any-return]

    def clear_unordered_access_view_float(self, id: int, values: list[float]) -> Pending:
        view = self.device.get(id, UnorderedAccessView, "unordered_access_view")
        require(view.resource.stride == 0, "unordered_access_view: a structured buffer is cleared with integers")
        return self._ddi.pfnClearUnorderedAccessViewFloat(view.handle, float4(values))  # type: ignore[no-any-return]

    # ----- copies ----------------------------------------------------------------------------------------------------------

    def _copy_pair(self, destination: int, source: int) -> tuple[Resource, Resource]:
        target: Resource = self.device.get(destination, Resource, "dst_resource")
        origin: Resource = self.device.get(source, Resource, "src_resource")
        require(target.usage is not Usage.IMMUTABLE, "dst_resource: it is IMMUTABLE")
        require(target.dimension is origin.dimension, "dst_resource, src_resource: they are of different kinds")
        require(target.sample_count == origin.sample_count, "dst_resource, src_resource: different sample counts")
        if target.format is not origin.format and (target.info.family is None or target.info.family is not origin.info.family):
            raise invalid_arg(f"dst_resource, src_resource: {origin.format.name} cannot be copied to {target.format.name}")
        require(not target.mapped, "dst_resource: it is mapped")
        require(not origin.mapped, "src_resource: it is mapped")
        return target, origin

    def copy_resource(self, destination: int, source: int) -> Pending:
        target, origin = self._copy_pair(destination, source)
        require(target is not origin, "dst_resource, src_resource: they are the same")
        for name in ("width", "height", "depth", "mip_levels", "array_size"):
            ours, theirs = getattr(target, name), getattr(origin, name)
            require(ours == theirs, f"dst_resource, src_resource: {name} {ours} and {theirs}")
        target.written = True
        return self._ddi.pfnResourceCopy(target.handle, origin.handle)  # type: ignore[no-any-return]

    def copy_subresource_region(
        self, destination: int, sub: int, x: int, y: int, z: int, source: int, source_sub: int, box: list[int] | None
    ) -> Pending:
        target, origin = self._copy_pair(destination, source)
        if sub >= target.subresources or source_sub >= origin.subresources:
            raise invalid_arg(
                f"dst_subresource, src_subresource: {sub} of {target.subresources}, {source_sub} of {origin.subresources}"
            )
        require(target is not origin or sub != source_sub, "dst_resource: a subresource cannot be copied onto itself")
        size = origin.size(source_sub % origin.mip_levels)
        region = _box(box, size, origin, "src_box")
        if region is None:
            return None
        if origin.sample_count > 1 or (origin.bind_flags | target.bind_flags) & _DEPTH_STENCIL:
            require(
                box is None or (region[:3] == (0, 0, 0) and region[3:] == size),
                "src_box: of multisampled and depth-stencil resources only whole subresources can be copied",
            )
            require(x == y == z == 0, "dst_x, dst_y, dst_z: must be 0 for multisampled and depth-stencil resources")
        room = target.size(sub % target.mip_levels)
        block = target.info.block_size
        for name, at, low, high, most in (
            ("dst_x", x, region[0], region[3], room[0]),
            ("dst_y", y, region[1], region[4], room[1]),
            ("dst_z", z, region[2], region[5], room[2]),
        ):
            if name != "dst_z" and block > 1:
                if at % block:
                    raise invalid_arg(f"{name}: {at} is no multiple of {block}")
                most = -(-most // block) * block
                high = -(-high // block) * block
            if at + high - low > most:
                raise invalid_arg(f"{name}: {high - low} texels at {at} leave the destination's {most}")
        argument = None if box is None else dd.D3D10_DDI_BOX(*region)
        target.written = True
        return self._ddi.pfnResourceCopyRegion(  # type: ignore[no-any-return]
            target.handle, sub, x, y, z, origin.handle, source_sub, argument
        )

    def _data(self, data: Any) -> Any:
        """The memory of a command's data."""
        if type(data) is bytes:
            return np.frombuffer(data, np.uint8)
        upload = self.device.upload
        if upload is None:
            raise invalid_arg("data: no upload area was announced")
        return upload.view(data[0], data[1])

    def _taken(self, data: Any) -> None:
        if type(data) is list and self.device.upload is not None:
            self.device.upload.taken(data[0] + data[1])

    def _using(self, data: Any, call: Callable[[Any], Any]) -> Pending:
        """Give the driver data of the client, and the place back when it has read them."""
        try:
            pending = call(self._data(data))
        except ApiError:
            self._taken(data)
            raise
        if pending is None:
            self._taken(data)
            return None
        return self._used_later(data, pending)

    async def _used_later(self, data: Any, pending: Awaitable[Any]) -> None:
        try:
            await pending
        finally:
            self._taken(data)

    def update_subresource(
        self, id: int, sub: int, box: list[int] | None, data: Any, row_pitch: int, depth_pitch: int
    ) -> Pending:
        if type(data) is bytes:
            target = self.device.objects.by_id.get(id)
            if (  # the one that comes with every draw: the whole of a constant buffer
                type(target) is Buffer
                and target.bind_flags == _CONSTANT_BUFFER
                and target.usage is Usage.DEFAULT
                and target.device is self.device
                and len(data) >= target.byte_width
                and box is None
                and sub == 0
            ):
                size = target.byte_width
                return self._ddi.pfnDefaultConstantBufferUpdateSubresourceUP(  # type: ignore[no-any-return]
                    target.handle, 0, None, data, size, size
                )
        return self._using(data, lambda memory: self._update(id, sub, box, memory, row_pitch, depth_pitch))

    def _update(self, id: int, sub: int, box: list[int] | None, memory: Any, row_pitch: int, depth_pitch: int) -> Pending:
        target: Resource = self.device.get(id, Resource, "dst_resource")
        if target.usage is not Usage.DEFAULT:
            raise invalid_arg(f"dst_resource: it is {target.usage.name}, only DEFAULT ones can be updated")
        require(target.sample_count == 1, "dst_resource: it is multisampled")
        require(not target.bind_flags & _DEPTH_STENCIL, "dst_resource: depth-stencil resources cannot be updated")
        if sub >= target.subresources:
            raise invalid_arg(f"dst_subresource: {sub}, there are {target.subresources}")
        size = target.size(sub % target.mip_levels)
        region = _box(box, size, target, "dst_box")
        if region is None:
            return None
        width, height, depth = region[3] - region[0], region[4] - region[1], region[5] - region[2]
        if target.dimension is _BUFFER:
            row, rows = width, 1
        else:
            row, rows = target.info.row_bytes(width), target.info.rows(height)
        row_pitch = row_pitch or row
        depth_pitch = depth_pitch or row_pitch * rows
        need = (depth - 1) * depth_pitch + (rows - 1) * row_pitch + row
        if memory.nbytes < need:
            raise invalid_arg(f"data: {memory.nbytes} bytes, the box takes {need} with its pitches")
        argument = None if box is None else dd.D3D10_DDI_BOX(*region)
        if target.bind_flags & _CONSTANT_BUFFER:
            require(box is None, "dst_box: a constant buffer is updated as a whole")
            return self._ddi.pfnDefaultConstantBufferUpdateSubresourceUP(  # type: ignore[no-any-return]
                target.handle, sub, None, memory, row_pitch, depth_pitch
            )
        return self._ddi.pfnResourceUpdateSubresourceUP(  # type: ignore[no-any-return]
            target.handle, sub, argument, memory, row_pitch, depth_pitch
        )

    def copy_structure_count(self, id: int, offset: int, view_id: int) -> Pending:
        target: Buffer = self.device.get(id, Buffer, "dst_buffer")
        view: UnorderedAccessView = self.device.get(view_id, UnorderedAccessView, "src_view")
        require(bool(view.flags & 6), "src_view: it has neither APPEND nor COUNTER")
        require(offset % 4 == 0 and offset + 4 <= target.byte_width, f"dst_aligned_byte_offset: {offset}")
        require(target.usage is not Usage.IMMUTABLE, "dst_buffer: it is IMMUTABLE")
        return self._ddi.pfnCopyStructureCount(target.handle, offset, view.handle)  # type: ignore[no-any-return]

    def resolve_subresource(self, destination: int, sub: int, source: int, source_sub: int, format: int) -> Pending:
        target: Texture = self.device.get(destination, Texture, "dst_resource")
        origin: Texture = self.device.get(source, Texture, "src_resource")
        require(target.usage is Usage.DEFAULT, "dst_resource: it is not DEFAULT")
        require(origin.sample_count > 1, "src_resource: it is not multisampled")
        require(target.sample_count == 1, "dst_resource: it is multisampled")
        require(sub < target.subresources, f"dst_subresource: {sub}, there are {target.subresources}")
        require(source_sub < origin.subresources, f"src_subresource: {source_sub}, there are {origin.subresources}")
        info = format_info(format)
        require(info.allows(FormatAbility.MULTISAMPLE_RESOLVE), f"format: {info.format.name} cannot be resolved")
        for name, resource in (("dst_resource", target), ("src_resource", origin)):
            fits = resource.format == info.format or (resource.info.typeless and resource.info.family is info.family)
            require(fits, f"{name}: {resource.format.name} cannot be resolved as {info.format.name}")
        ours, theirs = target.size(sub % target.mip_levels), origin.size(0)
        require(ours == theirs, f"dst_resource, src_resource: sizes {ours} and {theirs}")
        target.written = True
        return self._ddi.pfnResourceResolveSubresource(  # type: ignore[no-any-return]
            target.handle, sub, origin.handle, source_sub, info.format
        )

    def generate_mips(self, id: int) -> Pending:
        view: ShaderResourceView = self.device.get(id, ShaderResourceView, "shader_resource_view")
        resource = view.resource
        require(
            bool(resource.misc_flags & ResourceMiscFlag.GENERATE_MIPS),
            "shader_resource_view: the resource was not created with GENERATE_MIPS",
        )
        require(
            format_info(view.format).allows(FormatAbility.MIP_AUTOGEN), f"format: mips of {view.format.name} cannot be generated"
        )
        return self._ddi.pfnGenMips(view.handle)  # type: ignore[no-any-return]

    def set_resource_min_lod(self, id: int, lod: float) -> Pending:
        resource: Texture = self.device.get(id, Texture, "resource")
        require(bool(resource.misc_flags & ResourceMiscFlag.RESOURCE_CLAMP), "resource: it was not created with RESOURCE_CLAMP")
        require(lod >= 0, f"min_lod: {lod} is negative")
        return self._ddi.pfnSetResourceMinLOD(resource.handle, float32(lod))  # type: ignore[no-any-return]


def _box(box: list[int] | None, size: tuple[int, int, int], resource: Resource, name: str) -> tuple[int, ...] | None:
    """The box, or the whole; None when it is empty. Raises E_INVALIDARG when it leaves the subresource."""
    if box is None:
        return (0, 0, 0, *size)
    left, top, front, right, bottom, back = box
    if left >= right or top >= bottom or front >= back:
        return None
    block = resource.info.block_size
    width, height, depth = size
    if block > 1:
        require(left % block == 0 and top % block == 0, f"{name}: left {left}, top {top} are no multiples of {block}")
        require(right % block == 0 or right == width, f"{name}: right {right} is no multiple of {block}")
        require(bottom % block == 0 or bottom == height, f"{name}: bottom {bottom} is no multiple of {block}")
        width, height = -(-width // block) * block, -(-height // block) * block
    if right > width or bottom > height or back > depth:
        raise invalid_arg(f"{name}: {box} leaves the subresource of {size}")
    return left, top, front, right, bottom, back
