"""What must be refused is refused, with the right number at the right place."""

from __future__ import annotations

import pytest

from wddm import hlsl


def codes(source: str, profile: str = "ps_5_0", **more: object) -> list[tuple[str, int]]:
    result = hlsl.compile_with_diagnostics(source, profile=profile, **more)  # type: ignore[arg-type]
    assert (result.blob is None) == any(d.severity == "error" for d in result.diagnostics)
    return [(d.severity, d.code) for d in result.diagnostics]


def body(text: str, globals: str = "") -> str:
    return f"{globals}\nfloat4 main(float4 a : A, nointerpolation int n : N) : SV_Target {{ float4 r = a; {text} return r; }}"


BODIES: list[tuple[str, str, int]] = [
    ("r = foo;", "", 3004),
    ("r = foo(1);", "", 3004),
    ("r = a", "", 3000),
    ("r = (a;", "", 3000),
    ("r = a + ;", "", 3000),
    ("if (a.x) { r = 1;", "", 3000),
    ("foo x;", "", 3000),
    ("float4 r = 1;", "", 3003),
    ("r = a.q;", "", 3018),
    ("r.xy = a.z.xyz;", "", 3018),
    ("r = float3(1, 2, 3);", "", 3017),
    ("r = float4(1, 2);", "", 3014),
    ("r = float2(1, 2, 3);", "", 3014),
    ("r.xx = a.xy;", "", 3025),
    ("a.xyz * 2 = r.xyz;", "", 3025),
    ("const float k = 1; k = 2;", "", 3025),
    ("c = 1;", "cbuffer C { float4 c; }", 3025),
    ("g = 1;", "float g;", 3025),
    ("5 = n;", "", 3025),
    ("r = a & 1;", "", 3082),
    ("r = a % n ? ~a : a;", "", 3082),
    ("r = a.x << 2;", "", 3082),
    ("r = sin(a, a);", "", 3013),
    ("r = dot(a);", "", 3013),
    ("r = f(a, a);", "float4 f(float4 x) { return x; }", 3013),
    ("r = f(s);", "struct S { float x; }; float4 f(float4 x) { return x; } static S s;", 3017),
    ("r = f(1u);", "float4 f(int x, float y = 0) { return x; } float4 f(int x, int y = 0) { return x; }", 3067),
    ("r = f(a);", "float4 f(out float4 x) { x = 1; return x; } ", 0),
    ("r = f(1.0);", "float4 f(out float4 x) { x = 1; return x; } ", 3025),
    ("r[5] = 1;", "", 3504),
    ("float v[3]; v[3] = 1;", "", 3504),
    ("float v[3]; r = v;", "", 3017),
    ("float v[0];", "", 3058),
    ("float v[-2];", "", 3058),
    ("float v[n];", "", 3058),
    ("float v[];", "", 3065),
    ("float v[2] = { 1, 2, 3 };", "", 3037),
    ("float3 v = { 1, 2 };", "", 3037),
    ("r = a[a];", "", 3120),
    ("r = n[0];", "", 3121),
    ("float5 x;", "", 3000),
    ("void x;", "", 3038),
    ("if (a) r = 1;", "", 3019),
    ("while (a) r = 1;", "", 3019),
    ("break;", "", 3512),
    ("continue;", "", 3513),
    ("switch (n) { case 1: r = 1; case 2: r = 2; break; }", "", 3533),
    ("switch (n) { case 1: break; case 1: break; }", "", 3532),
    ("switch (n) { case n: break; }", "", 3522),
    ("while (true) r += 1;", "", 3696),
    ("[unroll] for (int i = 0; i < n; i++) r += i;", "", 3511),
    ("[unroll] for (int i = 0; i >= 0; i++) r += i;", "", 3511),
    ("r = f(n);", "float f(int x) { return x > 0 ? f(x - 1) : 0; }", 3500),
    ("r = f(n);", "float f(int x); float g(int x) { return f(x); } float f(int x) { return g(x); }", 3500),
    ("r = f(n);", "float f(int x);", 3501),
    ("r = f(n);", "float f(int x) { if (x > 0) return 1; }", 3507),
    ("r = f(n);", "float f(int x) { }", 3080),
    ("f();", "void f() { return 1; }", 3079),
    ("r = f();", "float f() { return; }", 3080),
    ("r = t.Sample(s, a.xy, int2(9, 0));", "Texture2D t; SamplerState s;", 3518),
    ("r = t.Sample(s, a.xy, int2(n, 0));", "Texture2D t; SamplerState s;", 3518),
    ("r = t.Sample(a.xy, s);", "Texture2D t; SamplerState s;", 3013),
    ("r = t.Foo(s, a.xy);", "Texture2D t; SamplerState s;", 3018),
    ("r = t.SampleCmp(s, a.xy, 1);", "Texture2D t; SamplerState s;", 3013),
    ("r = t.Load(a.xy);", "Texture2D<float4> t;", 3013),
    ("t[int2(1, 1)] = 1;", "Texture2D t;", 3025),
    ("r = v[n].Sample(s, a.xy);", "Texture2D v[4]; SamplerState s;", 3512),
    ("o[uint2(0, 0)].x = 1;", "RWTexture2D<float4> o;", 3676),
    ("b[0] = 1;", "StructuredBuffer<float> b;", 3025),
    ("[branch] if (a.x > 0) r = t.Sample(s, a.xy);", "Texture2D t; SamplerState s;", 4014),
    ("[loop] for (int i = 0; i < n; i++) r += t.Sample(s, a.xy);", "Texture2D t; SamplerState s;", 4014),
    ("[loop] for (int i = 0; i < 4; i++) r += t.Sample(s, a.xy);", "Texture2D t; SamplerState s;", 0),
    ("GroupMemoryBarrierWithGroupSync();", "", 4532),
    ("r = x[0];", "groupshared float x[4];", 3665),
    ("r = n / 0;", "", 4010),
    ("r = 1.0 + asuint(1.0, n);", "", 3013),
    ("InterlockedAdd(n, 1);", "", 3667),
    ("double d = a.x; r = sin(d);", "", 0),
    ("r = (S)1;", "struct S { float x; };", 3017),
    ("r = mul(a, a, a);", "", 3013),
    ("r = transpose(a);", "", 3013),
    ("r = determinant(float2x3(1, 2, 3, 4, 5, 6));", "", 3013),
    ("r = cross(a, s);", "struct S { float x; }; static S s;", 3022),
    ("S s; s.y = 1;", "struct S { float x; };", 3018),
    ("r = S;", "struct S { float x; };", 3000),
    ("r = sin;", "", 3004),
    ("r = main;", "", 3005),
    ("r++++;", "", 3025),
    ("float x : TEXCOORD0;", "", 3043),
    ("const float q;", "", 3012),
    ("Texture2D t;", "", 3000),
    ("r = 0xFFFFFFFFF;", "", 3094),
    ("r = 'x;", "", 1502),
    ("r = @;", "", 1500),
    ("r = float4(a.xy, 1, 2)[7];", "", 3504),
]  # fmt: skip


