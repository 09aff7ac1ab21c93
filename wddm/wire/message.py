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
import types
import typing
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Annotated, Any, Final, TypeVar, dataclass_transform

import msgpack


class ProtocolError(Exception):
    """The peer sent something the protocol does not allow. The text tells what and where."""


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
    """Base of messages and of the structures inside them: a keyword-only dataclass with slots."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(kw_only=True)(cls)


_S = TypeVar("_S", bound=Struct)
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


def _identity(value: Any, descriptors: list[int]) -> Any:
    return value


def _decode_int(low: int, high: int) -> Decoder:
    def decode(value: Any, descriptors: list[int]) -> int:
        if type(value) is not int:
            raise BadValue(f"{type(value).__name__} where an integer belongs")
        if not low <= value <= high:
            raise BadValue(f"{value} is not in {low}..{high}")
        return value

    return decode


def _decode_sized(kind: type[list[Any]] | type[bytes] | type[str], limit: int) -> Decoder:
    def decode(value: Any, descriptors: list[int]) -> Any:
        if type(value) is not kind:
            raise BadValue(f"{type(value).__name__} where {kind.__name__} belongs")
        if len(value) > limit:
            raise BadValue(f"{len(value)} items or bytes, at most {limit} are allowed")
        return value

    return decode


def _decode_bool(value: Any, descriptors: list[int]) -> bool:
    if type(value) is not bool:
        raise BadValue(f"{type(value).__name__} where a boolean belongs")
    return value


def _decode_float(value: Any, descriptors: list[int]) -> float:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(value)  # MessagePack integers have 64 bits
    raise BadValue(f"{type(value).__name__} where a number belongs")


def _decode_descriptor(value: Any, descriptors: list[int]) -> Descriptor:
    if type(value) is not msgpack.ExtType or value.code != DESCRIPTOR_EXT:
        raise BadValue(f"{type(value).__name__} where a descriptor belongs")
    if not descriptors:
        raise BadValue("no descriptor came with the message")
    return Descriptor(descriptors.pop(0))


def _encode_descriptor(value: Descriptor, descriptors: list[int]) -> Any:
    descriptors.append(value.number)
    return msgpack.ExtType(DESCRIPTOR_EXT, b"")


def _encode_bytes(value: Any, descriptors: list[int]) -> Any:
    return value if isinstance(value, (bytes, memoryview)) else memoryview(value).cast("B")


def _codec(annotation: Any) -> tuple[Encoder, Decoder]:
    """Encoder and decoder of a type annotation."""
    limit: int | None = None
    bounds: Range | None = None
    if typing.get_origin(annotation) is Annotated:
        annotation, *extras = typing.get_args(annotation)
        for extra in extras:
            if isinstance(extra, MaxLen):
                limit = extra.length
            elif isinstance(extra, Range):
                bounds = extra
            elif extra == "commands":
                return _identity, _decode_sized(list, DEFAULT_MAX_LIST)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is int:
        low, high = (bounds.low, bounds.high) if bounds else (-(1 << 63), (1 << 64) - 1)
        return _identity, _decode_int(low, high)
    if annotation is bool:
        return _identity, _decode_bool
    if annotation is float:
        return _identity, _decode_float
    if annotation is str:
        return _identity, _decode_sized(str, limit or DEFAULT_MAX_STR)
    if annotation is bytes:
        return _encode_bytes, _decode_sized(bytes, limit or DEFAULT_MAX_BYTES)
    if annotation is Descriptor:
        return _encode_descriptor, _decode_descriptor
    if origin is list:
        return _list_codec(args[0], limit or DEFAULT_MAX_LIST)
    if origin in (typing.Union, types.UnionType) and len(args) == 2 and types.NoneType in args:
        return _optional_codec(args[0] if args[1] is types.NoneType else args[1])
    if isinstance(annotation, type) and issubclass(annotation, IntEnum):
        return _enum_codec(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return _struct_encoder(annotation), _struct_decoder(annotation)
    raise TypeError(f"no codec for {annotation!r}")


def _list_codec(item: Any, limit: int) -> tuple[Encoder, Decoder]:
    encode_item, decode_item = _codec(item)
    check = _decode_sized(list, limit)

    def encode(value: Any, descriptors: list[int]) -> Any:
        return list(value) if encode_item is _identity else [encode_item(v, descriptors) for v in value]

    def decode(value: Any, descriptors: list[int]) -> Any:
        check(value, descriptors)
        items: list[Any] = []
        add = items.append
        try:
            for v in value:
                add(decode_item(v, descriptors))
        except BadValue as error:
            error.place = f"[{len(items)}]{error.place}"
            raise
        return items

    return encode, decode


def _optional_codec(inner: Any) -> tuple[Encoder, Decoder]:
    encode_inner, decode_inner = _codec(inner)

    def encode(value: Any, descriptors: list[int]) -> Any:
        return None if value is None else encode_inner(value, descriptors)

    def decode(value: Any, descriptors: list[int]) -> Any:
        return None if value is None else decode_inner(value, descriptors)

    return encode, decode


def _enum_codec(enum: type[IntEnum]) -> tuple[Encoder, Decoder]:
    def encode(value: Any, descriptors: list[int]) -> int:
        return int(value)

    members = {int(member): member for member in enum}

    def decode(value: Any, descriptors: list[int]) -> IntEnum:
        member = members.get(value) if type(value) is int else None
        if member is None:
            raise BadValue(f"{shorten(value)} is no {enum.__name__}")
        return member

    return encode, decode


def fields_of(struct: type[Struct]) -> Iterator[tuple[dataclasses.Field[Any], Any]]:
    """The fields of a struct with their resolved annotations."""
    hints = typing.get_type_hints(struct, include_extras=True)
    for field in dataclasses.fields(struct):  # type: ignore[arg-type]
        yield field, hints[field.name]


def _struct_encoder(struct: type[Struct]) -> Encoder:
    encoders: list[tuple[str, Encoder]] = []
    names: list[str] = []
    compiled = False

    def encode(value: Any, descriptors: list[int]) -> Any:
        nonlocal compiled
        if not compiled:  # at the first use, when every annotation can be resolved
            compiled = True
            for field, hint in fields_of(struct):
                names.append(field.name)
                encoder = _codec(hint)[0]
                if encoder is not _identity:
                    encoders.append((field.name, encoder))
        found = {name: getattr(value, name) for name in names}
        for name, encode_field in encoders:
            found[name] = encode_field(found[name], descriptors)
        return found

    return encode


def _struct_decoder(struct: type[Struct]) -> Decoder:
    decoders: dict[str, Decoder] = {}
    required: set[str] = set()
    compiled = False

    def compile() -> None:  # at the first use, when every annotation can be resolved
        for field, hint in fields_of(struct):
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                required.add(field.name)
            decoders[field.name] = _codec(hint)[1]

    def decode(value: Any, descriptors: list[int]) -> Any:
        nonlocal compiled
        if not compiled:
            compiled = True
            compile()
        if type(value) is not dict:
            raise BadValue(f"{type(value).__name__} where a map of fields belongs")
        found = {}
        for name, decode_field in decoders.items():  # in the order of declaration: descriptors come in that order
            if name in value:
                try:
                    found[name] = decode_field(value[name], descriptors)
                except BadValue as error:
                    error.place = f".{name}{error.place}"
                    raise
            elif name in required:
                raise BadValue(f"field {name!r} is missing")
        if len(found) != len(value):
            unknown = next(n for n in value if n not in found)
            raise BadValue(f"unknown field {shorten(unknown)}")
        return struct(**found)

    return decode


class MessageKind(IntEnum):
    """How a message travels."""

    REQUEST = 0
    NOTIFICATION = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Declaration:
    """One message of a protocol."""

    method: str
    struct: type[Struct]
    kind: MessageKind
    from_server: bool
    reply: type[Struct] | None
    encode: Encoder
    decode: Decoder
    encode_reply: Encoder | None
    decode_reply: Decoder | None


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
        declaration = Declaration(
            method,
            struct,
            kind,
            from_server,
            reply,
            _struct_encoder(struct),
            _struct_decoder(struct),
            _struct_encoder(reply) if reply else None,
            _struct_decoder(reply) if reply else None,
        )
        self.by_method[method] = declaration
        self.by_struct[struct] = declaration
