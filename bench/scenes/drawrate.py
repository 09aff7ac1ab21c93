"""10,000 small draws (one 4x4-pixel quad each) in one frame, 256x256 target, recorded one call at a time.

same: nothing changes between draws; uniform: four constants each; blend: constants, and blending on and off; texture: constants and
another texture; clipped: constants, and nothing to rasterize.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import wddm

from .library import Loop, Ours, Scene, frames, geometry, rate

SIZE, COUNT = 256, 10_000

VERTEX = """
cbuffer Place : register(b0) { float4 c; };
struct Pixel { float4 position : SV_Position; };
Pixel vs_main(uint vertex : SV_VertexID)
{
    float2 p = float2(vertex == 1 || vertex == 2 || vertex == 4, vertex == 2 || vertex == 4 || vertex == 5);
    Pixel o;
    o.position = float4(c.xy + p * (4.0 / 128.0), 0, 1);
    return o;
}
"""
PLAIN = VERTEX + "float4 ps_main() : SV_Target { return c; }"
TEXTURED = (
    VERTEX
    + """
Texture2D<float4> picture : register(t0);
SamplerState state : register(s0);
float4 ps_main() : SV_Target { return c * picture.Sample(state, c.zw); }
"""
)


async def draws(ours: Ours, kind: str, count: int = COUNT) -> Loop:
    """``count`` draws a frame; ``kind`` is what changes between them."""

    target = await ours.target(SIZE, SIZE)
    await ours.program(TEXTURED if kind == "texture" else PLAIN)
    constants = await ours.constants()
    over = await ours.alpha_blend()
    views = [await ours.texture([np.zeros((16, 16, 4), np.uint8)]) for _ in range(2)]
    await ours.sampler(wddm.Filter.MIN_MAG_MIP_POINT)
    ours.ctx.ps_set_shader_resources(0, views[:1])
    where = list(geometry.places(count))
    outside = np.array([5, 5, 0, 0], np.float32)
    ctx = ours.ctx

    def same() -> None:
        ctx.write(constants, where[0])
        for _ in range(count):
            ctx.draw(6)

    def uniform() -> None:
        for place in where:
            ctx.write(constants, place)
            ctx.draw(6)

    def blend() -> None:
        for i, place in enumerate(where):
            ctx.om_set_blend_state(over if i & 1 else None)
            ctx.write(constants, place)
            ctx.draw(6)
        ctx.om_set_blend_state(None)

    def texture() -> None:
        for i, place in enumerate(where):
            ctx.ps_set_shader_resources(0, [views[i & 1]])
            ctx.write(constants, place)
            ctx.draw(6)

    def clipped() -> None:
        for _ in where:
            ctx.write(constants, outside)
            ctx.draw(6)

    record: Callable[[], None] = {
        "same": same, "uniform": uniform, "blend": blend, "texture": texture, "clipped": clipped,
    }[kind]  # fmt: skip

    def frame(_: int) -> None:
        ours.clear(target)
        record()

    return frames(ours, frame, wait=True)


KINDS = ("same", "uniform", "blend", "texture", "clipped")
SCENES: tuple[Scene, ...] = tuple(rate(f"drawrate.{kind}", "kdraw/s", COUNT / 1e3, partial(draws, kind=kind)) for kind in KINDS)
