"""What user mode must not do, and what becomes of those who do: the error, a sentence, and nobody else disturbed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fake_gpu import PAGE, Op, Place
from tests.support.thunk_client import Commands, ThunkClient, stack
from wddm.ddi.d3dukmdt import D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS
from wddm.ddi.status import HRESULT, NTSTATUS, hresult_from_ntstatus
from wddm.wire import thunk
from wddm.wire.channel import ChannelClosed
from wddm.wire.connection import RemoteError
from wddm.wire.message import Nothing, Struct


async def refused(client: ThunkClient, message: Struct, status: int, words: str = "") -> None:
    declaration = thunk.THUNK.by_struct[type(message)]
    assert declaration.reply is not None
    with pytest.raises(RemoteError) as caught:
        await client.ask(message, declaration.reply)
    assert caught.value.code == status
    assert words in caught.value.message


def signalling(client: ThunkClient, fences: list[int], values: list[int]) -> thunk.Render:
    message = Commands().op(Op.NOP).message(client.hContext)
    message.fences, message.values = fences, values
    return message


async def works(client: ThunkClient) -> None:
    """The device still renders."""
    fence, buffer = await client.fence(), await client.allocate(PAGE, Place.APERTURE)
    client.tell(Commands().fill(buffer, 0x11, PAGE).message(client.hContext))
    client.signal(fence, 1)
    await client.wait(fence, 1)
    assert await client.read(buffer) == b"\x11" * PAGE


async def test_handles() -> None:
    async with stack() as s:
        client, other = await (await s.client()).start("one"), await (await s.client()).start("other")
        buffer, fence = await client.allocate(PAGE, Place.APERTURE), await client.fence()
        bad = NTSTATUS.STATUS_INVALID_HANDLE
        await refused(client, thunk.GetDeviceState(hDevice=0), bad, "hDevice 0x0 is NULL where a device belongs")
        await refused(client, thunk.GetDeviceState(hDevice=0xFFFF_FFFF), bad, "was never given out")
        await refused(client, thunk.GetDeviceState(hDevice=buffer), bad, "names a allocation, not a device")
        await refused(client, thunk.GetDeviceState(hDevice=other.hDevice), bad, "belongs to nobody here")
        await refused(client, thunk.Lock(hDevice=client.hDevice, hAllocation=fence), bad, "not a allocation")
        await refused(client, thunk.QueryAdapterInfo(hAdapter=client.hDevice, type=0), bad)
        spare = await client.context()
        await client.ask(thunk.DestroyContext(hContext=spare), Nothing)
        await refused(client, thunk.DestroyContext(hContext=spare), bad, "was destroyed")
        again = await client.context()
        assert again != spare
        second = (await client.ask(thunk.CreateDevice(hAdapter=client.hAdapter), thunk.DeviceCreated)).hDevice
        await refused(
            client, thunk.Lock(hDevice=second, hAllocation=buffer), NTSTATUS.STATUS_GRAPHICS_WRONG_ALLOCATION_DEVICE
        )
        await client.ask(thunk.DestroyDevice(hDevice=second), Nothing)
        await refused(client, thunk.DestroyDevice(hDevice=second), bad, "was destroyed")
        await works(client)
        await works(other)


@pytest.mark.parametrize(
    ("make", "reason", "words"),
    [
        (lambda c: Commands().op(17).message(c.hContext), HRESULT.D3DDDIERR_PRIVILEGEDINSTRUCTION, ""),
        (lambda c: Commands().op(9).message(c.hContext), HRESULT.D3DDDIERR_INVALIDINSTRUCTION, ""),
        (lambda c: Commands().op(Op.FILL).message(c.hContext), HRESULT.D3DDDIERR_INVALIDHANDLE, ""),
        (lambda c: Commands().fill(c.buffer, 1, PAGE, 1).message(c.hContext), HRESULT.D3DDDIERR_INVALIDUSERBUFFER, ""),
        (lambda c: Commands().use(5).message(c.hContext), HRESULT.D3DDDIERR_INVALIDHANDLE, "element 1: hAllocation 0x5"),
        (lambda c: Commands().use(c.hContext).message(c.hContext), HRESULT.D3DDDIERR_INVALIDHANDLE, "names a context"),
        (lambda c: Commands().op(Op.NOP, 65).message(c.hContext), HRESULT.E_INVALIDARG, "3120 bytes; the context has 3072"),
        (lambda c: Commands().use(*range(1, 40)).message(c.hContext), HRESULT.E_INVALIDARG, "room for 32"),
        (
            lambda c: thunk.Render(
                hContext=c.hContext, sequence=1, commands=b"123", allocation_list=b"", patch_location_list=b""
            ),
            HRESULT.D3DDDIERR_INVALIDUSERBUFFER,
            "",
        ),
        (
            lambda c: thunk.Render(
                hContext=c.hContext, sequence=1, commands=b"", allocation_list=b"123", patch_location_list=b""
            ),
            HRESULT.E_INVALIDARG,
            "no whole elements",
        ),
        (
            lambda c: thunk.Render(
                hContext=c.hContext, sequence=1, commands=b"", allocation_list=b"", patch_location_list=b"123"
            ),
            HRESULT.E_INVALIDARG,
            "patch location list of 3 bytes",
        ),
        (
            lambda c: thunk.Render(
                hContext=c.hContext, sequence=1, commands=b"", allocation_list=b"\0\0\0\0\xff\xff\xff\xff", patch_location_list=b""
            ),
            HRESULT.E_INVALIDARG,
            "reserved bits",
        ),
        (
            lambda c: thunk.DestroyAllocation(hDevice=c.hDevice, handles=[c.buffer, c.buffer]),
            HRESULT.D3DDDIERR_INVALIDHANDLE,
            "twice",
        ),
        (lambda c: thunk.DestroyAllocation(hDevice=c.hDevice, hResource=7), HRESULT.D3DDDIERR_INVALIDHANDLE, "hResource 0x7"),
        (lambda c: thunk.DestroySynchronizationObject(hSyncObject=c.buffer), HRESULT.D3DDDIERR_INVALIDHANDLE, ""),
        (lambda c: thunk.SignalFromCpu(handles=[c.buffer], values=[1]), HRESULT.D3DDDIERR_INVALIDHANDLE, ""),
        (lambda c: thunk.SignalFromCpu(handles=[], values=[1]), HRESULT.E_INVALIDARG, "0 fences and 1 values"),
        (lambda c: thunk.SetContextSchedulingPriority(hContext=c.hContext, priority=8), HRESULT.E_INVALIDARG, "-7..7"),
        (
            lambda c: thunk.OfferAllocations(hDevice=c.hDevice, handles=[c.buffer], priority=0),
            HRESULT.E_INVALIDARG,
            "offer priority 0",
        ),
        (
            lambda c: thunk.SetAllocationPriority(hDevice=c.hDevice, handles=[c.buffer], priorities=[0]),
            HRESULT.E_INVALIDARG,
            "priorities",
        ),
        (
            lambda c: thunk.SignalSynchronizationObject(hContext=c.hContext, handles=[], value=1),
            HRESULT.E_INVALIDARG,
            "nothing to signal",
        ),
        (lambda c: signalling(c, [], [1]), HRESULT.E_INVALIDARG, "0 fences and 1 values"),
        (lambda c: signalling(c, [c.buffer], [1]), HRESULT.D3DDDIERR_INVALIDHANDLE, "fences[0]"),
        (lambda c: signalling(c, [c.closed], [1]), hresult_from_ntstatus(NTSTATUS.STATUS_ACCESS_DENIED), "NoSignal"),
        (lambda c: signalling(c, [c.at_five], [4]), HRESULT.E_INVALIDARG, "AllowFenceRewind"),
        (
            lambda c: thunk.WaitForSynchronizationObject(hContext=c.hContext, handles=[c.buffer], value=1),
            HRESULT.D3DDDIERR_INVALIDHANDLE,
            "",
        ),
    ],
)
async def test_a_bad_notification_loses_its_device_only(
    make: Callable[[Any], Struct], reason: int, words: str
) -> None:
    async with stack() as s:
        client, other = await (await s.client()).start("bad"), await (await s.client()).start("good")
        client.buffer = await client.allocate(PAGE, Place.APERTURE)  # type: ignore[attr-defined]
        client.closed = await client.fence(flags=int(D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoSignal))  # type: ignore[attr-defined]
        client.at_five = await client.fence(initial=5)  # type: ignore[attr-defined]
        client.tell(make(client))
        await client.until(lambda: client.changed)
        assert client.changed[0].reason == reason
        assert words in client.changed[0].sentence
        assert await client.state() == thunk.DeviceState(
            state=client.changed[0].state, reason=client.changed[0].reason, sentence=client.changed[0].sentence
        )
        # It can be destroyed, and a new one made.
        await client.ask(thunk.DestroyDevice(hDevice=client.hDevice), Nothing)
        client.hDevice = (await client.ask(thunk.CreateDevice(hAdapter=client.hAdapter), thunk.DeviceCreated)).hDevice
        client.hContext = await client.context()
        await works(client)
        await works(other)
        assert not other.changed


async def test_requests_that_are_refused() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        wrong = NTSTATUS.STATUS_INVALID_PARAMETER
        await refused(client, thunk.CreateDevice(hAdapter=client.hAdapter, flags=0x80), wrong, "0x80")
        await refused(client, thunk.CreateContext(hDevice=client.hDevice, node_ordinal=9), wrong, "2 nodes")
        await refused(client, thunk.CreateContext(hDevice=client.hDevice, engine_affinity=2), wrong, "not linked")
        await refused(client, thunk.CreateAllocation(hDevice=client.hDevice, allocations=[]), wrong, "no allocation")
        await refused(
            client, thunk.CreateAllocation(hDevice=client.hDevice, allocations=[thunk.AllocationInfo()], shared=True), wrong
        )
        await refused(
            client, thunk.CreateAllocation(hDevice=client.hDevice, allocations=[thunk.AllocationInfo(private=b"?")]), wrong
        )
        await refused(
            client,
            thunk.CreateAllocation(hDevice=client.hDevice, allocations=[thunk.AllocationInfo(VidPnSourceId=1)]),
            wrong,
            "without the Primary flag",
        )
        await refused(
            client,
            thunk.CreateAllocation(hDevice=client.hDevice, allocations=[thunk.AllocationInfo(flags=1, VidPnSourceId=4)]),
            NTSTATUS.STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE,
        )
        await refused(client, thunk.QueryAdapterInfo(hAdapter=client.hAdapter, type=1), wrong, "UMDRIVERPRIVATE")
        await refused(
            client,
            thunk.GetDisplayModeList(hAdapter=client.hAdapter, VidPnSourceId=1),
            NTSTATUS.STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE,
        )
        await refused(client, thunk.WaitFromCpu(handles=[1], values=[]), wrong)
        escape = thunk.Escape(hAdapter=client.hAdapter, data=b"abc")
        assert (await client.ask(escape, thunk.AdapterData)).data == b"cba"
        await works(client)


async def test_hello_comes_first_and_once() -> None:
    async with stack() as s:
        client = await s.client()
        with pytest.raises(ChannelClosed, match="the first message is hello"):
            await client.ask(thunk.OpenAdapter(), thunk.AdapterInfo)
        client = await s.client()
        with pytest.raises(ChannelClosed, match=r"wddm\.thunk 99 where wddm\.thunk"):
            await client.ask(thunk.Hello(protocol="wddm.thunk", version=99), thunk.HelloReply)
        client = await s.client()
        await client.hello()
        with pytest.raises(ChannelClosed, match="hello came twice"):
            await client.hello()
        await s.settle()
        assert not s.adapter.processes


# ----- the end of a process ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("descriptors", [True, False])
async def test_a_process_that_vanishes_leaves_nothing(auto: bool, descriptors: bool) -> None:
    async with stack(auto=auto, descriptors=descriptors) as s:
        await s.settle()
        before = (len(s.gpu.blocks), set(s.miniport.contexts), set(s.miniport.devices))
        client = await (await s.client()).start()
        second = await client.context()
        handles = [await client.allocate(PAGE, place) for place in Place for _ in range(3)]
        gate = await client.fence()
        for handle in handles:
            client.tell(Commands().fill(handle, 1, PAGE).message(client.hContext))
        client.tell(thunk.WaitForSynchronizationObject(hContext=second, handles=[gate], value=9))
        client.tell(Commands().use(*handles).message(second))
        client.signal(gate, 1)
        await s.settle()
        client.channel.close()
        for _ in range(20):
            await s.settle()
            s.gpu.drain(0)
            s.gpu.drain(1)
        await s.settle()
        assert not s.adapter.processes
        assert not s.miniport.allocations
        assert not s.miniport.opened
        assert (s.miniport.contexts, s.miniport.devices) == before[1:]
        assert not s.adapter.vidmm.all
        assert not s.gpu.aperture
        assert all(not segment.space.used for segment in s.adapter.vidmm.segments.values())
        assert not s.adapter.dying
        # What is left are idle DMA buffers and the dummy page.
        names = len(s.gpu.blocks) - before[0]
        assert names <= 70
        await works(await (await s.client()).start("next")) if auto else None


async def test_waiters_of_a_vanished_process_are_let_go() -> None:
    async with stack(auto=False) as s:
        client = await (await s.client()).start()
        buffer = await client.allocate(PAGE, Place.APERTURE)
        client.tell(Commands().fill(buffer, 1, PAGE).message(client.hContext))
        ended: list[str] = []

        async def wait() -> None:
            try:
                await client.lock(buffer)
            except ChannelClosed:
                ended.append("closed")

        s.nursery.start_soon(wait)
        await s.settle()
        client.channel.close()
        await s.settle()
        assert ended == ["closed"]
        s.gpu.drain(1)
        await s.settle()
        s.gpu.drain(0)
        await s.settle()
        assert not s.miniport.allocations


async def test_a_sender_that_fills_its_queue_is_held_back() -> None:
    async with stack(auto=False, max_queued_packets=8) as s:
        client = await (await s.client()).start()
        for _ in range(50):
            client.tell(Commands().op(Op.NOP).message(client.hContext))
        await s.settle()
        context = s.adapter.processes[0].devices[0].contexts[0]
        assert len(context.queue) == 9
        while s.gpu.step(0):
            await s.settle()
        assert s.adapter.vidsch.nodes[0].completed_count == 50


async def test_a_queue_behind_a_wait_is_not_held_back_but_bounded() -> None:
    async with stack(max_queued_packets=4) as s:
        client = await (await s.client()).start()
        gate, done = await client.fence(), await client.fence()
        client.tell(thunk.WaitForSynchronizationObject(hContext=client.hContext, handles=[gate], value=1))
        for _ in range(50):
            client.tell(Commands().op(Op.NOP).message(client.hContext))
        client.signal(done, 1)
        client.tell(thunk.SignalFromCpu(handles=[gate], values=[1]))
        await client.wait(done, 1)
        client.tell(thunk.WaitForSynchronizationObject(hContext=client.hContext, handles=[gate], value=2))
        for _ in range(300):
            client.tell(Commands().op(Op.NOP).message(client.hContext))
        await client.until(lambda: client.changed)
        assert "queued behind a wait" in client.changed[0].sentence


# ----- anything ------------------------------------------------------------------------------------------------------------------


def _messages() -> st.SearchStrategy[Struct]:
    """Any message that a client may send, with small numbers so that they now and then name something."""
    from wddm.wire.message import fields_of

    small = st.integers(0, 4) | st.sampled_from([0xFFFF_FFFF, 1 << 20 | 1, 1 << 20 | 2, 1 << 20 | 3, 1 << 20 | 4, 1 << 20 | 5])

    def value(hint: Any) -> st.SearchStrategy[Any]:
        text = str(hint)
        if "bytes" in text:
            return st.binary(max_size=64)
        if "AllocationInfo" in text:
            return st.lists(st.builds(thunk.AllocationInfo, private=st.binary(max_size=40), flags=small), max_size=2)
        if "list" in text:
            return st.lists(small, max_size=3)
        if "Rect" in text:
            return st.none()
        if text.startswith("<class 'bool'"):
            return st.booleans()
        if text.startswith("<class 'str'"):
            return st.just("fuzz")
        if "-2147483648" in text:
            return st.integers(-8, 8)
        return small

    kinds = [
        d.struct
        for d in thunk.THUNK.by_struct.values()
        if not d.from_server and d.struct not in (thunk.Hello, thunk.WaitForVerticalBlankEvent, thunk.DestroyDevice)
    ]
    return st.one_of([st.builds(kind, **{f.name: value(hint) for f, hint in fields_of(kind)}) for kind in kinds])


@settings(max_examples=40, deadline=None)
@given(messages=st.lists(_messages(), min_size=1, max_size=30), descriptors=st.booleans())
def test_any_sequence_of_messages(messages: list[Struct], descriptors: bool) -> None:
    async def main() -> None:
        async with stack(descriptors=descriptors) as s:
            client, other = await (await s.client()).start("fuzz"), await (await s.client()).start("other")
            await client.allocate(PAGE, Place.ANYWHERE)
            await client.fence()

            async def ask(message: Struct, reply: type[Any]) -> None:
                with trio.move_on_after(0.2):
                    with contextlib.suppress(RemoteError, ChannelClosed):
                        await client.channel.request(message, reply)

            async with trio.open_nursery() as nursery:
                for message in messages:
                    declaration = thunk.THUNK.by_struct[type(message)]
                    if declaration.reply is None:
                        client.tell(message)
                    else:
                        nursery.start_soon(ask, message, declaration.reply)
                await s.settle()
                for _ in range(3):
                    s.gpu.vsync()
                    await s.settle()
            await works(other)
            assert s.adapter.stopped is None
            assert not other.changed
            client.channel.close()
            await s.settle()
            assert len(s.adapter.processes) == 1

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@settings(max_examples=60, deadline=None)
@given(
    commands=st.binary(max_size=200) | st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5000)), max_size=4),
    listed=st.lists(st.sampled_from([0, 1, 2, 3, 4, 0xFFFF_FFFF]), max_size=5),
    patches=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 300), st.integers(0, 9000)), max_size=5),
)
def test_any_command_buffer(commands: Any, listed: list[int], patches: list[tuple[int, int, int]]) -> None:
    import numpy as np

    from tests.support.fake_gpu import RECORD
    from wddm.ddi.d3dukmdt import D3DDDI_ALLOCATIONLIST_DTYPE, D3DDDI_PATCHLOCATIONLIST_DTYPE

    async def main() -> None:
        async with stack() as s:
            client, other = await (await s.client()).start("fuzz"), await (await s.client()).start("other")
            handles = [0, *[await client.allocate(PAGE, place) for place in (Place.LOCAL, Place.APERTURE, Place.ANYWHERE)]]
            data = commands
            if isinstance(data, list):
                data = np.array([(op, 1, 0, size, 0, 0, (0, 0)) for op, size in data], RECORD).tobytes()
            pairs = [(handles[h] if h < len(handles) else h, 1) for h in listed]
            client.tell(
                thunk.Render(
                    hContext=client.hContext,
                    sequence=1,
                    commands=data,
                    allocation_list=np.array(pairs, D3DDDI_ALLOCATIONLIST_DTYPE).tobytes(),
                    patch_location_list=np.array(
                        [(i, 0, 0, offset, at, 0) for i, at, offset in patches], D3DDDI_PATCHLOCATIONLIST_DTYPE
                    ).tobytes(),
                )
            )
            await trio.sleep(10)
            await works(other)
            assert s.adapter.stopped is None

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
