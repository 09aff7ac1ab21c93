"""Submission fence ids: 32-bit, one increasing sequence per node, compared safely around the wrap. Models "Supplying Fence
Identifiers"."""

from __future__ import annotations

from typing import Final

_MASK: Final = 0xFFFF_FFFF


def next_fence(fence: int) -> int:
    """The id after ``fence``. 0 is skipped: it says "none yet"."""
    return (fence + 1) & _MASK or 1


def fence_distance(a: int, b: int) -> int:
    """How far ``a`` is ahead of ``b``, negative when behind, in -2**31..2**31-1."""
    distance = (a - b) & _MASK
    return distance - (1 << 32) if distance & 0x8000_0000 else distance


def reached(completed: int, fence: int) -> bool:
    """Whether completion of ``completed`` implies completion of ``fence``."""
    return (completed - fence) & _MASK < 0x8000_0000
