"""Descriptors: how the eight data dwords of a binding packet describe a view, a sampler or fixed-function state.

Each class packs itself into dwords and unpacks, one field list for both sides. A class's docstring gives the place of every field
as ``dword[low..high]``; bits that no field has are written 0 and ignored. Packing raises ValueError for a number that does not
fit its field. Unpacking checks nothing but what its docstring tells: the hardware validates meaning when it uses a descriptor, and
answers a field that means nothing with ``Fault.BAD_DESCRIPTOR``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any, Final


def float_bits(value: float) -> int:
    """The bits of the float32 nearest to ``value``; beyond its range, of the infinity."""
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        packed = struct.pack("<f", math.copysign(math.inf, value))
    return int.from_bytes(packed, "little")


def bits_float(bits: int) -> float:
    """The float32 with these bits."""
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def _misfit(descriptor: Any, bits: dict[str, int]) -> ValueError:
    """What to raise when some field does not fit; ``bits`` are the widths of the fields."""
    name = next(n for n, width in bits.items() if getattr(descriptor, n) >> width)
    kind = type(descriptor).__name__
    return ValueError(f"{kind}.{name} {getattr(descriptor, name)} does not fit {bits[name]} bits")


class ViewDimension(IntEnum):
    """What a view looks like to a shader. Arrays are views with ``is_array``."""

    NONE = 0
    BUFFER = 1  #: typed elements of ``format``
    RAW_BUFFER = 2  #: dwords
    STRUCTURED_BUFFER = 3  #: elements of ``stride`` bytes
    TEXTURE1D = 4
    TEXTURE2D = 5
    TEXTURE3D = 6
    TEXTURECUBE = 7  #: slices come in groups of six


class ViewFlag(IntFlag):
    """Flags of a view."""

    ARRAY = 1
    COUNTER = 2  #: UAV with a hidden counter at address2 (append/consume or counter)


@dataclass(frozen=True, slots=True)
class View:
    """A view of a surface or buffer, for SET_RESOURCE, SET_UAV, SET_RENDER_TARGET, SET_DEPTH_STENCIL and SET_SURFACE.

    The packet's ``address`` (a multiple of 4) and ``extent`` are those of the whole resource; ``width``… describe all of it
    (:func:`~wddm.hw.layout.surface_layout` of these numbers must fit into ``extent``), the ``first_``/``count`` fields the part
    that is seen. For buffers ``width`` is the number of elements seen and ``height`` the index of the first; an element has the
    bytes of ``format``, 4 of a raw buffer, ``stride`` of a structured one.

    width 0[0..31], height 1[0..31], depth 2[0..15], slices 2[16..31], format 3[0..7], dimension 3[8..15], samples 3[16..23],
    flags 3[24..31], mips 4[0..7], mip_count 4[8..15], first_mip 4[16..23], first_slice 5[0..15], slice_count 5[16..31],
    stride 6[0..31], min_lod 7 (float).
    """

    dimension: ViewDimension
    format: int  #: Format the view reads and writes
    width: int  #: texels of mip 0; elements for buffers
    height: int = 1  #: first element for buffers
    depth: int = 1
    mips: int = 1  #: of the resource
    slices: int = 1  #: of the resource
    samples: int = 1
    first_mip: int = 0
    mip_count: int = 1
    first_slice: int = 0  #: first depth slice (w) for 3D render targets and UAVs
    slice_count: int = 1
    flags: int = 0
    stride: int = 0  #: structured buffers, bytes
    min_lod: float = 0.0  #: resource minimum LOD clamp

    def pack(self) -> tuple[int, ...]:
        """The eight data dwords. Raises ValueError for a number that does not fit."""
        if (
            (self.width | self.height | self.stride) >> 32
            or (self.depth | self.slices | self.first_slice | self.slice_count) >> 16
            or (self.format | self.samples | self.flags | self.mips | self.mip_count | self.first_mip) >> 8
        ):
            raise _misfit(self, _VIEW_BITS)
        return (
            self.width,
            self.height,
            self.depth | self.slices << 16,
            self.format | self.dimension << 8 | self.samples << 16 | self.flags << 24,
            self.mips | self.mip_count << 8 | self.first_mip << 16,
            self.first_slice | self.slice_count << 16,
            self.stride,
            float_bits(self.min_lod),
        )

    @classmethod
    def unpack(cls, data: Sequence[int]) -> View:
        """From eight dwords. Raises ValueError for a dimension that does not exist."""
        d = [int(x) for x in data]
        return cls(
            dimension=ViewDimension(d[3] >> 8 & 0xFF),
            format=d[3] & 0xFF,
            width=d[0],
            height=d[1],
            depth=d[2] & 0xFFFF,
            slices=d[2] >> 16,
            samples=d[3] >> 16 & 0xFF,
            flags=d[3] >> 24,
            mips=d[4] & 0xFF,
            mip_count=d[4] >> 8 & 0xFF,
            first_mip=d[4] >> 16 & 0xFF,
            first_slice=d[5] & 0xFFFF,
            slice_count=d[5] >> 16,
            stride=d[6],
            min_lod=bits_float(d[7]),
        )


_VIEW_BITS: Final = {
    **dict.fromkeys(("width", "height", "stride"), 32),
    **dict.fromkeys(("depth", "slices", "first_slice", "slice_count"), 16),
    **dict.fromkeys(("format", "samples", "flags", "mips", "mip_count", "first_mip"), 8),
}


class Filter(IntEnum):
    """Per-direction sampler filter."""

    POINT = 0
    LINEAR = 1


class AddressMode(IntEnum):
    """Texture address modes (Direct3D numbers)."""

    WRAP = 1
    MIRROR = 2
    CLAMP = 3
    BORDER = 4
    MIRROR_ONCE = 5


class Comparison(IntEnum):
    """Comparison functions (Direct3D numbers)."""

    NEVER = 1
    LESS = 2
    EQUAL = 3
    LESS_EQUAL = 4
    GREATER = 5
    NOT_EQUAL = 6
    GREATER_EQUAL = 7
    ALWAYS = 8


@dataclass(frozen=True, slots=True)
class Sampler:
    """A sampler, for SET_SAMPLER.

    min_filter 0[0], mag_filter 0[1], mip_filter 0[2], anisotropic 0[3], compare 0[4], address_u 0[8..10], address_v 0[11..13],
    address_w 0[14..16], comparison 0[17..20], max_anisotropy 0[24..28], mip_lod_bias 1, min_lod 2, max_lod 3, border 4..7 (floats).
    """

    min_filter: int = Filter.LINEAR
    mag_filter: int = Filter.LINEAR
    mip_filter: int = Filter.LINEAR
    anisotropic: bool = False
    compare: bool = False  #: comparison sampler
    address_u: int = AddressMode.CLAMP
    address_v: int = AddressMode.CLAMP
    address_w: int = AddressMode.CLAMP
    comparison: int = Comparison.NEVER
    max_anisotropy: int = 1
    mip_lod_bias: float = 0.0
    min_lod: float = -3.4028234663852886e38
    max_lod: float = 3.4028234663852886e38
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    def pack(self) -> tuple[int, ...]:
        """The eight data dwords. Raises ValueError for a number that does not fit."""
        if (
            (self.min_filter | self.mag_filter | self.mip_filter) >> 1
            or (self.address_u | self.address_v | self.address_w) >> 3
            or self.comparison >> 4
            or self.max_anisotropy >> 5
        ):
            raise _misfit(self, _SAMPLER_BITS)
        word = (
            self.min_filter
            | self.mag_filter << 1
            | self.mip_filter << 2
            | int(self.anisotropic) << 3
            | int(self.compare) << 4
            | self.address_u << 8
            | self.address_v << 11
            | self.address_w << 14
            | self.comparison << 17
            | self.max_anisotropy << 24
        )
        floats = (self.mip_lod_bias, self.min_lod, self.max_lod, *self.border)
        return (word, *(float_bits(f) for f in floats))

    @classmethod
    def unpack(cls, data: Sequence[int]) -> Sampler:
        """From eight dwords."""
        w = int(data[0])
        f = [bits_float(int(x)) for x in data[1:8]]
        return cls(
            min_filter=w & 1,
            mag_filter=w >> 1 & 1,
            mip_filter=w >> 2 & 1,
            anisotropic=bool(w >> 3 & 1),
            compare=bool(w >> 4 & 1),
            address_u=w >> 8 & 7,
            address_v=w >> 11 & 7,
            address_w=w >> 14 & 7,
            comparison=w >> 17 & 15,
            max_anisotropy=w >> 24 & 31,
            mip_lod_bias=f[0],
            min_lod=f[1],
            max_lod=f[2],
            border=(f[3], f[4], f[5], f[6]),
        )


_SAMPLER_BITS: Final = {
    **dict.fromkeys(("min_filter", "mag_filter", "mip_filter"), 1),
    **dict.fromkeys(("address_u", "address_v", "address_w"), 3),
    "comparison": 4,
    "max_anisotropy": 5,
}


class BlendFactor(IntEnum):
    """Blend factors (Direct3D numbers)."""

    ZERO = 1
    ONE = 2
    SRC_COLOR = 3
    INV_SRC_COLOR = 4
    SRC_ALPHA = 5
    INV_SRC_ALPHA = 6
    DEST_ALPHA = 7
    INV_DEST_ALPHA = 8
    DEST_COLOR = 9
    INV_DEST_COLOR = 10
    SRC_ALPHA_SAT = 11
    BLEND_FACTOR = 14
    INV_BLEND_FACTOR = 15
    SRC1_COLOR = 16
    INV_SRC1_COLOR = 17
    SRC1_ALPHA = 18
    INV_SRC1_ALPHA = 19


class BlendOp(IntEnum):
    """Blend operations (Direct3D numbers)."""

    ADD = 1
    SUBTRACT = 2
    REV_SUBTRACT = 3
    MIN = 4
    MAX = 5


class BlendFlag(IntFlag):
    """``arg`` of SET_BLEND, low byte; the logic operation (0..15, Direct3D order) is in bits 8..11."""

    ALPHA_TO_COVERAGE = 1
    LOGIC_OP = 2


@dataclass(frozen=True, slots=True)
class TargetBlend:
    """Blend state of one render target, one data dword of SET_BLEND.

    enable [0], src [1..5], dst [6..10], op [11..13], src_alpha [14..18], dst_alpha [19..23], op_alpha [24..26],
    write_mask [27..30] (red is the lowest bit).
    """

    enable: bool = False
    src: int = BlendFactor.ONE
    dst: int = BlendFactor.ZERO
    op: int = BlendOp.ADD
    src_alpha: int = BlendFactor.ONE
    dst_alpha: int = BlendFactor.ZERO
    op_alpha: int = BlendOp.ADD
    write_mask: int = 15

    def pack(self) -> int:
        """The dword. Raises ValueError for a number that does not fit."""
        if (
            (self.src | self.dst | self.src_alpha | self.dst_alpha) >> 5
            or (self.op | self.op_alpha) >> 3
            or self.write_mask >> 4
        ):
            raise _misfit(self, _BLEND_BITS)
        return (
            int(self.enable)
            | self.src << 1
            | self.dst << 6
            | self.op << 11
            | self.src_alpha << 14
            | self.dst_alpha << 19
            | self.op_alpha << 24
            | self.write_mask << 27
        )

    @classmethod
    def unpack(cls, word: int) -> TargetBlend:
        """From the dword."""
        return cls(
            bool(word & 1),
            word >> 1 & 31,
            word >> 6 & 31,
            word >> 11 & 7,
            word >> 14 & 31,
            word >> 19 & 31,
            word >> 24 & 7,
            word >> 27 & 15,
        )


_BLEND_BITS: Final = {
    **dict.fromkeys(("src", "dst", "src_alpha", "dst_alpha"), 5),
    **dict.fromkeys(("op", "op_alpha"), 3),
    "write_mask": 4,
}


class StencilOp(IntEnum):
    """Stencil operations (Direct3D numbers)."""

    KEEP = 1
    ZERO = 2
    REPLACE = 3
    INCR_SAT = 4
    DECR_SAT = 5
    INVERT = 6
    INCR = 7
    DECR = 8


@dataclass(frozen=True, slots=True)
class StencilFace:
    """Stencil behaviour of one side, one data dword: fail [0..7], depth_fail [8..15], passed [16..23], comparison [24..31]."""

    fail: int = StencilOp.KEEP
    depth_fail: int = StencilOp.KEEP
    passed: int = StencilOp.KEEP
    comparison: int = Comparison.ALWAYS

    def pack(self) -> int:
        """The dword. Raises ValueError for a number that does not fit."""
        if (self.fail | self.depth_fail | self.passed | self.comparison) >> 8:
            raise _misfit(self, dict.fromkeys(("fail", "depth_fail", "passed", "comparison"), 8))
        return self.fail | self.depth_fail << 8 | self.passed << 16 | self.comparison << 24

    @classmethod
    def unpack(cls, word: int) -> StencilFace:
        """From the dword."""
        return cls(word & 0xFF, word >> 8 & 0xFF, word >> 16 & 0xFF, word >> 24)


@dataclass(frozen=True, slots=True)
class DepthStencil:
    """SET_DEPTH_STENCIL_STATE.

    depth_enable 0[0], depth_write 0[1], stencil_enable 0[2], comparison 0[4..7], read_mask 0[8..15], write_mask 0[16..23],
    front 1, back 2, reference 3[0..7].
    """

    depth_enable: bool = True
    depth_write: bool = True
    comparison: int = Comparison.LESS
    stencil_enable: bool = False
    read_mask: int = 0xFF
    write_mask: int = 0xFF
    front: StencilFace = StencilFace()
    back: StencilFace = StencilFace()
    reference: int = 0

    def pack(self) -> tuple[int, ...]:
        """Four data dwords, zero padded to eight. Raises ValueError for a number that does not fit."""
        if (self.read_mask | self.write_mask | self.reference) >> 8 or self.comparison >> 4:
            raise _misfit(self, {**dict.fromkeys(("read_mask", "write_mask", "reference"), 8), "comparison": 4})
        word = (
            int(self.depth_enable)
            | int(self.depth_write) << 1
            | int(self.stencil_enable) << 2
            | self.comparison << 4
            | self.read_mask << 8
            | self.write_mask << 16
        )
        return (word, self.front.pack(), self.back.pack(), self.reference, 0, 0, 0, 0)

    @classmethod
    def unpack(cls, data: Sequence[int]) -> DepthStencil:
        """From the data dwords."""
        w = int(data[0])
        return cls(
            bool(w & 1),
            bool(w >> 1 & 1),
            w >> 4 & 15,
            bool(w >> 2 & 1),
            w >> 8 & 0xFF,
            w >> 16 & 0xFF,
            StencilFace.unpack(int(data[1])),
            StencilFace.unpack(int(data[2])),
            int(data[3]) & 0xFF,
        )


class FillMode(IntEnum):
    """Fill modes (Direct3D numbers)."""

    WIREFRAME = 2
    SOLID = 3


class CullMode(IntEnum):
    """Cull modes (Direct3D numbers)."""

    NONE = 1
    FRONT = 2
    BACK = 3


@dataclass(frozen=True, slots=True)
class Rasterizer:
    """SET_RASTERIZER.

    fill 0[0..1], cull 0[2..3], front_counter_clockwise 0[4], depth_clip 0[5], scissor 0[6], multisample 0[7],
    antialiased_line 0[8], depth_bias 1 (i32), depth_bias_clamp 2, slope_scaled_depth_bias 3 (floats).
    """

    fill: int = FillMode.SOLID
    cull: int = CullMode.BACK
    front_counter_clockwise: bool = False
    depth_clip: bool = True
    scissor: bool = False
    multisample: bool = False
    antialiased_line: bool = False
    depth_bias: int = 0
    depth_bias_clamp: float = 0.0
    slope_scaled_depth_bias: float = 0.0

    def pack(self) -> tuple[int, ...]:
        """Four data dwords, zero padded to eight. Raises ValueError for a number that does not fit."""
        if (self.fill | self.cull) >> 2:
            raise _misfit(self, dict.fromkeys(("fill", "cull"), 2))
        word = (
            self.fill
            | self.cull << 2
            | int(self.front_counter_clockwise) << 4
            | int(self.depth_clip) << 5
            | int(self.scissor) << 6
            | int(self.multisample) << 7
            | int(self.antialiased_line) << 8
        )
        return (
            word,
            self.depth_bias & 0xFFFF_FFFF,
            float_bits(self.depth_bias_clamp),
            float_bits(self.slope_scaled_depth_bias),
            0,
            0,
            0,
            0,
        )

    @classmethod
    def unpack(cls, data: Sequence[int]) -> Rasterizer:
        """From the data dwords."""
        w, bias = int(data[0]), int(data[1])
        return cls(
            w & 3,
            w >> 2 & 3,
            bool(w >> 4 & 1),
            bool(w >> 5 & 1),
            bool(w >> 6 & 1),
            bool(w >> 7 & 1),
            bool(w >> 8 & 1),
            bias - (1 << 32) if bias >> 31 else bias,
            bits_float(int(data[2])),
            bits_float(int(data[3])),
        )


#: Dwords of one input element in SET_INPUT_LAYOUT, and elements per packet.
INPUT_ELEMENT_DWORDS: Final = 2
INPUT_ELEMENTS_PER_PACKET: Final = 4


@dataclass(frozen=True, slots=True)
class InputElement:
    """One vertex element: where an input register comes from, two data dwords of SET_INPUT_LAYOUT.

    register 0[0..4], slot 0[5..9], format 0[10..17], per_instance 0[18], offset 1[0..15], step_rate 1[16..31].
    """

    register: int  #: v# of the vertex shader
    slot: int  #: vertex buffer
    format: int
    offset: int  #: bytes
    per_instance: bool = False
    step_rate: int = 0  #: instances per step; 0 = never steps

    def pack(self) -> tuple[int, int]:
        """Two dwords. Raises ValueError for a number that does not fit."""
        if (self.register | self.slot) >> 5 or self.format >> 8 or (self.offset | self.step_rate) >> 16:
            raise _misfit(self, {"register": 5, "slot": 5, "format": 8, "offset": 16, "step_rate": 16})
        return (
            self.register | self.slot << 5 | self.format << 10 | int(self.per_instance) << 18,
            self.offset | self.step_rate << 16,
        )

    @classmethod
    def unpack(cls, low: int, high: int) -> InputElement:
        """From two dwords."""
        return cls(low & 31, low >> 5 & 31, low >> 10 & 0xFF, high & 0xFFFF, bool(low >> 18 & 1), high >> 16)
