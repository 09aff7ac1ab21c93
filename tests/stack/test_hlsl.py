"""HLSL through the whole stack, on both engines, against numpy: the compiler's tables of expressions and programs, and every stage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

import wddm
from tests.support.hlsl import FLOATS, INTS
from tests.support.stack import whole_stack
from tests.unit.hlsl.test_flow import CASES, LIMIT, SOURCE, TABLE, X
from tests.unit.hlsl.test_intrinsics import TABLE as INTRINSICS
from tests.unit.hlsl.test_operators import FLOAT, INT, UINT
from tests.unit.hlsl.test_random_programs import program
from wddm import hlsl
from wddm.hw.registers import EngineKind

pytestmark = pytest.mark.parametrize("engine", [EngineKind.REFERENCE, EngineKind.LLVM], ids=["reference", "llvm"])

KERNEL = """
StructuredBuffer<float4> source : register(t0);
StructuredBuffer<int4> integers : register(t1);
RWStructuredBuffer<TYPE> result : register(u0);
[numthreads(16, 1, 1)] void main(uint i : SV_DispatchThreadID)
{
    float4 a = source[i * 3], b = source[i * 3 + 1], c = source[i * 3 + 2];
    int4 p = integers[i * 3], q = integers[i * 3 + 1], r = integers[i * 3 + 2];
    uint4 up = p, uq = q, ur = r;
    BODY
}
"""


class Runner:
    """A device on which compute shaders run; buffers are made and read for each run."""

    def __init__(self, gpu: Any, device: Any) -> None:
        self.gpu = gpu
        self.device = device
        self.ctx = device.immediate_context

    async def buffer(self, data: Any, stride: int, *, uav: bool = False) -> tuple[Any, Any]:
        """A structured buffer and a view of it."""
        bind = wddm.BindFlag.UNORDERED_ACCESS if uav else wddm.BindFlag.SHADER_RESOURCE
        buffer = await self.device.create_buffer(
            data, bind_flags=bind, misc_flags=wddm.ResourceMiscFlag.BUFFER_STRUCTURED, structure_byte_stride=stride
        )
        make = self.device.create_unordered_access_view if uav else self.device.create_shader_resource_view
        return buffer, await make(buffer)

    async def run(self, blob: bytes, inputs: list[tuple[Any, int]], out: tuple[int, int], constants: Any = None) -> Any:
        """Dispatch one group; ``inputs``: (array, stride) per t#; ``out``: (dwords, stride) of u0."""
        ctx = self.ctx
        ctx.cs_set_shader(await self.device.create_compute_shader(blob))
        views = [await self.buffer(data, stride) for data, stride in inputs]
        target, view = await self.buffer(np.zeros(out[0], np.uint32), out[1], uav=True)
        ctx.cs_set_shader_resources(0, [v for _, v in views])
        ctx.cs_set_unordered_access_views(0, [view])
        if constants is not None:
            cb = await self.device.create_buffer(constants, bind_flags=wddm.BindFlag.CONSTANT_BUFFER)
            ctx.cs_set_constant_buffers(0, [cb])
        ctx.dispatch(1)
        return await ctx.read_buffer(target, np.uint32)

    async def evaluate(self, expressions: list[str], type: str) -> Any:
        """Values of many expressions in one shader: (expressions, 16, 4) uint32."""
        count = len(expressions)
        body = "\n    ".join(f"result[i * {count} + {k}] = {e};" for k, e in enumerate(expressions))
        blob = hlsl.compile(KERNEL.replace("TYPE", type).replace("BODY", body), profile="cs_5_0")
        inputs = [(FLOATS.reshape(-1), 16), (INTS.astype(np.int32).reshape(-1), 16)]
        got = await self.run(blob, inputs, (16 * count * 4, 16))
        return got.reshape(16, count, 4).transpose(1, 0, 2)


@asynccontextmanager
async def runner(engine: EngineKind) -> AsyncIterator[Runner]:
    async with whole_stack(engine=engine) as stack, stack.connect() as gpu:
        yield Runner(gpu, await gpu.create_device())


async def test_float_expressions(engine: EngineKind, autojump_clock: Any) -> None:
    async with runner(engine) as r:
        got = (await r.evaluate([e for e, _ in FLOAT], "float4")).view(np.float32)
    for (text, expected), value in zip(FLOAT, got, strict=True):
        want = expected(*[FLOATS[:, k] for k in range(3)])
        np.testing.assert_allclose(value, np.broadcast_to(want, value.shape), rtol=4e-6, atol=4e-6, err_msg=text)


async def test_integer_expressions(engine: EngineKind, autojump_clock: Any) -> None:
    async with runner(engine) as r:
        signed = (await r.evaluate([e for e, _ in INT], "int4")).view(np.int32)
        unsigned = await r.evaluate([e for e, _ in UINT], "uint4")
    for (text, expected), value in zip(INT, signed, strict=True):
        np.testing.assert_array_equal(value, expected(*[INTS[:, k] for k in range(3)]), err_msg=text)
    words = INTS.astype(np.uint32)
    for (text, expected), value in zip(UINT, unsigned, strict=True):
        want = np.asarray(expected(*[words[:, k] for k in range(3)])).astype(np.int64).astype(np.uint32)
        np.testing.assert_array_equal(value, want, err_msg=text)


