"""Legal programs pass, every rule has a program that breaks it."""

from __future__ import annotations

import pytest

from tests.unit.dxbc import listings, strategies
from wddm.dxbc import AssemblyError, DxbcError, ShaderBlob, assemble, disassemble
from wddm.dxbc.assembler import assemble_program
from wddm.dxbc.opcodes import Opcode, ProgramType
from wddm.dxbc.program import Phase, Program
from wddm.dxbc.validate import check, validate


@pytest.mark.parametrize("name", listings.ALL)
def test_every_stage_passes_and_survives(name: str) -> None:
    binary = assemble(listings.ALL[name])
    validate(ShaderBlob.parse(binary).program)
    assert assemble(disassemble(binary)) == binary


@pytest.mark.parametrize("opcode", strategies.INSTRUCTIONS, ids=lambda opcode: opcode.name.lower())
def test_every_instruction_has_a_legal_program(opcode: Opcode) -> None:
    binary = assemble(listings.legal_program(opcode))
    program = ShaderBlob.parse(binary).program
    assert any(instruction.opcode is opcode for instruction in program.instructions)
    assert assemble(disassemble(binary)) == binary


_PS = """ps_5_0
dcl_constantbuffer CB0[4], immediateIndexed
dcl_sampler s0, mode_default
dcl_resource_texture2d (float,float,float,float) t0
dcl_resource_buffer (float,float,float,float) t1
dcl_resource_structured t2, 16
dcl_uav_typed_texture2d (float,float,float,float) u1
dcl_uav_structured u2, 16
dcl_input_ps linear v0.xy
dcl_input_ps linear v1.xy
dcl_indexRange v0.xy 2
dcl_output o0.xyz
dcl_temps 2
dcl_indexableTemp x0[4], 4
"""


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("mov r2.x, l(0)", "r2 is not declared, there are 2 temps"),
        ("mov r0.x, v2.x", "v2 is not declared"),
        ("mov r0.x, v[r0.x + 3].x", "v… lies in no declared index range"),
        ("mov o0.w, l(0)", "components of o0 that are not declared"),
        ("mov o1.x, l(0)", "o1 is not declared"),
        ("mov r0.x, x0[4].x", r"x0\[4\] is beyond its 4 elements"),
        ("mov r0.x, x1[0].x", "x1 is not declared"),
        ("mov r0.x, cb0[4].x", r"cb0\[4\] is beyond its 4 vec4s"),
        ("mov r0.x, cb0[r0.x].x", "declared immediateIndexed"),
        ("mov r0.x, cb1[0].x", r"cb1\[0\] is not declared"),
        ("mov r0.x, cb0.x", "cb0 takes 2 indices here, not 1"),
        ("mov r0.x, icb[0].x", "no immediate constant buffer"),
        ("mov r0.x, r0[r1.x].x", "takes 1 indices here, not 2"),
        ("mov r[r0.x].x, l(0)", "temps cannot be indexed"),
        ("mov r0.x, vThreadID.x", "vThreadID is not declared"),
        ("mov t0.x, l(0)", "operand d is t0, it must be a destination"),
        ("mov r0.x, o0.x", "operand a is o0, it must be a source"),
        ("mov null, r0.x", "only result goes to null"),
        ("mov -r0.x, r1.x", "a destination has no modifier"),
        ("mov r0._, r1.x", "writes no component"),
        ("mov r0.x, r1._", "names no component"),
        ("mov r0.x, r1.4:0xfc", "has a mask, no swizzle"),
        ("iadd r0.x, |r1.x|, r1.x", "cannot be made absolute"),
        ("mov r0.xy, d(1.0l)", "is a double literal"),
        ("dadd r0.xy, r0.xyxy, r1.xyxy", "needs the global flag"),
        ("mov r0.x, x0[r1.xy].x", "an index is one component"),
        ("mov r0.x, x0[-r1.x].x", "an index has no modifier"),
        ("mov r0.x, x0[l(1)].x", "a literal cannot be an index"),
        ("sample r0.xyzw, v0.xyxx, t3.xyzw, s0", "t3 is not declared"),
        ("sample r0.xyzw, v0.xyxx, t1.xyzw, s0", "cannot be read with sample"),
        ("sample r0.xyzw, v0.xyxx, t2.xyzw, s0", "t2 is not typed"),
        ("sample r0.xyzw, v0.xyxx, t0.xyzw, s1", "s1 is not declared"),
        ("sample_c r0.x, v0.xyxx, t0.xxxx, s0, l(0)", "no comparison sampler"),
        ("ld_ms r0.x, r0.xyxy, t0.xyzw, l(0)", "not multisampled"),
        ("ld_raw r0.x, l(0), t2.xyzw", "is not raw"),
        ("ld_structured r0.x, l(0), l(0), t0.xyzw", "is not structured"),
        ("store_uav_typed u1.xy, r0.xyyy, r1.xyzw", "stores all four components"),
        ("store_structured u2.xz, r0.x, l(0), r1.xyzw", "stores .x, .xy"),
        ("imm_atomic_alloc r0.x, u1", "has no counter"),
        ("imm_atomic_alloc r0.xy, u2", "one component"),
        ("imm_atomic_alloc r0.x, u2\nimm_atomic_consume r0.x, u2", "both appended to and consumed"),
        ("bufinfo r0.x, t0.xyzw", "is no buffer"),
        ("mov_sat r0.x, r1.x\nsync_g", "only sync_uglobal"),
        ("emit", "does not exist in ps programs"),
        ("if_nz r0.x", "if is never closed"),
        ("endif", "there is no open if"),
        ("loop\nif_nz r0.x\nendloop", "no open loop, the open block is a if"),
        ("if_nz r0.x\nelse\nelse\nendif", "no open if"),
        ("break", "outside of loop and switch"),
        ("switch r0.x\ncase l(0)\ncontinue\nendswitch", "outside of a loop"),
        ("case l(1)", "outside of a switch"),
        ("switch r0.x\nmov r0.x, r1.x\ncase l(1)\nbreak\nendswitch", "between switch and its first case"),
        ("switch r0.x\ncase l(1)\nmov r0.x, r1.x\ncase l(2)\nbreak\nendswitch", "falls through"),
        ("switch r0.x\ncase l(1)\ncase l(1)\nbreak\nendswitch", "two cases of 1"),
        ("switch r0.x\ndefault\ndefault\nbreak\nendswitch", "two defaults"),
        ("call l0", "does not exist"),
        ("call l0\nret\nlabel l0\ncall l0", "calls itself"),
        ("call l0\nret\nlabel l0\ncall l1\nret\nlabel l1\ncallc_nz r0.x, l0", "calls itself"),
        ("nop\nlabel l0", "behind the ret"),
        ("call l0\nret\nlabel l0\nret\nlabel l0", "defined twice"),
        ("if_nz r0.x\n" * 65 + "endif\n" * 65, "nest deeper than 64"),
        ("gather4_po r0.xyzw, v0.xyxx, r0.xyxx, t1.xyzw, s0.x", "cannot be read with gather4_po"),
    ],
)
def test_code_that_breaks_a_rule(code: str, message: str) -> None:
    with pytest.raises(AssemblyError, match=message):
        assemble(f"{_PS}{code}\nret")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ps_5_0\ndcl_constantbuffer CB15[1], immediateIndexed\nret", "slot 15 is beyond 14"),
        ("ps_5_0\ndcl_constantbuffer CB0[4097], immediateIndexed\nret", "4097 vec4s"),
        ("ps_5_0\ndcl_sampler s16, mode_default\nret", "slot 16 is beyond 15"),
        ("ps_5_0\ndcl_resource_raw t128\nret", "slot 128 is beyond 127"),
        ("ps_5_0\ndcl_resource_raw t1\ndcl_resource_raw t1\nret", "declared twice"),
        ("ps_4_0\ndcl_resource_raw t1\nret", "enableRawAndStructuredBuffers"),
        ("ps_4_0\ndcl_uav_typed_buffer (uint,uint,uint,uint) u0\nret", "needs shader model 5.0"),
        ("ps_4_0\ndcl_resource_texturecubearray (uint,uint,uint,uint) t0\nret", "need shader model 4.1"),
        ("ps_5_0\ndcl_uav_typed_texturecube (uint,uint,uint,uint) u0\nret", "dimension texturecube"),
        ("ps_5_0\ndcl_resource_texture2d(4) (uint,uint,uint,uint) t0\nret", "only multisampled"),
        ("ps_5_0\ndcl_resource_structured t0, 6\nret", "stride 6"),
        ("ps_5_0\ndcl_temps 4097\nret", "4097 temps"),
        ("ps_5_0\ndcl_temps 1\ndcl_temps 2\nret", "stands twice"),
        ("ps_5_0\ndcl_temps 4000\ndcl_indexableTemp x0[97], 4\nret", "4097 temps and array elements"),
        ("ps_5_0\ndcl_indexableTemp x0[4], 5\nret", "out of bounds"),
        ("ps_5_0\ndcl_input v0.x\nret", "declared with dcl_input_ps"),
        ("ps_5_0\ndcl_input_ps linear v32.x\nret", "register 32 is beyond 31"),
        ("ps_5_0\ndcl_output o8.x\nret", "register 8 is beyond 7"),
        ("ps_5_0\ndcl_input_ps_siv linear v0.xy, position\nret", "noperspective"),
        ("vs_5_0\ndcl_output oDepth\nret", "oDepth is no output of vs programs"),
        ("vs_5_0\ndcl_input_ps linear v0.x\nret", "does not exist in vs programs"),
        ("vs_5_0\ndcl_input v0.x\ndcl_indexRange v0.x 2\nret", "register 1 of the range is not declared"),
        ("vs_5_0\ndcl_indexRange v31.x 2\nret", "are no range"),
        ("vs_5_0\n" + "".join(f"dcl_output_siv o{i}.xyz, clip_distance\n" for i in range(3)) + "ret", "more than 8"),
        ("cs_5_0\nret", "needs dcl_thread_group"),
        ("cs_5_0\ndcl_thread_group 32, 32, 2\nret", "32 x 32 x 2 is beyond"),
        ("cs_5_0\ndcl_thread_group 0, 1, 1\nret", "0 x 1 x 1 is beyond"),
        ("cs_4_0\ndcl_thread_group 1, 1, 2\nret", "beyond 768"),
        ("cs_5_0\ndcl_thread_group 1, 1, 1\ndcl_tgsm_raw g0, 32772\nret", "32772 bytes of shared memory"),
        ("cs_5_0\ndcl_thread_group 1, 1, 1\ndcl_tgsm_raw g0, 3\nret", "multiple of 4"),
        ("cs_5_0\ndcl_thread_group 1, 1, 1\nsync_uglobal_ugroup\nret", "both global"),
        ("cs_5_0\ndcl_thread_group 1, 1, 1\ndcl_temps 1\nsample r0.x, r0.x, t0.x, s0\nret", "does not exist in cs"),
        ("gs_4_0\nret", "needs dcl_inputprimitive"),
        ("gs_4_0\ndcl_inputprimitive triangle\ndcl_outputtopology trianglelist\ndcl_maxout 1\nret", "none of pointlist"),
        ("gs_4_0\ndcl_inputprimitive patch3\ndcl_outputtopology pointlist\ndcl_maxout 1\nret", "cannot be read"),
        ("gs_4_0\ndcl_input v[2][0].x\ndcl_inputprimitive triangle\ndcl_outputtopology pointlist\ndcl_maxout 1\nret",
         "2 vertices or control points, expected 3"),
        ("gs_4_0\ndcl_inputprimitive point\ndcl_outputtopology pointlist\ndcl_output o0.xyzw\ndcl_maxout 1000\nret",
         "beyond 1024 scalars"),
        ("ds_5_0\nret", "needs dcl_tessellator_domain"),
        ("hs_5_0\nhs_decls\nhs_fork_phase\nret", "needs dcl_input_control_point_count"),
        (listings.HULL.replace("output_triangle_cw", "output_line"), "does not fit the domain"),
        (listings.HULL.replace("v[3][0]", "v[4][0]"), "expected 3"),
        (listings.HULL.replace("vicp[1][0].x", "vicp[3][0].x"), "there are 3 vertices or control points"),
        (listings.HULL.replace("dcl_indexrange o0.x 3\n", ""), "no declared index range"),
        (listings.HULL.replace("hs_join_phase\n", "hs_join_phase\ndcl_globalFlags\n"), "belongs to hs_decls"),
        (listings.HULL.replace("dcl_hs_fork_phase", "dcl_hs_join_phase"), "belongs to a join phase"),
        (listings.HULL + "hs_fork_phase\nret\n", "stand in this order"),
        (listings.INTERFACES.replace("dcl_function_body fb1\n", ""), "member 1 is not declared"),
        (listings.MODEL_5_1.replace("T0[r0.x + 3]", "T0[2]"), "has no register 2"),
        (listings.GEOMETRY.replace("m1\nret", "m2\nret"), "m2 is not declared"),
        ("ps_5_0\n", "does not end with ret"),
        ("ps_5_0\ndcl_output o0.x\nmov o0.x, l(0)", "does not end with ret"),
    ],
)
def test_declarations_and_programs_that_break_a_rule(text: str, message: str) -> None:
    with pytest.raises(AssemblyError, match=message):
        assemble(text)


