"""What must never happen: a hang that cannot be stopped, a byte outside, code from a damaged cache."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from tests.unit.vgpu.test_tessellation import DS, HS, PS, VS
from vgpu.engine import PipelineState
from vgpu.engine.llvm import LlvmEngine
from vgpu.engine.llvm import engine as llvm_engine
from vgpu.engine.llvm.jit import DiskCache, Jit
from vgpu.engine.reference import ReferenceEngine
from vgpu.fault import FaultError
from wddm.hw.descriptors import InputElement, Rasterizer, View, ViewDimension
from wddm.hw.formats import Format
from wddm.hw.interrupts import Fault
from wddm.hw.isa import INSTRUCTION
from wddm.hw.isa import Op as Isa
from wddm.hw.isa_text import assemble
from wddm.hw.memory import LOCAL_BASE
from wddm.hw.packets import Op, Stage, Topology

ENDLESS = """compute temps=4 group=64,1,1
uav 0 RAW_BUFFER
loop
iadd r0, r0, 1
endloop
"""


@pytest.mark.parametrize("condition", ["", "ine r1, $ID_IN_GROUP_FLAT, 9999\nbreakc.z r1, 1\n"])
def test_an_endless_loop_is_stopped(condition: str) -> None:
    s = Scene(lambda m, stop: LlvmEngine(m, stop))
    s.shader(ENDLESS.replace("endloop", condition + "endloop"))
    s.emit(Op.DISPATCH, data=[4, 1, 1])
    timer = threading.Timer(0.1, s.stop.set)
    timer.start()
    with pytest.raises(FaultError) as caught:
        s.run()
    timer.join()
    assert caught.value.fault == Fault.HANG


_GS = """geometry temps=8 primitive=3 topology=5 max_vertices=3
input 0 xyzw sv=POSITION
output 0 xyzw sv=POSITION
mov r1, 0
loop
uge r0, r1, 3
breakc r0, 1
load_input o0.x, 0, r1
load_input o0.y, 1, r1
mov o0.w, 1.0
emit 0
iadd r1, r1, 1
endloop
"""
_CS = "compute temps=4 group=64,1,1\niadd r0, r0, 1\n"
_STAGES = {text.split()[0]: text for text in (VS, HS, DS, _GS, PS, _CS)}


@pytest.mark.parametrize("engine", ["reference", "llvm", "llvm, three threads"])
@pytest.mark.parametrize("stage", _STAGES)
def test_an_endless_loop_in_any_stage_is_stopped_and_the_next_draw_is_whole(stage: str, engine: str, monkeypatch) -> None:
    monkeypatch.setattr(llvm_engine, "PARALLEL_ENTRIES", 1)
    monkeypatch.setattr(llvm_engine, "PARALLEL_INVOCATIONS", 1)
    s = Scene(lambda m, w: ReferenceEngine(m, w) if engine == "reference" else LlvmEngine(m, w, 3 if "three" in engine else 1))
    program = assemble(_STAGES[stage])
    loop = np.zeros(2, INSTRUCTION)
    loop["op"] = Isa.LOOP, Isa.ENDLOOP
    program.instructions = np.concatenate([loop, program.instructions])
    program.patch_entry += 2 * bool(program.patch_entry)
    target = s.texture(Format.R8_UNORM, 128, 128)
    corners = np.array([[-1, 1], [1, 1], [-1, -1], [1, -1]], np.float32)

    def draw(text: str) -> None:
        s.state = PipelineState()
        for name, whole in _STAGES.items():
            s.shader(program if name == text else whole)
        s.vertices(np.pad(corners, [(0, 0), (0, 2)]), 16, [InputElement(0, 0, Format.R32G32B32A32_FLOAT, 0)])
        s.emit(Op.SET_TOPOLOGY, arg=Topology.PATCHLIST_1 + 3)
        s.viewport(128, 128)
        s.rasterizer(Rasterizer(cull=1))
        s.bind(Op.SET_RENDER_TARGET, target, arg=1)
        if stage == "compute":
            s.emit(Op.DISPATCH, data=[8, 1, 1])
        s.draw(4)
        s.run()

    timer = threading.Timer(0.1, s.stop.set)
    timer.start()
    with pytest.raises(FaultError) as caught:
        draw(stage)
    timer.join()
    assert caught.value.fault == Fault.HANG
    s.engine.forget(s.state)
    s.stop.clear()
    s.packets = []
    draw("")
    assert (s.pixels(target) == 255).all()


def test_accesses_at_the_end_of_memory_stay_inside() -> None:
    """Buffers that end where memory ends: the page behind has no access, so that a stray byte would be seen."""
    s = Scene(lambda m, stop: LlvmEngine(m, stop), 1 << 20)
    end = LOCAL_BASE + (1 << 20)
    s.shader("""compute temps=8 group=64,1,1
