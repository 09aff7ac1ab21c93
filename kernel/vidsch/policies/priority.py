"""Priorities, and turns of a quantum among equals: the default.

A ready context of higher priority preempts; among equals each runs for a quantum, and is preempted at its end only when another
of the same priority waits. Models the priority classes and the rotation of "Video Memory Management and GPU Scheduling".
"""

from __future__ import annotations

from collections.abc import Sequence

from . import Decision, Schedulable


class PriorityRoundRobin:
    """Strict priorities; ``quantum`` in seconds."""

    def __init__(self, quantum: float) -> None:
        self.quantum = quantum
        self._turn_of: Schedulable | None = None
        self._turn_began = 0.0
        self._last_turn: dict[Schedulable, int] = {}
        self._turns = 0

    def decide(
        self, now: float, running: Schedulable | None, ready: Sequence[Schedulable], behind: Sequence[Schedulable] = ()
    ) -> Decision:
        """See the module."""
        if running is None:
            if len(ready) == 1:
                return Decision(self._next(now, ready))
            top = max((c.priority for c in ready), default=0)
            equals = [c for c in ready if c.priority == top]
            return Decision(run=self._next(now, equals) if equals else None)
        if running is not self._turn_of:
            self._begin(now, running)
        waiting = [c for c in (*ready, *behind) if c is not running]
        top = max((c.priority for c in waiting), default=running.priority - 1)
        rivals = [c for c in waiting if c.priority == top]
        if top > running.priority:
            return Decision(run=self._next(now, rivals), preempt=True)
        wake_at = None
        if top == running.priority:
            # Somebody of the same rank waits: the running one goes on until its turn ends, then they change.
            wake_at = self._turn_began + self.quantum
            if now >= wake_at:
                return Decision(run=self._next(now, rivals), preempt=True)
        run = running if running in ready else self._oldest([c for c in rivals if c in ready])
        return Decision(run=run, wake_at=wake_at)

    def ran(self, context: Schedulable, seconds: float) -> None:
        """Turns are counted by the clock, not by use."""

    def forget(self, context: Schedulable) -> None:
        """Drop its turn."""
        self._last_turn.pop(context, None)
        if self._turn_of is context:
            self._turn_of = None

    def _oldest(self, contexts: Sequence[Schedulable]) -> Schedulable | None:
        return min(contexts, key=lambda c: (self._last_turn.get(c, 0), c.order), default=None)

    def _next(self, now: float, contexts: Sequence[Schedulable]) -> Schedulable | None:
        if self._turn_of in contexts and now < self._turn_began + self.quantum:
            return self._turn_of
        chosen = self._oldest(contexts)
        if chosen is not None:
            self._begin(now, chosen)
        return chosen

    def _begin(self, now: float, context: Schedulable) -> None:
        self._turn_of, self._turn_began = context, now
        self._turns += 1
        self._last_turn[context] = self._turns
