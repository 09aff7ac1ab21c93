"""What runs next: policies as plain objects, one file each.

A policy sees, for one node, the context whose packet the hardware works on (or None), the contexts whose packets the hardware
has behind that, and the contexts that have a packet ready. It answers with a :class:`Decision`. It keeps no reference to a context
but in its own bookkeeping, knows no trio, and takes the time as an argument. Models "Video Memory Management and GPU Scheduling";
Windows does not document its numbers, so quantum and weights are parameters here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol


class Schedulable(Protocol):
    """What a policy may know of a context. ``priority``: larger runs first; ``order``: sequence number of its oldest packet."""

    @property
    def priority(self) -> int: ...

    @property
    def order(self) -> int: ...


class Decision(NamedTuple):
    """``run``: the context whose next packet goes to the hardware, or None. ``preempt``: stop what the hardware has first.

    ``wake_at``: ask again at this time even if nothing happens, or None.
    """

    run: Schedulable | None = None
    preempt: bool = False
    wake_at: float | None = None


class Policy(Protocol):
    """One per node."""

    def decide(
        self, now: float, running: Schedulable | None, ready: Sequence[Schedulable], behind: Sequence[Schedulable] = ()
    ) -> Decision:
        """What to do with one free place in the node's queue. ``ready`` may be empty; ``running`` may be in it and in ``behind``.

        With ``preempt`` everything in the hardware comes back first, so that ``run`` may be one of ``behind``.
        """

    def ran(self, context: Schedulable, seconds: float) -> None:
        """The hardware worked ``seconds`` on a packet of ``context``."""

    def forget(self, context: Schedulable) -> None:
        """The context is gone."""


def make_policy(name: str, *, quantum: float) -> Callable[[], Policy]:
    """A factory of the policy called ``name``. Raises ValueError with the names that exist."""
    from .fair_share import FairShare
    from .fifo import Fifo
    from .priority import PriorityRoundRobin

    if quantum <= 0:
        raise ValueError(f"a quantum of {quantum} s")
    factories: dict[str, Callable[[], Policy]] = {
        "priority": lambda: PriorityRoundRobin(quantum),
        "fifo": Fifo,
        "fair-share": lambda: FairShare(quantum),
    }
    if name not in factories:
        raise ValueError(f"no policy {name!r}; there are {', '.join(factories)}")
    return factories[name]


POLICIES: Final = ("priority", "fifo", "fair-share")
