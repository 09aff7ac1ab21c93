"""Block compression: the colour of single texels of BC1 to BC7 blocks, vectorised over texels.

``decode`` takes one block and one texel number (row * 4 + column) per lane. BC6H and BC7 are decoded bit-exactly as published.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from wddm.hw.formats import Format, FormatInfo

from .formats import ONE, Bytes, Words, bits, srgb_to_linear

Ints = npt.NDArray[np.int64]

_TWO: Final = """
0011001100110011 0001000100010001 0111011101110111 0001001100110111 0000000100010011 0011011101111111 0001001101111111
0000000100110111 0000000000010011 0011011111111111 0000000101111111 0000000000010111 0001011111111111 0000000011111111
0000111111111111 0000000000001111 0000100011101111 0111000100000000 0000000010001110 0111001100010000 0011000100000000
0000100011001110 0000000010001100 0111001100110001 0011000100010000 0000100010001100 0110011001100110 0011011001101100
0001011111101000 0000111111110000 0111000110001110 0011100110011100 0101010101010101 0000111100001111 0101101001011010
0011001111001100 0011110000111100 0101010110101010 0110100101101001 0101101010100101 0111001111001110 0001001111001000
0011001001001100 0011101111011100 0110100110010110 0011110011000011 0110011010011001 0000011001100000 0100111001000000
0010011100100000 0000001001110010 0000010011100100 0110110010010011 0011011011001001 0110001110011100 0011100111000110
0110110011001001 0110001100111001 0111111010000001 0001100011100111 0000111100110011 0011001111110000 0010001011101110
0100010001110111
"""
_THREE: Final = """
0011001102212222 0001001122112221 0000200122112211 0222002200110111 0000000011221122 0011001100220022 0022002211111111
0011001122112211 0000000011112222 0000111111112222 0000111122222222 0012001200120012 0112011201120112 0122012201220122
0011011211221222 0011200122002220 0001001101121122 0111001120012200 0000112211221122 0022002200221111 0111011102220222
0001000122212221 0000001101220122 0000110022102210 0122012200110000 0012001211222222 0110122112210110 0000011012211221
0022110211020022 0110011020022222 0011012201220011 0000200022112221 0000000211221222 0222002200120011 0011001200220222
0120012001200120 0000111122220000 0120120120120120 0120201212010120 0011220011220011 0011112222000011 0101010122222222
0000000021212121 0022112200221122 0022001100220011 0220122102201221 0101222222220101 0000212121212121 0101010101012222
0222011102220111 0002111200021112 0000211221122112 0222011101110222 0002111211120002 0110011001102222 0000000021122112
0110011022222222 0022001100110022 0022112211220022 0000000000002112 0002000100020001 0222122202221222 0101222222222222
0111201122012220
"""
_ANCHOR_TWO: Final = """
15 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15 2 8 2 2 8 8 15 2 8 2 2 8 8 2 2
15 15 6 8 2 8 15 15 2 8 2 2 2 15 15 6 6 2 6 8 15 15 2 2 15 15 15 15 15 2 2 15
"""
_ANCHOR_THREE_A: Final = """
3 3 15 15 8 3 15 15 8 8 6 6 6 5 3 3 3 3 8 15 3 3 6 10 5 8 8 6 8 5 15 15
8 15 3 5 6 10 8 15 15 3 15 5 15 15 15 15 3 15 5 5 5 8 5 10 5 10 8 13 15 12 3 3
"""
_ANCHOR_THREE_B: Final = """
15 8 8 3 15 15 3 8 15 15 15 15 15 15 15 8 15 8 15 3 15 8 15 8 3 15 6 10 15 15 10 8
15 3 15 10 10 8 9 10 6 15 8 15 3 6 6 8 15 3 15 15 15 15 15 15 15 15 15 15 3 15 15 8
"""


def _digits(text: str) -> Ints:
    return np.array([[int(c) for c in word] for word in text.split()], np.int64)


def _numbers(text: str) -> Ints:
    return np.array(text.split(), np.int64)


#: Subset of each texel, and texels whose index lacks its top bit, by number of subsets.
PARTITIONS: Final = {1: np.zeros((64, 16), np.int64), 2: _digits(_TWO), 3: _digits(_THREE)}
ANCHORS: Final = {
    1: np.zeros((64, 1), np.int64),
    2: np.stack([np.zeros(64, np.int64), _numbers(_ANCHOR_TWO)], 1),
    3: np.stack([np.zeros(64, np.int64), _numbers(_ANCHOR_THREE_A), _numbers(_ANCHOR_THREE_B)], 1),
}
_WEIGHTS: Final = {
    2: np.array([0, 21, 43, 64]),
    3: np.array([0, 9, 18, 27, 37, 46, 55, 64]),
    4: np.array([0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64]),
}


def decode(info: FormatInfo, blocks: Bytes, texel: npt.NDArray[Any]) -> Words:
    """Colours ``(n, 4)`` of texel ``texel[i]`` of ``blocks[i]``."""
    texel = texel.astype(np.int64)
    name = info.format.name
    out = np.full((len(blocks), 4), ONE, np.uint32)
    if not len(blocks):
        return out
    if name.startswith("BC6H"):
        out[:, :3] = _bc6h(blocks, texel, info.format == Format.BC6H_SF16)
        return out
    if name.startswith("BC4"):
        out[:, :3] = 0
        out[:, 0] = bits(_channel(blocks, texel, "SNORM" in name))
        return out
    if name.startswith("BC5"):
        out[:, 2] = 0
        out[:, 0] = bits(_channel(blocks[:, :8], texel, "SNORM" in name))
        out[:, 1] = bits(_channel(blocks[:, 8:], texel, "SNORM" in name))
        return out
    if name.startswith("BC7"):
        color = _bc7(blocks, texel) / 255.0
    elif name.startswith("BC1"):
        color = _bc1(blocks, texel, punch_through=True)
    else:
        color = _bc1(blocks[:, 8:], texel, punch_through=False)
        if name.startswith("BC2"):
            alpha = _u64(blocks[:, :8]) >> (4 * texel).astype(np.uint64) & np.uint64(15)
            color[:, 3] = alpha.astype(np.float64) / 15
        else:
            color[:, 3] = _channel(blocks[:, :8], texel, signed=False)
    if info.srgb:
        color[:, :3] = srgb_to_linear(color[:, :3])
    return bits(color)


def _u64(raw: Bytes) -> npt.NDArray[np.uint64]:
    return np.ascontiguousarray(raw[:, :8]).view("<u8")[:, 0]


def _bc1(blocks: Bytes, texel: Ints, *, punch_through: bool) -> npt.NDArray[np.float64]:
    ends = np.ascontiguousarray(blocks[:, :4]).view("<u2").astype(np.int64)
    rgb = [np.stack([(e >> 11) / 31, (e >> 5 & 63) / 63, (e & 31) / 31], 1) for e in (ends[:, 0], ends[:, 1])]
    word = np.ascontiguousarray(blocks[:, 4:8]).view("<u4")[:, 0].astype(np.int64)
    index = word >> 2 * texel & 3
    four = (ends[:, 0] > ends[:, 1]) if punch_through else np.ones(len(blocks), bool)
    weight = np.where(four, np.array([0, 3, 1, 2])[index] / 3, np.array([0, 1, 0.5, 0])[index])
    out = np.ones((len(blocks), 4))
    out[:, :3] = rgb[0] * (1 - weight)[:, None] + rgb[1] * weight[:, None]
    out[~four & (index == 3)] = 0
    return out


def _channel(blocks: Bytes, texel: Ints, signed: bool) -> npt.NDArray[np.float64]:
    """One channel as in BC3's alpha, BC4 and BC5."""
    word = _u64(blocks)
    ends = [blocks[:, i].view(np.int8).astype(np.int64) if signed else blocks[:, i].astype(np.int64) for i in (0, 1)]
    index = (word >> (16 + 3 * texel).astype(np.uint64) & np.uint64(7)).astype(np.int64)
    seven = ends[0] > ends[1]
    a, b = (np.maximum(e, -127) / 127 if signed else e / 255 for e in ends)
    step = np.where(index == 0, 0, np.where(index == 1, 1, 0.0))
    step = np.where((index > 1) & seven, (index - 1) / 7, step)
    step = np.where((index > 1) & ~seven, (index - 1) / 5, step)
    value = a * (1 - step) + b * step
    value = np.where(~seven & (index == 6), -1.0 if signed else 0.0, value)
    return np.where(~seven & (index == 7), 1.0, value)


