"""A client in any language: MessagePack-RPC over a plain socket, with nothing of this project but the numbers of its messages.

Over TCP it draws and reads pixels back; over the unix socket it maps the pages whose descriptor it is passed. What it says wrong is
told in words, ends its own connection and nobody else's.
"""

from __future__ import annotations

import array
import mmap
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgpack
import pytest
import trio

from tests.e2e.conftest import client, stack_of_processes
from tests.e2e.test_frames import free_port
from tests.support.scenes import FULL, Simple
from wddm.stack import Stack

R8G8B8A8_UNORM, RENDER_TARGET, STAGING, CPU_READ, MAP_READ = 28, 0x20, 3, 0x20000, 1
RTV, FLUSH, CLEAR_RENDER_TARGET_VIEW, COPY_RESOURCE = 1, 2, 50, 60
SIDE = 8


class Foreign:
    """A blocking socket, an unpacker, and the descriptors that came."""

    def __init__(self, address: str) -> None:
        kind, _, where = address.partition(":")
        if kind == "unix":
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(where)
        else:
            host, _, port = where.rpartition(":")
            self.socket = socket.create_connection((host, int(port)))
        self.socket.settimeout(20)
        self.unpacker = msgpack.Unpacker(raw=False)
        self.descriptors: list[int] = []
        self.next_id = 0

    def send(self, message: list[Any]) -> None:
        self.socket.sendall(msgpack.packb(message))

    def receive(self) -> Any:
        """The next message, or None at the end."""
        while True:
            for message in self.unpacker:
                return message
            data, ancillary, _, _ = self.socket.recvmsg(65536, socket.CMSG_SPACE(64))
            for _, _, content in ancillary:
                self.descriptors.extend(array.array("i", content[: len(content) // 4 * 4]))
            if not data:
                return None
            self.unpacker.feed(data)

    def call(self, method: str, **fields: Any) -> Any:
        """[0, id, method, [fields]] → the result of [1, id, error, result]; an error is raised."""
        self.next_id += 1
        self.send([0, self.next_id, method, [fields]])
        while True:
            message = self.receive()
            assert message is not None, "the connection was ended"
            if message[0] == 1:
                assert message[1] == self.next_id
                if message[2] is not None:
                    raise LookupError(*message[2])
                return message[3]

    def notify(self, method: str, **fields: Any) -> None:
        self.send([2, method, [fields]])

    def hello(self) -> Any:
        return self.call("hello", protocol="wddm.api", version=1, process="foreign")

    def close(self) -> None:
        self.socket.close()
        for number in self.descriptors:
            os.close(number)


def draw(address: str) -> tuple[bool, bool, set[bytes]]:
    """Clear a texture, copy it to a staging one, map that; whether descriptors are passed, whether pages came, and the texels."""
    foreign = Foreign(address)
    try:
        hello = foreign.hello()
        assert (hello["protocol"], hello["version"]) == ("wddm.api", 1)
        device = foreign.call("create_device", feature_levels=[0xB000])["device"]
        both = {"device": device, "dimension": 2, "width": SIDE, "height": SIDE, "format": R8G8B8A8_UNORM}
        target = foreign.call("create_texture", bind_flags=RENDER_TARGET, **both)["id"]
        staging = foreign.call("create_texture", usage=STAGING, cpu_access_flags=CPU_READ, **both)["id"]
        view = foreign.call("create_view", resource=target, kind=RTV, default=True)["id"]
        commands = [[CLEAR_RENDER_TARGET_VIEW, view, [0.0, 1.0, 0.0, 1.0]], [COPY_RESOURCE, staging, target], [FLUSH]]
        foreign.notify("execute_commands", device=device, commands=commands)
        mapped = foreign.call("map", resource=staging, subresource=0, type=MAP_READ)
        pitch = mapped["row_pitch"]
        if mapped["memory_id"]:
            with mmap.mmap(foreign.descriptors[-1], mapped["memory_size"], prot=mmap.PROT_READ) as pages:
                data = pages[mapped["offset"] : mapped["offset"] + mapped["size"]]
        else:
            data = mapped["data"]
        texels = {data[y * pitch + 4 * x : y * pitch + 4 * x + 4] for y in range(SIDE) for x in range(SIDE)}
        return hello["descriptors"], bool(mapped["memory_id"]), texels
    finally:
        foreign.close()


def refusal(address: str, data: bytes, *, greet: bool = True) -> str:
    """The words with which a connection that sends ``data`` is ended."""
    foreign = Foreign(address)
    try:
        if greet:
            foreign.hello()
        foreign.socket.sendall(data)
        last = foreign.receive()
        assert last is not None
        assert last[:2] == [1, 0], last
        assert last[2][1] == "PROTOCOL_ERROR"
        assert foreign.receive() is None
        return str(last[2][2])
    finally:
        foreign.close()


@asynccontextmanager
async def served() -> AsyncIterator[tuple[Stack, str]]:
    tcp = f"tcp:127.0.0.1:{free_port()}"
    from wddm.wire.address import Address

    async with stack_of_processes(tcp=Address.parse(tcp)) as stack:
        yield stack, tcp


def request(method: str, fields: Any, number: Any = 9) -> bytes:
    packed: bytes = msgpack.packb([0, number, method, [fields]])
    return packed


WRONG = [
    (request("create_cube", {}), "wddm.api has no request 'create_cube' in this direction"),
    (request("create_device", {"colour": 1}), "create_device: unknown field 'colour'"),
    (request("create_device", {"flags": "many"}), "create_device.flags: str where an integer belongs"),
    (request("create_device", {"feature_levels": [1, -1]}), "create_device.feature_levels[1]: -1 is not in 0..4294967295"),
    (request("create_buffer", {"device": 1}), "create_buffer: field 'byte_width' is missing"),
    (request("map", 7), "map: int where a map of fields belongs"),
    (request("create_device", {}, "first"), "create_device: request id 'first'"),
    (msgpack.packb([7, 1, 2]), "no message kind 7 with 3 elements"),
    (msgpack.packb({"jsonrpc": "2.0"}), "a message is an array, not dict"),
    (b"\xc1GET / HTTP/1.1\r\n\r\n", "not MessagePack"),
    (b"\xdd\xff\xff\xff\xff", "exceeds"),
]


async def test_it_draws_and_what_it_says_wrong_is_told_in_words() -> None:
    async with served() as (stack, tcp), client(stack) as gpu:
        run = trio.to_thread.run_sync
        with trio.fail_after(60):
            assert await run(draw, tcp) == (False, False, {b"\x00\xff\x00\xff"})
            assert await run(draw, stack.address) == (True, True, {b"\x00\xff\x00\xff"})
            for address in (tcp, stack.address):
                for data, words in WRONG:
                    assert words in await run(refusal, address, data), words
            first = msgpack.packb([0, 1, "create_device", [{}]])
            assert "the first message must be hello" in await run(lambda: refusal(tcp, first, greet=False))

            def other_version() -> None:
                foreign = Foreign(tcp)
                try:
                    foreign.call("hello", protocol="wddm.api", version=99)
                finally:
                    foreign.close()

            with pytest.raises(LookupError, match="wddm.api 99 is not spoken here, but wddm.api 1"):
                await run(other_version)
            scene = await Simple.create(gpu, vertices=FULL)  # nobody else noticed
            scene.draw(tint=(1, 0, 0, 1))
            assert (await scene.read())[0, 0].tolist() == [255, 0, 0, 255]
