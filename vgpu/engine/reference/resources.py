"""Shader operations that touch resources: sampling and loads, unordered access, shared memory, atomics, queries of sizes.

Everything outside a resource reads 0 and writes nothing; so does a slot with nothing bound, or with a view of another dimension
than the program declared. Writes are made by visible lanes alone, in lane order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from wddm.hw.descriptors import ViewDimension
from wddm.hw.isa import INDEX_MASK, AtomicOp, Op
from wddm.hw.isa_check import COORDINATES

from . import formats
from . import sampler as sampling
from .surface import Buffer, Texture

if TYPE_CHECKING:
    from .shader import Interpreter, Row

Array = npt.NDArray[Any]
_OFFSETS_STANDARD: Final = {
    1: ((0, 0),),
    2: ((4, 4), (-4, -4)),
    4: ((-2, -6), (6, -2), (-6, 2), (2, 6)),
    8: ((1, -3), (-1, 3), (5, 1), (-3, -5), (-5, 5), (-7, -1), (3, 7), (7, -7)),
}


def sample_positions(samples: int) -> Array:
    """Standard sample positions ``(samples, 2)`` in 1/16 pixel from the pixel centre."""
    return np.array(_OFFSETS_STANDARD[samples], np.int64)


def _signed_bytes(aux2: int) -> tuple[int, int, int]:
    x, y, z = ((aux2 >> 8 * i & 0xFF) for i in range(3))
    return tuple(v - 256 if v > 127 else v for v in (x, y, z))  # type: ignore[return-value]


def _write(x: Interpreter, row: Row, colors: Array) -> None:
    """A four-component result to the components in the mask. ``colors``: (n or 1, 4), float32 or uint32."""
    bits = np.ascontiguousarray(colors).view(np.uint32)
    for c in range(4):
        if row[4] >> 16 & 1 << c:
            x.write(row[2], bits[:, c], c)


def _zero(x: Interpreter, row: Row) -> None:
    _write(x, row, np.zeros((1, 4), np.uint32))


def _bound(x: Interpreter, row: Row) -> tuple[Texture | Buffer | None, tuple[int, ...]]:
    """What is bound to the slot, if it has the declared dimension; and the declaration."""
    slot = row[4] & 0xFF
    unordered = Op.UAV_LOAD <= row[0] <= Op.UAV_BUFINFO
    declaration = (x.program.uavs if unordered else x.program.resources)[slot]
    view = (x.lanes.uavs if unordered else x.lanes.resources).get(slot)
    if view is not None and view.view.dimension != declaration[3]:
        view = None
    return view, declaration


# --- sampling -----------------------------------------------------------------------------------------------------------


def _coords(x: Interpreter, row: Row, declaration: tuple[int, ...]) -> tuple[list[Array], bool]:
    array = bool(declaration[2] & 1)
    count = COORDINATES[ViewDimension(declaration[3])] + array
    base = row[3][0] & INDEX_MASK
    return [x.f(1 << 28 | base + k) for k in range(count)], array


def _sample(x: Interpreter, row: Row) -> None:
    from .shader import derivative

    op, _mods, _dst, src, aux, aux2 = row
    texture, declaration = _bound(x, row)
    if not isinstance(texture, Texture) or texture.shape.samples > 1:
        _zero(x, row)
        return
    s = x.lanes.samplers.get(aux >> 8 & 0xFF, sampling.DEFAULT)
    coords, array = _coords(x, row, declaration)
    axes = coords[: len(coords) - array]
    offsets = _signed_bytes(aux2)
    compare = op in (Op.SAMPLE_COMPARE, Op.SAMPLE_COMPARE_LZ)
    reference = x.full_width(x.f(src[1])) if compare else None
    if op in (Op.SAMPLE_LEVEL, Op.SAMPLE_COMPARE_LZ):
        p = sampling.place(texture, coords, array)
        lod = np.zeros(x.n) if compare else x.full_width(x.f(src[1])).astype(np.float64)
        color = sampling.sample(texture, s, p, sampling.clamp_lod(texture, s, lod), offsets=offsets, reference=reference)
        _write(x, row, color)
        return
    if op == Op.SAMPLE_GRAD:
        ddx, ddy = ([x.f(1 << 28 | (w & INDEX_MASK) + k) for k in range(len(axes))] for w in src[1:3])
    else:
        ddx = [derivative(v, False) for v in axes]
        ddy = [derivative(v, True) for v in axes]
    p = sampling.place(texture, coords, array, ddx, ddy)
    if op == Op.LOD:
        free = sampling.unclamped_lod(texture, p)
        out = np.zeros((x.n, 4), np.float32)
        out[:, 0], out[:, 1] = sampling.clamp_lod(texture, s, free), free + s.mip_lod_bias
        _write(x, row, out)
        return
    bias = x.full_width(x.f(src[1])).astype(np.float64) if op == Op.SAMPLE_BIAS else np.zeros(1)
    _write(x, row, sampling.sample_footprint(texture, s, p, bias, offsets=offsets, reference=reference))


def _gather(x: Interpreter, row: Row) -> None:
    op, _mods, _dst, src, aux, aux2 = row
    texture, declaration = _bound(x, row)
    if not isinstance(texture, Texture) or texture.shape.samples > 1:
        _zero(x, row)
        return
    s = x.lanes.samplers.get(aux >> 8 & 0xFF, sampling.DEFAULT)
    coords, array = _coords(x, row, declaration)
    p = sampling.place(texture, coords, array)
    if op in (Op.GATHER4_OFFSET, Op.GATHER4_OFFSET_COMPARE):
        # Programmable offsets have 6 bits.
        offsets = [(v.view(np.int32).astype(np.int64) & 63 ^ 32) - 32 for v in x.vector(src[2], 2)]
    else:
        offsets = [np.int64(v) for v in _signed_bytes(aux2)[:2]]  # type: ignore[misc]
    compare = op in (Op.GATHER4_COMPARE, Op.GATHER4_OFFSET_COMPARE)
    reference = x.full_width(x.f(src[1])) if compare else None
    _write(x, row, sampling.gather(texture, s, p, aux >> 20 & 3, offsets, reference))


# --- loads and stores by integer address ---------------------------------------------------------------------------------


def _texels(
    x: Interpreter, texture: Texture, coords: list[Array], array: bool, mip: Array, offsets: tuple[int, ...] = (0, 0, 0)
) -> tuple[Array, tuple[Array, ...]]:
    """Which lanes address a texel that exists, and (mip, layer, y, x) with the others set to 0."""
    axes = [c.view(np.int32).astype(np.int64) for c in coords]
    layer = axes.pop() if array else np.zeros(x.n, np.int64)
    axes = [a + o for a, o in zip(axes, offsets, strict=False)]
    mip = x.full_width(mip).astype(np.int64)
    inside = mip < texture.mips
    mip = np.where(inside, mip, 0)
    for a, size in zip(axes, texture.extent(mip), strict=False):
        inside = inside & (a >= 0) & (a < size)
    if len(axes) > 2:
        layer = axes[2]
    inside = inside & (layer >= 0) & (layer < texture.slices)
    y = axes[1] if len(axes) > 1 else np.zeros(x.n, np.int64)
    return inside, tuple(np.where(inside, v, 0) for v in (mip, layer, y, axes[0]))


def _load(x: Interpreter, row: Row) -> None:
    _op, _mods, _dst, src, _aux, aux2 = row
    view, declaration = _bound(x, row)
    array = bool(declaration[2] & 1)
    coords = x.vector(src[0], COORDINATES[ViewDimension(declaration[3])] + array)
    if isinstance(view, Buffer):
        index = coords[0].astype(np.int64)
        inside = index < view.count
        colors = view.read(np.where(inside, index, 0)) if view.count else np.zeros((x.n, 4), np.uint32)
    elif isinstance(view, Texture):
        mip = x.i(src[1]) if src[1] else np.zeros(1, np.uint32)
        offsets = _signed_bytes(aux2) if row[0] == Op.LOAD else (0, 0, 0)
        inside, (m, layer, ty, tx) = _texels(x, view, coords, array, mip, offsets)
        sample: Array = np.zeros(x.n, np.int64)
        if src[2]:
            sample = x.full_width(x.i(src[2])).astype(np.int64)
            inside = inside & (sample < view.shape.samples)
            sample = np.where(inside, sample, 0)
        colors = view.read(m, layer, ty, tx, sample)
    else:
        _zero(x, row)
        return
    _write(x, row, np.where(inside[:, None], colors, np.uint32(0)))


def _typed_store(x: Interpreter, row: Row) -> None:
    view, declaration = _bound(x, row)
    array = bool(declaration[2] & 1)
    coords = x.vector(row[3][0], COORDINATES[ViewDimension(declaration[3])] + array)
    colors = np.stack(x.vector(row[3][1], 4), 1)
    if isinstance(view, Buffer):
        index = coords[0].astype(np.int64)
        lanes = np.flatnonzero(x.visible & (index < view.count))
        view.write(index[lanes], colors[lanes])
    elif isinstance(view, Texture):
        inside, at = _texels(x, view, coords, array, np.zeros(1, np.uint32))
        lanes = np.flatnonzero(x.visible & inside)
        view.write_raw(view.offsets(*(v[lanes] for v in at)), formats.pack(view.info, colors[lanes]))


def _dword_places(x: Interpreter, view: Buffer, row: Row, count: int) -> tuple[Array, Array]:
    """First dword and how many dwords may be touched, per lane."""
    src = row[3]
    if view.view.dimension == ViewDimension.RAW_BUFFER:
        start = x.full_width(x.i(src[0])).astype(np.int64) >> 2
        return start, np.clip(len(view.dwords) - start, 0, count)
    index = x.full_width(x.i(src[0])).astype(np.int64)
    within = x.full_width(x.i(src[1])).astype(np.int64) >> 2
    words = view.stride // 4
    room = np.where(index < view.count, np.clip(words - within, 0, count), 0)
    return index * words + within, room


def _load_dwords(x: Interpreter, row: Row) -> None:
    view, _ = _bound(x, row)
    if not isinstance(view, Buffer) or not len(view.dwords):
        _zero(x, row)
        return
    start, room = _dword_places(x, view, row, 4)
    for c in range(4):
        if row[4] >> 16 & 1 << c:
            inside = c < room
            x.write(row[2], np.where(inside, view.dwords[np.where(inside, start + c, 0)], np.uint32(0)), c)


def _store_dwords(x: Interpreter, row: Row) -> None:
    view, _ = _bound(x, row)
    if not isinstance(view, Buffer):
        return
    start, room = _dword_places(x, view, row, 4)
    values = x.vector(row[3][2], (row[4] >> 16 & 15).bit_length())
    for c, value in enumerate(values):
        if row[4] >> 16 & 1 << c:
            lanes = np.flatnonzero(x.visible & (c < room))
            view.dwords[start[lanes] + c] = value[lanes]


# --- atomics ---------------------------------------------------------------------------------------------------------------


def _modify(op: int, old: Array, value: Array, compare: Array) -> Array:
    signed_old, signed = old.view(np.int32), value.view(np.int32)
    results: dict[AtomicOp, Callable[[], Array]] = {
        AtomicOp.AND: lambda: old & value,
        AtomicOp.OR: lambda: old | value,
        AtomicOp.XOR: lambda: old ^ value,
        AtomicOp.ADD: lambda: old + value,
        AtomicOp.IMAX: lambda: np.maximum(signed_old, signed).view(np.uint32),
        AtomicOp.IMIN: lambda: np.minimum(signed_old, signed).view(np.uint32),
        AtomicOp.UMAX: lambda: np.maximum(old, value),
        AtomicOp.UMIN: lambda: np.minimum(old, value),
        AtomicOp.EXCHANGE: lambda: value,
        AtomicOp.COMPARE_EXCHANGE: lambda: np.where(old == compare, value, old),
    }
    return results[AtomicOp(op)]()


def atomic(dwords: Array, index: Array, op: int, value: Array, compare: Array) -> Array:
    """Read-modify-write of ``dwords[index]``, lane after lane; the old values. Done in rounds of distinct places."""
    order = np.argsort(index, kind="stable")
    ranked = index[order]
    first = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    run = np.flatnonzero(first)
    rank = np.arange(len(order)) - np.repeat(run, np.diff(np.append(run, len(order))))
    by_rank = order[np.argsort(rank, kind="stable")]
    old = np.zeros(len(index), np.uint32)
    at = 0
    for size in np.bincount(rank).tolist():
        lanes = by_rank[at : at + size]
        at += size
        before = dwords[index[lanes]]
        old[lanes] = before
        dwords[index[lanes]] = _modify(op, before, value[lanes], compare[lanes])
    return old


def _atomic(x: Interpreter, row: Row, dwords: Array, index: Array, inside: Array) -> None:
    _op, _mods, dst, src, _aux, aux2 = row
    lanes = np.flatnonzero(x.visible & inside)
    old = np.zeros(x.n, np.uint32)
    if len(lanes):
        value = x.full_width(x.i(src[2]))[lanes]
        compare = x.full_width(x.i(src[3]))[lanes] if src[3] else value
        old[lanes] = atomic(dwords, index[lanes], aux2, value, compare)
    if dst:
        x.write(dst, old)


def _uav_atomic(x: Interpreter, row: Row) -> None:
    view, declaration = _bound(x, row)
    dst = row[2]
    if isinstance(view, Buffer) and view.view.dimension != ViewDimension.BUFFER:
        start, room = _dword_places(x, view, row, 1)
        _atomic(x, row, view.dwords, np.where(room > 0, start, 0), room > 0)
    elif isinstance(view, Buffer) and view.stride == 4:
        index = x.vector(row[3][0], 1)[0].astype(np.int64)
        _atomic(x, row, view.dwords, np.where(index < view.count, index, 0), index < view.count)
    elif isinstance(view, Texture) and view.info.bytes_per_block == 4:
        array = bool(declaration[2] & 1)
        coords = x.vector(row[3][0], COORDINATES[ViewDimension(declaration[3])] + array)
        inside, at = _texels(x, view, coords, array, np.zeros(1, np.uint32))
        _atomic(x, row, view._cells, view.offsets(*at) // 4, inside)
    elif dst:
        x.write(dst, np.zeros(1, np.uint32))


def _counter(x: Interpreter, row: Row) -> None:
    """Hidden counters: visible lanes count one after another."""
    counter = x.lanes.uavs.get(("counter", row[4] & 0xFF))  # type: ignore[call-overload]
    if counter is None:
        x.write(row[2], np.zeros(1, np.uint32))
        return
    visible = x.visible
    before = np.cumsum(visible).astype(np.uint32) - np.uint32(1)
    start = counter[0].copy()
    total = np.uint32(visible.sum())
    if row[0] == Op.UAV_COUNTER_INC:
        x.write(row[2], np.where(visible, start + before, np.uint32(0)))
        counter[0] = start + total
    else:
        x.write(row[2], np.where(visible, start - before - np.uint32(1), np.uint32(0)))
        counter[0] = start - total


# --- shared memory -----------------------------------------------------------------------------------------------------------


def _shared_places(x: Interpreter, row: Row) -> tuple[Array, Array, Array]:
    """Flat dwords, first place of each lane, and where the lane's group ends."""
    assert x.lanes.shared is not None
    assert x.lanes.group is not None
    size = x.lanes.shared.shape[1]
    within = x.full_width(x.i(row[3][0])).astype(np.int64) >> 2
    return x.lanes.shared.reshape(-1), x.lanes.group * size + within, np.clip(size - within, 0, 4)


