"""High-order surfaces: rectangle and triangle patches, tessellated by the processor and drawn as triangles.

A patch is its control points, read from the streams when the patch is defined and kept under its handle; every draw tessellates
anew with the segments of the moment. Models "High-Order Surface Render States".

DEVIATES: a patch has one number of segments, the greatest of its edges', and every vertex element follows the position's basis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, comb, factorial, isfinite
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umd.core import Core
from umd.dp2 import transient
from umd.dp2.errors import CommandError
from umd.dp2.formats import SIZES, Element, T, VertexFormat
from umd.dp2.primitives import Primitives, Topology
from umd.dp2.renderer import Source
from wddm.ddi.d3dhal import (
    D3DBASISTYPE,
    D3DDEGREETYPE,
    D3DRECTPATCH_INFO_DTYPE,
    D3DTRIPATCH_INFO_DTYPE,
    RTPATCHFLAG,
)

Array = npt.NDArray[np.float64]
MAX_SEGMENTS: Final = 64
MAX_POINTS: Final = 1 << 14
MAX_PATCHES: Final = 4096
_FLOATS: Final = (T.FLOAT1, T.FLOAT2, T.FLOAT3, T.FLOAT4)
#: Uniform cubic pieces: rows are powers of t, columns control points.
_CUBIC: Final = {
    D3DBASISTYPE.BSPLINE: np.array([[1, 4, 1, 0], [-3, 0, 3, 0], [3, -6, 3, 0], [-1, 3, -3, 1]]) / 6,
    D3DBASISTYPE.CATMULL_ROM: np.array([[0, 2, 0, 0], [-1, 0, 1, 0], [2, -5, 4, -1], [-1, 3, -3, 1]]) / 2,
}


@dataclass(frozen=True, slots=True)
class Patch:
    """Control points: the format of what comes out, and (points, components) of every element; ``shape`` is (height, width), or
    the degree of a triangle."""

    format: VertexFormat
    points: tuple[Array, ...]
    shape: tuple[int, int] | int
    basis: int
    degree: int


def weights(count: int, basis: int, degree: int, segments: int) -> Array:
    """How much of each of ``count`` control points a curve has at its places: (places, count). Raises CommandError."""
    step = 1 if basis in _CUBIC else degree
    pieces = count - 3 if basis in _CUBIC else (count - 1) // degree
    if pieces < 1 or (basis not in _CUBIC and (count - 1) % degree):
        raise CommandError.params(f"{count} control points of a curve of degree {degree}")
    found = np.zeros((pieces * segments + 1, count))
    t = np.linspace(0, 1, segments + 1)
    if basis in _CUBIC:
        piece = np.stack([t**k for k in range(4)], 1) @ _CUBIC[D3DBASISTYPE(basis)]
    else:
        piece = np.stack([comb(degree, k) * t**k * (1 - t) ** (degree - k) for k in range(degree + 1)], 1)
    for number in range(pieces):
        found[number * segments : (number + 1) * segments + 1] = 0
        found[number * segments : (number + 1) * segments + 1, number * step : number * step + piece.shape[1]] = piece
    return found


def grid(rows: int, columns: int) -> npt.NDArray[np.uint32]:
    """Triangles of a grid of vertices."""
    at = np.arange(rows * columns, dtype=np.uint32).reshape(rows, columns)
    a, b, c, d = at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]
    return np.stack([a, b, c, a, c, d], -1).reshape(-1)


def triangle_weights(degree: int, segments: int) -> tuple[Array, npt.NDArray[np.uint32]]:
    """Bernstein weights over a triangle, whose control points come in rows of 1, 2, 3, …, and the triangles between the places."""
    exponents = [(degree - row, row - i, i) for row in range(degree + 1) for i in range(row + 1)]
    places = [(segments - row, row - i, i) for row in range(segments + 1) for i in range(row + 1)]
    uvw = np.array(places) / segments
    found = np.stack(
        [
            factorial(degree) / (factorial(i) * factorial(j) * factorial(k)) * uvw[:, 0] ** i * uvw[:, 1] ** j * uvw[:, 2] ** k
            for i, j, k in exponents
        ],
        1,
    )
    triangles = []
    for row in range(segments):
        first, below = row * (row + 1) // 2, (row + 1) * (row + 2) // 2
        for i in range(row + 1):
            triangles.append((first + i, below + i + 1, below + i))
            if i < row:
                triangles.append((first + i, first + i + 1, below + i + 1))
    return found, np.array(triangles, np.uint32).reshape(-1)


class Patches:
    """The patches of one context."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._patches: dict[int, Patch] = {}

    def delete(self, handle: int) -> None:
        """DELETERTPATCH."""
        self._patches.pop(handle, None)

    async def find(
        self, e: Any, tail: memoryview, rectangle: bool, format: VertexFormat | None, sources: Mapping[int, Source]
    ) -> tuple[Patch, list[float]] | None:
        """The patch of a command and the segments that it asks for; None when there is nothing to draw. Raises CommandError."""
        handle, flags = int(e["Handle"]), int(e["Flags"])
        count = 4 if rectangle else 3
        segments: list[float] = []
        if flags & RTPATCHFLAG.HASSEGS:
            segments = np.frombuffer(tail[: 4 * count], "<f4").tolist()
            tail = tail[4 * count :]
        if flags & RTPATCHFLAG.HASINFO:
            assert format is not None
            record = np.frombuffer(tail, D3DRECTPATCH_INFO_DTYPE if rectangle else D3DTRIPATCH_INFO_DTYPE)[0]
            patch = await (self._rectangle if rectangle else self._triangle)(record, format, sources)
            if handle:
                if handle not in self._patches and len(self._patches) >= MAX_PATCHES:
                    raise CommandError.params(f"{MAX_PATCHES} patches exist already")
                self._patches[handle] = patch
            return patch, segments
        if not handle:
            raise CommandError.params("a patch without a handle and without its information")
        found = self._patches.get(handle)
        return None if found is None or isinstance(found.shape, int) is rectangle else (found, segments)

    async def _rectangle(self, info: Any, format: VertexFormat, sources: Mapping[int, Source]) -> Patch:
        width, height, stride = int(info["Width"]), int(info["Height"]), int(info["Stride"])
        basis, degree = self._curve(int(info["Basis"]), int(info["Degree"]))
        if not 0 < width * height <= MAX_POINTS or width > stride:
            raise CommandError.params(f"{width} x {height} control points with a stride of {stride}")
        row = int(info["StartVertexOffsetHeight"]) * stride + int(info["StartVertexOffsetWidth"])
        if row + height * stride > 1 << 40:
            raise CommandError.params("control points outside of their buffer")
        index = row + np.arange(height)[:, None] * stride + np.arange(width)[None, :]
        weights(width, basis, degree, 1)
        weights(height, basis, degree, 1)
        points = await self._read(index.reshape(-1), format, sources)
        return Patch(_written(format), points, (height, width), basis, degree)

    async def _triangle(self, info: Any, format: VertexFormat, sources: Mapping[int, Source]) -> Patch:
        basis, degree = self._curve(int(info["Basis"]), int(info["Degree"]))
        count = (degree + 1) * (degree + 2) // 2
        if basis != D3DBASISTYPE.BEZIER or int(info["NumVertices"]) != count:
            raise CommandError.params(f"{int(info['NumVertices'])} control points of a triangle of degree {degree}")
        points = await self._read(int(info["StartVertexOffset"]) + np.arange(count), format, sources)
        return Patch(_written(format), points, degree, basis, degree)

    @staticmethod
    def _curve(basis: int, degree: int) -> tuple[int, int]:
        if basis not in D3DBASISTYPE._value2member_map_ or degree not in D3DDEGREETYPE._value2member_map_:
            raise CommandError.params(f"a patch of basis {basis} and degree {degree}")
        if basis in _CUBIC and degree != D3DDEGREETYPE.CUBIC:
            raise CommandError.unsupported(f"a patch of basis {D3DBASISTYPE(basis).name} that is not cubic")
        return basis, degree

    async def _read(self, index: npt.NDArray[Any], format: VertexFormat, sources: Mapping[int, Source]) -> tuple[Array, ...]:
        """Every element of the vertices that ``index`` names. Raises CommandError, DeviceError."""
        data = {stream: await transient.read(self._core, sources[stream].resource) for stream in format.streams}
        found = []
        for e in format.elements:
            if e.type not in (*_FLOATS, T.D3DCOLOR):
                raise CommandError.unsupported(f"a patch with a vertex element of type {e.type.name}")
            source = sources[e.stream]
            if int(index.max()) * source.stride > 1 << 40:
                raise CommandError.params("control points outside of their buffer")
            begin = source.offset + index * source.stride + e.offset
            if len(begin) and int(begin.max()) + SIZES[e.type] > data[e.stream].nbytes:
                raise CommandError.params("control points outside of their buffer")
            raw = data[e.stream][begin[:, None] + np.arange(SIZES[e.type])[None, :]]
            found.append((raw.view("<f4") if e.type is not T.D3DCOLOR else raw).astype(np.float64))
        return tuple(found)


