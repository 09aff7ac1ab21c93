"""Multisampling: standard sample positions, coverage, resolve, sample masks, alpha to coverage, shading per sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wddm
from tests.stack.d3d11.lab import FLOAT4, FULL, PULLED, Lab, point
from tests.stack.d3d11.test_formats import formats
from tests.stack.d3d11.test_raster import fixed
from tests.stack.d3d11.texels import decode, plain
from wddm import BindFlag, Format
from wddm.ddi.dxgiformat import FORMATS, FormatAbility

#: Standard patterns of Direct3D, in sixteenths of a pixel from the centre.
POSITIONS = {
    1: [(0, 0)],
    2: [(4, 4), (-4, -4)],
    4: [(-2, -6), (6, -2), (-6, 2), (2, 6)],
    8: [(1, -3), (-1, 3), (5, 1), (-3, -5), (-5, 5), (-7, -1), (3, 7), (7, -7)],
}
COUNTS = pytest.mark.parametrize("samples", [1, 2, 4, 8])

READ = """
Texture2DMS<float4> t : register(t0); RWStructuredBuffer<float4> o : register(u0);
[numthreads(1, 1, 1)] void cs(uint3 g : SV_GroupID) { uint w, h, n; t.GetDimensions(w, h, n); o[(g.y * w + g.x) * n + g.z] = t.Load(g.xy, g.z); }
"""
READ_ONE = READ.replace("Texture2DMS", "Texture2D").replace("w, h, n; t.GetDimensions(w, h, n)", "w, h, n = 1; t.GetDimensions(w, h)").replace("g.xy, g.z)", "uint3(g.xy, 0))")


class Samples:
    """A multisampled float target that shaders read."""

    def __init__(self, lab: Lab, texture: Any, rtv: Any, srv: Any) -> None:
        self.lab, self.texture, self.rtv, self.srv = lab, texture, rtv, srv

    @classmethod
    async def create(cls, lab: Lab, width: int, height: int, samples: int, format: int = FLOAT4) -> Samples:
        texture, rtv = await lab.target(width, height, format, BindFlag.SHADER_RESOURCE, sample_count=samples)
        return cls(lab, texture, rtv, await lab.device.create_shader_resource_view(texture))

    async def read(self) -> Any:
        """Every sample: (height, width, samples, 4)."""
        t = self.texture
        self.lab.ctx.om_set_render_targets([])
        size = t.width * t.height * t.sample_count
        source = READ_ONE if t.sample_count == 1 else READ
        got = await self.lab.compute(source, size * 4, self.srv, stride=16, groups=(t.width, t.height, t.sample_count))
        self.lab.ctx.cs_set_shader_resources(0, [None])
        self.lab.ctx.om_set_render_targets([self.rtv])
        return got.reshape(t.height, t.width, t.sample_count, 4)


def covered(corners: Any, width: int, height: int, samples: int) -> Any:
    """Which samples lie in a triangle (no sample on an edge)."""
    a, b, c = fixed(corners)
    x = np.arange(width)[None, :, None] * 256 + 128 + np.array([16 * p[0] for p in POSITIONS[samples]])
    y = np.arange(height)[:, None, None] * 256 + 128 + np.array([16 * p[1] for p in POSITIONS[samples]])
    edges = [(q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]) for p, q in ((a, b), (b, c), (c, a))]
    return np.all([e > 0 for e in edges], 0) | np.all([e < 0 for e in edges], 0)


CORNERS = [(0.7, 0.3), (5.6, 2.1), (2.2, 5.45)]


@COUNTS
async def test_samples_are_covered_one_by_one_and_resolve_to_their_mean(lab: Lab, samples: int) -> None:
    size = (6, 6)
    target = await Samples.create(lab, *size, samples)
    await lab.vertices([point(*p, size, color=(1, 2, 3, 4)) for p in CORNERS])
    await lab.rasterizer(multisample_enable=True)
    lab.ctx.draw(3)
    inside = covered(CORNERS, *size, samples)
    got = await target.read()
    np.testing.assert_array_equal(got, inside[..., None] * np.array([1, 2, 3, 4]))
    if samples > 1:
        mean = await lab.ctx.read_texture(target.texture)
        np.testing.assert_allclose(mean, inside.mean(2)[..., None] * np.array([1, 2, 3, 4]), rtol=1e-6)


@COUNTS
async def test_sample_positions_are_told_and_used(lab: Lab, samples: int) -> None:
    """Per-sample shading: the shader runs at each sample, and its position and attributes are the sample's."""
    source = """
    struct S { float4 position : SV_Position; sample float2 uv : UV; };
    float4 ps(S s, uint n : SV_SampleIndex) : SV_Target { return float4(s.position.xy, s.uv.x, n); }
    float4 told_ps(Full f) : SV_Target { float2 p = GetRenderTargetSamplePosition(NUMBER); return float4(p, GetRenderTargetSampleCount(), 0); }
    """
    target = await Samples.create(lab, 2, 2, samples)
    await lab.full(source.replace("NUMBER", "0"))
    lab.ctx.draw(3)
    got = await target.read()
    offsets = np.array(POSITIONS[samples]) / 16
    y, x = np.mgrid[0:2, 0:2] + 0.5
    np.testing.assert_allclose(got[..., 0], x[..., None] + offsets[:, 0], atol=1e-6)
    np.testing.assert_allclose(got[..., 1], y[..., None] + offsets[:, 1], atol=1e-6)
    np.testing.assert_allclose(got[..., 2], (x[..., None] + offsets[:, 0]) / 2, atol=1e-5)
    np.testing.assert_array_equal(got[..., 3], np.broadcast_to(np.arange(samples), got[..., 3].shape))
    if samples > 1:
        for number in (0, samples - 1):
            await lab.ps(FULL + source.replace("NUMBER", str(number)), "told_ps")
            lab.ctx.draw(3)
            told = (await target.read())[0, 0, 0]
            np.testing.assert_allclose(told[:3], [*offsets[number], samples], atol=1e-6)


