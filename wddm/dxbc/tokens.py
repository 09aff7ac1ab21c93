"""Token streams: the payload of an SHDR/SHEX chunk to a :class:`Program` and back.

Owns the structure of the stream: version, lengths, opcode tokens, extended tokens, custom data.  Every bit is
accounted for, so ``encode(decode(x)) == x`` for any stream a compiler writes; what the format does not define is a
:class:`DxbcError` that names the byte.  Whether the program makes sense is :func:`wddm.dxbc.validate.validate`'s
question.  Work is linear in the size of the payload.

Models the D3D tokenized program format: what the ``pCode`` of the D3D11 DDI's create-shader functions points to.
"""

from __future__ import annotations

import struct

from .errors import DxbcError
from .opcodes import (
    DECLARATIONS,
    OPCODES,
    CustomDataClass,
    Dimension,
    Opcode,
    OpcodeGroup,
    OpcodeInfo,
    ProgramType,
    ResinfoReturn,
    SyncFlags,
)
from .program import Declaration, Instruction, Operand, Phase, Program
from .token_declarations import pack_return_types, read_declaration, unpack_return_types, write_declaration
from .token_operands import read_operand, write_operand

__all__ = ["MODELS", "decode", "encode", "version_token"]

MODELS = ((4, 0), (4, 1), (5, 0), (5, 1))
"""Shader models that the format has."""

_INFO = tuple(OPCODES[opcode] for opcode in Opcode)
_SYNC = tuple(SyncFlags(i) for i in range(16))
_DIMENSIONS = tuple(Dimension)
_PHASES = (Opcode.HS_CONTROL_POINT_PHASE, Opcode.HS_FORK_PHASE, Opcode.HS_JOIN_PHASE)
_LONG = (Opcode.DCL_INTERFACE, Opcode.DCL_FUNCTION_TABLE, Opcode.FCALL)
"""Opcodes whose length may exceed 127: a length field of 0, the length in the next dword."""
_MAX_LENGTH = 127
_EXTENDED = (OpcodeGroup.TEXTURE, OpcodeGroup.MEMORY, OpcodeGroup.ATOMIC)
"""Instructions that name resources: texel offsets and resource types go with them."""


def _control_bits(info: OpcodeInfo) -> int:
    """Bits 23:11 that mean something for an instruction."""
    bits = 0xF << 19 if info.roles and info.group is not OpcodeGroup.FLOW else 0
    bits |= info.saturate << 13 | info.test << 18
    if info.opcode in (Opcode.RESINFO, Opcode.SAMPLEINFO):
        bits |= 3 << 11
    if info.opcode is Opcode.SYNC:
        bits |= 0xF << 11
    return bits


_CONTROLS = tuple(_control_bits(info) for info in _INFO)


def version_token(type: ProgramType, major: int, minor: int) -> int:
    """First dword of a stream."""
    return type << 16 | major << 4 | minor


def decode(payload: bytes | bytearray | memoryview) -> Program:
    """The program in ``payload`` (version token to last instruction, nothing before or behind).

    :raises DxbcError: and nothing else, whatever the bytes; ``offset`` counts from the start of the payload.
    """
    if len(payload) % 4:
        raise DxbcError(f"{len(payload)} bytes are not a whole number of dwords", len(payload) & ~3)
    words = struct.unpack(f"<{len(payload) // 4}I", payload)
    if len(words) < 2:
        raise DxbcError("a program has at least a version and a length token", 0)
    program = _read_version(words[0])
    if words[1] != len(words):
        raise DxbcError(f"length token says {words[1]} dwords, the payload has {len(words)}", 4)
    sm51 = program.model == (5, 1)
    hull = program.type is ProgramType.HULL
    declarations, instructions = program.declarations, program.instructions
    pos, end = 2, len(words)
    if hull:
        if end == pos or words[pos] != 1 << 24 | Opcode.HS_DECLS:
            raise DxbcError("a hull shader begins with hs_decls", 4 * min(pos, end - 1))
        pos += 1
    while pos < end:
        token = words[pos]
        number = token & 0x7FF
        if number >= len(_INFO):
            raise DxbcError(f"opcode {number} does not exist", 4 * pos)
        info = _INFO[number]
        opcode = info.opcode
        if opcode is Opcode.CUSTOMDATA:
            pos = _read_customdata(token, words, pos, declarations, instructions)
            continue
        length, body = token >> 24 & 0x7F, pos + 1
        long_length = False
        if not length and opcode in _LONG:
            if body == end:
                raise DxbcError(f"{info.mnemonic} ends before its length", 4 * pos)
            length, body = words[body], body + 1
            long_length = length - 1 <= _MAX_LENGTH
        next_pos = pos + length
        if next_pos < body or next_pos > end:
            raise DxbcError(
                f"{info.mnemonic} has a length of {length} dwords, {end - pos} are left", 4 * pos
            )
        if opcode in DECLARATIONS:
            if instructions:
                raise DxbcError(f"{info.mnemonic} stands behind the first instruction", 4 * pos)
            if token >> 31:
                raise DxbcError(f"{info.mnemonic} cannot have extended opcode tokens", 4 * pos)
            declarations.append(read_declaration(opcode, words, pos, body, next_pos, sm51))
            declarations[-1].long_length = long_length
        elif opcode in _PHASES and hull:
            if token != 1 << 24 | opcode:
                raise DxbcError(f"{info.mnemonic} is more than its one token", 4 * pos)
            phase = Phase(opcode, offset=pos)
            program.phases.append(phase)
            declarations, instructions = phase.declarations, phase.instructions
        elif info.group is OpcodeGroup.RESERVED:
            raise DxbcError(f"opcode {number} is reserved", 4 * pos)
        elif info.group is OpcodeGroup.PHASE:
            raise DxbcError(f"{info.mnemonic} cannot stand here", 4 * pos)
        elif hull and not program.phases:
            raise DxbcError(f"{info.mnemonic} stands before the first phase of the hull shader", 4 * pos)
        else:
            instructions.append(_read_instruction(info, words, pos, body, next_pos))
            instructions[-1].long_length = long_length
        pos = next_pos
    return program


