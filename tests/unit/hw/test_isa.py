"""The shader instruction set: text to binary and back, and what the checker refuses."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wddm.hw.isa import DECLARATION, HEADER_SIZE, INSTRUCTION, IsaError, Op, ShaderProgram
from wddm.hw.isa_check import SIGNATURES, check
from wddm.hw.isa_text import assemble, disassemble

PIXEL = """
pixel temps=16
input 0 xyzw sv=POSITION interp=LINEAR_NOPERSPECTIVE
input 1 xy interp=LINEAR
output 0 xyzw sv=TARGET
resource 0 TEXTURE2D
resource 1 TEXTURECUBE array
sampler 0
array 3 8
mov r0, v1.x
mov r1, -|v1.y|
fmad.sat r2, r0, c0[5], 1.5
sample r4, r0 t0 s0 mask=xyz offset=1,-1,0
sample_bias r8, r0, 2.0 t1 s0
loop
  if.z r2
    break 1
  else
    continue 1
  endif
endloop
store_array 1, r2 3
discard r2
gather4_offset r4, r0, r2 t0 s0 component=y
resinfo r4, 0 t0 control=2
mov o0.x, r4
mov o0.w, $POSITION_Z
"""

COMPUTE = """
compute temps=24 group=8,4,2 shared_bytes=64
uav 0 STRUCTURED_BUFFER stride=16 counter
uav 1 RAW_BUFFER
uav 2 TEXTURE2D
icb 1.0 2 0xffffffff
dadd r0, l0, r2
uav_counter_inc r4 u0
uav_atomic r5, r4, 0, 1 u0 atomic=ADD
uav_atomic _, r4, _, 1, 2 u1 atomic=COMPARE_EXCHANGE
uav_atomic _, r4, _, 1 u2 atomic=UMAX
uav_store r4, r8 u2
uav_store_raw 4, r8 u1 mask=xy
shared_atomic r5, 0, 1 atomic=EXCHANGE
barrier 3
load_icb r5, $ID_IN_GROUP_FLAT
"""


@pytest.mark.parametrize("text", [PIXEL, COMPUTE])
def test_text_binary_text(text: str) -> None:
    program = assemble(text)
    check(program)
    again = assemble(disassemble(program))
    assert again.to_bytes() == program.to_bytes()
    assert ShaderProgram.from_bytes(program.to_bytes()).to_bytes() == program.to_bytes()


def test_every_operation_has_a_signature() -> None:
    assert set(SIGNATURES) == set(Op)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("mov r16, r0", "instruction 0 MOV: destination beyond temp_count"),
        ("mov r0, r16", "source a beyond temp_count"),
        ("dadd r15, r0, r0", "destination beyond temp_count"),
        ("dadd r0, r15, r0", "source a beyond temp_count"),
        ("mov r0, l9", "beyond the literals"),
        ("mov r0, v7.x", "input register that is not declared"),
        ("mov o3.x, r0", "output register that is not declared"),
        ("mov r0, $VERTEX_ID", "system register of another stage"),
        ("mov r0, c15[0]", "no constant"),
        ("iadd r0, |r1|, r2", "absolute value of integer"),
        ("ieq.sat r0, r1, r2", "SATURATE"),
        ("feq.sat r0, r1, r2", "SATURATE"),
        ("mov.z r0, r1", "TEST_ZERO"),
        ("load_array r0, r1 4", "no such array"),
        ("sample r0, r0 t5 s0", "not declared"),
        ("sample r13, r0 t0 s0", "destination beyond temp_count"),
        ("sample r0, r15 t0 s0", "source a beyond temp_count"),
        ("sample r0, 1.0 t0 s0", "no TEMP"),
        ("sample r0, -r0 t0 s0", "modifier on vector"),
        ("sample r0, r13 t1 s0", "source a beyond temp_count"),
        ("sample r0, r0 t1 s0 offset=1,0,0", "offsets in a cube"),
        ("load_raw r0, r0 t0", "no raw buffer"),
        ("bufinfo r0 t0", "no buffer"),
        ("emit 0", "not in a pixel program"),
        ("barrier 2", "only the global barrier"),
        ("if r0", "instruction 1: IF is not closed"),
        ("endif", "closes what is not open"),
        ("else", "no IF"),
        ("break 1", "leaves 1 of 0 levels"),
        ("load_input r0, 0, 1", "no array"),
    ],
)
def test_refusals_name_the_record(line: str, why: str) -> None:
    head = PIXEL.split("mov")[0]
    with pytest.raises(IsaError) as caught:
        check(assemble(head + line))
    assert why in str(caught.value)


def test_flow_refusals() -> None:
    head = "compute temps=4\n"
    for body, why in (
        ("loop\nblock\nbreak 3\nendblock\nendloop", "leaves 3 of 2"),
        ("loop\nblock\ncontinue 1\nendblock\nendloop", "no loop"),
        ("if r0\nelse\nelse\nendif", "no IF"),
        ("loop\nif r0\nendloop\nendif", "closes what is not open"),
        ("if r0\n" * 257 + "endif\n" * 257, "nested deeper"),
    ):
        with pytest.raises(IsaError, match=why):
            check(assemble(head + body))
    check(assemble(head + "loop\nblock\ncontinue 2\nendblock\nendloop"))


@pytest.mark.parametrize(
    "text",
    [
        "compute group=1024,2,1",
        "vertex temps=16385",
        "compute shared_bytes=32769",
        "vertex shared_bytes=4",
        "geometry primitive=4 topology=5 max_vertices=3",
        "geometry primitive=3 topology=5 max_vertices=0",
        "hull primitive=0x300 topology=0x131",
        "compute\nuav 8 RAW_BUFFER",
        "vertex\nresource 128 TEXTURE2D",
        "vertex\nresource 0 STRUCTURED_BUFFER stride=6",
        "pixel\noutput 9 xyzw",
        "vertex\noutput 0 xyzw sv=CLIP_DISTANCE\noutput 1 xyzw sv=CULL_DISTANCE\noutput 2 x sv=CLIP_DISTANCE",
        "vertex\narray 0 16385",
        "vertex\narray 0 16000\narray 1 1000",
    ],
)
def test_headers_and_declarations(text: str) -> None:
    with pytest.raises(IsaError):
        check(assemble(text))


def test_assembler_names_the_line() -> None:
    for text in ("vertex\nfrobnicate r0", "vertex\nmov r0, q7", "vertex\nmov r0, r1, r2", "cube", "", "vertex x=1"):
        with pytest.raises(IsaError):
            assemble(text)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_garbage_is_refused_in_words(data: st.DataObject) -> None:
    """Any bits give IsaError or a program whose indices hold."""
    n = data.draw(st.integers(1, 6))
    program = ShaderProgram(data.draw(st.integers(0, 5)), temp_count=data.draw(st.integers(0, 64)))
    instructions = np.zeros(n, INSTRUCTION)
    instructions["op"] = data.draw(st.lists(st.sampled_from([*map(int, Op), 999, 65535]), min_size=n, max_size=n))
    word = st.one_of(st.integers(0, 2**32 - 1), st.builds(lambda k, i: k << 28 | i, st.integers(0, 7), st.integers(0, 70)))
    for field in ("dst", "aux", "aux2"):
        instructions[field] = data.draw(st.lists(st.one_of(st.just(0), word), min_size=n, max_size=n))
    instructions["src"] = np.array(data.draw(st.lists(st.one_of(st.just(0), word), min_size=4 * n, max_size=4 * n))).reshape(n, 4)
    program.instructions = instructions
    program.declarations = np.frombuffer(data.draw(st.binary(min_size=0, max_size=0)), DECLARATION)
    with contextlib.suppress(IsaError):
        check(program)


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    good = assemble(PIXEL).to_bytes()
    for candidate in (data, good[: len(data)], good[:HEADER_SIZE] + data + good[HEADER_SIZE + len(data) :]):
        with contextlib.suppress(IsaError):
            check(ShaderProgram.from_bytes(candidate))
