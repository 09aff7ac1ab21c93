"""System memory as the device sees it, over links with and without descriptor passing.

:class:`SharedLink`: both sides map the same pages; nothing is ever copied. :class:`CopyingLink`: the device has copies; what the
processor changed is written to them before work that reads it is submitted, and what the device changed is read back before
anybody is told that the work is done. The rest of the kernel calls ``to_device`` and ``from_device`` and knows no difference.
Models the bus of a discrete adapter; DEVIATES for the copying form, which no bus has.
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import trio

from wddm.ddi.status import NTSTATUS
from wddm.wire.bus import (
    MAX_MEMORY_ID,
    MEMORY_CHUNK,
    AddMemory,
    Frame,
    MemoryData,
    ReadFrame,
    ReadMemory,
    ReadRegisters,
    Registers,
    RemoveMemory,
    WriteMemory,
    WriteRegisters,
    system_address,
)
from wddm.wire.channel import Channel, ChannelClosed
from wddm.wire.memory import SharedMemory
from wddm.wire.message import Descriptor

from .errors import refusal

_PAGE: Final = 4096
_MAX_OFFSETS: Final = 1024
_MAX_BLOCK: Final = 1 << 36


@dataclass(slots=True, eq=False)
class MemoryBlock:
    """A block of system memory announced to the device: contiguous, page-locked, at ``address`` on the bus. It is also the MDL
    that the miniport is handed. ``shadow`` (copying links) is what the device's copy holds."""

    id: int
    memory: SharedMemory
    size: int
    array: npt.NDArray[np.uint8]
    shadow: npt.NDArray[np.uint8] | None = None
    address: int = field(init=False)

    def __post_init__(self) -> None:
        self.address = system_address(self.id)

    @property
    def PhysicalAddress(self) -> int:
        """The same, under the name that miniports read in an MDL: its pages follow each other on the bus."""
        return self.address

    @property
    def pages(self) -> int:
        """Number of pages."""
        return self.memory.size // _PAGE


class BusLink(ABC):
    """Blocks of system memory, and the small asynchronous calls of the bus."""

    #: Whether the device sees the processor's pages themselves, and so can write fence values that others see.
    shared: bool

    def __init__(self, channel: Channel, *, limit: int | None = None) -> None:
        self.channel = channel
        self.used = 0
        self.limit = limit if limit is not None else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        #: Called when ``from_device`` has called back later than at once.
        self.collected: Callable[[], None] = lambda: None
        self._blocks: set[MemoryBlock] = set()
        self._next_id = 1
        self._free_ids: deque[int] = deque()

    def create(self, size: int, name: str, *, reserve: bool = False) -> MemoryBlock:
        """New zeroed memory of ``size`` bytes, announced to the device. Raises CallError (STATUS_NO_MEMORY).

        ``reserve``: the kernel's own, which the limit does not count against.
        """
        if not 0 < size < _MAX_BLOCK or (self.used + size > self.limit and not reserve):
            raise refusal(
                NTSTATUS.STATUS_NO_MEMORY,
                f"{size} bytes of system memory for {name}: {self.used} of {self.limit} are in use already",
            )
        if self._free_ids:
            number = self._free_ids.popleft()
        elif self._next_id <= MAX_MEMORY_ID:
            number, self._next_id = self._next_id, self._next_id + 1
        else:
            raise refusal(NTSTATUS.STATUS_NO_MEMORY, f"no bus address is left for {name}")
        try:
            memory = SharedMemory.create(size, name)
        except OSError as error:
            self._free_ids.append(number)
            raise refusal(NTSTATUS.STATUS_NO_MEMORY, f"{size} bytes of system memory for {name}: {error.strerror}") from None
        block = MemoryBlock(number, memory, size, memory.array)
        self.used += memory.size
        self._blocks.add(block)
        self._announce(block)
        return block

    def remove(self, block: MemoryBlock) -> None:
        """Withdraw the block and give its memory up. Nothing may use it any more."""
        with contextlib.suppress(ChannelClosed):  # the device is gone, and its view of the block with it
            self.channel.notify(RemoveMemory(id=block.id))
        block.memory.close()
        self._blocks.discard(block)
        self.used -= block.memory.size
        self._free_ids.append(block.id)

    def close(self) -> None:
        """The kernel ends: give up all memory."""
        for block in self._blocks:
            block.memory.close()
        self._blocks.clear()

    def write_registers(self, offsets: list[int], values: list[int]) -> None:
        """Post register writes, in order."""
        while len(offsets) > _MAX_OFFSETS:
            self.channel.notify(WriteRegisters(offsets=offsets[:_MAX_OFFSETS], values=values[:_MAX_OFFSETS]))
            offsets, values = offsets[_MAX_OFFSETS:], values[_MAX_OFFSETS:]
        if offsets:
            self.channel.notify(WriteRegisters(offsets=offsets, values=values))

    async def read_registers(self, offsets: list[int]) -> list[int]:
        """Read registers. With none it is a barrier: the device has taken everything sent before."""
        found: list[int] = []
        for at in range(0, max(1, len(offsets)), _MAX_OFFSETS):
            reply = await self.channel.request(ReadRegisters(offsets=offsets[at : at + _MAX_OFFSETS]), Registers)
            found += reply.values
        return found

    async def read_frame(self, head: int) -> Frame:
        """What the monitor of ``head`` shows."""
        return await self.channel.request(ReadFrame(head=head), Frame)

    @abstractmethod
    def _announce(self, block: MemoryBlock) -> None: ...

    @abstractmethod
    def to_device(self, block: MemoryBlock, start: int = 0, end: int | None = None) -> None:
        """Let the device see what the processor has written to [start, end)."""

    @abstractmethod
    def from_device(self, blocks: Sequence[MemoryBlock], then: Callable[[], None]) -> None:
        """Let the processor see what the device has written to ``blocks``, then call ``then``; calls keep their order."""

    @abstractmethod
    async def run(self) -> None:
        """Work of its own, if it has any. Runs until cancelled."""


