"""Counting the objects of a message before they are made."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wddm.wire.census import Census

_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(width=32)
    | st.text(max_size=400)
    | st.binary(max_size=400)
    | st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=70)),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=40), inner, max_size=20),
    max_leaves=60,
)


def objects(value: Any) -> int:
    if isinstance(value, list):
        return 1 + sum(objects(v) for v in value)
    if isinstance(value, dict):
        return 1 + sum(1 + objects(v) for v in value.values())
    return 1


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(_values, st.lists(st.integers(0, 2000), max_size=5))
def test_the_count_is_that_of_the_value_whatever_the_cuts(value: Any, cuts: list[int]) -> None:
    data = msgpack.packb(value)
    places = sorted({0, len(data), *(c for c in cuts if c < len(data))})
    census = Census()
    for begin, end in pairwise(places):
        assert census.add(data[begin:end], 1 << 20)
    assert (census.count, census.length) == (objects(value), len(data))
    assert census.add(b"\xdf\xff\xff\xff\xff" + bytes(9), 1 << 20)  # the next message is not its business
    assert (census.count, census.length) == (objects(value), len(data))


@pytest.mark.parametrize("value", [b"x" * 300, "x" * 40, [b"y" * 70_000, 1.5], [2**63, -(2**40)], {"a": [1, 2]}])
def test_every_single_byte_may_come_alone(value: Any) -> None:
    data = msgpack.packb(value)
    census = Census()
    for at in range(len(data)):
        census.add(data[at : at + 1], 1 << 20)
    assert (census.count, census.length) == (objects(value), len(data))


def test_the_length_is_told_by_the_header() -> None:
    census = Census()
    assert census.add(b"\x92\xc0\xc6\x10\x00\x00\x00", 10)
    assert census.length == 7 + (1 << 28)


def test_it_stops_at_the_limit() -> None:
    census = Census()
    assert census.add(b"\xdd\x7f\xff\xff\xff" + b"\x90" * 999, 1000)
    assert not census.add(b"\x90" * (1 << 20), 1000)
    assert census.count == 1001
