"""Hand-written shaders of every stage, and a legal program around any one instruction."""

from __future__ import annotations

from wddm.dxbc.opcodes import OPCODES, Opcode, OpcodeGroup, OperandKind, ProgramType, ValueType

VERTEX = """\
vs_5_0
.in POSITION0 v0.xy float
.in COLOR0 v1.xyz float
.out SV_Position o0.xyzw float
.out COLOR0 o1.xyzw float
dcl_input v0.xy
dcl_input v1.xyz
dcl_output_siv o0.xyzw, position
dcl_output o1.xyzw
mov o0.xy, v0.xyxx
mov o0.zw, l(0, 0, 0, 1.0)
mov o1.xyz, v1.xyzx
mov o1.w, l(1.0)
ret
"""

PIXEL = """\
ps_5_0
.in SV_Position v0.xyzw
.in TEXCOORD0 v1.xy
.in FLAG0 v1.z uint
.out SV_Target o0.xyzw
.out SV_Depth oDepth float
dcl_globalFlags refactoringAllowed | forceEarlyDepthStencil
dcl_immediateConstantBuffer { { 1.0, 0, 0, 0},   // the first row
                              { 0, -1.5, 0x7f800000, 7} }
dcl_constantbuffer CB0[4], dynamicIndexed
dcl_sampler s0, mode_default
dcl_sampler s1, mode_comparison
dcl_resource_texture2d (float,float,float,float) t0
dcl_resource_texture2dms(4) (float,float,float,float) t1
dcl_resource_structured t2, 16
dcl_uav_typed_texture2d_glc (uint,uint,uint,uint) u1
dcl_input_ps_siv linear noperspective v0.xy, position
dcl_input_ps linear centroid v1.xy
dcl_input_ps constant v1.z
dcl_output o0.xyzw
dcl_output oDepth
dcl_temps 3
dcl_indexableTemp x0[4], 4
mov r0.x, l(0)
loop
  ige r0.y, r0.x, l(4)
  breakc_nz r0.y
  mov x0[r0.x + 0].xyzw, icb[r0.x].xyzw
  iadd r0.x, r0.x, l(1)
endloop
sample_aoffimmi_indexable(1,-2,0)(texture2d)(float,float,float,float) r1.xyzw, v1.xyxx, t0.xyzw, s0
sample_c_lz r1.w, v1.xyxx, t0.xxxx, s1, l(0.5)
ldms_probe
resinfo_indexable(texture2d)(float,float,float,float)_uint r2.xy, l(0), t0.xyzw
if_nz v1.z
  discard_z r2.x
else
  switch r2.y
    case l(1)
    case l(2)
      mad_sat [precise(xyz)] r1.xyz, -|r1.xyzx|, cb0[r2.x + 3].xyzw, l(1.0, 2.0, 0, 0)
      break
    default
      ret
  endswitch
endif
store_uav_typed u1.xyzw, r2.xyyy, r1.xyzw
call l0
mov oDepth, l(0.25)
mov o0.xyzw, r1.xyzw
ret
label l0
mul r1.xyzw, r1.xyzw, x0[1].xyzw
ret
""".replace("ldms_probe", "ld_ms r2.z, r0.xyxy, t1.yyxy, l(2)")

GEOMETRY = """\
gs_5_0
.in SV_Position v0.xyzw
.in TEXCOORD0 v1.xy
.out SV_Position o0.xyzw
.out TEXCOORD0 o0.xy stream=1
dcl_globalFlags refactoringAllowed
dcl_input_siv v[3][0].xyzw, position
dcl_input v[3][1].xy
dcl_input vGSInstanceID
dcl_input vPrim
dcl_temps 1
dcl_inputprimitive triangle
dcl_gsinstances 2
dcl_stream m0
dcl_outputtopology trianglestrip
dcl_output_siv o0.xyzw, position
dcl_stream m1
dcl_output o0.xy
dcl_maxout 3
mov r0.x, vGSInstanceID.x
mov o0.xyzw, v[r0.x + 1][0].xyzw
emit_stream m0
cut_stream m0
mov o0.xy, v[2][1].xyxx
emitthencut_stream m1
ret
"""

