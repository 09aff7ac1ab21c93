"""The numbers of shader model 4 and 5 token programs: opcodes, register types, names, modes.

Owns every enumeration of the D3D tokenized program format and one table, :data:`OPCODES`, that says for each
opcode which operands it takes, which type they have, where it may stand.  Reads and writes no bytes; the codec
(:mod:`wddm.dxbc.tokens`), the assembler and the checker are all driven from this table.

Models the public D3D11 tokenized program format header and chapters 7 and 22 of the D3D11.3 functional specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum, IntFlag

__all__ = [
    "DECLARATIONS",
    "MNEMONICS",
    "OPCODES",
    "CustomDataClass",
    "Dimension",
    "GlobalFlags",
    "Interpolation",
    "MinPrecision",
    "Modifier",
    "Opcode",
    "OpcodeGroup",
    "OpcodeInfo",
    "OperandKind",
    "Primitive",
    "ProgramType",
    "RegisterType",
    "ResinfoReturn",
    "ReturnType",
    "SamplerMode",
    "Selection",
    "SyncFlags",
    "SystemValue",
    "TessDomain",
    "TessOutput",
    "TessPartitioning",
    "Topology",
    "UavFlags",
    "ValueType",
]


class ProgramType(IntEnum):
    """Stage of a program: bits 31:16 of the version token."""

    PIXEL = 0
    VERTEX = 1
    GEOMETRY = 2
    HULL = 3
    DOMAIN = 4
    COMPUTE = 5

    @property
    def prefix(self) -> str:
        """Two letters of the profile name: ``ps``, ``vs``, ``gs``, ``hs``, ``ds`` or ``cs``."""
        return ("ps", "vs", "gs", "hs", "ds", "cs")[self]


class Opcode(IntEnum):
    """Bits 10:0 of an opcode token; all 235 numbers."""

    ADD = 0
    AND = 1
    BREAK = 2
    BREAKC = 3
    CALL = 4
    CALLC = 5
    CASE = 6
    CONTINUE = 7
    CONTINUEC = 8
    CUT = 9
    DEFAULT = 10
    DERIV_RTX = 11
    DERIV_RTY = 12
    DISCARD = 13
    DIV = 14
    DP2 = 15
    DP3 = 16
    DP4 = 17
    ELSE = 18
    EMIT = 19
    EMITTHENCUT = 20
    ENDIF = 21
    ENDLOOP = 22
    ENDSWITCH = 23
    EQ = 24
    EXP = 25
    FRC = 26
    FTOI = 27
    FTOU = 28
    GE = 29
    IADD = 30
    IF = 31
    IEQ = 32
    IGE = 33
    ILT = 34
    IMAD = 35
    IMAX = 36
    IMIN = 37
    IMUL = 38
    INE = 39
    INEG = 40
    ISHL = 41
    ISHR = 42
    ITOF = 43
    LABEL = 44
    LD = 45
    LD_MS = 46
    LOG = 47
    LOOP = 48
    LT = 49
    MAD = 50
    MIN = 51
    MAX = 52
    CUSTOMDATA = 53
    MOV = 54
    MOVC = 55
    MUL = 56
    NE = 57
    NOP = 58
    NOT = 59
    OR = 60
    RESINFO = 61
    RET = 62
    RETC = 63
    ROUND_NE = 64
    ROUND_NI = 65
    ROUND_PI = 66
    ROUND_Z = 67
    RSQ = 68
    SAMPLE = 69
    SAMPLE_C = 70
    SAMPLE_C_LZ = 71
    SAMPLE_L = 72
    SAMPLE_D = 73
    SAMPLE_B = 74
    SQRT = 75
    SWITCH = 76
    SINCOS = 77
    UDIV = 78
    ULT = 79
    UGE = 80
    UMUL = 81
    UMAD = 82
    UMAX = 83
    UMIN = 84
    USHR = 85
    UTOF = 86
    XOR = 87
    DCL_RESOURCE = 88
    DCL_CONSTANTBUFFER = 89
    DCL_SAMPLER = 90
    DCL_INDEXRANGE = 91
    DCL_OUTPUTTOPOLOGY = 92
    DCL_INPUTPRIMITIVE = 93
    DCL_MAXOUT = 94
    DCL_INPUT = 95
    DCL_INPUT_SGV = 96
    DCL_INPUT_SIV = 97
    DCL_INPUT_PS = 98
    DCL_INPUT_PS_SGV = 99
    DCL_INPUT_PS_SIV = 100
    DCL_OUTPUT = 101
    DCL_OUTPUT_SGV = 102
    DCL_OUTPUT_SIV = 103
    DCL_TEMPS = 104
    DCL_INDEXABLETEMP = 105
    DCL_GLOBALFLAGS = 106
    RESERVED_107 = 107
    LOD = 108
    GATHER4 = 109
    SAMPLEPOS = 110
    SAMPLEINFO = 111
    RESERVED_112 = 112
    HS_DECLS = 113
    HS_CONTROL_POINT_PHASE = 114
    HS_FORK_PHASE = 115
    HS_JOIN_PHASE = 116
    EMIT_STREAM = 117
    CUT_STREAM = 118
    EMITTHENCUT_STREAM = 119
    FCALL = 120
    BUFINFO = 121
    DERIV_RTX_COARSE = 122
    DERIV_RTX_FINE = 123
    DERIV_RTY_COARSE = 124
    DERIV_RTY_FINE = 125
    GATHER4_C = 126
    GATHER4_PO = 127
    GATHER4_PO_C = 128
    RCP = 129
    F32TOF16 = 130
    F16TOF32 = 131
    UADDC = 132
    USUBB = 133
    COUNTBITS = 134
    FIRSTBIT_HI = 135
    FIRSTBIT_LO = 136
    FIRSTBIT_SHI = 137
    UBFE = 138
    IBFE = 139
    BFI = 140
    BFREV = 141
    SWAPC = 142
    DCL_STREAM = 143
    DCL_FUNCTION_BODY = 144
    DCL_FUNCTION_TABLE = 145
    DCL_INTERFACE = 146
    DCL_INPUT_CONTROL_POINT_COUNT = 147
    DCL_OUTPUT_CONTROL_POINT_COUNT = 148
    DCL_TESSELLATOR_DOMAIN = 149
    DCL_TESSELLATOR_PARTITIONING = 150
    DCL_TESSELLATOR_OUTPUT_PRIMITIVE = 151
    DCL_HS_MAX_TESSFACTOR = 152
    DCL_HS_FORK_PHASE_INSTANCE_COUNT = 153
    DCL_HS_JOIN_PHASE_INSTANCE_COUNT = 154
    DCL_THREAD_GROUP = 155
    DCL_UAV_TYPED = 156
    DCL_UAV_RAW = 157
    DCL_UAV_STRUCTURED = 158
    DCL_TGSM_RAW = 159
    DCL_TGSM_STRUCTURED = 160
    DCL_RESOURCE_RAW = 161
    DCL_RESOURCE_STRUCTURED = 162
    LD_UAV_TYPED = 163
    STORE_UAV_TYPED = 164
    LD_RAW = 165
    STORE_RAW = 166
    LD_STRUCTURED = 167
    STORE_STRUCTURED = 168
    ATOMIC_AND = 169
    ATOMIC_OR = 170
    ATOMIC_XOR = 171
    ATOMIC_CMP_STORE = 172
    ATOMIC_IADD = 173
    ATOMIC_IMAX = 174
    ATOMIC_IMIN = 175
    ATOMIC_UMAX = 176
    ATOMIC_UMIN = 177
    IMM_ATOMIC_ALLOC = 178
    IMM_ATOMIC_CONSUME = 179
    IMM_ATOMIC_IADD = 180
    IMM_ATOMIC_AND = 181
    IMM_ATOMIC_OR = 182
    IMM_ATOMIC_XOR = 183
    IMM_ATOMIC_EXCH = 184
    IMM_ATOMIC_CMP_EXCH = 185
    IMM_ATOMIC_IMAX = 186
    IMM_ATOMIC_IMIN = 187
    IMM_ATOMIC_UMAX = 188
    IMM_ATOMIC_UMIN = 189
    SYNC = 190
    DADD = 191
    DMAX = 192
    DMIN = 193
    DMUL = 194
    DEQ = 195
    DGE = 196
    DLT = 197
    DNE = 198
    DMOV = 199
    DMOVC = 200
    DTOF = 201
    FTOD = 202
    EVAL_SNAPPED = 203
    EVAL_SAMPLE_INDEX = 204
    EVAL_CENTROID = 205
    DCL_GS_INSTANCE_COUNT = 206
    ABORT = 207
    DEBUG_BREAK = 208
    RESERVED_209 = 209
    DDIV = 210
    DFMA = 211
    DRCP = 212
    MSAD = 213
    DTOI = 214
    DTOU = 215
    ITOD = 216
    UTOD = 217
    RESERVED_218 = 218
    GATHER4_S = 219
    GATHER4_C_S = 220
    GATHER4_PO_S = 221
    GATHER4_PO_C_S = 222
    LD_S = 223
    LD_MS_S = 224
    LD_UAV_TYPED_S = 225
    LD_RAW_S = 226
    LD_STRUCTURED_S = 227
    SAMPLE_L_S = 228
    SAMPLE_C_LZ_S = 229
    SAMPLE_CL_S = 230
    SAMPLE_B_CL_S = 231
    SAMPLE_D_CL_S = 232
    SAMPLE_C_CL_S = 233
    CHECK_ACCESS_FULLY_MAPPED = 234


class RegisterType(IntEnum):
    """Register file of an operand: bits 19:12 of the operand token."""

    TEMP = 0
    INPUT = 1
    OUTPUT = 2
    INDEXABLE_TEMP = 3
    IMMEDIATE32 = 4
    IMMEDIATE64 = 5
    SAMPLER = 6
    RESOURCE = 7
    CONSTANT_BUFFER = 8
    IMMEDIATE_CONSTANT_BUFFER = 9
    LABEL = 10
    INPUT_PRIMITIVEID = 11
    OUTPUT_DEPTH = 12
    NULL = 13
    RASTERIZER = 14
    OUTPUT_COVERAGE_MASK = 15
    STREAM = 16
    FUNCTION_BODY = 17
    FUNCTION_TABLE = 18
    INTERFACE = 19
    FUNCTION_INPUT = 20
    FUNCTION_OUTPUT = 21
    OUTPUT_CONTROL_POINT_ID = 22
    INPUT_FORK_INSTANCE_ID = 23
    INPUT_JOIN_INSTANCE_ID = 24
    INPUT_CONTROL_POINT = 25
    OUTPUT_CONTROL_POINT = 26
    INPUT_PATCH_CONSTANT = 27
    INPUT_DOMAIN_POINT = 28
    THIS_POINTER = 29
    UNORDERED_ACCESS_VIEW = 30
    THREAD_GROUP_SHARED_MEMORY = 31
    INPUT_THREAD_ID = 32
    INPUT_THREAD_GROUP_ID = 33
    INPUT_THREAD_ID_IN_GROUP = 34
    INPUT_COVERAGE_MASK = 35
    INPUT_THREAD_ID_IN_GROUP_FLATTENED = 36
    INPUT_GS_INSTANCE_ID = 37
    OUTPUT_DEPTH_GREATER_EQUAL = 38
    OUTPUT_DEPTH_LESS_EQUAL = 39
    CYCLE_COUNTER = 40
    OUTPUT_STENCIL_REF = 41
    INNER_COVERAGE = 42


class Selection(IntEnum):
    """How a four-component operand names its components: bits 3:2 of the operand token."""

    MASK = 0
    SWIZZLE = 1
    SELECT1 = 2


class Modifier(IntEnum):
    """Source modifier of the extended operand token; absolute value is taken first."""

    NONE = 0
    NEG = 1
    ABS = 2
    NEG_ABS = 3


class MinPrecision(IntEnum):
    """Least precision an operand asks for; executing at 32 bits is always allowed."""

    DEFAULT = 0
    FLOAT16 = 1
    FLOAT2_8 = 2
    SINT16 = 4
    UINT16 = 5


class Dimension(IntEnum):
    """Shape of a resource in ``dcl_resource``, ``dcl_uav_typed`` and the extended opcode token."""

    UNKNOWN = 0
    BUFFER = 1
    TEXTURE1D = 2
    TEXTURE2D = 3
    TEXTURE2DMS = 4
    TEXTURE3D = 5
    TEXTURECUBE = 6
    TEXTURE1DARRAY = 7
    TEXTURE2DARRAY = 8
    TEXTURE2DMSARRAY = 9
    TEXTURECUBEARRAY = 10
    RAW_BUFFER = 11
    STRUCTURED_BUFFER = 12

    @property
    def coordinates(self) -> int:
        """Components of a sample or load address that are coordinates, the array slice included, the mip not."""
        return (0, 1, 1, 2, 2, 3, 3, 2, 3, 3, 4, 1, 2)[self]

    @property
    def is_array(self) -> bool:
        return self in (7, 8, 9, 10)

    @property
    def is_multisampled(self) -> bool:
        return self in (4, 9)


class ReturnType(IntEnum):
    """What a component of a typed resource reads as."""

    UNORM = 1
    SNORM = 2
    SINT = 3
    UINT = 4
    FLOAT = 5
    MIXED = 6
    DOUBLE = 7
    CONTINUED = 8
    UNUSED = 9


class ResinfoReturn(IntEnum):
    """Return type of ``resinfo`` (all three) and ``sampleinfo`` (FLOAT and UINT; there UINT is stored as 1)."""

    FLOAT = 0
    RCPFLOAT = 1
    UINT = 2


class SystemValue(IntEnum):
    """Name token of ``dcl_*_siv`` and ``dcl_*_sgv``; also the numbering that the DDI's signature entries use."""

    UNDEFINED = 0
    POSITION = 1
    CLIP_DISTANCE = 2
    CULL_DISTANCE = 3
    RENDER_TARGET_ARRAY_INDEX = 4
    VIEWPORT_ARRAY_INDEX = 5
    VERTEX_ID = 6
    PRIMITIVE_ID = 7
    INSTANCE_ID = 8
    IS_FRONT_FACE = 9
    SAMPLE_INDEX = 10
    FINAL_QUAD_U_EQ_0_EDGE_TESSFACTOR = 11
    FINAL_QUAD_V_EQ_0_EDGE_TESSFACTOR = 12
    FINAL_QUAD_U_EQ_1_EDGE_TESSFACTOR = 13
    FINAL_QUAD_V_EQ_1_EDGE_TESSFACTOR = 14
    FINAL_QUAD_U_INSIDE_TESSFACTOR = 15
    FINAL_QUAD_V_INSIDE_TESSFACTOR = 16
    FINAL_TRI_U_EQ_0_EDGE_TESSFACTOR = 17
    FINAL_TRI_V_EQ_0_EDGE_TESSFACTOR = 18
    FINAL_TRI_W_EQ_0_EDGE_TESSFACTOR = 19
    FINAL_TRI_INSIDE_TESSFACTOR = 20
    FINAL_LINE_DETAIL_TESSFACTOR = 21
    FINAL_LINE_DENSITY_TESSFACTOR = 22


