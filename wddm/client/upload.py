"""The way up for data: a ring of shared memory that the runtime reads, announced once per device.

Positions only grow; the runtime writes how far it has read into the first word of the memory, so taking space costs no message.
When the ring is full, data travels inside messages instead. Never waits.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from wddm.wire.api import UPLOAD_HEADER
from wddm.wire.memory import SharedMemory

ALIGNMENT: Final = 64
UPLOAD_FROM: Final = 2048  #: smaller data travels inside messages


class UploadRing:
    """``size`` bytes of ring."""

    def __init__(self, size: int) -> None:
        self.memory = SharedMemory.create(UPLOAD_HEADER + size, "wddm-upload")
        self.size = size
        self._taken = self.memory.array[:8].view(np.uint64)
        self._data = self.memory.array[UPLOAD_HEADER : UPLOAD_HEADER + size]
        self._head = 0  # where the next data may begin
        self._end = 0  # where the last data ends
        self._floor = 0  # everything below is free, whatever the runtime has told

    def put(self, data: npt.NDArray[Any]) -> tuple[int, int] | None:
        """Copy ``data`` in C order into the ring; returns its position and size, or None when there is no room now."""
        size = data.nbytes
        taken = int(self._taken[0])
        head = self._head
        if taken >= self._end:  # all was read: begin again at the same, warm pages
            head = self._floor = -(-head // self.size) * self.size
        tail = max(taken, self._floor)
        if head % self.size + size > self.size:
            head = (head // self.size + 1) * self.size
        if head + size - tail > self.size:
            return None
        offset = head % self.size
        target = self._data[offset : offset + size]
        if data.flags.c_contiguous:
            target[:] = data.reshape(-1).view(np.uint8)
        else:
            np.copyto(np.ndarray(data.shape, data.dtype, target.data), data)
        self._end = head + size
        self._head = (self._end + ALIGNMENT - 1) & -ALIGNMENT
        return head, size

    def close(self) -> None:
        """Give up the descriptor."""
        self.memory.close()
