"""Surface formats of the virtual GPU.

The hardware uses the numbers of the DXGI format list, so that a driver passes them through. :data:`FORMATS` tells how each is
stored: the channels, their place (bit 0 = least significant bit of the first byte) and their number type. Block-compressed
formats have no channels here; their decoders know them by number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final


class Format(IntEnum):
    """Format numbers, channels named from the least significant bit up."""

    UNKNOWN = 0
    R32G32B32A32_TYPELESS = 1
    R32G32B32A32_FLOAT = 2
    R32G32B32A32_UINT = 3
    R32G32B32A32_SINT = 4
    R32G32B32_TYPELESS = 5
    R32G32B32_FLOAT = 6
    R32G32B32_UINT = 7
    R32G32B32_SINT = 8
    R16G16B16A16_TYPELESS = 9
    R16G16B16A16_FLOAT = 10
    R16G16B16A16_UNORM = 11
    R16G16B16A16_UINT = 12
    R16G16B16A16_SNORM = 13
    R16G16B16A16_SINT = 14
    R32G32_TYPELESS = 15
    R32G32_FLOAT = 16
    R32G32_UINT = 17
    R32G32_SINT = 18
    R32G8X24_TYPELESS = 19
    D32_FLOAT_S8X24_UINT = 20
    R32_FLOAT_X8X24_TYPELESS = 21
    X32_TYPELESS_G8X24_UINT = 22
    R10G10B10A2_TYPELESS = 23
    R10G10B10A2_UNORM = 24
    R10G10B10A2_UINT = 25
    R11G11B10_FLOAT = 26
    R8G8B8A8_TYPELESS = 27
    R8G8B8A8_UNORM = 28
    R8G8B8A8_UNORM_SRGB = 29
    R8G8B8A8_UINT = 30
    R8G8B8A8_SNORM = 31
    R8G8B8A8_SINT = 32
    R16G16_TYPELESS = 33
    R16G16_FLOAT = 34
    R16G16_UNORM = 35
    R16G16_UINT = 36
    R16G16_SNORM = 37
    R16G16_SINT = 38
    R32_TYPELESS = 39
    D32_FLOAT = 40
    R32_FLOAT = 41
    R32_UINT = 42
    R32_SINT = 43
    R24G8_TYPELESS = 44
    D24_UNORM_S8_UINT = 45
    R24_UNORM_X8_TYPELESS = 46
    X24_TYPELESS_G8_UINT = 47
    R8G8_TYPELESS = 48
    R8G8_UNORM = 49
    R8G8_UINT = 50
    R8G8_SNORM = 51
    R8G8_SINT = 52
    R16_TYPELESS = 53
    R16_FLOAT = 54
    D16_UNORM = 55
    R16_UNORM = 56
    R16_UINT = 57
    R16_SNORM = 58
    R16_SINT = 59
    R8_TYPELESS = 60
    R8_UNORM = 61
    R8_UINT = 62
    R8_SNORM = 63
    R8_SINT = 64
    A8_UNORM = 65
    R9G9B9E5_SHAREDEXP = 67
    R8G8_B8G8_UNORM = 68
    G8R8_G8B8_UNORM = 69
    BC1_TYPELESS = 70
    BC1_UNORM = 71
    BC1_UNORM_SRGB = 72
    BC2_TYPELESS = 73
    BC2_UNORM = 74
    BC2_UNORM_SRGB = 75
    BC3_TYPELESS = 76
    BC3_UNORM = 77
    BC3_UNORM_SRGB = 78
    BC4_TYPELESS = 79
    BC4_UNORM = 80
    BC4_SNORM = 81
    BC5_TYPELESS = 82
    BC5_UNORM = 83
    BC5_SNORM = 84
    B5G6R5_UNORM = 85
    B5G5R5A1_UNORM = 86
    B8G8R8A8_UNORM = 87
    B8G8R8X8_UNORM = 88
    R10G10B10_XR_BIAS_A2_UNORM = 89
    B8G8R8A8_TYPELESS = 90
    B8G8R8A8_UNORM_SRGB = 91
    B8G8R8X8_TYPELESS = 92
    B8G8R8X8_UNORM_SRGB = 93
    BC6H_TYPELESS = 94
    BC6H_UF16 = 95
    BC6H_SF16 = 96
    BC7_TYPELESS = 97
    BC7_UNORM = 98
    BC7_UNORM_SRGB = 99
    B4G4R4A4_UNORM = 115


class NumberType(Enum):
    """How the bits of a channel become a number."""

    TYPELESS = "typeless"
    UNORM = "unorm"
    SNORM = "snorm"
    UINT = "uint"
    SINT = "sint"
    FLOAT = "float"
    SHAREDEXP = "sharedexp"
    XR_BIAS = "xr_bias"


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel of an uncompressed element. ``component`` is 0..3 for r, g, b, a."""

    component: int
    shift: int  #: bits from the start of the element
    bits: int
    type: NumberType


@dataclass(frozen=True, slots=True)
class FormatInfo:
    """How one element (or 4x4 block) is stored."""

    format: Format
    bytes_per_block: int
    block: int  #: 1, or 4 for block-compressed formats
    channels: tuple[Channel, ...]  #: readable colour channels; empty for block-compressed formats
    type: NumberType  #: type of the colour channels
    srgb: bool
    depth: Channel | None = None  #: where depth lies, for depth formats and their typeless families
    stencil: Channel | None = None
    pair: bool = False  #: R8G8_B8G8 and G8R8_G8B8: an element holds two texels side by side

    @property
    def block_width(self) -> int:
        """Texels that one element holds in a row."""
        return 2 if self.pair else self.block

    @property
    def is_integer(self) -> bool:
        """Whether views of this format carry integers."""
        return self.type in (NumberType.UINT, NumberType.SINT)

    @property
    def is_block(self) -> bool:
        """Whether this is a block-compressed format."""
        return self.block == 4


