"""Registers, the address map, and interrupts latched into registers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wddm.hw import memory
from wddm.hw.interrupts import Fault, Interrupt, InterruptMessage, latch, unlatch
from wddm.hw.registers import (
    HEAD_BLOCK,
    HEAD_STRIDE,
    MAX_HEADS,
    MAX_NODES,
    NODE_BLOCK,
    NODE_STRIDE,
    REGISTER_FILE_SIZE,
    HeadRegister,
    NodeRegister,
    Register,
    head_register,
    name_register,
    node_register,
)

# ----- registers --------------------------------------------------------------------------------------------------------------


def test_blocks_do_not_overlap() -> None:
    assert max(Register) < NODE_BLOCK
    assert max(NodeRegister) < NODE_STRIDE
    assert NODE_BLOCK + MAX_NODES * NODE_STRIDE <= HEAD_BLOCK
    assert max(HeadRegister) < HEAD_STRIDE
    assert HEAD_BLOCK + MAX_HEADS * HEAD_STRIDE <= REGISTER_FILE_SIZE


def test_every_register_has_one_place_and_one_name() -> None:
    offsets = {int(r): str(r.name) for r in Register}
    offsets |= {node_register(n, r): f"node{n}.{r.name}" for n in range(MAX_NODES) for r in NodeRegister}
    offsets |= {head_register(h, r): f"head{h}.{r.name}" for h in range(MAX_HEADS) for r in HeadRegister}
    assert len(offsets) == len(Register) + MAX_NODES * len(NodeRegister) + MAX_HEADS * len(HeadRegister)
    for offset in range(REGISTER_FILE_SIZE + 8):
        found = name_register(offset)
        assert (None if found is None else str(found)) == offsets.get(offset)
    assert name_register(-4) is None


# ----- the address map --------------------------------------------------------------------------------------------------------


def test_the_ranges_are_disjoint() -> None:
    assert memory.LOCAL_BASE + memory.MAX_LOCAL_SIZE <= memory.APERTURE_BASE
    assert memory.APERTURE_BASE + memory.MAX_APERTURE_SIZE <= memory.BUS_BASE
    assert memory.bus_address(memory.BUS_MAX_ID, memory.BUS_MAX_SIZE - 1) < 1 << 63


@given(st.integers(1, memory.BUS_MAX_ID), st.integers(0, memory.BUS_MAX_SIZE - 1))
def test_bus_addresses_come_apart_again(number: int, offset: int) -> None:
    address = memory.bus_address(number, offset)
    assert memory.is_bus_address(address)
    assert memory.split_bus_address(address) == (number, offset)


@pytest.mark.parametrize(("number", "offset"), [(0, 0), (1 << 24, 0), (1, -1), (1, 1 << 36)])
def test_what_is_no_place_on_the_bus_is_refused(number: int, offset: int) -> None:
    with pytest.raises(ValueError, match="no bus address for block"):
        memory.bus_address(number, offset)


def test_sizes_are_rounded_up_to_pages() -> None:
    assert [memory.pages(n) for n in (0, 1, 4096, 4097)] == [0, 1, 1, 2]
    assert [memory.align_up(n, 64) for n in (0, 1, 64, 65)] == [0, 64, 64, 128]
    assert not memory.is_bus_address(memory.APERTURE_BASE)


# ----- interrupts -------------------------------------------------------------------------------------------------------------

u32, u64 = st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 64) - 1)
nodes, heads = st.integers(0, MAX_NODES - 1), st.integers(0, MAX_HEADS - 1)
messages = st.one_of(
    st.builds(InterruptMessage, st.sampled_from([Interrupt.FENCE, Interrupt.RESET_DONE]), node=nodes, fence=u32),
    st.builds(InterruptMessage, st.just(Interrupt.PREEMPTED), node=nodes, fence=u32, preempt_fence=u32),
    st.builds(
        InterruptMessage,
        st.just(Interrupt.FAULT),
        node=nodes,
        fence=u32,
        fault=st.sampled_from(Fault),
        fault_packet=u32,
        fault_address=u64,
    ),
    st.builds(InterruptMessage, st.just(Interrupt.VSYNC), head=heads, surface=u64, vblank_count=u32),
)


@settings(deadline=None, max_examples=200)
@given(messages)
def test_an_interrupt_comes_out_of_the_registers_again(message: InterruptMessage) -> None:
    registers = latch(message)
    assert all(name_register(offset) is not None for offset in registers)
    assert all(0 <= value < 1 << 32 for value in registers.values())
    assert unlatch(registers.__getitem__) == message


@pytest.mark.parametrize("cause", [0, 3, 32, 1 << 31, 31])
def test_no_cause_several_or_unknown_ones_are_refused(cause: int) -> None:
    with pytest.raises(ValueError, match=f"interrupt status {cause:#x}"):
        latch(InterruptMessage(cause))
    with pytest.raises(ValueError, match=f"interrupt status {cause:#x}"):
        unlatch({Register.INTERRUPT_STATUS: cause, Register.INTERRUPT_SOURCE: 0}.__getitem__)


@pytest.mark.parametrize(("cause", "source"), [(Interrupt.FENCE, MAX_NODES), (Interrupt.VSYNC, MAX_HEADS), (Interrupt.FAULT, 1 << 31)])
def test_a_source_that_no_device_has_is_refused(cause: Interrupt, source: int) -> None:
    with pytest.raises(ValueError, match=f"interrupt {cause.name} from {source}"):
        unlatch({Register.INTERRUPT_STATUS: int(cause), Register.INTERRUPT_SOURCE: source}.__getitem__)
