"""Textures: dimensions, mips, arrays and view subsets; filters, address modes, borders, LOD rules, gather, comparison, resinfo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wddm
from tests.stack.d3d11.lab import FULL, Lab
from wddm import BindFlag, ComparisonFunc, Filter, Format, ResourceMiscFlag, SrvDimension, TextureAddressMode

R32 = Format.R32_FLOAT
OUT = "RWStructuredBuffer<float4> o : register(u0);\n"
ONE = OUT + "SamplerState s : register(s0);\n"


def subresources(dimension: int, size: tuple[int, ...], mips: int, slices: int) -> list[Any]:
    """One float array for each subresource; a texel tells slice, mip, z, y and x: SSMZYX in decimal digits."""
    out = []
    for slice_ in range(slices):
        for mip in range(mips):
            extent = [max(n >> mip, 1) for n in reversed(size)]
            grid = np.indices(extent)
            value = slice_ * 10000 + mip * 1000 + sum(g * 10**n for n, g in enumerate(reversed(grid)))
            out.append(np.asarray(value, np.float32)[..., None])
    assert dimension == len(size)
    return out


async def test_every_dimension_is_loaded_and_measured(lab: Lab) -> None:
    """Load with mip, slice and offset; GetDimensions of the view's most detailed level and of another."""
    device = lab.device
    one = await device.create_texture1d(subresources(1, (8,), 3, 2), format=R32, width=8, mip_levels=3, array_size=2)
    two = await device.create_texture2d(subresources(2, (8, 6), 3, 3), format=R32, width=8, height=6, mip_levels=3, array_size=3)
    three = await device.create_texture3d(subresources(3, (8, 6, 5), 3, 1), format=R32, width=8, height=6, depth=5, mip_levels=3)
    # The offset takes the 1D array's load out of its level: 0.
    cases = [
        (one, SrvDimension.TEXTURE1D, "Texture1D", "w, n", "int2(3, 1), int(-1)", 1002, (8, 3)),
        (one, SrvDimension.TEXTURE1DARRAY, "Texture1DArray", "w, h, n", "int3(3, 1, 2), int(1)", 0, (8, 2, 3)),
        (two, SrvDimension.TEXTURE2D, "Texture2D", "w, h, n", "int3(2, 3, 0), int2(1, -2)", 13, (8, 6, 3)),
        (two, SrvDimension.TEXTURE2DARRAY, "Texture2DArray", "w, h, d, n", "int4(1, 0, 2, 1)", 21001, (8, 6, 3, 3)),
        (three, SrvDimension.TEXTURE3D, "Texture3D", "w, h, d, n", "int4(1, 2, 1, 1), int3(2, 0, -1)", 1023, (8, 6, 5, 3)),
    ]
    for texture, dimension, kind, names, where, value, sizes in cases:
        source = f"""{OUT} {kind}<float> t : register(t0);
        [numthreads(1, 1, 1)] void cs() {{ uint w = 0, h = 0, d = 0, n = 0; t.GetDimensions(0, {names}); o[0] = float4({names}{", 0" * (4 - len(sizes))});
            t.GetDimensions(2, {names}); o[1] = float4({names}{", 0" * (4 - len(sizes))}); o[2] = t.Load({where}); }}"""
        view = await device.create_shader_resource_view(texture, dimension=dimension)
        got = (await lab.compute(source, 12, view, stride=16)).reshape(3, 4)
        assert got[0, : len(sizes)].tolist() == list(sizes), kind
        array = "ARRAY" in dimension.name
        spatial = len(sizes) - 1 - array
        assert got[1, : len(sizes)].tolist() == [max(n >> 2, 1) if at < spatial else n for at, n in enumerate(sizes)], kind
        assert got[2, 0] == value, kind


async def test_loads_outside_are_0(lab: Lab) -> None:
    source = OUT + """Texture2DArray<float> t : register(t0);
    [numthreads(1, 1, 1)] void cs() { int4 at[8] = { int4(-1, 0, 0, 0), int4(0, 4, 0, 0), int4(4, 0, 0, 0), int4(0, 0, 3, 0), int4(0, 0, -1, 0), int4(0, 0, 0, 2), int4(0, 0, 0, -1), int4(2, 0, 0, 1) };
        for (int i = 0; i < 8; i++) o[i] = t.Load(at[i]); o[8] = t.Load(int4(3, 3, 2, 0)); o[9] = t[uint3(1, 2, 1)]; }"""
    texture = await lab.device.create_texture2d([a + 7 for a in subresources(2, (4, 4), 2, 3)], format=R32, width=4, height=4, mip_levels=2, array_size=3)
    got = (await lab.compute(source, 40, await lab.device.create_shader_resource_view(texture), stride=16)).reshape(10, 4)
    # Coordinates, slices and levels outside give 0 in every channel that the format has; one that it lacks keeps its default.
    assert not got[:8, 0].any()
    assert got[8:, 0].tolist() == [20040, 10028]


