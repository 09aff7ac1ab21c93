"""The interpreter, operation by operation against scalar Python, and control flow against Python's own."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpu.engine import FaultError, StopWord
from vgpu.engine.reference.resources import atomic
from vgpu.engine.reference.shader import Interpreter, Lanes, load
from wddm.hw.interrupts import Fault
from wddm.hw.isa import SystemRegister
from wddm.hw.isa_text import assemble

M = 0xFFFF_FFFF
WORDS = np.array(
    [0, 1, 2, 3, 5, 31, 32, 33, 127, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x12345678, 0x7FFFFFFF, 0x80000000, 0x80000001,
     0xDEADBEEF, 0xFFFFFFF0, 0xFFFFFFFE, M, 0x3F800000, 0xBF800000, 0x40490FDB, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001,
     0x80000000, 0x007FFFFF, 0x00800000, 0x3EAAAAAB, 0x4F000000, 0x4F800000, 0xCF000000, 0x3F000000, 0x3FC00000, 0x40200000,
     0xC0200000, 0x501502F9, 0x42FE0000],
    np.uint32,
)  # fmt: skip


def run(text: str, inputs: dict[int, npt.NDArray[np.uint32]] | None = None, count: int | None = None, **more: Any) -> Interpreter:
    """Run a compute program with initial temporaries given as system values of lanes."""
    program = load(assemble(text).to_bytes())
    n = count if count is not None else len(next(iter((inputs or {}).values())))
    lanes = Lanes(n, system={SystemRegister.THREAD_ID_X: np.arange(n, dtype=np.uint32), **(inputs or {})}, **more)
    x = Interpreter(program, lanes, StopWord())
    with np.errstate(all="ignore"):
        x.run()
    return x


def operate(line: str, *columns: npt.NDArray[np.uint32], result: int = 8, count: int = 1) -> npt.NDArray[Any]:
    """One operation on lanes; columns are loaded into r0, r1, …; ``count`` result rows from r``result``."""
    names = ("GROUP_ID_X", "GROUP_ID_Y", "GROUP_ID_Z", "ID_IN_GROUP_X", "ID_IN_GROUP_Y", "ID_IN_GROUP_Z", "ID_IN_GROUP_FLAT")
    moves = "".join(f"mov r{i}, ${names[i]}\n" for i in range(len(columns)))
    inputs = {int(SystemRegister[names[i]]): c for i, c in enumerate(columns)}
    x = run(f"compute temps=16\n{moves}{line}\n", inputs)
    return x.temps[result : result + count]


def f32(bits: int) -> float:
    value = struct.unpack("<f", struct.pack("<I", bits))[0]
    return math.copysign(0.0, value) if 0 < abs(value) < 2.0**-126 else float(value)


def bits(value: float) -> int:
    out = int(np.float32(value).view(np.uint32))
    return out & 0x8000_0000 if not out & 0x7F80_0000 else out


def s32(v: int) -> int:
    return v - (1 << 32) if v >> 31 else v


def pairs() -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    a, b = np.meshgrid(WORDS, WORDS)
    return a.reshape(-1).copy(), b.reshape(-1).copy()


def div(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def same(got: int, want: int) -> bool:
    return got == want or (math.isnan(f32(got)) and math.isnan(f32(want)))


def exact(function: Callable[[float, float], float]) -> Callable[[int, int], int]:
    def apply(a: int, b: int) -> int:
        with np.errstate(all="ignore"):
            return bits(float(np.float64(function(f32(a), f32(b)))))

    return apply


def pick(function: Callable[[float, float], float]) -> Callable[[float, float], float]:
    return lambda a, b: b if math.isnan(a) else a if math.isnan(b) else function(a, b)


BINARY_FLOAT: dict[str, Callable[[int, int], int]] = {
    "fadd": exact(lambda a, b: float(np.float64(a) + np.float64(b))),
    "fmul": exact(lambda a, b: float(np.float64(a) * np.float64(b))),
    "fmin": exact(pick(min)),
    "fmax": exact(pick(max)),
    "feq": lambda a, b: M * (f32(a) == f32(b)),
    "fne": lambda a, b: M * (f32(a) != f32(b)),
    "flt": lambda a, b: M * (f32(a) < f32(b)),
    "fge": lambda a, b: M * (f32(a) >= f32(b)),
}


@pytest.mark.parametrize("name", BINARY_FLOAT)
def test_binary_float(name: str) -> None:
    a, b = pairs()
    got = operate(f"{name} r8, r0, r1", a, b)[0]
    for x, y, g in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        want = BINARY_FLOAT[name](x, y)
        zeros = name in ("fmin", "fmax") and f32(x) == f32(y) == 0
        assert same(g, want) or zeros, (hex(x), hex(y), hex(g), hex(want))


def test_division() -> None:
    a, b = pairs()
    got = operate("fdiv r8, r0, r1", a, b)[0]
    for x, y, g in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        with np.errstate(all="ignore"):
            want = bits(float(np.float32(div(f32(x), f32(y)))))
        assert same(g, want) or abs(g - want) <= 1, (hex(x), hex(y), hex(g), hex(want))


def _round_even(v: float) -> float:
    return math.copysign(float(round(v)), v) if math.isfinite(v) else v


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda v: math.copysign(float(function(v)), v) if math.isfinite(v) else v


def _or_nan(function: Callable[[float], float]) -> Callable[[float], float]:
    def apply(v: float) -> float:
        try:
            return function(v)
        except (ValueError, OverflowError):
            return math.nan

    return apply


UNARY_FLOAT: dict[str, Callable[[float], float]] = {
    "frcp": lambda v: div(1.0, v),
    "fsqrt": _or_nan(math.sqrt),
    "frsq": lambda v: div(1.0, _or_nan(math.sqrt)(v)),
    "fexp2": lambda v: math.inf if v >= 128 else 2.0**v if v > -200 else 0.0 if v == v else v,
    "flog2": lambda v: -math.inf if v == 0 else _or_nan(math.log2)(v),
    "fsin": _or_nan(math.sin),
    "fcos": _or_nan(math.cos),
    "ffrc": lambda v: v - math.floor(v) if math.isfinite(v) else math.nan,
    "fround_ne": _round_even,
    "fround_ni": _whole(math.floor),
    "fround_pi": _whole(math.ceil),
    "fround_z": _whole(math.trunc),
}


@pytest.mark.parametrize("name", UNARY_FLOAT)
def test_unary_float(name: str) -> None:
    got = operate(f"{name} r8, r0", WORDS)[0]
    for x, g in zip(WORDS.tolist(), got.tolist(), strict=True):
        with np.errstate(all="ignore"):
            want = bits(UNARY_FLOAT[name](f32(x)))
        assert same(g, want) or abs(s32(g) - s32(want)) <= 1 or (f32(g) == f32(want) == 0), (hex(x), hex(g), hex(want))


def _bfe(w: int, o: int, v: int, signed: bool) -> int:
    w, o = w & 31, o & 31
    if not w:
        return 0
    v = s32(v) if signed else v
    if w + o < 32:
        v = v << (32 - w - o) & M
        return (s32(v) if signed else v) >> (32 - w) & M
    return v >> o & M


def _high(v: int) -> int:
    return M if v == 0 else 32 - v.bit_length()


INTEGER: dict[str, Callable[..., int]] = {
    "iadd": lambda a, b: a + b,
    "imul": lambda a, b: a * b,
    "imul_hi": lambda a, b: s32(a) * s32(b) >> 32,
    "umul_hi": lambda a, b: a * b >> 32,
    "udiv": lambda a, b: a // b if b else M,
    "urem": lambda a, b: a % b if b else M,
    "imin": lambda a, b: min(s32(a), s32(b)),
    "imax": lambda a, b: max(s32(a), s32(b)),
    "umin": min,
    "umax": max,
    "ieq": lambda a, b: M * (a == b),
    "ine": lambda a, b: M * (a != b),
    "ilt": lambda a, b: M * (s32(a) < s32(b)),
    "ige": lambda a, b: M * (s32(a) >= s32(b)),
    "ult": lambda a, b: M * (a < b),
    "uge": lambda a, b: M * (a >= b),
    "uadd_carry": lambda a, b: a + b >> 32,
    "usub_borrow": lambda a, b: int(a < b),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << (b & 31),
    "ishr": lambda a, b: s32(a) >> (b & 31),
    "ushr": lambda a, b: a >> (b & 31),
    "ineg": lambda a: -a,
    "not": lambda a: ~a,
    "count_bits": lambda a: a.bit_count(),
    "first_bit_hi": _high,
    "first_bit_lo": lambda a: M if a == 0 else (a & -a).bit_length() - 1,
    "first_bit_shi": lambda a: _high(~a & M if a >> 31 else a),
    "bit_reverse": lambda a: int(f"{a:032b}"[::-1], 2),
    "imad": lambda a, b, c: a * b + c,
    "ubfe": lambda a, b, c: _bfe(a, b, c, False),
    "ibfe": lambda a, b, c: _bfe(a, b, c, True),
    "msad": lambda a, b, c: c + sum(abs((a >> s & 255) - (b >> s & 255)) for s in (0, 8, 16, 24) if a >> s & 255),
    "bfi": lambda a, b, c, e: (c << (b & 31) & (m := ((1 << (a & 31)) - 1) << (b & 31) & M)) | e & ~m,
}


@pytest.mark.parametrize("name", INTEGER)
def test_integer(name: str) -> None:
    count = INTEGER[name].__code__.co_argcount if hasattr(INTEGER[name], "__code__") else 2
    rng = np.random.default_rng(5)
    columns = [WORDS] if count == 1 else list(pairs())
    while len(columns) < count:
        columns.append(rng.choice(WORDS, len(columns[0])))
    got = operate(f"{name} r8, " + ", ".join(f"r{i}" for i in range(count)), *columns)[0]
    for arguments, g in zip(zip(*(c.tolist() for c in columns), strict=True), got.tolist(), strict=True):
        assert g == INTEGER[name](*arguments) & M, (name, [hex(a) for a in arguments], hex(g))


CONVERSIONS: dict[str, Callable[[int], int]] = {
    "ftoi": lambda v: 0 if math.isnan(f32(v)) else int(max(min(f32(v), 2.0**31 - 1), -(2.0**31))) & M,
    "ftou": lambda v: 0 if math.isnan(f32(v)) else int(max(min(f32(v), 2.0**32 - 1), 0.0)),
    "itof": lambda v: bits(float(np.float32(s32(v)))),
    "utof": lambda v: bits(float(np.float32(v))),
    "f16tof32": lambda v: bits(struct.unpack("<e", struct.pack("<H", v & 0xFFFF))[0]),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions(name: str) -> None:
    got = operate(f"{name} r8, r0", WORDS)[0]
    for x, g in zip(WORDS.tolist(), got.tolist(), strict=True):
        assert same(g, CONVERSIONS[name](x)), (hex(x), hex(g))


def test_half_rounds_to_nearest_even() -> None:
    values = np.array([1 + 2**-11, 1 + 3 * 2**-11, 65520, 65519, 2.0**-25, math.inf, -1.5], np.float32)
    got = operate("f32tof16 r8, r0", values.view(np.uint32))[0]
    assert got.tolist() == [0x3C00, 0x3C02, 0x7C00, 0x7BFF, 0, 0x7C00, 0xBE00]


def test_modifiers_saturate_and_moves() -> None:
    v = np.array([-2.0, -0.5, 0.25, 3.0, math.nan, 1e-40], np.float32).view(np.uint32)
    assert operate("mov r8, r0", v)[0].tolist() == v.tolist()
    assert operate("mov r8, -|r0|", v)[0].view(np.float32)[:4].tolist() == [-2, -0.5, -0.25, -3]
    assert operate("mov r8, -|r0|", v)[0][5] == 0x8000_0000
    assert operate("mov.sat r8, r0", v)[0].view(np.float32).tolist() == [0, 0, 0.25, 1, 0, 0]
    assert operate("fadd.sat r8, -r0, |r0|", v)[0].view(np.float32)[:4].tolist() == [1, 1, 0, 0]
    assert operate("iadd r8, -r0, 1", np.array([5], np.uint32))[0].tolist() == [M - 3]
    assert operate("select r8, r0, r0, 7", np.array([0, 4], np.uint32))[0].tolist() == [7, 4]


def _doubles(values: list[float]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    whole = np.array(values, np.float64).view(np.uint32).reshape(-1, 2)
    return whole[:, 0].copy(), whole[:, 1].copy()


def test_doubles() -> None:
    a, b = [1.5, -2.25, 1e300, 0.1, 5e-324], [3.0, 0.5, 1e10, 0.2, 1.0]
    operands = (*_doubles(a), *_doubles(b))

    def result(line: str) -> list[float]:
        rows = operate(line, *operands, count=2)
        values: list[float] = np.ascontiguousarray(rows.T).view(np.float64)[:, 0].tolist()
        return values

    assert result("dadd r8, r0, r2") == [x + y for x, y in zip(a, b, strict=True)]
    assert result("dmul r8, r0, -r2") == [-x * y for x, y in zip(a, b, strict=True)]
    assert result("ddiv r8, r0, r2") == [x / y for x, y in zip(a, b, strict=True)]
    assert result("dmin r8, r0, r2") == [min(x, y) for x, y in zip(a, b, strict=True)]
    assert result("dmax r8, |r0|, r2") == [max(abs(x), y) for x, y in zip(a, b, strict=True)]
    assert result("drcp r8, r2") == [1 / y for y in b]
    assert result("dmov.sat r8, r0") == [1, 0, 1, 0.1, 5e-324]
    assert result("dselect r8, 1, r0, r2") == a
    assert operate("dlt r8, r0, r2", *operands)[0].tolist() == [M * (x < y) for x, y in zip(a, b, strict=True)]
    assert operate("dtoi r8, r0", *operands)[0].tolist() == [1, M - 1, 0x7FFF_FFFF, 0, 0]
    assert operate("dtof r8, r0", *operands)[0].view(np.float32).tolist() == [1.5, -2.25, math.inf, np.float32(0.1), 0]
    assert result("itod r8, -7") == [-7.0] * 5
    assert result("ftod r8, 0.5") == [0.5] * 5


def test_fused_multiply_add_of_doubles_rounds_once() -> None:
    a = 1 + 2.0**-30
    rows = operate("dfma r8, r0, r0, r2", *_doubles([a]), *_doubles([-(1 + 2.0**-29)]), count=2)
    assert np.ascontiguousarray(rows.T).view(np.float64)[0, 0] == 2.0**-60


# --- control flow -----------------------------------------------------------------------------------------------------------


def test_loops_diverge_by_lane() -> None:
    x = run("compute temps=4\nloop\nige r1, r0, $THREAD_ID_X\nbreakc r1 1\niadd r0, r0, 1\niadd r2, r2, r0\nendloop\n", count=9)
    assert x.temps[0].tolist() == list(range(9))
    assert x.temps[2].tolist() == [n * (n + 1) // 2 for n in range(9)]


FLOW = """
compute temps=8
loop
  uge r1, r0, 10
  breakc r1 1
  iadd r0, r0, 1
  and r2, r0, 1
  if r2
    ieq r3, r0, $THREAD_ID_X
    if r3
      iadd r4, r4, 100
      break 1
    endif
    continue 1
  else
    block
      ilt r3, r0, $THREAD_ID_X
      if.z r3
        break 1
      endif
      iadd r4, r4, 10
    endblock
    ieq r5, $THREAD_ID_X, 8
    ieq r6, r0, 6
    and r5, r5, r6
    retc r5
  endif
  iadd r4, r4, 1
