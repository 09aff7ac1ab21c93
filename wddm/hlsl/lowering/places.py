"""Places: where a value lives, and how it is read and written there.

A :class:`Place` is a storage, an offset into it that may be partly unknown, and the lanes selected.  Members, indices
and swizzles narrow a place without touching memory; only :meth:`PlaceLowering.load` and ``store`` make code, and
only for the lanes that are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from wddm.hlsl import layout, tree
from wddm.hlsl.ir.nodes import FEEDBACK, STATUS, ZERO, Imm, Value, Vec, fixed, imm
from wddm.hlsl.lexer import Token
from wddm.hlsl.types import UINT, Array, Field, Numeric, Struct, Type, lane_count

from .convert import convert, leaves
from .state import UNDEFINED, IndexableArray, Resource, SharedMemory, State

__all__ = ["Place", "PlaceLowering"]


@dataclass(frozen=True, slots=True)
class Place:
    """``storage``: value, variable, array, cb, structured, shared, typed, vertex, icb.

    ``offset`` counts lanes (value, variable, vertex) or dwords.  ``dynamic`` adds to it: registers in cb, array and
    icb, bytes in structured and shared.  ``select``: lanes of ``type`` wanted, all when None.  ``choice``: an unknown
    number that picks one of several selections.
    """

    storage: str
    base: Any
    type: Type
    offset: int = 0
    dynamic: Value | None = None
    select: tuple[int, ...] | None = None
    choice: tuple[Value, tuple[tuple[int, ...], ...]] | None = None
    address: Vec = ()


_SCHEME = {"cb": "cbuffer", "structured": "tight", "shared": "tight", "array": "registers", "icb": "registers"}


class PlaceLowering(State):
    # -- narrowing -----------------------------------------------------------------------------------------------

    def of_variable(self, variable: tree.Variable, token: Token) -> Place:
        """Where a variable lives."""
        if variable.storage == "uniform" and variable.buffer is not None:
            return Place("cb", variable.buffer, variable.type, variable.offset)
        if variable.storage == "groupshared":
            return self.of_shared(variable, token)
        if variable.constant is not None and variable.storage in ("static", "local"):
            return Place("value", tuple(imm(x) for x in variable.constant), variable.type)
        held = self.env.get(variable)
        if isinstance(held, Place):
            return held
        if not variable.scalarised:
            return Place("array", self.indexable(variable), variable.type)
        if held is None:
            if variable.storage == "static":
                self.fail(3004, f"'{variable.name}' is used before its initial value is known", token)
            self.env[variable] = (UNDEFINED,) * lane_count(variable.type)
        return Place("variable", variable, variable.type)

    def of_shared(self, variable: tree.Variable, token: Token) -> Place:
        if self.stage != "c":
            self.fail(3665, f"groupshared '{variable.name}' can only be used in a compute shader", token)
        memory = self.module.shared.get(id(variable))
        if memory is None:
            array = variable.type if isinstance(variable.type, Array) else None
            element = array.element if array is not None else variable.type
            stride = layout.array_stride(array, "tight") if array is not None else layout.size(element, "tight")
            memory = SharedMemory(variable, element, stride, array.size if array is not None else 1)
            self.module.shared[id(variable)] = memory
        if isinstance(variable.type, Array):
            return Place("shared", memory, variable.type)
        return Place("shared", memory, variable.type, address=(imm(0),))

    def indexable(self, variable: tree.Variable) -> IndexableArray:
        array = self.module.arrays.get(id(variable))
        if array is None:
            dwords = layout.size(variable.type, "registers")
            components = max(o % 4 for o in layout.offsets(variable.type, "registers")) + 1
            array = IndexableArray(variable, layout.align(dwords, 4) // 4, components)
            self.module.arrays[id(variable)] = array
        return array

    def member(self, place: Place, field: Field) -> Place:
        assert isinstance(place.type, Struct)
        scheme = _SCHEME.get(place.storage)
        step = field.lane if scheme is None else layout.field_offset(place.type, field.name, scheme)
        return replace(place, type=field.type, offset=place.offset + step)

    def swizzle(self, place: Place, places: tuple[int, ...]) -> Place:
        """Components (not lanes) of what is selected so far."""
        assert isinstance(place.type, Numeric)
        lanes = tuple(lane for p in places for lane in ((2 * p, 2 * p + 1) if place.type.kind == "d" else (p,)))
        if place.choice is not None:
            index, options = place.choice
            return replace(place, choice=(index, tuple(tuple(option[i] for i in lanes) for option in options)))
        selected = place.select or tuple(range(lane_count(place.type)))
        return replace(place, select=tuple(selected[i] for i in lanes))

    def element(self, place: Place, index: Value, token: Token) -> Place:
        """``place[index]`` of an array, matrix or vector."""
        type_ = place.type
        if isinstance(type_, Numeric):
            return self.component(place, index, token)
        assert isinstance(type_, Array)
        if place.storage == "vertex" and not place.address:
            return replace(place, type=type_.element, address=(index,))
        if place.storage == "shared" and not place.address:
            return replace(place, type=type_.element, address=(index,))
        scheme = _SCHEME.get(place.storage)
        if type(index) is Imm:
            number = index.bits
            if number >= type_.size:
                self.need_literal(3504, f"array index out of bounds: {number - (number >> 31 << 32)} of {type_.size}", token)
            step = lane_count(type_.element) if scheme is None else layout.array_stride(type_, scheme)
            return replace(place, type=type_.element, offset=place.offset + number * step)
        if scheme is None:
            return self.spill(place, index, token)
        stride = layout.array_stride(type_, scheme)
        scaled = self.b.one("imul", index, imm(stride * 4 if scheme == "tight" else stride // 4))
        dynamic = scaled if place.dynamic is None else self.b.one("iadd", place.dynamic, scaled)
        return replace(place, type=type_.element, dynamic=dynamic)

    def spill(self, place: Place, index: Value, token: Token) -> Place:  # noqa: RET503 - the last call does not return
        """An unknown index into something that lives in values: constants go to the icb, variables to memory."""
        if place.storage == "variable":
            variable = place.base
            assert isinstance(variable, tree.Variable)
            lanes: Vec = self.env[variable]
            if all(type(v) is Imm and v is not UNDEFINED for v in lanes) and not self.assigned_later(variable):
                return self.element(self.in_icb(place, lanes), index, token)
            variable.scalarised = False
            self.restart_wanted = True  # this lowering goes on only to find what else must live in memory
            return self.element(Place("array", self.indexable(variable), place.type), index, token)
        if place.storage == "value":
            lanes = place.base
            if all(type(v) is Imm for v in lanes):
                return self.element(self.in_icb(place, lanes), index, token)
            type_ = place.type
            assert isinstance(type_, Array)
            temporary = tree.Variable("<temporary>", type_, "local", token.position, scalarised=False)
            home = Place("array", self.indexable(temporary), type_)
            self.store(home, self.load(place, token), token)
            return self.element(home, index, token)
        self.need_literal(3511, "this array needs an index that is known when the loop is unrolled", token)

    def assigned_later(self, variable: tree.Variable) -> bool:
        """Whether anything but its initialiser writes the variable, anywhere."""
        raise NotImplementedError

    def in_icb(self, place: Place, lanes: Vec) -> Place:
        """The same place over a copy of the constants in the immediate constant buffer."""
        type_ = place.type
        wanted = lanes[place.offset : place.offset + lane_count(type_)]
        bits = tuple(v.bits for v in wanted if isinstance(v, Imm))
        key = (id(type_), bits)
        start = self.module.icb_places.get(key)
        if start is None:
            icb = self.module.icb
            start = len(icb) * 4
            dwords = [0] * layout.align(layout.size(type_, "registers"), 4)
            for offset, word in zip(layout.offsets(type_, "registers"), bits, strict=True):
                dwords[offset] = word
            for at in range(0, len(dwords), 4):
                icb.append((dwords[at], dwords[at + 1], dwords[at + 2], dwords[at + 3]))
            self.module.icb_places[key] = start
        return Place("icb", None, type_, start)

    def component(self, place: Place, index: Value, token: Token) -> Place:
        type_ = place.type
        assert isinstance(type_, Numeric)
        selected = place.select or tuple(range(lane_count(type_)))
        unit = 2 if type_.kind == "d" else 1
        if place.choice is not None:
            outer, rows = place.choice
            width = len(rows[0]) // unit
            if type(index) is Imm:
                if index.bits >= width:
                    self.need_literal(3504, f"index out of bounds: {index.bits} of {width}", token)
                at = index.bits * unit
                return replace(place, choice=(outer, tuple(row[at : at + unit] for row in rows)))
            both = self.b.one("iadd", self.b.one("imul", outer, imm(width)), index)
            return replace(place, choice=(both, tuple(row[k : k + unit] for row in rows for k in range(0, len(row), unit))))
        step = (type_.columns if type_.shape == "matrix" and place.select is None else 1) * unit
        options = tuple(selected[at : at + step] for at in range(0, len(selected), step))
        if type(index) is Imm:
            if index.bits >= len(options):
                self.need_literal(3504, f"index out of bounds: {index.bits} of {len(options)}", token)
            return replace(place, select=options[index.bits])
        return replace(place, choice=(index, options))

    # -- reading -------------------------------------------------------------------------------------------------

    def load(self, place: Place, token: Token) -> Vec:
        """The values at a place."""
        if place.choice is not None:
            index, options = place.choice
            plain = replace(place, choice=None)
            result = self.load(replace(plain, select=options[0]), token)
            for number, option in enumerate(options[1:], 1):
                other = self.load(replace(plain, select=option), token)
                hit = self.b.one("ieq", index, imm(number))
                result = self.b.op("movc", (hit,), other, result)
            return result
        storage = place.storage
        if storage == "shared" and not place.address:
            return tuple(v for part in self.shared_elements(place) for v in self.load(part, token))
        if storage == "variable" or storage == "value":
            lanes: Vec = self.env[place.base] if storage == "variable" else place.base
            if place.select is not None:
                out = tuple(lanes[place.offset + i] for i in place.select)
            else:
                out = lanes[place.offset : place.offset + lane_count(place.type)]
            if UNDEFINED in out and storage == "variable" and place.base.storage != "static":
                self.warn(4000, f"use of potentially uninitialized variable ({place.base.name})", token)
            return out
        if storage == "vertex":
            wanted = place.select or tuple(range(lane_count(place.type)))
            return self.load_vertex(place, tuple(place.offset + i for i in wanted), token)
        if storage == "typed":
            return self.load_typed(place, token)
        offsets = layout.offsets(place.type, _SCHEME[storage])
        if place.select is not None:
            offsets = tuple(offsets[i] for i in place.select)
        absolute = [place.offset + o for o in offsets]
        if storage in ("structured", "shared"):
            return self.truths(place, self.load_structured(place, absolute), "ine", ZERO)
        loaded = self.load_registers(place, absolute)
        return self.truths(place, loaded, "ine", ZERO) if storage == "cb" else loaded

    def truths(self, place: Place, lanes: Vec, op: str, operand: Value) -> Vec:
        """Bools between memory, where any nonzero number is true and 1 is written, and values, where truth is all ones."""
        type_ = place.type
        if isinstance(type_, Numeric):
            return self.b.op(op, lanes, (operand,)) if type_.kind == "b" else lanes
        kinds = [leaf.kind for leaf in leaves(type_) for _ in range(leaf.count * (2 if leaf.kind == "d" else 1))]
        if "b" not in kinds:
            return lanes
        return tuple(self.b.one(op, v, operand) if k == "b" else v for v, k in zip(lanes, kinds, strict=True))

    def shared_elements(self, place: Place) -> list[Place]:
        """The elements of a whole groupshared array."""
        type_ = place.type
        assert isinstance(type_, Array)
        return [replace(place, type=type_.element, address=(imm(i),)) for i in range(type_.size)]

    def load_registers(self, place: Place, dwords: list[int]) -> Vec:
        """From a constant buffer, indexable temp or the immediate constant buffer."""
        b = self.b
        storage = place.storage
        if storage == "cb" and place.base.kind == "tbuffer":
            return self.load_texture_buffer(place, dwords)
        if storage == "cb" and place.dynamic is None:
            return tuple(
                fixed(b.fixed, "cb", place.base, d >> 2, varying=False).lanes[d & 3] for d in dwords
            )
        if storage == "icb" and place.dynamic is None:
            return tuple(imm(self.module.icb[d >> 2][d & 3]) for d in dwords)
        by_register: dict[int, list[int]] = {}
        for d in dwords:
            by_register.setdefault(d >> 2, []).append(d & 3)
        got: dict[int, Value] = {}
        op = {"cb": "cb_load", "icb": "icb_load", "array": "array_load"}[storage]
        for register, components in by_register.items():
            unique = tuple(sorted(set(components)))
            srcs: list[Vec] = [(place.dynamic if place.dynamic is not None else imm(0),)]
            epoch = b.epoch if storage == "array" else 0
            lanes = b.vector(op, srcs, unique, (place.base, register), key=(id(place.base), register, epoch),
                             varying=storage == "array")  # fmt: skip
            for component, lane in zip(unique, lanes, strict=True):
                got[register * 4 + component] = lane
        return tuple(got[d] for d in dwords)

    def load_texture_buffer(self, place: Place, dwords: list[int]) -> Vec:
        raise NotImplementedError

    def load_structured(self, place: Place, dwords: list[int]) -> Vec:
        got: dict[int, Value] = {}
        resource = place.base
        writable = not isinstance(resource, Resource) or resource.binding.letter == "u"
        key: Any = (resource if isinstance(resource, Resource) else id(resource), self.b.epoch if writable else 0)
        for start, run in windows(dwords):
            offset: Value = imm(start * 4)
            if place.dynamic is not None:
                offset = self.b.one("iadd", place.dynamic, offset)
            lanes = self.read("ld_structured", [place.address, (offset,)], run, resource, key=key, varying=writable)
            for component, lane in zip(run, lanes, strict=True):
                got[start + component] = lane
        return tuple(got[d] for d in dwords)

    def read(
        self, op: str, srcs: list[Vec], components: tuple[int, ...], info: Any, *, key: Any = None, varying: bool = False
    ) -> Vec:
        """Read a resource; with a clamp and into a status when the method was called with them."""
        clamp, status = self.feedback
        if clamp is None and status is None:
            return self.b.vector(op, srcs, components, info, key=key, varying=varying)
        self.feedback = (None, None)
        if clamp is not None:
            srcs = [*srcs, clamp]
        wanted = components if status is None else (*components, STATUS)
        lanes = self.b.vector(FEEDBACK[op], srcs, wanted, info, key=key, varying=varying)
        if status is not None:
            self.store(self.place(status), convert(self.b, lanes[-1:], UINT, status.type), status.token)
        return lanes[: len(components)]

    def place(self, node: tree.Expression) -> Place:
        raise NotImplementedError

    def load_typed(self, place: Place, token: Token) -> Vec:
        raise NotImplementedError

    def load_vertex(self, place: Place, lanes: tuple[int, ...], token: Token) -> Vec:
        raise NotImplementedError

    def store_typed(self, place: Place, values: Vec, token: Token) -> None:
        raise NotImplementedError

    # -- writing -------------------------------------------------------------------------------------------------

    def store(self, place: Place, values: Vec, token: Token) -> None:
        if place.choice is not None:
            index, options = place.choice
            plain = replace(place, choice=None)
            for number, option in enumerate(options):
                target = replace(plain, select=option)
                hit = self.b.one("ieq", index, imm(number))
                if type(hit) is Imm and not hit.bits:
                    continue
                self.store(target, self.b.op("movc", (hit,), values, self.quiet_load(target, token)), token)
            return
        storage = place.storage
        if storage == "variable":
            lanes = list(self.env[place.base])
            wanted = place.select if place.select is not None else range(lane_count(place.type))
            for i, value in zip(wanted, values, strict=True):
                lanes[place.offset + i] = value
            self.env[place.base] = tuple(lanes)
            return
        if storage == "typed":
            self.store_typed(place, values, token)
            return
        if storage == "shared" and not place.address:
            width = lane_count(place.type) // len(self.shared_elements(place))
            for i, part in enumerate(self.shared_elements(place)):
                self.store(part, values[i * width : (i + 1) * width], token)
            return
        if storage not in _SCHEME or storage in ("cb", "icb"):
            self.fail(3025, "expression is not an l-value", token)
        offsets = layout.offsets(place.type, _SCHEME[storage])
        if place.select is not None:
            offsets = tuple(offsets[i] for i in place.select)
        if storage != "array":
            values = self.truths(place, values, "and", imm(1))
        by_dword = dict(zip((place.offset + o for o in offsets), values, strict=True))
        if storage == "array":
            registers: dict[int, list[int]] = {}
            for d in sorted(by_dword):
                registers.setdefault(d >> 2, []).append(d & 3)
            for register, components in registers.items():
                where: Vec = (place.dynamic if place.dynamic is not None else imm(0),)
                stored = tuple(by_dword[register * 4 + c] for c in components)
                self.b.effect("array_store", [where, stored], (place.base, register, tuple(components)))
        else:
            for start, run in windows(sorted(by_dword)):
                at = 0
                while at < len(run):  # a store's mask is x, xy, xyz or xyzw: cut at holes
                    end = at
                    while end + 1 < len(run) and run[end + 1] == run[end] + 1:
                        end += 1
                    first = start + run[at]
                    stored = tuple(by_dword[start + c] for c in run[at : end + 1])
                    offset: Value = imm(first * 4)
                    if place.dynamic is not None:
                        offset = self.b.one("iadd", place.dynamic, offset)
                    self.b.effect("store_structured", [place.address, (offset,), stored], place.base)
                    at = end + 1
            if isinstance(place.base, Resource):
                self.use(place.base)
        self.b.touch_memory()

    def quiet_load(self, place: Place, token: Token) -> Vec:
        """Load without a warning about undefined components: they are about to be replaced or kept."""
        if place.storage == "variable":
            lanes: Vec = self.env[place.base]
            wanted = place.select if place.select is not None else range(lane_count(place.type))
            return tuple(lanes[place.offset + i] for i in wanted)
        return self.load(place, token)

    def use(self, resource: Resource) -> None:
        resource.binding.used.add(resource.index)


def windows(dwords: list[int]) -> list[tuple[int, tuple[int, ...]]]:
    """Group dwords into runs that one four-component access reaches: (first dword, components)."""
    out: list[tuple[int, tuple[int, ...]]] = []
    pending = sorted(set(dwords))
    while pending:
        start = pending[0]
        run = tuple(d - start for d in pending if d - start < 4)
        out.append((start, run))
        pending = pending[len(run) :]
    return out
