"""DXGI swap chains: rules, back buffers, presenting, rotation, frame latency, statistics.

Models "DXGI flip model", IDXGISwapChain1 and the paths of "Passing DXGI Information at Resource Creation Time". A chain owns (or
waits for) one video present source. A flip-model chain flips its back buffers; a blt-model chain copies to a primary that
the runtime holds; what cannot be scanned out as it is (multisampled, of another size than the mode) goes through two proxies.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from wddm.client.enums import BindFlag, BufferUsage, PresentFlag, SwapEffect, Usage
from wddm.ddi import d3d10umddi as dd
from wddm.ddi.d3dukmdt import D3DDDI_RATIONAL
from wddm.ddi.dxgiddi import (
    DXGI_DDI_ARG_BLT,
    DXGI_DDI_ARG_BLT_FLAGS,
    DXGI_DDI_ARG_PRESENT,
    DXGI_DDI_ARG_ROTATE_RESOURCE_IDENTITIES,
    DXGI_DDI_ARG_SETDISPLAYMODE,
    DXGI_DDI_FLIP_INTERVAL_TYPE,
    DXGI_DDI_MODE_DESC,
    DXGI_DDI_PRESENT_FLAGS,
    DXGI_DDI_PRIMARY_DESC,
    DXGI_DDI_PRIMARY_DRIVER_FLAGS,
    DXGI_DDI_PRIMARY_FLAGS,
)
from wddm.ddi.dxgiformat import DXGI_FORMAT, FORMATS
from wddm.ddi.status import HRESULT, hresult_name
from wddm.wire import api, thunk
from wddm.wire.channel import ChannelClosed
from wddm.wire.connection import RemoteError
from wddm.wire.message import Nothing

from .errors import ApiError, api_code, invalid_call
from .objects import DeviceObject, Kind
from .presenting import KMT_BLT, KMT_FLIP, KMT_FLIP_RESTART, PresentContext
from .resources import Texture, create_in_driver
from .swap_chain_rules import check_description, check_present, flips

if TYPE_CHECKING:
    from .device import Device

_log = logging.getLogger("runtime")

OWNER_EXCLUSIVE: Final = 2
OWNER_UNOWNED: Final = 0
_USAGES: Final = (
    (BufferUsage.RENDER_TARGET_OUTPUT, BindFlag.RENDER_TARGET),
    (BufferUsage.SHADER_INPUT, BindFlag.SHADER_RESOURCE),
    (BufferUsage.UNORDERED_ACCESS, BindFlag.UNORDERED_ACCESS),
)


class SwapChain(DeviceObject):
    """IDXGISwapChain1 on video present source ``source``."""

    __slots__ = (
        "buffers",
        "can_flip",
        "desc",
        "effect",
        "fronts",
        "has_mode",
        "id",
        "last",
        "last_count",
        "owner",
        "present_count",
        "queried",
        "shown_front",
        "source",
    )
    kind = Kind.SWAP_CHAIN

    def __init__(self, device: Device, desc: api.CreateSwapChain) -> None:
        super().__init__(device)
        self.desc = desc
        self.id = 0
        self.effect = SwapEffect(desc.swap_effect)
        self.source = desc.source
        self.buffers: list[Texture] = []
        self.fronts: list[Texture] = []  #: primary of a blt-model chain, or two proxies
        self.shown_front = 0
        self.can_flip = True
        self.owner = False
        self.has_mode = False
        self.present_count = 0
        self.last: thunk.PresentRetired | None = None  #: the newest present that was shown
        self.last_count = 0
        self.queried = False

    @property
    def flips(self) -> bool:
        """Whether the swap effect is one of the flip model."""
        return flips(self.desc)

    @property
    def visible_buffers(self) -> list[Texture]:
        """What an app may get: only buffer 0 of a DISCARD chain."""
        return self.buffers[:1] if self.effect is SwapEffect.DISCARD else self.buffers

    # ----- creation --------------------------------------------------------------------------------------------------------

    async def create_buffers(self) -> None:
        """Back buffers by the description, in the driver. Raises ApiError; then none is left."""
        made: list[Texture] = []
        try:
            for _ in range(self.desc.buffer_count):
                made.append(await self._create_surface(self.desc.width, self.desc.height, optional=True, back=True))
        except ApiError:
            for texture in made:
                texture.destroy()
            raise
        for texture in made:
            texture.refs += 1
        self.buffers = made

    async def _create_surface(self, width: int, height: int, *, optional: bool, back: bool) -> Texture:
        desc, device = self.desc, self.device
        texture = Texture(device)
        texture.dimension, texture.usage = dd.D3D10DDIRESOURCE_TYPE.TEXTURE2D, Usage.DEFAULT
        texture.format = DXGI_FORMAT(desc.format)
        texture.info = FORMATS[texture.format]
        texture.width, texture.height = width, height
        texture.bind_flags = int(BindFlag.RENDER_TARGET)
        if back:
            texture.swap_chain = self
            texture.sample_count, texture.sample_quality = desc.sample_count, desc.sample_quality
            texture.bind_flags = 0
            for usage, bind in _USAGES:
                if desc.buffer_usage & usage:
                    texture.bind_flags |= int(bind)
        mode = DXGI_DDI_MODE_DESC(width, height, texture.format, self._refresh_rate())
        flags = DXGI_DDI_PRIMARY_FLAGS.OPTIONAL if optional else DXGI_DDI_PRIMARY_FLAGS.NONE
        primary = DXGI_DDI_PRIMARY_DESC(flags, self.source, mode)
        await create_in_driver(texture, [], primary)
        if primary.DriverFlags & DXGI_DDI_PRIMARY_DRIVER_FLAGS.NO_SCANOUT:
            self.can_flip = False
        return texture

    def _refresh_rate(self) -> D3DDDI_RATIONAL:
        info = self.device.session.link.info
        for source in info.sources if info is not None else ():
            if source.id == self.source and source.refresh_numerator:
                return D3DDDI_RATIONAL(source.refresh_numerator, source.refresh_denominator)
        return D3DDDI_RATIONAL(60, 1)

    # ----- the display -----------------------------------------------------------------------------------------------------

    async def acquire(self) -> bool:
        """Own the source when it is free, and show the chain's mode on it. Returns whether this chain is visible."""
        if self.owner and self.has_mode:
            return True
        link = self.device.session.link
        if not self.owner:
            message = thunk.SetVidPnSourceOwner(
                hDevice=self.device.kernel.hDevice, VidPnSourceId=self.source, owner_type=OWNER_EXCLUSIVE
            )
            try:
                await link.request(message, Nothing)
            except RemoteError as error:
                _log.debug("source %d is not free: %s", self.source, error)
                return False
            except ChannelClosed:
                self.device.check_removed()
                return False
            self.owner = True
        await self._show()
        return self.has_mode

    async def _show(self) -> None:
        """Scan out a surface of this chain: a back buffer of a flip chain, the primary of others, proxies where neither fits."""
        desc = self.desc
        single = desc.sample_count == 1
        if self.flips and self.can_flip and await self._set_mode(self.buffers[0]):
            return
        if not self.flips and single and self.can_flip:
            front = await self._create_surface(desc.width, desc.height, optional=False, back=False)
            front.refs += 1
            self.fronts = [front]
            if await self._set_mode(front):
                return
            self._drop_fronts()
        for width, height in await self._proxy_sizes():
            self.fronts = [await self._create_surface(width, height, optional=False, back=False) for _ in range(2)]
            for front in self.fronts:
                front.refs += 1
            if await self._set_mode(self.fronts[0]):
                return
            self._drop_fronts()

    async def _proxy_sizes(self) -> list[tuple[int, int]]:
        """Sizes of a mode to show the chain in: its own, else the monitor's."""
        modes = await self.device.session.display_modes(self.source)
        sizes = [(self.desc.width, self.desc.height)]
        sizes += [(m.width, m.height) for m in modes[:1]]
        return list(dict.fromkeys(sizes))

    async def _set_mode(self, primary: Texture) -> bool:
        arg = DXGI_DDI_ARG_SETDISPLAYMODE(self.device.driver.hDrvDevice, primary.handle)
        code = await self.device.dxgi.pfnSetDisplayMode(arg)
        self.has_mode = not code & 0x8000_0000
        if not self.has_mode:
            _log.info("the display refused a mode of %dx%d: %s", primary.width, primary.height, hresult_name(code))
        return self.has_mode

    def _drop_fronts(self) -> None:
        fronts, self.fronts = self.fronts, []
        for front in fronts:
            self.device.unref(front)

    # ----- presenting ------------------------------------------------------------------------------------------------------

    async def present(self, interval: int, flags: int) -> int:
        """Present; returns S_OK or DXGI_STATUS_OCCLUDED. Raises ApiError."""
        device = self.device
        device.check_removed()
        check_present(self.desc, interval, flags)
        if not (self.owner and self.has_mode) and not await device.on_turn(self.acquire):
            return int(HRESULT.DXGI_STATUS_OCCLUDED)
        if flags & PresentFlag.TEST:
            return int(HRESULT.S_OK)
        if flags & PresentFlag.DO_NOT_SEQUENCE and self.present_count == 0:
            return int(HRESULT.S_OK)
        frames = device.frames
        while frames.outstanding >= device.frame_latency:
            if flags & PresentFlag.DO_NOT_WAIT:
                raise ApiError(
                    HRESULT.DXGI_ERROR_WAS_STILL_DRAWING, f"{frames.outstanding} frames are queued, the most there may be"
                )
            await frames.wait()
            device.check_removed()
        await device.on_turn(lambda: self._present(interval, flags))
        return int(HRESULT.S_OK)

    async def _present(self, interval: int, flags: int) -> None:
        device = self.device
        device.check_removed()
        if not self.buffers:
            raise invalid_call("swap_chain: it has been released")
        kmt = KMT_FLIP_RESTART if flags & PresentFlag.RESTART else 0
        again = bool(flags & PresentFlag.DO_NOT_SEQUENCE)
        if self.fronts:
            await self._present_copy(interval, kmt, again)
        else:
            source = self.buffers[-1] if again else self.buffers[0]
            tearing = bool(flags & PresentFlag.ALLOW_TEARING)
            await self._submit(source, 0, interval, kmt | KMT_FLIP, tearing)
        if again:
            return
        if len(self.buffers) > 1:
            handles = [x.handle for x in self.buffers]
            arg = DXGI_DDI_ARG_ROTATE_RESOURCE_IDENTITIES(device.driver.hDrvDevice, handles, len(handles))
            self._check(await device.dxgi.pfnRotateResourceIdentities(arg), "RotateResourceIdentities")
        if self.flips:
            pending = device.context.unbind_resource(self.buffers[0])
            if pending is not None:
                await pending

    async def _present_copy(self, interval: int, kmt: int, again: bool) -> None:
        """Present by copying: to the primary, or through a proxy that is then flipped."""
        if len(self.fronts) == 1:
            if not again:
                for _ in range(interval):
                    await self.device.session.wait_for_vblank(self.source)
                await self._submit(self.buffers[0], self.fronts[0].handle, 0, KMT_BLT, False)
            return
        if not again:
            self.shown_front ^= 1
            await self._copy_to_proxy(self.buffers[0], self.fronts[self.shown_front])
        await self._submit(self.fronts[self.shown_front], 0, interval, kmt | KMT_FLIP, False)

    async def _copy_to_proxy(self, source: Texture, target: Texture) -> None:
        device = self.device
        flags = DXGI_DDI_ARG_BLT_FLAGS.NONE
        if source.sample_count > 1:
            flags |= DXGI_DDI_ARG_BLT_FLAGS.Resolve
        if (source.width, source.height) != (target.width, target.height):
            flags |= DXGI_DDI_ARG_BLT_FLAGS.Stretch
        if flags is DXGI_DDI_ARG_BLT_FLAGS.NONE:  # a plain copy is not a blit
            device.raise_error(await device.invoke("pfnResourceCopy", target.handle, source.handle), "ResourceCopy")
            return
        arg = DXGI_DDI_ARG_BLT(
            hDevice=device.driver.hDrvDevice,
            hDstResource=target.handle,
            hSrcResource=source.handle,
            DstLeft=0,
            DstTop=0,
            DstRight=target.width,
            DstBottom=target.height,
            Flags=flags,
        )
        self._check(await device.dxgi.pfnBlt(arg), "Blt")

    async def _submit(self, source: Texture, destination: int, interval: int, kmt: int, tearing: bool) -> None:
        """Present of the driver, whose callback sends the thunk."""
        device = self.device
        count = (self.present_count + 1) & 0xFFFF_FFFF
        kind = DXGI_DDI_FLIP_INTERVAL_TYPE(interval)
        flags = DXGI_DDI_PRESENT_FLAGS.Flip if kmt & KMT_FLIP else DXGI_DDI_PRESENT_FLAGS.Blt
        thunk_interval = interval
        if tearing:
            flags |= DXGI_DDI_PRESENT_FLAGS.AllowTearing
            thunk_interval = int(DXGI_DDI_FLIP_INTERVAL_TYPE.IMMEDIATE_ALLOW_TEARING)
        context = PresentContext(self, device.session.next_present_id(), count, kmt, thunk_interval)
        arg = DXGI_DDI_ARG_PRESENT(
            hDevice=device.driver.hDrvDevice,
            hSurfaceToPresent=source.handle,
            Flags=flags,
            hDstResource=destination,
            pDXGIContext=context,
            FlipInterval=kind,
        )
        device.kernel.presenting = context
        try:
            code = await device.dxgi.pfnPresent(arg)
        finally:
            device.kernel.presenting = None
        self._check(code, "Present")
        if not context.submitted:
            device.core.fault("the driver's Present did not call pfnPresentCb")
            device.check_removed()
        self.present_count = count
        device.frames.add()

    def _check(self, code: int, what: str) -> None:
        if code == HRESULT.D3DDDIERR_DEVICEREMOVED:
            self.device.lose(HRESULT.DXGI_ERROR_DEVICE_REMOVED, f"the driver's {what} found the device removed")
        self.device.check_removed()
        if code & 0x8000_0000:
            raise ApiError(api_code(code), f"the driver's {what} failed with {hresult_name(code)}")

    def on_retired(self, context: PresentContext, message: thunk.PresentRetired) -> None:
        """A present has been shown, or dropped."""
        if message.shown:
            self.last = message
            self.last_count = context.count
        self.device.frames.done()
        if self.id:
            self.device.session.notify(
                api.PresentRetired(
                    swap_chain=self.id,
                    count=context.count,
                    shown=message.shown,
                    vblank_count=message.vblank_count,
                    time_ns=message.time_ns,
                )
            )

    # ----- statistics, resizing, end ---------------------------------------------------------------------------------------

    def statistics(self) -> api.FrameStatistics:
        """GetFrameStatistics. The first query is disjoint; blt-model chains have none. Raises ApiError."""
        if not self.queried:
            self.queried = True
            raise ApiError(HRESULT.DXGI_ERROR_FRAME_STATISTICS_DISJOINT, "the statistics begin now")
        last = self.last
        if not self.flips or last is None:
            return api.FrameStatistics(
                present_count=0, present_refresh_count=0, sync_refresh_count=0, sync_qpc_time=0, sync_gpu_time=0
            )
        refresh = last.vblank_count & 0xFFFF_FFFF
        return api.FrameStatistics(
            present_count=self.last_count,
            present_refresh_count=refresh,
            sync_refresh_count=refresh,
            sync_qpc_time=last.time_ns,
            sync_gpu_time=0,
        )

    async def resize(self, m: api.ResizeBuffers) -> None:
        """ResizeBuffers. Raises ApiError; DXGI_ERROR_INVALID_CALL while views of the buffers exist."""
        device = self.device
        device.check_removed()
        for i, buffer in enumerate(self.buffers):
            if buffer.views:
                raise invalid_call(f"buffer {i}: {buffer.views} views of it exist, release them first")
        desc = self.desc
        width, height = await chain_size(device, m.width, m.height, self.source)
        wanted = api.CreateSwapChain(
            device=desc.device,
            width=width,
            height=height,
            format=m.format or desc.format,
            buffer_count=m.buffer_count or desc.buffer_count,
            sample_count=desc.sample_count,
            sample_quality=desc.sample_quality,
            buffer_usage=desc.buffer_usage,
            swap_effect=desc.swap_effect,
            flags=m.flags,
            scaling=desc.scaling,
            source=desc.source,
        )
        check_description(device, wanted)
        old, old_desc = self.buffers, self.desc
        self.desc, self.can_flip = wanted, True
        try:
            await self.create_buffers()
        except ApiError:
            self.desc, self.buffers = old_desc, old
            raise
        self._forget_ids(old)
        was_owner, self.has_mode = self.owner, False
        fronts, self.fronts = self.fronts, []
        if was_owner:
            await self._show()
        for texture in (*old, *fronts):
            device.unref(texture)
        self.queried = False

    def destroy(self) -> None:
        """The chain goes: the source is free, the buffers go with the last view of them."""
        self.device.session.chains.discard(self)
        self.device.later(self._end())

    async def _end(self) -> None:
        device = self.device
        buffers, self.buffers = self.buffers, []
        if self.owner:
            self.owner = self.has_mode = False
            message = thunk.SetVidPnSourceOwner(
                hDevice=device.kernel.hDevice, VidPnSourceId=self.source, owner_type=OWNER_UNOWNED
            )
            try:
                await device.session.link.request(message, Nothing)
            except (RemoteError, ChannelClosed) as error:
                _log.info("giving up source %d: %s", self.source, error)
        self._drop_fronts()
        self._forget_ids(buffers)
        for buffer in buffers:
            device.unref(buffer)

    def _forget_ids(self, buffers: Sequence[Texture]) -> None:
        """The ids that a client knows the buffers by name nothing any more."""
        objects = self.device.objects
        for id in [id for id, found in objects.by_id.items() if any(found is x for x in buffers)]:
            self.device.unref(objects.remove(id))


