"""The kinds of primitives: which pixels they may cover, what their records hold, how attributes change across them.

Triangles and wireframes have three corners, lines two, points one. Multisampled and smooth lines are rectangles 1.4 pixels wide,
points squares of one pixel: quads with four edges. Aliased lines and wireframes keep their corners, for the diamond-exit rule.
"""

from __future__ import annotations

from typing import Final

from . import vertex
from .builder import F32, F64, I1, I32, I64, Value
from .front_function import Primitive
from .records import HIDDEN_SHIFT, LINE, QUAD, TRIANGLE, Shape
from .setup import Box, Setup

#: Half the width of a multisampled line, pixels.
HALF_LINE: Final = 0.7
#: A primitive wider than its vertices tell may be visible beyond the sides of the view volume.
_WIDE: Final = vertex.REJECT & ~(vertex.LEFT | vertex.RIGHT | vertex.BOTTOM | vertex.TOP)


class TriangleSetup(Setup):
    """Three corners; edge functions are exact, with the top-left rule folded into the constant."""

    corners = 3
    shape = Shape.TRIANGLE
    reject = vertex.REJECT

    def prepare(self, mask: Value) -> Value:
        """Cull by the side that is seen; triangles without area are gone."""
        x, y = self.x, self.y
        self.sides = dx1, dy1, dx2, dy2 = x[1] - x[0], y[1] - y[0], x[2] - x[0], y[2] - y[0]
        self.twice_area = dx1.to_float(F64) * dy2.to_float(F64) - dx2.to_float(F64) * dy1.to_float(F64)
        clockwise, self.counter = self.twice_area > 0.0, self.twice_area < 0.0
        cull = self.get("cull", I32)
        mask = mask & ((clockwise & (cull & 1).eq(0)) | (self.counter & (cull & 2).eq(0)))
        self._front = clockwise ^ self.get("front_ccw", I32).ne(0)
        return mask

    def front_facing(self) -> Value:
        return self._front

    def box(self) -> Box:
        return sampled_box(self, self.x, self.y)

    def gradient(self, values: list[Value]) -> tuple[Value, Value]:
        f = self.f
        one, two = values[1] - values[0], values[2] - values[0]
        if one.type.bits == 64:
            fx1, fy1, fx2, fy2 = self.slopes
            return one * fy2 - two * fy1, two * fx1 - one * fx2
        gx1, gy1, gx2, gy2 = self.narrow_slopes
        return f.fma(one, gy2, -(two * gy1)), f.fma(two, gx1, -(one * gx2))

    def clockwise(self) -> tuple[tuple[Value, Value, Value], tuple[Value, Value, Value]]:
        """The corners in clockwise order."""
        x, y, counter = self.x, self.y, self.counter
        return (
            (x[0], counter.select(x[2], x[1]), counter.select(x[1], x[2])),
            (y[0], counter.select(y[2], y[1]), counter.select(y[1], y[2])),
        )

    def prepare_gradients(self) -> None:
        inverse = 256.0 / self.twice_area
        self.slopes = tuple(d.to_float(F64) * inverse for d in self.sides)
        self.narrow_slopes = tuple(d.resize_float(F32) for d in self.slopes)

    def geometry(self) -> None:
        px, py = self.clockwise()
        for i in range(3):
            a, b, c = edge(self, px[i], py[i], px[(i + 1) % 3], py[(i + 1) % 3])
            self.put_word(TRIANGLE["a"] + i, a)
            self.put_word(TRIANGLE["b"] + i, b)
            self.put_long(TRIANGLE["c"] + 2 * i, c)

    def depth_bias(self, z: list[Value], ddx: Value, ddy: Value) -> Value:
        """Direct3D's depth bias: a constant in units of the format, plus the largest slope times a factor, clamped."""
        f = self.f
        constant = self.get("bias", F32).resize_float(F64)
        largest = f.max(f.max(f.abs(z[0]), f.abs(z[1])), f.abs(z[2]))
        # The unit of floating-point depth: the last place of the largest depth of the triangle.
        exponent = (largest.bits(I64) & (0x7FF << 52)) - (23 << 52)
        float_unit = (exponent > 0).select(exponent, 0).bits(F64)
        bias = self.get("bias_float", I32).ne(0).select(float_unit * constant, f.splat(constant, self.lanes))
        bias = bias + f.max(f.abs(ddx), f.abs(ddy)) * self.get("bias_slope", F32).resize_float(F64)
        clamp = self.get("bias_clamp", F32).resize_float(F64)
        up, down = f.min(bias, clamp), f.max(bias, clamp)
        return (clamp > 0.0).select(up, (clamp < 0.0).select(down, bias))


class WireframeSetup(TriangleSetup):
    """The edges of a triangle that were there before clipping, as aliased lines."""

    shape = Shape.WIREFRAME
    reject = _WIDE

    def box(self) -> Box:
        return line_box(self, self.x, self.y)

    def geometry(self) -> None:
        for name, values in zip("xy", self.clockwise(), strict=True):
            for k, value in enumerate(values):
                self.put_word(LINE[name] + k, value)
        hidden = self.hidden
        # In the other order edges 0 and 2 change places.
        swapped = (hidden & 2) | (hidden & 1) << 2 | hidden.shr(2)
        self.flags = self.flags | self.counter.select(swapped, hidden) << HIDDEN_SHIFT


