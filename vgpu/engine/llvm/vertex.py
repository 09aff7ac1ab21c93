"""Vertex fetch and vertex shader as one function over a batch of vertices.

``vertex(FRONT*, ids*, instances*, count, out*)``: fetches each vertex's elements, runs the shader, divides, maps to the viewport,
snaps to 1/256 pixel and classifies against the clip planes. The result is a store of components by lanes: component c of vertex
v lies at ``out[(v / W * components + c) * W + v % W]``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wddm.hw.descriptors import InputElement
from wddm.hw.formats import FORMATS, Format
from wddm.hw.isa import INDEX_MASK, Kind, ShaderProgram, SystemRegister, SystemValue

from . import formats, maths, records
from .builder import F32, F64, I1, I8, I16, I32, I64, PTR, VOID, Function, Module, Type, Value, Variable
from .float_mode import float_mode
from .shader import Declared, ShaderKey, Stage, Translator

#: Components every vertex has in the store.
CLIP_X, CLIP_Y, CLIP_Z, CLIP_W, SCREEN_X, SCREEN_Y, SCREEN_Z, SCREEN_Z_HIGH, RECIPROCAL_W, CODE, VIEWPORT, SLICE = range(12)
FIRST_OUTPUT: Final = 12

#: Clip code bits. A triangle whose vertices share one of REJECT is not visible; one of NEEDS_CLIP in a vertex asks for the clipper.
LEFT, RIGHT, BOTTOM, TOP, NEAR, FAR = (1 << i for i in range(6))
GUARD_LEFT, GUARD_RIGHT, GUARD_BOTTOM, GUARD_TOP, BEHIND = (1 << i for i in range(6, 11))
USER: Final = 1 << 12  #: and the seven bits above: clip distances
CULL: Final = 1 << 20  #: and above: cull distances (reject only)
REJECT: Final = 63 | 0xFF << 12 | 0xFF << 20
NOT_A_NUMBER: Final = 1 << 28
NEEDS_CLIP: Final = NEAR | FAR | GUARD_LEFT | GUARD_RIGHT | GUARD_BOTTOM | GUARD_TOP | BEHIND | 0xFF << 12

#: Pixels from the origin beyond which fixed point does not reach: primitives are cut there.
RANGE: Final = 32768.0


@dataclass(frozen=True, slots=True)
class VertexLayout:
    """Where a vertex program's outputs lie in the store."""

    registers: tuple[tuple[int, int], ...]  #: (register, mask) in order
    components: int
    clip: tuple[tuple[int, int], ...]  #: (register, component) of clip distances
    cull: tuple[tuple[int, int], ...]
    position: int  #: register, -1 without one
    viewport: int
    slice: int

    @classmethod
    def of(cls, program: ShaderProgram) -> VertexLayout:
        """From the declarations of the last stage before the rasterizer."""
        masks: dict[int, int] = {}
        clip: list[tuple[int, int]] = []
        cull: list[tuple[int, int]] = []
        special = {SystemValue.POSITION: -1, SystemValue.VIEWPORT_ARRAY_INDEX: -1, SystemValue.RENDER_TARGET_ARRAY_INDEX: -1}
        for register, mask, value, _ in Declared.of(program).outputs:
            masks[register] = masks.get(register, 0) | mask
            parts = [(register, c) for c in range(4) if mask >> c & 1]
            if value == SystemValue.CLIP_DISTANCE:
                clip += parts
            elif value == SystemValue.CULL_DISTANCE:
                cull += parts
            elif value in special:
                special[SystemValue(value)] = register * 4 + parts[0][1]
        registers = tuple(sorted(masks.items()))
        count = sum(bin(m).count("1") for _, m in registers)
        return cls(
            registers,
            FIRST_OUTPUT + count,
            tuple(clip),
            tuple(cull),
            special[SystemValue.POSITION],
            special[SystemValue.VIEWPORT_ARRAY_INDEX],
            special[SystemValue.RENDER_TARGET_ARRAY_INDEX],
        )

    def component(self, index: int) -> int | None:
        """Place in the store of output register * 4 + component; None when the program does not write it."""
        at = FIRST_OUTPUT
        for register, mask in self.registers:
            for c in range(4):
                if mask >> c & 1:
                    if register * 4 + c == index:
                        return at
                    at += 1
        return None