async def test_view_subsets(lab: Lab) -> None:
    """A view's first mip and slice are its 0; what lies outside the view is outside."""
    device = lab.device
    texture = await device.create_texture2d(subresources(2, (16, 16), 5, 4), format=R32, width=16, height=16, mip_levels=5, array_size=4)
    source = ONE + """Texture2DArray<float> t : register(t0);
    [numthreads(1, 1, 1)] void cs() { uint w, h, d, n; t.GetDimensions(0, w, h, d, n); o[0] = float4(w, h, d, n);
        o[1] = float4(t.Load(int4(1, 0, 0, 0)), t.Load(int4(0, 1, 1, 1)), t.Load(int4(0, 0, 0, 2)), t.Load(int4(0, 0, 2, 0)));
        o[2] = float4(t.SampleLevel(s, float3(0.01, 0.01, 7), 9), t.SampleLevel(s, float3(0.01, 0.01, -3), 0), t.SampleLevel(s, float3(0.01, 0.01, 0.6), -5), 0); }"""
    view = await device.create_shader_resource_view(texture, most_detailed_mip=1, mip_levels=2, first_array_slice=1, array_size=2)
    sampler = await lab.sampler(filter=Filter.MIN_MAG_MIP_POINT)
    got = (await lab.compute(source, 12, view, stride=16, samplers=[sampler])).reshape(3, 4)
    assert got[0].tolist() == [8, 8, 2, 2]
    assert got[1].tolist() == [11001, 22010, 0, 0]
    # Levels and slices of a sample are clamped to the view.
    assert got[2, :3].tolist() == [22000, 11000, 21000]


async def test_cubes(lab: Lab) -> None:
    """Each axis meets its face in the face's own orientation; array cubes, face views, and edges that filter across faces."""
    device = lab.device
    faces = [(n + np.arange(4)[:, None, None] * 0.1 + np.arange(4)[None, :, None] * 0.01).astype(np.float32) for n in range(12)]
    texture = await device.create_texture2d(faces, format=R32, width=4, height=4, array_size=12, misc_flags=ResourceMiscFlag.TEXTURECUBE)
    directions = [(1, 0.3, 0.6), (-1, 0.3, 0.6), (0.3, 1, 0.6), (0.3, -1, 0.6), (0.3, 0.6, 1), (0.3, 0.6, -1)]
    inside = ", ".join(f"float3{d}" for d in directions)
    source = ONE + f"""TextureCube<float> t : register(t0); TextureCubeArray<float> a : register(t1); Texture2DArray<float> f : register(t2);
    [numthreads(1, 1, 1)] void cs() {{ float3 d[6] = {{ {inside} }}; uint w, h, n, m;
        for (int i = 0; i < 6; i++) o[i] = float4(t.SampleLevel(s, d[i] * 2, 0), a.SampleLevel(s, float4(d[i], 1), 0), a.SampleLevel(s, float4(d[i], 9), 0), f.Load(int4(0, 0, i, 0)));
        a.GetDimensions(0, w, h, n, m); o[6] = float4(w, h, n, m); }}"""
    cube = await device.create_shader_resource_view(texture, dimension=SrvDimension.TEXTURECUBE)
    array = await device.create_shader_resource_view(texture)
    flat = await device.create_shader_resource_view(texture, dimension=SrvDimension.TEXTURE2DARRAY, first_array_slice=3, array_size=6)
    sampler = await lab.sampler(filter=Filter.MIN_MAG_MIP_POINT)
    got = (await lab.compute(source, 28, cube, array, flat, stride=16, samplers=[sampler])).reshape(7, 4)
    want = []
    for face, (x, y, z) in enumerate(directions):
        s, t = {0: (-z, -y), 1: (z, -y), 2: (x, z), 3: (x, -z), 4: (x, -y), 5: (-x, -y)}[face]
        u, v = int((s + 1) / 2 * 4), int((t + 1) / 2 * 4)
        want.append(face + v * 0.1 + u * 0.01)
    np.testing.assert_allclose(got[:6, 0], want, rtol=1e-5)
    np.testing.assert_allclose(got[:6, 1], np.array(want) + 6, rtol=1e-5)
    np.testing.assert_allclose(got[:6, 2], np.array(want) + 6, rtol=1e-5)
    np.testing.assert_allclose(got[:6, 3], np.arange(6) + 3, rtol=1e-5)
    assert got[6].tolist() == [4, 4, 2, 1]


