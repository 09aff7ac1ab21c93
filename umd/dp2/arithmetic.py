"""Arithmetic instructions of shader models 1.0 to 3.0: each computes all four components of its result.

Instructions of one value (rcp, rsq, exp, log, pow) take it from the last place of the swizzle, and give it to every component.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from umd.dp2.bytecode import File, Instruction, Op
from umd.dp2.registers import A, B

if TYPE_CHECKING:
    from umd.dp2.translator import Translator

#: Comparisons by the control bits: (instruction, whether the operands change places).
COMPARE: Final = {1: ("lt", True), 2: ("eq", False), 3: ("ge", False), 4: ("lt", False), 5: ("ne", False), 6: ("ge", True)}
ONES: Final = "l(1.0, 1.0, 1.0, 1.0)"
ZEROS: Final = "l(0, 0, 0, 0)"
TINY: Final = "l(0.0000000000000000000001)"
Write = Callable[["Translator", str, list[str], Instruction], None]


def negated(operand: str) -> str:
    """An operand with its sign turned."""
    return operand[1:] if operand.startswith("-") else "-" + operand


def _plain(op: str) -> Write:
    """An instruction that both have."""

    def write(t: Translator, r: str, s: list[str], i: Instruction) -> None:
        t.out(f"{op} {r}.xyzw, {', '.join(s)}")

    return write


def _magnitude(t: Translator, operand: str) -> str:
    """|operand| in a register, whatever modifiers it has."""
    t.out(f"mov {A}.xyzw, {operand}")
    return f"|{A}.xyzw|"


def _sub(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"add {r}.xyzw, {s[0]}, {negated(s[1])}")


def _mova(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"round_ne {r}.xyzw, {s[0]}", f"ftoi {r}.xyzw, {r}.xyzw")


def _mov(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    assert i.destination is not None
    if i.destination.file is File.ADDRESS and not t.code.pixel:
        # Model 1.1 moves to the address register, and takes the next lower integer.
        t.out(f"round_ni {r}.xyzw, {s[0]}", f"ftoi {r}.xyzw, {r}.xyzw")
    else:
        t.out(f"mov {r}.xyzw, {s[0]}")


def _rcp(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"div {r}.xyzw, {ONES}, {t.scalar(s[0])}")


def _rsq(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"rsq {r}.xyzw, {_magnitude(t, t.scalar(s[0]))}")


def _exp(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"exp {r}.xyzw, {t.scalar(s[0])}")


def _log(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"log {r}.xyzw, {_magnitude(t, t.scalar(s[0]))}")


def _expp(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    if t.version >= (2, 0):
        _exp(t, r, s, i)
        return
    t.out(f"mov {A}.x, {t.scalar(s[0])}", f"round_ni {r}.x, {A}.x", f"exp {r}.x, {r}.x", f"frc {r}.y, {A}.x", f"exp {r}.z, {A}.x")
    t.out(f"mov {r}.w, l(1.0)")


def _logp(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    if t.version >= (2, 0):
        _log(t, r, s, i)
        return
    v = _magnitude(t, t.scalar(s[0]))
    t.out(f"log {r}.z, {v}", f"round_ni {r}.x, {r}.z", f"exp {r}.y, -{r}.x", f"mul {r}.y, {r}.y, |{A}.x|", f"mov {r}.w, l(1.0)")


def _lit(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    """(1, max(x, 0), x > 0 ? max(y, 0) ^ w : 0, 1) with w within ±127.9961."""
    t.out(
        f"mov {A}.xyzw, {s[0]}", f"max {A}.xy, {A}.xyxx, {ZEROS}",
        f"max {A}.w, {A}.w, l(-127.9961)", f"min {A}.w, {A}.w, l(127.9961)",
        f"max {r}.z, {A}.y, {TINY}", f"log {r}.z, {r}.z", f"mul {r}.z, {r}.z, {A}.w", f"exp {r}.z, {r}.z",
        f"lt {A}.z, l(0), {A}.x", f"and {r}.z, {r}.z, {A}.z", f"mov {r}.xw, {ONES}", f"mov {r}.y, {A}.x",
    )  # fmt: skip


def _dst(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"mov {A}.xyzw, {s[0]}", f"mov {B}.xyzw, {s[1]}", f"mov {r}.x, l(1.0)", f"mul {r}.y, {A}.y, {B}.y")
    t.out(f"mov {r}.z, {A}.z", f"mov {r}.w, {B}.w")


def _lrp(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"add {A}.xyzw, {s[1]}, {negated(s[2])}", f"mad {r}.xyzw, {s[0]}, {A}.xyzw, {s[2]}")


def _pow(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"log {r}.xyzw, {_magnitude(t, t.scalar(s[0]))}", f"mul {r}.xyzw, {r}.xyzw, {t.scalar(s[1])}", f"exp {r}.xyzw, {r}.xyzw")


def _crs(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"mov {A}.xyzw, {s[0]}", f"mov {B}.xyzw, {s[1]}", f"mul {r}.xyzw, {A}.zxyw, {B}.yzxw")
    t.out(f"mad {r}.xyzw, {A}.yzxw, {B}.zxyw, -{r}.xyzw")


def _sgn(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"mov {A}.xyzw, {s[0]}", f"lt {B}.xyzw, {A}.xyzw, {ZEROS}", f"lt {A}.xyzw, {ZEROS}, {A}.xyzw")
    t.out(f"and {A}.xyzw, {A}.xyzw, {ONES}", f"and {B}.xyzw, {B}.xyzw, l(-1.0, -1.0, -1.0, -1.0)")
    t.out(f"add {r}.xyzw, {A}.xyzw, {B}.xyzw")


def _abs(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"mov {r}.xyzw, {_magnitude(t, s[0])}")


def _nrm(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"mov {A}.xyzw, {s[0]}", f"dp3 {B}.x, {A}.xyzx, {A}.xyzx", f"rsq {B}.x, {B}.x", f"mul {r}.xyzw, {A}.xyzw, {B}.xxxx")


def _sincos(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"mov {A}.x, {t.scalar(s[0])}", f"sincos {r}.y, {B}.x, {A}.x", f"mov {r}.x, {B}.x", f"mov {r}.zw, {ZEROS}")


def _set(op: str) -> Write:
    def write(t: Translator, r: str, s: list[str], i: Instruction) -> None:
        t.out(f"{op} {r}.xyzw, {s[0]}, {s[1]}", f"and {r}.xyzw, {r}.xyzw, {ONES}")

    return write


def _cmp(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"ge {A}.xyzw, {s[0]}, {ZEROS}", f"movc {r}.xyzw, {A}.xyzw, {s[1]}, {s[2]}")


def _cnd(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    condition = s[0] if t.version >= (1, 4) else t.scalar(s[0])
    t.out(f"lt {A}.xyzw, l(0.5, 0.5, 0.5, 0.5), {condition}", f"movc {r}.xyzw, {A}.xyzw, {s[1]}, {s[2]}")


def _dp2add(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    t.out(f"dp2 {A}.xyzw, {s[0]}, {s[1]}", f"add {r}.xyzw, {A}.xyzw, {t.scalar(s[2])}")


def _setp(t: Translator, r: str, s: list[str], i: Instruction) -> None:
    op, swapped = COMPARE.get(i.control & 7, ("eq", False))
    t.out(f"{op} {r}.xyzw, {s[1] if swapped else s[0]}, {s[0] if swapped else s[1]}")


ARITHMETIC: Final[dict[Op, Write]] = {
    Op.MOV: _mov, Op.MOVA: _mova, Op.ADD: _plain("add"), Op.SUB: _sub, Op.MAD: _plain("mad"), Op.MUL: _plain("mul"), Op.RCP: _rcp,
    Op.RSQ: _rsq, Op.DP3: _plain("dp3"), Op.DP4: _plain("dp4"), Op.MIN: _plain("min"), Op.MAX: _plain("max"), Op.SLT: _set("lt"),
    Op.SGE: _set("ge"), Op.EXP: _exp, Op.LOG: _log, Op.EXPP: _expp, Op.LOGP: _logp, Op.LIT: _lit, Op.DST: _dst, Op.LRP: _lrp,
    Op.FRC: _plain("frc"), Op.POW: _pow, Op.CRS: _crs, Op.SGN: _sgn, Op.ABS: _abs, Op.NRM: _nrm, Op.SINCOS: _sincos, Op.CMP: _cmp,
    Op.CND: _cnd, Op.DP2ADD: _dp2add, Op.DSX: _plain("deriv_rtx"), Op.DSY: _plain("deriv_rty"), Op.SETP: _setp,
}  # fmt: skip
