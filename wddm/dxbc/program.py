"""The data model of a shader model 4/5 token program.

Owns :class:`Program` and its parts, and small constructors with which a compiler writes operands tersely.  Holds no
bytes and checks nothing: :mod:`wddm.dxbc.tokens` reads and writes the stream, :mod:`wddm.dxbc.validate` judges it.
Models the D3D tokenized program format.

Numbers are raw: an immediate is a 32-bit pattern (an unsigned ``int``), whatever type the instruction reads it as.

Hull shaders.  The stream is one line of tokens cut by ``hs_*`` markers; here the markers are structure.
``Program.declarations`` are those of ``hs_decls`` (it is implied: a hull program always begins with it),
``Program.instructions`` is empty, and ``Program.phases`` holds each control-point, fork and join phase in stream
order with its own declarations and code.  ``Program.bodies()`` walks any program, hull or not, the same way.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from .opcodes import (
    OPCODES,
    CustomDataClass,
    Dimension,
    GlobalFlags,
    Interpolation,
    MinPrecision,
    Modifier,
    Opcode,
    OpcodeInfo,
    Primitive,
    ProgramType,
    RegisterType,
    ResinfoReturn,
    ReturnType,
    SamplerMode,
    Selection,
    SyncFlags,
    SystemValue,
    TessDomain,
    TessOutput,
    TessPartitioning,
    Topology,
    UavFlags,
)

__all__ = [
    "XYZW",
    "Declaration",
    "Index",
    "Instruction",
    "Operand",
    "Phase",
    "Program",
    "ReturnTypes",
    "cb",
    "float_bits",
    "icb",
    "imm",
    "imm_double",
    "imm_int",
    "indexable",
    "inp",
    "instruction",
    "label",
    "mask_bits",
    "mask_text",
    "null",
    "out",
    "register",
    "sampler",
    "stream",
    "swizzle_bits",
    "swizzle_text",
    "temp",
    "texture",
    "tgsm",
    "uav",
]

XYZW = 0xE4
"""The identity swizzle."""

ReturnTypes = tuple[ReturnType, ReturnType, ReturnType, ReturnType]

_LETTERS = "xyzw"


def float_bits(value: float) -> int:
    """Bit pattern of the nearest float32; values beyond its range become ±inf."""
    try:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        return 0x7F800000 if value > 0 else 0xFF800000


def mask_bits(text: str) -> int:
    """``"xz"`` → 0b0101.  Letters xyzw or rgba in ascending order; "" → 0.  ValueError otherwise."""
    bits = 0
    for letter in text:
        component = _component(letter)
        if bits >> component:
            raise ValueError(f"mask {text!r} is not in ascending order")
        bits |= 1 << component
    return bits


def mask_text(bits: int) -> str:
    """0b0101 → ``"xz"``."""
    return "".join(letter for i, letter in enumerate(_LETTERS) if bits >> i & 1)


def swizzle_bits(text: str) -> int:
    """``"xyz"`` → 8 bits, two per component, x first; fewer than four letters repeat the last.  ValueError if bad."""
    if not 1 <= len(text) <= 4:
        raise ValueError(f"swizzle {text!r} does not have 1 to 4 letters")
    bits = 0
    for i in range(4):
        bits |= _component(text[min(i, len(text) - 1)]) << (2 * i)
    return bits


def swizzle_text(bits: int) -> str:
    """0xE4 → ``"xyzw"``."""
    return "".join(_LETTERS[bits >> (2 * i) & 3] for i in range(4))


def _component(letter: str) -> int:
    component = "xyzwrgba".find(letter)
    if component < 0 or len(letter) != 1:
        raise ValueError(f"{letter!r} is not a component")
    return component & 3


@dataclass(slots=True)
class Index:
    """One index of an operand: ``immediate`` (32 bits unsigned), plus the value of ``relative`` when there is one.

    The stream can write a relative index with or without an immediate; without is the normal form of an immediate
    of 0, and ``explicit_zero`` keeps the other one apart.
    """

    immediate: int = 0
    relative: Operand | None = None
    explicit_zero: bool = False


@dataclass(slots=True)
class Operand:
    """A register, or an immediate, as one instruction sees it."""

    type: RegisterType
    components: int = 4
    """0 (samplers, labels, …), 1 (scalars such as oDepth) or 4."""
    selection: Selection = Selection.SWIZZLE
    """Meaning of ``selector``; only with four components."""
    selector: int = XYZW
    """MASK: bit i = component i; SWIZZLE: two bits per component, x first; SELECT1: the component 0–3."""
    indices: list[Index] = field(default_factory=list)
    values: tuple[int, ...] = ()
    """Immediates only: 1 or 4 dwords (IMMEDIATE32), 2 or 4 dwords low first (IMMEDIATE64)."""
    modifier: Modifier = Modifier.NONE
    min_precision: MinPrecision = MinPrecision.DEFAULT
    nonuniform: bool = False

    @property
    def mask(self) -> int:
        """Components a destination writes, x = bit 0: its mask, or 1 for a scalar register, 0 for none."""
        if self.components == 4:
            if self.selection is Selection.MASK:
                return self.selector
            return 1 << self.selector if self.selection is Selection.SELECT1 else 0xF
        return self.components

    write_mask = mask

    @property
    def swizzle(self) -> tuple[int, int, int, int]:
        """The register component (0–3) that each of the four positions reads; a scalar is replicated."""
        if self.components == 4:
            s = self.selector
            if self.selection is Selection.SWIZZLE:
                return (s & 3, s >> 2 & 3, s >> 4 & 3, s >> 6 & 3)
            if self.selection is Selection.SELECT1:
                return (s, s, s, s)
            return (0, 1, 2, 3)
        return (0, 0, 0, 0)

    @property
    def index(self) -> int:
        """Immediate part of the first index: the register number (0 when there are no indices)."""
        return self.indices[0].immediate if self.indices else 0

    @property
    def is_immediate(self) -> bool:
        return self.type is RegisterType.IMMEDIATE32 or self.type is RegisterType.IMMEDIATE64

    def __neg__(self) -> Operand:
        """The same source negated; of an absolute value, −|x|; negating twice undoes it."""
        flipped = (Modifier.NEG, Modifier.NONE, Modifier.NEG_ABS, Modifier.ABS)[self.modifier]
        return self._replace(flipped)

    def __abs__(self) -> Operand:
        """The same source, absolute."""
        return self._replace(Modifier.ABS)

    def _replace(self, modifier: Modifier) -> Operand:
        return Operand(
            self.type, self.components, self.selection, self.selector, list(self.indices), self.values,
            modifier, self.min_precision, self.nonuniform,
        )


@dataclass(slots=True)
class Declaration:
    """One declaration, or a ``customdata`` block that stands among them.

    Which fields mean something follows from ``opcode``:

    ======================================  ==================================================================
    DCL_GLOBALFLAGS                         flags
    DCL_CONSTANTBUFFER                      operand cb#[n], dynamic; 5.1: operand (id, lo, hi), count, space
    DCL_SAMPLER                             operand, sampler_mode
    DCL_RESOURCE                            operand, dimension, sample_count, return_types
    DCL_RESOURCE_RAW / _STRUCTURED          operand / operand, stride
    DCL_UAV_TYPED / _RAW / _STRUCTURED      as the resources, and uav_flags
    DCL_TGSM_RAW / _STRUCTURED              operand, count (bytes) / operand, stride, count (structures)
    DCL_THREAD_GROUP                        thread_group
    DCL_INPUT, DCL_OUTPUT                   operand (mask = declared components)
    DCL_INPUT_SGV/SIV, DCL_OUTPUT_SGV/SIV   operand, system_value
    DCL_INPUT_PS, _PS_SGV, _PS_SIV          operand, interpolation, system_value (not for _PS)
    DCL_INDEXRANGE                          operand (first register), count
    DCL_TEMPS                               count
    DCL_INDEXABLETEMP                       register, count (elements), components (1–4)
    DCL_INPUTPRIMITIVE, DCL_OUTPUTTOPOLOGY  primitive, topology
    DCL_MAXOUT, DCL_GS_INSTANCE_COUNT       count
    DCL_STREAM                              operand m#; the output declarations behind it belong to it
    DCL_INPUT/OUTPUT_CONTROL_POINT_COUNT    count
    DCL_TESSELLATOR_DOMAIN                  tess_domain; likewise tess_partitioning, tess_output
    DCL_HS_MAX_TESSFACTOR                   max_tess_factor (1.0–64.0)
    DCL_HS_FORK/JOIN_PHASE_INSTANCE_COUNT   count
    DCL_FUNCTION_BODY                       register
    DCL_FUNCTION_TABLE                      register, members (function bodies)
    DCL_INTERFACE                           register, call_sites, array_length, members (tables), dynamic
    CUSTOMDATA                              custom_class, data
    ======================================  ==================================================================
    """

    opcode: Opcode
    operand: Operand | None = None
    count: int = 0
    system_value: SystemValue = SystemValue.UNDEFINED
    interpolation: Interpolation = Interpolation.UNDEFINED
    dimension: Dimension = Dimension.UNKNOWN
    return_types: ReturnTypes | None = None
    sample_count: int = 0
    stride: int = 0
    uav_flags: UavFlags = UavFlags.NONE
    sampler_mode: SamplerMode = SamplerMode.DEFAULT
    flags: GlobalFlags = GlobalFlags.NONE
    dynamic: bool = False
    """Constant buffer or interface indexed with something other than an immediate."""
    register: int = 0
    components: int = 4
    thread_group: tuple[int, int, int] = (1, 1, 1)
    primitive: Primitive = Primitive.UNDEFINED
    topology: Topology = Topology.UNDEFINED
    tess_domain: TessDomain = TessDomain.UNDEFINED
    tess_partitioning: TessPartitioning = TessPartitioning.UNDEFINED
    tess_output: TessOutput = TessOutput.UNDEFINED
    max_tess_factor: float = 64.0
    call_sites: int = 0
    array_length: int = 0
    members: tuple[int, ...] = ()
    space: int = 0
    """Register space, shader model 5.1."""
    custom_class: CustomDataClass = CustomDataClass.COMMENT
    data: bytes = b""
    """Custom data behind its two leading dwords; the immediate constant buffer is 16 bytes per vec4."""
    long_length: bool = False
    """DCL_FUNCTION_TABLE and DCL_INTERFACE: the length has a dword of its own although it would fit the token."""
    offset: int = field(default=0, compare=False)
    """Dword at which the decoder found it; 0 for declarations made otherwise."""

    @property
    def slot(self) -> int:
        """First index of the operand: the register, slot or (5.1) range id."""
        return self.operand.index if self.operand is not None else self.register

    @property
    def vec4s(self) -> list[tuple[int, int, int, int]]:
        """Immediate constant buffer: its rows as raw dwords."""
        words = struct.unpack(f"<{len(self.data) // 16 * 4}I", self.data[: len(self.data) // 16 * 16])
        return [(words[i], words[i + 1], words[i + 2], words[i + 3]) for i in range(0, len(words), 4)]


@dataclass(slots=True)
class Instruction:
    """One instruction; operands stand in the order of ``OPCODES[opcode].roles``."""

    opcode: Opcode
    operands: list[Operand] = field(default_factory=list)
    saturate: bool = False
    test_nonzero: bool = False
    """``if`` ``breakc`` ``continuec`` ``retc`` ``callc`` ``discard``: taken when any bit is set, else when none is."""
    precise_mask: int = 0
    """Components whose result must not be refactored, x = bit 0."""
    resinfo_return: ResinfoReturn = ResinfoReturn.FLOAT
    """``resinfo`` and ``sampleinfo`` only."""
    sync_flags: SyncFlags = SyncFlags.NONE
    texel_offset: tuple[int, int, int] | None = None
    """Immediate texel offsets u, v, w (−8…7); None: no such token."""
    resource_dimension: Dimension | None = None
    resource_stride: int = 0
    """Structure stride that goes with ``resource_dimension``."""
    resource_return_types: ReturnTypes | None = None
    function_index: int = 0
    """``fcall``: number of the call site's function."""
    custom_class: CustomDataClass = CustomDataClass.COMMENT
    data: bytes = b""
    """``customdata``: the bytes behind its two leading dwords."""
    padding: tuple[int, ...] = ()
    """Dwords that the compiler left behind the operands (``samplepos``, feedback forms)."""
    long_length: bool = False
    """FCALL: the length has a dword of its own."""
    offset: int = field(default=0, compare=False)
    """Dword at which the decoder found it; 0 for instructions made otherwise."""

    @property
    def info(self) -> OpcodeInfo:
        return OPCODES[self.opcode]

    @property
    def destinations(self) -> list[Operand]:
        return self.operands[: OPCODES[self.opcode].dst_count]

    @property
    def sources(self) -> list[Operand]:
        """Everything behind the destinations, resources and samplers included."""
        return self.operands[OPCODES[self.opcode].dst_count :]

    def operand(self, role: str) -> Operand:
        """The operand of a role, e.g. ``"addr"``.  KeyError when the opcode has no such role."""
        roles = OPCODES[self.opcode].roles
        if role not in roles:
            raise KeyError(f"{OPCODES[self.opcode].mnemonic} has no operand {role!r}, only {', '.join(roles)}")
        return self.operands[roles.index(role)]


