"""Work in flight, with a GPU that is held still and let go: nothing is told as done too early, nothing waits that need not, queues
are bounded, and the display shows whole frames."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import trio
import trio.testing

import wddm
from tests.support.scenes import FULL, Simple
from tests.support.stack import WholeStack, whole_stack
from wddm import hlsl, trace

SIXTEEN_TEXTURES = """
Texture2D<float4> textures[16] : register(t0);
float4 ps_main(float4 position : SV_Position) : SV_Target
{
    float4 sum = 0;
    [unroll] for (int i = 0; i < 16; i++)
        sum += textures[i].Load(int3(position.xy, 0));
    return sum;
}
"""


class HeldGpu:
    """While ``held`` the virtual GPU takes doorbells and executes nothing; the display goes on."""

    def __init__(self, stack: WholeStack, monkeypatch: pytest.MonkeyPatch) -> None:
        self.held = False
        self._server = stack.server
        self._kick = stack.server.kick
        monkeypatch.setattr(stack.server, "kick", lambda: None if self.held else self._kick())

    def release(self) -> None:
        """Execute what has come, and go on."""
        self.held = False
        self._kick()


@contextmanager
def still_waiting(seconds: float = 1.0) -> Iterator[None]:
    """The body must not end within ``seconds`` of simulated time."""
    with trio.move_on_after(seconds) as scope:
        yield
    assert scope.cancelled_caught, "it ended before the GPU had done anything"


async def a_dynamic_constant_buffer(device: Any) -> Any:
    return await device.create_buffer(
        16, bind_flags=wddm.BindFlag.CONSTANT_BUFFER, usage=wddm.Usage.DYNAMIC, cpu_access_flags=wddm.CpuAccessFlag.WRITE
    )


async def test_nothing_is_told_as_done_before_the_hardware_has_done_it(autojump_clock, monkeypatch: pytest.MonkeyPatch) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        scene = await Simple.create(gpu, vertices=FULL)
        ctx = scene.ctx
        staging = await scene.device.create_texture2d(
            width=64,
            height=48,
            format=wddm.Format.R8G8B8A8_UNORM,
            usage=wddm.Usage.STAGING,
            cpu_access_flags=wddm.CpuAccessFlag.READ,
        )
        event = await scene.device.create_query(wddm.QueryType.EVENT)
        await ctx.wait_idle()
        holder = HeldGpu(stack, monkeypatch)
        holder.held = True
        scene.draw(tint=(1, 0, 0, 1))
        ctx.copy_resource(staging, scene.target)
        ctx.end(event)
        value = ctx.signal()
        with still_waiting():
            await ctx.wait_fence(value)
        assert await ctx.get_data(event) is None
        for _ in range(3):
            with pytest.raises(wddm.D3DError) as refused:
                await ctx.map(staging, 0, wddm.MapType.READ, wddm.MapFlag.DO_NOT_WAIT)
            assert refused.value.name == "DXGI_ERROR_WAS_STILL_DRAWING"
        pixels: list[list[int]] = []

        async def read() -> None:
            mapped = await ctx.map(staging, 0, wddm.MapType.READ)
            pixels.append(mapped.data[:4].tolist())
            ctx.unmap(staging)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await trio.sleep(0.5)
            assert not pixels
            holder.release()
        assert pixels == [[255, 0, 0, 255]]
        await ctx.wait_fence(value)
        assert await ctx.get_data(event) is True


async def test_renaming_needs_no_wait_and_draws_in_flight_keep_their_content(
    autojump_clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        scene = await Simple.create(gpu, vertices=FULL, size=(32, 32))
        ctx, dynamic = scene.ctx, await a_dynamic_constant_buffer(scene.device)
        ctx.ps_set_constant_buffers(0, [dynamic])
        ctx.om_set_render_targets([scene.rtv])
        await ctx.wait_idle()
        holder = HeldGpu(stack, monkeypatch)
        holder.held = True
        for row in range(6):
            began = trio.current_time()
            mapped = await ctx.map(dynamic, 0, wddm.MapType.WRITE_DISCARD)
            assert trio.current_time() == began
            mapped.view(np.float32)[:4] = ((row + 1) / 255, 0, 0, 1)
            ctx.unmap(dynamic)
            ctx.rs_set_viewports([wddm.Viewport(0, row * 4, 32, 4)])
            ctx.draw(3, 0)
            ctx.flush()
        holder.release()
        image = await scene.read()
    assert image[:24, 5, 0].tolist() == [1 + y // 4 for y in range(24)]


async def test_an_app_a_kernel_and_a_gpu_work_on_different_frames(autojump_clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the GPU has not done the first frame, the kernel has taken the second and the app records the third; with a latency of
    three the fourth present waits, and not before."""
    async with whole_stack() as stack, stack.connect() as gpu:
        device = await gpu.create_device()
        chain = await gpu.create_swap_chain(device, width=64, height=48, format=wddm.Format.R8G8B8A8_UNORM, buffer_count=4)
        scene = await Simple.create(gpu, device=device, target=await chain.get_buffer(0), vertices=FULL)
        await scene.ctx.wait_idle()
        before = (await gpu.info()).nodes[0]
        holder = HeldGpu(stack, monkeypatch)
        holder.held = True
        events: list[trace.Event] = []
        trace.start(events.append)
        try:
            for number in range(3):
                scene.draw(tint=(number / 2, 0, 0, 1))
                began = trio.current_time()
                await chain.present(1)
                assert trio.current_time() == began  # no frame waited for another
            scene.draw()
            with pytest.raises(wddm.D3DError, match="STILL_DRAWING"):
                await chain.present(1, wddm.PresentFlag.DO_NOT_WAIT)
            await gpu.wait_for_vblank()
        finally:
            trace.stop()
        rendered = [e for e in events if e.name == "DxgkDdiRender"]
        assert len(rendered) >= 3  # validated and translated while the first was not done
        assert (await gpu.info()).nodes[0].completed == before.completed
        presented = trio.Event()

        async def fourth() -> None:
            await chain.present(1)
            presented.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fourth)
            await trio.sleep(1)
            assert not presented.is_set()
            holder.release()
            with trio.fail_after(1):
                await presented.wait()


