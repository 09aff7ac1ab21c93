"""The fixed-function tessellator: from tessellation factors to domain points and primitives, one patch at a time.

Direct3D's arithmetic, in 16.16 fixed point, so that points fall where they do on any Direct3D 11 device. An edge of factor f is cut
into n segments, the next whole (integer), odd or even number. A fractional factor lies between two numbers of segments, n - 2 and
n; every point moves evenly from its place among the fewer to its place among the more, and one point of each half begins where
its neighbour is. Cuts are symmetric about the middle. Rings of points lead from the outside factors in to the inside factors;
between two rings, triangles are stitched by walking both in the order of their places. DEVIATES: the order of points and triangles
within a patch, and which diagonal a transition takes, are this device's own (the same each time); the points themselves are
Direct3D's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final

ISOLINE, TRIANGLE, QUAD = 1, 2, 3
INTEGER, POWER_OF_TWO, FRACTIONAL_ODD, FRACTIONAL_EVEN = 1, 2, 3, 4
OUTPUT_POINT, OUTPUT_LINE, OUTPUT_CW, OUTPUT_CCW = 1, 2, 3, 4
MAX_FACTOR: Final = 64.0
ONE: Final = 1 << 16
HALF: Final = ONE // 2
THIRD: Final = 0x5555
TWO_THIRDS: Final = 0xAAAA

Point = tuple[float, ...]
#: u and v, 16.16.
Place = tuple[int, int]


@dataclass(slots=True)
class Mesh:
    """Domain points (u, v or barycentric u, v, w) and primitives of point numbers."""

    points: list[Point] = field(default_factory=list)
    primitives: list[tuple[int, ...]] = field(default_factory=list)


def clamp_factor(factor: float, partitioning: int, limit: float = MAX_FACTOR) -> int:
    """A factor within what the partitioning takes, 16.16; integer kinds are rounded up."""
    if math.isnan(factor):
        factor = 0.0
    low, high = (2.0, 64.0) if partitioning == FRACTIONAL_EVEN else (1.0, 63.0 if partitioning == FRACTIONAL_ODD else 64.0)
    factor = min(max(factor, low), max(low, min(high, limit)))
    if partitioning == INTEGER:
        factor = math.ceil(factor)
    elif partitioning == POWER_OF_TWO:
        factor = 1 << (math.ceil(factor) - 1).bit_length()
    return round(factor * ONE)


def is_odd(factor: int, partitioning: int) -> bool:
    """Whether an edge is cut into an odd number of segments."""
    if partitioning in (INTEGER, POWER_OF_TWO):
        return bool(factor // ONE & 1)
    return partitioning == FRACTIONAL_ODD


def segments(factor: int, odd: bool) -> int:
    """Number of segments for a clamped factor."""
    half = factor + 1 >> 1
    return 2 * (-(-(half + HALF) // ONE)) - 1 if odd else 2 * -(-half // ONE)


@lru_cache(maxsize=4096)
def cuts(factor: int, odd: bool) -> tuple[int, ...]:
    """Places 0..ONE of the points along an edge."""
    half = factor + 1 >> 1
    if odd or half == HALF:
        half += HALF
    floor, ceil, fraction = half // ONE, -(-half // ONE), half % ONE
    # The point that comes in as one more segment of a half: halves are split in bit-reversed order.
    number = floor - 1 if odd else floor
    split = 2 * (number - (1 << number.bit_length() - 1)) + 1 if number else 0
    fewer, more = _reciprocal(2 * floor - odd), _reciprocal(2 * ceil - odd)

    def place(i: int) -> int:
        before = i - 1 if fraction and i > split else i
        return before * fewer * (ONE - fraction) + i * more * fraction + HALF >> 16

    left = [place(i) for i in range(ceil)]
    return (*left, *([] if odd else [HALF]), *(ONE - x for x in reversed(left)))


def _reciprocal(n: int) -> int:
    return (ONE + n // 2) // n


def tessellate(
    domain: int, partitioning: int, output: int, edges: tuple[float, ...], inside: tuple[float, ...], limit: float = MAX_FACTOR
) -> Mesh:
    """The mesh of one patch; empty when an edge factor is not positive. ``edges``: 4, 3 or 2 (density, detail); ``inside``: 2, 1
    or none."""
    if any(not e > 0 for e in edges):  # NaN culls as well
        return Mesh()
    builder = _Builder(partitioning)
    outer = [clamp_factor(e, partitioning, limit) for e in edges]
    if domain == ISOLINE:
        builder.isolines(clamp_factor(edges[0], INTEGER, limit), outer[1])
    else:
        inner = [clamp_factor(e, partitioning, limit) for e in inside]
        (builder.quad if domain == QUAD else builder.triangle)([builder.cut(f) for f in outer], builder.inner(inner, outer))
    points, primitives = builder.places, builder.primitives
    if output == OUTPUT_POINT:
        primitives = [(i,) for i in range(len(points))]
    elif output == OUTPUT_CCW and domain != ISOLINE:
        primitives = [(a, c, b) for a, b, c in primitives]
    if domain == TRIANGLE:
        return Mesh([(u / ONE, v / ONE, (ONE - u - v) / ONE) for u, v in points], primitives)
    return Mesh([(u / ONE, v / ONE) for u, v in points], primitives)


class _Builder:
    """A mesh under construction."""

    def __init__(self, partitioning: int) -> None:
        self.partitioning = partitioning
        self.places: list[Place] = []
        self.primitives: list[tuple[int, ...]] = []

    # --- factors -----------------------------------------------------------------------------------------------------

    def cut(self, factor: int) -> tuple[int, ...]:
        """The places of an edge."""
        return cuts(factor, is_odd(factor, self.partitioning))

    def inner(self, inside: list[int], edges: list[int]) -> list[tuple[int, ...]]:
        """The places of the inside factors. A factor of 1 beside one that is cut is cut as well, so that there is an inside."""
        if max(*inside, *edges) == ONE:
            return [self.cut(f) for f in inside]
        if self.partitioning == FRACTIONAL_ODD:
            return [self.cut(max(f, ONE + 1)) for f in inside]
        return [(0, HALF, ONE) if f == ONE else self.cut(f) for f in inside]

    # --- domains -----------------------------------------------------------------------------------------------------

    def isolines(self, density: int, detail: int) -> None:
        """Lines, spaced evenly, none at v = 1, each of the segments that detail says."""
        places = self.cut(detail)
        for v in cuts(density, bool(density // ONE & 1))[:-1]:
            numbers = self.add([(u, v) for u in places])
            self.primitives += [(a, a + 1) for a in numbers[:-1]]

    def quad(self, outer: list[tuple[int, ...]], inside: list[tuple[int, ...]]) -> None:
        """Edges: u = 0, v = 0, u = 1, v = 1."""
        u, v = inside
        if len(u) == len(v) == 2:
            a, b, c, d = self.add([(0, 0), (ONE, 0), (ONE, ONE), (0, ONE)])
            self.primitives += [(a, b, c), (a, c, d)]
            return
        # The ring of the patch's edges, clockwise in a picture whose v points down: along v = 0, u = 1, v = 1, u = 0.
        at = [outer[1], outer[2], outer[3], outer[0]]
        chains = self.ring([
            [(t, 0) for t in at[0]], [(ONE, t) for t in at[1]], [(ONE - t, ONE) for t in at[2]], [(0, ONE - t) for t in at[3]],
        ])  # fmt: skip
        # The inner grid: points (u[i], v[j]); a factor of 2 leaves a line or a point.
        columns, rows = u[1:-1], v[1:-1]
        grid = [self.add([(a, b) for a in columns]) for b in rows]
        inner = [grid[0], [row[-1] for row in grid], grid[-1][::-1], [row[0] for row in reversed(grid)]]
        for i in range(4):
            self.stitch(chains[i], at[i], inner[i], rows if i & 1 else columns)
        for above, below in pairwise(grid):
            for i in range(len(columns) - 1):
                self.primitives += [(above[i], above[i + 1], below[i + 1]), (above[i], below[i + 1], below[i])]

    def triangle(self, at: list[tuple[int, ...]], inside: list[tuple[int, ...]]) -> None:
        """Edges: u = 0, v = 0, w = 0. Rings run from V to W to U."""
        (places,) = inside
        n = len(places) - 1
        if n == 1:
            a, b, c = self.add([(0, ONE), (0, 0), (ONE, 0)])
            self.primitives.append((a, b, c))
            return
        chains = self.ring([[(0, ONE - t) for t in at[0]], [(t, 0) for t in at[1]], [(ONE - t, t) for t in at[2]]])
        for ring in range(1, n // 2 + 1):
            within = places[ring : n + 1 - ring]
            if len(within) == 1:
                middle = self.add([(THIRD, THIRD)])
                for i in range(3):
                    self.stitch(chains[i], at[i], middle, within)
                return
            deep = within[0] * TWO_THIRDS + HALF >> 16  # the coordinate that is constant along a side
            along = [t - (deep + 1 >> 1) for t in within]
            back = along[::-1]
            numbers = self.ring([[(deep, t) for t in back], [(t, deep) for t in along], [(t, ONE - t - deep) for t in back]])
            for i in range(3):
                self.stitch(chains[i], at[i], numbers[i], within)
            chains, at = numbers, [within] * 3
        # An odd number of segments ends in a ring of one segment per side.
        self.primitives.append((chains[0][0], chains[1][0], chains[2][0]))

    # --- rings -------------------------------------------------------------------------------------------------------

    def add(self, places: list[Place]) -> list[int]:
        """New points; their numbers."""
        first = len(self.places)
        self.places += places
        return list(range(first, first + len(places)))

    def ring(self, sides: list[list[Place]]) -> list[list[int]]:
        """Points of a closed ring of sides, corners shared; point numbers of each side."""
        numbers = [self.add(side[:-1]) for side in sides]
        return [[*n, numbers[(i + 1) % len(numbers)][0]] for i, n in enumerate(numbers)]

    def stitch(self, outer: list[int], outer_at: tuple[int, ...], inner: list[int], inner_at: tuple[int, ...]) -> None:
        """Triangles between two chains that run the same way, clockwise seen with the inner one on the right."""
        i = j = 0
        while i < len(outer) - 1 or j < len(inner) - 1:
            forward_outer = j == len(inner) - 1 or (
                i < len(outer) - 1 and outer_at[i] + outer_at[i + 1] <= inner_at[j] + inner_at[j + 1]
            )
            if forward_outer:
                self.primitives.append((outer[i], outer[i + 1], inner[j]))
                i += 1
            else:
                self.primitives.append((inner[j], outer[i], inner[j + 1]))
                j += 1
