"""The legacy Direct3D runtime: contexts that hand DP2 command buffers to the driver.

Owns the surface handles of each context and the runtime's copy of its render states. Models D3dContextCreate, D3dCreateSurfaceEx
and D3dDrawPrimitives2. A driver that raises in an entry has broken its contract, as everywhere.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from wddm.ddi import ddrawint as dd
from wddm.ddi.d3dhal import (
    D3DHAL_DP2OPERATION,
    D3DHAL_DRAWPRIMITIVES2DATA,
    D3DHAL_MAX_RSTATES,
    D3DHALDP2,
    D3DRENDERSTATE_DEFAULTS,
)
from wddm.ddi.status import HRESULT, hresult_name
from wddm.trace import Tracer
from wddm.wire import api

from .errors import ApiError, require
from .objects import DeviceObject, Kind
from .umd_host import load_legacy, settle

if TYPE_CHECKING:
    from .device import Device
    from .resources import Resource

_log = logging.getLogger("runtime")
tracer = Tracer("runtime")

MAX_SURFACES: Final = 1 << 16
MAX_RESPONSE: Final = 1 << 20
_COMMANDS: Final = {int(op): op.name for op in D3DHAL_DP2OPERATION}


def parse_unknown_command(stream: memoryview) -> tuple[int, int]:
    """D3dParseUnknownCommand. This runtime has no commands of its own: whatever the driver does not know is wrong."""
    return int(HRESULT.D3DERR_COMMAND_UNPARSED), 0


class Dp2Context(DeviceObject):
    """A context of the driver."""

    __slots__ = ("_draw", "_end", "_surface", "h_context", "render_states", "surfaces")
    kind = Kind.DP2_CONTEXT

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.surfaces: dict[int, Resource] = {}
        self.render_states = np.zeros(D3DHAL_MAX_RSTATES, "<u4")
        for code, value in D3DRENDERSTATE_DEFAULTS.items():
            self.render_states[code] = np.float32(value).view(np.uint32) if isinstance(value, float) else value
        self.h_context = 0
        self._draw: Any = None
        self._surface: Any = None
        self._end: Any = None

    async def create(self) -> None:
        """Find the driver's entries, give it the parser, D3dContextCreate. Raises ApiError."""
        device = self.device
        entry = load_legacy(device.driver.adapter.driver)

        def info(guid: str, value: Any = None) -> Any:
            arg = dd.DD_GETDRIVERINFODATA(device.driver.hDrvDevice, guid, value)
            tracer("DdGetDriverInfo", hDrvDevice=arg.hDrvDevice)
            if entry(arg) != dd.DDHAL_DRIVER_HANDLED or arg.ddRVal:
                raise ApiError(HRESULT.DXGI_ERROR_UNSUPPORTED, f"the driver does not know {{{guid}}}")
            return arg.lpvData

        callbacks = info(dd.GUID_D3DCallbacks)
        self._draw = info(dd.GUID_D3DCallbacks3).DrawPrimitives2
        self._surface = info(dd.GUID_Miscellaneous2Callbacks).CreateSurfaceEx
        info(dd.GUID_D3DParseUnknownCommandCallback, parse_unknown_command)
        arg = dd.D3DHAL_CONTEXTCREATEDATA(device.driver.hDrvDevice)
        await self._call("D3dContextCreate", callbacks.ContextCreate, arg)
        self._check(arg.ddrval, "D3dContextCreate")
        self.h_context = arg.dwhContext
        self._end = callbacks.ContextDestroy

    async def _call(self, name: str, entry: Any, arg: Any) -> None:
        """Call an entry to its end. Raises ApiError when the driver does not handle it, or fails inside."""
        tracer(name, dwhContext=self.h_context)
        try:
            result = await settle(entry(arg))
        except Exception:
            _log.exception("the driver raised in %s", name)
            self.device.core.fault(f"the driver failed in {name}")
            self.device.check_removed()
            raise
        if result != dd.DDHAL_DRIVER_HANDLED:
            raise ApiError(HRESULT.DXGI_ERROR_DRIVER_INTERNAL_ERROR, f"the driver did not handle {name}")

    @staticmethod
    def _check(code: int, what: str) -> None:
        if code & 0x8000_0000:
            raise ApiError(code, f"the driver's {what} failed with {hresult_name(code)}")

    # ----- surfaces --------------------------------------------------------------------------------------------------------

    async def create_surface(self, handle: int, resource: Resource | None, format: int, subresource: int) -> None:
        """D3dCreateSurfaceEx; without a resource the surface goes. Raises ApiError."""
        require(handle > 0, "surface: 0 means no surface")
        require(format in dd.D3DFORMAT._value2member_map_, f"format: {format} is no D3DFORMAT of a surface")
        require(resource is None or len(self.surfaces) < MAX_SURFACES, f"surface: {MAX_SURFACES} exist already")
        require(
            subresource < (resource.subresources if resource is not None else 1), f"subresource: {subresource} does not exist"
        )
        h_resource = resource.handle if resource is not None else 0
        local = dd.DD_SURFACE_LOCAL(handle, h_resource, dd.D3DFORMAT(format), subresource)
        arg = dd.DD_CREATESURFACEEXDATA(self.h_context, local)
        await self._call("D3dCreateSurfaceEx", self._surface, arg)
        self._check(arg.ddRVal, "D3dCreateSurfaceEx")
        before = self.surfaces.pop(handle, None)
        if resource is not None:
            resource.refs += 1  # a surface keeps its memory
            self.surfaces[handle] = resource
        if before is not None:
            self.device.unref(before)

    # ----- drawing ---------------------------------------------------------------------------------------------------------

    async def draw(self, m: api.DrawPrimitives2) -> api.PrimitivesDrawn:
        """D3dDrawPrimitives2. Raises ApiError for what cannot be handed to the driver at all."""
        device = self.device
        require(m.room <= MAX_RESPONSE, f"room: {m.room} bytes, {MAX_RESPONSE} are the most")
        # Commands are validated and carried out one by one: from here on the client cannot change them.
        commands = device.blob(m.commands).tobytes()
        buffer = bytearray(commands)
        buffer.extend(bytes(max(0, m.room - len(buffer))))
        vertices = device.blob(m.vertices)
        user = not m.vertex_surface
        arg = D3DHAL_DRAWPRIMITIVES2DATA(
            dwhContext=self.h_context,
            dwFlags=(D3DHALDP2.USERMEMVERTICES if user else D3DHALDP2.NONE) | D3DHALDP2.EXECUTEBUFFER,
            dwVertexType=m.vertex_type,
            lpDDCommands=memoryview(buffer),
            dwCommandOffset=0,
            dwCommandLength=len(commands),
            lpDDVertex=m.vertex_surface,
            lpVertices=vertices.data if user else None,
            dwVertexOffset=m.vertex_offset,
            dwVertexLength=m.vertex_length,
            dwVertexSize=m.vertex_size,
            lpdwRStates=self.render_states,
        )
        try:
            await self._call("D3dDrawPrimitives2", self._draw, arg)
        finally:
            for blob in (m.commands, m.vertices):
                device.blob_taken(blob)
        code, offset = arg.ddrval & 0xFFFF_FFFF, arg.dwErrorOffset
        if code == HRESULT.D3DDDIERR_DEVICEREMOVED:
            device.lose(code, "the driver reported a removed device from D3dDrawPrimitives2")
            device.check_removed()
        failed = bool(code & 0x8000_0000)
        opcode = commands[offset] if failed and offset < len(commands) else -1
        return api.PrimitivesDrawn(
            ddrval=code,
            name=hresult_name(code),
            error_offset=offset if failed else 0,
            command=_COMMANDS.get(opcode, f"opcode {opcode}" if opcode >= 0 else ""),
            response=b"" if failed else bytes(buffer[:offset]),
        )

    def destroy(self) -> None:
        """D3dContextDestroy."""
        device = self.device
        for resource in self.surfaces.values():
            device.unref(resource)
        self.surfaces.clear()
        if device.driver.created and self._end is not None:
            device.later(self._call("D3dContextDestroy", self._end, dd.D3DHAL_CONTEXTDESTROYDATA(self.h_context)))


async def create_context(device: Device, m: api.CreateDp2Context) -> Dp2Context:
    """D3dContextCreate. Raises ApiError."""
    context = Dp2Context(device)
    await context.create()
    return context
