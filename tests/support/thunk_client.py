"""A stack of fake device, kernel and thunk clients in one process, for the kernel's tests."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import numpy as np
import trio
import trio.testing

from kernel.adapter import Adapter
from kernel.options import Options
from kernel.server import Kernel
from tests.support.fake_gpu import RECORD, FakeGpu, FakeMiniport, Op, Place, allocation_private, installed
from wddm.ddi.d3dukmdt import D3DDDI_ALLOCATIONLIST_DTYPE, D3DDDI_PATCHLOCATIONLIST_DTYPE, D3DDDICB_LOCKFLAGS
from wddm.wire import thunk
from wddm.wire.channel import Channel
from wddm.wire.memory import SharedMemory
from wddm.wire.message import Nothing
from wddm.wire.transport import StreamTransport, Transport, memory_transport_pair

_R = TypeVar("_R")


def transports(descriptors: bool) -> tuple[Transport, Transport]:
    """Two connected ends, with or without descriptor passing."""
    if descriptors:
        return memory_transport_pair()
    a, b = trio.testing.memory_stream_pair()
    return StreamTransport(a), StreamTransport(b)


def leaves(error: BaseException) -> list[BaseException]:
    """The exceptions in a group of groups."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for one in error.exceptions for leaf in leaves(one)]
    return [error]


class Commands:
    """A command buffer in the making, with its lists."""

    def __init__(self) -> None:
        self.records: list[tuple[Any, ...]] = []
        self.handles: list[int] = [0]
        self.writes: set[int] = set()
        self.patches: list[tuple[int, int, int, int, int, int]] = []

    def _patch(self, handle: int, within: int, offset: int) -> None:
        if handle not in self.handles:
            self.handles.append(handle)
        at = len(self.records) * RECORD.itemsize + within
        self.patches.append((self.handles.index(handle), 0, 0, offset, at, 0))

    def fill(self, handle: int, value: int, size: int, offset: int = 0) -> Commands:
        """Bytes of an allocation get a value."""
        self._patch(handle, 8, offset)
        self.writes.add(handle)
        self.records.append((Op.FILL, value, 0, size, 0, 0, (0, 0)))
        return self

    def copy(self, destination: int, source: int, size: int) -> Commands:
        """From one allocation to another."""
        self._patch(destination, 8, 0)
        self._patch(source, 24, 0)
        self.writes.add(destination)
        self.records.append((Op.COPY, 0, 0, size, 0, 0, (0, 0)))
        return self

    def op(self, op: int, times: int = 1) -> Commands:
        """A record without allocations."""
        self.records += [(int(op), 0, 0, 0, 0, 0, (0, 0))] * times
        return self

    def use(self, *handles: int) -> Commands:
        """Only list them."""
        self.handles += [h for h in handles if h not in self.handles]
        return self

    def message(self, hContext: int, flags: int = 0) -> thunk.Render:
        """The Render notification."""
        allocations = np.array([(h, 1 if h in self.writes else 0) for h in self.handles], D3DDDI_ALLOCATIONLIST_DTYPE)
        return thunk.Render(
            hContext=hContext,
            sequence=1,
            commands=np.array(self.records, RECORD).tobytes(),
            allocation_list=allocations.tobytes(),
            patch_location_list=np.array(self.patches, D3DDDI_PATCHLOCATIONLIST_DTYPE).tobytes(),
            flags=flags,
        )


