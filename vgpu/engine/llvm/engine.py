"""The engine of generated machine code: draws into bins, tiles on all cores, kernels for compute.

Draws run their vertices at once and leave primitives in the bins of their tiles; :meth:`LlvmEngine.flush` rasterizes the bins.
Every draw and dispatch is machine code. Resolves, mips, blits, and clears and copies of rare kinds are the reference engine's, as
is the account that queries read.
"""

from __future__ import annotations

import ctypes
import math
import struct
import time
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vgpu.engine import DrawCall, Engine, Packet, PipelineState, Step, StopWord
from vgpu.engine.reference import ReferenceEngine
from vgpu.fault import FaultError
from vgpu.memory import Memory
from wddm.hw.descriptors import ViewDimension
from wddm.hw.formats import FORMATS, Format, NumberType
from wddm.hw.interrupts import Fault
from wddm.hw.memory import LOCAL_BASE
from wddm.hw.packets import Op, Stage
from wddm.hw.registers import EngineKind

from . import front, pixel, records, surfaces
from .bindings import Bindings, ResolvedView, unpack_packet
from .codegen import QUICK
from .compute import ARGUMENTS
from .draws import RECORD_BYTES, DrawState
from .jit import DiskCache, Jit, default_cache_directory, lane_counts
from .parts import PATIENCE
from .pipeline import DrawPipeline, Pipelines, Program, packet
from .records import CHUNK, PASS, TILE
from .workers import Workers

_FRONT_FUNCTION: Final = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
_RASTER_FUNCTION: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32)
_KERNEL_FUNCTION: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
ARENA_BYTES: Final = 48 << 20
CHUNKS: Final = 1 << 16
#: Bin entries, times the weight of the heaviest program, below which a second thread costs more than it brings.
PARALLEL_ENTRIES: Final = 96
#: Threads of groups below which a dispatch stays on one thread.
PARALLEL_INVOCATIONS: Final = 1 << 15
#: Compute threads run between two places of preemption.
DISPATCH_SLICE: Final = 1 << 22
#: The same for programs with loops, whose threads may take long.
LOOP_SLICE: Final = 1 << 16
_RENDER_TARGETS, _DEPTH_TARGET = int(Op.SET_RENDER_TARGET), int(Op.SET_DEPTH_STENCIL)
_NOTHING: Final[tuple[Step, ...]] = ()
#: Pixels that a draw reaches at most in each direction.
LARGEST_EXTENT: Final = 16384


