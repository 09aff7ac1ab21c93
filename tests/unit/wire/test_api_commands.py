"""Commands: what carries one out accepts what the check accepts, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wddm.wire import api_commands as c
from wddm.wire.message import ProtocolError

NUMBERS = st.sampled_from([0, 1, 7, -1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 1 << 32, -0x8000_0000, -0x8000_0001, 1 << 64])
VALUES = (
    NUMBERS
    | st.sampled_from([True, False, None, 0.5, b"", b"1234", "1"])
    | st.lists(NUMBERS | st.sampled_from([0.25, True, None]), max_size=7)
    | st.lists(st.lists(st.sampled_from([1, 2.0, -1]), min_size=4, max_size=6), max_size=2)
)


def fitting(kind: c.Kind) -> st.SearchStrategy[Any]:
    return VALUES.filter(kind.test)


@given(data=st.data())
def test_carrying_out_tests_what_the_check_tests(data: st.DataObject) -> None:
    command = data.draw(st.sampled_from(sorted(c.COMMANDS.values())))
    values = [data.draw(st.one_of(fitting(kind), fitting(kind), VALUES), name) for name, kind in command.arguments]
    received = [int(command), *values, *data.draw(st.sampled_from([[], [], [], [0]]))]
    if data.draw(st.integers(0, 9)) == 0 and len(received) > 1:
        received.pop()
    given_: list[tuple[Any, ...]] = []
    carry_out = command.carrier(lambda *arguments: given_.append(arguments) or "done")
    try:
        command.check(received)
    except ProtocolError as error:
        with pytest.raises(ProtocolError) as caught:
            carry_out(received)
        assert str(caught.value) == str(error)
        assert not given_
    else:
        assert carry_out(received) == "done"
        assert given_ == [tuple(received[1:])]
