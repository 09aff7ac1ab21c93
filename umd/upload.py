"""Memory that the processor writes and the GPU reads: the upload ring, and heaps of small fixed places.

The ring is a list of chunks in the aperture. A slice is good for the commands that name it; a *resident* (a buffer whose content
is a slice) may stay longer: when its chunk comes round again, its bytes are kept aside and get a new slice when they are wanted.
A chunk comes round when the GPU is done with the last submission that names it.

Nothing here waits or calls the kernel on its own: what needs memory that is not there raises :class:`Later`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from umd.memory import Allocation, AllocationManager, Request
from wddm.hw.driver import AllocationFlag, AllocationKind
from wddm.hw.memory import align_up

if TYPE_CHECKING:
    from umd.resource import Resource

CHUNK_SIZE = 1 << 20
#: Chunks of the ring before it waits for the GPU instead of growing.
MAX_CHUNKS = 32
SLICE_ALIGNMENT = 64
HEAP_CHUNK = 1 << 18


class Later(Exception):
    """What is being recorded needs ``work`` (calls of the kernel that are awaited) first; then it is recorded again."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        super().__init__("memory is needed first")
        self.work = work


class Chunk:
    """One allocation of the ring."""

    __slots__ = ("allocation", "array", "residents", "used", "view")

    def __init__(self, allocation: Allocation) -> None:
        assert allocation.view is not None
        assert allocation.array is not None
        self.allocation = allocation
        self.view: memoryview = allocation.view
        self.array: npt.NDArray[np.uint8] = allocation.array
        self.used = 0
        self.residents: dict[Resource, None] = {}


class UploadRing:
    """Slices of memory for one device."""

    def __init__(
        self, memory: AllocationManager, completed: Callable[[], int], wait_for: Callable[[int], Awaitable[None]]
    ) -> None:
        self._memory = memory
        self._completed = completed
        self._wait_for = wait_for  #: submit what names it, and wait for the GPU
        self.chunks = 0
        self.chunk: Chunk | None = None
        self._full: deque[Chunk] = deque()

    def take(self, size: int, alignment: int = SLICE_ALIGNMENT) -> tuple[Chunk, int]:
        """A slice of at most CHUNK_SIZE bytes: its chunk and byte offset. Raises Later."""
        chunk = self.chunk
        if chunk is not None:
            offset = (chunk.used + alignment - 1) & -alignment
            if offset + size <= CHUNK_SIZE:
                chunk.used = offset + size
                return chunk, offset
        if size > CHUNK_SIZE:
            raise ValueError(f"a slice of {size} bytes; a chunk has {CHUNK_SIZE}")
        return self._turn(size)

    def _turn(self, size: int) -> tuple[Chunk, int]:
        """Go on in a chunk that the GPU is done with. Raises Later when there is none."""
        completed = self._completed()
        for _ in range(len(self._full)):
            chunk = self._full.popleft()
            if chunk.allocation.batch <= completed and not any(r.mapped for r in chunk.residents):
                self._empty(chunk)
                self._use(chunk)
                return chunk, self._first(size)
            self._full.append(chunk)
        raise Later(self.grow)

    def _first(self, size: int) -> int:
        assert self.chunk is not None
        self.chunk.used = size
        return 0

    def _use(self, chunk: Chunk) -> None:
        if self.chunk is not None:
            self._full.append(self.chunk)
        self.chunk = chunk

    @staticmethod
    def _empty(chunk: Chunk) -> None:
        for resource in chunk.residents:
            if resource.allocation is chunk.allocation:
                resource.saved = bytes(chunk.view[resource.offset : resource.offset + resource.size])
                resource.allocation = None
        chunk.residents.clear()
        chunk.used = 0

    async def grow(self) -> None:
        """One chunk more, or when there are enough the oldest one after waiting for the GPU. Raises DeviceError."""
        if self.chunks >= MAX_CHUNKS:
            for chunk in self._full:
                if not any(r.mapped for r in chunk.residents):
                    await self._wait_for(chunk.allocation.batch)
                    return
        flags = AllocationFlag.CPU_ACCESS | AllocationFlag.UPLOAD
        allocation, _ = await self._memory.allocate(Request(CHUNK_SIZE, AllocationKind.BUFFER, flags))
        self.chunks += 1
        self._use(Chunk(allocation))

    def allocations(self) -> list[Allocation]:
        """All chunks' allocations, for the end of the device."""
        chunks = [*self._full, *([self.chunk] if self.chunk is not None else [])]
        return [c.allocation for c in chunks]


