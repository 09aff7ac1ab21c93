"""The device without a socket: registers, rings, fences, preemption, reset, faults, display."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.vgpu.rig import COLOR_PS, ELEMENTS, PASS_VS, Rig, Surface
from vgpu.device import Device
from wddm.hw.formats import Format
from wddm.hw.interrupts import Fault, Interrupt
from wddm.hw.memory import APERTURE_BASE, LOCAL_BASE, PAGE_SIZE, bus_address
from wddm.hw.packets import PACKET, RING_ENTRY, Op, RingFlag, RingOp, Topology
from wddm.hw.registers import (
    DEVICE_ID,
    RESET_KEY,
    Flip,
    HeadControl,
    HeadRegister,
    Node,
    NodeControl,
    NodeRegister,
    NodeStatus,
    Register,
    head_register,
    node_register,
)

MIB = 1 << 20


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.time = 0

    def now(self) -> int:
        return self.time


class Host:
    """A driver's half: rings in system memory."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.device = Device(16 * MIB, 4 * MIB, MIB, size=(64, 32), clock=self.clock)
        self.device.memory.add_memory(1, MIB, None)
        self.bytes = self.device.memory.view(bus_address(1), MIB, write=True, privileged=True)
        self.tails = [0, 0]
        self.next = 65536
        self.device.write_register(Register.INTERRUPT_ENABLE, 31)
        for node in (0, 1):
            self.start_node(node)

    def node(self, node: int, register: NodeRegister, value: int | None = None) -> int:
        offset = node_register(node, register)
        if value is None:
            return self.device.read_register(offset)
        self.device.write_register(offset, value)
        return 0

    def head(self, register: HeadRegister, value: int | None = None) -> int:
        offset = head_register(0, register)
        if value is None:
            return self.device.read_register(offset)
        self.device.write_register(offset, value)
        return 0

    def start_node(self, node: int) -> None:
        base = bus_address(1, 4096 * node)
        self.node(node, NodeRegister.RING_BASE_LO, base & 0xFFFF_FFFF)
        self.node(node, NodeRegister.RING_BASE_HI, base >> 32)
        self.node(node, NodeRegister.RING_ENTRIES, 16)
        self.node(node, NodeRegister.CONTROL, NodeControl.ENABLE)
        self.tails[node] = 0

    def buffer(self, *packets: dict[str, Any]) -> tuple[int, int]:
        array = np.zeros(len(packets), PACKET)
        for row, fields in zip(array, packets, strict=True):
            for name, value in fields.items():
                if name == "data":
                    row["data"][: len(value)] = value
                else:
                    row[name] = value
        return self.put(array)

    def put(self, array: Any) -> tuple[int, int]:
        raw = array.view(np.uint8)
        at, self.next = self.next, self.next + raw.size
        self.bytes[at : at + raw.size] = raw
        return bus_address(1, at), raw.size

    def submit(self, node: int, fence: int, where: Any = (0, 0), **fields: Any) -> None:
        entry = np.zeros(1, RING_ENTRY)
        entry["op"], entry["flags"], entry["fence"] = RingOp.SUBMIT, RingFlag.INTERRUPT, fence
        entry["address"], entry["size"] = where
        for name, value in fields.items():
            entry[name] = value
        at = 4096 * node + self.tails[node] % 16 * 64
        self.bytes[at : at + 64] = entry.view(np.uint8)
        self.tails[node] += 1
        self.node(node, NodeRegister.RING_TAIL, self.tails[node])

    def u64(self, offset: int) -> int:
        return int(self.bytes[offset : offset + 8].view(np.uint64)[0])


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.device.close()


