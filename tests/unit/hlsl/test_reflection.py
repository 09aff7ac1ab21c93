"""Reflection, signatures, the cache and the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hlsl import sound
from wddm import hlsl
from wddm.dxbc.container import ShaderBlob
from wddm.dxbc.opcodes import GlobalFlags
from wddm.dxbc.statistics import FeatureFlags
from wddm.hlsl.command import main

SOURCE = """
cbuffer Frame : register(b2) { row_major float4x4 view; float3 eye; bool lit; float weights[3] = { 1, 2, 3 }; };
cbuffer Object { float4x4 world; uint2 unused; }
struct Light { float4 color; float3 position; uint kind; };
StructuredBuffer<Light> lights : register(t5);
Texture2D<float4> albedo; Texture2DArray<uint2> ids : register(t1); Texture2DMS<float3, 4> ms; ByteAddressBuffer raw; Texture2D never;
SamplerState linear_ : register(s1); SamplerComparisonState shadow; Texture2D depth;
float exposure;
struct In { float4 p : SV_Position; float3 n : NORMAL; float2 uv : TEXCOORD; nointerpolation uint id : ID; float fog : FOG;
            noperspective float2 screen : SCREEN; uint prim : SV_PrimitiveID; };
float4 main(In i, bool front : SV_IsFrontFace) : SV_Target {
    float4 c = albedo.Sample(linear_, i.uv) * depth.SampleCmp(shadow, i.uv, 0.5) + lights[i.id].color * exposure + ms.Load(int2(1, 1), 2).xyzz;
    c += mul(float4(eye, weights[i.id % 3]), view) + mul(world, c) + ids.Load(int4(0, 0, 0, 0)).x + raw.Load(8) + i.fog;
    return lit && front ? c : c * i.screen.x + i.prim; }
"""

GOLDEN = """
ps_5_0
CBUFFER $Globals 16
  exposure 0 4 SCALAR FLOAT 1x1 [0] USED
CBUFFER Frame 128
  view 0 64 MATRIX_ROWS FLOAT 4x4 [0] USED
  eye 64 12 VECTOR FLOAT 1x3 [0] USED
  lit 76 4 SCALAR BOOL 1x1 [0] USED
  weights 80 36 SCALAR FLOAT 1x1 [3] USED
CBUFFER Object 80
  world 0 64 MATRIX_COLUMNS FLOAT 4x4 [0] USED
  unused 64 8 VECTOR UINT 1x2 [0] NONE
RESOURCE_BIND_INFO lights 32
  $Element 0 32 STRUCT VOID 1x8 [0] USED