@dataclass(slots=True)
class Phase:
    """A phase of a hull shader: ``kind`` is HS_CONTROL_POINT_PHASE, HS_FORK_PHASE or HS_JOIN_PHASE."""

    kind: Opcode
    declarations: list[Declaration] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    offset: int = field(default=0, compare=False)

    @property
    def instance_count(self) -> int:
        """Times a fork or join phase runs per patch (1 when not declared)."""
        for declaration in self.declarations:
            if declaration.opcode in (
                Opcode.DCL_HS_FORK_PHASE_INSTANCE_COUNT, Opcode.DCL_HS_JOIN_PHASE_INSTANCE_COUNT
            ):
                return declaration.count
        return 1


@dataclass(slots=True)
class Program:
    """A whole token program, e.g. ``Program(ProgramType.PIXEL, 5, 0)``."""

    type: ProgramType
    major: int = 5
    minor: int = 0
    declarations: list[Declaration] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)

    @property
    def model(self) -> tuple[int, int]:
        return (self.major, self.minor)

    @property
    def profile(self) -> str:
        """``"ps_5_0"`` and so on."""
        return f"{self.type.prefix}_{self.major}_{self.minor}"

    @property
    def flags(self) -> GlobalFlags:
        """Union of all ``dcl_globalflags``."""
        flags = GlobalFlags.NONE
        for declaration in self.declarations:
            if declaration.opcode is Opcode.DCL_GLOBALFLAGS:
                flags |= declaration.flags
        return flags

    def bodies(self) -> Iterator[tuple[Phase | None, list[Declaration], list[Instruction]]]:
        """Each stretch of declarations and code: (None, …) for the program itself, then the hull phases."""
        yield None, self.declarations, self.instructions
        for phase in self.phases:
            yield phase, phase.declarations, phase.instructions

    def find(self, opcode: Opcode) -> Declaration | None:
        """First declaration of that kind outside hull phases."""
        return next((d for d in self.declarations if d.opcode is opcode), None)


