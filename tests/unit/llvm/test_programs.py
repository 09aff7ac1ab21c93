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


@pytest.mark.parametrize("single", [True, False])
def test_denormals_are_flushed_in_single_precision_alone(single: bool) -> None:
    """A program without doubles leaves it to the processor; with them both kinds of operation see denormals of their own."""
    lines = ["compute temps=12 group=8,1,1", "resource 0 RAW_BUFFER", "uav 0 RAW_BUFFER", "shl r0, $THREAD_ID_X, 4"]
    lines += ["load_raw r1, r0 t0 mask=xy", "fadd r3, r1, r1", "fmul r4, r1, 0.5", "fadd r4, r4, r3"]
    if not single:
        lines += ["dadd r5, r1, r1", "dmul r7, r1, r5", "dadd r5, r5, r7", "mov r1, r5", "mov r2, r6"]
    program = "\n".join([*lines, "uav_store_raw r0, r1 u0 mask=xyzw\n"])
    words = np.array([1e-40, -3e-39, 1e-38, -2e-38, 1.5, 1e30, -1e-45, 0.0], np.float32).view(np.uint32)
    doubles = np.array([5e-324, -1e-310, 2e-308, 1e-320, 1.5, 1e300, -3e-309, 0.0]).view(np.uint32)

    def build(s: Scene) -> list[Surface]:
        data = np.zeros((8, 4), np.uint32)
        data[:, :2] = np.stack([words, words], 1) if single else doubles.reshape(8, 2)
        source, out = s.buffer(data), s.buffer(np.zeros((8, 4), np.uint32))
        s.shader(program)
        s.bind(Op.SET_RESOURCE, source, slot=Stage.COMPUTE << 8)
        s.bind(Op.SET_UAV, out, slot=Stage.COMPUTE << 8)
        s.emit(Op.DISPATCH, data=[1, 1, 1])
        return [out]

    ((reference, compiled),) = run_both(build)
    rows = reference.view(np.uint32).reshape(8, 4)
    assert np.array_equal(rows, compiled.view(np.uint32).reshape(8, 4))
    assert rows[0, 2] & 0x7FFF_FFFF == 0  # the low dword of the smallest double is a denormal float as well
    if not single:
        assert rows[0, 0] == 2


LOOK_UP = """compute temps=12 group=64,1,1 shared_bytes=1024
resource 0 RAW_BUFFER
resource 1 RAW_BUFFER
uav 0 RAW_BUFFER
shl r0, $THREAD_ID_X, 2
load_raw r1, r0 t0 mask=x
shl r2, $ID_IN_GROUP_X, 4
imul r3, $THREAD_ID_X, 7
shared_store r2, r3 mask=x
barrier 3
load_raw r4, r1 t1 mask=x
load_raw r5, r1 t1 mask=xyz
shared_load r8, r1 mask=x
ult r9, r1, 600
if r9
load_raw r4, r1 t1 mask=x
iadd r4, r4, 1
endif
imul r0, $THREAD_ID_X, 20
uav_store_raw r0, r4 u0 mask=xyzw
iadd r0, r0, 16
uav_store_raw r0, r8 u0 mask=x
"""


@pytest.mark.parametrize("lanes", [8, 16])
def test_addresses_that_turn_out_regular(lanes: int) -> None:
    """What is read: the same place in all lanes, neighbours, neighbours across the end, places in any order."""

    def build(s: Scene) -> list[Surface]:
        r = np.random.default_rng(1)
        lane = np.arange(16)
        rows = [lane * 0 + 40, lane * 4 + 80, lane * 4 + 1000, lane * 0 + 5000, 1020 - lane * 4, (lane // 8) * 4, lane % 8 * 4 + 64]
        rows += [r.integers(0, 300, 16) * 4 for _ in range(4)] + [lane * 4 + 1]
        addresses = np.concatenate([*rows, *rows, *rows, *rows]).astype(np.uint32)
        count = len(addresses)
        out = s.buffer(np.zeros(count * 5, np.uint32))
        s.shader(LOOK_UP)
        s.bind(Op.SET_RESOURCE, s.buffer(addresses), slot=Stage.COMPUTE << 8)
        s.bind(Op.SET_RESOURCE, s.buffer(r.integers(0, 1 << 32, 256, np.uint32)), slot=Stage.COMPUTE << 8 | 1)
        s.bind(Op.SET_UAV, out, slot=Stage.COMPUTE << 8)
        s.emit(Op.DISPATCH, data=[count // 64, 1, 1])
        return [out]

    ((reference, compiled),) = run_both(build, lanes=lanes)
    assert reference.any()
    assert np.array_equal(reference, compiled)
