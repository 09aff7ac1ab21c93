"""Control flow: loops, switches, nested breaks and continues, early returns, indexable temps, divergence between lanes and quads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wddm
from tests.stack.d3d11.lab import Lab
from wddm import Format

U32 = np.uint32
M = 0xFFFFFFFF


def collatz(x: int) -> int:
    n = 0
    while x > 1 and n < 200:
        x = x // 2 if x % 2 == 0 else (x * 3 + 1) & M
        n += 1
    return n


def nested(x: int) -> int:
    total = 0
    for i in range(10):
        if i == x % 7:
            continue
        for k in range(10):
            if k == i:
                break
            if (k + x) % 3 == 0:
                continue
            total += i * k + 1
        if total > 200:
            break
    return total


def switched(x: int) -> int:
    v = 0
    for i in range(6):
        case = (x + i) % 7
        if case == 0:
            v += 1
        elif case in (1, 2):
            v += 10
        elif case == 3:
            v *= 3
        elif case == 5:
            if x & 1:
                v += 1000
            else:
                v += 2000
        else:
            v ^= 0x55
        if case == 6:
            continue
        v += 1
    return v & M


def early(x: int) -> int:
    if x < 10:
        return x * 2
    for i in range(x):
        if i * i > x:
            return i + 100
        if i == 5 and x % 4 == 0:
            return 77
    return 5


def arrays(x: int) -> int:
    a = [i * x for i in range(8)]
    for i in range(16):
        a[(i * 3 + x) % 8] += a[i % 8] ^ i
    for i in range(7):
        for k in range(7 - i):
            if a[k] & M > a[k + 1] & M:
                a[k], a[k + 1] = a[k + 1], a[k]
    return (a[x % 8] + a[0] * 7) & M


def do_while(x: int) -> int:
    n = 0
    while True:
        n += x & 3
        x >>= 1
        if x == 9:
            break
        if x == 0:
            break
    return n


def through(x: int) -> int:
    r = 0
    while True:
        r += 1
        s = r % 4
        if s == 0:
            if r > x % 13:
                return r * 100
        elif s == 1:
            continue
        elif s == 2:
            if x & 2:
                return r
        if r > 40:
            return 4000


PROGRAMS: list[tuple[str, str, Callable[[int], int]]] = [
    ("collatz", "uint n = 0; while (x > 1 && n < 200) { if (x % 2 == 0) x /= 2; else x = x * 3 + 1; n++; } return n;", collatz),
    (
        "nested",
        "uint total = 0; for (uint i = 0; i < 10; i++) { if (i == x % 7) continue; for (uint k = 0; k < 10; k++) { if (k == i) break; if ((k + x) % 3 == 0) continue; total += i * k + 1; } if (total > 200) break; } return total;",
        nested,
    ),
    (
        "switched",
        "uint v = 0; for (uint i = 0; i < 6; i++) { uint c = (x + i) % 7; switch (c) { case 0: v += 1; break; case 1: case 2: v += 10; break; case 3: v *= 3; break;"
        " case 5: if (x & 1) { v += 1000; break; } v += 2000; break; default: v ^= 0x55; break; } if (c == 6) continue; v += 1; } return v;",
        switched,
    ),
    ("early", "if (x < 10) return x * 2; [loop] for (uint i = 0; i < x; i++) { if (i * i > x) return i + 100; if (i == 5 && x % 4 == 0) return 77; } return 5;", early),
    (
        "arrays",
        "uint a[8]; for (uint j = 0; j < 8; j++) a[j] = j * x; for (uint i = 0; i < 16; i++) a[(i * 3 + x) % 8] += a[i % 8] ^ i;"
        " for (uint p = 0; p < 7; p++) for (uint k = 0; k < 7 - p; k++) if (a[k] > a[k + 1]) { uint t = a[k]; a[k] = a[k + 1]; a[k + 1] = t; } return a[x % 8] + a[0] * 7;",
        arrays,
    ),
    ("do while", "uint n = 0; do { n += x & 3; x >>= 1; if (x == 9) break; } while (x != 0); return n;", do_while),
    (
        "through",
        "uint r = 0; [loop] while (true) { r++; switch (r % 4) { case 0: if (r > x % 13) return r * 100; break; case 1: continue; case 2: if (x & 2) return r; break; } if (r > 40) return 4000; } return r;",
        through,
    ),
]  # fmt: skip

X = np.concatenate([np.arange(48), [97, 1000, 27, 255, 256, 6171, 12345, 99, 500, 777, 2**16, 63, 64, 65, 31, 33]]).astype(U32)


@pytest.mark.parametrize(("name", "body", "expected"), PROGRAMS, ids=[p[0] for p in PROGRAMS])
async def test_programs(lab: Lab, name: str, body: str, expected: Callable[[int], int]) -> None:
    """Sixty-four lanes that go their own ways."""
    source = f"StructuredBuffer<uint> from : register(t0); RWStructuredBuffer<uint> o : register(u0); uint f(uint x) {{ {body} }} [numthreads(64, 1, 1)] void cs(uint i : SV_GroupIndex) {{ o[i] = f(from[i]); }}"
    _, view = await lab.structured(X, 4)
    got = await lab.compute(source, 64, view, dtype=U32)
    np.testing.assert_array_equal(got, [expected(int(x)) for x in X])


async def test_indexable_temps_out_of_bounds(lab: Lab) -> None:
    """An index outside an array touches nothing else: neighbours keep their values."""
    source = """
    StructuredBuffer<int> from : register(t0); RWStructuredBuffer<uint> o : register(u0);
    [numthreads(8, 1, 1)] void cs(uint i : SV_GroupIndex) { uint before[4] = { 1, 2, 3, 4 }, a[4] = { 10, 20, 30, 40 }, after[4] = { 5, 6, 7, 8 };
        a[from[i]] = 99; before[(from[i] + 1) & 3] += i; after[(from[i] + 2) & 3] += i;
        o[i * 12] = before[0]; o[i * 12 + 1] = before[1]; o[i * 12 + 2] = before[2]; o[i * 12 + 3] = before[3];
        for (uint k = 0; k < 4; k++) { o[i * 12 + 4 + k] = a[k]; o[i * 12 + 8 + k] = after[k]; } }
    """
    where = np.array([0, 3, 4, -1, 100, 0x7FFFFFFF, -0x80000000, 2], np.int32)
    _, view = await lab.structured(where, 4)
    got = (await lab.compute(source, 96, view, dtype=U32)).reshape(8, 12)
    for i, at in enumerate(where.tolist()):
        before, a, after = [1, 2, 3, 4], [10, 20, 30, 40], [5, 6, 7, 8]
        if 0 <= at < 4:
            a[at] = 99
        before[at + 1 & 3] += i
        after[at + 2 & 3] += i
        assert got[i].tolist() == before + a + after, at


async def test_constant_tables_with_any_index(lab: Lab) -> None:
    source = """
    static const uint table[5] = { 3, 1, 4, 1, 5 }; StructuredBuffer<int> from : register(t0); RWStructuredBuffer<uint> o : register(u0);
    [numthreads(8, 1, 1)] void cs(uint i : SV_GroupIndex) { o[i] = table[from[i]]; }
    """
    _, view = await lab.structured(np.array([0, 4, 2, 3, 1, 1, 4, 0], np.int32), 4)
    assert (await lab.compute(source, 8, view, dtype=U32)).tolist() == [3, 5, 4, 1, 1, 1, 5, 3]


async def test_divergent_pixels(lab: Lab) -> None:
    """Pixels of a quad leave loops at different times; samples with explicit gradients inside divergent branches."""
    source = """
    Texture2D<float> t : register(t0); SamplerState s : register(s0);
    float4 ps(Full f) : SV_Target { uint x = f.position.x, y = f.position.y; float sum = 0; uint n = 0;
        [loop] for (uint i = 0; i < 100; i++) { if (i >= x + y * 3) break; if ((i ^ x) & 1) continue; sum += t.SampleLevel(s, float2((i + 0.5) / 8, 0.5), 0); n++; }
        if (x > y) { sum += t.SampleGrad(s, float2(0.9, 0.5), 0, 0) * 100; if (y == 0) return float4(sum, n, 1, 1); }
        return float4(sum, n, 0, 1); }
    """
    row = np.arange(8, dtype=np.float32)
    texture = await lab.device.create_texture2d(row[None, :, None], format=Format.R32_FLOAT)
    target, _ = await lab.target(6, 4)
    await lab.full(source)
    lab.ctx.ps_set_shader_resources(0, [await lab.device.create_shader_resource_view(texture)])
    lab.ctx.ps_set_samplers(0, [await lab.sampler(filter=wddm.Filter.MIN_MAG_MIP_POINT, address_u=1, address_v=1)])
    lab.ctx.draw(3)
    got = await lab.ctx.read_texture(target)
    for y in range(4):
        for x in range(6):
            taken = [i for i in range(x + y * 3) if not (i ^ x) & 1]
            total = sum(i % 8 for i in taken) + (700 if x > y else 0)
            assert got[y, x].tolist() == [total, len(taken), int(x > y and y == 0), 1], (x, y)


async def test_divergent_early_returns_do_not_stop_barriers_of_others(lab: Lab) -> None:
    """Work after a loop that only some lanes ran long is right for all."""
    source = """
    RWStructuredBuffer<uint> o : register(u0); groupshared uint s[64];
    [numthreads(64, 1, 1)] void cs(uint i : SV_GroupIndex) { uint n = 0; for (uint k = 0; k < i; k++) n += k; s[i] = n; GroupMemoryBarrierWithGroupSync();
        uint other = s[63 - i]; GroupMemoryBarrierWithGroupSync(); if (i & 1) s[i] = other; GroupMemoryBarrierWithGroupSync(); o[i] = s[i ^ 1]; }
    """
    got: Any = await lab.compute(source, 64, dtype=U32)
    tri = [n * (n - 1) // 2 for n in range(64)]
    after = [tri[63 - i] if i & 1 else tri[i] for i in range(64)]
    assert got.tolist() == [after[i ^ 1] for i in range(64)]
