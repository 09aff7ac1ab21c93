"""Instructions that the HLSL compiler seldom or never emits, as assembly listings: each against its definition in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.stack.d3d11.lab import Lab
from wddm import dxbc

U32 = np.uint32
M = 0xFFFFFFFF

HEAD = """\
cs_5_0
dcl_globalFlags refactoringAllowed | enableDoublePrecisionFloatOps | enable11_1DoubleExtensions
{declarations}dcl_resource_structured t0, 16
dcl_uav_structured u0, 16
dcl_input vThreadIDInGroupFlattened
dcl_thread_group 64, 1, 1
{locals}dcl_temps 8
ld_structured r0.xyzw, vThreadIDInGroupFlattened.x, l(0), t0.xyzw
mov r1.xyzw, l(0, 0, 0, 0)
"""
TAIL = "store_structured u0.xyzw, vThreadIDInGroupFlattened.x, l(0), r1.xyzw\nret\n"


async def run(lab: Lab, body: str, rows: Any, declarations: str = "", locals: str = "", after: str = "") -> Any:
    """64 rows of four dwords in r0 through ``body``; r1 of each."""
    code = dxbc.assemble(HEAD.format(declarations=declarations, locals=locals) + body + "\n" + TAIL + after)
    lab.ctx.cs_set_shader(await lab.device.create_compute_shader(code))
    _, source = await lab.structured(np.asarray(rows, U32), 16)
    out, uav = await lab.structured(np.full(256, 0xEE, U32), 16, uav=True)
    lab.ctx.cs_set_shader_resources(0, [source])
    lab.ctx.cs_set_unordered_access_views(0, [uav])
    lab.ctx.dispatch(1)
    return (await lab.ctx.read_buffer(out, U32)).reshape(64, 4)


EDGES = [0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, M, M - 1, 0xFFFF, 0x10000, 0x12345678, 0xF0F0F0F0, 5]
ROWS = np.random.default_rng(21).integers(0, 2**32, (64, 4), dtype=U32)
ROWS[:16, 0], ROWS[8:24, 1], ROWS[16:32, 2] = EDGES, EDGES, EDGES
ROWS[24:40, 0], ROWS[24:40, 1] = EDGES, EDGES[::-1]
ROWS[40:56, 1] = EDGES
ROWS[60, 1] = 0


def signed(v: int) -> int:
    return v - (1 << 32) if v >> 31 else v


def field(width: int, offset: int, value: int, sign: bool) -> int:
    width, offset = width & 31, offset & 31
    if width == 0:
        return 0
    if width + offset < 32:
        part = value >> offset & ((1 << width) - 1)
        return (part - (1 << width) if sign and part >> width - 1 else part) & M
    return (signed(value) if sign else value) >> offset & M


def insert(width: int, offset: int, a: int, b: int) -> int:
    width, offset = width & 31, offset & 31
    mask = ((1 << width) - 1) << offset & M
    return a << offset & mask | b & ~mask & M


def high(v: int) -> int:
    """Places from the highest bit down to the first one."""
    return 32 - v.bit_length() if v else M


def msad(ref: int, src: int, total: int) -> int:
    """Sums of byte differences where the reference is not 0."""
    pairs = [(ref >> 8 * n & 255, src >> 8 * n & 255) for n in range(4)]
    return (total + sum(abs(a - b) for a, b in pairs if a)) & M


INTEGER: list[tuple[str, Callable[[int, int, int, int], list[int]]]] = [
    ("umul r1.x, r1.y, r0.xxxx, r0.yyyy", lambda a, b, c, d: [a * b >> 32, a * b & M]),
    ("imul r1.x, r1.y, r0.xxxx, r0.yyyy", lambda a, b, c, d: [signed(a) * signed(b) >> 32 & M, a * b & M]),
    ("udiv r1.x, r1.y, r0.xxxx, r0.yyyy", lambda a, b, c, d: [a // b, a % b] if b else [M, M]),
    ("uaddc r1.x, r1.y, r0.xxxx, r0.yyyy", lambda a, b, c, d: [a + b & M, a + b >> 32]),
    ("usubb r1.x, r1.y, r0.xxxx, r0.yyyy", lambda a, b, c, d: [a - b & M, int(a < b)]),
    ("ibfe r1.xy, r0.xyxx, r0.yzyy, r0.wwww", lambda a, b, c, d: [field(a, b, d, True), field(b, c, d, True)]),
    ("ubfe r1.xy, r0.xyxx, r0.yzyy, r0.wwww", lambda a, b, c, d: [field(a, b, d, False), field(b, c, d, False)]),
    ("bfi r1.xy, r0.xyxx, r0.yzyy, r0.zzzz, r0.wwww", lambda a, b, c, d: [insert(a, b, c, d), insert(b, c, c, d)]),
    ("firstbit_hi r1.xy, r0.xyxx", lambda a, b, c, d: [high(a), high(b)]),
    ("firstbit_shi r1.xy, r0.xyxx", lambda a, b, c, d: [high(~v & M if v >> 31 else v) for v in (a, b)]),
    ("firstbit_lo r1.xy, r0.xyxx", lambda a, b, c, d: [(v & -v).bit_length() - 1 & M for v in (a, b)]),
    ("bfrev r1.xy, r0.xyxx", lambda a, b, c, d: [int(f"{v:032b}"[::-1], 2) for v in (a, b)]),
    ("swapc r1.xy, r2.xy, r0.xyxx, r0.zwzz, r0.xyxx\nmov r1.zw, r2.xxxy", lambda a, b, c, d: [a if a else c, b if b else d, c if a else a, d if b else b]),
    ("movc r1.xyz, r0.xyzx, r0.yzwy, r0.zwxz", lambda a, b, c, d: [b if a else c, c if b else d, d if c else a]),
    ("umad r1.xy, r0.xyxx, r0.yzyy, r0.zwzz", lambda a, b, c, d: [a * b + c & M, b * c + d & M]),
    ("imad r1.xy, -r0.xyxx, r0.yzyy, -r0.zwzz", lambda a, b, c, d: [-a * b - c & M, -b * c - d & M]),
    ("ult r1.x, r0.x, r0.y\nuge r1.y, r0.x, r0.y\nilt r1.z, r0.x, r0.y\nige r1.w, r0.x, r0.y", lambda a, b, c, d: [M * (a < b), M * (a >= b), M * (signed(a) < signed(b)), M * (signed(a) >= signed(b))]),
    ("ieq r1.x, r0.x, r0.y\nine r1.y, r0.x, r0.y\nineg r1.z, r0.z\nnot r1.w, r0.w", lambda a, b, c, d: [M * (a == b), M * (a != b), -c & M, ~d & M]),
    ("ishl r1.x, r0.x, r0.y\nishr r1.y, r0.x, r0.y\nushr r1.z, r0.x, r0.y", lambda a, b, c, d: [a << (b & 31) & M, signed(a) >> (b & 31) & M, a >> (b & 31)]),
    ("iadd r1.xyzw, r0.xyzw, r0.xyzw\niadd r1.x, r1.x, r1.y", lambda a, b, c, d: [2 * (a + b) & M, 2 * b & M, 2 * c & M, 2 * d & M]),
]  # fmt: skip


async def test_integer_instructions(lab: Lab) -> None:
    for body, expected in INTEGER:
        got = await run(lab, body, ROWS)
        want = [(expected(*map(int, row)) + [0] * 4)[:4] for row in ROWS]
        np.testing.assert_array_equal(got, want, err_msg=body)


def f32(v: float) -> int:
    with np.errstate(over="ignore"):
        return int(np.float32(v).view(U32))


async def test_sources_and_destinations_may_be_the_same_register(lab: Lab) -> None:
    """An instruction reads all its sources before it writes."""
    body = "mov r1.xyzw, r0.xyzw\nmov r1.xyzw, r1.wxyz\numul r1.x, r1.y, r1.yyyy, r1.xxxx\niadd r1.zw, r1.xxzx, r1.wwww"
    got = await run(lab, body, ROWS)
    want = []
    for a, b, c, d in ROWS.tolist():
        x, y, z, w = d, a, b, c
        x, y = x * y >> 32, x * y & M
        want.append([x, y, z + w & M, x + w & M])
    # z = r1.z + r1.w and w = r1.x + r1.w: swizzle xxzx gives z and x for the mask's z and w.
    np.testing.assert_array_equal(got, want)


FLOAT_ROWS = np.random.default_rng(5).uniform(-3, 3, (64, 4)).astype(np.float32)
FLOAT_ROWS[0] = [math.nan, 1, -2, 0.5]
FLOAT_ROWS[1] = [-1.5, math.inf, 0.0, -0.0]
FLOAT_ROWS[2] = [0.5, 1.5, 2.5, -0.5]


async def test_float_modifiers_and_dot_products(lab: Lab) -> None:
    """Negation after absolute value, saturation with NaN to 0, comparisons to masks, dot products of each width."""
    bits = FLOAT_ROWS.view(U32)
    a, b, c, d = FLOAT_ROWS.T
    with np.errstate(all="ignore"):
        got = (await run(lab, "mov_sat r1.xy, r0.xyxx\nadd r1.z, -|r0.z|, r0.w\nmul_sat r1.w, -r0.x, r0.y", bits)).view(np.float32)
        want = np.stack([np.clip(np.nan_to_num(a), 0, 1), np.clip(b, 0, 1), d - np.abs(c), np.clip(np.nan_to_num(-a * b, posinf=1, neginf=0), 0, 1)], 1)
        np.testing.assert_array_equal(got, want)
        got = await run(lab, "lt r1.x, r0.x, r0.y\nge r1.y, r0.x, r0.y\neq r1.z, r0.z, r0.w\nne r1.w, r0.x, r0.x", bits)
        np.testing.assert_array_equal(got != 0, np.stack([a < b, a >= b, c == d, np.isnan(a)], 1))
        assert set(np.unique(got).tolist()) == {0, M}
        got = (await run(lab, "dp2 r1.x, r0.xyxx, r0.zwzz\ndp3 r1.y, r0.xyzx, r0.yzwy\ndp4 r1.z, r0.xyzw, r0.wzyx\nmad r1.w, r0.x, -r0.y, |r0.z|", bits)).view(np.float32)
        want = np.stack([a * c + b * d, a * b + b * c + c * d, 2 * (a * d + b * c), -a * b + np.abs(c)], 1)
        np.testing.assert_allclose(got[2:], want[2:], rtol=1e-5, atol=1e-5)
        got = (await run(lab, "round_ne r1.x, r0.x\nround_ni r1.y, r0.x\nround_pi r1.z, r0.x\nround_z r1.w, r0.x", bits)).view(np.float32)
        np.testing.assert_array_equal(got, np.stack([np.rint(a), np.floor(a), np.ceil(a), np.trunc(a)], 1))
        got = (await run(lab, "sincos r1.x, r1.y, r0.y\nsincos r1.z, null, r0.z\nsincos null, r1.w, r0.w", bits)).view(np.float32)
        np.testing.assert_allclose(got[2:], np.stack([np.sin(b), np.cos(b), np.sin(c), np.cos(d)], 1)[2:], atol=1e-3)
        got = (await run(lab, "frc r1.x, r0.z\nexp r1.y, r0.z\nlog r1.z, |r0.z|\nrcp r1.w, r0.z", bits)).view(np.float32)
        np.testing.assert_allclose(got[2:], np.stack([c - np.floor(c), np.exp2(c), np.log2(np.abs(c)), 1 / c], 1)[2:], rtol=1e-5, atol=1e-6)


async def test_double_instructions(lab: Lab) -> None:
    values = np.random.default_rng(3).uniform(-1e3, 1e3, (64, 2))
    values[0], values[1], values[2] = [math.inf, -1], [math.nan, 2], [0.0, -0.0]
    a, b = values.T
    rows = np.ascontiguousarray(values).view(U32).reshape(64, 4)
    with np.errstate(all="ignore"):
        for body, want in (
            ("dadd r1.xyzw, r0.xyzw, -r0.zwxy", np.stack([a - b, b - a], 1)),
            ("dmul r1.xyzw, r0.xyzw, |r0.zwxy|", np.stack([a * abs(b), b * abs(a)], 1)),
            ("ddiv r1.xy, r0.xyxy, r0.zwzw\ndrcp r1.zw, r0.xxxy", np.stack([a / b, 1 / a], 1)),
            ("dmax r1.xy, r0.xyxy, r0.zwzw\ndmin r1.zw, r0.xyxy, r0.zwzw", np.stack([np.fmax(a, b), np.fmin(a, b)], 1)),
            ("dmov r1.xyzw, -r0.zwxy", np.stack([-b, -a], 1)),
            ("dlt r2.xy, r0.xyxy, r0.zwzw\ndmovc r1.xyzw, r2.xxyy, r0.xyzw, r0.zwxy", np.stack([np.where(a < b, a, b), np.where(a < b, b, a)], 1)),
        ):
            body = body.replace("drcp r1.zw, r0.xxxy", "drcp r1.zw, r0.xyxy").replace("dlt r2.xy, r0.xyxy, r0.zwzw", "dlt r2.xy, r0.xyxy, r0.zwzw\nmov r2.y, r2.x")
            got = np.ascontiguousarray(await run(lab, body, rows)).view(np.float64)
            nan = np.isnan(want)
            np.testing.assert_array_equal(np.isnan(got), nan, err_msg=body)
            np.testing.assert_allclose(got[~nan], want[~nan], rtol=1e-15, err_msg=body)
        got = await run(lab, "dtof r1.x, r0.xyxy\ndtoi r1.y, r0.xyxy\ndtou r1.z, r0.xyxy\ndeq r1.w, r0.xyxy, r0.zwzw", rows)
        clean = np.nan_to_num(a, posinf=1e300)
        np.testing.assert_array_equal(np.ascontiguousarray(got[:, 0]).view(np.float32), a.astype(np.float32))
        np.testing.assert_array_equal(np.ascontiguousarray(got[:, 1]).view(np.int32), np.clip(np.trunc(clean), -(2**31), 2**31 - 1).astype(np.int64))
        np.testing.assert_array_equal(got[:, 2], np.clip(np.trunc(clean), 0, M).astype(np.int64))
        np.testing.assert_array_equal(got[:, 3] != 0, a == b)
        got = np.ascontiguousarray(await run(lab, "itod r1.xy, r0.x\nutod r1.zw, r0.x", ROWS)).view(np.float64)
        np.testing.assert_array_equal(got, np.stack([ROWS[:, 0].view(np.int32), ROWS[:, 0]], 1).astype(np.float64))
        got = np.ascontiguousarray(await run(lab, "ftod r1.xy, r0.x\nftod r1.zw, r0.y", FLOAT_ROWS.view(U32))).view(np.float64)
        np.testing.assert_array_equal(got, FLOAT_ROWS[:, :2].astype(np.float64))


async def test_subroutines_and_conditional_returns(lab: Lab) -> None:
    """call, callc, nested calls, retc in a subroutine and breakc, continuec, switch with fall-through labels."""
    body = """\
