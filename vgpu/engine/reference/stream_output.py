"""Stream output: vertices of finished primitives appended to buffers, whole primitives only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vgpu.engine import FaultError, PipelineState
from vgpu.memory import Memory
from wddm.hw.interrupts import Fault
from wddm.hw.isa import DeclarationKind
from wddm.hw.isa_check import declared
from wddm.hw.packets import Op

from .bindings import packet
from .queries import Counters
from .shader import Program

if TYPE_CHECKING:
    from .draw import Assembled

Array = npt.NDArray[Any]


class Targets:
    """The stream-output declarations of the last vertex stage against the buffers bound."""

    def __init__(self, memory: Memory, state: PipelineState, program: Program, counters: Counters) -> None:
        self.counters = counters
        self.elements: dict[int, list[tuple[int, int, int, int]]] = {}  #: stream → (buffer, row, mask, byte offset)
        for _, register, mask, value, offset in declared(program.binary, DeclarationKind.STREAM_OUTPUT).tolist():
            self.elements.setdefault(value >> 8, []).append((value & 0xFF, register * 4, mask, offset))
        self.strides = {d[1]: d[3] for d in declared(program.binary, DeclarationKind.STREAM_STRIDE).tolist()}
        self.buffers: dict[int, tuple[Array, Array]] = {}  #: bytes, fill counter
        for slot in {e[0] for elements in self.elements.values() for e in elements}:
            if slot not in self.strides:
                raise FaultError(Fault.PIPELINE, f"stream output to buffer {slot} without a stride")
            for _, _row, mask, offset in (e for es in self.elements.values() for e in es if e[0] == slot):
                if offset + 4 * mask.bit_count() > self.strides[slot]:
                    raise FaultError(Fault.PIPELINE, f"stream output beyond the stride {self.strides[slot]} of buffer {slot}")
            bound = packet(state, Op.SET_STREAM_OUTPUT, slot)
            if bound is None:
                continue
            if not int(bound["address2"]):
                raise FaultError(Fault.PIPELINE, f"stream output buffer {slot} without a fill counter")
            data = memory.view(int(bound["address"]), int(bound["extent"]), write=True)
            self.buffers[slot] = (data, memory.view(int(bound["address2"]), 4, write=True).view(np.uint32))

    def write(self, stream: int, assembled: Assembled) -> None:
        """Append primitives; those that do not fit whole in every buffer of the stream are counted only."""
        elements = self.elements.get(stream)
        if not elements:
            return
        count, k = assembled.primitives.shape
        fit = count
        slots = sorted({e[0] for e in elements})
        for slot in slots:
            if slot in self.buffers:
                data, fill = self.buffers[slot]
                room = len(data) - int(fill[0])
                fit = min(fit, max(0, room) // (self.strides[slot] * k))
        self.counters.add(f"so_needed{stream}", count)
        self.counters.add(f"so_written{stream}", fit)
        vertices = assembled.primitives[:fit].reshape(-1)
        if not len(vertices):
            return
        for slot in slots:
            if slot not in self.buffers:
                continue
            data, fill = self.buffers[slot]
            stride, start = self.strides[slot], int(fill[0])
            block = data[start : start + stride * len(vertices)].reshape(len(vertices), stride)
            nothing = np.zeros(len(vertices), np.uint32)
            for _, row, mask, offset in (e for e in elements if e[0] == slot):
                at = offset
                for c in range(4):
                    if mask >> c & 1:
                        value = assembled.rows[row + c][vertices] if row + c < len(assembled.rows) else nothing
                        block[:, at : at + 4] = value[:, None].view(np.uint8)
                        at += 4
            fill[0] = start + stride * len(vertices)
