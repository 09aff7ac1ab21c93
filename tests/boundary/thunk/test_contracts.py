"""What a miniport must not do: each breach stops the adapter with the bug check of the reference, and everybody is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio.testing

from kernel.errors import BugCheckCode
from kernel.miniport_host import StartError, load
from kernel.server import BusLost, Stopped
from tests.support.fake_gpu import PAGE, FakeMiniport, Op, Place
from tests.support.thunk_client import Commands, leaves, stack
from wddm.ddi import d3dkmddi as ddi
from wddm.ddi.status import NTSTATUS
from wddm.wire.channel import ChannelClosed
from wddm.wire.connection import RemoteError

BAD = NTSTATUS.STATUS_UNSUCCESSFUL


def too_much(field: str) -> Callable[..., int]:
    def entry(h: int, a: Any) -> int:
        setattr(a, field, 1 << 30)
        return 0

    return entry


def completes_the_future(m: FakeMiniport) -> Callable[..., Any]:
    def entry(h: int, a: Any) -> Any:
        def report(argument: Any) -> bool:
            m.kernel.DxgkCbNotifyInterrupt(1, ddi.DXGKARGCB_NOTIFY_INTERRUPT_DATA(argument))
            return bool(m.kernel.DxgkCbQueueDpc(1))

        m.kernel.DxgkCbSynchronizeExecution(1, report, ddi.DXGK_INTERRUPT_DMA_COMPLETED(99, 0), 0)

    return entry


def notifies_too_low(m: FakeMiniport) -> Callable[..., Any]:
    def entry(h: int, a: Any) -> Any:
        m.kernel.DxgkCbNotifyInterrupt(1, ddi.DXGKARGCB_NOTIFY_INTERRUPT_DATA(ddi.DXGK_INTERRUPT_DMA_COMPLETED(1, 0)))

    return entry


def raises(m: FakeMiniport) -> Callable[..., Any]:
    def entry(*arguments: Any) -> Any:
        raise KeyError("a fault of the driver")

    return entry


@pytest.mark.parametrize(
    ("entry", "answer", "code", "parameter1"),
    [
        ("DxgkDdiPatch", lambda m: lambda h, a: BAD, 0x119, 0x3),
        ("DxgkDdiSubmitCommand", lambda m: lambda h, a: BAD, 0x119, 0x2),
        ("DxgkDdiBuildPagingBuffer", lambda m: lambda h, a: BAD, 0x10E, 0xB),
        ("DxgkDdiBuildPagingBuffer", lambda m: lambda h, a: NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, 0x10E, 0xB),
        ("DxgkDdiBuildPagingBuffer", lambda m: too_much("DmaBufferUsed"), 0x10E, 0x12),
        ("DxgkDdiRender", lambda m: too_much("DmaBufferUsed"), 0x10E, 0x12),
        ("DxgkDdiRender", lambda m: too_much("PatchLocationListOutUsed"), 0x10E, 0x12),
        ("DxgkDdiRender", lambda m: too_much("DmaBufferPrivateDataUsed"), 0x10E, 0x13),
        ("DxgkDdiSubmitCommand", completes_the_future, 0x119, 0x1),
        ("DxgkDdiSubmitCommand", notifies_too_low, 0x113, 0x0),
        ("DxgkDdiRender", raises, 0x113, 0x0),
        ("DxgkDdiInterruptRoutine", raises, 0x113, 0x0),
        ("DxgkDdiDpcRoutine", raises, 0x113, 0x0),
    ],
)
async def test_a_broken_contract_stops_the_adapter(
    entry: str, answer: Callable[[FakeMiniport], Any], code: int, parameter1: int
) -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        async with stack() as s:
            client = await (await s.client()).start()
            buffer = await client.allocate(PAGE, Place.LOCAL)
            s.miniport.before[entry] = answer(s.miniport)
            client.tell(Commands().fill(buffer, 1, PAGE).message(client.hContext))
            await client.until(lambda: client.changed)
            assert client.changed[0].state == 4
            assert "bug check" in client.changed[0].sentence
            await s.settle()
    stopped = caught.value.split(Stopped)[0]
    assert stopped is not None
    error = leaves(stopped)[0]
    assert isinstance(error, Stopped)
    assert (error.record.code, error.record.parameter1) == (BugCheckCode(code), parameter1)


async def test_an_interrupt_without_a_dpc_stops_the_adapter() -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        async with stack() as s:
            client = await (await s.client()).start()
            original = s.miniport.kernel

            class NoDpc:
                def __getattr__(self, name: str) -> Any:
                    return (lambda device: False) if name == "DxgkCbQueueDpc" else getattr(original, name)

            s.miniport.kernel = NoDpc()
            client.tell(Commands().op(Op.NOP).message(client.hContext))
            await client.until(lambda: client.changed)
            await s.settle()
    assert "without queueing a DPC" in str(leaves(caught.value)[0])


async def test_a_reset_that_aborts_the_wrong_fence(autojump_clock: trio.testing.MockClock) -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        async with stack(tdr_delay=0.5) as s:

            def entry(h: int, a: Any) -> int:
                a.LastAbortedFenceId = 77
                return 0

            s.miniport.before["DxgkDdiResetEngine"] = entry
            client = await (await s.client()).start()
            client.tell(Commands().op(Op.STUBBORN).message(client.hContext))
            await trio.sleep(5)
    error = leaves(caught.value)[0]
    assert isinstance(error, Stopped)
    assert (int(error.record.code), error.record.parameter1) == (0x119, 0xA)


async def test_after_the_stop_every_call_says_so() -> None:
    with pytest.raises(BaseExceptionGroup):
        async with stack() as s:
            client = await (await s.client()).start()
            s.miniport.before["DxgkDdiPatch"] = lambda h, a: BAD
            client.tell(Commands().op(Op.NOP).message(client.hContext))
            with pytest.raises((RemoteError, ChannelClosed)):
                await client.allocate(PAGE, Place.LOCAL)
            await s.settle()


async def test_the_bus_goes_away() -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        async with stack() as s:
            client = await (await s.client()).start()
            s.gpu.channel.close()
            await s.settle()
            with pytest.raises((RemoteError, ChannelClosed)):
                await client.allocate(PAGE, Place.LOCAL)
    lost = caught.value.split(BusLost)[0]
    assert lost is not None
    assert "the device is gone" in str(leaves(lost)[0])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "is named module:DriverEntry"),
        ("no_such_module:DriverEntry", "No module named"),
        ("tests.support.fake_gpu:NoEntry", "has no attribute"),
        ("tests.boundary.thunk.test_contracts:refuses", "registered 0 times"),
    ],
)
def test_miniports_that_cannot_be_loaded(name: str, words: str) -> None:
    with pytest.raises(StartError, match=words):
        load(name)


def refuses(DxgkInitialize: Callable[[Any], int]) -> int:
    """A DriverEntry that registers nothing."""
    return BAD


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("DxgkDdiAddDevice", "DxgkDdiAddDevice returned"),
        ("DxgkDdiStartDevice", "DxgkDdiStartDevice returned"),
        ("DxgkDdiQueryAdapterInfo", "DRIVERCAPS"),
        ("DxgkDdiCreateContext", "SystemContext"),
        ("DxgkDdiCommitVidPn", "DxgkDdiCommitVidPn refused"),
    ],
)
async def test_an_adapter_that_does_not_start(entry: str, words: str) -> None:
    miniport = FakeMiniport()
    answers = {"DxgkDdiAddDevice": (BAD, 0), "DxgkDdiStartDevice": (BAD, 0, 0)}
    miniport.before[entry] = lambda *arguments: answers.get(entry, BAD)
    with pytest.raises(BaseExceptionGroup) as caught:
        async with stack(miniport=miniport):
            pass
    found = caught.value.split(StartError)[0]
    assert found is not None
    assert words in str(leaves(found)[0])
