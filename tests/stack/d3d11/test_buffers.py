"""Buffers: raw, structured and typed views, subsets, bounds; constant buffers and their bounds; dynamic maps."""

from __future__ import annotations

from typing import Any

import numpy as np

import wddm
from tests.stack.d3d11.lab import FULL, Lab
from wddm import BindFlag, CpuAccessFlag, Format, MapType, ResourceMiscFlag, Usage

U32 = np.uint32


async def test_raw_views(lab: Lab) -> None:
    """Loads and stores of one to four dwords, at the end and beyond it; a view of the middle."""
    device, ctx = lab.device, lab.ctx
    source = """
    ByteAddressBuffer a : register(t0); RWByteAddressBuffer b : register(u1); RWStructuredBuffer<uint> o : register(u0);
    [numthreads(1, 1, 1)] void cs() {
        uint n, m; a.GetDimensions(n); b.GetDimensions(m); o[0] = n; o[1] = m;
        o[2] = a.Load(4); uint2 two = a.Load2(8); o[3] = two.x + two.y; uint3 three = a.Load3(20); o[4] = three.x; o[5] = three.y; o[6] = three.z;
        uint4 four = a.Load4(24); o[7] = four.x; o[8] = four.y; o[9] = four.z; o[10] = four.w; o[11] = a.Load(0xFFFFFFFC); o[12] = a.Load(4000);
        b.Store4(8, uint4(1, 2, 3, 4)); b.Store3(28, uint3(5, 6, 7)); b.Store2(0, uint2(8, 9)); b.Store(64, 99); b.Store(0xFFFFFFF0, 99);
        o[13] = b.Load(12); o[14] = b.Load(32); o[15] = b.Load(24); }
    """
    buffer = await device.create_buffer(np.arange(100, 132, dtype=U32), bind_flags=BindFlag.SHADER_RESOURCE, misc_flags=ResourceMiscFlag.BUFFER_ALLOW_RAW_VIEWS)
    view = await device.create_shader_resource_view(buffer, format=Format.R32_TYPELESS, first_element=4, num_elements=8, flags=1)
    target = await device.create_buffer(np.full(32, 55, U32), bind_flags=BindFlag.UNORDERED_ACCESS, misc_flags=ResourceMiscFlag.BUFFER_ALLOW_RAW_VIEWS)
    uav = await device.create_unordered_access_view(target, format=Format.R32_TYPELESS, first_element=8, num_elements=9, flags=1)
    ctx.cs_set_unordered_access_views(1, [uav])
    got = (await lab.compute(source, 16, view, dtype=U32)).tolist()
    assert got[:4] == [32, 36, 105, 106 + 107]
    # Dwords that lie beyond the view are 0, one by one.
    assert got[4:11] == [109, 110, 111, 110, 111, 0, 0]
    assert got[11:13] == [0, 0]
    assert got[13:] == [2, 6, 55]
    want = np.full(32, 55)
    want[8:17] = [8, 9, 1, 2, 3, 4, 55, 5, 6]
    assert (await ctx.read_buffer(target, U32)).tolist() == want.tolist()


async def test_structured_views(lab: Lab) -> None:
    """Structures with dynamic members; what lies beyond the last element reads 0 whole, and is not written."""
    device, ctx = lab.device, lab.ctx
    source = """
    struct S { float3 a; uint b[3]; int2 c; };
    StructuredBuffer<S> from : register(t0); RWStructuredBuffer<S> to : register(u1); RWStructuredBuffer<uint> o : register(u0); cbuffer C : register(b0) { uint k; };
    [numthreads(4, 1, 1)] void cs(uint i : SV_GroupIndex) {
        S s = from[i]; uint n, stride; from.GetDimensions(n, stride); o[16] = n; o[17] = stride;
        o[i] = (uint)(s.a.x + s.a.y + s.a.z) + s.b[k] + s.b[2] + s.c.x + s.c.y; o[4 + i] = from[i].b[k];
        s.c.y = 1000 + i; s.b[k] = 7; to[i] = s; to[1].a.y = 0.5; o[12 + i] = to[i].c.x; }
    """
    kind = np.dtype([("a", "<f4", 3), ("b", "<u4", 3), ("c", "<i4", 2)])
    data = np.zeros(6, kind)
    data["a"] = np.arange(18).reshape(6, 3)
    data["b"] = np.arange(18).reshape(6, 3) * 10
    data["c"] = np.arange(12).reshape(6, 2) + 500
    buffer, _ = await lab.structured(data, 32)
    view = await device.create_shader_resource_view(buffer, first_element=1, num_elements=3)
    target, _ = await lab.structured(np.zeros(5, kind), 32, uav=True)
    uav = await device.create_unordered_access_view(target, first_element=1, num_elements=3)
    ctx.cs_set_unordered_access_views(1, [uav])
    got = (await lab.compute(source, 20, view, dtype=U32, constants=await lab.constants(np.array([1], U32)))).tolist()
    seen = np.concatenate([data[1:4], np.zeros(1, kind)])
    assert got[:4] == [int(s["a"].sum()) + s["b"][1] + s["b"][2] + s["c"].sum() for s in seen]
    assert got[4:8] == seen["b"][:, 1].tolist()
    assert got[12:16] == [*seen["c"][:3, 0], 0]
    assert got[16:18] == [3, 32]
    written = (await ctx.read_buffer(target)).view(kind)
    want = np.zeros(5, kind)
    want[1:4] = seen[:3]
    want["b"][1:4, 1] = 7
    want["c"][1:4, 1] = [1000, 1001, 1002]
    want["a"][2, 1] = 0.5
    assert (written == want).all()