def tessellate(patch: Patch, segments: list[float], default: float) -> tuple[bytes, Primitives]:
    """Vertices of the patch's format, and the triangles between them. Raises CommandError."""
    wanted = max((s for s in segments or [default] if isfinite(s)), default=1.0)
    number = max(1, min(MAX_SEGMENTS, ceil(wanted)))
    if isinstance(patch.shape, int):
        matrix, triangles = triangle_weights(patch.degree, number)
        results = [matrix @ p for p in patch.points]
    else:
        height, width = patch.shape
        down = weights(height, patch.basis, patch.degree, number)
        across = weights(width, patch.basis, patch.degree, number)
        if len(down) * len(across) > 1 << 20:
            raise CommandError.params(f"a patch of {len(down)} x {len(across)} vertices")
        results = [
            np.einsum("ij,kl,jlc->ikc", down, across, p.reshape(height, width, -1), optimize=True).reshape(-1, p.shape[1])
            for p in patch.points
        ]
        triangles = grid(len(down), len(across))
    vertices = np.zeros((len(results[0]), patch.format.size(0)), np.uint8)
    for e, values in zip(patch.format.elements, results, strict=True):
        with np.errstate(all="ignore"):
            if e.type is T.D3DCOLOR:
                raw = np.clip(np.rint(values), 0, 255).astype(np.uint8)
            else:
                raw = np.ascontiguousarray(values, "<f4").view(np.uint8)
        vertices[:, e.offset : e.offset + SIZES[e.type]] = raw
    return vertices.tobytes(), Primitives(Topology.TRIANGLES, indices=triangles)


def _written(format: VertexFormat) -> VertexFormat:
    """The format of tessellated vertices: the same elements, one behind the other in stream 0."""
    elements = []
    at = 0
    for e in format.elements:
        elements.append(Element(e.register, e.type, at, 0, e.usage, e.usage_index))
        at += SIZES[e.type]
    return VertexFormat(tuple(elements), format.transformed, format.weights)
