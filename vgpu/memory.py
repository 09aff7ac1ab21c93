"""The memory that the hardware sees: local memory and the aperture in one reserved range of host addresses, and bus memory.

Local memory and the aperture are contiguous in the host's address space (``mmap``), so that an engine turns an address and an
extent into one pointer. Aperture pages are bound to pages of system memory with ``MAP_FIXED``; unbound ones have no access.
Guard pages without access lie before, between and after the ranges. Nothing here knows packets.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class Memory:
    """Interface (the implementation replaces this file's body, not these names).

    ``pointer`` and ``view`` raise ``vgpu.fault.FaultError(Fault.ADDRESS, …)`` when any byte of [address, address + extent) lies
    outside local memory and bound aperture pages (or, with ``privileged``, outside announced bus memory).
    """

    def __init__(self, local_size: int, aperture_size: int, visible_window: int) -> None:
        raise NotImplementedError

    def pointer(self, address: int, extent: int, *, write: bool = False, privileged: bool = False) -> int:
        """Host address of ``extent`` contiguous bytes at ``address``."""
        raise NotImplementedError

    def view(self, address: int, extent: int, *, write: bool = False, privileged: bool = False) -> npt.NDArray[np.uint8]:
        """The same bytes as an array that shares memory."""
        raise NotImplementedError

    def add_memory(self, memory_id: int, size: int, descriptor: int | None) -> None:
        """Announce a block of system memory; ``descriptor`` (owned from now on) or, without one, memory of our own."""
        raise NotImplementedError

    def remove_memory(self, memory_id: int) -> None:
        """Forget a block; aperture pages still bound to it lose their access."""
        raise NotImplementedError

    def map_aperture(self, first_page: int, count: int, bus_address: int) -> None:
        """Bind ``count`` aperture pages to bus memory."""
        raise NotImplementedError

    def unmap_aperture(self, first_page: int, count: int) -> None:
        """Unbind aperture pages."""
        raise NotImplementedError
