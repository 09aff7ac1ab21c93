"""Clients that send a real client's messages cut off, out of order, doubled, damaged or much too long, and vanish at any moment: they
disturb nobody, and leave nothing behind."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
from itertools import pairwise

import msgpack
import numpy as np
import pytest
import trio

from tests.e2e.conftest import client, stack_of_processes
from tests.support.scenes import FULL, Simple
from wddm.wire.address import Address
from wddm.wire.transport import SocketTransport

CLIENTS = 60


async def _recorded(stack, where: str, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:  # type: ignore[no-untyped-def]
    """The messages of a client that draws, uploads and presents, one by one."""
    sent: list[bytes] = []
    send_nowait = SocketTransport.send_nowait

    def record(self, data, descriptors=()):  # type: ignore[no-untyped-def]
        left, rest = send_nowait(self, data, descriptors)
        sent.append(bytes(data[: len(data) - len(left)]))
        return left, rest

    with monkeypatch.context() as patch:
        patch.setattr(SocketTransport, "send_nowait", record)
        async with client(stack, where) as gpu:
            device = await gpu.create_device()
            chain = await gpu.create_swap_chain(device, width=64, height=48, format=28)
            scene = await Simple.create(gpu, vertices=FULL, device=device, target=await chain.get_buffer(0))
            texture = await device.create_texture2d(np.zeros((64, 64, 4), np.uint8), format=28)
            scene.ctx.update_subresource(texture, np.ones((64, 64, 4), np.uint8))
            scene.draw()
            await chain.present(0)
            await scene.read()
    stream = b"".join(sent)
    unpacker, ends = msgpack.Unpacker(max_buffer_size=1 << 27), [0]
    unpacker.feed(stream)
    with contextlib.suppress(msgpack.OutOfData):
        while True:
            unpacker.skip()
            ends.append(unpacker.tell())
    return [stream[a:b] for a, b in pairwise(ends)]


def _spoiled(r: random.Random, messages: list[bytes]) -> bytes:
    """What a hostile client sends."""
    chosen = messages[: r.randrange(1, len(messages) + 1)]
    kind = r.randrange(6)
    if kind == 0:  # the end is missing
        whole = b"".join(chosen)
        return whole[: r.randrange(len(whole))]
    if kind == 1:  # in another order
        first, rest = chosen[:1], chosen[1:]
        r.shuffle(rest)
        return b"".join(first + rest if r.random() < 0.8 else rest + first)
    if kind == 2:  # some twice, some not at all
        return b"".join(m * r.choice((0, 1, 1, 2)) for m in chosen)
    if kind == 3:  # damaged
        data = bytearray(b"".join(chosen))
        for _ in range(r.randrange(1, 6)):
            data[r.randrange(len(data))] = r.randrange(256)
        return bytes(data)
    if kind == 4:  # much too long
        return b"".join(chosen) + b"\x93\x02\xaaupload_end\x91\x81\xa4data\xc6\x7f\xff\xff\xff" + bytes(r.choice((0, 1 << 16, 3 << 20)))
    return r.randbytes(r.randrange(1, 5000))


async def _attack(r: random.Random, address: Address, messages: list[bytes]) -> None:
    """One connection that ends in one of several ways."""
    data, leave = _spoiled(r, messages), r.randrange(3)
    if address.path is None:
        assert address.host is not None
        stream = await trio.open_tcp_stream(address.host, address.port)
    else:
        stream = await trio.open_unix_socket(address.path)
    async with stream:
        with trio.move_on_after(2), contextlib.suppress(trio.BrokenResourceError):
            await stream.send_all(data)
            if leave == 0:
                await stream.send_eof()
            while leave < 2 and await stream.receive_some(1 << 16):
                pass
        if leave == 2 and address.path is None:  # by a reset, whatever is still under way
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("link", ["unix", "tcp"])
async def test_hostile_clients_disturb_nobody(link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    r = random.Random(link)
    async with stack_of_processes(tcp=Address.parse("tcp:127.0.0.1:0")) as stack, client(stack) as watcher:
        address = stack.addresses["runtime"] if link == "unix" else stack.tcp
        assert address is not None
        messages = await _recorded(stack, str(stack.tcp), monkeypatch)
        assert len(messages) > 15
        innocent = await Simple.create(watcher, vertices=FULL)
        innocent.draw()
        await innocent.read()

        async def held() -> tuple[dict[int, int], int, int]:
            info = await watcher.info()
            sessions = {s.name: s.value for s in info.statistics}["processes"]
            return {s.id: s.used for s in info.segments}, sessions, len(os.listdir(f"/proc/{stack.children['runtime'].pid}/fd"))

        before = await held()
        for number in range(CLIENTS // 6):
            async with trio.open_nursery() as nursery:
                for _ in range(6):
                    nursery.start_soon(_attack, random.Random(r.random()), address, messages)
                innocent.draw(tint=(number / 255, 0, 1, 1))
                assert (await innocent.read() == np.array([number, 0, 255, 255])).all()
        with trio.fail_after(60):
            while await held() != before:
                await watcher.wait_for_vblank()
        async with client(stack) as gpu:
            scene = await Simple.create(gpu, vertices=FULL)
            scene.draw(tint=(0, 1, 0, 1))
            assert (await scene.read() == np.array([0, 255, 0, 255])).all()
        assert stack.failure is None
