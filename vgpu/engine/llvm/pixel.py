"""Pixels of one draw in one tile: coverage, depth and stencil, interpolation, pixel shader; then the output merger's queue.

``pixel(PASS*, DRAW*, entries*, count, tile_x, tile_y, scratch*, thread)`` runs over bin entries in order. A *stamp* is (W/2) x 2
pixels, row by row, so that quads for derivatives are whole and memory rows are vector loads. Stamps that pass are queued with
their colours; the queue is handed to the merger function when full and at the end, always in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wddm.hw.descriptors import Comparison, StencilOp
from wddm.hw.formats import FORMATS, Format
from wddm.hw.isa import (
    INDEX_MASK,
    OUTPUT_COVERAGE_REGISTER,
    OUTPUT_DEPTH_REGISTER,
    OUTPUT_STENCIL_REGISTER,
    Interpolation,
    Kind,
    Op,
    ProgramFlag,
    ShaderProgram,
    SystemRegister,
    SystemValue,
)

from . import formats, records
from .analysis import Instruction, instructions
from .builder import F32, F64, I1, I8, I16, I32, I64, PTR, VOID, Function, Module, Type, Value, Variable
from .records import TILE, TRIANGLE, TRIANGLE_PLANES
from .shader import Declared, ShaderKey, Slots, Stage, Translator
from .shader_errors import UnsupportedError
from .vertex import SCREEN_Z, VertexLayout

#: Sample positions, 1/16 pixel from the centre.
SAMPLES: Final = {
    1: ((0, 0),),
    2: ((4, 4), (-4, -4)),
    4: ((-2, -6), (6, -2), (-6, 2), (2, 6)),
    8: ((1, -3), (-1, 3), (5, 1), (-3, -5), (-5, 5), (-7, -1), (3, 7), (7, -7)),
}
QUEUE: Final = 32  #: stamps
#: Head of a queue entry, dwords: x, y, slice, then one mask per sample.
ENTRY_X, ENTRY_Y, ENTRY_SLICE, ENTRY_MASKS, ENTRY_HEAD = 0, 1, 2, 4, 16
#: Scratch: statistics first.
STATISTICS_BYTES: Final = 64
#: Edge functions change by less than this inside a pair of rows of a tile (steps are below 2**24): beyond it their sign is settled.
LARGEST: Final = (1 << 30) - 1


@dataclass(frozen=True, slots=True)
class DepthKey:
    """Depth and stencil state that is compiled in; ``format`` 0: no depth buffer."""

    format: int = 0
    test: int = 0  #: comparison, 0 = no test
    write: bool = False
    stencil: bool = False
    read_mask: int = 0
    write_mask: int = 0
    front: tuple[int, int, int, int] = (1, 1, 1, 8)  #: fail, depth fail, pass, comparison
    back: tuple[int, int, int, int] = (1, 1, 1, 8)


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
    count_samples: bool


def interpolation_mode(value: int, extra: int) -> tuple[int, int]:
    """(plane mode, where: 0 centre, 1 centroid, 2 sample) of a declared input."""
    kind = Interpolation(extra)
    if value in (SystemValue.PRIMITIVE_ID, SystemValue.RENDER_TARGET_ARRAY_INDEX, SystemValue.VIEWPORT_ARRAY_INDEX):
        return records.CONSTANT, 0
    if kind is Interpolation.CONSTANT:
        return records.CONSTANT, 0
    linear = kind in (
        Interpolation.LINEAR_NOPERSPECTIVE,
        Interpolation.LINEAR_NOPERSPECTIVE_CENTROID,
        Interpolation.LINEAR_NOPERSPECTIVE_SAMPLE,
    )
    where = 0
    if kind in (Interpolation.LINEAR_CENTROID, Interpolation.LINEAR_NOPERSPECTIVE_CENTROID):
        where = 1
    elif kind in (Interpolation.LINEAR_SAMPLE, Interpolation.LINEAR_NOPERSPECTIVE_SAMPLE):
        where = 2
    return (records.LINEAR if linear else records.PERSPECTIVE), where


def link(program: ShaderProgram | None, layout: VertexLayout) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Match pixel inputs with vertex outputs: ``(inputs of PixelKey, planes of SetupKey)``."""
    planes: list[tuple[int, int]] = []
    inputs: list[tuple[int, int]] = []
    if program is None:
        return (), ()
    for register, mask, value, extra in Declared.of(program).inputs:
        mode, _ = interpolation_mode(value, extra)
        if value in (SystemValue.POSITION, SystemValue.PRIMITIVE_ID, SystemValue.IS_FRONT_FACE, SystemValue.SAMPLE_INDEX,
                     SystemValue.RENDER_TARGET_ARRAY_INDEX, SystemValue.VIEWPORT_ARRAY_INDEX):  # fmt: skip
            continue
        for c in range(4):
            if mask >> c & 1:
                component = layout.component(register * 4 + c)
                inputs.append((register * 4 + c, len(planes)))
                planes.append((-1 if component is None else component, mode))
    return tuple(inputs), tuple(planes)


