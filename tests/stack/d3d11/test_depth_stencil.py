"""Depth and stencil: formats, every comparison and operation, both faces, masks, read-only views, views for shaders."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import wddm
from tests.stack.d3d11.lab import Lab, point
from tests.stack.d3d11.test_raster import depth_of
from wddm import BindFlag, ComparisonFunc, DsvFlag, Format, StencilOp, StencilOps

COMPARE: dict[ComparisonFunc, Any] = {
    ComparisonFunc.NEVER: lambda a, b: np.zeros(np.broadcast(a, b).shape, bool), ComparisonFunc.LESS: operator.lt,
    ComparisonFunc.EQUAL: operator.eq, ComparisonFunc.LESS_EQUAL: operator.le, ComparisonFunc.GREATER: operator.gt,
    ComparisonFunc.NOT_EQUAL: operator.ne, ComparisonFunc.GREATER_EQUAL: operator.ge,
    ComparisonFunc.ALWAYS: lambda a, b: np.ones(np.broadcast(a, b).shape, bool),
}  # fmt: skip

OPERATIONS: dict[StencilOp, Any] = {
    StencilOp.KEEP: lambda s, ref: s, StencilOp.ZERO: lambda s, ref: s * 0, StencilOp.REPLACE: lambda s, ref: s * 0 + ref,
    StencilOp.INCR_SAT: lambda s, ref: np.minimum(s + 1, 255), StencilOp.DECR_SAT: lambda s, ref: np.maximum(s - 1, 0),
    StencilOp.INVERT: lambda s, ref: 255 - s, StencilOp.INCR: lambda s, ref: (s + 1) & 255, StencilOp.DECR: lambda s, ref: (s - 1) & 255,
}  # fmt: skip

FORMATS = [Format.D16_UNORM, Format.D24_UNORM_S8_UINT, Format.D32_FLOAT, Format.D32_FLOAT_S8X24_UINT]
WITH_STENCIL = [Format.D24_UNORM_S8_UINT, Format.D32_FLOAT_S8X24_UINT]
BOTH = pytest.mark.parametrize("format", WITH_STENCIL, ids=lambda f: f.name)
#: Stencil values that the columns of a target start with.
START = np.array([0, 1, 5, 100, 127, 128, 254, 255])


def depths(image: Any, format: Format) -> Any:
    """Depths of any format as numbers."""
    return image["depth"] if format is Format.D32_FLOAT_S8X24_UINT else depth_of(image, format)


def stencils(image: Any, format: Format) -> Any:
    """Stencil values as integers."""
    return (image["stencil"] if format is Format.D32_FLOAT_S8X24_UINT else image >> 24).astype(np.int64)


@pytest.mark.parametrize("format", FORMATS, ids=lambda f: f.name)
async def test_depth_comparisons(lab: Lab, format: Format) -> None:
    """A slope against 0.5: each function draws its columns and writes their depth, exactly as the format rounds it."""
    size = (8, 2)
    ctx = lab.ctx
    target, rtv = await lab.target(*size)
    depth, dsv = await lab.depth(*size, format)
    ctx.om_set_render_targets([rtv], dsv)
    # z = (x + 0.5) / 8, which is 0.5 at no centre, moved by half a pixel so that column 4 is exact.
    await lab.vertices([point(0.5, 0, size, 0), point(8.5, 0, size, 1), point(0.5, 4, size, 0), point(8.5, 0, size, 1), point(8.5, 4, size, 1), point(0.5, 4, size, 0)])
    ctx.rs_set_viewports([wddm.Viewport(0, 0, *size)])
    z = np.arange(8) / 8
    stored = {Format.D16_UNORM: np.round(z * 65535) / 65535, Format.D24_UNORM_S8_UINT: np.round(z * 16777215) / 16777215}.get(format, z)
    half = {Format.D16_UNORM: 32768 / 65535, Format.D24_UNORM_S8_UINT: 8388608 / 16777215}.get(format, 0.5)
    for function, compare in COMPARE.items():
        for write in (1, 0) if function is ComparisonFunc.GREATER else (1,):
            ctx.clear_depth_stencil_view(dsv, 1, 0.5)
            ctx.clear_render_target_view(rtv, (0, 0, 0, 0))
            ctx.om_set_depth_stencil_state(await lab.device.create_depth_stencil_state(depth_func=function, depth_write_mask=write))
            ctx.draw(6)
            passed = compare(stored, half)
            np.testing.assert_array_equal((await ctx.read_texture(target))[0, 1:, 3] != 0, passed[1:], err_msg=function.name)
            got = depths(await ctx.read_texture(depth), format)[0]
            np.testing.assert_allclose(got[1:], np.where(passed & (write == 1), stored, half)[1:], atol=1e-9 if format is not Format.D32_FLOAT else 1e-7, rtol=1e-6)
    ctx.om_set_depth_stencil_state(await lab.device.create_depth_stencil_state(depth_enable=False))
    ctx.clear_depth_stencil_view(dsv, 1, 0.25)
    ctx.draw(6)
    assert (await ctx.read_texture(target))[:, 1:, 3].all()
    np.testing.assert_allclose(depths(await ctx.read_texture(depth), format), 0.25, atol=1e-5)


class StencilScene:
    """Eight columns with the stencil values START; the left half fails the depth test, both windings can be drawn."""

    def __init__(self, lab: Lab, format: Format) -> None:
        self.lab, self.format = lab, format

    async def prepare(self) -> StencilScene:
        size = (8, 2)
        lab = self.lab
        self.target, self.rtv = await lab.target(*size)
        self.texture, self.dsv = await lab.depth(*size, self.format)
        rows = []
        for back in (False, True):
            for half, z in ((0, 0.75), (1, 0.25)):
                a, b = half * 4, half * 4 + 4
                corners = [(a, 0), (b, 0), (a, 2), (b, 0), (b, 2), (a, 2)]
                rows += [point(*p, size, z) for p in (corners[::-1] if back else corners)]
        for x in range(8):
            rows += [point(*p, size, 0.5) for p in ((x, 0), (x + 1, 0), (x, 2), (x + 1, 0), (x + 1, 2), (x, 2))]
        await lab.vertices(rows)
        indices = await lab.device.create_buffer(np.arange(len(rows), dtype=np.uint16), bind_flags=BindFlag.INDEX_BUFFER)
        lab.ctx.ia_set_index_buffer(indices, Format.R16_UINT)
        replace = StencilOps(stencil_pass_op=StencilOp.REPLACE)
        self.write = await lab.device.create_depth_stencil_state(depth_func=ComparisonFunc.ALWAYS, stencil_enable=True, front_face=replace, back_face=replace)
        return self

    async def run(self, reference: int, back: bool = False, dsv: Any = None, **state: Any) -> tuple[Any, Any]:
        """Fill, draw once; returns the colours' row and the stencil row."""
        ctx = self.lab.ctx
        ctx.om_set_render_targets([], self.dsv)
        for x, value in enumerate(START):
            ctx.om_set_depth_stencil_state(self.write, int(value))
            ctx.draw_indexed(6, 24 + 6 * x)
        ctx.om_set_render_targets([self.rtv], dsv or self.dsv)
        ctx.clear_render_target_view(self.rtv, (0, 0, 0, 0))
        ctx.om_set_depth_stencil_state(await self.lab.device.create_depth_stencil_state(stencil_enable=True, **state), reference)
        ctx.draw_indexed(12, 12 if back else 0)
        return (await ctx.read_texture(self.target))[0, :, 3] != 0, stencils(await ctx.read_texture(self.texture), self.format)[0]