_TYPES = {
    "TYPELESS": NumberType.TYPELESS,
    "UNORM": NumberType.UNORM,
    "SNORM": NumberType.SNORM,
    "UINT": NumberType.UINT,
    "SINT": NumberType.SINT,
    "FLOAT": NumberType.FLOAT,
    "SHAREDEXP": NumberType.SHAREDEXP,
    "UF16": NumberType.FLOAT,
    "SF16": NumberType.FLOAT,
}
_BLOCK_BYTES = {"BC1": 8, "BC2": 16, "BC3": 16, "BC4": 8, "BC5": 16, "BC6H": 16, "BC7": 16}


def _channel(component: int, shift: int, bits: int, type: NumberType) -> Channel:
    return Channel(component, shift, bits, type)


def _irregular() -> dict[Format, FormatInfo]:
    """Formats whose names do not tell their layout."""
    unorm, uint, flt, typeless = NumberType.UNORM, NumberType.UINT, NumberType.FLOAT, NumberType.TYPELESS
    d24, s8 = _channel(0, 0, 24, unorm), _channel(1, 24, 8, uint)
    d32, s8x24 = _channel(0, 0, 32, flt), _channel(1, 32, 8, uint)
    d16 = _channel(0, 0, 16, unorm)
    xr = NumberType.XR_BIAS
    return {
        Format.R24G8_TYPELESS: FormatInfo(Format.R24G8_TYPELESS, 4, 1, (), typeless, False, d24, s8),
        Format.D24_UNORM_S8_UINT: FormatInfo(Format.D24_UNORM_S8_UINT, 4, 1, (d24,), unorm, False, d24, s8),
        Format.R24_UNORM_X8_TYPELESS: FormatInfo(Format.R24_UNORM_X8_TYPELESS, 4, 1, (d24,), unorm, False),
        Format.X24_TYPELESS_G8_UINT: FormatInfo(Format.X24_TYPELESS_G8_UINT, 4, 1, (s8,), uint, False),
        Format.R32G8X24_TYPELESS: FormatInfo(Format.R32G8X24_TYPELESS, 8, 1, (), typeless, False, d32, s8x24),
        Format.D32_FLOAT_S8X24_UINT: FormatInfo(Format.D32_FLOAT_S8X24_UINT, 8, 1, (d32,), flt, False, d32, s8x24),
        Format.R32_FLOAT_X8X24_TYPELESS: FormatInfo(Format.R32_FLOAT_X8X24_TYPELESS, 8, 1, (d32,), flt, False),
        Format.X32_TYPELESS_G8X24_UINT: FormatInfo(Format.X32_TYPELESS_G8X24_UINT, 8, 1, (s8x24,), uint, False),
        Format.D32_FLOAT: FormatInfo(Format.D32_FLOAT, 4, 1, (d32,), flt, False, d32),
        Format.D16_UNORM: FormatInfo(Format.D16_UNORM, 2, 1, (d16,), unorm, False, d16),
        Format.R8G8_B8G8_UNORM: FormatInfo(Format.R8G8_B8G8_UNORM, 4, 1, (), unorm, False, pair=True),
        Format.G8R8_G8B8_UNORM: FormatInfo(Format.G8R8_G8B8_UNORM, 4, 1, (), unorm, False, pair=True),
        Format.R10G10B10_XR_BIAS_A2_UNORM: FormatInfo(
            Format.R10G10B10_XR_BIAS_A2_UNORM,
            4,
            1,
            (_channel(0, 0, 10, xr), _channel(1, 10, 10, xr), _channel(2, 20, 10, xr), _channel(3, 30, 2, unorm)),
            xr,
            False,
        ),
        Format.R9G9B9E5_SHAREDEXP: FormatInfo(
            Format.R9G9B9E5_SHAREDEXP,
            4,
            1,
            tuple(_channel(c, 9 * c, 9, NumberType.SHAREDEXP) for c in range(3)),
            NumberType.SHAREDEXP,
            False,
        ),
    }


def _from_name(format: Format) -> FormatInfo:
    words = format.name.split("_")
    srgb = words[-1] == "SRGB"
    type = _TYPES[words[1]]
    if words[0] in _BLOCK_BYTES:
        return FormatInfo(format, _BLOCK_BYTES[words[0]], 4, (), type, srgb)
    channels = []
    shift = 0
    for letter, bits in re.findall(r"([RGBAX])(\d+)", words[0]):
        if letter != "X":
            channels.append(_channel("RGBA".index(letter), shift, int(bits), type))
        shift += int(bits)
    return FormatInfo(format, shift // 8, 1, tuple(channels), type, srgb)


def _table() -> dict[Format, FormatInfo]:
    table = _irregular()
    for format in Format:
        if format is Format.UNKNOWN:
            table[format] = FormatInfo(format, 0, 1, (), NumberType.TYPELESS, False)
        elif format not in table:
            table[format] = _from_name(format)
    return table


#: Every format the hardware knows.
FORMATS: Final[dict[Format, FormatInfo]] = _table()
