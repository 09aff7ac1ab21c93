"""A link between two processes, with trio: requests that are awaited, notifications that are not.

Order: what arrives is handled in order of arrival, each message by a plain function. If that function returns an awaitable, then
for a *request* it goes on beside later messages and its result is the answer; for a *notification* it is awaited before the next
message is read, which is how a full queue holds back its sender.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import math
import os
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Self, TypeVar

import trio

from .connection import (
    Connection,
    Event,
    NotificationReceived,
    Outgoing,
    RemoteError,
    RequestReceived,
    ResponseReceived,
)
from .message import Protocol, ProtocolError, Struct
from .transport import Listener, Transport, TransportClosed

_log = logging.getLogger("wddm.wire")
_R = TypeVar("_R")

HIGH_WATER: Final = 1 << 20  #: bytes waiting to be sent above which ``drained`` waits
FAIR_TURNS: Final = 16  #: reads after which a busy link lets other tasks run


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
        self._connection = Connection(protocol, server=server)
        self._handlers: dict[type[Struct], Handler] = {}
        self._waiting: dict[int, _Answer] = {}
        self._backlog: deque[Outgoing] = deque()
        self._backlog_bytes = 0
        self._writer_wakeup = trio.Event()
        self._drained = trio.Event()
        self._closed_reason: str | None = None
        self._nursery: trio.Nursery | None = None
        self.protocol_error: ProtocolError | None = None

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
        parts = [self._connection.send_notification(message) for message in messages]
        self._send((b"".join(data for data, _ in parts), [number for _, numbers in parts for number in numbers]))

    async def request(self, message: Struct, reply: type[_R]) -> _R:
        """Ask and wait for the answer. Raises RemoteError (the peer refused) or ChannelClosed."""
        request_id, outgoing = self._connection.send_request(message)
        answer = self._waiting[request_id] = _Answer()
        try:
            self._send(outgoing)
            await answer.event.wait()
        finally:
            self._waiting.pop(request_id, None)
        if answer.error is not None:
            raise answer.error
        assert isinstance(answer.reply, reply)
        return answer.reply

    async def drained(self) -> None:
        """Wait while too much waits to be sent. Callers that notify in a loop call it, so that a slow peer slows them."""
        while self._backlog_bytes > HIGH_WATER and not self.closed:
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
        if descriptors and not self.passes_descriptors:
            raise TypeError(f"{self.name}: this link cannot pass descriptors")
        if not self._backlog:
            try:
                data, left = self.transport.send_nowait(data, descriptors)
            except TransportClosed:
                self._close("the peer is gone")
                raise ChannelClosed(f"{self.name}: the peer is gone") from None
            if not data:
                return
            descriptors = list(left)
        self._backlog.append((data, [os.dup(d) for d in descriptors]))
        self._backlog_bytes += len(data)
        self._writer_wakeup.set()

    async def _write(self) -> None:
        while True:
            while self._backlog:
                data, descriptors = self._backlog[0]
                try:
                    await self.transport.send(data, descriptors)
                finally:
                    for number in descriptors:
                        os.close(number)
                self._backlog.popleft()
                self._backlog_bytes -= len(data)
                if self._backlog_bytes <= HIGH_WATER:
                    self._drained.set()
            self._writer_wakeup = trio.Event()
            await self._writer_wakeup.wait()

    # ----- receiving -------------------------------------------------------------------------------------------------------

    async def run(
        self,
        *,
        after_batch: Callable[[], None] | None = None,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Receive until the link ends. ``after_batch`` is called when everything that had arrived has been handled.

        Returns when the peer leaves. When it breaks the protocol, it is told so, ``protocol_error`` is set and the link closed.
        """
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._run_writer)
                task_status.started()
                try:
                    await self._receive(after_batch)
                finally:
                    nursery.cancel_scope.cancel()
        finally:
            self._close("the peer is gone")
            with trio.CancelScope(shield=True):
                await self.transport.aclose()

    async def _run_writer(self) -> None:
        try:
            await self._write()
        except TransportClosed:
            self._close("the peer is gone")

    async def _receive(self, after_batch: Callable[[], None] | None) -> None:
        turns = 0
        while not self.closed:
            received = self.transport.receive_nowait()
            if received is None or turns == FAIR_TURNS:
                if after_batch is not None:
                    after_batch()
                if received is None:
                    received = await self.transport.receive()
                else:
                    await trio.lowlevel.checkpoint()
                turns = 0
            turns += 1
            data, descriptors = received
            if not data:
                return
            try:
                for event in self._connection.receive(data, descriptors):
                    await self._handle(event)
                    if self._gone():
                        return
            except ProtocolError as error:
                self._refuse(error)
                return

    def _refuse(self, error: ProtocolError) -> None:
        """Tell the peer what was wrong, then end the link."""
        self.protocol_error = error
        _log.warning("%s: protocol error: %s", self.name, error)
        if not self._backlog:
            with contextlib.suppress(TransportClosed):  # it left without waiting to be told
                self.transport.send_nowait(self._connection.send_refusal(str(error)))
        self._close(f"protocol error: {error}")

    def _gone(self) -> bool:
        return self._closed_reason is not None

    async def _handle(self, event: Event) -> None:
        if type(event) is NotificationReceived:
            result = self._handler(event.message)(event.message)
            if inspect.isawaitable(result):
                await result
        elif type(event) is RequestReceived:
            self._answer(event)
        elif type(event) is ResponseReceived:
            answer = self._waiting.get(event.id)
            if answer is not None:
                answer.reply, answer.error = event.reply, event.error
                answer.event.set()

    def _handler(self, message: Struct) -> Handler:
        handler = self._handlers.get(type(message))
        if handler is None:
            raise ProtocolError(f"{type(message).__name__} is not served here")
        return handler

    def _answer(self, request: RequestReceived) -> None:
        try:
            result = self._handler(request.message)(request.message)
        except CallError as error:
            self._reply(self._connection.send_error(request, error.code, error.name, error.message))
            return
        if inspect.isawaitable(result):
            assert self._nursery is not None
            self._nursery.start_soon(self._answer_later, request, result)
        else:
            self._reply(self._encode_reply(request, result))

    async def _answer_later(self, request: RequestReceived, result: Awaitable[Any]) -> None:
        try:
            reply = await result
        except CallError as error:
            self._reply(self._connection.send_error(request, error.code, error.name, error.message))
        else:
            self._reply(self._encode_reply(request, reply))

    def _encode_reply(self, request: RequestReceived, reply: Any) -> Outgoing:
        if reply is None:
            declaration = self.protocol.by_struct[type(request.message)]
            assert declaration.reply is not None
            reply = declaration.reply()
        return self._connection.send_reply(request, reply)

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
        self.transport.close()
        self._drained.set()
        self._writer_wakeup.set()
        for answer in self._waiting.values():
            answer.error = ChannelClosed(self._closed_reason)
            answer.event.set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()


class _Answer:
    __slots__ = ("error", "event", "reply")

    def __init__(self) -> None:
        self.event = trio.Event()
        self.reply: Any = None
        self.error: RemoteError | ChannelClosed | None = None


async def serve(
    listeners: Sequence[Listener],
    session: Callable[[Transport], Awaitable[None]],
    *,
    max_sessions: float = math.inf,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Accept connections for ever and run ``session(transport)`` for each, in a task of its own.

    A session that raises ChannelClosed ends alone, with a line in the log; any other exception is a fault of ours and ends the
    server.
    """
    limiter = trio.CapacityLimiter(max_sessions)

    async def run(transport: Transport) -> None:
        try:
            async with limiter:
                await session(transport)
        except ChannelClosed as error:
            _log.warning("connection ended: %s", error)
        finally:
            transport.close()

    async def accept(listener: Listener, nursery: trio.Nursery) -> None:
        while True:
            nursery.start_soon(run, await listener.accept())

    async with trio.open_nursery() as nursery:
        for listener in listeners:
            nursery.start_soon(accept, listener, nursery)
        task_status.started()
        await trio.sleep_forever()
