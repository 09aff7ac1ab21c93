"""The command buffer under construction: packets, the allocation list, the patch-location list, and submitting them.

Models "Submitting a Command Buffer" and pfnRenderCb. Packets are gathered as 64-byte strings and written into the kernel's buffer
in one go at submission, when all references are known. Every address is a patch location; the address fields themselves stay 0.
Element 0 of the allocation list is the NULL element. Each submission has a number, which is also the value that the device's
monitored fence takes when the GPU is done with it.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Awaitable
from inspect import isawaitable
from typing import Any

import numpy as np
import numpy.typing as npt

from umd.callbacks import Callbacks
from umd.errors import DeviceError
from umd.memory import Allocation
from wddm.ddi.d3dukmdt import D3DDDI_ALLOCATIONLIST_WRITEOPERATION, StructArray
from wddm.ddi.d3dumddi import (
    D3DDDICB_CREATECONTEXT,
    D3DDDICB_RENDER,
    D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT2,
    D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU,
)
from wddm.hw.packets import ADDRESS2_OFFSET, ADDRESS_OFFSET, PACKET_SIZE

#: One packet: op, slot, extent, address, extent2, arg, address2, data[8].
PACKET_STRUCT = struct.Struct("<HHIQIIQ8I")
#: A packet's head, before the data.
HEAD_STRUCT = struct.Struct("<HHIQIIQ")
ZERO_DATA = bytes(32)

Mark = tuple[int, int, int, int]


def packet(
    op: int, slot: int = 0, *, extent: int = 0, extent2: int = 0, arg: int = 0, data: tuple[int, ...] | bytes = b""
) -> bytes:
    """One packet. ``data`` is up to eight dwords, or their 32 bytes."""
    if isinstance(data, tuple):
        data = struct.pack(f"<{len(data)}I", *data)
    return HEAD_STRUCT.pack(op, slot, extent, 0, extent2, arg, 0) + data.ljust(32, b"\0")


class CommandBuffer:
    """What is recorded for the next submission of one kernel context."""

    def __init__(self, callbacks: Callbacks, context: D3DDDICB_CREATECONTEXT, h_fence: int, fence: npt.NDArray[np.uint64]) -> None:
        if context.pCommandBuffer is None or context.pAllocationList is None or context.pPatchLocationList is None:
            raise DeviceError.invalid("pfnCreateContextCb returned no command buffer")
        self._callbacks = callbacks
        self.h_context = context.hContext
        self.h_fence = h_fence
        self.fence = fence
        self._use(context.pCommandBuffer, context.pAllocationList, context.pPatchLocationList)
        self.serial = int(fence[0]) + 1  #: number of the submission being recorded
        self.packets: list[bytes] = []
        self.patches = array("I")
        self.allocations: list[Allocation] = []
        self.bytes = 0  #: sizes of the allocations that are named
        self.budget = 1 << 62
        self.sequence = 0  #: calls of pfnRenderCb

    def _use(self, command: npt.NDArray[np.uint8], allocation_list: StructArray, patch_list: StructArray) -> None:
        """Record for these arrays; they are written as bytes."""
        self._arrays = (command, allocation_list, patch_list)
        self._command, self._allocation_list, self._patch_list = (a.view(np.uint8).data for a in self._arrays)
        self.max_packets = command.nbytes // PACKET_SIZE
        self.max_allocations = len(allocation_list) - 1
        self.max_patches = 6 * len(patch_list)

    # --- recording ---------------------------------------------------------------------------------------------------
    def reference(self, allocation: Allocation, write: bool = False) -> int:
        """The allocation's place in the list."""
        if allocation.batch != self.serial:
            allocation.batch = self.serial
            allocation.written = write
            self.allocations.append(allocation)
            allocation.index = len(self.allocations)
            self.bytes += allocation.size
            if write:
                allocation.last_write = self.serial
        elif write and not allocation.written:
            allocation.written = True
            allocation.last_write = self.serial
        return allocation.index

    def add(self, data: bytes) -> None:
        """A packet without addresses."""
        self.packets.append(data)

    def add_at(self, data: bytes, slot_id: int, allocation: Allocation, offset: int, write: bool = False) -> None:
        """A packet whose ``address`` is byte ``offset`` of ``allocation``."""
        index = allocation.index
        if allocation.batch != self.serial or (write and not allocation.written):
            index = self.reference(allocation, write)
        start = len(self.packets) * PACKET_SIZE
        self.patches.extend((index, slot_id, 0, offset, start + ADDRESS_OFFSET, start))
        self.packets.append(data)

    def patch_second(self, slot_id: int, allocation: Allocation, offset: int, write: bool = False) -> None:
        """The last packet's ``address2`` is byte ``offset`` of ``allocation``."""
        index = self.reference(allocation, write)
        start = (len(self.packets) - 1) * PACKET_SIZE
        self.patches.extend((index, slot_id, 0, offset, start + ADDRESS2_OFFSET, start))

    def mark(self) -> Mark:
        """A place to come back to."""
        return len(self.packets), len(self.patches), len(self.allocations), self.bytes

    def rollback(self, mark: Mark) -> None:
        """Forget what was recorded behind ``mark``. Uses it noted on allocations stand: they are too many, never too few."""
        packets, patches, allocations, self.bytes = mark
        del self.packets[packets:]
        del self.patches[patches:]
        for allocation in self.allocations[allocations:]:
            allocation.index = 0
            allocation.batch = self.serial - 1 if allocation.batch == self.serial else allocation.batch
        del self.allocations[allocations:]

    @property
    def full(self) -> bool:
        """Whether the lists or the buffer are beyond what one submission takes."""
        return (
            len(self.packets) > self.max_packets
            or len(self.patches) > self.max_patches
            or len(self.allocations) > self.max_allocations
        )

    def over(self, reserve: int, mark: Mark) -> bool:
        """Whether the buffer is full but for ``reserve`` packets, a list is, or what came since ``mark`` names too much memory."""
        return (
            len(self.packets) > self.max_packets - reserve
            or len(self.patches) > self.max_patches - 6 * reserve
            or len(self.allocations) > self.max_allocations
            or (self.bytes > self.budget and len(self.allocations) > mark[2])
        )

    # --- fences ------------------------------------------------------------------------------------------------------
    def completed(self) -> int:
        """Number of the newest submission that the GPU is done with."""
        return int(self.fence[0])

    async def wait(self, serial: int) -> None:
        """Wait until the GPU is done with submission ``serial``, which must have been submitted."""
        if int(self.fence[0]) >= serial:
            return
        arg = D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU([self.h_fence], [serial], 1)
        await self._callbacks.call("pfnWaitForSynchronizationObjectFromCpuCb", arg)

    # --- submission --------------------------------------------------------------------------------------------------
    def submit(self) -> Awaitable[None] | None:
        """pfnRenderCb and the fence signal. An awaitable when the kernel's queue is full; nothing may be submitted before it is
        awaited. Raises DeviceError (or its awaitable does)."""
        used = len(self.packets) * PACKET_SIZE
        count, patches = len(self.allocations), len(self.patches) // 6
        if self.full:
            raise DeviceError.out_of_memory(f"{len(self.packets)} packets with {count} allocations do not fit a command buffer")
        serial, write = self.serial, D3DDDI_ALLOCATIONLIST_WRITEOPERATION
        entries = [0, 0]
        for a in self.allocations:
            entries += (a.handle, write if a.written and a.batch == serial else 0)
        self._command[:used] = b"".join(self.packets)
        self._allocation_list[: 4 * len(entries)] = array("I", entries).tobytes()
        self._patch_list[: 4 * len(self.patches)] = self.patches.tobytes()
        self.sequence += 1
        arg = D3DDDICB_RENDER(
            CommandLength=used,
            NumAllocations=count + 1,
            NumPatchLocations=patches,
            hContext=self.h_context,
            RenderCBSequence=self.sequence,
        )
        self.serial += 1
        self.packets.clear()
        self.patches = array("I")
        self.allocations.clear()
        self.bytes = 0
        hr = self._callbacks.start("pfnRenderCb", arg)
        if hr.__class__ is not int and isawaitable(hr):
            return self._finish_later(hr, arg, serial)
        self._finish(hr, arg, serial)
        return None

    async def _finish_later(self, hr: Any, arg: D3DDDICB_RENDER, serial: int) -> None:
        self._finish(await hr, arg, serial)

    def _finish(self, hr: int, arg: D3DDDICB_RENDER, serial: int) -> None:
        # Whatever the outcome, the old buffers are gone and the new sizes count.
        command, allocation_list, patch_list = self._arrays
        new = (arg.pNewCommandBuffer, arg.pNewAllocationList, arg.pNewPatchLocationList)
        if new[0] is not command or new[1] is not allocation_list or new[2] is not patch_list:
            self._use(
                command if new[0] is None else new[0],
                allocation_list if new[1] is None else new[1],
                patch_list if new[2] is None else new[2],
            )
        # A submission that failed still takes its number, so that nobody waits for it in vain.
        signal = D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT2(self.h_context, [self.h_fence], 1, FenceValue=serial)
        if hr & 0x8000_0000:
            self._callbacks.start("pfnSignalSynchronizationObject2Cb", signal)
        self._callbacks.check("pfnRenderCb", hr)
        self._callbacks.call_now("pfnSignalSynchronizationObject2Cb", signal)
