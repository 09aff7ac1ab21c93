"""Containers, their checksum, signatures, reflection and statistics."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.dxbc import listings
from tests.unit.dxbc import strategies as dx
from wddm.dxbc import Container, DxbcError, ShaderBlob, assemble
from wddm.dxbc.assembler import assemble_program
from wddm.dxbc.container import Chunk, checksum
from wddm.dxbc.opcodes import MinPrecision, ProgramType, SystemValue, TessDomain
from wddm.dxbc.reflection import (
    BaseType,
    BufferKind,
    ConstantBuffer,
    InputType,
    Reflection,
    ResourceBinding,
    ResourceReturn,
    ShaderType,
    TypeClass,
    TypeMember,
    Variable,
    VariableFlags,
    ViewDimension,
)
from wddm.dxbc.signature import (
    NO_REGISTER,
    ComponentType,
    D3DName,
    Signature,
    SignatureElement,
    semantic_system_value,
)
from wddm.dxbc.statistics import FeatureFlags, Statistics

_SHIFTS = [7, 12, 17, 22] * 4 + [5, 9, 14, 20] * 4 + [4, 11, 16, 23] * 4 + [6, 10, 15, 21] * 4
# The table of RFC 1321, written out: floor(2**32 * abs(sin(i + 1))).
_TABLE = [
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
]


def _md5_blocks(message: bytes) -> bytes:
    """MD5 without its padding, straight from the RFC's description, for whole blocks."""
    state = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476]
    for start in range(0, len(message), 64):
        block = struct.unpack_from("<16I", message, start)
        a, b, c, d = state
        for i in range(64):
            if i < 16:
                f, g = (b & c) | (~b & d), i
            elif i < 32:
                f, g = (d & b) | (~d & c), (5 * i + 1) % 16
            elif i < 48:
                f, g = b ^ c ^ d, (3 * i + 5) % 16
            else:
                f, g = c ^ (b | ~d & 0xFFFFFFFF), 7 * i % 16
            f = (f + a + _TABLE[i] + block[g]) % 2**32
            a, d, c, b = d, c, b, (b + ((f << _SHIFTS[i]) | (f >> (32 - _SHIFTS[i])))) % 2**32
        state = [(x + y) % 2**32 for x, y in zip(state, (a, b, c, d), strict=True)]
    return struct.pack("<4I", *state)


def _expected(body: bytes) -> bytes:
    bits, tail = len(body) * 8, len(body) % 64
    first, last = struct.pack("<I", bits % 2**32), struct.pack("<I", (bits % 2**32) >> 2 | 1)
    if tail >= 56:
        return _md5_blocks(body + b"\x80" + bytes(63 - tail) + first + bytes(56) + last)
    whole = body[: len(body) - tail]
    return _md5_blocks(whole + first + body[len(whole) :] + b"\x80" + bytes(55 - tail) + last)


@pytest.mark.parametrize("length", [0, 1, 12, 54, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 1000])
def test_checksum_in_both_tail_cases(length: int) -> None:
    body = bytes(i * 7 % 251 for i in range(length))
    assert checksum(bytes(20) + body) == _expected(body)


def test_checksum_skips_the_header_it_is_stored_in() -> None:
    data = bytearray(Container([Chunk("TEST", b"1234")]).to_bytes())
    assert data[4:20] == _expected(bytes(data[20:]))
    data[:20] = bytes(20)
    assert checksum(data) == _expected(bytes(data[20:]))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.text("ABCDEFGH", min_size=4, max_size=4), st.binary(max_size=20)), max_size=5))
def test_containers_come_back(chunks: list[tuple[str, bytes]]) -> None:
    container = Container([Chunk(tag, data) for tag, data in chunks])
    binary = container.to_bytes()
    assert Container.parse(binary) == container
    assert Container.parse(binary).to_bytes() == binary
    assert len(binary) % 4 == 0