class Interpolation(IntEnum):
    """Interpolation mode of a pixel shader input."""

    UNDEFINED = 0
    CONSTANT = 1
    LINEAR = 2
    LINEAR_CENTROID = 3
    LINEAR_NOPERSPECTIVE = 4
    LINEAR_NOPERSPECTIVE_CENTROID = 5
    LINEAR_SAMPLE = 6
    LINEAR_NOPERSPECTIVE_SAMPLE = 7


class SamplerMode(IntEnum):
    DEFAULT = 0
    COMPARISON = 1
    MONO = 2


class Primitive(IntEnum):
    """Input primitive of a geometry shader; 8–39 are patches of 1–32 control points."""

    UNDEFINED = 0
    POINT = 1
    LINE = 2
    TRIANGLE = 3
    LINE_ADJ = 6
    TRIANGLE_ADJ = 7
    PATCH_1 = 8
    PATCH_2 = 9
    PATCH_3 = 10
    PATCH_4 = 11
    PATCH_5 = 12
    PATCH_6 = 13
    PATCH_7 = 14
    PATCH_8 = 15
    PATCH_9 = 16
    PATCH_10 = 17
    PATCH_11 = 18
    PATCH_12 = 19
    PATCH_13 = 20
    PATCH_14 = 21
    PATCH_15 = 22
    PATCH_16 = 23
    PATCH_17 = 24
    PATCH_18 = 25
    PATCH_19 = 26
    PATCH_20 = 27
    PATCH_21 = 28
    PATCH_22 = 29
    PATCH_23 = 30
    PATCH_24 = 31
    PATCH_25 = 32
    PATCH_26 = 33
    PATCH_27 = 34
    PATCH_28 = 35
    PATCH_29 = 36
    PATCH_30 = 37
    PATCH_31 = 38
    PATCH_32 = 39

    @property
    def vertices(self) -> int:
        """Vertices of one primitive: 1, 2, 3, 4, 6 or the patch size."""
        if self >= Primitive.PATCH_1:
            return self - 7
        return {0: 0, 1: 1, 2: 2, 3: 3, 6: 4, 7: 6}[int(self)]


