"""Hull and domain programs around the tessellator on both engines: every vertex, triangle and pixel alike."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.stages import FACTORS, KINDS, QUAD, TRIANGLE, domain_program, hull, tessellation_scene
from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from vgpu.engine.llvm import LlvmEngine
from vgpu.fault import FaultError
from wddm.hw.packets import Op, Topology


def check(build: Callable[[Scene], list[Surface]], *, lanes: int | None = None) -> int:
    """Everything is the same, but that depth between the ends of a line may be rounded the other way; how many bytes were streamed."""
    pairs = run_both(build, lanes=lanes)
    for number, (reference, compiled) in enumerate(pairs):
        if number == 1:
            step = reference.view(np.uint32).astype(np.int64) - compiled.view(np.uint32)
            assert (step != 0).sum() <= 2
            assert np.abs(step).max() <= 1
        else:
            assert np.array_equal(reference, compiled), number
    return int(pairs[3][0].view(np.uint32)[0])


@pytest.mark.parametrize("partitioning", [1, 2, 3, 4])
@pytest.mark.parametrize(("domain", "output"), KINDS)
def test_every_kind(domain: int, output: int, partitioning: int) -> None:
    for seed, factors in enumerate(((1, 1, 1, 1, 1, 1), (2.5, 3, 7.25, 1, 4.5, 6))):
        assert check(tessellation_scene(seed, domain, partitioning, output, factors, patches=3))


FACTOR = st.one_of(
    st.floats(0.25, 66, width=32), st.sampled_from([0.0, -1.0, float("nan"), 1.0, 2.0, 1.0000001, 1e-40, float("inf")])
)


@settings(deadline=None, max_examples=12, database=None)
@given(
    seed=st.integers(0, 1 << 30),
    kind=st.sampled_from(KINDS),
    partitioning=st.integers(1, 4),
    factors=st.lists(FACTOR, min_size=6, max_size=6),
    lanes=st.sampled_from([8, 16]),
)
def test_random_factors(seed: int, kind: tuple[int, int], partitioning: int, factors: list[float], lanes: int) -> None:
    check(tessellation_scene(seed, kind[0], partitioning, kind[1], factors, patches=3), lanes=lanes)


@pytest.mark.parametrize("domain", [TRIANGLE, QUAD])
def test_a_geometry_program_behind(domain: int) -> None:
    for seed in range(2):
        assert check(tessellation_scene(seed, domain, 1, 3, (3, 4, 5, 2, 6, 3), geometry=True, patches=20))


def test_the_largest_patches() -> None:
    for domain, partitioning in itertools.product((TRIANGLE, QUAD), (1, 3)):
        assert check(tessellation_scene(5, domain, partitioning, 4, [64] * 6, patches=2))


def bad(*texts: str, topology: int = Topology.PATCHLIST_1 + 3) -> Scene:
    """A scene of four-point patches with these programs instead."""
    s = Scene(lambda m, stop: LlvmEngine(m, stop))
    tessellation_scene(4, QUAD, 1, 3, [2] * 6)(s)
    s.packets = [p for p in s.packets if p["op"][0] != Op.DRAW]
    for text in texts:
        s.shader(text)
    s.emit(Op.SET_TOPOLOGY, arg=topology)
    return s


def test_stages_that_do_not_fit_are_refused() -> None:
    s = bad(hull(random.Random(4), QUAD, 1, 3, 5)[0])
    s.draw(8)
    with pytest.raises(FaultError, match="hull program of 5 control points gets patches of 4"):
        s.run()
    s = bad(domain_program(random.Random(1), TRIANGLE, 4, streams=False), hull(random.Random(4), QUAD, 1, 3, 4)[0])
    s.draw(8)
    with pytest.raises(FaultError, match="different domains"):
        s.run()
    s = bad(topology=Topology.TRIANGLELIST)
    s.draw(3)
    with pytest.raises(FaultError, match="go together"):
        s.run()


ENDLESS = "loop\nmov r0, r0\nendloop\n"


@pytest.mark.parametrize("where", ["control points", "patch constants", "domain"])
def test_endless_programs_are_stopped(where: str) -> None:
    text = "hull temps=8 primitive=0x404 topology=0x313\noutput 0 x\n" + "".join(
        f"patch {i} x sv={name}\n" for i, name in enumerate(FACTORS[QUAD])
    )
    text += ENDLESS * (where == "control points") + "mov o0.x, 1.0\npatch_entry\n" + ENDLESS * (where == "patch constants")
    text += "".join(f"mov o{i}.x, 2.0\n" for i in range(6))
    after = "domain temps=8 primitive=4 topology=3\noutput 0 xyzw sv=POSITION\noutput 1 xyzw\n" + ENDLESS * (where == "domain")
    s = bad(text, after)
    s.draw(8)
    s.stop.set()
    with pytest.raises(FaultError, match="stop"):
        s.run()


def test_threads_and_a_small_arena_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bins that overflow in the middle of a batch, and of a patch, are emptied in order, by any number of threads."""
    build = tessellation_scene(6, QUAD, 1, 3, [9, 14, 11, 10, 13, 8], patches=60)

    def picture(threads: int) -> list[bytes]:
        s = Scene(lambda m, stop: LlvmEngine(m, stop, threads))
        surfaces = build(s)
        s.run()
        return [s.memory.view(x.address, x.size).tobytes() for x in surfaces]

    whole = picture(1)
    monkeypatch.setattr("vgpu.engine.llvm.engine.ARENA_BYTES", 1 << 16)
    assert whole == picture(1) == picture(2) == picture(3)
