"""The whole surface: every intrinsic, every method of every object, every semantic compiles to a legal program."""

from __future__ import annotations

import pytest

from tests.support.hlsl import sound
from wddm import hlsl
from wddm.hlsl.intrinsics import INTRINSICS
from wddm.hlsl.methods import signatures
from wddm.hlsl.types import OBJECTS, VOID, Numeric, Object, numeric_named

_METHODS = ["Sample", "SampleBias", "SampleLevel", "SampleGrad", "SampleCmp", "SampleCmpLevelZero", "Gather", "GatherRed", "GatherGreen", "GatherBlue", "GatherAlpha", "GatherCmp", "GatherCmpRed", "GatherCmpGreen", "GatherCmpBlue", "GatherCmpAlpha", "Load", "Load2", "Load3", "Load4", "Store", "Store2", "Store3", "Store4", "GetDimensions", "GetSamplePosition", "CalculateLevelOfDetail", "CalculateLevelOfDetailUnclamped", "IncrementCounter", "DecrementCounter", "Append", "Consume", "InterlockedAdd", "InterlockedAnd", "InterlockedOr", "InterlockedXor", "InterlockedMin", "InterlockedMax", "InterlockedExchange", "InterlockedCompareExchange", "InterlockedCompareStore"]


def argument(type_: object, name: str) -> str:
    if type_ == "sampler":
        return "smp"
    if type_ == "comparison":
        return "cmp"
    assert isinstance(type_, Numeric)
    return f"({type_})v" if name != "offset" else f"({type_})3"


def calls() -> list[tuple[str, str, str, str]]:
    """(object type, method, call, declarations) for every signature."""
    out = []
    for kind in OBJECTS.values():
        if kind.family in ("sampler", "stream", "patch"):
            continue
        elements = ["float4"] if kind.family == "texture" else ["float"]
        if kind.family == "texture" and not kind.writable:
            elements += ["uint2"]
        if kind.family == "structured":
            elements = ["float3"]
        for element in elements:
            element_type = numeric_named("uint" if kind.writable and kind.family in ("texture", "buffer") else element)
            object_ = Object(kind, element_type, 4 if kind.multisampled else 0)
            for method in _METHODS:
                for signature in signatures(object_, method):
                    names = []
                    declarations = []
                    for n, parameter in enumerate(signature.parameters):
                        if parameter.out:
                            names.append(f"o{n}")
                            declarations.append(f"{parameter.type} o{n};")
                        else:
                            names.append(argument(parameter.type, "offset" if n == signature.offset else ""))
                    call = f"obj.{method}({', '.join(names)})"
                    results = [f"o{n}" for n, p in enumerate(signature.parameters) if p.out]
                    if signature.result is not VOID:
                        results.append("got")
                        call = f"{signature.result} got = {call}"
                    total = " + ".join(f"(float){r}" for r in results) or "0"
                    label = str(object_) if kind.family != "raw" else kind.name
                    out.append((label, method, f"{' '.join(declarations)} {call}; return {total};", signature.stages))
    return out


CALLS = calls()


def test_there_are_many() -> None:
    assert len(CALLS) > 250
    assert {c[1] for c in CALLS} == set(_METHODS)


@pytest.mark.parametrize("label", sorted({c[0] for c in CALLS}))
def test_methods(label: str) -> None:
    for _, method, body, _ in (c for c in CALLS if c[0] == label):
        source = f"{label} obj; SamplerState smp; SamplerComparisonState cmp; float4 main(float4 v : V) : SV_Target {{ {body} }}"
        try:
            sound(hlsl.compile(source, profile="ps_5_0"))
        except hlsl.CompileError as error:
            raise AssertionError(f"{method}: {source}\n{error}") from None


@pytest.mark.parametrize("label", sorted({c[0] for c in CALLS if "RW" not in c[0] and "Structured" not in c[0] and "Address" not in c[0]}))
def test_methods_in_old_models(label: str) -> None:
    """In shader model 4.0 a method compiles or is refused for its model."""
    for _, _, body, _ in (c for c in CALLS if c[0] == label):
        source = f"{label} obj; SamplerState smp; SamplerComparisonState cmp; float4 main(float4 v : V) : SV_Target {{ {body} }}"
        for profile in ("ps_4_0", "ps_4_1"):
            result = hlsl.compile_with_diagnostics(source, profile=profile)
            if result.blob is None:
                assert {d.code for d in result.diagnostics if d.severity == "error"} <= {4532, 3700}, result.text
            else:
                sound(result.blob)


