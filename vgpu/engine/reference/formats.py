"""Surface formats: from bytes to numbers and back, for every uncompressed format. Block compression is in :mod:`.blocks`.

Elements are arrays of bytes ``(n, bytes_per_block)``; colours are ``(n, 4)`` uint32: the bits of float32 numbers, or integers for
integer formats. Missing channels read 0, 0, 0, 1. Conversions follow the data conversion rules of Direct3D 11: to integers round
half up after clamping, to small floats towards zero, NaN to 0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from wddm.hw.formats import Channel, FormatInfo, NumberType

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]
ONE = int(np.float32(1).view(np.uint32))


def bits(values: npt.NDArray[Any]) -> Words:
    """The bits of numbers as float32."""
    return np.ascontiguousarray(values, np.float32).view(np.uint32)


def srgb_to_linear(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The sRGB curve, towards linear."""
    c = values.astype(np.float64)
    return np.where(c <= 0.04045, c / 12.92, ((np.maximum(c, 0) + 0.055) / 1.055) ** 2.4)


def linear_to_srgb(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The sRGB curve, from linear; input within 0..1."""
    c = values.astype(np.float64)
    return np.where(c <= 0.0031308, 12.92 * c, 1.055 * np.maximum(c, 0) ** (1 / 2.4) - 0.055)


def small_float_to_float(value: npt.NDArray[Any], mantissa: int) -> Floats:
    """Unsigned small floats with 5 exponent bits (11- and 10-bit formats)."""
    half = value.astype(np.uint16) << np.uint16(10 - mantissa)
    return half.view(np.float16).astype(np.float32)


def float_to_small_float(values: Words, mantissa: int, signed: bool) -> Words:
    """Float32 bits to a 5-bit-exponent float, rounded towards zero; beyond the range to the largest finite one."""
    sign = values >> np.uint32(31)
    magnitude = values & np.uint32(0x7FFF_FFFF)
    exponent = (magnitude >> np.uint32(23)).astype(np.int64) - 112
    fraction = (magnitude & np.uint32(0x7F_FFFF)).astype(np.int64)
    normal = exponent << mantissa | fraction >> (23 - mantissa)
    shift = np.clip(1 - exponent, 0, 31)
    denormal = (fraction | 0x80_0000) >> (23 - mantissa) >> shift
    result = np.where(exponent > 0, normal, denormal)
    result = np.where(exponent >= 31, (31 << mantissa) - 1, result)
    result = np.where(magnitude == 0x7F80_0000, 31 << mantissa, result)
    nan = magnitude > 0x7F80_0000
    if signed:
        result |= sign.astype(np.int64) << (5 + mantissa)
    else:
        result = np.where(sign != 0, 0, result)
    return np.where(nan, (31 << mantissa) | 1 << (mantissa - 1), result).astype(np.uint32)


def float_to_unorm(values: Floats, width: int) -> Words:
    """Clamp, scale, round half up."""
    c = np.where(values > 0, np.minimum(values, 1), 0).astype(np.float64)
    result: Words = np.floor(c * (2**width - 1) + 0.5).astype(np.uint32)
    return result


def float_to_snorm(values: Floats, width: int) -> Words:
    """Clamp, scale, round half away from zero; two's complement in ``width`` bits."""
    c = np.where(np.isnan(values), 0, np.clip(values, -1, 1)).astype(np.float64) * (2 ** (width - 1) - 1)
    whole = np.trunc(c + np.copysign(0.5, c)).astype(np.int64)
    result: Words = (whole & (2**width - 1)).astype(np.uint32)
    return result


def _field(words: Words, channel: Channel) -> Words:
    """The bits of a channel; no channel straddles a dword."""
    column = words[:, channel.shift // 32]
    if channel.bits == 32:
        return column
    return column >> np.uint32(channel.shift % 32) & np.uint32((1 << channel.bits) - 1)


def to_words(raw: Bytes) -> Words:
    """Elements as little-endian dwords, zero padded."""
    n, size = raw.shape
    if size % 4:
        padded = np.zeros((n, (size + 3) // 4 * 4), np.uint8)
        padded[:, :size] = raw
        return padded.view("<u4")
    return np.ascontiguousarray(raw).view("<u4")


def sign_extend(value: Words, width: int) -> Words:
    """Two's complement of ``width`` bits to 32."""
    shift = np.uint32(32 - width)
    return ((value << shift).view(np.int32) >> shift.astype(np.int32)).view(np.uint32)


def decode_channel(value: Words, channel: Channel, srgb: bool) -> Words:
    """The number in a channel: float32 bits, or an integer."""
    kind, width = channel.type, channel.bits
    if kind == NumberType.UINT:
        return value
    if kind == NumberType.SINT:
        return sign_extend(value, width)
    if kind == NumberType.UNORM:
        if width == 8:
            table: Words = _unorm8(srgb)[value]
            return table
        return bits(value.astype(np.float64) / (2**width - 1))
    if kind == NumberType.SNORM:
        signed = sign_extend(value, width).view(np.int32)
        return bits(np.maximum(signed.astype(np.float64) / (2 ** (width - 1) - 1), -1))
    if kind == NumberType.FLOAT:
        if width == 32:
            return value
        if width == 16:
            return value.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
        return small_float_to_float(value, width - 5).view(np.uint32)
    if kind == NumberType.XR_BIAS:
        return bits((value.astype(np.float64) - 384) / 510)
    return value  # typeless: the bits


@lru_cache(maxsize=2)
def _unorm8(srgb: bool) -> Words:
    values = np.arange(256) / 255.0
    return bits(srgb_to_linear(values) if srgb else values)


def unpack(info: FormatInfo, raw: Bytes) -> Words:
    """Colours ``(n, 4)`` of elements ``(n, bytes)``. Not for block and pair formats."""
    words = to_words(raw)
    out = np.zeros((len(raw), 4), np.uint32)
    out[:, 3] = 1 if info.is_integer else ONE
    if info.type == NumberType.SHAREDEXP:
        scale = np.exp2((words[:, 0] >> np.uint32(27)).astype(np.float64) - 24)
        for channel in info.channels:
            out[:, channel.component] = bits(_field(words, channel) * scale)
        return out
    for channel in info.channels:
        curve = info.srgb and channel.component < 3
        out[:, channel.component] = decode_channel(_field(words, channel), channel, curve)
    return out


def unpack_pair(info: FormatInfo, raw: Bytes, odd: npt.NDArray[Any]) -> Words:
    """Colours of R8G8_B8G8 / G8R8_G8B8 elements; ``odd`` picks the right one of the two texels."""
    first_green = 1 if info.format.name.startswith("R8") else 0
    green = np.where(odd.astype(bool), raw[:, first_green + 2], raw[:, first_green])
    red, blue = raw[:, 1 - first_green], raw[:, 3 - first_green]
    out = np.full((len(raw), 4), ONE, np.uint32)
    for i, value in enumerate((red, green, blue)):
        out[:, i] = _unorm8(False)[value]
    return out


def encode_channel(value: Words, channel: Channel, srgb: bool, clamp: bool) -> Words:
    """The bits of a number in a channel. Integers are clamped to the channel, or truncated without ``clamp``."""
    kind, width = channel.type, channel.bits
    mask = np.uint32((1 << width) - 1)
    if kind == NumberType.UINT:
        return np.minimum(value, mask) if clamp else value & mask
    if kind == NumberType.SINT:
        if clamp and width < 32:
            limit = 1 << (width - 1)
            value = np.clip(value.view(np.int32), -limit, limit - 1).view(np.uint32)
        return value & mask
    number = np.ascontiguousarray(value).view(np.float32)
    if kind == NumberType.UNORM:
        if srgb:
            c = np.where(number > 0, np.minimum(number, 1), 0)
            result: Words = np.floor(linear_to_srgb(c) * (2**width - 1) + 0.5).astype(np.uint32)
            return result
        return float_to_unorm(number, width)
    if kind == NumberType.SNORM:
        return float_to_snorm(number, width)
    if kind == NumberType.FLOAT:
        if width == 32:
            return value
        return float_to_small_float(value, 10 if width == 16 else width - 5, width == 16)
    if kind == NumberType.XR_BIAS:
        c = np.where(np.isnan(number), 0, number).astype(np.float64) * 510 + 384
        return np.floor(np.clip(c, 0, 1023) + 0.5).clip(0, 1023).astype(np.uint32)
    return value & mask


def pack(info: FormatInfo, colors: Words, *, clamp: bool = True) -> Bytes:
    """Elements ``(n, bytes)`` of colours ``(n, 4)``. Unused bits are 0. Not for block and pair formats."""
    words = np.zeros((len(colors), (info.bytes_per_block + 3) // 4), np.uint32)
    if info.type == NumberType.SHAREDEXP:
        words[:, 0] = _shared_exponent(np.ascontiguousarray(colors[:, :3]).view(np.float32))
    else:
        for channel in info.channels:
            curve = info.srgb and channel.component < 3
            value = encode_channel(np.ascontiguousarray(colors[:, channel.component]), channel, curve, clamp)
            words[:, channel.shift // 32] |= value << np.uint32(channel.shift % 32)
    out: Bytes = words.view(np.uint8)[:, : info.bytes_per_block]
    return out


def _shared_exponent(rgb: Floats) -> Words:
    c = np.where(rgb > 0, np.minimum(rgb, 65408), 0).astype(np.float64)
    largest = c.max(axis=1)
    exponent = np.maximum(-16, np.floor(np.log2(np.maximum(largest, 2.0**-40)))) + 16
    overflow = np.floor(largest / np.exp2(exponent - 24) + 0.5) == 512
    exponent += overflow
    fields = np.floor(c / np.exp2(exponent - 24)[:, None] + 0.5).astype(np.uint32)
    color: Words = fields[:, 0] | fields[:, 1] << np.uint32(9) | fields[:, 2] << np.uint32(18)
    result: Words = color | exponent.astype(np.uint32) << np.uint32(27)
    return result


# --- depth and stencil ------------------------------------------------------------------------------------------------


def read_plane(raw: Bytes, channel: Channel) -> Words:
    """Raw bits of the depth or stencil plane."""
    return _field(to_words(raw), channel)


def write_plane(raw: Bytes, channel: Channel, value: Words) -> Bytes:
    """``raw`` with the plane's bits replaced."""
    words = to_words(raw).copy()
    mask = np.uint32(((1 << channel.bits) - 1) << channel.shift % 32)
    column = channel.shift // 32
    words[:, column] = words[:, column] & ~mask | value << np.uint32(channel.shift % 32)
    out: Bytes = words.view(np.uint8)[:, : raw.shape[1]]
    return out


def depth_to_bits(depth: Floats, channel: Channel) -> Words:
    """Depth values as they are stored; compared as they are stored."""
    if channel.type == NumberType.FLOAT:
        return bits(np.where(np.isnan(depth), 0, np.clip(depth, 0, 1)))
    return float_to_unorm(depth, channel.bits)


def bits_to_depth(value: Words, channel: Channel) -> Floats:
    """Stored depth as float32."""
    if channel.type == NumberType.FLOAT:
        return np.ascontiguousarray(value).view(np.float32)
    result: Floats = (value.astype(np.float64) / (2**channel.bits - 1)).astype(np.float32)
    return result
