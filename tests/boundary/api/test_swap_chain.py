"""Swap chains over a fake display: who owns it, presents, rotation, latency, statistics, resizing."""

from __future__ import annotations

from typing import Any

import pytest
import trio

import wddm
from tests.boundary.api import fakes
from tests.boundary.api.fakes import one_client, stack
from wddm.client.gpu import Gpu
from wddm.ddi.status import HRESULT
from wddm.wire import thunk

FLIP = wddm.SwapEffect.FLIP_DISCARD


async def chain(gpu: Gpu, **fields: Any) -> Any:
    device = await gpu.create_device()
    fields = {"width": 640, "height": 360, "format": wddm.Format.R8G8B8A8_UNORM, "swap_effect": FLIP, **fields}
    return await gpu.create_swap_chain(device, **fields)


async def test_a_flip_chain_takes_the_source_and_shows_its_mode() -> None:
    async with one_client() as (s, gpu):
        made = await chain(gpu, buffer_count=3)
        assert made.buffer_count == 3
        assert s.kernel.of(thunk.SetVidPnSourceOwner)[0].owner_type == 2
        primary = s.kernel.of(thunk.SetDisplayMode)[0].hPrimary
        driver = fakes.DEVICES[-1]
        created = driver.named("pfnCreateResource")
        assert [a[0].pPrimaryDesc is not None for a in created] == [True] * 3
        assert primary == created[0][1]
        made.release()
        await made.device.immediate_context.wait_idle()
        assert s.kernel.owners == {}
        assert len(driver.named("pfnDestroyResource")) == 3


async def test_a_present_flips_rotates_and_unbinds() -> None:
    async with one_client() as (s, gpu):
        made = await chain(gpu)
        ctx, driver = made.device.immediate_context, fakes.DEVICES[-1]
        rtv = await made.device.create_render_target_view(await made.get_buffer(0))
        ctx.om_set_render_targets([rtv])
        assert await made.present(sync_interval=1) is HRESULT.S_OK
        names = [n for n, _ in driver.calls]
        at = names.index("dxgi pfnPresent")
        assert names[at:] == ["dxgi pfnPresent", "dxgi pfnRotateResourceIdentities", "pfnSetRenderTargets"]
        sent = s.kernel.of(thunk.Present)[0]
        assert (sent.flags, sent.flip_interval, sent.hDestination) == (4, 1, 0)
        assert driver.named("dxgi pfnRotateResourceIdentities")[0][0].Resources == 2
        assert driver.named("pfnSetRenderTargets")[-1][0] == []
        assert await made.get_last_present_count() == 1


async def test_another_owner_means_occluded_until_it_leaves() -> None:
    async with stack() as s, s.client() as first, s.client() as second:
        owner = await chain(first)
        other = await chain(second)
        assert await other.present() is HRESULT.DXGI_STATUS_OCCLUDED
        assert await other.present(flags=wddm.PresentFlag.TEST) is HRESULT.DXGI_STATUS_OCCLUDED
        assert await other.get_last_present_count() == 0
        assert await owner.present() is HRESULT.S_OK
        owner.release()
        await owner.device.immediate_context.wait_idle()
        assert await other.present() is HRESULT.S_OK


@pytest.mark.parametrize(
    ("interval", "flags", "fields"),
    [
        (5, 0, {}),
        (0, 0x80, {}),
        (0, 0x10, {}),
        (0, 0x40, {}),
        (0, 0x100, {}),
        (0, 0x200, {}),
        (1, 0x200, {"flags": 0x800}),
        (0, 0x4, {"swap_effect": wddm.SwapEffect.DISCARD}),
    ],
)
async def test_presents_refused(interval: int, flags: int, fields: dict[str, Any]) -> None:
    async with one_client() as (_, gpu):
        made = await chain(gpu, **fields)
        with pytest.raises(wddm.D3DError) as caught:
            await made.present(interval, flags)
        assert caught.value.code == HRESULT.DXGI_ERROR_INVALID_CALL


