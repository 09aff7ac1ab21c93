"""Operand tokens: the words of one operand to an :class:`Operand` and back.

Every bit is accounted for: what the format does not define is an error, so decoding loses nothing.
"""

from __future__ import annotations

from functools import lru_cache

from .errors import DxbcError
from .opcodes import MinPrecision, Modifier, RegisterType, Selection
from .program import Index, Operand

__all__ = ["MAX_RELATIVE_DEPTH", "read_operand", "write_operand"]

MAX_RELATIVE_DEPTH = 3
"""Operands within index brackets within index brackets …, the outermost not counted."""

_TYPES = tuple(RegisterType)
_SELECTIONS = tuple(Selection)
_SELECTOR_BITS = (0xF, 0xFF, 0x3)
_IMMEDIATE_WORDS = {
    (RegisterType.IMMEDIATE32, 1): 1,
    (RegisterType.IMMEDIATE32, 4): 4,
    (RegisterType.IMMEDIATE64, 1): 2,
    (RegisterType.IMMEDIATE64, 4): 4,
}
_MODIFIERS = tuple(Modifier)
_PRECISIONS = {int(p): p for p in MinPrecision}
_EXTENDED_BITS = 0x8003FFFF

_IMMEDIATE, _RELATIVE, _BOTH = 0, 2, 3


@lru_cache(maxsize=4096)
def _parse(token: int) -> tuple[RegisterType, int, Selection, int, tuple[int, ...], int]:
    """(type, components, selection, selector, representation of each index, immediate words)."""
    count = token & 3
    if count == 3:
        raise DxbcError("operand with N components")
    components = (0, 1, 4)[count]
    mode = token >> 2 & 3
    if mode == 3:
        raise DxbcError("operand with component selection mode 3")
    selector = token >> 4 & 0xFF
    if selector & ~_SELECTOR_BITS[mode]:
        raise DxbcError(f"operand token 0x{token:08x} has reserved selection bits set")
    number = token >> 12 & 0xFF
    if number >= len(_TYPES):
        raise DxbcError(f"register type {number} does not exist")
    dimension = token >> 20 & 3
    representations = tuple(token >> (22 + 3 * i) & 7 for i in range(dimension))
    if token >> (22 + 3 * dimension) & 0x1FF & (0x1FF >> (3 * dimension)):
        raise DxbcError(f"operand token 0x{token:08x} describes indices it does not have")
    for representation in representations:
        if representation in (1, 4):
            raise DxbcError("64-bit register indices are not supported")
        if representation > 4:
            raise DxbcError(f"index representation {representation} does not exist")
    words = 0
    if number in (RegisterType.IMMEDIATE32, RegisterType.IMMEDIATE64):
        words = _IMMEDIATE_WORDS.get((_TYPES[number], components), 0)
        if not words or dimension:
            raise DxbcError(f"immediate operand token 0x{token:08x} must have 1 or 4 components and no index")
    return _TYPES[number], components, _SELECTIONS[mode], selector, representations, words


def read_operand(words: tuple[int, ...], pos: int, end: int, depth: int = 0) -> tuple[Operand, int]:
    """The operand at ``words[pos]`` and the position behind it; nothing at or beyond ``end`` is read.

    :raises DxbcError: with the byte offset of the token at fault.
    """
    if pos >= end:
        raise DxbcError("instruction ends where an operand should be", 4 * pos)
    token = words[pos]
    try:
        type_, components, selection, selector, representations, immediate_words = _parse(token & 0x7FFFFFFF)
    except DxbcError as error:
        raise DxbcError(error.message, 4 * pos) from None
    operand = Operand(type_, components, selection, selector)
    start = pos
    pos += 1
    if token >> 31:
        pos = _read_extended(operand, words, pos, end)
    if immediate_words:
        if pos + immediate_words > end:
            raise DxbcError("immediate operand is cut off by the end of the instruction", 4 * start)
        operand.values = words[pos : pos + immediate_words]
        return operand, pos + immediate_words
    indices = operand.indices
    for representation in representations:
        immediate = 0
        if representation != _RELATIVE:
            if pos >= end:
                raise DxbcError("register index is cut off by the end of the instruction", 4 * start)
            immediate = words[pos]
            pos += 1
            if representation == _IMMEDIATE:
                indices.append(Index(immediate))
                continue
        if depth == MAX_RELATIVE_DEPTH:
            raise DxbcError(f"relative indices nest deeper than {MAX_RELATIVE_DEPTH}", 4 * start)
        relative, pos = read_operand(words, pos, end, depth + 1)
        indices.append(Index(immediate, relative, representation == _BOTH and immediate == 0))
    return operand, pos


