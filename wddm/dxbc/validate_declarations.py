"""Declarations: their limits, and the registers they bring into being."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field

from .opcodes import (
    OPCODES,
    CustomDataClass,
    Dimension,
    GlobalFlags,
    Interpolation,
    Opcode,
    Primitive,
    ProgramType,
    RegisterType,
    SystemValue,
    TessDomain,
    TessOutput,
    Topology,
    UavFlags,
)
from .program import Declaration, Operand, Phase, Program
from .text_names import REGISTERS

__all__ = ["Registers", "check_declarations", "index_count"]

Report = Callable[..., None]

MAX_TEMPS = 4096
MAX_VECTORS = 4096
MAX_STRIDE = 2048
_SLOTS = {
    RegisterType.CONSTANT_BUFFER: 15,
    RegisterType.SAMPLER: 16,
    RegisterType.RESOURCE: 128,
    RegisterType.UNORDERED_ACCESS_VIEW: 64,
    RegisterType.THREAD_GROUP_SHARED_MEMORY: 256,
    RegisterType.STREAM: 4,
}
_GRAPHICS = frozenset(ProgramType) - {ProgramType.COMPUTE}
_P, _G = frozenset({ProgramType.PIXEL}), frozenset({ProgramType.GEOMETRY})
_H, _D = frozenset({ProgramType.HULL}), frozenset({ProgramType.DOMAIN})
_C = frozenset({ProgramType.COMPUTE})
_HIGHEST_REGISTER = 31

# Registers that dcl_input brings into being, and the stages that have them.
_INPUTS: dict[RegisterType, frozenset[ProgramType]] = {
    RegisterType.INPUT: _GRAPHICS - _D,
    RegisterType.INPUT_PRIMITIVEID: _G | _H | _D,
    RegisterType.OUTPUT_CONTROL_POINT_ID: _H,
    RegisterType.INPUT_FORK_INSTANCE_ID: _H,
    RegisterType.INPUT_JOIN_INSTANCE_ID: _H,
    RegisterType.INPUT_CONTROL_POINT: _H | _D,
    RegisterType.OUTPUT_CONTROL_POINT: _H,
    RegisterType.INPUT_PATCH_CONSTANT: _H | _D,
    RegisterType.INPUT_DOMAIN_POINT: _D,
    RegisterType.INPUT_THREAD_ID: _C,
    RegisterType.INPUT_THREAD_GROUP_ID: _C,
    RegisterType.INPUT_THREAD_ID_IN_GROUP: _C,
    RegisterType.INPUT_THREAD_ID_IN_GROUP_FLATTENED: _C,
    RegisterType.INPUT_COVERAGE_MASK: _P,
    RegisterType.INNER_COVERAGE: _P,
    RegisterType.INPUT_GS_INSTANCE_ID: _G,
    RegisterType.CYCLE_COUNTER: frozenset(ProgramType),
}
_OUTPUTS: dict[RegisterType, frozenset[ProgramType]] = {
    RegisterType.OUTPUT: _GRAPHICS,
    RegisterType.OUTPUT_DEPTH: _P,
    RegisterType.OUTPUT_DEPTH_GREATER_EQUAL: _P,
    RegisterType.OUTPUT_DEPTH_LESS_EQUAL: _P,
    RegisterType.OUTPUT_COVERAGE_MASK: _P,
    RegisterType.OUTPUT_STENCIL_REF: _P,
}
_OPERAND_TYPES = {
    Opcode.DCL_CONSTANTBUFFER: RegisterType.CONSTANT_BUFFER,
    Opcode.DCL_SAMPLER: RegisterType.SAMPLER,
    Opcode.DCL_RESOURCE: RegisterType.RESOURCE,
    Opcode.DCL_RESOURCE_RAW: RegisterType.RESOURCE,
    Opcode.DCL_RESOURCE_STRUCTURED: RegisterType.RESOURCE,
    Opcode.DCL_UAV_TYPED: RegisterType.UNORDERED_ACCESS_VIEW,
    Opcode.DCL_UAV_RAW: RegisterType.UNORDERED_ACCESS_VIEW,
    Opcode.DCL_UAV_STRUCTURED: RegisterType.UNORDERED_ACCESS_VIEW,
    Opcode.DCL_TGSM_RAW: RegisterType.THREAD_GROUP_SHARED_MEMORY,
    Opcode.DCL_TGSM_STRUCTURED: RegisterType.THREAD_GROUP_SHARED_MEMORY,
    Opcode.DCL_STREAM: RegisterType.STREAM,
}
_INPUT_OPCODES = frozenset({
    Opcode.DCL_INPUT, Opcode.DCL_INPUT_SGV, Opcode.DCL_INPUT_SIV,
    Opcode.DCL_INPUT_PS, Opcode.DCL_INPUT_PS_SGV, Opcode.DCL_INPUT_PS_SIV,
})
_OUTPUT_OPCODES = frozenset({Opcode.DCL_OUTPUT, Opcode.DCL_OUTPUT_SGV, Opcode.DCL_OUTPUT_SIV})
_VERTEX_INDEXED = frozenset({RegisterType.INPUT_CONTROL_POINT, RegisterType.OUTPUT_CONTROL_POINT})
_ONE_PER_PROGRAM = frozenset({
    Opcode.DCL_TEMPS, Opcode.DCL_INPUTPRIMITIVE, Opcode.DCL_OUTPUTTOPOLOGY, Opcode.DCL_MAXOUT,
    Opcode.DCL_GS_INSTANCE_COUNT, Opcode.DCL_THREAD_GROUP, Opcode.DCL_INPUT_CONTROL_POINT_COUNT,
    Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT, Opcode.DCL_TESSELLATOR_DOMAIN, Opcode.DCL_TESSELLATOR_PARTITIONING,
    Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE, Opcode.DCL_HS_MAX_TESSFACTOR,
    Opcode.DCL_HS_FORK_PHASE_INSTANCE_COUNT, Opcode.DCL_HS_JOIN_PHASE_INSTANCE_COUNT,
})
# Where a hull shader's declarations belong: the head of the program, or one kind of phase.
_PHASE_OF: dict[Opcode, tuple[Opcode | None, str]] = {
    **dict.fromkeys(
        (
            Opcode.DCL_GLOBALFLAGS, Opcode.DCL_INPUT_CONTROL_POINT_COUNT, Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT,
            Opcode.DCL_TESSELLATOR_DOMAIN, Opcode.DCL_TESSELLATOR_PARTITIONING,
            Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE, Opcode.DCL_HS_MAX_TESSFACTOR,
        ),
        (None, "hs_decls"),
    ),
    Opcode.DCL_HS_FORK_PHASE_INSTANCE_COUNT: (Opcode.HS_FORK_PHASE, "a fork phase"),
    Opcode.DCL_HS_JOIN_PHASE_INSTANCE_COUNT: (Opcode.HS_JOIN_PHASE, "a join phase"),
}
_RAW_IN_4 = frozenset({
    Opcode.DCL_RESOURCE_RAW, Opcode.DCL_RESOURCE_STRUCTURED, Opcode.DCL_UAV_RAW, Opcode.DCL_UAV_STRUCTURED,
})
_STREAM_TOPOLOGIES = (Topology.POINTLIST, Topology.LINESTRIP, Topology.TRIANGLESTRIP)
_ID_LIMIT = 1 << 20
"""Range ids of shader model 5.1: more than any root signature holds."""


def index_count(type: RegisterType, program: Program, phase: Phase | None) -> int:
    """Indices an operand of that register file has in code, in this stage and shader model."""
    if type is RegisterType.INPUT:
        control_points = phase is not None and phase.kind is Opcode.HS_CONTROL_POINT_PHASE
        return 2 if program.type is ProgramType.GEOMETRY or control_points else 1
    if type is RegisterType.CONSTANT_BUFFER:
        return 3 if program.model == (5, 1) else 2
    if type in (RegisterType.SAMPLER, RegisterType.RESOURCE, RegisterType.UNORDERED_ACCESS_VIEW):
        return 2 if program.model == (5, 1) else 1
    return _INDEX_COUNTS.get(type, 0)


_INDEX_COUNTS = {
    RegisterType.TEMP: 1,
    RegisterType.OUTPUT: 1,
    RegisterType.INDEXABLE_TEMP: 2,
    RegisterType.IMMEDIATE_CONSTANT_BUFFER: 1,
    RegisterType.LABEL: 1,
    RegisterType.STREAM: 1,
    RegisterType.FUNCTION_BODY: 1,
    RegisterType.FUNCTION_TABLE: 1,
    RegisterType.INTERFACE: 2,
    RegisterType.FUNCTION_INPUT: 1,
    RegisterType.FUNCTION_OUTPUT: 1,
    RegisterType.INPUT_CONTROL_POINT: 2,
    RegisterType.OUTPUT_CONTROL_POINT: 2,
    RegisterType.INPUT_PATCH_CONSTANT: 1,
    RegisterType.THIS_POINTER: 1,
    RegisterType.THREAD_GROUP_SHARED_MEMORY: 1,
}


@dataclass
class Registers:
    """What a body of code may name."""

    program: Program
    phase: Phase | None = None
    temps: int = 0
    arrays: dict[int, Declaration] = field(default_factory=dict)
    """x# → its declaration."""
    flags: GlobalFlags = GlobalFlags.NONE
    expected_vertices: dict[RegisterType, int] = field(default_factory=dict)
    """Register file indexed by vertex or control point → how many the program says there are."""
    masks: dict[tuple[RegisterType, int], int] = field(default_factory=dict)
    """Input or output register → declared components; register 0 for files without numbers."""
    vertices: dict[RegisterType, int] = field(default_factory=dict)
    """Register file indexed by vertex or control point → how many there are."""
    bound: MutableMapping[tuple[RegisterType, int], Declaration] = field(default_factory=dict)
    """cb#, s#, t#, u#, g#, m# (5.1: by range id) → declaration."""
    rows: int = 0
    """Vec4s of the immediate constant buffer."""
    ranges: set[tuple[RegisterType, int]] = field(default_factory=set)
    """Registers that lie in an index range."""
    functions: MutableMapping[tuple[RegisterType, int], Declaration] = field(default_factory=dict)
    """fb#, ft#, fp# → declaration."""

    @classmethod
    def of(cls, program: Program) -> Registers:
        """Nothing declared yet, but what holds for the whole program."""
        registers = cls(program, flags=program.flags)
        primitive = program.find(Opcode.DCL_INPUTPRIMITIVE)
        points = program.find(Opcode.DCL_INPUT_CONTROL_POINT_COUNT)
        made = program.find(Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT)
        if program.type is ProgramType.GEOMETRY:
            if primitive is not None:
                registers.expected_vertices[RegisterType.INPUT] = primitive.primitive.vertices
        elif points is not None:
            registers.expected_vertices[RegisterType.INPUT] = points.count
            registers.expected_vertices[RegisterType.INPUT_CONTROL_POINT] = points.count
        if made is not None:
            registers.expected_vertices[RegisterType.OUTPUT_CONTROL_POINT] = made.count
        return registers

    def for_phase(self, phase: Phase) -> Registers:
        """A hull phase sees what hs_decls binds, and has temps, inputs and outputs of its own."""
        return Registers(
            self.program, phase, flags=self.flags, expected_vertices=self.expected_vertices, rows=self.rows,
            bound=ChainMap({}, self.bound), functions=ChainMap({}, self.functions),
        )


