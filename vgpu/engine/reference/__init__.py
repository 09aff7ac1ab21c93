"""The reference engine: numpy, plain, slow, obviously right.

Every stage is a small module that works on whole batches of vertices, primitives, quads or threads; nothing is deferred and nothing
is cached but decoded programs and surface layouts. :mod:`.shader` interprets programs, :mod:`.draw` joins the stages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from vgpu.engine import DrawCall, Engine, Packet, PipelineState, Step
from wddm.hw.registers import EngineKind

from . import compute, copy, queries
from .draw import Draw

__all__ = ["ReferenceEngine"]


class ReferenceEngine(Engine):
    """Executes work packets with numpy."""

    kind = EngineKind.REFERENCE
    marks_loops = True

    def draw(self, state: PipelineState, call: DrawCall) -> Iterator[Step]:
        """Draw, batch by batch."""
        yield from self._quiet(lambda: Draw(self.memory, state, call, self.counters(state), self.stop).run())

    def dispatch(self, state: PipelineState, groups: tuple[int, int, int]) -> Iterator[Step]:
        """Run thread groups, batch by batch."""
        yield from self._quiet(lambda: compute.dispatch(self.memory, state, groups, self.counters(state), self.stop))

    @staticmethod
    def _quiet(start: Callable[[], Iterator[Step]]) -> Iterator[Step]:
        """Run a generator without numpy's warnings; the setting is not left on across a yield."""
        with np.errstate(all="ignore"):
            work = start()
        while True:
            with np.errstate(all="ignore"):
                try:
                    step = next(work)
                except StopIteration:
                    return
            yield step

    @staticmethod
    def counters(state: PipelineState) -> queries.Counters:
        """What queries of a context count; an engine that draws by other means adds to it."""
        if not isinstance(state.engine, queries.Counters):
            state.engine = queries.Counters()
        return state.engine

    def clear_color(self, state: PipelineState, packet: Packet) -> None:
        """CLEAR_COLOR."""
        with np.errstate(all="ignore"):
            copy.clear_color(self.memory, state, packet)

    def clear_depth_stencil(self, state: PipelineState, packet: Packet) -> None:
        """CLEAR_DEPTH_STENCIL."""
        with np.errstate(all="ignore"):
            copy.clear_depth_stencil(self.memory, state, packet)

    def copy_region(self, state: PipelineState, packet: Packet) -> None:
        """COPY_REGION."""
        copy.copy_region(self.memory, state, packet)

    def resolve(self, state: PipelineState, packet: Packet) -> None:
        """RESOLVE."""
        with np.errstate(all="ignore"):
            copy.resolve(self.memory, state, packet)

    def generate_mips(self, state: PipelineState, packet: Packet) -> None:
        """GENERATE_MIPS."""
        with np.errstate(all="ignore"):
            copy.generate_mips(self.memory, state, packet)

    def blt(self, state: PipelineState, packet: Packet) -> None:
        """BLT."""
        with np.errstate(all="ignore"):
            copy.blt(self.memory, state, packet)

    def query_begin(self, state: PipelineState, packet: Packet) -> None:
        """QUERY_BEGIN."""
        queries.begin(self.counters(state), packet)

    def query_end(self, state: PipelineState, packet: Packet) -> None:
        """QUERY_END."""
        queries.end(self.memory, self.counters(state), packet)

    def flush(self, state: PipelineState) -> None:
        """Nothing is deferred."""
