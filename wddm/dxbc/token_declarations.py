"""Declaration tokens: the words of one ``dcl_*`` to a :class:`Declaration` and back.

One table, :data:`LAYOUTS`, says where each field of each declaration stands; reading and writing both follow it.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from .errors import DxbcError
from .opcodes import (
    OPCODES,
    Dimension,
    GlobalFlags,
    Interpolation,
    Opcode,
    Primitive,
    ReturnType,
    SamplerMode,
    SystemValue,
    TessDomain,
    TessOutput,
    TessPartitioning,
    Topology,
    UavFlags,
)
from .program import Declaration, ReturnTypes
from .token_operands import read_operand, write_operand

__all__ = ["LAYOUTS", "Layout", "pack_return_types", "read_declaration", "unpack_return_types", "write_declaration"]


@dataclass(frozen=True, slots=True)
class Control:
    """A field inside the opcode token: ``width`` bits from bit ``low``, read as ``kind``."""

    name: str
    low: int
    width: int
    kind: Any


@dataclass(frozen=True, slots=True)
class Layout:
    """Controls in the opcode token and what follows it, in order; ``spaced``: 5.1 appends the register space."""

    controls: tuple[Control, ...] = ()
    payload: tuple[str, ...] = ()
    spaced: bool = False


_SHAPE = Control("dimension", 11, 5, Dimension)
_UAV = Control("uav_flags", 16, 2, UavFlags)
_UAV_COUNTED = Control("uav_flags", 16, 8, UavFlags)
_MODE = Control("interpolation", 11, 4, Interpolation)
_COUNT6 = Control("count", 11, 6, int)

LAYOUTS: dict[Opcode, Layout] = {
    Opcode.DCL_GLOBALFLAGS: Layout((Control("flags", 11, 13, GlobalFlags),)),
    Opcode.DCL_CONSTANTBUFFER: Layout((Control("dynamic", 11, 1, bool),), ("operand", "buffer_size"), spaced=True),
    Opcode.DCL_SAMPLER: Layout((Control("sampler_mode", 11, 4, SamplerMode),), ("operand",), spaced=True),
    Opcode.DCL_RESOURCE: Layout(
        (_SHAPE, Control("sample_count", 16, 7, int)), ("operand", "return_types"), spaced=True
    ),
    Opcode.DCL_RESOURCE_RAW: Layout((), ("operand",), spaced=True),
    Opcode.DCL_RESOURCE_STRUCTURED: Layout((), ("operand", "stride"), spaced=True),
    Opcode.DCL_UAV_TYPED: Layout((_SHAPE, _UAV), ("operand", "return_types"), spaced=True),
    Opcode.DCL_UAV_RAW: Layout((_UAV,), ("operand",), spaced=True),
    Opcode.DCL_UAV_STRUCTURED: Layout((_UAV_COUNTED,), ("operand", "stride"), spaced=True),
    Opcode.DCL_TGSM_RAW: Layout((), ("operand", "count")),
    Opcode.DCL_TGSM_STRUCTURED: Layout((), ("operand", "stride", "count")),
    Opcode.DCL_THREAD_GROUP: Layout((), ("thread_group",)),
    Opcode.DCL_INPUT: Layout((), ("operand",)),
    Opcode.DCL_INPUT_SGV: Layout((), ("operand", "system_value")),
    Opcode.DCL_INPUT_SIV: Layout((), ("operand", "system_value")),
    Opcode.DCL_INPUT_PS: Layout((_MODE,), ("operand",)),
    Opcode.DCL_INPUT_PS_SGV: Layout((_MODE,), ("operand", "system_value")),
    Opcode.DCL_INPUT_PS_SIV: Layout((_MODE,), ("operand", "system_value")),
    Opcode.DCL_OUTPUT: Layout((), ("operand",)),
    Opcode.DCL_OUTPUT_SGV: Layout((), ("operand", "system_value")),
    Opcode.DCL_OUTPUT_SIV: Layout((), ("operand", "system_value")),
    Opcode.DCL_INDEXRANGE: Layout((), ("operand", "count")),
    Opcode.DCL_TEMPS: Layout((), ("count",)),
    Opcode.DCL_INDEXABLETEMP: Layout((), ("register", "count", "components")),
    Opcode.DCL_INPUTPRIMITIVE: Layout((Control("primitive", 11, 6, Primitive),)),
    Opcode.DCL_OUTPUTTOPOLOGY: Layout((Control("topology", 11, 6, Topology),)),
    Opcode.DCL_MAXOUT: Layout((), ("count",)),
    Opcode.DCL_GS_INSTANCE_COUNT: Layout((), ("count",)),
    Opcode.DCL_STREAM: Layout((), ("operand",)),
    Opcode.DCL_INPUT_CONTROL_POINT_COUNT: Layout((_COUNT6,)),
    Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT: Layout((_COUNT6,)),
    Opcode.DCL_TESSELLATOR_DOMAIN: Layout((Control("tess_domain", 11, 2, TessDomain),)),
    Opcode.DCL_TESSELLATOR_PARTITIONING: Layout((Control("tess_partitioning", 11, 3, TessPartitioning),)),
    Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE: Layout((Control("tess_output", 11, 3, TessOutput),)),
    Opcode.DCL_HS_MAX_TESSFACTOR: Layout((), ("max_tess_factor",)),
    Opcode.DCL_HS_FORK_PHASE_INSTANCE_COUNT: Layout((), ("count",)),
    Opcode.DCL_HS_JOIN_PHASE_INSTANCE_COUNT: Layout((), ("count",)),
    Opcode.DCL_FUNCTION_BODY: Layout((), ("register",)),
    Opcode.DCL_FUNCTION_TABLE: Layout((), ("register", "function_bodies")),
    Opcode.DCL_INTERFACE: Layout((Control("dynamic", 11, 1, bool),), ("register", "call_sites", "function_tables")),
}

_RETURN_TYPES = {int(r): r for r in ReturnType}
_CONTROL_BITS = {
    opcode: sum(((1 << c.width) - 1) << c.low for c in layout.controls) for opcode, layout in LAYOUTS.items()
}
_FLAG_BITS = {GlobalFlags: 0x1FF, UavFlags: 0x83}


def unpack_return_types(bits: int) -> ReturnTypes | None:
    """Four return types of four bits each, x lowest; None when one of them does not exist."""
    x, y, z, w = (_RETURN_TYPES.get(bits >> shift & 15) for shift in (0, 4, 8, 12))
    if x is None or y is None or z is None or w is None:
        return None
    return x, y, z, w


def pack_return_types(types: ReturnTypes) -> int:
    """The 16 bits of :func:`unpack_return_types`."""
    return types[0] | types[1] << 4 | types[2] << 8 | types[3] << 12


class _Words:
    """The payload of one declaration, taken dword by dword."""

    def __init__(self, name: str, words: tuple[int, ...], pos: int, end: int) -> None:
        self.name, self.words, self.pos, self.end = name, words, pos, end

    def take(self, what: str) -> int:
        if self.pos >= self.end:
            raise self.error(f"{self.name} ends before its {what}")
        self.pos += 1
        return self.words[self.pos - 1]

    def error(self, message: str) -> DxbcError:
        return DxbcError(message, 4 * min(self.pos, len(self.words) - 1))


def read_declaration(
    opcode: Opcode, words: tuple[int, ...], start: int, body: int, end: int, shader_model_5_1: bool
) -> Declaration:
    """The declaration whose opcode token is ``words[start]`` and whose payload is ``words[body:end]``.

    :raises DxbcError: reserved bits, unknown values, a payload shorter or longer than the layout.
    """
    token, layout, name = words[start], LAYOUTS[opcode], OPCODES[opcode].mnemonic
    declaration = Declaration(opcode, offset=start)
    if token & 0x00FFF800 & ~_CONTROL_BITS[opcode]:
        raise DxbcError(f"{name} token 0x{token:08x} has reserved bits set", 4 * start)
    for control in layout.controls:
        value = token >> control.low & ((1 << control.width) - 1)
        setattr(declaration, control.name, _enumerated(control, value, name, start))
    take = _Words(name, words, body, end)
    for item in layout.payload:
        _read_item(declaration, item, take, shader_model_5_1)
    if layout.spaced and shader_model_5_1:
        declaration.space = take.take("register space")
    if take.pos != end:
        raise take.error(f"{name} is {end - take.pos} dwords longer than its fields")
    return declaration


def _enumerated(control: Control, value: int, name: str, start: int) -> Any:
    if control.kind in _FLAG_BITS:
        if value & ~_FLAG_BITS[control.kind]:
            raise DxbcError(f"{name} has reserved flags 0x{value & ~_FLAG_BITS[control.kind]:x} set", 4 * start)
        return control.kind(value)
    if issubclass(control.kind, IntEnum):
        try:
            return control.kind(value)
        except ValueError:
            raise DxbcError(f"{name}: {control.name.replace('_', ' ')} {value} does not exist", 4 * start) from None
    return control.kind(value)


def _read_item(declaration: Declaration, item: str, take: _Words, shader_model_5_1: bool) -> None:
    if item == "operand":
        declaration.operand, take.pos = read_operand(take.words, take.pos, take.end)
    elif item == "buffer_size":
        # Before 5.1 the size is the second index of the operand.
        if shader_model_5_1:
            declaration.count = take.take("size")
    elif item == "return_types":
        bits = take.take("return types")
        types = unpack_return_types(bits)
        if types is None or bits >> 16:
            take.pos -= 1
            raise take.error(f"{take.name}: return type token 0x{bits:08x} is not four known types")
        declaration.return_types = types
    elif item == "system_value":
        number = take.take("name token")
        try:
            declaration.system_value = SystemValue(number)
        except ValueError:
            take.pos -= 1
            raise take.error(f"{take.name}: system value {number} does not exist") from None
    elif item == "thread_group":
        declaration.thread_group = (take.take("x size"), take.take("y size"), take.take("z size"))
    elif item == "max_tess_factor":
        factor = struct.unpack("<f", struct.pack("<I", take.take("factor")))[0]
        if not 1.0 <= factor <= 64.0:
            take.pos -= 1
            raise take.error(f"{take.name}: {factor} is not within 1 and 64")
        declaration.max_tess_factor = factor
    elif item == "function_bodies":
        declaration.members = _read_members(take, take.take("body count"))
    elif item == "function_tables":
        packed = take.take("table count")
        declaration.array_length = packed >> 16
        declaration.members = _read_members(take, packed & 0xFFFF)
    else:
        setattr(declaration, item, take.take(item.replace("_", " ")))


def _read_members(take: _Words, count: int) -> tuple[int, ...]:
    if count > take.end - take.pos:
        raise take.error(f"{take.name} announces {count} members and has {take.end - take.pos}")
    take.pos += count
    return take.words[take.pos - count : take.pos]


def write_declaration(declaration: Declaration, words: list[int], shader_model_5_1: bool) -> int:
    """Append the payload; returns the control bits of the opcode token.

    :raises DxbcError: a field that is missing or does not fit.
    """
    opcode = declaration.opcode
    layout, name = LAYOUTS[opcode], OPCODES[opcode].mnemonic
    bits = 0
    for control in layout.controls:
        value = int(getattr(declaration, control.name))
        if not 0 <= value < 1 << control.width or value & ~_FLAG_BITS.get(control.kind, value):
            raise DxbcError(f"{name}: {control.name.replace('_', ' ')} {value} cannot be written")
        bits |= value << control.low
    for item in layout.payload:
        _write_item(declaration, item, name, words, shader_model_5_1)
    if layout.spaced and shader_model_5_1:
        words.append(_word(name, "register space", declaration.space))
    return bits


def _word(name: str, what: str, value: int) -> int:
    if not 0 <= value <= 0xFFFFFFFF:
        raise DxbcError(f"{name}: {what} {value} does not fit a dword")
    return value


def _write_item(declaration: Declaration, item: str, name: str, words: list[int], shader_model_5_1: bool) -> None:
    if item == "operand":
        if declaration.operand is None:
            raise DxbcError(f"{name} has no operand")
        write_operand(declaration.operand, words)
    elif item == "buffer_size":
        if shader_model_5_1:
            words.append(_word(name, "size", declaration.count))
    elif item == "return_types":
        if declaration.return_types is None:
            raise DxbcError(f"{name} has no return types")
        words.append(pack_return_types(declaration.return_types))
    elif item == "system_value":
        words.append(declaration.system_value)
    elif item == "thread_group":
        words += [_word(name, "group size", size) for size in declaration.thread_group]
    elif item == "max_tess_factor":
        if not (math.isfinite(declaration.max_tess_factor) and 1.0 <= declaration.max_tess_factor <= 64.0):
            raise DxbcError(f"{name}: {declaration.max_tess_factor} is not within 1 and 64")
        words.append(struct.unpack("<I", struct.pack("<f", declaration.max_tess_factor))[0])
    elif item in ("function_bodies", "function_tables"):
        count = len(declaration.members)
        if item == "function_tables":
            if count > 0xFFFF or not 0 <= declaration.array_length <= 0xFFFF:
                raise DxbcError(f"{name}: table count and array length have 16 bits each")
            count |= declaration.array_length << 16
        words.append(count)
        words += [_word(name, "member", member) for member in declaration.members]
    else:
        words.append(_word(name, item, getattr(declaration, item)))