def check_declarations(
    program: Program, phase: Phase | None, declarations: list[Declaration], registers: Registers, report: Report
) -> None:
    """Report every declaration that is out of place or bounds, and enter the others into ``registers``."""
    seen: set[Opcode] = set()
    for d in declarations:
        info = OPCODES[d.opcode]
        if d.opcode is Opcode.CUSTOMDATA:
            _custom_data(d, registers, report)
            continue
        if not info.is_declaration:
            report("is no declaration", d)
            continue
        if program.type not in info.stages:
            report(f"does not exist in {program.type.prefix} programs", d)
            continue
        if program.model < info.min_model:
            report("needs shader model {}.{}".format(*info.min_model), d)
        if d.opcode in _RAW_IN_4 and program.major < 5:
            if not registers.flags & GlobalFlags.RAW_AND_STRUCTURED_BUFFERS:
                report("needs enableRawAndStructuredBuffers in shader model 4", d)
        home = _PHASE_OF.get(d.opcode)
        if home is not None and (phase.kind if phase is not None else None) is not home[0]:
            report(f"belongs to {home[1]}", d)
            continue
        if d.opcode in _ONE_PER_PROGRAM:
            if d.opcode in seen:
                report("stands twice", d)
            seen.add(d.opcode)
        _check_one(program, phase, d, registers, report)
    _check_totals(program, declarations, registers, report)


