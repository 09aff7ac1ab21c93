"""State between commands: hazards of bindings, ClearState, defaults, what objects keep alive; limits of single resources."""

from __future__ import annotations

import numpy as np
import pytest

import wddm
from tests.stack.d3d11.lab import FLOAT4, FULL, PULLED, Lab, coverage, point
from wddm import BindFlag, Format, PrimitiveTopology, hlsl

U32 = np.uint32


async def test_a_resource_is_not_read_while_it_is_written(lab: Lab) -> None:
    """Binding a texture for output takes it from the inputs, whose slot then reads 0; binding it for input is refused meanwhile."""
    device, ctx = lab.device, lab.ctx
    texture = await device.create_texture2d(
        np.full((4, 4, 4), 3, np.float32), format=FLOAT4, bind_flags=BindFlag.RENDER_TARGET | BindFlag.SHADER_RESOURCE | BindFlag.UNORDERED_ACCESS
    )
    srv, rtv = await device.create_shader_resource_view(texture), await device.create_render_target_view(texture)
    other, other_view = await lab.target(4, 4)
    await lab.full("Texture2D<float4> t : register(t0); float4 ps(Full f) : SV_Target { return t.Load(int3(f.position.xy, 0)) + 1; }")
    ctx.ps_set_shader_resources(0, [srv])
    ctx.om_set_render_targets([rtv])
    ctx.om_set_render_targets([other_view])
    ctx.draw(3)
    assert (await ctx.read_texture(other) == 1).all()
    ctx.om_set_render_targets([rtv])
    ctx.ps_set_shader_resources(0, [srv])
    ctx.om_set_render_targets([other_view])
    ctx.draw(3)
    assert (await ctx.read_texture(other) == 1).all()
    ctx.ps_set_shader_resources(0, [srv])
    ctx.draw(3)
    assert (await ctx.read_texture(other) == 4).all()
    # Two slices of one texture are two subresources: one may be read while the other is written.
    array = await device.create_texture2d([np.full((4, 4, 4), n + 5, np.float32) for n in range(2)], format=FLOAT4, array_size=2, bind_flags=BindFlag.RENDER_TARGET | BindFlag.SHADER_RESOURCE)
    first = await device.create_shader_resource_view(array, dimension=wddm.SrvDimension.TEXTURE2DARRAY, first_array_slice=0, array_size=1)
    second = await device.create_render_target_view(array, dimension=wddm.RtvDimension.TEXTURE2DARRAY, first_array_slice=1, array_size=1)
    await lab.ps(FULL + "Texture2DArray<float4> t : register(t0); float4 ps(Full f) : SV_Target { return t.Load(int4(f.position.xy, 0, 0)) * 2; }")
    ctx.om_set_render_targets([second])
    ctx.ps_set_shader_resources(0, [first])
    ctx.draw(3)
    assert (await ctx.read_texture(array, 1) == 10).all()


async def test_clear_state_gives_the_defaults(lab: Lab) -> None:
    ctx = lab.ctx
    texture, view = await lab.target(4, 4)
    await lab.full("float4 ps(Full f) : SV_Target { return 1; }")
    await lab.rasterizer(cull_mode=wddm.CullMode.FRONT)
    ctx.om_set_blend_state(await lab.device.create_blend_state(render_target=wddm.RenderTargetBlend(render_target_write_mask=0)))
    ctx.clear_state()
    ctx.draw(3)  # nothing is bound
    ctx.om_set_render_targets([view])
    ctx.rs_set_viewports([wddm.Viewport(0, 0, 4, 4)])
    await lab.full("float4 ps(Full f) : SV_Target { return 1; }")
    ctx.draw(3)
    assert (await ctx.read_texture(texture) == 1).all()
    ctx.rs_set_viewports([])
    ctx.clear_render_target_view(view, (0, 0, 0, 0))
    ctx.draw(3)
    assert not (await ctx.read_texture(texture)).any()


