"""Loops are called as often as the rule says."""

from types import SimpleNamespace

from bench import timing
from bench.timing import Pace, round_trips, seconds


class Clock:
    """Time that only loops spend."""

    def __init__(self, each: float) -> None:
        self.now, self.each, self.calls = 0.0, each, []

    async def loop(self, count: int) -> None:
        self.calls.append(count)
        self.now += self.each * count


async def test_samples_are_long_enough(monkeypatch):
    clock = Clock(0.01)
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    found = await seconds(clock.loop, Pace(samples=3, target=0.25))
    assert clock.calls == [1, 1, 4, 25, 25, 25]
    assert all(abs(t - 0.01) < 1e-9 for t in found)


async def test_a_slow_loop_is_timed_once(monkeypatch):
    clock = Clock(9.0)
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    assert await seconds(clock.loop, Pace(slow=5)) == [9.0]
    assert clock.calls == [1, 1]


async def test_iterations_are_bounded(monkeypatch):
    clock = Clock(1e-6)
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    await seconds(clock.loop, Pace(samples=1, target=1.0), most=500)
    assert clock.calls == [1, 1, 4, 500]


async def test_round_trips_are_timed_one_by_one(monkeypatch):
    clock = Clock(2e-6)
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    found = await round_trips(clock.loop, 5)
    assert clock.calls == [1] * 5
    assert [round(t, 6) for t in found] == [2.0] * 5
