"""Rasterization rules: top-left, lines, points, wireframe, culling, scissors, viewports, depth bias and clip, clip and cull distances."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import wddm
from tests.stack.d3d11.lab import FULL, PULLED, Lab, coverage, point
from wddm import BindFlag, Blend, BlendOp, CullMode, FillMode, Format, PrimitiveTopology, RenderTargetBlend

ADD = RenderTargetBlend(
    blend_enable=True, src_blend=Blend.ONE, dest_blend=Blend.ONE, blend_op=BlendOp.ADD, src_blend_alpha=Blend.ONE, dest_blend_alpha=Blend.ONE
)


async def accumulate(lab: Lab) -> None:
    """Let every fragment add 1, so that what is drawn twice shows."""
    lab.ctx.om_set_blend_state(await lab.device.create_blend_state(render_target=ADD))


def fixed(corners: Any) -> Any:
    """Corners snapped to 1/256 of a pixel, ties to even, as integers."""
    return np.rint(np.asarray(corners, np.float64) * 256).astype(np.int64)


def top_left(corners: Any, width: int, height: int) -> Any:
    """Pixels whose centres a triangle covers, by exact integer edge functions with the top-left rule."""
    a, b, c = fixed(corners)
    if (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) < 0:
        b, c = c, b
    x, y = np.meshgrid(np.arange(width) * 256 + 128, np.arange(height) * 256 + 128)
    inside = np.ones((height, width), bool)
    if (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) == 0:
        return ~inside
    for p, q in ((a, b), (b, c), (c, a)):
        dx, dy = q - p
        value = dx * (y - p[1]) - dy * (x - p[0])
        owned = dy < 0 or (dy == 0 and dx > 0)  # a left edge goes up, a top edge to the right, clockwise on a screen
        inside &= (value >= 0) if owned else (value > 0)
    return inside


async def test_triangles_cover_what_the_top_left_rule_says(lab: Lab) -> None:
    size = (16, 16)
    rng = np.random.default_rng(11)
    triangles = [rng.uniform(-6, 22, (3, 2)) for _ in range(12)]
    triangles += [np.round(rng.uniform(0, 16, (3, 2)) * 2) / 2 for _ in range(12)]  # corners and edges on pixel centres
    target, view = await lab.target(*size)
    rows = np.array([point(*corner, size) for triangle in triangles for corner in triangle], np.float32)
    await lab.vertices(rows)
    for number, triangle in enumerate(triangles):
        _, three = await lab.structured(rows[number * 3 : number * 3 + 3], 32)
        lab.ctx.vs_set_shader_resources(0, [three])
        lab.ctx.clear_render_target_view(view, (0, 0, 0, 0))
        lab.ctx.draw(3)
        image = await lab.ctx.read_texture(target)
        # The corners as the hardware gets them: through clip space in single precision.
        clip = rows[number * 3 : number * 3 + 3]
        corners = np.stack([(clip[:, 0] + 1) * np.float32(8), (1 - clip[:, 1]) * np.float32(8)], 1)
        np.testing.assert_array_equal(image[..., 3] != 0, top_left(corners, *size), err_msg=str(triangle))


async def test_a_fan_leaves_no_gap_and_draws_no_pixel_twice(lab: Lab) -> None:
    size = (16, 16)
    rng = np.random.default_rng(3)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 9))
    rim = np.stack([8 + 30 * np.cos(angles), 8 + 30 * np.sin(angles)], 1)
    centre = (7.5, 8.5)
    rows = []
    for one, two in itertools.pairwise([*rim, rim[0]]):
        rows += [point(*centre, size), point(*one, size), point(*two, size)]
    target, _ = await lab.target(*size)
    await lab.vertices(rows)
    await accumulate(lab)
    lab.ctx.draw(len(rows))
    assert (await lab.ctx.read_texture(target) == 1).all()


async def test_winding_and_culling(lab: Lab) -> None:
    size = (8, 4)
    target, view = await lab.target(*size)
    clockwise = [point(*p, size) for p in ((0, 0), (4, 0), (0, 4))]
    counter = [point(*p, size) for p in ((8, 0), (4, 0), (8, 4))]
    await lab.vertices(clockwise + counter)
    source = PULLED + "float4 face_ps(Coloured c, bool front : SV_IsFrontFace) : SV_Target { return float4(front ? 1 : 2, 0, 0, 1); }"
    await lab.ps(source, "face_ps")
    for ccw, cull in itertools.product((False, True), CullMode):
        await lab.rasterizer(cull_mode=cull, front_counter_clockwise=ccw)
        lab.ctx.clear_render_target_view(view, (0, 0, 0, 0))
        lab.ctx.draw(6)
        image = await lab.ctx.read_texture(target)
        for x, front in ((0, not ccw), (7, ccw)):
            culled = (cull is CullMode.FRONT and front) or (cull is CullMode.BACK and not front)
            assert image[0, x, 0] == (0 if culled else 1 if front else 2), (ccw, cull, x)


LINES = [
    # An x-major line covers the diamonds that it leaves, not the one that it ends in.
    ((1.5, 1.5), (5.5, 1.5), ["........", ".####...", "........", "........"]),
    ((5.5, 1.5), (1.5, 1.5), ["........", "..####..", "........", "........"]),
    ((2.5, 0.5), (2.5, 3.5), ["..#.....", "..#.....", "..#.....", "........"]),
    ((1.5, 0.5), (4.5, 3.5), [".#......", "..#.....", "...#....", "........"]),
    ((0.5, 0.5), (6.5, 2.5), ["##......", "..###...", ".....#..", "........"]),
    # Ends inside a diamond without leaving it: nothing.
    ((2.4, 1.5), (2.6, 1.5), ["........", "........", "........", "........"]),
    # Leaves the diamond of its first pixel.
    ((2.6, 1.5), (3.2, 1.5), ["........", "..#.....", "........", "........"]),
]


@pytest.mark.parametrize(("start", "end", "expected"), LINES)
async def test_lines(lab: Lab, start: Any, end: Any, expected: list[str]) -> None:
    size = (8, 4)
    target, _ = await lab.target(*size)
    await lab.vertices([point(*start, size), point(*end, size)])
    lab.topology(PrimitiveTopology.LINELIST)
    lab.ctx.draw(2)
    assert coverage(await lab.ctx.read_texture(target)) == expected


async def test_a_line_strip_draws_its_joints_once(lab: Lab) -> None:
    size = (8, 8)
    target, _ = await lab.target(*size)
    await lab.vertices([point(*p, size) for p in ((0.5, 0.5), (6.5, 2.5), (3.5, 6.5), (0.5, 4.5), (0.5, 0.5))])
    await accumulate(lab)
    lab.topology(PrimitiveTopology.LINESTRIP)
    lab.ctx.draw(5)
    assert set(np.unique((await lab.ctx.read_texture(target))[..., 3])) == {0, 1}


async def test_lines_interpolate_along_themselves(lab: Lab) -> None:
    size = (8, 1)
    target, _ = await lab.target(*size)
    await lab.vertices([point(0, 0.5, size, color=(0, 1, 0, 1)), point(8, 0.5, size, color=(8, 1, 0, 1))])
    lab.topology(PrimitiveTopology.LINELIST)
    lab.ctx.draw(2)
    np.testing.assert_allclose((await lab.ctx.read_texture(target))[0, :, 0], np.arange(8) + 0.5, atol=1e-3)


async def test_points_are_squares_by_the_triangle_rule(lab: Lab) -> None:
    size = (8, 4)
    target, _ = await lab.target(*size)
    await lab.vertices([point(*p, size) for p in ((1.0, 1.0), (3.4, 1.6), (6.0, 2.5), (9, 1))])
    lab.topology(PrimitiveTopology.POINTLIST)
    lab.ctx.draw(4)
    # (1, 1) covers 0.5…1.5 on both axes: the top-left rule gives it pixel (0, 0).
    assert coverage(await lab.ctx.read_texture(target)) == ["#.......", "...#....", ".....#..", "........"]


async def test_wireframe_draws_the_edges(lab: Lab) -> None:
    size = (8, 8)
    target, view = await lab.target(*size)
    corners = [(1.5, 1.5), (6.5, 1.5), (1.5, 6.5)]
    await lab.vertices([point(*p, size) for p in corners])
    await lab.rasterizer(fill_mode=FillMode.WIREFRAME)
    lab.ctx.draw(3)
    wire = (await lab.ctx.read_texture(target))[..., 3] != 0
    await lab.vertices([point(*p, size) for a, b in itertools.pairwise([*corners, corners[0]]) for p in (a, b)])
    lab.topology(PrimitiveTopology.LINELIST)
    lab.ctx.clear_render_target_view(view, (0, 0, 0, 0))
    lab.ctx.draw(6)
    lines = (await lab.ctx.read_texture(target))[..., 3] != 0
    np.testing.assert_array_equal(wire, lines)
    assert not wire[3, 3]


MANY = """
struct P { float4 position : SV_Position; uint viewport : SV_ViewportArrayIndex; float id : ID; };
struct V { float4 position : SV_Position; };
V vs(uint id : SV_VertexID) { V v; v.position = float4(float2((id << 1) & 2, id & 2) * 2 - 1, 0.5, 1); return v; }
[instance(4)] [maxvertexcount(3)] void gs(triangle V t[3], uint n : SV_GSInstanceID, inout TriangleStream<P> s)
{ for (int i = 0; i < 3; i++) { P p; p.position = t[i].position; p.viewport = n * 5; p.id = n + 1; s.Append(p); } }
float4 ps(P p) : SV_Target { return float4(p.id, p.position.z, p.viewport, 1); }
"""


async def test_viewport_and_scissor_arrays(lab: Lab) -> None:
    target, _ = await lab.target(8, 8)
    viewports = [wddm.Viewport(7, 7, 1, 1)] * 16
    for n in range(3):
        viewports[n * 5] = wddm.Viewport(n * 2, n, 2, 3, n * 0.25, n * 0.25 + 0.5)
    lab.ctx.rs_set_viewports(viewports)
    lab.ctx.rs_set_scissor_rects([(0, 0, 8, 8)] * 5 + [(2, 0, 3, 8)] + [(0, 0, 8, 8)] * 9 + [(0, 0, 0, 0)])
    await lab.vs(MANY)
    await lab.gs(MANY)
    await lab.ps(MANY)
    await lab.rasterizer(scissor_enable=True)
    lab.topology(PrimitiveTopology.TRIANGLELIST)
    lab.ctx.draw(3)
    image = await lab.ctx.read_texture(target)
    want = np.zeros((8, 8, 4), np.float32)
    want[0:3, 0:2] = (1, 0.25, 0, 1)
    want[1:4, 2:3] = (2, 0.5, 5, 1)
    want[2:5, 4:6] = (3, 0.75, 10, 1)
    np.testing.assert_allclose(image, want, atol=1e-6)


async def test_a_viewport_at_fractions_and_beyond_the_target(lab: Lab) -> None:
    target, view = await lab.target(8, 4)
    await lab.full("float4 ps(Full f) : SV_Target { return float4(f.uv, f.position.xy); }")
    lab.ctx.rs_set_viewports([wddm.Viewport(-4.0, -2, 8, 8)])
    lab.ctx.draw(3)
    image = await lab.ctx.read_texture(target)
    want = np.zeros((4, 8, 4), np.float32)
    y, x = np.mgrid[0:4, 0:4] + 0.5
    want[:, :4] = np.stack([(x + 4) / 8, (y + 2) / 8, x, y], 2)
    np.testing.assert_allclose(image, want, atol=1e-5)
    # A viewport does not clip to its rectangle but the clip volume ends there: 2.5 wide from 1.25 covers centres 1.5, 2.5, 3.5.
    lab.ctx.rs_set_viewports([wddm.Viewport(1.25, 0, 2.5, 4)])
    lab.ctx.clear_render_target_view(view, (0, 0, 0, 0))
    lab.ctx.draw(3)
    assert coverage(await lab.ctx.read_texture(target))[1] == ".###...."


async def test_scissor(lab: Lab) -> None:
    target, _ = await lab.target(8, 4)
    await lab.full("float4 ps(Full f) : SV_Target { return 1; }")
    lab.ctx.rs_set_scissor_rects([(2, 1, 5, 30)])
    await lab.rasterizer(scissor_enable=True)
    lab.ctx.draw(3)
    assert coverage(await lab.ctx.read_texture(target)) == ["........", "..###...", "..###...", "..###..."]


def depth_of(texture: Any, format: Format) -> Any:
    """Depths as numbers."""
    if format is Format.D16_UNORM:
        return texture.astype(np.float64).reshape(texture.shape[:2]) / 65535
    if format is Format.D24_UNORM_S8_UINT:
        return (texture & 0xFFFFFF) / 16777215.0
    return texture.reshape(texture.shape[:2])


@pytest.mark.parametrize("format", [Format.D16_UNORM, Format.D24_UNORM_S8_UINT, Format.D32_FLOAT])
async def test_depth_bias(lab: Lab, format: Format) -> None:
    """Bias counts in least steps of the format: of a unorm format, or of the exponent of the primitive's greatest depth."""
    size = (4, 4)
    depth, dsv = await lab.depth(*size, format)
    lab.ctx.om_set_render_targets([], dsv)
    lab.ctx.rs_set_viewports([wddm.Viewport(0, 0, *size)])
    slope = [point(0, 0, size, 0.25), point(8, 0, size, 0.5), point(0, 8, size, 0.25)]
    await lab.vertices(slope)
    lab.ctx.ps_set_shader(None)
    x = np.broadcast_to((np.arange(4) + 0.5) / 8 * 0.25 + 0.25, (4, 4))
    # The greatest depth of the primitive is 0.5: exponent -1, 23 bits below it.
    step = {Format.D16_UNORM: 1 / 65536, Format.D24_UNORM_S8_UINT: 2.0**-24, Format.D32_FLOAT: 2.0 ** (-1 - 23)}[format]
    last = {Format.D16_UNORM: 1 / 65535, Format.D24_UNORM_S8_UINT: 1 / 16777215, Format.D32_FLOAT: 1e-7}[format]
    for bias, slope_scale, clamp in ((0, 0, 0), (100, 0, 0), (-3000, 0, 0), (0, 2.0, 0), (0, 2.0, 0.03125), (0, -2.0, -0.03125)):
        await lab.rasterizer(depth_bias=bias, slope_scaled_depth_bias=slope_scale, depth_bias_clamp=clamp)
        lab.ctx.clear_depth_stencil_view(dsv, 3, 1.0, 0)
        lab.ctx.draw(3)
        offset = bias * step + slope_scale * 0.25 / 8
        offset = min(offset, clamp) if clamp > 0 else max(offset, clamp) if clamp < 0 else offset
        got = depth_of(await lab.ctx.read_texture(depth), format)
        np.testing.assert_allclose(got, x + offset, atol=last * 1.01 + 6e-8, err_msg=str((bias, slope_scale, clamp)))


