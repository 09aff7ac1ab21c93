"""What a person types: ``wddm up``, ``info`` and ``demo``; Ctrl-C; a process that is killed; each process alone; programs of the
documentation."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

ROOT = Path(__file__).parents[2]
#: Where the issue of the first program left the shaders to the reader.
SHADERS = '''
VS = """
// Input signature:
//
// Name                 Index   Mask Register SysValue  Format   Used
// -------------------- ----- ------ -------- -------- ------- ------
// POSITION                 0   xy          0     NONE   float   xy
// COLOR                    0   xyz         1     NONE   float   xyz
//
// Output signature:
//
// Name                 Index   Mask Register SysValue  Format   Used
// -------------------- ----- ------ -------- -------- ------- ------
// SV_POSITION              0   xyzw        0      POS   float   xyzw
// COLOR                    0   xyz         1     NONE   float   xyz
//
vs_5_0
dcl_globalFlags refactoringAllowed
dcl_input v0.xy
dcl_input v1.xyz
dcl_output_siv o0.xyzw, position
dcl_output o1.xyz
mov o0.xy, v0.xyxx
mov o0.zw, l(0,0,0,1.000000)
mov o1.xyz, v1.xyzx
ret
"""
PS = """
// Input signature:
//
// Name                 Index   Mask Register SysValue  Format   Used
// -------------------- ----- ------ -------- -------- ------- ------
// SV_POSITION              0   xyzw        0      POS   float
// COLOR                    0   xyz         1     NONE   float   xyz
//
// Output signature:
//
// Name                 Index   Mask Register SysValue  Format   Used
// -------------------- ----- ------ -------- -------- ------- ------
// SV_TARGET                0   xyzw        0   TARGET   float   xyzw
//
ps_5_0
dcl_globalFlags refactoringAllowed
dcl_input_ps linear v1.xyz
dcl_output o0.xyzw
mov o0.xyz, v1.xyzx
mov o0.w, l(1.000000)
ret
"""
'''


def the_program() -> str:
    """The README's client program."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def with_assembly(program: str) -> str:
    """The same with listings in place of HLSL: the vertex shader object itself describes the layout."""
    program = re.sub(r"^from wddm import hlsl\n", "", program, flags=re.MULTILINE)
    program = re.sub(r'SHADERS = """.*?"""', lambda _: SHADERS, program, flags=re.DOTALL)
    program = re.sub(r" *vs_code = .*\n", "", program)
    program = program.replace("create_vertex_shader(vs_code)", "create_vertex_shader(wddm.dxbc.assemble(VS))")
    program = re.sub(r"hlsl\.compile\(SHADERS, \"ps_main\", \"ps_5_0\"\)", "wddm.dxbc.assemble(PS)", program)
    return program.replace("vs_code)", "vs)")


@pytest.mark.parametrize("rewrite", [str, with_assembly])
def test_the_program_runs_as_it_stands(rewrite: object) -> None:
    program = rewrite(the_program())  # type: ignore[operator]
    assert "hlsl" not in program or rewrite is str
    told = "        print(image.shape, image.dtype, image[0, 0].tolist(), image[170, 320, 0] > 100)\n\ntrio.run(main)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program.replace("\ntrio.run(main)", told)],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout == "(360, 640, 4) uint8 [0, 0, 51, 255] True\n"


def test_the_blocking_face_runs_the_same_program_without_async() -> None:
    program = the_program().replace("async with wddm.launch", "with wddm.blocking.launch")
    program = program.replace("async def", "def").replace("await ", "").replace("trio.run(main)", "main()")
    program = program.replace("\nmain()", "        print(image.shape)\n\nmain()")
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    assert done.stdout == "(360, 640, 4)\n"


async def wddm(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "wddm.cli", *arguments]
    with trio.fail_after(120):
        return await trio.run_process(command, capture_stdout=True, capture_stderr=True, check=False)