def _custom_data(d: Declaration, registers: Registers, report: Report) -> None:
    if d.custom_class is CustomDataClass.IMMEDIATE_CONSTANT_BUFFER:
        rows = len(d.data) // 16
        if registers.rows and registers.phase is None:
            report("there are two immediate constant buffers", d)
        if len(d.data) % 16 or not 1 <= rows <= MAX_VECTORS:
            report(f"immediate constant buffer of {len(d.data)} bytes is not 1 to {MAX_VECTORS} vec4s", d)
        registers.rows = rows


def _check_one(program: Program, phase: Phase | None, d: Declaration, registers: Registers, report: Report) -> None:
    opcode = d.opcode
    if opcode in _OPERAND_TYPES:
        _binding(program, d, registers, report)
    elif opcode in _INPUT_OPCODES or opcode in _OUTPUT_OPCODES:
        _signature_register(program, phase, d, registers, report)
    elif opcode is Opcode.DCL_TEMPS:
        if d.count > MAX_TEMPS:
            report(f"{d.count} temps, at most {MAX_TEMPS}", d)
        registers.temps = d.count
    elif opcode is Opcode.DCL_INDEXABLETEMP:
        if d.register in registers.arrays:
            report(f"x{d.register} is declared twice", d)
        if not 1 <= d.components <= 4 or not 1 <= d.count <= MAX_TEMPS or d.register >= MAX_TEMPS:
            report(f"x{d.register}[{d.count}] of {d.components} components is out of bounds", d)
        registers.arrays[d.register] = d
    elif opcode is Opcode.DCL_INDEXRANGE:
        _index_range(d, registers, report)
    elif opcode is Opcode.DCL_THREAD_GROUP:
        x, y, z = d.thread_group
        threads, side, depth = (1024, 1024, 64) if program.major >= 5 else (768, 768, 1)
        if not (1 <= x <= side and 1 <= y <= side and 1 <= z <= depth and x * y * z <= threads):
            report(f"{x} x {y} x {z} is beyond {side} x {side} x {depth} with at most {threads} threads", d)
    elif opcode in (Opcode.DCL_FUNCTION_BODY, Opcode.DCL_FUNCTION_TABLE, Opcode.DCL_INTERFACE):
        _function(d, registers, report)
    elif opcode in _BOUNDS:
        low, high, what = _BOUNDS[opcode]
        if not low <= d.count <= high:
            report(f"{d.count} {what}, it must be {low} to {high}", d)
    elif opcode is Opcode.DCL_INPUTPRIMITIVE:
        if d.primitive is Primitive.UNDEFINED or (d.primitive >= Primitive.PATCH_1 and program.major < 5):
            report(f"primitive {d.primitive.name.lower()} cannot be read", d)
    elif opcode is Opcode.DCL_OUTPUTTOPOLOGY:
        if d.topology not in _STREAM_TOPOLOGIES:
            report(f"topology {d.topology.name.lower()} is none of pointlist, linestrip, trianglestrip", d)
    elif opcode in (Opcode.DCL_TESSELLATOR_DOMAIN, Opcode.DCL_TESSELLATOR_PARTITIONING):
        if not (d.tess_domain or d.tess_partitioning):
            report("is undefined", d)
    elif opcode is Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE:
        domain = program.find(Opcode.DCL_TESSELLATOR_DOMAIN)
        isoline = domain is not None and domain.tess_domain is TessDomain.ISOLINE
        allowed = (TessOutput.POINT, TessOutput.LINE) if isoline else (
            TessOutput.POINT, TessOutput.TRIANGLE_CW, TessOutput.TRIANGLE_CCW
        )
        if d.tess_output not in allowed:
            report(f"output {d.tess_output.name.lower()} does not fit the domain", d)