shadow SAMPLER 0 1 COMPARISON_SAMPLER
linear_ SAMPLER 1 1 NONE
albedo TEXTURE 0 1 TEXTURE2D FLOAT
ids TEXTURE 1 1 TEXTURE2DARRAY UINT
ms TEXTURE 2 1 TEXTURE2DMS FLOAT
raw BYTEADDRESS 3 1 BUFFER MIXED
depth TEXTURE 4 1 TEXTURE2D FLOAT
lights STRUCTURED 5 1 BUFFER MIXED
Frame CBUFFER 2 1
Object CBUFFER 1 1
$Globals CBUFFER 0 1
in SV_Position 0 xyzw POSITION
in NORMAL 1 xyz UNDEFINED
in FOG 1 w UNDEFINED
in TEXCOORD 2 xy UNDEFINED
in ID 3 x UNDEFINED
in SCREEN 4 xy UNDEFINED
in SV_PrimitiveID 5 x PRIMITIVE_ID
in SV_IsFrontFace 6 x IS_FRONT_FACE
out SV_Target 0 xyzw UNDEFINED
"""


def test_golden() -> None:
    blob = hlsl.compile(SOURCE)
    sound(blob)
    found = hlsl.reflect(blob)
    lines = [found.profile]
    for buffer in sorted(found.constant_buffers, key=lambda b: (b.kind, b.name)):
        lines.append(f"{buffer.kind.name} {buffer.name} {buffer.size}")
        for v in buffer.variables:
            t = v.type
            lines.append(f"  {v.name} {v.start} {v.size} {t.type_class.name} {t.base.name} {t.rows}x{t.columns} [{t.elements}] {v.flags.name}")
    for b in found.bindings:
        extra = f" {b.flags.name}" if b.type.name == "SAMPLER" else ""
        extra = f" {b.dimension.name} {b.return_type.name}" if b.dimension else extra
        lines.append(f"{b.name} {b.type.name} {b.bind_point} {b.bind_count}{extra}")
    elements = sorted(found.inputs, key=lambda e: (e.register, e.mask))
    for way, listed in (("in", elements), ("out", found.outputs)):
        for e in listed:
            mask = "".join(c for i, c in enumerate("xyzw") if e.mask >> i & 1)
            lines.append(f"{way} {e.semantic_name} {e.register} {mask} {e.system_value.name}")
    assert "\n".join(lines) == GOLDEN.strip()


def test_both_sides_of_a_stage_boundary_agree() -> None:
    source = """struct V { float2 a : A; float4 p : SV_Position; float3 b : B; float c : C; nointerpolation uint d : D; float2 e[2] : E;
        float clip : SV_ClipDistance; uint layer : SV_RenderTargetArrayIndex; noperspective float f : F; };
    V vs(float4 p : P) { V v = (V)0; v.p = p; return v; }
    [maxvertexcount(1)] void gs(point V i[1], inout PointStream<V> s) { s.Append(i[0]); }
    float4 ps(V v) : SV_Target { return v.a.xyxy + v.p + v.b.xyzz + v.c + v.d + v.e[1].xyxy + v.f; }"""
    def placed(entry: str, profile: str, side: str) -> list[tuple[str, int, int]]:
        shader = sound(hlsl.compile(source, entry, profile))
        return [(e.semantic, e.register, e.mask) for e in getattr(shader, f"{side}_signature").elements]

    out = placed("vs", "vs_5_0", "output")
    assert out == placed("gs", "gs_5_0", "input") == placed("gs", "gs_5_0", "output") == placed("ps", "ps_5_0", "input")
    places = {name: (register, mask) for name, register, mask in out}
    assert len({(r, 1 << c) for r, m in places.values() for c in range(4) if m >> c & 1}) == sum(m.bit_count() for _, m in places.values())


def test_vertex_inputs_are_not_packed() -> None:
    source = "float4 main(float2 a : A, float2 b : B, uint id : SV_VertexID, row_major float4x3 m : M) : SV_Position { return a.xyxy + b.x + m[3].x + id; }"
    shader = sound(hlsl.compile(source, profile="vs_4_0"))
    got = [(e.semantic, e.register, e.mask) for e in shader.input_signature.elements]
    assert got == [("A0", 0, 3), ("B0", 1, 3), ("SV_VertexID0", 2, 1), ("M0", 3, 7), ("M1", 4, 7), ("M2", 5, 7), ("M3", 6, 7)]


@pytest.mark.parametrize("profile", [p for p in hlsl.PROFILES if p[0] in "vp"])
def test_profiles(profile: str) -> None:
    semantic = "SV_Position" if profile[0] == "v" else "SV_Target"
    shader = sound(hlsl.compile(f"float4 main(float4 a : A) : {semantic} {{ return sqrt(a) / a.w; }}", profile=profile))
    assert shader.program.profile == profile
    assert shader.rdef is not None
    assert shader.stat is not None


def test_feature_flags() -> None:
    doubles = sound(hlsl.compile("float4 main(float4 a : A) : SV_Target { return (float)((double)a.x * 2.0L / a.y); }"))
    assert doubles.features == FeatureFlags.DOUBLES | FeatureFlags.DOUBLE_EXTENSIONS_11_1
    raw = sound(hlsl.compile("RWByteAddressBuffer b; [numthreads(1,1,1)] void main() { b.Store(0, 1); }", profile="cs_4_0"))
    assert raw.features == FeatureFlags.COMPUTE_PLUS_RAW_AND_STRUCTURED_BUFFERS_IN_4_X
    early = sound(hlsl.compile("[earlydepthstencil] float4 main() : SV_Target { return 1; }"))
    assert GlobalFlags.FORCE_EARLY_DEPTH_STENCIL in early.program.flags


def test_statistics() -> None:
    s = hlsl.reflect(hlsl.compile(SOURCE)).statistics
    assert s is not None
    program = ShaderBlob.parse(hlsl.compile(SOURCE)).program
    assert s.instructions == len(program.instructions)
    assert s.texture_normal == 1
    assert s.texture_compares == 1
    assert s.temps > 0


def test_cache(tmp_path: Path) -> None:
    cache = hlsl.Cache(tmp_path / "cache", max_entries=3)
    source = "float4 main() : SV_Target { return V; }"
    first = hlsl.compile_with_diagnostics(source, defines={"V": "1"}, cache=cache)
    again = hlsl.compile_with_diagnostics(source, defines={"V": "1"}, cache=cache)
    assert (first.cached, again.cached, again.blob) == (False, True, first.blob)
    assert not hlsl.compile_with_diagnostics(source, defines={"V": "2"}, cache=cache).cached
    assert not hlsl.compile_with_diagnostics(source, defines={"V": "1"}, profile="ps_4_0", cache=cache).cached
    (entry,) = [p for p in cache.directory.iterdir() if p.read_bytes() == first.blob]
    entry.write_bytes(b"rubbish")
    assert not hlsl.compile_with_diagnostics(source, defines={"V": "1"}, cache=cache).cached
    for n in range(6):
        hlsl.compile(source, defines={"V": str(n)}, cache=cache)
    assert len(list(cache.directory.iterdir())) == 3
    cache.directory.chmod(0o755)
    assert not hlsl.compile_with_diagnostics(source, defines={"V": "5"}, cache=cache).cached


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WDDM_CACHE_DIR", str(tmp_path / "cache"))
    file, out = tmp_path / "s.hlsl", tmp_path / "s.dxbc"
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "k.h").write_text("static const float k = K;")
    file.write_text('#include "k.h"\nfloat4 shade(float4 a : A) : SV_Target { return a * k; }')
    arguments = [str(file), "-E", "shade", "-T", "ps_4_0", "-o", str(out), "-DK=2", "-I", str(tmp_path / "inc"), "--reflect"]
    assert main(arguments) == 0
    assert "SV_Target0" in capsys.readouterr().out
    blob = out.read_bytes()
    spelt = [str(file), "/Eshade", "/T", "ps_4_0", "/Fo", str(out), "/D", "K=2", "/I", str(tmp_path / "inc"), "/nologo", "--no-cache"]
    assert main(spelt) == 0
    assert out.read_bytes() == blob
    assert main([str(file), "/Eshade", "/Tps_5_0", "/DK=q", "/I", str(tmp_path / "inc"), "/Fc", str(tmp_path / "l.txt")]) == 1
    assert "error X3004: undeclared identifier 'q'" in capsys.readouterr().err
    assert main([str(file), "/Eshade", "/DK=3", "-I", str(tmp_path / "inc"), "/P", str(tmp_path / "p.txt")]) == 0
    assert "static const float k = 3;" in (tmp_path / "p.txt").read_text()
    assert main([str(file), "--frobnicate"]) == 2
    assert main([str(tmp_path / "absent.hlsl")]) == 1
    assert main(["-h"]) == 0
    assert main([str(file), "/Eshade", "/DK=3", "-I", str(tmp_path / "inc"), "--asm", "--timings"]) == 0
    assert "tokens/s" in capsys.readouterr().err
