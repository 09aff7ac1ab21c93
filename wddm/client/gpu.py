"""The way in: a connection to a running stack, its adapter, its display, its devices."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from wddm.nursery import body_nursery
from wddm.wire import api
from wddm.wire.address import Address
from wddm.wire.thunk import AdapterInfo, Scanout
from wddm.wire.transport import Transport
from wddm.wire.transport import connect as connect_transport

from .device import Device
from .enums import FeatureLevel, SwapEffect
from .session import Session
from .swap_chain import SwapChain
from .values import VerticalBlank


class Gpu:
    """An adapter behind a runtime. Made by :func:`connect`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        #: The private stack behind it, when :func:`wddm.stack.launch` made one.
        self.stack: Any = None

    async def info(self) -> AdapterInfo:
        """The adapter: name, driver, segments, nodes, outputs and counters, as they are now."""
        return await self._session.request(api.GetAdapterInfo(), AdapterInfo)

    async def create_device(
        self, *, flags: int = 0, feature_levels: Sequence[int] = (FeatureLevel.LEVEL_11_0,)
    ) -> Device:
        """D3D11CreateDevice: the first of ``feature_levels`` that the driver has."""
        message = api.CreateDevice(flags=flags, feature_levels=list(feature_levels))
        return Device(self._session, await self._session.request(message, api.DeviceCreated))

    async def create_swap_chain(
        self,
        device: Device,
        *,
        width: int = 0,
        height: int = 0,
        format: int,
        buffer_count: int = 2,
        sample_count: int = 1,
        sample_quality: int = 0,
        buffer_usage: int = 0x20,
        swap_effect: int = SwapEffect.FLIP_DISCARD,
        flags: int = 0,
        scaling: int = 0,
        source: int = 0,
    ) -> SwapChain:
        """A full-screen swap chain on a video present source; without a size, of the output's mode.

        When nobody owns the source, the device takes it and its mode becomes the chain's size. Otherwise presents return
        DXGI_STATUS_OCCLUDED until it is free.
        """
        message = api.CreateSwapChain(
            device=device.id,
            width=width,
            height=height,
            format=format,
            buffer_count=buffer_count,
            sample_count=sample_count,
            sample_quality=sample_quality,
            buffer_usage=buffer_usage,
            swap_effect=swap_effect,
            flags=flags,
            scaling=scaling,
            source=source,
        )
        reply = await device.call(message, api.SwapChainCreated)
        message.width, message.height = reply.width, reply.height
        return SwapChain(device, self._session, message, reply)

    async def get_display_modes(self, source: int = 0) -> list[api.DisplayModeInfo]:
        """The modes of an output, the preferred one first."""
        return (await self._session.request(api.GetDisplayModes(source=source), api.DisplayModeList)).modes

    async def read_display(self, source: int = 0) -> npt.NDArray[np.uint8]:
        """What the monitor shows: (height, width, 4) uint8, red green blue alpha."""
        shot = await self._session.request(api.ReadDisplay(source=source), Scanout)
        return np.frombuffer(shot.data, np.uint8).reshape(shot.height, shot.width, 4).copy()

    async def wait_for_vblank(self, source: int = 0) -> VerticalBlank:
        """IDXGIOutput::WaitForVBlank."""
        reply = await self._session.request(api.WaitForVerticalBlank(source=source), api.VerticalBlankInfo)
        return VerticalBlank(reply.vblank_count, reply.time_ns)


@asynccontextmanager
async def connect(address: str | Address) -> AsyncIterator[Gpu]:
    """Connect to a runtime at ``unix:PATH`` or ``tcp:HOST:PORT``. OSError when nobody is there."""
    parsed = address if isinstance(address, Address) else Address.parse(address)
    async with connect_over(await connect_transport(parsed)) as gpu:
        yield gpu


@asynccontextmanager
async def connect_over(transport: Transport) -> AsyncIterator[Gpu]:
    """A client over a transport that is connected already. What the body raises comes out as it is, not in a group."""
    session = Session(transport)

    async def close() -> None:
        session.close()

    async with body_nursery(close) as nursery:
        await nursery.start(session.channel.run)
        await session.hello()
        yield Gpu(session)
