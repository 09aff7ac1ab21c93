"""The shell around :class:`~vgpu.device.Device`: the bus protocol, vertical sync on trio's clock, work on threads.

One owner of the bus at a time. Short work runs on trio's thread as soon as what arrived has been handled; work that takes longer
or may not end goes on in a thread per node, so that vertical sync and the bus go on. A lost bus resets the device.
"""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import trio

from vgpu.device import Device
from vgpu.fault import FaultError
from vgpu.node import NodeUnit
from wddm.hw.interrupts import InterruptMessage, latch
from wddm.trace import Tracer
from wddm.wire.bus import (
    BUS,
    MEMORY_CHUNK,
    SYSTEM_BASE,
    AddMemory,
    Frame,
    Hello,
    HelloReply,
    InterruptRaised,
    MemoryData,
    ReadFrame,
    ReadMemory,
    ReadRegisters,
    Registers,
    RemoveMemory,
    WriteMemory,
    WriteRegisters,
)
from wddm.wire.channel import CallError, Channel, ChannelClosed
from wddm.wire.message import ProtocolError
from wddm.wire.transport import Transport

#: Seconds that work may take on trio's thread before it moves to a thread of its own.
INLINE_BUDGET: Final = 0.001

_trace = Tracer("vgpu")


class TrioClock:
    """Trio's clock (real or simulated), readable from any thread."""

    def __init__(self) -> None:
        self._clock = trio.lowlevel.current_clock()

    def now(self) -> int:
        """Nanoseconds."""
        return round(self._clock.current_time() * 1e9)


def _is_past(deadline: float) -> bool:
    return time.monotonic() >= deadline


def _error(name: str, text: str) -> CallError:
    return CallError(1, name, text)


class Server:
    """Serves one device. Start :meth:`run` in a task, :meth:`session` for each connection."""

    def __init__(self, device: Device, *, inline: bool = False, inline_budget: float = INLINE_BUDGET) -> None:
        """``inline``: never use threads (simulated clocks)."""
        self.device = device
        self._inline = inline
        self._budget = inline_budget
        self._owner: Channel | None = None
        self._threaded: set[int] = set()  #: nodes that a thread runs
        self._idle = trio.Event()
        self._nursery: trio.Nursery | None = None
        self._heads_changed = trio.Event()
        self._thread = threading.get_ident()
        self._token = trio.lowlevel.current_trio_token()
        device.on_interrupt = self._on_interrupt

    # --- interrupts --------------------------------------------------------------------------------------------------

    def _on_interrupt(self, message: InterruptMessage) -> None:
        if threading.get_ident() == self._thread:
            self._send_interrupt(message)
        else:
            self._token.run_sync_soon(self._send_interrupt, message)

    def _send_interrupt(self, message: InterruptMessage) -> None:
        channel = self._owner
        if channel is None or channel.closed:
            return
        found = latch(message)
        if _trace.enabled:
            _trace("Interrupt", cause=int(message.cause), node=message.node, head=message.head, fence=message.fence)
        try:
            channel.notify(InterruptRaised(offsets=list(found), values=list(found.values()), time_ns=message.time_ns))
        except ChannelClosed:
            return  # the owner's session ends and resets the device

    # --- vertical sync -----------------------------------------------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the display engine and the threads of the nodes, for ever."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            while True:
                due = self.device.next_vsync
                self._heads_changed = trio.Event()
                with trio.move_on_at(math.inf if due is None else due / 1e9):
                    await self._heads_changed.wait()
                self.device.advance()

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _kick(self) -> None:
        """Run what is ready, for a short time here, else on a thread."""
        for node in self.device.nodes:
            if not node.ready or node.node in self._threaded:
                continue
            if self._inline:
                while node.run():
                    pass
            else:
                deadline = time.monotonic() + self._budget
                if node.run(functools.partial(_is_past, deadline), patient=False):
                    assert self._nursery is not None
                    self._threaded.add(node.node)
                    self._nursery.start_soon(self._run_threaded, node)
        if self.device.resetting and not any(n.stopping for n in self.device.nodes):
            self.device.finish_reset()
            self._kick()

    async def _run_threaded(self, node: NodeUnit) -> None:
        try:
            while node.ready:
                # Not abandoned on cancellation: the stop word ends it, see ``stop``.
                await trio.to_thread.run_sync(node.run)
        finally:
            self._threaded.discard(node.node)
            self._idle.set()
            self._idle = trio.Event()
        self._kick()

    async def _quiet(self) -> None:
        """Wait until no thread runs a node."""
        while self._threaded:
            await self._idle.wait()

    def stop(self) -> None:
        """Ask running work to end, so that threads come home."""
        self.device.reset()

    # --- the bus -----------------------------------------------------------------------------------------------------

    async def session(self, transport: Transport) -> None:
        """Serve one connection until it ends."""
        channel = Channel(transport, BUS, server=True)
        session = _Session(self, channel)
        try:
            async with channel:
                await channel.run(after_batch=session.after_batch)
        finally:
            if self._owner is channel:
                with trio.CancelScope(shield=True):
                    await self._lose_bus()

    async def _lose_bus(self) -> None:
        self.device.reset()
        await self._quiet()
        self.device.lose_bus()
        self._owner = None
        self._heads_changed.set()

    def take(self, channel: Channel) -> None:
        """Make ``channel`` the owner of the bus. Raises CallError while there is another."""
        if self._owner is not None:
            raise _error("BUS_TAKEN", "another host owns the bus")
        self._owner = channel

    def heads_changed(self) -> None:
        """A head's registers were written: look at the clock again."""
        self._heads_changed.set()

    def kick(self) -> None:
        """Something may have become ready."""
        self._kick()


