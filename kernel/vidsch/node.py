"""One node: what the hardware has of it, what waits for it, and its fence ids.

Plain data. Models the node of "GPU Preemption" and "Supplying Fence Identifiers".
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wddm.ddi.d3dkmddi import DXGK_ENGINE_TYPE

from .fence import next_fence, reached
from .packets import DmaPacket
from .policies import Policy

if TYPE_CHECKING:
    from kernel.objects import Context


@dataclass(slots=True)
class Preemption:
    """A preemption that was asked for and not answered. ``because_of_time``: the watchdog asked, not a policy."""

    fence: int
    since: float
    because_of_time: bool = False


@dataclass(slots=True, eq=False)
class Node:
    """A schedulable engine. ``hw``: packets in the hardware's queue, oldest first; ``paging``: those that go before all others;
    ``ready``: contexts whose head may run."""

    ordinal: int
    engine_type: DXGK_ENGINE_TYPE
    name: str
    policy: Policy
    cap: int
    hw: deque[DmaPacket] = field(default_factory=deque)
    paging: deque[DmaPacket] = field(default_factory=deque)
    ready: dict[Context, None] = field(default_factory=dict)
    last_submitted: int = 0
    last_completed: int = 0
    preemption: Preemption | None = None
    preempt_fences: int = 0
    head_since: float = 0.0
    stopped: bool = False  #: being reset: nothing is submitted
    wake_at: float | None = None
    submitted_count: int = 0
    completed_count: int = 0
    preempted_count: int = 0
    busy_ns: int = 0

    @property
    def running(self) -> Context | None:
        """The context that the hardware works for, if it is not the kernel itself."""
        return self.hw[0].context if self.hw else None

    def new_fence(self) -> int:
        """The id of the next submission."""
        self.last_submitted = next_fence(self.last_submitted)
        return self.last_submitted

    def plausible(self, fence: int) -> bool:
        """Whether the hardware can have completed ``fence``: not later than what was submitted."""
        return reached(self.last_submitted, fence)
