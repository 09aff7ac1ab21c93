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

from .census import Census
from .message import BadValue, Declaration, Decoder, MessageKind, Protocol, ProtocolError, Struct, shorten

MAX_MESSAGE: Final = 1 << 27  #: bytes of one message
MAX_DESCRIPTORS: Final = 64  #: descriptors that one message may have, and that may wait for their message
MAX_OUTSTANDING: Final = 4096  #: requests without an answer
BIG_MESSAGE: Final = 1 << 20  #: bytes above which the objects of a message are counted before they are made
MAX_OBJECTS: Final = 1 << 20  #: objects of one big message


class MessageTooLong(ValueError):
    """A message of ours that the peer would refuse: more than MAX_MESSAGE bytes, or MAX_DESCRIPTORS descriptors."""


class RemoteError(Exception):
    """The peer answered a request with an error: ``code`` (a status value), ``name`` of it and a sentence."""

    def __init__(self, code: int, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}" if name else message)
        self.code = code
        self.name = name
        self.message = message


# ``descriptors`` of an event: the numbers that came with its message. Whoever takes the message owns them; whoever drops it
# without looking inside has to close them (:func:`close_descriptors`).


@dataclass(slots=True)
class RequestReceived:
    """The peer asks ``message`` and waits for an answer under ``id``."""

    id: int
    message: Any
    descriptors: Sequence[int] = ()


@dataclass(slots=True)
class NotificationReceived:
    """The peer tells ``message``."""

    message: Any
    descriptors: Sequence[int] = ()


@dataclass(slots=True)
class ResponseReceived:
    """The answer to our request ``id``: ``reply``, or ``error``."""

    id: int
    reply: Any
    error: RemoteError | None
    descriptors: Sequence[int] = ()


def close_descriptors(numbers: Sequence[int]) -> None:
    """Close descriptors that nobody wants."""
    for number in numbers:
        os.close(number)


Event = RequestReceived | NotificationReceived | ResponseReceived
#: What goes out: bytes, and descriptors that go with their first byte.
Outgoing = tuple[bytes, list[int]]


