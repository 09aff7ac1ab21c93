"""``python -m vgpu`` as a process: help, a host over its socket, clean ends, clear refusals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from wddm.hw.registers import HeadRegister, Register, head_register
from wddm.wire.address import Address
from wddm.wire.bus import BUS, Hello, HelloReply, ReadRegisters, Registers
from wddm.wire.channel import Channel
from wddm.wire.transport import connect

VGPU = (sys.executable, "-m", "vgpu")


@asynccontextmanager
async def started(command: list[str]) -> AsyncIterator[trio.Process]:
    """A process that has said that it listens; killed if it is still there."""
    process = await trio.lowlevel.open_process(command, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        assert b"listening on" in await process.stderr.receive_some()
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        assert process.stderr is not None
        await process.stderr.aclose()


def test_help_helps() -> None:
    done = subprocess.run([*VGPU, "--help"], capture_output=True, text=True, check=True)
    for option in ("--listen", "--vram", "--aperture", "--engine", "--size", "--refresh"):
        assert option in done.stdout


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--listen", "nowhere"], "unix:PATH or tcp:HOST:PORT"),
        (["--listen", "tcp:127.0.0.1:0", "--vram", "3"], "multiple of 4096"),
        (["--listen", "tcp:127.0.0.1:0", "--refresh", "0"], "refresh rate"),
        (["--listen", "unix:/nowhere/at/all"], "cannot listen"),
    ],
)
def test_refusals_are_sentences(arguments: list[str], why: str) -> None:
    done = subprocess.run([*VGPU, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert why in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
async def test_it_serves_and_ends_cleanly(tmp_path: Path, ending: signal.Signals) -> None:
    path = tmp_path / "bus"
    command = [*VGPU, "--listen", f"unix:{path}", "--vram", "8M", "--aperture", "16M", "--size", "800x600", "--refresh", "59.94"]
    async with started(command) as process:
        channel = Channel(await connect(Address(path=str(path))), BUS, server=False)
        async with trio.open_nursery() as nursery:
            await nursery.start(channel.run)
            reply = await channel.request(Hello(protocol=BUS.name, version=BUS.version), HelloReply)
            assert reply.descriptors
            size = [head_register(0, r) for r in (HeadRegister.NATIVE_WIDTH, HeadRegister.NATIVE_HEIGHT)]
            offsets = [Register.LOCAL_SIZE_LO, *size]
            values = (await channel.request(ReadRegisters(offsets=offsets), Registers)).values
            assert values == [8 << 20, 800, 600]
            channel.close()
        os.kill(process.pid, ending)
        with trio.fail_after(10):
            assert await process.wait() == 0
    assert not path.exists()
