"""Interrupts and faults: what the device tells its driver, and how.

An interrupt is a message (like MSI) that carries the values of the status registers that belong to it, latched when it was
raised: INTERRUPT_STATUS and INTERRUPT_SOURCE, and those of the node or head. Whoever carries it need not know what they mean. The
driver's interrupt routine reads the latched values, not the live registers. :func:`latch` and :func:`unlatch` translate.

Order: one message a cause. Of one node they come in the order of its work: FENCE for each entry that asked for it (none is left
out, none comes twice), then FAULT or PREEMPTED, after which nothing comes until the node runs again. What the hardware wrote for
an entry (results, then signals, then FENCE_COMPLETED) can be seen by whoever has its FENCE. Messages that were raised before a
CONTROL.RESET or RESET was written may still arrive after it: a driver tells them by their fence ids. A cause whose bit in
INTERRUPT_ENABLE is 0 raises nothing, and nothing is kept for later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Final

from .registers import MAX_HEADS, MAX_NODES, HeadRegister, NodeRegister, Register, head_register, node_register


class Interrupt(IntFlag):
    """Causes; also the bits of ``Register.INTERRUPT_ENABLE``. A message has one; what it carries is what :func:`latch` names."""

    FENCE = 1  #: a ring entry with RingFlag.INTERRUPT completed
    PREEMPTED = 2  #: the preemption asked for is done
    FAULT = 4  #: a node met something it refuses; it is stopped until CONTROL.RESET
    VSYNC = 8  #: vertical sync started, and the flip that was armed, if any, was latched
    RESET_DONE = 16  #: a node has nothing of the work any more that CONTROL.RESET or RESET abandoned


class Fault(IntEnum):
    """Why a node stopped. The buffer is abandoned in the packet that faulted, which may have been executed in part; what earlier
    packets did stays done. Neither its fence nor its signals are written, and its context is as after a buffer without CONTINUE."""

    NONE = 0
    BAD_RING_ENTRY = 1  #: ring or buffer outside system memory, size, flags, op, signal address. Fence 0: no entry could be read
    BAD_PACKET = 2  #: opcode that this node has not, slot, address missing or where none belongs, number out of range
    PRIVILEGE = 3  #: privileged packet or bus address in an unprivileged buffer
    ADDRESS = 4  #: range outside local memory and bound aperture pages
    BAD_DESCRIPTOR = 5  #: format, size, mip or slice that does not exist, or layout larger than its extent
    BAD_SHADER = 6  #: program that the decoder refuses
    PIPELINE = 7  #: draw or dispatch with state that cannot work together
    HANG = 8  #: stopped by the stop word


@dataclass(slots=True)
class InterruptMessage:
    """One interrupt. ``node``/``head`` says where; the rest is what the cause defines."""

    cause: int  #: exactly one bit of :class:`Interrupt`
    node: int = 0
    head: int = 0
    fence: int = 0  #: FENCE: id completed. PREEMPTED, RESET_DONE: last id completed. FAULT: id of the buffer that faulted
    preempt_fence: int = 0  #: PREEMPTED: the id that was written to PREEMPT_FENCE
    fault: int = 0  #: :class:`Fault`
    fault_packet: int = 0
    fault_address: int = 0
    surface: int = 0  #: VSYNC: address being scanned out
    vblank_count: int = 0
    time_ns: int = 0  #: the device's clock when it was raised


def _pair(low: int, high: int, value: int) -> dict[int, int]:
    return {low: value & 0xFFFF_FFFF, high: value >> 32}


def _only(cause: int) -> Interrupt:
    """A single cause. Raises ValueError for none, several, and bits that mean nothing."""
    found = _CAUSES.get(cause)
    if found is None:
        raise ValueError(f"interrupt status {cause:#x}")
    return found


_CAUSES: Final = {int(cause): cause for cause in Interrupt}
#: Register offsets as plain numbers, for what comes with every submission.
_STATUS, _SOURCE = int(Register.INTERRUPT_STATUS), int(Register.INTERRUPT_SOURCE)
_FENCE_COMPLETED: Final = tuple(node_register(node, NodeRegister.FENCE_COMPLETED) for node in range(MAX_NODES))


def latch(message: InterruptMessage) -> dict[int, int]:
    """Register offset to value: what an interrupt carries. Raises ValueError for a message without exactly one cause."""
    cause, node, head = _only(message.cause), message.node, message.head
    if cause is Interrupt.FENCE:
        return {_STATUS: message.cause, _SOURCE: node, _FENCE_COMPLETED[node]: message.fence}
    display = cause is Interrupt.VSYNC
    found = {_STATUS: int(cause), _SOURCE: head if display else node}
    if display:
        found |= _pair(
            head_register(head, HeadRegister.CURRENT_LO), head_register(head, HeadRegister.CURRENT_HI), message.surface
        )
        found[head_register(head, HeadRegister.VBLANK_COUNT)] = message.vblank_count & 0xFFFF_FFFF
        return found
    if cause is Interrupt.FAULT:
        found[node_register(node, NodeRegister.FAULT_FENCE)] = message.fence
        found[node_register(node, NodeRegister.FAULT_CODE)] = message.fault
        found[node_register(node, NodeRegister.FAULT_PACKET)] = message.fault_packet
        found |= _pair(
            node_register(node, NodeRegister.FAULT_ADDRESS_LO),
            node_register(node, NodeRegister.FAULT_ADDRESS_HI),
            message.fault_address,
        )
        return found
    found[_FENCE_COMPLETED[node]] = message.fence
    if cause is Interrupt.PREEMPTED:
        found[node_register(node, NodeRegister.PREEMPT_FENCE)] = message.preempt_fence
    return found


def unlatch(read: Callable[[int], int]) -> InterruptMessage:
    """The message in latched registers; ``read`` gives the value at an offset. ``time_ns`` is not in registers: 0.

    Raises ValueError unless there is exactly one cause, and for a node or head that no device has.
    """
    cause = _only(read(_STATUS))
    source = read(_SOURCE)
    if source >= (MAX_HEADS if cause is Interrupt.VSYNC else MAX_NODES):
        raise ValueError(f"interrupt {cause.name} from {source}")
    if cause is Interrupt.FENCE:
        return InterruptMessage(cause, source, fence=read(_FENCE_COMPLETED[source]))
    if cause is Interrupt.VSYNC:
        low, high = (read(head_register(source, r)) for r in (HeadRegister.CURRENT_LO, HeadRegister.CURRENT_HI))
        count = read(head_register(source, HeadRegister.VBLANK_COUNT))
        return InterruptMessage(cause, head=source, surface=low | high << 32, vblank_count=count)

    def node(register: NodeRegister) -> int:
        return read(node_register(source, register))

    if cause is Interrupt.FAULT:
        return InterruptMessage(
            cause,
            node=source,
            fence=node(NodeRegister.FAULT_FENCE),
            fault=node(NodeRegister.FAULT_CODE),
            fault_packet=node(NodeRegister.FAULT_PACKET),
            fault_address=node(NodeRegister.FAULT_ADDRESS_LO) | node(NodeRegister.FAULT_ADDRESS_HI) << 32,
        )
    preempt = node(NodeRegister.PREEMPT_FENCE) if cause is Interrupt.PREEMPTED else 0
    return InterruptMessage(cause, node=source, fence=node(NodeRegister.FENCE_COMPLETED), preempt_fence=preempt)
