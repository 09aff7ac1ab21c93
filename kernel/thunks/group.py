"""What the thunks of one process share: its objects by handle, and the managers of the adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from kernel.adapter import Adapter
from kernel.lifecycle import Lifecycle
from kernel.locking import Locks
from kernel.objects import AdapterHandle, Context, Device, Process
from kernel.presenting import Presenter
from kernel.signalling import Signalling
from wddm.wire.channel import Channel

#: Message class to handler.
Handlers = dict[type[Any], Callable[[Any], Any]]


class Services:
    """What the sessions of one adapter share."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.lifecycle = Lifecycle(adapter)
        self.locks = Locks(adapter, wait_for)
        self.presenter = Presenter(adapter)
        self.signals = Signalling(adapter)


async def wait_for(start: Callable[[Callable[[], None]], None]) -> None:
    """Wait until the callback that ``start`` is given has been called."""
    event = trio.Event()
    start(event.set)
    await event.wait()


class ThunkGroup:
    """Some of the thunks of one connection."""

    def __init__(self, services: Services, process: Process, channel: Channel) -> None:
        self.services = services
        self.adapter = services.adapter
        self.process = process
        self.channel = channel

    def requests(self) -> Handlers:
        """What is answered."""
        return {}

    def notifications(self) -> Handlers:
        """What is only told."""
        return {}

    def _check_adapter(self, handle: int) -> None:
        self.process.table.get(handle, AdapterHandle, "hAdapter")

    def _device(self, handle: int) -> Device:
        return self.process.table.get(handle, Device, "hDevice")

    def _context(self, handle: int) -> Context:
        return self.process.table.get(handle, Context, "hContext")

    def _when_done(self, start: Callable[[Callable[[], None]], None]) -> Awaitable[None]:
        """Start something that calls back; the request is answered when it has."""
        event = trio.Event()
        start(event.set)
        self.adapter.pump()
        return event.wait()

    def _active_context(self, handle: int) -> Context | None:
        """The context; None when its device is lost (which was told already): what follows is dropped."""
        context = self._context(handle)
        return context if context.device.cause is None else None
