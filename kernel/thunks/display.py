"""Thunks of the display. Models D3DKMTGetDisplayModeList, SetDisplayMode, SetVidPnSourceOwner, WaitForVerticalBlankEvent and
SetGammaRamp; reading the scan-out is a frame grabber, which WDDM has not."""

from __future__ import annotations

import trio

from kernel.allocations import check_active
from kernel.display.display import Present
from kernel.errors import refusal
from kernel.objects import Context, Device, InstanceHandle
from kernel.vidmm.allocation import Allocation
from kernel.vidmm.manager import Residency
from wddm.ddi import d3dkmddi as ddi
from wddm.ddi.status import NTSTATUS
from wddm.wire import thunk
from wddm.wire.channel import CallError

from .group import Handlers, ThunkGroup, wait_for


class DisplayThunks(ThunkGroup):
    """Modes, owners, vertical blanks, pictures."""

    def requests(self) -> Handlers:
        """What is answered."""
        return {
            thunk.GetDisplayModeList: self._get_modes,
            thunk.SetDisplayMode: self._set_display_mode,
            thunk.SetVidPnSourceOwner: self._set_owner,
            thunk.WaitForVerticalBlankEvent: self._wait_vblank,
            thunk.SetGammaRamp: self._set_gamma,
            thunk.ReadScanout: self._read_scanout,
        }

    def _get_modes(self, message: thunk.GetDisplayModeList) -> thunk.DisplayModes:
        self._check_adapter(message.hAdapter)
        self.adapter.display.source(message.VidPnSourceId)
        return thunk.DisplayModes(
            modes=[
                thunk.DisplayMode(
                    width=m.width,
                    height=m.height,
                    format=int(m.format),
                    refresh_numerator=m.refresh[0],
                    refresh_denominator=m.refresh[1],
                )
                for m in self.adapter.display.modes(message.VidPnSourceId)
            ]
        )

    async def _set_display_mode(self, message: thunk.SetDisplayMode) -> None:
        device = self._device(message.hDevice)
        check_active(self.adapter, device)
        instance = self.process.table.get(message.hPrimary, InstanceHandle, "hPrimary")
        info, adapter = instance.opened.info, self.adapter
        if instance.opened.device is not device:
            raise refusal(
                NTSTATUS.STATUS_GRAPHICS_WRONG_ALLOCATION_DEVICE, f"hPrimary {message.hPrimary:#x} belongs to another device"
            )
        if not info.primary:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"hPrimary {message.hPrimary:#x} was not created as a primary")
        source = adapter.display.source(info.VidPnSourceId)
        adapter.display.check_mode_owner(source, device)
        allocation = instance.allocation
        present = Present(device, device.contexts[0] if device.contexts else _no_context(device), 0, [allocation], told=True)
        allocation.holds += 1
        try:
            await self._make_resident(device, allocation)
        finally:
            allocation.holds -= 1
        try:
            adapter.display.set_mode(source, present, allocation)
        except CallError:
            adapter.vidmm.release(present.uses)
            raise
        finally:
            adapter.pump()

    async def _make_resident(self, device: Device, allocation: Allocation) -> None:
        """Bring it into its segment and pin it. Raises CallError."""
        adapter = self.adapter
        while True:
            check_active(self.adapter, device)
            residency, batch = adapter.vidmm.prepare([allocation])
            adapter.pump()
            if residency is Residency.READY:
                return
            if batch is not None:
                if not batch.done:
                    await wait_for(batch.on_done.append)
                return
            await wait_for(adapter.vidsch.on_memory.append)

    def _set_owner(self, message: thunk.SetVidPnSourceOwner) -> None:
        device = self._device(message.hDevice)
        check_active(self.adapter, device)
        self.adapter.display.set_owner(device, message.VidPnSourceId, message.owner_type)

    async def _wait_vblank(self, message: thunk.WaitForVerticalBlankEvent) -> thunk.VerticalBlank:
        self._check_adapter(message.hAdapter)
        source = self.adapter.display.source(message.VidPnSourceId)
        event = trio.Event()
        found: list[tuple[int, float]] = []

        def done(count: int, now: float) -> None:
            found.append((count, now))
            event.set()

        source.vblank_waits.append(done)
        try:
            await event.wait()
        finally:
            if done in source.vblank_waits:
                source.vblank_waits.remove(done)
        return thunk.VerticalBlank(vblank_count=found[0][0], time_ns=int(found[0][1] * 1e9))

    def _set_gamma(self, message: thunk.SetGammaRamp) -> None:
        device = self._device(message.hDevice)
        check_active(self.adapter, device)
        source = self.adapter.display.source(message.VidPnSourceId)
        self.adapter.display.check_mode_owner(source, device)
        self.adapter.display.set_gamma(source, message.ramp)

    async def _read_scanout(self, message: thunk.ReadScanout) -> thunk.Scanout:
        self._check_adapter(message.hAdapter)
        source = self.adapter.display.source(message.VidPnSourceId)
        frame = await self.adapter.link.read_frame(source.id)
        return thunk.Scanout(
            width=frame.width, height=frame.height, vblank_count=frame.vblank_count, data=frame.data
        )


def _no_context(device: Device) -> Context:
    """Stands for "no context" in a mode set."""
    return Context(device, 0, ddi.DXGK_CONTEXTINFO(), 0)
