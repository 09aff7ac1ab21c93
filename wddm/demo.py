"""``wddm demo``: a textured, lit, spinning cube, drawn through the whole stack; prints what happened and writes a picture."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

import wddm
from wddm import hlsl, stack
from wddm.image import write_png

if TYPE_CHECKING:
    from wddm.client.device import Device
    from wddm.client.gpu import Gpu
    from wddm.client.resources import (
        Buffer,
        DepthStencilView,
        InputLayout,
        RenderTargetView,
        SamplerState,
        Shader,
        ShaderResourceView,
        Texture2D,
    )
    from wddm.client.swap_chain import SwapChain
    from wddm.wire.address import Address

SHADERS: Final = """
cbuffer Frame : register(b0)
{
    float4x4 world;
    float4x4 world_view_projection;
    float3 light;
    float ambient;
};

Texture2D<float4> picture : register(t0);
SamplerState linear_sampler : register(s0);

struct Vertex { float3 position : POSITION; float3 normal : NORMAL; float2 uv : TEXCOORD0; };
struct Pixel { float4 position : SV_Position; float3 normal : NORMAL; float2 uv : TEXCOORD0; };

Pixel vs_main(Vertex v)
{
    Pixel p;
    p.position = mul(float4(v.position, 1), world_view_projection);
    p.normal = mul(v.normal, (float3x3)world);
    p.uv = v.uv;
    return p;
}

