"""Quick code first, better code later: the same results, and nothing is lost when the process that optimises is."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.gpu_scene import Scene
from tests.unit.llvm.test_draws import EXACT, triangles
from vgpu.engine import PipelineState
from vgpu.engine.llvm import LlvmEngine, codegen
from vgpu.engine.llvm import engine as llvm_engine
from vgpu.engine.llvm.codegen import FULL, QUICK
from vgpu.engine.llvm.jit import Code, DiskCache, Jit
from vgpu.engine.llvm.optimizer import WAITING, Optimizer
from vgpu.engine.llvm.parts import Parts
from vgpu.engine.reference import ReferenceEngine
from wddm.hw.packets import Op, Stage

#: Code is worth optimising after its first use.
AT_ONCE = 1e-15
NEVER = float("inf")
SEVEN = "define i32 @seven() {\nret i32 7\n}"

KERNEL = """compute temps=4 group=64,1,1
uav 0 RAW_BUFFER
mov r0, $THREAD_ID_X
iadd r1, r0, -1
imul r0, r0, r1
ushr r0, r0, 1
shl r3, $THREAD_ID_X, 2
uav_store_raw r3, r0 u0 mask=x
"""

#: The same, summed up.
LOOP = """compute temps=4 group=64,1,1
uav 0 RAW_BUFFER
mov r0, 0
mov r1, 0
loop
uge r2, r1, $THREAD_ID_X
breakc r2, 1
iadd r0, r0, r1
iadd r1, r1, 1
endloop
shl r3, $THREAD_ID_X, 2
uav_store_raw r3, r0 u0 mask=x
"""


def engine(scene: Scene) -> LlvmEngine:
    """The engine of a scene."""
    assert isinstance(scene.engine, LlvmEngine)
    return scene.engine


def scene(patience: float, threads: int = 1) -> Scene:
    """A scene with nothing in the cache."""
    s = Scene(lambda m, stop: LlvmEngine(m, stop, threads, patience=patience))
    engine(s).jit.cache = None
    return s


def wait(s: Scene) -> int:
    """Until all that was asked for is compiled; how many parts are."""
    parts = engine(s).pipelines.parts
    parts.optimizer.wait()
    return len(parts.ready)


@pytest.mark.parametrize("name", ["clipped", "eight samples, blend", "stencil", "strip with cuts"])
def test_quick_and_better_code_give_the_same_pixels(name: str) -> None:
    build = triangles(**EXACT[name])
    expected = Scene(ReferenceEngine)
    wanted = build(expected)
    s = scene(AT_ONCE, threads=2)
    surfaces = build(s)
    for turn in range(3):
        expected.run(keep=True)
        s.run(keep=True)
        for a, b in zip(wanted, surfaces, strict=True):
            assert np.array_equal(expected.memory.view(a.address, a.size), s.memory.view(b.address, b.size)), turn
        if turn == 0:
            assert wait(s) >= 4
    assert engine(s).jit.statistics.adopted >= 4


@pytest.mark.parametrize(("program", "adopted"), [(KERNEL, (0, 1, 1)), (LOOP, (0, 0, 0))], ids=["straight", "loop"])
def test_a_dispatch_goes_on_with_better_code_and_one_that_loops_begins_with_it(program: str, adopted: tuple[int, ...]) -> None:
    s = scene(AT_ONCE)
    out = s.buffer(np.zeros(256, np.uint32))
    s.shader(program)
    s.bind(Op.SET_UAV, out, slot=Stage.COMPUTE << 8)
    s.emit(Op.DISPATCH, data=[4, 1, 1])
    expected = np.array([i * (i - 1) // 2 for i in range(256)], np.uint32)
    for count in adopted:
        s.memory.view(out.address, out.size, write=True)[:] = 0
        s.run(keep=True)
        assert np.array_equal(s.read(out, np.uint32), expected)
        assert engine(s).jit.statistics.adopted == count
        wait(s)


def test_code_is_optimised_when_it_has_run_for_long_enough() -> None:
    parts = Parts(Jit(), 1e-3)
    part = parts.get("seven", 0, lambda: SEVEN, QUICK)
    assert part.code.level == QUICK
    long = 1e-3 * len(SEVEN)
    parts.ran([part], long * 0.75)
    parts.optimizer.wait()
    assert not parts.ready
    parts.ran([part], long * 0.75)
    parts.ran([part], long)  # it is asked for once
    parts.optimizer.wait()
    assert len(parts.ready) == 1
    before = part.code
    assert parts.improve() == {part}
    assert (part.code.level, part.code is before) == (FULL, False)
    parts.ran([part], long)
    parts.optimizer.wait()
    assert not parts.ready


def test_without_patience_all_code_is_optimised_and_with_endless_patience_none_ever_is() -> None:
    assert Parts(Jit(), 0).get("seven", 0, lambda: SEVEN, QUICK).code.level == FULL
    parts = Parts(Jit(), NEVER)
    part = parts.get("seven", 0, lambda: SEVEN, QUICK)
    parts.ran([part], 1e6)
    assert part.code.level == QUICK
    assert parts.optimizer.process is None


def test_better_code_is_kept_for_the_next_process(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "c")
    parts = Parts(Jit(cache), AT_ONCE)
    part = parts.get("seven", 0, lambda: SEVEN, QUICK)
    parts.ran([part], 1)
    parts.optimizer.wait()
    parts.improve()
    later = Parts(Jit(cache), AT_ONCE)
    assert later.get("seven", 0, lambda: SEVEN, QUICK).code.level == FULL
    assert (later.jit.statistics.compiled, later.jit.statistics.disk_hits) == (0, 1)


def test_what_is_compiled_at_full_level_may_be_something_else(tmp_path: Path) -> None:
    """Wider code; parts that go together change together, and a later process finds the wider code by what it stands for."""
    cache = DiskCache(tmp_path / "c")
    eight = SEVEN.replace("7", "8").replace("@eight", "@seven")

    def result(code: Code) -> int:
        return int(ctypes.CFUNCTYPE(ctypes.c_int32)(code["seven"])())

    parts = Parts(Jit(cache), AT_ONCE)
    one, two = (parts.get("seven", n, lambda n=n: SEVEN + f"\n; {n}", QUICK, lambda: eight) for n in range(2))  # type: ignore[misc]
    for asked, expected in ((one, [7, 7]), (two, [8, 8])):
        assert [result(code) for code in parts.together([one, two])] == [7, 7]
        parts.ran([asked], 1)
        parts.optimizer.wait()
        assert parts.improve() == {asked}
        assert result(asked.code) == 8
        assert [result(code) for code in parts.together([one, two])] == expected
    later = Parts(Jit(cache), AT_ONCE)
    known = later.get("seven", 0, lambda: SEVEN + "\n; 0", QUICK, lambda: eight)
    unknown = later.get("seven", 2, lambda: SEVEN + "\n; 2", QUICK, lambda: eight)
    assert (result(known.code), result(unknown.code)) == (8, 7)
    assert [result(code) for code in later.together([known, unknown])] == [7, 7]


def test_parts_of_the_same_lanes_at_both_levels_go_with_any(tmp_path: Path) -> None:
    """Where the processor's registers are as wide as pixels are anyway."""
    cache = DiskCache(tmp_path / "c")
    parts = Parts(Jit(cache), AT_ONCE)
    one, two = (parts.get("seven", n, lambda n=n: SEVEN + f"\n; {n}", QUICK) for n in range(2))  # type: ignore[misc]
    parts.ran([one], 1)
    parts.optimizer.wait()
    assert parts.improve() == {one}
    assert [code.level for code in parts.together([one, two])] == [FULL, QUICK]
    later = Parts(Jit(cache), AT_ONCE)
    again = [later.get("seven", n, lambda n=n: SEVEN + f"\n; {n}", QUICK) for n in range(3)]  # type: ignore[misc]
    assert [code.level for code in later.together(again)] == [FULL, QUICK, QUICK]
    assert all(code["seven"] for code in later.together(again))


