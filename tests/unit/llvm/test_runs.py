"""Runs of small draws in machine code: the picture, and the packet that is refused, are those of the interpreter alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.gpu_scene import Scene
from tests.unit.llvm.test_changes import _COLOR, _TEXTURE, _VS
from vgpu.command_processor import Execution
from vgpu.engine import FaultError
from vgpu.engine.llvm import LlvmEngine, assembly, draws, runs
from vgpu.engine.reference import ReferenceEngine
from wddm.hw.descriptors import DepthStencil, InputElement, Rasterizer, Sampler, TargetBlend
from wddm.hw.formats import Format
from wddm.hw.packets import Op, Stage, Topology
from wddm.hw.registers import Node

BLENDS = (TargetBlend(), TargetBlend(True, 5, 6, 1, 5, 6, 1, 15), TargetBlend(True, 2, 14, 1, 2, 2, 1, 7))


class Played:
    """A scene of many small draws with little changes between them, in one buffer."""

    def __init__(self, engine: str, seed: int, program: str, draws: int, *, biggest: int = 12) -> None:
        self.scene = s = Scene(lambda m, stop: ReferenceEngine(m, stop) if engine == "reference" else LlvmEngine(m, stop, 2))
        r = np.random.default_rng(seed)
        self.targets = [s.texture(Format.R8G8B8A8_UNORM, 96, 80), s.texture(Format.D16_UNORM, 96, 80)]
        s.memory.view(self.targets[1].address, self.targets[1].size, write=True)[:] = 0xFF
        textures = [s.texture(Format.R8G8B8A8_UNORM, 4, 4) for _ in range(3)]
        for t in textures:
            s.pixels(t)[:] = r.integers(0, 256, (4, 4, 4), np.uint8)
        elements = [InputElement(0, 0, Format.R32G32_FLOAT, 0)]
        vertices = [s.upload(r.uniform(-0.5, 0.5, (biggest, 2)).astype(np.float32)) for _ in range(2)]
        indices = [s.upload(r.integers(0, biggest, biggest).astype(t)) for t in (np.uint16, np.uint16, np.uint32)]
        formats = (Format.R16_UINT, Format.R16_UINT, Format.R32_UINT)

        def constants() -> None:
            stage = (Stage.VERTEX, Stage.PIXEL)[r.integers(2)]
            values = r.uniform(-0.4, 0.4, 4) if stage == Stage.VERTEX else r.uniform(0, 1, 4)
            s.constants(stage, int(r.integers(2)), values.astype(np.float32))

        def vertex_buffer() -> None:
            address, size = vertices[r.integers(2)]
            s.emit(Op.SET_VERTEX_BUFFER, address=address, extent=size, data=[8])

        def index_buffer() -> None:
            i = r.integers(3)
            s.emit(Op.SET_INDEX_BUFFER, address=indices[i][0], extent=indices[i][1], data=[formats[i]])

        def unbind() -> None:
            op, slot = ((Op.SET_CONSTANT_BUFFER, Stage.PIXEL << 8 | int(r.integers(2))), (Op.SET_RESOURCE, Stage.PIXEL << 8),
                        (Op.SET_VERTEX_BUFFER, 0))[r.integers(3)]  # fmt: skip
            s.emit(op, slot=slot)

        often: list[Callable[[], Any]] = [constants, constants, vertex_buffer, index_buffer]
        seldom: list[Callable[[], Any]] = [
            unbind,
            lambda: s.blend(BLENDS[r.integers(3)]),
            lambda: s.bind(Op.SET_RESOURCE, textures[r.integers(3)], slot=Stage.PIXEL << 8),
            lambda: s.sampler(Sampler(address_u=int(r.integers(1, 3)))),
            lambda: s.depth_state(DepthStencil(True, True, (2, 8)[r.integers(2)])),
            lambda: s.emit(Op.NOP),
            lambda: s.draw(0),
            lambda: s.draw(2),
            lambda: s.draw(3, 0),
            lambda: s.emit(Op.SET_CONSTANT_BUFFER, slot=Stage.COMPUTE << 8, address=1, extent=1),  # nobody reads it
            lambda: s.rasterizer(Rasterizer(cull=1)),
        ]
        s.bind(Op.SET_RENDER_TARGET, self.targets[0], arg=1)
        s.bind(Op.SET_DEPTH_STENCIL, self.targets[1])
        s.viewport(96, 80)
        s.shader(_VS)
        s.shader(program)
        s.rasterizer(Rasterizer(cull=1))
        s.layout(elements)
        vertex_buffer()
        index_buffer()
        s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
        for stage in (Stage.VERTEX, Stage.PIXEL):
            s.constants(stage, 0, np.array([0.1, 0.2, 0.7, 1], np.float32))
        indexed = bool(r.integers(2))
        for _ in range(draws):
            for _ in range(r.integers(0, 3)):
                often[r.integers(len(often))]()
            if r.integers(3) == 0:
                seldom[r.integers(len(seldom))]()
            if r.integers(40) == 0:
                indexed = not indexed
            count = int(r.integers(1, biggest // 3 + 1)) * 3
            if indexed:
                s.draw_indexed(count, int(r.integers(1, 3)), int(r.integers(3)), int(r.integers(-1, 2)))
            else:
                s.draw(count, int(r.integers(1, 3)), int(r.integers(3)))

    def surfaces(self) -> list[npt.NDArray[np.uint8]]:
        """What was drawn."""
        self.scene.engine.flush(self.scene.state)
        return [self.scene.memory.view(t.address, t.size).copy() for t in self.targets]


@pytest.fixture
def carried_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Packets of each run."""
    counts: list[int] = []
    go_on = runs.Runs.go_on

    def counted(self: runs.Runs, state: Any, packets: Any, first: int, end: int) -> tuple[int, bool]:
        at, full = go_on(self, state, packets, first, end)
        counts.append(at - first)
        return at, full

    monkeypatch.setattr(runs.Runs, "go_on", counted)
    return counts


