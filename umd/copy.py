"""Copies, updates, clears, resolves, mip generation: the packets that move and fill memory without the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from umd.command_buffer import HEAD_STRUCT, packet
from umd.core import Core, Pending
from umd.errors import DeviceError
from umd.pipeline import slot_id
from umd.resource import Resource, ResourceFunctions, give_home, leave_home, place, settle_in, stage_copy
from umd.upload import CHUNK_SIZE, Later, as_bytes, copy_rows
from umd.view import View, ViewFunctions, pack, single, whole
from wddm.ddi.d3d10umddi import D3D10_DDI_BOX, D3D11DDI_HANDLETYPE
from wddm.ddi.status import HRESULT
from wddm.hw.descriptors import View as Descriptor
from wddm.hw.descriptors import ViewDimension, float_bits
from wddm.hw.formats import FORMATS, Format
from wddm.hw.layout import surface_layout
from wddm.hw.packets import ClearKind, Op

_HEAD = HEAD_STRUCT.pack
#: Whole elements of this many bytes, for copies between formats of one element size.
_ELEMENTS = {8: Format.R32G32_UINT, 16: Format.R32G32B32A32_UINT}


def set_surface(core: Core, slot: int, r: Resource, descriptor: Descriptor) -> None:
    """Record: surface 0 (written) or 1 (read) of the copies that follow."""
    data = _HEAD(Op.SET_SURFACE, slot, r.size, 0, 0, 0, 0) + pack(descriptor)
    core.batch.add_at(data, slot_id(Op.SET_SURFACE, slot), place(core, r), r.offset, slot == 0)


def copy_bytes(core: Core, target: Resource, at: int, source: Resource, source_at: int, size: int) -> None:
    """Record a copy between buffers (or equal layouts). Raises Later."""
    data = packet(Op.COPY_BUFFER, extent=size, extent2=size)
    core.batch.add_at(data, slot_id(Op.COPY_BUFFER, 0), place(core, target), target.offset + at, True)
    core.batch.patch_second(slot_id(Op.COPY_BUFFER, 0, 1), place(core, source), source.offset + source_at)


class CopyFunctions:
    """Entries that copy, update and clear."""

    def __init__(self, core: Core, resources: ResourceFunctions, views: ViewFunctions) -> None:
        self.core = core
        self.resources = resources
        self.views = views

    def _write(self, r: Resource, record: Callable[[], None]) -> Pending:
        """Perform what writes ``r``; a renamed buffer first gets a place that the GPU may write."""
        if r.renamed:
            return self._write_later(r, record)
        return self.core.perform(record)

    async def _write_later(self, r: Resource, record: Callable[[], None]) -> None:
        await give_home(self.core, r)
        pending = self.core.perform(record)
        if pending is not None:
            await pending

    # --- updates -------------------------------------------------------------------------------------------------------
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
        if not r.renamed and r.bind & 4 and first == 0 and end == r.size and r.allocation is not None and not r.shared:
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
            return core.perform(lambda: stage_copy(core, r.placed, r.offset + first, data[:size]))
        return self._update_large(r, first, data[:size])

    async def _update_large(self, r: Resource, first: int, data: Any) -> None:
        core = self.core
        for at in range(0, data.nbytes, CHUNK_SIZE):
            piece = data[at : at + CHUNK_SIZE]
            pending = core.perform(
                lambda piece=piece, at=at: stage_copy(core, r.placed, r.offset + first + at, piece)  # type: ignore[misc]
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

    # --- copies --------------------------------------------------------------------------------------------------------
    def ResourceCopy(self, hDevice: int, hDst: int, hSrc: int) -> Pending:
        target, source = self.resources.get(hDst), self.resources.get(hSrc)
        if (target.layout is None) != (source.layout is None):
            raise DeviceError.invalid("copy between a buffer and a texture")
        if target.layout is not None and source.layout is not None:
            same = [(s.offset, s.row_pitch, s.rows, s.size) for s in target.layout.subresources] == [
                (s.offset, s.row_pitch, s.rows, s.size) for s in source.layout.subresources
            ]
            if not same:
                raise DeviceError.invalid("copy between textures of different shape")
        size = min(target.size, source.size)
        core = self.core
        return self._write(target, lambda: copy_bytes(core, target, 0, source, 0, size))

    ResourceConvert = ResourceCopy

    def ResourceCopyRegion(
        self,
        hDevice: int,
        hDst: int,
        DstSubresource: int,
        DstX: int,
        DstY: int,
        DstZ: int,
        hSrc: int,
        SrcSubresource: int,
        pSrcBox: D3D10_DDI_BOX | None,
        CopyFlags: int = 0,
    ) -> Pending:
        target, source = self.resources.get(hDst), self.resources.get(hSrc)
        core = self.core
        if target.layout is None or source.layout is None:
            if target.layout is not source.layout:
                raise DeviceError.invalid("copy between a buffer and a texture")
            first, end = (0, source.size) if pSrcBox is None else (pSrcBox.left, pSrcBox.right)
            end = min(end, source.size, first + target.size - DstX)
            if end <= first:
                return None
            return self._write(target, lambda: copy_bytes(core, target, DstX, source, first, end - first))
        part = source.layout[source.subresource(SrcSubresource)]
        box = pSrcBox or D3D10_DDI_BOX(0, 0, 0, part.width, part.height, part.depth)
        if box.right <= box.left or box.bottom <= box.top or box.back <= box.front:
            return None
        goal = target.layout[target.subresource(DstSubresource)]
        if source.samples > 1 or target.samples > 1:
            if part.size != goal.size or source.samples != target.samples:
                raise DeviceError.invalid("multisampled subresources are copied whole, between equal shapes")
            return self._write(target, lambda: copy_bytes(core, target, goal.offset, source, part.offset, part.size))
        return core.perform(
            lambda: _copy_region(core, target, DstSubresource, (DstX, DstY, DstZ), source, SrcSubresource, box)
        )

    ResourceConvertRegion = ResourceCopyRegion

    def CopyStructureCount(self, hDevice: int, hDst: int, DstOffset: int, hSrcView: int) -> Pending:
        target = self.resources.get(hDst)
        view = self.views.unordered.get(hSrcView)
        if view is None or view.counter is None:
            raise DeviceError.invalid("a view without a counter")
        if DstOffset % 4 or DstOffset + 4 > target.size:
            raise DeviceError.invalid(f"counter to byte {DstOffset} of a buffer of {target.size}")
        core, counter = self.core, view.counter

        def record() -> None:
            data = packet(Op.COPY_BUFFER, extent=4, extent2=4)
            core.batch.add_at(data, slot_id(Op.COPY_BUFFER, 0), place(core, target), target.offset + DstOffset, True)
            core.batch.patch_second(slot_id(Op.COPY_BUFFER, 0, 1), counter.allocation, counter.offset)

        return self._write(target, record)

    def ResourceResolveSubresource(
        self, hDevice: int, hDst: int, DstSubresource: int, hSrc: int, SrcSubresource: int, ResolveFormat: int
    ) -> Pending:
        target, source = self.resources.get(hDst), self.resources.get(hSrc)
        format = int(ResolveFormat)
        core = self.core

        def record() -> None:
            set_surface(core, 0, target, single(target, DstSubresource, format))
            set_surface(core, 1, source, single(source, SrcSubresource, format))
            core.batch.add(packet(Op.RESOLVE, arg=format))

        return core.perform(record)

    # --- clears --------------------------------------------------------------------------------------------------------
    def _clear(self, view: View, data: tuple[int, ...], kind: int) -> Pending:
        core = self.core

        def record() -> None:
            set_surface(core, 0, view.resource, view.descriptor)
            core.batch.add(packet(Op.CLEAR_COLOR, arg=kind, data=data))

        return core.perform(record)

    def ClearRenderTargetView(self, hDevice: int, hView: int, ColorRGBA: Sequence[float]) -> Pending:
        view = self.views.render_targets.get(hView)
        if view is None:
            raise DeviceError.invalid(f"no render target view {hView:#x}")
        return self._clear(view, tuple(float_bits(c) for c in ColorRGBA), ClearKind.FLOAT)

    def ClearDepthStencilView(self, hDevice: int, hView: int, Flags: int, Depth: float, Stencil: int) -> Pending:
        view = self.views.depth_stencils.get(hView)
        if view is None:
            raise DeviceError.invalid(f"no depth stencil view {hView:#x}")
        core = self.core

        def record() -> None:
            set_surface(core, 0, view.resource, view.descriptor)
            core.batch.add(packet(Op.CLEAR_DEPTH_STENCIL, arg=int(Flags) & 3, data=(float_bits(Depth), Stencil & 0xFF)))

        return core.perform(record)

    def ClearUnorderedAccessViewUint(self, hDevice: int, hView: int, Values: Sequence[int]) -> Pending:
        view = self._unordered(hView)
        words = tuple(v & 0xFFFFFFFF for v in Values)
        descriptor = view.descriptor
        if descriptor.dimension not in (ViewDimension.RAW_BUFFER, ViewDimension.STRUCTURED_BUFFER):
            return self._clear(view, words, ClearKind.UINT)
        # Raw and structured views are filled dword by dword with the first value.
        r, core = view.resource, self.core
        unit = descriptor.stride or 4
        first = descriptor.height * unit
        size = min(descriptor.width * unit, r.size - first) & -4
        if size <= 0:
            return None
        data = packet(Op.FILL_BUFFER, extent=size, data=words[:1])
        return core.perform(
            lambda: core.batch.add_at(data, slot_id(Op.FILL_BUFFER, 0), r.placed, r.offset + first, True)
        )

    def ClearUnorderedAccessViewFloat(self, hDevice: int, hView: int, Values: Sequence[float]) -> Pending:
        view = self._unordered(hView)
        return self._clear(view, tuple(float_bits(v) for v in Values), ClearKind.FLOAT)

    def _unordered(self, hView: int) -> View:
        view = self.views.unordered.get(hView)
        if view is None:
            raise DeviceError.invalid(f"no unordered access view {hView:#x}")
        return view

    def ClearView(
        self, hDevice: int, HandleType: int, hView: int, Color: Sequence[float], pRects: Sequence[Any], NumRects: int
    ) -> Pending:
        """11.1: rectangles of a render target or of a typed unordered access view; without rectangles all of it."""
        if HandleType == D3D11DDI_HANDLETYPE.RENDERTARGETVIEW:
            view = self.views.render_targets.get(hView)
        else:
            view = self.views.unordered.get(hView)
        if view is None:
            raise DeviceError.invalid(f"no view {hView:#x} of kind {HandleType}")
        color = tuple(float_bits(c) for c in Color)
        if not NumRects:
            return self._clear(view, color, ClearKind.FLOAT)
        core, shown = self.core, view
        boxes = [
            tuple(max(0, v) for v in (r.left, r.top, r.right, r.bottom))
            for r in pRects[:NumRects]
            if r.right > max(0, r.left) and r.bottom > max(0, r.top)
        ]

        def record() -> None:
            set_surface(core, 0, shown.resource, shown.descriptor)
            for box in boxes:
                core.batch.add(packet(Op.CLEAR_COLOR, arg=ClearKind.RECTANGLE, data=(*color, *box)))

        return core.perform(record) if boxes else None

    def Discard(self, hDevice: int, HandleType: int, h: int, pRects: Sequence[Any], NumRects: int) -> None:
        """11.1: the content may become anything, so keeping it is right."""

    def GenMips(self, hDevice: int, hView: int) -> Pending:
        view = self.views.shader_resources.get(hView)
        if view is None or view.resource.layout is None:
            raise DeviceError(HRESULT.E_INVALIDARG, "mips are generated through a view of a texture")
        core = self.core

        def record() -> None:
            set_surface(core, 0, view.resource, view.descriptor)
            core.batch.add(packet(Op.GENERATE_MIPS))

        return core.perform(record)


def _element_surface(r: Resource, subresource: int) -> tuple[Descriptor, int]:
    """One subresource as a plain 2D surface of whole elements (blocks), and its byte offset."""
    assert r.layout is not None
    info = FORMATS[Format(r.format)]
    part = r.layout[r.subresource(subresource)]
    format = _ELEMENTS.get(info.bytes_per_block)
    if format is None:
        raise DeviceError.invalid(f"copy of elements of {info.bytes_per_block} bytes between unlike formats")
    width = (part.width + info.block_width - 1) // info.block_width
    return Descriptor(ViewDimension.TEXTURE2D, format, width, part.rows), part.offset


def _copy_region(
    core: Core,
    target: Resource,
    target_subresource: int,
    at: tuple[int, int, int],
    source: Resource,
    source_subresource: int,
    box: D3D10_DDI_BOX,
) -> None:
    """Record a COPY_REGION. Raises Later."""
    x, y, z = at
    width, height, depth = box.right - box.left, box.bottom - box.top, box.back - box.front
    one, other = FORMATS[Format(target.format)], FORMATS[Format(source.format)]
    if one.block != other.block:
        # Between compressed and uncompressed formats of one element size: both as surfaces of elements.
        for slot, r, index in ((0, target, target_subresource), (1, source, source_subresource)):
            descriptor, offset = _element_surface(r, index)
            data = _HEAD(Op.SET_SURFACE, slot, r.size - offset, 0, 0, 0, 0) + pack(descriptor)
            core.batch.add_at(data, slot_id(Op.SET_SURFACE, slot), place(core, r), r.offset + offset, slot == 0)
        block = other.block
        words = (
            0,
            x // one.block | y // one.block << 16,
            0,
            0,
            box.left // block | box.top // block << 16,
            1 << 16,
            (width + block - 1) // block | (height + block - 1) // block << 16,
            1,
        )
        core.batch.add(packet(Op.COPY_REGION, data=words))
        return
    set_surface(core, 0, target, whole(target))
    set_surface(core, 1, source, whole(source))
    target_mip, target_slice = target.subresource(target_subresource)
    source_mip, source_slice = source.subresource(source_subresource)
    words = (
        target_mip | target_slice << 16,
        x | y << 16,
        z,
        source_mip | source_slice << 16,
        box.left | box.top << 16,
        box.front | depth << 16,
        width | height << 16,
        1,
    )
    core.batch.add(packet(Op.COPY_REGION, data=words))
