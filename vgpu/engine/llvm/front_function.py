"""What the functions of the front end have in common: the FRONT record, their first argument, and the scratch it points to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Final

from . import records, vertex
from .builder import F32, I32, I64, PTR, VOID, Module, Type, Value
from .vertex import FIRST_OUTPUT, VertexLayout

BATCH: Final = 256  #: primitives
#: Vertices the clipper may add before its output is set up, and triangles.
CLIP_VERTICES: Final = 512
LIST: Final = 768
LIST_STRIDE: Final = 4 * (LIST + 16)  #: bytes from one list to the next: vectors may reach beyond the end
DOMAIN_VERTICES: Final = 4352  #: the largest mesh, and some
EMITTED: Final = 1024  #: vertices that an invocation of a geometry program may emit
HASH: Final = 1024


class Primitive(IntEnum):
    """What goes to the rasterizer."""

    TRIANGLE = 0
    WIREFRAME = 1
    LINE = 2
    FAT_LINE = 3  #: multisampled
    POINT = 4
    SMOOTH_LINE = 5  #: antialiased by alpha


@dataclass(frozen=True, slots=True)
class FrontKey:
    """What a front end is compiled for: little, so that a new shader needs none."""

    topology: int
    index_size: int
    lanes: int
    #: The whole primitives, neighbours included, go to another stage than the rasterizer, with this many corners; 0: they do not.
    corners: int = 0
    primitive: Primitive = Primitive.TRIANGLE  #: that is rasterized, when they do not


def record_bytes(planes: int) -> int:
    """Size of a triangle record, a multiple of 16."""
    return ((records.TRIANGLE_PLANES + 3 * planes + 3) & ~3) * 4


def scratch_bytes(lanes: int) -> int:
    """Bytes of scratch that a front end needs at most: address space, of which the largest programs alone use all."""
    return places(lanes)["end"]


def clip_components(layout: VertexLayout) -> tuple[int, ...]:
    """Where the eight possible clip distances lie in the store."""
    places = [layout.component(r * 4 + c) or 0 for r, c in layout.clip]
    return tuple((places + [0] * 8)[:8])


class FrontFunction:
    """A function under construction whose first argument is the FRONT record; ``f`` is its builder."""

    def __init__(
        self, module: Module, lanes: int, name: str, result: Type, arguments: Sequence[Type] = (), *, private: bool = True
    ) -> None:
        self.lanes = lanes
        self.ivec, self.fvec = I32.vector(lanes), F32.vector(lanes)
        self.f = f = module.function(name, result, [PTR, *arguments], private=private)
        self.front, *self.arguments = f.arguments
        with f.prologue():
            self.pass_, self.draw = self.get("pass", PTR), self.get("draw", PTR)
            scratch = self.get("scratch", PTR)
            self.area = area = {name: f.offset(scratch, at) for name, at in places(lanes).items()}
            self.components = self.get("components", I32)
        self.ids, self.instances, self.store = area["ids"], area["instances"], area["store"]
        self.tag, self.generation, self.slot = area["tag"], area["generation"], area["slot"]
        self.lists = [area[f"list{i}"] for i in range(5)]  # three corners, provoking corner, primitive id
        self.clipped = [area[f"list{i}"] for i in range(5, 10)]

    # -- records ------------------------------------------------------------------------------------------------------
    def get(self, name: str, t: Type) -> Value:
        """A field of FRONT that stays."""
        return vertex.front_field(self.f, self.front, name, t)

    def live(self, name: str, t: Type = I32) -> Value:
        """A field of FRONT that changes."""
        return self.f.load(t, self.front, records.offset(records.FRONT, name))

    def put(self, name: str, x: Value) -> None:
        """Write a field of FRONT."""
        self.f.store(x, self.front, records.offset(records.FRONT, name))

    def tally(self, name: str, x: Value) -> None:
        """Add to a statistic."""
        at = records.offset(records.FRONT, name)
        self.f.store(self.f.load(I64, self.front, at) + x.zext(I64), self.front, at)

    def passed(self, name: str, t: Type) -> Value:
        """A field of PASS, now."""
        return self.f.load(t, self.pass_, records.offset(records.PASS, name))

    def deliver(self, stream: int, vertices: Value, primitives: Value, rasterized: bool) -> None:
        """Primitives of the last stage, in its lists: to stream output, and to the rasterizer when it takes them."""
        f = self.f
        output = self.get("stream_output_function", PTR)
        with f.if_(output.ne(0)):
            f.call_pointer(output, VOID, [self.front, f.value(stream, I32), primitives])
        if rasterized:
            with f.if_(self.get("rasterize", I32).ne(0)):
                f.call_pointer(self.get("sink_function", PTR), VOID, [self.front, vertices, primitives])

    # -- the vertex store ---------------------------------------------------------------------------------------------
    def load_component(self, v: Value, component: int | Value) -> Value:
        """A component of local vertex ``v`` (scalar)."""
        return self.f.load(I32, self.component_pointer(v, component))

    def component_pointer(self, v: Value, component: int | Value) -> Value:
        w = self.lanes
        at = (v.shr(w.bit_length() - 1) * (self.components * w)) + (v & (w - 1)) + component * w
        return self.f.index(self.store, I32, at.zext(I64))


@cache
def places(lanes: int) -> dict[str, int]:
    """Where the parts of the scratch lie: what is assembled for the stages in between ("assembled", "control", "domain"), and what
    goes to the rasterizer. A list is one dword for each of :data:`LIST` primitives."""
    vertices = BATCH * 3 + 2 * lanes
    output = vertices + CLIP_VERTICES
    component = 4 * (FIRST_OUTPUT + 128)
    sizes = {"ids": 4 * output, "instances": 4 * output, **{f"list{i}": LIST_STRIDE for i in range(10)}}
    sizes |= {"tag": 4 * HASH, "generation": 4 * HASH, "slot": 4 * HASH}
    sizes |= {"assembled_corners": LIST_STRIDE * 32, "assembled_numbers": LIST_STRIDE, "assembled_store": vertices * component}
    sizes |= {"control": 4 * BATCH * 32 * 128, "patch": 4 * BATCH * 128}
    sizes |= {"mesh_u": 4 * DOMAIN_VERTICES, "mesh_v": 4 * DOMAIN_VERTICES}
    sizes |= {"mesh_corners": 4 * 3 * (8192 + 64), "domain_corners": LIST_STRIDE * 3, "domain_numbers": LIST_STRIDE}
    sizes["domain_store"] = DOMAIN_VERTICES * component
    last = max(EMITTED * lanes, DOMAIN_VERTICES) + CLIP_VERTICES + 2 * lanes
    sizes |= {"marks": 4 * EMITTED * lanes, "store": max(output, last) * component}
    out: dict[str, int] = {}
    at = 0
    for name, size in sizes.items():
        out[name] = at
        at += (size + 63) & ~63
    return out | {"end": at}