def wrap(i: int, n: int, mode: TextureAddressMode) -> int | None:
    """The texel that an address means; None: the border."""
    if mode is TextureAddressMode.WRAP:
        return i % n
    if mode is TextureAddressMode.MIRROR:
        return i % n if (i // n) % 2 == 0 else n - 1 - i % n
    if mode is TextureAddressMode.CLAMP:
        return min(max(i, 0), n - 1)
    if mode is TextureAddressMode.BORDER:
        return i if 0 <= i < n else None
    return min(i if i >= 0 else -1 - i, n - 1)


def linear(row: Any, u: float, mode: TextureAddressMode, border: float) -> float:
    """One-dimensional linear filtering."""
    at = u * len(row) - 0.5
    base = int(np.floor(at))
    w = at - base
    pair = [border if (k := wrap(base + n, len(row), mode)) is None else float(row[k]) for n in (0, 1)]
    return pair[0] * (1 - w) + pair[1] * w


async def test_address_modes_and_borders(lab: Lab) -> None:
    row = np.array([10, 20, 40, 80, 70], np.float32)
    texture = await lab.device.create_texture1d(row[:, None], format=R32)
    view = await lab.device.create_shader_resource_view(texture)
    # Off the texel boundaries, from two repeats on the left to two on the right.
    where = np.arange(-52, 78) / 26 + 0.003
    _, positions = await lab.typed(where.astype(np.float32), R32)
    source = ONE + "SamplerState l : register(s1); Texture1D<float> t : register(t0); Buffer<float> b : register(t1); [numthreads(130, 1, 1)] void cs(uint i : SV_GroupIndex) { o[i] = float4(t.SampleLevel(s, b[i], 0), t.SampleLevel(l, b[i], 0), 0, 0); }"
    for mode in TextureAddressMode:
        samplers = [await lab.sampler(filter=f, address_u=mode, border_color=(5, 6, 7, 8)) for f in (Filter.MIN_MAG_MIP_POINT, Filter.MIN_MAG_LINEAR_MIP_POINT)]
        got = (await lab.compute(source, 520, view, positions, stride=16, samplers=samplers)).reshape(130, 4)
        nearest = [5.0 if (k := wrap(int(np.floor(u * 5)), 5, mode)) is None else float(row[k]) for u in where]
        np.testing.assert_array_equal(got[:, 0], nearest, err_msg=mode.name)
        np.testing.assert_allclose(got[:, 1], [linear(row, u, mode, 5) for u in where], atol=75 / 256 + 1e-3, err_msg=mode.name)


async def test_a_border_is_stored_as_given_and_reaches_every_channel(lab: Lab) -> None:
    source = ONE + "Texture2D<float4> t : register(t0); Texture2D<float4> r : register(t1); [numthreads(1, 1, 1)] void cs() { o[0] = t.SampleLevel(s, 2, 0); o[1] = r.SampleLevel(s, 2, 0); }"
    _, rgba = await lab.texture(np.full((2, 2, 4), 9, np.float32))
    _, red = await lab.texture(np.full((2, 2, 1), 9, np.float32), R32)
    sampler = await lab.sampler(filter=Filter.MIN_MAG_MIP_POINT, address_u=4, address_v=4, border_color=(0.25, 0.5, 0.75, 0.125))
    got = (await lab.compute(source, 8, rgba, red, stride=16, samplers=[sampler])).reshape(2, 4)
    assert got[0].tolist() == [0.25, 0.5, 0.75, 0.125]
    assert got[1].tolist() == [0.25, 0, 0, 1]


async def test_bilinear_and_trilinear_in_two_and_three_dimensions(lab: Lab) -> None:
    rng = np.random.default_rng(4)
    flat = [rng.uniform(0, 1, (max(8 >> m, 1), max(8 >> m, 1), 1)).astype(np.float32) for m in range(3)]
    solid = [rng.uniform(0, 1, (max(4 >> m, 1),) * 3 + (1,)).astype(np.float32) for m in range(2)]
    where = rng.uniform(-0.1, 1.1, (32, 4)).astype(np.float32)
    where[:, 3] = rng.uniform(-0.5, 2.6, 32)
    t2 = await lab.device.create_texture2d(flat, format=R32, width=8, height=8, mip_levels=3)
    t3 = await lab.device.create_texture3d(solid, format=R32, width=4, height=4, depth=4, mip_levels=2)
    _, positions = await lab.structured(where, 16)
    source = ONE + "Texture2D<float> a : register(t0); Texture3D<float> b : register(t1); StructuredBuffer<float4> w : register(t2); [numthreads(32, 1, 1)] void cs(uint i : SV_GroupIndex) { o[i] = float4(a.SampleLevel(s, w[i].xy, w[i].w), b.SampleLevel(s, w[i].xyz, w[i].w), 0, 0); }"
    views = [await lab.device.create_shader_resource_view(t) for t in (t2, t3)]

    def filtered(levels: list[Any], at: Any, lod: float, smooth: bool, trilinear: bool) -> float:
        def level(image: Any) -> float:
            value = image[..., 0]
            for u in reversed(at):  # z, then y, then x
                n = value.shape[0]
                if not smooth:
                    value = value[min(max(int(np.floor(u * n)), 0), n - 1)]
                    continue
                p = u * n - 0.5
                base = int(np.floor(p))
                low, high = (value[min(max(base + k, 0), n - 1)] for k in (0, 1))
                value = low * (1 - (p - base)) + high * (p - base)
            return float(value)

        lod = min(max(lod, 0), len(levels) - 1)
        if not trilinear:
            return level(levels[int(np.floor(lod + 0.5))])
        base = int(np.floor(lod))
        return level(levels[base]) * (1 - (lod - base)) + level(levels[min(base + 1, len(levels) - 1)]) * (lod - base)

    for mode, smooth, trilinear in (
        (Filter.MIN_MAG_MIP_POINT, False, False), (Filter.MIN_MAG_POINT_MIP_LINEAR, False, True),
        (Filter.MIN_MAG_LINEAR_MIP_POINT, True, False), (Filter.MIN_MAG_MIP_LINEAR, True, True),
    ):  # fmt: skip
        got = (await lab.compute(source, 128, *views, positions, stride=16, samplers=[await lab.sampler(filter=mode)])).reshape(32, 4)
        for column, levels, axes in ((0, flat, 2), (1, solid, 3)):
            want = [filtered(levels, w[:axes].astype(float), float(w[3]), smooth, trilinear) for w in where]
            np.testing.assert_allclose(got[:, column], want, atol=1.5 / 256 * axes if smooth or trilinear else 0, err_msg=f"{mode.name} {column}")


async def test_minification_and_magnification_choose_their_filter(lab: Lab) -> None:
    """LOD ≤ 0 magnifies. A pattern of stripes tells linear (their mean) from point (one of them)."""
    stripes = np.tile(np.array([0, 1], np.float32), 8)[None, :, None].repeat(16, 0)
    halves = [stripes, np.full((8, 8, 1), 7, np.float32)]
    texture = await lab.device.create_texture2d(halves, format=R32, width=16, height=16, mip_levels=2)
    view = await lab.device.create_shader_resource_view(texture)
    source = ONE + "Texture2D<float> t : register(t0); [numthreads(1, 1, 1)] void cs() { o[0] = float4(t.SampleGrad(s, 0.5, 1 / 32.0, 1 / 32.0), t.SampleGrad(s, 0.5, float2(1.4 / 16, 0), 0), t.SampleGrad(s, 0.5, 0, float2(0, 2 / 16.0)), t.SampleLevel(s, 0.5, 0.3)); }"
    linear_min, linear_mag = (Filter.MIN_LINEAR_MAG_MIP_POINT, Filter.MIN_POINT_MAG_LINEAR_MIP_POINT)
    got = await lab.compute(source, 4, view, stride=16, samplers=[await lab.sampler(filter=linear_mag)])
    assert got[0] == 0.5
    assert got[1] in (0, 1)
    assert got[2] == 7
    assert got[3] in (0, 1)
    got = await lab.compute(source, 4, view, stride=16, samplers=[await lab.sampler(filter=linear_min)])
    assert got[0] in (0, 1)
    assert got[1:].tolist() == [0.5, 7, 0.5]


async def test_lod_functions_bias_and_clamps(lab: Lab) -> None:
    levels = [np.full((max(32 >> m, 1),) * 2 + (1,), m, np.float32) for m in range(6)]
    device, ctx = lab.device, lab.ctx
    texture = await device.create_texture2d(levels, format=R32, width=32, height=32, mip_levels=6)
    view = await device.create_shader_resource_view(texture)
    source = """
    Texture2D<float> t : register(t0); SamplerState s : register(s0); SamplerState biased : register(s1); SamplerState held : register(s2);
    cbuffer C : register(b0) { float scale; };
    float4 ps(Full f) : SV_Target { float2 uv = f.uv * scale;
        return float4(t.Sample(s, uv), t.SampleBias(s, uv, 0.75), t.Sample(biased, uv), t.Sample(held, uv)); }
    float4 lod_ps(Full f) : SV_Target { float2 uv = f.uv * scale;
        return float4(t.CalculateLevelOfDetail(s, uv), t.CalculateLevelOfDetailUnclamped(s, uv), t.CalculateLevelOfDetail(biased, uv), t.CalculateLevelOfDetail(held, uv)); }
    """
    target, _ = await lab.target(8, 8)
    await lab.full(source)
    ctx.ps_set_shader_resources(0, [view])
    ctx.ps_set_samplers(0, [await lab.sampler(address_u=1, address_v=1), await lab.sampler(address_u=1, address_v=1, mip_lod_bias=-1.5), await lab.sampler(address_u=1, address_v=1, min_lod=1.25, max_lod=3.5)])
    for scale in (0.125, 0.3, 1.0, 3.0, 20.0):
        ctx.ps_set_constant_buffers(0, [await lab.constants(scale)])
        lod = np.log2(scale * 32 / 8)
        limits = [(lod, 0, 5), (lod + 0.75, 0, 5), (lod - 1.5, 0, 5), (lod, 1.25, 3.5)]
        await lab.ps(FULL + source)
        ctx.draw(3)
        image = await ctx.read_texture(target)
        np.testing.assert_allclose(image[3, 3], [np.clip(*v) for v in limits], atol=0.02, err_msg=str(scale))
        await lab.ps(FULL + source, "lod_ps")
        ctx.draw(3)
        image = await ctx.read_texture(target)
        np.testing.assert_allclose(image[3, 3], [np.clip(lod, 0, 5), lod, np.clip(lod - 1.5, 0, 5), np.clip(lod, 1.25, 3.5)], atol=0.02, err_msg=str(scale))


async def test_a_resource_min_lod_holds_the_detail_back(lab: Lab) -> None:
    levels = [np.full((max(8 >> m, 1),) * 2 + (1,), m, np.float32) for m in range(4)]
    texture = await lab.device.create_texture2d(levels, format=R32, width=8, height=8, mip_levels=4, misc_flags=ResourceMiscFlag.RESOURCE_CLAMP)
    view = await lab.device.create_shader_resource_view(texture)
    source = ONE + "Texture2D<float> t : register(t0); [numthreads(1, 1, 1)] void cs() { o[0] = float4(t.SampleLevel(s, 0.5, 0), t.SampleLevel(s, 0.5, 2.5), 0, 0); }"
    sampler = await lab.sampler()
    for held, want in ((1.5, [1.5, 2.5]), (0, [0, 2.5])):
        lab.ctx.set_resource_min_lod(texture, held)
        got = await lab.compute(source, 4, view, stride=16, samplers=[sampler])
        np.testing.assert_allclose(got[:2], want, atol=0.01)


async def test_anisotropic_filtering(lab: Lab) -> None:
    """A footprint long in u: the level comes from its short side, and the samples spread along the long one."""
    rng = np.random.default_rng(6)
    columns = rng.uniform(0, 1, 64).astype(np.float32)
    levels = [np.broadcast_to(columns.reshape(-1, 1 << m).mean(1)[None, :, None], (64 >> m, 64 >> m, 1)) + np.float32(10 * m) for m in range(5)]
    texture = await lab.device.create_texture2d([np.ascontiguousarray(v) for v in levels], format=R32, width=64, height=64, mip_levels=5)
    view = await lab.device.create_shader_resource_view(texture)
    source = ONE + "Texture2D<float> t : register(t0); [numthreads(1, 1, 1)] void cs() { o[0] = float4(t.SampleGrad(s, 0.5, float2(8 / 64.0, 0), float2(0, 1 / 64.0)), t.SampleGrad(s, 0.5, float2(8 / 64.0, 0), float2(0, 4 / 64.0)), t.SampleGrad(s, 0.5, float2(2 / 64.0, 0), float2(0, 2 / 64.0)), 0); }"
    got = await lab.compute(source, 4, view, stride=16, samplers=[await lab.sampler(filter=Filter.ANISOTROPIC, max_anisotropy=16)])
    # Eight to one at level 0: the mean of the eight columns round the middle, by whatever weights.
    assert abs(got[0] - columns[28:36].mean()) < 0.12
    assert got[0] < 2
    assert 19.9 < got[1] < 21.1
    assert 9.9 < got[2] < 11.1
    got = await lab.compute(source, 4, view, stride=16, samplers=[await lab.sampler(filter=Filter.ANISOTROPIC, max_anisotropy=2)])
    assert 19.9 < got[0] < 21.1  # held to two to one: the level of 8 / 2


async def test_gather(lab: Lab) -> None:
    """Four texels counter-clockwise from the lower left, any channel, offsets constant and variable, arrays, comparison."""
    rng = np.random.default_rng(12)
    image = rng.uniform(0, 1, (2, 4, 5, 4)).astype(np.float32)
    texture = await lab.device.create_texture2d(list(image), format=Format.R32G32B32A32_FLOAT, width=5, height=4, array_size=2)
    array = await lab.device.create_shader_resource_view(texture)
    flat = await lab.device.create_shader_resource_view(texture, dimension=SrvDimension.TEXTURE2D)
    source = ONE + """SamplerComparisonState c : register(s1); Texture2D<float4> t : register(t0); Texture2DArray<float4> a : register(t1); cbuffer C : register(b0) { int2 off; };
    [numthreads(1, 1, 1)] void cs() { float2 p = float2(0.5, 0.6);
        o[0] = t.Gather(s, p); o[1] = t.GatherGreen(s, p); o[2] = t.GatherBlue(s, p, int2(1, -1)); o[3] = t.GatherAlpha(s, p, off);
        o[4] = a.GatherRed(s, float3(p, 1)); o[5] = t.GatherCmp(c, p, 0.5); o[6] = t.GatherRed(s, float2(-0.3, 0.6));
        o[7] = t.GatherGreen(s, p, int2(-1, 0), int2(1, 0), int2(0, -1), int2(0, 1)); }"""
    samplers = [await lab.sampler(filter=Filter.MIN_MAG_MIP_POINT), await lab.sampler(filter=Filter.COMPARISON_MIN_MAG_MIP_POINT, comparison_func=ComparisonFunc.LESS)]
    constants = await lab.constants(np.array([-2, 1], np.int32))
    got = (await lab.compute(source, 32, flat, array, stride=16, samplers=samplers, constants=constants)).reshape(8, 4)

    def four(x: int, y: int, channel: int, slice_: int = 0) -> list[float]:
        return [image[slice_, np.clip(y + dy, 0, 3), np.clip(x + dx, 0, 4), channel] for dx, dy in ((0, 1), (1, 1), (1, 0), (0, 0))]

    x, y = 2, 1  # 0.5 * 5 - 0.5 = 2, 0.6 * 4 - 0.5 = 1.9
    assert got[0].tolist() == four(x, y, 0)
    assert got[1].tolist() == four(x, y, 1)
    assert got[2].tolist() == four(x + 1, y - 1, 2)
    assert got[3].tolist() == four(x - 2, y + 1, 3)
    assert got[4].tolist() == four(x, y, 0, 1)
    assert got[5].tolist() == [float(v > 0.5) for v in four(x, y, 0)]
    assert got[6].tolist() == four(-2, y, 0)
    # Four offsets: each component comes from the footprint at its own offset.
    assert got[7].tolist() == [four(x + dx, y + dy, 1)[n] for n, (dx, dy) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1)))]


