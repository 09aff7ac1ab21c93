"""Requests about the immediate context: batches of commands, mapping, waiting, results of queries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

from wddm.ddi import d3d10umddi as dd
from wddm.ddi.status import HRESULT
from wddm.wire import api
from wddm.wire.message import Descriptor, ProtocolError

from .device import Device
from .errors import ApiError, require
from .kernel_link import S_OK
from .queries import Query, get_data
from .requests import RequestGroup
from .resources import Resource
from .umd_host import settle


class ContextRequests(RequestGroup):
    """Handlers of ExecuteCommands, Map, WaitFence, GetData."""

    def execute_commands(self, m: api.ExecuteCommands) -> Any:
        """A batch. What is not allowed in it is reported; what is no command at all ends the session."""
        device = self.devices.get(m.device)
        if device is None:
            raise ProtocolError(f"execute_commands: {m.device} is no device")
        result = device.turn.enter(lambda: self._execute(device, m))
        if isawaitable(result):
            return result
        if self.link.channel.congested or self.channel.congested:
            return self._drained()
        return None

    async def _drained(self) -> None:
        """A slow kernel slows the client, and so does a client that does not read what it is told."""
        await self.link.channel.drained()
        await self.channel.drained()

    def _execute(self, device: Device, m: api.ExecuteCommands) -> Any:
        pending = device.context.execute(m.commands)
        if not m.signal:
            return pending
        if pending is None and device.removed is None:
            self.link.corked = True
            pending = device.ddi.pfnFlush()
            if pending is None:
                self._signal(device, m.signal)
                return None
        return self._signal_later(device, m.signal, pending)

    async def _signal_later(self, device: Device, value: int, pending: Any) -> None:
        try:
            if pending is not None:
                self.link.corked = False
                await pending
            if device.removed is None:
                await settle(device.ddi.pfnFlush())
        finally:
            self._signal(device, value)

    def _signal(self, device: Device, value: int) -> None:
        """Queue the fence behind everything of the device, in the same write as its last submission."""
        self.link.corked = False
        contexts = list(device.kernel.contexts)
        if contexts and device.removed is None:
            device.kernel.signal(contexts[0], [device.fence], value, 0, contexts[1:])
        self._release()

    async def wait_fence(self, m: api.WaitFence) -> None:
        device = self.device(m.device)
        code = await device.kernel.wait_from_cpu([device.fence], [m.value])
        device.check_removed()
        if code != S_OK:
            raise ApiError(code, "waiting for the fence failed")

    def map(self, m: api.Map) -> Any:
        resource = self.objects.get(m.resource, Resource, "resource")
        device = resource.device

        async def mapped() -> api.Mapped:
            _, found = await device.context.map(m.resource, m.subresource, m.type, m.flags)
            try:
                return self._mapped(device, resource, m, found)
            except ApiError:
                await settle(device.context.unmap(m.resource, m.subresource))
                raise

        return self._turn(device, mapped)

    def _mapped(self, device: Device, resource: Resource, m: api.Map, found: dd.D3D10DDI_MAPPED_SUBRESOURCE) -> api.Mapped:
        """Mapped memory for the client: the pages where they can be passed on, else the bytes."""
        mip = m.subresource % resource.mip_levels
        row, slice_, _ = resource.mip_bytes(mip)
        depth = resource.size(mip)[2]
        row_pitch, depth_pitch = found.RowPitch or row, found.DepthPitch or found.RowPitch or slice_
        rows = slice_ // row if row else 1
        size = (depth - 1) * depth_pitch + (rows - 1) * row_pitch + row
        view = memoryview(found.pData).cast("B")  # type: ignore[arg-type]
        size = min(size, view.nbytes)
        reply = api.Mapped(row_pitch=row_pitch, depth_pitch=depth_pitch, size=size)
        place = device.kernel.pages_at(view) if self.channel.passes_descriptors else None
        if place is not None and place[1] + size <= place[0].array.nbytes:
            pages, reply.offset = place
            assert pages.memory is not None
            reply.memory_id, reply.memory_size = pages.memory_id, pages.array.nbytes
            if not pages.told:
                pages.told = True
                device.kernel.pass_on(pages)
                reply.memory = Descriptor(pages.memory.descriptor)
        elif m.type != 4:  # whoever discards does not see what was there
            if size > api.MAX_DATA:
                raise ApiError(HRESULT.E_OUTOFMEMORY, f"resource: {size} bytes cannot travel in one piece on this link")
            reply.data = bytes(view[:size])
        return reply

    async def get_data(self, m: api.GetData) -> api.QueryData:
        query = self.objects.get(m.query, Query, "query")
        device = query.device
        require(not m.flags & ~1, f"flags: {m.flags:#x} has unknown bits")
        if query.begun or not query.issued:
            raise ApiError(HRESULT.DXGI_ERROR_INVALID_CALL, "query: it was not ended, there is no result to come")
        reply: api.QueryData = await self._turn_result(device, lambda: get_data(query, m.flags))
        while m.wait and not reply.ready:
            # The result is written by work that is submitted by now: it is there when the device's stream has passed this point.
            await self._pass(device)
            reply = await self._turn_result(device, lambda: get_data(query, 0))
        return reply

    async def _turn_result(self, device: Device, call: Callable[[], Awaitable[Any]]) -> Any:
        return await settle(self._turn(device, call))

    async def _pass(self, device: Device) -> None:
        """Wait until the GPU has done what the device has submitted, by a fence of its own."""
        code, fence = await device.kernel.create_fence()
        device.check_removed()
        if code != S_OK:
            raise ApiError(code, "the kernel gives no fence")
        try:
            contexts = list(device.kernel.contexts)
            device.kernel.signal(contexts[0], [fence], 1, 0, contexts[1:])
            await device.kernel.wait_from_cpu([fence], [1])
        finally:
            device.kernel.destroy_fence(fence)
        device.check_removed()
