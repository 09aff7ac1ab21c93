"""Edge rules of instructions: NaN, infinities, denormals, conversions, integer, bit and double operations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.stack.d3d11.lab import Lab

U32, I32, F32 = np.uint32, np.int32, np.float32
NAN, INF = math.nan, math.inf
FLOATS = np.array(
    [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.7, -3.7, 1e-40, -1e-40, 1.2e-38, 3e38, -3e38, INF, -INF, NAN, 255.5, 65504, 2**31, -(2**31), 2**32, 4294967040, 1e10, -1e10, 7.25, -7.25, 0.1, 100],
    F32,
)  # fmt: skip
INTS = np.array(
    [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 100, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x12345678, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFFE, 0xDEADBEEF, 0xAAAAAAAA, 0x55555555, 5, 1000, 0xFFFF0000, 0xF0, 12, 0x40000000], U32,
)  # fmt: skip


def flush(v: Any) -> Any:
    """32-bit denormals as zeros of their sign."""
    v = np.asarray(v, F32)
    return np.where(np.abs(v) < F32(1.17549435e-38), np.copysign(F32(0), v), v)


async def pairs(lab: Lab, type: str, expressions: list[str], a: Any, b: Any, out: str = "uint") -> Any:
    """Values of expressions of ``a`` and ``b`` for every pair: (expressions, len(a), len(b)) uint32."""
    body = "".join(f"o[(({n} * 32) + i) * 32 + k] = {e};" for n, e in enumerate(expressions))
    source = f"""
    StructuredBuffer<{type}> from : register(t0); StructuredBuffer<{type}> other : register(t1); RWStructuredBuffer<{out}> o : register(u0);
    [numthreads(32, 32, 1)] void cs(uint3 t : SV_GroupThreadID) {{ uint i = t.x, k = t.y; {type} a = from[i], b = other[k]; {body} }}
    """
    views = [(await lab.structured(v, 4))[1] for v in (a, b)]
    return (await lab.compute(source, len(expressions) * 1024, *views, dtype=U32)).reshape(-1, 32, 32)


def same(got: Any, want: Any, text: str, ulps: int = 0) -> None:
    """Floats equal by bits but for NaN's; zeros by sign; results of which a denormal may be left are compared flushed."""
    got, want = flush(np.asarray(got).view(F32)), flush(want)
    nan = np.isnan(want)
    np.testing.assert_array_equal(np.isnan(got), nan, err_msg=text)
    if ulps:
        np.testing.assert_allclose(got[~nan], want[~nan], rtol=ulps * 6e-8, err_msg=text)
    else:
        np.testing.assert_array_equal(got[~nan], want[~nan], err_msg=text)


async def test_float_operations(lab: Lab) -> None:
    a, b = FLOATS[:, None], FLOATS[None]
    with np.errstate(all="ignore"):
        fa, fb = flush(a), flush(b)
        table: list[tuple[str, Any, int]] = [
            ("a + b", fa + fb, 0), ("a - b", fa - fb, 0), ("a * b", fa * fb, 0), ("a / b", fa / fb, 2),
            ("min(a, b)", np.fmin(fa, fb), 0), ("max(a, b)", np.fmax(fa, fb), 0), ("saturate(a + b)", np.nan_to_num(np.clip(fa + fb, 0, 1)), 0),
            ("mad(a, b, 1.5)", (fa.astype(np.float64) * fb + 1.5).astype(F32), 2),
        ]  # fmt: skip
        got = await pairs(lab, "float", [f"asuint({e})" for e, _, _ in table], FLOATS, FLOATS)
        for (text, want, ulps), value in zip(table, got, strict=True):
            same(value, np.broadcast_to(want, (32, 32)), text, ulps)


