"""State that changes between draws, is set again, is refused and mended: the compiled engine keeps derived objects, and must follow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.gpu_scene import Scene
from vgpu.engine import FaultError
from vgpu.engine.llvm import LlvmEngine
from vgpu.engine.reference import ReferenceEngine
from wddm.hw.descriptors import DepthStencil, InputElement, Rasterizer, Sampler, TargetBlend
from wddm.hw.formats import Format
from wddm.hw.packets import Op, QueryKind, Stage, Topology

_VS = """vertex temps=4
input 0 xy
constants 0 4
constants 1 4
output 0 xyzw sv=POSITION
fadd r0, v0.x, c0[0]
fadd r1, v0.y, c0[1]
fadd o0.x, r0, c1[0]
fadd o0.y, r1, c1[1]
mov o0.z, c1[2]
mov o0.w, 1.0
"""
_COLOR = "pixel temps=2\noutput 0 xyzw sv=TARGET\nconstants 0 4\n" + "".join(f"mov o0.{c}, c0[{i}]\n" for i, c in enumerate("xyzw"))
_TEXTURE = """pixel temps=6
output 0 xyzw sv=TARGET
constants 1 4
resource 0 TEXTURE2D
sampler 0
mov r0, c1[2]
mov r1, c1[3]
sample r2, r0 t0 s0
fmul o0.x, c1[0], r2
fmul o0.y, c1[1], r3
fmul o0.z, c1[2], r4
mov o0.w, 0.5
"""


def _play(engine: str, seed: int, steps: int = 150) -> tuple[list[bytes], list[str]]:
    """Random changes and draws; the surfaces afterwards, and what was refused."""
    scene = Scene(lambda m, s: ReferenceEngine(m, s) if engine == "reference" else LlvmEngine(m, s, 2))
    r = np.random.default_rng(seed)
    targets = [scene.texture(Format.R8G8B8A8_UNORM, 96, 80) for _ in range(2)] + [scene.texture(Format.R16G16B16A16_UNORM, 64, 90)]
    depth = scene.texture(Format.D16_UNORM, 96, 90)  # coarser than the last bit of an interpolated float
    block = scene.buffer(np.zeros(64, np.uint64))
    textures = [scene.texture(Format.R8G8B8A8_UNORM, 4, 4) for _ in range(3)]
    for t in textures:
        scene.pixels(t)[:] = r.integers(0, 256, (4, 4, 4), np.uint8)
    elements = [InputElement(0, 0, Format.R32G32_FLOAT, 0)]
    vertices = [r.uniform(-0.5, 0.5, (6, 2)).astype(np.float32) for _ in range(3)]
    faults: list[str] = []

    def target() -> None:
        scene.bind(Op.SET_RENDER_TARGET, targets[r.integers(3)], arg=1)

    def bad_target() -> None:
        scene.bind(Op.SET_RENDER_TARGET, depth, arg=1)

    def depth_target() -> None:
        if r.integers(2):
            scene.bind(Op.SET_DEPTH_STENCIL, depth, arg=int(r.integers(2)))
        else:
            scene.emit(Op.SET_DEPTH_STENCIL)

    def constants() -> None:
        stage = (Stage.VERTEX, Stage.PIXEL)[r.integers(2)]
        values = r.uniform(-0.4, 0.4, 4) if stage == Stage.VERTEX else r.uniform(0, 1, 4)
        scene.constants(stage, int(r.integers(2)), values.astype(np.float32))

    def no_constants() -> None:
        scene.emit(Op.SET_CONSTANT_BUFFER, slot=(Stage.VERTEX, Stage.PIXEL)[r.integers(2)] << 8 | int(r.integers(2)))

    def bad_constants() -> None:
        scene.emit(Op.SET_CONSTANT_BUFFER, slot=Stage.PIXEL << 8 | int(r.integers(2)), address=1 << 30, extent=16, data=[16])

    def written_constants() -> None:
        address = scene.constants(Stage.PIXEL, 0, np.zeros(4, np.float32))
        scene.draw(3)
        data = r.uniform(0, 1, 4).astype(np.float32).view(np.uint32)
        scene.emit(Op.UPDATE_INLINE, address=address, extent=16, arg=16, data=data.tolist())

    def viewport() -> None:
        scene.viewport(float(r.integers(10, 100)), float(r.integers(10, 100)), float(r.integers(30)), float(r.integers(30)))

    def scissor() -> None:
        scene.emit(Op.SET_SCISSOR, data=[*r.integers(0, 40, 2).tolist(), *r.integers(20, 90, 2).tolist()])

    def again() -> None:
        for op, bound in list(scene.state.bindings.items()):
            for slot, p in bound.items():
                data, (address, extent, arg) = p["data"].tolist(), (int(p[n]) for n in ("address", "extent", "arg"))
                scene.emit(Op(op), slot=slot, address=address, extent=extent, arg=arg, data=data)

    def blend() -> None:
        scene.blend((TargetBlend(), TargetBlend(True, 5, 6, 1, 5, 6, 1, 15), TargetBlend(True, 2, 14, 1, 2, 2, 1, 7))[r.integers(3)])

    def vertex_buffer() -> None:
        scene.vertices(vertices[r.integers(3)], 8, elements)

    def query() -> None:
        address = block.address + 16 * len(scene.state.queries)
        scene.emit(Op.QUERY_BEGIN, address=address, extent=16, arg=QueryKind.OCCLUSION)
        scene.draw(6)
        scene.emit(Op.QUERY_END, address=address, extent=16, arg=QueryKind.OCCLUSION)

    def pixel_program() -> None:
        scene.shader((_COLOR, _TEXTURE)[r.integers(2)])

    changes: list[Callable[[], None]] = [
        target, bad_target, depth_target, constants, constants, constants, no_constants, bad_constants, written_constants, viewport,
        scissor, again, blend, vertex_buffer, query, pixel_program,
        lambda: scene.rasterizer(Rasterizer(cull=1, scissor=bool(r.integers(2)), front_counter_clockwise=bool(r.integers(2)))),
        lambda: scene.depth_state(DepthStencil(bool(r.integers(2)), bool(r.integers(2)), int(r.integers(1, 9)))),
        lambda: scene.bind(Op.SET_RESOURCE, textures[r.integers(3)], slot=Stage.PIXEL << 8),
        lambda: scene.sampler(Sampler(address_u=int(r.integers(1, 4)), address_v=int(r.integers(1, 4)))),
        lambda: scene.emit(Op.SET_TOPOLOGY, arg=(Topology.TRIANGLELIST, Topology.TRIANGLESTRIP)[r.integers(2)]),
        lambda: scene.emit(Op.SET_BLEND_FACTOR, data=[*r.uniform(0, 1, 4).astype(np.float32).view(np.uint32).tolist(), 0xFFFFFFFF]),
        lambda: scene.indices(r.integers(0, 6, 9).astype((np.uint16, np.uint32)[r.integers(2)])),
    ]  # fmt: skip
    for first in (target, viewport, vertex_buffer, pixel_program):
        first()
    scene.shader(_VS)
    scene.rasterizer(Rasterizer(cull=1))
    scene.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
    for stage in (Stage.VERTEX, Stage.PIXEL):
        scene.constants(stage, 0, np.array([0.1, 0.2, 0.7, 1], np.float32))
    for _ in range(steps):
        for _ in range(r.integers(1, 4)):
            changes[r.integers(len(changes))]()
            (scene.draw, scene.draw_indexed)[r.integers(2)](6)
        if r.integers(4) == 0:
            try:
                scene.run()
            except FaultError as fault:
                faults.append(fault.fault.name)
                scene.packets = []
                scene.emit(Op.NOP)
                if r.integers(2):
                    target()
                    scene.constants(Stage.PIXEL, 0, np.full(4, 0.5, np.float32))
                    scene.constants(Stage.PIXEL, 1, np.full(4, 0.75, np.float32))
    scene.engine.flush(scene.state)
    return [scene.memory.view(s.address, s.size).tobytes() for s in (*targets, depth, block)], faults


@pytest.mark.parametrize("seed", range(4))
def test_changes_between_draws_are_followed(seed: int) -> None:
    reference, compiled = _play("reference", seed), _play("llvm", seed)
    assert reference[1] == compiled[1]
    assert [a == b for a, b in zip(reference[0], compiled[0], strict=True)] == [True] * 5
    assert any(reference[0][0])