class VertexStage(Stage):
    """Inputs from vertex buffers, outputs to variables."""

    def __init__(self, elements: tuple[InputElement, ...]) -> None:
        self.elements = {e.register: e for e in elements}
        self.fetched: dict[int, list[Value]] = {}
        self.outputs: dict[int, Variable] = {}
        self.id: Value | None = None
        self.instance: Value | None = None
        self.front: Value | None = None

    def input(self, t: Translator, index: int) -> Value:
        return self.fetched[index >> 2][index & 3] if index >> 2 in self.fetched else t.zero()

    def load_input(self, t: Translator, index: Value, vertex: Value | None) -> Value:
        result = t.full(t.zero())
        for register, values in self.fetched.items():
            for c, x in enumerate(values):
                result = t.full(index).eq(register * 4 + c).select(t.full(x), result)
        return result

    def system(self, t: Translator, register: int) -> Value:
        value = {SystemRegister.VERTEX_ID: self.id, SystemRegister.INSTANCE_ID: self.instance}.get(SystemRegister(register))
        return t.zero() if value is None else value

    def store_output(self, t: Translator, index: int, x: Value, mask: Value | None) -> None:
        v = self.outputs.get(index)
        if v is not None:
            v.set(t.full(x) if mask is None else mask.select(t.full(x), v.get()))

    def store_output_indexed(self, t: Translator, index: Value, x: Value, mask: Value | None) -> None:
        for at, v in self.outputs.items():
            hit = index.eq(at) if mask is None else index.eq(at) & mask
            v.set(hit.select(x, v.get()))


def front_field(f: Function, front: Value, name: str, t: object) -> Value:
    """A field of FRONT that does not change while the draw runs."""
    return f.load(t, front, records.offset(records.FRONT, name), constant=True)  # type: ignore[arg-type]


def compile_vertex(
    program: ShaderProgram, key: ShaderKey, elements: tuple[InputElement, ...], layout: VertexLayout, lanes: int, last: bool = True
) -> str:
    """The IR of ``vertex``; ``last``: what comes next is the rasterizer."""
    m = Module()
    f = m.function("vertex", VOID, [PTR, PTR, PTR, I32, PTR])
    front, ids, instances, count, out = f.arguments
    with f.prologue():
        block = front_field(f, front, "vertex_block", PTR)
        stop = front_field(f, front, "stop", PTR)
    stage = VertexStage(elements)
    stage.front = front
    declared = {register for register, _, _, _ in Declared.of(program).inputs}
    plans = {r: _plan(f, front, e) for r, e in stage.elements.items() if r in declared}
    ivec = I32.vector(lanes)
    with float_mode(f, program), f.count(0, count, lanes) as first:
        at = first.zext(I64) << 2
        stage.id = f.load(ivec, ids, at)
        number = f.load(ivec, instances, at)
        stage.instance = number
        stage.fetched = {
            r: [x.bits(I32) for x in _fetch(f, stage.elements[r], plan, stage.id, number)] for r, plan in plans.items()
        }
        for register, mask, value, _ in Declared.of(program).inputs:
            generated = {SystemValue.VERTEX_ID: stage.id, SystemValue.INSTANCE_ID: number}.get(SystemValue(value))
            if generated is not None:
                row = stage.fetched.setdefault(register, [f.value(0, ivec)] * 4)
                row[(mask & -mask).bit_length() - 1] = generated
        stage.outputs = {register * 4 + c: f.var(ivec) for register, mask in layout.registers for c in range(4) if mask >> c & 1}
        for v in stage.outputs.values():
            v.set(0)
        t = Translator(f, lanes, program, key, stage, block, stop)
        t.run()
        base = f.offset(out, (first * layout.components).zext(I64) << 2)

        def put(component: int, x: Value) -> None:
            f.store(x.bits(I32), base, component * lanes * 4, align=4)

        for index, v in stage.outputs.items():
            component = layout.component(index)
            assert component is not None
            put(component, v.get())

        def output(index: int) -> Value:
            return stage.outputs[index].get() if index in stage.outputs else f.value(0, ivec)  # -1: not written

        if last:
            finish_vertices(f, front, layout, output, put)
    f.ret()
    return str(m)


