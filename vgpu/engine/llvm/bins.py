"""Binning: a triangle goes into the bins of the tiles it may touch, tile by tile with trivial reject and accept.

A bin is a chain of chunks of entries; an entry is the place of a triangle record in the arena, in units of 16 bytes. Bit 31 of an
entry says that the triangle covers the whole tile.
"""

from __future__ import annotations

from . import records
from .builder import I32, I64, PTR, Value
from .front_function import FrontFunction
from .records import CHUNK, TILE, TRIANGLE


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


def put(at: FrontFunction, arena: Value, offset: Value, box: list[Value]) -> None:
    """Put one triangle into the bins of the tiles it may touch; bit 31 of an entry: covers the tile."""
    f = at.f
    left, top, right, bottom = box
    tiles_x = at.passed("tiles_x", I32)
    x0, y0, x1, y1 = left >> 6, top >> 6, right >> 6, bottom >> 6
    entry = offset.shr(4)
    with f.if_else(x0.eq(x1) & y0.eq(y1)) as otherwise:
        append(at, y0 * tiles_x + x0, entry)
        otherwise()
        triangle = f.offset(arena, offset.zext(I64))
        edges = []
        for i in range(3):
            a = f.load(I32, triangle, 4 * (TRIANGLE["a"] + i)).sext(I64)
            b = f.load(I32, triangle, 4 * (TRIANGLE["b"] + i)).sext(I64)
            c = f.load(I64, triangle, 4 * (TRIANGLE["c"] + 2 * i), align=4)
            span = TILE * 256
            up = (f.max(a, 0) + f.max(b, 0)) * span
            down = (f.min(a, 0) + f.min(b, 0)) * span
            edges.append((a * span, b * span, c + up, up - down))
        with f.count(y0, y1 + 1) as ty:
            row = [b * ty.sext(I64) + c for _, b, c, _ in edges]
            full_rows = (ty * TILE >= top) & (ty * TILE + (TILE - 1) <= bottom)
            with f.count(x0, x1 + 1) as tx:
                best = [r + a * tx.sext(I64) for (a, _, _, _), r in zip(edges, row, strict=True)]
                with f.if_((best[0] | best[1] | best[2]) >= 0):
                    worst = [b - e[3] for b, e in zip(best, edges, strict=True)]
                    full = full_rows & (tx * TILE >= left) & (tx * TILE + (TILE - 1) <= right)
                    full = full & ((worst[0] | worst[1] | worst[2]) >= 0)
                    append(at, ty * tiles_x + tx, entry | full.select(-(1 << 31), f.value(0, I32)))