async def test_intrinsics(engine: EngineKind, autojump_clock: Any) -> None:
    got = []
    async with runner(engine) as r:
        for start in range(0, len(INTRINSICS), 20):
            got += list((await r.evaluate([row[0] for row in INTRINSICS[start : start + 20]], "float4")).view(np.float32))
    for (text, want, tolerance), value in zip(INTRINSICS, got, strict=True):
        limit = max(tolerance * 4, 1e-3 if "sin" in text or "cos" in text or "tan" in text else 4e-6)
        np.testing.assert_allclose(value, want, rtol=limit, atol=limit, err_msg=text)


async def test_programs(engine: EngineKind, autojump_clock: Any) -> None:
    """All programs of the flow tests: loops, switches, early exits, arrays, functions."""
    constants = np.concatenate([[LIMIT, 0, 0, 0], TABLE]).astype(np.uint32)
    async with runner(engine) as r:
        for name, body, functions, expected in CASES:
            blob = hlsl.compile(SOURCE.format(body=body, functions=functions), profile="cs_5_0")
            got = await r.run(blob, [(X.astype(np.int32), 4)], (64, 4), constants)
            np.testing.assert_array_equal(got.view(np.int32), [expected(int(x)) for x in X], err_msg=name)


async def test_shared_memory_scan(engine: EngineKind, autojump_clock: Any) -> None:
    source = """
    StructuredBuffer<uint> from; RWStructuredBuffer<uint> to; groupshared uint s[2][64]; groupshared uint most;
    [numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) {
        uint k = 0; s[0][i] = from[i]; if (i == 0) most = 0;
        GroupMemoryBarrierWithGroupSync(); InterlockedMax(most, from[i]);
        for (uint n = 1; n < 64; n <<= 1) { uint v = s[k][i]; if (i >= n) v += s[k][i - n]; k ^= 1; s[k][i] = v; GroupMemoryBarrierWithGroupSync(); }
        to[i] = s[k][i] + most; }"""
    data = np.random.default_rng(5).integers(0, 1000, 64).astype(np.uint32)
    async with runner(engine) as r:
        got = await r.run(hlsl.compile(source, profile="cs_5_0"), [(data, 4)], (64, 4))
    np.testing.assert_array_equal(got, np.cumsum(data) + data.max())


async def test_random_programs(engine: EngineKind, autojump_clock: Any) -> None:
    """Programs that nobody wrote, also run by Python."""
    async with runner(engine) as r:
        for seed in range(500, 506):
            source, data, want = program(seed)
            blob = hlsl.compile(source, profile="cs_5_0")
            got = await r.run(blob, [(data.astype(np.int32).reshape(-1), 16)], (len(want), 4), np.zeros(4, np.uint32))
            np.testing.assert_array_equal(got.view(np.int32), want, err_msg=f"seed {seed}")


STAGES = """
struct Corner { float2 p : POSITION; float4 c : COLOR; };
struct Factors { float edges[4] : SV_TessFactor; float inside[2] : SV_InsideTessFactor; float4 scale : SCALE; };
struct Out { float4 p : SV_Position; float4 c : COLOR; float2 uv : UV; };
cbuffer C : register(b0) { float4 tint; };
Texture2D<float4> picture : register(t0); SamplerState point_ : register(s0);
Corner vs_patch(uint id : SV_VertexID) { Corner c; c.p = float2(id & 1, id >> 1) * 2 - 1; c.c = float4(id & 1, id >> 1, 0.5, 1); return c; }
Factors constants(InputPatch<Corner, 4> p, uint id : SV_PrimitiveID) {
    Factors f; for (int i = 0; i < 4; i++) f.edges[i] = 3; f.inside[0] = f.inside[1] = 2; f.scale = float4(1, 1, id + 1, 1); return f; }
[domain("quad")] [partitioning("integer")] [outputtopology("triangle_cw")] [outputcontrolpoints(4)] [patchconstantfunc("constants")]
Corner hs(InputPatch<Corner, 4> p, uint i : SV_OutputControlPointID) { Corner c = p[i]; c.c.z *= 2; return c; }
[domain("quad")] Out ds(Factors f, float2 uv : SV_DomainLocation, const OutputPatch<Corner, 4> p) {
    Out o; o.p = float4(lerp(lerp(p[0].p, p[1].p, uv.x), lerp(p[2].p, p[3].p, uv.x), uv.y), 0, 1);
    o.c = lerp(lerp(p[0].c, p[1].c, uv.x), lerp(p[2].c, p[3].c, uv.x), uv.y) * f.scale; o.uv = uv; return o; }
[maxvertexcount(6)] void gs(triangle Out t[3], inout TriangleStream<Out> s) {
    for (int k = 0; k < 2; k++) { for (int i = 0; i < 3; i++) { Out o = t[i]; o.p.x = o.p.x * 0.5 + (k - 0.5); o.c.w = k; s.Append(o); } s.RestartStrip(); } }
float4 ps(Out o) : SV_Target { return o.c * tint + picture.Sample(point_, o.uv) * 0; }
float4 ps_sample(Out o) : SV_Target { return picture.Sample(point_, o.uv) * tint + float4(ddx(o.uv.x) > 0 ? 0.25 : 0, 0, 0, 0); }
"""


