"""Float, integer, bit, move and conversion instructions: one scalar operation per masked component."""

from __future__ import annotations

from umd.shader.errors import ShaderError
from umd.shader.ir import SATURATE, ArrayElement, Destination
from umd.shader.translator import Translator, handles
from wddm.dxbc.opcodes import OPCODES, Opcode, RegisterType, ValueType
from wddm.dxbc.program import Instruction, Operand
from wddm.hw.isa import NEGATE, Mod, Op

_KIND = {
    ValueType.FLOAT: "f",
    ValueType.INT: "i",
    ValueType.UINT: "u",
    ValueType.DOUBLE: "d",
    ValueType.RAW: "r",
    ValueType.NONE: "r",
}

#: Token opcode -> hardware operation, sources in the same order.
_ELEMENTWISE: dict[Opcode, Op] = {
    Opcode.ADD: Op.FADD,
    Opcode.DIV: Op.FDIV,
    Opcode.EXP: Op.FEXP2,
    Opcode.FRC: Op.FFRC,
    Opcode.LOG: Op.FLOG2,
    Opcode.MAD: Op.FMAD,
    Opcode.MAX: Op.FMAX,
    Opcode.MIN: Op.FMIN,
    Opcode.MUL: Op.FMUL,
    Opcode.ROUND_NE: Op.FROUND_NE,
    Opcode.ROUND_NI: Op.FROUND_NI,
    Opcode.ROUND_PI: Op.FROUND_PI,
    Opcode.ROUND_Z: Op.FROUND_Z,
    Opcode.RCP: Op.FRCP,
    Opcode.RSQ: Op.FRSQ,
    Opcode.SQRT: Op.FSQRT,
    Opcode.EQ: Op.FEQ,
    Opcode.NE: Op.FNE,
    Opcode.LT: Op.FLT,
    Opcode.GE: Op.FGE,
    Opcode.IEQ: Op.IEQ,
    Opcode.INE: Op.INE,
    Opcode.ILT: Op.ILT,
    Opcode.IGE: Op.IGE,
    Opcode.ULT: Op.ULT,
    Opcode.UGE: Op.UGE,
    Opcode.IADD: Op.IADD,
    Opcode.IMAD: Op.IMAD,
    Opcode.UMAD: Op.IMAD,
    Opcode.IMAX: Op.IMAX,
    Opcode.IMIN: Op.IMIN,
    Opcode.UMAX: Op.UMAX,
    Opcode.UMIN: Op.UMIN,
    Opcode.INEG: Op.INEG,
    Opcode.MSAD: Op.MSAD,
    Opcode.AND: Op.AND,
    Opcode.OR: Op.OR,
    Opcode.XOR: Op.XOR,
    Opcode.NOT: Op.NOT,
    Opcode.ISHL: Op.SHL,
    Opcode.ISHR: Op.ISHR,
    Opcode.USHR: Op.USHR,
    Opcode.COUNTBITS: Op.COUNT_BITS,
    Opcode.FIRSTBIT_HI: Op.FIRST_BIT_HI,
    Opcode.FIRSTBIT_LO: Op.FIRST_BIT_LO,
    Opcode.FIRSTBIT_SHI: Op.FIRST_BIT_SHI,
    Opcode.BFREV: Op.BIT_REVERSE,
    Opcode.UBFE: Op.UBFE,
    Opcode.IBFE: Op.IBFE,
    Opcode.BFI: Op.BFI,
    Opcode.FTOI: Op.FTOI,
    Opcode.FTOU: Op.FTOU,
    Opcode.ITOF: Op.ITOF,
    Opcode.UTOF: Op.UTOF,
    Opcode.F32TOF16: Op.F32TOF16,
    Opcode.F16TOF32: Op.F16TOF32,
    Opcode.DERIV_RTX: Op.DDX_COARSE,
    Opcode.DERIV_RTY: Op.DDY_COARSE,
    Opcode.DERIV_RTX_COARSE: Op.DDX_COARSE,
    Opcode.DERIV_RTY_COARSE: Op.DDY_COARSE,
    Opcode.DERIV_RTX_FINE: Op.DDX_FINE,
    Opcode.DERIV_RTY_FINE: Op.DDY_FINE,
}


def kinds(instruction: Instruction) -> str:
    """One letter per operand: how it is typed."""
    return "".join(_KIND[t] for t in OPCODES[instruction.opcode].types)


def modifiers(instruction: Instruction, component: int) -> int:
    """SATURATE and PRECISE for one component of the result."""
    mods = SATURATE if instruction.saturate else 0
    if instruction.precise_mask >> component & 1:
        mods |= int(Mod.PRECISE)
    return mods


def source_rows(t: Translator, operands: list[Operand], positions: tuple[int, ...], types: str) -> list[tuple[int, ...]]:
    """For each position, the words of all sources."""
    columns = [t.source(o, positions, k) for o, k in zip(operands, types, strict=True)]
    return list(zip(*columns, strict=True))


@handles(*_ELEMENTWISE)
def elementwise(t: Translator, i: Instruction) -> None:
    where = t.destination(i.operands[0])
    if not where:
        return
    positions = tuple(c for c, _ in where)
    rows = source_rows(t, i.operands[1:], positions, kinds(i)[1:])
    op = _ELEMENTWISE[i.opcode]
    keep = int(Mod.SATURATE) | (int(Mod.PRECISE) if op is Op.FMAD else 0)
    t.builder.parallel(
        [(d, op, row, modifiers(i, c) & keep) for (c, d), row in zip(where, rows, strict=True)]
    )


