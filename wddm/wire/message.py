"""Messages, declared once.

A message is an annotated class; the codec, the checks, the documentation and the test strategies come from that one declaration::

    BUS = Protocol("wddm.bus", 1)

    @BUS.request(reply=Registers)
    class ReadRegisters(Struct):
        \"\"\"Read 32-bit registers.\"\"\"
        offsets: Annotated[list[U32], MaxLen(1024)]

On the wire a message is MessagePack-RPC: ``[0, id, "read_registers", [{"offsets": […]}]]``; the parameters are one map of the
fields, left out when there are none. Field types: ``U8 U16 U32 U64 I32 I64``, ``float``, ``bool``, ``str``, ``bytes``, ``list[T]``,
``T | None``, Structs, IntEnums, :class:`Descriptor` (a file descriptor passed beside the bytes) and ``Commands`` (a list of lists,
taken as it is). A field with a default may be left out. Everything else is refused with a :class:`ProtocolError` that names the
field.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from enum import IntEnum
from functools import cached_property
from typing import TypeVar

from .codec import struct_decoder, struct_encoder
from .fields import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_LIST,
    DEFAULT_MAX_STR,
    DESCRIPTOR_EXT,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    BadValue,
    Commands,
    Decoder,
    Descriptor,
    Encoder,
    MaxLen,
    Range,
    Struct,
    fields_of,
    shorten,
)

__all__ = [
    "DEFAULT_MAX_BYTES",
    "DEFAULT_MAX_LIST",
    "DEFAULT_MAX_STR",
    "DESCRIPTOR_EXT",
    "I32",
    "I64",
    "U8",
    "U16",
    "U32",
    "U64",
    "BadValue",
    "Commands",
    "Declaration",
    "Decoder",
    "Descriptor",
    "Encoder",
    "MaxLen",
    "MessageKind",
    "Nothing",
    "Protocol",
    "ProtocolError",
    "Range",
    "Struct",
    "fields_of",
    "shorten",
]


class ProtocolError(Exception):
    """The peer sent something the protocol does not allow. The text tells what and where."""


_S = TypeVar("_S", bound=Struct)


class MessageKind(IntEnum):
    """How a message travels."""

    REQUEST = 0
    NOTIFICATION = 2


@dataclasses.dataclass(frozen=True)
class Declaration:
    """One message of a protocol."""

    method: str
    struct: type[Struct]
    kind: MessageKind
    from_server: bool
    reply: type[Struct] | None

    # At the first use, when every annotation can be resolved.

    @cached_property
    def encode(self) -> Encoder:
        """Message to what MessagePack packs."""
        return struct_encoder(self.struct)

    @cached_property
    def decode(self) -> Decoder:
        """And back."""
        return struct_decoder(self.struct)

    @cached_property
    def encode_reply(self) -> Encoder:
        """The same for the answer to a request."""
        assert self.reply is not None
        return struct_encoder(self.reply)

    @cached_property
    def decode_reply(self) -> Decoder:
        """And back."""
        assert self.reply is not None
        return struct_decoder(self.reply)


class Nothing(Struct):
    """A reply without content."""


class Protocol:
    """A set of messages with a name and a version. ``hello`` is part of every protocol."""

    def __init__(self, name: str, version: int) -> None:
        self.name = name
        self.version = version
        self.by_method: dict[str, Declaration] = {}
        self.by_struct: dict[type[Struct], Declaration] = {}

    def request(self, *, reply: type[Struct] = Nothing, from_server: bool = False) -> Callable[[type[_S]], type[_S]]:
        """Class decorator: a message that is answered with ``reply``."""

        def declare(struct: type[_S]) -> type[_S]:
            self._add(struct, MessageKind.REQUEST, from_server, reply)
            return struct

        return declare

    def notification(self, *, from_server: bool = False) -> Callable[[type[_S]], type[_S]]:
        """Class decorator: a message that is not answered."""

        def declare(struct: type[_S]) -> type[_S]:
            self._add(struct, MessageKind.NOTIFICATION, from_server, None)
            return struct

        return declare

    def _add(self, struct: type[Struct], kind: MessageKind, from_server: bool, reply: type[Struct] | None) -> None:
        method = re.sub(r"(?<!^)(?=[A-Z])", "_", struct.__name__).lower()
        if method in self.by_method:
            raise ValueError(f"{self.name} declares {method} twice")
        declaration = Declaration(method, struct, kind, from_server, reply)
        self.by_method[method] = declaration
        self.by_struct[struct] = declaration
