"""Clipping: the triangles of a batch that reach out of the fixed-point range or cross a plane become fans of new vertices.

Vertices seldom need it (a guard band wider than any target stands around the screen); batches that do are rewritten triangle by
triangle before setup, so that order is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from . import records, vertex
from .builder import F32, F64, I8, I32, I64, PTR, VOID, Value, Variable
from .front_function import CLIP_VERTICES, LIST, FrontFunction
from .vertex import FIRST_OUTPUT

POLYGON: Final = 20  #: a triangle cut by 15 planes has at most 18 corners

#: The signed distance of a corner (clip-space position, local vertex) from a clip plane.
Distance = Callable[[list[Value], Value], Value]


class Clipper:
    """The clipper, written into the function ``at``."""

    def __init__(self, at: FrontFunction) -> None:
        self.at, self.f = at, at.f

    def run(self, vertices: Value, primitives: Value) -> None:
        """Rewrite the list: clipped triangles become fans of new vertices, in place and in order."""
        f = self.f
        clip_mask = self.at.get("clip", I32)
        new_vertices, new_count = f.var(I32), f.var(I32, 0)
        base = (vertices + (self.at.lanes - 1)) & ~(self.at.lanes - 1)
        new_vertices.set(base)
        polygon = [f.array(F64, POLYGON * 3) for _ in range(2)]

        def flush() -> None:
            f.call("setup", VOID, [self.at.front, new_count.get(), *self.at.clipped])
            new_count.set(0)
            new_vertices.set(base)

        def emit(values: list[Value]) -> None:
            at = new_count.get().zext(I64)
            for target, x in zip(self.at.clipped, values, strict=True):
                f.store(x, f.index(target, I32, at))
            new_count.set(new_count.get() + 1)

        with f.count(0, primitives) as i:
            with f.if_((new_count.get() > LIST - POLYGON) | (new_vertices.get() - base > CLIP_VERTICES - 2 * POLYGON)):
                flush()
            members = [f.load(I32, f.index(source, I32, i.zext(I64))) for source in self.at.lists]
            codes = [self.at.load_component(v, vertex.CODE) for v in members[:3]]
            either = (codes[0] | codes[1] | codes[2]) & clip_mask
            reject = (codes[0] & codes[1] & codes[2] & clip_mask & vertex.REJECT).ne(0)
            bad = ((codes[0] | codes[1] | codes[2]) & vertex.NOT_A_NUMBER).ne(0)
            with f.if_else((either & vertex.NEEDS_CLIP).eq(0)) as otherwise:
                emit(members)
                otherwise()
                with f.if_((reject | bad).eq(0)):
                    self.clip_triangle(members, either, polygon, new_vertices, emit)
        flush()

    def clip_triangle(
        self, members: list[Value], planes: Value, polygon: list[Value], new_vertices: Variable, emit: Callable[[list[Value]], None]
    ) -> None:
        """Sutherland-Hodgman against the planes in ``planes``. The polygon's corners are weights of the triangle's, in f64."""
        f = self.f
        size = f.var(I32, 3)
        source, target = f.var(PTR, polygon[0]), f.var(PTR, polygon[1])
        for k in range(3):
            for c in range(3):
                f.store(f.value(1.0 if k == c else 0.0, F64), polygon[0], 8 * (3 * k + c))

        def weight(base: Value, k: Value, c: int) -> Value:
            return f.offset(f.index(base, I8, (k * 24).zext(I64)), 8 * c)

        corners = [
            [self.at.load_component(members[k], c).bits(F32).resize_float(F64) for c in range(vertex.CLIP_X, vertex.CLIP_W + 1)]
            for k in range(3)
        ]
        index = self.at.load_component(members[0], vertex.VIEWPORT)
        for bit, distance in self.plane_distances(index):
            with f.if_((planes & bit).ne(0) & (size.get() > 0)):
                d = [distance(corners[k], members[k]) for k in range(3)]

                def side(base: Value, k: Value, d: list[Value] = d) -> Value:
                    w = [f.load(F64, weight(base, k, c)) for c in range(3)]
                    return w[0] * d[0] + w[1] * d[1] + w[2] * d[2]

                kept = f.var(I32, 0)
                with f.count(0, size.get()) as corner:
                    following = (corner + 1).eq(size.get()).select(0, corner + 1)
                    s, t = source.get(), target.get()
                    d0, d1 = side(s, corner), side(s, following)
                    in0, in1 = d0 >= 0.0, d1 >= 0.0
                    with f.if_(in0):
                        f.copy(weight(t, kept.get(), 0), weight(s, corner, 0), 24)
                        kept.set(kept.get() + 1)
                    with f.if_(in0 ^ in1):
                        # From the inside to the outside, whichever way the edge runs: neighbours get the same vertex.
                        inner, outer = in0.select(corner, following), in0.select(following, corner)
                        di, do = in0.select(d0, d1), in0.select(d1, d0)
                        part = di / (di - do)
                        for c in range(3):
                            a, b = f.load(F64, weight(s, inner, c)), f.load(F64, weight(s, outer, c))
                            f.store(a + (b - a) * part, weight(t, kept.get(), c))
                        kept.set(kept.get() + 1)
                size.set(kept.get())
                old = source.get()
                source.set(target.get())
                target.set(old)
        with f.if_(size.get() >= 3):
            first = new_vertices.get()
            s = source.get()
            with f.count(0, size.get()) as number:
                w = [f.load(F64, weight(s, number, c)) for c in range(3)]
                position = [w[0] * corners[0][c] + w[1] * corners[1][c] + w[2] * corners[2][c] for c in range(4)]
                projected = vertex.project(f, self.at.front, position, index)
                for c, x in projected.items():
                    if c >= 0:
                        f.store(x.bits(I32), self.at.component_pointer(first + number, c))
                # Cut so close to the eye that nothing is left of w: such pieces are dropped.
                code = (position[3] > 0.0).select(0, f.value(vertex.NOT_A_NUMBER, I32))
                f.store(code, self.at.component_pointer(first + number, vertex.CODE))
                for c in (vertex.VIEWPORT, vertex.SLICE):
                    f.store(self.at.load_component(members[0], c), self.at.component_pointer(first + number, c))
                with f.count(FIRST_OUTPUT, self.at.components) as place:
                    own = [self.at.load_component(members[n], place).bits(F32).resize_float(F64) for n in range(3)]
                    value = (w[0] * own[0] + w[1] * own[1] + w[2] * own[2]).resize_float(F32)
                    f.store(value.bits(I32), self.at.component_pointer(first + number, place))
            new_vertices.set(first + size.get())
            with f.count(1, size.get() - 1) as number:
                emit([first, first + number, first + number + 1, members[3], members[4]])

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
                return d.ne(d).select(-1.0, d)

            return distance

        planes += [(vertex.USER << i, user(i)) for i in range(8)]
        return planes
