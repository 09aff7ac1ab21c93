"""Which samples of a tile's pixels a primitive covers, stamp by stamp.

A :class:`Coverage` is written into a pixel function: :meth:`~Coverage.begin` looks at a record, :meth:`~Coverage.block` at a part
of the tile, :meth:`~Coverage.row` at a pair of rows in it, :meth:`~Coverage.stamp` answers for (W/2) x 2 pixels. Convex shapes
(triangles, quads) have exact edge functions, lines the diamond-exit rule.
"""

from __future__ import annotations

from functools import reduce
from operator import add, or_
from typing import TYPE_CHECKING, Final

from .bins import convex_edges
from .builder import F64, I1, I32, I64, MaskVariable, Value
from .records import HIDDEN_SHIFT, LINE, TILE, Shape

if TYPE_CHECKING:
    from .pixel import PixelFunction

#: Sample positions, 1/16 pixel from the centre.
SAMPLES: Final = {
    1: ((0, 0),),
    2: ((4, 4), (-4, -4)),
    4: ((-2, -6), (6, -2), (-6, 2), (2, 6)),
    8: ((1, -3), (-1, 3), (5, 1), (-3, -5), (-5, 5), (-7, -1), (3, 7), (7, -7)),
}
#: The middles of a pixel's sixteen parts, the same way.
PARTS: Final = tuple((x, y) for y in (-6, -2, 2, 6) for x in (-6, -2, 2, 6))
#: Edge functions change by less than this inside a block (steps are below 2**24): beyond it their sign is settled.
LARGEST: Final = (1 << 30) - 1
BLOCK: Final = 16  #: pixels
#: Farther away than any pixel, in fixed point.
_FAR: Final = float(1 << 28)


#: Left, top, width - 1, height - 1 of the pixels that may be drawn.
Box = tuple[Value, Value, Value, Value]


class Coverage:
    """See the module docstring."""

    size = TILE  #: of the blocks, pixels

    def __init__(self, at: PixelFunction) -> None:
        self.at, self.f, self.samples = at, at.f, at.key.samples
        self.shape = at.key.shape
        self.places = SAMPLES[self.samples]  #: that are looked at in a pixel

    def begin(self) -> None:
        """A record: ``at.record`` and ``at.flags``."""
        raise NotImplementedError

    def block(self, x: Value, y: Value, full: Value, box: Box) -> tuple[Value, Value]:
        """The block at (``x``, ``y``) of a tile that is covered ``full`` or not: may some of it be covered, and is all of it?"""
        return self.f.value(1, I1), self.f.value(0, I1)

    def row(self, start: Value, last: Value, y: Value) -> tuple[Value, Value]:
        """Rows ``y`` and ``y + 1``, stamps from ``start`` to ``last``: the first and last that matter."""
        raise NotImplementedError

    def stamp(self, x: Value, y: Value, full: Value, box: Box, masks: list[MaskVariable]) -> None:
        """Take the samples out of ``masks`` that are not covered; ``full``: none is."""
        raise NotImplementedError

    def in_box(self, x: Value, y: Value, box: Box) -> Value:
        """The pixels of a stamp that may be drawn."""
        return ((x - box[0]) + self.at.lane_x).ule(box[2]) & ((y - box[1]) + self.at.lane_y).ule(box[3])


