"""What is fuzzed: each target takes a seed, and tells what was wrong, or None."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tests.fuzz.scenes import REGISTERS_OUT, STATISTICS_STRIDE, dispatch_scene, draw_scene
from tests.fuzz.stages import stage_scene
from tests.support.gpu_scene import Scene, Surface
from vgpu.engine import Engine, StopWord
from vgpu.engine.llvm import LlvmEngine
from vgpu.engine.llvm import engine as llvm_engine
from vgpu.engine.reference import ReferenceEngine
from vgpu.fault import FaultError
from vgpu.memory import Memory
from wddm.hw.formats import FORMATS, Format, NumberType
from wddm.hw.interrupts import Fault
from wddm.hw.memory import LOCAL_BASE
from wddm.hw.packets import PACKET, Op

LOCAL: Final = 16 << 20
GAP: Final = 256  #: bytes between allocations that nobody may write
CANARY: Final = 0xA5
#: Seconds until the stop word is set.
PATIENCE: Final = 20.0
#: What happened, for people: faults, and what ran on the reference engine.
seen: Counter[str] = Counter()


class GuardedScene(Scene):
    """A scene with gaps between its allocations, one of which, by chance, ends where memory does, before the guard pages."""

    def __init__(self, make_engine: Callable[[Memory, StopWord], Engine], seed: int) -> None:
        super().__init__(make_engine, LOCAL)
        self._last = random.Random(seed).randrange(12)
        self._gaps: list[int] = []

    def allocate(self, size: int, alignment: int = 256) -> int:
        """Bytes of local memory."""
        self._last -= 1
        if self._last == -1:
            return (LOCAL_BASE + LOCAL - size) & -4
        at = super().allocate(size, alignment)
        self.memory.view(at + size, GAP, write=True)[:] = CANARY
        self._gaps.append(at + size)
        self.next += GAP
        return at

    def overrun(self) -> bool:
        """Whether a byte in a gap was written."""
        return any((self.memory.view(at, GAP) != CANARY).any() for at in self._gaps)


@dataclass
class Outcome:
    """What a scene left behind."""

    surfaces: list[Surface]
    data: list[npt.NDArray[np.uint8]]
    fault: Fault | None
    wrong: str | None = None


def play(
    seed: int,
    build: Callable[[Scene], list[Surface]],
    *,
    reference: bool = False,
    threads: int = 1,
    lanes: int | None = None,
    patience: float = PATIENCE,
) -> Outcome:
    """Build and run a scene; whatever is no fault comes out as the exception it is."""
    s = GuardedScene(lambda m, w: ReferenceEngine(m, w) if reference else LlvmEngine(m, w, threads, lanes=lanes), seed)
    surfaces = build(s)
    fault = None
    timer = threading.Timer(patience, s.stop.set)
    timer.daemon = True
    timer.start()
    try:
        s.run()
    except FaultError as error:
        fault = error.fault
        seen[f"fault {fault.name}"] += 1
    finally:
        timer.cancel()
    wrong = "a gap between surfaces was written" if s.overrun() else None
    data = [s.memory.view(x.address, x.size).copy() for x in surfaces]
    s.memory.close()
    return Outcome(surfaces, data, fault, wrong)


def settled(surface: Surface, raw: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """With one NaN for all, whose payload is free, and without what no rule tells."""

    def settle(floats: npt.NDArray[Any]) -> None:
        floats[np.isnan(floats)] = np.nan

    if surface.view.stride == STATISTICS_STRIDE:  # which vertices are shaded again is free
        raw.view(np.uint64)[3] = 0
    elif surface.view.stride == REGISTERS_OUT:  # what exact kernels leave: integers, floats, doubles
        rows = raw.view(np.uint32).reshape(-1, 24)
        floats, doubles = rows[:, 8:16].copy().view(np.float32), rows[:, 16:24].copy().view(np.float64)
        settle(floats)
        settle(doubles)
        rows[:, 8:16], rows[:, 16:24] = floats.view(np.uint32), doubles.view(np.uint32)
    elif surface.layout is not None:
        info = FORMATS[Format(surface.view.format)]
        bits = {c.bits for c in info.channels}
        if info.type is NumberType.FLOAT and bits in ({16}, {32}):
            settle(raw.view(np.float16 if bits == {16} else np.float32))
    return raw


def difference(a: Outcome, b: Outcome) -> str | None:
    """What tells two runs of one scene apart."""
    if a.wrong or b.wrong:
        return a.wrong or b.wrong
    if Fault.HANG in (a.fault, b.fault):
        seen["too slow to be compared"] += 1
        return None
    if a.fault != b.fault:
        return f"faults {a.fault!r} and {b.fault!r}"
    if a.fault is not None:
        return None
    for i, (surface, x, y) in enumerate(zip(a.surfaces, a.data, b.data, strict=True)):
        if not np.array_equal(settled(surface, x), settled(surface, y)):
            what = Format(surface.view.format).name if surface.layout is not None else surface.view.dimension.name
            return f"surface {i}, {what} of {surface.view.samples} samples: {int((x != y).sum())} of {x.size} bytes differ"
    return None


@contextmanager
def many_threads() -> Iterator[None]:
    """Even little work is shared among all threads."""
    before = llvm_engine.PARALLEL_ENTRIES, llvm_engine.PARALLEL_INVOCATIONS
    llvm_engine.PARALLEL_ENTRIES = llvm_engine.PARALLEL_INVOCATIONS = 1
    try:
        yield
    finally:
        llvm_engine.PARALLEL_ENTRIES, llvm_engine.PARALLEL_INVOCATIONS = before


def draws(seed: int) -> str | None:
    """Draws that are exact: both engines, one to four threads."""

    def build(s: Scene) -> list[Surface]:
        return draw_scene(s, seed, exact=True)

    with many_threads():
        return difference(play(seed, build, reference=True), play(seed, build, threads=1 + seed % 4))


def stages(seed: int) -> str | None:
    """Geometry, tessellation and stream output: both engines, one to four threads, eight and sixteen lanes."""

    def build(s: Scene) -> list[Surface]:
        return stage_scene(s, seed)

    with many_threads():
        lanes = 16 if seed % 8 >= 4 else 8
        return difference(play(seed, build, reference=True), play(seed, build, threads=1 + seed % 4, lanes=lanes))


def dispatches(seed: int) -> str | None:
    """Kernels that are exact: both engines, one to four threads, eight and sixteen lanes."""

    def build(s: Scene) -> list[Surface]:
        return dispatch_scene(s, seed, exact=True)

    with many_threads():
        lanes = 16 if seed % 8 >= 4 else 8
        return difference(play(seed, build, reference=True), play(seed, build, threads=1 + seed % 4, lanes=lanes))


def threads(seed: int) -> str | None:
    """Draws with every operation on any bits: one thread and several leave the same."""

    def build(s: Scene) -> list[Surface]:
        return draw_scene(s, seed, exact=False)

    with many_threads():
        return difference(play(seed, build), play(seed, build, threads=2 + seed % 3))


def kernels(seed: int) -> str | None:
    """Kernels with every operation on any bits: they run, or they fault."""
    return play(seed, lambda s: dispatch_scene(s, seed, exact=False), threads=1 + seed % 3).wrong


def damage(seed: int) -> str | None:
    """Valid scenes with some bits changed, in packets, descriptors, programs and data: they run, or they fault."""

    def build(s: Scene) -> list[Surface]:
        r = random.Random(seed)
        kind, exact = r.random(), r.random() < 0.5
        surfaces = stage_scene(s, seed) if kind < 0.3 else (draw_scene if kind < 0.7 else dispatch_scene)(s, seed, exact=exact)
        packets = np.concatenate(s.packets)
        raw = packets.view(np.uint8).reshape(len(packets), PACKET.itemsize)
        for _ in range(r.randrange(1, 5)):
            i, kind = r.randrange(len(packets)), r.random()
            if kind < 0.3:
                raw[i, r.randrange(PACKET.itemsize)] ^= 1 << r.randrange(8)
            elif kind < 0.6:
                packets["data"][i, r.randrange(8)] = r.choice((0, 1, 0xFFFFFFFF, 0x7FC00000, 0x80000000, 0xFFFF, r.getrandbits(32)))
            elif kind < 0.7:
                packets["extent"][i] = r.choice((0, 1, 4, 63, 0xFFFFFFFF, r.getrandbits(16)))
            else:  # in memory: programs above all
                i = r.choice([i, *np.flatnonzero(packets["op"] == Op.SET_SHADER).tolist()])
                at, size = int(packets["address"][i]), int(packets["extent"][i])
                if LOCAL_BASE <= at < at + size <= LOCAL_BASE + LOCAL:
                    memory = s.memory.view(at, size, write=True)
                    for _ in range(r.choice((1, 1, 4))):
                        memory[r.randrange(size)] ^= 1 << r.randrange(8)
        few = np.isin(packets["op"], (Op.DRAW, Op.DRAW_INDEXED, Op.DISPATCH))
        packets["data"][few, :2] &= 0xFF  # not for ever
        s.packets = [packets]
        return surfaces

    return play(seed, build, reference=seed % 4 == 0, threads=1 + seed % 2, patience=3).wrong


TARGETS: Final[dict[str, Callable[[int], str | None]]] = {
    f.__name__: f for f in (draws, stages, dispatches, threads, kernels, damage)
}