async def test_float_comparisons(lab: Lab) -> None:
    """Anything against NaN is false but inequality; zeros of both signs and denormals are equal."""
    with np.errstate(all="ignore"):
        a, b = flush(FLOATS[:, None]), flush(FLOATS[None])
        table: list[tuple[str, Any]] = [
            ("a < b", a < b), ("a <= b", a <= b), ("a > b", a > b), ("a >= b", a >= b), ("a == b", a == b), ("a != b", a != b),
            ("isnan(a) && !isinf(b)", np.isnan(a) & ~np.isinf(b)), ("isfinite(a) || isinf(b)", np.isfinite(a) | np.isinf(b)),
        ]  # fmt: skip
    got = await pairs(lab, "float", [f"({e}) ? 1 : 0" for e, _ in table], FLOATS, FLOATS)
    for (text, want), value in zip(table, got, strict=True):
        np.testing.assert_array_equal(value, np.broadcast_to(want, (32, 32)), err_msg=text)


async def test_float_functions(lab: Lab) -> None:
    """Rounding is to the nearest even; domain errors give NaN; poles infinities."""
    one = FLOATS
    with np.errstate(all="ignore"):
        f = flush(one)
        negative = np.signbit(f) & (f != 0)
        table: list[tuple[str, Any, int]] = [
            ("round(a)", np.rint(f), 0), ("floor(a)", np.floor(f), 0), ("ceil(a)", np.ceil(f), 0), ("trunc(a)", np.trunc(f), 0),
            ("frac(a)", np.where(np.isinf(f), NAN, f - np.floor(f)), 1), ("sqrt(a)", np.sqrt(f), 2), ("rsqrt(a)", np.where(f == 0, np.copysign(INF, f), 1 / np.sqrt(f)), 2),
            ("rcp(a)", 1 / f, 2), ("log2(a)", np.where(negative, NAN, np.log2(np.abs(f))), 16), ("exp2(a)", np.exp2(f), 64), ("abs(a)", np.abs(f), 0),
            ("-a", -f, 0),
        ]  # fmt: skip
        got = await pairs(lab, "float", [f"asuint({e})" for e, _, _ in table], FLOATS, FLOATS)
        for (text, want, ulps), value in zip(table, got, strict=True):
            value = value[:, 0]
            if text == "log2(a)":
                near = np.isfinite(want)
                np.testing.assert_allclose(value.view(F32)[near], want[near], rtol=2e-6, atol=2e-6, err_msg=text)
                same(value[~near], want[~near], text)
            else:
                same(value, want, text, ulps)


async def test_conversions(lab: Lab) -> None:
    """Towards zero, saturating, NaN to 0; integers to the nearest float; halves."""
    f = FLOATS.astype(np.float64)
    clean = np.nan_to_num(f, nan=0, posinf=1e300, neginf=-1e300)
    signed = np.clip(np.trunc(clean), -(2**31), 2**31 - 1).astype(np.int64).astype(I32)
    unsigned = np.clip(np.trunc(clean), 0, 2**32 - 1).astype(np.int64).astype(U32)
    got = await pairs(lab, "float", ["asuint((int)a)", "(uint)a", "f32tof16(a)", "asuint(f16tof32(f32tof16(a)))"], FLOATS, FLOATS)
    np.testing.assert_array_equal(got[0][:, 0].view(I32), signed)
    np.testing.assert_array_equal(got[1][:, 0], unsigned)
    ordinary = np.isfinite(FLOATS) & (np.abs(FLOATS) < 65504) & (np.abs(FLOATS) > 1e-4)
    with np.errstate(over="ignore"):
        halves = FLOATS.astype(np.float16)
    exact = ordinary & (halves.astype(F32) == FLOATS)
    np.testing.assert_array_equal(got[2][exact, 0], halves[exact].view(np.uint16))
    np.testing.assert_allclose(got[3][ordinary, 0].view(F32), FLOATS[ordinary], rtol=1e-3)
    assert (got[2][:, 0] <= 0xFFFF).all()
    got = await pairs(lab, "uint", ["asuint((float)a)", "asuint((float)(int)a)", "asuint(f16tof32(a))"], INTS, INTS)
    np.testing.assert_array_equal(got[0][:, 0].view(F32), INTS.astype(F32))
    np.testing.assert_array_equal(got[1][:, 0].view(F32), INTS.view(I32).astype(F32))
    want = (INTS & 0xFFFF).astype(np.uint16).view(np.float16).astype(F32)
    same(got[2][:, 0], want, "f16tof32")


