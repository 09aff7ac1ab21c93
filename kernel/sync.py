"""Synchronisation objects: mutex, semaphore, fence, CPU notification, monitored fence.

Plain objects with their waiters: GPU waits (a packet at the head of a context's queue) and CPU waits (a callback). The value of a
monitored fence lies in a page that the process has mapped read-only and the hardware writes; everything else is kept here. Nothing
waits and nothing is scheduled here. Models "Context Monitoring" and the synchronisation callbacks; DEVIATES: monitored fences are
not shared between processes, periodic ones do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from wddm.ddi.d3dukmdt import D3DDDI_SYNCHRONIZATIONOBJECT_TYPE

from .bus_link import BusLink, MemoryBlock

if TYPE_CHECKING:
    from .objects import Context, Device

FENCE_MAXIMUM: Final = 0xFFFF_FFFF_FFFF_FFFF
_PAGE_SIZE: Final = 4096
_SLOT: Final = 8


@dataclass(slots=True, eq=False)
class CpuWait:
    """A wait from the CPU: ``done(None)`` when all (or one) of the fences have their values, ``done(sentence)`` on failure."""

    fences: Sequence[MonitoredFence]
    values: Sequence[int]
    any: bool
    done: Callable[[str | None], None]

    @property
    def satisfied(self) -> bool:
        """Whether it is over."""
        reached = (fence.value >= value for fence, value in zip(self.fences, self.values, strict=True))
        return any(reached) if self.any else all(reached)


@dataclass(slots=True, eq=False)
class SyncObject:
    """Common to all. ``waiters``: contexts whose head waits for it, first come first served."""

    device: Device
    type: D3DDDI_SYNCHRONIZATIONOBJECT_TYPE
    flags: int  #: D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS
    handle: int = 0
    destroyed: bool = False
    waiters: list[Context] = field(default_factory=list)
    kind: ClassVar[str] = "synchronisation object"

    def can_take(self, value: int) -> bool:
        """Whether a wait for ``value`` would go through now."""
        raise NotImplementedError

    def take(self, value: int) -> None:
        """Go through (after :meth:`can_take`)."""

    def signal(self, value: int, *, rewind: bool = False) -> str | None:
        """Signal it. Returns a sentence when that breaks a rule of the object."""
        raise NotImplementedError


@dataclass(slots=True, eq=False)
class Mutex(SyncObject):
    """A wait owns it, a signal releases it."""

    owned: bool = False

    def can_take(self, value: int) -> bool:
        """Whether nobody owns it."""
        return not self.owned

    def take(self, value: int) -> None:
        """Own it."""
        self.owned = True

    def signal(self, value: int, *, rewind: bool = False) -> str | None:
        """Release it."""
        if not self.owned:
            return "a mutex that nobody owns was released"
        self.owned = False
        return None


@dataclass(slots=True, eq=False)
class Semaphore(SyncObject):
    """A wait takes one, a signal gives one, at most ``maximum``."""

    count: int = 0
    maximum: int = 1

    def can_take(self, value: int) -> bool:
        """Whether there is one."""
        return self.count > 0

    def take(self, value: int) -> None:
        """Take one."""
        self.count -= 1

    def signal(self, value: int, *, rewind: bool = False) -> str | None:
        """Give one."""
        if self.count >= self.maximum:
            return f"a semaphore was signalled above its maximum of {self.maximum}"
        self.count += 1
        return None


@dataclass(slots=True, eq=False)
class Fence(SyncObject):
    """A value that goes up; a wait goes through from its value on."""

    value_: int = 0

    @property
    def value(self) -> int:
        """The value signalled last."""
        return self.value_

    def can_take(self, value: int) -> bool:
        """Whether the value is reached."""
        return self.value >= value

    def signal(self, value: int, *, rewind: bool = False) -> str | None:
        """Set it."""
        if value < self.value and not rewind:
            return f"a fence at {self.value} was signalled to {value} without AllowFenceRewind"
        self.value_ = value
        return None


@dataclass(slots=True, eq=False)
class CpuNotification(SyncObject):
    """Set by a signal in a context's stream; the GPU cannot wait for it."""

    signalled: int = 0

    def can_take(self, value: int) -> bool:
        """Never: see the class."""
        return False

    def signal(self, value: int, *, rewind: bool = False) -> str | None:
        """Set it."""
        self.signalled += 1
        return None


@dataclass(slots=True, eq=False)
class MonitoredFence(SyncObject):
    """A fence whose value is a u64 in shared memory, at ``address`` on the bus. ``queued``: the highest value on its way."""

    page: FencePage = field(kw_only=True)
    slot: int = field(kw_only=True)
    queued: int = 0
    cpu_waits: list[CpuWait] = field(default_factory=list)

    @property
    def address(self) -> int:
        """Bus address of the value (FenceValueGPUVirtualAddress)."""
        return self.page.block.address + self.slot * _SLOT

    @property
    def value(self) -> int:
        """The value now, whoever wrote it."""
        return self.page.values[self.slot]

    def can_take(self, value: int) -> bool:
        """Whether the value is reached."""
        return self.value >= value

    def signal(self, value: int, *, rewind: bool = False) -> str | None:
        """Write it from the CPU."""
        if value < self.value and not rewind:
            return f"a monitored fence at {self.value} was signalled to {value} without AllowFenceRewind"
        self.page.values[self.slot] = value
        self.queued = value if rewind else max(self.queued, value)
        return None

    def queue(self, value: int, *, rewind: bool = False) -> str | None:
        """A signal of ``value`` has been queued for the hardware. Returns a sentence when the value may not go back so."""
        highest = max(self.queued, self.value)
        if value < highest and not rewind:
            return f"a monitored fence with {highest} signalled or queued was signalled to {value} without AllowFenceRewind"
        self.queued = value
        return None


@dataclass(slots=True, eq=False)
class FencePage:
    """A page of fence values of one process: the kernel and the device write, the process reads."""

    block: MemoryBlock
    values: memoryview[int]  #: u64 each
    free: list[int]
    sealed: bool = False


class FencePages:
    """The fence pages of one process."""

    def __init__(self, link: BusLink) -> None:
        self._link = link
        self.pages: list[FencePage] = []

    def slot(self) -> tuple[FencePage, int]:
        """A place for a value. A page that is not ``sealed`` must be sealed before it is handed out. Raises CallError."""
        for page in self.pages:
            if page.free:
                return page, page.free.pop()
        block = self._link.create(_PAGE_SIZE, "fence page")
        page = FencePage(block, block.array[:_PAGE_SIZE].data.cast("Q"), list(range(_PAGE_SIZE // _SLOT - 1, -1, -1)))
        self.pages.append(page)
        return page, page.free.pop()

    async def seal(self, page: FencePage) -> None:
        """Let nobody else map the page for writing: only after the device has mapped it, hence the barrier."""
        if not page.sealed:
            await self._link.read_registers([])
            if not page.sealed:
                page.block.memory.seal_writes()
                page.sealed = True

    def give_back(self, fence: MonitoredFence) -> None:
        """The fence is gone and nothing will write its value any more."""
        fence.page.free.append(fence.slot)

    def close(self) -> None:
        """The process is gone and nothing writes to its pages."""
        for page in self.pages:
            self._link.remove(page.block)
        self.pages.clear()