resource 0 RAW_BUFFER
resource 1 BUFFER
uav 0 RAW_BUFFER
shl r0, $THREAD_ID_X, 2
iadd r0, r0, -32
load_raw r1, r0 t0 mask=xyzw
mov r5, $THREAD_ID_X
load r1, r5 t1 mask=x
uav_store_raw r0, r1 u0 mask=xyzw
""")
    raw = View(ViewDimension.RAW_BUFFER, 0, 8, 0)
    s.emit(Op.SET_RESOURCE, slot=Stage.COMPUTE << 8, address=end - 32, extent=32, data=raw.pack())
    typed = View(ViewDimension.BUFFER, 61, 7, 0)  # R8_UNORM
    s.emit(Op.SET_RESOURCE, slot=Stage.COMPUTE << 8 | 1, address=end - 8, extent=8, data=typed.pack())
    s.emit(Op.SET_UAV, slot=Stage.COMPUTE << 8, address=end - 32, extent=32, data=raw.pack())
    s.emit(Op.DISPATCH, data=[3, 1, 1])
    s.run()


IR = "define i32 @seven() {\nret i32 7\n}"


def test_the_disk_cache_serves_what_is_whole(tmp_path: Path) -> None:
    first = Jit(DiskCache(tmp_path / "c"))
    first.compile(IR)
    second = Jit(DiskCache(tmp_path / "c"))
    second.compile(IR)
    assert (second.statistics.compiled, second.statistics.disk_hits) == (0, 1)
    (entry,) = (tmp_path / "c").iterdir()
    data = bytearray(entry.read_bytes())
    data[-1] ^= 1
    entry.write_bytes(data)
    cache = DiskCache(tmp_path / "c")
    third = Jit(cache)
    third.compile(IR)
    assert third.statistics.compiled == 1
    assert cache.damaged == 1


def test_the_disk_cache_is_private_and_bounded(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "open").chmod(0o755)
    assert not DiskCache(tmp_path / "open").usable
    cache = DiskCache(tmp_path / "mine", limit=4000)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o700
    for i in range(10):
        cache.put(f"{i:040x}", bytes(1000))
    assert sum(f.stat().st_size for f in (tmp_path / "mine").iterdir()) <= 4000
    assert cache.get(f"{9:040x}") == bytes(1000)


@pytest.mark.parametrize("load", ["load_raw r4, r0 t0", "load_structured r4, r0, 0 t1", "load r4, r0 t2", "shared_load r4, r0"])
def test_a_load_of_no_component_writes_nothing(load: str) -> None:
    program = assemble(f"""compute temps=8 group=64,1,1 shared_bytes=64
resource 0 RAW_BUFFER
resource 1 STRUCTURED_BUFFER stride=8
resource 2 BUFFER
uav 0 RAW_BUFFER
shl r0, $ID_IN_GROUP_X, 2
mov r4, 7
{load} mask=x
uav_store_raw r0, r4 u0 mask=x
""")
    program.instructions["aux"][2] &= 0xFF0FFFF

    def build(s: Scene) -> list[Surface]:
        data, out = np.arange(64, dtype=np.uint32), s.buffer(np.zeros(64, np.uint32))
        s.shader(program)
        for slot, dimension in enumerate((ViewDimension.RAW_BUFFER, ViewDimension.STRUCTURED_BUFFER, ViewDimension.BUFFER)):
            stride = 8 if dimension == ViewDimension.STRUCTURED_BUFFER else 4
            source = s.buffer(data, dimension, stride=stride, format=Format.R32_UINT if dimension == ViewDimension.BUFFER else 0)
            s.bind(Op.SET_RESOURCE, source, slot=Stage.COMPUTE << 8 | slot)
        s.bind(Op.SET_UAV, out, slot=Stage.COMPUTE << 8)
        s.emit(Op.DISPATCH, data=[1, 1, 1])
        return [out]

    ((reference, compiled),) = run_both(build)
    assert (reference.view(np.uint32) == 7).all()
    assert np.array_equal(reference, compiled)


def test_several_processes_make_room_in_the_disk_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry may be gone when it is looked at, and when it is its turn to go."""
    cache = DiskCache(tmp_path / "c", limit=4000)
    for i in range(3):
        cache.put(f"{i:040x}", bytes(1000))
    (tmp_path / "c" / "gone").symlink_to(tmp_path / "nowhere")
    unlink = os.unlink

    def twice(path: str) -> None:
        unlink(path)
        unlink(path)

    monkeypatch.setattr(os, "unlink", twice)
    cache.put(f"{3:040x}", bytes(1000))
    assert cache.get(f"{3:040x}") == bytes(1000)
    assert sum(f.lstat().st_size for f in (tmp_path / "c").iterdir() if f.name != "gone") <= 3000


