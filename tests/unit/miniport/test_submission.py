"""Rings, fences, preemption, resets: what reaches the hardware, and what of its reports reaches the scheduler."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miniport.private import DMA_PRIVATE, DmaFlag, add_signal, dma_private, write_dma_private
from miniport.submission import FORGET_AT_ONCE, HW_QUEUE_PACKET_CAP, RING_ENTRIES
from wddm.ddi.d3dkmddi import (
    DXGK_ALLOCATIONLIST_DTYPE,
    DXGK_INTERRUPT_DMA_COMPLETED,
    DXGK_INTERRUPT_DMA_FAULTED,
    DXGK_INTERRUPT_DMA_PREEMPTED,
    DXGK_PATCHFLAGS,
    DXGK_SUBMITCOMMANDFLAGS,
    DXGKARG_CANCELCOMMAND,
    DXGKARG_COLLECTDBGINFO,
    DXGKARG_PATCH,
    DXGKARG_PREEMPTCOMMAND,
    DXGKARG_QUERYCURRENTFENCE,
    DXGKARG_QUERYDEPENDENTENGINEGROUP,
    DXGKARG_QUERYENGINESTATUS,
    DXGKARG_RESETENGINE,
    DXGKARG_SIGNALMONITOREDFENCE,
    DXGKARG_SUBMITCOMMAND,
)
from wddm.ddi.d3dukmdt import D3DDDI_PATCHLOCATIONLIST_DTYPE
from wddm.ddi.status import NTSTATUS
from wddm.hw.interrupts import Fault, Interrupt, InterruptMessage
from wddm.hw.memory import bus_address
from wddm.hw.packets import PACKET, RingFlag, RingOp
from wddm.hw.registers import NodeControl, NodeRegister, NodeStatus

from .rig import OK, Rig, private_data

Flags = DXGK_SUBMITCOMMANDFLAGS


@pytest.fixture
def rig() -> Rig:
    return Rig()


def fence(rig: Rig, number: int, node: int = 0) -> bool:
    """The hardware completes a submission."""
    return rig.interrupt(InterruptMessage(Interrupt.FENCE, node=node, fence=number))


def preempted(rig: Rig, preempt: int, completed: int, node: int = 0) -> bool:
    return rig.interrupt(InterruptMessage(Interrupt.PREEMPTED, node=node, fence=completed, preempt_fence=preempt))


def preempt(rig: Rig, number: int, node: int = 0) -> None:
    assert rig("PreemptCommand", DXGKARG_PREEMPTCOMMAND(number, node)) == OK


def reset(rig: Rig, node: int = 0) -> int:
    arguments = DXGKARG_RESETENGINE(node)
    assert rig("ResetEngine", arguments) == OK
    return arguments.LastAbortedFenceId


def current(rig: Rig, node: int = 0) -> int:
    arguments = DXGKARG_QUERYCURRENTFENCE(node)
    assert rig("QueryCurrentFence", arguments) == OK
    return arguments.CurrentFence


# ----- ring entries -----------------------------------------------------------------------------------------------------------


def test_a_submission_is_an_entry_and_a_doorbell(rig: Rig) -> None:
    context = rig.context(rig.device())
    private = private_data()
    write_dma_private(private, DmaFlag.CONTINUE)
    assert add_signal(private, bus_address(3, 8), 1 << 40)
    assert rig.submit(7, context, private=private) == OK
    (entry,) = rig.new_entries(0, 0)
    assert entry["op"] == RingOp.SUBMIT
    assert entry["flags"] == RingFlag.INTERRUPT | RingFlag.CONTINUE
    assert (entry["fence"], entry["context"], entry["address"], entry["size"]) == (7, 1, bus_address(9), 128)
    assert (entry["signal_address"], entry["signal_value"]) == (bus_address(3, 8), 1 << 40)
    assert (entry["signal_address2"], entry["reserved"]) == (0, 0)
    assert rig.registers.take() == [("node0.RING_TAIL", 1)]


@pytest.mark.parametrize(
    ("private", "flags", "wanted"),
    [
        (DmaFlag.NONE, Flags.NONE, RingFlag.INTERRUPT),
        (DmaFlag.PRIVILEGED, Flags.Paging, RingFlag.INTERRUPT | RingFlag.PRIVILEGED),
        (DmaFlag.CONTINUE, Flags.Resubmission, RingFlag.INTERRUPT | RingFlag.CONTINUE | RingFlag.RESUME),
        (DmaFlag.NONE, Flags.NullRendering, RingFlag.INTERRUPT | RingFlag.NULL_RENDERING),
        (DmaFlag.NONE, Flags.Present | Flags.RedirectedPresent, RingFlag.INTERRUPT),
    ],
)
def test_flags_become_ring_flags(rig: Rig, private: DmaFlag, flags: Flags, wanted: RingFlag) -> None:
    data = private_data()
    write_dma_private(data, private)
    rig.submit(1, private=data, Flags=flags)
    assert rig.new_entries(0, 0)[0]["flags"] == wanted


def test_only_the_portion_that_is_submitted_is_named(rig: Rig) -> None:
    rig.submit(1, size=0)
    rig("SubmitCommand", DXGKARG_SUBMITCOMMAND(0, 0, bus_address(9), 4096, 64, 256, 2, 0))
    empty, part = rig.new_entries(0, 0)
    assert (empty["address"], empty["size"]) == (0, 0)
    assert (part["address"], part["size"]) == (bus_address(9, 64), 192)


def test_private_data_counts_from_its_own_offset_and_not_when_there_is_none(rig: Rig) -> None:
    both = np.concatenate([private_data(), private_data()])
    write_dma_private(both, DmaFlag.CONTINUE)
    write_dma_private(both[64:], DmaFlag.PRIVILEGED)
    rig.submit(1, private=both, DmaBufferPrivateDataSubmissionStartOffset=64)
    rig("SubmitCommand", DXGKARG_SUBMITCOMMAND(0, 0, 0, 0, 0, 0, 2, 0, pDmaBufferPrivateData=both, DmaBufferPrivateDataSize=0))
    assert [e["flags"] for e in rig.new_entries(0, 0)] == [RingFlag.INTERRUPT | RingFlag.PRIVILEGED, RingFlag.INTERRUPT]


def test_each_node_has_its_ring(rig: Rig) -> None:
    rig.submit(1, node=1)
    assert rig.registers.node(0, NodeRegister.RING_TAIL) == 0
    assert rig.new_entries(1, 0)[0]["fence"] == 1
    for node in (0, 1):
        address = rig.registers.node(node, NodeRegister.RING_BASE_LO) | rig.registers.node(node, NodeRegister.RING_BASE_HI) << 32
        assert address == rig.kernel.memory[node].PhysicalAddress
        assert rig.registers.node(node, NodeRegister.CONTROL) == NodeControl.ENABLE


def test_the_ring_goes_round_for_ever(rig: Rig) -> None:
    for number in range(1, 3 * RING_ENTRIES + 5):
        assert rig.submit(number) == OK
        assert rig.new_entries(0, number - 1)[0]["fence"] == number
        fence(rig, number)
    assert rig.registers.node(0, NodeRegister.RING_TAIL) == 3 * RING_ENTRIES + 4


def test_the_doorbell_counts_modulo_two_to_the_32(rig: Rig) -> None:
    (queue,) = [n for a in rig.table.DxgkDdiPatch.__self__._adapters.values() for n in a.nodes if n.node == 0]
    queue._tail = (1 << 32) - 1
    rig.submit(1)
    assert rig.registers.node(0, NodeRegister.RING_TAIL) == 0
    assert rig.ring(0)[RING_ENTRIES - 1]["fence"] == 1
    rig.submit(2)
    assert rig.registers.node(0, NodeRegister.RING_TAIL) == 1
    assert rig.ring(0)[0]["fence"] == 2


def test_fence_ids_wrap_around(rig: Rig) -> None:
    numbers = [0xFFFF_FFFE, 0xFFFF_FFFF, 1, 2]
    for number in numbers:
        rig.submit(number)
    fence(rig, 0xFFFF_FFFF)
    assert rig.kernel.take()[0] == DXGK_INTERRUPT_DMA_COMPLETED(0xFFFF_FFFF, 0)
    assert current(rig) == 0xFFFF_FFFF
    fence(rig, 1)
    fence(rig, 2)
    assert [e for e in rig.kernel.take() if e != "queue dpc"] == [
        DXGK_INTERRUPT_DMA_COMPLETED(1, 0),
        DXGK_INTERRUPT_DMA_COMPLETED(2, 0),
    ]
    assert current(rig) == 2


def test_the_contract_of_submission_is_kept(rig: Rig) -> None:
    """No buffer may run as the kernel's because its context is unknown, and none too many."""
    context = rig.context(rig.device(), node=1)
    assert rig.submit(1, 0x999) == NTSTATUS.STATUS_INVALID_PARAMETER
    assert rig.submit(1, context, node=0) == NTSTATUS.STATUS_INVALID_PARAMETER
    assert rig.submit(1, node=2) == NTSTATUS.STATUS_INVALID_PARAMETER
    assert rig.submit(1, node=0, EngineOrdinal=1) == NTSTATUS.STATUS_INVALID_PARAMETER
    for number in range(1, HW_QUEUE_PACKET_CAP + 1):
        assert rig.submit(number) == OK
    assert rig.submit(99) == NTSTATUS.STATUS_INVALID_PARAMETER
    assert len(rig.new_entries(0, 0)) == HW_QUEUE_PACKET_CAP


