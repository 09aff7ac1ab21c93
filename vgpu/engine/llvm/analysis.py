"""What a shader's registers hold, found before code is written: liveness and shape.

*Shape*: a temp is uniform (the same in all lanes), affine (lane i holds base + i * stride) or varying. Uniform values are kept
as scalars; affine addresses become vector loads. *Liveness*: a write under a partial mask may go to all lanes when no inactive
lane needs the old value, which keeps shapes and saves a blend.

Both walk the structured control flow; loops are walked until nothing changes. Programs above a size limit are not analysed
(everything is varying, all writes are masked).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from wddm.hw.isa import INDEX_MASK, Kind, Op, ShaderProgram

LIMIT: Final = 6000  #: instructions
BUDGET: Final = 20 * LIMIT  #: steps of one walk; deeply nested loops could take for ever

#: Per op: what is written and read. "f" float, "i" 32 bits, "d" 64 bits, "a" address vector, "2" two dwords, "v" four dwords by
#: mask, "-" nothing. First letter = destination.
SIGNATURES: Final[dict[int, str]] = {
    Op.NOP: "-",
    Op.MOV: "ii",
    Op.SELECT: "iiii",
    **{op: "fff" for op in (Op.FADD, Op.FMUL, Op.FDIV, Op.FMIN, Op.FMAX)},
    Op.FMAD: "ffff",
    **{op: "ff" for op in range(Op.FRCP, Op.FROUND_Z + 1)},
    **{op: "iff" for op in range(Op.FEQ, Op.FGE + 1)},
    **{op: "iii" for op in range(Op.IADD, Op.USUB_BORROW + 1)},
    Op.IMAD: "iiii",
    Op.INEG: "ii",
    Op.MSAD: "iiii",
    **{op: "iii" for op in (Op.AND, Op.OR, Op.XOR, Op.SHL, Op.ISHR, Op.USHR)},
    **{op: "ii" for op in (Op.NOT, Op.COUNT_BITS, Op.FIRST_BIT_HI, Op.FIRST_BIT_LO, Op.FIRST_BIT_SHI, Op.BIT_REVERSE)},
    Op.UBFE: "iiii",
    Op.IBFE: "iiii",
    Op.BFI: "iiiii",
    Op.FTOI: "if",
    Op.FTOU: "if",
    Op.ITOF: "fi",
    Op.UTOF: "fi",
    Op.F32TOF16: "if",
    Op.F16TOF32: "fi",
    **{op: "ddd" for op in (Op.DADD, Op.DMUL, Op.DDIV, Op.DMIN, Op.DMAX)},
    Op.DFMA: "dddd",
    Op.DRCP: "dd",
    **{op: "idd" for op in (Op.DEQ, Op.DNE, Op.DLT, Op.DGE)},
    Op.DMOV: "dd",
    Op.DSELECT: "didd",
    Op.DTOF: "fd",
    Op.FTOD: "df",
    Op.DTOI: "id",
    Op.DTOU: "id",
    Op.ITOD: "di",
    Op.UTOD: "di",
    Op.IF: "-i",
    **{op: "-" for op in (Op.ELSE, Op.ENDIF, Op.LOOP, Op.ENDLOOP, Op.BLOCK, Op.ENDBLOCK, Op.BREAK, Op.CONTINUE, Op.RET)},
    **{op: "-i" for op in (Op.BREAKC, Op.CONTINUEC, Op.RETC, Op.DISCARD)},
    Op.LOAD_ARRAY: "ii",
    Op.STORE_ARRAY: "-ii",
    Op.LOAD_CONSTANT: "ii",
    Op.LOAD_ICB: "ii",
    Op.LOAD_INPUT: "iii",
    Op.STORE_OUTPUT: "-ii",
    Op.LOAD_PATCH: "ii",
    Op.LOAD_CONTROL_POINT: "iii",
    Op.SAMPLE: "va",
    Op.SAMPLE_BIAS: "vaf",
    Op.SAMPLE_LEVEL: "vaf",
    Op.SAMPLE_GRAD: "vaaa",
    Op.SAMPLE_COMPARE: "vaf",
    Op.SAMPLE_COMPARE_LZ: "vaf",
    Op.GATHER4: "va",
    Op.GATHER4_COMPARE: "vaf",
    Op.GATHER4_OFFSET: "va-2",
    Op.GATHER4_OFFSET_COMPARE: "vaf2",
    Op.LOD: "va",
    Op.LOAD: "vaii",
    Op.RESINFO: "vi",
    Op.SAMPLEINFO: "v",
    Op.SAMPLEPOS: "vi",
    Op.BUFINFO: "v",
    Op.LOAD_RAW: "vi",
    Op.LOAD_STRUCTURED: "vii",
    Op.UAV_LOAD: "va",
    Op.UAV_STORE: "-av",
    Op.UAV_LOAD_RAW: "vi",
    Op.UAV_LOAD_STRUCTURED: "vii",
    Op.UAV_STORE_RAW: "-i-v",
    Op.UAV_STORE_STRUCTURED: "-iiv",
    Op.UAV_ATOMIC: "iaiii",
    Op.UAV_COUNTER_INC: "i",
    Op.UAV_COUNTER_DEC: "i",
    Op.UAV_RESINFO: "v",
    Op.UAV_BUFINFO: "v",
    Op.SHARED_LOAD: "vi",
    Op.SHARED_STORE: "-i-v",
    Op.SHARED_ATOMIC: "ii-ii",
    Op.BARRIER: "-",
    Op.DDX_COARSE: "ff",
    Op.DDY_COARSE: "ff",
    Op.DDX_FINE: "ff",
    Op.DDY_FINE: "ff",
    Op.EVAL_SAMPLE: "fii",
    Op.EVAL_CENTROID: "fi",
    Op.EVAL_SNAPPED: "fiii",
    Op.EMIT: "-",
    Op.CUT: "-",
}
_WIDTH: Final = {"f": 1, "i": 1, "d": 2, "a": 4, "2": 2, "v": 4, "-": 0}

#: An instruction as a tuple: op, mods, dst, (src0..3), aux, aux2.
Instruction = tuple[int, int, int, tuple[int, int, int, int], int, int]
Shape = int | None  #: stride per lane; 0 = uniform; None = varying
State = dict[int, int]  #: temps that are not varying


def instructions(program: ShaderProgram) -> list[Instruction]:
    """The instructions as tuples of Python integers."""
    table = program.instructions
    columns = (table[name].tolist() for name in ("op", "mods", "dst", "src", "aux", "aux2"))
    return [(op, mods, dst, tuple(src), aux, aux2) for op, mods, dst, src, aux, aux2 in zip(*columns, strict=True)]


def match_blocks(code: list[Instruction]) -> dict[int, int]:
    """IF to its ELSE or ENDIF, ELSE to ENDIF, LOOP to ENDLOOP, BLOCK to ENDBLOCK; the ends back to the starts; -ELSE to its IF."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for i, (op, *_) in enumerate(code):
        if op in (Op.IF, Op.LOOP, Op.BLOCK):
            stack.append(i)
        elif op == Op.ELSE:
            start = stack.pop()
            pairs[start] = i
            pairs[-i] = start
            stack.append(i)
        elif op in (Op.ENDIF, Op.ENDLOOP, Op.ENDBLOCK):
            start = stack.pop()
            pairs[start] = i
            pairs[i] = start
    return pairs


