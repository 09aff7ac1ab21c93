"""Memory for what a call brings along: vertices of user memory, indices, constants. Small pieces are slices of the upload ring."""

from __future__ import annotations

from typing import Any

import numpy as np

from umd.copy import copy_bytes
from umd.core import Core
from umd.memory import Allocation, Request
from umd.resource import BIND, TYPE, USAGE, Resource
from umd.upload import CHUNK_SIZE
from wddm.hw.driver import AllocationFlag, AllocationKind
from wddm.hw.memory import align_up


def small(data: bytes | memoryview) -> Resource:
    """A buffer of at most a chunk whose bytes go into the ring when a command names it."""
    r = _buffer(len(data))
    r.renamed, r.saved = True, bytes(data)
    return r


def constants(data: bytes) -> Resource:
    """A constant buffer."""
    r = small(data)
    r.bind = BIND.CONSTANT_BUFFER
    return r


async def buffer(core: Core, data: bytes | memoryview) -> tuple[Resource, Allocation | None]:
    """A buffer of any size, and the allocation to destroy behind the commands that name it. Raises DeviceError."""
    if len(data) <= CHUNK_SIZE:
        return small(data), None
    request = Request(align_up(len(data), 4), AllocationKind.BUFFER, AllocationFlag.CPU_ACCESS)
    allocation, _ = await core.memory.allocate(request)
    assert allocation.view is not None
    allocation.view[: len(data)] = data
    r = _buffer(len(data))
    r.allocation = allocation
    return r, allocation


def _buffer(size: int) -> Resource:
    r = Resource(TYPE.BUFFER, 0, USAGE.DYNAMIC, BIND.VERTEX_BUFFER, 0, 0, 0)
    r.width = r.size = size
    return r


async def read(core: Core, r: Resource) -> Any:
    """A buffer's bytes as the processor sees them, behind everything recorded so far. Raises DeviceError."""
    if r.allocation is None:
        return np.frombuffer(r.saved if r.saved is not None else bytes(r.size), np.uint8)
    if r.renamed:
        assert r.allocation.view is not None
        return np.frombuffer(r.allocation.view, np.uint8)[r.offset : r.offset + r.size]
    request = Request(align_up(r.size, 4), AllocationKind.BUFFER, AllocationFlag.CPU_ACCESS | AllocationFlag.CPU_READ)
    allocation, _ = await core.memory.allocate(request)
    target = _buffer(r.size)
    target.allocation = allocation
    pending = core.unpredicated(lambda: copy_bytes(core, target, 0, r, 0, r.size))
    if pending is not None:
        await pending
    await core.wait_for(allocation.batch)
    assert allocation.view is not None
    data = np.frombuffer(bytes(allocation.view[: r.size]), np.uint8)
    core.memory.destroy(allocation)
    return data
