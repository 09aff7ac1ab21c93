"""Input assembly: which vertices and primitives a draw has, and the vertex data that the vertex program reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vgpu.engine import DrawCall, FaultError, PipelineState
from vgpu.memory import Memory
from wddm.hw.descriptors import INPUT_ELEMENTS_PER_PACKET, InputElement
from wddm.hw.formats import FORMATS, Format
from wddm.hw.interrupts import Fault
from wddm.hw.packets import PRIMITIVE_SHAPES, STRIPS, Op, Topology

from . import formats
from .bindings import packet

Array = npt.NDArray[Any]
#: Primitives in a batch.
BATCH: Final = 4096


@dataclass(slots=True)
class Batch:
    """Some primitives: ``primitives (P, k)`` index the vertices; per vertex what it is fetched with."""

    primitives: Array
    primitive_id: Array
    vertex_id: Array  #: SV_VertexID
    fetch: Array  #: index into per-vertex buffers
    instance: Array  #: SV_InstanceID
    read: int  #: vertices that the input assembler reads: a strip's are shared


def vertices_per_primitive(topology: int) -> int:
    """How many vertices a primitive of ``topology`` has. Raises FaultError(PIPELINE) for none that exists."""
    if Topology.PATCHLIST_1 <= topology <= Topology.PATCHLIST_32:
        return topology - Topology.PATCHLIST_1 + 1
    shape = PRIMITIVE_SHAPES.get(topology)  # type: ignore[call-overload]
    if shape is None:
        raise FaultError(Fault.PIPELINE, f"primitive topology {topology}")
    return int(shape[0])


def _step(topology: int) -> int:
    """Vertices from one primitive to the next."""
    if topology >= Topology.PATCHLIST_1:
        return vertices_per_primitive(topology)
    return int(PRIMITIVE_SHAPES[Topology(topology)][1])


def primitive_count(topology: int, count: int) -> int:
    """How many primitives ``count`` consecutive vertices make; incomplete ones are left out."""
    return max(0, (count - vertices_per_primitive(topology)) // _step(topology) + 1)


def primitives_of(topology: int, count: int, first: int = 0, limit: int | None = None) -> Array:
    """Primitives ``first``, ``first + 1``, … (at most ``limit``) of ``count`` consecutive vertices: ``(P, k)`` positions."""
    total = primitive_count(topology, count)
    n = np.arange(first, total if limit is None else min(total, first + limit))
    if topology == Topology.TRIANGLESTRIP_ADJ:
        return _adjacent_strip(n, total)
    out = n[:, None] * _step(topology) + np.arange(vertices_per_primitive(topology))
    if topology == Topology.TRIANGLESTRIP:
        out = np.where((n % 2 == 0)[:, None], out, out[:, [0, 2, 1]])  # keeps the winding, and the leading vertex
    return out


def _adjacent_strip(i: Array, total: int) -> Array:
    """Triangle strip with adjacency: vertices 0 2 4 of each, neighbours 1 3 5."""
    last = i == total - 1
    before = np.where(i == 0, 1, 2 * i - 2)  # neighbour across the edge shared with the triangle before
    after = np.where(last, 2 * i + 5, 2 * i + 6)
    side = 2 * i + 3
    even = np.stack([2 * i, before, 2 * i + 2, after, 2 * i + 4, side], 1)
    odd = np.stack([2 * i, side, 2 * i + 4, after, 2 * i + 2, before], 1)
    return np.where((i % 2 == 0)[:, None], even, odd)


def main_vertices(topology: int, primitives: Array) -> Array:
    """Primitives without their adjacent vertices."""
    if topology in (Topology.LINELIST_ADJ, Topology.LINESTRIP_ADJ):
        return primitives[:, 1:3]
    if topology in (Topology.TRIANGLELIST_ADJ, Topology.TRIANGLESTRIP_ADJ):
        return primitives[:, ::2]
    return primitives


class _Indices:
    """The index buffer of a draw; 0 beyond its end."""

    def __init__(self, memory: Memory, state: PipelineState, call: DrawCall) -> None:
        bound = packet(state, Op.SET_INDEX_BUFFER)
        self.data: Array = np.zeros(0, np.uint32)
        self.cut = 0xFFFF_FFFF
        if bound is not None:
            format = int(bound["data"][0])
            if format not in (Format.R16_UINT, Format.R32_UINT):
                raise FaultError(Fault.BAD_DESCRIPTOR, f"index format {format}")
            size = 2 if format == Format.R16_UINT else 4
            extent = int(bound["extent"]) // size * size
            data = memory.view(int(bound["address"]), extent).view(f"u{size}")
            self.data = data[call.start : call.start + call.count]
            self.cut = (1 << 8 * size) - 1

    def __getitem__(self, positions: Array) -> Array:
        if not len(self.data):
            return np.zeros(positions.shape, np.int64)
        inside = positions < len(self.data)
        return np.where(inside, self.data[np.where(inside, positions, 0)], 0).astype(np.int64)


def assemble(memory: Memory, state: PipelineState, call: DrawCall) -> Iterator[Batch]:
    """The draw's primitives in order, in batches."""
    topology = int(p["arg"]) if (p := packet(state, Op.SET_TOPOLOGY)) is not None else 0
    vertices_per_primitive(topology)
    indices = _Indices(memory, state, call) if call.indexed else None
    segments = [(0, call.count)]
    if indices is not None and topology in STRIPS:
        ends = [*np.flatnonzero(indices.data == indices.cut).tolist(), call.count]
        segments = [(a, b - a) for a, b in zip([0, *(e + 1 for e in ends)], ends, strict=False)]
    segments = [(start, n) for start, n in segments if primitive_count(topology, n)]
    total = sum(primitive_count(topology, n) for _, n in segments)
    if not total:
        return
    if total <= BATCH:  # small draws take many instances at once
        positions = np.concatenate([primitives_of(topology, n) + start for start, n in segments])
        together = BATCH // total
        for first in range(0, call.instances, together):
            yield _batch(call, topology, positions, len(segments), indices, first, min(together, call.instances - first), 0)
        return
    for instance in range(call.instances):
        at = 0
        for positions, begun in _pieces(topology, segments):
            yield _batch(call, topology, positions, begun, indices, instance, 1, at)
            at += len(positions)