class _Session:
    """What one host says."""

    def __init__(self, server: Server, channel: Channel) -> None:
        self._server = server
        self._device = server.device
        self._channel = channel
        self._greeted = False
        channel.on(Hello, self._hello)
        for struct, handler in (
            (ReadRegisters, self._read_registers),
            (WriteRegisters, self._write_registers),
            (AddMemory, self._add_memory),
            (RemoveMemory, self._remove_memory),
            (WriteMemory, self._write_memory),
            (ReadMemory, self._read_memory),
            (ReadFrame, self._read_frame),
        ):
            channel.on(struct, self._owned(handler))

    def _owned(self, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def handle(message: Any) -> Any:
            if not self._greeted:
                raise ProtocolError("hello comes first")
            return handler(message)

        return handle

    def after_batch(self) -> None:
        """Everything that had arrived is handled: run what it made ready."""
        if self._greeted:
            self._server.kick()

    def _hello(self, message: Hello) -> HelloReply:
        if message.protocol != BUS.name or message.version != BUS.version:
            raise _error(
                "PROTOCOL_MISMATCH", f"this is {BUS.name} version {BUS.version}, not {message.protocol} version {message.version}"
            )
        if self._greeted:
            raise ProtocolError("hello a second time")
        self._server.take(self._channel)
        self._greeted = True
        return HelloReply(
            protocol=BUS.name,
            version=BUS.version,
            descriptors=self._channel.passes_descriptors,
            registers=self._device.register_snapshot(),
        )

    def _read_registers(self, message: ReadRegisters) -> Registers:
        try:
            return Registers(values=[self._device.read_register(offset) for offset in message.offsets])
        except ValueError as error:
            raise ProtocolError(str(error)) from None

    def _write_registers(self, message: WriteRegisters) -> None:
        if len(message.offsets) != len(message.values):
            raise ProtocolError(f"{len(message.offsets)} offsets and {len(message.values)} values")
        try:
            for offset, value in zip(message.offsets, message.values, strict=True):
                self._device.write_register(offset, value)
                if offset >= 0x400:
                    self._server.heads_changed()
        except ValueError as error:
            raise ProtocolError(str(error)) from None

    def _add_memory(self, message: AddMemory) -> None:
        try:
            self._device.memory.add_memory(message.id, message.size, message.memory.number if message.memory else None)
        except (ValueError, OSError) as error:
            raise ProtocolError(str(error)) from None

    def _remove_memory(self, message: RemoveMemory) -> None:
        try:
            self._device.memory.remove_memory(message.id)
        except ValueError as error:
            raise ProtocolError(str(error)) from None

    def _write_memory(self, message: WriteMemory) -> None:
        view = self._bus_view(message.address, len(message.data), write=True)
        view[:] = memoryview(message.data)

    def _read_memory(self, message: ReadMemory) -> MemoryData:
        return MemoryData(data=self._bus_view(message.address, message.size).tobytes())

    def _bus_view(self, address: int, size: int, *, write: bool = False) -> Any:
        if address < SYSTEM_BASE or size > MEMORY_CHUNK:
            raise ProtocolError(f"{size} bytes at {address:#x}; up to {MEMORY_CHUNK} bytes of system memory")
        try:
            return self._device.memory.view(address, size, write=write, privileged=True)
        except FaultError as error:
            raise ProtocolError(str(error)) from None

    def _read_frame(self, message: ReadFrame) -> Frame:
        try:
            picture = self._device.read_frame(message.head)
        except ValueError as error:
            raise _error("NO_SUCH_HEAD", str(error)) from None
        height, width, _ = picture.shape
        count = self._device.heads[message.head].vblank_count
        return Frame(width=width, height=height, vblank_count=count & 0xFFFF_FFFF, data=picture.tobytes())
