"""The state of one translation and the meaning of operands.

Owns :class:`Translator`: which register of the token program is which register, system value, constant or literal of the
hardware, computed indices and source modifiers. The instruction groups (:mod:`~umd.shader.arithmetic` and its siblings) call it;
it knows no opcode but those that fetch operands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from umd.shader.errors import ShaderError
from umd.shader.ir import CONSTANT, INPUT, NONE, OUTPUT, SYSTEM, TEMP, ArrayElement, Builder, Destination
from wddm.dxbc.opcodes import OPCODES, Dimension, Modifier, Opcode, ProgramType, RegisterType
from wddm.dxbc.program import Index, Instruction, Operand, Program
from wddm.hw.isa import (
    ABSOLUTE,
    MAX_IO_REGISTERS,
    NEGATE,
    OUTPUT_COVERAGE_REGISTER,
    OUTPUT_DEPTH_REGISTER,
    OUTPUT_STENCIL_REGISTER,
    Kind,
    Op,
    SystemRegister,
)

CONSTANT_BUFFER_VEC4S = 4096
#: A computed index is clamped here before it becomes a dword index, so that it stays outside instead of wrapping round.
INDEX_CLAMP = 1 << 20


@dataclass(slots=True)
class Resource:
    """What a t# or u# was declared as."""

    dimension: Dimension
    stride: int = 0


@dataclass(slots=True)
class SharedBlock:
    """A g#: where it lies in shared memory."""

    base: int
    size: int
    stride: int = 0  #: 0 = raw


@dataclass(frozen=True, slots=True)
class ClassInstance:
    """What an interface pointer points to: ``table`` is the function table; the rest is read through ``this[]``."""

    table: int = 0
    constant_buffer: int = 0
    constant_offset: int = 0  #: vec4s
    texture: int = 0
    sampler: int = 0


@dataclass(slots=True)
class Interface:
    """A dcl_interface."""

    first: int  #: index of its first element in the list of bound class instances
    length: int
    tables: tuple[int, ...]


_SCALAR_SYSTEM = {
    RegisterType.INPUT_PRIMITIVEID: SystemRegister.PRIMITIVE_ID,
    RegisterType.OUTPUT_CONTROL_POINT_ID: SystemRegister.CONTROL_POINT_ID,
    RegisterType.INPUT_COVERAGE_MASK: SystemRegister.COVERAGE,
    RegisterType.INPUT_THREAD_ID_IN_GROUP_FLATTENED: SystemRegister.ID_IN_GROUP_FLAT,
    RegisterType.INPUT_GS_INSTANCE_ID: SystemRegister.GS_INSTANCE_ID,
}
_VECTOR_SYSTEM = {
    RegisterType.INPUT_DOMAIN_POINT: SystemRegister.DOMAIN_U,
    RegisterType.INPUT_THREAD_ID: SystemRegister.THREAD_ID_X,
    RegisterType.INPUT_THREAD_GROUP_ID: SystemRegister.GROUP_ID_X,
    RegisterType.INPUT_THREAD_ID_IN_GROUP: SystemRegister.ID_IN_GROUP_X,
}
_SPECIAL_OUTPUT = {
    RegisterType.OUTPUT_DEPTH: OUTPUT_DEPTH_REGISTER,
    RegisterType.OUTPUT_DEPTH_GREATER_EQUAL: OUTPUT_DEPTH_REGISTER,
    RegisterType.OUTPUT_DEPTH_LESS_EQUAL: OUTPUT_DEPTH_REGISTER,
    RegisterType.OUTPUT_COVERAGE_MASK: OUTPUT_COVERAGE_REGISTER,
    RegisterType.OUTPUT_STENCIL_REF: OUTPUT_STENCIL_REGISTER,
}
_MODIFIER_BITS = {
    Modifier.NONE: 0,
    Modifier.NEG: NEGATE,
    Modifier.ABS: ABSOLUTE,
    Modifier.NEG_ABS: NEGATE | ABSOLUTE,
}


@dataclass(slots=True)
class Scope:
    """A LOOP or BLOCK that is open: ``kind`` is "loop", "switch" or "call"."""

    kind: str


