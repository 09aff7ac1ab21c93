"""Texels as numpy arrays, and back.

========================================  =====================================  ============================================
formats                                   dtype                                  shape of a 2D image
========================================  =====================================  ============================================
equal channels of 8, 16 or 32 bits        uint8/16/32, int8/16/32, float16/32    (height, width, channels)
packed (R10G10B10A2, R11G11B10, B5G6R5…)  uint16 or uint32, one word per texel   (height, width)
D24_UNORM_S8_UINT and its family          uint32: depth 0-23, stencil 24-31      (height, width)
D32_FLOAT_S8X24_UINT and its family       fields depth f4, stencil u1            (height, width)
R8G8_B8G8, G8R8_G8B8 (two texels)         uint8                                  (height, ceil(width / 2), 4)
BC1 to BC7                                uint8                                  (block rows, block columns, bytes of a block)
========================================  =====================================  ============================================

UNORM, SNORM and typeless channels stay the integers they are stored as. A 1D image has no height, a 3D one starts with depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from wddm.ddi.dxgiformat import DXGI_FORMAT, FORMATS, ChannelType

DEPTH_STENCIL_64: Final = np.dtype([("depth", "<f4"), ("stencil", "u1"), ("unused", "u1", (3,))])

_KINDS: Final = {ChannelType.FLOAT: "f", ChannelType.SINT: "i", ChannelType.SNORM: "i"}


class Texels:
    """How texels of a format lie in numpy: ``dtype``, the trailing ``channels`` (0: none), texels per element along x and y."""

    __slots__ = ("across", "channels", "down", "dtype", "element_bytes")

    def __init__(self, format: int) -> None:
        info = FORMATS.get(DXGI_FORMAT(format)) if format in DXGI_FORMAT._value2member_map_ else None
        if info is None or not info.bits or not info.channels:
            raise ValueError(f"format {format} has no layout in memory")
        self.dtype: np.dtype[Any]
        self.across = self.down = info.block_size
        self.channels = 0
        widths = {c.bits for c in info.channels}
        if info.compressed:
            self.dtype, self.channels = np.dtype("u1"), info.bytes
        elif info.family is DXGI_FORMAT.R32G8X24_TYPELESS:
            self.dtype = DEPTH_STENCIL_64
        elif info.format in (DXGI_FORMAT.R8G8_B8G8_UNORM, DXGI_FORMAT.G8R8_G8B8_UNORM):
            self.dtype, self.channels, self.across = np.dtype("u1"), 4, 2
        elif len(widths) == 1 and widths <= {8, 16, 32}:
            width = widths.pop()
            self.dtype = np.dtype(f"<{_KINDS.get(info.channels[0].type, 'u')}{width // 8}")
            self.channels = len(info.channels)
        elif info.bits in (8, 16, 32, 64):
            self.dtype = np.dtype(f"<u{info.bits // 8}")
        else:
            raise ValueError(f"format {info.format.name} has no numpy form")
        self.element_bytes = self.dtype.itemsize * max(self.channels, 1)

    def row_bytes(self, width: int) -> int:
        """Bytes of one row of elements of ``width`` texels."""
        return -(-width // self.across) * self.element_bytes

    def rows(self, height: int) -> int:
        """Rows of elements of ``height`` texels."""
        return -(-height // self.down)

    def shape(self, size: Sequence[int]) -> tuple[int, ...]:
        """The shape of an image of ``size`` (width[, height[, depth]]) texels."""
        shape = [-(-size[0] // self.across)]
        if len(size) > 1:
            shape.insert(0, self.rows(size[1]))
        if len(size) > 2:
            shape.insert(0, size[2])
        if self.channels:
            shape.append(self.channels)
        return tuple(shape)

    def image(self, data: npt.NDArray[np.uint8], size: Sequence[int], row_pitch: int, depth_pitch: int) -> npt.NDArray[Any]:
        """A copy of the image that lies in ``data`` with the given pitches."""
        shape = self.shape(size)
        spatial = len(shape) - (1 if self.channels else 0)
        strides = (depth_pitch, row_pitch, self.element_bytes)[3 - spatial :]
        if self.channels:
            strides = (*strides, self.dtype.itemsize)
        last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + self.dtype.itemsize
        if last > data.nbytes:
            raise ValueError(f"{data.nbytes} bytes hold no image that needs {last}")
        found: npt.NDArray[Any] = np.ndarray(shape, self.dtype, data.data, 0, strides).copy()
        return found


def texels(format: int) -> Texels:
    """The numpy form of a format, made once. Raises ValueError where there is none."""
    found = _CACHE.get(format)
    if found is None:
        found = _CACHE[format] = Texels(format)
    return found


_CACHE: Final[dict[int, Texels]] = {}