def _resealed(data: bytes, at: int, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into("<I", changed, at, value)
    changed[4:20] = checksum(changed)
    return bytes(changed)


_TWO = Container([Chunk("AAAA", b"12345678"), Chunk("BBBB", b"1234")]).to_bytes()


@pytest.mark.parametrize(
    ("data", "message", "offset"),
    [
        (b"DXBC", "too few for a container", 0),
        (b"DXBD" + _TWO[4:], "begins with", 0),
        (_resealed(_TWO, 20, 2), "version 2", 20),
        (_TWO + b"\0\0\0\0", "says it has", 24),
        (_resealed(_TWO, 28, 0x10000000), "do not fit", 28),
        (_TWO[:4] + bytes(16) + _TWO[20:], "checksum is 0000", 4),
        (_resealed(_TWO, 32, 4), "chunk 0 cannot stand at byte 4", 32),
        (_resealed(_TWO, 36, 0xFFFFFFFC), "chunk 1 cannot stand", 36),
        (_resealed(_TWO, 44, 0xFFFFFFFF), "leaves the container", 44),
        (_resealed(_TWO, 36, 40), "overlap", 40),
    ],
)
def test_broken_containers_are_refused_in_words(data: bytes, message: str, offset: int) -> None:
    with pytest.raises(DxbcError, match=message) as caught:
        Container.parse(data)
    assert caught.value.offset == offset


def test_a_shader_is_code_and_signatures() -> None:
    binary = assemble("ps_4_0\n.out SV_Target0 o0.xyzw\ndcl_output o0.xyzw\nmov o0.xyzw, l(1.0)\nret")
    assert [chunk.tag for chunk in Container.parse(binary).chunks] == ["ISGN", "OSGN", "SHDR"]
    blob = ShaderBlob.parse(binary)
    assert blob.program.profile == "ps_4_0"
    assert blob.output_signature.elements[0].semantic == "SV_Target0"
    assert blob.to_bytes() == binary
    blob.extra.append(Chunk("PRIV", b"mine"))
    blob.sfi0 = FeatureFlags.DOUBLES.to_chunk()
    blob.stat = Statistics(instructions=2, movs=1).to_bytes(4)
    again = ShaderBlob.parse(blob.to_bytes())
    assert (again.features, again.statistics, again.extra) == (
        FeatureFlags.DOUBLES, Statistics(instructions=2, movs=1), [Chunk("PRIV", b"mine")],
    )


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([], "neither an SHEX nor an SHDR"),
        ([Chunk("DXIL", b"")], "DXIL"),
        ([Chunk("SHEX", b""), Chunk("SHDR", b"")], "say the same thing"),
        ([Chunk("SHEX", b""), Chunk("ISGN", b"1234")], "ISGN of 4 bytes"),
    ],
)
def test_what_is_no_shader(chunks: list[Chunk], message: str) -> None:
    with pytest.raises(DxbcError, match=message):
        ShaderBlob.parse(Container(chunks).to_bytes())


def test_signature_bytes() -> None:
    signature = Signature([
        SignatureElement("POSITION", 0, register=0, mask=7, rw_mask=3),
        SignatureElement("POSITION", 1, D3DName.POSITION, ComponentType.UINT32, NO_REGISTER, 0xF, 0),
    ])
    data = signature.to_bytes("ISGN")
    assert struct.unpack_from("<14I", data) == (
        2, 8, 56, 0, 0, 3, 0, 0x0307, 56, 1, 1, 1, 0xFFFFFFFF, 0x000F,
    )
    assert data[56:] == b"POSITION\0\xab\xab\xab"


@pytest.mark.parametrize("tag", ["ISGN", "OSGN", "PCSG", "OSG5", "ISG1", "OSG1", "PSG1"])
def test_signatures_come_back(tag: str) -> None:
    @settings(deadline=None, max_examples=20)
    @given(dx.signatures(tag not in ("ISGN", "OSGN", "PCSG"), tag.endswith("1")))
    def check(signature: Signature) -> None:
        data = signature.to_bytes(tag)
        assert Signature.parse(data, tag) == signature
        assert Signature.parse(data, tag).to_bytes(tag) == data

    check()


def test_signatures_refuse_what_a_layout_cannot_hold() -> None:
    for element, message in (
        (SignatureElement("A", stream=1), "stream"),
        (SignatureElement("A", min_precision=MinPrecision.FLOAT16), "min precision"),
        (SignatureElement("A", system_value=D3DName.TARGET), "never stored"),
        (SignatureElement("A B"), "cannot be a semantic name"),
        (SignatureElement("A", register=32), "cannot be stored"),
    ):
        with pytest.raises(DxbcError, match=message):
            Signature([element]).to_bytes("OSGN")


def test_system_values_depend_on_the_stage() -> None:
    value = semantic_system_value
    assert value("sv_position", 0, ProgramType.VERTEX, output=True) is D3DName.POSITION
    assert value("SV_Position", 0, ProgramType.VERTEX, output=False) is D3DName.UNDEFINED
    assert value("SV_InstanceID", 0, ProgramType.PIXEL, output=False) is D3DName.UNDEFINED
    assert value("SV_Target", 0, ProgramType.PIXEL, output=True) is D3DName.UNDEFINED
    assert value(
        "SV_TessFactor", 1, ProgramType.HULL, output=True, patch_constant=True, domain=TessDomain.QUAD
    ) is D3DName.FINAL_QUAD_EDGE_TESSFACTOR


def test_the_driver_counts_tessellation_factors_one_by_one() -> None:
    factors = [
        SignatureElement("SV_TessFactor", index, D3DName.FINAL_QUAD_EDGE_TESSFACTOR).token_system_value
        for index in range(4)
    ]
    assert factors == [SystemValue(number) for number in (11, 12, 13, 14)]
    inside = SignatureElement("SV_InsideTessFactor", 0, D3DName.FINAL_TRI_INSIDE_TESSFACTOR)
    assert inside.token_system_value is SystemValue.FINAL_TRI_INSIDE_TESSFACTOR
    assert SignatureElement("SV_Position", 0, D3DName.POSITION).token_system_value is SystemValue.POSITION
    assert SignatureElement("SV_Target", 3).reported_system_value is D3DName.TARGET