async def test_depth_clip_and_clamp(lab: Lab) -> None:
    """With clipping off, depths outside go to the viewport's range; with it on, what lies outside is not drawn."""
    size = (8, 1)
    target, rtv = await lab.target(*size)
    depth, dsv = await lab.depth(*size)
    await lab.vertices([point(0, 0, size, -0.5), point(16, 0, size, 2.5), point(0, 2, size, -0.5)])  # z = -0.5 + x * 3 / 16
    lab.ctx.om_set_render_targets([rtv], dsv)
    lab.ctx.om_set_depth_stencil_state(await lab.device.create_depth_stencil_state(depth_func=wddm.ComparisonFunc.ALWAYS))
    lab.ctx.rs_set_viewports([wddm.Viewport(0, 0, 8, 1, 0.25, 0.75)])
    z = -0.5 + (np.arange(8) + 0.5) * 3 / 16
    for clip in (False, True):
        await lab.rasterizer(depth_clip_enable=clip)
        lab.ctx.clear_render_target_view(rtv, (0, 0, 0, 0))
        lab.ctx.clear_depth_stencil_view(dsv, 1, 1.0)
        lab.ctx.draw(3)
        drawn = (z >= 0) & (z <= 1) if clip else np.ones(8, bool)
        np.testing.assert_array_equal((await lab.ctx.read_texture(target))[0, :, 3] != 0, drawn)
        got = (await lab.ctx.read_texture(depth)).reshape(8)
        want = np.where(drawn, np.clip(0.25 + z * 0.5, 0.25, 0.75), 1)
        # The corners that clipping makes are snapped to 1/256 of a pixel as well.
        np.testing.assert_allclose(got, want, atol=4e-4 if clip else 1e-5)


