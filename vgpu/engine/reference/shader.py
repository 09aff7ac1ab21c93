"""The shader interpreter: one program over many lanes at once, operation by operation, with a mask of active lanes.

:class:`Program` is a checked program with its jumps resolved. :class:`Lanes` is what a batch of invocations runs with: inputs,
outputs, system values, bindings. :class:`Interpreter` executes. All lanes are in lockstep, so that barriers need no work. What
touches resources is in :mod:`.resources`.

Every value is a row of uint32 bits, one element per lane (or one for all). Masks are never changed in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vgpu.engine import FaultError, StopWord
from wddm.hw.interrupts import Fault
from wddm.hw.isa import (
    ABSOLUTE,
    INDEX_MASK,
    NEGATE,
    DeclarationKind,
    IsaError,
    Kind,
    Mod,
    Op,
    ProgramFlag,
    ShaderProgram,
    SystemRegister,
    SystemValue,
)
from wddm.hw.isa_check import SIGNATURES, check, declared
from wddm.hw.packets import Stage

from . import arithmetic as alu
from . import resources

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
_SIGN: Final = np.uint32(0x8000_0000)
_FLOW: Final = range(Op.IF, Op.DISCARD + 1)


class Program:
    """A checked program. ``rows[register * 4 + component]`` layouts: inputs and outputs reach up to the highest register."""

    def __init__(self, program: ShaderProgram) -> None:
        check(program)
        self.binary = program
        self.stage = Stage(program.stage)
        self.code: list[tuple[int, int, int, tuple[int, ...], int, int]] = [
            (op, mods, dst, tuple(src), aux, aux2)
            for op, mods, dst, src, aux, aux2 in zip(
                *(program.instructions[n].tolist() for n in ("op", "mods", "dst", "src", "aux", "aux2")), strict=True
            )
        ]
        self.inputs = declared(program, DeclarationKind.INPUT).tolist()
        self.outputs = declared(program, DeclarationKind.OUTPUT).tolist()
        self.patch = declared(program, DeclarationKind.PATCH_CONSTANT).tolist()
        self.input_rows = 4 * max((d[1] + 1 for d in self.inputs), default=0)
        self.output_rows = 4 * max((d[1] + 1 for d in self.outputs), default=0)
        self.patch_rows = 4 * max((d[1] + 1 for d in self.patch), default=0)
        self.arrays = {d[1]: d[3] for d in declared(program, DeclarationKind.ARRAY).tolist()}
        self.resources = {d[1]: d for d in declared(program, DeclarationKind.RESOURCE).tolist()}
        self.uavs = {d[1]: d for d in declared(program, DeclarationKind.UAV).tolist()}
        self.jumps = self._jumps()
        self.has_loop = any(row[0] == Op.LOOP for row in self.code)
        systems = {s & INDEX_MASK for row in self.code for s in row[3] if s >> 28 == Kind.SYSTEM}
        self.systems = frozenset(SystemRegister(s) for s in systems)
        self.samples = bool(program.flags & ProgramFlag.SAMPLE_FREQUENCY) or SystemRegister.SAMPLE_INDEX in self.systems

    def output_of(self, value: SystemValue) -> int | None:
        """First row of the output (component included) with a system value."""
        for _, register, mask, system, _extra in self.outputs:
            if system == value:
                result: int | None = int(register) * 4 + ((mask & -mask).bit_length() - 1)
                return result
        return None

    def output_rows_of(self, value: SystemValue) -> list[int]:
        """All rows of the outputs with a system value, in order of registers."""
        rows = []
        for _, register, mask, system, _extra in sorted(self.outputs, key=lambda d: d[1]):
            if system == value:
                rows += [register * 4 + c for c in range(4) if mask >> c & 1]
        return rows

    def _jumps(self) -> dict[int, int]:
        """IF → its ELSE or ENDIF, ELSE → ENDIF, LOOP and BLOCK → their ends."""
        jumps: dict[int, int] = {}
        stack: list[int] = []
        for i, row in enumerate(self.code):
            op = row[0]
            if op in (Op.IF, Op.LOOP, Op.BLOCK):
                stack.append(i)
            elif op in (Op.ELSE, Op.ENDIF, Op.ENDLOOP, Op.ENDBLOCK):
                jumps[stack.pop()] = i
                if op == Op.ELSE:
                    stack.append(i)
        return jumps


@lru_cache(maxsize=256)
def load(data: bytes) -> Program:
    """The program in ``data``. Raises FaultError(BAD_SHADER)."""
    try:
        return Program(ShaderProgram.from_bytes(data))
    except IsaError as error:
        raise FaultError(Fault.BAD_SHADER, str(error)) from error


def _zeros() -> Array:
    return np.zeros((0, 0), np.uint32)


@dataclass(slots=True)
class Lanes:
    """A batch of invocations. Rows are uint32 ``(rows, lanes)``."""

    count: int
    inputs: Array = field(default_factory=_zeros)
    vertices: Array | None = None  #: (points, rows, lanes): inputs of stages that see several vertices
    patch: Array | None = None  #: (rows, lanes): patch constants
    control_points: Array | None = None  #: (points, rows, lanes): hull outputs, for the patch-constant entry
    system: dict[int, Array] = field(default_factory=dict)
    constants: dict[int, Array] = field(default_factory=dict)  #: slot → dwords bound
    resources: dict[int, Any] = field(default_factory=dict)
    samplers: dict[int, Any] = field(default_factory=dict)
    uavs: dict[int, Any] = field(default_factory=dict)
    shared: Array | None = None  #: (groups, dwords)
    group: Array | None = None  #: group of each lane
    helper: Bools | None = None  #: lanes that must leave no trace
    rasterizer_samples: int = 1
    evaluate: Callable[[int, str, tuple[Array, ...]], Array] | None = None  #: pull-model interpolation
    emit: Callable[[int, Bools, Array], None] | None = None
    cut: Callable[[int, Bools], None] | None = None


class _Frame:
    """An open IF, LOOP or BLOCK. ``outer``: lanes that go on after it. ``other``: lanes of the ELSE, or of the next iteration."""

    __slots__ = ("kind", "other", "outer", "skip", "start")

    def __init__(self, kind: int, outer: Bools, other: Bools, start: int, skip: int) -> None:
        self.kind, self.outer, self.other, self.start, self.skip = kind, outer, other, start, skip


class Interpreter:
    """Runs ``program`` once over ``lanes``; results are in ``outputs`` and ``discarded``."""

    def __init__(self, program: Program, lanes: Lanes, stop: StopWord) -> None:
        self.program, self.lanes, self.stop = program, lanes, stop
        self.n = lanes.count
        self.temps = np.zeros((program.binary.temp_count, self.n), np.uint32)
        self.arrays = {i: np.zeros((size, self.n), np.uint32) for i, size in program.arrays.items()}
        self.outputs = np.zeros((program.output_rows, self.n), np.uint32)
        self.literals = program.binary.literals
        self.lane = np.arange(self.n)
        self.active: Bools = np.ones(self.n, bool)
        self.full = True
        self.discarded: Bools = np.zeros(self.n, bool)
        self._stack: list[_Frame] = []

    def run(self, start: int = 0, end: int | None = None) -> None:
        """Execute instructions [start, end). Raises FaultError(HANG) when stopped."""
        code = self.program.code
        end = len(code) if end is None else end
        pc = start
        while pc < end:
            row = code[pc]
            op = row[0]
            if op in _FLOW:
                pc = self._flow(pc, row, end)
            else:
                _EXECUTE[op](self, row)
                pc += 1

    # --- operands ----------------------------------------------------------------------------------------------------

    def raw(self, word: int) -> Array:
        """The bits of a source, without modifiers: one element, or one per lane."""
        kind, index = word >> 28, word & INDEX_MASK
        if kind in (Kind.TEMP, Kind.INPUT):
            row: Array = (self.temps if kind == Kind.TEMP else self.lanes.inputs)[index]
            return row
        if kind == Kind.LITERAL:
            return self.literals[index : index + 1]
        if kind == Kind.CONSTANT:
            bound = self.lanes.constants.get(index >> 14)
            at = index & 0x3FFF
            return bound[at : at + 1] if bound is not None and at < len(bound) else np.zeros(1, np.uint32)
        value = self.lanes.system.get(index)
        return value if value is not None else np.zeros(1, np.uint32)

    def i(self, word: int) -> Array:
        """An integer source."""
        value = self.raw(word)
        return ~value + np.uint32(1) if word & NEGATE else value

    def f(self, word: int) -> Array:
        """A float source as float32: denormals flushed, absolute value first, then negation, on the sign bit alone."""
        value = alu.flush(self.raw(word))
        if word & ABSOLUTE:
            value = value & ~_SIGN
        if word & NEGATE:
            value = value ^ _SIGN
        return value.view(np.float32)

    def d(self, word: int) -> Array:
        """A double source."""
        low, high = self.raw(word), self.raw((word & ~INDEX_MASK) | (word & INDEX_MASK) + 1)
        if word & ABSOLUTE:
            high = high & ~_SIGN
        if word & NEGATE:
            high = high ^ _SIGN
        return (low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)).view(np.float64)

    def vector(self, word: int, count: int) -> list[Array]:
        """``count`` consecutive temporaries."""
        index = word & INDEX_MASK
        return [self.temps[index + k] for k in range(count)]

    def full_width(self, value: Array) -> Array:
        """One element per lane."""
        return np.broadcast_to(value, (self.n,)) if len(value) != self.n else value

    def write(self, word: int, value: Array, offset: int = 0) -> None:
        """Bits to a destination, for active lanes."""
        rows = self.temps if word >> 28 == Kind.TEMP else self.outputs
        if word >> 28 == Kind.OUTPUT and self.program.stage == Stage.HULL and self.lanes.control_points is not None:
            rows = self.patch_outputs
        row = rows[(word & INDEX_MASK) + offset]
        if self.full:
            row[:] = value
        else:
            np.copyto(row, value, where=self.active)

    @property
    def patch_outputs(self) -> Array:
        """Where a hull program's patch-constant entry writes."""
        assert self.lanes.patch is not None
        return self.lanes.patch

    def write_f(self, word: int, value: Array, mods: int) -> None:
        """A float result."""
        if mods & Mod.SATURATE:
            value = alu.saturate(value)
        self.write(word, alu.flush(np.ascontiguousarray(value, np.float32).view(np.uint32)))

    def write_d(self, word: int, value: Array, mods: int) -> None:
        """A double result."""
        if mods & Mod.SATURATE:
            value = alu.saturate(value)
        whole = np.ascontiguousarray(value, np.float64).view(np.uint64)
        self.write(word, (whole & np.uint64(0xFFFF_FFFF)).astype(np.uint32))
        self.write(word, (whole >> np.uint64(32)).astype(np.uint32), 1)

    def condition(self, row: tuple[int, int, int, tuple[int, ...], int, int]) -> Bools:
        """Active lanes whose condition holds."""
        value = self.i(row[3][0])
        holds = (value == 0) if row[1] & Mod.TEST_ZERO else (value != 0)
        result: Bools = self.active & holds
        return result

    @property
    def visible(self) -> Bools:
        """Active lanes that may leave a trace in memory."""
        helper = self.lanes.helper
        if helper is None:
            return self.active & ~self.discarded
        return self.active & ~helper & ~self.discarded

    # --- control flow ------------------------------------------------------------------------------------------------

    def _set(self, active: Bools) -> bool:
        self.active = active
        self.full = bool(active.all())
        return self.full or bool(active.any())

    def _flow(self, pc: int, row: tuple[int, int, int, tuple[int, ...], int, int], end: int) -> int:
        op, jumps, stack = row[0], self.program.jumps, self._stack
        if op == Op.IF:
            taken = self.condition(row)
            stack.append(_Frame(Op.IF, self.active, self.active & ~taken, pc, jumps[pc]))
            return pc + 1 if self._set(taken) else jumps[pc]
        if op == Op.ELSE:
            frame = stack[-1]
            frame.skip = jumps[pc]
            return pc + 1 if self._set(frame.other) else jumps[pc]
        if op in (Op.LOOP, Op.BLOCK):
            stack.append(_Frame(op, self.active, self.active, pc, jumps[pc]))
            return pc + 1 if self.full or self.active.any() else jumps[pc]
        if op == Op.ENDLOOP:
            if self.stop:
                raise FaultError(Fault.HANG, f"stopped in the loop that ends at instruction {pc}")
            frame = stack[-1]
            if self._set(frame.other):
                return frame.start + 1
            self._set(stack.pop().outer)
        elif op in (Op.ENDIF, Op.ENDBLOCK):
            self._set(stack.pop().outer)
        elif op == Op.DISCARD:
            self.discarded = self.discarded | self.condition(row)
            return pc + 1
        else:
            lanes = self.active if op in (Op.BREAK, Op.CONTINUE, Op.RET) else self.condition(row)
            self._leave(op, row[4], lanes)
        if self.full or self.active.any():
            return pc + 1
        # Nobody is left here: on to where lanes may wait.
        if not stack:
            return end
        return max(stack[-1].skip, pc + 1)

    def _leave(self, op: int, levels: int, lanes: Bools) -> None:
        """Take ``lanes`` out of everything up to the level they leave."""
        stay = ~lanes
        for frame in reversed(self._stack):
            if frame.kind != Op.IF and op not in (Op.RET, Op.RETC):
                levels -= 1
                if levels == 0:
                    if op in (Op.BREAK, Op.BREAKC):
                        frame.other = frame.other & stay
                    break
            frame.outer = frame.outer & stay
            frame.other = frame.other & stay
        self._set(self.active & stay)