class ConvexCoverage(Coverage):
    """Inside all edges of a triangle or quad, sample by sample."""

    size = BLOCK

    def begin(self) -> None:
        f, at = self.f, self.at
        edges = convex_edges(f, self.shape, at.record)
        # Edge functions at pixel (0, 0) of each sample, in units of 256: exact, since steps from pixel to pixel are whole.
        self.constants = [[(c + a * (128 + 16 * sx) + b * (128 + 16 * sy)) >> 8 for a, b, c in edges] for sx, sy in self.places]
        self.least, self.most = ([reduce(extreme, k) for k in zip(*self.constants, strict=True)] for extreme in (f.min, f.max))
        self.edges = [(a, b) for a, b, _ in edges]
        self.steps = [(a.trunc(I32), b.trunc(I32)) for a, b in self.edges]
        self.lane_edges = [at.lane_x * a + at.lane_y * b for a, b in self.steps]

    def block(self, x: Value, y: Value, full: Value, box: Box) -> tuple[Value, Value]:
        f = self.f
        self.corner = x, y
        corner = [a * x.sext(I64) + b * y.sext(I64) for a, b in self.edges]
        up, down = (
            [(extreme(a, 0) + extreme(b, 0)) * (BLOCK - 1) + c for (a, b), c in zip(self.edges, corner, strict=True)]
            for extreme in (f.max, f.min)
        )
        some = reduce(or_, (k + u for k, u in zip(self.most, up, strict=True))) >= 0
        inside = (x >= box[0]) & (y >= box[1]) & (x + (BLOCK - 1) <= box[0] + box[2]) & (y + (BLOCK - 1) <= box[1] + box[3])
        every = (reduce(or_, (k + d for k, d in zip(self.least, down, strict=True))) >= 0) & inside
        # Inside a block edge functions stay within 32 bits of where they can change sign.
        self.values = [
            [
                f.max(f.min(k + c, LARGEST), -LARGEST).trunc(I32) + lanes
                for k, c, lanes in zip(constants, corner, self.lane_edges, strict=True)
            ]
            for constants in self.constants
        ]
        return full | some, full | every

    def row(self, start: Value, last: Value, y: Value) -> tuple[Value, Value]:
        return start, last

    def stamp(self, x: Value, y: Value, full: Value, box: Box, masks: list[MaskVariable]) -> None:
        with self.f.if_(full ^ True):
            inside = self.in_box(x, y, box)
            right, down = x - self.corner[0], y - self.corner[1]
            offsets = [a * right + b * down for a, b in self.steps]
            for mask, values in zip(masks, self.values, strict=True):
                outside = reduce(or_, (v + o for v, o in zip(values, offsets, strict=True))) >> 31
                mask.set(mask.wide & ~outside & inside.sext(I32))


class SmoothCoverage(ConvexCoverage):
    """How much of a pixel a quad covers, in sixteenths; a pixel is covered when some of it is."""

    def __init__(self, at: PixelFunction) -> None:
        super().__init__(at)
        self.places = PARTS
        self.parts = self.f.var(at.ivec)

    def stamp(self, x: Value, y: Value, full: Value, box: Box, masks: list[MaskVariable]) -> None:
        f = self.f
        self.parts.set(len(PARTS))
        parts = [f.mask(self.at.lanes, 1) for _ in PARTS]
        super().stamp(x, y, full, box, parts)
        with f.if_(full ^ True):
            self.parts.set(0 - reduce(add, (p.wide for p in parts)))
        (mask,) = masks
        mask.set(mask.wide & self.parts.get().ne(0).sext(I32))


class LineCoverage(Coverage):
    """Diamonds that a line, or one of the lines round a triangle, leaves; all samples of a pixel are covered or none."""

    def begin(self) -> None:
        f, at = self.f, self.at
        self.segments: list[_Line] = []
        for k in range(1 if self.shape is Shape.LINE else 3):
            drawn = (at.flags & (1 << (HIDDEN_SHIFT + k))).eq(0) if self.shape is Shape.WIREFRAME else f.value(1, I1)
            ends = [at.word(LINE[n] + (k + i) % 3) for i in (0, 1) for n in "xy"]
            self.segments.append(_Line(at, ends, drawn))

    def row(self, start: Value, last: Value, y: Value) -> tuple[Value, Value]:
        f = self.f
        for s in self.segments:
            s.row(y)
        low, high = self.segments[0].low, self.segments[0].high
        for s in self.segments[1:]:
            low, high = f.min(low, s.low), f.max(high, s.high)
        return f.max(start, low & ~(self.at.half - 1)), f.min(last, high)

    def stamp(self, x: Value, y: Value, full: Value, box: Box, masks: list[MaskVariable]) -> None:
        f = self.f
        lit = f.var(self.at.mvec, 0)
        for s in self.segments:
            with f.if_((s.low < x + self.at.half) & (s.high >= x)):
                lit.set(lit.get() | s.leaves(x, y))
        inside = lit.get() & self.in_box(x, y, box)
        for mask in masks:
            mask.set(mask.wide & inside.sext(I32))