and r2.x, r0.x, l(7)
ult r2.y, r2.x, l(4)
callc_nz r2.y, l1
call l2
mov r3.x, l(0)
loop
  iadd r3.x, r3.x, l(1)
  uge r2.z, r3.x, l(12)
  breakc_nz r2.z
  and r2.z, r3.x, l(1)
  continuec_nz r2.z
  iadd r1.z, r1.z, r3.x
  ieq r2.w, r3.x, r2.x
  breakc_nz r2.w
endloop
switch r2.x
  case l(1)
  case l(2)
    mov r1.w, l(12)
    break
  case l(5)
    breakc_z r2.y
    mov r1.w, l(99)
    break
  default
    mov r1.w, l(7)
    break
endswitch"""
    after = """\
label l1
iadd r1.x, r1.x, l(10)
ieq r2.z, r2.x, l(2)
retc_nz r2.z
call l2
iadd r1.x, r1.x, l(100)
ret
label l2
iadd r1.y, r1.y, l(1)
ret
"""
    got = await run(lab, body, ROWS, after=after)
    want = []
    for a in ROWS[:, 0].tolist():
        low = a & 7
        x = y = z = w = 0
        if low < 4:
            x += 10
            if low != 2:
                y, x = y + 1, x + 100
        y += 1
        for n in range(1, 12):
            if not n & 1:
                z += n
                if n == low:
                    break
        w = 12 if low in (1, 2) else 0 if low == 5 else 7
        want.append([x, y, z, w])
    np.testing.assert_array_equal(got, want)


async def test_indexed_registers_and_immediate_constants(lab: Lab) -> None:
    """Immediate constants and indexable temps beyond their ends read 0, and writes there are lost."""
    declarations = "dcl_immediateConstantBuffer { { 1, 2, 3, 4}, { 5, 6, 7, 8}, { 9, 10, 11, 12} }\n"
    locals = "dcl_indexableTemp x0[3], 4\ndcl_indexableTemp x1[2], 2\n"
    body = """\
