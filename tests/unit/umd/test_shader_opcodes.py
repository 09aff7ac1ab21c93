"""Every opcode of shader model 4 and 5 becomes a program that the hardware's checker accepts."""

from __future__ import annotations

import pytest

from umd.shader import translate as translation
from umd.shader.translate import ShaderError, translate
from wddm.dxbc.opcodes import (
    OPCODES,
    Dimension,
    GlobalFlags,
    Interpolation,
    Opcode,
    OpcodeGroup,
    OpcodeInfo,
    OperandKind,
    Primitive,
    ProgramType,
    RegisterType,
    ReturnType,
    SyncFlags,
    SystemValue,
    TessDomain,
    TessOutput,
    TessPartitioning,
    Topology,
    UavFlags,
    ValueType,
)
from wddm.dxbc.program import (
    Declaration,
    Instruction,
    Operand,
    Phase,
    Program,
    imm_double,
    imm_int,
    inp,
    null,
    out,
    register,
    sampler,
    stream,
    temp,
    texture,
    tgsm,
    uav,
)
from wddm.hw.isa import DeclarationKind, Op, ProgramFlag
from wddm.hw.isa_check import check

FLOAT4 = (ReturnType.FLOAT,) * 4
BUFFER_OPS = {"ld_raw": "raw", "ld_structured": "structured"}


def declarations(stage: ProgramType) -> list[Declaration]:
    found = [
        Declaration(Opcode.DCL_GLOBALFLAGS, flags=GlobalFlags.DOUBLE_PRECISION),
        Declaration(Opcode.DCL_CONSTANTBUFFER, register(RegisterType.CONSTANT_BUFFER, 0, 16)),
        Declaration(Opcode.DCL_SAMPLER, sampler(0)),
        Declaration(Opcode.DCL_RESOURCE, texture(0, ""), dimension=Dimension.TEXTURE2D, return_types=FLOAT4),
        Declaration(Opcode.DCL_RESOURCE, texture(1, ""), dimension=Dimension.TEXTURE2DMS, return_types=FLOAT4),
        Declaration(Opcode.DCL_RESOURCE_RAW, texture(2, "")),
        Declaration(Opcode.DCL_RESOURCE_STRUCTURED, texture(3, ""), stride=16),
        Declaration(Opcode.DCL_TEMPS, count=8),
    ]
    if stage in (ProgramType.PIXEL, ProgramType.COMPUTE):
        found += [
            Declaration(Opcode.DCL_UAV_TYPED, uav(0, ""), dimension=Dimension.TEXTURE2D, return_types=FLOAT4),
            Declaration(Opcode.DCL_UAV_RAW, uav(1, "")),
            Declaration(Opcode.DCL_UAV_STRUCTURED, uav(2, ""), stride=16, uav_flags=UavFlags.NONE),
        ]
    if stage is ProgramType.PIXEL:
        found.append(Declaration(Opcode.DCL_INPUT_PS, inp(1, mask="xyzw"), interpolation=Interpolation.LINEAR))
        found.append(Declaration(Opcode.DCL_OUTPUT, out(0)))
    if stage is ProgramType.VERTEX:
        found.append(Declaration(Opcode.DCL_INPUT, inp(1, mask="xyzw")))
        found.append(Declaration(Opcode.DCL_OUTPUT, out(0)))
    if stage is ProgramType.GEOMETRY:
        found += [
            Declaration(Opcode.DCL_INPUTPRIMITIVE, primitive=Primitive.TRIANGLE),
            Declaration(Opcode.DCL_OUTPUTTOPOLOGY, topology=Topology.TRIANGLESTRIP),
            Declaration(Opcode.DCL_MAXOUT, count=3),
            Declaration(Opcode.DCL_INPUT, inp(3, 1, mask="xyzw")),
            Declaration(Opcode.DCL_OUTPUT, out(0)),
        ]
    if stage is ProgramType.COMPUTE:
        found += [
            Declaration(Opcode.DCL_THREAD_GROUP, thread_group=(8, 8, 1)),
            Declaration(Opcode.DCL_TGSM_RAW, tgsm(0, ""), count=256),
            Declaration(Opcode.DCL_TGSM_STRUCTURED, tgsm(1, ""), stride=16, count=8),
        ]
    return found


