"""Runs token programs on numpy arrays, one lane per invocation: a second opinion for compiler tests.

Small, plain and independent of the stack's engines: it knows only :mod:`wddm.dxbc`.  All lanes step through the
program together under a mask, so barriers need nothing and quads (lanes 4k … 4k+3) have derivatives.  Vertex, pixel
and compute shaders; for hull, domain and geometry shaders one phase at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from wddm.dxbc.container import ShaderBlob
from wddm.dxbc.opcodes import Modifier, Opcode, RegisterType, ResinfoReturn
from wddm.dxbc.program import Declaration, Instruction, Operand, Program

U32 = npt.NDArray[np.uint32]
MAX_STEPS = 200_000

R = RegisterType
FALSE, TRUE = np.uint32(0), np.uint32(0xFFFFFFFF)


@dataclass
class Machine:
    """Registers and memory of ``lanes`` invocations.

    ``inputs``: (register type, register) → (lanes, 4) uint32; constant buffers, textures and UAVs are arrays by slot:
    buffers 1D uint32, typed resources (…, z, y, x, 4) uint32.  ``samplers``: slot → f(coordinates, lod) → (lanes, 4).
    """

    lanes: int
    inputs: dict[tuple[RegisterType, int], U32] = field(default_factory=dict)
    vertices: dict[tuple[RegisterType, int, int], U32] = field(default_factory=dict)
    buffers: dict[int, U32] = field(default_factory=dict)
    textures: dict[int, U32] = field(default_factory=dict)
    uavs: dict[int, U32] = field(default_factory=dict)
    counters: dict[int, int] = field(default_factory=dict)
    samplers: dict[int, Callable[..., Any]] = field(default_factory=dict)
    temps: dict[int, U32] = field(default_factory=dict)
    arrays: dict[int, U32] = field(default_factory=dict)
    outputs: dict[tuple[RegisterType, int], U32] = field(default_factory=dict)
    emitted: list[dict[tuple[RegisterType, int], U32] | str] = field(default_factory=list)
    shared: dict[int, U32] = field(default_factory=dict)
    icb: U32 = field(default_factory=lambda: np.zeros((0, 4), np.uint32))
    discarded: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    strides: dict[tuple[RegisterType, int], int] = field(default_factory=dict)
    steps: int = 0

    # -- set-up --------------------------------------------------------------------------------------------------

    def run(self, program: Program, phase: int = -1) -> Machine:
        """Execute the program, or the given hull phase."""
        self.discarded = np.zeros(self.lanes, bool)
        declarations, code = program.declarations, program.instructions
        if phase >= 0:
            declarations = declarations + program.phases[phase].declarations
            code = program.phases[phase].instructions
        for d in declarations:
            self.declare(d)
        block, _ = _parse(code, 0, ())
        with np.errstate(all="ignore"):
            self.block(block, np.ones(self.lanes, bool), [])
        return self

    def declare(self, d: Declaration) -> None:
        if d.opcode is Opcode.DCL_INDEXABLETEMP:
            self.arrays[d.register] = np.zeros((self.lanes, d.count, 4), np.uint32)
        elif d.opcode is Opcode.CUSTOMDATA:
            self.icb = np.frombuffer(d.data, np.uint32).reshape(-1, 4)
        elif d.opcode is Opcode.DCL_TGSM_STRUCTURED and d.operand:
            self.shared.setdefault(d.slot, np.zeros(d.stride // 4 * d.count, np.uint32))
            self.strides[R.THREAD_GROUP_SHARED_MEMORY, d.slot] = d.stride
        elif d.opcode in (Opcode.DCL_RESOURCE_STRUCTURED, Opcode.DCL_UAV_STRUCTURED) and d.operand:
            self.strides[d.operand.type, d.slot] = d.stride

    # -- operands ------------------------------------------------------------------------------------------------

    def index(self, index: Any) -> Any:
        if index.relative is None:
            return index.immediate
        return (self.raw(index.relative)[:, index.relative.swizzle[0]].astype(np.int64) + index.immediate) & 0xFFFFFFFF

    def raw(self, o: Operand) -> U32:
        """All four components of the register an operand names."""
        if o.type is R.IMMEDIATE32:
            words = o.values * 4 if len(o.values) == 1 else o.values
            return np.tile(np.array(words, np.uint32), (self.lanes, 1))
        if o.type is R.IMMEDIATE64:
            words = o.values * 2 if len(o.values) == 2 else o.values
            return np.tile(np.array(words, np.uint32), (self.lanes, 1))
        at = [self.index(i) for i in o.indices]
        if o.type is R.TEMP:
            return self.temps.setdefault(at[0], np.full((self.lanes, 4), 0xDEADBEEF, np.uint32))
        if o.type is R.INDEXABLE_TEMP:
            array = self.arrays[at[0]]
            index = np.broadcast_to(np.minimum(at[1], array.shape[1] - 1), (self.lanes,))
            return array[np.arange(self.lanes), index]
        if o.type is R.CONSTANT_BUFFER:
            data = self.buffers[at[0]]
            rows = np.zeros((max(1, -(-len(data) // 4)), 4), np.uint32)
            rows.reshape(-1)[: len(data)] = data
            return _fetch(rows, at[1], self.lanes)
        if o.type is R.IMMEDIATE_CONSTANT_BUFFER:
            return _fetch(self.icb, at[0], self.lanes)
        if len(at) == 2:
            vertex = np.broadcast_to(at[0], (self.lanes,))
            return np.stack([self.vertices[o.type, int(v), at[1]][lane] for lane, v in enumerate(vertex)])
        return self.inputs[o.type, at[0] if at else 0]

    def read(self, o: Operand, kind: str = "u") -> Any:
        """(lanes, 4) of an operand as floats (f), signed (i) or bits (u), modifiers applied."""
        bits = self.raw(o)
        if o.type is not R.IMMEDIATE32:
            bits = bits[:, list(o.swizzle)]
        m = o.modifier
        if kind == "f" or (kind == "u" and m is not Modifier.NONE):
            value = bits.view(np.float32).copy()
            if m in (Modifier.ABS, Modifier.NEG_ABS):
                value = np.abs(value)
            if m in (Modifier.NEG, Modifier.NEG_ABS):
                value = -value
            return value if kind == "f" else value.view(np.uint32)
        if kind in "iU":
            value = bits.view(np.int32).copy()
            if m is Modifier.NEG:
                value = -value
            return value if kind == "i" else value.view(np.uint32)
        return bits.copy()

    def doubles(self, o: Operand) -> npt.NDArray[np.float64]:
        bits = self.raw(o)
        if o.type is not R.IMMEDIATE64:
            bits = np.ascontiguousarray(bits[:, list(o.swizzle)])
        return np.ascontiguousarray(bits).view(np.float64)

    def write(self, o: Operand, value: Any, mask: npt.NDArray[np.bool_], saturate: bool = False) -> None:
        if o.type is R.NULL:
            return
        value = np.asarray(value)
        if value.ndim == 1:
            value = value[:, None]
        value = np.broadcast_to(value, (self.lanes, 4))
        if saturate:
            value = np.ascontiguousarray(value).view(np.float32)
            value = np.nan_to_num(np.clip(value, 0, 1), nan=0.0)
        if value.dtype != np.uint32:
            value = np.ascontiguousarray(value).view(np.uint32)
        at = [self.index(i) for i in o.indices]
        if o.type is R.TEMP:
            target = self.temps.setdefault(at[0], np.full((self.lanes, 4), 0xDEADBEEF, np.uint32))
        elif o.type is R.INDEXABLE_TEMP:
            for lane in np.flatnonzero(mask):
                index = int(np.broadcast_to(at[1], (self.lanes,))[lane])
                for c in range(4):
                    if o.mask >> c & 1 and index < self.arrays[at[0]].shape[1]:
                        self.arrays[at[0]][lane, index, c] = value[lane, c]
            return
        else:
            key = (o.type, at[0] if at else 0)
            target = self.outputs.setdefault(key, np.zeros((self.lanes, 4), np.uint32))
        for c in range(4):
            if o.mask >> c & 1:
                target[mask, c] = value[mask, c]

    # -- flow ----------------------------------------------------------------------------------------------------

    def block(self, nodes: list[Any], mask: npt.NDArray[np.bool_], scopes: list[npt.NDArray[np.bool_]]) -> npt.NDArray[np.bool_]:
        """Run nodes under ``mask``; the lanes that come out at the end.  ``scopes[-1]`` collects broken-out lanes."""
        mask = mask.copy()
        for node in nodes:
            self.steps += 1
            assert self.steps < MAX_STEPS, "the program does not come to an end"
            if not mask.any():
                break
            if isinstance(node, Instruction):
                opcode = node.opcode
                if opcode in (Opcode.BREAK, Opcode.BREAKC):
                    leaving = mask if opcode is Opcode.BREAK else mask & self.test(node)
                    scopes[-1] |= leaving
                    mask = mask & ~leaving
                elif opcode is Opcode.RET:
                    return mask & False
                else:
                    _OPERATIONS[opcode](self, node, mask)
                continue
            kind, head, *parts = node
            if kind == "if":
                taken = self.test(head)
                first = self.block(parts[0], mask & taken, scopes)
                second = self.block(parts[1], mask & ~taken, scopes)
                mask = first | second
            elif kind == "loop":
                out = np.zeros(self.lanes, bool)
                inside = mask
                while inside.any():
                    scopes.append(np.zeros(self.lanes, bool))
                    inside = self.block(parts[0], inside, scopes)
                    out |= scopes.pop()
                mask = out
            else:
                value = self.read(head.operands[0])[:, 0]
                labels = [number for numbers, _ in parts[0] for number in numbers if number is not None]
                out = np.zeros(self.lanes, bool)
                for numbers, body in parts[0]:
                    chosen = np.zeros(self.lanes, bool)
                    for number in numbers:
                        chosen |= ~np.isin(value, np.array(labels, np.uint32)) if number is None else value == np.uint32(number)
                    scopes.append(np.zeros(self.lanes, bool))
                    out |= self.block(body, mask & chosen, scopes)
                    out |= scopes.pop()
                missing = ~np.isin(value, np.array(labels, np.uint32)) & mask
                if not any(None in numbers for numbers, _ in parts[0]):
                    out |= missing
                mask = out
        return mask

    def test(self, i: Instruction) -> npt.NDArray[np.bool_]:
        value = self.read(i.operands[0])[:, 0]
        return value != 0 if i.test_nonzero else value == 0

    # -- memory --------------------------------------------------------------------------------------------------

    def memory(self, o: Operand) -> U32:
        table = {R.RESOURCE: self.textures, R.UNORDERED_ACCESS_VIEW: self.uavs, R.THREAD_GROUP_SHARED_MEMORY: self.shared}
        return table[o.type][o.index]

    def address(self, i: Instruction, o: Operand, first: int) -> npt.NDArray[np.int64]:
        """Dword addresses of a raw or structured access; the operands from ``first`` on are the address."""
        structured = (o.type, o.index) in self.strides
        if not structured:
            return self.read(i.operands[first])[:, 0].astype(np.int64) // 4
        if i.info.group.value == "atomic":
            both = self.read(i.operands[first])
            index, offset = both[:, 0], both[:, 1]
        else:
            index, offset = self.read(i.operands[first])[:, 0], self.read(i.operands[first + 1])[:, 0]
        return index.astype(np.int64) * (self.strides[o.type, o.index] // 4) + offset.astype(np.int64) // 4


def _fetch(rows: U32, index: Any, lanes: int) -> U32:
    at = np.broadcast_to(np.asarray(index, np.int64), (lanes,))
    safe = np.clip(at, 0, len(rows) - 1)
    out = rows[safe].copy()
    out[(at < 0) | (at >= len(rows))] = 0
    return out


def _parse(code: list[Instruction], at: int, ends: tuple[Opcode, ...]) -> tuple[list[Any], int]:
    """Instructions as nested blocks, from ``at`` up to one of ``ends``."""
    out: list[Any] = []
    while at < len(code):
        i = code[at]
        if i.opcode in ends:
            return out, at
        if i.opcode is Opcode.IF:
            then, at = _parse(code, at + 1, (Opcode.ELSE, Opcode.ENDIF))
            other: list[Any] = []
            if code[at].opcode is Opcode.ELSE:
                other, at = _parse(code, at + 1, (Opcode.ENDIF,))
            out.append(("if", i, then, other))
        elif i.opcode is Opcode.LOOP:
            body, at = _parse(code, at + 1, (Opcode.ENDLOOP,))
            out.append(("loop", i, body))
        elif i.opcode is Opcode.SWITCH:
            cases: list[tuple[list[int | None], list[Any]]] = []
            at += 1
            while code[at].opcode is not Opcode.ENDSWITCH:
                labels: list[int | None] = []
                while code[at].opcode in (Opcode.CASE, Opcode.DEFAULT):
                    labels.append(code[at].operands[0].values[0] if code[at].opcode is Opcode.CASE else None)
                    at += 1
                body, at = _parse(code, at, (Opcode.CASE, Opcode.DEFAULT, Opcode.ENDSWITCH))
                cases.append((labels, body))
            out.append(("switch", i, cases))
        else:
            out.append(i)
        at += 1
    return out, at


# -- operations ----------------------------------------------------------------------------------------------------


def _plain(kinds: str, function: Callable[..., Any]) -> Callable[[Machine, Instruction, Any], None]:
    def run(m: Machine, i: Instruction, mask: Any) -> None:
        sources = [m.read(o, k) for o, k in zip(i.operands[1:], kinds, strict=True)]
        m.write(i.operands[0], function(*sources), mask, i.saturate)

    return run


def _pair(kinds: str, function: Callable[..., Any]) -> Callable[[Machine, Instruction, Any], None]:
    def run(m: Machine, i: Instruction, mask: Any) -> None:
        a, b = function(*[m.read(o, k) for o, k in zip(i.operands[2:], kinds, strict=True)])
        m.write(i.operands[0], a, mask, i.saturate)
        m.write(i.operands[1], b, mask, i.saturate)

    return run


def _truth(value: Any) -> Any:
    return np.where(value, TRUE, FALSE)


def _ftoi(x: Any) -> Any:
    return np.clip(np.nan_to_num(np.trunc(x.astype(np.float64))), -(2**31), 2**31 - 1).astype(np.int64).astype(np.uint32)


def _ftou(x: Any) -> Any:
    return np.clip(np.nan_to_num(np.trunc(x.astype(np.float64))), 0, 2**32 - 1).astype(np.uint64).astype(np.uint32)


def _udiv(a: Any, b: Any) -> Any:
    safe = np.where(b == 0, 1, b)
    return np.where(b == 0, TRUE, a // safe).astype(np.uint32), np.where(b == 0, TRUE, a % safe).astype(np.uint32)


def _each(function: Callable[..., int]) -> Callable[..., U32]:
    return lambda *a: np.vectorize(lambda *x: function(*[int(v) for v in x]) & 0xFFFFFFFF, otypes=[np.uint32])(*a)


def _high(a: int) -> int:
    return 32 - a.bit_length() if a else 0xFFFFFFFF


def _f32(value: Any) -> Any:
    return np.asarray(value).astype(np.float32)


def _dot(count: int) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        total = a[:, 0] * b[:, 0]
        for k in range(1, count):
            total = total + a[:, k] * b[:, k]
        return total

    return run


def _deriv(axis: int) -> Callable[[Any], Any]:
    def run(a: Any) -> Any:
        quads = a.reshape(-1, 4, 4)
        return np.repeat(quads[:, axis] - quads[:, 0], 4, axis=0)

    return run


def _ubfe(w: int, o: int, a: int) -> int:
    return a >> (o & 31) & ((1 << (w & 31)) - 1)


def _ibfe(w: int, o: int, a: int) -> int:
    w, o = w & 31, o & 31
    if w == 0:
        return 0
    field_ = a >> o & ((1 << w) - 1)
    return field_ - (1 << w) if field_ >> (w - 1) and w + o <= 32 else field_


def _bfi(w: int, o: int, ins: int, base: int) -> int:
    mask = ((1 << (w & 31)) - 1) << (o & 31)
    return (ins << (o & 31) & mask) | (base & ~mask)


def _msad(reference: int, source: int, total: int) -> int:
    for shift in (0, 8, 16, 24):
        if reference >> shift & 255:
            total += abs((reference >> shift & 255) - (source >> shift & 255))
    return total


def _double(function: Callable[..., Any]) -> Callable[[Machine, Instruction, Any], None]:
    def run(m: Machine, i: Instruction, mask: Any) -> None:
        result = np.asarray(function(*[m.doubles(o) for o in i.operands[1:]]))
        destination = i.operands[0]
        words = np.zeros((m.lanes, 4), np.uint32)
        if result.dtype == np.float64:
            bits = np.ascontiguousarray(result).view(np.uint32)
            words[:, :2] = words[:, 2:] = bits[:, :2]
            if destination.mask == 0xF:
                words = bits
        else:
            places = [c for c in range(4) if destination.mask >> c & 1]
            for k, c in enumerate(places):
                words[:, c] = result[:, k]
        m.write(destination, words, mask)

    return run


def _to_double(kind: str) -> Callable[[Machine, Instruction, Any], None]:
    def run(m: Machine, i: Instruction, mask: Any) -> None:
        value = m.read(i.operands[1], kind)[:, :1].astype(np.float64)
        m.write(i.operands[0], np.tile(value.view(np.uint32), (1, 2)), mask)

    return run


def _texel(m: Machine, data: U32, address: Any, dims: int) -> U32:
    shape = data.shape[:-1]
    out = np.zeros((m.lanes, 4), np.uint32)
    for lane in range(m.lanes):
        at = tuple(int(address[lane, k]) for k in range(dims))[::-1]
        if all(0 <= x < s for x, s in zip(at, shape, strict=True)):
            out[lane] = data[at]
    return out


def _load(m: Machine, i: Instruction, mask: Any) -> None:
    data = m.memory(i.operands[2])
    address = m.read(i.operands[1], "i").astype(np.int64)
    if i.texel_offset is not None:
        address[:, :3] += np.array(i.texel_offset)
    out = _texel(m, data, address, data.ndim - 1)
    m.write(i.operands[0], out[:, list(i.operands[2].swizzle)], mask)


def _store_typed(m: Machine, i: Instruction, mask: Any) -> None:
    data = m.memory(i.operands[0])
    address, value = m.read(i.operands[1]), m.read(i.operands[2])
    for lane in np.flatnonzero(mask & ~m.discarded):
        at = tuple(int(address[lane, k]) for k in range(data.ndim - 1))[::-1]
        if all(x < s for x, s in zip(at, data.shape[:-1], strict=True)):
            data[at] = value[lane]


def _load_memory(m: Machine, i: Instruction, mask: Any) -> None:
    o = i.operands[-1]
    data, at = m.memory(o), m.address(i, o, 1)
    out = np.zeros((m.lanes, 4), np.uint32)
    for c in range(4):
        places = at + c
        good = (places >= 0) & (places < len(data))
        out[good, c] = data[places[good]]
    m.write(i.operands[0], out[:, list(o.swizzle)], mask)


def _store_memory(m: Machine, i: Instruction, mask: Any) -> None:
    o = i.operands[0]
    data, at, value = m.memory(o), m.address(i, o, 1), m.read(i.operands[-1])
    for lane in np.flatnonzero(mask & ~m.discarded):
        for c in range(4):
            if o.mask >> c & 1 and 0 <= at[lane] + c < len(data):
                data[at[lane] + c] = value[lane, c]


def _signed(v: int) -> int:
    return v - (1 << 32) if v >> 31 else v


_ATOMS: dict[str, Callable[[int, int], int]] = {
    "iadd": lambda a, b: a + b, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "umax": max, "umin": min, "imax": lambda a, b: max(_signed(a), _signed(b)), "imin": lambda a, b: min(_signed(a), _signed(b)),
    "exch": lambda a, b: b,
}  # fmt: skip


def _atomic(m: Machine, i: Instruction, mask: Any) -> None:
    name = i.info.mnemonic
    result = name.startswith("imm_")
    first = 1 if result else 0
    o = i.operands[first]
    data = m.memory(o)
    typed = data.ndim > 1
    at = m.read(i.operands[first + 1]) if typed else m.address(i, o, first + 1)
    values = [m.read(x)[:, 0] for x in i.operands[first + 2 :]]
    old = np.zeros(m.lanes, np.uint32)
    stem = name.split("atomic_")[1]
    for lane in np.flatnonzero(mask & ~m.discarded):
        place: Any = (*(int(at[lane, k]) for k in range(data.ndim - 2, -1, -1)), 0) if typed else int(at[lane])
        before = int(data[place])
        old[lane] = before
        if stem in ("cmp_exch", "cmp_store"):
            after = int(values[1][lane]) if before == int(values[0][lane]) else before
        else:
            after = _ATOMS[stem](before, int(values[0][lane]))
        data[place] = after & 0xFFFFFFFF
    if result:
        m.write(i.operands[0], old, mask)


def _counter(step: int) -> Callable[[Machine, Instruction, Any], None]:
    def run(m: Machine, i: Instruction, mask: Any) -> None:
        slot = i.operands[1].index
        out = np.zeros(m.lanes, np.uint32)
        for lane in np.flatnonzero(mask):
            value = m.counters.setdefault(slot, 0)
            m.counters[slot] = value + step
            out[lane] = value if step > 0 else value + step
        m.write(i.operands[0], out, mask)

    return run


def _sample(m: Machine, i: Instruction, mask: Any) -> None:
    coordinates = m.read(i.operands[1], "f")
    texture, sampler = i.operands[2], i.operands[3]
    extra = [m.read(o, "f") for o in i.operands[4:]]
    result = np.asarray(m.samplers[sampler.index](texture.index, coordinates, i.info.mnemonic, *extra), np.float32)
    m.write(i.operands[0], result[:, list(texture.swizzle)].copy(), mask)


def _resinfo(m: Machine, i: Instruction, mask: Any) -> None:
    data = m.memory(i.operands[2])
    sizes = [*data.shape[:-1][::-1], 0, 0, 0][:3]
    row = np.array([*sizes, 1], np.uint32)
    value = np.tile(row, (m.lanes, 1))[:, list(i.operands[2].swizzle)]
    m.write(i.operands[0], value if i.resinfo_return is ResinfoReturn.UINT else value.astype(np.float32), mask)


def _bufinfo(m: Machine, i: Instruction, mask: Any) -> None:
    o = i.operands[1]
    data = m.memory(o)
    count = len(data)
    if data.ndim == 1:
        stride = m.strides.get((o.type, o.index))
        count = count * 4 // stride if stride else count * 4
    m.write(i.operands[0], np.full((m.lanes, 4), count, np.uint32), mask)


def _feedback(m: Machine, i: Instruction, mask: Any) -> None:
    """Forms for tiled resources: everything is mapped, and there is no clamp."""
    name = i.opcode.name.removesuffix("_S")
    operands = [i.operands[0], *i.operands[2:]]
    if name.endswith("_CL"):
        name, operands = name.removesuffix("_CL"), operands[:-1]
    if i.operands[0].type is not R.NULL:
        plain = Instruction(Opcode[name], operands, texel_offset=i.texel_offset)
        _OPERATIONS[plain.opcode](m, plain, mask)
    m.write(i.operands[1], np.full((m.lanes, 4), TRUE), mask)


def _discard(m: Machine, i: Instruction, mask: Any) -> None:
    m.discarded |= mask & m.test(i)


def _emit(m: Machine, i: Instruction, mask: Any) -> None:
    if i.opcode in (Opcode.EMIT, Opcode.EMIT_STREAM):
        m.emitted.append({key: value.copy() for key, value in m.outputs.items()})
    else:
        m.emitted.append("cut")


_ERR = np.errstate(all="ignore")
O = Opcode  # noqa: E741

_OPERATIONS: dict[Opcode, Callable[[Machine, Instruction, Any], None]] = {
    O.ADD: _plain("ff", lambda a, b: a + b), O.MUL: _plain("ff", lambda a, b: a * b), O.DIV: _plain("ff", lambda a, b: a / b),
    O.MAD: _plain("fff", lambda a, b, c: a * b + c), O.MIN: _plain("ff", np.fmin), O.MAX: _plain("ff", np.fmax),
    O.DP2: _plain("ff", _dot(2)), O.DP3: _plain("ff", _dot(3)), O.DP4: _plain("ff", _dot(4)),
    O.EXP: _plain("f", np.exp2), O.LOG: _plain("f", np.log2), O.FRC: _plain("f", lambda a: a - np.floor(a)),
    O.RCP: _plain("f", lambda a: _f32(1) / a), O.RSQ: _plain("f", lambda a: _f32(1) / np.sqrt(a)), O.SQRT: _plain("f", np.sqrt),
    O.ROUND_NE: _plain("f", np.rint), O.ROUND_NI: _plain("f", np.floor), O.ROUND_PI: _plain("f", np.ceil),
    O.ROUND_Z: _plain("f", np.trunc), O.SINCOS: _pair("f", lambda a: (np.sin(a), np.cos(a))),
    O.EQ: _plain("ff", lambda a, b: _truth(a == b)), O.NE: _plain("ff", lambda a, b: _truth(a != b)),
    O.LT: _plain("ff", lambda a, b: _truth(a < b)), O.GE: _plain("ff", lambda a, b: _truth(a >= b)),
    O.IEQ: _plain("uu", lambda a, b: _truth(a == b)), O.INE: _plain("uu", lambda a, b: _truth(a != b)),
    O.ILT: _plain("ii", lambda a, b: _truth(a < b)), O.IGE: _plain("ii", lambda a, b: _truth(a >= b)),
    O.ULT: _plain("uu", lambda a, b: _truth(a < b)), O.UGE: _plain("uu", lambda a, b: _truth(a >= b)),
    O.IADD: _plain("UU", lambda a, b: a + b), O.IMAD: _plain("UUU", lambda a, b, c: a * b + c),
    O.IMUL: _pair("ii", lambda a, b: (((a.astype(np.int64) * b) >> 32).astype(np.uint32), (a.astype(np.int64) * b).astype(np.uint32))),
    O.UMUL: _pair("uu", lambda a, b: (((a.astype(np.uint64) * b) >> np.uint64(32)).astype(np.uint32), a * b)),
    O.IMAX: _plain("ii", np.maximum), O.IMIN: _plain("ii", np.minimum), O.UMAX: _plain("uu", np.maximum),
    O.UMIN: _plain("uu", np.minimum), O.INEG: _plain("i", lambda a: -a), O.UDIV: _pair("uu", _udiv),
    O.AND: _plain("uu", np.bitwise_and), O.OR: _plain("uu", np.bitwise_or), O.XOR: _plain("uu", np.bitwise_xor),
    O.NOT: _plain("u", np.invert), O.ISHL: _plain("uu", lambda a, n: a << (n & 31)),
    O.ISHR: _plain("ii", lambda a, n: a >> (n & 31)), O.USHR: _plain("uu", lambda a, n: a >> (n & 31)),
    O.COUNTBITS: _plain("u", _each(int.bit_count)), O.FIRSTBIT_HI: _plain("u", _each(_high)),
    O.FIRSTBIT_LO: _plain("u", _each(lambda a: (a & -a).bit_length() - 1)),
    O.FIRSTBIT_SHI: _plain("u", _each(lambda a: _high(~a & 0xFFFFFFFF if a >> 31 else a))),
    O.BFREV: _plain("u", _each(lambda a: int(f"{a:032b}"[::-1], 2))), O.UBFE: _plain("uuu", _each(_ubfe)),
    O.IBFE: _plain("uuu", _each(_ibfe)), O.BFI: _plain("uuuu", _each(_bfi)),
    O.MSAD: _plain("uuu", _each(_msad)), O.MOV: _plain("u", lambda a: a), O.MOVC: _plain("uuu", lambda c, a, b: np.where(c != 0, a, b)),
    O.FTOI: _plain("f", _ftoi), O.FTOU: _plain("f", _ftou), O.ITOF: _plain("i", _f32), O.UTOF: _plain("u", _f32),
    O.F32TOF16: _plain("f", lambda a: a.astype(np.float16).view(np.uint16).astype(np.uint32)),
    O.F16TOF32: _plain("u", lambda a: (a & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float32)),
    O.DERIV_RTX: _plain("f", _deriv(1)), O.DERIV_RTY: _plain("f", _deriv(2)), O.DERIV_RTX_COARSE: _plain("f", _deriv(1)),
    O.DERIV_RTY_COARSE: _plain("f", _deriv(2)), O.DERIV_RTX_FINE: _plain("f", _deriv(1)), O.DERIV_RTY_FINE: _plain("f", _deriv(2)),
    O.DADD: _double(lambda a, b: a + b), O.DMUL: _double(lambda a, b: a * b), O.DDIV: _double(lambda a, b: a / b),
    O.DMIN: _double(np.fmin), O.DMAX: _double(np.fmax), O.DFMA: _double(lambda a, b, c: a * b + c),
    O.DRCP: _double(lambda a: 1.0 / a), O.DEQ: _double(lambda a, b: _truth(a == b)), O.DNE: _double(lambda a, b: _truth(a != b)),
    O.DLT: _double(lambda a, b: _truth(a < b)), O.DGE: _double(lambda a, b: _truth(a >= b)),
    O.DTOF: _double(lambda a: a.astype(np.float32).view(np.uint32)), O.DTOI: _double(lambda a: np.trunc(a).astype(np.int64).astype(np.uint32)),
    O.DTOU: _double(lambda a: np.trunc(a).astype(np.uint64).astype(np.uint32)), O.FTOD: _to_double("f"), O.ITOD: _to_double("i"),
    O.UTOD: _to_double("u"), O.LD: _load, O.LD_UAV_TYPED: _load, O.STORE_UAV_TYPED: _store_typed, O.LD_RAW: _load_memory,
    O.LD_STRUCTURED: _load_memory, O.STORE_RAW: _store_memory, O.STORE_STRUCTURED: _store_memory, O.DISCARD: _discard,
    O.SYNC: lambda m, i, mask: None, O.IMM_ATOMIC_ALLOC: _counter(1), O.IMM_ATOMIC_CONSUME: _counter(-1), O.RESINFO: _resinfo,
    O.BUFINFO: _bufinfo, O.EMIT: _emit, O.CUT: _emit, O.EMIT_STREAM: _emit, O.CUT_STREAM: _emit,
    **{op: _atomic for op in Opcode if op.name.startswith(("ATOMIC_", "IMM_ATOMIC_")) and not op.name.endswith(("ALLOC", "CONSUME"))},
    O.CHECK_ACCESS_FULLY_MAPPED: _plain("u", lambda a: _truth(a != 0)),
    **{op: _feedback for op in Opcode if op.name.endswith("_S") and op.name.startswith(("SAMPLE", "LD", "GATHER"))},
    **{op: _sample for op in (O.SAMPLE, O.SAMPLE_L, O.SAMPLE_B, O.SAMPLE_D, O.SAMPLE_C, O.SAMPLE_C_LZ, O.GATHER4, O.GATHER4_C)},
}  # fmt: skip


def bits(*values: float) -> U32:
    """Float numbers as a flat array of patterns."""
    return np.array(values, np.float32).view(np.uint32)


def run_compute(blob: bytes, groups: int = 1, **memory: Any) -> Machine:
    """Run ``groups`` thread groups along x; ``memory``: buffers, textures, uavs, samplers, counters."""
    program = ShaderBlob.parse(blob).program
    size = next(d.thread_group for d in program.declarations if d.opcode is Opcode.DCL_THREAD_GROUP)
    count = size[0] * size[1] * size[2]
    flat = np.arange(count, dtype=np.uint32)
    local = np.stack([flat % size[0], flat // size[0] % size[1], flat // (size[0] * size[1]), flat * 0], 1).astype(np.uint32)
    machine = Machine(count)
    for group in range(groups):
        machine = Machine(count, **memory)
        offset = np.array([group * size[0], 0, 0, 0], np.uint32)
        machine.inputs = {
            (R.INPUT_THREAD_ID, 0): local + offset, (R.INPUT_THREAD_ID_IN_GROUP, 0): local,
            (R.INPUT_THREAD_GROUP_ID, 0): np.tile(np.array([group, 0, 0, 0], np.uint32), (count, 1)),
            (R.INPUT_THREAD_ID_IN_GROUP_FLATTENED, 0): np.tile(flat[:, None], (1, 4)),
        }  # fmt: skip
        machine.run(program)
    return machine


def run_stage(blob: bytes, inputs: dict[str, Any], **memory: Any) -> tuple[dict[str, Any], Machine]:
    """Run a vertex or pixel shader.  ``inputs``: semantic → (lanes, n) array; outputs come back the same way, as bits."""
    shader = ShaderBlob.parse(blob)
    arrays = {key.upper(): np.atleast_2d(np.asarray(value)) for key, value in inputs.items()}
    lanes = len(next(iter(arrays.values()))) if arrays else 1
    machine = Machine(lanes, **memory)
    for element in shader.input_signature.elements:
        key = (R.INPUT, element.register)
        register = machine.inputs.setdefault(key, np.zeros((lanes, 4), np.uint32))
        data = arrays.get(element.semantic.upper(), arrays.get(element.semantic_name.upper()))
        if data is None:
            continue
        words = data if data.dtype == np.uint32 else np.ascontiguousarray(data.astype(np.float32)).view(np.uint32)
        places = [c for c in range(4) if element.mask >> c & 1]
        for k, c in enumerate(places[: words.shape[1]]):
            register[:, c] = words[:, k]
    machine.run(shader.program)
    out: dict[str, Any] = {}
    special = {"SV_DEPTH": R.OUTPUT_DEPTH, "SV_COVERAGE": R.OUTPUT_COVERAGE_MASK}
    for element in shader.output_signature.elements:
        name = element.semantic_name.upper()
        key = (special[name], 0) if name in special else (R.OUTPUT, element.register)
        places = [c for c in range(4) if element.mask >> c & 1]
        out[element.semantic] = np.ascontiguousarray(machine.outputs[key][:, places])
    return out, machine
