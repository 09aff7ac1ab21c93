"""What executes work: the interface that the command processor drives and every engine meets.

The command processor (:mod:`vgpu.command_processor`) decodes packets, keeps :class:`PipelineState` and calls an :class:`Engine`.
Two engines exist: :mod:`vgpu.engine.reference` (numpy, plain, obviously right) and :mod:`vgpu.engine.llvm` (machine code). They
give the same bits wherever Direct3D 11 is exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vgpu.fault import FaultError
from vgpu.memory import Memory
from wddm.hw.packets import PACKET
from wddm.hw.registers import EngineKind

__all__ = ["DrawCall", "Engine", "FaultError", "Packet", "PipelineState", "Step", "StopWord"]

#: A packet as it stands in the buffer: a numpy void scalar of dtype PACKET.
Packet = Any
#: What work yields at a place of preemption: True when what comes next may take for ever (a shader with a loop), else None.
Step = bool | None


@dataclass(slots=True)
class PipelineState:
    """The pipeline state of one hardware context, kept as the packets that set it.

    ``bindings[op][slot]`` is the last packet with that op and slot (absent = never set or unbound: address 0). ``version[op]``
    counts changes, so that an engine can keep derived objects. Queries that are open are in ``queries`` by address.
    """

    bindings: dict[int, dict[int, Packet]] = field(default_factory=dict)
    version: dict[int, int] = field(default_factory=dict)
    queries: dict[int, Packet] = field(default_factory=dict)
    engine: Any = None  #: what the engine keeps for this context (caches, counters)


@dataclass(slots=True)
class DrawCall:
    """A draw with its arguments resolved. ``indexed`` draws take indices from SET_INDEX_BUFFER."""

    indexed: bool
    count: int  #: vertices or indices per instance
    instances: int = 1
    start: int = 0  #: first vertex, or first index
    base_vertex: int = 0
    start_instance: int = 0


class StopWord:
    """A u32 in memory that running shaders look at: nonzero asks them to stop. ``address`` is for generated code."""

    def __init__(self) -> None:
        self._word: npt.NDArray[np.uint32] = np.zeros(1, np.uint32)

    @property
    def address(self) -> int:
        """Host address of the word."""
        return int(self._word.ctypes.data)

    def set(self) -> None:
        """Ask running shaders to stop."""
        self._word[0] = 1

    def clear(self) -> None:
        """Let shaders run."""
        self._word[0] = 0

    def __bool__(self) -> bool:
        return bool(self._word[0])


class Engine(ABC):
    """Executes work packets. Methods that may take long are generators: each ``yield`` is a place where they may be preempted.

    An engine may defer drawing (bins); :meth:`flush` completes everything deferred for a context. The command processor calls it
    before fences, signals and context switches; the engine itself before any packet of its own that needs the results. All
    methods raise :class:`FaultError` for what the hardware refuses; HANG when stopped by the stop word.
    """

    kind: EngineKind
    #: Whether draws and dispatches yield True before they run (or defer) a shader that has a loop. Work of an engine that does not
    #: is never started on the shell's own thread.
    marks_loops: bool = False

    def __init__(self, memory: Memory, stop: StopWord, threads: int = 1) -> None:
        self.memory = memory
        self.stop = stop
        self.threads = threads

    @abstractmethod
    def draw(self, state: PipelineState, call: DrawCall) -> Iterator[Step]:
        """Draw."""

    def go_on(self, state: PipelineState, packets: npt.NDArray[np.void], first: int, end: int) -> tuple[int, Iterator[Step] | None]:
        """Behind a draw that was just made: carry out state packets and draws from ``first`` up to ``end`` without the command
        processor, as far as the engine can. ``packets``: PACKET records, valid ones.

        Returns the first packet that was not carried out, and what is left to do of the last one that was. Nothing faults here:
        what may fault is left to the command processor.
        """
        return first, None

    @abstractmethod
    def dispatch(self, state: PipelineState, groups: tuple[int, int, int]) -> Iterator[Step]:
        """Run the compute shader over ``groups`` thread groups."""

    @abstractmethod
    def clear_color(self, state: PipelineState, packet: Packet) -> None:
        """CLEAR_COLOR of surface 0."""

    @abstractmethod
    def clear_depth_stencil(self, state: PipelineState, packet: Packet) -> None:
        """CLEAR_DEPTH_STENCIL of surface 0."""

    @abstractmethod
    def copy_region(self, state: PipelineState, packet: Packet) -> None:
        """COPY_REGION from surface 1 to surface 0."""

    @abstractmethod
    def resolve(self, state: PipelineState, packet: Packet) -> None:
        """RESOLVE surface 1 into surface 0."""

    @abstractmethod
    def generate_mips(self, state: PipelineState, packet: Packet) -> None:
        """GENERATE_MIPS of surface 0."""

    @abstractmethod
    def blt(self, state: PipelineState, packet: Packet) -> None:
        """BLT surface 1 to surface 0."""

    @abstractmethod
    def query_begin(self, state: PipelineState, packet: Packet) -> None:
        """QUERY_BEGIN."""

    @abstractmethod
    def query_end(self, state: PipelineState, packet: Packet) -> None:
        """QUERY_END: result and state are written when earlier work is done (at latest by flush)."""

    @abstractmethod
    def flush(self, state: PipelineState) -> None:
        """Complete everything deferred for this context."""

    def copy(self, to: npt.NDArray[np.uint8], source: npt.NDArray[np.uint8]) -> None:
        """Copy bytes between views of memory that have one shape and share none."""
        to[:] = source

    def before_read(self, state: PipelineState, address: int, extent: int) -> None:
        """The command processor is about to read [address, address + extent) itself: complete what is deferred and writes there."""
        self.flush(state)

    def before_write(self, state: PipelineState, address: int, extent: int) -> None:
        """The command processor is about to write [address, address + extent) itself (UPDATE_INLINE, COPY_BUFFER, fills): complete
        what is deferred and depends on these bytes. By default everything; an engine that snapshots constants may do less.
        """
        self.flush(state)

    def forget(self, state: PipelineState) -> None:  # noqa: B027 - an engine without caches has nothing to forget
        """The context is destroyed."""


assert PACKET.itemsize == 64
