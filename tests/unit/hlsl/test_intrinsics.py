"""Intrinsic functions, executed and compared with numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.hlsl import FLOATS, INTS, evaluate, run_kernel

A, B, C = (FLOATS[:, k].astype(np.float64) for k in range(3))


def dot(a: Any, b: Any) -> Any:
    return (a * b).sum(-1, keepdims=True)


def norm(a: Any) -> Any:
    return np.sqrt(dot(a, a))


def smooth(a: Any, b: Any, x: Any) -> Any:
    t = np.clip((x - a) / (b - a), 0, 1)
    return t * t * (3 - 2 * t)


def refract(i: Any, n: Any, eta: float) -> Any:
    k = 1 - eta * eta * (1 - dot(n, i) ** 2)
    return np.where(k < 0, 0, eta * i - (eta * dot(n, i) + np.sqrt(np.maximum(k, 0))) * n)


UNIT_A, UNIT_B = A / norm(A), B / norm(B)
TABLE: list[tuple[str, Any, float]] = [
    ("abs(a)", np.abs(A), 1e-6),
    ("acos(a / 4)", np.arccos(A / 4), 1e-4),
    ("asin(a / 4)", np.arcsin(A / 4), 1e-4),
    ("atan(a)", np.arctan(A), 1e-4),
    ("atan2(a, b)", np.arctan2(A, B), 1e-4),
    ("ceil(a)", np.ceil(A), 0),
    ("floor(a)", np.floor(A), 0),
    ("round(a)", np.rint(A), 0),
    ("trunc(a)", np.trunc(A), 0),
    ("frac(a)", A - np.floor(A), 1e-6),
    ("clamp(a, b, b + 1)", np.clip(A, B, B + 1), 1e-6),
    ("cos(a)", np.cos(A), 1e-5),
    ("sin(a)", np.sin(A), 1e-5),
    ("tan(a / 4)", np.tan(A / 4), 1e-5),
    ("cosh(a)", np.cosh(A), 1e-4),
    ("sinh(a)", np.sinh(A), 1e-4),
    ("tanh(a)", np.tanh(A), 1e-5),
    ("exp(a)", np.exp(A), 1e-4),
    ("exp2(a)", np.exp2(A), 1e-4),
    ("log(abs(a))", np.log(np.abs(A)), 1e-5),
    ("log2(abs(a))", np.log2(np.abs(A)), 1e-5),
    ("log10(abs(a))", np.log10(np.abs(A)), 1e-5),
    ("pow(abs(a), b)", np.abs(A) ** B, 1e-3),
    ("pow(abs(a), 2) + pow(abs(a), 3.0)", np.abs(A) ** 2 + np.abs(A) ** 3, 1e-4),
    ("sqrt(abs(a))", np.sqrt(np.abs(A)), 1e-6),
    ("rsqrt(abs(a))", 1 / np.sqrt(np.abs(A)), 1e-5),
    ("rcp(a)", 1 / A, 1e-5),
    ("degrees(a)", np.degrees(A), 1e-3),
    ("radians(a)", np.radians(A), 1e-6),
    ("fmod(a, b)", np.fmod(A, B), 1e-5),
    ("ldexp(a, 3)", A * 8, 1e-5),
    ("lerp(a, b, 0.25)", A + 0.25 * (B - A), 1e-5),
    ("lerp(a, b, c)", A + C * (B - A), 1e-4),
    ("mad(a, b, c)", A * B + C, 1e-5),
    ("max(a, b)", np.maximum(A, B), 0),
    ("min(a, 0)", np.minimum(A, 0), 0),
    ("saturate(a)", np.clip(A, 0, 1), 0),
    ("(float4)sign(a)", np.sign(A), 0),
    ("smoothstep(-1, 2, a)", smooth(-1, 2, A), 1e-5),
    ("step(a, b)", (B >= A) * 1.0, 0),
    ("(float4)dot(a, b)", np.repeat(dot(A, B), 4, 1), 1e-5),
    ("(float4)dot(a.xyz, b.xyz)", np.repeat(dot(A[:, :3], B[:, :3]), 4, 1), 1e-5),
    ("(float4)length(a)", np.repeat(norm(A), 4, 1), 1e-5),
    ("(float4)distance(a, b)", np.repeat(norm(A - B), 4, 1), 1e-5),
    ("normalize(a)", UNIT_A, 1e-5),
    ("float4(cross(a.xyz, b.xyz), 0)", np.concatenate([np.cross(A[:, :3], B[:, :3]), A[:, :1] * 0], 1), 1e-5),
    ("reflect(a, normalize(b))", A - 2 * dot(A, UNIT_B) * UNIT_B, 1e-4),
    ("refract(normalize(a), normalize(b), 1.5)", refract(UNIT_A, UNIT_B, 1.5), 1e-4),
    ("faceforward(a, b, c)", np.where(dot(B, C) < 0, A, -A), 1e-6),
    ("(float4)all(a > -3.5)", np.repeat((A > -3.5).all(1, keepdims=True) * 1.0, 4, 1), 0),
    ("(float4)any(a > 3)", np.repeat((A > 3).any(1, keepdims=True) * 1.0, 4, 1), 0),
    ("(float4)isnan(a * 0 / 0) + isinf(a / 0) + isfinite(a)", np.full((16, 4), 3.0), 0),
    ("f16tof32(f32tof16(a))", A.astype(np.float16).astype(np.float64), 4e-3),
    ("asfloat(asuint(a) ^ 0x80000000)", -A, 0),
    ("asfloat(asint(a))", A, 0),
    ("lit(a.x, b.x, 2)", np.stack([A[:, 0] * 0 + 1, np.maximum(A[:, 0], 0),
        np.where((A[:, 0] < 0) | (B[:, 0] < 0), 0, B[:, 0] ** 2), A[:, 0] * 0 + 1], 1), 1e-4),
    ("dst(a, b)", np.stack([A[:, 0] * 0 + 1, A[:, 1] * B[:, 1], A[:, 2], B[:, 3]], 1), 1e-5),
    ("(float4)determinant(float2x2(a))", np.repeat((A[:, 0] * A[:, 3] - A[:, 1] * A[:, 2])[:, None], 4, 1), 1e-4),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "want", "tolerance"), TABLE, ids=[row[0] for row in TABLE])
def test_values(expression: str, want: Any, tolerance: float) -> None:
    got = evaluate(expression, FLOATS)
    np.testing.assert_allclose(got, want, rtol=max(tolerance, 1e-6), atol=max(tolerance, 1e-6))


def test_out_parameters() -> None:
    body = "float4 s, co, whole, e; sincos(a, s, co); float4 f = modf(b, whole); float4 m = frexp(c, e);"
    got = run_kernel(body + "result[i] = s * s + co * co + f + whole + m * exp2(e);", FLOATS).view(np.float32)
    np.testing.assert_allclose(got, 1 + B + C, rtol=1e-4, atol=1e-4)
    body = "uint lo, hi; asuint((double)a.x, lo, hi); result[i] = (float)asdouble(lo, hi);"
    np.testing.assert_allclose(run_kernel(body, FLOATS, type="float", size=1).view(np.float32)[:, 0], A[:, 0])


MATRICES: list[tuple[str, Callable[..., Any]]] = [
    ("mul(a, m)", lambda m, k: np.einsum("ni,nij->nj", A, m)),
    ("mul(m, a)", lambda m, k: np.einsum("nij,nj->ni", m, A)),
    ("mul(a, transpose(m))", lambda m, k: np.einsum("ni,nji->nj", A, m)),
    ("mul(a, mul(m, k))", lambda m, k: np.einsum("ni,nij,njl->nl", A, m, k)),
    ("mul(m * 2, a) + m[1]", lambda m, k: np.einsum("nij,nj->ni", m * 2, A) + m[:, 1]),
    ("float4(mul((float3x3)m, a.xyz), m._m23)", lambda m, k: np.concatenate(
        [np.einsum("nij,nj->ni", m[:, :3, :3], A[:, :3]), m[:, 2, 3:4]], 1)),
    ("(m + k)._11_22_33_44", lambda m, k: np.stack([(m + k)[:, i, i] for i in range(4)], 1)),
    ("(float4)determinant(m)", lambda m, k: np.repeat(np.linalg.det(m)[:, None], 4, 1)),
    ("m[p.x & 3]", lambda m, k: np.stack([m[n, INTS[n, 0, 0] & 3] for n in range(16)])),
    ("(float4)m[p.x & 3][q.x & 3]", lambda m, k: np.stack(
        [np.repeat(m[n, INTS[n, 0, 0] & 3, INTS[n, 1, 0] & 3], 4) for n in range(16)])),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), MATRICES, ids=[row[0] for row in MATRICES])
def test_matrices(expression: str, expected: Callable[..., Any]) -> None:
    m = np.stack([np.stack([A, B, C, A + B], 1)[n] for n in range(16)])
    k = np.stack([B, C, A, B - C], 1)
    body = "float4x4 m = float4x4(a, b, c, a + b); float4x4 k = { b, c, a, b - c };"
    got = run_kernel(f"{body} result[i] = {expression};", FLOATS, INTS).view(np.float32)
    np.testing.assert_allclose(got, expected(m, k), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("order", ["row_major", "column_major"])
@pytest.mark.parametrize("expression", ["mul(a, m)", "mul(m, a)", "m[2] + m[p.x & 3]", "float4(mul(a.xyz, n), n[1].x)"])
def test_constant_buffer_matrices(order: str, expression: str) -> None:
    m = np.random.default_rng(1).uniform(-1, 1, (4, 4)).astype(np.float32)
    n = m[:3, :3]
    stored = m if order == "row_major" else m.T
    small = np.zeros((3, 4), np.float32)
    small[:, :3] = n if order == "row_major" else n.T
    data = np.concatenate([stored.reshape(-1), small.reshape(-1)[:11]]).view(np.uint32)
    body = f"result[i] = {expression};"
    declaration = f"cbuffer M : register(b2) {{ {order} float4x4 m; {order} float3x3 n; }}"
    got = run_kernel(body, FLOATS, INTS, globals=declaration, buffers={2: data}).view(np.float32)
    want = {
        "mul(a, m)": A @ m, "mul(m, a)": A @ m.T, "m[2] + m[p.x & 3]": m[2] + m[INTS[:, 0, 0] & 3],
        "float4(mul(a.xyz, n), n[1].x)": np.concatenate([A[:, :3] @ n, np.full((16, 1), n[1, 0])], 1),
    }[expression]  # fmt: skip
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_angles_in_all_quadrants() -> None:
    points = np.array([[[y] * 4, [x] * 4, [0] * 4] for x in (-1, 0, 1) for y in (-1, 0, 1)], np.float32)
    got = evaluate("atan2(a, b)", points)
    np.testing.assert_allclose(got[:, 0], [math.atan2(p[0, 0], p[1, 0]) for p in points], atol=1e-4)


def test_masked_sums_of_absolute_differences() -> None:
    got = run_kernel("result[i] = msad4(up.x, uq.xy, ur);", None, INTS, type="uint4")
    for lane in range(16):
        p, q, r = (INTS[lane, k].astype(np.uint32).tolist() for k in range(3))
        window = q[0] | q[1] << 32
        for k in range(4):
            pairs = [(p[0] >> s & 255, window >> (8 * k + s) & 255) for s in (0, 8, 16, 24)]
            assert got[lane, k] == (r[k] + sum(abs(a - b) for a, b in pairs if a)) & 0xFFFFFFFF
