"""Shader code of DirectX 8 and 9 (models 1.0 to 3.0) as a list of instructions.

A token names an opcode, a destination or a source; models before 2.0 do not tell how long an instruction is, so the operands are
known by opcode and model. Every bit that decides the length is checked; what an instruction means is the translator's matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

import numpy as np

from umd.dp2.errors import CommandError

MAX_TOKENS: Final = 1 << 16


class Op(IntEnum):
    """Opcodes."""

    NOP, MOV, ADD, SUB, MAD, MUL, RCP, RSQ, DP3, DP4, MIN, MAX, SLT, SGE, EXP, LOG, LIT, DST, LRP, FRC = range(20)
    M4X4, M4X3, M3X4, M3X3, M3X2, CALL, CALLNZ, LOOP, RET, ENDLOOP, LABEL, DCL, POW, CRS, SGN, ABS, NRM = range(20, 37)
    SINCOS, REP, ENDREP, IF, IFC, ELSE, ENDIF, BREAK, BREAKC, MOVA, DEFB, DEFI = range(37, 49)
    TEXCOORD, TEXKILL, TEX, TEXBEM, TEXBEML, TEXREG2AR, TEXREG2GB, TEXM3X2PAD, TEXM3X2TEX, TEXM3X3PAD, TEXM3X3TEX = range(64, 75)
    TEXM3X3SPEC, TEXM3X3VSPEC, EXPP, LOGP, CND, DEF, TEXREG2RGB, TEXDP3TEX, TEXM3X2DEPTH, TEXDP3, TEXM3X3, TEXDEPTH = range(76, 88)
    CMP, BEM, DP2ADD, DSX, DSY, TEXLDD, SETP, TEXLDL, BREAKP = range(88, 97)
    PHASE = 0xFFFD
    COMMENT = 0xFFFE
    END = 0xFFFF


class File(IntEnum):
    """Register files."""

    TEMP, INPUT, CONST, ADDRESS, RASTOUT, ATTROUT, OUTPUT, CONSTINT, COLOROUT, DEPTHOUT, SAMPLER = range(11)
    CONST2, CONST3, CONST4, CONSTBOOL, LOOP, TEMPFLOAT16, MISC, LABEL, PREDICATE = range(11, 20)


#: In pixel shaders the address file is the texture coordinates.
TEXTURE: Final = File.ADDRESS


class Modifier(IntEnum):
    """What happens to a source."""

    NONE, NEG, BIAS, BIASNEG, SIGN, SIGNNEG, COMP, X2, X2NEG, DZ, DW, ABS, ABSNEG, NOT = range(14)


@dataclass(frozen=True, slots=True)
class Source:
    """A source; ``relative`` = (file, number, component) of the register that is added to the number."""

    file: File
    number: int
    swizzle: str
    modifier: Modifier = Modifier.NONE
    relative: tuple[File, int, str] | None = None


@dataclass(frozen=True, slots=True)
class Destination:
    """A destination; ``shift``: power of two by which the result is multiplied."""

    file: File
    number: int
    mask: str = "xyzw"
    saturate: bool = False
    shift: int = 0


@dataclass(slots=True)
class Instruction:
    """One instruction; ``control`` are its specific bits, ``words`` the data of definitions and declarations."""

    op: Op
    control: int = 0
    destination: Destination | None = None
    sources: list[Source] = field(default_factory=list)
    predicate: Source | None = None
    coissued: bool = False
    words: tuple[int, ...] = ()


@dataclass(slots=True)
class Code:
    """A shader; ``version`` = (major, minor)."""

    pixel: bool
    version: tuple[int, int]
    instructions: list[Instruction]


_NO_OPERANDS: Final = frozenset(
    {Op.NOP, Op.RET, Op.ENDLOOP, Op.ENDREP, Op.ELSE, Op.ENDIF, Op.BREAK, Op.PHASE}
)
#: Sources of instructions without a destination.
_SOURCES_ONLY: Final = {
    Op.CALL: 1, Op.CALLNZ: 2, Op.LOOP: 2, Op.LABEL: 1, Op.REP: 1, Op.IF: 1, Op.IFC: 2, Op.BREAKC: 2, Op.BREAKP: 1,
}  # fmt: skip
#: Sources behind the destination, one where nothing else is said.
_SOURCES: Final = {
    **dict.fromkeys(
        (Op.ADD, Op.SUB, Op.MUL, Op.DP3, Op.DP4, Op.MIN, Op.MAX, Op.SLT, Op.SGE, Op.DST, Op.M4X4, Op.M4X3, Op.M3X4, Op.M3X3,
         Op.M3X2, Op.POW, Op.CRS, Op.TEXM3X3SPEC, Op.BEM, Op.SETP, Op.TEXLDL), 2),
    **dict.fromkeys((Op.MAD, Op.LRP, Op.CND, Op.CMP, Op.DP2ADD), 3),
    Op.TEXLDD: 4, Op.TEXKILL: 0, Op.TEXDEPTH: 0,
}  # fmt: skip


def _source_count(op: Op, pixel: bool, version: tuple[int, int]) -> int:
    if op is Op.TEX:
        return 0 if version < (1, 4) else 1 if version < (2, 0) else 2
    if op is Op.TEXCOORD:
        return 0 if version < (1, 4) else 1
    if op is Op.SINCOS:
        return 3 if version < (3, 0) else 1
    if op is Op.SGN:
        return 3 if version < (3, 0) else 1
    return _SOURCES.get(op, 1)


class _Reader:
    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens
        self.at = 0

    def next(self) -> int:
        if self.at >= len(self.tokens):
            raise CommandError.params("shader code without an end")
        self.at += 1
        return self.tokens[self.at - 1]

    def words(self, count: int) -> tuple[int, ...]:
        return tuple(self.next() for _ in range(count))


def _file(token: int) -> File:
    number = token >> 28 & 7 | (token >> 11 & 3) << 3
    try:
        return File(number)
    except ValueError:
        raise CommandError.params(f"register file {number}") from None


def _swizzle(token: int) -> str:
    return "".join("xyzw"[token >> 16 + 2 * i & 3] for i in range(4))


def _source(reader: _Reader, code: Code) -> Source:
    token = reader.next()
    if not token >> 31:
        raise CommandError.params(f"0x{token:08X} is no source")
    relative: tuple[File, int, str] | None = None
    if token >> 13 & 1:
        if code.version < (2, 0):
            relative = File.ADDRESS, 0, "x"
        else:
            address = reader.next()
            relative = _file(address), address & 0x7FF, _swizzle(address)[0]
    modifier = token >> 24 & 0xF
    if modifier not in Modifier._value2member_map_:
        raise CommandError.params(f"source modifier {modifier}")
    return Source(_file(token), token & 0x7FF, _swizzle(token), Modifier(modifier), relative)


def _destination(reader: _Reader) -> Destination:
    token = reader.next()
    if not token >> 31:
        raise CommandError.params(f"0x{token:08X} is no destination")
    if token >> 13 & 1:
        raise CommandError.unsupported("a destination with an address register")
    mask = "".join(c for i, c in enumerate("xyzw") if token >> 16 + i & 1)
    shift = token >> 24 & 0xF
    return Destination(_file(token), token & 0x7FF, mask, bool(token >> 20 & 1), shift - 16 if shift & 8 else shift)


def parse(data: bytes) -> Code:
    """The instructions of shader code. Raises CommandError."""
    tokens = np.frombuffer(data[: len(data) & ~3], "<u4").tolist()
    if len(tokens) > MAX_TOKENS:
        raise CommandError.params(f"shader code of {len(tokens)} tokens")
    reader = _Reader(tokens)
    version = reader.next()
    if version >> 16 not in (0xFFFE, 0xFFFF) or not (1, 0) <= (version >> 8 & 0xFF, version & 0xFF) <= (3, 0xFF):
        raise CommandError.params(f"0x{version:08X} is no shader version")
    code = Code(version >> 16 == 0xFFFF, (version >> 8 & 0xFF, version & 0xFF), [])
    while True:
        token = reader.next()
        number = token & 0xFFFF
        if number == Op.END:
            return code
        if number == Op.COMMENT:
            reader.words(token >> 16 & 0x7FFF)
            continue
        if number not in Op._value2member_map_:
            raise CommandError.params(f"shader opcode {number}")
        code.instructions.append(_instruction(Op(number), token, reader, code))


def _instruction(op: Op, token: int, reader: _Reader, code: Code) -> Instruction:
    i = Instruction(op, token >> 16 & 0xFF, coissued=bool(token >> 30 & 1))
    if op is Op.DCL:
        i.words = reader.words(1)
        i.destination = _destination(reader)
    elif op in (Op.DEF, Op.DEFI, Op.DEFB):
        i.destination = _destination(reader)
        i.words = reader.words(1 if op is Op.DEFB else 4)
    elif op in _SOURCES_ONLY:
        i.sources = [_source(reader, code) for _ in range(_SOURCES_ONLY[op])]
    elif op not in _NO_OPERANDS:
        i.destination = _destination(reader)
        if token >> 28 & 1 and code.version >= (2, 0):
            i.predicate = _source(reader, code)
        i.sources = [_source(reader, code) for _ in range(_source_count(op, code.pixel, code.version))]
    return i