class Up:
    """A running ``wddm up``."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self.said = b""

    async def read_until(self, words: bytes) -> None:
        assert self.process.stdout is not None
        with trio.fail_after(60):
            while words not in self.said:
                chunk = await self.process.stdout.receive_some()
                assert chunk, self.said
                self.said += chunk

    async def end(self) -> tuple[int, str]:
        """Status, and what it said on stderr."""
        assert self.process.stderr is not None
        with trio.fail_after(30):
            words = b"".join([chunk async for chunk in self.process.stderr])
            return await self.process.wait(), words.decode()

    def pid(self, name: str) -> int:
        found = re.search(rf"{name} +process (\d+)", self.said.decode())
        assert found is not None
        return int(found[1])


@asynccontextmanager
async def up(run_dir: Path, *arguments: str) -> AsyncIterator[Up]:
    command = [sys.executable, "-m", "wddm.cli", "up", "--run-dir", str(run_dir), "--size", "320x240", "--vram", "64M", *arguments]
    process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    running = Up(process)
    try:
        await running.read_until(b"Ctrl-C stops the stack")
        yield running
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def test_up_info_demo_and_ctrl_c(tmp_path: Path) -> None:
    async with up(tmp_path / "run", "--refresh", "50", "--tcp", "tcp:127.0.0.1:0") as running:
        address = f"unix:{tmp_path}/run/runtime.sock"
        assert address.encode() in running.said
        far = re.search(r"clients +(tcp:127\.0\.0\.1:[1-9]\d*)\n", running.said.decode())
        assert far is not None  # the port that was found
        info = await wddm("info", "--connect", far[1])
        assert (info.returncode, info.stderr) == (0, b"")
        text = info.stdout.decode()
        for words in (
            "umd:OpenAdapter10_2",
            "miniport:DriverEntry",
            "wddm.api 1",
            "feature level 11_0",
            "segment 1",
            "48 MiB",
            "aperture",
            "node 0",
            "3D and compute",
            "Copy",
            "source 0   320x240 at 50 Hz",
            "output 0",
        ):
            assert words in text
        picture = tmp_path / "cube.png"
        demo = await wddm("demo", "--connect", address, "--frames", "3", "--size", "160x120", "--out", str(picture))
        assert demo.returncode == 0, demo.stderr
        rows = demo.stdout.decode()
        assert "drawing 3 frames of 160x120" in demo.stderr.decode()
        assert "frame 3/3" in demo.stderr.decode()
        for name in ("frames", "flips", "missed vsyncs", "DMA buffers", "paging buffers", "fences", "submit to fence", "by boundary"):
            assert name in rows
        assert re.search(r"flips +3\n", rows)
        assert re.search(r"submit to fence +p50 [\d.]+ ms, p99 [\d.]+ ms", rows)
        assert picture.read_bytes().startswith(b"\x89PNG")
        running.process.send_signal(signal.SIGINT)
        await running.read_until(b"stopped")
        assert await running.end() == (0, "")
    assert not list((tmp_path / "run").iterdir())


async def test_up_says_which_process_died_and_why(tmp_path: Path) -> None:
    async with up(tmp_path) as running:
        victim = running.pid("kernel")
        os.kill(victim, signal.SIGKILL)
        status, words = await running.end()
    assert status == 1
    assert f"wddm: kernel (process {victim}) was killed by SIGKILL" in words
    assert "Traceback" not in words
    assert not list(tmp_path.iterdir())
    async with up(tmp_path):  # the same place serves again
        pass


async def test_a_killed_up_takes_its_processes_along(tmp_path: Path) -> None:
    async with up(tmp_path) as running:
        children = [os.pidfd_open(running.pid(name)) for name in ("vgpu", "kernel", "runtime")]
        running.process.kill()
        with trio.fail_after(30):
            for child in children:
                await trio.lowlevel.wait_readable(child)  # at its end
                os.close(child)
            await running.process.wait()


@pytest.mark.parametrize(
    ("name", "more"), [("vgpu", ("--vram", "--size", "--refresh")), ("kernel", ("--connect",)), ("runtime", ("--connect",))]
)
async def test_each_process_alone(name: str, more: tuple[str, ...], tmp_path: Path) -> None:
    async def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        with trio.fail_after(60):
            return await trio.run_process(
                [sys.executable, "-m", name, *arguments], capture_stdout=True, capture_stderr=True, check=False
            )

    told = (await run("--help")).stdout.decode()
    for option in ("--listen", "unix:PATH or tcp:HOST:PORT", "--trace", *more):
        assert option in " ".join(told.split())
    listen = ["--listen", f"unix:{tmp_path}/x.sock"]
    if name == "vgpu":
        process = await trio.lowlevel.open_process([sys.executable, "-m", name, *listen], stderr=subprocess.PIPE)
        assert process.stderr is not None
        with trio.fail_after(60):
            said = b""
            while not said.endswith(b"\n"):
                said += await process.stderr.receive_some()
            assert said.decode() == f"vgpu: listening on unix:{tmp_path}/x.sock\n"
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0
        assert not (tmp_path / "x.sock").exists()
    elif name == "kernel":
        done = await run(*listen, "--connect", f"unix:{tmp_path}/nobody.sock")
        assert done.returncode == 1
        assert done.stderr.decode().startswith(f"kernel: cannot connect to unix:{tmp_path}/nobody.sock")
        assert done.stderr.count(b"\n") == 1
    else:
        done = await run("--listen", "unix:/nowhere/x.sock", "--connect", f"unix:{tmp_path}/nobody.sock")
        assert done.returncode == 1
        assert b"unix:/nowhere/x.sock" in done.stderr
        assert done.stderr.count(b"\n") == 1
