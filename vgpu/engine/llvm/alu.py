"""Arithmetic of the shader instruction set: what each operation does to values, whatever their number of lanes.

Operands come typed and with modifiers applied (float, integer or double); results are float, integer or double values.
Booleans of comparisons become all ones or 0 here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from wddm.hw.isa import Op

from . import maths
from .builder import F32, F64, I1, I32, I64, Function, Value

Operation = Callable[..., Value]


def _boolean(mask: Value) -> Value:
    return mask.sext(I32)


def _select(f: Function, a: Value, b: Value, c: Value) -> Value:
    return a.ne(0).select(b, c)


def _divide(f: Function, a: Value, b: Value, quotient: bool) -> Value:
    """Division by zero gives all ones."""
    a, b = a._both(b)
    zero = b.eq(0)
    safe = zero.select(1, b)
    return zero.select(-1, a.udiv(safe) if quotient else a.urem(safe))


def _high(f: Function, a: Value, b: Value, signed: bool) -> Value:
    a, b = a._both(b)
    wide = (a.sext(I64) * b.sext(I64)) if signed else (a.zext(I64) * b.zext(I64))
    return wide.shr(32).trunc(I32)


def _msad(f: Function, reference: Value, source: Value, accumulator: Value) -> Value:
    """Sum of absolute differences of the bytes whose reference byte is not 0."""
    total = accumulator
    for shift in (0, 8, 16, 24):
        r, s = reference.shr(shift) & 255, source.shr(shift) & 255
        difference = f.max(r - s, s - r)
        total = total + r.eq(0).select(0, difference)
    return total


def _bit_high(f: Function, x: Value) -> Value:
    n = f.call(f"llvm.ctlz.{_suffix(x)}", x.type, [x, f.value(0, I1)])
    return x.eq(0).select(-1, n)


def _bit_low(f: Function, x: Value) -> Value:
    n = f.call(f"llvm.cttz.{_suffix(x)}", x.type, [x, f.value(0, I1)])
    return x.eq(0).select(-1, n)


def _suffix(x: Value) -> str:
    return f"v{x.type.lanes}i32" if x.type.lanes else "i32"


def _extract(f: Function, width: Value, offset: Value, x: Value, signed: bool) -> Value:
    """Bit field extract: width 0 gives 0; fields that reach beyond bit 31 are shifted down only."""
    w, o = width & 31, offset & 31
    w, o = w._both(o)
    w, x = w._both(x)
    o, x = o._both(x)
    over = (w + o) > 31
    up = 32 - (w + o)
    safe_up = over.select(0, up)
    down = over.select(o, 32 - w)
    down = down & 31
    y = x << safe_up
    r = (y >> down) if signed else y.shr(down)
    return w.eq(0).select(0, r)


def _insert(f: Function, width: Value, offset: Value, insert: Value, base: Value) -> Value:
    w, o = width & 31, offset & 31
    mask = ((f.value(1, w.type) << w) - 1) << o
    return ((insert << o) & mask) | (base & ~mask)


def _round(name: str) -> Operation:
    return lambda f, a: f.intrinsic(name, a)


def _compare(name: str) -> Operation:
    return lambda f, a, b: _boolean(getattr(a, name)(b))


def _same(name: str) -> Operation:
    return lambda f, a, b: getattr(f, name)(a, b)


OPERATIONS: Final[dict[int, Operation]] = {
    Op.MOV: lambda f, a: a,
    Op.SELECT: _select,
    Op.FADD: lambda f, a, b: a + b,
    Op.FMUL: lambda f, a, b: a * b,
    Op.FMAD: lambda f, a, b, c: f.fma(a, b, c),
    Op.FDIV: lambda f, a, b: a / b,
    Op.FMIN: maths.minimum,
    Op.FMAX: maths.maximum,
    Op.FRCP: lambda f, a: 1.0 / a,
    Op.FRSQ: lambda f, a: 1.0 / f.intrinsic("sqrt", a),
    Op.FSQRT: _round("sqrt"),
    Op.FEXP2: maths.exp2,
    Op.FLOG2: maths.log2,
    Op.FSIN: lambda f, a: maths.sin(f, a),
    Op.FCOS: lambda f, a: maths.sin(f, a, quarter=True),
    Op.FFRC: lambda f, a: a - f.floor(a),
    Op.FROUND_NE: _round("rint"),
    Op.FROUND_NI: _round("floor"),
    Op.FROUND_PI: _round("ceil"),
    Op.FROUND_Z: _round("trunc"),
    Op.FEQ: _compare("eq"),
    Op.FNE: _compare("ne"),
    Op.FLT: _compare("__lt__"),
    Op.FGE: _compare("__ge__"),
    Op.IADD: lambda f, a, b: a + b,
    Op.IMUL: lambda f, a, b: a * b,
    Op.IMUL_HI: lambda f, a, b: _high(f, a, b, True),
    Op.UMUL_HI: lambda f, a, b: _high(f, a, b, False),
    Op.IMAD: lambda f, a, b, c: a * b + c,
    Op.UDIV: lambda f, a, b: _divide(f, a, b, True),
    Op.UREM: lambda f, a, b: _divide(f, a, b, False),
    Op.IMIN: _same("min"),
    Op.IMAX: _same("max"),
    Op.UMIN: _same("umin"),
    Op.UMAX: _same("umax"),
    Op.IEQ: _compare("eq"),
    Op.INE: _compare("ne"),
    Op.ILT: _compare("__lt__"),
    Op.IGE: _compare("__ge__"),
    Op.ULT: _compare("ult"),
    Op.UGE: _compare("uge"),
    Op.INEG: lambda f, a: 0 - a,
    Op.UADD_CARRY: lambda f, a, b: (a + b).ult(a if a.type.lanes or not b.type.lanes else b).zext(I32),
    Op.USUB_BORROW: lambda f, a, b: a.ult(b).zext(I32),
    Op.MSAD: _msad,
    Op.AND: lambda f, a, b: a & b,
    Op.OR: lambda f, a, b: a | b,
    Op.XOR: lambda f, a, b: a ^ b,
    Op.NOT: lambda f, a: ~a,
    Op.SHL: lambda f, a, b: a << (b & 31),
    Op.ISHR: lambda f, a, b: a >> (b & 31),
    Op.USHR: lambda f, a, b: a.shr(b & 31),
    Op.COUNT_BITS: lambda f, a: f.intrinsic("ctpop", a),
    Op.FIRST_BIT_HI: _bit_high,
    Op.FIRST_BIT_LO: _bit_low,
    Op.FIRST_BIT_SHI: lambda f, a: _bit_high(f, a ^ (a >> 31)),
    Op.BIT_REVERSE: lambda f, a: f.intrinsic("bitreverse", a),
    Op.UBFE: lambda f, a, b, c: _extract(f, a, b, c, False),
    Op.IBFE: lambda f, a, b, c: _extract(f, a, b, c, True),
    Op.BFI: _insert,
    Op.FTOI: maths.float_to_int,
    Op.FTOU: maths.float_to_unsigned,
    Op.ITOF: lambda f, a: a.to_float(),
    Op.UTOF: lambda f, a: a.unsigned_to_float(),
    Op.F32TOF16: maths.to_half,
    Op.F16TOF32: maths.from_half,
    Op.DADD: lambda f, a, b: a + b,
    Op.DMUL: lambda f, a, b: a * b,
    Op.DFMA: lambda f, a, b, c: f.fma(a, b, c),
    Op.DDIV: lambda f, a, b: a / b,
    Op.DRCP: lambda f, a: 1.0 / a,
    Op.DMIN: maths.minimum,
    Op.DMAX: maths.maximum,
    Op.DEQ: _compare("eq"),
    Op.DNE: _compare("ne"),
    Op.DLT: _compare("__lt__"),
    Op.DGE: _compare("__ge__"),
    Op.DMOV: lambda f, a: a,
    Op.DSELECT: _select,
    Op.DTOF: lambda f, a: a.resize_float(F32),
    Op.FTOD: lambda f, a: a.resize_float(F64),
    Op.DTOI: maths.double_to_int,
    Op.DTOU: maths.double_to_unsigned,
    Op.ITOD: lambda f, a: a.to_float(F64),
    Op.UTOD: lambda f, a: a.unsigned_to_float(F64),
}
