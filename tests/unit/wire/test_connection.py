"""The protocol without I/O: descriptors, sizes, what travels, and sentences that stay short whatever came."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import IntEnum
from typing import Annotated

import msgpack
import numpy as np
import pytest

from wddm.wire.connection import (
    BIG_MESSAGE,
    MAX_DESCRIPTORS,
    MAX_MESSAGE,
    MAX_OBJECTS,
    MAX_OUTSTANDING,
    Connection,
    MessageTooLong,
    NotificationReceived,
    RequestReceived,
    ResponseReceived,
    close_descriptors,
)
from wddm.wire.message import U8, U32, Commands, Descriptor, MaxLen, Nothing, Protocol, ProtocolError, Struct

P = Protocol("test.connection", 1)
MARK = msgpack.ExtType(1, b"")


class Colour(IntEnum):
    RED = 1


@P.notification()
class Hand(Struct):
    first: Descriptor
    number: U8 = 0
    second: Descriptor | None = None


@P.notification()
class Tell(Struct):
    number: int = 0
    real: float = 0.0
    colour: Colour = Colour.RED
    numbers: Annotated[list[U32], MaxLen(8)] = field(default_factory=list)
    data: Annotated[bytes, MaxLen(1 << 27)] = b""
    commands: Commands = field(default_factory=list)


class Page(Struct):
    memory: Descriptor


@P.request(reply=Page)
class GetPage(Struct):
    pass


@P.request()
class Wait(Struct):
    pass


@pytest.fixture
def pipe() -> Iterator[int]:
    read, write = os.pipe()
    yield read
    os.close(read)
    os.close(write)


def is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def receive(value: object, descriptors: Sequence[int] = ()) -> list[object]:
    return list(Connection(P, server=True).receive(msgpack.packb(value), descriptors))


# ----- descriptors ------------------------------------------------------------------------------------------------------------


def test_descriptors_go_to_their_fields_in_order(pipe: int) -> None:
    numbers = [os.dup(pipe) for _ in range(3)]
    one, two = [2, "hand", [{"first": MARK}]], [2, "hand", [{"second": MARK, "first": MARK}]]
    connection = Connection(P, server=True)
    events = list(connection.receive(msgpack.packb(one) + msgpack.packb(two), numbers))
    assert [e.descriptors for e in events] == [numbers[:1], numbers[1:]]
    assert events[1].message.first.number == numbers[1]
    assert events[1].message.second.number == numbers[2]
    assert repr(events[0].message.first) == f"Descriptor({numbers[0]})"
    close_descriptors(numbers)


@pytest.mark.parametrize(
    "fields",
    [
        {"first": MARK, "number": 256, "second": MARK},  # the first is taken already when the second field is refused
        {"first": MARK, "second": MARK, "colour": 1},
        {"first": 1},
        {"second": MARK},
    ],
)
def test_descriptors_of_a_bad_message_are_closed(pipe: int, fields: dict[str, object]) -> None:
    numbers = [os.dup(pipe) for _ in range(3)]
    with pytest.raises(ProtocolError, match="hand"):
        receive([2, "hand", [fields]], numbers)
    assert not any(map(is_open, numbers))


def test_descriptors_without_message_are_closed_at_the_end_and_bounded(pipe: int) -> None:
    connection = Connection(P, server=True)
    numbers = [os.dup(pipe) for _ in range(MAX_DESCRIPTORS + 1)]
    list(connection.receive(b"", numbers[:-1]))
    with pytest.raises(ProtocolError, match=f"{MAX_DESCRIPTORS + 1} descriptors without their messages"):
        list(connection.receive(b"", numbers[-1:]))
    assert not any(map(is_open, numbers))


def test_a_failed_connection_closes_what_still_comes(pipe: int) -> None:
    connection = Connection(P, server=True)
    connection.close()
    number = os.dup(pipe)
    with pytest.raises(ProtocolError, match="failed before"):
        list(connection.receive(b"x", [number]))
    assert not is_open(number)


def test_too_many_descriptors_are_not_sent() -> None:
    other = Protocol("test.many", 1)

    @other.notification()
    class Many(Struct):
        items: list[Descriptor]

    with pytest.raises(MessageTooLong, match="65 descriptors"):
        Connection(other, server=False).send_notification(Many(items=[Descriptor(0)] * 65))


# ----- what travels -----------------------------------------------------------------------------------------------------------


def test_numpy_numbers_travel_as_numbers() -> None:
    message = Tell(number=np.int64(-5), real=np.float32(0.5), numbers=[np.uint32(7)], commands=[[np.uint8(1), [np.bool_(True)]]])
    data, _ = Connection(P, server=False).send_notification(message)
    (event,) = Connection(P, server=True).receive(data)
    assert isinstance(event, NotificationReceived)
    got = event.message
    assert (got.number, got.real, got.numbers, got.commands) == (-5, 0.5, [7], [[1, [True]]])


def test_arrays_travel_as_bytes_where_bytes_belong_and_nowhere_else() -> None:
    array = np.arange(4, dtype=np.uint16)
    data, _ = Connection(P, server=False).send_notification(Tell(data=array))
    (event,) = Connection(P, server=True).receive(data)
    assert event.message.data == array.tobytes()
    for wrong in (array, object(), 1 + 2j):
        with pytest.raises(TypeError, match="cannot be sent"):
            Connection(P, server=False).send_notification(Tell(number=wrong))


def test_a_reply_must_be_the_declared_one() -> None:
    with pytest.raises(TypeError, match="get_page is answered by"):
        Connection(P, server=True).send_reply(RequestReceived(1, GetPage()), Nothing())


# ----- sizes ------------------------------------------------------------------------------------------------------------------


def test_a_message_of_nearly_all_sizes_arrives() -> None:
    connection = Connection(P, server=True)
    sender = Connection(P, server=False)
    for size in (0, 1, BIG_MESSAGE - 30, BIG_MESSAGE + 1, MAX_MESSAGE - 200, 5):
        data, _ = sender.send_notification(Tell(data=bytes(size)))
        events = []
        for at in range(0, len(data), 1 << 18):
            events += connection.receive(data[at : at + (1 << 18)])
        (event,) = events
        assert len(event.message.data) == size


def test_a_longer_one_is_not_sent_and_not_taken() -> None:
    with pytest.raises(MessageTooLong, match="at most 134217728 can be sent"):
        Connection(P, server=False).send_notification(Tell(data=bytes(MAX_MESSAGE)))
    chunk = bytes(1 << 18)
    head, half = b"\x93\x02\xa4tell\x91\x82\xa4data\xc6", b"\x04\x00\x00\x00" + bytes(1 << 26)
    for begin, allowed in (
        (head + b"\x10\x00\x00\x00", BIG_MESSAGE),
        (head + half + b"\xa4text\xdb\x04\x00\x00\x00", 1 << 26),
    ):
        connection, taken = Connection(P, server=True), 0
        with pytest.raises(ProtocolError, match="a message of more than 134217728 bytes"):
            for at in range(0, len(begin), 1 << 18):
                list(connection.receive(begin[at : at + (1 << 18)]))
            while True:
                taken += len(chunk)
                list(connection.receive(chunk))
        assert max(len(begin), taken) <= allowed + 2 * len(chunk)  # refused by its headers, not when it has arrived


def test_a_message_of_very_many_objects_is_refused_before_they_are_made() -> None:
    """A byte can become an object of some seventy bytes."""
    bomb = b"\x93\x02\xa4tell\x91\x81\xa8commands\xdc\x00\x40" + (b"\xdd\x00\x10\x00\x00" + b"\x90" * (1 << 20)) * 64
    connection, taken = Connection(P, server=True), 0
    with pytest.raises(ProtocolError, match=f"more than {MAX_OBJECTS} objects"):
        for at in range(0, len(bomb), 1 << 18):
            list(connection.receive(bomb[at : at + (1 << 18)]))
            taken += 1 << 18
    assert taken <= BIG_MESSAGE + (1 << 18)


def test_small_messages_around_a_big_one_are_not_counted_against_it() -> None:
    sender, connection = Connection(P, server=False), Connection(P, server=True)
    small, _ = sender.send_notification(Tell(numbers=[1, 2, 3]))
    big, _ = sender.send_notification(Tell(data=bytes(BIG_MESSAGE * 2)))
    stream = small * 500 + big + small * 500
    numbers = [e.message.numbers for at in range(0, len(stream), 99_999) for e in connection.receive(stream[at : at + 99_999])]
    assert numbers == [[1, 2, 3]] * 500 + [[]] + [[1, 2, 3]] * 500


def test_big_messages_close_behind_each_other_are_weighed_one_by_one() -> None:
    sender, connection = Connection(P, server=False), Connection(P, server=True)
    stream = b"".join(sender.send_notification(Tell(data=bytes(70 << 20)))[0] for _ in range(3))
    sizes = [len(e.message.data) for at in range(0, len(stream), 1 << 18) for e in connection.receive(stream[at : at + (1 << 18)])]
    assert sizes == [70 << 20] * 3


# ----- sentences --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        [2, "x" * 100_000, []],
        [2, "tell", [{"x" * 100_000: 1}]],
        [2, "tell", [{"colour": "x" * 100_000}]],
        [0, ["x" * 100_000], "wait", []],
        [["x" * 100_000], 1, 2],
        [1, 0, [0, "", "x" * 100_000], None],
        [1, 0, [0, "", ["x" * 100_000]], None],
    ],
)
def test_what_came_is_told_in_a_short_sentence(value: object) -> None:
    with pytest.raises(ProtocolError) as info:
        receive(value)
    assert len(str(info.value)) < 1200


def test_a_bad_item_deep_inside_is_named() -> None:
    with pytest.raises(ProtocolError, match=r"^tell\.numbers\[2\]: str where an integer belongs$"):
        receive([2, "tell", [{"numbers": [1, 2, "x"]}]])
    with pytest.raises(ProtocolError, match=r"^tell\.colour: True is no Colour$"):
        receive([2, "tell", [{"colour": True}]])


def test_an_odd_error_answer_is_an_error_all_the_same() -> None:
    for odd, shown in ((["x"], "list"), ("why", "why"), (7, "7"), ([1, 2, 3], "list")):
        client = Connection(P, server=False)
        request_id, _ = client.send_request(Wait())
        (event,) = client.receive(msgpack.packb([1, request_id, odd, None]))
        assert isinstance(event, ResponseReceived)
        assert event.error is not None
        assert event.error.message == shown


# ----- request ids ------------------------------------------------------------------------------------------------------------


def test_request_ids_wrap_around_those_that_still_wait() -> None:
    client = Connection(P, server=False)
    client._next_id = 0x7FFF_FFFF
    ids = [client.send_request(Wait())[0] for _ in range(3)]
    assert ids == [0x7FFF_FFFF, 1, 2]
    client._next_id = 0x7FFF_FFFF
    assert client.send_request(Wait())[0] == 3


def test_requests_without_answers_are_bounded() -> None:
    client = Connection(P, server=False)
    for _ in range(MAX_OUTSTANDING):
        client.send_request(Wait())
    with pytest.raises(ProtocolError, match="4096 requests wait"):
        client.send_request(Wait())
