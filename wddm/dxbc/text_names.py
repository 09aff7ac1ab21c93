"""The words of the assembly listing: one table per enumeration, read by assembler and disassembler alike."""

from __future__ import annotations

from typing import TypeVar

from .opcodes import (
    CustomDataClass,
    Dimension,
    GlobalFlags,
    Interpolation,
    MinPrecision,
    Opcode,
    Primitive,
    RegisterType,
    ReturnType,
    SamplerMode,
    SyncFlags,
    SystemValue,
    TessDomain,
    TessOutput,
    TessPartitioning,
    Topology,
    UavFlags,
)
from .signature import ComponentType, D3DName

__all__ = [
    "BARE_COMPONENTS",
    "BRACKETED",
    "COMPONENT_TYPES",
    "CUSTOM_DATA",
    "DECLARATION_NAMES",
    "DIMENSIONS",
    "GLOBAL_FLAGS",
    "INTERPOLATIONS",
    "MIN_PRECISIONS",
    "PRIMITIVES",
    "REGISTERS",
    "RETURN_TYPES",
    "SAMPLER_MODES",
    "SYNC_FLAGS",
    "SYSTEM_VALUES",
    "SYSVALUE_COLUMN",
    "TESS_DOMAINS",
    "TESS_OUTPUTS",
    "TESS_PARTITIONINGS",
    "TOPOLOGIES",
    "UAV_FLAGS",
    "lookup",
]

REGISTERS: dict[RegisterType, str] = {
    RegisterType.TEMP: "r",
    RegisterType.INPUT: "v",
    RegisterType.OUTPUT: "o",
    RegisterType.INDEXABLE_TEMP: "x",
    RegisterType.SAMPLER: "s",
    RegisterType.RESOURCE: "t",
    RegisterType.CONSTANT_BUFFER: "cb",
    RegisterType.IMMEDIATE_CONSTANT_BUFFER: "icb",
    RegisterType.LABEL: "l",
    RegisterType.INPUT_PRIMITIVEID: "vPrim",
    RegisterType.OUTPUT_DEPTH: "oDepth",
    RegisterType.NULL: "null",
    RegisterType.RASTERIZER: "rasterizer",
    RegisterType.OUTPUT_COVERAGE_MASK: "oMask",
    RegisterType.STREAM: "m",
    RegisterType.FUNCTION_BODY: "fb",
    RegisterType.FUNCTION_TABLE: "ft",
    RegisterType.INTERFACE: "fp",
    RegisterType.FUNCTION_INPUT: "fi",
    RegisterType.FUNCTION_OUTPUT: "fo",
    RegisterType.OUTPUT_CONTROL_POINT_ID: "vOutputControlPointID",
    RegisterType.INPUT_FORK_INSTANCE_ID: "vForkInstanceID",
    RegisterType.INPUT_JOIN_INSTANCE_ID: "vJoinInstanceID",
    RegisterType.INPUT_CONTROL_POINT: "vicp",  # "vcp" in domain shaders
    RegisterType.OUTPUT_CONTROL_POINT: "vocp",
    RegisterType.INPUT_PATCH_CONSTANT: "vpc",
    RegisterType.INPUT_DOMAIN_POINT: "vDomain",
    RegisterType.THIS_POINTER: "this",
    RegisterType.UNORDERED_ACCESS_VIEW: "u",
    RegisterType.THREAD_GROUP_SHARED_MEMORY: "g",
    RegisterType.INPUT_THREAD_ID: "vThreadID",
    RegisterType.INPUT_THREAD_GROUP_ID: "vThreadGroupID",
    RegisterType.INPUT_THREAD_ID_IN_GROUP: "vThreadIDInGroup",
    RegisterType.INPUT_COVERAGE_MASK: "vCoverage",
    RegisterType.INPUT_THREAD_ID_IN_GROUP_FLATTENED: "vThreadIDInGroupFlattened",
    RegisterType.INPUT_GS_INSTANCE_ID: "vGSInstanceID",
    RegisterType.OUTPUT_DEPTH_GREATER_EQUAL: "oDepthGE",
    RegisterType.OUTPUT_DEPTH_LESS_EQUAL: "oDepthLE",
    RegisterType.CYCLE_COUNTER: "vCycleCounter",
    RegisterType.OUTPUT_STENCIL_REF: "oStencilRef",
    RegisterType.INNER_COVERAGE: "vInnerCoverage",
}

