"""A client process's connection to the kernel: what goes out together, what comes back, the adapter's callbacks.

A render is held until what follows it (its fence signal) goes in the same write; a request lets go of everything first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import trio

from wddm.ddi import d3dumddi as um
from wddm.ddi.status import HRESULT, hresult_from_ntstatus
from wddm.trace import Tracer
from wddm.wire import thunk
from wddm.wire.channel import Channel, ChannelClosed
from wddm.wire.connection import RemoteError
from wddm.wire.message import Struct
from wddm.wire.transport import Transport

if TYPE_CHECKING:
    from .allocation_thunks import AllocationThunks

_R = TypeVar("_R", bound=Struct)
tracer = Tracer("runtime")

REMOVED: Final = int(HRESULT.D3DDDIERR_DEVICEREMOVED)
S_OK: Final = int(HRESULT.S_OK)
_MOST_SIGNALS: Final = 32  # of one Render
UMDRIVERPRIVATE: Final = 0  #: DXGKQAITYPE_UMDRIVERPRIVATE


def hresult_of(code: int) -> int:
    """The HRESULT of a thunk's failure, which is an NTSTATUS (0xC…, 0xD…) or an HRESULT already."""
    if code >> 28 in (0xC, 0xD) and code >> 16 != 0xC026:
        return int(hresult_from_ntstatus(code))
    return code or int(HRESULT.E_FAIL)


class KernelLink:
    """The connection of one client process to the kernel."""

    def __init__(self, transport: Transport) -> None:
        self.channel = Channel(transport, thunk.THUNK, server=False, name="wddm.thunk runtime")
        self.devices: dict[int, AllocationThunks] = {}
        self.hAdapter = 0
        self.info: thunk.AdapterInfo | None = None
        self.lost: Callable[[str], None] = lambda why: None
        self.nursery: trio.Nursery | None = None
        self.corked = False
        self._held: list[Struct] = []
        self._memory_ids = 0
        self.kept_descriptors = 0
        self.channel.on(thunk.DeviceStateChanged, self._device_state_changed)
        self.channel.on(thunk.PresentRetired, self._present_retired)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Receive until the kernel is gone, then tell :attr:`lost`."""
        async with trio.open_nursery() as nursery:
            self.nursery = nursery
            await self.channel.run(task_status=task_status)
            nursery.cancel_scope.cancel()
        self.lost(self.why_lost())

    def why_lost(self) -> str:
        """The sentence for devices once the channel is closed."""
        refused = self.channel.protocol_error
        return f"the connection to the kernel is lost{f': {refused}' if refused else ''}"

    async def open(self, process: str) -> None:
        """hello, and the adapter. Raises RemoteError or ChannelClosed."""
        await self.channel.request(
            thunk.Hello(protocol=thunk.THUNK.name, version=thunk.THUNK.version, process=process), thunk.HelloReply
        )
        await self.refresh()

    async def refresh(self) -> thunk.AdapterInfo:
        """The adapter with fresh counters."""
        info = self.info = await self.channel.request(thunk.OpenAdapter(), thunk.AdapterInfo)
        self.hAdapter = info.hAdapter
        return info

    def close(self) -> None:
        """Leave: the kernel frees everything of ours."""
        for device in list(self.devices.values()):
            device.forget()
        self.channel.close()

    def memory_id(self) -> int:
        """A number for a block of pages that a client may be given."""
        self._memory_ids += 1
        return self._memory_ids

    # ----- sending: a render travels with what follows it ------------------------------------------------------------------

    def notify(self, message: Struct, *, hold: bool = False) -> None:
        """Tell the kernel. ``hold``: with the next message, or at :meth:`release`. Raises ChannelClosed."""
        held = self._held
        if hold or self.corked:
            if held and not self.corked:
                self.release()
            held.append(message)
        elif held:
            held.append(message)
            self.release()
        else:
            self.channel.notify(message)

    def signal(self, message: thunk.SignalSynchronizationObject) -> None:
        """Tell the kernel of signals of monitored fences: in the render that is held, if it is of the same context."""
        held = self._held[-1] if self._held else None
        if type(held) is thunk.Render and held.hContext == message.hContext and not message.flags and not message.broadcast:
            if len(held.fences) + len(message.handles) <= _MOST_SIGNALS:
                held.fences += message.handles
                held.values += [message.value] * len(message.handles)
                if not self.corked:
                    self.release()
                return
        self.notify(message)

    def release(self) -> None:
        """Send what is held, in one piece."""
        if self._held:
            held, self._held = self._held, []
            self.channel.notify_all(held)

    async def request(self, message: Struct, reply: type[_R]) -> _R:
        """Ask the kernel. Raises RemoteError or ChannelClosed."""
        self.release()
        return await self.channel.request(message, reply)

    # ----- events ----------------------------------------------------------------------------------------------------------

    def _device_state_changed(self, message: thunk.DeviceStateChanged) -> None:
        device = self.devices.get(message.hDevice)
        if device is not None:
            device.state_changed(message)

    def _present_retired(self, message: thunk.PresentRetired) -> None:
        for device in self.devices.values():
            context = device.presents.pop(message.id, None)
            if context is not None:
                context.retired(message)
                return

    # ----- adapter callbacks -----------------------------------------------------------------------------------------------

    def adapter_callbacks(self) -> um.D3DDDI_ADAPTERCALLBACKS:
        """pfnQueryAdapterInfoCb and its kin."""

        async def query(hRTAdapter: int, arg: um.D3DDDICB_QUERYADAPTERINFO) -> int:
            tracer("pfnQueryAdapterInfoCb", size=arg.PrivateDriverDataSize or len(arg.pPrivateDriverData))
            data = arg.pPrivateDriverData
            size = arg.PrivateDriverDataSize or len(data)
            message = thunk.QueryAdapterInfo(
                hAdapter=self.hAdapter, type=UMDRIVERPRIVATE, input=bytes(data[:size]), output_size=size
            )
            try:
                reply = await self.request(message, thunk.AdapterData)
            except RemoteError as error:
                return hresult_of(error.code)
            except ChannelClosed:
                return REMOVED
            if len(reply.data) > len(data):
                return int(HRESULT.E_INVALIDARG)
            data[: len(reply.data)] = reply.data
            return S_OK

        return um.D3DDDI_ADAPTERCALLBACKS(
            pfnQueryAdapterInfoCb=query,
            pfnQueryAdapterInfoCb2=query,
            pfnGetMultisampleMethodListCb=lambda hRTAdapter, arg: int(HRESULT.E_NOTIMPL),
        )
