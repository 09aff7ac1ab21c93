"""Which components instructions read and write.

Owns the rules by which swizzle positions are consumed: per component of the destination, the first two to four for
dot products, as many as the dimension for texture addresses.  Fills the read/write masks of signatures.
"""

from __future__ import annotations

from collections.abc import Iterator

from .opcodes import OPCODES, Dimension, Opcode, OpcodeGroup, OperandKind, RegisterType, ValueType
from .program import Instruction, Operand, Program

__all__ = ["InputUsage", "components_read", "input_usage", "output_usage", "positions_read", "resource_dimensions"]

_SCALAR_ROLES = frozenset({"lod", "bias", "ref", "clamp", "sample", "index", "byteoff", "mip", "imm"})
_DOTS = {Opcode.DP2: 0x3, Opcode.DP3: 0x7, Opcode.DP4: 0xF}
_DIMENSION_OPCODES = frozenset({Opcode.DCL_RESOURCE, Opcode.DCL_UAV_TYPED})

InputUsage = dict[tuple[RegisterType, int | None], int]
"""(register file, register) → mask of components; the register is None when it was indexed relatively."""


def resource_dimensions(program: Program) -> dict[tuple[RegisterType, int], Dimension]:
    """Declared dimension of each t#, u# (typed, raw and structured) and g#; by range id in 5.1."""
    found: dict[tuple[RegisterType, int], Dimension] = {}
    shapes = {
        Opcode.DCL_RESOURCE_RAW: Dimension.RAW_BUFFER,
        Opcode.DCL_UAV_RAW: Dimension.RAW_BUFFER,
        Opcode.DCL_TGSM_RAW: Dimension.RAW_BUFFER,
        Opcode.DCL_RESOURCE_STRUCTURED: Dimension.STRUCTURED_BUFFER,
        Opcode.DCL_UAV_STRUCTURED: Dimension.STRUCTURED_BUFFER,
        Opcode.DCL_TGSM_STRUCTURED: Dimension.STRUCTURED_BUFFER,
    }
    for declaration in program.declarations:
        if declaration.operand is not None:
            shape = shapes.get(declaration.opcode)
            if declaration.opcode in _DIMENSION_OPCODES:
                shape = declaration.dimension
            if shape is not None:
                found[declaration.operand.type, declaration.slot] = shape
    return found


def positions_read(
    instruction: Instruction, number: int, dimensions: dict[tuple[RegisterType, int], Dimension]
) -> int:
    """Swizzle positions (x = bit 0) of operand ``number`` that the instruction consumes; 0 for what it writes."""
    opcode, info = instruction.opcode, OPCODES[instruction.opcode]
    role, kind, type_ = info.roles[number], info.kinds[number], info.types[number]
    if kind is OperandKind.DST:
        return 0
    written = 0
    for destination in instruction.destinations:
        written |= destination.mask
    if kind is not OperandKind.SRC and kind is not OperandKind.INPUT:
        return written if kind in (OperandKind.RESOURCE, OperandKind.MEMORY, OperandKind.RESOURCE_OR_UAV) else 0
    if opcode in _DOTS:
        return _DOTS[opcode]
    if role in _SCALAR_ROLES:
        return 0x1
    if role == "addr" or role in ("ddx", "ddy"):
        return _address(instruction, role, dimensions)
    if role == "off":
        return 0x3
    if info.group is OpcodeGroup.ATOMIC or info.group is OpcodeGroup.FLOW:
        return 0x1
    if info.group is OpcodeGroup.MEMORY:
        return instruction.operands[0].mask
    if opcode is Opcode.CHECK_ACCESS_FULLY_MAPPED:
        return 0x1
    return _converted(written, info.result, type_)


def _converted(written: int, result: ValueType, source: ValueType) -> int:
    """Positions behind the written components when results or sources are doubles (two components each)."""
    if source is ValueType.DOUBLE and result is not ValueType.DOUBLE:
        # The first written component comes from .xy, the second from .zw.
        return {0: 0, 1: 0x3}.get(written.bit_count(), 0xF)
    if result is ValueType.DOUBLE and source is not ValueType.DOUBLE:
        return {0: 0, 2: 0x1}.get(written.bit_count(), 0x3)
    return written


def _address(
    instruction: Instruction, role: str, dimensions: dict[tuple[RegisterType, int], Dimension]
) -> int:
    dimension = instruction.resource_dimension
    if dimension is None:
        kinds = OPCODES[instruction.opcode].kinds
        places = (OperandKind.RESOURCE, OperandKind.UAV, OperandKind.MEMORY, OperandKind.UAV_OR_SHARED)
        for kind, operand in zip(kinds, instruction.operands, strict=True):
            if kind in places:
                dimension = dimensions.get((operand.type, operand.index))
    if dimension is None or dimension is Dimension.UNKNOWN:
        return 0xF
    count = dimension.coordinates
    if role in ("ddx", "ddy"):
        count -= dimension.is_array
    read = (1 << count) - 1
    if instruction.opcode in (Opcode.LD, Opcode.LD_S) and dimension is not Dimension.BUFFER:
        read |= 0x8  # the mip level
    return read


def components_read(operand: Operand, positions: int) -> int:
    """Register components (x = bit 0) that those positions name."""
    read = 0
    for position, component in enumerate(operand.swizzle):
        if positions >> position & 1:
            read |= 1 << component
    return read


def _relative(operand: Operand) -> Iterator[Operand]:
    for index in operand.indices:
        if index.relative is not None:
            yield index.relative
            yield from _relative(index.relative)


def _register(operand: Operand) -> int | None:
    if not operand.indices:
        return 0
    last = operand.indices[-1]
    return None if last.relative is not None else last.immediate


def input_usage(program: Program) -> InputUsage:
    """Components of every indexed or scalar register that any instruction reads."""
    dimensions = resource_dimensions(program)
    usage: InputUsage = {}

    def read(operand: Operand, positions: int) -> None:
        key = (operand.type, _register(operand))
        usage[key] = usage.get(key, 0) | components_read(operand, positions)
        for relative in _relative(operand):
            inner = (relative.type, _register(relative))
            usage[inner] = usage.get(inner, 0) | components_read(relative, 0x1)

    for _, _, instructions in program.bodies():
        for instruction in instructions:
            for number, operand in enumerate(instruction.operands):
                read(operand, positions_read(instruction, number, dimensions))
    return usage


def output_usage(program: Program, *, patch_constant: bool = False) -> InputUsage:
    """Components written of every register; of a hull shader's fork and join phases when ``patch_constant``."""
    usage: InputUsage = {}
    for phase, _, instructions in program.bodies():
        if phase is not None and (phase.kind is not Opcode.HS_CONTROL_POINT_PHASE) != patch_constant:
            continue
        for instruction in instructions:
            for operand in instruction.destinations:
                key = (operand.type, _register(operand))
                usage[key] = usage.get(key, 0) | operand.mask
    return usage
