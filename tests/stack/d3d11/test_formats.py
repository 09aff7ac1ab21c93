"""Formats: every one that feature level 11_0 samples, renders, stores or compresses, against plain numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wddm
from tests.stack.d3d11 import blocks
from tests.stack.d3d11.lab import Lab
from tests.stack.d3d11.texels import check_encoded, decode, plain, to_linear
from wddm import BindFlag, Format
from wddm.ddi.dxgiformat import FORMATS, FormatAbility

A = FormatAbility


def formats(ability: FormatAbility, kind: str) -> list[Format]:
    """Plain formats with an ability whose channels a shader sees as ``kind``."""
    found = []
    for format, info in FORMATS.items():
        if not info.allows(ability) or info.compressed or info.depth or (format > Format.B8G8R8X8_UNORM_SRGB and format is not Format.B4G4R4A4_UNORM):
            continue
        name = format.name
        if "TYPELESS" in name or "XR_BIAS" in name or format in (Format.R8G8_B8G8_UNORM, Format.G8R8_G8B8_UNORM, Format.R1_UNORM, Format.UNKNOWN):
            continue
        suffix = {"UINT": "uint4", "SINT": "int4"}.get(name.split("_")[1], "float4")
        if suffix == kind:
            found.append(format)
    return found


def bits(format: Format) -> Any:
    """64 texels: random bits, with corners of the ranges in front."""
    size = 4 if format is Format.R9G9B9E5_SHAREDEXP else plain(format).bytes
    raw = np.random.default_rng(format).integers(0, 256, (64, size), np.uint8)
    raw[0], raw[1], raw[2] = 0, 255, 0x80
    if "FLOAT" in format.name:  # NaN is no number to compare; infinity and denormals are left in
        values = decode(format, raw)
        raw[np.isnan(values).any(1)] = 0
    return raw


KINDS = [("float4", np.float32), ("uint4", np.uint32), ("int4", np.int32)]
ALL_KINDS = pytest.mark.parametrize(("kind", "dtype"), KINDS, ids=["float", "uint", "sint"])


async def texture_of(lab: Lab, format: Format, raw: Any, **options: Any) -> Any:
    """An 8×8 texture of 64 texels."""
    return await lab.device.create_texture2d(raw.tobytes(), width=8, height=8, format=format, **options)


@ALL_KINDS
async def test_loads(lab: Lab, kind: str, dtype: Any) -> None:
    """Texels of every format, and elements of every buffer format, as shaders load them."""
    source = f"Texture2D<{kind}> t : register(t0); RWStructuredBuffer<{kind}> o : register(u0); [numthreads(64, 1, 1)] void cs(uint i : SV_GroupIndex) {{ o[i] = t.Load(int3(i % 8, i / 8, 0)); }}"
    typed = source.replace("Texture2D", "Buffer").replace("int3(i % 8, i / 8, 0)", "i")
    for ability, text in ((A.SHADER_LOAD, source), (A.BUFFER, typed)):
        await lab.cs(text)
        out, uav = await lab.structured(np.zeros(256, np.uint32), 16, uav=True)
        lab.ctx.cs_set_unordered_access_views(0, [uav])
        for format in formats(ability, kind):
            raw = bits(format)
            if ability is A.BUFFER:
                buffer = await lab.device.create_buffer(raw.tobytes(), bind_flags=BindFlag.SHADER_RESOURCE)
                view = await lab.device.create_shader_resource_view(buffer, format=format, num_elements=64)
            else:
                view = await lab.device.create_shader_resource_view(await texture_of(lab, format, raw))
            lab.ctx.cs_set_shader_resources(0, [view])
            lab.ctx.dispatch(1)
            got = (await lab.ctx.read_buffer(out, dtype)).reshape(64, 4)
            np.testing.assert_allclose(got.astype(np.float64), decode(format, raw), rtol=2e-6, atol=1e-37, err_msg=f"{format.name} {ability.name}")


async def test_samples(lab: Lab) -> None:
    """Points give a texel; between two texels filtering gives their mean, sRGB in linear light."""
    source = """
    Texture2D<float4> t : register(t0); SamplerState p : register(s0); SamplerState l : register(s1); RWStructuredBuffer<float4> o : register(u0);
    [numthreads(8, 1, 1)] void cs(uint i : SV_GroupIndex) {
        o[i] = t.SampleLevel(p, float2((i + 0.5) / 8, 0.5 / 8), 0); o[8 + i] = t.SampleLevel(l, float2((i + 1) / 8.0, 0.5 / 8), 0); }
    """
    await lab.cs(source)
    out, uav = await lab.structured(np.zeros(64, np.uint32), 16, uav=True)
    lab.ctx.cs_set_unordered_access_views(0, [uav])
    lab.ctx.cs_set_samplers(0, [await lab.sampler(filter=wddm.Filter.MIN_MAG_MIP_POINT), await lab.sampler(filter=wddm.Filter.MIN_MAG_LINEAR_MIP_POINT)])
    for format in formats(A.SHADER_SAMPLE, "float4"):
        raw = bits(format)
        values = decode(format, raw)[:8]
        if "FLOAT" in format.name or "SHAREDEXP" in format.name:
            values = np.where(np.abs(values) > 1e9, 1, values)
            raw[:8][(np.abs(decode(format, raw)[:8]) > 1e9).any(1)] = 0
            values = decode(format, raw)[:8]
        lab.ctx.cs_set_shader_resources(0, [await lab.device.create_shader_resource_view(await texture_of(lab, format, raw))])
        lab.ctx.dispatch(1)
        got = (await lab.ctx.read_buffer(out, np.float32)).reshape(2, 8, 4)
        np.testing.assert_allclose(got[0], values, rtol=2e-6, atol=1e-37, err_msg=format.name)
        pairs = np.stack([values, values[[*range(1, 8), 7]]])
        np.testing.assert_allclose(got[1], pairs.mean(0), rtol=2e-5, atol=np.abs(pairs).max() * 1e-6, err_msg=format.name)


FLOATS = np.array([0, 1, -1, 0.5, -0.5, 0.25, 1 / 3, 2 / 3, 0.0039, 0.999, 2, -3, 1e-3, 60000, 70000, 1e9, -1e9, np.inf, -np.inf, 2.0**-15, 3e-6, 0.7071, 0.1234, 0.0031])
INTS = np.array([0, 1, 2, 3, 100, 127, 128, 255, 256, 1023, 1024, 32767, 32768, 65535, 65536, 2**31 - 1])


def written(kind: str) -> Any:
    """64 × 4 values of a kind."""
    rng = np.random.default_rng(9)
    if kind == "float4":
        flat = np.concatenate([FLOATS, rng.uniform(-1.2, 1.2, 256 - 24 - 60), rng.uniform(-300, 300, 60)]).astype(np.float32)
    elif kind == "uint4":
        flat = np.concatenate([INTS, [2**32 - 1, 2**31], rng.integers(0, 2**32, 256 - 18)]).astype(np.uint32)
    else:
        flat = np.concatenate([INTS, -INTS, rng.integers(-(2**31), 2**31, 256 - 32)]).astype(np.int32)
    return rng.permutation(flat).reshape(64, 4)


@ALL_KINDS
async def test_renders(lab: Lab, kind: str, dtype: Any) -> None:
    source = f"StructuredBuffer<{kind}> v : register(t0); {kind} ps(Full f) : SV_Target {{ uint2 p = f.position.xy; return v[p.y * 8 + p.x]; }}"
    values = written(kind)
    _, view = await lab.structured(values, 16)
    await lab.full(source)
    lab.ctx.ps_set_shader_resources(0, [view])
    for format in formats(A.RENDER_TARGET, kind):
        texture, _ = await lab.target(8, 8, format)
        lab.ctx.draw(3)
        image = await lab.ctx.read_texture(texture)
        check_encoded(format, np.ascontiguousarray(image).reshape(64, -1).view(np.uint8), values.astype(np.float64))


@ALL_KINDS
async def test_typed_stores(lab: Lab, kind: str, dtype: Any) -> None:
    """Stores to textures and typed buffers of every format."""
    source = f"StructuredBuffer<{kind}> v : register(t0); RWTexture2D<{kind}> t : register(u0); RWBuffer<{kind}> b : register(u1); [numthreads(64, 1, 1)] void cs(uint i : SV_GroupIndex) {{ t[uint2(i % 8, i / 8)] = v[i]; b[i] = v[i]; }}"
    values = written(kind)
    _, view = await lab.structured(values, 16)
    await lab.cs(source)
    lab.ctx.cs_set_shader_resources(0, [view])
    for format in formats(A.TYPED_UNORDERED_ACCESS_VIEW, kind):
        info = FORMATS[format]
        texture = await lab.device.create_texture2d(width=8, height=8, format=format, bind_flags=BindFlag.UNORDERED_ACCESS)
        views = [await lab.device.create_unordered_access_view(texture)]
        buffer = await lab.device.create_buffer(64 * info.bytes, bind_flags=BindFlag.UNORDERED_ACCESS)
        if info.allows(A.BUFFER):
            views.append(await lab.device.create_unordered_access_view(buffer, format=format, num_elements=64))
        lab.ctx.cs_set_unordered_access_views(0, [*views, None][:2])
        lab.ctx.dispatch(1)
        image = await lab.ctx.read_texture(texture)
        check_encoded(format, np.ascontiguousarray(image).reshape(64, -1).view(np.uint8), values.astype(np.float64))
        if len(views) > 1:
            check_encoded(format, (await lab.ctx.read_buffer(buffer)).reshape(64, -1), values.astype(np.float64))


@ALL_KINDS
async def test_typed_loads_from_unordered_access_views(lab: Lab, kind: str, dtype: Any) -> None:
    """Feature level 11_0 loads from 32-bit single-channel views."""
    one = kind[:-1]
    format = {"float": Format.R32_FLOAT, "uint": Format.R32_UINT, "int": Format.R32_SINT}[one]
    source = f"RWTexture2D<{one}> t : register(u1); RWBuffer<{one}> b : register(u2); RWStructuredBuffer<{one}> o : register(u0); [numthreads(8, 8, 1)] void cs(uint2 p : SV_GroupThreadID) {{ {one} x = t[p]; t[p] = x + 1; o[p.y * 8 + p.x] = x + b[p.x] * 2; b[p.x + 8] = x; }}"
    values = (np.arange(64) - 20).astype(dtype)
    texture = await texture_of(lab, format, values, bind_flags=BindFlag.UNORDERED_ACCESS)
    _, typed = await lab.typed(np.arange(16, dtype=dtype), format, uav=True)
    lab.ctx.cs_set_unordered_access_views(1, [await lab.device.create_unordered_access_view(texture), typed])
    got = await lab.compute(source, 64, dtype=dtype)
    np.testing.assert_array_equal(got, values + (np.arange(64) % 8).astype(dtype) * dtype(2))
    np.testing.assert_array_equal((await lab.ctx.read_texture(texture)).reshape(-1), values + dtype(1))


def compressed(format: Format) -> list[bytes]:
    """Sixteen blocks of a format, of every mode that the scalar decoder knows."""
    rng = np.random.default_rng(format)
    size = FORMATS[format].bytes
    raw = [rng.integers(0, 256, size, np.uint8).tobytes() for _ in range(16)]
    if "BC7" in format.name:
        for number in range(15):
            mode = number % 8
            word = int.from_bytes(raw[number], "little") >> mode + 1 << mode + 1 | 1 << mode
            word &= ~(((1 << blocks.BC7[mode][1]) - 1) << mode + 1)
            raw[number] = word.to_bytes(16, "little")
        raw[15] = bytes([0, *range(15)])  # no mode at all: transparent black
    elif "BC6H" in format.name:
        for number in range(16):
            word = int.from_bytes(raw[number], "little") & ~31 | (3 if number % 2 else 7)
            raw[number] = word.to_bytes(16, "little")
    return raw


DECODERS: dict[str, Any] = {
    "BC1_UNORM": blocks.bc1, "BC1_UNORM_SRGB": blocks.bc1, "BC2_UNORM": blocks.bc2, "BC2_UNORM_SRGB": blocks.bc2,
    "BC3_UNORM": blocks.bc3, "BC3_UNORM_SRGB": blocks.bc3,
    "BC4_UNORM": lambda b: [[v, 0.0, 0.0, 1.0] for v in blocks.bc4(b)], "BC4_SNORM": lambda b: [[v, 0.0, 0.0, 1.0] for v in blocks.bc4(b, True)],
    "BC5_UNORM": blocks.bc5, "BC5_SNORM": lambda b: blocks.bc5(b, True), "BC6H_UF16": lambda b: blocks.bc6h(b, False),
    "BC6H_SF16": lambda b: blocks.bc6h(b, True), "BC7_UNORM": blocks.bc7, "BC7_UNORM_SRGB": blocks.bc7,
}  # fmt: skip


async def test_block_compression(lab: Lab) -> None:
    """A 16×16 image of sixteen blocks and its second mip, loaded and sampled."""
    source = """
    Texture2D<float4> t : register(t0); SamplerState s : register(s0); RWStructuredBuffer<float4> o : register(u0);
    [numthreads(16, 16, 1)] void cs(uint3 p : SV_GroupThreadID) {
        o[p.y * 16 + p.x] = t.Load(p * uint3(1, 1, 0)); o[256 + p.y * 16 + p.x] = t.SampleLevel(s, (p.xy + 0.5) / 16, 0);
        o[512 + p.y * 16 + p.x] = t.Load(int3(p.x % 8, p.y % 8, 1)); }
    """
    await lab.cs(source)
    out, uav = await lab.structured(np.zeros(768 * 4, np.uint32), 16, uav=True)
    lab.ctx.cs_set_unordered_access_views(0, [uav])
    lab.ctx.cs_set_samplers(0, [await lab.sampler(filter=wddm.Filter.MIN_MAG_MIP_POINT)])
    for name, decoder in DECODERS.items():
        format = Format[name]
        raw = compressed(format)
        texture = await lab.device.create_texture2d([b"".join(raw), b"".join(raw[4:8])], width=16, height=16, mip_levels=2, format=format)
        lab.ctx.cs_set_shader_resources(0, [await lab.device.create_shader_resource_view(texture)])
        lab.ctx.dispatch(1)
        got = (await lab.ctx.read_buffer(out, np.float32)).reshape(3, 16, 16, 4)
        texels = np.array([decoder(block) for block in raw]).reshape(4, 4, 4, 4, 4)
        want = texels.transpose(0, 2, 1, 3, 4).reshape(16, 16, 4)
        small = texels[1].reshape(2, 2, 4, 4, 4).transpose(0, 2, 1, 3, 4).reshape(8, 8, 4)
        if "SRGB" in name:
            want, small = (np.concatenate([to_linear(v[..., :3]), v[..., 3:]], -1) for v in (want, small))
        # BC1–BC3 may be interpolated in a few bits more or fewer than exact.
        limit = {"rtol": 1e-3} if "BC6H" in name else {"atol": 2e-3 if "BC7" not in name else 1e-5}
        np.testing.assert_allclose(got[0], want, err_msg=name, **limit)
        np.testing.assert_allclose(got[1], want, err_msg=name, **limit)
        np.testing.assert_allclose(got[2], np.tile(small, (2, 2, 1)), err_msg=name, **limit)


async def test_two_texels_in_one_element(lab: Lab) -> None:
    """R8G8_B8G8 and G8R8_G8B8: two texels share red and blue."""
    source = "Texture2D<float4> t : register(t0); RWStructuredBuffer<float4> o : register(u0); [numthreads(4, 1, 1)] void cs(uint i : SV_GroupIndex) { o[i] = t.Load(int3(i, 0, 0)); }"
    raw = np.array([[10, 20, 30, 40, 50, 60, 70, 80]], np.uint8)
    for format, order in ((Format.R8G8_B8G8_UNORM, (0, 1, 3, 2)), (Format.G8R8_G8B8_UNORM, (1, 0, 2, 3))):
        texture = await lab.device.create_texture2d(raw.tobytes(), width=4, height=1, format=format)
        got = (await lab.compute(source, 16, await lab.device.create_shader_resource_view(texture), stride=16)).reshape(4, 4)
        red, first, second, blue = order
        want = [[raw[0, n // 2 * 4 + i] / 255 for i in (red, first if n % 2 == 0 else second, blue)] + [1] for n in range(4)]
        np.testing.assert_allclose(got, want, rtol=1e-5, err_msg=format.name)


async def test_views_cast_within_a_family(lab: Lab) -> None:
    """A typeless texture written through one view and read through others; raw bits of 32-bit formats survive."""
    device, ctx = lab.device, lab.ctx
    texture = await device.create_texture2d(width=2, height=2, format=Format.R8G8B8A8_TYPELESS, bind_flags=BindFlag.RENDER_TARGET | BindFlag.SHADER_RESOURCE)
    linear = await device.create_render_target_view(texture, format=Format.R8G8B8A8_UNORM_SRGB)
    ctx.clear_render_target_view(linear, (0.5, 0.25, 0, 0.5))
    source = "Texture2D<uint4> a : register(t0); Texture2D<float4> b : register(t1); Texture2D<float4> c : register(t2); RWStructuredBuffer<float4> o : register(u0); [numthreads(1, 1, 1)] void cs() { o[0] = a[uint2(1, 1)]; o[1] = b[uint2(1, 1)]; o[2] = c[uint2(0, 1)]; }"
    views = [await device.create_shader_resource_view(texture, format=f) for f in (Format.R8G8B8A8_UINT, Format.R8G8B8A8_SNORM, Format.R8G8B8A8_UNORM)]
    got = (await lab.compute(source, 12, *views, stride=16)).reshape(3, 4)
    assert got[0].tolist() == [188, 137, 0, 128]
    np.testing.assert_allclose(got[1], [-68 / 127, -119 / 127, 0, -1], rtol=1e-6)
    np.testing.assert_allclose(got[2], [188 / 255, 137 / 255, 0, 128 / 255], rtol=1e-6)
    words = np.array([0x7F800001, 0xFFC12345, 1, 0x80000000], np.uint32)
    # A signalling NaN and a denormal pass through an integer view and a float copy as they are.
    _, view = await lab.typed(words, Format.R32_UINT)
    move = "Buffer<uint> a : register(t0); RWStructuredBuffer<float> o : register(u0); [numthreads(4, 1, 1)] void cs(uint i : SV_GroupIndex) { o[i] = asfloat(a[i]); }"
    assert (await lab.compute(move, 4, view, dtype=np.uint32)).tolist() == words.tolist()


async def test_support_is_what_the_feature_level_requires(lab: Lab) -> None:
    """No required ability is missing from what the device reports."""
    names = {
        A.BUFFER: "BUFFER", A.IA_VERTEX_BUFFER: "IA_VERTEX_BUFFER", A.IA_INDEX_BUFFER: "IA_INDEX_BUFFER", A.STREAM_OUTPUT: "SO_BUFFER",
        A.TEXTURE1D: "TEXTURE1D", A.TEXTURE2D: "TEXTURE2D", A.TEXTURE3D: "TEXTURE3D", A.TEXTURECUBE: "TEXTURECUBE", A.SHADER_LOAD: "SHADER_LOAD",
        A.SHADER_SAMPLE: "SHADER_SAMPLE", A.SHADER_SAMPLE_COMPARISON: "SHADER_SAMPLE_COMPARISON", A.SHADER_GATHER: "SHADER_GATHER",
        A.SHADER_GATHER_COMPARISON: "SHADER_GATHER_COMPARISON", A.MIP: "MIP", A.MIP_AUTOGEN: "MIP_AUTOGEN", A.RENDER_TARGET: "RENDER_TARGET",
        A.BLENDABLE: "BLENDABLE", A.DEPTH_STENCIL: "DEPTH_STENCIL", A.TYPED_UNORDERED_ACCESS_VIEW: "TYPED_UNORDERED_ACCESS_VIEW",
        A.CPU_LOCKABLE: "CPU_LOCKABLE", A.MULTISAMPLE_RESOLVE: "MULTISAMPLE_RESOLVE", A.MULTISAMPLE_LOAD: "MULTISAMPLE_LOAD",
    }  # fmt: skip
    for format, info in FORMATS.items():
        if not info.required or (format >= Format.AYUV and format is not Format.B4G4R4A4_UNORM) or format in (Format.UNKNOWN, Format.R10G10B10_XR_BIAS_A2_UNORM):
            continue
        support = await lab.device.check_format_support(format)
        missing = [name for ability, name in names.items() if info.requires(ability) and not support & wddm.FormatSupport[name]]
        assert not missing, f"{format.name}: {missing}"
        for samples, ability in ((4, A.MULTISAMPLE_RENDERTARGET_4X), (8, A.MULTISAMPLE_RENDERTARGET_8X)):
            if info.requires(ability):
                assert await lab.device.check_multisample_quality_levels(format, samples) >= 1, format.name
    support2 = await lab.device.check_format_support2(Format.R32_UINT)
    assert support2 & 0x3F == 0x3F


async def test_clears_of_every_renderable_format(lab: Lab) -> None:
    color = np.array([[0.25, 0.7, -0.3, 2.0]])
    for kind in ("float4", "uint4", "int4"):
        for format in formats(A.RENDER_TARGET, kind):
            texture, view = await lab.target(3, 2, format)
            values = color if kind == "float4" else np.array([[5.0, 300, 70000, 1]]) if kind == "uint4" else np.array([[5.0, -300, 70000, -1]])
            lab.ctx.clear_render_target_view(view, tuple(values[0]))
            image = np.ascontiguousarray(await lab.ctx.read_texture(texture)).reshape(6, -1).view(np.uint8)
            check_encoded(format, image, np.repeat(values, 6, 0).astype(np.float32).astype(np.float64))


async def test_depth_is_compared_when_sampled(lab: Lab) -> None:
    """Comparison sampling of each format that can: the reference is clamped for unorm, filtered results are shares."""
    source = "Texture2D<float> t : register(t0); SamplerComparisonState s : register(s0); RWStructuredBuffer<float> o : register(u0); [numthreads(8, 1, 1)] void cs(uint i : SV_GroupIndex) { o[i] = t.SampleCmpLevelZero(s, float2(i / 8.0, 0.5), 0.5); }"
    sampler = await lab.sampler(filter=wddm.Filter.COMPARISON_MIN_MAG_LINEAR_MIP_POINT, comparison_func=wddm.ComparisonFunc.LESS_EQUAL)
    for format, raw in (
        (Format.R32_FLOAT, np.array([0.25, 0.75], np.float32)), (Format.R16_UNORM, np.array([0x4000, 0xC000], np.uint16)),
    ):  # fmt: skip
        texture = await lab.device.create_texture2d(raw.tobytes(), width=2, height=1, format=format)
        got = await lab.compute(source, 8, await lab.device.create_shader_resource_view(texture), samplers=[sampler])
        np.testing.assert_allclose(got, np.clip(np.arange(8) / 8 * 2 - 0.5, 0, 1), atol=1 / 256, err_msg=format.name)
