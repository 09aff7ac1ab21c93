"""Draws: every topology, indices and strip cuts, instances, indirect arguments, the input assembler's formats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wddm
from tests.stack.d3d11.lab import Lab, coverage, point
from wddm import BindFlag, Format, PrimitiveTopology, ResourceMiscFlag, hlsl

#: A geometry shader for each kind of primitive that streams the numbers of the vertices it gets.
IDS = """
struct V { uint id : ID; };
struct Row { uint4 a : A; uint4 b : B; };
V vs(uint id : SV_VertexID) { V v; v.id = id; return v; }
[maxvertexcount(1)] void gs(KIND V v[COUNT], uint prim : SV_PrimitiveID, inout PointStream<Row> s)
{
    uint ids[6] = { 99, 99, 99, 99, 99, 99 };
    for (int i = 0; i < COUNT; i++) ids[i] = v[i].id;
    Row r; r.a = uint4(prim, ids[0], ids[1], ids[2]); r.b = uint4(ids[3], ids[4], ids[5], COUNT); s.Append(r);
}
"""
ROW = [(0, "A", 0, 0, 4), (0, "B", 0, 0, 4)]


async def assembled(lab: Lab, kind: str, count: int, topology: int, vertices: int, indices: Any = None) -> list[list[int]]:
    """The vertex numbers of each primitive that arrives, and check that primitives are numbered in order."""
    source = IDS.replace("KIND", kind).replace("COUNT", str(count))
    await lab.vs(source)
    await lab.stream_output(hlsl.compile(source, "gs", "gs_5_0"), ROW, [32])
    buffer = await lab.device.create_buffer(np.full(512, 0xEEEEEEEE, np.uint32), bind_flags=BindFlag.STREAM_OUTPUT)
    lab.ctx.so_set_targets([buffer], [0])
    lab.topology(topology)
    if indices is None:
        lab.ctx.draw(vertices)
    else:
        index_buffer = await lab.device.create_buffer(indices, bind_flags=BindFlag.INDEX_BUFFER)
        lab.ctx.ia_set_index_buffer(index_buffer, Format.R16_UINT if indices.itemsize == 2 else Format.R32_UINT)
        lab.ctx.draw_indexed(len(indices))
    rows = (await lab.ctx.read_buffer(buffer, np.uint32)).reshape(-1, 8)
    rows = rows[rows[:, 7] == count]
    assert rows[:, 0].tolist() == list(range(len(rows)))
    return [row[1 : 1 + count].tolist() for row in rows]


ASSEMBLY = [
    ("point", 1, PrimitiveTopology.POINTLIST, 3, [[0], [1], [2]]),
    ("line", 2, PrimitiveTopology.LINELIST, 5, [[0, 1], [2, 3]]),
    ("line", 2, PrimitiveTopology.LINESTRIP, 4, [[0, 1], [1, 2], [2, 3]]),
    ("triangle", 3, PrimitiveTopology.TRIANGLELIST, 8, [[0, 1, 2], [3, 4, 5]]),
    ("triangle", 3, PrimitiveTopology.TRIANGLESTRIP, 6, [[0, 1, 2], [1, 3, 2], [2, 3, 4], [3, 5, 4]]),
    ("lineadj", 4, PrimitiveTopology.LINELIST_ADJ, 8, [[0, 1, 2, 3], [4, 5, 6, 7]]),
    ("lineadj", 4, PrimitiveTopology.LINESTRIP_ADJ, 6, [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]),
    ("triangleadj", 6, PrimitiveTopology.TRIANGLELIST_ADJ, 12, [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]),
    # Vertices 0, 2, 4… make the strip, the odd ones are its neighbours; the last triangle's far neighbour is the last vertex.
    ("triangleadj", 6, PrimitiveTopology.TRIANGLESTRIP_ADJ, 6, [[0, 1, 2, 5, 4, 3]]),
    ("triangleadj", 6, PrimitiveTopology.TRIANGLESTRIP_ADJ, 8, [[0, 1, 2, 6, 4, 3], [2, 5, 6, 7, 4, 0]]),
    ("triangleadj", 6, PrimitiveTopology.TRIANGLESTRIP_ADJ, 10, [[0, 1, 2, 6, 4, 3], [2, 5, 6, 8, 4, 0], [4, 2, 6, 9, 8, 7]]),
]


@pytest.mark.parametrize(("kind", "count", "topology", "vertices", "expected"), ASSEMBLY, ids=lambda v: getattr(v, "name", None))
async def test_topologies(lab: Lab, kind: str, count: int, topology: Any, vertices: int, expected: list[list[int]]) -> None:
    got = await assembled(lab, kind, count, topology, vertices)
    assert len(got) == len(expected)
    for have, want in zip(got, expected, strict=True):
        if topology is PrimitiveTopology.TRIANGLESTRIP_ADJ:
            # Where the cycle of a strip's odd triangle starts is told apart from which vertices are opposite which.
            assert _cycle(have, 2) == _cycle(want, 2)
        else:
            assert have == want


def _cycle(row: list[int], step: int) -> list[int]:
    """The rotation of a cycle of vertices and neighbours that starts with its smallest vertex."""
    return min(row[k:] + row[:k] for k in range(0, len(row), step))


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
async def test_strip_cut_indices(lab: Lab, dtype: Any) -> None:
    cut = np.iinfo(dtype).max
    indices = np.array([5, 6, 7, 8, cut, cut, 1, 2, cut, 3, 4, 9], dtype)
    got = await assembled(lab, "triangle", 3, PrimitiveTopology.TRIANGLESTRIP, 0, indices)
    assert got == [[5, 6, 7], [6, 8, 7], [3, 4, 9]]
    got = await assembled(lab, "line", 2, PrimitiveTopology.LINESTRIP, 0, indices)
    assert got == [[5, 6], [6, 7], [7, 8], [1, 2], [3, 4], [4, 9]]
    # A list knows no cuts: the value is an index like any other.
    got = await assembled(lab, "line", 2, PrimitiveTopology.LINELIST, 0, indices)
    assert got == [[5, 6], [7, 8], [cut, cut], [1, 2], [cut, 3], [4, 9]]


NUMBERS = """
struct V { uint4 n : N; };
V vs(uint4 v : VALUE, uint4 i : INSTANCE, uint4 slow : SLOW, uint id : SV_VertexID, uint instance : SV_InstanceID)
{ V o; o.n = uint4(id | instance << 16, v.x, i.x, slow.x); return o; }
"""


async def numbers(lab: Lab) -> Any:
    """Stream out, for each vertex, id and instance and what the three slots gave."""
    blob = hlsl.compile(NUMBERS, "vs", "vs_5_0")
    lab.ctx.vs_set_shader(await lab.device.create_vertex_shader(blob))
    layout = [
        ("VALUE", 0, Format.R32_UINT, 0, 0),
        ("INSTANCE", 0, Format.R32_UINT, 1, 0, 1, 1),
        ("SLOW", 0, Format.R32_UINT, 2, 0, 1, 2),
    ]
    lab.ctx.ia_set_input_layout(await lab.device.create_input_layout(layout, blob))
    buffers = [
        await lab.device.create_buffer(np.arange(32, dtype=np.uint32) + base, bind_flags=BindFlag.VERTEX_BUFFER)
        for base in (100, 200, 300)
    ]
    lab.ctx.ia_set_vertex_buffers(0, buffers, [4, 4, 4], [0, 0, 4])
    await lab.stream_output(blob, [(0, "N", 0, 0, 4)], [16])
    lab.topology(PrimitiveTopology.POINTLIST)
    out = await lab.device.create_buffer(1024, bind_flags=BindFlag.STREAM_OUTPUT)
    lab.ctx.so_set_targets([out], [0])
    return out


def expect_numbers(vertices: list[tuple[int, int]], instances: int, first: int) -> Any:
    """Rows for (SV_VertexID, element) pairs of each instance."""
    return [
        [id | n << 16, 100 + e, 200 + first + n, 301 + first + n // 2] for n in range(instances) for id, e in vertices
    ]


async def test_instances_and_base_vertices(lab: Lab) -> None:
    """SV_VertexID of an indexed draw is the index itself, without the base vertex; SV_InstanceID starts at 0 in every draw."""
    ctx = lab.ctx
    out = await numbers(lab)
    indices = await lab.device.create_buffer(np.array([9, 9, 3, 1, 2, 7], np.uint16), bind_flags=BindFlag.INDEX_BUFFER)
    ctx.ia_set_index_buffer(indices, Format.R16_UINT, 2)
    ctx.draw(2, 5)
    ctx.draw_instanced(2, 3, 4, 2)
    ctx.draw_indexed(3, 1, 6)
    ctx.draw_indexed_instanced(2, 3, 2, -1, 1)
    got = (await ctx.read_buffer(out, np.uint32)).reshape(-1, 4)
    want = expect_numbers([(0, 5), (1, 6)], 1, 0)
    want += expect_numbers([(0, 4), (1, 5)], 3, 2)
    want += expect_numbers([(3, 9), (1, 7), (2, 8)], 1, 0)
    want += expect_numbers([(1, 0), (2, 1)], 3, 1)
    assert got[: len(want)].tolist() == want
    assert not got[len(want) :].any()


async def test_indirect_draws(lab: Lab) -> None:
    ctx = lab.ctx
    out = await numbers(lab)
    indices = await lab.device.create_buffer(np.array([9, 3, 1, 2], np.uint32), bind_flags=BindFlag.INDEX_BUFFER)
    ctx.ia_set_index_buffer(indices, Format.R32_UINT)
    arguments = np.array([77, 2, 2, 3, 1, 2, 2, 1, 0xFFFFFFFF, 3], np.uint32)
    buffer = await lab.device.create_buffer(arguments, misc_flags=ResourceMiscFlag.DRAWINDIRECT_ARGS)
    ctx.draw_instanced_indirect(buffer, 4)
    ctx.draw_indexed_instanced_indirect(buffer, 20)
    got = (await ctx.read_buffer(out, np.uint32)).reshape(-1, 4)
    want = expect_numbers([(0, 3), (1, 4)], 2, 1) + expect_numbers([(3, 2), (1, 0)], 2, 3)
    assert got[: len(want)].tolist() == want
    assert not got[len(want) :].any()


async def test_arguments_that_a_shader_wrote(lab: Lab) -> None:
    ctx = lab.ctx
    buffer = await lab.device.create_buffer(
        np.zeros(8, np.uint32),
        bind_flags=BindFlag.UNORDERED_ACCESS,
        misc_flags=ResourceMiscFlag.DRAWINDIRECT_ARGS | ResourceMiscFlag.BUFFER_ALLOW_RAW_VIEWS,
    )
    view = await lab.device.create_unordered_access_view(buffer, format=Format.R32_TYPELESS, num_elements=8, flags=1)
    await lab.cs("RWByteAddressBuffer b : register(u0); [numthreads(1, 1, 1)] void cs() { b.Store4(0, uint4(3, 2, 7, 0)); b.Store3(16, uint3(2, 3, 1)); }")
    ctx.cs_set_unordered_access_views(0, [view])
    ctx.dispatch(1)
    out = await numbers(lab)
    ctx.draw_instanced_indirect(buffer, 0)
    got = (await ctx.read_buffer(out, np.uint32)).reshape(-1, 4)
    want = expect_numbers([(0, 7), (1, 8), (2, 9)], 2, 0)
    assert got[: len(want)].tolist() == want
    ctx.cs_set_unordered_access_views(0, [None])
    count, counter = await lab.structured(np.zeros(1, np.uint32), 4, uav=True)
    await lab.cs("RWStructuredBuffer<uint> b : register(u0); [numthreads(2, 1, 1)] void cs() { InterlockedAdd(b[0], 1); }")
    ctx.cs_set_unordered_access_views(0, [counter])
    ctx.dispatch_indirect(buffer, 16)
    assert (await ctx.read_buffer(count, np.uint32)).tolist() == [12]


async def test_what_lies_outside_a_vertex_or_index_buffer_is_0(lab: Lab) -> None:
    ctx = lab.ctx
    out = await numbers(lab)
    indices = await lab.device.create_buffer(np.array([1, 40], np.uint32), bind_flags=BindFlag.INDEX_BUFFER)
    ctx.ia_set_index_buffer(indices, Format.R32_UINT)
    ctx.draw_indexed(4)
    ctx.ia_set_vertex_buffers(1, [None], [0], [0])
    ctx.draw(1)
    got = (await ctx.read_buffer(out, np.uint32)).reshape(-1, 4)
    assert got[:5].tolist() == [[1, 101, 200, 301], [40, 0, 200, 301], [0, 100, 200, 301], [0, 100, 200, 301], [0, 100, 0, 301]]


ELEMENTS = [
    (Format.R32G32B32_FLOAT, np.array([1.5, -2, 3], np.float32), [1.5, -2, 3, 1]),
    (Format.R16G16_FLOAT, np.array([0.5, -8], np.float16), [0.5, -8, 0, 1]),
    (Format.R16G16B16A16_SNORM, np.array([32767, -32768, 0, -32767], np.int16), [1, -1, 0, -1]),
    (Format.R16G16_UNORM, np.array([65535, 13107], np.uint16), [1, 0.2, 0, 1]),
    (Format.R8G8B8A8_UNORM, np.array([255, 0, 51, 102], np.uint8), [1, 0, 0.2, 0.4]),
    (Format.B8G8R8A8_UNORM, np.array([255, 0, 51, 102], np.uint8), [0.2, 0, 1, 0.4]),
    (Format.R8G8_SNORM, np.array([-128, 127], np.int8), [-1, 1, 0, 1]),
    (Format.R10G10B10A2_UNORM, np.array([1023 | 0 << 10 | 341 << 20 | 2 << 30], np.uint32), [1, 0, 1 / 3, 2 / 3]),
    (Format.R11G11B10_FLOAT, np.array([0x3C0 | 0x400 << 11 | 0x1E0 << 22], np.uint32), [1, 2, 1, 1]),
]


@pytest.mark.parametrize(("format", "data", "expected"), ELEMENTS, ids=lambda v: getattr(v, "name", ""))
async def test_vertex_formats(lab: Lab, format: Any, data: Any, expected: list[float]) -> None:
    source = "struct V { float4 n : N; }; V vs(float4 v : VALUE) { V o; o.n = v; return o; }"
    blob = hlsl.compile(source, "vs", "vs_5_0")
    lab.ctx.vs_set_shader(await lab.device.create_vertex_shader(blob))
    lab.ctx.ia_set_input_layout(await lab.device.create_input_layout([("VALUE", 0, format, 0, 4)], blob))
    buffer = await lab.device.create_buffer(b"\xaa" * 4 + data.tobytes() + b"\xbb" * 4, bind_flags=BindFlag.VERTEX_BUFFER)
    lab.ctx.ia_set_vertex_buffers(0, [buffer], [data.nbytes + 8], [0])
    await lab.stream_output(blob, [(0, "N", 0, 0, 4)], [16])
    out = await lab.device.create_buffer(16, bind_flags=BindFlag.STREAM_OUTPUT)
    lab.ctx.so_set_targets([out], [0])
    lab.topology(PrimitiveTopology.POINTLIST)
    lab.ctx.draw(1)
    np.testing.assert_allclose(await lab.ctx.read_buffer(out, np.float32), expected, rtol=1e-6)


async def test_primitives_reach_the_rasterizer(lab: Lab) -> None:
    """Each topology without a geometry shader: adjacent vertices are not drawn."""
    size = (8, 4)
    target, view = await lab.target(*size)
    white, red = (1, 1, 1, 1), (1, 0, 0, 1)
    await lab.vertices([point(x + 0.5, y + 0.5, size, color=white if y < 2 else red) for x, y in ((1, 1), (6, 1), (6, 3), (1, 3))])
    for topology, expected in (
        (PrimitiveTopology.POINTLIST, ["........", ".#....#.", "........", ".#....#."]),
        (PrimitiveTopology.LINELIST, ["........", ".#####..", "........", "..#####."]),
        (PrimitiveTopology.LINELIST_ADJ, ["........", "......#.", "......#.", "........"]),
    ):
        lab.ctx.clear_render_target_view(view, (0, 0, 0, 0))
        lab.topology(topology)
        lab.ctx.draw(4)
        assert coverage(await lab.ctx.read_texture(target)) == expected, topology.name


async def test_nothing_is_drawn_by_empty_draws(lab: Lab) -> None:
    target, _ = await lab.target(4, 4)
    await lab.full("float4 ps(Full f) : SV_Target { return 1; }")
    ctx = lab.ctx
    ctx.draw(0)
    ctx.draw(2)
    ctx.draw_instanced(3, 0)
    ctx.draw_instanced(0, 3)
    arguments = await lab.device.create_buffer(np.zeros(4, np.uint32), misc_flags=ResourceMiscFlag.DRAWINDIRECT_ARGS)
    ctx.draw_instanced_indirect(arguments)
    assert not (await ctx.read_texture(target)).any()
    ctx.rs_set_viewports([wddm.Viewport(0, 0, 0, 0)])
    ctx.draw(3)
    assert not (await ctx.read_texture(target)).any()


async def test_integer_vertex_formats_and_narrow_inputs(lab: Lab) -> None:
    """Integers arrive as they are, sign-extended; a shader may take fewer components, and more (0 and 1)."""
    source = """
    struct V { uint4 u : U; int4 s : S; float4 f : F; };
    V vs(uint4 a : A, int4 b : B, float2 c : C) { V v; v.u = a; v.s = b; v.f = float4(c, 0, 0); return v; }
    """
    blob = hlsl.compile(source, "vs", "vs_5_0")
    lab.ctx.vs_set_shader(await lab.device.create_vertex_shader(blob))
    layout = [("A", 0, Format.R16G16_UINT, 0, 0), ("B", 0, Format.R8G8B8A8_SINT, 0, 4), ("C", 0, Format.R32G32B32A32_FLOAT, 1, 0)]
    lab.ctx.ia_set_input_layout(await lab.device.create_input_layout(layout, blob))
    one = np.frombuffer(np.array([65535, 7], np.uint16).tobytes() + np.array([-1, 127, -128, 5], np.int8).tobytes(), np.uint8)
    first = await lab.device.create_buffer(one, bind_flags=BindFlag.VERTEX_BUFFER)
    second = await lab.device.create_buffer(np.array([1.5, 2.5, 3.5, 4.5], np.float32), bind_flags=BindFlag.VERTEX_BUFFER)
    lab.ctx.ia_set_vertex_buffers(0, [first, second], [8, 16], [0, 0])
    await lab.stream_output(blob, [(0, "U", 0, 0, 4), (0, "S", 0, 0, 4), (0, "F", 0, 0, 2)], [40])
    out = await lab.device.create_buffer(40, bind_flags=BindFlag.STREAM_OUTPUT)
    lab.ctx.so_set_targets([out], [0])
    lab.topology(PrimitiveTopology.POINTLIST)
    lab.ctx.draw(1)
    got = await lab.ctx.read_buffer(out, np.uint32)
    assert got[:4].tolist() == [65535, 7, 0, 1]
    assert got[4:8].view(np.int32).tolist() == [-1, 127, -128, 5]
    assert got[8:].view(np.float32).tolist() == [1.5, 2.5]


async def test_an_instance_step_of_0_never_steps_and_strips_restart_with_instances(lab: Lab) -> None:
    source = "struct V { uint3 n : N; }; V vs(uint a : A, uint id : SV_VertexID, uint i : SV_InstanceID) { V v; v.n = uint3(a, id, i); return v; }"
    blob = hlsl.compile(source, "vs", "vs_5_0")
    lab.ctx.vs_set_shader(await lab.device.create_vertex_shader(blob))
    lab.ctx.ia_set_input_layout(await lab.device.create_input_layout([("A", 0, Format.R32_UINT, 0, 0, 1, 0)], blob))
    buffer = await lab.device.create_buffer(np.arange(100, 110, dtype=np.uint32), bind_flags=BindFlag.VERTEX_BUFFER)
    lab.ctx.ia_set_vertex_buffers(0, [buffer], [4], [0])
    await lab.stream_output(blob, [(0, "N", 0, 0, 3)], [12])
    out = await lab.device.create_buffer(512, bind_flags=BindFlag.STREAM_OUTPUT)
    lab.ctx.so_set_targets([out], [0])
    lab.topology(PrimitiveTopology.LINESTRIP)
    lab.ctx.draw_instanced(3, 2, 0, 4)
    got = (await lab.ctx.read_buffer(out, np.uint32))[:24].reshape(8, 3)
    # The element is that of the first instance for all of them.
    assert got.tolist() == [[104, v, i] for i in range(2) for v in (0, 1, 1, 2)]
