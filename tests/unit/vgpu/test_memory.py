"""The hardware's memory: ranges, binding, announcements, guard pages, loss of content."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
from collections.abc import Iterator

import pytest

from vgpu.fault import FaultError
from vgpu.memory import Memory
from wddm.hw.interrupts import Fault
from wddm.hw.memory import APERTURE_BASE, LOCAL_BASE, PAGE_SIZE, bus_address

MIB = 1 << 20


@pytest.fixture
def memory() -> Iterator[Memory]:
    memory = Memory(4 * MIB, 8 * MIB, MIB)
    yield memory
    memory.close()


def test_local_memory_is_one_piece_across_the_window(memory: Memory) -> None:
    view = memory.view(LOCAL_BASE + MIB - 2, 4, write=True)
    view[:] = [1, 2, 3, 4]
    assert os.pread(memory.window_descriptor, 2, MIB - 2) == b"\x01\x02"
    assert memory.view(LOCAL_BASE + MIB, 2).tolist() == [3, 4]
    assert memory.pointer(LOCAL_BASE + 5, 1) - memory.pointer(LOCAL_BASE, 1) == 5


@pytest.mark.parametrize(
    ("address", "extent"),
    [(0, 1), (LOCAL_BASE - 1, 2), (LOCAL_BASE + 4 * MIB - 1, 2), (APERTURE_BASE, 1), (APERTURE_BASE - 1, 1), (2**64 - 1, 4),
     (bus_address(1), 4), (LOCAL_BASE, -1), (LOCAL_BASE, 1 << 40)],
)  # fmt: skip
def test_ranges_outside_memory_fault(memory: Memory, address: int, extent: int) -> None:
    for privileged in (False, True):
        with pytest.raises(FaultError) as caught:
            memory.view(address, extent, privileged=privileged)
        assert caught.value.fault == Fault.ADDRESS
        with pytest.raises(FaultError):
            memory.pointer(address, extent, privileged=privileged)


def test_views_for_reading_cannot_be_written(memory: Memory) -> None:
    with pytest.raises(ValueError, match="read-only"):
        memory.view(LOCAL_BASE, 4)[0] = 1


def test_aperture_pages_show_the_block_they_are_bound_to(memory: Memory) -> None:
    memory.add_memory(7, 4 * PAGE_SIZE, None)
    memory.view(bus_address(7, PAGE_SIZE), 1, write=True, privileged=True)[0] = 42
    memory.map_aperture(3, 2, bus_address(7, PAGE_SIZE))
    assert memory.view(APERTURE_BASE + 3 * PAGE_SIZE, 2 * PAGE_SIZE)[0] == 42
    for address, extent in ((3 * PAGE_SIZE - 1, 2), (4 * PAGE_SIZE, PAGE_SIZE + 1)):
        with pytest.raises(FaultError):
            memory.view(APERTURE_BASE + address, extent)
    memory.view(APERTURE_BASE + 4 * PAGE_SIZE, 1, write=True)[0] = 9
    assert memory.view(bus_address(7, 2 * PAGE_SIZE), 1, privileged=True)[0] == 9
    memory.unmap_aperture(3, 1)
    with pytest.raises(FaultError):
        memory.view(APERTURE_BASE + 3 * PAGE_SIZE, 1)
    assert memory.view(APERTURE_BASE + 4 * PAGE_SIZE, 1)[0] == 9


def test_a_removed_block_takes_its_aperture_pages_along(memory: Memory) -> None:
    memory.add_memory(1, 3 * PAGE_SIZE, None)
    memory.map_aperture(0, 1, bus_address(1))
    memory.map_aperture(5, 2, bus_address(1, PAGE_SIZE))
    memory.remove_memory(1)
    for page in (0, 5, 6):
        with pytest.raises(FaultError):
            memory.view(APERTURE_BASE + page * PAGE_SIZE, 1)
    with pytest.raises(ValueError, match="not announced"):
        memory.remove_memory(1)


def test_bad_bindings_fault(memory: Memory) -> None:
    memory.add_memory(1, 2 * PAGE_SIZE, None)
    for first, count, bus in (
        (0, 3, bus_address(1)),
        (0, 1, bus_address(1, 8)),
        (0, 1, bus_address(2)),
        (2048, 1, bus_address(1)),
        (0, 1, LOCAL_BASE),
        (-1, 1, bus_address(1)),
    ):
        with pytest.raises(FaultError):
            memory.map_aperture(first, count, bus)


def test_descriptors_are_shared_sealed_and_closed() -> None:
    memory = Memory(MIB, MIB, 0)
    descriptor = os.memfd_create("block", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, PAGE_SIZE)
    memory.add_memory(1, PAGE_SIZE, os.dup(descriptor))
    memory.view(bus_address(1), 3, write=True, privileged=True)[:] = [1, 2, 3]
    assert os.pread(descriptor, 3, 0) == b"\x01\x02\x03"
    with pytest.raises(PermissionError):
        os.ftruncate(descriptor, 0)
    with pytest.raises(ValueError, match="were announced"):
        memory.add_memory(2, 2 * PAGE_SIZE, os.dup(descriptor))
    read, write = os.pipe()
    os.close(write)
    with pytest.raises(ValueError, match="holds 0 bytes"):
        memory.add_memory(3, PAGE_SIZE, read)
    with pytest.raises(ValueError, match="in use"):
        memory.add_memory(1, PAGE_SIZE, None)
    os.close(descriptor)
    memory.close()
    memory.close()


def test_reset_loses_content(memory: Memory) -> None:
    memory.add_memory(1, PAGE_SIZE, None)
    memory.map_aperture(0, 1, bus_address(1))
    memory.view(LOCAL_BASE, 4 * MIB, write=True)[:] = 7
    memory.lose_content()
    assert not memory.view(LOCAL_BASE, 4 * MIB).any()
    with pytest.raises(FaultError):
        memory.view(APERTURE_BASE, 1)
    assert memory.view(bus_address(1), 1, privileged=True)[0] == 0


@pytest.mark.parametrize("where", ["before", "between", "aperture", "after"])
def test_guard_pages_have_no_access(memory: Memory, where: str) -> None:
    base = memory.pointer(LOCAL_BASE, 1)
    between = base + 4 * MIB
    aperture = between + 16 * PAGE_SIZE
    address = {"before": base - 1, "between": between, "aperture": aperture, "after": aperture + 8 * MIB}[where]
    child = os.fork()
    if child == 0:  # the access must kill, so a child makes it
        faulthandler.disable()
        ctypes.string_at(address, 1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) in (signal.SIGSEGV, signal.SIGBUS)