class Topology(IntEnum):
    """Output topology of a geometry shader (the hardware takes point list, line strip and triangle strip)."""

    UNDEFINED = 0
    POINTLIST = 1
    LINELIST = 2
    LINESTRIP = 3
    TRIANGLELIST = 4
    TRIANGLESTRIP = 5
    LINELIST_ADJ = 10
    LINESTRIP_ADJ = 11
    TRIANGLELIST_ADJ = 12
    TRIANGLESTRIP_ADJ = 13


class TessDomain(IntEnum):
    UNDEFINED = 0
    ISOLINE = 1
    TRI = 2
    QUAD = 3


class TessPartitioning(IntEnum):
    UNDEFINED = 0
    INTEGER = 1
    POW2 = 2
    FRACTIONAL_ODD = 3
    FRACTIONAL_EVEN = 4


class TessOutput(IntEnum):
    UNDEFINED = 0
    POINT = 1
    LINE = 2
    TRIANGLE_CW = 3
    TRIANGLE_CCW = 4


class CustomDataClass(IntEnum):
    """What a ``customdata`` block holds: bits 31:11 of its token."""

    COMMENT = 0
    DEBUGINFO = 1
    OPAQUE = 2
    IMMEDIATE_CONSTANT_BUFFER = 3
    SHADER_MESSAGE = 4
    CLIP_PLANE_MAPPINGS = 5


