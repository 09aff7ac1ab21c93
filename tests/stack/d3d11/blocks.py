"""Block compression in scalar Python from its public description, for BC1–BC5, and BC6H and BC7 with partition 0."""

from __future__ import annotations

import struct
from collections.abc import Sequence

WEIGHTS = {
    2: (0, 21, 43, 64),
    3: (0, 9, 18, 27, 37, 46, 55, 64),
    4: (0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64),
}
#: Which subset each texel belongs to in partition 0, and the texels whose index lacks its highest bit.
SUBSETS = {1: ([0] * 16, [0]), 2: ([0, 0, 1, 1] * 4, [0, 15]), 3: ([0, 0, 1, 1, 0, 0, 1, 1, 0, 2, 2, 1, 2, 2, 2, 2], [0, 3, 15])}
#: Mode: subsets, partition bits, rotation bits, index-selection bits, colour bits, alpha bits, p-bits per endpoint, shared p-bits, index bits, second index bits.
BC7 = [
    (3, 4, 0, 0, 4, 0, 1, 0, 3, 0), (2, 6, 0, 0, 6, 0, 0, 1, 3, 0), (3, 6, 0, 0, 5, 0, 0, 0, 2, 0), (2, 6, 0, 0, 7, 0, 1, 0, 2, 0),
    (1, 0, 2, 1, 5, 6, 0, 0, 2, 3), (1, 0, 2, 0, 7, 8, 0, 0, 2, 2), (1, 0, 0, 0, 7, 7, 1, 0, 4, 0), (2, 6, 0, 0, 5, 5, 1, 0, 2, 0),
]  # fmt: skip


class Bits:
    """Fields of a block from its lowest bit up."""

    def __init__(self, block: bytes) -> None:
        self.word, self.at = int.from_bytes(block, "little"), 0

    def __call__(self, count: int) -> int:
        value = self.word >> self.at & ((1 << count) - 1)
        self.at += count
        return value


def bc1(block: bytes, four: bool = False) -> list[list[float]]:
    """Sixteen RGBA colours."""
    c0, c1, word = struct.unpack("<HHI", block)
    a, b = ([(c >> 11) / 31, (c >> 5 & 63) / 63, (c & 31) / 31] for c in (c0, c1))
    out = []
    for texel in range(16):
        i = word >> 2 * texel & 3
        if four or c0 > c1:
            w = (0, 1, 1 / 3, 2 / 3)[i]
        elif i == 3:
            out.append([0.0] * 4)
            continue
        else:
            w = (0, 1, 0.5)[i]
        out.append([x * (1 - w) + y * w for x, y in zip(a, b, strict=True)] + [1.0])
    return out


def bc4(block: bytes, signed: bool = False) -> list[float]:
    """Sixteen values of one channel."""
    a, b = struct.unpack("<bb" if signed else "<BB", block[:2])
    scale, low = (127, -1.0) if signed else (255, 0.0)
    x, y, indices = max(a / scale, -1.0), max(b / scale, -1.0), int.from_bytes(block[2:], "little")
    if a > b:
        table = [x, y, *[((7 - k) * x + k * y) / 7 for k in range(1, 7)]]
    else:
        table = [x, y, *[((5 - k) * x + k * y) / 5 for k in range(1, 5)], low, 1.0]
    return [table[indices >> 3 * n & 7] for n in range(16)]


def bc2(block: bytes) -> list[list[float]]:
    """Four bits of alpha each."""
    alpha = int.from_bytes(block[:8], "little")
    return [[*c[:3], (alpha >> 4 * n & 15) / 15] for n, c in enumerate(bc1(block[8:], True))]


def bc3(block: bytes) -> list[list[float]]:
    """Alpha as a BC4 block."""
    return [[*c[:3], a] for c, a in zip(bc1(block[8:], True), bc4(block[:8]), strict=True)]


def bc5(block: bytes, signed: bool = False) -> list[list[float]]:
    """Two BC4 blocks."""
    return [[r, g, 0.0, 1.0] for r, g in zip(bc4(block[:8], signed), bc4(block[8:], signed), strict=True)]


