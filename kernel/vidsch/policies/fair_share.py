"""Fair shares: who has used least of the hardware, weighted by priority, runs next.

Each step of priority is worth a quarter more of the time. A context that comes back after a pause starts level with the others,
so that idling earns nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from . import Decision, Schedulable

_STEP: Final = 1.25


class FairShare:
    """Weighted fair queueing with preemption after ``quantum`` seconds when somebody who has had less waits."""

    def __init__(self, quantum: float) -> None:
        self.quantum = quantum
        self._used: dict[Schedulable, float] = {}
        self._level = 0.0
        self._running: Schedulable | None = None
        self._since = 0.0

    def decide(
        self, now: float, running: Schedulable | None, ready: Sequence[Schedulable], behind: Sequence[Schedulable] = ()
    ) -> Decision:
        """See the module."""
        if running is not self._running:
            self._running, self._since = running, now
        waiting = [c for c in (*ready, *behind) if c is not running]
        for context in (*ready, *waiting):
            self._used[context] = max(self._used.get(context, self._level), self._level)
        if running is None or not waiting:
            least = min(ready, key=self._rank, default=None)
            if least is not None:
                self._level = max(self._level, self._used[least])
            return Decision(run=least)
        rival = min(waiting, key=self._rank)
        self._level = max(self._level, min(self._used[c] for c in (*waiting, running) if c in self._used))
        had = self._used.get(running, self._level) + (now - self._since) / self._weight(running)
        ends = self._since + self.quantum
        if had > self._used[rival] and now >= ends:
            return Decision(run=rival, preempt=True)
        candidates = [c for c in ready if c is running] if had <= self._used[rival] else []
        run = min(candidates or ready, key=self._rank, default=None)
        return Decision(run=run, wake_at=ends if now < ends else now + self.quantum)

    def _rank(self, context: Schedulable) -> tuple[float, int]:
        return self._used[context], context.order

    def ran(self, context: Schedulable, seconds: float) -> None:
        """Charge it."""
        self._used[context] = self._used.get(context, self._level) + seconds / self._weight(context)

    def forget(self, context: Schedulable) -> None:
        """Drop its account."""
        self._used.pop(context, None)
        if self._running is context:
            self._running = None

    @staticmethod
    def _weight(context: Schedulable) -> float:
        return float(_STEP**context.priority)
