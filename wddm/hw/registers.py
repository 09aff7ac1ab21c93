"""The register file: 32-bit registers at byte offsets, declared once for driver, hardware and tracer.

Global block at 0, one block per node at ``NODE_BLOCK + n * NODE_STRIDE``, one block per display head at
``HEAD_BLOCK + h * HEAD_STRIDE``. Writes are posted (they do not answer) and take effect in order; reads return the value at the
time of the read. Registers marked "ro" ignore writes. The blocks of nodes and heads that the device has not got, and offsets inside
the file that have no name here, read 0.

After power-on everything that can be written is 0, but the refresh rate of a head, which is its monitor's, and the gamma ramp,
which is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Final

REGISTER_FILE_SIZE: Final = 0x1000
NODE_BLOCK: Final = 0x100
NODE_STRIDE: Final = 0x80
MAX_NODES: Final = 4
HEAD_BLOCK: Final = 0x400
HEAD_STRIDE: Final = 0x100
MAX_HEADS: Final = 4

#: Value of ``Register.DEVICE_ID``: "VGPU", little endian.
DEVICE_ID: Final = 0x55504756
#: Version of this manual. Driver and device must agree on the high 16 bits.
INTERFACE_VERSION: Final = 0x0001_0000


class Node(IntEnum):
    """Schedulable engines."""

    GRAPHICS = 0  #: 3D and compute
    COPY = 1  #: copies, fills, aperture binding; runs beside GRAPHICS


class Register(IntEnum):
    """Global registers."""

    DEVICE_ID = 0x00  #: ro
    INTERFACE_VERSION = 0x04  #: ro
    NODE_COUNT = 0x08  #: ro
    HEAD_COUNT = 0x0C  #: ro
    LOCAL_SIZE_LO = 0x10  #: ro, bytes
    LOCAL_SIZE_HI = 0x14  #: ro
    VISIBLE_WINDOW_LO = 0x18  #: ro, bytes of local memory that the processor sees, from its start
    VISIBLE_WINDOW_HI = 0x1C  #: ro
    APERTURE_SIZE_LO = 0x20  #: ro, bytes
    APERTURE_SIZE_HI = 0x24  #: ro
    ENGINE_KIND = 0x28  #: ro, :class:`EngineKind`
    ENGINE_THREADS = 0x2C  #: ro
    TIMESTAMP_LO = 0x30  #: ro, ticks of TIMESTAMP_FREQUENCY
    TIMESTAMP_HI = 0x34  #: ro
    TIMESTAMP_FREQUENCY = 0x38  #: ro, Hz
    INTERRUPT_ENABLE = 0x40  #: mask of :class:`~wddm.hw.interrupts.Interrupt`
    RESET = 0x44  #: write :data:`RESET_KEY`: every node as by CONTROL.RESET, without ring and contexts, FENCE_COMPLETED 0; armed
    #: flips are dropped; when running work has stopped, local memory reads 0 and no aperture page is bound. Modes and interrupt
    #: enables stay
    STOP_WORD = 0x48  #: ro, nonzero while the device stops running shaders
    INTERRUPT_STATUS = 0x4C  #: ro, cause of the interrupt being serviced (one bit of Interrupt)
    INTERRUPT_SOURCE = 0x50  #: ro, node or head that raised it


RESET_KEY: Final = 0xDEAD_0001


class EngineKind(IntEnum):
    """What executes packets on the graphics node."""

    REFERENCE = 0
    LLVM = 1


class NodeRegister(IntEnum):
    """Offsets in a node's block."""

    RING_BASE_LO = 0x00  #: bus address of the ring
    RING_BASE_HI = 0x04
    RING_ENTRIES = 0x08  #: number of entries, a power of two up to packets.MAX_RING; writing it sets head and tail to 0
    RING_TAIL = 0x0C  #: doorbell: entries before it are ready (a counter modulo 2**32, not modulo the ring)
    RING_HEAD = 0x10  #: ro, next entry to fetch (same counter)
    CONTROL = 0x14  #: :class:`NodeControl`
    STATUS = 0x18  #: ro, :class:`NodeStatus`
    FENCE_COMPLETED = 0x1C  #: ro, fence id of the last entry completed; 0 after power-on and RESET
    PREEMPT_FENCE = 0x20  #: fence id to report when the preemption asked for is done; write before CONTROL.PREEMPT
    FAULT_CODE = 0x24  #: ro, :class:`~wddm.hw.interrupts.Fault`; this and the next four are 0 when STATUS.FAULTED is not set
    FAULT_FENCE = 0x28  #: ro
    FAULT_PACKET = 0x2C  #: ro, index of the packet in its DMA buffer
    FAULT_ADDRESS_LO = 0x30  #: ro
    FAULT_ADDRESS_HI = 0x34  #: ro


