"""Block-compressed texels, lane by lane: each lane has its block in registers and picks one texel. And texel pairs."""

from __future__ import annotations

from collections.abc import Sequence

from wddm.hw.formats import FORMATS, Format, FormatInfo

from . import bptc, formats
from .builder import F32, Function, Value


def decode_pair(f: Function, info: FormatInfo, word: Value, odd: Value) -> list[Value]:
    """R8G8_B8G8 and G8R8_G8B8: two texels share red and blue."""
    green_first = info.format.name.startswith("G8")
    even, other = (0, 16) if green_first else (8, 24)
    red, blue = (8, 24) if green_first else (0, 16)
    green = odd.eq(0).select(word.shr(even), word.shr(other))
    values = [formats.divide_exactly(f, (x & 255).to_float(), 255.0) for x in (word.shr(red), green, word.shr(blue))]
    return [*values, f.value(1.0, values[0].type)]


def decode(f: Function, info: FormatInfo, words: Sequence[Value], texel: Value) -> list[Value]:
    """Colour of texel ``texel`` (row * 4 + column) of the block in ``words``."""
    name = info.format.name
    lanes = max(words[0].type.lanes, texel.type.lanes)
    texel = texel if texel.type.lanes or not lanes else f.splat(texel, lanes)
    if lanes:
        words = [w if w.type.lanes else f.splat(w, lanes) for w in words]
    one, zero = f.value(1.0, F32.vector(lanes)), f.value(0.0, F32.vector(lanes))
    if name.startswith("BC1"):
        color = _color(f, words[0], words[1], texel, punch_through=True)
    elif name.startswith("BC2"):
        color = _color(f, words[2], words[3], texel, punch_through=False)
        shift = (texel & 7) << 2
        alpha = (texel.ult(8)).select(words[0].shr(shift), words[1].shr(shift)) & 15
        color[3] = formats.divide_exactly(f, alpha.to_float(), 15.0)
    elif name.startswith("BC3"):
        color = _color(f, words[2], words[3], texel, punch_through=False)
        color[3] = _channel(f, words[0], words[1], texel, signed=False)
    elif name.startswith("BC4"):
        return [_channel(f, words[0], words[1], texel, signed="SNORM" in name), zero, zero, one]
    elif name.startswith("BC5"):
        signed = "SNORM" in name
        red = _channel(f, words[0], words[1], texel, signed=signed)
        return [red, _channel(f, words[2], words[3], texel, signed=signed), zero, one]
    elif name.startswith("BC7"):
        as_rgba = Format.R8G8B8A8_UNORM_SRGB if info.srgb else Format.R8G8B8A8_UNORM
        return formats.unpack(f, FORMATS[as_rgba], bptc.decode(f, info, list(words), texel))
    else:
        halves = bptc.decode(f, info, list(words), texel)
        return [*formats.unpack(f, FORMATS[Format.R16G16B16A16_FLOAT], halves)[:3], one]
    if info.srgb:
        from . import maths

        color = [*(maths.srgb_to_linear(f, c) for c in color[:3]), color[3]]
    return color


def _color(f: Function, ends: Value, indices: Value, texel: Value, *, punch_through: bool) -> list[Value]:
    """The colour half of BC1 to BC3."""
    index = indices.shr(texel << 1) & 3
    low, high = ends & 0xFFFF, ends.shr(16)
    weight = index.eq(0).select(
        0.0, index.eq(1).select(1.0, index.eq(2).select(1.0 / 3, f.value(2.0 / 3, F32.vector(index.type.lanes))))
    )
    three = None
    if punch_through:
        three = low.ule(high)
        third = index.eq(0).select(0.0, index.eq(1).select(1.0, index.eq(2).select(0.5, f.value(0.0, weight.type))))
        weight = three.select(third, weight)
    out = []
    for shift, bits in ((11, 5), (5, 6), (0, 5)):
        mask = (1 << bits) - 1
        a, b = ((e.shr(shift) & mask).to_float() for e in (low, high))
        a, b = formats.divide_exactly(f, a, float(mask)), formats.divide_exactly(f, b, float(mask))
        out.append(f.fma(b - a, weight, a))
    out.append(f.value(1.0, weight.type))
    if three is not None:
        black = three & index.eq(3)
        out = [black.select(0.0, x) for x in out]
    return out


def _channel(f: Function, low: Value, high: Value, texel: Value, *, signed: bool) -> Value:
    """One channel as in BC3's alpha, BC4 and BC5: two ends and 3-bit indices from bit 16."""
    at = texel * 3 + 16
    inside = at & 31
    one = low.shr(inside) | (high << 1) << (31 - inside)
    index = at.ult(32).select(one, high.shr(inside)) & 7
    ends = [low & 255, low.shr(8) & 255]
    if signed:
        ends = [(e << 24) >> 24 for e in ends]
    seven = ends[0] > ends[1]
    a, b = (formats.divide_exactly(f, (f.max(e, -127) if signed else e).to_float(), 127.0 if signed else 255.0) for e in ends)
    step = (index - 1).to_float() * seven.select(1.0 / 7, f.value(0.2, a.type))
    step = index.eq(0).select(0.0, index.eq(1).select(1.0, step))
    value = f.fma(b - a, step, a)
    value = (~seven & index.eq(6)).select(-1.0 if signed else 0.0, value)
    return (~seven & index.eq(7)).select(1.0, value)


__all__ = ["decode", "decode_pair"]