class _Bits:
    """128-bit blocks from which fields are read at one place for all lanes or one for each."""

    def __init__(self, blocks: Bytes) -> None:
        halves = np.ascontiguousarray(blocks).view("<u8")
        self.low, self.high = halves[:, 0], halves[:, 1]

    def read(self, start: npt.NDArray[Any] | int, width: npt.NDArray[Any] | int) -> Ints:
        """``width`` bits (at most 32) from bit ``start``."""
        at = np.broadcast_to(np.asarray(start, np.uint64), self.low.shape)
        upper = at >= 64
        near = at & np.uint64(63)
        spill = np.where(near > 0, self.high << (np.uint64(64) - np.maximum(near, np.uint64(1))), np.uint64(0))
        value = np.where(upper, self.high >> near, self.low >> near | spill)
        mask = (np.uint64(1) << np.asarray(width, np.uint64)) - np.uint64(1)
        result: Ints = (value & mask).astype(np.int64)
        return result


def _index(field: _Bits, start: int, width: int, texel: Ints, anchors: Ints) -> Ints:
    """A texel's index: ``width`` bits each, one less for anchors."""
    before = (anchors < texel[:, None]).sum(axis=1)
    short = (anchors == texel[:, None]).any(axis=1)
    return field.read(start + width * texel - before, width - short.astype(np.int64))


