"""Calls enter a driver one at a time, in order of arrival."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

import pytest
import trio

from runtime.turn import Turn


async def test_what_does_not_wait_is_done_at_once() -> None:
    turn = Turn()
    assert turn.enter(lambda: 5) == 5
    with pytest.raises(KeyError):
        turn.enter(lambda: {}[0])
    assert turn.enter(lambda: 6) == 6


async def test_the_order_of_arrival_is_kept() -> None:
    turn, log, gate = Turn(), [], trio.Event()

    async def slow() -> str:
        log.append("slow begins")
        await gate.wait()
        log.append("slow ends")
        return "slow"

    results: list[Any] = []

    async def collect(pending: Any) -> None:
        results.append(await pending)

    async with trio.open_nursery() as nursery:
        first = turn.enter(slow)
        later = [turn.enter(lambda i=i: log.append(f"call {i}") or i) for i in range(5)]
        assert all(isawaitable(p) for p in (first, *later))
        for pending in reversed(later):  # the order in which they are awaited does not matter
            nursery.start_soon(collect, pending)
        nursery.start_soon(collect, first)
        await trio.testing.wait_all_tasks_blocked()
        assert log == ["slow begins"]
        gate.set()
    assert log == ["slow begins", "slow ends", *(f"call {i}" for i in range(5))]
    assert set(results) == {"slow", 0, 1, 2, 3, 4}


async def test_who_gives_up_waiting_leaves_the_line() -> None:
    turn, gate, log = Turn(), trio.Event(), []

    async def wait(pending: Any, scope: trio.CancelScope) -> None:
        with scope:
            await pending

    scopes = [trio.CancelScope() for _ in range(3)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait, turn.enter(gate.wait), scopes[0])
        for i in (1, 2):
            nursery.start_soon(wait, turn.enter(lambda i=i: log.append(i)), scopes[i])
        await trio.testing.wait_all_tasks_blocked()
        scopes[1].cancel()
        await trio.testing.wait_all_tasks_blocked()
        scopes[0].cancel()
    assert log == [2]
    assert turn.enter(lambda: "free") == "free"
