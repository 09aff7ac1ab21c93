"""A node: fetches ring entries, executes their buffers for hardware contexts, is preempted, resumed, reset, and faults.

``run`` is called by one executor at a time (the shell's thread, or a worker); register writes may come from another thread while it
runs. What both touch is under ``_lock``; a reset takes effect on the registers at once, and on running work at its next boundary
(or, through the stop word, at its next loop).
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from vgpu.command_processor import Execution, reset_state
from vgpu.engine import Engine, PipelineState, Step
from vgpu.fault import FaultError
from vgpu.memory import Memory
from wddm.hw.interrupts import Fault, Interrupt, InterruptMessage
from wddm.hw.memory import BUS_BASE
from wddm.hw.packets import MAX_BUFFER, MAX_RING, PACKET_SIZE, RING_ENTRY, RING_ENTRY_SIZE, RingFlag, RingOp
from wddm.hw.registers import Node, NodeControl, NodeRegister, NodeStatus
from wddm.trace import Tracer

_trace = Tracer("vgpu")

#: Hardware contexts of one node.
MAX_CONTEXTS: Final = 4096


# Flags as plain integers: enumerations are slow in the path of every submission.
_PRIVILEGED, _CONTINUE, _RESUME = int(RingFlag.PRIVILEGED), int(RingFlag.CONTINUE), int(RingFlag.RESUME)
_INTERRUPT, _NULL_RENDERING, _ALL_FLAGS = int(RingFlag.INTERRUPT), int(RingFlag.NULL_RENDERING), int(sum(RingFlag))
_SUBMIT, _CONTEXT_DESTROY = int(RingOp.SUBMIT), int(RingOp.CONTEXT_DESTROY)
_RING_TAIL, _FENCE = int(NodeRegister.RING_TAIL), int(Interrupt.FENCE)


class _Entry(NamedTuple):
    """A ring entry, by the names of its fields."""

    op: int
    flags: int
    fence: int
    context: int
    address: int
    size: int
    reserved: int
    signal_address: int
    signal_value: int
    signal_address2: int
    signal_value2: int


_ENTRY: Final = struct.Struct("<4IQ2I4Q")
assert _Entry._fields == RING_ENTRY.names
assert _ENTRY.size == RING_ENTRY_SIZE


@dataclass(slots=True)
class Context:
    """A hardware context: pipeline state, and the buffer in which it was preempted."""

    state: PipelineState = field(default_factory=PipelineState)
    saved: tuple[Execution, Iterator[Step], bool] | None = None  #: with what ``_Work.may_not_end`` was


@dataclass(slots=True)
class _Work:
    """A ring entry in execution."""

    entry: _Entry
    context: Context
    execution: Execution | None
    steps: Iterator[Step]
    may_not_end: bool = False  #: what comes next; remembered, because the step that told is behind


_NO_STEPS: Final[Iterator[Step]] = iter(())


class NodeUnit:
    """One node's registers and execution."""

    def __init__(self, node: Node, memory: Memory, engine: Engine, deliver: Callable[[InterruptMessage], None]) -> None:
        """``deliver`` is called from whatever thread runs the node."""
        self.node = node
        self.engine = engine
        self._memory = memory
        self._deliver = deliver
        self._lock = threading.Lock()
        self._contexts: dict[int, Context] = {}
        self._nobody = Context()  #: of entries that execute nothing
        self._work: _Work | None = None
        self._base = 0
        self._entries = 0
        self._head = self._tail = 0
        self._enabled = False
        self._preempt = self._abandon = False
        self._fence = 0
        self._preempt_fence = 0
        self._fault = InterruptMessage(Interrupt.FAULT)
        self._faulted = False
        self.held = False  #: a device reset is under way: nothing is fetched

    # --- registers ---------------------------------------------------------------------------------------------------

    def read(self, register: NodeRegister) -> int:
        """A register's value."""
        status = NodeStatus(0)
        if self._work is not None or (self._enabled and self._head != self._tail):
            status |= NodeStatus.BUSY
        if self._faulted:
            status |= NodeStatus.FAULTED
        return {
            NodeRegister.RING_BASE_LO: self._base & 0xFFFF_FFFF,
            NodeRegister.RING_BASE_HI: self._base >> 32,
            NodeRegister.RING_ENTRIES: self._entries,
            NodeRegister.RING_TAIL: self._tail,
            NodeRegister.RING_HEAD: self._head,
            NodeRegister.CONTROL: int(NodeControl.ENABLE) if self._enabled else 0,
            NodeRegister.STATUS: int(status),
            NodeRegister.FENCE_COMPLETED: self._fence,
            NodeRegister.PREEMPT_FENCE: self._preempt_fence,
            NodeRegister.FAULT_CODE: self._fault.fault,
            NodeRegister.FAULT_FENCE: self._fault.fence,
            NodeRegister.FAULT_PACKET: self._fault.fault_packet,
            NodeRegister.FAULT_ADDRESS_LO: self._fault.fault_address & 0xFFFF_FFFF,
            NodeRegister.FAULT_ADDRESS_HI: self._fault.fault_address >> 32 & 0xFFFF_FFFF,
        }[register]

    def write(self, register: NodeRegister, value: int) -> None:
        """Write a register; read-only ones ignore it."""
        with self._lock:
            if register == _RING_TAIL:
                self._tail = value
            elif register == NodeRegister.RING_BASE_LO:
                self._base = self._base >> 32 << 32 | value
            elif register == NodeRegister.RING_BASE_HI:
                self._base = self._base & 0xFFFF_FFFF | value << 32
            elif register == NodeRegister.RING_ENTRIES:
                self._entries, self._head, self._tail = value, 0, 0
            elif register == NodeRegister.PREEMPT_FENCE:
                self._preempt_fence = value
            elif register == NodeRegister.CONTROL:
                self._control(NodeControl(value & 7))

    def _control(self, value: NodeControl) -> None:
        self._enabled = bool(value & NodeControl.ENABLE)
        if value & NodeControl.RESET:
            self._head = self._tail
            self._faulted = False
            self._fault = InterruptMessage(Interrupt.FAULT)
            self._preempt = False
            self._abandon = True
            self.engine.stop.set()
        elif value & NodeControl.PREEMPT:
            self._preempt = True

    def reset(self) -> None:
        """Part of a device reset: as CONTROL.RESET, and every context is forgotten when running work has stopped."""
        with self._lock:
            self._control(NodeControl.RESET)
            self.held = True
            self._entries = self._head = self._tail = self._base = self._fence = 0

    # --- execution ---------------------------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether ``run`` has something to do."""
        if self._abandon or self._preempt:
            return True
        fetch = self._enabled and self._head != self._tail and not self.held
        return not self._faulted and (self._work is not None or fetch)

    @property
    def stopping(self) -> bool:
        """Whether a reset has not reached the work in hand yet."""
        return self._abandon

    def run(self, expired: Callable[[], bool] | None = None, *, patient: bool = True) -> bool:
        """Execute until nothing is ready or ``expired()`` says so at a boundary; whether something is ready still.

        Not ``patient``: return as well before work that may take for ever.
        """
        while True:
            if self._abandon:
                self._drop()
            elif self._preempt:
                self._save()
            elif not self.ready:
                return False
            else:
                try:
                    if self._work is None:
                        self._fetch()
                    if self._work is not None and not self._advance(self._work, expired, patient):
                        return True
                except FaultError as error:
                    self._refuse(error)
            if expired is not None and expired():
                return self.ready

    def _advance(self, work: _Work, expired: Callable[[], bool] | None, patient: bool) -> bool:
        """Work on the entry in hand: True when it is done or wanted elsewhere, False when time is over."""
        if work.may_not_end and not patient:
            return False
        for step in work.steps:
            work.may_not_end = bool(step)
            if self._abandon or self._preempt:
                return True
            if (step and not patient) or (expired is not None and expired()):
                return False
        self._complete(work)
        return True

    def _fetch(self) -> None:
        """The next ring entry becomes the work in hand."""
        with self._lock:
            if not self._enabled or self._head == self._tail or self._abandon or self.held:
                return
            index, entries = self._head, self._entries
            self._head = self._head + 1 & 0xFFFF_FFFF
        if not entries or entries & (entries - 1) or entries > MAX_RING:
            raise FaultError(Fault.BAD_RING_ENTRY, f"ring of {entries} entries")
        address = self._base + index % entries * RING_ENTRY_SIZE
        if address < BUS_BASE:
            raise FaultError(Fault.BAD_RING_ENTRY, f"ring at {self._base:#x}", address=address)
        entry = _Entry._make(self._memory.load_bus(_ENTRY, address))
        self._work = _Work(entry, self._nobody, None, _NO_STEPS)
        self._start(self._work)

    def _start(self, work: _Work) -> None:
        op, flags, _, number, address, size, reserved, *_ = work.entry
        if (op != _SUBMIT and op != _CONTEXT_DESTROY) or flags & ~_ALL_FLAGS or reserved:
            raise FaultError(Fault.BAD_RING_ENTRY, f"op {op} flags {flags:#x}")
        if op == _CONTEXT_DESTROY:
            gone = self._contexts.pop(number, None)
            if gone is not None:
                self.engine.forget(gone.state)
            return
        if size % PACKET_SIZE or size > MAX_BUFFER or (size and address < BUS_BASE):
            raise FaultError(Fault.BAD_RING_ENTRY, f"buffer of {size} bytes at {address:#x}", address=address)
        context = self._contexts.get(number)
        if context is None:
            if len(self._contexts) >= MAX_CONTEXTS:
                raise FaultError(Fault.BAD_RING_ENTRY, f"more than {MAX_CONTEXTS} contexts")
            context = self._contexts[number] = Context()
        work.context = context
        if _trace.enabled:
            _trace("RingEntry", node=self.node, context=number, fence=work.entry.fence, size=size, flags=flags)
        saved, context.saved = context.saved, None
        if flags & _NULL_RENDERING or not size:
            return
        if flags & _RESUME and saved is not None:
            work.execution, work.steps, work.may_not_end = saved
            return
        if not flags & _CONTINUE:
            reset_state(context.state)
        data = self._memory.copy_bus(address, size)
        privileged = bool(flags & _PRIVILEGED)
        work.execution = Execution(self._memory, self.engine, self.node, context.state, data, privileged)
        work.steps = work.execution.run()

    def _complete(self, work: _Work) -> None:
        """Everything is done: signals first, then the fence, then the interrupt."""
        self.engine.flush(work.context.state)
        entry = work.entry
        if entry.signal_address:
            self._signal(entry.signal_address, entry.signal_value)
        if entry.signal_address2:
            self._signal(entry.signal_address2, entry.signal_value2)
        with self._lock:
            if self._abandon:
                return
            self._work = None
            self._fence = entry.fence
        if _trace.enabled:
            _trace("FenceCompleted", node=self.node, fence=self._fence)
        if entry.flags & _INTERRUPT:
            self._deliver(InterruptMessage(_FENCE, self.node, fence=self._fence))

    def _signal(self, address: int, value: int) -> None:
        if address < BUS_BASE or address % 8:
            raise FaultError(Fault.BAD_RING_ENTRY, f"signal at {address:#x}", address=address)
        self._memory.store_bus(address, value)

    def _save(self) -> None:
        """Preemption: keep the buffer in hand for RESUME, empty the ring, tell."""
        work = self._work
        if work is not None:
            try:
                self.engine.flush(work.context.state)
            except FaultError as error:
                self._refuse(error)
                work = None
        with self._lock:
            if self._abandon:
                return
            if work is not None and work.execution is not None:
                work.context.saved = (work.execution, work.steps, work.may_not_end)
            self._work = None
            self._head = self._tail
            self._preempt = False
            message = InterruptMessage(Interrupt.PREEMPTED, self.node, fence=self._fence, preempt_fence=self._preempt_fence)
        if _trace.enabled:
            _trace("Preempted", node=self.node, fence=message.fence, preempt_fence=message.preempt_fence)
        self._deliver(message)

    def _drop(self) -> None:
        """Reset: the buffer in hand is abandoned, with what its context had."""
        work = self._work
        if work is not None:
            self.engine.forget(work.context.state)
            work.context.state = PipelineState()
        with self._lock:
            self._work = None
            self._abandon = False
            self.engine.stop.clear()
        self._deliver(InterruptMessage(Interrupt.RESET_DONE, self.node, fence=self._fence))

    def forget_contexts(self) -> None:
        """Device reset, when nothing runs any more."""
        for context in self._contexts.values():
            self.engine.forget(context.state)
        self._contexts.clear()
        self.held = False

    def _refuse(self, error: FaultError) -> None:
        """A fault stops the node; work that a reset abandons may end in one, which is nobody's business."""
        with self._lock:
            if self._abandon:
                return
            work, self._work = self._work, None
            packet = work.execution.packet if work is not None and work.execution is not None else 0
            fence = work.entry.fence if work is not None else 0
            self._faulted = True
            self._fault = InterruptMessage(
                Interrupt.FAULT,
                self.node,
                fence=fence,
                fault=error.fault,
                fault_packet=packet,
                fault_address=error.address & 0xFFFF_FFFF_FFFF_FFFF,
            )
        if work is not None:
            self.engine.forget(work.context.state)
            work.context.state = PipelineState()
        if _trace.enabled:
            _trace("Fault", node=self.node, fence=fence, fault=error.fault.name, packet=packet, why=error.why)
        self._deliver(self._fault)
