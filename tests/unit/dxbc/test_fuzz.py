"""Whatever the bytes: a result or a DxbcError, nothing else; and what decodes can be printed, judged and kept."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.dxbc import strategies as dx
from wddm.dxbc import AssemblyError, DxbcError, ShaderBlob, assemble
from wddm.dxbc.assembler import assemble_program
from wddm.dxbc.container import Container
from wddm.dxbc.disassembler import disassemble, format_program
from wddm.dxbc.reflection import Reflection
from wddm.dxbc.signature import Signature
from wddm.dxbc.statistics import FeatureFlags, Statistics
from wddm.dxbc.tokens import decode, encode
from wddm.dxbc.validate import check


def _placed(error: DxbcError, data: bytes | None) -> None:
    """The error says where; within what was read (records of RDEF name the place they point to)."""
    assert error.offset is not None
    assert data is None or 0 <= error.offset <= len(data)


def _swallow(payload: bytes) -> None:
    try:
        program = decode(payload)
    except DxbcError as error:
        _placed(error, payload)
        return
    check(program)
    # Oddly ordered extended tokens and empty extended operand tokens are written back in their usual form.
    again = encode(program)
    assert decode(again) == program
    assert assemble_program(format_program(program)) == program


@st.composite
def mutations(draw: st.DrawFn, data: bytes, first: int = 0) -> bytes:
    """``data`` with some dwords replaced, bits flipped, cut out or doubled."""
    words = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        if len(words) <= first + 4:
            break
        at = draw(st.integers(first // 4, len(words) // 4 - 1)) * 4
        kind = draw(st.integers(0, 4))
        if kind == 0:
            words[at : at + 4] = struct.pack("<I", draw(dx.dwords))
        elif kind == 1:
            bit = draw(st.integers(0, 31))
            words[at + bit // 8] ^= 1 << bit % 8
        elif kind == 2:
            del words[at : at + 4]
        elif kind == 3:
            words[at:at] = words[at : at + 4]
        else:
            words[at] = draw(st.integers(0, 255))
    return bytes(words)


def _fix_length(payload: bytes) -> bytes:
    return payload[:4] + struct.pack("<I", len(payload) // 4) + payload[8:] if len(payload) >= 8 else payload


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=200))
def test_noise(data: bytes) -> None:
    _swallow(data)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from([0x50, 0x10040, 0x20050, 0x30050, 0x50051]), st.lists(dx.dwords, max_size=30))
def test_noise_behind_a_good_header(version: int, words: list[int]) -> None:
    _swallow(struct.pack(f"<{len(words) + 2}I", version, len(words) + 2, *words))


@settings(deadline=None, max_examples=300)
@given(dx.programs().flatmap(lambda program: mutations(encode(program), 8)))
def test_broken_programs(payload: bytes) -> None:
    _swallow(_fix_length(payload))


_SHADER = assemble(
    "ps_5_0\n.in TEXCOORD0 v0.xy\n.out SV_Target o0.xyzw\ndcl_sampler s0, mode_default\n"
    "dcl_resource_texture2d (float,float,float,float) t0\ndcl_input_ps linear v0.xy\ndcl_output o0.xyzw\n"
    "sample_indexable(texture2d)(float,float,float,float) o0.xyzw, v0.xyxx, t0.xyzw, s0\nret\n"
)


@settings(deadline=None, max_examples=200)
@given(mutations(_SHADER))
def test_broken_containers(data: bytes) -> None:
    for parse in (Container.parse, ShaderBlob.parse):
        try:
            parse(data, verify_checksum=False)
        except DxbcError as error:
            _placed(error, data)
    try:
        text = disassemble(data, verify_checksum=False)
    except DxbcError:
        return
    assert assemble(text, validate=False)


@settings(deadline=None, max_examples=200)
@given(st.one_of(st.binary(max_size=120), dx.signatures(True, True).map(lambda s: s.to_bytes("OSG1"))), st.data())
def test_broken_chunks(payload: bytes, data: st.DataObject) -> None:
    if payload and data.draw(st.booleans()):
        payload = data.draw(mutations(payload + bytes(-len(payload) % 4)))
    for tag in ("ISGN", "OSG5", "PSG1"):
        try:
            signature = Signature.parse(payload, tag)
        except DxbcError:
            continue
        assert Signature.parse(signature.to_bytes(tag), tag) == signature
    for parse in (Reflection.parse, Statistics.parse, FeatureFlags.parse):
        try:
            parse(payload)
        except DxbcError as error:
            _placed(error, None)


_LISTING = disassemble(_SHADER)
_FRAGMENTS = [
    "l(", ")", "{", "}", "[", "]", ".xyzw", ".q", "-", "|", ",", "r0", "v[3][0].x", "9" * 30, "0x", "\t", "dcl_", "sync_",
    "// Input signature:\n", "hs_decls", ".in A0 v0.x", "._", ".4:0xfff", "\u00e9", "\x00", "1e999", "d(1.0l)", "\n", "T0[0:*]",
]


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_broken_text(data: st.DataObject) -> None:
    text = _LISTING
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        end = min(len(text), at + data.draw(st.integers(0, 6)))
        text = text[:at] + data.draw(st.sampled_from(_FRAGMENTS)) + text[end:]
    try:
        assemble(text)
    except AssemblyError as error:
        lines = text.splitlines() or [""]
        for diagnostic in error.diagnostics:
            assert diagnostic.source == lines[diagnostic.line - 1]
            assert 1 <= diagnostic.column <= len(diagnostic.source) + 1