def _indices(bits: Bits, count: int, anchors: Sequence[int]) -> list[int]:
    return [bits(count - (texel in anchors)) for texel in range(16)]


def bc7(block: bytes) -> list[list[float]]:
    """Sixteen RGBA colours; a block of another partition than 0 is not understood."""
    bits, mode = Bits(block), 0
    while mode < 8 and not bits(1):
        mode += 1
    if mode == 8:
        return [[0.0] * 4] * 16
    subsets, partition_bits, rotation_bits, selection_bits, color, alpha, p_each, p_shared, index, second = BC7[mode]
    assert bits(partition_bits) == 0
    rotation, selection = bits(rotation_bits), bits(selection_bits)
    ends = [[0] * 4 for _ in range(2 * subsets)]
    for channel, size in enumerate((color, color, color, alpha)):
        for end in ends:
            end[channel] = bits(size) if size else 255
    p: list[int] = []
    if p_each:
        p = [bits(1) for _ in ends]
    elif p_shared:
        p = [bit for bit in [bits(1) for _ in range(subsets)] for _ in range(2)]
    for number, end in enumerate(ends):
        for channel, size in enumerate((color, color, color, alpha)):
            if size:
                value = end[channel] << 1 | p[number] if p else end[channel]
                size += bool(p)
                value <<= 8 - size
                end[channel] = value | value >> size
    which, anchors = SUBSETS[subsets]
    first = _indices(bits, index, anchors)
    other = _indices(bits, second, [0]) if second else first
    out = []
    for texel in range(16):
        a, b = ends[2 * which[texel]], ends[2 * which[texel] + 1]
        w_color, w_alpha = WEIGHTS[index][first[texel]], WEIGHTS[second or index][other[texel]]
        if selection:
            w_color, w_alpha = w_alpha, w_color
        value = [((64 - w) * x + w * y + 32) >> 6 for x, y, w in zip(a, b, [w_color] * 3 + [w_alpha], strict=True)]
        if rotation:
            value[rotation - 1], value[3] = value[3], value[rotation - 1]
        out.append([v / 255 for v in value])
    return out


def bc6h(block: bytes, signed: bool) -> list[list[float]]:
    """One region without deltas (mode bits 00011) or with 11-bit bases and 9-bit deltas (00111)."""
    bits = Bits(block)
    mode = bits(5)
    base = [bits(10) for _ in range(3)]
    end, size = [0] * 3, 10 if mode == 3 else 11
    for channel in range(3):
        if mode == 3:
            end[channel] = bits(10)
        else:
            end[channel] = bits(9)
            base[channel] |= bits(1) << 10

    def extend(value: int, count: int) -> int:
        return value - (1 << count) if value >> count - 1 & 1 else value

    if mode == 7:
        end = [(b + extend(e, 9)) & 0x7FF for b, e in zip(base, end, strict=True)]
    if signed:
        base, end = [extend(v, size) for v in base], [extend(v, size) for v in end]

    def unquantize(v: int) -> int:
        if not signed:
            return 0 if v == 0 else 0xFFFF if v == (1 << size) - 1 else ((v << 16) + 0x8000) >> size
        m = abs(v)
        m = 0 if m == 0 else 0x7FFF if m >= (1 << size - 1) - 1 else ((m << 15) + 0x4000) >> size - 1
        return -m if v < 0 else m

    base, end = [unquantize(v) for v in base], [unquantize(v) for v in end]
    out = []
    for index in _indices(bits, 4, [0]):
        w, color = WEIGHTS[4][index], []
        for a, b in zip(base, end, strict=True):
            v = ((64 - w) * a + w * b + 32) >> 6
            code = v * 31 >> 6 if not signed else (-v * 31 >> 5) | 0x8000 if v < 0 else v * 31 >> 5
            color.append(struct.unpack("<e", struct.pack("<H", code))[0])
        out.append([*color, 1.0])
    return out