class PixelStage(Stage):
    """Interpolated inputs, position, coverage; outputs to variables."""

    quads = True

    def __init__(self) -> None:
        self.values: dict[int, Value] = {}
        self.systems: dict[int, Value] = {}
        self.outputs: dict[int, Variable] = {}
        self.killed: Variable | None = None
        self.coverage: Value | None = None

    def operand_shape(self, word: int) -> int | None:
        if word >> 28 == Kind.SYSTEM and word & INDEX_MASK in (
            SystemRegister.FRONT_FACE,
            SystemRegister.PRIMITIVE_ID,
            SystemRegister.RENDER_TARGET_ARRAY_INDEX,
            SystemRegister.VIEWPORT_ARRAY_INDEX,
            SystemRegister.SAMPLE_INDEX,
        ):
            return 0
        return None

    def input(self, t: Translator, index: int) -> Value:
        return self.values.get(index, t.full(t.zero()))

    def load_input(self, t: Translator, index: Value, vertex: Value | None) -> Value:
        result = t.full(t.zero())
        for at, x in self.values.items():
            result = t.full(index).eq(at).select(t.full(x), result)
        return result

    def system(self, t: Translator, register: int) -> Value:
        return self.systems.get(register, t.zero())

    def store_output(self, t: Translator, index: int, x: Value, mask: Value | None) -> None:
        v = self.outputs.get(index)
        if v is not None:
            v.set(t.full(x) if mask is None else mask.select(t.full(x), v.get()))

    def store_output_indexed(self, t: Translator, index: Value, x: Value, mask: Value | None) -> None:
        for at, v in self.outputs.items():
            hit = index.eq(at) if mask is None else index.eq(at) & mask
            v.set(hit.select(x, v.get()))

    def effects(self, t: Translator, mask: Value | None) -> Value | None:
        assert self.coverage is not None
        live = self.coverage
        if self.killed is not None:
            live = live & ~self.killed.get()
        return live if mask is None else live & mask

    def discard(self, t: Translator, mask: Value) -> None:
        assert self.killed is not None
        self.killed.set(self.killed.get() | mask)

    def other(self, t: Translator, ins: Instruction) -> bool:
        if ins[0] in (Op.EVAL_CENTROID, Op.EVAL_SAMPLE, Op.EVAL_SNAPPED):
            raise UnsupportedError("interpolation at a chosen place")
        return ins[0] == Op.BARRIER


def colour_outputs(program: ShaderProgram | None) -> tuple[int, ...]:
    """Colour output components in queue order."""
    if program is None:
        return ()
    found: set[int] = set()
    for register, mask, _, _ in Declared.of(program).outputs:
        if register < 8:
            found.update(register * 4 + c for c in range(4) if mask >> c & 1)
    return tuple(sorted(found))


def entry_bytes(outputs: int, lanes: int) -> int:
    """Size of a queue entry."""
    return ENTRY_HEAD * 4 + outputs * lanes * 4