def operand(info: OpcodeInfo, role: str, kind: OperandKind, type: ValueType, place: int) -> Operand:
    structured = "index" in info.roles
    if kind is OperandKind.DST:
        if info.result is ValueType.DOUBLE:
            return temp(place, mask="xyzw")
        return temp(place, mask="xy") if any(t is ValueType.DOUBLE for t in info.types) else temp(place, mask="xyzw")
    if kind is OperandKind.RESOURCE:
        return texture(1 if "ld_ms" in info.mnemonic else 0, "yxwz")
    if kind is OperandKind.RESOURCE_OR_UAV:
        return texture(3 if info.mnemonic == "bufinfo" else 0)
    if kind is OperandKind.RESOURCE_OR_RASTERIZER:
        return texture(1)
    if kind is OperandKind.MEMORY:
        return texture(3 if structured else 2, "zyxx")
    if kind is OperandKind.UAV:
        number = 2 if info.mnemonic in ("imm_atomic_alloc", "imm_atomic_consume") else 0
        return uav(number, mask="xyzw") if info.mnemonic.startswith("store") else uav(number)
    if kind is OperandKind.UAV_OR_SHARED:
        if info.mnemonic.startswith("store"):
            return uav(2 if structured else 1, mask="xyz")
        return uav(2, "")
    if kind is OperandKind.SAMPLER:
        return sampler(0, "y" if info.mnemonic.startswith("gather4") else "")
    if kind is OperandKind.INPUT:
        return inp(1, swizzle="wzyx")
    if kind is OperandKind.STREAM:
        return stream(0)
    if type is ValueType.DOUBLE:
        return temp(4, "zwxy") if place % 2 else imm_double(1.5, -2.0)
    if place == 1 and type is ValueType.FLOAT:
        return abs(temp(0, "wzyx"))
    return -temp(0, "yzwx") if type in (ValueType.FLOAT, ValueType.INT) else temp(5, "yzwx")


def stage_of(info: OpcodeInfo) -> ProgramType:
    if info.group in (OpcodeGroup.ATOMIC, OpcodeGroup.MEMORY):
        return ProgramType.COMPUTE
    for stage in (ProgramType.PIXEL, ProgramType.GEOMETRY, ProgramType.COMPUTE):
        if stage in info.stages:
            return stage
    return ProgramType.VERTEX


PLAIN = [
    info
    for info in OPCODES.values()
    if info.group not in (OpcodeGroup.DECLARATION, OpcodeGroup.RESERVED, OpcodeGroup.PHASE, OpcodeGroup.FLOW, OpcodeGroup.DATA)
    and "_cl_s" not in info.mnemonic
]


@pytest.mark.parametrize("info", PLAIN, ids=lambda i: i.mnemonic)
def test_every_opcode_translates(info: OpcodeInfo) -> None:
    stage = stage_of(info)
    operands = [
        operand(info, role, kind, type, place)
        for place, (role, kind, type) in enumerate(zip(info.roles, info.kinds, info.types, strict=True))
    ]
    i = Instruction(info.opcode, operands, saturate=info.saturate)
    program = Program(stage, 5, 0, declarations(stage), [i, *keep_alive(stage), Instruction(Opcode.RET)])
    shader = translate(program)
    check(shader)
    assert len(shader.instructions) >= 1


def keep_alive(stage: ProgramType) -> list[Instruction]:
    """Stores of every register, so that nothing is dropped as dead."""
    if stage is ProgramType.COMPUTE:
        return [
            Instruction(Opcode.STORE_RAW, [uav(1, mask="xyzw"), imm_int(n * 16), temp(n)]) for n in range(4)
        ]
    if stage is ProgramType.GEOMETRY:
        return [Instruction(Opcode.MOV, [out(0), temp(0)]), Instruction(Opcode.EMIT)]
    total = [Instruction(Opcode.ADD, [temp(0, mask="xyzw"), temp(0), temp(n)]) for n in range(1, 4)]
    return [*total, Instruction(Opcode.MOV, [out(0), temp(0)])]


def test_nothing_is_left_out() -> None:
    assert translation.unhandled() == []


def test_lod_clamp_feedback_is_refused() -> None:
    info = OPCODES[Opcode.SAMPLE_CL_S]
    operands = [temp(0, mask="xyzw"), null(), temp(0), texture(0), sampler(0), temp(1, "x")]
    program = Program(ProgramType.PIXEL, 5, 0, declarations(ProgramType.PIXEL), [Instruction(info.opcode, operands)])
    with pytest.raises(ShaderError, match="tiled resources"):
        translate(program)


