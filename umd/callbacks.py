"""Calls to the runtime: kernel services, core-layer callbacks, DXGI callbacks, with failures as exceptions.

The tables are kept, not their entries: the runtime may replace an entry whenever no call is inside the driver.
DEVIATES: Windows calls are synchronous; here a callback returns its HRESULT, or an awaitable of it when the kernel answers later.
"""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

from umd.errors import DeviceError
from wddm.ddi.d3dumddi import D3DDDI_DEVICECALLBACKS
from wddm.ddi.status import HRESULT


def failed(hr: int) -> bool:
    """Whether an HRESULT number is a failure."""
    return bool(hr & 0x8000_0000)


class Callbacks:
    """Kernel services of one device."""

    def __init__(self, h_rt_device: int, table: D3DDDI_DEVICECALLBACKS) -> None:
        self.h_rt_device = h_rt_device
        self.table = table

    def start(self, name: str, arg: object) -> Any:
        """The raw result of a callback: an HRESULT number or an awaitable of one."""
        callback = getattr(self.table, name)
        if callback is None:
            raise DeviceError(HRESULT.E_NOTIMPL, f"the runtime has no {name}")
        return callback(self.h_rt_device, arg)

    async def call(self, name: str, arg: object) -> int:
        """The HRESULT of a callback when it is a success. Raises DeviceError for a failure."""
        hr = self.start(name, arg)
        if isawaitable(hr):
            hr = await hr
        return self.check(name, hr)

    def call_now(self, name: str, arg: object) -> int:
        """As :meth:`call`, for callbacks that never wait."""
        hr = self.start(name, arg)
        if hr.__class__ is not int and isawaitable(hr):
            close = getattr(hr, "close", None)
            if close is not None:
                close()
            raise DeviceError(HRESULT.E_UNEXPECTED, f"{name} waits")
        return self.check(name, hr)

    @staticmethod
    def check(name: str, hr: int) -> int:
        """Raise DeviceError for a failure."""
        if hr & 0x8000_0000:
            raise DeviceError(hr, f"{name} failed")
        return int(hr)
