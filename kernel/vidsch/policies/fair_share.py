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

    def decide(self, now: float, running: Schedulable | None, ready: Sequence[Schedulable]) -> Decision:
        """See the module."""
        if running is not self._running:
            self._running, self._since = running, now
        if not ready:
            return Decision()
        for context in ready:
            self._used[context] = max(self._used.get(context, self._level), self._level)
        least = min(ready, key=lambda c: (self._used[c], c.order))
        self._level = max(self._level, self._used[least])
        if running is None or least is running:
            return Decision(run=least)
        had = self._used.get(running, self._level) + (now - self._since) / self._weight(running)
        if had <= self._used[least]:
            return Decision(run=running if running in ready else least, wake_at=self._since + self.quantum)
        if now - self._since >= self.quantum:
            return Decision(run=least, preempt=True)
        return Decision(run=least, wake_at=self._since + self.quantum)

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
