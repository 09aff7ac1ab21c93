"""The geometry stage: one lane per primitive and instance; emitted vertices become strips in order of lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vgpu.engine import FaultError, StopWord
from wddm.hw.interrupts import Fault
from wddm.hw.isa import SystemRegister
from wddm.hw.packets import Topology

from . import vertex
from .queries import Counters
from .shader import Interpreter, Lanes, Program

if TYPE_CHECKING:
    from .draw import Assembled

Array = npt.NDArray[Any]
#: Lanes that run together, and dwords that they may emit together: vertices are kept until all are done.
LANES = 1024
EMITTED = 1 << 24
#: Input primitive of a program → vertices it sees.
_INPUT_VERTICES = {1: 1, 2: 2, 3: 3, 6: 4, 7: 6}


@dataclass(slots=True)
class Emitted:
    """Primitives of one stream."""

    stream: int
    assembled: Assembled


class _Collector:
    """Vertices that lanes emit, by stream."""

    def __init__(self, lanes: int, rows: int, limit: int) -> None:
        self.limit = limit
        self.count = np.zeros(lanes, np.int64)  #: vertices emitted by a lane, on all streams
        self.vertices: list[list[tuple[Array, Array]]] = [[] for _ in range(4)]  #: (lanes, rows of their outputs)
        self.strip = np.zeros((4, lanes), np.int64)  #: strip in hand, per stream
        self.marks: list[list[Array]] = [[] for _ in range(4)]
        self.rows = rows

    def emit(self, stream: int, active: Array, outputs: Array) -> None:
        """EMIT; beyond the declared maximum nothing is emitted."""
        lanes = np.flatnonzero(active & (self.count < self.limit))
        self.count[lanes] += 1
        if len(lanes):
            self.vertices[stream].append((lanes, outputs[:, lanes].copy()))
            self.marks[stream].append(self.strip[stream, lanes])

    def cut(self, stream: int, active: Array) -> None:
        """CUT."""
        self.strip[stream, active] += 1

    def stream(self, number: int) -> tuple[Array, Array, Array] | None:
        """Lane, strip and outputs of a stream's vertices, in order of lanes and then of emission."""
        if not self.vertices[number]:
            return None
        lane = np.concatenate([v[0] for v in self.vertices[number]])
        rows = np.concatenate([v[1] for v in self.vertices[number]], axis=1)
        strip = np.concatenate(self.marks[number])
        order = np.argsort(lane, kind="stable")
        return lane[order], strip[order], rows[:, order]


def run(
    p: Program, bound: dict[str, Any], stream: Assembled, topology: int, counters: Counters, stop: StopWord
) -> Iterator[Emitted]:
    """Run the program over all primitives and instances; what it emitted, in order."""
    from .draw import Assembled

    seen = _INPUT_VERTICES.get(p.binary.primitive, p.binary.primitive - 7)
    primitives = stream.primitives
    if primitives.shape[1] != seen and seen in (2, 3):
        primitives = vertex.main_vertices(topology, primitives)
    if primitives.shape[1] != seen:
        raise FaultError(Fault.PIPELINE, f"geometry program of {seen} vertices gets primitives of {primitives.shape[1]}")
    instances = p.binary.instances
    total = len(primitives) * instances
    counters.add("gs_invocations", total)
    rows = np.zeros((p.input_rows, stream.rows.shape[1]), np.uint32)
    shared = min(len(rows), len(stream.rows))
    rows[:shared] = stream.rows[:shared]
    step = max(1, min(LANES, EMITTED // (p.binary.max_vertices * max(p.output_rows, 1))))
    for first in range(0, total, step):
        flat = np.arange(first, min(first + step, total))
        primitive, instance = flat // instances, flat % instances
        collector = _Collector(len(flat), p.output_rows, p.binary.max_vertices)
        lanes = Lanes(
            len(flat),
            vertices=np.ascontiguousarray(rows[:, primitives[primitive]].transpose(2, 0, 1)),
            system={
                SystemRegister.PRIMITIVE_ID: stream.primitive_id[primitive].astype(np.uint32),
                SystemRegister.GS_INSTANCE_ID: instance.astype(np.uint32),
            },
            emit=collector.emit,
            cut=collector.cut,
            **bound,
        )
        Interpreter(p, lanes, stop).run()
        for number in range(4):
            got = collector.stream(number)
            if got is not None:
                lane, strip, outputs = got
                out = _strips(lane, strip, p.binary.topology if number == 0 or len(p.outputs) else 1)
                counters.add("gs_primitives", len(out))
                yield Emitted(number, Assembled(p, outputs, out, stream.primitive_id[primitive[lane[out[:, 0]]]]))


def _strips(lane: Array, strip: Array, topology: int) -> Array:
    """Primitives of emitted vertices: points, or the lines or triangles of each strip."""
    if topology == 1:
        return np.arange(len(lane))[:, None]
    kind = Topology.LINESTRIP if topology == 3 else Topology.TRIANGLESTRIP
    k = 2 if topology == 3 else 3
    new = np.concatenate([[True], (lane[1:] != lane[:-1]) | (strip[1:] != strip[:-1])])
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, len(lane)))
    parts = [vertex.primitives_of(kind, int(n)) + s for s, n in zip(starts, sizes, strict=True)]
    return np.concatenate(parts) if parts else np.zeros((0, k), np.int64)
