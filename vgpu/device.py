"""The device: register file, memory, nodes and display heads joined. Synchronous; it waits for nothing and knows no socket.

Interrupts are collected (``interrupts``), or handed to ``on_interrupt`` as they are raised, from whatever thread runs a node.
A shell (:mod:`vgpu.server`), or a test, decides when nodes run and when time passes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from vgpu.display import Head
from vgpu.engine import Engine, StopWord
from vgpu.engine.reference import ReferenceEngine
from vgpu.memory import Memory
from vgpu.node import NodeUnit
from wddm.hw.interrupts import Interrupt, InterruptMessage
from wddm.hw.registers import (
    DEVICE_ID,
    INTERFACE_VERSION,
    MAX_HEADS,
    REGISTER_FILE_SIZE,
    RESET_KEY,
    EngineKind,
    HeadControl,
    HeadRegister,
    Node,
    NodeRegister,
    Register,
    RegisterName,
    name_register,
)
from wddm.trace import Tracer

_trace = Tracer("vgpu")

TIMESTAMP_FREQUENCY: Final = 1_000_000_000
MIB: Final = 1 << 20


class Clock(Protocol):
    """The device's clock; ``now`` may be called from any thread."""

    def now(self) -> int:
        """Nanoseconds."""
        ...


class SystemClock:
    """The machine's monotonic clock."""

    def now(self) -> int:
        """Nanoseconds."""
        return time.monotonic_ns()


def make_engine(kind: EngineKind, memory: Memory, threads: int) -> Engine:
    """An engine by kind, with a stop word of its own."""
    if kind == EngineKind.REFERENCE:
        return ReferenceEngine(memory, StopWord(), threads)
    from vgpu.engine.llvm import LlvmEngine  # loads the compiler only where it is wanted

    engine: Engine = LlvmEngine(memory, StopWord(), threads)
    return engine


#: Every register by its offset.
REGISTERS: Final[dict[int, RegisterName]] = {
    offset: name for offset in range(0, REGISTER_FILE_SIZE, 4) if (name := name_register(offset)) is not None
}
#: Of each register of a node: whose it is, and which.
_NODE_REGISTERS: Final = {
    offset: (name.index, NodeRegister(name.register)) for offset, name in REGISTERS.items() if name.block == "node"
}