def _shared_load(x: Interpreter, row: Row) -> None:
    flat, start, room = _shared_places(x, row)
    if not len(flat):
        _zero(x, row)
        return
    for c in range(4):
        if row[4] >> 16 & 1 << c:
            x.write(row[2], np.where(c < room, flat[np.where(c < room, start + c, 0)], np.uint32(0)), c)


def _shared_store(x: Interpreter, row: Row) -> None:
    flat, start, room = _shared_places(x, row)
    for c, value in enumerate(x.vector(row[3][2], (row[4] >> 16 & 15).bit_length())):
        if row[4] >> 16 & 1 << c:
            lanes = np.flatnonzero(x.visible & (c < room))
            flat[start[lanes] + c] = value[lanes]


def _shared_atomic(x: Interpreter, row: Row) -> None:
    flat, start, room = _shared_places(x, row)
    _atomic(x, row, flat, np.where(room > 0, start, 0), room > 0)


# --- sizes ---------------------------------------------------------------------------------------------------------------------


def _info(x: Interpreter, row: Row) -> None:
    view, declaration = _bound(x, row)
    if not isinstance(view, Texture):
        _zero(x, row)
        return
    uav = row[0] == Op.UAV_RESINFO
    mip = np.zeros(1, np.int64) if uav else x.i(row[3][0]).astype(np.int64)
    inside = mip < view.mips
    sizes: list[Array] = [np.where(inside, v, 0) for v in view.extent(np.where(inside, mip, 0))]
    count = {ViewDimension.TEXTURE1D: 1, ViewDimension.TEXTURE3D: 3}.get(ViewDimension(declaration[3]), 2)
    if uav and view.shape.volume:
        sizes[2] = np.array([view.slices])
    sizes = sizes[:count]
    plain = len(sizes)
    if declaration[2] & 1:
        sizes.append(np.array([view.slices // 6 if view.shape.cube else view.slices]))
    control = row[5] >> 24
    out = np.zeros((len(mip), 4), np.uint32 if control == 2 else np.float32)
    for k, value in enumerate(sizes):
        out[:, k] = 1 / np.asarray(value, np.float32) if control == 1 and k < plain else value
    out[:, 3] = view.mips
    _write(x, row, out)


def _samples(x: Interpreter, row: Row) -> int:
    if row[4] & 0xFF == 255:
        return x.lanes.rasterizer_samples
    view, _ = _bound(x, row)
    return view.shape.samples if isinstance(view, Texture) else 0


def _sample_info(x: Interpreter, row: Row) -> None:
    out = np.zeros((1, 4), np.uint32 if row[5] >> 24 else np.float32)
    out[0, 0] = _samples(x, row)
    _write(x, row, out)


def _sample_position(x: Interpreter, row: Row) -> None:
    samples = _samples(x, row)
    out = np.zeros((x.n, 4), np.float32)
    if samples:
        index = x.full_width(x.i(row[3][0])).astype(np.int64)
        table = sample_positions(samples)
        inside = index < samples
        out[:, :2] = np.where(inside[:, None], table[np.where(inside, index, 0)] / 16, 0)
    _write(x, row, out)


def _buffer_info(x: Interpreter, row: Row) -> None:
    view, _ = _bound(x, row)
    if not isinstance(view, Buffer):
        _zero(x, row)
        return
    count = view.count * 4 if view.view.dimension == ViewDimension.RAW_BUFFER else view.count
    _write(x, row, np.full((1, 4), count, np.uint32))


EXECUTE: Final[dict[int, Callable[[Any, Any], None]]] = {
    **dict.fromkeys(
        (Op.SAMPLE, Op.SAMPLE_BIAS, Op.SAMPLE_LEVEL, Op.SAMPLE_GRAD, Op.SAMPLE_COMPARE, Op.SAMPLE_COMPARE_LZ, Op.LOD), _sample
    ),
    **dict.fromkeys((Op.GATHER4, Op.GATHER4_COMPARE, Op.GATHER4_OFFSET, Op.GATHER4_OFFSET_COMPARE), _gather),
    Op.LOAD: _load,
    Op.RESINFO: _info,
    Op.SAMPLEINFO: _sample_info,
    Op.SAMPLEPOS: _sample_position,
    Op.BUFINFO: _buffer_info,
    Op.LOAD_RAW: _load_dwords,
    Op.LOAD_STRUCTURED: _load_dwords,
    Op.UAV_LOAD: _load,
    Op.UAV_STORE: _typed_store,
    Op.UAV_LOAD_RAW: _load_dwords,
    Op.UAV_LOAD_STRUCTURED: _load_dwords,
    Op.UAV_STORE_RAW: _store_dwords,
    Op.UAV_STORE_STRUCTURED: _store_dwords,
    Op.UAV_ATOMIC: _uav_atomic,
    Op.UAV_COUNTER_INC: _counter,
    Op.UAV_COUNTER_DEC: _counter,
    Op.UAV_RESINFO: _info,
    Op.UAV_BUFINFO: _buffer_info,
    Op.SHARED_LOAD: _shared_load,
    Op.SHARED_STORE: _shared_store,
    Op.SHARED_ATOMIC: _shared_atomic,
}
