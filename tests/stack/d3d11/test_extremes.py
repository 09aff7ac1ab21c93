"""Extremes: coordinates and levels that are no numbers, compressed textures of odd sizes, many objects and commands at once."""

from __future__ import annotations

import numpy as np

import wddm
from tests.stack.d3d11 import blocks
from tests.stack.d3d11.lab import FLOAT4, Lab
from wddm import BindFlag, Filter, Format, ResourceMiscFlag, SrvDimension, Usage

U32 = np.uint32


async def test_sampling_anywhere_gives_a_texel_of_the_texture(lab: Lab) -> None:
    """NaN, infinite and huge coordinates, levels and gradients: a value between the texture's least and greatest, or its border."""
    rng = np.random.default_rng(5)
    levels = [rng.uniform(2, 3, (max(8 >> m, 1), max(8 >> m, 1), 1)).astype(np.float32) for m in range(4)]
    flat = await lab.device.create_texture2d(levels, format=Format.R32_FLOAT, width=8, height=8, mip_levels=4)
    cube = await lab.device.create_texture2d(
        [level for _ in range(6) for level in levels], format=Format.R32_FLOAT, width=8, height=8, mip_levels=4, array_size=6, misc_flags=ResourceMiscFlag.TEXTURECUBE
    )
    solid = await lab.device.create_texture3d([rng.uniform(2, 3, (4, 4, 4, 1)).astype(np.float32)], format=Format.R32_FLOAT)
    odd = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40, 0, -0.0, 0.5, 1e10, -1e10, 2**31, 2**24 + 1, 0.999999]
    rows = rng.choice(odd, (64, 4)).astype(np.float32)
    _, values = await lab.structured(rows, 16)
    views = [await lab.device.create_shader_resource_view(t) for t in (flat, cube, solid)]
    source = """
    Texture2D<float> t : register(t0); TextureCube<float> c : register(t1); Texture3D<float> v : register(t2); StructuredBuffer<float4> from : register(t3); SamplerState s : register(s0);
    RWStructuredBuffer<float> o : register(u0);
    [numthreads(64, 1, 1)] void cs(uint i : SV_GroupIndex) { float4 x = from[i];
        o[i] = t.SampleLevel(s, x.xy, x.z); o[64 + i] = t.SampleGrad(s, x.xy, x.zw, x.wx); o[128 + i] = c.SampleLevel(s, x.xyz, x.w); o[192 + i] = v.SampleLevel(s, x.xyz, x.w);
        o[256 + i] = c.SampleGrad(s, x.xyz, x.yzw, x.wxy); o[320 + i] = v.SampleGrad(s, x.wzy, x.xyz, x.yzw); o[384 + i] = t.GatherRed(s, x.zw).y; }
    """
    filters = [Filter.MIN_MAG_MIP_LINEAR, Filter.ANISOTROPIC, Filter.MIN_MAG_MIP_POINT]
    for number, mode in enumerate(wddm.TextureAddressMode):
        filter = filters[number % 3]
        sampler = await lab.sampler(filter=filter, address_u=mode, address_v=mode, address_w=mode, border_color=(2.5, 2.5, 2.5, 2.5), max_anisotropy=8)
        got = await lab.compute(source, 448, *views, values, samplers=[sampler])
        within = (got >= 2 - 1e-5) & (got <= 3 + 1e-5)
        assert within.all(), (filter.name, mode.name, np.flatnonzero(~within))


