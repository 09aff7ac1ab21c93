"""Clipping: the primitives of a batch that reach out of the fixed-point range or cross a plane get new vertices there; triangles
become fans.

Vertices seldom need it (a guard band wider than any target stands around the screen); batches that do are rewritten primitive by
primitive before setup, so that order is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add, and_, or_
from typing import Final

from . import records, vertex
from .builder import F32, F64, I8, I32, I64, PTR, VOID, Value, Variable
from .front_function import CLIP_VERTICES, LIST, FrontFunction, Primitive
from .records import Shape
from .setup import LEADING_BITS
from .shapes import SETUPS
from .vertex import FIRST_OUTPUT

POLYGON: Final = 20  #: a triangle cut by 15 planes has at most 18 corners
FARTHEST: Final = float.fromhex("0x1.fffffep127")  #: what an infinite clip distance counts as

#: Clip planes that depend on the viewport, or that a place behind them does not survive.
PLACED: Final = vertex.NEEDS_CLIP & ~(0xFF * vertex.USER)

#: The signed distance of a corner (clip-space position, local vertex) from a clip plane.
Distance = Callable[[list[Value], Value], Value]


class Clipper:
    """The clipper, written into the function ``at``."""

    def __init__(self, at: FrontFunction, primitive: Primitive) -> None:
        self.at, self.f = at, at.f
        self.setup = SETUPS[primitive]
        self.size = self.setup.corners
        own = range(self.size)
        self.lists = [*(at.lists[k] for k in own), *at.lists[3:]]  # corners, leading corner, primitive id
        self.clipped = [*(at.clipped[k] for k in own), *at.clipped[3:]]

    def run(self, vertices: Value, primitives: Value) -> None:
        """Rewrite the list: clipped primitives become new ones, in place and in order."""
        f, at = self.f, self.at
        clip_mask = at.get("clip", I32)
        self.new_vertices, self.new_count = f.var(I32), f.var(I32, 0)
        base = (vertices + (at.lanes - 1)) & ~(at.lanes - 1)
        self.new_vertices.set(base)
        self.polygon = [f.array(F64, POLYGON * self.size) for _ in range(2)]

        def flush() -> None:
            f.call("setup", VOID, [at.front, self.new_count.get(), *at.clipped])
            self.new_count.set(0)
            self.new_vertices.set(base)

        with f.count(0, primitives) as i:
            with f.if_((self.new_count.get() > LIST - POLYGON) | (self.new_vertices.get() - base > CLIP_VERTICES - 2 * POLYGON)):
                flush()
            members = [f.load(I32, f.index(source, I32, i.zext(I64))) for source in self.lists]
            codes = [at.load_component(v, vertex.CODE) for v in members[: self.size]]
            either, common = reduce(or_, codes), reduce(and_, codes)
            planes = either & clip_mask & vertex.NEEDS_CLIP
            # The leading corner's viewport is the primitive's: corners that went through another are placed again.
            viewports = [at.load_component(v, vertex.VIEWPORT) for v in members[: self.size]]
            mixed = reduce(or_, (v ^ viewports[0] for v in viewports)).ne(0)
            planes = planes | mixed.select(clip_mask & PLACED, 0)
            dropped = (common & clip_mask & self.setup.reject) | (either & vertex.NOT_A_NUMBER)
            with f.if_else(planes.eq(0)) as otherwise:
                self.emit(members)
                otherwise()
                if self.size > 1:
                    with f.if_(dropped.eq(0)):
                        self.clip(members, planes)
        flush()

    def emit(self, values: list[Value]) -> None:
        """A primitive for setup."""
        f = self.f
        at = self.new_count.get().zext(I64)
        for target, x in zip(self.clipped, values, strict=True):
            f.store(x, f.index(target, I32, at))
        self.new_count.set(self.new_count.get() + 1)

    def weight(self, base: Value, k: Value, c: int) -> Value:
        """Pointer to the weight of the primitive's corner ``c`` in corner ``k`` of a polygon."""
        return self.f.offset(self.f.index(base, I8, (k * (8 * self.size)).zext(I64)), 8 * c)

    def weights(self, base: Value, k: Value) -> list[Value]:
        """All weights in corner ``k`` of a polygon."""
        return [self.f.load(F64, self.weight(base, k, c)) for c in range(self.size)]

    def clip(self, members: list[Value], planes: Value) -> None:
        """Sutherland-Hodgman against the planes in ``planes``. The polygon's corners are weights of the primitive's, in f64."""
        f, k = self.f, self.size
        size = f.var(I32, k)
        source, target = f.var(PTR, self.polygon[0]), f.var(PTR, self.polygon[1])
        for n in range(k):
            for c in range(k):
                f.store(f.value(1.0 if n == c else 0.0, F64), self.polygon[0], 8 * (k * n + c))
        corners = [
            [self.at.load_component(v, c).bits(F32).resize_float(F64) for c in range(vertex.CLIP_X, vertex.CLIP_W + 1)]
            for v in members[:k]
        ]
        viewport = self.at.load_component(members[0], vertex.VIEWPORT)
        for bit, distance in self.plane_distances(viewport):
            with f.if_((planes & bit).ne(0) & (size.get() > 0)):
                distances = [distance(p, v) for p, v in zip(corners, members[:k], strict=True)]
                # Corners that are all inside leave nothing to cut, whatever rounding made of the vertices in between.
                with f.if_(reduce(or_, (d < 0.0 for d in distances))):
                    self.cut(distances, size, source.get(), target.get())
                    old = source.get()
                    source.set(target.get())
                    target.set(old)
        with f.if_(size.get() >= k):
            first, s = self.new_vertices.get(), source.get()
            with f.count(0, size.get()) as number:
                self.new_vertex(first + number, self.weights(s, number), corners, members, viewport)
            self.new_vertices.set(first + size.get())
            if k == 2:
                self.emit([first, first + 1, *members[k:]])
                return
            with f.count(1, size.get() - 1) as number:
                leading = members[3]
                if self.setup.shape is Shape.WIREFRAME:
                    leading = leading | self.hidden_edges(s, number) << LEADING_BITS
                self.emit([first, first + number, first + number + 1, leading, members[4]])

    def cut(self, d: list[Value], size: Variable, s: Value, t: Value) -> None:
        """Cut polygon ``s`` by a plane from which the primitive's corners have distances ``d``; ``t`` is what is left."""
        f = self.f

        def side(corner: Value) -> Value:
            return reduce(add, (w * x for w, x in zip(self.weights(s, corner), d, strict=True)))

        kept = f.var(I32, 0)

        def keep(corner: Value) -> None:
            f.copy(self.weight(t, kept.get(), 0), self.weight(s, corner, 0), 8 * self.size)
            kept.set(kept.get() + 1)

        last = size.get() - 1
        with f.count(0, size.get() if self.size == 3 else last) as corner:
            following = corner.eq(last).select(0, corner + 1)
            d0, d1 = side(corner), side(following)
            in0, in1 = d0 >= 0.0, d1 >= 0.0
            with f.if_(in0):
                keep(corner)
            with f.if_(in0 ^ in1):
                # From the inside to the outside, whichever way the edge runs: neighbours get the same vertex.
                inner, outer = in0.select(corner, following), in0.select(following, corner)
                di, do = in0.select(d0, d1), in0.select(d1, d0)
                part = di / (di - do)
                for c, (a, b) in enumerate(zip(self.weights(s, inner), self.weights(s, outer), strict=True)):
                    f.store(a + (b - a) * part, self.weight(t, kept.get(), c))
                kept.set(kept.get() + 1)
        if self.size == 2:  # a line does not close
            with f.if_(side(last) >= 0.0):
                keep(last)
        size.set(kept.get())

    def new_vertex(self, number: Value, w: list[Value], corners: list[list[Value]], members: list[Value], viewport: Value) -> None:
        """A vertex of weights ``w`` in the store."""
        f, at, k = self.f, self.at, self.size
        position = [reduce(add, (w[n] * corners[n][c] for n in range(k))) for c in range(4)]
        for c, x in vertex.project(f, at.front, position, viewport).items():
            if c >= 0:
                f.store(x.bits(I32), at.component_pointer(number, c))
        # Cut so close to the eye that nothing is left of w: such pieces are dropped.
        code = (position[3] > 0.0).select(0, f.value(vertex.NOT_A_NUMBER, I32))
        f.store(code, at.component_pointer(number, vertex.CODE))
        for c in (vertex.VIEWPORT, vertex.SLICE):
            f.store(at.load_component(members[0], c), at.component_pointer(number, c))
        with f.count(FIRST_OUTPUT, at.components) as place:
            own = [at.load_component(v, place).bits(F32).resize_float(F64) for v in members[:k]]
            value = reduce(add, (x * y for x, y in zip(w, own, strict=True))).resize_float(F32)
            f.store(value.bits(I32), at.component_pointer(number, place))

    def hidden_edges(self, s: Value, number: Value) -> Value:
        """Which edges of a fan's triangle (corner 0, ``number``, the next) are no part of the primitive's own: bit k for the edge
        from corner k to the next. On an edge of the primitive the weight of the corner opposite is 0.
        """
        f = self.f
        zero = [[w.eq(0.0) for w in self.weights(s, corner)] for corner in (f.value(0, I32), number, number + 1)]
        hidden: Value = f.value(0, I32)
        for k in range(3):
            drawn = reduce(or_, (a & b for a, b in zip(zero[k], zero[(k + 1) % 3], strict=True)))
            hidden = hidden | drawn.select(0, f.value(1 << k, I32))
        return hidden

    def plane_distances(self, viewport: Value | None) -> list[tuple[int, Distance]]:
        """(code bits, distance of a corner) of every clip plane."""
        f = self.f

        def field(name: str) -> Value:
            return vertex.viewport_field(f, self.at.front, name, viewport, F64)

        def limit(name: str, size: str, end: float) -> Value:
            """Normalised device coordinate at an end of the fixed-point range."""
            extent = field(size)
            extent = (extent > 0.0).select(extent, 1.0)
            return (2.0 * (end - field(name))) / extent

        low_x, high_x = limit("x", "width", -vertex.RANGE) - 1.0, limit("x", "width", vertex.RANGE) - 1.0
        low_y, high_y = 1.0 - limit("y", "height", vertex.RANGE), 1.0 - limit("y", "height", -vertex.RANGE)
        # A corner behind the eye has no place on the screen: cut at every side then.
        sides = vertex.GUARD_LEFT | vertex.GUARD_RIGHT | vertex.GUARD_BOTTOM | vertex.GUARD_TOP | vertex.BEHIND
        planes: list[tuple[int, Distance]] = [
            (vertex.BEHIND, lambda p, v: p[3] - 2.0**-100),
            (vertex.NEAR, lambda p, v: p[2]),
            (vertex.FAR, lambda p, v: p[3] - p[2]),
            (sides, lambda p, v: p[0] - low_x * p[3]),
            (sides, lambda p, v: high_x * p[3] - p[0]),
            (sides, lambda p, v: p[1] - low_y * p[3]),
            (sides, lambda p, v: high_y * p[3] - p[1]),
        ]

        clip_at = records.offset(records.FRONT, "clip_components")

        def user(number: int) -> Distance:
            def distance(p: list[Value], v: Value) -> Value:
                component = f.load(I32, self.at.front, clip_at + 4 * number)
                d = self.at.load_component(v, component).bits(F32).resize_float(F64)
                return d.ne(d).select(-1.0, f.max(f.min(d, FARTHEST), -FARTHEST))

            return distance

        planes += [(vertex.USER << i, user(i)) for i in range(8)]
        return planes
