"""Where the content of a buffer lies, and how it gets to another place.

A *renamed* buffer's content is a slice of the upload ring; whole updates take a fresh slice. When the GPU is to write one, it gets
a home of its own in local memory and stays there until its content is replaced as a whole.
"""

from __future__ import annotations

import numpy as np

from umd.core import Core
from umd.memory import Allocation, Request
from umd.resource import Resource
from umd.upload import Chunk
from wddm.hw.driver import AllocationFlag, AllocationKind
from wddm.hw.memory import align_up


def settle_in(core: Core, r: Resource, chunk: Chunk, offset: int) -> None:
    """The content of a renamed buffer is this slice from now on."""
    r.allocation = chunk.allocation
    r.offset = offset
    r.saved = None
    chunk.residents[r] = None
    if r.keys:
        core.dirty |= r.keys


def place(core: Core, r: Resource) -> Allocation:
    """Where a resource lies; a renamed buffer that lost its slice gets one with its content. Raises Later."""
    allocation = r.allocation
    if allocation is not None:
        return allocation
    chunk, offset = core.ring.take(r.size)
    chunk.view[offset : offset + r.size] = r.saved if r.saved is not None else bytes(r.size)
    # A slice is lost only while the current buffer does not name it: nothing emitted so far is out of date.
    r.allocation, r.offset, r.saved = chunk.allocation, offset, None
    chunk.residents[r] = None
    return chunk.allocation


async def give_home(core: Core, r: Resource) -> None:
    """Before the GPU writes a renamed buffer: an allocation of its own in local memory, with its content."""
    size = align_up(r.size, 4)
    home, _ = await core.memory.allocate(Request(size, AllocationKind.BUFFER, AllocationFlag.NONE))
    content = r.saved
    if r.allocation is not None:
        view = r.placed.view
        assert view is not None
        content = bytes(view[r.offset : r.offset + r.size])
    r.renamed, r.saved, r.offset, r.allocation = False, None, 0, home
    r.instances = [home]
    core.moved(r)
    data = np.frombuffer(content if content is not None else bytes(r.size), np.uint8)
    pending = core.unpredicated(lambda: core.stage(home, 0, data))
    if pending is not None:
        await pending


def leave_home(core: Core, r: Resource) -> None:
    """A constant buffer with a home is renamed again: its whole content is about to be replaced."""
    for allocation in r.instances:
        core.memory.destroy(allocation)
    r.instances = []
    r.renamed, r.allocation, r.saved = True, None, None
