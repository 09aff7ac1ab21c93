"""A kernel and a user-mode driver that keep a record and do as little as possible.

The kernel answers thunk messages over a memory transport; retirement of presents, device states and fences are the test's to
decide. The driver records its calls as (entry, arguments) and can be told what to report or to wait for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import fields
from typing import Any

import numpy as np
import trio

from runtime.server import Runtime, RuntimeOptions
from wddm.client.gpu import Gpu, connect_over
from wddm.ddi import d3d10umddi as dd
from wddm.ddi.d3dukmdt import D3DDDICB_LOCKFLAGS
from wddm.ddi.d3dumddi import D3DDDICB_CREATECONTEXT, D3DDDICB_LOCK, D3DDDICB_RENDER
from wddm.ddi.dxgiddi import DXGIDDICB_PRESENT
from wddm.ddi.status import HRESULT, NTSTATUS
from wddm.wire import thunk
from wddm.wire.channel import CallError, Channel
from wddm.wire.memory import SharedMemory
from wddm.wire.message import Descriptor
from wddm.wire.transport import MemoryTransport, memory_transport_pair

# ----- kernel --------------------------------------------------------------------------------------------------------------


class FakeKernel:
    """Serves any number of processes."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.channels: list[Channel] = []
        self.owners: dict[int, tuple[int, int]] = {}
        self.modes = [thunk.DisplayMode(width=640, height=360, format=32, refresh_numerator=60, refresh_denominator=1)]
        self.refuse_mode: set[tuple[int, int]] = set()
        self.signal_at_once = True
        self.retire_at_once = True
        self.handles = iter(range(100, 1 << 20))
        self.fences: dict[int, SharedMemory] = {}
        self.memories: dict[int, SharedMemory] = {}
        self.changed = trio.Event()
        self.nursery: trio.Nursery

    def of(self, kind: type[Any]) -> list[Any]:
        """The messages of a class so far."""
        return [m for m in self.messages if type(m) is kind]

    async def connect(self) -> MemoryTransport:
        """A new process."""
        ours, theirs = memory_transport_pair()
        channel = Channel(ours, thunk.THUNK, server=True)
        self.channels.append(channel)
        number = len(self.channels)
        for struct, declaration in thunk.THUNK.by_struct.items():
            if not declaration.from_server:
                channel.on(struct, lambda m, number=number: self.handle(number, m))
        await self.nursery.start(channel.run)
        return theirs

    def handle(self, process: int, m: Any) -> Any:
        """Answer one message."""
        self.messages.append(m)
        self.changed.set()
        self.changed = trio.Event()
        answer = getattr(self, f"on_{type(m).__name__}", None)
        return answer(process, m) if answer is not None else None

    def on_Hello(self, process: int, m: Any) -> Any:
        return thunk.HelloReply(protocol="wddm.thunk", version=1, descriptors=True)

    def on_OpenAdapter(self, process: int, m: Any) -> Any:
        source = thunk.SourceInfo(
            id=0, width=0, height=0, format=0, refresh_numerator=0, refresh_denominator=0, vblank_count=7, flips=0, visible=False
        )
        return thunk.AdapterInfo(
            hAdapter=1,
            name="fake",
            driver="fake",
            umd="tests.boundary.api.fakes:OpenAdapter10_2",
            wddm_version=0,
            segments=[],
            nodes=[],
            sources=[source],
            statistics=[],
            shared_fences=True,
        )

    def on_QueryAdapterInfo(self, process: int, m: Any) -> Any:
        return thunk.AdapterData(data=b"\x2a" * min(m.output_size, 64))

    def on_CreateDevice(self, process: int, m: Any) -> Any:
        return thunk.DeviceCreated(hDevice=next(self.handles))

    def on_CreateContext(self, process: int, m: Any) -> Any:
        return thunk.ContextCreated(
            hContext=next(self.handles), command_buffer_size=4096, allocation_list_size=16, patch_location_list_size=16
        )

    def on_CreateAllocation(self, process: int, m: Any) -> Any:
        handles = [next(self.handles) for _ in m.allocations]
        resource = next(self.handles) if m.create_resource else 0
        return thunk.AllocationsCreated(hResource=resource, handles=handles, privates=[a.private for a in m.allocations])

    def on_Lock(self, process: int, m: Any) -> Any:
        memory = self.memories.get(m.hAllocation)
        if memory is None:
            memory = self.memories[m.hAllocation] = SharedMemory.create(1 << 16)
        return thunk.Locked(hAllocation=m.hAllocation, size=1 << 16, memory=Descriptor(memory.descriptor))

    def on_CreateSynchronizationObject(self, process: int, m: Any) -> Any:
        handle = next(self.handles)
        memory = self.fences[handle] = SharedMemory.create(4096)
        memory.array[:8].view(np.uint64)[0] = m.initial
        return thunk.SyncObjectCreated(hSyncObject=handle, page=Descriptor(memory.descriptor), page_size=4096, offset=0)

    def on_SignalSynchronizationObject(self, process: int, m: Any) -> Any:
        if self.signal_at_once:
            for handle in m.handles:
                if handle in self.fences:
                    self.fences[handle].array[:8].view(np.uint64)[0] = m.value

    def on_Render(self, process: int, m: Any) -> Any:
        if self.signal_at_once:
            for handle, value in zip(m.fences, m.values, strict=True):
                self.fences[handle].array[:8].view(np.uint64)[0] = value

    def fence(self, handle: int) -> int:
        """A fence's value."""
        return int(self.fences[handle].array[:8].view(np.uint64)[0])

    async def on_WaitFromCpu(self, process: int, m: Any) -> None:
        while any(self.fence(h) < v for h, v in zip(m.handles, m.values, strict=True)):
            await self.changed.wait()

    def on_GetDisplayModeList(self, process: int, m: Any) -> Any:
        return thunk.DisplayModes(modes=self.modes)

    def on_SetVidPnSourceOwner(self, process: int, m: Any) -> None:
        owner = self.owners.get(m.VidPnSourceId)
        if m.owner_type == 0:
            if owner == (process, m.hDevice):
                del self.owners[m.VidPnSourceId]
        elif owner is not None and owner != (process, m.hDevice):
            status = NTSTATUS.STATUS_GRAPHICS_VIDPN_SOURCE_IN_USE
            raise CallError(int(status), status.name, "somebody owns it")
        else:
            self.owners[m.VidPnSourceId] = (process, m.hDevice)

    def on_SetDisplayMode(self, process: int, m: Any) -> None:
        if m.hPrimary in self.refused_primaries:
            raise CallError(int(NTSTATUS.STATUS_INVALID_PARAMETER), "STATUS_INVALID_PARAMETER", "no such mode")

    refused_primaries: frozenset[int] | set[int] = frozenset()

    def on_WaitForVerticalBlankEvent(self, process: int, m: Any) -> Any:
        return thunk.VerticalBlank(vblank_count=8, time_ns=1000)

    def on_ReadScanout(self, process: int, m: Any) -> Any:
        return thunk.Scanout(width=2, height=1, vblank_count=1, data=bytes(range(8)))

    def on_Present(self, process: int, m: Any) -> None:
        if self.retire_at_once:
            self.retire(m, process)

    def retire(self, m: Any, process: int = 1, shown: bool = True) -> None:
        """Say that a present has come to the screen."""
        self.channels[process - 1].notify(
            thunk.PresentRetired(hContext=m.hContext, id=m.id, shown=shown, vblank_count=9, time_ns=5)
        )

    def on_GetDeviceState(self, process: int, m: Any) -> Any:
        return thunk.DeviceState(state=1, reason=0, sentence="")

    def on_QueryAllocationResidency(self, process: int, m: Any) -> Any:
        return thunk.Residency(statuses=[1] * max(len(m.handles), 1))


