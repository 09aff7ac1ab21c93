"""Arithmetic of the shader ISA over lanes: one function per operation, float32 and integers as uint32 bits, doubles as float64.

:data:`FLOAT` functions take and give float32 arrays (denormals are flushed around them by the interpreter), :data:`COMPARE` take
float32 and give truth, :data:`INTEGER` take and give uint32, :data:`CONVERT` and :data:`DOUBLE` say their types.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from wddm.hw.isa import Op

Array = npt.NDArray[Any]
_U, _I, _F, _D, _U64 = np.uint32, np.int32, np.float32, np.float64, np.uint64
ALL_ONES: Final = np.uint32(0xFFFF_FFFF)


def flush(bits: Array) -> Array:
    """Float32 bits with denormals turned into signed zero."""
    exponent = bits & _U(0x7F80_0000)
    if exponent.all():
        return bits
    return np.where(exponent != 0, bits, bits & _U(0x8000_0000))


def truth(condition: Array) -> Array:
    """All ones where true."""
    return np.where(condition, ALL_ONES, _U(0))


def saturate(value: Array) -> Array:
    """Clamp to 0..1, NaN to 0."""
    result: Array = np.where(value > 0, np.minimum(value, value.dtype.type(1)), value.dtype.type(0))
    return result


def _minimum(a: Array, b: Array) -> Array:
    """The smaller one; a number where the other is none; of two zeros the second."""
    return np.where(np.isnan(b) | (a < b), a, b)


def _maximum(a: Array, b: Array) -> Array:
    """The greater one, likewise."""
    return np.where(np.isnan(b) | (a > b), a, b)


def _via64(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The correctly rounded result of a transcendental, through float64."""
    return lambda a: function(a.astype(_D)).astype(_F)


FLOAT: Final[dict[int, Callable[..., Array]]] = {
    Op.FADD: np.add,
    Op.FMUL: np.multiply,
    Op.FDIV: np.divide,
    Op.FMIN: _minimum,
    Op.FMAX: _maximum,
    Op.FRCP: lambda a: _F(1) / a,
    Op.FRSQ: _via64(lambda a: 1 / np.sqrt(a)),
    Op.FSQRT: np.sqrt,
    Op.FEXP2: _via64(np.exp2),
    Op.FLOG2: _via64(np.log2),
    Op.FSIN: _via64(np.sin),
    Op.FCOS: _via64(np.cos),
    Op.FFRC: lambda a: a - np.floor(a),
    Op.FROUND_NE: np.rint,
    Op.FROUND_NI: np.floor,
    Op.FROUND_PI: np.ceil,
    Op.FROUND_Z: np.trunc,
}

COMPARE: Final[dict[int, Callable[..., Array]]] = {
    Op.FEQ: np.equal,
    Op.FNE: np.not_equal,
    Op.FLT: np.less,
    Op.FGE: np.greater_equal,
}

DOUBLE_COMPARE: Final[dict[int, Callable[..., Array]]] = {
    Op.DEQ: np.equal,
    Op.DNE: np.not_equal,
    Op.DLT: np.less,
    Op.DGE: np.greater_equal,
}