DISTANCES = FULL + """
struct C { float4 position : SV_Position; float2 clip : SV_ClipDistance0; float2 more : SV_ClipDistance1; };
struct K { float4 position : SV_Position; float2 cull : SV_CullDistance; };
cbuffer B : register(b0) { float4 plane; };
C clip_vs(uint id : SV_VertexID) { Full f = full_vs(id); C c; c.position = f.position;
    c.clip = float2(f.uv.x - 0.25, 0.75 - f.uv.x); c.more = float2(f.uv.y - 0.5, 1); return c; }
K cull_vs(uint id : SV_VertexID) { Full f = full_vs(id); K k; k.position = f.position; k.cull = float2(plane[id], 1); return k; }
float4 ps(float4 p : SV_Position) : SV_Target { return 1; }
"""


async def test_clip_and_cull_distances(lab: Lab) -> None:
    target, view = await lab.target(8, 4)
    await lab.vs(DISTANCES, "clip_vs")
    await lab.ps(DISTANCES)
    lab.topology(PrimitiveTopology.TRIANGLELIST)
    lab.ctx.draw(3)
    assert coverage(await lab.ctx.read_texture(target)) == ["........", "........", "..####..", "..####.."]
    await lab.vs(DISTANCES, "cull_vs")
    for distances, drawn in (((-1, -1, 0.5), True), ((-1, -2, -1), False), ((0, 0, 0), True), ((np.nan, -1, -1), False)):
        lab.ctx.clear_render_target_view(view, (0, 0, 0, 0))
        lab.ctx.vs_set_constant_buffers(0, [await lab.constants(*distances, 0)])
        lab.ctx.draw(3)
        assert (await lab.ctx.read_texture(target)).any() == drawn, distances


