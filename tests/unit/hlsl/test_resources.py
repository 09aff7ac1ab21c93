"""Resources and memory, executed: buffers, textures, UAVs, atomics, shared memory, streams, constant buffer packing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.dxbc_interpreter import Machine, bits, run_compute, run_stage
from tests.support.hlsl import FLOATS, INTS, run_kernel, sound
from wddm import hlsl
from wddm.dxbc.container import ShaderBlob
from wddm.dxbc.opcodes import Opcode, RegisterType

A = FLOATS[:, 0]


def compute(source: str, **memory: Any) -> Machine:
    blob = hlsl.compile(source, profile="cs_5_0")
    sound(blob)
    return run_compute(blob, **memory)


def test_structured_buffer_of_structures() -> None:
    source = """
    struct Inner { float3 v; uint n; };
    struct S { float a; Inner inner[2]; float2x3 m; bool flag; };
    StructuredBuffer<S> from; RWStructuredBuffer<S> to;
    [numthreads(4, 1, 1)] void main(uint i : SV_DispatchThreadID) {
        S s = from[i];
        s.a += 1; s.inner[i & 1].v.zx = s.inner[0].v.xy; s.inner[1].n += s.flag ? 10 : 20; s.m[1].y = s.m._m02; s.m[0] *= 2;
        s.flag = !s.flag;
        to[i] = s;
        to[i].inner[1].v.y = 77;
    }"""
    size = 1 + 2 * 4 + 6 + 1
    data = np.random.default_rng(3).uniform(1, 9, (4, size)).astype(np.float32)
    words = data.view(np.uint32).copy()
    words[:, 4] = words[:, 8] = 5
    words[:, -1] = [0, 1, 0, 7]
    out = np.zeros(4 * size, np.uint32)
    compute(source, textures={0: words.reshape(-1)}, uavs={0: out})
    got = out.reshape(4, size)
    f = got.view(np.float32)
    for i in range(4):
        want = words[i].copy().view(np.float32)
        want[0] += 1
        at = 1 + 4 * (i & 1)
        x, y = data[i, 1], data[i, 2]
        want[at + 2], want[at] = x, y
        want[6] = 77
        m = data[i, 9:15].reshape(3, 2).T.copy()  # columns one after the other
        m[1, 1] = m[0, 2]
        m[0] *= 2
        want[9:15] = m.T.reshape(-1)
        for k in (0, 1, 2, 3, 5, 6, 7, *range(9, 15)):
            assert f[i, k] == want[k], (i, k)
        assert got[i, 8] == 5 + (10 if i in (1, 3) else 20)
        assert (got[i, -1] != 0) == (i in (0, 2))


def test_byte_address_buffers_and_atomics() -> None:
    source = """
    ByteAddressBuffer from; RWByteAddressBuffer to;
    [numthreads(8, 1, 1)] void main(uint i : SV_GroupIndex) {
        uint4 v = from.Load4(i * 16);
        to.Store4(i * 16, v.wzyx); to.Store(i * 16 + 4, from.Load(i * 16) + 1); to.Store2(128, uint2(7, 8));
        uint before; to.InterlockedAdd(160, v.x, before); to.Store(164 + 4 * i, before);
        to.InterlockedMax(200, v.y); to.InterlockedMin(204, (int)v.z - 100); to.InterlockedOr(208, 1u << i);
        uint old; to.InterlockedCompareExchange(212, 0, i + 5, old); to.InterlockedExchange(216, i, old);
        uint n; from.GetDimensions(n); to.Store(220, n);
    }"""
    data = np.arange(32, dtype=np.uint32) + 3
    out = np.zeros(64, np.uint32)
    compute(source, textures={0: data}, uavs={0: out})
    rows = data.reshape(8, 4)
    want = rows[:, ::-1].copy()
    want[:, 1] = rows[:, 0] + 1
    np.testing.assert_array_equal(out[:32].reshape(8, 4), want)
    np.testing.assert_array_equal(out[32:34], [7, 8])
    assert out[40] == rows[:, 0].sum()
    np.testing.assert_array_equal(out[41:49], np.cumsum(rows[:, 0]) - rows[:, 0])
    assert out[50] == rows[:, 1].max()
    assert out.view(np.int32)[51] == rows[:, 2].min().astype(int) - 100
    assert list(out[52:56]) == [255, 5, 7, 128]


def test_typed_textures_and_buffers() -> None:
    source = """
    Texture2D<float4> t; Texture3D<uint2> v; Buffer<int3> b; RWTexture2D<float4> o; RWBuffer<uint> q; RWTexture1D<float2> w;
    [numthreads(4, 4, 1)] void main(uint3 id : SV_DispatchThreadID) {
        uint width, height; t.GetDimensions(width, height);
        o[id.xy] = t.Load(int3(id.yx, 0)) + t[id.xy] * width + t.Load(int3(id.xy, 0), int2(1, 0)) + t.mips[0][id.xy] * height;
        if (id.y == 0) { q[id.x] = v[uint3(id.x, 1, 0)].y + b[id.x].z; w[id.x] = float2(id.x, q[id.x]); }
    }"""
    rng = np.random.default_rng(4)
    t = rng.uniform(0, 1, (4, 4, 4)).astype(np.float32)
    v = rng.integers(0, 99, (1, 2, 4, 4)).astype(np.uint32)
    b = rng.integers(0, 99, (4, 4)).astype(np.uint32)
    o, q, w = np.zeros((4, 4, 4), np.uint32), np.zeros((4, 4), np.uint32), np.zeros((4, 4), np.uint32)
    compute(source, textures={0: t.view(np.uint32), 1: v, 2: b}, uavs={0: o, 1: q, 2: w})
    shifted = np.zeros_like(t)
    shifted[:, :3] = t[:, 1:]
    np.testing.assert_allclose(o.view(np.float32), t.transpose(1, 0, 2) + t * 8 + shifted, rtol=1e-5)
    np.testing.assert_array_equal(q[:, 0], v[0, 1, :, 1] + b[:, 2])
    np.testing.assert_array_equal(w.view(np.float32)[:, :2], np.stack([np.arange(4), q[:, 0]], 1))


def test_groupshared_reduction() -> None:
    source = """
    StructuredBuffer<float> from; RWStructuredBuffer<float> to;
    groupshared float sums[32]; groupshared uint count; groupshared struct { int a; float b[4]; } block[2];
    [numthreads(32, 1, 1)] void main(uint i : SV_GroupIndex, uint3 g : SV_GroupID) {
        sums[i] = from[g.x * 32 + i];
        if (i == 0) { count = 0; block[1].a = 3; block[1].b[2] = 4.5; }
        GroupMemoryBarrierWithGroupSync();
        for (uint s = 16; s > 0; s >>= 1) { if (i < s) sums[i] += sums[i + s]; GroupMemoryBarrierWithGroupSync(); }
        InterlockedAdd(count, i); uint before; InterlockedMax(block[1].a, (int)i, before);
        GroupMemoryBarrierWithGroupSync();
        if (i == 0) to[g.x] = sums[0] + count + block[1].a + block[1].b[2];
    }"""
    data = np.arange(64, dtype=np.float32)
    out = np.zeros(2, np.uint32)
    compute_groups(source, 2, textures={0: data.view(np.uint32)}, uavs={0: out})
    np.testing.assert_array_equal(out.view(np.float32), data.reshape(2, 32).sum(1) + 496 + 31 + 4.5)


def compute_groups(source: str, groups: int, **memory: Any) -> None:
    run_compute(hlsl.compile(source, profile="cs_5_0"), groups, **memory)


def test_append_consume_and_counters() -> None:
    source = """
    struct P { float2 v; uint n; };
    ConsumeStructuredBuffer<P> from; AppendStructuredBuffer<P> to; RWStructuredBuffer<uint> slots : register(u2);
    [numthreads(4, 1, 1)] void main(uint i : SV_GroupIndex) {
        P p = from.Consume(); if (p.n & 1) { p.v *= 2; to.Append(p); } slots[slots.IncrementCounter()] = p.n; }"""
    rows = np.zeros((4, 3), np.uint32)
    rows[:, :2] = bits(1, 2, 3, 4, 5, 6, 7, 8).reshape(4, 2)
    rows[:, 2] = [1, 2, 3, 4]
    out, slots = np.zeros(12, np.uint32), np.zeros(4, np.uint32)
    counters = {0: 4}
    compute(source, uavs={0: rows.reshape(-1), 1: out, 2: slots}, counters=counters)
    assert counters == {0: 0, 1: 2, 2: 4}
    np.testing.assert_array_equal(out.reshape(4, 3)[:2].view(np.float32)[:, :2], [[10, 12], [2, 4]])
    np.testing.assert_array_equal(sorted(slots), [1, 2, 3, 4])


LAYOUT = """
struct S { float2 a; float b[2]; float3x2 m; };
cbuffer C : register(b1) {
    float3 p; float q; float2 r; float3 s; bool flag; float arr[3]; float tail; row_major float2x3 rm; S st; float after;
    double d; min16float h; int4 iv; S list[2];
}
"""
OFFSETS = {"p": 0, "q": 12, "r": 16, "s": 32, "flag": 44, "arr": 48, "tail": 84, "rm": 96, "st": 128, "after": 204, "d": 208,
           "h": 216, "iv": 224, "list": 240}  # fmt: skip


def test_constant_buffer_layout() -> None:
    body = LAYOUT + """float4 main(uint i : I) : SV_Target { return float4(p + s, q) + r.xyxy + (flag ? arr[i] : tail) + rm[1].xyzz
        + st.b[1] + st.m[2].y + after + (float)d + h + iv + list[i].b[1] + list[1].m._m11 + list[i & 1].a.y; }"""
    blob = hlsl.compile(body)
    sound(blob)
    buffer = hlsl.reflect(blob).buffer("C")
    assert {v.name: v.start for v in buffer.variables} == OFFSETS
    assert buffer.size == 400
    data = np.arange(100).astype(np.float32)
    words = data.view(np.uint32).copy()
    words[52:54] = np.array([7.25]).view(np.uint32)
    words[56:60] = [1, 2, 3, 4]
    words[11] = 6
    for i in range(2):
        out, _ = run_stage(blob, {"I": np.array([[i]], np.uint32)}, buffers={1: words})
        f = data
        common = f[12 + 4 * i] + (f[36] + f[40] + f[51]) + 7.25 + f[54]
        common += f[60 + 20 * i + 8] + f[81] - f[81]
        row = np.array([f[28], f[29], f[30], f[30]])
        got = out["SV_Target0"].view(np.float32)[0]
        vector = np.array([*(f[0:3] + f[8:11]), f[3]]) + np.array([f[4], f[5], f[4], f[5]]) + row + np.array([1, 2, 3, 4])
        st_m21, list_m11 = f[32 + 12 + 4 + 2], f[80 + 12 + 4 + 1]
        st_b1 = f[32 + 8]
        want = vector + f[12 + 4 * i] + st_b1 + st_m21 + f[51] + 7.25 + f[54] + f[60 + 20 * i + 8] + list_m11 + f[60 + 20 * i + 1]
        del common
        np.testing.assert_allclose(got, want)


def test_pack_offset_and_default_values() -> None:
    source = """cbuffer C { float4 a : packoffset(c2); float b : packoffset(c0.y); float2 d : packoffset(c0.z) = { 3, 4 }; };
    float scale = 2.5; const int3 k = int3(1, 2, 3);
    float4 main() : SV_Target { return a * b + d.xyxy * scale + k.xyzz; }"""
    found = hlsl.reflect(hlsl.compile(source))
    assert {v.name: v.start for v in found.buffer("C").variables} == {"a": 32, "b": 4, "d": 8}
    defaults = {v.name: v.default for b in found.constant_buffers for v in b.variables}
    assert defaults["d"] == bits(3, 4).tobytes()
    assert defaults["scale"] == bits(2.5).tobytes()
    assert defaults["k"] == np.array([1, 2, 3], np.int32).tobytes()


def test_sampling() -> None:
    source = """
    Texture2D t : register(t3); SamplerState s : register(s2); TextureCube cube; SamplerComparisonState cmp; Texture2DArray<float2> arr;
    float4 main(float4 uv : UV) : SV_Target {
        float4 r = t.Sample(s, uv.xy) + t.SampleLevel(s, uv.zw, 1.5) + t.SampleBias(s, uv.xy, -1) + t.SampleGrad(s, uv.xy, ddx(uv.xy), 0);
        r += cube.Sample(s, uv.xyz) + t.SampleCmp(cmp, uv.xy, uv.w) + t.SampleCmpLevelZero(cmp, uv.xy, 0.5) + t.Gather(s, uv.xy).wzyx;
        r.xy += arr.Sample(s, uv.xyz, int2(-1, 3)).yx;
        return r + t.SampleLevel(s, uv.xy, 0, int2(2, -8)); }"""
    blob = hlsl.compile(source)
    shader = sound(blob)
    offsets = [i.texel_offset for i in shader.program.instructions if i.texel_offset]
    assert offsets == [(-1, 3, 0), (2, -8, 0)]
    calls: list[tuple[str, int]] = []

    def sampler(texture: int, coordinates: Any, kind: str, *extra: Any) -> Any:
        calls.append((kind, texture))
        base = np.tile(np.array([1, 2, 3, 4], np.float32), (len(coordinates), 1))
        return base * (1 + len(calls)) + coordinates[:, :1]

    uv = np.tile(np.array([[0.25, 0.5, 0.75, 1]], np.float32), (4, 1))
    out, _ = run_stage(blob, {"UV": uv}, samplers={0: sampler, 2: sampler})
    assert {kind for kind, _ in calls} == {"sample", "sample_l", "sample_b", "sample_d", "sample_c", "sample_c_lz", "gather4"}
    assert {texture for _, texture in calls} == {0, 1, 3}
    assert np.isfinite(out["SV_Target0"].view(np.float32)).all()


def test_legacy_samplers() -> None:
    source = """sampler2D diffuse : register(s1); samplerCUBE sky;
    float4 main(float4 t : TEXCOORD0) : COLOR0 { return tex2D(diffuse, t.xy) * tex2Dlod(diffuse, t) + texCUBE(sky, t.xyz); }"""
    found = hlsl.reflect(hlsl.compile(source, profile="ps_4_0"))
    assert [(b.name, b.type.name, b.bind_point) for b in found.bindings] == [
        ("sky", "SAMPLER", 0), ("diffuse", "SAMPLER", 1), ("diffuse", "TEXTURE", 0), ("sky", "TEXTURE", 1)]  # fmt: skip
    assert found.outputs[0].semantic_name == "SV_Target"


def test_resource_arrays_and_parameters() -> None:
    source = """
    Texture2D maps[3] : register(t2); SamplerState samplers[2]; Texture2D other;
    float4 pick(Texture2D t, SamplerState s, float2 uv) { return t.Sample(s, uv); }
    float4 main(float2 uv : UV) : SV_Target {
        float4 r = pick(maps[2], samplers[1], uv) + pick(other, samplers[0], uv);
        for (int i = 0; i < 2; i++) r += maps[i].Sample(samplers[i], uv);
        Texture2D alias = maps[1]; return r + alias.Sample(samplers[0], uv); }"""
    shader = sound(hlsl.compile(source))
    slots = [d.slot for d in shader.program.declarations if d.opcode is Opcode.DCL_RESOURCE]
    assert slots == [0, 2, 3, 4]


def test_texture_buffer() -> None:
    source = "tbuffer T : register(t4) { float4 a; float2 b[3]; }; float4 main(uint i : I) : SV_Target { return a + b[i].xyxy; }"
    blob = hlsl.compile(source)
    sound(blob)
    data = np.arange(16, dtype=np.float32).view(np.uint32).reshape(4, 4)
    out, _ = run_stage(blob, {"I": np.array([[0], [2]], np.uint32)}, textures={4: data})
    want = [[0 + 4, 1 + 5, 2 + 4, 3 + 5], [0 + 12, 1 + 13, 2 + 12, 3 + 13]]
    np.testing.assert_array_equal(out["SV_Target0"].view(np.float32), want)
    assert hlsl.reflect(blob).binding("T").type.name == "TBUFFER"


def test_pixel_shader_outputs_and_discard() -> None:
    source = """struct O { float4 c : SV_Target0; uint2 m : SV_Target2; float d : SV_Depth; uint cov : SV_Coverage; };
    O main(float4 p : SV_Position, bool front : SV_IsFrontFace, nointerpolation uint id : ID, centroid float2 uv : UV) {
        clip(uv.x); if (uv.y > 5) discard;
        O o; o.c = float4(p.xy, uv); o.m = uint2(front ? 1 : 2, id); o.d = p.z * 0.5; o.cov = 3; return o; }"""
    blob = hlsl.compile(source)
    shader = sound(blob)
    inputs = {"SV_Position": np.arange(16).reshape(4, 4), "SV_IsFrontFace": np.array([[0xFFFFFFFF], [0]] * 2, np.uint32),
              "ID": np.arange(4, dtype=np.uint32)[:, None], "UV": np.array([[1, 1], [-1, 1], [1, 9], [2, 2]])}  # fmt: skip
    out, machine = run_stage(blob, inputs)
    np.testing.assert_array_equal(machine.discarded, [False, True, True, False])
    np.testing.assert_array_equal(out["SV_Target2"], [[1, 0], [2, 1], [1, 2], [2, 3]])
    np.testing.assert_array_equal(out["SV_Depth0"].view(np.float32)[:, 0], np.array([2, 6, 10, 14]) / 2)
    assert {e.semantic: e.register for e in shader.output_signature.elements}["SV_Target2"] == 2
    np.testing.assert_array_equal(out["SV_Target0"].view(np.float32)[0], [0, 1, 1, 1])


def test_derivatives() -> None:
    blob = hlsl.compile("float4 main(float2 v : V) : SV_Target { return float4(ddx(v), ddy(v.x), fwidth(v.y)); }")
    sound(blob)
    v = np.array([[0, 1], [2, 5], [7, 4], [1, 1]])
    out, _ = run_stage(blob, {"V": v})
    np.testing.assert_array_equal(out["SV_Target0"].view(np.float32)[0], [2, 4, 7, 4 + 3])


@pytest.mark.parametrize("profile", ["gs_4_0", "gs_5_0"])
def test_geometry_shader(profile: str) -> None:
    source = """struct V { float4 p : SV_Position; float2 uv : UV; };
    [maxvertexcount(4)] void main(line V v[2], uint id : SV_PrimitiveID, inout TriangleStream<V> s) {
        [unroll] for (int i = 0; i < 2; i++) { V o = v[i]; o.uv.x += id; s.Append(o); o.p.y += 1; s.Append(o); } s.RestartStrip(); }"""
    blob = hlsl.compile(source, profile=profile)
    shader = sound(blob)
    machine = Machine(1)
    machine.inputs[RegisterType.INPUT_PRIMITIVEID, 0] = np.full((1, 4), 3, np.uint32)
    for vertex in range(2):
        machine.vertices[RegisterType.INPUT, vertex, 0] = bits(vertex, 10, 20, 1)[None]
        machine.vertices[RegisterType.INPUT, vertex, 1] = bits(0.5, vertex, 0, 0)[None]
    machine.run(shader.program)
    got = [e if isinstance(e, str) else (e[RegisterType.OUTPUT, 0].view(np.float32)[0].tolist(),
           e[RegisterType.OUTPUT, 1].view(np.float32)[0, :2].tolist()) for e in machine.emitted]  # fmt: skip
    assert got == [([0, 10, 20, 1], [3.5, 0]), ([0, 11, 20, 1], [3.5, 0]), ([1, 10, 20, 1], [3.5, 1]),
                   ([1, 11, 20, 1], [3.5, 1]), "cut"]  # fmt: skip


HULL = """
struct V { float3 p : POS; float w : WEIGHT; };
struct P { float e[4] : SV_TessFactor; float i[2] : SV_InsideTessFactor; float3 mid : MID; };
P constants(InputPatch<V, 4> ip, OutputPatch<V, 4> op, uint id : SV_PrimitiveID) {
    P o; for (int k = 0; k < 4; k++) o.e[k] = ip[k].w + id; o.i[0] = 2; o.i[1] = op[1].w;
    o.mid = (ip[0].p + ip[3].p) * 0.5; return o; }
