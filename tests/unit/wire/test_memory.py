"""Shared memory: sealed sizes, read-only views, refused descriptors."""

from __future__ import annotations

import mmap
import os

import numpy as np
import pytest

from wddm.hw import memory as manual
from wddm.wire import bus
from wddm.wire.memory import SharedMemory, SharedMemoryError


def test_both_holders_see_the_same_bytes() -> None:
    with SharedMemory.create(10) as ours, SharedMemory.open(os.dup(ours.descriptor), 10) as theirs:
        assert ours.size == mmap.PAGESIZE
        assert not ours.array.any()
        ours.array[3] = 9
        assert theirs.array[3] == 9


def test_a_read_only_view_cannot_write() -> None:
    with SharedMemory.create(10) as ours, SharedMemory.open(os.dup(ours.descriptor), 10, read_only=True) as theirs:
        assert not theirs.array.flags.writeable


def test_sealed_writes_leave_only_the_owners_mapping_writable() -> None:
    with SharedMemory.create(10) as ours:
        ours.seal_writes()
        ours.array[0] = 1
        with pytest.raises(SharedMemoryError, match="cannot be mapped"):
            SharedMemory.open(os.dup(ours.descriptor), 10)
        with SharedMemory.open(os.dup(ours.descriptor), 10, read_only=True) as theirs:
            assert theirs.array[0] == 1


def test_the_size_cannot_be_pulled_away() -> None:
    with SharedMemory.create(10) as ours, pytest.raises(PermissionError):
        os.ftruncate(ours.descriptor, 0)


def test_a_descriptor_that_could_shrink_is_refused() -> None:
    descriptor = os.memfd_create("soft", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, 4096)
    with pytest.raises(SharedMemoryError, match="sealed"):
        SharedMemory.open(descriptor, 4096)


def test_too_small_and_no_memory_at_all_are_refused() -> None:
    with SharedMemory.create(10) as ours, pytest.raises(SharedMemoryError, match="4096 bytes, 8192"):
        SharedMemory.open(os.dup(ours.descriptor), 8192)
    read_end, write_end = os.pipe()
    os.close(write_end)
    with pytest.raises(SharedMemoryError, match="no sealable memory"):
        SharedMemory.open(read_end, 1)


def test_views_outlive_close() -> None:
    memory = SharedMemory.create(4096)
    view = memory.array[:4].view(np.uint32)
    memory.close()
    view[0] = 5
    assert view[0] == 5


def test_platform_and_manual_agree_on_bus_addresses() -> None:
    assert bus.SYSTEM_BASE == manual.BUS_BASE
    assert bus.MAX_MEMORY_ID == manual.BUS_MAX_ID
    assert bus.system_address(3, 77) == manual.bus_address(3, 77)
