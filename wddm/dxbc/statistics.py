"""The STAT and SFI0 chunks: instruction statistics, and the optional features a shader needs."""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields
from enum import IntFlag

from .errors import DxbcError
from .opcodes import DECLARATIONS, OPCODES, Opcode, OpcodeGroup, OpcodeInfo, RegisterType, ValueType
from .program import Declaration, Instruction, Program

__all__ = ["FeatureFlags", "Statistics"]


class FeatureFlags(IntFlag):
    """SFI0: what the device must be able to do (64 bits)."""

    NONE = 0
    DOUBLES = 1 << 0
    COMPUTE_PLUS_RAW_AND_STRUCTURED_BUFFERS_IN_4_X = 1 << 1
    UAVS_AT_EVERY_STAGE = 1 << 2
    SIXTY_FOUR_UAVS = 1 << 3
    MINIMUM_PRECISION = 1 << 4
    DOUBLE_EXTENSIONS_11_1 = 1 << 5
    SHADER_EXTENSIONS_11_1 = 1 << 6
    LEVEL_9_COMPARISON_FILTERING = 1 << 7
    TILED_RESOURCES = 1 << 8
    STENCIL_REF = 1 << 9
    INNER_COVERAGE = 1 << 10
    TYPED_UAV_LOAD_ADDITIONAL_FORMATS = 1 << 11
    RASTERIZER_ORDERED_VIEWS = 1 << 12
    VIEWPORT_AND_RT_ARRAY_INDEX_FROM_ANY_STAGE = 1 << 13

    @classmethod
    def parse(cls, data: bytes) -> FeatureFlags:
        """Read a chunk payload.  :raises DxbcError: not 8 bytes, or unknown flags."""
        if len(data) != 8:
            raise DxbcError(f"SFI0 of {len(data)} bytes, it has 8", 0)
        (bits,) = struct.unpack("<Q", data)
        if bits >> 14:
            raise DxbcError(f"SFI0 has unknown flags 0x{bits >> 14 << 14:x}", 0)
        return cls(bits)

    def to_chunk(self) -> bytes:
        """The chunk payload."""
        return struct.pack("<Q", self.value)


@dataclass(slots=True)
class Statistics:
    """STAT: counts of what the compiler produced; purely informative.  Fields stand in stored order."""

    instructions: int = 0
    temps: int = 0
    defs: int = 0
    declarations: int = 0
    float_ops: int = 0
    int_ops: int = 0
    uint_ops: int = 0
    static_flow: int = 0
    dynamic_flow: int = 0
    macros: int = 0
    temp_arrays: int = 0
    array_ops: int = 0
    cuts: int = 0
    emits: int = 0
    texture_normal: int = 0
    texture_loads: int = 0
    texture_compares: int = 0
    texture_bias: int = 0
    texture_gradients: int = 0
    movs: int = 0
    movcs: int = 0
    conversions: int = 0
    bitwise: int = 0
    input_primitive: int = 0
    output_topology: int = 0
    max_output_vertices: int = 0
    gathers: int = 0
    lod_queries: int = 0
    sample_frequency: int = 0
    # From here on shader model 5.
    gs_instances: int = 0
    control_points: int = 0
    tess_output_primitive: int = 0
    tess_partitioning: int = 0
    tess_domain: int = 0
    barriers: int = 0
    interlocked: int = 0
    texture_stores: int = 0

    @classmethod
    def parse(cls, data: bytes) -> Statistics:
        """Read a chunk payload of 29 (shader model 4) or 37 dwords.  :raises DxbcError: any other size."""
        if len(data) not in (4 * 29, 4 * 37):
            raise DxbcError(f"STAT of {len(data)} bytes, it has 116 or 148", 0)
        return cls(*struct.unpack(f"<{len(data) // 4}I", data))

    def to_bytes(self, major: int = 5) -> bytes:
        """The chunk payload for that shader model.  :raises DxbcError: a count beyond 32 bits."""
        values = [getattr(self, f.name) for f in fields(self)][: 37 if major >= 5 else 29]
        try:
            return struct.pack(f"<{len(values)}I", *values)
        except struct.error:
            raise DxbcError("STAT: a count does not fit a dword") from None

    @classmethod
    def of(cls, program: Program) -> Statistics:
        """Count a program; of a hull shader, over all its phases (temps: the phase that needs most)."""
        statistics = cls()
        for _, declarations, instructions in program.bodies():
            for declaration in declarations:
                _count_declaration(statistics, declaration)
            for instruction in instructions:
                if instruction.opcode is not Opcode.CUSTOMDATA:
                    _count_instruction(statistics, instruction)
        return statistics


