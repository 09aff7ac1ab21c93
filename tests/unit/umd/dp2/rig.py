"""A legacy runtime over the fake GPU: contexts, surfaces, command buffers, and a vertex format with numbers in it."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.unit.umd.fake_gpu import B, FakeGpu
from tests.unit.umd.fake_runtime import H_DEVICE
from umd import DdGetDriverInfo
from wddm.client.dp2_commands import Dp2CommandBuffer
from wddm.ddi import d3d10umddi as d3d
from wddm.ddi import ddrawint as dd
from wddm.ddi.d3dhal import D3DFVF, D3DHAL_DRAWPRIMITIVES2DATA, D3DHALDP2, fvf_size

TARGET = 1
DEPTH = 2
#: Screen position, diffuse colour: five DWORDs.
PLAIN = D3DFVF.XYZRHW | D3DFVF.DIFFUSE


def driver_info(guid: str, value: Any = None, device: int = H_DEVICE) -> Any:
    """DdGetDriverInfo."""
    arg = dd.DD_GETDRIVERINFODATA(device, guid, value)
    assert DdGetDriverInfo(arg) == dd.DDHAL_DRIVER_HANDLED
    assert arg.ddRVal == 0
    return arg.lpvData


def screen(*rows: tuple[float, float, float, int]) -> bytes:
    """PLAIN vertices: x, y, z, colour."""
    return b"".join(np.array([x, y, z, 1.0], "<f4").tobytes() + np.uint32(color).tobytes() for x, y, z, color in rows)


def quad(left: float, top: float, right: float, bottom: float, color: int, z: float = 0.5) -> bytes:
    """Four PLAIN vertices of a fan that covers the pixels from (left, top) up to (right, bottom)."""
    left, top, right, bottom = left - 0.5, top - 0.5, right - 0.5, bottom - 0.5
    return screen((left, top, z, color), (right, top, z, color), (right, bottom, z, color), (left, bottom, z, color))


class Legacy:
    """One context with a target, and what calls left."""

    def __init__(self, gpu: FakeGpu, width: int, height: int) -> None:
        self.gpu = gpu
        self.width, self.height = width, height
        self.rstates = np.zeros(256, np.uint32)
        self.context = 0
        self.target = 0
        self.error_offset = 0
        self.response = b""
        callbacks = driver_info(dd.GUID_D3DCallbacks)
        self.create, self.destroy = callbacks.ContextCreate, callbacks.ContextDestroy
        self._draw = driver_info(dd.GUID_D3DCallbacks3).DrawPrimitives2
        self._surface = driver_info(dd.GUID_Miscellaneous2Callbacks).CreateSurfaceEx

    @classmethod
    async def start(cls, width: int = 8, height: int = 8, *, depth: bool = False) -> Legacy:
        """A context whose target is surface 1 (and depth buffer surface 2), cleared to 0 and 1.0."""
        gpu = FakeGpu()
        await gpu.start()
        legacy = cls(gpu, width, height)
        arg = dd.D3DHAL_CONTEXTCREATEDATA(H_DEVICE)
        legacy.create(arg)
        assert arg.ddrval == 0
        legacy.context = arg.dwhContext
        legacy.target = await gpu.texture(width, height, 87, bind=B.RENDER_TARGET | B.SHADER_RESOURCE)
        assert legacy.surface(TARGET, legacy.target) == 0
        commands = Dp2CommandBuffer()
        if depth:
            assert legacy.surface(DEPTH, await gpu.texture(width, height, 45, bind=B.DEPTH_STENCIL)) == 0
        commands.set_render_target(TARGET, DEPTH if depth else 0).clear(7 if depth else 1, 0)
        await legacy.draw(commands)
        return legacy

    def surface(self, handle: int, resource: int, format: int = 0) -> int:
        """D3dCreateSurfaceEx; returns its HRESULT."""
        arg = dd.DD_CREATESURFACEEXDATA(self.context, dd.DD_SURFACE_LOCAL(handle, resource, dd.D3DFORMAT(format)))
        assert self._surface(arg) == dd.DDHAL_DRIVER_HANDLED
        return arg.ddRVal

    async def call(self, commands: bytes | Dp2CommandBuffer, vertices: bytes = b"", fvf: int = PLAIN, **more: Any) -> int:
        """DrawPrimitives2; returns its HRESULT."""
        stream = bytes(commands)
        data = bytearray(stream + bytes(more.pop("room", 0)))
        size = more.pop("size", None)
        size = fvf_size(fvf) if size is None else size
        arg = D3DHAL_DRAWPRIMITIVES2DATA(
            dwhContext=self.context, dwFlags=D3DHALDP2.USERMEMVERTICES, dwVertexType=fvf, lpDDCommands=memoryview(data),
            dwCommandOffset=0, dwCommandLength=len(stream), lpDDVertex=0, lpVertices=memoryview(vertices), dwVertexOffset=0,
            dwVertexLength=len(vertices) // size if size else 0, dwVertexSize=size, lpdwRStates=self.rstates,
        )  # fmt: skip
        for name, value in more.items():
            setattr(arg, name, value)
        result = self._draw(arg)
        assert (await result if isawaitable(result) else result) == dd.DDHAL_DRIVER_HANDLED
        self.error_offset = arg.dwErrorOffset
        self.response = bytes(data[: arg.dwErrorOffset]) if not arg.ddrval else b""
        return arg.ddrval

    async def draw(self, commands: bytes | Dp2CommandBuffer, vertices: bytes = b"", fvf: int = PLAIN, **more: Any) -> None:
        """DrawPrimitives2 that succeeds."""
        hr = await self.call(commands, vertices, fvf, **more)
        assert hr == 0, f"0x{hr:08X} at byte {self.error_offset}: {self.error_text}"

    @property
    def error_text(self) -> str:
        """The driver's sentence about its last error."""
        return self.gpu.error_text

    async def pixels(self) -> npt.NDArray[np.uint32]:
        """The target as ARGB."""
        image = await self.gpu.read_texture(self.target, self.width, self.height)
        return np.ascontiguousarray(image).view("<u4")[..., 0]

    async def texture(self, handle: int, texels: Any, format: int = 87, d3dformat: int = 0) -> int:
        """A texture from ARGB dwords (height, width), or from bytes of another format."""
        texels = np.ascontiguousarray(texels)
        up = d3d.D3D10_DDIARG_SUBRESOURCE_UP(texels, texels.strides[0], texels.nbytes)
        h = await self.gpu.texture(texels.shape[1], texels.shape[0], format, bind=B.SHADER_RESOURCE, pInitialDataUP=[up])
        assert self.surface(handle, h, d3dformat) == 0
        return h

    async def buffer(self, handle: int, data: bytes) -> int:
        """A buffer for vertices or indices."""
        h = await self.gpu.buffer(len(data), B.VERTEX_BUFFER, data=np.frombuffer(data, np.uint8))
        assert self.surface(handle, h) == 0
        return h