@pytest.mark.parametrize(("text", "globals", "code"), BODIES, ids=[f"{b[0][:40]}|{b[1][:30]}" for b in BODIES])
def test_bodies(text: str, globals: str, code: int) -> None:
    found = codes(body(text, globals))
    if code == 0:
        assert not any(severity == "error" for severity, _ in found), found
    else:
        assert ("error", code) in found


WHOLE: list[tuple[str, str, int]] = [
    ("", "ps_5_0", 3501),
    ("float4 main() : SV_Target { return 1; }", "ps_6_0", 3506),
    ("float4 main() : SV_Target { return 1; } float4 main(int x : X) : SV_Target { return x; }", "ps_5_0", 3003),
    ("float4 main() { return 1; }", "ps_5_0", 3503),
    ("float4 main(float x) : SV_Target { return x; }", "ps_5_0", 3502),
    ("float4 main(float x : A, float y : A) : SV_Target { return x; }", "ps_5_0", 3095),
    ("float4 main(float x : A0, float y : a) : SV_Target { return x; }", "ps_5_0", 3095),
    ("float4 main() : TEXCOORD0 { return 1; }", "ps_5_0", 4502),
    ("float4 main() : SV_Foo { return 1; }", "vs_5_0", 4502),
    ("float4 main() : SV_Target8 { return 1; }", "ps_5_0", 4509),
    ("float3 main() : SV_Position { return 1; }", "vs_5_0", 3093),
    ("float4 main(float id : SV_VertexID) : SV_Position { return id; }", "vs_5_0", 3093),
    ("float4 main(uint3 id : SV_DispatchThreadID) : SV_Position { return 1; }", "vs_5_0", 4502),
    ("struct S { float4 p : SV_Position; float2 t : T; }; S main() { S s; s.p = 1; return s; }", "vs_5_0", 4000),
    ("struct S { float4 p : SV_Position; float2 t; }; S main() { S s = (S)0; return s; }", "vs_5_0", 3502),
    ("float4 main(float4 x[33] : X) : SV_Position { return x[0]; }", "vs_5_0", 4506),
    ("double main() : SV_Target { return 1; }", "ps_5_0", 3089),
    ("void main() { }", "cs_5_0", 3519),
    ("[numthreads(0, 1, 1)] void main() { }", "cs_5_0", 3520),
    ("[numthreads(1024, 2, 1)] void main() { }", "cs_5_0", 3520),
    ("[numthreads(1, 1, 1)] float main() : X { return 1; }", "cs_5_0", 3530),
    ("[numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) { if (i < 4) GroupMemoryBarrierWithGroupSync(); }", "cs_5_0", 3663),
    ("Texture2D t; SamplerState s; RWBuffer<float4> o; [numthreads(1, 1, 1)] void main() { o[0] = t.Sample(s, 0); }", "cs_5_0", 4532),
    ("RWBuffer<float> o; float4 main(uint i : I) : SV_Position { o[i] = 1; return 1; }", "vs_5_0", 4532),
    ("float4 main() : SV_Position { discard; return 1; }", "vs_5_0", 4532),
    ("float4 main(float x : X) : SV_Position { return ddx(x); }", "vs_5_0", 4532),
    ("RWTexture2D<float4> o; float4 main() : SV_Target { return o[uint2(0, 0)]; }", "ps_4_0", 3700),
    ("float4 main(float x : X) : SV_Target { double d = x; return d; }", "ps_4_0", 3087),
    ("float4 main(uint x : X) : SV_Target { return countbits(x); }", "ps_4_0", 4532),
    ("Texture2D t : register(t0), u : register(t0); float4 main() : SV_Target { return t[int2(0, 0)] + u[int2(0, 0)]; }", "ps_5_0", 4500),
    ("Texture2D t : register(s0); float4 main() : SV_Target { return t[int2(0, 0)]; }", "ps_5_0", 3591),
    ("SamplerState s : register(s16); float4 main() : SV_Target { return 1; }", "ps_5_0", 4509),
    ("Texture2D t : register(t128); float4 main() : SV_Target { return t[int2(0, 0)]; }", "ps_5_0", 4509),
    ("cbuffer C : register(b14) { float4 x; } float4 main() : SV_Target { return x; }", "ps_5_0", 3591),
    ("cbuffer C : register(t1) { float4 x; } float4 main() : SV_Target { return x; }", "ps_5_0", 3591),
    ("cbuffer A : register(b1) { float4 x; } cbuffer B : register(b1) { float4 y; } float4 main() : SV_Target { return x + y; }", "ps_5_0", 4500),
    ("cbuffer C { float4 x : packoffset(c0); float y; } float4 main() : SV_Target { return x; }", "ps_5_0", 3530),
    ("cbuffer C { float4 x : packoffset(c0.y); } float4 main() : SV_Target { return x; }", "ps_5_0", 3530),
    ("cbuffer C { float4 x : packoffset(c0); float y : packoffset(c0.z); } float4 main() : SV_Target { return x; }", "ps_5_0", 3530),
    ("cbuffer C { float4 x[5000]; } float4 main(uint i : I) : SV_Target { return x[i]; }", "ps_5_0", 4567),
    ("cbuffer C { float x; float x; } float4 main() : SV_Target { return x; }", "ps_5_0", 3003),
    ("struct S { float x; float x; }; float4 main() : SV_Target { return 1; }", "ps_5_0", 3003),
    ("struct S { Texture2D t; }; float4 main() : SV_Target { return 1; }", "ps_5_0", 3090),
    ("struct S { S s; }; float4 main() : SV_Target { return 1; }", "ps_5_0", 3038),
    ("interface I { float f(); }; float4 main() : SV_Target { return 1; }", "ps_5_0", 3000),
    ("float f(int x) { return x; } float f(int y) { return 2; } float4 main() : SV_Target { return 1; }", "ps_5_0", 3003),
    ("float f(int x) { return x; } int f(int y); float4 main() : SV_Target { return 1; }", "ps_5_0", 3003),
    ("float f(float x[]) { return 1; } float4 main() : SV_Target { return 1; }", "ps_5_0", 3072),
    ("float f(int a = 1, int b) { return 1; } float4 main() : SV_Target { return 1; }", "ps_5_0", 3078),
    ("groupshared float x = 1; float4 main() : SV_Target { return 1; }", "ps_5_0", 3033),
    ("ConstantBuffer<float4> x; float4 main() : SV_Target { return 1; }", "ps_5_0", 3000),
    ("Texture2D<float4x4> t; float4 main() : SV_Target { return 1; }", "ps_5_0", 3081),
    ("vector<float, 5> v; float4 main() : SV_Target { return 1; }", "ps_5_0", 3052),
    ("float x = y; float4 main() : SV_Target { return x; }", "ps_5_0", 3004),
    ("static const int k; float4 main() : SV_Target { return k; }", "ps_5_0", 3012),
    ("void main(triangle float4 v[3] : SV_Position, inout TriangleStream<float4> s) { }", "gs_5_0", 3519),
    ("struct V { float4 p : SV_Position; }; [maxvertexcount(3)] void main(triangle V v[2], inout TriangleStream<V> s) { }", "gs_5_0", 3090),
    ("struct V { float4 p : SV_Position; }; [maxvertexcount(500)] void main(point V v[1], inout PointStream<V> s) { s.Append(v[0]); }", "gs_5_0", 3661),
    ("struct V { float4 p : SV_Position; }; [maxvertexcount(3)] void main(inout PointStream<V> s) { }", "gs_5_0", 3098),
    ("struct V { float3 p : P; }; V main(InputPatch<V, 3> i) { return i[0]; }", "hs_5_0", 3519),
    ("struct V { float3 p : P; }; struct C { float e[3] : SV_TessFactor; }; C pc() { return (C)0; } [domain(\"tri\")] [partitioning(\"integer\")]"
     " [outputtopology(\"line\")] [outputcontrolpoints(3)] [patchconstantfunc(\"pc\")] V main(InputPatch<V, 3> i) { return i[0]; }", "hs_5_0", 3514),
    ("RWStructuredBuffer<int> b; float4 main() : SV_Target { b.IncrementCounter(); return b.DecrementCounter(); }", "ps_5_0", 3669),
]  # fmt: skip