def _read_version(token: int) -> Program:
    number, major, minor = token >> 16, token >> 4 & 0xF, token & 0xF
    if number > ProgramType.COMPUTE or token & 0xFF00:
        raise DxbcError(f"version token 0x{token:08x} names no program type", 0)
    type_ = ProgramType(number)
    if (major, minor) not in MODELS:
        raise DxbcError(f"shader model {major}.{minor} is none of 4.0, 4.1, 5.0, 5.1", 0)
    if major < 5 and type_ in (ProgramType.HULL, ProgramType.DOMAIN):
        raise DxbcError(f"{type_.prefix} programs need shader model 5, not {major}.{minor}", 0)
    return Program(type_, major, minor)


def _read_customdata(
    token: int, words: tuple[int, ...], pos: int, declarations: list[Declaration], instructions: list[Instruction]
) -> int:
    number = token >> 11
    if number > CustomDataClass.CLIP_PLANE_MAPPINGS:
        raise DxbcError(f"custom data class {number} does not exist", 4 * pos)
    class_ = CustomDataClass(number)
    left = len(words) - pos
    length = words[pos + 1] if left > 1 else 0
    if not 2 <= length <= left:
        raise DxbcError(f"custom data has a length of {length} dwords, {left} are left", 4 * pos)
    body = words[pos + 2 : pos + length]
    data = struct.pack(f"<{len(body)}I", *body)
    if class_ is CustomDataClass.IMMEDIATE_CONSTANT_BUFFER:
        if instructions:
            raise DxbcError("immediate constant buffer stands behind the first instruction", 4 * pos)
        if not data or len(data) % 16:
            raise DxbcError(f"immediate constant buffer of {len(data)} bytes is not one or more vec4s", 4 * pos)
    if instructions:
        instructions.append(Instruction(Opcode.CUSTOMDATA, custom_class=class_, data=data, offset=pos))
    else:
        declarations.append(Declaration(Opcode.CUSTOMDATA, custom_class=class_, data=data, offset=pos))
    return pos + length


def _read_instruction(info: OpcodeInfo, words: tuple[int, ...], start: int, pos: int, end: int) -> Instruction:
    token, opcode = words[start], info.opcode
    operands: list[Operand] = []
    instruction = Instruction(opcode, operands, offset=start)
    controls = token & 0x00FFF800
    if controls:
        if controls & ~_CONTROLS[opcode]:
            raise DxbcError(f"{info.mnemonic} token 0x{token:08x} has reserved bits set", 4 * start)
        _read_controls(instruction, info, token, start)
    if token >> 31:
        if info.group not in _EXTENDED:
            raise DxbcError(f"{info.mnemonic} cannot have extended opcode tokens", 4 * start)
        pos = _read_extended(instruction, words, pos, end)
    if opcode is Opcode.FCALL:
        if pos >= end:
            raise DxbcError("fcall ends before its function index", 4 * start)
        instruction.function_index = words[pos]
        pos += 1
    for _ in info.roles:
        operand, pos = read_operand(words, pos, end)
        operands.append(operand)
    if pos != end:
        if not info.may_pad or end - pos > 1:
            raise DxbcError(f"{info.mnemonic} is {end - pos} dwords longer than its operands", 4 * pos)
        instruction.padding = words[pos:end]
    return instruction


