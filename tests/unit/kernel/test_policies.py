"""Scheduling policies, fence arithmetic and the watchdog, in simulated time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.vidsch.fence import fence_distance, next_fence, reached
from kernel.vidsch.node import Node, Preemption
from kernel.vidsch.policies import POLICIES, Policy, make_policy
from kernel.vidsch.tdr import TdrHistory, TdrSettings, Watch, watch
from wddm.ddi.d3dkmddi import DXGK_ENGINE_TYPE


@dataclass(eq=False)
class Job:
    """A context with packets of so many seconds."""

    name: str
    priority: int = 0
    packets: deque[float] = field(default_factory=deque)
    order: int = 0
    had: float = 0.0


def simulate(policy: Policy, jobs: list[Job], until: float, *, cap: int = 2) -> list[tuple[str, float]]:
    """A node that is preempted at once. Returns (who, how long) in order."""
    now, log = 0.0, []
    hardware: deque[list[Any]] = deque()
    while now < until:
        for _ in range(20):
            ready = [j for j in jobs if j.packets]
            running = hardware[0][0] if hardware else None
            decision = policy.decide(now, running, ready, [h[0] for h in list(hardware)[1:]])
            if decision.preempt and hardware:
                for job, left in reversed(hardware):
                    job.packets.appendleft(left)
                hardware.clear()
                continue
            if decision.run is None or len(hardware) >= cap:
                break
            job = decision.run
            assert isinstance(job, Job)
            hardware.append([job, job.packets.popleft()])
        else:
            raise AssertionError("the policy goes round in circles")
        if not hardware:
            break
        job, left = hardware[0]
        step = left if decision.wake_at is None else max(1e-6, min(left, decision.wake_at - now))
        now += step
        job.had += step
        policy.ran(job, step)
        log.append((job.name, step))
        hardware[0][1] -= step
        if hardware[0][1] <= 1e-9:
            hardware.popleft()
    return log


def jobs(*priorities: int, length: float = 0.005, count: int = 1000) -> list[Job]:
    return [Job("abcdef"[n], p, deque([length] * count), n) for n, p in enumerate(priorities)]


def test_higher_priority_starves_lower_and_equals_share() -> None:
    policy = make_policy("priority", quantum=0.02)()
    work = jobs(1, 1, 0)
    simulate(policy, work, 2.0)
    assert work[2].had == 0
    assert work[0].had == pytest.approx(work[1].had, abs=0.05)


def test_a_quantum_ends_only_when_somebody_waits() -> None:
    policy = make_policy("priority", quantum=0.02)()
    alone = jobs(0, length=10.0, count=1)
    assert simulate(policy, alone, 20) == [("a", 10.0)]
    policy = make_policy("priority", quantum=0.02)()
    log = simulate(policy, jobs(0, 0, length=10.0, count=1), 1.0)
    assert {who for who, _ in log} == {"a", "b"}
    assert max(step for _, step in log) <= 0.0201


def test_a_newcomer_of_higher_priority_preempts() -> None:
    policy = make_policy("priority", quantum=0.02)()
    low, high = Job("low", 0), Job("high", 5)
    assert policy.decide(0.0, None, [low]).run is low
    decision = policy.decide(0.001, low, [high])
    assert decision.preempt
    assert decision.run is high
    assert not policy.decide(0.002, high, [low]).preempt


def test_fifo_keeps_the_order() -> None:
    policy = make_policy("fifo", quantum=0.02)()
    work = jobs(0, 9, length=1.0, count=1)
    assert [who for who, _ in simulate(policy, work, 10)] == ["a", "b"]


def test_fair_shares_follow_weights() -> None:
    policy = make_policy("fair-share", quantum=0.02)()
    work = jobs(0, 3)
    simulate(policy, work, 3.0)
    assert work[1].had / work[0].had == pytest.approx(1.25**3, rel=0.15)


def test_idling_earns_nothing() -> None:
    policy = make_policy("fair-share", quantum=0.02)()
    busy, late = jobs(0, 0)
    late.packets.clear()
    simulate(policy, [busy, late], 1.0)
    late.packets.extend([0.005] * 1000)
    busy.had = late.had = 0.0
    simulate(policy, [busy, late], 1.0)
    assert busy.had == pytest.approx(late.had, abs=0.1)


@pytest.mark.parametrize("name", POLICIES)
def test_a_forgotten_context_is_never_chosen(name: str) -> None:
    policy = make_policy(name, quantum=0.02)()
    a, b = jobs(0, 0)
    policy.decide(0.0, None, [a, b])
    policy.ran(a, 0.01)
    policy.forget(a)
    assert policy.decide(0.01, None, [b]).run is b
    assert policy.decide(0.02, None, []).run is None


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_all_work_gets_done(name: str, data: st.DataObject) -> None:
    policy = make_policy(name, quantum=0.02)()
    shapes = data.draw(st.lists(st.tuples(st.integers(-7, 7), st.lists(st.floats(0.001, 0.2), max_size=6)), min_size=1, max_size=4))
    work = [Job(str(n), p, deque(packets), n) for n, (p, packets) in enumerate(shapes)]
    total = sum(sum(j.packets) for j in work)
    simulate(policy, work, 1000.0)
    assert sum(j.had for j in work) == pytest.approx(total, abs=1e-4)


def test_unknown_policies_are_named() -> None:
    with pytest.raises(ValueError, match="no policy 'x'; there are priority, fifo, fair-share"):
        make_policy("x", quantum=1)


# ----- fences --------------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 0xFFFF_FFFF), st.integers(0, 0x7FFF_FFFF))
def test_fences_are_compared_across_the_wrap(start: int, ahead: int) -> None:
    later = (start + ahead) & 0xFFFF_FFFF
    assert reached(later, start)
    assert fence_distance(later, start) == ahead
    assert reached(start, later) is (ahead == 0)


def test_zero_is_skipped() -> None:
    assert next_fence(0xFFFF_FFFF) == 1
    assert next_fence(1) == 2


# ----- the watchdog --------------------------------------------------------------------------------------------------------------


class Packet:
    """Something in the hardware's queue."""

    context: Any = None


def node() -> Node:
    return Node(0, DXGK_ENGINE_TYPE.ENGINE_3D, "3D", make_policy("fifo", quantum=1)(), 4)


def test_a_time_out_is_a_preemption_that_is_not_answered() -> None:
    one, settings_ = node(), TdrSettings(delay=2.0)
    assert watch(one, 100.0, settings_) == (Watch.NOTHING, None)
    one.hw.append(Packet())  # type: ignore[arg-type]
    one.head_since = 100.0
    assert watch(one, 101.0, settings_) == (Watch.NOTHING, 102.0)
    assert watch(one, 102.0, settings_)[0] is Watch.PREEMPT
    one.preemption = Preemption(1, 102.0)
    assert watch(one, 103.0, settings_) == (Watch.NOTHING, 104.0)
    assert watch(one, 104.0, settings_)[0] is Watch.HUNG
    one.stopped = True
    assert watch(one, 104.0, settings_) == (Watch.NOTHING, None)


def test_the_sixth_reset_in_a_minute_is_one_too_many() -> None:
    history = TdrHistory(TdrSettings())
    assert [history.adapter_reset(float(t)) for t in range(6)] == [True] * 5 + [False]
    history = TdrHistory(TdrSettings())
    assert all(history.adapter_reset(t * 13.0) for t in range(50))
