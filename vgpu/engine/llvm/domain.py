"""The domain stage: patch by patch, the tessellator's points W at a time; what they make goes on to geometry, stream output or the
rasterizer.

``domain(FRONT*, patches)`` is called by the hull function. All lanes belong to one patch, so that what the program reads of it
(control points, patch constants) is the same for all and read once.
"""

from __future__ import annotations

from dataclasses import dataclass

from wddm.hw.isa import INDEX_MASK, Kind, Op, ShaderProgram, SystemRegister

from . import vertex
from .analysis import Instruction
from .builder import F32, I32, I64, PTR, VOID, Module, Value, Variable
from .float_mode import float_mode
from .front_function import DOMAIN_VERTICES, LIST, LIST_STRIDE, FrontFunction
from .hull import Control
from .shader import ShaderKey, Stage, Translator
from .tessellator import PRIMITIVES
from .vertex import VertexLayout

#: Vertices that wait before primitives are handed over, small enough to stay in the cache.
WAITING = 768
TRIANGLE_DOMAIN = 2


@dataclass(frozen=True, slots=True)
class DomainKey:
    """What a domain function is compiled for, beside the program."""

    shader: ShaderKey
    control: Control  #: what the hull program leaves
    factors: tuple[int, ...]  #: dwords of the patch constants: four edge factors, two inside factors; -1: 1
    corners: int  #: of the primitives
    geometry: bool  #: they go to a geometry program
    layout: VertexLayout  #: of the outputs
    lanes: int


class DomainStage(Stage):
    """Domain location by lanes; control points and patch constants of the one patch."""

    pure = frozenset((Op.LOAD_INPUT, Op.LOAD_PATCH))

    def __init__(self, control: Control, points: Value, patch: Value) -> None:
        self.control, self.points, self.patch = control, points, patch  #: pointers to the patch's first dword
        self.systems: dict[int, Value] = {}
        self.outputs: dict[int, Variable] = {}

    def operand_shape(self, word: int) -> int | None:
        varies = (SystemRegister.DOMAIN_U, SystemRegister.DOMAIN_V, SystemRegister.DOMAIN_W)
        return 0 if word >> 28 == Kind.SYSTEM and word & INDEX_MASK not in varies else None

    def _load(self, t: Translator, base: Value, inside: Value, row: Value) -> Value:
        """Row ``row`` of rows of W dwords, of which one lane is the patch's; 0 when not inside."""
        f = t.f
        at = inside.select(row * t.lanes, 0)
        if at.type.lanes:
            return f.gather(t.ivec, f.index(base, I32, at), inside)
        return inside.select(f.load(I32, f.index(base, I32, at.zext(I64))), 0)

    def load_input(self, t: Translator, index: Value, vertex: Value | None) -> Value:
        assert vertex is not None
        index, vertex = index._both(vertex)
        inside = index.ult(self.control.rows) & vertex.ult(self.control.points)
        if not self.control.rows * self.control.points:
            return t.zero()
        return self._load(t, self.points, inside, vertex * self.control.rows + index)

    def other(self, t: Translator, ins: Instruction) -> bool:
        if ins[0] != Op.LOAD_PATCH:
            return False
        dword = t.integer(ins[3][0])
        rows = self.control.patch_rows
        t.write(ins[2], self._load(t, self.patch, dword.ult(rows), dword) if rows else t.zero())
        return True

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


def compile_domain(program: ShaderProgram, key: DomainKey) -> str:
    """The IR of ``domain``."""
    m = Module()
    _Domain(m, program, key).write()
    return str(m)


