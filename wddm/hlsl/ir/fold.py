"""Arithmetic at compile time: what an operation gives for immediates, and identities that need no instruction.

Float results are rounded to float32 and denormals flushed, as the hardware does.  :func:`fold` and :func:`simplify`
work on one lane.  Nothing here changes what a ``precise`` value is: identities that only hold for finite numbers are
left out there.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from wddm.hlsl.words import word_set

from .nodes import COMPARES, FALSE, TRUE, ZERO, Imm, Lane, Value, float_pattern, imm, imm_float

__all__ = ["as_float", "double_fold", "fold", "simplify"]

_I, _F, _D = struct.Struct("<I"), struct.Struct("<f"), struct.Struct("<d")

ONE_BITS = 0x3F800000


def as_float(bits: int) -> float:
    if bits & 0x7F800000 == 0:
        return -0.0 if bits >> 31 else 0.0
    return float(_F.unpack(_I.pack(bits))[0])


def _pattern(value: float) -> int:
    if value != value:
        return 0x7FC00000
    bits = float_pattern(value)
    return bits & 0x80000000 if bits & 0x7F800000 == 0 else bits


def _signed(bits: int) -> int:
    return bits - 0x100000000 if bits & 0x80000000 else bits


def _f(function: Callable[..., float]) -> Callable[..., int]:
    def wrapped(*bits: int) -> int:
        return _pattern(function(*[as_float(b) for b in bits]))

    return wrapped


def _test(function: Callable[[float, float], bool]) -> Callable[..., int]:
    return lambda a, b: 0xFFFFFFFF if function(as_float(a), as_float(b)) else 0


def _itest(function: Callable[[int, int], bool]) -> Callable[..., int]:
    return lambda a, b: 0xFFFFFFFF if function(_signed(a), _signed(b)) else 0


def _utest(function: Callable[[int, int], bool]) -> Callable[..., int]:
    return lambda a, b: 0xFFFFFFFF if function(a, b) else 0


def _div(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _exp2(a: float) -> float:
    if a >= 129:
        return math.inf
    return 0.0 if a < -150 else float(2.0**a)


def _log2(a: float) -> float:
    if a == 0:
        return -math.inf
    if not a > 0:
        return math.nan
    return a if a == math.inf else math.log2(a)


def _min(a: float, b: float) -> float:
    return b if a != a else a if b != b or a < b else b


def _max(a: float, b: float) -> float:
    return b if a != a else a if b != b or a >= b else b


def _finite(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda a: function(a) if math.isfinite(a) else math.nan


def _integral(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda a: math.copysign(float(function(a)), a) if math.isfinite(a) else a


def _rsq(a: float) -> float:
    if a == 0:
        return math.copysign(math.inf, a)
    return math.nan if not a > 0 else 1.0 / math.sqrt(a)


def _ftoi(bits: int) -> int:
    a = as_float(bits)
    return 0 if a != a else int(max(-2147483648.0, min(2147483647.0, a))) & 0xFFFFFFFF


def _ftou(bits: int) -> int:
    a = as_float(bits)
    return 0 if a != a else int(max(0.0, min(4294967295.0, a)))


def _bit_high(a: int) -> int:
    return 32 - a.bit_length() if a else 0xFFFFFFFF


def _f32tof16(bits: int) -> int:
    value = float(_F.unpack(_I.pack(bits))[0])
    if value != value:
        return 0x7E00
    if math.isinf(value):
        return 0xFC00 if value < 0 else 0x7C00
    try:
        half = int(struct.unpack("<H", struct.pack("<e", value))[0])
    except OverflowError:
        return 0xFBFF if value < 0 else 0x7BFF
    back = abs(float(struct.unpack("<e", struct.pack("<H", half))[0]))
    return half - 1 if back > abs(value) else half


def _f16tof32(bits: int) -> int:
    return float_pattern(float(struct.unpack("<e", struct.pack("<H", bits & 0xFFFF))[0]))


def _ubfe(w: int, o: int, a: int) -> int:
    w, o = w & 31, o & 31
    return a >> o & ((1 << w) - 1)


def _ibfe(w: int, o: int, a: int) -> int:
    w, o = w & 31, o & 31
    if w == 0:
        return 0
    if w + o < 32:
        return (_signed((a << (32 - w - o)) & 0xFFFFFFFF) >> (32 - w)) & 0xFFFFFFFF
    return _signed(a) >> o & 0xFFFFFFFF


def _bfi(w: int, o: int, ins: int, base: int) -> int:
    mask = (((1 << (w & 31)) - 1) << (o & 31)) & 0xFFFFFFFF
    return ((ins << (o & 31)) & mask) | (base & ~mask & 0xFFFFFFFF)


_FOLD: dict[str, Callable[..., int]] = {
    "mov": lambda a: a,
    "add": _f(lambda a, b: a + b),
    "mul": _f(lambda a, b: a * b),
    "div": _f(_div),
    "mad": lambda a, b, c: _pattern(as_float(_pattern(as_float(a) * as_float(b))) + as_float(c)),
    "min": _f(_min),
    "max": _f(_max),
    "exp": _f(_exp2),
    "log": _f(_log2),
    "frc": _f(_finite(lambda a: a - math.floor(a))),
    "rcp": _f(lambda a: _div(1.0, a)),
    "rsq": _f(_rsq),
    "sqrt": _f(lambda a: math.sqrt(a) if a >= 0 else math.nan),
    "sin": _f(_finite(math.sin)),
    "cos": _f(_finite(math.cos)),
    "round_ne": _f(_integral(round)),
    "round_ni": _f(_integral(math.floor)),
    "round_pi": _f(_integral(math.ceil)),
    "round_z": _f(_integral(math.trunc)),
    "sat": _f(lambda a: _min(1.0, _max(0.0, a))),
    "fneg": lambda a: a ^ 0x80000000,
    "fabs": lambda a: a & 0x7FFFFFFF,
    "eq": _test(lambda a, b: a == b),
    "ne": _test(lambda a, b: a != b),
    "lt": _test(lambda a, b: a < b),
    "ge": _test(lambda a, b: a >= b),
    "ieq": _utest(lambda a, b: a == b),
    "ine": _utest(lambda a, b: a != b),
    "ilt": _itest(lambda a, b: a < b),
    "ige": _itest(lambda a, b: a >= b),
    "ult": _utest(lambda a, b: a < b),
    "uge": _utest(lambda a, b: a >= b),
    "iadd": lambda a, b: a + b,
    "imul": lambda a, b: a * b,
    "imul_hi": lambda a, b: (_signed(a) * _signed(b)) >> 32,
    "umul_hi": lambda a, b: (a * b) >> 32,
    "imad": lambda a, b, c: a * b + c,
    "imax": lambda a, b: max(_signed(a), _signed(b)),
    "imin": lambda a, b: min(_signed(a), _signed(b)),
    "umax": max,
    "umin": min,
    "ineg": lambda a: -a,
    "udiv": lambda a, b: a // b if b else 0xFFFFFFFF,
    "urem": lambda a, b: a % b if b else 0xFFFFFFFF,
    "uaddc_carry": lambda a, b: (a + b) >> 32,
    "usubb_borrow": lambda a, b: int(a < b),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "ishl": lambda a, n: a << (n & 31),
    "ishr": lambda a, n: _signed(a) >> (n & 31),
    "ushr": lambda a, n: a >> (n & 31),
    "countbits": lambda a: a.bit_count(),
    "firstbit_hi": _bit_high,
    "firstbit_lo": lambda a: (a & -a).bit_length() - 1 if a else 0xFFFFFFFF,
    "firstbit_shi": lambda a: _bit_high(~a & 0xFFFFFFFF if a >> 31 else a),
    "bfrev": lambda a: int(f"{a:032b}"[::-1], 2),
    "ubfe": _ubfe,
    "ibfe": _ibfe,
    "bfi": _bfi,
    "movc": lambda c, a, b: a if c else b,
    "ftoi": _ftoi,
    "ftou": _ftou,
    "itof": lambda a: _pattern(float(_signed(a))),
    "utof": lambda a: _pattern(float(a)),
    "f32tof16": _f32tof16,
    "f16tof32": _f16tof32,
}


def fold(op: str, values: tuple[Value, ...]) -> Imm | None:
    """The immediate that ``op`` gives for immediates; None when a source is none or the operation is not known."""
    bits: list[int] = []
    for value in values:
        if type(value) is not Imm:
            return None
        bits.append(value.bits)
    function = _FOLD.get(op)
    return None if function is None else imm(function(*bits))


def is_truth(value: Value) -> bool:
    """Whether a value is known to be 0 or 0xFFFFFFFF."""
    if value is TRUE or value is FALSE:
        return True
    if type(value) is not Lane:
        return False
    instr = value.instr
    op = instr.op
    if op in COMPARES:
        return True
    if op in ("and", "or", "xor"):
        return is_truth(instr.srcs[0][value.index]) and is_truth(instr.srcs[1][value.index])
    if op == "not":
        return is_truth(instr.srcs[0][value.index])
    return False


def _inner(value: Value, op: str) -> Value | None:
    """The source of ``value`` when it is made by the one-source operation ``op``."""
    if type(value) is Lane and value.instr.op == op:
        return value.instr.srcs[0][value.index]
    return None


_NEGATED = {"ieq": "ine", "ine": "ieq", "ilt": "ige", "ige": "ilt", "ult": "uge", "uge": "ult", "eq": "ne", "ne": "eq"}


def simplify(op: str, v: tuple[Value, ...], precise: bool) -> Value | tuple[str, tuple[Value, ...]] | None:
    """A value that ``op`` over ``v`` surely equals, or a cheaper (operation, sources), or None."""
    if op == "mov":
        return v[0]
    if op == "movc":
        c, a, b = v
        if type(c) is Imm:
            return a if c.bits else b
        if a is b:
            return a
        if a is TRUE and b is FALSE and is_truth(c):
            return c
        if a is FALSE and b is TRUE and is_truth(c):
            return "not", (c,)
        if is_truth(c) and is_truth(a) and is_truth(b):
            if a is TRUE:
                return "or", (c, b)
            if b is FALSE:
                return "and", (c, a)
        inner = _inner(c, "not")
        if inner is not None and is_truth(inner):
            return "movc", (inner, b, a)
        return None
    if len(v) == 1:
        a = v[0]
        if op == "fneg" or op == "not" or op == "ineg":
            inner = _inner(a, op)
            if inner is not None:
                return inner
            if op == "not" and type(a) is Lane and a.instr.op in _NEGATED:
                index = a.index
                return _NEGATED[a.instr.op], tuple(src[index] for src in a.instr.srcs)
        elif op == "fabs":
            inner = _inner(a, "fneg")
            if inner is not None:
                return "fabs", (inner,)
            if _inner(a, "fabs") is not None:
                return a
        elif op == "sat" and _inner(a, "sat") is not None:
            return a
        return None
    a, b = v[0], v[1]
    if type(a) is Imm and op in _COMMUTATIVE:
        a, b = b, a
    if type(b) is not Imm:
        if a is b:
            if op in ("and", "or", "umax", "umin", "imax", "imin", "max", "min"):
                return a if op[0] != "m" else None
            if op in ("xor", "ine", "ilt", "ult"):
                return FALSE
            if op in ("ieq", "ige", "uge"):
                return TRUE
        return None
    bits = b.bits
    if op == "add":
        return a if bits & 0x7FFFFFFF == 0 else None
    if op == "mul":
        if bits == ONE_BITS:
            return a
        if bits == 0xBF800000:
            return "fneg", (a,)
        if bits & 0x7FFFFFFF == 0 and not precise:
            return ZERO
        return None
    if op == "div":
        if bits == ONE_BITS:
            return a
        divisor = as_float(bits)
        exact = bits & 0x007FFFFF == 0 and 2.0**-120 < abs(divisor) < 2.0**120
        if exact or (not precise and divisor != 0 and 1e-30 < abs(divisor) < 1e30):
            return "mul", (a, imm_float(1.0 / divisor))
        return None
    if op in ("iadd", "or", "xor", "ishl", "ishr", "ushr") and bits == 0:
        return a
    if op == "and":
        if bits == 0:
            return ZERO
        if bits == 0xFFFFFFFF:
            return a
    elif op == "or" and bits == 0xFFFFFFFF:
        return b
    elif op == "xor" and bits == 0xFFFFFFFF:
        return "not", (a,)
    elif op == "imul":
        if bits == 0:
            return ZERO
        if bits == 1:
            return a
        if bits & (bits - 1) == 0:
            return "ishl", (a, imm(bits.bit_length() - 1))
        if bits == 0xFFFFFFFF:
            return "ineg", (a,)
    elif op == "udiv" and bits and bits & (bits - 1) == 0:
        return "ushr", (a, imm(bits.bit_length() - 1))
    elif op == "urem" and bits and bits & (bits - 1) == 0:
        return "and", (a, imm(bits - 1))
    elif op == "ine" and bits == 0 and is_truth(a):
        return a
    elif op == "ieq" and bits == 0 and is_truth(a):
        return "not", (a,)
    elif op in ("ieq", "ine") and type(a) is Lane and a.instr.op == "and" and bits in (0, 1):
        left, right = (src[a.index] for src in a.instr.srcs)  # int(truth) compared with 0 or 1
        if type(right) is Imm and right.bits == 1 and is_truth(left):
            return left if (op == "ieq") == (bits == 1) else ("not", (left,))
    return None


_COMMUTATIVE = word_set("add mul min max iadd imul and or xor ieq ine eq ne imin imax umin umax")
COMMUTATIVE = _COMMUTATIVE


_DOUBLE_FOLD: dict[str, Callable[[float, float], float]] = {
    "dadd": lambda a, b: a + b,
    "dmul": lambda a, b: a * b,
    "dmin": _min,
    "dmax": _max,
    "ddiv": _div,
    "drcp": lambda a, _: _div(1.0, a),
}


def double_value(lo: int, hi: int) -> float:
    return float(_D.unpack(struct.pack("<II", lo, hi))[0])


def double_bits(value: float) -> tuple[int, int]:
    lo, hi = struct.unpack("<II", _D.pack(value))
    return int(lo), int(hi)


def double_fold(op: str, values: tuple[Value, ...]) -> tuple[Imm, ...] | None:
    """As :func:`fold` for one double operation; doubles come and go as (low, high)."""
    bits: list[int] = []
    for value in values:
        if type(value) is not Imm:
            return None
        bits.append(value.bits)
    if op == "ftod":
        return tuple(imm(b) for b in double_bits(as_float(bits[0])))
    if op == "itod" or op == "utod":
        return tuple(imm(b) for b in double_bits(float(_signed(bits[0]) if op == "itod" else bits[0])))
    numbers = [double_value(bits[i], bits[i + 1]) for i in range(0, len(bits), 2)]
    a = numbers[0]
    if op == "dtof":
        return (imm(float_pattern(a)),)
    if op == "dtoi" or op == "dtou":
        low, high = (-2147483648.0, 2147483647.0) if op == "dtoi" else (0.0, 4294967295.0)
        return (imm(0 if a != a else int(max(low, min(high, a)))),)
    b = numbers[1] if len(numbers) > 1 else 0.0
    if op in ("deq", "dne", "dlt", "dge"):
        result = {"deq": a == b, "dne": a != b, "dlt": a < b, "dge": a >= b}[op]
        return (TRUE if result else FALSE,)
    function = _DOUBLE_FOLD.get(op)
    return None if function is None else tuple(imm(x) for x in double_bits(function(a, b)))
