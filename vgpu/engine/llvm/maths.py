"""Transcendental functions, conversions and bit tricks on vectors, within Direct3D 11's tolerances.

Polynomials are minimax fits; errors in comments are their own, before float rounding.
"""

from __future__ import annotations

import math
from typing import Final

from .builder import F16, F32, F64, I16, I32, I64, Function, Number, Value

_EXP2: Final = (0.6931470036506653, 0.24022242426872253, 0.05550733953714371, 0.009671513922512531, 0.0013264707522466779)
_LOG2: Final = (
    1.4426950216293335,
    -0.7213528156280518,
    0.48092320561408997,
    -0.36023956537246704,
    0.2870993912220001,
    -0.24887846410274506,
    0.23403745889663696,
    -0.14580024778842926,
)
_SIN: Final = (-0.16665680706501007, 0.008312365040183067, -0.00018492143135517836)


def polynomial(f: Function, x: Value, coefficients: tuple[float, ...]) -> Value:
    """c0 + c1 x + c2 x² + …"""
    result: Value = f.value(coefficients[-1], x.type)
    for c in reversed(coefficients[:-1]):
        result = f.fma(result, x, c)
    return result


def exp2(f: Function, x: Value) -> Value:
    """2**x; relative error 1.1e-7. Results below the smallest normal number are 0."""
    clamped = f.max(f.min(x, 129.0), -151.0)
    whole = f.intrinsic("rint", clamped)
    fraction = clamped - whole
    p = f.fma(fraction, polynomial(f, fraction, _EXP2), 1.0)
    n = whole.to_int(I32)
    # In two steps, so that neither factor leaves the range of exponents.
    half = n >> 1
    one = ((half + 127) << 23).bits(F32)
    two = ((n - half + 127) << 23).bits(F32)
    return x.ne(x).select(x, p * one * two)


def log2(f: Function, x: Value) -> Value:
    """log2(x); error 2.1e-7 relative. Denormals count as 0."""
    bits = x.bits(I32)
    # Mantissa into [sqrt(1/2), sqrt(2)).
    shifted = bits - 0x3F3504F3
    exponent = shifted >> 23
    mantissa = ((shifted & 0x007F_FFFF) + 0x3F3504F3).bits(F32)
    t = mantissa - 1.0
    result = f.fma(t, polynomial(f, t, _LOG2), exponent.to_float())
    infinite = (bits & 0x7FFF_FFFF).uge(0x7F80_0000)
    result = infinite.select(x, result)
    result = (x < 0.0).select(math.nan, result)
    return (bits & 0x7F80_0000).eq(0).select(-math.inf, result)


def sin(f: Function, x: Value, *, quarter: bool = False) -> Value:
    """Sine, or cosine with ``quarter``; absolute error 1e-6 within ±100 pi; always within ±1."""
    turns = x * (1.0 / math.pi)
    # cos(x) = sin(x + pi/2): reduced around odd multiples of pi/2.
    whole = f.intrinsic("rint", turns - 0.5 if quarter else turns)
    k = whole + 0.5 if quarter else whole
    sign = f.max(f.min(whole, 1e9), -1e9).to_int(I32)
    r = f.fma(k, -3.140625, x)
    r = f.fma(k, -0.0009670257568359375, r)
    r = f.fma(k, -6.2771141529083252e-07, r)
    r = f.fma(k, -1.2154201256553420e-10, r)
    square = r * r
    s = f.fma(r * square, polynomial(f, square, _SIN), r)
    s = f.max(f.min(s, 1.0), -1.0)
    flip = sign << 31
    if quarter:
        flip = flip ^ -(1 << 31)
    s = (s.bits(I32) ^ flip).bits(F32)
    # Infinities and NaN give NaN.
    return (f.abs(x) < math.inf).select(s, math.nan)


def float_to_int(f: Function, x: Value) -> Value:
    """Truncate, clamp to int32, NaN gives 0."""
    inside = f.max(f.min(x, 2147483520.0), -2147483648.0)
    r = inside.to_int(I32)
    r = (x >= 2147483648.0).select(0x7FFF_FFFF, r)
    return x.ne(x).select(0, r)


def float_to_unsigned(f: Function, x: Value) -> Value:
    """Truncate, clamp to uint32, NaN gives 0."""
    inside = f.min(f.max(x, 0.0), 4294967040.0)
    high = inside >= 2147483648.0
    low = (inside - high.select(2147483648.0, f.value(0.0, x.type))).to_int(I32)
    r = low ^ high.select(-(1 << 31), f.value(0, low.type))
    r = (x >= 4294967296.0).select(-1, r)
    return x.ne(x).select(0, r)


def double_to_int(f: Function, x: Value) -> Value:
    """Truncate, clamp to int32, NaN gives 0."""
    r = f.max(f.min(x, 2147483647.0), -2147483648.0).to_int(I32)
    return x.ne(x).select(0, r)


def double_to_unsigned(f: Function, x: Value) -> Value:
    """Truncate, clamp to uint32, NaN gives 0."""
    r = f.min(f.max(x, 0.0), 4294967295.0).to_unsigned(I32)
    return x.ne(x).select(0, r)


def from_half(f: Function, bits: Value) -> Value:
    """The float of the low 16 bits; denormal halves are kept (they are normal floats)."""
    return bits.trunc(I16).bits(F16).resize_float(F32)


def to_half(f: Function, x: Value) -> Value:
    """The half of a float in the low 16 bits, rounded to nearest even."""
    return x.resize_float(F16).bits(I16).zext(I32)


def minimum(f: Function, a: Value, b: Value) -> Value:
    """IEEE 754-2008 minNum: the other operand when one is NaN."""
    a, b = a._both(b)
    return b.ne(b).select(a, f.min(a, b))


def maximum(f: Function, a: Value, b: Value) -> Value:
    """IEEE 754-2008 maxNum."""
    a, b = a._both(b)
    return b.ne(b).select(a, f.max(a, b))


def linear_to_srgb(f: Function, x: Value) -> Value:
    """Encode 0..1."""
    curve = f.fma(exp2(f, log2(f, x) * (1.0 / 2.4)), 1.055, -0.055)
    return (x <= 0.0031308).select(x * 12.92, curve)


def srgb_to_linear(f: Function, x: Value) -> Value:
    """Decode 0..1."""
    curve = exp2(f, log2(f, f.fma(x, 1.0 / 1.055, 0.055 / 1.055)) * 2.4)
    return (x <= 0.04045).select(x * (1.0 / 12.92), curve)


def to_double(f: Function, low: Value, high: Value) -> Value:
    """The float64 of two dwords."""
    return (low.zext(I64) | (high.zext(I64) << 32)).bits(F64)


def from_double(f: Function, x: Value) -> tuple[Value, Value]:
    """The two dwords of a float64."""
    b = x.bits(I64)
    return b.trunc(I32), b.shr(32).trunc(I32)


def broadcast_like(f: Function, x: Number, other: Value) -> Value:
    """``x`` with the lanes of ``other``."""
    v = f.value(x, other.type)
    return f.splat(v, other.type.lanes) if other.type.lanes and not v.type.lanes else v