async def test_sample_mask(lab: Lab) -> None:
    target = await Samples.create(lab, 2, 1, 4)
    await lab.full("float4 ps(Full f) : SV_Target { return 1; }")
    lab.ctx.om_set_blend_state(None, None, 0b1010)
    lab.ctx.draw(3)
    assert (await target.read())[0, :, :, 0].tolist() == [[0, 1, 0, 1]] * 2
    one, _ = await lab.target(2, 1)
    lab.ctx.draw(3)
    assert not (await lab.ctx.read_texture(one)).any()
    lab.ctx.om_set_blend_state(None, None, 1)
    lab.ctx.draw(3)
    assert (await lab.ctx.read_texture(one) == 1).all()


@pytest.mark.parametrize("samples", [4, 8])
async def test_alpha_to_coverage(lab: Lab, samples: int) -> None:
    """More alpha covers more samples, none at 0, all at 1, and never fewer than with less."""
    target = await Samples.create(lab, 9, 1, samples)
    await lab.full("float4 ps(Full f) : SV_Target { return float4(1, 1, 1, floor(f.position.x) / 8); }")
    lab.ctx.om_set_blend_state(await lab.device.create_blend_state(alpha_to_coverage_enable=True))
    lab.ctx.draw(3)
    got = (await target.read())[0]
    counts = (got[..., 0] == 1).sum(1)
    assert counts[0] == 0
    assert counts[8] == samples
    assert (np.diff(counts) >= 0).all()
    assert abs(counts - np.arange(9) / 8 * samples).max() <= 1
    # The alpha that is written is the shader's own.
    for x in range(9):
        assert set(got[x][got[x, :, 0] == 1][:, 3].tolist()) <= {x / 8}