async def test_clipping_at_w_and_perspective(lab: Lab) -> None:
    """A floor that passes behind the eye: attributes stay perspective-correct, linear ones do not."""
    source = """
    struct F { float4 position : SV_Position; float z : Z; noperspective float flat_z : FZ; nointerpolation float2 first : FI; };
    F vs(uint id : SV_VertexID) { float4 at[3] = { float4(-8, -1, -2, -2), float4(0, -1, 30, 30), float4(8, -1, -2, -2) };
        F f; f.position = at[id]; f.position.z = 0.5 * f.position.w; f.z = at[id].w; f.flat_z = at[id].w; f.first = id + 7; return f; }
    float4 ps(F f) : SV_Target { return float4(f.z, f.position.w, f.first.x, 1); }
    """
    target, _ = await lab.target(4, 64)
    await lab.vs(source)
    await lab.ps(source)
    await lab.rasterizer()
    lab.topology(PrimitiveTopology.TRIANGLELIST)
    lab.ctx.draw(3)
    image = (await lab.ctx.read_texture(target))[:, 1]
    y = 1 - (np.arange(64) + 0.5) / 32
    with np.errstate(divide="ignore"):
        distance = -1 / y  # y = -1 / w
    seen = (y < 0) & (distance < 14) & (y > -1)
    np.testing.assert_array_equal(image[seen][:, 3], 1)
    assert not image[y > 0].any()
    np.testing.assert_allclose(image[seen][:, 0], distance[seen], rtol=1e-3)
    # SV_Position.w of a pixel shader is w itself, as the interpolated 1/w turned round.
    np.testing.assert_allclose(image[seen][:, 1], distance[seen], rtol=1e-3)
    np.testing.assert_array_equal(image[seen][:, 2], 7)


