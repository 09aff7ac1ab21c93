"""A client in its own process draws through three others, over unix sockets and over TCP."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest
import trio

import wddm
from tests.e2e.conftest import client, stack_of_processes
from tests.support.scenes import FULL, Simple
from wddm import demo, trace
from wddm.wire.address import Address


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@pytest.mark.parametrize("engine", ["reference", "llvm"])
async def test_the_cube(tmp_path: Path, engine: str) -> None:
    report = await demo.run(frames=6, size=(160, 120), out=tmp_path / "cube.png", progress=False, engine=engine)
    assert report.statistics["source 0: flips"] == 6
    assert (tmp_path / "cube.png").read_bytes().startswith(b"\x89PNG")
    assert set(report.cpu_seconds) == {"client", "runtime", "kernel", "vgpu"}
    assert demo.table(report).count("\n") > 10


async def draw_and_check(gpu: wddm.client.gpu.Gpu, tint: tuple[float, float, float, float], expected: list[int]) -> None:
    scene = await Simple.create(gpu, vertices=FULL)
    scene.draw(tint=tint)
    assert (await scene.read() == np.array(expected)).all()
    dynamic = await scene.device.create_buffer(
        np.zeros(4, np.float32),
        bind_flags=wddm.BindFlag.CONSTANT_BUFFER,
        usage=wddm.Usage.DYNAMIC,
        cpu_access_flags=wddm.CpuAccessFlag.WRITE,
    )
    mapped = await scene.ctx.map(dynamic, 0, wddm.MapType.WRITE_DISCARD)
    mapped.data.view(np.float32)[:4] = (0, 1, 1, 1)
    scene.ctx.unmap(dynamic)
    scene.ctx.ps_set_constant_buffers(0, [dynamic])
    scene.ctx.draw(3, 0)
    assert (await scene.read() == np.array([0, 255, 255, 255])).all()
    noise = np.random.default_rng(0).integers(0, 256, (300, 257, 4), np.uint8)
    texture = await scene.device.create_texture2d(noise, format=wddm.Format.R8G8B8A8_UNORM)
    assert (await scene.ctx.read_texture(texture) == noise).all()


async def test_over_a_unix_socket_and_over_tcp() -> None:
    tcp = Address(host="127.0.0.1", port=free_port())
    async with stack_of_processes(tcp=tcp) as stack:
        async with client(stack) as near, client(stack, str(tcp)) as far:
            await draw_and_check(near, (1, 0, 0, 1), [255, 0, 0, 255])
            await draw_and_check(far, (0, 0, 1, 1), [0, 0, 255, 255])


async def test_two_clients_at_once_get_their_own_pictures() -> None:
    async def run(stack: object, index: int) -> None:
        async with client(stack) as gpu:  # type: ignore[arg-type]
            scene = await Simple.create(gpu, vertices=FULL)
            for round in range(10):
                scene.draw(tint=(index, round / 10, 1 - index, 1))
                image = await scene.read()
                assert (image == image[0, 0]).all()
                assert image[0, 0, 0] == 255 * index

    async with stack_of_processes() as stack, trio.open_nursery() as nursery:
        for index in (0, 1):
            nursery.start_soon(run, stack, index)


async def test_a_tcp_link_at_every_boundary(tmp_path: Path) -> None:
    """Without descriptors the same calls carry the bytes."""
    import subprocess
    import sys

    ports = {name: free_port() for name in ("vgpu", "kernel", "runtime")}
    where = {name: f"tcp:127.0.0.1:{port}" for name, port in ports.items()}
    commands = {
        "vgpu": ["--vram", "32M", "--size", "320x240"],
        "kernel": ["--connect", where["vgpu"]],
        "runtime": ["--connect", where["kernel"]],
    }
    processes = []
    try:
        for name, arguments in commands.items():
            command = [sys.executable, "-m", name, "--listen", where[name], *arguments]
            process = await trio.lowlevel.open_process(command, stderr=subprocess.PIPE)
            processes.append(process)
            assert process.stderr is not None
            said = b""
            with trio.fail_after(60):
                while b"listening on" not in said:
                    chunk = await process.stderr.receive_some()
                    assert chunk, said
                    said += chunk
        async with wddm.connect(where["runtime"]) as gpu:
            await draw_and_check(gpu, (1, 0, 0, 1), [255, 0, 0, 255])
    finally:
        for process in reversed(processes):
            process.terminate()
            await process.wait()


def test_the_blocking_face() -> None:
    from wddm import blocking

    with blocking.launch(size=(320, 240)) as gpu:
        device = gpu.create_device()
        target = device.create_texture2d(
            width=16, height=16, format=wddm.Format.R8G8B8A8_UNORM, bind_flags=wddm.BindFlag.RENDER_TARGET
        )
        rtv = device.create_render_target_view(target)
        device.immediate_context.clear_render_target_view(rtv, (0, 1, 0, 1))
        assert (device.immediate_context.read_texture(target) == np.array([0, 255, 0, 255])).all()


async def test_trace_files_of_all_processes_merge(tmp_path: Path) -> None:
    async with stack_of_processes(trace_dir=tmp_path) as stack, client(stack) as gpu:
        scene = await Simple.create(gpu, vertices=FULL)
        scene.draw()
        await scene.read()
    events = trace.read(sorted(tmp_path.glob("*.jsonl")))
    assert {event.process for event in events} == {"runtime", "kernel", "vgpu"}
    assert [e.time_ns for e in events] == sorted(e.time_ns for e in events)
