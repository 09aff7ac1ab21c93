"""Encodings that the format fixes, dword by dword, and what the decoder refuses."""

from __future__ import annotations

import struct

import pytest

from wddm.dxbc import DxbcError
from wddm.dxbc.assembler import assemble_program
from wddm.dxbc.opcodes import OPCODES, Opcode, OpcodeGroup, ProgramType, RegisterType
from wddm.dxbc.program import (
    Declaration,
    Index,
    Instruction,
    Program,
    cb,
    imm,
    imm_double,
    imm_int,
    instruction,
    out,
    sampler,
    temp,
    texture,
    uav,
)
from wddm.dxbc.tokens import decode, encode, version_token
from wddm.dxbc.usage import input_usage


def words(text: str, profile: str = "ps_5_0") -> list[int]:
    """Dwords of a statement, version and length left out."""
    payload = encode(assemble_program(f"{profile}\n{text}"))
    return list(struct.unpack(f"<{len(payload) // 4}I", payload))[2:]


@pytest.mark.parametrize(
    ("type_", "model", "token"),
    [
        (ProgramType.PIXEL, (5, 0), 0x00000050),
        (ProgramType.VERTEX, (4, 0), 0x00010040),
        (ProgramType.COMPUTE, (5, 0), 0x00050050),
        (ProgramType.HULL, (5, 1), 0x00030051),
    ],
)
def test_version_token(type_: ProgramType, model: tuple[int, int], token: int) -> None:
    assert version_token(type_, *model) == token
    assert encode(Program(type_, *model))[:4] == struct.pack("<I", token)


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("sync_g", 0x010010BE),
        ("sync_g_t", 0x010018BE),
        ("sync_uglobal", 0x010040BE),
        ("sync_uglobal_t", 0x010048BE),
        ("sync_uglobal_g", 0x010050BE),
        ("sync_uglobal_g_t", 0x010058BE),
    ],
)
def test_sync(text: str, token: int) -> None:
    assert words(text, "cs_5_0") == [token]


def test_texture_tokens_of_a_sample() -> None:
    encoded = words("sample_indexable(texture2d)(float,float,float,float) r0.xyzw, v1.xyxx, t0.xyzw, s0")
    assert encoded == [
        0x8B000045, 0x800000C2, 0x00155543, 0x001000F2, 0, 0x00101046, 1, 0x00107E46, 0, 0x00106000, 0,
    ]


def test_texel_offsets_are_four_bit_twos_complement() -> None:
    assert words("sample_aoffimmi(-1,7,-8) r0.xyzw, v1.xyxx, t0.xyzw, s0")[1] == 1 | 15 << 9 | 7 << 13 | 8 << 17


def test_declarations() -> None:
    assert words("dcl_globalFlags refactoringAllowed") == [0x0100086A]
    assert words("dcl_constantbuffer CB0[4], immediateIndexed") == [0x04000059, 0x00208E46, 0, 4]
    assert words("dcl_constantbuffer CB1[2], dynamicIndexed") == [0x04000859, 0x00208E46, 1, 2]
    assert words("dcl_sampler s0, mode_default") == [0x0300005A, 0x00106000, 0]
    assert words("dcl_resource_texture2d (float,float,float,float) t0") == [0x04001858, 0x00107000, 0, 0x5555]
    assert words("dcl_uav_typed_buffer (uint,uint,uint,uint) u1") == [0x0400089C, 0x0011E000, 1, 0x4444]
    assert words("dcl_temps 3") == [0x02000068, 3]
    assert words("dcl_input_ps linear v1.xy") == [0x03001062, 0x00101032, 1]
    assert words("dcl_input_ps_siv linear noperspective v0.xy, position") == [0x04002064, 0x00101032, 0, 1]
    assert words("dcl_output_siv o0.xyzw, position", "vs_5_0") == [0x04000067, 0x001020F2, 0, 1]
    assert words("dcl_thread_group 8, 4, 1", "cs_5_0") == [0x0400009B, 8, 4, 1]
    assert words("dcl_input vForkInstanceID", "hs_5_0\nhs_decls\nhs_fork_phase")[2:] == [0x0200005F, 0x00017002]


def test_register_range_of_model_5_1() -> None:
    assert words("dcl_resource_texture2d (float,float,float,float) T1[3:*], space=2", "ps_5_1") == [
        0x07001858, 0x00307000, 1, 3, 0xFFFFFFFF, 0x5555, 2,
    ]
    assert words("dcl_constantbuffer CB0[1:1][4], immediateIndexed, space=5", "ps_5_1") == [
        0x07000059, 0x00308E46, 0, 1, 1, 4, 5,
    ]