@dataclass(slots=True)
class Body:
    """What one body of code declared for itself; hull phases have one each."""

    temps: int = 0
    arrays: dict[int, tuple[int, int, int]] = field(default_factory=dict)  #: x# -> (hardware array, elements, components)
    icb_base: int = 0  #: vec4s
    icb_length: int = 0
    fork_instance: int = 0


class Translator:
    """One token program on its way to the hardware's instruction set."""

    def __init__(self, program: Program, instances: tuple[ClassInstance, ...]) -> None:
        self.program = program
        self.stage = program.type
        self.instances = instances
        most = max((d.count for _, ds, _ in program.bodies() for d in ds if d.opcode is Opcode.DCL_TEMPS), default=0)
        if most > CONSTANT_BUFFER_VEC4S:
            raise ShaderError(f"{most} temporary registers; 4096 exist")
        self.builder = Builder(most * 4)
        self.body = Body()
        self.resources: dict[int, Resource] = {}
        self.uavs: dict[int, Resource] = {}
        self.shared: dict[int, SharedBlock] = {}
        self.system_inputs: dict[tuple[int, int], int] = {}  #: (register, component) -> SystemRegister
        self.interfaces: dict[int, Interface] = {}
        self.tables: dict[int, tuple[int, ...]] = {}
        self.subroutines: dict[int, list[Instruction]] = {}
        self.functions: dict[int, list[Instruction]] = {}
        self.call_stack: list[tuple[str, int]] = []
        self.scopes: list[Scope] = []
        self.regions: list[Op] = []  #: what is open, innermost last
        self.region_floor = 0  #: regions below this belong to callers
        self.patch_constant_phase = False
        self.uses_discard = False
        self.uses_uav = False
        self.counters: set[int] = set()  #: u# whose hidden counter is used

    # --- indices ------------------------------------------------------------------------------------------------------
    def index(self, index: Index) -> tuple[int, int | None]:
        """``(immediate, computed part or None)``; a computed part whose value is known is folded in."""
        if index.relative is None:
            return index.immediate, None
        word = self.source(index.relative, (0,), "u")[0]
        known = self.builder.literal_value(word)
        if known is not None:
            return (index.immediate + known) & 0xFFFFFFFF, None
        return index.immediate, word

    def static_index(self, operand: Operand, what: str) -> int:
        """The register number of ``operand``, which may not be computed."""
        if len(operand.indices) != 1:
            raise ShaderError(f"{what} with {len(operand.indices)} indices")
        immediate, relative = self.index(operand.indices[0])
        if relative is not None:
            raise ShaderError(f"{what} with a computed index")
        return immediate

    def element(self, immediate: int, relative: int, limit: int) -> int:
        """A register with ``min(immediate + relative, limit)``, unsigned: everything outside becomes ``limit``."""
        b = self.builder
        word = b.value(Op.IADD, relative, b.literal(immediate)) if immediate else relative
        return b.value(Op.UMIN, word, b.literal(limit))

    def dword(self, element: int, component: int, components: int = 4) -> int:
        """A register with ``element * components + component``."""
        b = self.builder
        if components == 1:
            return element
        return b.value(Op.IMAD, element, b.literal(components), b.literal(component))

    # --- sources ------------------------------------------------------------------------------------------------------
    def source(self, operand: Operand, positions: tuple[int, ...], kind: str) -> list[int]:
        """The operand words that ``positions`` of a source read. ``kind``: f float, i or u integer, r raw bits, d double half.

        Modifiers are put on the words; integer absolute values and modifiers of raw sources are computed beforehand, since the
        hardware types a modifier by the operation that uses it.
        """
        if not positions:
            return []
        swizzle = operand.swizzle
        components = [swizzle[p] for p in positions]
        words = self.fetch(operand, components)
        if operand.modifier is Modifier.NONE:
            return words
        bits = _MODIFIER_BITS[operand.modifier]
        if kind in "fd":
            return [w | bits for w in words]
        if kind == "r":
            return [self.builder.value(Op.MOV, w | bits) for w in words]
        if not bits & ABSOLUTE:
            return [w | NEGATE for w in words]
        b = self.builder
        absolute = [b.value(Op.IMAX, w, w | NEGATE) for w in words]
        return [w | NEGATE for w in absolute] if bits & NEGATE else absolute

    def scalar(self, operand: Operand, kind: str = "u") -> int:
        """The first position of a source."""
        return self.source(operand, (0,), kind)[0]

    def plain(self, operand: Operand, positions: tuple[int, ...], kind: str) -> list[int]:
        """As :meth:`source`, without modifiers on the words."""
        b = self.builder
        words = []
        for word in self.source(operand, positions, kind):
            if word & (NEGATE | ABSOLUTE):
                op = Op.MOV if kind in "fr" else Op.IADD
                word = b.value(op, word) if op is Op.MOV else b.value(op, word, b.literal(0))
            words.append(word)
        return words

    def address(self, operand: Operand, positions: tuple[int, ...], kind: str) -> int:
        """The first of consecutive registers with these positions of a source."""
        return self.builder.vector(self.plain(operand, positions, kind))

    def fetch(self, operand: Operand, components: list[int]) -> list[int]:
        """Words for register components, in order, without modifiers."""
        type = operand.type
        if type is RegisterType.TEMP:
            number = self.temp(operand)
            return [TEMP | number * 4 + c for c in components]
        if type is RegisterType.IMMEDIATE32:
            values = operand.values
            return [self.builder.literal(values[c] if len(values) == 4 else values[0]) for c in components]
        handler = _FETCH.get(type)
        if handler is not None:
            return handler(self, operand, components)
        if type in _SCALAR_SYSTEM:
            return [SYSTEM | _SCALAR_SYSTEM[type] for _ in components]
        if type in _VECTOR_SYSTEM:
            # These have three components; a fourth reads 0.
            return [SYSTEM | (_VECTOR_SYSTEM[type] + c) if c < 3 else self.builder.literal(0) for c in components]
        raise ShaderError(f"{type.name} cannot be read")

    def temp(self, operand: Operand) -> int:
        """The number of an r#, checked against dcl_temps."""
        number = operand.indices[0].immediate if len(operand.indices) == 1 else -1
        if not 0 <= number < self.body.temps or operand.indices[0].relative is not None:
            raise ShaderError(f"r{number} is outside the {self.body.temps} registers that dcl_temps declares")
        return number

    # --- destinations -------------------------------------------------------------------------------------------------
    def destination(self, operand: Operand) -> list[tuple[int, Destination]]:
        """``(component, where)`` for each masked component; nothing for ``null``."""
        type = operand.type
        if type is RegisterType.NULL:
            return []
        mask = operand.mask
        if mask == 0:
            raise ShaderError(f"{type.name} destination with an empty mask")
        components = [c for c in range(4) if mask >> c & 1]
        if type is RegisterType.TEMP:
            first = TEMP | self.temp(operand) * 4
            return [(c, first + c) for c in components]
        if type in _SPECIAL_OUTPUT:
            return [(c, OUTPUT | _SPECIAL_OUTPUT[type] * 4 + c) for c in components]
        b = self.builder
        if type is RegisterType.OUTPUT:
            if len(operand.indices) != 1:
                raise ShaderError(f"output with {len(operand.indices)} indices")
            immediate, relative = self.index(operand.indices[0])
            if relative is None:
                if immediate >= MAX_IO_REGISTERS:
                    raise ShaderError(f"o{immediate} does not exist")
                return [(c, OUTPUT | immediate * 4 + c) for c in components]
            element = self.element(immediate, relative, INDEX_CLAMP)
            return [(c, ArrayElement(-1, self.dword(element, c))) for c in components]
        if type is RegisterType.INDEXABLE_TEMP:
            array, elements, width = self.array(operand)
            immediate, relative = self.index(operand.indices[1])
            inside = [c for c in components if c < width]
            if relative is None:
                at = min(immediate, elements)
                return [(c, ArrayElement(array, b.literal(at * width + c))) for c in inside]
            element = self.element(immediate, relative, elements)
            return [(c, ArrayElement(array, self.dword(element, c, width))) for c in inside]
        raise ShaderError(f"{type.name} cannot be written")

    def array(self, operand: Operand) -> tuple[int, int, int]:
        """``(hardware array, elements, components)`` of an x#."""
        if len(operand.indices) != 2:
            raise ShaderError(f"indexable register with {len(operand.indices)} indices")
        number, relative = self.index(operand.indices[0])
        found = self.body.arrays.get(number)
        if found is None or relative is not None:
            raise ShaderError(f"x{number} is not declared")
        return found

    # --- emission helpers -----------------------------------------------------------------------------------------------
    def write(self, operand: Operand, words: dict[int, int], mods: int = 0) -> None:
        """Move ``words[component]`` (plain) into the masked components, all at once."""
        self.builder.parallel(
            [(where, Op.MOV, (words[c],), mods) for c, where in self.destination(operand) if c in words]
        )


