"""Rasterisation: from clipped primitives to quads with coverage.

Positions are snapped to 1/256 pixel; coverage is decided with exact integers. Triangles: pixel centres (or sample positions)
inside, top-left rule. Lines: diamond-exit rule, or a rectangle 1.4 pixels wide when the rasteriser state says multisample.
Points: a square of one pixel. DEVIATES: lines antialiased by alpha are drawn aliased.

Whatever the primitive, a :class:`Setup` says how to interpolate: up to three weights that are linear in the pixel's place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .resources import sample_positions

Array = npt.NDArray[Any]
SUBPIXEL: Final = 256
#: Quads looked at, at once.
QUADS: Final = 16384
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


def snap(position: Array) -> Array:
    """Pixels to fixed point, to nearest even."""
    result: Array = np.rint(position * SUBPIXEL).astype(np.int64)
    return result


def triangle_linear(x: Array, y: Array) -> tuple[Array, Array]:
    """Edge functions and twice the area of triangles: coefficients ``(T, 3, 3)`` int64; edge k lies opposite vertex k."""
    xa, ya, xb, yb = (np.roll(v, -s, axis=1) for s in (1, 2) for v in (x, y))
    a, b = ya - yb, xb - xa
    c = -(a * xa + b * ya)
    area = (x[:, 1] - x[:, 0]) * (y[:, 2] - y[:, 0]) - (y[:, 1] - y[:, 0]) * (x[:, 2] - x[:, 0])
    return np.stack([a, b, c], 2), area


def _offsets(samples: int) -> Array:
    """Sample positions from a pixel's corner in fixed point."""
    return 128 + 16 * sample_positions(samples)


def triangles(setup: Setup, samples: int) -> Iterator[Quads]:
    """Covered quads of triangles, in order of primitives."""
    edges, _ = triangle_linear(setup.x, setup.y)
    a, b, c = edges[:, :, 0], edges[:, :, 1], edges[:, :, 2]
    top_left = (a > 0) | (a == 0) & (b > 0)
    c = c - np.where(top_left, 0, 1)  # inside: >= 0
    offsets = _offsets(samples)
    low, high = int(offsets.min()), int(offsets.max())
    left = np.maximum(setup.rectangle[:, 0], (setup.x.min(1) - high + 255) // SUBPIXEL)
    top = np.maximum(setup.rectangle[:, 1], (setup.y.min(1) - high + 255) // SUBPIXEL)
    right = np.minimum(setup.rectangle[:, 2], (setup.x.max(1) - low) // SUBPIXEL + 1)
    bottom = np.minimum(setup.rectangle[:, 3], (setup.y.max(1) - low) // SUBPIXEL + 1)
    for t, qx, qy in _boxes(left, top, right, bottom):
        px, py = _lanes(qx, qy)
        inside = (px >= left[t, None]) & (px < right[t, None]) & (py >= top[t, None]) & (py < bottom[t, None])
        coverage = np.repeat(inside[:, :, None], samples, axis=2)
        at_x = px[:, :, None] * SUBPIXEL + offsets[:, 0]
        at_y = py[:, :, None] * SUBPIXEL + offsets[:, 1]
        for k in range(3):
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


def line_pixels(x0: int, y0: int, x1: int, y1: int, rectangle: Array) -> tuple[Array, Array]:
    """Pixels that a line lights by the diamond-exit rule. Fixed-point ends."""
    if (x0, y0) == (x1, y1):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    wide = abs(x1 - x0) >= abs(y1 - y0)
    if not wide:
        columns, rows = line_pixels(y0, x0, y1, x1, rectangle[[1, 0, 3, 2]])
        return rows, columns
    first = max(int(rectangle[0]), min(x0, x1) // SUBPIXEL - 1)
    last = min(int(rectangle[2]) - 1, max(x0, x1) // SUBPIXEL + 1)
    columns = np.arange(first, last + 1)
    slope = (y1 - y0) / (x1 - x0)
    middle = np.floor((y0 + (columns * 256 + 128 - x0) * slope) / SUBPIXEL).astype(np.int64)
    columns = np.repeat(columns, 3)
    rows = (middle[:, None] + np.array([-1, 0, 1])).reshape(-1)
    keep = (rows >= rectangle[1]) & (rows < rectangle[3])
    columns, rows = columns[keep], rows[keep]
    # Distances from diamond centres; lower and right sides belong to a diamond: its centre is a hair lower and further right.
    cx, cy = columns * 256.0 + 128 + 1e-6, rows * 256.0 + 128 + 1e-4
    dx, dy = float(x1 - x0), float(y1 - y0)

    def distance(t: Array | float) -> Array:
        out: Array = np.abs(x0 + dx * t - cx) + np.abs(y0 + dy * t - cy)
        return out

    nearest = np.minimum(distance(0.0), distance(1.0))
    nearest = np.minimum(nearest, distance(np.clip((cx - x0) / dx, 0, 1)))
    if dy:
        nearest = np.minimum(nearest, distance(np.clip((cy - y0) / dy, 0, 1)))
    lit = (nearest < 128) & (distance(1.0) >= 128)
    return columns[lit], rows[lit]


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
        px, py = line_pixels(
            int(setup.x[t, a]), int(setup.y[t, a]), int(setup.x[t, b]), int(setup.y[t, b]), setup.rectangle[t]
        )
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


def fat_lines(setup: Setup) -> Setup:
    """Multisampled lines as two triangles each, which keep the line's weights."""
    x0, y0, x1, y1 = (v.astype(np.float64) for v in (setup.x[:, 0], setup.y[:, 0], setup.x[:, 1], setup.y[:, 1]))
    length = np.maximum(np.hypot(x1 - x0, y1 - y0), 1e-9)
    nx, ny = -(y1 - y0) / length * _HALF_LINE * SUBPIXEL, (x1 - x0) / length * _HALF_LINE * SUBPIXEL
    corner_x = np.rint(np.stack([x0 - nx, x1 - nx, x1 + nx, x0 + nx], 1)).astype(np.int64)
    corner_y = np.rint(np.stack([y0 - ny, y1 - ny, y1 + ny, y0 + ny], 1)).astype(np.int64)
    return _two_triangles(setup, corner_x, corner_y)


def point_squares(setup: Setup) -> Setup:
    """Points as squares of one pixel."""
    x, y = setup.x[:, :1], setup.y[:, :1]
    return _two_triangles(setup, x + np.array([-128, 128, 128, -128]), y + np.array([-128, -128, 128, 128]))


def _two_triangles(setup: Setup, corner_x: Array, corner_y: Array) -> Setup:
    twice = setup.pick(np.repeat(np.arange(len(setup)), 2))
    for i, which in enumerate(([0, 1, 2], [0, 2, 3])):
        twice.x[i::2], twice.y[i::2] = corner_x[:, which], corner_y[:, which]
    return twice