@pytest.mark.parametrize("name", sorted(INTRINSICS))
def test_intrinsics(name: str) -> None:
    intrinsic = INTRINSICS[name]
    stage = "cs" if intrinsic.stages == "c" else "ps"
    for width in ("", "2", "4", "3x2"):
        declarations, names = [], []
        for n, letter in enumerate(intrinsic.parameters):
            base = {"U": "uint", "I": "int"}.get(letter.lstrip("&"), "float")
            single = {"f": "float", "i": "int", "u": "uint", "3": "float3", "4": "float4"}.get(letter)
            if letter in "VW" and width == "3x2":
                break
            type_ = single or base + width
            declarations.append(f"{type_} a{n} = ({type_})(v.x + {n});" if "x" in type_ else f"{type_} a{n} = ({type_})v{'.x' if type_ == base else ''};")
            names.append(f"a{n}")
        else:
            result = "" if intrinsic.result == "v" else "float r = (float)"
            call = f"{result}{name}({', '.join(names)});"
            body = " ".join(declarations) + call
            if stage == "ps":
                source = f"float4 main(float4 v : V) : SV_Target {{ {body} return {'0' if not result else 'r'}; }}"
            else:
                source = f"[numthreads(4, 1, 1)] void main(uint4 v : SV_GroupIndex) {{ {body} }}".replace("uint4 v", "uint v")
            try:
                sound(hlsl.compile(source, profile=stage + "_5_0"))
            except hlsl.CompileError as error:
                raise AssertionError(f"{source}\n{error}") from None


SEMANTICS = [
    ("vs_5_0", "uint a : SV_VertexID, uint b : SV_InstanceID, float4 c : POSITION, int2 d : X, bool e : Y",
     "float4 p : SV_Position; float c[2] : SV_ClipDistance; float k : SV_CullDistance1; uint r : SV_RenderTargetArrayIndex;"
     " uint v : SV_ViewportArrayIndex; nointerpolation int4 i : I; noperspective centroid float2 u : U; sample float w : W;"),
    ("ps_5_0", "float4 p : SV_Position, uint b : SV_PrimitiveID, bool c : SV_IsFrontFace, uint d : SV_SampleIndex, uint e : SV_Coverage,"
     " float2 f : SV_ClipDistance, uint g : SV_RenderTargetArrayIndex, uint h : SV_ViewportArrayIndex, sample float i : I,"
     " centroid noperspective float j : J, linear float k : K, nointerpolation float3 l : L, int m : M",
     "float4 a : SV_Target0; int2 b : SV_Target1; uint c : SV_Target7; float d : SV_DepthGreaterEqual; uint e : SV_Coverage;"),
    ("ps_5_0", "float4 p : SV_Position", "float4 a : SV_Target; float d : SV_DepthLessEqual; uint s : SV_StencilRef;"),
    ("ps_4_0", "float4 p : SV_Position, float4 c : COLOR", "float4 a : COLOR0; float d : DEPTH;"),
]  # fmt: skip


@pytest.mark.parametrize(("profile", "inputs", "outputs"), SEMANTICS)
def test_semantics(profile: str, inputs: str, outputs: str) -> None:
    names = [part.split(":")[0].split()[-1] for part in inputs.split(",")]
    total = " + ".join(f"(float){n}.x" if "4" in p.split(n)[0] else f"(float){n}" for n, p in zip(names, inputs.split(","), strict=True))
    source = f"struct O {{ {outputs} }}; O main({inputs}) {{ O o = (O)({total}); return o; }}"
    sound(hlsl.compile(source, profile=profile))


def test_compute_inputs() -> None:
    source = """RWBuffer<uint> o; uniform uint k; [numthreads(4, 2, 2)] void main(uint3 a : SV_DispatchThreadID, uint3 b : SV_GroupID,
        uint2 c : SV_GroupThreadID, uint d : SV_GroupIndex, uniform uint extra) { o[d] = a.z + b.y + c.y + k + extra; }"""
    blob = hlsl.compile(source, profile="cs_5_0")
    sound(blob)
    assert {b.name for b in hlsl.reflect(blob).constant_buffers} == {"$Globals", "$Params"}


