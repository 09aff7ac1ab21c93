"""Texels in registers: unpacking and packing of every uncompressed format, lane by lane.

An element is one to four dwords (smaller elements: the low bits of one). Integers stay integers; everything else becomes
float32. Rules are Direct3D's data conversion rules: UNORM is c / (2**n - 1) exactly rounded; stores saturate and round half up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from wddm.hw.formats import FORMATS, Channel, Format, FormatInfo, NumberType

from . import maths
from .builder import F32, F64, I1, I32, PTR, Function, Value

ONE_BITS: Final = 0x3F800000


@lru_cache(maxsize=1)
def srgb_table() -> tuple[float, ...]:
    """The linear float32 of each 8-bit sRGB code."""
    c = np.arange(256) / 255.0
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return tuple(linear.astype(np.float32).tolist())


def divide_exactly(f: Function, x: Value, divisor: float) -> Value:
    """x / divisor correctly rounded, by a product and a correction (a division costs four times that)."""
    r = float(np.float32(1.0 / divisor))
    q = x * r
    return f.fma(f.fma(-q, divisor, x), r, q)


def _sign_extend(x: Value, bits: int) -> Value:
    return x if bits == 32 else (x << (32 - bits)) >> (32 - bits)


def _small_float(f: Function, x: Value, mantissa: int) -> Value:
    """Unsigned float with 5 exponent bits: a half whose mantissa is shorter and that has no sign."""
    return maths.from_half(f, x << (10 - mantissa))


def unpack_channel(f: Function, dwords: Sequence[Value], channel: Channel, *, srgb: bool = False) -> Value:
    """One channel as float32 (or int32 for integer formats)."""
    word = dwords[channel.shift // 32]
    shift = channel.shift % 32
    bits = channel.bits
    raw = word.shr(shift) if shift else word
    if bits + shift < 32 and bits < 32:
        raw = raw & ((1 << bits) - 1)
    kind = channel.type
    if kind in (NumberType.UINT, NumberType.TYPELESS):
        return raw
    if kind is NumberType.SINT:
        return _sign_extend(raw, bits)
    if kind is NumberType.FLOAT:
        if bits == 32:
            return raw.bits(F32)
        if bits == 16:
            return maths.from_half(f, raw)
        return _small_float(f, raw, bits - 5)
    if kind is NumberType.UNORM:
        if srgb and channel.component < 3:
            return _table_lookup(f, raw)
        return raw.to_float() if bits == 1 else divide_exactly(f, raw.to_float(), float((1 << bits) - 1))
    if kind is NumberType.SNORM:
        x = divide_exactly(f, _sign_extend(raw, bits).to_float(), float((1 << (bits - 1)) - 1))
        return f.max(x, -1.0)
    if kind is NumberType.XR_BIAS:
        return divide_exactly(f, (raw - 0x180).to_float(), 510.0)
    raise ValueError(f"channel type {kind}")


def _table_lookup(f: Function, code: Value) -> Value:
    name = "srgb_table"
    if name not in f.module.tables:
        f.module.tables[name] = f.module.table(name, F32, srgb_table())
    pointer = Value(f, PTR, f.module.tables[name])
    if not code.type.lanes:
        return f.load(F32, f.index(pointer, F32, code))
    every = f.value(1, I1.vector(code.type.lanes))
    return f.gather(F32.vector(code.type.lanes), f.index(pointer, F32, code), every)


def unpack(f: Function, info: FormatInfo, dwords: Sequence[Value]) -> list[Value]:
    """Red, green, blue, alpha; missing channels are 0, 0, 0, 1."""
    if info.format is Format.R9G9B9E5_SHAREDEXP:
        exponent = dwords[0].shr(27)
        scale = ((exponent + (127 - 15 - 9)) << 23).bits(F32)
        return [*((dwords[0].shr(9 * c) & 511).to_float() * scale for c in range(3)), maths.broadcast_like(f, 1.0, scale)]
    like = dwords[0]
    integer = info.is_integer or info.type is NumberType.TYPELESS
    one = maths.broadcast_like(f, 1, like) if integer else maths.broadcast_like(f, ONE_BITS, like).bits(F32)
    zero = maths.broadcast_like(f, 0, like) if integer else maths.broadcast_like(f, 0, like).bits(F32)
    result = [zero, zero, zero, one]
    for channel in info.channels:
        result[channel.component] = unpack_channel(f, dwords, channel, srgb=info.srgb)
    return result


def pack_channel(f: Function, x: Value, channel: Channel, *, srgb: bool = False) -> Value:
    """The bits of one channel, in the low bits. Integers are clamped to the channel."""
    bits, kind = channel.bits, channel.type
    if kind is NumberType.TYPELESS:
        return x.bits(I32)
    if kind is NumberType.UINT:
        return x.bits(I32) if bits == 32 else f.umin(x.bits(I32), (1 << bits) - 1)
    if kind is NumberType.SINT:
        if bits == 32:
            return x.bits(I32)
        limit = 1 << (bits - 1)
        return f.max(f.min(x.bits(I32), limit - 1), -limit) & ((1 << bits) - 1)
    if kind is NumberType.FLOAT:
        if bits == 32:
            return x.bits(I32)
        return small_float(f, x, 10 if bits == 16 else bits - 5, signed=bits == 16)
    if kind is NumberType.UNORM:
        if srgb and channel.component < 3:
            x = maths.linear_to_srgb(f, f.saturate(x))
        return unorm(f, x, bits)
    if kind is NumberType.SNORM:
        # As in unorm: the adder rounds, and rounds its one tie (at one half) away from zero.
        c = f.max(f.min(x.ne(x).select(0.0, x), 1.0), -1.0)
        return f.fma(c, float((1 << (bits - 1)) - 1), 12582912.0).bits(I32) & ((1 << bits) - 1)
    if kind is NumberType.XR_BIAS:
        c = f.min(f.max(x.ne(x).select(0.0, x) * 510.0 + 384.0, 0.0), 1023.0)
        return round_half_up(f, c)
    raise ValueError(f"channel type {kind}")


def round_half_up(f: Function, y: Value) -> Value:
    """The integer nearest to a non-negative float below 2**22, halves upwards, exactly."""
    whole = y.to_int()
    return whole + (y - whole.to_float() >= 0.5).zext(I32)


def unorm(f: Function, x: Value, bits: int) -> Value:
    """Saturate, scale, round half up: the exact result.

    x * (2**n - 1) + 2**23 in one rounding leaves the integer in the mantissa. The adder rounds ties to even; the only tie that
    a float can hit is x = 1/2, where half up is even as well. 24 and more bits go through double precision.
    """
    y = f.saturate(x)
    if bits == 1:
        return (y >= 0.5).zext(I32)
    if bits <= 16:
        return f.fma(y, float((1 << bits) - 1), 8388608.0).bits(I32) & ((1 << bits) - 1)
    return (y.resize_float(F64) * float((1 << bits) - 1) + 0.5).to_int()


def small_float(f: Function, x: Value, mantissa: int, *, signed: bool) -> Value:
    """A float with 5 exponent bits, rounded towards zero; finite numbers beyond the range become the largest one."""
    bits = x.bits(I32)
    magnitude = bits & 0x7FFF_FFFF
    normal = magnitude.shr(23 - mantissa) - (112 << mantissa)
    small = (magnitude.bits(F32) * 2.0 ** (14 + mantissa)).to_int()
    r = (magnitude < 0x3880_0000).select(small, f.min(normal, (31 << mantissa) - 1))
    r = magnitude.eq(0x7F80_0000).select(31 << mantissa, r)
    nan = magnitude > 0x7F80_0000
    quiet = (31 << mantissa) | (1 << (mantissa - 1))
    if signed:
        sign = bits.shr(31) << (5 + mantissa)
        return nan.select(quiet, r | sign)
    return nan.select(quiet, (bits < 0).select(0, r))


def pack(f: Function, info: FormatInfo, components: Sequence[Value]) -> list[Value]:
    """The dwords of an element (8- and 16-bit elements: the low bits of one dword)."""
    if info.format is Format.R9G9B9E5_SHAREDEXP:
        return [_pack_shared_exponent(f, components)]
    words: list[Value | None] = [None] * dword_count(info)
    for channel in info.channels:
        raw = pack_channel(f, components[channel.component], channel, srgb=info.srgb)
        at = channel.shift // 32
        placed = raw << (channel.shift % 32) if channel.shift % 32 else raw
        now = words[at]
        words[at] = placed if now is None else now | placed
    zero = maths.broadcast_like(f, 0, components[0].bits(I32))
    return [zero if w is None else w for w in words]


def _pack_shared_exponent(f: Function, components: Sequence[Value]) -> Value:
    c = [f.min(f.max(x, 0.0), 65408.0) for x in components[:3]]
    largest = f.max(f.max(c[0], c[1]), c[2])
    exponent = f.max(largest.bits(I32).shr(23) - 127, -16) + 16

    def scaled(x: Value, e: Value) -> Value:
        return round_half_up(f, x * ((127 + 24 - e) << 23).bits(F32))

    exponent = exponent + scaled(largest, exponent).eq(512).zext(I32)
    r = [scaled(x, exponent) for x in c]
    return r[0] | (r[1] << 9) | (r[2] << 18) | (exponent << 27)


def dword_count(info: FormatInfo) -> int:
    """Dwords that hold an element."""
    return max(1, info.bytes_per_block // 4)


def supported(format: int) -> bool:
    """Whether this module unpacks ``format``."""
    if format not in FORMATS:
        return False
    info = FORMATS[Format(format)]
    return bool(info.channels) and not info.is_block
