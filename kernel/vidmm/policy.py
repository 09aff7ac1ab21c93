"""Where an allocation goes and who must leave for it: plain functions on plain data.

Preferred segments in order, then the others it supports. In a segment: free space first, then the space of others, lowest
priority first and least recently used first. Somebody of higher priority leaves only when no segment has room otherwise. What
is pinned (in flight, preempted, scanned out) never leaves. Models "Residency in WDDM1" and the priority rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .allocation import Allocation, Segment
from .segment import Range, fit


@dataclass(slots=True)
class Plan:
    """What leaves (and from where) and what comes, in this order. The spaces have changed already; ``roll_back`` undoes that."""

    leaving: list[tuple[Allocation, Segment, Range[Allocation]]] = field(default_factory=list)
    coming: list[Allocation] = field(default_factory=list)
    _undo: list[Callable[[], object]] = field(default_factory=list)

    def evict(self, allocation: Allocation) -> None:
        """Free its place."""
        segment, placement = allocation.segment, allocation.placement
        assert segment is not None
        assert placement is not None
        segment.space.free(placement)
        allocation.segment, allocation.placement = None, None
        self.leaving.append((allocation, segment, placement))
        self._undo.append(lambda: _put(allocation, segment, placement.start, placement.size))

    def place(self, allocation: Allocation, segment: Segment, start: int) -> None:
        """Give it a place."""
        _put(allocation, segment, start, allocation.info.size)
        self.coming.append(allocation)
        self._undo.append(lambda: _remove(allocation))

    def roll_back(self) -> None:
        """As if nothing had been planned."""
        for action in reversed(self._undo):
            action()


def _put(allocation: Allocation, segment: Segment, start: int, size: int) -> None:
    allocation.placement = segment.space.take(start, size, allocation)
    allocation.segment = segment


def _remove(allocation: Allocation) -> None:
    assert allocation.segment is not None
    assert allocation.placement is not None
    allocation.segment.space.free(allocation.placement)
    allocation.segment, allocation.placement = None, None


@dataclass(frozen=True, slots=True)
class NoRoom:
    """There is no room for ``allocation``; ``for_ever`` when waiting for work in flight cannot help."""

    allocation: Allocation
    for_ever: bool


def eviction_order(allocation: Allocation) -> tuple[bool, int, int]:
    """Sort key of victims: offered ones first, then lowest priority, then least recently used."""
    return (not allocation.offered, allocation.priority, allocation.last_used)


def find_victims(
    segment: Segment, size: int, alignment: int, candidates: Sequence[Allocation], *, from_end: bool = False
) -> tuple[int, list[Allocation]] | None:
    """Where ``size`` bytes fit when the first few of ``candidates`` (in order of eviction) leave, and which really must.

    None when not even all of them make room.
    """
    space = segment.space

    def place(count: int) -> int | None:
        leaving = candidates[:count]
        gone = sum(a.placement.size for a in leaving if a.placement is not None)
        if space.used - gone + size > space.commit_limit:
            return None
        return fit(space.gaps_without(frozenset(map(id, leaving))), size, alignment, from_end=from_end)

    if place(len(candidates)) is None:
        return None
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        if place(middle) is None:
            low = middle + 1
        else:
            high = middle
    at = place(high)
    assert at is not None
    victims = [a for a in candidates[:high] if a.placement is not None and _overlap(a.placement, at, size)]
    left = space.used + size - space.commit_limit - sum(a.placement.size for a in victims if a.placement is not None)
    for allocation in candidates[:high]:
        if left <= 0:
            break
        if allocation not in victims and allocation.placement is not None:
            victims.append(allocation)
            left -= allocation.placement.size
    return at, victims


def _overlap(taken: Range[Allocation], start: int, size: int) -> bool:
    return taken.start < start + size and start < taken.end


def choices_of(allocation: Allocation, segments: dict[int, Segment]) -> list[tuple[Segment, bool]]:
    """Segments it may go to now, in order. While locked only apertures will do: the processor must go on seeing its bytes."""
    found = [(segments[number], from_end) for number, from_end in allocation.info.choices]
    return [(s, e) for s, e in found if s.aperture] if allocation.locks else found


def make_room(needed: Sequence[Allocation], segments: dict[int, Segment]) -> Plan | NoRoom:
    """Place all of ``needed`` that are not placed, or nothing at all. On success the placements are made.

    Raises nothing. First everybody of ``needed`` that has a place keeps it; when that fails, those that can move do.
    """
    keep = frozenset(map(id, needed))
    missing = [a for a in needed if a.placement is None or (a.locks and not a.in_aperture)]
    first = _attempt(missing, keep, segments)
    if isinstance(first, Plan):
        return first
    movable = [a for a in needed if a.placement is None or a.movable]
    second = _attempt(movable, keep, segments)
    if isinstance(second, Plan):
        return second
    pinned = any(r.owner.pins for segment, _ in choices_of(second.allocation, segments) for r in segment.space.ranges)
    return NoRoom(second.allocation, for_ever=not pinned)


def _attempt(moving: Sequence[Allocation], keep: frozenset[int], segments: dict[int, Segment]) -> Plan | NoRoom:
    plan = Plan()
    for allocation in moving:
        if allocation.placement is not None:
            plan.evict(allocation)
    # Those that can live in few places choose first.
    for allocation in sorted(moving, key=lambda a: len(choices_of(a, segments))):
        if not _place_one(plan, allocation, keep, segments):
            plan.roll_back()
            return NoRoom(allocation, for_ever=False)
    return plan


def _place_one(
    plan: Plan, allocation: Allocation, keep: frozenset[int], segments: dict[int, Segment]
) -> bool:
    choices = choices_of(allocation, segments)
    size, alignment = allocation.info.size, allocation.info.alignment
    for any_priority in (False, True):
        for segment, from_end in choices:
            at = segment.space.find(size, alignment, from_end=from_end)
            victims: list[Allocation] = []
            if at is None:
                candidates = sorted(
                    (
                        r.owner
                        for r in segment.space.ranges
                        if r.owner.movable
                        and id(r.owner) not in keep
                        and (any_priority or r.owner.offered or r.owner.priority <= allocation.priority)
                    ),
                    key=eviction_order,
                )
                found = find_victims(segment, size, alignment, candidates, from_end=from_end)
                if found is None:
                    continue
                at, victims = found
            for victim in victims:
                plan.evict(victim)
            plan.place(allocation, segment, at)
            return True
    return False