# ----- signals ----------------------------------------------------------------------------------------------------------------


def signal(rig: Rig, private: np.ndarray, address: int, value: int) -> int:
    arguments = DXGKARG_SIGNALMONITOREDFENCE(address, value, pDmaBufferPrivateData=private, DmaBufferPrivateDataSize=len(private))
    status: int = rig("SignalMonitoredFence", arguments)
    assert arguments.DmaBufferPrivateDataUsed == (len(private) if status == OK else 0)
    return status


def signals_of(entry: np.void) -> list[tuple[int, int]]:
    found = [(int(entry[f"signal_address{n}"]), int(entry[f"signal_value{n}"])) for n in ("", "2")]
    return [pair for pair in found if pair[0]]


def test_two_signals_fit_and_the_same_fence_counts_once(rig: Rig) -> None:
    private = private_data()
    assert signal(rig, private, 0x100, 1) == OK
    assert signal(rig, private, 0x200, 5) == OK
    assert signal(rig, private, 0x100, 2) == OK
    assert signal(rig, private, 0x300, 1) == NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
    assert signal(rig, np.zeros(8, np.uint8), 0x300, 1) == NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
    rig.submit(1, private=private)
    assert signals_of(rig.new_entries(0, 0)[0]) == [(0x100, 2), (0x200, 5)]