class GlobalFlags(IntFlag):
    """Flags of ``dcl_globalflags``; bit n here is bit n + 11 of the opcode token."""

    NONE = 0
    REFACTORING_ALLOWED = 1 << 0
    DOUBLE_PRECISION = 1 << 1
    FORCE_EARLY_DEPTH_STENCIL = 1 << 2
    RAW_AND_STRUCTURED_BUFFERS = 1 << 3
    SKIP_OPTIMIZATION = 1 << 4
    MIN_PRECISION = 1 << 5
    DOUBLE_EXTENSIONS_11_1 = 1 << 6
    SHADER_EXTENSIONS_11_1 = 1 << 7
    ALL_RESOURCES_BOUND = 1 << 8


class SyncFlags(IntFlag):
    """Flags of ``sync``; bit n here is bit n + 11 of the opcode token."""

    NONE = 0
    THREADS_IN_GROUP = 1 << 0
    SHARED_MEMORY = 1 << 1
    UAV_GROUP = 1 << 2
    UAV_GLOBAL = 1 << 3


class UavFlags(IntFlag):
    """Flags of ``dcl_uav_*``; bit n here is bit n + 16 of the opcode token."""

    NONE = 0
    GLOBALLY_COHERENT = 1 << 0
    RASTERIZER_ORDERED = 1 << 1
    HAS_COUNTER = 1 << 7


class ValueType(Enum):
    """How an instruction reads or writes the 32-bit components of a register."""

    NONE = "none"
    FLOAT = "float"
    INT = "int"
    UINT = "uint"
    DOUBLE = "double"
    RAW = "raw"


