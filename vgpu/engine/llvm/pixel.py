"""Pixels of one draw in one tile: coverage, depth and stencil, pixel shader; then the output merger's queue.

``pixel(PASS*, DRAW*, entries*, count, tile_x, tile_y, scratch*, thread)`` runs over bin entries in order. A *stamp* is (W/2) x 2
pixels, row by row, so that quads for derivatives are whole and memory rows are vector loads. Stamps that pass are queued with
their colours; the queue is handed to the merger function when full and at the end, always in order.

A program that runs per sample sees one sample of a stamp after the other, each as if it were the only one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Final

from wddm.hw.formats import FORMATS, Format
from wddm.hw.isa import (
    INDEX_MASK,
    OUTPUT_COVERAGE_REGISTER,
    OUTPUT_DEPTH_REGISTER,
    OUTPUT_STENCIL_REGISTER,
    Kind,
    Op,
    ProgramFlag,
    ShaderProgram,
    SystemRegister,
    SystemValue,
)

from . import records
from .analysis import instructions
from .builder import F32, F64, I1, I32, I64, PTR, VOID, MaskVariable, Module, Type, Value, Variable
from .coarse_depth import CoarseDepth
from .coverage import BLOCK, COVERAGE, PARTS, SAMPLES, Box, SmoothCoverage
from .depth import DepthKey, depth_stencil
from .float_mode import restore_float_mode, set_float_mode, uses_doubles
from .pixel_stage import (
    CENTROID,
    SAMPLE,
    Interpolator,
    PixelStage,
    Place,
    colour_outputs,
    interpolation_mode,
    link,
    uniform_outputs,
)
from .records import TILE, TRIANGLE, Shape
from .rows import Rows
from .shader import Declared, ShaderKey, Slots, Translator

QUEUE: Final = 32  #: stamps
#: Head of a queue entry, dwords: x, y, slice, then one mask per sample.
ENTRY_X, ENTRY_Y, ENTRY_SLICE, ENTRY_MASKS, ENTRY_HEAD = 0, 1, 2, 4, 16
#: Places in a thread's row of counters, u64.
SAMPLES_PASSED, INVOCATIONS = 0, 1


@dataclass(frozen=True, slots=True)
class PixelKey:
    """What a pixel function is compiled for, beside the program."""

    shader: ShaderKey
    inputs: tuple[tuple[int, int], ...]  #: (input register * 4 + component, plane)
    modes: tuple[int, ...]  #: of each plane
    depth: DepthKey
    samples: int
    alphato_coverage: bool
    outputs: tuple[int, ...]  #: colour output components (register * 4 + component) in queue order
    lanes: int
    counting: bool  #: for queries
    shape: Shape = Shape.TRIANGLE
    uniform: frozenset[int] = frozenset()  #: those of the outputs that are queued once, not for each lane


def entry_bytes(outputs: int, lanes: int) -> int:
    """Size of a queue entry."""
    return ENTRY_HEAD * 4 + outputs * lanes * 4


def scratch_bytes(outputs: int, lanes: int) -> int:
    """Scratch a pixel function needs per thread."""
    return QUEUE * entry_bytes(outputs, lanes) + 64


def compile_pixel(program: ShaderProgram | None, key: PixelKey) -> str:
    """The IR of ``pixel``. Without a program only depth and stencil are done."""
    return PixelFunction(program, key).write()


@dataclass(slots=True)
class _Sample:
    """One sample of the pixels of a stamp."""

    number: int | Value
    mask: MaskVariable  #: pixels whose sample is covered, until a test or the program drops it
    covered: Value  #: the mask that the rasteriser found
    x: float | Value  #: place in the pixel, from the centre
    y: float | Value
    depth: Value | None = None


class PixelFunction:
    """The function under construction."""

    def __init__(self, program: ShaderProgram | None, key: PixelKey) -> None:
        self.program, self.key, self.lanes = program, key, key.lanes
        self.half = key.lanes // 2
        self.m = Module()
        self.f = self.m.function("pixel", VOID, [PTR, PTR, PTR, I32, I32, I32, PTR, I32])
        self.pass_, self.draw, self.entries, self.count, self.tile_x, self.tile_y, self.queue, self.thread = self.f.arguments
        self.ivec, self.fvec, self.mvec = (t.vector(key.lanes) for t in (I32, F32, I1))
        flags = program.flags if program else 0
        code = instructions(program) if program else []
        ops = {ins[0] for ins in code}
        outputs = {r for r, _, _, _ in Declared.of(program).outputs} if program else set()
        self.writes_depth = OUTPUT_DEPTH_REGISTER in outputs
        self.writes_coverage = OUTPUT_COVERAGE_REGISTER in outputs
        self.writes_stencil = OUTPUT_STENCIL_REGISTER in outputs
        self.discards = Op.DISCARD in ops
        effects = any(Op.UAV_LOAD <= op <= Op.UAV_BUFINFO for op in ops)
        self.forced = bool(flags & ProgramFlag.EARLY_DEPTH_STENCIL)
        changes = self.discards or self.writes_coverage or key.alphato_coverage
        self.early = self.forced or not (self.writes_depth or self.writes_stencil or changes or effects)
        #: Test before the shader and write after it: what the shader drops must not be written, but the test stands.
        self.split = not self.early and not self.writes_depth and not self.writes_stencil and not effects and not key.depth.stencil
        declared = Declared.of(program).inputs if program else []
        #: Where each input is interpolated.
        self.where = {r * 4 + c: interpolation_mode(v, e)[1] for r, mask, v, e in declared for c in range(4) if mask >> c & 1}
        uses = {word & INDEX_MASK for ins in code for word in ins[3] if word >> 28 == Kind.SYSTEM}
        self.per_sample = key.samples > 1 and (
            SAMPLE in self.where.values() or SystemRegister.SAMPLE_INDEX in uses or bool(flags & ProgramFlag.SAMPLE_FREQUENCY)
        )
        self.evaluates = Op.EVAL_CENTROID in ops
        self.coverage = COVERAGE[key.shape](self)

    def draw_field(self, name: str, t: Type) -> Value:
        """A field of DRAW."""
        return self.f.load(t, self.draw, records.offset(records.DRAW, name), constant=True)

    def write(self) -> str:
        """The IR."""
        f, key = self.f, self.key
        if self.program is None and not key.depth.format:  # nothing is rasterized: not even samples are counted
            f.ret()
            return str(self.m)
        with f.prologue():
            self.arena = f.load(PTR, self.pass_, records.offset(records.PASS, "arena"), constant=True)
            self.stop = f.load(PTR, self.pass_, records.offset(records.PASS, "stop"), constant=True)
            self.width, self.height = (
                f.load(I32, self.pass_, records.offset(records.PASS, n), constant=True) for n in ("width", "height")
            )
            self.block = self.draw_field("pixel_block", PTR)
            self.depth_ranges = self.draw_field("depth_ranges", PTR)
            sample_mask = self.draw_field("sample_mask", I32)
            bits = (f.splat(sample_mask & (1 << s), self.lanes) for s in range(key.samples))
            self.enabled = [b.ne(0).sext(I32) for b in bits]
            lane = list(range(self.lanes))
            self.lane_x = f.vector(I32, [i % self.half for i in lane])
            self.lane_y = f.vector(I32, [i // self.half for i in lane])
        useful = self.coverage.size == BLOCK and CoarseDepth.helps(self)
        self.coarse_depth = CoarseDepth(self) if useful else None
        self.queued = f.var(I32, 0)
        self.invocations, self.samples_passed = f.var(I64, 0), f.var(I64, 0)
        self.mode = set_float_mode(f, denormals=True) if uses_doubles(self.program) else None
        with f.count(0, self.count) as i:
            entry = f.load(I32, f.index(self.entries, I32, i.zext(I64)))
            self.record = f.offset(self.arena, (entry & 0x7FFF_FFFF).zext(I64) << 4)
            self.in_tile(entry < 0)
        self.flush()
        if self.mode is not None:
            restore_float_mode(f, self.mode)
        if key.counting:
            mine = f.index(self.draw_field("counters", PTR), I64, (self.thread << 3).zext(I64))
            for place, counted in ((SAMPLES_PASSED, self.samples_passed), (INVOCATIONS, self.invocations)):
                f.store(f.load(I64, mine, 8 * place) + counted.get(), mine, 8 * place)
        f.ret()
        return str(self.m)

    def word(self, index: int, t: Type = I32) -> Value:
        """A word of the record."""
        return self.f.load(t, self.record, 4 * index, align=4, constant=True)

    def in_tile(self, full: Value) -> None:
        """The record's pixels in the tile; ``full``: all of it is covered."""
        f = self.f
        left, top, right, bottom = (self.word(TRIANGLE[n]) for n in ("left", "top", "right", "bottom"))
        box = (left, top, right - left, bottom - top)
        self.flags = self.word(TRIANGLE["flags"])
        self.coverage.begin()
        x0, x1 = f.max(left, self.tile_x), f.min(right, self.tile_x + (TILE - 1))
        y0, y1 = f.max(top, self.tile_y), f.min(bottom, self.tile_y + (TILE - 1))
        # Where the stamps of a row begin relative to each plane's origin.
        self.fraction_x = (self.lane_x.to_float() + 0.5) - self.word(TRIANGLE["x"], F32)
        self.wide_fraction = self.fraction_x.resize_float(F64)
        self.z = [self.word(TRIANGLE["z"] + 2 * k, F64) for k in range(3)]
        self.fraction_y = (self.lane_y.to_float() + 0.5) - self.word(TRIANGLE["y"], F32)
        viewport = f.offset(self.depth_ranges, (self.flags.shr(24) << 3).zext(I64))
        self.min_depth, self.max_depth = f.load(F32, viewport, 0), f.load(F32, viewport, 4)
        size = self.coverage.size
        large = (x1 - x0 >= BLOCK) & (y1 - y0 >= BLOCK)
        with f.count(y0 & -size, y1 + 1, size) as by, f.count(x0 & -size, x1 + 1, size) as bx:
            some, every = self.coverage.block(bx, by, full, box)
            if self.coarse_depth is not None:
                hidden = f.var(I1, 0)
                with f.if_(some & large):
                    hidden.set(self.coarse_depth.may_pass(bx, by) ^ True)
                some = some & (hidden.get() ^ True)
            with f.if_(some):
                with f.count(f.max(by, y0 & ~1), f.min(by + (size - 1), y1) + 1, 2) as y:
                    start, last = self.coverage.row(f.max(bx, x0 & ~(self.half - 1)), f.min(bx + (size - 1), x1), y)
                    with f.count(start, last + 1, self.half) as x:
                        self.stamp(x, y, every, box)
                if self.coarse_depth is not None:
                    self.coarse_depth.drawn(bx, by)

    def stamp(self, x: Value, y: Value, full: Value, box: Box) -> None:
        """(W/2) x 2 pixels."""
        f = self.f
        places = SAMPLES[self.key.samples]
        masks = [f.mask(self.lanes, enabled) for enabled in self.enabled]
        self.coverage.stamp(x, y, full, box, masks)
        with f.if_(f.any(reduce(or_, (m.get() for m in masks)))):
            self.x, self.y = x, y
            self.inside = ((x + self.half) <= self.width) & ((y + 2) <= self.height)
            self.centre = x.to_float() + self.fraction_x, y.to_float() + self.fraction_y
            self.wide_x = f.splat(x.to_float(F64), self.lanes) + self.wide_fraction
            if self.per_sample:
                self.one_by_one(masks)
            else:
                samples = [
                    _Sample(s, m, m.get(), sx / 16, sy / 16) for s, (m, (sx, sy)) in enumerate(zip(masks, places, strict=True))
                ]
                self.shade(samples, self.centre)

    def one_by_one(self, masks: list[MaskVariable]) -> None:
        """Each sample on its own."""
        f, n = self.f, self.key.samples
        table = Value(f, PTR, self.m.table("sample_places", F32, [v / 16 for place in SAMPLES[n] for v in place]))
        bits = f.array(I32, n)
        for k, m in enumerate(masks):
            f.store(f.mask_bits(m.get()).zext(I32), bits, 4 * k)
        mask = f.mask(self.lanes)
        with f.count(0, n) as s:
            here = f.load(I32, f.index(bits, I32, s.zext(I64)))
            with f.if_(here.ne(0)):
                mask.set(f.bits_mask(here, self.lanes))
                x, y = (f.load(F32, f.index(table, I64, s.zext(I64)), 4 * k) for k in range(2))
                self.shade([_Sample(s, mask, mask.get(), x, y)], (self.centre[0] + x, self.centre[1] + y))

    def union(self, samples: list[_Sample]) -> Value:
        """Pixels with a sample left."""
        return reduce(or_, (s.mask.get() for s in samples))

    def depth_at(self, x: float | Value, y: float | Value) -> Value:
        """Depth at a place in the pixels of the stamp, from their centres; clamped to the viewport's range."""
        f = self.f
        value, ddx, ddy = self.z
        fx, fy = self.wide_x, self.centre[1].resize_float(F64)
        if isinstance(x, Value) or x:
            fx = fx + (x.resize_float(F64) if isinstance(x, Value) else x)
        if isinstance(y, Value) or y:
            fy = fy + (y.resize_float(F64) if isinstance(y, Value) else y)
        z = f.fma(fx, ddx, f.fma(fy, ddy, f.splat(value, self.lanes)))
        return f.min(f.max(z.resize_float(F32), self.min_depth), self.max_depth)

    def shade(self, samples: list[_Sample], place: Place) -> None:
        """Test and shade samples of a stamp, some of which are covered, and queue the result. ``place``: where the program runs."""
        f, key = self.f, self.key
        if key.depth.format:
            for s in samples:
                s.depth = self.depth_at(s.x, s.y)
        if not self.forced:
            self.count_invocations(samples)
        if self.early or self.split:
            self.test(samples, None, test=True, write=self.early)
            if self.early:
                self.count_passed(samples)
            if self.forced:  # the program sees what is left
                for s in samples:
                    s.covered = s.mask.get()
                self.count_invocations(samples)
            with f.if_(f.any(self.union(samples))):
                self.run(samples, place)
        else:
            self.run(samples, place)

    def run(self, samples: list[_Sample], place: Place) -> None:
        """Run the pixel program and queue the result."""
        f, key, program = self.f, self.key, self.program
        reference = None
        outputs: dict[int, Variable] = {}
        if program is not None:
            centroid = self.centroid(samples) if len(samples) > 1 else place
            at = Interpolator(f, self.record, self.lanes, key.samples, dict(key.inputs), key.modes, self.centre, place, centroid)
            stage = PixelStage(program, self.union(samples), key.samples, at)
            self.inputs(stage, samples, at)
            outputs = stage.outputs = {i: f.var(I32 if i in key.uniform else self.ivec, 0) for i in key.outputs}
            for register in (OUTPUT_DEPTH_REGISTER, OUTPUT_COVERAGE_REGISTER, OUTPUT_STENCIL_REGISTER):
                outputs[register * 4] = f.var(self.ivec, 0)
            if self.discards:
                stage.killed = f.var(self.mvec, 0)
            Translator(f, self.lanes, program, key.shader, stage, self.block, self.stop).run()
            if isinstance(self.coverage, SmoothCoverage):
                part = self.coverage.parts.get().to_float() * (1.0 / len(PARTS))
                for index, v in outputs.items():
                    if index & 3 == 3 and index < 32:
                        v.set((v.get().bits(F32) * part).bits(I32))
            self.drop(samples, stage)
            if self.writes_depth:
                z = self.written_depth(outputs[OUTPUT_DEPTH_REGISTER * 4].get().bits(F32), samples)
                for s in samples:
                    s.depth = z
            if self.writes_stencil:
                reference = outputs[OUTPUT_STENCIL_REGISTER * 4].get() & 255
        if not self.early:
            self.test(samples, reference, test=not self.split, write=True)
            self.count_passed(samples)
        if key.outputs:
            with f.if_(f.any(self.union(samples))):
                self.enqueue(samples, outputs)

    def drop(self, samples: list[_Sample], stage: PixelStage) -> None:
        """Take out what the program discards or does not cover."""
        f = self.f
        if stage.killed is not None:
            for s in samples:
                s.mask.set(s.mask.get() & ~stage.killed.get())
        if self.writes_coverage:
            bits = stage.outputs[OUTPUT_COVERAGE_REGISTER * 4].get()
            for s in samples:
                s.mask.set(s.mask.get() & (bits & self.bit(s)).ne(0))
        if self.key.alphato_coverage and 3 in stage.outputs:
            alpha = f.saturate(stage.outputs[3].get().bits(F32))
            level = (alpha * float(self.key.samples) + 0.5).to_int()
            for s in samples:
                s.mask.set(s.mask.get() & (level > s.number))

    def bit(self, s: _Sample) -> int | Value:
        """A sample's bit in coverage masks."""
        return self.f.value(1, I32) << s.number if isinstance(s.number, Value) else 1 << s.number

    def written_depth(self, z: Value, samples: list[_Sample]) -> Value:
        """The program's depth, clamped to the viewport and to the side of the triangle's own that it promised."""
        f = self.f
        assert self.program is not None
        z = f.min(f.max(z.ne(z).select(0.0, z), self.min_depth), self.max_depth)
        promised = {v for r, _, v, _ in Declared.of(self.program).outputs if r == OUTPUT_DEPTH_REGISTER}
        if SystemValue.DEPTH_GREATER_EQUAL in promised:
            return f.max(z, self.own_depth(samples))
        if SystemValue.DEPTH_LESS_EQUAL in promised:
            return f.min(z, self.own_depth(samples))
        return z

    def own_depth(self, samples: list[_Sample]) -> Value:
        """The primitive's depth where the program runs."""
        if len(samples) == 1:
            depth = samples[0].depth
            return self.depth_at(samples[0].x, samples[0].y) if depth is None else depth
        return self.depth_at(0.0, 0.0)

    def counted(self, mask: Value) -> Value:
        """Lanes of a mask, 64 bits."""
        return self.f.call("llvm.ctpop.i32", I32, [self.f.mask_bits(mask).zext(I32)]).zext(I64)

    def count_passed(self, samples: list[_Sample]) -> None:
        """Count the samples that passed the tests, for occlusion queries."""
        if self.key.counting:
            for s in samples:
                self.samples_passed.set(self.samples_passed.get() + self.counted(s.mask.get()))

    def count_invocations(self, samples: list[_Sample]) -> None:
        """Count the pixels that the program runs for, for pipeline statistics: as if every one was tested after it, unless the
        program asks for early tests.
        """
        if self.key.counting and self.program is not None:
            self.invocations.set(self.invocations.get() + self.counted(self.union(samples)))

    def centroid(self, samples: list[_Sample]) -> Place:
        """The centre of pixels covered wholly or not at all, else the first covered sample."""
        if CENTROID not in self.where.values() and not self.evaluates:
            return self.centre
        f = self.f
        masks = [s.covered for s in samples]
        partly = reduce(or_, masks) & ~reduce(and_, masks)
        x, y = (f.value(0.0, self.fvec) for _ in range(2))
        for s in reversed(samples):
            x, y = s.covered.select(s.x, x), s.covered.select(s.y, y)
        return self.centre[0] + partly.select(x, 0.0), self.centre[1] + partly.select(y, 0.0)

    def inputs(self, stage: PixelStage, samples: list[_Sample], at: Interpolator) -> None:
        """Inputs and system values of the stamp."""
        f, key = self.f, self.key
        for index, _ in key.inputs:
            stage.values[index] = at.input(index, at.centroid if self.where[index] == CENTROID else at.shaded)
        assert self.program is not None
        own = samples[0].x, samples[0].y
        s = stage.systems
        position = [
            (self.lane_x + self.x).to_float() + 0.5 + (own[0] if self.per_sample else 0.0),
            (self.lane_y + self.y).to_float() + 0.5 + (own[1] if self.per_sample else 0.0),
            self.own_depth(samples),
            at.w(at.shaded),
        ]
        for k, x in enumerate(position):
            s[SystemRegister.POSITION_X + k] = x.bits(I32)
        s[SystemRegister.FRONT_FACE] = (self.flags & 1).ne(0).select(-1, f.value(0, I32))
        s[SystemRegister.PRIMITIVE_ID] = self.word(TRIANGLE["primitive"])
        s[SystemRegister.RENDER_TARGET_ARRAY_INDEX] = self.flags.shr(8) & 0xFFFF
        s[SystemRegister.VIEWPORT_ARRAY_INDEX] = self.flags.shr(24)
        number = samples[0].number
        s[SystemRegister.SAMPLE_INDEX] = number if isinstance(number, Value) else f.value(0, I32)
        covered: Value = f.value(0, self.ivec)
        for sample in samples:
            covered = covered | sample.covered.select(self.bit(sample), f.value(0, self.ivec))
        s[SystemRegister.COVERAGE] = covered
        for register, mask, meaning, _ in Declared.of(self.program).inputs:
            for c in range(4):
                if mask >> c & 1:
                    system = {
                        SystemValue.POSITION: SystemRegister.POSITION_X + c,
                        SystemValue.PRIMITIVE_ID: SystemRegister.PRIMITIVE_ID,
                        SystemValue.IS_FRONT_FACE: SystemRegister.FRONT_FACE,
                        SystemValue.SAMPLE_INDEX: SystemRegister.SAMPLE_INDEX,
                        SystemValue.RENDER_TARGET_ARRAY_INDEX: SystemRegister.RENDER_TARGET_ARRAY_INDEX,
                        SystemValue.VIEWPORT_ARRAY_INDEX: SystemRegister.VIEWPORT_ARRAY_INDEX,
                    }.get(SystemValue(meaning))
                    if system is not None:
                        stage.values[register * 4 + c] = s[system]

    # -- depth and stencil --------------------------------------------------------------------------------------------
    def depth_rows(self, sample: int | Value) -> Rows:
        """The depth buffer at a sample of the stamp."""
        f = self.f
        size = FORMATS[Format(self.key.depth.format)].bytes_per_block
        at = records.offset(records.PASS, "depth")
        base = f.load(PTR, self.pass_, at, constant=True)
        pitch, plane, slices = (
            f.load(I32, self.pass_, at + records.offset(records.SURFACE, name), constant=True)
            for name in ("row_pitch", "sample_pitch", "slice_pitch")
        )
        offset = self.y.zext(I64) * pitch.zext(I64) + (self.x * size).zext(I64)
        offset = offset + (self.flags.shr(8) & 0xFFFF).zext(I64) * slices.zext(I64)
        if isinstance(sample, Value):
            offset = offset + plane.zext(I64) * sample.zext(I64)
        elif sample:
            offset = offset + plane.zext(I64) * sample
        return Rows(f, self.lanes, f.offset(base, offset), pitch, size, self.inside)

    def test(self, samples: list[_Sample], reference: Value | None, *, test: bool, write: bool) -> None:
        """Test and update; the masks keep what passes. ``reference``: the program's, in place of the state's."""
        f, key = self.f, self.key.depth
        if not key.format or not (key.test or key.stencil):
            return
        if reference is None:
            reference = self.draw_field("stencil_reference", I32)
        for s in samples:
            assert s.depth is not None
            with f.if_(f.any(s.mask.get())):
                facing = (self.flags & 1).ne(0)
                depth_stencil(f, key, self.depth_rows(s.number), s.mask, s.depth, reference, facing, test=test, write=write)

    # -- the queue ----------------------------------------------------------------------------------------------------
    def enqueue(self, samples: list[_Sample], outputs: dict[int, Variable]) -> None:
        """Leave the stamp to the merger."""
        f, key = self.f, self.key
        n = self.queued.get()
        entry = f.offset(self.queue, (n * entry_bytes(len(key.outputs), self.lanes)).zext(I64))
        f.store(self.x, entry, 4 * ENTRY_X)
        f.store(self.y, entry, 4 * ENTRY_Y)
        f.store(self.flags.shr(8) & 0xFFFF, entry, 4 * ENTRY_SLICE)
        if self.per_sample:
            f.fill(f.offset(entry, 4 * ENTRY_MASKS), 0, 4 * key.samples)
        for s in samples:
            bits = f.mask_bits(s.mask.get()).zext(I32)
            if isinstance(s.number, Value):
                f.store(bits, f.index(f.offset(entry, 4 * ENTRY_MASKS), I32, s.number.zext(I64)))
            else:
                f.store(bits, entry, 4 * (ENTRY_MASKS + s.number))
        for k, index in enumerate(key.outputs):
            f.store(outputs[index].get(), entry, 4 * ENTRY_HEAD + k * self.lanes * 4, align=4)
        self.queued.set(n + 1)
        with f.if_((n + 1) >= QUEUE):
            self.flush()

    def flush(self) -> None:
        """Hand the queue to the merger."""
        f = self.f
        if not self.key.outputs:
            return
        merger = self.draw_field("merger_function", PTR)
        with f.if_(self.queued.get() > 0):
            if self.mode is not None:
                restore_float_mode(f, self.mode)
            f.call_pointer(merger, VOID, [self.pass_, self.draw, self.queue, self.queued.get()])
            if self.mode is not None:
                restore_float_mode(f, f.offset(self.mode, 4))
        self.queued.set(0)


__all__ = ["DepthKey", "PixelFunction", "PixelKey", "Slots", "colour_outputs", "compile_pixel", "link", "uniform_outputs"]