Fetch = Callable[[Translator, Operand, list[int]], list[int]]


def _constant_buffer(t: Translator, operand: Operand, components: list[int]) -> list[int]:
    if len(operand.indices) != 2:
        raise ShaderError(f"constant buffer with {len(operand.indices)} indices")
    slot, computed = t.index(operand.indices[0])
    if computed is not None:
        raise ShaderError("constant buffer slot is not known when the shader is made")
    if slot > 14:
        raise ShaderError(f"cb{slot} does not exist")
    immediate, relative = t.index(operand.indices[1])
    b = t.builder
    if relative is None:
        if immediate >= CONSTANT_BUFFER_VEC4S:
            return [b.literal(0) for _ in components]
        return [CONSTANT | slot << 14 | immediate * 4 + c for c in components]
    element = t.element(immediate, relative, INDEX_CLAMP)
    loaded = {c: b.value(Op.LOAD_CONSTANT, t.dword(element, c), aux=slot) for c in dict.fromkeys(components)}
    return [loaded[c] for c in components]


def _immediate_constants(t: Translator, operand: Operand, components: list[int]) -> list[int]:
    if len(operand.indices) != 1:
        raise ShaderError(f"immediate constant buffer with {len(operand.indices)} indices")
    immediate, relative = t.index(operand.indices[0])
    b, base, length = t.builder, t.body.icb_base, t.body.icb_length
    if relative is None:
        inside = immediate < length
        return [b.literal(b.icb[(base + immediate) * 4 + c] if inside else 0) for c in components]
    element = t.element(immediate, relative, length)
    if base:
        element = b.value(Op.IADD, element, b.literal(base))
    loaded = {c: b.value(Op.LOAD_ICB, t.dword(element, c)) for c in dict.fromkeys(components)}
    return [loaded[c] for c in components]


