"""Declarations: what a token program says about itself, as declaration records of the hardware and as facts for operands."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from umd.shader.errors import ShaderError
from umd.shader.translator import Body, Interface, Resource, SharedBlock, Translator
from wddm.dxbc.opcodes import OPCODES, CustomDataClass, Dimension, Opcode, ProgramType, RegisterType, UavFlags
from wddm.dxbc.program import Declaration, float_bits
from wddm.hw.descriptors import ViewDimension
from wddm.hw.isa import (
    DECLARATION,
    MAX_ARRAY_DWORDS,
    MAX_IO_REGISTERS,
    MAX_SHARED,
    OUTPUT_COVERAGE_REGISTER,
    OUTPUT_DEPTH_REGISTER,
    OUTPUT_STENCIL_REGISTER,
    DeclarationKind,
    Interpolation,
    ProgramFlag,
    ShaderProgram,
    SystemRegister,
    SystemValue,
)

_DIMENSIONS = {
    Dimension.BUFFER: ViewDimension.BUFFER,
    Dimension.TEXTURE1D: ViewDimension.TEXTURE1D,
    Dimension.TEXTURE2D: ViewDimension.TEXTURE2D,
    Dimension.TEXTURE2DMS: ViewDimension.TEXTURE2D,
    Dimension.TEXTURE3D: ViewDimension.TEXTURE3D,
    Dimension.TEXTURECUBE: ViewDimension.TEXTURECUBE,
    Dimension.TEXTURE1DARRAY: ViewDimension.TEXTURE1D,
    Dimension.TEXTURE2DARRAY: ViewDimension.TEXTURE2D,
    Dimension.TEXTURE2DMSARRAY: ViewDimension.TEXTURE2D,
    Dimension.TEXTURECUBEARRAY: ViewDimension.TEXTURECUBE,
    Dimension.RAW_BUFFER: ViewDimension.RAW_BUFFER,
    Dimension.STRUCTURED_BUFFER: ViewDimension.STRUCTURED_BUFFER,
}
#: System values that the hardware makes, by the stage that reads them; others arrive like any input.
_MADE = {
    ProgramType.VERTEX: {
        SystemValue.VERTEX_ID: SystemRegister.VERTEX_ID,
        SystemValue.INSTANCE_ID: SystemRegister.INSTANCE_ID,
    },
    ProgramType.PIXEL: {
        SystemValue.POSITION: SystemRegister.POSITION_X,
        SystemValue.IS_FRONT_FACE: SystemRegister.FRONT_FACE,
        SystemValue.SAMPLE_INDEX: SystemRegister.SAMPLE_INDEX,
        SystemValue.PRIMITIVE_ID: SystemRegister.PRIMITIVE_ID,
        SystemValue.RENDER_TARGET_ARRAY_INDEX: SystemRegister.RENDER_TARGET_ARRAY_INDEX,
        SystemValue.VIEWPORT_ARRAY_INDEX: SystemRegister.VIEWPORT_ARRAY_INDEX,
    },
}
_SPECIAL_OUTPUTS = {
    RegisterType.OUTPUT_DEPTH: (OUTPUT_DEPTH_REGISTER, SystemValue.DEPTH),
    RegisterType.OUTPUT_DEPTH_GREATER_EQUAL: (OUTPUT_DEPTH_REGISTER, SystemValue.DEPTH_GREATER_EQUAL),
    RegisterType.OUTPUT_DEPTH_LESS_EQUAL: (OUTPUT_DEPTH_REGISTER, SystemValue.DEPTH_LESS_EQUAL),
    RegisterType.OUTPUT_COVERAGE_MASK: (OUTPUT_COVERAGE_REGISTER, SystemValue.COVERAGE),
    RegisterType.OUTPUT_STENCIL_REF: (OUTPUT_STENCIL_REGISTER, SystemValue.STENCIL_REF),
}
_SAMPLE_MODES = (Interpolation.LINEAR_SAMPLE, Interpolation.LINEAR_NOPERSPECTIVE_SAMPLE)
_INPUTS = (
    Opcode.DCL_INPUT,
    Opcode.DCL_INPUT_SGV,
    Opcode.DCL_INPUT_SIV,
    Opcode.DCL_INPUT_PS,
    Opcode.DCL_INPUT_PS_SGV,
    Opcode.DCL_INPUT_PS_SIV,
)
_OUTPUTS = (Opcode.DCL_OUTPUT, Opcode.DCL_OUTPUT_SGV, Opcode.DCL_OUTPUT_SIV)


@dataclass(slots=True)
class Records:
    """Declaration records being gathered; those of one register and meaning are merged."""

    inout: dict[tuple[int, int, int, int], int] = field(default_factory=dict)  #: (kind, index, value, extra) -> mask
    others: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    flags: int = 0
    stream: int = 0

    def add(self, kind: DeclarationKind, index: int, mask: int, value: int, extra: int) -> None:
        """An input, output or patch constant."""
        key = (int(kind), index, value, extra)
        self.inout[key] = self.inout.get(key, 0) | mask

    def array(self, counters: set[int]) -> npt.NDArray[np.void]:
        """All records. The UAVs in ``counters`` get a counter: append and consume views are not declared as having one."""
        rows = [(kind, index, mask, value, more) for (kind, index, value, more), mask in self.inout.items()]
        for kind, index, mask, value, more in self.others:
            with_counter = kind == DeclarationKind.UAV and index in counters
            rows.append((kind, index, mask | 4 if with_counter else mask, value, more))
        return np.array(rows, DECLARATION)


def declare(t: Translator, declarations: list[Declaration], records: Records, shader: ShaderProgram, phase: Opcode | None) -> Body:
    """Take in the declarations of one body. ``phase`` is the hull phase they stand in."""
    body = Body()
    for d in declarations:
        try:
            _declare(t, d, body, records, shader, phase)
        except ShaderError as error:
            if error.offset is None:
                raise ShaderError(f"{OPCODES[d.opcode].mnemonic}: {error.message}", d.offset) from None
            raise
    return body


def _declare(
    t: Translator, d: Declaration, body: Body, records: Records, shader: ShaderProgram, phase: Opcode | None
) -> None:
    opcode = d.opcode
    if opcode in _INPUTS:
        _input(t, d, records)
    elif opcode in _OUTPUTS:
        _output(t, d, records, phase)
    elif opcode is Opcode.DCL_TEMPS:
        body.temps = d.count
    elif opcode is Opcode.DCL_INDEXABLETEMP:
        _array(t, d, body, records)
    elif opcode is Opcode.CUSTOMDATA:
        if d.custom_class is CustomDataClass.IMMEDIATE_CONSTANT_BUFFER:
            _constants(t, d, body)
    elif opcode is Opcode.DCL_CONSTANTBUFFER:
        _constant_buffer(d, records)
    elif opcode in (Opcode.DCL_RESOURCE, Opcode.DCL_RESOURCE_RAW, Opcode.DCL_RESOURCE_STRUCTURED):
        _resource(t, d, records)
    elif opcode in (Opcode.DCL_UAV_TYPED, Opcode.DCL_UAV_RAW, Opcode.DCL_UAV_STRUCTURED):
        _uav(t, d, records)
    elif opcode is Opcode.DCL_SAMPLER:
        if d.slot > 15:
            raise ShaderError(f"s{d.slot} does not exist")
        records.others.append((DeclarationKind.SAMPLER, d.slot, 0, int(d.sampler_mode == 1), 0))
    elif opcode in (Opcode.DCL_TGSM_RAW, Opcode.DCL_TGSM_STRUCTURED):
        _shared(t, d, shader)
    elif opcode is Opcode.DCL_STREAM:
        records.stream = d.slot
    elif opcode is Opcode.DCL_INTERFACE:
        first = sum(max(1, i.length) for i in t.interfaces.values())
        t.interfaces[d.register] = Interface(first, max(1, d.array_length), d.members)
    elif opcode is Opcode.DCL_FUNCTION_TABLE:
        t.tables[d.register] = d.members
    else:
        _fixed_function(d, records, shader)


def _fixed_function(d: Declaration, records: Records, shader: ShaderProgram) -> None:
    opcode = d.opcode
    if opcode is Opcode.DCL_GLOBALFLAGS:
        if d.flags & 1 << 2:
            records.flags |= ProgramFlag.EARLY_DEPTH_STENCIL
    elif opcode is Opcode.DCL_THREAD_GROUP:
        shader.group = d.thread_group
    elif opcode is Opcode.DCL_INPUTPRIMITIVE:
        shader.primitive = int(d.primitive)
    elif opcode is Opcode.DCL_OUTPUTTOPOLOGY:
        shader.topology = int(d.topology)
    elif opcode is Opcode.DCL_MAXOUT:
        shader.max_vertices = d.count
    elif opcode is Opcode.DCL_GS_INSTANCE_COUNT:
        shader.instances = d.count
    elif opcode is Opcode.DCL_INPUT_CONTROL_POINT_COUNT:
        shader.primitive |= d.count
    elif opcode is Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT:
        shader.primitive |= d.count << 8
    elif opcode is Opcode.DCL_TESSELLATOR_DOMAIN:
        shader.topology |= int(d.tess_domain)
    elif opcode is Opcode.DCL_TESSELLATOR_PARTITIONING:
        shader.topology |= int(d.tess_partitioning) << 4
    elif opcode is Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE:
        shader.topology |= int(d.tess_output) << 8
    elif opcode is Opcode.DCL_HS_MAX_TESSFACTOR:
        shader.max_tess_factor = float_bits(d.max_tess_factor)


def _register(d: Declaration) -> tuple[int, int]:
    """Register number and mask. Arrays of vertices have the vertex count as first index."""
    if d.operand is None or not d.operand.indices:
        raise ShaderError("no register")
    register = d.operand.indices[-1].immediate
    if register >= MAX_IO_REGISTERS:
        raise ShaderError(f"register {register}; {MAX_IO_REGISTERS} exist")
    return register, d.operand.mask


def _input(t: Translator, d: Declaration, records: Records) -> None:
    assert d.operand is not None
    type = d.operand.type
    if type is RegisterType.INPUT_PATCH_CONSTANT:
        if t.stage is ProgramType.DOMAIN:
            register, mask = _register(d)
            records.add(DeclarationKind.PATCH_CONSTANT, register, mask, int(d.system_value), 0)
        return
    if type not in (RegisterType.INPUT, RegisterType.INPUT_CONTROL_POINT):
        return  # a register that the hardware makes, or what another phase wrote
    register, mask = _register(d)
    made = _MADE.get(t.stage, {}).get(SystemValue(int(d.system_value)))
    if made is not None:
        for c in range(4):
            if mask >> c & 1:
                t.system_inputs[register, c] = made + (c if made is SystemRegister.POSITION_X else 0)
        if made is SystemRegister.SAMPLE_INDEX:
            records.flags |= ProgramFlag.SAMPLE_FREQUENCY
    interpolation = Interpolation(int(d.interpolation)) if t.stage is ProgramType.PIXEL else Interpolation.UNDEFINED
    if interpolation in _SAMPLE_MODES:
        records.flags |= ProgramFlag.SAMPLE_FREQUENCY
    if made is None:
        records.add(DeclarationKind.INPUT, register, mask, int(d.system_value), int(interpolation))


def _output(t: Translator, d: Declaration, records: Records, phase: Opcode | None) -> None:
    assert d.operand is not None
    special = _SPECIAL_OUTPUTS.get(d.operand.type)
    if special is not None:
        records.add(DeclarationKind.OUTPUT, special[0], 1, int(special[1]), 0)
        if special[0] == OUTPUT_DEPTH_REGISTER:
            records.flags |= ProgramFlag.WRITES_DEPTH
        return
    register, mask = _register(d)
    if phase in (Opcode.HS_FORK_PHASE, Opcode.HS_JOIN_PHASE):
        records.add(DeclarationKind.PATCH_CONSTANT, register, mask, int(d.system_value), 0)
        return
    value = SystemValue.TARGET if t.stage is ProgramType.PIXEL else SystemValue(int(d.system_value))
    records.add(DeclarationKind.OUTPUT, register, mask, int(value), records.stream)


def _array(t: Translator, d: Declaration, body: Body, records: Records) -> None:
    components = d.components
    dwords = d.count * components
    if not 1 <= components <= 4 or not 1 <= dwords <= MAX_ARRAY_DWORDS:
        raise ShaderError(f"x{d.register} with {d.count} elements of {components} components")
    number = sum(1 for record in records.others if record[0] == DeclarationKind.ARRAY)
    body.arrays[d.register] = (number, d.count, components)
    records.others.append((DeclarationKind.ARRAY, number, 0, dwords, 0))


def _constants(t: Translator, d: Declaration, body: Body) -> None:
    icb = t.builder.icb
    if icb:
        icb += [0, 0, 0, 0]  # a row between two blocks, so that what lies outside of one reads 0
    body.icb_base, body.icb_length = len(icb) // 4, len(d.vec4s)
    for row in d.vec4s:
        icb += row


def _constant_buffer(d: Declaration, records: Records) -> None:
    if d.operand is None or len(d.operand.indices) != 2:
        raise ShaderError("a constant buffer has a slot and a size")
    slot, size = (index.immediate for index in d.operand.indices)
    if slot > 14 or size > 4096:
        raise ShaderError(f"cb{slot}[{size}]; 15 buffers of 4096 vec4s exist")
    records.others.append((DeclarationKind.CONSTANT_BUFFER, slot, 0, size * 4, 0))


def _resource(t: Translator, d: Declaration, records: Records) -> None:
    dimension = {
        Opcode.DCL_RESOURCE_RAW: Dimension.RAW_BUFFER,
        Opcode.DCL_RESOURCE_STRUCTURED: Dimension.STRUCTURED_BUFFER,
    }.get(d.opcode, d.dimension)
    if d.slot > 127 or dimension not in _DIMENSIONS:
        raise ShaderError(f"t{d.slot} of dimension {dimension.name}")
    t.resources[d.slot] = Resource(dimension, d.stride)
    mask = int(dimension.is_array) | int(dimension.is_multisampled) << 1
    records.others.append((DeclarationKind.RESOURCE, d.slot, mask, int(_DIMENSIONS[dimension]), d.stride))


def _uav(t: Translator, d: Declaration, records: Records) -> None:
    dimension = {
        Opcode.DCL_UAV_RAW: Dimension.RAW_BUFFER,
        Opcode.DCL_UAV_STRUCTURED: Dimension.STRUCTURED_BUFFER,
    }.get(d.opcode, d.dimension)
    if d.slot > 7 or dimension not in _DIMENSIONS or dimension.is_multisampled:
        raise ShaderError(f"u{d.slot} of dimension {dimension.name}")
    t.uavs[d.slot] = Resource(dimension, d.stride)
    mask = int(dimension.is_array) | (4 if d.uav_flags & UavFlags.HAS_COUNTER else 0)
    records.others.append((DeclarationKind.UAV, d.slot, mask, int(_DIMENSIONS[dimension]), d.stride))
    records.flags |= ProgramFlag.USES_UAV


def _shared(t: Translator, d: Declaration, shader: ShaderProgram) -> None:
    size = d.count * (d.stride or 1)
    if size == 0 or size % 4 or d.stride % 4 or shader.shared_bytes + size > MAX_SHARED:
        raise ShaderError(f"g{d.slot} of {size} bytes after {shader.shared_bytes}; {MAX_SHARED} exist, in dwords")
    t.shared[d.slot] = SharedBlock(shader.shared_bytes, size, d.stride)
    shader.shared_bytes += size
