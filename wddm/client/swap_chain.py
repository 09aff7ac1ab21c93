"""IDXGISwapChain1 as a client holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wddm.ddi.status import HRESULT
from wddm.wire import api
from wddm.wire.message import Nothing

from .enums import BindFlag, BufferUsage, Format, SwapEffect
from .errors import D3DError
from .resources import DeviceChild, Texture2D
from .values import FrameStatistics

if TYPE_CHECKING:
    from .device import Device
    from .session import Session


class SwapChain(DeviceChild):
    """Back buffers of ``width`` x ``height`` that are presented to a video present source.

    ``last_retired`` is the newest present that the display is done with, ``dropped`` counts presents that were never shown.
    """

    def __init__(self, device: Device, session: Session, message: api.CreateSwapChain, reply: api.SwapChainCreated) -> None:
        super().__init__(device, reply.id)
        self._resources = device
        self._session = session
        self.swap_effect = SwapEffect(message.swap_effect)
        self._message = message
        self.last_retired: api.PresentRetired | None = None
        self.dropped = 0
        self._buffers: list[Texture2D] = []
        session.swap_chains[self.id] = self
        self._adopt(reply.buffers)

    @property
    def width(self) -> int:
        """Pixels."""
        return self._buffers[0].width

    @property
    def height(self) -> int:
        """Pixels."""
        return self._buffers[0].height

    @property
    def format(self) -> Format:
        """The format of the buffers."""
        return self._buffers[0].format

    @property
    def buffer_count(self) -> int:
        """How many buffers an app can get."""
        return len(self._buffers)

    def _adopt(self, ids: list[int]) -> None:
        bind = 0
        for usage, flag in (
            (BufferUsage.RENDER_TARGET_OUTPUT, BindFlag.RENDER_TARGET),
            (BufferUsage.SHADER_INPUT, BindFlag.SHADER_RESOURCE),
            (BufferUsage.UNORDERED_ACCESS, BindFlag.UNORDERED_ACCESS),
        ):
            if self._message.buffer_usage & usage:
                bind |= flag
        self._buffers = [
            self._resources.adopt_texture(
                Texture2D,
                id,
                api.CreateTexture(
                    device=self.device.id,
                    dimension=2,
                    format=self._message.format,
                    sample_count=self._message.sample_count,
                    bind_flags=bind,
                    width=self._message.width,
                    height=self._message.height,
                ),
            )
            for id in ids
        ]

    async def get_buffer(self, index: int = 0) -> Texture2D:
        """IDXGISwapChain::GetBuffer. Flip-model chains: only buffer 0 can be rendered to, its content moves on with presents."""
        if not 0 <= index < len(self._buffers):
            raise D3DError.of(HRESULT.DXGI_ERROR_INVALID_CALL, f"buffer {index}: the chain shows {len(self._buffers)}")
        return self._buffers[index]

    async def present(self, sync_interval: int = 0, flags: int = 0) -> HRESULT:
        """IDXGISwapChain1::Present. Returns S_OK, or DXGI_STATUS_OCCLUDED when another owns the display.

        Waits while the maximum frame latency is reached, unless DO_NOT_WAIT asks for DXGI_ERROR_WAS_STILL_DRAWING.
        """
        message = api.Present(swap_chain=self.id, sync_interval=sync_interval, flags=flags)
        reply = await self.device.call(message, api.Presented)
        self.device.raise_recorded()
        return HRESULT(reply.status)

    async def resize_buffers(
        self, buffer_count: int = 0, width: int = 0, height: int = 0, format: int = 0, flags: int = 0
    ) -> None:
        """IDXGISwapChain::ResizeBuffers; 0 keeps the count and format, or takes the output's size.

        Views of the buffers must have been released; the buffers got before are gone.
        """
        reply = await self.device.call(
            api.ResizeBuffers(
                swap_chain=self.id, buffer_count=buffer_count, width=width, height=height, format=format, flags=flags
            ),
            api.SwapChainCreated,
        )
        for buffer in self._buffers:
            buffer.id = 0
        self._message.width, self._message.height = reply.width, reply.height
        self._message.format = format or self._message.format
        self._adopt(reply.buffers)

    async def get_frame_statistics(self) -> FrameStatistics:
        """IDXGISwapChain::GetFrameStatistics; the first call and the first after a mode change raise …STATISTICS_DISJOINT."""
        reply = await self.device.call(api.GetFrameStatistics(swap_chain=self.id), api.FrameStatistics)
        return FrameStatistics(
            reply.present_count,
            reply.present_refresh_count,
            reply.sync_refresh_count,
            reply.sync_qpc_time,
            reply.sync_gpu_time,
        )

    async def get_last_present_count(self) -> int:
        """IDXGISwapChain::GetLastPresentCount."""
        return (await self.device.call(api.GetLastPresentCount(swap_chain=self.id), api.PresentCount)).count

    async def set_gamma_control(self, ramp: bytes = b"") -> None:
        """Three tables (red, green, blue) of 256 little-endian u16 each, or nothing for the identity."""
        await self.device.call(api.SetGammaControl(swap_chain=self.id, ramp=ramp), Nothing)

    def retired(self, message: api.PresentRetired) -> None:
        """The display is done with a present."""
        self.last_retired = message
        self.dropped += not message.shown

    def release(self) -> None:
        """Give up the chain and its buffers."""
        for buffer in self._buffers:
            buffer.id = 0
        self._session.swap_chains.pop(self.id, None)
        super().release()
