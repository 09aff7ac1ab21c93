"""A spinning textured cube at 1280x720 with depth: read back each frame, waited for each frame, or submitted and waited for at the
end."""

from __future__ import annotations

from functools import partial

import numpy as np

import wddm

from .library import RGBA8, Loop, Ours, Scene, geometry, rate

WIDTH, HEIGHT = 1280, 720

CUBE = """
cbuffer Frame : register(b0) { float4x4 m; };
Texture2D<float4> picture : register(t0);
SamplerState state : register(s0);
struct Pixel { float4 position : SV_Position; float2 uv : TEXCOORD0; float3 normal : NORMAL; };

Pixel vs_main(float3 p : POSITION, float3 n : NORMAL, float2 t : TEXCOORD0)
{
    Pixel o;
    o.position = mul(m, float4(p, 1));
    o.uv = t;
    o.normal = n;
    return o;
}

float4 ps_main(Pixel i) : SV_Target
{
    float l = 0.3 + 0.7 * max(dot(normalize(i.normal), normalize(float3(0.3, 0.5, 0.8))), 0.0);
    return float4(picture.Sample(state, i.uv).rgb * l, 1);
}
"""
LAYOUT = (
    ("POSITION", 0, wddm.Format.R32G32B32_FLOAT, 0, 0),
    ("NORMAL", 0, wddm.Format.R32G32B32_FLOAT, 0, 12),
    ("TEXCOORD", 0, wddm.Format.R32G32_FLOAT, 0, 24),
)


async def spin(ours: Ours, kind: str) -> Loop:
    """``kind``: readback, finish or flush."""
    target = await ours.target(WIDTH, HEIGHT, depth=True)
    await ours.program(CUBE, LAYOUT)
    await ours.vertices(geometry.cube())
    constants = await ours.constants(64)
    ours.ctx.ps_set_shader_resources(0, [await ours.texture(geometry.mip_chain(geometry.checker()))])
    await ours.sampler(wddm.Filter.MIN_MAG_MIP_LINEAR)
    matrices = geometry.cube_matrices()
    out = np.zeros((HEIGHT, WIDTH, 4), np.uint8)
    through = await ours.device.create_texture2d(
        width=WIDTH, height=HEIGHT, format=RGBA8, usage=wddm.Usage.STAGING, bind_flags=0, cpu_access_flags=wddm.CpuAccessFlag.READ
    )
    ctx = ours.ctx

    async def loop(count: int) -> None:
        for i in range(count):
            ours.clear(target, (0.1, 0.1, 0.2, 1))
            ctx.write(constants, matrices[i & 255])
            ctx.draw(36)
            if kind == "readback":
                ctx.copy_resource(through, target.texture)
                mapped = await ctx.map(through, 0, wddm.MapType.READ)
                np.copyto(out, np.ndarray(out.shape, np.uint8, mapped.data.data, 0, (mapped.row_pitch, 4, 1)))
                ctx.unmap(through)
            elif kind == "finish":
                await ctx.wait_idle()
            else:
                ctx.flush()
        await ctx.wait_idle()

    return loop


SCENES: tuple[Scene, ...] = (
    rate("frameloop.cube.readback", "fps", 1, partial(spin, kind="readback")),
    rate("frameloop.cube.finish", "fps", 1, partial(spin, kind="finish")),
    rate("frameloop.cube.flush", "fps", 1, partial(spin, kind="flush"), most=300),
)