_BOUNDS = {
    Opcode.DCL_MAXOUT: (1, 1024, "vertices"),
    Opcode.DCL_GS_INSTANCE_COUNT: (1, 32, "instances"),
    Opcode.DCL_INPUT_CONTROL_POINT_COUNT: (0, 32, "control points"),
    Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT: (0, 32, "control points"),
    Opcode.DCL_HS_FORK_PHASE_INSTANCE_COUNT: (1, 0xFFFF, "instances"),
    Opcode.DCL_HS_JOIN_PHASE_INSTANCE_COUNT: (1, 0xFFFF, "instances"),
}


def _plain_indices(d: Declaration, count: int, report: Report) -> Operand | None:
    operand = d.operand
    if operand is None:
        report("has no operand", d)
        return None
    if len(operand.indices) != count or any(index.relative is not None for index in operand.indices):
        report(f"its operand must have {count} immediate indices", d)
        return None
    return operand


def _binding(program: Program, d: Declaration, registers: Registers, report: Report) -> None:
    """cb#, s#, t#, u#, g#, m#: slots, sizes and shapes."""
    expected = _OPERAND_TYPES[d.opcode]
    sm51 = program.model == (5, 1) and d.opcode not in (
        Opcode.DCL_TGSM_RAW, Opcode.DCL_TGSM_STRUCTURED, Opcode.DCL_STREAM
    )
    if d.operand is not None and d.operand.type is not expected:
        report(f"declares {REGISTERS.get(d.operand.type, 'a literal')}, not {REGISTERS[expected]}", d)
        return
    buffer = d.opcode is Opcode.DCL_CONSTANTBUFFER
    operand = _plain_indices(d, 3 if sm51 else 2 if buffer else 1, report)
    if operand is None:
        return
    slot = operand.index
    if sm51:
        if slot >= _ID_LIMIT or operand.indices[1].immediate > operand.indices[2].immediate:
            report("its range of registers is empty or its id too large", d)
    elif slot >= _SLOTS[expected]:
        report(f"slot {slot} is beyond {_SLOTS[expected] - 1}", d)
    if (expected, slot) in registers.bound:
        report(f"slot {slot} is declared twice", d)
    registers.bound[expected, slot] = d
    if buffer:
        size = d.count if sm51 else operand.indices[1].immediate
        if size > MAX_VECTORS:
            report(f"{size} vec4s, at most {MAX_VECTORS}", d)
    elif d.opcode in (Opcode.DCL_RESOURCE, Opcode.DCL_UAV_TYPED):
        uav = d.opcode is Opcode.DCL_UAV_TYPED
        shape = d.dimension
        cube = shape in (Dimension.TEXTURECUBE, Dimension.TEXTURECUBEARRAY)
        if not Dimension.BUFFER <= shape <= Dimension.TEXTURECUBEARRAY or (uav and (cube or shape.is_multisampled)):
            report(f"dimension {shape.name.lower()} is not possible", d)
        if shape is Dimension.TEXTURECUBEARRAY and program.model < (4, 1):
            report("cube arrays need shader model 4.1", d)
        if d.sample_count and not shape.is_multisampled:
            report("only multisampled textures have a sample count", d)
        if d.return_types is None:
            report("has no return types", d)
    elif d.opcode in (
        Opcode.DCL_RESOURCE_STRUCTURED, Opcode.DCL_UAV_STRUCTURED, Opcode.DCL_TGSM_STRUCTURED
    ):
        if d.stride % 4 or not 4 <= d.stride <= MAX_STRIDE:
            report(f"stride {d.stride} is not a multiple of 4 up to {MAX_STRIDE}", d)
    elif d.opcode is Opcode.DCL_TGSM_RAW and (d.count % 4 or not d.count):
        report(f"{d.count} bytes are not a multiple of 4", d)
    if expected is RegisterType.UNORDERED_ACCESS_VIEW:
        extended = UavFlags.RASTERIZER_ORDERED
        if d.uav_flags & extended and (program.type is not ProgramType.PIXEL or program.major < 5):
            report("rasterizer ordered views exist in pixel shaders of model 5", d)