_BY_OPCODE = {
    Opcode.CUT: "cuts", Opcode.CUT_STREAM: "cuts", Opcode.EMIT: "emits", Opcode.EMIT_STREAM: "emits",
    Opcode.MOV: "movs", Opcode.MOVC: "movcs", Opcode.SYNC: "barriers", Opcode.LOD: "lod_queries",
    Opcode.LD: "texture_loads", Opcode.LD_MS: "texture_loads", Opcode.LD_UAV_TYPED: "texture_loads",
    Opcode.LD_RAW: "texture_loads", Opcode.LD_STRUCTURED: "texture_loads", Opcode.STORE_UAV_TYPED: "texture_stores",
    Opcode.STORE_RAW: "texture_stores", Opcode.STORE_STRUCTURED: "texture_stores",
    Opcode.SAMPLE: "texture_normal", Opcode.SAMPLE_L: "texture_normal", Opcode.SAMPLE_B: "texture_bias",
    Opcode.SAMPLE_D: "texture_gradients", Opcode.SAMPLE_C: "texture_compares", Opcode.SAMPLE_C_LZ: "texture_compares",
    Opcode.GATHER4: "gathers", Opcode.GATHER4_C: "gathers", Opcode.GATHER4_PO: "gathers",
    Opcode.GATHER4_PO_C: "gathers", Opcode.CALL: "static_flow",
    **dict.fromkeys((Opcode.IF, Opcode.BREAKC, Opcode.CONTINUEC, Opcode.RETC, Opcode.CALLC, Opcode.SWITCH,
                     Opcode.DISCARD), "dynamic_flow"),
    **dict.fromkeys((Opcode.LOOP, Opcode.ELSE, Opcode.BREAK, Opcode.CONTINUE, Opcode.CASE, Opcode.DEFAULT,
                     Opcode.RET), "static_flow"),
}
_BY_GROUP = {
    OpcodeGroup.BITWISE: "bitwise", OpcodeGroup.CONVERT: "conversions", OpcodeGroup.ATOMIC: "interlocked",
}
_BY_TYPE = {ValueType.FLOAT: "float_ops", ValueType.INT: "int_ops", ValueType.UINT: "uint_ops"}
_ARITHMETIC = frozenset({
    OpcodeGroup.FLOAT, OpcodeGroup.COMPARE, OpcodeGroup.INTEGER, OpcodeGroup.DERIVATIVE, OpcodeGroup.DOUBLE,
})
_COPIED = {
    Opcode.DCL_INPUTPRIMITIVE: ("input_primitive", "primitive"),
    Opcode.DCL_OUTPUTTOPOLOGY: ("output_topology", "topology"),
    Opcode.DCL_MAXOUT: ("max_output_vertices", "count"),
    Opcode.DCL_GS_INSTANCE_COUNT: ("gs_instances", "count"),
    Opcode.DCL_INPUT_CONTROL_POINT_COUNT: ("control_points", "count"),
    Opcode.DCL_TESSELLATOR_DOMAIN: ("tess_domain", "tess_domain"),
    Opcode.DCL_TESSELLATOR_PARTITIONING: ("tess_partitioning", "tess_partitioning"),
    Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE: ("tess_output_primitive", "tess_output"),
}


def _count_declaration(statistics: Statistics, declaration: Declaration) -> None:
    opcode = declaration.opcode
    if opcode in DECLARATIONS:
        statistics.declarations += 1
    if opcode in _COPIED:
        name, source = _COPIED[opcode]
        setattr(statistics, name, int(getattr(declaration, source)))
    elif opcode is Opcode.DCL_TEMPS:
        statistics.temps = max(statistics.temps, declaration.count)
    elif opcode is Opcode.DCL_INDEXABLETEMP:
        statistics.temp_arrays += declaration.count


def _count_instruction(statistics: Statistics, instruction: Instruction) -> None:
    info: OpcodeInfo = OPCODES[instruction.opcode]
    names = [_BY_OPCODE.get(info.opcode), _BY_GROUP.get(info.group)]
    if info.group in _ARITHMETIC:
        # Comparisons and conversions count by what they read.
        names.append(_BY_TYPE.get(info.types[-1]))
    if any(operand.type is RegisterType.INDEXABLE_TEMP for operand in instruction.operands):
        names.append("array_ops")
    statistics.instructions += 1
    for name in names:
        if name is not None:
            setattr(statistics, name, getattr(statistics, name) + 1)