@pytest.mark.parametrize("interval", [0, 1, 2, 3, 4])
async def test_intervals_reach_the_kernel(interval: int) -> None:
    async with one_client() as (s, gpu):
        made = await chain(gpu)
        await made.present(interval)
        assert s.kernel.of(thunk.Present)[0].flip_interval == interval


async def test_tearing_and_restart() -> None:
    async with one_client() as (s, gpu):
        made = await chain(gpu, flags=wddm.SwapChainFlag.ALLOW_TEARING)
        await made.present(0, wddm.PresentFlag.ALLOW_TEARING)
        await made.present(1, wddm.PresentFlag.RESTART)
        first, second = s.kernel.of(thunk.Present)
        assert first.flip_interval == 5
        assert second.flags == 0x4 | 0x20


async def test_the_frame_latency_holds_presents_back() -> None:
    async with one_client() as (s, gpu):
        s.kernel.retire_at_once = False
        made = await chain(gpu, buffer_count=4)
        for _ in range(3):
            await made.present(1)
        with pytest.raises(wddm.D3DError) as caught:
            await made.present(1, wddm.PresentFlag.DO_NOT_WAIT)
        assert caught.value.code == HRESULT.DXGI_ERROR_WAS_STILL_DRAWING
        done = trio.Event()

        async def fourth() -> None:
            await made.present(1)
            done.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fourth)
            await trio.testing.wait_all_tasks_blocked()
            assert not done.is_set()
            assert len(s.kernel.of(thunk.Present)) == 3
            s.kernel.retire(s.kernel.of(thunk.Present)[0])
            await done.wait()
        await made.device.set_maximum_frame_latency(16)
        for _ in range(3):
            await made.present(1)
        with pytest.raises(wddm.D3DError, match="latency"):
            await made.device.set_maximum_frame_latency(17)


async def test_do_not_sequence_shows_the_same_buffer_again() -> None:
    async with one_client() as (s, gpu):
        made = await chain(gpu)
        flag = wddm.PresentFlag.DO_NOT_SEQUENCE
        await made.present(1, flag)
        assert s.kernel.of(thunk.Present) == []  # nothing was presented yet
        await made.present(1)
        driver = fakes.DEVICES[-1]
        buffers = [a[1] for a in driver.named("pfnCreateResource")]
        await made.present(1, flag)
        presents = s.kernel.of(thunk.Present)
        assert [p.hSource for p in presents] == [buffers[0], buffers[1]]  # handles stay, allocations rotate
        assert len(driver.named("dxgi pfnRotateResourceIdentities")) == 1


async def test_statistics_begin_disjoint() -> None:
    async with one_client() as (_, gpu):
        made = await chain(gpu)
        await made.present(1)
        with pytest.raises(wddm.D3DError) as caught:
            await made.get_frame_statistics()
        assert caught.value.code == HRESULT.DXGI_ERROR_FRAME_STATISTICS_DISJOINT
        statistics = await made.get_frame_statistics()
        assert (statistics.present_count, statistics.present_refresh_count, statistics.sync_qpc_time) == (1, 9, 5)


async def test_a_blt_chain_copies_to_a_primary() -> None:
    async with one_client() as (s, gpu):
        made = await chain(gpu, swap_effect=wddm.SwapEffect.DISCARD, buffer_count=2, format=wddm.Format.B8G8R8A8_UNORM)
        assert made.buffer_count == 1  # an app sees buffer 0 alone
        await made.present(2)
        sent = s.kernel.of(thunk.Present)[0]
        assert sent.flags == 1
        assert sent.hDestination != 0
        assert len(s.kernel.of(thunk.WaitForVerticalBlankEvent)) == 2