# --- constructors ---------------------------------------------------------------------------------------------


def register(
    type: RegisterType,
    *indices: int | Index,
    swizzle: str | None = None,
    mask: str | int | None = None,
    select: str | None = None,
    components: int = 4,
) -> Operand:
    """An operand of any register file; at most one of ``swizzle``, ``mask``, ``select`` (default: swizzle xyzw)."""
    listed = [index if isinstance(index, Index) else Index(index) for index in indices]
    if components != 4:
        return Operand(type, components, Selection.MASK, 0, listed)
    if mask is not None:
        bits = mask_bits(mask) if isinstance(mask, str) else mask
        return Operand(type, 4, Selection.MASK, bits, listed)
    if select is not None:
        return Operand(type, 4, Selection.SELECT1, _component(select), listed)
    return Operand(type, 4, Selection.SWIZZLE, swizzle_bits(swizzle) if swizzle else XYZW, listed)


def _either(type: RegisterType, indices: tuple[int | Index, ...], mask: str | int | None, swizzle: str) -> Operand:
    """Destination when a mask is given; else a source: one letter selects, more swizzle, none is no components."""
    if mask is not None:
        return register(type, *indices, mask=mask)
    if not swizzle:
        return register(type, *indices, components=0)
    if len(swizzle) == 1:
        return register(type, *indices, select=swizzle)
    return register(type, *indices, swizzle=swizzle)