class ThunkClient:
    """One process: a channel to the kernel, and short names for what tests do."""

    def __init__(self, transport: Transport) -> None:
        self.channel = Channel(transport, thunk.THUNK, server=False, name="client")
        self.retired: list[thunk.PresentRetired] = []
        self.changed: list[thunk.DeviceStateChanged] = []
        self.descriptors: list[int] = []
        self._news = trio.Event()
        self.channel.on(thunk.PresentRetired, self._on_retired)
        self.channel.on(thunk.DeviceStateChanged, self._on_changed)
        self.hAdapter = self.hDevice = self.hContext = 0

    def _on_retired(self, message: thunk.PresentRetired) -> None:
        self.retired.append(message)
        self._news.set()

    def _on_changed(self, message: thunk.DeviceStateChanged) -> None:
        self.changed.append(message)
        self._news.set()

    async def until(self, condition: Any) -> None:
        """Wait until ``condition()`` after news."""
        with trio.fail_after(5):
            while not condition():
                self._news = trio.Event()
                await self._news.wait()

    def tell(self, message: Any) -> None:
        """Send a notification."""
        self.channel.notify(message)

    async def ask(self, message: Any, reply: type[_R]) -> _R:
        """Send a request."""
        with trio.fail_after(5):
            return await self.channel.request(message, reply)

    async def hello(self, name: str = "test") -> None:
        """The first message."""
        await self.ask(
            thunk.Hello(protocol=thunk.THUNK.name, version=thunk.THUNK.version, process=name), thunk.HelloReply
        )

    async def start(self, name: str = "test", node: int = 0) -> ThunkClient:
        """Hello, adapter, device, context."""
        await self.hello(name)
        self.info = await self.ask(thunk.OpenAdapter(), thunk.AdapterInfo)
        self.hAdapter = self.info.hAdapter
        self.hDevice = (await self.ask(thunk.CreateDevice(hAdapter=self.hAdapter), thunk.DeviceCreated)).hDevice
        self.hContext = await self.context(node)
        return self

    async def context(self, node: int = 0) -> int:
        """Another context."""
        message = thunk.CreateContext(hDevice=self.hDevice, node_ordinal=node)
        return (await self.ask(message, thunk.ContextCreated)).hContext

    async def allocate(
        self, size: int, place: Place, *, width: int = 0, height: int = 0, primary: bool = False, **more: Any
    ) -> int:
        """One allocation."""
        private = allocation_private(size, place, width=width, height=height)
        message = thunk.CreateAllocation(
            hDevice=self.hDevice, allocations=[thunk.AllocationInfo(private=private, flags=1 if primary else 0)], **more
        )
        return (await self.ask(message, thunk.AllocationsCreated)).handles[0]

    async def fence(self, initial: int = 0, flags: int = 0) -> int:
        """A monitored fence."""
        self.fence_reply = await self.ask(
            thunk.CreateSynchronizationObject(hDevice=self.hDevice, type=5, initial=initial, flags=flags),
            thunk.SyncObjectCreated,
        )
        if self.fence_reply.page is not None:
            self.descriptors.append(self.fence_reply.page.number)
        return self.fence_reply.hSyncObject

    def signal(self, fence: int, value: int, hContext: int = 0, flags: int = 0) -> None:
        """Queue a signal."""
        self.tell(
            thunk.SignalSynchronizationObject(
                hContext=hContext or self.hContext, handles=[fence], value=value, flags=flags
            )
        )

    async def wait(self, fence: int, value: int) -> None:
        """Wait from the CPU."""
        await self.ask(thunk.WaitFromCpu(handles=[fence], values=[value]), Nothing)

    async def lock(self, handle: int, flags: int = 0) -> thunk.Locked:
        """Lock; the caller unlocks."""
        return await self.ask(thunk.Lock(hDevice=self.hDevice, hAllocation=handle, flags=flags), thunk.Locked)

    def unlock(self, handle: int) -> None:
        """Unlock."""
        self.tell(thunk.Unlock(hDevice=self.hDevice, handles=[handle]))

    async def read(self, handle: int) -> bytes:
        """All bytes of an allocation, by descriptor where possible."""
        locked = await self.lock(handle, D3DDDICB_LOCKFLAGS.ReadOnly)
        if locked.memory is not None:
            with SharedMemory.open(locked.memory.number, locked.size) as memory:
                data = memory.array[: locked.size].tobytes()
        else:
            reply = await self.ask(
                thunk.ReadAllocation(hAllocation=locked.hAllocation, offset=0, size=locked.size), thunk.AllocationData
            )
            data = reply.data
        self.unlock(locked.hAllocation)
        return data

    async def write(self, handle: int, data: bytes, flags: int = 0) -> int:
        """Store bytes; returns the instance."""
        locked = await self.lock(handle, flags)
        if locked.memory is not None:
            with SharedMemory.open(locked.memory.number, locked.size) as memory:
                memory.array[: len(data)] = np.frombuffer(data, np.uint8)
        else:
            self.tell(thunk.WriteAllocation(hAllocation=locked.hAllocation, offset=0, data=data))
        self.unlock(locked.hAllocation)
        return locked.hAllocation

    async def state(self) -> thunk.DeviceState:
        """D3DKMTGetDeviceState."""
        return await self.ask(thunk.GetDeviceState(hDevice=self.hDevice), thunk.DeviceState)

    async def statistics(self) -> dict[str, int]:
        """Fresh counters."""
        info = await self.ask(thunk.OpenAdapter(), thunk.AdapterInfo)
        return {s.name: s.value for s in info.statistics}


class Stack:
    """Device, kernel and clients."""

    def __init__(self, gpu: FakeGpu, miniport: FakeMiniport, kernel: Kernel, nursery: trio.Nursery, descriptors: bool) -> None:
        self.gpu = gpu
        self.miniport = miniport
        self.kernel = kernel
        self.nursery = nursery
        self._descriptors = descriptors
        self.clients: list[ThunkClient] = []

    @property
    def adapter(self) -> Adapter:
        """The kernel's adapter."""
        assert self.kernel.adapter is not None
        return self.kernel.adapter

    async def client(self, *, descriptors: bool | None = None) -> ThunkClient:
        """A new connection."""
        ours, theirs = transports(self._descriptors if descriptors is None else descriptors)
        client = ThunkClient(ours)
        self.clients.append(client)
        self.nursery.start_soon(self.kernel.session, theirs)
        await self.nursery.start(client.channel.run)
        return client

    async def settle(self) -> None:
        """Let everything happen that can happen without time passing."""
        await trio.testing.wait_all_tasks_blocked()


@contextlib.asynccontextmanager
async def stack(
    *,
    local: int = 64 * 4096,
    aperture: int = 64 * 4096,
    auto: bool = True,
    descriptors: bool = True,
    bus_descriptors: bool | None = None,
    miniport: FakeMiniport | None = None,
    **options: Any,
) -> AsyncIterator[Stack]:
    """A running kernel on a fake device."""
    with installed(miniport or FakeMiniport()) as driver:
        ours, theirs = transports(descriptors if bus_descriptors is None else bus_descriptors)
        gpu = FakeGpu(theirs, local=local, aperture=aperture, auto=auto)
        kernel = Kernel(Options(miniport="tests.support.fake_gpu:DriverEntry", **options))
        async with trio.open_nursery() as nursery:
            await nursery.start(gpu.run)
            await nursery.start(kernel.run, ours)
            running = Stack(gpu, driver, kernel, nursery, descriptors)
            try:
                yield running
            finally:
                for number in (n for client in running.clients for n in client.descriptors):
                    os.close(number)
            nursery.cancel_scope.cancel()