class Connection:
    """One end of a link that speaks ``protocol``; ``server`` tells which end."""

    def __init__(self, protocol: Protocol, *, server: bool) -> None:
        self.protocol = protocol
        self.server = server
        self._unpacker = _unpacker()
        self._packer = _packer()
        self._fed = self._taken = 0  # bytes given to the unpacker, and of these the ones of whole messages
        self._begun: list[bytes] = []  # the chunks of a message that is not whole, while it is small
        self._census: Census | None = None  # counts the objects of one that is not small
        self._descriptors: list[int] = []
        self._outstanding: dict[int, Declaration] = {}
        self._next_id = 1
        self._failed = False
        incoming = [d for d in protocol.by_method.values() if d.from_server is not server]
        self._notifications = {d.method: d for d in incoming if d.kind is MessageKind.NOTIFICATION}
        self._requests = {d.method: d for d in incoming if d.kind is MessageKind.REQUEST}

    # ----- out -----------------------------------------------------------------------------------------------------------

    def send_request(self, message: Struct) -> tuple[int, Outgoing]:
        """Encode a request; returns its id and what to send. Raises MessageTooLong."""
        declaration = self._own(message, MessageKind.REQUEST)
        if len(self._outstanding) >= MAX_OUTSTANDING:
            raise ProtocolError(f"{MAX_OUTSTANDING} requests wait for an answer already")
        while (request_id := self._next_id) in self._outstanding:  # after the wrap, beside one that waits since then
            self._next_id = request_id % 0x7FFF_FFFF + 1
        self._next_id = request_id % 0x7FFF_FFFF + 1
        descriptors: list[int] = []
        fields = declaration.encode(message, descriptors)
        outgoing = self._pack([0, request_id, declaration.method, _params(fields)], descriptors)
        self._outstanding[request_id] = declaration
        return request_id, outgoing

    def send_notification(self, message: Struct) -> Outgoing:
        """Encode a notification. Raises MessageTooLong."""
        declaration = self._own(message, MessageKind.NOTIFICATION)
        descriptors: list[int] = []
        fields = declaration.encode(message, descriptors)
        return self._pack([2, declaration.method, _params(fields)], descriptors)

    def send_reply(self, request: RequestReceived, reply: Struct) -> Outgoing:
        """Encode the answer to a request. Raises MessageTooLong."""
        declaration = self.protocol.by_struct[type(request.message)]
        if declaration.reply is not type(reply):
            raise TypeError(f"{declaration.method} is answered by {declaration.reply}, not {type(reply)}")
        descriptors: list[int] = []
        return self._pack([1, request.id, None, declaration.encode_reply(reply, descriptors)], descriptors)

    def send_error(self, request: RequestReceived, code: int, name: str, message: str) -> Outgoing:
        """Encode a failure of a request."""
        return self._pack([1, request.id, [code, name, message], None], [])

    def send_refusal(self, why: str) -> bytes:
        """Encode the last words of an end that cannot go on: an answer to request 0, which nobody asks."""
        return self._pack([1, 0, [0, "PROTOCOL_ERROR", why], None], [])[0]

    def _own(self, message: Struct, kind: MessageKind) -> Declaration:
        declaration = self.protocol.by_struct.get(type(message))
        if declaration is None or declaration.kind is not kind or declaration.from_server is not self.server:
            raise TypeError(f"{type(message).__name__} is no {kind.name} that this end of {self.protocol.name} sends")
        return declaration

    def _pack(self, value: Any, descriptors: list[int]) -> Outgoing:
        packed: bytes = self._packer.pack(value)
        if len(packed) > BIG_MESSAGE:
            self._packer = _packer()  # a packer keeps the buffer of its biggest message
            if len(packed) > MAX_MESSAGE:
                raise MessageTooLong(f"a message of {len(packed)} bytes; at most {MAX_MESSAGE} can be sent")
        if len(descriptors) > MAX_DESCRIPTORS:
            raise MessageTooLong(f"{len(descriptors)} descriptors in a message; at most {MAX_DESCRIPTORS} can be sent")
        return packed, descriptors

    # ----- in ------------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes, descriptors: Sequence[int] = ()) -> Iterator[Event]:
        """Feed received bytes and descriptors; yields the events they complete. Raises ProtocolError."""
        if self._failed:
            close_descriptors(descriptors)
            raise ProtocolError("the connection has failed before")
        if descriptors:
            self._descriptors.extend(descriptors)
        try:
            if len(self._descriptors) > MAX_DESCRIPTORS:
                raise ProtocolError(f"{len(self._descriptors)} descriptors without their messages")
            if self._census is not None or self._fed - self._taken + len(data) > BIG_MESSAGE:
                self._weigh(data)
            unpacker = self._unpacker
            unpacker.feed(data)
            self._fed += len(data)
            for value in unpacker:
                self._taken = unpacker.tell()
                yield self._event(value)
            if self._taken != self._fed or self._census is not None:
                self._keep(data)
            elif self._begun:
                self._begun = []
        except msgpack.BufferFull:
            self.close()
            raise ProtocolError(f"a message of more than {MAX_MESSAGE} bytes") from None
        except (msgpack.UnpackException, ValueError) as error:
            self.close()
            detail = str(error) or type(error).__name__
            raise ProtocolError(f"not MessagePack of this protocol: {detail}") from None
        except ProtocolError:
            self.close()
            raise

    def _weigh(self, data: bytes) -> None:
        """Before ``data``, a part of a big message, is decoded: refuse one that would make too many objects."""
        if self._census is None:
            self._census = Census()
            chunks, self._begun = [*self._begun, data], []
        else:
            chunks = [data]
        for chunk in chunks:
            if not self._census.add(chunk, MAX_OBJECTS):
                raise ProtocolError(f"a message of more than {MAX_OBJECTS} objects")
            if self._census.length > MAX_MESSAGE:  # told by a header, before the bytes arrive
                raise ProtocolError(f"a message of more than {MAX_MESSAGE} bytes")

    def _keep(self, data: bytes) -> None:
        """After ``data``: what is left of it begins a message that is not whole yet."""
        left = self._fed - self._taken
        if left < len(data):  # at least one message was completed
            if self._census is not None:
                self._census = None
                if not left:
                    self._unpacker = _unpacker()  # an unpacker keeps the buffer of its biggest message
                    self._fed = self._taken = 0
            self._begun = [data[len(data) - left :]] if left else []
        elif self._census is None and data:
            self._begun.append(data)

    def close(self) -> None:
        """Accept nothing more; close descriptors that nobody took."""
        self._failed = True
        close_descriptors(self._descriptors)
        self._descriptors.clear()
        self._begun.clear()

    def _event(self, value: Any) -> Event:
        if type(value) is not list or not value:
            raise ProtocolError(f"a message is an array, not {type(value).__name__}")
        kind = value[0]
        if kind == 2 and len(value) == 3:
            declaration = self._incoming(self._notifications, value[1])
            return NotificationReceived(*self._params_of(declaration, value[2]))
        if kind == 0 and len(value) == 4:
            declaration = self._incoming(self._requests, value[2])
            if type(value[1]) is not int or not 0 <= value[1] <= 0xFFFF_FFFF:
                raise ProtocolError(f"{declaration.method}: request id {shorten(value[1])}")
            message, descriptors = self._params_of(declaration, value[3])
            return RequestReceived(value[1], message, descriptors)
        if kind == 1 and len(value) == 4:
            return self._response(value[1], value[2], value[3])
        raise ProtocolError(f"no message kind {shorten(kind)} with {len(value)} elements")

    def _incoming(self, declared: dict[str, Declaration], method: Any) -> Declaration:
        declaration = declared.get(method) if type(method) is str else None
        if declaration is None:
            kind = "notification" if declared is self._notifications else "request"
            raise ProtocolError(f"{self.protocol.name} has no {kind} {shorten(method)} in this direction")
        return declaration

    def _params_of(self, declaration: Declaration, params: Any) -> tuple[Any, Sequence[int]]:
        if type(params) is not list or len(params) > 1:
            raise ProtocolError(f"{declaration.method}: parameters are an array of at most one map")
        value = params[0] if params else {}
        if self._descriptors:
            return self._decode(declaration.decode, value, declaration.method)
        try:
            return declaration.decode(value, self._descriptors), ()
        except BadValue as error:
            raise ProtocolError(f"{declaration.method}{error.place}: {error.why}") from None

    def _decode(self, decode: Decoder, value: Any, where: str) -> tuple[Any, Sequence[int]]:
        """The message in ``value``, and the descriptors that it took; those of a bad one are closed."""
        waiting = self._descriptors
        came = waiting.copy() if waiting else ()
        try:
            message = decode(value, waiting)
        except BadValue as error:
            close_descriptors(came[: len(came) - len(waiting)])
            raise ProtocolError(f"{where}{error.place}: {error.why}") from None
        return message, came[: len(came) - len(waiting)] if came else ()

    def _response(self, request_id: Any, error: Any, result: Any) -> ResponseReceived:
        if request_id == 0 and type(error) is list and len(error) == 3:
            raise ProtocolError(f"the peer ended the link: {_sentence(error[2])}")
        declaration = self._outstanding.pop(request_id, None) if type(request_id) is int else None
        if declaration is None:
            raise ProtocolError(f"an answer to request {shorten(request_id)}, which was not asked")
        if error is None:
            reply, descriptors = self._decode(declaration.decode_reply, result, f"{declaration.method} reply")
            return ResponseReceived(request_id, reply, None, descriptors)
        if type(error) is list and [type(e) for e in error] == [int, str, str]:
            return ResponseReceived(request_id, None, RemoteError(*error))
        return ResponseReceived(request_id, None, RemoteError(0, "", _sentence(error)))


def _sentence(value: Any) -> str:
    return value[:1000] if type(value) is str else shorten(value)


def _unpacker() -> Any:
    return msgpack.Unpacker(
        raw=False,
        strict_map_key=True,
        max_buffer_size=MAX_MESSAGE,
        max_array_len=1 << 20,  # the length in an array header is allocated before its items arrive
        max_map_len=4096,
        max_ext_len=64,
        ext_hook=msgpack.ExtType,
        use_list=True,
    )


def _packer() -> Any:
    return msgpack.Packer(use_bin_type=True, autoreset=True, default=_plain)


def _plain(value: Any) -> Any:
    """A numpy number as the Python number it stands for; anything else cannot travel."""
    if isinstance(value, int):
        raise TypeError(f"{value} does not fit 64 bits and cannot be sent")
    if getattr(value, "ndim", None) != 0:
        raise TypeError(f"{type(value).__name__} cannot be sent")
    return value.item()


def unsendable(value: Any) -> str | None:
    """Why a value cannot travel inside a message; None when it can."""
    try:
        _packer().pack(value)
    except (TypeError, ValueError, OverflowError) as error:
        return str(error)
    return None


def _params(fields: Any) -> list[Any]:
    return [fields] if fields else []
