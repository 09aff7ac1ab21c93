"""Clears, copies, resolves, mip generation and blits between surfaces.

Surfaces are the views in SET_SURFACE 0 (destination) and 1 (source). Boxes that reach out of a surface are refused with BAD_PACKET.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from vgpu.engine import FaultError, Packet, PipelineState
from vgpu.memory import Memory
from wddm.hw.descriptors import ViewDimension, bits_float
from wddm.hw.formats import FORMATS, Format, FormatInfo, NumberType
from wddm.hw.interrupts import Fault
from wddm.hw.packets import Blt, ClearKind, CopyRegion, Op

from . import arithmetic, formats
from .bindings import packet
from .surface import Buffer, Texture, bind, refuse, texture

Array = npt.NDArray[Any]
_ROWS = 64  #: rows of a blit in hand at once
_TEXELS = 1 << 20  #: texels of an average in hand at once


def _bad(why: str) -> FaultError:
    return FaultError(Fault.BAD_PACKET, why)


def _surface(
    memory: Memory, state: PipelineState, slot: int, *, write: bool = False, whole_depth: bool = False
) -> Texture:
    bound = packet(state, Op.SET_SURFACE, slot)
    if bound is None:
        raise FaultError(Fault.PIPELINE, f"no surface {slot}")
    return texture(memory, bound, write=write, whole_depth=whole_depth)


def byte_rows(t: Texture, mip: int, layer: int, sample: int = 0) -> Array:
    """One 2D plane as a view of memory, ``(rows of elements, bytes)``."""
    s, m = t.shape, mip + t.first_mip
    at, height, width, pitch = s.place(m, layer + t.first_slice, sample)
    rows, columns = -(-height // t.info.block), -(-width // t.info.block_width)
    whole = t._cells.view(np.uint8)[at : at + rows * pitch].reshape(rows, pitch)
    return whole[:, : columns * t.info.bytes_per_block]


def plane(t: Texture, mip: int, layer: int, sample: int = 0) -> Array:
    """One 2D plane of elements as a view of memory, ``(rows, columns, bytes)``."""
    rows = byte_rows(t, mip, layer, sample)
    return rows.reshape(len(rows), -1, t.info.bytes_per_block)


def layers(t: Texture, mip: int) -> int:
    """Array slices, or depth slices of a mip of a 3D texture, that a view sees."""
    if not t.shape.volume:
        return t.slices
    return max(0, min(t.slices, int(t.extent(mip)[2]) - t.first_slice))


# --- clears -------------------------------------------------------------------------------------------------------------


def element(info: FormatInfo, kind: int, data: list[int]) -> Array:
    """The bytes of one element: ``data`` are float bits, or integers."""
    words = np.array([data[:4]], np.uint32)
    if kind & ClearKind.UINT:
        out = np.zeros((1, (info.bytes_per_block + 3) // 4), np.uint32)
        for c in info.channels:
            out[0, c.shift // 32] |= (words[0, c.component] & np.uint32((1 << c.bits) - 1)) << np.uint32(c.shift % 32)
        return out.view(np.uint8)[0, : info.bytes_per_block]
    if info.is_integer:
        convert = arithmetic.to_signed if info.type == NumberType.SINT else arithmetic.to_unsigned
        words = convert(words.view(np.float32))
    result: Array = formats.pack(info, words)[0]
    return result


def clear_color(memory: Memory, state: PipelineState, p: Packet) -> None:
    """CLEAR_COLOR."""
    kind, data = int(p["arg"]), p["data"].tolist()
    if kind & ~int(ClearKind.UINT | ClearKind.RECTANGLE):
        raise _bad(f"clear kind {kind}")
    bound = packet(state, Op.SET_SURFACE, 0)
    if bound is None:
        raise FaultError(Fault.PIPELINE, "no surface 0")
    target = bind(memory, bound, write=True)
    if isinstance(target, Buffer):
        if target.view.dimension == ViewDimension.BUFFER:
            cells = target.data.reshape(-1, target.stride)
            cells[_range(kind, data, len(cells))] = element(target.info, kind, data)
        else:
            words = target.data.view(np.uint32)
            words[_range(kind, data, len(words))] = data[0]
        return
    if target.info.is_block or target.info.pair or not target.info.channels:
        raise refuse(f"clear of {target.info.format.name}")
    value = element(target.info, kind, data)
    for mip in range(target.mips):
        for layer in range(layers(target, mip)):
            for sample in range(target.shape.samples):
                cells = plane(target, mip, layer, sample)
                if kind & ClearKind.RECTANGLE:
                    left, top, right, bottom = (_signed(v) for v in data[4:8])
                    cells = cells[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
                _fill(cells, value)


def _range(kind: int, data: list[int], count: int) -> slice:
    return slice(max(_signed(data[4]), 0), max(_signed(data[6]), 0)) if kind & ClearKind.RECTANGLE else slice(0, count)


def _fill(cells: Array, element: Array) -> None:
    """All elements of a strided plane, by the widest moves that fit."""
    size = len(element)
    if size in (2, 4, 8):
        cells.view(f"u{size}")[:] = element.view(f"u{size}")[0]
    else:
        cells[:] = element


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def depth_stencil_bits(info: FormatInfo, arg: int, depth: int, stencil: int) -> tuple[int, int]:
    """What a clear keeps of an element, and the bits that it sets. ``depth``: bits of a float."""
    keep = value = 0
    z = np.array([bits_float(depth)], np.float32)
    assert info.depth is not None
    planes = [(info.depth, arg & 1, int(formats.depth_to_bits(z, info.depth)[0])), (info.stencil, arg & 2, stencil & 0xFF)]
    for channel, cleared, bits in planes:
        if channel is not None:
            if cleared:
                value |= bits << channel.shift
            else:
                keep |= ((1 << channel.bits) - 1) << channel.shift
    return keep, value


def clear_depth_stencil(memory: Memory, state: PipelineState, p: Packet) -> None:
    """CLEAR_DEPTH_STENCIL."""
    arg = int(p["arg"])
    if arg & ~3:
        raise _bad(f"clear depth-stencil flags {arg}")
    target = _surface(memory, state, 0, write=True)
    info = target.info
    if info.depth is None:
        raise refuse(f"depth-stencil clear of {info.format.name}")
    keep, value = depth_stencil_bits(info, arg, int(p["data"][0]), int(p["data"][1]))
    size = info.bytes_per_block
    kept, new = (np.frombuffer(v.to_bytes(size, "little"), f"u{size}")[0] for v in (keep, value))
    for mip in range(target.mips):
        for layer in range(layers(target, mip)):
            for sample in range(target.shape.samples):
                cells = plane(target, mip, layer, sample).view(f"u{size}")
                cells[:] = (cells & kept | new) if keep else new


# --- copies -------------------------------------------------------------------------------------------------------------


def copy_region(memory: Memory, state: PipelineState, p: Packet) -> None:
    """COPY_REGION."""
    for to, from_ in regions(memory, state, p):
        to[:] = from_


def regions(memory: Memory, state: PipelineState, p: Packet) -> Iterator[tuple[Array, Array]]:
    """Destination and source of COPY_REGION plane by plane, ``(rows, bytes)``.

    Depth slices of 3D textures are counted in the texture, not in the view.
    """
    target = _surface(memory, state, 0, write=True, whole_depth=True)
    source = _surface(memory, state, 1, whole_depth=True)
    d = p["data"].tolist()
    if target.info.bytes_per_block != source.info.bytes_per_block or target.shape.samples != source.shape.samples:
        names = [f"{t.info.format.name} x{t.shape.samples}" for t in (source, target)]
        raise _bad(f"copy from {names[0]} to {names[1]}")
    width, height = d[CopyRegion.SIZE_WH] & 0xFFFF, d[CopyRegion.SIZE_WH] >> 16
    source_z, depth = d[CopyRegion.SRC_Z] & 0xFFFF, d[CopyRegion.SRC_Z] >> 16
    count = max(depth, 1) if source.shape.volume else max(d[CopyRegion.SLICES], 1)
    if target.shape.volume and not source.shape.volume:
        count = max(d[CopyRegion.SLICES], depth, 1)
    box, size = (-(-width // source.info.block_width), -(-height // source.info.block)), source.info.bytes_per_block
    to = _box(target, d[CopyRegion.DST_SUBRESOURCE], d[CopyRegion.DST_XY], d[CopyRegion.DST_Z], box, count)
    from_ = _box(source, d[CopyRegion.SRC_SUBRESOURCE], d[CopyRegion.SRC_XY], source_z, box, count)
    for i in range(count):
        for sample in range(source.shape.samples):
            yield (
                byte_rows(target, to[0], to[1] + i, sample)[to[3] : to[3] + box[1], to[2] * size : (to[2] + box[0]) * size],
                byte_rows(source, from_[0], from_[1] + i, sample)[
                    from_[3] : from_[3] + box[1], from_[2] * size : (from_[2] + box[0]) * size
                ],
            )


def _box(t: Texture, subresource: int, xy: int, z: int, box: tuple[int, int], count: int) -> tuple[int, int, int, int]:
    """Mip, first layer, first column and row of elements; checked against the surface."""
    mip, array_slice, x, y = subresource & 0xFFFF, subresource >> 16, xy & 0xFFFF, xy >> 16
    if mip >= t.mips:
        raise _bad(f"mip {mip} of {t.mips}")
    if x % t.info.block_width or y % t.info.block:
        raise _bad(f"{t.info.format.name} at {x}, {y}; a multiple of {t.info.block_width}, {t.info.block}")
    layer = z if t.shape.volume else array_slice
    x, y = x // t.info.block_width, y // t.info.block
    _, height, width, _ = t.shape.place(mip + t.first_mip, 0, 0)
    columns, rows = -(-width // t.info.block_width), -(-height // t.info.block)
    if x + box[0] > columns or y + box[1] > rows or layer + count > layers(t, mip):
        raise _bad(f"box {x},{y} {box[0]}x{box[1]} layers {layer}+{count} in {columns}x{rows}, {layers(t, mip)} layers")
    return mip, layer, x, y


def resolve(memory: Memory, state: PipelineState, p: Packet) -> None:
    """RESOLVE: the average of the samples; the first sample of integer formats."""
    target, source = _surface(memory, state, 0, write=True), _surface(memory, state, 1)
    try:
        info = FORMATS[Format(int(p["arg"]))]
    except ValueError as error:
        raise _bad(f"resolve as format {int(p['arg'])}") from error
    size = info.bytes_per_block
    if size != source.info.bytes_per_block or size != target.info.bytes_per_block or not info.channels or info.is_block:
        raise _bad(f"resolve of {source.info.format.name} to {target.info.format.name} as {info.format.name}")
    count = min(layers(source, 0), layers(target, 0))
    for layer in range(count):
        to = plane(target, 0, layer)
        from_ = [plane(source, 0, layer, s) for s in range(source.shape.samples)]
        if to.shape != from_[0].shape:
            raise _bad(f"resolve of {from_[0].shape[1]}x{from_[0].shape[0]} to {to.shape[1]}x{to.shape[0]}")
        to[:] = average(info, from_)


def average(info: FormatInfo, planes: list[Array]) -> Array:
    """The average of planes of elements, in a format."""
    first_plane = planes[0]
    if len(planes) == 1 or info.is_integer:
        return first_plane
    rows, columns, size = first_plane.shape
    if _is_exact(info):
        # Where all are the same, so is the average; in most places of a multisampled surface they are.
        out = first_plane.copy()
        differ = np.zeros((rows, columns), bool)
        for one in planes[1:]:
            differ |= _cells(one) != _cells(first_plane)
        where = np.flatnonzero(differ)
        if 2 * len(where) <= rows * columns:
            y, x = np.divmod(where, columns)
            for first in range(0, len(where), _TEXELS):
                j, i = y[first : first + _TEXELS], x[first : first + _TEXELS]
                out[j, i] = average_rows(info, [one[j, i] for one in planes])
            return out
    out = np.empty((rows, columns, size), np.uint8)
    step = max(1, _TEXELS // columns)
    for first in range(0, rows, step):
        part = slice(first, min(first + step, rows))
        out[part] = average_rows(info, [one[part].reshape(-1, size) for one in planes]).reshape(-1, columns, size)
    return out


def average_rows(info: FormatInfo, elements: list[Array]) -> Array:
    """The average of some arrays ``(n, bytes)`` of elements, one by one."""
    total = np.zeros((len(elements[0]), 4))
    for one in elements:
        total += formats.unpack(info, np.ascontiguousarray(one)).view(np.float32)
    return formats.pack(info, formats.bits(total / len(elements)))


def _is_exact(info: FormatInfo) -> bool:
    """Whether every pattern of bits is a colour of its own that comes back when it is packed again."""
    bits = [c.bits for c in info.channels]
    return info.type == NumberType.UNORM and not info.pair and max(bits) <= 16 and sum(bits) == 8 * info.bytes_per_block <= 64


def _cells(plane: Array) -> Array:
    """Elements as integers, ``(rows, columns)``."""
    rows, columns, size = plane.shape
    return plane.view(f"u{size}").reshape(rows, columns)


def generate_mips(memory: Memory, state: PipelineState, p: Packet) -> None:
    """GENERATE_MIPS: 2x2(x2) box filter; the last row or column of an odd mip counts twice where it must."""
    t = _surface(memory, state, 0, write=True, whole_depth=True)
    if t.info.is_block or t.info.pair or t.info.is_integer or not t.info.channels or t.shape.samples > 1:
        raise refuse(f"mips of {t.info.format.name}")
    for mip in range(1, t.mips):
        for layer in range(layers(t, mip)):
            above = [2 * layer, min(2 * layer + 1, layers(t, mip - 1) - 1)] if t.shape.volume else [layer]
            planes = []
            for k in above:
                cells = plane(t, mip - 1, k)
                for dy in (0, 1):
                    for dx in (0, 1):
                        planes.append(cells[_every_other(dy, cells.shape[0]), _every_other(dx, cells.shape[1])])
            plane(t, mip, layer)[:] = average(t.info, planes)


def _every_other(first: int, size: int) -> slice:
    """Elements first, first + 2, … that make half of ``size``; the only one twice."""
    return slice(0, 1) if size == 1 else slice(first, size // 2 * 2, 2)


# --- blit -----------------------------------------------------------------------------------------------------------------


def blt(memory: Memory, state: PipelineState, p: Packet) -> None:
    """BLT: convert, stretch, rotate."""
    target, source = _surface(memory, state, 0, write=True), _surface(memory, state, 1)
    for t in (target, source):
        if t.info.is_block or t.info.pair or not t.info.channels:
            raise refuse(f"blit of {t.info.format.name}")
    if target.info.is_integer != source.info.is_integer or target.shape.samples > 1:
        raise _bad(f"blit of {source.info.format.name} to {target.info.format.name} x{target.shape.samples}")
    d = p["data"].tolist()
    to, from_ = (
        (d[i] & 0xFFFF, d[i] >> 16, d[j] & 0xFFFF, d[j] >> 16)
        for i, j in ((Blt.DST_LEFT_TOP, Blt.DST_RIGHT_BOTTOM), (Blt.SRC_LEFT_TOP, Blt.SRC_RIGHT_BOTTOM))
    )
    flags = d[Blt.FLAGS]
    cells = plane(source, 0, 0)
    if flags & ~7 or from_[2] > cells.shape[1] or from_[3] > cells.shape[0] or from_[0] >= from_[2] or from_[1] >= from_[3]:
        raise _bad(f"blit from {from_} of {cells.shape[1]}x{cells.shape[0]}, flags {flags:#x}")
    if source.shape.samples > 1:
        cells = average(source.info, [plane(source, 0, 0, s) for s in range(source.shape.samples)])
    out = plane(target, 0, 0)
    right, bottom = min(to[2], out.shape[1]), min(to[3], out.shape[0])
    if to[0] >= right or to[1] >= bottom:
        return
    if not flags & 3 and (to[2] - to[0], to[3] - to[1]) == (from_[2] - from_[0], from_[3] - from_[1]):
        # Texel by texel: of formats that differ in the order of their bytes at most, nothing is converted.
        order = _byte_order(target.info, source.info)
        if order is not None:
            part = cells[from_[1] : from_[1] + bottom - to[1], from_[0] : from_[0] + right - to[0]]
            _put_bytes(out[to[1] : bottom, to[0] : right], part, order)
            return
    point = bool(flags & 4) or source.info.is_integer
    for y in range(to[1], bottom, _ROWS):
        rows = np.arange(y, min(y + _ROWS, bottom))
        v = ((rows - to[1] + 0.5) / (to[3] - to[1]))[:, None]
        u = ((np.arange(to[0], right) - to[0] + 0.5) / (to[2] - to[0]))[None, :]
        u, v = np.broadcast_arrays(u, v)
        for _ in range(flags & 3):
            u, v = 1 - v, u
        colors = _stretch(source.info, cells, from_, u, v, point)
        out[rows[0] : rows[-1] + 1, to[0] : right] = formats.pack(target.info, colors).reshape(len(rows), right - to[0], -1)


def _byte_order(target: FormatInfo, source: FormatInfo) -> list[int] | None:
    """Where each byte of a target's element comes from: a byte of the source's, -1 (zero) or -2 (one).

    None if there is more to it than the order of bytes.
    """
    for info in (target, source):
        if info.type != NumberType.UNORM or info.pair or any(c.bits != 8 or c.shift % 8 for c in info.channels):
            return None
    if target.srgb != source.srgb:
        return None
    has = {c.component: c.shift // 8 for c in source.channels}
    order = [-1] * target.bytes_per_block
    for c in target.channels:
        order[c.shift // 8] = has.get(c.component, -2 if c.component == 3 else -1)
    return order


def _put_bytes(to: Array, from_: Array, order: list[int]) -> None:
    """Elements whose bytes are put in another order; the two may overlap."""
    if order == list(range(from_.shape[2])):
        to[:] = from_
        return
    if np.may_share_memory(to, from_):
        from_ = from_.copy()
    for i, j in enumerate(order):
        to[:, :, i] = from_[:, :, j] if j >= 0 else (0 if j == -1 else 255)


def _stretch(info: FormatInfo, cells: Array, box: tuple[int, int, int, int], u: Array, v: Array, point: bool) -> Array:
    left, top, right, bottom = box
    x, y = left + u * (right - left), top + v * (bottom - top)

    def at(i: Array, j: Array) -> Array:
        i, j = np.clip(i, left, right - 1), np.clip(j, top, bottom - 1)
        return formats.unpack(info, cells[j, i].reshape(-1, cells.shape[2]))

    if point:
        return at(np.floor(x).astype(np.int64), np.floor(y).astype(np.int64))
    i, j = np.floor(x - 0.5).astype(np.int64), np.floor(y - 0.5).astype(np.int64)
    fx, fy = ((x - 0.5) - i).reshape(-1, 1), ((y - 0.5) - j).reshape(-1, 1)
    if not fx.any() and not fy.any():
        return at(i, j)
    a, b, c, e = (at(i + dx, j + dy).view(np.float32) for dy in (0, 1) for dx in (0, 1))
    upper, lower = a + (b - a) * fx, c + (e - c) * fx
    return formats.bits(upper + (lower - upper) * fy)
