"""Binning: a primitive goes into the bins of the tiles it may touch, tile by tile with trivial reject and accept.

A bin is a chain of chunks of entries; an entry is the place of a record in the arena, in units of 16 bytes. Bit 31 of an
entry says that the primitive covers the whole tile.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Final

from . import records
from .builder import I1, I32, I64, PTR, Function, Value
from .front_function import FrontFunction
from .records import CHUNK, HIDDEN_SHIFT, LINE, QUAD, TILE, TRIANGLE, Shape

CONVEX: Final = (Shape.TRIANGLE, Shape.QUAD, Shape.SMOOTH)
Edge = tuple[Value, Value, Value]  #: a, b, c: a * x + b * y + c >= 0 inside, x and y in 1/256 pixel


def append(at: FrontFunction, tile: Value, entry: Value) -> None:
    """Add an entry to a tile's bin."""
    f = at.f
    cursors, chunks = at.passed("cursors", PTR), at.passed("chunks", PTR)
    place = f.index(cursors, I32, tile.zext(I64))
    cursor = f.load(I32, place)
    f.store(entry, f.index(chunks, I32, cursor.zext(I64)))
    following = cursor + 1
    f.store(following, place)
    with f.if_((following & (CHUNK - 1)).eq(CHUNK - 1)):
        field = records.offset(records.PASS, "chunk_next")
        new = f.load(I32, at.pass_, field)
        f.store(new + 1, at.pass_, field)
        f.store(new, f.index(chunks, I32, following.zext(I64)))
        f.store(new * CHUNK, place)


def put(at: FrontFunction, shape: Shape, arena: Value, offset: Value, box: list[Value]) -> None:
    """Put one primitive into the bins of the tiles it may touch; bit 31 of an entry: covers the tile."""
    f = at.f
    left, top, right, bottom = box
    tiles_x = at.passed("tiles_x", I32)
    x0, y0, x1, y1 = left >> 6, top >> 6, right >> 6, bottom >> 6
    entry = offset.shr(4)
    with f.if_else(x0.eq(x1) & y0.eq(y1)) as otherwise:
        append(at, y0 * tiles_x + x0, entry)
        otherwise()
        record = f.offset(arena, offset.zext(I64))
        span = TILE * 256
        groups = [
            [
                # Largest in a tile, relative to its corner, and how much smaller it may be.
                (a * span, b * span, c + (f.max(a, 0) + f.max(b, 0)) * span, (f.max(a, -a) + f.max(b, -b)) * span)
                for a, b, c in edges
            ]
            for edges in bounding_edges(f, shape, record)
        ]
        with f.count(y0, y1 + 1) as ty:
            rows = [[b * ty.sext(I64) + c for _, b, c, _ in edges] for edges in groups]
            full_rows = (ty * TILE >= top) & (ty * TILE + (TILE - 1) <= bottom)
            with f.count(x0, x1 + 1) as tx:
                across = tx.sext(I64)
                best = [
                    [r + a * across for (a, _, _, _), r in zip(edges, row, strict=True)]
                    for edges, row in zip(groups, rows, strict=True)
                ]
                touched = reduce(or_, (reduce(or_, values) >= 0 for values in best))
                with f.if_(touched):
                    marked = entry
                    if shape in CONVEX:
                        worst = [b - e[3] for b, e in zip(best[0], groups[0], strict=True)]
                        full = full_rows & (tx * TILE >= left) & (tx * TILE + (TILE - 1) <= right)
                        full = full & (reduce(or_, worst) >= 0)
                        marked = entry | full.select(-(1 << 31), f.value(0, I32))
                    append(at, ty * tiles_x + tx, marked)


def bounding_edges(f: Function, shape: Shape, record: Value) -> list[list[Edge]]:
    """Edge functions of the convex shapes that together hold all pixels of a record."""
    if shape in CONVEX:
        return [convex_edges(f, shape, record)]
    count = 1 if shape is Shape.LINE else 3
    flags = f.load(I32, record, 4 * TRIANGLE["flags"])
    strips: list[list[Edge]] = []
    for k in range(count):
        (ax, ay), (bx, by) = (tuple(f.load(I32, record, 4 * (LINE[n] + (k + i) % 3)).sext(I64) for n in "xy") for i in (0, 1))
        dx, dy = bx - ax, by - ay
        # No centre of a pixel that the line touches is farther from it than half a diamond.
        far = f.max(f.max(dx, -dx), f.max(dy, -dy)) * 128
        hidden = (flags & (1 << (HIDDEN_SHIFT + k))).ne(0) if shape is Shape.WIREFRAME else f.value(0, I1)
        far = hidden.select(-(1 << 62), far)
        middle = dy * ax - dx * ay
        strips.append([(-dy, dx, middle + far), (dy, -dx, far - middle)])
    return strips


def convex_edges(f: Function, shape: Shape, record: Value) -> list[Edge]:
    """The 64-bit edge functions of a triangle or quad."""
    place = TRIANGLE if shape is Shape.TRIANGLE else QUAD
    count = 3 if shape is Shape.TRIANGLE else 2
    a, b = ([f.load(I32, record, 4 * (place[n] + i)).sext(I64) for i in range(count)] for n in "ab")
    if shape is not Shape.TRIANGLE:
        a, b = a + [-v for v in a], b + [-v for v in b]
    return [(a[i], b[i], f.load(I64, record, 4 * (place["c"] + 2 * i), align=4)) for i in range(len(a))]
