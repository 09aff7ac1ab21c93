"""Requests about the adapter, its outputs, and swap chains."""

from __future__ import annotations

from typing import Any

from wddm.ddi.dxgiformat import DXGI_FROM_D3DDDIFORMAT
from wddm.ddi.status import HRESULT
from wddm.wire import api, thunk
from wddm.wire.message import Nothing

from .device import DEFAULT_FRAME_LATENCY
from .errors import ApiError, require
from .presenting import MAX_FRAME_LATENCY
from .requests import RequestGroup
from .swap_chain import SwapChain, create_swap_chain, described


class DisplayRequests(RequestGroup):
    """Handlers of adapter, display and swap-chain messages."""

    # ----- adapter and display ---------------------------------------------------------------------------------------------

    async def get_adapter_info(self, m: api.GetAdapterInfo) -> thunk.AdapterInfo:
        return await self.link.refresh()

    async def read_display(self, m: api.ReadDisplay) -> thunk.Scanout:
        message = thunk.ReadScanout(hAdapter=self.link.hAdapter, VidPnSourceId=m.source)
        return await self.link.request(message, thunk.Scanout)

    async def display_modes(self, source: int) -> list[thunk.DisplayMode]:
        """The modes of an output."""
        message = thunk.GetDisplayModeList(hAdapter=self.link.hAdapter, VidPnSourceId=source)
        return (await self.link.request(message, thunk.DisplayModes)).modes

    async def get_display_modes(self, m: api.GetDisplayModes) -> api.DisplayModeList:
        modes = await self.display_modes(m.source)
        return api.DisplayModeList(
            modes=[
                api.DisplayModeInfo(
                    width=mode.width,
                    height=mode.height,
                    format=DXGI_FROM_D3DDDIFORMAT.get(mode.format, mode.format),  # type: ignore[call-overload]
                    refresh_numerator=mode.refresh_numerator,
                    refresh_denominator=mode.refresh_denominator,
                )
                for mode in modes
            ]
        )

    async def wait_for_vblank(self, source: int) -> thunk.VerticalBlank:
        """The next vertical blank."""
        message = thunk.WaitForVerticalBlankEvent(hAdapter=self.link.hAdapter, VidPnSourceId=source)
        return await self.link.request(message, thunk.VerticalBlank)

    async def wait_for_vertical_blank(self, m: api.WaitForVerticalBlank) -> api.VerticalBlankInfo:
        blank = await self.wait_for_vblank(m.source)
        return api.VerticalBlankInfo(vblank_count=blank.vblank_count, time_ns=blank.time_ns)

    # ----- swap chains -----------------------------------------------------------------------------------------------------

    def create_swap_chain(self, m: api.CreateSwapChain) -> Any:
        device = self.device(m.device)

        async def made() -> api.SwapChainCreated:
            chain = await create_swap_chain(device, m)
            chain.id = device.publish(chain)
            return described(chain, [device.publish(x) for x in chain.visible_buffers])

        return self._turn(device, made)

    def _chain(self, id: int) -> SwapChain:
        chain = self.objects.get(id, SwapChain, "swap_chain")
        chain.device.check_removed()
        return chain

    async def present(self, m: api.Present) -> api.Presented:
        return api.Presented(status=await self._chain(m.swap_chain).present(m.sync_interval, m.flags))

    def resize_buffers(self, m: api.ResizeBuffers) -> Any:
        chain = self._chain(m.swap_chain)
        device = chain.device

        async def resized() -> api.SwapChainCreated:
            await chain.resize(m)
            return described(chain, [device.publish(x) for x in chain.visible_buffers])

        return self._turn(device, resized)

    def get_frame_statistics(self, m: api.GetFrameStatistics) -> api.FrameStatistics:
        return self._chain(m.swap_chain).statistics()

    def get_last_present_count(self, m: api.GetLastPresentCount) -> api.PresentCount:
        return api.PresentCount(count=self._chain(m.swap_chain).present_count)

    def set_maximum_frame_latency(self, m: api.SetMaximumFrameLatency) -> None:
        device = self.device(m.device)
        if m.latency > MAX_FRAME_LATENCY:
            raise ApiError(HRESULT.DXGI_ERROR_INVALID_CALL, f"latency: {m.latency} is not in 0..{MAX_FRAME_LATENCY}")
        device.frame_latency = m.latency or DEFAULT_FRAME_LATENCY
        device.frames.wake()

    async def set_gamma_control(self, m: api.SetGammaControl) -> None:
        chain = self._chain(m.swap_chain)
        require(len(m.ramp) in (0, 1536), f"ramp: {len(m.ramp)} bytes, three tables of 256 u16 have 1536")
        if not chain.owner:
            raise ApiError(HRESULT.DXGI_ERROR_NOT_CURRENTLY_AVAILABLE, "swap_chain: it does not own its output")
        message = thunk.SetGammaRamp(hDevice=chain.device.kernel.hDevice, VidPnSourceId=chain.source, ramp=m.ramp)
        await self.link.request(message, Nothing)
