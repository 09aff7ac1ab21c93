"""Blending: every factor and operation, dual source, write masks, independent targets, float, integer and sRGB targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wddm
from tests.stack.d3d11.lab import FLOAT4, FULL, Lab
from tests.stack.d3d11.test_formats import formats
from tests.stack.d3d11.texels import check_encoded, decode, plain
from wddm import Blend, BlendOp, Format, RenderTargetBlend
from wddm.ddi.dxgiformat import FormatAbility

SRC = np.array([0.75, -0.5, 0.25, 0.625])
DST = np.array([0.5, 0.875, 2.0, 0.375])
SRC1 = np.array([0.125, 0.5, 1.0, 0.75])
FACTOR = np.array([0.25, 0.5, 0.75, 1.5])
ONES = np.ones(4)


def factor(blend: Blend, alpha: bool) -> Any:
    """A factor as four numbers, without clamping (float targets)."""
    values: dict[Blend, Any] = {
        Blend.ZERO: 0 * ONES, Blend.ONE: ONES, Blend.SRC_COLOR: SRC, Blend.SRC_ALPHA: SRC[3] * ONES, Blend.DEST_ALPHA: DST[3] * ONES,
        Blend.DEST_COLOR: DST, Blend.BLEND_FACTOR: FACTOR, Blend.SRC1_COLOR: SRC1, Blend.SRC1_ALPHA: SRC1[3] * ONES,
        Blend.SRC_ALPHA_SAT: np.array([*[min(SRC[3], 1 - DST[3])] * 3, 1]),
    }  # fmt: skip
    if blend.name.startswith("INV_"):
        return 1 - factor(Blend[blend.name[4:]], alpha)
    return values[blend]


def apply(op: BlendOp, a: Any, fa: Any, b: Any, fb: Any) -> Any:
    """One equation; MIN and MAX take no factors."""
    return {
        BlendOp.ADD: a * fa + b * fb, BlendOp.SUBTRACT: a * fa - b * fb, BlendOp.REV_SUBTRACT: b * fb - a * fa,
        BlendOp.MIN: np.minimum(a, b), BlendOp.MAX: np.maximum(a, b),
    }[op]  # fmt: skip


SINGLE = "cbuffer C : register(b0) { float4 s; float4 s1; }; float4 ps(Full f) : SV_Target { return s; }"
DUAL = "cbuffer C : register(b0) { float4 s; float4 s1; }; struct O { float4 a : SV_Target0; float4 b : SV_Target1; }; O ps(Full f) { O o; o.a = s; o.b = s1; return o; }"


async def blended(lab: Lab, target: Any, view: Any, description: RenderTargetBlend, dst: Any = DST) -> Any:
    """One draw over a cleared target."""
    lab.ctx.clear_render_target_view(view, tuple(dst))
    lab.ctx.om_set_blend_state(await lab.device.create_blend_state(render_target=description), tuple(FACTOR))
    lab.ctx.draw(3)
    image = await lab.ctx.read_texture(target)
    assert (image == image[0, 0]).all()
    return image[0, 0]


@pytest.mark.parametrize("source", [True, False], ids=["source", "destination"])
async def test_factors(lab: Lab, source: bool) -> None:
    target, view = await lab.target(2, 2)
    await lab.full(DUAL)
    lab.ctx.ps_set_constant_buffers(0, [await lab.constants(*SRC, *SRC1)])
    for blend in Blend:
        # The alpha equation takes no colour factors.
        letters = blend.name.replace("COLOR", "ALPHA")
        alpha = Blend[letters] if letters in Blend.__members__ else blend
        one = RenderTargetBlend(True, blend, Blend.ONE, BlendOp.ADD, alpha, Blend.ONE, BlendOp.ADD)
        two = RenderTargetBlend(True, Blend.ONE, blend, BlendOp.ADD, Blend.ONE, alpha, BlendOp.ADD)
        got = await blended(lab, target, view, one if source else two)
        fa, fb = (factor(blend, False), ONES) if source else (ONES, factor(blend, False))
        want = apply(BlendOp.ADD, SRC, fa, DST, fb)
        fa, fb = (factor(alpha, True), ONES) if source else (ONES, factor(alpha, True))
        want[3] = apply(BlendOp.ADD, SRC, fa, DST, fb)[3]
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6, err_msg=blend.name)


async def test_operations(lab: Lab) -> None:
    target, view = await lab.target(2, 2)
    await lab.full(SINGLE)
    lab.ctx.ps_set_constant_buffers(0, [await lab.constants(*SRC, *SRC1)])
    for op in BlendOp:
        other = list(BlendOp)[(op + 1) % 5]
        description = RenderTargetBlend(True, Blend.SRC_ALPHA, Blend.INV_DEST_COLOR, op, Blend.DEST_ALPHA, Blend.INV_BLEND_FACTOR, other)
        got = await blended(lab, target, view, description)
        want = apply(op, SRC, factor(Blend.SRC_ALPHA, False), DST, factor(Blend.INV_DEST_COLOR, False))
        want[3] = apply(other, SRC, factor(Blend.DEST_ALPHA, True), DST, factor(Blend.INV_BLEND_FACTOR, True))[3]
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6, err_msg=op.name)


async def test_write_masks(lab: Lab) -> None:
    target, view = await lab.target(2, 2)
    await lab.full(SINGLE)
    lab.ctx.ps_set_constant_buffers(0, [await lab.constants(*SRC, *SRC1)])
    for mask in (0, 1, 2, 4, 8, 5, 10, 7, 15):
        chosen = np.array([mask >> n & 1 for n in range(4)], bool)
        got = await blended(lab, target, view, RenderTargetBlend(render_target_write_mask=mask))
        np.testing.assert_array_equal(got, np.where(chosen, SRC, DST))
        both = RenderTargetBlend(True, Blend.ONE, Blend.ONE, BlendOp.ADD, Blend.ONE, Blend.ONE, BlendOp.ADD, mask)
        np.testing.assert_array_equal(await blended(lab, target, view, both), np.where(chosen, SRC + DST, DST))


async def test_unorm_targets_clamp_before_blending(lab: Lab) -> None:
    """Source, factors and result of a normalized target are held to its range; a snorm one to -1…1."""
    add = RenderTargetBlend(True, Blend.BLEND_FACTOR, Blend.ONE, BlendOp.ADD, Blend.ONE, Blend.ONE, BlendOp.SUBTRACT)
    await lab.full(SINGLE)
    lab.ctx.ps_set_constant_buffers(0, [await lab.constants(3.0, -2.0, 0.5, 2.0, *SRC1)])
    for format, scale, low in ((Format.R8G8B8A8_UNORM, 255, 0), (Format.R16G16B16A16_UNORM, 65535, 0), (Format.R8G8B8A8_SNORM, 127, -1), (Format.R16G16B16A16_SNORM, 32767, -1)):
        target, view = await lab.target(2, 2, format)
        dst = np.round(np.array([0.5, 0.75, 0.25, 0.25]) * scale) / scale
        got = (await blended(lab, target, view, add, dst)).astype(float) / scale
        s = np.clip([3.0, -2.0, 0.5, 2.0], low, 1)
        want = np.clip(s * np.clip(FACTOR, low, 1) + dst, low, 1)
        want[3] = np.clip(s[3] - dst[3], low, 1)
        np.testing.assert_allclose(got, want, atol=0.6 / scale, err_msg=format.name)


async def test_srgb_targets_blend_in_linear_light(lab: Lab) -> None:
    await lab.full(SINGLE)
    lab.ctx.ps_set_constant_buffers(0, [await lab.constants(0.2, 0.5, 0.9, 0.5, *SRC1)])
    over = RenderTargetBlend(True, Blend.SRC_ALPHA, Blend.INV_SRC_ALPHA, BlendOp.ADD, Blend.ONE, Blend.ZERO, BlendOp.ADD)

    def encode(v: Any) -> Any:
        return np.where(v <= 0.0031308, v * 12.92, 1.055 * np.maximum(v, 1e-9) ** (1 / 2.4) - 0.055)

    def decode(v: Any) -> Any:
        return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)

    for format, order in ((Format.R8G8B8A8_UNORM_SRGB, [0, 1, 2]), (Format.B8G8R8A8_UNORM_SRGB, [2, 1, 0])):
        target, view = await lab.target(2, 2, format)
        for dst in (0.002, 0.1, 0.7):
            stored = decode(np.round(encode(np.full(3, dst)) * 255) / 255)
            got = await blended(lab, target, view, over, [dst, dst, dst, 1])
            want = encode(np.array([0.2, 0.5, 0.9]) * 0.5 + stored * 0.5) * 255
            np.testing.assert_allclose(got[:3].astype(float), want[order], atol=0.6)
            assert got[3] == 128


async def test_integer_targets_do_not_blend(lab: Lab) -> None:
    """With blending enabled an integer target takes the shader's value; write masks and saturation hold."""
    await lab.full("float4 ps(Full f) : SV_Target { return 0; } int4 signed_ps(Full f) : SV_Target { return int4(300, -300, 7, -1); } uint4 u_ps(Full f) : SV_Target { return uint4(300, 5, 70000, 0xFFFFFFFF); }")
    both = RenderTargetBlend(True, Blend.ONE, Blend.ONE, BlendOp.ADD, Blend.ONE, Blend.ONE, BlendOp.ADD, 0b1011)
    for format, entry, want in (
        (Format.R8G8B8A8_SINT, "signed_ps", [127, -128, 3, -1]),
        (Format.R16G16B16A16_SINT, "signed_ps", [300, -300, 3, -1]),
        (Format.R8G8B8A8_UINT, "u_ps", [255, 5, 3, 255]),
        (Format.R16G16B16A16_UINT, "u_ps", [300, 5, 3, 65535]),
        (Format.R32G32B32A32_UINT, "u_ps", [300, 5, 3, 0xFFFFFFFF]),
    ):
        target, view = await lab.target(2, 2, format)
        source = "int4 signed_ps(Full f) : SV_Target { return int4(300, -300, 7, -1); } uint4 u_ps(Full f) : SV_Target { return uint4(300, 5, 70000, 0xFFFFFFFF); }"
        await lab.ps(FULL + source, entry)
        assert (await blended(lab, target, view, both, [3, 3, 3, 3])).tolist() == want, format.name