# --- BC7 ----------------------------------------------------------------------------------------------------------------

#: subsets, partition bits, rotation bits, index selection bits, colour bits, alpha bits, endpoint p-bits, shared p-bits, index bits
_BC7_MODES: Final = (
    (3, 4, 0, 0, 4, 0, 1, 0, 3, 0),
    (2, 6, 0, 0, 6, 0, 0, 1, 3, 0),
    (3, 6, 0, 0, 5, 0, 0, 0, 2, 0),
    (2, 6, 0, 0, 7, 0, 1, 0, 2, 0),
    (1, 0, 2, 1, 5, 6, 0, 0, 2, 3),
    (1, 0, 2, 0, 7, 8, 0, 0, 2, 2),
    (1, 0, 0, 0, 7, 7, 1, 0, 4, 0),
    (2, 6, 0, 0, 5, 5, 1, 0, 2, 0),
)


def _bc7(blocks: Bytes, texel: Ints) -> npt.NDArray[np.float64]:
    out = np.zeros((len(blocks), 4), np.int64)
    first = blocks[:, 0].astype(np.int64)
    for mode in range(8):
        lanes = np.flatnonzero(first & ((2 << mode) - 1) == 1 << mode)
        if len(lanes):
            out[lanes] = _bc7_mode(mode, blocks[lanes], texel[lanes])
    return out.astype(np.float64)


def _bc7_mode(mode: int, blocks: Bytes, texel: Ints) -> Ints:
    subsets, partition_bits, rotation_bits, selection_bits, cb, ab, each_p, shared_p, ib, ib2 = _BC7_MODES[mode]
    field, at = _Bits(blocks), mode + 1
    partition = field.read(at, partition_bits)
    at += partition_bits
    rotation = field.read(at, rotation_bits)
    at += rotation_bits
    selection = field.read(at, selection_bits)
    at += selection_bits
    subset = PARTITIONS[subsets][partition, texel]
    ends = np.zeros((2, 4, len(blocks)), np.int64)
    for channel in range(4 if ab else 3):
        width = ab if channel == 3 else cb
        for e in (0, 1):
            ends[e, channel] = field.read(at + (2 * subset + e) * width, width)
        at += 2 * subsets * width
    precision = np.array([cb, cb, cb, ab])[:, None]
    if each_p or shared_p:
        for e in (0, 1):
            p = field.read(at + (2 * subset + e if each_p else subset), 1)
            ends[e] = ends[e] << 1 | p
        at += 2 * subsets if each_p else subsets
        precision = precision + 1
    ends = ends << 8 - precision
    ends |= ends >> precision
    if not ab:
        ends[:, 3] = 255
    index = _index(field, at, ib, texel, ANCHORS[subsets][partition])
    color_weight = alpha_weight = _WEIGHTS[ib][index]
    if ib2:
        second = _WEIGHTS[ib2][_index(field, at + 16 * ib - subsets, ib2, texel, ANCHORS[1][partition])]
        color_weight, alpha_weight = np.where(selection, second, color_weight), np.where(selection, color_weight, second)
    weight = np.stack([color_weight, color_weight, color_weight, alpha_weight])
    color = ((64 - weight) * ends[0] + weight * ends[1] + 32) >> 6
    for channel in range(3):
        swap = rotation == channel + 1
        color[channel], color[3] = np.where(swap, color[3], color[channel]), np.where(swap, color[channel], color[3])
    result: Ints = color.T
    return result


