"""Interrupts and faults: what the device tells its driver, and how.

An interrupt is a message (like MSI): it carries the cause and the values of the status registers that belong to it, latched
when it was raised. The driver's interrupt routine reads those, not the live registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag


class Interrupt(IntFlag):
    """Causes; also the bits of ``Register.INTERRUPT_ENABLE``."""

    FENCE = 1  #: a ring entry with RingFlag.INTERRUPT completed
    PREEMPTED = 2  #: the preemption asked for is done
    FAULT = 4  #: a node met something it refuses; it is stopped until CONTROL.RESET
    VSYNC = 8  #: vertical sync started and an armed flip was latched
    RESET_DONE = 16  #: a node reset or a device reset has finished


class Fault(IntEnum):
    """Why a node stopped."""

    NONE = 0
    BAD_RING_ENTRY = 1
    BAD_PACKET = 2  #: unknown opcode, reserved bits, number out of range
    PRIVILEGE = 3  #: privileged packet or bus address in an unprivileged buffer
    ADDRESS = 4  #: range outside local memory and bound aperture pages
    BAD_DESCRIPTOR = 5  #: format, size, mip or slice that does not exist, or layout larger than its extent
    BAD_SHADER = 6  #: program that the decoder refuses
    PIPELINE = 7  #: draw or dispatch with state that cannot work together
    HANG = 8  #: stopped by the stop word


@dataclass(frozen=True, slots=True)
class InterruptMessage:
    """One interrupt. ``node``/``head`` says where; the rest is what the cause defines."""

    cause: int  #: exactly one bit of :class:`Interrupt`
    node: int = 0
    head: int = 0
    fence: int = 0  #: FENCE: last completed id. PREEMPTED: last completed id. FAULT: id of the buffer that faulted
    preempt_fence: int = 0  #: PREEMPTED: the id that was written to PREEMPT_FENCE
    fault: int = 0  #: :class:`Fault`
    fault_packet: int = 0
    fault_address: int = 0
    surface: int = 0  #: VSYNC: address being scanned out
    vblank_count: int = 0
    time_ns: int = 0  #: the device's clock when it was raised
