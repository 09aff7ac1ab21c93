"""Makes instructions: folds, simplifies and shares them as they are made.

Owns the region being filled and the tables of what has already been computed (value numbering, scoped like the
control flow).  A lane that folds, simplifies or was computed before costs no instruction.  Bounds the size of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .fold import COMMUTATIVE, double_fold, fold, simplify
from .nodes import COMPARES, ONE, ZERO, Fixed, FixedRegister, Imm, Instr, Lane, Region, Value, Vec

__all__ = ["Builder", "TooLarge"]

MAX_INSTRUCTIONS = 60_000


class TooLarge(Exception):
    """The program has more instructions than the compiler is willing to handle."""


class Builder:
    def __init__(self) -> None:
        self.region: Region = []
        self.known: list[dict[Any, Any]] = [{}]
        self.count = 0
        self.precise = False
        self.line = 0
        self.epoch = 0
        """Counts writes to memory; loads from writable memory are shared only within an epoch."""
        self.fixed: dict[Any, FixedRegister] = {}

    # -- scopes --------------------------------------------------------------------------------------------------

    @contextmanager
    def into(self, region: Region) -> Iterator[Region]:
        """Fill ``region``; what is computed there is not known behind it."""
        outer = self.region
        self.region = region
        self.known.append({})
        try:
            yield region
        finally:
            self.known.pop()
            self.region = outer

    def _find(self, key: Any) -> Any:
        for table in reversed(self.known):
            found = table.get(key)
            if found is not None:
                return found
        return None

    # -- instructions --------------------------------------------------------------------------------------------

    def add(self, instr: Instr) -> Instr:
        """Append as it is."""
        self.count += 1
        if self.count > MAX_INSTRUCTIONS:
            raise TooLarge
        instr.line = self.line
        instr.precise = self.precise
        if not instr.varying:
            instr.varying = any(varying(v) for src in instr.srcs for v in src)
        self.region.append(instr)
        return instr

    def op(self, op: str, *srcs: Sequence[Value]) -> Vec:
        """A component-wise operation; a source of one value is spread over the lanes."""
        width = 1
        for src in srcs:
            if len(src) > width:
                width = len(src)
        if width > 4:
            out: list[Value] = []
            for at in range(0, width, 4):
                out += self.op(op, *[src if len(src) == 1 else src[at : at + 4] for src in srcs])
            return tuple(out)
        spread = [tuple(src) * width if len(src) == 1 else src for src in srcs]
        results: list[Value | None] = [None] * width
        fresh: dict[Any, int] = {}  # key → position among new lanes
        wanted: list[tuple[Value, ...]] = []
        places: list[tuple[int, int]] = []
        precise = self.precise
        for i in range(width):
            values = tuple(src[i] for src in spread)
            name = op
            value: Any = fold(name, values)
            rounds = 0
            while value is None and rounds < 4:
                found = simplify(name, values, precise)
                if found is None:
                    break
                if type(found) is not tuple:
                    value = found
                    break
                name, values = found
                value = fold(name, values)
                rounds += 1
            if value is not None:
                results[i] = value
                continue
            if name != op:
                results[i] = self.op(name, *[(v,) for v in values])[0]
                continue
            key: Any = (op, values, precise)
            if op in COMMUTATIVE and id(values[0]) > id(values[1]):
                key = (op, (values[1], values[0]), precise)
            known = self._find(key)
            if known is not None:
                results[i] = known
                continue
            if key not in fresh:
                fresh[key] = len(wanted)
                wanted.append(values)
            places.append((i, fresh[key]))
        if wanted:
            instr = self.add(Instr(op, list(zip(*wanted, strict=True)), len(wanted)))
            table = self.known[-1]
            for key, at in fresh.items():
                table[key] = instr.lanes[at]
            for i, at in places:
                results[i] = instr.lanes[at]
        return tuple(results)  # type: ignore[arg-type]

    def one(self, op: str, *values: Value) -> Value:
        """A component-wise operation on scalars."""
        return self.op(op, *[(v,) for v in values])[0]

    def dot(self, a: Vec, b: Vec) -> Value:
        """Sum of products; components that are zero on one side drop out."""
        pairs = list(zip(a, b, strict=True))
        if not self.precise:
            pairs = [(x, y) for x, y in pairs if not (_is_zero(x) or _is_zero(y))]
        if not pairs:
            return ZERO
        if len(pairs) == 1:
            return self.one("mul", *pairs[0])
        if len(pairs) == 2 and any(v is ONE for pair in pairs for v in pair):
            return self.one("add", self.one("mul", *pairs[0]), self.one("mul", *pairs[1]))
        xs, ys = tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
        if all(type(v) is Imm for v in (*xs, *ys)):
            total = self.one("mul", xs[0], ys[0])
            for x, y in zip(xs[1:], ys[1:], strict=True):
                total = self.one("add", total, self.one("mul", x, y))
            return total
        return self.vector(f"dp{len(pairs)}", [xs, ys], (0,))[0]

    def vector(
        self, op: str, srcs: list[Vec], components: tuple[int, ...], info: Any = None, *, share: bool = True,
        varying: bool = False, key: Any = None,
    ) -> Vec:
        """An operation whose result is a vector of which ``components`` are wanted; shared when equal and ``share``."""
        identity = (op, tuple(srcs), info if key is None else key, self.precise)
        out: list[Value | None] = [None] * len(components)
        missing: list[int] = []
        for i, component in enumerate(components):
            out[i] = self._find((identity, component)) if share else None
            if out[i] is None and component not in missing:
                missing.append(component)
        if missing:
            missing.sort()
            instr = Instr(op, srcs, len(missing), tuple(missing), info)
            instr.varying = varying
            self.add(instr)
            made = dict(zip(missing, instr.lanes, strict=True))
            if share:
                for component, lane in made.items():
                    self.known[-1][(identity, component)] = lane
            out = [made[c] if v is None else v for v, c in zip(out, components, strict=True)]
        return tuple(out)  # type: ignore[arg-type]

    def double(self, op: str, *srcs: Vec) -> Vec:
        """A double operation, component by component; double sources and results are (low, high) pairs in a row."""
        from_double = op not in ("ftod", "itod", "utod")
        to_double = op not in COMPARES and op not in ("dtof", "dtoi", "dtou")
        step = 2 if from_double else 1
        count = max(len(src) for src in srcs) // step
        out: list[Value] = []
        for i in range(count):
            parts = [src[:step] if len(src) == step else src[i * step : i * step + step] for src in srcs]
            flat = tuple(v for part in parts for v in part)
            folded = double_fold(op, flat)
            if folded is not None:
                out += folded
                continue
            out += self.vector(op, [tuple(p) for p in parts], (0, 1) if to_double else (0,))
        return tuple(out)

    def effect(self, op: str, srcs: list[Vec], info: Any = None, components: tuple[int, ...] = ()) -> Vec:
        """An operation that changes something outside; ``components`` when it also gives values."""
        instr = Instr(op, srcs, len(components), components, info)
        instr.varying = bool(components)
        self.add(instr)
        return tuple(instr.lanes)

    def touch_memory(self) -> None:
        self.epoch += 1


def _is_zero(value: Value) -> bool:
    return type(value) is Imm and value.bits & 0x7FFFFFFF == 0


def varying(value: Value) -> bool:
    """Whether a value may differ between invocations that run side by side."""
    if type(value) is Lane:
        return value.instr.varying
    if type(value) is Fixed:
        return value.register.varying
    return False
