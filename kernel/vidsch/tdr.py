"""When a node hangs: the watchdog's decisions and limits, as plain objects.

A packet that runs longer than TdrDelay is first asked to give way (a preemption comes before every time-out); a node that does not
answer a preemption within TdrDelay hangs. Models "Timeout Detection and Recovery" and its registry keys.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from wddm.ddi.d3dukmdt import D3DDDI_CREATECONTEXTFLAGS

from .node import Node

_NO_TIMEOUT: Final = int(D3DDDI_CREATECONTEXTFLAGS.DisableGpuTimeout)


class Watch(Enum):
    """What the watchdog wants done about a node."""

    NOTHING = "nothing"
    PREEMPT = "ask it to give way"
    HUNG = "recover it"


@dataclass(frozen=True, slots=True)
class TdrSettings:
    """TdrDelay (s), TdrLimitTime (s), TdrLimitCount."""

    delay: float = 2.0
    limit_time: float = 60.0
    limit_count: int = 5


def watch(node: Node, now: float, settings: TdrSettings) -> tuple[Watch, float | None]:
    """What to do about ``node`` now, and when to look again (None: when something happens)."""
    if node.stopped or not node.hw:
        return Watch.NOTHING, None
    if node.preemption is not None:
        deadline = node.preemption.since + settings.delay
        return (Watch.HUNG, None) if now >= deadline else (Watch.NOTHING, deadline)
    context = node.hw[0].context
    if context is not None and context.flags & _NO_TIMEOUT:
        return Watch.NOTHING, None
    deadline = node.head_since + settings.delay
    return (Watch.PREEMPT, None) if now >= deadline else (Watch.NOTHING, deadline)


@dataclass(slots=True)
class TdrHistory:
    """Recoveries of the last ``limit_time`` seconds. One more than ``limit_count`` in that time is one too many."""

    settings: TdrSettings
    times: deque[float] = field(default_factory=deque)
    engine: int = 0
    adapter: int = 0

    def adapter_reset(self, now: float) -> bool:
        """Note a reset of the adapter; False when there have been too many."""
        self.adapter += 1
        while self.times and self.times[0] <= now - self.settings.limit_time:
            self.times.popleft()
        self.times.append(now)
        return len(self.times) <= self.settings.limit_count
