"""Text to shader: the shader model 4/5 assembly listing, as the HLSL compiler prints it.

A whole vertex shader, from which :func:`assemble` makes a DXBC container::

    vs_5_0
    .in POSITION0 v0.xy float
    .in COLOR0 v1.xyz float
    .out SV_Position o0.xyzw float
    .out COLOR0 o1.xyzw float
    dcl_input v0.xy
    dcl_input v1.xyz
    dcl_output_siv o0.xyzw, position
    dcl_output o1.xyzw
    mov o0.xy, v0.xyxx
    mov o0.zw, l(0, 0, 0, 1.0)
    mov o1.xyz, v1.xyzx
    mov o1.w, l(1.0)
    ret

One statement per line; ``//`` begins a comment; braces may span lines; letter case matters only in semantic names.

Literals: a number with a point or an exponent is a float, any other is the integer or (``0x…``) the bits themselves.
``l(…)`` holds 1 or 4 of them, ``d(…)`` 1 or 2 doubles.  Components: behind a destination a mask (``.xz``), behind a
source one letter selects, two to four swizzle (the last repeats).  What listings cannot say has a raw form:
``._`` is a four-component operand with an empty mask, ``.4:0x39`` gives components and selection bits, ``{min16f}`` and
``{nonuniform}`` behind an operand its extended token, ``pad(0x0)`` as a last operand the dword that compilers leave
behind ``samplepos``, ``[long]`` a length in a dword of its own, ``customdata comment { 0x… }`` any other data block.
An index without an immediate is ``[r1.x]``, one with an immediate of zero ``[r1.x + 0]``.

Signatures, one of:

* the compiler's comment tables (``// Input signature:`` and its rows), which :func:`disassemble` writes;
* directives ``.in``, ``.out``, ``.patch``: semantic with index, register with mask, format (``float``, ``uint``,
  ``int``, ``min16f`` …; float when left out), then optionally ``used=xy`` and ``stream=1``.  The system value follows from the
  semantic, components read and written from the code;
* nothing: they are derived from the declarations (see :mod:`wddm.dxbc.signature_derive`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from .container import ShaderBlob
from .disassembler import disassemble
from .errors import AssemblyError, Diagnostic, DxbcError
from .opcodes import (
    MNEMONICS,
    OPCODES,
    Opcode,
    OpcodeGroup,
    OperandKind,
    ProgramType,
    RegisterType,
    ResinfoReturn,
    SyncFlags,
    TessDomain,
)
from .program import Declaration, Instruction, Operand, Phase, Program, mask_bits
from .signature import NO_REGISTER, Signature, SignatureElement, semantic_system_value
from .signature_derive import derive_signatures, read_write_mask
from .signature_text import HEADER, parse_format, parse_row
from .text_cursor import Cursor, Fault
from .text_declarations import parse_customdata, parse_declaration, parse_dimension, parse_return_types
from .text_names import SYNC_FLAGS, lookup
from .tokens import MODELS, encode
from .usage import input_usage, output_usage
from .validate import check

__all__ = ["assemble", "assemble_program", "disassemble"]

MAX_DIAGNOSTICS = 20

_PROFILE = re.compile(r"(ps|vs|gs|hs|ds|cs)_(\d)_(\d)\s*$", re.IGNORECASE)
_TYPES = {type_.prefix: type_ for type_ in ProgramType}
_SYNC = lookup(SYNC_FLAGS) | {"none": SyncFlags.NONE}
_SUFFIXES = frozenset({"sat", "z", "nz", "aoffimmi", "indexable", "uint", "rcpfloat"})
_PRECISE = re.compile(r"\[precise(?:\(([xyzw]+)\))?\]", re.IGNORECASE)
_RETURN_SUFFIX = re.compile(r"_(uint|rcpfloat)\b", re.IGNORECASE)
_SEMANTIC = re.compile(r"([A-Za-z_](?:\w*[A-Za-z_])?)(\d*)(?=\s|$)", re.ASCII)
_OPTION = re.compile(r"(used|stream)=(\w+)")
_KINDS = {".in": "Input", ".out": "Output", ".patch": "Patch Constant"}
_PHASES = (Opcode.HS_CONTROL_POINT_PHASE, Opcode.HS_FORK_PHASE, Opcode.HS_JOIN_PHASE)
_INDENT = re.compile(r"\s*")


def assemble(text: str, *, validate: bool = True) -> bytes:
    """The DXBC container of a listing: signatures, SHDR or SHEX, checksum.

    ``validate=False`` accepts any program that can be written, whether it makes sense or not.

    :raises AssemblyError: listing up to 20 faults with line, column, source and caret.
    """
    assembler = _Assembler(text)
    program = assembler.run()
    blob = assembler.build(program, validate)
    try:
        return blob.to_bytes()
    except DxbcError as error:
        raise AssemblyError([Diagnostic(error.message, 1, 1, assembler.lines[0] if assembler.lines else "")]) from None


def assemble_program(text: str) -> Program:
    """The program of a listing, unchecked and without its signatures.

    :raises AssemblyError: as :func:`assemble`.
    """
    return _Assembler(text).run()


@lru_cache(maxsize=1024)
def _split(word: str) -> tuple[Opcode, frozenset[str], SyncFlags] | str:
    """Opcode, suffixes and sync flags of a mnemonic in lower case; a message when there is no such thing."""
    parts = word.split("_")
    for n in range(len(parts), 0, -1):
        opcode = MNEMONICS.get("_".join(parts[:n]))
        if opcode is None:
            continue
        suffixes = parts[n:]
        if opcode is Opcode.SYNC:
            flags = SyncFlags.NONE
            for suffix in suffixes:
                if suffix not in _SYNC:
                    return f"sync takes {', '.join(_SYNC)}, not {suffix!r}"
                flags |= _SYNC[suffix]
            return opcode, frozenset(), flags
        unknown = [suffix for suffix in suffixes if suffix not in _SUFFIXES]
        if unknown or len(set(suffixes)) != len(suffixes):
            return f"{'_'.join(parts[:n])} does not take {'_'.join(unknown or suffixes)!r}"
        return opcode, frozenset(suffixes), SyncFlags.NONE
    return f"there is no instruction {word!r}"


@lru_cache(maxsize=512)
def _masked(opcode: Opcode) -> tuple[bool, ...]:
    """Whether letters behind each operand are a write mask."""
    kinds = OPCODES[opcode].kinds
    return tuple(
        kind is OperandKind.DST or (i == 0 and kind in (OperandKind.UAV, OperandKind.UAV_OR_SHARED))
        for i, kind in enumerate(kinds)
    )


def _is_read(kind: str, type: ProgramType) -> bool:
    """Whether the signature is one of inputs: patch constants are what a domain shader reads."""
    return kind == "Input" or (kind == "Patch Constant" and type is ProgramType.DOMAIN)


class _Statement:
    """One logical line: text without comments, and where each of its pieces came from."""

    def __init__(self, number: int, text: str) -> None:
        self.pieces = [(0, number)]
        self.text = text

    def join(self, number: int, text: str) -> None:
        self.text += " "
        self.pieces.append((len(self.text), number))
        self.text += text

    def place(self, column: int) -> tuple[int, int]:
        """(line from 0, column from 0) of a column of ``text``."""
        start, number = [piece for piece in self.pieces if piece[0] <= column][-1]
        return number, column - start


class _Assembler:
    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.diagnostics: list[Diagnostic] = []
        self.places: dict[int, tuple[_Statement, int, int]] = {}  # id of a part → where it was written
        self.tables: dict[str, list[SignatureElement]] = {}
        self.tags: dict[str, str] = {}
        self.directives: dict[str, list[tuple[SignatureElement, Operand, int | None]]] = {}

    # --- faults -----------------------------------------------------------------------------------------------

    def report(self, message: str, line: int, column: int, length: int = 1) -> None:
        source = self.lines[line] if line < len(self.lines) else ""
        self.diagnostics.append(Diagnostic(message, line + 1, column + 1, source, length))

    def stop_if_faulty(self, limit: int = 1) -> None:
        if len(self.diagnostics) >= limit:
            raise AssemblyError(sorted(self.diagnostics, key=lambda d: (d.line, d.column))[:MAX_DIAGNOSTICS])

    # --- lines ------------------------------------------------------------------------------------------------

    def run(self) -> Program:
        statements = self.statements()
        program = self.profile(statements)
        self.read_tables(program.type)
        body = _Body(program)
        for statement in statements[1:]:
            try:
                self.statement(statement, program, body)
            except Fault as fault:
                line, column = statement.place(fault.column)
                self.report(fault.message, line, column, fault.length)
                self.stop_if_faulty(MAX_DIAGNOSTICS)
        if program.type is ProgramType.HULL and not body.marked and not self.diagnostics:
            self.report("a hull shader begins with hs_decls", statements[0].place(0)[0], 0)
        self.stop_if_faulty()
        return program

    def statements(self) -> list[_Statement]:
        result: list[_Statement] = []
        open_braces = 0
        for number, line in enumerate(self.lines):
            comment = line.find("//")
            text = line if comment < 0 else line[:comment]
            if not text.strip():
                continue
            if open_braces:
                result[-1].join(number, text)
            else:
                result.append(_Statement(number, text))
            if "{" in text or "}" in text:
                open_braces = max(0, open_braces + text.count("{") - text.count("}"))
        return result

    def read_tables(self, type: ProgramType) -> None:
        title = ""
        for number, line in enumerate(self.lines):
            stripped = line.strip()
            if not stripped.startswith("//"):
                title = ""
                continue
            header = HEADER.match(stripped)
            if header is not None:
                title = header[1].title()
                self.tables[title] = []
                if header[2] is not None:
                    self.tags[title] = header[2].upper()
            elif title:
                row = parse_row(stripped, _is_read(title, type))
                if isinstance(row, str):
                    self.report(row, number, line.index("//"), len(stripped))
                elif row is not None:
                    self.tables[title].append(row)

    def profile(self, statements: list[_Statement]) -> Program:
        if not statements:
            self.report("the text holds no program", 0, 0)
            self.stop_if_faulty()
        line, _ = statements[0].place(0)
        text = statements[0].text
        match = _PROFILE.match(text.strip())
        indent = len(text) - len(text.lstrip())
        if match is None:
            self.report("the first statement names the profile, e.g. vs_5_0", line, indent, len(text.strip()))
            self.stop_if_faulty()
            raise AssertionError
        program = Program(_TYPES[match[1].lower()], int(match[2]), int(match[3]))
        too_old = program.major < 5 and program.type in (ProgramType.HULL, ProgramType.DOMAIN)
        if program.model not in MODELS or too_old:
            self.report(f"there is no profile {text.strip()}", line, indent, len(text.strip()))
            self.stop_if_faulty()
        return program

    def statement(self, statement: _Statement, program: Program, body: _Body) -> None:
        cursor = Cursor(statement.text)
        start = cursor.pos
        if cursor.peek() == ".":
            self.directive(cursor)
            return
        word = cursor.word("an instruction, a declaration or a directive")
        name = word.lower()
        part: object
        if name.startswith("dcl_"):
            declaration = part = parse_declaration(word, start, cursor, program.model == (5, 1))
            if body.instructions:
                raise Fault("declarations stand before the first instruction", start, len(word))
            body.declarations.append(declaration)
        elif name.startswith("hs_"):
            part = self.phase(name, Fault(f"{word} cannot stand here", start, len(word)), program, body)
        elif name == "customdata":
            class_, data = parse_customdata(cursor)
            if body.instructions:
                body.instructions.append(Instruction(Opcode.CUSTOMDATA, custom_class=class_, data=data))
                part = body.instructions[-1]
            else:
                body.declarations.append(Declaration(Opcode.CUSTOMDATA, custom_class=class_, data=data))
                part = body.declarations[-1]
        else:
            instruction = part = self.instruction(name, start, word, cursor)
            if program.type is ProgramType.HULL and not program.phases:
                raise Fault("code stands before the first phase of the hull shader", start, len(word))
            body.instructions.append(instruction)
        if not cursor.at_end:
            raise cursor.fault("unexpected text behind the statement")
        self.places[id(part)] = (statement, start, len(statement.text.rstrip()) - start)

    def phase(self, name: str, fault: Fault, program: Program, body: _Body) -> Phase | Program:
        opcode = MNEMONICS.get(name)
        if program.type is not ProgramType.HULL or opcode is None or (opcode is Opcode.HS_DECLS) == body.marked:
            raise fault
        if opcode is Opcode.HS_DECLS:
            if body.declarations:
                raise fault
            body.marked = True
            return program
        phase = Phase(opcode)
        program.phases.append(phase)
        body.declarations, body.instructions = phase.declarations, phase.instructions
        return phase

    # --- instructions -----------------------------------------------------------------------------------------

    def instruction(self, name: str, start: int, word: str, cursor: Cursor) -> Instruction:
        split = _split(name)
        if isinstance(split, str):
            raise Fault(split, start, len(word))
        opcode, suffixes, sync = split
        info = OPCODES[opcode]
        if info.group in (OpcodeGroup.RESERVED, OpcodeGroup.DATA):
            raise Fault(f"there is no instruction {word!r}", start, len(word))
        instruction = Instruction(opcode, sync_flags=sync)
        if suffixes or info.test:
            self.suffixes(instruction, suffixes, Fault("", start, len(word)))
        if cursor.peek() == "(":
            self.parenthesised(instruction, cursor)
        if cursor.peek() == "_":
            found = cursor.match(_RETURN_SUFFIX)
            if found is not None:
                self.suffixes(instruction, frozenset({found[1].lower()}), Fault("", start, len(word)))
        if cursor.peek() == "[":
            found = cursor.match(_PRECISE)
            if found is None:
                raise cursor.fault("expected [precise] or [precise(xyzw)]")
            instruction.precise_mask = mask_bits(found[1].lower()) if found[1] else 0xF
        operands, masked = instruction.operands, _masked(opcode)
        for i, role in enumerate(info.roles):
            if i:
                cursor.take(",", f"and operand {role!r} of {info.mnemonic}")
            elif cursor.at_end:
                raise cursor.fault(f"{info.mnemonic} takes {len(info.roles)} operands: {', '.join(info.roles)}")
            operands.append(cursor.operand(masked[i]))
        if opcode is Opcode.FCALL:
            self.fcall(instruction, cursor)
        while info.may_pad and cursor.try_take(","):
            cursor.take("pad(", f"as there are only {len(info.roles)} operands")
            instruction.padding += (cursor.unsigned("padding"),)
            cursor.take(")")
        if cursor.peek() == ",":
            raise cursor.fault(f"{info.mnemonic} takes only {len(info.roles)} operands: {', '.join(info.roles)}")
        return instruction

    def suffixes(self, instruction: Instruction, suffixes: frozenset[str], at: Fault) -> None:
        info = OPCODES[instruction.opcode]
        tests = suffixes & {"z", "nz"}
        if info.test != bool(tests) or len(tests) > 1:
            if info.test and not suffixes & {"uint", "rcpfloat"}:
                raise Fault(f"{info.mnemonic} needs _z or _nz", at.column, at.length)
            if tests:
                raise Fault(f"{info.mnemonic} takes neither _z nor _nz", at.column, at.length)
        instruction.test_nonzero = "nz" in suffixes
        if "sat" in suffixes:
            if not info.saturate:
                raise Fault(f"{info.mnemonic} cannot saturate", at.column, at.length)
            instruction.saturate = True
        for word, value in (("uint", ResinfoReturn.UINT), ("rcpfloat", ResinfoReturn.RCPFLOAT)):
            if word in suffixes:
                allowed = (Opcode.RESINFO, Opcode.SAMPLEINFO) if word == "uint" else (Opcode.RESINFO,)
                if instruction.opcode not in allowed:
                    raise Fault(f"{info.mnemonic} does not take _{word}", at.column, at.length)
                instruction.resinfo_return = value

    def parenthesised(self, instruction: Instruction, cursor: Cursor) -> None:
        """Texel offsets, resource dimension and return types, in any order."""
        while cursor.peek() == "(":
            start = cursor.pos
            following = cursor.text[start + 1 :].lstrip()
            if following[:1] in ("-", "+") or following[:1].isdecimal():
                cursor.take("(")
                offsets: list[int] = []
                while not cursor.try_take(")"):
                    if offsets:
                        cursor.take(",", "between texel offsets")
                    offsets.append((cursor.bits() ^ 0x80000000) - 0x80000000)
                if len(offsets) != 3 or not all(-8 <= offset <= 7 for offset in offsets):
                    raise cursor.fault("texel offsets are three numbers within -8 and 7", start)
                instruction.texel_offset = (offsets[0], offsets[1], offsets[2])
            elif re.match(r"\w+\s*(?:\)|,\s*stride)", following):
                cursor.take("(")
                instruction.resource_dimension = parse_dimension(cursor)
                if cursor.try_take(","):
                    cursor.take("stride", "and the stride in bytes")
                    cursor.take("=", "and the stride in bytes")
                    instruction.resource_stride = cursor.unsigned("stride")
                    if instruction.resource_stride > 0xFFF:
                        raise cursor.fault("the stride does not fit 12 bits", start)
                cursor.take(")", "behind the dimension")
            else:
                instruction.resource_return_types = parse_return_types(cursor)

    def fcall(self, instruction: Instruction, cursor: Cursor) -> None:
        operand = instruction.operands[0]
        if len(operand.indices) < 2 or operand.indices[-1].relative is not None:
            raise cursor.fault("fcall takes fp#[array index][function]")
        instruction.function_index = operand.indices.pop().immediate
        instruction.long_length = cursor.try_take("[long]")

    # --- signatures -------------------------------------------------------------------------------------------

    def directive(self, cursor: Cursor) -> None:
        start = cursor.pos
        cursor.take(".")
        word = "." + cursor.word("in, out or patch").lower()
        kind = _KINDS.get(word)
        if kind is None:
            raise Fault(f"there is no directive {word}; known: {', '.join(_KINDS)}", start, len(word))
        semantic = cursor.match(_SEMANTIC)
        if semantic is None or len(semantic[2]) > 9:
            raise cursor.fault("expected a semantic, e.g. TEXCOORD0")
        place = cursor.pos
        operand = cursor.operand(True)
        registers = len(operand.indices) and operand.indices[-1].relative is None
        if registers and operand.index > 31:
            raise cursor.fault("registers of signatures go up to 31", place)
        element = SignatureElement(
            semantic[1], int(semantic[2] or 0), register=operand.indices[-1].immediate if registers else NO_REGISTER,
            mask=operand.mask or 1,
        )
        if cursor.following_word() not in ("", "used", "stream"):
            at = cursor.pos
            format_ = parse_format(cursor.word("format"))
            if format_ is None:
                raise cursor.fault("the format is none of float, uint, int, min16f, min2_8f, min16i, min16u", at)
            element.component_type, element.min_precision = format_
        used: int | None = None
        while not cursor.at_end:
            at = cursor.pos
            option = cursor.match(_OPTION)
            if option is None:
                raise cursor.fault("expected used=… or stream=…")
            if option[1] == "stream" and option[2] in ("0", "1", "2", "3"):
                element.stream = int(option[2])
            elif option[1] == "used" and not set(option[2]) - set("xyzw_"):
                used = mask_bits("".join(sorted(set(option[2]) - {"_"}, key="xyzw".index)))
            else:
                raise cursor.fault(f"{option[2]!r} cannot be {option[1]}", at)
        self.directives.setdefault(kind, []).append((element, operand, used))

    def signature(self, kind: str, program: Program, derived: Signature | None) -> Signature | None:
        """The table when there is one, else the directives, else what the declarations say."""
        if kind in self.tables:
            return Signature(self.tables[kind])
        if kind not in self.directives:
            return derived
        patch = kind == "Patch Constant"
        output = not _is_read(kind, program.type)
        usage = output_usage(program, patch_constant=patch) if output else input_usage(program)
        domain = program.find(Opcode.DCL_TESSELLATOR_DOMAIN)
        elements = []
        for element, operand, used in self.directives[kind]:
            element.system_value = semantic_system_value(
                element.semantic_name, element.semantic_index, program.type, output=output, patch_constant=patch,
                domain=domain.tess_domain if domain is not None else TessDomain.UNDEFINED,
            )
            if used is not None:
                element.rw_mask = 0xF ^ used if output else used
            else:
                register = 0 if element.register == NO_REGISTER else element.register
                type_ = operand.type
                if type_ is RegisterType.INPUT and program.type is ProgramType.DOMAIN:
                    type_ = RegisterType.INPUT_CONTROL_POINT
                element.rw_mask = read_write_mask(usage, type_, register, element.mask, output=output)
            elements.append(element)
        return Signature(elements)

    def build(self, program: Program, validate: bool) -> ShaderBlob:
        """Write the program, check it, and put the signatures around it."""
        if validate:
            for fault in check(program):
                self.locate(fault)
            self.stop_if_faulty()
        try:
            tokens = encode(program)
        except DxbcError as error:
            self.locate(error)
            self.stop_if_faulty()
            raise
        derived = derive_signatures(program)
        inputs = self.signature("Input", program, derived[0])
        outputs = self.signature("Output", program, derived[1])
        patch = self.signature("Patch Constant", program, None if self.tables else derived[2])
        blob = ShaderBlob(tokens, inputs or Signature(), outputs or Signature(), patch)
        blob.input_tag = self.tags.get("Input")
        blob.output_tag = self.tags.get("Output")
        blob.patch_constant_tag = self.tags.get("Patch Constant")
        return blob

    def locate(self, error: DxbcError) -> None:
        """Report a fault of the finished program at the statement it came from."""
        statement, start, length = self.places.get(id(error.where), (None, 0, 1))
        if statement is None:
            self.report(error.message, 0, 0)
            return
        line, column = statement.place(start)
        self.report(error.message, line, column, length)


class _Body:
    """Where the next declaration or instruction goes: the program, or the hull phase that is open."""

    def __init__(self, program: Program) -> None:
        self.declarations = program.declarations
        self.instructions = program.instructions
        self.marked = False  # hs_decls was seen