@BOTH
async def test_stencil_functions_and_masks(lab: Lab, format: Format) -> None:
    scene = await StencilScene(lab, format).prepare()
    for function, compare in COMPARE.items():
        for mask in (0xFF, 0x84):
            face = StencilOps(StencilOp.ZERO, StencilOp.KEEP, StencilOp.KEEP, function)
            drawn, stencil = await scene.run(100, depth_enable=False, stencil_read_mask=mask, front_face=face)
            passed = compare(np.int64(100 & mask), START & mask)
            np.testing.assert_array_equal(drawn, passed, err_msg=function.name)
            np.testing.assert_array_equal(stencil, np.where(passed, START, 0), err_msg=function.name)


@BOTH
async def test_stencil_operations(lab: Lab, format: Format) -> None:
    """Each operation where stencil fails, where depth fails and where both pass, through a write mask."""
    scene = await StencilScene(lab, format).prepare()
    for number, op in enumerate(StencilOp):
        other, third = list(StencilOp)[(number + 3) % 8], list(StencilOp)[(number + 5) % 8]
        mask = 0xFF if number % 2 == 0 else 0x3C
        face = StencilOps(other, third, op, ComparisonFunc.GREATER_EQUAL)
        drawn, stencil = await scene.run(127, stencil_write_mask=mask, front_face=face)
        passed = START <= 127
        deep = np.arange(8) >= 4
        chosen = np.where(~passed, OPERATIONS[other](START, 127), np.where(deep, OPERATIONS[op](START, 127), OPERATIONS[third](START, 127)))
        np.testing.assert_array_equal(drawn, passed & deep)
        np.testing.assert_array_equal(stencil, START & ~mask | chosen & mask, err_msg=op.name)


@BOTH
async def test_two_sided_stencil(lab: Lab, format: Format) -> None:
    scene = await StencilScene(lab, format).prepare()
    faces = {
        "front_face": StencilOps(StencilOp.KEEP, StencilOp.KEEP, StencilOp.INCR, ComparisonFunc.ALWAYS),
        "back_face": StencilOps(StencilOp.REPLACE, StencilOp.KEEP, StencilOp.DECR_SAT, ComparisonFunc.LESS),
    }
    _, front = await scene.run(5, depth_enable=False, **faces)
    np.testing.assert_array_equal(front, (START + 1) & 255)
    _, back = await scene.run(5, back=True, depth_enable=False, **faces)
    np.testing.assert_array_equal(back, np.where(START > 5, START - 1, 5))