async def test_comparison_functions(lab: Lab) -> None:
    """The reference is on the left of the comparison; the default function NEVER gives 0."""
    texture = await lab.device.create_texture1d(np.array([[0.25], [0.5], [0.75]], np.float32), format=R32)
    view = await lab.device.create_shader_resource_view(texture)
    source = OUT + "SamplerComparisonState s : register(s0); Texture1D<float> t : register(t0); [numthreads(3, 1, 1)] void cs(uint i : SV_GroupIndex) { o[i] = t.SampleCmpLevelZero(s, (i + 0.5) / 3, 0.5); }"
    rules = {
        ComparisonFunc.NEVER: [0, 0, 0], ComparisonFunc.LESS: [0, 0, 1], ComparisonFunc.EQUAL: [0, 1, 0], ComparisonFunc.LESS_EQUAL: [0, 1, 1],
        ComparisonFunc.GREATER: [1, 0, 0], ComparisonFunc.NOT_EQUAL: [1, 0, 1], ComparisonFunc.GREATER_EQUAL: [1, 1, 0], ComparisonFunc.ALWAYS: [1, 1, 1],
    }  # fmt: skip
    for function, want in rules.items():
        sampler = await lab.sampler(filter=Filter.COMPARISON_MIN_MAG_MIP_POINT, comparison_func=function)
        got = await lab.compute(source, 12, view, stride=16, samplers=[sampler])
        assert got.reshape(3, 4)[:, 0].tolist() == want, function.name


