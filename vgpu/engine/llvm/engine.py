"""The engine of generated machine code: draws into bins, tiles on all cores, kernels for compute.

Draws run their vertices at once and leave triangles in the bins of their tiles; :meth:`LlvmEngine.flush` rasterizes the bins. What
a state combination needs that is not compiled runs on the reference engine, draw by draw, and is counted by reason in
:attr:`LlvmEngine.fallbacks`.
"""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import numpy as np


from vgpu.engine import DrawCall, Engine, Packet, PipelineState, StopWord
from vgpu.fault import FaultError
from vgpu.memory import Memory
from wddm.hw.descriptors import Rasterizer, ViewDimension
from wddm.hw.formats import FORMATS, Format
from wddm.hw.interrupts import Fault
from wddm.hw.packets import Op, Stage
from wddm.hw.registers import EngineKind

from . import front, pixel, records
from .bindings import Bindings, ResolvedView
from .compute import ARGUMENTS
from .jit import DiskCache, Jit, default_cache_directory, lane_count
from .pipeline import Bound, DrawPipeline, Pipelines, Program, cull_bits, packet
from .records import CHUNK, DRAW, FRONT, PASS, TILE
from .shader_errors import UnsupportedError
from .vertex import FAR, NEAR, RANGE
from .workers import Workers

_FRONT_FUNCTION: Final = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
_RASTER_FUNCTION: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32)
_KERNEL_FUNCTION: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
ARENA_BYTES: Final = 48 << 20
CHUNKS: Final = 1 << 16
DRAWS: Final = 16384
BLOCK_WORDS: Final = 1 << 20
#: Bin entries below which a second thread costs more than it brings.
PARALLEL_ENTRIES: Final = 64
#: Groups times threads of a group below which a dispatch stays on one thread.
PARALLEL_INVOCATIONS: Final = 1 << 15
#: Compute groups run between two places of preemption (times the threads in a group).
DISPATCH_SLICE: Final = 1 << 22