async def test_loads_anywhere_are_a_texel_or_0(lab: Lab) -> None:
    texture = await lab.device.create_texture2d(np.full((4, 4, 1), 5, np.float32), format=Format.R32_FLOAT, mip_levels=1)
    rng = np.random.default_rng(6)
    rows = rng.choice([0, 3, 4, -1, 2**31 - 1, -(2**31), 65536, 2**30], (64, 4)).astype(np.int32)
    _, values = await lab.structured(rows, 16)
    source = "Texture2D<float> t : register(t0); StructuredBuffer<int4> from : register(t1); RWStructuredBuffer<float> o : register(u0); [numthreads(64, 1, 1)] void cs(uint i : SV_GroupIndex) { o[i] = t.Load(from[i].xyz); o[64 + i] = t.Load(int3(from[i].xy, 0), int2(1, -1)); }"
    got = await lab.compute(source, 128, await lab.device.create_shader_resource_view(texture), values)
    inside = ((rows[:, :2] >= 0) & (rows[:, :2] < 4)).all(1)
    np.testing.assert_array_equal(got[:64], np.where(inside & (rows[:, 2] == 0), 5, 0))
    moved = (rows[:, :2].astype(np.int64) + [1, -1] + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(got[64:], np.where(((moved >= 0) & (moved < 4)).all(1), 5, 0))


async def test_compressed_textures_of_odd_levels_and_dimensions(lab: Lab) -> None:
    """Levels of 12, 6, 3 and 1 texels, cubes and volumes of BC1 blocks: each texel comes from its block."""
    rng = np.random.default_rng(15)

    def level(n: int) -> tuple[bytes, np.ndarray]:
        count = -(-n // 4)
        raw = [rng.integers(0, 256, 8, np.uint8).tobytes() for _ in range(count * count)]
        texels = np.array([blocks.bc1(b) for b in raw]).reshape(count, count, 4, 4, 4).transpose(0, 2, 1, 3, 4).reshape(count * 4, count * 4, 4)
        return b"".join(raw), texels[:n, :n]

    levels = [level(n) for n in (12, 6, 3, 1)]
    flat = await lab.device.create_texture2d([raw for raw, _ in levels], format=Format.BC1_UNORM, width=12, height=12, mip_levels=4)
    faces = [level(8) for _ in range(6)]
    cube = await lab.device.create_texture2d([raw for raw, _ in faces], format=Format.BC1_UNORM, width=8, height=8, array_size=6, misc_flags=ResourceMiscFlag.TEXTURECUBE)
    slices = [level(4) for _ in range(4)]
    solid = await lab.device.create_texture3d([b"".join(raw for raw, _ in slices)], format=Format.BC1_UNORM, width=4, height=4, depth=4)
    source = """
    Texture2D<float4> t : register(t0); Texture2DArray<float4> f : register(t1); Texture3D<float4> v : register(t2); TextureCube<float4> c : register(t3); SamplerState s : register(s0);
    RWStructuredBuffer<float4> o : register(u0);
    [numthreads(12, 12, 1)] void cs(uint3 i : SV_GroupThreadID) { uint k = i.y * 12 + i.x;
        for (int m = 0; m < 4; m++) o[m * 144 + k] = t.Load(int3(i.xy, m));
        o[576 + k] = f.Load(int4(i.xy % 8, i.x % 6, 0)); o[720 + k] = v.Load(int4(i.xy % 4, i.y % 4, 0)); o[864 + k] = t.SampleLevel(s, (i.xy + 0.5) / 12, 1);
        o[1008 + k] = c.SampleLevel(s, float3(0.1, 0.1, 1), 0); }
    """
    views = [await lab.device.create_shader_resource_view(flat)]
    views.append(await lab.device.create_shader_resource_view(cube, dimension=SrvDimension.TEXTURE2DARRAY))
    views += [await lab.device.create_shader_resource_view(t) for t in (solid, cube)]
    sampler = await lab.sampler(filter=Filter.MIN_MAG_MIP_POINT)
    got = (await lab.compute(source, 1152 * 4, *views, stride=16, samplers=[sampler])).reshape(8, 12, 12, 4)
    for m, (_, texels) in enumerate(levels):
        want = np.zeros((12, 12, 4))
        want[: texels.shape[0], : texels.shape[1]] = texels
        outside = np.ones((12, 12), bool)
        outside[: texels.shape[0], : texels.shape[1]] = False
        np.testing.assert_allclose(got[m][~outside], want[~outside], atol=2e-3, err_msg=str(m))
        assert not got[m][outside][:, :3].any()
    y, x = np.mgrid[0:12, 0:12]
    np.testing.assert_allclose(got[4], np.array([f for _, f in faces])[x % 6, y % 8, x % 8], atol=2e-3)
    np.testing.assert_allclose(got[5], np.array([f for _, f in slices])[y % 4, y % 4, x % 4], atol=2e-3)
    np.testing.assert_allclose(got[6], levels[1][1][y // 2, x // 2], atol=2e-3)
    np.testing.assert_allclose(got[7], np.broadcast_to(faces[4][1][3, 4], (12, 12, 4)), atol=2e-3)


async def test_three_hundred_draws_with_everything_changing(lab: Lab) -> None:
    """One batch in which constants, textures, blend and rasterizer states change with each draw; each pixel knows its draw."""
    device, ctx = lab.device, lab.ctx
    width, count = 100, 300
    target, _ = await lab.target(width, 3)
    await lab.full("cbuffer C : register(b0) { float4 c; }; Texture2D<float4> t : register(t0); float4 ps(Full f) : SV_Target { return c + t.Load(0); }")
    textures = [(await lab.texture(np.full((1, 1, 4), n * 1000, np.float32)))[1] for n in range(7)]
    add = wddm.RenderTargetBlend(True, wddm.Blend.ONE, wddm.Blend.ONE, wddm.BlendOp.ADD, wddm.Blend.ONE, wddm.Blend.ONE, wddm.BlendOp.ADD)
    blends = [None, await device.create_blend_state(render_target=add), await device.create_blend_state(render_target=wddm.RenderTargetBlend(render_target_write_mask=5))]
    await lab.rasterizer(scissor_enable=True)
    static = await lab.constants(0, 0, 0, 0)
    dynamic = await device.create_buffer(16, usage=Usage.DYNAMIC, bind_flags=BindFlag.CONSTANT_BUFFER, cpu_access_flags=wddm.CpuAccessFlag.WRITE)
    want = np.zeros((3, width, 4))
    for n in range(count):
        value = np.full(4, n + 1, np.float32)
        if n % 2:
            ctx.update_subresource(static, value)
        else:
            ctx.write(dynamic, value)
        ctx.ps_set_constant_buffers(0, [static if n % 2 else dynamic])
        ctx.ps_set_shader_resources(0, [textures[n % 7]])
        ctx.om_set_blend_state(blends[n % 3])
        x, y = n * 37 % width, n % 3
        ctx.rs_set_scissor_rects([(x, 0, x + 1, y + 1)])
        ctx.draw(3)
        color = n + 1 + n % 7 * 1000
        if n % 3 == 0:
            want[: y + 1, x] = color
        elif n % 3 == 1:
            want[: y + 1, x] += color
        else:
            want[: y + 1, x, 0::2] = color
    np.testing.assert_array_equal(await ctx.read_texture(target), want)


async def test_objects_come_and_go_in_use(lab: Lab) -> None:
    """Textures are made, drawn to, read from and released a hundred times over; the memory of one is another's next."""
    device, ctx = lab.device, lab.ctx
    await lab.full("Texture2D<float4> t : register(t0); float4 ps(Full f) : SV_Target { return t.Load(int3(f.position.xy, 0)) * 2 + 1; }")
    rtv_of = device.create_render_target_view
    previous, view = await lab.texture(np.zeros((4, 4, 4), np.float32))
    value = 0.0
    for n in range(60):
        size = 4 + n % 5
        texture = await device.create_texture2d(width=size, height=size, format=FLOAT4, bind_flags=BindFlag.RENDER_TARGET | BindFlag.SHADER_RESOURCE)
        rtv = await rtv_of(texture)
        ctx.om_set_render_targets([rtv])
        ctx.ps_set_shader_resources(0, [view])
        ctx.rs_set_viewports([wddm.Viewport(0, 0, size, size)])
        ctx.draw(3)
        ctx.om_set_render_targets([None])
        device.release(previous, view, rtv)
        previous, view = texture, await device.create_shader_resource_view(texture)
        value = (value * 2 + 1) % 2**20 if value < 2**20 else value
        if value >= 2**19:
            ctx.update_subresource(texture, np.zeros((size, size, 4), np.float32))
            value = 0.0
    image = await ctx.read_texture(previous)
    assert image[0, 0].tolist() == [value] * 4
