"""Scalar intermediate code: what the instruction groups emit and the optimiser rewrites.

Owns :class:`Ins` (one hardware instruction with what the ISA leaves implicit: how many consecutive registers a source names and
which ones a result writes) and :class:`Builder` (the growing program: literals, scratch registers, parallel assignment).
Knows nothing of token programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from umd.shader.errors import ShaderError
from wddm.hw.isa import ABSOLUTE, INDEX_MASK, NEGATE, Kind, Mod, Op

NONE = 0
TEMP = Kind.TEMP << 28
LITERAL = Kind.LITERAL << 28
INPUT = Kind.INPUT << 28
CONSTANT = Kind.CONSTANT << 28
SYSTEM = Kind.SYSTEM << 28
OUTPUT = Kind.OUTPUT << 28
MODIFIERS = NEGATE | ABSOLUTE

#: Scalar instructions of one program. A token program that inlines to more is refused.
MAX_EXPANDED = 1 << 18
#: Registers that are handed out for the length of one token instruction, round and round.
SCRATCH_WINDOW = 1024


class Ins:
    """One instruction. ``widths[i]`` = consecutive registers that source i names as a vector, 0 for a scalar operand; ``offsets`` =
    registers written from ``dst``, ``span`` = registers that the result may reach."""

    __slots__ = ("aux", "aux2", "dst", "mods", "offsets", "op", "span", "src", "widths")

    def __init__(
        self,
        op: int,
        dst: int = NONE,
        src: Sequence[int] = (),
        *,
        mods: int = 0,
        aux: int = 0,
        aux2: int = 0,
        widths: tuple[int, ...] | None = None,
        offsets: tuple[int, ...] = (0,),
        span: int = 1,
    ) -> None:
        self.op = op
        self.dst = dst
        self.src = list(src)
        self.mods = mods
        self.aux = aux
        self.aux2 = aux2
        self.widths = widths
        self.offsets = offsets
        self.span = span

    def reads(self) -> Iterator[int]:
        """Numbers of the temporaries that are read."""
        widths = self.widths
        for i, word in enumerate(self.src):
            if word >> 28 == 1:
                first = word & INDEX_MASK
                if widths is None or widths[i] < 2:
                    yield first
                else:
                    yield from range(first, first + widths[i])

    def writes(self) -> Sequence[int]:
        """Numbers of the temporaries that are written."""
        if self.dst >> 28 != 1:
            return ()
        first = self.dst & INDEX_MASK
        return (first,) if self.offsets == (0,) else [first + o for o in self.offsets]


@dataclass(frozen=True, slots=True)
class ArrayElement:
    """A destination in an indexable array (``array`` >= 0) or an output with a computed index (``array`` = -1)."""

    array: int
    dword: int  #: encoded operand


Destination = int | ArrayElement


class Builder:
    """A program being written. ``registers`` is the number of token temporaries times four."""

    def __init__(self, registers: int) -> None:
        self.ins: list[Ins] = []
        self.literals: list[int] = []
        self._literal_at: dict[int, int] = {}
        self._pair_at: dict[tuple[int, int], int] = {}
        self._scratch_base = registers
        self._scratch = registers
        self._kept = registers + 2 * SCRATCH_WINDOW
        self.icb: list[int] = []

    # --- operands ----------------------------------------------------------------------------------------------------
    def literal(self, bits: int) -> int:
        """An operand with this value."""
        bits &= 0xFFFFFFFF
        at = self._literal_at.get(bits)
        if at is None:
            at = self._literal_at[bits] = len(self.literals)
            self.literals.append(bits)
        return LITERAL | at

    def literal_pair(self, low: int, high: int) -> int:
        """An operand naming two consecutive literals."""
        at = self._pair_at.get((low, high))
        if at is None:
            at = self._pair_at[low, high] = len(self.literals)
            self.literals += [low, high]
        return LITERAL | at

    def literal_value(self, word: int) -> int | None:
        """The value of an unmodified literal operand, else None."""
        if word >> 28 != Kind.LITERAL or word & MODIFIERS:
            return None
        return self.literals[word & INDEX_MASK]

    def scratch(self, count: int = 1) -> int:
        """``count`` consecutive registers, good until the end of the token instruction: the first one as an operand."""
        first = self._scratch
        self._scratch += count
        return TEMP | first

    def keep(self, count: int = 1) -> int:
        """Registers that nobody else gets."""
        first = self._kept
        self._kept += count
        return TEMP | first

    def end_instruction(self) -> None:
        """Scratch registers may be handed out again."""
        if self._scratch - self._scratch_base >= SCRATCH_WINDOW:
            self._scratch = self._scratch_base

    # --- emission ----------------------------------------------------------------------------------------------------
    def emit(
        self,
        op: int,
        dst: int = NONE,
        *src: int,
        mods: int = 0,
        aux: int = 0,
        aux2: int = 0,
        widths: tuple[int, ...] | None = None,
        offsets: tuple[int, ...] = (0,),
        span: int = 1,
    ) -> None:
        """Append an instruction. Raises ShaderError when the program grows beyond the limit."""
        if len(self.ins) >= MAX_EXPANDED:
            raise ShaderError(f"the program expands to more than {MAX_EXPANDED} scalar instructions")
        self.ins.append(
            Ins(op, dst, src, mods=mods, aux=aux, aux2=aux2, widths=widths, offsets=offsets, span=span)
        )

    def value(self, op: int, *src: int, mods: int = 0, aux: int = 0) -> int:
        """Emit into a fresh scratch register and return it."""
        dst = self.scratch()
        self.emit(op, dst, *src, mods=mods, aux=aux)
        return dst

    def store(self, destination: Destination, word: int) -> None:
        """Move a plain operand into a destination."""
        if isinstance(destination, ArrayElement):
            if destination.array >= 0:
                self.emit(Op.STORE_ARRAY, NONE, destination.dword, word, aux=destination.array)
            else:
                self.emit(Op.STORE_OUTPUT, NONE, destination.dword, word)
        else:
            self.emit(Op.MOV, destination, word)

    def parallel(self, assignments: list[tuple[Destination, int, tuple[int, ...], int]]) -> None:
        """Emit scalar ``(destination, op, sources, mods)`` so that all sources are read before any destination is written."""
        stores: list[tuple[ArrayElement, int]] = []
        pending: list[tuple[int, int, tuple[int, ...], int]] = []
        for destination, op, src, mods in assignments:
            if isinstance(destination, ArrayElement):
                temp = self.scratch()
                stores.append((destination, temp))
                pending.append((temp, op, src, mods))
            else:
                pending.append((destination, op, src, mods))
        late: list[tuple[int, int]] = []
        while pending:
            for i, (dst, _, _, _) in enumerate(pending):
                if dst >> 28 != 1 or not any(
                    j != i and any((w & ~MODIFIERS) == dst for w in other[2]) for j, other in enumerate(pending)
                ):
                    break
            else:
                # Every destination is still wanted by another assignment: take one out of the ring.
                i = 0
                dst, op, src, mods = pending[0]
                temp = self.scratch()
                late.append((dst, temp))
                pending[0] = (temp, op, src, mods)
            dst, op, src, mods = pending.pop(i)
            self.emit(op, dst, *src, mods=mods)
        for dst, temp in late:
            self.emit(Op.MOV, dst, temp)
        for element, temp in stores:
            self.store(element, temp)

    def vector(self, words: Sequence[int]) -> int:
        """The operands in consecutive registers: the first one. Registers that already lie so are used as they are."""
        first = words[0]
        if first >> 28 == 1 and not any(w & MODIFIERS for w in words) and all(
            w == first + i for i, w in enumerate(words)
        ):
            return first
        base = self.scratch(len(words))
        for i, word in enumerate(words):
            self.emit(Op.MOV, base + i, word)
        return base


Handler = Callable[..., None]
SATURATE = int(Mod.SATURATE)