# --- operations -------------------------------------------------------------------------------------------------------

Row = tuple[int, int, int, tuple[int, ...], int, int]
Execute = Callable[[Interpreter, Row], None]


def _float(function: Callable[..., Array], count: int) -> Execute:
    def execute(x: Interpreter, row: Row) -> None:
        x.write_f(row[2], function(*(x.f(s) for s in row[3][:count])), row[1])

    return execute


def _mad(x: Interpreter, row: Row) -> None:
    """Not fused: the product is rounded and flushed."""
    a, b, c = (x.f(s) for s in row[3][:3])
    product = alu.flush((a * b).view(np.uint32)).view(np.float32)
    x.write_f(row[2], product + c, row[1])


def _compare(function: Callable[..., Array]) -> Execute:
    return lambda x, row: x.write(row[2], alu.truth(function(x.f(row[3][0]), x.f(row[3][1]))))


def _integer(function: Callable[..., Array], count: int) -> Execute:
    return lambda x, row: x.write(row[2], function(*(x.i(s) for s in row[3][:count])))


def _convert(source: str, result: str, function: Callable[[Array], Array]) -> Execute:
    def execute(x: Interpreter, row: Row) -> None:
        value = function({"f": x.f, "i": x.i, "d": x.d}[source](row[3][0]))
        if result == "i":
            x.write(row[2], value)
        else:
            (x.write_f if result == "f" else x.write_d)(row[2], value, row[1])

    return execute


