"""Presents and modes across the thunk boundary."""

from __future__ import annotations

import pytest

from tests.support.fake_gpu import PAGE, Place, Reg
from tests.support.thunk_client import Commands, Stack, ThunkClient, stack
from wddm.ddi.d3dkmthk import D3DKMT_PRESENTFLAGS as Flag
from wddm.ddi.status import NTSTATUS
from wddm.wire import thunk
from wddm.wire.connection import RemoteError
from wddm.wire.message import Nothing


async def primary(client: ThunkClient, size: int = 8, value: int | None = None) -> int:
    handle = await client.allocate(PAGE, Place.LOCAL, width=size, height=size, primary=True)
    if value is not None:
        client.tell(Commands().fill(handle, value, PAGE).message(client.hContext))
    return handle


async def set_mode(client: ThunkClient, handle: int) -> None:
    await client.ask(thunk.SetDisplayMode(hDevice=client.hDevice, hPrimary=handle), Nothing)


def flip(client: ThunkClient, number: int, handle: int, interval: int = 1, flags: Flag = Flag.Flip) -> None:
    client.tell(
        thunk.Present(hContext=client.hContext, id=number, hSource=handle, flags=int(flags), flip_interval=interval)
    )


async def vsync(s: Stack) -> None:
    await s.settle()
    s.gpu.vsync()
    await s.settle()


def retired(client: ThunkClient) -> list[tuple[int, bool, int]]:
    return [(r.id, r.shown, r.vblank_count) for r in client.retired]


async def shown(client: ThunkClient) -> set[int]:
    reply = await client.ask(thunk.ReadScanout(hAdapter=client.hAdapter), thunk.Scanout)
    return set(reply.data)


async def test_start_gives_the_monitors_mode_black() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        source = client.info.sources[0]
        assert (source.width, source.height, source.visible) == (640, 360, False)
        modes = (await client.ask(thunk.GetDisplayModeList(hAdapter=client.hAdapter), thunk.DisplayModes)).modes
        assert [(m.width, m.height) for m in modes] == [(640, 360), (8, 8), (64, 32)]
        assert await shown(client) == {0}


async def test_flips_come_at_vertical_sync_and_retire() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        a, b = await primary(client, value=1), await primary(client, value=2)
        await set_mode(client, a)
        assert await shown(client) == {1}
        flip(client, 1, b)
        await s.settle()
        assert await shown(client) == {1}
        assert retired(client) == []
        await vsync(s)
        assert await shown(client) == {2}
        assert retired(client) == [(1, True, 1)]
        flip(client, 2, a)
        flip(client, 3, b)
        await vsync(s)
        await vsync(s)
        assert retired(client) == [(1, True, 1), (2, True, 2), (3, True, 3)]


async def test_intervals_and_the_example_of_the_flip_model() -> None:
    async with stack(max_queued_presents=9) as s:
        client = await (await s.client()).start()
        buffers = [await primary(client, value=n) for n in range(6)]
        await set_mode(client, buffers[5])
        for number, interval in enumerate((3, 0, 0, 1, 0)):
            flip(client, number, buffers[number], interval)
        for _ in range(4):
            await vsync(s)
        # A is cut short by B; B and C give way to newer ones; D stays one vertical blank; E stays.
        assert sorted(retired(client)) == [(0, True, 1), (1, False, 0), (2, False, 0), (3, True, 2), (4, True, 3)]
        flip(client, 9, buffers[0], 3)
        await vsync(s)
        flip(client, 10, buffers[1], 1)
        for _ in range(3):
            await vsync(s)
        assert retired(client)[-2:] == [(9, True, 5), (10, True, 8)]


async def test_drawing_into_a_buffer_waits_until_the_screen_gives_it_back() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        a, b = await primary(client, value=1), await primary(client, value=2)
        await set_mode(client, a)
        flip(client, 1, b)
        client.tell(Commands().fill(a, 3, PAGE).message(client.hContext))
        await s.settle()
        assert await shown(client) == {1}, "a is still on the screen"
        await vsync(s)
        assert await shown(client) == {2}
        assert s.adapter.vidsch.nodes[0].completed_count == 3
        # What is shown and will not be replaced may be drawn into: nothing would ever give it back.
        client.tell(Commands().fill(b, 4, PAGE).message(client.hContext))
        await s.settle()
        assert await shown(client) == {4}


async def test_a_flip_waits_for_its_rendering() -> None:
    async with stack(auto=False) as s:
        client = await (await s.client()).start()
        a = await primary(client)
        s.nursery.start_soon(set_mode, client, a)
        await s.settle()
        s.gpu.drain(1)
        await s.settle()
        b = await primary(client, value=2)
        flip(client, 1, b)
        await s.settle()
        s.gpu.drain(1)
        await vsync(s)
        assert retired(client) == []
        s.gpu.drain(0)
        await vsync(s)
        assert retired(client) == [(1, True, 2)]


async def test_do_not_wait_restart_repeat_and_tearing() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        buffers = [await primary(client, value=n) for n in range(5)]
        await set_mode(client, buffers[0])
        for number in (1, 2, 3):
            flip(client, number, buffers[number])
        flip(client, 4, buffers[4], flags=Flag.Flip | Flag.FlipDoNotWait)
        await s.settle()
        assert retired(client) == [(4, False, 0)]
        client.retired.clear()
        await vsync(s)
        flip(client, 5, buffers[4], flags=Flag.Flip | Flag.FlipRestart)
        await s.settle()
        assert retired(client) == [(1, True, 1), (3, False, 1)]
        await vsync(s)
        await vsync(s)
        assert retired(client)[2:] == [(2, True, 2), (5, True, 3)]
        flip(client, 6, buffers[4], flags=Flag.Flip | Flag.FlipDoNotFlip)
        await vsync(s)
        assert retired(client)[-1] == (6, True, 4)
        flip(client, 7, buffers[1], interval=5)
        await s.settle()
        assert retired(client)[-1] == (7, True, 4)
        assert await shown(client) == {1}