def test_registers(host: Host) -> None:
    device = host.device
    assert device.read_register(Register.DEVICE_ID) == DEVICE_ID
    assert device.read_register(Register.LOCAL_SIZE_LO) == 16 * MIB
    device.write_register(Register.DEVICE_ID, 7)
    assert device.read_register(Register.DEVICE_ID) == DEVICE_ID
    snapshot = np.frombuffer(device.register_snapshot(), np.uint32)
    assert snapshot[Register.NODE_COUNT // 4] == 2
    assert snapshot[head_register(0, HeadRegister.NATIVE_WIDTH) // 4] == 64
    for offset in (2, 0x1000, 1 << 31):
        with pytest.raises(ValueError, match="no register"):
            device.read_register(offset)
    for offset in (0xFFC, 0x3F0):  # reserved
        assert device.read_register(offset) == 0
    for offset in (2, 0xFFC, 0x3F0, 1 << 31):
        with pytest.raises(ValueError, match="no register"):
            device.write_register(offset, 0)


def test_signals_are_written_before_the_fence_is_reported(host: Host) -> None:
    work = host.buffer({"op": Op.FILL_BUFFER, "address": LOCAL_BASE, "extent": 64, "data": [5]})
    first = {"signal_address": bus_address(1, 512), "signal_value": 99}
    host.submit(0, 7, work, **first, signal_address2=bus_address(1, 520), signal_value2=3)
    (interrupt,) = host.device.run_ready()
    assert (interrupt.cause, interrupt.node, interrupt.fence) == (Interrupt.FENCE, 0, 7)
    assert host.node(0, NodeRegister.FENCE_COMPLETED) == 7
    assert (host.u64(512), host.u64(520)) == (99, 3)
    assert host.device.memory.view(LOCAL_BASE, 64).view(np.uint32).tolist() == [5] * 16


def test_entries_run_in_order_around_the_ring_and_null_rendering_signals_only(host: Host) -> None:
    for fence in range(1, 41):
        work = host.buffer({"op": Op.WRITE_FENCE, "address": bus_address(1, 600), "data": [fence, 0]})
        flags = RingFlag.INTERRUPT | RingFlag.PRIVILEGED | (RingFlag.NULL_RENDERING if fence == 40 else 0)
        host.submit(1, fence, work, flags=flags, signal_address=bus_address(1, 512), signal_value=fence)
        assert [m.fence for m in host.device.run_ready()] == [fence]
    assert (host.u64(600), host.u64(512)) == (39, 40)


def test_state_survives_only_with_continue(host: Host) -> None:
    state = host.buffer({"op": Op.SET_TOPOLOGY, "arg": 4})
    host.submit(0, 1, state, context=5)
    host.submit(0, 2, host.buffer({"op": Op.NOP}), context=5, flags=RingFlag.CONTINUE)
    host.device.run_ready()
    contexts = host.device.nodes[0]._contexts
    assert Op.SET_TOPOLOGY in contexts[5].state.bindings
    host.submit(0, 3, host.buffer({"op": Op.NOP}), context=5)
    host.device.run_ready()
    assert Op.SET_TOPOLOGY not in contexts[5].state.bindings
    host.submit(0, 4, op=RingOp.CONTEXT_DESTROY, context=5)
    assert host.device.run_ready()[0].fence == 4
    assert 5 not in contexts


def test_a_fault_stops_the_node_until_it_is_reset(host: Host) -> None:
    bad = host.buffer({"op": Op.NOP}, {"op": Op.FILL_BUFFER, "address": LOCAL_BASE + 16 * MIB, "extent": 4})
    host.submit(0, 1, bad, signal_address=bus_address(1, 512), signal_value=1)
    host.submit(0, 2)
    (interrupt,) = host.device.run_ready()
    assert (interrupt.cause, interrupt.fence, interrupt.fault, interrupt.fault_packet) == (Interrupt.FAULT, 1, Fault.ADDRESS, 1)
    assert interrupt.fault_address == LOCAL_BASE + 16 * MIB
    assert host.node(0, NodeRegister.STATUS) & NodeStatus.FAULTED
    assert host.u64(512) == 0
    assert host.device.run_ready() == []
    host.node(0, NodeRegister.CONTROL, NodeControl.RESET)
    host.start_node(0)
    host.submit(0, 3)
    assert [(m.cause, m.fence) for m in host.device.run_ready()] == [(Interrupt.RESET_DONE, 0), (Interrupt.FENCE, 3)]


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"op": 9}, Fault.BAD_RING_ENTRY),
        ({"flags": 32}, Fault.BAD_RING_ENTRY),
        ({"reserved": 1}, Fault.BAD_RING_ENTRY),
        ({"address": LOCAL_BASE, "size": 64}, Fault.BAD_RING_ENTRY),
        ({"address": bus_address(1), "size": 65}, Fault.BAD_RING_ENTRY),
        ({"address": bus_address(1), "size": 1 << 30}, Fault.BAD_RING_ENTRY),
        ({"address": bus_address(9), "size": 64}, Fault.ADDRESS),
        ({"address": bus_address(1, MIB - 64), "size": 128}, Fault.ADDRESS),
        ({"signal_address": bus_address(1, 4)}, Fault.BAD_RING_ENTRY),
        ({"signal_address": bus_address(2)}, Fault.ADDRESS),
        ({"signal_address": LOCAL_BASE}, Fault.BAD_RING_ENTRY),
    ],
)
def test_bad_ring_entries(host: Host, fields: dict[str, int], fault: Fault) -> None:
    host.submit(1, 1, **fields)
    (interrupt,) = host.device.run_ready()
    assert (interrupt.cause, interrupt.fault, interrupt.node) == (Interrupt.FAULT, fault, Node.COPY)