HULL = """\
hs_5_0
.in POSITION0 v0.xyzw
.out POSITION0 o0.xyzw
.patch SV_TessFactor0 o0.x
.patch SV_TessFactor1 o1.x
.patch SV_TessFactor2 o2.x
.patch SV_InsideTessFactor0 o3.x
hs_decls
dcl_input_control_point_count 3
dcl_output_control_point_count 3
dcl_tessellator_domain domain_tri
dcl_tessellator_partitioning partitioning_fractional_odd
dcl_tessellator_output_primitive output_triangle_cw
dcl_hs_max_tessfactor l(64.000000)
dcl_globalFlags refactoringAllowed
dcl_constantbuffer CB0[4], dynamicIndexed
hs_control_point_phase
dcl_input vOutputControlPointID
dcl_input v[3][0].xyzw
dcl_output o0.xyzw
dcl_temps 1
mov r0.x, vOutputControlPointID
mov o0.xyzw, v[r0.x + 0][0].xyzw
ret
hs_fork_phase
dcl_hs_fork_phase_instance_count 3
dcl_input vForkInstanceID
dcl_input vicp[3][0].xyzw
dcl_output_siv o0.x, finalTriUeq0EdgeTessFactor
dcl_output_siv o1.x, finalTriVeq0EdgeTessFactor
dcl_output_siv o2.x, finalTriWeq0EdgeTessFactor
dcl_temps 1
dcl_indexrange o0.x 3
mov r0.x, vForkInstanceID.x
mad o[r0.x + 0].x, cb0[r0.x + 1].x, l(2.0), vicp[1][0].x
ret
hs_join_phase
dcl_input vpc0.x
dcl_output_siv o3.x, finalTriInsideTessFactor
mov o3.x, vpc0.x
ret
"""

DOMAIN = """\
ds_5_0
.in POSITION0 vcp0.xyzw
.out SV_Position o0.xyzw
.patch SV_TessFactor0 vpc0.x
.patch SV_InsideTessFactor0 vpc3.x
dcl_input_control_point_count 3
dcl_tessellator_domain domain_tri
dcl_globalFlags refactoringAllowed
dcl_input_siv vpc0.x, finalTriUeq0EdgeTessFactor
dcl_input vDomain.xyz
dcl_input vcp[3][0].xyzw
dcl_output_siv o0.xyzw, position
dcl_temps 1
mul r0.xyzw, vDomain.xxxx, vcp[0][0].xyzw
mad r0.xyzw, vDomain.yyyy, vcp[1][0].xyzw, r0.xyzw
mad o0.xyzw, vDomain.zzzz, vcp[2][0].xyzw, r0.xyzw
ret
"""

COMPUTE = """\
cs_5_0
dcl_globalFlags refactoringAllowed | enableDoublePrecisionFloatOps
dcl_resource_raw t0
dcl_uav_structured_opc u0, 16
dcl_uav_raw u1
dcl_input vThreadIDInGroupFlattened
dcl_input vThreadID.xyz
dcl_temps 2
dcl_tgsm_structured g0, 4, 64
dcl_tgsm_raw g1, 16
dcl_thread_group 8, 8, 1
ld_raw_indexable(raw_buffer)(mixed,mixed,mixed,mixed) r0.xy, vThreadID.x, t0.xyxx
store_structured g0.x, vThreadIDInGroupFlattened.x, l(0), r0.x
sync_uglobal_g_t
ld_structured r0.z, vThreadIDInGroupFlattened.x, l(0), g0.xxxx
dadd r0.xy, r0.xyxy, d(0.5l)
imm_atomic_alloc r1.x, u0
store_structured u0.xyz, r1.x, l(4), r0.xyzx
atomic_iadd u1, l(8), l(-1)
imm_atomic_cmp_exch r1.y, g1, l(4), l(0), r0.x
ret
"""

