"""Time to the first picture of a new shader, for programs no two of which are alike.

hlsl: source to DXBC, which Direct3D apps mostly do before they ship; link: DXBC to shader objects; first_draw: to the end of the
first draw; warm_draw: the same again; new_variant: the first draw with blending on.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable

import numpy as np

import wddm
from bench.figures import Figure
from bench.timing import Pace

from .library import QUAD, Ours, Scene, compiled

PROGRAMS = 12


def source(kind: str, index: int) -> str:
    """The ``index``-th pixel shader of a kind."""
    if kind == "trivial":
        body = f"return float4(i.uv, {index * 0.013 + 0.1:f}, 1);"
    elif kind == "mad100":
        rounds = "".join(f"a = a * {0.9 + 0.001 * index + 0.0001 * j:f} + i.uv.yxyx; " for j in range(25))
        body = f"float4 a = i.uv.xyxy; {rounds}return a;"
    else:
        body = (
            f"float3 n = normalize(float3(i.uv, {index * 0.01 + 0.5:f}));"
            "return t.Sample(s, i.uv) * max(dot(n, float3(0.3, 0.5, 0.8)), 0.1) + pow(n.z, 20.0);"
        )
    return f"Texture2D<float4> t : register(t0); SamplerState s : register(s0);\nfloat4 ps_main(Pixel i) : SV_Target {{ {body} }}"


STEPS = ("link", "first_draw", "new_variant", "warm_draw", "hlsl")


def compile_time(kind: str) -> Scene:
    """All steps of one kind of program."""
    tests = tuple(f"jit.{kind}.{step}" for step in STEPS)

    async def measure(ours: Ours, pace: Pace) -> list[Figure]:


        await ours.target(64, 64)
        picture = [np.zeros((16, 16, 4), np.uint8)]
        ours.ctx.ps_set_shader_resources(0, [await ours.texture(picture)])
        await ours.sampler(wddm.Filter.MIN_MAG_MIP_LINEAR)
        over = await ours.alpha_blend()
        await ours.quad("float4 ps_main(Pixel i) : SV_Target { return 1; }")
        await draw(ours)
        taken: dict[str, list[float]] = {step: [] for step in STEPS}

        async def step(name: str, work: Awaitable[None]) -> None:
            began = time.perf_counter()
            await work
            taken[name].append((time.perf_counter() - began) * 1e3)

        for index in range(PROGRAMS):
            text = QUAD + source(kind, index)
            began = time.perf_counter()
            vertex, pixel = compiled(text, "vs_main", "vs_5_0"), compiled(text, "ps_main", "ps_5_0")
            taken["hlsl"].append((time.perf_counter() - began) * 1e3)
            await step("link", ours.use(vertex, pixel))
            await step("first_draw", draw(ours))
            await step("warm_draw", draw(ours))
            ours.ctx.om_set_blend_state(over)
            await step("new_variant", draw(ours))
            ours.ctx.om_set_blend_state(None)
        return [Figure(f"jit.{kind}.{name}", "ms", taken[name][1:], "low") for name in STEPS]

    return Scene(tests, measure)


async def draw(ours: Ours) -> None:
    """One quad, waited for."""
    ours.ctx.draw(6)
    await ours.ctx.wait_idle()


SCENES: tuple[Scene, ...] = tuple(compile_time(kind) for kind in ("trivial", "mad100", "texlit"))