def test_pull_model_and_sample_queries() -> None:
    source = """Texture2DMS<float4> ms; float4 main(float4 v : V, uint i : SV_SampleIndex) : SV_Target {
        return EvaluateAttributeAtCentroid(v) + EvaluateAttributeAtSample(v.wzyx, i) + EvaluateAttributeSnapped(v, int2(3, -4))
            + GetRenderTargetSampleCount() + GetRenderTargetSamplePosition(i).xyxy + ms.GetSamplePosition(i).xyxy + ms.sample[i][uint2(1, 2)]; }"""
    sound(hlsl.compile(source))


def test_streams_of_a_geometry_shader() -> None:
    source = """struct A { float4 p : SV_Position; }; struct B { float2 q : Q; uint n : N; };
    [maxvertexcount(4)] [instance(3)] void main(point A v[1], uint i : SV_GSInstanceID, uint k : SV_PrimitiveID,
        inout PointStream<A> a, inout PointStream<B> b) {
        a.Append(v[0]); B x; x.q = v[0].p.xy; x.n = i + k; b.Append(x); if (k > 2) a.RestartStrip(); }"""
    shader = sound(hlsl.compile(source, profile="gs_5_0"))
    assert [(e.semantic, e.stream, e.register) for e in shader.output_signature.elements] == [
        ("SV_Position0", 0, 0), ("Q0", 1, 0), ("N0", 1, 1)]  # fmt: skip


@pytest.mark.parametrize("primitive", ["point:1", "line:2", "triangle:3", "lineadj:4", "triangleadj:6"])
def test_primitives(primitive: str) -> None:
    word, count = primitive.split(":")
    source = f"""struct V {{ float4 p : SV_Position; uint k : K; }};
    [maxvertexcount(6)] void main({word} V v[{count}], inout LineStream<V> s) {{ for (uint i = 0; i < {count}; i++) s.Append(v[(i + v[0].k) % {count}]); }}"""
    sound(hlsl.compile(source, profile="gs_5_0"))


@pytest.mark.parametrize("domain", ["tri", "quad", "isoline"])
@pytest.mark.parametrize("partitioning", ["integer", "pow2", "fractional_odd", "fractional_even"])
def test_tessellation_domains(domain: str, partitioning: str) -> None:
    edges, insides, location = {"tri": (3, 1, 3), "quad": (4, 2, 2), "isoline": (2, 0, 2)}[domain]
    helper = {"tri": "ProcessTriTessFactorsAvg((float3)4, 1, (float3)r, s, t);", "quad": "Process2DQuadTessFactorsMax(r, (float2)1, r, a, b);",
              "isoline": "ProcessIsolineTessFactors(3, 4, s, t);"}[domain]  # fmt: skip
    helper = "float3 r3;" + helper.replace("(float3)r,", "r3,") if domain == "tri" else helper
    inside = f"float i[{insides}] : SV_InsideTessFactor;" if insides else ""
    source = f"""struct V {{ float3 p : P; }}; struct F {{ float e[{edges}] : SV_TessFactor; {inside} float2 x : X; }};
    F pc(InputPatch<V, 4> p) {{ F f; float4 r = 4; float s, t; float2 a, b; {helper} f = (F)(p[0].p.x + r.x); return f; }}
    [domain("{domain}")] [partitioning("{partitioning}")] [outputtopology("{'line' if domain == 'isoline' else 'triangle_cw'}")]
    [outputcontrolpoints(3)] [patchconstantfunc("pc")] V hs(InputPatch<V, 4> p, uint i : SV_OutputControlPointID) {{ return p[i + 1]; }}
    [domain("{domain}")] float4 ds(F f, float{location} w : SV_DomainLocation, OutputPatch<V, 3> p, uint k : SV_PrimitiveID) : SV_Position {{
        return float4(p[k % 3].p * w.x + f.x.xyx, f.e[1]); }}"""
    sound(hlsl.compile(source, "hs", "hs_5_0"))
    sound(hlsl.compile(source, "ds", "ds_5_0"))