def finish_vertices(
    f: Function, front: Value, layout: VertexLayout, output: Callable[[int], Value], put: Callable[[int, Value], None]
) -> None:
    """What the rasterizer wants of W vertices of the last stage: viewport, slice, clip code, place on the screen.

    ``output``: bits of output register * 4 + component (-1: 0); ``put``: store a component.
    """
    lanes = output(-1).type.lanes
    zero = f.value(0.0, F32.vector(lanes))
    position = [output(layout.position + c).bits(F32) if layout.position >= 0 else zero for c in range(4)]
    viewport = output(layout.viewport)
    viewport = viewport.ult(front_field(f, front, "viewport_count", I32)).select(viewport, 0)
    put(VIEWPORT, viewport)
    layer = output(layout.slice)
    layers = f.load(I32, front_field(f, front, "pass", PTR), records.offset(records.PASS, "layers"))
    put(SLICE, layer.ult(layers).select(layer, 0))
    distances = [output(4 * r + c).bits(F32) for r, c in layout.clip]
    culls = [output(4 * r + c).bits(F32) for r, c in layout.cull]
    for component, x in finish_position(f, front, position, viewport if layout.viewport >= 0 else None, distances, culls).items():
        put(component, x)


def finish_position(
    f: Function, front: Value, position: list[Value], viewport: Value | None, distances: list[Value], culls: list[Value]
) -> dict[int, Value]:
    """Clip code, division, viewport and snapping; works on vectors and scalars."""
    x, y, z, w = position
    code: Value = f.value(0, I32.vector(x.type.lanes))

    def flag(condition: Value, bit: int) -> None:
        nonlocal code
        code = code | condition.select(bit, f.value(0, code.type))

    flag(x < -w, LEFT)
    flag(x > w, RIGHT)
    flag(y < -w, BOTTOM)
    flag(y > w, TOP)
    flag(z < 0.0, NEAR)
    flag(z > w, FAR)
    flag((w > 0.0) ^ True, BEHIND)
    for i, d in enumerate(distances):
        flag((d >= 0.0) ^ True, USER << i)
    for i, d in enumerate(culls):
        flag((d >= 0.0) ^ True, CULL << i)
    result = project(f, front, [v.resize_float(F64) for v in position], viewport)
    sx, sy = result.pop(-1), result.pop(-2)
    flag(sx < -RANGE, GUARD_LEFT)
    flag(sx > RANGE, GUARD_RIGHT)
    flag(sy < -RANGE, GUARD_TOP)
    flag(sy > RANGE, GUARD_BOTTOM)
    vanishing = (x - x) + (y - y) + (z - z) + (w - w)  # NaN unless all are finite
    flag(vanishing.ne(vanishing), NOT_A_NUMBER)
    return {CLIP_X: x, CLIP_Y: y, CLIP_Z: z, CLIP_W: w, CODE: code, **result}