def _double(function: Callable[..., Array], count: int) -> Execute:
    return lambda x, row: x.write_d(row[2], function(*(x.d(s) for s in row[3][:count])), row[1])


def _double_compare(function: Callable[..., Array]) -> Execute:
    return lambda x, row: x.write(row[2], alu.truth(function(x.d(row[3][0]), x.d(row[3][1]))))


def _mov(x: Interpreter, row: Row) -> None:
    word, mods = row[3][0], row[1]
    if word & (NEGATE | ABSOLUTE) or mods & Mod.SATURATE:
        x.write_f(row[2], x.f(word), mods)
    else:
        x.write(row[2], x.raw(word))


def _select(x: Interpreter, row: Row) -> None:
    _, mods, dst, (a, b, c, _e), _aux, _aux2 = row
    holds = x.i(a) != 0
    if (b | c) & (NEGATE | ABSOLUTE) or mods & Mod.SATURATE:
        x.write_f(dst, np.where(holds, x.f(b), x.f(c)), mods)
    else:
        x.write(dst, np.where(holds, x.raw(b), x.raw(c)))


def _dselect(x: Interpreter, row: Row) -> None:
    x.write_d(row[2], np.where(x.i(row[3][0]) != 0, x.d(row[3][1]), x.d(row[3][2])), row[1])


