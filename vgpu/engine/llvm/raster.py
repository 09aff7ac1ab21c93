"""Tiles: each thread takes the next tile and runs its bin entries, in order, through their draws' pixel functions.

``raster(PASS*, thread)`` returns when no tile is left. A tile has one owner at a time, so nothing is locked and the order within a
tile is the order of drawing, whatever the number of threads. The bins are empty afterwards.
"""

from __future__ import annotations

from . import records
from .builder import I32, I64, PTR, VOID, Module, Type, Value
from .float_mode import restore_float_mode, set_float_mode
from .records import CHUNK, TILE, TRIANGLE

RUN = 512  #: entries of one draw handed over at once


def compile_raster() -> str:
    """The IR of ``raster``."""
    m = Module()
    f = m.function("raster", VOID, [PTR, I32])
    pass_, thread = f.arguments
    saved = set_float_mode(f)

    def field(name: str, t: Type = I32) -> Value:
        return f.load(t, pass_, records.offset(records.PASS, name))

    with f.prologue():
        tiles_x = field("tiles_x")
        tiles = tiles_x * field("tiles_y")
        cursors, chunks, arena = field("cursors", PTR), field("chunks", PTR), field("arena", PTR)
        scratch = f.load(PTR, f.index(field("thread_scratch", PTR), I64, thread.zext(I64)))
        run = f.array(I32, RUN)
    with f.loop() as loop:
        tile = f.atomic("add", f.offset(pass_, records.offset(records.PASS, "next_tile")), f.value(1, I32))
        loop.break_if(tile.uge(tiles))
        place = f.index(cursors, I32, tile.zext(I64))
        end = f.load(I32, place)
        first = tile * CHUNK
        f.store(first, place)
        tile_y = tile.udiv(tiles_x)
        x, y = (tile - tile_y * tiles_x) * TILE, tile_y * TILE
        cursor = f.var(I32, first)
        length = f.var(I32, 0)
        current = f.var(PTR, 0)

        def hand_over() -> None:
            with f.if_(length.get() > 0):
                draw = current.get()
                function = f.load(PTR, draw, records.offset(records.DRAW, "pixel_function"))
                f.call_pointer(function, VOID, [pass_, draw, run, length.get(), x, y, scratch, thread])
            length.set(0)

        with f.loop() as entries:
            at = cursor.get()
            entries.break_if(at.eq(end))
            entry = f.load(I32, f.index(chunks, I32, at.zext(I64)))
            triangle = f.offset(arena, (entry & 0x7FFF_FFFF).zext(I64) << 4)
            draw = f.load(PTR, triangle, 4 * TRIANGLE["draw"])
            same = draw.eq(current.get())
            with f.if_(~same | (length.get() >= RUN)):
                hand_over()
                current.set(draw)
            n = length.get()
            f.store(entry, f.index(run, I32, n.zext(I64)))
            length.set(n + 1)
            following = at + 1
            is_link = (following & (CHUNK - 1)).eq(CHUNK - 1)
            cursor.set(following)
            with f.if_(is_link & following.ne(end)):
                cursor.set(f.load(I32, f.index(chunks, I32, following.zext(I64))) * CHUNK)
        hand_over()
    restore_float_mode(f, saved)
    f.ret()
    return str(m)