def _read_extended(operand: Operand, words: tuple[int, ...], pos: int, end: int) -> int:
    if pos >= end:
        raise DxbcError("extended operand token is cut off by the end of the instruction", 4 * pos)
    token = words[pos]
    if token >> 31:
        raise DxbcError("an operand has at most one extended token", 4 * pos)
    if token & 0x3F != 1:
        raise DxbcError(f"extended operand token kind {token & 0x3F} does not exist", 4 * pos)
    modifier = token >> 6 & 0xFF
    precision = _PRECISIONS.get(token >> 14 & 7)
    if token & ~_EXTENDED_BITS or modifier > 3 or precision is None:
        raise DxbcError(f"extended operand token 0x{token:08x} has reserved bits set", 4 * pos)
    operand.modifier = _MODIFIERS[modifier]
    operand.min_precision = precision
    operand.nonuniform = bool(token >> 17 & 1)
    return pos + 1


def write_operand(operand: Operand, words: list[int], depth: int = 0) -> None:
    """Append the operand's words.

    :raises DxbcError: when the operand cannot be written (its ``offset`` is None).
    """
    type_ = operand.type
    if operand.components not in (0, 1, 4):
        raise DxbcError(f"an operand has 0, 1 or 4 components, not {operand.components}")
    if not 0 <= operand.selector <= _SELECTOR_BITS[operand.selection]:
        raise DxbcError(f"selector {operand.selector} is beyond a {operand.selection.name.lower()}")
    token = (
        (0, 1, 2, 2, 2)[operand.components]
        | operand.selection << 2
        | operand.selector << 4
        | type_ << 12
        | len(operand.indices) << 20
    )
    if type_ is RegisterType.IMMEDIATE32 or type_ is RegisterType.IMMEDIATE64:
        expected = _IMMEDIATE_WORDS.get((type_, operand.components))
        if expected != len(operand.values) or operand.indices:
            raise DxbcError(f"immediate of {operand.components} components with {len(operand.values)} dwords")
    elif operand.values:
        raise DxbcError(f"{type_.name} operand with immediate values")
    if len(operand.indices) > 3:
        raise DxbcError(f"an operand has at most 3 indices, not {len(operand.indices)}")
    for i, index in enumerate(operand.indices):
        token |= _representation(index) << (22 + 3 * i)
    extended = operand.modifier << 6 | operand.min_precision << 14 | operand.nonuniform << 17
    if extended:
        words += (token | 1 << 31, extended | 1)
    else:
        words.append(token)
    words += [_dword(value) for value in operand.values]
    for index in operand.indices:
        if index.relative is None:
            words.append(_dword(index.immediate))
            continue
        if depth == MAX_RELATIVE_DEPTH:
            raise DxbcError(f"relative indices nest deeper than {MAX_RELATIVE_DEPTH}")
        if index.immediate or index.explicit_zero:
            words.append(_dword(index.immediate))
        write_operand(index.relative, words, depth + 1)


def _representation(index: Index) -> int:
    if index.relative is None:
        return _IMMEDIATE
    return _BOTH if index.immediate or index.explicit_zero else _RELATIVE


def _dword(value: int) -> int:
    if not 0 <= value <= 0xFFFFFFFF:
        raise DxbcError(f"{value} does not fit a dword")
    return value
