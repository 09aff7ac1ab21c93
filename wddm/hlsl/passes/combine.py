"""Instructions melt into others: negations into modifiers, products into mad, clamps into saturate.

Only where nothing else reads what disappears, and never across ``precise``.
"""

from __future__ import annotations

from collections import Counter

from wddm.hlsl.ir.fold import is_truth
from wddm.hlsl.ir.nodes import (
    FLOAT_OPS,
    Break,
    If,
    Imm,
    Instr,
    Lane,
    Region,
    Switch,
    Value,
    Vec,
    each_instruction,
    each_region,
    imm,
)

from .simplify import replace_values

__all__ = ["combine"]

NEGATE, ABSOLUTE = 1, 2

_FLOAT_SOURCES = FLOAT_OPS | {"eq", "ne", "lt", "ge", "ftoi", "ftou", "sat", "fneg", "fabs"}
"""Operations whose sources may carry float modifiers."""

_INT_SOURCES = frozenset({"iadd", "imax", "imin", "imad"})


def combine(region: Region) -> None:
    """Modifiers, mad, saturate and negated conditions."""
    _conditions(region)
    for instr in each_instruction(region):
        if instr.op in _FLOAT_SOURCES:
            _float_modifiers(instr)
        elif instr.op in _INT_SOURCES:
            _int_modifiers(instr)
    uses = _count_uses(region)
    for instr in each_instruction(region):
        if instr.op == "add" or instr.op == "iadd":
            _multiply_add(instr, uses)
    _saturate(region, uses)


def _count_uses(region: Region) -> Counter[Value]:
    uses: Counter[Value] = Counter()
    for instr in each_instruction(region):
        for src in instr.srcs:
            uses.update(src)
    for current in each_region(region):
        for node in current:
            if isinstance(node, If | Break) and node.condition is not None:
                uses[node.condition] += 1
            elif isinstance(node, Switch):
                uses[node.selector] += 1
    return uses


def _conditions(region: Region) -> None:
    for current in each_region(region):
        for node in current:
            if isinstance(node, If | Break):
                value = node.condition
                while isinstance(value, Lane) and value.instr.op == "not" and is_truth(value.instr.srcs[0][value.index]):
                    value = value.instr.srcs[0][value.index]
                    node.negated = not node.negated
                node.condition = value
                if isinstance(value, Lane) and value.instr.op in ("ine", "ieq"):  # a test against zero is the test itself
                    a, b = (src[value.index] for src in value.instr.srcs)
                    if isinstance(b, Imm) and b.bits == 0:
                        node.condition = a
                        node.negated ^= value.instr.op == "ieq"
            elif isinstance(node, Instr) and node.op == "discard":
                value = node.srcs[0][0]
                if isinstance(value, Lane) and value.instr.op == "not" and is_truth(value.instr.srcs[0][value.index]):
                    node.srcs = [(value.instr.srcs[0][value.index],)]
                    node.info = not node.info


def _strip(src: Vec) -> tuple[Vec, int] | None:
    """The operand without negations and absolutes, and the modifier they make; None when the lanes differ."""
    modifier: int | None = None
    out: list[Value] = []
    immediates: list[int] = []
    for place, value in enumerate(src):
        mine = 0
        current = value
        if isinstance(current, Imm):
            out.append(current)
            immediates.append(place)
            continue
        while isinstance(current, Lane) and current.instr.op in ("fneg", "fabs"):
            inner = current.instr
            if inner.op == "fneg":
                if not mine & ABSOLUTE:
                    mine ^= NEGATE
            else:
                mine |= ABSOLUTE
            stacked = inner.modifiers[0] if inner.modifiers else 0
            if stacked and not mine & ABSOLUTE:
                mine = mine ^ stacked if not stacked & ABSOLUTE else (mine & NEGATE) ^ stacked
            current = inner.srcs[0][current.index]
        if modifier is None:
            modifier = mine
        elif modifier != mine:
            return None
        out.append(current)
    if not modifier:
        return None
    for place in immediates:
        bits = out[place].bits  # type: ignore[attr-defined]
        if modifier & ABSOLUTE:
            wanted = bits ^ 0x80000000 if modifier & NEGATE else bits
            if wanted >> 31:
                return None
            out[place] = imm(wanted)
        else:
            out[place] = imm(bits ^ 0x80000000)
    return tuple(out), modifier


def _float_modifiers(instr: Instr) -> None:
    if instr.modifiers is not None:
        return
    modifiers = [0] * len(instr.srcs)
    for at, src in enumerate(instr.srcs):
        found = _strip(src)
        if found is not None:
            instr.srcs[at], modifiers[at] = found
    if any(modifiers):
        instr.modifiers = modifiers


def _int_modifiers(instr: Instr) -> None:
    modifiers = [0] * len(instr.srcs)
    for at, src in enumerate(instr.srcs):
        if all(isinstance(v, Imm) for v in src):
            continue
        out: list[Value] = []
        for value in src:
            if isinstance(value, Lane) and value.instr.op == "ineg":
                out.append(value.instr.srcs[0][value.index])
            elif isinstance(value, Imm):
                out.append(imm(-value.bits))
            else:
                break
        else:
            instr.srcs[at] = tuple(out)
            modifiers[at] = NEGATE
    if any(modifiers):
        instr.modifiers = modifiers


def _multiply_add(instr: Instr, uses: Counter[Value]) -> None:
    """add(mul(a, b), c) → mad(a, b, c)."""
    if instr.precise:
        return
    product = "mul" if instr.op == "add" else "imul"
    modifiers = instr.modifiers or [0, 0]
    for at in (0, 1):
        src = instr.srcs[at]
        lanes = [v for v in src if isinstance(v, Lane) and v.instr.op == product]
        if len(lanes) != len(src) or modifiers[at] & ABSOLUTE:
            continue
        if any(uses[v] != 1 or v.instr.saturate or v.instr.precise for v in lanes) or len(set(lanes)) != len(lanes):
            continue
        inner = [tuple(v.instr.modifiers) if v.instr.modifiers else (0, 0) for v in lanes]
        if any(m != inner[0] for m in inner):
            continue
        first, second = inner[0]
        if modifiers[at] & NEGATE:
            first ^= NEGATE
        other = 1 - at
        a = tuple(v.instr.srcs[0][v.index] for v in lanes)
        b = tuple(v.instr.srcs[1][v.index] for v in lanes)
        if first and all(isinstance(v, Imm) for v in a):
            first, second, a, b = second, first, b, a
        c, c_modifier = instr.srcs[other], modifiers[other]
        for v in lanes:
            uses[v] = 0
        instr.op = "mad" if instr.op == "add" else "imad"
        instr.srcs = [a, b, c]
        all_modifiers = [first, second, c_modifier]
        instr.modifiers = all_modifiers if any(all_modifiers) else None
        return


def _saturate(region: Region, uses: Counter[Value]) -> None:
    """sat of results nobody else reads becomes the _sat of their instruction."""
    mapping: dict[Value, Value] = {}
    for instr in list(each_instruction(region)):
        if instr.op != "sat" or instr.modifiers:
            continue
        src = instr.srcs[0]
        producer = src[0].instr if isinstance(src[0], Lane) else None
        if producer is None or producer.op not in FLOAT_OPS or producer.saturate or producer.precise != instr.precise:
            continue
        if set(src) != set(producer.lanes) or any(uses[v] != 1 for v in src) or len(set(src)) != len(src):
            continue
        producer.saturate = True
        for lane, value in zip(instr.lanes, src, strict=True):
            mapping[lane] = value
    if mapping:
        replace_values(region, mapping)