class LlvmEngine(Engine):
    """See the module docstring."""

    kind = EngineKind.LLVM
    marks_loops = True

    def __init__(
        self,
        memory: Memory,
        stop: StopWord,
        threads: int = 1,
        *,
        lanes: int | None = None,
        cache: DiskCache | None = None,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(memory, stop, threads)
        self.lanes, self.wide = (lanes, lanes) if lanes else lane_counts()
        self.jit = Jit(cache if cache is not None else DiskCache(default_cache_directory()))
        self.bindings = Bindings(memory)
        self.pipelines = Pipelines(self.jit, self.bindings, (self.lanes, self.wide), _FRONT_FUNCTION, patience)
        self.reference = ReferenceEngine(memory, stop)
        self.workers = Workers(threads)
        self.weight = 1  #: of the heaviest pixel program that waits
        self.epoch = 0  #: counts flushes: records of earlier ones are gone
        self.quick: set[DrawPipeline] = set()  #: those that wait and run code that may become better
        self.target_owner: DrawState | None = None
        self.target_size = (0, 0)
        self._pass = np.zeros(1, PASS)
        self.pass_pointer = int(self._pass.ctypes.data)
        self._records = np.zeros(RECORD_BYTES, np.uint8)
        self.record_bytes = (ctypes.c_char * RECORD_BYTES).from_address(int(self._records.ctypes.data))
        self.record_base = int(self._records.ctypes.data)
        self.record_next = 0
        self._arena = np.empty(ARENA_BYTES, np.uint8)
        self._chunks = np.empty(0, np.uint32)
        self._cursors = np.empty(0, np.uint32)
        self._scratch = np.zeros(front.scratch_bytes(self.lanes), np.uint8)
        self.scratch_pointer = int(self._scratch.ctypes.data)
        size = pixel.scratch_bytes(36, self.wide)
        self._thread_scratch = np.zeros((threads, (size + 255) & ~255), np.uint8)
        self._thread_pointers = np.array([row.ctypes.data for row in self._thread_scratch], np.uint64)
        self._counters = np.zeros((threads, 8), np.uint64)
        self.counters_pointer = int(self._counters.ctypes.data)
        self._zeros = np.zeros(65536, np.uint8)
        self.zeros = int(self._zeros.ctypes.data)
        self._states: dict[int, DrawState] = {}
        self._owner: PipelineState | None = None
        self._keep: list[Any] = []
        self._local_end = LOCAL_BASE + memory.local_size
        self._local_delta = memory.pointer(LOCAL_BASE, 0) - LOCAL_BASE
        self._raster = _RASTER_FUNCTION(self.pipelines.raster())
        self._pass_key: Any = None
        self._pass_formats: tuple[tuple[tuple[int, int], ...], int, int] = ((), 0, 1)
        self._pass_views: tuple[list[tuple[int, ResolvedView]], ResolvedView | None] = ([], None)
        #: What waiting pixels read: pages of constants, and views.
        self._constant_pages: set[int] = set()
        self._constant_ranges: list[tuple[int, int]] = []
        self._used: dict[int, ResolvedView] = {}
        p = self._pass
        p["raster"], p["thread_scratch"] = self.pipelines.raster(), self._thread_pointers.ctypes.data
        p["arena"], p["arena_limit"], p["stop"] = self._arena.ctypes.data, ARENA_BYTES, stop.address
        self._entries = (ctypes.c_uint64 * 1).from_address(self.pass_pointer + records.offset(PASS, "entries"))

    # -- records ------------------------------------------------------------------------------------------------------
    def pointer(self, address: int, extent: int) -> int:
        """Host address of memory that is read. Raises FaultError."""
        if address >= LOCAL_BASE and address + extent <= self._local_end:
            return address + self._local_delta
        return self.memory.pointer(address, extent)

    def place_bytes(self, data: bytes) -> int:
        """Bytes (a multiple of 8) in the record arena."""
        at = self.record_next
        struct.pack_into(f"{len(data)}s", self.record_bytes, at, data)
        self.record_next = at + len(data)
        return self.record_base + at

    def keep(self, thing: Any) -> None:
        """Keep alive until the next flush."""
        self._keep.append(thing)

    def use_views(self, views: list[ResolvedView]) -> None:
        """Waiting pixels read these."""
        for v in views:
            self._used[id(v)] = v

    def use_constants(self, address: int, extent: int) -> None:
        """Waiting pixels read these bytes."""
        self._constant_pages.add(address >> 12)
        if (address & 4095) + extent > 4096:
            self._constant_pages.update(range(address >> 12, ((address + extent - 1) >> 12) + 1))

    def use_constant_range(self, start: int, end: int) -> None:
        """Waiting pixels read some of the bytes between two addresses."""
        self._constant_ranges.append((start, end))

    def load_program(self, state: PipelineState, stage: Stage) -> Program | None:
        """The program bound to a stage. Raises FaultError."""
        p = packet(state, Op.SET_SHADER, stage << 8)
        if p is None:
            return None
        _, _, extent, address, *_ = unpack_packet(p)
        return self.pipelines.programs.load(ctypes.string_at(self.pointer(address, extent), extent), stage)

    # -- compute ------------------------------------------------------------------------------------------------------
    def dispatch(self, state: PipelineState, groups: tuple[int, int, int]) -> Iterator[Step]:
        """Run the compute program."""
        self.flush(state)
        program = self.load_program(state, Stage.COMPUTE)
        if program is None:
            raise FaultError(Fault.PIPELINE, "dispatch without a compute program")
        bound = self.pipelines.bind(state, program)
        kernel = self.pipelines.kernel(program, bound.key)
        if program.has_loop:
            yield True
        block = np.array([*self._compute_constants(state, program), *bound.resources, 0], np.uint64)
        counter = np.zeros(1, np.uint64)
        a = np.zeros(1, ARGUMENTS)
        total = groups[0] * groups[1] * groups[2]
        x, y, z = program.program.group
        size = x * y * z
        self.reference.counters(state).add("cs_invocations", total * size)
        a["block"], a["counter"], a["stop"] = block.ctypes.data, counter.ctypes.data, self.stop.address
        a["x"], a["y"], a["z"] = groups
        parallel = self.threads > 1 and not program.ordered and total * size >= PARALLEL_INVOCATIONS and total > 1
        step = max(1, (LOOP_SLICE if program.has_loop else DISPATCH_SLICE) // size)
        a["chunk"] = max(1, min(64, total // (8 * self.threads), 16384 // size or 1)) if parallel else step
        pointer = int(a.ctypes.data)
        for first in range(0, total, step):
            self.flush(state)  # takes better code that has come
            code, began = kernel.code, time.perf_counter()
            function = _KERNEL_FUNCTION(code["kernel"])
            counter[0], a["limit"] = first, min(total, first + step)
            if parallel:
                self.workers.run(lambda _, run=function: run(pointer))  # type: ignore[misc]
            else:
                function(pointer)
            if code.level == QUICK:
                self.pipelines.parts.ran((kernel,), time.perf_counter() - began)
            self._check_stop()
            yield None

    def _compute_constants(self, state: PipelineState, program: Program) -> list[int]:
        """Pointer and dwords of each constant buffer that the program uses."""
        out: list[int] = []
        bound = state.bindings.get(Op.SET_CONSTANT_BUFFER, {})
        for slot in program.slots.constants:
            p = bound.get(Stage.COMPUTE << 8 | slot)
            if p is None:
                out += (self.zeros, 0)
                continue
            extent = int(p["extent"])
            out += (self.pointer(int(p["address"]), extent), min(int(p["data"][0]), extent, 65536) // 4)
        return out

    # -- draws --------------------------------------------------------------------------------------------------------
    def draw(self, state: PipelineState, call: DrawCall) -> Iterator[Step]:
        """Draw into the bins."""
        if self._owner is not state:
            if self._owner is not None:
                self.flush(self._owner)
            self._owner = state
        d = self._states.get(id(state))
        if d is None or d.state is not state:
            d = self._states[id(state)] = DrawState(self, state)
        if not d.prepare(call):
            return iter(_NOTHING)
        pipeline = d.pipeline
        assert pipeline is not None
        if pipeline.has_loop:
            return self._draw_with_loop(state, d)
        if pipeline.front(d.front_pointer):
            return self._go_on(state, d)
        if pipeline.has_effects:
            self.flush(state, parallel=False)
        return iter(_NOTHING)

    def go_on(self, state: PipelineState, packets: npt.NDArray[np.void], first: int, end: int) -> tuple[int, Iterator[Step] | None]:
        """Carry out packets behind a draw in machine code; see :meth:`vgpu.engine.Engine.go_on`."""
        d = self._states.get(id(state))
        if (
            d is None
            or d.state is not state
            or self._owner is not state
            or self.target_owner is not d
            or self.epoch != d.epoch
            or d.pipeline is None
            or d.pipeline.has_loop
            or d.pipeline.has_effects
            or d.between
            or d.streams
            or d.refusal
            or state.queries
            or d.counting
            or not d.settled
        ):
            return first, None
        began = time.perf_counter() if d.pipeline.timed else 0.0
        following, full = d.runs.go_on(state, packets, first, end)
        if d.pipeline.timed:
            self.pipelines.parts.ran(d.pipeline.geometry, time.perf_counter() - began)
        return (following + 1, self._go_on(state, d)) if full else (following, None)

    def _draw_with_loop(self, state: PipelineState, d: DrawState) -> Iterator[Step]:
        """The same for programs that may not end: says so first."""
        yield True
        pipeline = d.pipeline
        assert pipeline is not None
        if self.epoch != d.epoch:
            d.moved()
        if pipeline.front(d.front_pointer):
            yield from self._go_on(state, d)
        self._check_stop()
        if pipeline.has_effects:
            self.flush(state, parallel=False)

    def _go_on(self, state: PipelineState, d: DrawState) -> Iterator[Step]:
        """The arena is full in the middle of a draw: empty the bins and continue."""
        pipeline = d.pipeline
        assert pipeline is not None
        while True:
            self.flush(state, parallel=not pipeline.has_effects)
            yield True if pipeline.has_loop else None
            if self.epoch != d.epoch:
                d.moved()
            if not pipeline.front(d.front_pointer):
                break
        if pipeline.has_effects:
            self.flush(state, parallel=False)

    def make_targets(self, state: PipelineState) -> tuple[tuple[tuple[int, int], ...], int, int, int]:
        """Make the pass that of the bound targets; flushes when they change.

        Returns ``(slot, format)`` of each target, depth format, samples, read-only flags.
        """
        bound = state.bindings.get(_RENDER_TARGETS) or {}
        depth = packet(state, _DEPTH_TARGET)
        views = [(slot, self.bindings.view(bound[slot], write=True)) for slot in sorted(bound)]
        ds = self.bindings.view(depth, write=True) if depth is not None else None
        read_only = unpack_packet(depth)[5] & 3 if depth is not None else 0
        extent = _viewport_extent(state) if not views and ds is None else (0, 0)
        key = (*[part for slot, v in views for part in (slot, v.pointer)], ds.pointer if ds is not None else 0, extent)
        if key != self._pass_key:
            self.flush(state)
            self._pass_key = None
            self._make_pass(views, ds, extent)
            self._pass_key, self._pass_views = key, (views, ds)
            samples = max([v.view.samples for _, v in views] + ([ds.view.samples] if ds else []), default=1)
            self._pass_formats = tuple((slot, v.view.format) for slot, v in views), ds.view.format if ds else 0, samples
        return (*self._pass_formats, read_only)

    def _make_pass(self, views: list[tuple[int, ResolvedView]], ds: ResolvedView | None, extent: tuple[int, int]) -> None:
        p = self._pass
        sizes = []
        everything: list[tuple[int, ResolvedView]] = [*views, *([(-1, ds)] if ds is not None else [])]
        for slot, v in everything:
            info = FORMATS[Format(v.view.format)]
            name = f"target {slot}" if slot >= 0 else "depth-stencil target"
            if slot >= 0 and (not info.channels or info.is_block or info.pair or info.type is NumberType.TYPELESS):
                raise FaultError(Fault.BAD_DESCRIPTOR, f"{name} of format {info.format.name}", address=v.address)
            if slot < 0 and (info.depth is None or v.layout is None):
                raise FaultError(Fault.BAD_DESCRIPTOR, f"{name} of format {info.format.name}", address=v.address)
            if v.layout is None:  # a buffer is a row of elements
                p["targets"][:, slot] = (v.base + v.view.height * info.bytes_per_block, 0, 0, 0, 1)
                sizes.append((min(v.view.width, LARGEST_EXTENT), 1, 1, 1))
                continue
            sub = v.layout[v.view.first_mip, 0]
            volume = v.view.dimension == ViewDimension.TEXTURE3D
            pitch = sub.depth_pitch if volume else v.layout.size // v.layout.slices
            surface = p["depth"] if slot < 0 else p["targets"][:, slot]
            surface["base"] = v.base + sub.offset + v.view.first_slice * pitch
            surface["row_pitch"], surface["sample_pitch"] = sub.row_pitch, sub.sample_pitch
            surface["slice_pitch"], surface["slices"] = pitch, v.view.slice_count
            sizes.append((sub.width, sub.height, v.view.samples, v.view.slice_count))
        if len({s[2] for s in sizes}) > 1:
            raise FaultError(Fault.PIPELINE, f"targets of {sorted({s[2] for s in sizes})} samples together")
        width, height = (min(s[0] for s in sizes), min(s[1] for s in sizes)) if sizes else extent
        self.target_size = width, height
        p["width"], p["height"] = width, height
        p["layers"] = min((s[3] for s in sizes), default=1)
        tiles_x, tiles_y = -(-width // TILE), -(-height // TILE)
        p["tiles_x"], p["tiles_y"] = tiles_x, tiles_y
        tiles = tiles_x * tiles_y
        if len(self._cursors) < max(tiles, 1):
            self._cursors = np.zeros(max(tiles, 1024), np.uint32)
            self._chunks = np.zeros((max(tiles, 1024) * 4 + CHUNKS) * CHUNK, np.uint32)
        self._cursors[:tiles] = np.arange(tiles, dtype=np.uint32) * CHUNK
        p["cursors"], p["chunks"] = self._cursors.ctypes.data, self._chunks.ctypes.data
        p["chunk_next"], p["chunk_limit"] = tiles, len(self._chunks) // CHUNK
        p["arena_next"] = 0

    # -- completing ---------------------------------------------------------------------------------------------------
    def flush(self, state: PipelineState, *, parallel: bool = True) -> None:
        """Rasterize what is in the bins."""
        entries = int(self._entries[0])
        p = self._pass
        if entries:
            began = time.perf_counter() if self.quick else 0.0
            p["next_tile"] = 0
            pointer = self.pass_pointer
            if parallel and self.threads > 1 and entries * self.weight >= PARALLEL_ENTRIES:
                self.workers.run(lambda thread: self._raster(pointer, thread))
            else:
                self._raster(pointer, 0)
            for pipeline in self.quick:
                self.pipelines.parts.ran(pipeline.pixels, time.perf_counter() - began)
            p["entries"] = p["triangles"] = 0
            if self._counters.any():
                assert self._owner is not None
                counters = self.reference.counters(self._owner)
                counters.add("occlusion", int(self._counters[:, pixel.SAMPLES_PASSED].sum()))
                counters.add("ps_invocations", int(self._counters[:, pixel.INVOCATIONS].sum()))
                self._counters[:] = 0
        if self.record_next:
            p["arena_next"] = 0
            p["chunk_next"] = int(p["tiles_x"][0]) * int(p["tiles_y"][0])
            self.record_next = 0
            self.epoch += 1
            self.weight = 1
            self._keep.clear()
            self._constant_pages.clear()
            self._constant_ranges.clear()
            self._used.clear()
            self.quick.clear()
        if self.pipelines.parts.ready:
            self.pipelines.improve()
            self.epoch += 1
        self._check_stop()

    def before_read(self, state: PipelineState, address: int, extent: int) -> None:
        """What is in the bins writes the targets alone."""
        if self._entries[0] and self._touches(self._targets(), address, extent):
            self.flush(state)

    def before_write(self, state: PipelineState, address: int, extent: int) -> None:
        """Vertices are done already; what is in the bins needs pixel constants, resources and targets as they are."""
        d = self._states.get(id(state))
        if d is not None:
            d.written(address, extent)
        if not self._entries[0]:
            return
        first, last = address >> 12, (address + extent - 1) >> 12
        small = last - first < 16
        if not small or any(page in self._constant_pages for page in range(first, last + 1)) or self._overlaps(address, extent):
            self.flush(state)

    def _overlaps(self, address: int, extent: int) -> bool:
        """Whether a write touches a surface or resource that waiting work uses."""
        if any(start < address + extent and address < stop for start, stop in self._constant_ranges):
            return True
        return self._touches([*self._used.values(), *self._targets()], address, extent)

    def _targets(self) -> list[ResolvedView]:
        """The surfaces of the pass."""
        colors, depth = self._pass_views
        return [v for _, v in colors] + ([depth] if depth is not None else [])

    @staticmethod
    def _touches(views: list[ResolvedView], address: int, extent: int) -> bool:
        return any(v.address < address + extent and address < v.address + v.extent for v in views)

    def _check_stop(self) -> None:
        if self.stop:
            self._discard()
            raise FaultError(Fault.HANG, "stopped by the stop word")

    def forget(self, state: PipelineState) -> None:
        """The context is destroyed, or was reset in the middle of its work."""
        d = self._states.pop(id(state), None)
        if d is not None and self.target_owner is d:
            self.target_owner = None
        if self._owner is state:
            self._owner = None
            if self._entries[0]:
                self._discard()
        self.reference.forget(state)

    def _discard(self) -> None:
        """What waits in the bins is never rasterized: soon, its targets' memory may be somebody else's. The next draw makes its
        pass anew."""
        self._pass["entries"] = self._pass["triangles"] = 0
        self._counters[:] = 0
        self._pass_key = self.target_owner = None

    # -- surfaces and queries -----------------------------------------------------------------------------------------
    def clear_color(self, state: PipelineState, packet: Packet) -> None:
        """CLEAR_COLOR."""
        self.flush(state)
        if not surfaces.clear_color(self, state, packet):
            self.reference.clear_color(state, packet)

    def clear_depth_stencil(self, state: PipelineState, packet: Packet) -> None:
        """CLEAR_DEPTH_STENCIL."""
        self.flush(state)
        if not surfaces.clear_depth_stencil(self, state, packet):
            self.reference.clear_depth_stencil(state, packet)

    def copy(self, to: npt.NDArray[np.uint8], source: npt.NDArray[np.uint8]) -> None:
        """Copy bytes, on all threads where there are many."""
        surfaces.copy(self, to, source)

    def copy_region(self, state: PipelineState, packet: Packet) -> None:
        """COPY_REGION."""
        self.flush(state)
        surfaces.copy_region(self, state, packet)

    def resolve(self, state: PipelineState, packet: Packet) -> None:
        """RESOLVE."""
        self.flush(state)
        self.reference.resolve(state, packet)

    def generate_mips(self, state: PipelineState, packet: Packet) -> None:
        """GENERATE_MIPS."""
        self.flush(state)
        self.reference.generate_mips(state, packet)

    def blt(self, state: PipelineState, packet: Packet) -> None:
        """BLT."""
        self.flush(state)
        self.reference.blt(state, packet)

    def query_begin(self, state: PipelineState, packet: Packet) -> None:
        """QUERY_BEGIN."""
        self._count(state)
        self.reference.query_begin(state, packet)

    def query_end(self, state: PipelineState, packet: Packet) -> None:
        """QUERY_END."""
        self._count(state)
        self.reference.query_end(state, packet)

    def _count(self, state: PipelineState) -> None:
        """Bring what queries count up to date."""
        self.flush(state)
        d = self._states.get(id(state))
        if d is not None:
            d.count(self.reference.counters(state))


def _viewport_extent(state: PipelineState) -> tuple[int, int]:
    """How far viewports reach to the right and down: the size of a pass without targets."""
    width = height = 0.0
    for p in (state.bindings.get(Op.SET_VIEWPORT) or {}).values():
        x, y, w, h = p["data"][:4].view(np.float32).astype(np.float64).tolist()
        if np.isfinite((x, y, w, h)).all():
            width, height = max(width, x + w), max(height, y + h)
    return min(math.ceil(width), LARGEST_EXTENT), min(math.ceil(height), LARGEST_EXTENT)


__all__ = ["LlvmEngine"]