async def test_primitives_with_nan_or_far_away_do_no_harm(lab: Lab) -> None:
    size = (8, 8)
    target, _ = await lab.target(*size)
    good = [point(*p, size) for p in ((0, 0), (16, 0), (0, 16))]
    bad = [[np.nan, 0, 0.5, 1, 9, 9, 9, 9], [0, np.nan, 0.5, 1, 9, 9, 9, 9], [1, 1, 0.5, np.nan, 9, 9, 9, 9]]
    behind = [[-1, -1, 0.5, -1, 9, 9, 9, 9], [3, -1, 0.5, -1, 9, 9, 9, 9], [-1, 3, 0.5, -1, 9, 9, 9, 9]]
    await lab.vertices(bad + behind + good)
    await accumulate(lab)
    lab.ctx.draw(9)
    assert (await lab.ctx.read_texture(target) == 1).all()


async def test_a_huge_triangle_is_clipped_exactly_enough(lab: Lab) -> None:
    size = (8, 8)
    target, _ = await lab.target(*size)
    far = 3e5
    await lab.vertices([point(*p, size) for p in ((-far, -far), (far + 8, -far), (4, far))])
    lab.ctx.draw(3)
    assert (await lab.ctx.read_texture(target) == 1).all()


async def test_render_target_arrays(lab: Lab) -> None:
    source = """
    struct P { float4 position : SV_Position; uint slice : SV_RenderTargetArrayIndex; float4 c : C; };
    float4 vs(uint id : SV_VertexID) : SV_Position { return float4(float2((id << 1) & 2, id & 2) * 2 - 1, 0.5, 1); }
    [instance(3)] [maxvertexcount(3)] void gs(triangle float4 t[3] : SV_Position, uint n : SV_GSInstanceID, inout TriangleStream<P> s)
    { for (int i = 0; i < 3; i++) { P p; p.position = t[i]; p.slice = n; p.c = n + 1; s.Append(p); } }
    float4 ps(P p) : SV_Target { return p.c + p.slice * 10; }
    """
    device, ctx = lab.device, lab.ctx
    texture = await device.create_texture2d(width=4, height=4, array_size=5, format=Format.R32_FLOAT, bind_flags=BindFlag.RENDER_TARGET)
    view = await device.create_render_target_view(texture, first_array_slice=1, array_size=2)
    volume = await device.create_texture3d(width=4, height=4, depth=4, format=Format.R32_FLOAT, bind_flags=BindFlag.RENDER_TARGET)
    slices = await device.create_render_target_view(volume, first_w_slice=1, w_size=3)
    await lab.vs(source)
    await lab.gs(source)
    await lab.ps(source)
    await lab.rasterizer()
    lab.topology(PrimitiveTopology.TRIANGLELIST)
    ctx.rs_set_viewports([wddm.Viewport(0, 0, 4, 4)])
    for target in (view, slices):
        ctx.om_set_render_targets([target])
        ctx.draw(3)
    got = [(await ctx.read_texture(texture, n))[0, 0, 0] for n in range(5)]
    # An index beyond the view's slices goes to its first slice.
    assert got[1] in (3, 23)
    assert got[2] == 12
    assert got[0] == got[3] == got[4] == 0
    assert (await ctx.read_texture(volume))[:, 0, 0, 0].tolist() == [0, 1, 12, 23]