class Device:
    """A virtual GPU."""

    def __init__(
        self,
        local_size: int = 256 * MIB,
        aperture_size: int = 1024 * MIB,
        visible_window: int = 16 * MIB,
        *,
        heads: int = 1,
        engine: EngineKind = EngineKind.REFERENCE,
        threads: int = 1,
        size: tuple[int, int] = (1920, 1080),
        refresh: tuple[int, int] = (60, 1),
        clock: Clock | None = None,
        on_interrupt: Callable[[InterruptMessage], None] | None = None,
    ) -> None:
        """``size``: the monitors' preferred mode; ``refresh``: Hz as a fraction. Raises ValueError for sizes that cannot be."""
        if not 0 <= heads <= MAX_HEADS:
            raise ValueError(f"{heads} heads; at most {MAX_HEADS}")
        self.memory = Memory(local_size, aperture_size, visible_window)
        self.clock = clock or SystemClock()
        self.interrupts: deque[InterruptMessage] = deque()
        self.on_interrupt = on_interrupt or self.interrupts.append
        graphics = make_engine(engine, self.memory, threads)
        copying = make_engine(EngineKind.REFERENCE, self.memory, 1)
        self.nodes = [
            NodeUnit(Node.GRAPHICS, self.memory, graphics, self._raise),
            NodeUnit(Node.COPY, self.memory, copying, self._raise),
        ]
        limits = (max(size[0], 4096), max(size[1], 4096))
        self.heads = [Head(i, *limits, *size, refresh) for i in range(heads)]
        for head in self.heads:
            head.reset()
        self._interrupt_enable = 0
        self._status = (0, 0)
        self._resetting = False

    # --- registers ---------------------------------------------------------------------------------------------------

    def read_register(self, offset: int) -> int:
        """Read a register; 0 where none is, as reserved registers read. Raises ValueError outside the register file."""
        name = REGISTERS.get(offset)
        if name is None:
            if 0 <= offset < REGISTER_FILE_SIZE and offset % 4 == 0:
                return 0
            raise ValueError(f"no register at offset {offset:#x}")
        if name.block == "node":
            return self.nodes[name.index].read(NodeRegister(name.register)) if name.index < len(self.nodes) else 0
        if name.block == "head":
            return self.heads[name.index].read(HeadRegister(name.register), self.clock.now()) if name.index < len(self.heads) else 0
        return self._global(Register(name.register)) & 0xFFFF_FFFF

    def _global(self, register: Register) -> int:
        memory, engine = self.memory, self.nodes[Node.GRAPHICS].engine
        now = self.clock.now() if register in (Register.TIMESTAMP_LO, Register.TIMESTAMP_HI) else 0
        return {
            Register.DEVICE_ID: DEVICE_ID,
            Register.INTERFACE_VERSION: INTERFACE_VERSION,
            Register.NODE_COUNT: len(self.nodes),
            Register.HEAD_COUNT: len(self.heads),
            Register.LOCAL_SIZE_LO: memory.local_size,
            Register.LOCAL_SIZE_HI: memory.local_size >> 32,
            Register.VISIBLE_WINDOW_LO: memory.visible_window,
            Register.VISIBLE_WINDOW_HI: memory.visible_window >> 32,
            Register.APERTURE_SIZE_LO: memory.aperture_size,
            Register.APERTURE_SIZE_HI: memory.aperture_size >> 32,
            Register.ENGINE_KIND: engine.kind,
            Register.ENGINE_THREADS: engine.threads,
            Register.TIMESTAMP_LO: now,
            Register.TIMESTAMP_HI: now >> 32,
            Register.TIMESTAMP_FREQUENCY: TIMESTAMP_FREQUENCY,
            Register.INTERRUPT_ENABLE: self._interrupt_enable,
            Register.RESET: 0,
            Register.STOP_WORD: int(any(bool(n.engine.stop) for n in self.nodes)),
            Register.INTERRUPT_STATUS: self._status[0],
            Register.INTERRUPT_SOURCE: self._status[1],
        }[register]

    def write_register(self, offset: int, value: int) -> None:
        """Write a register; read-only ones ignore it. Raises ValueError for an offset where none is."""
        node = _NODE_REGISTERS.get(offset)
        if node is not None:
            index, register = node
            if index < len(self.nodes):
                self.nodes[index].write(register, value)
            return
        name = self._name(offset)
        if name.block == "head":
            if name.index < len(self.heads):
                self.heads[name.index].write(HeadRegister(name.register), value, self.clock.now())
        elif name.register == Register.INTERRUPT_ENABLE:
            self._interrupt_enable = value
        elif name.register == Register.RESET and value == RESET_KEY:
            self.reset()

    @staticmethod
    def _name(offset: int) -> RegisterName:
        name = REGISTERS.get(offset)
        if name is None:
            raise ValueError(f"no register at offset {offset:#x}")
        return name

    def register_snapshot(self) -> bytes:
        """The register file, REGISTER_FILE_SIZE bytes."""
        out = np.zeros(REGISTER_FILE_SIZE // 4, np.uint32)
        for offset in REGISTERS:
            out[offset // 4] = self.read_register(offset)
        return out.tobytes()

    # --- running -----------------------------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether any node has something to do."""
        return self._resetting or any(n.ready for n in self.nodes)

    def run_ready(self, budget: float | None = None) -> list[InterruptMessage]:
        """Run the nodes in turn until nothing is ready or ``budget`` seconds of real time are over; interrupts raised.

        For shells that run everything on one thread. With ``on_interrupt`` the list is empty.
        """
        deadline = None if budget is None else time.monotonic() + budget

        def expired() -> bool:
            return deadline is not None and time.monotonic() >= deadline

        while self.ready:
            for node in self.nodes:
                node.run(expired)
            self.finish_reset()
            if expired():
                break
        return self.take_interrupts()

    def take_interrupts(self) -> list[InterruptMessage]:
        """Interrupts collected so far."""
        out = []
        while self.interrupts:
            out.append(self.interrupts.popleft())
        return out

    def _raise(self, message: InterruptMessage) -> None:
        cause = int(message.cause)
        if self._interrupt_enable & cause:
            self._status = (cause, message.head if cause == Interrupt.VSYNC else message.node)
            message.time_ns = self.clock.now()
            self.on_interrupt(message)

    # --- display -----------------------------------------------------------------------------------------------------

    @property
    def next_vsync(self) -> int | None:
        """When the next vertical sync comes on any head; None when all are off."""
        return min((t for h in self.heads if (t := h.next_vsync) is not None), default=None)

    def advance(self) -> None:
        """Let the heads catch up with the clock; raises VSYNC where a head wants it."""
        now = self.clock.now()
        for head in self.heads:
            before, sync = head.current, head.advance(now)
            if sync is not None and _trace.enabled:
                latched = sync.surface != before
                _trace("VSync", head=head.index, surface=sync.surface, vblank_count=sync.vblank_count, latched=latched)
            if sync is not None and head.control & HeadControl.VSYNC_INTERRUPT:
                self._raise(
                    InterruptMessage(Interrupt.VSYNC, head=head.index, surface=sync.surface, vblank_count=sync.vblank_count)
                )

    def read_frame(self, head: int) -> npt.NDArray[np.uint8]:
        """What a head shows, ``(height, width, 4)`` bytes R, G, B, A. Raises ValueError for a head that does not exist."""
        if not 0 <= head < len(self.heads):
            raise ValueError(f"head {head}; there are {len(self.heads)}")
        return self.heads[head].read_frame(self.memory)

    # --- reset -------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Stop everything and empty the rings at once; memory is lost when running work has stopped (``finish_reset``).

        Heads keep their mode and go on with vertical sync.
        """
        for node in self.nodes:
            node.reset()
        for head in self.heads:
            head.armed = None
        self._resetting = True

    def finish_reset(self) -> None:
        """The rest of a reset, when no node has anything in hand; until then nothing happens."""
        if self._resetting and not any(n.stopping for n in self.nodes):
            self._resetting = False
            for node in self.nodes:
                node.forget_contexts()
            self.memory.lose_content()

    @property
    def resetting(self) -> bool:
        """Whether a reset has not finished."""
        return self._resetting

    def lose_bus(self) -> None:
        """The host is gone. Call when nothing runs: everything as after power-on, announced memory forgotten."""
        self._interrupt_enable = 0
        self.reset()
        self.run_ready()
        for head in self.heads:
            head.reset()
        self.memory.forget_blocks()
        self.interrupts.clear()

    def close(self) -> None:
        """Give memory back."""
        self.memory.close()
