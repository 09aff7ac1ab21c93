"""What carries bytes and descriptors: unix sockets, any trio stream, and pairs in memory for tests.

A transport tries to send at once, without a task switch; what the system does not take waits in a buffer that a writer task
empties. Only unix sockets (and memory pairs) pass descriptors.
"""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import os
import select
import socket
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import trio

from .address import Address

RECEIVE_SIZE: Final = 1 << 18
_MAX_DESCRIPTORS: Final = 64
_ANCILLARY_SIZE: Final = socket.CMSG_SPACE(4 * _MAX_DESCRIPTORS)


class TransportClosed(Exception):
    """The other end is gone, this end was closed, or descriptors were lost on the way."""


class Transport(ABC):
    """Bytes and descriptors, in order."""

    passes_descriptors = False

    @abstractmethod
    def send_nowait(self, data: bytes, descriptors: Sequence[int] = ()) -> tuple[bytes, Sequence[int]]:
        """Send as much as goes at once; returns what is left. Raises TransportClosed."""

    @abstractmethod
    async def send(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        """Send all. Raises TransportClosed."""

    @abstractmethod
    async def receive(self) -> tuple[bytes, list[int]]:
        """At least one byte, or ``b""`` at the end; descriptors are the caller's to close. Raises TransportClosed."""

    def receive_nowait(self) -> tuple[bytes, list[int]] | None:
        """What has arrived already, or None: nothing, or nothing more when the last call was answered. Raises TransportClosed."""
        return None

    async def wait_hangup(self) -> None:
        """Wait until the other end is gone, even while what it sent has not been received. For ever where nobody can tell."""
        await trio.sleep_forever()

    @abstractmethod
    def close(self) -> None:
        """Close both directions, now."""

    async def aclose(self) -> None:
        """The same, for transports that must wait to be closed."""
        self.close()

    def finish(self) -> None:
        """Send nothing more; what was sent can still be read, where :meth:`drain` is awaited before the end."""
        self.close()

    async def drain(self) -> None:
        """After :meth:`finish`: take and drop what comes until the other end closes, so that it reads what it was sent."""
        await trio.lowlevel.checkpoint()


class SocketTransport(Transport):
    """A connected stream socket; unix ones pass descriptors."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._emptied = False  # what was received last was less than there was room for
        self.passes_descriptors = sock.family == socket.AF_UNIX
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)

    def send_nowait(self, data: bytes, descriptors: Sequence[int] = ()) -> tuple[bytes, Sequence[int]]:
        ancillary = []
        if descriptors:
            if not self.passes_descriptors:
                raise ValueError("this transport cannot pass descriptors")
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        try:
            sent = self._sock.sendmsg([data], ancillary, socket.MSG_NOSIGNAL) if ancillary else self._sock.send(data)
        except BlockingIOError:
            return data, descriptors
        except OSError as error:
            raise TransportClosed(str(error)) from None
        return (b"" if sent == len(data) else data[sent:]), ()

    async def send(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        while data:
            data, descriptors = self.send_nowait(data, descriptors)
            if data:
                try:
                    await trio.lowlevel.wait_writable(self._sock)
                except (trio.ClosedResourceError, OSError) as error:
                    raise TransportClosed(str(error)) from None

    def receive_nowait(self) -> tuple[bytes, list[int]] | None:
        if self._emptied:
            self._emptied = False
            return None
        return self._receive_nowait()

    def _receive_nowait(self) -> tuple[bytes, list[int]] | None:
        """Ask the system."""
        try:
            if not self.passes_descriptors:
                data = self._sock.recv(RECEIVE_SIZE)
                self._emptied = 0 < len(data) < RECEIVE_SIZE
                return data, []
            data, ancillary, flags, _address = self._sock.recvmsg(RECEIVE_SIZE, _ANCILLARY_SIZE, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return None
        except OSError:
            return b"", []
        if not ancillary and not flags & socket.MSG_CTRUNC:
            self._emptied = 0 < len(data) < RECEIVE_SIZE
            return data, []
        descriptors: array.array[int] = array.array("i")
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
        if flags & socket.MSG_CTRUNC:
            # Later messages would get each other's descriptors.
            for number in descriptors:
                os.close(number)
            raise TransportClosed(f"descriptors were lost: more than {_MAX_DESCRIPTORS} at once, or this process has too many")
        return data, list(descriptors)

    async def receive(self) -> tuple[bytes, list[int]]:
        while True:
            received = self._receive_nowait()
            if received is not None:
                return received
            try:
                await trio.lowlevel.wait_readable(self._sock)
            except (trio.ClosedResourceError, OSError):
                return b"", []

    async def wait_hangup(self) -> None:
        # An epoll of its own, because trio's waits for data: it becomes readable by the hang-up alone.
        with select.epoll() as hangup:
            try:
                hangup.register(self._sock, select.EPOLLRDHUP)
            except (OSError, ValueError):
                return  # closed here
            await trio.lowlevel.wait_readable(hangup.fileno())

    def finish(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:  # it is gone
            self.close()

    async def drain(self) -> None:
        # Closed with bytes unread, a TCP socket takes back what it sent last.
        data, descriptors = b"-", list[int]()
        while data:
            for number in descriptors:
                os.close(number)
            try:
                data, descriptors = await self.receive()
            except TransportClosed:
                return
            await trio.lowlevel.checkpoint()

    def close(self) -> None:
        if self._sock.fileno() >= 0:
            trio.lowlevel.notify_closing(self._sock)
            self._sock.close()


class StreamTransport(Transport):
    """Any ``trio.abc.Stream``; without descriptors."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._closed = False
        self._receiving: trio.CancelScope | None = None

    def send_nowait(self, data: bytes, descriptors: Sequence[int] = ()) -> tuple[bytes, Sequence[int]]:
        if descriptors:
            raise ValueError("this transport cannot pass descriptors")
        if self._closed:
            raise TransportClosed("closed")
        return data, ()

    async def send(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        if descriptors:
            raise ValueError("this transport cannot pass descriptors")
        try:
            await self._stream.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise TransportClosed(str(error)) from None

    async def receive(self) -> tuple[bytes, list[int]]:
        data = b""
        with trio.CancelScope() as self._receiving:
            if not self._closed:
                try:
                    data = bytes(await self._stream.receive_some(RECEIVE_SIZE))
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    data = b""
        self._receiving = None
        return data, []

    def close(self) -> None:
        # A stream can only be closed by awaiting: the receiver stops, and its owner awaits aclose.
        self._closed = True
        if self._receiving is not None:
            self._receiving.cancel()

    async def aclose(self) -> None:
        self.close()
        await trio.aclose_forcefully(self._stream)


class MemoryTransport(Transport):
    """One end of a pair in memory that passes descriptors (duplicated, as a socket would)."""

    passes_descriptors = True

    def __init__(self) -> None:
        self._peer: MemoryTransport | None = None
        self._queue: deque[tuple[bytes, list[int]]] = deque()
        self._ready = trio.Event()
        self._ended = False
        self._hangup = trio.Event()

    def send_nowait(self, data: bytes, descriptors: Sequence[int] = ()) -> tuple[bytes, Sequence[int]]:
        peer = self._peer
        if peer is None or peer._ended:
            raise TransportClosed("closed")
        peer._queue.append((bytes(data), [os.dup(d) for d in descriptors]))
        peer._ready.set()
        return b"", ()

    async def send(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        self.send_nowait(data, descriptors)
        await trio.lowlevel.checkpoint()

    def receive_nowait(self) -> tuple[bytes, list[int]] | None:
        if self._queue:
            return self._queue.popleft()
        if self._ended:
            return b"", []
        self._ready = trio.Event()
        return None

    async def receive(self) -> tuple[bytes, list[int]]:
        while (received := self.receive_nowait()) is None:
            await self._ready.wait()
        return received

    async def wait_hangup(self) -> None:
        await self._hangup.wait()

    def close(self) -> None:
        peer, self._peer = self._peer, None
        while self._queue:
            for number in self._queue.popleft()[1]:
                os.close(number)
        for end in (self, peer):
            if end is not None:
                end._peer = None
                end._ended = True
                end._ready.set()
                end._hangup.set()


def memory_transport_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Two connected ends in one process: for tests and for a stack in one process."""
    a, b = MemoryTransport(), MemoryTransport()
    a._peer, b._peer = b, a
    return a, b


async def connect(address: Address) -> SocketTransport:
    """Connect to a listening process. Raises OSError with the address in its text."""
    if address.fd is not None:
        raise OSError(errno.EINVAL, f"cannot connect to {address}: it is a socket to listen on")
    try:
        if address.path is not None:
            return await _connect(socket.AF_UNIX, address.path)
        found = await trio.socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        for family, _, _, _, target in found[:-1]:
            with contextlib.suppress(OSError):
                return await _connect(family, target)
        return await _connect(found[-1][0], found[-1][4])
    except OSError as error:
        why = error.strerror
        if error.errno is not None and not isinstance(error, socket.gaierror):
            why = os.strerror(error.errno)  # trio's text repeats the address
        raise type(error)(error.errno, f"cannot connect to {address}: {why or error}") from None


async def _connect(family: int, target: object) -> SocketTransport:
    sock = trio.socket.socket(family, socket.SOCK_STREAM)
    with sock:
        await sock.connect(target)
        return SocketTransport(socket.socket(family, socket.SOCK_STREAM, fileno=os.dup(sock.fileno())))


class Listener:
    """A listening socket; ``address`` tells the real port where 0 was asked for."""

    def __init__(self, sock: socket.socket, address: Address) -> None:
        self._sock = sock
        self.address = address

    @classmethod
    def open(cls, address: Address, *, backlog: int = 128) -> Listener:
        """Bind and listen. A unix path left behind by a dead process is replaced; one that is served is refused (OSError).

        Of several that want the same path at the same time, one gets it.
        """
        if address.fd is not None:
            return cls._inherited(address.fd)
        try:
            if address.path is None:
                found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
                sock = socket.socket(found[0][0], socket.SOCK_STREAM)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                _listen(sock, found[0][4], backlog)
            else:
                path = Path(address.path)
                with _alone_in(path.parent):
                    _remove_stale(path)
                    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                    _listen(sock, address.path, backlog)
        except OSError as error:
            raise type(error)(error.errno, f"cannot listen on {address}: {error.strerror or error}") from None
        sock.setblocking(False)
        if address.path is None:
            address = Address(host=address.host, port=sock.getsockname()[1])
        return cls(sock, address)

    @classmethod
    def _inherited(cls, fd: int) -> Listener:
        """A socket that the parent process bound: connections to it wait in its backlog while we start."""
        try:
            sock = socket.socket(fileno=fd)
        except OSError as error:
            raise type(error)(error.errno, f"cannot listen on fd:{fd}: {error.strerror}") from None
        if not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            sock.detach()
            raise OSError(errno.EINVAL, f"cannot listen on fd:{fd}: it is no listening socket")
        name = sock.getsockname()
        sock.setblocking(False)
        if sock.family == socket.AF_UNIX:
            return cls(sock, Address(path=name))
        return cls(sock, Address(host=name[0], port=name[1]))

    def detach_for(self) -> int:
        """Keep the socket open across ``exec`` for a child process; returns its number, for ``fd:N``."""
        self._sock.set_inheritable(True)
        return self._sock.fileno()

    async def accept(self) -> SocketTransport:
        """The next connection."""
        while True:
            try:
                sock, _ = self._sock.accept()
                return SocketTransport(sock)
            except BlockingIOError:
                await trio.lowlevel.wait_readable(self._sock)
            except ConnectionAbortedError:
                continue  # it went away while it waited

    def release(self) -> None:
        """Give up this process's hold on the socket, which a child serves now; the unix path stays."""
        self._sock.close()

    def close(self) -> None:
        """Stop listening and remove the unix path."""
        if self._sock.fileno() >= 0:
            trio.lowlevel.notify_closing(self._sock)
            self._sock.close()
            if self.address.path is not None:
                Path(self.address.path).unlink(missing_ok=True)


def _listen(sock: socket.socket, target: Any, backlog: int) -> None:
    """Bind and listen, or close."""
    try:
        sock.bind(target)
        sock.listen(backlog)
    except OSError:
        sock.close()
        raise


@contextlib.contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Nobody else looks for stale sockets in the directory, nor binds one there: what is found stale is still so when it goes."""
    held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _remove_stale(path: Path) -> None:
    """Remove a socket that a dead process left behind. Raises OSError when a living one has it."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)  # a full backlog would keep us waiting
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except BlockingIOError:
            pass
    raise OSError(errno.EADDRINUSE, "another process serves it")
