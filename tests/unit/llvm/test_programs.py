"""Random programs on both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from tests.unit.llvm.programs import compute_program
from wddm.hw.packets import Op, Stage


def build(seed: int) -> Any:
    """A dispatch of a random program over random data."""

    def scene(s: Scene) -> list[Surface]:
        r = np.random.default_rng(seed)
        groups = 3
        data = np.zeros((groups * 64, 8), np.uint32)
        data[:, :4] = r.choice(np.array([0, 1, 2, 5, 0xFFFFFFFF, 0x80000000, 1000], np.uint32), (len(data), 4))
        data[:, :4] ^= r.integers(0, 2, (len(data), 4), np.uint32) * r.integers(0, 1 << 32, (len(data), 4), np.uint32)
        data[:, 4:] = r.uniform(-3, 3, (len(data), 4)).astype(np.float32).view(np.uint32)
        out = s.buffer(np.zeros(groups * 64 * 12, np.uint32))
        s.shader(compute_program(seed))
        s.constants(Stage.COMPUTE, 0, r.integers(0, 1 << 32, 16, np.uint32))
        s.bind(Op.SET_RESOURCE, s.buffer(data), slot=Stage.COMPUTE << 8)
        s.bind(Op.SET_UAV, out, slot=Stage.COMPUTE << 8)
        s.emit(Op.DISPATCH, data=[groups, 1, 1])
        return [out]

    return scene


def compare(seed: int, lanes: int) -> None:
    """Registers must agree; a NaN is a NaN."""
    ((reference, compiled),) = run_both(build(seed), lanes=lanes)
    a, b = reference.view(np.uint32).reshape(-1, 12), compiled.view(np.uint32).reshape(-1, 12)
    assert np.array_equal(a[:, :6], b[:, :6])
    assert np.array_equal(a[:, 6:].view(np.float32), b[:, 6:].view(np.float32), equal_nan=True)


@settings(deadline=None, max_examples=25, database=None)
@given(seed=st.integers(0, 1 << 30), lanes=st.sampled_from([8, 16]))
def test_random_programs_agree(seed: int, lanes: int) -> None:
    compare(seed, lanes)


@pytest.mark.parametrize("seed", range(4))
def test_fixed_programs_agree(seed: int) -> None:
    compare(seed, 16)