def test_signals_survive_preemption_and_are_done_once(rig: Rig) -> None:
    private = private_data()
    signal(rig, private, 0x100, 9)
    rig.submit(1, private=private)
    preempt(rig, 50)
    preempted(rig, 50, 0)
    rig.submit(2, private=private, Flags=Flags.Resubmission)
    assert [signals_of(e) for e in rig.new_entries(0, 0)] == [[(0x100, 9)], [(0x100, 9)]]
    fence(rig, 2)
    # The kernel uses the buffer again, as it is, for nothing but another signal.
    signal(rig, private, 0x200, 4)
    rig.submit(3, private=private)
    assert signals_of(rig.new_entries(0, 2)[0]) == [(0x200, 4)]


def test_signals_can_be_added_to_a_preempted_buffer(rig: Rig) -> None:
    private = private_data()
    signal(rig, private, 0x100, 9)
    rig.submit(1, private=private)
    preempt(rig, 50)
    preempted(rig, 50, 0)
    signal(rig, private, 0x200, 1)
    rig.submit(2, private=private, Flags=Flags.Resubmission)
    assert signals_of(rig.new_entries(0, 1)[0]) == [(0x100, 9), (0x200, 1)]


@pytest.mark.parametrize("end", ["cancel", "reset", "adapter reset"])
def test_signals_of_what_will_never_run_are_forgotten(rig: Rig, end: str) -> None:
    private = private_data()
    signal(rig, private, 0x100, 9)
    if end == "cancel":
        arguments = DXGKARG_CANCELCOMMAND(0, np.zeros(64, np.uint8), 64, 0, 64, private, len(private))
        assert rig("CancelCommand", arguments) == OK
    else:
        rig.submit(1, private=private)
        if end == "reset":
            assert reset(rig) == 1
        else:
            assert rig("ResetFromTimeout") == OK
    assert not private.any()


