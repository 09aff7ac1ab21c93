"""Queries: counters of the pipeline, and what a query block says.

Counters run per context; QUERY_BEGIN remembers them, QUERY_END writes the difference. The state word is written last.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from vgpu.engine import Packet
from vgpu.memory import Memory
from wddm.hw.packets import QueryKind

#: In the order of pipeline statistics.
STATISTICS: Final = (
    "ia_vertices",
    "ia_primitives",
    "vs_invocations",
    "gs_invocations",
    "gs_primitives",
    "clipper_invocations",
    "clipper_primitives",
    "ps_invocations",
    "hs_invocations",
    "ds_invocations",
    "cs_invocations",
)
#: Ticks per second of timestamps.
FREQUENCY: Final = 1_000_000_000


@dataclass(slots=True)
class Counters:
    """Running totals of one context, and the totals at the begin of open queries."""

    totals: dict[str, int] = field(default_factory=dict)
    begun: dict[int, dict[str, int]] = field(default_factory=dict)

    def add(self, name: str, count: int) -> None:
        """Count."""
        self.totals[name] = self.totals.get(name, 0) + count


def begin(counters: Counters, packet: Packet) -> None:
    """QUERY_BEGIN."""
    counters.begun[int(packet["address"])] = dict(counters.totals)


def end(memory: Memory, counters: Counters, packet: Packet) -> None:
    """QUERY_END: results, then the state."""
    address, arg = int(packet["address"]), int(packet["arg"])
    before = counters.begun.pop(address, {})
    results = _results(QueryKind(arg & 0xFF), arg >> 8, counters.totals, before)
    block = memory.view(address, 8 + 8 * len(results), write=True).view(np.uint64)
    block[1:] = results
    block[0] = 1


def _results(kind: QueryKind, stream: int, now: dict[str, int], before: dict[str, int]) -> list[Any]:
    def count(name: str) -> int:
        return now.get(name, 0) - before.get(name, 0)

    if kind == QueryKind.EVENT:
        return [1]
    if kind == QueryKind.OCCLUSION:
        return [count("occlusion")]
    if kind == QueryKind.TIMESTAMP:
        return [time.monotonic_ns()]
    if kind == QueryKind.TIMESTAMP_DISJOINT:
        return [FREQUENCY, 0]
    if kind == QueryKind.PIPELINE_STATISTICS:
        return [count(name) for name in STATISTICS]
    if kind == QueryKind.OCCLUSION_PREDICATE:
        return [int(count("occlusion") > 0)]
    if kind == QueryKind.STREAM_OUTPUT_STATISTICS:
        return [count(f"so_written{stream}"), count(f"so_needed{stream}")]
    streams = range(4) if stream == 4 else (stream,)
    return [int(any(count(f"so_needed{s}") > count(f"so_written{s}") for s in streams))]
