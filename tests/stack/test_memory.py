"""Memory is real: working sets larger than video memory, maps that wait or refuse, renaming, content that survives eviction."""

from __future__ import annotations

import numpy as np
import pytest

import wddm
from tests.support.scenes import FULL, Simple
from tests.support.stack import whole_stack

SIDE = 512  # 1 MiB of RGBA8


async def test_a_working_set_larger_than_video_memory_still_renders_right(autojump_clock) -> None:
    async with whole_stack(vram=8 << 20) as stack, stack.connect() as gpu:
        device = await gpu.create_device()
        scenes = []
        for _ in range(16):
            target = await device.create_texture2d(
                width=SIDE, height=SIDE, format=wddm.Format.R8G8B8A8_UNORM, bind_flags=wddm.BindFlag.RENDER_TARGET
            )
            scenes.append((target, await device.create_render_target_view(target)))
        ctx = device.immediate_context
        for index, (_, rtv) in enumerate(scenes):
            ctx.clear_render_target_view(rtv, (index / 255, 0, 0, 1))
            ctx.flush()
        for index, (target, _) in enumerate(scenes):
            image = await ctx.read_texture(target)
            assert (image == np.array([index, 0, 0, 255])).all()
        info = await gpu.info()
        counters = {s.name: s.value for s in info.statistics}
    assert counters["evictions"] >= 8
    assert counters["bytes_paged"] >= 8 << 20


async def test_textures_that_do_not_fit_together_are_read_in_one_draw_after_another(autojump_clock) -> None:
    data = [np.full((SIDE, SIDE, 4), value, np.uint8) for value in range(12)]
    async with whole_stack(vram=8 << 20) as stack, stack.connect() as gpu:
        device = await gpu.create_device()
        textures = [
            await device.create_texture2d(d, format=wddm.Format.R8G8B8A8_UNORM, bind_flags=wddm.BindFlag.SHADER_RESOURCE)
            for d in data
        ]
        ctx = device.immediate_context
        for value, texture in enumerate(textures):
            assert (await ctx.read_texture(texture) == value).all()


async def test_map_of_a_busy_resource_waits_or_says_so(autojump_clock) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        scene = await Simple.create(gpu, vertices=FULL, size=(128, 128))
        staging = await scene.device.create_texture2d(
            width=128,
            height=128,
            format=wddm.Format.R8G8B8A8_UNORM,
            usage=wddm.Usage.STAGING,
            cpu_access_flags=wddm.CpuAccessFlag.READ,
            bind_flags=0,
        )
        scene.draw(tint=(1, 0, 0, 1))
        scene.ctx.copy_resource(staging, scene.target)
        refused = 0
        for _ in range(1000):
            try:
                mapped = await scene.ctx.map(staging, 0, wddm.MapType.READ, wddm.MapFlag.DO_NOT_WAIT)
                break
            except wddm.D3DError as error:
                assert error.name == "DXGI_ERROR_WAS_STILL_DRAWING"
                refused += 1
        else:
            pytest.fail("the copy never finished")
        assert mapped.data[:4].tolist() == [255, 0, 0, 255]
        scene.ctx.unmap(staging)


async def test_write_discard_renames_while_earlier_draws_keep_their_content(autojump_clock) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        scene = await Simple.create(gpu, vertices=FULL, size=(32, 32))
        dynamic = await scene.device.create_buffer(
            16, bind_flags=wddm.BindFlag.CONSTANT_BUFFER, usage=wddm.Usage.DYNAMIC, cpu_access_flags=wddm.CpuAccessFlag.WRITE
        )
        ctx = scene.ctx
        ctx.ps_set_constant_buffers(0, [dynamic])
        ctx.om_set_render_targets([scene.rtv])
        for row in range(8):
            mapped = await ctx.map(dynamic, 0, wddm.MapType.WRITE_DISCARD)
            mapped.data.view(np.float32)[:4] = (row / 255, 0, 0, 1)
            ctx.unmap(dynamic)
            ctx.rs_set_viewports([wddm.Viewport(0, row * 4, 32, 4)])
            ctx.draw(3, 0)
        image = await scene.read()
    for row in range(8):
        assert (image[row * 4 : row * 4 + 4, :, 0] == row).all()


async def test_update_subresource_between_draws_keeps_order(autojump_clock) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        scene = await Simple.create(gpu, vertices=FULL, size=(32, 32))
        ctx = scene.ctx
        ctx.om_set_render_targets([scene.rtv])
        for row in range(16):
            ctx.rs_set_viewports([wddm.Viewport(0, row * 2, 32, 2)])
            ctx.update_subresource(scene.tint, np.array([row / 255, 1, 0, 1], np.float32))
            ctx.draw(3, 0)
        image = await scene.read()
    assert image[:, 0, 0].tolist() == [r // 2 for r in range(32)]


async def test_everything_of_a_client_that_leaves_is_given_back(autojump_clock) -> None:
    async with whole_stack() as stack:
        async with stack.connect() as watcher:
            before = {s.id: s.used for s in (await watcher.info()).segments}
            for _ in range(3):
                async with stack.connect() as gpu:
                    scene = await Simple.create(gpu)
                    scene.draw()
                    await scene.read()
            for _ in range(4):
                await watcher.wait_for_vblank()
            assert {s.id: s.used for s in (await watcher.info()).segments} == before
