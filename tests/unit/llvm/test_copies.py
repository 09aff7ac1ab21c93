"""Copies of bytes on all threads: the same bytes as one thread of the reference engine moves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from wddm.hw.descriptors import ViewDimension
from wddm.hw.formats import Format
from wddm.hw.packets import Op


def region(
    format: Format, *, mips: int = 1, depth: int = 1, samples: int = 1, same: bool = False
) -> Callable[[Scene], list[Surface]]:
    """A part of one surface to another place of another (or the same), bigger than what one thread copies alone."""

    def build(s: Scene) -> list[Surface]:
        width, height = 1024, 1200 // depth
        dimension = ViewDimension.TEXTURE3D if depth > 1 else ViewDimension.TEXTURE2D
        one, other = (
            s.texture(format, width, height, depth=depth, mips=mips, samples=samples, dimension=dimension) for _ in range(2)
        )
        r = np.random.default_rng(3)
        for t in (one, other):
            s.memory.view(t.address, t.size, write=True)[:] = r.integers(0, 256, t.size, np.uint8)
        if same:
            other = one
        s.bind(Op.SET_SURFACE, one, slot=0)
        s.bind(Op.SET_SURFACE, other, slot=1)
        w, h = 1000, 1100 // depth
        s.emit(Op.COPY_REGION, data=[0, 8 | 4 << 16, 0, 0, 12 | 8 << 16, depth << 16, w | h << 16, 1])
        return [one]

    return build


@pytest.mark.parametrize(
    "build",
    [
        region(Format.R8G8B8A8_UNORM),
        region(Format.R32G32B32_FLOAT, mips=2),
        region(Format.R16G16_FLOAT, samples=4),
        region(Format.R8G8B8A8_UNORM, depth=3),
        region(Format.BC3_UNORM),
        region(Format.R8G8B8A8_UNORM, same=True),
    ],
    ids=["whole", "mips", "samples", "depth", "blocks", "overlapping"],
)
def test_regions(build: Callable[[Scene], list[Surface]]) -> None:
    for reference, compiled in run_both(build, threads=2):
        assert np.array_equal(reference, compiled)


@pytest.mark.parametrize("size", [1, 4097, (2 << 20) + 3, (20 << 20) + 77])
def test_bytes(size: int) -> None:
    def build(s: Scene) -> list[Surface]:
        source = s.buffer(np.random.default_rng(1).integers(1, 256, size + 3 & -4, np.uint8))
        target = s.buffer(np.zeros(size + 3 & -4, np.uint8))
        s.emit(Op.COPY_BUFFER, address=target.address, extent=size, address2=source.address, extent2=size)
        return [target]

    for reference, compiled in run_both(build, threads=3):
        assert np.array_equal(reference, compiled)
        assert compiled[:size].all()
        assert not compiled[size:].any()
