"""``bench cube``: the demo's cube at 1280x720. Frames a second presented and read back, whose time a frame is, bytes copied, time
from nothing to the first frame, memory of each process."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Final

from bench import floors, hops, limits, processes
from bench.figures import Figure
from bench.options import Options, progress
from bench.scenes.library import Loop, Ours
from bench.scenes.runner import empty_caches
from bench.timing import seconds
from wddm import demo
from wddm.client.gpu import Gpu
from wddm.stack import launch

WIDTH, HEIGHT = 1280, 720
FRAME_BYTES: Final = WIDTH * HEIGHT * 4
#: What every process of the stack, and a client, loads at the least: the floor "bare Python" under start time and memory.
IMPORTS: Final = "import numpy, trio, msgpack"


def presented(scene: demo.Scene) -> Loop:
    """Frames drawn and presented, not held back by vertical sync."""
    ctx = scene.device.immediate_context

    async def loop(count: int) -> None:
        for i in range(count):
            scene.draw(0.6 + i * 0.03)
            await scene.swap_chain.present(sync_interval=0)
        await ctx.wait_idle()

    return loop


def read_back(scene: demo.Scene) -> Loop:
    """Frames drawn, copied out as numpy arrays, and presented."""
    ctx = scene.device.immediate_context

    async def loop(count: int) -> None:
        for i in range(count):
            scene.draw(0.6 + i * 0.03)
            await ctx.read_texture(scene.back_buffer)
            await scene.swap_chain.present(sync_interval=0)
        await ctx.wait_idle()

    return loop


async def waited(ours: Ours) -> Loop:
    """Frames drawn and waited for one by one, so that their hops can be told apart."""
    scene = await demo.Scene.create(ours.gpu, WIDTH, HEIGHT)
    ours.keep(scene)
    ours.device, ours.ctx = scene.device, scene.device.immediate_context
    ctx = ours.ctx

    async def loop(count: int) -> None:
        for i in range(count):
            scene.draw(0.6 + i * 0.03)
            await ctx.wait_idle()

    return loop


async def measure(options: Options) -> list[Figure]:
    """One run."""
    progress("cube: start")
    with empty_caches():
        figures = [start("cube.start.first_time", options), start("cube.start", options)]
    async with launch(**options.stack(size=(WIDTH, HEIGHT))) as gpu:
        scene = await demo.Scene.create(gpu, WIDTH, HEIGHT)
        for test, make in (("cube.present", presented), ("cube.readback", read_back)):
            progress(test)
            figures += await _frames(test, make(scene), gpu, options)
        figures += memory(gpu)
    progress("cube: where a frame's time goes")
    figures += await hops.measure("cube.frame", waited, options)
    return figures


async def _frames(test: str, loop: Callable[[int], Awaitable[None]], gpu: Gpu, options: Options) -> list[Figure]:
    """The rate, and what one frame costs each process and counter."""
    await loop(1)
    cpu, counters, frames = processes.cpu(gpu), await demo.counters(gpu), 0

    async def counted(count: int) -> None:
        nonlocal frames
        frames += count
        await loop(count)

    taken = await seconds(counted, options.pace)
    # Colour and depth set once; read back: the frame copied once more.
    copied = limits.copy_seconds(FRAME_BYTES) if test.endswith("readback") else 0.0
    limit = 1 / (2 * FRAME_BYTES / options.limits.memset_rate() + copied)
    # Presents are not held back by vertical sync: at 100 % of the refresh rate they are all the same.
    against = {"memory": limit, "refresh rate": gpu.stack.options.refresh}
    figures = [Figure(test, "fps", [1 / t for t in taken], "high", against)]
    mean = statistics.mean(taken)
    for name, value in processes.cpu(gpu).items():
        each = (value - cpu[name]) / frames
        figures.append(Figure(f"{test}.cpu.{name}", "ms/frame", [each * 1e3], "low", note=f"{100 * each / mean:.0f} % of a core"))
    for name, value in (await demo.counters(gpu)).items():
        if "byte" in name.lower() and value > counters.get(name, 0):
            each = (value - counters.get(name, 0)) / frames
            figures.append(Figure(f"{test}.{name.replace(' ', '_')}", "B/frame", [each], "low", {"frame": FRAME_BYTES}))
    return figures


def start(test: str, options: Options) -> Figure:
    """Seconds from starting a client process, which starts its private stack, to the end of its first frame.

    The first time on a machine the shaders are compiled, later they come from the cache.
    """
    command = [sys.executable, "-m", "bench.first_frame"]
    if options.engine is not None:
        command += ["--engine", options.engine]
    began = time.monotonic()
    stamps = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    steps, last = [], began
    for name, stamp in stamps.items():
        steps.append(f"{name} {stamp - last:.2f}")
        last = stamp
    began_floor = time.monotonic()
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
    floor = time.monotonic() - began_floor
    return Figure(test, "s", [last - began], "low", {"bare Python": floor}, ", ".join(steps))


def memory(gpu: Gpu) -> list[Figure]:
    """Resident and proportional size of each process, against a Python with the same libraries."""
    floor = floors.resident(IMPORTS)
    return [
        Figure(f"memory.{name}", "MiB", [rss], "low", {"bare Python": floor}, f"Pss {pss:.0f} MiB")
        for name, (rss, pss) in processes.memory(gpu).items()
    ]
