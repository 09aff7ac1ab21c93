"""Slots for resources, samplers, UAVs and constant buffers.

What the source fixes with ``register`` stays; the rest takes the lowest free slots in the order of declaration, and
only if the program uses it.
"""

from __future__ import annotations

from wddm.hlsl import tree
from wddm.hlsl.diagnostics import Position, Sink
from wddm.hlsl.ir.nodes import Break, Fixed, If, Instr, Region, Switch, Value, each_instruction, each_region
from wddm.hlsl.lowering.resources import TextureAccess
from wddm.hlsl.lowering.state import Binding, IndexableArray, Module, Resource, SharedMemory

__all__ = ["Usage", "assign_slots"]

_LIMITS = {"t": 128, "s": 16, "u": 8, "b": 14}


class Usage:
    """What the instructions refer to: per binding the used elements, per buffer the last register."""

    def __init__(self, regions: list[Region]) -> None:
        self.elements: dict[Binding, set[int]] = {}
        self.buffers: dict[int, tuple[tree.ConstantBuffer, int, bool]] = {}
        self.dwords: dict[int, set[int]] = {}
        self.arrays: list[IndexableArray] = []
        self.shared: list[SharedMemory] = []
        self.icb = False
        for region in regions:
            for instr in each_instruction(region):
                self._info(instr)
                for src in instr.srcs:
                    for value in src:
                        self._value(value)
            for current in each_region(region):
                for node in current:
                    if isinstance(node, If | Break):
                        self._value(node.condition)
                    elif isinstance(node, Switch):
                        self._value(node.selector)

    def _value(self, value: Value | None) -> None:
        if isinstance(value, Fixed) and value.register.file == "cb":
            register = value.register
            self._buffer(register.owner, register.index, dynamic=False)
            self.dwords.setdefault(id(register.owner), set()).add(register.index * 4 + value.component)

    def _info(self, instr: Instr) -> None:
        info = instr.info
        if instr.op == "atomic":
            info = info[1]
        if isinstance(info, TextureAccess):
            self._resource(info.texture)
            if info.sampler is not None:
                self._resource(info.sampler)
        elif isinstance(info, Resource):
            self._resource(info)
        elif isinstance(info, SharedMemory):
            if info not in self.shared:
                self.shared.append(info)
        elif instr.op in ("array_load", "array_store"):
            if info[0] not in self.arrays:
                self.arrays.append(info[0])
        elif instr.op == "cb_load":
            self._buffer(info[0], -(-info[0].size // 4) - 1, dynamic=True)
            self.dwords.setdefault(id(info[0]), set()).update(range(info[1] * 4, info[0].size))
        elif instr.op == "icb_load":
            self.icb = True

    def _resource(self, resource: Resource) -> None:
        self.elements.setdefault(resource.binding, set()).add(resource.index)

    def _buffer(self, buffer: tree.ConstantBuffer, register: int, *, dynamic: bool) -> None:
        known = self.buffers.get(id(buffer), (buffer, -1, False))
        self.buffers[id(buffer)] = (buffer, max(known[1], register), known[2] or dynamic)


def assign_slots(
    usage: Usage, module: Module, unit: tree.Unit, params: tree.ConstantBuffer, sink: Sink, *, first_uav: int = 0
) -> tuple[list[Binding], dict[int, int]]:
    """Used bindings with their slots set, and the slot of every used constant buffer by id.

    ``first_uav``: a pixel shader's UAVs come behind its render targets.
    """
    order = {id(v): i for i, v in enumerate(unit.globals)}
    bindings = [b for b in module.bindings.values() if b in usage.elements]
    bindings.sort(key=lambda b: (order.get(id(b.variable), len(order)), b.letter))
    taken: dict[str, dict[int, str]] = {letter: {} for letter in "tsub"}

    def claim(letter: str, start: int, count: int, name: str, position: Position) -> None:
        for slot in range(start, start + count):
            if slot >= _LIMITS[letter]:
                sink.error(4509, f"'{name}' needs register {letter}{slot}: there are {_LIMITS[letter]}", position)
                return
            other = taken[letter].get(slot)
            if other is not None and other != name:
                sink.error(4500, f"overlapping register semantics not yet implemented '{letter}{slot}': '{name}' and "
                           f"'{other}'", position)  # fmt: skip
                return
            taken[letter][slot] = name

    def free(letter: str, count: int) -> int:
        start = first_uav if letter == "u" else 0
        while any(slot in taken[letter] for slot in range(start, start + count)):
            start += 1
        return start

    for fixed_ones in (True, False):
        for binding in bindings:
            number = binding.variable.registers.get(binding.letter)
            if (number is not None) is not fixed_ones:
                continue
            used = max(usage.elements[binding]) + 1
            binding.slot = free(binding.letter, used) if number is None else number
            claim(binding.letter, binding.slot, used, binding.name, binding.variable.position)
    buffers = [b for b in [*[x for x in unit.buffers if x.name == "$Globals"], *unit.buffers, params]]
    slots: dict[int, int] = {}
    for fixed_ones in (True, False):
        for buffer in buffers:
            if id(buffer) not in usage.buffers or id(buffer) in slots or (buffer.slot is not None) is not fixed_ones:
                continue
            slot = free("b", 1) if buffer.slot is None else buffer.slot
            claim("b", slot, 1, buffer.name, buffer.position)
            slots[id(buffer)] = slot
    return bindings, slots
