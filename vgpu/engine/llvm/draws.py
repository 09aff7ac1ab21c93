"""Draw calls: from pipeline state to the records that the front end reads, doing again only what changed.

A :class:`DrawState` belongs to one context and follows the version counters of its state. Most draws change a constant buffer or
nothing; they cost one or two packed records and the call. Records live in arenas that a flush empties (its *epoch* tells).
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from operator import is_
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vgpu.engine import DrawCall, Packet, PipelineState
from vgpu.fault import FaultError
from wddm.hw.descriptors import CullMode, DepthStencil, FillMode, Rasterizer, TargetBlend
from wddm.hw.formats import FORMATS, Format
from wddm.hw.interrupts import Fault
from wddm.hw.packets import Op, QueryKind, Stage, Topology

from . import front, records
from .pipeline import Bound, DrawPipeline, Elements, Program, cull_bits
from .shader_errors import UnsupportedError
from .vertex import FAR, NEAR, RANGE

if TYPE_CHECKING:
    from .engine import LlvmEngine

#: A packet as a tuple: op, slot, extent, address, extent2, arg, address2, data.
unpack_packet: Final[Callable[[Any], tuple[int, ...]]] = struct.Struct("<HHIQIIQ8I").unpack
_HEAD: Final = struct.Struct(records.FRONT_HEAD_FORMAT)
_DRAW: Final = struct.Struct(records.DRAW_FORMAT)
assert _HEAD.size == records.FRONT_HEAD.itemsize
assert _DRAW.size == records.DRAW.itemsize
#: Places in the tuple of versions of state whose change may change the compiled functions; see :meth:`DrawState.prepare`.
(_SHADER, _LAYOUT, _TOPOLOGY, _TARGETS, _DEPTH_TARGET, _BLEND, _DEPTH, _RASTERIZER, _RESOURCES, _SAMPLERS, _UAVS, _STREAMS) = range(
    12
)
_UNSEEN: Final = (-1,) * 12
_COUNTING: Final = (QueryKind.OCCLUSION, QueryKind.OCCLUSION_PREDICATE)
_EMPTY: Final[dict[int, Packet]] = {}
_DEFAULT_BLEND: Final = (0, *[TargetBlend().pack()] * 8)
_DEFAULT_DEPTH: Final = DepthStencil().pack()[:4]


def _same(a: list[Packet | None], b: list[Packet | None]) -> bool:
    """Whether these are the same packets."""
    return len(a) == len(b) and all(map(is_, a, b))


class DrawState:
    """See the module docstring."""

    def __init__(self, engine: LlvmEngine, state: PipelineState) -> None:
        self.engine, self.state = engine, state
        self.front = np.zeros(1, records.FRONT)
        self.front_pointer = int(self.front.ctypes.data)
        self.front_bytes = (ctypes.c_char * records.FRONT.itemsize).from_address(self.front_pointer)
        f = self.front
        f["pass"], f["stop"], f["scratch"] = engine.pass_pointer, engine.stop.address, engine.scratch_pointer
        self.static: tuple[int | None, ...] = ()  #: versions that the pipeline is made of
        self.seen: tuple[int | None, ...] = _UNSEEN  #: versions of what was taken apart
        self.fixed: tuple[int | None, ...] = ()
        self.epoch = -1
        self.program_ranges: list[tuple[int, int]] = []
        self.vs: Program | None = None
        self.ps: Program | None = None
        self.vs_bound: Bound | None = None
        self.ps_bound: Bound | None = None
        self.pipeline: DrawPipeline | None = None
        self.index_size = -1
        self.counting = False
        self.topology = 0
        self.blend: tuple[int, ...] = _DEFAULT_BLEND
        self.depth: tuple[int, ...] = _DEFAULT_DEPTH
        self.rasterizer = Rasterizer()
        self.targets: Any = ((), 0, 1, 0)
        self.elements: Elements = Elements((), 0)
        self.front_version: tuple[int | None, ...] = ()
        self.ranges = 0  #: address of the depth ranges
        self.constants_version: int | None = -1
        self.vs_constants: list[Packet | None] = []
        self.ps_constants: list[Packet | None] = []
        self.vs_words: list[int] = []
        self.ps_words: list[int] = []
        self.vs_block = self.ps_block = 0
        self.draw_pointer = 0
        self.factor_version: int | None = -1
        self.buffers_version: int | None = -1
        self.index_version: int | None = -1
        self.factor: tuple[int, ...] = (0x3F800000,) * 4 + (0xFFFF_FFFF,)
        self.index: tuple[int, int] = (0, 0)
        self.depth_ranges = np.zeros((16, 2), np.float32)

    # -- the hot path -------------------------------------------------------------------------------------------------
    def prepare(self, call: DrawCall) -> DrawPipeline:
        """Bring records up to date; what comes out is ready to be called with :attr:`front_pointer`."""
        engine, state = self.engine, self.state
        get = state.version.get
        # In the order of the constants above.
        static = (get(1), get(8), get(9), get(0xB), get(0xC), get(0xD), get(0xF), get(0x10), get(3), get(4), get(5), get(0xA))
        index_size = 0
        if call.indexed:
            index_size = self._index_buffer()
        counting = bool(state.queries) and self._counting()
        dirty = False
        if static != self.static or index_size != self.index_size or counting != self.counting or engine.target_owner is not self:
            self.static = ()  # a refusal below leaves nothing half done
            self.index_size, self.counting = index_size, counting
            self._static(static)
            self.static = static
            dirty = True
        pipeline = self.pipeline
        assert pipeline is not None
        fixed = (get(0x10), get(0x11), get(0x12))
        if fixed != self.fixed:
            self._viewports()
            self.fixed = fixed
            dirty = True
        if get(0xE) != self.factor_version:
            self._factor()
            dirty = True
        if get(6) != self.buffers_version:
            self._vertex_buffers()
        if engine.epoch != self.epoch or engine.arena_short():
            if engine.arena_short():
                engine.flush(state)
            self._renew()
            dirty = True
        version = get(2)
        if version != self.constants_version or not self.vs_block or not self.ps_block:
            if self._constants():
                dirty = True
            self.constants_version = version
        if dirty:
            self._record(pipeline)
        index_buffer, index_count = self.index if call.indexed else (engine.zeros, 0)
        _HEAD.pack_into(
            self.front_bytes, 0, self.vs_block, self.draw_pointer, index_buffer, index_count, call.start & 0xFFFF_FFFF, call.count,
            front.primitive_count(self.topology, call.count) or 0, (call.base_vertex if call.indexed else call.start) & 0xFFFF_FFFF,
            call.instances, call.start_instance, 0, 0, 0, 0, pipeline.rasterizes,
        )  # fmt: skip
        return pipeline

    def moved(self) -> None:
        """A flush came between two calls of the front end for one draw: new records, same place in the draw."""
        self._renew()
        assert self.pipeline is not None
        self._constants()
        self._record(self.pipeline)
        struct.pack_into("<2Q", self.front_bytes, 0, self.vs_block, self.draw_pointer)

    def _renew(self) -> None:
        """A new epoch: no records yet, and what they will point to is kept alive through it."""
        self.epoch = self.engine.epoch
        self.vs_block = self.ps_block = self.ranges = 0
        self.engine.keep((self.vs_bound, self.ps_bound, self.pipeline))

    def _record(self, pipeline: DrawPipeline) -> None:
        """A DRAW record and the ranges it points to."""
        engine = self.engine
        if not self.ranges:
            self.ranges = engine.place_bytes(self.depth_ranges.tobytes())
        self.draw_pointer = engine.place_draw(
            pipeline.pixel, pipeline.merger, self.ps_block, engine.counters_pointer, self.ranges, self.factor[4],
            self.depth[3] & 255, *self.factor[:4],
        )  # fmt: skip

    def _constants(self) -> bool:
        """Blocks of bindings, when a constant buffer that is used changed. Whether the pixel block is new."""
        bound = self.state.bindings.get(Op.SET_CONSTANT_BUFFER) or _EMPTY
        engine, vs, ps = self.engine, self.vs, self.ps
        assert vs is not None
        assert self.vs_bound is not None
        get = bound.get
        packets = [get(slot) for slot in vs.slots.constants]
        if not self.vs_block or not _same(packets, self.vs_constants):
            self.vs_constants = packets
            self.vs_block = engine.place_words(self._words(packets, False) + self.vs_bound.resources)
        if ps is None or self.ps_bound is None:
            self.ps_block = self.vs_block
            return False
        packets = [get(slot) for slot in ps.pixel_constants]
        if self.ps_block and _same(packets, self.ps_constants):
            return False
        self.ps_constants = packets
        self.ps_block = engine.place_words(self._words(packets, True) + self.ps_bound.resources)
        if self.ps_bound.views:
            engine.use_views(self.ps_bound.views)
        return True

    def written(self, address: int, extent: int) -> None:
        """Memory is written: programs there are read again."""
        end = address + extent
        if any(start < end and address < start + size for start, size in self.program_ranges):
            self.seen, self.static = _UNSEEN, ()

    def _words(self, packets: list[Packet | None], deferred: bool) -> list[int]:
        """Pointer and dwords of each constant buffer; ``deferred``: pixels read them later."""
        out: list[int] = []
        for p in packets:
            if p is None:
                out += (self.engine.zeros, 0)
                continue
            _, _, extent, address, _, _, _, bytes_bound, *_ = unpack_packet(p)
            out += (self.engine.pointer(address, extent), min(bytes_bound, extent, 65536) >> 2)
            if deferred:
                self.engine.use_constants(address, extent)
        return out

    # -- what changes less often --------------------------------------------------------------------------------------
    def _packet(self, op: int, slot: int = 0) -> Packet | None:
        return self.state.bindings.get(op, {}).get(slot)

    def _static(self, now: tuple[int | None, ...]) -> None:
        """Programs, bindings, targets and fixed-function state: find or make the pipeline."""
        engine, state = self.engine, self.state
        seen = self.seen
        self.seen = _UNSEEN
        programs = now[_SHADER] != seen[_SHADER] or now[_TOPOLOGY] != seen[_TOPOLOGY] or now[_STREAMS] != seen[_STREAMS]
        if programs or self.vs is None:
            self._programs()
        vs = self.vs
        assert vs is not None
        if programs or now[_RESOURCES:_STREAMS] != seen[_RESOURCES:_STREAMS] or self.vs_bound is None:
            if programs or self.vs_bound is None or self.vs_bound.resources:
                self.vs_bound = engine.pipelines.bind(state, vs, Stage.VERTEX, Stage.PIXEL)
            self.ps_bound = engine.pipelines.bind(state, self.ps, Stage.PIXEL, Stage.PIXEL) if self.ps else None
            engine.keep((self.vs_bound, self.ps_bound))
            if self.vs_bound.resources:
                self.vs_block = 0
            self.ps_block = 0
        if now[_TARGETS] != seen[_TARGETS] or now[_DEPTH_TARGET] != seen[_DEPTH_TARGET] or engine.target_owner is not self:
            self.targets = engine.make_targets(state)
            engine.target_owner = self
            self.fixed = ()
            self.front_version = ()
        if now[_LAYOUT] != seen[_LAYOUT]:
            self.elements = engine.pipelines.elements(state)
        if now[_BLEND] != seen[_BLEND]:
            p = self._packet(Op.SET_BLEND)
            self.blend = _DEFAULT_BLEND if p is None else ((u := unpack_packet(p))[5], *u[7:15])
        if now[_DEPTH] != seen[_DEPTH]:
            p = self._packet(Op.SET_DEPTH_STENCIL_STATE)
            self.depth = _DEFAULT_DEPTH if p is None else unpack_packet(p)[7:11]
        if now[_RASTERIZER] != seen[_RASTERIZER]:
            p = self._packet(Op.SET_RASTERIZER)
            self.rasterizer = Rasterizer() if p is None else Rasterizer.unpack(unpack_packet(p)[7:15])
        targets, depth_format, samples, read_only = self.targets
        if not targets and not depth_format and vs.rasterizes:
            raise UnsupportedError("draws without targets")
        version = (now[_RASTERIZER], depth_format)
        if version != self.front_version:
            self._rasterizer(depth_format)
            self.front_version = version
        pipeline = engine.pipelines.draw(
            vs, self.vs_bound, self.ps, self.ps_bound, self.elements, self.topology, self.index_size, targets, depth_format,
            samples, read_only, self.counting, self.blend, self.depth[:3],
        )  # fmt: skip
        if pipeline is not self.pipeline:
            self.pipeline = pipeline
            engine.keep(pipeline)
            f = self.front
            f["vertex_function"] = pipeline.vertex
            f["components"], f["multisampled"] = pipeline.layout.components, pipeline.multisampled
            f["record_bytes"] = front.record_bytes(len(pipeline.planes))
            f["plane_count"] = len(pipeline.planes)
            f["clip_components"] = front.clip_components(pipeline.layout)
            if pipeline.planes:
                f["planes"][0, : len(pipeline.planes)] = [(c & 0xFFFF_FFFF, mode) for c, mode in pipeline.planes]
        self.seen = now

    def _rasterizer(self, depth_format: int) -> None:
        """Culling, clipping and depth bias for the front end."""
        r, f = self.rasterizer, self.front
        if r.fill not in tuple(FillMode) or r.cull not in tuple(CullMode):
            raise FaultError(Fault.BAD_DESCRIPTOR, f"fill mode {r.fill}, cull mode {r.cull}")
        if r.fill == FillMode.WIREFRAME:
            raise UnsupportedError("wireframe")
        f["cull"], f["front_ccw"] = cull_bits(r), r.front_counter_clockwise
        f["clip"] = 0xFFFF_FFFF if r.depth_clip else ~(NEAR | FAR) & 0xFFFF_FFFF
        channel = FORMATS[Format(depth_format)].depth if depth_format else None
        bits = channel.bits if channel is not None else 0
        f["bias_float"] = bits == 32
        f["bias"] = float(r.depth_bias) * (1.0 if bits in (0, 32) else 2.0**-bits)
        f["bias_slope"], f["bias_clamp"] = r.slope_scaled_depth_bias, r.depth_bias_clamp

    def _programs(self) -> None:
        state, engine = self.state, self.engine
        self.vs = self.ps = None
        hull, domain = (self._packet(Op.SET_SHADER, s << 8) for s in (Stage.HULL, Stage.DOMAIN))
        p = self._packet(Op.SET_TOPOLOGY)
        topology = unpack_packet(p)[5] if p is not None else 0
        vs = engine.load_program(state, Stage.VERTEX)
        if vs is None:
            raise FaultError(Fault.PIPELINE, "draw without a vertex program")
        for stage, bound in (
            (Stage.HULL, hull),
            (Stage.DOMAIN, domain),
            (Stage.GEOMETRY, self._packet(Op.SET_SHADER, Stage.GEOMETRY << 8)),
        ):
            if bound is not None:
                raise UnsupportedError(f"{stage.name.lower()} stage")
        if state.bindings.get(Op.SET_STREAM_OUTPUT):
            raise UnsupportedError("stream output")
        if front.primitive_count(topology, 0) is None:
            name = Topology(topology).name.lower() if topology in tuple(Topology) else str(topology)
            raise UnsupportedError(f"topology {name}")
        self.ps = engine.load_program(state, Stage.PIXEL)
        bound = state.bindings.get(Op.SET_SHADER, {})
        self.program_ranges = [(int(p["address"]), int(p["extent"])) for p in bound.values()]
        self.vs, self.topology = vs, topology
        self.vs_constants, self.ps_constants = [], []
        self.vs_bound = None

    def _counting(self) -> bool:
        """Whether a query wants samples counted; statistics of the pipeline are the reference engine's."""
        kinds = {unpack_packet(q)[5] & 0xFF for q in self.state.queries.values()}
        if QueryKind.PIPELINE_STATISTICS in kinds:
            raise UnsupportedError("pipeline statistics")
        return any(k in kinds for k in _COUNTING)

    def _factor(self) -> None:
        p = self._packet(Op.SET_BLEND_FACTOR)
        self.factor = (0x3F800000,) * 4 + (0xFFFF_FFFF,) if p is None else unpack_packet(p)[7:12]
        self.factor_version = self.state.version.get(Op.SET_BLEND_FACTOR)

    def _index_buffer(self) -> int:
        """Index size; the buffer's pointer and length go to :attr:`index`."""
        version = self.state.version.get(Op.SET_INDEX_BUFFER)
        p = self._packet(Op.SET_INDEX_BUFFER)
        if p is None:
            self.index = (self.engine.zeros, 0)
            return 4
        _, _, extent, address, _, _, _, format, *_ = unpack_packet(p)
        if format not in (Format.R16_UINT, Format.R32_UINT):
            raise FaultError(Fault.BAD_DESCRIPTOR, f"index format {format}")
        size = 2 if format == Format.R16_UINT else 4
        if version != self.index_version:
            self.index_version = version
            self.index = (self.engine.pointer(address, extent), extent // size)
        return size

    def _vertex_buffers(self) -> None:
        buffers = self.front["buffers"]
        buffers[:] = 0
        for slot, p in (self.state.bindings.get(Op.SET_VERTEX_BUFFER) or {}).items():
            _, _, extent, address, _, _, _, stride, *_ = unpack_packet(p)
            buffers[0, slot] = (self.engine.pointer(address, extent), extent, stride)
        self.buffers_version = self.state.version.get(Op.SET_VERTEX_BUFFER)

    def _viewports(self) -> None:
        """Viewports and the rectangles of pixels that they, the scissors and the targets leave."""
        viewports = self.state.bindings.get(Op.SET_VIEWPORT, {})
        scissors = self.state.bindings.get(Op.SET_SCISSOR, {})
        width, height = self.engine.target_size
        self.ranges = 0
        v = self.front["viewports"][0]
        v["right"], v["left"] = -1, 0
        self.depth_ranges[:] = 0
        first = viewports.get(0)
        count = min(unpack_packet(first)[5], 16) if first is not None else 0
        self.front["viewport_count"] = max(count, 1)
        for slot in range(count):
            p = viewports.get(slot)
            if p is None:
                continue
            values = p["data"][:6].view(np.float32).astype(np.float64)
            x, y, w, h, near, far = values.tolist()
            if not np.isfinite(values).all() or w <= 0 or h <= 0 or np.abs(values[:4]).max() > RANGE:
                continue  # nothing is drawn through it
            left, top = max(0, math.ceil(x - 0.5)), max(0, math.ceil(y - 0.5))
            right, bottom = min(width, math.ceil(x + w - 0.5)), min(height, math.ceil(y + h - 0.5))
            if self.rasterizer.scissor:
                s = scissors.get(slot)
                edges = s["data"][:4].view(np.int32).tolist() if s is not None else (0, 0, 0, 0)
                left, top, right, bottom = max(left, edges[0]), max(top, edges[1]), min(right, edges[2]), min(bottom, edges[3])
            v[slot] = (x, y, w, h, near, far, left, top, right - 1, bottom - 1)
            self.depth_ranges[slot] = near, far