async def test_a_sender_with_too_many_presents_is_held_back() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        a, b = await primary(client, value=1), await primary(client, value=2)
        await set_mode(client, a)
        for number in range(1, 9):
            flip(client, number, (a, b)[number % 2])
        await s.settle()
        assert s.adapter.processes[0].devices[0].queued_presents == 4
        for _ in range(8):
            await vsync(s)
        assert [r.id for r in client.retired] == list(range(1, 9))


async def test_one_owner_a_source() -> None:
    async with stack() as s:
        owner, other = await (await s.client()).start("owner"), await (await s.client()).start("other")
        a, b = await primary(owner, value=1), await primary(other, value=2)
        await set_mode(owner, a)
        with pytest.raises(RemoteError) as refused:
            await set_mode(other, b)
        assert refused.value.code == NTSTATUS.STATUS_GRAPHICS_NOT_EXCLUSIVE_MODE_OWNER
        take = thunk.SetVidPnSourceOwner(hDevice=other.hDevice, VidPnSourceId=0, owner_type=2)
        with pytest.raises(RemoteError) as refused:
            await other.ask(take, Nothing)
        assert refused.value.code == NTSTATUS.STATUS_GRAPHICS_VIDPN_SOURCE_IN_USE
        flip(other, 1, b)
        await vsync(s)
        assert retired(other) == [(1, False, 1)]
        owner.channel.close()
        await s.settle()
        assert await shown(other) == {0}
        await other.ask(take, Nothing)
        await set_mode(other, b)
        assert await shown(other) == {2}
        await vsync(s)
        assert not s.gpu.nodes[0].queue


async def test_a_surface_of_another_size_is_not_shown() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        a, wrong = await primary(client, value=1), await primary(client, size=16)
        await set_mode(client, a)
        flip(client, 1, wrong)
        await vsync(s)
        assert retired(client) == [(1, False, 1)]
        assert not client.changed


async def test_presents_that_cannot_be() -> None:
    for message, words in (
        ({"flags": 0}, "are not supported together"),
        ({"flags": int(Flag.Flip | Flag.Blt)}, "are not supported together"),
        ({"flags": int(Flag.Flip), "flip_interval": 6}, "flip_interval 6"),
        ({"flags": int(Flag.Flip), "hSource": 5}, "hSource 0x5 names no allocation"),
        ({"flags": int(Flag.Flip), "VidPnSourceId": 3}, "no video present source 3"),
        ({"flags": int(Flag.Blt)}, "hDestination 0x0 is NULL"),
    ):
        async with stack() as s:
            client = await (await s.client()).start()
            a = await primary(client)
            client.tell(thunk.Present(**({"hContext": client.hContext, "id": 1, "hSource": a} | message)))
            await client.until(lambda c=client: c.changed)
            assert words in client.changed[0].sentence
    async with stack() as s:
        client = await (await s.client()).start()
        texture = await client.allocate(PAGE, Place.LOCAL)
        flip(client, 1, texture)
        await client.until(lambda: client.changed)
        assert "is no primary of source 0" in client.changed[0].sentence


async def test_blit_and_colour_fill() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        a, b = await primary(client, value=1), await primary(client, value=2)
        await set_mode(client, a)
        client.tell(thunk.Present(hContext=client.hContext, id=1, hSource=b, hDestination=a, flags=int(Flag.Blt)))
        await client.until(lambda: client.retired)
        assert retired(client) == [(1, True, 0)]
        assert await shown(client) == {2}
        client.tell(
            thunk.Present(
                hContext=client.hContext, id=2, hSource=0, hDestination=a, flags=int(Flag.ColorFill), color=0x77
            )
        )
        await client.until(lambda: len(client.retired) == 2)
        assert await shown(client) == {0x77}


async def test_gamma_and_vertical_blank() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        gamma = thunk.SetGammaRamp(hDevice=client.hDevice, VidPnSourceId=0, ramp=b"\xff" * 1536)
        await client.ask(gamma, Nothing)
        await s.settle()
        assert (Reg.GAMMA, 0xFFFF) in s.gpu.writes
        with pytest.raises(RemoteError) as refused:
            await client.ask(thunk.SetGammaRamp(hDevice=client.hDevice, VidPnSourceId=0, ramp=b"123"), Nothing)
        assert refused.value.code == NTSTATUS.STATUS_GRAPHICS_INVALID_GAMMA_RAMP
        found: list[int] = []

        async def wait() -> None:
            message = thunk.WaitForVerticalBlankEvent(hAdapter=client.hAdapter)
            found.append((await client.ask(message, thunk.VerticalBlank)).vblank_count)

        s.nursery.start_soon(wait)
        await vsync(s)
        assert found == [1]


async def test_what_is_scanned_out_stays_where_it_is() -> None:
    async with stack(local=4 * PAGE) as s:
        client = await (await s.client()).start()
        a = await primary(client, value=1)
        await set_mode(client, a)
        fence = await client.fence()
        for value in range(1, 9):
            other = await client.allocate(3 * PAGE, Place.LOCAL)
            client.tell(Commands().fill(other, 9, 3 * PAGE).message(client.hContext))
            client.signal(fence, value)
            await client.wait(fence, value)
        assert await shown(client) == {1}
        big = await client.allocate(4 * PAGE, Place.LOCAL)
        client.tell(Commands().fill(big, 9, PAGE).message(client.hContext))
        await client.until(lambda: client.changed)
        assert client.changed[0].state == 5