@pytest.mark.parametrize("shared", [0, 6, 8])
def test_shared_memory_ends_where_it_was_declared_to(shared: int) -> None:
    def build(s: Scene) -> list[Surface]:
        out = s.buffer(np.full(128, 9, np.uint32))
        s.shader(f"""compute temps=8 group=64,1,1 shared_bytes={shared}
uav 0 RAW_BUFFER
shl r0, $ID_IN_GROUP_X, 2
mov r1, 7
shared_store r0, r1 mask=x
barrier 3
shared_load r2, r0 mask=x
shared_atomic r3, r0, 5 atomic=ADD
shl r4, $ID_IN_GROUP_X, 3
uav_store_raw r4, r2 u0 mask=xy
""")
        s.bind(Op.SET_UAV, out, slot=Stage.COMPUTE << 8)
        s.emit(Op.DISPATCH, data=[1, 1, 1])
        return [out]

    ((reference, compiled),) = run_both(build)
    assert np.array_equal(reference, compiled)
    assert np.count_nonzero(reference.view(np.uint32)[::2]) == shared // 4


@pytest.mark.parametrize("index", [2, 3, 15, 0x2000_000F, 0x7FFF_FFFF, 0xFFFF_FFFF])
@pytest.mark.parametrize("varying", ["", "iadd r1, r1, $THREAD_ID_X\n"], ids=["uniform", "varying"])
def test_indices_far_beyond_the_immediate_constants_read_nothing(index: int, varying: str) -> None:
    def build(s: Scene) -> list[Surface]:
        out = s.buffer(np.full(64, 9, np.uint32))
        s.shader(f"""compute temps=8 group=32,1,1
icb 11 12 13 14
uav 0 RAW_BUFFER
mov r1, {index:#x}
{varying}load_icb r2, r1
shl r4, $THREAD_ID_X, 2
uav_store_raw r4, r2 u0 mask=x
""")
        s.bind(Op.SET_UAV, out, slot=Stage.COMPUTE << 8)
        s.emit(Op.DISPATCH, data=[1, 1, 1])
        return [out]

    ((reference, compiled),) = run_both(build)
    assert np.array_equal(reference, compiled)
    assert reference.view(np.uint32)[0] == {2: 13, 3: 14}.get(index, 0)


RETURNS = {
    "all": "retc 1",
    "one group": "retc $GROUP_ID_X",
    "some threads": "uge r5, $ID_IN_GROUP_X, 100\nretc r5",
    "a whole vector": "ult r5, $ID_IN_GROUP_X, 64\nretc r5",
    "in a loop": "loop\nuge r5, r6, 3\nretc r5\nbarrier 3\niadd r6, r6, 1\nendloop",
    "in a branch": "uge r5, $GROUP_ID_X, 1\nif r5\nbarrier 3\nret\nendif",
}


@pytest.mark.parametrize("returns", RETURNS.values(), ids=RETURNS)
def test_threads_that_returned_do_nothing_behind_a_barrier(returns: str) -> None:
    def build(s: Scene) -> list[Surface]:
        out = s.buffer(np.full(512, 9, np.uint32))
        s.shader(f"""compute temps=8 group=256,1,1 shared_bytes=4
uav 0 RAW_BUFFER
mov r6, 0
shl r4, $THREAD_ID_X, 2
{returns}
barrier 3
uav_store_raw r4, r4 u0 mask=x
""")
        s.bind(Op.SET_UAV, out, slot=Stage.COMPUTE << 8)
        s.emit(Op.DISPATCH, data=[2, 1, 1])
        return [out]

    ((reference, compiled),) = run_both(build)
    assert np.array_equal(reference, compiled)
    assert np.count_nonzero(reference.view(np.uint32) == 9) >= 128


def test_uniform_groups_pass_barriers_together() -> None:
    """A reversal through shared memory needs every thread's write before any thread's read."""
    s = Scene(lambda m, stop: LlvmEngine(m, stop))
    out = s.buffer(np.zeros(512, np.uint32))
    s.shader("""compute temps=8 group=256,1,1 shared_bytes=1024
uav 0 RAW_BUFFER
shl r0, $ID_IN_GROUP_X, 2
mov r1, $THREAD_ID_X
shared_store r0, r1 mask=x
barrier 3
iadd r2, 1020, -r0
shared_load r3, r2 mask=x
shl r4, $THREAD_ID_X, 2
uav_store_raw r4, r3 u0 mask=x
""")
    s.bind(Op.SET_UAV, out, slot=Stage.COMPUTE << 8)
    s.emit(Op.DISPATCH, data=[2, 1, 1])
    s.run()
    expected = np.concatenate([np.arange(256)[::-1], np.arange(256, 512)[::-1]])
    assert np.array_equal(s.read(out, np.uint32), expected)
