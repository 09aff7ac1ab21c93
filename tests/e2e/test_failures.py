"""Processes that die, shaders that hang, clients that are killed: who notices, what they are told, who goes on."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trio

import wddm
from tests.e2e.conftest import client, stack_of_processes
from tests.support.scenes import FULL, Simple
from wddm import dxbc
from wddm.stack import StackError, open_stack

ENDLESS = """
ps_5_0
.out SV_Target0 o0.xyzw float
dcl_output o0.xyzw
loop
endloop
mov o0.xyzw, l(1.0, 1.0, 1.0, 1.0)
ret
"""


@pytest.mark.parametrize("engine", ["reference", "llvm"])
async def test_an_endless_shader_loses_only_its_device(engine: str) -> None:
    async with stack_of_processes(engine=engine, kernel_arguments=["--tdr-delay", "0.3"]) as stack:
        async with client(stack) as gpu, client(stack) as other:
            innocent = await Simple.create(other, vertices=FULL)
            scene = await Simple.create(gpu, vertices=FULL)
            scene.ctx.ps_set_shader(await scene.device.create_pixel_shader(dxbc.assemble(ENDLESS)))
            scene.draw()
            with trio.fail_after(60), pytest.raises(wddm.D3DError) as info:
                await scene.read()
            assert info.value.name == "DXGI_ERROR_DEVICE_REMOVED"
            reason = await scene.device.get_device_removed_reason()
            assert "DXGI_ERROR_DEVICE_HUNG" in str(reason)
            innocent.draw(tint=(1, 0, 1, 1))
            assert (await innocent.read() == np.array([255, 0, 255, 255])).all()
            fresh = await Simple.create(gpu, vertices=FULL)
            fresh.draw(tint=(1, 1, 0, 1))
            assert (await fresh.read())[1, 1].tolist() == [255, 255, 0, 255]


DRAW_FOR_EVER = """
import sys, trio, wddm
sys.path.insert(0, {root!r})
from tests.support.scenes import FULL, Simple

async def main():
    async with wddm.connect({address!r}) as gpu:
        device = await gpu.create_device()
        chain = await gpu.create_swap_chain(device, width=320, height=240, format=28)
        scene = await Simple.create(gpu, vertices=FULL, device=device, target=await chain.get_buffer(0), size=(320, 240))
        for frame in range(100000):
            scene.draw()
            await chain.present(1)
            if frame == 3:
                print("drawing", flush=True)