def test_nothing_is_cancelled_without_private_data(rig: Rig) -> None:
    assert rig("CancelCommand", DXGKARG_CANCELCOMMAND(0, np.zeros(64, np.uint8), 64, 0, 64)) == OK


# ----- contexts ---------------------------------------------------------------------------------------------------------------


def test_no_context_of_the_hardware_is_used_twice(rig: Rig) -> None:
    device, seen = rig.device(), set()
    for number in range(1, 60):
        context = rig.context(device)
        rig.submit(number, context)
        seen |= {int(e["context"]) for e in rig.new_entries(0, 0) if e["op"] == RingOp.SUBMIT}
        fence(rig, number)
        rig.entry("DestroyContext", context)
    assert seen == set(range(1, 60))


def test_the_hardware_forgets_contexts_with_the_next_submission(rig: Rig) -> None:
    device = rig.device()
    contexts = [rig.context(device) for _ in range(6)]
    for number, context in enumerate(contexts[:5], 1):  # the sixth never came to the hardware
        rig.submit(number, context)
        fence(rig, number)
    for context in contexts:
        rig.entry("DestroyContext", context)
    rig.submit(6)
    rig.submit(7)
    entries = rig.new_entries(0, 5)
    assert [(int(e["op"]), int(e["context"]), int(e["fence"])) for e in entries] == [
        *[(RingOp.CONTEXT_DESTROY, n, 5) for n in range(1, FORGET_AT_ONCE + 1)],
        (RingOp.SUBMIT, 0, 6),
        (RingOp.CONTEXT_DESTROY, 5, 6),
        (RingOp.SUBMIT, 0, 7),
    ]
    # They say what is true when they are done, raise nothing and write nothing.
    assert all(e["flags"] == e["size"] == e["address"] == e["signal_address"] == 0 for e in entries if e["op"] != RingOp.SUBMIT)


@pytest.mark.parametrize("end", ["preempt", "reset"])
def test_contexts_whose_end_got_lost_are_ended_again(rig: Rig, end: str) -> None:
    device = rig.device()
    context = rig.context(device)
    rig.submit(1, context)
    fence(rig, 1)
    rig.entry("DestroyContext", context)
    rig.submit(2)
    if end == "preempt":
        preempt(rig, 50)
        preempted(rig, 50, 1)
        before = rig.registers.node(0, NodeRegister.RING_TAIL)
    else:
        assert reset(rig) == 2
        before = 0
    rig.submit(3)
    destroyed, _ = rig.new_entries(0, before)
    assert (destroyed["op"], destroyed["context"], destroyed["fence"]) == (RingOp.CONTEXT_DESTROY, 1, 1 if end == "preempt" else 2)
    fence(rig, 3)
    rig.submit(4)
    assert len(rig.new_entries(0, before)) == 3  # and not once more


def test_a_device_reset_has_forgotten_everything(rig: Rig) -> None:
    context = rig.context(rig.device())
    rig.submit(1, context)
    fence(rig, 1)
    rig.entry("DestroyContext", context)
    rig("ResetFromTimeout")
    rig("RestartFromTimeout")
    rig.submit(2)
    assert [int(e["op"]) for e in rig.new_entries(0, 0)] == [RingOp.SUBMIT]


# ----- completion and preemption ------------------------------------------------------------------------------------------------


def test_completion_is_told_once(rig: Rig) -> None:
    rig.submit(1)
    rig.submit(2)
    assert fence(rig, 1)
    assert rig.kernel.take() == [DXGK_INTERRUPT_DMA_COMPLETED(1, 0), "queue dpc"]
    assert fence(rig, 1)
    assert rig.kernel.take() == []
    assert fence(rig, 2)
    assert rig.kernel.take() == [DXGK_INTERRUPT_DMA_COMPLETED(2, 0), "queue dpc"]