def test_instructions() -> None:
    assert words("mov o0.xyzw, l(1.0, 0, 0, -1.0)") == [
        0x08000036, 0x001020F2, 0, 0x00004002, 0x3F800000, 0, 0, 0xBF800000,
    ]
    assert words("mad_sat r0.xyz, -|r1.xyzx|, cb0[r2.x + 3].xyzw, l(1.0)") == [
        0x0D002032, 0x00100072, 0, 0x80100246, 0x000000C1, 1, 0x06208E46, 0, 3, 0x0010000A, 2, 0x00004001, 0x3F800000,
    ]
    assert words("ret") == [0x0100003E]
    assert words("if_nz r0.x") == [0x0304001F, 0x0010000A, 0]
    assert words("if_z r0.x") == [0x0300001F, 0x0010000A, 0]
    assert words("resinfo_uint r0.xy, l(0), t0.xyzw")[0] == 0x0700103D
    assert words("imul null, r0.x, r1.x, l(-1)") == [
        0x08000026, 0x0000D000, 0x00100012, 0, 0x0010000A, 1, 0x00004001, 0xFFFFFFFF,
    ]


def test_relative_index_with_and_without_an_immediate() -> None:
    assert words("mov r0.x, x0[2].x")[3:] == [0x0020300A, 0, 2]
    assert words("mov r0.x, x0[r1.x].x")[3:] == [0x0420300A, 0, 0x0010000A, 1]
    assert words("mov r0.x, x0[r1.x + 0].x")[3:] == [0x0620300A, 0, 0, 0x0010000A, 1]


def test_customdata_length_counts_its_two_leading_dwords() -> None:
    assert words("dcl_immediateConstantBuffer { {1.0, 0, 0, 0}, {0, 1, 2, 3} }") == [
        0x00001835, 10, 0x3F800000, 0, 0, 0, 0, 1, 2, 3,
    ]


def test_constructors_write_what_the_listing_reads() -> None:
    built = Program(ProgramType.PIXEL, 5, 0, [], [
        instruction(Opcode.MAD, temp(0, mask="xyz"), -abs(temp(1, "xyzx")), cb(0, Index(3, temp(2, "x"))), imm(1.0),
                    saturate=True),
        instruction(Opcode.SAMPLE, temp(1, mask="x"), temp(0, "xyxx"), texture(3, "yyyy"), sampler(2)),
        instruction(Opcode.GATHER4, temp(1, mask="xyzw"), temp(0, "xyxx"), texture(3), sampler(2, "y")),
        instruction(Opcode.IMM_ATOMIC_IADD, temp(0, mask="x"), uav(1, ""), temp(0, "x"), imm_int(-1)),
        instruction(Opcode.DADD, temp(0, mask="xy"), temp(0, "xyxy"), imm_double(1.5)),
        instruction(Opcode.MOV, out(0), imm(0.0, 0.5, 1.0, float("inf"))),
        instruction(Opcode.BREAKC, temp(0, "w"), test_nonzero=True),
    ])
    assert built == assemble_program("""
        ps_5_0
        mad_sat r0.xyz, -|r1.xyzx|, cb0[r2.x + 3].xyzw, l(1.0)
        sample r1.x, r0.xyxx, t3.yyyy, s2
        gather4 r1.xyzw, r0.xyxx, t3.xyzw, s2.y
        imm_atomic_iadd r0.x, u1, r0.x, l(-1)
        dadd r0.xy, r0.xyxy, d(1.5l)
        mov o0.xyzw, l(0, 0.5, 1.0, inf)
        breakc_nz r0.w
    """)


def test_the_table_knows_every_number() -> None:
    assert len(OPCODES) == 235 == len(Opcode)
    assert [int(opcode) for opcode in OPCODES] == list(range(235))
    assert sum(info.group is OpcodeGroup.RESERVED for info in OPCODES.values()) == 4
    assert [int(type_) for type_ in RegisterType] == list(range(43))


def _payload(*tokens: int, version: int = 0x50) -> bytes:
    return struct.pack(f"<{len(tokens) + 2}I", version, len(tokens) + 2, *tokens)