@pytest.mark.parametrize("geometry", [False, True], ids=["plain", "geometry"])
async def test_every_graphics_stage(engine: EngineKind, geometry: bool, autojump_clock: Any) -> None:
    size = 16
    async with runner(engine) as r:
        device, ctx = r.device, r.ctx
        target = await device.create_texture2d(
            width=size, height=size, format=wddm.Format.R32G32B32A32_FLOAT, bind_flags=wddm.BindFlag.RENDER_TARGET
        )
        rtv = await device.create_render_target_view(target)
        tint = await device.create_buffer(np.array([1, 1, 1, 1], np.float32), bind_flags=wddm.BindFlag.CONSTANT_BUFFER)
        ctx.vs_set_shader(await device.create_vertex_shader(hlsl.compile(STAGES, "vs_patch", "vs_5_0")))
        ctx.hs_set_shader(await device.create_hull_shader(hlsl.compile(STAGES, "hs", "hs_5_0")))
        ctx.ds_set_shader(await device.create_domain_shader(hlsl.compile(STAGES, "ds", "ds_5_0")))
        if geometry:
            ctx.gs_set_shader(await device.create_geometry_shader(hlsl.compile(STAGES, "gs", "gs_5_0")))
        ctx.ps_set_shader(await device.create_pixel_shader(hlsl.compile(STAGES, "ps", "ps_5_0")))
        ctx.ps_set_constant_buffers(0, [tint])
        ctx.rs_set_state(await device.create_rasterizer_state(cull_mode=wddm.CullMode.NONE))
        ctx.rs_set_viewports([wddm.Viewport(0, 0, size, size)])
        ctx.ia_set_primitive_topology(wddm.PrimitiveTopology.PATCHLIST_4_CONTROL_POINTS)
        ctx.om_set_render_targets([rtv])
        ctx.clear_render_target_view(rtv, (9, 9, 9, 9))
        ctx.draw(4)
        image = await ctx.read_texture(target)
    at = (np.arange(size) + 0.5) / size
    y = np.repeat(1 - at[:, None], size, 1)
    x = np.repeat(at[None], size, 0)
    w = np.ones((size, size))
    if geometry:
        w, x = np.floor(x * 2), x * 2 % 1
    np.testing.assert_allclose(image, np.stack([x, y, np.ones((size, size)), w], 2), atol=2e-3)


async def test_sampling_in_a_pixel_shader(engine: EngineKind, autojump_clock: Any) -> None:
    source = STAGES + """
    Out vs(uint id : SV_VertexID) { Out o; float2 c = float2((id << 1) & 2, id & 2); o.p = float4(c * 2 - 1, 0, 1);
        o.uv = float2(c.x, 1 - c.y); o.c = 1; return o; }"""
    picture = np.random.default_rng(2).uniform(0, 1, (8, 8, 4)).astype(np.float32)
    async with runner(engine) as r:
        device, ctx = r.device, r.ctx
        target = await device.create_texture2d(
            width=8, height=8, format=wddm.Format.R32G32B32A32_FLOAT, bind_flags=wddm.BindFlag.RENDER_TARGET
        )
        rtv = await device.create_render_target_view(target)
        texture = await device.create_texture2d(
            picture, width=8, height=8, format=wddm.Format.R32G32B32A32_FLOAT, bind_flags=wddm.BindFlag.SHADER_RESOURCE
        )
        tint = await device.create_buffer(np.array([1, 2, 3, 4], np.float32), bind_flags=wddm.BindFlag.CONSTANT_BUFFER)
        ctx.vs_set_shader(await device.create_vertex_shader(hlsl.compile(source, "vs", "vs_4_0")))
        ctx.ps_set_shader(await device.create_pixel_shader(hlsl.compile(source, "ps_sample", "ps_4_0")))
        ctx.ps_set_constant_buffers(0, [tint])
        ctx.ps_set_shader_resources(0, [await device.create_shader_resource_view(texture)])
        ctx.ps_set_samplers(0, [await device.create_sampler_state(filter=wddm.Filter.MIN_MAG_MIP_POINT)])
        ctx.rs_set_state(await device.create_rasterizer_state(cull_mode=wddm.CullMode.NONE))
        ctx.rs_set_viewports([wddm.Viewport(0, 0, 8, 8)])
        ctx.ia_set_primitive_topology(wddm.PrimitiveTopology.TRIANGLELIST)
        ctx.om_set_render_targets([rtv])
        ctx.draw(3)
        image = await ctx.read_texture(target)
    np.testing.assert_allclose(image, picture * [1, 2, 3, 4] + [0.25, 0, 0, 0], rtol=1e-5)