endloop
iadd r4, r4, 1000
"""


def _flow(t: int) -> int:
    r0 = r4 = 0
    while r0 < 10:
        r0 += 1
        if r0 & 1:
            if r0 == t:
                r4 += 100
                break
            continue
        if r0 < t:
            r4 += 10
        if t == 8 and r0 == 6:
            return r4
        r4 += 1
    return r4 + 1000


def test_nested_flow_against_python() -> None:
    assert run(FLOW, count=14).temps[4].tolist() == [_flow(t) for t in range(14)]


def test_break_and_continue_over_several_levels() -> None:
    text = """
    compute temps=6
    loop
      iadd r0, r0, 1
      uge r1, r0, 6
      breakc r1 1
      loop
        block
          ieq r2, r0, 3
          continuec r2 3
          ieq r2, r0, 5
          breakc r2 3
          break 2
        endblock
      endloop
      iadd r3, r3, r0
    endloop
    """
    assert run(text, count=2).temps[3].tolist() == [1 + 2 + 4] * 2


def test_computed_indices_read_zero_outside() -> None:
    text = """
    compute temps=8
    array 0 4
    icb 10 11 12
    store_array $THREAD_ID_X, 5 0
    load_array r0, $THREAD_ID_X 0
    load_icb r1, $THREAD_ID_X
    load_constant r2, $THREAD_ID_X 3
    mov r3, c3[1]
    mov r4, c3[9]
    load_array r5, 0xffffffff 0
    """
    x = run(text, count=6, constants={3: np.array([7, 8], np.uint32)})
    assert x.temps[0].tolist() == [5, 5, 5, 5, 0, 0]
    assert x.temps[1].tolist() == [10, 11, 12, 0, 0, 0]
    assert x.temps[2].tolist() == [7, 8, 0, 0, 0, 0]
    assert x.temps[3].tolist() == [8] * 6
    assert x.temps[4].tolist() == [0] * 6
    assert x.temps[5].tolist() == [0] * 6


def test_an_endless_loop_ends_when_asked_to() -> None:
    program = load(assemble("compute\nloop\nendloop").to_bytes())
    stop = StopWord()
    stop.set()
    with pytest.raises(FaultError) as caught:
        Interpreter(program, Lanes(4), stop).run()
    assert caught.value.fault == Fault.HANG


def test_bad_programs_fault() -> None:
    with pytest.raises(FaultError) as caught:
        load(b"nonsense")
    assert caught.value.fault == Fault.BAD_SHADER
    with pytest.raises(FaultError, match="beyond temp_count"):
        load(assemble("compute temps=1\nmov r1, r0").to_bytes())


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=40), st.integers(0, 9))
def test_atomics_are_done_lane_after_lane(places: list[int], op: int) -> None:
    rng = np.random.default_rng(len(places) * 10 + op)
    memory = rng.integers(0, 2**32, 8, np.uint32)
    want, olds = memory.tolist(), []
    value = rng.integers(0, 2**32, len(places), np.uint32)
    compare = rng.choice(memory, len(places))
    for p, v, c in zip(places, value.tolist(), compare.tolist(), strict=True):
        old = want[p]
        olds.append(old)
        want[p] = [
            old & v, old | v, old ^ v, (old + v) & M, max(s32(old), s32(v)) & M, min(s32(old), s32(v)) & M,
            max(old, v), min(old, v), v, v if old == c else old,
        ][op]  # fmt: skip
    got = atomic(memory, np.array(places), op, value, compare)
    assert got.tolist() == olds
    assert memory.tolist() == want