# ----- driver --------------------------------------------------------------------------------------------------------------


class FakeDriver:
    """One device of the driver."""

    def __init__(self, arg: dd.D3D10DDIARG_CREATEDEVICE) -> None:
        self.arg = arg
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.report: dict[str, int] = {}  #: entry → code to report, once
        self.wait_in: dict[str, trio.Event] = {}  #: entry → what it waits for, once
        self.quality = 1
        self.contexts = D3DDDICB_CREATECONTEXT(NodeOrdinal=0)
        self.allocation = 0
        self.mapped: dict[int, int] = {}
        self.memory = np.zeros(1 << 16, np.uint8)

    async def start(self) -> int:
        code: Any = self.arg.pKTCallbacks.pfnCreateContextCb(self.arg.hRTDevice, self.contexts)  # type: ignore[misc]
        code = await code
        for slot in fields(self.arg.pDeviceFuncs):
            setattr(self.arg.pDeviceFuncs, slot.name, self._entry(slot.name))
        dxgi = self.arg.DXGIBaseDDI.pDXGIDDIBaseFunctions
        for slot in fields(dxgi):
            setattr(dxgi, slot.name, self._dxgi(slot.name))
        return int(code)

    def _entry(self, slot: str) -> Callable[..., Any]:
        special = getattr(self, slot, None)

        def call(hDevice: int, *arguments: Any) -> Any:
            self.calls.append((slot, arguments))
            code = self.report.pop(slot, None)
            if code is not None:
                self.arg.p11UMCallbacks.pfnSetErrorCb(self.arg.hRTCoreLayer, code)  # type: ignore[misc]
            event = self.wait_in.pop(slot, None)
            if event is not None:
                return event.wait()
            return special(*arguments) if special is not None else None

        return call

    def _dxgi(self, slot: str) -> Callable[[Any], Any]:
        special = getattr(self, f"dxgi_{slot}", None)

        def call(arg: Any) -> Any:
            self.calls.append((f"dxgi {slot}", (arg,)))
            return special(arg) if special is not None else 0

        return call

    def named(self, slot: str) -> list[tuple[Any, ...]]:
        """Arguments of the calls of an entry."""
        return [arguments for name, arguments in self.calls if name == slot]

    # what must answer
    def pfnCheckFormatSupport(self, format: Any) -> int:
        return 0

    def pfnCheckMultisampleQualityLevels(self, format: Any, count: int) -> int:
        return self.quality if count in (2, 4, 8) else 0

    async def pfnStagingResourceMap(self, resource: int, sub: int, kind: Any, flags: Any, out: Any) -> None:
        lock = D3DDDICB_LOCK(self.mapped.setdefault(resource, 5000 + resource), D3DDDICB_LOCKFLAGS.NONE)
        await self.arg.pKTCallbacks.pfnLockCb(self.arg.hRTDevice, lock)  # type: ignore[misc]
        out.pData, out.RowPitch, out.DepthPitch = lock.pData[256:], 64, 4096

    def _map(self, resource: int, sub: int, kind: Any, flags: Any, out: Any) -> None:
        out.pData, out.RowPitch, out.DepthPitch = self.memory, 256, 4096

    pfnDynamicConstantBufferMapDiscard = _map
    pfnDynamicIABufferMapDiscard = _map
    pfnDynamicIABufferMapNoOverwrite = _map
    pfnDynamicResourceMapDiscard = _map
    pfnResourceMap = _map

    def pfnFlush(self) -> Any:
        arg = D3DDDICB_RENDER(64, 1, 0, hContext=self.contexts.hContext)
        self.arg.pKTCallbacks.pfnRenderCb(self.arg.hRTDevice, arg)  # type: ignore[misc]

    def pfnQueryGetData(self, query: int, data: Any, size: int, flags: Any) -> None:
        data[:] = bytes(range(1, size + 1))

    def dxgi_pfnPresent(self, arg: Any) -> Any:
        call = DXGIDDICB_PRESENT(
            hSrcAllocation=arg.hSurfaceToPresent,
            hContext=self.contexts.hContext,
            hDstAllocation=arg.hDstResource,
            pDXGIContext=arg.pDXGIContext,
        )
        return self.arg.DXGIBaseDDI.pDXGIBaseCallbacks.pfnPresentCb(self.arg.hRTDevice, call)  # type: ignore[misc]

    def dxgi_pfnSetDisplayMode(self, arg: Any) -> Any:
        from wddm.ddi.d3dumddi import D3DDDICB_SETDISPLAYMODE

        callback: Any = self.arg.pKTCallbacks.pfnSetDisplayModeCb
        return callback(self.arg.hRTDevice, D3DDDICB_SETDISPLAYMODE(arg.hResource))


