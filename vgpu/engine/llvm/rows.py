"""Memory of a stamp: (W/2) x 2 pixels of a surface as one vector."""

from __future__ import annotations

from collections.abc import Callable

from .builder import I32, I64, Function, Type, Value

Mask = Callable[[], Value]  #: makes a mask where it is needed


class Rows:
    """Two half-vectors of consecutive elements in neighbouring rows of a surface, as one vector.

    ``inside``: a condition, that both half-vectors lie in the surface, so that whole rows may be read and written (what is not in
    the mask with its own value: a tile has one owner). Masked stores are slow on some processors.
    """

    def __init__(self, f: Function, lanes: int, pointer: Value, pitch: Value, size: int, inside: Value) -> None:
        self.f, self.half, self.size, self.inside = f, lanes // 2, size, inside
        self.pointers = (pointer, f.offset(pointer, pitch.zext(I64)))
        self.words = max(1, size // 4)
        self.align = min(4, size)
        self.type = Type("i", 8 * self.align, self.half * self.words)

    def masks(self, mask: Value) -> list[Value]:
        """The two halves of a mask, each lane repeated for each word of an element."""
        n = self.words
        return [mask.shuffle([start + i // n for i in range(self.half * n)]) for start in (0, self.half)]

    def load(self, mask: Mask) -> list[Value]:
        """The dwords of the elements in ``mask`` (small elements: zero-extended); the others are anything."""
        f = self.f
        rows = [f.var(self.type) for _ in self.pointers]
        with f.if_else(self.inside) as otherwise:
            for row, p in zip(rows, self.pointers, strict=True):
                row.set(self._row(p))
            otherwise()
            for row, p, m in zip(rows, self.pointers, self.masks(mask()), strict=True):
                row.set(f.masked_load(self.type, p, m, align=self.align))
        return self._split([row.get() for row in rows])

    def store(self, words: list[Value], mask: Mask, *, whole: Value | None = None, old: list[Value] | None = None) -> None:
        """Write the elements in ``mask``; ``whole``: a condition, that it is full; ``old``: what :meth:`load` gave."""
        f = self.f
        rows = self._join(words)
        with f.if_else(self.inside) as otherwise:
            if whole is None:
                self._blend(rows, mask(), old)
            else:
                with f.if_else(whole) as partial:
                    for row, p in zip(rows, self.pointers, strict=True):
                        f.store(row, p, align=self.align)
                    partial()
                    self._blend(rows, mask(), old)
            otherwise()
            for row, p, m in zip(rows, self.pointers, self.masks(mask()), strict=True):
                f.masked_store(row, p, m, align=self.align)

    def _row(self, pointer: Value) -> Value:
        """A whole row. Volatile: a plain load that is blended and stored would become a masked store."""
        return self.f.load(self.type, pointer, align=self.align, volatile=True)

    def _blend(self, rows: list[Value], mask: Value, old: list[Value] | None) -> None:
        """Write whole rows, what is not in the mask as it was."""
        f = self.f
        before = self._join(old) if old else [self._row(p) for p in self.pointers]
        for row, p, m, b in zip(rows, self.pointers, self.masks(mask), before, strict=True):
            f.store(m.select(row, b), p, align=self.align)

    def _split(self, rows: list[Value]) -> list[Value]:
        """Words of the elements from rows of memory."""
        half, words = self.half, self.words
        if words == 1:
            both = self.f.concat(*rows)
            return [both.zext(I32) if self.size < 4 else both]
        return [
            rows[0].shuffle([i * words + k for i in range(half)] + [half * words + i * words + k for i in range(half)], rows[1])
            for k in range(words)
        ]

    def _join(self, words: list[Value]) -> list[Value]:
        """Rows of memory from words of the elements."""
        f, half, n = self.f, self.half, self.words
        if self.size < 4:
            words = [words[0].trunc(self.type.scalar)]
        rows = []
        for k in range(2):
            parts = [w.shuffle(range(k * half, (k + 1) * half)) for w in words]
            if n == 1:
                rows.append(parts[0])
            elif n == 2:
                rows.append(parts[0].shuffle([i // 2 + (i % 2) * half for i in range(2 * half)], parts[1]))
            else:
                low, high = f.concat(parts[0], parts[1]), f.concat(parts[2], parts[n - 1])
                rows.append(low.shuffle([i // n + (i % n) * half for i in range(n * half)], high))
        return rows
