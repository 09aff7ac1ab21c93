"""Channels over sockets, streams and memory: order, answers, descriptors, back-pressure, ends."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from wddm.wire.address import Address
from wddm.wire.channel import HIGH_WATER, CallError, Channel, ChannelClosed, serve
from wddm.wire.connection import RemoteError
from wddm.wire.memory import SharedMemory
from wddm.wire.message import U32, Descriptor, Protocol, Struct
from wddm.wire.transport import (
    Listener,
    SocketTransport,
    StreamTransport,
    Transport,
    connect,
    memory_transport_pair,
)

P = Protocol("test.channel", 1)


class Number(Struct):
    value: U32


class Page(Struct):
    memory: Descriptor


@P.request(reply=Number)
class Add(Struct):
    a: U32
    b: U32


@P.request(reply=Page)
class GetPage(Struct):
    """A page by descriptor."""


@P.request()
class Wait(Struct):
    """Answered when the event is set."""


@P.notification()
class Tell(Struct):
    value: U32
    data: bytes = b""


@P.notification(from_server=True)
class Event(Struct):
    value: U32


def socket_pair() -> tuple[Transport, Transport]:
    a, b = socket.socketpair()
    return SocketTransport(a), SocketTransport(b)


def stream_pair() -> tuple[Transport, Transport]:
    a, b = trio.testing.memory_stream_pair()
    return StreamTransport(a), StreamTransport(b)


PAIRS = [socket_pair, stream_pair, memory_transport_pair]


@asynccontextmanager
async def linked(pair: tuple[Transport, Transport]) -> AsyncIterator[tuple[Channel, Channel]]:
    client, server = Channel(pair[0], P, server=False), Channel(pair[1], P, server=True)
    async with trio.open_nursery() as nursery:
        yield_to = (client, server)
        await nursery.start(client.run)
        await nursery.start(server.run)
        yield yield_to
        client.close()
        server.close()


@pytest.mark.parametrize("make", PAIRS)
async def test_requests_are_answered(make) -> None:
    async with linked(make()) as (client, server):
        server.on(Add, lambda m: Number(value=m.a + m.b))
        assert await client.request(Add(a=2, b=3), Number) == Number(value=5)


@pytest.mark.parametrize("make", PAIRS)
async def test_messages_are_handled_in_order_of_sending(make) -> None:
    seen: list[int] = []
    async with linked(make()) as (client, server):
        server.on(Tell, lambda m: seen.append(m.value))
        server.on(Add, lambda m: Number(value=len(seen)))
        for value in range(100):
            client.notify(Tell(value=value))
        assert await client.request(Add(a=0, b=0), Number) == Number(value=100)
    assert seen == list(range(100))


@pytest.mark.parametrize("make", PAIRS)
async def test_a_request_that_waits_does_not_hold_up_later_ones(make) -> None:
    event = trio.Event()
    async with linked(make()) as (client, server):
        server.on(Wait, lambda m: event.wait())
        server.on(Add, lambda m: Number(value=1))
        done = trio.Event()

        async def ask() -> None:
            from wddm.wire.message import Nothing

            await client.request(Wait(), Nothing)
            done.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await client.request(Add(a=0, b=0), Number)
            assert not done.is_set()
            event.set()
            await done.wait()


async def test_a_notification_that_waits_holds_back_its_sender() -> None:
    gate = trio.Event()
    seen: list[int] = []

    async def slow(message: Tell) -> None:
        await gate.wait()
        seen.append(message.value)

    async with linked(socket_pair()) as (client, server):
        server.on(Tell, slow)
        server.on(Add, lambda m: Number(value=len(seen)))
        for value in range(64):
            client.notify(Tell(value=value, data=bytes(HIGH_WATER // 8)))
        assert client.congested
        with trio.move_on_after(0.01) as scope:
            await client.drained()
        assert scope.cancelled_caught
        gate.set()
        await client.drained()
        assert (await client.request(Add(a=0, b=0), Number)).value == 64
    assert seen == list(range(64))


@pytest.mark.parametrize("make", PAIRS)
async def test_a_refused_call_raises_its_status_and_the_link_goes_on(make) -> None:
    def refuse(message: Add) -> Number:
        raise CallError(0xC000000D, "STATUS_INVALID_PARAMETER", "a is odd")

    async with linked(make()) as (client, server):
        server.on(Add, refuse)
        for _ in range(2):
            with pytest.raises(RemoteError, match="STATUS_INVALID_PARAMETER: a is odd") as info:
                await client.request(Add(a=1, b=2), Number)
            assert info.value.code == 0xC000000D


@pytest.mark.parametrize("make", [socket_pair, memory_transport_pair])
async def test_descriptors_travel_with_their_message(make) -> None:
    with SharedMemory.create(4096) as memory:
        memory.array[0] = 42
        async with linked(make()) as (client, server):
            server.on(GetPage, lambda m: Page(memory=Descriptor(memory.descriptor)))
            for _ in range(3):
                page = await client.request(GetPage(), Page)
                with SharedMemory.open(page.memory.number, 4096, read_only=True) as got:
                    assert got.array[0] == 42


async def test_events_come_from_the_server() -> None:
    got: list[int] = []
    async with linked(memory_transport_pair()) as (client, server):
        client.on(Event, lambda m: got.append(m.value))
        server.notify(Event(value=3))
        await trio.testing.wait_all_tasks_blocked()
    assert got == [3]


@pytest.mark.parametrize("make", PAIRS)
async def test_waiting_requests_fail_when_the_peer_goes(make) -> None:
    async def never(message: Wait) -> None:
        await trio.sleep_forever()

    async with linked(make()) as (client, server):
        server.on(Wait, never)
        server.on(Tell, lambda m: server.close())
        from wddm.wire.message import Nothing

        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                with pytest.raises(ChannelClosed, match="test.channel"):
                    await client.request(Wait(), Nothing)

            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            client.notify(Tell(value=0))
        with pytest.raises(ChannelClosed):
            client.notify(Tell(value=1))


async def test_a_broken_protocol_is_told_to_the_peer_and_ends_only_that_link() -> None:
    async with linked(socket_pair()) as (client, server):
        server.on(Add, lambda m: Number(value=0))
        client._send((b"\xc1\xc1", []))
        with pytest.raises(ChannelClosed, match="protocol error: the peer ended the link: not MessagePack"):
            await client.request(Add(a=1, b=1), Number)
        assert server.protocol_error is not None


async def test_after_batch_runs_when_all_that_came_is_handled() -> None:
    pair = memory_transport_pair()
    client, server = Channel(pair[0], P, server=False), Channel(pair[1], P, server=True)
    log: list[str] = []
    server.on(Tell, lambda m: log.append(str(m.value)))
    client.notify(Tell(value=1))
    client.notify(Tell(value=2))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: server.run(after_batch=lambda: log.append("batch")))
        await trio.testing.wait_all_tasks_blocked()
        client.close()
        server.close()
    assert log[:3] == ["1", "2", "batch"]


@pytest.mark.parametrize("garbage", [b"\xc1" * 4000, bytes(range(256)) * 16], ids=["no MessagePack", "no message"])
async def test_a_server_outlives_a_client_that_sends_garbage(tmp_path, garbage: bytes) -> None:
    listener = Listener.open(Address(path=str(tmp_path / "s.sock")))

    async def session(transport: Transport) -> None:
        channel = Channel(transport, P, server=True)
        channel.on(Add, lambda m: Number(value=m.a + m.b))
        await channel.run()

    async with trio.open_nursery() as nursery:
        await nursery.start(serve, [listener], session)
        bad = await connect(listener.address)
        await bad.send(garbage)
        while (await bad.receive())[0]:
            pass
        bad.close()
        good = Channel(await connect(listener.address), P, server=False)
        await nursery.start(good.run)
        assert (await good.request(Add(a=1, b=1), Number)).value == 2
        nursery.cancel_scope.cancel()
    listener.close()
    assert not (tmp_path / "s.sock").exists()


async def test_a_stale_socket_file_is_replaced_and_a_served_one_is_not(tmp_path) -> None:
    address = Address(path=str(tmp_path / "s.sock"))
    stale = Listener.open(address)
    stale._sock.close()
    listener = Listener.open(address)
    with pytest.raises(OSError, match="another process serves it"):
        Listener.open(address)
    listener.close()
