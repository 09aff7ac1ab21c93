"""``bench draws``: 10,000 small draws a frame with nothing, constants, blend state or texture changing between them, and the
processor time of a draw in each process.

The limit is what the command stream alone costs: the recorded commands packed and unpacked once as MessagePack, by one core.
"""

from __future__ import annotations

import time
from typing import Any, Final

import msgpack

from bench import processes
from bench.figures import Figure
from bench.options import Options, progress
from bench.scenes import drawrate
from bench.scenes.library import Ours
from bench.timing import seconds
from wddm.stack import launch

KINDS: Final = ("same", "uniform", "blend", "texture")


async def measure(options: Options) -> list[Figure]:
    """One run."""
    figures = []
    async with launch(**options.stack()) as gpu:
        for kind in KINDS:
            test = f"draws.{kind}"
            if not options.wants(test):
                continue
            progress(test)
            ours = await Ours.open(gpu)
            loop = await drawrate.draws(ours, kind)
            await loop(1)
            before, frames = processes.cpu(gpu), 0

            async def counted(count: int, loop: Any = loop) -> None:
                nonlocal frames
                frames += count
                await loop(count)

            taken = await seconds(counted, options.pace)
            spent = {name: value - before[name] for name, value in processes.cpu(gpu).items()}
            rate = [drawrate.COUNT / t / 1e3 for t in taken]
            figures.append(Figure(test, "kdraw/s", rate, "high", {"command stream": 1e3 / stream_microseconds(kind)}))
            total = sum(spent.values()) or 1.0
            for name, value in spent.items():
                each = value / (frames * drawrate.COUNT) * 1e6
                figures.append(Figure(f"{test}.cpu.{name}", "us/draw", [each], "low", note=f"{100 * value / total:.0f} % of all"))
    return figures


def stream_microseconds(kind: str, count: int = 2000) -> float:
    """Packing and unpacking the commands of one draw of ``kind``, microseconds of one core."""
    from wddm.wire import api_commands as c

    one: list[tuple[Any, ...]] = [(c.DRAW, 6, 0)]
    if kind != "same":
        one.insert(0, (c.WRITE_DYNAMIC, 5, 0, 4, 0, bytes(16)))
    if kind == "blend":
        one.insert(0, (c.OM_SET_BLEND_STATE, 7, (1.0, 1.0, 1.0, 1.0), 0xFFFF_FFFF))
    elif kind == "texture":
        one.insert(0, (c.SET_SHADER_RESOURCES, 4, 0, [9]))
    commands = one * count
    best = float("inf")
    for _ in range(7):
        began = time.perf_counter()
        msgpack.unpackb(msgpack.packb(commands))
        best = min(best, time.perf_counter() - began)
    return best / count * 1e6
