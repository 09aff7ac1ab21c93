"""One client: its connection, its own connection to the kernel, its driver, its devices.

Owns the handlers of the API messages. Nothing of one session is reachable from another; when the client goes, in whatever way, the
kernel connection is closed and the kernel frees everything. When the kernel goes, every device is removed and the client is told.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, Final

import trio

from wddm.client.enums import FeatureLevel
from wddm.ddi import d3d10umddi as dd
from wddm.ddi.status import HRESULT
from wddm.trace import Tracer
from wddm.wire import api, thunk
from wddm.wire.channel import Channel, ChannelClosed
from wddm.wire.connection import RemoteError
from wddm.wire.message import Nothing, ProtocolError, Struct
from wddm.wire.transport import Transport

from .context_requests import ContextRequests
from .device import Device
from .display_requests import DisplayRequests
from .errors import ApiError, require
from .kernel_link import KernelLink, hresult_of
from .legacy import create_context
from .legacy_requests import LegacyRequests
from .objects import DeviceObject, Kind, ObjectTable
from .queries import create_query
from .resources import Resource, buffer_of, create_in_driver, format_info, texture_of
from .shaders import create_input_layout, create_shader
from .states import create_blend_state, create_depth_stencil_state, create_rasterizer_state, create_sampler_state
from .swap_chain import SwapChain
from .thunks import KernelDevice
from .umd_host import Adapter
from .views import create_view

_log = logging.getLogger("runtime")
tracer = Tracer("runtime")

_LEVELS: Final = {
    FeatureLevel.LEVEL_11_0: dd.D3D11DDI_3DPIPELINELEVEL.LEVEL_11_0,
    FeatureLevel.LEVEL_10_1: dd.D3D11DDI_3DPIPELINELEVEL.LEVEL_10_1,
    FeatureLevel.LEVEL_10_0: dd.D3D11DDI_3DPIPELINELEVEL.LEVEL_10_0,
}
MAX_DEVICES: Final = 64
END_TIMEOUT: Final = 5.0  #: seconds that a driver may take to destroy its devices when its client has gone

ConnectKernel = Callable[[], Awaitable[Transport]]


class Session(ContextRequests, DisplayRequests, LegacyRequests):
    """A client of the runtime."""

    def __init__(self, transport: Transport, connect_kernel: ConnectKernel, driver: str | None) -> None:
        self.channel = Channel(transport, api.API, server=True, name="wddm.api")
        self.name = "a client"
        self.objects = ObjectTable()
        self.devices: dict[int, Device] = {}
        self.chains: set[SwapChain] = set()
        self.link: KernelLink
        self.adapter: Adapter | None = None
        self._connect_kernel = connect_kernel
        self._driver = driver
        self._said_hello = False
        self._greeted = False  #: the kernel has answered
        self._linked = False
        self.ending = False  #: the client has gone
        self._nursery: trio.Nursery
        self._present_ids = 0
        self._opening = trio.Lock()
        for struct, handler in (
            (api.Hello, self.hello),
            (api.GetAdapterInfo, self.get_adapter_info),
            (api.ReadDisplay, self.read_display),
            (api.GetDisplayModes, self.get_display_modes),
            (api.WaitForVerticalBlank, self.wait_for_vertical_blank),
            (api.CreateDevice, self.create_device),
            (api.DestroyDevice, self.destroy_device),
            (api.GetDeviceRemovedReason, self.get_device_removed_reason),
            (api.CheckFormatSupport, self.check_format_support),
            (api.CheckMultisampleQualityLevels, self.check_multisample_quality_levels),
            (api.CreateBuffer, self.create_buffer),
            (api.CreateTexture, self.create_texture),
            (api.CreateView, self.create_view),
            (api.CreateShader, self._creator(create_shader)),
            (api.CreateInputLayout, self.create_input_layout),
            (api.CreateBlendState, self._creator(create_blend_state)),
            (api.CreateDepthStencilState, self._creator(create_depth_stencil_state)),
            (api.CreateRasterizerState, self._creator(create_rasterizer_state)),
            (api.CreateSamplerState, self._creator(create_sampler_state)),
            (api.CreateQuery, self._creator(create_query)),
            (api.CreateDp2Context, self._creator(create_context)),
            (api.CreateSurfaceEx, self.create_surface_ex),
            (api.DrawPrimitives2, self.draw_primitives2),
            (api.GetRenderStates, self.get_render_states),
            (api.GetData, self.get_data),
            (api.Map, self.map),
            (api.WaitFence, self.wait_fence),
            (api.CreateSwapChain, self.create_swap_chain),
            (api.Present, self.present),
            (api.ResizeBuffers, self.resize_buffers),
            (api.GetFrameStatistics, self.get_frame_statistics),
            (api.GetLastPresentCount, self.get_last_present_count),
            (api.SetMaximumFrameLatency, self.set_maximum_frame_latency),
            (api.SetGammaControl, self.set_gamma_control),
        ):
            self.channel.on(struct, self._request(handler))
        self.channel.on(api.AnnounceUpload, self.announce_upload)
        self.channel.on(api.ExecuteCommands, self.execute_commands)

    # ----- life ------------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve until the client leaves; then free everything of its."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                await self.channel.run(after_batch=self._release)
                await self._end()
                nursery.cancel_scope.cancel()
        finally:
            for device in self.devices.values():
                device.forget()
            if self._linked:
                self.link.close()

    async def _end(self) -> None:
        """The client has gone: let the driver destroy its devices, if it can."""
        self.ending = True
        with trio.move_on_after(END_TIMEOUT):
            for device in self.devices.values():
                if not self._greeted or self.link.channel.closed:
                    break
                await device.on_turn(device.end)
            if self.adapter is not None:
                await self.adapter.close()

    def _release(self) -> None:
        """Everything that had arrived was handled: nothing is held back any more."""
        if self._greeted and not self.link.channel.closed:
            try:
                self.link.release()
            except ChannelClosed:
                _log.debug("%s: the kernel left", self.name)

    def notify(self, message: Struct) -> None:
        """Tell the client something, while it is there."""
        if not self.channel.closed:
            try:
                self.channel.notify(message)
            except ChannelClosed:
                _log.debug("%s left", self.name)

    def next_present_id(self) -> int:
        """A number for a present, unique on this kernel connection."""
        self._present_ids += 1
        return self._present_ids

    def _kernel_lost(self, why: str) -> None:
        for device in self.devices.values():
            device.lose(HRESULT.DXGI_ERROR_DEVICE_REMOVED, why)

    # ----- requests --------------------------------------------------------------------------------------------------------

    def _request(self, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A request handler whose failures are answers."""

        def handle(message: Any) -> Any:
            if not self._greeted and type(message) is not api.Hello:
                raise ProtocolError("the first message must be hello")
            try:
                result = handler(message)
            except ApiError as error:
                raise error.call_error() from None
            return self._answer(result) if isawaitable(result) else result

        return handle

    async def _answer(self, result: Awaitable[Any]) -> Any:
        try:
            return await result
        except ApiError as error:
            raise error.call_error() from None
        except RemoteError as error:
            raise ApiError(hresult_of(error.code), error.message).call_error() from None
        except ChannelClosed as error:
            lost = ApiError(HRESULT.DXGI_ERROR_DEVICE_REMOVED, f"the connection to the kernel is lost: {error}")
            raise lost.call_error() from None
        finally:
            self._release()

    async def hello(self, m: api.Hello) -> api.HelloReply:
        """Agree on the protocol, connect to the kernel."""
        if (m.protocol, m.version) != (api.API.name, api.API.version):
            raise ApiError(
                HRESULT.E_NOINTERFACE,
                f"{m.protocol} {m.version} is not spoken here, but {api.API.name} {api.API.version}",
            )
        if self._said_hello:
            raise ApiError(HRESULT.E_UNEXPECTED, "hello was said before")
        self._said_hello = True
        self.name = f"client {m.process!r}" if m.process else "a client"
        try:
            transport = await self._connect_kernel()
        except OSError as error:
            raise ApiError(HRESULT.DXGI_ERROR_NOT_CURRENTLY_AVAILABLE, error.strerror or str(error)) from None
        self.link = KernelLink(transport)
        self._linked = True
        self.link.lost = self._kernel_lost
        await self._nursery.start(self.link.run)
        await self.link.open(m.process)
        self._greeted = True
        return api.HelloReply(
            protocol=api.API.name, version=api.API.version, descriptors=self.channel.passes_descriptors
        )

    # ----- devices ---------------------------------------------------------------------------------------------------------

    async def create_device(self, m: api.CreateDevice) -> api.DeviceCreated:
        require(len(self.devices) < MAX_DEVICES, f"device: {MAX_DEVICES} exist already")
        adapter = await self._open_adapter()
        wanted = m.feature_levels or [int(FeatureLevel.LEVEL_11_0)]
        for level in wanted:
            pipeline = _LEVELS.get(level)  # type: ignore[call-overload]
            if pipeline is not None and adapter.supports_level(pipeline):
                break
        else:
            raise ApiError(
                HRESULT.DXGI_ERROR_UNSUPPORTED, f"feature_levels: none of {[hex(x) for x in wanted]} is there, 0xb000 is 11_0"
            )
        created = await self.link.request(thunk.CreateDevice(hAdapter=self.link.hAdapter), thunk.DeviceCreated)
        kernel = KernelDevice(self.link, created.hDevice, lambda code, why: None)
        device = Device(self, adapter, kernel)
        kernel.on_forget = lambda memory_id: self.notify(api.ForgetMemory(memory_id=memory_id))
        try:
            await device.start(m.flags, pipeline)
        except ApiError:
            await device.end()
            raise
        device.id = self.objects.add(Kind.DEVICE, device)
        self.devices[device.id] = device
        page = device.fence_page() if self.channel.passes_descriptors else None
        return api.DeviceCreated(
            device=device.id,
            feature_level=level,
            driver=adapter.driver,
            fence=page.page if page is not None else None,
            fence_size=page.page_size if page is not None else 0,
            fence_offset=page.offset if page is not None else 0,
        )

    async def _open_adapter(self) -> Adapter:
        """The driver's adapter, opened with the first device."""
        async with self._opening:
            if self.adapter is None:
                info = self.link.info
                assert info is not None
                adapter = Adapter(self.link, self._driver or info.umd)
                await adapter.open()
                self.adapter = adapter
            return self.adapter

    def destroy_device(self, m: api.DestroyDevice) -> Any:
        device = self._device(m.device)
        del self.devices[m.device]
        for id in [id for id, found in self.objects.by_id.items() if getattr(found, "device", None) is device or found is device]:
            del self.objects.by_id[id]

        async def destroyed() -> None:
            for chain in [c for c in self.chains if c.device is device]:
                chain.destroy()
            await device.end()
            await self.link.request(thunk.DestroyDevice(hDevice=device.kernel.hDevice), Nothing)

        return device.turn.enter(destroyed)

    def get_device_removed_reason(self, m: api.GetDeviceRemovedReason) -> api.RemovedReason:
        return self._device(m.device).removed_reason()

    def check_format_support(self, m: api.CheckFormatSupport) -> api.FormatSupport:
        return self.device(m.device).format_support(m.format)

    def check_multisample_quality_levels(self, m: api.CheckMultisampleQualityLevels) -> api.QualityLevels:
        device = self.device(m.device)
        info = format_info(m.format)
        require(0 < m.sample_count <= 32, f"sample_count: {m.sample_count} is not in 1..32")
        return api.QualityLevels(levels=device.quality_levels(info.format, m.sample_count))

    def announce_upload(self, m: api.AnnounceUpload) -> None:
        device = self.devices.get(m.device)
        if device is None:
            os.close(m.memory.number)
            raise ProtocolError(f"announce_upload: {m.device} is no device")
        fault = device.announce(m)
        if fault is not None:
            raise ProtocolError(f"announce_upload: {fault}")

    # ----- creating objects ------------------------------------------------------------------------------------------------

    def _creator(self, create: Callable[[Device, Any], Awaitable[DeviceObject]]) -> Callable[[Any], Any]:
        """A handler that creates an object in the driver and answers with its id."""

        def handle(m: Any) -> Any:
            device = self.device(m.device)

            async def made() -> api.Created:
                return api.Created(id=device.publish(await create(device, m)))

            return self._turn(device, made)

        return handle

    def create_buffer(self, m: api.CreateBuffer) -> Any:
        return self._create_resource(m, buffer_of)

    def create_texture(self, m: api.CreateTexture) -> Any:
        return self._create_resource(m, texture_of)

    def _create_resource(self, m: Any, describe: Callable[[Device, Any], Resource]) -> Any:
        device = self.device(m.device)

        async def made() -> api.Created:
            try:
                resource = describe(device, m)
            except ApiError:
                for piece in m.initial:
                    device.blob_taken(piece.blob)
                raise
            await create_in_driver(resource, m.initial)
            return api.Created(id=device.publish(resource))

        return self._turn(device, made)

    def create_view(self, m: api.CreateView) -> Any:
        resource = self.objects.get(m.resource, Resource, "resource")
        device = resource.device

        async def made() -> api.Created:
            return api.Created(id=device.publish(await create_view(device, m)))

        return self._turn(device, made)

    def create_input_layout(self, m: api.CreateInputLayout) -> Any:
        device = self.device(m.device)

        async def made() -> api.Created:
            layout, warnings = await create_input_layout(device, m)
            for warning in warnings:
                device.context.warn("create_input_layout", warning)
            return api.Created(id=device.publish(layout))

        return self._turn(device, made)