async def test_offsets_and_projections_of_samples(lab: Lab) -> None:
    row = np.arange(8, dtype=np.float32)
    texture = await lab.device.create_texture2d(np.tile(row[None, :, None], (8, 1, 1)) + row[:, None, None] * 10, format=R32)
    view = await lab.device.create_shader_resource_view(texture)
    source = ONE + "Texture2D<float> t : register(t0); [numthreads(1, 1, 1)] void cs() { float2 p = 4.5 / 8.0; o[0] = float4(t.SampleLevel(s, p, 0, int2(3, -4)), t.SampleLevel(s, p, 0, int2(-8, 7)), t.SampleGrad(s, p, 0, 0, int2(1, 1)), t.SampleLevel(s, p, 0)); }"
    sampler = await lab.sampler(filter=Filter.MIN_MAG_MIP_POINT)
    got = await lab.compute(source, 4, view, stride=16, samplers=[sampler])
    assert got.tolist() == [7, 70, 55, 44]


async def test_unbound_resources_read_0(lab: Lab) -> None:
    source = ONE + "Texture2D<float4> t : register(t5); Buffer<float4> b : register(t6); ByteAddressBuffer r : register(t7); cbuffer C : register(b3) { float4 c; }; [numthreads(1, 1, 1)] void cs() { uint w, h; t.GetDimensions(w, h); o[0] = t.Load(0) + t.SampleLevel(s, 0.5, 0); o[1] = b[0]; o[2] = asfloat(r.Load4(0)); o[3] = float4(w, h, 0, 0) + c; }"
    got = await lab.compute(source, 16, stride=16)
    assert not got.any()