class OperandKind(Enum):
    """Which registers may stand at an operand's place."""

    DST = "destination"  # temps, outputs, indexable temps, null
    SRC = "source"  # anything that can be read as components, immediates included
    RESOURCE = "t#"
    RESOURCE_OR_UAV = "t# or u#"
    RESOURCE_OR_RASTERIZER = "t# or rasterizer"
    MEMORY = "t#, u# or g#"
    UAV = "u#"
    UAV_OR_SHARED = "u# or g#"  # the memory is written: stores and atomics
    SAMPLER = "s#"
    INPUT = "v#"
    LABEL = "l#"
    INTERFACE = "fp#"
    STREAM = "m#"
    IMMEDIATE = "immediate"


class OpcodeGroup(Enum):
    """Section of the instruction set."""

    FLOAT = "float arithmetic"
    COMPARE = "comparison"
    INTEGER = "integer arithmetic"
    BITWISE = "bitwise"
    MOVE = "move"
    CONVERT = "conversion"
    FLOW = "flow control"
    TEXTURE = "texture"
    MEMORY = "memory"
    ATOMIC = "atomic"
    DERIVATIVE = "derivative"
    STREAM = "geometry stream"
    DOUBLE = "double"
    PHASE = "hull phase"
    DEBUG = "debug"
    DATA = "custom data"
    DECLARATION = "declaration"
    RESERVED = "reserved"


@dataclass(frozen=True, slots=True)
class OpcodeInfo:
    """One row of :data:`OPCODES`.

    ``roles`` names the operands in stream order: ``d…`` destinations (``dhi``, ``st`` = feedback status, …),
    ``a b c`` sources, ``addr`` ``lod`` ``bias`` …, ``t`` ``s`` ``u`` ``g`` combinations for resources.
    ``kinds`` and ``types`` run parallel to it.  Declarations have no roles (see ``Declaration``).
    """

    opcode: Opcode
    mnemonic: str
    group: OpcodeGroup
    roles: tuple[str, ...]
    kinds: tuple[OperandKind, ...]
    types: tuple[ValueType, ...]
    dst_count: int
    """Leading operands of kind DST (a store's u# is not counted: it names memory)."""
    result: ValueType
    """Type of the first destination; NONE when nothing is written to a register."""
    min_model: tuple[int, int]
    stages: frozenset[ProgramType]
    saturate: bool
    """The ``_sat`` bit is legal."""
    test: bool
    """Bit 18 chooses between ``_z`` and ``_nz``."""
    requires: GlobalFlags
    """Any one of these global flags must be declared (NONE: nothing needed)."""
    may_pad: bool
    """Compilers leave one dword of padding behind the operands."""

    @property
    def is_declaration(self) -> bool:
        return self.group is OpcodeGroup.DECLARATION

    @property
    def name(self) -> str:
        """The mnemonic; the same as ``mnemonic``."""
        return self.mnemonic


_ALL = frozenset(ProgramType)
_STAGES = {
    "*": _ALL,
    "P": frozenset({ProgramType.PIXEL}),
    "G": frozenset({ProgramType.GEOMETRY}),
    "H": frozenset({ProgramType.HULL}),
    "D": frozenset({ProgramType.DOMAIN}),
    "HD": frozenset({ProgramType.HULL, ProgramType.DOMAIN}),
    "C": frozenset({ProgramType.COMPUTE}),
    "GFX": _ALL - {ProgramType.COMPUTE},
    "IN": _ALL - {ProgramType.PIXEL},
    "OUT": _ALL - {ProgramType.COMPUTE},
    "SIV": _ALL - {ProgramType.PIXEL, ProgramType.COMPUTE},
}

_KINDS = {
    "t": OperandKind.RESOURCE,
    "tu": OperandKind.RESOURCE_OR_UAV,
    "tr": OperandKind.RESOURCE_OR_RASTERIZER,
    "tug": OperandKind.MEMORY,
    "u": OperandKind.UAV,
    "ug": OperandKind.UAV_OR_SHARED,
    "s": OperandKind.SAMPLER,
    "v": OperandKind.INPUT,
    "l": OperandKind.LABEL,
    "fp": OperandKind.INTERFACE,
    "m": OperandKind.STREAM,
    "imm": OperandKind.IMMEDIATE,
}
_TYPES = {
    "f": ValueType.FLOAT,
    "i": ValueType.INT,
    "u": ValueType.UINT,
    "d": ValueType.DOUBLE,
    "r": ValueType.RAW,
    "n": ValueType.NONE,
}
_REQUIRES = {
    "dbl": GlobalFlags.DOUBLE_PRECISION | GlobalFlags.DOUBLE_EXTENSIONS_11_1,
    "dbl11.1": GlobalFlags.DOUBLE_EXTENSIONS_11_1,
    "ext11.1": GlobalFlags.SHADER_EXTENSIONS_11_1,
}

