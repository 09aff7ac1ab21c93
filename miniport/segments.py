"""The memory segments of the adapter, as DXGKQAITYPE_QUERYSEGMENT reports them.

Models "_dxgk_segmentdescriptor" and "_d3dddi_segmentpreference". Segment ids count from 1:

1  local memory behind the processor's window
2  local memory inside the window (CpuVisible)
3  the aperture onto system memory
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wddm.ddi.d3dkmddi import DXGK_SEGMENTDESCRIPTOR, DXGK_SEGMENTFLAGS
from wddm.hw.memory import APERTURE_BASE, LOCAL_BASE

SEGMENT_LOCAL: Final = 1
SEGMENT_VISIBLE: Final = 2
SEGMENT_APERTURE: Final = 3
#: Bytes of one paging buffer.
PAGING_BUFFER_SIZE: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class MemorySizes:
    """Bytes of local memory, of its visible part, and of the aperture."""

    local: int
    visible: int
    aperture: int


def segment_bit(segment: int) -> int:
    """The bit of a segment in a segment set."""
    return 1 << (segment - 1)


def preference(segments: list[int]) -> int:
    """D3DDDI_SEGMENTPREFERENCE: up to five segments, all filled from their start."""
    word = 0
    for place, segment in enumerate(segments[:5]):
        word |= segment << (6 * place)
    return word


def choose(sizes: MemorySizes, *, cpu_access: bool, primary: bool) -> list[int]:
    """Where an allocation may live, the best place first. Segments without memory are left out.

    What the processor locks lives in system memory, which it and the GPU see alike through the aperture. Everything else prefers
    the memory that the processor cannot see, and keeps the window free; when local memory is full, the aperture serves (slower on
    real hardware, right everywhere). Primaries are scanned out of local memory alone.
    """
    if cpu_access:
        return [SEGMENT_APERTURE]
    local = [s for s, size in ((SEGMENT_LOCAL, sizes.local - sizes.visible), (SEGMENT_VISIBLE, sizes.visible)) if size]
    return local if primary else [*local, SEGMENT_APERTURE]


def descriptors(sizes: MemorySizes) -> list[DXGK_SEGMENTDESCRIPTOR]:
    """The three segments."""
    hidden = sizes.local - sizes.visible
    return [
        DXGK_SEGMENTDESCRIPTOR(LOCAL_BASE + sizes.visible, hidden, hidden, DXGK_SEGMENTFLAGS.NONE),
        DXGK_SEGMENTDESCRIPTOR(
            LOCAL_BASE, sizes.visible, sizes.visible, DXGK_SEGMENTFLAGS.CpuVisible, CpuTranslatedAddress=LOCAL_BASE
        ),
        DXGK_SEGMENTDESCRIPTOR(
            APERTURE_BASE, sizes.aperture, sizes.aperture, DXGK_SEGMENTFLAGS.Aperture | DXGK_SEGMENTFLAGS.CacheCoherent
        ),
    ]