def written(ins: Instruction) -> tuple[int, ...]:
    """The temps an instruction writes."""
    op, _, dst, _, aux, _ = ins
    if dst >> 28 != Kind.TEMP:
        return ()
    first = dst & INDEX_MASK
    letter = SIGNATURES[op][0]
    if letter == "v":
        mask = aux >> 16 & 15
        return tuple(first + c for c in range(4) if mask >> c & 1)
    return tuple(range(first, first + _WIDTH[letter]))


def read(ins: Instruction, temp_count: int) -> set[int]:
    """The temps an instruction may read."""
    op, _, _, src, _, _ = ins
    temps: set[int] = set()
    for letter, word in zip(SIGNATURES[op][1:], src, strict=False):
        if word >> 28 == Kind.TEMP:
            first = word & INDEX_MASK
            temps.update(range(first, min(first + _WIDTH[letter], temp_count)))
    return temps


@dataclass(slots=True)
class Analysis:
    """The findings, by instruction index."""

    before: list[State]  #: shapes just before
    divergent: list[bool]  #: whether some lanes of the invocation may be inactive
    unmasked: list[bool]  #: the write may go to all lanes
    shapes: list[Shape] = field(default_factory=list)  #: of what is written (one for all components)


#: Tells the shape of an operand word that is no temp, and of an operation's result beyond arithmetic.
OperandShape = Callable[[int], Shape]


