"""Draws into what is no plain colour target: buffers, three-component formats, nothing but unordered access views."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from tests.unit.llvm.test_draws import PS, VS, triangles
from tests.unit.llvm.test_statistics import counted
from vgpu.engine.llvm import LlvmEngine
from vgpu.engine.reference import ReferenceEngine
from vgpu.fault import FaultError
from wddm.hw.descriptors import InputElement, Rasterizer, TargetBlend, View, ViewDimension
from wddm.hw.formats import Format
from wddm.hw.packets import Op, Stage, Topology

ADD = TargetBlend(True, 2, 2, 1, 2, 2, 1, 5)
COUNT = (
    "pixel temps=4\ninput 0 xyzw sv=POSITION interp=LINEAR_NOPERSPECTIVE\nuav 0 RAW_BUFFER\nftou r0, v0.x\nftou r1, v0.y\n"
    "imad r0, r1, 64, r0\nshl r0, r0, 2\nuav_atomic _, r0, _, 1 u0 atomic=ADD\n"
)


@pytest.mark.parametrize("blend", [None, ADD])
def test_three_components(blend: TargetBlend | None) -> None:
    for reference, compiled in run_both(triangles(format=Format.R32G32B32_FLOAT, blend=blend)):
        assert reference.any()
        assert np.array_equal(reference, compiled)


def quads(s: Scene, width: int, height: int) -> None:
    """Random triangles."""
    r = np.random.default_rng(3)
    v = np.zeros((90, 8), np.float32)
    v[:, :2], v[:, 2], v[:, 3], v[:, 4:] = r.uniform(-1.2, 1.2, (90, 2)), 0.5, 1, r.uniform(0, 1, (90, 4))
    four = Format.R32G32B32A32_FLOAT
    s.vertices(v, 32, [InputElement(0, 0, four, 0), InputElement(1, 0, four, 16)])
    s.shader(VS)
    s.viewport(width, height)
    s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
    s.rasterizer(Rasterizer(cull=1))


@pytest.mark.parametrize("format", [Format.R8_UNORM, Format.R16_FLOAT, Format.R32G32B32A32_FLOAT, Format.R32G32B32_FLOAT])
@pytest.mark.parametrize("first", [0, 4, 7])
def test_buffers(format: Format, first: int) -> None:
    def build(s: Scene) -> list[Surface]:
        b = s.buffer(np.zeros(200 * 4, np.uint32))
        quads(s, 150, 1)
        s.shader(PS.format("CONSTANT"))
        s.bind(Op.SET_RENDER_TARGET, b, arg=1, view=View(ViewDimension.BUFFER, format, 180, first))
        s.blend(ADD)
        s.draw(90)
        return [b]

    ((reference, compiled),) = run_both(build)
    assert reference.any()
    assert np.array_equal(reference, compiled)


def scattered(s: Scene) -> list[Surface]:
    """Count the pixels of draws through two viewports in a buffer."""
    b = s.buffer(np.zeros(64 * 64, np.uint32))
    quads(s, 40, 30)
    s.shader(COUNT)
    s.bind(Op.SET_UAV, b, slot=Stage.PIXEL << 8)
    s.draw(90)
    s.viewport(64, 64)
    s.draw(60)
    return [b]


def test_nothing_but_unordered_access() -> None:
    ((reference, compiled),) = run_both(scattered)
    assert reference.any()
    assert np.array_equal(reference, compiled)


def nothing(s: Scene) -> list[Surface]:
    """No target and no pixel program."""
    quads(s, 40, 30)
    s.draw(90)
    return []


@pytest.mark.parametrize("draw", [scattered, nothing])
def test_statistics_without_targets(draw: Callable[[Scene], list[Surface]]) -> None:
    found, occlusion = run_both(counted(draw))
    assert np.array_equal(*found)
    assert np.array_equal(*occlusion)
    assert found[0].view(np.uint64)[6] > 0


@pytest.mark.parametrize("format", [Format.R8_UINT, Format.R8G8B8A8_UNORM])
def test_a_surface_begins_at_a_dword(format: Format) -> None:
    def build(s: Scene) -> list[Surface]:
        rt = s.texture(format, 64, 64)
        quads(s, 64, 64)
        s.shader(PS.format("CONSTANT"))
        s.bind(Op.SET_RENDER_TARGET, Surface(rt.address + 2, rt.size, rt.view, rt.layout), arg=1)
        s.draw(90)
        return [rt]

    for make in (ReferenceEngine, LlvmEngine):
        s = Scene(make)
        build(s)
        with pytest.raises(FaultError, match="multiple of four"):
            s.run()


@pytest.mark.parametrize(
    ("format", "first"), [(Format.R8_UINT, 3), (Format.R8_SNORM, 1), (Format.R16_UINT, 1), (Format.R16_FLOAT, 3)]
)
def test_small_elements_between_dwords(format: Format, first: int) -> None:
    """Read through a view that begins inside a dword, as bytes that a vertex stage would be given."""
    read = (
        "pixel temps=4\ninput 0 xyzw sv=POSITION interp=LINEAR_NOPERSPECTIVE\noutput 0 xyzw sv=TARGET\n"
        "resource 0 BUFFER\nftou r0, v0.x\nload r0, r0, _, _ t0 mask=xyzw\n"
    ) + "".join(f"mov o0.{c}, r{i}\n" for i, c in enumerate("xyzw"))

    def build(s: Scene) -> list[Surface]:
        rt = s.texture(Format.R32G32B32A32_UINT, 150, 2)
        quads(s, 150, 2)
        s.shader(read)
        source = s.buffer(np.random.default_rng(5).integers(0, 1 << 32, 100, np.uint32))
        s.bind(Op.SET_RESOURCE, source, slot=Stage.PIXEL << 8, view=View(ViewDimension.BUFFER, format, 120, first))
        s.bind(Op.SET_RENDER_TARGET, rt, arg=1)
        s.draw(90)
        return [rt]

    ((reference, compiled),) = run_both(build)
    assert reference.any()
    assert np.array_equal(reference, compiled)