async def test_textures_that_shaders_write(lab: Lab) -> None:
    """Views for writing of every dimension, of one mip and some slices; writes outside are dropped."""
    device, ctx = lab.device, lab.ctx
    bind = BindFlag.UNORDERED_ACCESS
    one = await device.create_texture1d(format=R32, width=8, mip_levels=2, array_size=3, bind_flags=bind)
    two = await device.create_texture2d(format=R32, width=4, height=4, mip_levels=2, array_size=3, bind_flags=bind)
    three = await device.create_texture3d(format=R32, width=4, height=4, depth=4, mip_levels=2, bind_flags=bind)
    source = """
    RWTexture1DArray<float> a : register(u0); RWTexture2DArray<float> b : register(u1); RWTexture3D<float> c : register(u2); RWTexture1D<float> d : register(u3);
    [numthreads(4, 4, 4)] void cs(uint3 i : SV_GroupThreadID) { uint w, h, n; b.GetDimensions(w, h, n);
        a[i.xz] = i.x + 1 + 10 * i.z; b[i] = i.x + 10 * i.y + 100 * i.z + 1 + 1000 * n; c[i] = i.x + 10 * i.y + 100 * i.z + 1; d[i.x + i.y * 4] = i.x + i.y * 4 + 1; }
    """
    views = [
        await device.create_unordered_access_view(one, mip_slice=1, first_array_slice=1, array_size=2),
        await device.create_unordered_access_view(two, mip_slice=1, first_array_slice=1, array_size=1, dimension=wddm.UavDimension.TEXTURE2DARRAY),
        await device.create_unordered_access_view(three, first_w_slice=1, w_size=2),
        await device.create_unordered_access_view(one, dimension=wddm.UavDimension.TEXTURE1D),
    ]
    await lab.cs(source)
    ctx.cs_set_unordered_access_views(0, views)
    ctx.dispatch(1)
    rows = [(await ctx.read_texture(one, n))[:, 0].tolist() for n in range(6)]
    assert rows == [[1, 2, 3, 4, 5, 6, 7, 8], [0] * 4, [0] * 8, [1, 2, 3, 4], [0] * 8, [11, 12, 13, 14]]
    images = [await ctx.read_texture(two, n) for n in range(6)]
    assert images[3][..., 0].tolist() == [[1001, 1002], [1011, 1012]]
    assert not any(images[n].any() for n in (0, 1, 2, 4, 5))
    solid = (await ctx.read_texture(three))[..., 0]
    z, y, x = np.mgrid[0:4, 0:4, 0:4]
    np.testing.assert_array_equal(solid, np.where((z == 1) | (z == 2), x + 10 * y + 100 * (z - 1) + 1, 0))
    assert not (await ctx.read_texture(three, 1)).any()


