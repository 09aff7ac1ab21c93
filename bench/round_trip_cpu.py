"""Processor time of one submit→fence round trip through the whole stack in one process: wake-ups and load left out.

``python -m bench.round_trip_cpu [--profile]``: microseconds of processor time for a one-pixel draw and a clear; the profile tells
where they go. For comparing before and after a change on a busy machine; ``./dev bench latency`` measures the real thing.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time

import trio

from tests.support.scenes import Simple
from tests.support.stack import whole_stack
from wddm.hw.registers import EngineKind


async def measure(profile: bool, rounds: int) -> None:
    """Print the figures."""
    async with whole_stack(engine=EngineKind.LLVM) as stack, stack.connect() as gpu:
        scene = await Simple.create(gpu, size=(8, 8))
        ctx = scene.ctx

        async def draw() -> None:
            ctx.om_set_render_targets([scene.rtv])
            ctx.draw(3, 0)
            await ctx.wait_fence(ctx.signal(), spin=0)

        async def clear() -> None:
            ctx.clear_render_target_view(scene.rtv, (0, 0, 0, 1))
            await ctx.wait_fence(ctx.signal(), spin=0)

        for name, work in (("draw", draw), ("clear", clear)):
            for _ in range(50):
                await work()
            best = float("inf")
            for _ in range(5):
                began = time.process_time()
                for _ in range(rounds):
                    await work()
                best = min(best, (time.process_time() - began) / rounds * 1e6)
            print(f"{name}: {best:.0f} us of processor time a round trip (best of 5 x {rounds})")
        if profile:
            profiler = cProfile.Profile()
            profiler.enable()
            for _ in range(rounds):
                await draw()
            profiler.disable()
            stats = pstats.Stats(profiler)
            stats.sort_stats("tottime").print_stats(40)
            stats.sort_stats("cumtime").print_stats(60)


def main() -> None:
    """Command line."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--profile", action="store_true")
    p.add_argument("--rounds", type=int, default=200)
    options = p.parse_args()
    trio.run(measure, options.profile, options.rounds)


if __name__ == "__main__":
    main()