class NodeControl(IntFlag):
    """Control of a node: one level and two commands (written as 1; they read 0)."""

    ENABLE = 1  #: level, not a command: fetch while set
    PREEMPT = 2  #: stop at the next boundary, empty the ring (head = tail), report PREEMPTED, also when there is nothing to stop
    RESET = 4  #: abandon the running buffer, empty the ring, clear a fault, forget a PREEMPT; contexts stay. The node takes work
    #: again at once and begins with it when the old has stopped


class NodeStatus(IntFlag):
    """What a node is doing."""

    BUSY = 1
    FAULTED = 2  #: nothing is fetched until CONTROL.RESET


class HeadRegister(IntEnum):
    """Offsets in a display head's block."""

    CONTROL = 0x00  #: :class:`HeadControl`
    WIDTH = 0x04  #: pixels
    HEIGHT = 0x08
    PITCH = 0x0C  #: bytes
    FORMAT = 0x10  #: :class:`~wddm.hw.formats.Format`
    REFRESH_NUMERATOR = 0x14  #: Hz
    REFRESH_DENOMINATOR = 0x18
    SURFACE_LO = 0x1C  #: address of the first pixel for the next FLIP (local memory or aperture)
    SURFACE_HI = 0x20
    FLIP = 0x24  #: write :class:`Flip`: arm SURFACE; latched at the next vertical sync, or at once
    CURRENT_LO = 0x28  #: ro, address being scanned out
    CURRENT_HI = 0x2C  #: ro
    VBLANK_COUNT = 0x30  #: ro, vertical syncs since power-on
    SCAN_LINE = 0x34  #: ro; HEIGHT and above means vertical blank
    MAX_WIDTH = 0x38  #: ro
    MAX_HEIGHT = 0x3C  #: ro
    NATIVE_WIDTH = 0x40  #: ro, the monitor's preferred mode
    NATIVE_HEIGHT = 0x44  #: ro
    GAMMA_INDEX = 0x48  #: 0..767: channel * 256 + entry
    GAMMA_DATA = 0x4C  #: 16-bit entry; increments GAMMA_INDEX


class HeadControl(IntFlag):
    """Levels of a display head. A new width, height, pitch, format or refresh rate counts at once."""

    ENABLE = 1  #: mode is set, vertical sync runs
    VISIBLE = 2  #: scan out the surface; else black
    VSYNC_INTERRUPT = 4


class Flip(IntEnum):
    """Values for HeadRegister.FLIP. A later flip takes the place of one that is armed."""

    ON_VSYNC = 1  #: arm: latched when the next vertical sync starts, before its VSYNC interrupt
    IMMEDIATE = 2  #: latch now, between two pixels


def node_register(node: int, register: NodeRegister) -> int:
    """Byte offset of ``register`` of ``node``."""
    return NODE_BLOCK + node * NODE_STRIDE + register


def head_register(head: int, register: HeadRegister) -> int:
    """Byte offset of ``register`` of ``head``."""
    return HEAD_BLOCK + head * HEAD_STRIDE + register


@dataclass(frozen=True, slots=True)
class RegisterName:
    """A decoded register offset: ``block`` is "", "node" or "head"."""

    block: str
    index: int
    register: IntEnum

    def __str__(self) -> str:
        return self.register.name if not self.block else f"{self.block}{self.index}.{self.register.name}"


def name_register(offset: int) -> RegisterName | None:
    """What lies at ``offset``, or None. For tracers and for refusing bad writes."""
    if any(offset == r for r in Register):
        return RegisterName("", 0, Register(offset))
    for block, base, stride, count, kind in (
        ("node", NODE_BLOCK, NODE_STRIDE, MAX_NODES, NodeRegister),
        ("head", HEAD_BLOCK, HEAD_STRIDE, MAX_HEADS, HeadRegister),
    ):
        index, rest = divmod(offset - base, stride)
        if 0 <= index < count and any(rest == r for r in kind):
            return RegisterName(block, index, kind(rest))
    return None
