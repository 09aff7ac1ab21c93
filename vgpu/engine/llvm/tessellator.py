"""The fixed-function tessellator in machine code: the mesh of one patch from its factors.

``tessellate(FRONT*, four edge factors, two inside factors)`` leaves domain points (u and v in 16.16) and the corners of primitives
(one list for each) in scratch and returns their numbers, ``points | primitives << 16``. The arithmetic and the order are those of
:mod:`vgpu.engine.reference.tessellator`, which explains them; nothing here depends on a shader, so that a handful of functions
serves all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from vgpu.engine.reference.tessellator import (
    FRACTIONAL_EVEN,
    FRACTIONAL_ODD,
    HALF,
    INTEGER,
    ISOLINE,
    MAX_FACTOR,
    ONE,
    OUTPUT_CCW,
    OUTPUT_POINT,
    POWER_OF_TWO,
    QUAD,
    THIRD,
    TWO_THIRDS,
)
from wddm.hw.descriptors import bits_float

from .builder import F32, F64, I1, I32, I64, PTR, Module, Value
from .front_function import FrontFunction

PLACES: Final = 80  #: room for the places of an edge: at most 65
PRIMITIVES: Final = 8192 + 64  #: of the largest mesh, and room for a vector behind


#: From a place along a side to u and v.
Side = Callable[[Value], tuple[Value, Value]]


@dataclass(frozen=True, slots=True)
class TessellatorKey:
    """What a tessellator is compiled for."""

    domain: int
    partitioning: int
    output: int
    limit: int  #: bits of the largest factor; 0: none
    lanes: int


def compile_tessellator(key: TessellatorKey) -> str:
    """The IR of ``tessellate``."""
    m = Module()
    _Tessellator(m, key).write()
    return str(m)


class _Chain:
    """Points of a side: numbers ``start + i * stride``, the one at ``end`` being ``first``; ``count`` segments at ``places``."""

    def __init__(self, places: Value, count: Value, start: Value, stride: Value, end: Value, first: Value) -> None:
        self.arguments = [places, count, start, stride, end, first]


class _Tessellator(FrontFunction):
    def __init__(self, module: Module, key: TessellatorKey) -> None:
        super().__init__(module, key.lanes, "tessellate", I32, [F32] * 6, private=False)
        self.module, self.key = module, key
        self.integer = key.partitioning in (INTEGER, POWER_OF_TWO)
        self.triangles = key.output != OUTPUT_POINT and key.domain != ISOLINE

    def write(self) -> None:
        """Its body."""
        f, key = self.f, self.key
        self._write_cut()
        if self.triangles:
            self._write_stitch()
        self.points, self.primitives = f.var(I32, 0), f.var(I32, 0)
        edges = self.arguments[: {QUAD: 4, ISOLINE: 2}.get(key.domain, 3)]
        drawn = f.value(1, I1)
        for e in edges:  # neither NaN nor 0 nor negative; a denormal number counts
            bits = e.bits(I32)
            drawn = drawn & (bits > 0) & (bits <= 0x7F80_0000)
        with f.if_(drawn):
            outer = [self.clamp(e, key.partitioning) for e in edges]
            if key.domain == ISOLINE:
                self.isolines(self.clamp(edges[0], INTEGER), outer[1])
            else:
                inner = [self.clamp(x, key.partitioning) for x in self.arguments[4 : 6 if key.domain == QUAD else 5]]
                most = outer[0]
                for x in (*outer[1:], *inner):
                    most = f.max(most, x)
                with f.if_else(most.eq(ONE)) as otherwise:
                    self.least()
                    otherwise()
                    if key.partitioning == FRACTIONAL_ODD:
                        inner = [f.max(x, ONE + 1) for x in inner]
                    at = [self.cut(x, self.is_odd(x)) for x in outer]
                    inside = [self.cut(x, self.is_odd(x) & x.ne(ONE).zext(I32) if self.integer else self.is_odd(x)) for x in inner]
                    (self.quad if key.domain == QUAD else self.triangle)(at, inside)
            if key.output == OUTPUT_POINT:
                self.primitives.set(self.points.get())
                with f.count(0, self.points.get()) as i:
                    f.store(i, self.element("mesh_corners", i))
        f.ret(self.points.get() | self.primitives.get() << 16)

    def element(self, name: str, i: Value) -> Value:
        """Pointer to a dword of a part of the mesh."""
        return self.f.index(self.area[name], I32, i.zext(I64))

    # -- factors ------------------------------------------------------------------------------------------------------
    def clamp(self, factor: Value, partitioning: int) -> Value:
        """A factor within what the partitioning takes, 16.16; integer kinds are rounded up."""
        f = self.f
        low, high = (2.0, 64.0) if partitioning == FRACTIONAL_EVEN else (1.0, 63.0 if partitioning == FRACTIONAL_ODD else 64.0)
        limit = bits_float(self.key.limit) or MAX_FACTOR
        x = f.min(f.max(factor.resize_float(F64), low), max(low, min(high, limit)))
        if partitioning == INTEGER:
            x = f.intrinsic("ceil", x)
        elif partitioning == POWER_OF_TWO:
            below = f.intrinsic("ceil", x).to_int() - 1
            return f.value(1, I32) << (32 - f.call("llvm.ctlz.i32", I32, [below, f.value(0, I1)]) + 16)
        return f.intrinsic("rint", x * float(ONE)).to_int()

    def is_odd(self, factor: Value) -> Value:
        """1 when an edge is cut into an odd number of segments."""
        if self.integer:
            return factor.shr(16) & 1
        return self.f.value(int(self.key.partitioning == FRACTIONAL_ODD), I32)

    def cut(self, factor: Value, odd: Value) -> tuple[Value, Value]:
        """The places of an edge, and its number of segments."""
        places = self.f.array(I32, PLACES)
        return places, self.f.call("cut", I32, [factor, odd, places])

    def _write_cut(self) -> None:
        """``cut(factor, odd, places*)``: fill in the places, return the number of segments."""
        f = self.module.function("cut", I32, [I32, I32, PTR], private=True)
        factor, odd, out = f.arguments
        half = (factor + 1).shr(1)
        half = half + (odd.ne(0) | half.eq(HALF)).select(HALF, f.value(0, I32))
        floor, ceil, fraction = half.shr(16), (half + (ONE - 1)).shr(16), half & (ONE - 1)
        number = floor - odd
        top = f.value(1, I32) << (31 - f.call("llvm.ctlz.i32", I32, [f.umax(number, 1), f.value(0, I1)]))
        split = number.eq(0).select(0, (number - top) * 2 + 1)
        fewer, more = ((ONE + n.shr(1)).udiv(n) for n in (floor * 2 - odd, ceil * 2 - odd))
        last = ceil * 2 - odd
        f.store(f.value(HALF, I32), f.index(out, I32, ceil.zext(I64)))  # the middle of an even number
        with f.count(0, ceil) as i:
            before = i - (fraction.ne(0) & (i > split)).zext(I32)
            wide = (before * fewer).zext(I64) * (ONE - fraction).zext(I64) + (i * more).zext(I64) * fraction.zext(I64)
            place = (wide + HALF).shr(16).trunc(I32)
            f.store(place, f.index(out, I32, i.zext(I64)))
            f.store(ONE - place, f.index(out, I32, (last - i).zext(I64)))
        f.ret(last)

    # -- domains ------------------------------------------------------------------------------------------------------
    def least(self) -> None:
        """All factors are 1: the corners."""
        f = self.f
        quad = self.key.domain == QUAD
        corners = [(0, 0), (ONE, 0), (ONE, ONE), (0, ONE)] if quad else [(0, ONE), (0, 0), (ONE, 0)]
        for u, v in corners:
            self.point(self.points.get(), f.value(u, I32), f.value(v, I32))
            self.points.set(self.points.get() + 1)
        for triangle in ((0, 1, 2), (0, 2, 3)) if quad else ((0, 1, 2),):
            self.triangle_of(*(f.value(i, I32) for i in triangle))

    def isolines(self, density: Value, detail: Value) -> None:
        """Lines, spaced evenly, none at v = 1, each of the segments that detail says."""
        f = self.f
        places, count = self.cut(detail, self.is_odd(detail))
        lines, number = self.cut(density, density.shr(16) & 1)
        with f.count(0, number) as line:
            v = f.load(I32, f.index(lines, I32, line.zext(I64)))
            first = self.points.get()
            with f.count(0, count + 1) as i:
                self.point(first + i, f.load(I32, f.index(places, I32, i.zext(I64))), v)
            self.points.set(first + count + 1)
            if self.key.output != OUTPUT_POINT:
                with f.count(0, count) as i:
                    n = self.primitives.get() + i
                    f.store(first + i, self.element("mesh_corners", n))
                    f.store(first + i + 1, self.element("mesh_corners", n + PRIMITIVES))
                self.primitives.set(self.primitives.get() + count)

    def quad(self, outer: list[tuple[Value, Value]], inside: list[tuple[Value, Value]]) -> None:
        """Edges: u = 0, v = 0, u = 1, v = 1."""
        f = self.f
        at = [outer[1], outer[2], outer[3], outer[0]]
        one, zero = f.value(ONE, I32), f.value(0, I32)
        chains = self.ring(
            at, [lambda t: (t, zero), lambda t: (one, t), lambda t: (ONE - t, one), lambda t: (zero, ONE - t)]
        )  # fmt: skip
        (u, nu), (v, nv) = inside
        width, height, base = nu - 1, nv - 1, self.points.get()
        columns, rows = f.offset(u, 4), f.offset(v, 4)
        with f.count(0, height) as j:
            y = f.load(I32, f.index(rows, I32, j.zext(I64)))
            with f.count(0, width) as i:
                self.point(base + j * width + i, f.load(I32, f.index(columns, I32, i.zext(I64))), y)
        self.points.set(base + width * height)
        if not self.triangles:
            return
        last = width * height - 1 + base
        never = f.value(-1, I32)
        starts = [(base, f.value(1, I32)), (base + width - 1, width), (last, never), (last - width + 1, 0 - width)]
        for k, (start, stride) in enumerate(starts):
            places, count = (rows, height - 1) if k & 1 else (columns, width - 1)
            self.stitch(chains[k], _Chain(places, count, start, stride, never, never))
        with f.count(0, height - 1) as j, f.count(0, width - 1) as i:
            a = base + j * width + i
            self.triangle_of(a, a + 1, a + width + 1)
            self.triangle_of(a, a + width + 1, a + width)

    def triangle(self, at: list[tuple[Value, Value]], inside: list[tuple[Value, Value]]) -> None:
        """Edges: u = 0, v = 0, w = 0. Rings run from V to W to U."""
        f = self.f
        ((places, n),) = inside
        zero = f.value(0, I32)
        chains = self.ring(at, [lambda t: (zero, ONE - t), lambda t: (t, zero), lambda t: (ONE - t, t)])
        # The ring before, as it is known at run time: places, segments and first point of each side, and where it ends.
        before = [[f.var(x.type, x) for x in chain.arguments] for chain in chains]
        with f.count(1, n.shr(1) + 1) as ring:
            within = f.index(places, I32, ring.zext(I64))
            count = n - ring * 2
            outer = [_Chain(*(x.get() for x in chain)) for chain in before]
            with f.if_else(count.eq(0)) as otherwise:
                middle = self.points.get()
                self.point(middle, f.value(THIRD, I32), f.value(THIRD, I32))
                self.points.set(middle + 1)
                for chain in outer:
                    self.stitch(chain, _Chain(within, zero, middle, zero, zero - 1, zero))
                otherwise()
                deep = (f.load(I32, within) * TWO_THIRDS + HALF).shr(16)
                half = (deep + 1).shr(1)

                def back(t: Value, half: Value = half) -> Value:
                    return ONE - t - half

                inner = self.ring(
                    [(within, count)] * 3,
                    [lambda t: (deep, back(t)), lambda t: (t - half, deep), lambda t: (back(t), ONE - back(t) - deep)],
                )  # fmt: skip
                for chain, new, variables in zip(outer, inner, before, strict=True):
                    self.stitch(chain, new)
                    for variable, x in zip(variables, new.arguments, strict=True):
                        variable.set(x)
        with f.if_((n & 1).ne(0)):
            self.triangle_of(*(chain[2].get() for chain in before))

    # -- rings --------------------------------------------------------------------------------------------------------
    def point(self, number: Value, u: Value, v: Value) -> None:
        """A point."""
        self.f.store(u, self.element("mesh_u", number))
        self.f.store(v, self.element("mesh_v", number))

    def ring(self, sides: list[tuple[Value, Value]], place: list[Side]) -> list[_Chain]:
        """Points of a closed ring, corners shared; ``place`` of each side tells u and v of a place along it."""
        f = self.f
        first = self.points.get()
        end = first
        for _, count in sides:
            end = end + count
        chains, start = [], first
        for (places, count), where in zip(sides, place, strict=True):
            with f.count(0, count) as i:
                self.point(start + i, *where(f.load(I32, f.index(places, I32, i.zext(I64)))))
            chains.append(_Chain(places, count, start, f.value(1, I32), end, first))
            start = start + count
        self.points.set(end)
        return chains

    def triangle_of(self, a: Value, b: Value, c: Value) -> None:
        """A clockwise triangle."""
        if self.triangles:
            n = self.primitives.get()
            self._store_triangle(self.area["mesh_corners"], n, a, b, c)
            self.primitives.set(n + 1)

    def _store_triangle(self, corners: Value, n: Value, a: Value, b: Value, c: Value) -> None:
        f = corners.f
        if self.key.output == OUTPUT_CCW:
            b, c = c, b
        for k, x in enumerate((a, b, c)):
            f.store(x, f.index(corners, I32, (n + k * PRIMITIVES).zext(I64)))

    def stitch(self, outer: _Chain, inner: _Chain) -> None:
        """Triangles between two chains that run the same way, clockwise seen with the inner one on the right."""
        if self.triangles:
            arguments = [self.area["mesh_corners"], self.primitives.get(), *outer.arguments, *inner.arguments]
            self.primitives.set(self.f.call("stitch", I32, arguments))

    def _write_stitch(self) -> None:
        """``stitch(corners*, count, outer chain, inner chain)`` returns the new count of primitives."""
        f = self.module.function("stitch", I32, [PTR, I32, *[PTR, I32, I32, I32, I32, I32] * 2], private=True)
        corners, count, *chains = f.arguments
        outer, inner = chains[:6], chains[6:]
        n, i, j = f.var(I32, count), f.var(I32, 0), f.var(I32, 0)

        def number(chain: list[Value], i: Value) -> Value:
            _, _, start, stride, end, first = chain
            x = start + i * stride
            return x.eq(end).select(first, x)

        def both(chain: list[Value], i: Value) -> Value:
            at = f.index(chain[0], I32, i.zext(I64))
            return f.load(I32, at) + f.load(I32, at, 4)

        with f.loop() as loop:
            a, b = i.get(), j.get()
            outer_left, inner_left = a < outer[1], b < inner[1]
            loop.break_if((outer_left | inner_left) ^ True)
            forward = (inner_left ^ True) | (outer_left & (both(outer, a) <= both(inner, b)))
            here, there = number(outer, a), number(inner, b)
            onwards = forward.select(number(outer, a + 1), number(inner, b + 1))
            first, second, third = forward.select(here, there), forward.select(onwards, here), forward.select(there, onwards)
            self._store_triangle(corners, n.get(), first, second, third)
            n.set(n.get() + 1)
            i.set(a + forward.zext(I32))
            j.set(b + (forward ^ True).zext(I32))
        f.ret(n.get())