def _gather_rows(x: Interpreter, rows: Array, index: Array) -> Array:
    """rows[index[lane], lane]; 0 outside."""
    index = x.full_width(index).astype(np.int64)
    inside = index < len(rows)
    if not len(rows):
        return np.zeros(1, np.uint32)
    return np.where(inside, rows[np.where(inside, index, 0), x.lane], np.uint32(0))


def _scatter_rows(x: Interpreter, rows: Array, index: Array, value: Array) -> None:
    index = x.full_width(index).astype(np.int64)
    lanes = np.flatnonzero(x.active & (index < len(rows)))
    rows[index[lanes], lanes] = x.full_width(value)[lanes]


def _load_array(x: Interpreter, row: Row) -> None:
    x.write(row[2], _gather_rows(x, x.arrays[row[4]], x.i(row[3][0])))


def _store_array(x: Interpreter, row: Row) -> None:
    _scatter_rows(x, x.arrays[row[4]], x.i(row[3][0]), x.i(row[3][1]))


def gather(table: Array, index: Array) -> Array:
    """table[index]; 0 outside."""
    if not len(table):
        return np.zeros(1, np.uint32)
    inside = index < len(table)
    return np.where(inside, table[np.where(inside, index, np.uint32(0))], np.uint32(0))


def _load_constant(x: Interpreter, row: Row) -> None:
    x.write(row[2], gather(x.lanes.constants.get(row[4], np.zeros(0, np.uint32)), x.i(row[3][0])))


