"""Any text gives a blob or a CompileError, in bounded time, and every blob is a legal program."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.hlsl import sound
from tests.unit.hlsl.test_flow import CASES, SOURCE
from tests.unit.hlsl.test_idioms import BODIES, PIXEL, WHOLE
from tests.unit.hlsl.test_reflection import SOURCE as REFLECTED
from tests.unit.hlsl.test_resources import HULL
from wddm import hlsl

SEEDS = [
    *[(SOURCE.format(body=c[1], functions=c[2]), "cs_5_0") for c in CASES],
    *[(PIXEL.format(globals=g, body=b), "ps_5_0") for g, b in BODIES],
    *[(source, profile) for profile, source in WHOLE],
    (REFLECTED, "ps_5_0"),
    (HULL, "hs_5_0"),
    ("struct V { float4 p : SV_Position; float2 uv : UV; }; [maxvertexcount(4)] void main(line V v[2], uint id : SV_PrimitiveID,"
     " inout TriangleStream<V> s) { for (int i = 0; i < 2; i++) { V o = v[i]; s.Append(o); } s.RestartStrip(); }", "gs_5_0"),
]  # fmt: skip

WORDS = ["float4", "float3x3", "int", "uint", "bool", "double", "min16float", "void", "struct", "cbuffer", "static", "const", "out", "inout", "if", "else", "for", "while", "do", "switch", "case", "default", "break", "continue", "return", "discard", "true", "1", "2.5", "0x7f", "-1", "(", ")", "{", "}", "[", "]", ";", ",", ".", "+", "-", "*", "/", "%", "<", ">", "=", "==", "!=", "&&", "||", "!", "~", "^", "&", "|", "<<", ">>", "?", ":", "::", "++", "--", "+=", "x", "y", "f", "main", "s", "S", "t", "xyz", "_m00", "a", "b", "i", "n", "SV_Target", "SV_Position", "register", "packoffset", "b0", "t0", ":", "float2", "Texture2D", "SamplerState", "Buffer", "StructuredBuffer", "RWStructuredBuffer", "<", "float", ">", "Sample", "Load", "mul", "dot", "sin", "clamp", "[unroll]", "[loop]", "[branch]", "#define", "#if", "#endif", "X", "namespace", "typedef", "groupshared", "numthreads"]


def compiles_or_refuses(source: str, profile: str = "ps_5_0") -> None:
    try:
        blob = hlsl.compile(source, profile=profile)
    except hlsl.CompileError as error:
        assert error.diagnostics
        assert not {d.code for d in error.diagnostics} & {4599, 8000}, str(error)
        assert str(error)
        return
    sound(blob)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=60), st.sampled_from(["ps_5_0", "vs_4_0", "cs_5_0", "gs_5_0", "hs_5_0", "ds_5_0"]))
def test_token_soup(words: list[str], profile: str) -> None:
    compiles_or_refuses(" ".join(words), profile)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_soup_in_a_function(words: list[str]) -> None:
    compiles_or_refuses("float4 main(float4 a : A, int n : N) : SV_Target { float4 x = a; float4 y = 1; " + " ".join(words) + "; return x; }")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    compiles_or_refuses(text)
    compiles_or_refuses("float4 main() : SV_Target { " + text + " return 1; }")


TOKENS = re.compile(r"\w+|\s+|[^\w\s]")


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_mutated_programs(seed: int) -> None:
    """Programs with tokens dropped, doubled, swapped or replaced."""
    source, profile = SEEDS[seed]
    random_ = random.Random(seed)
    original = TOKENS.findall(source)
    for _ in range(8):
        tokens = list(original)
        for _ in range(random_.choice((1, 1, 1, 2, 5))):
            at = random_.randrange(len(tokens))
            kind = random_.randrange(5)
            if kind == 0:
                del tokens[at]
            elif kind == 1:
                tokens.insert(at, tokens[at])
            elif kind == 2:
                tokens[at] = random_.choice(WORDS)
            elif kind == 3:
                other = random_.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            else:
                tokens[at] = random_.choice(original)
        compiles_or_refuses("".join(tokens), profile)


BOMBS = {
    "parentheses": "float4 main() : SV_Target { return " + "(" * 5000 + "1" + ")" * 5000 + "; }",
    "open parentheses": "float4 main() : SV_Target { return " + "(" * 50000,
    "blocks": "float4 main() : SV_Target { " + "{" * 3000 + "}" * 3000 + " return 1; }",
    "ifs": "float4 main(float4 a : A) : SV_Target { float4 r = a; " + "if (r.x > 1) { r = sin(r);" * 150 + "}" * 150 + " return r; }",
    "long sum": "float4 main(float4 a : A) : SV_Target { return " + "a + " * 1500 + "a; }",
    "longer sum": "float4 main(float4 a : A) : SV_Target { return " + "a + " * 30000 + "a; }",
    "minuses": "float4 main(float4 a : A) : SV_Target { return " + "- " * 9000 + "a; }",
    "ternaries": "float4 main(float4 a : A) : SV_Target { return " + "a.x ? a : " * 3000 + "a; }",
    "members": "float4 main(float4 a : A) : SV_Target { return a" + ".xyzw" * 4000 + "; }",
    "calls": "float f0(float x) { return sin(x); }" + "".join(
        f"float f{i}(float x) {{ return f{i - 1}(x + {i}) * f{i - 1}(x * {i}); }}" for i in range(1, 40))
        + "float4 main(float a : A) : SV_Target { return f39(a); }",
    "nested unrolling": "float4 main(float a : A) : SV_Target { float r = a; " + "".join(
        f"[unroll] for (int i{k} = 0; i{k} < 100; i{k}++) " for k in range(6)) + "r = sin(r); return r; }",
    "nested loops": "float4 main(float a : A, int n : N) : SV_Target { float r = a; " + "".join(
        f"for (int i{k} = 0; i{k} < n; i{k}++) {{" for k in range(50)) + "r = sin(r);" + "}" * 50 + " return r; }",
    "endless": "float4 main(float a : A) : SV_Target { int i = 0; [unroll] while (i < 1) { i = i * 1; } return a; }",
    "large array": "float4 main(uint i : I) : SV_Target { float v[65536]; v[i] = 1; return v[i + 1]; }",
    "too many arrays": "float4 main(uint i : I) : SV_Target { float r = 0; " + "".join(
        f"float v{k}[60]; v{k}[i] = {k}; r += v{k}[i * 2];" for k in range(90)) + " return r; }",
    "many errors": "float4 main() : SV_Target { " + "x = y; " * 1000 + "}",
    "structures": "".join(f"struct S{i} {{ S{i - 1} a[4]; S{i - 1} b[4]; }};" if i else "struct S0 { float x; };" for i in range(40))
        + "float4 main() : SV_Target { S39 s; return 1; }",
    "digits": "float4 main() : SV_Target { return " + "9" * 20000 + "; }",
    "fraction": "float4 main() : SV_Target { return 0." + "9" * 20000 + "e99999; }",
    "name": "float4 main() : SV_Target { float " + "x" * 100000 + " = 1; return 1; }",
    "temporaries": "float4 main(float4 a : A) : SV_Target { float4 r = 0; " + "".join(f"float4 t{i} = sin(a * {i});" for i in range(900))
        + "".join(f"r = r * t{i} + {i};" for i in range(900)) + " return r; }",
    "null": "float4 main() : SV_Target { return \0; }",
    "surrogate": "float4 main() : SV_Target { return \ud800; }",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str) -> None:
    compiles_or_refuses(BOMBS[name])
