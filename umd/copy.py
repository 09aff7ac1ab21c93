"""Copies, resolves, mip generation: the packets that move memory without the pipeline."""

from __future__ import annotations

from collections.abc import Callable

from umd.command_buffer import HEAD_STRUCT, packet
from umd.core import Core, Pending
from umd.emit import slot_id
from umd.errors import DeviceError
from umd.placement import give_home, place
from umd.resource import Resource, ResourceFunctions
from umd.view import ViewFunctions, pack, single, whole
from wddm.ddi.d3d10umddi import D3D10_DDI_BOX
from wddm.ddi.status import HRESULT
from wddm.hw.descriptors import View as Descriptor
from wddm.hw.descriptors import ViewDimension
from wddm.hw.formats import FORMATS, Format
from wddm.hw.packets import Op

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
    """Entries that copy."""

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