DEVICES: list[FakeDriver] = []


async def OpenAdapter10_2(arg: dd.D3D10DDIARG_OPENADAPTER) -> int:
    """The driver's export."""
    table = arg.pAdapterFuncs_2
    assert table is not None
    arg.hAdapter = 77
    versions = [dd.supported_version(dd.DDI_VERSION.D3D10_1), dd.supported_version(dd.DDI_VERSION.D3D11_0)]

    def versions_of(hAdapter: int, capacity: int | None) -> tuple[int, int, list[int]]:
        return int(HRESULT.S_OK), len(versions), versions if capacity else []

    def caps(hAdapter: int, arg: Any) -> int:
        arg.pData = dd.encode_pipeline_support(dd.D3D11DDI_3DPIPELINELEVEL.LEVEL_11_0) if arg.Type == 0x82 else 0
        return int(HRESULT.S_OK)

    async def create(hAdapter: int, arg: dd.D3D10DDIARG_CREATEDEVICE) -> int:
        driver = FakeDriver(arg)
        DEVICES.append(driver)
        return await driver.start()

    table.pfnGetSupportedVersions = versions_of
    table.pfnGetCaps = caps
    table.pfnCalcPrivateDeviceSize = lambda hAdapter, arg: 64
    table.pfnCreateDevice = create
    table.pfnCloseAdapter = lambda hAdapter: 0
    return int(HRESULT.S_OK)


# ----- both ----------------------------------------------------------------------------------------------------------------


class Stack:
    """A runtime over a fake kernel; clients are made with :meth:`client`."""

    def __init__(self, kernel: FakeKernel, runtime: Runtime, nursery: trio.Nursery) -> None:
        self.kernel = kernel
        self.runtime = runtime
        self.nursery = nursery

    def transport(self) -> MemoryTransport:
        """A raw connection to the runtime."""
        ours, theirs = memory_transport_pair()
        self.nursery.start_soon(self.runtime.session, theirs)
        return ours

    def client(self) -> Any:
        """A connected client, as an async context manager of a Gpu."""
        return connect_over(self.transport())


@asynccontextmanager
async def stack() -> AsyncIterator[Stack]:
    """A runtime with fakes on both sides."""
    DEVICES.clear()
    kernel = FakeKernel()
    async with trio.open_nursery() as nursery:
        kernel.nursery = nursery
        runtime = Runtime(kernel.connect, RuntimeOptions())
        yield Stack(kernel, runtime, nursery)
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def one_client() -> AsyncIterator[tuple[Stack, Gpu]]:
    """A runtime with fakes and one client."""
    async with stack() as made, made.client() as gpu:
        yield made, gpu
