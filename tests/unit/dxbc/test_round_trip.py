"""Bytes to program to bytes, program to text to program: nothing may be lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.dxbc import strategies as dx
from wddm.dxbc import ShaderBlob, assemble, disassemble
from wddm.dxbc.assembler import assemble_program
from wddm.dxbc.disassembler import format_float, format_program
from wddm.dxbc.opcodes import DECLARATIONS, Opcode, ProgramType
from wddm.dxbc.program import Declaration, Instruction, Phase, Program
from wddm.dxbc.tokens import decode, encode


def _both_ways(program: Program) -> None:
    payload = encode(program)
    assert decode(payload) == program
    assert encode(decode(payload)) == payload
    assert assemble_program(format_program(program)) == program


@settings(deadline=None, max_examples=150)
@given(dx.programs())
def test_any_program_survives_bytes_and_text(program: Program) -> None:
    _both_ways(program)


@pytest.mark.parametrize("opcode", dx.INSTRUCTIONS, ids=lambda opcode: opcode.name.lower())
def test_every_instruction_survives(opcode: Opcode) -> None:
    @settings(deadline=None, max_examples=5)
    @given(dx.instructions(opcode))
    def check(instruction: Instruction) -> None:
        _both_ways(Program(ProgramType.PIXEL, 5, 0, [], [instruction]))

    check()


@pytest.mark.parametrize("opcode", sorted(DECLARATIONS), ids=lambda opcode: opcode.name.lower())
def test_every_declaration_survives(opcode: Opcode) -> None:
    @settings(deadline=None, max_examples=8)
    @given(st.booleans().flatmap(lambda sm51: st.tuples(st.just(sm51), dx.declarations(sm51, opcode))))
    def check(drawn: tuple[bool, Declaration]) -> None:
        sm51, declaration = drawn
        _both_ways(Program(ProgramType.HULL, 5, int(sm51), [declaration], [], [Phase(Opcode.HS_FORK_PHASE)]))

    check()


@settings(deadline=None, max_examples=60)
@given(dx.programs(), st.data())
def test_a_whole_container_survives_its_listing(program: Program, data: st.DataObject) -> None:
    precise = data.draw(st.booleans())
    streams = program.type is ProgramType.GEOMETRY and program.major == 5
    patch = data.draw(st.one_of(st.none(), dx.signatures(precise=precise)))
    blob = ShaderBlob.build(
        program, data.draw(dx.signatures(precise=precise)), data.draw(dx.signatures(streams, precise)), patch
    )
    if data.draw(st.booleans()):
        blob.input_tag, blob.output_tag = "ISG1", "OSG1"
        blob.patch_constant_tag = "PSG1"
    binary = blob.to_bytes()
    assert ShaderBlob.parse(binary).program == program
    assert assemble(disassemble(binary), validate=False) == binary


@settings(deadline=None, max_examples=300)
@given(dx.dwords)
def test_floats_print_short_and_exactly(bits: int) -> None:
    text = format_float(bits)
    program = assemble_program(f"ps_5_0\nmov r0.x, l({text})")
    assert program.instructions[0].operands[1].values == (bits,)
    assert len(text) <= 15


def test_a_float_prints_its_shortest_form() -> None:
    assert [format_float(bits) for bits in (0x3F800000, 0x3DCCCCCD, 0xC0490FDB, 0x7F800000, 0x80000000)] == [
        "1.0", "0.1", "-3.1415927", "0x7f800000", "-0.0",
    ]
