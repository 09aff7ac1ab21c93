"""Memory of a stamp: (W/2) x 2 pixels of a surface as one vector."""

from __future__ import annotations

from .builder import I8, I16, I32, I64, Function, Value


class Rows:
    """Two half-vectors of consecutive elements in neighbouring rows of a surface, as one vector."""

    def __init__(self, f: Function, lanes: int, pointer: Value, pitch: Value, size: int) -> None:
        self.f, self.half, self.size = f, lanes // 2, size
        self.pointers = (pointer, f.offset(pointer, pitch.zext(I64)))

    def masks(self, mask: Value, repeat: int = 1) -> list[Value]:
        """The two halves of a mask, each lane repeated."""
        return [mask.shuffle([start + i // repeat for i in range(self.half * repeat)]) for start in (0, self.half)]

    def load(self, mask: Value) -> list[Value]:
        """The dwords of the elements in ``mask`` (small elements: zero-extended)."""
        f, half = self.f, self.half
        if self.size < 4:
            t = (I8 if self.size == 1 else I16).vector(half)
            rows = [f.masked_load(t, p, m, align=self.size) for p, m in zip(self.pointers, self.masks(mask), strict=True)]
            return [f.concat(*rows).zext(I32)]
        words = self.size // 4
        t = I32.vector(half * words)
        rows = [f.masked_load(t, p, m, align=4) for p, m in zip(self.pointers, self.masks(mask, words), strict=True)]
        if words == 1:
            return [f.concat(*rows)]
        return [
            rows[0].shuffle([i * words + k for i in range(half)] + [half * words + i * words + k for i in range(half)], rows[1])
            for k in range(words)
        ]

    def store(self, words: list[Value], mask: Value) -> None:
        """Write the elements in ``mask``."""
        f, half = self.f, self.half
        if self.size < 4:
            narrow = words[0].trunc(I8 if self.size == 1 else I16)
            for k, (p, m) in enumerate(zip(self.pointers, self.masks(mask), strict=True)):
                f.masked_store(narrow.shuffle(range(k * half, (k + 1) * half)), p, m, align=self.size)
            return
        n = len(words)
        for k, (p, m) in enumerate(zip(self.pointers, self.masks(mask, n), strict=True)):
            parts = [w.shuffle(range(k * half, (k + 1) * half)) for w in words]
            if n == 1:
                row = parts[0]
            elif n == 2:
                row = parts[0].shuffle([i // 2 + (i % 2) * half for i in range(2 * half)], parts[1])
            else:
                low, high = f.concat(parts[0], parts[1]), f.concat(parts[2], parts[3])
                row = low.shuffle([i // 4 + (i % 4) * half for i in range(4 * half)], high)
            f.masked_store(row, p, m, align=4)