class LlvmEngine(Engine):
    """See the module docstring."""

    kind = EngineKind.LLVM

    def __init__(
        self, memory: Memory, stop: StopWord, threads: int = 1, *, lanes: int | None = None, cache: DiskCache | None = None
    ) -> None:
        super().__init__(memory, stop, threads)
        self.lanes = lanes or lane_count()
        self.jit = Jit(cache if cache is not None else DiskCache(default_cache_directory()))
        self.bindings = Bindings(memory)
        self.pipelines = Pipelines(self.jit, self.bindings, self.lanes, _FRONT_FUNCTION)
        self._reference: Engine | None = None
        self.fallbacks: Counter[str] = Counter()
        self.workers = Workers(threads)
        self._pass = np.zeros(1, PASS)
        self._front = np.zeros(1, FRONT)
        self._draws = np.zeros(DRAWS, DRAW)
        self._blocks = np.zeros(BLOCK_WORDS, np.uint64)
        self._arena = np.empty(ARENA_BYTES, np.uint8)
        self._chunks = np.empty(0, np.uint32)
        self._cursors = np.empty(0, np.uint32)
        self._scratch = np.zeros(front.scratch_bytes(self.lanes), np.uint8)
        size = pixel.scratch_bytes(36, self.lanes)
        self._thread_scratch = np.zeros((threads, (size + 255) & ~255), np.uint8)
        self._thread_pointers = np.array([row.ctypes.data for row in self._thread_scratch], np.uint64)
        self._zeros = np.zeros(65536, np.uint8)
        self._draw_count = self._block_count = 0
        self._owner: PipelineState | None = None
        self._keep: list[Any] = []
        self._pass_key: Any = None
        self._raster = _RASTER_FUNCTION(self.pipelines.raster())
        p, f = self._pass, self._front
        p["raster"], p["thread_scratch"] = self.pipelines.raster(), self._thread_pointers.ctypes.data
        p["arena"], p["arena_limit"] = self._arena.ctypes.data, ARENA_BYTES
        p["stop"] = f["stop"] = stop.address
        f["scratch"], f["pass"] = self._scratch.ctypes.data, p.ctypes.data

    @property
    def reference(self) -> Engine:
        """The engine that draws what is not compiled."""
        if self._reference is None:
            from vgpu.engine.reference import ReferenceEngine

            self._reference = ReferenceEngine(self.memory, self.stop)
        return self._reference

    # -- compute ------------------------------------------------------------------------------------------------------
    def dispatch(self, state: PipelineState, groups: tuple[int, int, int]) -> Iterator[None]:
        self.flush(state)
        try:
            program = self._program(state, Stage.COMPUTE)
            if program is None:
                raise FaultError(Fault.PIPELINE, "dispatch without a compute program")
            bound = self.pipelines.bind(state, program, Stage.COMPUTE, Stage.COMPUTE)
            code = self.pipelines.kernel(program, bound.key)
        except UnsupportedError as error:
            self.fallbacks[f"compute: {error}"] += 1
            yield from self.reference.dispatch(state, groups)
            return
        block = np.array([*self._constants(state, program, Stage.COMPUTE), *bound.resources, 0], np.uint64)
        counter = np.zeros(1, np.uint64)
        a = np.zeros(1, ARGUMENTS)
        total = groups[0] * groups[1] * groups[2]
        x, y, z = program.program.group
        size = x * y * z
        a["block"], a["counter"], a["stop"] = block.ctypes.data, counter.ctypes.data, self.stop.address
        a["x"], a["y"], a["z"] = groups
        parallel = self.threads > 1 and not program.ordered and total * size >= PARALLEL_INVOCATIONS and total > 1
        a["chunk"] = max(1, min(64, total // (8 * self.threads), 16384 // size or 1)) if parallel else total
        function = _KERNEL_FUNCTION(code["kernel"])
        step = max(1, DISPATCH_SLICE // size)
        for first in range(0, total, step):
            counter[0], a["limit"] = first, min(total, first + step)
            if not parallel:
                a["chunk"] = step
            pointer = a.ctypes.data
            if parallel:
                self.workers.run(lambda _: function(pointer))
            else:
                function(pointer)
            self._check_stop()
            yield

    # -- draws --------------------------------------------------------------------------------------------------------
    def draw(self, state: PipelineState, call: DrawCall) -> Iterator[None]:
        try:
            yield from self._draw(state, call)
        except UnsupportedError as error:
            self.flush(state)
            self.fallbacks[f"draw: {error}"] += 1
            yield from self.reference.draw(state, call)

    def _draw(self, state: PipelineState, call: DrawCall) -> Iterator[None]:
        if self._owner is not state:
            if self._owner is not None:
                self.flush(self._owner)
            self._owner = state
        prepared = self._prepare(state, call)
        if prepared is None:
            return
        pipeline, vs_bound, ps_bound = prepared
        f = self._front
        self._fill_front(state, call, pipeline, vs_bound)
        while True:
            self._place_draw(state, pipeline, ps_bound)
            again = pipeline.front(f.ctypes.data)
            if not again:
                break
            self.flush(state)
            yield
        effects = pipeline.pixel_program is not None and pipeline.pixel_program.has_effects
        if effects:
            self.flush(state, parallel=False)
        if self.stop:
            self.flush(state)

    def _prepare(self, state: PipelineState, call: DrawCall) -> tuple[DrawPipeline, Bound, Bound | None] | None:
        for stage in (Stage.HULL, Stage.DOMAIN, Stage.GEOMETRY):
            if packet(state, Op.SET_SHADER, stage << 8) is not None:
                raise UnsupportedError(f"{stage.name.lower()} stage")
        if state.bindings.get(Op.SET_STREAM_OUTPUT):
            raise UnsupportedError("stream output")
        vs = self._program(state, Stage.VERTEX)
        if vs is None:
            raise FaultError(Fault.PIPELINE, "draw without a vertex program")
        topology = int(p["arg"]) if (p := packet(state, Op.SET_TOPOLOGY)) is not None else 0
        if front.primitive_count(topology, 0) is None:
            raise UnsupportedError(f"topology {topology}")
        if any(int(q["arg"]) & 0xFF not in (0, 1, 5, 2, 3) for q in state.queries.values()):
            raise UnsupportedError("statistics queries")
        ps = self._program(state, Stage.PIXEL)
        vs_bound = self.pipelines.bind(state, vs, Stage.VERTEX, Stage.PIXEL)
        ps_bound = self.pipelines.bind(state, ps, Stage.PIXEL, Stage.PIXEL) if ps else None
        counting = any(int(q["arg"]) & 0xFF in (1, 5) for q in state.queries.values())
        if counting:
            raise UnsupportedError("occlusion queries")
        targets, depth_format, samples, read_only = self._targets(state)
        index_size = 0
        if call.indexed:
            ib = packet(state, Op.SET_INDEX_BUFFER)
            if ib is not None and int(ib["data"][0]) not in (Format.R16_UINT, Format.R32_UINT):
                raise FaultError(Fault.BAD_DESCRIPTOR, f"index format {int(ib['data'][0])}")
            index_size = 2 if ib is not None and int(ib["data"][0]) == Format.R16_UINT else 4
        if int(self._pass["width"][0]) <= 0:
            raise UnsupportedError("no targets")
        pipeline = self.pipelines.draw(
            state, vs, vs_bound, ps, ps_bound, topology, index_size, targets, depth_format, samples, read_only, counting
        )
        return pipeline, vs_bound, ps_bound

    def _targets(self, state: PipelineState) -> tuple[tuple[tuple[int, int], ...], int, int, int]:
        """Make the pass that of the bound targets; flushes when they change."""
        bound = state.bindings.get(Op.SET_RENDER_TARGET, {})
        depth = packet(state, Op.SET_DEPTH_STENCIL)
        views: list[tuple[int, ResolvedView]] = [(slot, self.bindings.view(p, write=True)) for slot, p in sorted(bound.items())]
        ds = self.bindings.view(depth, write=True) if depth is not None else None
        read_only = int(depth["arg"]) & 3 if depth is not None else 0
        key = (tuple((slot, id(v)) for slot, v in views), id(ds))
        if key != self._pass_key:
            self.flush(state)
            self._pass_key = None
            self._make_pass(views, ds)
            self._pass_key = key
            self._pass_views = (views, ds)
        samples = max([v.view.samples for _, v in views] + ([ds.view.samples] if ds else []), default=1)
        return tuple((slot, v.view.format) for slot, v in views), ds.view.format if ds else 0, samples, read_only

    def _make_pass(self, views: list[tuple[int, ResolvedView]], ds: ResolvedView | None) -> None:
        p = self._pass
        sizes = []
        everything = [(f"target {slot}", v) for slot, v in views] + ([("depth", ds)] if ds is not None else [])
        for n, (name, v) in enumerate(everything):
            if v.layout is None:
                raise UnsupportedError(f"{name} that is a buffer")
            info = FORMATS[Format(v.view.format)]
            if info.is_block or info.pair or (name != "depth" and (not info.channels or info.bytes_per_block == 12)):
                raise FaultError(Fault.BAD_DESCRIPTOR, f"{name} of format {info.format.name}", address=v.address)
            if name == "depth" and info.depth is None:
                raise FaultError(Fault.BAD_DESCRIPTOR, f"depth of format {info.format.name}", address=v.address)
            sub = v.layout[v.view.first_mip, 0]
            volume = v.view.dimension == ViewDimension.TEXTURE3D
            pitch = sub.depth_pitch if volume else v.layout.size // v.layout.slices
            surface = p["depth"] if name == "depth" else p["targets"][:, views[n][0]]
            surface["base"] = v.base + sub.offset + v.view.first_slice * pitch
            surface["row_pitch"], surface["sample_pitch"] = sub.row_pitch, sub.sample_pitch
            surface["slice_pitch"], surface["slices"] = pitch, v.view.slice_count
            sizes.append((sub.width, sub.height, v.view.samples, v.view.slice_count))
        if len({s[2] for s in sizes}) > 1:
            raise FaultError(Fault.PIPELINE, f"targets of {sorted({s[2] for s in sizes})} samples")
        width, height = (min(s[0] for s in sizes), min(s[1] for s in sizes)) if sizes else (0, 0)
        p["width"], p["height"] = width, height
        p["layers"] = min((s[3] for s in sizes), default=1)
        tiles_x, tiles_y = -(-width // TILE), -(-height // TILE)
        p["tiles_x"], p["tiles_y"] = tiles_x, tiles_y
        tiles = tiles_x * tiles_y
        if len(self._cursors) < tiles or not len(self._cursors):
            self._cursors = np.zeros(max(tiles, 1024), np.uint32)
            self._chunks = np.zeros((max(tiles, 1024) * 4 + CHUNKS) * CHUNK, np.uint32)
        self._cursors[:tiles] = np.arange(tiles, dtype=np.uint32) * CHUNK
        p["cursors"], p["chunks"] = self._cursors.ctypes.data, self._chunks.ctypes.data
        p["chunk_next"], p["chunk_limit"] = tiles, len(self._chunks) // CHUNK
        p["arena_next"] = 0

    def _program(self, state: PipelineState, stage: Stage) -> Program | None:
        p = packet(state, Op.SET_SHADER, stage << 8)
        if p is None:
            return None
        data = self.memory.view(int(p["address"]), int(p["extent"])).tobytes()
        return self.pipelines.programs.load(data, stage)

    def _constants(self, state: PipelineState, program: Program, stage: Stage) -> list[int]:
        """Pointer and dwords of each constant buffer that the program uses."""
        out: list[int] = []
        bound = state.bindings.get(Op.SET_CONSTANT_BUFFER, {})
        for slot in program.slots.constants:
            p = bound.get(stage << 8 | slot)
            if p is None:
                out += (self._zeros.ctypes.data, 0)
                continue
            extent = int(p["extent"])
            size = min(int(p["data"][0]), extent, 65536)
            out += (self.memory.pointer(int(p["address"]), extent), size // 4)
        return out

    def _block(self, state: PipelineState, program: Program, stage: Stage, bound: Bound) -> int:
        """A block of bindings in the arena; returns its address."""
        words = [*self._constants(state, program, stage), *bound.resources]
        at = self._block_count
        self._blocks[at : at + len(words)] = words
        self._block_count = at + len(words)
        return int(self._blocks.ctypes.data) + 8 * at

    def _place_draw(self, state: PipelineState, pipeline: DrawPipeline, ps_bound: Bound | None) -> None:
        """A DRAW record in the arena, named by FRONT."""
        if self._draw_count >= DRAWS or self._block_count + 1024 > BLOCK_WORDS:
            self.flush(state)
        d = self._draws[self._draw_count : self._draw_count + 1]
        self._draw_count += 1
        d["pixel_function"], d["merger_function"] = pipeline.pixel, pipeline.merger
        if pipeline.pixel_program is not None and ps_bound is not None:
            d["pixel_block"] = self._block(state, pipeline.pixel_program, Stage.PIXEL, ps_bound)
        bf = packet(state, Op.SET_BLEND_FACTOR)
        d["sample_mask"] = 0xFFFF_FFFF if bf is None else int(bf["data"][4])
        d["blend_factor"] = (1, 1, 1, 1) if bf is None else bf["data"][:4].view(np.float32)
        ds = packet(state, Op.SET_DEPTH_STENCIL_STATE)
        d["stencil_reference"] = 0 if ds is None else int(ds["data"][3]) & 255
        d["depth_range"] = self._depth_range
        self._front["draw"] = d.ctypes.data
        self._keep.append(pipeline)

    def _fill_front(self, state: PipelineState, call: DrawCall, pipeline: DrawPipeline, vs_bound: Bound) -> None:
        f = self._front
        if self._block_count + 1024 > BLOCK_WORDS:
            self.flush(state)
        f["vertex_function"] = pipeline.vertex
        f["vertex_block"] = self._block(state, pipeline.vertex_program, Stage.VERTEX, vs_bound)
        f["count"], f["instances"], f["start_instance"] = call.count, call.instances, call.start_instance
        f["start"] = call.start
        f["add"] = (call.base_vertex if call.indexed else call.start) & 0xFFFF_FFFF
        f["primitives"] = front.primitive_count(pipeline.front_key.topology, call.count)
        f["instance"] = f["primitive"] = f["run"] = f["primitive_id"] = 0
        assert pipeline.vertex_program.layout is not None
        f["rasterize"] = pipeline.vertex_program.layout.position >= 0
        f["index_count"], f["index_buffer"] = 0, self._zeros.ctypes.data
        if call.indexed:
            ib = packet(state, Op.SET_INDEX_BUFFER)
            if ib is not None:
                extent = int(ib["extent"])
                f["index_buffer"] = self.memory.pointer(int(ib["address"]), extent)
                f["index_count"] = extent // pipeline.front_key.index_size
        buffers = state.bindings.get(Op.SET_VERTEX_BUFFER, {})
        f["buffers"] = 0
        for slot, p in buffers.items():
            extent = int(p["extent"])
            f["buffers"][0, slot] = (self.memory.pointer(int(p["address"]), extent), extent, int(p["data"][0]))
        self._viewports(state)
        rs = packet(state, Op.SET_RASTERIZER)
        r = Rasterizer.unpack(rs["data"].tolist()) if rs is not None else Rasterizer()
        f["cull"], f["front_ccw"] = cull_bits(r), r.front_counter_clockwise
        f["clip"] = 0xFFFF_FFFF if r.depth_clip else ~(NEAR | FAR) & 0xFFFF_FFFF
        depth = self._pass_views[1]
        bits = 0
        if depth is not None:
            info = FORMATS[Format(depth.view.format)]
            assert info.depth is not None
            bits = info.depth.bits
        f["bias_float"] = bits == 32
        f["bias"] = float(r.depth_bias) * (1.0 if bits in (0, 32) else 2.0**-bits)
        f["bias_slope"], f["bias_clamp"] = r.slope_scaled_depth_bias, r.depth_bias_clamp

    def _viewports(self, state: PipelineState) -> None:
        viewports = state.bindings.get(Op.SET_VIEWPORT, {})
        scissors = state.bindings.get(Op.SET_SCISSOR, {})
        rs = packet(state, Op.SET_RASTERIZER)
        use_scissor = rs is not None and bool(int(rs["data"][0]) >> 6 & 1)
        width, height = int(self._pass["width"][0]), int(self._pass["height"][0])
        v = self._front["viewports"][0]
        v["right"], v["left"] = -1, 0
        self._depth_range = np.zeros((16, 2), np.float32)
        first = viewports.get(0)
        count = min(int(first["arg"]), 16) if first is not None else 0
        self._front["viewport_count"] = max(count, 1)
        for slot in range(count):
            p = viewports.get(slot)
            if p is None:
                continue
            values = p["data"][:6].view(np.float32).astype(np.float64)
            x, y, w, h, near, far = values.tolist()
            if not np.isfinite(values).all() or w <= 0 or h <= 0 or np.abs(values[:4]).max() > RANGE:
                continue  # nothing is drawn through it
            v[slot]["x"], v[slot]["y"], v[slot]["width"], v[slot]["height"], v[slot]["near"], v[slot]["far"] = x, y, w, h, near, far
            left, top = max(0, math.ceil(x - 0.5)), max(0, math.ceil(y - 0.5))
            right, bottom = min(width, math.ceil(x + w - 0.5)), min(height, math.ceil(y + h - 0.5))
            if use_scissor:
                s = scissors.get(slot)
                edges = s["data"][:4].view(np.int32).tolist() if s is not None else (0, 0, 0, 0)
                left, top, right, bottom = max(left, edges[0]), max(top, edges[1]), min(right, edges[2]), min(bottom, edges[3])
            v[slot]["left"], v[slot]["top"], v[slot]["right"], v[slot]["bottom"] = left, top, right - 1, bottom - 1
            self._depth_range[slot] = near, far

    # -- completing ---------------------------------------------------------------------------------------------------
    def flush(self, state: PipelineState, *, parallel: bool = True) -> None:
        p = self._pass
        entries = int(p["entries"][0])
        if entries:
            p["next_tile"] = 0
            pointer = p.ctypes.data
            if parallel and self.threads > 1 and entries >= PARALLEL_ENTRIES:
                self.workers.run(lambda thread: self._raster(pointer, thread))
            else:
                self._raster(pointer, 0)
            p["entries"] = p["triangles"] = 0
        p["arena_next"] = 0
        p["chunk_next"] = int(p["tiles_x"][0]) * int(p["tiles_y"][0])
        self._draw_count = self._block_count = 0
        self._keep.clear()
        self._check_stop()

    def _check_stop(self) -> None:
        if self.stop:
            raise FaultError(Fault.HANG, "stopped by the stop word")

    def forget(self, state: PipelineState) -> None:
        if self._owner is state:
            self._owner = None
        if self._reference is not None:
            self._reference.forget(state)

    # -- surfaces and queries -----------------------------------------------------------------------------------------
    def clear_color(self, state: PipelineState, packet: Packet) -> None:
        self.flush(state)
        self.reference.clear_color(state, packet)

    def clear_depth_stencil(self, state: PipelineState, packet: Packet) -> None:
        self.flush(state)
        self.reference.clear_depth_stencil(state, packet)

    def copy_region(self, state: PipelineState, packet: Packet) -> None:
        self.flush(state)
        self.reference.copy_region(state, packet)

    def resolve(self, state: PipelineState, packet: Packet) -> None:
        self.flush(state)
        self.reference.resolve(state, packet)

    def generate_mips(self, state: PipelineState, packet: Packet) -> None:
        self.flush(state)
        self.reference.generate_mips(state, packet)

    def blt(self, state: PipelineState, packet: Packet) -> None:
        self.flush(state)
        self.reference.blt(state, packet)

    def query_begin(self, state: PipelineState, packet: Packet) -> None:
        self.flush(state)
        self.reference.query_begin(state, packet)

    def query_end(self, state: PipelineState, packet: Packet) -> None:
        self.flush(state)
        self.reference.query_end(state, packet)


__all__ = ["LlvmEngine"]