def _pieces(topology: int, segments: list[tuple[int, int]]) -> Iterator[tuple[Array, int]]:
    """All primitives of strips or lists, a batch at a time, and how many strips begin in it."""
    waiting: list[Array] = []
    size = begun = 0
    for start, count in segments:
        begun += 1
        for first in range(0, primitive_count(topology, count), BATCH):
            waiting.append(primitives_of(topology, count, first, BATCH) + start)
            size += len(waiting[-1])
            if size >= BATCH:
                yield np.concatenate(waiting), begun
                waiting, size, begun = [], 0, 0
    if waiting:
        yield np.concatenate(waiting), begun


def _batch(
    call: DrawCall,
    topology: int,
    positions: Array,
    strips: int,
    indices: _Indices | None,
    first: int,
    instances: int,
    first_primitive: int,
) -> Batch:
    """Vertices are shared by index value within an instance. ``strips``: that begin here; lists are one."""
    index = positions if indices is None else indices[positions]
    unique, inverse = np.unique(index, return_inverse=True)
    local = inverse.reshape(index.shape)
    offset = (np.arange(instances) * len(unique))[:, None, None]
    primitives = (local[None] + offset).reshape(-1, index.shape[1])
    base = call.base_vertex if call.indexed else call.start
    step = _step(topology)
    return Batch(
        primitives,
        np.tile(np.arange(len(positions)) + first_primitive, instances),
        np.tile(unique, instances).astype(np.uint32),
        np.tile(unique + base & 0xFFFF_FFFF, instances),  # the sum has 32 bits
        np.repeat(np.arange(instances) + first, len(unique)),
        (len(positions) * step + strips * (vertices_per_primitive(topology) - step)) * instances,
    )


def _elements(state: PipelineState) -> list[InputElement]:
    first = packet(state, Op.SET_INPUT_LAYOUT)
    if first is None:
        return []
    total = int(first["arg"])
    if total > 32:
        raise FaultError(Fault.BAD_DESCRIPTOR, f"{total} input elements")
    out = []
    for i in range(total):
        group = packet(state, Op.SET_INPUT_LAYOUT, i - i % INPUT_ELEMENTS_PER_PACKET)
        if group is None:
            raise FaultError(Fault.PIPELINE, f"input element {i} of {total} is missing")
        at = i % INPUT_ELEMENTS_PER_PACKET * 2
        out.append(InputElement.unpack(int(group["data"][at]), int(group["data"][at + 1])))
    return out


def fetch(memory: Memory, state: PipelineState, call: DrawCall, batch: Batch, rows: int) -> Array:
    """Input rows ``(rows, vertices)`` of the vertex program; what lies outside a buffer reads 0."""
    out = np.zeros((rows, len(batch.fetch)), np.uint32)
    for element in _elements(state):
        if element.register * 4 >= rows:
            continue
        try:
            info = FORMATS[Format(element.format)]
        except ValueError as error:
            raise FaultError(Fault.BAD_DESCRIPTOR, f"vertex format {element.format}") from error
        if not info.channels or info.is_block:
            raise FaultError(Fault.BAD_DESCRIPTOR, f"vertex format {info.format.name}")
        bound = packet(state, Op.SET_VERTEX_BUFFER, element.slot)
        if bound is None:
            continue
        if element.per_instance:
            step = batch.instance // element.step_rate if element.step_rate else 0
            index = np.broadcast_to(np.asarray(call.start_instance + step), batch.fetch.shape)
        else:
            index = batch.fetch
        data = memory.view(int(bound["address"]), int(bound["extent"]))
        size = info.bytes_per_block
        at = index * int(bound["data"][0]) + element.offset
        inside = (at >= 0) & (at + size <= len(data)) & (index >= 0)
        if not inside.any():
            continue
        raw = data[np.where(inside, at, 0)[:, None] + np.arange(size)] if len(data) >= size else np.zeros((len(at), size), np.uint8)
        colors = np.where(inside[:, None], formats.unpack(info, raw), np.uint32(0))
        register = element.register * 4
        out[register : register + 4] = colors.T
    return out
