"""Values to operands: registers, masks, swizzles, immediates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wddm.dxbc.opcodes import (
    Modifier,
    RegisterType,
    ReturnType,
    Selection,
)
from wddm.dxbc.program import Index, Instruction, Operand, ReturnTypes, imm_int
from wddm.hlsl.ir.nodes import STATUS, Fixed, Imm, Instr, Lane, Value, Vec
from wddm.hlsl.lowering.resources import TextureAccess
from wddm.hlsl.lowering.state import Binding, Resource, SharedMemory
from wddm.hlsl.types import Numeric

__all__ = ["MODIFIERS", "OperandWriter", "return_types"]

MODIFIERS = (Modifier.NONE, Modifier.NEG, Modifier.ABS, Modifier.NEG_ABS)

_RESOURCE_RETURN = {"f": ReturnType.FLOAT, "i": ReturnType.SINT, "u": ReturnType.UINT, "d": ReturnType.DOUBLE}

_SCALAR_REGISTERS = frozenset({
    RegisterType.INPUT_PRIMITIVEID, RegisterType.OUTPUT_CONTROL_POINT_ID, RegisterType.INPUT_COVERAGE_MASK,
    RegisterType.INPUT_THREAD_ID_IN_GROUP_FLATTENED, RegisterType.INPUT_GS_INSTANCE_ID, RegisterType.OUTPUT_DEPTH,
    RegisterType.OUTPUT_DEPTH_GREATER_EQUAL, RegisterType.OUTPUT_DEPTH_LESS_EQUAL, RegisterType.OUTPUT_COVERAGE_MASK,
    RegisterType.OUTPUT_STENCIL_REF,
})  # fmt: skip


_PLAIN_SCALARS = frozenset({RegisterType.INPUT_PRIMITIVEID, RegisterType.OUTPUT_CONTROL_POINT_ID})
"""Inputs of one component that are written without naming it."""


def return_types(binding: Binding) -> ReturnTypes:
    """What the four components of a typed resource read as."""
    element = binding.type.element
    kind = element.kind if isinstance(element, Numeric) else "f"
    one = {"unorm": ReturnType.UNORM, "snorm": ReturnType.SNORM}.get(binding.type.norm, _RESOURCE_RETURN[kind])
    return (one, one, one, one)


class OperandWriter:
    """Spells the operands of one phase.  ``places``: (register, component) of every lane."""

    def __init__(self, places: dict[Lane, tuple[int, int]], temps: int, model: int, slot_of: Callable[[Any], int],
                 outputs: dict[Instr, tuple[RegisterType, int, tuple[int, ...]]]) -> None:  # fmt: skip
        self.places = places
        self.temps = temps
        self.model = model
        self.slot_of = slot_of
        self.outputs = outputs
        self.out: list[Instruction] = []

    # -- operands ------------------------------------------------------------------------------------------------

    def source(self, values: Vec, positions: tuple[int, ...], modifier: int = 0) -> Operand:
        """An operand that delivers ``values[i]`` at position ``positions[i]`` of four."""
        first = values[0]
        if isinstance(first, Imm):
            if len(set(values)) == 1:
                words = [first.bits]
            else:
                words = [0, 0, 0, 0]
                for value, at in zip(values, positions, strict=True):
                    words[at] = value.bits  # type: ignore[attr-defined]
            operand = imm_int(*words)
        else:
            type_, indices, place = self.register(first)
            components = [self.component(v) for v in values]
            if type_ in _PLAIN_SCALARS:
                operand = Operand(type_, 1, Selection.MASK, 0, indices)
            elif len(set(components)) == 1 and len(values) == 1:
                operand = Operand(type_, 4, Selection.SELECT1, place, indices)
            else:
                swizzle = [components[0]] * 4
                known = dict(zip(positions, components, strict=True))
                last = components[0]
                for at in range(4):
                    last = known.get(at, last)
                    swizzle[at] = last
                operand = Operand(type_, 4, Selection.SWIZZLE, sum(c << (2 * i) for i, c in enumerate(swizzle)), indices)
        operand.modifier = MODIFIERS[modifier]
        return operand

    def vector(self, values: Vec) -> Operand:
        """An operand read by position: coordinates, addresses, both sides of dot products."""
        if isinstance(values[0], Imm) and len(values) > 1 and len(set(values)) == 1:
            return imm_int(*[v.bits for v in values][:1] * 4)  # type: ignore[attr-defined]
        if isinstance(values[0], Imm) and len(values) > 1:
            words = [v.bits for v in values]  # type: ignore[attr-defined]
            return imm_int(*(words + [0] * (4 - len(words))))
        return self.source(values, tuple(range(len(values))))

    def scalar(self, value: Value, modifier: int = 0) -> Operand:
        return self.source((value,), (0,), modifier)

    def register(self, value: Value) -> tuple[RegisterType, list[Index], int]:
        if isinstance(value, Lane):
            number, component = self.places[value]
            return RegisterType.TEMP, [Index(number)], component
        assert isinstance(value, Fixed)
        register = value.register
        if register.file == "cb":
            indices = [Index(self.slot_of(register.owner)), Index(register.index)]
            return RegisterType.CONSTANT_BUFFER, indices, value.component
        type_ = RegisterType[register.file]
        if register.vertex is not None:
            return type_, [Index(register.vertex), Index(register.index)], value.component
        indices = [Index(register.index)] if type_ in (RegisterType.INPUT, RegisterType.INPUT_PATCH_CONSTANT) else []
        return type_, indices, value.component

    def component(self, value: Value) -> int:
        if isinstance(value, Lane):
            return self.places[value][1]
        assert isinstance(value, Fixed)
        return value.component

    def destination(self, instr: Instr, lanes: list[Lane] | None = None) -> tuple[Operand, tuple[int, ...]]:
        """Where results go, and the component of each lane."""
        chosen = self.outputs.get(instr)
        if chosen is not None:
            type_, number, components = chosen
            return self.output(type_, number, components), components
        lanes = lanes or instr.lanes
        number = self.places[lanes[0]][0]
        components = tuple(self.places[lane][1] for lane in lanes)
        mask = sum(1 << c for c in components)
        return Operand(RegisterType.TEMP, 4, Selection.MASK, mask, [Index(number)]), components

    def output(self, type_: RegisterType, number: int, components: tuple[int, ...]) -> Operand:
        if type_ in _SCALAR_REGISTERS:
            return Operand(type_, 1, Selection.MASK, 0, [])
        return Operand(type_, 4, Selection.MASK, sum(1 << c for c in components), [Index(number)])

    def memory(self, resource: Any, selection: Selection, selector: int, components: int = 4) -> Operand:
        """A t#, u# or g# operand."""
        if isinstance(resource, SharedMemory):
            type_, number = RegisterType.THREAD_GROUP_SHARED_MEMORY, resource.number
        elif isinstance(resource, TextureAccess):
            return self.memory(resource.texture, selection, selector, components)
        else:
            assert isinstance(resource, Resource)
            type_ = RegisterType.RESOURCE if resource.binding.letter == "t" else RegisterType.UNORDERED_ACCESS_VIEW
            number = resource.binding.slot + resource.index
        return Operand(type_, components, selection, selector, [Index(number)])

    def swizzled(self, instr: Instr, at: tuple[int, ...], resource: Any) -> Operand:
        """A resource whose fetched components arrive where the destination wants them."""
        assert instr.components is not None
        if not at:
            return self.memory(resource, Selection.SWIZZLE, 0xE4)
        components = [c for c in instr.components if c != STATUS]
        known = dict(zip(at, components, strict=True))
        swizzle = 0
        last = components[0]
        for position in range(4):
            last = known.get(position, last)
            swizzle |= last << (2 * position)
        return self.memory(resource, Selection.SWIZZLE, swizzle)

    def sampler(self, access: TextureAccess, channel: int | None = None) -> Operand:
        assert access.sampler is not None
        number = access.sampler.binding.slot + access.sampler.index
        if channel is None:
            return Operand(RegisterType.SAMPLER, 0, Selection.MASK, 0, [Index(number)])
        return Operand(RegisterType.SAMPLER, 4, Selection.SELECT1, channel, [Index(number)])
