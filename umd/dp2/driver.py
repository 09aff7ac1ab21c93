"""The entries that a legacy Direct3D runtime calls: DdGetDriverInfo, and what it hands out.

Models "Direct3D Driver Initialization": tables by GUID; the runtime's parser for commands that the driver does not know comes in
the same way. Everything belongs to one Direct3D 11 device (see ``ddrawint``).
"""

from __future__ import annotations

from itertools import count
from typing import Final

from umd.device import DEVICES, Device
from umd.dp2.context import Context
from umd.dp2.errors import D3DERR_COMMAND_UNPARSED, DD_OK, DDERR_INVALIDPARAMS, CommandError
from wddm.ddi import ddrawint as dd
from wddm.ddi.d3dhal import D3DHAL_DRAWPRIMITIVES2DATA

MAX_CONTEXTS: Final = 64
_handles: Final = count(1)


class Hal:
    """The legacy side of one device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._contexts: dict[int, Context] = {}
        self.parse_unknown: dd.ParseUnknownCommand | None = None

    def ContextCreate(self, arg: dd.D3DHAL_CONTEXTCREATEDATA) -> int:
        """D3dContextCreate."""
        if len(self._contexts) >= MAX_CONTEXTS:
            arg.ddrval = DDERR_INVALIDPARAMS
            return dd.DDHAL_DRIVER_HANDLED
        context = Context(self._device, self._parse)
        arg.dwhContext, arg.ddrval = next(_handles), DD_OK
        self._contexts[arg.dwhContext] = context
        return dd.DDHAL_DRIVER_HANDLED

    def _parse(self, stream: memoryview) -> tuple[int, int]:
        return (D3DERR_COMMAND_UNPARSED, 0) if self.parse_unknown is None else self.parse_unknown(stream)

    def ContextDestroy(self, arg: dd.D3DHAL_CONTEXTDESTROYDATA) -> int:
        """D3dContextDestroy."""
        context = self._contexts.pop(arg.dwhContext, None)
        arg.ddrval = DDERR_INVALIDPARAMS if context is None else DD_OK
        if context is not None:
            context.destroy()
        return dd.DDHAL_DRIVER_HANDLED

    def CreateSurfaceEx(self, arg: dd.DD_CREATESURFACEEXDATA) -> int:
        """D3dCreateSurfaceEx; without a resource the surface goes."""
        context = self._contexts.get(arg.dwhContext)
        arg.ddRVal = DD_OK
        if context is None:
            arg.ddRVal = DDERR_INVALIDPARAMS
        elif not arg.lpDDSLcl.hDrvResource:
            context.surfaces.destroy(arg.lpDDSLcl.dwSurfaceHandle)
        else:
            try:
                context.surfaces.create(arg.lpDDSLcl)
            except CommandError as error:
                arg.ddRVal = error.hr
        return dd.DDHAL_DRIVER_HANDLED

    async def DrawPrimitives2(self, data: D3DHAL_DRAWPRIMITIVES2DATA) -> int:
        """D3dDrawPrimitives2."""
        context = self._contexts.get(data.dwhContext)
        if context is None:
            data.ddrval, data.dwErrorOffset = DDERR_INVALIDPARAMS, 0
        else:
            await context.draw_primitives2(data)
        return dd.DDHAL_DRIVER_HANDLED


def DdGetDriverInfo(arg: dd.DD_GETDRIVERINFODATA) -> int:
    """The driver's one export for legacy runtimes: tables by GUID."""
    device = DEVICES.get(arg.hDrvDevice)
    if device is None:
        arg.ddRVal = DDERR_INVALIDPARAMS
        return dd.DDHAL_DRIVER_HANDLED
    if device.hal is None:
        device.hal = Hal(device)
    hal: Hal = device.hal
    arg.ddRVal = DD_OK
    if arg.guidInfo == dd.GUID_D3DCallbacks:
        arg.lpvData = dd.D3DHAL_CALLBACKS(hal.ContextCreate, hal.ContextDestroy)
    elif arg.guidInfo == dd.GUID_D3DCallbacks3:
        arg.lpvData = dd.D3DHAL_CALLBACKS3(hal.DrawPrimitives2)
    elif arg.guidInfo == dd.GUID_Miscellaneous2Callbacks:
        arg.lpvData = dd.DD_MISCELLANEOUS2CALLBACKS(hal.CreateSurfaceEx)
    elif arg.guidInfo == dd.GUID_D3DParseUnknownCommandCallback:
        hal.parse_unknown = arg.lpvData
    else:
        return dd.DDHAL_DRIVER_NOTHANDLED
    return dd.DDHAL_DRIVER_HANDLED