def _signature_register(
    program: Program, phase: Phase | None, d: Declaration, registers: Registers, report: Report
) -> None:
    output = d.opcode in _OUTPUT_OPCODES
    operand = d.operand
    if operand is None:
        report("has no operand", d)
        return
    type_ = operand.type
    stages = (_OUTPUTS if output else _INPUTS).get(type_)
    if stages is None or program.type not in stages:
        name = REGISTERS.get(type_, "a literal")
        report(f"{name} is no {'output' if output else 'input'} of {program.type.prefix} programs", d)
        return
    if type_ is RegisterType.INPUT and program.type is ProgramType.PIXEL and d.opcode is Opcode.DCL_INPUT:
        report("pixel shader inputs are declared with dcl_input_ps", d)
    if _plain_indices(d, index_count(type_, program, phase), report) is None:
        return
    register = operand.indices[-1].immediate if operand.indices else 0
    highest = 7 if output and program.type is ProgramType.PIXEL else _HIGHEST_REGISTER
    if register > highest:
        report(f"register {register} is beyond {highest}", d)
    if len(operand.indices) == 2:
        _vertex_count(d, type_, operand.indices[0].immediate, registers, report)
    mask = operand.mask if operand.components else 0xF
    if operand.components == 4 and operand.mask == 0:
        mask = 1  # a scalar written without a mask
    key = (type_, register)
    # A GS declares the same register once per stream.
    registers.masks[key] = registers.masks.get(key, 0) | mask
    if d.system_value is SystemValue.UNDEFINED and d.opcode not in (
        Opcode.DCL_INPUT, Opcode.DCL_INPUT_PS, Opcode.DCL_OUTPUT
    ):
        report("names no system value", d)
    # The position is interpolated without perspective, whatever else is.
    noperspective = (
        Interpolation.LINEAR_NOPERSPECTIVE,
        Interpolation.LINEAR_NOPERSPECTIVE_CENTROID,
        Interpolation.LINEAR_NOPERSPECTIVE_SAMPLE,
    )
    if d.opcode is Opcode.DCL_INPUT_PS_SIV and d.system_value is SystemValue.POSITION:
        if d.interpolation not in noperspective:
            report("position is interpolated noperspective", d)