def _long_draw(device: Device, primitives: int) -> tuple[Surface, Any]:
    """Packets of a draw that yields often, and its target."""
    rig = Rig.__new__(Rig)
    rig.memory, rig._next, rig._packets = device.memory, LOCAL_BASE + 4096, []
    target = Surface(rig, Format.R8G8B8A8_UNORM, 64, 64)
    vertices = np.ones((primitives, 3, 8), np.float32)
    rng = np.random.default_rng(3)
    vertices[:, :, :2] = rng.random((primitives, 3, 2)) * 2 - 1
    vertices[:, :, 2] = 0
    vertices[:, :, 4:] = rng.random((primitives, 1, 4))
    rig.shader(PASS_VS)
    rig.shader(COLOR_PS)
    rig.vertices(vertices, ELEMENTS, 32)
    rig.topology(Topology.TRIANGLELIST)
    rig.viewport(0, 0, 64, 64)
    rig.target(target)
    rig.rasterizer(cull=1)
    rig.draw(primitives * 3)
    array = np.zeros(len(rig._packets), PACKET)
    for row, fields in zip(array, rig._packets, strict=True):
        for name, value in fields.items():
            if name == "data":
                row["data"][: len(value)] = [int(v) & 0xFFFF_FFFF for v in value]
            else:
                row[name] = value
    return target, array


def test_preemption_inside_a_draw_and_resume_give_the_same_picture(host: Host) -> None:
    target, packets = _long_draw(host.device, 300)
    where = host.put(packets)
    host.submit(0, 1, where, context=2)
    host.device.run_ready()
    want = target.elements().copy()
    target.elements()[:] = 0
    host.submit(0, 2, where, context=2)
    host.submit(0, 3, context=1)
    node = host.device.nodes[0]
    assert node.run(lambda: True)
    host.node(0, NodeRegister.PREEMPT_FENCE, 77)
    host.node(0, NodeRegister.CONTROL, NodeControl.ENABLE | NodeControl.PREEMPT)
    (interrupt,) = host.device.run_ready()
    assert (interrupt.cause, interrupt.fence, interrupt.preempt_fence) == (Interrupt.PREEMPTED, 1, 77)
    assert host.node(0, NodeRegister.RING_HEAD) == host.node(0, NodeRegister.RING_TAIL)
    assert not (target.elements() == want).all()
    host.submit(0, 4, host.buffer({"op": Op.SET_TOPOLOGY, "arg": 1}), context=1)  # another context in between
    host.submit(0, 5, where, context=2, flags=RingFlag.RESUME | RingFlag.INTERRUPT)
    assert [m.fence for m in host.device.run_ready()] == [4, 5]
    assert (target.elements() == want).all()


