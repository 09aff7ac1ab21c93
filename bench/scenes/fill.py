"""Clear and flat full-screen quad rate, 1920x1080 RGBA8. ``.finish`` waits for every frame; ``.flush`` submits each, waits once."""

from __future__ import annotations

from functools import partial

import numpy as np

from .library import Loop, Ours, Scene, frames, rate

WIDTH, HEIGHT = 1920, 1080
GIGAPIXELS = WIDTH * HEIGHT / 1e9

FLAT = """
cbuffer Colour : register(b0) { float4 colour; };
float4 ps_main(Pixel i) : SV_Target { return colour; }
"""
GRADIENT = "float4 ps_main(Pixel i) : SV_Target { return float4(i.uv, 0.25, 1); }"


async def clear(ours: Ours, wait: bool) -> Loop:
    """Clear, in a changing colour."""
    target = await ours.target(WIDTH, HEIGHT)
    return frames(ours, lambda i: ours.clear(target, ((i & 7) / 8, 0.5, 0.25, 1)), wait=wait)


async def quad(ours: Ours, wait: bool) -> Loop:
    """A quad of one colour, a new one for each frame."""
    await ours.target(WIDTH, HEIGHT)
    await ours.quad(FLAT)
    constants = await ours.constants()
    colours = [np.array([i / 8, 0.5, 0.25, 1], np.float32) for i in range(8)]

    def frame(i: int) -> None:
        ours.ctx.write(constants, colours[i & 7])
        ours.ctx.draw(6)

    return frames(ours, frame, wait=wait)


async def gradient(ours: Ours) -> Loop:
    """A quad with an interpolated colour."""
    await ours.target(WIDTH, HEIGHT)
    await ours.quad(GRADIENT)
    return frames(ours, lambda _: ours.ctx.draw(6), wait=False)


SCENES: tuple[Scene, ...] = (
    rate("fill.clear.finish", "Gpix/s", GIGAPIXELS, partial(clear, wait=True)),
    rate("fill.clear.flush", "Gpix/s", GIGAPIXELS, partial(clear, wait=False), most=500),
    rate("fill.quad.finish", "Gpix/s", GIGAPIXELS, partial(quad, wait=True)),
    rate("fill.quad.flush", "Gpix/s", GIGAPIXELS, partial(quad, wait=False), most=500),
    rate("fill.gradient.flush", "Gpix/s", GIGAPIXELS, gradient, most=500),
)
