"""Surfaces and buffers as views describe them: validated, and read and written element by element.

A descriptor that names a format, size, mip or slice that does not exist, or a layout larger than its extent, is refused with
FaultError(BAD_DESCRIPTOR) when it is resolved; after that every offset computed from clamped coordinates lies in the resource.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vgpu.engine import FaultError, Packet
from vgpu.memory import Memory
from wddm.hw.descriptors import View, ViewDimension, ViewFlag
from wddm.hw.formats import FORMATS, Format, FormatInfo
from wddm.hw.interrupts import Fault
from wddm.hw.layout import surface_layout

from . import blocks, formats

Array = npt.NDArray[Any]
_BUFFERS: Final = (ViewDimension.BUFFER, ViewDimension.RAW_BUFFER, ViewDimension.STRUCTURED_BUFFER)


def refuse(why: str) -> FaultError:
    """The fault of a bad descriptor."""
    return FaultError(Fault.BAD_DESCRIPTOR, why)


class Shape:
    """What does not depend on where a texture lies: its view, format and layout by columns (per mip, per slice)."""

    def __init__(self, view: View) -> None:
        self.view = view
        try:
            self.format = Format(view.format)
            info = FORMATS[self.format]
            layout = surface_layout(
                self.format, view.width, view.height, view.depth, view.mips, view.slices, view.samples
            )
        except ValueError as error:
            raise refuse(str(error)) from error
        self.info: FormatInfo = info
        d = view.dimension
        self.volume = d == ViewDimension.TEXTURE3D
        self.cube = d == ViewDimension.TEXTURECUBE
        self.array = bool(view.flags & ViewFlag.ARRAY)
        if d not in (ViewDimension.TEXTURE1D, ViewDimension.TEXTURE2D, ViewDimension.TEXTURE3D, ViewDimension.TEXTURECUBE):
            raise refuse(f"dimension {d.name} where a texture is needed")
        if (d == ViewDimension.TEXTURE1D and view.height != 1) or (not self.volume and view.depth != 1):
            raise refuse(f"{d.name} of {view.width}x{view.height}x{view.depth}")
        if self.volume and view.slices != 1:
            raise refuse("a 3D texture has one slice")
        if view.samples > 1 and d != ViewDimension.TEXTURE2D:
            raise refuse(f"multisampled {d.name}")
        if not 1 <= view.mip_count <= view.mips - view.first_mip:
            raise refuse(f"mips {view.first_mip}+{view.mip_count} of {view.mips}")
        slices = max(1, view.depth >> view.first_mip) if self.volume else view.slices
        if not 1 <= view.slice_count <= slices - view.first_slice:
            raise refuse(f"slices {view.first_slice}+{view.slice_count} of {slices}")
        if self.cube and (view.width != view.height or view.slice_count % 6):
            raise refuse(f"cube of {view.width}x{view.height}, {view.slice_count} slices")
        self.size = layout.size
        self.samples = view.samples
        subs = [[layout[m, s] for m in range(view.mips)] for s in range(view.slices)]
        first = subs[0]
        self.base = np.array([[s.offset for s in row] for row in subs], np.int64)
        self.pitch = np.array([s.row_pitch for s in first], np.int64)
        self.depth_pitch = np.array([s.depth_pitch for s in first], np.int64)
        self.sample_pitch = np.array([s.sample_pitch for s in first], np.int64)
        self.width = np.array([s.width for s in first], np.int64)
        self.height = np.array([s.height for s in first], np.int64)
        self.depth = np.array([s.depth for s in first], np.int64)
        self._subresources = subs

    def place(self, mip: int, layer: int, sample: int) -> tuple[int, int, int, int]:
        """Offset, height, width and row pitch of one plane of the resource. ``layer``: array slice, or depth slice of a volume."""
        sub = self._subresources[0 if self.volume else layer][mip]
        at = sub.offset + sample * sub.sample_pitch + (layer * sub.depth_pitch if self.volume else 0)
        return at, sub.height, sub.width, sub.row_pitch


@lru_cache(maxsize=1024)
def _shape(data: tuple[int, ...]) -> Shape:
    return Shape(unpack_view(data))


def unpack_view(data: tuple[int, ...]) -> View:
    """The view in a packet's data. Raises FaultError(BAD_DESCRIPTOR)."""
    try:
        return View.unpack(data)
    except ValueError as error:
        raise refuse(str(error)) from error


