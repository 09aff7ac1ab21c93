"""The bus protocol against a served device: over memory pairs with descriptors, and over unix and TCP sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpu.device import Device
from vgpu.server import Server, TrioClock
from wddm.hw.interrupts import Fault, Interrupt, InterruptMessage, unlatch
from wddm.hw.isa_text import assemble
from wddm.hw.memory import LOCAL_BASE
from wddm.hw.packets import PACKET, RING_ENTRY, Op, RingFlag, RingOp, Stage
from wddm.hw.registers import HeadControl, HeadRegister, NodeControl, NodeRegister, Register, head_register, node_register
from wddm.wire.bus import (
    BUS,
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
    system_address,
)
from wddm.wire.channel import Channel, ChannelClosed
from wddm.wire.connection import RemoteError
from wddm.wire.memory import SharedMemory
from wddm.wire.message import Descriptor
from wddm.wire.transport import Transport, memory_transport_pair

MIB = 1 << 20


class Bus:
    """A host on the bus."""

    def __init__(self, transport: Transport) -> None:
        self.channel = Channel(transport, BUS, server=False)
        self.channel.on(InterruptRaised, self._interrupt)
        self.send, self.receive = trio.open_memory_channel[InterruptMessage](1000)
        self.file: dict[int, int] = {}

    def _interrupt(self, message: InterruptRaised) -> None:
        self.file |= dict(zip(message.offsets, message.values, strict=True))
        self.send.send_nowait(unlatch(lambda offset: self.file.get(offset, 0)))

    async def hello(self) -> HelloReply:
        return await self.channel.request(Hello(protocol=BUS.name, version=BUS.version), HelloReply)

    def write(self, **_: Any) -> None: ...

    def registers(self, *pairs: tuple[int, int]) -> None:
        self.channel.notify(WriteRegisters(offsets=[p[0] for p in pairs], values=[p[1] for p in pairs]))

    async def read(self, *offsets: int) -> list[int]:
        return (await self.channel.request(ReadRegisters(offsets=list(offsets)), Registers)).values

    def start_node(self, node: int, base: int) -> None:
        self.registers(
            (node_register(node, NodeRegister.RING_BASE_LO), base & 0xFFFF_FFFF),
            (node_register(node, NodeRegister.RING_BASE_HI), base >> 32),
            (node_register(node, NodeRegister.RING_ENTRIES), 8),
            (node_register(node, NodeRegister.CONTROL), NodeControl.ENABLE),
        )


@asynccontextmanager
async def served(*, inline: bool = False, **options: Any) -> AsyncIterator[tuple[Server, trio.Nursery]]:
    device = Device(8 * MIB, 8 * MIB, MIB, size=(32, 16), clock=TrioClock(), **options)
    server = Server(device, inline=inline)
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        yield server, nursery
        server.stop()
        nursery.cancel_scope.cancel()
    device.close()


@asynccontextmanager
async def connected(server: Server, nursery: trio.Nursery) -> AsyncIterator[Bus]:
    ours, theirs = memory_transport_pair()
    nursery.start_soon(server.session, theirs)
    bus = Bus(ours)
    await nursery.start(bus.channel.run)
    try:
        yield bus
    finally:
        bus.channel.close()


def entry(fence: int, address: int = 0, size: int = 0, **fields: Any) -> np.ndarray[Any, Any]:
    out = np.zeros(1, RING_ENTRY)
    out["op"], out["flags"], out["fence"], out["address"], out["size"] = RingOp.SUBMIT, RingFlag.INTERRUPT, fence, address, size
    for name, value in fields.items():
        out[name] = value
    return out.view(np.uint8)


async def test_hello_tells_the_registers_and_one_host_owns_the_bus() -> None:
    async with served() as (server, nursery), connected(server, nursery) as bus:
        reply = await bus.hello()
        assert reply.descriptors
        assert len(reply.registers) == 4096
        assert await bus.read(Register.NODE_COUNT, Register.HEAD_COUNT) == [2, 1]
        async with connected(server, nursery) as second:
            with pytest.raises(RemoteError, match="owns the bus"):
                await second.hello()
        assert await bus.read(Register.NODE_COUNT) == [2]


async def test_shared_memory_work_fence_and_interrupt() -> None:
    async with served() as (server, nursery), connected(server, nursery) as bus:
        await bus.hello()
        memory = SharedMemory.create(65536)
        bus.channel.notify(AddMemory(id=1, size=65536, memory=Descriptor(memory.descriptor)))
        bus.registers((Register.INTERRUPT_ENABLE, 31))
        bus.start_node(1, system_address(1))
        packets = np.zeros(1, PACKET)
        packets["op"], packets["address"] = Op.WRITE_FENCE, system_address(1, 32768)
        packets["data"][0, :2] = [11, 0]
        memory.array[4096:4160] = packets.view(np.uint8)
        flags = RingFlag.INTERRUPT | RingFlag.PRIVILEGED
        signal = {"signal_address": system_address(1, 32776), "signal_value": 12}
        memory.array[:64] = entry(3, system_address(1, 4096), 64, flags=flags, **signal)
        bus.registers((node_register(1, NodeRegister.RING_TAIL), 1))
        interrupt = await bus.receive.receive()
        assert (interrupt.cause, interrupt.node, interrupt.fence) == (Interrupt.FENCE, 1, 3)
        assert memory.array[32768:32784].view(np.uint64).tolist() == [11, 12]
        memory.close()


async def test_links_without_descriptors_copy() -> None:
    async with served() as (server, nursery), connected(server, nursery) as bus:
        await bus.hello()
        bus.channel.notify(AddMemory(id=5, size=4096))
        bus.channel.notify(WriteMemory(address=system_address(5, 100), data=b"hello"))
        data = await bus.channel.request(ReadMemory(address=system_address(5, 98), size=9), MemoryData)
        assert data.data == b"\0\0hello\0\0"
        bus.channel.notify(RemoveMemory(id=5))
        assert await bus.read(0) != []


@pytest.mark.parametrize(
    "message",
    [
        WriteRegisters(offsets=[2], values=[0]),
        WriteRegisters(offsets=[0x40], values=[]),
        ReadRegisters(offsets=[0xFFFC]),
        AddMemory(id=0, size=4096),
        AddMemory(id=1, size=0),
        RemoveMemory(id=9),
        WriteMemory(address=LOCAL_BASE, data=b"x"),
        WriteMemory(address=system_address(1), data=b"x"),
        ReadMemory(address=system_address(1), size=4),
        ReadMemory(address=0, size=1 << 31),
    ],
    ids=lambda m: type(m).__name__,
)
async def test_what_breaks_the_protocol_ends_the_link_and_frees_the_bus(message: Any) -> None:
    async with served() as (server, nursery):
        async with connected(server, nursery) as bus:
            await bus.hello()
            with pytest.raises((ChannelClosed, RemoteError)):
                if isinstance(message, ReadRegisters):
                    await bus.channel.request(message, Registers)
                elif isinstance(message, ReadMemory):
                    await bus.channel.request(message, MemoryData)
                else:
                    bus.channel.notify(message)
                    await bus.read(0)
        await trio.testing.wait_all_tasks_blocked()
        async with connected(server, nursery) as next_host:
            await next_host.hello()


async def test_nothing_before_hello() -> None:
    async with served() as (server, nursery), connected(server, nursery) as bus:
        with pytest.raises(ChannelClosed):
            await bus.read(0)


async def test_vertical_sync_goes_on_while_a_shader_hangs_and_a_reset_ends_it() -> None:
    async with served() as (server, nursery), connected(server, nursery) as bus:
        await bus.hello()
        memory = SharedMemory.create(65536)
        bus.channel.notify(AddMemory(id=1, size=65536, memory=Descriptor(memory.descriptor)))
        bus.registers((Register.INTERRUPT_ENABLE, 31))
        bus.start_node(0, system_address(1))
        shader = np.frombuffer(assemble("compute\nloop\nendloop\n").to_bytes(), np.uint8)
        packets = np.zeros(3, PACKET)
        memory.array[8192 : 8192 + len(shader)] = shader
        packets["op"] = [Op.COPY_SYSTEM, Op.SET_SHADER, Op.DISPATCH]
        packets["address"][:2] = LOCAL_BASE + 4096
        packets["extent"][:2] = len(shader)
        packets["address2"][0], packets["extent2"][0] = system_address(1, 8192), len(shader)
        packets["slot"][1] = Stage.COMPUTE << 8
        packets["data"][2, :3] = 1
        memory.array[4096 : 4096 + 192] = packets.view(np.uint8)
        memory.array[:64] = entry(1, system_address(1, 4096), 192, flags=RingFlag.INTERRUPT | RingFlag.PRIVILEGED)
        bus.registers((node_register(0, NodeRegister.RING_TAIL), 1))

        def head(register: HeadRegister, value: int) -> tuple[int, int]:
            return head_register(0, register), value

        bus.registers(
            head(HeadRegister.WIDTH, 32),
            head(HeadRegister.HEIGHT, 16),
            head(HeadRegister.REFRESH_NUMERATOR, 500),
            head(HeadRegister.CONTROL, HeadControl.ENABLE | HeadControl.VSYNC_INTERRUPT),
        )
        for _ in range(3):
            assert (await bus.receive.receive()).cause == Interrupt.VSYNC
        frame = await bus.channel.request(ReadFrame(head=0), Frame)
        assert (frame.width, frame.height, len(frame.data)) == (32, 16, 2048)
        with pytest.raises(RemoteError, match="head 3"):
            await bus.channel.request(ReadFrame(head=3), Frame)
        bus.registers(head(HeadRegister.CONTROL, 0), (node_register(0, NodeRegister.CONTROL), NodeControl.RESET))
        while (await bus.receive.receive()).cause != Interrupt.RESET_DONE:
            pass
        bus.start_node(0, system_address(1))
        memory.array[:64] = entry(2)
        bus.registers((node_register(0, NodeRegister.RING_TAIL), 1))
        interrupt = await bus.receive.receive()
        assert (interrupt.cause, interrupt.fence) == (Interrupt.FENCE, 2)
        memory.close()


async def test_a_lost_bus_resets_the_device_even_while_a_shader_hangs() -> None:
    async with served() as (server, nursery):
        async with connected(server, nursery) as bus:
            await bus.hello()
            bus.channel.notify(AddMemory(id=1, size=65536))
            shader = assemble("compute\nloop\nendloop\n").to_bytes()
            bus.channel.notify(WriteMemory(address=system_address(1, 8192), data=shader))
            packets = np.zeros(3, PACKET)
            packets["op"] = [Op.COPY_SYSTEM, Op.SET_SHADER, Op.DISPATCH]
            packets["address"][:2], packets["extent"][:2] = LOCAL_BASE + 4096, len(shader)
            packets["address2"][0], packets["extent2"][0] = system_address(1, 8192), len(shader)
            packets["slot"][1] = Stage.COMPUTE << 8
            packets["data"][2, :3] = 1
            bus.channel.notify(WriteMemory(address=system_address(1, 4096), data=packets.tobytes()))
            work = entry(1, system_address(1, 4096), 192, flags=RingFlag.PRIVILEGED)
            bus.channel.notify(WriteMemory(address=system_address(1), data=work.tobytes()))
            bus.start_node(0, system_address(1))
            bus.registers((node_register(0, NodeRegister.RING_TAIL), 1))
            await bus.read(0)
        async with connected(server, nursery) as bus:
            while True:
                try:
                    reply = await bus.hello()
                    break
                except RemoteError:
                    await trio.lowlevel.checkpoint()
            registers = np.frombuffer(reply.registers, np.uint32)
            assert registers[node_register(0, NodeRegister.RING_TAIL) // 4] == 0
            bus.channel.notify(AddMemory(id=1, size=4096))
            assert await bus.read(Register.STOP_WORD) == [0]


async def test_a_fault_is_told_with_its_registers() -> None:
    async with served(inline=True) as (server, nursery), connected(server, nursery) as bus:
        await bus.hello()
        bus.channel.notify(AddMemory(id=1, size=8192))
        bus.registers((Register.INTERRUPT_ENABLE, 31))
        bus.channel.notify(WriteMemory(address=system_address(1), data=entry(9, LOCAL_BASE, 64).tobytes()))
        bus.start_node(0, system_address(1))
        bus.registers((node_register(0, NodeRegister.RING_TAIL), 1))
        interrupt = await bus.receive.receive()
        assert (interrupt.cause, interrupt.fence, interrupt.fault) == (Interrupt.FAULT, 9, Fault.BAD_RING_ENTRY)
        assert interrupt.fault_address == LOCAL_BASE
        assert await bus.read(node_register(0, NodeRegister.FAULT_CODE)) == [Fault.BAD_RING_ENTRY]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.binary(min_size=1, max_size=80), max_size=6))
def test_any_bytes_on_the_bus(chunks: list[bytes]) -> None:
    async def main() -> None:
        async with served() as (server, nursery):
            ours, theirs = memory_transport_pair()
            nursery.start_soon(server.session, theirs)
            for chunk in chunks:
                try:
                    await ours.send(chunk)
                except Exception as error:  # the far end hung up, as it may
                    assert type(error).__name__ == "TransportClosed"
                    break
                await trio.lowlevel.checkpoint()
            ours.close()
            await trio.testing.wait_all_tasks_blocked()
            async with connected(server, nursery) as bus:
                await bus.hello()

    trio.run(main)
