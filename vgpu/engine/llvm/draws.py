"""Draw calls: from pipeline state to the records that the front end reads, doing again only what changed.

A :class:`DrawState` belongs to one context and follows the version counters of its state. Most draws change a constant buffer or
nothing; they cost one or two packed records and the call. Records live in arenas that a flush empties (its *epoch* tells).
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vgpu.engine import DrawCall, Packet, PipelineState
from vgpu.fault import FaultError
from wddm.hw.descriptors import CullMode, DepthStencil, FillMode, Rasterizer, TargetBlend
from wddm.hw.formats import FORMATS, Format
from wddm.hw.interrupts import Fault
from wddm.hw.packets import Op, QueryKind, Stage, Topology

from . import front, primitives, records
from .bindings import unpack_packet
from .followed import FOLLOWED
from .pipeline import Bound, DrawPipeline, Elements, Program, cull_bits
from .runs import Runs
from .stages import Between, rasterized_corners
from .stream_output import StreamOutput
from .vertex import FAR, NEAR, RANGE

if TYPE_CHECKING:
    from vgpu.engine.reference.queries import Counters

    from .engine import LlvmEngine

#: Bytes of draw records and binding blocks between two flushes, and where a draw no longer begins.
RECORD_BYTES: Final = 16 << 20
RECORD_LIMIT: Final = RECORD_BYTES - 65536

_HEAD: Final = struct.Struct(records.FRONT_HEAD_FORMAT)
assert _HEAD.size == records.FRONT_HEAD.itemsize
_DRAW_BYTES: Final = struct.calcsize(records.DRAW_FORMAT)
assert records.DRAW.itemsize == _DRAW_BYTES
#: As a plain integer: names of enumerations cost a look-up each.
_TRIANGLES: Final = int(Topology.TRIANGLELIST)
#: Of a SET_CONSTANT_BUFFER, SET_VERTEX_BUFFER or SET_INDEX_BUFFER packet: extent, address, data[0].
_unpack_buffer: Final[Callable[[Any], tuple[int, int, int]]] = struct.Struct("<4xIQ16xI28x").unpack
_VERTEX_BUFFER: Final = struct.Struct("<QII")
assert _VERTEX_BUFFER.size == records.VERTEX_BUFFER.itemsize
_BUFFERS: Final = records.offset(records.FRONT, "buffers")
_versions: Final = itemgetter(*FOLLOWED)
#: Places in that tuple. What is before _VIEWPORT may change the compiled functions.
(_SHADER, _LAYOUT, _TOPOLOGY, _TARGETS, _DEPTH_TARGET, _BLEND, _DEPTH, _RASTERIZER, _RESOURCES, _SAMPLERS, _UAVS, _STREAMS,
 _VIEWPORT, _SCISSOR, _FACTOR, _VERTICES, _INDICES) = range(len(FOLLOWED))  # fmt: skip
_CONSTANTS: Final = int(Op.SET_CONSTANT_BUFFER)
_UNSEEN: Final = (-1,) * len(FOLLOWED)
#: Statistics in FRONT that queries ask for.
_TALLIES: Final = [
    "ia_vertices", "ia_primitives", "vs_invocations", "clipper_invocations", "clipper_primitives",
    "hs_invocations", "ds_invocations", "gs_invocations", "gs_primitives",
    *[f"so_{what}{stream}" for what in ("needed", "written") for stream in range(4)],
]  # fmt: skip
_COUNTING: Final = (QueryKind.OCCLUSION, QueryKind.OCCLUSION_PREDICATE, QueryKind.PIPELINE_STATISTICS)
_EMPTY: Final[dict[int, Packet]] = {}
_DEFAULT_BLEND: Final = (0, *[TargetBlend().pack()] * 8)
_DEFAULT_DEPTH: Final = DepthStencil().pack()[:4]
_NO_PACKET: Final = object()  #: differs from every packet and from None
_MAX_VIEWPORTS: Final = 16
#: u64 words that a block of bindings may have: 16 constant buffers (two words each), 128 resources, 16 samplers, 8 UAVs.
_BLOCK_WORDS: Final = 256


@cache
def _record_packer(words: int) -> Callable[..., None]:
    """What packs a DRAW record with a block of bindings after it."""
    return struct.Struct(f"{records.DRAW_FORMAT}{words}Q").pack_into


@cache
def _words_packer(words: int) -> Callable[..., None]:
    """What packs u64 words."""
    return struct.Struct(f"<{words}Q").pack_into


def _number(bound: Bound | None) -> int:
    return 0 if bound is None else bound.number


class _Constants:
    """The constant buffers of one program: their packets, and pointer and dwords of each at the start of a block."""

    def __init__(self, slots: tuple[int, ...]) -> None:
        self.slots = tuple(enumerate(slots))
        self.packets: list[Any] = [_NO_PACKET] * len(slots)
        self.words = [0] * (2 * len(slots))
        self.pack = _words_packer(2 * len(slots))

    def forget(self) -> None:
        """All are read again."""
        self.packets = [_NO_PACKET] * len(self.slots)

    def update(self, engine: LlvmEngine, bound: dict[int, Packet], deferred: bool) -> bool:
        """Follow the packets; whether one changed. ``deferred``: pixels read the bytes later. Raises FaultError."""
        packets, words, changed = self.packets, self.words, False
        for i, slot in self.slots:
            p = bound.get(slot)
            if p is packets[i]:
                continue
            changed = True
            packets[i] = _NO_PACKET
            if p is None:
                words[2 * i], words[2 * i + 1] = engine.zeros, 0
            else:
                extent, address, size = _unpack_buffer(p)
                words[2 * i] = engine.pointer(address, extent)
                if size > extent:
                    size = extent
                words[2 * i + 1] = size >> 2 if size < 65536 else 16384
                if deferred:
                    engine.use_constants(address, extent)
            packets[i] = p
        return changed


class _Between:
    """A hull, domain or geometry program with its bindings."""

    def __init__(self) -> None:
        self.program: Program | None = None
        self.bound: Bound | None = None
        self.constants = _Constants(())
        self.block = np.zeros(_BLOCK_WORDS, np.uint64)
        self.pointer = int(self.block.ctypes.data)
        self.bytes = (ctypes.c_char * self.block.nbytes).from_address(self.pointer)

    def set(self, program: Program | None) -> None:
        """Another program."""
        self.program, self.bound, self.constants = program, None, _Constants(())
        if program is not None:
            self.constants = _Constants(tuple(program.program.stage << 8 | slot for slot in program.slots.constants))


class DrawState:
    """See the module docstring."""

    def __init__(self, engine: LlvmEngine, state: PipelineState) -> None:
        self.engine, self.state = engine, state
        self.front = np.zeros(1, records.FRONT)
        self.front_pointer = int(self.front.ctypes.data)
        self.front_bytes = (ctypes.c_char * records.FRONT.itemsize).from_address(self.front_pointer)
        f = self.front
        f["pass"], f["stop"], f["scratch"] = engine.pass_pointer, engine.stop.address, engine.scratch_pointer
        for op in (*FOLLOWED, _CONSTANTS):
            state.version.setdefault(op, 0)
        self.now: tuple[int, ...] = _UNSEEN  #: versions that the last draw met
        self.seen: tuple[int, ...] = _UNSEEN  #: versions of what was taken apart
        self.indexed = False
        self.epoch = -1
        self.program_ranges: list[tuple[int, int]] = []
        self.vs: Program | None = None
        self.ps: Program | None = None
        self.vs_bound: Bound | None = None
        self.ps_bound: Bound | None = None
        self.pipeline: DrawPipeline | None = None
        self.rasterizes = False
        self.last: Program | None = None  #: the last program before the rasterizer
        self.functions: tuple[int, Between] | None = None  #: vertex program and stages between, as the front end knows them
        self.refusal = ""  #: of the stages between, when they do not fit together
        self.made_for: tuple[int, bool, front.Primitive] | None = None  #: index size, counting and primitive of the pipeline
        self.ps_resources: list[int] = []  #: of the pixel program's block, after the constants
        self.index_size = -1
        self.counting = False
        self.topology = 0
        self.blend: tuple[int, ...] = _DEFAULT_BLEND
        self.depth: tuple[int, ...] = _DEFAULT_DEPTH
        self.rasterizer = Rasterizer()
        self.targets: Any = ((), 0, 1, 0)
        self.targetless = True  #: the viewports say how large the pass is
        self.elements: Elements = Elements((), 0)
        self.front_version: Any = None
        self.viewports_of: Any = None  #: what the rectangles were made of
        self.layout_of: Any = None  #: packets that the elements were made of
        self.ranges = 0  #: address of the depth ranges
        self.constants_version = -1
        self.vs_constants = self.ps_constants = _Constants(())
        self.vs_block = np.zeros(_BLOCK_WORDS, np.uint64)
        self.vs_pointer = int(self.vs_block.ctypes.data)
        self._vs_bytes = (ctypes.c_char * self.vs_block.nbytes).from_address(self.vs_pointer)
        self.draw_pointer = 0  #: the DRAW record; 0 = to be made
        self.vertex_slots = 0  #: vertex buffers that the front end holds
        self.factor: tuple[int, ...] = (0x3F800000,) * 4 + (0xFFFF_FFFF,)
        self.index: tuple[int, int] = (0, 0)
        self.depth_ranges = np.zeros((_MAX_VIEWPORTS, 2), np.float32)
        #: Stages between vertices and rasterizer, and those that have a program.
        self.stages = {stage: _Between() for stage in (Stage.HULL, Stage.DOMAIN, Stage.GEOMETRY)}
        self.between: list[_Between] = []
        for stage, b in self.stages.items():
            f[f"{stage.name.lower()}_block"] = b.pointer
        self.streams: list[tuple[int, int]] = []  #: address and extent of what stream output writes
        self.record_limit = RECORD_LIMIT
        self.runs = Runs(self)

    @property
    def settled(self) -> bool:
        """Whether the records are those of the state as it is now."""
        versions = self.state.version
        return bool(self.draw_pointer) and _versions(versions) == self.now and versions[_CONSTANTS] == self.constants_version

    # -- the hot path -------------------------------------------------------------------------------------------------
    def prepare(self, call: DrawCall) -> int:
        """Bring records up to date: :attr:`pipeline`'s front end may be called with :attr:`front_pointer`.

        Returns the primitives of an instance. Raises FaultError.
        """
        engine, state = self.engine, self.state
        versions = state.version
        now = _versions(versions)
        if self.streams:
            self._before_streams()
        if (
            now != self.now
            or call.indexed is not self.indexed
            or engine.epoch != self.epoch
            or engine.target_owner is not self
            or engine.record_next > RECORD_LIMIT
            or state.queries
            or self.counting
        ):
            self._follow(now, call.indexed)
        if versions[_CONSTANTS] != self.constants_version:
            self._constants()
        if not self.draw_pointer:
            self._record()
        count, start = call.count, call.start
        whole = count // 3 if self.topology == _TRIANGLES else primitives.count(self.topology, count)
        if whole and self.refusal:
            raise FaultError(Fault.PIPELINE, self.refusal)
        index_buffer, index_count = self.index
        _HEAD.pack_into(
            self.front_bytes, 0, self.vs_pointer, self.draw_pointer, index_buffer, index_count, start & 0xFFFF_FFFF, count,
            whole, (call.base_vertex if call.indexed else start) & 0xFFFF_FFFF,
            call.instances, call.start_instance, 0, 0, 0, 0, self.rasterizes,
        )  # fmt: skip
        return whole

    def _follow(self, now: tuple[int, ...], indexed: bool) -> None:
        """State other than constants changed, or a flush came between."""
        engine, last = self.engine, self.now
        self.now = _UNSEEN  # a refusal below leaves nothing half done
        index_size = 0
        if indexed:
            index_size = self._index_buffer()
        else:
            self.index = engine.zeros, 0
        counting = bool(self.state.queries) and self._counting()
        if (
            now[:_VIEWPORT] != last[:_VIEWPORT]
            or index_size != self.index_size
            or counting != self.counting
            or engine.target_owner is not self
            or (self.targetless and now[_VIEWPORT] != last[_VIEWPORT])
        ):
            self.index_size, self.counting = index_size, counting
            self._static(now)
            self.draw_pointer = 0
        if now[_VIEWPORT:_FACTOR] != last[_VIEWPORT:_FACTOR]:
            self._viewports()
        if now[_FACTOR] != last[_FACTOR]:
            p = self._packet(Op.SET_BLEND_FACTOR)
            self.factor = (0x3F800000,) * 4 + (0xFFFF_FFFF,) if p is None else unpack_packet(p)[7:12]
            self.draw_pointer = 0
        if now[_VERTICES] != last[_VERTICES]:
            self._vertex_buffers()
        if engine.record_next > RECORD_LIMIT:
            engine.flush(self.state)
        if engine.epoch != self.epoch:
            self._renew()
        self.indexed, self.now = indexed, now

    def moved(self) -> None:
        """A flush came between two calls of the front end for one draw: new records, same place in the draw."""
        now = _versions(self.state.version)
        if now == self.now:
            self._renew()
        else:
            self._follow(now, self.indexed)  # a run has changed state
        self._constants()
        self._record()
        struct.pack_into("<2Q", self.front_bytes, 0, self.vs_pointer, self.draw_pointer)

    def _renew(self) -> None:
        """A new epoch: no records yet, and what they will point to is kept alive through it."""
        engine = self.engine
        self.epoch = engine.epoch
        self.draw_pointer = self.ranges = 0
        self.constants_version = -1
        self.ps_constants.forget()  # the engine forgot which bytes wait to be read
        engine.keep((self.vs_bound, self.ps_bound, self.pipeline, *[b.bound for b in self.between]))
        if self.pipeline is not None:
            self._functions(self.pipeline)
        if self.ps_bound is not None:
            engine.use_views(self.ps_bound.views)

    def _constants(self) -> None:
        """Follow the constant buffers."""
        state, engine = self.state, self.engine
        self.constants_version = -1
        bound = state.bindings.get(_CONSTANTS) or _EMPTY
        vs = self.vs_constants
        if vs.update(engine, bound, False):
            vs.pack(self._vs_bytes, 0, *vs.words)
        if self.ps_constants.update(engine, bound, True):
            self.draw_pointer = 0
        for b in self.between:
            if b.constants.update(engine, bound, False):
                b.constants.pack(b.bytes, 0, *b.constants.words)
        self.constants_version = state.version[_CONSTANTS]

    def _record(self) -> None:
        """A DRAW record and the pixel program's block behind it."""
        engine, pipeline = self.engine, self.pipeline
        assert pipeline is not None
        if not self.ranges:
            self.ranges = engine.place_bytes(self.depth_ranges.tobytes())
        if pipeline.weight > engine.weight:
            engine.weight = pipeline.weight
        if pipeline.quick:
            engine.quick.add(pipeline)
        at, factor = engine.record_next, self.factor
        block = self.ps_constants.words + self.ps_resources
        self.draw_pointer = pointer = engine.record_base + at
        _record_packer(len(block))(
            engine.record_bytes, at, pipeline.pixel, pipeline.merger, pointer + _DRAW_BYTES, engine.counters_pointer,
            self.ranges, factor[4], self.depth[3] & 255, factor[0], factor[1], factor[2], factor[3], *block,
        )  # fmt: skip
        engine.record_next = at + _DRAW_BYTES + 8 * len(block)

    def count(self, counters: Counters) -> None:
        """Add what the stages tallied to what queries count."""
        for name in _TALLIES:
            number = int(self.front[name][0])
            if number:
                counters.add(name, number)
        self.front[_TALLIES] = 0

    def written(self, address: int, extent: int) -> None:
        """Memory is written: programs there are read again."""
        end = address + extent
        if any(start < end and address < start + size for start, size in self.program_ranges):
            self.seen = self.now = _UNSEEN

    # -- what changes less often --------------------------------------------------------------------------------------
    def _packet(self, op: int, slot: int = 0) -> Packet | None:
        return self.state.bindings.get(op, {}).get(slot)

    def _static(self, now: tuple[int, ...]) -> None:
        """Programs, bindings, targets and fixed-function state: find or make the pipeline."""
        engine, state = self.engine, self.state
        seen = self.seen
        self.seen = _UNSEEN
        again = seen is _UNSEEN  # whether the functions may be others
        programs = now[:_TARGETS] != seen[:_TARGETS] or now[_STREAMS] != seen[_STREAMS] or self.vs is None
        if programs:
            again = self._programs()
        vs = self.vs
        assert vs is not None
        if programs or now[_RESOURCES:_STREAMS] != seen[_RESOURCES:_STREAMS] or self.vs_bound is None:
            again |= self._bind(vs)
        changed = now[_TARGETS : _DEPTH_TARGET + 1] != seen[_TARGETS : _DEPTH_TARGET + 1] or engine.target_owner is not self
        if changed or (self.targetless and now[_VIEWPORT] != seen[_VIEWPORT]):
            targets = engine.make_targets(state)
            again |= targets != self.targets
            self.targets, self.targetless = targets, not targets[0] and not targets[1]
            engine.target_owner = self
            self._viewports()
        if now[_BLEND] != seen[_BLEND]:
            p = self._packet(Op.SET_BLEND)
            self.blend = _DEFAULT_BLEND if p is None else ((u := unpack_packet(p))[5], *u[7:15])
            again = True
        if now[_DEPTH] != seen[_DEPTH]:
            p = self._packet(Op.SET_DEPTH_STENCIL_STATE)
            self.depth = _DEFAULT_DEPTH if p is None else unpack_packet(p)[7:11]
            again = True
        targets, depth_format, samples, read_only = self.targets
        if now[_RASTERIZER] != seen[_RASTERIZER] or self.front_version is None or self.front_version[1] != depth_format:
            p = self._packet(Op.SET_RASTERIZER)
            version = None if p is None else unpack_packet(p)[7:15], depth_format
            if version != self.front_version:
                self.front_version = None
                self.rasterizer = Rasterizer() if version[0] is None else Rasterizer.unpack(version[0])
                self._rasterizer(depth_format)
                self.front_version = version
                self._viewports()
        primitive = self._primitive(samples)
        if again or self.made_for != (self.index_size, self.counting, primitive):
            self._find(vs, primitive, targets, depth_format, samples, read_only)
        self.seen = now

    def _primitive(self, samples: int) -> front.Primitive:
        """What reaches the rasterizer, in its state."""
        programs = [b.program for b in self.between if b.program is not None]
        corners, r = rasterized_corners(programs, self.topology), self.rasterizer
        if corners == 1:
            return front.Primitive.POINT
        if corners == 2:
            if r.multisample:
                return front.Primitive.FAT_LINE
            return front.Primitive.SMOOTH_LINE if r.antialiased_line and samples == 1 else front.Primitive.LINE
        return front.Primitive.WIREFRAME if r.fill == FillMode.WIREFRAME else front.Primitive.TRIANGLE

    def _bind(self, vs: Program) -> bool:
        """Resolve what the programs use; whether keys changed."""
        engine, state = self.engine, self.state
        bind = engine.pipelines.bind
        last_vs, last_ps = self.vs_bound, self.ps_bound
        if last_vs is None or last_vs.resources:
            self.vs_bound = None
            vs_bound = bind(state, vs)
            if vs_bound is not last_vs:
                _words_packer(len(vs_bound.resources))(self._vs_bytes, 8 * len(self.vs_constants.words), *vs_bound.resources)
                engine.keep(vs_bound)
            self.vs_bound = vs_bound
        ps_bound = bind(state, self.ps) if self.ps is not None else None
        if ps_bound is not last_ps:
            self.ps_bound = ps_bound
            self.ps_resources = []
            if ps_bound is not None:
                self.ps_resources = ps_bound.resources
                engine.keep(ps_bound)
                engine.use_views(ps_bound.views)
        changed = _number(last_vs) != _number(self.vs_bound) or _number(last_ps) != _number(ps_bound)
        for b in self.between:
            assert b.program is not None
            last, b.bound = b.bound, None
            now = bind(state, b.program)
            if now is not last:
                _words_packer(len(now.resources))(b.bytes, 8 * len(b.constants.words), *now.resources)
                engine.keep(now)
                changed |= _number(last) != _number(now)
            b.bound = now
        return changed

    def _find(
        self, vs: Program, primitive: front.Primitive, targets: tuple[tuple[int, int], ...], depth_format: int, samples: int,
        read_only: int,
    ) -> None:  # fmt: skip
        """The pipeline of the present state, and what the front end needs to know of it."""
        engine = self.engine
        assert self.vs_bound is not None
        self.made_for = None
        pipeline = engine.pipelines.draw(
            vs, self.vs_bound, self.ps, self.ps_bound, self._between(), self.elements, self.topology, self.index_size,
            primitive, targets, depth_format, samples, read_only, self.counting, self.blend, self.depth[:3],
        )  # fmt: skip
        engine.keep(pipeline)
        last = self.pipeline
        self.pipeline, self.rasterizes = pipeline, pipeline.rasterizes
        self.made_for = self.index_size, self.counting, primitive
        f = self.front
        self._functions(pipeline)
        if last is None or last.layout is not pipeline.layout:
            f["components"], f["clip_components"] = pipeline.layout.components, front.clip_components(pipeline.layout)
            f["many_viewports"] = pipeline.layout.viewport >= 0
        if last is None or last.multisampled != pipeline.multisampled:
            f["multisampled"] = pipeline.multisampled
        if last is None or last.planes != pipeline.planes:
            f["record_bytes"] = front.record_bytes(len(pipeline.planes))
            f["plane_count"] = len(pipeline.planes)
            if pipeline.planes:
                f["planes"][0, : len(pipeline.planes)] = [(c & 0xFFFF_FFFF, mode) for c, mode in pipeline.planes]

    def _functions(self, pipeline: DrawPipeline) -> None:
        """Tell the front end where the functions are."""
        f, b = self.front, pipeline.between
        if self.functions != (pipeline.vertex, b):
            f["vertex_function"], f["next_function"] = pipeline.vertex, b.next
            f["tessellator_function"], f["domain_function"], f["geometry_function"] = b.tessellator, b.domain, b.geometry
            f["sink_function"], f["stream_output_function"], f["batch"] = b.sink, b.stream_output, b.batch
            self.refusal, self.functions = b.refusal, (pipeline.vertex, b)

    def _between(self) -> tuple[tuple[Program, Bound], ...]:
        """The programs between vertices and rasterizer, in their order, with their bindings."""
        return tuple((b.program, b.bound) for b in self.between if b.program is not None and b.bound is not None)

    def _stream_output(self, last: Program) -> None:
        """The buffers that stream output fills."""
        f = self.front["stream_buffers"][0]
        f["filled"] = 0
        self.streams = []
        for slot, _ in StreamOutput.of(last.program).strides:
            p = self._packet(Op.SET_STREAM_OUTPUT, slot)
            if p is None:
                continue
            _, _, extent, address, _, _, counter, *_ = unpack_packet(p)
            if not counter:
                raise FaultError(Fault.PIPELINE, f"stream output buffer {slot} without a fill counter")
            memory = self.engine.memory
            f[slot] = (memory.pointer(address, extent, write=True), memory.pointer(counter, 4, write=True), extent, 0)
            self.streams += [(address, extent), (counter, 4)]
        self._before_streams()

    def _before_streams(self) -> None:
        """Stream output writes at once: pixels that wait and read there go first."""
        for address, extent in self.streams:
            self.engine.before_write(self.state, address, extent)

    def _rasterizer(self, depth_format: int) -> None:
        """Culling, clipping and depth bias for the front end."""
        r, f = self.rasterizer, self.front
        if r.fill not in tuple(FillMode) or r.cull not in tuple(CullMode):
            raise FaultError(Fault.BAD_DESCRIPTOR, f"fill mode {r.fill}, cull mode {r.cull}")
        f["cull"], f["front_ccw"] = cull_bits(r), r.front_counter_clockwise
        f["clip"] = 0xFFFF_FFFF if r.depth_clip else ~(NEAR | FAR) & 0xFFFF_FFFF
        channel = FORMATS[Format(depth_format)].depth if depth_format else None
        bits = channel.bits if channel is not None else 0
        f["bias_float"] = bits == 32
        f["bias"] = float(r.depth_bias) * (1.0 if bits in (0, 32) else 2.0**-bits)
        f["bias_slope"], f["bias_clamp"] = r.slope_scaled_depth_bias, r.depth_bias_clamp

    def _programs(self) -> bool:
        """Programs, topology and input layout; whether one is another than before."""
        state, engine = self.state, self.engine
        before = self.vs, self.ps, self.topology, self.elements
        self.vs = None
        p = self._packet(Op.SET_TOPOLOGY)
        topology = unpack_packet(p)[5] if p is not None else 0
        vs = engine.load_program(state, Stage.VERTEX)
        if vs is None:
            raise FaultError(Fault.PIPELINE, "draw without a vertex program")
        bound = state.bindings.get(Op.SET_SHADER) or _EMPTY
        programs = {stage: engine.load_program(state, stage) for stage in self.stages}
        hull = programs[Stage.HULL] is not None
        if hull != (programs[Stage.DOMAIN] is not None) or (hull and topology < Topology.PATCHLIST_1):
            raise FaultError(Fault.PIPELINE, "hull and domain programs go together, and with patches")
        changed = False
        for stage, program in programs.items():
            if program is not self.stages[stage].program:
                self.stages[stage].set(program)
                self.constants_version, changed = -1, True
        self.between = [b for b in self.stages.values() if b.program is not None]
        if primitives.shape(topology) is None:
            raise FaultError(Fault.PIPELINE, f"primitive topology {topology}")
        ps = engine.load_program(state, Stage.PIXEL)
        self.program_ranges = [((u := unpack_packet(p))[3], u[2]) for p in bound.values()]
        layout = [unpack_packet(p) for p in (state.bindings.get(Op.SET_INPUT_LAYOUT) or _EMPTY).values()]
        if layout != self.layout_of:
            self.layout_of = None
            self.elements = engine.pipelines.elements(state)
            self.layout_of = layout
        if vs is not before[0]:
            self.vs_constants = _Constants(tuple(vs.slots.constants))
            self.vs_bound, self.constants_version = None, -1
        if ps is not before[1]:
            self.ps_constants = _Constants(ps.pixel_constants if ps is not None else ())
            self.ps_bound, self.constants_version = None, -1
        self.vs, self.ps, self.topology = vs, ps, topology
        self.last = last = (self.between[-1].program if self.between else None) or vs
        self._stream_output(last)
        return changed or vs is not before[0] or ps is not before[1] or topology != before[2] or self.elements != before[3]

    def _counting(self) -> bool:
        """Whether a query wants pixels or samples counted."""
        return any(unpack_packet(q)[5] & 0xFF in _COUNTING for q in self.state.queries.values())

    def _index_buffer(self) -> int:
        """Index size; the buffer's pointer and length go to :attr:`index`."""
        p = self._packet(Op.SET_INDEX_BUFFER)
        if p is None:
            self.index = (self.engine.zeros, 0)
            return 4
        extent, address, format = _unpack_buffer(p)
        if format not in (Format.R16_UINT, Format.R32_UINT):
            raise FaultError(Fault.BAD_DESCRIPTOR, f"index format {format}")
        size = 2 if format == Format.R16_UINT else 4
        self.index = (self.engine.pointer(address, extent), extent // size)
        return size

    def _vertex_buffers(self) -> None:
        """Pointers, sizes and strides of the vertex buffers; none where none is bound."""
        present = 0
        pack, at, pointer = _VERTEX_BUFFER.pack_into, _BUFFERS, self.engine.pointer
        for slot, p in (self.state.bindings.get(Op.SET_VERTEX_BUFFER) or _EMPTY).items():
            extent, address, stride = _unpack_buffer(p)
            pack(self.front_bytes, at + 16 * slot, pointer(address, extent), extent, stride)
            present |= 1 << slot
        gone = self.vertex_slots & ~present
        for slot in range(gone.bit_length()):
            if gone >> slot & 1:
                pack(self.front_bytes, at + 16 * slot, 0, 0, 0)
        self.vertex_slots = present

    def _viewports(self) -> None:
        """Viewports and the rectangles of pixels that they, the scissors and the targets leave."""
        viewports = self.state.bindings.get(Op.SET_VIEWPORT) or _EMPTY
        scissors = (self.state.bindings.get(Op.SET_SCISSOR) or _EMPTY) if self.rasterizer.scissor else _EMPTY
        first = viewports.get(0)
        count = min(unpack_packet(first)[5], _MAX_VIEWPORTS) if first is not None else 0
        made_of = (
            self.engine.target_size, self.rasterizer.scissor, count,
            [(slot, unpack_packet(p)[7:13]) for slot, p in viewports.items() if slot < count],
            [(slot, unpack_packet(p)[7:11]) for slot, p in scissors.items() if slot < count],
        )  # fmt: skip
        if made_of != self.viewports_of:
            self.viewports_of = None
            self._rectangles(viewports, scissors, count)
            self.viewports_of = made_of

    def _rectangles(self, viewports: dict[int, Packet], scissors: dict[int, Packet], count: int) -> None:
        width, height = self.engine.target_size
        self.ranges = self.draw_pointer = 0
        v = self.front["viewports"][0]
        v["right"], v["left"] = -1, 0
        self.depth_ranges[:] = 0
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