async def test_integer_operations(lab: Lab) -> None:
    """Shifts take five bits; division by zero gives all ones; products and sums wrap."""
    a, b = INTS[:, None].astype(np.uint64), INTS[None].astype(np.uint64)
    sa, sb = INTS.view(I32)[:, None].astype(np.int64), INTS.view(I32)[None].astype(np.int64)
    with np.errstate(all="ignore"):
        zero = b == 0
        quotient, rest = np.where(zero, 2**32 - 1, a // np.maximum(b, 1)), np.where(zero, 2**32 - 1, a % np.maximum(b, 1))
        nonzero = np.where(sb == 0, 1, sb)
        # Truncating division made from the absolute values, as for HLSL's int.
        squotient = np.sign(sa) * np.sign(nonzero) * (np.abs(sa) // np.abs(nonzero))
        table: list[tuple[str, Any]] = [
            ("a + b", a + b), ("a - b", a - b), ("a * b", sa * sb), ("a << b", a << (b & np.uint64(31))), ("a >> b", a >> (b & np.uint64(31))),
            ("(uint)((int)a >> (int)b)", sa >> (sb & 31)), ("a / b", quotient), ("a % b", rest), ("min(a, b)", np.minimum(a, b)), ("max(a, b)", np.maximum(a, b)),
            ("(uint)min((int)a, (int)b)", np.minimum(sa, sb)), ("(uint)max((int)a, (int)b)", np.maximum(sa, sb)), ("a & b", a & b), ("a | b", a | b), ("a ^ b", a ^ b),
            ("~a", ~a + b * np.uint64(0)), ("a < b ? 1 : 0", a < b), ("(int)a < (int)b ? 1 : 0", sa < sb), ("a == b ? 1 : 0", a == b), ("(int)a >= (int)b ? 1 : 0", sa >= sb),
            ("(uint)((int)a / ((int)b == 0 ? 1 : (int)b))", squotient), ("(uint)abs((int)a)", np.abs(sa) + sb * 0), ("(uint)-(int)a", -sa + sb * 0),
        ]  # fmt: skip
    got = await pairs(lab, "uint", [e for e, _ in table], INTS, INTS)
    for (text, want), value in zip(table, got, strict=True):
        want = np.broadcast_to(np.asarray(want), (32, 32)).astype(np.int64 if np.asarray(want).dtype.kind != "u" else np.uint64)
        np.testing.assert_array_equal(value, (want & want.dtype.type(0xFFFFFFFF)).astype(U32), err_msg=text)


async def test_bit_operations(lab: Lab) -> None:
    def high(v: int) -> int:
        return v.bit_length() - 1 if v else -1

    def high_signed(v: int) -> int:
        s = v if v < 2**31 else ~v & 0xFFFFFFFF
        return s.bit_length() - 1 if s else -1

    words = [int(v) for v in INTS]
    table: list[tuple[str, list[int]]] = [
        ("countbits(a)", [v.bit_count() for v in words]), ("reversebits(a)", [int(f"{v:032b}"[::-1], 2) for v in words]),
        ("firstbitlow(a)", [(v & -v).bit_length() - 1 for v in words]), ("firstbithigh(a)", [high(v) for v in words]),
        ("firstbithigh((int)a)", [high_signed(v) for v in words]),
    ]  # fmt: skip
    got = await pairs(lab, "uint", [e for e, _ in table], INTS, INTS)
    for (text, want), value in zip(table, got, strict=True):
        np.testing.assert_array_equal(value[:, 0], np.array(want) % 2**32, err_msg=text)


async def test_wide_products_carries_and_bit_fields(lab: Lab) -> None:
    """What HLSL reaches by patterns: 64-bit products through doubles of 16 bits, carries through comparisons, masks with shifts."""
    source = """
    StructuredBuffer<uint> from : register(t0); RWStructuredBuffer<uint> o : register(u0);
    uint high(uint a, uint b) { uint al = a & 0xFFFF, ah = a >> 16, bl = b & 0xFFFF, bh = b >> 16; uint mid = (al * bl >> 16) + (ah * bl & 0xFFFF) + al * bh;
        uint carry = (al * bl >> 16) + (ah * bl & 0xFFFF) < (al * bl >> 16) ? 1 : 0; uint m2 = (al * bl >> 16) + (ah * bl & 0xFFFF); carry = (m2 + al * bh) < m2 ? 1 : 0;
        return ah * bh + (ah * bl >> 16) + (mid >> 16) + (carry << 16); }
    [numthreads(32, 1, 1)] void cs(uint i : SV_GroupIndex) { uint a = from[i], b = from[31 - i]; o[i] = high(a, b); o[32 + i] = (a + b < a) ? 1 : 0;
        o[64 + i] = (a >> (i & 15)) & ((1u << ((i & 7) + 1)) - 1); o[96 + i] = (a & ~(255u << 8)) | ((b & 255u) << 8); }
    """
    _, view = await lab.structured(INTS, 4)
    got = (await lab.compute(source, 128, view, dtype=U32)).reshape(4, 32)
    a, b = [int(v) for v in INTS], [int(v) for v in INTS[::-1]]
    assert got[0].tolist() == [x * y >> 32 for x, y in zip(a, b, strict=True)]
    assert got[1].tolist() == [int(x + y > 0xFFFFFFFF) for x, y in zip(a, b, strict=True)]
    assert got[2].tolist() == [(x >> (i & 15)) & ((1 << (i & 7) + 1) - 1) for i, x in enumerate(a)]
    assert got[3].tolist() == [(x & ~0xFF00) | (y & 255) << 8 for x, y in zip(a, b, strict=True)]


async def test_doubles(lab: Lab) -> None:
    source = """
    StructuredBuffer<uint2> from : register(t0); RWStructuredBuffer<uint2> o : register(u0);
    void put(uint at, double d) { uint l, h; asuint(d, l, h); o[at] = uint2(l, h); }
    [numthreads(16, 1, 1)] void cs(uint i : SV_GroupIndex) { double a = asdouble(from[i].x, from[i].y), b = asdouble(from[15 - i].x, from[15 - i].y);
        put(i, a + b); put(16 + i, a * b); put(32 + i, min(a, b)); put(48 + i, max(a, b)); put(64 + i, a / b); put(80 + i, fma(a, b, 1.0L)); put(96 + i, -abs(a));
        o[112 + i] = uint2(a < b ? 1 : 0, a == b ? 1 : 0); o[128 + i] = uint2(asuint((float)a), (uint)(int)a); put(144 + i, (double)(int)i * 0.5L); }
    """
    values = np.array([0.0, -0.0, 1, -1.5, 3.25, 1e-300, 1e300, INF, NAN, -INF, 0.1, 2.0**53, -7, 1e-200, 123456789.125, 2.5])
    _, view = await lab.structured(values.view(U32), 8)
    got = (await lab.compute(source, 160 * 2, view, dtype=U32, stride=8)).reshape(10, 16, 2)
    a, b = values, values[::-1]
    with np.errstate(all="ignore"):
        fused = [NAN if np.isnan(x * y) else x * y + 1 for x, y in zip(a, b, strict=True)]
        table = [a + b, a * b, np.fmin(a, b), np.fmax(a, b), a / b, np.array(fused), -np.abs(a)]
        for n, want in enumerate(table):
            have = np.ascontiguousarray(got[n]).view(np.float64)[:, 0]
            nan = np.isnan(want)
            np.testing.assert_array_equal(np.isnan(have), nan, err_msg=str(n))
            np.testing.assert_allclose(have[~nan], want[~nan], rtol=1e-15, atol=0, err_msg=str(n))
        np.testing.assert_array_equal(got[7, :, 0], a < b)
        np.testing.assert_array_equal(got[7, :, 1], a == b)
        inside = np.isfinite(a) & (np.abs(a) < 1e38)
        same(got[8, inside, 0], a[inside].astype(F32), "float(double)", 1)
        small = np.isfinite(a) & (np.abs(a) < 2e9)
        np.testing.assert_array_equal(got[8, small, 1].view(I32), np.trunc(a[small]).astype(I32))
    np.testing.assert_array_equal(np.ascontiguousarray(got[9]).view(np.float64)[:, 0], np.arange(16) * 0.5)


async def test_doubles_keep_denormals(lab: Lab) -> None:
    """Denormals are flushed in single precision only."""
    source = """
    StructuredBuffer<uint2> from : register(t0); RWStructuredBuffer<uint2> o : register(u0);
    void put(uint at, double d) { uint l, h; asuint(d, l, h); o[at] = uint2(l, h); }
    [numthreads(4, 1, 1)] void cs(uint i : SV_GroupIndex) { double a = asdouble(from[i].x, from[i].y); put(i, a + a); put(4 + i, a * 0.5L); put(8 + i, max(a, -1.0L)); }
    """
    values = np.array([1e-310, -3e-309, 2.3e-308, 5e-324])
    _, view = await lab.structured(values.view(U32), 8)
    got = np.ascontiguousarray(await lab.compute(source, 24, view, dtype=U32, stride=8)).view(np.float64).reshape(3, 4)
    np.testing.assert_array_equal(got, [values + values, values * 0.5, values])


async def test_moves_keep_bits(lab: Lab) -> None:
    """Data that is only moved keeps NaN payloads and denormals: buffers, conditional moves, temps, shared memory, textures."""
    words = np.array([0x7F800001, 0xFFC12345, 1, 0x80000001, 0x007FFFFF, 0x7FFFFFFF, 0xFF800000, 0x3F800000], U32)
    source = """
    StructuredBuffer<float> from : register(t0); RWStructuredBuffer<float> o : register(u0); groupshared float s[8];
    [numthreads(8, 1, 1)] void cs(uint i : SV_GroupIndex) { float v = from[i]; s[i] = v; GroupMemoryBarrierWithGroupSync();
        float t[8]; for (uint n = 0; n < 8; n++) t[n] = s[n]; o[i] = t[i]; o[8 + i] = (i & 1) ? v : s[i]; }
    """
    _, view = await lab.structured(words, 4)
    got = await lab.compute(source, 16, view, dtype=U32)
    assert got.tolist() == words.tolist() * 2


@pytest.mark.parametrize("op", ["sincos", "pow", "atan2", "fmod", "smoothstep", "normalize", "reflect", "exp", "log10", "tanh"])
async def test_functions_of_common_use(lab: Lab, op: str) -> None:
    x = np.linspace(-4, 4, 32).astype(F32)
    y = np.linspace(0.1, 3, 32).astype(F32)
    p, q = x[:, None].astype(np.float64), y[None].astype(np.float64)
    text, want, limit = {
        "sincos": ("sin(a) + cos(b)", np.sin(p) + np.cos(q), 1e-3), "pow": ("pow(b, a)", q**p, 1e-4), "atan2": ("atan2(a, b)", np.arctan2(p, q), 1e-3),
        "fmod": ("fmod(a, b)", np.fmod(p, q), 1e-5), "smoothstep": ("smoothstep(-1, b, a)", (t := np.clip((p + 1) / (q + 1), 0, 1)) * t * (3 - 2 * t), 1e-5),
        "normalize": ("normalize(float2(a, b)).x", p / np.hypot(p, q), 1e-5), "reflect": ("reflect(float2(a, b), float2(0, 1)).y", -q + p * 0, 1e-5),
        "exp": ("exp(a) * b", np.exp(p) * q, 1e-5), "log10": ("log10(b) + a", np.log10(q) + p, 1e-4), "tanh": ("tanh(a) * b", np.tanh(p) * q, 1e-3),
    }[op]  # fmt: skip
    got = (await pairs(lab, "float", [f"asuint({text})"], x, y))[0].view(F32)
    if op == "fmod":  # where the quotient is next to an integer, either side is right
        off = np.abs(got - want)
        ratio = np.abs(p / q - np.rint(p / q))
        assert ((off < 1e-5) | (ratio < 1e-5)).all()
    else:
        np.testing.assert_allclose(got, want, rtol=limit, atol=limit)
