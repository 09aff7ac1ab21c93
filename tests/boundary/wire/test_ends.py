"""Ends of links: nothing leaks, nobody waits for ever, streams are never cut in the middle of a message."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
import trio
import trio.testing

from wddm.wire.channel import FAIR_TURN, HANGUP_GRACE, HIGH_WATER, MAX_BACKLOG, REFUSAL_GRACE, CallError, Channel, ChannelClosed
from wddm.wire.connection import MAX_OUTSTANDING, MessageTooLong, RemoteError
from wddm.wire.message import U32, Descriptor, Protocol, ProtocolError, Struct
from wddm.wire.transport import SocketTransport, StreamTransport, Transport, memory_transport_pair

P = Protocol("test.ends", 1)


class Page(Struct):
    memory: Descriptor


@P.request(reply=Page)
class GetPage(Struct):
    pass


class Number(Struct):
    value: U32
    data: bytes = b""


@P.request(reply=Number)
class Ask(Struct):
    value: U32 = 0


@P.notification()
class Hand(Struct):
    memory: Descriptor
    data: bytes = b""


@P.notification()
class Tell(Struct):
    value: U32 = 0
    data: bytes = b""


def socket_pair() -> tuple[Transport, Transport]:
    a, b = socket.socketpair()
    return SocketTransport(a), SocketTransport(b)


def stream_pair() -> tuple[Transport, Transport]:
    a, b = trio.testing.memory_stream_pair()
    return StreamTransport(a), StreamTransport(b)


def ends(pair: tuple[Transport, Transport]) -> tuple[Channel, Channel]:
    return Channel(pair[0], P, server=False), Channel(pair[1], P, server=True)


def open_descriptors() -> int:
    """How many this process holds, without those of earlier tests that only wait for the collector."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def pipe() -> Iterator[int]:
    read, write = os.pipe()
    yield read
    os.close(read)
    os.close(write)


PASSING = [socket_pair, memory_transport_pair]
ALL = [socket_pair, stream_pair, memory_transport_pair]

# ----- descriptors ------------------------------------------------------------------------------------------------------------


async def _answer_after_cancellation(client: Channel, server: Channel, number: int) -> None:
    gate = trio.Event()

    async def page(message: GetPage) -> Page:
        await gate.wait()
        return Page(memory=Descriptor(number))

    server.on(GetPage, page)
    with trio.move_on_after(1) as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.request, GetPage(), Page)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    gate.set()
    await trio.testing.wait_all_tasks_blocked()


async def _answer_with_cancellation(client: Channel, server: Channel, number: int) -> None:
    """The answer is there in the same turn in which its caller is cancelled."""
    server.on(GetPage, lambda m: Page(memory=Descriptor(number)))
    with trio.CancelScope() as scope:
        handle = client._handle

        def cancelling(event: object) -> object:
            scope.cancel()
            return handle(event)  # type: ignore[arg-type]

        client._handle = cancelling  # type: ignore[assignment]
        await client.request(GetPage(), Page)
    assert scope.cancelled_caught


async def _not_served(client: Channel, server: Channel, number: int) -> None:
    client.notify(Hand(memory=Descriptor(number)))
    await trio.testing.wait_all_tasks_blocked()
    assert server.protocol_error is not None


async def _behind_a_refused_one(client: Channel, server: Channel, number: int) -> None:
    server.on(Tell, lambda m: server.close())
    client.notify_all([Tell(), *[Hand(memory=Descriptor(number)) for _ in range(5)], Tell()])
    await trio.testing.wait_all_tasks_blocked()


async def _never_received(client: Channel, server: Channel, number: int) -> None:
    async def hold(message: Tell) -> None:
        await trio.sleep_forever()

    server.on(Tell, hold)
    client.notify(Tell())
    await trio.testing.wait_all_tasks_blocked()
    for _ in range(20):
        client.notify(Hand(memory=Descriptor(number)))
    server.close()
    await trio.testing.wait_all_tasks_blocked()


async def _waiting_to_be_sent(client: Channel, server: Channel, number: int) -> None:
    async def hold(message: Tell) -> None:
        await trio.sleep_forever()

    server.on(Tell, hold)
    for _ in range(40):
        client.notify(Tell(data=bytes(1 << 18)))
        client.notify(Hand(memory=Descriptor(number), data=bytes(1 << 18)))
    await trio.testing.wait_all_tasks_blocked()
    client.close()


