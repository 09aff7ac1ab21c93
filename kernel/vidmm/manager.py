"""VidMm: where every allocation is, and the moving of it.

Owns segments, placements, backing stores and pins. Decisions are those of :mod:`kernel.vidmm.policy`; the moving is done by
paging batches that the scheduler submits. It never touches a queue and never waits: it answers "ready", "on its way" or "no room
until something in flight has finished". Models "Residency in WDDM1" and "Paging Video Memory Resources". DEVIATES: a DMA buffer is
never split at its SplitOffsets; what local memory cannot hold of one allocation list goes to the aperture, or the list fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from kernel.bus_link import BusLink, MemoryBlock
from kernel.errors import refusal
from wddm.ddi.status import NTSTATUS
from wddm.wire.channel import CallError

from .allocation import Allocation, AllocationInfo, Content, Segment
from .paging import PagingBatch
from .policy import NoRoom, Plan, choices_of, make_room
from .segment import Range


class Residency(Enum):
    """Answer of :meth:`VidMm.prepare`."""

    READY = "everything is where it has to be"
    PAGING = "ready when the batch is done"
    WAIT = "no room now"


class VidMm:
    """The memory manager of one adapter. ``submit_paging`` hands a batch to the scheduler."""

    def __init__(self, link: BusLink, segments: dict[int, Segment], submit_paging: Callable[[PagingBatch], None]) -> None:
        self.link = link
        self.segments = segments
        self._submit = submit_paging
        self._batches = 0
        self._clock = 0
        self._dummy = link.create(1, "dummy page", reserve=True)
        #: Changes whenever an allocation gets another place: lists of addresses made in an older epoch are stale.
        self.epoch = 0
        #: Pins that will go away by themselves: prepared packets and queued flips, not what is on the screen.
        self.transient_pins = 0
        self.all: set[Allocation] = set()
        self.evictions = self.page_ins = 0
        self.bytes_paged = 0

    # ----- backing store ---------------------------------------------------------------------------------------------------

    def backing(self, allocation: Allocation) -> MemoryBlock:
        """Its system memory, made (zeroed) when first asked for. Raises CallError (STATUS_NO_MEMORY)."""
        if allocation.backing is None:
            allocation.backing = self.link.create(allocation.info.size, "allocation")
        return allocation.backing

    def check_choices(self, info: AllocationInfo) -> None:
        """Refuse an allocation that could never be placed. Raises CallError (STATUS_GRAPHICS_NO_VIDEO_MEMORY)."""
        largest = max(self.segments[number].space.commit_limit for number, _ in info.choices)
        if info.size > largest:
            raise refusal(
                NTSTATUS.STATUS_GRAPHICS_NO_VIDEO_MEMORY,
                f"an allocation of {info.size} bytes fits none of its segments (the largest has {largest})",
            )

    def add(self, info: AllocationInfo) -> Allocation:
        """A new instance."""
        allocation = Allocation(info)
        self.all.add(allocation)
        return allocation

    # ----- residency -------------------------------------------------------------------------------------------------------

    def resident(self, uses: Sequence[Allocation]) -> bool:
        """Whether all of ``uses`` are where the GPU can reach them and not on their way."""
        for allocation in uses:
            if allocation.placement is None or allocation.paging is not None or (allocation.locks and not allocation.in_aperture):
                return False
        return True

    def prepare(
        self, uses: Sequence[Allocation], writes: Iterable[Allocation] = (), *, may_move: bool = True
    ) -> tuple[Residency, PagingBatch | None]:
        """Make ``uses`` resident, all or none, and pin them unless the answer is WAIT.

        Without ``may_move`` anything that is not resident has to wait (somebody else waits for room already). Raises CallError:
        STATUS_GRAPHICS_NO_VIDEO_MEMORY, STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION, STATUS_NO_MEMORY.
        """
        batch: PagingBatch | None = None
        if not self.resident(uses):
            if any(a.placement is None or (a.locks and not a.in_aperture) for a in uses):
                if not may_move or not self._bring(uses):
                    return Residency.WAIT, None
            for allocation in uses:
                moving = allocation.paging
                if moving is not None and (batch is None or moving.sequence > batch.sequence):
                    batch = moving
        self._clock += 1
        for allocation in uses:
            allocation.pins += 1
            allocation.last_used = self._clock
        for allocation in writes:
            allocation.backing_valid = False
        self.transient_pins += 1
        return (Residency.PAGING, batch) if batch is not None else (Residency.READY, None)

    def release(self, uses: Iterable[Allocation], *, settled: bool = False) -> None:
        """Undo the pins of one :meth:`prepare` (and of :meth:`settle`, when it was called for them)."""
        for allocation in uses:
            allocation.pins = max(0, allocation.pins - 1)
        if not settled:
            self.transient_pins = max(0, self.transient_pins - 1)

    def settle(self) -> None:
        """The pins of one :meth:`prepare` will not go away by themselves: what they hold is on the screen."""
        self.transient_pins = max(0, self.transient_pins - 1)

    def _bring(self, uses: Sequence[Allocation]) -> bool:
        for allocation in uses:
            if not choices_of(allocation, self.segments):
                raise refusal(
                    NTSTATUS.STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION,
                    f"a locked allocation of {allocation.info.size} bytes is referenced and no aperture can hold it",
                )
            if allocation.locks and not allocation.in_aperture and not allocation.movable and allocation.placement is not None:
                return False
        plan = make_room(uses, self.segments)
        if isinstance(plan, NoRoom):
            if plan.for_ever or self.transient_pins == 0:
                where = ", ".join(
                    f"segment {s.id}: {s.space.used} of {s.space.size} bytes in use"
                    for s, _ in choices_of(plan.allocation, self.segments)
                )
                raise refusal(
                    NTSTATUS.STATUS_GRAPHICS_NO_VIDEO_MEMORY,
                    f"no room for {len(uses)} allocations ({sum(a.info.size for a in uses)} bytes) at once: {where}",
                )
            return False
        self._move(plan)
        return True

    def _move(self, plan: Plan) -> None:
        try:
            # System memory can run out: ask for all of it before anything moves.
            for allocation, segment, _ in plan.leaving:
                self._keep_content(allocation, segment)
            for allocation in plan.coming:
                if allocation.in_aperture:
                    self.backing(allocation)
        except CallError:
            plan.roll_back()
            raise
        batch = self._new_batch()
        for allocation, segment, place in plan.leaving:
            batch.move_out(allocation, segment, place, self._dummy)
            self.evictions += 1
        for allocation in plan.coming:
            batch.move_in(allocation)
            self.page_ins += 1
            self.bytes_paged += allocation.info.size
        self.epoch += 1
        self._submit(batch)

    def _keep_content(self, allocation: Allocation, segment: Segment) -> None:
        if not segment.aperture and allocation.content is Content.LOCAL and not allocation.discardable:
            self.backing(allocation)

    def _new_batch(self) -> PagingBatch:
        self._batches += 1
        return PagingBatch(self._batches)

    # ----- eviction and destruction ----------------------------------------------------------------------------------------

    def evict(self, allocation: Allocation) -> PagingBatch | None:
        """Move it to system memory; it must be movable. Returns the batch to wait for, or None when it is there already."""
        segment, place = allocation.segment, allocation.placement
        if segment is None or place is None:
            return allocation.paging
        batch = self._new_batch()
        self._keep_content(allocation, segment)
        self._unplace(allocation, segment, place)
        batch.move_out(allocation, segment, place, self._dummy)
        self.evictions += 1
        self._submit(batch)
        return batch

    def destroy(self, allocation: Allocation) -> None:
        """Free its place and its memory. Nothing uses it any more; what is on its way may still be."""
        allocation.destroyed = True
        self.all.discard(allocation)
        segment, place = allocation.segment, allocation.placement
        if segment is not None and place is not None:
            self._unplace(allocation, segment, place)
            if segment.aperture:
                batch = self._new_batch()
                batch.move_out(allocation, segment, place, self._dummy)
                self._submit(batch)
        backing, allocation.backing = allocation.backing, None
        if backing is not None:
            if allocation.paging is None:
                self.link.remove(backing)
            else:
                allocation.paging.on_done.append(lambda: self.link.remove(backing))

    def _unplace(self, allocation: Allocation, segment: Segment, place: Range[Allocation]) -> None:
        segment.space.free(place)
        allocation.segment, allocation.placement = None, None
        self.epoch += 1

    def purge(self) -> tuple[list[tuple[Allocation, Segment, int]], list[Allocation]]:
        """Everything loses its place (a reset lost the content of video memory); all pins are gone.

        Returns what was where (for the miniport's eviction notices) and those whose content is lost.
        """
        were, lost = [], []
        for allocation in self.all:
            allocation.pins = 0
            allocation.paging = None
            segment, place = allocation.segment, allocation.placement
            if segment is None or place is None:
                continue
            were.append((allocation, segment, place.start))
            self._unplace(allocation, segment, place)
            if allocation.content is Content.LOCAL:
                allocation.content = Content.BACKING if allocation.backing_valid else Content.FRESH
                if not allocation.backing_valid:
                    allocation.lost = True
                    lost.append(allocation)
        self.transient_pins = 0
        return were, lost