def test_a_later_completion_tells_of_earlier_ones(rig: Rig) -> None:
    private = private_data()
    signal(rig, private, 1, 1)
    for number in (1, 2, 3):
        rig.submit(number, private=private if number == 1 else None)
    fence(rig, 3)
    assert rig.kernel.take()[0] == DXGK_INTERRUPT_DMA_COMPLETED(3, 0)
    assert not private.any()
    preempt(rig, 9)
    assert rig.kernel.take()[0] == DXGK_INTERRUPT_DMA_PREEMPTED(9, 3, 0)


def test_preempting_an_idle_node_is_answered_at_once(rig: Rig) -> None:
    preempt(rig, 50)
    assert rig.kernel.take() == [DXGK_INTERRUPT_DMA_PREEMPTED(50, 0, 0), "queue dpc"]
    assert rig.registers.take() == []


def test_preempting_a_busy_node_is_answered_by_the_hardware(rig: Rig) -> None:
    for number in (1, 2, 3):
        rig.submit(number)
    rig.registers.take()
    preempt(rig, 50)
    assert rig.kernel.take() == []
    assert rig.registers.take() == [
        ("node0.PREEMPT_FENCE", 50),
        ("node0.CONTROL", NodeControl.ENABLE | NodeControl.PREEMPT),
    ]
    fence(rig, 1)
    preempted(rig, 50, 1)
    assert rig.kernel.take() == [
        DXGK_INTERRUPT_DMA_COMPLETED(1, 0),
        "queue dpc",
        DXGK_INTERRUPT_DMA_PREEMPTED(50, 1, 0),
        "queue dpc",
    ]
    assert rig.submit(4) == OK  # what was taken back is submitted again, under new ids
    assert current(rig) == 1


def test_a_preemption_that_came_too_late_stopped_nothing(rig: Rig) -> None:
    rig.submit(1)
    preempt(rig, 50)
    preempted(rig, 50, 1)
    assert rig.kernel.take() == [DXGK_INTERRUPT_DMA_PREEMPTED(50, 1, 0), "queue dpc"]


def test_query_current_fence_reports_what_was_not_reported(rig: Rig) -> None:
    rig.submit(1)
    rig.submit(2)
    rig.registers.set_node(0, NodeRegister.FENCE_COMPLETED, 1)
    assert current(rig) == 1
    assert rig.kernel.take() == [DXGK_INTERRUPT_DMA_COMPLETED(1, 0), "queue dpc"]
    assert current(rig) == 1
    assert rig.kernel.take() == []
    fence(rig, 1)  # its interrupt was under way
    assert rig.kernel.take() == []


def test_a_register_of_before_says_nothing(rig: Rig) -> None:
    rig.registers.set_node(0, NodeRegister.FENCE_COMPLETED, 5000)
    rig.submit(1)
    assert current(rig) == 0
    assert rig.kernel.take() == []


def test_a_node_responds_when_it_makes_progress(rig: Rig) -> None:
    def responsive() -> bool:
        arguments = DXGKARG_QUERYENGINESTATUS(0)
        assert rig("QueryEngineStatus", arguments) == OK
        return arguments.Responsive

    assert responsive()  # nothing to do
    rig.submit(1)
    rig.submit(2)
    assert not responsive()
    rig.registers.set_node(0, NodeRegister.FENCE_COMPLETED, 1)
    assert responsive()  # not reported yet, but done
    fence(rig, 1)
    assert responsive()
    assert not responsive()
    fence(rig, 2)
    rig.submit(3)
    preempt(rig, 50)
    assert not responsive()  # nothing since it was asked to give way
    rig.registers.set_node(0, NodeRegister.STATUS, NodeStatus.FAULTED)
    rig.registers.set_node(0, NodeRegister.FENCE_COMPLETED, 3)
    assert not responsive()


# ----- reset ------------------------------------------------------------------------------------------------------------------


