"""What every group of commands needs: the device, the driver's entries, what is bound, how ids become objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from wddm.wire import api

from .bindings import Bindings
from .errors import ApiError, invalid_arg
from .objects import DeviceObject
from .states import State

if TYPE_CHECKING:
    from .core_layer import CoreLayer
    from .device import Device

#: What a command returns: nothing, or an awaitable while the driver waits for the kernel.
Pending = Awaitable[Any] | None
Call = Callable[[], Any]


def sequence(calls: Iterable[Call]) -> Pending:
    """Call one after another; from the first that waits on, later."""
    rest = iter(calls)
    for call in rest:
        pending = call()
        if pending is not None:
            return _rest(pending, rest)
    return None


async def _rest(pending: Awaitable[Any], rest: Iterator[Call]) -> None:
    await pending
    for call in rest:
        following = call()
        if following is not None:
            await following


def handles(objects: Sequence[Any]) -> list[int]:
    """The driver's handles, 0 for NULL."""
    return [o.handle if o is not None else 0 for o in objects]


def used(slots: Sequence[Any]) -> int:
    """Slots up to the last that is taken."""
    for i in range(len(slots), 0, -1):
        if slots[i - 1] is not None:
            return i
    return 0


class CommandGroup:
    """Base of the groups that make up a context."""

    device: Device
    core: CoreLayer
    bound: Bindings
    _ddi: Any
    _defaults: dict[type[State], State]
    _unchecked: bool  #: stages or layout have changed since linkage was looked at
    _drawable: bool

    def warn(self, name: str, sentence: str) -> None:
        """Something an app hardly wants."""
        self.device.session.notify(
            api.ErrorReported(
                device=self.device.id, code=0, name="WARNING", sentence=sentence, command=name, warning=True
            )
        )

    def _no_slot(self, start: int, ids: list[int], most: int, what: str) -> ApiError:
        return invalid_arg(f"start_slot: {len(ids)} {what} from slot {start}, there are {most} slots")

    def _slots(self, start: int, ids: list[int], most: int, cls: type[Any], what: str) -> list[Any]:
        """The objects that go into slots from ``start``. Raises ApiError."""
        if start + len(ids) > most:
            raise self._no_slot(start, ids, most, what)
        by_id, device = self.device.objects.by_id, self.device
        found: list[Any] = []
        for id in ids:
            if id == 0:
                found.append(None)
                continue
            object = by_id.get(id)
            if not isinstance(object, cls):
                raise device.objects.refuse(id, cls, what)
            if object.device is not device:
                raise invalid_arg(f"{what}: {id} belongs to another device")
            found.append(object)
        return found


__all__ = ["Bindings", "Call", "CommandGroup", "DeviceObject", "Pending", "handles", "sequence", "used"]