def _array(t: Translator, operand: Operand, components: list[int]) -> list[int]:
    array, elements, width = t.array(operand)
    immediate, relative = t.index(operand.indices[1])
    b = t.builder
    loaded = {}
    element = None if relative is None else t.element(immediate, relative, elements)
    for c in dict.fromkeys(components):
        if c >= width:
            loaded[c] = b.literal(0)
        elif element is None:
            loaded[c] = b.value(Op.LOAD_ARRAY, b.literal(min(immediate, elements) * width + c), aux=array)
        else:
            loaded[c] = b.value(Op.LOAD_ARRAY, t.dword(element, c, width), aux=array)
    return [loaded[c] for c in components]


def _input(t: Translator, operand: Operand, components: list[int]) -> list[int]:
    if len(operand.indices) == 2:
        return _vertex_input(t, operand, components, Op.LOAD_INPUT)
    if len(operand.indices) != 1:
        raise ShaderError(f"input with {len(operand.indices)} indices")
    immediate, relative = t.index(operand.indices[0])
    b = t.builder
    if relative is None:
        if immediate >= MAX_IO_REGISTERS:
            raise ShaderError(f"v{immediate} does not exist")
        return [
            SYSTEM | t.system_inputs[immediate, c] if (immediate, c) in t.system_inputs else INPUT | immediate * 4 + c
            for c in components
        ]
    element = t.element(immediate, relative, INDEX_CLAMP)
    loaded = {c: b.value(Op.LOAD_INPUT, t.dword(element, c), NONE) for c in dict.fromkeys(components)}
    return [loaded[c] for c in components]


def _vertex_input(t: Translator, operand: Operand, components: list[int], op: Op) -> list[int]:
    if len(operand.indices) != 2:
        raise ShaderError(f"{operand.type.name} with {len(operand.indices)} indices")
    b = t.builder
    vertex, computed_vertex = t.index(operand.indices[0])
    register, computed_register = t.index(operand.indices[1])
    if computed_vertex is None:
        vertex_word = b.literal(vertex)
    else:
        vertex_word = b.value(Op.IADD, computed_vertex, b.literal(vertex)) if vertex else computed_vertex
    loaded = {}
    element = None if computed_register is None else t.element(register, computed_register, INDEX_CLAMP)
    for c in dict.fromkeys(components):
        at = b.literal(min(register, INDEX_CLAMP) * 4 + c) if element is None else t.dword(element, c)
        loaded[c] = b.value(op, at, vertex_word)
    return [loaded[c] for c in components]


