"""The vertices of W primitives as the stages behind the vertex program read them: LOAD_INPUT of a dword of a corner."""

from __future__ import annotations

from collections.abc import Sequence

from .builder import I32, I64, PTR, Function, Value
from .shader import Translator


class Corners:
    """Corners in a vertex store (component c of vertex v lies at ``store[(v / W * components + c) * W + v % W]``).

    ``rows``: for each dword of an input (register * 4 + component) its component in the store, -1 for what nobody wrote.
    """

    def __init__(self, f: Function, lanes: int, store: Value, components: int, rows: Sequence[int], count: int) -> None:
        self.f, self.lanes, self.store, self.components, self.rows, self.count = f, lanes, store, components, rows, count
        self.ivec = I32.vector(lanes)
        self.places = f.array(self.ivec, count)

    def set(self, corner: int, vertices: Value) -> None:
        """The vertices that are ``corner`` of the W primitives."""
        w = self.lanes
        place = vertices.shr(w.bit_length() - 1) * (self.components * w) + (vertices & (w - 1))
        self.f.store(place, self.places, corner * w * 4, align=4)

    def load(self, t: Translator, dword: Value, vertex: Value) -> Value:
        """A dword of a corner; 0 beyond the corners and the rows."""
        f, w = self.f, self.lanes
        inside = f.value(1, t.mvec)
        known, row = vertex.known, dword.known
        if (known is not None and known >= self.count) or (row is not None and (row >= len(self.rows) or self.rows[row] < 0)):
            return t.zero()
        if not any(r >= 0 for r in self.rows):
            return t.zero()
        if known is not None:
            place = f.load(self.ivec, self.places, known * w * 4, align=4)
        else:
            ok = vertex.ult(self.count)
            safe = ok.select(vertex, 0)
            if safe.type.lanes:
                place = f.gather(self.ivec, f.index(self.places, I32, safe * w + t.lane_index()), inside)
            else:
                place = f.load(self.ivec, f.index(self.places, self.ivec, safe.zext(I64)), align=4)
            inside = inside & t.full(ok)
        if row is not None:
            return f.gather(self.ivec, f.index(f.offset(self.store, self.rows[row] * w * 4), I32, place), inside)
        component, there = lookup(t, self.rows, dword)
        return f.gather(self.ivec, f.index(self.store, I32, place + component * w), inside & t.full(there))


def lookup(t: Translator, rows: Sequence[int], dword: Value) -> tuple[Value, Value]:
    """``rows[dword]`` and whether it exists (0 where not), for a computed dword."""
    f = t.f
    name = "rows " + " ".join(map(str, rows))
    tables = f.module.tables
    if name not in tables:
        tables[name] = f.module.table(f"rows{len(tables)}", I32, rows)
    table = Value(f, PTR, tables[name])
    ok = dword.ult(len(rows))
    safe = ok.select(dword, 0)
    if safe.type.lanes:
        x = f.gather(t.ivec, f.index(table, I32, safe), f.value(1, t.mvec))
    else:
        x = f.load(I32, f.index(table, I32, safe.zext(I64)))
    there = ok & (x >= 0)
    return there.select(x, 0), there