def test_preempting_an_idle_node_answers_at_once(host: Host) -> None:
    host.node(1, NodeRegister.PREEMPT_FENCE, 5)
    host.node(1, NodeRegister.CONTROL, NodeControl.ENABLE | NodeControl.PREEMPT)
    assert [(m.cause, m.preempt_fence) for m in host.device.run_ready()] == [(Interrupt.PREEMPTED, 5)]


HANG = "compute\nloop\nendloop\n"


def _endless(host: Host) -> tuple[int, int]:
    """A buffer with a dispatch of HANG."""
    rig = Rig.__new__(Rig)
    rig.memory, rig._next, rig._packets = host.device.memory, LOCAL_BASE + 4096, []
    rig.shader(HANG)
    (shader,) = rig._packets
    return host.buffer(shader, {"op": Op.DISPATCH, "data": [1, 1, 1]})


def test_work_that_may_not_end_and_was_preempted_before_it_began_waits_for_a_patient_run_again(host: Host) -> None:
    work, node = _endless(host), host.device.nodes[0]
    host.submit(0, 1, work, context=2)
    assert node.run(patient=False)
    assert node.run(patient=False)  # asking again changes nothing
    host.node(0, NodeRegister.CONTROL, NodeControl.ENABLE | NodeControl.PREEMPT)
    assert not node.run(patient=False)
    host.submit(0, 2, work, context=2, flags=RingFlag.RESUME)
    node.engine.stop.set()  # whoever begins now ends at once, in a fault
    assert node.run(patient=False)
    assert [(m.cause, m.fault) for m in host.device.run_ready() if m.cause == Interrupt.FAULT] == [(Interrupt.FAULT, Fault.HANG)]


def test_an_endless_shader_ends_with_a_reset(host: Host) -> None:
    work = _endless(host)
    host.submit(0, 1, work)
    node = host.device.nodes[0]
    node.engine.stop.set()  # as a reset from another thread does: the loop ends by itself
    (interrupt,) = host.device.run_ready()
    assert (interrupt.cause, interrupt.fault, interrupt.fault_packet) == (Interrupt.FAULT, Fault.HANG, 1)
    host.node(0, NodeRegister.CONTROL, NodeControl.RESET)
    host.start_node(0)
    host.submit(0, 2)
    assert [m.cause for m in host.device.run_ready()] == [Interrupt.RESET_DONE, Interrupt.FENCE]
    assert not node.engine.stop


def test_device_reset_loses_memory_and_rings(host: Host) -> None:
    host.submit(1, 1, host.buffer({"op": Op.MAP_APERTURE, "address2": bus_address(1), "data": [0, 1]}), flags=RingFlag.PRIVILEGED)
    host.device.run_ready()
    host.device.memory.view(LOCAL_BASE, 4, write=True)[:] = 1
    host.submit(0, 2)
    host.device.write_register(Register.RESET, RESET_KEY)
    causes = [m.cause for m in host.device.run_ready()]
    assert causes == [Interrupt.RESET_DONE, Interrupt.RESET_DONE]
    assert not host.device.memory.view(LOCAL_BASE, 4).any()
    host.start_node(0)
    host.submit(0, 3)
    assert [m.fence for m in host.device.run_ready()] == [3]


def test_masked_interrupts_are_not_raised(host: Host) -> None:
    host.device.write_register(Register.INTERRUPT_ENABLE, 0)
    host.submit(0, 1)
    assert host.device.run_ready() == []
    assert host.node(0, NodeRegister.FENCE_COMPLETED) == 1


# --- display ------------------------------------------------------------------------------------------------------------------


def mode(host: Host, width: int = 4, height: int = 2, format: Format = Format.R8G8B8A8_UNORM, pitch: int = 64) -> None:
    host.head(HeadRegister.WIDTH, width)
    host.head(HeadRegister.HEIGHT, height)
    host.head(HeadRegister.PITCH, pitch)
    host.head(HeadRegister.FORMAT, format)
    host.head(HeadRegister.REFRESH_NUMERATOR, 100)
    host.head(HeadRegister.REFRESH_DENOMINATOR, 1)
    host.head(HeadRegister.CONTROL, HeadControl.ENABLE | HeadControl.VISIBLE | HeadControl.VSYNC_INTERRUPT)