@pytest.mark.parametrize("flags", [SyncFlags.UAV_GLOBAL, SyncFlags.SHARED_MEMORY | SyncFlags.THREADS_IN_GROUP])
def test_sync(flags: SyncFlags) -> None:
    program = Program(
        ProgramType.COMPUTE, 5, 0, declarations(ProgramType.COMPUTE), [Instruction(Opcode.SYNC, sync_flags=flags)]
    )
    shader = translate(program)
    check(shader)
    assert shader.instructions["aux"].tolist() == [int(flags)]


def test_hull_phases_become_two_entries() -> None:
    point = Phase(
        Opcode.HS_CONTROL_POINT_PHASE,
        [
            Declaration(Opcode.DCL_INPUT, inp(3, 0, mask="xyzw")),
            Declaration(Opcode.DCL_OUTPUT, out(0)),
            Declaration(Opcode.DCL_TEMPS, count=1),
        ],
        [
            Instruction(
                Opcode.MOV,
                [out(0), inp(0, 0)],
            ),
            Instruction(Opcode.RET),
        ],
    )
    fork = Phase(
        Opcode.HS_FORK_PHASE,
        [
            Declaration(Opcode.DCL_HS_FORK_PHASE_INSTANCE_COUNT, count=3),
            Declaration(Opcode.DCL_OUTPUT_SIV, out(0, "x"), system_value=SystemValue.FINAL_TRI_U_EQ_0_EDGE_TESSFACTOR),
            Declaration(Opcode.DCL_OUTPUT_SIV, out(1, "x"), system_value=SystemValue.FINAL_TRI_V_EQ_0_EDGE_TESSFACTOR),
            Declaration(Opcode.DCL_OUTPUT_SIV, out(2, "x"), system_value=SystemValue.FINAL_TRI_W_EQ_0_EDGE_TESSFACTOR),
            Declaration(Opcode.DCL_TEMPS, count=1),
        ],
        [
            Instruction(
                Opcode.MOV, [temp(0, mask="x"), register(RegisterType.INPUT_FORK_INSTANCE_ID, components=1)]
            ),
            Instruction(Opcode.UTOF, [out(0, "x"), register(RegisterType.INPUT_FORK_INSTANCE_ID, components=1)]),
            Instruction(Opcode.RET),
        ],
    )
    program = Program(
        ProgramType.HULL,
        5,
        0,
        [
            Declaration(Opcode.DCL_INPUT_CONTROL_POINT_COUNT, count=3),
            Declaration(Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT, count=3),
            Declaration(Opcode.DCL_TESSELLATOR_DOMAIN, tess_domain=TessDomain.TRI),
            Declaration(Opcode.DCL_TESSELLATOR_PARTITIONING, tess_partitioning=TessPartitioning.INTEGER),
            Declaration(Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE, tess_output=TessOutput.TRIANGLE_CW),
        ],
        [],
        [point, fork],
    )
    shader = translate(program)
    check(shader)
    assert shader.patch_entry == 5  # four loads into outputs and RET
    assert len(shader.instructions) == 5 + 3 + 1


def test_hull_without_a_control_point_phase_passes_through() -> None:
    fork = Phase(
        Opcode.HS_FORK_PHASE,
        [
            Declaration(Opcode.DCL_OUTPUT_SIV, out(0, "x"), system_value=SystemValue.FINAL_LINE_DETAIL_TESSFACTOR),
            Declaration(Opcode.DCL_INPUT, register(RegisterType.INPUT_CONTROL_POINT, 2, 0, mask="x")),
        ],
        [
            Instruction(Opcode.MOV, [out(0, "x"), register(RegisterType.OUTPUT_CONTROL_POINT, 1, 0, select="x")]),
            Instruction(Opcode.RET),
        ],
    )
    declarations = [
        Declaration(Opcode.DCL_INPUT_CONTROL_POINT_COUNT, count=2),
        Declaration(Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT, count=2),
        Declaration(Opcode.DCL_TESSELLATOR_DOMAIN, tess_domain=TessDomain.ISOLINE),
        Declaration(Opcode.DCL_TESSELLATOR_PARTITIONING, tess_partitioning=TessPartitioning.POW2),
        Declaration(Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE, tess_output=TessOutput.LINE),
    ]
    program = Program(ProgramType.HULL, 5, 0, declarations, [], [fork])
    shader = translate(program, signature=[translation.SignatureElement(0, 15), translation.SignatureElement(1, 3)])
    check(shader)
    assert shader.flags & ProgramFlag.PASS_THROUGH
    assert shader.patch_entry == 0
    outputs = shader.declarations[shader.declarations["kind"] == DeclarationKind.OUTPUT]
    assert outputs["index"].tolist() == [0, 1]
    assert shader.instructions["op"].tolist() == [Op.LOAD_INPUT, Op.RET]
