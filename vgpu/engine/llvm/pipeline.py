"""From pipeline state to compiled functions: programs, keys and the caches that join them.

Owns the translation of state packets into the compile keys of the four functions of a draw (vertex, front end, pixel, merger) and
of kernels. What the hardware refuses raises FaultError.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from vgpu.engine import Packet, PipelineState
from vgpu.fault import FaultError
from wddm.hw.descriptors import (
    INPUT_ELEMENTS_PER_PACKET,
    BlendFlag,
    CullMode,
    DepthStencil,
    InputElement,
    Rasterizer,
    StencilFace,
    TargetBlend,
)
from wddm.hw.formats import FORMATS, Format
from wddm.hw.interrupts import Fault
from wddm.hw.isa import DeclarationKind, IsaError, ShaderProgram
from wddm.hw.isa import Op as Isa
from wddm.hw.isa_check import check
from wddm.hw.packets import Op, Stage, Topology

from . import compute, formats, front, merger, pixel, raster, run_function, vertex
from .analysis import instructions
from .bindings import Bindings, ResolvedSampler, ResolvedView
from .codegen import FULL, QUICK
from .jit import Code, Jit
from .parts import Part, Parts
from .records import Shape
from .shader import ShaderKey, Slots
from .stages import Between, Stages

_RESOURCES, _SAMPLERS, _UAVS = int(Op.SET_RESOURCE), int(Op.SET_SAMPLER), int(Op.SET_UAV)
_NOTHING: Final[dict[int, Packet]] = {}
#: The weight of a program that has loops or many instructions.
MAX_WEIGHT: Final = 16


@dataclass(slots=True)
class Program:
    """A checked program with what is derived from it alone."""

    program: ShaderProgram
    slots: Slots
    layout: vertex.VertexLayout | None
    ordered: bool  #: results depend on the order in which groups or pixels run: one thread
    has_effects: bool
    has_loop: bool
    rasterizes: bool  #: writes a position
    number: int
    pixel_constants: tuple[int, ...]  #: its constant buffers as binding slots of the pixel stage
    dimensions: dict[tuple[int, int], int]  #: (declaration kind, slot) of resources and UAVs: declared dimension
    weight: int = 1  #: how much longer than the shortest it takes, roughly; at most MAX_WEIGHT
    resource_slots: tuple[int, ...] = ()  #: its resources, samplers and UAVs as binding slots of its stage
    sampler_slots: tuple[int, ...] = ()
    uav_slots: tuple[int, ...] = ()
    uniform: frozenset[int] = frozenset()  #: of a pixel program: colour outputs that all pixels of a primitive share


@dataclass(frozen=True, slots=True)
class Elements:
    """An input layout, and a number for it."""

    elements: tuple[InputElement, ...]
    number: int


@dataclass(slots=True)
class Bound:
    """What a program's slots hold now."""

    key: ShaderKey
    number: int  #: of the key
    resources: list[int]  #: pointers to records, as in the block
    views: list[ResolvedView]
    samplers: list[ResolvedSampler]


@dataclass(slots=True, eq=False)
class DrawPipeline:
    """The functions of a draw."""

    geometry: tuple[Part, ...]  #: vertex and front end, and the stages between
    pixels: tuple[Part, Part]  #: pixel and merger
    planes: tuple[tuple[int, int], ...]
    layout: vertex.VertexLayout
    multisampled: bool
    vertex_program: Program
    pixel_program: Program | None
    has_loop: bool
    has_effects: bool
    rasterizes: bool
    weight: int  #: of the pixel program
    stages: Stages  #: between vertices and rasterizer
    between: Between = field(default_factory=Between)  #: their functions
    front: Any = None  #: callable
    front_address: int = 0
    vertex: int = 0
    pixel: int = 0
    merger: int = 0
    quick: bool = False  #: its pixels run code that may become better
    timed: bool = False  #: its vertices and primitives do
    codes: tuple[Code, ...] = ()  #: kept alive; vertex and front end first