async def test_clip_distances_reach_the_pixel_shader(lab: Lab) -> None:
    source = FULL + """
    struct C { float4 position : SV_Position; float2 clip : SV_ClipDistance; };
    C vs(uint id : SV_VertexID) { Full f = full_vs(id); C c; c.position = f.position; c.clip = float2(f.uv.x - 0.25, 1 - f.uv.y); return c; }
    float4 ps(C c) : SV_Target { return float4(c.clip, 0, 1); }
    """
    target, _ = await lab.target(8, 4)
    await lab.vs(source)
    await lab.ps(source)
    lab.topology(PrimitiveTopology.TRIANGLELIST)
    lab.ctx.draw(3)
    y, x = np.mgrid[0:4, 0:8] + 0.5
    drawn = x / 8 > 0.25
    want = np.stack([x / 8 - 0.25, 1 - y / 4, x * 0, x * 0 + 1], 2) * drawn[..., None]
    np.testing.assert_allclose(await lab.ctx.read_texture(target), want, atol=2e-3)


async def test_a_viewport_index_out_of_range_is_0(lab: Lab) -> None:
    source = MANY.replace("n * 5", "n == 3 ? 16 : n == 2 ? 0x80000000 : n * 5")
    target, _ = await lab.target(8, 8)
    lab.ctx.rs_set_viewports([wddm.Viewport(0, 0, 2, 2)] + [wddm.Viewport(4, 4, 2, 2)] * 15)
    await lab.vs(source)
    await lab.gs(source)
    await lab.ps(source)
    await lab.rasterizer()
    lab.topology(PrimitiveTopology.TRIANGLELIST)
    lab.ctx.draw(3)
    image = (await lab.ctx.read_texture(target))[..., 0]
    assert (image[0:2, 0:2] == 4).all()
    assert (image[4:6, 4:6] == 2).all()
    assert np.count_nonzero(image) == 8