def _load_icb(x: Interpreter, row: Row) -> None:
    x.write(row[2], gather(x.program.binary.icb, x.i(row[3][0])))


def _points(x: Interpreter, points: Array | None, row: Row) -> None:
    """points[vertex, dword, lane]; 0 outside."""
    dword, vertex = (x.full_width(x.i(s)).astype(np.int64) for s in row[3][:2])
    if points is None or not points.size:
        x.write(row[2], np.zeros(1, np.uint32))
        return
    inside = (vertex < points.shape[0]) & (dword < points.shape[1])
    x.write(row[2], np.where(inside, points[np.where(inside, vertex, 0), np.where(inside, dword, 0), x.lane], np.uint32(0)))


def _load_input(x: Interpreter, row: Row) -> None:
    if row[3][1]:
        _points(x, x.lanes.vertices, row)
    else:
        x.write(row[2], _gather_rows(x, x.lanes.inputs, x.i(row[3][0])))


def _store_output(x: Interpreter, row: Row) -> None:
    late = x.program.stage == Stage.HULL and x.lanes.control_points is not None
    _scatter_rows(x, x.patch_outputs if late else x.outputs, x.i(row[3][0]), x.i(row[3][1]))


def _load_patch(x: Interpreter, row: Row) -> None:
    rows = x.lanes.patch
    x.write(row[2], _gather_rows(x, rows if rows is not None else _zeros(), x.i(row[3][0])))


def _derivative(vertical: bool, fine: bool) -> Execute:
    def execute(x: Interpreter, row: Row) -> None:
        x.write_f(row[2], derivative(x.full_width(x.f(row[3][0])), vertical, fine), row[1])

    return execute


