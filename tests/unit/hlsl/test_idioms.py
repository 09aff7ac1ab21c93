"""Ways of writing that HLSL code in the wild is full of; each compiles without an error."""

from __future__ import annotations

import pytest

from tests.support.hlsl import sound
from wddm import hlsl

PIXEL = """{globals}
float4 main(float4 pos : SV_POSITION, float3 n : NORMAL, float2 uv : TEXCOORD0, nointerpolation uint id : ID) : SV_TARGET
{{ float4 o = 0; {body} return o; }}"""

BODIES = [
    ("static const float PI = 3.14159265f; static const float2 taps[] = { float2(0, 1), { 1, 0 }, -1, 0 };", "o.xy = taps[id % 3] * PI;"),
    ("cbuffer cb : register( b0 ) { matrix World : packoffset(c0); float4 dir[2] : packoffset(c4); float4 col[2] : packoffset(c6); }",
     "for( int i=0; i<2; i++ ) o += saturate( dot( (float3)dir[i], mul( n, (float3x3)World ) ) * col[i] );"),
    ("Texture2D t : register( t0 ); SamplerState s : register( s0 );", "uint2 dim; t.GetDimensions(dim.x, dim.y); o = t.Sample(s, uv / dim) * float4(1.0f, 1.0f, .5f, 1.f);"),
    ("", "float a[3] = (float[3])0; a[1] = 2; float b[2][2] = { { 1, 2 }, { 3, 4 } }; o = a[id % 3] + b[id & 1][1];"),
    ("", "for (int i = 0, j = 4; i < 4; i++, j -= 2) o.x += i * j; for (int i = 0; i < 2; ++i) o.y += i; o.z = i;"),
    ("", "o.rgb = lerp(n, n.bgr, saturate(uv.x)).rgb; o.a = max(0, dot(n, n)); o.xy = 0.5.xx; o = o.xxxx + (1).xxxx;"),
    ("", "clip(uv.x < 0.5 ? -1 : 1); clip(n); if (any(n)) o = 1; if (all(n > 0) && !any(uv < 0)) o += 1;"),
    ("", "uint packed = f32tof16(n.x) | (f32tof16(n.y) << 16); o.xy = float2(f16tof32(packed), f16tof32(packed >> 16));"),
    ("", "uint m = 1u << id; o.x = (m >> 3 & 0xff) / 255.0; o.y = asfloat(0x3f800000 | (m & 0x7fffff)); o.z = id & 1 ? 1 : 2;"),
    ("struct L { float3 d; float i; }; cbuffer c { L lights[3]; uint count; }", "[loop] for (uint i = 0; i < count; ++i) { L l = lights[i]; o.rgb += l.d * l.i; }"),
    ("float3 f(inout float3 v, out float w, const float k = 2) { w = v.x * k; v *= k; return v; }", "float w; float3 v = n; o.rgb = f(v, w) + f(v.zyx, w, 3); o.a = w;"),
    ("float sum(float w[4]) { float s = 0; [unroll] for (int i = 0; i < 4; i++) s += w[i]; return s; }", "float w[4] = { uv, uv }; o = sum(w);"),
    ("#define N 4\n#define SQ(x) ((x) * (x))\n#if defined(N) && N > 3\n#define K SQ(N)\n#endif", "o = K + SQ(uv.x + 1);"),
    ("namespace math { float sq(float x) { return x * x; } namespace deep { static const int k = 2; } }", "o = math::sq(uv.x) * math::deep::k;"),
    ("typedef float4 Color; typedef struct { Color c; } Wrap;", "Wrap w; w.c = pos; Color k = w.c; o = k;"),
    ("struct { float a; float4 b; } settings;", "o = settings.b * settings.a;"),
    ("float4x4 bones[16];", "float4x4 m = bones[id]; float3x4 k = (float3x4)m; m[1] = pos; m._m00_m11 = uv; o = mul(m, pos) + float4(mul(k, pos), 0);"),
    ("", "float3x3 m = { n, n * 2, n * 3 }; m[0].x = 1; m[id % 3][1] = 2; o.xyz = mul(transpose(m), n) + m._11_22_33; o.w = determinant(m);"),
    ("", "while (true) { o.x += 1; if (o.x > pos.x) break; } do { o.y++; } while (o.y < 3);"),
    ("", "switch (id) { case 0: { o = 1; } break; case 1: case 2: o = 2; break; default: { o = 3; break; } }"),
    ("", "const uint k = id + 1; const float2 q = uv; { float2 q = 2; o.xy = q; } o.zw = q * k; ;;"),
    ("Texture2D maps[4]; SamplerState s; float4 tap(Texture2D t, float2 uv) { return t.SampleLevel(s, uv, 0); }", "[unroll] for (int i = 0; i < 4; i++) o += tap(maps[i], uv);"),
    ("half4 h(half4 x) { return x * 2.0h; } min16float2 m(min16float2 x) { return x + 1; }", "o = h(pos); o.xy += m(uv);"),
    ("float mix_(float a, float b) { return a; } float2 mix_(float2 a, float2 b) { return b; }", "o.x = mix_(uv.x, 1); o.yz = mix_(uv, n.xy);"),
    ("RWTexture2D<uint> heads; RWStructuredBuffer<uint2> nodes; RWByteAddressBuffer args;",
     "uint slot = nodes.IncrementCounter(), old; InterlockedExchange(heads[uint2(pos.xy)], slot, old); nodes[slot] = uint2(old, 1); args.InterlockedAdd(0, 1);"),
    ("globallycoherent RWBuffer<uint> b; RWTexture2D<uint4> t;", "b[id]++; b[0] += 2; t[uint2(0, 0)] = uint4(1, 2, 3, 4); DeviceMemoryBarrier();"),
    ("uniform float scale; extern float4 tint; static float state = 2; volatile static int v = 1;", "state *= scale; o = tint * state * v;"),
    ("struct A { float x; float get() { return x; } void set(float v) { x = v; } static float k() { return 3; } };", "A a; a.set(2); a.x += a.get(); o = a.x + a.k();"),
    ("struct A { float x; float get(); }; float A::get() { return x; }", "A a = { 2 }; o = a.get();"),
    ("class Shape { float area; float grow(float k) { return this.area * k; } };", "Shape s; s.area = 1; o = s.grow(2);"),
    ("", "float4 v = float4(uv, n.xy); v.zw = v.yx; v.x = v[id & 3]; v[1] = 5; v.wz += 1; v *= v.x; o = -v + +v;"),
    ("", "int3 i = int3(pos.xyz); i %= 3; i <<= 1; i ^= 5; uint u = uint(i.x); o = float4(i, u) / 2;"),
    ("", "bool2 b = uv > 0.5; b.x = !b.y; o.xy = b; o.z = b.x || b.y; o.w = (b.x == true) ? 1 : 0;"),
    ("", "precise float x = pos.x * pos.y + pos.z; o = x; float y = fma((double)x, 2.0L, 1.0L); o += y;"),
    ("", "double d = pos.x; d += 1.5; double2 e = double2(d, d * d); o.x = (float)(e.x / e.y); o.y = d > 2 ? 1 : 0; o.z = (int)d; o.w = min(d, 3.0L);"),
    ("SamplerComparisonState c; Texture2D<float> depth; TextureCube<float4> sky; Texture2DArray layers; SamplerState s;",
     "o.x = depth.SampleCmpLevelZero(c, uv, pos.z); o += sky.Sample(s, n) + layers.Sample(s, float3(uv, id)); o.y += depth.GatherRed(s, uv).x;"),
    ("Texture2DMS<float4> ms; Texture2D<float4> t;", "[unroll] for (uint i = 0; i < 4; i++) o += ms.Load(int2(pos.xy), i); o += t.Load(int3(pos.xy, 0)) + t[pos.xy];"),
    ("float4 shade(float3 x) { [branch] if (x.x > 1) { return 1; } else if (x.y > 1) { return float4(x, 2); } return 0; }", "o = shade(n);"),
    ("#pragma warning (disable : 3571)\n#pragma pack_matrix( row_major )\nmatrix<float, 4, 4> m; vector<float, 3> v;", "o = mul(float4(v, 1), m); o.x = pow(o.x, 2.2);"),
    ("sampler2D tex : register(s3); sampler s2;", "o = tex2D(tex, uv) + tex2Dlod(tex, float4(uv, 0, 1)) + tex2D(s2, uv);"),
    ("cbuffer A { float4 a; }; cbuffer B { float4 b; Texture2D inner; }; float4 c[2];", "o = a + b + c[1] + inner.Load(0);"),
    ("float f(float x) { return x; } float f(float2 x) { return x.y; } float f(int x) { return 9; }", "o = f(1) + f(1.0) + f(uv) + f(id);"),
    ("static const struct { float2 p; int k; } table[2] = { { { 1, 2 }, 3 }, { { 4, 5 }, 6 } };", "o.xy = table[id & 1].p * table[1].k;"),
    ("float4 fog(float4 c, float d);\nfloat4 fog(float4 c, float d) { return lerp(c, 1, exp(-d)); }", "o = fog(pos, 2);"),
    ("", "if (uv.x > 1) discard; else if (uv.y > 1) { clip(-1); }"),
    ("", "o.x = isnan(uv.x) ? 0 : sign(uv.x); int s = sign(uv.y); o.y = s; o.zw = modf(uv, o.xy); sincos(uv.x, o.x, o.y);"),
]  # fmt: skip


