"""A client's link to the runtime: requests with their failures as D3DError, and the events that come back.

Owns the channel and the table of devices; knows no Direct3D. Everything above it is objects that hold ids.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from wddm.ddi.status import HRESULT
from wddm.wire import api
from wddm.wire.channel import Channel, ChannelClosed
from wddm.wire.check import problem
from wddm.wire.connection import RemoteError
from wddm.wire.message import Struct
from wddm.wire.transport import MemoryTransport, Transport

from .errors import D3DError

if TYPE_CHECKING:
    from .device import Device
    from .swap_chain import SwapChain

_R = TypeVar("_R", bound=Struct)


class Session:
    """One connection to a runtime."""

    def __init__(self, transport: Transport) -> None:
        self.channel = Channel(transport, api.API, server=False, name="wddm.api client")
        self.devices: dict[int, Device] = {}
        self.swap_chains: dict[int, SwapChain] = {}
        self.passes_descriptors = False
        #: Whether looking at a fence page pays: not where the other side runs in this thread.
        self.spins = not isinstance(transport, MemoryTransport)
        self.lost: D3DError | None = None
        #: How to run a plain function where the channel may be used: replaced when contexts are recorded in another thread.
        self.run_sync: Callable[[Callable[[], None]], None] = lambda function: function()
        self.channel.on_all(
            {
                api.DeviceRemoved: self._device_removed,
                api.ErrorReported: self._error_reported,
                api.PresentRetired: self._present_retired,
                api.ForgetMemory: self._forget_memory,
            }
        )

    async def hello(self) -> None:
        """Say who we are and what we speak."""
        name = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
        reply = await self.request(
            api.Hello(protocol=api.API.name, version=api.API.version, process=name[:256]), api.HelloReply
        )
        self.passes_descriptors = reply.descriptors and self.channel.passes_descriptors

    async def request(self, message: Struct, reply: type[_R]) -> _R:
        """Ask and wait. Raises D3DError with the runtime's code, or DXGI_ERROR_DEVICE_REMOVED when the link is gone.

        What cannot be said in the protocol (a number out of range, a wrong type) is E_INVALIDARG, and never sent.
        """
        wrong = problem(message)
        if wrong is not None:
            raise D3DError.of(HRESULT.E_INVALIDARG, wrong)
        try:
            return await self.channel.request(message, reply)
        except RemoteError as error:
            raise D3DError(error.code, error.name, error.message) from None
        except ChannelClosed as error:
            raise self.lose(str(error)) from None

    def notify(self, message: Struct) -> None:
        """Tell, without waiting; a lost link is noticed by the next request."""
        try:
            self.channel.notify(message)
        except ChannelClosed as error:
            self.lose(str(error))

    def lose(self, why: str) -> D3DError:
        """The link is gone: so is every device."""
        refusal = self.channel.protocol_error
        sentence = f"the connection to the runtime is lost: {refusal or why}"
        if self.lost is None:
            self.lost = D3DError.of(HRESULT.DXGI_ERROR_DEVICE_REMOVED, sentence)
        return D3DError(self.lost.code, self.lost.name, self.lost.sentence)

    def close(self) -> None:
        """End the link."""
        for device in self.devices.values():
            device.forget()
        self.channel.close()

    # ----- events ----------------------------------------------------------------------------------------------------------

    def _device_removed(self, message: api.DeviceRemoved) -> None:
        device = self.devices.get(message.device)
        if device is not None:
            device.removed = D3DError(message.code, message.name, message.sentence)

    def _error_reported(self, message: api.ErrorReported) -> None:
        device = self.devices.get(message.device)
        if device is not None:
            device.report(message)

    def _present_retired(self, message: api.PresentRetired) -> None:
        chain: Any = self.swap_chains.get(message.swap_chain)
        if chain is not None:
            chain.retired(message)

    def _forget_memory(self, message: api.ForgetMemory) -> None:
        for device in self.devices.values():
            device.forget_memory(message.memory_id)
