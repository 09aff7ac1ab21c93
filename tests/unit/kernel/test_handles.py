"""Handle spaces and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.handles import HandleSpace, HandleTable
from wddm.ddi.status import NTSTATUS
from wddm.wire.channel import CallError


@dataclass(eq=False)
class Apple:
    kind: ClassVar[str] = "apple"


@dataclass(eq=False)
class Pear:
    kind: ClassVar[str] = "pear"


def refusal(table: HandleTable, handle: int) -> CallError:
    with pytest.raises(CallError) as caught:
        table.get(handle, Apple, "hApple")
    assert caught.value.code == NTSTATUS.STATUS_INVALID_HANDLE
    return caught.value


def test_every_wrong_use_is_named() -> None:
    space = HandleSpace()
    one, two = HandleTable(space), HandleTable(space)
    apple, pear = Apple(), Pear()
    a, p = one.add(apple), one.add(pear)
    assert one.get(a, Apple) is apple
    assert "is NULL where a apple belongs" in refusal(one, 0).message
    assert "names a pear, not a apple" in refusal(one, p).message
    assert "belongs to nobody here" in refusal(two, a).message
    assert "was never given out" in refusal(one, 0x7FF0_0001).message
    one.remove(a)
    assert "hApple 0x100001 names no apple: it was destroyed" in refusal(one, a).message
    one.remove(a)  # again: nothing happens


def test_a_process_may_hold_only_so_many() -> None:
    table = HandleTable(HandleSpace(), limit=2)
    first = table.add(Apple())
    table.add(Apple())
    with pytest.raises(CallError) as caught:
        table.add(Apple())
    assert caught.value.code == NTSTATUS.STATUS_INSUFFICIENT_RESOURCES
    table.remove(first)
    table.add(Apple())


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1), st.integers(0, 200)), max_size=400))
def test_a_handle_never_names_another_object(steps: list[tuple[bool, int, int]]) -> None:
    space = HandleSpace()
    tables = [HandleTable(space), HandleTable(space)]
    live: list[tuple[int, int, Apple]] = []
    dead: list[tuple[int, int]] = []
    for make, which, pick in steps:
        if make or not live:
            apple = Apple()
            handle = tables[which].add(apple)
            assert 0 < handle < 1 << 32
            assert all(handle != h for _, h, _ in live)
            assert (which, handle) not in dead
            live.append((which, handle, apple))
        else:
            which, handle, _ = live.pop(pick % len(live))
            tables[which].remove(handle)
            dead.append((which, handle))
    for which, handle, apple in live:
        assert tables[which].get(handle, Apple) is apple
        refusal(tables[1 - which], handle)
    for which, handle in dead:
        refusal(tables[which], handle)


def test_a_slot_whose_generations_are_used_up_is_not_used_again() -> None:
    space = HandleSpace()
    seen = set()
    for _ in range(70 * 4096):
        handle = space.take()
        assert handle not in seen
        seen.add(handle)
        space.give_back(handle)