class Texture:
    """A texture view bound to memory. Mips and slices count from the view's first ones."""

    def __init__(self, shape: Shape, data: npt.NDArray[np.uint8]) -> None:
        self.shape = shape
        self.view = shape.view
        self.info = shape.info
        self.mips = shape.view.mip_count
        self.slices = shape.view.slice_count
        self.first_mip, self.first_slice = shape.view.first_mip, shape.view.first_slice
        self._size = shape.info.bytes_per_block
        self._step = {1: 1, 2: 2, 4: 4, 8: 8, 16: 16}.get(self._size, 4)
        whole = data[: len(data) // self._step * self._step]
        self._cells = whole.view(f"V{self._step}" if self._step == 16 else f"u{self._step}")

    def extent(self, mip: Array | int) -> tuple[Array, Array, Array]:
        """Width, height, depth of a mip of the view."""
        m = np.asarray(mip) + self.first_mip
        return self.shape.width[m], self.shape.height[m], self.shape.depth[m]

    def offsets(self, mip: Array | int, layer: Array | int, y: Array | int, x: Array | int, sample: Array | int = 0) -> Array:
        """Byte offsets of elements. ``layer``: array slice, or depth slice of a 3D texture. Coordinates must be inside."""
        s, m = self.shape, np.asarray(mip) + self.first_mip
        if s.volume:
            at = s.base[0, m] + (np.asarray(layer) + self.first_slice) * s.depth_pitch[m]
        else:
            at = s.base[np.asarray(layer) + self.first_slice, m]
        rows = np.asarray(y) // self.info.block * s.pitch[m]
        columns = np.asarray(x) // self.info.block_width * self._size
        out: Array = at + rows + columns + np.asarray(sample) * s.sample_pitch[m]
        return out

    def read_raw(self, offsets: Array) -> formats.Bytes:
        """Elements ``(n, bytes)``."""
        if self._size == 12:
            cells = self._cells[(offsets // 4)[:, None] + np.arange(3)]
        else:
            cells = self._cells[offsets // self._step]
        return np.ascontiguousarray(cells).view(np.uint8).reshape(len(offsets), self._size)

    def write_raw(self, offsets: Array, raw: formats.Bytes) -> None:
        """Elements to memory; of several to one place the last counts."""
        cells = np.ascontiguousarray(raw).view(self._cells.dtype)
        if self._size == 12:
            self._cells[(offsets // 4)[:, None] + np.arange(3)] = cells
        else:
            self._cells[offsets // self._step] = cells[:, 0]

    def read(self, mip: Array | int, layer: Array, y: Array, x: Array, sample: Array | int = 0) -> formats.Words:
        """Colours ``(n, 4)`` of texels."""
        raw = self.read_raw(self.offsets(mip, layer, y, x, sample))
        if self.info.is_block:
            return blocks.decode(self.info, raw, (y & 3) * 4 + (x & 3))
        if self.info.pair:
            return formats.unpack_pair(self.info, raw, x & 1)
        return formats.unpack(self.info, raw)


def surface_bytes(memory: Memory, packet: Packet, *, write: bool) -> npt.NDArray[np.uint8]:
    """The bytes that a binding packet names."""
    address = int(packet["address"])
    if address % 4:
        raise FaultError(Fault.BAD_DESCRIPTOR, "a surface begins at a multiple of four bytes", address=address)
    return memory.view(address, int(packet["extent"]), write=write)


def texture(memory: Memory, packet: Packet, *, write: bool = False, whole_depth: bool = False) -> Texture:
    """The texture that a binding packet describes. ``whole_depth``: a view that sees all depth slices of a 3D texture."""
    shape = _shape(tuple(packet["data"].tolist()))
    extent = int(packet["extent"])
    if shape.size > extent:
        raise refuse(f"layout of {shape.size} bytes in an extent of {extent}")
    bound = Texture(shape, surface_bytes(memory, packet, write=write))
    if whole_depth and shape.volume:
        bound.first_slice, bound.slices = 0, shape.view.depth
    return bound


class Buffer:
    """A buffer view: typed elements, dwords (raw) or structures. ``count`` elements, ``stride`` bytes apart."""

    def __init__(self, view: View, data: npt.NDArray[np.uint8]) -> None:
        self.view = view
        first, count = view.height, view.width
        if view.dimension == ViewDimension.BUFFER:
            try:
                self.info = FORMATS[Format(view.format)]
            except ValueError as error:
                raise refuse(f"format {view.format}") from error
            if not self.info.channels or self.info.is_block:
                raise refuse(f"buffer of {self.info.format.name}")
            self.stride = self.info.bytes_per_block
        elif view.dimension == ViewDimension.RAW_BUFFER:
            self.stride = 4
        else:
            self.stride = view.stride
            if self.stride % 4 or not 0 < self.stride <= 2048:
                raise refuse(f"structures of {self.stride} bytes")
        if (first + count) * self.stride > len(data):
            raise refuse(f"elements {first}+{count} of {self.stride} bytes in an extent of {len(data)}")
        self.count = count
        self.data = data[first * self.stride : (first + count) * self.stride]
        self.dwords = self.data.view(np.uint32) if self.stride % 4 == 0 else np.zeros(0, np.uint32)

    def read(self, index: Array) -> formats.Words:
        """Typed elements as colours ``(n, 4)``; indices must be inside."""
        raw = self.data.reshape(-1, self.stride)[index]
        return formats.unpack(self.info, raw)

    def write(self, index: Array, colors: formats.Words) -> None:
        """Typed elements; of several to one place the last counts."""
        self.data.reshape(-1, self.stride)[index] = formats.pack(self.info, colors)


def bind(memory: Memory, packet: Packet, *, write: bool = False) -> Texture | Buffer:
    """What a SET_RESOURCE packet describes, or with ``write`` a SET_UAV packet."""
    data = tuple(packet["data"].tolist())
    if data[3] >> 8 & 0xFF in _BUFFERS:
        return Buffer(unpack_view(data), surface_bytes(memory, packet, write=write))
    return texture(memory, packet, write=write, whole_depth=not write)