mov x0[0].xyzw, l(100, 101, 102, 103)
mov x0[1].xyzw, l(110, 111, 112, 113)
mov x0[2].xyzw, l(120, 121, 122, 123)
mov x1[0].xy, l(7, 8, 0, 0)
mov x1[1].xy, l(9, 10, 0, 0)
mov x1[r0.y].x, l(55)
mov r1.x, icb[r0.x].y
mov r1.y, x0[r0.x + 1].z
mov r1.z, x1[0].x
iadd r1.z, r1.z, x1[1].x
mov r1.w, x0[2].w"""
    rows = np.zeros((64, 4), U32)
    rows[:8, 0] = [0, 1, 2, 3, 4, M, 0x7FFFFFFF, 0x80000000]
    rows[:8, 1] = [0, 1, 2, 3, M, 0x80000000, 100, 1]
    got = await run(lab, body, rows, declarations, locals)
    for n in range(8):
        at, put = int(rows[n, 0]), int(rows[n, 1])
        below = signed(at) + 1
        want = [(2, 6, 10)[at] if at < 3 else 0, (102, 112, 122)[below] if 0 <= below < 3 else 0, (55 if put == 0 else 7) + (55 if put == 1 else 9), 123]
        assert got[n].tolist() == want, (at, put)


async def test_atomics_return_and_order(lab: Lab) -> None:
    """Every immediate atomic on raw shared memory and on a raw view: with one lane at a time the results are certain."""
    ops = {
        "iadd": lambda o, v: o + v & M, "and": lambda o, v: o & v, "or": lambda o, v: o | v, "xor": lambda o, v: o ^ v, "exch": lambda o, v: v,
        "imax": lambda o, v: max(signed(o), signed(v)) & M, "imin": lambda o, v: min(signed(o), signed(v)) & M, "umax": max, "umin": min,
    }  # fmt: skip
    rows = np.zeros((64, 4), U32)
    rows[:, 0], rows[:, 1] = ROWS[:, 0], ROWS[:, 1]
    for name, expected in ops.items():
        body = f"""\