def temp(number: int, swizzle: str = "xyzw", *, mask: str | int | None = None) -> Operand:
    """``r#``.  ``temp(0, mask="xyz")`` is a destination, ``temp(0, "xyzx")`` a source, ``temp(0, "x")`` a scalar."""
    return _either(RegisterType.TEMP, (number,), mask, swizzle)


def inp(*indices: int | Index, swizzle: str = "xyzw", mask: str | int | None = None) -> Operand:
    """``v#`` or ``v[vertex][register]``."""
    return _either(RegisterType.INPUT, indices, mask, swizzle)


def out(number: int | Index, mask: str | int = "xyzw") -> Operand:
    """``o#`` as a destination."""
    return register(RegisterType.OUTPUT, number, mask=mask)


def indexable(number: int, element: int | Index, swizzle: str = "xyzw", *, mask: str | int | None = None) -> Operand:
    """``x#[element]``."""
    return _either(RegisterType.INDEXABLE_TEMP, (number, element), mask, swizzle)


def cb(slot: int, index: int | Index, swizzle: str = "xyzw") -> Operand:
    """``cb#[index]`` as a source; give ``Index(3, temp(2, "x"))`` for ``[r2.x + 3]``."""
    return _either(RegisterType.CONSTANT_BUFFER, (slot, index), None, swizzle)


