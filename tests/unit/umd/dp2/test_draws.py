"""Primitives, output state and blits on the reference engine: pictures that anyone can predict."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from tests.unit.umd.dp2.rig import PLAIN, Legacy, quad, screen
from wddm.client.dp2_commands import Dp2CommandBuffer
from wddm.ddi import d3dhal
from wddm.ddi.d3dhal import D3DCLEAR, D3DFVF
from wddm.ddi.d3dhal import D3DPRIMITIVETYPE as PT
from wddm.ddi.d3dhal import D3DRENDERSTATETYPE as RS
from wddm.ddi.d3dhal import D3DTEXTURESTAGESTATETYPE as TSS

RED, GREEN, BLUE, WHITE = 0xFFFF0000, 0xFF00FF00, 0xFF0000FF, 0xFFFFFFFF


def picture(image: Any, colors: dict[int, str]) -> list[str]:
    return ["".join(colors.get(int(p), "?") for p in row) for row in image]


async def shown(legacy: Legacy, color: int = RED) -> list[str]:
    return picture(await legacy.pixels(), {0: ".", color: "#"})


# --- primitives ------------------------------------------------------------------------------------------------------------
#: Corners of a 4 x 4 square, in strip order (0 1 / 2 3) at vertices 1..4; vertex 0 is far away.
SQUARE = screen((90, 90, 0, RED), (-0.5, -0.5, 0, RED), (3.5, -0.5, 0, RED), (-0.5, 3.5, 0, RED), (3.5, 3.5, 0, RED))
FILLED = ["####....", "####....", "####....", "####....", *["........"] * 4]


@pytest.mark.parametrize(
    "commands",
    [
        Dp2CommandBuffer().triangle_strip(1, 2),
        Dp2CommandBuffer().indexed_triangle_strip([0, 1, 2, 3], 1),
        Dp2CommandBuffer().indexed_triangle_strip([1, 2, 3, 4]),
        Dp2CommandBuffer().indexed_triangle_list([0, 1, 2, 2, 1, 3], 1),
        Dp2CommandBuffer().indexed_triangle_list_edges([(1, 2, 3, 0x700), (3, 2, 4, 0x700)]),
        Dp2CommandBuffer().indexed_triangle_fan([0, 1, 3, 2], 1),
        Dp2CommandBuffer().triangle_fan_inline(2, SQUARE[20:60] + SQUARE[80:100] + SQUARE[60:80]),
        Dp2CommandBuffer().set_vertex_shader(PLAIN).set_stream_source_um(0, 20).draw_primitive(PT.TRIANGLESTRIP, 1, 2),
        Dp2CommandBuffer().set_vertex_shader(PLAIN).set_stream_source_um(0, 20).draw_primitive2(PT.TRIANGLESTRIP, 20, 2),
    ],
    ids=["strip", "indexed strip", "absolute", "list", "edges", "indexed fan", "inline fan", "draw", "draw2"],
)
async def test_a_square_from_every_triangle_command(commands: Dp2CommandBuffer) -> None:
    legacy = await Legacy.start()
    await legacy.draw(commands, SQUARE)
    assert await shown(legacy) == FILLED


async def test_a_list_and_a_fan_of_the_call_s_vertices() -> None:
    legacy = await Legacy.start()
    fan = quad(1, 1, 3, 3, RED)
    corners = [fan[i * 20 : i * 20 + 20] for i in (0, 1, 2, 0, 2, 3)]
    await legacy.draw(Dp2CommandBuffer().triangle_fan(0, 2).triangle_list(4, 2), fan + b"".join(corners))
    assert await shown(legacy) == ["........", ".##.....", ".##.....", *["........"] * 5]


async def test_lines_and_points() -> None:
    legacy = await Legacy.start()
    vertices = screen((1, 1, 0, RED), (5, 1, 0, RED), (5, 4, 0, RED), (7, 7, 0, RED), (0, 7, 0, RED))
    commands = Dp2CommandBuffer().line_strip(0, 2).points((3, 2))
    await legacy.draw(commands, vertices)
    image = await shown(legacy)
    assert image[1].startswith(".####")
    assert [row[5] for row in image[1:4]] == ["#"] * 3
    assert image[7] == "#......#"
    one = image
    for commands in (
        Dp2CommandBuffer().indexed_line_strip([0, 1, 2]).points((3, 1), (4, 1)),
        Dp2CommandBuffer().indexed_line_list([0, 1, 1, 2]).points((3, 2)),
        Dp2CommandBuffer().line_list(0, 1).indexed_line_list([0, 1], 1).points((3, 2)),
        Dp2CommandBuffer().line_list_inline(2, vertices[:40] + vertices[20:60]).points((3, 2)),
    ):
        await legacy.draw(Dp2CommandBuffer().clear(D3DCLEAR.TARGET), b"")
        await legacy.draw(commands, vertices)
        assert await shown(legacy) == one


async def test_flat_shading_takes_the_first_vertex_that_the_tables_name() -> None:
    legacy = await Legacy.start()
    x = [(-0.5, -0.5), (7.5, -0.5), (7.5, 7.5), (-0.5, 7.5)]
    fan = screen(*((*p, 0, c) for p, c in zip(x, (WHITE, RED, GREEN, BLUE), strict=True)))
    await legacy.draw(Dp2CommandBuffer().render_state(RS.SHADEMODE, 1).triangle_fan(0, 2), fan)
    image = await legacy.pixels()
    assert image[1, 6] == RED  # triangle (1, 2, 0)
    assert image[6, 1] == GREEN  # triangle (2, 3, 0)


async def test_a_triangle_is_culled_by_its_winding() -> None:
    for cull, there in ((1, True), (2, False), (3, True)):
        legacy = await Legacy.start()
        await legacy.draw(Dp2CommandBuffer().render_state(RS.CULLMODE, cull).triangle_fan(0, 2), quad(0, 0, 8, 8, RED))
        assert ((await legacy.pixels()) == RED).all() == there


async def test_wireframes_show_the_edges_that_flags_name() -> None:
    legacy = await Legacy.start()
    vertices = screen((1, 1, 0, RED), (6, 1, 0, RED), (6, 6, 0, RED), (1, 6, 0, RED))
    wire = Dp2CommandBuffer().render_state(RS.FILLMODE, 2)
    await legacy.draw(wire.indexed_triangle_list_edges([(0, 1, 2, 0x100)]), vertices)
    image = await shown(legacy)
    assert image[1] == ".#####.."
    assert sum(row.count("#") for row in image) == 5
    # All but the diagonal of a fan: the outline alone.
    legacy = await Legacy.start()
    await legacy.draw(Dp2CommandBuffer().render_state(RS.FILLMODE, 2).triangle_fan_inline(2, vertices, 0b1001), vertices)
    image = await shown(legacy)
    assert image[1].count("#") >= 5
    assert all(row[1] == "#" for row in image[2:6])
    assert all(row[3] == "." for row in image[2:7])


async def test_point_fill_draws_vertices() -> None:
    legacy = await Legacy.start()
    vertices = screen((1, 1, 0, RED), (6, 1, 0, RED), (6, 6, 0, RED))
    await legacy.draw(Dp2CommandBuffer().render_state(RS.FILLMODE, 1).triangle_list(0, 1), vertices)
    assert await shown(legacy) == ["........", ".#....#.", *["........"] * 4, "......#.", "........"]


async def test_point_sizes_and_sprites() -> None:
    legacy = await Legacy.start()
    await legacy.draw(Dp2CommandBuffer().render_state(RS.POINTSIZE, 3.0).points((0, 1)), screen((3, 3, 0, RED)))
    assert await shown(legacy) == ["........"] * 2 + ["..###..."] * 3 + ["........"] * 3
    legacy = await Legacy.start()
    fvf = D3DFVF.XYZRHW | D3DFVF.PSIZE | D3DFVF.DIFFUSE
    row = struct.pack("<5fI", 2.5, 2.5, 0, 1, 4.0, WHITE)
    texels = np.array([[RED, GREEN], [BLUE, WHITE]], np.uint32)
    await legacy.texture(5, texels)
    commands = Dp2CommandBuffer().texture(0, 5).render_state(RS.POINTSPRITEENABLE, 1).points((0, 1))
    await legacy.draw(commands, row, fvf)
    colors = {0: ".", RED: "r", GREEN: "g", BLUE: "b", WHITE: "w"}
    assert picture(await legacy.pixels(), colors)[:6] == ["........", ".rrgg...", ".rrgg...", ".bbww...", ".bbww...", "........"]


async def test_vertices_of_a_surface_with_an_offset() -> None:
    legacy = await Legacy.start()
    await legacy.buffer(9, bytes(40) + quad(2, 2, 4, 4, RED))
    await legacy.draw(
        Dp2CommandBuffer().triangle_fan(0, 2), dwFlags=d3dhal.D3DHALDP2.NONE, lpDDVertex=9, dwVertexOffset=40, dwVertexLength=4
    )
    assert await shown(legacy) == ["........"] * 2 + ["..##...."] * 2 + ["........"] * 4


async def test_more_vertices_than_a_chunk_of_the_ring() -> None:
    legacy = await Legacy.start()
    many = 60_000  # 1.2 MB
    await legacy.draw(Dp2CommandBuffer().triangle_fan(many, 2), bytes(20 * many) + quad(0, 0, 8, 8, RED))
    assert ((await legacy.pixels()) == RED).all()


async def test_a_fan_of_any_length() -> None:
    for count in (40, 5000):
        legacy = await Legacy.start()
        angle = np.linspace(0, 2 * np.pi, count + 1)
        scale = 4 / np.maximum(np.abs(np.cos(angle)), np.abs(np.sin(angle)))  # around a square
        ring = [(float(x), float(y), 0.0, RED) for x, y in zip(3.5 + scale * np.cos(angle), 3.5 + scale * np.sin(angle), strict=True)]
        await legacy.draw(Dp2CommandBuffer().triangle_fan(2, count), screen((90, 90, 0, 0), (91, 91, 0, 0), (3.5, 3.5, 0, RED), *ring))
        assert ((await legacy.pixels()) == RED).all()
        # Points of a fan are its vertices.
        legacy = await Legacy.start()
        commands = Dp2CommandBuffer().render_state(RS.FILLMODE, 1).triangle_fan(1, 2)
        await legacy.draw(commands, screen((9, 9, 0, 0), (1, 1, 0, RED), (3, 1, 0, RED), (3, 3, 0, RED), (1, 3, 0, RED)))
        assert ((await legacy.pixels()) == RED).sum() == 4


# --- streams and indices ---------------------------------------------------------------------------------------------------
async def test_streams_declarations_and_index_buffers() -> None:
    legacy = await Legacy.start()
    positions = b"".join(quad(0, 0, 4, 4, 0)[i * 20 : i * 20 + 16] for i in range(4))
    await legacy.buffer(10, bytes(16) + positions)
    await legacy.buffer(11, struct.pack("<5I", 0, RED, RED, RED, RED))
    await legacy.buffer(12, struct.pack("<8H", 9, 9, 0, 1, 2, 0, 2, 3))
    elements = [(0, 0, 3, 0, 9, 0), (1, 0, 4, 0, 10, 0), (255, 0, 17, 0, 0, 0)]
    commands = (
        Dp2CommandBuffer().create_vertex_shader_decl(101, elements).set_vertex_shader_decl(101)
        .set_stream_source(0, 10, 16).set_stream_source(1, 11, 4).set_indices(12, 2)
        .draw_indexed_primitive(PT.TRIANGLELIST, 1, 0, 4, 2, 2)
    )  # fmt: skip
    await legacy.draw(commands)
    assert await shown(legacy) == FILLED
    for more in (
        Dp2CommandBuffer().draw_indexed_primitive(PT.TRIANGLEFAN, 1, 0, 4, 2, 0).draw_primitive(PT.TRIANGLEFAN, 1, 2),
        Dp2CommandBuffer().set_stream_source(0, 10, 16, 16).set_stream_source(1, 11, 4, 4).draw_primitive(PT.TRIANGLEFAN, 0, 2),
        Dp2CommandBuffer().set_stream_source(0, 10, 16).set_stream_source(1, 11, 4).draw_indexed_primitive(PT.TRIANGLEFAN, 1, 0, 4, 4, 0),
    ):
        await legacy.draw(Dp2CommandBuffer().clear(D3DCLEAR.TARGET))
        await legacy.draw(more)
    assert await legacy.call(Dp2CommandBuffer().draw_primitive(PT.TRIANGLELIST, 4, 1)) == 0x80070057


async def test_an_indexed_fan_is_read_back() -> None:
    legacy = await Legacy.start()
    await legacy.buffer(10, quad(0, 0, 4, 4, RED))
    await legacy.buffer(12, struct.pack("<6I", 0, 0, 0, 1, 2, 3))
    base = Dp2CommandBuffer().set_vertex_shader(PLAIN).set_stream_source(0, 10, 20).set_indices(12, 4)
    await legacy.draw(base.draw_indexed_primitive(PT.TRIANGLEFAN, 0, 0, 4, 2, 2))
    assert await shown(legacy) == FILLED
    await legacy.draw(Dp2CommandBuffer().clear(D3DCLEAR.TARGET).draw_indexed_primitive2(PT.TRIANGLEFAN, 0, 0, 4, 8, 2))
    assert await shown(legacy) == FILLED


async def test_a_clipped_fan_and_bytes() -> None:
    legacy = await Legacy.start()
    await legacy.buffer(10, bytes(12) + quad(0, 0, 4, 4, RED))
    base = Dp2CommandBuffer().set_vertex_shader(PLAIN).set_stream_source(0, 10, 20)
    await legacy.draw(base.clipped_triangle_fan(12, 0xF, 2))
    assert await shown(legacy) == FILLED


async def test_instances() -> None:
    legacy = await Legacy.start()
    positions = b"".join(quad(0, 0, 8, 8, 0)[i * 20 : i * 20 + 16] for i in range(4))
    await legacy.buffer(10, positions)
    await legacy.buffer(11, struct.pack("<2I", 0x40FF0000, 0x40FF0000))
    await legacy.buffer(12, struct.pack("<6H", 0, 1, 2, 0, 2, 3))
    commands = (
        Dp2CommandBuffer().create_vertex_shader_decl(101, [(0, 0, 3, 0, 9, 0), (1, 0, 4, 0, 10, 0)]).set_vertex_shader_decl(101)
        .set_stream_source(0, 10, 16).set_stream_source(1, 11, 4).set_indices(12, 2)
        .set_stream_source_freq(0, 1 << 30 | 2).set_stream_source_freq(1, 1 << 31 | 1)
        .render_states({RS.ALPHABLENDENABLE: 1, RS.SRCBLEND: 2, RS.DESTBLEND: 2})
        .draw_indexed_primitive(PT.TRIANGLELIST, 0, 0, 4, 0, 2)
    )  # fmt: skip
    await legacy.draw(commands)
    assert ((await legacy.pixels()) == 0x80FF0000).all()  # both instances, added


# --- output state ------------------------------------------------------------------------------------------------------------
async def test_depth_decides() -> None:
    legacy = await Legacy.start(depth=True)
    on = Dp2CommandBuffer().render_states({RS.ZENABLE: 1}).triangle_fan(0, 2).triangle_fan(4, 2).triangle_fan(8, 2)
    await legacy.draw(on, quad(0, 0, 4, 8, RED, 0.5) + quad(0, 0, 8, 4, GREEN, 0.75) + quad(2, 2, 6, 6, BLUE, 0.25))
    image = picture(await legacy.pixels(), {0: ".", RED: "r", GREEN: "g", BLUE: "b"})
    assert image == ["rrrrgggg", "rrrrgggg", "rrbbbbgg", "rrbbbbgg", "rrbbbb..", "rrbbbb..", "rrrr....", "rrrr...."]


async def test_depth_is_cleared_in_rectangles_without_touching_colour() -> None:
    legacy = await Legacy.start(depth=True)
    base = Dp2CommandBuffer().render_states({RS.ZENABLE: 1, RS.COLORWRITEENABLE: 0xF})
    await legacy.draw(base.clear(D3DCLEAR.ZBUFFER | D3DCLEAR.STENCIL, depth=0.0, stencil=0, rects=[(0, 0, 8, 8)]))
    await legacy.draw(Dp2CommandBuffer().clear(D3DCLEAR.ZBUFFER | D3DCLEAR.STENCIL, depth=1.0, stencil=7, rects=[(1, 1, 3, 4), (5, 5, 9, 9)]))
    assert ((await legacy.pixels()) == 0).all()
    await legacy.draw(Dp2CommandBuffer().triangle_fan(0, 2), quad(0, 0, 8, 8, RED))
    expected = ["........", ".##.....", ".##.....", ".##.....", "........", ".....###", ".....###", ".....###"]
    assert await shown(legacy) == expected
    # And the stencil came with it.
    equal = {RS.ZENABLE: 0, RS.STENCILENABLE: 1, RS.STENCILFUNC: 3, RS.STENCILREF: 7}
    await legacy.draw(Dp2CommandBuffer().render_states(equal).triangle_fan(0, 2), quad(0, 0, 8, 8, GREEN))
    assert await shown(legacy, GREEN) == expected


async def test_blending_masks_and_scissor() -> None:
    legacy = await Legacy.start()
    half = 0x80FF0000
    blend = Dp2CommandBuffer().clear(D3DCLEAR.TARGET, BLUE).render_states({RS.ALPHABLENDENABLE: 1, RS.SRCBLEND: 5, RS.DESTBLEND: 6})
    await legacy.draw(blend.triangle_fan(0, 2), quad(0, 0, 8, 8, half))
    pixel = int((await legacy.pixels())[0, 0])
    assert abs((pixel >> 16 & 255) - 128) <= 1
    assert abs((pixel & 255) - 127) <= 1
    await legacy.draw(
        Dp2CommandBuffer().clear(D3DCLEAR.TARGET, 0).render_states({RS.ALPHABLENDENABLE: 0, RS.COLORWRITEENABLE: 9, RS.SCISSORTESTENABLE: 1})
        .set_scissor_rect(2, 2, 4, 100).triangle_fan(0, 2), quad(0, 0, 8, 8, WHITE),
    )  # fmt: skip
    image = await legacy.pixels()
    assert (image[2:, 2:4] == RED).all()
    image[2:, 2:4] = 0
    assert (image == 0).all()


async def test_the_viewport_clips() -> None:
    legacy = await Legacy.start()
    await legacy.draw(Dp2CommandBuffer().viewport_info(1, 2, 3, 4).triangle_fan(0, 2), quad(0, 0, 8, 8, RED))
    assert await shown(legacy) == ["........"] * 2 + [".###...."] * 4 + ["........"] * 2
    # The whole viewport is what a clear without rectangles means.
    await legacy.draw(Dp2CommandBuffer().clear(D3DCLEAR.TARGET, GREEN))
    assert await shown(legacy, GREEN) == ["........"] * 2 + [".###...."] * 4 + ["........"] * 2


async def test_alpha_is_tested_in_eight_bits() -> None:
    for func, passed in ((1, ""), (2, "a"), (3, "b"), (4, "ab"), (5, "c"), (6, "ac"), (7, "bc"), (8, "abc")):
        legacy = await Legacy.start()
        test = Dp2CommandBuffer().render_states({RS.ALPHATESTENABLE: 5, RS.ALPHAFUNC: func, RS.ALPHAREF: 0x40})
        for i, alpha in enumerate((0x3F, 0x40, 0x41)):
            await legacy.draw(test, b"")
            await legacy.draw(Dp2CommandBuffer().triangle_fan(0, 2), quad(i, 0, i + 1, 8, alpha << 24 | 0xFFFFFF))
        row = (await legacy.pixels())[0, :3]
        assert "".join(c for c, p in zip("abc", row, strict=True) if p) == passed, func


async def test_fog_of_the_vertex_and_of_the_table() -> None:
    legacy = await Legacy.start()
    fvf = D3DFVF.XYZRHW | D3DFVF.DIFFUSE | D3DFVF.SPECULAR
    corners = ((-0.5, -0.5), (7.5, -0.5), (7.5, 7.5), (-0.5, 7.5))
    rows = b"".join(struct.pack("<4f2I", x, y, 0.25, 1.0, RED, 0x33000000) for x, y in corners)
    await legacy.draw(Dp2CommandBuffer().render_states({RS.FOGENABLE: 1, RS.FOGCOLOR: 0xFF00FF00}).triangle_fan(0, 2), rows, fvf)
    assert (await legacy.pixels())[3, 3] == 0xFF33CC00  # 0x33 of 255 is left of the colour
    table = {RS.FOGTABLEMODE: 3, RS.FOGSTART: 0.0, RS.FOGEND: 1.0}
    await legacy.draw(Dp2CommandBuffer().render_states(table).triangle_fan(0, 2), rows, fvf)
    assert (await legacy.pixels())[3, 3] in (0xFFBF4000, 0xFFBF3F00)  # by z, as the projection is affine


# --- blits -----------------------------------------------------------------------------------------------------------------
async def test_fills_and_copies() -> None:
    legacy = await Legacy.start()
    texels = np.arange(16, dtype=np.uint32).reshape(4, 4) + 0xFF000000
    await legacy.texture(5, texels)
    await legacy.draw(Dp2CommandBuffer().color_fill(1, (0, 0, 8, 4), GREEN).tex_blt(1, 5, (4, 4), (1, 0, 3, 2)))
    image = await legacy.pixels()
    assert (image[:4] == GREEN).all()
    assert (image[4:6, 4:6] == texels[:2, 1:3]).all()
    await legacy.draw(Dp2CommandBuffer().blt(1, (0, 6, 4, 8), 5, (0, 2, 4, 4)).tex_blt(0, 5, (0, 0), (0, 0, 0, 0)))
    assert ((await legacy.pixels())[6:8, :4] == texels[2:]).all()
    one = np.full((2, 2), BLUE, np.uint32)
    await legacy.texture(6, one)
    await legacy.draw(Dp2CommandBuffer().blt(1, (0, 0, 8, 8), 6, (0, 0, 2, 2)))
    assert ((await legacy.pixels()) == BLUE).all()


async def test_buffers_are_copied_in_order() -> None:
    legacy = await Legacy.start()
    await legacy.buffer(10, bytes(160))
    await legacy.buffer(11, quad(0, 0, 4, 4, RED))
    base = Dp2CommandBuffer().set_vertex_shader(PLAIN).set_stream_source(0, 10, 20)
    await legacy.draw(base.buffer_blt(10, 11, 80, 0, 80).draw_primitive(PT.TRIANGLEFAN, 4, 2))
    assert await shown(legacy) == FILLED


async def test_palettes() -> None:
    legacy = await Legacy.start(4, 4)
    await legacy.texture(5, np.array([[0, 1], [2, 3]], np.uint8), 61, 41)
    fvf = D3DFVF.XYZRHW | D3DFVF.TEX1
    rows = b"".join(
        struct.pack("<6f", x, y, 0, 1, u, v)
        for x, y, u, v in ((-0.5, -0.5, 0, 0), (3.5, -0.5, 1, 0), (3.5, 3.5, 1, 1), (-0.5, 3.5, 0, 1))
    )
    commands = Dp2CommandBuffer().update_palette(3, [0x11FF0000, 0x2200FF00, 0x330000FF, 0x44FFFFFF]).set_palette(3, 5)
    states = {TSS.MINFILTER: 2, TSS.MAGFILTER: 2}  # indices are not filtered, whatever is asked for
    await legacy.draw(commands.texture(0, 5).texture_stage_states(0, states).triangle_fan(0, 2), rows, fvf)
    colors = {RED: "r", GREEN: "g", BLUE: "b", WHITE: "w"}
    assert picture(await legacy.pixels(), colors) == ["rrgg", "rrgg", "bbww", "bbww"]
    await legacy.draw(Dp2CommandBuffer().update_palette(3, [GREEN], 0).set_palette(3, 5, alpha=True).triangle_fan(0, 2), rows, fvf)
    assert (await legacy.pixels())[0].tolist() == [GREEN, GREEN, 0x2200FF00, 0x2200FF00]


# --- queries ---------------------------------------------------------------------------------------------------------------
async def test_queries_answer_in_the_command_buffer() -> None:
    legacy = await Legacy.start()
    commands = Dp2CommandBuffer().create_query(7, 9).create_query(8, 8).create_query(9, 4)
    await legacy.draw(commands)
    assert legacy.response == b""
    await legacy.draw(
        Dp2CommandBuffer().begin_query(7).triangle_fan(0, 2).end_query(7).end_query(8).end_query(9), quad(0, 0, 4, 4, RED)
    )
    answers = legacy.response
    for _ in range(4):
        await legacy.draw(Dp2CommandBuffer(), room=64)
        answers += legacy.response
    found: dict[int, bytes] = {}
    at = 0
    while at < len(answers):
        op, _, count, size = struct.unpack_from("<BBHI", answers, at)
        inner = at + 8
        for _ in range(count):
            id, length = struct.unpack_from("<II", answers, inner)
            found[id] = answers[inner + 8 : inner + 8 + length]
            inner += 8 + length
        assert op in (87, 88)
        assert inner == at + size
        at += size
    assert found[7] == struct.pack("<I", 16)
    assert found[8] == struct.pack("<I", 1)
    assert len(found[9]) == 16