@COUNTS
async def test_depth_and_stencil_per_sample(lab: Lab, samples: int) -> None:
    """Two triangles through each other: samples decide one by one; stencil counts per sample."""
    size = (6, 6)
    ctx = lab.ctx
    target = await Samples.create(lab, *size, samples)
    _, dsv = await lab.depth(*size, Format.D32_FLOAT_S8X24_UINT, sample_count=samples)
    ctx.om_set_render_targets([target.rtv], dsv)
    full = [(0, 0), (12, 0), (0, 12)]
    # Depth rises with x in one, falls in the other, and they are equal at x = 3.05.
    one = [point(*p, size, 0.45 + p[0] * 0.04, (1, 0, 0, 1)) for p in full]
    two = [point(*p, size, 0.45 + (6.1 - p[0]) * 0.04, (0, 1, 0, 1)) for p in full]
    await lab.vertices(one + two)
    ctx.draw(6)
    got = await target.read()
    x = np.arange(6)[:, None] + 0.5 + np.array([p[0] / 16 for p in POSITIONS[samples]])
    np.testing.assert_array_equal(got[..., 0] == 1, np.broadcast_to(x < 3.05, (6, 6, samples)))
    np.testing.assert_array_equal(got[..., 1] == 1, np.broadcast_to(x > 3.05, (6, 6, samples)))


async def test_pixel_frequency_shading_runs_once_for_all_samples(lab: Lab) -> None:
    source = "RWStructuredBuffer<uint> n : register(u1); float4 ps(Full f) : SV_Target { InterlockedAdd(n[0], 1); return 1; }"
    by_sample = source.replace("Full f", "Full f, uint s : SV_SampleIndex").replace("return 1", "return s")
    target = await Samples.create(lab, 3, 2, 4)
    n, uav = await lab.structured(np.zeros(1, np.uint32), 4, uav=True)
    for text, count in ((source, 6), (by_sample, 30)):
        await lab.full(text)
        lab.ctx.om_set_render_targets_and_unordered_access_views([target.rtv], None, 1, [uav])
        lab.ctx.draw(3)
        assert (await lab.ctx.read_buffer(n, np.uint32)).tolist() == [count]


async def test_centroid_stays_inside(lab: Lab) -> None:
    """At an edge the pixel's centre may lie outside: a plain attribute extrapolates, a centroid one does not."""
    source = PULLED + """
    struct I { float4 p : SV_Position; float4 plain : A; centroid float4 inside : B; };
    I vs(uint id : SV_VertexID) { I i; i.p = vertices[id].position; i.plain = i.inside = vertices[id].color; return i; }
    float4 ps(I i) : SV_Target { return float4(i.plain.x, i.inside.x, 0, 1); }
    """
    size = (4, 4)
    target = await Samples.create(lab, *size, 4)
    # Left of x = 1.4 only, so that the pixels of column 1 are covered in part but not at their centres.
    await lab.vertices([point(*p, size, color=(p[0], 0, 0, 1)) for p in ((1.4, -9), (1.4, 20), (-12, 5))])
    await lab.vs(source)
    await lab.ps(source)
    lab.ctx.draw(3)
    got = (await target.read())[:, 1]
    drawn = got[..., 3] == 1
    np.testing.assert_array_equal(drawn, np.broadcast_to([x < -1.6 for x, _ in POSITIONS[4]], drawn.shape))
    np.testing.assert_allclose(got[drawn][:, 0], 1.5, atol=2e-3)
    assert (got[drawn][:, 1] <= 1.402).all()


async def test_resolve_formats_and_subresources(lab: Lab) -> None:
    """Unorm averages, sRGB averages in linear light, arrays resolve slice by slice."""
    device, ctx = lab.device, lab.ctx
    await lab.full("float4 ps(Full f, uint s : SV_SampleIndex) : SV_Target { return s == 0 ? float4(1, 0.5, 0, 1) : 0; }")
    for format, want in (
        (Format.R8G8B8A8_UNORM, [64, 32, 0, 64]),
        (Format.R8G8B8A8_UNORM_SRGB, [137, 99, 0, 64]),
        (Format.R16G16B16A16_FLOAT, [0.25, 0.125, 0, 0.25]),
    ):
        source = await device.create_texture2d(width=4, height=4, array_size=2, sample_count=4, format=format, bind_flags=BindFlag.RENDER_TARGET)
        rtv = await device.create_render_target_view(source, dimension=wddm.RtvDimension.TEXTURE2DMSARRAY, first_array_slice=1, array_size=1)
        ctx.om_set_render_targets([rtv])
        ctx.rs_set_viewports([wddm.Viewport(0, 0, 4, 4)])
        ctx.draw(3)
        resolved = await device.create_texture2d(width=8, height=8, mip_levels=2, array_size=3, format=format)
        ctx.resolve_subresource(resolved, 1 + 2 * 2, source, 1, format)
        got = await ctx.read_texture(resolved, 5)
        np.testing.assert_allclose(got.astype(float), np.broadcast_to(np.array(want, float), (4, 4, 4)), atol=1 if got.dtype == np.uint8 else 1e-4)
        assert not (await ctx.read_texture(resolved, 3)).any()


