"""The memory that the hardware sees: local memory and the aperture in one reserved range of host addresses, and bus memory.

Local memory and the aperture are contiguous in the host's address space (``mmap``), so that an engine turns an address and an
extent into one pointer. Aperture pages are bound to pages of system memory with ``MAP_FIXED``. Guard pages without access lie
before, between and after the ranges. Nothing here knows packets.

Pages that were never bound have no access; pages that were unbound show zeros of their own (the dummy page of a GART), so that
work still in flight on another node cannot take the device down. Either way ``pointer`` and ``view`` refuse them.

System memory is announced block by block (the model's page frame numbers): a memfd whose descriptor the host passed, or memory
of our own for a host on another machine. A passed memfd is sealed against shrinking, so that no access can miss its pages.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vgpu.fault import FaultError
from wddm.hw import memory as map_
from wddm.hw.interrupts import Fault
from wddm.hw.memory import APERTURE_BASE, BUS_BASE, LOCAL_BASE, PAGE_SIZE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]

_MAP_FIXED, _MAP_NORESERVE, _PROT_NONE = 0x10, 0x4000, 0
_MAP_FAILED = ctypes.c_void_p(-1).value
_PUNCH_HOLE = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
_F_ADD_SEALS, _F_GET_SEALS, _F_SEAL_SHRINK = 1033, 1034, 0x2
_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_GUARD = 16 * PAGE_SIZE
_U64 = struct.Struct("@Q")  # the machine's own: one store


def _fail(what: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, f"{what}: {os.strerror(code)}")


def _memfd(name: str, size: int) -> int:
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, _F_ADD_SEALS, _F_SEAL_SHRINK)
    return descriptor


@dataclass(slots=True)
class _Block:
    """One announced block of system memory. ``data`` keeps its mapping alive; ``raw`` are the same bytes."""

    descriptor: int
    size: int
    data: npt.NDArray[np.uint8]
    raw: memoryview
    bound_pages: int = 0


class Memory:
    """Local memory, aperture and announced system memory.

    ``pointer`` and ``view`` raise ``vgpu.fault.FaultError(Fault.ADDRESS, …)`` when any byte of [address, address + extent) lies
    outside local memory and bound aperture pages (or, with ``privileged``, outside announced bus memory). Views keep the
    reserved range alive; what they show after their pages were unbound is a fault of the caller, who must have finished work
    that uses pages before he unbinds them.
    """

    def __init__(self, local_size: int, aperture_size: int, visible_window: int) -> None:
        for name, value, limit in (
            ("local_size", local_size, map_.MAX_LOCAL_SIZE),
            ("aperture_size", aperture_size, map_.MAX_APERTURE_SIZE),
        ):
            if value % PAGE_SIZE or not PAGE_SIZE <= value <= limit:
                raise ValueError(f"{name} {value:#x} is not a multiple of {PAGE_SIZE} in {PAGE_SIZE}..{limit:#x}")
        if visible_window % PAGE_SIZE or not 0 <= visible_window <= local_size:
            raise ValueError(f"visible_window {visible_window:#x} is not a page multiple within local memory")
        self.local_size = local_size
        self.aperture_size = aperture_size
        self.visible_window = visible_window
        total = _GUARD + local_size + _GUARD + aperture_size + _GUARD
        self._reserved = mmap.mmap(-1, total, flags=mmap.MAP_PRIVATE | _MAP_NORESERVE, prot=_READ_WRITE)
        self._bytes = np.frombuffer(self._reserved, np.uint8)
        self._read_only = self._bytes.view()
        self._read_only.flags.writeable = False
        self._host: int = int(self._bytes.ctypes.data)
        if _libc.mprotect(self._host, total, _PROT_NONE):
            raise _fail("reserve address space")
        #: Offsets in the reserved range, minus the base address: address + delta = offset.
        self._local_delta = _GUARD - LOCAL_BASE
        self._aperture_offset = _GUARD + local_size + _GUARD
        self._aperture_delta = self._aperture_offset - APERTURE_BASE
        self._local_end = LOCAL_BASE + local_size
        self._aperture_end = APERTURE_BASE + aperture_size
        #: Descriptor of the visible window alone, to be given to the processor; -1 without a window.
        self.window_descriptor = _memfd("vgpu-window", visible_window) if visible_window else -1
        if self.window_descriptor >= 0:
            self._map(_GUARD, visible_window, self.window_descriptor, 0)
        self._map_own()
        self._bound = np.zeros(aperture_size // PAGE_SIZE, np.uint32)  #: block id per aperture page, 0 = unbound
        self._blocks: dict[int, _Block] = {}

    # --- access -----------------------------------------------------------------------------------------------------

    def _offset(self, address: int, extent: int) -> int:
        """Offset of a checked range in the reserved address space."""
        if extent < 0:
            raise FaultError(Fault.ADDRESS, f"extent {extent}", address=address)
        if address >= LOCAL_BASE and address + extent <= self._local_end:
            return address + self._local_delta
        if address >= APERTURE_BASE and address + extent <= self._aperture_end:
            first = (address - APERTURE_BASE) // PAGE_SIZE
            last = (address - APERTURE_BASE + max(extent, 1) - 1) // PAGE_SIZE
            if (self._bound[first] if first == last else self._bound[first : last + 1].all()):
                return address + self._aperture_delta
            raise FaultError(Fault.ADDRESS, f"unbound aperture page in {address:#x}+{extent:#x}", address=address)
        raise FaultError(Fault.ADDRESS, f"{address:#x}+{extent:#x} lies in no memory", address=address)

    def _block(self, address: int, extent: int) -> tuple[_Block, int]:
        """The block of system memory that holds a range of bus addresses, and where in it the range begins."""
        block_id, offset = map_.split_bus_address(address)
        block = self._blocks.get(block_id)
        if block is None or extent < 0 or offset + extent > block.size:
            why = f"bus block {block_id} offset {offset:#x}+{extent:#x} was not announced"
            raise FaultError(Fault.ADDRESS, why, address=address)
        return block, offset

    def _bus(self, address: int, extent: int) -> npt.NDArray[np.uint8]:
        block, offset = self._block(address, extent)
        return block.data[offset : offset + extent]

    def load_bus(self, record: struct.Struct, address: int) -> tuple[Any, ...]:
        """A record of system memory, at a bus address. Raises FaultError as ``view`` does."""
        block, offset = self._block(address, record.size)
        return record.unpack_from(block.raw, offset)

    def copy_bus(self, address: int, extent: int) -> bytes:
        """Bytes of system memory, at a bus address, as they are now. Raises FaultError as ``view`` does."""
        block, offset = self._block(address, extent)
        return block.raw[offset : offset + extent].tobytes()

    def store_bus(self, address: int, value: int) -> None:
        """Write a u64 to system memory, at a bus address that is a multiple of 8: nobody sees half of it."""
        block, offset = self._block(address, 8)
        _U64.pack_into(block.raw, offset, value)

    def pointer(self, address: int, extent: int, *, write: bool = False, privileged: bool = False) -> int:
        """Host address of ``extent`` contiguous bytes at ``address``."""
        if privileged and address >= BUS_BASE:
            return int(self._bus(address, extent).ctypes.data)
        return self._host + self._offset(address, extent)

    def view(self, address: int, extent: int, *, write: bool = False, privileged: bool = False) -> npt.NDArray[np.uint8]:
        """The same bytes as an array that shares memory; read-only unless ``write``."""
        if privileged and address >= BUS_BASE:
            data = self._bus(address, extent)
            if not write:
                data.flags.writeable = False
            return data
        offset = self._offset(address, extent)
        return (self._bytes if write else self._read_only)[offset : offset + extent]

    @property
    def aperture_pointer(self) -> int:
        """Host address of the aperture."""
        return self._host + self._aperture_offset

    @property
    def bound_pointer(self) -> int:
        """Host address of a u32 for each aperture page: 0 for pages that are unbound. Stays the same for life."""
        return int(self._bound.ctypes.data)

    # --- announcements ----------------------------------------------------------------------------------------------

    def add_memory(self, memory_id: int, size: int, descriptor: int | None) -> None:
        """Announce a block of system memory; ``descriptor`` (owned from now on) or, without one, memory of our own.

        Raises ValueError for an id in use or out of range, a size out of range, or a descriptor that is no writable memfd of
        that size which can be sealed against shrinking; the descriptor is closed then.
        """
        try:
            if not 0 < memory_id <= map_.BUS_MAX_ID or memory_id in self._blocks:
                raise ValueError(f"memory block id {memory_id} is in use or out of range")
            if not 0 < size <= map_.BUS_MAX_SIZE:
                raise ValueError(f"memory block of {size} bytes")
            if descriptor is None:
                descriptor = _memfd(f"vgpu-bus-{memory_id}", size)
            else:
                self._check_descriptor(descriptor, size)
            whole = map_.align_up(size, PAGE_SIZE)
            try:
                data = np.frombuffer(mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED, prot=_READ_WRITE), np.uint8)
            except (OSError, ValueError) as error:
                raise ValueError(f"memory block {memory_id} of {whole} bytes cannot be mapped: {error}") from error
        except ValueError:
            if descriptor is not None:
                os.close(descriptor)
            raise
        self._blocks[memory_id] = _Block(descriptor, size, data, data.data)

    @staticmethod
    def _check_descriptor(descriptor: int, size: int) -> None:
        try:
            actual = os.fstat(descriptor).st_size
            if actual < size:
                raise ValueError(f"descriptor holds {actual} bytes, {size} were announced")
            if not fcntl.fcntl(descriptor, _F_GET_SEALS) & _F_SEAL_SHRINK:
                fcntl.fcntl(descriptor, _F_ADD_SEALS, _F_SEAL_SHRINK)
        except OSError as error:
            raise ValueError(f"descriptor is no memfd that can be sealed against shrinking: {error}") from error

    def remove_memory(self, memory_id: int) -> None:
        """Forget a block; aperture pages still bound to it lose their access. Raises ValueError for an unknown id."""
        block = self._blocks.pop(memory_id, None)
        if block is None:
            raise ValueError(f"memory block {memory_id} was not announced")
        if block.bound_pages:
            pages = np.flatnonzero(self._bound == memory_id)
            for run in np.split(pages, np.flatnonzero(np.diff(pages) != 1) + 1):
                self._unbind(int(run[0]), len(run))
        os.close(block.descriptor)

    # --- the aperture -----------------------------------------------------------------------------------------------

    def map_aperture(self, first_page: int, count: int, bus_address: int) -> None:
        """Bind ``count`` aperture pages to bus memory (page-aligned). Pages that were bound change over."""
        self._check_pages(first_page, count)
        block_id, offset = map_.split_bus_address(bus_address) if bus_address >= BUS_BASE else (0, 0)
        block = self._blocks.get(block_id)
        if block is None or offset % PAGE_SIZE or offset + count * PAGE_SIZE > map_.align_up(block.size, PAGE_SIZE):
            why = f"{count} pages at bus address {bus_address:#x} were not announced"
            raise FaultError(Fault.ADDRESS, why, address=bus_address)
        if not count:
            return
        self._release(first_page, count)
        self._bound[first_page : first_page + count] = 0
        try:
            self._map(self._aperture_offset + first_page * PAGE_SIZE, count * PAGE_SIZE, block.descriptor, offset)
        except OSError as error:
            raise FaultError(Fault.ADDRESS, f"{count} aperture pages: {error}", address=bus_address) from error
        self._bound[first_page : first_page + count] = block_id
        block.bound_pages += count

    def unmap_aperture(self, first_page: int, count: int) -> None:
        """Unbind aperture pages; unbound ones may be named."""
        self._check_pages(first_page, count)
        if count:
            self._release(first_page, count)
            self._unbind(first_page, count)

    def _check_pages(self, first: int, count: int) -> None:
        if first < 0 or count < 0 or first + count > len(self._bound):
            why = f"aperture pages {first}+{count}; there are {len(self._bound)}"
            raise FaultError(Fault.ADDRESS, why, address=APERTURE_BASE + first * PAGE_SIZE)

    def _release(self, first: int, count: int) -> None:
        """Take the pages off their blocks' accounts."""
        ids, counts = np.unique(self._bound[first : first + count], return_counts=True)
        for block_id, n in zip(ids.tolist(), counts.tolist(), strict=True):
            if block_id in self._blocks:
                self._blocks[block_id].bound_pages -= n

    def _unbind(self, first: int, count: int) -> None:
        at = self._host + self._aperture_offset + first * PAGE_SIZE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED
        if _libc.mmap(at, count * PAGE_SIZE, _READ_WRITE, flags, -1, 0) == _MAP_FAILED:
            raise _fail("unbind aperture pages")
        self._bound[first : first + count] = 0

    def _map_own(self) -> None:
        """Give local memory beyond the visible window zeroed pages, large ones where the system has them: nobody else maps it."""
        at, size = self._host + _GUARD + self.visible_window, self.local_size - self.visible_window
        if not size:
            return
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED
        if _libc.mmap(at, size, _READ_WRITE, flags, -1, 0) == _MAP_FAILED:
            raise _fail("map local memory")
        _libc.madvise(at, size, mmap.MADV_HUGEPAGE)  # a wish: kernels without large pages say no

    def _map(self, offset: int, size: int, descriptor: int, descriptor_offset: int) -> None:
        at = self._host + offset
        flags = mmap.MAP_SHARED | _MAP_FIXED
        if _libc.mmap(at, size, _READ_WRITE, flags, descriptor, descriptor_offset) == _MAP_FAILED:
            raise _fail("map pages")

    # --- life -------------------------------------------------------------------------------------------------------

    def lose_content(self) -> None:
        """What a device reset does: local memory reads zero, no aperture page is bound. Announced blocks stay."""
        size = self.visible_window
        if self.window_descriptor >= 0 and _libc.fallocate(self.window_descriptor, _PUNCH_HOLE, 0, size):
            if ctypes.get_errno() not in (errno.EOPNOTSUPP, errno.ENOSYS):
                raise _fail("drop content")
            self._bytes[_GUARD : _GUARD + size] = 0
        self._map_own()
        self.unmap_aperture(0, len(self._bound))

    def forget_blocks(self) -> None:
        """The bus is gone: forget every announced block."""
        for memory_id in list(self._blocks):
            self.remove_memory(memory_id)

    def close(self) -> None:
        """Give up descriptors and access. Address space is returned when the last view is gone. Idempotent."""
        self.forget_blocks()
        if self.window_descriptor >= 0:
            os.close(self.window_descriptor)
        self.window_descriptor = -1
