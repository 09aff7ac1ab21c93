"""Where the lanes of a value lie in memory.

Three schemes: ``cbuffer`` (16-byte registers that nothing straddles), ``tight`` (structured buffers, shared memory)
and ``registers`` (indexable temps: every vector a register of its own).  All numbers are dwords.
"""

from __future__ import annotations

from .types import Array, Numeric, Struct, Type

__all__ = ["align", "array_stride", "field_offset", "offsets", "place", "size"]


def align(value: int, to: int) -> int:
    return -(-value // to) * to


def _matrix(type_: Numeric, scheme: str) -> tuple[int, int, int]:
    """(dwords between major vectors, number of them, components in each)."""
    row_major = type_.row_major or scheme == "registers"
    major, minor = (type_.rows, type_.columns) if row_major else (type_.columns, type_.rows)
    width = minor * (2 if type_.kind == "d" else 1)
    stride = width if scheme == "tight" else align(width, 4)
    return stride, major, width


def size(type_: Type, scheme: str) -> int:
    """Dwords from the first to the last; trailing padding is not counted in ``cbuffer``."""
    if isinstance(type_, Numeric):
        if type_.shape == "matrix":
            stride, major, width = _matrix(type_, scheme)
            return (major - 1) * stride + (stride if scheme == "registers" else width)
        dwords = type_.count * (2 if type_.kind == "d" else 1)
        return align(dwords, 4) if scheme == "registers" else dwords
    if isinstance(type_, Array):
        return (type_.size - 1) * array_stride(type_, scheme) + size(type_.element, scheme)
    if isinstance(type_, Struct):
        cursor = 0
        for member in type_.fields:
            cursor = place(member.type, cursor, scheme) + size(member.type, scheme)
        if scheme == "tight" and _has_double(type_):
            cursor = align(cursor, 2)
        return cursor
    return 0


def place(type_: Type, cursor: int, scheme: str) -> int:
    """Where a value may start that comes behind ``cursor``."""
    if scheme == "tight":
        return align(cursor, 2) if _has_double(type_) else cursor
    if scheme == "registers":
        return align(cursor, 4)
    if isinstance(type_, Numeric) and type_.shape != "matrix":
        if type_.kind == "d":
            cursor = align(cursor, 2)
        dwords = size(type_, scheme)
        return align(cursor, 4) if cursor % 4 + dwords > 4 else cursor
    return align(cursor, 4)


def _has_double(type_: Type) -> bool:
    if isinstance(type_, Numeric):
        return type_.kind == "d"
    if isinstance(type_, Array):
        return _has_double(type_.element)
    return isinstance(type_, Struct) and any(_has_double(f.type) for f in type_.fields)


def array_stride(type_: Array, scheme: str) -> int:
    """Dwords from one element to the next."""
    dwords = size(type_.element, scheme)
    if scheme == "tight":
        return align(dwords, 2) if _has_double(type_.element) else dwords
    return align(dwords, 4)


def field_offset(struct: Struct, name: str, scheme: str) -> int:
    cursor = 0
    for member in struct.fields:
        cursor = place(member.type, cursor, scheme)
        if member.name == name:
            return cursor
        cursor += size(member.type, scheme)
    raise KeyError(name)


def offsets(type_: Type, scheme: str) -> tuple[int, ...]:
    """The dword of every lane, in lane order."""
    out: list[int] = []
    _collect(type_, 0, scheme, out)
    return tuple(out)


def _collect(type_: Type, start: int, scheme: str, out: list[int]) -> None:
    if isinstance(type_, Numeric):
        unit = 2 if type_.kind == "d" else 1
        if type_.shape == "matrix":
            stride, _, _ = _matrix(type_, scheme)
            row_major = type_.row_major or scheme == "registers"
            for row in range(type_.rows):
                for column in range(type_.columns):
                    major, minor = (row, column) if row_major else (column, row)
                    out += [start + major * stride + minor * unit + i for i in range(unit)]
        else:
            out += range(start, start + type_.count * unit)
    elif isinstance(type_, Array):
        stride = array_stride(type_, scheme)
        for index in range(type_.size):
            _collect(type_.element, start + index * stride, scheme, out)
    elif isinstance(type_, Struct):
        cursor = 0
        for member in type_.fields:
            cursor = place(member.type, cursor, scheme)
            _collect(member.type, start + cursor, scheme, out)
            cursor += size(member.type, scheme)
