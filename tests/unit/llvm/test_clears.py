"""Clears by compiled fills leave the bytes that the reference engine leaves, padding included, for every format."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from wddm.hw.formats import FORMATS, Format
from wddm.hw.packets import ClearKind, Op

COLORS = [f for f, info in FORMATS.items() if info.channels and not info.is_block and not info.pair and info.depth is None]
DEPTHS = [f for f, info in FORMATS.items() if info.depth is not None]


def surface(s: Scene, format: Format, width: int, height: int, samples: int = 1) -> Surface:
    """A surface of random bytes, which is bound to be cleared."""
    t = s.texture(format, width, height, samples=samples)
    s.memory.view(t.address, t.size, write=True)[:] = np.random.default_rng(1).integers(0, 256, t.size, np.uint8)
    s.bind(Op.SET_SURFACE, t)
    return t


@pytest.mark.parametrize("format", COLORS, ids=[f.name for f in COLORS])
def test_colours(format: Format) -> None:
    def build(s: Scene) -> list[Surface]:
        out = []
        for kind, data in (
            (0, np.array([0.3, -1.5, 1e9, 0.75], np.float32).view(np.uint32)),
            (ClearKind.UINT, np.array([1, 0xFFFF_FFFF, 0x1234_5678, 7], np.uint32)),
        ):
            out.append(surface(s, format, 37, 9))
            s.emit(Op.CLEAR_COLOR, arg=kind, data=data.tolist())
        return out

    for reference, compiled in run_both(build):
        assert np.array_equal(reference, compiled)


@pytest.mark.parametrize("samples", [1, 4])
@pytest.mark.parametrize("format", DEPTHS, ids=[f.name for f in DEPTHS])
def test_depth_and_stencil(format: Format, samples: int) -> None:
    def build(s: Scene) -> list[Surface]:
        out = []
        for planes in range(4):
            out.append(surface(s, format, 37, 9, samples))
            s.emit(Op.CLEAR_DEPTH_STENCIL, arg=planes, data=[int(np.float32(0.7).view(np.uint32)), 0x1A5])
        return out

    for reference, compiled in run_both(build):
        assert np.array_equal(reference, compiled)


def test_large_ones_on_several_threads() -> None:
    def build(s: Scene) -> list[Surface]:
        out = [surface(s, Format.D24_UNORM_S8_UINT, 1000, 701)]
        s.emit(Op.CLEAR_DEPTH_STENCIL, arg=1, data=[int(np.float32(0.7).view(np.uint32))])
        out.append(surface(s, Format.R8G8B8A8_UNORM, 1000, 701))
        s.emit(Op.CLEAR_COLOR, data=np.array([0.1, 0.2, 0.3, 0.4], np.float32).view(np.uint32).tolist())
        return out

    for reference, compiled in run_both(build, threads=3):
        assert np.array_equal(reference, compiled)