async def test_what_is_bound_lives_though_it_was_released(lab: Lab) -> None:
    ctx = lab.ctx
    texture, view = await lab.target(4, 4)
    constants = await lab.constants(1, 2, 3, 4)
    await lab.full("cbuffer C : register(b0) { float4 c; }; float4 ps(Full f) : SV_Target { return c; }")
    ctx.ps_set_constant_buffers(0, [constants])
    constants.release()
    view.release()
    for _ in range(3):
        await lab.constants(9, 9, 9, 9)
    ctx.draw(3)
    assert (await ctx.read_texture(texture) == [1, 2, 3, 4]).all()


async def test_primitive_numbers_start_anew_with_each_instance(lab: Lab) -> None:
    source = PULLED + "float4 id_ps(Coloured c, uint p : SV_PrimitiveID, bool front : SV_IsFrontFace) : SV_Target { return float4(p + 1, front ? 1 : 2, 0, 1); }"
    size = (6, 1)
    target, view = await lab.target(*size)
    await lab.vertices([point(x + 0.5, 0.5, size) for x in range(6)])
    await lab.ps(source, "id_ps")
    lab.topology(PrimitiveTopology.POINTLIST)
    lab.ctx.draw_instanced(6, 2)
    image = (await lab.ctx.read_texture(target))[0]
    assert image[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert (image[:, 1] == 1).all()  # points and lines always face the viewer
    lab.ctx.clear_render_target_view(view, (0, 0, 0, 0))
    lab.topology(PrimitiveTopology.LINESTRIP)
    lab.ctx.draw(6)
    image = (await lab.ctx.read_texture(target))[0]
    assert image[:5, 0].tolist() == [1, 2, 3, 4, 5]
    assert (image[:5, 1] == 1).all()


@pytest.mark.parametrize("stream", [1, 3])
async def test_any_stream_may_be_rasterized(lab: Lab, stream: int) -> None:
    source = """
    struct V { uint id : ID; }; struct A { float4 p : SV_Position; float4 c : C; };
    V vs(uint id : SV_VertexID) { V v; v.id = id; return v; }
    [maxvertexcount(4)] void gs(point V v[1], inout PointStream<A> s0, inout PointStream<A> s1, inout PointStream<A> s2, inout PointStream<A> s3) {
        A a; a.p = float4((v[0].id + 0.5) / 4 * 2 - 1, 0, 0, 1); a.c = 1; s0.Append(a); a.c = 2; s1.Append(a); a.c = 3; s2.Append(a); a.c = 4; if (v[0].id & 1) s3.Append(a); }
    float4 ps(A a) : SV_Target { return a.c; }
    """
    target, _ = await lab.target(4, 1)
    await lab.vs(source)
    await lab.ps(source)
    declaration = [(n, "C", 0, 0, 1, n) for n in range(4)]
    await lab.stream_output(hlsl.compile(source, "gs", "gs_5_0"), declaration, [4] * 4, rasterized=stream)
    buffers = [await lab.device.create_buffer(64, bind_flags=BindFlag.STREAM_OUTPUT) for _ in range(4)]
    lab.ctx.so_set_targets(buffers, [0] * 4)
    lab.topology(PrimitiveTopology.POINTLIST)
    lab.ctx.draw(4)
    want = {1: [2, 2, 2, 2], 3: [0, 4, 0, 4]}[stream]
    assert (await lab.ctx.read_texture(target))[0, :, 0].tolist() == want
    got = [(await lab.ctx.read_buffer(b, np.float32)).tolist() for b in buffers]
    assert [g[:5] for g in got] == [[1, 1, 1, 1, 0], [2, 2, 2, 2, 0], [3, 3, 3, 3, 0], [4, 4, 0, 0, 0]]


async def test_slices_of_depth_follow_slices_of_colour(lab: Lab) -> None:
    """A layered draw tests each layer against the same slice of the depth view."""
    source = """
    struct P { float4 position : SV_Position; uint slice : SV_RenderTargetArrayIndex; float4 c : C; };
    float4 vs(uint id : SV_VertexID) : SV_Position { return float4(float2((id << 1) & 2, id & 2) * 2 - 1, 0.5, 1); }
    [instance(3)] [maxvertexcount(3)] void gs(triangle float4 t[3] : SV_Position, uint n : SV_GSInstanceID, inout TriangleStream<P> s)
    { for (int i = 0; i < 3; i++) { P p; p.position = t[i]; p.slice = n; p.c = n + 1; s.Append(p); } }
    float4 ps(P p) : SV_Target { return p.c; }
    """
    device, ctx = lab.device, lab.ctx
    color = await device.create_texture2d(width=4, height=4, array_size=3, sample_count=4, format=Format.R32_FLOAT, bind_flags=BindFlag.RENDER_TARGET)
    depth = await device.create_texture2d(width=4, height=4, array_size=3, sample_count=4, format=Format.D32_FLOAT, bind_flags=BindFlag.DEPTH_STENCIL)
    for n, z in enumerate((1.0, 0.25, 1.0)):
        one = await device.create_depth_stencil_view(depth, dimension=wddm.DsvDimension.TEXTURE2DMSARRAY, first_array_slice=n, array_size=1)
        ctx.clear_depth_stencil_view(one, 1, z)
    await lab.vs(source)
    await lab.gs(source)
    await lab.ps(source)
    await lab.rasterizer()
    lab.topology(PrimitiveTopology.TRIANGLELIST)
    ctx.rs_set_viewports([wddm.Viewport(0, 0, 4, 4)])
    ctx.om_set_render_targets([await device.create_render_target_view(color)], await device.create_depth_stencil_view(depth))
    ctx.draw(3)
    assert [(await ctx.read_texture(color, n))[1, 1, 0].item() for n in range(3)] == [1, 0, 3]


async def test_the_largest_textures(lab: Lab) -> None:
    """16384 texels across are rendered and sampled at both ends; 2048 slices are reached."""
    device, ctx = lab.device, lab.ctx
    texture, _ = await lab.target(16384, 1, Format.R16_FLOAT)
    await lab.full("float4 ps(Full f) : SV_Target { return floor(f.position.x / 8); }")
    ctx.draw(3)
    row = (await ctx.read_texture(texture))[0, :, 0]
    np.testing.assert_array_equal(row, np.arange(16384) // 8)
    many = await device.create_texture2d(width=1, height=1, array_size=2048, format=Format.R32_UINT, bind_flags=BindFlag.RENDER_TARGET | BindFlag.SHADER_RESOURCE)
    for n in (0, 1000, 2047):
        view = await device.create_render_target_view(many, first_array_slice=n, array_size=1)
        ctx.clear_render_target_view(view, (n + 1, 0, 0, 0))
    source = "Texture2DArray<uint> t : register(t0); RWStructuredBuffer<uint> o : register(u0); [numthreads(64, 1, 1)] void cs(uint3 i : SV_DispatchThreadID) { o[i.x] = t.Load(int4(0, 0, i.x, 0)); }"
    got = await lab.compute(source, 2048, await device.create_shader_resource_view(many), dtype=U32, groups=(32, 1, 1))
    assert np.flatnonzero(got).tolist() == [0, 1000, 2047]
    assert got[2047] == 2048


async def test_a_vertex_stride_of_0_and_the_greatest(lab: Lab) -> None:
    source = "struct V { float4 n : N; }; V vs(float2 a : A, float2 b : B) { V v; v.n = float4(a, b); return v; }"
    blob = hlsl.compile(source, "vs", "vs_5_0")
    lab.ctx.vs_set_shader(await lab.device.create_vertex_shader(blob))
    layout = [("A", 0, Format.R32G32_FLOAT, 0, 0), ("B", 0, Format.R32G32_FLOAT, 15, 2040)]
    lab.ctx.ia_set_input_layout(await lab.device.create_input_layout(layout, blob))
    small = await lab.device.create_buffer(np.array([5, 6, 7, 8], np.float32), bind_flags=BindFlag.VERTEX_BUFFER)
    large = await lab.device.create_buffer(np.arange(1536, dtype=np.float32), bind_flags=BindFlag.VERTEX_BUFFER)
    lab.ctx.ia_set_vertex_buffers(0, [small], [0], [8])
    lab.ctx.ia_set_vertex_buffers(15, [large], [2048], [0])
    await lab.stream_output(blob, [(0, "N", 0, 0, 4)], [16])
    out = await lab.device.create_buffer(48, bind_flags=BindFlag.STREAM_OUTPUT)
    lab.ctx.so_set_targets([out], [0])
    lab.topology(PrimitiveTopology.POINTLIST)
    lab.ctx.draw(3)
    assert (await lab.ctx.read_buffer(out, np.float32)).reshape(3, 4).tolist() == [[7, 8, 510 + 512 * n, 511 + 512 * n] for n in range(3)]


async def test_depth_bias_leaves_lines_and_points(lab: Lab) -> None:
    """Only filled and wireframe triangles are biased."""
    size = (4, 4)
    depth, dsv = await lab.depth(*size)
    lab.ctx.om_set_render_targets([], dsv)
    lab.ctx.rs_set_viewports([wddm.Viewport(0, 0, *size)])
    await lab.vertices([point(0.5, 0.5, size, 0.25), point(3.5, 0.5, size, 0.25), point(0.5, 3.5, size, 0.25)])
    await lab.rasterizer(depth_bias=1 << 20, fill_mode=wddm.FillMode.WIREFRAME)
    got = {}
    for topology in (PrimitiveTopology.POINTLIST, PrimitiveTopology.LINELIST, PrimitiveTopology.TRIANGLELIST):
        lab.ctx.clear_depth_stencil_view(dsv, 1, 1.0)
        lab.topology(topology)
        lab.ctx.draw(3)
        got[topology] = (await lab.ctx.read_texture(depth))[0, 1 if topology is not PrimitiveTopology.POINTLIST else 0, 0].item()
    assert got[PrimitiveTopology.POINTLIST] == got[PrimitiveTopology.LINELIST] == 0.25
    assert got[PrimitiveTopology.TRIANGLELIST] == 0.25 + 2.0**20 * 2.0 ** (-2 - 23)


async def test_single_precision_flushes_denormals(lab: Lab) -> None:
    """Arithmetic takes and gives zeros for them; sums that would be denormal are 0."""
    source = """
    StructuredBuffer<float> from : register(t0); RWStructuredBuffer<uint> o : register(u0);
    [numthreads(1, 1, 1)] void cs() { float tiny = from[0], small = from[1];
        o[0] = asuint(tiny + tiny); o[1] = asuint(small * 0.5); o[2] = asuint(tiny * 1e30); o[3] = asuint(small - 1.2e-38); o[4] = tiny > 0 ? 1 : 0; o[5] = asuint(max(tiny, -1.0)); o[6] = asuint(mad(small, 0.25, tiny)); o[7] = asuint(sqrt(tiny)); }
    """
    _, view = await lab.structured(np.array([1e-40, 1.5e-38], np.float32), 4)
    got = await lab.compute(source, 8, view, dtype=U32)
    assert got.tolist() == [0] * 8


async def test_predication_by_overflow(lab: Lab) -> None:
    device, ctx = lab.device, lab.ctx
    target, rtv = await lab.target(4, 4)
    source = FULL + "float4 ps(Full f) : SV_Target { return 1; }"
    await lab.vs(source, "full_vs")
    await lab.ps(source)
    lab.topology(PrimitiveTopology.TRIANGLELIST)
    blob = hlsl.compile(source, "full_vs", "vs_5_0")
    for size, overflows in ((48, False), (32, True)):
        await lab.stream_output(blob, [(0, "SV_Position", 0, 0, 4)], [16])
        out = await device.create_buffer(size, bind_flags=BindFlag.STREAM_OUTPUT)
        predicate = await device.create_predicate(wddm.QueryType.SO_OVERFLOW_PREDICATE_STREAM0)
        ctx.so_set_targets([out], [0])
        ctx.begin(predicate)
        ctx.draw(3)
        ctx.end(predicate)
        ctx.so_set_targets([None], [0])
        ctx.gs_set_shader(None)
        ctx.clear_render_target_view(rtv, (0, 0, 0, 0))
        ctx.set_predication(predicate, True)  # skip where it overflowed
        ctx.draw(3)
        ctx.set_predication(None)
        assert coverage(await ctx.read_texture(target)) == ["...." if overflows else "####"] * 4


async def test_views_of_the_pixel_shader_in_the_last_slot(lab: Lab) -> None:
    """Eight output slots are shared: seven targets and a view in slot 7, or no target and eight views."""
    ctx = lab.ctx
    views = [await lab.raw(np.zeros(4, U32), uav=True) for _ in range(8)]
    declarations = "".join(f"RWByteAddressBuffer b{n} : register(u{n}); " for n in range(8))
    adds = "".join(f"b{n}.InterlockedAdd(0, {n + 1}); " for n in range(8))
    await lab.full(f"{declarations} void ps(Full f) {{ {adds} }}")
    ctx.om_set_render_targets_and_unordered_access_views([], None, 0, [v for _, v in views])
    ctx.rs_set_viewports([wddm.Viewport(0, 0, 3, 1)])
    ctx.draw(3)
    assert [(await ctx.read_buffer(b, U32))[0].item() for b, _ in views] == [3 * (n + 1) for n in range(8)]
    targets = [await lab.target(3, 1, Format.R32_FLOAT) for _ in range(7)]
    await lab.ps(FULL + "RWByteAddressBuffer b : register(u7); struct O { float t[7] : SV_Target0; }; O ps(Full f) { O o; for (int i = 0; i < 7; i++) o.t[i] = i + 1; b.Store(4 * (uint)f.position.x, 77); return o; }")
    ctx.om_set_render_targets_and_unordered_access_views([v for _, v in targets], None, 7, [views[7][1]])
    ctx.draw(3)
    assert [(await ctx.read_texture(t))[0, 1, 0].item() for t, _ in targets] == [1, 2, 3, 4, 5, 6, 7]
    assert (await ctx.read_buffer(views[7][0], U32)).tolist() == [77, 77, 77, 0]


async def test_draw_auto_after_a_geometry_shader_amplified(lab: Lab) -> None:
    """Particles: points become more points, ping-pong between two buffers by their own counts."""
    device, ctx = lab.device, lab.ctx
    source = """
    struct V { float2 p : P; }; V vs(float2 p : P) { V v; v.p = p; return v; }
    [maxvertexcount(3)] void gs(point V v[1], inout PointStream<V> s) { V o = v[0]; if (o.p.y < 3) { o.p.y += 1; s.Append(o); o.p.x += 10; s.Append(o); } else if (((int)o.p.x & 1) == 0) s.Append(o); }
    """
    blob = hlsl.compile(source, "vs", "vs_5_0")
    ctx.vs_set_shader(await device.create_vertex_shader(blob))
    ctx.ia_set_input_layout(await device.create_input_layout([("P", 0, Format.R32G32_FLOAT, 0, 0)], blob))
    await lab.stream_output(hlsl.compile(source, "gs", "gs_5_0"), [(0, "P", 0, 0, 2)], [8])
    lab.topology(PrimitiveTopology.POINTLIST)
    points = [(0.0, 0.0), (1.0, 2.0), (4.0, 3.0), (5.0, 3.0)]
    start = await device.create_buffer(np.array(points, np.float32), bind_flags=BindFlag.VERTEX_BUFFER)
    pair = [await device.create_buffer(4096, bind_flags=BindFlag.VERTEX_BUFFER | BindFlag.STREAM_OUTPUT) for _ in range(2)]
    for step in range(5):
        ctx.so_set_targets([None], [0])
        ctx.ia_set_vertex_buffers(0, [start if step == 0 else pair[(step + 1) % 2]], [8], [0])
        ctx.so_set_targets([pair[step % 2]], [0])
        if step == 0:
            ctx.draw(4)
        else:
            ctx.draw_auto()
        grown = []
        for x, y in points:
            if y < 3:
                grown += [(x, y + 1), (x + 10, y + 1)]
            elif int(x) % 2 == 0:
                grown.append((x, y))
        points = grown
    got = (await ctx.read_buffer(pair[0], np.float32)).reshape(-1, 2)[: len(points)]
    assert list(map(tuple, got.tolist())) == points
