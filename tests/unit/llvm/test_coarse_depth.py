"""Blocks that hide what is drawn: large triangles over each other, bit for bit what the reference engine leaves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from tests.unit.llvm.test_draws import DISCARD, PS, VS
from wddm.hw.descriptors import DepthStencil, InputElement, Rasterizer, float_bits
from wddm.hw.formats import Format
from wddm.hw.packets import Op, Topology

FORMATS = (Format.D16_UNORM, Format.D24_UNORM_S8_UINT, Format.D32_FLOAT, Format.D32_FLOAT_S8X24_UINT)
WIDTH, HEIGHT = 171, 149  # the last blocks are not whole


def layers(
    seed: int,
    format: Format,
    *,
    samples: int = 1,
    ps: str = PS,
    tests: tuple[int, ...] = (2, 4, 5, 7),
    start: str = "cleared",
    slope: float = 0.3,
    extreme: bool = False,
) -> Callable[[Scene], list[Surface]]:
    """Six draws of seven large triangles, each draw with a depth test of its own, some of them without writing depth.

    Depths come in steps, so that many are equal; a clear between two draws takes back what the blocks had.
    """

    def build(s: Scene) -> list[Surface]:
        r = np.random.default_rng(seed)
        rt = s.texture(Format.R8G8B8A8_UNORM, WIDTH, HEIGHT, samples=samples)
        ds = s.texture(format, WIDTH, HEIGHT, samples=samples)
        raw = s.memory.view(ds.address, ds.size, write=True)
        if start == "any bits":
            raw[:] = r.integers(0, 256, ds.size)
        n = 7
        v = np.zeros((6, n, 3, 8), np.float32)
        v[..., :2] = r.uniform(-2, 2, (6, n, 3, 2))
        v[..., 2] = np.round(r.uniform(0, 1, (6, n, 1)) * 8) / 8 + r.uniform(-slope, slope, (6, n, 3)) * r.integers(0, 2, (6, n, 1))
        if extreme:
            v[..., 2] *= np.float32(10.0) ** r.integers(0, 37, (6, n, 3))
        v[..., 3] = 1
        v[..., 4:] = r.uniform(0, 1, (6, n, 3, 4))
        four = Format.R32G32B32A32_FLOAT
        s.vertices(v, 32, [InputElement(0, 0, four, 0), InputElement(1, 0, four, 16)])
        s.shader(VS)
        s.shader(ps.format("CONSTANT") if ps is PS else ps)
        s.viewport(WIDTH, HEIGHT)
        s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
        s.rasterizer(Rasterizer(cull=1, depth_clip=False))
        for k in range(6):
            s.bind(Op.SET_RENDER_TARGET, rt, arg=1)
            s.bind(Op.SET_DEPTH_STENCIL, ds)
            if k == 3 or (k == 0 and start == "cleared"):
                s.bind(Op.SET_SURFACE, ds)
                s.emit(Op.CLEAR_DEPTH_STENCIL, arg=3, data=[float_bits(float(r.choice([0.0, 0.5, 1.0]))), 0])
            s.depth_state(DepthStencil(True, bool(r.random() < 0.8), int(r.choice(tests))))
            s.draw(3 * n, start=3 * n * k)
        return [rt, ds]

    return build


@pytest.mark.parametrize("samples", [1, 4])
@pytest.mark.parametrize("format", FORMATS)
def test_draws_with_different_tests(format: Format, samples: int) -> None:
    for reference, compiled in run_both(layers(11, format, samples=samples)):
        assert reference.any()
        assert np.array_equal(reference, compiled)


@pytest.mark.parametrize("test", [2, 4, 5, 7])
@pytest.mark.parametrize("start", ["any bits", "cleared"])
def test_one_test_over_anything(test: int, start: str) -> None:
    """Among the bits are numbers beyond 0..1 and none at all, which nothing passes."""
    for reference, compiled in run_both(layers(test, Format.D32_FLOAT, tests=(test,), start=start)):
        assert np.array_equal(reference, compiled)


@pytest.mark.parametrize("format", FORMATS[1:3])
def test_planes_without_bounds(format: Format) -> None:
    """Depths of all sizes, clamped to the viewport's."""
    for reference, compiled in run_both(layers(3, format, extreme=True)):
        assert np.array_equal(reference, compiled)


@pytest.mark.parametrize("format", FORMATS)
def test_pixels_that_drop_themselves_hide_nothing(format: Format) -> None:
    for reference, compiled in run_both(layers(4, format, ps=DISCARD)):
        assert np.array_equal(reference, compiled)


@settings(deadline=None, max_examples=20, database=None)
@given(
    seed=st.integers(0, 1 << 30),
    format=st.sampled_from(FORMATS),
    tests=st.lists(st.integers(1, 8), min_size=1, max_size=4),
    slope=st.sampled_from([0.0, 0.05, 1.0]),
)
def test_any_layers(seed: int, format: Format, tests: list[int], slope: float) -> None:
    for reference, compiled in run_both(layers(seed, format, tests=tuple(tests), slope=slope)):
        assert np.array_equal(reference, compiled)