@BOTH
async def test_clears_and_read_only_views(lab: Lab, format: Format) -> None:
    """Depth and stencil are cleared apart; a read-only view tests and leaves what it reads."""
    ctx = lab.ctx
    scene = await StencilScene(lab, format).prepare()
    for flags, want_depth, want_stencil in ((3, 0.5, 7), (1, 0.125, 7), (2, 0.125, 0xAB)):
        ctx.clear_depth_stencil_view(scene.dsv, flags, want_depth, want_stencil)
        image = await ctx.read_texture(scene.texture)
        np.testing.assert_allclose(depths(image, format), want_depth, atol=1e-7)
        assert (stencils(image, format) == want_stencil).all()
    view = await lab.device.create_depth_stencil_view(scene.texture, flags=DsvFlag.READ_ONLY_STENCIL)
    face = StencilOps(stencil_pass_op=StencilOp.INCR)
    drawn, stencil = await scene.run(0, dsv=view, front_face=face)
    assert drawn.tolist() == [False] * 4 + [True] * 4
    np.testing.assert_array_equal(stencil, START)
    view = await lab.device.create_depth_stencil_view(scene.texture, flags=DsvFlag.READ_ONLY_DEPTH)
    ctx.clear_depth_stencil_view(scene.dsv, 3, 0.5, 0)
    ctx.om_set_render_targets([scene.rtv], view)
    ctx.om_set_depth_stencil_state(None)
    ctx.draw_indexed(12, 0)
    np.testing.assert_allclose(depths(await ctx.read_texture(scene.texture), format), 0.5, atol=1e-7)


@pytest.mark.parametrize(
    ("typeless", "depth", "read", "stencil"),
    [
        (Format.R16_TYPELESS, Format.D16_UNORM, Format.R16_UNORM, None),
        (Format.R32_TYPELESS, Format.D32_FLOAT, Format.R32_FLOAT, None),
        (Format.R24G8_TYPELESS, Format.D24_UNORM_S8_UINT, Format.R24_UNORM_X8_TYPELESS, Format.X24_TYPELESS_G8_UINT),
        (Format.R32G8X24_TYPELESS, Format.D32_FLOAT_S8X24_UINT, Format.R32_FLOAT_X8X24_TYPELESS, Format.X32_TYPELESS_G8X24_UINT),
    ],
    ids=lambda f: f.name if f else "none",
)
async def test_shaders_read_depth_and_stencil(lab: Lab, typeless: Format, depth: Format, read: Format, stencil: Format | None) -> None:
    device, ctx = lab.device, lab.ctx
    texture = await device.create_texture2d(width=4, height=4, mip_levels=2, array_size=2, format=typeless, bind_flags=BindFlag.DEPTH_STENCIL | BindFlag.SHADER_RESOURCE)
    for mip in range(2):
        for slice_ in range(2):
            dsv = await device.create_depth_stencil_view(texture, format=depth, dimension=wddm.DsvDimension.TEXTURE2DARRAY, mip_slice=mip, first_array_slice=slice_, array_size=1)
            ctx.clear_depth_stencil_view(dsv, 3 if stencil else 1, 0.25 * (mip * 2 + slice_), 10 + mip * 2 + slice_)
    views = [await device.create_shader_resource_view(texture, format=read)]
    source = """
    Texture2DArray<float> d : register(t0); Texture2DArray<uint4> s : register(t1); SamplerComparisonState c : register(s0);
    RWStructuredBuffer<float4> o : register(u0);
    [numthreads(4, 1, 1)] void cs(uint i : SV_GroupIndex) { int4 at = int4(1, 1, i & 1, i >> 1);
        o[i] = float4(d.Load(at), STENCIL, d.SampleCmpLevelZero(c, float3(0.5, 0.5, i & 1), 0.1), 1); }
    """
    if stencil:
        views.append(await device.create_shader_resource_view(texture, format=stencil))
    sampler = await lab.sampler(filter=wddm.Filter.COMPARISON_MIN_MAG_LINEAR_MIP_POINT, comparison_func=ComparisonFunc.LESS)
    got = await lab.compute(source.replace("STENCIL", "s.Load(at).g" if stencil else "0"), 16, *views, stride=16, samplers=[sampler])
    got = got.reshape(4, 4)
    order = [0, 1, 2, 3]
    np.testing.assert_allclose(got[:, 0], [0.25 * n for n in order], atol=1e-5)
    assert got[:, 1].tolist() == ([10 + n for n in order] if stencil else [0] * 4)
    assert got[:, 2].tolist() == [0, 1, 0, 1]
