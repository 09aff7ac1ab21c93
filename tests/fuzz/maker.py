"""Writes random valid programs, from the operand types of :data:`wddm.hw.isa_check.SIGNATURES`.

*Exact* programs compute only what every engine must compute bit for bit: temporaries 0..7 hold integers, 8..15 floats, 16..23
doubles, 24 and up addresses, results and counters. The kinds meet in comparisons and conversions alone, so that the payload of a
NaN never shows. Other programs use every operation on any bits.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field

import numpy as np

from wddm.hw.descriptors import ViewDimension
from wddm.hw.isa import (
    ABSOLUTE,
    DECLARATION,
    INSTRUCTION,
    NEGATE,
    AtomicOp,
    DeclarationKind,
    Kind,
    Mod,
    Op,
    ShaderProgram,
    SystemRegister,
    operand,
)
from wddm.hw.isa_check import COORDINATES, SIGNATURES, SYSTEM_STAGES, check
from wddm.hw.packets import Stage

TEMPS = 48
INTEGERS, FLOATS, DOUBLES, SCRATCH, COUNTERS = range(8), range(8, 16), range(16, 24, 2), range(24, 40), range(40, 47)
ADDRESS = 47
WORDS = (0, 1, 2, 3, 31, 32, 255, 256, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x00400000)
NUMBERS = (0.0, -0.0, 0.5, 1.0, -1.0, 2.0, 3.999, 1e-3, 255.0, 65536.0, -3e9, 1e30)


def _ops(names: str) -> list[Op]:
    return [Op[name] for name in names.split()]


INTEGER = _ops("IADD IMUL IMUL_HI UMUL_HI UDIV UREM IMIN IMAX UMIN UMAX UADD_CARRY USUB_BORROW AND OR XOR SHL ISHR USHR IEQ INE ILT IGE ULT UGE")
INTEGER_MORE = _ops("IMAD MSAD UBFE IBFE INEG NOT COUNT_BITS FIRST_BIT_HI FIRST_BIT_LO FIRST_BIT_SHI BIT_REVERSE BFI")
FLOAT = _ops("FADD FMUL FDIV FMIN FMAX FRCP FSQRT FFRC FROUND_NE FROUND_NI FROUND_PI FROUND_Z")
DOUBLE = _ops("DADD DMUL DDIV DMIN DMAX DFMA DRCP DMOV")
_DIMENSIONS = tuple(COORDINATES)
_UAV_DIMENSIONS = tuple(d for d in COORDINATES if d != ViewDimension.TEXTURECUBE)


def bits(x: float) -> int:
    """Of a float32."""
    return int.from_bytes(struct.pack("<f", x), "little")


@dataclass
class Slot:
    """A declared resource or UAV."""

    dimension: ViewDimension
    array: bool = False
    stride: int = 0
    counter: bool = False


@dataclass
class Made:
    """A program, and what it wants bound."""

    program: ShaderProgram
    resources: dict[int, Slot] = field(default_factory=dict)
    uavs: dict[int, Slot] = field(default_factory=dict)
    samplers: dict[int, bool] = field(default_factory=dict)
    outputs: dict[int, str] = field(default_factory=dict)  #: register: "i" or "f"


class Maker:
    """Writes one program."""

    def __init__(self, r: random.Random, stage: Stage, *, exact: bool) -> None:
        self.r, self.stage, self.exact = r, stage, exact
        self.rows: list[tuple[int, int, int, list[int], int, int]] = []
        self.declarations: list[tuple[int, int, int, int, int]] = []
        self.literals: dict[int, int] = {}
        self.made = Made(ShaderProgram(stage, TEMPS))
        self.inputs: dict[int, str] = {}
        self.outputs: dict[int, str] = {}
        self.array = 0
        self.counters = 0
        self.regions: list[str] = []
        self.system = [s for s in SystemRegister if SYSTEM_STAGES[s] >> stage & 1]

    # -- pieces -------------------------------------------------------------------------------------------------------
    def emit(self, op: Op | str, dst: int = 0, src: tuple[int, ...] | list[int] = (), aux: int = 0, aux2: int = 0, mods: int = 0) -> None:
        """Append an instruction."""
        code = Op[op] if isinstance(op, str) else op
        self.rows.append((code, mods, dst, [*src, 0, 0, 0, 0][:4], aux, aux2))

    def declare(self, kind: DeclarationKind, index: int, mask: int = 0, value: int = 0, extra: int = 0) -> None:
        """Append a declaration."""
        self.declarations.append((kind, index, mask, value, extra))

    def literal(self, word: int) -> int:
        """An operand with these bits."""
        return operand(Kind.LITERAL, self.literals.setdefault(word & 0xFFFF_FFFF, len(self.literals)))

    def temp(self, index: int) -> int:
        """A temporary as an operand."""
        return operand(Kind.TEMP, index)

    def integer(self, *, negate: bool = True) -> int:
        """An integer source."""
        r, pick = self.r, self.r.random()
        if pick < 0.6:
            word = self.temp(r.choice(INTEGERS))
        elif pick < 0.75:
            word = operand(Kind.CONSTANT, r.randrange(24))
        else:
            word = self.literal(r.choice((*WORDS, r.getrandbits(32))))
        return word | (NEGATE if negate and r.random() < 0.1 else 0)

    def number(self) -> int:
        """A float source."""
        r = self.r
        word = self.temp(r.choice(FLOATS)) if r.random() < 0.75 else self.literal(bits(r.choice((*NUMBERS, r.uniform(-4, 4)))))
        return word | (NEGATE if r.random() < 0.15 else 0) | (ABSOLUTE if r.random() < 0.15 else 0)

    def double(self) -> int:
        """A double source."""
        return self.temp(self.r.choice(DOUBLES)) | (NEGATE if self.r.random() < 0.15 else 0)

    def any_scalar(self, rule: str) -> int:
        """Any source that ``rule`` allows."""
        r = self.r
        choices = [lambda: self.temp(r.randrange(TEMPS)), lambda: self.temp(r.randrange(TEMPS))]
        choices.append(lambda: self.literal(r.choice((*WORDS, *(bits(n) for n in NUMBERS), r.getrandbits(32)))))
        choices.append(lambda: operand(Kind.CONSTANT, r.randrange(3) << 14 | r.choice((r.randrange(24), 4095, 16383))))
        if self.system:
            choices.append(lambda: operand(Kind.SYSTEM, r.choice(self.system)))
        if self.inputs and self.stage in (Stage.VERTEX, Stage.PIXEL):
            choices.append(lambda: operand(Kind.INPUT, r.choice([*self.inputs]) * 4 + r.randrange(4)))
        word = r.choice(choices)()
        negate = NEGATE if r.random() < 0.15 else 0
        absolute = ABSOLUTE if rule in ("f", "r", "d") and r.random() < 0.15 else 0
        return word | negate | absolute

    # -- exact work ---------------------------------------------------------------------------------------------------
    def statement(self) -> None:
        """One operation, bit-exact or any."""
        if self.exact:
            self.exact_statement()
        else:
            self.any_statement()

    def exact_statement(self) -> None:
        r = self.r
        i, f, d = self.temp(r.choice(INTEGERS)), self.temp(r.choice(FLOATS)), self.temp(r.choice(DOUBLES))
        sat = Mod.SATURATE if r.random() < 0.1 else 0
        pick = r.randrange(24)
        if pick < 6:
            self.emit(r.choice(INTEGER), i, [self.integer(), self.integer()])
        elif pick < 8:
            op = r.choice(INTEGER_MORE)
            self.emit(op, i, [self.integer() for _ in SIGNATURES[op].src])
        elif pick < 12:
            op = r.choice(FLOAT)
            self.emit(op, f, [self.number() for _ in SIGNATURES[op].src], mods=sat)
        elif pick < 14:
            self.emit(r.choice(("FEQ", "FNE", "FLT", "FGE")), i, [self.number(), self.number()])
        elif pick < 15:
            self.emit(r.choice(("ITOF", "UTOF")), f, [self.integer()])
        elif pick < 16:
            self.emit(r.choice(("FTOI", "FTOU")), i, [self.number()])
        elif pick < 17:
            if r.random() < 0.5:
                self.emit("SELECT", i, [self.integer(), self.integer(negate=False), self.integer(negate=False)])
            else:
                self.emit("SELECT", f, [self.integer(), self.number(), self.number()], mods=sat)
        elif pick < 18:
            op = r.choice(DOUBLE)
            self.emit(op, d, [self.double() for _ in SIGNATURES[op].src], mods=sat)
        elif pick < 19:
            kind = r.randrange(5)
            if kind == 0:
                self.emit(r.choice(("DEQ", "DNE", "DLT", "DGE")), i, [self.double(), self.double()])
            elif kind == 1:
                self.emit(r.choice(("DTOI", "DTOU")), i, [self.double()])
            elif kind == 2:
                self.emit(r.choice(("ITOD", "UTOD")), d, [self.integer()])
            elif kind == 3:
                self.emit("FTOD", d, [self.number()])
            else:
                self.emit("DTOF", f, [self.double()], mods=sat)
        elif pick < 20:
            scratch = self.temp(r.choice(SCRATCH))
            if r.random() < 0.5:
                self.emit("FMAX", scratch, [self.number(), self.literal(bits(-1e5))])  # no NaN, whose payload is free
                self.emit("F32TOF16", i, [scratch])
            else:
                self.emit("F16TOF32", f, [self.integer()])
        elif pick < 21 and self.array:
            self.emit("AND", self.temp(ADDRESS), [self.integer(), self.literal(15)])
            if r.random() < 0.5:
                self.emit("STORE_ARRAY", 0, [self.temp(ADDRESS), self.integer(negate=False)])
            else:
                self.emit("LOAD_ARRAY", i, [self.temp(ADDRESS)])
        elif pick < 22:
            self.emit(r.choice(("LOAD_ICB", "LOAD_CONSTANT")), i, [self.integer()])
        else:
            self.emit("MOV", f, [self.number()], mods=sat)

    # -- any work -----------------------------------------------------------------------------------------------------
    def any_statement(self) -> None:
        r = self.r
        for _ in range(20):
            op = r.choice(_PLAIN)
            s = SIGNATURES[op]
            if not s.stages >> self.stage & 1:
                continue
            aux = self._aux(op, s.aux)
            if aux is None:
                continue
            aux2 = self._aux2(s.aux2, aux)
            sources = [self._source(op, n, rule, aux, aux2) for n, rule in enumerate(s.src)]
            if None in sources:
                continue
            length = {"d": 2, "m": 4}.get(s.dst, 1)
            dst = 0
            if s.dst and not (s.dst == "i?" and r.random() < 0.4):
                dst = self.temp(r.randrange(COUNTERS[0] - length + 1))  # loops end
                if s.dst in ("f", "i", "i?") and self.outputs and r.random() < 0.1:
                    dst = operand(Kind.OUTPUT, r.choice([*self.outputs]) * 4 + r.randrange(4))
            mods = Mod.SATURATE if s.dst in ("f", "d") and r.random() < 0.1 else 0
            if s.condition and r.random() < 0.5:
                mods |= Mod.TEST_ZERO
            self.emit(op, dst, [x or 0 for x in sources], aux, aux2, mods)
            return

    def _slot(self, op: Op, uav: bool) -> int | None:
        slots = self.made.uavs if uav else self.made.resources
        texture = {s for s, v in slots.items() if v.dimension >= ViewDimension.TEXTURE1D}
        name = op.name
        if name.endswith(("RESINFO",)):
            fit = texture
        elif name.endswith("BUFINFO"):
            fit = set(slots) - texture
        elif "STRUCTURED" in name:
            fit = {s for s, v in slots.items() if v.dimension == ViewDimension.STRUCTURED_BUFFER}
        elif name.endswith("RAW"):
            fit = {s for s, v in slots.items() if v.dimension == ViewDimension.RAW_BUFFER}
        elif name.startswith("GATHER"):
            fit = {s for s in texture if slots[s].dimension in (ViewDimension.TEXTURE2D, ViewDimension.TEXTURECUBE)}
        elif op in (Op.SAMPLE_COMPARE, Op.SAMPLE_COMPARE_LZ):
            fit = {s for s in texture if slots[s].dimension != ViewDimension.TEXTURE3D}
        elif name.startswith(("SAMPLEINFO", "SAMPLEPOS")):
            fit = {s for s in texture if slots[s].dimension == ViewDimension.TEXTURE2D} | {255}
        elif name.startswith("SAMPLE") or op == Op.LOD:
            fit = texture
        elif op in (Op.LOAD, Op.UAV_LOAD, Op.UAV_STORE):
            no = (ViewDimension.RAW_BUFFER, ViewDimension.STRUCTURED_BUFFER, ViewDimension.TEXTURECUBE)
            fit = {s for s, v in slots.items() if v.dimension not in no}
        elif "COUNTER" in name:
            fit = {s for s, v in slots.items() if v.counter}
        else:
            fit = set(slots)
        return self.r.choice(sorted(fit)) if fit else None

    def _aux(self, op: Op, rule: str) -> int | None:
        r = self.r
        mask = r.randrange(16) << 16
        if rule in ("resource", "uav", "rasterizer", "sample", "gather"):
            slot = self._slot(op, rule == "uav")
            if slot is None:
                return None
            sampler = r.randrange(16) << 8 if rule in ("sample", "gather") else 0
            return slot | sampler | mask | (r.randrange(4) << 20 if rule == "gather" else 0)
        if rule == "array":
            return 0 if self.array else None
        if rule == "constant":
            return r.randrange(15)
        if rule == "mask":
            return mask
        if rule == "sync":
            return None
        if rule == "stream":
            return r.randrange(4)
        return 0

    def _aux2(self, rule: str, aux: int) -> int:
        r = self.r
        if rule == "offsets":
            bound = self.made.resources.get(aux & 0xFF)
            if bound is not None and bound.dimension == ViewDimension.TEXTURECUBE:
                return 0
            return 0 if r.random() < 0.5 else sum((r.randrange(-8, 8) & 255) << 8 * i for i in range(3))
        if rule == "control2":
            return r.randrange(3) << 24
        if rule == "control1":
            return r.randrange(2) << 24
        if rule == "atomic":
            return r.randrange(10)
        return 0

    def _source(self, op: Op, n: int, rule: str, aux: int, aux2: int) -> int | None:
        r = self.r
        base, optional = rule.rstrip("?"), rule.endswith("?")
        slot = aux & 0xFF
        uav = SIGNATURES[op].aux == "uav"
        bound = (self.made.uavs if uav else self.made.resources).get(slot)
        vector = 0
        if base == "":
            return 0
        if base in ("a", "u") and bound is not None:
            vector = COORDINATES[bound.dimension] + bound.array
            if base == "u" and bound.dimension in (ViewDimension.RAW_BUFFER, ViewDimension.STRUCTURED_BUFFER):
                vector = 0
        elif base == "g":
            vector = 3
        elif base in ("2", "4"):
            vector = int(base)
        elif base == "w":
            vector = 4
        elif base == "d":
            vector = 2
        if op == Op.UAV_ATOMIC and n == 1:
            assert bound is not None
            if bound.dimension != ViewDimension.STRUCTURED_BUFFER:
                return 0
            optional = False
        if op in (Op.UAV_ATOMIC, Op.SHARED_ATOMIC) and n == 3:
            if aux2 != AtomicOp.COMPARE_EXCHANGE:
                return 0
            optional = False
        if op == Op.LOAD_INPUT and n == 1:
            if self.stage not in (Stage.HULL, Stage.DOMAIN, Stage.GEOMETRY):
                return 0
            optional = False
        if optional and r.random() < 0.5:
            return 0
        if base == "input":
            return operand(Kind.INPUT, r.choice([*self.inputs]) * 4 + r.randrange(4)) if self.inputs else None
        if base == "d":
            return self.temp(r.randrange(TEMPS - 1)) | (NEGATE if r.random() < 0.1 else 0)
        if vector:
            return self.temp(r.randrange(TEMPS - vector + 1))
        return self.any_scalar(base)

    # -- structure ----------------------------------------------------------------------------------------------------
    def body(self, depth: int, most: int = 6) -> None:
        """Some statements."""
        for _ in range(self.r.randrange(1, most)):
            if depth < 3 and self.r.random() < 0.15:
                self.structure(depth)
            elif depth and self.r.random() < 0.08:
                self.leave()
            else:
                self.statement()

    def condition(self) -> tuple[list[int], int]:
        """Source and modifiers of a condition."""
        zero = Mod.TEST_ZERO if self.r.random() < 0.4 else 0
        return [self.integer(negate=False) if self.exact else self.any_scalar("i")], zero

    def leave(self) -> None:
        """A conditional break, continue or return."""
        levels = [k for k in self.regions if k != "if"]
        source, mods = self.condition()
        if levels and self.r.random() < 0.9:
            level = self.r.randrange(1, len(levels) + 1)
            op = Op.CONTINUEC if levels[-level] == "loop" and self.r.random() < 0.4 else Op.BREAKC
            self.emit(op, 0, source, level, 0, mods)
        elif self.r.random() < 0.2:
            self.emit("RETC", 0, source, 0, 0, mods)

    def structure(self, depth: int) -> None:
        """IF, LOOP (bounded) or BLOCK."""
        r = self.r
        kind = r.choice(("if", "if", "loop", "block"))
        if kind == "loop" and self.counters >= len(COUNTERS):
            kind = "if"
        self.regions.append(kind)
        if kind == "if":
            source, mods = self.condition()
            self.emit("IF", 0, source, mods=mods)
            self.body(depth + 1)
            if r.random() < 0.5:
                self.emit("ELSE")
                self.body(depth + 1)
            self.emit("ENDIF")
        elif kind == "loop":
            counter = self.temp(COUNTERS[self.counters])
            self.counters += 1
            self.emit("MOV", counter, [self.literal(0)])
            self.emit("LOOP")
            self.emit("IADD", counter, [counter, self.literal(1)])
            self.emit("UGE", self.temp(ADDRESS), [counter, self.literal(r.randrange(2, 6))])
            self.emit("BREAKC", 0, [self.temp(ADDRESS)], 1)
            self.body(depth + 1)
            self.emit("ENDLOOP")
        else:
            self.emit("BLOCK")
            self.body(depth + 1)
            self.emit("ENDBLOCK")
        self.regions.pop()

    # -- finishing ----------------------------------------------------------------------------------------------------
    def finish(self, **header: object) -> Made:
        """The program, checked."""
        p = self.made.program
        p.declarations = np.array(self.declarations, DECLARATION) if self.declarations else np.zeros(0, DECLARATION)
        p.literals = np.array([*self.literals], np.uint32)
        p.icb = np.array([self.r.choice((*WORDS, 7)) for _ in range(self.r.randrange(9))], np.uint32)
        p.instructions = np.array([tuple(row) for row in self.rows], INSTRUCTION) if self.rows else np.zeros(0, INSTRUCTION)
        for name, value in header.items():
            setattr(p, name, value)
        self.made.outputs = dict(self.outputs)
        check(p)
        return self.made

    def bindings(self, *, uavs: int = 2, resources: int = 3) -> None:
        """Declare constants, an array, resources and UAVs."""
        r = self.r
        for slot in range(3):
            self.declare(DeclarationKind.CONSTANT_BUFFER, slot, value=r.choice((0, 4, 16, 64)))
        if r.random() < 0.6:
            self.array = 12
            self.declare(DeclarationKind.ARRAY, 0, value=12)
        for slot in range(r.randrange(resources + 1)):
            d = r.choice(_DIMENSIONS)
            array = d in (ViewDimension.TEXTURE1D, ViewDimension.TEXTURE2D, ViewDimension.TEXTURECUBE) and r.random() < 0.4
            ms = d == ViewDimension.TEXTURE2D and r.random() < 0.2
            stride = r.choice((4, 8, 12, 20, 64)) if d == ViewDimension.STRUCTURED_BUFFER else 0
            self.declare(DeclarationKind.RESOURCE, slot, int(array) | int(ms) << 1, d, stride)
            self.made.resources[slot] = Slot(d, array, stride)
        if self.stage in (Stage.PIXEL, Stage.COMPUTE):
            for slot in range(r.randrange(uavs + 1)):
                d = r.choice(_UAV_DIMENSIONS)
                array = d in (ViewDimension.TEXTURE1D, ViewDimension.TEXTURE2D) and r.random() < 0.4
                stride = r.choice((4, 8, 12, 20)) if d == ViewDimension.STRUCTURED_BUFFER else 0
                counter = d == ViewDimension.STRUCTURED_BUFFER and r.random() < 0.5
                self.declare(DeclarationKind.UAV, slot + 4, int(array) | int(counter) << 2, d, stride)
                self.made.uavs[slot + 4] = Slot(d, array, stride, counter)
        for slot in range(2):
            compare = r.random() < 0.3
            self.declare(DeclarationKind.SAMPLER, slot, value=int(compare))
            self.made.samplers[slot] = compare

    def load_inputs(self) -> None:
        """Inputs into the registers of their kind."""
        for register, kind in self.inputs.items():
            for c in range(4):
                pool = INTEGERS if kind == "i" else FLOATS
                self.emit("MOV", self.temp(self.r.choice(pool)), [operand(Kind.INPUT, register * 4 + c)])

    def write(self, register: int, c: int, kind: str) -> None:
        """An output component of a kind."""
        source = self.temp(self.r.choice(INTEGERS if kind == "i" else FLOATS))
        self.emit("MOV", operand(Kind.OUTPUT, register * 4 + c), [source])


_PLAIN = [op for op in SIGNATURES if not Op.IF <= op <= Op.RETC and op not in (Op.NOP, Op.EMIT, Op.CUT, Op.BARRIER)]