@pytest.mark.parametrize(("globals", "body"), BODIES, ids=[b[1][:60] for b in BODIES])
def test_pixel_shaders(globals: str, body: str) -> None:
    sound(hlsl.compile(PIXEL.format(globals=globals, body=body)))


WHOLE = [
    ("vs_5_0", "struct O { float4 Pos : SV_POSITION; float4 Color : COLOR0; }; O main(float4 Pos : POSITION, float4 Color : COLOR)"
     " { O output = (O)0; output.Pos = Pos; output.Color = Color; return output; }"),
    ("vs_4_0", "void main(in float3 p : POSITION, out float4 q : SV_Position, out float2 uv[2] : TEXCOORD) { q = float4(p, 1); uv[0] = p.xy; uv[1] = p.yz; }"),
    ("vs_5_0", "cbuffer C { float4x4 vp; } float4 main(float3 p : POSITION, row_major float4x4 world : WORLD, uint i : SV_InstanceID)"
     " : SV_Position { return mul(vp, mul(float4(p, 1), world)) + i; }"),
    ("ps_5_0", "void main(float4 c : COLOR, out float4 a : SV_Target0, out float4 b : SV_Target1, out float d : SV_Depth) { a = c; b = c.wzyx; d = c.x; }"),
    ("ps_5_0", "struct O { float4 c[2] : SV_Target; }; O main() { O o; o.c[0] = 1; o.c[1] = 2; return o; }"),
    ("ps_5_0", "[earlydepthstencil] void main(float4 p : SV_Position) { }"),
    ("cs_5_0", "#define S 16\nRWTexture2D<float4> o; groupshared float4 tile[S * S]; [numthreads(S, S, 1)] void main(uint3 d : SV_DispatchThreadID,"
     " uint3 g : SV_GroupThreadID, uint i : SV_GroupIndex) { tile[i] = d.x; GroupMemoryBarrierWithGroupSync(); o[d.xy] = tile[g.x * S + g.y]; }"),
    ("cs_5_0", "struct P { float3 x; float3 v; }; RWStructuredBuffer<P> ps : register(u3); [numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID)"
     " { ps[id.x].x += ps[id.x].v; ps[id.x].v *= 0.5; P p = ps[id.x]; p.x.y = 0; ps[id.x] = p; }"),
    ("cs_4_0", "StructuredBuffer<float> a; RWStructuredBuffer<float> b; [numthreads(64, 1, 1)] void main(uint id : SV_DispatchThreadID) { b[id] = a[id] * 2; }"),
    ("gs_5_0", "struct V { float4 p : SV_Position; }; struct G { V v; uint face : SV_RenderTargetArrayIndex; }; cbuffer C { float4x4 m[6]; }"
     " [maxvertexcount(18)] void main(triangle V v[3], inout TriangleStream<G> s) { for (uint f = 0; f < 6; f++) { G g; g.face = f;"
     " for (int i = 0; i < 3; i++) { g.v.p = mul(v[i].p, m[f]); s.Append(g); } s.RestartStrip(); } }"),
]  # fmt: skip


@pytest.mark.parametrize(("profile", "source"), WHOLE, ids=[f"{w[0]} {w[1][:60]}" for w in WHOLE])
def test_whole_shaders(profile: str, source: str) -> None:
    sound(hlsl.compile(source, profile=profile))
