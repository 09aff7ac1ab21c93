"""Allocations: what the miniport said about them, and where their content is.

:class:`AllocationInfo` is the adapter-wide description (DXGK_ALLOCATIONINFO). :class:`Allocation` is one instance of it, the
unit of placement, locking and busy-tracking; renaming (Lock with Discard) adds instances that the miniport never hears of.
:class:`Resource` groups allocations. Nothing here moves anything. Models "DxgkDdiCreateAllocation" and the object model of
allocations-and-residency.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from kernel.bus_link import MemoryBlock
from wddm.ddi.d3dkmddi import DXGK_ALLOCATIONINFOFLAGS, DXGK_SEGMENTDESCRIPTOR, DXGK_SEGMENTFLAGS

from .segment import Range, SegmentSpace

if TYPE_CHECKING:
    from kernel.vidsch.packets import DmaPacket

    from .paging import PagingBatch

#: Allocations that stay where they are once placed.
_PINNED_FLAGS: Final = DXGK_ALLOCATIONINFOFLAGS.Overlay | DXGK_ALLOCATIONINFOFLAGS.Capture


class Content(Enum):
    """Where the valid bytes of an allocation are."""

    FRESH = "never written: reads as zero"
    BACKING = "in its system memory"
    LOCAL = "in its memory segment"


@dataclass(slots=True, eq=False)
class Segment:
    """A segment of the adapter. ``id`` counts from 1."""

    id: int
    descriptor: DXGK_SEGMENTDESCRIPTOR
    space: SegmentSpace[Allocation]

    @property
    def aperture(self) -> bool:
        """Whether it holds no pages of its own."""
        return bool(self.descriptor.Flags & (DXGK_SEGMENTFLAGS.Aperture | DXGK_SEGMENTFLAGS.Agp))

    @property
    def base(self) -> int:
        """Address of its first byte for the GPU."""
        return self.descriptor.BaseAddress


@dataclass(slots=True, eq=False)
class AllocationInfo:
    """What DxgkDdiCreateAllocation answered, checked. ``choices``: (segment id, from the end) in the order to try."""

    hAllocation: int
    size: int
    alignment: int
    choices: tuple[tuple[int, bool], ...]
    flags: DXGK_ALLOCATIONINFOFLAGS
    priority: int
    private: bytes
    hDevice: int = 0  #: the creating device, for the miniport
    max_renaming: int = 0
    primary: bool = False
    VidPnSourceId: int = 0
    shared: bool = False
    shared_instance: Allocation | None = None  #: what every device that opens a shared allocation sees

    @property
    def cpu_visible(self) -> bool:
        """Whether it may be locked."""
        return bool(self.flags & DXGK_ALLOCATIONINFOFLAGS.CpuVisible)


@dataclass(slots=True, eq=False)
class Allocation:
    """One instance: ``placement`` in ``segment``, its ``backing`` system memory (made when first needed) and who uses it.

    ``pins`` counts prepared, running and preempted packets, and the display: while it is not 0 the allocation does not move.
    """

    info: AllocationInfo
    segment: Segment | None = None
    placement: Range[Allocation] | None = None
    backing: MemoryBlock | None = None
    content: Content = Content.FRESH
    pins: int = 0
    locks: int = 0
    holds: int = 0  #: presents in software queues that name it
    flipping: int = 0  #: flips of it that are on their way to the screen
    displayed: int = 0  #: sources that show it
    last_used: int = 0
    offered: int = 0  #: D3DDDI_OFFER_PRIORITY
    lost: bool = False  #: the content was discarded while offered, or by a reset
    backing_valid: bool = False  #: while LOCAL: the backing still holds the same bytes
    destroyed: bool = False
    paging: PagingBatch | None = None
    #: The last packet of each context that references it, and that writes it.
    last_use: dict[object, DmaPacket] = field(default_factory=dict)
    last_write: dict[object, DmaPacket] = field(default_factory=dict)

    @property
    def priority(self) -> int:
        """Eviction priority (0x28000000..0xC8000000)."""
        return self.info.priority

    @property
    def address(self) -> int:
        """Segment address. Only while placed."""
        assert self.segment is not None
        assert self.placement is not None
        return self.segment.base + self.placement.start

    @property
    def segment_id(self) -> int:
        """Segment it is placed in; 0 = none."""
        return 0 if self.segment is None else self.segment.id

    @property
    def in_aperture(self) -> bool:
        """Whether it is placed in an aperture: its system memory is what the GPU sees."""
        return self.segment is not None and self.segment.aperture

    @property
    def in_memory_segment(self) -> bool:
        """Whether it is placed in video memory."""
        return self.segment is not None and not self.segment.aperture

    @property
    def movable(self) -> bool:
        """Whether it may be evicted now."""
        return self.pins == 0 and not self.info.flags & _PINNED_FLAGS

    @property
    def discardable(self) -> bool:
        """Whether its content is no longer needed: offered, and nothing that was submitted before uses it."""
        return self.offered != 0 and not self.busy()

    def busy(self, *, writes_only: bool = False) -> list[DmaPacket]:
        """Packets, queued or running, that reference it (that write it)."""
        table = self.last_write if writes_only else self.last_use
        found = []
        for context, packet in list(table.items()):
            if packet.finished:
                del table[context]
            else:
                found.append(packet)
        return found


@dataclass(slots=True, eq=False)
class Resource:
    """A group of allocations and the private data of the whole. ``opens`` counts the devices that have it open."""

    hResource: int
    private: bytes
    infos: list[AllocationInfo] = field(default_factory=list)
    shared: bool = False
    opens: int = 0
