"""What stands in a context's software queue: DMA packets, waits, signals, flips.

Plain records; :mod:`kernel.vidsch.scheduler` moves them. Models the software queue of "Video Memory Management and GPU
Scheduling".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from .dma import DmaBuffer

if TYPE_CHECKING:
    from kernel.objects import Context
    from kernel.sync import MonitoredFence, SyncObject
    from kernel.vidmm.allocation import Allocation
    from kernel.vidmm.paging import PagingBatch

    from .allocation_list import ConvertedList


class PacketKind(Enum):
    """Who made a DMA packet."""

    RENDER = "DxgkDdiRender"
    PRESENT = "DxgkDdiPresent"
    SIGNAL = "DxgkDdiSignalMonitoredFence"
    PAGING = "DxgkDdiBuildPagingBuffer"


class PacketState(Enum):
    """Where a DMA packet is."""

    QUEUED = "in the software queue"
    PAGING = "its allocations are on their way"
    READY = "everything is resident"
    SUBMITTED = "in the hardware's queue"
    COMPLETED = "the hardware is done"
    FINISHED = "retired, cancelled or aborted"


@dataclass(slots=True, eq=False)
class DmaPacket:
    """One submission: ``size`` bytes of ``dma``. ``context`` is None for paging.

    ``uses``: each allocation once; ``writes``: those that it writes. ``signals``: monitored fences that the hardware writes when
    it is done. ``closes_batch``: the last paging buffer of its batch.
    """

    context: Context | None
    kind: PacketKind
    dma: DmaBuffer
    size: int
    private_used: int
    sequence: int
    flags: int = 0  #: DXGK_SUBMITCOMMANDFLAGS
    patch_count: int = 0
    allocations: ConvertedList | None = None
    uses: Sequence[Allocation] = ()
    writes: Sequence[Allocation] = ()
    offers: Sequence[tuple[Allocation, int]] = ()
    signals: list[tuple[MonitoredFence, int]] = field(default_factory=list)
    on_finish: list[Callable[[], None]] = field(default_factory=list)
    state: PacketState = PacketState.QUEUED
    fence: int = 0
    resubmitted: bool = False
    aborted: bool = False
    batch: PagingBatch | None = None
    closes_batch: bool = False

    @property
    def finished(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.state is PacketState.FINISHED

    @property
    def paging(self) -> bool:
        """Whether it is a system operation."""
        return self.kind is PacketKind.PAGING


@dataclass(slots=True, eq=False)
class WaitPacket:
    """Holds later packets of its context until ``objects`` can all be taken."""

    objects: list[SyncObject]
    value: int
    queued: bool = False


@dataclass(slots=True, eq=False)
class Broadcast:
    """A signal that several contexts have to reach."""

    missing: int


@dataclass(slots=True, eq=False)
class SignalPacket:
    """Signals ``objects`` when everything before it in its context is done (or, ``at_submission``, is with the hardware)."""

    objects: list[SyncObject]
    value: int
    broadcast: Broadcast
    rewind: bool = False
    at_submission: bool = False


@dataclass(slots=True, eq=False)
class CallPacket:
    """Calls ``action`` when everything before it in its context is done: flips and their like.

    ``uses`` are made resident and pinned first, and stay so: ``action`` owns the pins. ``started`` is called when it leaves the
    queue (with ``action`` still to come), ``cancel`` instead of both when the device is lost or the process gone.
    """

    started: Callable[[], None]
    action: Callable[[], None]
    cancel: Callable[[], None]
    uses: list[Allocation]
    state: PacketState = PacketState.QUEUED
    batch: PagingBatch | None = None


Packet = DmaPacket | WaitPacket | SignalPacket | CallPacket
