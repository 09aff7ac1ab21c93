"""Vertex formats: FVF codes and declarations of DirectX 8 and 9 as one list of elements.

An element feeds one register of the fixed-function vertex pipeline (:class:`Register`, numbered as DirectX 8 declarations number
them), or one input of a vertex shader. Models "Determining the Vertex Buffer Data Format" and "FVF Update".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final

from umd.dp2.errors import CommandError
from wddm.ddi.d3dhal import (
    D3DDECLTYPE,
    D3DDECLUSAGE,
    D3DFVF,
    D3DFVF_POSITION_MASK,
    fvf_size,
    fvf_texture_floats,
)
from wddm.hw.formats import FORMATS, Format

T = D3DDECLTYPE
U = D3DDECLUSAGE
MAX_STREAMS: Final = 16


class Register(IntEnum):
    """Inputs of the fixed-function vertex pipeline."""

    POSITION = 0
    BLENDWEIGHT = 1
    BLENDINDICES = 2
    NORMAL = 3
    PSIZE = 4
    DIFFUSE = 5
    SPECULAR = 6
    TEXCOORD0 = 7


@dataclass(frozen=True, slots=True)
class Element:
    """One vertex element; ``offset`` in bytes of a vertex of ``stream``."""

    register: int
    type: D3DDECLTYPE
    offset: int
    stream: int = 0
    usage: D3DDECLUSAGE = U.POSITION
    usage_index: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class VertexFormat:
    """Elements of a vertex. ``transformed``: positions are of the screen. ``weights``: blend weights that a vertex brings.

    A format is the same as itself only, which makes it a cheap key.
    """

    elements: tuple[Element, ...]
    transformed: bool = False
    weights: int = 0

    def find(self, register: int) -> Element | None:
        """The element of a register of the fixed-function pipeline."""
        return next((e for e in self.elements if e.register == register), None)

    def size(self, stream: int) -> int:
        """Bytes of a vertex of a stream that are read."""
        return max((e.offset + SIZES[e.type] for e in self.elements if e.stream == stream), default=0)

    @property
    def streams(self) -> tuple[int, ...]:
        """Streams that are read."""
        return tuple(sorted({e.stream for e in self.elements}))


#: Hardware format that an element is fetched with.
FETCH: Final = {
    T.FLOAT1: Format.R32_FLOAT,
    T.FLOAT2: Format.R32G32_FLOAT,
    T.FLOAT3: Format.R32G32B32_FLOAT,
    T.FLOAT4: Format.R32G32B32A32_FLOAT,
    T.D3DCOLOR: Format.B8G8R8A8_UNORM,
    T.UBYTE4: Format.R8G8B8A8_UINT,
    T.SHORT2: Format.R16G16_SINT,
    T.SHORT4: Format.R16G16B16A16_SINT,
    T.UBYTE4N: Format.R8G8B8A8_UNORM,
    T.SHORT2N: Format.R16G16_SNORM,
    T.SHORT4N: Format.R16G16B16A16_SNORM,
    T.USHORT2N: Format.R16G16_UNORM,
    T.USHORT4N: Format.R16G16B16A16_UNORM,
    T.UDEC3: Format.R10G10B10A2_UINT,
    T.FLOAT16_2: Format.R16G16_FLOAT,
    T.FLOAT16_4: Format.R16G16B16A16_FLOAT,
}
SIZES: Final = {type: FORMATS[format].bytes_per_block for type, format in FETCH.items()}
#: Types that arrive as integers and become floats in the shader, and how many components they have.
UNSIGNED: Final = frozenset({T.UBYTE4, T.UDEC3})
SIGNED: Final = frozenset({T.SHORT2, T.SHORT4})
COMPONENTS: Final = {
    T.FLOAT1: 1, T.FLOAT2: 2, T.FLOAT3: 3, T.FLOAT4: 4, T.D3DCOLOR: 4, T.UBYTE4: 4, T.SHORT2: 2, T.SHORT4: 4, T.UBYTE4N: 4,
    T.SHORT2N: 2, T.SHORT4N: 4, T.USHORT2N: 2, T.USHORT4N: 4, T.UDEC3: 3, T.FLOAT16_2: 2, T.FLOAT16_4: 4,
}  # fmt: skip
_FLOATS: Final = (T.FLOAT1, T.FLOAT2, T.FLOAT3, T.FLOAT4)
_WEIGHTS: Final = {0x6: 1, 0x8: 2, 0xA: 3, 0xC: 4, 0xE: 5}


@lru_cache(256)
def fvf_format(fvf: int) -> VertexFormat:
    """The format of an FVF code. Raises CommandError for a code that is none."""
    try:
        fvf_size(fvf)
        sets = fvf_texture_floats(fvf)
    except ValueError as error:
        raise CommandError.params(str(error)) from None
    position = fvf & D3DFVF_POSITION_MASK
    if fvf & D3DFVF.RESERVED0 or not position:
        raise CommandError.params(f"FVF 0x{fvf:08X} has no position, or a reserved bit")
    if position == D3DFVF.XYZRHW and fvf & D3DFVF.NORMAL:
        raise CommandError.params(f"FVF 0x{fvf:08X} has a normal with a transformed position")
    elements: list[Element] = []
    at = 0

    def add(register: int, type: D3DDECLTYPE, usage: D3DDECLUSAGE, index: int = 0) -> None:
        nonlocal at
        elements.append(Element(register, type, at, 0, usage, index))
        at += SIZES[type]

    transformed = position == D3DFVF.XYZRHW
    four = transformed or position == D3DFVF.XYZW
    add(Register.POSITION, T.FLOAT4 if four else T.FLOAT3, U.POSITIONT if transformed else U.POSITION)
    weights = _WEIGHTS.get(position, 0)
    packed = bool(weights and fvf & (D3DFVF.LASTBETA_UBYTE4 | D3DFVF.LASTBETA_D3DCOLOR))
    betas = weights - packed
    if betas > 4:
        raise CommandError.unsupported(f"FVF 0x{fvf:08X} has five blend weights, four are the most")
    if betas:
        add(Register.BLENDWEIGHT, _FLOATS[betas - 1], U.BLENDWEIGHT)
    if packed:
        # Colours hold the indices of DirectX 8 in the order of their bytes, as four bytes do.
        add(Register.BLENDINDICES, T.UBYTE4, U.BLENDINDICES)
    if fvf & D3DFVF.NORMAL:
        add(Register.NORMAL, T.FLOAT3, U.NORMAL)
    if fvf & D3DFVF.PSIZE:
        add(Register.PSIZE, T.FLOAT1, U.PSIZE)
    if fvf & D3DFVF.DIFFUSE:
        add(Register.DIFFUSE, T.D3DCOLOR, U.COLOR)
    if fvf & D3DFVF.SPECULAR:
        add(Register.SPECULAR, T.D3DCOLOR, U.COLOR, 1)
    for index, floats in enumerate(sets):
        add(Register.TEXCOORD0 + index, _FLOATS[floats - 1], U.TEXCOORD, index)
    return VertexFormat(tuple(elements), transformed, betas)


_REGISTERS: Final = {
    (U.POSITION, 0): 0, (U.POSITIONT, 0): 0, (U.BLENDWEIGHT, 0): 1, (U.BLENDINDICES, 0): 2, (U.NORMAL, 0): 3, (U.PSIZE, 0): 4,
    (U.COLOR, 0): 5, (U.COLOR, 1): 6, **{(U.TEXCOORD, i): Register.TEXCOORD0 + i for i in range(8)},
}  # fmt: skip


def declaration9(records: Sequence[Any]) -> VertexFormat:
    """The format of a DirectX 9 declaration (D3DVERTEXELEMENT9 records). Raises CommandError."""
    elements = []
    for record in records:
        stream = int(record["Stream"])
        if stream == 0xFF:  # D3DDECL_END
            break
        try:
            type, usage = D3DDECLTYPE(int(record["Type"])), D3DDECLUSAGE(int(record["Usage"]))
        except ValueError as error:
            raise CommandError.params(f"vertex element: {error}") from None
        if type is T.UNUSED:
            continue
        if type not in FETCH or int(record["Method"]):
            raise CommandError.unsupported(f"vertex element of type {type.name} with method {int(record['Method'])}")
        if stream >= MAX_STREAMS:
            raise CommandError.params(f"vertex element in stream {stream}")
        index = int(record["UsageIndex"])
        register = _REGISTERS.get((usage, index), -1)
        elements.append(Element(register, type, int(record["Offset"]), stream, usage, index))
    return _format(elements)


def declaration8(tokens: Sequence[int]) -> tuple[VertexFormat, dict[int, tuple[int, ...]]]:
    """The format of a DirectX 8 declaration, and the constants that it defines (register -> four dwords). Raises CommandError."""
    elements: list[Element] = []
    constants: dict[int, tuple[int, ...]] = {}
    stream = offset = at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        kind = token >> 29
        if kind == 7:
            return _format(elements), constants
        if kind == 1:  # a stream; bit 28 asks for the tessellator
            stream, offset = token & 0xF, 0
        elif kind == 2 and token >> 28 & 1:
            offset += 4 * (token >> 16 & 0xF)
        elif kind == 2:
            code = token >> 16 & 0xF
            if code > T.SHORT4:
                raise CommandError.params(f"vertex data of type {code}")
            type = D3DDECLTYPE(code)
            elements.append(Element(token & 0x1F, type, offset, stream, U.TEXCOORD, token & 0x1F))
            offset += SIZES[type]
        elif kind == 4:
            count, register = token >> 25 & 0xF, token & 0x7F
            if len(tokens) - at < 4 * count:
                raise CommandError.params("a declaration's constants go beyond its end")
            for index in range(count):
                constants[register + index] = tuple(tokens[at + 4 * index : at + 4 * index + 4])
            at += 4 * count
        elif kind == 3:
            raise CommandError.unsupported("a declaration that asks for the tessellator")
        elif kind == 5:
            at += token >> 24 & 0x1F
    raise CommandError.params("a declaration without an end")


def _format(elements: list[Element]) -> VertexFormat:
    weights = next((COMPONENTS[e.type] for e in elements if e.register == Register.BLENDWEIGHT), 0)
    return VertexFormat(tuple(elements), any(e.usage is U.POSITIONT for e in elements), weights)