async def test_typed_views(lab: Lab) -> None:
    source = """
    Buffer<float4> f : register(t0); Buffer<uint2> u : register(t1); RWBuffer<float4> w : register(u1); RWStructuredBuffer<float4> o : register(u0);
    [numthreads(1, 1, 1)] void cs() { uint n, m; f.GetDimensions(n); w.GetDimensions(m); o[0] = float4(n, m, 0, 0); o[1] = f[1]; o[2] = f[4]; o[3] = f[-1]; o[4] = float4(u[1], u[2]); o[5] = f[1000000];
        w[0] = float4(1, 0.5, 0, 2); w[2] = 1; w[-1] = 1; w[0x7FFFFFFF] = 1; }
    """
    device, ctx = lab.device, lab.ctx
    buffer = await device.create_buffer(np.arange(32, dtype=np.uint8) * 8, bind_flags=BindFlag.SHADER_RESOURCE)
    floats = await device.create_shader_resource_view(buffer, format=Format.R8G8B8A8_UNORM, first_element=2, num_elements=4)
    pairs = await device.create_shader_resource_view(buffer, format=Format.R8G8_UINT, first_element=4, num_elements=2)
    target = await device.create_buffer(np.full(20, 9, np.uint8), bind_flags=BindFlag.UNORDERED_ACCESS)
    ctx.cs_set_unordered_access_views(1, [await device.create_unordered_access_view(target, format=Format.R8G8B8A8_UNORM, first_element=1, num_elements=2)])
    got = (await lab.compute(source, 24, floats, pairs, stride=16)).reshape(6, 4)
    assert got[0, :2].tolist() == [4, 2]
    np.testing.assert_allclose(got[1], np.arange(12, 16) * 8 / 255, rtol=1e-6)
    assert not got[2:4].any()
    assert not got[5].any()
    assert got[4].tolist() == [80, 88, 0, 0]
    assert (await ctx.read_buffer(target)).tolist() == [9] * 4 + [255, 128, 0, 255] + [9] * 12


async def test_constant_buffers_and_their_bounds(lab: Lab) -> None:
    """Constants beyond the buffer are 0, by a constant index or a computed one; 4096 constants of one buffer are reached."""
    source = """
    cbuffer A : register(b0) { float4 a[4096]; }; cbuffer B : register(b13) { uint at; float4x4 m; float3 v; float w; };
    RWStructuredBuffer<float4> o : register(u0);
    [numthreads(1, 1, 1)] void cs() { o[0] = a[1]; o[1] = a[2]; o[2] = a[at]; o[3] = a[at + 1]; o[4] = a[at - 100]; o[5] = mul(float4(1, 2, 3, 4), m); o[6] = float4(v, w); o[7] = a[4095]; }
    """
    values = np.arange(8, dtype=np.float32) + 1
    matrix = np.arange(16, dtype=np.float32).reshape(4, 4)
    small = await lab.constants(values)
    other = await lab.constants(np.array([1, 0, 0, 0], U32), matrix, np.array([5, 6, 7, 8], np.float32))
    lab.ctx.cs_set_constant_buffers(13, [other])
    got = (await lab.compute(source, 32, stride=16, constants=small)).reshape(8, 4)
    assert got[:3].tolist() == [[5, 6, 7, 8], [0] * 4, [5, 6, 7, 8]]
    assert not got[3:5].any()
    np.testing.assert_array_equal(got[5], matrix @ [1, 2, 3, 4])  # column-major: registers are columns
    assert got[6].tolist() == [5, 6, 7, 8]
    assert not got[7].any()
    big = await lab.constants(np.arange(4096 * 4, dtype=np.float32))
    got = (await lab.compute(source, 32, stride=16, constants=big)).reshape(8, 4)
    assert got[7].tolist() == [16380, 16381, 16382, 16383]


