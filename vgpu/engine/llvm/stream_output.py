"""Stream output: vertices of finished primitives appended to buffers, whole primitives only.

``stream_output(FRONT*, stream, primitives)`` takes the corner lists and the store that the last stage left. Primitives that do not
fit whole into every buffer of the stream are counted only. The bytes filled so far live in memory, beside the buffers.
"""

from __future__ import annotations

from dataclasses import dataclass

from vgpu.fault import FaultError
from wddm.hw.interrupts import Fault
from wddm.hw.isa import DeclarationKind, ShaderProgram
from wddm.hw.isa_check import declared

from . import records
from .builder import I32, I64, PTR, VOID, Module, Value
from .front_function import LIST_STRIDE, FrontFunction
from .vertex import VertexLayout


@dataclass(frozen=True, slots=True)
class StreamOutputKey:
    """What stream output is compiled for, beside the program that declares it."""

    corners: int  #: of a primitive
    store: str  #: which part of the scratch holds the vertices, and the lists: "sink" or "assembled"
    layout: VertexLayout
    lanes: int


@dataclass(frozen=True, slots=True)
class StreamOutput:
    """The stream-output declarations of a program."""

    elements: tuple[tuple[int, tuple[tuple[int, int, int, int], ...]], ...]  #: stream, its (buffer, register, mask, byte offset)
    strides: tuple[tuple[int, int], ...]  #: buffer, bytes per vertex

    @classmethod
    def of(cls, program: ShaderProgram) -> StreamOutput:
        """Collect them. Raises FaultError(PIPELINE) when a buffer has no stride or elements reach beyond it."""
        streams: dict[int, list[tuple[int, int, int, int]]] = {}
        strides = {d[1]: d[3] for d in declared(program, DeclarationKind.STREAM_STRIDE).tolist()}
        for _, register, mask, value, offset in declared(program, DeclarationKind.STREAM_OUTPUT).tolist():
            buffer = value & 0xFF
            if buffer not in strides:
                raise FaultError(Fault.PIPELINE, f"stream output to buffer {buffer} without a stride")
            if offset + 4 * mask.bit_count() > strides[buffer]:
                raise FaultError(Fault.PIPELINE, f"stream output beyond the stride {strides[buffer]} of buffer {buffer}")
            streams.setdefault(value >> 8, []).append((buffer, register, mask, offset))
        used = {e[0] for elements in streams.values() for e in elements}
        return cls(
            tuple((stream, tuple(elements)) for stream, elements in sorted(streams.items())),
            tuple((buffer, stride) for buffer, stride in sorted(strides.items()) if buffer in used),
        )


def compile_stream_output(output: StreamOutput, key: StreamOutputKey) -> str:
    """The IR of ``stream_output``."""
    m = Module()
    _StreamOutput(m, output, key).write()
    return str(m)


class _StreamOutput(FrontFunction):
    def __init__(self, module: Module, output: StreamOutput, key: StreamOutputKey) -> None:
        super().__init__(module, key.lanes, "stream_output", VOID, [I32, I32], private=False)
        self.output, self.key = output, key
        if key.store == "assembled":
            self.store = self.area["assembled_store"]
        self.first_list = self.area["assembled_corners"] if key.store == "assembled" else self.lists[0]
        self.strides = dict(output.strides)

    def write(self) -> None:
        """Its body."""
        f = self.f
        stream, primitives = self.arguments
        for number, elements in self.output.elements:
            with f.if_(stream.eq(number)):
                self._stream(number, elements, primitives)
        f.ret()

    def _buffer(self, slot: int, name: str) -> int:
        at = records.offset(records.FRONT, "stream_buffers") + slot * records.STREAM_BUFFER.itemsize
        return at + records.offset(records.STREAM_BUFFER, name)

    def _stream(self, number: int, elements: tuple[tuple[int, int, int, int], ...], primitives: Value) -> None:
        f, k = self.f, self.key.corners
        slots = sorted({e[0] for e in elements})
        fit = primitives
        bound, counters = {}, {}
        for slot in slots:
            counters[slot] = f.load(PTR, self.front, self._buffer(slot, "filled"))
            bound[slot] = counters[slot].ne(0)
            size = f.load(I32, self.front, self._buffer(slot, "size"))
            # Nothing bound: whatever comes fits, and goes nowhere.
            filled = f.load(I32, bound[slot].select(counters[slot], self.front))
            room = filled.ult(size).select(size - filled, 0).udiv(self.strides[slot] * k)
            fit = bound[slot].select(f.umin(fit, room), fit)
        self.tally(f"so_needed{number}", primitives)
        self.tally(f"so_written{number}", fit)
        for slot in slots:
            with f.if_(bound[slot]):
                base = f.load(PTR, self.front, self._buffer(slot, "base"))
                filled = f.load(I32, counters[slot])
                self._append(f.offset(base, filled.zext(I64)), slot, [e for e in elements if e[0] == slot], fit)
                f.store(filled + fit * (self.strides[slot] * k), counters[slot])

    def _append(self, target: Value, slot: int, elements: list[tuple[int, int, int, int]], count: Value) -> None:
        f, stride = self.f, self.strides[slot]
        with f.count(0, count) as n:
            row = f.offset(target, n.zext(I64) * (stride * self.key.corners))
            with f.count(0, self.key.corners) as corner:
                wide = corner.zext(I64)
                self._vertex(f.offset(row, wide * stride), f.offset(self.first_list, wide * LIST_STRIDE), n, elements)

    def _vertex(self, target: Value, corners: Value, n: Value, elements: list[tuple[int, int, int, int]]) -> None:
        f, w = self.f, self.lanes
        v = f.load(I32, f.index(corners, I32, n.zext(I64)))
        place = v.shr(w.bit_length() - 1) * (self.key.layout.components * w) + (v & (w - 1))
        source = f.index(self.store, I32, place.zext(I64))
        for _, register, mask, at in elements:
            for c in range(4):
                if mask >> c & 1:
                    component = self.key.layout.component(register * 4 + c)
                    x = f.value(0, I32) if component is None else f.load(I32, source, component * w * 4)
                    f.store(x, target, at, align=1)
                    at += 4