BRACKETED = frozenset({RegisterType.IMMEDIATE_CONSTANT_BUFFER, RegisterType.THIS_POINTER})
"""Register files whose first index stands in brackets, not in the name."""

# Components and mask of a register that is written without a suffix, where that is not (0, 0).
BARE_COMPONENTS: dict[RegisterType, tuple[int, int]] = {
    RegisterType.INPUT_PRIMITIVEID: (1, 0),
    RegisterType.OUTPUT_DEPTH: (1, 0),
    RegisterType.OUTPUT_DEPTH_GREATER_EQUAL: (1, 0),
    RegisterType.OUTPUT_DEPTH_LESS_EQUAL: (1, 0),
    RegisterType.OUTPUT_COVERAGE_MASK: (1, 0),
    RegisterType.OUTPUT_STENCIL_REF: (1, 0),
    RegisterType.INPUT_COVERAGE_MASK: (1, 0),
    RegisterType.INNER_COVERAGE: (1, 0),
    RegisterType.OUTPUT_CONTROL_POINT_ID: (1, 0),
    RegisterType.INPUT_FORK_INSTANCE_ID: (4, 0),
    RegisterType.INPUT_JOIN_INSTANCE_ID: (4, 0),
    RegisterType.INPUT_GS_INSTANCE_ID: (4, 0),
    RegisterType.INPUT_THREAD_ID_IN_GROUP_FLATTENED: (4, 0),
}

DIMENSIONS: dict[Dimension, str] = {
    Dimension.UNKNOWN: "unknown",
    Dimension.BUFFER: "buffer",
    Dimension.TEXTURE1D: "texture1d",
    Dimension.TEXTURE2D: "texture2d",
    Dimension.TEXTURE2DMS: "texture2dms",
    Dimension.TEXTURE3D: "texture3d",
    Dimension.TEXTURECUBE: "texturecube",
    Dimension.TEXTURE1DARRAY: "texture1darray",
    Dimension.TEXTURE2DARRAY: "texture2darray",
    Dimension.TEXTURE2DMSARRAY: "texture2dmsarray",
    Dimension.TEXTURECUBEARRAY: "texturecubearray",
    Dimension.RAW_BUFFER: "raw_buffer",
    Dimension.STRUCTURED_BUFFER: "structured_buffer",
}

RETURN_TYPES: dict[ReturnType, str] = {
    ReturnType.UNORM: "unorm",
    ReturnType.SNORM: "snorm",
    ReturnType.SINT: "sint",
    ReturnType.UINT: "uint",
    ReturnType.FLOAT: "float",
    ReturnType.MIXED: "mixed",
    ReturnType.DOUBLE: "double",
    ReturnType.CONTINUED: "continued",
    ReturnType.UNUSED: "unused",
}

SYSTEM_VALUES: dict[SystemValue, str] = {
    SystemValue.UNDEFINED: "undefined",
    SystemValue.POSITION: "position",
    SystemValue.CLIP_DISTANCE: "clip_distance",
    SystemValue.CULL_DISTANCE: "cull_distance",
    SystemValue.RENDER_TARGET_ARRAY_INDEX: "rendertarget_array_index",
    SystemValue.VIEWPORT_ARRAY_INDEX: "viewport_array_index",
    SystemValue.VERTEX_ID: "vertex_id",
    SystemValue.PRIMITIVE_ID: "primitive_id",
    SystemValue.INSTANCE_ID: "instance_id",
    SystemValue.IS_FRONT_FACE: "is_front_face",
    SystemValue.SAMPLE_INDEX: "sampleIndex",
    SystemValue.FINAL_QUAD_U_EQ_0_EDGE_TESSFACTOR: "finalQuadUeq0EdgeTessFactor",
    SystemValue.FINAL_QUAD_V_EQ_0_EDGE_TESSFACTOR: "finalQuadVeq0EdgeTessFactor",
    SystemValue.FINAL_QUAD_U_EQ_1_EDGE_TESSFACTOR: "finalQuadUeq1EdgeTessFactor",
    SystemValue.FINAL_QUAD_V_EQ_1_EDGE_TESSFACTOR: "finalQuadVeq1EdgeTessFactor",
    SystemValue.FINAL_QUAD_U_INSIDE_TESSFACTOR: "finalQuadUInsideTessFactor",
    SystemValue.FINAL_QUAD_V_INSIDE_TESSFACTOR: "finalQuadVInsideTessFactor",
    SystemValue.FINAL_TRI_U_EQ_0_EDGE_TESSFACTOR: "finalTriUeq0EdgeTessFactor",
    SystemValue.FINAL_TRI_V_EQ_0_EDGE_TESSFACTOR: "finalTriVeq0EdgeTessFactor",
    SystemValue.FINAL_TRI_W_EQ_0_EDGE_TESSFACTOR: "finalTriWeq0EdgeTessFactor",
    SystemValue.FINAL_TRI_INSIDE_TESSFACTOR: "finalTriInsideTessFactor",
    SystemValue.FINAL_LINE_DETAIL_TESSFACTOR: "finalLineDetailTessFactor",
    SystemValue.FINAL_LINE_DENSITY_TESSFACTOR: "finalLineDensityTessFactor",
}

