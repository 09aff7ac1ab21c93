"""Frames of legacy Direct3D through the whole stack, on both engines, against what numpy says they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.stack.dp2.lab import SIZE, TL_VERTEX, LegacyLab, corners
from wddm import BindFlag, Dp2CommandBuffer, Dp2Error, Format, PrimitiveTopology, ResourceMiscFlag, Viewport, hlsl
from wddm.ddi.d3dhal import D3DFVF, D3DLIGHTTYPE, D3DQUERYTYPE, D3DTRANSFORMSTATETYPE
from wddm.ddi.d3dhal import D3DPRIMITIVETYPE as PT
from wddm.ddi.d3dhal import D3DRENDERSTATETYPE as RS
from wddm.ddi.d3dhal import D3DTEXTUREOP as TOP
from wddm.ddi.d3dhal import D3DTEXTURESTAGESTATETYPE as TSS

T = D3DTRANSFORMSTATETYPE


async def test_a_gouraud_triangle(legacy: LegacyLab) -> None:
    v = np.zeros(3, TL_VERTEX)
    v["p"] = [(0, 0, 0, 1), (SIZE, 0, 0, 1), (0, SIZE, 0, 1)]
    v["diffuse"] = 0xFFFF0000, 0xFF00FF00, 0xFF0000FF
    await legacy.draw(Dp2CommandBuffer().triangle_list(0, 1), v)
    image = await legacy.channels()
    y, x = np.mgrid[:SIZE, :SIZE]
    b, c = x / SIZE, y / SIZE
    inside = x + y < SIZE
    expected = np.stack([1 - b - c, b, c, np.ones_like(b)], -1) * 255 * inside[..., None]
    assert np.abs(image - expected).max() <= 1


async def test_a_textured_quad_with_blending_over_a_clear(legacy: LegacyLab) -> None:
    rng = np.random.default_rng(5)
    texels = rng.integers(0, 1 << 32, (8, 8), np.uint32)
    surface = await legacy.texture(texels)
    await legacy.draw(
        Dp2CommandBuffer()
        .clear(1, 0xFF204060)
        .texture(0, surface)
        .texture_stage_states(0, {TSS.COLOROP: TOP.MODULATE, TSS.ALPHAOP: TOP.SELECTARG1})
        .render_states({RS.ALPHABLENDENABLE: 1, RS.SRCBLEND: 5, RS.DESTBLEND: 6})
        .triangle_fan(0, 2),
        corners(8, 8, 24, 24, 0xFF8040FF),
    )
    image = await legacy.channels()
    texel = np.stack([texels >> s & 255 for s in (16, 8, 0, 24)], -1).repeat(2, 0).repeat(2, 1).astype(float) / 255
    src = texel[..., :3] * (np.array([0x80, 0x40, 0xFF]) / 255)
    alpha = texel[..., 3:]
    expected = (src * alpha + (1 - alpha) * np.array([0x20, 0x40, 0x60]) / 255) * 255
    assert np.abs(image[8:24, 8:24, :3] - expected).max() <= 1.01
    assert (image[:8, :, :3] == (0x20, 0x40, 0x60)).all()


async def test_texture_filters_and_addresses(legacy: LegacyLab) -> None:
    surface = await legacy.texture(np.array([[0xFF000000, 0xFFFFFFFF]], np.uint32))
    v = corners(0, 0, 32, 32)
    v["uv"][:, 0] *= 2
    await legacy.draw(
        Dp2CommandBuffer().texture(0, surface)
        .texture_stage_states(0, {TSS.MAGFILTER: 2, TSS.MINFILTER: 2, TSS.ADDRESSU: 3}).triangle_fan(0, 2), v,
    )  # fmt: skip
    u = ((np.arange(SIZE) + 0.5) / SIZE * 2) * 2 - 0.5
    expected = np.clip(u, 0, 1) * 255
    assert np.abs((await legacy.channels())[3, :, 0] - expected).max() <= 1.5


def perspective(near: float = 1.0, far: float = 10.0) -> Any:
    """A projection of 90 degrees for row vectors."""
    q = far / (far - near)
    return np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, q, 1], [0, 0, -near * q, 0]], np.float32)


VERTEX = D3DFVF.XYZ | D3DFVF.NORMAL


def plane(z: float = 4.0) -> Any:
    """A square in front of the eye that fills the picture, facing it."""
    s = z
    corners = [(-s, s, z), (s, s, z), (s, -s, z), (-s, -s, z)]
    return np.array([(*p, 0, 0, -1) for p in corners], np.float32)


def centres() -> Any:
    """Where the rays of pixels meet the plane z = 4 (pixel centres are whole numbers): (y, x, 3)."""
    at = np.arange(SIZE) / SIZE * 2 - 1
    x, y = np.meshgrid(at, -at)
    return np.stack([4 * x, 4 * y, np.full_like(x, 4)], -1)


async def test_directional_light_and_material(legacy: LegacyLab) -> None:
    await legacy.draw(
        Dp2CommandBuffer()
        .set_transform(T.PROJECTION, perspective())
        .set_material(diffuse=(1, 0.5, 0.25, 0.75), ambient=(1, 1, 1, 1), emissive=(0, 0, 0.125, 0))
        .create_light(3)
        .set_light(3, D3DLIGHTTYPE.DIRECTIONAL, Diffuse=(1, 1, 1, 1), Direction=(0, 3, 4), Ambient=(0.0625, 0, 0, 0))
        .enable_light(3)
        .render_states({RS.AMBIENT: 0xFF202020, RS.COLORVERTEX: 0})
        .triangle_fan(0, 2),
        plane(), VERTEX,
    )  # fmt: skip
    ambient = 0x20 / 255
    expected = np.array([0.8 + ambient + 0.0625, 0.4 + ambient, 0.2 + ambient + 0.125, 0.75]) * 255
    image = await legacy.channels()
    assert np.abs(image - expected).max() <= 1


@pytest.mark.parametrize("kind", ["point", "spot"])
async def test_lights_with_places_against_the_formula(legacy: LegacyLab, kind: str) -> None:
    # A fine grid, so that per-vertex light is near the formula at each pixel.
    n = 33
    at = np.linspace(-4, 4, n)
    x, y = np.meshgrid(at, -at)
    grid = np.zeros((n, n, 6), np.float32)
    grid[..., 0], grid[..., 1], grid[..., 2], grid[..., 5] = x, y, 4, -1
    index = np.arange(n * n).reshape(n, n)
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    triangles = np.stack([a, b, c, a, c, d], -1).reshape(-1)
    place = np.array([1.0, 0.5, 2.0])
    members: dict[str, Any] = {"Diffuse": (1, 0.75, 0.5, 1), "Position": place, "Attenuation0": 0.5, "Attenuation1": 0.25, "Attenuation2": 0.125}
    if kind == "spot":
        members |= {"Direction": (0, 0, 1), "Theta": 0.5, "Phi": 2.0, "Falloff": 1.5}
    await legacy.draw(
        Dp2CommandBuffer().set_transform(T.PROJECTION, perspective()).set_material()
        .set_light(0, D3DLIGHTTYPE.SPOT if kind == "spot" else D3DLIGHTTYPE.POINT, **members).enable_light(0)
        .indexed_triangle_list(triangles.tolist()), grid, VERTEX,
    )  # fmt: skip
    to = place - centres()
    d_ = np.linalg.norm(to, axis=-1)
    to /= d_[..., None]
    attenuation = 1 / (0.5 + 0.25 * d_ + 0.125 * d_ * d_)
    if kind == "spot":
        rho = (-to) @ np.array([0, 0, 1.0])
        inner, outer = np.cos(0.25), np.cos(1.0)
        attenuation = attenuation * np.clip((rho - outer) / (inner - outer), 0, 1) ** 1.5
    light = np.clip(-to[..., 2], 0, None) * attenuation
    expected = np.clip(light[..., None] * np.array([1, 0.75, 0.5]), 0, 1) * 255
    image = (await legacy.channels())[..., :3]
    error = np.abs(image - expected)[1:-1, 1:-1]
    assert error.max() <= 6
    assert error.mean() <= 0.8
    assert image.max() > 60


async def test_specular_highlights(legacy: LegacyLab) -> None:
    # The eye's own light: the halfway vector is the direction to the eye.
    await legacy.draw(
        Dp2CommandBuffer().set_transform(T.PROJECTION, perspective())
        .set_material(diffuse=(0, 0, 0, 1), specular=(1, 1, 1, 1), power=8.0)
        .set_light(0, D3DLIGHTTYPE.DIRECTIONAL, Specular=(0.5, 1, 1, 1), Direction=(0, 0, 1)).enable_light(0)
        .render_states({RS.SPECULARENABLE: 1, RS.LOCALVIEWER: 0, RS.SPECULARMATERIALSOURCE: 0}).triangle_fan(0, 2), plane(), VERTEX,
    )  # fmt: skip
    image = await legacy.channels()
    assert np.abs(image[..., :3] - (127.5, 255, 255)).max() <= 1
    await legacy.draw(Dp2CommandBuffer().clear(1, 0).render_state(RS.SPECULARENABLE, 0).triangle_fan(0, 2), plane(), VERTEX)
    assert (await legacy.channels())[..., :3].max() == 0


async def test_table_fog_by_w(legacy: LegacyLab) -> None:
    # A floor that goes away from the eye: fog by depth is linear in w.
    v = np.array([(-20, 2, 2, 0xFF00FF00), (20, 2, 2, 0xFF00FF00), (20, 2, 8, 0xFF00FF00), (-20, 2, 8, 0xFF00FF00)], np.float64)
    data = np.zeros(4, np.dtype([("p", "<f4", 3), ("c", "<u4")]))
    data["p"], data["c"] = v[:, :3], v[:, 3].astype(np.uint32)
    await legacy.draw(
        Dp2CommandBuffer().set_transform(T.PROJECTION, perspective())
        .render_states({RS.LIGHTING: 0, RS.CULLMODE: 1, RS.FOGENABLE: 1, RS.FOGCOLOR: 0xFFFF0000, RS.FOGTABLEMODE: 3, RS.FOGSTART: 2.0, RS.FOGEND: 6.0})
        .triangle_fan(0, 2), data, D3DFVF.XYZ | D3DFVF.DIFFUSE,
    )  # fmt: skip
    image = await legacy.channels()
    rows = np.arange(SIZE)
    y = 1 - rows / SIZE * 2
    with np.errstate(divide="ignore"):
        w = 2 / y
    seen = (w >= 2.2) & (w <= 7.8) & (y > 0)
    factor = np.clip((6 - w) / 4, 0, 1)
    assert seen.sum() > 8
    assert np.abs(image[seen, 16, 0] - 255 * (1 - factor[seen])).max() <= 1.5
    assert np.abs(image[seen, 16, 1] - 255 * factor[seen]).max() <= 1.5


@pytest.mark.parametrize("mode", [1, 2, 3], ids=["exp", "exp2", "linear"])
async def test_vertex_fog(legacy: LegacyLab, mode: int) -> None:
    await legacy.draw(
        Dp2CommandBuffer().set_transform(T.PROJECTION, perspective()).set_material(emissive=(0, 1, 0, 1))
        .render_states({RS.FOGENABLE: 1, RS.FOGCOLOR: 0xFF0000FF, RS.FOGVERTEXMODE: mode, RS.FOGSTART: 1.0, RS.FOGEND: 9.0, RS.FOGDENSITY: 0.25})
        .triangle_fan(0, 2), plane(), VERTEX,
    )  # fmt: skip
    factor = {1: np.exp(-1.0), 2: np.exp(-1.0), 3: 5 / 8}[mode]
    assert np.abs((await legacy.channels())[10, 10, :3] - (0, 255 * factor, 255 * (1 - factor))).max() <= 1


async def test_user_clip_planes_are_of_the_world(legacy: LegacyLab) -> None:
    view = np.eye(4, dtype=np.float32)
    view[3, :3] = 1, 0, 0  # the world moves right, the eye left
    v = plane()
    v[:, 0] -= 1
    await legacy.draw(
        Dp2CommandBuffer().set_transform(T.PROJECTION, perspective()).set_transform(T.VIEW, view).set_material(emissive=(1, 1, 1, 1))
        .set_clip_plane(1, (1, 0, 0, 1)).set_clip_plane(0, (0, 1, 0, 100)).render_state(RS.CLIPPLANEENABLE, 3).triangle_fan(0, 2), v, VERTEX,
    )  # fmt: skip
    # x + 1 >= 0 in the world is x >= 0 before the eye: the right half.
    image = await legacy.pixels()
    assert (image[:, SIZE // 2 :] == 0xFFFFFFFF).all()
    assert (image[:, : SIZE // 2] == 0).all()


async def test_world_matrices_are_blended(legacy: LegacyLab) -> None:
    one, other = np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32)
    one[3, 0], other[3, 0] = -8, 8
    rows = np.array([(-1, 1, 4, 0.5), (1, 1, 4, 0.5), (1, -1, 4, 0.5), (-1, -1, 4, 0.5)], np.float32)
    base = (
        Dp2CommandBuffer().set_transform(T.PROJECTION, perspective()).set_transform(256, one).set_transform(257, other)
        .set_material(emissive=(1, 0, 0, 1)).render_states({RS.VERTEXBLEND: 1, RS.LIGHTING: 1}).triangle_fan(0, 2)
    )  # fmt: skip
    await legacy.draw(base, rows, D3DFVF.XYZB1)
    image = await legacy.pixels()
    assert (image[12:20, 12:20] == 0xFFFF0000).all()
    assert (image != 0).sum() == 64


async def test_texture_transform_and_projection(legacy: LegacyLab) -> None:
    texels = np.arange(SIZE * SIZE, dtype=np.uint32).reshape(SIZE, SIZE) + 0xFF000000
    surface = await legacy.texture(texels)
    matrix = np.eye(4, dtype=np.float32)
    matrix[2, :2] = 0.5, 0.25  # two coordinates: the third row moves
    v = np.zeros((4, 5), np.float32)
    v[:, :3] = plane()[:, :3]
    v[:, 3:] = [(0, 0), (1, 0), (1, 1), (0, 1)]
    # Half a pixel further: pixel centres are whole numbers, texel centres are halves.
    v[:, 3:] += 0.5 / SIZE
    await legacy.draw(
        Dp2CommandBuffer().set_transform(T.PROJECTION, perspective()).set_transform(T.TEXTURE0, matrix).texture(0, surface)
        .render_states({RS.LIGHTING: 0})
        .texture_stage_states(0, {TSS.COLOROP: TOP.SELECTARG1, TSS.TEXTURETRANSFORMFLAGS: 2}).triangle_fan(0, 2), v, D3DFVF.XYZ | D3DFVF.TEX1,
    )  # fmt: skip
    image = await legacy.pixels()
    assert (image == np.roll(texels, (-8, -16), (0, 1))).all()


async def test_stencil_both_sides(legacy: LegacyLab) -> None:
    front, back = corners(0, 0, 16, 32), corners(16, 0, 32, 32)[::-1].copy()
    count = {
        RS.STENCILENABLE: 1, RS.TWOSIDEDSTENCILMODE: 1, RS.STENCILPASS: 7, RS.CCW_STENCILPASS: 8, RS.CULLMODE: 1, RS.COLORWRITEENABLE: 0,
    }  # fmt: skip
    await legacy.draw(
        Dp2CommandBuffer().clear(4, stencil=5).render_states(count).triangle_fan(0, 2).triangle_fan(4, 2),
        np.concatenate([front, back]),
    )
    for reference, columns in ((6, slice(0, 16)), (4, slice(16, 32))):
        test = {RS.COLORWRITEENABLE: 15, RS.TWOSIDEDSTENCILMODE: 0, RS.STENCILPASS: 1, RS.STENCILFUNC: 3, RS.STENCILREF: reference}
        await legacy.draw(Dp2CommandBuffer().clear(1, 0).render_states(test).triangle_fan(0, 2), corners(0, 0, 32, 32))
        image = await legacy.pixels()
        expected = np.zeros((SIZE, SIZE), np.uint32)
        expected[:, columns] = 0xFFFFFFFF
        assert (image == expected).all()


async def test_state_sets(legacy: LegacyLab) -> None:
    context = legacy.context
    await legacy.draw(
        Dp2CommandBuffer().begin_state_set(4).render_states({RS.COLORWRITEENABLE: 1, RS.CULLMODE: 1}).end_state_set()
    )
    states = await context.render_states()
    assert (states[RS.COLORWRITEENABLE], states[RS.CULLMODE]) == (15, 3)  # recorded, not set
    await legacy.draw(Dp2CommandBuffer().execute_state_set(4).triangle_fan(0, 2), corners(0, 0, 32, 32))
    assert ((await legacy.pixels()) == 0x00FF0000).all()
    assert (await context.render_states())[RS.COLORWRITEENABLE] == 1
    # A capture takes what is set now.
    await legacy.draw(Dp2CommandBuffer().render_state(RS.COLORWRITEENABLE, 2).state_set(4, 4).render_state(RS.COLORWRITEENABLE, 15))
    await legacy.draw(Dp2CommandBuffer().clear(1, 0).execute_state_set(4).triangle_fan(0, 2), corners(0, 0, 32, 32))
    assert ((await legacy.pixels()) == 0x0000FF00).all()


async def test_queries(legacy: LegacyLab) -> None:
    await legacy.draw(
        Dp2CommandBuffer().create_query(1, D3DQUERYTYPE.OCCLUSION).create_query(2, D3DQUERYTYPE.EVENT)
        .begin_query(1).triangle_fan(0, 2).end_query(1).end_query(2), corners(3, 3, 10, 8),
    )  # fmt: skip
    assert await legacy.context.get_query_data(1) == (35).to_bytes(4, "little")
    assert await legacy.context.get_query_data(2) == (1).to_bytes(4, "little")


async def test_buffers_and_indices_of_the_device(legacy: LegacyLab) -> None:
    vertices = await legacy.device.create_buffer(corners(4, 4, 8, 8, 0xFF123456), bind_flags=BindFlag.VERTEX_BUFFER)
    indices = await legacy.device.create_buffer(np.array([0, 1, 2, 0, 2, 3], np.uint16), bind_flags=BindFlag.INDEX_BUFFER)
    v, i = await legacy.context.create_surface(vertices), await legacy.context.create_surface(indices)
    fvf = D3DFVF.XYZRHW | D3DFVF.DIFFUSE | D3DFVF.SPECULAR | D3DFVF.TEX1
    await legacy.draw(
        Dp2CommandBuffer().set_vertex_shader(fvf).set_stream_source(0, v, 32).set_indices(i)
        .draw_indexed_primitive(PT.TRIANGLELIST, 0, 0, 4, 0, 2)
    )  # fmt: skip
    image = await legacy.pixels()
    assert (image[4:8, 4:8] == 0xFF123456).all()
    assert (image != 0).sum() == 16


async def test_failures_name_the_command_and_leave_what_came_before(legacy: LegacyLab) -> None:
    commands = Dp2CommandBuffer().triangle_fan(0, 2)
    at = len(commands)
    with pytest.raises(Dp2Error) as caught:
        await legacy.draw(commands.triangle_list(0, 9).clear(1, 0), corners(0, 0, 32, 32))
    assert (caught.value.name, caught.value.error_offset) == ("E_INVALIDARG", at)
    assert "TRIANGLELIST" in caught.value.sentence
    assert ((await legacy.pixels()) == 0xFFFFFFFF).all()
    with pytest.raises(Dp2Error) as caught:
        await legacy.draw(Dp2CommandBuffer().command(250, 0))
    assert (caught.value.name, caught.value.error_offset) == ("D3DERR_COMMAND_UNPARSED", 0)
    await legacy.draw(Dp2CommandBuffer().clear(1, 0))
    assert ((await legacy.pixels()) == 0).all()


async def test_direct3d_11_keeps_its_bindings(legacy: LegacyLab) -> None:
    view = await legacy.device.create_render_target_view(legacy.target)
    source = "float4 vs(uint i : SV_VertexID) : SV_Position { float2 c = float2((i << 1) & 2, i & 2); return float4(c * float2(2, -2) + float2(-1, 1), 0, 1); } float4 ps() : SV_Target { return float4(0, 0, 1, 1); }"
    vs = await legacy.device.create_vertex_shader(hlsl.compile(source, "vs", "vs_5_0"))
    ps = await legacy.device.create_pixel_shader(hlsl.compile(source, "ps", "ps_5_0"))
    ctx = legacy.ctx
    ctx.ia_set_primitive_topology(PrimitiveTopology.TRIANGLELIST)
    ctx.vs_set_shader(vs)
    ctx.ps_set_shader(ps)
    ctx.rs_set_viewports([Viewport(0, 0, SIZE, SIZE)])
    ctx.om_set_render_targets([view])
    ctx.draw(3)
    await legacy.draw(Dp2CommandBuffer().triangle_fan(0, 2), corners(0, 0, 8, 8))
    image = await legacy.pixels()
    assert (image[:8, :8] == 0xFFFFFFFF).all()
    assert (image[8:] == 0xFF0000FF).all()
    ctx.draw(3)
    assert ((await legacy.pixels()) == 0xFF0000FF).all()


async def test_what_is_presented_is_on_the_display(legacy: LegacyLab) -> None:
    chain = await legacy.gpu.create_swap_chain(legacy.device, width=320, height=240, format=Format.B8G8R8A8_UNORM)
    for frame, color in enumerate((0xFF2080C0, 0xFF801020)):
        buffer = await legacy.context.create_surface(await chain.get_buffer(0))
        await legacy.draw(Dp2CommandBuffer().set_render_target(buffer).clear(1, color).triangle_fan(0, 2), corners(0, 0, 40, 30))
        await chain.present(sync_interval=1)
        await legacy.gpu.wait_for_vblank()
        await legacy.gpu.wait_for_vblank()
        shot = await legacy.gpu.read_display()
        assert shot[100, 100, :3].tolist() == [color >> 16 & 255, color >> 8 & 255, color & 255], frame
        assert shot[10, 10, :3].tolist() == [255, 255, 255]
        await legacy.context.destroy_surface(buffer)


async def test_mips_and_faces_are_drawn_to_and_sampled(legacy: LegacyLab) -> None:
    bind = BindFlag.RENDER_TARGET | BindFlag.SHADER_RESOURCE
    texture = await legacy.device.create_texture2d(width=8, height=8, mip_levels=3, format=Format.B8G8R8A8_UNORM, bind_flags=bind)
    context = legacy.context
    whole = await context.create_surface(texture)
    second = await context.create_surface(texture, subresource=1)
    commands = Dp2CommandBuffer().color_fill(whole, (0, 0, 8, 8), 0xFFFF0000).generate_mip_sub_levels(whole)
    await legacy.draw(commands.set_render_target(second).clear(1, 0xFF00FF00))
    assert (await legacy.ctx.read_texture(texture, 1) == (0, 255, 0, 255)).all()
    assert (await legacy.ctx.read_texture(texture, 2) == (0, 0, 255, 255)).all()
    # Two texels to a pixel: mip 1 is what is seen.
    v = corners(0, 0, 32, 32)
    v["uv"] *= 8
    sample = {TSS.COLOROP: TOP.SELECTARG1, TSS.MIPFILTER: 1}
    await legacy.draw(Dp2CommandBuffer().set_render_target(1).texture(0, whole).texture_stage_states(0, sample).triangle_fan(0, 2), v)
    assert ((await legacy.pixels()) == 0xFF00FF00).all()
    # And a blit from it to the top level.
    await legacy.draw(Dp2CommandBuffer().blt(whole, (0, 0, 4, 4), second, (0, 0, 4, 4)))
    top = await legacy.ctx.read_texture(texture)
    assert (top[:4, :4] == (0, 255, 0, 255)).all()
    assert (top[4:] == (0, 0, 255, 255)).all()


async def test_cube_maps_by_reflection(legacy: LegacyLab) -> None:
    shades = (0xFFFF0000, 0xFF00FF00, 0xFF0000FF, 0xFFFFFF00, 0xFFFF00FF, 0xFF00FFFF)
    cube = await legacy.device.create_texture2d(
        width=4, height=4, array_size=6, format=Format.B8G8R8A8_UNORM, bind_flags=BindFlag.RENDER_TARGET | BindFlag.SHADER_RESOURCE,
        misc_flags=ResourceMiscFlag.TEXTURECUBE,
    )  # fmt: skip
    faces = [await legacy.context.create_surface(cube, subresource=face) for face in range(6)]
    commands = Dp2CommandBuffer()
    for face, shade in zip(faces, shades, strict=True):
        commands.set_render_target(face).clear(1, shade)
    # Camera-space normals as coordinates: the plane's normal looks at the eye, to -z, which is face 5.
    await legacy.draw(
        commands.set_render_target(1, 2).set_transform(T.PROJECTION, perspective()).texture(0, faces[0]).render_state(RS.LIGHTING, 0)
        .texture_stage_states(0, {TSS.COLOROP: TOP.SELECTARG1, TSS.TEXCOORDINDEX: 0x10000}).triangle_fan(0, 2), plane(), VERTEX,
    )  # fmt: skip
    assert ((await legacy.pixels()) == shades[5]).all()
    # The reflection of a ray that comes straight on goes straight back; position as coordinates points ahead.
    for generated, shade in ((0x30000, shades[5]), (0x20000, shades[4])):
        await legacy.draw(Dp2CommandBuffer().texture_stage_states(0, {TSS.TEXCOORDINDEX: generated}).triangle_fan(0, 2), plane(), VERTEX)
        assert (await legacy.pixels())[16, 16] == shade
