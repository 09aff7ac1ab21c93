"""64-bit float instructions: a value is a pair of consecutive dwords, low first, in .xy or .zw."""

from __future__ import annotations

from umd.shader.errors import ShaderError
from umd.shader.ir import SATURATE, Destination
from umd.shader.translator import Translator, handles, mnemonic
from wddm.dxbc.opcodes import Modifier, Opcode, RegisterType
from wddm.dxbc.program import Instruction, Operand
from wddm.hw.isa import ABSOLUTE, NEGATE, Kind, Op

_BITS = {Modifier.NONE: 0, Modifier.NEG: NEGATE, Modifier.ABS: ABSOLUTE, Modifier.NEG_ABS: NEGATE | ABSOLUTE}
_PAIRABLE = (Kind.TEMP, Kind.INPUT, Kind.CONSTANT)

_ARITHMETIC = {
    Opcode.DADD: Op.DADD,
    Opcode.DMUL: Op.DMUL,
    Opcode.DFMA: Op.DFMA,
    Opcode.DDIV: Op.DDIV,
    Opcode.DRCP: Op.DRCP,
    Opcode.DMIN: Op.DMIN,
    Opcode.DMAX: Op.DMAX,
    Opcode.DMOV: Op.DMOV,
}
_TO_WORD = {
    Opcode.DEQ: Op.DEQ,
    Opcode.DNE: Op.DNE,
    Opcode.DLT: Op.DLT,
    Opcode.DGE: Op.DGE,
    Opcode.DTOF: Op.DTOF,
    Opcode.DTOI: Op.DTOI,
    Opcode.DTOU: Op.DTOU,
}
_FROM_WORD = {Opcode.FTOD: Op.FTOD, Opcode.ITOD: Op.ITOD, Opcode.UTOD: Op.UTOD}


def pair_source(t: Translator, operand: Operand, pair: int) -> int:
    """The first of two consecutive dwords: positions ``2 * pair`` and ``2 * pair + 1`` of a source."""
    b = t.builder
    bits = _BITS[operand.modifier]
    if operand.type is RegisterType.IMMEDIATE64:
        values = operand.values
        first = 2 * pair if len(values) == 4 else 0
        return b.literal_pair(values[first], values[first + 1]) | bits
    swizzle = operand.swizzle
    low, high = t.fetch(operand, [swizzle[2 * pair], swizzle[2 * pair + 1]])
    if low >> 28 == Kind.LITERAL and high >> 28 == Kind.LITERAL:
        known = b.literal_value(low), b.literal_value(high)
        if known[0] is not None and known[1] is not None:
            return b.literal_pair(known[0], known[1]) | bits
    if low >> 28 in _PAIRABLE and high == low + 1:
        return low | bits
    both = b.scratch(2)
    b.emit(Op.MOV, both, low)
    b.emit(Op.MOV, both + 1, high)
    return both | bits


def pairs(t: Translator, i: Instruction, operand: Operand) -> list[tuple[int, Destination, Destination]]:
    """``(pair, low, high)`` of a double destination. Raises ShaderError for a mask that is not .xy, .zw or .xyzw."""
    where = dict(t.destination(operand))
    if not where:
        return []
    found = []
    for pair in (0, 1):
        low, high = where.get(2 * pair), where.get(2 * pair + 1)
        if (low is None) != (high is None):
            raise ShaderError(f"{mnemonic(i)} writes half of a double")
        if low is not None and high is not None:
            found.append((pair, low, high))
    return found


def put(t: Translator, results: list[tuple[Destination, Destination, int]]) -> None:
    """Move computed pairs to their destinations after all sources were read."""
    for low, high, both in results:
        t.builder.store(low, both)
        t.builder.store(high, both + 1)


def compute(t: Translator, op: Op, sources: tuple[int, ...], widths: tuple[int, ...], mods: int) -> int:
    """A double result in a fresh pair of registers."""
    both = t.builder.scratch(2)
    t.builder.emit(op, both, *sources, mods=mods, widths=widths, offsets=(0, 1), span=2)
    return both


@handles(*_ARITHMETIC)
def arithmetic(t: Translator, i: Instruction) -> None:
    op, mods = _ARITHMETIC[i.opcode], SATURATE if i.saturate else 0
    count = len(i.operands) - 1
    results: list[tuple[Destination, Destination, int]] = []
    for pair, low, high in pairs(t, i, i.operands[0]):
        sources = tuple(pair_source(t, s, pair) for s in i.operands[1:])
        results.append((low, high, compute(t, op, sources, (2,) * count, mods)))
    put(t, results)


@handles(Opcode.DMOVC)
def dmovc(t: Translator, i: Instruction) -> None:
    results: list[tuple[Destination, Destination, int]] = []
    for pair, low, high in pairs(t, i, i.operands[0]):
        condition = t.plain(i.operands[1], (pair,), "u")[0]
        sources = (condition, pair_source(t, i.operands[2], pair), pair_source(t, i.operands[3], pair))
        results.append((low, high, compute(t, Op.DSELECT, sources, (0, 2, 2), SATURATE if i.saturate else 0)))
    put(t, results)


@handles(*_TO_WORD)
def to_word(t: Translator, i: Instruction) -> None:
    # The n-th masked component takes the n-th double of the sources, wherever the component stands.
    where = t.destination(i.operands[0])
    if len(where) > 2:
        raise ShaderError(f"{mnemonic(i)} writes {len(where)} components; a source holds two doubles")
    results: list[tuple[Destination, int]] = []
    count = len(i.operands) - 1
    for pair, (_, d) in enumerate(where):
        sources = [pair_source(t, s, pair) for s in i.operands[1:]]
        word = t.builder.scratch()
        mods = SATURATE if i.saturate else 0
        t.builder.emit(_TO_WORD[i.opcode], word, *sources, mods=mods, widths=(2,) * count)
        results.append((d, word))
    for d, word in results:
        t.builder.store(d, word)


@handles(*_FROM_WORD)
def from_word(t: Translator, i: Instruction) -> None:
    kind = {Opcode.FTOD: "f", Opcode.ITOD: "i", Opcode.UTOD: "u"}[i.opcode]
    results: list[tuple[Destination, Destination, int]] = []
    for position, (_, low, high) in enumerate(pairs(t, i, i.operands[0])):
        word = t.source(i.operands[1], (position,), kind)[0]
        results.append((low, high, compute(t, _FROM_WORD[i.opcode], (word,), (0,), 0)))
    put(t, results)