async def test_independent_targets(lab: Lab) -> None:
    source = "struct O { float4 t[4] : SV_Target0; }; O ps(Full f) { O o; o.t[0] = 1; o.t[1] = 2; o.t[2] = 3; o.t[3] = 4; return o; }"
    textures, views = zip(*[await lab.target(2, 2, FLOAT4) for _ in range(4)], strict=True)
    lab.ctx.om_set_render_targets(list(views))
    await lab.full(source)
    add = RenderTargetBlend(True, Blend.ONE, Blend.ONE, BlendOp.ADD, Blend.ONE, Blend.ONE, BlendOp.ADD)
    most = RenderTargetBlend(True, Blend.ONE, Blend.ONE, BlendOp.MAX, Blend.ONE, Blend.ONE, BlendOp.MIN)
    targets = [add, RenderTargetBlend(), most, RenderTargetBlend(render_target_write_mask=0), *[RenderTargetBlend()] * 4]
    for independent, want in ((True, [[11] * 4, [2] * 4, [10, 10, 10, 3], [10] * 4]), (False, [[11] * 4, [12] * 4, [13] * 4, [14] * 4])):
        for view in views:
            lab.ctx.clear_render_target_view(view, (10, 10, 10, 10))
        lab.ctx.om_set_blend_state(await lab.device.create_blend_state(independent_blend_enable=independent, render_target=targets))
        lab.ctx.draw(3)
        assert [(await lab.ctx.read_texture(t))[1, 1].tolist() for t in textures] == want