def test_a_reset_aborts_what_was_running_and_programs_the_ring_again(rig: Rig) -> None:
    for number in (1, 2, 3):
        rig.submit(number)
    fence(rig, 1)
    rig.registers.take()
    assert reset(rig) == 2
    writes = rig.registers.take()
    assert writes[0] == ("node0.CONTROL", NodeControl.RESET)
    assert [name for name, _ in writes[1:]] == [f"node0.{n}" for n in ("RING_BASE_LO", "RING_BASE_HI", "RING_ENTRIES", "CONTROL")]
    assert writes[-1][1] == NodeControl.ENABLE
    rig.submit(4)
    assert rig.new_entries(0, 0)[0]["fence"] == 4  # from the start of the ring
    assert current(rig) == 2


def test_a_reset_of_an_idle_node_names_the_last_completed(rig: Rig) -> None:
    assert reset(rig) == 0
    rig.submit(1)
    fence(rig, 1)
    assert reset(rig) == 1


def test_a_reset_counts_what_completed_unheard(rig: Rig) -> None:
    for number in (1, 2, 3):
        rig.submit(number)
    rig.registers.set_node(0, NodeRegister.FENCE_COMPLETED, 2)
    assert reset(rig) == 3
    assert rig.kernel.take() == []  # interrupts of the engine are ignored meanwhile
    for number in (4, 5):
        rig.submit(number)
    rig.registers.set_node(0, NodeRegister.FENCE_COMPLETED, 5)
    assert reset(rig) == 5


def test_reports_that_a_reset_has_overtaken_say_nothing(rig: Rig) -> None:
    for number in (1, 2):
        rig.submit(number)
    preempt(rig, 50)
    assert reset(rig) == 1
    rig.submit(3)
    rig.kernel.take()
    for late in (
        InterruptMessage(Interrupt.FENCE, fence=1),
        InterruptMessage(Interrupt.FENCE, fence=2),
        InterruptMessage(Interrupt.PREEMPTED, fence=2, preempt_fence=50),
        InterruptMessage(Interrupt.FAULT, fence=2, fault=Fault.ADDRESS),
    ):
        assert rig.interrupt(late)
    assert rig.kernel.take() == []
    fence(rig, 3)
    assert rig.kernel.take() == [DXGK_INTERRUPT_DMA_COMPLETED(3, 0), "queue dpc"]
    preempt(rig, 51)
    assert rig.kernel.take()[0] == DXGK_INTERRUPT_DMA_PREEMPTED(51, 3, 0)


def test_a_preemption_after_a_reset_reports_the_aborted_id(rig: Rig) -> None:
    """The hardware has not completed it, but it is over."""
    rig.submit(1)
    assert reset(rig) == 1
    rig.submit(2)
    preempt(rig, 50)
    preempted(rig, 50, 0)
    assert rig.kernel.take()[0] == DXGK_INTERRUPT_DMA_PREEMPTED(50, 1, 0)


def test_after_an_adapter_reset_everything_is_over_on_all_nodes(rig: Rig) -> None:
    for number in (1, 2, 3):
        rig.submit(number)
    rig.submit(7, node=1)
    preempt(rig, 50)
    rig.registers.take()
    assert rig("ResetFromTimeout") == OK
    assert rig.registers.take() == [("RESET", 0xDEAD_0001)]
    assert rig("RestartFromTimeout") == OK
    writes = rig.registers.take()
    assert writes[0][0] == "INTERRUPT_ENABLE"
    assert {n.split(".")[0] for n, _ in writes[1:]} == {"node0", "node1"}
    assert (current(rig, 0), current(rig, 1)) == (3, 7)
    preempted(rig, 50, 0)
    fence(rig, 3)
    assert rig.kernel.take() == []
    rig.submit(4)
    assert rig.new_entries(0, 0)[0]["fence"] == 4