@pytest.mark.parametrize("dimension", [1, 2, 3])
async def test_generated_mips(lab: Lab, dimension: int) -> None:
    """Each level is the box mean of the one above; a view of some levels leaves the others."""
    rng = np.random.default_rng(dimension)
    size = (8, 4, 2)[:dimension]
    top = rng.uniform(0, 1, (*reversed(size), 4)).astype(np.float32)
    make = (lab.device.create_texture1d, lab.device.create_texture2d, lab.device.create_texture3d)[dimension - 1]
    named = dict(zip(("width", "height", "depth"), size, strict=False))
    texture = await make(
        format=Format.R32G32B32A32_FLOAT, mip_levels=4, **named, misc_flags=ResourceMiscFlag.GENERATE_MIPS,
        bind_flags=BindFlag.SHADER_RESOURCE | BindFlag.RENDER_TARGET,
    )  # fmt: skip
    lab.ctx.update_subresource(texture, top)
    lab.ctx.generate_mips(await lab.device.create_shader_resource_view(texture))
    level = top.astype(np.float64)
    for mip in range(1, 4):
        for axis in range(dimension):
            if level.shape[axis] > 1:
                level = (np.take(level, range(0, level.shape[axis], 2), axis) + np.take(level, range(1, level.shape[axis], 2), axis)) / 2
        np.testing.assert_allclose(await lab.ctx.read_texture(texture, mip), level, rtol=1e-4, err_msg=str(mip))


async def test_generated_mips_of_srgb_arrays(lab: Lab) -> None:
    texture = await lab.device.create_texture2d(
        width=4, height=4, mip_levels=3, array_size=2, format=Format.R8G8B8A8_UNORM_SRGB, misc_flags=ResourceMiscFlag.GENERATE_MIPS,
        bind_flags=BindFlag.SHADER_RESOURCE | BindFlag.RENDER_TARGET,
    )  # fmt: skip
    board = np.zeros((4, 4, 4), np.uint8)
    board[::2, ::2] = board[1::2, 1::2] = 255
    lab.ctx.update_subresource(texture, board, 3)
    lab.ctx.generate_mips(await lab.device.create_shader_resource_view(texture))
    for mip in (4, 5):
        image = (await lab.ctx.read_texture(texture, mip)).astype(int)
        assert abs(image - [188, 188, 188, 128]).max() <= 1
    assert not (await lab.ctx.read_texture(texture, 1)).any()


