"""Control flow, executed: branches, loops, switches, early exits, functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.dxbc_interpreter import run_compute, run_stage
from tests.support.hlsl import sound
from wddm import hlsl

SOURCE = """
StructuredBuffer<int> input : register(t0);
RWStructuredBuffer<int> output : register(u0);
cbuffer C : register(b0) {{ int limit; int4 table[4]; }};
{functions}
[numthreads(64, 1, 1)] void main(uint id : SV_DispatchThreadID)
{{
    int x = input[id];
    int r = 0;
    {body}
    output[id] = r;
}}
"""

X = np.arange(64, dtype=np.int64) - 20
LIMIT = 9
TABLE = np.arange(100, 116)


def run(body: str, functions: str = "") -> np.ndarray:
    blob = hlsl.compile(SOURCE.format(body=body, functions=functions), profile="cs_5_0")
    sound(blob)
    out = np.zeros(64, np.uint32)
    constants = np.concatenate([[LIMIT, 0, 0, 0], TABLE]).astype(np.uint32)
    run_compute(blob, textures={0: X.astype(np.uint32)}, uavs={0: out}, buffers={0: constants})
    return out.view(np.int32)


def collatz(x: int) -> int:
    n = 0
    while x > 1 and n < 50:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        n += 1
    return n


def nested(x: int) -> int:
    r = 0
    for i in range(LIMIT):
        if i == x:
            continue
        for j in range(i):
            if j == 3:
                break
            if j + i == x:
                return r * 1000
            r += j
    return r


def search(x: int) -> int:
    for i in range(LIMIT):
        for j in range(5):
            if i * j == x:
                return i * 10 + j
    return -1


def switched(x: int) -> int:
    r = 0
    for i in range(LIMIT):
        k = (x + i) % 6
        if k == 0:
            r += 1
        elif k in (1, 2):
            if x > 10:
                continue
            r += 20
        elif k == 3:
            if x > 5:
                r += 300
            else:
                r -= 7
        elif k == 4:
            return r + 1000
        else:
            r ^= 5
        r += 1
    return r


CASES: list[tuple[str, str, str, Callable[[int], int]]] = [
    ("if", "if (x > 3) r = x; else r = -x;", "", lambda x: x if x > 3 else -x),
    ("branch", "[branch] if (x > 3) { r = x; } else if (x > 0) { r = 5; }", "", lambda x: x if x > 3 else 5 if x > 0 else 0),
    ("flatten", "[flatten] if (x > 3) r = x * x; else r = x + 1;", "", lambda x: x * x if x > 3 else x + 1),
    ("nested if", "if (x > 0) { if (x > 5) { if (x > 9) r = 3; else r = 2; } else r = 1; r += 10; }", "",
     lambda x: 0 if x <= 0 else 13 if x > 9 else 12 if x > 5 else 11),
    ("for", "for (int i = 0; i < limit; i++) r += i * x;", "", lambda x: sum(i * x for i in range(LIMIT))),
    ("loop", "[loop] for (int i = 0; i < 5; i++) r += i * x;", "", lambda x: 10 * x),
    ("unroll", "[unroll] for (int i = 0; i < 5; i++) r += table[i % 4].y * x;", "",
     lambda x: sum(int(TABLE[i % 4 * 4 + 1]) * x for i in range(5))),
    ("unroll n", "[unroll(12)] for (int i = 0; i < limit; i++) r += i;", "", lambda x: 36),
    ("while", "int y = x; while (y > 1 && r < 50) { y = y % 2 == 0 ? y / 2 : 3 * y + 1; r++; }", "", collatz),
    ("do", "int y = x; do { r += y; y--; } while (y > 0);", "", lambda x: x * (x + 1) // 2 if x > 0 else x),
    ("break", "for (int i = 0; i < limit; i++) { if (i == x) break; r += i; }", "",
     lambda x: sum(range(x)) if 0 <= x < LIMIT else 36),
    ("continue", "for (int i = 0; i < limit; i++) { if (i == x) continue; r += i; }", "",
     lambda x: 36 - (x if 0 <= x < LIMIT else 0)),
    ("break unrolled", "[unroll] for (int i = 0; i < 6; i++) { if (i == x) break; r += i + 1; }", "",
     lambda x: sum(i + 1 for i in range(x if 0 <= x < 6 else 6))),
    ("continue unrolled", "[unroll] for (int i = 0; i < 6; i++) { if (i == x) continue; r += i + 1; }", "",
     lambda x: sum(i + 1 for i in range(6) if i != x)),
    ("early return", "r = f(x);", "int f(int x) { if (x < 0) return -1; if (x > 20) { return 7; } x *= 2; return x; }",
     lambda x: -1 if x < 0 else 7 if x > 20 else x * 2),
    ("return in loop", "r = search(x);", """int search(int x) {
        for (int i = 0; i < limit; i++) for (int j = 0; j < 5; j++) if (i * j == x) return i * 10 + j; return -1; }""", search),
    ("nested loops", "r = f(x);", """int f(int x) { int r = 0; for (int i = 0; i < limit; i++) { if (i == x) continue;
        for (int j = 0; j < i; j++) { if (j == 3) break; if (j + i == x) return r * 1000; r += j; } } return r; }""", nested),
    ("switch", "r = f(x);", """int f(int x) { int r = 0; for (int i = 0; i < limit; i++) { switch ((uint)(x + i + 600) % 6u) {
        case 0: r += 1; break; case 1: case 2: if (x > 10) continue; r += 20; break;
        case 3: { if (x > 5) { r += 300; break; } r -= 7; break; } case 4: return r + 1000; default: r ^= 5; break; }
        r += 1; } return r; }""", switched),
    ("constant switch", "switch (3) { case 1: r = 1; break; case 3: r = x; break; default: r = 9; }", "", lambda x: x),
    ("switch without default", "switch (x) { case 1: r = 5; break; case 2: r = 6; break; }", "",
     lambda x: {1: 5, 2: 6}.get(x, 0)),
    ("swap in a loop", "int a = 1, b = x; for (int i = 0; i < limit; i++) { int t = a; a = b; b = t; } r = a * 1000 + b;", "",
     lambda x: x * 1000 + 1),
    ("fibonacci", "int a = 0, b = 1; [loop] for (int i = 0; i < limit; i++) { int t = a + b; a = b; b = t; } r = a + x;", "",
     lambda x: 34 + x),
    ("local array", "int v[4] = { 1, x, 3, 4 }; v[x & 3] = 9; r = v[(x + 1) & 3] * 100 + v[1];", "", lambda x: (
        lambda v: v[(x + 1) & 3] * 100 + v[1])([9 if (x & 3) == i else (1, x, 3, 4)[i] for i in range(4)])),
    ("array in a loop", "int v[8]; for (int i = 0; i < 8; i++) v[i] = i * x; for (int j = 0; j < limit - 1; j++) r += v[j] * j;", "",
     lambda x: sum(i * x * i for i in range(8))),
    ("constant table", "const int k[5] = { 3, 1, 4, 1, 5 }; r = k[(uint)(x + 100) % 5u];", "", lambda x: (3, 1, 4, 1, 5)[(x + 100) % 5]),
    ("static table", "r = primes[(uint)(x + 100) % 4u];", "static const int primes[4] = { 2, 3, 5, 7 };",
     lambda x: (2, 3, 5, 7)[(x + 100) % 4]),
    ("cbuffer table", "r = table[x & 3].z + table[2][x & 3];", "", lambda x: int(TABLE[(x & 3) * 4 + 2] + TABLE[8 + (x & 3)])),
    ("vector index", "int4 v = int4(x, 2, 3, 4); v[x & 3] = 8; r = v[(x + 1) & 3] + v.x * 10;", "", lambda x: (
        lambda v: v[(x + 1) & 3] + v[0] * 10)([8 if (x & 3) == i else (x, 2, 3, 4)[i] for i in range(4)])),
    ("out and inout", "int a = x, b; f(a, b, 3); r = a * 100 + b;", "void f(inout int a, out int b, int c) { b = a + c; a = c; }",
     lambda x: 300 + x + 3),
    ("overloads", "r = f(x) + f(1.0) + f(true) + f(uint2(1, 2));",
     "int f(int a) { return a; } int f(float a) { return 100; } int f(bool a) { return 200; } int f(uint2 a) { return 300; }",
     lambda x: x + 600),
    ("default arguments", "r = f(x) + f(x, 5);", "int f(int a, int b = 2) { return a * b; }", lambda x: 7 * x),
    ("static state", "bump(); bump(); r = counter + x;", "static int counter = 5; void bump() { counter += 2; }", lambda x: 9 + x),
    ("both sides of ?:", "int n = 0; r = x > 0 ? n++ : n--; r = n;", "", lambda x: 0),
    ("no short circuit", "int n = 0; if (x > 1000 && n++ == 0) r = 5; r += n;", "", lambda x: 1),
    ("namespaces", "r = a::b::f(x) + a::k;", "namespace a { static const int k = 4; namespace b { int f(int x) { return x + k; } } }",
     lambda x: x + 8),
    ("goes round once", "do { r++; if (x > 0) break; r += 10; } while (false);", "", lambda x: 1 if x > 0 else 11),
    ("return under two loops", "r = f(x);", """int f(int x) { int n = 0; while (true) { n++; [loop] for (int i = 0; i < n; i++) {
        if (i + n > x) return n * 100 + i; } if (n > 30) return -5; } }""", lambda x: next(
        (n * 100 + i for n in range(1, 32) for i in range(n) if i + n > x), -5)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "functions", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_flow(body: str, functions: str, expected: Callable[[int], int]) -> None:
    np.testing.assert_array_equal(run(body, functions), [expected(int(x)) for x in X])


def test_unrolled_loop_leaves_no_loop() -> None:
    source = "float4 main(float4 a : A) : SV_Target { float4 r = 0; for (int i = 0; i < 4; i++) r += a * i; return r; }"
    shader = sound(hlsl.compile(source))
    assert all(i.info.mnemonic not in ("loop", "iadd") for i in shader.program.instructions)


def test_mad_forms_unless_precise() -> None:
    plain = sound(hlsl.compile("float4 main(float4 a : A, float4 b : B) : SV_Target { return a * b + a; }"))
    assert [i.info.mnemonic for i in plain.program.instructions] == ["mad", "ret"]
    exact = sound(hlsl.compile("float4 main(float4 a : A, float4 b : B) : SV_Target { precise float4 r = a * b + a; return r; }"))
    assert [i.info.mnemonic for i in exact.program.instructions] == ["mul", "add", "ret"]
    assert exact.program.instructions[0].precise_mask == 0xF


def test_halves_of_one_operation_are_joined() -> None:
    both = sound(hlsl.compile("float4 main(float a : A, uint2 n : N) : SV_Target { return float4(sin(-a), cos(-a), n / 3); }"))
    assert [i.info.mnemonic for i in both.program.instructions].count("sincos") == 1
    source = "uint4 main(uint2 n : N, uint2 m : M) : SV_Target { return uint4(n / m, n % m); }"
    shader = sound(hlsl.compile(source))
    assert [i.info.mnemonic for i in shader.program.instructions].count("udiv") == 1
    n, m = np.array([[7, 100], [9, 3]], np.uint32), np.array([[2, 7], [4, 5]], np.uint32)
    out, _ = run_stage(hlsl.compile(source), {"N": n, "M": m})
    np.testing.assert_array_equal(out["SV_Target0"], np.concatenate([n // m, n % m], 1))


def test_a_barrier_under_a_condition_on_the_group() -> None:
    source = """[numthreads(4, 1, 1)] void main(uint3 g : SV_GroupID) { if (g.x == 1) GroupMemoryBarrierWithGroupSync(); }"""
    sound(hlsl.compile(source, profile="cs_5_0"))
