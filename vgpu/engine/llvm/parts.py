"""Compiled functions by what they are for, quick ones first and better ones when they have run for a while.

A new part is compiled at level QUICK, so that its first picture is soon there. Once it has run about as long as that took, a
process in the background compiles it at level FULL; the engine takes the better code when nothing waits that knows the old.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable
from typing import Final

from .codegen import FULL, QUICK
from .jit import Code, Jit
from .optimizer import Optimizer

#: Seconds that a part runs before it is optimised, for each character of its IR: what compiling it at level QUICK takes, roughly.
PATIENCE: Final = 2.5e-7
_MOST: Final = 4096


class Part:
    """A compiled function, or functions of one module. :attr:`code` is the best there is."""

    __slots__ = ("_ir", "code", "left")

    def __init__(self, code: Code, ir: str, left: float) -> None:
        self.code = code
        self._ir = zlib.compress(ir.encode(), 1) if code.level == QUICK else b""
        self.left = left  #: seconds of running until it is optimised; infinity when it is, or will be, as good as it gets

    @property
    def ir(self) -> str:
        """What it was compiled from; kept while it may be compiled again."""
        return zlib.decompress(self._ir).decode()

    def settle(self, code: Code) -> None:
        """Nothing better will come."""
        self.code, self._ir = code, b""

    def __getitem__(self, name: str) -> int:
        return self.code[name]


class Parts:
    """See the module docstring. ``patience``: as :data:`PATIENCE`; with 0, all code is FULL from the beginning."""

    def __init__(self, jit: Jit, patience: float = PATIENCE) -> None:
        self.jit, self.patience = jit, patience
        self.optimizer = Optimizer()
        self.ready = self.optimizer.done  #: not empty: :meth:`improve` has something to do
        self._parts: dict[tuple[str, Hashable], Part] = {}

    def get(self, kind: str, key: Hashable, make: Callable[[], str], level: int) -> Part:
        """A part by its key. QUICK is for parts whose running is told with :meth:`ran`."""
        found = self._parts.get((kind, key))
        if found is None:
            if len(self._parts) >= _MOST:
                self._parts.pop(next(iter(self._parts)))
            ir = make()
            code = self.jit.compile(ir, kind=kind, level=level if self.patience else FULL)
            left = self.patience * len(ir) if code.level == QUICK else float("inf")
            found = self._parts[kind, key] = Part(code, ir, left)
        return found

    def ran(self, parts: Iterable[Part], seconds: float) -> None:
        """These ran for so long."""
        for part in parts:
            part.left -= seconds
            if part.left <= 0 and not self.optimizer.full:
                part.left = float("inf")
                self.optimizer.want(part, part.ir)

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
