"""Bad input of every kind at every boundary: the error that Direct3D or WDDM gives, and everybody else goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest
import trio
import trio.testing

import wddm
from tests.support.scenes import FULL, Simple
from tests.support.stack import WholeStack, whole_stack
from wddm import hlsl
from wddm.client.gpu import Gpu


@asynccontextmanager
async def bystander(stack: WholeStack) -> AsyncIterator[None]:
    """Somebody else's frames, before and after."""
    async with stack.connect() as gpu:
        scene = await Simple.create(gpu, vertices=FULL)
        scene.draw(tint=(1, 0, 1, 1))
        yield
        assert (await scene.read() == np.array([255, 0, 255, 255])).all()
        scene.draw(tint=(0, 1, 0, 1))
        assert (await scene.read() == np.array([0, 255, 0, 255])).all()


@pytest.mark.parametrize("where", ["raw_api", "raw_thunk"])
@pytest.mark.parametrize(
    "data", [b"\xc1", b"\x00" * 100, b"\x94\x00\x01\xa5hello\x90" * 3, bytes(range(256)) * 40, b"\xdd\xff\xff\xff\xff"]
)
async def test_garbage_at_a_socket_ends_only_that_link(autojump_clock, where: str, data: bytes) -> None:
    async with whole_stack() as stack, bystander(stack):
        transport = getattr(stack, where)()
        await transport.send(data)
        with trio.fail_after(5):
            while (await transport.receive())[0]:
                pass


async def test_random_garbage_at_both_sockets(autojump_clock) -> None:
    async with whole_stack() as stack, bystander(stack):
        for where in ("raw_api", "raw_thunk"):
            for seed in range(40):
                transport = getattr(stack, where)()
                await transport.send(np.random.default_rng(seed).bytes(200) + b"\xc1")
                await trio.testing.wait_all_tasks_blocked()
                transport.close()  # the garbage may have been the beginning of something long


async def refused(awaitable: object, *names: str) -> str:
    with pytest.raises(wddm.D3DError) as info:
        await awaitable  # type: ignore[misc]
    assert info.value.name in names, str(info.value)
    assert info.value.sentence
    return str(info.value)


async def test_creation_with_bad_parameters(autojump_clock) -> None:
    async with whole_stack() as stack, bystander(stack), stack.connect() as gpu:
        device = await gpu.create_device()
        bad = "E_INVALIDARG"
        texture = device.create_texture2d
        await refused(device.create_buffer(0, bind_flags=wddm.BindFlag.VERTEX_BUFFER), bad)
        await refused(device.create_buffer(20, bind_flags=wddm.BindFlag.CONSTANT_BUFFER), bad)
        await refused(device.create_buffer(2**31, bind_flags=wddm.BindFlag.VERTEX_BUFFER), bad, "E_OUTOFMEMORY")
        await refused(texture(width=0, height=4, format=28), bad)
        await refused(texture(width=20000, height=4, format=28), bad)
        await refused(texture(width=16, height=16, mip_levels=9, format=28), bad)
        await refused(texture(width=16, height=16, format=999), bad)
        await refused(texture(width=16, height=16, format=28, bind_flags=wddm.BindFlag.DEPTH_STENCIL), bad)
        await refused(texture(width=16, height=16, format=28, sample_count=3), bad)
        await refused(texture(width=16384, height=16384, array_size=64, format=2), bad, "E_OUTOFMEMORY")
        ok = await texture(width=16, height=16, format=28)
        await refused(device.create_render_target_view(ok), bad)
        await refused(device.create_shader_resource_view(ok, format=wddm.Format.R32_FLOAT), bad)


async def test_shaders_that_are_none(autojump_clock) -> None:
    good = hlsl.compile("float4 main(float4 p : POSITION) : SV_Position { return p; }", "main", "vs_5_0")
    broken = bytearray(good)
    broken[-5] ^= 1
    async with whole_stack() as stack, bystander(stack), stack.connect() as gpu:
        device = await gpu.create_device()
        for blob in (b"", b"DXBC", good[:100], good[:-1], bytes(broken), np.random.default_rng(1).bytes(300)):
            await refused(device.create_vertex_shader(blob), "E_INVALIDARG")
        await refused(device.create_pixel_shader(good), "E_INVALIDARG")
        await device.create_vertex_shader(good)