def _control_point(t: Translator, operand: Operand, components: list[int]) -> list[int]:
    return _vertex_input(t, operand, components, Op.LOAD_INPUT)


def _output_control_point(t: Translator, operand: Operand, components: list[int]) -> list[int]:
    # Without a control-point phase the outputs are the inputs.
    pass_through = not any(p.kind is Opcode.HS_CONTROL_POINT_PHASE for p in t.program.phases)
    return _vertex_input(t, operand, components, Op.LOAD_INPUT if pass_through else Op.LOAD_CONTROL_POINT)


def _patch_constant(t: Translator, operand: Operand, components: list[int]) -> list[int]:
    if len(operand.indices) != 1:
        raise ShaderError(f"patch constant with {len(operand.indices)} indices")
    immediate, relative = t.index(operand.indices[0])
    b = t.builder
    element = None if relative is None else t.element(immediate, relative, INDEX_CLAMP)
    loaded = {}
    for c in dict.fromkeys(components):
        at = b.literal(min(immediate, INDEX_CLAMP) * 4 + c) if element is None else t.dword(element, c)
        loaded[c] = b.value(Op.LOAD_PATCH, at)
    return [loaded[c] for c in components]


def _phase_instance(t: Translator, operand: Operand, components: list[int]) -> list[int]:
    return [t.builder.literal(t.body.fork_instance) for _ in components]


def _this(t: Translator, operand: Operand, components: list[int]) -> list[int]:
    if len(operand.indices) != 1:
        raise ShaderError(f"this with {len(operand.indices)} indices")
    number, relative = t.index(operand.indices[0])
    if relative is not None:
        raise ShaderError("this[] with an index that is not known when the shader is made")
    instance = t.instances[number] if number < len(t.instances) else ClassInstance()
    values = (instance.constant_buffer, instance.constant_offset, instance.texture, instance.sampler)
    return [t.builder.literal(values[c]) for c in components]


def _null(t: Translator, operand: Operand, components: list[int]) -> list[int]:
    return [t.builder.literal(0) for _ in components]


_FETCH: dict[RegisterType, Fetch] = {
    RegisterType.INPUT: _input,
    RegisterType.CONSTANT_BUFFER: _constant_buffer,
    RegisterType.IMMEDIATE_CONSTANT_BUFFER: _immediate_constants,
    RegisterType.INDEXABLE_TEMP: _array,
    RegisterType.INPUT_CONTROL_POINT: _control_point,
    RegisterType.OUTPUT_CONTROL_POINT: _output_control_point,
    RegisterType.INPUT_PATCH_CONSTANT: _patch_constant,
    RegisterType.INPUT_FORK_INSTANCE_ID: _phase_instance,
    RegisterType.INPUT_JOIN_INSTANCE_ID: _phase_instance,
    RegisterType.THIS_POINTER: _this,
    RegisterType.NULL: _null,
    RegisterType.CYCLE_COUNTER: _null,
}

HANDLERS: dict[Opcode, Callable[[Translator, Instruction], None]] = {}
"""What each instruction becomes; the instruction groups register themselves here."""


def handles(*opcodes: Opcode) -> Callable[[Callable[[Translator, Instruction], None]], Callable[[Translator, Instruction], None]]:
    """Register a function as the translation of these opcodes."""

    def register(handler: Callable[[Translator, Instruction], None]) -> Callable[[Translator, Instruction], None]:
        for opcode in opcodes:
            HANDLERS[opcode] = handler
        return handler

    return register


def mnemonic(instruction: Instruction) -> str:
    """For messages."""
    return OPCODES[instruction.opcode].mnemonic


def is_literal(word: int) -> bool:
    """Whether an operand word names a literal."""
    return word >> 28 == Kind.LITERAL


def is_hull(t: Translator) -> bool:
    """Whether the program is a hull shader."""
    return t.stage is ProgramType.HULL