async def chain_size(device: Device, width: int, height: int, source: int) -> tuple[int, int]:
    """The size asked for; 0 takes that of the output's current or preferred mode. Raises ApiError."""
    if width and height:
        return width, height
    info = await device.session.link.refresh()
    for found in info.sources:
        if found.id == source and found.width:
            return width or found.width, height or found.height
    modes = await device.session.display_modes(source)
    if not modes:
        raise ApiError(HRESULT.DXGI_ERROR_NOT_FOUND, f"source: output {source} has no mode")
    return width or modes[0].width, height or modes[0].height


async def create_swap_chain(device: Device, m: api.CreateSwapChain) -> SwapChain:
    """IDXGIFactory2::CreateSwapChain, full screen on a source. Raises ApiError."""
    session = device.session
    info = session.link.info
    if info is None or all(s.id != m.source for s in info.sources):
        raise ApiError(HRESULT.DXGI_ERROR_NOT_FOUND, f"source: the adapter has no output {m.source}")
    m.width, m.height = await chain_size(device, m.width, m.height, m.source)
    check_description(device, m)
    if any(chain.source == m.source and chain.device is device for chain in session.chains):
        raise ApiError(HRESULT.E_ACCESSDENIED, f"source: the device has a swap chain on output {m.source} already")
    chain = SwapChain(device, m)
    await chain.create_buffers()
    try:
        await chain.acquire()
    except ApiError:
        await chain._end()
        raise
    session.chains.add(chain)
    return chain


def described(chain: SwapChain, ids: Sequence[int]) -> api.SwapChainCreated:
    """The reply of creating and resizing."""
    return api.SwapChainCreated(id=chain.id, buffers=list(ids), width=chain.desc.width, height=chain.desc.height)


