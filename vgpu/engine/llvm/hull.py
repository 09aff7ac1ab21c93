"""The hull stage: W patches at once, point by point of the output, then the patch constants.

``hull(FRONT*, vertices, primitives)`` takes patches as the front end left them, leaves control points and patch constants of all in
scratch and calls the domain function. Dword d of control point p of patch n lies at
``control[((n / W * points + p) * rows + d) * W + n % W]``, a patch constant at ``patch[(n / W * rows + d) * W + n % W]``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from wddm.hw.isa import INDEX_MASK, DeclarationKind, Kind, Op, ProgramFlag, ShaderProgram, SystemRegister

from .analysis import Instruction, instructions
from .builder import I32, I64, PTR, VOID, Module, Value
from .corners import Corners
from .float_mode import float_mode
from .front_function import LIST_STRIDE, FrontFunction
from .shader import ShaderKey, Slots, Stage, Translator


@dataclass(frozen=True, slots=True)
class HullKey:
    """What a hull function is compiled for, beside the program."""

    shader: ShaderKey
    rows: tuple[int, ...]  #: of each dword of an input: its component in the vertex store, -1 for none
    components: int  #: of that store
    lanes: int


@dataclass(frozen=True, slots=True)
class Control:
    """What a hull program leaves for the domain stage."""

    points: int
    rows: int  #: dwords of a control point
    patch_rows: int

    @classmethod
    def of(cls, program: ShaderProgram, input_rows: int) -> Control:
        """From its declarations; a pass-through program hands on all dwords of its inputs."""
        registers = {DeclarationKind.OUTPUT: 0, DeclarationKind.PATCH_CONSTANT: 0}
        for kind, index, *_ in program.declarations.tolist():
            if kind in registers:
                registers[kind] = max(registers[kind], index + 1)
        patch_rows = 4 * registers[DeclarationKind.PATCH_CONSTANT]
        if program.flags & ProgramFlag.PASS_THROUGH:
            return cls(program.primitive & 0xFF, input_rows, patch_rows)
        return cls(program.primitive >> 8, 4 * registers[DeclarationKind.OUTPUT], patch_rows)


class HullStage(Stage):
    """Inputs from the corners of patches; outputs, control points and patch constants in memory by rows of W dwords."""

    def __init__(
        self, corners: Corners, output: Value, rows: int, control: Control | None = None, points: Value | None = None
    ) -> None:
        self.corners, self.output, self.rows = corners, output, rows
        self.control, self.points = control, points  #: the patch-constant entry sees what the first left
        self.systems: dict[int, Value] = {}

    def operand_shape(self, word: int) -> int | None:
        scalar = word >> 28 == Kind.SYSTEM and word & INDEX_MASK != SystemRegister.PRIMITIVE_ID
        return 0 if scalar else None

    def load_input(self, t: Translator, index: Value, vertex: Value | None) -> Value:
        assert vertex is not None
        return self.corners.load(t, index, vertex)

    def system(self, t: Translator, register: int) -> Value:
        return self.systems.get(register, t.zero())

    def store_output(self, t: Translator, index: int, x: Value, mask: Value | None) -> None:
        if index < self.rows:
            pointer = t.f.offset(self.output, index * t.lanes * 4)
            if mask is None:
                t.f.store(t.full(x), pointer, align=4)
            else:
                t.f.masked_store(t.full(x), pointer, mask, align=4)

    def store_output_indexed(self, t: Translator, index: Value, x: Value, mask: Value | None) -> None:
        inside = index.ult(self.rows)
        pointers = t.f.index(self.output, I32, inside.select(index, 0) * t.lanes + t.lane_index())
        t.f.scatter(x, pointers, inside if mask is None else inside & mask)

    def other(self, t: Translator, ins: Instruction) -> bool:
        op, _, dst, src, _, _ = ins
        if op == Op.LOAD_PATCH:
            whole = self.control is not None
            t.write(dst, load_row(t, self.output, self.rows if whole else 0, t.integer(src[0])))
        elif op == Op.LOAD_CONTROL_POINT:
            x = t.zero()
            if self.control is not None and self.points is not None:
                x = load_point(t, self.points, self.control, t.integer(src[0]), t.integer(src[1]))
            t.write(dst, x)
        else:
            return False
        return True


def load_row(t: Translator, base: Value, rows: int, dword: Value) -> Value:
    """Dword ``dword`` of each lane from rows of W dwords; 0 beyond them."""
    f, w = t.f, t.lanes
    known = dword.known
    if known is not None:
        return f.load(t.ivec, base, known * w * 4, align=4) if known < rows else t.zero()
    inside = dword.ult(rows)
    safe = inside.select(dword, 0)
    if not safe.type.lanes:
        return t.full(inside).select(f.load(t.ivec, f.index(base, t.ivec, safe.zext(I64)), align=4), 0)
    return f.gather(t.ivec, f.index(base, I32, safe * w + t.lane_index()), inside)


def load_point(t: Translator, base: Value, control: Control, dword: Value, vertex: Value) -> Value:
    """Dword ``dword`` of control point ``vertex``; 0 beyond either."""
    dword, vertex = dword._both(vertex)
    inside = dword.ult(control.rows) & vertex.ult(control.points)
    row = vertex * control.rows + dword
    known = row.known
    return load_row(t, base, control.rows * control.points, row if known is not None else inside.select(row, -1))


class HullTranslator(Translator):
    """One entry of a hull program, with the binding block of the whole."""

    def __init__(self, whole: ShaderProgram, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.slots = Slots.of(whole, instructions(whole))


def compile_hull(program: ShaderProgram, key: HullKey) -> str:
    """The IR of ``hull``."""
    m = Module()
    _Hull(m, program, key).write()
    return str(m)


class _Hull(FrontFunction):
    def __init__(self, module: Module, program: ShaderProgram, key: HullKey) -> None:
        super().__init__(module, key.lanes, "hull", VOID, [I32, I32], private=False)
        self.program, self.key = program, key
        self.control = Control.of(program, len(key.rows))
        with self.f.prologue():
            self.block, self.stop = self.get("hull_block", PTR), self.get("stop", PTR)

    def write(self) -> None:
        """Its body."""
        f, w = self.f, self.lanes
        patches = self.arguments[1]
        self.tally("hs_invocations", patches)
        with float_mode(f, self.program), f.count(0, patches, w) as first:
            self._patches(first, (first + f.vector(I32, range(w))) < patches)
        f.call_pointer(self.get("domain_function", PTR), VOID, [self.front, patches])
        f.ret()

    def _patches(self, first: Value, valid: Value) -> None:
        """W patches."""
        f, p, w, control = self.f, self.program, self.lanes, self.control
        at = first.zext(I64) << 2
        count = p.primitive & 0xFF
        corners = Corners(f, w, self.area["assembled_store"], self.key.components, self.key.rows, count)
        for k in range(count):
            lists = f.offset(self.area["assembled_corners"], k * LIST_STRIDE)
            corners.set(k, valid.select(f.load(self.ivec, lists, at, align=4), 0))
        numbers = f.load(self.ivec, self.area["assembled_numbers"], at, align=4)
        point_size, patch_size = control.rows * w * 4, control.patch_rows * w * 4
        points = f.offset(self.area["control"], first.zext(I64) * (control.points * control.rows * 4))
        patch = f.offset(self.area["patch"], first.zext(I64) * (control.patch_rows * 4))
        entry = p.patch_entry
        if control.points and control.rows:
            with f.count(0, control.points) as point:
                output = f.offset(points, point.zext(I64) * point_size)
                stage = HullStage(corners, output, control.rows)
                stage.systems = {SystemRegister.PRIMITIVE_ID: numbers, SystemRegister.CONTROL_POINT_ID: point}
                first_entry = replace(p, instructions=p.instructions[:entry])
                t = HullTranslator(p, f, w, first_entry, self.key.shader, stage, self.block, self.stop)
                if p.flags & ProgramFlag.PASS_THROUGH:
                    for row in range(control.rows):
                        stage.store_output(t, row, corners.load(t, f.value(row, I32), point), None)
                else:
                    f.fill(output, 0, point_size)
                    t.run(valid)
        stage = HullStage(corners, patch, control.patch_rows, control, points)
        stage.systems = {SystemRegister.PRIMITIVE_ID: numbers}
        f.fill(patch, 0, patch_size)
        second_entry = replace(p, instructions=p.instructions[entry:])
        HullTranslator(p, f, w, second_entry, self.key.shader, stage, self.block, self.stop).run(valid)