async def test_presents_flow_one_a_vertical_sync_and_no_further_ahead_than_the_latency(autojump_clock) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        device = await gpu.create_device()
        chain = await gpu.create_swap_chain(device, width=64, height=48, format=wddm.Format.R8G8B8A8_UNORM)
        scene = await Simple.create(gpu, device=device, target=await chain.get_buffer(0))
        for latency in (3, 1):
            await device.set_maximum_frame_latency(latency)
            for _ in range(5):  # nothing is in flight any more
                await gpu.wait_for_vblank()
            returned = []
            began = trio.current_time()
            for _ in range(8):
                scene.draw()
                await chain.present(1)
                returned.append(round((trio.current_time() - began) * 60))
            assert returned == [max(0, n - latency + 1) for n in range(8)]


async def test_a_frame_is_shown_only_when_it_is_finished_and_at_a_vertical_sync(
    autojump_clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        device = await gpu.create_device()
        chain = await gpu.create_swap_chain(device, width=64, height=48, format=wddm.Format.R8G8B8A8_UNORM)
        scene = await Simple.create(gpu, device=device, target=await chain.get_buffer(0), vertices=FULL)
        scene.draw(tint=(1, 0, 0, 1))
        await chain.present(1)
        await scene.ctx.wait_idle()
        for _ in range(3):
            await gpu.wait_for_vblank()
        holder = HeldGpu(stack, monkeypatch)
        holder.held = True
        scene.draw(tint=(0, 1, 0, 1))
        await chain.present(1)
        for _ in range(10):
            blank = await gpu.wait_for_vblank()
            assert (await gpu.read_display() == np.array([255, 0, 0, 255])).all()
        assert chain.last_retired is not None
        assert chain.last_retired.count == 1
        period = 1 / 60
        await trio.sleep(period / 2)  # in the middle of a scan
        holder.release()
        await trio.testing.wait_all_tasks_blocked()
        assert (await gpu.read_display() == np.array([255, 0, 0, 255])).all()
        after = await gpu.wait_for_vblank()
        assert after.vblank_count == blank.vblank_count + 1
        assert (await gpu.read_display() == np.array([0, 255, 0, 255])).all()
        await trio.testing.wait_all_tasks_blocked()
        assert (chain.last_retired.count, chain.last_retired.vblank_count) == (2, after.vblank_count)
        assert after.time_ns - blank.time_ns == pytest.approx(1e9 / 60, rel=1e-3)


async def test_a_client_that_submits_faster_than_the_gpu_fills_bounded_queues(
    autojump_clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole_stack() as stack, stack.connect() as gpu, stack.connect() as other:
        scene = await Simple.create(gpu, vertices=FULL)
        innocent = await Simple.create(other, vertices=FULL)
        await scene.ctx.wait_idle()
        holder = HeldGpu(stack, monkeypatch)
        holder.held = True
        count = 600
        for number in range(count):
            scene.draw(tint=(number / count, 0, 0, 1))
            scene.ctx.flush()
        await trio.sleep(1)
        adapter = stack.kernel.adapter
        assert adapter is not None
        devices = [device for process in adapter.processes for device in process.devices]
        longest = max(len(context.queue) for device in devices for context in device.contexts)
        limit = stack.kernel.options.max_queued_packets
        assert limit / 2 < longest <= limit + 4
        assert (await other.info()).nodes[0].completed < count  # others are served meanwhile
        holder.release()
        innocent.draw(tint=(0, 0, 1, 1))
        assert (await innocent.read() == np.array([0, 0, 255, 255])).all()
        assert (await scene.read())[0, 0].tolist() == [round(255 * (count - 1) / count), 0, 0, 255]


async def test_one_draw_reads_more_textures_than_video_memory_holds(autojump_clock) -> None:
    async with whole_stack(vram=8 << 20) as stack, stack.connect() as gpu:
        scene = await Simple.create(gpu, vertices=FULL, size=(16, 16))
        views = []
        for value in range(16):  # 1 MiB each
            texture = await scene.device.create_texture2d(
                np.full((512, 512, 4), value, np.uint8), format=wddm.Format.R8G8B8A8_UNORM
            )
            views.append(await scene.device.create_shader_resource_view(texture))
        scene.ctx.ps_set_shader(await scene.device.create_pixel_shader(hlsl.compile(SIXTEEN_TEXTURES, "ps_main", "ps_5_0")))
        scene.ctx.ps_set_shader_resources(0, views)
        for _ in range(3):
            scene.draw(clear=(0, 0, 0, 0))
            assert (await scene.read() == sum(range(16))).all()


async def test_immutable_resources_keep_their_content(autojump_clock) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        device = await gpu.create_device()
        ctx, kind = device.immediate_context, wddm.Format.R8G8B8A8_UNORM
        content = np.random.default_rng(1).integers(0, 256, (8, 8, 4), np.uint8)
        texture = await device.create_texture2d(content, format=kind, usage=wddm.Usage.IMMUTABLE)
        other = await device.create_texture2d(content, format=kind)
        ctx.update_subresource(texture, np.zeros_like(content))
        with pytest.raises(wddm.D3DError, match="it is IMMUTABLE"):
            await ctx.wait_idle()
        ctx.copy_resource(texture, other)
        with pytest.raises(wddm.D3DError, match="it is IMMUTABLE"):
            await ctx.wait_idle()
        with pytest.raises(wddm.D3DError, match="without CPU access WRITE"):
            await ctx.map(texture, 0, wddm.MapType.WRITE_DISCARD)
        with pytest.raises(wddm.D3DError, match="an IMMUTABLE resource needs it"):
            await device.create_buffer(16, usage=wddm.Usage.IMMUTABLE, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        with pytest.raises(wddm.D3DError, match="cannot be written by the GPU"):
            await device.create_texture2d(
                content, format=kind, usage=wddm.Usage.IMMUTABLE, bind_flags=wddm.BindFlag.RENDER_TARGET
            )
        assert (await ctx.read_texture(texture) == content).all()


async def test_what_a_body_raises_comes_out_as_it_is(autojump_clock) -> None:
    async with whole_stack() as stack:
        with pytest.raises(KeyError, match="mine"):
            async with stack.connect() as gpu:
                async with await gpu.create_device():
                    raise KeyError("mine")
        with pytest.raises(wddm.D3DError) as told:
            async with stack.connect() as gpu, await gpu.create_device() as device:
                await device.create_buffer(0)
        error = told.value
        assert (error.code, error.name) == (0x8007_0057, "E_INVALIDARG")
        assert "byte_width" in error.sentence
        assert str(error) == f"E_INVALIDARG (0x80070057): {error.sentence}"
