"""The kernel's objects: process, device, context, and what a device has open.

Records with the few invariants that belong to one object alone; the managers act on them. Models the object hierarchy of "Windows
Vista and Later Display Driver Model Operation Flow".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

from wddm.ddi.d3dkmddi import DXGK_CONTEXTINFO
from wddm.ddi.status import HRESULT
from wddm.wire.message import Struct

from .handles import HandleTable

if TYPE_CHECKING:
    from .sync import FencePages, SyncObject
    from .vidmm.allocation import Allocation, AllocationInfo, Resource
    from .vidsch.packets import DmaPacket, Packet


class ExecutionState(IntEnum):
    """D3DKMT_DEVICEEXECUTION_STATE."""

    ACTIVE = 1
    RESET = 2
    HUNG = 3
    STOPPED = 4
    ERROR_OUTOFMEMORY = 5
    ERROR_DMAFAULT = 6
    ERROR_DMAPAGEFAULT = 7


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a device left the ACTIVE state: sticky. ``reason`` is an HRESULT, ``sentence`` for people."""

    state: ExecutionState
    reason: int
    sentence: str


@dataclass(slots=True, eq=False)
class Process:
    """One connection. ``tell`` sends it a notification (and does nothing once it is gone)."""

    name: str
    table: HandleTable
    tell: Callable[[Struct], None]
    devices: list[Device] = field(default_factory=list)
    pages: FencePages | None = None
    hAdapter: int = 0
    engine_timeouts: list[float] = field(default_factory=list)
    blocked: bool = False
    gone: bool = False
    on_empty: Callable[[], None] | None = None  #: called when it is gone and its last device is destroyed

    def __str__(self) -> str:
        return self.name or "a process without a name"


@dataclass(slots=True, eq=False)
class Device:
    """A D3DKMT device; ``hKmd`` is the miniport's handle of it."""

    process: Process
    handle: int = 0
    hKmd: int = 0
    cause: Cause | None = None
    contexts: list[Context] = field(default_factory=list)
    resources: list[OpenResource] = field(default_factory=list)
    allocations: list[OpenAllocation] = field(default_factory=list)
    sync_objects: list[SyncObject] = field(default_factory=list)
    queued_presents: int = 0
    destroying: bool = False
    kind: ClassVar[str] = "device"


@dataclass(slots=True, eq=False)
class Context:
    """A GPU thread: an ordered software queue on one node. ``submitted``: with the hardware or being retired, oldest first."""

    device: Device
    node: int
    info: DXGK_CONTEXTINFO
    flags: int  #: D3DDDI_CREATECONTEXTFLAGS
    handle: int = 0
    hKmd: int = 0
    in_process_priority: int = 0
    process_priority_class: int = 2
    queue: deque[Packet] = field(default_factory=deque)
    submitted: deque[DmaPacket] = field(default_factory=deque)
    destroying: bool = False
    on_idle: list[Callable[[], None]] = field(default_factory=list)
    on_space: list[Callable[[], None]] = field(default_factory=list)
    #: Converted allocation list of the last render, to be used again when nothing changed.
    list_cache: Any = None
    kind: ClassVar[str] = "context"

    @property
    def priority(self) -> int:
        """What policies compare: the process' class first (NORMAL is 2), then -7..7."""
        return self.process_priority_class * 16 + self.in_process_priority

    @property
    def order(self) -> int:
        """Sequence number of the packet at the head of the queue."""
        head = self.queue[0] if self.queue else None
        return getattr(head, "sequence", 0)

    @property
    def idle(self) -> bool:
        """Whether nothing is queued or running."""
        return not self.queue and not self.submitted


@dataclass(slots=True, eq=False)
class OpenAllocation:
    """An allocation as one device sees it. ``instances``: those that renaming has made, each with a handle of its own."""

    device: Device
    info: AllocationInfo
    hDeviceSpecific: int
    resource: OpenResource | None
    instances: list[InstanceHandle] = field(default_factory=list)
    destroyed: bool = False


@dataclass(slots=True, eq=False)
class InstanceHandle:
    """What an hAllocation names: one instance of an opened allocation."""

    opened: OpenAllocation
    allocation: Allocation
    handle: int = 0
    locks: int = 0
    mapped: bool = False  #: locked at least once: its process has seen the pages, and keeps seeing them
    kind: ClassVar[str] = "allocation"


@dataclass(slots=True, eq=False)
class OpenResource:
    """A resource as one device sees it."""

    device: Device
    resource: Resource
    creator: bool = True
    handle: int = 0
    allocations: list[OpenAllocation] = field(default_factory=list)
    kind: ClassVar[str] = "resource"


@dataclass(slots=True, eq=False)
class AdapterHandle:
    """What hAdapter names."""

    kind: ClassVar[str] = "adapter"


def reason_of(state: ExecutionState) -> int:
    """The device-removed reason that goes with a state when nothing better is known."""
    return {
        ExecutionState.HUNG: HRESULT.DXGI_ERROR_DEVICE_HUNG,
        ExecutionState.RESET: HRESULT.DXGI_ERROR_DEVICE_RESET,
        ExecutionState.ERROR_OUTOFMEMORY: HRESULT.E_OUTOFMEMORY,
    }.get(state, HRESULT.DXGI_ERROR_DEVICE_REMOVED)
