"""The stages between vertices and rasterizer of a pipeline: which functions, joined how.

Primitives go from function to function through pointers in FRONT: the front end hands whole primitives to the hull or geometry
function, that to the next, the last to stream output and the sink.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vgpu.engine.reference.tessellator import ISOLINE, OUTPUT_POINT, QUAD, TRIANGLE
from wddm.hw.isa import DeclarationKind, ShaderProgram, SystemValue
from wddm.hw.packets import Stage, Topology

from . import front, geometry, primitives, stream_output
from .codegen import QUICK
from .domain import DomainKey, compile_domain
from .front_function import BATCH, Primitive
from .geometry import INPUT_VERTICES, OUTPUT_CORNERS, GeometryKey
from .hull import Control, HullKey, compile_hull
from .parts import Part
from .shader import Declared
from .stream_output import StreamOutput, StreamOutputKey
from .tessellator import TessellatorKey, compile_tessellator
from .vertex import VertexLayout

if TYPE_CHECKING:
    from .pipeline import Bound, Pipelines, Program

#: Vertices that a geometry stage may make of a batch.
MADE: Final = 1 << 16
#: Patches in a batch: each may become thousands of triangles.
TESSELLATED: Final = 32
_FACTORS: Final[dict[int, tuple[tuple[SystemValue, ...], tuple[SystemValue, ...]]]] = {
    QUAD: (
        (SystemValue.QUAD_EDGE_U0, SystemValue.QUAD_EDGE_V0, SystemValue.QUAD_EDGE_U1, SystemValue.QUAD_EDGE_V1),
        (SystemValue.QUAD_INSIDE_U, SystemValue.QUAD_INSIDE_V),
    ),
    TRIANGLE: ((SystemValue.TRI_EDGE_U0, SystemValue.TRI_EDGE_V0, SystemValue.TRI_EDGE_W0), (SystemValue.TRI_INSIDE,)),
    ISOLINE: ((SystemValue.LINE_DENSITY, SystemValue.LINE_DETAIL), ()),
}


@dataclass(frozen=True, slots=True)
class Between:
    """The functions between vertices and rasterizer, as FRONT wants them."""

    next: int = 0  #: what the front end hands whole primitives to
    tessellator: int = 0
    domain: int = 0
    geometry: int = 0  #: behind the domain stage
    sink: int = 0
    stream_output: int = 0
    batch: int = 0
    refusal: str = ""  #: why the stages do not fit together; drawing a primitive is a fault then


_NOTHING: Final = Between()


class Stages:
    """The functions of hull, domain and geometry programs and of stream output, compiled."""

    def __init__(
        self, pipelines: Pipelines, vs: Program, programs: tuple[tuple[Program, Bound], ...], topology: int, primitive: Primitive
    ) -> None:
        self.pipelines, self.lanes, self.primitive = pipelines, pipelines.lanes, primitive
        self._parts: dict[str, tuple[Part, str]] = {}  # by field of Between: the part, and the function's name in it
        self._batch, self._refusal = 0, ""
        self.corners = 0  #: of whole primitives that do not go to the rasterizer at once
        shape = primitives.shape(topology)
        if shape is None or not (programs or topology >= Topology.PATCHLIST_1):
            self._stream_output(vs, front.SETUPS[primitive].corners, "sink")
        else:
            assert vs.layout is not None
            self._join(vs, vs.layout, programs, topology, shape[0])

    @property
    def parts(self) -> tuple[Part, ...]:
        """All there are."""
        return tuple(part for part, _ in self._parts.values())

    def between(self) -> Between:
        """Where the functions are now."""
        if not self.corners and not self._parts:
            return _NOTHING
        functions = {field: part[name] for field, (part, name) in self._parts.items()}
        return Between(**functions, batch=self._batch, refusal=self._refusal)

    def _join(
        self, vs: Program, source: VertexLayout, programs: tuple[tuple[Program, Bound], ...], topology: int, have: int
    ) -> None:
        """Each stage with what comes before it: primitives of ``have`` corners in a store of layout ``source``."""
        bound = {p.program.stage: (p, b) for p, b in programs}
        hs, ds, gs = (bound.get(stage) for stage in (Stage.HULL, Stage.DOMAIN, Stage.GEOMETRY))
        made = self.corners = have
        batch, refusal = BATCH, ""
        if hs is not None and ds is not None:
            hull_program, domain_program = hs[0].program, ds[0].program
            points, domain = hull_program.primitive & 0xFF, hull_program.topology & 15
            made, batch = tessellated_corners(hull_program), TESSELLATED
            if have != points:
                refusal = f"hull program of {points} control points gets patches of {have}"
            elif domain != domain_program.topology & 15:
                refusal = "hull and domain programs of different domains"
            else:
                self._tessellation(hs, ds, source, made, gs is not None)
            assert ds[0].layout is not None
            source, have = ds[0].layout, made
        if gs is not None:
            program = gs[0].program
            seen = INPUT_VERTICES[program.primitive]
            if have != seen and seen in (2, 3) and hs is None:
                self.corners = have = _without_neighbours(topology, have)
            if have != seen:
                refusal = refusal or f"geometry program of {seen} vertices gets primitives of {have}"
            else:
                self._geometry(*gs, source, hs is not None)
            made = OUTPUT_CORNERS[program.topology]
            batch = min(batch, max(1, MADE // (program.instances * program.max_vertices)))
        last = programs[-1][0] if programs else vs
        if programs and last.rasterizes:
            self._part("sink", "sink", self.primitive, lambda: front.compile_sink(self.lanes, self.primitive))
        self._stream_output(last, made, "sink" if programs else "assembled")
        self._batch = max(self.lanes, min(batch, 3 * BATCH // self.corners) // self.lanes * self.lanes)
        self._refusal = refusal

    def _part(self, field: str, kind: str, key: Hashable, make: Callable[[], str], name: str = "") -> None:
        self._parts[field] = self.pipelines.part(kind, key, make, level=QUICK), name or kind

    def _tessellation(
        self, hs: tuple[Program, Bound], ds: tuple[Program, Bound], source: VertexLayout, corners: int, geometry: bool
    ) -> None:
        (hull_program, hull_bound), (domain_program, domain_bound) = hs, ds
        p, layout = hull_program.program, domain_program.layout
        assert layout is not None
        registers = max((r + 1 for r, _ in source.registers), default=0)
        rows = input_rows(hull_program, source, 4 * registers)
        hull = HullKey(hull_bound.key, rows, source.components, self.lanes)
        mesh = TessellatorKey(p.topology & 15, p.topology >> 4 & 15, p.topology >> 8, p.max_tess_factor, self.lanes)
        domain = DomainKey(domain_bound.key, Control.of(p, len(rows)), factors(p), corners, geometry, layout, self.lanes)
        self._part("next", "hull", (hull_program.number, hull), lambda: compile_hull(p, hull))
        self._part("tessellator", "tessellator", mesh, lambda: compile_tessellator(mesh), "tessellate")
        self._part("domain", "domain", (domain_program.number, domain), lambda: compile_domain(domain_program.program, domain))

    def _geometry(self, program: Program, bound: Bound, source: VertexLayout, tessellated: bool) -> None:
        layout = program.layout
        assert layout is not None
        key = GeometryKey(bound.key, input_rows(program, source), source.components, tessellated, layout, self.lanes)
        field = "geometry" if tessellated else "next"
        self._part(field, "geometry", (program.number, key), lambda: geometry.compile_geometry(program.program, key))

    def _stream_output(self, program: Program, corners: int, store: str) -> None:
        output = StreamOutput.of(program.program)
        if output.elements:
            assert program.layout is not None
            key = StreamOutputKey(corners, store, program.layout, self.lanes)
            self._part(
                "stream_output", "stream_output", (program.number, key), lambda: stream_output.compile_stream_output(output, key)
            )


def tessellated_corners(hull: ShaderProgram) -> int:
    """Corners of the primitives that the tessellator makes."""
    return 1 if hull.topology >> 8 == OUTPUT_POINT else 2 if hull.topology & 15 == ISOLINE else 3


def rasterized_corners(programs: Sequence[Program], topology: int) -> int:
    """Corners of the primitives that reach the rasterizer; ``programs``: those between."""
    between = {p.program.stage: p.program for p in programs}
    if Stage.GEOMETRY in between:
        return OUTPUT_CORNERS[between[Stage.GEOMETRY].topology]
    if Stage.HULL in between:
        return tessellated_corners(between[Stage.HULL])
    return {1: 1, 2: 2, 4: 2}.get((primitives.shape(topology) or (3, 3))[0], 3)


def factors(hull: ShaderProgram) -> tuple[int, ...]:
    """Where the tessellation factors lie among the patch constants: four edges, two inside; -1 for what is not declared."""
    places: dict[int, int] = {}
    declarations = sorted(hull.declarations.tolist(), key=lambda d: d[1])
    for kind, register, mask, value, _ in declarations:
        if kind == DeclarationKind.PATCH_CONSTANT:
            places.setdefault(value, register * 4 + (mask & -mask).bit_length() - 1)
    edges, inside = _FACTORS[hull.topology & 15]
    wanted = [*edges, *[None] * (4 - len(edges)), *inside, *[None] * (2 - len(inside))]
    return tuple(-1 if value is None else places.get(value, -1) for value in wanted)


def input_rows(program: Program, source: VertexLayout, least: int = 0) -> tuple[int, ...]:
    """For each dword of the program's inputs (``least`` at least), its component in the store of the stage before, or -1."""
    registers = max((d[0] + 1 for d in Declared.of(program.program).inputs), default=0)
    found = (source.component(i) for i in range(max(least, 4 * registers)))
    return tuple(-1 if component is None else component for component in found)


def _without_neighbours(topology: int, corners: int) -> int:
    if topology in (Topology.LINELIST_ADJ, Topology.LINESTRIP_ADJ):
        return 2
    if topology in (Topology.TRIANGLELIST_ADJ, Topology.TRIANGLESTRIP_ADJ):
        return 3
    return corners