# --- BC6H ---------------------------------------------------------------------------------------------------------------

#: Mode bits; endpoint bits; delta bits of r, g, b; where the endpoint fields lie (r g b of w x y z, d = partition), in block order.
_BC6H_TEXT: Final = (
    (0x00, 10, (5, 5, 5), "gy4 by4 bz4 rw0-9 gw0-9 bw0-9 rx0-4 gz4 gy0-3 gx0-4 bz0 gz0-3 bx0-4 bz1 by0-3 ry0-4 bz2 rz0-4 bz3 d0-4"),
    (0x01, 7, (6, 6, 6), "gy5 gz4-5 rw0-6 bz0-1 by4 gw0-6 by5 bz2 gy4 bw0-6 bz3 bz5 bz4 rx0-5 gy0-3 gx0-5 gz0-3 bx0-5 by0-3 ry0-5"
     " rz0-5 d0-4"),
    (0x02, 11, (5, 4, 4), "rw0-9 gw0-9 bw0-9 rx0-4 rw10 gy0-3 gx0-3 gw10 bz0 gz0-3 bx0-3 bw10 bz1 by0-3 ry0-4 bz2 rz0-4 bz3 d0-4"),
    (0x06, 11, (4, 5, 4), "rw0-9 gw0-9 bw0-9 rx0-3 rw10 gz4 gy0-3 gx0-4 gw10 gz0-3 bx0-3 bw10 bz1 by0-3 ry0-3 bz0 bz2 rz0-3 gy4 bz3"
     " d0-4"),
    (0x0A, 11, (4, 4, 5), "rw0-9 gw0-9 bw0-9 rx0-3 rw10 by4 gy0-3 gx0-3 gw10 bz0 gz0-3 bx0-4 bw10 by0-3 ry0-3 bz1 bz2 rz0-3 bz4 bz3"
     " d0-4"),
    (0x0E, 9, (5, 5, 5), "rw0-8 by4 gw0-8 gy4 bw0-8 bz4 rx0-4 gz4 gy0-3 gx0-4 bz0 gz0-3 bx0-4 bz1 by0-3 ry0-4 bz2 rz0-4 bz3 d0-4"),
    (0x12, 8, (6, 5, 5), "rw0-7 gz4 by4 gw0-7 bz2 gy4 bw0-7 bz3 bz4 rx0-5 gy0-3 gx0-4 bz0 gz0-3 bx0-4 bz1 by0-3 ry0-5 rz0-5 d0-4"),
    (0x16, 8, (5, 6, 5), "rw0-7 bz0 by4 gw0-7 gy5 gy4 bw0-7 gz5 bz4 rx0-4 gz4 gy0-3 gx0-5 gz0-3 bx0-4 bz1 by0-3 ry0-4 bz2 rz0-4 bz3"
     " d0-4"),
    (0x1A, 8, (5, 5, 6), "rw0-7 bz1 by4 gw0-7 by5 gy4 bw0-7 bz5 bz4 rx0-4 gz4 gy0-3 gx0-4 bz0 gz0-3 bx0-5 by0-3 ry0-4 bz2 rz0-4 bz3"
     " d0-4"),
    (0x1E, 6, (6, 6, 6), "rw0-5 gz4 bz0-1 by4 gw0-5 gy5 by5 bz2 gy4 bw0-5 gz5 bz3 bz5 bz4 rx0-5 gy0-3 gx0-5 gz0-3 bx0-5 by0-3 ry0-5"
     " rz0-5 d0-4"),
    (0x03, 10, (10, 10, 10), "rw0-9 gw0-9 bw0-9 rx0-9 gx0-9 bx0-9"),
    (0x07, 11, (9, 9, 9), "rw0-9 gw0-9 bw0-9 rx0-8 rw10 gx0-8 gw10 bx0-8 bw10"),
    (0x0B, 12, (8, 8, 8), "rw0-9 gw0-9 bw0-9 rx0-7 rw11-10 gx0-7 gw11-10 bx0-7 bw11-10"),
    (0x0F, 16, (4, 4, 4), "rw0-9 gw0-9 bw0-9 rx0-3 rw15-10 gx0-3 gw15-10 bx0-3 bw15-10"),
)  # fmt: skip
_UNTRANSFORMED: Final = (0x1E, 0x03)