@handles(Opcode.MOV)
def mov(t: Translator, i: Instruction) -> None:
    where = t.destination(i.operands[0])
    words = t.source(i.operands[1], tuple(c for c, _ in where), "f")
    mods = SATURATE if i.saturate else 0
    t.builder.parallel([(d, Op.MOV, (w,), mods) for (_, d), w in zip(where, words, strict=True)])


@handles(Opcode.MOVC)
def movc(t: Translator, i: Instruction) -> None:
    where = t.destination(i.operands[0])
    positions = tuple(c for c, _ in where)
    condition = t.plain(i.operands[1], positions, "u")
    rows = source_rows(t, i.operands[2:], positions, "ff")
    mods = SATURATE if i.saturate else 0
    t.builder.parallel(
        [(d, Op.SELECT, (c, *row), mods) for (_, d), c, row in zip(where, condition, rows, strict=True)]
    )


@handles(Opcode.SWAPC)
def swapc(t: Translator, i: Instruction) -> None:
    first, second, condition, a, b = i.operands
    assignments: list[tuple[Destination, int, tuple[int, ...], int]] = []
    mods = SATURATE if i.saturate else 0
    for operand, one, other in ((first, b, a), (second, a, b)):
        where = t.destination(operand)
        positions = tuple(c for c, _ in where)
        tests = t.plain(condition, positions, "u")
        rows = source_rows(t, [one, other], positions, "ff")
        assignments += [(d, Op.SELECT, (c, *row), mods) for (_, d), c, row in zip(where, tests, rows, strict=True)]
    t.builder.parallel(assignments)


@handles(Opcode.DP2, Opcode.DP3, Opcode.DP4)
def dot(t: Translator, i: Instruction) -> None:
    where = t.destination(i.operands[0])
    if not where:
        return
    b = t.builder
    count = {Opcode.DP2: 2, Opcode.DP3: 3, Opcode.DP4: 4}[i.opcode]
    rows = source_rows(t, i.operands[1:], tuple(range(count)), "ff")
    mods = modifiers(i, where[0][0])
    total = b.value(Op.FMUL, *rows[0])
    for row in rows[1:-1]:
        total = b.value(Op.FMAD, *row, total, mods=mods & int(Mod.PRECISE))
    # The sum of products goes to every masked component.
    first = where[0][1]
    if len(where) == 1 and not isinstance(first, ArrayElement):
        b.emit(Op.FMAD, first, *rows[-1], total, mods=mods)
        return
    result = b.value(Op.FMAD, *rows[-1], total, mods=mods)
    for _, d in where:
        b.store(d, result)


@handles(Opcode.SINCOS)
def sincos(t: Translator, i: Instruction) -> None:
    pair(t, i, Op.FSIN, Op.FCOS)


@handles(Opcode.IMUL)
def imul(t: Translator, i: Instruction) -> None:
    pair(t, i, Op.IMUL_HI, Op.IMUL)


@handles(Opcode.UMUL)
def umul(t: Translator, i: Instruction) -> None:
    pair(t, i, Op.UMUL_HI, Op.IMUL)


@handles(Opcode.UDIV)
def udiv(t: Translator, i: Instruction) -> None:
    pair(t, i, Op.UDIV, Op.UREM)


@handles(Opcode.UADDC)
def uaddc(t: Translator, i: Instruction) -> None:
    pair(t, i, Op.IADD, Op.UADD_CARRY)


@handles(Opcode.USUBB)
def usubb(t: Translator, i: Instruction) -> None:
    assignments: list[tuple[Destination, int, tuple[int, ...], int]] = []
    for operand, op in ((i.operands[0], Op.IADD), (i.operands[1], Op.USUB_BORROW)):
        where = t.destination(operand)
        rows = source_rows(t, i.operands[2:], tuple(c for c, _ in where), "uu")
        for (_, d), (a, b) in zip(where, rows, strict=True):
            assignments.append((d, op, (a, b ^ NEGATE) if op is Op.IADD else (a, b), 0))
    t.builder.parallel(assignments)


def pair(t: Translator, i: Instruction, first: Op, second: Op) -> None:
    """An instruction with two destinations, either of which may be null."""
    sources = i.operands[2:]
    types = kinds(i)[2:]
    assignments: list[tuple[Destination, int, tuple[int, ...], int]] = []
    mods = SATURATE if i.saturate else 0
    for operand, op in ((i.operands[0], first), (i.operands[1], second)):
        where = t.destination(operand)
        rows = source_rows(t, sources, tuple(c for c, _ in where), types)
        assignments += [(d, op, row, mods) for (_, d), row in zip(where, rows, strict=True)]
    t.builder.parallel(assignments)


@handles(Opcode.EVAL_SAMPLE_INDEX, Opcode.EVAL_CENTROID, Opcode.EVAL_SNAPPED)
def evaluate(t: Translator, i: Instruction) -> None:
    where = t.destination(i.operands[0])
    source = i.operands[1]
    if source.type is not RegisterType.INPUT:
        raise ShaderError("an evaluation needs an input register")
    words = t.source(source, tuple(c for c, _ in where), "f")
    if any(w >> 28 != 3 for w in words):
        raise ShaderError("an evaluation needs an input register that is interpolated, with a fixed index")
    op = Op.EVAL_CENTROID
    extra: tuple[int, ...] = ()
    if i.opcode is Opcode.EVAL_SAMPLE_INDEX:
        op, extra = Op.EVAL_SAMPLE, (t.plain(i.operands[2], (0,), "i")[0],)
    elif i.opcode is Opcode.EVAL_SNAPPED:
        op, extra = Op.EVAL_SNAPPED, tuple(t.plain(i.operands[2], (0, 1), "i"))
    t.builder.parallel([(d, op, (w, *extra), 0) for (_, d), w in zip(where, words, strict=True)])

