"""Measure the engine: ``python -m bench.engine.run [name part …] [--threads N] [--lanes N] [--samples N]``.

Prints the median of some samples per workload, the spread, and the ratio to the best recorded median of the software renderers that
the project compares itself with (measured elsewhere, whole stack; here the engine runs alone, so that the ratio is a ceiling).
``--cpu`` measures processor time instead of wall time and prints what one core does: for machines that do other things meanwhile.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from bench.engine.scenes import TEXTURE_PS, WORKLOADS, quad_scene
from vgpu.engine import StopWord
from vgpu.engine.llvm import LlvmEngine
from vgpu.engine.reference import ReferenceEngine
from vgpu.memory import Memory
from wddm.hw.descriptors import Sampler, TargetBlend
from wddm.hw.formats import Format
from wddm.hw.packets import Op, Stage

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


def measure(
    name: str, threads: int, lanes: int | None, samples: int, clock: Callable[[], float]
) -> tuple[list[float], str, float]:
    """Rates (or milliseconds) of the samples, unit, and seconds of the first run."""
    engines: list[LlvmEngine] = []

    def make(memory: Memory, stop: StopWord) -> LlvmEngine:
        engines.append(LlvmEngine(memory, stop, threads, lanes=lanes))
        return engines[-1]

    work = WORKLOADS[name](make)
    start = clock()
    work.run()
    first = clock() - start
    work.run()
    engines[0].pipelines.parts.optimizer.wait()  # what is hot already is measured optimised
    inner, start = 0, clock()
    while clock() - start < 0.15:
        work.run()
        inner += 1
    out = []
    for _ in range(samples):
        start = clock()
        for _ in range(inner):
            work.run()
        each = (clock() - start) / inner
        out.append(each * 1e3 if work.unit.startswith("ms") else work.amount / each)
    return out, work.unit, first


def reference(name: str, clock: Callable[[], float]) -> float:
    """The rate (or milliseconds) of the reference engine, once."""
    work = WORKLOADS[name](ReferenceEngine)
    start = clock()
    work.run()
    each = clock() - start
    return each * 1e3 if work.unit.startswith("ms") else work.amount / each


_TRIVIAL = "pixel temps=2\noutput 0 xyzw sv=TARGET\n" + "".join(f"mov o0.{c}, {{0}}\n" for c in "xyzw")
_TEXTURED = TEXTURE_PS.replace("mov o0.x, r2", "fmul o0.x, r2, {0}")


def first_draws(clock: Callable[[], float]) -> None:
    """Milliseconds to the first draw of a pixel shader never seen before, and of one whose blend state changes."""

    def make(memory: Memory, stop: StopWord) -> LlvmEngine:
        engine = LlvmEngine(memory, stop)
        engine.jit.cache = None
        return engine

    for name, text in (("trivial", _TRIVIAL), ("textured", _TEXTURED)):
        s = quad_scene(make, text.format(0.1))
        s.bind(Op.SET_RESOURCE, s.texture(Format.R8G8B8A8_UNORM, 64, 64), slot=Stage.PIXEL << 8)
        s.sampler(Sampler())
        s.viewport(8, 8)
        s.draw(6)
        s.run()
        first, variant = [], []
        for i in range(7):
            s.blend(TargetBlend())
            s.shader(text.format(0.2 + i / 64))
            s.draw(6)
            start = clock()
            s.run()
            first.append((clock() - start) * 1e3)
            s.blend(TargetBlend(True, 5, 6, 1, 2 + i, 6, 1, 15))
            s.draw(6)
            start = clock()
            s.run()
            variant.append((clock() - start) * 1e3)
        print(f"jit.{name}.first_draw {statistics.median(first):.1f} ms, new blend state {statistics.median(variant):.1f} ms")


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lanes", type=int)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--reference", action="store_true", help="compare what peers have no figures for with the reference engine")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    threads = 1 if options.cpu else options.threads
    print(f"{'workload':32} {'median':>9} {'min':>9} {'max':>9} {'unit':9} {'peer':>7} {'ratio':>7} {'first ms':>9}")
    ratios = []
    for name in WORKLOADS:
        if options.names and not any(part in name for part in options.names):
            continue
        values, unit, first = measure(name, threads, options.lanes, options.samples, clock)
        median, peer = statistics.median(values), PEERS.get(name, float("nan"))
        if options.reference and name not in PEERS:
            peer = reference(name, clock)
        ratio = peer / median if unit.startswith("ms") else median / peer
        if name in PEERS:
            ratios.append(ratio)
        low, high = min(values), max(values)
        print(
            f"{name:32} {median:9.3f} {low:9.3f} {high:9.3f} {unit:9} {peer:7.3f} {ratio:7.2f} {first * 1e3:9.1f}",
            flush=True,
        )
    if not options.names or "jit" in options.names:
        first_draws(clock)
    if ratios:
        print(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
