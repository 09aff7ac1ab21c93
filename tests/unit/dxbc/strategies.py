"""Programs that can be written, made by hypothesis: every opcode, every declaration, every operand form.

They are structurally sound but need not make sense (undeclared registers, unbalanced blocks); what must hold for
them is that bytes and text lose nothing.
"""

from __future__ import annotations

import struct

from hypothesis import strategies as st

from wddm.dxbc.opcodes import (
    DECLARATIONS,
    OPCODES,
    CustomDataClass,
    Dimension,
    GlobalFlags,
    Interpolation,
    MinPrecision,
    Modifier,
    Opcode,
    OpcodeGroup,
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
from wddm.dxbc.program import Declaration, Index, Instruction, Operand, Phase, Program
from wddm.dxbc.signature import NO_REGISTER, ComponentType, D3DName, Signature, SignatureElement
from wddm.dxbc.tokens import MODELS

dwords = st.one_of(
    st.integers(0, 0xFFFFFFFF),
    st.sampled_from([0, 1, 0x3F800000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFFFFFFF, 1 << 23]),
    st.floats(width=32, allow_nan=False).map(lambda value: struct.unpack("<I", struct.pack("<f", value))[0]),
)
small = st.integers(0, 40)
IMMEDIATES = (RegisterType.IMMEDIATE32, RegisterType.IMMEDIATE64)
REGISTERS = [type_ for type_ in RegisterType if type_ not in IMMEDIATES]
INSTRUCTIONS = [
    opcode for opcode, info in OPCODES.items()
    if info.group not in (OpcodeGroup.DECLARATION, OpcodeGroup.RESERVED, OpcodeGroup.PHASE, OpcodeGroup.DATA)
]
return_types = st.tuples(*[st.sampled_from(ReturnType)] * 4)


@st.composite
def selections(draw: st.DrawFn) -> tuple[int, Selection, int]:
    components = draw(st.sampled_from([0, 1, 4, 4, 4, 4]))
    mode = draw(st.sampled_from(Selection)) if components == 4 else Selection.MASK
    return components, mode, draw(st.integers(0, (0xF, 0xFF, 3)[mode])) if components == 4 else 0


@st.composite
def indices(draw: st.DrawFn, depth: int = 0) -> Index:
    relative = draw(operands(depth + 1)) if depth < 2 and draw(st.integers(0, 4)) == 0 else None
    immediate = draw(st.one_of(small, dwords))
    return Index(immediate, relative, relative is not None and immediate == 0 and draw(st.booleans()))


@st.composite
def operands(draw: st.DrawFn, depth: int = 0) -> Operand:
    kind = draw(st.integers(0, 5)) if depth == 0 else 5
    modifier = draw(st.sampled_from(Modifier))
    precision = draw(st.sampled_from(MinPrecision))
    nonuniform = draw(st.booleans())
    if kind == 0:
        double, four = draw(st.booleans()), draw(st.booleans())
        count = (4 if four else 2) if double else (4 if four else 1)
        values = tuple(draw(dwords) for _ in range(count))
        return Operand(
            IMMEDIATES[double], 4 if four else 1, Selection.MASK, 0, [], values, modifier, precision, nonuniform
        )
    listed = [draw(indices(depth)) for _ in range(draw(st.integers(0, 3)))]
    return Operand(draw(st.sampled_from(REGISTERS)), *draw(selections()), listed, (), modifier, precision, nonuniform)


@st.composite
def instructions(draw: st.DrawFn, opcode: Opcode | None = None) -> Instruction:
    opcode = opcode if opcode is not None else draw(st.sampled_from(INSTRUCTIONS))
    info = OPCODES[opcode]
    instruction = Instruction(opcode, [draw(operands()) for _ in info.roles])
    if info.saturate:
        instruction.saturate = draw(st.booleans())
    if info.test:
        instruction.test_nonzero = draw(st.booleans())
    if info.roles and info.group is not OpcodeGroup.FLOW:
        instruction.precise_mask = draw(st.integers(0, 15))
    if opcode is Opcode.RESINFO:
        instruction.resinfo_return = draw(st.sampled_from(ResinfoReturn))
    if opcode is Opcode.SAMPLEINFO:
        instruction.resinfo_return = draw(st.sampled_from([ResinfoReturn.FLOAT, ResinfoReturn.UINT]))
    if opcode is Opcode.SYNC:
        instruction.sync_flags = SyncFlags(draw(st.integers(0, 15)))
    if opcode is Opcode.FCALL:
        instruction.function_index, instruction.long_length = draw(dwords), draw(st.booleans())
        instruction.operands[0] = Operand(
            RegisterType.INTERFACE, 0, Selection.MASK, 0, [draw(indices()) for _ in range(draw(st.integers(1, 2)))]
        )
    extended = info.group in (OpcodeGroup.TEXTURE, OpcodeGroup.MEMORY, OpcodeGroup.ATOMIC)
    if extended and draw(st.booleans()):
        offsets = st.integers(-8, 7)
        instruction.texel_offset = draw(st.tuples(offsets, offsets, offsets))
    if extended and draw(st.booleans()):
        instruction.resource_dimension = draw(st.sampled_from(Dimension))
        instruction.resource_stride = draw(st.integers(0, 0xFFF))
    if extended and draw(st.booleans()):
        instruction.resource_return_types = draw(return_types)
    if info.may_pad and draw(st.booleans()):
        instruction.padding = (draw(dwords),)
    return instruction


@st.composite
def register_operands(draw: st.DrawFn, type_: RegisterType | None = None, count: int | None = None) -> Operand:
    """Operands as declarations have them: plain immediate indices."""
    type_ = type_ if type_ is not None else draw(st.sampled_from(REGISTERS))
    count = count if count is not None else draw(st.integers(0, 3))
    listed = [Index(draw(st.one_of(small, dwords))) for _ in range(count)]
    return Operand(type_, *draw(selections()), listed, min_precision=draw(st.sampled_from(MinPrecision)))


_BINDINGS = {
    Opcode.DCL_CONSTANTBUFFER: RegisterType.CONSTANT_BUFFER,
    Opcode.DCL_SAMPLER: RegisterType.SAMPLER,
    Opcode.DCL_RESOURCE: RegisterType.RESOURCE,
    Opcode.DCL_RESOURCE_RAW: RegisterType.RESOURCE,
    Opcode.DCL_RESOURCE_STRUCTURED: RegisterType.RESOURCE,
    Opcode.DCL_UAV_TYPED: RegisterType.UNORDERED_ACCESS_VIEW,
    Opcode.DCL_UAV_RAW: RegisterType.UNORDERED_ACCESS_VIEW,
    Opcode.DCL_UAV_STRUCTURED: RegisterType.UNORDERED_ACCESS_VIEW,
}
_ENUMERATED = {
    Opcode.DCL_INPUTPRIMITIVE: ("primitive", Primitive),
    Opcode.DCL_OUTPUTTOPOLOGY: ("topology", Topology),
    Opcode.DCL_TESSELLATOR_DOMAIN: ("tess_domain", TessDomain),
    Opcode.DCL_TESSELLATOR_PARTITIONING: ("tess_partitioning", TessPartitioning),
    Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE: ("tess_output", TessOutput),
    Opcode.DCL_SAMPLER: ("sampler_mode", SamplerMode),
    Opcode.DCL_INPUT_PS: ("interpolation", Interpolation),
    Opcode.DCL_INPUT_PS_SGV: ("interpolation", Interpolation),
    Opcode.DCL_INPUT_PS_SIV: ("interpolation", Interpolation),
}
_FUNCTIONS = (Opcode.DCL_FUNCTION_BODY, Opcode.DCL_FUNCTION_TABLE, Opcode.DCL_INTERFACE)
_NO_OPERAND = frozenset({
    Opcode.DCL_GLOBALFLAGS, Opcode.DCL_TEMPS, Opcode.DCL_INDEXABLETEMP, Opcode.DCL_INPUTPRIMITIVE,
    Opcode.DCL_OUTPUTTOPOLOGY, Opcode.DCL_MAXOUT, Opcode.DCL_GS_INSTANCE_COUNT, Opcode.DCL_HS_MAX_TESSFACTOR,
    Opcode.DCL_INPUT_CONTROL_POINT_COUNT, Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT, Opcode.DCL_TESSELLATOR_DOMAIN,
    Opcode.DCL_TESSELLATOR_PARTITIONING, Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE, Opcode.DCL_THREAD_GROUP,
    Opcode.DCL_HS_FORK_PHASE_INSTANCE_COUNT, Opcode.DCL_HS_JOIN_PHASE_INSTANCE_COUNT, *_FUNCTIONS,
})
_COUNTED = frozenset({
    Opcode.DCL_TEMPS, Opcode.DCL_INDEXABLETEMP, Opcode.DCL_MAXOUT, Opcode.DCL_GS_INSTANCE_COUNT,
    Opcode.DCL_HS_FORK_PHASE_INSTANCE_COUNT, Opcode.DCL_HS_JOIN_PHASE_INSTANCE_COUNT, Opcode.DCL_INDEXRANGE,
    Opcode.DCL_TGSM_RAW, Opcode.DCL_TGSM_STRUCTURED,
})


@st.composite
def declarations(draw: st.DrawFn, sm51: bool, opcode: Opcode | None = None) -> Declaration:
    opcode = opcode if opcode is not None else draw(st.sampled_from(sorted(DECLARATIONS)))
    d = Declaration(opcode)
    if opcode in _BINDINGS:
        count = 3 if sm51 else 2 if opcode is Opcode.DCL_CONSTANTBUFFER else 1
        d.operand = draw(register_operands(_BINDINGS[opcode], count))
        d.space = draw(dwords) if sm51 else 0
    elif opcode not in _NO_OPERAND:
        d.operand = draw(register_operands())
    if opcode in _ENUMERATED:
        name, enumeration = _ENUMERATED[opcode]
        setattr(d, name, draw(st.sampled_from(enumeration)))
    if opcode in _COUNTED:
        d.count = draw(dwords)
    if opcode.name.endswith(("SGV", "SIV")):
        d.system_value = draw(st.sampled_from(SystemValue))
    if "CONTROL_POINT_COUNT" in opcode.name:
        d.count = draw(st.integers(0, 63))
    if opcode is Opcode.DCL_GLOBALFLAGS:
        d.flags = GlobalFlags(draw(st.integers(0, 0x1FF)))
    if opcode in (Opcode.DCL_CONSTANTBUFFER, Opcode.DCL_INTERFACE):
        d.dynamic = draw(st.booleans())
    if opcode is Opcode.DCL_CONSTANTBUFFER and sm51:
        d.count = draw(dwords)
    if opcode in (Opcode.DCL_RESOURCE, Opcode.DCL_UAV_TYPED):
        d.dimension, d.return_types = draw(st.sampled_from(Dimension)), draw(return_types)
    if opcode is Opcode.DCL_RESOURCE:
        d.sample_count = draw(st.integers(0, 127))
    if opcode.name.startswith("DCL_UAV"):
        d.uav_flags = UavFlags(draw(st.sampled_from([0, 1, 2, 3, *([0x80, 0x83] if "STRUCT" in opcode.name else [])])))
    if opcode.name.endswith("STRUCTURED"):
        d.stride = draw(dwords)
    if opcode is Opcode.DCL_INDEXABLETEMP:
        d.register, d.components = draw(dwords), draw(dwords)
    if opcode is Opcode.DCL_THREAD_GROUP:
        d.thread_group = draw(st.tuples(dwords, dwords, dwords))
    if opcode is Opcode.DCL_HS_MAX_TESSFACTOR:
        d.max_tess_factor = draw(st.floats(1.0, 64.0, width=32))
    if opcode in _FUNCTIONS:
        d.register = draw(dwords)
    if opcode in _FUNCTIONS[1:]:
        d.members, d.long_length = tuple(draw(st.lists(dwords, max_size=5))), draw(st.booleans())
    if opcode is Opcode.DCL_INTERFACE:
        d.call_sites, d.array_length = draw(dwords), draw(st.integers(0, 0xFFFF))
    return d


@st.composite
def custom_data(draw: st.DrawFn, classes: list[CustomDataClass]) -> tuple[CustomDataClass, bytes]:
    class_ = draw(st.sampled_from(classes))
    icb = class_ is CustomDataClass.IMMEDIATE_CONSTANT_BUFFER
    rows = draw(st.lists(st.tuples(dwords, dwords, dwords, dwords), min_size=icb, max_size=4))
    return class_, b"".join(struct.pack("<4I", *row) for row in rows)


@st.composite
def bodies(draw: st.DrawFn, sm51: bool, code: bool = True) -> tuple[list[Declaration], list[Instruction]]:
    declared = draw(st.lists(declarations(sm51), max_size=5))
    if draw(st.booleans()):
        class_, data = draw(custom_data(list(CustomDataClass)))
        declared.append(Declaration(Opcode.CUSTOMDATA, custom_class=class_, data=data))
    listed = draw(st.lists(instructions(), max_size=5)) if code else []
    if listed and draw(st.booleans()):
        others = [class_ for class_ in CustomDataClass if class_ is not CustomDataClass.IMMEDIATE_CONSTANT_BUFFER]
        class_, data = draw(custom_data(others))
        listed.append(Instruction(Opcode.CUSTOMDATA, custom_class=class_, data=data))
    return declared, listed


@st.composite
def programs(draw: st.DrawFn) -> Program:
    type_ = draw(st.sampled_from(ProgramType))
    tessellates = type_ in (ProgramType.HULL, ProgramType.DOMAIN)
    major, minor = draw(st.sampled_from([m for m in MODELS if m[0] == 5 or not tessellates]))
    sm51, hull = (major, minor) == (5, 1), type_ is ProgramType.HULL
    program = Program(type_, major, minor, *draw(bodies(sm51, code=not hull)))
    if hull:
        for kind in draw(st.lists(st.sampled_from([Opcode.HS_CONTROL_POINT_PHASE, Opcode.HS_FORK_PHASE,
                                                    Opcode.HS_JOIN_PHASE]), max_size=3)):
            program.phases.append(Phase(kind, *draw(bodies(sm51))))
    return program


@st.composite
def signatures(draw: st.DrawFn, streams: bool = False, precise: bool = False) -> Signature:
    names = st.sampled_from(["TEXCOORD", "COLOR", "SV_Position", "SV_Target", "SV_Depth", "A", "N2", "no", "Name"])
    elements = []
    for _ in range(draw(st.integers(0, 6))):
        elements.append(SignatureElement(
            draw(names), draw(st.one_of(small, dwords)),
            draw(st.sampled_from([value for value in D3DName if value < D3DName.TARGET])),
            draw(st.sampled_from(ComponentType)), draw(st.one_of(st.integers(0, 31), st.just(NO_REGISTER))),
            draw(st.integers(0, 15)), draw(st.integers(0, 15)), draw(st.integers(0, 3)) if streams else 0,
            draw(st.sampled_from(MinPrecision)) if precise else MinPrecision.DEFAULT,
        ))
    return Signature(elements)
