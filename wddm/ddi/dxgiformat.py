"""dxgiformat.h: DXGI_FORMAT, and what each format is made of and supports at feature level 11_0.

``FORMATS[format]`` is a FormatInfo: bits per element, block size, casting class, typeless family, channels with their bit
offsets, depth and stencil, and the abilities that feature level 11_0 requires or leaves optional. Models the pages
"DXGI_FORMAT", "Format support for Direct3D Feature Level 11.0 hardware" and "Legacy Formats". Declarations only: packing and
conversion of pixels live elsewhere.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, Flag, IntEnum, auto
from types import MappingProxyType
from typing import Final

from .d3dukmdt import D3DDDIFORMAT


class DXGI_FORMAT(IntEnum):
    """Pixel formats; names list channels from the lowest address or bit upwards. 420_OPAQUE cannot start a Python name."""

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
    R1_UNORM = 66
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
    AYUV = 100
    Y410 = 101
    Y416 = 102
    NV12 = 103
    P010 = 104
    P016 = 105
    FORMAT_420_OPAQUE = 106
    YUY2 = 107
    Y210 = 108
    Y216 = 109
    NV11 = 110
    AI44 = 111
    IA44 = 112
    P8 = 113
    A8P8 = 114
    B4G4R4A4_UNORM = 115
    P208 = 130
    V208 = 131
    V408 = 132
    SAMPLER_FEEDBACK_MIN_MIP_OPAQUE = 189
    SAMPLER_FEEDBACK_MIP_REGION_USED_OPAQUE = 190
    A4B4G4R4_UNORM = 191
    FORCE_UINT = 0xFFFFFFFF


# Value, bits per element (per 4x4 block where so marked), class, support: twelve groups of letters in the order of FormatAbility.
_TABLE: Final = """\
0 0 L RR--- ---- ----- -- ---- ----R ------ R ----- --- --- -O
1 128 PCS R---- RRRR ----- R- ---- ----- ------ R ----- -R- --- RO
2 128 FCS RRR-R RRRR RR-R- RR RR-- RRO-- ------ R ROORR -R- --- RO
3 128 FCS RRR-R RRRR R---- R- R-O- RRO-- ------ R ROO-R -R- --- RO
4 128 FCS RRR-R RRRR R---- R- R--- RRO-- ------ R ROO-R -R- --- RO
5 96 PCS R---- RRRR ----- R- ---- ----- ------ R ----- -R- --- --
6 96 FCS RRR-R RRRR RO-O- RO OD-- ----- ------ R DDORR -R- --- --
7 96 FCS RRR-R RRRR R---- R- O-O- ----- ------ R DDO-R -R- --- --
8 96 FCS RRR-R RRRR R---- R- O--- ----- ------ R DDO-R -R- --- --
9 64 PCS R---- RRRR ----- R- ---- ----- ------ R ----- -R- --- RO
10 64 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR RR- -OR RO
11 64 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- RO
12 64 FCS RRR-- RRRR R---- R- R-O- RRO-- ------ R RRO-R -R- --- RO
13 64 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- RO
14 64 FCS RRR-- RRRR R---- R- R--- RRO-- ------ R RRO-R -R- --- RO
15 64 PCS R---- RRRR ----- R- ---- ----- ------ R ----- -R- --- -O
16 64 FCS RRR-R RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- -O
17 64 FCS RRR-R RRRR R---- R- R-O- RRO-- ------ R RRO-R -R- --- -O
18 64 FCS RRR-R RRRR R---- R- R--- RRO-- ------ R RRO-R -R- --- -O
19 64 PCS R---- RR-R ----- R- ---- ----- ------ R ----- -R- --- --
20 64 FCS R---- RR-R ----- R- ---R ----- ------ R RRO-- -R- --- --
21 64 FCS R---- RR-R RRRRR R- ---- ----- ------ R ----R -R- --- --
22 64 FCS R---- RR-R R---- R- ---- ----- ------ R ----R -R- --- --
23 32 PCS R---- RRRR ----- R- ---- ----- ------ R ----- -R- --- RO
24 32 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR RRR -OR RO
25 32 FCS RRR-- RRRR R---- R- R-O- RRO-- ------ R RRO-R -R- --- RO
26 32 FNS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR --- --- -O
27 32 PCS R---- RRRR ----- R- ---- ----- ------ R ----- -R- --- RO
28 32 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR RRR -OR RO
29 32 FCS R---- RRRR RR-R- RR RR-- ----- ------ R RRORR RRR -OR RO
30 32 FCS RRR-- RRRR R---- R- R-O- RRO-- ------ R RRO-R -R- --- RO
31 32 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- RO
32 32 FCS RRR-- RRRR R---- R- R--- RRO-- ------ R RRO-R -R- --- RO
33 32 PCS R---- RRRR ----- R- ---- ----- ------ R ----- -R- --- -O
34 32 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- -O
35 32 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- -O
36 32 FCS RRR-- RRRR R---- R- R-O- RRO-- ------ R RRO-R -R- --- -O
37 32 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- -O
38 32 FCS RRR-- RRRR R---- R- R--- RRO-- ------ R RRO-R -R- --- -O
39 32 PCS R---- RRRR ----- R- ---- ---R- ------ R ----- -R- --- RO
40 32 FCS R---- RR-R ----- R- ---R ----- ------ R RRO-- -R- --- RO
41 32 FCS RRR-R RRRR RRRRR RR RR-- RRR-- ---R-- R RRORR -R- --- RO
42 32 FCS RRRRR RRRR R---- R- R-O- RRR-- RRRRRR R RRO-R -R- --- RO
43 32 FCS RRR-R RRRR R---- R- R--- RRR-- RRRRRR R RRO-R -R- --- RO
44 32 PCS R---- RR-R ----- R- ---- ----- ------ R ----- -R- --- --
45 32 FCS R---- RR-R ----- R- ---R ----- ------ R RRO-- -R- --- --
46 32 FCS R---- RR-R RRRRR R- ---- ----- ------ R ----R -R- --- --
47 32 FCS R---- RR-R R---- R- ---- ----- ------ R ----R -R- --- --
48 16 PCS R---- RRRR ----- R- ---- ----- ------ R ----- -R- --- -O
49 16 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- RO
50 16 FCS RRR-- RRRR R---- R- R-O- RRO-- ------ R RRO-R -R- --- -O
51 16 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- -O
52 16 FCS RRR-- RRRR R---- R- R--- RRO-- ------ R RRO-R -R- --- -O
53 16 PCS R---- RRRR ----- R- ---- ----- ------ R ----- -R- --- RO
54 16 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- RO
55 16 FCS R---- RR-R ----- R- ---R ----- ------ R RRO-- -R- --- RO
56 16 FCS RRR-- RRRR RRRRR RR RR-- RRO-- ------ R RRORR -R- --- RO
57 16 FCS RRRR- RRRR R---- R- R-O- RRO-- ------ R RRO-R -R- --- RO
58 16 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- RO
59 16 FCS RRR-- RRRR R---- R- R--- RRO-- ------ R RRO-R -R- --- RO
60 8 PCS R---- RRRR ----- R- ---- ----- ------ R ----- -R- --- RO
61 8 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- RO
62 8 FCS RRR-- RRRR R---- R- R-O- RRO-- ------ R RRO-R -R- --- RO
63 8 FCS RRR-- RRRR RR-R- RR RR-- RRO-- ------ R RRORR -R- --- RO
64 8 FCS RRR-- RRRR R---- R- R--- RRO-- ------ R RRO-R -R- --- RO
65 8 FNS R---- RRRR RR-R- RR RR-- RRO-- ------ R RRORR --- --- RO
66 1 ? ?
67 32 FNC R---- RRRR RR-R- R- ---- ----- ------ R ----- --- --- -O
68 16 FNC R---- RRRR RR-R- R- ---- ----- ------ R ----- --- --- --
69 16 FNC R---- RRRR RR-R- R- ---- ----- ------ R ----- --- --- --
70 64/4x4 PCC R---- -RRR ----- R- ---- ----- ------ R ----- -R- --- RO
71 64/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- RO
72 64/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- RO
73 128/4x4 PCC R---- -RRR ----- R- ---- ----- ------ R ----- -R- --- RO
74 128/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- RO
75 128/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- RO
76 128/4x4 PCC R---- -RRR ----- R- ---- ----- ------ R ----- -R- --- RO
77 128/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- RO
78 128/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- RO
79 64/4x4 PCC R---- -RRR ----- R- ---- ----- ------ R ----- -R- --- -O
80 64/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- -O
81 64/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- -O
82 128/4x4 PCC R---- -RRR ----- R- ---- ----- ------ R ----- -R- --- -O
83 128/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- -O
84 128/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- -O
85 16 FNS ROO-- RRRR RR-R- RR RR-- OOO-- ------ R RRRRR --- --- -O
86 16 FNS ROO-- RRRR RR-R- RO OO-- OOO-- ------ R OOORO --- --- -O
87 32 FCS RRR-- RRRR RR-R- RR RR-- OOO-- ------ R RRORR RRR -OR RO
88 32 FCS RRR-- RRRR RR-R- RR RR-- ----- ------ R RRORR -R- -OO RO
89 32 FCS R---- -R-- ----- -- ---- ----- ------ R ----- RRR -OR RO
90 32 PCS R---- RRRR ----- R- ---- ----- ------ R ----- -R- --- RO
91 32 FCS R---- RRRR RR-R- RR RR-- ----- ------ R RRORR RRR -OR RO
92 32 PCS R---- RRRR ----- R- ---- ----- ------ R ----- -R- --- RO
93 32 FCS R---- RRRR RR-R- RR RR-- ----- ------ R RRORR -R- --- RO
94 128/4x4 PCC R---- -RRR ----- R- ---- ----- ------ R ----- -R- --- -O
95 128/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- -O
96 128/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- -O
97 128/4x4 PCC R---- -RRR ----- R- ---- ----- ------ R ----- -R- --- -O
98 128/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- -O
99 128/4x4 FCC R---- -RRR RR-R- R- ---- ----- ------ R ----- -R- --- -O
100 32 V O---- -R-- RR-R- RR RR-- RR--- ------ R ----- --- ORO R-
101 32 V O---- -R-- RR-R- -- ---- RR--- ------ R ----- --- OOO R-
102 64 V O---- -R-- RR-R- R- ---- RR--- ------ R ----- --- OOO R-
103 8 V R---- -R-- RR-R- -- RR-- RR--- ------ R ----- --- RRR R-
104 16 V O---- -R-- RR-R- -- RR-- RR--- ------ R ----- --- OOO R-
105 16 V O---- -R-- RR-R- -- RR-- RR--- ------ R ----- --- OOO R-
106 8 V R---- -R-- ----- -- ---- ----- ------ - ----- --- RRR R-
107 16 V R---- -R-- RR-R- -- ---- RR--- ------ R ----- --- ORO R-
108 32 V O---- -R-- RR-R- -- ---- RR--- ------ R ----- --- OOO R-
109 32 V O---- -R-- RR-R- -- ---- RR--- ------ R ----- --- OOO R-
110 8 V O---- -R-- RR-R- -- RR-- RR--- ------ R ----- --- OOO R-
111 8 V O---- -R-- ----- -- ---- ----- ------ R ----- --- -R- --
112 8 V O---- -R-- ----- -- ---- ----- ------ R ----- --- -R- --
113 8 V O---- -R-- ----- -- ---- ----- ------ R ----- --- -R- --
114 16 V O---- -R-- ----- -- ---- ----- ------ R ----- --- -R- --
115 16 FNS ROO-- RRRR RR-R- RO OO-- OOO-- ------ R OOORO --- --- -O
130 0 ? ?
131 0 ? ?
132 0 ? ?
189 0 ? ?
190 0 ? ?
191 16 ? ?
"""


class FormatAbility(Flag):
    """One column each of the format-support page, in the order of the table."""

    ANY = auto()
    BUFFER = auto()
    IA_VERTEX_BUFFER = auto()
    IA_INDEX_BUFFER = auto()
    STREAM_OUTPUT = auto()
    TEXTURE1D = auto()
    TEXTURE2D = auto()
    TEXTURE3D = auto()
    TEXTURECUBE = auto()
    SHADER_LOAD = auto()
    SHADER_SAMPLE = auto()
    SHADER_SAMPLE_COMPARISON = auto()
    SHADER_GATHER = auto()
    SHADER_GATHER_COMPARISON = auto()
    MIP = auto()
    MIP_AUTOGEN = auto()
    RENDER_TARGET = auto()
    BLENDABLE = auto()
    OUTPUT_MERGER_LOGIC_OP = auto()
    DEPTH_STENCIL = auto()
    TYPED_UNORDERED_ACCESS_VIEW = auto()
    UAV_TYPED_STORE = auto()
    UAV_TYPED_LOAD = auto()
    RAW_VIEW = auto()
    STRUCTURED_VIEW = auto()
    UAV_ATOMIC_ADD = auto()
    UAV_ATOMIC_BITWISE_OPS = auto()
    UAV_ATOMIC_COMPARE_STORE_OR_EXCHANGE = auto()
    UAV_ATOMIC_EXCHANGE = auto()
    UAV_ATOMIC_SIGNED_MIN_OR_MAX = auto()
    UAV_ATOMIC_UNSIGNED_MIN_OR_MAX = auto()
    CPU_LOCKABLE = auto()
    MULTISAMPLE_RENDERTARGET_4X = auto()
    MULTISAMPLE_RENDERTARGET_8X = auto()
    MULTISAMPLE_RENDERTARGET_OTHER = auto()
    MULTISAMPLE_RESOLVE = auto()
    MULTISAMPLE_LOAD = auto()
    DISPLAY = auto()
    CAST_WITHIN_BIT_LAYOUT = auto()
    BACK_BUFFER_CAST = auto()
    DECODER_OUTPUT = auto()
    VIDEO_PROCESSOR_INPUT = auto()
    VIDEO_PROCESSOR_OUTPUT = auto()
    SHARED = auto()
    TILED = auto()


class FormatClass(Enum):
    """Casting class: partly or fully typed, castable or not, simple or complex (block, shared) layout."""

    TYPELESS_UNKNOWN = "L"
    PARTIALLY_TYPED_CASTABLE_SIMPLE = "PCS"
    FULLY_TYPED_CASTABLE_SIMPLE = "FCS"
    FULLY_TYPED_NOT_CASTABLE_SIMPLE = "FNS"
    PARTIALLY_TYPED_CASTABLE_COMPLEX = "PCC"
    FULLY_TYPED_CASTABLE_COMPLEX = "FCC"
    FULLY_TYPED_NOT_CASTABLE_COMPLEX = "FNC"
    VIDEO = "V"
    NOT_LISTED = "?"


class ChannelType(Enum):
    """How the bits of a channel are read."""

    TYPELESS = "TYPELESS"
    UNORM = "UNORM"
    SNORM = "SNORM"
    UINT = "UINT"
    SINT = "SINT"
    FLOAT = "FLOAT"
    UFLOAT = "UFLOAT"
    SHAREDEXP = "SHAREDEXP"
    XR_BIAS = "XR_BIAS"
    UNUSED = "X"


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel: R G B A, D (depth), S (stencil), E (shared exponent) or X (unused); first bit and width in the element.

    ``bits`` is 0 in a block-compressed format, where a channel has no fixed place. Packed elements are little-endian words.
    """

    name: str
    bits: int
    type: ChannelType
    offset: int


