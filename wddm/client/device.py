"""ID3D11Device as a client holds it: creates objects, one awaited round trip each.

Descriptions are keyword arguments with the API's names and defaults. Initial data are numpy arrays; big ones go up through shared
memory. The immediate context is :attr:`Device.immediate_context`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from wddm.ddi.status import HRESULT
from wddm.wire import api
from wddm.wire.message import Nothing

from .context import ImmediateContext
from .device_base import Data as Data
from .device_pipeline import DevicePipeline
from .device_resources import DeviceResources
from .dp2 import Dp2Context
from .enums import FormatSupport, FormatSupport2
from .errors import D3DError
from .resources import DeviceChild

if TYPE_CHECKING:
    from .session import Session


class RemovedReason(NamedTuple):
    """Why a device was removed; ``code`` 0 while it was not."""

    code: int
    name: str
    sentence: str


class Device(DeviceResources, DevicePipeline):
    """A Direct3D 11 device on a :class:`~wddm.client.gpu.Gpu`."""

    def __init__(self, session: Session, created: api.DeviceCreated) -> None:
        super().__init__(session, created)
        self.immediate_context = ImmediateContext(self)
        session.devices[self.id] = self

    async def get_device_removed_reason(self) -> RemovedReason:
        """S_OK, or why the device is lost. Never raises for a lost device."""
        if self._session.lost is None:
            try:
                reply = await self._session.request(api.GetDeviceRemovedReason(device=self.id), api.RemovedReason)
                return RemovedReason(reply.code, reply.name, reply.sentence)
            except D3DError:
                if self._session.lost is None:
                    raise
        assert self._session.lost is not None
        return RemovedReason(self._session.lost.code, self._session.lost.name, self._session.lost.sentence)

    async def close(self) -> None:
        """Destroy the device with everything made on it. A lost device may be closed too."""
        if self.id in self._session.devices and self._session.lost is None:
            self.immediate_context.send()
            await self._session.request(api.DestroyDevice(device=self.id), Nothing)
        self._session.devices.pop(self.id, None)
        self.removed = self.removed or D3DError.of(HRESULT.DXGI_ERROR_DEVICE_REMOVED, "the device was closed")
        self.forget()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def check_format_support(self, format: int) -> FormatSupport:
        """ID3D11Device::CheckFormatSupport."""
        return FormatSupport((await self.call(api.CheckFormatSupport(device=self.id, format=format), api.FormatSupport)).support)

    async def check_format_support2(self, format: int) -> FormatSupport2:
        """CheckFeatureSupport(D3D11_FEATURE_FORMAT_SUPPORT2)."""
        reply = await self.call(api.CheckFormatSupport(device=self.id, format=format), api.FormatSupport)
        return FormatSupport2(reply.support2)

    async def check_multisample_quality_levels(self, format: int, sample_count: int) -> int:
        """How many quality levels a format has with ``sample_count`` samples; 0 = not supported."""
        message = api.CheckMultisampleQualityLevels(device=self.id, format=format, sample_count=sample_count)
        return (await self.call(message, api.QualityLevels)).levels

    async def set_maximum_frame_latency(self, latency: int) -> None:
        """IDXGIDevice1::SetMaximumFrameLatency: 1..16 frames, 0 for the default of 3."""
        await self.call(api.SetMaximumFrameLatency(device=self.id, latency=latency), Nothing)

    async def create_dp2_context(self) -> Dp2Context:
        """A legacy Direct3D context (DirectX 6 to 9) that takes DrawPrimitives2 command buffers."""
        return Dp2Context(self, (await self.call(api.CreateDp2Context(device=self.id), api.Created)).id)

    def release(self, *objects: DeviceChild) -> None:
        """Give several objects up."""
        for child in objects:
            child.release()