def varying(code: list[Instruction]) -> Analysis:
    """Nothing known."""
    n = len(code) + 1
    return Analysis([{}] * n, [True] * n, [False] * n, [None] * n)


def analyse(
    code: list[Instruction],
    program: ShaderProgram,
    operand_shape: OperandShape,
    *,
    partial: bool = False,
    pure: frozenset[int] = frozenset(),
) -> Analysis:
    """Find shapes and liveness. ``operand_shape`` tells the shape of inputs, constants and system values; ``partial``: not all
    lanes start the program; ``pure``: more operations that give the same for the same operands.
    """
    if len(code) > LIMIT:
        return varying(code)
    pairs = match_blocks(code)
    try:
        unmasked = _liveness(code, pairs, program.temp_count)
        return _Shapes(code, pairs, program, operand_shape, unmasked, _PURE | pure).run(partial)
    except _TooLongError:
        return varying(code)


class _TooLongError(Exception):
    """The walk is beyond its budget."""


def _liveness(code: list[Instruction], pairs: dict[int, int], temp_count: int) -> list[bool]:
    """For every instruction, whether no inactive lane needs the old value of what it writes."""
    use = [sum(1 << t for t in read(ins, temp_count)) for ins in code]
    define = [sum(1 << t for t in written(ins)) for ins in code]
    unmasked = [False] * len(code)
    steps = 0

    def back(start: int, stop: int, live: int, exits: list[tuple[str, int, int]], inactive: int) -> int:
        """Liveness before ``start`` given that at ``stop``; exits = enclosing (kind, live after, live at loop start)."""
        nonlocal steps
        i = stop - 1
        while i >= start:
            steps += 1
            if steps > BUDGET:
                raise _TooLongError
            op, aux = code[i][0], code[i][4]
            if op == Op.ENDIF:
                middle = pairs[i]
                other = live
                if code[middle][0] == Op.ELSE:
                    begin = pairs[-middle]
                    other = back(middle + 1, i, live, exits, inactive | live)
                    live = back(begin + 1, middle, live, exits, inactive | live | other) | other
                else:
                    begin = middle
                    live = back(begin + 1, i, live, exits, inactive | live) | live
                i = begin
                live |= use[i]
            elif op == Op.ENDLOOP:
                begin, after = pairs[i], live
                head = 0
                # Lanes that have left the loop do not come back to its head; those that go on with the next turn do.
                comes_back = any(ins[0] in (Op.CONTINUE, Op.CONTINUEC) for ins in code[begin + 1 : i])
                while True:
                    others = inactive | after | (head if comes_back else 0)
                    inside = back(begin + 1, i, head, [*exits, ("loop", after, head)], others)
                    if inside | head == head:
                        break
                    head |= inside
                live = head | after
                i = begin
            elif op == Op.ENDBLOCK:
                begin, after = pairs[i], live
                live = back(begin + 1, i, live, [*exits, ("block", after, 0)], inactive | after)
                i = begin
            elif op in (Op.BREAK, Op.BREAKC, Op.CONTINUE, Op.CONTINUEC):
                depth = max(1, aux)
                target = exits[-depth] if depth <= len(exits) else ("block", 0, 0)
                there = target[1] if op in (Op.BREAK, Op.BREAKC) else target[2]
                live = there if op in (Op.BREAK, Op.CONTINUE) else live | there
                live |= use[i]
            else:
                unmasked[i] = not define[i] & inactive
                if op == Op.RET:
                    live = 0
                elif define[i] & ~inactive:
                    live &= ~define[i]
                live |= use[i]
            i -= 1
        return live

    back(0, len(code), 0, [], 0)
    return unmasked