def _read_controls(instruction: Instruction, info: OpcodeInfo, token: int, start: int) -> None:
    opcode = info.opcode
    instruction.precise_mask = token >> 19 & 0xF
    instruction.test_nonzero = bool(token >> 18 & 1)
    if opcode is Opcode.SYNC:
        instruction.sync_flags = _SYNC[token >> 11 & 0xF]
    elif opcode is Opcode.RESINFO or opcode is Opcode.SAMPLEINFO:
        number = token >> 11 & 3
        if number == 3 or (opcode is Opcode.SAMPLEINFO and number == 2):
            raise DxbcError(f"{info.mnemonic}: return type {number} does not exist", 4 * start)
        if opcode is Opcode.SAMPLEINFO and number:
            number = ResinfoReturn.UINT
        instruction.resinfo_return = ResinfoReturn(number)
    else:
        instruction.saturate = bool(token >> 13 & 1)


def _read_extended(instruction: Instruction, words: tuple[int, ...], pos: int, end: int) -> int:
    """The chain of extended opcode tokens at ``pos``; each kind once, so it is at most three long."""
    seen = 0
    while True:
        if pos >= end:
            raise DxbcError("extended opcode token is cut off by the end of the instruction", 4 * pos)
        token = words[pos]
        kind, bits = token & 0x3F, token & 0x7FFFFFC0
        if kind not in (1, 2, 3):
            raise DxbcError(f"extended opcode token kind {kind} does not exist", 4 * pos)
        if seen >> kind & 1:
            raise DxbcError(f"extended opcode token kind {kind} appears twice", 4 * pos)
        seen |= 1 << kind
        if kind == 1:
            reserved = bits & ~0x1FFE00
            u, v, w = (((bits >> shift & 15) ^ 8) - 8 for shift in (9, 13, 17))
            instruction.texel_offset = (u, v, w)
        elif kind == 2:
            reserved = bits & ~0x7FFFC0
            number = bits >> 6 & 31
            if number >= len(_DIMENSIONS):
                raise DxbcError(f"resource dimension {number} does not exist", 4 * pos)
            instruction.resource_dimension = _DIMENSIONS[number]
            instruction.resource_stride = bits >> 11 & 0xFFF
        else:
            reserved = bits & ~0x3FFFC0
            types = unpack_return_types(bits >> 6)
            if types is None:
                raise DxbcError(f"resource return types 0x{bits >> 6 & 0xFFFF:04x} are not four known types", 4 * pos)
            instruction.resource_return_types = types
        if reserved:
            raise DxbcError(f"extended opcode token 0x{token:08x} has reserved bits set", 4 * pos)
        pos += 1
        if not token >> 31:
            return pos


# --- writing --------------------------------------------------------------------------------------------------


def encode(program: Program) -> bytes:
    """The token payload of ``program``.

    :raises DxbcError: when something cannot be written: operands that do not fit the opcode, a value too wide for
        its field, an instruction over 127 dwords.  The message names the declaration or instruction.
    """
    if program.model not in MODELS:
        raise DxbcError(f"shader model {program.major}.{program.minor} is none of 4.0, 4.1, 5.0, 5.1")
    sm51 = program.model == (5, 1)
    hull = program.type is ProgramType.HULL
    if program.phases and not hull:
        raise DxbcError(f"a {program.type.prefix} program has no phases")
    if hull and program.instructions:
        raise DxbcError("the code of a hull shader stands in its phases")
    words = [version_token(program.type, program.major, program.minor), 0]
    if hull:
        words.append(1 << 24 | Opcode.HS_DECLS)
    for phase, declarations, instructions in program.bodies():
        if phase is not None:
            if phase.kind not in _PHASES:
                raise DxbcError(f"{phase.kind.name} is no hull shader phase")
            words.append(1 << 24 | phase.kind)
        for number, declaration in enumerate(declarations):
            try:
                _write_one_declaration(declaration, words, sm51)
            except DxbcError as error:
                raise DxbcError(f"declaration {number}: {error.message}", where=declaration) from None
        for number, instruction in enumerate(instructions):
            try:
                _write_instruction(instruction, words)
            except DxbcError as error:
                mnemonic = OPCODES[instruction.opcode].mnemonic
                raise DxbcError(f"instruction {number} ({mnemonic}): {error.message}", where=instruction) from None
    words[1] = len(words)
    return struct.pack(f"<{len(words)}I", *words)


def _write_one_declaration(declaration: Declaration, words: list[int], sm51: bool) -> None:
    if declaration.opcode is Opcode.CUSTOMDATA:
        _write_customdata(declaration.custom_class, declaration.data, words)
        return
    if declaration.opcode not in DECLARATIONS:
        raise DxbcError(f"{OPCODES[declaration.opcode].mnemonic} is no declaration")
    start = len(words)
    words.append(0)
    controls = write_declaration(declaration, words, sm51)
    _finish(declaration, controls, words, start)


