"""Shader programs to vector code: registers, operands, control flow by masks.

:class:`Translator` walks a program once and writes it with a :class:`~vgpu.engine.llvm.builder.Function`; what differs from stage
to stage (inputs, outputs, system values, what a side effect needs) is a :class:`Stage`. Values that the analysis found uniform
are kept as scalars next to their vector form; what nobody reads disappears in the optimiser.

Divergence: each region (function, IF branch, LOOP, BLOCK) has a variable with the lanes that are alive in it. BREAK, CONTINUE
and RET take lanes out of the regions they leave. Uniform conditions become branches. Every turn of a loop looks at the stop
word and leaves when it is set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from wddm.hw.formats import FORMATS, Format
from wddm.hw.isa import ABSOLUTE, INDEX_MASK, NEGATE, DeclarationKind, Kind, Mod, Op, ShaderProgram

from . import access, alu, maths, texture
from .analysis import SIGNATURES, Analysis, Instruction, analyse, instructions, match_blocks
from .builder import F32, I1, I32, I64, PTR, Function, MaskVariable, Type, Value, Variable
from .float_mode import flush, uses_doubles


@dataclass(frozen=True, slots=True)
class ViewKey:
    """What of a view is compiled in."""

    dimension: int
    format: int
    array: bool = False
    multisampled: bool = False
    stride: int = 0
    counter: bool = False
    single_mip: bool = False


@dataclass(frozen=True, slots=True)
class SamplerKey:
    """What of a sampler is compiled in."""

    min_filter: int = 0
    mag_filter: int = 0
    mip_filter: int = 0
    anisotropy: int = 1
    address: tuple[int, int, int] = (3, 3, 3)
    comparison: int = 0


@dataclass(frozen=True, slots=True)
class ShaderKey:
    """A program with the views and samplers it is compiled for. Slots not listed hold nothing: they read 0."""

    views: tuple[tuple[int, ViewKey], ...] = ()
    samplers: tuple[tuple[int, SamplerKey], ...] = ()
    uavs: tuple[tuple[int, ViewKey], ...] = ()


@dataclass(slots=True)
class Slots:
    """Which binding slots a program uses, and where each lies in the block of pointers that it is given.

    The block holds u64 words: pointer and size in dwords of each constant buffer, then a pointer to the record of each
    resource, sampler and unordered access view.
    """

    constants: list[int]
    resources: list[int]
    samplers: list[int]
    uavs: list[int]

    @classmethod
    def of(cls, program: ShaderProgram, code: list[Instruction]) -> Slots:
        """Find them."""
        constants: set[int] = set()
        resources: set[int] = set()
        samplers: set[int] = set()
        uavs: set[int] = set()
        for op, _, _, src, aux, _ in code:
            for word in src:
                if word >> 28 == Kind.CONSTANT:
                    constants.add((word & INDEX_MASK) >> 14)
            if op == Op.LOAD_CONSTANT:
                constants.add(aux)
            elif Op.SAMPLE <= op <= Op.LOAD_STRUCTURED:
                if not (op in (Op.SAMPLEINFO, Op.SAMPLEPOS) and aux & 0xFF == 255):
                    resources.add(aux & 0xFF)
                if op <= Op.LOD:
                    samplers.add(aux >> 8 & 0xFF)
            elif Op.UAV_LOAD <= op <= Op.UAV_BUFINFO:
                uavs.add(aux & 0xFF)
        return cls(sorted(constants), sorted(resources), sorted(samplers), sorted(uavs))

    @property
    def words(self) -> int:
        """Length of the block."""
        return 2 * len(self.constants) + len(self.resources) + len(self.samplers) + len(self.uavs)


class Stage:
    """What a stage gives to the translator. Masks are ``None`` when all lanes are meant."""

    #: Whether lanes come as (W/2)x2 pixels, so that derivatives exist.
    quads = False
    #: Operations of this stage that give the same for the same operands, beside those that do everywhere.
    pure: frozenset[int] = frozenset()
    #: Samples of the targets, for programs that ask.
    samples = 1

    def operand_shape(self, word: int) -> int | None:
        """Shape of an INPUT or SYSTEM operand."""
        return None

    def input(self, t: Translator, index: int) -> Value:
        """INPUT register * 4 + component, as bits."""
        return t.zero()

    def load_input(self, t: Translator, index: Value, vertex: Value | None) -> Value:
        """LOAD_INPUT."""
        raise NotImplementedError

    def system(self, t: Translator, register: int) -> Value:
        """A system value, as bits."""
        return t.zero()

    def store_output(self, t: Translator, index: int, x: Value, mask: Value | None) -> None:
        """OUTPUT register * 4 + component."""

    def store_output_indexed(self, t: Translator, index: Value, x: Value, mask: Value | None) -> None:
        """STORE_OUTPUT."""
        raise NotImplementedError

    def effects(self, t: Translator, mask: Value | None) -> Value | None:
        """The lanes of ``mask`` that may write memory."""
        return mask

    def shared(self, t: Translator) -> Value:
        """Pointer to the shared memory of the group."""
        raise NotImplementedError

    def discard(self, t: Translator, mask: Value) -> None:
        """DISCARD for these lanes."""

    def other(self, t: Translator, ins: Instruction) -> bool:
        """Translate an operation of this stage alone; False when it is none."""
        return False


@dataclass(slots=True)
class _Region:
    kind: str  #: "if", "loop", "block", "function"
    live: MaskVariable  #: lanes that are alive here
    alive: MaskVariable | None = None  #: loop: lanes that come back for the next turn
    head: str = ""
    next: str = ""  #: where a uniform CONTINUE goes
    end: str = ""
    else_label: str = ""
    condition: Value | None = None  #: lanes of all ones or 0
    uniform: bool = False


_STOP: Final = "stop"


class Translator:
    """Writes one program into a function. See the module docstring."""

    def __init__(
        self,
        f: Function,
        lanes: int,
        program: ShaderProgram,
        key: ShaderKey,
        stage: Stage,
        block: Value,
        stop: Value,
    ) -> None:
        self.f, self.lanes, self.program, self.key, self.stage = f, lanes, program, key, stage
        self.block, self.stop = block, stop
        self.views, self.samplers, self.uavs = dict(key.views), dict(key.samplers), dict(key.uavs)
        self.code = instructions(program)
        self.slots = Slots.of(program, self.code)
        self.pairs = match_blocks(self.code)
        self.analysis = self.find()
        self.ivec, self.fvec, self.mvec = I32.vector(lanes), F32.vector(lanes), I1.vector(lanes)
        self._vector: dict[int, Variable] = {}
        self._scalar: dict[int, Variable] = {}
        self._constants: dict[int, Value] = {}
        self._pointers: dict[tuple[str, int], Value] = {}
        self.fields: dict[tuple[str, int, int], Value] = {}  #: of records, loaded once
        self.by_hand = uses_doubles(program)  #: single-precision operations flush denormals themselves
        self.literals = program.literals.tolist()
        self.arrays: dict[int, tuple[Value, int]] = {}
        self._array_views: set[tuple[str, int]] = set()
        for d in program.declarations.tolist():
            if d[0] == DeclarationKind.ARRAY:
                self.arrays[d[1]] = (f.array(self.ivec, max(1, d[3])), d[3])
            elif d[0] in (DeclarationKind.RESOURCE, DeclarationKind.UAV) and d[2] & 1:
                self._array_views.add(("t" if d[0] == DeclarationKind.RESOURCE else "u", d[1]))
        self.regions: list[_Region] = []
        self._initial: list[Variable] = []  # start as 0 where the program starts
        self.at = 0  # index of the instruction being written

    def find(self) -> Analysis:
        """Analyse the program; all lanes start it unless a subclass says otherwise."""
        return analyse(self.code, self.program, self._operand_shape, pure=self.stage.pure)

    def reset(self) -> None:
        """Forget the register variables: what follows gets new ones."""
        self._vector, self._scalar, self._initial = {}, {}, []

    # -- small things -------------------------------------------------------------------------------------------------
    def zero(self) -> Value:
        """Scalar 0."""
        return self.f.value(0, I32)

    def full(self, x: Value) -> Value:
        """``x`` in every lane."""
        return x if x.type.lanes else self.f.splat(x, self.lanes)

    def everyone(self) -> Value:
        """The full mask."""
        return self.f.value(1, self.mvec)

    def lane_index(self) -> Value:
        """0, 1, 2, …"""
        return self.f.vector(I32, range(self.lanes))

    def is_array(self, kind: str, slot: int) -> bool:
        """Whether the program addresses resource "t" or UAV "u" ``slot`` with an array slice."""
        return (kind, slot) in self._array_views

    def literal_is_zero(self, word: int) -> bool:
        """Whether a LITERAL operand is 0."""
        index = word & INDEX_MASK
        return index >= len(self.literals) or self.literals[index] == 0

    def _operand_shape(self, word: int) -> int | None:
        if word >> 28 == Kind.CONSTANT:
            return 0
        return self.stage.operand_shape(word)

    # -- bindings -----------------------------------------------------------------------------------------------------
    def _word(self, index: int, t: Type) -> Value:
        return self.f.load(t, self.block, 8 * index, constant=True)

    def constant_buffer(self, slot: int) -> tuple[Value, Value]:
        """Pointer and size in dwords of a constant buffer (in the function's prologue)."""
        key = ("b", slot)
        if key not in self._pointers:
            at = 2 * self.slots.constants.index(slot)
            with self.f.prologue():
                self._pointers[key] = self._word(at, PTR)
                self._pointers["n", slot] = self._word(at + 1, I64).trunc(I32)
        return self._pointers[key], self._pointers["n", slot]

    def record(self, kind: str, slot: int) -> Value:
        """Pointer to the record of resource "t", sampler "s" or UAV "u" ``slot``."""
        key = (kind, slot)
        if key not in self._pointers:
            s = self.slots
            base = 2 * len(s.constants)
            if kind == "t":
                base += s.resources.index(slot)
            elif kind == "s":
                base += len(s.resources) + s.samplers.index(slot)
            else:
                base += len(s.resources) + len(s.samplers) + s.uavs.index(slot)
            with self.f.prologue():
                self._pointers[key] = self._word(base, PTR)
        return self._pointers[key]

    def field(self, kind: str, slot: int, offset: int, t: Type = I32) -> Value:
        """A field of such a record."""
        key = (kind, slot, offset)
        if key not in self.fields:
            record = self.record(kind, slot)
            with self.f.prologue():
                self.fields[key] = self.f.load(t, record, offset, constant=True)
        return self.fields[key]

    def constant(self, index: int) -> Value:
        """CONSTANT slot << 14 | dword: read once, where the function starts; 0 beyond the end."""
        if index not in self._constants:
            pointer, size = self.constant_buffer(index >> 14)
            dword = index & 0x3FFF
            with self.f.prologue():
                inside = size.ugt(dword)
                where = inside.select(self.f.offset(pointer, 4 * dword), self.nowhere())
                self._constants[index] = self.f.load(I32, where, constant=True)
        return self._constants[index]

    def nowhere(self) -> Value:
        """Pointer to 64 bytes of zeros."""
        tables = self.f.module.tables
        if "zeros" not in tables:
            tables["zeros"] = self.f.module.table("zeros", I32, [0] * 16)
        return Value(self.f, PTR, tables["zeros"])

    # -- operands -----------------------------------------------------------------------------------------------------
    def temp(self, index: int) -> Value:
        """The bits of a temp: scalar when uniform here."""
        if self.analysis.before[self.at].get(index) == 0:
            if index not in self._scalar:
                self._scalar[index] = self.f.var(I32)
                self._initial.append(self._scalar[index])
            return self._scalar[index].get()
        return self.vector_temp(index).get()

    def vector_temp(self, index: int) -> Variable:
        """The variable with a temp's lanes. Registers start as 0."""
        if index not in self._vector:
            v = self.f.var(self.ivec)
            self._initial.append(v)
            self._vector[index] = v
        return self._vector[index]

    def bits(self, word: int, offset: int = 0) -> Value:
        """The bits of an operand without modifiers; ``offset`` counts consecutive dwords of vectors."""
        kind, index = word >> 28, (word & INDEX_MASK) + offset
        if kind == Kind.TEMP:
            return self.temp(index) if index < self.program.temp_count else self.zero()
        if kind == Kind.LITERAL:
            return self.f.value(self.literals[index] if index < len(self.literals) else 0, I32)
        if kind == Kind.INPUT:
            return self.stage.input(self, index)
        if kind == Kind.CONSTANT:
            return self.constant(index)
        if kind == Kind.SYSTEM:
            return self.stage.system(self, index)
        return self.zero()

    def float(self, word: int, offset: int = 0) -> Value:
        """An operand as float32 with its modifiers."""
        bits = self.bits(word, offset)
        if word & ABSOLUTE:
            bits = bits & 0x7FFF_FFFF
        if word & NEGATE:
            bits = bits ^ -(1 << 31)
        return bits.bits(F32)

    def integer(self, word: int, offset: int = 0) -> Value:
        """An operand as int32 with its modifier."""
        bits = self.bits(word, offset)
        return 0 - bits if word & NEGATE else bits

    def double(self, word: int) -> Value:
        """An operand of two dwords as float64 with its modifiers."""
        low, high = self.bits(word), self.bits(word, 1)
        if word & ABSOLUTE:
            high = high & 0x7FFF_FFFF
        if word & NEGATE:
            high = high ^ -(1 << 31)
        low, high = low._both(high)
        return maths.to_double(self.f, low, high)

    def integers(self, word: int, count: int) -> list[Value]:
        """``count`` consecutive dwords."""
        return [self.integer(word, i) for i in range(count)]

    def floats(self, word: int, count: int) -> list[Value]:
        """``count`` consecutive floats."""
        return [self.float(word, i) for i in range(count)]

    def affine(self, word: int) -> int | None:
        """Stride of an operand, when known."""
        if word >> 28 == Kind.TEMP:
            return self.analysis.before[self.at].get(word & INDEX_MASK)
        if word >> 28 in (Kind.LITERAL, Kind.CONSTANT, Kind.NONE):
            return 0
        return self.stage.operand_shape(word)

    # -- results ------------------------------------------------------------------------------------------------------
    def mask(self) -> Value | None:
        """The lanes that run this instruction; None: all."""
        return self.regions[-1].live.get() if self.analysis.divergent[self.at] else None

    def mask_value(self) -> Value:
        """The same, always a mask."""
        mask = self.mask()
        return self.everyone() if mask is None else mask

    def write_temp(self, index: int, x: Value) -> None:
        """Give a temp its value, under the mask where that matters."""
        bits = x.bits(I32)
        mask = None if self.analysis.unmasked[self.at] else self.mask()
        if self.analysis.shapes[self.at] == 0:
            scalar = bits if not bits.type.lanes else bits[0]
            if index not in self._scalar:
                self._scalar[index] = self.f.var(I32)
                self._initial.append(self._scalar[index])
            self._scalar[index].set(scalar)
        full = self.full(bits)
        variable = self.vector_temp(index)
        variable.set(full if mask is None else mask.select(full, variable.get()))

    def write(self, word: int, x: Value, offset: int = 0) -> None:
        """Give a destination its value."""
        kind, index = word >> 28, (word & INDEX_MASK) + offset
        if kind == Kind.TEMP:
            self.write_temp(index, x)
        elif kind == Kind.OUTPUT:
            self.stage.store_output(self, index, x.bits(I32), self.mask())

    def write_masked(self, ins: Instruction, values: list[Value]) -> None:
        """Give the components in the instruction's result mask their values."""
        mask = ins[4] >> 16 & 15
        for c in range(4):
            if mask >> c & 1:
                self.write(ins[2], values[c], c)

    # -- running ------------------------------------------------------------------------------------------------------
    def run(self, mask: Value | None = None) -> None:
        """Write the whole program; ``mask``: the lanes that start it."""
        self.begin(mask)
        self.range(0, len(self.code))
        self.end()

    def begin(self, mask: Value | None = None) -> None:
        """Open the outermost region."""
        live = self.f.mask(self.lanes, self.everyone() if mask is None else mask)
        self.regions = [_Region("function", live, end=self.f.label())]
        self._start = self.f.mark()

    def end(self) -> None:
        """Close the outermost region."""
        self.f.place(self.regions.pop().end)
        self.finish_segment(None, None)

    def finish_segment(self, load: Callable[[int], Value] | None, load_scalar: Callable[[int], Value] | None) -> None:
        """Give the registers used since :meth:`begin` their first values: 0, or what ``load`` finds."""
        if load is not None and load_scalar is not None:
            if self.regions:
                self.f.place(self.regions.pop().end)
            with self.f.insert_at(self._start):
                for index, v in self._vector.items():
                    v.set(load(index))
                for index, v in self._scalar.items():
                    v.set(load_scalar(index))
            return
        with self.f.insert_at(self._start):
            for v in self._initial:
                v.set(0)
            for pointer, size in self.arrays.values():
                self.f.fill(pointer, 0, size * self.lanes * 4)

    def range(self, start: int, stop: int) -> None:
        """Write instructions [start, stop)."""
        for i in range(start, stop):
            self.at = i
            self.instruction(self.code[i])

    def instruction(self, ins: Instruction) -> None:
        """Write one instruction."""
        op, mods, dst, src, aux, _ = ins
        operation = alu.OPERATIONS.get(op)
        if operation is not None:
            self._arithmetic(ins, operation)
        elif op in _FLOW:
            _FLOW[op](self, ins)
        elif op == Op.DISCARD:
            condition = self.integer(src[0])
            test = condition.eq(0) if mods & Mod.TEST_ZERO else condition.ne(0)
            test = self.full(test)
            mask = self.mask()
            self.stage.discard(self, test if mask is None else test & mask)
        elif op == Op.LOAD_ARRAY:
            self.write(dst, access.load_array(self, aux, self.full(self.integer(src[0]))))
        elif op == Op.STORE_ARRAY:
            access.store_array(self, aux, self.full(self.integer(src[0])), self.full(self.bits_or_float(src[1])))
        elif op == Op.LOAD_CONSTANT:
            self.write(dst, access.load_constant(self, aux, self.integer(src[0])))
        elif op == Op.LOAD_ICB:
            self.write(dst, access.load_icb(self, self.integer(src[0])))
        elif op == Op.LOAD_INPUT:
            vertex = None if src[1] >> 28 == Kind.NONE else self.integer(src[1])
            self.write(dst, self.stage.load_input(self, self.integer(src[0]), vertex))
        elif op == Op.STORE_OUTPUT:
            self.stage.store_output_indexed(
                self, self.full(self.integer(src[0])), self.full(self.bits_or_float(src[1])), self.mask()
            )
        elif op in texture.OPERATIONS:
            texture.OPERATIONS[op](self, ins)
        elif op in access.OPERATIONS:
            access.OPERATIONS[op](self, ins)
        elif op in (Op.DDX_COARSE, Op.DDX_FINE, Op.DDY_COARSE, Op.DDY_FINE):
            x = self.full(self.float(src[0]))
            fine = op in (Op.DDX_FINE, Op.DDY_FINE)
            self.write(dst, self.saturated(mods, derivative(self, x, op in (Op.DDX_COARSE, Op.DDX_FINE), fine)))
        elif op != Op.NOP:
            known = self.stage.other(self, ins)
            assert known, f"{Op(op).name} passed the check of programs of this stage"

    def bits_or_float(self, word: int) -> Value:
        """An operand of a move: raw, or float when it has modifiers."""
        return self.float(word).bits(I32) if word & (NEGATE | ABSOLUTE) else self.bits(word)

    def saturated(self, mods: int, x: Value) -> Value:
        """Apply SATURATE."""
        return self.f.saturate(x) if mods & Mod.SATURATE else x

    def _arithmetic(self, ins: Instruction, operation: alu.Operation) -> None:
        op, mods, dst, src, _, _ = ins
        signature = SIGNATURES[op]
        move = op in (Op.MOV, Op.SELECT)
        arguments = []
        for n, letter in enumerate(signature[1:]):
            word = src[n]
            if letter == "f":
                arguments.append(self._flushed(self.float(word)))
            elif letter == "d":
                arguments.append(self.double(word))
            elif move and not (op == Op.SELECT and n == 0):
                arguments.append(self.bits_or_float(word))
            else:
                arguments.append(self.integer(word))
        result = operation(self.f, *arguments)
        if mods & Mod.SATURATE:
            if signature[0] == "d":
                result = self.f.min(self.f.max(result, 0.0), 1.0)
            elif signature[0] == "f" or move:
                result = self.f.saturate(result.bits(F32))
        if signature[0] == "d":
            low, high = maths.from_double(self.f, result)
            self.write(dst, low)
            self.write(dst, high, 1)
        else:
            self.write(dst, self._flushed(result) if signature[0] == "f" and not move else result)

    def _flushed(self, x: Value) -> Value:
        """A float of an operation: the processor flushes its denormals, but not in programs with doubles."""
        return flush(self.f, x.bits(I32)).bits(F32) if self.by_hand else x

    # -- control flow -------------------------------------------------------------------------------------------------
    def _condition(self, ins: Instruction) -> Value:
        x = self.integer(ins[3][0])
        return x.eq(0) if ins[1] & Mod.TEST_ZERO else x.ne(0)

    def _if(self, ins: Instruction) -> None:
        f = self.f
        condition = self._condition(ins)
        outer = self.regions[-1]
        uniform = not condition.type.lanes and not self.analysis.divergent[self.at]
        has_else = self.code[self.pairs[self.at]][0] == Op.ELSE
        yes, no, end = f.label(), f.label(), f.label()
        if uniform:
            live = f.mask(self.lanes, outer.live.wide)
            f.branch(condition, yes, no)
        else:
            condition = self.full(condition).sext(I32)
            live = f.mask(self.lanes, outer.live.wide & condition)
            f.branch(f.any(live.get()), yes, no)
        f.place(yes)
        self.regions.append(_Region("if", live, end=end, else_label=no if has_else else "", condition=condition, uniform=uniform))
        if not has_else:
            self.regions[-1].else_label = no

    def _else(self, ins: Instruction) -> None:
        f = self.f
        region = self.regions[-1]
        outer = self.regions[-2]
        if region.uniform:
            f.jump(region.end)
        f.place(region.else_label)
        region.else_label = ""
        if region.uniform:
            region.live.set(outer.live.wide)
        else:
            assert region.condition is not None
            region.live.set(outer.live.wide & ~region.condition)
            enter = f.label()
            f.branch(f.any(region.live.get()), enter, region.end)
            f.place(enter)

    def _endif(self, ins: Instruction) -> None:
        region = self.regions.pop()
        if region.else_label:
            self.f.place(region.else_label)
        self.f.place(region.end)

    def _loop(self, ins: Instruction) -> None:
        f = self.f
        outer = self.regions[-1].live.wide
        live, alive = f.mask(self.lanes, outer), f.mask(self.lanes, outer)
        region = _Region("loop", live, alive=alive, head=f.label(), next=f.label(), end=f.label())
        f.place(region.head)
        self.regions.append(region)

    def _endloop(self, ins: Instruction) -> None:
        f = self.f
        region = self.regions.pop()
        assert region.alive is not None
        f.place(region.next)
        stopped = f.emit(I32, f"load volatile i32, {self.stop}, align 4").ne(0)
        again = f.label()
        f.branch(stopped, region.end, again)
        f.place(again)
        if self.analysis.divergent[self.at]:
            region.live.set(region.alive.wide)
            f.branch(f.any(region.alive.get()), region.head, region.end)
        else:
            f.jump(region.head)
        f.place(region.end)

    def _block(self, ins: Instruction) -> None:
        live = self.f.mask(self.lanes, self.regions[-1].live.wide)
        self.regions.append(_Region("block", live, end=self.f.label()))

    def _endblock(self, ins: Instruction) -> None:
        self.f.place(self.regions.pop().end)

    def _leave(self, ins: Instruction) -> None:
        """BREAK, CONTINUE, RET and their conditional forms."""
        f = self.f
        op, aux = ins[0], max(1, ins[4])
        conditional = op in (Op.BREAKC, Op.CONTINUEC, Op.RETC)
        condition = self._condition(ins) if conditional else None
        if op in (Op.RET, Op.RETC):
            target = 0
        else:
            seen = 0
            target = len(self.regions)
            while seen < aux and target > 0:
                target -= 1
                seen += self.regions[target].kind in ("loop", "block")
        region = self.regions[target]
        continues = op in (Op.CONTINUE, Op.CONTINUEC)
        where = region.next if continues else region.end
        if not self.analysis.divergent[self.at] and (condition is None or not condition.type.lanes):
            if condition is None:
                f.jump(where)
            else:
                go_on = f.label()
                f.branch(condition, where, go_on)
                f.place(go_on)
            return
        leaving = self.regions[-1].live.wide
        if condition is not None:
            leaving = leaving & self.full(condition).sext(I32)
        staying = ~leaving
        for i in range(len(self.regions) - 1, target - 1, -1):
            r = self.regions[i]
            r.live.set(r.live.wide & staying)
            if r.alive is not None and not (continues and i == target):
                r.alive.set(r.alive.wide & staying)
        # When nobody is left in the innermost loop's body, go to its end at once (a loop of the whole group has none here).
        inner = next((r for r in reversed(self.regions) if r.kind == "loop"), None)
        if inner is not None and inner is self.regions[-1] and inner.next:
            go_on = f.label()
            f.branch(f.any(inner.live.get()), go_on, inner.next)
            f.place(go_on)


_FLOW: Final[dict[int, Callable[[Translator, Instruction], None]]] = {
    Op.IF: Translator._if,
    Op.ELSE: Translator._else,
    Op.ENDIF: Translator._endif,
    Op.LOOP: Translator._loop,
    Op.ENDLOOP: Translator._endloop,
    Op.BLOCK: Translator._block,
    Op.ENDBLOCK: Translator._endblock,
    **{op: Translator._leave for op in (Op.BREAK, Op.BREAKC, Op.CONTINUE, Op.CONTINUEC, Op.RET, Op.RETC)},
}


def derivative(t: Translator, x: Value, along_x: bool, fine: bool) -> Value:
    """Difference inside each quad. Lanes are (W/2) x 2 pixels, row by row."""
    if not t.stage.quads:
        return t.f.null(x.type)
    w, half = t.lanes, t.lanes // 2
    if along_x:
        rows = [i if fine else i % half for i in range(w)]
        a, b = [i & ~1 for i in rows], [i | 1 for i in rows]
    else:
        a = [i % half if fine else i % half & ~1 for i in range(w)]
        b = [i + half for i in a]
    return x.shuffle(b) - x.shuffle(a)


def view_is_block(key: ViewKey) -> bool:
    """Whether a view's format is block-compressed."""
    return key.format in FORMATS and FORMATS[Format(key.format)].is_block


@dataclass(slots=True)
class Declared:
    """Declarations of a program by kind: (index, mask, value, extra)."""

    inputs: list[tuple[int, int, int, int]] = field(default_factory=list)
    outputs: list[tuple[int, int, int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, program: ShaderProgram) -> Declared:
        """Sort them."""
        d = cls()
        for kind, index, mask, value, extra in program.declarations.tolist():
            if kind == DeclarationKind.INPUT:
                d.inputs.append((index, mask, value, extra))
            elif kind == DeclarationKind.OUTPUT:
                d.outputs.append((index, mask, value, extra))
        return d
