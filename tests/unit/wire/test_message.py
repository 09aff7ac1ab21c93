"""Messages: what a declaration accepts, and how it names what it refuses."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wddm.wire import bus, thunk
from wddm.wire.connection import Connection, NotificationReceived, RequestReceived, ResponseReceived
from wddm.wire.message import U8, Descriptor, MaxLen, Protocol, ProtocolError, Struct


class Colour(IntEnum):
    RED = 1
    BLUE = 2


class Inner(Struct):
    x: U8
    name: str = "n"


TEST = Protocol("test", 1)


@TEST.notification()
class Everything(Struct):
    small: U8
    real: float
    flag: bool
    text: Annotated[str, MaxLen(4)]
    data: Annotated[bytes, MaxLen(4)]
    items: Annotated[list[U8], MaxLen(3)]
    inner: Inner
    colour: Colour
    maybe: U8 | None = None
    descriptor: Descriptor | None = None


class Answer(Struct):
    value: U8


@TEST.request(reply=Answer)
class AskSomething(Struct):
    value: U8 = 7


GOOD = {
    "small": 1,
    "real": 2,
    "flag": True,
    "text": "abc",
    "data": b"1234",
    "items": [1, 2],
    "inner": {"x": 3},
    "colour": 2,
}


def receive(value: object) -> list[object]:
    return list(Connection(TEST, server=True).receive(msgpack.packb(value)))


def test_every_kind_of_field_arrives() -> None:
    (event,) = receive([2, "everything", [GOOD]])
    assert isinstance(event, NotificationReceived)
    message = event.message
    assert message.real == 2.0
    assert isinstance(message.real, float)
    assert message.inner == Inner(x=3)
    assert message.colour is Colour.BLUE
    assert message.maybe is None


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"small": 256}, "everything.small: 256 is not in 0..255"),
        ({"small": True}, "everything.small: bool where an integer"),
        ({"small": "1"}, "everything.small: str"),
        ({"real": "x"}, "everything.real"),
        ({"flag": 1}, "everything.flag: int where a boolean"),
        ({"text": "abcde"}, "everything.text: 5 items or bytes, at most 4"),
        ({"data": "abc"}, "everything.data: str where bytes"),
        ({"items": [1, 2, 3, 4]}, "everything.items: 4 items"),
        ({"items": [1, 300]}, r"everything.items\[1\]: 300"),
        ({"inner": {"x": 1, "y": 2}}, "everything.inner: unknown field 'y'"),
        ({"inner": {}}, "everything.inner: field 'x' is missing"),
        ({"inner": 5}, "everything.inner: int where a map"),
        ({"colour": 9}, "everything.colour: 9 is no Colour"),
        ({"extra": 1}, "everything: unknown field 'extra'"),
        ({"descriptor": msgpack.ExtType(1, b"")}, "everything.descriptor: no descriptor came"),
        ({"descriptor": 5}, "everything.descriptor: int where a descriptor"),
    ],
)
def test_a_bad_field_is_named(change: dict[str, object], where: str) -> None:
    with pytest.raises(ProtocolError, match=where):
        receive([2, "everything", [GOOD | change]])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (5, "a message is an array"),
        ([], "a message is an array"),
        ([2, "nothing_such", []], "has no notification 'nothing_such'"),
        ([0, 1, "everything", []], "has no request 'everything'"),
        ([2, "everything", [{}, {}]], "at most one map"),
        ([2, "everything", {}], "at most one map"),
        ([0, -1, "ask_something", []], "request id -1"),
        ([1, 5, None, {}], "answer to request 5, which was not asked"),
        ([7, 1, 2], "no message kind 7"),
        ([2, b"everything", []], "has no notification"),
    ],
)
def test_a_bad_envelope_is_told(value: object, why: str) -> None:
    with pytest.raises(ProtocolError, match=why):
        receive(value)


def test_request_and_answer_meet_whatever_the_cuts() -> None:
    client, server = Connection(TEST, server=False), Connection(TEST, server=True)
    request_id, (data, _) = client.send_request(AskSomething(value=9))
    events = [event for byte in data for event in server.receive(bytes([byte]))]
    (request,) = events
    assert isinstance(request, RequestReceived)
    assert request.message == AskSomething(value=9)
    reply, _ = server.send_reply(request, Answer(value=10))
    (response,) = client.receive(reply)
    assert response == ResponseReceived(request_id, Answer(value=10), None)


def test_an_error_answer_carries_code_name_and_sentence() -> None:
    client, server = Connection(TEST, server=False), Connection(TEST, server=True)
    _, (data, _) = client.send_request(AskSomething())
    (request,) = server.receive(data)
    assert isinstance(request, RequestReceived)
    (response,) = client.receive(server.send_error(request, 0xC0000008, "STATUS_INVALID_HANDLE", "handle 5")[0])
    assert isinstance(response, ResponseReceived)
    assert response.error is not None
    assert (response.error.code, response.error.name, response.error.message) == (
        0xC0000008,
        "STATUS_INVALID_HANDLE",
        "handle 5",
    )


def test_the_wrong_end_cannot_send() -> None:
    with pytest.raises(TypeError, match="sends"):
        Connection(TEST, server=True).send_request(AskSomething())


def test_after_a_refusal_nothing_more_is_accepted() -> None:
    connection = Connection(TEST, server=True)
    with pytest.raises(ProtocolError):
        list(connection.receive(b"\xc1"))
    with pytest.raises(ProtocolError, match="failed before"):
        list(connection.receive(msgpack.packb([2, "everything", [GOOD]])))


def test_a_huge_array_header_is_refused_before_memory_is_taken() -> None:
    with pytest.raises(ProtocolError, match="not MessagePack"):
        list(Connection(TEST, server=True).receive(b"\xdd\xff\xff\xff\xff"))


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_events_or_a_protocol_error(data: bytes) -> None:
    for protocol in (TEST, thunk.THUNK, bus.BUS):
        for server in (True, False):
            connection = Connection(protocol, server=server)
            try:
                list(connection.receive(data))
            except ProtocolError as error:
                assert str(error)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=8) | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(sorted(thunk.THUNK.by_method)), _json)
def test_any_parameters_are_a_message_or_a_protocol_error(method: str, parameters: object) -> None:
    declaration = thunk.THUNK.by_method[method]
    head = [2, method] if declaration.kind == 2 else [0, 1, method]
    connection = Connection(thunk.THUNK, server=not declaration.from_server)
    try:
        (event,) = connection.receive(msgpack.packb([*head, [parameters]]))
    except ProtocolError as error:
        assert str(error)
    else:
        assert isinstance(event, (RequestReceived, NotificationReceived))
        assert isinstance(event.message, declaration.struct)


def test_every_message_of_the_boundaries_has_a_page_of_its_own() -> None:
    for protocol in (thunk.THUNK, bus.BUS):
        for declaration in protocol.by_method.values():
            assert declaration.struct.__doc__
            assert not declaration.struct.__doc__.startswith(declaration.struct.__name__ + "(")