ishl r2.x, vThreadIDInGroupFlattened.x, l(2)
store_raw g0.x, r2.x, r0.x
store_raw u1.x, r2.x, r0.x
imm_atomic_{name} r1.x, g0, r2.x, r0.y
imm_atomic_{name} r1.y, u1, r2.x, r0.y
ld_raw r1.z, r2.x, g0.xxxx
ld_raw r1.w, r2.x, u1.xxxx"""
        _, view = await lab.raw(np.zeros(64, U32), uav=True)
        lab.ctx.cs_set_unordered_access_views(1, [view])
        got = await run(lab, body, rows, "dcl_uav_raw u1\n", "dcl_tgsm_raw g0, 256\n")
        after = [expected(int(a), int(b)) for a, b in rows[:, :2]]
        np.testing.assert_array_equal(got, np.stack([rows[:, 0], rows[:, 0], after, after], 1), err_msg=name)
    body = """\
ishl r2.x, vThreadIDInGroupFlattened.x, l(2)
store_raw g0.x, r2.x, r0.x
and r2.y, r0.x, l(1)
iadd r2.y, r0.x, r2.y
imm_atomic_cmp_exch r1.x, g0, r2.x, r2.y, r0.y
ld_raw r1.y, r2.x, g0.xxxx
imm_atomic_iadd r1.z, g0, l(4096), l(1)
imm_atomic_exch r1.w, g0, l(-4), l(1)"""
    got = await run(lab, body, rows, "", "dcl_tgsm_raw g0, 256\n")
    np.testing.assert_array_equal(got[:, :2], [[a, a if a & 1 else b] for a, b in rows[:, :2].tolist()])
    # Atomics beyond shared memory change nothing of it; what they return is undefined.


async def test_shared_memory_bounds(lab: Lab) -> None:
    """Reads beyond groupshared memory are 0 where they are defined; nothing within changes by writes beyond."""
    body = """\
