"""The floors under submit→fence on this machine: bytes only, no validation, no drawing.

``doorbell``: a request over three blocking one-way hops (client → forwarder → forwarder → device), answered by a value in shared
memory that the client polls. ``trio_msgpack``: request and answer through the same three hops, each a trio process that decodes and
encodes MessagePack. Microseconds a round trip. ``python -m bench.floors`` prints both; :func:`apart` runs it, since a process
inside trio cannot fork others that use it. Also what a bare Python process takes.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from multiprocessing import get_context
from typing import Any

import msgpack
import trio

from wddm.wire.memory import SharedMemory

_fork = get_context("fork")
_MESSAGE = {"op": "submit", "context": 7, "fence": 123456, "commands": [[5, 1, 36, 0]] * 4}


def _forward(up: socket.socket, down: socket.socket) -> None:
    while data := up.recv(65536):
        down.sendall(data)


def _device(up: socket.socket, memory: SharedMemory) -> None:
    while data := up.recv(65536):
        memory.array[0] = data[-1]


def doorbell(rounds: int = 2000, hops: int = 3) -> list[float]:
    """Microseconds of each round trip."""
    with SharedMemory.create(64) as memory:
        pairs = [socket.socketpair() for _ in range(hops)]
        chain = [_fork.Process(target=_forward, args=(pairs[i][1], pairs[i + 1][0]), daemon=True) for i in range(hops - 1)]
        chain.append(_fork.Process(target=_device, args=(pairs[-1][1], memory), daemon=True))
        for process in chain:
            process.start()
        taken = []
        value, client = 0, pairs[0][0]
        for _ in range(rounds):
            value = (value + 1) & 127
            asked = time.perf_counter()
            client.sendall(bytes(63) + bytes([value]))
            while memory.array[0] != value:
                pass
            taken.append((time.perf_counter() - asked) * 1e6)
        _end(chain, pairs)
        return taken


async def _receive(stream: trio.SocketStream) -> Any:
    head = await stream.receive_some(4)
    while head and len(head) < 4:
        head += await stream.receive_some(4 - len(head))
    if not head:
        return None
    size, body = int.from_bytes(head, "little"), b""
    while len(body) < size:
        body += await stream.receive_some(size - len(body))
    return msgpack.unpackb(body)


async def _send(stream: trio.SocketStream, message: Any) -> None:
    body = msgpack.packb(message)
    await stream.send_all(len(body).to_bytes(4, "little") + body)


def _stream(sock: socket.socket) -> trio.SocketStream:
    return trio.SocketStream(trio.socket.from_stdlib_socket(sock))


def _node(up: socket.socket, down: socket.socket | None) -> None:
    async def main() -> None:
        above, below = _stream(up), _stream(down) if down else None
        while (message := await _receive(above)) is not None:
            if below is not None:
                await _send(below, message)
                message = await _receive(below)
            await _send(above, message)

    trio.run(main)


def trio_msgpack(rounds: int = 1000, hops: int = 3) -> list[float]:
    """Microseconds of each round trip."""
    pairs = [socket.socketpair() for _ in range(hops)]
    chain = [
        _fork.Process(target=_node, args=(pairs[i][1], pairs[i + 1][0] if i + 1 < hops else None), daemon=True)
        for i in range(hops)
    ]
    for process in chain:
        process.start()
    taken: list[float] = []

    async def client() -> None:
        stream = _stream(pairs[0][0])
        for _ in range(rounds):
            asked = time.perf_counter()
            await _send(stream, _MESSAGE)
            await _receive(stream)
            taken.append((time.perf_counter() - asked) * 1e6)

    trio.run(client)
    _end(chain, pairs)
    return taken


def _end(chain: list[Any], pairs: list[tuple[socket.socket, socket.socket]]) -> None:
    for process in chain:
        process.terminate()
        process.join()
    for pair in pairs:
        for sock in pair:
            sock.close()


def apart(rounds: int) -> tuple[list[float], list[float]]:
    """Round trips of both floors, measured by a process of their own: ``rounds`` of the first, half as many of the second."""
    done = subprocess.run([sys.executable, "-m", "bench.floors", str(rounds)], check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    return found["doorbell"], found["trio_msgpack"]


def resident(statements: str) -> float:
    """VmRSS in MiB of a Python process that has executed ``statements``."""
    tell = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmRSS')))"
    done = subprocess.run([sys.executable, "-c", f"{statements}\n{tell}"], check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout) / 1024


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(json.dumps({"doorbell": doorbell(asked), "trio_msgpack": trio_msgpack(asked // 2)}))