def same(seed: int, program: str, count: int, **options: int) -> None:
    """Both engines draw the same."""
    pictures = []
    for engine in ("reference", "llvm"):
        played = Played(engine, seed, program, count, **options)
        played.scene.run()
        pictures.append(played.surfaces())
    assert pictures[0][0].any()
    assert all(np.array_equal(a, b) for a, b in zip(*pictures, strict=True))


@pytest.mark.parametrize("program", [_COLOR, _TEXTURE], ids=["colour", "texture"])
@pytest.mark.parametrize("seed", range(3))
def test_the_picture_is_the_same(seed: int, program: str, carried_out: list[int]) -> None:
    same(seed, program, 250)
    assert sum(carried_out) > 250, "most of it is done in runs"


def test_records_that_fill_their_arena(carried_out: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "RECORD_LIMIT", 4096)
    same(7, _TEXTURE, 300)
    assert sum(carried_out) > 100


@pytest.mark.parametrize("seed", range(2))
def test_draws_that_need_several_turns(seed: int, carried_out: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "STEPS", 20)
    same(seed, _TEXTURE, 80, biggest=180)
    assert sum(carried_out) > 40


@pytest.mark.parametrize(
    ("op", "slot", "data"),
    [
        (Op.SET_CONSTANT_BUFFER, Stage.PIXEL << 8, [16]),
        (Op.SET_CONSTANT_BUFFER, Stage.VERTEX << 8, [16]),
        (Op.SET_VERTEX_BUFFER, 0, [8]),
        (Op.SET_RESOURCE, Stage.PIXEL << 8, [0x7FFF_FFFF] * 8),
    ],
)
@pytest.mark.parametrize("address", [1 << 30, (1 << 32) + (64 << 20) - 8, 1 << 40, (1 << 61) + 5])
def test_what_lies_nowhere_is_refused_at_the_draw_that_reads_it(op: Op, slot: int, data: list[int], address: int) -> None:
    ends = []
    for engine in ("reference", "llvm"):
        played = Played(engine, 3, _TEXTURE, 60)
        s = played.scene
        s.constants(Stage.PIXEL, 1, np.array([0.1, 0.2, 0.7, 1], np.float32))
        for _ in range(5):
            s.draw(3)
        s.emit(op, slot=slot | (1 if op == Op.SET_CONSTANT_BUFFER and slot else 0), address=address, extent=64, data=data)
        s.draw(3)
        s.draw(3)
        execution = Execution(s.memory, s.engine, Node.GRAPHICS, s.state, np.concatenate(s.packets).tobytes(), False)
        with pytest.raises(FaultError) as error:
            for _ in execution.run():
                pass
        ends.append((execution.packet, error.value.fault, [a.tobytes() for a in played.surfaces()]))
    assert ends[0][:2] == ends[1][:2]
    assert ends[0][2] == ends[1][2]


def test_constants_that_wait_to_be_read_are_read_before_they_are_written() -> None:
    pictures = []
    for engine in ("reference", "llvm"):
        played = Played(engine, 5, _COLOR, 0)
        s = played.scene
        for i in range(20):
            address = s.constants(Stage.PIXEL, 0, np.full(4, i / 20, np.float32))
            s.draw(9)
        s.emit(Op.UPDATE_INLINE, address=address, extent=16, data=np.full(4, 0.25, np.float32).view(np.uint32).tolist())
        s.run()
        pictures.append(played.surfaces()[0])
    assert np.array_equal(*pictures)


def test_a_run_is_bounded_and_leaves_its_state_to_the_interpreter(carried_out: list[int]) -> None:
    played = Played("llvm", 1, _COLOR, 0)
    s = played.scene
    address = 0
    for i in range(1000):
        address = s.constants(Stage.PIXEL, 0, np.full(4, i / 1000, np.float32))
        s.draw(3)
    execution = Execution(s.memory, s.engine, Node.GRAPHICS, s.state, np.concatenate(s.packets).tobytes(), False)
    steps = sum(1 for _ in execution.run())
    assert 4 <= steps < 40
    assert max(carried_out) == 512
    assert int(s.state.bindings[Op.SET_CONSTANT_BUFFER][Stage.PIXEL << 8]["address"]) == address