# One line per opcode: mnemonic, least shader model, stages, properties, then role:type of each operand.
# Roles beginning with "d", and "st", are destinations.  Types: f float, i int, u uint, d double, r raw bits, n none.
_TABLE = {
    OpcodeGroup.FLOAT: """
        add 40 * sat        d:f a:f b:f
        div 40 * sat        d:f a:f b:f
        dp2 40 * sat        d:f a:f b:f
        dp3 40 * sat        d:f a:f b:f
        dp4 40 * sat        d:f a:f b:f
        exp 40 * sat        d:f a:f
        frc 40 * sat        d:f a:f
        log 40 * sat        d:f a:f
        mad 40 * sat        d:f a:f b:f c:f
        max 40 * sat        d:f a:f b:f
        min 40 * sat        d:f a:f b:f
        mul 40 * sat        d:f a:f b:f
        round_ne 40 * sat   d:f a:f
        round_ni 40 * sat   d:f a:f
        round_pi 40 * sat   d:f a:f
        round_z 40 * sat    d:f a:f
        rcp 50 * sat        d:f a:f
        rsq 40 * sat        d:f a:f
        sqrt 40 * sat       d:f a:f
        sincos 40 * sat     dsin:f dcos:f a:f
    """,
    OpcodeGroup.COMPARE: """
        eq 40 * -           d:u a:f b:f
        ne 40 * -           d:u a:f b:f
        lt 40 * -           d:u a:f b:f
        ge 40 * -           d:u a:f b:f
        ieq 40 * -          d:u a:i b:i
        ine 40 * -          d:u a:i b:i
        ilt 40 * -          d:u a:i b:i
        ige 40 * -          d:u a:i b:i
        ult 40 * -          d:u a:u b:u
        uge 40 * -          d:u a:u b:u
    """,
    OpcodeGroup.INTEGER: """
        iadd 40 * -         d:i a:i b:i
        imad 40 * -         d:i a:i b:i c:i
        umad 40 * -         d:u a:u b:u c:u
        imul 40 * -         dhi:i dlo:i a:i b:i
        umul 40 * -         dhi:u dlo:u a:u b:u
        imax 40 * -         d:i a:i b:i
        imin 40 * -         d:i a:i b:i
        umax 40 * -         d:u a:u b:u
        umin 40 * -         d:u a:u b:u
        ineg 40 * -         d:i a:i
        udiv 40 * -         dquot:u drem:u a:u b:u
        uaddc 50 * -        dsum:u dcarry:u a:u b:u
        usubb 50 * -        ddiff:u dborrow:u a:u b:u
        msad 50 * ext11.1   d:u ref:u src:u accum:u
    """,
    OpcodeGroup.BITWISE: """
        and 40 * -          d:u a:u b:u
        or 40 * -           d:u a:u b:u
        xor 40 * -          d:u a:u b:u
        not 40 * -          d:u a:u
        ishl 40 * -         d:i a:i n:u
        ishr 40 * -         d:i a:i n:u
        ushr 40 * -         d:u a:u n:u
        countbits 50 * -    d:u a:u
        firstbit_hi 50 * -  d:u a:u
        firstbit_lo 50 * -  d:u a:u
        firstbit_shi 50 * - d:i a:i
        bfrev 50 * -        d:u a:u
        ubfe 50 * -         d:u width:u offset:u a:u
        ibfe 50 * -         d:i width:u offset:u a:i
        bfi 50 * -          d:u width:u offset:u ins:u base:u
    """,
    OpcodeGroup.MOVE: """
        mov 40 * sat        d:r a:r
        movc 40 * sat       d:r c:u a:r b:r
        swapc 50 * sat      d0:r d1:r c:u a:r b:r
    """,
    OpcodeGroup.CONVERT: """
        ftoi 40 * -         d:i a:f
        ftou 40 * -         d:u a:f
        itof 40 * sat       d:f a:i
        utof 40 * sat       d:f a:u
        f32tof16 50 * -     d:u a:f
        f16tof32 50 * sat   d:f a:u
    """,
    OpcodeGroup.FLOW: """
        if 40 * test        c:u
        else 40 * -
        endif 40 * -
        loop 40 * -
        endloop 40 * -
        break 40 * -
        breakc 40 * test    c:u
        continue 40 * -
        continuec 40 * test c:u
        switch 40 * -       a:i
        case 40 * -         imm:i
        default 40 * -
        endswitch 40 * -
        ret 40 * -
        retc 40 * test      c:u
        call 40 * -         l:n
        callc 40 * test     c:u l:n
        label 40 * -        l:n
        fcall 50 * -        fp:n
        nop 40 * -
        discard 40 P test   c:u
        sync 40 * -
    """,
    OpcodeGroup.DEBUG: """
        abort 50 * -
        debug_break 50 * -
    """,
    OpcodeGroup.TEXTURE: """
        sample 40 P -       d:f addr:f t:f s:n
        sample_b 40 P -     d:f addr:f t:f s:n bias:f
        sample_l 40 * -     d:f addr:f t:f s:n lod:f
        sample_d 40 * -     d:f addr:f t:f s:n ddx:f ddy:f
        sample_c 40 P -     d:f addr:f t:f s:n ref:f
        sample_c_lz 40 * -  d:f addr:f t:f s:n ref:f
        gather4 41 * -      d:r addr:f t:r s:n
        gather4_c 50 * -    d:f addr:f t:f s:n ref:f
        gather4_po 50 * -   d:r addr:f off:i t:r s:n
        gather4_po_c 50 * - d:f addr:f off:i t:f s:n ref:f
        lod 41 P -          d:f addr:f t:f s:n
        ld 40 * -           d:r addr:i t:r
        ld_ms 40 * -        d:r addr:i t:r sample:i
        resinfo 40 * -      d:r mip:u tu:r
        sampleinfo 41 * -   d:r tr:r
        samplepos 41 * pad  d:f tr:f index:i
        bufinfo 40 * -      d:u tu:r
        gather4_s 50 * pad      d:r st:u addr:f t:r s:n
        gather4_c_s 50 * pad    d:f st:u addr:f t:f s:n ref:f
        gather4_po_s 50 * pad   d:r st:u addr:f off:i t:r s:n
        gather4_po_c_s 50 * pad d:f st:u addr:f off:i t:f s:n ref:f
        ld_s 50 * pad           d:r st:u addr:i t:r
        ld_ms_s 50 * pad        d:r st:u addr:i t:r sample:i
        sample_l_s 50 * pad     d:f st:u addr:f t:f s:n lod:f
        sample_c_lz_s 50 * pad  d:f st:u addr:f t:f s:n ref:f
        sample_cl_s 50 P pad    d:f st:u addr:f t:f s:n clamp:f
        sample_b_cl_s 50 P pad  d:f st:u addr:f t:f s:n bias:f clamp:f
        sample_d_cl_s 50 * pad  d:f st:u addr:f t:f s:n ddx:f ddy:f clamp:f
        sample_c_cl_s 50 P pad  d:f st:u addr:f t:f s:n ref:f clamp:f
        check_access_fully_mapped 50 * pad d:u a:u
    """,
    OpcodeGroup.MEMORY: """
        ld_uav_typed 50 * -     d:r addr:i u:r
        store_uav_typed 50 * -  u:r addr:i a:r
        ld_raw 40 * -           d:r byteoff:u tug:r
        store_raw 40 * -        ug:r byteoff:u a:r
        ld_structured 40 * -    d:r index:u byteoff:u tug:r
        store_structured 40 * - ug:r index:u byteoff:u a:r
        ld_uav_typed_s 50 * pad d:r st:u addr:i u:r
        ld_raw_s 50 * pad       d:r st:u byteoff:u tug:r
        ld_structured_s 50 * pad d:r st:u index:u byteoff:u tug:r
    """,
    OpcodeGroup.ATOMIC: """
        atomic_and 50 * -       ug:u addr:u a:u
        atomic_or 50 * -        ug:u addr:u a:u
        atomic_xor 50 * -       ug:u addr:u a:u
        atomic_cmp_store 50 * - ug:u addr:u cmp:u a:u
        atomic_iadd 50 * -      ug:i addr:u a:i
        atomic_imax 50 * -      ug:i addr:u a:i
        atomic_imin 50 * -      ug:i addr:u a:i
        atomic_umax 50 * -      ug:u addr:u a:u
        atomic_umin 50 * -      ug:u addr:u a:u
        imm_atomic_alloc 50 * -   d:u u:n
        imm_atomic_consume 50 * - d:u u:n
        imm_atomic_iadd 50 * -  d:i ug:i addr:u a:i
        imm_atomic_and 50 * -   d:u ug:u addr:u a:u
        imm_atomic_or 50 * -    d:u ug:u addr:u a:u
        imm_atomic_xor 50 * -   d:u ug:u addr:u a:u
        imm_atomic_exch 50 * -  d:r ug:r addr:u a:r
        imm_atomic_cmp_exch 50 * - d:u ug:u addr:u cmp:u a:u
        imm_atomic_imax 50 * -  d:i ug:i addr:u a:i
        imm_atomic_imin 50 * -  d:i ug:i addr:u a:i
        imm_atomic_umax 50 * -  d:u ug:u addr:u a:u
        imm_atomic_umin 50 * -  d:u ug:u addr:u a:u
    """,
    OpcodeGroup.DERIVATIVE: """
        deriv_rtx 40 P sat        d:f a:f
        deriv_rty 40 P sat        d:f a:f
        deriv_rtx_coarse 50 P sat d:f a:f
        deriv_rty_coarse 50 P sat d:f a:f
        deriv_rtx_fine 50 P sat   d:f a:f
        deriv_rty_fine 50 P sat   d:f a:f
        eval_sample_index 50 P -  d:f v:f index:i
        eval_centroid 50 P -      d:f v:f
        eval_snapped 50 P -       d:f v:f off:i
    """,
    OpcodeGroup.STREAM: """
        emit 40 G -
        cut 40 G -
        emitthencut 40 G -
        emit_stream 50 G -        m:n
        cut_stream 50 G -         m:n
        emitthencut_stream 50 G - m:n
    """,
    OpcodeGroup.PHASE: """
        hs_decls 50 H -
        hs_control_point_phase 50 H -
        hs_fork_phase 50 H -
        hs_join_phase 50 H -
    """,
    OpcodeGroup.DOUBLE: """
        dadd 50 * sat,dbl   d:d a:d b:d
        dmax 50 * sat,dbl   d:d a:d b:d
        dmin 50 * sat,dbl   d:d a:d b:d
        dmul 50 * sat,dbl   d:d a:d b:d
        deq 50 * dbl        d:u a:d b:d
        dge 50 * dbl        d:u a:d b:d
        dlt 50 * dbl        d:u a:d b:d
        dne 50 * dbl        d:u a:d b:d
        dmov 50 * sat,dbl   d:d a:d
        dmovc 50 * sat,dbl  d:d c:u a:d b:d
        dtof 50 * sat,dbl   d:f a:d
        ftod 50 * dbl       d:d a:f
        ddiv 50 * sat,dbl11.1 d:d a:d b:d
        dfma 50 * sat,dbl11.1 d:d a:d b:d c:d
        drcp 50 * sat,dbl11.1 d:d a:d
        dtoi 50 * dbl11.1   d:i a:d
        dtou 50 * dbl11.1   d:u a:d
        itod 50 * dbl11.1   d:d a:i
        utod 50 * dbl11.1   d:d a:u
    """,
    OpcodeGroup.DATA: """
        customdata 40 * -
    """,
    OpcodeGroup.DECLARATION: """
        dcl_globalflags 40 * -
        dcl_constantbuffer 40 * -
        dcl_sampler 40 * -
        dcl_resource 40 * -
        dcl_resource_raw 40 * -
        dcl_resource_structured 40 * -
        dcl_uav_typed 50 * -
        dcl_uav_raw 40 * -
        dcl_uav_structured 40 * -
        dcl_tgsm_raw 40 C -
        dcl_tgsm_structured 40 C -
        dcl_thread_group 40 C -
        dcl_input 40 * -
        dcl_input_sgv 40 SIV -
        dcl_input_siv 40 SIV -
        dcl_input_ps 40 P -
        dcl_input_ps_sgv 40 P -
        dcl_input_ps_siv 40 P -
        dcl_output 40 OUT -
        dcl_output_sgv 40 OUT -
        dcl_output_siv 40 OUT -
        dcl_indexrange 40 GFX -
        dcl_temps 40 * -
        dcl_indexabletemp 40 * -
        dcl_inputprimitive 40 G -
        dcl_outputtopology 40 G -
        dcl_maxout 40 G -
        dcl_gs_instance_count 50 G -
        dcl_stream 50 G -
        dcl_input_control_point_count 50 HD -
        dcl_output_control_point_count 50 H -
        dcl_tessellator_domain 50 HD -
        dcl_tessellator_partitioning 50 H -
        dcl_tessellator_output_primitive 50 H -
        dcl_hs_max_tessfactor 50 H -
        dcl_hs_fork_phase_instance_count 50 H -
        dcl_hs_join_phase_instance_count 50 H -
        dcl_function_body 50 * -
        dcl_function_table 50 * -
        dcl_interface 50 * -
    """,
    OpcodeGroup.RESERVED: """
        reserved_107 40 * -
        reserved_112 40 * -
        reserved_209 50 * -
        reserved_218 50 * -
    """,
}


