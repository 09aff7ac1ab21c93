"""The core layer that a driver calls back into: errors with their category check, and re-sending of state.

Models "Handling Errors" and "Using the State-Refresh Callback Functions". A driver that reports a code which the entry it is in
does not allow has broken its contract: that is logged and the device is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from wddm.ddi.d3d10umddi import D3D10DDI_CORELAYER_DEVICECALLBACKS, allowed_errors
from wddm.ddi.status import HRESULT, hresult_name
from wddm.trace import Tracer

if TYPE_CHECKING:
    from .device import Device

_log = logging.getLogger("runtime")
tracer = Tracer("runtime")


class CoreLayer:
    """hRTCoreLayer of one device: which entry the driver is in, and what it has reported there."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.slot = ""  #: the device function that runs
        self.do_not_wait = False  #: a map asked not to wait
        self.creates_primary = False
        self.error: int | None = None  #: what was reported and not taken yet

    def callbacks(self, table: type[D3D10DDI_CORELAYER_DEVICECALLBACKS]) -> D3D10DDI_CORELAYER_DEVICECALLBACKS:
        """The callback table for the negotiated interface; every entry is there."""
        made = table()
        for entry in fields(table):
            if entry.name.startswith("pfnState"):
                setattr(made, entry.name, self._refresher(entry.name))
        made.pfnSetErrorCb = self.set_error
        made.pfnDisableDeferredStagingResourceDestructionCb = lambda layer: None
        if hasattr(made, "pfnPerformAmortizedProcessingCb"):
            made.pfnPerformAmortizedProcessingCb = self._amortize
        return made

    def _amortize(self, layer: int) -> None:
        tracer("pfnPerformAmortizedProcessingCb", hRTCoreLayer=layer)

    def _refresher(self, name: str) -> Callable[..., Any]:
        group = name.removeprefix("pfnState").removesuffix("Cb")

        def refresh(layer: int, base: int = 0, count: int = 0) -> Any:
            tracer(name, hRTCoreLayer=layer, base=base, count=count)
            return self.device.context.refresh(group, base, count)

        return refresh

    def set_error(self, layer: int, code: int) -> None:
        """pfnSetErrorCb."""
        code = int(code) & 0xFFFF_FFFF
        slot = self.slot
        tracer("pfnSetErrorCb", hRTCoreLayer=layer, hr=code, entry=slot)
        try:
            allowed = allowed_errors(slot, do_not_wait=self.do_not_wait, creates_primary=self.creates_primary)
        except KeyError:
            allowed = frozenset({HRESULT.D3DDDIERR_DEVICEREMOVED})
        if code not in allowed:
            self.fault(f"the driver reported {hresult_name(code)} from {slot or 'outside of any entry'}, which may not say that")
            return
        if code == HRESULT.D3DDDIERR_DEVICEREMOVED:
            link = self.device.session.link
            why = link.why_lost() if link.channel.closed else f"the driver reported a removed device from {slot}"
            self.device.lose(HRESULT.DXGI_ERROR_DEVICE_REMOVED, why)
            return
        self.error = code

    def fault(self, sentence: str) -> None:
        """The driver broke its contract: the device is deliberately lost."""
        _log.error("%s; the device is removed", sentence)
        self.device.lose(HRESULT.DXGI_ERROR_DRIVER_INTERNAL_ERROR, sentence)

    def take(self) -> int | None:
        """What was reported since the last time."""
        code, self.error = self.error, None
        return code
