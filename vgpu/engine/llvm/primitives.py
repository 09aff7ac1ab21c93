"""Which positions of the vertex stream make a primitive, for every topology."""

from __future__ import annotations

from wddm.hw.packets import PRIMITIVE_SHAPES, Topology

from .builder import Value


def shape(topology: int) -> tuple[int, int] | None:
    """Vertices of a primitive, neighbours included, and the step to the next; None for what is no topology."""
    if Topology.PATCHLIST_1 <= topology <= Topology.PATCHLIST_32:
        points = topology - Topology.PATCHLIST_1 + 1
        return points, points
    return PRIMITIVE_SHAPES.get(topology)  # type: ignore[call-overload, no-any-return]


def count(topology: int, vertices: int) -> int:
    """Whole primitives that ``vertices`` consecutive vertices make."""
    found = shape(topology)
    return 0 if found is None else max(0, (vertices - found[0]) // found[1] + 1)


def positions(topology: int, n: Value, last: Value | None) -> list[Value]:
    """The vertices of primitive ``n`` of consecutive vertices in the order of a whole primitive (neighbours between corners).

    ``last``: whether it is the last, which a strip of triangles with neighbours wants to know.
    """
    found = shape(topology)
    assert found is not None
    size, step = found
    first = n * step
    if topology == Topology.TRIANGLESTRIP:  # the first vertex leads; the winding stays
        odd = n & 1
        return [first, first + 1 + odd, first + 2 - odd]
    if topology == Topology.TRIANGLESTRIP_ADJ:
        assert last is not None
        odd = (n & 1).ne(0)
        before = n.eq(0).select(1, first - 2)  # across the edge shared with the triangle before
        after = first + last.select(5, n.f.value(6, n.type))
        side = first + 3
        return [first, odd.select(side, before), first + odd.select(4, n.f.value(2, n.type)), after,
                first + odd.select(2, n.f.value(4, n.type)), odd.select(before, side)]  # fmt: skip
    return [first + i for i in range(size)]


def main(topology: int, corners: list[Value]) -> list[Value]:
    """A primitive without its neighbours."""
    if topology in (Topology.LINELIST_ADJ, Topology.LINESTRIP_ADJ):
        return corners[1:3]
    if topology in (Topology.TRIANGLELIST_ADJ, Topology.TRIANGLESTRIP_ADJ):
        return corners[::2]
    return corners
