"""Primitive commands as lists of vertices: which vertices make which primitives, in the order the pages give.

A fan's triangles start with the vertex that flat shading takes the colour from: (k+1, k+2, 0). Models "DrawPrimitives2 primitives".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umd.dp2.errors import CommandError
from umd.dp2.parser import OP, Command
from wddm.ddi.d3dhal import D3DPRIMITIVETYPE

Indices = npt.NDArray[np.uint32]
MAX_VERTICES: Final = 1 << 26


class Topology(IntEnum):
    """Topologies of the hardware that legacy primitives become."""

    POINTS = 1
    LINES = 2
    LINE_STRIP = 3
    TRIANGLES = 4
    TRIANGLE_STRIP = 5


@dataclass(slots=True)
class Primitives:
    """``count`` vertices from ``start`` on, or those that ``indices`` name. ``edges``: the pairs of vertices that wireframes show,
    where that is not every edge. ``fans``: the vertices are a fan of so many triangles."""

    topology: Topology
    start: int = 0
    count: int = 0
    indices: Indices | None = None
    edges: Indices | None = None
    fans: int = 0

    def highest(self) -> int:
        """The highest vertex that is named, -1 when there is none."""
        if self.indices is None:
            return self.start + self.count - 1 if self.count else -1
        return int(self.indices.max()) if len(self.indices) else -1


def fan(count: int, first: int = 0) -> Indices:
    """Indices of ``count`` triangles around vertex ``first``."""
    k = np.arange(count, dtype=np.uint32) + np.uint32(first)
    return np.stack([k + 1, k + 2, np.full(count, first, np.uint32)], 1).reshape(-1).astype(np.uint32)


def fan_edges(count: int, flags: int, first: int = 0) -> Indices | None:
    """The edges that a fan's flags show: bit k is the edge from vertex k to the next, the last one goes back to vertex 0."""
    whole = (1 << count + 2) - 1
    if flags & whole == whole or count + 2 > 32:
        return None
    corners = [(k, (k + 1) % (count + 2)) for k in range(count + 2) if flags >> k & 1]
    return np.array(corners, np.uint32).reshape(-1) + np.uint32(first)


def vertices(type: int, primitives: int) -> int:
    """Vertices or indices that so many primitives need. Raises CommandError for a type that does not exist."""
    T = D3DPRIMITIVETYPE
    shape = {
        T.POINTLIST: (1, 0), T.LINELIST: (2, 0), T.LINESTRIP: (1, 1), T.TRIANGLELIST: (3, 0), T.TRIANGLESTRIP: (1, 2),
        T.TRIANGLEFAN: (1, 2),
    }.get(type)  # type: ignore[call-overload]  # fmt: skip
    if shape is None:
        raise CommandError.params(f"primitive type {type}")
    count = primitives * shape[0] + shape[1] if primitives else 0
    if count > MAX_VERTICES:
        raise CommandError.params(f"{primitives} primitives in one command")
    return int(count)


#: Topology of each primitive type but fans.
TOPOLOGIES: Final = {
    D3DPRIMITIVETYPE.POINTLIST: Topology.POINTS,
    D3DPRIMITIVETYPE.LINELIST: Topology.LINES,
    D3DPRIMITIVETYPE.LINESTRIP: Topology.LINE_STRIP,
    D3DPRIMITIVETYPE.TRIANGLELIST: Topology.TRIANGLES,
    D3DPRIMITIVETYPE.TRIANGLESTRIP: Topology.TRIANGLE_STRIP,
}


def primitives(type: int, start: int, number: int) -> Primitives:
    """Primitives of consecutive vertices."""
    count = vertices(type, number)
    if type == D3DPRIMITIVETYPE.TRIANGLEFAN:
        return Primitives(Topology.TRIANGLES, start, count, fans=number)
    return Primitives(TOPOLOGIES[D3DPRIMITIVETYPE(type)], start, count)


def _words(each: Any, base: int = 0) -> Indices:
    """Every WORD of an array of structures as an index, ``base`` added."""
    words: Indices = each.view("<u2").astype(np.uint32) + np.uint32(base)
    return words


def _triangles_with_flags(command: Command) -> list[Primitives]:
    """INDEXEDTRIANGLELIST: three indices and the edges that wireframes show."""
    words = command.each.view("<u2").reshape(-1, 4).astype(np.uint32)
    corners, flags = words[:, :3], words[:, 3]
    edges = None
    if len(words) and ((flags & 0x700) != 0x700).any():
        shown = [corners[(flags >> (8 + e) & 1) == 1][:, [e, (e + 1) % 3]] for e in range(3)]
        edges = np.concatenate(shown).reshape(-1).astype(np.uint32)
    return [Primitives(Topology.TRIANGLES, indices=corners.reshape(-1), edges=edges)]


_CONSECUTIVE: Final = {
    OP.LINELIST: D3DPRIMITIVETYPE.LINELIST,
    OP.LINESTRIP: D3DPRIMITIVETYPE.LINESTRIP,
    OP.TRIANGLELIST: D3DPRIMITIVETYPE.TRIANGLELIST,
    OP.TRIANGLESTRIP: D3DPRIMITIVETYPE.TRIANGLESTRIP,
    OP.TRIANGLEFAN: D3DPRIMITIVETYPE.TRIANGLEFAN,
}


def of_command(command: Command) -> list[Primitives]:
    """What a DirectX 6 primitive command draws; inline vertices are numbered from 0."""
    op, n = command.op, command.count
    if op in _CONSECUTIVE:
        return [primitives(_CONSECUTIVE[op], int(command.each["wVStart"][0]), n)]
    if op is OP.POINTS:
        return [Primitives(Topology.POINTS, int(e["wVStart"]), int(e["wCount"])) for e in command.each]
    if op is OP.INDEXEDTRIANGLELIST:
        return _triangles_with_flags(command)
    if op is OP.TRIANGLEFAN_IMM:
        return [Primitives(Topology.TRIANGLES, indices=fan(n), edges=fan_edges(n, int(command.once["dwEdgeFlags"])))]
    if op is OP.LINELIST_IMM:
        return [Primitives(Topology.LINES, 0, 2 * n)]
    base = 0 if command.once is None else int(command.once["wVStart"])
    words = _words(command.each, base)
    if op in (OP.INDEXEDLINELIST, OP.INDEXEDLINELIST2):
        return [Primitives(Topology.LINES, indices=words)]
    if op is OP.INDEXEDTRIANGLELIST2:
        return [Primitives(Topology.TRIANGLES, indices=words)]
    if not n:
        return []
    if op is OP.INDEXEDLINESTRIP:
        return [Primitives(Topology.LINE_STRIP, indices=words)]
    if op is OP.INDEXEDTRIANGLESTRIP:
        return [Primitives(Topology.TRIANGLE_STRIP, indices=words)]
    return [Primitives(Topology.TRIANGLES, indices=words[fan(n)])]  # INDEXEDTRIANGLEFAN


#: Commands that :func:`of_command` knows.
PRIMITIVE_COMMANDS: Final = frozenset(
    {
        *_CONSECUTIVE, OP.POINTS, OP.INDEXEDLINELIST, OP.INDEXEDTRIANGLELIST, OP.INDEXEDLINESTRIP, OP.INDEXEDTRIANGLESTRIP,
        OP.INDEXEDTRIANGLEFAN, OP.TRIANGLEFAN_IMM, OP.LINELIST_IMM, OP.INDEXEDTRIANGLELIST2, OP.INDEXEDLINELIST2,
    }
)  # fmt: skip
