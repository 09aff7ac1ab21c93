"""``bench latency``: submit→fence as the client sees it, against both floors of the same run, the processor time of each process,
and where the microseconds go."""

from __future__ import annotations

from functools import partial

import wddm
from bench import floors, hops, processes
from bench.figures import Figure, percentile
from bench.options import Options, progress
from bench.scenes import latency as scenes
from bench.scenes.library import Ours
from bench.timing import Loop, round_trips
from wddm.stack import launch


async def empty(ours: Ours, spin: float | None = None) -> Loop:
    """A command buffer that draws nothing (one timestamp), through every process and back; a flush of nothing would end in the
    runtime."""
    query = await ours.device.create_query(wddm.QueryType.TIMESTAMP)
    ctx = ours.ctx

    async def loop(count: int) -> None:
        for _ in range(count):
            ctx.end(query)
            await ctx.wait_idle(spin=spin)

    return loop


CASES = (
    ("latency.empty", empty),
    ("latency.draw1px", scenes.draw),
    ("latency.empty.by_message", partial(empty, spin=0.0)),  # nobody looks at the fence page
    ("latency.nothing", scenes.empty),  # nothing recorded: the client knows that all is done
)


async def measure(options: Options) -> list[Figure]:
    """One run."""
    rounds = options.pace.rounds * 2
    progress("latency: floors")
    doorbell, trio_msgpack = floors.apart(rounds)
    taken: dict[str, list[float]] = {}
    spent: dict[str, dict[str, float]] = {}
    async with launch(**options.stack()) as gpu:
        for test, prepare in CASES:
            progress(test)
            loop = await prepare(await Ours.open(gpu))
            await round_trips(loop, min(200, rounds))
            before = processes.cpu(gpu)
            taken[test] = await round_trips(loop, rounds)
            spent[test] = {name: value - before[name] for name, value in processes.cpu(gpu).items()}
    progress("latency: floors again")
    more = floors.apart(rounds)
    doorbell, trio_msgpack = doorbell + more[0], trio_msgpack + more[1]

    figures = []
    for test, samples in taken.items():
        for suffix, percent in (("", 50), (".p99", 99)):
            against = {
                "doorbell floor": percentile(doorbell, percent),
                "trio+msgpack floor": percentile(trio_msgpack, percent),
            }
            kept = samples if percent == 50 else [percentile(samples, percent)]
            figures.append(Figure(f"{test}{suffix}", "us", kept, "low", against))
        for name, value in spent[test].items():
            figures.append(Figure(f"{test}.cpu.{name}", "us each", [value / rounds * 1e6], "low"))
    figures += await breakdown(options)
    return figures


async def breakdown(options: Options) -> list[Figure]:
    """The hops of an empty command buffer and of a one-pixel draw, from the timelines of a run of their own."""
    figures = []
    for test, prepare in CASES[:2]:
        progress(f"{test}: where the time goes")
        figures += await hops.measure(test, prepare, options)
    return figures
