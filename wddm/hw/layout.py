"""How a surface lies in memory: one canonical layout, computed alike by driver and hardware.

Subresources follow each other slice by slice, mip by mip (``index = mip + slice * mips``), each aligned to
:data:`SUBRESOURCE_ALIGNMENT`. Within one: sample planes (for multisampled surfaces), each with its depth slices, each with its
rows; rows are :data:`PITCH_ALIGNMENT` bytes apart at least. Block-compressed formats count rows and columns in 4x4 blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .formats import FORMATS, Format
from .memory import align_up

PITCH_ALIGNMENT: Final = 64
SUBRESOURCE_ALIGNMENT: Final = 256
MAX_DIMENSION: Final = 16384
MAX_DEPTH: Final = 2048
MAX_SLICES: Final = 2048
MAX_MIPS: Final = 15


@dataclass(frozen=True, slots=True)
class Subresource:
    """Where one mip of one slice lies. Sizes in bytes unless told otherwise."""

    offset: int
    width: int  #: texels
    height: int
    depth: int
    rows: int  #: rows of blocks
    row_pitch: int
    depth_pitch: int  #: from one depth slice to the next
    sample_pitch: int  #: from one sample plane to the next
    size: int


@dataclass(frozen=True, slots=True)
class SurfaceLayout:
    """All subresources of a surface; ``subresources[mip + slice * mips]``."""

    size: int
    mips: int
    slices: int
    subresources: tuple[Subresource, ...]

    def __getitem__(self, key: tuple[int, int]) -> Subresource:
        mip, array_slice = key
        return self.subresources[mip + array_slice * self.mips]


def mip_extent(size: int, mip: int) -> int:
    """Extent of ``size`` texels at ``mip``: halved, never below 1."""
    return max(1, size >> mip)


def full_mip_count(width: int, height: int = 1, depth: int = 1) -> int:
    """Mips down to 1x1x1."""
    return max(width, height, depth).bit_length()


@lru_cache(maxsize=4096)
def surface_layout(
    format: Format, width: int, height: int = 1, depth: int = 1, mips: int = 1, slices: int = 1, samples: int = 1
) -> SurfaceLayout:
    """The layout of a surface.

    Raises ValueError, naming the number, for sizes outside the limits, more mips than the extents have, multisampling with
    mips or depth, and formats without a memory layout.
    """
    info = FORMATS.get(format)
    if info is None or info.bytes_per_block == 0:
        raise ValueError(f"format {int(format)} has no memory layout")
    for name, value, limit in (
        ("width", width, MAX_DIMENSION),
        ("height", height, MAX_DIMENSION),
        ("depth", depth, MAX_DEPTH),
        ("slices", slices, MAX_SLICES),
        ("mips", mips, MAX_MIPS),
    ):
        if not 1 <= value <= limit:
            raise ValueError(f"{name} {value} is not in 1..{limit}")
    if mips > full_mip_count(width, height, depth):
        raise ValueError(f"{mips} mips of a {width}x{height}x{depth} surface")
    if samples not in (1, 2, 4, 8):
        raise ValueError(f"{samples} samples; 1, 2, 4 and 8 exist")
    if samples > 1 and (mips > 1 or depth > 1):
        raise ValueError("a multisampled surface has one mip and no depth")
    block, columns = info.block, info.block_width
    subresources = []
    offset = 0
    for _ in range(slices):
        for mip in range(mips):
            w, h, d = mip_extent(width, mip), mip_extent(height, mip), mip_extent(depth, mip)
            rows = (h + block - 1) // block
            row_pitch = align_up((w + columns - 1) // columns * info.bytes_per_block, PITCH_ALIGNMENT)
            depth_pitch = row_pitch * rows
            sample_pitch = depth_pitch * d
            size = sample_pitch * samples
            subresources.append(Subresource(offset, w, h, d, rows, row_pitch, depth_pitch, sample_pitch, size))
            offset = align_up(offset + size, SUBRESOURCE_ALIGNMENT)
    return SurfaceLayout(offset, mips, slices, tuple(subresources))
