"""Whether a message that is about to be sent is one that the peer may accept: an end that sends what a program gave it asks first,
since a peer that receives what the protocol does not allow ends the link.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from enum import IntEnum
from operator import index
from typing import Annotated, Any

from .message import DEFAULT_MAX_BYTES, DEFAULT_MAX_LIST, DEFAULT_MAX_STR, BadValue, MaxLen, Range, Struct, fields_of

#: Raises BadValue for a value that the field may not have.
Check = Callable[[Any], None]

_known: dict[type[Struct], list[tuple[str, Check]]] = {}


def problem(message: Struct) -> str | None:
    """What is wrong with a message, beginning with the name of the field; None when it can be sent."""
    try:
        _check_struct(message)
    except BadValue as error:
        return f"{error.place.removeprefix('.')}: {error.why}"
    return None


def _check_struct(message: Struct) -> None:
    for name, check in _checks(type(message)):
        try:
            check(getattr(message, name))
        except BadValue as error:
            error.place = f".{name}{error.place}"
            raise


def _checks(struct: type[Struct]) -> list[tuple[str, Check]]:
    found = _known.get(struct)
    if found is None:
        checks = [(field.name, _check_of(hint)) for field, hint in fields_of(struct)]
        found = _known[struct] = [(name, check) for name, check in checks if check is not None]
    return found


def _check_of(annotation: Any) -> Check | None:
    limit: int | None = None
    bounds = Range(-(1 << 63), (1 << 64) - 1)
    if typing.get_origin(annotation) is Annotated:
        annotation, *extras = typing.get_args(annotation)
        for extra in extras:
            if isinstance(extra, MaxLen):
                limit = extra.length
            elif isinstance(extra, Range):
                bounds = extra
            elif extra == "commands":  # checked command by command where they are carried out
                return None
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is int or (isinstance(annotation, type) and issubclass(annotation, IntEnum)):
        return _integer(bounds)
    if annotation is bool:
        return _boolean
    if annotation is float:
        return _number
    if annotation is str:
        return _sized((str,), limit or DEFAULT_MAX_STR)
    if annotation is bytes:
        return _sized((bytes, bytearray, memoryview), limit or DEFAULT_MAX_BYTES)
    if origin is list:
        return _list(_check_of(arguments[0]), limit or DEFAULT_MAX_LIST)
    if origin in (typing.Union, types.UnionType):
        return _optional(_check_of(next(a for a in arguments if a is not types.NoneType)))
    return _check_struct if isinstance(annotation, type) and issubclass(annotation, Struct) else None


def _wrong(value: Any, belongs: str) -> BadValue:
    return BadValue(f"{type(value).__name__} where {belongs} belongs")


def _integer(bounds: Range) -> Check:
    low, high = bounds.low, bounds.high

    def check(value: Any) -> None:
        if type(value) is not int:
            if isinstance(value, bool):
                raise _wrong(value, "an integer")
            try:
                value = index(value)
            except TypeError:
                raise _wrong(value, "an integer") from None
        if not low <= value <= high:
            raise BadValue(f"{value} is not in {low}..{high}")

    return check


def _boolean(value: Any) -> None:
    if type(value) is not bool:
        raise _wrong(value, "a boolean")


def _number(value: Any) -> None:
    if isinstance(value, (str, bytes, bool)) or not hasattr(value, "__float__"):
        raise _wrong(value, "a number")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise BadValue(f"{value} is not in {-(1 << 63)}..{(1 << 64) - 1}, which an integer where a number belongs has to be")


def _sized(kinds: tuple[type[Any], ...], limit: int) -> Check:
    def check(value: Any) -> None:
        if not isinstance(value, kinds):
            raise _wrong(value, kinds[0].__name__)
        size = memoryview(value).nbytes if kinds[0] is bytes else len(value)
        if size > limit:
            raise BadValue(f"{size} items or bytes, at most {limit} are allowed")

    return check


def _list(item: Check | None, limit: int) -> Check:
    def check(value: Any) -> None:
        if not isinstance(value, (list, tuple)):
            raise _wrong(value, "list")
        if len(value) > limit:
            raise BadValue(f"{len(value)} items or bytes, at most {limit} are allowed")
        if item is not None:
            for place, inner in enumerate(value):
                try:
                    item(inner)
                except BadValue as error:
                    error.place = f"[{place}]{error.place}"
                    raise

    return check


def _optional(inner: Check | None) -> Check | None:
    if inner is None:
        return None

    def check(value: Any) -> None:
        if value is not None:
            inner(value)

    return check
