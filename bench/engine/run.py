"""Measure the engine: ``python -m bench.engine.run [name part …] [--threads N] [--lanes N] [--samples N]``.

Prints the median of some samples per workload, the spread, and the ratio to the best recorded median of the software renderers that
the project compares itself with (measured elsewhere, whole stack; here the engine runs alone, so that the ratio is a ceiling).
"""

from __future__ import annotations

import argparse
import statistics
import time

from bench.engine.scenes import WORKLOADS
from vgpu.engine.llvm import LlvmEngine

#: Best of the peers' recorded medians, same units.
PEERS = {
    "fill.clear.finish": 3.8,
    "fill.quad.finish": 0.686,
    "fill.gradient.flush": 0.582,
    "blend.x16.instanced": 0.545,
    "blend.x16.draws": 0.493,
    "texture.nearest.uv1": 0.355,
    "texture.bilinear.uv1": 0.218,
    "texture.bilinear.uv4": 0.252,
    "texture.trilinear.uv4": 0.123,
    "texture.trilinear.uv1": 0.156,
    "tri_small.soup": 1.37,
    "tri_small.grid": 2.6,
    "tri_large.random": 43.5,
    "tri_large.b2f": 63.7,
    "tri_large.f2b": 37.4,
    "shader.mad200.gflops": 29.5,
    "shader.mandel64.fixed.gflops": 34.8,
    "shader.mandel64.break.ms": 7.06,
    "shader.trig16.ms": 53.5,
    "compute.saxpy16M.wg64": 1.12,
    "compute.saxpy16M.wg256": 1.23,
    "compute.matmul512.naive": 0.263,
    "compute.matmul512.tiled": 0.171,
    "drawrate.same": 559,
    "drawrate.uniform": 72.9,
    "drawrate.blend": 131,
    "drawrate.texture": 127,
    "drawrate.clipped": 695,
}


def measure(name: str, threads: int, lanes: int | None, samples: int) -> tuple[list[float], str, float, LlvmEngine]:
    """Rates (or milliseconds) of the samples, unit, seconds of the first run, and the engine."""
    engines: list[LlvmEngine] = []

    def make(memory, stop):  # type: ignore[no-untyped-def]
        engines.append(LlvmEngine(memory, stop, threads, lanes=lanes))
        return engines[-1]

    work = WORKLOADS[name](make)
    start = time.perf_counter()
    work.run()
    first = time.perf_counter() - start
    work.run()
    inner, start = 0, time.perf_counter()
    while time.perf_counter() - start < 0.15:
        work.run()
        inner += 1
    out = []
    for _ in range(samples):
        start = time.perf_counter()
        for _ in range(inner):
            work.run()
        each = (time.perf_counter() - start) / inner
        out.append(each * 1e3 if work.unit.startswith("ms") else work.amount / each)
    return out, work.unit, first, engines[0]


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lanes", type=int)
    parser.add_argument("--samples", type=int, default=5)
    options = parser.parse_args()
    print(f"{'workload':32} {'median':>9} {'min':>9} {'max':>9} {'unit':9} {'peer':>7} {'ratio':>7} {'first ms':>9}")
    ratios = []
    for name in WORKLOADS:
        if options.names and not any(part in name for part in options.names):
            continue
        values, unit, first, engine = measure(name, options.threads, options.lanes, options.samples)
        median, peer = statistics.median(values), PEERS.get(name, float("nan"))
        ratio = peer / median if unit.startswith("ms") else median / peer
        ratios.append(ratio)
        low, high = min(values), max(values)
        notes = f" {dict(engine.fallbacks)}" if engine.fallbacks else ""
        print(
            f"{name:32} {median:9.3f} {low:9.3f} {high:9.3f} {unit:9} {peer:7.3f} {ratio:7.2f} {first * 1e3:9.1f}{notes}",
            flush=True,
        )
    print(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
