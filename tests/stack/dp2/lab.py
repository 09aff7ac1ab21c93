"""What stack tests of DrawPrimitives2 share: a context with colour and depth buffer, vertices, and reading the picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wddm import BindFlag, Dp2CommandBuffer, Dp2Context, Format
from wddm.ddi.d3dhal import D3DFVF

SIZE = 32
TL = D3DFVF.XYZRHW | D3DFVF.DIFFUSE | D3DFVF.SPECULAR | D3DFVF.TEX1
TL_VERTEX = np.dtype([("p", "<f4", 4), ("diffuse", "<u4"), ("specular", "<u4"), ("uv", "<f4", 2)])


class LegacyLab:
    """A device, a context, a target of 32 x 32 pixels (surface 1) and a depth buffer (surface 2)."""

    def __init__(self, gpu: Any, device: Any, context: Dp2Context) -> None:
        self.gpu, self.device, self.context = gpu, device, context
        self.ctx = device.immediate_context
        self.target: Any = None

    @classmethod
    async def start(cls, gpu: Any) -> LegacyLab:
        device = await gpu.create_device()
        lab = cls(gpu, device, await device.create_dp2_context())
        lab.target = await device.create_texture2d(
            width=SIZE, height=SIZE, format=Format.B8G8R8A8_UNORM, bind_flags=BindFlag.RENDER_TARGET
        )
        depth = await device.create_texture2d(
            width=SIZE, height=SIZE, format=Format.D24_UNORM_S8_UINT, bind_flags=BindFlag.DEPTH_STENCIL
        )
        assert await lab.context.create_surface(lab.target) == 1
        assert await lab.context.create_surface(depth) == 2
        await lab.draw(Dp2CommandBuffer().set_render_target(1, 2).clear(7, 0, 1.0))
        return lab

    async def draw(self, commands: Dp2CommandBuffer, vertices: Any = None, fvf: int = TL, **more: Any) -> None:
        await self.context.draw_primitives2(commands, vertices, fvf=fvf, **more)

    async def texture(self, texels: Any, format: int = Format.B8G8R8A8_UNORM, **more: Any) -> int:
        """A texture's surface, from ARGB dwords (height, width) or other texels."""
        d3dformat = more.pop("d3dformat", 0)
        texels = np.ascontiguousarray(texels)
        texels = texels.view(np.uint8).reshape(*texels.shape[:2], -1) if texels.dtype == np.uint32 else texels
        texture = await self.device.create_texture2d(texels, format=format, bind_flags=BindFlag.SHADER_RESOURCE, **more)
        return await self.context.create_surface(texture, format=d3dformat)

    async def pixels(self) -> npt.NDArray[np.uint32]:
        """The target as ARGB."""
        image = await self.ctx.read_texture(self.target)
        return np.ascontiguousarray(image).view("<u4")[..., 0]

    async def channels(self) -> npt.NDArray[np.float64]:
        """The target as red, green, blue, alpha in 0..255."""
        image = (await self.ctx.read_texture(self.target)).astype(np.float64)
        return image[..., [2, 1, 0, 3]]


def corners(left: float, top: float, right: float, bottom: float, color: int = 0xFFFFFFFF, z: float = 0.5, specular: int = 0) -> Any:
    """Four TL vertices of a fan over the pixels from (left, top) up to (right, bottom); texture coordinates 0..1."""
    v = np.zeros(4, TL_VERTEX)
    for i, (x, y) in enumerate(((left, top), (right, top), (right, bottom), (left, bottom))):
        v[i]["p"] = x - 0.5, y - 0.5, z, 1.0
        v[i]["uv"] = i in (1, 2), i in (2, 3)
    v["diffuse"], v["specular"] = color, specular
    return v