# ----- faults -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "address", "status", "why"),
    [
        (Fault.ADDRESS, 0x1234, NTSTATUS.STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE, "packet 4: ADDRESS at 0x1234"),
        (Fault.PRIVILEGE, 0, NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION, "packet 4: PRIVILEGE"),
        (Fault.BAD_PACKET, 0, NTSTATUS.STATUS_ILLEGAL_INSTRUCTION, "packet 4: BAD_PACKET"),
        (Fault.BAD_SHADER, 0, NTSTATUS.STATUS_ILLEGAL_INSTRUCTION, "packet 4: BAD_SHADER"),
        (99, 0, NTSTATUS.STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE, "packet 4: fault 99"),
    ],
)
def test_a_fault_is_explained_and_then_told(rig: Rig, fault: int, address: int, status: NTSTATUS, why: str) -> None:
    rig.submit(1)
    rig.interrupt(InterruptMessage(Interrupt.FAULT, fence=1, fault=fault, fault_packet=4, fault_address=address))
    assert rig.kernel.take() == [
        ("why", f"the hardware refused {why}"),
        DXGK_INTERRUPT_DMA_FAULTED(1, status, 0),
        "queue dpc",
    ]
    assert reset(rig) == 1  # the id that faulted


def test_a_ring_entry_that_cannot_be_read_is_the_fault_of_the_first(rig: Rig) -> None:
    rig.submit(5)
    rig.submit(6)
    rig.interrupt(InterruptMessage(Interrupt.FAULT, fence=0, fault=Fault.BAD_RING_ENTRY))
    assert DXGK_INTERRUPT_DMA_FAULTED(5, NTSTATUS.STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE, 0) in rig.kernel.take()


# ----- patching ---------------------------------------------------------------------------------------------------------------


def patch(buffer: np.ndarray, entries: list[tuple[int, int, int]], **more) -> DXGKARG_PATCH:
    locations = np.zeros(len(entries), D3DDDI_PATCHLOCATIONLIST_DTYPE)
    for row, (at, index, offset) in zip(locations, entries, strict=True):
        row["PatchOffset"], row["AllocationIndex"], row["AllocationOffset"] = at, index, offset
    listed = np.zeros(3, DXGK_ALLOCATIONLIST_DTYPE)
    listed["hDeviceSpecificAllocation"] = [0, 0x11, 0x21]
    listed["PhysicalAddress"] = [0x7777, 1 << 40, 1 << 41]
    fields = {
        "hContext": 1,
        "pDmaBuffer": buffer,
        "DmaBufferSize": len(buffer),
        "DmaBufferSubmissionStartOffset": 0,
        "DmaBufferSubmissionEndOffset": len(buffer),
        "SubmissionFenceId": 1,
        "pAllocationList": listed,
        "AllocationListSize": 3,
        "pPatchLocationList": locations,
        "PatchLocationListSize": len(locations),
        "PatchLocationListSubmissionLength": len(locations),
    }
    return DXGKARG_PATCH(**(fields | more))


def test_patching_writes_final_addresses_and_can_be_done_again(rig: Rig) -> None:
    buffer = np.zeros(4 * 64, np.uint8)
    arguments = patch(buffer, [(8, 1, 16), (24, 2, 0), (72, 0, 5), (200, 2, 8)])
    buffer.view(np.uint64)[9] = 0xDEAD  # unbound again by the NULL element
    for move in (0, 0x1000):
        arguments.pAllocationList["PhysicalAddress"] += np.uint64(move)
        assert rig("Patch", arguments) == OK
        rows = buffer.view(PACKET)
        assert (rows[0]["address"], rows[0]["address2"]) == ((1 << 40) + 16 + move, (1 << 41) + move)
        assert rows[1]["address"] == 0
        assert rows[3]["address"] == (1 << 41) + 8 + move


def test_only_the_portion_is_patched(rig: Rig) -> None:
    buffer = np.zeros(4 * 64, np.uint8)
    entries = [(8 + 64 * i, 1, 0) for i in range(4)]
    rig("Patch", patch(buffer, entries, DmaBufferSubmissionStartOffset=64, DmaBufferSubmissionEndOffset=192))
    assert [bool(r["address"]) for r in buffer.view(PACKET)] == [False, True, True, False]
    buffer[:] = 0
    rig("Patch", patch(buffer, entries, PatchLocationListSubmissionStart=3, PatchLocationListSubmissionLength=1))
    assert [bool(r["address"]) for r in buffer.view(PACKET)] == [False, False, False, True]


def test_paging_buffers_and_empty_lists_are_left_alone(rig: Rig) -> None:
    buffer = np.zeros(64, np.uint8)
    assert rig("Patch", patch(buffer, [(8, 1, 0)], Flags=DXGK_PATCHFLAGS.Paging)) == OK
    assert rig("Patch", patch(buffer, [(8, 1, 0)], pPatchLocationList=None)) == OK
    assert rig("Patch", patch(buffer, [])) == OK
    assert not buffer.any()


