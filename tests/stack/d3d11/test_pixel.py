"""The pixel shader and what it writes: eight targets, views, early and late depth, discard, depth and coverage, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wddm
from tests.stack.d3d11.lab import FLOAT4, FULL, Lab, coverage
from wddm import BindFlag, Format

U32 = np.uint32


async def test_eight_targets_of_different_formats(lab: Lab) -> None:
    source = """
    struct O { float4 a : SV_Target0; uint4 b : SV_Target1; float2 c : SV_Target2; int4 d : SV_Target3; float4 e : SV_Target5; float f : SV_Target7; };
    O ps(Full u) { O o; float x = floor(u.position.x); o.a = float4(x / 4, 0.5, 0, 1); o.b = uint4(x, 300, 2, 3); o.c = float2(-x, 0.25);
        o.d = int4(-x, 5, 6, 7); o.e = x; o.f = x * 2; return o; }
    """
    formats = [Format.R8G8B8A8_UNORM, Format.R16G16_UINT, Format.R32G32_FLOAT, Format.R8_SINT, FLOAT4, Format.R16G16B16A16_FLOAT, Format.R32_FLOAT, Format.R16_FLOAT]
    textures, views = zip(*[await lab.target(4, 2, format) for format in formats], strict=True)
    lab.ctx.om_set_render_targets([*views[:4], None, *views[5:]])
    await lab.full(source)
    lab.ctx.draw(3)
    got = [(await lab.ctx.read_texture(t))[1] for t in textures]
    x = np.arange(4)
    assert got[0].tolist() == [[round(n / 4 * 255), 128, 0, 255] for n in x]
    assert got[1].tolist() == [[n, 300] for n in x]
    assert got[2].tolist() == [[-n, 0.25] for n in x]
    assert got[3].tolist() == [[-n] for n in x]
    assert not got[4].any()
    assert got[5].tolist() == [[n] * 4 for n in x]
    assert not got[6].any()
    assert got[7].tolist() == [[n * 2] for n in x]


async def test_views_of_a_pixel_shader(lab: Lab) -> None:
    """UAVs behind the render targets: stores, atomics and counters, once per covered pixel and never for helpers."""
    source = """
    RWStructuredBuffer<uint> count : register(u1); RWTexture2D<float> image : register(u2); RWByteAddressBuffer raw : register(u3);
    RWStructuredBuffer<uint> list : register(u4);
    float4 ps(Full f) : SV_Target { uint2 p = f.position.xy; InterlockedAdd(count[p.x], 1); image[p.yx] = p.x + p.y * 10;
        raw.Store(p.x * 4 + p.y * 20, p.x ^ 5); list[list.IncrementCounter()] = p.x + p.y * 5; return ddx(f.uv.x); }
    """
    device, ctx = lab.device, lab.ctx
    target, view = await lab.target(5, 3)
    count, count_view = await lab.structured(np.zeros(5, U32), 4, uav=True)
    image = await device.create_texture2d(width=3, height=5, format=Format.R32_FLOAT, bind_flags=BindFlag.UNORDERED_ACCESS)
    raw, raw_view = await lab.raw(np.zeros(15, U32), uav=True)
    list_, list_view = await lab.structured(np.full(20, 99, U32), 4, uav=True, flags=wddm.BufferUavFlag.COUNTER)
    await lab.full(source)
    views = [count_view, await device.create_unordered_access_view(image), raw_view, list_view]
    ctx.om_set_render_targets_and_unordered_access_views([view], None, 1, views, [0, 0, 0, 1])
    ctx.draw(3)
    assert (await ctx.read_buffer(count, U32)).tolist() == [3] * 5
    x, y = np.meshgrid(np.arange(5), np.arange(3))
    np.testing.assert_array_equal((await ctx.read_texture(image))[..., 0].T, x + y * 10)
    np.testing.assert_array_equal((await ctx.read_buffer(raw, U32)).reshape(3, 5), x ^ 5)
    got = (await ctx.read_buffer(list_, U32)).tolist()
    assert got[0] == 99
    assert sorted(got[1:16]) == list(range(15))
    assert got[16:] == [99] * 4
    np.testing.assert_allclose(await ctx.read_texture(target), 0.2, rtol=1e-5)


async def test_views_alone_make_pixels(lab: Lab) -> None:
    """No render target at all: the viewport bounds what is drawn."""
    source = "RWStructuredBuffer<uint> n : register(u0); void ps(float4 p : SV_Position) { InterlockedAdd(n[0], 1); InterlockedMax(n[1], p.x); }"
    n, view = await lab.structured(np.zeros(2, U32), 4, uav=True)
    await lab.vs(FULL, "full_vs")
    await lab.ps(source)
    lab.topology(wddm.PrimitiveTopology.TRIANGLELIST)
    lab.ctx.om_set_render_targets_and_unordered_access_views([], None, 0, [view])
    lab.ctx.rs_set_viewports([wddm.Viewport(0, 0, 7, 6)])
    lab.ctx.draw(3)
    assert (await lab.ctx.read_buffer(n, U32)).tolist() == [42, 6]


@pytest.mark.parametrize("early", [False, True])
async def test_early_and_late_depth(lab: Lab, early: bool) -> None:
    """A shader with side effects runs before the depth test unless it asks for the test first; a killed pixel's depth."""
    attribute = "[earlydepthstencil]" if early else ""
    source = f"""
    RWStructuredBuffer<uint> n : register(u1);
    {attribute} float4 ps(Full f) : SV_Target {{ InterlockedAdd(n[0], 1); if (f.position.x < 1) discard; InterlockedAdd(n[1], 1); return 1; }}
    """
    ctx = lab.ctx
    target, view = await lab.target(4, 1)
    depth, dsv = await lab.depth(4, 1)
    n, uav = await lab.structured(np.zeros(2, U32), 4, uav=True)
    await lab.full(source)
    # The right half lies in front of the quad at 0.5.
    await lab.rasterizer(scissor_enable=True)
    ctx.rs_set_scissor_rects([(2, 0, 4, 1)])
    ctx.om_set_render_targets([view], dsv)
    ctx.rs_set_viewports([wddm.Viewport(0, 0, 4, 1, 0, 0.5)])
    ctx.ps_set_shader(None)
    ctx.draw(3)
    await lab.rasterizer()
    ctx.rs_set_viewports([wddm.Viewport(0, 0, 4, 1)])
    ctx.om_set_render_targets_and_unordered_access_views([view], dsv, 1, [uav])
    await lab.ps(FULL + source)
    ctx.draw(3)
    assert (await ctx.read_buffer(n, U32)).tolist() == ([2, 1] if early else [4, 3])
    assert coverage(await ctx.read_texture(target)) == [".#.."]
    # Early: depth is written before the shader can discard.
    assert (await ctx.read_texture(depth)).reshape(4).tolist() == [0.5 if early else 1.0, 0.5, 0.25, 0.25]