class _Shapes:
    def __init__(
        self,
        code: list[Instruction],
        pairs: dict[int, int],
        program: ShaderProgram,
        operand_shape: OperandShape,
        unmasked: list[bool],
        pure: frozenset[int],
    ) -> None:
        self.code, self.pairs, self.program, self.operand_shape = code, pairs, program, operand_shape
        self.pure = pure
        n = len(code) + 1
        self.result = Analysis([{}] * n, [False] * n, [*unmasked, True], [None] * n)
        self.literals = program.literals.tolist()
        self.exits: list[_Exit] = []
        self.steps = 0

    def run(self, partial: bool) -> Analysis:
        self.walk(0, len(self.code), {}, partial)
        return self.result

    def shape(self, word: int, state: State) -> Shape:
        kind = word >> 28
        if kind == Kind.TEMP:
            base = state.get(word & INDEX_MASK)
        elif kind in (Kind.LITERAL, Kind.NONE):
            base = 0
        else:
            base = self.operand_shape(word)
        if base and word & 0x0C00_0000:
            return -base if word & 0x0800_0000 and not word & 0x0400_0000 else None
        return base

    def literal(self, word: int) -> int | None:
        if word >> 28 != Kind.LITERAL or word & 0x0C00_0000:
            return None
        index = word & INDEX_MASK
        return int(self.literals[index]) if index < len(self.literals) else 0

    def transfer(self, ins: Instruction, state: State) -> Shape:
        """The shape of the result."""
        op, mods, _, src, _, _ = ins
        letters = SIGNATURES[op][1:]
        shapes: list[Shape] = []
        for letter, word in zip(letters, src, strict=False):
            width = _WIDTH[letter]
            if word >> 28 == Kind.TEMP and width > 1:
                first = word & INDEX_MASK
                uniform = all(state.get(first + c) == 0 for c in range(width) if first + c < self.program.temp_count)
                shapes.append(0 if uniform else None)
            else:
                shapes.append(self.shape(word, state))
        if op == Op.MOV and not mods and not src[0] & 0x0C00_0000:
            return shapes[0]
        if op == Op.IADD and None not in shapes:
            return _stride(shapes[0] + shapes[1])  # type: ignore[operator]
        if op in (Op.IMUL, Op.IMAD) and None not in shapes:
            a, b = self.literal(src[0]), self.literal(src[1])
            add = shapes[2] if op == Op.IMAD else 0
            if b is not None:
                return _stride(shapes[0] * _signed(b) + add)  # type: ignore[operator]
            if a is not None:
                return _stride(shapes[1] * _signed(a) + add)  # type: ignore[operator]
            if shapes[0] == 0 and shapes[1] == 0:
                return add
            return None
        if op == Op.SHL and shapes[0] is not None:
            count = self.literal(src[1])
            if count is not None:
                return _stride(shapes[0] << (count & 31))
        if all(s == 0 for s in shapes) and op in self.pure:
            return 0
        return None

    def walk(self, i: int, stop: int, state: State, divergent: bool) -> tuple[State, bool]:
        """Abstractly run [i, stop); returns the state behind and whether lanes have left divergently."""
        code, result = self.code, self.result
        away = False
        while i < stop:
            self.steps += 1
            if self.steps > BUDGET:
                raise _TooLongError
            ins = code[i]
            op, aux = ins[0], ins[4]
            result.before[i] = state
            result.divergent[i] = divergent
            if op == Op.IF:
                middle = self.pairs[i]
                has_else = code[middle][0] == Op.ELSE
                end = self.pairs[middle] if has_else else middle
                inner = divergent or self.shape(ins[3][0], state) != 0
                one, left1 = self.walk(i + 1, middle, state, inner)
                two, left2 = self.walk(middle + 1, end, state, inner) if has_else else (state, False)
                result.before[middle] = result.before[end] = state
                result.divergent[middle] = result.divergent[end] = divergent
                state = _meet(one, two)
                away = away or left1 or left2
                divergent = divergent or left1 or left2
                i = end + 1
                continue
            if op in (Op.LOOP, Op.BLOCK):
                end = self.pairs[i]
                entry, inner = state, divergent
                while True:
                    here = _Exit()
                    self.exits.append(here)
                    behind, left = self.walk(i + 1, end, entry, inner)
                    self.exits.pop()
                    if op == Op.BLOCK:
                        break
                    again = entry
                    for s in (behind, *here.continues):
                        again = _meet(again, s)
                    if again == entry and not (here.divergent and not inner) and not (left and not inner):
                        break
                    entry, inner = again, inner or here.divergent or left
                result.before[end], result.divergent[end] = behind, inner
                ends = [behind, *here.breaks] if op == Op.BLOCK or not here.breaks else here.breaks
                state = ends[0]
                for s in ends[1:]:
                    state = _meet(state, s)
                if here.divergent:  # lanes left at different turns: a value uniform in each turn differs between lanes
                    changed = {t for ins2 in code[i:end] for t in written(ins2)}
                    state = {t: s for t, s in state.items() if t not in changed}
                away = away or here.returned
                divergent = divergent or here.returned
                result.before[i] = entry
                i = end + 1
                continue
            if op in (Op.BREAK, Op.BREAKC, Op.CONTINUE, Op.CONTINUEC):
                conditional = op in (Op.BREAKC, Op.CONTINUEC)
                apart = divergent or (conditional and self.shape(ins[3][0], state) != 0)
                depth = min(max(1, aux), len(self.exits))
                for level in range(1, depth + 1):
                    target = self.exits[-level]
                    target.divergent = target.divergent or apart
                    if level < depth and apart:
                        target.returned = True
                if depth:
                    target = self.exits[-depth]
                    (target.breaks if op in (Op.BREAK, Op.BREAKC) else target.continues).append(state)
                divergent, away = divergent or apart, away or apart
                i += 1
                continue
            if op in (Op.RET, Op.RETC):
                apart = divergent or (op == Op.RETC and self.shape(ins[3][0], state) != 0)
                if apart:
                    for target in self.exits:
                        target.divergent = target.returned = True
                    divergent = away = True
                i += 1
                continue
            temps = written(ins)
            if ins[2] >> 28 == Kind.OUTPUT:
                result.shapes[i] = None if divergent else self.transfer(ins, state)
            if temps:
                shape = self.transfer(ins, state)
                if divergent and not result.unmasked[i]:
                    shape = None
                result.shapes[i] = shape
                state = dict(state)
                for t in temps:
                    if shape is None:
                        state.pop(t, None)
                    else:
                        state[t] = shape
            i += 1
        if i == len(code):
            result.before[i] = state
        return state, away


@dataclass(slots=True)
class _Exit:
    divergent: bool = False
    returned: bool = False  #: lanes left through it to somewhere further out
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


def _meet(a: State, b: State) -> State:
    return a if a is b else {t: s for t, s in a.items() if b.get(t, None) == s}


def _signed(x: int) -> int:
    return x - (1 << 32) if x >> 31 else x


def _stride(x: int) -> Shape:
    return x if -(1 << 24) < x < 1 << 24 else None


#: Operations whose result depends on their operands alone (and memory, read at one address), so uniform in gives uniform out.
_PURE: Final = frozenset(
    op
    for op, signature in SIGNATURES.items()
    if (signature[0] in "fid" and op < 160)
    or op
    in (Op.LOAD_CONSTANT, Op.LOAD_ICB, Op.LOAD_RAW, Op.LOAD_STRUCTURED, Op.UAV_LOAD_RAW, Op.UAV_LOAD_STRUCTURED, Op.SHARED_LOAD)
)
