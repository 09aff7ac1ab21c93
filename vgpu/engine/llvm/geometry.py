"""The geometry stage: W primitives (times instances) at once, each lane with a buffer of its own for what it emits.

``geometry(FRONT*, vertices, primitives)`` takes what the stage before left in scratch. What lane l emits as its n-th vertex is
vertex (base + n) * W + l of the sink's store, so that nothing is copied: a lane that cuts or emits to a stream leaves a mark, and
afterwards the lanes are walked in order and their strips become lists of primitives. Vertices beyond the declared maximum are
dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wddm.hw.isa import INDEX_MASK, Kind, Op, ShaderProgram, SystemRegister, SystemValue

from . import vertex
from .analysis import Instruction
from .builder import I1, I32, I64, PTR, VOID, Module, Value
from .corners import Corners
from .float_mode import float_mode
from .front_function import LIST, LIST_STRIDE, FrontFunction
from .shader import Declared, ShaderKey, Stage, Translator
from .vertex import VertexLayout

#: A primitive of the input, by its number in the program's header: how many vertices the program sees.
INPUT_VERTICES: Final = {1: 1, 2: 2, 3: 3, 6: 4, 7: 6, **{n: n - 7 for n in range(8, 40)}}
#: Corners of the output, by its number in the header.
OUTPUT_CORNERS: Final = {1: 1, 3: 2, 5: 3}
#: A mark: the stream, and whether the vertex begins a strip.
STARTS: Final = 256


@dataclass(frozen=True, slots=True)
class GeometryKey:
    """What a geometry function is compiled for, beside the program."""

    shader: ShaderKey
    rows: tuple[int, ...]  #: of each dword of an input: its component in the store of the stage before, -1 for none
    components: int  #: of that store
    tessellated: bool  #: the stage before is the domain stage
    layout: VertexLayout  #: of the outputs
    lanes: int


def slots(program: ShaderProgram, lanes: int) -> int:
    """Vectors of vertices that the sink's store is given room for."""
    return max(program.max_vertices, LIST // lanes)


class GeometryStage(Stage):
    """Inputs from the corners of primitives, outputs to memory, where EMIT takes them."""

    def __init__(self, corners: Corners, outputs: Value, places: dict[int, int], valid: Value) -> None:
        self.corners, self.outputs, self.places, self.valid = corners, outputs, places, valid
        self.systems: dict[int, Value] = {}
        self.emit_to: tuple[Value, ...] = ()

    def operand_shape(self, word: int) -> int | None:
        scalar = word >> 28 == Kind.SYSTEM and word & INDEX_MASK not in self.systems
        return 0 if scalar else None

    def load_input(self, t: Translator, index: Value, vertex: Value | None) -> Value:
        assert vertex is not None
        return self.corners.load(t, index, vertex)

    def system(self, t: Translator, register: int) -> Value:
        return self.systems.get(register, t.zero())

    def store_output(self, t: Translator, index: int, x: Value, mask: Value | None) -> None:
        place = self.places.get(index)
        if place is not None:
            self._store(t, place, t.full(x), mask)

    def store_output_indexed(self, t: Translator, index: Value, x: Value, mask: Value | None) -> None:
        for at, place in self.places.items():
            hit = index.eq(at)
            self._store(t, place, x, hit if mask is None else hit & mask)

    def _store(self, t: Translator, place: int, x: Value, mask: Value | None) -> None:
        pointer = t.f.offset(self.outputs, place * t.lanes * 4)
        if mask is None:
            t.f.store(x, pointer, align=4)
        else:
            t.f.masked_store(x, pointer, mask, align=4)

    def other(self, t: Translator, ins: Instruction) -> bool:
        op, stream = ins[0], ins[4]
        if op not in (Op.EMIT, Op.CUT):
            return False
        f, mask = t.f, t.mask()
        mask = self.valid if mask is None else mask & self.valid
        state = self.emit_to[1]
        if op == Op.EMIT:
            bits = f.mask_bits(mask).zext(I32)
            f.call("emit", VOID, [*self.emit_to, bits, f.value(stream, I32)])
        else:
            f.masked_store(f.value(STARTS, t.ivec), f.offset(state, (1 + stream) * t.lanes * 4), mask, align=4)
        return True


def compile_geometry(program: ShaderProgram, key: GeometryKey) -> str:
    """The IR of ``geometry``."""
    m = Module()
    _Geometry(m, program, key).write()
    return str(m)


class _Geometry(FrontFunction):
    def __init__(self, module: Module, program: ShaderProgram, key: GeometryKey) -> None:
        super().__init__(module, key.lanes, "geometry", VOID, [I32, I32], private=False)
        self.program, self.key, self.module = program, key, module
        self.layout = key.layout
        self.outputs = [r * 4 + c for r, mask in self.layout.registers for c in range(4) if mask >> c & 1]
        streams = {int(a) for op, a in zip(program.instructions["op"], program.instructions["aux"], strict=True) if op == Op.EMIT}
        self.streams = sorted(streams)
        self.corner_count = OUTPUT_CORNERS[program.topology]
        values = [register * 4 + (mask & -mask).bit_length() - 1
                  for register, mask, value, _ in Declared.of(program).outputs if value == SystemValue.PRIMITIVE_ID]  # fmt: skip
        self.number_component = self.layout.component(values[0]) if values else None
        self.marks = self.area["marks"]
        with self.f.prologue():
            self.block, self.stop = self.get("geometry_block", PTR), self.get("stop", PTR)

    def write(self) -> None:
        """Its body."""
        f, p, w = self.f, self.program, self.lanes
        self._write_emit()
        total = self.arguments[1] * p.instances
        self.tally("gs_invocations", total)
        self.base, self.list_count = f.var(I32, 0), f.var(I32, 0)
        with float_mode(f, p), f.count(0, total, w) as first:
            with f.if_(self.base.get() + p.max_vertices > slots(p, w)):
                self.hand_over(self.streams[0] if self.streams else 0)
                self.base.set(0)
            self.run(first, total)
        if self.streams:
            self.hand_over(self.streams[0])
        f.ret()

    def run(self, first: Value, total: Value) -> None:
        """W invocations, and what they emitted as primitives."""
        f, p, w = self.f, self.program, self.lanes
        flat = first + f.vector(I32, range(w))
        valid = flat < total
        primitive = flat.udiv(p.instances) if p.instances > 1 else flat

        def pick(source: Value) -> Value:
            if p.instances > 1:
                return f.gather(self.ivec, f.index(source, I32, primitive), valid)
            return valid.select(f.load(self.ivec, source, first.zext(I64) << 2, align=4), 0)

        source = "domain" if self.key.tessellated else "assembled"
        count = INPUT_VERTICES[p.primitive]
        corners = Corners(f, w, self.area[f"{source}_store"], self.key.components, self.key.rows, count)
        for k in range(count):
            corners.set(k, pick(f.offset(self.area[f"{source}_corners"], k * LIST_STRIDE)))
        numbers = pick(self.area[f"{source}_numbers"])
        self.numbers, self.state = f.array(self.ivec, 1), f.array(self.ivec, 5)
        f.store(numbers, self.numbers, align=4)
        memory = f.array(self.ivec, max(1, len(self.outputs)))
        f.fill(memory, 0, len(self.outputs) * w * 4)
        f.store(f.null(self.ivec), self.state, align=4)
        for s in range(4):
            f.store(f.value(STARTS, self.ivec), self.state, (1 + s) * w * 4, align=4)
        stage = GeometryStage(corners, memory, {index: i for i, index in enumerate(self.outputs)}, valid)
        stage.systems[SystemRegister.PRIMITIVE_ID] = numbers
        if p.instances > 1:
            stage.systems[SystemRegister.GS_INSTANCE_ID] = flat - primitive * p.instances
        base = self.base.get().zext(I64)
        store = f.offset(self.store, base * (self.layout.components * w * 4))
        stage.emit_to = memory, self.state, store, f.offset(self.marks, base * (w * 4))
        t = Translator(f, w, p, self.key.shader, stage, self.block, self.stop)
        t.run(valid)
        counts = f.load(self.ivec, self.state, align=4)
        most = f.call(f"llvm.vector.reduce.umax.v{w}i32", I32, [counts])
        if self.layout.position >= 0 and p.rasterized_stream < 4:
            self._finish(store, counts, most)
        start = self.base.get()
        self.base.set(start + most)
        for stream in self.streams:
            with f.count(0, w) as lane:
                self._walk(lane, start, stream)
            if len(self.streams) > 1:
                self.hand_over(stream)

    def _finish(self, store: Value, counts: Value, most: Value) -> None:
        """Give the vertices of this turn what the rasterizer wants."""
        f, w, layout = self.f, self.lanes, self.layout
        with f.count(0, most) as slot:
            block = f.offset(store, slot.zext(I64) * (layout.components * w * 4))

            def output(index: int) -> Value:
                component = layout.component(index) if index >= 0 else None
                if component is None:
                    return f.value(0, self.ivec)
                return f.load(self.ivec, block, component * w * 4, align=4)

            def put(component: int, x: Value) -> None:
                bits = x.bits(I32)
                if component == vertex.CODE:  # lanes that emitted less ask for nothing
                    bits = (f.splat(slot, w) < counts).select(bits, 0)
                f.store(bits, block, component * w * 4, align=4)

            vertex.finish_vertices(f, self.front, layout, output, put)

    def _walk(self, lane: Value, start: Value, stream: int) -> None:
        """The primitives that one lane made on a stream."""
        f, w, k = self.f, self.lanes, self.corner_count
        count = f.load(I32, f.index(self.state, I32, lane.zext(I64)))
        number = f.load(I32, f.index(self.numbers, I32, lane.zext(I64)))
        length = f.var(I32, 0)  # vertices of the strip in hand
        last, before = f.var(I32, 0), f.var(I32, 0)
        with f.count(0, count) as slot:
            v = (start + slot) * w + lane
            mark = f.load(I32, f.index(self.marks, I32, v.zext(I64)))
            with f.if_((mark & (STARTS - 1)).eq(stream)):
                n = (mark & STARTS).ne(0).select(1, length.get() + 1)
                length.set(n)
                a, b = before.get(), last.get()
                with f.if_(n >= k):
                    odd = (n & 1).eq(0)
                    self._add({1: [v], 2: [b, v], 3: [a, odd.select(v, b), odd.select(b, v)]}[k], number, stream)
                before.set(b)
                last.set(v)

    def _add(self, corners: list[Value], number: Value, stream: int) -> None:
        f = self.f
        n = self.list_count.get()
        leading = corners[0]
        if self.number_component is not None:
            number = f.load(I32, self.component_pointer(leading, self.number_component))
        at = n.zext(I64)
        for target, x in zip([*self.lists[: len(corners)], *self.lists[3:]], [*corners, leading, number], strict=True):
            f.store(x, f.index(target, I32, at))
        self.list_count.set(n + 1)
        with f.if_(n + 1 >= LIST):
            self.hand_over(stream)

    def hand_over(self, stream: int) -> None:
        """Primitives so far, to stream output and the rasterizer."""
        n = self.list_count.get()
        with self.f.if_(n > 0):
            self.tally("gs_primitives", n)
            self.deliver(stream, self.base.get() * self.lanes, n, stream == self.program.rasterized_stream)
        self.list_count.set(0)

    def _write_emit(self) -> None:
        """``emit(outputs*, state*, store*, marks*, lanes, stream)``: store a vertex of each of the lanes."""
        w, size = self.lanes, self.layout.components * self.lanes * 4
        f = self.module.function("emit", VOID, [PTR, PTR, PTR, PTR, I32, I32], private=True)
        outputs, state, store, marks, bits, stream = f.arguments
        ivec = self.ivec
        count = f.load(ivec, state, align=4)
        mask = f.bits_mask(bits, w) & (count < self.program.max_vertices)
        starts = f.offset(f.offset(state, w * 4), (stream * (w * 4)).zext(I64))
        begins = f.load(ivec, starts, align=4)
        mark = begins | f.splat(stream, w)
        f.masked_store(f.value(0, ivec), starts, mask, align=4)
        f.store(count + mask.zext(I32), state, align=4)
        lanes = f.mask_bits(mask).zext(I32)
        with f.if_(lanes.ne(0)):
            slot = count[f.call("llvm.cttz.i32", I32, [lanes, f.value(0, I1)])]
            with f.if_else(f.all(count.eq(slot) | (mask ^ True))) as otherwise:
                wide = slot.zext(I64)
                f.masked_store(mark, f.offset(marks, wide * (w * 4)), mask, align=4)
                block = f.offset(store, wide * size)
                for i in range(len(self.outputs)):
                    x = f.load(ivec, outputs, i * w * 4, align=4)
                    f.masked_store(x, f.offset(block, (vertex.FIRST_OUTPUT + i) * w * 4), mask, align=4)
                otherwise()
                lane = f.vector(I32, range(w))
                f.scatter(mark, f.index(marks, I32, count * w + lane), mask, align=4)
                place = count * (size // 4) + lane
                with f.count(0, len(self.outputs)) as number:
                    at = (number * (w * 4)).zext(I64)
                    block = f.offset(f.offset(store, vertex.FIRST_OUTPUT * w * 4), at)
                    f.scatter(f.load(ivec, f.offset(outputs, at), align=4), f.index(block, I32, place), mask, align=4)
        f.ret()
