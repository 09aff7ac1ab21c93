"""What our side of the workloads is written with: a device with few words, and scenes that a runner can find by name.

A scene has the name of the peers' test. ``prepare`` makes everything that stays the same and returns a loop over frames; how the
loop is timed and in which unit it is told is the scene's kind (:func:`rate`, :func:`duration`, :func:`latency`).
"""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import wddm
from bench import geometry
from bench.figures import Figure, percentile
from bench.timing import Loop, Pace, round_trips, seconds
from wddm.client.context import ImmediateContext
from wddm.client.device import Device
from wddm.client.enums import Blend
from wddm.client.gpu import Gpu
from wddm.client.resources import BlendState, Buffer, DepthStencilView, RenderTargetView, ShaderResourceView, Texture2D
from wddm.client.values import RenderTargetBlend

RGBA8: Final = wddm.Format.R8G8B8A8_UNORM

#: A vertex shader that needs no buffers: a quad of two triangles over the whole target.
QUAD: Final = """
struct Pixel { float4 position : SV_Position; float2 uv : TEXCOORD0; nointerpolation uint instance : INSTANCE; };

Pixel vs_main(uint vertex : SV_VertexID, uint instance : SV_InstanceID)
{
    float2 p = float2(vertex == 1 || vertex == 2 || vertex == 4, vertex == 2 || vertex == 4 || vertex == 5);
    Pixel o;
    o.position = float4(p * 2 - 1, 0, 1);
    o.uv = p;
    o.instance = instance;
    return o;
}
"""

#: Coloured vertices as :data:`bench.geometry.VERTEX` has them.
COLOURED: Final = """
struct Pixel { float4 position : SV_Position; float4 colour : COLOR; };

Pixel vs_main(float3 p : POSITION, float4 c : COLOR)
{
    Pixel o;
    o.position = float4(p, 1);
    o.colour = c;
    return o;
}

float4 ps_main(Pixel i) : SV_Target { return i.colour; }
"""
COLOURED_LAYOUT: Final = (
    ("POSITION", 0, wddm.Format.R32G32B32_FLOAT, 0, 0),
    ("COLOR", 0, wddm.Format.R8G8B8A8_UNORM, 0, 12),
)


@dataclass
class Target:
    """A render target, with a depth buffer or none."""

    texture: Texture2D
    view: RenderTargetView
    depth: DepthStencilView | None