MODEL_5_1 = """\
ps_5_1
dcl_globalFlags refactoringAllowed
dcl_constantbuffer CB0[2:2][4], immediateIndexed, space=1
dcl_sampler S0[0:0], mode_default, space=0
dcl_resource_texture2d (float,float,float,float) T0[3:*], space=2
dcl_input_ps linear v0.xyz
dcl_output o0.xyzw
dcl_temps 1
ftou r0.x, v0.z
sample r0.xyzw, v0.xyxx, T0[r0.x + 3].xyzw {nonuniform}, S0[0]
mul o0.xyzw, r0.xyzw, CB0[2][3].xyzw
ret
"""

INTERFACES = """\
ps_5_0
dcl_globalFlags refactoringAllowed
dcl_output o0.xyzw
dcl_temps 1
dcl_function_body fb0
dcl_function_body fb1
dcl_function_table ft0 = {fb0}
dcl_function_table ft1 = {fb1}
dcl_interface fp0[1][1] = {ft0, ft1}
fcall fp0[0][0]
mov o0.xyzw, r0.xxxx
ret
label fb0
mov r0.x, l(1.0)
ret
label fb1
mov r0.x, cb[this[0].x + 0][this[0].y + 1].x
ret
"""

ALL = {
    "vertex": VERTEX, "pixel": PIXEL, "geometry": GEOMETRY, "hull": HULL, "domain": DOMAIN, "compute": COMPUTE,
    "model_5_1": MODEL_5_1, "interfaces": INTERFACES,
}

_FLOW = {
    Opcode.IF: "if_nz r0.x\nendif",
    Opcode.ELSE: "if_z r0.x\nelse\nendif",
    Opcode.ENDIF: "if_nz r0.x\nendif",
    Opcode.LOOP: "loop\nbreak\nendloop",
    Opcode.ENDLOOP: "loop\nbreak\nendloop",
    Opcode.BREAK: "loop\nbreak\nendloop",
    Opcode.BREAKC: "loop\nbreakc_z r0.x\nendloop",
    Opcode.CONTINUE: "loop\nbreakc_z r0.x\ncontinue\nendloop",
    Opcode.CONTINUEC: "loop\ncontinuec_nz r0.x\nbreak\nendloop",
    Opcode.SWITCH: "switch r0.x\ncase l(1)\nbreak\nendswitch",
    Opcode.CASE: "switch r0.x\ncase l(-1)\nbreak\nendswitch",
    Opcode.DEFAULT: "switch r0.x\ndefault\nbreak\nendswitch",
    Opcode.ENDSWITCH: "switch r0.x\ndefault\nbreak\nendswitch",
    Opcode.RET: "if_nz r0.x\nret\nendif",
    Opcode.CALL: "call l0\nret\nlabel l0",
    Opcode.CALLC: "callc_nz r0.x, l1\nret\nlabel l1",
    Opcode.LABEL: "call l7\nret\nlabel l7",
    Opcode.SYNC: "sync_uglobal",
    Opcode.FCALL: "fcall fp0[0][0]",
}
_OUTPUTS = {
    ProgramType.PIXEL: "dcl_input_ps linear v0.xyzw\ndcl_output o0.xyzw\n",
    ProgramType.GEOMETRY: "dcl_input v[1][0].xyzw\ndcl_inputprimitive point\n"
    "{streams}dcl_outputtopology pointlist\ndcl_output o0.xyzw\ndcl_maxout 4\n",
    ProgramType.COMPUTE: "dcl_tgsm_raw g1, 64\ndcl_tgsm_structured g2, 16, 4\ndcl_thread_group 4, 1, 1\n",
}
_RESOURCES = """\
dcl_constantbuffer CB0[4], dynamicIndexed
dcl_sampler s0, mode_default
dcl_sampler s1, mode_comparison
dcl_resource_texture2d (float,float,float,float) t0
dcl_resource_texture2dms(4) (float,float,float,float) t1
dcl_resource_buffer (uint,uint,uint,uint) t2
dcl_resource_raw t3
dcl_resource_structured t4, 16
dcl_uav_typed_texture2d (uint,uint,uint,uint) u0
dcl_uav_raw u1
dcl_uav_structured_opc u2, 16
"""


