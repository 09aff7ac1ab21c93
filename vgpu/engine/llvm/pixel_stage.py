"""The pixel program's surroundings: how it is linked to the stage before, interpolation, inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from wddm.hw.isa import (
    ABSOLUTE,
    INDEX_MASK,
    NEGATE,
    Interpolation,
    Kind,
    Op,
    ShaderProgram,
    SystemRegister,
    SystemValue,
)

from . import records
from .analysis import SIGNATURES, Instruction, analyse, instructions
from .builder import F32, I32, Function, Value, Variable
from .coverage import SAMPLES
from .float_mode import flush
from .records import TRIANGLE, TRIANGLE_PLANES
from .shader import Declared, Stage, Translator
from .vertex import VertexLayout

Place = tuple[Value, Value]  #: x and y, pixels from the origin of a record's planes
CENTRE, CENTROID, SAMPLE = range(3)  #: where an input is interpolated


def interpolation_mode(value: int, extra: int) -> tuple[int, int]:
    """Plane mode and place of a declared input."""
    kind = Interpolation(extra)
    linear = kind in (
        Interpolation.LINEAR_NOPERSPECTIVE,
        Interpolation.LINEAR_NOPERSPECTIVE_CENTROID,
        Interpolation.LINEAR_NOPERSPECTIVE_SAMPLE,
    )
    where = CENTRE
    if kind in (Interpolation.LINEAR_CENTROID, Interpolation.LINEAR_NOPERSPECTIVE_CENTROID):
        where = CENTROID
    elif kind in (Interpolation.LINEAR_SAMPLE, Interpolation.LINEAR_NOPERSPECTIVE_SAMPLE):
        where = SAMPLE
    whole = value in (SystemValue.PRIMITIVE_ID, SystemValue.RENDER_TARGET_ARRAY_INDEX, SystemValue.VIEWPORT_ARRAY_INDEX)
    if kind is Interpolation.CONSTANT or whole:
        return records.CONSTANT, where
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


class Interpolator:
    """Attributes of a stamp's pixels at places of the screen (x and y from the planes' origin, pixels)."""

    def __init__(
        self,
        f: Function,
        record: Value,
        lanes: int,
        samples: int,
        inputs: dict[int, int],
        modes: tuple[int, ...],
        centre: Place,
        shaded: Place,
        centroid: Place,
    ) -> None:
        self.f, self.record, self.lanes, self.samples = f, record, lanes, samples
        self.inputs, self.modes = inputs, modes
        self.centre = centre  #: of the pixels
        self.shaded = shaded  #: where the program runs: the centre, or the sample of an invocation per sample
        self.centroid = centroid
        self._w: list[tuple[Place, Value]] = []

    def plane(self, word: int, place: Place) -> Value:
        """A plane of the record."""
        f = self.f
        value, ddx, ddy = (f.load(F32, self.record, 4 * (word + k), align=4, constant=True) for k in range(3))
        return f.fma(place[0], ddx, f.fma(place[1], ddy, f.splat(value, self.lanes)))

    def w(self, place: Place) -> Value:
        """The position's w."""
        for known, w in self._w:
            if known is place:
                return w
        w = 1.0 / self.plane(TRIANGLE["w"], place)
        self._w.append((place, w))
        return w

    def input(self, index: int, place: Place) -> Value:
        """Input register * 4 + component, as bits; a scalar when it is constant over the primitive."""
        number = self.inputs.get(index)
        if number is None:
            return self.f.value(0, I32.vector(self.lanes))
        at, mode = TRIANGLE_PLANES + 3 * number, self.modes[number]
        if mode == records.CONSTANT:
            return self.f.load(I32, self.record, 4 * at, constant=True)
        value = self.plane(at, place)
        return (value * self.w(place) if mode == records.PERSPECTIVE else value).bits(I32)

    def sample(self, index: Value) -> Place:
        """The place of a sample in each pixel; beyond the last, the last."""
        f = self.f
        index = f.umin(index, self.samples - 1)
        x, y = (f.value(0.0, F32.vector(self.lanes)) for _ in range(2))
        for s, (sx, sy) in enumerate(SAMPLES[self.samples]):
            x, y = index.eq(s).select(sx / 16, x), index.eq(s).select(sy / 16, y)
        return self.centre[0] + x, self.centre[1] + y


#: System values that all pixels of a primitive share.
_SHARED: Final = frozenset(
    (
        SystemRegister.FRONT_FACE,
        SystemRegister.PRIMITIVE_ID,
        SystemRegister.RENDER_TARGET_ARRAY_INDEX,
        SystemRegister.VIEWPORT_ARRAY_INDEX,
        SystemRegister.SAMPLE_INDEX,
    )
)


