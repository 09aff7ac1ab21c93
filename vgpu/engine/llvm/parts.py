"""Compiled functions by what they are for, quick ones first and better ones when they have run for a while.

A new part is compiled at level QUICK, so that its first picture is soon there. Once it has run about as long as that took, a
process in the background compiles it at level FULL; the engine takes the better code when nothing waits that knows the old.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final

from .codegen import FULL, QUICK
from .jit import Code, Jit
from .optimizer import Optimizer

#: Seconds that a part runs before it is optimised, for each character of its IR: what compiling it at level QUICK takes, roughly.
PATIENCE: Final = 2.5e-7
_MOST: Final = 4096


class Part:
    """A compiled function, or functions of one module. :attr:`code` is the best there is."""

    __slots__ = ("_full", "_ir", "_quick", "code", "left")

    def __init__(self, code: Code, ir: str = "", full: Callable[[], str] | None = None, left: float = float("inf")) -> None:
        self.code = code
        self._ir = zlib.compress(ir.encode(), 1)
        self._full = full
        self._quick = code if code.level == QUICK else None
        self.left = left  #: seconds of running until it is optimised; infinity when it is, or will be, as good as it gets

    @property
    def ir(self) -> str:
        """What it was compiled from at level QUICK."""
        return zlib.decompress(self._ir).decode()

    @property
    def better(self) -> str:
        """What it is compiled from at level FULL."""
        return self._full() if self._full is not None else self.ir

    def settle(self, code: Code) -> None:
        """Nothing better will come."""
        self.code = code
        if self._full is None:
            self._ir, self._quick = b"", None

    def quick(self, jit: Jit) -> Code:
        """The code at level QUICK, for those who must go together and are not all better yet; the best where both levels have the
        same lanes."""
        if self._full is None:
            return self.code
        if self._quick is None:
            self._quick = jit.compile(self.ir, level=QUICK, better=False)
        return self._quick

    def __getitem__(self, name: str) -> int:
        return self.code[name]


class Parts:
    """See the module docstring. ``patience``: as :data:`PATIENCE`; with 0, all code is FULL from the beginning."""

    def __init__(self, jit: Jit, patience: float = PATIENCE) -> None:
        self.jit, self.patience = jit, patience
        self.optimizer = Optimizer()
        self.ready = self.optimizer.done  #: not empty: :meth:`improve` has something to do
        self._parts: dict[tuple[str, Hashable], Part] = {}

    def get(
        self, kind: str, key: Hashable, make: Callable[[], str], level: int, full: Callable[[], str] | None = None
    ) -> Part:
        """A part by its key. QUICK is for parts whose running is told with :meth:`ran`; ``full`` makes what is compiled at level
        FULL where that is something else: with more lanes, which take long to compile where the processor has fewer.
        """
        found = self._parts.get((kind, key))
        if found is None:
            if len(self._parts) >= _MOST:
                self._parts.pop(next(iter(self._parts)))
            found = self._parts[kind, key] = self._new(kind, make, level, full)
        return found

    def _new(self, kind: str, make: Callable[[], str], level: int, full: Callable[[], str] | None) -> Part:
        if level == FULL or not self.patience:
            return Part(self.jit.compile((full or make)(), kind=kind))
        ir = make()
        code = self.jit.compile(ir, kind=kind, level=QUICK)
        if code.level == QUICK:
            return Part(code, ir, full, self.patience * len(ir))
        return Part(code, ir if full is not None else "", full)

    def together(self, parts: Sequence[Part]) -> tuple[Code, ...]:
        """The best code of parts that must be of one level."""
        if all(part.code.level == FULL for part in parts):
            return tuple(part.code for part in parts)
        return tuple(part.quick(self.jit) for part in parts)

    def ran(self, parts: Iterable[Part], seconds: float) -> None:
        """These ran for so long."""
        for part in parts:
            part.left -= seconds
            if part.left <= 0 and not self.optimizer.full:
                part.left = float("inf")
                self.optimizer.want(part, part.better)

    def improve(self) -> set[Part]:
        """Take the better code that has come; the parts that have it."""
        better = set()
        while self.ready:
            part, image = self.ready.popleft()
            assert isinstance(part, Part)
            if image is None:
                part.settle(part.code)
            else:
                part.settle(self.jit.adopt(part.ir, image))
                better.add(part)
        return better
