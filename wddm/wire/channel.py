"""A link between two processes, with trio: requests that are awaited, notifications that are not.

Order: what arrives is handled in order of arrival, each message by a plain function. If that function returns an awaitable, then
for a *request* it goes on beside later messages and its result is the answer; for a *notification* it is awaited before the next
message is read, which is how a full queue holds back its sender.

Memory: a server reads no further while its client does not take what was sent to it; what a client sends is its own to bound
(:meth:`Channel.drained`). A client always reads, so that two ends never wait for each other.

Descriptors of a message belong to the handler, or to whoever asked. Those of a message that nobody takes are closed here.
"""

from __future__ import annotations

import contextlib
import errno
import inspect
import logging
import math
import os
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Self, TypeVar

import trio

from .connection import (
    MAX_OUTSTANDING,
    Connection,
    Event,
    MessageTooLong,
    NotificationReceived,
    Outgoing,
    RemoteError,
    RequestReceived,
    ResponseReceived,
    close_descriptors,
)
from .message import Protocol, ProtocolError, Struct
from .transport import Listener, Transport, TransportClosed

_log = logging.getLogger("wddm.wire")
_R = TypeVar("_R")

HIGH_WATER: Final = 1 << 20  #: bytes waiting to be sent above which ``drained`` waits
MAX_BACKLOG: Final = 1 << 28  #: bytes waiting to be sent above which the link is given up: the peer does not read
FAIR_TURN: Final = 256  #: messages after which a busy link lets other tasks run
#: Seconds that a notification may still hold back a peer that has gone; then what it left behind is dropped.
HANGUP_GRACE: Final = 1.0
#: Pieces that are read from a peer that takes nothing more, to find out why.
LAST_WORDS: Final = 64
#: Seconds that a peer which broke the protocol has to read why, before the link is cut.
REFUSAL_GRACE: Final = 1.0
_JOIN: Final = 1 << 18  # bytes of waiting messages sent in one piece
_ACCEPT_AGAIN: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


class ChannelClosed(Exception):
    """The link is gone: the peer left, broke the protocol, or this end was closed. The text tells which."""