@pytest.mark.parametrize("make", PASSING)
@pytest.mark.parametrize(
    "ending",
    [
        _answer_after_cancellation,
        _answer_with_cancellation,
        _not_served,
        _behind_a_refused_one,
        _never_received,
        _waiting_to_be_sent,
    ],
)
async def test_no_descriptor_is_left_open(make: Callable[[], tuple[Transport, Transport]], ending, pipe: int) -> None:
    before = open_descriptors()
    client, server = ends(make())
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        await nursery.start(server.run)
        await ending(client, server, pipe)
        client.close()
        server.close()
    assert open_descriptors() == before


async def test_a_process_without_descriptors_left_ends_the_link_in_words(pipe: int) -> None:
    a, b = socket_pair()
    await a.send(b"x", [pipe] * 64)
    with pytest.raises(ValueError, match="cannot pass"):
        await stream_pair()[0].send(b"x", [pipe])
    data, numbers = await b.receive()
    assert (data, len(numbers)) == (b"x", 64)
    for number in numbers:
        os.close(number)
    before = open_descriptors()
    client, server = ends((a, b))
    async with trio.open_nursery() as nursery:
        await a.send(b"x", [pipe] * 65)
        await server.run()
        nursery.cancel_scope.cancel()
    with pytest.raises(ChannelClosed, match="descriptors were lost: more than 64 at once"):
        server.notify_all([])
        server._send((b"x", []))
    client.close()
    assert open_descriptors() == before - 2


async def test_a_link_without_descriptors_says_so() -> None:
    client, _ = ends(stream_pair())
    with pytest.raises(TypeError, match="cannot pass descriptors"):
        client.notify(Hand(memory=Descriptor(0)))


# ----- sending ----------------------------------------------------------------------------------------------------------------


async def test_descriptors_arrive_with_their_message_whatever_is_waiting(pipe: int) -> None:
    """Messages of all sizes, with and without descriptors, through a socket that is full most of the time."""
    client, server = ends(socket_pair())
    seen: list[int] = []
    done = trio.Event()

    def hand(message: Hand) -> None:
        assert os.fstat(message.memory.number).st_ino == os.fstat(pipe).st_ino
        os.close(message.memory.number)
        seen.append(len(message.data))

    def tell(message: Tell) -> None:
        seen.append(len(message.data))
        if message.value:
            done.set()

    server.on_all({Hand: hand, Tell: tell})
    sizes = [(7919 * i) % 90_000 for i in range(400)]
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        for i, size in enumerate(sizes):
            if i % 3 == 0:
                client.notify(Hand(memory=Descriptor(pipe), data=bytes(size)))
            elif i % 3 == 1:
                client.notify_all([Tell(data=bytes(size))])
            else:
                client.notify_all([Tell(), Hand(memory=Descriptor(pipe)), Tell(data=bytes(size)), Tell(value=int(i == 398))])
        await nursery.start(server.run)
        await done.wait()
        client.close()
    expected: list[int] = []
    for i, size in enumerate(sizes):
        expected += [size] if i % 3 < 2 else [0, 0, size, 0]
    assert seen == expected[: len(seen)]
    assert len(seen) >= len(expected) - 2


@pytest.mark.parametrize("make", ALL)
async def test_a_cancelled_request_leaves_the_stream_whole(make: Callable[[], tuple[Transport, Transport]]) -> None:
    """Its caller goes away while most of the message still waits to be sent."""
    client, server = ends(make())
    server.on(Tell, lambda m: None)
    server.on(Ask, lambda m: Number(value=m.value))
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        client.notify(Tell(data=bytes(3 << 20)))
        with trio.CancelScope() as scope:
            scope.cancel()
            await client.request(Ask(value=1), Number)
        assert scope.cancelled_caught
        await nursery.start(server.run)
        assert (await client.request(Ask(value=2), Number)).value == 2
        await trio.testing.wait_all_tasks_blocked()
        client.close()
        server.close()


async def test_all_who_wait_for_room_go_on() -> None:
    client, server = ends(socket_pair())
    server.on(Tell, lambda m: None)
    passed: list[int] = []

    async def patient(number: int) -> None:
        await client.drained()
        passed.append(number)

    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        client.notify(Tell(data=bytes(4 * HIGH_WATER)))
        assert client.congested
        for number in range(3):
            nursery.start_soon(patient, number)
        await trio.testing.wait_all_tasks_blocked()
        assert not passed
        await nursery.start(server.run)
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(passed) == [0, 1, 2]
        client.close()


async def test_all_who_wait_for_room_go_on_when_the_link_ends() -> None:
    client, server = ends(socket_pair())
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        client.notify(Tell(data=bytes(4 * HIGH_WATER)))
        nursery.start_soon(client.drained)
        nursery.start_soon(client.drained)
        await trio.testing.wait_all_tasks_blocked()
        client.close()
    server.close()