def _row(group: OpcodeGroup, line: str) -> OpcodeInfo:
    mnemonic, model, stages, properties, *operands = line.split()
    words = properties.split(",")
    pairs = [operand.split(":") for operand in operands]
    kinds = tuple(
        OperandKind.DST if (name[0] == "d" and name not in ("ddx", "ddy")) or name == "st" else
        _KINDS.get(name, OperandKind.SRC)
        for name, _ in pairs
    )
    types = tuple(_TYPES[letter] for _, letter in pairs)
    return OpcodeInfo(
        opcode=Opcode[mnemonic.upper()],
        mnemonic=mnemonic,
        group=group,
        roles=tuple(name for name, _ in pairs),
        kinds=kinds,
        types=types,
        dst_count=kinds.count(OperandKind.DST),
        result=types[0] if kinds and kinds[0] is OperandKind.DST else ValueType.NONE,
        min_model=(int(model[0]), int(model[1])),
        stages=_STAGES[stages],
        saturate="sat" in words,
        test="test" in words,
        requires=next((_REQUIRES[word] for word in words if word in _REQUIRES), GlobalFlags.NONE),
        may_pad="pad" in words,
    )


def _build() -> dict[Opcode, OpcodeInfo]:
    rows = [_row(group, line) for group, text in _TABLE.items() for line in text.splitlines() if line.strip()]
    return {info.opcode: info for info in sorted(rows, key=lambda info: info.opcode)}


OPCODES: dict[Opcode, OpcodeInfo] = _build()
"""Every opcode's row, keyed and ordered by number."""

MNEMONICS: dict[str, Opcode] = {info.mnemonic: opcode for opcode, info in OPCODES.items()}
"""Opcode of a plain mnemonic (no ``_sat``, ``_z``, ``_indexable`` suffixes)."""

DECLARATIONS: frozenset[Opcode] = frozenset(o for o, info in OPCODES.items() if info.is_declaration)
"""Opcodes that stand before the code."""
