"""Small scenes through the client API, shared by tests of the whole stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import wddm
from wddm import hlsl
from wddm.client.gpu import Gpu

COLOUR = """
struct Pixel { float4 position : SV_Position; float4 color : COLOR; };
cbuffer Tint : register(b0) { float4 tint; };
Pixel vs_main(float2 position : POSITION, float3 color : COLOR)
{
    Pixel p;
    p.position = float4(position, 0.5, 1);
    p.color = float4(color, 1);
    return p;
}
float4 ps_main(Pixel p) : SV_Target { return p.color * tint; }
"""

TRIANGLE = np.array([[0, 0.5, 1, 0, 0], [0.5, -0.5, 0, 1, 0], [-0.5, -0.5, 0, 0, 1]], np.float32)
#: Covers the whole target.
FULL = np.array([[-1, 3, 1, 1, 1], [3, -1, 1, 1, 1], [-1, -1, 1, 1, 1]], np.float32)


@dataclass
class Simple:
    """A device with a render target and a pipeline that draws tinted triangles into it."""

    gpu: Gpu
    device: Any
    target: Any
    rtv: Any
    vertices: Any
    tint: Any
    size: tuple[int, int]

    @property
    def ctx(self) -> Any:
        """The immediate context."""
        return self.device.immediate_context

    @classmethod
    async def create(
        cls,
        gpu: Gpu,
        *,
        size: tuple[int, int] = (64, 48),
        vertices: npt.NDArray[np.float32] = TRIANGLE,
        target: Any = None,
        device: Any = None,
    ) -> Simple:
        device = device or await gpu.create_device()
        if target is None:
            target = await device.create_texture2d(
                width=size[0], height=size[1], format=wddm.Format.R8G8B8A8_UNORM, bind_flags=wddm.BindFlag.RENDER_TARGET
            )
        rtv = await device.create_render_target_view(target)
        vb = await device.create_buffer(vertices, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        tint = await device.create_buffer(np.ones(4, np.float32), bind_flags=wddm.BindFlag.CONSTANT_BUFFER)
        vs_code = hlsl.compile(COLOUR, "vs_main", "vs_5_0")
        vs = await device.create_vertex_shader(vs_code)
        ps = await device.create_pixel_shader(hlsl.compile(COLOUR, "ps_main", "ps_5_0"))
        layout = await device.create_input_layout(
            [("POSITION", 0, wddm.Format.R32G32_FLOAT, 0, 0), ("COLOR", 0, wddm.Format.R32G32B32_FLOAT, 0, 8)], vs_code
        )
        self = cls(gpu, device, target, rtv, vb, tint, size)
        ctx = self.ctx
        ctx.ia_set_input_layout(layout)
        ctx.ia_set_vertex_buffers(0, [vb], [20], [0])
        ctx.ia_set_primitive_topology(wddm.PrimitiveTopology.TRIANGLELIST)
        ctx.vs_set_shader(vs)
        ctx.ps_set_shader(ps)
        ctx.ps_set_constant_buffers(0, [tint])
        ctx.rs_set_viewports([wddm.Viewport(0, 0, *size)])
        return self

    def draw(
        self, tint: tuple[float, float, float, float] = (1, 1, 1, 1), clear: tuple[float, float, float, float] | None = None
    ) -> None:
        """Record clear (if asked) and one triangle."""
        ctx = self.ctx
        ctx.om_set_render_targets([self.rtv])
        if clear is not None:
            ctx.clear_render_target_view(self.rtv, clear)
        ctx.update_subresource(self.tint, np.array(tint, np.float32))
        ctx.draw(3, 0)

    async def read(self) -> npt.NDArray[np.uint8]:
        """The target's pixels."""
        return await self.ctx.read_texture(self.target)