async def test_discard_and_derivatives_of_helpers(lab: Lab) -> None:
    source = """
    float4 ps(Full f) : SV_Target { float v = f.position.x * f.position.x; if (fmod(floor(f.position.x), 2) > 0.5) discard; return float4(ddx_fine(v), ddy_coarse(v), ddx_coarse(v), 1); }
    """
    target, _ = await lab.target(6, 2)
    await lab.full(source)
    lab.ctx.draw(3)
    image = await lab.ctx.read_texture(target)
    assert coverage(image) == ["#.#.#."] * 2
    # (x + 1.5)² - (x + 0.5)² = 2 x + 2
    np.testing.assert_allclose(image[:, ::2, 0], [[2, 6, 10]] * 2, rtol=1e-5)
    np.testing.assert_allclose(image[:, ::2, 2], [[2, 6, 10]] * 2, rtol=1e-5)
    np.testing.assert_array_equal(image[..., 1], 0)


async def test_derivatives(lab: Lab) -> None:
    """Coarse ones are equal in a quad, fine ones follow the row or column; at the rim helpers lie outside the triangle."""
    source = """
    float4 ps(Full f) : SV_Target { float2 p = floor(f.position.xy); float v = p.x * p.x + 10 * p.y * p.y + 100 * p.x * p.y;
        return float4(ddx_fine(v), ddy_fine(v), ddx_coarse(v), ddy_coarse(v)); }
    """
    target, _ = await lab.target(6, 4)
    await lab.full(source)
    lab.ctx.draw(3)
    image = await lab.ctx.read_texture(target)
    y, x = np.mgrid[0:4, 0:6]

    def v(x: Any, y: Any) -> Any:
        return x * x + 10 * y * y + 100 * x * y

    left, top = x & ~1, y & ~1
    np.testing.assert_array_equal(image[..., 0], v(left + 1, y) - v(left, y))
    np.testing.assert_array_equal(image[..., 1], v(x, top + 1) - v(x, top))
    np.testing.assert_array_equal(image[..., 2], v(left + 1, top) - v(left, top))
    np.testing.assert_array_equal(image[..., 3], v(left, top + 1) - v(left, top))