async def test_recorded_errors_are_raised_at_the_next_wait_and_the_device_goes_on(autojump_clock) -> None:
    async with whole_stack() as stack, bystander(stack), stack.connect() as gpu:
        scene = await Simple.create(gpu, vertices=FULL)
        small = await scene.device.create_buffer(64, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        scene.ctx.copy_subresource_region(scene.target, 7, 0, 0, 0, small, 0)
        await refused(scene.read(), "E_INVALIDARG", "DXGI_ERROR_INVALID_CALL")
        scene.draw(tint=(0, 0, 1, 1))
        assert (await scene.read())[3, 3].tolist() == [0, 0, 255, 255]


@pytest.mark.parametrize("box", [(), (0, 0, 0), (0, 0, 0, 1, 1), (0, 0, 0, 1, 1, None), 5, np.float32(2)])
async def test_a_box_that_is_none(autojump_clock, box: object) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        scene = await Simple.create(gpu, vertices=FULL)
        await refused(scene.ctx.read_texture(scene.target, 0, box), "E_INVALIDARG")
        with pytest.raises(wddm.D3DError, match="E_INVALIDARG.*box"):
            scene.ctx.update_subresource(scene.target, b"four", 0, box)
        scene.draw(tint=(0, 0, 1, 1))
        assert (await scene.ctx.read_texture(scene.target, 0, (3, 3, 0, 4, 4, 1))).tolist() == [[[0, 0, 255, 255]]]


async def test_handles_of_nothing_of_the_wrong_kind_and_of_others(autojump_clock) -> None:
    async with whole_stack() as stack, bystander(stack), stack.connect() as gpu, stack.connect() as other:
        scene, theirs = await Simple.create(gpu), await Simple.create(other)
        released = await scene.device.create_buffer(64, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        scene.device.release(released)
        for wrong in (released, scene.rtv, theirs.vertices):
            scene.ctx.ia_set_vertex_buffers(0, [wrong], [16], [0])
            if wrong is not theirs.vertices:  # another client's number may be a valid one of ours
                await refused(scene.read(), "E_INVALIDARG", "DXGI_ERROR_INVALID_CALL")
        scene.device.release(released)


async def test_present_on_a_released_chain(autojump_clock) -> None:
    async with whole_stack() as stack, bystander(stack), stack.connect() as gpu:
        device = await gpu.create_device()
        chain = await gpu.create_swap_chain(device, width=64, height=48, format=28)
        await chain.present(1)
        chain.release()
        await refused(chain.present(1), "DXGI_ERROR_INVALID_CALL", "E_INVALIDARG")
        await refused(gpu.create_swap_chain(device, width=64, height=48, format=28, buffer_count=1), "DXGI_ERROR_INVALID_CALL")
        again = await gpu.create_swap_chain(device, width=64, height=48, format=28)
        await refused(again.present(5), "DXGI_ERROR_INVALID_CALL", "E_INVALIDARG")
        await again.present(1)


async def test_out_of_video_memory(autojump_clock) -> None:
    async with whole_stack(vram=8 << 20, aperture=16 << 20) as stack, bystander(stack), stack.connect() as gpu:
        device = await gpu.create_device()
        ctx = device.immediate_context

        async def fill() -> None:
            target = await device.create_texture2d(width=4096, height=2048, format=28, bind_flags=wddm.BindFlag.RENDER_TARGET)
            rtv = await device.create_render_target_view(target)
            ctx.clear_render_target_view(rtv, (1, 1, 1, 1))
            await ctx.wait_idle(spin=0)

        await refused(fill(), "E_OUTOFMEMORY", "DXGI_ERROR_DEVICE_REMOVED", "D3DERR_OUTOFVIDEOMEMORY")


async def test_a_client_that_vanishes_in_the_middle_of_its_work(autojump_clock) -> None:
    async def vanish(gpu: Gpu) -> None:
        scene = await Simple.create(gpu, vertices=FULL, size=(256, 256))
        for _ in range(20):
            scene.draw()
        scene.ctx.flush()

    async with whole_stack() as stack, bystander(stack):
        for _ in range(3):
            async with stack.connect() as gpu:
                await vanish(gpu)


async def test_numbers_that_no_message_can_carry_are_the_programs_errors_and_the_link_goes_on(autojump_clock) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        scene = await Simple.create(gpu, vertices=FULL)
        device, ctx = scene.device, scene.ctx
        for create, words in (
            (device.create_buffer(1 << 40), "byte_width: 1099511627776 is not in 0..4294967295"),
            (device.create_texture2d(width=-1, height=4, format=28), "width: -1 is not in 0..4294967295"),
            (device.create_texture2d(width=4.5, height=4, format=28), "width: float where an integer belongs"),
            (device.create_rasterizer_state(depth_clip_enable=1), "depth_clip_enable: int where a boolean belongs"),
            (device.create_vertex_shader(bytes(5 << 20)), "bytecode: 5242880 items or bytes"),
            (gpu.create_swap_chain(device, width=1 << 33, height=1, format=28), "width: 8589934592 is not in"),
        ):
            with pytest.raises(wddm.D3DError, match="E_INVALIDARG") as told:
                await create
            assert words in told.value.sentence
        for command, words in (
            (lambda: ctx.draw(-1), "draw: vertex_count is no 32-bit unsigned integer"),
            (lambda: ctx.draw("three"), "draw: vertex_count is no 32-bit unsigned integer"),
            (lambda: ctx.clear_render_target_view(scene.rtv, (0, 0, 1)), "clear_render_target_view: color is no list of 4 numbers"),
            (lambda: ctx.rs_set_viewports([(0, 0, 4)]), "rs_set_viewports: "),
        ):
            command()
            with pytest.raises(wddm.D3DError, match="E_INVALIDARG") as told:
                await ctx.wait_idle()
            assert words in told.value.sentence
        scene.draw(tint=(0, 1, 0, 1))
        assert (await scene.read())[0, 0].tolist() == [0, 255, 0, 255]


@pytest.mark.parametrize("count", [1 << 70, -1, "three", 1.5, None, [3], object()])
async def test_an_argument_that_is_no_number_loses_only_its_command(autojump_clock, count: object) -> None:
    async with whole_stack() as stack, stack.connect() as gpu:
        scene = await Simple.create(gpu, vertices=FULL)
        scene.draw(tint=(1, 0, 0, 1))
        scene.ctx.draw(count)
        message = await refused(scene.read(), "E_INVALIDARG")
        assert "draw: " in message
        assert (await scene.read())[0, 0].tolist() == [255, 0, 0, 255]
        scene.draw(tint=(0, 1, 0, 1))
        assert (await scene.read())[0, 0].tolist() == [0, 255, 0, 255]
