"""Stages and topologies that do not fit together draw nothing, and lose no device."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.scenes import FULL, Simple
from tests.support.stack import whole_stack
from wddm import PrimitiveTopology, hlsl
from wddm.hw.registers import EngineKind

SHADERS = """
struct Pixel { float4 position : SV_Position; float4 color : COLOR; };
struct Quad { float edge[4] : SV_TessFactor; float inside[2] : SV_InsideTessFactor; };
struct Triangle { float edge[3] : SV_TessFactor; float inside : SV_InsideTessFactor; };
Quad quad_factors(InputPatch<Pixel, 4> p) { Quad q; q.edge[0] = q.edge[1] = q.edge[2] = q.edge[3] = 2; q.inside[0] = q.inside[1] = 2; return q; }
[domain("quad")] [partitioning("integer")] [outputtopology("triangle_cw")] [outputcontrolpoints(4)] [patchconstantfunc("quad_factors")]
Pixel hull_quad(InputPatch<Pixel, 4> p, uint i : SV_OutputControlPointID) { return p[i]; }
[domain("quad")] Pixel domain_quad(Quad q, float2 uv : SV_DomainLocation, const OutputPatch<Pixel, 4> p) { Pixel o = p[0]; o.position.xy += uv; return o; }
[domain("tri")] Pixel domain_tri(Triangle q, float3 uv : SV_DomainLocation, const OutputPatch<Pixel, 3> p) { Pixel o = p[0]; o.position.xy += uv.xy; return o; }
[maxvertexcount(1)] void geometry_points(point Pixel p[1], inout PointStream<Pixel> s) { s.Append(p[0]); }
"""
MODELS = {"hull": "hs_5_0", "domain": "ds_5_0", "geometry": "gs_5_0"}


@pytest.mark.parametrize("engine", list(EngineKind), ids=lambda e: e.name.lower())
@pytest.mark.parametrize(
    ("topology", "shaders"),
    [
        (36, ["hull_quad", "domain_tri"]),
        (34, ["hull_quad", "domain_quad"]),
        (PrimitiveTopology.TRIANGLELIST, ["hull_quad", "domain_quad"]),
        (36, ["hull_quad"]),
        (36, ["domain_quad"]),
        (36, []),
        (PrimitiveTopology.TRIANGLELIST, ["geometry_points"]),
        (36, ["hull_quad", "domain_quad", "geometry_points"]),
    ],
    ids=["domains", "patch size", "triangles as patches", "no domain", "no hull", "patches as triangles", "points", "points after"],
)
async def test_nothing_is_drawn_and_the_device_goes_on(topology: int, shaders: list[str], engine: EngineKind, autojump_clock: Any) -> None:
    async with whole_stack(engine=engine) as stack, stack.connect() as gpu:
        scene = await Simple.create(gpu, vertices=FULL, size=(16, 16))
        ctx = scene.ctx
        ctx.clear_render_target_view(scene.rtv, (0, 0, 0, 0))
        ctx.om_set_render_targets([scene.rtv])
        ctx.ia_set_primitive_topology(topology)
        for name in shaders:
            stage = name.split("_")[0]
            code = hlsl.compile(SHADERS, name, MODELS[stage])
            made = await getattr(scene.device, f"create_{stage}_shader")(code)
            getattr(ctx, f"{MODELS[stage][:2]}_set_shader")(made)
        for _ in range(3):
            ctx.draw(12, 0)
        assert not (await scene.read()).any()
        for stage in ("hs", "ds", "gs"):
            getattr(ctx, f"{stage}_set_shader")(None)
        ctx.ia_set_primitive_topology(PrimitiveTopology.TRIANGLELIST)
        scene.draw(tint=(0, 1, 0, 1))
        assert (await scene.read())[1, 1].tolist() == [0, 255, 0, 255]