def fused(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float64 with one rounding, by exact rational arithmetic."""
    a, b, c = np.broadcast_arrays(a, b, c)
    out = a * b + c
    for i in np.flatnonzero(np.isfinite(a) & np.isfinite(b) & np.isfinite(c)):
        exact = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
        if exact:
            try:
                out[i] = float(exact)
            except OverflowError:
                out[i] = math.inf if exact > 0 else -math.inf
    return out


DOUBLE: Final[dict[int, Callable[..., Array]]] = {
    Op.DADD: np.add,
    Op.DMUL: np.multiply,
    Op.DFMA: fused,
    Op.DDIV: np.divide,
    Op.DRCP: lambda a: 1.0 / a,
    Op.DMIN: _minimum,
    Op.DMAX: _maximum,
}


def _signed(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *v: function(*(x.view(_I) for x in v)).view(_U)


def _signed_truth(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda a, b: truth(function(a.view(_I), b.view(_I)))


def _divide(a: Array, b: Array) -> Array:
    return np.where(b == 0, ALL_ONES, a // np.maximum(b, _U(1)))


def _remainder(a: Array, b: Array) -> Array:
    return np.where(b == 0, ALL_ONES, a % np.maximum(b, _U(1)))


def _high_signed(a: Array, b: Array) -> Array:
    return (a.view(_I).astype(np.int64) * b.view(_I) >> 32).astype(np.int64).astype(_U)


def _high_unsigned(a: Array, b: Array) -> Array:
    return (a.astype(_U64) * b.astype(_U64) >> _U64(32)).astype(_U)


def _masked_difference(reference: Array, source: Array, accumulator: Array) -> Array:
    total = accumulator.astype(_U64)
    for shift in (0, 8, 16, 24):
        r, s = (v >> _U(shift) & _U(255) for v in (reference, source))
        total = total + np.where(r != 0, np.where(r > s, r - s, s - r), _U(0))
    return (total & _U64(0xFFFF_FFFF)).astype(_U)


def _shift(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda a, b: function(a, b & _U(31))


def _count_bits(a: Array) -> Array:
    return np.bitwise_count(a).astype(_U)


def first_bit_high(a: Array) -> Array:
    """Distance of the highest 1 from bit 31; all ones for 0."""
    _, exponent = np.frexp(a.astype(_D))
    return np.where(a == 0, ALL_ONES, (32 - exponent).astype(_U))


def _first_bit_low(a: Array) -> Array:
    lowest = a & (~a + _U(1))
    _, exponent = np.frexp(lowest.astype(_D))
    return np.where(a == 0, ALL_ONES, (exponent - 1).astype(np.int64).astype(_U))


def _first_bit_signed(a: Array) -> Array:
    return first_bit_high(np.where(a >> _U(31), ~a, a))


def _reverse(a: Array) -> Array:
    for mask, shift in ((0x5555_5555, 1), (0x3333_3333, 2), (0x0F0F_0F0F, 4), (0x00FF_00FF, 8)):
        a = (a >> _U(shift) & _U(mask)) | (a & _U(mask)) << _U(shift)
    return a >> _U(16) | a << _U(16)


def _extract(a: Array, b: Array, c: Array, signed: bool) -> Array:
    width, offset = a & _U(31), b & _U(31)
    value = c.view(_I) if signed else c
    kind = _I if signed else _U
    left = (_U(32) - np.minimum(width + offset, _U(32))).astype(_U)
    narrow = value << left.astype(kind) >> (_U(32) - np.maximum(width, _U(1))).astype(kind)
    wide = value >> offset.astype(kind)
    out = np.where(width + offset < 32, narrow, wide)
    return np.where(width == 0, kind(0), out).view(_U)


def _insert(a: Array, b: Array, c: Array, e: Array) -> Array:
    width, offset = a & _U(31), b & _U(31)
    mask = ((_U(1) << width) - _U(1)) << offset
    result: Array = (c << offset & mask) | (e & ~mask)
    return result


INTEGER: Final[dict[int, Callable[..., Array]]] = {
    Op.IADD: np.add,
    Op.IMUL: np.multiply,
    Op.IMUL_HI: _high_signed,
    Op.UMUL_HI: _high_unsigned,
    Op.IMAD: lambda a, b, c: a * b + c,
    Op.UDIV: _divide,
    Op.UREM: _remainder,
    Op.IMIN: _signed(np.minimum),
    Op.IMAX: _signed(np.maximum),
    Op.UMIN: np.minimum,
    Op.UMAX: np.maximum,
    Op.IEQ: lambda a, b: truth(a == b),
    Op.INE: lambda a, b: truth(a != b),
    Op.ILT: _signed_truth(np.less),
    Op.IGE: _signed_truth(np.greater_equal),
    Op.ULT: lambda a, b: truth(a < b),
    Op.UGE: lambda a, b: truth(a >= b),
    Op.INEG: lambda a: ~a + _U(1),
    Op.UADD_CARRY: lambda a, b: (a.astype(_U64) + b.astype(_U64) >> _U64(32)).astype(_U),
    Op.USUB_BORROW: lambda a, b: (a < b).astype(_U),
    Op.MSAD: _masked_difference,
    Op.AND: np.bitwise_and,
    Op.OR: np.bitwise_or,
    Op.XOR: np.bitwise_xor,
    Op.NOT: np.invert,
    Op.SHL: _shift(np.left_shift),
    Op.ISHR: _shift(lambda a, b: (a.view(_I) >> b.view(_I)).view(_U)),
    Op.USHR: _shift(np.right_shift),
    Op.COUNT_BITS: _count_bits,
    Op.FIRST_BIT_HI: first_bit_high,
    Op.FIRST_BIT_LO: _first_bit_low,
    Op.FIRST_BIT_SHI: _first_bit_signed,
    Op.BIT_REVERSE: _reverse,
    Op.UBFE: lambda a, b, c: _extract(a, b, c, False),
    Op.IBFE: lambda a, b, c: _extract(a, b, c, True),
    Op.BFI: _insert,
}


def to_signed(value: Array) -> Array:
    """Truncate, clamp, NaN to 0: uint32 bits of an int32. Exact for float32 and float64."""
    v = np.where(np.isnan(value), 0, value).astype(_D)
    return np.clip(np.trunc(v), -(2.0**31), 2.0**31 - 1).astype(np.int64).astype(_U)


def to_unsigned(value: Array) -> Array:
    """Truncate, clamp, NaN to 0: uint32."""
    v = np.where(np.isnan(value), 0, value).astype(_D)
    return np.clip(np.trunc(v), 0, 2.0**32 - 1).astype(np.int64).astype(_U)


def to_half(value: Array) -> Array:
    """Float32 to half bits, to nearest even."""
    return value.astype(np.float16).view(np.uint16).astype(_U)


def from_half(bits: Array) -> Array:
    """Half in the low 16 bits to float32."""
    return (bits & _U(0xFFFF)).astype(np.uint16).view(np.float16).astype(_F)


#: op -> (source type, result type, function); types f float32, i uint32, s int32, d float64.
CONVERT: Final[dict[int, tuple[str, str, Callable[[Array], Array]]]] = {
    Op.FTOI: ("f", "i", to_signed),
    Op.FTOU: ("f", "i", to_unsigned),
    Op.ITOF: ("i", "f", lambda a: a.view(_I).astype(_F)),
    Op.UTOF: ("i", "f", lambda a: a.astype(_F)),
    Op.F32TOF16: ("f", "i", to_half),
    Op.F16TOF32: ("i", "f", from_half),
    Op.DTOF: ("d", "f", lambda a: a.astype(_F)),
    Op.FTOD: ("f", "d", lambda a: a.astype(_D)),
    Op.DTOI: ("d", "i", to_signed),
    Op.DTOU: ("d", "i", to_unsigned),
    Op.ITOD: ("i", "d", lambda a: a.view(_I).astype(_D)),
    Op.UTOD: ("i", "d", lambda a: a.astype(_D)),
}