class CallError(Exception):
    """Raised by a request handler: the request fails with ``code`` (a status value), its name and a sentence."""

    def __init__(self, code: int, name: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.name = name
        self.message = message


#: Handles one message: returns the reply of a request (None for Nothing), or an awaitable.
Handler = Callable[[Any], Any]


class Channel:
    """One end of a link. Use :meth:`run` (in a task) to receive, :meth:`request` and :meth:`notify` to send."""

    def __init__(self, transport: Transport, protocol: Protocol, *, server: bool, name: str = "") -> None:
        self.transport = transport
        self.protocol = protocol
        self.name = name or protocol.name
        self.protocol_error: ProtocolError | None = None
        self._server = server
        self._connection = Connection(protocol, server=server)
        self._handlers: dict[type[Struct], Handler] = {}
        self._waiting: dict[int, _Answer] = {}
        self._answering = 0  # requests of the peer whose answer is awaited
        self._backlog: deque[Outgoing] = deque()
        self._backlog_bytes = 0  # with what the writer has in hand
        self._writing = False  # the writer has a message in hand, which nothing may overtake
        self._writer_wakeup = trio.Event()
        self._drained = trio.Event()
        self._closed_reason: str | None = None
        self._nursery: trio.Nursery | None = None
        self._holding = False  # a notification is awaited
        self._watching = False  # somebody looks out for the end of the peer
        self._left = False  # the peer has been gone for HANGUP_GRACE
        self._refused = False  # the peer was told why the link ends

    @property
    def passes_descriptors(self) -> bool:
        """Whether :class:`~wddm.wire.message.Descriptor` fields can be sent."""
        return self.transport.passes_descriptors

    @property
    def closed(self) -> bool:
        """Whether the link is gone."""
        return self._closed_reason is not None

    def on(self, struct: type[Struct], handler: Handler) -> None:
        """Handle messages of this class with ``handler(message)``."""
        self._handlers[struct] = handler

    def on_all(self, handlers: dict[type[Any], Handler]) -> None:
        """Handle several classes of messages."""
        self._handlers.update(handlers)

    # ----- sending ---------------------------------------------------------------------------------------------------------

    def notify(self, message: Struct) -> None:
        """Send a notification now, or as soon as the peer takes it. Raises ChannelClosed. Does not wait: see :meth:`drained`."""
        self._send(self._connection.send_notification(message))

    def notify_all(self, messages: Sequence[Struct]) -> None:
        """Send several notifications in one piece; otherwise as :meth:`notify`."""
        pieces: list[bytes] = []
        for data, descriptors in map(self._connection.send_notification, messages):
            pieces.append(data)
            if descriptors:  # they go with the first byte that is sent together with them
                self._send((b"".join(pieces), descriptors))
                pieces.clear()
        if pieces:
            self._send((b"".join(pieces), []))

    async def request(self, message: Struct, reply: type[_R]) -> _R:
        """Ask and wait for the answer. Raises RemoteError (the peer refused) or ChannelClosed.

        Cancelled, the answer is dropped when it comes; the peer is not told.
        """
        request_id, outgoing = self._connection.send_request(message)
        answer = self._waiting[request_id] = _Answer()
        try:
            self._send(outgoing)
            await answer.event.wait()
        except trio.Cancelled:
            if answer.event.is_set():  # the answer came together with the cancellation
                close_descriptors(answer.descriptors)
            raise
        finally:
            self._waiting.pop(request_id, None)
        if answer.error is not None:
            raise answer.error
        assert isinstance(answer.reply, reply)
        return answer.reply

    async def drained(self) -> None:
        """Wait while too much waits to be sent. Callers that notify in a loop call it, so that a slow peer slows them."""
        while self.congested and not self.closed:
            if self._drained.is_set():
                self._drained = trio.Event()
            await self._drained.wait()

    @property
    def congested(self) -> bool:
        """Whether :meth:`drained` would wait."""
        return self._backlog_bytes > HIGH_WATER

    def _send(self, outgoing: Outgoing) -> None:
        if self._closed_reason is not None:
            raise ChannelClosed(self._closed_reason)
        data, descriptors = outgoing
        left: Sequence[int] = descriptors
        if descriptors and not self.passes_descriptors:
            raise TypeError(f"{self.name}: this link cannot pass descriptors")
        if not self._backlog and not self._writing:
            try:
                data, left = self.transport.send_nowait(data, descriptors)
            except TransportClosed:
                raise self._give_up(self._last_words()) from None
            if not data:
                return
        copies: list[int] = []
        try:
            for number in left:
                copies.append(os.dup(number))
        except OSError as error:
            close_descriptors(copies)
            raise self._give_up(f"cannot pass descriptors: {error.strerror}") from None
        self._backlog.append((data, copies))
        self._backlog_bytes += len(data)
        self._writer_wakeup.set()
        if self._backlog_bytes > MAX_BACKLOG:
            raise self._give_up(f"the peer does not read: {self._backlog_bytes} bytes wait to be sent")

    def _give_up(self, reason: str) -> ChannelClosed:
        self._close(reason)
        return ChannelClosed(f"{self.name}: {reason}")

    async def _write(self) -> None:
        while True:
            while self._backlog:
                data, descriptors = self._next_piece()
                self._writing = True
                try:
                    await self.transport.send(data, descriptors)
                finally:
                    close_descriptors(descriptors)
                self._writing = False
                self._backlog_bytes -= len(data)
                if not self.congested:
                    self._drained.set()
            self._writer_wakeup = trio.Event()
            await self._writer_wakeup.wait()

    def _next_piece(self) -> Outgoing:
        """The first waiting message, with those behind it that have no descriptors."""
        data, descriptors = self._backlog.popleft()
        if not self._backlog or len(data) >= _JOIN:
            return data, descriptors
        pieces, size = [data], len(data)
        while self._backlog and not self._backlog[0][1] and size < _JOIN:
            pieces.append(self._backlog.popleft()[0])
            size += len(pieces[-1])
        return b"".join(pieces), descriptors

    # ----- receiving -------------------------------------------------------------------------------------------------------

    async def run(
        self,
        *,
        after_batch: Callable[[], None] | None = None,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Receive until the link ends. ``after_batch`` is called when everything that had arrived has been handled, and before a
        notification holds back its sender.

        Returns when the peer leaves or the channel is closed; handlers that are awaited then are cancelled. When the peer breaks
        the protocol, it is told so, ``protocol_error`` is set and the link closed.
        """
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._run_writer)
                task_status.started()
                try:
                    if not self.closed:
                        await self._receive(after_batch)
                finally:
                    nursery.cancel_scope.cancel()
        finally:
            self._nursery = None
            self._close("the peer is gone")
            if self._refused:
                with trio.move_on_after(REFUSAL_GRACE, shield=True):
                    await self.transport.drain()
            with trio.CancelScope(shield=True):
                await self.transport.aclose()

    async def _run_writer(self) -> None:
        try:
            await self._write()
        except TransportClosed:
            self._close(self._last_words())

    def _last_words(self) -> str:
        """Why the peer takes nothing more: it may have told before it went. Answers among what it left are taken as well."""
        try:
            for _ in range(LAST_WORDS):
                received = self.transport.receive_nowait()
                if received is None or not received[0]:
                    break
                for event in self._connection.receive(*received):
                    if type(event) is ResponseReceived:
                        self._handle(event)
                    else:
                        close_descriptors(event.descriptors)
        except ProtocolError as error:
            self.protocol_error = error
            return f"protocol error: {error}"
        except TransportClosed as error:
            return str(error)
        return "the peer is gone"

    async def _receive(self, after_batch: Callable[[], None] | None) -> None:
        handled = 0
        try:
            while True:
                received = self.transport.receive_nowait()
                if received is None:
                    if after_batch is not None:
                        after_batch()
                    if self._server and self.congested:
                        await self.drained()
                    handled = 0
                    received = await self.transport.receive()
                data, descriptors = received
                if not data:
                    if handled and after_batch is not None:
                        after_batch()
                    return
                for event in self._connection.receive(data, descriptors):
                    held = self._handle(event)
                    if held is not None:
                        await self._hold(held, after_batch)
                    if self._closed_reason is not None:
                        return
                    handled += 1
                    if handled >= FAIR_TURN:
                        await self._give_way(after_batch)
                        handled = 0
        except ProtocolError as error:
            self._refuse(error)
        except TransportClosed as error:
            self._close(str(error))

    async def _give_way(self, after_batch: Callable[[], None] | None) -> None:
        """In the middle of a long batch: let other tasks run."""
        if after_batch is not None:
            after_batch()
        if self._server and self.congested:
            await self.drained()
        else:
            await trio.lowlevel.checkpoint()

    async def _hold(self, held: Awaitable[Any], after_batch: Callable[[], None] | None) -> None:
        """Await a notification: until it is done, or the peer has been gone for a while, nothing more is read."""
        if after_batch is not None:
            after_batch()
        if self._left or self.closed:
            if inspect.iscoroutine(held):
                held.close()
            self._close("the peer is gone")
            return
        if not self._watching:
            self._watching = True
            assert self._nursery is not None
            self._nursery.start_soon(self._watch_hangup)
        self._holding = True
        try:
            await held
        finally:
            self._holding = False

    async def _watch_hangup(self) -> None:
        await self.transport.wait_hangup()
        await trio.sleep(HANGUP_GRACE)
        self._left = True
        if self._holding:
            self._close("the peer is gone")

    def _refuse(self, error: ProtocolError) -> None:
        """Tell the peer what was wrong, then end the link."""
        self.protocol_error = error
        _log.warning("%s: protocol error: %s", self.name, error)
        if not self._backlog and not self._writing and not self.closed:
            with contextlib.suppress(TransportClosed):  # it left without waiting to be told
                self.transport.send_nowait(self._connection.send_refusal(str(error)))
                self._refused = True
        self._close(f"protocol error: {error}")

    def _handle(self, event: Event) -> Awaitable[Any] | None:
        """Handle one message; what has to be awaited before the next one, or None."""
        if type(event) is NotificationReceived:
            handler = self._handlers.get(type(event.message)) or self._handler(event)
            result = handler(event.message)
            return None if result is None or not inspect.isawaitable(result) else result
        if type(event) is RequestReceived:
            self._answer(event)
        elif type(event) is ResponseReceived:
            answer = self._waiting.get(event.id)
            if answer is None:  # whoever asked has given up
                close_descriptors(event.descriptors)
            else:
                answer.reply, answer.error, answer.descriptors = event.reply, event.error, event.descriptors
                answer.event.set()
        return None

    def _handler(self, event: NotificationReceived | RequestReceived) -> Handler:
        handler = self._handlers.get(type(event.message))
        if handler is None:
            close_descriptors(event.descriptors)
            raise ProtocolError(f"{type(event.message).__name__} is not served here")
        return handler

    def _answer(self, request: RequestReceived) -> None:
        try:
            result = self._handler(request)(request.message)
        except CallError as error:
            self._reply(self._connection.send_error(request, error.code, error.name, error.message))
            return
        if result is not None and not isinstance(result, Struct) and inspect.isawaitable(result):
            if self._answering >= MAX_OUTSTANDING:
                if inspect.iscoroutine(result):
                    result.close()
                raise ProtocolError(f"more than {MAX_OUTSTANDING} requests wait for their answers")
            self._answering += 1
            assert self._nursery is not None
            self._nursery.start_soon(self._answer_later, request, result)
        else:
            self._reply(self._encode_reply(request, result))

    async def _answer_later(self, request: RequestReceived, result: Awaitable[Any]) -> None:
        try:
            reply = await result
        except CallError as error:
            self._reply(self._connection.send_error(request, error.code, error.name, error.message))
        except ProtocolError as error:
            self._refuse(error)
        else:
            self._reply(self._encode_reply(request, reply))
        finally:
            self._answering -= 1

    def _encode_reply(self, request: RequestReceived, reply: Any) -> Outgoing:
        if reply is None:
            declaration = self.protocol.by_struct[type(request.message)]
            assert declaration.reply is not None
            reply = declaration.reply()
        try:
            return self._connection.send_reply(request, reply)
        except MessageTooLong as error:
            return self._connection.send_error(request, 0, "MESSAGE_TOO_LONG", str(error))

    def _reply(self, outgoing: Outgoing) -> None:
        try:
            self._send(outgoing)
        except ChannelClosed:
            _log.debug("%s: the peer left before its answer", self.name)

    # ----- ending ----------------------------------------------------------------------------------------------------------

    def close(self, reason: str = "closed here") -> None:
        """End the link now; requests that wait fail with ChannelClosed."""
        self._close(reason)

    def _close(self, reason: str) -> None:
        if self._closed_reason is not None:
            return
        self._closed_reason = f"{self.name}: {reason}"
        self._connection.close()
        if self._refused and self._nursery is not None:
            self.transport.finish()
        else:
            self.transport.close()
        while self._backlog:
            close_descriptors(self._backlog.popleft()[1])
        self._drained.set()
        self._writer_wakeup.set()
        for answer in self._waiting.values():
            if not answer.event.is_set():
                answer.error = ChannelClosed(self._closed_reason)
                answer.event.set()
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()


class _Answer:
    __slots__ = ("descriptors", "error", "event", "reply")

    def __init__(self) -> None:
        self.event = trio.Event()
        self.reply: Any = None
        self.error: RemoteError | ChannelClosed | None = None
        self.descriptors: Sequence[int] = ()


async def serve(
    listeners: Sequence[Listener],
    session: Callable[[Transport], Awaitable[None]],
    *,
    max_sessions: float = math.inf,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Accept connections for ever and run ``session(transport)`` for each, in a task of its own.

    A session that raises ChannelClosed ends alone, with a line in the log; any other exception is a fault of ours and ends the
    server. Where the system has no room for a connection, it waits outside.
    """
    limiter = trio.CapacityLimiter(max_sessions)

    async def run(transport: Transport) -> None:
        try:
            async with limiter:
                await session(transport)
        except* ChannelClosed as group:
            error: BaseException = group
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            _log.warning("connection ended: %s", error)
        finally:
            transport.close()

    async def accept(listener: Listener, nursery: trio.Nursery) -> None:
        while True:
            try:
                transport = await listener.accept()
            except OSError as error:
                if error.errno not in _ACCEPT_AGAIN:
                    raise
                _log.error("no connection can be accepted on %s now: %s", listener.address, error.strerror)
                await trio.sleep(0.1)
            else:
                nursery.start_soon(run, transport)

    async with trio.open_nursery() as nursery:
        for listener in listeners:
            nursery.start_soon(accept, listener, nursery)
        task_status.started()
        await trio.sleep_forever()