def viewport_field(f: Function, front: Value, name: str, viewport: Value | None, like: Type) -> Value:
    """A number of the viewport of each lane, as f64."""
    base = records.offset(records.FRONT, "viewports") + records.offset(records.VIEWPORT, name)
    if viewport is None:
        return f.load(F64, front, base, constant=True)
    index = viewport * records.VIEWPORT.itemsize
    pointer = f.offset(f.offset(front, base), index.zext(I64))
    return f.gather(like, pointer, f.value(1, I1.vector(like.lanes))) if like.lanes else f.load(F64, pointer)


def project(f: Function, front: Value, position: list[Value], viewport: Value | None) -> dict[int, Value]:
    """From clip space (f64) to the screen: snapped x and y, depth, 1/w; and under -1, -2 the unsnapped x and y."""
    x, y, z, w = position

    def field(name: str) -> Value:
        return viewport_field(f, front, name, viewport, x.type)

    rw = 1.0 / w
    near = field("near")
    sx = field("x") + (x * rw + 1.0) * 0.5 * field("width")
    sy = field("y") + (1.0 - y * rw) * 0.5 * field("height")
    depth = near + z * rw * (field("far") - near)

    def snap(s: Value) -> Value:
        # Nearest 1/256 pixel, ties to even; beyond the range the number is not used.
        inside = f.max(f.min(s, RANGE), -RANGE)
        return f.intrinsic("rint", inside * 256.0).to_int()

    low, high = maths.from_double(f, depth)
    return {
        SCREEN_X: snap(sx),
        SCREEN_Y: snap(sy),
        SCREEN_Z: low,
        SCREEN_Z_HIGH: high,
        RECIPROCAL_W: rw.resize_float(F32),
        -1: sx,
        -2: sy,
    }


def _plan(f: Function, front: Value, element: InputElement) -> tuple[Value, Value, Value]:
    """Base, number of vertices that may be fetched, and stride of an element (once per call)."""
    info = FORMATS[Format(element.format)]
    at = records.offset(records.FRONT, "buffers") + element.slot * records.VERTEX_BUFFER.itemsize
    with f.prologue():
        base = f.load(PTR, front, at, constant=True)
        size = f.load(I32, front, at + 8, constant=True).zext(I64)
        stride = f.load(I32, front, at + 12, constant=True)
        needed = element.offset + info.bytes_per_block
        room = size - needed
        step = f.umax(stride, 1).zext(I64)
        limit = (room < 0).select(0, room.udiv(step) + 1)
        limit = (stride.eq(0) & (room >= 0)).select(0xFFFF_FFFF, limit)
        limit = f.umin(limit, 0xFFFF_FFFF).trunc(I32)
    return base, limit, stride


def _fetch(f: Function, element: InputElement, plan: tuple[Value, Value, Value], ids: Value, instances: Value) -> list[Value]:
    base, limit, stride = plan
    lanes = ids.type.lanes
    info = FORMATS[Format(element.format)]
    front = f.arguments[0]
    if element.per_instance:
        start = front_field(f, front, "start_instance", I32)
        index = instances.udiv(f.value(element.step_rate, instances.type)) + start if element.step_rate else f.splat(start, lanes)
    else:
        index = ids + front_field(f, front, "add", I32)
    inside = index.ult(limit)
    at = index * stride + element.offset
    size = info.bytes_per_block
    if size < 4:
        narrow = (I8 if size == 1 else I16).vector(lanes)
        words = [f.gather(narrow, f.offset(base, at.zext(I64)), inside, align=1).zext(I32)]
    else:
        # Signed 32-bit offsets around the middle of the largest buffer.
        middle = f.offset(base, 1 << 31)
        pointers = f.index(middle, I8, at ^ -(1 << 31))
        words = [
            f.gather(I32.vector(lanes), f.offset(pointers, 4 * c) if c else pointers, inside, align=1) for c in range(size // 4)
        ]
    zero = f.value(0, I32)
    return [inside.select(x.bits(I32), zero) for x in formats.unpack(f, info, words)]


__all__ = ["INDEX_MASK", "Kind", "VertexLayout", "compile_vertex", "finish_position"]