async def test_a_buffer_is_renamed_by_every_discard(lab: Lab) -> None:
    """Each draw sees the constants of its time, however often they are discarded or appended before anything ran."""
    device, ctx = lab.device, lab.ctx
    texture, view = await lab.target(8, 1)
    await lab.full("cbuffer C : register(b0) { float4 c; }; float4 ps(Full f) : SV_Target { return c; }")
    await lab.rasterizer(scissor_enable=True)
    dynamic = await device.create_buffer(16, usage=Usage.DYNAMIC, bind_flags=BindFlag.CONSTANT_BUFFER, cpu_access_flags=CpuAccessFlag.WRITE)
    ctx.ps_set_constant_buffers(0, [dynamic])
    for x in range(8):
        ctx.rs_set_scissor_rects([(x, 0, x + 1, 1)])
        if x % 2:
            ctx.write(dynamic, np.full(4, x + 1, np.float32))
        else:
            mapped = await ctx.map(dynamic, 0, MapType.WRITE_DISCARD)
            mapped.view(np.float32)[:4] = x + 1
            ctx.unmap(dynamic)
        ctx.draw(3)
    assert (await ctx.read_texture(texture))[0, :, 2].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    del view


async def test_appending_to_a_dynamic_vertex_buffer(lab: Lab) -> None:
    """WRITE_NO_OVERWRITE leaves what earlier draws read; DISCARD starts anew; dynamic textures are discarded as well."""
    device, ctx = lab.device, lab.ctx
    source = FULL + "struct V { float4 p : SV_Position; nointerpolation float c : C; }; V vs(float c : COLOR, uint id : SV_VertexID) { V v; v.p = full_vs(id).position; v.c = c; return v; } Texture2D<float> t : register(t0); float4 ps(V v) : SV_Target { return v.c + t[uint2(0, 1)]; }"
    blob = wddm.hlsl.compile(source, "vs", "vs_5_0")
    ctx.vs_set_shader(await device.create_vertex_shader(blob))
    await lab.ps(source)
    ctx.ia_set_input_layout(await device.create_input_layout([("COLOR", 0, Format.R32_FLOAT, 0, 0)], blob))
    texture, _ = await lab.target(6, 1)
    await lab.rasterizer(scissor_enable=True)
    lab.topology(wddm.PrimitiveTopology.TRIANGLELIST)
    vertices = await device.create_buffer(12 * 3, usage=Usage.DYNAMIC, bind_flags=BindFlag.VERTEX_BUFFER, cpu_access_flags=CpuAccessFlag.WRITE)
    picture = await device.create_texture2d(format=Format.R32_FLOAT, width=1, height=2, usage=Usage.DYNAMIC, cpu_access_flags=CpuAccessFlag.WRITE)
    ctx.ps_set_shader_resources(0, [await device.create_shader_resource_view(picture)])
    for x in range(6):
        ctx.rs_set_scissor_rects([(x, 0, x + 1, 1)])
        if x % 3 == 0:
            mapped = await ctx.map(picture, 0, MapType.WRITE_DISCARD)
            mapped.data[mapped.row_pitch : mapped.row_pitch + 4].view(np.float32)[0] = x * 100
            ctx.unmap(picture)
        ctx.write(vertices, np.full(3, x + 1, np.float32), x % 3 * 12, MapType.WRITE_NO_OVERWRITE if x % 3 else MapType.WRITE_DISCARD)
        ctx.ia_set_vertex_buffers(0, [vertices], [4], [x % 3 * 12])
        ctx.draw(3)
    assert (await ctx.read_texture(texture))[0, :, 0].tolist() == [1, 2, 3, 304, 305, 306]


