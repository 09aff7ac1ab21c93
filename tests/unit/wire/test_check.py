"""What may be sent, as the sender asks it, agrees with what the receiver accepts."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wddm.wire.check import problem
from wddm.wire.connection import Connection
from wddm.wire.message import I32, U8, MaxLen, Protocol, ProtocolError, Struct

P = Protocol("test.check", 1)


class Colour(IntEnum):
    RED = 1


class Inner(Struct):
    level: U8
    name: Annotated[str, MaxLen(4)] = ""


@P.notification()
class Everything(Struct):
    number: I32 = 0
    real: float = 0.0
    flag: bool = False
    data: Annotated[bytes, MaxLen(4)] = b""
    numbers: Annotated[list[U8], MaxLen(3)] = ()  # type: ignore[assignment]
    inner: Inner | None = None
    inners: list[Inner] = ()  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"number": 1 << 31}, "number: 2147483648 is not in -2147483648..2147483647"),
        ({"number": 1.0}, "number: float where an integer belongs"),
        ({"number": True}, "number: bool where an integer belongs"),
        ({"real": "1"}, "real: str where a number belongs"),
        ({"flag": 1}, "flag: int where a boolean belongs"),
        ({"data": b"12345"}, "data: 5 items or bytes, at most 4 are allowed"),
        ({"data": "text"}, "data: str where bytes belongs"),
        ({"numbers": [1, 2, 256]}, "numbers[2]: 256 is not in 0..255"),
        ({"numbers": [1] * 4}, "numbers: 4 items or bytes, at most 3 are allowed"),
        ({"numbers": 7}, "numbers: int where list belongs"),
        ({"inner": Inner(level=-1)}, "inner.level: -1 is not in 0..255"),
        ({"inners": [Inner(level=1), Inner(level=1, name="long one")]}, "inners[1].name: 8 items or bytes, at most 4 are allowed"),
    ],
)
def test_the_field_is_named(fields: dict[str, Any], words: str) -> None:
    assert problem(Everything(**fields)) == words


def test_numbers_of_numpy_and_enumerations_are_numbers() -> None:
    assert problem(Everything(number=np.int64(5), real=np.float32(1), numbers=[Colour.RED], data=memoryview(b"1234"))) is None  # type: ignore[arg-type]


values = st.integers(-300, 300) | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none() | st.text(max_size=6)
fields = st.fixed_dictionaries(
    {},
    optional={
        "number": values,
        "real": values,
        "flag": values,
        "data": st.binary(max_size=6),
        "numbers": st.lists(values, max_size=4),
        "inner": st.none() | st.builds(Inner, level=values, name=st.text(max_size=6)),
    },
)


@settings(deadline=None, max_examples=300)
@given(fields)
def test_what_may_be_sent_is_what_is_accepted(found: dict[str, Any]) -> None:
    message = Everything(**found)
    said = problem(message)
    inner = found.get("inner")
    plain = found | ({"inner": {"level": inner.level, "name": inner.name}} if inner is not None else {})
    try:
        data = msgpack.packb([2, "everything", [plain]])
    except OverflowError:  # no MessagePack integer at all
        assert said is not None
        return
    try:
        accepted = len(list(Connection(P, server=True).receive(data))) == 1
    except ProtocolError:
        accepted = False
    assert accepted is (said is None), said