def flip(host: Host, address: int, how: Flip) -> None:
    host.head(HeadRegister.SURFACE_LO, address & 0xFFFF_FFFF)
    host.head(HeadRegister.SURFACE_HI, address >> 32)
    host.head(HeadRegister.FLIP, how)


def test_flips_latch_at_vertical_sync_or_at_once(host: Host) -> None:
    mode(host)
    assert host.device.next_vsync == 10_000_000
    flip(host, LOCAL_BASE, Flip.ON_VSYNC)
    host.clock.time = 9_999_999
    host.device.advance()
    assert host.device.take_interrupts() == []
    host.clock.time = 10_000_000
    host.device.advance()
    (interrupt,) = host.device.take_interrupts()
    assert (interrupt.cause, interrupt.surface, interrupt.vblank_count) == (Interrupt.VSYNC, LOCAL_BASE, 1)
    assert host.head(HeadRegister.SCAN_LINE) >= 2
    flip(host, LOCAL_BASE + 4096, Flip.IMMEDIATE)
    assert host.head(HeadRegister.CURRENT_LO) == (LOCAL_BASE + 4096) & 0xFFFF_FFFF
    host.clock.time = 45_000_000
    host.device.advance()
    (interrupt,) = host.device.take_interrupts()
    assert interrupt.vblank_count == 4
    assert host.device.next_vsync == 50_000_000


def test_frames_show_the_surface_with_gamma(host: Host) -> None:
    mode(host)
    view = host.device.memory.view(LOCAL_BASE, 256, write=True)
    view[:16] = range(16)
    view[64:68] = [200, 100, 50, 0]
    assert not host.device.read_frame(0)[:, :, :3].any()
    flip(host, LOCAL_BASE, Flip.IMMEDIATE)
    frame = host.device.read_frame(0)
    assert frame[0, 1].tolist() == [4, 5, 6, 255]
    assert frame[1, 0].tolist() == [200, 100, 50, 255]
    host.head(HeadRegister.GAMMA_INDEX, 200)
    host.head(HeadRegister.GAMMA_DATA, 0xFF00)
    assert host.device.read_frame(0)[1, 0].tolist() == [255, 100, 50, 255]
    host.head(HeadRegister.FORMAT, Format.B8G8R8A8_UNORM)
    assert host.device.read_frame(0)[0, 1].tolist() == [6, 5, 4, 255]
    host.head(HeadRegister.FORMAT, Format.R10G10B10A2_UNORM)
    view[:4] = [255, 3, 0, 0]
    assert host.device.read_frame(0)[0, 0].tolist() == [255, 0, 0, 255]
    host.head(HeadRegister.CONTROL, HeadControl.ENABLE)
    assert not host.device.read_frame(0)[:, :, :3].any()


@pytest.mark.parametrize("address", [0, APERTURE_BASE, LOCAL_BASE + 16 * MIB - PAGE_SIZE // 64, 2**64 - 64])
def test_scan_out_of_nothing_is_black(host: Host, address: int) -> None:
    mode(host)
    flip(host, address, Flip.IMMEDIATE)
    assert not host.device.read_frame(0)[:, :, :3].any()
    with pytest.raises(ValueError, match="head 1"):
        host.device.read_frame(1)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 0x500).map(lambda o: o & ~3), st.integers(0, 2**32 - 1)), max_size=30),
    st.binary(max_size=256),
)
def test_any_register_writes_and_any_ring(writes: list[tuple[int, int]], ring: bytes) -> None:
    host = Host()
    host.bytes[: len(ring)] = np.frombuffer(ring, np.uint8)
    for offset, value in writes:
        with contextlib.suppress(ValueError):
            host.device.write_register(offset, value)
    host.node(0, NodeRegister.RING_TAIL, 4)
    host.clock.time += 100_000_000
    host.device.advance()
    host.device.run_ready(0.2)
    host.device.read_frame(0)
    host.device.lose_bus()
    host.device.close()
