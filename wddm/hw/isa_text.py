"""Text for programs of the virtual GPU: assemble and disassemble. For tests, traces and documentation; not on any hot path.

One line per record, ``;`` starts a comment::

    vertex temps=8 flags=0            ; stage first; any header field by name: group=8,8,1 shared_bytes=256 primitive=3 …
    input 0 xyzw                      ; register, mask; optional: sv=POSITION, interp=LINEAR, stream=1
    output 0 xyzw sv=POSITION
    resource 0 TEXTURE2D array        ; slot, dimension; optional: array, ms, stride=16
    uav 0 STRUCTURED_BUFFER stride=16 counter
    sampler 0 compare
    constants 0 64                    ; slot, dwords
    array 0 32                        ; index, dwords
    stream_output 1 xyz buffer=0 stream=0 offset=12
    stream_stride 0 24
    icb 1.0 0x10 7                    ; immediate constants
    fmad.sat r4, -v0.x, |c0[5]|, 1.5
    sample r4, r0 t0 s1 mask=xyzw offset=1,0,0
    break 1

Operands: ``rN`` temporary, ``vN.c`` input, ``oN.c`` output, ``cS[N]`` constant, ``lN`` literal, ``$NAME`` system register; a number
makes a literal (float when it has a point or an exponent, else integer). ``-`` negates, ``|x|`` takes the absolute value,
``_`` is NONE. ``patch_entry`` on a line of its own starts a hull program's second entry.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator

import numpy as np

from wddm.hw.descriptors import ViewDimension
from wddm.hw.isa import (
    ABSOLUTE,
    DECLARATION,
    INDEX_MASK,
    INSTRUCTION,
    NEGATE,
    AtomicOp,
    DeclarationKind,
    Interpolation,
    IsaError,
    Kind,
    Mod,
    Op,
    ShaderProgram,
    SystemRegister,
    SystemValue,
    operand,
)
from wddm.hw.isa_check import SIGNATURES
from wddm.hw.packets import Stage

_MODS = {"sat": Mod.SATURATE, "precise": Mod.PRECISE, "z": Mod.TEST_ZERO}
_FIELDS = ("flags", "shared_bytes", "primitive", "topology", "max_vertices", "instances", "max_tess_factor", "rasterized_stream")
_IMMEDIATE = ("levels", "array", "constant", "stream", "sync")  #: aux rules whose value stands last, as a number
_NUMBER = re.compile(r"-?(0x[0-9a-fA-F]+|\d+\.?\d*(e[+-]?\d+)?|inf|nan)$")


def assemble(text: str) -> ShaderProgram:
    """The program that ``text`` describes. Raises IsaError naming the line; does not check meaning (``isa_check.check`` does)."""
    assembler = _Assembler()
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split(";")[0].strip()
        if line:
            try:
                assembler.line(line)
            except (ValueError, KeyError, IndexError) as error:
                raise IsaError(f"line {number} {line!r}: {error}") from error
    return assembler.finish()


def disassemble(program: ShaderProgram) -> str:
    """Text that ``assemble`` turns back into ``program``. The program must pass ``isa_check.check``."""
    return "\n".join(_lines(program)) + "\n"


def _bits(number: str) -> int:
    if "0x" in number or not re.search(r"[.en]", number):
        return int(number, 0) & 0xFFFF_FFFF
    return int(np.float32(number).view(np.uint32))


def _mask(letters: str) -> int:
    return sum(1 << "xyzw".index(c) for c in letters)


def _letters(mask: int) -> str:
    return "".join(c for i, c in enumerate("xyzw") if mask >> i & 1)


class _Assembler:
    def __init__(self) -> None:
        self.program: ShaderProgram | None = None
        self.declarations: list[tuple[int, int, int, int, int]] = []
        self.literals: list[int] = []
        self.icb: list[int] = []
        self.rows: list[tuple[int, int, int, tuple[int, ...], int, int]] = []

    def line(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if self.program is None:
            self.program = self._header(word, rest.split())
        elif word == "patch_entry":
            self.program.patch_entry = len(self.rows)
        elif word == "icb":
            self.icb += [_bits(n) for n in rest.split()]
        elif word == "literal":
            self.literals += [_bits(n) for n in rest.split()]
        elif word in _DECLARATIONS:
            self._declare(word, rest.split())
        else:
            self._instruction(word, rest)

    def finish(self) -> ShaderProgram:
        if self.program is None:
            raise IsaError("a program starts with its stage")
        self.program.declarations = np.array(self.declarations, DECLARATION)
        self.program.literals = np.array(self.literals, np.uint32)
        self.program.icb = np.array(self.icb, np.uint32)
        self.program.instructions = np.array(self.rows, INSTRUCTION)
        return self.program

    @staticmethod
    def _header(word: str, fields: list[str]) -> ShaderProgram:
        program = ShaderProgram(Stage[word.upper()])
        for field in fields:
            name, _, value = field.partition("=")
            if name == "temps":
                program.temp_count = int(value, 0)
            elif name == "group":
                x, y, z = (int(v) for v in value.split(","))
                program.group = (x, y, z)
            elif name in _FIELDS:
                setattr(program, name, int(value, 0))
            else:
                raise ValueError(f"unknown header field {name!r}")
        return program

    def _declare(self, word: str, words: list[str]) -> None:
        options = dict(w.split("=") for w in words if "=" in w)
        flags = [w for w in words if "=" not in w]
        index = int(flags[0])
        mask = value = extra = 0
        kind = _DECLARATIONS[word]
        if word in ("input", "output", "patch"):
            mask = _mask(flags[1])
            value = SystemValue[options.get("sv", "NONE")]
            extra = Interpolation[options.get("interp", "UNDEFINED")] if word == "input" else int(options.get("stream", "0"))
        elif word in ("resource", "uav"):
            value = ViewDimension[flags[1]]
            mask = sum({"array": 1, "ms": 2, "counter": 4}[f] for f in flags[2:])
            extra = int(options.get("stride", "0"))
        elif word == "sampler":
            value = int("compare" in flags)
        elif word == "stream_output":
            mask = _mask(flags[1])
            value = int(options.get("buffer", "0")) | int(options.get("stream", "0")) << 8
            extra = int(options["offset"])
        else:
            value = int(flags[1])
        self.declarations.append((kind, index, mask, value, extra))

    def _instruction(self, word: str, rest: str) -> None:
        name, *mods = word.split(".")
        op = Op[name.upper()]
        signature = SIGNATURES[op]
        flags = sum(_MODS[m] for m in mods)
        options = dict(w.split("=") for w in re.findall(r"\w+=\S+", rest))
        rest = re.sub(r"\w+=\S+", " ", rest)
        slots = re.findall(r"(?<![\w.])([tsu])(\d+)\b", rest)
        rest = re.sub(r"(?<![\w.])[tsu]\d+\b", " ", rest)
        words = [w for w in re.split(r"[,\s]+", rest) if w]
        immediate = words.pop() if signature.aux in _IMMEDIATE else None
        operands = [self._operand(w) for w in words]
        dst = operands.pop(0) if signature.dst else 0
        src: list[int] = []
        for rule in signature.src:
            src.append(operands.pop(0) if rule and operands else 0)
        if operands:
            raise ValueError(f"{len(operands)} operands too many")
        aux = int(immediate, 0) if immediate is not None else 0
        for letter, number in slots:
            aux |= int(number) << (8 if letter == "s" else 0)
        if "rasterizer" in options:
            aux |= 255
        aux |= _mask(options.get("mask", "xyzw" if signature.dst == "m" or "w" in signature.src else "")) << 16
        aux |= "xyzw".index(options.get("component", "x")) << 20
        aux2 = 0
        for i, offset in enumerate(options.get("offset", "0").split(",")):
            aux2 |= (int(offset) & 0xFF) << 8 * i
        aux2 |= int(options.get("control", "0")) << 24
        if signature.aux2 == "atomic":
            aux2 = AtomicOp[options["atomic"]]
        self.rows.append((op, flags, dst, (*src, 0, 0, 0, 0)[:4], aux, aux2))

    def _operand(self, word: str) -> int:
        if word == "_":
            return 0
        if _NUMBER.match(word):
            return self._literal(_bits(word))
        negate = word.startswith("-")
        word = word.removeprefix("-")
        absolute = word.startswith("|") and word.endswith("|") and len(word) > 1
        word = word.strip("|")
        if _NUMBER.match(word):
            base = self._literal(_bits(word))
        elif match := re.fullmatch(r"r(\d+)", word):
            base = operand(Kind.TEMP, int(match[1]))
        elif match := re.fullmatch(r"l(\d+)", word):
            base = operand(Kind.LITERAL, int(match[1]))
        elif match := re.fullmatch(r"([vo])(\d+)\.([xyzw])", word):
            kind = Kind.INPUT if match[1] == "v" else Kind.OUTPUT
            base = operand(kind, int(match[2]) * 4 + "xyzw".index(match[3]))
        elif match := re.fullmatch(r"c(\d+)\[(\d+)\]", word):
            base = operand(Kind.CONSTANT, int(match[1]) << 14 | int(match[2]))
        elif word.startswith("$"):
            base = operand(Kind.SYSTEM, SystemRegister[word[1:]])
        else:
            raise ValueError(f"no operand {word!r}")
        return base | (NEGATE if negate else 0) | (ABSOLUTE if absolute else 0)

    def _literal(self, bits: int) -> int:
        if bits not in self.literals:
            self.literals.append(bits)
        return operand(Kind.LITERAL, self.literals.index(bits))


_DECLARATIONS = {
    "input": DeclarationKind.INPUT,
    "output": DeclarationKind.OUTPUT,
    "patch": DeclarationKind.PATCH_CONSTANT,
    "resource": DeclarationKind.RESOURCE,
    "uav": DeclarationKind.UAV,
    "sampler": DeclarationKind.SAMPLER,
    "constants": DeclarationKind.CONSTANT_BUFFER,
    "array": DeclarationKind.ARRAY,
    "stream_output": DeclarationKind.STREAM_OUTPUT,
    "stream_stride": DeclarationKind.STREAM_STRIDE,
}


def _lines(program: ShaderProgram) -> Iterator[str]:
    header = [Stage(program.stage).name.lower(), f"temps={program.temp_count}"]
    if program.group != (1, 1, 1):
        header.append("group=" + ",".join(map(str, program.group)))
    defaults = ShaderProgram(program.stage)
    header += [f"{f}={getattr(program, f)}" for f in _FIELDS if getattr(program, f) != getattr(defaults, f)]
    yield " ".join(header)
    for row in program.declarations.tolist():
        yield _declaration(*row)
    for name, values in (("literal", program.literals), ("icb", program.icb)):
        for i in range(0, len(values), 8):
            yield f"{name} " + " ".join(f"{int(v):#x}" for v in values[i : i + 8])
    for i, row in enumerate(program.instructions.tolist()):
        if i and i == program.patch_entry:
            yield "patch_entry"
        yield _instruction(*row)


def _declaration(kind: int, index: int, mask: int, value: int, extra: int) -> str:
    word = next(w for w, k in _DECLARATIONS.items() if k == kind)
    out: list[str] = [word, str(index)]
    if word in ("input", "output", "patch"):
        out += [_letters(mask), f"sv={SystemValue(value).name}"]
        out.append(f"interp={Interpolation(extra).name}" if word == "input" else f"stream={extra}")
    elif word in ("resource", "uav"):
        out += [ViewDimension(value).name, *(n for bit, n in ((1, "array"), (2, "ms"), (4, "counter")) if mask & bit)]
        out.append(f"stride={extra}")
    elif word == "sampler":
        out += ["compare"] * value
    elif word == "stream_output":
        out += [_letters(mask), f"buffer={value & 0xFF}", f"stream={value >> 8}", f"offset={extra}"]
    else:
        out.append(str(value))
    return " ".join(out)


def _instruction(op: int, mods: int, dst: int, src: Iterable[int], aux: int, aux2: int) -> str:
    signature = SIGNATURES[Op(op)]
    word = ".".join([Op(op).name.lower(), *(n for n, m in _MODS.items() if mods & m)])
    operands = [_operand(dst)] if signature.dst else []
    operands += [_operand(int(s)) for s, rule in zip(src, signature.src, strict=False) if rule]
    out = [word, ", ".join(operands)] if operands else [word]
    rule = signature.aux
    if rule in _IMMEDIATE:
        out.append(str(aux))
    elif rule == "rasterizer" and aux & 0xFF == 255:
        out.append("rasterizer=1")
    elif rule in ("resource", "sample", "gather", "rasterizer", "uav"):
        out.append(f"{'u' if rule == 'uav' else 't'}{aux & 0xFF}")
        if rule in ("sample", "gather"):
            out.append(f"s{aux >> 8 & 0xFF}")
    if signature.dst == "m" or "w" in signature.src or (rule not in _IMMEDIATE and aux >> 16):
        out.append(f"mask={_letters(aux >> 16 & 15)}")
    if rule == "gather":
        out.append(f"component={'xyzw'[aux >> 20 & 3]}")
    if signature.aux2 == "offsets" and aux2:
        out.append("offset=" + ",".join(str(struct.unpack("b", bytes([aux2 >> 8 * i & 0xFF]))[0]) for i in range(3)))
    elif signature.aux2 == "atomic":
        out.append(f"atomic={AtomicOp(aux2).name}")
    elif signature.aux2:
        out.append(f"control={aux2 >> 24}")
    return " ".join(out)


def _operand(word: int) -> str:
    kind, index = Kind(word >> 28), word & INDEX_MASK
    if kind == Kind.NONE:
        return "_"
    if kind in (Kind.TEMP, Kind.LITERAL):
        text = f"{'r' if kind == Kind.TEMP else 'l'}{index}"
    elif kind in (Kind.INPUT, Kind.OUTPUT):
        text = f"{'v' if kind == Kind.INPUT else 'o'}{index >> 2}.{'xyzw'[index & 3]}"
    elif kind == Kind.CONSTANT:
        text = f"c{index >> 14}[{index & 0x3FFF}]"
    else:
        text = f"${SystemRegister(index).name}"
    if word & ABSOLUTE:
        text = f"|{text}|"
    return "-" + text if word & NEGATE else text