class LineSetup(Setup):
    """Two corners, aliased. A line whose ends fall together covers nothing."""

    corners = 2
    shape = Shape.LINE
    reject = _WIDE

    def prepare(self, mask: Value) -> Value:
        """Attributes change along the longer axis."""
        f = self.f
        self.dx, self.dy = self.x[1] - self.x[0], self.y[1] - self.y[0]
        wide_x, wide_y = f.intrinsic("abs", self.dx, f.value(0, I1)), f.intrinsic("abs", self.dy, f.value(0, I1))
        self.wide = wide_x >= wide_y
        self.run = self.wide.select(self.dx, self.dy)
        self.slope = self.run.ne(0).select(256.0 / self.run.to_float(F64), 0.0)
        return mask

    def gradient(self, values: list[Value]) -> tuple[Value, Value]:
        t = values[0].type
        along = (values[1] - values[0]) * (self.slope if t.bits == 64 else self.slope.resize_float(F32))
        return self.wide.select(along, 0.0), self.wide.select(0.0, along)

    def box(self) -> Box:
        left, top, right, bottom = line_box(self, self.x, self.y)
        return left, top, self.run.eq(0).select(left - 1, right), bottom

    def geometry(self) -> None:
        for name, values in (("x", self.x), ("y", self.y)):
            for k, value in enumerate(values):
                self.put_word(LINE[name] + k, value)


class FatLineSetup(LineSetup):
    """Two corners, a rectangle 1.4 pixels wide round the line."""

    shape = Shape.QUAD

    def prepare(self, mask: Value) -> Value:
        mask = super().prepare(mask)
        f = self.f
        dx, dy = self.dx.to_float(F64), self.dy.to_float(F64)
        length = f.max(f.intrinsic("sqrt", dx * dx + dy * dy), 1e-9)
        nx, ny = (f.intrinsic("rint", d / length * HALF_LINE * 256.0).to_int() for d in (-dy, dx))
        (x0, x1), (y0, y1) = self.x, self.y
        self.outline = [x0 - nx, x1 - nx, x1 + nx, x0 + nx], [y0 - ny, y1 - ny, y1 + ny, y0 + ny]
        return mask

    def box(self) -> Box:
        return sampled_box(self, *self.outline)

    def geometry(self) -> None:
        quad(self, *self.outline)


class SmoothLineSetup(FatLineSetup):
    """The same rectangle; how much of a pixel it covers counts."""

    shape = Shape.SMOOTH

    def box(self) -> Box:
        return touched_box(self, *self.outline)


class PointSetup(Setup):
    """One corner, a square of one pixel round it; nothing changes across it."""

    corners = 1
    shape = Shape.QUAD
    reject = _WIDE

    def prepare(self, mask: Value) -> Value:
        (x,), (y,) = self.x, self.y
        self.outline = [x - 128, x + 128, x + 128, x - 128], [y - 128, y - 128, y + 128, y + 128]
        return mask

    def gradient(self, values: list[Value]) -> tuple[Value, Value]:
        zero = self.f.value(0.0, values[0].type)
        return zero, zero

    def box(self) -> Box:
        return sampled_box(self, *self.outline)

    def geometry(self) -> None:
        quad(self, *self.outline)


SETUPS: Final[dict[Primitive, type[Setup]]] = {
    Primitive.TRIANGLE: TriangleSetup,
    Primitive.WIREFRAME: WireframeSetup,
    Primitive.LINE: LineSetup,
    Primitive.FAT_LINE: FatLineSetup,
    Primitive.POINT: PointSetup,
    Primitive.SMOOTH_LINE: SmoothLineSetup,
}


# -- what they share --------------------------------------------------------------------------------------------------
def _extent(s: Setup, values: list[Value]) -> tuple[Value, Value]:
    """Smallest and largest."""
    low = high = values[0]
    for v in values[1:]:
        low, high = s.f.min(low, v), s.f.max(high, v)
    return low, high


def sampled_box(s: Setup, x: list[Value], y: list[Value]) -> Box:
    """The pixels whose centre, or a sample of which, may lie within the corners."""
    (left, right), (top, bottom) = _extent(s, x), _extent(s, y)
    multisampled = s.get("multisampled", I32).ne(0)
    low, high = (multisampled.select(0, s.f.value(n, I32)) for n in (127, -128))
    return (left + low) >> 8, (top + low) >> 8, (right + high) >> 8, (bottom + high) >> 8


def touched_box(s: Setup, x: list[Value], y: list[Value]) -> Box:
    """The pixels that lie within the corners as a whole or in part."""
    (left, right), (top, bottom) = _extent(s, x), _extent(s, y)
    return left >> 8, top >> 8, right >> 8, bottom >> 8


def line_box(s: Setup, x: list[Value], y: list[Value]) -> Box:
    """The pixels whose diamonds lines between the corners may touch."""
    (left, right), (top, bottom) = _extent(s, x), _extent(s, y)
    return (left - 1) >> 8, (top - 1) >> 8, right >> 8, bottom >> 8


def edge(s: Setup, x0: Value, y0: Value, x1: Value, y1: Value) -> tuple[Value, Value, Value]:
    """``a``, ``b`` and the 64-bit ``c`` of an edge of a polygon that turns clockwise: a * x + b * y + c >= 0 inside."""
    f = s.f
    a, b = y0 - y1, x1 - x0
    c = -(a.sext(I64) * x0.sext(I64) + b.sext(I64) * y0.sext(I64))
    top_left = (a > 0) | (a.eq(0) & (b > 0))
    return a, b, c - top_left.select(0, f.value(1, c.type))


def quad(s: Setup, x: list[Value], y: list[Value]) -> None:
    """Put a parallelogram into the record: opposite edges have opposite a and b."""
    for i in range(4):
        a, b, c = edge(s, x[i], y[i], x[(i + 1) % 4], y[(i + 1) % 4])
        if i < 2:
            s.put_word(QUAD["a"] + i, a)
            s.put_word(QUAD["b"] + i, b)
        s.put_long(QUAD["c"] + 2 * i, c)
