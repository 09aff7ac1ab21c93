"""Memory that two processes share: a memfd, mapped here, whose descriptor can be passed over a unix socket.

The owner creates it at its final size and seals the size, so that no holder of the descriptor can pull pages from under another
(a truncated mapping would kill whoever touches it). It comes zeroed from the system and is never handed to a second owner.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from typing import Self

import numpy as np
import numpy.typing as npt


class SharedMemoryError(Exception):
    """A descriptor that is not memory of the promised size, or not sealed."""


# Not in the fcntl module of Python 3.11.
_F_SEAL_FUTURE_WRITE = 0x0010


class SharedMemory:
    """``size`` bytes of shared memory. ``array`` is the mapping (uint8; read-only when opened so)."""

    def __init__(self, descriptor: int, mapping: mmap.mmap, size: int) -> None:
        self.descriptor = descriptor
        self.size = size
        self._mapping = mapping
        self.array: npt.NDArray[np.uint8] = np.frombuffer(mapping, np.uint8)

    @classmethod
    def create(cls, size: int, name: str = "wddm") -> Self:
        """New zeroed memory of ``size`` bytes (rounded up to pages), its size sealed."""
        if size <= 0:
            raise ValueError(f"shared memory of {size} bytes")
        size = (size + mmap.PAGESIZE - 1) & -mmap.PAGESIZE
        descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(descriptor, size)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
            return cls(descriptor, mmap.mmap(descriptor, size), size)
        except BaseException:
            os.close(descriptor)
            raise

    @classmethod
    def open(cls, descriptor: int, size: int, *, read_only: bool = False) -> Self:
        """Map memory received from another process; owns ``descriptor`` from now on, also on failure.

        Raises SharedMemoryError unless the descriptor is sealed against shrinking and has at least ``size`` bytes.
        """
        try:
            try:
                seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
            except OSError as error:
                raise SharedMemoryError(f"descriptor is no sealable memory: {error.strerror}") from None
            if not seals & fcntl.F_SEAL_SHRINK:
                raise SharedMemoryError("memory is not sealed against shrinking")
            have = os.fstat(descriptor).st_size
            if size <= 0 or have < size:
                raise SharedMemoryError(f"memory has {have} bytes, {size} were promised")
            protection = mmap.PROT_READ if read_only else mmap.PROT_READ | mmap.PROT_WRITE
            try:
                mapping = mmap.mmap(descriptor, size, mmap.MAP_SHARED, protection)
            except OSError as error:
                raise SharedMemoryError(f"memory cannot be mapped: {error.strerror}") from None
            return cls(descriptor, mapping, size)
        except BaseException:
            os.close(descriptor)
            raise

    def seal_writes(self) -> None:
        """From now on others can only map it read-only; mappings that exist stay writable."""
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _F_SEAL_FUTURE_WRITE)

    def close(self) -> None:
        """Give up the descriptor. The mapping lives as long as ``array`` or a view of it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
