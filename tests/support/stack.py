"""A whole stack in one process: every boundary a pair of memory transports, one clock, no threads.

With the ``autojump_clock`` fixture time is simulated: it jumps when everybody waits.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import trio

from kernel.options import Options
from kernel.server import Kernel
from runtime.server import Runtime
from vgpu.device import Device
from vgpu.server import Server, TrioClock
from wddm.client.gpu import Gpu, connect_over
from wddm.hw.registers import EngineKind
from wddm.wire.transport import Transport, memory_transport_pair


@dataclass
class WholeStack:
    """The pieces of a running stack."""

    device: Device
    server: Server
    kernel: Kernel
    runtime: Runtime
    nursery: trio.Nursery
    bus: Transport  #: the kernel's end

    def connect(self) -> AbstractAsyncContextManager[Gpu]:
        """A client of its own."""
        ours, theirs = memory_transport_pair()
        self.nursery.start_soon(self.runtime.session, theirs)
        return connect_over(ours)

    def raw_api(self) -> Transport:
        """A connection to the runtime, for sending anything."""
        ours, theirs = memory_transport_pair()
        self.nursery.start_soon(self.runtime.session, theirs)
        return ours

    def raw_thunk(self) -> Transport:
        """A connection to the kernel, for sending anything."""
        ours, theirs = memory_transport_pair()
        self.nursery.start_soon(self.kernel.session, theirs)
        return ours


@asynccontextmanager
async def whole_stack(
    *,
    vram: int = 64 << 20,
    aperture: int = 128 << 20,
    size: tuple[int, int] = (320, 240),
    engine: EngineKind = EngineKind.REFERENCE,
    options: Options | None = None,
) -> AsyncIterator[WholeStack]:
    """Start everything; stop everything at the end."""
    device = Device(
        vram, aperture, min(vram, 4 << 20), heads=1, engine=engine, threads=1, size=size, refresh=(60, 1), clock=TrioClock()
    )
    try:
        async with trio.open_nursery() as nursery:
            server, kernel = Server(device, inline=True), Kernel(options)
            await nursery.start(server.run)
            bus, device_end = memory_transport_pair()
            nursery.start_soon(server.session, device_end)
            await nursery.start(kernel.run, bus)

            async def connect_kernel() -> Transport:
                ours, theirs = memory_transport_pair()
                nursery.start_soon(kernel.session, theirs)
                return ours

            yield WholeStack(device, server, kernel, Runtime(connect_kernel), nursery, bus)
            nursery.cancel_scope.cancel()
            server.stop()
    finally:
        device.close()
