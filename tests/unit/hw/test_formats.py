"""The hardware's formats against the DXGI list, which they share numbers with."""

from __future__ import annotations

from itertools import pairwise

import pytest

from wddm.ddi.dxgiformat import DXGI_FORMAT, ChannelType
from wddm.ddi.dxgiformat import FORMATS as DXGI
from wddm.hw.formats import FORMATS, Format, NumberType

KNOWN = [f for f in Format if f is not Format.UNKNOWN]
_TYPES = {ChannelType.UFLOAT: NumberType.FLOAT} | {t: NumberType[t.name] for t in ChannelType if t.name in NumberType.__members__}


def test_all_have_the_numbers_of_dxgi() -> None:
    assert {f.name: int(f) for f in Format} == {name: int(DXGI_FORMAT[name]) for name in Format.__members__}
    assert set(FORMATS) == set(Format)
    assert FORMATS[Format.UNKNOWN].bytes_per_block == 0


@pytest.mark.parametrize("format", KNOWN, ids=lambda f: f.name)
def test_elements_are_as_dxgi_says(format: Format) -> None:
    ours, theirs = FORMATS[format], DXGI[DXGI_FORMAT(int(format))]
    # DXGI counts a texel of the packed 4:2:2 formats, the hardware the pair that is stored.
    assert ours.bytes_per_block * 8 == theirs.bits * (2 if ours.pair else 1)
    assert (ours.block, ours.is_block, ours.srgb) == (theirs.block_size, theirs.compressed, theirs.srgb)
    assert ours.block_width == (2 if ours.pair else theirs.block_size)
    assert (ours.depth is not None) >= theirs.depth
    assert (ours.stencil is not None) >= theirs.stencil
    wanted = [(c.name, c.offset, c.bits, _TYPES[c.type]) for c in theirs.channels if c.name in "RGBAD" and c.type in _TYPES]
    if theirs.compressed or ours.pair or ours.depth is not None:
        return
    if format in (Format.X32_TYPELESS_G8X24_UINT, Format.X24_TYPELESS_G8_UINT):
        assert [(c.shift, c.bits) for c in ours.channels] == [(o, b) for n, o, b, _ in wanted if n == "G"]
        return
    assert [("RGBA"[c.component], c.shift, c.bits, c.type) for c in ours.channels] == wanted


@pytest.mark.parametrize("format", KNOWN, ids=lambda f: f.name)
def test_channels_lie_inside_their_element_and_apart(format: Format) -> None:
    info = FORMATS[format]
    places = [(c.shift, c.shift + c.bits) for c in (*info.channels, info.depth, info.stencil) if c is not None]
    for low, high in places:
        assert 0 <= low < high <= info.bytes_per_block * 8
    seen = sorted(set(places))
    assert all(a[1] <= b[0] for a, b in pairwise(seen))
    assert all(0 <= c.component <= 3 for c in info.channels)
    assert info.is_integer == (info.type in (NumberType.UINT, NumberType.SINT))
