"""Dispatches: thread groups as lanes, whole groups together, in order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vgpu.engine import FaultError, PipelineState, Step, StopWord
from vgpu.memory import Memory
from wddm.hw.interrupts import Fault
from wddm.hw.isa import SystemRegister
from wddm.hw.packets import Stage

from . import bindings
from .queries import Counters
from .shader import Interpreter, Lanes

#: Lanes that run together, at most (at least one group).
LANES = 16384
_SHARED = 1 << 22  #: dwords of shared memory in flight


def dispatch(
    memory: Memory, state: PipelineState, groups: tuple[int, int, int], counters: Counters, stop: StopWord
) -> Iterator[Step]:
    """Run the compute program over ``groups``; yields between batches of groups, and True first if it has a loop."""
    from .draw import lanes_at_once

    p = bindings.program(memory, state, Stage.COMPUTE)
    if p is None:
        raise FaultError(Fault.PIPELINE, "dispatch without a compute program")
    if p.has_loop:
        yield True
    bound = bindings.bind(memory, state, p, uav_stage=Stage.COMPUTE)
    gx, gy, gz = p.binary.group
    size = gx * gy * gz
    dwords = p.binary.shared_bytes // 4
    together = max(1, min(LANES, lanes_at_once(p)) // size)
    if dwords:
        together = max(1, min(together, _SHARED // dwords))
    flat = np.arange(size, dtype=np.uint32)
    inside = {
        SystemRegister.ID_IN_GROUP_X: flat % np.uint32(gx),
        SystemRegister.ID_IN_GROUP_Y: flat // np.uint32(gx) % np.uint32(gy),
        SystemRegister.ID_IN_GROUP_Z: flat // np.uint32(gx * gy),
        SystemRegister.ID_IN_GROUP_FLAT: flat,
    }
    total = groups[0] * groups[1] * groups[2]
    for first in range(0, total, together):
        numbers = np.arange(first, min(first + together, total))
        count = len(numbers)
        ids = [
            (numbers % groups[0]).astype(np.uint32),
            (numbers // groups[0] % groups[1]).astype(np.uint32),
            (numbers // (groups[0] * groups[1])).astype(np.uint32),
        ]
        system = {k: np.tile(v, count) for k, v in inside.items()}
        for axis, extent in enumerate((gx, gy, gz)):
            group = np.repeat(ids[axis], size)
            system[SystemRegister(SystemRegister.GROUP_ID_X + axis)] = group
            local = system[SystemRegister(SystemRegister.ID_IN_GROUP_X + axis)]
            system[SystemRegister(SystemRegister.THREAD_ID_X + axis)] = group * np.uint32(extent) + local
        lanes = Lanes(
            count * size,
            system={int(k): v for k, v in system.items()},
            shared=np.zeros((count, dwords), np.uint32),
            group=np.repeat(np.arange(count), size),
            **bound,
        )
        counters.add("cs_invocations", count * size)
        Interpreter(p, lanes, stop).run()
        yield None