def _reflection(major: int, minor: int) -> Reflection:
    sm5 = major == 5
    name = (lambda text: text) if sm5 else (lambda text: "")
    float4 = ShaderType(TypeClass.VECTOR, BaseType.FLOAT, 1, 4, name=name("float4"))
    light = ShaderType(TypeClass.STRUCT, BaseType.VOID, 1, 5, 3, [
        TypeMember("color", float4, 0),
        TypeMember("power", ShaderType(name=name("float")), 16),
    ], name("Light"))
    extra = (7, 1, 2, 3) if sm5 else ()
    return Reflection(
        ProgramType.PIXEL, major, minor,
        [
            ConstantBuffer("Frame", [
                Variable("tint", 0, 16, float4, VariableFlags.USED, struct.pack("<4f", 1, 2, 3, 4), *extra),
                Variable("lights", 16, 92, light),
            ], 112),
            ConstantBuffer("$Globals", [], 0, 0, BufferKind.TBUFFER),
        ],
        [
            ResourceBinding("Frame", InputType.CBUFFER, bind_point=0),
            ResourceBinding(
                "albedo", InputType.TEXTURE, ResourceReturn.FLOAT, ViewDimension.TEXTURE2D, 0xFFFFFFFF, 3, 2,
                space=4 if (major, minor) == (5, 1) else 0,
            ),
        ],
        0x100, "the project's compiler",
    )


@pytest.mark.parametrize("model", [(4, 0), (4, 1), (5, 0), (5, 1)])
def test_reflection_comes_back(model: tuple[int, int]) -> None:
    reflection = _reflection(*model)
    data = reflection.to_bytes()
    again = Reflection.parse(data)
    assert again == reflection
    assert again.to_bytes() == data
    assert len(data) % 4 == 0
    assert again.find("albedo") == reflection.bindings[1]
    header = struct.unpack_from("<7I", data)
    assert (header[0], header[2], header[4]) == (2, 2, 0xFFFF0000 | model[0] << 8 | model[1])
    if model[0] == 5:
        assert data[28:32] == (b"RD11" if model[1] == 0 else b"\x13\x13\x44\x25")


def test_reflection_refuses_types_within_themselves() -> None:
    data = bytearray(_reflection(5, 0).to_bytes())
    reflection = Reflection.parse(bytes(data))
    assert reflection.buffers[0].variables[1].type.members[0].name == "color"
    looped = ShaderType(TypeClass.STRUCT, BaseType.VOID, name="Loop")
    looped.members.append(TypeMember("self", looped))
    reflection.buffers[0].variables[0].type = looped
    with pytest.raises(DxbcError, match="contains itself"):
        reflection.to_bytes()
    # Point the members of the structure at the structure.
    (buffers_at,) = struct.unpack_from("<I", data, 4)
    (variables_at,) = struct.unpack_from("<I", data, buffers_at + 8)
    (type_at,) = struct.unpack_from("<I", data, variables_at + 40 + 16)
    (members_at,) = struct.unpack_from("<I", data, type_at + 12)
    struct.pack_into("<I", data, members_at + 4, type_at)
    with pytest.raises(DxbcError, match="contains itself"):
        Reflection.parse(bytes(data))


def test_statistics_have_two_sizes() -> None:
    statistics = Statistics(instructions=9, texture_stores=2)
    assert len(statistics.to_bytes(5)) == 148
    assert Statistics.parse(statistics.to_bytes(5)) == statistics
    assert Statistics.parse(statistics.to_bytes(4)) == Statistics(instructions=9)
    with pytest.raises(DxbcError, match="STAT of 4 bytes"):
        Statistics.parse(bytes(4))


def test_statistics_count_a_program() -> None:
    counted = Statistics.of(assemble_program(listings.PIXEL))
    assert (counted.instructions, counted.temps, counted.temp_arrays, counted.array_ops) == (31, 3, 4, 2)
    assert (counted.texture_normal, counted.texture_compares, counted.texture_loads, counted.texture_stores) == (
        1, 1, 1, 1,
    )
    assert (counted.float_ops, counted.int_ops, counted.movs, counted.dynamic_flow) == (2, 2, 4, 4)
    tessellated = Statistics.of(assemble_program(listings.HULL))
    assert (tessellated.control_points, tessellated.tess_domain, tessellated.tess_partitioning) == (3, 2, 3)


def test_features_refuse_unknown_bits() -> None:
    assert FeatureFlags.parse(bytes([1, 0x20, 0, 0, 0, 0, 0, 0])) == (
        FeatureFlags.DOUBLES | FeatureFlags.VIEWPORT_AND_RT_ARRAY_INDEX_FROM_ANY_STAGE
    )
    with pytest.raises(DxbcError, match="unknown flags"):
        FeatureFlags.parse(bytes([0, 0x40, 0, 0, 0, 0, 0, 0]))