def test_calls_may_nest_32_deep() -> None:
    def chain(length: int) -> Program:
        lines = ["ps_5_0", "call l0", "ret"]
        for i in range(length):
            lines += [f"label l{i}", f"call l{i + 1}" if i + 1 < length else "nop", "ret"]
        return assemble_program("\n".join(lines))

    validate(chain(32))
    with pytest.raises(DxbcError, match="calls nest deeper than 32"):
        validate(chain(33))
    with pytest.raises(DxbcError, match="calls nest deeper than 32"):
        validate(chain(20000))


def test_branches_that_both_leave_end_a_case() -> None:
    assert not check(assemble_program(
        "ps_5_0\ndcl_temps 1\nswitch r0.x\ncase l(0)\nif_nz r0.y\nret\nelse\nbreak\nendif\ncase l(1)\nbreak\n"
        "endswitch\nret"
    ))


def test_faults_of_decoded_programs_name_their_byte() -> None:
    binary = assemble("ps_5_0\ndcl_temps 1\nmov r0.x, l(0)\nmov r1.x, l(0)\nret", validate=False)
    with pytest.raises(DxbcError, match="r1 is not declared") as caught:
        validate(ShaderBlob.parse(binary).program)
    assert caught.value.offset == 4 * (2 + 2 + 5)


def test_the_number_of_faults_is_bounded() -> None:
    program = assemble_program("ps_5_0\n" + "mov r9.x, l(0)\n" * 500)
    assert len(check(program)) == 100
    assert len(check(program, limit=3)) == 3


def test_phases_belong_to_hull_shaders() -> None:
    program = Program(ProgramType.PIXEL, phases=[Phase(Opcode.HS_FORK_PHASE)])
    assert "has no phases" in check(program)[0].message
    assert "no profile" in check(Program(ProgramType.DOMAIN, 4, 0))[0].message