class Programs:
    """Checked programs by their bytes."""

    def __init__(self) -> None:
        self._programs: dict[bytes, Program] = {}
        self._count = 0

    def _next(self) -> int:
        self._count += 1
        return self._count

    def load(self, data: bytes, stage: Stage) -> Program:
        """Decode and check. Raises FaultError(BAD_SHADER) and FaultError(PIPELINE) for another stage's program."""
        found = self._programs.get(data)
        if found is None:
            try:
                program = ShaderProgram.from_bytes(data)
                check(program)
            except IsaError as error:
                raise FaultError(Fault.BAD_SHADER, str(error)) from error
            code = instructions(program)
            ops = {ins[0] for ins in code}
            ordered = any(
                ins[0] in (Isa.UAV_COUNTER_INC, Isa.UAV_COUNTER_DEC) or (ins[0] == Isa.UAV_ATOMIC and ins[2] != 0) for ins in code
            ) or any(ins[0] == Isa.UAV_ATOMIC and ins[5] >= 8 for ins in code)
            layout = None
            if program.stage in (Stage.VERTEX, Stage.DOMAIN, Stage.GEOMETRY):
                layout = vertex.VertexLayout.of(program)
            effects = any(Isa.UAV_LOAD <= op <= Isa.UAV_BUFINFO for op in ops)
            dimensions = {
                (kind, index): value
                for kind, index, _, value, _ in program.declarations.tolist()
                if kind in (DeclarationKind.RESOURCE, DeclarationKind.UAV)
            }
            found = Program(
                program, Slots.of(program, code), layout, ordered, effects, Isa.LOOP in ops,
                layout is not None and layout.position >= 0 and (program.stage != Stage.GEOMETRY or program.rasterized_stream < 4),
                self._next(), (), dimensions,
            )  # fmt: skip
            found.pixel_constants = tuple(Stage.PIXEL << 8 | slot for slot in found.slots.constants)
            if program.stage == Stage.PIXEL:
                found.uniform = pixel.uniform_outputs(program)
            found.weight = MAX_WEIGHT if found.has_loop else min(MAX_WEIGHT, 1 + len(code) // 32)
            own = program.stage << 8
            uavs = own if program.stage == Stage.COMPUTE else Stage.PIXEL << 8
            found.resource_slots = tuple(own | slot for slot in found.slots.resources)
            found.sampler_slots = tuple(own | slot for slot in found.slots.samplers)
            found.uav_slots = tuple(uavs | slot for slot in found.slots.uavs)
            if len(self._programs) >= 4096:
                self._programs.pop(next(iter(self._programs)))
            self._programs[data] = found
        if found.program.stage != stage:
            other = Stage(found.program.stage).name.lower()
            raise FaultError(Fault.PIPELINE, f"a {other} program bound as {stage.name.lower()} program")
        return found


def packet(state: PipelineState, op: int, slot: int = 0) -> Packet | None:
    """The packet bound to a slot, or None."""
    return state.bindings.get(op, {}).get(slot)


class Pipelines:
    """Compiles what state asks for, and keeps it."""

    def __init__(self, jit: Jit, bindings: Bindings, lanes: tuple[int, int], wrap: Callable[[int], Any], patience: float) -> None:
        self.jit, self.bindings = jit, bindings
        self.lanes, self.wide = lanes  # before the rasterizer; of pixels and compute threads
        self.parts = Parts(jit, patience)
        self.programs = Programs()
        self._draws: dict[Any, DrawPipeline] = {}
        self._wrap = wrap  # address of a front function -> callable
        self._keys: dict[tuple[int, ...], tuple[ShaderKey, int]] = {}
        self._elements: dict[tuple[InputElement, ...], Elements] = {}
        self._bounds: dict[tuple[int, ...], Bound] = {}
        self._serial = 0

    def part(self, kind: str, key: Any, make: Callable[[], str], *, level: int = FULL) -> Part:
        """A compiled function by its key; at level QUICK where somebody tells how long it runs."""
        return self.parts.get(kind, key, make, level)

    def wide_part(self, kind: str, key: Hashable, make: Callable[[int], str], *, level: int = QUICK) -> Part:
        """The same for functions of pixels or compute threads: many lanes only at level FULL, since they compile slowly."""
        if self.wide == self.lanes:
            return self.parts.get(kind, key, partial(make, self.lanes), level)
        # The cache knows optimised code by the text of the quick code: engines of other widths must not find it.
        quick = f"\n; {self.wide} lanes when it is optimised\n"
        return self.parts.get(kind, key, lambda: make(self.lanes) + quick, level, partial(make, self.wide))

    def raster(self) -> int:
        """The tile loop."""
        return self.part("raster", (), raster.compile_raster)["raster"]

    def run(self) -> int:
        """The loop over runs of small draws."""
        return self.part("run", (), run_function.compile_run)["run"]

    def bind(self, state: PipelineState, program: Program) -> Bound:
        """Resolve the views, samplers and unordered access views that a program uses. Raises FaultError."""
        bindings = self.bindings
        raw = [program.number]
        if program.resource_slots:
            get, view = (state.bindings.get(_RESOURCES) or _NOTHING).get, bindings.view
            for slot in program.resource_slots:
                p = get(slot)
                raw.append(0 if p is None else view(p).pointer)
        if program.sampler_slots:
            get = (state.bindings.get(_SAMPLERS) or _NOTHING).get
            for slot in program.sampler_slots:
                raw.append(bindings.sampler(get(slot)).pointer)
        if program.uav_slots:
            get = (state.bindings.get(_UAVS) or _NOTHING).get
            for slot in program.uav_slots:
                p = get(slot)
                raw.append(0 if p is None else bindings.view(p, write=True).pointer)
        records = tuple(raw)
        found = self._bounds.get(records)
        if found is None:
            if len(self._bounds) >= 8192:
                self._bounds.pop(next(iter(self._bounds)))
            found = self._bounds[records] = self._new_bound(state, program, raw[1:])
        return found

    def _new_bound(self, state: PipelineState, program: Program, records: list[int]) -> Bound:
        """A combination of records seen for the first time. Views of another dimension than declared count as none."""
        slots, get = program.slots, state.bindings.get
        views: list[ResolvedView] = []
        numbers: list[int] = []  # of the keys; 0 = nothing fitting

        def look(op: int, kind: DeclarationKind, bound: tuple[int, ...], declared: list[int], write: bool) -> None:
            for place, slot in zip(bound, declared, strict=True):
                p = (get(op) or _NOTHING).get(place)
                if p is None:
                    numbers.append(0)
                    continue
                v = self.bindings.view(p, write=write)
                numbers.append(v.number if v.key.dimension == program.dimensions[kind, slot] else 0)
                views.append(v)

        look(_RESOURCES, DeclarationKind.RESOURCE, program.resource_slots, slots.resources, False)
        samplers = [self.bindings.sampler((get(_SAMPLERS) or _NOTHING).get(slot)) for slot in program.sampler_slots]
        numbers += [s.number for s in samplers]
        look(_UAVS, DeclarationKind.UAV, program.uav_slots, slots.uavs, True)
        raw = (program.number, *numbers)
        key, serial = self._keys.get(raw) or self._new_key(raw, slots, views, samplers, numbers)
        return Bound(key, serial, records, views, samplers)

    def _new_key(
        self, raw: tuple[int, ...], slots: Slots, views: list[ResolvedView], samplers: list[ResolvedSampler], numbers: list[int]
    ) -> tuple[ShaderKey, int]:
        """The key of a combination seen for the first time, and a number for it."""
        by_number = {v.number: v.key for v in views}
        count, after = len(slots.resources), len(slots.resources) + len(slots.samplers)
        key = ShaderKey(
            tuple((slot, by_number[n]) for slot, n in zip(slots.resources, numbers[:count], strict=True) if n),
            tuple((slot, s.key) for slot, s in zip(slots.samplers, samplers, strict=True)),
            tuple((slot, by_number[n]) for slot, n in zip(slots.uavs, numbers[after:], strict=True) if n),
        )
        self._serial += 1
        if len(self._keys) >= 65536:
            self._keys.clear()
        self._keys[raw] = key, self._serial
        return self._keys[raw]

    def elements(self, state: PipelineState) -> Elements:
        """The input layout."""
        elements = input_elements(state)
        found = self._elements.get(elements)
        if found is None:
            self._serial += 1
            found = self._elements[elements] = Elements(elements, self._serial)
        return found

    def kernel(self, program: Program, key: ShaderKey) -> Part:
        """A compute kernel. One that loops may run long before better code comes: it is optimised at once."""
        return self.wide_part(
            "kernel", (program.number, key), lambda lanes: compute.compile_kernel(program.program, key, lanes),
            level=FULL if program.has_loop else QUICK,
        )  # fmt: skip

    def improve(self) -> None:
        """Use the better code that has come. Only while nothing runs or waits that knows the old."""
        better = self.parts.improve()
        for pipeline in self._draws.values():
            if not better.isdisjoint(pipeline.geometry) or not better.isdisjoint(pipeline.pixels):
                self._address(pipeline)

    def _address(self, pipeline: DrawPipeline) -> None:
        """Fill in where the functions are now."""
        vertex, front, *_ = pipeline.geometry
        pixel, merger = self.parts.together(pipeline.pixels)  # what is between them has the lanes of both
        pipeline.vertex, pipeline.pixel, pipeline.merger = vertex["vertex"], pixel["pixel"], merger["merger"]
        pipeline.front_address = front["front"]
        pipeline.front = self._wrap(pipeline.front_address)
        pipeline.between = pipeline.stages.between()
        pipeline.timed = any(part.code.level == QUICK for part in pipeline.geometry)
        if pipeline.timed:
            pipeline.front = self._timed(pipeline.front, pipeline.geometry)
        pipeline.quick = QUICK in (pixel.level, merger.level)
        pipeline.codes = (*(part.code for part in pipeline.geometry), pixel, merger)

    def _timed(self, function: Callable[[int], int], parts: tuple[Part, ...]) -> Callable[[int], int]:
        """The same function, its running told."""

        def timed(pointer: int) -> int:
            began = time.perf_counter()
            result = function(pointer)
            self.parts.ran(parts, time.perf_counter() - began)
            return result

        return timed

    def draw(
        self,
        vs: Program,
        vs_bound: Bound,
        ps: Program | None,
        ps_bound: Bound | None,
        between: tuple[tuple[Program, Bound], ...],
        layout: Elements,
        topology: int,
        index_size: int,
        primitive: front.Primitive,
        targets: tuple[tuple[int, int], ...],
        depth_format: int,
        samples: int,
        read_only: int,
        counting: bool,
        blend: tuple[int, ...],
        ds_words: tuple[int, ...],
    ) -> DrawPipeline:
        """The functions of a draw in this state. ``targets``: (slot, format); ``blend``: arg and data of SET_BLEND."""
        blend_arg, blend_words = blend[0], blend[1:]
        key = (
            vs.number, vs_bound.number, ps.number if ps else 0, ps_bound.number if ps_bound else 0, layout.number, topology,
            index_size, primitive, targets, depth_format, samples, read_only, counting, blend, ds_words,
            *[number for p, bound in between for number in (p.number, bound.number)],
        )  # fmt: skip
        found = self._draws.get(key)
        if found is None:
            if len(self._draws) >= 8192:
                self._draws.pop(next(iter(self._draws)))
            found = self._draws[key] = self._make(
                vs, vs_bound.key, ps, ps_bound.key if ps_bound else ShaderKey(), between, layout.elements, topology, index_size,
                primitive, targets, blend_words, blend_arg, depth_format, samples, read_only, ds_words, counting,
            )  # fmt: skip
        return found

    def _make(
        self, vs: Program, vs_key: ShaderKey, ps: Program | None, ps_key: ShaderKey,
        between: tuple[tuple[Program, Bound], ...], elements: tuple[InputElement, ...], topology: int, index_size: int,
        primitive: front.Primitive, targets: tuple[tuple[int, int], ...], blend_words: tuple[int, ...], blend_arg: int,
        depth_format: int, samples: int, read_only: int, ds_words: tuple[int, ...], counting: bool,
    ) -> DrawPipeline:  # fmt: skip
        last = between[-1][0] if between else vs
        layout = last.layout
        assert layout is not None
        assert vs.layout is not None
        patches = topology >= Topology.PATCHLIST_1
        rasterizes = last.rasterizes and not (patches and not between)
        if rasterizes:
            check_blend(blend_words)
        inputs, planes = pixel.link(ps.program if ps else None, layout)
        modes = tuple(mode for _, mode in planes)
        stages = Stages(self, vs, between, topology, primitive)
        assembled = front.Primitive.TRIANGLE if stages.corners else primitive
        front_key = front.FrontKey(topology, index_size, self.lanes, stages.corners, assembled)
        outputs = pixel.colour_outputs(ps.program if ps else None) if targets else ()
        dual = any(
            16 <= f <= 19
            for word in blend_words[:1]
            if word & 1
            for f in (word >> 1 & 31, word >> 6 & 31, word >> 14 & 31, word >> 19 & 31)
        )
        used = {slot for slot, _ in targets} | ({1} if dual else set())
        alpha = bool(blend_arg & BlendFlag.ALPHA_TO_COVERAGE)
        outputs = tuple(o for o in outputs if o >> 2 in used or (alpha and o == 3))
        depth = depth_key(depth_format, ds_words, read_only)
        shape = front.SETUPS[primitive].shape
        uniform = ps.uniform.intersection(outputs) if ps and shape in (Shape.TRIANGLE, Shape.QUAD) else frozenset()
        pixel_key = pixel.PixelKey(ps_key, inputs, modes, depth, samples, alpha, outputs, self.wide, counting, shape, uniform)
        written = {o >> 2 for o in outputs}
        merger_key = merger.MergerKey(
            tuple(
                target_key(slot, format, blend_words[slot], blend_arg)
                for slot, format in targets
                if slot in written and blend_words[slot] >> 27 & 15
            ),
            outputs, samples, self.wide, uniform,
        )  # fmt: skip
        vs_layout = vs.layout
        geometry = (
            self.part(
                "vertex",
                (vs.number, vs_key, elements, not stages.corners),
                lambda: vertex.compile_vertex(vs.program, vs_key, elements, vs_layout, self.lanes, not stages.corners),
                level=QUICK,
            ),
            self.part("front", front_key, lambda: front.compile_front(front_key), level=QUICK),
            *stages.parts,
        )
        pixels = (
            self.wide_part(
                "pixel",
                (ps.number if ps else 0, pixel_key),
                lambda lanes: pixel.compile_pixel(ps.program if ps else None, replace(pixel_key, lanes=lanes)),
            ),
            self.wide_part("merger", merger_key, lambda lanes: merger.compile_merger(replace(merger_key, lanes=lanes))),
        )
        made = DrawPipeline(
            geometry, pixels, planes, layout, samples > 1, vs, ps,
            any(p.has_loop for p in (vs, ps, *(p for p, _ in between)) if p is not None),
            vs.has_effects or (ps is not None and ps.has_effects),
            rasterizes and (ps is not None or bool(depth_format) or counting), ps.weight if ps is not None else 1, stages,
        )  # fmt: skip
        self._address(made)
        return made


def input_elements(state: PipelineState) -> tuple[InputElement, ...]:
    """The elements of the input layout."""
    bound = state.bindings.get(Op.SET_INPUT_LAYOUT, {})
    first = bound.get(0)
    if first is None:
        return ()
    total = int(first["arg"])
    if total > 32:
        raise FaultError(Fault.BAD_DESCRIPTOR, f"{total} input elements")
    out = []
    for i in range(total):
        group = bound.get(i - i % INPUT_ELEMENTS_PER_PACKET)
        if group is None:
            raise FaultError(Fault.PIPELINE, f"input element {i} of {total} is missing")
        at = i % INPUT_ELEMENTS_PER_PACKET * 2
        element = InputElement.unpack(int(group["data"][at]), int(group["data"][at + 1]))
        if element.format not in FORMATS or not formats.supported(element.format):
            raise FaultError(Fault.BAD_DESCRIPTOR, f"vertex format {element.format}")
        out.append(element)
    return tuple(out)


def depth_key(format: int, words: tuple[int, ...], read_only: int) -> pixel.DepthKey:
    """What of the depth-stencil state is compiled in."""
    if not format:
        return pixel.DepthKey()
    info = FORMATS[Format(format)]
    state = DepthStencil.unpack((*words, 0))
    has_stencil = info.stencil is not None
    test = state.comparison if state.depth_enable else 0
    if state.depth_enable and not 1 <= state.comparison <= 8:
        raise FaultError(Fault.BAD_DESCRIPTOR, f"depth comparison {state.comparison}")
    write = state.depth_write and bool(test) and not read_only & 1
    stencil = state.stencil_enable and has_stencil
    if not stencil:
        return pixel.DepthKey(format, test, write)

    def face(f: StencilFace) -> tuple[int, int, int, int]:
        if not all(1 <= op <= 8 for op in (f.fail, f.depth_fail, f.passed, f.comparison)):
            raise FaultError(Fault.BAD_DESCRIPTOR, f"stencil operations {f}")
        return f.fail, f.depth_fail, f.passed, f.comparison

    mask = 0 if read_only & 2 else state.write_mask
    return pixel.DepthKey(format, test, write, True, state.read_mask, mask, face(state.front), face(state.back))


def check_blend(words: tuple[int, ...]) -> None:
    """Refuse blend factors and operations that do not exist, of targets that blend."""
    known = (*range(1, 12), *range(14, 20))
    for b in map(TargetBlend.unpack, words):
        factors, operations = (b.src, b.dst, b.src_alpha, b.dst_alpha), (b.op, b.op_alpha)
        if b.enable and (any(f not in known for f in factors) or any(not 1 <= o <= 5 for o in operations)):
            raise FaultError(Fault.BAD_DESCRIPTOR, f"blend {b}")


def target_key(slot: int, format: int, word: int, arg: int) -> merger.TargetKey:
    """What of a target's blend state is compiled in."""
    b = TargetBlend.unpack(word)
    info = FORMATS[Format(format)]
    logic = arg >> 8 & 15 if arg & BlendFlag.LOGIC_OP else -1
    enable = b.enable and not info.is_integer and logic < 0
    factors = (b.src, b.dst, b.op, b.src_alpha, b.dst_alpha, b.op_alpha)
    return merger.TargetKey(slot, format, enable, factors if enable else (2, 1, 1, 2, 1, 1), b.write_mask, logic)


def cull_bits(rasterizer: Rasterizer) -> int:
    """Bit 0: drop triangles that are clockwise on the screen; bit 1: counter-clockwise ones."""
    if rasterizer.cull == CullMode.FRONT:
        return 2 if rasterizer.front_counter_clockwise else 1
    if rasterizer.cull == CullMode.BACK:
        return 1 if rasterizer.front_counter_clockwise else 2
    return 0


__all__ = ["Bound", "DrawPipeline", "Pipelines", "Program"]