def _vertex_count(d: Declaration, type_: RegisterType, count: int, registers: Registers, report: Report) -> None:
    expected = registers.expected_vertices.get(type_)
    if not 1 <= count <= 32 or (expected is not None and count != expected):
        report(f"{count} vertices or control points, expected {expected if expected is not None else '1 to 32'}", d)
    registers.vertices[type_] = count


def _index_range(d: Declaration, registers: Registers, report: Report) -> None:
    operand = d.operand
    if operand is None or not operand.indices or any(index.relative is not None for index in operand.indices):
        report("its operand must have immediate indices", d)
        return
    first = operand.indices[-1].immediate
    if d.count < 1 or first + d.count > _HIGHEST_REGISTER + 1:
        report(f"registers {first} to {first + d.count - 1} are no range", d)
        return
    for register in range(first, first + d.count):
        if operand.mask & ~registers.masks.get((operand.type, register), 0):
            report(f"register {register} of the range is not declared with these components", d)
        registers.ranges.add((operand.type, register))


def _function(d: Declaration, registers: Registers, report: Report) -> None:
    types = {
        Opcode.DCL_FUNCTION_BODY: RegisterType.FUNCTION_BODY,
        Opcode.DCL_FUNCTION_TABLE: RegisterType.FUNCTION_TABLE,
        Opcode.DCL_INTERFACE: RegisterType.INTERFACE,
    }
    key = (types[d.opcode], d.register)
    if key in registers.functions:
        report(f"number {d.register} is declared twice", d)
    registers.functions[key] = d
    member = RegisterType.FUNCTION_BODY if d.opcode is Opcode.DCL_FUNCTION_TABLE else RegisterType.FUNCTION_TABLE
    for number in d.members:
        if (member, number) not in registers.functions:
            report(f"its member {number} is not declared before it", d)


def _check_totals(
    program: Program, declarations: list[Declaration], registers: Registers, report: Report
) -> None:
    """Limits that several declarations share."""
    temps = registers.temps + sum(d.count for d in registers.arrays.values())
    if temps > MAX_TEMPS:
        report(f"{temps} temps and array elements, at most {MAX_TEMPS}", program)
    shared = sum(
        d.count * (d.stride if d.opcode is Opcode.DCL_TGSM_STRUCTURED else 1)
        for d in declarations if d.opcode in (Opcode.DCL_TGSM_RAW, Opcode.DCL_TGSM_STRUCTURED)
    )
    limit = 32768 if program.major >= 5 else 16384
    if shared > limit:
        report(f"{shared} bytes of shared memory, at most {limit}", program)
    _check_distances(declarations, report)
    maxout = program.find(Opcode.DCL_MAXOUT)
    if program.type is ProgramType.GEOMETRY and maxout is not None:
        scalars = sum(m.bit_count() for (type_, _), m in registers.masks.items() if type_ is RegisterType.OUTPUT)
        if scalars * maxout.count > 1024:
            report(f"{maxout.count} vertices of {scalars} scalars are beyond 1024 scalars", maxout)


def _check_distances(declarations: list[Declaration], report: Report) -> None:
    """At most 8 clip and cull distances in at most 2 registers, on either side of the program."""
    for opcodes in (_INPUT_OPCODES, _OUTPUT_OPCODES):
        masks: dict[int, int] = {}
        last: Declaration | None = None
        for d in declarations:
            if d.opcode in opcodes and d.operand is not None and d.operand.indices:
                if d.system_value in (SystemValue.CLIP_DISTANCE, SystemValue.CULL_DISTANCE):
                    register, last = d.operand.indices[-1].immediate, d
                    masks[register] = masks.get(register, 0) | d.operand.mask
        if len(masks) > 2 or sum(mask.bit_count() for mask in masks.values()) > 8:
            report("more than 8 clip and cull distances, or more than 2 registers of them", last)