@dataclass(frozen=True, slots=True)
class FormatInfo:
    """What a format is. ``bits`` counts one element: a texel, or a 4x4 block when ``block_size`` is 4; 0 = not known.

    ``family`` is the typeless format of the cast set, for its members and for itself. ``dependent`` abilities are required if a
    related optional one is supported. Formats that the support page does not list have no ability.
    """

    format: DXGI_FORMAT
    bits: int
    block_size: int
    format_class: FormatClass
    family: DXGI_FORMAT | None
    channels: tuple[Channel, ...]
    srgb: bool
    required: FormatAbility
    optional: FormatAbility
    dependent: FormatAbility

    @property
    def bytes(self) -> int:
        """Bytes of one element (texel or block)."""
        return self.bits // 8

    @property
    def typeless(self) -> bool:
        """True when no channel has a type."""
        return bool(self.channels) and all(c.type in (ChannelType.TYPELESS, ChannelType.UNUSED) for c in self.channels)

    @property
    def compressed(self) -> bool:
        """True for the BC formats."""
        return self.block_size == 4

    @property
    def depth(self) -> bool:
        """True for a format of depth-stencil views that holds depth."""
        return any(c.name == "D" for c in self.channels)

    @property
    def stencil(self) -> bool:
        """True for a format of depth-stencil views that holds stencil."""
        return any(c.name == "S" for c in self.channels)

    @property
    def castable(self) -> bool:
        """True when a view may have another format of the family."""
        return self.format_class.value in ("PCS", "PCC", "FCS", "FCC")

    def requires(self, ability: FormatAbility) -> bool:
        """Every one of `ability` is required at feature level 11_0."""
        return self.required & ability == ability

    def allows(self, ability: FormatAbility) -> bool:
        """Every one of `ability` is required or optional at feature level 11_0."""
        return (self.required | self.optional | self.dependent) & ability == ability

    def row_bytes(self, width: int) -> int:
        """Bytes of one row of elements for `width` texels, without padding."""
        return -(-max(width, 1) // self.block_size) * self.bits // 8 if self.compressed else -(-width * self.bits // 8)

    def rows(self, height: int) -> int:
        """Rows of elements for `height` texels."""
        return -(-max(height, 1) // self.block_size) if self.compressed else height


_FAMILIES: Final[Mapping[int, tuple[int, ...]]] = MappingProxyType({
    1: (2, 3, 4),
    5: (6, 7, 8),
    9: (10, 11, 12, 13, 14),
    15: (16, 17, 18),
    19: (20, 21, 22),
    23: (24, 25, 89),
    27: (28, 29, 30, 31, 32),
    33: (34, 35, 36, 37, 38),
    39: (40, 41, 42, 43),
    44: (45, 46, 47),
    48: (49, 50, 51, 52),
    53: (54, 55, 56, 57, 58, 59),
    60: (61, 62, 63, 64),
    70: (71, 72),
    73: (74, 75),
    76: (77, 78),
    79: (80, 81),
    82: (83, 84),
    90: (87, 91),
    92: (88, 93),
    94: (95, 96),
    97: (98, 99),
})  # fmt: skip

_CHANNEL_GROUP: Final = re.compile(r"(?:[RGBADSXE][0-9]+)+")
_BLOCK_CHANNELS: Final = MappingProxyType(
    {"BC1": "RGBA", "BC2": "RGBA", "BC3": "RGBA", "BC4": "R", "BC5": "RG", "BC6H": "RGB", "BC7": "RGBA"}
)
_BLOCK_TYPES: Final = MappingProxyType({"UF16": ChannelType.UFLOAT, "SF16": ChannelType.FLOAT})
_VIDEO: Final = frozenset({"P8", "A8P8", "P010", "P016", "P208"})


def _channels(name: str) -> tuple[Channel, ...]:
    """Channels of a format name, lowest bit first: groups of letters and widths, each followed by its type."""
    words = name.split("_")
    if words[0] in _BLOCK_CHANNELS:
        kind = _BLOCK_TYPES[words[1]] if words[1] in _BLOCK_TYPES else ChannelType(words[1])
        return tuple(Channel(letter, 0, kind, 0) for letter in _BLOCK_CHANNELS[words[0]])
    if not _CHANNEL_GROUP.fullmatch(words[0]) or name in _VIDEO:
        return ()
    found: list[Channel] = []
    offset = 0
    for place, word in enumerate(words):
        if not _CHANNEL_GROUP.fullmatch(word):
            continue
        rest = [w for w in words[place + 1 :] if not _CHANNEL_GROUP.fullmatch(w)]
        kind = ChannelType.XR_BIAS if rest[0] == "XR" else ChannelType(rest[0])
        for letter, digits in re.findall(r"([A-Z])([0-9]+)", word):
            bits = int(digits)
            actual = ChannelType.UNUSED if letter == "X" else kind
            if kind is ChannelType.FLOAT and bits in (10, 11):
                actual = ChannelType.UFLOAT
            found.append(Channel(letter, bits, actual, offset))
            offset += bits
    return tuple(found)


def _abilities(letters: str, wanted: str) -> FormatAbility:
    found = FormatAbility(0)
    for ability, letter in zip(FormatAbility, letters, strict=False):
        if letter == wanted:
            found |= ability
    return found


def _build() -> Mapping[DXGI_FORMAT, FormatInfo]:
    family_of = {member: head for head, members in _FAMILIES.items() for member in (head, *members)}
    infos: dict[DXGI_FORMAT, FormatInfo] = {}
    for line in _TABLE.splitlines():
        value, bits, format_class, *groups = line.split()
        number = DXGI_FORMAT(int(value))
        letters = "".join(groups)
        head = family_of.get(int(value))
        infos[number] = FormatInfo(
            format=number,
            bits=int(bits.removesuffix("/4x4")),
            block_size=4 if bits.endswith("/4x4") else 1,
            format_class=FormatClass(format_class),
            family=None if head is None else DXGI_FORMAT(head),
            channels=_channels(number.name),
            srgb=number.name.endswith("_SRGB"),
            required=_abilities(letters, "R"),
            optional=_abilities(letters, "O"),
            dependent=_abilities(letters, "D"),
        )
    return MappingProxyType(infos)


FORMATS: Final[Mapping[DXGI_FORMAT, FormatInfo]] = _build()
"""Every DXGI_FORMAT but FORCE_UINT."""

TYPELESS_FAMILIES: Final[Mapping[DXGI_FORMAT, tuple[DXGI_FORMAT, ...]]] = MappingProxyType(
    {DXGI_FORMAT(head): tuple(DXGI_FORMAT(member) for member in members) for head, members in _FAMILIES.items()}
)
"""Typeless format -> the fully typed formats that a view of it may have."""

SCAN_OUT_FORMATS: Final = frozenset(f for f, info in FORMATS.items() if info.requires(FormatAbility.DISPLAY))
"""What feature level 11_0 must scan out."""

DISPLAY_MODE_FORMATS: Final = frozenset(
    {
        DXGI_FORMAT.B5G6R5_UNORM,
        DXGI_FORMAT.B5G5R5A1_UNORM,
        DXGI_FORMAT.B8G8R8A8_UNORM,
        DXGI_FORMAT.B8G8R8X8_UNORM,
        DXGI_FORMAT.R16G16B16A16_FLOAT,
        DXGI_FORMAT.R10G10B10A2_UNORM,
        DXGI_FORMAT.R8G8B8A8_UNORM,
        DXGI_FORMAT.R8G8B8A8_UNORM_SRGB,
    }
)
"""What the DXGI DDI's Blt takes as source and destination."""

GDI_DISPLAY_MODE_FORMATS: Final = frozenset(
    {
        DXGI_FORMAT.B5G6R5_UNORM,
        DXGI_FORMAT.B5G5R5A1_UNORM,
        DXGI_FORMAT.B8G8R8A8_UNORM,
        DXGI_FORMAT.B8G8R8X8_UNORM,
    }
)

FLIP_MODEL_FORMATS: Final = frozenset(
    {
        DXGI_FORMAT.R16G16B16A16_FLOAT,
        DXGI_FORMAT.B8G8R8A8_UNORM,
        DXGI_FORMAT.R8G8B8A8_UNORM,
        DXGI_FORMAT.R10G10B10A2_UNORM,
    }
)
"""Formats of a flip-model swap chain."""

BACK_BUFFER_CAST_FAMILIES: Final = frozenset(
    {DXGI_FORMAT.R8G8B8A8_TYPELESS, DXGI_FORMAT.B8G8R8A8_TYPELESS, DXGI_FORMAT.R10G10B10A2_TYPELESS}
)
"""Families whose back buffers may be viewed as any fully typed member even when created fully typed."""

DXGI_FROM_D3DDDIFORMAT: Final[Mapping[D3DDDIFORMAT, DXGI_FORMAT]] = MappingProxyType({
    D3DDDIFORMAT.UNKNOWN: DXGI_FORMAT.UNKNOWN,
    D3DDDIFORMAT.A8R8G8B8: DXGI_FORMAT.B8G8R8A8_UNORM,
    D3DDDIFORMAT.X8R8G8B8: DXGI_FORMAT.B8G8R8X8_UNORM,
    D3DDDIFORMAT.R5G6B5: DXGI_FORMAT.B5G6R5_UNORM,
    D3DDDIFORMAT.A1R5G5B5: DXGI_FORMAT.B5G5R5A1_UNORM,
    D3DDDIFORMAT.A4R4G4B4: DXGI_FORMAT.B4G4R4A4_UNORM,
    D3DDDIFORMAT.A8: DXGI_FORMAT.A8_UNORM,
    D3DDDIFORMAT.A2B10G10R10: DXGI_FORMAT.R10G10B10A2_UNORM,
    D3DDDIFORMAT.A8B8G8R8: DXGI_FORMAT.R8G8B8A8_UNORM,
    D3DDDIFORMAT.G16R16: DXGI_FORMAT.R16G16_UNORM,
    D3DDDIFORMAT.A16B16G16R16: DXGI_FORMAT.R16G16B16A16_UNORM,
    D3DDDIFORMAT.L8: DXGI_FORMAT.R8_UNORM,
    D3DDDIFORMAT.V8U8: DXGI_FORMAT.R8G8_SNORM,
    D3DDDIFORMAT.Q8W8V8U8: DXGI_FORMAT.R8G8B8A8_SNORM,
    D3DDDIFORMAT.V16U16: DXGI_FORMAT.R16G16_SNORM,
    D3DDDIFORMAT.D16_LOCKABLE: DXGI_FORMAT.D16_UNORM,
    D3DDDIFORMAT.S8D24: DXGI_FORMAT.D24_UNORM_S8_UINT,
    D3DDDIFORMAT.D16: DXGI_FORMAT.D16_UNORM,
    D3DDDIFORMAT.L16: DXGI_FORMAT.R16_UNORM,
    D3DDDIFORMAT.D32F_LOCKABLE: DXGI_FORMAT.D32_FLOAT,
    D3DDDIFORMAT.G8R8: DXGI_FORMAT.R8G8_UNORM,
    D3DDDIFORMAT.R8: DXGI_FORMAT.R8_UNORM,
    D3DDDIFORMAT.INDEX16: DXGI_FORMAT.R16_UINT,
    D3DDDIFORMAT.INDEX32: DXGI_FORMAT.R32_UINT,
    D3DDDIFORMAT.Q16W16V16U16: DXGI_FORMAT.R16G16B16A16_SNORM,
    D3DDDIFORMAT.R16F: DXGI_FORMAT.R16_FLOAT,
    D3DDDIFORMAT.G16R16F: DXGI_FORMAT.R16G16_FLOAT,
    D3DDDIFORMAT.A16B16G16R16F: DXGI_FORMAT.R16G16B16A16_FLOAT,
    D3DDDIFORMAT.R32F: DXGI_FORMAT.R32_FLOAT,
    D3DDDIFORMAT.G32R32F: DXGI_FORMAT.R32G32_FLOAT,
    D3DDDIFORMAT.A32B32G32R32F: DXGI_FORMAT.R32G32B32A32_FLOAT,
    D3DDDIFORMAT.A2B10G10R10_XR_BIAS: DXGI_FORMAT.R10G10B10_XR_BIAS_A2_UNORM,
    D3DDDIFORMAT.DXT1: DXGI_FORMAT.BC1_UNORM,
    D3DDDIFORMAT.DXT2: DXGI_FORMAT.BC2_UNORM,
    D3DDDIFORMAT.DXT3: DXGI_FORMAT.BC2_UNORM,
    D3DDDIFORMAT.DXT4: DXGI_FORMAT.BC3_UNORM,
    D3DDDIFORMAT.DXT5: DXGI_FORMAT.BC3_UNORM,
    D3DDDIFORMAT.R8G8_B8G8: DXGI_FORMAT.G8R8_G8B8_UNORM,
    D3DDDIFORMAT.G8R8_G8B8: DXGI_FORMAT.R8G8_B8G8_UNORM,
})  # fmt: skip
"""Legacy formats with an equal layout. The packed pairs cross over, because the two naming directions differ."""

D3DDDIFORMAT_FROM_DXGI: Final[Mapping[DXGI_FORMAT, D3DDDIFORMAT]] = MappingProxyType({
    DXGI_FORMAT.B8G8R8A8_UNORM: D3DDDIFORMAT.A8R8G8B8,
    DXGI_FORMAT.B8G8R8A8_UNORM_SRGB: D3DDDIFORMAT.A8R8G8B8,
    DXGI_FORMAT.B8G8R8X8_UNORM: D3DDDIFORMAT.X8R8G8B8,
    DXGI_FORMAT.B8G8R8X8_UNORM_SRGB: D3DDDIFORMAT.X8R8G8B8,
    DXGI_FORMAT.B5G6R5_UNORM: D3DDDIFORMAT.R5G6B5,
    DXGI_FORMAT.B5G5R5A1_UNORM: D3DDDIFORMAT.A1R5G5B5,
    DXGI_FORMAT.R10G10B10A2_UNORM: D3DDDIFORMAT.A2B10G10R10,
    DXGI_FORMAT.R16G16B16A16_FLOAT: D3DDDIFORMAT.A16B16G16R16F,
    DXGI_FORMAT.R8G8B8A8_UNORM: D3DDDIFORMAT.A8B8G8R8,
    DXGI_FORMAT.R8G8B8A8_UNORM_SRGB: D3DDDIFORMAT.A8B8G8R8,
    DXGI_FORMAT.R10G10B10_XR_BIAS_A2_UNORM: D3DDDIFORMAT.A2B10G10R10_XR_BIAS,
})  # fmt: skip
"""Formats of primaries and source modes."""
