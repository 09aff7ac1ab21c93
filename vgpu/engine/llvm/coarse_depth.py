"""Hierarchical depth: blocks of a tile that hide what is drawn are left out before a pixel of them is looked at.

For each block of 16 x 16 pixels a pixel function remembers the farthest depth in the depth buffer (the
nearest, when greater passes). The memory lasts for one call, so nothing else that writes the buffer has to know about it; a block
that was drawn to is looked at again when the next primitive reaches it. A primitive's depth in a block is bounded by its plane at
the corners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wddm.hw.descriptors import Comparison
from wddm.hw.formats import FORMATS, Format

from . import records
from .builder import F32, F64, I8, I16, I32, I64, PTR, Type, Value
from .coverage import BLOCK
from .depth import compare, plain_depth
from .records import TILE, TRIANGLE

if TYPE_CHECKING:
    from .pixel import PixelFunction

_PER_ROW: Final = TILE // BLOCK
_LESS: Final = (Comparison.LESS, Comparison.LESS_EQUAL)
_GREATER: Final = (Comparison.GREATER, Comparison.GREATER_EQUAL)


class CoarseDepth:
    """Written into a pixel function: :meth:`may_pass` answers for a block, :meth:`drawn` is told that one was drawn to."""

    def __init__(self, at: PixelFunction) -> None:
        self.at, self.f = at, at.f
        self.key = at.key.depth
        info = FORMATS[Format(self.key.format)]
        assert info.depth is not None
        self.size, self.bits, self.is_float = info.bytes_per_block, info.depth.bits, info.depth.bits == 32
        self.less = self.key.test in _LESS
        self.element = F32 if self.is_float else I32
        f = self.f
        self.extremes = f.array(self.element, _PER_ROW * _PER_ROW)
        #: Blocks whose entry of ``extremes`` is not known, a bit each.
        self.stale = f.var(I32, -1)
        with f.prologue():
            at_depth = records.offset(records.PASS, "depth")
            self.base = f.load(PTR, at.pass_, at_depth, constant=True)
            self.pitch, self.plane = (
                f.load(I32, at.pass_, at_depth + records.offset(records.SURFACE, n), constant=True).zext(I64)
                for n in ("row_pitch", "sample_pitch")
            )
            layers = f.load(I32, at.pass_, records.offset(records.PASS, "layers"), constant=True)
            self.one_layer = layers.eq(1)

    @staticmethod
    def helps(at: PixelFunction) -> bool:
        """Whether pixels that fail the depth test leave no trace, and bounds tell which do."""
        key = at.key
        return (
            key.depth.test in (*_LESS, *_GREATER)
            and not key.depth.stencil
            and (at.early or at.split)
            and not key.counting  # invocations are counted before the test
        )

    def may_pass(self, x: Value, y: Value) -> Value:
        """Whether a pixel of the block at (``x``, ``y``) may pass the depth test."""
        f, at = self.f, self.at
        result = f.var(Type("i", 1), 1)
        inside = ((x + BLOCK) <= at.width) & ((y + BLOCK) <= at.height) & self.one_layer
        with f.if_(inside):
            number = self.number(x, y)
            place = f.index(self.extremes, self.element, number.zext(I64))
            bit = f.value(1, I32) << number
            with f.if_((self.stale.get() & bit).ne(0)):
                f.store(self.look(x, y), place)
                self.stale.set(self.stale.get() ^ bit)
            bound, known = self.bound(x, y)
            passes = compare(f, self.key.test, bound, f.load(self.element, place))
            result.set(passes | ~known)
        return result.get()

    def drawn(self, x: Value, y: Value) -> None:
        """Depths in the block may have changed."""
        if self.key.write:
            self.stale.set(self.stale.get() | (self.f.value(1, I32) << self.number(x, y)))

    def number(self, x: Value, y: Value) -> Value:
        """A block's number in its tile."""
        return ((y & (TILE - 1)).shr(4) << 2) | (x & (TILE - 1)).shr(4)

    def bound(self, x: Value, y: Value) -> tuple[Value, Value]:
        """The primitive's nearest depth (farthest, for greater) in the block as it would be stored, and whether it is known."""
        f, at = self.f, self.at
        value, ddx, ddy = (at.word(TRIANGLE["z"] + 2 * k, F64) for k in range(3))
        pick = f.min if self.less else f.max
        terms = [value]
        for start, origin, slope in ((x, "x", ddx), (y, "y", ddy)):
            low = start.to_float(F64) - at.word(TRIANGLE[origin], F32).resize_float(F64)
            terms.append(pick(slope * low, slope * (low + float(BLOCK))))
        # What sums and products may be off by, and far more.
        size = f.abs(terms[0]) + f.abs(terms[1]) + f.abs(terms[2])
        margin = size * (-(2.0**-40) if self.less else 2.0**-40)
        z = (terms[0] + terms[1] + terms[2] + margin).resize_float(F32)
        z = f.min(f.max(z, at.min_depth), at.max_depth)
        if self.is_float:
            z = f.saturate(z)
        stored = plain_depth(f, z, self.bits, self.is_float)
        return stored.bits(self.element), size < 1e30

    def look(self, x: Value, y: Value) -> Value:
        """The farthest (nearest) depth in the block, over all samples."""
        f = self.f
        narrow = I8 if self.size == 1 else I16
        wide = self.element.vector(BLOCK)
        worst = f.var(wide, (-3.0e38 if self.less else 3.0e38) if self.is_float else (0 if self.less else -1))
        start = f.offset(self.base, y.zext(I64) * self.pitch + (x * self.size).zext(I64))
        row = f.var(PTR)
        for sample in range(self.at.key.samples):
            row.set(f.offset(start, self.plane * sample) if sample else start)
            with f.count(0, BLOCK):
                p = row.get()
                if self.size < 4:
                    old = f.load(narrow.vector(BLOCK), p, align=self.size).zext(I32)
                elif self.size == 4:
                    old = f.load(I32.vector(BLOCK), p, align=4)
                else:
                    old = f.load(I32.vector(2 * BLOCK), p, align=4).shuffle(range(0, 2 * BLOCK, 2))
                if self.bits == 24:
                    old = old & 0xFF_FFFF
                worst.set(self.extreme(old.bits(self.element), worst.get()))
                row.set(f.offset(p, self.pitch))
        v, lanes = worst.get(), BLOCK
        while lanes > 1:
            lanes //= 2
            v = self.extreme(v.shuffle(range(lanes, 2 * lanes)), v.shuffle(range(lanes)))
        return v[0]

    def extreme(self, a: Value, b: Value) -> Value:
        """The farther (nearer) of two; ``b`` when ``a`` is no number, which no depth passes."""
        f = self.f
        if self.is_float:
            return f.max(a, b) if self.less else f.min(a, b)
        return f.umax(a, b) if self.less else f.umin(a, b)


__all__ = ["CoarseDepth"]