class _Line:
    """A line in fixed point and the diamond-exit rule for it.

    A diamond holds its inside, its two lower edges and its bottom corner; for lines steeper than 45 degrees its right corner too.
    It is left when it meets the line but does not hold the line's end.
    """

    def __init__(self, at: PixelFunction, ends: list[Value], drawn: Value) -> None:
        f = self.f = at.f
        self.at = at
        self.x0, self.y0, x1, y1 = ends
        self.dx, self.dy = dx, dy = x1 - self.x0, y1 - self.y0
        self.wide_dx, self.wide_dy = dx.to_float(F64), dy.to_float(F64)
        ax, ay = f.abs(self.wide_dx), f.abs(self.wide_dy)
        self.steep = ay > ax
        self.far = f.max(ax, ay) * 128.0
        # A line through this corner of a diamond, and nothing else of it, misses it.
        self.excluded = self.steep.select(self.wide_dy * -128.0, (dx > 0).select(self.far, -self.far))
        # The pixels whose diamonds it may meet; in a row, those near where it crosses the row's centre.
        self.left, self.right = (f.min(self.x0, x1) - 1) >> 8, f.max(self.x0, x1) >> 8
        self.top, self.bottom = (f.min(self.y0, y1) - 1) >> 8, f.max(self.y0, y1) >> 8
        self.bottom = drawn.select(self.bottom, self.top - 2)
        flat = dy.eq(0)
        self.lean = flat.select(0.0, self.wide_dx / flat.select(1.0, self.wide_dy))
        self.reach = flat.select(_FAR, self.far / flat.select(1.0, ay)) + f.abs(self.lean) * 256.0

    def row(self, y: Value) -> None:
        """Rows ``y`` and ``y + 1``: the pixels from ``low`` to ``high`` may be lit."""
        f = self.f
        down = ((y << 8) + 128 - self.y0).to_float(F64)
        middle = self.x0.to_float(F64) + self.lean * down
        here = (y + 1 >= self.top) & (y <= self.bottom)
        low, high = (f.max(f.min(v, _FAR), -_FAR).to_int() >> 8 for v in (middle - self.reach, middle + self.reach))
        self.low = here.select(f.max(low - 1, self.left), f.value(1 << 24, I32))
        self.high = here.select(f.min(high + 1, self.right), f.value(-1, I32))

    def leaves(self, x: Value, y: Value) -> Value:
        """The pixels of a stamp whose diamonds it leaves."""
        f, dx, dy = self.f, self.dx, self.dy
        cx = ((self.at.lane_x + x) << 8) + (128 - self.x0)  # centres, from the line's start
        cy = ((self.at.lane_y + y) << 8) + (128 - self.y0)
        # The ends from the centres, along the diamond's edges: u grows to the lower right, v to the upper right.
        u0, v0 = -(cx + cy), cy - cx
        u1, v1 = u0 + (dx + dy), v0 + (dx - dy)
        misses = (f.min(u0, u1) > 128) | (f.max(u0, u1) <= -128) | (f.max(v0, v1) < -128) | (f.min(v0, v1) >= 128)
        ends_in = (u1 > -128) & (u1 <= 128) & (v1 >= -128) & (v1 < 128)
        # Across the line: the corners of the diamond that are farthest from it lie at distance ``far``. Exact in f64.
        e = self.wide_dx * cy.to_float(F64) - self.wide_dy * cx.to_float(F64)
        misses = misses | (f.abs(e) > self.far) | e.eq(self.excluded)
        corner = e.eq(self.wide_dy * 128.0) & self.steep
        within = (cy >= f.min(dy, 0)) & (cy <= f.max(dy, 0))
        misses = corner.select(~within, misses)
        ends_in = ends_in | (u1.eq(128) & v1.eq(128) & self.steep)
        result: Value = ~(misses | ends_in)
        return result


COVERAGE: Final[dict[Shape, type[Coverage]]] = {
    Shape.TRIANGLE: ConvexCoverage,
    Shape.QUAD: ConvexCoverage,
    Shape.SMOOTH: SmoothCoverage,
    Shape.LINE: LineCoverage,
    Shape.WIREFRAME: LineCoverage,
}

__all__ = ["BLOCK", "COVERAGE", "PARTS", "SAMPLES", "Box", "Coverage", "SmoothCoverage"]
