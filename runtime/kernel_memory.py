"""What the runtime keeps of a kernel device: pages of allocations, command buffers, fence values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wddm.ddi import d3dumddi as um
from wddm.ddi.d3dukmdt import D3DDDI_ALLOCATIONLIST_DTYPE, D3DDDI_PATCHLOCATIONLIST_DTYPE, StructArray
from wddm.wire import thunk
from wddm.wire.memory import SharedMemory

from .mirror import Mirror


class Pages:
    """CPU memory of one allocation: shared pages with the number that clients know them by, or a mirror."""

    __slots__ = ("array", "memory", "memory_id", "mirror", "told")

    def __init__(self, memory: SharedMemory | None, memory_id: int, mirror: Mirror | None = None) -> None:
        source = memory or mirror
        assert source is not None
        self.array: npt.NDArray[np.uint8] = source.array
        self.memory = memory
        self.memory_id = memory_id
        self.mirror = mirror
        self.told = False  #: the client has the descriptor

    @property
    def address(self) -> int:
        """Where the mapping begins in this process."""
        return int(self.array.ctypes.data)


class ContextBuffers:
    """A context's command buffer and lists, used again and again."""

    __slots__ = ("allocations", "allocations_bytes", "commands", "patches", "patches_bytes")

    def __init__(self, command_size: int, allocation_count: int, patch_count: int) -> None:
        self.commands = np.zeros(command_size, np.uint8)
        self.allocations: StructArray = np.zeros(allocation_count, D3DDDI_ALLOCATIONLIST_DTYPE)
        self.patches: StructArray = np.zeros(patch_count, D3DDDI_PATCHLOCATIONLIST_DTYPE)
        self.allocations_bytes = self.allocations.view(np.uint8)
        self.patches_bytes = self.patches.view(np.uint8)


class FencePage:
    """A monitored fence's value: the kernel's page, or a copy that :class:`KernelDevice` keeps up."""

    __slots__ = ("following", "memory", "offset", "renders", "size", "value", "wanted")

    def __init__(self, memory: SharedMemory | None, size: int, offset: int, initial: int) -> None:
        self.memory = memory
        self.size = size
        self.offset = offset
        self.value: npt.NDArray[np.uint64] = (
            memory.array[offset : offset + 8].view(np.uint64) if memory is not None else np.array([initial], np.uint64)
        )
        self.wanted = 0
        self.following = False
        self.renders: dict[int, int] = {}  #: value → submissions that were before its signal, where mirrors are kept


def resized(old: ContextBuffers, arg: um.D3DDDICB_RENDER) -> ContextBuffers:
    """Buffers of the sizes that the driver asks for, within reason."""
    flags = int(arg.Flags)

    def size(bit: int, wanted: int, now: int, most: int) -> int:
        return min(max(wanted, 1), most) if flags & bit else now

    return ContextBuffers(
        size(1, arg.NewCommandBufferSize, len(old.commands), thunk.MAX_COMMAND),
        size(2, arg.NewAllocationListSize, len(old.allocations), (1 << 22) // 8),
        size(4, arg.NewPatchLocationListSize, len(old.patches), thunk.MAX_COMMAND // 24),
    )