async def test_a_peer_that_never_reads_is_given_up() -> None:
    client, server = ends(socket_pair())
    piece = bytes(1 << 26)
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        with pytest.raises(ChannelClosed, match="the peer does not read"):
            for _ in range(MAX_BACKLOG // len(piece) + 2):
                client.notify(Tell(data=piece))
    assert client.closed
    server.close()


async def test_a_server_reads_no_further_while_its_client_does_not_take_the_answers() -> None:
    a, b = socket_pair()
    server = Channel(b, P, server=True)
    answered = 0

    def ask(message: Ask) -> Number:
        nonlocal answered
        answered += 1
        return Number(value=0, data=bytes(1 << 16))

    server.on(Ask, ask)
    client = Channel(a, P, server=False)
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        for _ in range(2000):
            await a.send(client._connection.send_request(Ask())[1][0])
        await trio.testing.wait_all_tasks_blocked()
        assert HIGH_WATER // (1 << 16) < answered < 600
        await nursery.start(client.run)  # now they are taken
        await trio.testing.wait_all_tasks_blocked()
        assert answered == 2000
        client.close()
        server.close()


# ----- answers ----------------------------------------------------------------------------------------------------------------


async def test_too_many_requests_at_once_break_the_protocol() -> None:
    a, b = memory_transport_pair()
    server = Channel(b, P, server=True)

    async def never(message: Ask) -> Number:
        await trio.sleep_forever()

    server.on(Ask, never)
    client = Channel(a, P, server=False)
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        for _ in range(MAX_OUTSTANDING + 1):
            client._connection._outstanding.clear()
            a.send_nowait(client._connection.send_request(Ask())[1][0])
        await trio.testing.wait_all_tasks_blocked()
        assert "more than 4096 requests wait" in str(server.protocol_error)
    client.close()


async def test_an_answer_that_is_too_long_is_an_error_answer() -> None:
    client, server = ends(memory_transport_pair())
    server.on(Ask, lambda m: Number(value=0, data=bytes(1 << 27)))
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        await nursery.start(server.run)
        with pytest.raises(RemoteError, match=r"MESSAGE_TOO_LONG: a message of \d+ bytes"):
            await client.request(Ask(), Number)
        with pytest.raises(MessageTooLong):
            client.notify(Tell(data=bytes(1 << 27)))
        client.close()


@pytest.mark.parametrize("late", [False, True])
async def test_a_handler_that_finds_the_protocol_broken_ends_the_link(late: bool) -> None:
    async def later() -> Number:
        await trio.lowlevel.checkpoint()
        raise ProtocolError("the first message is hello")

    def now(message: Ask) -> object:
        if late:
            return later()
        raise ProtocolError("the first message is hello")

    client, server = ends(socket_pair())
    server.on(Ask, now)
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        await nursery.start(server.run)
        with pytest.raises(ChannelClosed, match="the first message is hello"):
            await client.request(Ask(), Number)
    assert server.protocol_error is not None


def tcp_pair() -> tuple[Transport, Transport]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        a = socket.create_connection(listener.getsockname())
        return SocketTransport(a), SocketTransport(listener.accept()[0])


@pytest.mark.parametrize("make", [socket_pair, tcp_pair], ids=["unix", "tcp"])
@pytest.mark.parametrize("piece", [100, 1 << 22], ids=["messages", "an upload"])
async def test_why_it_was_refused_is_told_to_a_peer_that_is_still_sending(make, piece: int) -> None:
    """It finds that nobody takes its bytes before it reads why; what it sent is still under way when the link is cut."""
    a, b = make()
    client, server = Channel(a, P, server=False), Channel(b, P, server=True)

    def now(message: Tell) -> None:
        raise ProtocolError("enough of this")

    server.on(Tell, now)
    async with trio.open_nursery() as nursery:
        with pytest.raises(ChannelClosed, match="the peer ended the link: enough of this"):
            nursery.start_soon(server.run)
            with trio.fail_after(60):
                while True:  # nothing is read: the client's own task has not begun
                    client.notify(Tell(data=bytes(piece)))
                    if client.congested:
                        await nursery.start(client.run)
                        await client.drained()
                    await trio.lowlevel.checkpoint()
    assert "enough of this" in str(client.protocol_error)
    client.close()


async def test_a_peer_that_never_leaves_after_its_refusal_is_cut_off(autojump_clock: trio.testing.MockClock) -> None:
    a, b = socket_pair()
    server = Channel(b, P, server=True)
    with a._sock as raw:  # type: ignore[attr-defined]
        raw.send(b"\xc1 no MessagePack")
        begin = trio.current_time()
        await server.run()
        assert server.protocol_error is not None
        assert trio.current_time() - begin == pytest.approx(REFUSAL_GRACE)
        assert raw.recv(1000)
        assert raw.recv(1000) == b""


async def test_a_request_that_is_refused_later_is_refused() -> None:
    async def later() -> Number:
        await trio.lowlevel.checkpoint()
        raise CallError(5, "FIVE", "not now")

    client, server = ends(memory_transport_pair())
    server.on(Ask, lambda m: later())
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        await nursery.start(server.run)
        with pytest.raises(RemoteError, match="FIVE: not now"):
            await client.request(Ask(), Number)
        client.close()


# ----- ends while something is awaited ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("message", [Tell(), Ask()])
async def test_closing_ends_a_channel_whose_handler_waits(make: Callable[[], tuple[Transport, Transport]], message) -> None:
    client, server = ends(make())
    cancelled = False

    async def hold() -> None:
        nonlocal cancelled
        try:
            await trio.sleep_forever()
        finally:
            cancelled = True

    server.on(type(message), lambda m: hold())
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)

        async def run() -> None:
            await server.run()
            client.close()

        nursery.start_soon(run)
        if isinstance(message, Tell):
            client.notify(message)
        else:

            async def ask() -> None:
                with pytest.raises(ChannelClosed):
                    await client.request(message, Number)

            nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        server.close()
    assert cancelled