INTERPOLATIONS: dict[Interpolation, str] = {
    Interpolation.UNDEFINED: "",
    Interpolation.CONSTANT: "constant",
    Interpolation.LINEAR: "linear",
    Interpolation.LINEAR_CENTROID: "linear centroid",
    Interpolation.LINEAR_NOPERSPECTIVE: "linear noperspective",
    Interpolation.LINEAR_NOPERSPECTIVE_CENTROID: "linear noperspective centroid",
    Interpolation.LINEAR_SAMPLE: "linear sample",
    Interpolation.LINEAR_NOPERSPECTIVE_SAMPLE: "linear noperspective sample",
}

SAMPLER_MODES: dict[SamplerMode, str] = {
    SamplerMode.DEFAULT: "mode_default",
    SamplerMode.COMPARISON: "mode_comparison",
    SamplerMode.MONO: "mode_mono",
}

PRIMITIVES: dict[Primitive, str] = {
    Primitive.UNDEFINED: "undefined",
    Primitive.POINT: "point",
    Primitive.LINE: "line",
    Primitive.TRIANGLE: "triangle",
    Primitive.LINE_ADJ: "lineadj",
    Primitive.TRIANGLE_ADJ: "triangleadj",
    **{Primitive(7 + n): f"patch{n}" for n in range(1, 33)},
}

TOPOLOGIES: dict[Topology, str] = {
    Topology.UNDEFINED: "undefined",
    Topology.POINTLIST: "pointlist",
    Topology.LINELIST: "linelist",
    Topology.LINESTRIP: "linestrip",
    Topology.TRIANGLELIST: "trianglelist",
    Topology.TRIANGLESTRIP: "trianglestrip",
    Topology.LINELIST_ADJ: "linelistadj",
    Topology.LINESTRIP_ADJ: "linestripadj",
    Topology.TRIANGLELIST_ADJ: "trianglelistadj",
    Topology.TRIANGLESTRIP_ADJ: "trianglestripadj",
}

TESS_DOMAINS: dict[TessDomain, str] = {
    TessDomain.UNDEFINED: "domain_undefined",
    TessDomain.ISOLINE: "domain_isoline",
    TessDomain.TRI: "domain_tri",
    TessDomain.QUAD: "domain_quad",
}

TESS_PARTITIONINGS: dict[TessPartitioning, str] = {
    TessPartitioning.UNDEFINED: "partitioning_undefined",
    TessPartitioning.INTEGER: "partitioning_integer",
    TessPartitioning.POW2: "partitioning_pow2",
    TessPartitioning.FRACTIONAL_ODD: "partitioning_fractional_odd",
    TessPartitioning.FRACTIONAL_EVEN: "partitioning_fractional_even",
}

TESS_OUTPUTS: dict[TessOutput, str] = {
    TessOutput.UNDEFINED: "output_undefined",
    TessOutput.POINT: "output_point",
    TessOutput.LINE: "output_line",
    TessOutput.TRIANGLE_CW: "output_triangle_cw",
    TessOutput.TRIANGLE_CCW: "output_triangle_ccw",
}

GLOBAL_FLAGS: dict[GlobalFlags, str] = {
    GlobalFlags.REFACTORING_ALLOWED: "refactoringAllowed",
    GlobalFlags.DOUBLE_PRECISION: "enableDoublePrecisionFloatOps",
    GlobalFlags.FORCE_EARLY_DEPTH_STENCIL: "forceEarlyDepthStencil",
    GlobalFlags.RAW_AND_STRUCTURED_BUFFERS: "enableRawAndStructuredBuffers",
    GlobalFlags.SKIP_OPTIMIZATION: "skipOptimization",
    GlobalFlags.MIN_PRECISION: "enableMinimumPrecision",
    GlobalFlags.DOUBLE_EXTENSIONS_11_1: "enable11_1DoubleExtensions",
    GlobalFlags.SHADER_EXTENSIONS_11_1: "enable11_1ShaderExtensions",
    GlobalFlags.ALL_RESOURCES_BOUND: "allResourcesBound",
}