def scratch_bytes(outputs: int, lanes: int) -> int:
    """Scratch a pixel function needs per thread."""
    return STATISTICS_BYTES + QUEUE * entry_bytes(outputs, lanes) + 64


def compile_pixel(program: ShaderProgram | None, key: PixelKey) -> str:
    """The IR of ``pixel``. Without a program only depth and stencil are done."""
    return _Pixel(program, key).write()


def plain_depth(f: Function, z: Value, info_bits: int, is_float: bool) -> Value:
    """Depth as it is stored, from a clamped float."""
    return z.bits(I32) if is_float else formats.unorm(f, z, info_bits)


def compare(f: Function, function: int, a: Value, b: Value) -> Value:
    """Comparison a ? b by Direct3D number; integers unsigned."""
    if a.type.kind == "f":
        return {
            Comparison.NEVER: lambda: f.value(0, I1.vector(a.type.lanes)),
            Comparison.LESS: lambda: a < b,
            Comparison.EQUAL: lambda: a.eq(b),
            Comparison.LESS_EQUAL: lambda: a <= b,
            Comparison.GREATER: lambda: a > b,
            Comparison.NOT_EQUAL: lambda: a.ne(b),
            Comparison.GREATER_EQUAL: lambda: a >= b,
            Comparison.ALWAYS: lambda: f.value(1, I1.vector(a.type.lanes)),
        }[Comparison(function)]()
    always, never = f.value(1, I1.vector(a.type.lanes)), f.value(0, I1.vector(a.type.lanes))
    return {
        Comparison.NEVER: lambda: never,
        Comparison.LESS: lambda: a.ult(b),
        Comparison.EQUAL: lambda: a.eq(b),
        Comparison.LESS_EQUAL: lambda: a.ule(b),
        Comparison.GREATER: lambda: a.ugt(b),
        Comparison.NOT_EQUAL: lambda: a.ne(b),
        Comparison.GREATER_EQUAL: lambda: a.uge(b),
        Comparison.ALWAYS: lambda: always,
    }[Comparison(function)]()


def stencil_operation(f: Function, op: int, old: Value, reference: Value) -> Value:
    """The new 8-bit stencil value."""
    return {
        StencilOp.KEEP: lambda: old,
        StencilOp.ZERO: lambda: old & 0,
        StencilOp.REPLACE: lambda: reference,
        StencilOp.INCR_SAT: lambda: f.umin(old + 1, 255),
        StencilOp.DECR_SAT: lambda: old.eq(0).select(0, old - 1),
        StencilOp.INVERT: lambda: ~old & 255,
        StencilOp.INCR: lambda: (old + 1) & 255,
        StencilOp.DECR: lambda: (old - 1) & 255,
    }[StencilOp(op)]()