@pytest.mark.parametrize("make", PASSING)
async def test_a_peer_that_dies_while_it_is_held_back_is_noticed(make, autojump_clock: trio.testing.MockClock) -> None:
    """Also when it had sent so much that its end cannot be read yet."""
    client, server = ends(make())
    begun = 0

    async def hold(message: Tell) -> None:
        nonlocal begun
        begun += 1
        await trio.sleep_forever()

    server.on(Tell, hold)
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        nursery.start_soon(server.run)
        for _ in range(10):
            client.notify(Tell(data=bytes(1 << 16)))
        await trio.testing.wait_all_tasks_blocked()
        left = trio.current_time()
        client.close()
    assert begun == 1
    assert trio.current_time() - left == pytest.approx(HANGUP_GRACE)


async def test_what_a_peer_left_behind_is_handled_when_that_is_quick(autojump_clock: trio.testing.MockClock) -> None:
    client, server = ends(memory_transport_pair())
    seen: list[int] = []

    async def slow(message: Tell) -> None:
        await trio.sleep(HANGUP_GRACE / 3.5)
        seen.append(message.value)

    server.on(Tell, slow)
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        nursery.start_soon(server.run)
        for value in range(10):
            client.notify(Tell(value=value))
        await trio.testing.wait_all_tasks_blocked()
        client.close()
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("make", PASSING)
async def test_everything_that_came_is_handled_before_the_end(make: Callable[[], tuple[Transport, Transport]]) -> None:
    client, server = ends(make())
    seen: list[int] = []
    batches: list[int] = []
    server.on(Tell, lambda m: seen.append(m.value))
    for value in range(1000):
        client.notify(Tell(value=value))
    client.close()
    await server.run(after_batch=lambda: batches.append(len(seen)))
    assert seen == list(range(1000))
    assert batches[-1] == 1000


async def test_a_batch_ends_before_a_notification_holds_it_back() -> None:
    """What earlier messages asked for must be under way: the held one may wait for it."""
    client, server = ends(memory_transport_pair())
    progress = trio.Event()

    async def hold(message: Tell) -> None:
        await progress.wait()
        server.close()

    server.on(Tell, hold)
    client.notify(Tell())
    with trio.fail_after(5):
        await server.run(after_batch=progress.set)
    client.close()


async def test_a_busy_link_lets_others_run() -> None:
    """Thousands of small messages in one piece do not keep the process."""
    client, server = ends(memory_transport_pair())
    seen = 0
    turns: list[int] = []

    def count(message: Tell) -> None:
        nonlocal seen
        seen += 1

    async def other() -> None:
        while seen < 5000:
            turns.append(seen)
            await trio.lowlevel.checkpoint()
        client.close()

    server.on(Tell, count)
    client.notify_all([Tell()] * 5000)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        nursery.start_soon(server.run)
    assert max(b - a for a, b in pairwise(turns)) <= 2 * FAIR_TURN  # turns come in any order


async def test_a_channel_that_was_closed_before_it_ran_ends_at_once() -> None:
    client, server = ends(memory_transport_pair())
    server.on(Tell, lambda m: None)
    client.notify(Tell())
    server.close("no room")
    await server.run()
    with pytest.raises(ChannelClosed, match="no room"):
        server._send((b"", []))
    async with client:
        pass
    assert client.closed
