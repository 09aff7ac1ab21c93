"""D3DKMT handles: 32-bit, typed, generation-counted, valid in one process only.

Every process has a table of its own. The numbers come from one space, so that a handle of one process never means anything in
another, and a number is used again only with a new generation; a slot whose generations are used up is never used again. Models
the handle rules of the D3DKMT reference: anything else is STATUS_INVALID_HANDLE.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import ClassVar, Final, Protocol, TypeVar

from wddm.ddi.status import NTSTATUS

from .errors import refusal

_INDEX_BITS: Final = 20
_MAX_INDEX: Final = (1 << _INDEX_BITS) - 1
_MAX_GENERATION: Final = (1 << (32 - _INDEX_BITS)) - 1
#: A freed slot rests until so many others have been freed, so that generations last.
_REST: Final = 64


class HandleSpace:
    """Gives out the numbers. ``generation << 20 | index``, index and generation from 1 on."""

    def __init__(self) -> None:
        self._generations: list[int] = [0]
        self._free: deque[int] = deque()

    def take(self) -> int:
        """A number that was never given out before. Raises CallError when there is none."""
        if len(self._free) > _REST:
            index = self._free.popleft()
        elif len(self._generations) <= _MAX_INDEX:
            index = len(self._generations)
            self._generations.append(1)
        elif self._free:
            index = self._free.popleft()
        else:
            raise refusal(NTSTATUS.STATUS_INSUFFICIENT_RESOURCES, "all handles of the system are in use")
        return self._generations[index] << _INDEX_BITS | index

    def give_back(self, handle: int) -> None:
        """The number means nothing any more."""
        index = handle & _MAX_INDEX
        if self._generations[index] < _MAX_GENERATION:
            self._generations[index] += 1
            self._free.append(index)

    def describe(self, handle: int) -> str:
        """Why a number that is in no table of the process may be wrong."""
        index, generation = handle & _MAX_INDEX, handle >> _INDEX_BITS
        if not 0 < index < len(self._generations) or generation == 0 or generation > self._generations[index]:
            return "was never given out"
        if generation < self._generations[index]:
            return "was destroyed"
        return "belongs to nobody here"


class Named(Protocol):
    """An object that handles can name."""

    kind: ClassVar[str]


_T = TypeVar("_T")


class HandleTable:
    """The handles of one process. ``limit`` bounds how many it may hold."""

    def __init__(self, space: HandleSpace, *, limit: int = 1 << 16) -> None:
        self._space = space
        self._limit = limit
        self._objects: dict[int, Named] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def add(self, item: Named) -> int:
        """A new handle for ``item``. Raises CallError (STATUS_INSUFFICIENT_RESOURCES) when the process holds too many."""
        if len(self._objects) >= self._limit:
            raise refusal(NTSTATUS.STATUS_INSUFFICIENT_RESOURCES, f"the process holds {self._limit} handles already")
        handle = self._space.take()
        self._objects[handle] = item
        return handle

    def get(self, handle: int, kind: type[_T], field: str = "handle") -> _T:
        """The object of type ``kind`` that ``handle`` names. Raises CallError (STATUS_INVALID_HANDLE) that names ``field``."""
        item = self._objects.get(handle)
        if type(item) is kind:
            return item
        raise self._refuse(handle, item, getattr(kind, "kind", kind.__name__), field)

    def peek(self, handle: int) -> Named | None:
        """The object that ``handle`` names, of whatever type, or None."""
        return self._objects.get(handle)

    def _refuse(self, handle: int, item: Named | None, wanted: str, field: str) -> Exception:
        if item is not None:
            why = f"names a {item.kind}, not a {wanted}"
        elif handle == 0:
            why = f"is NULL where a {wanted} belongs"
        else:
            why = f"names no {wanted}: it {self._space.describe(handle)}"
        return refusal(NTSTATUS.STATUS_INVALID_HANDLE, f"{field} {handle:#x} {why}")

    def remove(self, handle: int) -> None:
        """Forget a handle. Using it again is an error of the caller, found by its generation."""
        if self._objects.pop(handle, None) is not None:
            self._space.give_back(handle)

    def values(self) -> Iterator[Named]:
        """All objects, in the order of their creation."""
        return iter(list(self._objects.values()))

    def clear(self) -> None:
        """The process is gone."""
        for handle in list(self._objects):
            self.remove(handle)