def _write_customdata(class_: CustomDataClass, data: bytes, words: list[int]) -> None:
    unit = 16 if class_ is CustomDataClass.IMMEDIATE_CONSTANT_BUFFER else 4
    if len(data) % unit or (unit == 16 and not data):
        raise DxbcError(f"custom data of {len(data)} bytes is not a multiple of {unit}")
    words += (Opcode.CUSTOMDATA | class_ << 11, 2 + len(data) // 4)
    words += struct.unpack(f"<{len(data) // 4}I", data)


def _finish(part: Declaration | Instruction, bits: int, words: list[int], start: int) -> None:
    """Complete the opcode token at ``start`` once the length is known."""
    length = len(words) - start
    if length > _MAX_LENGTH or part.long_length:
        if part.opcode not in _LONG:
            raise DxbcError(f"{length} dwords, an instruction has at most {_MAX_LENGTH}")
        words.insert(start + 1, length + 1)
        length = 0
    words[start] = part.opcode | bits | length << 24


def _write_instruction(instruction: Instruction, words: list[int]) -> None:
    opcode = instruction.opcode
    info = OPCODES[opcode]
    if opcode is Opcode.CUSTOMDATA:
        _write_customdata(instruction.custom_class, instruction.data, words)
        return
    if info.group in (OpcodeGroup.DECLARATION, OpcodeGroup.RESERVED, OpcodeGroup.PHASE):
        raise DxbcError("no instruction")
    if len(instruction.operands) != len(info.roles):
        raise DxbcError(f"takes {len(info.roles)} operands ({', '.join(info.roles)}), not {len(instruction.operands)}")
    start = len(words)
    words.append(0)
    bits = _controls(instruction, info)
    extended = _extended_tokens(instruction)
    if extended:
        if info.group not in _EXTENDED:
            raise DxbcError("takes neither texel offsets nor resource types")
        bits |= 1 << 31
        words += [token | 1 << 31 for token in extended[:-1]]
        words.append(extended[-1])
    if opcode is Opcode.FCALL:
        if not 0 <= instruction.function_index <= 0xFFFFFFFF:
            raise DxbcError(f"function index {instruction.function_index} does not fit a dword")
        words.append(instruction.function_index)
    for role, operand in zip(info.roles, instruction.operands, strict=True):
        try:
            write_operand(operand, words)
        except DxbcError as error:
            raise DxbcError(f"operand {role}: {error.message}") from None
    if instruction.padding:
        if not info.may_pad or len(instruction.padding) > 1 or not 0 <= instruction.padding[0] <= 0xFFFFFFFF:
            raise DxbcError(f"padding {instruction.padding} is not allowed")
        words += instruction.padding
    _finish(instruction, bits, words, start)


def _controls(instruction: Instruction, info: OpcodeInfo) -> int:
    bits = instruction.saturate << 13 | instruction.test_nonzero << 18 | instruction.precise_mask << 19
    if not 0 <= instruction.precise_mask <= 15:
        raise DxbcError(f"precise mask {instruction.precise_mask} has more than four components")
    if instruction.sync_flags and info.opcode is not Opcode.SYNC:
        raise DxbcError("takes no sync flags")
    if instruction.saturate and not info.saturate:
        raise DxbcError("cannot saturate")
    bits |= instruction.sync_flags << 11
    if info.opcode is Opcode.SAMPLEINFO:
        if instruction.resinfo_return is ResinfoReturn.RCPFLOAT:
            raise DxbcError("returns float or uint, no reciprocal")
        bits |= (instruction.resinfo_return is ResinfoReturn.UINT) << 11
    else:
        bits |= instruction.resinfo_return << 11
    if bits & ~_CONTROLS[info.opcode]:
        raise DxbcError("has a modifier that the opcode does not take")
    return bits


def _extended_tokens(instruction: Instruction) -> list[int]:
    tokens = []
    if instruction.texel_offset is not None:
        u, v, w = instruction.texel_offset
        if not (-8 <= u <= 7 and -8 <= v <= 7 and -8 <= w <= 7):
            raise DxbcError(f"texel offset ({u}, {v}, {w}) is not within -8 and 7")
        tokens.append(1 | (u & 15) << 9 | (v & 15) << 13 | (w & 15) << 17)
    if instruction.resource_dimension is not None:
        if not 0 <= instruction.resource_stride <= 0xFFF:
            raise DxbcError(f"structure stride {instruction.resource_stride} does not fit 12 bits")
        tokens.append(2 | instruction.resource_dimension << 6 | instruction.resource_stride << 11)
    if instruction.resource_return_types is not None:
        tokens.append(3 | pack_return_types(instruction.resource_return_types) << 6)
    return tokens