async def test_primitives_blend_in_order(lab: Lab) -> None:
    """Overlapping triangles of one draw reach each pixel in the order of their vertices."""
    source = "struct V { float4 p : SV_Position; nointerpolation uint n : N; }; V vs(uint id : SV_VertexID) { V v; Full f = full_vs(id % 3); v.p = f.position; v.n = id / 3; return v; } float4 ps(V v) : SV_Target { return v.n % 5; }"
    target, view = await lab.target(4, 4)
    await lab.vs(FULL + source)
    await lab.ps(FULL + source)
    lab.topology(wddm.PrimitiveTopology.TRIANGLELIST)
    # d = s - d / 2 depends on the order.
    half = RenderTargetBlend(True, Blend.ONE, Blend.BLEND_FACTOR, BlendOp.SUBTRACT, Blend.ONE, Blend.ZERO, BlendOp.ADD)
    lab.ctx.clear_render_target_view(view, (0, 0, 0, 0))
    lab.ctx.om_set_blend_state(await lab.device.create_blend_state(render_target=half), (0.5, 0.5, 0.5, 0.5))
    lab.ctx.draw(3 * 20)
    value = 0.0
    for number in range(20):
        value = number % 5 - value / 2
    np.testing.assert_allclose((await lab.ctx.read_texture(target))[..., :3], value, rtol=1e-5)


