"""Segments and placement: no byte has two owners, nothing in use is moved, and room is found whenever there is some."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.vidmm.allocation import Allocation, AllocationInfo, Segment
from kernel.vidmm.policy import NoRoom, Plan, choices_of, find_victims, make_room
from kernel.vidmm.segment import PAGE_SIZE, SegmentSpace, fit
from wddm.ddi.d3dkmddi import DXGK_ALLOCATIONINFOFLAGS, DXGK_SEGMENTDESCRIPTOR, DXGK_SEGMENTFLAGS

P = PAGE_SIZE


def segments(local: int, aperture: int, commit: int = 0) -> dict[int, Segment]:
    flags = DXGK_SEGMENTFLAGS
    return {
        1: Segment(1, DXGK_SEGMENTDESCRIPTOR(1 << 32, local * P, local * P, flags.NONE), SegmentSpace(local * P)),
        2: Segment(
            2,
            DXGK_SEGMENTDESCRIPTOR(1 << 40, aperture * P, aperture * P, flags.Aperture),
            SegmentSpace(aperture * P, commit * P),
        ),
    }


def allocation(pages: int, *choices: int, priority: int = 100, alignment: int = P, from_end: bool = False) -> Allocation:
    info = AllocationInfo(
        1, pages * P, alignment, tuple((c, from_end) for c in choices), DXGK_ALLOCATIONINFOFLAGS.NONE, priority, b""
    )
    return Allocation(info)


def check(spaces: dict[int, Segment], everybody: list[Allocation]) -> None:
    """Owners do not overlap, lie inside, are aligned, and know where they are."""
    for segment in spaces.values():
        at = used = 0
        for taken in segment.space.ranges:
            assert taken.start >= at
            assert taken.end <= segment.space.size
            assert taken.start % taken.owner.info.alignment == 0
            assert taken.owner.placement is taken
            assert taken.owner.segment is segment
            at, used = taken.end, used + taken.size
        assert segment.space.used == used <= segment.space.commit_limit
    placed = sum(len(s.space.ranges) for s in spaces.values())
    assert placed == sum(a.placement is not None for a in everybody)


def test_first_fit_from_both_ends() -> None:
    space: SegmentSpace[str] = SegmentSpace(10)
    a = space.take(2, 2, "a")
    space.take(6, 2, "b")
    assert space.gaps() == [(0, 2), (4, 6), (8, 10)]
    assert (space.find(2, 1), space.find(2, 1, from_end=True), space.find(3, 1)) == (0, 8, None)
    assert space.find(2, 4) == 0
    assert fit([(1, 7)], 2, 4) == 4
    assert fit([(1, 7)], 2, 4, from_end=True) == 4
    space.free(a)
    assert space.find(6, 1) == 0


def test_preference_then_support_then_eviction() -> None:
    spaces = segments(4, 4)
    a, b = allocation(4, 1, 2), allocation(4, 1, 2)
    assert isinstance(make_room([a], spaces), Plan)
    plan = make_room([b], spaces)
    assert isinstance(plan, Plan)
    assert (b.segment_id, a.segment_id) == (1, 0), "the less recently used of equal priority leaves"
    important, modest = allocation(4, 1, priority=200), allocation(4, 1, 2, priority=50)
    make_room([important], spaces)
    make_room([modest], spaces)
    assert (important.segment_id, modest.segment_id) == (1, 2), "lower priority does not displace higher"
    forced = allocation(4, 1, priority=50)
    make_room([forced], spaces)
    assert (forced.segment_id, important.segment_id) == (1, 0), "but it does when it can live nowhere else"


def test_the_least_recently_used_leaves_and_only_as_many_as_must() -> None:
    spaces = segments(6, 0 + 1)
    old, new, newest = allocation(2, 1), allocation(2, 1), allocation(2, 1)
    for clock, one in enumerate((new, old, newest)):
        make_room([one], spaces)
        one.last_used = clock
    old.last_used = -1
    plan = make_room([allocation(2, 1)], spaces)
    assert isinstance(plan, Plan)
    assert [a for a, _, _ in plan.leaving] == [old]


def test_pinned_and_listed_allocations_stay() -> None:
    spaces = segments(4, 1)
    pinned, mine = allocation(2, 1), allocation(2, 1)
    make_room([pinned], spaces)
    make_room([mine], spaces)
    pinned.pins = 1
    result = make_room([mine, allocation(2, 1)], spaces)
    assert result == NoRoom(result.allocation, for_ever=False)  # type: ignore[union-attr]
    assert mine.placement is not None
    assert pinned.placement is not None
    pinned.pins = 0
    assert isinstance(make_room([mine, allocation(2, 1)], spaces), Plan)
    assert pinned.placement is None


def test_what_can_live_in_few_places_goes_first() -> None:
    spaces = segments(4, 4)
    flexible = [allocation(2, 1, 2), allocation(2, 1, 2)]
    assert isinstance(make_room(flexible, spaces), Plan)
    fixed = allocation(4, 1)
    plan = make_room([*flexible, fixed], spaces)
    assert isinstance(plan, Plan)
    assert fixed.segment_id == 1
    assert [a.segment_id for a in flexible] == [2, 2]


def test_locked_ones_go_to_an_aperture() -> None:
    spaces = segments(4, 4)
    either, local = allocation(2, 1, 2), allocation(2, 1)
    make_room([either], spaces)
    either.locks = local.locks = 1
    assert not choices_of(local, spaces)
    assert isinstance(make_room([either], spaces), Plan)
    assert either.segment_id == 2


def test_a_commit_limit_evicts_although_there_are_gaps() -> None:
    spaces = segments(1, 8, commit=4)
    a, b = allocation(2, 2), allocation(2, 2)
    make_room([a], spaces)
    make_room([b], spaces)
    found = find_victims(spaces[2], 2 * P, P, [a, b])
    assert found == (0, [a])


def test_too_large_together_is_for_ever() -> None:
    spaces = segments(4, 2)
    wanted = [allocation(3, 1), allocation(3, 1)]
    result = make_room(wanted, spaces)
    assert isinstance(result, NoRoom)
    assert result.for_ever
    assert all(a.placement is None for a in wanted)


_pool = st.lists(
    st.tuples(
        st.integers(1, 6),
        st.sampled_from([(1,), (2,), (1, 2), (2, 1)]),
        st.integers(1, 3),
        st.sampled_from([1, 2, 4]),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)
_steps = st.lists(st.tuples(st.sets(st.integers(0, 11), min_size=1, max_size=5), st.integers(0, 11), st.booleans()), max_size=25)


@settings(max_examples=150, deadline=None)
@given(pool=_pool, steps=_steps)
def test_any_history_keeps_the_rules(
    pool: list[tuple[int, tuple[int, ...], int, int, bool]], steps: list[tuple[set[int], int, bool]]
) -> None:
    spaces = segments(12, 8, commit=6)
    everybody = [
        allocation(pages, *choices, priority=priority, alignment=alignment * P, from_end=from_end)
        for pages, choices, priority, alignment, from_end in pool
    ]
    clock = 0
    for wanted, which, pin in steps:
        needed = list(dict.fromkeys(everybody[i % len(everybody)] for i in sorted(wanted)))
        before = {id(a): (a.segment, a.placement.start if a.placement else None) for a in everybody}
        result = make_room(needed, spaces)
        check(spaces, everybody)
        for one in everybody:
            if one.pins:
                place = one.placement.start if one.placement else None
                assert before[id(one)] == (one.segment, place), "something in use was moved"
        if isinstance(result, Plan):
            assert all(a.placement is not None and a.segment_id in [n for n, _ in a.info.choices] for a in needed)
            clock += 1
            for one in needed:
                one.last_used = clock
        else:
            after = {id(a): (a.segment, a.placement.start if a.placement else None) for a in everybody}
            assert before == after, "a plan that failed left traces"
        target = everybody[which % len(everybody)]
        if pin and target.placement is not None:
            target.pins += 1
        elif target.pins:
            target.pins -= 1
