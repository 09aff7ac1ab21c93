"""What the functions of the front end have in common: the FRONT record, their first argument, and the scratch it points to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from . import records, vertex
from .builder import F32, I32, I64, PTR, Module, Type, Value
from .vertex import FIRST_OUTPUT, VertexLayout

BATCH: Final = 256  #: primitives
#: Vertices the clipper may add before its output is set up, and triangles.
CLIP_VERTICES: Final = 512
LIST: Final = 768
HASH: Final = 1024


@dataclass(frozen=True, slots=True)
class FrontKey:
    """What a front end is compiled for: little, so that a new shader needs none."""

    topology: int
    index_size: int
    lanes: int


def record_bytes(planes: int) -> int:
    """Size of a triangle record, a multiple of 16."""
    return ((records.TRIANGLE_PLANES + 3 * planes + 3) & ~3) * 4


def scratch_bytes(lanes: int) -> int:
    """Bytes of scratch that a front end needs at most (32 output registers)."""
    vertices = BATCH * 3 + CLIP_VERTICES + 2 * lanes
    return 4 * (vertices * (FIRST_OUTPUT + 128) + 2 * vertices + 2 * 5 * LIST + 3 * HASH) + 8192


def clip_components(layout: VertexLayout) -> tuple[int, ...]:
    """Where the eight possible clip distances lie in the store."""
    places = [layout.component(r * 4 + c) or 0 for r, c in layout.clip]
    return tuple((places + [0] * 8)[:8])


class FrontFunction:
    """A function under construction whose first argument is the FRONT record; ``f`` is its builder."""

    def __init__(
        self, module: Module, key: FrontKey, name: str, result: Type, arguments: Sequence[Type] = (), *, private: bool = True
    ) -> None:
        self.key, self.lanes = key, key.lanes
        self.ivec, self.fvec = I32.vector(key.lanes), F32.vector(key.lanes)
        self.f = f = module.function(name, result, [PTR, *arguments], private=private)
        self.front, *self.arguments = f.arguments
        places = _places(key.lanes)
        with f.prologue():
            self.pass_, self.draw = self.get("pass", PTR), self.get("draw", PTR)
            scratch = self.get("scratch", PTR)
            area = {name: f.offset(scratch, at) for name, at in places.items()}
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

    # -- the vertex store ---------------------------------------------------------------------------------------------
    def load_component(self, v: Value, component: int | Value) -> Value:
        """A component of local vertex ``v`` (scalar)."""
        return self.f.load(I32, self.component_pointer(v, component))

    def component_pointer(self, v: Value, component: int | Value) -> Value:
        w = self.lanes
        at = (v.shr(w.bit_length() - 1) * (self.components * w)) + (v & (w - 1)) + component * w
        return self.f.index(self.store, I32, at.zext(I64))


def _places(lanes: int) -> dict[str, int]:
    """Where the parts of the scratch lie."""
    vertices = BATCH * 3 + CLIP_VERTICES + 2 * lanes
    sizes = {"ids": vertices, "instances": vertices, **{f"list{i}": LIST for i in range(10)}}
    sizes |= {"tag": HASH, "generation": HASH, "slot": HASH, "store": vertices * (FIRST_OUTPUT + 128)}
    places: dict[str, int] = {}
    at = 0
    for name, words in sizes.items():
        places[name] = at
        at += (words * 4 + 63) & ~63
    return places
