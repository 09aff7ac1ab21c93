"""The private data of a DMA buffer: what Render, Present, BuildPagingBuffer and SignalMonitoredFence leave for SubmitCommand.

Dxgkrnl gives each DMA buffer this many bytes, zeroed when it is made, and never looks inside. Buffers are used again: a record is
spent, that is zeroed, when its submission has completed or will never run, so that nothing of it is done a second time.
"""

from __future__ import annotations

import struct
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
#: The same: flags, signal_count, the addresses, the values; the reserved bytes are written 0.
_FIELDS: Final = struct.Struct(f"<II{MAX_SIGNALS}Q{MAX_SIGNALS}Q24x")
assert DMA_PRIVATE.itemsize == _FIELDS.size == DMA_PRIVATE_SIZE

_NO_SIGNALS: Final = (0,) * (2 * MAX_SIGNALS)

#: The bytes of one element of DMA_PRIVATE, in the buffer.
Record = npt.NDArray[np.uint8]


class DmaFlag(IntFlag):
    """How a DMA buffer is to run."""

    NONE = 0
    CONTINUE = 1  #: a further part of one command buffer: the pipeline state goes on
    PRIVILEGED = 2  #: built by the kernel driver itself


def record_at(data: npt.NDArray[np.uint8] | None, begin: int = 0) -> Record | None:
    """The record that begins at this byte of a DMA buffer's private data, or None where there is none."""
    if data is None or data.nbytes < begin + DMA_PRIVATE_SIZE:
        return None
    return data[begin : begin + DMA_PRIVATE_SIZE]


def dma_private(data: npt.NDArray[np.uint8] | None) -> npt.NDArray[Any] | None:
    """The first record, by the names of its members."""
    record = record_at(data)
    return None if record is None else record.view(DMA_PRIVATE)


def write_dma_private(data: npt.NDArray[np.uint8] | None, flags: DmaFlag) -> bool:
    """Start a fresh DMA buffer: these flags, no signals. False when there is no room for the record."""
    if data is None or data.nbytes < DMA_PRIVATE_SIZE:
        return False
    _FIELDS.pack_into(data.data, 0, flags, 0, *_NO_SIGNALS)
    return True


def spend(record: Record | None) -> None:
    """What the record asks for has been done, or never will be."""
    if record is not None:
        record.fill(0)


def asked(record: Record) -> tuple[int, list[tuple[int, int]]]:
    """What a record asks for: the flags, and (address, value) of each signal."""
    flags, count, *places = _FIELDS.unpack_from(record.data)
    return flags, list(zip(places[:count], places[MAX_SIGNALS:], strict=False))


def add_signal(data: npt.NDArray[np.uint8] | None, address: int, value: int) -> bool:
    """Let the ring entry write ``value`` (u64) to bus ``address`` when the buffer is done. False when there is no room left."""
    if data is None or data.nbytes < DMA_PRIVATE_SIZE:
        return False
    flags, count, *places = _FIELDS.unpack_from(data.data)
    if address in places[:count]:
        slot = places.index(address)
    elif count < MAX_SIGNALS:
        slot, count = count, count + 1
    else:
        return False
    places[slot], places[MAX_SIGNALS + slot] = address, value
    _FIELDS.pack_into(data.data, 0, flags, count, *places)
    return True