async def test_comparison_in_a_pixel_shader(lab: Lab) -> None:
    """SampleCmp takes its level from derivatives; bilinear weights; arrays and cubes."""
    levels = [np.full((8, 8, 1), 0.25, np.float32), np.full((4, 4, 1), 0.75, np.float32)]
    texture = await lab.device.create_texture2d(levels, format=R32, width=8, height=8, mip_levels=2)
    faces = [np.full((2, 2, 1), n / 6, np.float32) for n in range(6)]
    cube = await lab.device.create_texture2d(faces, format=R32, width=2, height=2, array_size=6, misc_flags=ResourceMiscFlag.TEXTURECUBE)
    slices = [np.full((2, 2, 1), n / 2, np.float32) for n in range(3)]
    array = await lab.device.create_texture2d(slices, format=R32, width=2, height=2, array_size=3)
    source = """
    Texture2D<float> t : register(t0); TextureCube<float> c : register(t1); Texture2DArray<float> a : register(t2); SamplerComparisonState s : register(s0);
    float4 ps(Full f) : SV_Target { return float4(t.SampleCmp(s, f.uv, 0.5), t.SampleCmp(s, f.uv * 2, 0.5), c.SampleCmpLevelZero(s, float3(0, 0, f.uv.x < 0.5 ? 1 : -1), 0.7), a.SampleCmp(s, float3(f.uv, f.uv.y * 2), 0.4)); }
    """
    target, _ = await lab.target(8, 8)
    await lab.full(source)
    lab.ctx.ps_set_shader_resources(0, [await lab.device.create_shader_resource_view(t) for t in (texture, cube, array)])
    lab.ctx.ps_set_samplers(0, [await lab.sampler(filter=Filter.COMPARISON_MIN_MAG_LINEAR_MIP_POINT, comparison_func=ComparisonFunc.LESS)])
    lab.ctx.draw(3)
    got = await lab.ctx.read_texture(target)
    assert (got[..., 0] == 0).all()  # 0.5 < 0.25 at level 0
    assert (got[..., 1] == 1).all()  # 0.5 < 0.75 at level 1
    np.testing.assert_array_equal(got[..., 2], np.broadcast_to([0] * 4 + [1] * 4, (8, 8)))  # face 4 holds 4/6, face 5 5/6
    rows = (np.arange(8) + 0.5) / 8 * 2
    np.testing.assert_array_equal(got[:, 0, 3], (np.rint(rows) / 2 > 0.4).astype(float))


async def test_cube_edges_are_seamless(lab: Lab) -> None:
    """Linear filtering at an edge takes half of the face next door; at a corner three faces share."""
    faces = [np.full((4, 4, 1), 10.0**n, np.float32) for n in range(6)]
    texture = await lab.device.create_texture2d(faces, format=R32, width=4, height=4, array_size=6, misc_flags=ResourceMiscFlag.TEXTURECUBE)
    source = ONE + "TextureCube<float> t : register(t0); [numthreads(1, 1, 1)] void cs() { o[0] = float4(t.SampleLevel(s, float3(1, 0.1, 1), 0), t.SampleLevel(s, float3(-1, 1, 0.1), 0), t.SampleLevel(s, float3(1, 1, 1), 0), t.SampleLevel(s, float3(1, 0, 0), 0)); }"
    got = await lab.compute(source, 4, await lab.device.create_shader_resource_view(texture), stride=16, samplers=[await lab.sampler(filter=Filter.MIN_MAG_LINEAR_MIP_POINT)])
    np.testing.assert_allclose(got[:2], [(1 + 10000) / 2, (10 + 100) / 2], rtol=0.01)
    np.testing.assert_allclose(got[2], 10101 / 3, rtol=0.35)  # how the missing fourth texel is made up is left open
    assert got[3] == 1


async def test_array_slices_are_rounded_and_3d_levels_blend(lab: Lab) -> None:
    lines = await lab.device.create_texture1d([np.full((4, 1), n, np.float32) for n in range(4)], format=R32, width=4, array_size=4)
    levels = [np.full((max(8 >> m, 1),) * 3 + (1,), m * 10, np.float32) for m in range(4)]
    solid = await lab.device.create_texture3d(levels, format=R32, width=8, height=8, depth=8, mip_levels=4)
    source = ONE + "Texture1DArray<float> t : register(t0); Texture3D<float> v : register(t1); [numthreads(1, 1, 1)] void cs() { o[0] = float4(t.SampleLevel(s, float2(0.5, 1.49), 0), t.SampleLevel(s, float2(0.5, 1.51), 0), t.SampleLevel(s, float2(0.5, 2.5), 0), t.SampleLevel(s, float2(0.5, -7), 0)); o[1] = float4(v.SampleLevel(s, 0.3, 1.5), v.SampleGrad(s, 0.3, float3(0, 0, 0.5), 0), 0, 0); }"
    views = [await lab.device.create_shader_resource_view(t) for t in (lines, solid)]
    got = await lab.compute(source, 8, *views, stride=16, samplers=[await lab.sampler()])
    assert got[:4].tolist() == [1, 2, 2, 0]  # halves round to the even slice
    np.testing.assert_allclose(got[4:6], [15, 20], atol=0.1)
