"""How a surface lies in memory: one canonical layout, computed alike by driver and hardware.

A surface is ``slices`` times the same *mip chain*. Within a chain the mips follow each other from the largest on, each from a
multiple of :data:`SUBRESOURCE_ALIGNMENT` bytes on; so do the chains (``index = mip + slice * mips``). A mip is its sample planes,
one after the other (one plane unless multisampled); a plane is its depth slices; a depth slice is its rows. Rows begin
``row_pitch`` bytes apart: the bytes of a row, rounded up to :data:`PITCH_ALIGNMENT`. Nothing else is padded.

Block-compressed formats count rows and columns in 4x4 blocks, R8G8_B8G8 and G8R8_G8B8 count columns in pairs; a block that
sticks out over the edge of its mip is stored whole. The extents of mip n are those of mip 0 halved n times, rounded down, never
below 1; array slices are not halved, depth is. Cubes are arrays of six slices: +X, -X, +Y, -Y, +Z, -Z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, overload

from .formats import FORMATS, Format
from .memory import align_up

PITCH_ALIGNMENT: Final = 64
SUBRESOURCE_ALIGNMENT: Final = 256
MAX_DIMENSION: Final = 16384
MAX_DEPTH: Final = 2048
MAX_SLICES: Final = 2048
MAX_MIPS: Final = 15


class Subresource(NamedTuple):
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


class Subresources(Sequence[Subresource]):
    """All subresources of a surface, mip by mip, slice by slice; each is made when it is asked for."""

    __slots__ = ("_chain", "_length", "_pitch")

    def __init__(self, chain: tuple[Subresource, ...], slices: int, slice_pitch: int) -> None:
        self._chain, self._pitch = chain, slice_pitch
        self._length = len(chain) * slices

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Subresource: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Subresource, ...]: ...
    def __getitem__(self, index: int | slice) -> Subresource | tuple[Subresource, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self._length)))
        if not -self._length <= index < self._length:
            raise IndexError(f"subresource {index} of {self._length}")
        array_slice, mip = divmod(index % self._length, len(self._chain))
        first = self._chain[mip]
        return first._replace(offset=first.offset + array_slice * self._pitch) if array_slice else first

    def __repr__(self) -> str:
        return f"<{self._length} subresources>"


@dataclass(frozen=True, slots=True)
class SurfaceLayout:
    """All subresources of a surface; ``subresources[mip + slice * mips]``, or ``layout[mip, slice]``.

    ``size``: bytes of the whole; ``slice_pitch``: from one slice to the next.
    """

    size: int
    mips: int
    slices: int
    slice_pitch: int
    subresources: Subresources

    def __getitem__(self, key: tuple[int, int]) -> Subresource:
        mip, array_slice = key
        if not 0 <= mip < self.mips:
            raise IndexError(f"mip {mip} of {self.mips}")
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
    chain: list[Subresource] = []
    offset = 0
    for mip in range(mips):
        w, h, d = mip_extent(width, mip), mip_extent(height, mip), mip_extent(depth, mip)
        rows = (h + block - 1) // block
        row_pitch = align_up((w + columns - 1) // columns * info.bytes_per_block, PITCH_ALIGNMENT)
        depth_pitch = row_pitch * rows
        sample_pitch = depth_pitch * d
        size = sample_pitch * samples
        chain.append(Subresource(offset, w, h, d, rows, row_pitch, depth_pitch, sample_pitch, size))
        offset = align_up(offset + size, SUBRESOURCE_ALIGNMENT)
    return SurfaceLayout(offset * slices, mips, slices, offset, Subresources(tuple(chain), slices, offset))