class Rows:
    """Two half-vectors of consecutive elements in neighbouring rows of a surface, as one vector."""

    def __init__(self, f: Function, lanes: int, pointer: Value, pitch: Value, size: int) -> None:
        self.f, self.half, self.size = f, lanes // 2, size
        self.pointers = (pointer, f.offset(pointer, pitch.zext(I64)))

    def masks(self, mask: Value, repeat: int = 1) -> list[Value]:
        """The two halves of a mask, each lane repeated."""
        return [mask.shuffle([start + i // repeat for i in range(self.half * repeat)]) for start in (0, self.half)]

    def load(self, mask: Value) -> list[Value]:
        """The dwords of the elements in ``mask`` (small elements: zero-extended)."""
        f, half = self.f, self.half
        if self.size < 4:
            t = (I8 if self.size == 1 else I16).vector(half)
            rows = [f.masked_load(t, p, m, align=self.size) for p, m in zip(self.pointers, self.masks(mask), strict=True)]
            return [f.concat(*rows).zext(I32)]
        words = self.size // 4
        t = I32.vector(half * words)
        rows = [f.masked_load(t, p, m, align=4) for p, m in zip(self.pointers, self.masks(mask, words), strict=True)]
        if words == 1:
            return [f.concat(*rows)]
        return [
            rows[0].shuffle([i * words + k for i in range(half)] + [half * words + i * words + k for i in range(half)], rows[1])
            for k in range(words)
        ]

    def store(self, words: list[Value], mask: Value) -> None:
        """Write the elements in ``mask``."""
        f, half = self.f, self.half
        if self.size < 4:
            narrow = words[0].trunc(I8 if self.size == 1 else I16)
            for k, (p, m) in enumerate(zip(self.pointers, self.masks(mask), strict=True)):
                f.masked_store(narrow.shuffle(range(k * half, (k + 1) * half)), p, m, align=self.size)
            return
        n = len(words)
        for k, (p, m) in enumerate(zip(self.pointers, self.masks(mask, n), strict=True)):
            parts = [w.shuffle(range(k * half, (k + 1) * half)) for w in words]
            if n == 1:
                row = parts[0]
            elif n == 2:
                row = parts[0].shuffle([i // 2 + (i % 2) * half for i in range(2 * half)], parts[1])
            else:
                low, high = f.concat(parts[0], parts[1]), f.concat(parts[2], parts[3])
                row = low.shuffle([i // 4 + (i % 4) * half for i in range(4 * half)], high)
            f.masked_store(row, p, m, align=4)


class _Pixel:
    def __init__(self, program: ShaderProgram | None, key: PixelKey) -> None:
        self.program, self.key, self.lanes = program, key, key.lanes
        self.half = key.lanes // 2
        self.m = Module()
        self.f = self.m.function("pixel", VOID, [PTR, PTR, PTR, I32, I32, I32, PTR, I32])
        self.pass_, self.draw, self.entries, self.count, self.tile_x, self.tile_y, self.scratch, self.thread = self.f.arguments
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
        forced = bool(flags & ProgramFlag.EARLY_DEPTH_STENCIL)
        changes = self.discards or self.writes_coverage or key.alphato_coverage
        self.early = forced or not (self.writes_depth or self.writes_stencil or changes or effects)
        #: Test before the shader and write after it: what the shader drops must not be written, but the test stands.
        self.split = not self.early and not self.writes_depth and not self.writes_stencil and not effects and not key.depth.stencil
        declared = Declared.of(program).inputs if program else []
        modes = [interpolation_mode(v, e) for _, _, v, e in declared]
        sample_inputs = any(where == 2 for _, where in modes)
        uses = {word & INDEX_MASK for ins in code for word in ins[3] if word >> 28 == Kind.SYSTEM}
        self.uses = uses
        self.per_sample = key.samples > 1 and (
            sample_inputs or SystemRegister.SAMPLE_INDEX in uses or bool(flags & ProgramFlag.SAMPLE_FREQUENCY)
        )
        self.centroid = key.samples > 1 and any(where == 1 for _, where in modes)
        if self.per_sample or self.centroid:
            raise UnsupportedError("sample frequency and centroid")

    def draw_field(self, name: str, t: Type) -> Value:
        return self.f.load(t, self.draw, records.offset(records.DRAW, name), constant=True)

    def write(self) -> str:
        f, key = self.f, self.key
        with f.prologue():
            self.arena = f.load(PTR, self.pass_, records.offset(records.PASS, "arena"), constant=True)
            self.stop = f.load(PTR, self.pass_, records.offset(records.PASS, "stop"), constant=True)
            self.block = self.draw_field("pixel_block", PTR)
            self.depth_ranges = self.draw_field("depth_ranges", PTR)
            self.sample_mask = self.draw_field("sample_mask", I32)
            self.queue = f.offset(self.scratch, STATISTICS_BYTES)
            lane = list(range(self.lanes))
            self.lane_x = f.vector(I32, [i % self.half for i in lane])
            self.lane_y = f.vector(I32, [i // self.half for i in lane])
        self.queued = f.var(I32, 0)
        self.invocations, self.passed_samples = f.var(I64, 0), f.var(I64, 0)
        with f.count(0, self.count) as i:
            entry = f.load(I32, f.index(self.entries, I32, i.zext(I64)))
            self.triangle = f.offset(self.arena, (entry & 0x7FFF_FFFF).zext(I64) << 4)
            self.triangle_in_tile(entry < 0)
        self.flush()
        f.store(f.load(I64, self.scratch, 0) + self.invocations.get(), self.scratch, 0)
        if key.count_samples:
            pointer = self.draw_field("samples_passed", PTR)
            mine = f.index(pointer, I64, (self.thread << 3).zext(I64))
            f.store(f.load(I64, mine) + self.passed_samples.get(), mine)
        f.ret()
        return str(self.m)

    def word(self, index: int, t: Type = I32) -> Value:
        """A word of the triangle record."""
        return self.f.load(t, self.triangle, 4 * index, align=4)

    def triangle_in_tile(self, full: Value) -> None:
        f = self.f
        a = [self.word(TRIANGLE["a"] + i) for i in range(3)]
        b = [self.word(TRIANGLE["b"] + i) for i in range(3)]
        c = [self.word(TRIANGLE["c"] + 2 * i, I64) for i in range(3)]
        left, top, right, bottom = (self.word(TRIANGLE[n]) for n in ("left", "top", "right", "bottom"))
        self.box = (left, top, right - left, bottom - top)
        # Edge functions at pixel (0, 0) of each sample, in units of 256: exact, since steps from pixel to pixel are whole.
        self.constants = [
            [(c[i] + a[i].sext(I64) * (128 + 16 * sx) + b[i].sext(I64) * (128 + 16 * sy)) >> 8 for i in range(3)]
            for sx, sy in SAMPLES[self.key.samples]
        ]
        self.lane_edges = [self.lane_x * a[i] + self.lane_y * b[i] for i in range(3)]
        self.a, self.b = a, b
        origin = (self.word(TRIANGLE["x"], F32), self.word(TRIANGLE["y"], F32))
        self.origin = origin
        self.flags = self.word(TRIANGLE["flags"])
        x0, x1 = f.max(left, self.tile_x), f.min(right, self.tile_x + (TILE - 1))
        y0, y1 = f.max(top, self.tile_y), f.min(bottom, self.tile_y + (TILE - 1))
        # Where the stamps of a row begin relative to each plane's origin.
        self.fraction_x = (self.lane_x.to_float() + 0.5) - origin[0]
        self.fraction_y = (self.lane_y.to_float() + 0.5) - origin[1]
        start_x, start_y = x0 & ~(self.half - 1), y0 & ~1
        viewport = f.offset(self.depth_ranges, (self.flags.shr(24) << 3).zext(I64))
        self.min_depth, self.max_depth = f.load(F32, viewport, 0), f.load(F32, viewport, 4)
        with f.count(start_y, y1 + 1, 2) as y:
            # Inside a pair of rows edge functions stay within 32 bits of where they can change sign.
            self.row_edges = [
                [
                    f.max(f.min(k + a[i].sext(I64) * start_x.sext(I64) + b[i].sext(I64) * y.sext(I64), LARGEST), -LARGEST).trunc(
                        I32
                    )
                    + self.lane_edges[i]
                    for i, k in enumerate(constants)
                ]
                for constants in self.constants
            ]
            self.row_start = start_x
            with f.count(start_x, x1 + 1, self.half) as x:
                self.stamp(x, y, full)

    def stamp(self, x: Value, y: Value, full: Value) -> None:
        f, key = self.f, self.key
        masks = [f.var(self.mvec, 1) for _ in range(key.samples)]
        with f.if_(full ^ True):
            rx = x - self.row_start
            inside = ((x - self.box[0]) + self.lane_x).ule(self.box[2]) & ((y - self.box[1]) + self.lane_y).ule(self.box[3])
            offsets = [self.a[i] * rx for i in range(3)]
            for mask, vectors in zip(masks, self.row_edges, strict=True):
                e = [v + o for v, o in zip(vectors, offsets, strict=True)]
                mask.set(((e[0] | e[1] | e[2]) >= 0) & inside)
        for s, mask in enumerate(masks):
            enabled = (self.sample_mask.shr(s) & 1).ne(0)
            mask.set(mask.get() & f.splat(enabled, self.lanes))
        self.masks = masks
        with f.if_(f.any(self.union())):
            self.x, self.y = x, y
            self.fx, self.fy = x.to_float() + self.fraction_x, y.to_float() + self.fraction_y
            self.covered()

    def union(self) -> Value:
        """Pixels with a sample left."""
        result = self.masks[0].get()
        for m in self.masks[1:]:
            result = result | m.get()
        return result

    def plane(self, word: int, fx: Value, fy: Value) -> Value:
        """A plane at the pixels of the stamp."""
        f = self.f
        value, ddx, ddy = (self.word(word + k, F32) for k in range(3))
        return f.fma(fx, ddx, f.fma(fy, ddy, f.splat(value, self.lanes)))

    def depth_plane(self, sx: int = 0, sy: int = 0) -> Value:
        """Depth at the pixels of the stamp, moved by 1/16 pixels; clamped to the viewport's range."""
        f = self.f
        value, ddx, ddy = (self.word(TRIANGLE["z"] + 2 * k, F64) for k in range(3))
        fx, fy = self.fx.resize_float(F64) + sx / 16, self.fy.resize_float(F64) + sy / 16
        z = f.fma(fx, ddx, f.fma(fy, ddy, f.splat(value, self.lanes)))
        return f.min(f.max(z.resize_float(F32), self.min_depth), self.max_depth)

    def covered(self) -> None:
        """Some sample is covered."""
        f, key = self.f, self.key
        self.depths = [self.depth_plane(sx, sy) for sx, sy in SAMPLES[key.samples]] if key.depth.format else []
        if self.early or self.split:
            self.depth_stencil(test=True, write=self.early, reference=None)
            if self.early:
                self.count_passed()
            with f.if_(f.any(self.union())):
                self.shade()
        else:
            self.shade()

    def shade(self) -> None:
        """Run the pixel shader and queue the result."""
        f, key, program = self.f, self.key, self.program
        coverage = self.union()
        stage = PixelStage()
        stage.coverage, stage.samples = coverage, key.samples
        if program is not None:
            self.invocations.set(
                self.invocations.get() + f.call("llvm.ctpop.i32", I32, [f.mask_bits(coverage).zext(I32)]).zext(I64)
            )
            self.interpolate(stage)
            stage.outputs = {index: f.var(self.ivec, 0) for index in key.outputs}
            for register in (OUTPUT_DEPTH_REGISTER, OUTPUT_COVERAGE_REGISTER, OUTPUT_STENCIL_REGISTER):
                stage.outputs[register * 4] = f.var(self.ivec, 0)
            if self.discards:
                stage.killed = f.var(self.mvec, 0)
            Translator(f, self.lanes, program, key.shader, stage, self.block, self.stop).run()
            if stage.killed is not None:
                for m in self.masks:
                    m.set(m.get() & ~stage.killed.get())
            if self.writes_coverage:
                bits = stage.outputs[OUTPUT_COVERAGE_REGISTER * 4].get()
                for s, m in enumerate(self.masks):
                    m.set(m.get() & (bits & (1 << s)).ne(0))
            if key.alphato_coverage and 3 in stage.outputs:
                alpha = f.saturate(stage.outputs[3].get().bits(F32))
                level = (alpha * float(key.samples) + 0.5).to_int()
                for s, m in enumerate(self.masks):
                    m.set(m.get() & (level > s))
            if self.writes_depth:
                self.depths = [self.written_depth(stage.outputs[OUTPUT_DEPTH_REGISTER * 4].get().bits(F32))] * key.samples
        if not self.early:
            reference = stage.outputs[OUTPUT_STENCIL_REGISTER * 4].get() & 255 if self.writes_stencil else None
            self.depth_stencil(test=not self.split, write=True, reference=reference)
            self.count_passed()
        if key.outputs:
            with f.if_(f.any(self.union())):
                self.enqueue(stage)

    def written_depth(self, z: Value) -> Value:
        """The program's depth, clamped to the viewport and to the side of the triangle's own that it promised."""
        f = self.f
        assert self.program is not None
        z = f.min(f.max(z.ne(z).select(0.0, z), self.min_depth), self.max_depth)
        promised = {v for r, _, v, _ in Declared.of(self.program).outputs if r == OUTPUT_DEPTH_REGISTER}
        if SystemValue.DEPTH_GREATER_EQUAL in promised:
            return f.max(z, self.depth_plane())
        if SystemValue.DEPTH_LESS_EQUAL in promised:
            return f.min(z, self.depth_plane())
        return z

    def count_passed(self) -> None:
        """Count the samples that passed the tests, for occlusion queries."""
        if not self.key.count_samples:
            return
        f = self.f
        for m in self.masks:
            bits = f.mask_bits(m.get()).zext(I32)
            self.passed_samples.set(self.passed_samples.get() + f.call("llvm.ctpop.i32", I32, [bits]).zext(I64))

    def interpolate(self, stage: PixelStage) -> None:
        """Inputs and system values of the stamp."""
        f, key = self.f, self.key
        w: Value | None = None
        if records.PERSPECTIVE in key.modes or SystemRegister.POSITION_W in self.uses or self.program is not None:
            w = 1.0 / self.plane(TRIANGLE["w"], self.fx, self.fy)
        for index, number in key.inputs:
            at = TRIANGLE_PLANES + 3 * number
            mode = key.modes[number]
            if mode == records.CONSTANT:
                stage.values[index] = self.f.splat(self.word(at), self.lanes)
            else:
                value = self.plane(at, self.fx, self.fy)
                if mode == records.PERSPECTIVE and w is not None:
                    value = value * w
                stage.values[index] = value.bits(I32)
        assert self.program is not None
        position = [
            (self.lane_x + self.x).to_float() + 0.5,
            (self.lane_y + self.y).to_float() + 0.5,
            self.depths[0] if key.samples == 1 and self.depths else self.depth_plane(),
            w,
        ]
        facing = (self.flags & 1).ne(0).select(-1, f.value(0, I32))
        s = stage.systems
        for k, x in enumerate(position):
            assert x is not None
            s[SystemRegister.POSITION_X + k] = x.bits(I32)
        s[SystemRegister.FRONT_FACE] = facing
        s[SystemRegister.PRIMITIVE_ID] = self.word(TRIANGLE["primitive"])
        s[SystemRegister.RENDER_TARGET_ARRAY_INDEX] = self.flags.shr(8) & 0xFFFF
        s[SystemRegister.VIEWPORT_ARRAY_INDEX] = self.flags.shr(24)
        s[SystemRegister.SAMPLE_INDEX] = f.value(0, I32)
        covered: Value = f.value(0, self.ivec)
        for bit, m in enumerate(self.masks):
            covered = covered | m.get().select(1 << bit, f.value(0, self.ivec))
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
    def depth_rows(self, sample: int, size: int) -> Rows:
        f = self.f
        at = records.offset(records.PASS, "depth")
        base = f.load(PTR, self.pass_, at, constant=True)
        pitch = f.load(I32, self.pass_, at + records.offset(records.SURFACE, "row_pitch"), constant=True)
        plane = f.load(I32, self.pass_, at + records.offset(records.SURFACE, "sample_pitch"), constant=True)
        slices = f.load(I32, self.pass_, at + records.offset(records.SURFACE, "slice_pitch"), constant=True)
        offset = self.y.zext(I64) * pitch.zext(I64) + (self.x * size).zext(I64)
        offset = offset + (self.flags.shr(8) & 0xFFFF).zext(I64) * slices.zext(I64)
        if sample:
            offset = offset + plane.zext(I64) * sample
        return Rows(f, self.lanes, f.offset(base, offset), pitch, size)

    def depth_stencil(self, *, test: bool, write: bool, reference: Value | None) -> None:
        """Test and update; the masks keep what passes."""
        key = self.key.depth
        if not key.format or not (key.test or key.stencil):
            return
        info = FORMATS[Format(key.format)]
        for sample in range(self.key.samples):
            mask = self.masks[sample]
            with self.f.if_(self.f.any(mask.get())):
                self.depth_sample(info.bytes_per_block, sample, mask, test=test, write=write, reference=reference)

    def depth_sample(self, size: int, sample: int, mask: Variable, *, test: bool, write: bool, reference: Value | None) -> None:
        f, key = self.f, self.key.depth
        info = FORMATS[Format(key.format)]
        assert info.depth is not None
        bits, is_float = info.depth.bits, info.depth.bits == 32
        z = self.depths[sample]
        if is_float:
            z = f.saturate(z)
        new = plain_depth(f, z, bits, is_float)
        rows = self.depth_rows(sample, size)
        before = mask.get()
        words = rows.load(before)
        old = words[0] if bits in (16, 32) else words[0] & 0xFF_FFFF
        stencil_word = words[1] & 255 if size == 8 else words[0].shr(24)
        shown = (new.bits(F32), old.bits(F32)) if is_float else (new, old)
        passes = compare(f, key.test, *shown) if key.test and test else f.value(1, self.mvec)
        depth_ok = before & passes
        stencil = None
        if key.stencil:
            ref = f.splat(self.draw_field("stencil_reference", I32), self.lanes) if reference is None else reference
            front_facing = (self.flags & 1).ne(0)

            def faces(k: int, make: object) -> Value:
                one, two = make(key.front[k]), make(key.back[k])  # type: ignore[operator]
                return one if key.front == key.back else front_facing.select(one, two)

            masked_ref, masked_old = ref & key.read_mask, stencil_word & key.read_mask
            stencil_ok = faces(3, lambda fn: compare(f, fn, masked_ref, masked_old)) & before
            depth_ok = depth_ok & stencil_ok
            failed = faces(0, lambda op: stencil_operation(f, op, stencil_word, ref))
            depth_failed = faces(1, lambda op: stencil_operation(f, op, stencil_word, ref))
            passed = faces(2, lambda op: stencil_operation(f, op, stencil_word, ref))
            updated = stencil_ok.select(depth_ok.select(passed, depth_failed), failed)
            stencil = (updated & key.write_mask) | (stencil_word & (255 & ~key.write_mask))
        if write:
            depth_write = key.write and key.test
            if size == 8:
                second = words[1] if stencil is None else (words[1] & ~255) | stencil
                first = depth_ok.select(new, old) if depth_write else old
                if depth_write or stencil is not None:
                    rows.store([first, second], before if stencil is not None else depth_ok)
            elif bits == 24:
                low = depth_ok.select(new, old) if depth_write else old
                high = (stencil_word if stencil is None else stencil) << 24
                if depth_write or stencil is not None:
                    rows.store([low | high], before if stencil is not None else depth_ok)
            elif depth_write:
                rows.store([new], depth_ok)
        mask.set(depth_ok)

    # -- the queue ----------------------------------------------------------------------------------------------------
    def enqueue(self, stage: PixelStage) -> None:
        f, key = self.f, self.key
        n = self.queued.get()
        size = entry_bytes(len(key.outputs), self.lanes)
        entry = f.offset(self.queue, (n * size).zext(I64))
        f.store(self.x, entry, 4 * ENTRY_X)
        f.store(self.y, entry, 4 * ENTRY_Y)
        f.store(self.flags.shr(8) & 0xFFFF, entry, 4 * ENTRY_SLICE)
        for s, m in enumerate(self.masks):
            f.store(f.mask_bits(m.get()).zext(I32), entry, 4 * (ENTRY_MASKS + s))
        for k, index in enumerate(key.outputs):
            f.store(stage.outputs[index].get(), entry, 4 * ENTRY_HEAD + k * self.lanes * 4, align=4)
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
            f.call_pointer(merger, VOID, [self.pass_, self.draw, self.queue, self.queued.get()])
        self.queued.set(0)


__all__ = ["SCREEN_Z", "DepthKey", "PixelKey", "Slots", "compile_pixel"]
