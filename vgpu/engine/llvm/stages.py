"""The stages between vertices and rasterizer of a pipeline: which functions, joined how.

Primitives go from function to function through pointers in FRONT: the front end hands whole primitives to the hull or geometry
function, that to the next, the last to stream output and the sink.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wddm.hw.packets import Stage, Topology

from . import front, geometry, primitives, stream_output
from .front_function import BATCH, Primitive
from .geometry import INPUT_VERTICES, OUTPUT_CORNERS, GeometryKey
from .jit import Code
from .shader import Declared
from .stream_output import StreamOutput, StreamOutputKey
from .vertex import VertexLayout

if TYPE_CHECKING:
    from .pipeline import Bound, Pipelines, Program

#: Vertices that a geometry stage may make of a batch.
MADE = 1 << 16


class Stages:
    """The functions of hull, domain and geometry programs and of stream output, compiled."""

    def __init__(
        self, pipelines: Pipelines, vs: Program, programs: tuple[tuple[Program, Bound], ...], topology: int, primitive: Primitive
    ) -> None:
        from .pipeline import Between

        self.pipelines, self.lanes, self.primitive = pipelines, pipelines.lanes, primitive
        self.codes: list[Code] = []
        bound = {p.program.stage: (p, b) for p, b in programs}
        self.corners = 0  #: of whole primitives that do not go to the rasterizer at once
        shape = primitives.shape(topology)
        if shape is None or not (programs or topology >= Topology.PATCHLIST_1):
            self.between = Between(stream_output=self._stream_output(vs, front.SETUPS[primitive].corners, "sink"))
            return
        source, batch = vs.layout, BATCH
        assert source is not None
        self.corners = have = shape[0]
        refusal, next_function, made = "", 0, have
        gs = bound.get(Stage.GEOMETRY)
        if gs is not None:
            program = gs[0].program
            seen = INPUT_VERTICES[program.primitive]
            if have != seen and seen in (2, 3):
                have = _without_neighbours(topology, have)
                self.corners = have
            if have != seen:
                refusal = f"geometry program of {seen} vertices gets primitives of {have}"
            else:
                next_function = self._geometry(*gs, source)
            made = OUTPUT_CORNERS[program.topology]
            batch = min(batch, max(1, MADE // (program.instances * program.max_vertices)))
        last = programs[-1][0] if programs else vs
        batch = max(self.lanes, min(batch, 3 * BATCH // self.corners) // self.lanes * self.lanes)
        self.between = Between(
            next_function, self._sink() if last.rasterizes else 0,
            self._stream_output(last, made, "sink" if programs else "assembled"), batch, refusal,
        )  # fmt: skip

    def _part(self, kind: str, key: object, make: object, name: str) -> int:
        code = self.pipelines.part(kind, key, make)
        self.codes.append(code)
        return code[name]

    def _sink(self) -> int:
        return self._part("sink", self.primitive, lambda: front.compile_sink(self.lanes, self.primitive), "sink")

    def _geometry(self, program: Program, bound: Bound, source: VertexLayout) -> int:
        layout = program.layout
        assert layout is not None
        key = GeometryKey(bound.key, input_rows(program, source), source.components, False, layout, self.lanes)
        return self._part("geometry", (program.number, key), lambda: geometry.compile_geometry(program.program, key), "geometry")

    def _stream_output(self, program: Program, corners: int, store: str) -> int:
        output = StreamOutput.of(program.program)
        if not output.elements:
            return 0
        assert program.layout is not None
        key = StreamOutputKey(corners, store, program.layout, self.lanes)
        return self._part(
            "stream_output", (program.number, key), lambda: stream_output.compile_stream_output(output, key), "stream_output"
        )


def rasterized_corners(programs: Sequence[Program], topology: int) -> int:
    """Corners of the primitives that reach the rasterizer; ``programs``: those between."""
    if programs and programs[-1].program.stage == Stage.GEOMETRY:
        return OUTPUT_CORNERS[programs[-1].program.topology]
    return {1: 1, 2: 2, 4: 2}.get((primitives.shape(topology) or (3, 3))[0], 3)


def input_rows(program: Program, source: VertexLayout) -> tuple[int, ...]:
    """For each dword of the program's inputs, its component in the store of the stage before, or -1."""
    registers = max((d[0] + 1 for d in Declared.of(program.program).inputs), default=0)
    found = (source.component(i) for i in range(4 * registers))
    return tuple(-1 if component is None else component for component in found)


def _without_neighbours(topology: int, corners: int) -> int:
    if topology in (Topology.LINELIST_ADJ, Topology.LINESTRIP_ADJ):
        return 2
    if topology in (Topology.TRIANGLELIST_ADJ, Topology.TRIANGLESTRIP_ADJ):
        return 3
    return corners
