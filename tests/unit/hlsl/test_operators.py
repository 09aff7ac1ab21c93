"""Operators and conversions, executed and compared with numpy; with unknown and with literal operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.hlsl import FLOATS, INTS, evaluate

F32 = np.float32


def fmod(a: Any, b: Any) -> Any:
    return np.fmod(a, b)


FLOAT: list[tuple[str, Callable[[Any, Any, Any], Any]]] = [
    ("a + b", lambda a, b, c: a + b),
    ("a - b", lambda a, b, c: a - b),
    ("a * b", lambda a, b, c: a * b),
    ("a / b", lambda a, b, c: a / b),
    ("-a", lambda a, b, c: -a),
    ("+a", lambda a, b, c: a),
    ("a * b + c", lambda a, b, c: a * b + c),
    ("a * b - c", lambda a, b, c: a * b - c),
    ("c - a * b", lambda a, b, c: c - a * b),
    ("-(a * b) + c", lambda a, b, c: c - a * b),
    ("(a + b) * (a - b)", lambda a, b, c: (a + b) * (a - b)),
    ("a % b", lambda a, b, c: fmod(a, b)),
    ("a < b ? a : b", lambda a, b, c: np.where(a < b, a, b)),
    ("a >= b ? c : a", lambda a, b, c: np.where(a >= b, c, a)),
    ("a.x > b.x ? a : b", lambda a, b, c: np.where(a[:, :1] > b[:, :1], a, b)),
    ("(float4)(a < b)", lambda a, b, c: (a < b) * 1.0),
    ("(float4)(a == a) + (a != b)", lambda a, b, c: 1.0 + (a != b)),
    ("(float4)((a < b) && (b < c))", lambda a, b, c: ((a < b) & (b < c)) * 1.0),
    ("(float4)((a < b) || (b < c))", lambda a, b, c: ((a < b) | (b < c)) * 1.0),
    ("(float4)!(a < b)", lambda a, b, c: (~(a < b)) * 1.0),
    ("(float4)(int4)a", lambda a, b, c: np.trunc(a)),
    ("float4(a.wzy, b.x)", lambda a, b, c: np.concatenate([a[:, [3, 2, 1]], b[:, :1]], 1)),
    ("float4(a.xy, b.zw).wxzy", lambda a, b, c: np.stack([b[:, 3], a[:, 0], b[:, 2], a[:, 1]], 1)),
    ("a.rgba + b.bgra", lambda a, b, c: a + b[:, [2, 1, 0, 3]]),
    ("a.xxxx * 2", lambda a, b, c: a[:, [0] * 4] * 2),
    ("a + 1", lambda a, b, c: a + 1),
    ("2.5 - a", lambda a, b, c: F32(2.5) - a),
    ("a / 4", lambda a, b, c: a / 4),
    ("1 / a", lambda a, b, c: 1 / a),
    ("a + b.x", lambda a, b, c: a + b[:, :1]),
    ("(a, b)", lambda a, b, c: b),
    ("float4(a.x, a.x * b.y, (float2)c.z)", lambda a, b, c: np.stack([a[:, 0], a[:, 0] * b[:, 1], c[:, 2], c[:, 2]], 1)),
    ("abs(-a) + -abs(b)", lambda a, b, c: np.abs(a) - np.abs(b)),
    ("saturate(a * b)", lambda a, b, c: np.clip(a * b, 0, 1)),
    ("saturate(a) - saturate(-a)", lambda a, b, c: np.clip(a, 0, 1) - np.clip(-a, 0, 1)),
]

INT: list[tuple[str, Callable[[Any, Any, Any], Any]]] = [
    ("p + q", lambda p, q, r: p + q),
    ("p - q", lambda p, q, r: p - q),
    ("p * q + r", lambda p, q, r: p * q + r),
    ("p / (q | 1)", lambda p, q, r: np.trunc(p / (q | 1)).astype(np.int64)),
    ("p % (q | 1)", lambda p, q, r: np.fmod(p, q | 1)),
    ("p / 7", lambda p, q, r: np.trunc(p / 7).astype(np.int64)),
    ("p & q", lambda p, q, r: p & q),
    ("p | q ^ r", lambda p, q, r: p | (q ^ r)),
    ("~p", lambda p, q, r: ~p),
    ("-p", lambda p, q, r: -p),
    ("p << 3", lambda p, q, r: p << 3),
    ("p >> 2", lambda p, q, r: p >> 2),
    ("p << (q & 15)", lambda p, q, r: p << (q & 15)),
    ("p < q ? p : r", lambda p, q, r: np.where(p < q, p, r)),
    ("(int4)(p == q) - (p >= r)", lambda p, q, r: (p == q) * 1 - (p >= r) * 1),
    ("p * 8 + 4 / 2", lambda p, q, r: p * 8 + 2),
    ("max(p, q) - min(p, r)", lambda p, q, r: np.maximum(p, q) - np.minimum(p, r)),
    ("abs(p) + sign(q)", lambda p, q, r: np.abs(p) + np.sign(q)),
    ("clamp(p, -5, 5)", lambda p, q, r: np.clip(p, -5, 5)),
    ("(int4)(bool4)p", lambda p, q, r: (p != 0) * 1),
    ("(int4)(p && q)", lambda p, q, r: ((p != 0) & (q != 0)) * 1),
    ("(int4)!p", lambda p, q, r: (p == 0) * 1),
    ("(int4)((float4)p * 0.5)", lambda p, q, r: np.trunc(p * 0.5).astype(np.int64)),
]

UINT: list[tuple[str, Callable[[Any, Any, Any], Any]]] = [
    ("up / (uq | 1)", lambda p, q, r: p // (q | np.uint32(1))),
    ("up % (uq | 1)", lambda p, q, r: p % (q | np.uint32(1))),
    ("up / 16 + up % 8", lambda p, q, r: p // np.uint32(16) + p % np.uint32(8)),
    ("up >> 5", lambda p, q, r: p >> np.uint32(5)),
    ("up < uq ? 1u : 2u", lambda p, q, r: np.where(p < q, 1, 2)),
    ("up * 3u - uq", lambda p, q, r: p * np.uint32(3) - q),
    ("max(up, uq)", lambda p, q, r: np.maximum(p, q)),
    ("countbits(up) + firstbitlow(uq)", lambda p, q, r: popcount(p) + lowest(q)),
    ("reversebits(up)", lambda p, q, r: np.vectorize(lambda x: int(f"{x:032b}"[::-1], 2))(p)),
    ("firstbithigh(up)", lambda p, q, r: np.vectorize(lambda x: int(x).bit_length() - 1)(p)),
    ("asuint((float4)up)", lambda p, q, r: p.astype(np.float32).view(np.uint32)),
    ("(uint4)(int4)a + up", lambda p, q, r: p + np.trunc(FLOATS[:, 0]).astype(np.int64).astype(np.uint32)),
]


def popcount(x: Any) -> Any:
    return np.vectorize(lambda v: int(v).bit_count())(x)


def lowest(x: Any) -> Any:
    return np.vectorize(lambda v: (int(v) & -int(v)).bit_length() - 1)(x)


@pytest.mark.parametrize(("expression", "expected"), FLOAT, ids=[e for e, _ in FLOAT])
def test_float(expression: str, expected: Callable[..., Any]) -> None:
    got = evaluate(expression, FLOATS)
    want = expected(*[FLOATS[:, k] for k in range(3)])
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(("expression", "expected"), INT, ids=[e for e, _ in INT])
def test_int(expression: str, expected: Callable[..., Any]) -> None:
    got = evaluate(expression, FLOATS, INTS, type="int4")
    np.testing.assert_array_equal(got, expected(*[INTS[:, k] for k in range(3)]))


@pytest.mark.parametrize(("expression", "expected"), UINT, ids=[e for e, _ in UINT])
def test_uint(expression: str, expected: Callable[..., Any]) -> None:
    got = evaluate(expression, FLOATS, INTS, type="uint4")
    words = INTS.astype(np.uint32)
    want = np.asarray(expected(*[words[:, k] for k in range(3)])).astype(np.int64).astype(np.uint32)
    np.testing.assert_array_equal(got, want)


def literal(values: Any, kind: str) -> str:
    return f"{kind}4({', '.join(repr(float(v)) if kind == 'float' else str(int(v)) for v in values)})"


@pytest.mark.parametrize(("expression", "expected"), FLOAT, ids=[e for e, _ in FLOAT])
def test_float_folded(expression: str, expected: Callable[..., Any]) -> None:
    """The same with values that are known when compiling."""
    row = FLOATS[3:4]
    body = "; ".join(f"{name} = {literal(row[0, k], 'float')}" for k, name in enumerate("abc"))
    got = evaluate(f"0; {body}; result[i] = {expression}", row)
    np.testing.assert_allclose(got, expected(*[row[:, k] for k in range(3)]), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(("expression", "expected"), INT, ids=[e for e, _ in INT])
def test_int_folded(expression: str, expected: Callable[..., Any]) -> None:
    row = INTS[5:6]
    body = "; ".join(f"{name} = {literal(row[0, k], 'int')}" for k, name in enumerate("pqr"))
    got = evaluate(f"0; {body}; result[i] = {expression}", FLOATS[:1], row, type="int4")
    np.testing.assert_array_equal(got, expected(*[row[:, k] for k in range(3)]))


def test_compound_assignment_and_steps() -> None:
    body = """
        int4 x = p; x += q; x -= 2; x *= r; x <<= 1; x |= 1; x &= 0xffff; x ^= q; x >>= 1; x %= 1000; x /= 3;
        int y = x.x++; int z = ++x.y; x.z--; --x.w; x.xy += int2(y, z);
        result[i] = x;"""
    from tests.support.hlsl import run_kernel

    got = run_kernel(body, None, INTS, type="int4").view(np.int32)
    p, q, r = (INTS[:, k].astype(np.int64) for k in range(3))
    x = (((p + q - 2) * r << 1 | 1) & 0xFFFF ^ q) >> 1
    x = np.trunc(np.fmod(x, 1000) / 3).astype(np.int64)
    y, z = x[:, 0].copy(), x[:, 1] + 1
    x += np.array([1, 1, -1, -1])
    x[:, 0] += y
    x[:, 1] += z
    np.testing.assert_array_equal(got, x)


def test_doubles() -> None:
    got = evaluate("(float4)(((double)a.x * 1e8L + b.x) / c.x) * 1e-8", FLOATS)
    want = (FLOATS[:, 0, 0].astype(np.float64) * 1e8 + FLOATS[:, 1, 0]) / FLOATS[:, 2, 0] * 1e-8
    np.testing.assert_allclose(got[:, 0], want, rtol=1e-6)
    got = evaluate("float4(double2(a.xy) > double2(b.xy) ? a.xy : b.xy, (float)abs((double)a.z), (float)-(double)a.w)", FLOATS)
    a, b = FLOATS[:, 0], FLOATS[:, 1]
    want = np.concatenate([np.maximum(a[:, :2], b[:, :2]), np.abs(a[:, 2:3]), -a[:, 3:]], 1)
    np.testing.assert_allclose(got, want)


def test_min_precision_and_half() -> None:
    got = evaluate("(float4)((min16float4)a * 2.0 + (half4)b)", FLOATS)
    np.testing.assert_allclose(got, FLOATS[:, 0] * 2 + FLOATS[:, 1], rtol=2e-6)