float4 ps_main(Pixel p) : SV_Target
{
    float brightness = ambient + (1 - ambient) * saturate(dot(normalize(p.normal), light));
    return float4(picture.Sample(linear_sampler, p.uv).rgb * brightness, 1);
}
"""


def cube() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.uint16]]:
    """24 vertices (position, normal, uv) and 36 indices, clockwise from outside."""
    vertices: list[list[float]] = []
    indices: list[int] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal = np.zeros(3)
            normal[axis] = sign
            right = np.eye(3)[(axis + 1) % 3]
            up = np.cross(normal, right)
            first = len(vertices)
            for u, v in ((0, 0), (1, 0), (1, 1), (0, 1)):
                position = normal + (2 * u - 1) * right + (1 - 2 * v) * up
                vertices.append([*position, *normal, u, v])
            indices += [first, first + 2, first + 1, first, first + 3, first + 2]
    return np.array(vertices, np.float32), np.array(indices, np.uint16)


def picture(size: int = 128) -> npt.NDArray[np.uint8]:
    """A board of two colours with a frame, (size, size, 4)."""
    y, x = np.mgrid[0:size, 0:size]
    board = ((x // (size // 8) + y // (size // 8)) % 2).astype(bool)
    image = np.where(board[..., None], np.array([236, 196, 92, 255]), np.array([38, 92, 150, 255])).astype(np.uint8)
    edge = np.minimum(np.minimum(x, size - 1 - x), np.minimum(y, size - 1 - y)) < size // 32
    image[edge] = (250, 250, 250, 255)
    return image


def mip_chain(image: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.uint8]]:
    """The image and its halves down to one texel."""
    levels = [image]
    while levels[-1].shape[0] > 1:
        a = levels[-1].astype(np.uint16)
        levels.append(((a[0::2, 0::2] + a[1::2, 0::2] + a[0::2, 1::2] + a[1::2, 1::2] + 2) // 4).astype(np.uint8))
    return levels


def frame_constants(angle: float, aspect: float) -> npt.NDArray[np.float32]:
    """The constant buffer Frame: matrices are stored column by column, as HLSL reads them."""

    def rotation(axis: int, a: float) -> npt.NDArray[np.float64]:
        m = np.eye(4)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        m[i, i], m[i, j], m[j, i], m[j, j] = math.cos(a), math.sin(a), -math.sin(a), math.cos(a)
        return m

    world = rotation(1, angle) @ rotation(0, 0.6 * angle + 0.4)
    view = np.eye(4)
    view[3, 2] = 4.6
    near, far, height = 0.1, 20.0, 1 / math.tan(math.radians(45) / 2)
    projection = np.zeros((4, 4))
    projection[0, 0], projection[1, 1] = height / aspect, height
    projection[2, 2], projection[2, 3], projection[3, 2] = far / (far - near), 1, -near * far / (far - near)
    light = np.array([0.45, 0.7, -0.55])
    out = np.zeros(36, np.float32)
    out[:16] = world.T.ravel()
    out[16:32] = (world @ view @ projection).T.ravel()
    out[32:35] = light / np.linalg.norm(light)
    out[35] = 0.25
    return out


@dataclass
class Report:
    """What a run did."""

    frames: int = 0
    seconds: float = 0.0
    start_seconds: float | None = None
    first_frame_seconds: float = 0.0
    latencies_us: list[float] = field(default_factory=list)
    missed_vsyncs: int = 0  #: vertical syncs after the first frame that showed no new one
    statistics: dict[str, int] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)


class Scene:
    """The cube's objects on one device."""

    width: int
    height: int
    device: Device
    swap_chain: SwapChain
    back_buffer: Texture2D
    target: RenderTargetView
    depth: DepthStencilView
    vs: Shader
    ps: Shader
    layout: InputLayout
    vertices: Buffer
    indices: Buffer
    constants: Buffer
    texture: ShaderResourceView
    sampler: SamplerState

    @classmethod
    async def create(cls, gpu: Gpu, width: int, height: int) -> Scene:
        """Make everything that stays the same from frame to frame."""
        self = cls()
        self.width, self.height = width, height
        device = self.device = await gpu.create_device()
        self.swap_chain = await gpu.create_swap_chain(
            device,
            width=width,
            height=height,
            buffer_count=2,
            format=wddm.Format.R8G8B8A8_UNORM,
            swap_effect=wddm.SwapEffect.FLIP_DISCARD,
        )
        self.back_buffer = await self.swap_chain.get_buffer(0)
        self.target = await device.create_render_target_view(self.back_buffer)
        depth = await device.create_texture2d(
            width=width, height=height, format=wddm.Format.D24_UNORM_S8_UINT, bind_flags=wddm.BindFlag.DEPTH_STENCIL
        )
        self.depth = await device.create_depth_stencil_view(depth)
        vs_code = hlsl.compile(SHADERS, "vs_main", "vs_5_0", filename="cube.hlsl")
        ps_code = hlsl.compile(SHADERS, "ps_main", "ps_5_0", filename="cube.hlsl")
        self.vs, self.ps = await device.create_vertex_shader(vs_code), await device.create_pixel_shader(ps_code)
        self.layout = await device.create_input_layout(
            [
                ("POSITION", 0, wddm.Format.R32G32B32_FLOAT, 0, 0),
                ("NORMAL", 0, wddm.Format.R32G32B32_FLOAT, 0, 12),
                ("TEXCOORD", 0, wddm.Format.R32G32_FLOAT, 0, 24),
            ],
            vs_code,
        )
        vertices, indices = cube()
        self.vertices = await device.create_buffer(vertices, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        self.indices = await device.create_buffer(indices, bind_flags=wddm.BindFlag.INDEX_BUFFER)
        self.constants = await device.create_buffer(frame_constants(0, width / height), bind_flags=wddm.BindFlag.CONSTANT_BUFFER)
        levels = mip_chain(picture())
        texture = await device.create_texture2d(
            levels,
            width=levels[0].shape[1],
            height=levels[0].shape[0],
            mip_levels=len(levels),
            format=wddm.Format.R8G8B8A8_UNORM,
            bind_flags=wddm.BindFlag.SHADER_RESOURCE,
        )
        self.texture = await device.create_shader_resource_view(texture)
        self.sampler = await device.create_sampler_state(filter=wddm.Filter.MIN_MAG_MIP_LINEAR)
        return self

    def draw(self, angle: float) -> None:
        """Record one frame."""
        ctx = self.device.immediate_context
        ctx.update_subresource(self.constants, frame_constants(angle, self.width / self.height))
        ctx.om_set_render_targets([self.target], self.depth)
        ctx.clear_render_target_view(self.target, (0.07, 0.08, 0.11, 1))
        ctx.clear_depth_stencil_view(self.depth, wddm.ClearFlag.DEPTH, 1.0, 0)
        ctx.rs_set_viewports([wddm.Viewport(0, 0, self.width, self.height)])
        ctx.ia_set_input_layout(self.layout)
        ctx.ia_set_primitive_topology(wddm.PrimitiveTopology.TRIANGLELIST)
        ctx.ia_set_vertex_buffers(0, [self.vertices], [32], [0])
        ctx.ia_set_index_buffer(self.indices, wddm.Format.R16_UINT, 0)
        ctx.vs_set_shader(self.vs)
        ctx.vs_set_constant_buffers(0, [self.constants])
        ctx.ps_set_shader(self.ps)
        ctx.ps_set_constant_buffers(0, [self.constants])
        ctx.ps_set_shader_resources(0, [self.texture])
        ctx.ps_set_samplers(0, [self.sampler])
        ctx.draw_indexed(36, 0, 0)


@contextlib.asynccontextmanager
async def open_gpu(connect: str | Address | None, settings: dict[str, Any]) -> AsyncIterator[Gpu]:
    """A running stack's, or a private one."""
    if connect is not None:
        async with wddm.connect(connect) as gpu:
            yield gpu
    else:
        async with stack.launch(**settings) as gpu:
            yield gpu


async def run(
    *,
    connect: str | Address | None = None,
    frames: int = 120,
    size: tuple[int, int] = (640, 360),
    out: Path | None = None,
    progress: bool = True,
    **settings: Any,
) -> Report:
    """Draw ``frames`` frames of the cube, one a vertical sync; write the last to ``out``."""
    report = Report()
    began = time.perf_counter()
    if connect is None:
        settings.setdefault("size", size)
    async with open_gpu(connect, settings) as gpu:
        report.start_seconds = time.perf_counter() - began if connect is None else None
        before = await counters(gpu)
        cpu_before = _cpu_seconds(gpu)
        scene = await Scene.create(gpu, *size)
        image = None
        started = time.perf_counter()
        for frame in range(frames):
            scene.draw(2 * math.pi * frame / 180 + 0.6)
            ctx = scene.device.immediate_context
            if frame == frames - 1:
                image = await ctx.read_texture(scene.back_buffer)
            elif frame % 8 == 0:  # a sample: waiting for every frame would undo the overlap
                asked = time.perf_counter()
                await ctx.wait_fence(ctx.signal())
                report.latencies_us.append((time.perf_counter() - asked) * 1e6)
            await scene.swap_chain.present(sync_interval=1)
            if frame == 0:
                first = await _shown(gpu, scene.swap_chain, 1)
                report.first_frame_seconds = time.perf_counter() - began
            if progress:
                _progress(frame + 1, frames)
        last = await _shown(gpu, scene.swap_chain, frames)
        report.seconds = time.perf_counter() - started
        report.frames = frames
        report.missed_vsyncs = last - first - (frames - 1)
        after = await counters(gpu)
        report.statistics = {name: value - before.get(name, 0) for name, value in after.items()}
        report.cpu_seconds = {name: value - cpu_before.get(name, 0.0) for name, value in _cpu_seconds(gpu).items()}
        if out is not None and image is not None:
            write_png(out, image)
    return report


async def _shown(gpu: Gpu, swap_chain: SwapChain, count: int) -> int:
    """Wait until present number ``count`` is on the screen, or one after it; returns the vertical sync at which it came."""
    while True:
        # The first question after a mode change only starts the statistics.
        with contextlib.suppress(wddm.D3DError):
            statistics = await swap_chain.get_frame_statistics()
            if statistics.present_count >= count:
                return statistics.present_refresh_count
        await gpu.wait_for_vblank()


async def counters(gpu: Gpu) -> dict[str, int]:
    """Every counter of the adapter by name."""
    info = await gpu.info()
    found = {statistic.name: statistic.value for statistic in info.statistics}
    for node in info.nodes:
        found[f"{node.name}: submitted"] = node.submitted
        found[f"{node.name}: completed"] = node.completed
        found[f"{node.name}: busy ns"] = node.busy_ns
    for source in info.sources:
        found[f"source {source.id}: flips"] = source.flips
    return found


def _cpu_seconds(gpu: Gpu) -> dict[str, float]:
    """Processor time of each process of a private stack, and of this one."""
    processes = {"client": os.getpid()}
    private = getattr(gpu, "stack", None)
    if private is not None:
        processes |= {name: child.pid for name, child in private.children.items()}
    ticks = os.sysconf("SC_CLK_TCK")
    found = {}
    for name, pid in processes.items():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        found[name] = (int(fields[11]) + int(fields[12])) / ticks
    return found


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        width = 40
        filled = width * done // total
        end = "\n" if done == total else ""
        print(f"\r  [{'#' * filled}{'.' * (width - filled)}] frame {done}/{total}", end=end, file=sys.stderr, flush=True)
    elif done == total or done % 30 == 0:
        print(f"  frame {done}/{total}", file=sys.stderr, flush=True)


#: Counters that are told only when something went wrong.
_TROUBLES: Final = {
    "engine_resets": "engine resets",
    "adapter_resets": "adapter resets",
    "faults": "faults",
    "refused_notifications": "refused notifications",
}
#: The processes from the app down: each is the far side of a boundary.
_SIDES: Final = {
    "client": "app",
    "runtime": "API: runtime + UMD",
    "kernel": "thunks: kernel + miniport",
    "vgpu": "bus: virtual GPU",
}


def table(report: Report) -> str:
    """The report as people read it."""
    rows: list[tuple[str, str]] = []
    if report.start_seconds is not None:
        first = f"first frame shown after {report.first_frame_seconds:.2f} s"
        rows.append(("start of the stack", f"{report.start_seconds:.2f} s, {first}"))
    rate = report.frames / report.seconds if report.seconds else 0.0
    rows.append(("frames", f"{report.frames} in {report.seconds:.2f} s ({rate:.1f} a second)"))
    found = report.statistics
    flips = sum(value for name, value in found.items() if name.endswith(": flips"))
    fences = sum(value for name, value in found.items() if name.endswith(": completed"))
    busy = sum(value for name, value in found.items() if name.endswith(": busy ns"))
    moved = f"{found.get('bytes_paged', 0) / 2**20:.1f} MiB moved, {found.get('evictions', 0)} evictions"
    rows += [
        ("flips", str(flips)),
        ("missed vsyncs", str(report.missed_vsyncs)),
        ("DMA buffers", str(found.get("dma_buffers", 0))),
        ("paging buffers", f"{found.get('paging_buffers', 0)} ({moved})"),
        ("fences", f"{fences} passed, {found.get('interrupts', 0)} interrupts with those of vertical sync"),
    ]
    for name, label in _TROUBLES.items():
        if found.get(name):
            rows.append((label, str(found[name])))
    if report.latencies_us:
        p50, p99 = np.percentile(report.latencies_us, [50, 99])
        rows.append(("submit to fence", f"p50 {p50 / 1000:.2f} ms, p99 {p99 / 1000:.2f} ms"))
    frames = max(1, report.frames)
    total = sum(report.cpu_seconds.values())
    seen = "processor time" if len(report.cpu_seconds) > 1 else "processor time; of a running stack only ours is known"
    rows.append(("time a frame, by boundary", f"({seen})"))
    for name, label in _SIDES.items():
        if name in report.cpu_seconds:
            share = 100 * report.cpu_seconds[name] / total if total else 0.0
            rows.append((f"  {label}", f"{1000 * report.cpu_seconds[name] / frames:.2f} ms ({share:.0f} %)"))
    rows.append(("  nodes of the GPU busy", f"{busy / 1e6 / frames:.2f} ms"))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:<{width}}  {value}" for name, value in rows)