async def test_copies_of_multisampled_textures_keep_samples(lab: Lab) -> None:
    target = await Samples.create(lab, 2, 2, 4)
    await lab.full("float4 ps(Full f, uint s : SV_SampleIndex) : SV_Target { return s + floor(f.position.x) * 10; }")
    lab.ctx.draw(3)
    other = await Samples.create(lab, 2, 2, 4)
    lab.ctx.copy_resource(other.texture, target.texture)
    want = np.arange(4) + np.array([0, 10])[:, None]
    np.testing.assert_array_equal((await other.read())[..., 1], np.broadcast_to(want, (2, 2, 4)))
    lab.ctx.clear_render_target_view(other.rtv, (1, 2, 3, 4))
    assert (await other.read() == [1, 2, 3, 4]).all()


async def test_lines_of_a_multisampled_target(lab: Lab) -> None:
    """With multisampling a line is a rectangle 1.4 wide at least; without, all samples follow the pixel."""
    size = (6, 6)
    target = await Samples.create(lab, *size, 4)
    await lab.vertices([point(0.5, 2.5, size), point(5.5, 2.5, size)])
    lab.topology(wddm.PrimitiveTopology.LINELIST)
    lab.ctx.draw(2)
    got = (await target.read())[..., 0]
    want = np.zeros((6, 6, 4))
    want[2, :5] = 1
    np.testing.assert_array_equal(got, want)
    lab.ctx.clear_render_target_view(target.rtv, (0, 0, 0, 0))
    await lab.rasterizer(multisample_enable=True)
    lab.ctx.draw(2)
    offsets = np.array(POSITIONS[4]) / 16
    y, x = np.mgrid[0:6, 0:6, 0:1][:2] + 0.5
    x, y = x + offsets[:, 0], y + offsets[:, 1]
    np.testing.assert_array_equal((await target.read())[..., 0] != 0, (abs(y - 2.5) < 0.7) & (x > 0.5) & (x < 5.5))


async def test_every_multisampled_format_keeps_its_samples(lab: Lab) -> None:
    """Four samples of their own in each format, read one by one; float formats resolve to the mean."""
    for kind, write in (("float4", "float4(0.25, 0.5, 0.75, 1) * (s == 3 ? 0 : 1)"), ("uint4", "uint4(s, 5, 6, 1)"), ("int4", "int4(-(int)s, 5, 6, 1)")):
        await lab.full(f"{kind} ps(Full f, uint s : SV_SampleIndex) : SV_Target {{ return {write}; }}")
        await lab.cs(f"Texture2DMS<{kind}> t : register(t0); RWStructuredBuffer<float4> o : register(u0); [numthreads(4, 1, 1)] void cs(uint i : SV_GroupIndex) {{ o[i] = t.Load(int2(1, 1), i); }}")
        out, uav = await lab.structured(np.zeros(16, np.uint32), 16, uav=True)
        lab.ctx.cs_set_unordered_access_views(0, [uav])
        for format in formats(FormatAbility.RENDER_TARGET | FormatAbility.MULTISAMPLE_LOAD, kind):
            if not await lab.device.check_multisample_quality_levels(format, 4):
                continue
            texture, _ = await lab.target(2, 2, format, BindFlag.SHADER_RESOURCE, sample_count=4)
            lab.ctx.draw(3)
            lab.ctx.om_set_render_targets([])
            lab.ctx.cs_set_shader_resources(0, [await lab.device.create_shader_resource_view(texture)])
            lab.ctx.dispatch(1)
            lab.ctx.cs_set_shader_resources(0, [None])
            got = (await lab.ctx.read_buffer(out, np.float32)).reshape(4, 4)
            letters = [letter for letter, _, _ in plain(format).channels]
            for channel, letter in enumerate("RGBA"):
                if letter not in letters:
                    continue
                s = np.arange(4)
                want = (0.25, 0.5, 0.75, 1)[channel] * (s != 3) if kind == "float4" else [(s if kind == "uint4" else -s), 5, 6, 1][channel]
                bits = next(b for name, _, b in plain(format).channels if name == letter)
                limit = 2.0 ** (1 - min(bits, 9)) if kind == "float4" and bits < 16 else 1e-3
                np.testing.assert_allclose(got[:, channel], np.broadcast_to(want, 4), atol=max(limit, 2.0**-5 if bits < 8 and kind == "float4" else 0), err_msg=f"{format.name} {letter}")
            if FORMATS[format].allows(FormatAbility.MULTISAMPLE_RESOLVE) and kind == "float4":
                image = np.ascontiguousarray(await lab.ctx.read_texture(texture)).reshape(4, -1).view(np.uint8)
                assert (image == image[0]).all(), format.name
                mean = decode(format, image)[0]
                for channel, letter in enumerate("RGBA"):
                    if letter in letters:
                        assert abs(mean[channel] - (0.1875, 0.375, 0.5625, 0.75)[channel]) < 0.04 * (6 if plain(format).srgb else 1) or letter == "A", f"{format.name} {letter} {mean}"


