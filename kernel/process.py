"""One process: the thunks of one connection, each a small handler.

A request that is refused fails with a status and a sentence. A notification that is refused puts its device into the error state;
when no device can be told from it, all devices of the process. Work is done in :meth:`Session.after_batch`, when everything that
had arrived has been looked at, so that a signal can still join the buffer before it. Models the D3DKMT entry points.
"""

from __future__ import annotations

import dataclasses
import inspect
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import trio

from wddm.ddi.status import NTSTATUS, hresult_from_ntstatus
from wddm.wire import thunk
from wddm.wire.channel import CallError, Channel, ChannelClosed
from wddm.wire.message import ProtocolError, Struct

from .errors import BugCheckError, refusal
from .handles import HandleTable
from .miniport_host import tracer
from .objects import Context, Device, ExecutionState, InstanceHandle, Process
from .sync import SyncObject
from .thunks.adapter import AdapterThunks
from .thunks.display import DisplayThunks
from .thunks.group import Services, ThunkGroup
from .thunks.memory import MemoryThunks
from .thunks.submission import SubmissionThunks
from .thunks.sync import SyncThunks

_log = logging.getLogger("kernel")
_M = TypeVar("_M", bound=Struct)


class Session:
    """The kernel's end of one connection."""

    def __init__(self, services: Services, channel: Channel) -> None:
        self.services = services
        self.adapter = services.adapter
        self.channel = channel
        self.process = Process("", HandleTable(services.adapter.space), self._tell)
        self._greeted = False
        groups: list[ThunkGroup] = [
            kind(services, self.process, channel)
            for kind in (AdapterThunks, MemoryThunks, SubmissionThunks, SyncThunks, DisplayThunks)
        ]
        channel.on(thunk.Hello, self._hello)
        for group in groups:
            for struct, handler in group.requests().items():
                channel.on(struct, partial(self._request, handler))
            for struct, handler in group.notifications().items():
                channel.on(struct, partial(self._notification, handler))

    async def run(self) -> None:
        """Serve until the connection ends, then reap the process."""
        self.adapter.processes.append(self.process)
        try:
            await self.channel.run(after_batch=self.after_batch)
        finally:
            self.channel.close()
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 60):
                await self._reap()
            self.adapter.processes.remove(self.process)

    async def _reap(self) -> None:
        if self.adapter.stopped is None:
            done = trio.Event()
            self.adapter.guard(partial(self.services.lifecycle.reap, self.process, done.set))
            self.adapter.pump()
            while not done.is_set() and self.adapter.stopped is None and not self.adapter.link.channel.closed:
                with trio.move_on_after(1):  # the adapter may stop meanwhile
                    await done.wait()

    def after_batch(self) -> None:
        """Everything that had arrived has been handled."""
        self.adapter.pump()

    def _tell(self, message: Struct) -> None:
        if not self.channel.closed:
            try:
                self.channel.notify(message)
            except ChannelClosed:
                _log.debug("%s left before it was told %s", self.process, type(message).__name__)

    # ----- how messages are taken --------------------------------------------------------------------------------------------

    def _request(self, handler: Callable[[_M], Any], message: _M) -> Any:
        if not self._greeted:
            raise ProtocolError("the first message is hello")
        self.adapter.check_running()
        if tracer.enabled:
            _trace(message)
        try:
            result = handler(message)
        except (BugCheckError, ChannelClosed) as error:
            raise self._stopped(error) from None
        if result is None or isinstance(result, Struct):
            return result
        return self._later(result) if inspect.isawaitable(result) else result

    async def _later(self, result: Awaitable[Any]) -> Any:
        try:
            return await result
        except (BugCheckError, ChannelClosed) as error:
            raise self._stopped(error) from None

    def _stopped(self, error: BugCheckError | ChannelClosed) -> CallError:
        """A call ran into a broken contract, or the bus went away under it."""
        if isinstance(error, BugCheckError):
            self.adapter.bug_check(error.record)
        return refusal(NTSTATUS.STATUS_DEVICE_REMOVED, str(error))

    def _notification(self, handler: Callable[[_M], Awaitable[None] | None], message: _M) -> Awaitable[None] | None:
        if not self._greeted:
            raise ProtocolError("the first message is hello")
        if self.adapter.stopped is not None or self.adapter.link.channel.closed:
            return None  # every device has been told already, or will be when run() ends
        if tracer.enabled:
            _trace(message)
        try:
            return handler(message)
        except (BugCheckError, ChannelClosed) as error:
            self._stopped(error)
        except CallError as error:
            self._refuse(message, error)
        return None

    def _refuse(self, message: Struct, error: CallError) -> None:
        """A refused notification: its device is in error from now on."""
        self.adapter.refused_notifications += 1
        device = self._device_of(message)
        sentence = f"{type(message).__name__}: {error.message}"
        for one in [device] if device is not None else list(self.process.devices):
            self.adapter.fail_device(one, ExecutionState.STOPPED, hresult_from_ntstatus(error.code), sentence)
        if device is None and not self.process.devices:
            _log.warning("%s: %s", self.process, sentence)

    def _device_of(self, message: Struct) -> Device | None:
        for field in ("hDevice", "hContext", "hSyncObject", "hAllocation"):
            item = self.process.table.peek(getattr(message, field, 0))
            if isinstance(item, Device):
                return item
            if isinstance(item, (Context, SyncObject)):
                return item.device
            if isinstance(item, InstanceHandle):
                return item.opened.device
        return None

    def _hello(self, message: thunk.Hello) -> thunk.HelloReply:
        if message.protocol != thunk.THUNK.name or message.version != thunk.THUNK.version:
            raise ProtocolError(
                f"hello: {message.protocol} {message.version} where {thunk.THUNK.name} {thunk.THUNK.version} is spoken"
            )
        if self._greeted:
            raise ProtocolError("hello came twice")
        if len(self.adapter.processes) > self.adapter.options.max_processes:
            raise ProtocolError(f"the kernel serves {self.adapter.options.max_processes} processes already")
        self._greeted = True
        self.process.name = message.process
        return thunk.HelloReply(
            protocol=thunk.THUNK.name, version=thunk.THUNK.version, descriptors=self.channel.passes_descriptors
        )


def _trace(message: Struct) -> None:
    """One D3DKMT call: its small members."""
    members = {field.name: getattr(message, field.name) for field in dataclasses.fields(message)}  # type: ignore[arg-type]
    tracer(f"D3DKMT{type(message).__name__}", **{n: v for n, v in members.items() if isinstance(v, (int, str))})
