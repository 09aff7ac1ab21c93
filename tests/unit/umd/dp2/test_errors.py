"""What is refused, with which code and at which byte; the runtime's parser; answers that do not fit."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from tests.unit.umd.dp2.rig import PLAIN, TARGET, Legacy, driver_info, quad
from tests.unit.umd.fake_gpu import B
from umd import DdGetDriverInfo
from umd.dp2.parser import parse
from wddm.client.dp2_commands import Dp2CommandBuffer
from wddm.ddi import d3d10umddi as d3d
from wddm.ddi import ddrawint as dd
from wddm.ddi.d3dhal import D3DFVF, D3DHALDP2
from wddm.ddi.d3dhal import D3DHAL_DP2OPERATION as OP
from wddm.ddi.d3dhal import D3DPRIMITIVETYPE as PT

RED = 0xFFFF0000
PARAMS, CALL, UNSUPPORTED, UNPARSED, NOT_AVAILABLE = 0x80070057, 0x8876086C, 0x80004001, 0x88760BB8, 0x8876086A


def buffer() -> Dp2CommandBuffer:
    return Dp2CommandBuffer()


REFUSED: dict[str, tuple[Dp2CommandBuffer, int]] = {
    "vertex beyond the end": (buffer().triangle_list(2, 1), PARAMS),
    "index beyond the end": (buffer().indexed_triangle_list([0, 1, 4]), PARAMS),
    "start beyond the end": (buffer().indexed_triangle_list([0, 1, 2], 65535), PARAMS),
    "render state": (buffer().render_state(256, 0), PARAMS),
    "stage": (buffer().texture_stage_states(8, {1: 1}), PARAMS),
    "stage state": (buffer().texture_stage_states(0, {64: 1}), PARAMS),
    "target that is none": (buffer().set_render_target(99), PARAMS),
    "texture as a target": (buffer().set_render_target(5), PARAMS),
    "depth that is none": (buffer().set_depth_stencil(TARGET), PARAMS),
    "target number": (buffer().set_render_target2(4, TARGET), PARAMS),
    "transform": (buffer().set_transform(99, np.eye(4)), PARAMS),
    "clip plane": (buffer().set_clip_plane(32, (0, 0, 0, 0)), PARAMS),
    "light": (buffer().create_light(1 << 20), PARAMS),
    "light type of data": (buffer().command(OP.SETLIGHT, 1, struct.pack("<II", 0, 7)), PARAMS),
    "stream": (buffer().set_stream_source(16, 0, 0), PARAMS),
    "stream of a texture": (buffer().set_stream_source(0, 5, 16), PARAMS),
    "stride": (buffer().set_stream_source(0, 0, 1 << 20), PARAMS),
    "indices of three bytes": (buffer().set_indices(6, 3), PARAMS),
    "divider": (buffer().set_stream_source_freq(0, 0), PARAMS),
    "no stream": (buffer().set_vertex_shader(PLAIN).draw_primitive(PT.TRIANGLELIST, 0, 1), CALL),
    "no format": (buffer().draw_primitive(PT.TRIANGLELIST, 0, 1), CALL),
    "no declaration": (buffer().set_vertex_shader_decl(33).draw_primitive(PT.TRIANGLELIST, 0, 1), CALL),
    "no indices": (buffer().set_vertex_shader(PLAIN).set_stream_source_um(0, 20).draw_indexed_primitive(4, 0, 0, 3, 0, 1), CALL),
    "primitive type": (buffer().set_vertex_shader(PLAIN).set_stream_source_um(0, 20).draw_primitive(7, 0, 1), PARAMS),
    "so many primitives": (buffer().set_vertex_shader(PLAIN).set_stream_source_um(0, 20).draw_primitive(4, 0, 0xFFFFFFFF), PARAMS),
    "byte before the stream": (buffer().set_vertex_shader(PLAIN).set_stream_source_um(0, 20).draw_primitive2(4, 1 << 30, 1), PARAMS),
    "palette": (buffer().update_palette(1, [0] * 200, 100), PARAMS),
    "palette of nothing": (buffer().set_palette(1, 77), PARAMS),
    "query type": (buffer().create_query(1, 3), PARAMS),
    "query that the driver has not": (buffer().create_query(1, 10), NOT_AVAILABLE),
    "query twice": (buffer().create_query(1, 8).create_query(1, 8), PARAMS),
    "query that does not exist": (buffer().end_query(5), PARAMS),
    "query that never began": (buffer().create_query(1, 9).end_query(1), CALL),
    "blit beyond the edge": (buffer().tex_blt(TARGET, 5, (7, 7), (0, 0, 4, 4)), PARAMS),
    "blit of unlike formats": (buffer().tex_blt(TARGET, 8, (0, 0), (0, 0, 1, 1)), PARAMS),
    "surface blit that stretches": (buffer().command(OP.SURFACEBLT, 1, struct.pack("<I4iII4iII", 5, 0, 0, 4, 4, 0, TARGET, 0, 0, 8, 8, 0, 0)), PARAMS),
    "blit to a mip that is not there": (buffer().blt(TARGET, (0, 0, 1, 1), 5, (0, 0, 1, 1), mip=3), PARAMS),
    "blit of a buffer": (buffer().blt(TARGET, (0, 0, 1, 1), 6, (0, 0, 1, 1)), PARAMS),
    "bytes beyond a buffer": (buffer().buffer_blt(6, 6, 60, 0, 40), PARAMS),
    "fill of a texture": (buffer().color_fill(5, (0, 0, 1, 1), 0), PARAMS),
    "mips of a buffer": (buffer().generate_mip_sub_levels(6), PARAMS),
    "viewport": (buffer().viewport_info(0, 0, 1 << 20, 1), PARAMS),
    "recorded twice": (buffer().begin_state_set(1).begin_state_set(2), CALL),
    "rectangles that are composed": (buffer().command(OP.COMPOSERECTS, 1, bytes(32)), UNSUPPORTED),
    "opcode": (buffer().command(9, 1, bytes(40)), UNPARSED),
    "answer": (buffer().command(OP.RESPONSEQUERY, 0, bytes(8)), UNPARSED),
    "cut off": (buffer().command(OP.SETTRANSFORM, 1, bytes(30)), UNPARSED),
}  # fmt: skip


async def start() -> Legacy:
    legacy = await Legacy.start()
    await legacy.texture(5, np.full((4, 4), RED, np.uint32))
    await legacy.buffer(6, bytes(64))
    await legacy.texture(8, np.zeros((4, 4, 2), np.uint8), 49)
    return legacy


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused(name: str) -> None:
    commands, code = REFUSED[name]
    legacy = await start()
    front = buffer().triangle_fan(0, 2)
    assert await legacy.call(bytes(front) + bytes(commands), quad(0, 0, 8, 8, RED)) == code
    # The offset is that of a header, and of the last one where the others are preparation.
    offsets, at = [], 0
    data = bytes(front) + bytes(commands)
    while at < len(data):
        offsets.append(at)
        if code == UNPARSED and at == len(front):
            break
        at = parse(memoryview(data), at, len(data), 20).end
    assert legacy.error_offset == offsets[-1]
    assert legacy.error_text
    # What came before was drawn, and the context goes on.
    assert ((await legacy.pixels()) == RED).all()
    await legacy.call(buffer().end_state_set())
    await legacy.draw(buffer().set_render_target(TARGET).clear(1, 0))
    assert ((await legacy.pixels()) == 0).all()


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"dwCommandLength": 4096}, PARAMS), ({"dwCommandOffset": 4096}, PARAMS), ({}, 0), ({"dwVertexLength": 5}, PARAMS),
        ({"dwVertexOffset": 4}, PARAMS), ({"dwVertexType": 0x45}, PARAMS), ({"dwVertexType": D3DFVF.XYZRHW | D3DFVF.NORMAL}, PARAMS),
        ({"dwVertexType": 0}, PARAMS), ({"dwVertexType": 0x944}, PARAMS), ({"dwVertexType": 0x1C4}, PARAMS), ({"size": 16}, PARAMS),
        ({"size": 1 << 20}, PARAMS), ({"dwFlags": D3DHALDP2.NONE}, PARAMS), ({"dwFlags": D3DHALDP2.NONE, "lpDDVertex": 5}, PARAMS),
        ({"lpVertices": None}, PARAMS), ({"dwhContext": 99999}, PARAMS),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, dict) else "",
)  # fmt: skip
async def test_calls_that_do_not_fit_together(more: dict[str, Any], code: int) -> None:
    legacy = await start()
    assert await legacy.call(buffer().triangle_fan(0, 2), quad(0, 0, 8, 8, RED), **more) == code


async def test_memory_that_is_gone() -> None:
    legacy = await start()
    texture = await legacy.texture(30, np.full((2, 2), RED, np.uint32))
    await legacy.draw(buffer().texture(0, 30).triangle_fan(0, 2), quad(0, 0, 2, 2, RED))
    await legacy.gpu.call("pfnDestroyResource", texture)
    assert await legacy.call(buffer().triangle_fan(0, 2), quad(0, 0, 2, 2, RED)) == PARAMS
    await legacy.draw(buffer().texture(0, 0).triangle_fan(0, 2), quad(0, 0, 2, 2, RED))
    assert legacy.surface(31, texture) == PARAMS
    assert legacy.surface(30, 0) == 0


async def test_the_runtime_s_parser_is_asked_and_believed() -> None:
    legacy = await start()
    seen: list[bytes] = []

    def parser(stream: memoryview) -> tuple[int, int]:
        seen.append(bytes(stream))
        return (0, 12) if stream[0] == 200 else (UNPARSED, 0) if stream[0] == 201 else (0x80004005, 0) if stream[0] == 202 else (0, 2)

    driver_info(dd.GUID_D3DParseUnknownCommandCallback, parser)
    fan = bytes(buffer().triangle_fan(0, 2))
    own = bytes(buffer().command(200, 3, bytes(8)))
    await legacy.draw(own + fan, quad(0, 0, 8, 8, RED))
    assert seen == [own + fan]
    assert ((await legacy.pixels()) == RED).all()
    for opcode, code in ((201, UNPARSED), (202, 0x80004005), (203, UNPARSED)):
        assert await legacy.call(fan + bytes(buffer().command(opcode, 0, bytes(8))), quad(0, 0, 8, 8, RED)) == code
        assert legacy.error_offset == len(fan)


def test_tables_that_nobody_has() -> None:
    arg = dd.DD_GETDRIVERINFODATA(123456, dd.GUID_D3DCallbacks)
    assert DdGetDriverInfo(arg) == dd.DDHAL_DRIVER_HANDLED
    assert arg.ddRVal == PARAMS


async def test_a_guid_that_means_nothing_is_not_handled() -> None:
    await start()
    arg = dd.DD_GETDRIVERINFODATA(0x1000, "00000000-0000-0000-0000-000000000000")
    assert DdGetDriverInfo(arg) == dd.DDHAL_DRIVER_NOTHANDLED


async def test_contexts_end() -> None:
    legacy = await start()
    arg = dd.D3DHAL_CONTEXTDESTROYDATA(legacy.context)
    legacy.destroy(arg)
    assert arg.ddrval == 0
    legacy.destroy(arg)
    assert arg.ddrval == PARAMS
    assert await legacy.call(buffer()) == PARAMS
    assert legacy.surface(1, legacy.target) == PARAMS


async def test_answers_that_do_not_fit_come_in_parts() -> None:
    legacy = await Legacy.start()
    commands = buffer()
    for query in range(5):
        commands.create_query(query, 4).end_query(query)
    await legacy.draw(commands, room=0)
    found: list[int] = []
    # Each answer has 8 + 16 bytes; behind the first 8 there is room for one, and for the word that more is to come.
    answers, rounds = legacy.response, 0
    while rounds < 20:
        at = 0
        more = False
        while at < len(answers):
            op, _, count, size = struct.unpack_from("<BBHI", answers, at)
            for n in range(count):
                found.append(struct.unpack_from("<I", answers, at + 8 + 24 * n)[0])
            more = op == 87
            at += size
        if not more and len(found) == 5:
            break
        assert more or not found
        await legacy.draw(buffer(), room=40)
        answers, rounds = legacy.response, rounds + 1
    assert found == [0, 1, 2, 3, 4]


async def test_volumes() -> None:
    legacy = await Legacy.start()

    async def volume(handle: int, data: Any) -> int:
        depth, height, width = data.shape
        up = d3d.D3D10_DDIARG_SUBRESOURCE_UP(np.ascontiguousarray(data), width * 4, width * height * 4)
        arg = d3d.D3D11DDIARG_CREATERESOURCE(
            [d3d.D3D10DDI_MIPINFO(width, height, depth, width, height, depth)], d3d.D3D10DDIRESOURCE_TYPE.TEXTURE3D, 87,  # type: ignore[arg-type]
            B.SHADER_RESOURCE, 0, MipLevels=1, ArraySize=1, pInitialDataUP=[up],  # type: ignore[arg-type]
        )  # fmt: skip
        h = await legacy.gpu.create("pfnCreateResource", arg)
        assert legacy.surface(handle, h) == 0
        return int(h)

    texels = (np.arange(4 * 4 * 4, dtype=np.uint32) + 0xFF000000).reshape(4, 4, 4)
    await volume(40, np.zeros((4, 4, 4), np.uint32))
    await volume(41, texels)
    commands = buffer().volume_blt(40, 41, (1, 0, 2), (0, 1, 2, 3, 1, 3))
    # Each slice as a quad of its own: three coordinates, the third between the slices' edges.
    rows = b""
    for z in range(4):
        left = 2 * z - 0.5
        for x, y, u, v in ((left, -0.5, 0, 0), (left + 2, -0.5, 0.5, 0), (left + 2, 3.5, 0.5, 1), (left, 3.5, 0, 1)):
            rows += struct.pack("<7f", x, y, 0.5, 1.0, u, v, (z + 0.5) / 4)
        commands.texture(0, 40).triangle_fan(4 * z, 2)
    await legacy.draw(commands, rows, D3DFVF.XYZRHW | D3DFVF.TEX1 | 1 << 16)
    image = (await legacy.pixels())[:4]
    expected = np.zeros((4, 4, 4), np.uint32)
    expected[2:4, 0:2, 1:3] = texels[1:3, 1:3, 0:2]
    assert (image == np.concatenate(list(expected[:, :, :2]), 1)).all()
    assert await legacy.call(buffer().volume_blt(40, 41, (3, 0, 0), (0, 0, 2, 1, 0, 1))) == PARAMS
