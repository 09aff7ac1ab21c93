"""From pipeline state to what the stages use: programs, constant buffers, resources, samplers, unordered access views."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vgpu.engine import FaultError, Packet, PipelineState
from vgpu.memory import Memory
from wddm.hw.interrupts import Fault
from wddm.hw.isa import INDEX_MASK, Kind
from wddm.hw.isa import Op as Instruction
from wddm.hw.packets import Op, Stage

from . import sampler, surface
from .shader import Program, load


def packet(state: PipelineState, op: Op, slot: int = 0) -> Packet | None:
    """The packet bound to a slot, or None."""
    return state.bindings.get(op, {}).get(slot)


def program(memory: Memory, state: PipelineState, stage: Stage) -> Program | None:
    """The program bound to a stage. Raises FaultError(BAD_SHADER or PIPELINE)."""
    bound = packet(state, Op.SET_SHADER, stage << 8)
    if bound is None:
        return None
    loaded = load(memory.view(int(bound["address"]), int(bound["extent"])).tobytes())
    if loaded.stage != stage:
        raise FaultError(Fault.PIPELINE, f"a {loaded.stage.name.lower()} program bound as {stage.name.lower()} program")
    return loaded


def used_slots(p: Program) -> tuple[set[int], set[int]]:
    """Constant buffer and sampler slots that a program names."""
    constants = {(s & INDEX_MASK) >> 14 for row in p.code for s in row[3] if s >> 28 == Kind.CONSTANT}
    constants |= {row[4] for row in p.code if row[0] == Instruction.LOAD_CONSTANT}
    samplers = {row[4] >> 8 & 0xFF for row in p.code if Instruction.SAMPLE <= row[0] <= Instruction.LOD}
    return constants, samplers


def bind(memory: Memory, state: PipelineState, p: Program, *, uav_stage: Stage = Stage.PIXEL) -> dict[str, Any]:
    """Keyword arguments of :class:`Lanes` for everything that ``p`` declares or names."""
    high = p.stage << 8
    constants, samplers = used_slots(p)
    out: dict[str, Any] = {"constants": {}, "resources": {}, "samplers": {}, "uavs": {}}
    for slot in constants:
        bound = packet(state, Op.SET_CONSTANT_BUFFER, high | slot)
        if bound is not None:
            out["constants"][slot] = _dwords(memory, bound)
    for slot in p.resources:
        bound = packet(state, Op.SET_RESOURCE, high | slot)
        if bound is not None:
            out["resources"][slot] = surface.bind(memory, bound)
    for slot in samplers:
        bound = packet(state, Op.SET_SAMPLER, high | slot)
        if bound is not None:
            out["samplers"][slot] = sampler.sampler(bound)
    for slot in p.uavs:
        bound = packet(state, Op.SET_UAV, uav_stage << 8 | slot)
        if bound is not None:
            out["uavs"][slot] = surface.bind(memory, bound, write=True)
            if int(bound["address2"]):
                out["uavs"]["counter", slot] = memory.view(int(bound["address2"]), 4, write=True).view(np.uint32)
    return out


def _dwords(memory: Memory, bound: Packet) -> npt.NDArray[np.uint32]:
    size = min(int(bound["data"][0]), int(bound["extent"]), 65536) // 4 * 4
    return memory.view(int(bound["address"]), size).view(np.uint32)
