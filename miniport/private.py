"""The private data of a DMA buffer: what Render, Present, BuildPagingBuffer and SignalMonitoredFence leave for SubmitCommand.

Dxgkrnl gives each DMA buffer this many bytes, zeroed when it is made, and never looks inside. Buffers are used again: a record is
spent, that is zeroed, when its submission has completed or will never run, so that nothing of it is done a second time.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Any, Final

import numpy as np
import numpy.typing as npt

MAX_SIGNALS: Final = 2  #: fence signals that one ring entry can write

DMA_PRIVATE: Final = np.dtype(
    [
        ("flags", "<u4"),  # DmaFlag
        ("signal_count", "<u4"),
        ("signal_address", "<u8", (MAX_SIGNALS,)),
        ("signal_value", "<u8", (MAX_SIGNALS,)),
        ("reserved", "<u8", (3,)),
    ]
)
DMA_PRIVATE_SIZE: Final = 64
assert DMA_PRIVATE.itemsize == DMA_PRIVATE_SIZE

#: One element of DMA_PRIVATE, sharing the buffer's bytes.
Record = npt.NDArray[Any]


class DmaFlag(IntFlag):
    """How a DMA buffer is to run."""

    NONE = 0
    CONTINUE = 1  #: a further part of one command buffer: the pipeline state goes on
    PRIVILEGED = 2  #: built by the kernel driver itself


def dma_private(data: npt.NDArray[np.uint8] | None) -> Record | None:
    """The record in a DMA buffer's private data, or None where there is none."""
    if data is None or data.nbytes < DMA_PRIVATE_SIZE:
        return None
    record: Record = data[:DMA_PRIVATE_SIZE].view(DMA_PRIVATE)
    return record


def write_dma_private(data: npt.NDArray[np.uint8] | None, flags: DmaFlag) -> bool:
    """Start a fresh DMA buffer: these flags, no signals. False when there is no room for the record."""
    record = dma_private(data)
    if record is None:
        return False
    record[:] = 0
    record["flags"] = flags
    return True


def spend(record: Record | None) -> None:
    """What the record asks for has been done, or never will be."""
    if record is not None:
        record[:] = 0


def add_signal(data: npt.NDArray[np.uint8] | None, address: int, value: int) -> bool:
    """Let the ring entry write ``value`` (u64) to bus ``address`` when the buffer is done. False when there is no room left."""
    record = dma_private(data)
    if record is None:
        return False
    count = int(record["signal_count"][0])
    for slot in range(count):
        if record["signal_address"][0, slot] == address:
            record["signal_value"][0, slot] = value
            return True
    if count == MAX_SIGNALS:
        return False
    record["signal_address"][0, count] = address
    record["signal_value"][0, count] = value
    record["signal_count"] = count + 1
    return True
