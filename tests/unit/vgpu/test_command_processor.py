"""The command processor against an engine that only takes notes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpu.command_processor import Execution, reset_state
from vgpu.engine import DrawCall, Engine, FaultError, PipelineState, StopWord
from vgpu.memory import Memory
from wddm.hw.interrupts import Fault
from wddm.hw.memory import APERTURE_BASE, LOCAL_BASE, PAGE_SIZE, bus_address
from wddm.hw.packets import PACKET, Op, QueryKind, Stage
from wddm.hw.registers import EngineKind, Node


class Notes(Engine):
    """Remembers what it was asked to do."""

    kind = EngineKind.REFERENCE
    marks_loops = True

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, StopWord())
        self.calls: list[Any] = []

    def draw(self, state: PipelineState, call: DrawCall) -> Iterator[None]:
        self.calls.append(call)
        yield
        self.calls.append("drawn")

    def dispatch(self, state: PipelineState, groups: tuple[int, int, int]) -> Iterator[None]:
        self.calls.append(groups)
        yield

    def flush(self, state: PipelineState) -> None:
        self.calls.append("flush")

    def _note(self, state: PipelineState, packet: Any) -> None:
        self.calls.append(Op(int(packet["op"])).name)

    clear_color = clear_depth_stencil = copy_region = resolve = generate_mips = blt = query_begin = query_end = _note


class Rig:
    def __init__(self) -> None:
        self.memory = Memory(1 << 20, 1 << 20, 0)
        self.engine = Notes(self.memory)
        self.state = PipelineState()

    def run(self, *packets: dict[str, Any], node: Node = Node.GRAPHICS, privileged: bool = False) -> Execution:
        execution = Execution(self.memory, self.engine, node, self.state, build(*packets), privileged)
        for _ in execution.run():
            pass
        return execution

    def fault(self, *packets: dict[str, Any], index: int = 0, **options: Any) -> Fault:
        node, privileged = options.get("node", Node.GRAPHICS), bool(options.get("privileged"))
        execution = Execution(self.memory, self.engine, node, self.state, build(*packets), privileged)
        with pytest.raises(FaultError) as caught:
            for _ in execution.run():
                pass
        assert execution.packet == index
        return caught.value.fault


def build(*packets: dict[str, Any]) -> bytes:
    array = np.zeros(len(packets), PACKET)
    for row, fields in zip(array, packets, strict=True):
        for name, value in fields.items():
            if name == "data":
                row["data"][: len(value)] = value
            else:
                row[name] = value
    return array.tobytes()


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.memory.close()


def test_state_is_kept_by_slot_and_unbound_by_address_zero(rig: Rig) -> None:
    slot = Stage.PIXEL << 8 | 3
    rig.run({"op": Op.SET_RESOURCE, "slot": slot, "address": LOCAL_BASE, "extent": 64}, {"op": Op.SET_TOPOLOGY, "arg": 4})
    assert int(rig.state.bindings[Op.SET_RESOURCE][slot]["extent"]) == 64
    assert int(rig.state.bindings[Op.SET_TOPOLOGY][0]["arg"]) == 4
    version = rig.state.version[Op.SET_RESOURCE]
    rig.run({"op": Op.SET_RESOURCE, "slot": slot})
    assert rig.state.bindings[Op.SET_RESOURCE] == {}
    assert rig.state.version[Op.SET_RESOURCE] > version
    reset_state(rig.state)
    assert rig.state.bindings == {}


def test_draws_resolve_their_arguments(rig: Rig) -> None:
    rig.memory.view(LOCAL_BASE, 20, write=True).view(np.uint32)[:] = [6, 2, 1, 2**32 - 5, 7]
    rig.run(
        {"op": Op.DRAW, "data": [3, 1, 5, 2]},
        {"op": Op.DRAW_INDEXED, "data": [9, 4, 1, 2**32 - 1, 3]},
        {"op": Op.DRAW_INDIRECT, "address": LOCAL_BASE, "extent": 16},
        {"op": Op.DRAW_INDEXED_INDIRECT, "address": LOCAL_BASE, "extent": 20},
        {"op": Op.DRAW, "data": [0, 1]},
        {"op": Op.SET_VERTEX_BUFFER, "address": LOCAL_BASE, "extent": 64, "data": [4]},
        {"op": Op.DRAW_AUTO, "address": LOCAL_BASE + 12, "extent": 4, "arg": 2**32 - 13},
        {"op": Op.DISPATCH, "data": [1, 2, 3]},
        {"op": Op.DISPATCH_INDIRECT, "address": LOCAL_BASE, "extent": 12},
    )
    calls = [c for c in rig.engine.calls if not isinstance(c, str)]
    assert calls == [
        DrawCall(False, 3, 1, 5, 0, 2),
        DrawCall(True, 9, 4, 1, -1, 3),
        DrawCall(False, 6, 2, 1, 0, 2**32 - 5),
        DrawCall(True, 6, 2, 1, -5, 7),
        DrawCall(False, 2),
        (1, 2, 3),
        (6, 2, 1),
    ]


def test_memory_packets(rig: Rig) -> None:
    rig.memory.add_memory(3, 2 * PAGE_SIZE, None)
    rig.run({"op": Op.FILL_BUFFER, "address": LOCAL_BASE, "extent": 8, "data": [0x04030201]})
    rig.run({"op": Op.UPDATE_INLINE, "address": LOCAL_BASE + 3, "extent": 5, "data": [0xAABBCCDD, 0xEE]})
    rig.run({"op": Op.COPY_BUFFER, "address": LOCAL_BASE + 64, "extent": 8, "address2": LOCAL_BASE, "extent2": 8})
    assert rig.memory.view(LOCAL_BASE + 64, 8).tolist() == [1, 2, 3, 0xDD, 0xCC, 0xBB, 0xAA, 0xEE]
    copy: list[dict[str, Any]] = [
        {"op": Op.MAP_APERTURE, "address2": bus_address(3, PAGE_SIZE), "data": [5, 1]},
        {"op": Op.COPY_BUFFER, "address": APERTURE_BASE + 5 * PAGE_SIZE, "extent": 8, "address2": LOCAL_BASE + 64, "extent2": 8},
        {"op": Op.COPY_SYSTEM, "address": LOCAL_BASE, "extent": 4, "address2": bus_address(3, PAGE_SIZE), "extent2": 4},
        {"op": Op.FILL_SYSTEM, "address": bus_address(3, 8), "extent": 4, "data": [9]},
        {"op": Op.WRITE_FENCE, "address": bus_address(3), "data": [7, 8]},
        {"op": Op.UNMAP_APERTURE, "data": [5, 1]},
    ]
    rig.run(*copy, node=Node.COPY, privileged=True)
    assert rig.memory.view(bus_address(3), 12, privileged=True).view(np.uint32).tolist() == [7, 8, 9]
    assert rig.memory.view(LOCAL_BASE, 4).tolist() == [1, 2, 3, 0xDD]
    with pytest.raises(FaultError):
        rig.memory.view(APERTURE_BASE + 5 * PAGE_SIZE, 1)
    for packet in copy[2:]:
        assert rig.fault(packet) == Fault.PRIVILEGE


@pytest.mark.parametrize("value", [0, 1])
def test_predication(rig: Rig, value: int) -> None:
    rig.memory.view(LOCAL_BASE, 8, write=True).view(np.uint64)[0] = value * 1000
    rig.run({"op": Op.SET_PREDICATION, "address": LOCAL_BASE, "extent": 8, "arg": 3}, {"op": Op.CLEAR_COLOR}, {"op": Op.BLT})
    assert rig.engine.calls == ["flush", "CLEAR_COLOR", "BLT"][: 3 if value else 1] + ([] if value else ["BLT"])
    rig.run({"op": Op.SET_PREDICATION}, {"op": Op.CLEAR_COLOR})
    assert rig.engine.calls[-1] == "CLEAR_COLOR"


def test_queries_pair_up(rig: Rig) -> None:
    query = {"address": LOCAL_BASE, "extent": 16, "arg": QueryKind.OCCLUSION}
    rig.run({"op": Op.QUERY_BEGIN, **query}, {"op": Op.QUERY_END, **query})
    assert rig.fault({"op": Op.QUERY_END, **query}) == Fault.BAD_PACKET
    assert rig.fault({"op": Op.QUERY_BEGIN, **query}, {"op": Op.QUERY_BEGIN, **query}, index=1) == Fault.BAD_PACKET
    assert rig.fault({"op": Op.QUERY_END, **query, "arg": 99}) == Fault.BAD_PACKET
    assert rig.fault({"op": Op.QUERY_BEGIN, **query, "arg": QueryKind.PIPELINE_STATISTICS}) == Fault.BAD_PACKET
    rig.run({"op": Op.QUERY_END, **query, "arg": QueryKind.EVENT})


@pytest.mark.parametrize(
    ("packet", "fault"),
    [
        ({"op": 0x3F}, Fault.BAD_PACKET),
        ({"op": 0xFFFF}, Fault.BAD_PACKET),
        ({"op": Op.SET_RESOURCE, "slot": 128, "address": LOCAL_BASE}, Fault.BAD_PACKET),
        ({"op": Op.SET_RESOURCE, "slot": 6 << 8, "address": LOCAL_BASE}, Fault.BAD_PACKET),
        ({"op": Op.SET_UAV, "slot": 0, "address": LOCAL_BASE}, Fault.BAD_PACKET),
        ({"op": Op.SET_TOPOLOGY, "slot": 1}, Fault.BAD_PACKET),
        ({"op": Op.SET_TOPOLOGY, "address": LOCAL_BASE}, Fault.BAD_PACKET),
        ({"op": Op.SET_INDEX_BUFFER, "address": bus_address(1)}, Fault.PRIVILEGE),
        ({"op": Op.FILL_BUFFER, "extent": 4}, Fault.BAD_PACKET),
        ({"op": Op.FILL_BUFFER, "address": LOCAL_BASE, "extent": 3}, Fault.BAD_PACKET),
        ({"op": Op.FILL_BUFFER, "address": LOCAL_BASE + (1 << 20) - 4, "extent": 8}, Fault.ADDRESS),
        ({"op": Op.COPY_BUFFER, "address": LOCAL_BASE, "extent": 8}, Fault.BAD_PACKET),
        ({"op": Op.COPY_BUFFER, "address": LOCAL_BASE, "extent": 8, "address2": LOCAL_BASE + 4, "extent2": 8}, Fault.BAD_PACKET),
        ({"op": Op.COPY_BUFFER, "address": LOCAL_BASE, "extent": 8, "address2": LOCAL_BASE + 64, "extent2": 4}, Fault.BAD_PACKET),
        ({"op": Op.UPDATE_INLINE, "address": LOCAL_BASE, "extent": 33}, Fault.BAD_PACKET),
        ({"op": Op.UPDATE_INLINE, "address": APERTURE_BASE, "extent": 4}, Fault.ADDRESS),
        ({"op": Op.DRAW, "data": [2**31 + 1, 1]}, Fault.BAD_PACKET),
        ({"op": Op.DISPATCH, "data": [65536, 1, 1]}, Fault.BAD_PACKET),
        ({"op": Op.DRAW_AUTO, "address": LOCAL_BASE, "extent": 4}, Fault.PIPELINE),
        ({"op": Op.DRAW_INDIRECT, "address": LOCAL_BASE, "extent": 12}, Fault.BAD_PACKET),
    ],
)
def test_bad_packets_fault_after_the_good_ones_ran(rig: Rig, packet: dict[str, Any], fault: Fault) -> None:
    assert rig.fault({"op": Op.CLEAR_COLOR}, {"op": Op.NOP}, packet, {"op": Op.BLT}, index=2) == fault
    assert "CLEAR_COLOR" in rig.engine.calls
    assert "BLT" not in rig.engine.calls


def test_the_copy_node_does_not_draw(rig: Rig) -> None:
    assert rig.fault({"op": Op.DRAW, "data": [3, 1]}, node=Node.COPY) == Fault.BAD_PACKET
    rig.run({"op": Op.COPY_REGION}, node=Node.COPY)


def test_it_can_be_stopped_inside_a_draw_and_go_on(rig: Rig) -> None:
    execution = Execution(rig.memory, rig.engine, Node.GRAPHICS, rig.state, build({"op": Op.DRAW, "data": [3, 1]}), False)
    run = execution.run()
    next(run)
    assert rig.engine.calls == [DrawCall(False, 3, 1)]
    list(run)
    assert rig.engine.calls == [DrawCall(False, 3, 1), "drawn"]


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_garbage_never_does_more_than_fault(data: st.DataObject) -> None:
    rig = Rig()
    rig.memory.add_memory(1, PAGE_SIZE, None)
    address = st.one_of(
        st.just(0),
        st.integers(LOCAL_BASE - 8, LOCAL_BASE + 64),
        st.integers(LOCAL_BASE + (1 << 20) - 64, LOCAL_BASE + (1 << 20) + 8),
        st.just(APERTURE_BASE),
        st.integers(0, 64).map(lambda o: bus_address(1, o)),
        st.integers(0, 2**64 - 1),
    )
    packet = st.fixed_dictionaries(
        {
            "op": st.one_of(st.sampled_from(list(map(int, Op))), st.integers(0, 65535)),
            "slot": st.one_of(st.just(0), st.integers(0, 65535)),
            "extent": st.one_of(st.integers(0, 64), st.integers(0, 2**32 - 1)),
            "extent2": st.integers(0, 2**32 - 1),
            "address": address,
            "address2": address,
            "arg": st.integers(0, 2**32 - 1),
            "data": st.lists(st.one_of(st.integers(0, 300), st.integers(0, 2**32 - 1)), max_size=8),
        }
    )
    packets = build(*data.draw(st.lists(packet, max_size=5)))
    execution = Execution(
        rig.memory, rig.engine, data.draw(st.sampled_from(list(Node))), rig.state, packets, data.draw(st.booleans())
    )
    with contextlib.suppress(FaultError):
        for _ in execution.run():
            pass
    rig.memory.close()


def test_engines_that_do_not_tell_of_loops_are_never_run_impatiently(rig: Rig) -> None:
    rig.engine.marks_loops = False
    execution = Execution(rig.memory, rig.engine, Node.GRAPHICS, rig.state, build({"op": Op.DRAW, "data": [3, 1]}), False)
    assert next(execution.run()) is True
    assert rig.engine.calls == []
