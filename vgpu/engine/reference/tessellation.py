"""Tessellation (placeholder until the next change)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vgpu.engine import FaultError, StopWord
from wddm.hw.interrupts import Fault

from .queries import Counters
from .shader import Program

if TYPE_CHECKING:
    from .draw import Assembled


def run(
    hs: Program, ds: Program, bound: dict[Any, Any], stream: Assembled, counters: Counters, stop: StopWord
) -> Iterator[Assembled]:
    raise FaultError(Fault.PIPELINE, "no tessellator")
