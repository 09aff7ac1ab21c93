"""The way past the general codec: whatever it takes, the general way takes with the same result, and nothing else."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wddm.wire import api, bus, thunk
from wddm.wire.codec import struct_decoder, struct_encoder
from wddm.wire.fields import I64, U8, BadValue, Commands, Descriptor, MaxLen, Struct, fields_of
from wddm.wire.message import Protocol


class Level(IntEnum):
    LOW = 1


class Inside(Struct):
    x: U8


class Plain(Struct):
    """Every kind of field that can stand for itself. Without ``tail`` a map goes the general way."""

    number: U8
    signed: I64
    real: float
    flag: bool
    text: Annotated[str, MaxLen(4)]
    data: Annotated[bytes, MaxLen(4)]
    numbers: Annotated[list[U8], MaxLen(3)]
    words: Annotated[list[str], MaxLen(3)]
    commands: Commands
    maybe: U8 | None
    inside: Inside | None
    level: Level | None
    descriptor: Descriptor | None
    tail: U8 = 0


GOOD: dict[str, Any] = {
    "number": 1,
    "signed": -5,
    "real": 0.5,
    "flag": True,
    "text": "abc",
    "data": b"1234",
    "numbers": [1, 2],
    "words": [],
    "commands": [[1, 2.5], [2]],
    "maybe": None,
    "inside": None,
    "level": None,
    "descriptor": None,
}

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-300, 300),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(allow_nan=False),
    st.text(max_size=6),
    st.binary(max_size=6),
    st.lists(st.one_of(st.integers(-1, 256), st.booleans(), st.text(max_size=2)), max_size=4),
    st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 256), max_size=2),
)


def outcome(fields: dict[str, Any]) -> Any:
    try:
        return struct_decoder(Plain)(fields, [])
    except BadValue as error:
        return f"{error.place}: {error.why}"


@given(st.sampled_from(sorted(GOOD)), ANYTHING)
def test_both_ways_in_agree(name: str, value: Any) -> None:
    fields = GOOD | {name: value}
    general, shortcut = outcome(dict(fields)), outcome(fields | {"tail": 0})
    assert repr(shortcut) == repr(general)  # 1, 1.0 and True are equal, and not the same


def test_a_message_that_stands_for_itself_is_taken_as_it_is() -> None:
    fields = GOOD | {"tail": 3}
    message = struct_decoder(Plain)(fields, [])
    assert message.__dict__ is fields
    assert struct_encoder(Plain)(message, []) is fields


def test_an_unknown_field_in_the_place_of_another_is_named() -> None:
    fields = GOOD | {"tale": 3}
    with pytest.raises(BadValue, match="unknown field 'tale'"):
        struct_decoder(Plain)(fields, [])


@pytest.mark.parametrize(
    ("change", "packed"),
    [
        ({"data": memoryview(b"12")}, b"12"),
        ({"numbers": (1, 2)}, [1, 2]),
        ({"inside": Inside(x=3)}, {"x": 3}),
        ({"level": Level.LOW}, 1),
    ],
)
def test_what_has_to_be_converted_is_converted(change: dict[str, Any], packed: Any) -> None:
    ((name, _),) = change.items()
    message = Plain(**(GOOD | change))
    fields = msgpack.unpackb(msgpack.packb(struct_encoder(Plain)(message, [])))
    assert fields == GOOD | {"tail": 0, name: packed}


def test_a_further_attribute_does_not_travel() -> None:
    message = Plain(**GOOD)
    message.note = "mine"  # type: ignore[attr-defined]
    assert struct_encoder(Plain)(message, []) == GOOD | {"tail": 0}


@pytest.mark.parametrize("protocol", [api.API, thunk.THUNK, bus.BUS], ids=lambda p: p.name)
def test_every_declared_message_compiles(protocol: Protocol) -> None:
    for declaration in protocol.by_method.values():
        names = {field.name for field, _ in fields_of(declaration.struct)}
        with pytest.raises(BadValue, match="where a map of fields belongs"):
            declaration.decode(None, [])
        if names:
            with pytest.raises(BadValue):
                declaration.decode({"no such field": 1}, [])
        if declaration.reply is not None:
            assert callable(declaration.encode_reply)
            assert callable(declaration.decode_reply)
        assert callable(declaration.encode)
