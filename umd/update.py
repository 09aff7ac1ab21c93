"""Updates from the application's memory: constant buffers by renaming, everything else through the upload ring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umd.command_buffer import HEAD_STRUCT, packet
from umd.copy import set_surface
from umd.core import Core, Pending
from umd.emit import slot_id
from umd.errors import DeviceError
from umd.placement import leave_home, settle_in
from umd.resource import BIND, Resource, ResourceFunctions
from umd.upload import CHUNK_SIZE, Later, as_bytes, copy_rows
from umd.view import pack, whole
from wddm.ddi.d3d10umddi import D3D10_DDI_BOX
from wddm.hw.descriptors import View as Descriptor
from wddm.hw.formats import FORMATS, Format
from wddm.hw.layout import surface_layout
from wddm.hw.packets import Op

_HEAD = HEAD_STRUCT.pack


class UpdateFunctions:
    """Entries that update subresources."""

    def __init__(self, core: Core, resources: ResourceFunctions) -> None:
        self.core = core
        self.resources = resources

    def DefaultConstantBufferUpdateSubresourceUP(
        self,
        hDevice: int,
        hDst: int,
        DstSubresource: int,
        pDstBox: D3D10_DDI_BOX | None,
        pSysMemUP: Any,
        RowPitch: int,
        DepthPitch: int,
        CopyFlags: int = 0,
    ) -> Pending:
        r = self.resources.resources.get(hDst)
        if r is None or not r.renamed or pDstBox is not None:
            return self.ResourceUpdateSubresourceUP(
                hDevice, hDst, DstSubresource, pDstBox, pSysMemUP, RowPitch, DepthPitch, CopyFlags
            )
        core = self.core
        size = r.size
        chunk = core.ring.chunk
        if chunk is not None:
            offset = (chunk.used + 63) & -64
            end = offset + size
            if end <= CHUNK_SIZE:
                data = pSysMemUP if type(pSysMemUP) is bytes else as_bytes(pSysMemUP).data
                if len(data) < size:
                    raise DeviceError.invalid(f"{len(data)} bytes for a buffer of {size}")
                chunk.view[offset:end] = data if len(data) == size else data[:size]
                chunk.used = end
                settle_in(core, r, chunk, offset)
                return None
        return self._update_renamed(r, 0, size, pSysMemUP)

    def ResourceUpdateSubresourceUP(
        self,
        hDevice: int,
        hDst: int,
        DstSubresource: int,
        pDstBox: D3D10_DDI_BOX | None,
        pSysMemUP: Any,
        RowPitch: int,
        DepthPitch: int,
        CopyFlags: int = 0,
    ) -> Pending:
        r = self.resources.get(hDst)
        if r.layout is not None:
            return self._update_texture(r, DstSubresource, pDstBox, pSysMemUP, RowPitch, DepthPitch)
        first, end = (0, r.size) if pDstBox is None else (pDstBox.left, pDstBox.right)
        if not 0 <= first <= end <= r.size:
            raise DeviceError.invalid(f"update of bytes {first} to {end} of a buffer of {r.size}")
        if first == end:
            return None
        whole_constants = r.bind & BIND.CONSTANT_BUFFER and first == 0 and end == r.size
        if whole_constants and not r.renamed and r.allocation is not None and not r.shared:
            leave_home(self.core, r)
        if r.renamed:
            return self._update_renamed(r, first, end, pSysMemUP)
        return self._update_buffer(r, first, end, pSysMemUP)

    def _update_renamed(self, r: Resource, first: int, end: int, source: Any) -> Pending:
        """A fresh slice with the old content around the new."""
        core = self.core
        data = as_bytes(source)
        if data.nbytes < end - first:
            raise DeviceError.invalid(f"{data.nbytes} bytes for an update of {end - first}")

        def rename() -> None:
            chunk, offset = core.ring.take(r.size)
            if end - first < r.size:
                if r.allocation is not None:
                    assert r.allocation.view is not None
                    old: Any = r.allocation.view[r.offset : r.offset + r.size]
                else:
                    old = r.saved if r.saved is not None else bytes(r.size)
                chunk.view[offset : offset + r.size] = old
            chunk.array[offset + first : offset + end] = data[: end - first]
            settle_in(core, r, chunk, offset)

        try:
            rename()
        except Later:
            return core.retry(rename)
        return None

    def _update_buffer(self, r: Resource, first: int, end: int, source: Any) -> Pending:
        data = as_bytes(source)
        size = end - first
        if data.nbytes < size:
            raise DeviceError.invalid(f"{data.nbytes} bytes for an update of {size}")
        core = self.core
        if size <= 32:
            inline = packet(Op.UPDATE_INLINE, extent=size, data=data[:size].tobytes())
            return core.perform(
                lambda: core.batch.add_at(inline, slot_id(Op.UPDATE_INLINE, 0), r.placed, r.offset + first, True)
            )
        if size <= CHUNK_SIZE:
            return core.perform(lambda: core.stage(r.placed, r.offset + first, data[:size]))
        return self._update_large(r, first, data[:size])

    async def _update_large(self, r: Resource, first: int, data: Any) -> None:
        core = self.core
        for at in range(0, data.nbytes, CHUNK_SIZE):
            piece = data[at : at + CHUNK_SIZE]
            pending = core.perform(
                lambda piece=piece, at=at: core.stage(r.placed, r.offset + first + at, piece)  # type: ignore[misc]
            )
            if pending is not None:
                await pending

    def _update_texture(
        self, r: Resource, subresource: int, box: D3D10_DDI_BOX | None, source: Any, row_pitch: int, depth_pitch: int
    ) -> Pending:
        assert r.layout is not None
        mip, array_slice = r.subresource(subresource)
        part = r.layout[mip, array_slice]
        if box is None:
            box = D3D10_DDI_BOX(0, 0, 0, part.width, part.height, part.depth)
        width, height, depth = box.right - box.left, box.bottom - box.top, box.back - box.front
        inside = box.left >= 0 and box.top >= 0 and box.front >= 0
        if not inside or box.right > part.width or box.bottom > part.height or box.back > part.depth:
            raise DeviceError.invalid(f"update box outside of a subresource of {part.width}x{part.height}x{part.depth}")
        if width <= 0 or height <= 0 or depth <= 0:
            return None
        if r.samples > 1:
            raise DeviceError.invalid("update of a multisampled texture")
        info = FORMATS[Format(r.format)]
        layout = surface_layout(Format(r.format), width, height, depth)
        piece = layout.subresources[0]
        row_bytes = (width + info.block_width - 1) // info.block_width * info.bytes_per_block
        data = as_bytes(source)
        need = (depth - 1) * depth_pitch + (piece.rows - 1) * row_pitch + row_bytes
        if need > data.nbytes:
            raise DeviceError.invalid(f"{data.nbytes} bytes for an update that reads {need}")
        if width == part.width and depth == 1:
            at = part.offset + box.front * part.depth_pitch + box.top // info.block * part.row_pitch
            return self._update_rows(r, at, part.row_pitch, data, row_pitch, row_bytes, piece.rows)
        size = layout.size
        if size > CHUNK_SIZE:
            return self._update_texture_in_pieces(r, subresource, box, data, row_pitch, depth_pitch)
        core = self.core
        surface = pack(Descriptor(whole(r).dimension, r.format, width, height, depth, slice_count=depth))
        copy = packet(
            Op.COPY_REGION,
            data=(mip | array_slice << 16, box.left | box.top << 16, box.front, 0, 0, depth << 16, width | height << 16, 1),
        )

        def record() -> None:
            chunk, offset = core.ring.take(size, 256)
            copy_rows(
                chunk.array, offset, piece.row_pitch, piece.depth_pitch, data, row_pitch, depth_pitch, row_bytes, piece.rows, depth
            )  # fmt: skip
            set_surface(core, 0, r, whole(r))
            head = _HEAD(Op.SET_SURFACE, 1, size, 0, 0, 0, 0) + surface
            core.batch.add_at(head, slot_id(Op.SET_SURFACE, 1), chunk.allocation, offset)
            core.batch.add(copy)

        return core.perform(record)

    def _update_rows(
        self, r: Resource, at: int, row_pitch: int, data: Any, source_pitch: int, row_bytes: int, rows: int
    ) -> Pending:
        """Whole rows lie together in memory: a copy of bytes, what is between rows included."""
        core, most = self.core, max(CHUNK_SIZE // row_pitch, 1)

        def record(first: int, count: int) -> Pending:
            size = (count - 1) * row_pitch + row_bytes
            copy = packet(Op.COPY_BUFFER, extent=size, extent2=size)

            def put() -> None:
                chunk, offset = core.ring.take(size)
                copy_rows(
                    chunk.array, offset, row_pitch, 0, data[first * source_pitch :], source_pitch, 0, row_bytes, count, 1
                )
                core.batch.add_at(copy, slot_id(Op.COPY_BUFFER, 0), r.placed, r.offset + at + first * row_pitch, True)
                core.batch.patch_second(slot_id(Op.COPY_BUFFER, 0, 1), chunk.allocation, offset)

            return core.perform(put)

        for first in range(0, rows, most):
            pending = record(first, min(most, rows - first))
            if pending is not None:
                return self._rows_later(pending, record, range(first + most, rows, most), most, rows)
        return None

    @staticmethod
    async def _rows_later(
        pending: Any, record: Callable[[int, int], Pending], firsts: range, most: int, rows: int
    ) -> None:
        await pending
        for first in firsts:
            following = record(first, min(most, rows - first))
            if following is not None:
                await following

    async def _update_texture_in_pieces(
        self, r: Resource, subresource: int, box: D3D10_DDI_BOX, data: Any, row_pitch: int, depth_pitch: int
    ) -> None:
        """Cut the box into rows of blocks (or depth slices) that fit the ring."""
        info = FORMATS[Format(r.format)]
        width = box.right - box.left
        row = surface_layout(Format(r.format), width, info.block).size
        rows = max(1, CHUNK_SIZE // 2 // row) * info.block
        for z in range(box.front, box.back):
            for top in range(box.top, box.bottom, rows):
                bottom = min(top + rows, box.bottom)
                at = (z - box.front) * depth_pitch + (top - box.top) // info.block * row_pitch
                piece = D3D10_DDI_BOX(box.left, top, z, box.right, bottom, z + 1)
                pending = self._update_texture(r, subresource, piece, data[at:], row_pitch, depth_pitch)
                if pending is not None:
                    await pending
