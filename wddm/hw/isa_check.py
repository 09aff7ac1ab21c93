"""What a valid program is: the operand types of every operation, and :func:`check`, which refuses everything else.

After ``check`` passes, an engine may trust every index: temporaries and vectors lie within ``temp_count``, literals and arrays
exist, slots are below their limits, inputs and outputs are declared registers, control flow nests properly, and operations occur
only in stages that have them. Vectors reach as far as they are used (an address vector as the resource's dimension says, a
result as far as the highest bit of its mask).

Records are checked by columns; only control flow is walked instruction by instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from wddm.hw.descriptors import ViewDimension
from wddm.hw.isa import (
    ABSOLUTE,
    INDEX_MASK,
    MAX_ARRAY_DWORDS,
    MAX_DISTANCES,
    MAX_INSTRUCTIONS,
    MAX_IO_REGISTERS,
    MAX_LITERALS,
    MAX_NESTING,
    MAX_SHARED,
    MAX_TEMPS,
    NEGATE,
    OUTPUT_STENCIL_REGISTER,
    AtomicOp,
    DeclarationKind,
    Interpolation,
    IsaError,
    Kind,
    Mod,
    Op,
    ProgramFlag,
    ShaderProgram,
    SyncFlag,
    SystemRegister,
    SystemValue,
)
from wddm.hw.packets import Stage

V, H, D, G, P, C = (1 << s for s in (Stage.VERTEX, Stage.HULL, Stage.DOMAIN, Stage.GEOMETRY, Stage.PIXEL, Stage.COMPUTE))
ALL: Final = V | H | D | G | P | C


@dataclass(frozen=True, slots=True)
class Signature:
    """Operand types of an operation.

    ``dst``: "" none, "f" float and "i" raw scalar, "i?" optional raw scalar, "d" double, "m" masked vector.
    ``src``: up to four of "f" float, "i" integer (negate only), "r" raw, float when modified, "d" double, "a" address vector as the
    resource slot says, "g" gradient vector, "2" and "4" vectors, "w" vector as long as the mask, with "?" where NONE may stand.
    ``aux``: "" zero, "levels", "array", "constant", "resource" (slot, mask), "sample" (slot, sampler, mask), "gather" (and
    component), "uav", "mask", "sync", "stream", "rasterizer" (resource or 255).
    ``aux2``: "" zero, "offsets", "control2", "control1", "atomic".
    """

    dst: str = ""
    src: tuple[str, ...] = ()
    aux: str = ""
    aux2: str = ""
    stages: int = ALL
    condition: bool = False  #: takes Mod.TEST_ZERO


def _signatures() -> dict[Op, Signature]:
    table: dict[Op, Signature] = {Op.NOP: Signature(), Op.MOV: Signature("f", ("r",)), Op.SELECT: Signature("f", ("i", "r", "r"))}

    def add(names: str, *signature: object, **more: object) -> None:
        for name in names.split():
            table[Op[name]] = Signature(*signature, **more)  # type: ignore[arg-type]

    add("FADD FMUL FDIV FMIN FMAX", "f", ("f", "f"))
    add("FMAD", "f", ("f", "f", "f"))
    add("FRCP FRSQ FSQRT FEXP2 FLOG2 FSIN FCOS FFRC FROUND_NE FROUND_NI FROUND_PI FROUND_Z", "f", ("f",))
    add("FEQ FNE FLT FGE", "i", ("f", "f"))
    add("IADD IMUL IMUL_HI UMUL_HI UDIV UREM IMIN IMAX UMIN UMAX IEQ INE ILT IGE ULT UGE", "i", ("i", "i"))
    add("UADD_CARRY USUB_BORROW AND OR XOR SHL ISHR USHR", "i", ("i", "i"))
    add("IMAD MSAD UBFE IBFE", "i", ("i", "i", "i"))
    add("INEG NOT COUNT_BITS FIRST_BIT_HI FIRST_BIT_LO FIRST_BIT_SHI BIT_REVERSE", "i", ("i",))
    add("BFI", "i", ("i", "i", "i", "i"))
    add("FTOI FTOU F32TOF16", "i", ("f",))
    add("ITOF UTOF F16TOF32", "f", ("i",))
    add("DADD DMUL DDIV DMIN DMAX", "d", ("d", "d"))
    add("DFMA", "d", ("d", "d", "d"))
    add("DRCP DMOV", "d", ("d",))
    add("DEQ DNE DLT DGE", "i", ("d", "d"))
    add("DSELECT", "d", ("i", "d", "d"))
    add("DTOF", "f", ("d",))
    add("FTOD", "d", ("f",))
    add("DTOI DTOU", "i", ("d",))
    add("ITOD UTOD", "d", ("i",))
    add("IF", "", ("i",), condition=True)
    add("ELSE ENDIF LOOP ENDLOOP BLOCK ENDBLOCK RET")
    add("BREAK CONTINUE", aux="levels")
    add("BREAKC CONTINUEC", "", ("i",), "levels", condition=True)
    add("RETC", "", ("i",), condition=True)
    add("DISCARD", "", ("i",), stages=P, condition=True)
    add("LOAD_ARRAY", "i", ("i",), "array")
    add("STORE_ARRAY", "", ("i", "i"), "array")
    add("LOAD_CONSTANT", "i", ("i",), "constant")
    add("LOAD_ICB", "i", ("i",))
    add("LOAD_INPUT", "i", ("i", "i?"), stages=V | H | D | G | P)
    add("STORE_OUTPUT", "", ("i", "i"), stages=V | H | D | G | P)
    add("LOAD_PATCH", "i", ("i",), stages=H | D)
    add("LOAD_CONTROL_POINT", "i", ("i", "i"), stages=H)
    add("SAMPLE", "m", ("a",), "sample", "offsets", P)
    add("SAMPLE_BIAS SAMPLE_COMPARE", "m", ("a", "f"), "sample", "offsets", P)
    add("SAMPLE_LEVEL SAMPLE_COMPARE_LZ", "m", ("a", "f"), "sample", "offsets")
    add("SAMPLE_GRAD", "m", ("a", "g", "g"), "sample", "offsets")
    add("GATHER4", "m", ("a",), "gather", "offsets")
    add("GATHER4_COMPARE", "m", ("a", "f"), "gather", "offsets")
    add("GATHER4_OFFSET", "m", ("a", "", "2"), "gather")
    add("GATHER4_OFFSET_COMPARE", "m", ("a", "f", "2"), "gather")
    add("LOD", "m", ("a",), "sample", "", P)
    add("LOAD", "m", ("a", "i?", "i?"), "resource", "offsets")
    add("RESINFO", "m", ("i",), "resource", "control2")
    add("SAMPLEINFO", "m", (), "rasterizer", "control1")
    add("SAMPLEPOS", "m", ("i",), "rasterizer")
    add("BUFINFO", "m", (), "resource")
    add("LOAD_RAW", "m", ("i",), "resource")
    add("LOAD_STRUCTURED", "m", ("i", "i"), "resource")
    add("UAV_LOAD", "m", ("a",), "uav", stages=P | C)
    add("UAV_STORE", "", ("a", "4"), "uav", stages=P | C)
    add("UAV_LOAD_RAW", "m", ("i",), "uav", stages=P | C)
    add("UAV_LOAD_STRUCTURED", "m", ("i", "i"), "uav", stages=P | C)
    add("UAV_STORE_RAW", "", ("i", "", "w"), "uav", stages=P | C)
    add("UAV_STORE_STRUCTURED", "", ("i", "i", "w"), "uav", stages=P | C)
    add("UAV_ATOMIC", "i?", ("u", "i?", "i", "i?"), "uav", "atomic", P | C)
    add("UAV_COUNTER_INC UAV_COUNTER_DEC", "i", (), "uav", stages=P | C)
    add("UAV_RESINFO", "m", (), "uav", "control2", P | C)
    add("UAV_BUFINFO", "m", (), "uav", stages=P | C)
    add("SHARED_LOAD", "m", ("i",), "mask", stages=C)
    add("SHARED_STORE", "", ("i", "", "w"), "mask", stages=C)
    add("SHARED_ATOMIC", "i?", ("i", "", "i", "i?"), "", "atomic", C)
    add("BARRIER", aux="sync", stages=P | C)
    add("DDX_COARSE DDY_COARSE DDX_FINE DDY_FINE", "f", ("f",), stages=P)
    add("EVAL_SAMPLE", "f", ("input", "i"), stages=P)
    add("EVAL_CENTROID", "f", ("input",), stages=P)
    add("EVAL_SNAPPED", "f", ("input", "i", "i"), stages=P)
    add("EMIT CUT", aux="stream", stages=G)
    return table


#: Operand types of every operation.
SIGNATURES: Final = _signatures()
assert set(SIGNATURES) == set(Op)

#: Stages that have each system register.
SYSTEM_STAGES: Final[dict[SystemRegister, int]] = {
    SystemRegister.VERTEX_ID: V,
    SystemRegister.INSTANCE_ID: V,
    SystemRegister.PRIMITIVE_ID: H | D | G | P,
    SystemRegister.GS_INSTANCE_ID: G,
    SystemRegister.CONTROL_POINT_ID: H,
    **dict.fromkeys((SystemRegister.DOMAIN_U, SystemRegister.DOMAIN_V, SystemRegister.DOMAIN_W), D),
    **{r: P for r in SystemRegister if SystemRegister.FRONT_FACE <= r <= SystemRegister.POSITION_W},
    **{r: C for r in SystemRegister if SystemRegister.THREAD_ID_X <= r <= SystemRegister.ID_IN_GROUP_FLAT},
    SystemRegister.RENDER_TARGET_ARRAY_INDEX: P,
    SystemRegister.VIEWPORT_ARRAY_INDEX: P,
}

#: Components of an address: coordinates, and one more for arrays.
COORDINATES: Final = {
    ViewDimension.BUFFER: 1,
    ViewDimension.RAW_BUFFER: 1,
    ViewDimension.STRUCTURED_BUFFER: 2,
    ViewDimension.TEXTURE1D: 1,
    ViewDimension.TEXTURE2D: 2,
    ViewDimension.TEXTURE3D: 3,
    ViewDimension.TEXTURECUBE: 3,
}
_GEOMETRY_INPUTS: Final = (1, 2, 3, 6, 7, *range(8, 40))
_BUFFERS: Final = (ViewDimension.BUFFER, ViewDimension.RAW_BUFFER, ViewDimension.STRUCTURED_BUFFER)
_CONTROL: Final = range(Op.IF, Op.RETC + 1)

_OPS: Final = max(Op) + 1
_ALL_MODS, _ALL_FLAGS, _ALL_SYNC = (int(sum(flags)) for flags in (Mod, ProgramFlag, SyncFlag))
_LAST_STAGE, _LAST_ATOMIC = int(max(Stage)), int(max(AtomicOp))
_MASK_LENGTH: Final = np.array([m.bit_length() for m in range(16)])
_VALID: Final = np.zeros(_OPS, bool)
_STAGES: Final = np.zeros(_OPS, np.uint32)
_CONDITION: Final = np.zeros(_OPS, bool)
for _op, _s in SIGNATURES.items():
    _VALID[_op], _STAGES[_op], _CONDITION[_op] = True, _s.stages, _s.condition
#: For each stage, which system registers it has.
_SYSTEM: Final = np.zeros((len(Stage), 64), bool)
for _register, _where in SYSTEM_STAGES.items():
    _SYSTEM[[s for s in Stage if _where >> s & 1], _register] = True

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class _Column:
    """One part of the signatures as a number for each operation."""

    def __init__(self, rules: dict[Op, str]) -> None:
        self.numbers = {rule: i for i, rule in enumerate(sorted({"", *rules.values()}))}
        self.by_op = np.zeros(_OPS, np.uint8)
        for op, rule in rules.items():
            self.by_op[op] = self.numbers[rule]


class _Rules:
    """The same part of the signature of each instruction of a program."""

    def __init__(self, column: _Column, ops: npt.NDArray[np.uint16]) -> None:
        self._numbers = column.numbers
        self.codes: npt.NDArray[np.uint8] = column.by_op[ops]
        self._count = np.bincount(self.codes, minlength=len(column.numbers)).tolist()

    def of(self, *names: str) -> Bools | None:
        """The instructions that have one of these rules; None: there are none."""
        found: Bools | None = None
        for name in names:
            number = self._numbers.get(name)
            if number is not None and self._count[number]:
                here = self.codes == number
                found = here if found is None else found | here
        return found

    def which(self, *names: str) -> Bools:
        """The same, always an array."""
        found = self.of(*names)
        return np.zeros(len(self.codes), bool) if found is None else found


_DST: Final = _Column({op: s.dst for op, s in SIGNATURES.items()})
_SRC: Final = [_Column({op: s.src[i] if i < len(s.src) else "" for op, s in SIGNATURES.items()}) for i in range(4)]
_AUX: Final = _Column({op: s.aux for op, s in SIGNATURES.items()})
_AUX2: Final = _Column({op: s.aux2 for op, s in SIGNATURES.items()})


def check(program: ShaderProgram) -> None:
    """Raise IsaError, naming the record, unless every part of ``program`` is valid."""
    _Checker(program).run()


def declared(program: ShaderProgram, kind: DeclarationKind) -> npt.NDArray[np.void]:
    """The declarations of one kind."""
    rows: npt.NDArray[np.void] = program.declarations[program.declarations["kind"] == kind]
    return rows


class _Checker:
    def __init__(self, program: ShaderProgram) -> None:
        self.program = program
        self.registers = {kind: np.zeros(64, bool) for kind in (Kind.INPUT, Kind.OUTPUT)}
        self.patch = np.zeros(64, bool)
        self.arrays: dict[int, int] = {}
        self.resources = np.zeros(256, np.int64)  #: address components per slot
        self.resource_kinds = np.zeros(256, np.int64)
        self.uavs = np.zeros(256, np.int64)
        self.uav_kinds = np.zeros(256, np.int64)
        self.uav_counters = np.zeros(256, bool)
        self.ops: npt.NDArray[np.uint16] = program.instructions["op"]

    def run(self) -> None:
        self._header()
        self._declarations()
        if len(self.ops):
            self._instructions()
        entry = self.program.patch_entry
        if self.program.stage == Stage.HULL:
            self._flow(0, entry)
            self._flow(entry, len(self.ops))
        else:
            self._flow(0, len(self.ops))

    # --- header and declarations -------------------------------------------------------------------------------------

    def _header(self) -> None:
        p = self.program
        for name, value, limit in (
            ("stage", p.stage, _LAST_STAGE),
            ("temp_count", p.temp_count, MAX_TEMPS),
            ("literals", len(p.literals), MAX_LITERALS),
            ("immediate constants", len(p.icb), MAX_ARRAY_DWORDS),
            ("instructions", len(p.instructions), MAX_INSTRUCTIONS),
            ("shared_bytes", p.shared_bytes, MAX_SHARED if p.stage == Stage.COMPUTE else 0),
            ("patch_entry", p.patch_entry, len(p.instructions) if p.stage == Stage.HULL else 0),
            ("flags", p.flags, _ALL_FLAGS),
            ("declarations", len(p.declarations), 4096),
        ):
            if not 0 <= value <= limit:
                raise IsaError(f"header: {name} is {value}; at most {limit}")
        x, y, z = p.group
        if p.stage == Stage.COMPUTE and not (1 <= x <= 1024 and 1 <= y <= 1024 and 1 <= z <= 64 and x * y * z <= 1024):
            raise IsaError(f"header: thread group {x}x{y}x{z}; at most 1024x1024x64 and 1024 threads")
        if p.stage == Stage.GEOMETRY:
            if p.primitive not in _GEOMETRY_INPUTS or p.topology not in (1, 3, 5):
                raise IsaError(f"header: geometry input primitive {p.primitive}, output topology {p.topology}")
            if not 1 <= p.max_vertices <= 1024 or not 1 <= p.instances <= 32:
                raise IsaError(f"header: {p.max_vertices} vertices (1..1024), {p.instances} instances (1..32)")
            if p.rasterized_stream > 3 and p.rasterized_stream != 0xFFFF_FFFF:
                raise IsaError(f"header: rasterized stream {p.rasterized_stream}")
        if p.stage in (Stage.HULL, Stage.DOMAIN):
            points, output = p.primitive & 0xFF, p.primitive >> 8
            least = 1 if p.stage == Stage.HULL else 0
            if not least <= points <= 32 or not 0 <= output <= 32:
                raise IsaError(f"header: {points} input and {output} output control points; at most 32")
            if p.topology & 15 not in (1, 2, 3):
                raise IsaError(f"header: tessellator domain {p.topology & 15}")
        if p.stage == Stage.HULL and (not 1 <= p.topology >> 4 & 15 <= 4 or not 1 <= p.topology >> 8 <= 4):
            raise IsaError(f"header: partitioning {p.topology >> 4 & 15}, output primitive {p.topology >> 8}")
        if p.flags & ProgramFlag.PASS_THROUGH and (p.stage != Stage.HULL or p.patch_entry):
            raise IsaError("header: pass-through is for hull programs without a control-point entry")

    def _declarations(self) -> None:
        for i, row in enumerate(self.program.declarations.tolist()):
            kind, index, mask, value, extra = row
            try:
                self._declaration(DeclarationKind(kind), index, mask, value, extra)
            except ValueError as error:
                raise IsaError(f"declaration {i} {row}: {error}") from error
        distances = (SystemValue.CLIP_DISTANCE, SystemValue.CULL_DISTANCE)
        rows = self.program.declarations.tolist()
        count = sum(mask.bit_count() for kind, _, mask, value, _ in rows if kind == DeclarationKind.OUTPUT and value in distances)
        if count > MAX_DISTANCES:
            raise IsaError(f"declarations: {count} clip and cull distances; at most {MAX_DISTANCES}")
        if sum(self.arrays.values()) > MAX_ARRAY_DWORDS:
            raise IsaError(f"declarations: arrays of {sum(self.arrays.values())} dwords in all; at most {MAX_ARRAY_DWORDS}")

    def _declaration(self, kind: DeclarationKind, index: int, mask: int, value: int, extra: int) -> None:
        def need(condition: bool, why: str) -> None:
            if not condition:
                raise ValueError(why)

        stage = self.program.stage
        if kind in (DeclarationKind.INPUT, DeclarationKind.OUTPUT, DeclarationKind.PATCH_CONSTANT):
            limit = OUTPUT_STENCIL_REGISTER + 1 if kind == DeclarationKind.OUTPUT and stage == Stage.PIXEL else MAX_IO_REGISTERS
            need(index < limit, f"register {index}; below {limit}")
            need(0 < mask < 16, f"mask {mask}")
            SystemValue(value)
        if kind == DeclarationKind.INPUT:
            Interpolation(extra)
            need(stage != Stage.COMPUTE, "compute programs have no inputs")
            self.registers[Kind.INPUT][index] = True
        elif kind == DeclarationKind.OUTPUT:
            need(stage != Stage.COMPUTE, "compute programs have no outputs")
            need(extra < 4, f"stream {extra}")
            need(stage == Stage.PIXEL or value < SystemValue.TARGET, f"system value {value} is for pixel programs")
            need(stage != Stage.PIXEL or index < 8 or index >= 32, f"render target {index}")
            self.registers[Kind.OUTPUT][index] = True
        elif kind == DeclarationKind.PATCH_CONSTANT:
            need(stage in (Stage.HULL, Stage.DOMAIN), "patch constants are for hull and domain programs")
            self.patch[index] = True
        elif kind == DeclarationKind.RESOURCE:
            need(index < 128, f"slot {index}; below 128")
            need(mask < 4 and value in COORDINATES, f"dimension {value}, mask {mask}")
            need(value not in _BUFFERS or mask == 0, "buffers are neither arrays nor multisampled")
            need(mask & 2 == 0 or value == ViewDimension.TEXTURE2D, "only 2D textures are multisampled")
            need(mask & 1 == 0 or value != ViewDimension.TEXTURE3D, "3D textures make no arrays")
            self._stride(value, extra)
            self.resources[index] = COORDINATES[ViewDimension(value)] + (mask & 1)
            self.resource_kinds[index] = value
        elif kind == DeclarationKind.UAV:
            need(index < 8 and stage in (Stage.PIXEL, Stage.COMPUTE), f"slot {index}; below 8, pixel and compute only")
            need(mask & ~5 == 0 and value in COORDINATES and value != ViewDimension.TEXTURECUBE, f"dimension {value}, mask {mask}")
            need(mask & 1 == 0 or value in (ViewDimension.TEXTURE1D, ViewDimension.TEXTURE2D), "no such array")
            need(mask & 4 == 0 or value == ViewDimension.STRUCTURED_BUFFER, "only structured buffers have counters")
            self._stride(value, extra)
            self.uavs[index] = COORDINATES[ViewDimension(value)] + (mask & 1)
            self.uav_kinds[index] = value
            self.uav_counters[index] = bool(mask & 4)
        elif kind == DeclarationKind.SAMPLER:
            need(index < 16 and value < 2, f"slot {index}, kind {value}")
        elif kind == DeclarationKind.CONSTANT_BUFFER:
            need(index < 15, f"slot {index}; below 15")
        elif kind == DeclarationKind.ARRAY:
            need(index < 4096 and index not in self.arrays, f"array {index} twice or out of range")
            need(0 < value <= MAX_ARRAY_DWORDS, f"{value} dwords; at most {MAX_ARRAY_DWORDS}")
            self.arrays[index] = value
        elif kind == DeclarationKind.STREAM_OUTPUT:
            need(stage in (Stage.VERTEX, Stage.DOMAIN, Stage.GEOMETRY), "no stream output from this stage")
            need(index < MAX_IO_REGISTERS and 0 < mask < 16, f"register {index} mask {mask}")
            need(value & 0xFF < 4 and value >> 8 < 4, f"buffer {value & 0xFF} stream {value >> 8}")
            need(extra % 4 == 0 and extra < 2048, f"byte offset {extra}")
        elif kind == DeclarationKind.STREAM_STRIDE:
            need(index < 4 and value % 4 == 0 and 0 < value <= 2048, f"buffer {index} stride {value}")

    @staticmethod
    def _stride(dimension: int, stride: int) -> None:
        if dimension == ViewDimension.STRUCTURED_BUFFER and (stride % 4 or not 0 < stride <= 2048):
            raise ValueError(f"stride {stride}; a multiple of 4 up to 2048")

    # --- instructions ------------------------------------------------------------------------------------------------

    def _fail(self, bad: Bools, why: str) -> None:
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            op = int(self.ops[i])
            name = Op(op).name if op < _OPS and _VALID[op] else f"op {op}"
            raise IsaError(f"instruction {i} {name}: {why}")

    def _having(self, *ops: Op) -> Bools | None:
        """The instructions of these operations; None: there are none."""
        found: Bools | None = None
        for op in ops:
            if self.counts[op]:
                here = self.ops == int(op)
                found = here if found is None else found | here
        return found

    def _instructions(self) -> None:
        rows, ops, stage = self.program.instructions, self.ops, self.program.stage
        self._fail(ops >= _OPS, "unknown operation")
        self._fail(~_VALID[ops], "unknown operation")
        self._fail(_STAGES[ops] >> np.uint32(stage) & 1 == 0, f"not in a {Stage(stage).name.lower()} program")
        self.counts = np.bincount(ops, minlength=_OPS).tolist()
        dst = _Rules(_DST, ops)
        mods = rows["mods"].astype(np.int64)
        if mods.any():
            self._fail(mods & ~_ALL_MODS != 0, "unknown modifier")
            self._fail((mods & int(Mod.TEST_ZERO) != 0) & ~_CONDITION[ops], "TEST_ZERO without a condition")
            self._fail((mods & int(Mod.SATURATE) != 0) & ~dst.which("f", "d"), "SATURATE of a result that is no float")
        aux, aux2 = rows["aux"].astype(np.int64), rows["aux2"].astype(np.int64)
        rule, rule2 = _Rules(_AUX, ops), _Rules(_AUX2, ops)
        self._aux(rule, aux)
        self._aux2(rule2, aux2)
        slot = aux & 0xFF
        mask_length = _MASK_LENGTH[aux >> 16 & 15]
        self._destination(rows["dst"].astype(np.int64), dst, mask_length)
        uav = rule.of("uav")
        address, kinds = self.resources[slot], self.resource_kinds[slot]
        if uav is not None:
            address, kinds = np.where(uav, self.uavs[slot], address), np.where(uav, self.uav_kinds[slot], kinds)
        sources = rows["src"].astype(np.int64)
        lengths = {"a": address, "w": mask_length}
        for s in range(4):
            self._source(s, sources[:, s], lengths, kinds)
        self._dimensions(rule, rule2, kinds, aux, aux2, sources)

    def _aux(self, rule: _Rules, aux: Ints) -> None:
        slot = aux & 0xFF
        if (none := rule.of("")) is not None:
            self._fail(none & (aux != 0), "aux must be zero")
        if (array := rule.of("array")) is not None:
            arrays = np.zeros(4096, bool)
            arrays[list(self.arrays)] = True
            self._fail(array & ((aux >= 4096) | ~arrays[np.minimum(aux, 4095)]), "no such array")
        if (constant := rule.of("constant")) is not None:
            self._fail(constant & (aux >= 15), "constant buffer slot out of range")
        if (sync := rule.of("sync")) is not None:
            self._fail(sync & (aux & ~_ALL_SYNC != 0), "unknown barrier flag")
            if self.program.stage == Stage.PIXEL:
                self._fail(sync & (aux != int(SyncFlag.UAV_GLOBAL)), "a pixel program has only the global barrier")
        if (stream := rule.of("stream")) is not None:
            self._fail(stream & (aux >= 4), "stream out of range")
        for names, bits in (
            (("mask",), 0xF0000), (("resource", "uav", "rasterizer"), 0xF00FF), (("sample",), 0xF0FFF), (("gather",), 0x3F0FFF),
        ):  # fmt: skip
            if (here := rule.of(*names)) is not None:
                self._fail(here & (aux & ~bits != 0), "reserved bits in aux")
        if (needs := rule.of("resource", "sample", "gather", "rasterizer")) is not None:
            if (rasterizer := rule.of("rasterizer")) is not None:
                needs = needs & ~(rasterizer & (slot == 255))
            self._fail(needs & (self.resources[slot] == 0), "resource slot that is not declared")
        if (uav := rule.of("uav")) is not None:
            self._fail(uav & (self.uavs[slot] == 0), "UAV slot that is not declared")
        if (counter := self._having(Op.UAV_COUNTER_INC, Op.UAV_COUNTER_DEC)) is not None:
            self._fail(counter & ~self.uav_counters[slot], "UAV without a counter")

    def _aux2(self, rule: _Rules, aux2: Ints) -> None:
        if not aux2.any():
            return
        self._fail(rule.which("") & (aux2 != 0), "aux2 must be zero")
        self._fail(rule.which("offsets") & (aux2 >> 24 != 0), "reserved bits in aux2")
        self._fail(rule.which("control2") & ((aux2 & 0xFFFFFF != 0) | (aux2 >> 24 > 2)), "unknown control")
        self._fail(rule.which("control1") & ((aux2 & 0xFFFFFF != 0) | (aux2 >> 24 > 1)), "unknown control")
        self._fail(rule.which("atomic") & (aux2 > _LAST_ATOMIC), "unknown atomic operation")

    def _destination(self, word: Ints, rule: _Rules, mask_length: Ints) -> None:
        kind, index = word >> 28, word & INDEX_MASK
        none = rule.which("")
        self._fail(none & (word != 0), "has no destination")
        written = ~none
        if (optional := rule.of("i?")) is not None:
            written &= ~(optional & (word == 0))
        self._fail(written & (word & (NEGATE | ABSOLUTE) != 0), "modifier on the destination")
        temp, output = kind == int(Kind.TEMP), kind == int(Kind.OUTPUT)
        self._fail(written & ~temp & ~(rule.which("f", "i", "i?") & output), "destination is no register")
        last = index + 1
        if (double := rule.of("d")) is not None:
            last = last + double
        if (vector := rule.of("m")) is not None:
            last = np.where(vector, index + mask_length, last)
        self._fail(written & temp & (last > self.program.temp_count), "destination beyond temp_count")
        self._fail(written & output & ~self._output_declared(index), "output register that is not declared")

    def _output_declared(self, index: Ints) -> Bools:
        register = index >> 2
        inside = register < 64
        table = self.registers[Kind.OUTPUT][np.minimum(register, 63)]
        if self.program.stage == Stage.HULL:
            late = np.arange(len(index)) >= self.program.patch_entry
            table = np.where(late, self.patch[np.minimum(register, 63)], table)
        result: Bools = inside & table
        return result

    def _source(self, s: int, word: Ints, lengths: dict[str, Ints], kinds: Ints) -> None:
        program, n = self.program, "abce"[s]
        rule = _Rules(_SRC[s], self.ops)
        present, absent = word != 0, rule.which("")
        self._fail(absent & present, f"has no source {n}")
        used = ~absent
        if (optional := rule.of("i?")) is not None:
            used &= ~optional | present
        if s == 1 and (inputs := self._having(Op.LOAD_INPUT)) is not None:
            if program.stage in (Stage.HULL, Stage.DOMAIN, Stage.GEOMETRY):
                self._fail(~used & inputs, "inputs of this stage are an array")
            else:
                self._fail(used & inputs, "inputs of this stage are no array")
        if not used.any():
            return
        kind, index = word >> 28, word & INDEX_MASK
        length, vector = self._lengths(rule, lengths, kinds)
        temp = kind == int(Kind.TEMP)
        if (vector := vector & used).any():
            self._fail(vector & ~temp, f"source {n} is a vector and no TEMP")
            self._fail(vector & (word & (NEGATE | ABSOLUTE) != 0), f"modifier on vector source {n}")
        if (of_input := rule.of("input")) is not None:
            self._fail(used & of_input & (kind != int(Kind.INPUT)), f"source {n} must be an input")
        absolute = used & (word & ABSOLUTE != 0)
        if absolute.any():
            self._fail(absolute & ~rule.which("f", "r", "d", "input"), f"absolute value of integer source {n}")
        self._fail(used & ((kind < int(Kind.TEMP)) | (kind > int(Kind.SYSTEM))), f"source {n} cannot be read")
        last = index + length
        self._fail(used & temp & (last > program.temp_count), f"source {n} beyond temp_count")
        self._fail(used & (kind == int(Kind.LITERAL)) & (last > len(program.literals)), f"source {n} beyond the literals")
        constant = used & (kind == int(Kind.CONSTANT))
        if constant.any():
            self._fail(constant & ((index >> 14 >= 15) | ((index & 0x3FFF) + length > 1 << 14)), f"source {n} is no constant")
        reads_input = used & (kind == int(Kind.INPUT))
        if reads_input.any():
            if program.stage not in (Stage.VERTEX, Stage.PIXEL):
                self._fail(reads_input, "inputs of this stage are read with LOAD_INPUT")
            end, inputs = last - 1 >> 2, self.registers[Kind.INPUT]
            table = inputs[np.minimum(end, 63)] & inputs[np.minimum(index >> 2, 63)]
            self._fail(reads_input & ((end >= 64) | ~table), f"source {n}: input register that is not declared")
        system = used & (kind == int(Kind.SYSTEM))
        if system.any():
            allowed = _SYSTEM[program.stage][np.minimum(index, 63)]
            self._fail(system & ((index >= 64) | ~allowed), f"source {n}: system register of another stage")
            self._fail(system & (length > 1), f"source {n}: a system register is one dword")

    def _lengths(self, rule: _Rules, lengths: dict[str, Ints], kinds: Ints) -> tuple[Ints, Bools]:
        """Consecutive dwords of each source, and which sources are vectors of temps."""
        length, vector = np.ones(len(kinds), np.int64), np.zeros(len(kinds), bool)

        def put(where: Bools | None, size: Ints | int) -> None:
            nonlocal length, vector
            if where is not None:
                length, vector = np.where(where, size, length), vector | where

        put(rule.of("a"), lengths["a"])
        put(rule.of("w"), lengths["w"])
        put(rule.of("2"), 2)
        put(rule.of("4"), 4)
        if (gradient := rule.of("g")) is not None:
            first = int(ViewDimension.TEXTURE1D)
            put(gradient, np.where(kinds == int(ViewDimension.TEXTURECUBE), 3, np.minimum(kinds - first + 1, 3)))
        if (atomic := rule.of("u")) is not None:
            # Raw and structured buffers are addressed by one number.
            buffer = (kinds == int(ViewDimension.RAW_BUFFER)) | (kinds == int(ViewDimension.STRUCTURED_BUFFER))
            put(atomic & ~buffer & (lengths["a"] != 0), lengths["a"])
        if (double := rule.of("d")) is not None:
            length = np.where(double, 2, length)
        return length, vector

    def _dimensions(self, rule: _Rules, rule2: _Rules, kinds: Ints, aux: Ints, aux2: Ints, sources: Ints) -> None:
        """Operations against what their slot was declared to be."""
        if (any_atomic := rule2.of("atomic")) is not None:
            exchange = any_atomic & (aux2 == int(AtomicOp.COMPARE_EXCHANGE))
            self._fail(any_atomic & (exchange != (sources[:, 3] != 0)), "COMPARE_EXCHANGE alone has a compare value")
        if not kinds.any() and rule.of("rasterizer") is None:
            return
        dimension = ViewDimension
        texture = kinds >= int(dimension.TEXTURE1D)
        cube, volume = kinds == int(dimension.TEXTURECUBE), kinds == int(dimension.TEXTURE3D)
        raw, structured = kinds == int(dimension.RAW_BUFFER), kinds == int(dimension.STRUCTURED_BUFFER)
        if (samples := rule.of("sample", "gather")) is not None:
            self._fail(samples & ~texture, "samples something that is no texture")
        if (gathers := rule.of("gather")) is not None:
            self._fail(gathers & ((kinds == int(dimension.TEXTURE1D)) | volume), "gathers from a 1D or 3D texture")
        if (compare := self._having(Op.SAMPLE_COMPARE, Op.SAMPLE_COMPARE_LZ)) is not None:
            self._fail(compare & volume, "compares with a 3D texture")
        if (offsets := rule2.of("offsets")) is not None:
            self._fail(cube & (aux2 & 0xFFFFFF != 0) & offsets, "offsets in a cube")
        for ops, bad, why in (
            ((Op.LOAD, Op.UAV_LOAD, Op.UAV_STORE), raw | structured | cube, "no typed access to this slot"),
            ((Op.RESINFO, Op.UAV_RESINFO), ~texture, "asks the size of something that is no texture"),
            ((Op.BUFINFO, Op.UAV_BUFINFO), texture, "asks the size of something that is no buffer"),
            ((Op.LOAD_RAW, Op.UAV_LOAD_RAW, Op.UAV_STORE_RAW), ~raw, "slot is no raw buffer"),
            ((Op.LOAD_STRUCTURED, Op.UAV_LOAD_STRUCTURED, Op.UAV_STORE_STRUCTURED), ~structured, "slot is no structured buffer"),
        ):
            if (here := self._having(*ops)) is not None:
                self._fail(here & bad, why)
        if (sampleinfo := rule.of("rasterizer")) is not None:
            wrong = sampleinfo & (aux & 0xFF != 255) & (kinds != int(dimension.TEXTURE2D))
            self._fail(wrong, "asks for the samples of something that has none")
        if (atomic := self._having(Op.UAV_ATOMIC)) is not None:
            self._fail(atomic & (structured != (sources[:, 1] != 0)), "byte offset goes with structured buffers alone")

    # --- control flow ------------------------------------------------------------------------------------------------

    def _flow(self, start: int, end: int) -> None:
        """Nesting of one entry."""
        stack: list[Op] = []
        where = np.flatnonzero((self.ops[start:end] >= _CONTROL.start) & (self.ops[start:end] < _CONTROL.stop)) + start
        levels = self.program.instructions["aux"]

        def fail(i: int, why: str) -> None:
            raise IsaError(f"instruction {i} {Op(int(self.ops[i])).name}: {why}")

        for i in where.tolist():
            op = Op(int(self.ops[i]))
            if op in (Op.IF, Op.LOOP, Op.BLOCK):
                stack.append(op)
                if len(stack) > MAX_NESTING:
                    fail(i, f"nested deeper than {MAX_NESTING}")
            elif op == Op.ELSE:
                if not stack or stack[-1] != Op.IF:
                    fail(i, "no IF to belong to")
                stack[-1] = Op.ELSE
            elif op in _OPENERS:
                if not stack or stack.pop() not in _OPENERS[op]:
                    fail(i, "closes what is not open")
            elif op not in (Op.RET, Op.RETC):
                left = [o for o in reversed(stack) if o in (Op.LOOP, Op.BLOCK)]
                level = int(levels[i])
                if not 1 <= level <= len(left):
                    fail(i, f"leaves {level} of {len(left)} levels")
                if op in (Op.CONTINUE, Op.CONTINUEC) and left[level - 1] != Op.LOOP:
                    fail(i, "continues what is no loop")
        if stack:
            raise IsaError(f"instruction {end}: {stack[-1].name} is not closed")


_OPENERS: Final = {Op.ENDIF: (Op.IF, Op.ELSE), Op.ENDLOOP: (Op.LOOP,), Op.ENDBLOCK: (Op.BLOCK,)}