class Ours:
    """A device of our stack: what a scene draws with. Nothing is culled; topology is a triangle list."""

    def __init__(self, gpu: Gpu, device: Device) -> None:
        self.gpu = gpu
        self.device = device
        self.ctx: ImmediateContext = device.immediate_context
        self.drawn: Texture2D | None = None  #: the last target, for the check of what it shows
        self._kept: list[Any] = []

    @classmethod
    async def open(cls, gpu: Gpu) -> Ours:
        """A fresh device with our defaults bound."""
        self = cls(gpu, await gpu.create_device())
        state = await self.device.create_rasterizer_state(cull_mode=wddm.CullMode.NONE)
        self.ctx.rs_set_state(state)
        self.ctx.ia_set_primitive_topology(wddm.PrimitiveTopology.TRIANGLELIST)
        self._kept.append(state)
        return self

    async def target(self, width: int, height: int, *, depth: bool = False, format: int = RGBA8) -> Target:
        """Make a target and bind it with a viewport over all of it."""
        bind = wddm.BindFlag.RENDER_TARGET | wddm.BindFlag.SHADER_RESOURCE
        texture = await self.device.create_texture2d(width=width, height=height, format=format, bind_flags=bind)
        view = await self.device.create_render_target_view(texture)
        depth_view = None
        if depth:
            buffer = await self.device.create_texture2d(
                width=width, height=height, format=wddm.Format.D24_UNORM_S8_UINT, bind_flags=wddm.BindFlag.DEPTH_STENCIL
            )
            depth_view = await self.device.create_depth_stencil_view(buffer)
        self.drawn = texture
        self.ctx.om_set_render_targets([view], depth_view)
        self.ctx.rs_set_viewports([wddm.Viewport(0, 0, width, height)])
        return Target(texture, view, depth_view)

    def clear(self, target: Target, colour: Sequence[float] = (0, 0, 0, 1)) -> None:
        """Record a clear of colour, and of depth where there is one."""
        self.ctx.clear_render_target_view(target.view, colour)
        if target.depth is not None:
            self.ctx.clear_depth_stencil_view(target.depth, wddm.ClearFlag.DEPTH, 1.0, 0)

    async def program(self, source: str, layout: Sequence[Sequence[Any]] = ()) -> None:
        """Compile ``vs_main`` and ``ps_main`` and bind them, with the input layout that ``layout`` describes."""
        await self.use(compiled(source, "vs_main", "vs_5_0"), compiled(source, "ps_main", "ps_5_0"), layout)

    async def use(self, vertex: bytes, pixel: bytes, layout: Sequence[Sequence[Any]] = ()) -> None:
        """Create and bind two shaders."""
        vs = await self.device.create_vertex_shader(vertex)
        ps = await self.device.create_pixel_shader(pixel)
        elements = await self.device.create_input_layout(layout, vertex) if layout else None
        self._kept += [vs, ps, elements]
        self.ctx.vs_set_shader(vs)
        self.ctx.ps_set_shader(ps)
        self.ctx.ia_set_input_layout(elements)

    async def quad(self, pixel_source: str) -> None:
        """Bind the full-screen quad with ``ps_main`` of the source; draw it with ``ctx.draw(6)``."""
        await self.program(QUAD + pixel_source)

    async def vertices(self, data: npt.NDArray[Any]) -> Buffer:
        """Make a vertex buffer and bind it to slot 0."""
        buffer = await self.device.create_buffer(data, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        self.ctx.ia_set_vertex_buffers(0, [buffer], [data.itemsize if data.dtype.fields else data.strides[0]], [0])
        self._kept.append(buffer)
        return buffer

    async def constants(self, size: int = 16) -> Buffer:
        """Make a dynamic constant buffer and bind it to slot 0 of vertex and pixel shader; fill it with ``ctx.write``."""
        buffer = await self.device.create_buffer(
            size,
            bind_flags=wddm.BindFlag.CONSTANT_BUFFER,
            usage=wddm.Usage.DYNAMIC,
            cpu_access_flags=wddm.CpuAccessFlag.WRITE,
        )
        self.ctx.write(buffer, np.zeros(size, np.uint8))
        self.ctx.vs_set_constant_buffers(0, [buffer])
        self.ctx.ps_set_constant_buffers(0, [buffer])
        self._kept.append(buffer)
        return buffer

    async def texture(self, levels: Sequence[npt.NDArray[np.uint8]]) -> ShaderResourceView:
        """A texture of these mips and a view of it."""
        height, width = levels[0].shape[:2]
        texture = await self.device.create_texture2d(levels, width=width, height=height, mip_levels=len(levels), format=RGBA8)
        view = await self.device.create_shader_resource_view(texture)
        self._kept.append(view)
        return view

    async def sampler(self, filter: int, *, max_lod: float = 1000.0) -> None:
        """Make a wrapping sampler and bind it to slot 0 of the pixel shader."""
        wrap = wddm.TextureAddressMode.WRAP
        state = await self.device.create_sampler_state(filter=filter, address_u=wrap, address_v=wrap, max_lod=max_lod)
        self.ctx.ps_set_samplers(0, [state])
        self._kept.append(state)

    async def alpha_blend(self) -> BlendState:
        """Source alpha over what is there, in colour and alpha."""
        over = {"src_blend": Blend.SRC_ALPHA, "dest_blend": Blend.INV_SRC_ALPHA}
        alpha = {"src_blend_alpha": Blend.SRC_ALPHA, "dest_blend_alpha": Blend.INV_SRC_ALPHA}
        state = await self.device.create_blend_state(render_target=RenderTargetBlend(blend_enable=True, **over, **alpha))
        self._kept.append(state)
        return state

    async def check(self, loop: Loop) -> list[float] | None:
        """The mean of each channel of the last target after the first frame of ``loop``: every peer's picture has the same."""
        if self.drawn is None:
            return None
        await loop(1)
        image = await self.ctx.read_texture(self.drawn)
        return [round(float(mean), 2) for mean in image.mean((0, 1))]

    def keep(self, *objects: Any) -> None:
        """Hold objects that are bound but otherwise forgotten, as long as this device is used."""
        self._kept += objects


def compiled(source: str, entry: str, profile: str) -> bytes:
    """HLSL to DXBC."""
    from wddm import hlsl

    return bytes(hlsl.compile(source, entry, profile))


Prepare = Callable[[Ours], Awaitable[Loop]]


@dataclass(frozen=True)
class Scene:
    """A workload: the tests that it tells, and how it is measured on a device."""

    tests: tuple[str, ...]
    measure: Callable[[Ours, Pace], Awaitable[list[Figure]]]


def rate(test: str, unit: str, work: float, prepare: Prepare, *, most: int = 1_000_000) -> Scene:
    """``work`` units of each iteration, per second."""

    async def measure(ours: Ours, pace: Pace) -> list[Figure]:
        loop = await prepare(ours)
        taken = await seconds(loop, pace, most)
        return [Figure(test, unit, [work / t for t in taken], check=await ours.check(loop))]

    return Scene((test,), measure)


def duration(test: str, unit: str, scale: float, prepare: Prepare) -> Scene:
    """Seconds of an iteration times ``scale``."""

    async def measure(ours: Ours, pace: Pace) -> list[Figure]:
        loop = await prepare(ours)
        taken = await seconds(loop, pace)
        return [Figure(test, unit, [t * scale for t in taken], "low", check=await ours.check(loop))]

    return Scene((test,), measure)


def latency(test: str, prepare: Prepare, *, p99: bool = True) -> Scene:
    """Microseconds of single iterations: the samples are medians of ``Pace.rounds`` round trips, and their 99th percentiles."""
    tail = f"{test}.p99"

    async def measure(ours: Ours, pace: Pace) -> list[Figure]:
        loop = await prepare(ours)
        await round_trips(loop, min(100, pace.rounds))
        series = [await round_trips(loop, pace.rounds) for _ in range(min(pace.samples, 5))]
        figures = [Figure(test, "us", [statistics.median(s) for s in series], "low")]
        if p99:
            figures.append(Figure(tail, "us", [percentile(s, 99) for s in series], "low"))
        return figures

    return Scene((test, tail) if p99 else (test,), measure)


def frames(ours: Ours, frame: Callable[[int], None], *, wait: bool) -> Loop:
    """A loop that records ``frame(i)``, and waits for each frame, or submits each and waits at the end."""
    ctx = ours.ctx

    async def loop(count: int) -> None:
        for i in range(count):
            frame(i)
            if wait:
                await ctx.wait_idle()
            else:
                ctx.flush()
        await ctx.wait_idle()

    return loop


def coloured(ours: Ours) -> Awaitable[None]:
    """Bind the shaders and layout of coloured vertices."""
    return ours.program(COLOURED, COLOURED_LAYOUT)


__all__ = [
    "COLOURED",
    "QUAD",
    "RGBA8",
    "Loop",
    "Ours",
    "Prepare",
    "Scene",
    "Target",
    "coloured",
    "compiled",
    "duration",
    "frames",
    "geometry",
    "latency",
    "rate",
]