def uniform_operands(program: ShaderProgram) -> Callable[[int], int | None]:
    """What tells the shape of INPUT and SYSTEM operands: 0 for those that all pixels of a primitive share."""
    constant = {
        register * 4 + c
        for register, mask, value, extra in Declared.of(program).inputs
        for c in range(4)
        if mask >> c & 1 and value != SystemValue.POSITION and interpolation_mode(value, extra)[0] == records.CONSTANT
    }

    def shape(word: int) -> int | None:
        index = word & INDEX_MASK
        if word >> 28 == Kind.SYSTEM:
            return 0 if index in _SHARED else None
        return 0 if word >> 28 == Kind.INPUT and index in constant else None

    return shape


def uniform_outputs(program: ShaderProgram) -> frozenset[int]:
    """Colour output components (register * 4 + component) that are the same in all pixels of a primitive."""
    code = instructions(program)
    operands = uniform_operands(program)
    found = analyse(code, program, lambda word: 0 if word >> 28 == Kind.CONSTANT else operands(word))
    varying: set[int] = set()
    for ins, shape in zip(code, found.shapes, strict=False):
        op, _, dst, _, aux, _ = ins
        if op == Op.STORE_OUTPUT:
            return frozenset()
        if dst >> 28 == Kind.OUTPUT and shape != 0:
            wide = aux >> 16 & 15 if SIGNATURES[op][0] == "v" else 3 if SIGNATURES[op][0] == "d" else 1
            varying.update((dst & INDEX_MASK) + c for c in range(4) if wide >> c & 1)
    return frozenset(colour_outputs(program)) - varying


class PixelStage(Stage):
    """Interpolated inputs, position, coverage; outputs to variables."""

    quads = True

    def __init__(self, program: ShaderProgram, coverage: Value, samples: int, at: Interpolator) -> None:
        self.coverage, self.samples, self.at = coverage, samples, at
        self._shape = uniform_operands(program)
        self.values: dict[int, Value] = {}
        self.systems: dict[int, Value] = {}
        self.outputs: dict[int, Variable] = {}
        self.killed: Variable | None = None

    def operand_shape(self, word: int) -> int | None:
        return self._shape(word)

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
        if v is None:
            return
        if not v.type.lanes:
            v.set(x[0] if x.type.lanes else x)
        else:
            v.set(t.full(x) if mask is None else mask.select(t.full(x), v.get()))

    def store_output_indexed(self, t: Translator, index: Value, x: Value, mask: Value | None) -> None:
        for at, v in self.outputs.items():
            hit = index.eq(at) if mask is None else index.eq(at) & mask
            v.set(hit.select(x, v.get()))

    def effects(self, t: Translator, mask: Value | None) -> Value | None:
        live = self.coverage
        if self.killed is not None:
            live = live & ~self.killed.get()
        return live if mask is None else live & mask

    def discard(self, t: Translator, mask: Value) -> None:
        assert self.killed is not None
        self.killed.set(self.killed.get() | mask)

    def other(self, t: Translator, ins: Instruction) -> bool:
        op, mods, dst, src, _, _ = ins
        if op == Op.BARRIER:
            return True
        if op not in (Op.EVAL_CENTROID, Op.EVAL_SAMPLE, Op.EVAL_SNAPPED):
            return False
        f = t.f
        if op == Op.EVAL_CENTROID:
            place = self.at.centroid
        elif op == Op.EVAL_SAMPLE:
            place = self.at.sample(t.full(t.integer(src[1])))
        else:
            # The low four bits, signed, are sixteenths of a pixel.
            dx, dy = (((t.full(t.integer(word)) & 15 ^ 8) - 8).to_float() * (1.0 / 16) for word in src[1:3])
            place = self.at.centre[0] + dx, self.at.centre[1] + dy
        bits = flush(f, self.at.input(src[0] & INDEX_MASK, place))
        if src[0] & ABSOLUTE:
            bits = bits & 0x7FFF_FFFF
        if src[0] & NEGATE:
            bits = bits ^ -(1 << 31)
        t.write(dst, t.saturated(mods, bits.bits(F32)))
        return True


def colour_outputs(program: ShaderProgram | None) -> tuple[int, ...]:
    """Colour output components in queue order."""
    if program is None:
        return ()
    found: set[int] = set()
    for register, mask, _, _ in Declared.of(program).outputs:
        if register < 8:
            found.update(register * 4 + c for c in range(4) if mask >> c & 1)
    return tuple(sorted(found))