@pytest.mark.parametrize("semantic", ["SV_Depth", "SV_DepthGreaterEqual", "SV_DepthLessEqual"])
async def test_depth_output(lab: Lab, semantic: str) -> None:
    source = f"struct O {{ float4 c : SV_Target; float d : {semantic}; }}; O ps(Full f) {{ O o; o.c = 1; o.d = BODY; return o; }}"
    value = {"SV_Depth": "f.uv.x * 2 - 0.5", "SV_DepthGreaterEqual": "max(f.uv.x, f.position.z)", "SV_DepthLessEqual": "min(f.uv.x, f.position.z)"}[semantic]
    ctx = lab.ctx
    target, view = await lab.target(8, 1)
    depth, dsv = await lab.depth(8, 1)
    ctx.clear_depth_stencil_view(dsv, 1, 0.7)
    ctx.om_set_render_targets([view], dsv)
    await lab.full(source.replace("BODY", value))
    ctx.draw(3)
    u = (np.arange(8) + 0.5) / 8
    written = {"SV_Depth": np.clip(u * 2 - 0.5, 0, 1), "SV_DepthGreaterEqual": np.maximum(u, 0.5), "SV_DepthLessEqual": np.minimum(u, 0.5)}[semantic]
    np.testing.assert_allclose((await ctx.read_texture(depth)).reshape(8), np.where(written < 0.7, written, np.float32(0.7)), atol=1e-6)
    np.testing.assert_array_equal((await ctx.read_texture(target))[0, :, 0], written < 0.7)


async def test_coverage_in_and_out(lab: Lab) -> None:
    """SV_Coverage as input tells the samples of the primitive; as output it takes samples away."""
    source = """
    uint in_ps(Full f, uint c : SV_Coverage) : SV_Target { return c; }
    struct O { float4 c : SV_Target; uint m : SV_Coverage; };
    O ps(Full f) { O o; o.c = 1; o.m = (uint)f.position.x; return o; }
    """
    ctx = lab.ctx
    await lab.full(source, "in_ps")
    ctx.rs_set_viewports([wddm.Viewport(0, 0, 4, 1)])
    load = "Texture2DMS<uint> t : register(t0); RWStructuredBuffer<uint> o : register(u0); [numthreads(4, 4, 1)] void cs(uint3 i : SV_GroupThreadID) { o[i.x * 4 + i.y] = t.Load(i.xy * int2(1, 0), i.y); }"
    texture = await lab.device.create_texture2d(
        width=4, height=1, format=Format.R32_UINT, sample_count=4, bind_flags=BindFlag.RENDER_TARGET | BindFlag.SHADER_RESOURCE
    )
    view = await lab.device.create_render_target_view(texture)
    ctx.om_set_render_targets([view])
    ctx.draw(3)
    ctx.om_set_render_targets([])
    srv = await lab.device.create_shader_resource_view(texture)
    assert (await lab.compute(load, 16, srv, dtype=U32)).tolist() == [15] * 16
    floats = await lab.device.create_texture2d(
        width=4, height=1, format=Format.R32_FLOAT, sample_count=4, bind_flags=BindFlag.RENDER_TARGET | BindFlag.SHADER_RESOURCE
    )
    view = await lab.device.create_render_target_view(floats)
    ctx.clear_render_target_view(view, (0, 0, 0, 0))
    ctx.om_set_render_targets([view])
    await lab.ps(FULL + source)
    ctx.draw(3)
    assert (await ctx.read_texture(floats)).reshape(4).tolist() == [0, 0.25, 0.25, 0.5]


