"""Copies, updates and clears of every kind of resource and view."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wddm
from tests.stack.d3d11.lab import Lab
from wddm import BindFlag, Format, ResourceMiscFlag

U32 = np.uint32


def noise(*shape: int, dtype: Any = np.uint8) -> Any:
    """Reproducible bytes."""
    return np.random.default_rng(sum(shape)).integers(0, 200, shape).astype(dtype)


async def test_boxes_between_mips_slices_and_depths(lab: Lab) -> None:
    device, ctx = lab.device, lab.ctx
    form = Format.R8G8B8A8_UNORM
    images = [noise(8 >> m, 16 >> m, 4) + n for n in range(2) for m in range(3)]
    source = await device.create_texture2d(images, format=form, width=16, height=8, mip_levels=3, array_size=2)
    target = await device.create_texture2d(format=form, width=12, height=12, array_size=3)
    ctx.copy_subresource_region(target, 2, 3, 5, 0, source, 0, (4, 1, 0, 9, 6, 1))
    ctx.copy_subresource_region(target, 0, 1, 2, 0, source, 4)
    got = [await ctx.read_texture(target, n) for n in range(3)]
    want = np.zeros((12, 12, 4))
    want[5:10, 3:8] = images[0][1:6, 4:9]
    np.testing.assert_array_equal(got[2], want)
    want[:] = 0
    want[2:6, 1:9] = images[4]
    np.testing.assert_array_equal(got[0], want)
    assert not got[1].any()
    solid = noise(4, 6, 8, 4)
    volume = await device.create_texture3d(solid, format=form)
    deep = await device.create_texture3d(format=form, width=8, height=8, depth=8)
    ctx.copy_subresource_region(deep, 0, 1, 2, 3, volume, 0, (2, 1, 1, 5, 4, 4))
    got3 = await ctx.read_texture(deep)
    full = np.zeros((8, 8, 8, 4))
    full[3:6, 2:5, 1:4] = solid[1:4, 1:4, 2:5]
    np.testing.assert_array_equal(got3, full)
    ctx.copy_subresource_region(deep, 0, 0, 0, 7, target, 2, (3, 5, 0, 8, 10, 1))
    with pytest.raises(wddm.D3DError, match="different kinds"):
        await ctx.wait_idle()


async def test_a_region_moves_within_a_texture_between_subresources(lab: Lab) -> None:
    image = noise(8, 8, 4)
    texture = await lab.device.create_texture2d([image, noise(4, 4, 4)], format=Format.R8G8B8A8_UNORM, width=8, height=8, mip_levels=2)
    lab.ctx.copy_subresource_region(texture, 1, 0, 0, 0, texture, 0, (2, 3, 0, 6, 7, 1))
    np.testing.assert_array_equal(await lab.ctx.read_texture(texture, 1), image[3:7, 2:6])
    np.testing.assert_array_equal(await lab.ctx.read_texture(texture), image)


async def test_whole_copies(lab: Lab) -> None:
    """Every subresource; typeless families; buffers; block-compressed, depth and 1D."""
    device, ctx = lab.device, lab.ctx
    images = [noise(8 >> m, 8 >> m, 4) + n for n in range(2) for m in range(4)]
    one = await device.create_texture2d(images, format=Format.R8G8B8A8_UNORM, width=8, height=8, mip_levels=4, array_size=2)
    two = await device.create_texture2d(format=Format.R8G8B8A8_UINT, width=8, height=8, mip_levels=4, array_size=2)
    ctx.copy_resource(two, one)
    for n, image in enumerate(images):
        np.testing.assert_array_equal(await ctx.read_texture(two, n), image)
    data = noise(1000)
    a, b = await device.create_buffer(data), await device.create_buffer(1000)
    ctx.copy_resource(b, a)
    ctx.copy_subresource_region(b, 0, 7, 0, 0, a, 0, (100, 0, 0, 333, 1, 1))
    want = data.copy()
    want[7:240] = data[100:333]
    np.testing.assert_array_equal(await ctx.read_buffer(b), want)
    row = noise(32, 2)
    lines = [await device.create_texture1d(row, format=Format.R8G8_UNORM), await device.create_texture1d(format=Format.R8G8_UNORM, width=32)]
    ctx.copy_resource(lines[1], lines[0])
    np.testing.assert_array_equal(await ctx.read_texture(lines[1]), row)
    depths = [await lab.depth(4, 4, Format.D24_UNORM_S8_UINT) for _ in range(2)]
    ctx.clear_depth_stencil_view(depths[0][1], 3, 0.25, 99)
    ctx.copy_resource(depths[1][0], depths[0][0])
    assert ((await ctx.read_texture(depths[1][0])) == (99 << 24 | round(0.25 * 16777215))).all()


async def test_block_compressed_copies(lab: Lab) -> None:
    """Boxes in whole blocks; small mips are one block; bits go between BC1 and R16G16B16A16 block by texel."""
    device, ctx = lab.device, lab.ctx
    top, mips = noise(4, 4, 8), [noise(2, 2, 8), noise(1, 1, 8), noise(1, 1, 8) + 3]
    source = await device.create_texture2d([top, *mips], format=Format.BC1_UNORM, width=16, height=16, mip_levels=4)
    target = await device.create_texture2d(format=Format.BC1_UNORM, width=16, height=16, mip_levels=4)
    ctx.copy_subresource_region(target, 0, 8, 4, 0, source, 0, (4, 8, 0, 12, 16, 1))
    ctx.copy_subresource_region(target, 3, 0, 0, 0, source, 3)
    got = await ctx.read_texture(target)
    want = np.zeros((4, 4, 8))
    want[1:3, 2:4] = top[2:4, 1:3]
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(await ctx.read_texture(target, 3), mips[2])
    patch = noise(2, 3, 8) + 5
    ctx.update_subresource(target, patch, 0, (4, 0, 0, 16, 8, 1))
    want[0:2, 1:4] = patch
    np.testing.assert_array_equal(await ctx.read_texture(target), want)


async def test_updates_with_boxes(lab: Lab) -> None:
    device, ctx = lab.device, lab.ctx
    texture = await device.create_texture2d(format=Format.R16_UINT, width=8, height=8, mip_levels=2, array_size=2, bind_flags=BindFlag.SHADER_RESOURCE)
    patch, whole = noise(3, 4, 1, dtype=np.uint16), noise(4, 4, 1, dtype=np.uint16)
    ctx.update_subresource(texture, patch, 2, (1, 2, 0, 5, 5, 1))
    ctx.update_subresource(texture, whole, 1)
    want = np.zeros((8, 8, 1))
    want[2:5, 1:5] = patch
    np.testing.assert_array_equal(await ctx.read_texture(texture, 2), want)
    np.testing.assert_array_equal(await ctx.read_texture(texture, 1), whole)
    assert not (await ctx.read_texture(texture)).any()
    volume = await device.create_texture3d(format=Format.R32G32_FLOAT, width=4, height=4, depth=4)
    solid = noise(2, 3, 2, 2, dtype=np.float32)
    ctx.update_subresource(volume, solid, 0, (2, 1, 1, 4, 4, 3))
    full = np.zeros((4, 4, 4, 2))
    full[1:3, 1:4, 2:4] = solid
    np.testing.assert_array_equal(await ctx.read_texture(volume), full)
    buffer = await device.create_buffer(noise(64), bind_flags=BindFlag.VERTEX_BUFFER)
    ctx.update_subresource(buffer, np.arange(10, dtype=np.uint8), 0, (3, 0, 0, 13, 1, 1))
    flat = noise(64)
    flat[3:13] = np.arange(10)
    np.testing.assert_array_equal(await ctx.read_buffer(buffer), flat)
    # An empty box does nothing.
    ctx.update_subresource(texture, np.zeros((0, 4, 1), np.uint16), 2, (1, 3, 0, 5, 3, 1))
    np.testing.assert_array_equal(await ctx.read_texture(texture, 2), want)


async def test_updates_between_draws_keep_their_order(lab: Lab) -> None:
    """Each draw reads what was in the buffer when it was recorded, although all wait in one batch."""
    ctx = lab.ctx
    texture, _ = await lab.target(16, 1)
    constants = await lab.constants(0, 0, 0, 0)
    await lab.full("cbuffer C : register(b0) { float4 c; }; float4 ps(Full f) : SV_Target { return c; }")
    await lab.rasterizer(scissor_enable=True)
    ctx.ps_set_constant_buffers(0, [constants])
    for x in range(16):
        ctx.update_subresource(constants, np.full(4, x * 3, np.float32))
        ctx.rs_set_scissor_rects([(x, 0, x + 1, 1)])
        ctx.draw(3)
    assert (await ctx.read_texture(texture))[0, :, 0].tolist() == [x * 3 for x in range(16)]


async def test_clears_of_render_target_views(lab: Lab) -> None:
    """Subsets of mips, slices and depths; scissors and write masks do not matter; sRGB encodes."""
    device, ctx = lab.device, lab.ctx
    bind = BindFlag.RENDER_TARGET
    array = await device.create_texture2d(format=Format.R32_FLOAT, width=8, height=8, mip_levels=3, array_size=4, bind_flags=bind)
    view = await device.create_render_target_view(array, mip_slice=1, first_array_slice=1, array_size=2)
    await lab.rasterizer(scissor_enable=True)
    ctx.rs_set_scissor_rects([(0, 0, 1, 1)])
    ctx.om_set_blend_state(await device.create_blend_state(render_target=wddm.RenderTargetBlend(render_target_write_mask=0)))
    ctx.clear_render_target_view(view, (3.5, 0, 0, 0))
    for n in range(12):
        image = await ctx.read_texture(array, n)
        assert (image == (3.5 if n in (4, 7) else 0)).all(), n
    volume = await device.create_texture3d(format=Format.R8G8B8A8_UNORM_SRGB, width=4, height=4, depth=4, mip_levels=2, bind_flags=bind)
    ctx.clear_render_target_view(await device.create_render_target_view(volume, first_w_slice=1, w_size=2), (0.5, 1, 2, 0.5))
    image = await ctx.read_texture(volume)
    assert (image[1:3] == [188, 255, 255, 128]).all()
    assert not image[0].any()
    assert not image[3].any()
    line = await device.create_texture1d(format=Format.R16G16_SINT, width=8, array_size=2, bind_flags=bind)
    ctx.clear_render_target_view(await device.create_render_target_view(line, first_array_slice=1, array_size=1), (-5, 70000, 0, 0))
    assert (await ctx.read_texture(line, 1) == [-5, 32767]).all()
    assert not (await ctx.read_texture(line, 0)).any()


async def test_clears_of_depth_are_held_to_0_and_1(lab: Lab) -> None:
    for format in (Format.D16_UNORM, Format.D32_FLOAT):
        texture, view = await lab.depth(4, 4, format)
        for depth, want in ((2.5, 1), (-1, 0), (0.75, 0.75)):
            lab.ctx.clear_depth_stencil_view(view, 1, depth, 0)
            image = (await lab.ctx.read_texture(texture)).astype(np.float64) / (65535 if format is Format.D16_UNORM else 1)
            np.testing.assert_allclose(image, want, atol=1e-5)
    array = await lab.device.create_texture2d(format=Format.D32_FLOAT, width=4, height=4, mip_levels=2, array_size=3, bind_flags=BindFlag.DEPTH_STENCIL)
    view = await lab.device.create_depth_stencil_view(array, mip_slice=1, first_array_slice=1, array_size=2)
    lab.ctx.clear_depth_stencil_view(view, 1, 0.5)
    assert [(await lab.ctx.read_texture(array, n))[0, 0].item() for n in range(6)] == [0, 0, 0, 0.5, 0, 0.5]


async def test_clears_of_unordered_access_views(lab: Lab) -> None:
    """Integers fill with their low bits, whatever the format; numbers are converted; views of parts fill their part."""
    device, ctx = lab.device, lab.ctx
    bind = BindFlag.UNORDERED_ACCESS
    texture = await device.create_texture2d(format=Format.R8G8B8A8_UNORM, width=4, height=4, mip_levels=2, array_size=2, bind_flags=bind)
    view = await device.create_unordered_access_view(texture, mip_slice=1, first_array_slice=1, array_size=1)
    ctx.clear_unordered_access_view_uint(view, (1, 0x102, 0xFFFFFFFF, 4))
    assert (await ctx.read_texture(texture, 3) == [1, 2, 255, 4]).all()
    ctx.clear_unordered_access_view_float(view, (0.5, 2, -1, 1 / 3))
    assert (await ctx.read_texture(texture, 3) == [128, 255, 0, 85]).all()
    for n in range(3):
        assert not (await ctx.read_texture(texture, n)).any()
    words = np.full(16, 9, U32)
    raw = await device.create_buffer(words, bind_flags=bind, misc_flags=ResourceMiscFlag.BUFFER_ALLOW_RAW_VIEWS)
    ctx.clear_unordered_access_view_uint(await device.create_unordered_access_view(raw, format=Format.R32_TYPELESS, first_element=4, num_elements=8, flags=1), (0xDEADBEEF, 1, 2, 3))
    words[4:12] = 0xDEADBEEF
    assert (await ctx.read_buffer(raw, U32)).tolist() == words.tolist()
    structured, view = await lab.structured(np.zeros(12, U32), 12, uav=True)
    ctx.clear_unordered_access_view_uint(view, (7, 8, 9, 10))
    assert (await ctx.read_buffer(structured, U32)).tolist() == [7] * 12
    typed, view = await lab.typed(np.zeros(8, np.uint16), Format.R16G16_FLOAT, uav=True)
    ctx.clear_unordered_access_view_float(view, (1.5, -2, 0, 0))
    assert (await ctx.read_buffer(typed, np.float16)).tolist() == [1.5, -2] * 4
    volume = await device.create_texture3d(format=Format.R32_UINT, width=2, height=2, depth=4, bind_flags=bind)
    ctx.clear_unordered_access_view_uint(await device.create_unordered_access_view(volume, first_w_slice=2, w_size=1), (0x80000001, 0, 0, 0))
    assert (await ctx.read_texture(volume))[:, 0, 0, 0].tolist() == [0, 0, 0x80000001, 0]


@pytest.mark.parametrize("kind", ["texture", "buffer"])
async def test_overlapping_commands_stay_in_order(lab: Lab, kind: str) -> None:
    """Clear, copy, update and dispatch on the same memory, twenty times over, leave what the order says."""
    device, ctx = lab.device, lab.ctx
    if kind == "texture":
        a, b = [await device.create_texture2d(format=Format.R32_UINT, width=4, height=4, bind_flags=BindFlag.UNORDERED_ACCESS) for _ in range(2)]
        views = [await device.create_unordered_access_view(t) for t in (a, b)]
        source = "RWTexture2D<uint> a : register(u0); [numthreads(4, 4, 1)] void cs(uint2 p : SV_GroupThreadID) { a[p] = a[p] * 3 + 1; }"
    else:
        a, b = [await device.create_buffer(64, bind_flags=BindFlag.UNORDERED_ACCESS) for _ in range(2)]
        views = [await device.create_unordered_access_view(t, format=Format.R32_UINT, num_elements=16) for t in (a, b)]
        source = "RWBuffer<uint> a : register(u0); [numthreads(16, 1, 1)] void cs(uint i : SV_GroupIndex) { a[i] = a[i] * 3 + 1; }"
    await lab.cs(source)
    value = 0
    for n in range(20):
        if n % 5 == 0:
            ctx.clear_unordered_access_view_uint(views[0], (n, 0, 0, 0))
            value = n
        elif n % 5 == 3:
            shape: Any = (4, 4, 1) if kind == "texture" else 16
            ctx.update_subresource(a, np.full(shape, n * 7, U32))
            value = n * 7
        ctx.cs_set_unordered_access_views(0, [views[0]])
        ctx.dispatch(1)
        ctx.copy_resource(b, a)
        ctx.cs_set_unordered_access_views(0, [views[1]])
        ctx.dispatch(1)
        ctx.copy_resource(a, b)
        value = (value * 3 + 1) * 3 + 1
    got = await (ctx.read_texture(a) if kind == "texture" else ctx.read_buffer(a, U32))
    assert (got == value % 2**32).all()
