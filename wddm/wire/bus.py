"""The bus: what kernel and miniport say to the virtual GPU, and it to them.

Mirrors PCI: register reads and posted register writes, system memory that the device may reach, interrupts as messages. Where the
link passes descriptors, system memory is shared (a memfd); elsewhere the host writes and reads the device's copy explicitly with
WriteMemory and ReadMemory. Register offsets and bus addresses are those of :mod:`wddm.hw`.
"""

from __future__ import annotations

from typing import Annotated, Final

from .message import I64, U16, U32, U64, Descriptor, MaxLen, Nothing, Protocol, Struct

BUS: Final = Protocol("wddm.bus", 1)

#: Bytes per WriteMemory/ReadMemory.
MEMORY_CHUNK: Final = 1 << 20

#: Where the platform puts system memory in the device's address space: block ``id`` starts at ``SYSTEM_BASE | id << 36``.
SYSTEM_BASE: Final = 1 << 62
MAX_MEMORY_ID: Final = (1 << 24) - 1


def system_address(memory_id: int, offset: int = 0) -> int:
    """The bus address of byte ``offset`` of a block of system memory announced as ``memory_id``."""
    return SYSTEM_BASE | memory_id << 36 | offset


class HelloReply(Struct):
    """What the device is. ``registers`` is a snapshot of the register file."""

    protocol: str
    version: U32
    descriptors: bool
    registers: bytes


@BUS.request(reply=HelloReply)
class Hello(Struct):
    """First message. Taking the bus resets the device; a second owner is refused while the first is there."""

    protocol: str
    version: U32


class Registers(Struct):
    """Values in the order asked."""

    values: list[U32]


@BUS.request(reply=Registers)
class ReadRegisters(Struct):
    """Read registers. Also a barrier: everything sent before has been taken when the answer comes."""

    offsets: Annotated[list[U32], MaxLen(1024)]


@BUS.notification()
class WriteRegisters(Struct):
    """Write registers in order. Offsets that do not exist end the link."""

    offsets: Annotated[list[U32], MaxLen(1024)]
    values: Annotated[list[U32], MaxLen(1024)]


@BUS.notification()
class AddMemory(Struct):
    """Make ``size`` bytes of system memory reachable from ``system_address(id)`` on; without a descriptor, a zeroed copy."""

    id: U32
    size: U64
    memory: Descriptor | None = None


@BUS.notification()
class RemoveMemory(Struct):
    """Withdraw a block of system memory."""

    id: U32


@BUS.notification()
class WriteMemory(Struct):
    """Copy bytes to the device's copy of system memory (links without descriptors). ``address`` is a bus address."""

    address: U64
    data: Annotated[bytes, MaxLen(MEMORY_CHUNK)]


class MemoryData(Struct):
    """Bytes read."""

    data: bytes


@BUS.request(reply=MemoryData)
class ReadMemory(Struct):
    """Copy bytes back."""

    address: U64
    size: U32


class Frame(Struct):
    """What a head shows: ``data`` is height x width x 4 bytes R, G, B, A, gamma applied; black when nothing is scanned out."""

    width: U16
    height: U16
    vblank_count: U32
    data: bytes


@BUS.request(reply=Frame)
class ReadFrame(Struct):
    """The picture on the monitor of ``head``: a frame grabber, not part of the device that a driver programs."""

    head: U32


@BUS.notification(from_server=True)
class InterruptRaised(Struct):
    """An interrupt: offsets and values of the status registers latched with it (``wddm.hw.interrupts.latch``). The host keeps
    them in its picture of the register file, where the driver's interrupt routine reads them. ``time_ns``: the device's clock."""

    offsets: Annotated[list[U32], MaxLen(64)]
    values: Annotated[list[U32], MaxLen(64)]
    time_ns: I64 = 0


__all__ = [
    "BUS",
    "MAX_MEMORY_ID",
    "MEMORY_CHUNK",
    "SYSTEM_BASE",
    "AddMemory",
    "Frame",
    "Hello",
    "HelloReply",
    "InterruptRaised",
    "MemoryData",
    "Nothing",
    "ReadFrame",
    "ReadMemory",
    "ReadRegisters",
    "Registers",
    "RemoveMemory",
    "WriteMemory",
    "WriteRegisters",
    "system_address",
]
