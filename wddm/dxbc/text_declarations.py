"""Declarations of assembly text: one ``dcl_*`` statement to a :class:`Declaration`."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping
from typing import TypeVar

from .opcodes import (
    DECLARATIONS,
    OPCODES,
    CustomDataClass,
    Dimension,
    GlobalFlags,
    Interpolation,
    Opcode,
    Primitive,
    ReturnType,
    Selection,
    UavFlags,
)
from .program import XYZW, Declaration, Index, Operand, ReturnTypes
from .text_cursor import REGISTER_TYPES, Cursor, Fault
from .text_names import (
    CUSTOM_DATA,
    DECLARATION_NAMES,
    DIMENSIONS,
    GLOBAL_FLAGS,
    PRIMITIVES,
    RETURN_TYPES,
    SAMPLER_MODES,
    SYSTEM_VALUES,
    TESS_DOMAINS,
    TESS_OUTPUTS,
    TESS_PARTITIONINGS,
    TOPOLOGIES,
    UAV_FLAGS,
    lookup,
)

__all__ = ["parse_customdata", "parse_declaration", "parse_dimension", "parse_return_types"]

_NAMES = {OPCODES[opcode].mnemonic: opcode for opcode in DECLARATIONS}
_NAMES |= {name.lower(): opcode for opcode, name in DECLARATION_NAMES.items()}
_NAMES |= {
    "dcl_gs_instances": Opcode.DCL_GS_INSTANCE_COUNT,
    "dcl_input_primitive": Opcode.DCL_INPUTPRIMITIVE,
    "dcl_output_topology": Opcode.DCL_OUTPUTTOPOLOGY,
    "dcl_max_output_vertex_count": Opcode.DCL_MAXOUT,
}

_COMPOSED = re.compile(
    r"(?P<base>dcl_resource|dcl_uav_typed|dcl_uav_raw|dcl_uav_structured|dcl_interface)"
    r"(?:_(?P<shape>unknown|buffer|texture\w+?|raw_buffer|structured_buffer))?"
    r"(?P<flags>(?:_glc|_rov|_opc)*)(?P<dynamic>_dynamicindexed)?"
)
_RANGE = re.compile(r"([A-Za-z]+)(\d+)\[(\d+):(\d+|\*)\]")
_MODES = {"constant", "linear", "centroid", "noperspective", "sample"}

_DIMENSIONS = lookup(DIMENSIONS)
_RETURN_TYPES = lookup(RETURN_TYPES)
_FLAGS = lookup(GLOBAL_FLAGS)
_UAV_FLAGS = lookup(UAV_FLAGS)
_CLASSES = lookup(CUSTOM_DATA)


def parse_dimension(cursor: Cursor) -> Dimension:
    """A resource dimension, e.g. ``texture2d``."""
    return _choice(cursor, _DIMENSIONS, "resource dimension")


def parse_return_types(cursor: Cursor) -> ReturnTypes:
    """``(float,float,float,float)``."""
    start = cursor.pos
    cursor.take("(", "before the return types")
    types: list[ReturnType] = []
    while not cursor.try_take(")"):
        if types:
            cursor.take(",", "between return types")
        types.append(_choice(cursor, _RETURN_TYPES, "return type"))
    if len(types) != 4:
        raise cursor.fault(f"four return types are needed, not {len(types)}", start)
    return types[0], types[1], types[2], types[3]


def parse_customdata(cursor: Cursor) -> tuple[CustomDataClass, bytes]:
    """What follows the word ``customdata``: its class and ``{ dwords }``."""
    class_ = _choice(cursor, _CLASSES, "custom data class")
    words = cursor.braced("custom data")
    return class_, struct.pack(f"<{len(words)}I", *words)


def parse_declaration(word: str, column: int, cursor: Cursor, shader_model_5_1: bool) -> Declaration:
    """The declaration whose first word, at ``column``, has been read.

    :raises Fault: with the column of what is wrong.
    """
    name = word.lower()
    if name == "dcl_immediateconstantbuffer":
        return _immediate_constant_buffer(cursor)
    opcode = _NAMES.get(name)
    if opcode in (Opcode.DCL_RESOURCE, Opcode.DCL_UAV_TYPED):
        raise Fault(f"{word} needs a dimension, e.g. {word}_texture2d", column, len(word))
    if opcode is not None:
        declaration = Declaration(opcode)
    else:
        found = _COMPOSED.fullmatch(name)
        if found is None:
            raise Fault(f"there is no declaration {word!r}", column, len(word))
        declaration = _composed(found, word, column)
    _PARSERS[declaration.opcode](declaration, cursor, shader_model_5_1)
    if shader_model_5_1 and declaration.opcode in _SPACED and cursor.try_take(","):
        cursor.take("space", "and its number")
        cursor.take("=", "and the register space")
        declaration.space = cursor.unsigned("register space")
    return declaration


def _composed(found: re.Match[str], word: str, column: int) -> Declaration:
    declaration = Declaration(_NAMES[found["base"]])
    opcode = declaration.opcode
    typed = opcode in (Opcode.DCL_RESOURCE, Opcode.DCL_UAV_TYPED)
    flags = UavFlags.NONE
    for flag in found["flags"].split("_")[1:]:
        flags |= _UAV_FLAGS[flag]
    if (
        (found["shape"] is not None) != typed
        or (typed and found["shape"] not in _DIMENSIONS)
        or (flags and opcode in (Opcode.DCL_RESOURCE, Opcode.DCL_INTERFACE))
        or (flags & UavFlags.HAS_COUNTER and opcode is not Opcode.DCL_UAV_STRUCTURED)
        or (found["dynamic"] is not None and opcode is not Opcode.DCL_INTERFACE)
    ):
        raise Fault(f"there is no declaration {word!r}", column, len(word))
    if typed:
        declaration.dimension = _DIMENSIONS[found["shape"]]
    declaration.uav_flags = flags
    declaration.dynamic = found["dynamic"] is not None
    return declaration


_T = TypeVar("_T")


def _choice(cursor: Cursor, table: Mapping[str, _T], what: str) -> _T:
    start = cursor.pos
    word = cursor.word(what)
    member = table.get(word.lower())
    if member is None:
        raise Fault(f"{word!r} is no {what}; known: {', '.join(table)}", start, len(word))
    return member


def _immediate_constant_buffer(cursor: Cursor) -> Declaration:
    cursor.take("{", "before the immediate constant buffer")
    words: list[int] = []
    while not cursor.try_take("}"):
        if words:
            cursor.take(",", "between rows")
        start = cursor.pos
        row = cursor.braced("row")
        if len(row) != 4:
            raise cursor.fault(f"a row has four numbers, not {len(row)}", start)
        words += row
    if not words:
        raise cursor.fault("an immediate constant buffer has at least one row")
    return Declaration(
        Opcode.CUSTOMDATA,
        custom_class=CustomDataClass.IMMEDIATE_CONSTANT_BUFFER,
        data=struct.pack(f"<{len(words)}I", *words),
    )


# --- one parser per declaration -------------------------------------------------------------------------------


def _operand(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    if sm51 and d.opcode in _SPACED:
        start = cursor.pos
        found = cursor.match_tight(_RANGE)
        if found is not None:
            type_ = REGISTER_TYPES.get(found[1].lower())
            high = 0xFFFFFFFF if found[4] == "*" else int(found[4])
            numbers = (int(found[2]), int(found[3]), high)
            if type_ is None or max(numbers) > 0xFFFFFFFF:
                raise cursor.fault(f"{found[0]!r} is no register range", start)
            d.operand = Operand(type_, 0, Selection.MASK, 0, [Index(number) for number in numbers])
            if d.opcode is Opcode.DCL_CONSTANTBUFFER and cursor.peek() != ".":
                d.operand.components, d.operand.selection, d.operand.selector = 4, Selection.SWIZZLE, XYZW
            else:
                cursor.suffix(d.operand, True)
            cursor.notes(d.operand)
            return
    start = cursor.pos
    d.operand = cursor.operand(True)
    if d.opcode is Opcode.DCL_CONSTANTBUFFER and "." not in cursor.text[start : cursor.pos]:
        d.operand.components, d.operand.selection, d.operand.selector = 4, Selection.SWIZZLE, XYZW


def _nothing_more(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    _operand(d, cursor, sm51)


def _global_flags(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    flags = GlobalFlags.NONE
    while not cursor.at_end:
        if flags:
            cursor.take("|", "between flags")
        flags |= _choice(cursor, _FLAGS, "global flag")
    d.flags = flags


def _constant_buffer(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    _operand(d, cursor, sm51)
    if sm51:
        cursor.take("[", "and the size in vec4s")
        d.count = cursor.unsigned("size")
        cursor.take("]")
    if cursor.try_take(","):
        start = cursor.pos
        word = cursor.word("immediateIndexed or dynamicIndexed").lower()
        if word not in ("immediateindexed", "dynamicindexed"):
            raise Fault("expected immediateIndexed or dynamicIndexed", start, len(word))
        d.dynamic = word == "dynamicindexed"


def _sampler(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    _operand(d, cursor, sm51)
    if cursor.try_take(","):
        d.sampler_mode = _choice(cursor, lookup(SAMPLER_MODES), "sampler mode")


def _typed(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    if cursor.peek() == "(" and cursor.text[cursor.pos + 1 : cursor.pos + 2].isdecimal():
        cursor.take("(")
        d.sample_count = cursor.unsigned("sample count")
        cursor.take(")", "behind the sample count")
    d.return_types = parse_return_types(cursor)
    _operand(d, cursor, sm51)


def _structured(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    _operand(d, cursor, sm51)
    cursor.take(",", "and the stride in bytes")
    d.stride = cursor.unsigned("stride")


def _tgsm_raw(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    _operand(d, cursor, sm51)
    cursor.take(",", "and the size in bytes")
    d.count = cursor.unsigned("size")


def _tgsm_structured(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    _structured(d, cursor, sm51)
    cursor.take(",", "and the number of structures")
    d.count = cursor.unsigned("number of structures")


def _thread_group(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    x = cursor.unsigned("x size")
    cursor.take(",", "and the y size")
    y = cursor.unsigned("y size")
    cursor.take(",", "and the z size")
    d.thread_group = (x, y, cursor.unsigned("z size"))


def _named(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    _operand(d, cursor, sm51)
    cursor.take(",", "and the system value")
    d.system_value = _choice(cursor, lookup(SYSTEM_VALUES), "system value")


def _interpolated(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    start = cursor.pos
    words: list[str] = []
    while cursor.following_word().lower() in _MODES:
        words.append(cursor.word("interpolation mode").lower())
    modes = {frozenset(m.name.lower().split("_")) if m else frozenset(): m for m in Interpolation}
    mode = modes.get(frozenset(words))
    if mode is None:
        raise cursor.fault(f"{' '.join(words)!r} is no interpolation mode", start)
    d.interpolation = mode
    if d.opcode is Opcode.DCL_INPUT_PS:
        _operand(d, cursor, sm51)
    else:
        _named(d, cursor, sm51)


def _index_range(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    _operand(d, cursor, sm51)
    cursor.try_take(",")
    d.count = cursor.unsigned("number of registers")


def _count(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    start = cursor.pos
    d.count = cursor.unsigned("count")
    limited = d.opcode in (Opcode.DCL_INPUT_CONTROL_POINT_COUNT, Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT)
    if limited and d.count > 63:
        raise cursor.fault(f"{d.count} control points do not fit the declaration", start)


def _indexable_temp(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    d.register = _numbered(cursor, "x")
    cursor.take("[", "and the number of elements")
    d.count = cursor.unsigned("number of elements")
    cursor.take("]")
    cursor.take(",", "and the number of components")
    d.components = cursor.unsigned("number of components")


def _max_tess_factor(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    start = cursor.pos
    parenthesised = cursor.try_take("l(")
    factor = struct.unpack("<f", struct.pack("<I", cursor.bits()))[0]
    if parenthesised:
        cursor.take(")", "behind the factor")
    if math.isnan(factor) or not 1.0 <= factor <= 64.0:
        raise cursor.fault("the factor is not within 1.0 and 64.0", start)
    d.max_tess_factor = factor


def _numbered(cursor: Cursor, prefix: str) -> int:
    start = cursor.pos
    word = cursor.word(f"{prefix} register")
    number = word[len(prefix) :]
    if not word.lower().startswith(prefix) or not number.isdecimal() or len(number) > 10 or int(number) > 0xFFFFFFFF:
        raise Fault(f"expected an {prefix} register", start, len(word))
    return int(number)


def _members(cursor: Cursor, prefix: str) -> tuple[int, ...]:
    cursor.take("=", "and a list in braces")
    cursor.take("{", "before the list")
    members: list[int] = []
    while not cursor.try_take("}"):
        if members:
            cursor.take(",", "between members")
        members.append(_numbered(cursor, prefix))
    return tuple(members)


def _function_body(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    d.register = _numbered(cursor, "fb")


def _function_table(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    d.register = _numbered(cursor, "ft")
    d.members = _members(cursor, "fb")
    d.long_length = cursor.try_take("[long]")


def _interface(d: Declaration, cursor: Cursor, sm51: bool) -> None:
    d.register = _numbered(cursor, "fp")
    cursor.take("[", "and the array length")
    d.array_length = cursor.unsigned("array length")
    cursor.take("]")
    cursor.take("[", "and the number of call sites")
    d.call_sites = cursor.unsigned("number of call sites")
    cursor.take("]")
    d.members = _members(cursor, "ft")
    if d.array_length > 0xFFFF or len(d.members) > 0xFFFF:
        raise cursor.fault("array length and table count have 16 bits each")
    d.long_length = cursor.try_take("[long]")


def _word_of(field: str, table: Mapping[str, _T], what: str) -> Callable[[Declaration, Cursor, bool], None]:
    def parse(d: Declaration, cursor: Cursor, sm51: bool) -> None:
        setattr(d, field, _choice(cursor, table, what))

    return parse


_SPACED = frozenset({
    Opcode.DCL_CONSTANTBUFFER, Opcode.DCL_SAMPLER, Opcode.DCL_RESOURCE, Opcode.DCL_RESOURCE_RAW,
    Opcode.DCL_RESOURCE_STRUCTURED, Opcode.DCL_UAV_TYPED, Opcode.DCL_UAV_RAW, Opcode.DCL_UAV_STRUCTURED,
})
_PRIMITIVE_WORDS = lookup(PRIMITIVES) | {"line_adj": Primitive.LINE_ADJ, "triangle_adj": Primitive.TRIANGLE_ADJ}
_PARSERS: dict[Opcode, Callable[[Declaration, Cursor, bool], None]] = {
    Opcode.DCL_GLOBALFLAGS: _global_flags,
    Opcode.DCL_CONSTANTBUFFER: _constant_buffer,
    Opcode.DCL_SAMPLER: _sampler,
    Opcode.DCL_RESOURCE: _typed,
    Opcode.DCL_RESOURCE_RAW: _nothing_more,
    Opcode.DCL_RESOURCE_STRUCTURED: _structured,
    Opcode.DCL_UAV_TYPED: _typed,
    Opcode.DCL_UAV_RAW: _nothing_more,
    Opcode.DCL_UAV_STRUCTURED: _structured,
    Opcode.DCL_TGSM_RAW: _tgsm_raw,
    Opcode.DCL_TGSM_STRUCTURED: _tgsm_structured,
    Opcode.DCL_THREAD_GROUP: _thread_group,
    Opcode.DCL_INPUT: _nothing_more,
    Opcode.DCL_INPUT_SGV: _named,
    Opcode.DCL_INPUT_SIV: _named,
    Opcode.DCL_INPUT_PS: _interpolated,
    Opcode.DCL_INPUT_PS_SGV: _interpolated,
    Opcode.DCL_INPUT_PS_SIV: _interpolated,
    Opcode.DCL_OUTPUT: _nothing_more,
    Opcode.DCL_OUTPUT_SGV: _named,
    Opcode.DCL_OUTPUT_SIV: _named,
    Opcode.DCL_INDEXRANGE: _index_range,
    Opcode.DCL_TEMPS: _count,
    Opcode.DCL_INDEXABLETEMP: _indexable_temp,
    Opcode.DCL_INPUTPRIMITIVE: _word_of("primitive", _PRIMITIVE_WORDS, "primitive"),
    Opcode.DCL_OUTPUTTOPOLOGY: _word_of("topology", lookup(TOPOLOGIES), "topology"),
    Opcode.DCL_MAXOUT: _count,
    Opcode.DCL_GS_INSTANCE_COUNT: _count,
    Opcode.DCL_STREAM: _nothing_more,
    Opcode.DCL_INPUT_CONTROL_POINT_COUNT: _count,
    Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT: _count,
    Opcode.DCL_TESSELLATOR_DOMAIN: _word_of("tess_domain", lookup(TESS_DOMAINS), "tessellator domain"),
    Opcode.DCL_TESSELLATOR_PARTITIONING: _word_of(
        "tess_partitioning", lookup(TESS_PARTITIONINGS), "tessellator partitioning"
    ),
    Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE: _word_of(
        "tess_output", lookup(TESS_OUTPUTS), "tessellator output primitive"
    ),
    Opcode.DCL_HS_MAX_TESSFACTOR: _max_tess_factor,
    Opcode.DCL_HS_FORK_PHASE_INSTANCE_COUNT: _count,
    Opcode.DCL_HS_JOIN_PHASE_INSTANCE_COUNT: _count,
    Opcode.DCL_FUNCTION_BODY: _function_body,
    Opcode.DCL_FUNCTION_TABLE: _function_table,
    Opcode.DCL_INTERFACE: _interface,
}