@pytest.mark.parametrize(
    ("payload", "message", "offset"),
    [
        (b"", "at least a version", 0),
        (b"\x50\x00\x00", "not a whole number of dwords", 0),
        (struct.pack("<2I", 0x50, 3), "length token says 3 dwords", 4),
        (_payload(version=0x60050), "names no program type", 0),
        (_payload(version=0x60), "shader model 6.0", 0),
        (_payload(version=0x30040), "hs programs need shader model 5", 0),
        (_payload(0x0100003E, version=0x30050), "begins with hs_decls", 8),
        (_payload(0x010000EB), "opcode 235 does not exist", 8),
        (_payload(0x0100006B), "opcode 107 is reserved", 8),
        (_payload(0x0000003E), "length of 0 dwords", 8),
        (_payload(0x0200003E), "length of 2 dwords, 1 are left", 8),
        (_payload(0x0101003E), "reserved bits", 8),
        (_payload(0x0200003E, 0), "1 dwords longer than its operands", 12),
        (_payload(0x03000036, 0x00100012, 0), "ends where an operand should be", 20),
        (_payload(0x05000036, 0x00100012, 0, 0x0012B00A, 0), "register type 43", 20),
        (_payload(0x05000036, 0x00100013, 0, 0x0010000A, 0), "N components", 12),
        (_payload(0x0500001E, 0x00100012, 0, 0x0050000A, 0), "64-bit register indices", 20),
        (_payload(0x05000036, 0x00100012, 0, 0x8010000A, 0x00000002), "kind 2 does not exist", 24),
        (_payload(0x85000036, 0x00000001, 0x00100012, 0, 0x0010000A), "cannot have extended opcode tokens", 8),
        (_payload(0x0100003E, 0x02000068, 1), "behind the first instruction", 12),
        (_payload(0x00001835, 3, 0), "not one or more vec4s", 8),
        (_payload(0x00001835, 9, 0), "custom data has a length of 9", 8),
        (_payload(0x02000098, 0x7FC00000), "not within 1 and 64", 12),
        (_payload(0x04000064, 0x00101032, 0, 99), "system value 99", 20),
        (_payload(0x03003858, 0x00107000, 0), "ends before its return types", 16),
        (_payload(0x0200005F, 0x0010100E), "selection mode 3", 12),
    ],
)
def test_refusals_name_the_place(payload: bytes, message: str, offset: int) -> None:
    with pytest.raises(DxbcError, match=message) as caught:
        decode(payload)
    assert caught.value.offset == offset


def test_relative_indices_nest_only_so_deep() -> None:
    operand = temp(0, "x")
    for _ in range(4):
        operand = cb(0, Index(0, operand), "x")
    with pytest.raises(DxbcError, match="nest deeper"):
        encode(Program(ProgramType.PIXEL, 5, 0, [], [instruction(Opcode.MOV, temp(0, mask="x"), operand)]))


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Instruction(Opcode.ADD, [temp(0, mask="x")]), "takes 3 operands"),
        (Instruction(Opcode.IADD, [temp(0, mask="x")] * 3, saturate=True), "cannot saturate"),
        (Instruction(Opcode.RET, test_nonzero=True), "modifier that the opcode does not take"),
        (Instruction(Opcode.DCL_TEMPS), "no instruction"),
        (Instruction(Opcode.LD, [temp(0, mask="x")] * 3, texel_offset=(8, 0, 0)), "not within -8 and 7"),
        (Declaration(Opcode.DCL_INPUT), "no operand"),
        (Declaration(Opcode.DCL_TEMPS, count=-1), "does not fit a dword"),
        (Declaration(Opcode.DCL_RESOURCE, texture(0, "")), "no return types"),
        (Declaration(Opcode.ADD), "is no declaration"),
    ],
)
def test_what_cannot_be_written_is_named(part: Instruction | Declaration, message: str) -> None:
    program = Program(ProgramType.PIXEL)
    (program.instructions if isinstance(part, Instruction) else program.declarations).append(part)  # type: ignore[arg-type]
    with pytest.raises(DxbcError, match=message) as caught:
        encode(program)
    assert caught.value.where is part


def test_long_declarations_write_their_length_apart() -> None:
    program = Program(ProgramType.PIXEL, 5, 0, [Declaration(Opcode.DCL_FUNCTION_TABLE, members=tuple(range(200)))])
    payload = encode(program)
    assert struct.unpack_from("<2I", payload, 8) == (Opcode.DCL_FUNCTION_TABLE, 204)
    assert decode(payload) == program


def test_usage_follows_swizzles_and_opcodes() -> None:
    program = assemble_program("""
        ps_5_0
        dcl_resource_texture2darray (float,float,float,float) t0
        dp2 r0.x, v0.wyzz, v1.xyzw
        sample r0.xyzw, v2.zyxw, t0.xyzw, s0
        mov r0.y, v3.x
        add r0.xz, v4.xyzw, cb0[0].xyzw
        dtof r0.x, v5.xyzw
    """)
    usage = input_usage(program)
    read = {register: mask for (type_, register), mask in usage.items() if type_ is RegisterType.INPUT}
    assert read == {0: 0b1010, 1: 0b0011, 2: 0b0111, 3: 0b0001, 4: 0b0101, 5: 0b0011}