def derivative(value: Array, vertical: bool, fine: bool = False) -> Array:
    """Difference in a quad (lanes 0 1 above 2 3); coarse: the first row's or column's for all four."""
    quad = value.reshape(-1, 4)
    if vertical:
        difference = quad[:, 2:] - quad[:, :2] if fine else (quad[:, 2] - quad[:, 0])[:, None].repeat(2, 1)
        return np.concatenate([difference, difference], 1).reshape(-1)
    difference = quad[:, 1::2] - quad[:, ::2] if fine else (quad[:, 1] - quad[:, 0])[:, None].repeat(2, 1)
    return difference.repeat(2, 1).reshape(-1)


def _evaluate(mode: str, count: int) -> Execute:
    def execute(x: Interpreter, row: Row) -> None:
        assert x.lanes.evaluate is not None
        word = row[3][0]
        arguments = tuple(x.full_width(x.i(s)) for s in row[3][1 : 1 + count])
        value = x.lanes.evaluate(word & INDEX_MASK, mode, arguments)
        value = alu.flush(value.view(np.uint32))
        value = value & ~_SIGN if word & ABSOLUTE else value
        value = value ^ _SIGN if word & NEGATE else value
        x.write_f(row[2], value.view(np.float32), row[1])

    return execute


def _emit(x: Interpreter, row: Row) -> None:
    assert x.lanes.emit is not None
    x.lanes.emit(row[4], x.active, x.outputs)


def _cut(x: Interpreter, row: Row) -> None:
    assert x.lanes.cut is not None
    x.lanes.cut(row[4], x.active)


def _nothing(x: Interpreter, row: Row) -> None:
    """NOP, and BARRIER: lanes are in lockstep."""


def _table() -> dict[int, Execute]:
    def count(op: int) -> int:
        return len(SIGNATURES[Op(op)].src)

    table: dict[int, Execute] = {op: _float(f, count(op)) for op, f in alu.FLOAT.items()}
    table |= {op: _compare(f) for op, f in alu.COMPARE.items()}
    table |= {op: _integer(f, count(op)) for op, f in alu.INTEGER.items()}
    table |= {op: _convert(*signature) for op, signature in alu.CONVERT.items()}
    table |= {op: _double(f, count(op)) for op, f in alu.DOUBLE.items()}
    table |= {op: _double_compare(f) for op, f in alu.DOUBLE_COMPARE.items()}
    table |= {
        Op.NOP: _nothing,
        Op.MOV: _mov,
        Op.SELECT: _select,
        Op.FMAD: _mad,
        Op.DMOV: lambda x, row: x.write_d(row[2], x.d(row[3][0]), row[1]),
        Op.DSELECT: _dselect,
        Op.LOAD_ARRAY: _load_array,
        Op.STORE_ARRAY: _store_array,
        Op.LOAD_CONSTANT: _load_constant,
        Op.LOAD_ICB: _load_icb,
        Op.LOAD_INPUT: _load_input,
        Op.STORE_OUTPUT: _store_output,
        Op.LOAD_PATCH: _load_patch,
        Op.LOAD_CONTROL_POINT: lambda x, row: _points(x, x.lanes.control_points, row),
        Op.BARRIER: _nothing,
        Op.DDX_COARSE: _derivative(False, False),
        Op.DDY_COARSE: _derivative(True, False),
        Op.DDX_FINE: _derivative(False, True),
        Op.DDY_FINE: _derivative(True, True),
        Op.EVAL_SAMPLE: _evaluate("sample", 1),
        Op.EVAL_CENTROID: _evaluate("centroid", 0),
        Op.EVAL_SNAPPED: _evaluate("snapped", 2),
        Op.EMIT: _emit,
        Op.CUT: _cut,
    }
    return table | resources.EXECUTE


_EXECUTE: Final[dict[int, Execute]] = _table()
