"""Tessellation, geometry shaders and stream output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wddm
from tests.stack.d3d11.lab import FULL, Lab, coverage, patches
from wddm import BindFlag, Format, PrimitiveTopology, hlsl

# ----- tessellation --------------------------------------------------------------------------------------------------------

TESS = """
struct P { float2 p : P; };
struct F { float edges[EDGES] : SV_TessFactor; INSIDE float id : PATCH; };
struct D { float4 at : AT; float4 position : SV_Position; };
cbuffer B : register(b0) { float4 edge; float4 inside; };
P vs(uint id : SV_VertexID) { P p; p.p = id; return p; }
F constants(InputPatch<P, 3> p, uint id : SV_PrimitiveID) {
    F f; [unroll] for (int i = 0; i < EDGES; i++) f.edges[i] = edge[i]; SET f.id = id; return f; }
[domain("DOMAIN")] [partitioning("PARTITIONING")] [outputtopology("TOPOLOGY")] [outputcontrolpoints(3)] [patchconstantfunc("constants")]
P hs(InputPatch<P, 3> p, uint i : SV_OutputControlPointID) { P o; o.p = p[i].p + float2(0, i * 100); return o; }
[domain("DOMAIN")] D ds(F f, COORD at : SV_DomainLocation, const OutputPatch<P, 3> p) {
    D d; d.at = float4(at, PAD f.id); d.position = float4(p[0].p.x, p[1].p.y, p[2].p); return d; }
"""


def tessellator(domain: str, partitioning: str, topology: str) -> str:
    """The source for a domain."""
    edges = {"tri": 3, "quad": 4, "isoline": 2}[domain]
    inside = {"tri": "float inside_ : SV_InsideTessFactor;", "quad": "float inside_[2] : SV_InsideTessFactor;", "isoline": ""}[domain]
    fill = {"tri": "f.inside_ = inside.x;", "quad": "f.inside_[0] = inside.x; f.inside_[1] = inside.y;", "isoline": ""}[domain]
    coordinates, pad = ("float3", "") if domain == "tri" else ("float2", "0,")
    source = TESS
    for name, value in (
        ("EDGES", str(edges)), ("INSIDE", inside), ("SET", fill), ("DOMAIN", domain), ("PARTITIONING", partitioning),
        ("TOPOLOGY", topology), ("COORD", coordinates), ("PAD", pad),
    ):  # fmt: skip
        source = source.replace(name, value)
    return source


async def tessellate(
    lab: Lab, domain: str, partitioning: str, topology: str, edge: tuple[float, ...], inside: tuple[float, ...] = (1, 1), count: int = 1
) -> Any:
    """Domain points in the order of the primitives' vertices: (n, 3) and the patch of each, streamed from the domain shader."""
    source = tessellator(domain, partitioning, topology)
    ctx = lab.ctx
    await lab.vs(source)
    await lab.hs(source)
    blob = hlsl.compile(source, "ds", "ds_5_0")
    ctx.ds_set_shader(await lab.device.create_domain_shader(blob))
    await lab.stream_output(blob, [(0, "AT", 0, 0, 4), (0, "SV_Position", 0, 0, 4)], [32])
    ctx.hs_set_constant_buffers(0, [await lab.constants(*edge, *[0] * (4 - len(edge)), *inside, *[0] * (4 - len(inside)))])
    out = await lab.device.create_buffer(np.full(32768, -7, np.float32), bind_flags=BindFlag.STREAM_OUTPUT)
    ctx.so_set_targets([out], [0])
    lab.topology(patches(3))
    ctx.draw(3 * count)
    rows = (await ctx.read_buffer(out, np.float32)).reshape(-1, 8)
    rows = rows[rows[:, 3] >= 0]
    # The hull shader passed its control points: number and a hundred for each place.
    for number, row in enumerate(rows[:, 4:]):
        first = 3 * rows[number, 3]
        assert row.tolist() == [first, first + 101, first + 2, first + 202]
    return rows[:, :4]


def areas(points: Any) -> Any:
    """Twice the signed area of each triangle in the plane of (u, v)."""
    t = points.reshape(-1, 3, 4)[:, :, :2].astype(np.float64)
    (ax, ay), (bx, by) = (t[:, 1] - t[:, 0]).T, (t[:, 2] - t[:, 0]).T
    return ax * by - ay * bx


