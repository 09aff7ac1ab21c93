"""The fixed-function tessellator: from tessellation factors to domain points and primitives, one patch at a time.

An edge of factor f is cut into n segments. Integer and power-of-two partitioning: n equal ones. Fractional: n is the next odd or
even number; all segments have the length 1/f but two, which grow from nothing as f does, placed where n - 2 becomes n; the cuts are
symmetric about the middle. Rings of points lead from the outside factors in to the inside factors; between two rings, triangles
are stitched by walking both in the order of their places. DEVIATES: the order of triangles within a patch, and which diagonal a
transition takes, are this device's own (they are published nowhere); the points on every edge depend on its factor alone, so
that neighbours meet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

ISOLINE, TRIANGLE, QUAD = 1, 2, 3
INTEGER, POWER_OF_TWO, FRACTIONAL_ODD, FRACTIONAL_EVEN = 1, 2, 3, 4
OUTPUT_POINT, OUTPUT_LINE, OUTPUT_CW, OUTPUT_CCW = 1, 2, 3, 4
MAX_FACTOR: Final = 64.0

Point = tuple[float, ...]


@dataclass(slots=True)
class Mesh:
    """Domain points (u, v or barycentric u, v, w) and primitives of point numbers."""

    points: list[Point] = field(default_factory=list)
    primitives: list[tuple[int, ...]] = field(default_factory=list)


def clamp_factor(factor: float, partitioning: int, limit: float = MAX_FACTOR) -> float:
    """A factor within what the partitioning takes; integer kinds are rounded up."""
    if math.isnan(factor):
        factor = 0.0
    low, high = (2.0, 64.0) if partitioning == FRACTIONAL_EVEN else (1.0, 63.0 if partitioning == FRACTIONAL_ODD else 64.0)
    factor = min(max(factor, low), max(low, min(high, limit)))
    if partitioning == INTEGER:
        return float(math.ceil(factor))
    if partitioning == POWER_OF_TWO:
        return float(1 << (math.ceil(factor) - 1).bit_length())
    return factor


def segments(factor: float, partitioning: int) -> int:
    """Number of segments for a clamped factor."""
    n = math.ceil(factor)
    if partitioning == FRACTIONAL_ODD:
        return n | 1
    if partitioning == FRACTIONAL_EVEN:
        return n + (n & 1)
    return n


@lru_cache(maxsize=1024)
def cuts(factor: float, partitioning: int) -> tuple[float, ...]:
    """Places 0..1 of the n + 1 points along an edge."""
    n = segments(factor, partitioning)
    if partitioning in (INTEGER, POWER_OF_TWO) or factor == n:
        return tuple(_mirror([i / n for i in range(n // 2 + 1)], n))
    # n - 2 segments of length 1/factor, and two short ones that share what is left, one in each half.
    short = (factor - (n - 2)) / 2 / factor
    half = n // 2
    where = _split_place(half)
    left = [0.0]
    for i in range(half):
        left.append(left[-1] + (short if i == where else 1 / factor))
    return tuple(_mirror(left, n))


def _split_place(half: int) -> int:
    """Which segment of a half is the one that grows: the bit-reversed order in which halves were split so far."""
    if half <= 1:
        return 0
    top = 1 << (half - 1).bit_length() - 1
    return min(2 * (half - 1 - top), half - 1)


def _mirror(left: list[float], n: int) -> list[float]:
    """The whole edge from its first half; exactly symmetric. Odd n: the middle segment lies across the middle."""
    right = [1 - v for v in reversed(left)]
    if n % 2 == 0:
        left = [*left[:-1], 0.5]
        return left + right[1:]
    return left + right


def tessellate(
    domain: int, partitioning: int, output: int, edges: tuple[float, ...], inside: tuple[float, ...], limit: float = MAX_FACTOR
) -> Mesh:
    """The mesh of one patch; empty when an edge factor is not positive. ``edges``: 4, 3 or 2 (density, detail); ``inside``: 2, 1
    or none."""
    if any(not e > 0 for e in edges):  # NaN culls as well
        return Mesh()
    if domain == ISOLINE:
        return _isolines(partitioning, output, edges, limit)
    mesh = Mesh()
    if domain == QUAD:
        _quad(mesh, partitioning, edges, inside, limit)
    else:
        _triangle(mesh, partitioning, edges, inside[0], limit)
    if output == OUTPUT_POINT:
        mesh.primitives = [(i,) for i in range(len(mesh.points))]
    elif output == OUTPUT_CCW:
        mesh.primitives = [(a, c, b) for a, b, c in mesh.primitives]
    return mesh


def _isolines(partitioning: int, output: int, edges: tuple[float, ...], limit: float) -> Mesh:
    """Density: lines, spaced evenly, none at v = 1. Detail: segments of each."""
    density = int(clamp_factor(edges[0], INTEGER, limit))
    places = cuts(clamp_factor(edges[1], partitioning, limit), partitioning)
    mesh = Mesh()
    for row in range(density):
        first = len(mesh.points)
        mesh.points += [(u, row / density) for u in places]
        if output != OUTPUT_POINT:
            mesh.primitives += [(first + i, first + i + 1) for i in range(len(places) - 1)]
    if output == OUTPUT_POINT:
        mesh.primitives = [(i,) for i in range(len(mesh.points))]
    return mesh


# --- rings -----------------------------------------------------------------------------------------------------------------


def _add(mesh: Mesh, points: list[Point]) -> list[int]:
    first = len(mesh.points)
    mesh.points += points
    return list(range(first, first + len(points)))


def _stitch(mesh: Mesh, outer: list[int], outer_at: list[float], inner: list[int], inner_at: list[float]) -> None:
    """Triangles between two chains that run the same way, clockwise seen with the inner one on the right."""
    i = j = 0
    while i < len(outer) - 1 or j < len(inner) - 1:
        forward_outer = j == len(inner) - 1 or (
            i < len(outer) - 1 and outer_at[i] + outer_at[i + 1] <= inner_at[j] + inner_at[j + 1]
        )
        if forward_outer:
            mesh.primitives.append((outer[i], outer[i + 1], inner[j]))
            i += 1
        else:
            mesh.primitives.append((inner[j], outer[i], inner[j + 1]))
            j += 1


def _inner_factor(factor: float, partitioning: int, others: tuple[float, ...], limit: float) -> float:
    """An inside factor; with odd partitioning one of 1 grows a little when an edge is cut, so that there is an inside."""
    factor = clamp_factor(factor, partitioning, limit)
    if factor == 1 and any(clamp_factor(e, partitioning, limit) > 1 for e in others):
        return clamp_factor(math.nextafter(1.0, 2.0), partitioning) if partitioning != POWER_OF_TWO else 2.0
    return factor


def _quad(mesh: Mesh, partitioning: int, edges: tuple[float, ...], inside: tuple[float, ...], limit: float) -> None:
    """Edges: u = 0, v = 0, u = 1, v = 1."""
    outer = [cuts(clamp_factor(e, partitioning, limit), partitioning) for e in edges]
    factors = []
    for axis in (0, 1):
        others = (*edges, inside[1 - axis])
        factors.append(_inner_factor(inside[axis], partitioning, others, limit))
    u, v = (cuts(f, partitioning) for f in factors)
    nu, nv = len(u) - 1, len(v) - 1
    if nu == 1 and nv == 1:
        a, b, c, d = _add(mesh, [(0, 0), (1, 0), (1, 1), (0, 1)])
        mesh.primitives += [(a, b, c), (a, c, d)]
        return
    # The ring of the patch's edges, clockwise in a picture whose v points down: along v = 0, u = 1, v = 1, u = 0.
    sides: list[tuple[list[float], list[Point]]] = [
        (list(outer[1]), [(t, 0.0) for t in outer[1]]),
        (list(outer[2]), [(1.0, t) for t in outer[2]]),
        ([1 - t for t in reversed(outer[3])], [(t, 1.0) for t in reversed(outer[3])]),
        ([1 - t for t in reversed(outer[0])], [(0.0, t) for t in reversed(outer[0])]),
    ]
    chains = _ring(mesh, [points for _, points in sides])
    # The inner grid: points (u[i], v[j]) with 1 <= i < nu, 1 <= j < nv; a factor of 2 leaves a line or a point.
    ui, vj = list(u[1:-1]) or [0.5], list(v[1:-1]) or [0.5]
    grid = [_add(mesh, [(a, b) for a in ui]) for b in vj]
    top, bottom = grid[0], list(reversed(grid[-1]))
    right, left = [row[-1] for row in grid], [row[0] for row in reversed(grid)]
    inner = [(top, ui), (right, vj), (bottom, [1 - t for t in reversed(ui)]), (left, [1 - t for t in reversed(vj)])]
    for (at, _), chain, (numbers, places) in zip(sides, chains, inner, strict=True):
        _stitch(mesh, chain, at, numbers, places)
    for j in range(len(vj) - 1):
        for i in range(len(ui) - 1):
            a, b, c, d = grid[j][i], grid[j][i + 1], grid[j + 1][i + 1], grid[j + 1][i]
            mesh.primitives += [(a, b, c), (a, c, d)]


def _ring(mesh: Mesh, sides: list[list[Point]]) -> list[list[int]]:
    """Points of a closed ring of sides, corners shared; point numbers of each side."""
    numbers = [_add(mesh, side[:-1]) for side in sides]
    return [[*n, numbers[(i + 1) % len(numbers)][0]] for i, n in enumerate(numbers)]


def _triangle(mesh: Mesh, partitioning: int, edges: tuple[float, ...], inside: float, limit: float) -> None:
    """Edges: u = 0, v = 0, w = 0. Rings lie at equal steps towards the middle."""
    outer = [cuts(clamp_factor(e, partitioning, limit), partitioning) for e in edges]
    factor = _inner_factor(inside, partitioning, edges, limit)
    places = cuts(factor, partitioning)
    n = len(places) - 1
    corners = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))  # U V W
    if n == 1:
        a, b, c = _add(mesh, list(corners))
        mesh.primitives.append((a, b, c))
        return

    def along(a: Point, b: Point, at: float) -> Point:
        return tuple(x + (y - x) * at for x, y in zip(a, b, strict=True))

    # Sides of the outer ring: U to V (w = 0), V to W (u = 0), W to U (v = 0).
    order = (2, 0, 1)
    at = [list(outer[k]) for k in order]
    chains = _ring(mesh, [[along(corners[i], corners[(i + 1) % 3], t) for t in at[i]] for i in range(3)])
    for ring in range(1, n // 2 + 1):
        within = list(places[ring : n + 1 - ring])
        low, high = within[0], within[-1]
        scaled = [(t - low) / (high - low) if high > low else 0.0 for t in within]
        inner_corners = [along(c, (1 / 3, 1 / 3, 1 / 3), 2 * places[ring]) for c in corners]
        if len(within) == 1:
            (middle,) = _add(mesh, [(1 / 3, 1 / 3, 1 / 3)])
            for i in range(3):
                _stitch(mesh, chains[i], at[i], [middle], [0.5])
            return
        numbers = _ring(mesh, [[along(inner_corners[i], inner_corners[(i + 1) % 3], t) for t in scaled] for i in range(3)])
        for i in range(3):
            _stitch(mesh, chains[i], at[i], numbers[i], within)
        chains, at = numbers, [within] * 3
    # An odd number of segments ends in a ring of one segment per side.
    mesh.primitives.append((chains[0][0], chains[1][0], chains[2][0]))