store_structured g0.xy, vThreadIDInGroupFlattened.x, l(0), r0.xyxx
sync_g_t
store_structured g0.x, l(64), l(0), l(0xABCD)
store_structured g0.x, l(-1), l(0), l(0xABCD)
sync_g_t
ld_structured r1.xy, vThreadIDInGroupFlattened.x, l(0), g0.xyxx"""
    got = await run(lab, body, ROWS, "", "dcl_tgsm_structured g0, 8, 64\n")
    np.testing.assert_array_equal(got[:, :2], ROWS[:, :2])


async def test_information_about_resources(lab: Lab) -> None:
    body = """\
resinfo r1.xyzw, l(1), t1.xyzw
resinfo_rcpfloat r2.xy, l(0), t1.xyzw
bufinfo r2.z, t2
mov r1.z, r2.y
mov r1.w, r2.z
resinfo_uint r3.xyzw, l(9), t1.xyzw
iadd r1.w, r1.w, r3.x"""
    texture = await lab.device.create_texture2d(format=2, width=16, height=8, mip_levels=3)
    _, raw = await lab.raw(np.zeros(10, U32))
    lab.ctx.cs_set_shader_resources(1, [await lab.device.create_shader_resource_view(texture), raw])
    got = (await run(lab, body, ROWS, "dcl_resource_texture2d (float,float,float,float) t1\ndcl_resource_raw t2\n"))[0]
    assert got[:3].tolist() == [f32(8), f32(4), f32(1 / 8)]
    # A level that does not exist has no size.
    assert got[3] == 40


@pytest.mark.parametrize("kind", ["f32tof16", "f16tof32", "ftoi", "ftou", "itof", "utof"])
async def test_conversion_instructions(lab: Lab, kind: str) -> None:
    values = np.array([0, -0.0, 1.9, -1.9, 3e9, -3e9, 5e9, math.nan, math.inf, -math.inf, 65504, 0.1, 2**-15, 1 / 3, -7.5, 2147483648.0] * 16, np.float32).reshape(64, 4)
    rows = ROWS if kind in ("itof", "utof", "f16tof32") else values.view(U32)
    got = await run(lab, f"{kind} r1.xyzw, r0.xyzw", rows)
    clean = np.nan_to_num(values.astype(np.float64), nan=0, posinf=1e300, neginf=-1e300)
    if kind == "ftoi":
        np.testing.assert_array_equal(got.view(np.int32), np.clip(np.trunc(clean), -(2**31), 2**31 - 1).astype(np.int64))
    elif kind == "ftou":
        np.testing.assert_array_equal(got, np.clip(np.trunc(clean), 0, M).astype(np.int64))
    elif kind == "itof":
        np.testing.assert_array_equal(got.view(np.float32), ROWS.view(np.int32).astype(np.float32))
    elif kind == "utof":
        np.testing.assert_array_equal(got.view(np.float32), ROWS.astype(np.float32))
    elif kind == "f16tof32":
        want = (ROWS & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float32)
        nan = np.isnan(want)
        np.testing.assert_array_equal(np.isnan(got.view(np.float32)), nan)
        np.testing.assert_array_equal(got.view(np.float32)[~nan], want[~nan])
    else:
        assert (got <= 0xFFFF).all()
        halves = got.astype(np.uint16).view(np.float16).astype(np.float64)
        inside = np.abs(clean) <= 65504
        np.testing.assert_allclose(halves[inside & ~np.isnan(values)], clean[inside & ~np.isnan(values)], rtol=1e-3)
        np.testing.assert_array_equal(np.isnan(halves), np.isnan(values))
        np.testing.assert_array_equal(np.isinf(halves[np.isinf(values)]), True)


async def test_doubles_of_literals(lab: Lab) -> None:
    got = np.ascontiguousarray(await run(lab, "dmov r1.xyzw, d(0.1l, -2.5l)", ROWS)).view(np.float64)
    assert got[5].tolist() == [0.1, -2.5]


async def test_masked_sums_of_absolute_differences(lab: Lab) -> None:
    source = """
    StructuredBuffer<uint4> from : register(t0); RWStructuredBuffer<uint4> o : register(u0);
    [numthreads(64, 1, 1)] void cs(uint i : SV_GroupIndex) { uint4 r = from[i]; o[i] = msad4(r.x & 0xFF00FFFF, r.yz, uint4(1, r.w, 5, 0)); }
    """
    _, view = await lab.structured(ROWS, 16)
    got = (await lab.compute(source, 256, view, dtype=U32, stride=16)).reshape(64, 4)
    want = []
    for a, b, c, d in ROWS.tolist():
        wide = b | c << 32
        want.append([msad(a & 0xFF00FFFF, wide >> 8 * n & M, start) for n, start in enumerate((1, d, 5, 0))])
    np.testing.assert_array_equal(got, want)