[domain("quad")] [partitioning("fractional_odd")] [outputtopology("triangle_ccw")] [outputcontrolpoints(4)]
[patchconstantfunc("constants")] [maxtessfactor(16)]
V main(InputPatch<V, 4> ip, uint i : SV_OutputControlPointID) { V o = ip[i]; o.w *= 2; o.p += ip[3 - i].p; return o; }
struct D { float4 p : SV_Position; };
[domain("quad")] D evaluate(P c, float2 uv : SV_DomainLocation, const OutputPatch<V, 4> op) {
    D d; d.p = float4(lerp(lerp(op[0].p, op[1].p, uv.x), lerp(op[2].p, op[3].p, uv.x), uv.y) + c.mid, c.e[2]); return d; }
"""


def test_hull_and_domain_shader() -> None:
    hull = sound(hlsl.compile(HULL, profile="hs_5_0"))
    domain = sound(hlsl.compile(HULL, "evaluate", "ds_5_0"))
    assert hull.patch_constant_signature is not None
    assert domain.patch_constant_signature is not None
    ours = [(e.semantic, e.register, e.mask) for e in hull.patch_constant_signature.elements]
    assert ours == [(e.semantic, e.register, e.mask) for e in domain.patch_constant_signature.elements]
    points = np.arange(16, dtype=np.float32).reshape(4, 4)
    machine = Machine(4)
    machine.inputs[RegisterType.OUTPUT_CONTROL_POINT_ID, 0] = np.tile(np.arange(4, dtype=np.uint32)[:, None], (1, 4))
    for k in range(4):
        machine.vertices[RegisterType.INPUT, k, 0] = np.tile(points[k].view(np.uint32), (4, 1))
    machine.run(hull.program, 0)
    got = machine.outputs[RegisterType.OUTPUT, 0].view(np.float32)
    want = points.copy()
    want[:, :3] += points[::-1, :3]
    want[:, 3] *= 2
    np.testing.assert_array_equal(got, want)
    fork = Machine(1)
    fork.inputs[RegisterType.INPUT_PRIMITIVEID, 0] = np.full((1, 4), 5, np.uint32)
    for k in range(4):
        fork.vertices[RegisterType.INPUT_CONTROL_POINT, k, 0] = points[k].view(np.uint32)[None]
        fork.vertices[RegisterType.OUTPUT_CONTROL_POINT, k, 0] = got[k].view(np.uint32)[None]
    fork.run(hull.program, 1)
    places = {e.semantic: e for e in hull.patch_constant_signature.elements}

    def value(name: str) -> Any:
        e = places[name]
        return fork.outputs[RegisterType.OUTPUT, e.register].view(np.float32)[0, [c for c in range(4) if e.mask >> c & 1]]

    assert [float(value(f"SV_TessFactor{k}")[0]) for k in range(4)] == [8, 12, 16, 20]
    assert float(value("SV_InsideTessFactor1")[0]) == 14
    np.testing.assert_array_equal(value("MID0"), (points[0, :3] + points[3, :3]) / 2)
    assert ShaderBlob.parse(hlsl.compile(HULL, "evaluate", "ds_5_0")).program.type.prefix == "ds"


def test_structures_with_methods_and_inheritance() -> None:
    globals_ = """
    struct Base { float a; float twice() { return a * 2; } void set(float x) { a = x; } };
    struct Derived : Base { float b; static const int k = 3; float sum() { return twice() + b + k; } Base base() { Base r; r.a = a; return r; } };
    float use(Base b) { return b.a; }"""
    body = "Derived d; d.set(a.x); d.b = a.y; Base e = (Base)d; result[i] = float4(d.sum(), use(d), e.twice(), d.base().a);"
    got = run_kernel(body, FLOATS, INTS, globals=globals_).view(np.float32)
    x, y = A[:, 0], A[:, 1]
    np.testing.assert_allclose(got, np.stack([x * 2 + y + 3, x, x * 2, x], 1), rtol=1e-6)


def test_initialisers_and_arrays() -> None:
    globals_ = """struct S { float2 v; int n[2]; }; typedef float Row[3];
    static const S table[2] = { { 1, 2, 3, 4 }, { float2(5, 6), 7, 8 } }; static float grid[2][3] = { 1, 2, 3, 4, 5, 6 };"""
    body = """S s = { a.xy, p.xy }; S z = (S)0; Row row = { a.x, 1, b.y }; float u[] = { 1, 2, 3, 4, 5 };
        result[i] = float4(s.v.y + s.n[1] + z.v.x, table[p.x & 1].n[p.y & 1] + table[1].v.y, grid[p.x & 1][(uint)q.x % 3] + row[2], u.Length);"""
    got = run_kernel(body, FLOATS, INTS, globals=globals_).view(np.float32)
    p, q = INTS[:, 0], INTS[:, 1]
    n = np.array([[3, 4], [7, 8]])
    grid = np.arange(1, 7).reshape(2, 3)
    want = np.stack([A[:, 1] + p[:, 1], n[p[:, 0] & 1, p[:, 1] & 1] + 6,
                     grid[p[:, 0] & 1, q[:, 0].astype(np.uint32) % 3] + FLOATS[:, 1, 1], A[:, 0] * 0 + 5], 1)  # fmt: skip
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_status_of_tiled_resources() -> None:
    source = """
    Texture2D<float4> t; ByteAddressBuffer raw; StructuredBuffer<float3> list; SamplerState smp;
    float4 main(float2 uv : UV) : SV_Target {
        uint a, b, c, d; float4 r = t.Load(int3(1, 0, 0), int2(0, 1), a); r.xy += raw.Load2(4, b); r.xyz += list.Load(1, c);
        r += t.Sample(smp, uv, int2(0, 0), 1.5, d);
        return CheckAccessFullyMapped(a) && CheckAccessFullyMapped(b) && CheckAccessFullyMapped(c & d) ? r : -1; }"""
    blob = hlsl.compile(source)
    sound(blob)
    t = np.arange(16, dtype=np.float32).reshape(2, 2, 4)
    memory = {0: t.view(np.uint32), 1: np.array([0, 10, 20], np.uint32), 2: bits(0, 0, 0, 100, 200, 300)}
    samplers = {0: lambda texture, uv, *rest: np.full((len(uv), 4), 1000.0)}
    out, _ = run_stage(blob, {"UV": np.zeros((4, 2))}, textures=memory, samplers=samplers)
    np.testing.assert_array_equal(out["SV_Target0"].view(np.float32)[0], np.array([12 + 10 + 100, 13 + 20 + 200, 14 + 300, 15]) + 1000)


def test_whole_shared_arrays() -> None:
    source = """
    struct S { float2 a; uint n; }; groupshared S s[4]; groupshared float g[4]; RWStructuredBuffer<float> o;
    float sum(float v[4]) { return v[0] + v[1] + v[2] + v[3]; }
    [numthreads(4, 1, 1)] void main(uint i : SV_GroupIndex) {
        g[i] = i + 1; GroupMemoryBarrierWithGroupSync();
        float copy[4] = g; copy[0] += 10; float total = sum(g);
        GroupMemoryBarrierWithGroupSync(); if (i == 0) { g = copy; S t[4] = s; t[2].n = 5; t[2].a = 3; s = t; }
        GroupMemoryBarrierWithGroupSync();
        o[i] = total + sum(g) + s[2].n + s[2].a.y; }"""
    out = np.zeros(4, np.uint32)
    compute(source, uavs={0: out})
    np.testing.assert_array_equal(out.view(np.float32), [10 + 20 + 5 + 3] * 4)