class _Domain(FrontFunction):
    def __init__(self, module: Module, program: ShaderProgram, key: DomainKey) -> None:
        super().__init__(module, key.lanes, "domain", VOID, [I32], private=False)
        self.program, self.key, self.layout = program, key, key.layout
        self.target = self.area["domain_store"] if key.geometry else self.store
        self.corners = self.area["domain_corners"] if key.geometry else self.lists[0]
        with self.f.prologue():
            self.block, self.stop = self.get("domain_block", PTR), self.get("stop", PTR)

    def write(self) -> None:
        """Its body."""
        f, w, key = self.f, self.lanes, self.key
        self.vertices, self.count = f.var(I32, 0), f.var(I32, 0)
        seen = [f.var(I32, 0) for _ in key.factors]  # the factors that the mesh is of
        mesh, known = f.var(I32, 0), f.var(I32, 0)
        with f.count(0, self.arguments[0]) as patch:
            group, lane = patch.shr(w.bit_length() - 1).zext(I64), (patch & (w - 1)).zext(I64)
            control = key.control
            points = f.index(self.area["control"], I32, group * (control.points * control.rows * w) + lane)
            constants = f.index(self.area["patch"], I32, group * (control.patch_rows * w) + lane)
            one = f.value(0x3F80_0000, I32)
            factors = [f.load(I32, constants, row * w * 4) if row >= 0 else one for row in key.factors]
            different = known.get().eq(0)
            for x, v in zip(factors, seen, strict=True):
                different = different | x.ne(v.get())
            with f.if_(different):
                tessellate = self.get("tessellator_function", PTR)
                mesh.set(f.call_pointer(tessellate, I32, [self.front, *(x.bits(F32) for x in factors)]))
                known.set(1)
                for x, v in zip(factors, seen, strict=True):
                    v.set(x)
            size, primitives = mesh.get() & 0xFFFF, mesh.get().shr(16)
            with f.if_(primitives > 0):
                self.tally("ds_invocations", size)
                used = self.vertices.get()
                with f.if_((used > WAITING) | (used + size > DOMAIN_VERTICES - w)):
                    self.hand_over()
                number = f.load(I32, f.index(self.area["assembled_numbers"], I32, patch.zext(I64)))
                base = self.vertices.get()
                with float_mode(f, self.program), f.count(0, size, w) as first:
                    self._points(first, base, size, number, points, constants)
                self.vertices.set((base + size + (w - 1)) & ~(w - 1))
                self._primitives(primitives, base, number)
        self.hand_over()
        f.ret()

    def _points(self, first: Value, base: Value, size: Value, number: Value, points: Value, constants: Value) -> None:
        """Run the program on W points."""
        f, w, layout = self.f, self.lanes, self.layout
        stage = DomainStage(self.key.control, points, constants)
        at = first.zext(I64) << 2
        u, v = (f.load(self.ivec, self.area[name], at, align=4) for name in ("mesh_u", "mesh_v"))
        triangle = self.program.topology & 15 == TRIANGLE_DOMAIN
        third = (1 << 16) - u - v if triangle else f.value(0, self.ivec)
        stage.systems = {
            register: (x.to_float() * (1.0 / 65536)).bits(I32)
            for register, x in ((SystemRegister.DOMAIN_U, u), (SystemRegister.DOMAIN_V, v), (SystemRegister.DOMAIN_W, third))
        }
        stage.systems[SystemRegister.PRIMITIVE_ID] = number
        stage.outputs = {r * 4 + c: f.var(self.ivec) for r, mask in layout.registers for c in range(4) if mask >> c & 1}
        for variable in stage.outputs.values():
            variable.set(0)
        t = Translator(f, w, self.program, self.key.shader, stage, self.block, self.stop)
        t.run((first + t.lane_index()) < size)
        block = f.offset(self.target, ((base + first) * (layout.components * 4)).zext(I64))

        def put(component: int, x: Value) -> None:
            f.store(x.bits(I32), block, component * w * 4, align=4)

        def output(index: int) -> Value:
            return stage.outputs[index].get() if index in stage.outputs else f.value(0, self.ivec)

        for index, variable in stage.outputs.items():
            component = layout.component(index)
            assert component is not None
            put(component, variable.get())
        if not self.key.geometry and layout.position >= 0:
            lanes = (first + t.lane_index()) < size

            def finish(component: int, x: Value) -> None:  # lanes behind the last point ask for nothing
                put(component, lanes.select(x, 0) if component == vertex.CODE else x)

            vertex.finish_vertices(f, self.front, layout, output, finish)

    def _primitives(self, count: Value, base: Value, number: Value) -> None:
        """Append the mesh's primitives to the lists, which are handed over whenever they are full."""
        f, w, key = self.f, self.lanes, self.key
        numbers = self.area["domain_numbers"] if key.geometry else self.lists[4]
        taken = f.var(I32, 0)
        with f.loop() as loop:
            done, have = taken.get(), self.count.get()
            loop.break_if(done >= count)
            part = f.min(count - done, LIST - have)
            with f.count(0, part, w) as i:
                to, of = (have + i).zext(I64) << 2, (done + i).zext(I64) << 2
                corners = [
                    f.load(self.ivec, f.offset(self.area["mesh_corners"], k * PRIMITIVES * 4), of, align=4) + base
                    for k in range(key.corners)
                ]
                for k, x in enumerate(corners):
                    f.store(x, f.offset(self.corners, k * LIST_STRIDE), to, align=4)
                if not key.geometry:
                    f.store(corners[0], self.lists[3], to, align=4)
                f.store(f.splat(number, w), numbers, to, align=4)
            taken.set(done + part)
            self.count.set(have + part)
            with f.if_(have + part >= LIST):
                self.hand_over(keep=True)

    def hand_over(self, *, keep: bool = False) -> None:
        """The primitives so far go on; ``keep``: their vertices stay."""
        f, n = self.f, self.count.get()
        with f.if_(n > 0):
            if self.key.geometry:
                f.call_pointer(self.get("geometry_function", PTR), VOID, [self.front, self.vertices.get(), n])
            else:
                self.deliver(0, self.vertices.get(), n, True)
        self.count.set(0)
        if not keep:
            self.vertices.set(0)
