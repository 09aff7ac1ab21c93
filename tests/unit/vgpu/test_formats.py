"""Formats: round trips, conversion rules, and block compression against scalar decoders written from the public descriptions."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpu.engine.reference import blocks
from vgpu.engine.reference.formats import bits, pack, unpack, unpack_pair
from wddm.hw.formats import FORMATS, Format, NumberType

PLAIN = [
    f for f, i in FORMATS.items() if i.channels and not i.pair and i.type not in (NumberType.TYPELESS,) and i.bytes_per_block
]


@pytest.mark.parametrize("format", PLAIN, ids=lambda f: f.name)
def test_what_was_unpacked_packs_to_the_same_bits(format: Format) -> None:
    info = FORMATS[format]
    rng = np.random.default_rng(format)
    raw = rng.integers(0, 256, (4000, info.bytes_per_block), np.uint8)
    first = unpack(info, raw)
    again = unpack(info, pack(info, first))
    # Not every bit pattern is canonical (NaN payloads, -1 twice, shared exponents): the numbers must be.
    if info.is_integer:
        assert (first == again).all()
    else:
        a, b = first.view(np.float32), again.view(np.float32)
        assert ((a == b) | np.isnan(a) & (np.isnan(b) | (b == 0))).all()
    if info.type in (NumberType.UNORM, NumberType.UINT, NumberType.SINT, NumberType.XR_BIAS):
        used = np.zeros(info.bytes_per_block * 8, np.uint8)
        for c in info.channels:
            used[c.shift : c.shift + c.bits] = 1
        mask = np.packbits(used, bitorder="little")
        assert (pack(info, first) == raw & mask).all()


def _one(format: Format, *color: float) -> bytes:
    padded = np.array([[*color, 0, 0, 0, 0][:4]], np.float32)
    return pack(FORMATS[format], bits(padded)).tobytes()


def test_conversion_rules() -> None:
    assert _one(Format.R8G8B8A8_UNORM, 0.5, 2, -1, math.nan) == bytes([128, 255, 0, 0])
    assert _one(Format.R8G8B8A8_SNORM, -1, 1, -0.5, math.nan) == bytes([129, 127, 192, 0])
    assert _one(Format.R8G8B8A8_UNORM_SRGB, 0.5, 1, 0.002, 0.5) == bytes([188, 255, 7, 128])
    assert _one(Format.B8G8R8A8_UNORM, 1, 0.5, 0, 1) == bytes([0, 128, 255, 255])
    assert _one(Format.B5G6R5_UNORM, 1, 0, 0) == struct.pack("<H", 0xF800)
    assert _one(Format.R16_FLOAT, 1 + 2**-11 + 2**-12) == struct.pack("<e", 1.0)  # towards zero
    assert _one(Format.R16_FLOAT, 1e9) == struct.pack("<H", 0x7BFF)
    assert _one(Format.R16_FLOAT, math.inf) == struct.pack("<H", 0x7C00)
    assert _one(Format.R16_FLOAT, 2.0**-24 * 1.5) == struct.pack("<H", 1)
    assert _one(Format.R11G11B10_FLOAT, 1, -1, 0.5) == struct.pack("<I", 15 << 6 | 0 << 11 | (14 << 5) << 22)
    assert _one(Format.R9G9B9E5_SHAREDEXP, 1, 0.5, 0) == struct.pack("<I", 256 | 128 << 9 | 16 << 27)
    assert _one(Format.R10G10B10_XR_BIAS_A2_UNORM, 1, 0, -0.75, 1) == struct.pack("<I", 894 | 384 << 10 | 2 << 20 | 3 << 30)
    info = FORMATS[Format.R8_SINT]
    assert pack(info, np.array([[2**32 - 200, 0, 0, 0], [200, 0, 0, 0]], np.uint32)).tolist() == [[128], [127]]
    assert pack(info, np.array([[2**32 - 200, 0, 0, 0]], np.uint32), clamp=False).tolist() == [[56]]


def test_missing_channels_and_planes() -> None:
    assert unpack(FORMATS[Format.R8_UNORM], np.array([[255]], np.uint8)).view(np.float32).tolist() == [[1, 0, 0, 1]]
    assert unpack(FORMATS[Format.R32_UINT], np.array([[5, 0, 0, 0]], np.uint8)).tolist() == [[5, 0, 0, 1]]
    assert unpack(FORMATS[Format.A8_UNORM], np.array([[51]], np.uint8)).view(np.float32)[0].tolist() == [0, 0, 0, np.float32(0.2)]
    assert unpack(FORMATS[Format.B8G8R8X8_UNORM], np.zeros((1, 4), np.uint8)).view(np.float32)[0, 3] == 1
    assert unpack(FORMATS[Format.X24_TYPELESS_G8_UINT], np.array([[1, 2, 3, 9]], np.uint8))[0, 1] == 9
    pair = np.array([[10, 20, 30, 40]] * 2, np.uint8)
    colors = unpack_pair(FORMATS[Format.R8G8_B8G8_UNORM], pair, np.array([0, 1])).view(np.float32)[:, :3] * 255
    assert np.round(colors).tolist() == [[10, 20, 30], [10, 40, 30]]
    colors = unpack_pair(FORMATS[Format.G8R8_G8B8_UNORM], pair, np.array([0, 1])).view(np.float32)[:, :3] * 255
    assert np.round(colors).tolist() == [[20, 10, 40], [20, 30, 40]]


# --- scalar decoders ------------------------------------------------------------------------------------------------------


def _bc1(block: bytes, texel: int, four: bool) -> list[float]:
    c0, c1, word = struct.unpack("<HHI", block)
    ends = [((c >> 11) / 31, (c >> 5 & 63) / 63, (c & 31) / 31) for c in (c0, c1)]
    i = word >> 2 * texel & 3
    if four or c0 > c1:
        w = (0, 1, 1 / 3, 2 / 3)[i]
    elif i == 3:
        return [0, 0, 0, 0]
    else:
        w = (0, 1, 0.5)[i]
    return [a * (1 - w) + b * w for a, b in zip(*ends, strict=True)] + [1]


def _bc4(block: bytes, texel: int, signed: bool) -> float:
    a, b = (int(v) for v in struct.unpack("<bb" if signed else "<BB", block[:2]))
    i = int.from_bytes(block[2:], "little") >> 3 * texel & 7
    scale = 127 if signed else 255
    x, y = max(a / scale, -1), max(b / scale, -1)
    if i < 2:
        return (x, y)[i]
    x, y = float(x), float(y)
    if a > b:
        return ((8 - i) * x + (i - 1) * y) / 7
    if i < 6:
        return ((6 - i) * x + (i - 1) * y) / 5
    return (-1 if signed else 0) if i == 6 else 1


@settings(deadline=None, max_examples=60)
@given(st.binary(min_size=16, max_size=16))
def test_bc1_to_bc5(block: bytes) -> None:
    texels = np.arange(16)

    def ours(format: Format, size: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        raw = np.frombuffer(block[:size], np.uint8)[None].repeat(16, 0)
        return blocks.decode(FORMATS[format], raw, texels).view(np.float32)

    for t in range(16):
        assert ours(Format.BC1_UNORM, 8)[t] == pytest.approx(_bc1(block[:8], t, False), abs=1e-6)
        bc2 = [*_bc1(block[8:], t, True)[:3], (int.from_bytes(block[:8], "little") >> 4 * t & 15) / 15]
        assert ours(Format.BC2_UNORM, 16)[t] == pytest.approx(bc2, abs=1e-6)
        bc3 = [*_bc1(block[8:], t, True)[:3], _bc4(block[:8], t, False)]
        assert ours(Format.BC3_UNORM, 16)[t] == pytest.approx(bc3, abs=1e-6)
        assert ours(Format.BC4_SNORM, 8)[t] == pytest.approx([_bc4(block[:8], t, True), 0, 0, 1], abs=1e-6)
        bc5 = [_bc4(block[:8], t, False), _bc4(block[8:], t, False), 0, 1]
        assert ours(Format.BC5_UNORM, 16)[t] == pytest.approx(bc5, abs=1e-6)


def test_bc6h_layouts_cover_their_header_exactly_once() -> None:
    for mode, width, deltas, layout in blocks.BC6H_MODES:
        places = [at for _, _, at in layout]
        two = any(f == "d" for f, _, _ in layout)
        assert places == list(range(2 if mode < 2 else 5, 82 if two else 65))
        for c, letter in enumerate("rgb"):
            assert sorted(b for f, b, _ in layout if f == letter + "w") == list(range(width))
            for end in "xyz" if two else "x":
                assert sorted(b for f, b, _ in layout if f == letter + end) == list(range(deltas[c]))


def test_partitions_start_at_subset_zero_and_anchor_in_their_subset() -> None:
    for n in (2, 3):
        table, anchors = blocks.PARTITIONS[n], blocks.ANCHORS[n]
        assert table.shape == (64, 16)
        assert (table[:, 0] == 0).all()
        assert all(set(row) == set(range(n)) for row in table.tolist())
        for subset in range(n):
            assert (table[np.arange(64), anchors[:, subset]] == subset).all()
        assert len({tuple(r) for r in table.tolist()}) == 64


def _pack_bits(*fields: tuple[int, int]) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """One block of (value, width) fields, low bits first."""
    value = at = 0
    for v, width in fields:
        value |= v << at
        at += width
    assert at == 128
    return np.frombuffer(value.to_bytes(16, "little"), np.uint8)[None]


def test_bc7_mode_6_by_hand() -> None:
    # Endpoints: r 0..127, g 127..0, b 64 both, a 127; p-bits 0 and 1; texel t has index t (texel 0 has 3 bits).
    ends = [(0, 7), (127, 7), (127, 7), (0, 7), (64, 7), (64, 7), (127, 7), (127, 7), (0, 1), (1, 1)]
    block = _pack_bits((1 << 6, 7), *ends, (0, 3), *((t, 4) for t in range(1, 16)))
    out = blocks.decode(FORMATS[Format.BC7_UNORM], block.repeat(16, 0), np.arange(16)).view(np.float32) * 255
    weights = [0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64]
    for t, w in enumerate(weights):
        mix = [((64 - w) * a + w * b + 32) >> 6 for a, b in ((0, 255), (254, 1), (128, 129), (254, 255))]
        assert np.round(out[t]).tolist() == mix


def test_bc7_mode_5_rotates_alpha_and_reserved_mode_is_transparent_black() -> None:
    fields = [(10, 7), (10, 7), (20, 7), (20, 7), (30, 7), (30, 7), (200, 8), (200, 8)]
    block = _pack_bits((1 << 5, 6), (1, 2), *fields, (0, 31), (0, 31))
    out = np.round(blocks.decode(FORMATS[Format.BC7_UNORM], block, np.array([3])).view(np.float32) * 255)
    assert out[0].tolist() == [200, 40, 60, 20]
    zero = np.zeros((1, 16), np.uint8)
    assert blocks.decode(FORMATS[Format.BC7_UNORM], zero, np.array([0])).view(np.float32)[0].tolist() == [0, 0, 0, 0]


def test_bc6h_mode_11_by_hand() -> None:
    ends = [(0, 10), (512, 10), (1023, 10), (1023, 10), (512, 10), (0, 10)]
    block = _pack_bits((3, 5), *ends, (0, 3), *((t, 4) for t in range(1, 16)))
    out = blocks.decode(FORMATS[Format.BC6H_UF16], block.repeat(16, 0), np.arange(16)).view(np.float32)
    assert out[0].tolist() == [0.0, float(np.array([32800 * 31 >> 6], np.uint16).view(np.float16)[0]), 65504.0 * 0 + out[0, 2], 1.0]
    assert out[15, 0] == out[0, 2] == float(np.array([0xFFFF * 31 >> 6], np.uint16).view(np.float16)[0])
    assert (np.diff(out[:, 0]) > 0).all()
    assert (np.diff(out[:, 2]) < 0).all()
    assert (blocks.decode(FORMATS[Format.BC6H_UF16], np.full((1, 16), 0x13, np.uint8), np.array([5]))[0, :3] == 0).all()


@settings(deadline=None, max_examples=60)
@given(st.binary(min_size=16, max_size=16), st.sampled_from([f for f in Format if f.name.startswith("BC")]))
def test_any_block_decodes_to_finite_numbers(block: bytes, format: Format) -> None:
    info = FORMATS[format]
    raw = np.frombuffer(block[: info.bytes_per_block], np.uint8)[None].repeat(16, 0)
    out = blocks.decode(info, raw, np.arange(16)).view(np.float32)
    assert np.isfinite(out).all()
