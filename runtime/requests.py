"""What the groups of request handlers share: the client's objects, its kernel connection, turns in the driver."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from wddm.wire.channel import Channel
from wddm.wire.message import Struct

from .device import Device
from .kernel_link import KernelLink
from .objects import ObjectTable
from .swap_chain import SwapChain


class RequestGroup:
    """Base of the groups that make up a session."""

    channel: Channel
    link: KernelLink
    objects: ObjectTable
    devices: dict[int, Device]
    chains: set[SwapChain]

    def device(self, id: int) -> Device:
        """A live device. Raises ApiError."""
        device = self._device(id)
        device.check_removed()
        return device

    def _device(self, id: int) -> Device:
        device = self.devices.get(id)
        if device is None:
            raise self.objects.refuse(id, Device, "device")
        return device

    def _turn(self, device: Device, call: Callable[[], Awaitable[Any]]) -> Any:
        """Do something in the driver when it is its turn, unless the device was lost meanwhile."""

        def begin() -> Awaitable[Any]:
            device.check_removed()
            return call()

        return device.turn.enter(begin)

    def _release(self) -> None:
        """Everything that had arrived was handled: nothing is held back any more."""
        raise NotImplementedError

    def notify(self, message: Struct) -> None:
        """Tell the client something, while it is there."""
        raise NotImplementedError
