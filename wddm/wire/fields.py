"""What a message is made of: types of fields, structures of fields, and what is wrong with a value.

:mod:`wddm.wire.message` tells how a message is declared; :mod:`wddm.wire.codec` turns values into MessagePack and back.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final, dataclass_transform


@dataclasses.dataclass(frozen=True, slots=True)
class Range:
    """Bounds of an integer, both included."""

    low: int
    high: int


@dataclasses.dataclass(frozen=True, slots=True)
class MaxLen:
    """Greatest length of a list, bytes or str."""

    length: int


U8 = Annotated[int, Range(0, 0xFF)]
U16 = Annotated[int, Range(0, 0xFFFF)]
U32 = Annotated[int, Range(0, 0xFFFF_FFFF)]
U64 = Annotated[int, Range(0, 0xFFFF_FFFF_FFFF_FFFF)]
I32 = Annotated[int, Range(-0x8000_0000, 0x7FFF_FFFF)]
I64 = Annotated[int, Range(-0x8000_0000_0000_0000, 0x7FFF_FFFF_FFFF_FFFF)]

DEFAULT_MAX_STR: Final = 1 << 16
DEFAULT_MAX_BYTES: Final = 1 << 26
DEFAULT_MAX_LIST: Final = 1 << 20

#: A list of ``[code, argument, …]`` lists whose meaning the receiver checks command by command.
Commands = Annotated[list[Any], "commands"]

DESCRIPTOR_EXT: Final = 1


class Descriptor:
    """A file descriptor that travels beside its message. The sender keeps its own; the receiver owns what it gets."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"Descriptor({self.number})"


@dataclass_transform(kw_only_default=True, field_specifiers=(dataclasses.field,))
class Struct:
    """Base of messages and of the structures inside them: a keyword-only dataclass."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(kw_only=True)(cls)


#: Turns a decoded MessagePack value into a field value; takes descriptors from the front of the list.
Decoder = Callable[[Any, list[int]], Any]
#: Turns a field value into what MessagePack packs; appends descriptors.
Encoder = Callable[[Any, list[int]], Any]


class BadValue(Exception):
    """What is wrong with a value; ``place`` grows on the way out, from the field to the message."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.place = ""


def shorten(value: Any) -> str:
    """``repr`` of what a peer sent, short enough for a sentence."""
    if isinstance(value, (str, bytes)):
        text = repr(value[:60])
        return text if len(value) <= 60 else f"{text}…"
    return repr(value) if isinstance(value, (int, float, bool, type(None))) else type(value).__name__


def fields_of(struct: type[Struct]) -> Iterator[tuple[dataclasses.Field[Any], Any]]:
    """The fields of a struct with their resolved annotations."""
    hints = typing.get_type_hints(struct, include_extras=True)
    for field in dataclasses.fields(struct):  # type: ignore[arg-type]
        yield field, hints[field.name]