trio.run(main)
"""


async def test_a_killed_client_leaves_nothing_behind() -> None:
    root = str(Path(__file__).parents[2])
    async with stack_of_processes() as stack, client(stack) as watcher:
        scene = await Simple.create(watcher, vertices=FULL)

        async def used() -> dict[int, int]:
            return {s.id: s.used for s in (await watcher.info()).segments}

        scene.draw()
        await scene.read()
        before = await used()
        for _ in range(2):
            code = DRAW_FOR_EVER.format(root=root, address=stack.address)
            process = await trio.lowlevel.open_process([sys.executable, "-c", code], stdout=subprocess.PIPE)
            assert process.stdout is not None
            said = b""
            with trio.fail_after(60):
                while not said.endswith(b"\n"):
                    chunk = await process.stdout.receive_some()
                    assert chunk, "the client ended by itself"
                    said += chunk
            assert said == b"drawing\n"
            process.kill()
            await process.wait()
            with trio.fail_after(30):
                while await used() != before:
                    await watcher.wait_for_vblank()
        device = await watcher.create_device()
        chain = await watcher.create_swap_chain(device, width=320, height=240, format=28)
        assert (await chain.present(1)).name == "S_OK"  # the display is free again
        scene.draw(tint=(0, 1, 0, 1))
        assert (await scene.read() == np.array([0, 255, 0, 255])).all()


@pytest.mark.parametrize("victim", ["vgpu", "kernel", "runtime"])
async def test_a_killed_process_is_named_and_clients_are_told(victim: str) -> None:
    async with stack_of_processes() as stack:
        async with client(stack) as gpu:
            scene = await Simple.create(gpu, vertices=FULL)
            scene.draw()
            await scene.read()
            os.kill(stack.children[victim].pid, signal.SIGKILL)
            with trio.fail_after(20):
                why = await stack.wait_failed()
                with pytest.raises(wddm.D3DError) as info:
                    while True:
                        scene.draw()
                        await scene.read()
            assert info.value.name == "DXGI_ERROR_DEVICE_REMOVED"
            lost = "the connection to the runtime is lost" if victim == "runtime" else "the connection to the kernel is lost"
            assert lost in info.value.sentence
            if victim != "runtime":  # whoever first finds it gone, in whatever call
                fresh = client(stack)
                with pytest.raises((wddm.D3DError, OSError), match="kernel|cannot connect"):
                    async with fresh as late:
                        await late.create_device()
        assert why == f"{victim} (process {stack.children[victim].pid}) was killed by SIGKILL"


@pytest.mark.parametrize("seed", range(6))
async def test_whoever_is_killed_at_whatever_moment_all_are_told(seed: int) -> None:
    """Two clients create, draw, upload and read while a process is killed: both get an error, soon, and nothing stays behind."""
    r = random.Random(seed)
    victim, moment = ["vgpu", "kernel", "runtime"][seed % 3], r.randrange(40)
    done = 0
    told: list[str] = []
    async with stack_of_processes() as stack:

        async def work(name: str) -> None:
            nonlocal done
            try:
                async with client(stack) as gpu:
                    scene = await Simple.create(gpu, vertices=FULL)
                    while True:
                        texture = await scene.device.create_texture2d(np.zeros((64, 64, 4), np.uint8), format=28)
                        scene.ctx.update_subresource(texture, np.ones((64, 64, 4), np.uint8))
                        scene.draw()
                        await scene.read()
                        done += 1
            except (wddm.D3DError, OSError) as error:
                told.append(f"{name}: {error}")

        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(work, "one")
                nursery.start_soon(work, "two")
                while done < moment:
                    await trio.lowlevel.checkpoint()
                os.kill(stack.children[victim].pid, signal.SIGKILL)
            assert victim in await stack.wait_failed()
        run_dir = stack.run_dir
    assert len(told) == 2, told
    assert all(child.process.returncode is not None for child in stack.children.values())
    assert not run_dir.exists()


async def test_a_process_that_cannot_start_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="vgpu .* exited with status 2"):
        async with open_stack(vgpu_arguments=["--heads", "99"]):
            pass
    with pytest.raises(StackError, match="kernel .* exited with status 1: .*no_such_module"):
        async with open_stack(kernel_arguments=["--miniport", "no_such_module:Entry"]):
            pass


async def test_a_second_stack_in_the_same_place_is_refused(tmp_path: Path) -> None:
    async with stack_of_processes(run_dir=tmp_path):
        with pytest.raises(StackError, match="another process serves it"):
            async with stack_of_processes(run_dir=tmp_path):
                pass
    assert not list(tmp_path.glob("*.sock"))


def run_wddm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "wddm.cli", *arguments], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["info", "--connect", "unix:/nowhere/x.sock"], "cannot connect to unix:/nowhere/x.sock"),
        (["info", "--connect", "ftp:1"], "an address is unix:PATH or tcp:HOST:PORT"),
        (["demo", "--vram", "lots"], "a size is a number of bytes"),
        (["demo", "--frames", "0"], "no positive number"),
        (["nonsense"], "invalid choice"),
    ],
)
def test_the_command_says_what_is_wrong_in_one_sentence(arguments: list[str], said: str) -> None:
    done = run_wddm(*arguments)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def resident(pid: int) -> int:
    """Bytes."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) << 10


async def test_a_client_that_submits_faster_than_the_gpu_fills_no_memory_but_its_own() -> None:
    async with stack_of_processes() as stack, client(stack) as other:
        innocent = await Simple.create(other, vertices=FULL)
        async with client(stack) as gpu:
            scene = await Simple.create(gpu, vertices=FULL, size=(256, 256))
            scene.draw()
            await scene.read()
            before = {name: resident(child.pid) for name, child in stack.children.items()}
            for number in range(20000):
                scene.draw()
                scene.ctx.flush()
                if number % 64 == 0:
                    await trio.lowlevel.checkpoint()
            innocent.draw(tint=(0, 0, 1, 1))  # takes its turn
            with trio.fail_after(30):
                assert (await innocent.read() == np.array([0, 0, 255, 255])).all()
            info = await other.info()
            assert sum(node.completed for node in info.nodes) < 20000  # there is still much to do
            for name, child in stack.children.items():
                assert resident(child.pid) - before[name] < 16 << 20, name
        with trio.fail_after(30):
            while {s.name: s.value for s in (await other.info()).statistics}["processes"] > 1:
                await other.wait_for_vblank()


async def test_what_a_client_mapped_is_given_back_when_it_leaves() -> None:
    """Pages that a session maps hold a descriptor of the runtime each."""
    async with stack_of_processes() as stack, client(stack) as watcher:
        pid = stack.children["runtime"].pid

        def held() -> int:
            return len(os.listdir(f"/proc/{pid}/fd"))

        before = held()
        async with client(stack) as gpu:
            device = await gpu.create_device()
            for _ in range(40):
                buffer = await device.create_buffer(4096, usage=wddm.Usage.STAGING, cpu_access_flags=wddm.CpuAccessFlag.READ)
                await device.immediate_context.map(buffer, 0, wddm.MapType.READ)
            assert held() > before + 40
        with trio.fail_after(60):
            while held() > before:
                await watcher.info()