SYNC_FLAGS: dict[SyncFlags, str] = {
    SyncFlags.UAV_GLOBAL: "uglobal",
    SyncFlags.UAV_GROUP: "ugroup",
    SyncFlags.SHARED_MEMORY: "g",
    SyncFlags.THREADS_IN_GROUP: "t",
}

UAV_FLAGS: dict[UavFlags, str] = {
    UavFlags.GLOBALLY_COHERENT: "glc",
    UavFlags.RASTERIZER_ORDERED: "rov",
    UavFlags.HAS_COUNTER: "opc",
}

MIN_PRECISIONS: dict[MinPrecision, str] = {
    MinPrecision.FLOAT16: "min16f",
    MinPrecision.FLOAT2_8: "min2_8f",
    MinPrecision.SINT16: "min16i",
    MinPrecision.UINT16: "min16u",
}

CUSTOM_DATA: dict[CustomDataClass, str] = {
    CustomDataClass.COMMENT: "comment",
    CustomDataClass.DEBUGINFO: "debuginfo",
    CustomDataClass.OPAQUE: "opaque",
    CustomDataClass.IMMEDIATE_CONSTANT_BUFFER: "immediate_constant_buffer",
    CustomDataClass.SHADER_MESSAGE: "shader_message",
    CustomDataClass.CLIP_PLANE_MAPPINGS: "clip_plane_mappings",
}

DECLARATION_NAMES: dict[Opcode, str] = {
    Opcode.DCL_GLOBALFLAGS: "dcl_globalFlags",
    Opcode.DCL_INDEXABLETEMP: "dcl_indexableTemp",
    Opcode.DCL_GS_INSTANCE_COUNT: "dcl_gsinstances",
}
"""Where the listing's spelling is not the table's mnemonic."""

COMPONENT_TYPES: dict[ComponentType, str] = {
    ComponentType.UNKNOWN: "unknown",
    ComponentType.UINT32: "uint",
    ComponentType.SINT32: "int",
    ComponentType.FLOAT32: "float",
}

SYSVALUE_COLUMN: dict[D3DName, str] = {
    D3DName.UNDEFINED: "NONE",
    D3DName.POSITION: "POS",
    D3DName.CLIP_DISTANCE: "CLIPDST",
    D3DName.CULL_DISTANCE: "CULLDST",
    D3DName.RENDER_TARGET_ARRAY_INDEX: "RTINDEX",
    D3DName.VIEWPORT_ARRAY_INDEX: "VPINDEX",
    D3DName.VERTEX_ID: "VERTID",
    D3DName.PRIMITIVE_ID: "PRIMID",
    D3DName.INSTANCE_ID: "INSTID",
    D3DName.IS_FRONT_FACE: "FFACE",
    D3DName.SAMPLE_INDEX: "SAMPLE",
    D3DName.FINAL_QUAD_EDGE_TESSFACTOR: "QUADEDGE",
    D3DName.FINAL_QUAD_INSIDE_TESSFACTOR: "QUADINT",
    D3DName.FINAL_TRI_EDGE_TESSFACTOR: "TRIEDGE",
    D3DName.FINAL_TRI_INSIDE_TESSFACTOR: "TRIINT",
    D3DName.FINAL_LINE_DETAIL_TESSFACTOR: "LINEDET",
    D3DName.FINAL_LINE_DENSITY_TESSFACTOR: "LINEDEN",
    D3DName.TARGET: "TARGET",
    D3DName.DEPTH: "DEPTH",
    D3DName.COVERAGE: "COVERAGE",
    D3DName.DEPTH_GREATER_EQUAL: "DEPTHGE",
    D3DName.DEPTH_LESS_EQUAL: "DEPTHLE",
    D3DName.STENCIL_REF: "STENCILREF",
    D3DName.INNER_COVERAGE: "INNERCOV",
}


_T = TypeVar("_T")


def lookup(table: dict[_T, str]) -> dict[str, _T]:
    """Word in lower case → member."""
    return {word.lower(): member for member, word in table.items()}