# ----- the rest ---------------------------------------------------------------------------------------------------------------


def test_nodes_are_reset_alone_and_others_are_none(rig: Rig) -> None:
    group = DXGKARG_QUERYDEPENDENTENGINEGROUP(1)
    assert rig("QueryDependentEngineGroup", group) == OK
    assert group.DependentNodeOrdinalMask == 2
    for entry, arguments in (
        ("QueryDependentEngineGroup", DXGKARG_QUERYDEPENDENTENGINEGROUP(2)),
        ("QueryEngineStatus", DXGKARG_QUERYENGINESTATUS(0, 1)),
        ("QueryCurrentFence", DXGKARG_QUERYCURRENTFENCE(7)),
        ("PreemptCommand", DXGKARG_PREEMPTCOMMAND(1, 2)),
        ("ResetEngine", DXGKARG_RESETENGINE(0, 1)),
    ):
        assert rig(entry, arguments) == NTSTATUS.STATUS_INVALID_PARAMETER


def test_debug_information_says_where_the_nodes_are(rig: Rig) -> None:
    rig.submit(1)
    rig.submit(2)
    fence(rig, 1)
    arguments = DXGKARG_COLLECTDBGINFO(0x117, bytearray(200), 200)
    assert rig("CollectDbgInfo", arguments) == OK
    assert arguments.pBuffer.rstrip(b"\0").decode().splitlines()[:2] == [
        "node 0: submitted 2 completed 1 in ring [2]",
        "node 1: submitted 0 completed 0 in ring []",
    ]
    small = DXGKARG_COLLECTDBGINFO(0x117, bytearray(10), 10)
    assert rig("CollectDbgInfo", small) == OK
    assert small.pBuffer == b"node 0: su"


# ----- against a model --------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=80)
@given(st.lists(st.sampled_from(["submit", "submit", "complete", "preempt", "reset", "destroy"]), max_size=60))
def test_whatever_happens_the_scheduler_hears_of_every_submission_once(actions: list[str]) -> None:
    """A hardware that executes in order, against what the kernel is told: completed, taken back or aborted, each once."""
    rig = Rig()
    device = rig.device()
    live: list[int] = []
    number = preemptions = 0
    hardware: list[int] = []
    completed = 0
    outcome: dict[int, str] = {}
    for action in actions:
        if action == "submit" and len(hardware) < HW_QUEUE_PACKET_CAP:
            number += 1
            context = rig.context(device)
            live.append(context)
            assert rig.submit(number, context, private=np.zeros(DMA_PRIVATE.itemsize, np.uint8)) == OK
            hardware.append(number)
        elif action == "complete" and hardware:
            completed = hardware.pop(0)
            fence(rig, completed)
        elif action == "preempt":
            preemptions += 1
            preempt(rig, 1000 + preemptions)
            if hardware:
                preempted(rig, 1000 + preemptions, completed)
                outcome |= dict.fromkeys(hardware, "taken back")
                hardware.clear()
        elif action == "reset":
            aborted = reset(rig)
            assert aborted == (hardware[0] if hardware else max(completed, aborted))
            if hardware:
                outcome[hardware[0]] = "aborted"
                outcome |= dict.fromkeys(hardware[1:], "taken back")
                completed = hardware[0]
                hardware.clear()
        elif action == "destroy" and live:
            rig.entry("DestroyContext", live.pop(0))
        for event in rig.kernel.take():
            if isinstance(event, DXGK_INTERRUPT_DMA_COMPLETED):
                assert event.SubmissionFenceId not in outcome
                outcome[event.SubmissionFenceId] = "completed"
            elif isinstance(event, DXGK_INTERRUPT_DMA_PREEMPTED):
                assert event.PreemptionFenceId == 1000 + preemptions
                assert event.LastCompletedFenceId == completed
    assert set(outcome) | set(hardware) == set(range(1, number + 1))
    assert not set(outcome) & set(hardware)
    assert dma_private(None) is None
