"""Damaged packets, descriptors and programs: a fault or a picture, never anything else."""

from __future__ import annotations

import contextlib
import random
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.gpu_scene import Scene
from tests.unit.llvm.programs import compute_program
from tests.unit.llvm.test_draws import ALPHA, triangles
from tests.unit.llvm.test_textures import textured
from vgpu.engine.llvm import LlvmEngine
from vgpu.fault import FaultError
from wddm.hw.isa import HEADER_SIZE
from wddm.hw.isa_text import assemble
from wddm.hw.packets import Op, Stage


def damage(seed: int) -> None:
    """Flip some bits of a scene that is well, run it, and expect nothing but a FaultError."""
    r = random.Random(seed)
    s = Scene(lambda m, stop: LlvmEngine(m, stop), 8 << 20)
    if r.random() < 0.5:
        surfaces = triangles(10, seed, samples=r.choice([1, 4]), blend=ALPHA, indexed=r.random() < 0.5)(s)
    else:
        surfaces = textured(mips=3, size=(32, 32, 1))(s)
    packets = np.concatenate(s.packets)
    raw = packets.view(np.uint8)
    for _ in range(r.randrange(1, 4)):
        kind = r.random()
        if kind < 0.7:  # the descriptors and numbers of state
            at = r.randrange(len(packets)) * 64 + r.choice([2, 20, *range(32, 64)])
            raw[at] ^= 1 << r.randrange(8)
        elif kind < 0.9:  # a word set to something extreme
            packets["data"][r.randrange(len(packets)), r.randrange(8)] = r.choice(
                [0, 1, 0xFFFFFFFF, 0x7F800000, 0x80000000, 0xFFFF]
            )
        else:  # memory: programs, vertices, textures
            memory = s.memory.view(surfaces[0].address - 4096, 4096, write=True)
            memory[r.randrange(4096)] ^= 1 << r.randrange(8)
    packets["data"][packets["op"] == Op.DRAW, :2] &= 0xFFF  # not for ever
    with contextlib.suppress(FaultError):
        s.submit(packets)


@settings(deadline=None, max_examples=40, database=None)
@given(seed=st.integers(0, 1 << 40))
def test_damaged_packets(seed: int) -> None:
    damage(seed)


def damage_program(seed: int) -> None:
    """A program with some wrong bytes: refused, or run without harm."""
    r = random.Random(seed)
    s = Scene(lambda m, stop: LlvmEngine(m, stop), 4 << 20)
    code = bytearray(assemble(compute_program(seed)).to_bytes())
    for _ in range(r.randrange(1, 4)):
        code[r.randrange(HEADER_SIZE, len(code))] ^= 1 << r.randrange(8)
    address, size = s.upload(bytes(code))
    s.emit(Op.SET_SHADER, slot=Stage.COMPUTE << 8, address=address, extent=size)
    data = s.buffer(np.arange(4096, dtype=np.uint32))
    s.bind(Op.SET_RESOURCE, data, slot=Stage.COMPUTE << 8)
    s.bind(Op.SET_UAV, s.buffer(np.zeros(4096, np.uint32)), slot=Stage.COMPUTE << 8)
    s.emit(Op.DISPATCH, data=[2, 1, 1])
    timer = threading.Timer(5, s.stop.set)
    timer.start()
    with contextlib.suppress(FaultError):
        s.run()
    timer.cancel()


@settings(deadline=None, max_examples=25, database=None)
@given(seed=st.integers(0, 1 << 40))
def test_damaged_programs(seed: int) -> None:
    damage_program(seed)


@pytest.mark.parametrize("seed", range(3))
def test_fixed_damage(seed: int) -> None:
    damage(seed)
    damage_program(seed)