def test_an_engine_finds_what_one_before_it_optimised(tmp_path: Path) -> None:
    pictures = []
    for compiled in (True, False):
        s = Scene(lambda m, stop: LlvmEngine(m, stop, cache=DiskCache(tmp_path / "c"), patience=AT_ONCE))
        target = triangles(depth=None)(s)[0]
        s.run(keep=True)
        pictures.append(s.pixels(target).copy())
        assert bool(engine(s).jit.statistics.compiled) is compiled
        wait(s)
        s.run()
        pictures.append(s.pixels(target).copy())
    assert all(np.array_equal(picture, pictures[0]) for picture in pictures)


def test_engines_of_other_widths_share_a_cache_and_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pixels of a narrow engine are kept under the text of eight lanes when they are optimised for sixteen."""
    pictures = []
    for counts in ((8, 16), (8, 8), (16, 16), (8, 16)):
        monkeypatch.setattr(llvm_engine, "lane_counts", lambda counts=counts: counts)
        s = Scene(lambda m, stop: LlvmEngine(m, stop, cache=DiskCache(tmp_path / "c"), patience=AT_ONCE))
        target = triangles(depth=None)(s)[0]
        for _ in range(2):
            s.run(keep=True)
            pictures.append(s.pixels(target).copy())
            wait(s)
    assert all(np.array_equal(picture, pictures[0]) for picture in pictures)


def test_what_the_process_cannot_compile_stays_as_it_is() -> None:
    optimizer = Optimizer()
    optimizer.want("bad", "no IR")
    optimizer.want("good", SEVEN)
    optimizer.wait()
    (bad, nothing), (good, image) = optimizer.done
    assert (bad, nothing, good) == ("bad", None, "good")
    assert image
    assert Jit().adopt(SEVEN, image)["seven"]


def test_another_process_is_started_when_one_was_killed() -> None:
    optimizer = Optimizer(idle=600)
    seen = []
    for token in range(2):
        optimizer.want(token, SEVEN)
        optimizer.wait()
        process = optimizer.process
        assert process is not None
        process.kill()
        process.wait()
        seen.append(process)
    assert seen[0] is not seen[1]
    assert all(image for _, image in optimizer.done)


def test_an_idle_process_ends_and_another_serves_the_next_request() -> None:
    optimizer = Optimizer(idle=0)
    for token in range(2):
        optimizer.want(token, SEVEN)
        optimizer.wait()
        while optimizer.process is not None:
            os.sched_yield()
    assert [bool(image) for _, image in optimizer.done] == [True, True]


def test_a_process_that_nobody_waits_for_ends_without_a_word() -> None:
    command = [sys.executable, "-P", codegen.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        codegen.write_message(process.stdin, SEVEN.encode())
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize("program", ["/bin/false", "/nowhere/python"])
def test_a_process_that_dies_or_does_not_start_leaves_the_quick_code(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(sys, "executable", program)
    parts = Parts(Jit(), AT_ONCE)
    part = parts.get("seven", 0, lambda: SEVEN, QUICK)
    before = part.code
    parts.ran([part], 1)
    parts.optimizer.wait()
    assert parts.improve() == set()
    assert part.code is before
    parts.ran([part], 1)  # it is not asked for again
    assert not parts.ready


def test_the_process_ends_with_the_engine() -> None:
    s = scene(AT_ONCE)
    triangles()(s)
    s.run()
    wait(s)
    process = engine(s).pipelines.parts.optimizer.process
    assert process is not None
    thread = engine(s).pipelines.parts.optimizer.thread
    del s
    gc.collect()
    assert thread is not None
    thread.join()
    assert process.returncode is not None


def test_a_context_may_be_reset_while_its_code_is_optimised() -> None:
    s = scene(AT_ONCE)
    target = triangles(depth=None)(s)[0]
    s.run(keep=True)
    expected = s.pixels(target).copy()
    engine(s).forget(s.state)
    assert wait(s) >= 4
    s.state = PipelineState()
    s.pixels(target)[:] = 0
    s.run()
    assert np.array_equal(s.pixels(target), expected)


def test_a_second_context_draws_with_better_code_that_came_in_between() -> None:
    """What one context recorded before must not be called after."""
    s = scene(AT_ONCE)
    target = triangles(depth=None)(s)[0]
    packets = s.packets
    s.run(keep=True)
    expected = s.pixels(target).copy()
    first, s.state = s.state, PipelineState()
    s.submit(np.concatenate(packets))
    wait(s)
    engine(s).flush(s.state)
    assert engine(s).jit.statistics.adopted >= 4
    s.pixels(target)[:] = 0
    s.state = first
    s.submit(packets[-1])  # the draw alone
    assert np.array_equal(s.pixels(target), expected)


def test_requests_are_bounded() -> None:
    optimizer = Optimizer()
    waiting = 0
    while not optimizer.full and waiting <= WAITING + 1:
        optimizer.want(waiting, SEVEN)
        waiting += 1
    assert optimizer.full
    optimizer.wait()
    assert [token for token, _ in optimizer.done] == list(range(waiting))