@pytest.mark.parametrize("partitioning", ["integer", "pow2", "fractional_even", "fractional_odd"])
async def test_triangle_and_quad_domains_are_filled(lab: Lab, partitioning: str) -> None:
    """Triangles turn one way and add up to the whole domain; edges have the points that their factor asks for."""
    for domain, whole in (("tri", 0.5), ("quad", 1.0)):
        for edge, inside in (((1, 1, 1, 1), (1, 1)), ((2, 3, 5, 4), (3, 4)), ((2.5, 1.2, 3.7, 6), (2.3, 3.1)), ((64, 1, 7, 2), (5, 2))):
            points = await tessellate(lab, domain, partitioning, "triangle_cw", edge[: 3 if domain == "tri" else 4], inside)
            if domain == "tri":
                np.testing.assert_allclose(points[:, :3].sum(1), 1, atol=1e-6)
            assert ((points[:, :2] >= 0) & (points[:, :2] <= 1)).all()
            turned = areas(points)
            turned = turned[np.abs(turned) > 1e-9]
            assert (turned > 0).all() or (turned < 0).all(), (domain, edge)
            np.testing.assert_allclose(np.abs(turned).sum() / 2, whole, atol=1e-5, err_msg=f"{domain} {edge}")
            # Factor 0 is the edge u = 0 for both domains.
            rounded = {
                "integer": np.ceil(edge[0]), "pow2": 2 ** np.ceil(np.log2(edge[0])),
                "fractional_even": max(2, 2 * np.ceil(edge[0] / 2)), "fractional_odd": 2 * np.ceil((min(edge[0], 63) - 1) / 2) + 1,
            }[partitioning]  # fmt: skip
            on_edge = np.unique(points[points[:, 0] == 0][:, 1])
            assert len(on_edge) == rounded + 1, (domain, edge)