async def test_what_cannot_be_scanned_out_goes_through_proxies() -> None:
    async with one_client() as (s, gpu):
        made = await chain(gpu, swap_effect=wddm.SwapEffect.DISCARD, buffer_count=1, sample_count=4)
        driver = fakes.DEVICES[-1]
        await made.present(1)
        await made.present(1)
        blits = [a[0] for a in driver.named("dxgi pfnBlt")]
        assert [int(b.Flags) for b in blits] == [1, 1]
        assert blits[0].hDstResource != blits[1].hDstResource
        assert [p.hSource for p in s.kernel.of(thunk.Present)] == [b.hDstResource for b in blits]


async def test_a_size_that_the_display_refuses_is_stretched() -> None:
    async with one_client() as (s, gpu):

        class Refused(set[int]):
            def __contains__(self, handle: object) -> bool:
                created = [(a[1], a[0].pMipInfoList[0].TexelWidth) for a in fakes.DEVICES[-1].named("pfnCreateResource")]
                return dict(created).get(handle) != 640

        s.kernel.refused_primaries = Refused()
        made = await chain(gpu, width=100, height=50)
        await made.present(1)
        blit = fakes.DEVICES[-1].named("dxgi pfnBlt")[0][0]
        assert (int(blit.Flags), blit.DstRight, blit.DstBottom) == (4, 640, 360)


async def test_buffers_with_views_are_not_resized() -> None:
    async with one_client() as (_, gpu):
        made = await chain(gpu)
        device = made.device
        buffer = await made.get_buffer(0)
        rtv = await device.create_render_target_view(buffer)
        with pytest.raises(wddm.D3DError, match="views of it exist") as caught:
            await made.resize_buffers(width=320, height=200)
        assert caught.value.code == HRESULT.DXGI_ERROR_INVALID_CALL
        rtv.release()
        await made.resize_buffers(buffer_count=3, width=320, height=200)
        assert (made.width, made.height, made.buffer_count, buffer.id) == (320, 200, 3, 0)
        driver = fakes.DEVICES[-1]
        assert len(driver.named("pfnDestroyResource")) == 2
        assert await made.present() is HRESULT.S_OK


async def test_one_chain_for_each_output() -> None:
    async with one_client() as (_, gpu):
        made = await chain(gpu)
        with pytest.raises(wddm.D3DError) as caught:
            await gpu.create_swap_chain(made.device, width=64, height=64, format=28)
        assert caught.value.code == HRESULT.E_ACCESSDENIED
        with pytest.raises(wddm.D3DError) as caught:
            await gpu.create_swap_chain(made.device, width=64, height=64, format=28, source=3)
        assert caught.value.code == HRESULT.DXGI_ERROR_NOT_FOUND


async def test_srgb_views_of_a_plain_back_buffer() -> None:
    async with one_client() as (_, gpu):
        made = await chain(gpu)
        buffer = await made.get_buffer(0)
        await made.device.create_render_target_view(buffer, format=wddm.Format.R8G8B8A8_UNORM_SRGB)


async def test_the_size_of_the_output_is_the_default() -> None:
    async with one_client() as (_, gpu):
        made = await chain(gpu, width=0, height=0)
        assert (made.width, made.height) == (640, 360)


async def test_gamma_and_the_display() -> None:
    async with one_client() as (s, gpu):
        made = await chain(gpu)
        await made.set_gamma_control(bytes(1536))
        assert len(s.kernel.of(thunk.SetGammaRamp)) == 1
        with pytest.raises(wddm.D3DError, match="ramp"):
            await made.set_gamma_control(bytes(3))
        assert (await gpu.read_display()).tolist() == [[[0, 1, 2, 3], [4, 5, 6, 7]]]
        mode = (await gpu.get_display_modes())[0]
        assert (mode.width, mode.format) == (640, wddm.Format.R8G8B8A8_UNORM)
        assert (await gpu.wait_for_vblank()).vblank_count == 8


async def test_only_the_first_buffer_is_written() -> None:
    async with one_client() as (_, gpu):
        made = await chain(gpu, buffer_count=3, buffer_usage=0x30)
        await made.device.create_shader_resource_view(await made.get_buffer(2))
        with pytest.raises(wddm.D3DError, match="only the first"):
            await made.device.create_render_target_view(await made.get_buffer(1))
