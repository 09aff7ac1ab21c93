"""The space of one segment: which bytes of it belong to whom.

First fit from the start or from the end, with alignment; neighbours merge when freed. Plain data, no policy: who must go when
there is no room is decided in :mod:`kernel.vidmm.policy`. Models "Initializing Use of Memory Segments".
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Generic, TypeVar

PAGE_SIZE = 4096
_O = TypeVar("_O")


def align_up(value: int, alignment: int) -> int:
    """``value`` rounded up to a multiple of ``alignment`` (any positive number)."""
    return -(-value // alignment) * alignment


@dataclass(slots=True)
class Range(Generic[_O]):
    """Bytes [start, start + size) of a segment that ``owner`` has."""

    start: int
    size: int
    owner: _O

    @property
    def end(self) -> int:
        """First byte after the range."""
        return self.start + self.size


@dataclass(slots=True)
class SegmentSpace(Generic[_O]):
    """``size`` bytes, of which at most ``commit_limit`` may be in use; owners in order of address."""

    size: int
    commit_limit: int = 0
    used: int = 0
    _starts: list[int] = field(default_factory=list)
    _ranges: list[Range[_O]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.commit_limit = self.commit_limit or self.size

    @property
    def ranges(self) -> list[Range[_O]]:
        """What is taken, in order of address."""
        return self._ranges

    def gaps(self) -> list[tuple[int, int]]:
        """(start, end) of what is free, in order of address."""
        return self.gaps_without(())

    def gaps_without(self, leaving: frozenset[int] | tuple[()]) -> list[tuple[int, int]]:
        """Free (start, end) if the owners whose ``id()`` is in ``leaving`` were gone."""
        found, at = [], 0
        for taken in self._ranges:
            if leaving and id(taken.owner) in leaving:
                continue
            if taken.start > at:
                found.append((at, taken.start))
            at = taken.end
        if at < self.size:
            found.append((at, self.size))
        return found

    def find(self, size: int, alignment: int, *, from_end: bool = False) -> int | None:
        """Where ``size`` bytes fit, or None. First fit, from the end when asked."""
        if self.used + size > self.commit_limit:
            return None
        return fit(self.gaps(), size, alignment, from_end=from_end)

    def take(self, start: int, size: int, owner: _O) -> Range[_O]:
        """Give [start, start + size) to ``owner``. Raises ValueError when any byte of it has an owner or lies outside."""
        at = bisect_left(self._starts, start)
        if start < 0 or start + size > self.size:
            raise ValueError(f"range {start:#x}+{size:#x} leaves the segment of {self.size:#x} bytes")
        if (at > 0 and self._ranges[at - 1].end > start) or (at < len(self._ranges) and self._starts[at] < start + size):
            raise ValueError(f"range {start:#x}+{size:#x} has an owner already")
        taken = Range(start, size, owner)
        self._starts.insert(at, start)
        self._ranges.insert(at, taken)
        self.used += size
        return taken

    def free(self, taken: Range[_O]) -> None:
        """The range has no owner any more. Raises ValueError for one that is not taken."""
        at = bisect_left(self._starts, taken.start)
        if at >= len(self._ranges) or self._ranges[at] is not taken:
            raise ValueError(f"range {taken.start:#x}+{taken.size:#x} is not taken")
        del self._starts[at], self._ranges[at]
        self.used -= taken.size


def fit(gaps: list[tuple[int, int]], size: int, alignment: int, *, from_end: bool = False) -> int | None:
    """First place in ``gaps`` for ``size`` aligned bytes, or None."""
    for start, end in reversed(gaps) if from_end else gaps:
        if from_end:
            at = (end - size) // alignment * alignment
            if at >= start:
                return at
        else:
            at = align_up(start, alignment)
            if at + size <= end:
                return at
    return None
