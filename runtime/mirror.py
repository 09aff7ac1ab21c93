"""A private copy of an allocation, kept in step with the kernel's over a link that passes no descriptors.

A driver keeps pointers into what it has mapped once, and writes and reads there at any time. So what it changed goes out before a
command buffer that names the allocation, and what the GPU wrote comes in before a fence tells that it is done. The kernel's bytes
as last seen are the reference for both: each side's changes move the other's copy only where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

PAGE: Final = 64  #: bytes that travel together: what the GPU writes beside them stays


class Mirror:
    """``array`` is the driver's; ``stale_at`` the number of the newest submission that writes it on the GPU, 0 when seen."""

    __slots__ = ("_seen", "array", "stale_at")

    def __init__(self, size: int) -> None:
        self.array = np.zeros(size, np.uint8)
        self._seen = np.zeros(size, np.uint8)
        self.stale_at = 0

    def changes(self, most: int) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
        """Offsets and bytes of what the driver changed, in pieces of at most ``most`` bytes ; they count as sent."""
        size = self.array.nbytes
        whole = size - size % PAGE
        ours, seen = (a[:whole].view(np.uint64).reshape(-1, PAGE // 8) for a in (self.array, self._seen))
        changed = np.flatnonzero((ours != seen).any(axis=1))
        spans = np.split(changed, np.flatnonzero(np.diff(changed) != 1) + 1) if changed.size else []
        places = [(int(span[0]) * PAGE, (int(span[-1]) + 1) * PAGE) for span in spans]
        if whole < size and (self.array[whole:] != self._seen[whole:]).any():
            places.append((whole, size))
        for start, end in places:
            for at in range(start, end, most):
                piece = self.array[at : min(at + most, end)].copy()
                self._seen[at : at + piece.nbytes] = piece
                yield at, piece

    def merge(self, offset: int, data: bytes) -> None:
        """Take in the kernel's bytes: where they differ from what was seen, they replace the driver's."""
        new = np.frombuffer(data, np.uint8)
        seen = self._seen[offset : offset + new.nbytes]
        changed = new != seen
        np.copyto(self.array[offset : offset + new.nbytes], new, where=changed)
        seen[:] = new
