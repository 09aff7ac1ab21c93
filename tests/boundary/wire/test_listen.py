"""Connecting and listening: what goes wrong is told in words, and a server outlives what its clients do."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
from pathlib import Path

import pytest
import trio
import trio.testing

from wddm.wire.address import Address
from wddm.wire.channel import ChannelClosed, serve
from wddm.wire.transport import Listener, SocketTransport, Transport, connect


def unix(path: Path) -> Address:
    return Address(path=str(path))


async def echo(transport: Transport) -> None:
    data, _ = await transport.receive()
    await transport.send(data)


async def ask(address: Address) -> bytes:
    transport = await connect(address)
    await transport.send(b"x")
    data, _ = await transport.receive()
    transport.close()
    return data


# ----- connecting -------------------------------------------------------------------------------------------------------------


async def test_nobody_there_is_told_with_the_address(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cannot connect to unix:.*x\.sock: No such file"):
        await connect(unix(tmp_path / "x.sock"))
    stale = Listener.open(unix(tmp_path / "y.sock"))
    stale.release()
    with pytest.raises(ConnectionRefusedError, match=r"cannot connect to unix:.*y\.sock: Connection refused"):
        await connect(unix(tmp_path / "y.sock"))
    with pytest.raises(OSError, match=r"cannot connect to fd:9: it is a socket to listen on"):
        await connect(Address(fd=9))
    free = Listener.open(Address(host="127.0.0.1"))
    free.close()
    with pytest.raises(ConnectionRefusedError, match=rf"cannot connect to {free.address}: Connection refused"):
        await connect(free.address)


async def test_every_address_of_a_host_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    listener = Listener.open(Address(host="127.0.0.1"))
    gone = Listener.open(Address(host="127.0.0.1"))
    gone.close()

    async def two(host: str, port: int, **how: object) -> list[object]:
        return [(socket.AF_INET, 1, 6, "", ("127.0.0.1", p)) for p in (gone.address.port, port)]

    monkeypatch.setattr(trio.socket, "getaddrinfo", two)
    transport = await connect(Address(host="both", port=listener.address.port))
    transport.close()
    listener.close()


async def test_a_host_that_does_not_exist_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(host: str, port: int, **how: object) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(trio.socket, "getaddrinfo", unknown)
    with pytest.raises(OSError, match="cannot connect to tcp:nowhere:1: Name or service not known"):
        await connect(Address(host="nowhere", port=1))


# ----- listening --------------------------------------------------------------------------------------------------------------


async def test_where_nobody_can_listen_is_told_with_the_address(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cannot listen on unix:.*/no/x\.sock: No such file"):
        Listener.open(unix(tmp_path / "no" / "x.sock"))
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot listen on unix:.*/file: Address already in use"):
        Listener.open(unix(tmp_path / "file"))
    with pytest.raises(OSError, match="AF_UNIX path too long"):
        Listener.open(unix(tmp_path / ("x" * 200)))
    taken = Listener.open(Address(host="127.0.0.1"))
    with pytest.raises(OSError, match=rf"cannot listen on {taken.address}: Address already in use"):
        Listener.open(taken.address)
    taken.close()


async def test_a_server_too_busy_to_accept_is_not_taken_for_dead(tmp_path: Path) -> None:
    address = unix(tmp_path / "x.sock")
    listener = Listener.open(address, backlog=0)
    waiting = [await connect(address)]
    with pytest.raises(OSError, match=r"cannot listen on unix:.*x\.sock: another process serves it"):
        Listener.open(address)
    waiting[0].close()
    listener.close()
    assert not (tmp_path / "x.sock").exists()


async def test_of_several_that_find_a_stale_socket_one_gets_its_place(tmp_path: Path) -> None:
    address = unix(tmp_path / "x.sock")
    for _ in range(40):
        dead = Listener.open(address)
        dead.release()
        together, got = threading.Barrier(6), []

        def start(together: threading.Barrier = together, got: list[Listener] = got) -> None:
            together.wait()
            with contextlib.suppress(OSError):
                got.append(Listener.open(address))

        threads = [threading.Thread(target=start) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            await trio.to_thread.run_sync(thread.join)
        (winner,) = got
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(tmp_path / "x.sock"))
        winner._sock.accept()[0].close()  # it is the winner's
        winner.close()


async def test_an_inherited_socket_serves(tmp_path: Path) -> None:
    parent = Listener.open(unix(tmp_path / "x.sock"))
    child = Listener.open(Address(fd=os.dup(parent.detach_for())))
    assert child.address == parent.address
    parent.release()
    assert (tmp_path / "x.sock").exists()
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, [child], echo)
        assert await ask(child.address) == b"x"
        nursery.cancel_scope.cancel()
    child.close()
    assert not (tmp_path / "x.sock").exists()


def test_what_is_no_listening_socket_cannot_be_inherited() -> None:
    with pytest.raises(OSError, match="cannot listen on fd:999: Bad file descriptor"):
        Listener.open(Address(fd=999))
    read, write = os.pipe()
    with pytest.raises(OSError, match=f"cannot listen on fd:{read}: Socket operation on non-socket"):
        Listener.open(Address(fd=read))
    os.close(read)
    os.close(write)
    with socket.socket() as plain:
        with pytest.raises(OSError, match=f"cannot listen on fd:{plain.fileno()}: it is no listening socket"):
            Listener.open(Address(fd=plain.fileno()))


# ----- serving ----------------------------------------------------------------------------------------------------------------


async def test_a_process_without_room_accepts_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, autojump_clock: trio.testing.MockClock
) -> None:
    listener = Listener.open(Address(host="127.0.0.1"))
    accept, left = listener.accept, 3

    async def full() -> SocketTransport:
        nonlocal left
        left -= 1
        if left >= 0:
            raise OSError(errno.EMFILE, "Too many open files")
        return await accept()

    monkeypatch.setattr(listener, "accept", full)
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, [listener], echo)
        assert await ask(listener.address) == b"x"
        nursery.cancel_scope.cancel()
    listener.close()
    assert caplog.text.count("no connection can be accepted") == 3


@pytest.mark.parametrize("grouped", [False, True])
async def test_a_session_that_loses_its_link_ends_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture, grouped: bool) -> None:
    listener = Listener.open(unix(tmp_path / "x.sock"))
    first = True

    async def session(transport: Transport) -> None:
        nonlocal first
        if not first:
            return await echo(transport)
        first = False
        if grouped:
            raise ExceptionGroup("", [ExceptionGroup("", [ChannelClosed("the kernel left")])])
        raise ChannelClosed("the kernel left")

    async with trio.open_nursery() as nursery:
        await nursery.start(serve, [listener], session)
        assert await ask(listener.address) == b""
        assert await ask(listener.address) == b"x"
        nursery.cancel_scope.cancel()
    listener.close()
    assert "connection ended: the kernel left" in caplog.text


async def test_a_fault_of_a_session_ends_the_server(tmp_path: Path) -> None:
    listener = Listener.open(unix(tmp_path / "x.sock"))

    async def broken(transport: Transport) -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as info:
        async with trio.open_nursery() as nursery:
            await nursery.start(serve, [listener], broken)
            await ask(listener.address)
    assert info.group_contains(ZeroDivisionError)
    listener.close()


async def test_no_more_sessions_than_allowed_run_at_once(tmp_path: Path) -> None:
    listener = Listener.open(unix(tmp_path / "x.sock"))
    running = most = 0

    async def session(transport: Transport) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.testing.wait_all_tasks_blocked()
        await echo(transport)
        running -= 1

    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: serve([listener], session, max_sessions=2, task_status=task_status))
        async with trio.open_nursery() as clients:
            for _ in range(6):
                clients.start_soon(ask, listener.address)
        nursery.cancel_scope.cancel()
    assert most == 2
    listener.close()