def _resource(opcode: Opcode) -> str:
    name = OPCODES[opcode].mnemonic
    if "ms" in name.split("_") or opcode in (Opcode.SAMPLEINFO, Opcode.SAMPLEPOS):
        return "t1"
    if opcode is Opcode.BUFINFO:
        return "t2"
    if "structured" in name:
        return "t4"
    return "t3" if "raw" in name else "t0"


def _uav(opcode: Opcode) -> str:
    name = OPCODES[opcode].mnemonic
    if "alloc" in name or "consume" in name or "structured" in name:
        return "u2"
    return "u1" if "raw" in name or OPCODES[opcode].group is OpcodeGroup.ATOMIC else "u0"


def _operand(opcode: Opcode, number: int) -> str:
    info = OPCODES[opcode]
    kind, type_, role = info.kinds[number], info.types[number], info.roles[number]
    if kind is OperandKind.DST:
        if type_ is ValueType.DOUBLE or (type_ is not ValueType.DOUBLE and ValueType.DOUBLE in info.types):
            return "r0.xy"
        return f"r{number}.x" if info.group is OpcodeGroup.ATOMIC or role == "st" else f"r{number}.xyzw"
    if kind in (OperandKind.UAV, OperandKind.UAV_OR_SHARED):
        if info.group is OpcodeGroup.ATOMIC:
            return _uav(opcode)
        return f"{_uav(opcode)}.xyzw"
    if kind is OperandKind.SAMPLER:
        comparison = "sample_c" in info.mnemonic or "_c_" in info.mnemonic + "_"
        comparison = comparison and "_cl_s" not in info.mnemonic.replace("sample_c_cl_s", "")
        return f"s{int(comparison)}.x" if info.mnemonic in ("gather4", "gather4_po") else f"s{int(comparison)}"
    if "t" in kind.value and kind in (
        OperandKind.RESOURCE, OperandKind.RESOURCE_OR_UAV, OperandKind.RESOURCE_OR_RASTERIZER, OperandKind.MEMORY
    ):
        return f"{_resource(opcode)}.xyzw"
    if kind is OperandKind.INPUT:
        return "v0.xyzw"
    if kind is OperandKind.STREAM:
        return "m0"
    if type_ is ValueType.DOUBLE:
        return "r1.xyzw" if number % 2 else "d(0.5l, -2.0l)"
    return ("r1.xyzw", "cb0[r2.x + 1].wzyx", "l(1.0)", "x0[2].yyyy")[number % 4]


def legal_program(opcode: Opcode) -> str:
    """A program that passes every check and contains the instruction."""
    info = OPCODES[opcode]
    stage = next(
        s for s in (ProgramType.COMPUTE if info.group is OpcodeGroup.ATOMIC else ProgramType.PIXEL,
                    ProgramType.GEOMETRY, ProgramType.HULL)
        if s in info.stages
    )
    streams = "dcl_stream m0\n" if "STREAM" in opcode.name else ""
    text = (
        f"{stage.prefix}_5_0\ndcl_globalFlags enableDoublePrecisionFloatOps | enable11_1DoubleExtensions"
        f" | enable11_1ShaderExtensions\n{_RESOURCES}{_OUTPUTS[stage].format(streams=streams)}"
        "dcl_temps 4\ndcl_indexableTemp x0[4], 4\n"
    )
    if opcode is Opcode.FCALL:
        text += "dcl_function_body fb0\ndcl_function_table ft0 = {fb0}\ndcl_interface fp0[1][1] = {ft0}\n"
    if opcode in _FLOW:
        return text + _FLOW[opcode] + "\nret\n"
    suffix = "_nz" if info.test else ""
    operands = ", ".join(_operand(opcode, number) for number in range(len(info.roles)))
    return f"{text}{info.mnemonic}{suffix} {operands}\nret\n"