@pytest.mark.parametrize(("source", "profile", "code"), WHOLE, ids=[f"{w[1]} X{w[2]} {w[0][:50]}" for w in WHOLE])
def test_whole_sources(source: str, profile: str, code: int) -> None:
    assert ("error", code) in codes(source, profile)


WARNINGS: list[tuple[str, str, int]] = [
    ("float3 v = a; r.xyz = v;", "", 3206),
    ("r = pow(a, 2.5);", "", 3571),
    ("r = n / (n + 1);", "", 3556),
    ("[foo] if (n > 0) r = 1;", "", 3554),
    ("float4 q; r = q;", "", 4000),
    ("float x = (double)a.x * 2.0L; r = x;", "", 3205),
]


@pytest.mark.parametrize(("text", "globals", "code"), WARNINGS)
def test_warnings(text: str, globals: str, code: int) -> None:
    assert ("warning", code) in codes(body(text, globals))
    assert ("error", code) in codes(body(text, globals), flags=hlsl.Flags.WARNINGS_ARE_ERRORS)
    assert ("warning", code) not in codes(f"#pragma warning(disable: {code})\n" + body(text, globals))


def test_text_of_an_error() -> None:
    source = "float4 main(float4 a : A) : SV_Target\n{\n\tfloat4 b = foo + a;\n    return bar(a) + b;\n}\n"
    with pytest.raises(hlsl.CompileError) as caught:
        hlsl.compile(source, filename="shader.hlsl")
    assert str(caught.value) == (
        "shader.hlsl(3,13-15): error X3004: undeclared identifier 'foo'\n"
        "        float4 b = foo + a;\n"
        "                   ^~~\n"
        "shader.hlsl(4,12-14): error X3004: undeclared identifier 'bar'\n"
        "        return bar(a) + b;\n"
        "               ^~~"
    )


def test_errors_in_several_declarations() -> None:
    source = """
    float f() { return 1 + ; }
    struct S { float x };
    Texture2D<foo> t;
    float4 g() { return float3(1, 2, 3); }
    float4 main() : SV_Target { int x = y; return z; }
    """
    result = hlsl.compile_with_diagnostics(source)
    lines = {d.position.line for d in result.diagnostics if d.severity == "error"}
    assert lines >= {2, 3, 4, 5, 6}
    assert len([d for d in result.diagnostics if d.position.line == 6]) == 2


def test_a_function_nobody_calls_is_checked_too() -> None:
    assert ("error", 3004) in codes("float f() { return q; } float4 main() : SV_Target { return 1; }")


def test_an_error_names_the_file_it_is_in() -> None:
    files = {"a.hlsli": "float f() { return oops; }\n"}
    result = hlsl.compile_with_diagnostics(
        '#include "a.hlsli"\nfloat4 main() : SV_Target { return f(); }', include=lambda name, _: files[name]
    )
    assert result.text.startswith("a.hlsli(1,20-23): error X3004: undeclared identifier 'oops'\n    float f() { return oops; }")
