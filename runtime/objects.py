"""The objects of a session and the ids that a client knows them by.

An id is ``serial << 4 | kind``: typed, and never given out twice, so that an id kept too long is told from one that never was.
An object lives as long as a client's id, another object or the pipeline holds it.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from wddm.ddi.status import HRESULT

from .errors import ApiError, invalid_arg

if TYPE_CHECKING:
    from .device import Device

#: Numbers that this process hands to drivers as hDrv… and hRT… of their objects.
_handles = count(1)


#: Objects of one connection that may exist at a time.
MAX_OBJECTS = 1 << 18


class Kind(IntEnum):
    """The type bits of an id."""

    DP2_CONTEXT = 0
    DEVICE = 1
    BUFFER = 2
    TEXTURE = 3
    SHADER_RESOURCE_VIEW = 4
    RENDER_TARGET_VIEW = 5
    DEPTH_STENCIL_VIEW = 6
    UNORDERED_ACCESS_VIEW = 7
    SHADER = 8
    INPUT_LAYOUT = 9
    BLEND_STATE = 10
    DEPTH_STENCIL_STATE = 11
    RASTERIZER_STATE = 12
    SAMPLER_STATE = 13
    QUERY = 14
    SWAP_CHAIN = 15


def new_handle() -> int:
    """A number for a driver."""
    return next(_handles)


class DeviceObject:
    """What every object of a device has. ``handle`` is the driver's and the runtime's handle at once."""

    __slots__ = ("device", "handle", "refs")
    kind: Kind

    def __init__(self, device: Device) -> None:
        self.device = device
        self.handle = new_handle()
        self.refs = 0

    def destroy(self) -> None:
        """Tell the driver; nobody holds the object any more."""
        raise NotImplementedError


_O = TypeVar("_O", bound=DeviceObject)

NAMES = {kind: kind.name.lower().replace("_", " ") for kind in Kind}


class ObjectTable:
    """The ids of one session."""

    def __init__(self) -> None:
        self._serial = 0
        self.by_id: dict[int, Any] = {}

    def add(self, kind: Kind, found: Any) -> int:
        """A new id for an object. Raises E_OUTOFMEMORY when ids run out."""
        if self._serial >= (1 << 28) - 1 or len(self.by_id) >= MAX_OBJECTS:
            raise ApiError(HRESULT.E_OUTOFMEMORY, f"the connection has used up its ids ({len(self.by_id)} objects exist)")
        self._serial += 1
        id = self._serial << 4 | kind
        self.by_id[id] = found
        return id

    def get(self, id: int, cls: type[_O], name: str) -> _O:
        """The object of an id. Raises E_INVALIDARG that says what is wrong with parameter ``name``."""
        found = self.by_id.get(id)
        if isinstance(found, cls):
            return found
        raise self.refuse(id, cls, name)

    def refuse(self, id: int, cls: type[Any], name: str) -> ApiError:
        """Why ``id`` does not name a ``cls``."""
        wanted = cls.__name__
        if id == 0:
            return invalid_arg(f"{name} is NULL, a {wanted} belongs there")
        kind = NAMES[Kind(id & 15)]
        if id in self.by_id:
            return invalid_arg(f"{name}: {id} is a {kind}, a {wanted} belongs there")
        if id >> 4 <= self._serial:
            return invalid_arg(f"{name}: {kind} {id} has been destroyed")
        return invalid_arg(f"{name}: {id} was never given out")

    def remove(self, id: int) -> Any:
        """Forget an id and return its object. Raises E_INVALIDARG for an id that names nothing."""
        found = self.by_id.pop(id, None)
        if found is None:
            raise self.refuse(id, DeviceObject, "id")
        return found