async def test_interpolation_modes(lab: Lab) -> None:
    source = """
    struct I { float4 position : SV_Position; float a : A; noperspective float b : B; nointerpolation float c : C; centroid float d : D; nointerpolation uint e : E; };
    I vs(uint id : SV_VertexID) { I i; float w[3] = { 1, 4, 2 }; float2 c = float2((id << 1) & 2, id & 2) * float2(2, -2) + float2(-1, 1);
        i.position = float4(c, 0.5, 1) * w[id]; i.a = i.b = i.d = id * 3; i.c = id + 1; i.e = 7 + id; return i; }
    float4 ps(I i) : SV_Target { return float4(i.a, i.b, i.c + 100 * i.e, i.d); }
    """
    target, _ = await lab.target(8, 8)
    await lab.vs(source)
    await lab.ps(source)
    lab.topology(wddm.PrimitiveTopology.TRIANGLELIST)
    lab.ctx.draw(3)
    image = await lab.ctx.read_texture(target)
    y, x = (np.mgrid[0:8, 0:8] + 0.5) / 8
    b = np.stack([1 - x / 2 - y / 2, x / 2, y / 2])
    value, inverse = np.array([0, 3, 6.0])[:, None, None], 1 / np.array([1, 4, 2.0])[:, None, None]
    linear, perspective = (b * value).sum(0), (b * value * inverse).sum(0) / (b * inverse).sum(0)
    np.testing.assert_allclose(image[..., 0], perspective, rtol=2e-5)
    np.testing.assert_allclose(image[..., 1], linear, rtol=2e-5)
    np.testing.assert_array_equal(image[..., 2], 701)
    np.testing.assert_allclose(image[..., 3], perspective, rtol=2e-5)


async def test_a_missing_pixel_shader_writes_depth_only(lab: Lab) -> None:
    ctx = lab.ctx
    target, view = await lab.target(4, 1)
    depth, dsv = await lab.depth(4, 1)
    ctx.om_set_render_targets([view], dsv)
    await lab.full("float4 ps(Full f) : SV_Target { return 1; }")
    ctx.ps_set_shader(None)
    ctx.draw(3)
    assert not (await ctx.read_texture(target)).any()
    assert (await ctx.read_texture(depth) == 0.5).all()


async def test_constants_and_resources_of_both_shaders_are_apart(lab: Lab) -> None:
    """All fourteen constant-buffer slots, and 128 resource slots at their ends."""
    names = "".join(f"cbuffer C{n} : register(b{n}) {{ float4 c{n}; }};\n" for n in range(14))
    total = " + ".join(f"c{n} * {2 ** (n % 7)}" for n in range(14))
    source = names + f"Texture2D<float> t : register(t127); SamplerState s : register(s15); float4 ps(Full f) : SV_Target {{ return {total} + t.Sample(s, f.uv); }}"
    target, _ = await lab.target(2, 2)
    await lab.full(source)
    buffers = [await lab.constants(n, n + 0.5, -n, 1) for n in range(14)]
    lab.ctx.ps_set_constant_buffers(0, buffers)
    lab.ctx.vs_set_constant_buffers(0, list(reversed(buffers)))
    _, view = await lab.texture(np.full((1, 1, 1), 1000, np.float32), Format.R32_FLOAT)
    lab.ctx.ps_set_shader_resources(127, [view])
    lab.ctx.ps_set_samplers(15, [await lab.sampler()])
    lab.ctx.draw(3)
    want = sum(np.array([n, n + 0.5, -n, 1]) * 2 ** (n % 7) for n in range(14)) + 1000
    np.testing.assert_array_equal(await lab.ctx.read_texture(target), np.broadcast_to(want, (2, 2, 4)))
