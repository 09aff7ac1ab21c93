"""The shader instruction set.

A *program* is a binary: a header, declarations, literals, an immediate constant buffer and instructions, all fixed-size records
(numpy structured arrays), so that it is validated by columns. :class:`ShaderProgram` is its unpacked form with ``to_bytes`` and
``from_bytes``; ``assemble``/``disassemble`` in :mod:`wddm.hw.isa_text` turn it into text and back.

Machine model
    Scalar, one lane per invocation. A lane has ``temp_count`` 32-bit untyped registers, plus indexable arrays. Control flow is
    structured and diverges by lane. Pixel lanes come in quads (2x2) with helper lanes, so that derivatives exist.

Operands are one dword: ``kind << 28 | negate << 27 | absolute << 26 | index``. Modifiers apply to the source as the operation
types it: float (absolute first, then negate; sign bit only) or integer (negate only). ``TEMP`` index = register;
``LITERAL`` index into the literal pool; ``INPUT`` index = register * 4 + component; ``CONSTANT`` index = slot << 14 | dword;
``SYSTEM`` index = :class:`SystemRegister`; ``OUTPUT`` (destination only) index = register * 4 + component.

Multi-component operations name the first of consecutive TEMPs ("vector" below): addresses and results lie in consecutive
registers. 64-bit values occupy two consecutive dwords, low first, of TEMP, LITERAL, INPUT or CONSTANT.

Number rules: float32 arithmetic rounds to nearest even, denormals in and out are flushed to signed zero; moves, selects, loads
and bit operations keep bits. min/max return the other operand when one is NaN; SATURATE maps NaN to 0. Comparisons give
0xFFFFFFFF or 0. Shift counts use the low 5 bits. Division by an integer zero gives 0xFFFFFFFF. Float to integer truncates,
clamps, NaN gives 0. Every access outside a buffer, texture, constant buffer, indexable array or shared memory reads 0 and
writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Any, Final

import numpy as np
import numpy.typing as npt

MAGIC: Final = 0x48534756  #: "VGSH"
VERSION: Final = 1
MAX_TEMPS: Final = 16384  #: 4096 four-component registers
MAX_INSTRUCTIONS: Final = 1 << 20
MAX_LITERALS: Final = 1 << 20
MAX_NESTING: Final = 256
MAX_SHARED: Final = 32768
MAX_ARRAY_DWORDS: Final = 16384
MAX_IO_REGISTERS: Final = 32
MAX_DISTANCES: Final = 8  #: to clip and cull with, in all
#: Pixel outputs that are no render target.
OUTPUT_DEPTH_REGISTER: Final = 32  #: also DEPTH_GREATER_EQUAL and DEPTH_LESS_EQUAL, told apart by the declaration
OUTPUT_COVERAGE_REGISTER: Final = 33
OUTPUT_STENCIL_REGISTER: Final = 34


class Kind(IntEnum):
    """Operand kinds."""

    NONE = 0
    TEMP = 1
    LITERAL = 2
    INPUT = 3
    CONSTANT = 4
    SYSTEM = 5
    OUTPUT = 6


NEGATE: Final = 1 << 27
ABSOLUTE: Final = 1 << 26
INDEX_MASK: Final = (1 << 26) - 1


def operand(kind: Kind, index: int, *, negate: bool = False, absolute: bool = False) -> int:
    """Encode an operand. Raises ValueError when the index does not fit."""
    if not 0 <= index <= INDEX_MASK:
        raise ValueError(f"operand index {index} does not fit 26 bits")
    return kind << 28 | (NEGATE if negate else 0) | (ABSOLUTE if absolute else 0) | index


def operand_kind(word: int) -> Kind:
    """The kind of an encoded operand."""
    return Kind(word >> 28)


class SystemRegister(IntEnum):
    """Values the hardware makes. Which stage has which is in the comment."""

    VERTEX_ID = 0  #: vertex (counts from 0; index value when indexed, without base vertex)
    INSTANCE_ID = 1  #: vertex
    PRIMITIVE_ID = 2  #: hull, domain, geometry, pixel
    FRONT_FACE = 3  #: pixel; all ones or 0
    SAMPLE_INDEX = 4  #: pixel, forces sample frequency
    COVERAGE = 5  #: pixel, input coverage mask
    POSITION_X = 6  #: pixel; x y at the pixel centre or sample, z, w_clip
    POSITION_Y = 7
    POSITION_Z = 8
    POSITION_W = 9
    GS_INSTANCE_ID = 10  #: geometry
    CONTROL_POINT_ID = 11  #: hull, control-point entry
    DOMAIN_U = 12  #: domain
    DOMAIN_V = 13
    DOMAIN_W = 14
    THREAD_ID_X = 15  #: compute: group * size + id in group
    THREAD_ID_Y = 16
    THREAD_ID_Z = 17
    GROUP_ID_X = 18  #: compute
    GROUP_ID_Y = 19
    GROUP_ID_Z = 20
    ID_IN_GROUP_X = 21  #: compute
    ID_IN_GROUP_Y = 22
    ID_IN_GROUP_Z = 23
    ID_IN_GROUP_FLAT = 24
    RENDER_TARGET_ARRAY_INDEX = 25  #: pixel
    VIEWPORT_ARRAY_INDEX = 26  #: pixel


class Op(IntEnum):
    """Operations. d = destination scalar, a b c e = sources 0..3, ``aux``/``aux2`` the immediate fields."""

    NOP = 0
    # --- moves -------------------------------------------------------------------------------------------------------
    MOV = 1  #: raw bits; a float operation when modifiers or SATURATE are present
    SELECT = 2  #: d = a != 0 ? b : c, raw bits (modifiers make b, c float)
    # --- float32 -----------------------------------------------------------------------------------------------------
    FADD = 16
    FMUL = 17
    FMAD = 18  #: a * b + c; fused or not, but the same everywhere in a program
    FDIV = 19
    FMIN = 20
    FMAX = 21
    FRCP = 22
    FRSQ = 23
    FSQRT = 24
    FEXP2 = 25
    FLOG2 = 26
    FSIN = 27
    FCOS = 28
    FFRC = 29
    FROUND_NE = 30
    FROUND_NI = 31  #: floor
    FROUND_PI = 32  #: ceil
    FROUND_Z = 33
    FEQ = 34
    FNE = 35
    FLT = 36
    FGE = 37
    # --- integer -----------------------------------------------------------------------------------------------------
    IADD = 48
    IMUL = 49  #: low 32 bits
    IMUL_HI = 50  #: high 32 bits, signed
    UMUL_HI = 51
    IMAD = 52
    UDIV = 53
    UREM = 54
    IMIN = 55
    IMAX = 56
    UMIN = 57
    UMAX = 58
    IEQ = 59
    INE = 60
    ILT = 61
    IGE = 62
    ULT = 63
    UGE = 64
    INEG = 65
    UADD_CARRY = 66  #: carry of a + b: 0 or 1
    USUB_BORROW = 67  #: borrow of a - b: 0 or 1
    MSAD = 68  #: a reference, b source, c accumulator
    # --- bits --------------------------------------------------------------------------------------------------------
    AND = 80
    OR = 81
    XOR = 82
    NOT = 83
    SHL = 84
    ISHR = 85
    USHR = 86
    COUNT_BITS = 87
    FIRST_BIT_HI = 88  #: distance of the highest 1 from bit 31; none gives all ones
    FIRST_BIT_LO = 89
    FIRST_BIT_SHI = 90
    BIT_REVERSE = 91
    UBFE = 92  #: a width, b offset, c value
    IBFE = 93
    BFI = 94  #: a width, b offset, c insert, e base
    # --- conversions -------------------------------------------------------------------------------------------------
    FTOI = 112
    FTOU = 113
    ITOF = 114
    UTOF = 115
    F32TOF16 = 116  #: round to nearest even
    F16TOF32 = 117
    # --- float64 (vectors of two dwords) -------------------------------------------------------------------------------
    DADD = 128
    DMUL = 129
    DFMA = 130
    DDIV = 131
    DRCP = 132
    DMIN = 133
    DMAX = 134
    DEQ = 135  #: d is one dword
    DNE = 136
    DLT = 137
    DGE = 138
    DMOV = 139
    DSELECT = 140  #: a is one dword
    DTOF = 141
    FTOD = 142
    DTOI = 143
    DTOU = 144
    ITOD = 145
    UTOD = 146
    # --- control flow --------------------------------------------------------------------------------------------------
    IF = 160  #: a != 0 (or == 0 with Mod.TEST_ZERO; so for all conditions)
    ELSE = 161
    ENDIF = 162
    LOOP = 163
    ENDLOOP = 164
    BLOCK = 165  #: a region run once that BREAK can leave
    ENDBLOCK = 166
    BREAK = 167  #: leave the aux innermost LOOPs/BLOCKs (aux >= 1)
    BREAKC = 168
    CONTINUE = 169  #: leave aux - 1 innermost ones and start the next iteration of the aux-th, a LOOP
    CONTINUEC = 170
    RET = 171  #: the lane is done
    RETC = 172
    DISCARD = 173  #: conditional: the pixel is dead, the lane goes on as a helper
    # --- registers with computed index ---------------------------------------------------------------------------------
    LOAD_ARRAY = 192  #: d = indexable array aux, dword a; 0 outside
    STORE_ARRAY = 193  #: array aux, dword a = b
    LOAD_CONSTANT = 194  #: d = constant buffer aux, dword a
    LOAD_ICB = 195  #: d = immediate constant buffer, dword a
    LOAD_INPUT = 196  #: d = input dword a of vertex/control point b (stages with arrays of vertices; else b NONE)
    STORE_OUTPUT = 197  #: output dword a = b
    LOAD_PATCH = 198  #: hull patch-constant entry, domain: d = patch-constant dword a
    LOAD_CONTROL_POINT = 199  #: hull patch-constant entry: d = dword a of output control point b
    # --- resources -----------------------------------------------------------------------------------------------------
    # aux = resource slot | sampler slot << 8 | result mask << 16 | component << 20 (gather).
    # aux2 = texel offsets u | v << 8 | w << 16 (signed bytes) | return-type control << 24.
    # d = first of four TEMPs; only those in the mask are written (each at its own place).
    SAMPLE = 208  #: a = address vector; implicit derivatives (pixel)
    SAMPLE_BIAS = 209  #: b = bias
    SAMPLE_LEVEL = 210  #: b = lod
    SAMPLE_GRAD = 211  #: b = ddx vector, c = ddy vector
    SAMPLE_COMPARE = 212  #: b = reference
    SAMPLE_COMPARE_LZ = 213  #: b = reference, level 0
    GATHER4 = 214
    GATHER4_COMPARE = 215  #: b = reference
    GATHER4_OFFSET = 216  #: c = offset vector of two
    GATHER4_OFFSET_COMPARE = 217  #: b = reference, c = offset vector
    LOD = 218  #: a = address vector; results clamped, unclamped, 0, 0
    LOAD = 219  #: a = texel address vector (integers), b = mip or NONE, c = sample index or NONE
    RESINFO = 220  #: a = mip; control 0 float, 1 reciprocal, 2 uint
    SAMPLEINFO = 221  #: control 0 float, 1 uint; slot 255 = rasterizer
    SAMPLEPOS = 222  #: a = sample index; slot 255 = rasterizer
    BUFINFO = 223
    LOAD_RAW = 224  #: a = byte offset
    LOAD_STRUCTURED = 225  #: a = index, b = byte offset
    # --- unordered access ----------------------------------------------------------------------------------------------
    # aux as above with the UAV slot; aux2 of the atomics = AtomicOp.
    UAV_LOAD = 232  #: typed; a = address vector
    UAV_STORE = 233  #: typed; a = address vector, b = value vector of four
    UAV_LOAD_RAW = 234
    UAV_LOAD_STRUCTURED = 235
    UAV_STORE_RAW = 236  #: a = byte offset, c = value vector; mask from bit 16
    UAV_STORE_STRUCTURED = 237  #: a = index, b = byte offset, c = value vector
    UAV_ATOMIC = 238  #: typed: a = address vector; raw: a = byte offset; structured: a = index, b = byte offset. c value, e compare
    UAV_COUNTER_INC = 239  #: d = old value
    UAV_COUNTER_DEC = 240  #: d = new value
    UAV_RESINFO = 241  #: as RESINFO without mip
    UAV_BUFINFO = 242
    # --- shared memory -------------------------------------------------------------------------------------------------
    SHARED_LOAD = 248  #: a = byte address; mask
    SHARED_STORE = 249  #: a = byte address, c = value vector; mask
    SHARED_ATOMIC = 250  #: a = byte address, c value, e compare; aux2 = AtomicOp; d old value or NONE
    BARRIER = 251  #: aux = :class:`SyncFlag`
    # --- derivatives and interpolation ------------------------------------------------------------------------------------
    DDX_COARSE = 256
    DDY_COARSE = 257
    DDX_FINE = 258
    DDY_FINE = 259
    EVAL_SAMPLE = 260  #: d = INPUT a at sample b
    EVAL_CENTROID = 261
    EVAL_SNAPPED = 262  #: b, c = offsets in 1/16 pixel (low 4 bits, signed)
    # --- geometry --------------------------------------------------------------------------------------------------------
    EMIT = 272  #: aux = stream
    CUT = 273  #: aux = stream


class Mod(IntFlag):
    """Instruction modifiers."""

    SATURATE = 1
    PRECISE = 2  #: FMAD may not be refactored
    TEST_ZERO = 4


class AtomicOp(IntEnum):
    """Read-modify-write operations."""

    AND = 0
    OR = 1
    XOR = 2
    ADD = 3
    IMAX = 4
    IMIN = 5
    UMAX = 6
    UMIN = 7
    EXCHANGE = 8
    COMPARE_EXCHANGE = 9  #: writes c when memory == e


class SyncFlag(IntFlag):
    """Flags of BARRIER."""

    GROUP_THREADS = 1
    SHARED_MEMORY = 2
    UAV_GROUP = 4
    UAV_GLOBAL = 8


class Interpolation(IntEnum):
    """Pixel-shader input interpolation (Direct3D numbers)."""

    UNDEFINED = 0
    CONSTANT = 1
    LINEAR = 2
    LINEAR_CENTROID = 3
    LINEAR_NOPERSPECTIVE = 4
    LINEAR_NOPERSPECTIVE_CENTROID = 5
    LINEAR_SAMPLE = 6
    LINEAR_NOPERSPECTIVE_SAMPLE = 7


class SystemValue(IntEnum):
    """Meaning of a declared input or output for fixed function (Direct3D token numbers, and 64+ for pixel outputs)."""

    NONE = 0
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
    QUAD_EDGE_U0 = 11
    QUAD_EDGE_V0 = 12
    QUAD_EDGE_U1 = 13
    QUAD_EDGE_V1 = 14
    QUAD_INSIDE_U = 15
    QUAD_INSIDE_V = 16
    TRI_EDGE_U0 = 17
    TRI_EDGE_V0 = 18
    TRI_EDGE_W0 = 19
    TRI_INSIDE = 20
    LINE_DETAIL = 21
    LINE_DENSITY = 22
    TARGET = 64  #: pixel output register n = render target n
    DEPTH = 65
    DEPTH_GREATER_EQUAL = 66
    DEPTH_LESS_EQUAL = 67
    COVERAGE = 68
    STENCIL_REF = 69


class DeclarationKind(IntEnum):
    """Kinds of declaration records."""

    INPUT = 1  #: index register, mask, value SystemValue, extra Interpolation
    OUTPUT = 2  #: index register, mask, value SystemValue, extra stream. Depth, coverage...: registers from 32 up
    PATCH_CONSTANT = 3  #: index register, mask, value SystemValue: hull outputs, domain inputs
    RESOURCE = 4  #: index slot, value ViewDimension, extra stride, mask bit 0 array, bit 1 multisampled
    UAV = 5  #: index slot, value ViewDimension, extra stride, mask bit 0 array, bit 2 counter
    SAMPLER = 6  #: index slot, value 1 = comparison
    CONSTANT_BUFFER = 7  #: index slot, value size in dwords (0 unknown)
    ARRAY = 8  #: index array, value dwords
    STREAM_OUTPUT = 9  #: index output register, mask components, value target buffer | stream << 8, extra byte offset
    STREAM_STRIDE = 10  #: index target buffer, value bytes per vertex


DECLARATION: Final = np.dtype(
    [("kind", "<u2"), ("index", "<u2"), ("mask", "<u4"), ("value", "<u4"), ("extra", "<u4")]
)
INSTRUCTION: Final = np.dtype(
    [
        ("op", "<u2"),
        ("mods", "<u2"),
        ("dst", "<u4"),
        ("src", "<u4", (4,)),
        ("aux", "<u4"),
        ("aux2", "<u4"),
    ]
)
HEADER: Final = np.dtype(
    [
        ("magic", "<u4"),
        ("version", "<u4"),
        ("stage", "<u4"),  # wddm.hw.packets.Stage
        ("flags", "<u4"),  # ProgramFlag
        ("temp_count", "<u4"),
        ("declaration_count", "<u4"),
        ("literal_count", "<u4"),
        ("icb_count", "<u4"),  # dwords
        ("instruction_count", "<u4"),
        ("patch_entry", "<u4"),  # hull: first instruction of the patch-constant entry; else 0
        ("group_x", "<u4"),
        ("group_y", "<u4"),
        ("group_z", "<u4"),
        ("shared_bytes", "<u4"),
        ("primitive", "<u4"),  # geometry: input primitive; hull/domain: input control points | output ones << 8
        ("topology", "<u4"),  # geometry: output topology; hull: domain | partitioning << 4 | output primitive << 8
        ("max_vertices", "<u4"),  # geometry
        ("instances", "<u4"),  # geometry
        ("max_tess_factor", "<u4"),  # hull, float bits
        ("rasterized_stream", "<u4"),  # geometry with stream output; 0xFFFFFFFF = none
        ("reserved", "<u4", (4,)),
    ]
)
HEADER_SIZE: Final = 96
assert HEADER.itemsize == HEADER_SIZE
assert INSTRUCTION.itemsize == 32
assert DECLARATION.itemsize == 16


class ProgramFlag(IntFlag):
    """Flags of a program."""

    EARLY_DEPTH_STENCIL = 1
    SAMPLE_FREQUENCY = 2
    WRITES_DEPTH = 4
    USES_DISCARD = 8
    USES_UAV = 16
    PASS_THROUGH = 32  #: hull: no control-point entry, input control points are the output


class IsaError(ValueError):
    """A program the hardware refuses; the message names the record."""


@dataclass(slots=True)
class ShaderProgram:
    """A program, unpacked. Arrays are of the dtypes above; ``literals`` and ``icb`` are uint32."""

    stage: int
    temp_count: int = 0
    flags: int = 0
    declarations: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(0, DECLARATION))
    literals: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    icb: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    instructions: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(0, INSTRUCTION))
    patch_entry: int = 0
    group: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: int = 0
    primitive: int = 0
    topology: int = 0
    max_vertices: int = 0
    instances: int = 1
    max_tess_factor: int = 0
    rasterized_stream: int = 0

    def to_bytes(self) -> bytes:
        """The binary form, a multiple of 4 bytes."""
        header = np.zeros(1, HEADER)
        header["magic"], header["version"], header["stage"], header["flags"] = MAGIC, VERSION, self.stage, self.flags
        header["temp_count"] = self.temp_count
        header["declaration_count"], header["literal_count"] = len(self.declarations), len(self.literals)
        header["icb_count"], header["instruction_count"] = len(self.icb), len(self.instructions)
        header["patch_entry"], header["shared_bytes"] = self.patch_entry, self.shared_bytes
        header["group_x"], header["group_y"], header["group_z"] = self.group
        header["primitive"], header["topology"] = self.primitive, self.topology
        header["max_vertices"], header["instances"] = self.max_vertices, self.instances
        header["max_tess_factor"], header["rasterized_stream"] = self.max_tess_factor, self.rasterized_stream
        parts = (header, self.declarations, self.literals, self.icb, self.instructions)
        return b"".join(p.tobytes() for p in parts)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> ShaderProgram:
        """Unpack; raises IsaError for a wrong magic, version or size. Meaning is checked by ``wddm.hw.isa_check.check``."""
        if len(data) < HEADER_SIZE:
            raise IsaError(f"program of {len(data)} bytes; a header has {HEADER_SIZE}")
        h = np.frombuffer(data, HEADER, 1)[0]
        if h["magic"] != MAGIC or h["version"] != VERSION:
            raise IsaError(f"magic {int(h['magic']):#x} version {int(h['version'])}")
        counts = [int(h[n]) for n in ("declaration_count", "literal_count", "icb_count", "instruction_count")]
        sizes = [count * size for count, size in zip(counts, (16, 4, 4, 32), strict=True)]
        if HEADER_SIZE + sum(sizes) > len(data):
            raise IsaError(f"sections of {HEADER_SIZE + sum(sizes)} bytes in a program of {len(data)}")
        at = HEADER_SIZE
        arrays = []
        dtypes: list[np.dtype[Any]] = [DECLARATION, np.dtype(np.uint32), np.dtype(np.uint32), INSTRUCTION]
        for dtype, count, size in zip(dtypes, counts, sizes, strict=True):
            arrays.append(np.frombuffer(data, dtype, count, at).copy())
            at += size
        return cls(
            stage=int(h["stage"]),
            temp_count=int(h["temp_count"]),
            flags=int(h["flags"]),
            declarations=arrays[0],
            literals=arrays[1],
            icb=arrays[2],
            instructions=arrays[3],
            patch_entry=int(h["patch_entry"]),
            group=(int(h["group_x"]), int(h["group_y"]), int(h["group_z"])),
            shared_bytes=int(h["shared_bytes"]),
            primitive=int(h["primitive"]),
            topology=int(h["topology"]),
            max_vertices=int(h["max_vertices"]),
            instances=int(h["instances"]),
            max_tess_factor=int(h["max_tess_factor"]),
            rasterized_stream=int(h["rasterized_stream"]),
        )