class SharedLink(BusLink):
    """The device maps the same pages."""

    shared = True

    def _announce(self, block: MemoryBlock) -> None:
        self.channel.notify(AddMemory(id=block.id, size=block.memory.size, memory=Descriptor(block.memory.descriptor)))

    def to_device(self, block: MemoryBlock, start: int = 0, end: int | None = None) -> None:
        """They are the same bytes."""

    def from_device(self, blocks: Sequence[MemoryBlock], then: Callable[[], None]) -> None:
        """They are the same bytes."""
        then()

    async def run(self) -> None:
        """Nothing to do."""


class CopyingLink(BusLink):
    """The device has a copy of each block. ``shadow`` remembers what it holds, so that only pages that differ travel."""

    shared = False

    def __init__(self, channel: Channel, *, limit: int | None = None) -> None:
        super().__init__(channel, limit=limit)
        self._wanted: deque[tuple[Sequence[MemoryBlock], Callable[[], None]]] = deque()
        self._wakeup = trio.Event()

    def _announce(self, block: MemoryBlock) -> None:
        block.shadow = np.zeros(block.memory.size, np.uint8)
        self.channel.notify(AddMemory(id=block.id, size=block.memory.size))

    def to_device(self, block: MemoryBlock, start: int = 0, end: int | None = None) -> None:
        """Send the pages of [start, end) that differ from the device's copy."""
        shadow = block.shadow
        assert shadow is not None
        stop = block.memory.size if end is None else min(block.memory.size, -(-end // _PAGE) * _PAGE)
        for first, last in _different_pages(block.array, shadow, start // _PAGE * _PAGE, stop):
            for at in range(first, last, MEMORY_CHUNK):
                upto = min(last, at + MEMORY_CHUNK)
                data = block.array[at:upto].tobytes()
                shadow[at:upto] = np.frombuffer(data, np.uint8)
                self.channel.notify(WriteMemory(address=block.address + at, data=data))

    def from_device(self, blocks: Sequence[MemoryBlock], then: Callable[[], None]) -> None:
        """Read the blocks back in a task, one call after the other."""
        self._wanted.append((blocks, then))
        self._wakeup.set()

    async def run(self) -> None:
        """Serve ``from_device``."""
        while True:
            while self._wanted:
                blocks, then = self._wanted[0]
                for block in blocks:
                    await self._read_back(block)
                self._wanted.popleft()
                then()
                self.collected()
            self._wakeup = trio.Event()
            await self._wakeup.wait()

    async def _read_back(self, block: MemoryBlock) -> None:
        shadow = block.shadow
        assert shadow is not None
        for at in range(0, block.memory.size, MEMORY_CHUNK):
            size = min(MEMORY_CHUNK, block.memory.size - at)
            reply = await self.channel.request(ReadMemory(address=block.address + at, size=size), MemoryData)
            data = np.frombuffer(reply.data, np.uint8)
            # Only bytes that the device changed: the processor may have written others of the block in the meantime.
            changed = np.flatnonzero(data != shadow[at : at + size])
            block.array[at : at + size][changed] = data[changed]
            shadow[at : at + size] = data


def _different_pages(
    a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8], start: int, stop: int
) -> Iterator[tuple[int, int]]:
    """(first, end) byte ranges of runs of pages in which ``a`` and ``b`` differ. ``start`` and ``stop`` are page-aligned."""
    words_a, words_b = a[start:stop].view(np.uint64), b[start:stop].view(np.uint64)
    different = (words_a != words_b).reshape(-1, _PAGE // 8).any(axis=1)
    edges = np.flatnonzero(np.diff(different.astype(np.int8), prepend=0, append=0))
    for first, last in edges.reshape(-1, 2).tolist():
        yield start + first * _PAGE, start + last * _PAGE