def bc6h_layout(mode_bits: int, text: str) -> list[tuple[str, int, int]]:
    """``(field, bit of the field, bit of the block)`` of every endpoint and partition bit of a mode."""
    at = 2 if mode_bits < 2 else 5
    out = []
    for field, first, last in re.findall(r"([rgb][wxyz]|d)(\d+)(?:-(\d+))?", text):
        a, b = int(first), int(last or first)
        for bit in range(a, b + 1) if a <= b else range(a, b - 1, -1):
            out.append((field, bit, at))
            at += 1
    return out


#: Modes of BC6H: number, endpoint bits, delta bits, and where each bit lies (:func:`bc6h_layout`).
BC6H_MODES: Final = tuple((m, w, d, bc6h_layout(m, text)) for m, w, d, text in _BC6H_TEXT)


def _bc6h(blocks: Bytes, texel: Ints, signed: bool) -> Words:
    out = np.zeros((len(blocks), 3), np.uint32)  # reserved modes are black
    first = blocks[:, 0].astype(np.int64)
    mode = np.where(first & 2 == 0, first & 3, first & 31)
    for number, width, deltas, layout in BC6H_MODES:
        lanes = np.flatnonzero(mode == number)
        if len(lanes):
            transformed = number not in _UNTRANSFORMED
            out[lanes] = _bc6h_mode(blocks[lanes], texel[lanes], signed, width, deltas, layout, transformed)
    return out


def _extend(value: Ints, width: int) -> Ints:
    return value - ((value >> (width - 1) & 1) << width)


def _bc6h_mode(
    blocks: Bytes,
    texel: Ints,
    signed: bool,
    width: int,
    deltas: tuple[int, int, int],
    layout: list[tuple[str, int, int]],
    transformed: bool,
) -> Words:
    field = _Bits(blocks)
    values: dict[str, Ints] = {}
    for name, bit, at in layout:
        values[name] = values.get(name, np.zeros(len(blocks), np.int64)) | field.read(at, 1) << bit
    two = "d" in values
    partition = values.get("d", np.zeros(len(blocks), np.int64))
    subset = PARTITIONS[2 if two else 1][partition, texel]
    out = np.zeros((len(blocks), 3), np.uint32)
    index = _index(field, layout[-1][2] + 1, 3 if two else 4, texel, ANCHORS[2 if two else 1][partition])
    weight = _WEIGHTS[3 if two else 4][index]
    for c, letter in enumerate("rgb"):
        base = values[letter + "w"]
        base = _extend(base, width) if signed else base
        ends = [base]
        for e in "xyz" if two else "x":
            value = values[letter + e]
            if transformed:
                value = base + _extend(value, deltas[c]) & (1 << width) - 1
            if signed:
                value = _extend(value, width)
            ends.append(value)
        unquantized = [_unquantize(e, width, signed) for e in ends]
        a, b = unquantized[0], unquantized[1]
        if two:
            a, b = np.where(subset == 1, unquantized[2], a), np.where(subset == 1, unquantized[3], b)
        mixed: Ints = np.asarray((64 - weight) * a + weight * b + 32, np.int64) >> 6
        if signed:
            half: Ints = np.asarray(np.abs(mixed), np.int64) * 31 >> 5
            half |= np.where(mixed < 0, 0x8000, 0)
        else:
            half = mixed * 31 >> 6
        out[:, c] = half.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    return out


def _unquantize(value: Ints, width: int, signed: bool) -> Ints:
    if signed:
        if width >= 16:
            return value
        magnitude = np.abs(value)
        scaled = ((magnitude << 15) + 0x4000) >> (width - 1)
        scaled = np.where(magnitude >= (1 << (width - 1)) - 1, 0x7FFF, scaled)
        return np.sign(value) * np.where(magnitude == 0, 0, scaled)
    if width >= 15:
        return value
    scaled = ((value << 16) + 0x8000) >> width
    scaled = np.where(value == (1 << width) - 1, 0xFFFF, scaled)
    return np.where(value == 0, 0, scaled)
