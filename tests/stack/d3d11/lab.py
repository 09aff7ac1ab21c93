"""What tests of Direct3D 11 features share: shaders from HLSL, targets, buffers with views, and ways to run and read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import wddm
from wddm import BindFlag, Format, PrimitiveTopology, ResourceMiscFlag, hlsl
from wddm.hw.registers import EngineKind

ENGINES: Final = {"reference": EngineKind.REFERENCE, "llvm": EngineKind.LLVM}
FLOAT4: Final = Format.R32G32B32A32_FLOAT

#: Three vertices that cover the whole target; ``uv`` is (0, 0) at the top left of it and (1, 1) at the bottom right.
FULL: Final = """
struct Full { float4 position : SV_Position; float2 uv : UV; };
Full full_vs(uint id : SV_VertexID)
{
    Full f;
    float2 corner = float2((id << 1) & 2, id & 2);
    f.position = float4(corner * float2(2, -2) + float2(-1, 1), 0.5, 1);
    f.uv = corner;
    return f;
}
"""

#: Vertices of a structured buffer in t0: position and colour.
PULLED: Final = """
struct Vertex { float4 position; float4 color; };
struct Coloured { float4 position : SV_Position; float4 color : COLOR; };
StructuredBuffer<Vertex> vertices : register(t0);
Coloured pulled_vs(uint id : SV_VertexID)
{
    Coloured c;
    c.position = vertices[id].position;
    c.color = vertices[id].color;
    return c;
}
float4 color_ps(Coloured c) : SV_Target { return c.color; }
"""


def patches(points: int) -> PrimitiveTopology:
    """The topology of patches of ``points`` control points."""
    return PrimitiveTopology(32 + points)


class Lab:
    """A device and short ways to use it."""

    def __init__(self, gpu: Any, device: Any) -> None:
        self.gpu = gpu
        self.device = device
        self.ctx = device.immediate_context

    # ----- shaders ---------------------------------------------------------------------------------------------------------

    async def vs(self, source: str, entry: str = "vs") -> Any:
        """Compile, create and bind."""
        shader = await self.device.create_vertex_shader(hlsl.compile(source, entry, "vs_5_0"))
        self.ctx.vs_set_shader(shader)
        return shader

    async def ps(self, source: str, entry: str = "ps") -> Any:
        """Compile, create and bind."""
        shader = await self.device.create_pixel_shader(hlsl.compile(source, entry, "ps_5_0"))
        self.ctx.ps_set_shader(shader)
        return shader

    async def gs(self, source: str, entry: str = "gs") -> Any:
        """Compile, create and bind."""
        shader = await self.device.create_geometry_shader(hlsl.compile(source, entry, "gs_5_0"))
        self.ctx.gs_set_shader(shader)
        return shader

    async def hs(self, source: str, entry: str = "hs") -> Any:
        """Compile, create and bind."""
        shader = await self.device.create_hull_shader(hlsl.compile(source, entry, "hs_5_0"))
        self.ctx.hs_set_shader(shader)
        return shader

    async def ds(self, source: str, entry: str = "ds") -> Any:
        """Compile, create and bind."""
        shader = await self.device.create_domain_shader(hlsl.compile(source, entry, "ds_5_0"))
        self.ctx.ds_set_shader(shader)
        return shader

    async def cs(self, source: str, entry: str = "cs") -> Any:
        """Compile, create and bind."""
        shader = await self.device.create_compute_shader(hlsl.compile(source, entry, "cs_5_0"))
        self.ctx.cs_set_shader(shader)
        return shader

    async def stream_output(
        self, blob: bytes, declaration: Sequence[Sequence[Any]], strides: Sequence[int], rasterized: int = wddm.SO_NO_RASTERIZED_STREAM
    ) -> Any:
        """Create and bind a geometry shader with stream output."""
        shader = await self.device.create_geometry_shader_with_stream_output(blob, declaration, strides, rasterized)
        self.ctx.gs_set_shader(shader)
        return shader

    # ----- resources -------------------------------------------------------------------------------------------------------

    async def constants(self, *values: Any) -> Any:
        """A constant buffer of dwords: numpy arrays as they are, Python numbers as floats."""
        parts = [np.asarray(v, None if isinstance(v, np.ndarray) else np.float32).reshape(-1).view(np.uint32) for v in values]
        return await self.device.create_buffer(np.concatenate(parts), bind_flags=BindFlag.CONSTANT_BUFFER)

    async def structured(self, data: Any, stride: int, *, uav: bool = False, flags: int = 0, bind: int = 0) -> tuple[Any, Any]:
        """A structured buffer and a view of it."""
        kind = BindFlag.UNORDERED_ACCESS if uav else BindFlag.SHADER_RESOURCE
        buffer = await self.device.create_buffer(
            data, bind_flags=kind | bind, misc_flags=ResourceMiscFlag.BUFFER_STRUCTURED, structure_byte_stride=stride
        )
        if uav:
            return buffer, await self.device.create_unordered_access_view(buffer, num_elements=buffer.byte_width // stride, flags=flags)
        return buffer, await self.device.create_shader_resource_view(buffer)

    async def raw(self, data: Any, *, uav: bool = False) -> tuple[Any, Any]:
        """A buffer with a byte-address view."""
        kind = BindFlag.UNORDERED_ACCESS if uav else BindFlag.SHADER_RESOURCE
        buffer = await self.device.create_buffer(data, bind_flags=kind, misc_flags=ResourceMiscFlag.BUFFER_ALLOW_RAW_VIEWS)
        make = self.device.create_unordered_access_view if uav else self.device.create_shader_resource_view
        return buffer, await make(buffer, format=Format.R32_TYPELESS, num_elements=buffer.byte_width // 4, flags=1)

    async def typed(self, data: Any, format: int, *, uav: bool = False) -> tuple[Any, Any]:
        """A buffer with a typed view."""
        kind = BindFlag.UNORDERED_ACCESS if uav else BindFlag.SHADER_RESOURCE
        buffer = await self.device.create_buffer(data, bind_flags=kind)
        size = wddm.client.pixels.texels(format).element_bytes
        make = self.device.create_unordered_access_view if uav else self.device.create_shader_resource_view
        return buffer, await make(buffer, format=format, num_elements=buffer.byte_width // size)

    async def texture(self, data: Any, format: int = FLOAT4, **options: Any) -> tuple[Any, Any]:
        """A 2D texture and a view of all of it."""
        texture = await self.device.create_texture2d(data, format=format, **options)
        return texture, await self.device.create_shader_resource_view(texture)

    async def target(self, width: int = 8, height: int = 8, format: int = FLOAT4, bind: int = 0, **options: Any) -> tuple[Any, Any]:
        """A render target and its view, bound with a viewport of its size and cleared to 0."""
        texture = await self.device.create_texture2d(
            width=width, height=height, format=format, bind_flags=BindFlag.RENDER_TARGET | bind, **options
        )
        view = await self.device.create_render_target_view(texture)
        self.ctx.om_set_render_targets([view])
        self.ctx.rs_set_viewports([wddm.Viewport(0, 0, width, height)])
        self.ctx.clear_render_target_view(view, (0, 0, 0, 0))
        return texture, view

    async def depth(self, width: int, height: int, format: int = Format.D32_FLOAT, **options: Any) -> tuple[Any, Any]:
        """A depth buffer and its view, cleared to 1 and 0."""
        texture = await self.device.create_texture2d(
            width=width, height=height, format=format, bind_flags=BindFlag.DEPTH_STENCIL, **options
        )
        view = await self.device.create_depth_stencil_view(texture)
        self.ctx.clear_depth_stencil_view(view, 3, 1.0, 0)
        return texture, view

    async def sampler(self, **options: Any) -> Any:
        """A sampler state."""
        return await self.device.create_sampler_state(**options)

    # ----- running ---------------------------------------------------------------------------------------------------------

    async def vertices(self, rows: Any) -> None:
        """Bind (n, 8) floats for :data:`PULLED` with its shaders; triangles of both windings are drawn."""
        _, view = await self.structured(np.asarray(rows, np.float32).reshape(-1, 8), 32)
        self.ctx.vs_set_shader_resources(0, [view])
        await self.vs(PULLED, "pulled_vs")
        await self.ps(PULLED, "color_ps")
        await self.rasterizer()
        self.topology(PrimitiveTopology.TRIANGLELIST)

    async def full(self, source: str, entry: str = "ps") -> None:
        """Bind a pixel shader over the whole target: ``ctx.draw(3)`` runs it."""
        await self.vs(FULL, "full_vs")
        await self.ps(FULL + source, entry)
        self.topology(PrimitiveTopology.TRIANGLELIST)

    def topology(self, topology: int) -> None:
        """Set the primitive topology."""
        self.ctx.ia_set_primitive_topology(topology)

    async def rasterizer(self, **options: Any) -> None:
        """Bind a rasterizer state that culls nothing unless told to."""
        self.ctx.rs_set_state(await self.device.create_rasterizer_state(**{"cull_mode": wddm.CullMode.NONE, **options}))

    async def compute(
        self,
        source: str,
        out: int,
        *inputs: Any,
        dtype: Any = np.float32,
        stride: int = 4,
        groups: Sequence[int] = (1, 1, 1),
        constants: Any = None,
        samplers: Sequence[Any] = (),
        entry: str = "cs",
    ) -> npt.NDArray[Any]:
        """Dispatch ``source`` with a structured buffer of ``out`` zero dwords in u0, shader-resource views from t0; read u0."""
        ctx = self.ctx
        await self.cs(source, entry)
        buffer, view = await self.structured(np.zeros(out, np.uint32), stride, uav=True)
        ctx.cs_set_unordered_access_views(0, [view])
        if inputs:
            ctx.cs_set_shader_resources(0, list(inputs))
        if constants is not None:
            ctx.cs_set_constant_buffers(0, [constants])
        if samplers:
            ctx.cs_set_samplers(0, list(samplers))
        ctx.dispatch(*groups)
        return await ctx.read_buffer(buffer, dtype)


def coverage(image: npt.NDArray[Any], channel: int = 3) -> list[str]:
    """Rows of a target as text, ``#`` where ``channel`` is not 0."""
    return ["".join("#" if texel else "." for texel in row) for row in image[..., channel] != 0]


def point(x: float, y: float, size: tuple[int, int], z: float = 0.5, color: Sequence[float] = (1, 1, 1, 1)) -> list[float]:
    """A row for :meth:`Lab.vertices` at pixel coordinates of a viewport of ``size``."""
    return [x / size[0] * 2 - 1, 1 - y / size[1] * 2, z, 1, *color]
