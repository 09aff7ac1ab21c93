"""The STAT chunk: counts over the finished program."""

from __future__ import annotations

from wddm.dxbc.opcodes import Opcode, OpcodeGroup, ProgramType, ValueType
from wddm.dxbc.program import Program
from wddm.dxbc.statistics import Statistics
from wddm.hlsl.lowering.stages import Shader

__all__ = ["make_statistics"]

_FLOW = frozenset({Opcode.IF, Opcode.LOOP, Opcode.SWITCH, Opcode.BREAKC, Opcode.CONTINUEC, Opcode.RETC})
_SAMPLES = frozenset({Opcode.SAMPLE, Opcode.SAMPLE_L})
_COMPARES = frozenset({Opcode.SAMPLE_C, Opcode.SAMPLE_C_LZ})
_LOADS = frozenset({Opcode.LD, Opcode.LD_MS, Opcode.LD_RAW, Opcode.LD_STRUCTURED, Opcode.LD_UAV_TYPED})
_STORES = frozenset({Opcode.STORE_RAW, Opcode.STORE_STRUCTURED, Opcode.STORE_UAV_TYPED})
_GATHERS = frozenset({Opcode.GATHER4, Opcode.GATHER4_C, Opcode.GATHER4_PO, Opcode.GATHER4_PO_C})


def make_statistics(program: Program, shader: Shader) -> Statistics:
    """What reflection reports of a program's size and shape."""
    s = Statistics()
    for _, declarations, instructions in program.bodies():
        s.declarations += sum(d.opcode in (Opcode.DCL_INPUT, Opcode.DCL_OUTPUT) or d.system_value != 0 for d in declarations)
        for declaration in declarations:
            if declaration.opcode is Opcode.DCL_TEMPS:
                s.temps = max(s.temps, declaration.count)
            elif declaration.opcode is Opcode.DCL_INDEXABLETEMP:
                s.temp_arrays += declaration.count
        for instruction in instructions:
            _count(s, instruction.opcode, instruction.info.group, instruction.info.result)
    s.instructions = sum(len(body) for _, _, body in program.bodies())
    s.input_primitive = int(shader.primitive)
    s.output_topology = int(shader.topology)
    s.max_output_vertices = shader.max_vertices
    if program.type is ProgramType.GEOMETRY:
        s.gs_instances = shader.instances or 1
    if program.type in (ProgramType.HULL, ProgramType.DOMAIN):
        s.control_points = shader.output_control_points or shader.input_vertices
        s.tess_output_primitive, s.tess_partitioning = int(shader.tess_output), int(shader.partitioning)
        s.tess_domain = int(shader.domain)
    return s


def _count(s: Statistics, opcode: Opcode, group: OpcodeGroup, result: ValueType) -> None:
    if group in (OpcodeGroup.FLOAT, OpcodeGroup.COMPARE, OpcodeGroup.DOUBLE, OpcodeGroup.DERIVATIVE):
        s.float_ops += 1
    elif group is OpcodeGroup.INTEGER:
        if result is ValueType.INT:
            s.int_ops += 1
        else:
            s.uint_ops += 1
    elif group is OpcodeGroup.BITWISE:
        s.bitwise += 1
    elif group is OpcodeGroup.CONVERT:
        s.conversions += 1
    elif group is OpcodeGroup.ATOMIC:
        s.interlocked += 1
    if opcode in _FLOW:
        s.dynamic_flow += 1
    elif opcode is Opcode.MOV:
        s.movs += 1
    elif opcode is Opcode.MOVC:
        s.movcs += 1
    elif opcode in _SAMPLES:
        s.texture_normal += 1
    elif opcode in _COMPARES:
        s.texture_compares += 1
    elif opcode is Opcode.SAMPLE_B:
        s.texture_bias += 1
    elif opcode is Opcode.SAMPLE_D:
        s.texture_gradients += 1
    elif opcode in _LOADS:
        s.texture_loads += 1
    elif opcode in _STORES:
        s.texture_stores += 1
    elif opcode in _GATHERS:
        s.gathers += 1
    elif opcode is Opcode.LOD:
        s.lod_queries += 1
    elif opcode in (Opcode.EMIT, Opcode.EMIT_STREAM):
        s.emits += 1
    elif opcode in (Opcode.CUT, Opcode.CUT_STREAM):
        s.cuts += 1
    elif opcode is Opcode.SYNC:
        s.barriers += 1
