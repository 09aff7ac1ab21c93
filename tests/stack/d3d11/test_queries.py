"""Queries: exact occlusion, pipeline statistics, timestamps, events, stream-output statistics, predication."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wddm
from tests.stack.d3d11.lab import Lab, patches, point
from wddm import BindFlag, Format, PrimitiveTopology, QueryType, hlsl

WHITE = "float4 ps(Full f) : SV_Target { return 1; }"


@pytest.mark.parametrize("samples", [1, 4])
async def test_occlusion_counts_samples_exactly(lab: Lab, samples: int) -> None:
    """What passes depth and stencil counts, sample by sample; what is masked by the write mask counts as well."""
    ctx, device = lab.ctx, lab.device
    _, rtv = await lab.target(8, 8, sample_count=samples)
    _, dsv = await lab.depth(8, 8, sample_count=samples)
    ctx.om_set_render_targets([rtv], dsv)
    await lab.full(WHITE)
    queries = [await device.create_query(QueryType.OCCLUSION) for _ in range(4)]
    await lab.rasterizer(scissor_enable=True)
    ctx.rs_set_scissor_rects([(0, 0, 5, 3)])
    ctx.begin(queries[0])
    ctx.begin(queries[3])
    ctx.draw(3)
    ctx.end(queries[0])
    ctx.rs_set_scissor_rects([(0, 0, 8, 8)])
    ctx.begin(queries[1])
    ctx.draw(3)  # LESS: what the first one drew fails
    ctx.end(queries[1])
    ctx.end(queries[3])
    ctx.begin(queries[2])
    ctx.end(queries[2])
    got = [await ctx.get_data(q, wait=True) for q in queries]
    assert got == [15 * samples, 49 * samples, 0, 64 * samples]


async def test_discarded_pixels_do_not_count(lab: Lab) -> None:
    await lab.target(8, 8)
    await lab.full("float4 ps(Full f) : SV_Target { if (frac(f.position.x / 2) > 0.5) discard; return 1; }")
    query = await lab.device.create_query(QueryType.OCCLUSION)
    lab.ctx.begin(query)
    lab.ctx.draw(3)
    lab.ctx.end(query)
    assert await lab.ctx.get_data(query, wait=True) == 32
    # A query begins anew each time.
    lab.ctx.begin(query)
    lab.ctx.end(query)
    assert await lab.ctx.get_data(query, wait=True) == 0


STAGES = """
struct P { float2 p : P; };
struct F { float e[3] : SV_TessFactor; float i : SV_InsideTessFactor; };
struct D { float4 position : SV_Position; };
P vs(uint id : SV_VertexID) { P p; p.p = float2((id << 1) & 2, id & 2) * 2 - 1; return p; }
F constants(InputPatch<P, 3> p) { F f; f.e[0] = f.e[1] = f.e[2] = 2; f.i = 1; return f; }
[domain("tri")] [partitioning("integer")] [outputtopology("triangle_ccw")] [outputcontrolpoints(3)] [patchconstantfunc("constants")]
P hs(InputPatch<P, 3> p, uint i : SV_OutputControlPointID) { return p[i]; }
[domain("tri")] D ds(F f, float3 w : SV_DomainLocation, const OutputPatch<P, 3> p) { D d; d.position = float4(p[0].p * w.x + p[1].p * w.y + p[2].p * w.z, 0, 1); return d; }
[maxvertexcount(6)] void gs(triangle D t[3], inout TriangleStream<D> s) { for (int k = 0; k < 2; k++) { for (int i = 0; i < 3; i++) s.Append(t[i]); s.RestartStrip(); } }
float4 ps(D d) : SV_Target { return 1; }
"""


async def test_pipeline_statistics(lab: Lab) -> None:
    ctx, device = lab.ctx, lab.device
    _, rtv = await lab.target(8, 8)
    for stage in (lab.vs, lab.hs, lab.ds, lab.gs, lab.ps):
        await stage(STAGES)
    lab.topology(patches(3))
    await lab.rasterizer()
    query = await device.create_query(QueryType.PIPELINE_STATISTICS)
    ctx.begin(query)
    ctx.draw(3)
    ctx.end(query)
    got = await ctx.get_data(query, wait=True)
    assert (got.ia_vertices, got.ia_primitives, got.vs_invocations, got.hs_invocations) == (3, 1, 3, 1)
    # Inside factor 1 beside edges of 2 becomes 2: the centre, three corners and three edge middles, six triangles.
    assert got.ds_invocations == 7
    assert (got.gs_invocations, got.gs_primitives, got.c_invocations) == (6, 12, 12)
    assert got.c_primitives >= 12
    assert got.ps_invocations == 128
    assert got.cs_invocations == 0
    ctx.hs_set_shader(None)
    ctx.ds_set_shader(None)
    ctx.gs_set_shader(None)
    await lab.full(WHITE)
    await lab.cs("RWBuffer<uint> b : register(u0); [numthreads(8, 4, 1)] void cs() { }")
    ctx.begin(query)
    ctx.draw_instanced(6, 3)
    ctx.dispatch(2, 3, 1)
    ctx.end(query)
    got = await ctx.get_data(query, wait=True)
    assert (got.ia_vertices, got.ia_primitives, got.c_invocations) == (18, 6, 6)
    assert got.vs_invocations in (6, 18)  # a vertex cache may spare invocations
    assert (got.gs_invocations, got.gs_primitives, got.hs_invocations, got.ds_invocations) == (0, 0, 0, 0)
    assert got.cs_invocations == 2 * 3 * 32
    del rtv


async def test_culled_primitives_are_not_sent_on(lab: Lab) -> None:
    size = (8, 8)
    await lab.target(*size)
    good, back = ((0, 0), (8, 0), (0, 8)), ((0, 0), (0, 8), (8, 0))
    outside = ((-20, 0), (-10, 0), (-20, 8))
    await lab.vertices([point(*p, size) for t in (good, back, outside, good) for p in t])
    await lab.rasterizer(cull_mode=wddm.CullMode.BACK)
    query = await lab.device.create_query(QueryType.PIPELINE_STATISTICS)
    lab.ctx.begin(query)
    lab.ctx.draw(12)
    lab.ctx.end(query)
    got = await lab.ctx.get_data(query, wait=True)
    assert (got.ia_vertices, got.ia_primitives, got.vs_invocations, got.c_invocations) == (12, 4, 12, 4)
    assert 2 <= got.c_primitives <= 4
    assert got.ps_invocations == 2 * 28 + 2 * (got.ps_invocations - 56) // 2


async def test_timestamps_and_events(lab: Lab) -> None:
    ctx, device = lab.ctx, lab.device
    await lab.target(8, 8)
    await lab.full(WHITE)
    disjoint = await device.create_query(QueryType.TIMESTAMP_DISJOINT)
    stamps = [await device.create_query(QueryType.TIMESTAMP) for _ in range(3)]
    event = await device.create_query(QueryType.EVENT)
    ctx.begin(disjoint)
    for stamp in stamps:
        ctx.end(stamp)
        ctx.draw(3)
    ctx.end(disjoint)
    ctx.end(event)
    assert await ctx.get_data(event, wait=True) is True
    assert await ctx.get_data(event) is True
    values = [await ctx.get_data(s, wait=True) for s in stamps]
    assert values == sorted(values)
    result = await ctx.get_data(disjoint, wait=True)
    assert result.frequency > 1000
    assert result.disjoint is False


async def test_stream_output_statistics_by_stream(lab: Lab) -> None:
    source = """
    struct V { uint id : ID; }; struct A { uint a : A; }; struct B { uint b : B; };
    V vs(uint id : SV_VertexID) { V v; v.id = id; return v; }
    [maxvertexcount(4)] void gs(point V v[1], inout PointStream<A> s0, inout PointStream<B> s1) { A a; B b; a.a = b.b = v[0].id; s0.Append(a); for (int i = 0; i < 3; i++) s1.Append(b); }
    """
    ctx, device = lab.ctx, lab.device
    await lab.vs(source)
    await lab.stream_output(hlsl.compile(source, "gs", "gs_5_0"), [(0, "A", 0, 0, 1, 0), (1, "B", 0, 0, 1, 1)], [4, 4])
    buffers = [await device.create_buffer(n * 4, bind_flags=BindFlag.STREAM_OUTPUT) for n in (16, 10)]
    ctx.so_set_targets(buffers, [0, 0])
    lab.topology(PrimitiveTopology.POINTLIST)
    kinds = [QueryType.SO_STATISTICS, QueryType.SO_STATISTICS_STREAM0, QueryType.SO_STATISTICS_STREAM1, QueryType.SO_STATISTICS_STREAM2]
    kinds += [QueryType.SO_OVERFLOW_PREDICATE, QueryType.SO_OVERFLOW_PREDICATE_STREAM0, QueryType.SO_OVERFLOW_PREDICATE_STREAM1]
    queries = [await device.create_query(k) for k in kinds]
    for query in queries:
        ctx.begin(query)
    ctx.draw(5)
    for query in queries:
        ctx.end(query)
    got: list[Any] = [await ctx.get_data(q, wait=True) for q in queries]
    assert [tuple(v) for v in got[1:4]] == [(5, 5), (10, 15), (0, 0)]
    assert tuple(got[0]) == (5, 5)
    assert got[4:] == [True, False, True]


async def test_predication(lab: Lab) -> None:
    """Draws, clears, copies and dispatches hang on a predicate; each is skipped where its value is the given one."""
    ctx, device = lab.ctx, lab.device
    texture, rtv = await lab.target(4, 4)
    copy = await device.create_texture2d(width=4, height=4, format=Format.R32G32B32A32_FLOAT)
    counter, uav = await lab.structured(np.zeros(1, np.uint32), 4, uav=True)
    await lab.full(WHITE)
    await lab.cs("RWStructuredBuffer<uint> n : register(u0); [numthreads(1, 1, 1)] void cs() { n[0]++; }")
    ctx.cs_set_unordered_access_views(0, [uav])
    seen, hidden = [await device.create_predicate(QueryType.OCCLUSION_PREDICATE) for _ in range(2)]
    ctx.begin(seen)
    ctx.draw(3)
    ctx.end(seen)
    ctx.begin(hidden)
    ctx.end(hidden)
    runs = 0
    for predicate, value in ((seen, False), (seen, True), (hidden, False), (hidden, True), (None, False)):
        ctx.set_predication(None)
        ctx.clear_render_target_view(rtv, (0, 0, 0, 0))
        ctx.copy_resource(copy, texture)
        ctx.set_predication(predicate, value)
        ctx.draw(3)
        ctx.dispatch(1)
        ctx.copy_resource(copy, texture)
        ctx.set_predication(None)
        result = predicate is seen
        done = predicate is None or result != value
        runs += done
        assert (await ctx.read_texture(texture)).any() == done, (predicate, value)
        assert (await ctx.read_texture(copy)).any() == done
        ctx.set_predication(predicate, value)
        ctx.clear_render_target_view(rtv, (5, 5, 5, 5))
        ctx.set_predication(None)
        assert ((await ctx.read_texture(texture)) == 5).all() == done
    assert (await ctx.read_buffer(counter, np.uint32)).tolist() == [runs]
    assert await ctx.get_data(seen, wait=True) is True
    assert await ctx.get_data(hidden, wait=True) is False