def icb(index: int | Index, swizzle: str = "xyzw") -> Operand:
    """``icb[index]`` as a source."""
    return _either(RegisterType.IMMEDIATE_CONSTANT_BUFFER, (index,), None, swizzle)


def imm(*values: float) -> Operand:
    """Float immediate of 1 or 4 numbers; ``l(1.0)`` or ``l(1.0, 0.0, 0.0, 1.0)``."""
    return imm_int(*(float_bits(value) for value in values))


def imm_int(*values: int) -> Operand:
    """Integer or raw immediate of 1 or 4 numbers; negative ones wrap to 32 bits.  ValueError for another count."""
    if len(values) not in (1, 4):
        raise ValueError(f"an immediate has 1 or 4 components, not {len(values)}")
    words = tuple(value & 0xFFFFFFFF for value in values)
    return Operand(RegisterType.IMMEDIATE32, len(values), Selection.MASK, 0, [], words)


def imm_double(*values: float) -> Operand:
    """Double immediate of one or two numbers (2 or 4 dwords, low first).  ValueError for another count."""
    if len(values) not in (1, 2):
        raise ValueError(f"a double immediate has 1 or 2 numbers, not {len(values)}")
    words = struct.unpack(f"<{2 * len(values)}I", struct.pack(f"<{len(values)}d", *values))
    return Operand(RegisterType.IMMEDIATE64, 1 if len(values) == 1 else 4, Selection.MASK, 0, [], words)


def sampler(number: int | Index, component: str = "") -> Operand:
    """``s#``; ``gather4`` also names the component it gathers."""
    return _either(RegisterType.SAMPLER, (number,), None, component)


def texture(number: int | Index, swizzle: str = "xyzw") -> Operand:
    """``t#`` with the swizzle applied to the fetched value; ``""`` (none) in declarations."""
    return _either(RegisterType.RESOURCE, (number,), None, swizzle)


def uav(number: int | Index, swizzle: str = "xyzw", *, mask: str | int | None = None) -> Operand:
    """``u#``: swizzled where it is read, masked where it is stored to; ``""`` (none) in atomics and declarations."""
    return _either(RegisterType.UNORDERED_ACCESS_VIEW, (number,), mask, swizzle)


def tgsm(number: int, swizzle: str = "xyzw", *, mask: str | int | None = None) -> Operand:
    """``g#``: thread-group shared memory; components as for :func:`uav`."""
    return _either(RegisterType.THREAD_GROUP_SHARED_MEMORY, (number,), mask, swizzle)


def null() -> Operand:
    """``null``: the destination of a result nobody wants."""
    return register(RegisterType.NULL, components=0)


def label(number: int) -> Operand:
    """``l#`` of ``call`` and ``label``."""
    return register(RegisterType.LABEL, number, components=0)


def stream(number: int) -> Operand:
    """``m#`` of ``emit_stream`` and ``dcl_stream``."""
    return register(RegisterType.STREAM, number, components=0)


def instruction(opcode: Opcode, *operands: Operand, saturate: bool = False, test_nonzero: bool = False) -> Instruction:
    """An instruction from its operands; set the rarer fields afterwards."""
    return Instruction(opcode, list(operands), saturate, test_nonzero)
