"""Submission across the thunk boundary: passes, order, preemption, synchronisation, hangs and faults."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from kernel.server import Stopped
from tests.support.fake_gpu import PAGE, FakeMiniport, Op, Place
from tests.support.thunk_client import Commands, ThunkClient, leaves, stack
from wddm.ddi.status import HRESULT, NTSTATUS
from wddm.wire import thunk
from wddm.wire.connection import RemoteError
from wddm.wire.message import Nothing


async def sync_object(client: ThunkClient, kind: int, initial: int = 0, maximum: int = 0, flags: int = 0) -> int:
    message = thunk.CreateSynchronizationObject(
        hDevice=client.hDevice, type=kind, initial=initial, maximum=maximum, flags=flags
    )
    return (await client.ask(message, thunk.SyncObjectCreated)).hSyncObject


def wait(client: ThunkClient, handle: int, value: int = 0, hContext: int = 0) -> None:
    client.tell(
        thunk.WaitForSynchronizationObject(hContext=hContext or client.hContext, handles=[handle], value=value)
    )


async def test_a_long_command_buffer_takes_several_dma_buffers() -> None:
    async with stack(auto=False) as s:
        client = await (await s.client()).start()
        s.miniport.dma_size = 48 * 8
        context = await client.context()
        s.miniport.dma_size = 48 * 3  # later contexts only
        small = await client.context()
        client.tell(Commands().op(Op.NOP, 8).message(context))
        await s.settle()
        assert s.miniport.calls.count("DxgkDdiRender") == 1
        client.tell(Commands().op(Op.NOP, 4).message(small))
        await client.until(lambda: client.changed)
        assert "a command buffer of 192 bytes; the context has 144" in client.changed[0].sentence


async def test_multipass(monkeypatch: pytest.MonkeyPatch) -> None:
    class HalfRoom(FakeMiniport):
        """Takes only two records at a time."""

        def DxgkDdiRender(self, h: int, a: object) -> int:
            a.DmaSize = 96  # type: ignore[attr-defined]
            return super().DxgkDdiRender(h, a)  # type: ignore[arg-type]

    async with stack(miniport=HalfRoom()) as s:
        client = await (await s.client()).start()
        fence, buffer = await client.fence(), await client.allocate(PAGE, Place.APERTURE)
        commands = Commands()
        for value in range(7):
            commands.fill(buffer, value + 1, 16, value * 16)
        client.tell(commands.message(client.hContext))
        client.signal(fence, 1)
        await client.wait(fence, 1)
        assert s.miniport.calls.count("DxgkDdiRender") == 4
        assert (await client.read(buffer))[:112] == b"".join(bytes([v]) * 16 for v in range(1, 8))


async def test_hardware_queue_is_bounded_and_refilled() -> None:
    async with stack(auto=False) as s:
        client = await (await s.client()).start()
        for _ in range(10):
            client.tell(Commands().op(Op.NOP).message(client.hContext))
        await s.settle()
        assert len(s.gpu.nodes[0].queue) == FakeMiniport.cap
        s.gpu.step()
        await s.settle()
        assert len(s.gpu.nodes[0].queue) == FakeMiniport.cap
        for _ in range(9):
            s.gpu.step()
            await s.settle()
        assert s.adapter.vidsch.nodes[0].completed_count == 10


async def test_a_higher_priority_preempts_and_the_preempted_comes_back() -> None:
    async with stack(auto=False) as s:
        client = await (await s.client()).start()
        high = await client.context()
        client.tell(thunk.SetContextSchedulingPriority(hContext=high, priority=3))
        buffer = await client.allocate(PAGE, Place.APERTURE)
        client.tell(Commands().fill(buffer, 1, PAGE).message(client.hContext))
        client.tell(Commands().fill(buffer, 2, PAGE).message(client.hContext))
        await s.settle()
        s.gpu.drain(1)
        await s.settle()
        assert len(s.gpu.nodes[0].queue) == 2
        client.tell(Commands().op(Op.NOP).message(high))
        await s.settle()
        fences = [w.fence for w in s.gpu.nodes[0].queue]
        assert "preempted 0" in s.gpu.log
        assert fences == [3, 4, 5], "new ids, the urgent one first"
        s.gpu.drain(0)
        await s.settle()
        assert (await client.read(buffer)) == b"\2" * PAGE
        assert s.adapter.vidsch.nodes[0].preempted_count == 2


async def test_turns_of_a_quantum(autojump_clock: trio.testing.MockClock) -> None:
    async with stack(auto=False, quantum=0.01) as s:
        client = await (await s.client()).start()
        second = await client.context()
        client.tell(Commands().op(Op.HANG).message(client.hContext))
        await s.settle()
        s.gpu.step()
        client.tell(Commands().op(Op.NOP).message(second))
        await trio.sleep(0.005)
        assert "preempted 0" not in s.gpu.log
        await trio.sleep(0.01)
        assert s.gpu.log.count("preempted 0") == 1
        assert len(s.gpu.nodes[0].queue) == 2
        assert s.gpu.step(), "the other one is first now"
        await s.settle()
        assert s.adapter.vidsch.nodes[0].completed_count == 1


async def test_gpu_waits_hold_one_context_only() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        second = await client.context()
        gate, a, b = await client.fence(), await client.fence(), await client.fence()
        wait(client, gate, 5)
        client.tell(Commands().op(Op.NOP).message(client.hContext))
        client.signal(a, 1)
        client.tell(Commands().op(Op.NOP).message(second))
        client.signal(b, 1, second)
        await client.wait(b, 1)
        assert s.adapter.vidsch.nodes[0].completed_count == 1
        client.tell(thunk.SignalFromCpu(handles=[gate], values=[5]))
        await client.wait(a, 1)
        assert s.adapter.vidsch.nodes[0].completed_count == 2


async def test_a_fence_signalled_by_one_context_releases_another() -> None:
    async with stack(auto=False) as s:
        client = await (await s.client()).start()
        second = await client.context(node=1)
        fence, done = await client.fence(), await client.fence()
        client.tell(Commands().op(Op.NOP).message(client.hContext))
        client.signal(fence, 1)
        wait(client, fence, 1, second)
        client.tell(Commands().op(Op.NOP).message(second))
        client.signal(done, 1, second)
        await s.settle()
        assert not s.gpu.nodes[1].queue
        s.gpu.step(0)
        await s.settle()
        assert len(s.gpu.nodes[1].queue) == 1
        s.gpu.step(1)
        await client.wait(done, 1)


async def test_signals_of_a_render_are_those_that_would_follow_it() -> None:
    async with stack(auto=False) as s:
        client = await (await s.client()).start()
        fences = [await client.fence() for _ in range(3)]
        message = Commands().op(Op.NOP).message(client.hContext)
        message.fences, message.values = fences, [1, 2, 3]
        client.tell(message)
        await s.settle()
        queue = s.gpu.nodes[0].queue
        assert [(w.size, len(w.signals)) for w in queue] == [(48, 2), (0, 1)]
        s.gpu.drain(0)
        for value, fence in enumerate(fences, 1):
            await client.wait(fence, value)


async def test_signals_join_the_buffer_before_them() -> None:
    async with stack(auto=False) as s:
        client = await (await s.client()).start()
        fences = [await client.fence() for _ in range(3)]
        client.tell(Commands().op(Op.NOP).message(client.hContext))
        for value, fence in enumerate(fences, 1):
            client.signal(fence, value)
        await s.settle()
        queue = s.gpu.nodes[0].queue
        assert [(w.size, len(w.signals)) for w in queue] == [(48, 2), (0, 1)]
        s.gpu.drain(0)
        for value, fence in enumerate(fences, 1):
            await client.wait(fence, value)


async def test_nothing_pending_the_kernel_writes_the_value_itself() -> None:
    async with stack(auto=False) as s:
        client = await (await s.client()).start()
        fence = await client.fence()
        client.signal(fence, 3)
        await client.wait(fence, 3)
        assert not s.gpu.log


async def test_values_do_not_go_back_unless_asked() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        fence = await client.fence(5)
        client.signal(fence, 3, flags=4)
        client.signal(fence, 4)
        await client.wait(fence, 4)
        client.signal(fence, 3)
        await client.until(lambda: client.changed)
        assert "without AllowFenceRewind" in client.changed[0].sentence
        # A lost device holds nobody up.
        await client.wait(fence, 0xFFFF_FFFF_FFFF_FFFF)


async def test_mutex_and_semaphore_are_served_in_order() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        contexts = [client.hContext, await client.context(), await client.context()]
        mutex, done = await sync_object(client, 1, initial=1), [await client.fence() for _ in contexts]
        for context, fence in zip(contexts, done, strict=True):
            wait(client, mutex, hContext=context)
            client.tell(Commands().op(Op.NOP).message(context))
            client.signal(fence, 1, context)
        await s.settle()
        node = s.adapter.vidsch.nodes[0]
        for count, fence in enumerate(done):
            assert node.completed_count == count
            client.signal(mutex, 0, contexts[-1] if count == 0 else contexts[count - 1])
            if count == 0:
                # That signal stands behind the last context's own wait: only the first owner can release it.
                await s.settle()
                assert node.completed_count == 0
                client.signal(mutex, 0, await client.context())
            await client.wait(fence, 1)


async def test_semaphore_counts() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        giver, fence = await client.context(), await client.fence()
        semaphore = await sync_object(client, 2, initial=1, maximum=2)
        for value in (1, 2, 3):
            wait(client, semaphore)
            client.tell(Commands().op(Op.NOP).message(client.hContext))
            client.signal(fence, value)
        await client.wait(fence, 1)
        await s.settle()
        assert s.adapter.vidsch.nodes[0].completed_count == 1
        client.signal(semaphore, 0, giver)
        await client.wait(fence, 2)
        client.signal(semaphore, 0, giver)
        await client.wait(fence, 3)
        for _ in range(3):
            client.signal(semaphore, 0, giver)
        await client.until(lambda: client.changed)
        assert "above its maximum of 2" in client.changed[0].sentence


async def test_broadcast_signal_needs_every_context() -> None:
    async with stack(auto=False) as s:
        client = await (await s.client()).start()
        second = await client.context(node=1)
        fence = await sync_object(client, 3)
        third, done = await client.context(), await client.fence()
        for context in (client.hContext, second):
            client.tell(Commands().op(Op.NOP).message(context))
        client.tell(
            thunk.SignalSynchronizationObject(hContext=client.hContext, handles=[fence], value=1, broadcast=[second])
        )
        wait(client, fence, 1, third)
        client.signal(done, 1, third)
        await s.settle()
        s.gpu.step(0)
        await s.settle()
        got: list[int] = []

        async def waiter() -> None:
            await client.wait(done, 1)
            got.append(1)

        s.nursery.start_soon(waiter)
        await s.settle()
        s.gpu.step(0)
        await s.settle()
        assert not got
        s.gpu.step(1)
        await s.settle()
        s.gpu.step(0)
        await s.settle()
        assert got


async def test_cpu_waits_any_all_and_destroyed() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        a, b = await client.fence(), await client.fence()
        client.tell(thunk.SignalFromCpu(handles=[a], values=[1]))
        await client.ask(thunk.WaitFromCpu(handles=[a, b], values=[1, 1], any=True), Nothing)
        failed: list[RemoteError] = []

        async def wait_both() -> None:
            try:
                await client.ask(thunk.WaitFromCpu(handles=[a, b], values=[1, 1]), Nothing)
            except RemoteError as error:
                failed.append(error)

        s.nursery.start_soon(wait_both)
        await s.settle()
        client.tell(thunk.DestroySynchronizationObject(hSyncObject=b))
        await s.settle()
        assert failed[0].code == NTSTATUS.STATUS_INVALID_HANDLE


@pytest.mark.parametrize(
    ("kind", "flags", "status"),
    [
        (0, 0, NTSTATUS.STATUS_INVALID_PARAMETER),
        (7, 0, NTSTATUS.STATUS_INVALID_PARAMETER),
        (6, 0, NTSTATUS.STATUS_NOT_SUPPORTED),
        (5, 1, NTSTATUS.STATUS_NOT_SUPPORTED),
        (5, 0x30, NTSTATUS.STATUS_INVALID_PARAMETER),
        (2, 0, NTSTATUS.STATUS_INVALID_PARAMETER),
    ],
)
async def test_synchronisation_objects_that_cannot_be(kind: int, flags: int, status: int) -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        with pytest.raises(RemoteError) as refused:
            await sync_object(client, kind, flags=flags)
        assert refused.value.code == status


# ----- hangs and faults ----------------------------------------------------------------------------------------------------------


async def test_a_fault_loses_one_device(autojump_clock: trio.testing.MockClock) -> None:
    async with stack() as s:
        bad, good = await (await s.client()).start("bad"), await (await s.client()).start("good")
        fence, fence2 = await bad.fence(), await good.fence()
        bad.tell(Commands().op(Op.FAULT).message(bad.hContext))
        bad.tell(Commands().op(Op.NOP).message(bad.hContext))
        bad.signal(fence, 1)
        await s.settle()
        good.tell(Commands().op(Op.NOP).message(good.hContext))
        good.signal(fence2, 1)
        await good.wait(fence2, 1)
        await bad.wait(fence, 1)
        assert (bad.changed[0].state, bad.changed[0].reason) == (6, HRESULT.D3DDDIERR_INVALIDINSTRUCTION)
        assert "the hardware stopped at a DMA buffer" in bad.changed[0].sentence
        assert not good.changed
        state = await bad.state()
        assert (state.state, state.sentence) == (6, bad.changed[0].sentence)
        with pytest.raises(RemoteError) as refused:
            await bad.allocate(PAGE, Place.LOCAL)
        assert refused.value.code == NTSTATUS.STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE


async def test_a_hang_resets_the_engine_and_blames_its_device(autojump_clock: trio.testing.MockClock) -> None:
    async with stack(tdr_delay=2.0) as s:
        bad, good = await (await s.client()).start("bad"), await (await s.client()).start("good")
        fence, fence2 = await bad.fence(), await good.fence()
        began = trio.current_time()
        bad.tell(Commands().op(Op.STUBBORN).message(bad.hContext))
        bad.signal(fence, 1)
        await s.settle()
        good.tell(Commands().op(Op.NOP).message(good.hContext))
        good.signal(fence2, 1)
        await good.wait(fence2, 1)
        assert 2.0 <= trio.current_time() - began < 4.5
        assert (bad.changed[0].state, bad.changed[0].reason) == (3, HRESULT.DXGI_ERROR_DEVICE_HUNG)
        await bad.wait(fence, 0xFFFF_FFFF_FFFF_FFFF)
        assert not good.changed
        assert (await good.statistics())["engine_resets"] == 1
        with pytest.raises(RemoteError) as refused:
            await bad.fence()
        assert refused.value.code == NTSTATUS.STATUS_DEVICE_REMOVED


async def test_long_work_that_gives_way_is_no_hang(autojump_clock: trio.testing.MockClock) -> None:
    async with stack(tdr_delay=2.0) as s:
        client = await (await s.client()).start()
        client.tell(Commands().op(Op.HANG).message(client.hContext))
        await trio.sleep(20)
        assert not client.changed
        assert s.adapter.vidsch.nodes[0].preempted_count > 3


async def test_an_engine_that_cannot_be_reset_takes_the_adapter_with_it(autojump_clock: trio.testing.MockClock) -> None:
    async with stack() as s:
        s.miniport.before["DxgkDdiResetEngine"] = lambda h, a: NTSTATUS.STATUS_UNSUCCESSFUL
        bad = await (await s.client()).start("bad")
        holder = await (await s.client()).start("holds video memory")
        idle = await (await s.client()).start("holds none")
        fence, local = await holder.fence(), await holder.allocate(PAGE, Place.LOCAL)
        holder.tell(Commands().fill(local, 1, PAGE).message(holder.hContext))
        holder.signal(fence, 1)
        await holder.wait(fence, 1)
        kept = await idle.allocate(PAGE, Place.APERTURE)
        idle_fence = await idle.fence()
        idle.tell(Commands().fill(kept, 7, PAGE).message(idle.hContext))
        idle.signal(idle_fence, 1)
        await idle.wait(idle_fence, 1)
        bad.tell(Commands().op(Op.STUBBORN).message(bad.hContext))
        await trio.sleep(10)
        assert (bad.changed[0].state, holder.changed[0].state, idle.changed) == (3, 2, [])
        assert holder.changed[0].reason == HRESULT.DXGI_ERROR_DEVICE_RESET
        assert {"DxgkDdiResetFromTimeout", "DxgkDdiRestartFromTimeout"} <= set(s.miniport.calls)
        # The innocent goes on, with its content.
        more = await idle.allocate(PAGE, Place.APERTURE)
        idle.tell(Commands().copy(more, kept, PAGE).message(idle.hContext))
        idle.signal(idle_fence, 2)
        await idle.wait(idle_fence, 2)
        assert await idle.read(more) == b"\7" * PAGE


async def test_too_many_resets_stop_the_adapter(autojump_clock: trio.testing.MockClock) -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        async with stack(tdr_delay=0.5) as s:
            s.miniport.before["DxgkDdiResetEngine"] = lambda h, a: NTSTATUS.STATUS_UNSUCCESSFUL
            for number in range(7):
                client = await (await s.client()).start(f"hangs {number}")
                client.tell(Commands().op(Op.STUBBORN).message(client.hContext))
                await trio.sleep(2)
    stopped = caught.value.split(Stopped)[0]
    assert stopped is not None
    assert "bug check 0x116 VIDEO_TDR_FAILURE" in str(leaves(stopped)[0])


async def test_a_process_that_hangs_again_and_again_is_blocked(autojump_clock: trio.testing.MockClock) -> None:
    async with stack(tdr_delay=0.5) as s:
        client = await (await s.client()).start()
        create = thunk.CreateDevice(hAdapter=client.hAdapter)
        for _ in range(5):
            client.tell(Commands().op(Op.STUBBORN).message(client.hContext))
            await trio.sleep(2)
            if len(client.changed) == 5:
                break
            client.hDevice = (await client.ask(create, thunk.DeviceCreated)).hDevice
            client.hContext = await client.context()
        with pytest.raises(RemoteError, match="has hung the GPU again and again"):
            await client.ask(create, thunk.DeviceCreated)
