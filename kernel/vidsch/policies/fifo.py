"""First come, first served: the oldest ready packet runs; nothing is preempted."""

from __future__ import annotations

from collections.abc import Sequence

from . import Decision, Schedulable


class Fifo:
    """The order of submission is the order of execution; priorities mean nothing."""

    def decide(
        self, now: float, running: Schedulable | None, ready: Sequence[Schedulable], behind: Sequence[Schedulable] = ()
    ) -> Decision:
        """The context with the oldest packet."""
        return Decision(run=min(ready, key=lambda c: c.order, default=None))

    def ran(self, context: Schedulable, seconds: float) -> None:
        """Nothing to remember."""

    def forget(self, context: Schedulable) -> None:
        """Nothing to forget."""
