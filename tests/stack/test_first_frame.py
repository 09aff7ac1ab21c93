"""The spine in one process on a simulated clock: draw, read, present, and what the display shows."""

from __future__ import annotations

import numpy as np

import wddm
from tests.support.scenes import FULL, Simple
from tests.support.stack import whole_stack


async def test_a_triangle_comes_back_right(autojump_clock) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        scene = await Simple.create(gpu)
        scene.draw(clear=(0, 0, 0.2, 1))
        image = await scene.read()
    assert image.shape == (48, 64, 4)
    assert image[0, 0].tolist() == [0, 0, 51, 255]
    covered = (image[..., :3] != (0, 0, 51)).any(axis=2)
    # Half of a 32x24 box, by the top-left rule exactly this many pixels.
    assert covered.sum() == 32 * 24 // 2
    top, left, right = image[12 + 1, 31], image[35, 17], image[35, 46]
    assert top[0] > 200
    assert right[1] > 200
    assert left[2] > 200


async def test_what_is_presented_is_what_the_display_shows(autojump_clock) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        device = await gpu.create_device()
        chain = await gpu.create_swap_chain(device, width=64, height=48, format=wddm.Format.R8G8B8A8_UNORM)
        scene = await Simple.create(gpu, device=device, target=await chain.get_buffer(0), vertices=FULL)
        for number in range(1, 6):
            shade = number * 40 / 255
            scene.draw(tint=(shade, 0, 1, 1))
            await chain.present(sync_interval=1)
            await scene.ctx.wait_idle(spin=0)
            for _ in range(2):
                await gpu.wait_for_vblank()
            shown = await gpu.read_display()
            assert shown.shape == (48, 64, 4)
            assert (shown == np.array([number * 40, 0, 255, 255])).all()


async def test_frames_flow_at_the_refresh_rate_and_none_is_lost(autojump_clock) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        device = await gpu.create_device()
        chain = await gpu.create_swap_chain(device, width=64, height=48, format=wddm.Format.R8G8B8A8_UNORM)
        scene = await Simple.create(gpu, device=device, target=await chain.get_buffer(0))
        for number in range(30):
            scene.draw(tint=(number / 30, 1, 1, 1))
            await chain.present(sync_interval=1)
        for _ in range(6):
            await gpu.wait_for_vblank()
        info = await gpu.info()
        assert info.sources[0].flips == 30
        assert await chain.get_last_present_count() == 30


async def test_two_clients_draw_side_by_side(autojump_clock) -> None:
    async with whole_stack() as stack, stack.connect() as one, stack.connect() as two:
        scenes = [await Simple.create(gpu, vertices=FULL) for gpu in (one, two)]
        for round in range(5):
            for index, scene in enumerate(scenes):
                scene.draw(tint=(index, round / 5, 0, 1))
            for index, scene in enumerate(scenes):
                assert (await scene.read())[5, 5].tolist() == [255 * index, round * 51, 0, 255]
