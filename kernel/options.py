"""What a kernel is started with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """``miniport`` and ``umd`` are "module:Entry"; ``quantum`` and ``tdr_delay`` in seconds; ``system_memory`` in bytes (None: half
    of what the machine has)."""

    miniport: str = "miniport:DriverEntry"
    umd: str = "umd:OpenAdapter10_2"
    policy: str = "priority"
    quantum: float = 0.02
    tdr_delay: float = 2.0
    max_processes: int = 256
    system_memory: int | None = None
    max_queued_presents: int = 3
    max_queued_packets: int = 64
