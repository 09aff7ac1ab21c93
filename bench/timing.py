"""How a loop is timed: the same rule as the peers' workloads follow.

One call warms up, a second is timed to choose how many iterations make a sample long enough, then each sample is one call.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

#: ``await loop(n)``: n iterations, and all that they asked for done at its end.
Loop = Callable[[int], Awaitable[None]]


@dataclass(frozen=True)
class Pace:
    """How long to measure. Seconds; ``samples`` of about ``target`` each, only one when a single iteration takes over ``slow``."""

    samples: int = 7
    target: float = 0.25
    slow: float = 5.0
    rounds: int = 600  #: round trips of one sample of a latency
    limit: float = 120.0  #: no scene takes longer


QUICK = Pace(samples=3, target=0.05, slow=1.0, rounds=200, limit=30.0)


async def seconds(loop: Loop, pace: Pace, most: int = 1_000_000) -> list[float]:
    """Seconds of one iteration, one number a sample."""
    await loop(1)
    began = time.perf_counter()
    await loop(1)
    once = time.perf_counter() - began
    if once > pace.slow:
        return [once]
    count = max(1, min(most, math.ceil(pace.target / max(once, 1e-7))))
    if count > 1:
        await loop(min(count, 4))
    found = []
    for _ in range(pace.samples):
        began = time.perf_counter()
        await loop(count)
        found.append((time.perf_counter() - began) / count)
    return found


async def round_trips(loop: Loop, rounds: int) -> list[float]:
    """Microseconds of each of ``rounds`` single iterations."""
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        await loop(1)
        found.append((time.perf_counter() - began) * 1e6)
    return found
