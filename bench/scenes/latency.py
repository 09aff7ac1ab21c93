"""Submit latency: the smallest draw (one pixel) and the wait for it, nothing and the wait for it, a small clear, and a one-pixel
draw with a one-pixel read-back. Every round trip is timed by itself."""

from __future__ import annotations

from functools import partial

import wddm

from .library import Loop, Ours, Scene, latency

PIXEL = """
float4 vs_main() : SV_Position { return float4(0, 0, 0, 1); }
float4 ps_main() : SV_Target { return float4(1, 0, 1, 1); }
"""


async def draw(ours: Ours, width: int = 64, height: int = 64) -> Loop:
    """One pixel drawn, and waited for."""
    await ours.target(width, height)
    await ours.program(PIXEL)
    ours.ctx.ia_set_primitive_topology(wddm.PrimitiveTopology.POINTLIST)
    ctx = ours.ctx

    async def loop(count: int) -> None:
        for _ in range(count):
            ctx.draw(1)
            await ctx.wait_idle()

    return loop


async def empty(ours: Ours) -> Loop:
    """An empty command buffer, and the wait for its fence."""
    ctx = ours.ctx

    async def loop(count: int) -> None:
        for _ in range(count):
            await ctx.wait_idle()

    return loop


async def clear(ours: Ours) -> Loop:
    """A clear of 64x64, waited for."""
    target = await ours.target(64, 64)

    async def loop(count: int) -> None:
        for _ in range(count):
            ours.clear(target, (1, 0, 0, 1))
            await ours.ctx.wait_idle()

    return loop


async def read(ours: Ours) -> Loop:
    """One pixel drawn, and read."""
    target = await ours.target(64, 64)
    await ours.program(PIXEL)
    ours.ctx.ia_set_primitive_topology(wddm.PrimitiveTopology.POINTLIST)

    async def loop(count: int) -> None:
        for _ in range(count):
            ours.ctx.draw(1)
            await ours.ctx.read_texture(target.texture, 0, (0, 0, 0, 1, 1, 1))

    return loop


SCENES: tuple[Scene, ...] = (
    latency("latency.draw1px.finish", draw),
    latency("latency.empty.finish", empty),
    latency("latency.clear64.finish", clear),
    latency("latency.draw1px.read1px", read),
    latency("latency.draw1px.finish.720p", partial(draw, width=1280, height=720)),
)