async def test_integer_factors_make_these_points(lab: Lab) -> None:
    points = await tessellate(lab, "quad", "integer", "triangle_cw", (2, 1, 2, 1), (2, 1))
    # Factors 0 and 2 are the edges u = 0 and u = 1. An inside factor of 1 beside one that is not becomes 2.
    assert set(map(tuple, points[:, :2].tolist())) == {(0, 0), (1, 0), (0, 1), (1, 1), (0, 0.5), (1, 0.5), (0.5, 0.5)}
    one = await tessellate(lab, "tri", "integer", "triangle_cw", (1, 1, 1), (1,))
    assert sorted(map(tuple, one[:, :3].tolist())) == [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    fan = await tessellate(lab, "tri", "integer", "triangle_cw", (1, 1, 1), (2,))
    third = [p for p in fan[:, :3].tolist() if p not in ([0, 0, 1], [0, 1, 0], [1, 0, 0])]
    np.testing.assert_allclose(third, 1 / 3, atol=1e-4)
    assert len(fan) == 9


async def test_output_windings_are_opposite(lab: Lab) -> None:
    for domain in ("tri", "quad"):
        edge, inside = (3, 2, 4, 2)[: 3 if domain == "tri" else 4], (3, 3)
        clockwise = areas(await tessellate(lab, domain, "integer", "triangle_cw", edge, inside))
        counter = areas(await tessellate(lab, domain, "integer", "triangle_ccw", edge, inside))
        assert len(clockwise) == len(counter)
        assert np.sign(clockwise).min() == np.sign(clockwise).max() == -np.sign(counter).min() == -np.sign(counter).max()


async def test_isolines(lab: Lab) -> None:
    """Factor 0 is the number of lines (density), factor 1 the segments of each (detail); none lies at v = 1."""
    points = await tessellate(lab, "isoline", "integer", "line", (3, 4))
    lines = points.reshape(-1, 2, 4)
    assert len(lines) == 12
    assert np.array_equal(lines[:, 0, 1], lines[:, 1, 1])
    np.testing.assert_allclose(np.unique(points[:, 1]), [0, 1 / 3, 2 / 3], atol=1e-4)
    np.testing.assert_allclose(np.unique(points[:, 0]), [0, 0.25, 0.5, 0.75, 1], atol=1e-4)
    np.testing.assert_allclose(lines[:, 1, 0] - lines[:, 0, 0], 0.25, atol=1e-4)


async def test_point_output_and_culled_patches(lab: Lab) -> None:
    points = await tessellate(lab, "quad", "integer", "point", (2, 2, 2, 2), (2, 2))
    assert sorted(map(tuple, points[:, :2].tolist())) == [(x / 2, y / 2) for x in range(3) for y in range(3)]
    for edge in ((0, 2, 2), (2, -1, 2), (2, 2, float("nan"))):
        assert not len(await tessellate(lab, "tri", "integer", "triangle_cw", edge, (2,)))
    two = await tessellate(lab, "tri", "integer", "triangle_cw", (1, 1, 1), (1,), count=2)
    assert two[:, 3].tolist() == [0, 0, 0, 1, 1, 1]


async def test_hull_shader_phases_see_each_other(lab: Lab) -> None:
    """More control points out than in, constants computed from the output points, both read by the domain shader."""
    source = """
    struct P { float v : V; };
    struct Q { float w : W; };
    struct F { float e[3] : SV_TessFactor; float i : SV_InsideTessFactor; float sum : SUM; float product : PRODUCT; };
    struct D { float4 r : R; };
    P vs(uint id : SV_VertexID) { P p; p.v = id + 1; return p; }
    F constants(InputPatch<P, 2> p, OutputPatch<Q, 5> q) { F f; f.e[0] = f.e[1] = f.e[2] = f.i = 1; f.product = p[0].v * p[1].v;
        f.sum = 0; for (int i = 0; i < 5; i++) f.sum += q[i].w; return f; }
    [domain("tri")] [partitioning("integer")] [outputtopology("point")] [outputcontrolpoints(5)] [patchconstantfunc("constants")]
    Q hs(InputPatch<P, 2> p, uint i : SV_OutputControlPointID, uint prim : SV_PrimitiveID) { Q q; q.w = p[i & 1].v * 10 + i + prim * 1000; return q; }
    [domain("tri")] D ds(F f, float3 at : SV_DomainLocation, const OutputPatch<Q, 5> q, uint prim : SV_PrimitiveID) {
        D d; d.r = float4(f.sum, f.product, q[4].w, prim); return d; }
    """
    ctx = lab.ctx
    await lab.vs(source)
    await lab.hs(source)
    blob = hlsl.compile(source, "ds", "ds_5_0")
    ctx.ds_set_shader(await lab.device.create_domain_shader(blob))
    await lab.stream_output(blob, [(0, "R", 0, 0, 4)], [16])
    out = await lab.device.create_buffer(96, bind_flags=BindFlag.STREAM_OUTPUT)
    ctx.so_set_targets([out], [0])
    lab.topology(patches(2))
    ctx.draw(4)
    rows = (await ctx.read_buffer(out, np.float32)).reshape(6, 4)
    for prim in range(2):
        a, b = prim * 2 + 1, prim * 2 + 2
        w = [(a, b)[i & 1] * 10 + i + prim * 1000 for i in range(5)]
        assert rows[prim * 3 : prim * 3 + 3].tolist() == [[sum(w), a * b, w[4], prim]] * 3


async def test_a_tessellated_quad_fills_the_target(lab: Lab) -> None:
    source = """
    struct P { float2 p : P; };
    struct F { float e[4] : SV_TessFactor; float i[2] : SV_InsideTessFactor; };
    struct D { float4 position : SV_Position; float2 uv : UV; };
    P vs(uint id : SV_VertexID) { P p; p.p = float2(id & 1, id >> 1); return p; }
    F constants(InputPatch<P, 4> p) { F f; f.e[0] = 3.3; f.e[1] = 2; f.e[2] = 7.5; f.e[3] = 1; f.i[0] = 4.2; f.i[1] = 3; return f; }
    [domain("quad")] [partitioning("fractional_odd")] [outputtopology("triangle_cw")] [outputcontrolpoints(4)] [patchconstantfunc("constants")]
    P hs(InputPatch<P, 4> p, uint i : SV_OutputControlPointID) { return p[i]; }
    [domain("quad")] D ds(F f, float2 uv : SV_DomainLocation, const OutputPatch<P, 4> p) {
        D d; d.uv = lerp(lerp(p[0].p, p[1].p, uv.x), lerp(p[2].p, p[3].p, uv.x), uv.y);
        d.position = float4(d.uv * float2(2, -2) + float2(-1, 1), 0, 1); return d; }
    float4 ps(D d) : SV_Target { return float4(d.uv, 0, 1); }
    """
    target, _ = await lab.target(16, 16)
    await lab.vs(source)
    await lab.hs(source)
    await lab.ds(source)
    await lab.ps(source)
    lab.topology(patches(4))
    lab.ctx.draw(4)
    y, x = (np.mgrid[0:16, 0:16] + 0.5) / 16
    # Clockwise in domain space with v down is front-facing; nothing is culled, nothing left out.
    np.testing.assert_allclose(await lab.ctx.read_texture(target), np.stack([x, y, x * 0, x * 0 + 1], 2), atol=5e-4)


# ----- geometry shaders ----------------------------------------------------------------------------------------------------


async def test_geometry_streams_and_instances(lab: Lab) -> None:
    """Four streams to four buffers, two instances, and a stream that appends at an offset of its own."""
    source = """
    struct V { uint id : ID; };
    struct A { float4 a : A; };
    struct B { uint2 b : B; };
    V vs(uint id : SV_VertexID) { V v; v.id = id; return v; }
    [instance(2)] [maxvertexcount(8)]
    void gs(point V v[1], uint n : SV_GSInstanceID, inout PointStream<A> s0, inout PointStream<B> s1, inout PointStream<A> s2, inout PointStream<B> s3) {
        A a; B b;
        a.a = float4(v[0].id, n, 0.5, -1); b.b = uint2(v[0].id * 100 + n, 7);
        s0.Append(a);
        for (uint i = 0; i <= v[0].id; i++) { b.b.y = i; s1.Append(b); }
        a.a.z = 9; s2.Append(a);
        if (v[0].id & 1) { b.b = uint2(n, v[0].id); s3.Append(b); } }
    """
    device, ctx = lab.device, lab.ctx
    await lab.vs(source)
    declaration = [(0, "A", 0, 0, 2, 0), (0, None, 0, 0, 1, 0), (0, "A", 0, 3, 1, 0), (1, "B", 0, 0, 2, 1), (2, "A", 0, 2, 1, 2), (3, "B", 0, 1, 1, 3)]
    await lab.stream_output(hlsl.compile(source, "gs", "gs_5_0"), declaration, [16, 8, 4, 4])
    buffers = [await device.create_buffer(np.full(64, 55, np.uint32), bind_flags=BindFlag.STREAM_OUTPUT) for _ in range(4)]
    ctx.so_set_targets(buffers, [0, 0, 8, 0])
    lab.topology(PrimitiveTopology.POINTLIST)
    ctx.draw(3)
    data = [await ctx.read_buffer(b, np.uint32) for b in buffers]
    pairs = [(id, n) for id in range(3) for n in range(2)]
    first = data[0][:24].reshape(6, 4)
    assert first.view(np.float32)[:, [0, 1, 3]].tolist() == [[id, n, -1] for id, n in pairs]
    assert (first[:, 2] == 55).all()
    want = [[id * 100 + n, i] for id, n in pairs for i in range(id + 1)]
    assert data[1][: 2 * len(want)].reshape(-1, 2).tolist() == want
    assert data[2][:2].tolist() == [55, 55]
    assert data[2][2:8].view(np.float32).tolist() == [9] * 6
    assert data[2][8] == 55
    assert data[3][:3].tolist() == [1, 1, 55]


async def test_strips_and_cuts_of_a_geometry_shader(lab: Lab) -> None:
    """Strips become lists with their winding kept; RestartStrip ends one; incomplete primitives are dropped."""
    source = """
    struct V { uint id : ID; };
    V vs(uint id : SV_VertexID) { V v; v.id = id; return v; }
    [maxvertexcount(9)] void gs(point V v[1], inout TriangleStream<V> s) { V o;
        for (uint i = 0; i < 5; i++) { o.id = i; s.Append(o); }
        s.RestartStrip(); o.id = 10; s.Append(o); s.Append(o);
        s.RestartStrip(); o.id = 20; s.Append(o); o.id = 21; s.Append(o); }
    [maxvertexcount(5)] void lines(point V v[1], inout LineStream<V> s) { V o;
        for (uint i = 0; i < 3; i++) { o.id = i; s.Append(o); }
        s.RestartStrip(); for (uint j = 5; j < 7; j++) { o.id = j; s.Append(o); } }
    """
    await lab.vs(source)
    lab.topology(PrimitiveTopology.POINTLIST)
    for entry, want in (("gs", [0, 1, 2, 1, 3, 2, 2, 3, 4]), ("lines", [0, 1, 1, 2, 5, 6])):
        await lab.stream_output(hlsl.compile(source, entry, "gs_5_0"), [(0, "ID", 0, 0, 1)], [4])
        out = await lab.device.create_buffer(np.full(64, 55, np.uint32), bind_flags=BindFlag.STREAM_OUTPUT)
        lab.ctx.so_set_targets([out], [0])
        lab.ctx.draw(1)
        got = await lab.ctx.read_buffer(out, np.uint32)
        assert got[: len(want)].tolist() == want
        assert (got[len(want) :] == 55).all()


async def test_a_geometry_shader_gets_the_primitive_number_and_passes_it(lab: Lab) -> None:
    source = FULL + """
    struct G { float4 position : SV_Position; uint prim : SV_PrimitiveID; };
    [maxvertexcount(4)] void gs(point Full f[1], uint prim : SV_PrimitiveID, inout TriangleStream<G> s) { G g;
        for (int i = 0; i < 4; i++) { float2 c = float2(i & 1, i >> 1) * 0.5 + float2(prim & 1, prim >> 1) * 1 - 1;
            g.position = float4(c.x, -c.y, 0, 1); g.prim = prim + 40; s.Append(g); } }
    uint ps(G g) : SV_Target { return g.prim; }
    """
    target, _ = await lab.target(8, 8, Format.R32_UINT)
    await lab.vs(source, "full_vs")
    await lab.gs(source)
    await lab.ps(source)
    await lab.rasterizer()
    lab.topology(PrimitiveTopology.POINTLIST)
    lab.ctx.draw(4)
    want = np.zeros((8, 8), int)
    for prim in range(4):
        want[(prim >> 1) * 4 : (prim >> 1) * 4 + 2, (prim & 1) * 4 : (prim & 1) * 4 + 2] = prim + 40
    np.testing.assert_array_equal((await lab.ctx.read_texture(target))[..., 0], want)


async def test_the_pixel_shader_numbers_primitives_itself(lab: Lab) -> None:
    source = FULL + "uint ps(float4 p : SV_Position, uint prim : SV_PrimitiveID) : SV_Target { return prim + 1; }"
    target, _ = await lab.target(4, 4, Format.R32_UINT)
    await lab.vs(source, "full_vs")
    await lab.ps(source)
    lab.topology(PrimitiveTopology.TRIANGLELIST)
    indices = np.array([0, 0, 1, 0, 1, 2, 3, 3, 3], np.uint16)
    lab.ctx.ia_set_index_buffer(await lab.device.create_buffer(indices, bind_flags=BindFlag.INDEX_BUFFER), Format.R16_UINT)
    lab.ctx.draw_indexed(9)
    assert ((await lab.ctx.read_texture(target)) == 2).all()


# ----- stream output -------------------------------------------------------------------------------------------------------

PASS = """
struct V { float4 position : SV_Position; float4 color : COLOR; };
V vs(uint id : SV_VertexID) { V v; v.position = float4(float2((id << 1) & 2, id & 2) * float2(2, -2) + float2(-1, 1), 0.5, 1);
    v.color = float4(id % 3, 0.25, 0.5, 1); return v; }
V again(float4 p : POSITION, float4 c : COLOR) { V v; v.position = p; v.color = c * float4(1, 2, 2, 1); return v; }
float4 ps(V v) : SV_Target { return float4(v.color.yzw, 1); }
"""


async def test_draw_auto_and_rasterized_streams(lab: Lab) -> None:
    """Vertices streamed out and rasterized at once, appended by a second draw, then drawn by their own count."""
    device, ctx = lab.device, lab.ctx
    target, view = await lab.target(4, 4)
    await lab.vs(PASS)
    await lab.ps(PASS)
    lab.topology(PrimitiveTopology.TRIANGLELIST)
    vs_blob = hlsl.compile(PASS, "vs", "vs_5_0")
    declaration = [(0, "SV_Position", 0, 0, 4), (0, "COLOR", 0, 0, 4)]
    await lab.stream_output(vs_blob, declaration, [32], rasterized=0)
    out = await device.create_buffer(32 * 9, bind_flags=BindFlag.STREAM_OUTPUT | BindFlag.VERTEX_BUFFER)
    ctx.so_set_targets([out], [0])
    ctx.draw(3)
    np.testing.assert_allclose(await ctx.read_texture(target), np.broadcast_to([0.25, 0.5, 1, 1], (4, 4, 4)))
    ctx.so_set_targets([out], [0xFFFFFFFF])
    ctx.draw(3)
    ctx.so_set_targets([None], [0])
    ctx.gs_set_shader(None)
    blob = hlsl.compile(PASS, "again", "vs_5_0")
    ctx.vs_set_shader(await device.create_vertex_shader(blob))
    layout = [("POSITION", 0, wddm.Format.R32G32B32A32_FLOAT, 0, 0), ("COLOR", 0, wddm.Format.R32G32B32A32_FLOAT, 0, 16)]
    ctx.ia_set_input_layout(await device.create_input_layout(layout, blob))
    ctx.ia_set_vertex_buffers(0, [out], [32], [0])
    query = await device.create_query(wddm.QueryType.PIPELINE_STATISTICS)
    ctx.clear_render_target_view(view, (0, 0, 0, 0))
    ctx.begin(query)
    ctx.draw_auto()
    ctx.end(query)
    np.testing.assert_allclose(await ctx.read_texture(target), np.broadcast_to([0.5, 1, 1, 1], (4, 4, 4)))
    statistics = await ctx.get_data(query, wait=True)
    assert (statistics.ia_vertices, statistics.ia_primitives) == (6, 2)


async def test_stream_output_stops_where_a_buffer_ends(lab: Lab) -> None:
    """A primitive that does not fit whole is not written; statistics count what was needed."""
    device, ctx = lab.device, lab.ctx
    source = "struct V { float4 p : SV_Position; float4 q : Q; }; V vs(uint id : SV_VertexID) { V v; v.p = id; v.q = id + 0.5; return v; }"
    await lab.vs(source)
    await lab.stream_output(hlsl.compile(source, "vs", "vs_5_0"), [(0, "Q", 0, 0, 1, 0), (0, "SV_Position", 0, 0, 1, 1)], [4, 4])
    big = await device.create_buffer(np.full(16, -1, np.float32), bind_flags=BindFlag.STREAM_OUTPUT)
    small = await device.create_buffer(np.full(8, -1, np.float32), bind_flags=BindFlag.STREAM_OUTPUT)
    ctx.so_set_targets([big, small], [0, 0])
    lab.topology(PrimitiveTopology.TRIANGLELIST)
    statistics = await device.create_query(wddm.QueryType.SO_STATISTICS)
    overflow = await device.create_predicate(wddm.QueryType.SO_OVERFLOW_PREDICATE)
    ctx.begin(statistics)
    ctx.begin(overflow)
    ctx.draw(12)
    ctx.end(overflow)
    ctx.end(statistics)
    got = await ctx.get_data(statistics, wait=True)
    assert (got.num_primitives_written, got.primitives_storage_needed) == (2, 4)
    assert await ctx.get_data(overflow, wait=True) is True
    assert (await ctx.read_buffer(small, np.float32)).tolist() == [0, 1, 2, 3, 4, 5, -1, -1]
    # Both buffers or none: the vertices of the third triangle are in neither.
    assert (await ctx.read_buffer(big, np.float32)).tolist() == [n + 0.5 for n in range(6)] + [-1] * 10


async def test_stream_output_of_strips(lab: Lab) -> None:
    source = "struct V { uint id : ID; }; V vs(uint id : SV_VertexID) { V v; v.id = id; return v; }"
    await lab.vs(source)
    await lab.stream_output(hlsl.compile(source, "vs", "vs_5_0"), [(0, "ID", 0, 0, 1)], [4])
    for topology, want in (
        (PrimitiveTopology.TRIANGLESTRIP, [0, 1, 2, 1, 3, 2, 2, 3, 4]),
        (PrimitiveTopology.LINESTRIP, [0, 1, 1, 2, 2, 3, 3, 4]),
        (PrimitiveTopology.LINELIST_ADJ, [1, 2]),
        (PrimitiveTopology.POINTLIST, [0, 1, 2, 3, 4]),
    ):
        out = await lab.device.create_buffer(np.full(16, 55, np.uint32), bind_flags=BindFlag.STREAM_OUTPUT)
        lab.ctx.so_set_targets([out], [0])
        lab.topology(topology)
        lab.ctx.draw(5)
        assert (await lab.ctx.read_buffer(out, np.uint32)).tolist() == want + [55] * (16 - len(want)), topology.name


async def test_a_vertex_shader_reads_textures_and_buffers(lab: Lab) -> None:
    """Every stage before the rasterizer has resources, samplers and constants of its own."""
    source = """
    Texture2D<float4> t : register(t2); SamplerState s : register(s1); Buffer<uint> b : register(t3); cbuffer C : register(b1) { float4 c; };
    struct V { float4 r : R; };
    V vs(uint id : SV_VertexID) { V v; v.r = t.SampleLevel(s, float2(0.5, 0.5), 0) * b[id] + c; return v; }
    [maxvertexcount(1)] void gs(point V v[1], inout PointStream<V> o) { V w; w.r = v[0].r + t.Load(int3(1, 0, 0)) + c; o.Append(w); }
    """
    ctx = lab.ctx
    pixels = np.array([[[0, 0, 0, 0], [8, 4, 2, 1]]], np.float32)
    _, one = await lab.texture(pixels)
    _, two = await lab.texture(pixels * 10)
    _, numbers = await lab.typed(np.array([3, 5], np.uint8), Format.R8_UINT)
    await lab.vs(source)
    await lab.stream_output(hlsl.compile(source, "gs", "gs_5_0"), [(0, "R", 0, 0, 4)], [16])
    ctx.vs_set_shader_resources(2, [one, numbers])
    ctx.vs_set_samplers(1, [await lab.sampler()])
    ctx.vs_set_constant_buffers(1, [await lab.constants(1, 2, 3, 4)])
    ctx.gs_set_shader_resources(2, [two])
    ctx.gs_set_constant_buffers(1, [await lab.constants(100, 200, 300, 400)])
    out = await lab.device.create_buffer(32, bind_flags=BindFlag.STREAM_OUTPUT)
    ctx.so_set_targets([out], [0])
    lab.topology(PrimitiveTopology.POINTLIST)
    ctx.draw(2)
    got = (await ctx.read_buffer(out, np.float32)).reshape(2, 4)
    for row, n in zip(got, (3, 5), strict=True):
        np.testing.assert_allclose(row, pixels[0, 1] / 2 * n + [1, 2, 3, 4] + pixels[0, 1] * 10 + [100, 200, 300, 400], rtol=1e-6)


async def test_coverage_of_a_drawn_isoline(lab: Lab) -> None:
    source = """
    struct P { float2 p : P; };
    struct F { float e[2] : SV_TessFactor; };
    P vs(uint id : SV_VertexID) { P p; p.p = 0; return p; }
    F constants(InputPatch<P, 1> p) { F f; f.e[0] = 2; f.e[1] = 3; return f; }
    [domain("isoline")] [partitioning("integer")] [outputtopology("line")] [outputcontrolpoints(1)] [patchconstantfunc("constants")]
    P hs(InputPatch<P, 1> p, uint i : SV_OutputControlPointID) { return p[i]; }
    [domain("isoline")] float4 ds(F f, float2 uv : SV_DomainLocation, const OutputPatch<P, 1> p) : SV_Position {
        return float4(uv.x * 2 - 1, 0.75 - uv.y * 2, 0, 1); }
    float4 ps() : SV_Target { return 1; }
    """
    target, _ = await lab.target(8, 4)
    for stage in (lab.vs, lab.hs, lab.ds, lab.ps):
        await stage(source)
    lab.topology(patches(1))
    lab.ctx.draw(1)
    assert coverage(await lab.ctx.read_texture(target)) == ["########", "........", "########", "........"]


async def test_patches_of_32_points_and_held_factors(lab: Lab) -> None:
    """The largest patch, a pass-through hull shader, instances, and a maximum that the shader sets for its factors."""
    source = """
    struct P { float v : V; };
    struct F { float e[3] : SV_TessFactor; float i : SV_InsideTessFactor; };
    struct D { float4 r : R; };
    P vs(uint id : SV_VertexID, uint n : SV_InstanceID) { P p; p.v = id + n * 1000; return p; }
    F constants(InputPatch<P, 32> p) { F f; f.e[0] = f.e[1] = f.e[2] = 50; f.i = 50; return f; }
    [domain("tri")] [partitioning("integer")] [outputtopology("triangle_cw")] [outputcontrolpoints(32)] [patchconstantfunc("constants")] [maxtessfactor(3)]
    P hs(InputPatch<P, 32> p, uint i : SV_OutputControlPointID) { P o; o.v = p[31 - i].v; return o; }
    [domain("tri")] D ds(F f, float3 at : SV_DomainLocation, const OutputPatch<P, 32> p) { float sum = 0; for (int i = 0; i < 32; i++) sum += p[i].v * (i + 1); D d; d.r = float4(sum, p[0].v, p[31].v, at.x); return d; }
    """
    ctx = lab.ctx
    await lab.vs(source)
    await lab.hs(source)
    blob = hlsl.compile(source, "ds", "ds_5_0")
    ctx.ds_set_shader(await lab.device.create_domain_shader(blob))
    await lab.stream_output(blob, [(0, "R", 0, 0, 4)], [16])
    out = await lab.device.create_buffer(np.full(4096, -1, np.float32), bind_flags=BindFlag.STREAM_OUTPUT)
    ctx.so_set_targets([out], [0])
    lab.topology(patches(32))
    ctx.draw_instanced(64, 2)
    rows = (await ctx.read_buffer(out, np.float32)).reshape(-1, 4)
    rows = rows[rows[:, 1] >= 0]
    # Integer factors of 3: 13 triangles of each of the four patches.
    assert len(rows) == 4 * 13 * 3
    for patch in range(4):
        first = (patch % 2) * 32 + patch // 2 * 1000
        part = rows[patch * 39 : patch * 39 + 39]
        total = sum((first + 31 - i) * (i + 1) for i in range(32))
        np.testing.assert_allclose(part[:, 0], total, rtol=1e-6)
        assert (part[:, 1] == first + 31).all()
        assert (part[:, 2] == first).all()
        assert set(np.round(part[:, 3] * 9).astype(int)) == {0, 1, 3, 4, 6, 9} or len(set(part[:, 3])) >= 4


async def test_a_geometry_shader_sees_neighbours_and_tessellated_triangles(lab: Lab) -> None:
    """Silhouette-like use of adjacency, and a geometry shader behind the tessellator."""
    source = """
    struct V { float4 p : SV_Position; float n : N; };
    struct P { float2 p : P; };
    struct F { float e[4] : SV_TessFactor; float i[2] : SV_InsideTessFactor; };
    P vs(uint id : SV_VertexID) { P p; p.p = float2(id & 1, id >> 1); return p; }
    F constants(InputPatch<P, 4> p) { F f; f.e[0] = f.e[1] = f.e[2] = f.e[3] = 4; f.i[0] = f.i[1] = 4; return f; }
    [domain("quad")] [partitioning("integer")] [outputtopology("triangle_ccw")] [outputcontrolpoints(4)] [patchconstantfunc("constants")]
    P hs(InputPatch<P, 4> p, uint i : SV_OutputControlPointID) { return p[i]; }
    [domain("quad")] V ds(F f, float2 uv : SV_DomainLocation, const OutputPatch<P, 4> p) { V v; v.p = float4(uv * 2 - 1, 0, 1); v.n = 0; return v; }
    [maxvertexcount(3)] void gs(triangle V t[3], uint id : SV_PrimitiveID, inout TriangleStream<V> s) { float2 c = (t[0].p + t[1].p + t[2].p).xy / 3; for (int i = 0; i < 3; i++) { V v = t[i]; v.n = floor((c.x + 1) * 2) + 4 * floor((c.y + 1) * 2); s.Append(v); } }
    float4 ps(V v) : SV_Target { return float4(v.n, 0, 0, 1); }
    """
    target, _ = await lab.target(8, 8)
    for stage in (lab.vs, lab.hs, lab.ds, lab.gs, lab.ps):
        await stage(source)
    await lab.rasterizer()
    lab.topology(patches(4))
    lab.ctx.draw(4)
    y, x = np.mgrid[0:8, 0:8]
    np.testing.assert_allclose((await lab.ctx.read_texture(target))[..., 0], x // 2 + 4 * ((7 - y) // 2), atol=1e-4)
