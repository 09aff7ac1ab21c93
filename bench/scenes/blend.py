"""16 full-screen alpha-blended quads at 1920x1080."""

from __future__ import annotations

import numpy as np

from .library import Loop, Ours, Scene, frames, rate

WIDTH, HEIGHT, LAYERS = 1920, 1080, 16
GIGAPIXELS = WIDTH * HEIGHT * LAYERS / 1e9

BY_INSTANCE = """
float4 ps_main(Pixel i) : SV_Target
{
    return float4((i.instance & 3) * 0.3, (i.instance >> 2) * 0.3, 0.5, 0.3);
}
"""
BY_CONSTANT = """
cbuffer Colour : register(b0) { float4 colour; };
float4 ps_main(Pixel i) : SV_Target { return colour; }
"""
COLOURS = [np.array([i / 16, 0.5, 0.2, 0.3], np.float32) for i in range(LAYERS)]


async def instanced(ours: Ours) -> Loop:
    """All layers in one draw of 16 instances."""
    target = await ours.target(WIDTH, HEIGHT)
    await ours.quad(BY_INSTANCE)
    ours.ctx.om_set_blend_state(await ours.alpha_blend())

    def frame(_: int) -> None:
        ours.clear(target)
        ours.ctx.draw_instanced(6, LAYERS)

    return frames(ours, frame, wait=True)


async def draws(ours: Ours) -> Loop:
    """One draw and one change of constants for each layer."""
    target = await ours.target(WIDTH, HEIGHT)
    await ours.quad(BY_CONSTANT)
    constants = await ours.constants()
    ours.ctx.om_set_blend_state(await ours.alpha_blend())

    def frame(_: int) -> None:
        ours.clear(target)
        for colour in COLOURS:
            ours.ctx.write(constants, colour)
            ours.ctx.draw(6)

    return frames(ours, frame, wait=True)


async def flushed(ours: Ours) -> Loop:
    """One submission for each layer, so that nothing is hidden or fused."""
    await ours.target(WIDTH, HEIGHT)
    await ours.quad(BY_CONSTANT)
    constants = await ours.constants()
    ours.ctx.om_set_blend_state(await ours.alpha_blend())

    def frame(_: int) -> None:
        for colour in COLOURS:
            ours.ctx.write(constants, colour)
            ours.ctx.draw(6)
            ours.ctx.flush()

    return frames(ours, frame, wait=True)


SCENES: tuple[Scene, ...] = (
    rate("blend.x16.instanced", "Gpix/s", GIGAPIXELS, instanced),
    rate("blend.x16.draws", "Gpix/s", GIGAPIXELS, draws),
    rate("blend.x16.flushed", "Gpix/s", GIGAPIXELS, flushed),
)