@pytest.mark.parametrize("antialiased", [False, True])
async def test_random_lines_stay_near_themselves(lab: Lab, antialiased: bool) -> None:
    """Every pixel of a line is within one pixel of it, every column (or row) of its major axis is there once."""
    size = (16, 16)
    target, view = await lab.target(*size)
    rng = np.random.default_rng(8)
    await lab.rasterizer()
    for _ in range(12):
        (ax, ay), (bx, by) = rng.uniform(1, 15, (2, 2))
        await lab.vertices([point(ax, ay, size), point(bx, by, size)])
        await lab.rasterizer(antialiased_line_enable=antialiased)
        lab.topology(PrimitiveTopology.LINELIST)
        lab.ctx.clear_render_target_view(view, (0, 0, 0, 0))
        lab.ctx.draw(2)
        ys, xs = np.nonzero((await lab.ctx.read_texture(target))[..., 3])
        length = np.hypot(bx - ax, by - ay)
        distance = np.abs((bx - ax) * (ys + 0.5 - ay) - (by - ay) * (xs + 0.5 - ax)) / length
        assert (distance <= (1.6 if antialiased else 0.75)).all()
        if not antialiased:
            major = xs if abs(bx - ax) > abs(by - ay) else ys
            assert len(set(major.tolist())) == len(major)
            assert abs(len(major) - max(abs(bx - ax), abs(by - ay))) <= 1


