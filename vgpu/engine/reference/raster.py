"""Rasterisation: from clipped primitives to quads with coverage.

Positions are snapped to 1/256 pixel; coverage is decided with exact integers. Triangles: pixel centres (or sample positions)
inside, top-left rule. Lines: diamond-exit rule, or a rectangle 1.4 pixels wide when the rasteriser state says multisample, or
antialiased by alpha on a target of one sample. Points: a square of one pixel. DEVIATES: the lines of a wireframe are always
aliased.

Whatever the primitive, a :class:`Setup` says how to interpolate: up to three weights that are linear in the pixel's place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .clip import RANGE

Array = npt.NDArray[Any]
SUBPIXEL: Final = 256
#: Quads looked at, at once.
QUADS: Final = 16384
#: The middles of the sixteen parts of a pixel, 1/16 pixel from its centre.
PARTS: Final[Array] = np.array([(x, y) for y in (-6, -2, 2, 6) for x in (-6, -2, 2, 6)])
#: Half the width of a multisampled line, pixels.
_HALF_LINE: Final = 0.7


@dataclass(slots=True)
class Setup:
    """Primitives ready to rasterise, by columns; lengths T. Triangles turn clockwise in ``x``, ``y`` (fixed point).

    Weight k at (px, py) in fixed point is ``(linear[t, k] · (px, py, 1)) / divisor[t]``.
    """

    x: Array  #: (T, 3)
    y: Array
    linear: Array  #: (T, 3, 3) float64
    divisor: Array  #: (T,) float64
    weights: Array  #: (T, 3, 3): weights of the source primitive's vertices, per piece vertex
    inverse_w: Array  #: (T, 3)
    z: Array  #: (T, 3) depth in the viewport
    source: Array  #: (T,) source primitive
    front: Array  #: (T,) bool
    rectangle: Array  #: (T, 4) left, top, right, bottom pixels (right and bottom excluded)
    bias: Array  #: (T,) depth bias
    edges: Array  #: (T, 3) bool: edge from vertex k to the next belongs to the source primitive

    def pick(self, which: Array) -> Setup:
        """Some of the primitives."""
        return Setup(*(getattr(self, name)[which] for name in self.__slots__))

    def __len__(self) -> int:
        return len(self.source)


@dataclass(slots=True)
class Quads:
    """2x2 blocks of pixels: primitive, place in quads, coverage ``(Q, 4, samples)``; lanes 0 1 above 2 3."""

    primitive: Array
    x: Array
    y: Array
    coverage: Array
    part: Array | None = None  #: of smooth lines: how much of each pixel is covered, ``(Q, 4)`` float32


def snap(position: Array) -> Array:
    """Pixels to fixed point, to nearest even; what rounding pushed out of its range (``clip``) comes to its end."""
    result: Array = np.rint(np.clip(position, -RANGE, RANGE) * SUBPIXEL).astype(np.int64)
    return result


def triangle_linear(x: Array, y: Array) -> tuple[Array, Array]:
    """Edge functions and twice the area of triangles: coefficients ``(T, 3, 3)`` int64; edge k lies opposite vertex k."""
    xa, ya, xb, yb = (np.roll(v, -s, axis=1) for s in (1, 2) for v in (x, y))
    a, b = ya - yb, xb - xa
    c = -(a * xa + b * ya)
    area = (x[:, 1] - x[:, 0]) * (y[:, 2] - y[:, 0]) - (y[:, 1] - y[:, 0]) * (x[:, 2] - x[:, 0])
    return np.stack([a, b, c], 2), area


def polygons(x: Array, y: Array, rectangle: Array, places: Array) -> Iterator[Quads]:
    """Covered quads of convex polygons ``x, y (T, K)`` that turn clockwise on the screen, in order. ``places``: of samples, 1/16
    pixel from the centre.
    """
    to_x, to_y = np.roll(x, -1, axis=1), np.roll(y, -1, axis=1)
    a, b = y - to_y, to_x - x
    c = -(a * x + b * y)
    top_left = (a > 0) | (a == 0) & (b > 0)
    c = c - np.where(top_left, 0, 1)  # inside: >= 0
    offsets = 128 + 16 * places
    low, high = int(offsets.min()), int(offsets.max())
    left = np.maximum(rectangle[:, 0], (x.min(1) - high + 255) // SUBPIXEL)
    top = np.maximum(rectangle[:, 1], (y.min(1) - high + 255) // SUBPIXEL)
    right = np.minimum(rectangle[:, 2], (x.max(1) - low) // SUBPIXEL + 1)
    bottom = np.minimum(rectangle[:, 3], (y.max(1) - low) // SUBPIXEL + 1)
    for t, qx, qy in _boxes(left, top, right, bottom):
        px, py = _lanes(qx, qy)
        inside = (px >= left[t, None]) & (px < right[t, None]) & (py >= top[t, None]) & (py < bottom[t, None])
        coverage = np.repeat(inside[:, :, None], len(places), axis=2)
        at_x = px[:, :, None] * SUBPIXEL + offsets[:, 0]
        at_y = py[:, :, None] * SUBPIXEL + offsets[:, 1]
        for k in range(x.shape[1]):
            coverage &= a[t, k, None, None] * at_x + b[t, k, None, None] * at_y + c[t, k, None, None] >= 0
        some = coverage.any(axis=(1, 2))
        if some.any():
            yield Quads(t[some], qx[some], qy[some], coverage[some])


def _lanes(qx: Array, qy: Array) -> tuple[Array, Array]:
    """Pixels of quads, ``(Q, 4)``."""
    return 2 * qx[:, None] + np.array([0, 1, 0, 1]), 2 * qy[:, None] + np.array([0, 0, 1, 1])


def _boxes(left: Array, top: Array, right: Array, bottom: Array) -> Iterator[tuple[Array, Array, Array]]:
    """All quads of boxes of pixels, in order of boxes, some at a time: box, x, y."""
    qx, qy = left >> 1, top >> 1
    columns = np.where((right > left) & (bottom > top), ((right - 1) >> 1) - qx + 1, 0)
    counts = columns * np.maximum(((bottom - 1) >> 1) - qy + 1, 0)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, QUADS):
        flat = np.arange(start, min(start + QUADS, total))
        t = np.searchsorted(ends, flat, side="right")
        local = flat - (ends[t] - counts[t])
        yield t, qx[t] + local % columns[t], qy[t] + local // columns[t]


# --- lines and points --------------------------------------------------------------------------------------------------


def smooth(x: Array, y: Array, rectangle: Array) -> Iterator[Quads]:
    """Quads of :func:`polygons` whose pixels are covered in part: sixteen places are looked at in each."""
    for quads in polygons(x, y, rectangle, PARTS):
        covered = quads.coverage.sum(axis=2)
        yield Quads(quads.primitive, quads.x, quads.y, covered[:, :, None] > 0, (covered / len(PARTS)).astype(np.float32))


def line_linear(x: Array, y: Array) -> tuple[Array, Array]:
    """Weights along the major axis of lines ``x, y (T, 2)``: coefficients ``(T, 3, 3)`` and divisor."""
    dx, dy = x[:, 1] - x[:, 0], y[:, 1] - y[:, 0]
    wide = np.abs(dx) >= np.abs(dy)
    divisor = np.where(wide, dx, dy)
    out = np.zeros((len(x), 3, 3))
    out[:, 0, 0], out[:, 0, 1] = -wide.astype(float), -(~wide).astype(float)
    out[:, 1] = -out[:, 0]
    out[:, 0, 2] = np.where(wide, x[:, 1], y[:, 1])
    out[:, 1, 2] = -np.where(wide, x[:, 0], y[:, 0])
    return out, np.where(divisor == 0, 1, divisor).astype(np.float64)


def leaves_diamond(x0: int, y0: int, x1: int, y1: int, cx: Array, cy: Array) -> Array:
    """Whether a line leaves the diamonds round pixel centres, all in fixed point: the diamond-exit rule.

    A diamond holds its inside, its two lower edges and its bottom corner; for lines steeper than 45 degrees its right corner too.
    It is left when it meets the line but does not hold the line's end.
    """
    half = SUBPIXEL // 2
    dx, dy = x1 - x0, y1 - y0
    # Along the diamond's edges: u grows to the lower right, v to the upper right.
    u0, v0 = (x0 - cx) + (y0 - cy), (x0 - cx) - (y0 - cy)
    u1, v1 = (x1 - cx) + (y1 - cy), (x1 - cx) - (y1 - cy)
    misses = (np.minimum(u0, u1) > half) | (np.maximum(u0, u1) <= -half)
    misses |= (np.maximum(v0, v1) < -half) | (np.minimum(v0, v1) >= half)
    ends_in = (-half < u1) & (u1 <= half) & (-half <= v1) & (v1 < half)
    # Across the line: the corners of the diamond that are farthest from it lie at distance ``far``.
    e, far = dx * (cy - y0) - dy * (cx - x0), half * max(abs(dx), abs(dy))
    misses |= np.abs(e) > far
    if abs(dx) >= abs(dy):
        misses |= e == (far if dx > 0 else -far)  # along or at the top of the diamond
    else:
        misses |= e == -half * dy  # through the left corner
        right = (e == half * dy) & (cy >= min(y0, y1)) & (cy <= max(y0, y1))
        misses = np.where(e == half * dy, ~right, misses)
        ends_in |= (u1 == half) & (v1 == half)
    result: Array = ~misses & ~ends_in
    return result


def line_pixels(x0: int, y0: int, x1: int, y1: int, rectangle: Array) -> tuple[Array, Array]:
    """Pixels ``(x, y)`` that an aliased line lights. Fixed-point ends."""
    dx, dy = x1 - x0, y1 - y0
    if not dx and not dy:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    wide = abs(dx) >= abs(dy)
    # Along the major axis every pixel that the line reaches; across it the one that the line's middle goes through, and its
    # neighbours.
    m0, m1, n0 = (x0, x1, y0) if wide else (y0, y1, x0)
    low, high = (rectangle[0], rectangle[2]) if wide else (rectangle[1], rectangle[3])
    first, last = max(int(low), min(m0, m1) // SUBPIXEL - 1), min(int(high) - 1, max(m0, m1) // SUBPIXEL + 1)
    major = np.arange(first, last + 1)
    rise, run = (dy, dx) if wide else (dx, dy)
    middle = (n0 * run + (major * SUBPIXEL + 128 - m0) * rise) * (1 if run > 0 else -1) // (SUBPIXEL * abs(run))
    minor = (middle[:, None] + np.array([-1, 0, 1])).reshape(-1)
    major = np.repeat(major, 3)
    px, py = (major, minor) if wide else (minor, major)
    keep = (px >= rectangle[0]) & (px < rectangle[2]) & (py >= rectangle[1]) & (py < rectangle[3])
    px, py = px[keep], py[keep]
    lit = leaves_diamond(x0, y0, x1, y1, px * SUBPIXEL + 128, py * SUBPIXEL + 128)
    return px[lit], py[lit]


def from_pixels(primitive: Array, x: Array, y: Array, samples: int) -> Iterator[Quads]:
    """Quads of single pixels, all their samples covered; pixels of one primitive distinct, primitives ascending."""
    order = np.lexsort((x >> 1, y >> 1, primitive))
    primitive, x, y = primitive[order], x[order], y[order]
    key = np.stack([primitive, y >> 1, x >> 1], 1)
    new = np.concatenate([[True], (key[1:] != key[:-1]).any(axis=1)]) if len(key) else np.zeros(0, bool)
    quad = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    coverage = np.zeros((len(starts), 4, samples), bool)
    coverage[quad, (x & 1) + 2 * (y & 1)] = True
    for i in range(0, len(starts), QUADS):
        s = starts[i : i + QUADS]
        yield Quads(primitive[s], x[s] >> 1, y[s] >> 1, coverage[i : i + QUADS])


def lines(setup: Setup, ends: Array, samples: int) -> Iterator[Quads]:
    """Aliased lines. ``ends (L, 3)``: primitive, first vertex, second vertex; primitives ascending."""
    parts: list[tuple[Array, Array, Array]] = []
    count = 0
    for t, a, b in ends.tolist():
        px, py = line_pixels(int(setup.x[t, a]), int(setup.y[t, a]), int(setup.x[t, b]), int(setup.y[t, b]), setup.rectangle[t])
        parts.append((np.full(len(px), t), px, py))
        count += len(px)
        if count > 4 * QUADS:
            yield from _pixels(parts, samples)
            parts, count = [], 0
    yield from _pixels(parts, samples)


def _pixels(parts: list[tuple[Array, Array, Array]], samples: int) -> Iterator[Quads]:
    if parts:
        t, x, y = (np.concatenate(c) for c in zip(*parts, strict=True))
        unique = np.unique(np.stack([t, y, x], 1), axis=0)  # edges of one triangle share pixels
        yield from from_pixels(unique[:, 0], unique[:, 2], unique[:, 1], samples)


def fat_lines(setup: Setup) -> tuple[Array, Array]:
    """Corners ``x, y (T, 4)`` of multisampled lines."""
    dx, dy = (v[:, 1].astype(np.float64) - v[:, 0] for v in (setup.x, setup.y))
    length = np.maximum(np.sqrt(dx * dx + dy * dy), 1e-9)
    nx, ny = (np.rint(d / length * _HALF_LINE * SUBPIXEL).astype(np.int64) for d in (-dy, dx))
    x0, y0, x1, y1 = setup.x[:, 0], setup.y[:, 0], setup.x[:, 1], setup.y[:, 1]
    return np.stack([x0 - nx, x1 - nx, x1 + nx, x0 + nx], 1), np.stack([y0 - ny, y1 - ny, y1 + ny, y0 + ny], 1)


def point_squares(setup: Setup) -> tuple[Array, Array]:
    """Corners ``x, y (T, 4)`` of points: squares of one pixel."""
    return setup.x[:, :1] + np.array([-128, 128, 128, -128]), setup.y[:, :1] + np.array([-128, -128, 128, 128])
