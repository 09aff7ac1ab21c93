"""Field values to what MessagePack packs, and back: every check of what a peer sends.

A structure has two ways through. The general one goes field by field, converts, fills in defaults, and names what is wrong. Most
messages need none of that: every field is there and stands for itself. For those a function is written out and compiled, once for
each structure, that looks at all fields in one expression and takes the decoded map as the message's attributes, or the attributes
as the map to be packed; whatever it does not take as it is goes the general way.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from enum import IntEnum
from typing import Annotated, Any

import msgpack

from .fields import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_LIST,
    DEFAULT_MAX_STR,
    DESCRIPTOR_EXT,
    BadValue,
    Decoder,
    Descriptor,
    Encoder,
    MaxLen,
    Range,
    Struct,
    fields_of,
    shorten,
)


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
    bare, bounds, limit, commands = _parts(annotation)
    if commands:
        return _identity, _decode_sized(list, DEFAULT_MAX_LIST)
    inner = _optional_of(bare)
    if inner is not None:
        return _optional_codec(inner)
    if bare is int:
        return _identity, _decode_int(*_bounds(bounds))
    if bare is bool:
        return _identity, _decode_bool
    if bare is float:
        return _identity, _decode_float
    if bare is str:
        return _identity, _decode_sized(str, limit or DEFAULT_MAX_STR)
    if bare is bytes:
        return _encode_bytes, _decode_sized(bytes, limit or DEFAULT_MAX_BYTES)
    if bare is Descriptor:
        return _encode_descriptor, _decode_descriptor
    if typing.get_origin(bare) is list:
        return _list_codec(typing.get_args(bare)[0], limit or DEFAULT_MAX_LIST)
    if isinstance(bare, type) and issubclass(bare, IntEnum):
        return _enum_codec(bare)
    if isinstance(bare, type) and issubclass(bare, Struct):
        return struct_encoder(bare), struct_decoder(bare)
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


def struct_encoder(struct: type[Struct]) -> Encoder:
    """The encoder of a structure: a map of its fields, or the instance's own attributes where they are just that.

    Its annotations must be resolvable by now; so in :func:`struct_decoder`.
    """
    encoders = {field.name: _codec(hint)[0] for field, hint in fields_of(struct)}

    def general(value: Any, descriptors: list[int]) -> Any:
        return {name: encode_field(getattr(value, name), descriptors) for name, encode_field in encoders.items()}

    tests = [_packs_as_it_is(hint, f"fields[{field.name!r}]") for field, hint in fields_of(struct)]
    source = f"""
def encode(value, descriptors):
    fields = value.__dict__
    if {_all([f"len(fields) == {len(encoders)}", *tests])}:
        return fields
    return general(value, descriptors)
"""
    encode: Encoder = _compiled(source, "encode", general=general)
    return encode


def struct_decoder(struct: type[Struct]) -> Decoder:
    """The decoder of a structure. Raises BadValue."""
    decoders: dict[str, Decoder] = {}
    required: set[str] = set()
    for field, hint in fields_of(struct):
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            required.add(field.name)
        decoders[field.name] = _codec(hint)[1]

    def general(value: Any, descriptors: list[int]) -> Any:
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

    tests = [_is_what_it_says(hint, f"v{i}") for i, (_, hint) in enumerate(fields_of(struct))]
    if "False" in tests:
        return general
    takes = "; ".join(f"v{i} = value[{name!r}]" for i, name in enumerate(decoders))
    source = f"""
def decode(value, descriptors):
    if type(value) is dict and len(value) == {len(decoders)}:
        try:
            {takes or "pass"}
        except KeyError:
            return general(value, descriptors)
        if {_all(tests)}:
            message = new(struct)
            message.__dict__ = value
            return message
    return general(value, descriptors)
"""
    decode: Decoder = _compiled(source, "decode", general=general, struct=struct, new=struct.__new__)
    return decode


# ----- values that stand for themselves ----------------------------------------------------------------------------------------


def _compiled(source: str, name: str, **names: Any) -> Any:
    """The function ``name`` of a piece of source that sees these names."""
    names["integers"] = _integers
    exec(source, names)  # made of our own declarations alone
    return names[name]


def _all(tests: list[str]) -> str:
    return " and ".join(test for test in tests if test != "True") or "True"


def _integers(values: list[Any], low: int, high: int) -> bool:
    """Whether all are integers within bounds."""
    for value in values:  # noqa: SIM110 - a generator costs more than the few values that most lists have
        if type(value) is not int or not low <= value <= high:
            return False
    return True


def _parts(annotation: Any) -> tuple[Any, Range | None, int | None, bool]:
    """The bare annotation, bounds, greatest length, and whether it is ``Commands``."""
    bounds: Range | None = None
    limit: int | None = None
    commands = False
    if typing.get_origin(annotation) is Annotated:
        annotation, *extras = typing.get_args(annotation)
        for extra in extras:
            if isinstance(extra, MaxLen):
                limit = extra.length
            elif isinstance(extra, Range):
                bounds = extra
            elif extra == "commands":
                commands = True
    return annotation, bounds, limit, commands


def _optional_of(annotation: Any) -> Any:
    """``T`` of ``T | None``, else None."""
    args = typing.get_args(annotation)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType) and len(args) == 2 and types.NoneType in args:
        return args[0] if args[1] is types.NoneType else args[1]
    return None


def _is_what_it_says(annotation: Any, v: str) -> str:
    """An expression over the decoded value ``v``: true when it is allowed, and is the field's value without a conversion."""
    bare, bounds, limit, commands = _parts(annotation)
    inner = _optional_of(bare)
    if inner is not None:
        return f"({v} is None or {_is_what_it_says(inner, v)})"
    if commands:
        return f"type({v}) is list and len({v}) <= {DEFAULT_MAX_LIST}"
    if bare is int:
        low, high = _bounds(bounds)
        return f"type({v}) is int and {low} <= {v} <= {high}"
    if bare in (bool, float):
        return f"type({v}) is {bare.__name__}"
    if bare in (str, bytes):
        return f"type({v}) is {bare.__name__} and len({v}) <= {limit or (DEFAULT_MAX_STR if bare is str else DEFAULT_MAX_BYTES)}"
    if typing.get_origin(bare) is list:
        item, bounds, _, _ = _parts(typing.get_args(bare)[0])
        if item is int:
            low, high = _bounds(bounds)
            return f"type({v}) is list and len({v}) <= {limit or DEFAULT_MAX_LIST} and integers({v}, {low}, {high})"
        return f"type({v}) is list and not {v}"
    return "False"


def _packs_as_it_is(annotation: Any, v: str) -> str:
    """An expression over the field value ``v``: true when MessagePack takes it as it is."""
    bare, _, _, commands = _parts(annotation)
    if commands or bare in (int, bool, float, str):
        return "True"
    inner = _optional_of(bare)
    if inner is not None:
        inside = _packs_as_it_is(inner, v)
        return "True" if inside == "True" else f"({v} is None or {inside})"
    if bare is bytes:
        return f"type({v}) is bytes"
    if typing.get_origin(bare) is list:
        plain = _packs_as_it_is(typing.get_args(bare)[0], "") == "True"
        return f"type({v}) is list" if plain else f"type({v}) is list and not {v}"
    return "False"


def _bounds(bounds: Range | None) -> tuple[int, int]:
    return (bounds.low, bounds.high) if bounds is not None else (-(1 << 63), (1 << 64) - 1)