async def test_many_triangles_over_a_large_target(lab: Lab) -> None:
    """A scene of many sizes over many tiles: order, depth and blending pixel by pixel against numpy."""
    width, height = 300, 170
    rng = np.random.default_rng(77)
    count = 120
    centres, radii = rng.uniform(0, 1, (count, 1, 2)) * [width, height], rng.choice([2, 8, 40, 150], count)[:, None, None]
    corners = centres + rng.uniform(-1, 1, (count, 3, 2)) * radii
    levels = rng.integers(1, 63, count) / 64
    values = rng.integers(1, 9, count)
    rows = np.array([point(*p, (width, height), z, (v, 1, 0, 1)) for t, z, v in zip(corners, levels, values, strict=True) for p in t], np.float32)
    target, rtv = await lab.target(width, height)
    depth, dsv = await lab.depth(width, height)
    lab.ctx.om_set_render_targets([rtv], dsv)
    await lab.vertices(rows)
    half = RenderTargetBlend(
        blend_enable=True, src_blend=Blend.ONE, dest_blend=Blend.BLEND_FACTOR, src_blend_alpha=Blend.ONE, dest_blend_alpha=Blend.ZERO
    )
    lab.ctx.om_set_blend_state(await lab.device.create_blend_state(render_target=half), (0.5, 1, 1, 1))
    query = await lab.device.create_query(wddm.QueryType.OCCLUSION)
    lab.ctx.begin(query)
    lab.ctx.draw(3 * count)
    lab.ctx.end(query)
    scale = np.array([width / 2, -height / 2], np.float32)
    screen = (rows[:, :2] * scale + np.array([width / 2, height / 2], np.float32)).reshape(-1, 3, 2)
    color, adds, nearest, passed = np.zeros((height, width)), np.zeros((height, width)), np.ones((height, width)), 0
    for t, z, v in zip(screen, levels, values, strict=True):
        inside = top_left(t, width, height) & (z < nearest)
        color[inside] = color[inside] * 0.5 + v
        adds[inside] += 1
        nearest[inside] = z
        passed += int(inside.sum())
    image = await lab.ctx.read_texture(target)
    np.testing.assert_array_equal(image[..., 1], adds)
    np.testing.assert_allclose(image[..., 0], color, rtol=1e-6)
    np.testing.assert_allclose((await lab.ctx.read_texture(depth))[..., 0], nearest, atol=1e-6)
    assert await lab.ctx.get_data(query, wait=True) == passed


@pytest.mark.parametrize("samples", [1, 4])
async def test_discards_alpha_and_stencil_over_tiles(lab: Lab, samples: int) -> None:
    """Clears, draws that write part of a tile, and clears again of a large multisampled target keep every tile's content."""
    width, height = 150, 140
    target, rtv = await lab.target(width, height, Format.R8G8B8A8_UNORM, sample_count=samples)
    _, dsv = await lab.depth(width, height, Format.D24_UNORM_S8_UINT, sample_count=samples)
    await lab.full("float4 ps(Full f) : SV_Target { uint2 p = f.position.xy; if ((p.x ^ p.y) & 8) discard; return float4(p.x / 255.0, p.y / 255.0, 0, 1); }")
    lab.ctx.om_set_render_targets([rtv], dsv)
    lab.ctx.clear_render_target_view(rtv, (0, 0, 1, 0))
    up = wddm.StencilOps(stencil_pass_op=wddm.StencilOp.INCR)
    lab.ctx.om_set_depth_stencil_state(await lab.device.create_depth_stencil_state(depth_enable=False, stencil_enable=True, front_face=up, back_face=up), 0)
    await lab.rasterizer(scissor_enable=True)
    lab.ctx.rs_set_scissor_rects([(20, 10, 130, 120)])
    lab.ctx.draw(3)
    # What the first draw left at stencil 0 is filled by the second.
    equal = wddm.StencilOps(stencil_func=wddm.ComparisonFunc.EQUAL)
    lab.ctx.om_set_depth_stencil_state(await lab.device.create_depth_stencil_state(depth_enable=False, stencil_enable=True, front_face=equal, back_face=equal), 0)
    lab.ctx.rs_set_scissor_rects([(0, 0, 140, 130)])
    await lab.ps(FULL + "float4 ps(Full f) : SV_Target { return float4(1, 1, 1, 1); }")
    lab.ctx.draw(3)
    y, x = np.mgrid[0:height, 0:width]
    first = (x >= 20) & (x < 130) & (y >= 10) & (y < 120) & ((x ^ y) & 8 == 0)
    second = ~first & (x < 140) & (y < 130)
    want = np.where(first[..., None], np.stack([x, y, x * 0, x * 0 + 255], 2), np.where(second[..., None], 255, np.array([0, 0, 255, 0])))
    np.testing.assert_array_equal(await lab.ctx.read_texture(target), want)