class Place:
    """A piece of a heap."""

    __slots__ = ("allocation", "chunk", "offset", "size")

    def __init__(self, chunk: HeapChunk, offset: int, size: int) -> None:
        self.chunk = chunk
        self.allocation = chunk.allocation
        self.offset = offset
        self.size = size

    @property
    def view(self) -> memoryview:
        """The bytes."""
        assert self.allocation.view is not None
        return self.allocation.view[self.offset : self.offset + self.size]


class HeapChunk:
    """One allocation of a heap."""

    __slots__ = ("allocation", "live", "used")

    def __init__(self, allocation: Allocation) -> None:
        self.allocation = allocation
        self.used = 0
        self.live = 0


class Heap:
    """Places that live long: shader programs, query results, counters. Places of one size are used again at once: the GPU
    works in order, so that whoever gets a place is behind whoever had it."""

    def __init__(self, memory: AllocationManager, flags: AllocationFlag, alignment: int, *, reuse: bool) -> None:
        self._memory = memory
        self._flags = flags | AllocationFlag.CPU_ACCESS
        self._alignment = alignment
        self._reuse = reuse
        self._free: dict[int, list[Place]] = {}
        self._chunk: HeapChunk | None = None
        self._chunks: list[HeapChunk] = []

    def take(self, size: int) -> Place:
        """A place. Raises Later."""
        size = align_up(size, self._alignment)
        free = self._free.get(size)
        if free:
            place = free.pop()
            place.chunk.live += 1
            return place
        chunk = self._chunk
        if chunk is None or chunk.used + size > chunk.allocation.size:
            raise Later(lambda: self.grow(size))
        place = Place(chunk, chunk.used, size)
        chunk.used += size
        chunk.live += 1
        return place

    def give(self, place: Place) -> None:
        """The place is not needed any more."""
        chunk = place.chunk
        chunk.live -= 1
        if self._reuse:
            self._free.setdefault(place.size, []).append(place)
        elif not chunk.live and chunk is not self._chunk:
            self._chunks.remove(chunk)
            self._memory.destroy(chunk.allocation)

    async def grow(self, size: int) -> None:
        """A chunk for at least ``size`` bytes. Raises DeviceError."""
        request = Request(align_up(max(size, HEAP_CHUNK), 4096), AllocationKind.BUFFER, self._flags)
        allocation, _ = await self._memory.allocate(request)
        previous = self._chunk
        self._chunk = HeapChunk(allocation)
        self._chunks.append(self._chunk)
        if previous is not None and not previous.live and not self._reuse:
            self._chunks.remove(previous)
            self._memory.destroy(previous.allocation)

    def allocations(self) -> list[Allocation]:
        """All chunks' allocations, for the end of the device."""
        return [c.allocation for c in self._chunks]


def copy_rows(
    target: npt.NDArray[np.uint8],
    at: int,
    row_pitch: int,
    depth_pitch: int,
    source: npt.NDArray[np.uint8],
    source_row_pitch: int,
    source_depth_pitch: int,
    row_bytes: int,
    rows: int,
    depth: int,
) -> None:
    """Copy ``depth`` slices of ``rows`` rows of ``row_bytes`` between pitches. Raises ValueError when the source is too short."""
    need = (depth - 1) * source_depth_pitch + (rows - 1) * source_row_pitch + row_bytes
    if need > source.nbytes:
        raise ValueError(f"{source.nbytes} bytes of data; {need} are read")
    if row_bytes == row_pitch == source_row_pitch and (depth == 1 or depth_pitch == source_depth_pitch == rows * row_pitch):
        size = row_bytes * rows * depth
        target[at : at + size] = source[:size]
        return
    shape = (depth, rows, row_bytes)
    to = np.lib.stride_tricks.as_strided(target[at:], shape, (depth_pitch, row_pitch, 1))
    to[:] = np.lib.stride_tricks.as_strided(source, shape, (source_depth_pitch, source_row_pitch, 1))


def as_bytes(data: object) -> npt.NDArray[np.uint8]:
    """The application's memory as an array of bytes, without a copy when it is contiguous."""
    if isinstance(data, np.ndarray):
        return np.ascontiguousarray(data).view(np.uint8).reshape(-1)
    return np.frombuffer(data, np.uint8)  # type: ignore[call-overload,no-any-return]
