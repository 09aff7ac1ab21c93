"""The immediate context: records commands in Python lists that travel in batches.

What Direct3D returns nothing from is a plain method: it appends a tuple and returns. A batch goes out when it is long enough,
before every awaited call, and by :meth:`ImmediateContext.flush`. Mapping, reading, query results and waiting are awaited. An error
of a recorded command is raised by the next awaited call; the commands after it were carried out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import trio

from wddm.ddi.status import HRESULT
from wddm.wire import api
from wddm.wire import api_commands as c
from wddm.wire.message import Nothing, Struct

from .context_base import BATCH_COMMANDS as BATCH_COMMANDS
from .context_bindings import ContextBindings
from .device_base import as_array, invalid, pitches
from .enums import CpuAccessFlag, MapType, QueryType, Usage
from .errors import D3DError
from .pixels import texels
from .resources import (
    Buffer,
    DepthStencilView,
    Query,
    RenderTargetView,
    Resource,
    ShaderResourceView,
    Texture,
    UnorderedAccessView,
)
from .values import Mapped, PipelineStatistics, StreamOutputStatistics, TimestampDisjoint

if TYPE_CHECKING:
    from .device_base import Data

_R = TypeVar("_R", bound=Struct)

#: Longest look at the fence page before waiting for a message, microseconds. Waiting by message costs some 300 more; work that
#: takes longer than this is not worth a busy core.
LONGEST_SPIN: Final = 2000.0
SHORTEST_SPIN: Final = 50.0
_KEPT_STAGING: Final = 8
BAND: Final = 16 << 20  #: bytes of an update that travel in one piece
_LOST: Final = 0xFFFF_FFFF_FFFF_FFFF  #: value of a fence whose signaller is lost


def _box_size(box: Sequence[int]) -> tuple[int, ...]:
    """Width, height and depth of a box, nothing for one that is inside out. Raises D3DError for what is no box."""
    try:
        left, top, front, right, bottom, back = box
        return max(right - left, 0), max(bottom - top, 0), max(back - front, 0)
    except (TypeError, ValueError):
        raise invalid(f"box: {box!r} where (left, top, front, right, bottom, back) belongs") from None


class ImmediateContext(ContextBindings):
    """ID3D11DeviceContext of ``device``."""

    # ----- waiting ---------------------------------------------------------------------------------------------------------

    def signal(self) -> int:
        """Flush, and let the device's fence take a new value when all of it is done; returns the value.

        With nothing recorded or asked for since the last signal, that one tells as well.
        """
        device = self.device
        if self._commands or device.doomed or device.sent != self._signalled:
            self._fence_value += 1
            self._staged = False
            device.run_sync(lambda: self.send(self._fence_value))
            self._signalled = device.sent
        return self._fence_value

    async def wait_fence(self, value: int, *, spin: float | None = None) -> None:
        """Wait until the GPU has passed :meth:`signal` of ``value``.

        Looks at the fence page for up to ``spin`` microseconds (0: not at all), then waits for a message. By default as long as
        lately sufficed (twice the usual wait), between 50 µs and 2 ms, giving way to other processes all the time.
        """
        asked = time.perf_counter_ns()
        try:
            await self._wait_fence(value, self._usual_spin() if spin is None else spin)
        finally:
            self._waited(asked)

    def _waited(self, asked: int) -> None:
        # One that took very long (a shader was compiled) counts as one that was too long to look for.
        taken = min((time.perf_counter_ns() - asked) / 1000, 2 * LONGEST_SPIN)
        self._usual_wait += (taken - self._usual_wait) / 8

    def _usual_spin(self) -> float:
        if self._usual_wait > LONGEST_SPIN:
            return SHORTEST_SPIN
        return min(max(2 * self._usual_wait, SHORTEST_SPIN), LONGEST_SPIN)

    async def _wait_fence(self, value: int, spin: float) -> None:
        if self._passed(value, spin):
            # What the runtime told before the fence was queued is in the socket: let it be received.
            await trio.lowlevel.checkpoint()
            await trio.lowlevel.checkpoint()
            if self.device.removed is None:
                self.device.raise_recorded()
                return
        await self._call(api.WaitFence(device=self.device.id, value=value), Nothing)

    def _passed(self, value: int, spin: float) -> bool:
        """Whether the fence page shows the value, within ``spin`` microseconds. A lost device's fence shows the greatest value."""
        page = self.device.fence_page
        if page is None or self.device.removed is not None:
            return False
        end = time.perf_counter_ns() + (int(spin * 1000) if self.device.spins else 0)
        while not value <= page[0] < _LOST:
            if page[0] == _LOST or time.perf_counter_ns() >= end:
                return False
            os.sched_yield()
        return True

    async def wait_idle(self, *, spin: float | None = None) -> None:
        """Flush and wait until the GPU has done everything recorded so far."""
        await self.wait_fence(self.signal(), spin=spin)

    def flush(self) -> None:
        """ID3D11DeviceContext::Flush: submit to the GPU what was recorded."""
        if self._staged:
            self.signal()  # whoever maps what was copied to need not wait for what is recorded later
        else:
            super().flush()

    def _staging(self, resource: Resource) -> None:
        """A copy into a resource is recorded: where it may be mapped, remember which value of the fence tells that it is done."""
        if resource.usage is Usage.STAGING:
            resource.done_at = self._fence_value + 1
            self._staged = True

    def _look_for(self, resource: Resource) -> None:
        """Look at the fence page until the GPU is done with the last copy into a resource, so that mapping it does not wait.

        A request that waits in the runtime costs twice the way of a fence and an answer.
        """
        if self.device.fence_page is None:
            return
        if resource.done_at > self._fence_value:
            self.signal()
        asked = time.perf_counter_ns()
        if self._passed(resource.done_at, self._usual_spin()):
            resource.done_at = 0
            self._waited(asked)

    # ----- mapping and reading ---------------------------------------------------------------------------------------------

    async def map(self, resource: Resource, subresource: int = 0, map_type: int = MapType.READ, map_flags: int = 0) -> Mapped:
        """ID3D11DeviceContext::Map. Waits for the GPU unless DO_NOT_WAIT asks for DXGI_ERROR_WAS_STILL_DRAWING instead."""
        asked = time.perf_counter_ns()
        if resource.done_at and not map_flags:
            self._look_for(resource)
        message = api.Map(resource=resource.id, subresource=subresource, type=map_type, flags=map_flags)
        reply = await self.device.call(message, api.Mapped)
        if resource.done_at and not map_flags:
            resource.done_at = 0
            self._waited(asked)
        memory = self.device.memory(reply) if reply.memory_id else None
        try:
            self.device.raise_recorded()
        except D3DError:
            # The caller gets the error instead of the map, and so cannot end it.
            self._record(c.UNMAP, resource.id, subresource)
            raise
        if memory is not None:
            data = memory
        else:
            data = np.zeros(reply.size, np.uint8)
            data[: len(reply.data)] = np.frombuffer(reply.data, np.uint8)
            if map_type != MapType.READ:
                self._written[resource.id, subresource] = data
        if map_type == MapType.READ:
            data = data.view()
            data.flags.writeable = False
        return Mapped(data, reply.row_pitch, reply.depth_pitch)

    def unmap(self, resource: Resource, subresource: int = 0) -> None:
        """End a map; its memory must not be touched any more."""
        written = self._written.pop((resource.id, subresource), None)
        if written is None:
            self._record(c.UNMAP, resource.id, subresource)
        else:
            self._record(c.UNMAP_WRITTEN, resource.id, subresource, self._place(written))

    def write(
        self,
        resource: Resource,
        data: Data,
        offset: int = 0,
        map_type: int = MapType.WRITE_DISCARD,
        subresource: int = 0,
    ) -> None:
        """Map a dynamic resource (WRITE_DISCARD or WRITE_NO_OVERWRITE), copy ``data`` to byte ``offset``, unmap: recorded."""
        self._record(c.WRITE_DYNAMIC, resource.id, subresource, map_type, offset, self._place(as_array(data)))

    async def read_texture(self, texture: Texture, subresource: int = 0, box: Sequence[int] | None = None) -> npt.NDArray[Any]:
        """A copy of a subresource (or of ``box``: left, top, front, right, bottom, back) as a numpy array.

        A 2D image has shape (height, width, channels); :mod:`wddm.client.pixels` tells dtypes and shapes of all formats.
        Multisampled textures are resolved first. Waits until the GPU has done what was recorded.
        """
        try:
            form = texels(texture.format)
        except ValueError as error:
            raise D3DError.of(HRESULT.E_INVALIDARG, f"texture: {error}") from None
        size = texture.size(subresource)
        if box is not None:
            size = _box_size(box)[: texture.dimension]
        if not self.device.passes_descriptors and texture.dimension > 1 and form.row_bytes(size[0]) * form.rows(size[1]) > BAND:
            return await self._read_in_bands(texture, subresource, box, size)
        if texture.usage is Usage.STAGING and box is None and texture.cpu_access_flags & CpuAccessFlag.READ:
            source, index = texture, subresource
        else:
            source, index = await self._staging_texture(texture, size), 0
            if texture.sample_count > 1:
                texture, subresource = await self._resolved(texture, subresource), 0
            self.copy_subresource_region(source, 0, 0, 0, 0, texture, subresource, box)
        mapped = await self.map(source, index, MapType.READ)
        try:
            return form.image(mapped.data, size, mapped.row_pitch, mapped.depth_pitch)
        finally:
            self.unmap(source, index)

    async def _read_in_bands(
        self, texture: Texture, subresource: int, box: Sequence[int] | None, size: tuple[int, ...]
    ) -> npt.NDArray[Any]:
        """An image that is too big for one message, as bands of rows."""
        form = texels(texture.format)
        left, top, front = box[:3] if box is not None else (0, 0, 0)
        depth = size[2] if len(size) > 2 else 1
        step = max(BAND // (2 * form.row_bytes(size[0])), 1) * form.down
        bands = []
        for y in range(0, size[1], step):
            bottom = top + min(y + step, size[1])
            part = (left, top + y, front, left + size[0], bottom, front + depth)
            bands.append(await self.read_texture(texture, subresource, part))
        return np.concatenate(bands, axis=texture.dimension - 2)

    async def read_buffer(
        self, buffer: Buffer, dtype: Any = np.uint8, offset: int = 0, size: int | None = None
    ) -> npt.NDArray[Any]:
        """A copy of ``size`` bytes (all from ``offset``) of a buffer as a flat array of ``dtype``."""
        size = buffer.byte_width - offset if size is None else size
        if buffer.usage is Usage.STAGING and buffer.cpu_access_flags & CpuAccessFlag.READ:
            source, start = buffer, offset
        else:
            source, start = await self._staging_buffer(size), 0
            self.copy_subresource_region(source, 0, 0, 0, 0, buffer, 0, (offset, 0, 0, offset + size, 1, 1))
        mapped = await self.map(source, 0, MapType.READ)
        try:
            return mapped.data[start : start + size].copy().view(dtype)
        finally:
            self.unmap(source, 0)

    async def _kept(self, key: tuple[Any, ...], make: Any) -> Any:
        """A helper resource, made once; the least recently used ones are given up."""
        found = self._helpers.pop(key, None)
        if found is None:
            found = await make()
            while len(self._helpers) >= _KEPT_STAGING:
                self._helpers.pop(next(iter(self._helpers))).release()
        self._helpers[key] = found
        return found

    async def _staging_texture(self, texture: Texture, size: tuple[int, ...]) -> Texture:
        device, form = self.device, texels(texture.format)
        full = (*size, 1, 1)[:3]
        whole = [-(-n // step) * step for n, step in zip(full, (form.across, form.down, 1), strict=True)]
        options: dict[str, Any] = {"format": texture.format, "usage": Usage.STAGING, "bind_flags": 0}
        options["cpu_access_flags"] = CpuAccessFlag.READ

        async def make() -> Texture:
            if texture.dimension == 1:
                return await device.create_texture1d(width=whole[0], **options)
            if texture.dimension == 2:
                return await device.create_texture2d(width=whole[0], height=whole[1], **options)
            return await device.create_texture3d(width=whole[0], height=whole[1], depth=whole[2], **options)

        found: Texture = await self._kept(("read", texture.dimension, *whole, texture.format), make)
        return found

    async def _staging_buffer(self, size: int) -> Buffer:
        room = max(1 << (size - 1).bit_length(), 256) if size > 0 else 256

        async def make() -> Buffer:
            return await self.device.create_buffer(room, usage=Usage.STAGING, cpu_access_flags=CpuAccessFlag.READ)

        found: Buffer = await self._kept(("read buffer", room), make)
        return found

    async def _resolved(self, texture: Texture, subresource: int) -> Texture:
        width, height = texture.size(subresource)

        async def make() -> Texture:
            return await self.device.create_texture2d(width=width, height=height, format=texture.format)

        found: Texture = await self._kept(("resolve", width, height, texture.format), make)
        self.resolve_subresource(found, 0, texture, subresource, texture.format)
        return found

    async def get_data(self, query: Query, flags: int = 0, *, wait: bool = False) -> Any:
        """ID3D11DeviceContext::GetData: None while the result is not there (with ``wait``: wait for it).

        EVENT and predicates: bool. OCCLUSION, TIMESTAMP: int. Others: TimestampDisjoint, PipelineStatistics,
        StreamOutputStatistics.
        """
        reply = await self._call(api.GetData(query=query.id, flags=flags, wait=wait), api.QueryData)
        if not reply.ready:
            return None
        values, kind = reply.values, query.type
        if kind in (QueryType.OCCLUSION, QueryType.TIMESTAMP):
            return values[0]
        if kind is QueryType.TIMESTAMP_DISJOINT:
            return TimestampDisjoint(values[0], bool(values[1]))
        if kind is QueryType.PIPELINE_STATISTICS:
            return PipelineStatistics(*values)
        if kind.name.startswith("SO_STATISTICS"):
            return StreamOutputStatistics(*values)
        return bool(values[0])

    # ----- draws and dispatches --------------------------------------------------------------------------------------------

    def draw(self, vertex_count: int, start_vertex_location: int = 0) -> None:
        """Draw vertices in order."""
        commands = self._commands
        commands.append((c.DRAW, vertex_count, start_vertex_location))
        if len(commands) >= BATCH_COMMANDS:
            self._full()

    def draw_indexed(self, index_count: int, start_index_location: int = 0, base_vertex_location: int = 0) -> None:
        """Draw by index."""
        commands = self._commands
        commands.append((c.DRAW_INDEXED, index_count, start_index_location, base_vertex_location))
        if len(commands) >= BATCH_COMMANDS:
            self._full()

    def draw_instanced(
        self,
        vertex_count_per_instance: int,
        instance_count: int,
        start_vertex_location: int = 0,
        start_instance_location: int = 0,
    ) -> None:
        """Draw instances."""
        self._record(
            c.DRAW_INSTANCED, vertex_count_per_instance, instance_count, start_vertex_location, start_instance_location
        )

    def draw_indexed_instanced(
        self,
        index_count_per_instance: int,
        instance_count: int,
        start_index_location: int = 0,
        base_vertex_location: int = 0,
        start_instance_location: int = 0,
    ) -> None:
        """Draw instances by index."""
        self._record(
            c.DRAW_INDEXED_INSTANCED,
            index_count_per_instance,
            instance_count,
            start_index_location,
            base_vertex_location,
            start_instance_location,
        )

    def draw_auto(self) -> None:
        """Draw what stream output wrote to the buffer bound as vertex buffer 0."""
        self._record(c.DRAW_AUTO)

    def draw_instanced_indirect(self, buffer: Buffer, aligned_byte_offset: int = 0) -> None:
        """draw_instanced with its four arguments in a buffer."""
        self._record(c.DRAW_INSTANCED_INDIRECT, buffer.id, aligned_byte_offset)

    def draw_indexed_instanced_indirect(self, buffer: Buffer, aligned_byte_offset: int = 0) -> None:
        """draw_indexed_instanced with its five arguments in a buffer."""
        self._record(c.DRAW_INDEXED_INSTANCED_INDIRECT, buffer.id, aligned_byte_offset)

    def dispatch(self, thread_group_count_x: int, thread_group_count_y: int = 1, thread_group_count_z: int = 1) -> None:
        """Run the compute shader."""
        self._record(c.DISPATCH, thread_group_count_x, thread_group_count_y, thread_group_count_z)

    def dispatch_indirect(self, buffer: Buffer, aligned_byte_offset: int = 0) -> None:
        """dispatch with its three arguments in a buffer."""
        self._record(c.DISPATCH_INDIRECT, buffer.id, aligned_byte_offset)

    # ----- clears ----------------------------------------------------------------------------------------------------------

    def clear_render_target_view(self, render_target_view: RenderTargetView, color: Sequence[float]) -> None:
        """Fill a view with four numbers."""
        self._record(c.CLEAR_RENDER_TARGET_VIEW, render_target_view.id, tuple(color))

    def clear_depth_stencil_view(
        self, depth_stencil_view: DepthStencilView, clear_flags: int = 3, depth: float = 1.0, stencil: int = 0
    ) -> None:
        """Fill depth and stencil, as ClearFlag says."""
        self._record(c.CLEAR_DEPTH_STENCIL_VIEW, depth_stencil_view.id, clear_flags, depth, stencil)

    def clear_unordered_access_view_uint(self, view: UnorderedAccessView, values: Sequence[int]) -> None:
        """Fill with the low bits of four integers."""
        self._record(c.CLEAR_UNORDERED_ACCESS_VIEW_UINT, view.id, tuple(values))

    def clear_unordered_access_view_float(self, view: UnorderedAccessView, values: Sequence[float]) -> None:
        """Fill with four numbers, converted to the view's format."""
        self._record(c.CLEAR_UNORDERED_ACCESS_VIEW_FLOAT, view.id, tuple(values))

    # ----- copies and updates ----------------------------------------------------------------------------------------------

    def copy_resource(self, dst_resource: Resource, src_resource: Resource) -> None:
        """Copy a whole resource to one of the same kind and size."""
        self._staging(dst_resource)
        self._record(c.COPY_RESOURCE, dst_resource.id, src_resource.id)

    def copy_subresource_region(
        self,
        dst_resource: Resource,
        dst_subresource: int,
        dst_x: int,
        dst_y: int,
        dst_z: int,
        src_resource: Resource,
        src_subresource: int = 0,
        src_box: Sequence[int] | None = None,
    ) -> None:
        """Copy a box (left, top, front, right, bottom, back) of a subresource, or all of it."""
        self._staging(dst_resource)
        self._record(
            c.COPY_SUBRESOURCE_REGION,
            dst_resource.id,
            dst_subresource,
            dst_x,
            dst_y,
            dst_z,
            src_resource.id,
            src_subresource,
            None if src_box is None else tuple(src_box),
        )

    def update_subresource(
        self,
        dst_resource: Resource,
        data: Data,
        dst_subresource: int = 0,
        dst_box: Sequence[int] | None = None,
    ) -> None:
        """Copy packed data (rows of the box one after another) into a resource that is neither dynamic nor staging."""
        array = as_array(data)
        if type(dst_resource) is Buffer and dst_box is None and array.nbytes <= BAND:  # one before every draw: keep it short
            self._record(c.UPDATE_SUBRESOURCE, dst_resource.id, dst_subresource, None, self._place(array), 0, 0)
            return
        row = depth = 0
        size: tuple[int, ...] = (array.nbytes, 1, 1)
        if isinstance(dst_resource, Texture):
            size = (*dst_resource.size(dst_subresource), 1, 1)[:3]
            if dst_box is not None:
                size = _box_size(dst_box)
            row, depth = pitches(dst_resource.format, size[0], size[1])
            if array.nbytes != depth * size[2]:
                raise invalid(f"data: {array.nbytes} bytes of shape {array.shape}, the destination takes {depth * size[2]}")
        box = None if dst_box is None else tuple(dst_box)
        if array.nbytes > BAND:
            self._update_in_bands(dst_resource, dst_subresource, box or (0, 0, 0), size, array, row, depth)
            return
        self._record(c.UPDATE_SUBRESOURCE, dst_resource.id, dst_subresource, box, self._place(array), row, depth)

    def _update_in_bands(
        self,
        resource: Resource,
        subresource: int,
        origin: Sequence[int],
        size: tuple[int, ...],
        array: npt.NDArray[Any],
        row: int,
        depth: int,
    ) -> None:
        """An update that is too big for one message: pieces of a buffer, bands of rows of a texture."""
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        left, top, front = origin[:3]
        if not isinstance(resource, Texture):
            for at in range(0, flat.nbytes, BAND):
                piece = flat[at : at + BAND]
                box = (left + at, 0, 0, left + at + piece.nbytes, 1, 1)
                self._record(c.UPDATE_SUBRESOURCE, resource.id, subresource, box, self._place(piece), 0, 0)
            return
        form = texels(resource.format)
        rows, step = depth // row, max(BAND // row, 1)
        for z in range(size[2]):
            for first in range(0, rows, step):
                count = min(step, rows - first)
                start = z * depth + first * row
                bottom = min(top + (first + count) * form.down, top + size[1])
                box = (left, top + first * form.down, front + z, left + size[0], bottom, front + z + 1)
                piece = flat[start : start + count * row]
                self._record(c.UPDATE_SUBRESOURCE, resource.id, subresource, box, self._place(piece), row, count * row)

    def copy_structure_count(self, dst_buffer: Buffer, dst_aligned_byte_offset: int, src_view: UnorderedAccessView) -> None:
        """Copy the hidden counter of an append or counter view into a buffer."""
        self._staging(dst_buffer)
        self._record(c.COPY_STRUCTURE_COUNT, dst_buffer.id, dst_aligned_byte_offset, src_view.id)

    def resolve_subresource(
        self, dst_resource: Texture, dst_subresource: int, src_resource: Texture, src_subresource: int, format: int
    ) -> None:
        """Resolve a multisampled subresource."""
        self._record(
            c.RESOLVE_SUBRESOURCE, dst_resource.id, dst_subresource, src_resource.id, src_subresource, format
        )

    def generate_mips(self, shader_resource_view: ShaderResourceView) -> None:
        """Make the lower mips of a view of a GENERATE_MIPS resource."""
        self._record(c.GENERATE_MIPS, shader_resource_view.id)

    def set_resource_min_lod(self, resource: Texture, min_lod: float) -> None:
        """Clamp the most detailed level of a RESOURCE_CLAMP texture."""
        self._record(c.SET_RESOURCE_MIN_LOD, resource.id, min_lod)

    # ----- queries ---------------------------------------------------------------------------------------------------------

    def begin(self, query: Query) -> None:
        """Begin a query."""
        self._record(c.BEGIN, query.id)

    def end(self, query: Query) -> None:
        """End a query."""
        self._record(c.END, query.id)

    def set_predication(self, predicate: Query | None, predicate_value: bool = False) -> None:
        """Let later draws, dispatches, clears and copies depend on a predicate."""
        self._record(c.SET_PREDICATION, predicate.id if predicate is not None else 0, predicate_value)