async def test_multisampled_depth_and_arrays_are_read(lab: Lab) -> None:
    device, ctx = lab.device, lab.ctx
    texture = await device.create_texture2d(
        width=4, height=4, array_size=3, sample_count=4, format=Format.R32_TYPELESS, bind_flags=BindFlag.DEPTH_STENCIL | BindFlag.SHADER_RESOURCE
    )
    for n in range(3):
        dsv = await device.create_depth_stencil_view(texture, format=Format.D32_FLOAT, dimension=wddm.DsvDimension.TEXTURE2DMSARRAY, first_array_slice=n, array_size=1)
        ctx.clear_depth_stencil_view(dsv, 1, n * 0.25)
    await lab.full("struct O { float d : SV_Depth; }; O ps(Full f, uint s : SV_SampleIndex) { O o; o.d = s * 0.125; return o; }")
    ctx.om_set_render_targets([], dsv)
    ctx.rs_set_viewports([wddm.Viewport(0, 0, 4, 4)])
    ctx.om_set_depth_stencil_state(await device.create_depth_stencil_state(depth_func=wddm.ComparisonFunc.ALWAYS))
    ctx.draw(3)
    ctx.om_set_render_targets([])
    source = "Texture2DMSArray<float> t : register(t0); RWStructuredBuffer<float4> o : register(u0); [numthreads(4, 1, 1)] void cs(uint i : SV_GroupIndex) { uint w, h, e, n; t.GetDimensions(w, h, e, n); o[i] = float4(t.Load(int3(1, 2, 1), i), t.Load(int3(3, 3, 2), i), t.Load(int3(3, 3, 3), i), w * 1000 + h * 100 + e * 10 + n); }"
    view = await device.create_shader_resource_view(texture, format=Format.R32_FLOAT)
    got = (await lab.compute(source, 16, view, stride=16)).reshape(4, 4)
    assert got.tolist() == [[0.25, n * 0.125, 0, 4434] for n in range(4)]


async def test_attributes_are_evaluated_where_asked(lab: Lab) -> None:
    source = "float4 ps(Full f) : SV_Target { return float4(EvaluateAttributeSnapped(f.uv, int2(-8, 7)).xy, EvaluateAttributeAtSample(f.uv, 2).x, EvaluateAttributeCentroid(f.uv).y) + EvaluateAttributeAtCentroid(f.uv).xyxy * 0; }"
    target = await Samples.create(lab, 4, 4, 4)
    await lab.full(source)
    lab.ctx.draw(3)
    got = (await target.read())[:, :, 0]
    y, x = np.mgrid[0:4, 0:4] + 0.5
    np.testing.assert_allclose(got, np.stack([(x - 0.5) / 4, (y + 7 / 16) / 4, (x - 6 / 16) / 4, y / 4], 2), atol=2e-4)