async def test_every_blendable_format_blends(lab: Lab) -> None:
    """A quarter of the source over three quarters of the target, in the precision of each format."""
    over = RenderTargetBlend(True, Blend.BLEND_FACTOR, Blend.INV_BLEND_FACTOR, BlendOp.ADD, Blend.BLEND_FACTOR, Blend.INV_BLEND_FACTOR, BlendOp.ADD)
    await lab.full("StructuredBuffer<float4> v : register(t0); float4 ps(Full f) : SV_Target { uint2 p = f.position.xy; return v[p.y * 8 + p.x]; }")
    rng = np.random.default_rng(31)
    source = rng.uniform(0, 1, (64, 4)).astype(np.float32)
    _, view = await lab.structured(source, 16)
    lab.ctx.ps_set_shader_resources(0, [view])
    lab.ctx.om_set_blend_state(await lab.device.create_blend_state(render_target=over), (0.25, 0.25, 0.25, 0.25))
    for format in formats(FormatAbility.BLENDABLE, "float4"):
        raw = rng.integers(0, 128 if "FLOAT" not in format.name else 60, (64, plain(format).bytes), np.uint8)
        texture = await lab.device.create_texture2d(raw.tobytes(), width=8, height=8, format=format, bind_flags=wddm.BindFlag.RENDER_TARGET)
        lab.ctx.om_set_render_targets([await lab.device.create_render_target_view(texture)])
        lab.ctx.rs_set_viewports([wddm.Viewport(0, 0, 8, 8)])
        lab.ctx.draw(3)
        stored = np.ascontiguousarray(await lab.ctx.read_texture(texture)).reshape(64, -1).view(np.uint8)
        want = source * 0.25 + decode(format, raw) * 0.75
        if "FLOAT" in format.name:
            got, steps = decode(format, stored), {"R11G11B10": 2.0**-5, "R32": 1e-6}.get(format.name.split("_")[0][: 9 if "R11" in format.name else 3], 2.0**-9)
            has = ["RGBA".index(letter) for letter, _, _ in plain(format).channels]
            np.testing.assert_allclose(got[:, has], want[:, has], rtol=steps, atol=1e-5, err_msg=format.name)
        else:
            check_encoded(format, stored, want, 0.9)
