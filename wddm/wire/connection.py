"""The protocol without I/O: bytes and descriptors in, messages out, and the other way round.

One :class:`Connection` is one end of one link. It knows no socket and no trio. Whatever bytes it is fed, it answers with events or
raises :class:`~wddm.wire.message.ProtocolError`; after that it accepts nothing more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgpack

from .message import Declaration, MessageKind, Protocol, ProtocolError, Struct

MAX_MESSAGE: Final = 1 << 27  #: bytes of one message
MAX_DESCRIPTORS: Final = 64  #: descriptors that may wait for their message
MAX_OUTSTANDING: Final = 4096  #: requests without an answer


class RemoteError(Exception):
    """The peer answered a request with an error: ``code`` (a status value), ``name`` of it and a sentence."""

    def __init__(self, code: int, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}" if name else message)
        self.code = code
        self.name = name
        self.message = message


@dataclass(frozen=True, slots=True)
class RequestReceived:
    """The peer asks ``message`` and waits for an answer under ``id``."""

    id: int
    message: Any


@dataclass(frozen=True, slots=True)
class NotificationReceived:
    """The peer tells ``message``."""

    message: Any


@dataclass(frozen=True, slots=True)
class ResponseReceived:
    """The answer to our request ``id``: ``reply``, or ``error``."""

    id: int
    reply: Any
    error: RemoteError | None


Event = RequestReceived | NotificationReceived | ResponseReceived
#: What goes out: bytes, and descriptors that go with their first byte.
Outgoing = tuple[bytes, list[int]]


class Connection:
    """One end of a link that speaks ``protocol``; ``server`` tells which end."""

    def __init__(self, protocol: Protocol, *, server: bool) -> None:
        self.protocol = protocol
        self.server = server
        self._unpacker = msgpack.Unpacker(
            raw=False,
            strict_map_key=True,
            max_buffer_size=MAX_MESSAGE,
            max_array_len=1 << 20,  # the length in an array header is allocated before its items arrive
            max_map_len=4096,
            max_ext_len=64,
            ext_hook=msgpack.ExtType,
            use_list=True,
        )
        self._packer = msgpack.Packer(use_bin_type=True, autoreset=True, default=_plain)
        self._descriptors: list[int] = []
        self._outstanding: dict[int, Declaration] = {}
        self._next_id = 1
        self._failed = False

    # ----- out -----------------------------------------------------------------------------------------------------------

    def send_request(self, message: Struct) -> tuple[int, Outgoing]:
        """Encode a request; returns its id and what to send."""
        declaration = self._own(message, MessageKind.REQUEST)
        if len(self._outstanding) >= MAX_OUTSTANDING:
            raise ProtocolError(f"{MAX_OUTSTANDING} requests wait for an answer already")
        request_id = self._next_id
        self._next_id = self._next_id % 0x7FFF_FFFF + 1
        descriptors: list[int] = []
        data = self._pack([0, request_id, declaration.method, _params(declaration.encode(message, descriptors))])
        self._outstanding[request_id] = declaration
        return request_id, (data, descriptors)

    def send_notification(self, message: Struct) -> Outgoing:
        """Encode a notification."""
        declaration = self._own(message, MessageKind.NOTIFICATION)
        descriptors: list[int] = []
        return self._pack([2, declaration.method, _params(declaration.encode(message, descriptors))]), descriptors

    def send_reply(self, request: RequestReceived, reply: Struct) -> Outgoing:
        """Encode the answer to a request."""
        declaration = self.protocol.by_struct[type(request.message)]
        if declaration.encode_reply is None or declaration.reply is not type(reply):
            raise TypeError(f"{declaration.method} is answered by {declaration.reply}, not {type(reply)}")
        descriptors: list[int] = []
        return self._pack([1, request.id, None, declaration.encode_reply(reply, descriptors)]), descriptors

    def send_error(self, request: RequestReceived, code: int, name: str, message: str) -> Outgoing:
        """Encode a failure of a request."""
        return self._pack([1, request.id, [code, name, message], None]), []

    def send_refusal(self, why: str) -> bytes:
        """Encode the last words of an end that cannot go on: an answer to request 0, which nobody asks."""
        return self._pack([1, 0, [0, "PROTOCOL_ERROR", why], None])

    def _own(self, message: Struct, kind: MessageKind) -> Declaration:
        declaration = self.protocol.by_struct.get(type(message))
        if declaration is None or declaration.kind is not kind or declaration.from_server is not self.server:
            raise TypeError(f"{type(message).__name__} is no {kind.name} that this end of {self.protocol.name} sends")
        return declaration

    def _pack(self, value: Any) -> bytes:
        packed: bytes = self._packer.pack(value)
        return packed

    # ----- in ------------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes, descriptors: Sequence[int] = ()) -> Iterator[Event]:
        """Feed received bytes and descriptors; yields the events they complete. Raises ProtocolError."""
        if self._failed:
            for number in descriptors:
                os.close(number)
            raise ProtocolError("the connection has failed before")
        self._descriptors.extend(descriptors)
        try:
            if len(self._descriptors) > MAX_DESCRIPTORS:
                raise ProtocolError(f"{len(self._descriptors)} descriptors without their messages")
            self._unpacker.feed(data)
            while True:
                try:
                    value = self._unpacker.unpack()
                except msgpack.OutOfData:
                    return
                yield self._event(value)
        except (msgpack.UnpackException, ValueError, UnicodeDecodeError) as error:
            self.close()
            detail = str(error) or type(error).__name__
            raise ProtocolError(f"not MessagePack of this protocol: {detail}") from None
        except ProtocolError:
            self.close()
            raise

    def close(self) -> None:
        """Accept nothing more; close descriptors that nobody took."""
        self._failed = True
        for number in self._descriptors:
            os.close(number)
        self._descriptors.clear()

    def _event(self, value: Any) -> Event:
        if type(value) is not list or not value:
            raise ProtocolError(f"a message is an array, not {type(value).__name__}")
        kind = value[0]
        if kind == 0 and len(value) == 4:
            declaration = self._incoming(value[2], MessageKind.REQUEST)
            if type(value[1]) is not int or not 0 <= value[1] <= 0xFFFF_FFFF:
                raise ProtocolError(f"{declaration.method}: request id {value[1]!r}")
            return RequestReceived(value[1], self._decode(declaration, value[3]))
        if kind == 2 and len(value) == 3:
            declaration = self._incoming(value[1], MessageKind.NOTIFICATION)
            return NotificationReceived(self._decode(declaration, value[2]))
        if kind == 1 and len(value) == 4:
            return self._response(value[1], value[2], value[3])
        raise ProtocolError(f"no message kind {kind!r} with {len(value)} elements")

    def _incoming(self, method: Any, kind: MessageKind) -> Declaration:
        declaration = self.protocol.by_method.get(method) if type(method) is str else None
        if declaration is None or declaration.kind is not kind or declaration.from_server is self.server:
            shown = method if type(method) is str and len(method) < 80 else type(method).__name__
            raise ProtocolError(f"{self.protocol.name} has no {kind.name.lower()} {shown!r} in this direction")
        return declaration

    def _decode(self, declaration: Declaration, params: Any) -> Any:
        if type(params) is not list or len(params) > 1:
            raise ProtocolError(f"{declaration.method}: parameters are an array of at most one map")
        return declaration.decode(params[0] if params else {}, declaration.method, self._descriptors)

    def _response(self, request_id: Any, error: Any, result: Any) -> ResponseReceived:
        if request_id == 0 and type(error) is list and len(error) == 3:
            raise ProtocolError(f"the peer ended the link: {str(error[2])[:1000]}")
        declaration = self._outstanding.pop(request_id, None) if type(request_id) is int else None
        if declaration is None or declaration.decode_reply is None:
            raise ProtocolError(f"an answer to request {request_id!r}, which was not asked")
        if error is None:
            reply = declaration.decode_reply(result, f"{declaration.method} reply", self._descriptors)
            return ResponseReceived(request_id, reply, None)
        if type(error) is list and [type(e) for e in error] == [int, str, str]:
            return ResponseReceived(request_id, None, RemoteError(*error))
        return ResponseReceived(request_id, None, RemoteError(0, "", str(error)[:1000]))


def _plain(value: Any) -> Any:
    """A numpy number as the Python number it stands for; anything else cannot travel."""
    item = getattr(value, "item", None)
    if item is None or getattr(value, "ndim", 1):
        raise TypeError(f"{type(value).__name__} cannot be sent")
    return item()


def _params(fields: Any) -> list[Any]:
    return [fields] if fields else []