async def test_staging_resources_are_written_and_read_by_map(lab: Lab) -> None:
    device, ctx = lab.device, lab.ctx
    both = CpuAccessFlag.READ | CpuAccessFlag.WRITE
    staging = await device.create_texture3d(format=Format.R8_UNORM, width=5, height=3, depth=2, usage=Usage.STAGING, bind_flags=0, cpu_access_flags=both)
    mapped = await ctx.map(staging, 0, MapType.READ_WRITE)
    for z in range(2):
        for y in range(3):
            start = z * mapped.depth_pitch + y * mapped.row_pitch
            mapped.data[start : start + 5] = np.arange(5) + 10 * y + 100 * z
    ctx.unmap(staging)
    texture = await device.create_texture3d(format=Format.R8_UNORM, width=5, height=3, depth=2)
    ctx.copy_resource(texture, staging)
    z, y, x = np.mgrid[0:2, 0:3, 0:5]
    np.testing.assert_array_equal((await ctx.read_texture(texture))[..., 0], x + 10 * y + 100 * z)
    mapped = await ctx.map(staging, 0, MapType.WRITE)
    mapped.data[0] = 77
    ctx.unmap(staging)
    assert (await ctx.read_texture(staging))[0, 0, :2, 0].tolist() == [77, 1]


async def test_a_buffer_that_is_written_in_one_place_and_read_in_another(lab: Lab) -> None:
    """Stream output, vertex, index, raw and typed views and copies of the same memory, one after the other in one batch."""
    device, ctx = lab.device, lab.ctx
    buffer = await device.create_buffer(
        np.zeros(16, U32), bind_flags=BindFlag.UNORDERED_ACCESS | BindFlag.SHADER_RESOURCE | BindFlag.INDEX_BUFFER | BindFlag.VERTEX_BUFFER,
        misc_flags=ResourceMiscFlag.BUFFER_ALLOW_RAW_VIEWS,
    )  # fmt: skip
    raw = await device.create_unordered_access_view(buffer, format=Format.R32_TYPELESS, num_elements=16, flags=1)
    read = await device.create_shader_resource_view(buffer, format=Format.R16_UINT, num_elements=32)
    await lab.cs("RWByteAddressBuffer b : register(u0); [numthreads(16, 1, 1)] void cs(uint i : SV_GroupIndex) { b.Store(i * 4, i == 15 ? 0xFFFFFFFF : 2 * i | (2 * i + 1) << 16); }")
    ctx.cs_set_unordered_access_views(0, [raw])
    ctx.dispatch(1)
    ctx.cs_set_unordered_access_views(0, [None])
    out, uav = await lab.structured(np.zeros(32, U32), 4, uav=True)
    await lab.cs("Buffer<uint> b : register(t0); RWStructuredBuffer<uint> o : register(u0); [numthreads(32, 1, 1)] void cs(uint i : SV_GroupIndex) { o[i] = b[i] * 3; }")
    ctx.cs_set_unordered_access_views(0, [uav])
    ctx.cs_set_shader_resources(0, [read])
    ctx.dispatch(1)
    ctx.cs_set_shader_resources(0, [None])
    ctx.copy_subresource_region(buffer, 0, 4, 0, 0, out, 0, (0, 0, 0, 8, 1, 1))
    got = (await ctx.read_buffer(buffer, U32)).tolist()
    assert got[:4] == [0x10000, 0, 3, 0x70006]
    assert (await ctx.read_buffer(out, U32)).tolist() == [*[3 * n for n in range(30)], 0xFFFF * 3, 0xFFFF * 3]


async def test_buffers_as_render_targets(lab: Lab) -> None:
    device: Any = lab.device
    buffer = await device.create_buffer(np.zeros(64, np.uint8), bind_flags=BindFlag.RENDER_TARGET)
    view = await device.create_render_target_view(buffer, format=Format.R8G8B8A8_UNORM, first_element=4, num_elements=8)
    await lab.full("float4 ps(Full f) : SV_Target { return float4(floor(f.position.x) / 255, 1, 0, 1); }")
    lab.ctx.om_set_render_targets([view])
    lab.ctx.rs_set_viewports([wddm.Viewport(0, 0, 8, 1)])
    lab.ctx.draw(3)
    got = (await lab.ctx.read_buffer(buffer)).reshape(16, 4)
    assert got[4:12].tolist() == [[n, 255, 0, 255] for n in range(8)]
    assert not got[:4].any()
    assert not got[12:].any()
