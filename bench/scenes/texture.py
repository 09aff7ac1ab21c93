"""Full-screen textured quad, 1920x1080 from 1024x1024 RGBA8. uv1: the texture covers the screen (magnified); uv4: repeated 4 times
each way (minified)."""

from __future__ import annotations

from functools import partial

import wddm

from .library import Loop, Ours, Scene, frames, geometry, rate

WIDTH, HEIGHT, SIZE = 1920, 1080, 1024
GIGAPIXELS = WIDTH * HEIGHT / 1e9

CASES = (
    ("nearest.uv1", 1, wddm.Filter.MIN_MAG_MIP_POINT, False),
    ("bilinear.uv1", 1, wddm.Filter.MIN_MAG_LINEAR_MIP_POINT, False),
    ("bilinear.uv4", 4, wddm.Filter.MIN_MAG_LINEAR_MIP_POINT, False),
    ("trilinear.uv4", 4, wddm.Filter.MIN_MAG_MIP_LINEAR, True),
    ("trilinear.uv1", 1, wddm.Filter.MIN_MAG_MIP_LINEAR, True),
)


async def textured(ours: Ours, repeat: int, filter: wddm.Filter, mips: bool) -> Loop:
    """One texture through one filter; without ``mips`` only the most detailed level is there, as in the peers' filters."""
    await ours.target(WIDTH, HEIGHT)
    await ours.quad(
        f"""
        Texture2D<float4> picture : register(t0);
        SamplerState state : register(s0);
        float4 ps_main(Pixel i) : SV_Target {{ return picture.Sample(state, i.uv * {repeat}.0); }}
        """
    )
    levels = geometry.mip_chain(geometry.noise(SIZE))
    ours.ctx.ps_set_shader_resources(0, [await ours.texture(levels if mips else levels[:1])])
    await ours.sampler(filter)
    return frames(ours, lambda _: ours.ctx.draw(6), wait=False)


SCENES: tuple[Scene, ...] = tuple(
    rate(
        f"texture.{name}", "Gpix/s", GIGAPIXELS, partial(textured, repeat=repeat, filter=filter, mips=mips), most=500
    )
    for name, repeat, filter, mips in CASES
)
