"""Two passes over scalar code: forward the sources of moves, then drop what nobody reads; and the final numbering.

Both respect structure only: a region that diverges by lane is one path through the control-flow graph per lane, so the usual
rules of copies and liveness hold.
"""

from __future__ import annotations

from umd.shader.ir import MODIFIERS, NONE, TEMP, Ins
from wddm.hw.isa import INDEX_MASK, Kind, Op

_REGION_OPEN = (Op.IF, Op.LOOP, Op.BLOCK)
_REGION_CLOSE = (Op.ENDIF, Op.ENDLOOP, Op.ENDBLOCK)
_JUMPS = frozenset((Op.BREAK, Op.BREAKC, Op.CONTINUE, Op.CONTINUEC, Op.RET, Op.RETC))
_CONTROL = frozenset((*_REGION_OPEN, Op.ELSE, *_REGION_CLOSE, *_JUMPS))
#: Instructions that do something else than write ``dst``.
_EFFECTS = _CONTROL | {
    Op.DISCARD,
    Op.STORE_ARRAY,
    Op.STORE_OUTPUT,
    Op.UAV_STORE,
    Op.UAV_STORE_RAW,
    Op.UAV_STORE_STRUCTURED,
    Op.UAV_ATOMIC,
    Op.UAV_COUNTER_INC,
    Op.UAV_COUNTER_DEC,
    Op.SHARED_STORE,
    Op.SHARED_ATOMIC,
    Op.BARRIER,
    Op.EMIT,
    Op.CUT,
}
_FORWARDED = (Kind.TEMP, Kind.LITERAL, Kind.INPUT, Kind.CONSTANT, Kind.SYSTEM)
#: Sources that must stay an INPUT operand or an immediate of their own kind.
_FIXED_SOURCE = frozenset((Op.EVAL_SAMPLE, Op.EVAL_CENTROID, Op.EVAL_SNAPPED))
_OPTIONAL_RESULT = frozenset((Op.UAV_ATOMIC, Op.SHARED_ATOMIC))


def match_regions(code: list[Ins]) -> dict[int, tuple[int, int]]:
    """For every opener: ``(index of its ELSE or of its end, index of its end)``."""
    stack: list[tuple[int, int]] = []
    found: dict[int, tuple[int, int]] = {}
    for at, ins in enumerate(code):
        if ins.op in _REGION_OPEN:
            stack.append((at, -1))
        elif ins.op == Op.ELSE:
            stack[-1] = (stack[-1][0], at)
        elif ins.op in _REGION_CLOSE:
            opener, other = stack.pop()
            found[opener] = (at if other < 0 else other, at)
    return found


def forward_copies(code: list[Ins]) -> None:
    """Let the readers of a plain move read its source."""
    regions = match_regions(code)
    opener_of = {end: opener for opener, (_, end) in regions.items()}
    facts: dict[int, int] = {}  # temp number -> operand it equals
    users: dict[int, set[int]] = {}  # temp number -> temps whose fact reads it
    stack: list[dict[int, int]] = []

    def kill(number: int) -> None:
        facts.pop(number, None)
        for other in users.pop(number, ()):
            if facts.get(other) == TEMP | number:
                del facts[other]

    def kill_written(first: int, last: int) -> None:
        for ins in code[first:last]:
            for number in ins.writes():
                kill(number)

    for at, ins in enumerate(code):
        if facts and ins.op not in _FIXED_SOURCE:
            widths = ins.widths
            for i, word in enumerate(ins.src):
                if word >> 28 == 1 and (widths is None or not widths[i]):
                    known = facts.get(word & INDEX_MASK)
                    if known is not None:
                        ins.src[i] = known | (word & MODIFIERS)
        op = ins.op
        if op in _CONTROL:
            if op == Op.LOOP:
                kill_written(at, regions[at][1])
            if op in _REGION_OPEN:
                stack.append(dict(facts))
            elif op == Op.ELSE:
                facts.clear()
                facts.update(stack[-1])
            elif op in _REGION_CLOSE:
                facts.clear()
                facts.update(stack.pop())
                kill_written(opener_of[at], at)
            users.clear()
            for number, source in facts.items():
                if source >> 28 == 1:
                    users.setdefault(source & INDEX_MASK, set()).add(number)
            continue
        for number in ins.writes():
            kill(number)
        if op == Op.MOV and ins.dst >> 28 == 1 and not ins.mods:
            source = ins.src[0]
            if source >> 28 in _FORWARDED and not source & MODIFIERS and source != ins.dst:
                facts[ins.dst & INDEX_MASK] = source
                if source >> 28 == 1:
                    users.setdefault(source & INDEX_MASK, set()).add(ins.dst & INDEX_MASK)


def _successors(code: list[Ins]) -> list[tuple[int, ...]]:
    """For every control instruction the places that may run next; () for the others (their successor is the next one)."""
    found: list[tuple[int, ...]] = [()] * len(code)
    regions = match_regions(code)
    scopes: list[int] = []
    openers: list[int] = []
    end = len(code)
    for at, ins in enumerate(code):
        op = ins.op
        if op in _REGION_OPEN:
            openers.append(at)
            if op == Op.IF:
                other, close = regions[at]
                found[at] = (at + 1, other + 1 if other != close else close)
            else:
                scopes.append(at)
                found[at] = (at + 1,)
        elif op == Op.ELSE:
            found[at] = (regions[openers[-1]][1],)
        elif op in _REGION_CLOSE:
            opener = openers.pop()
            if op != Op.ENDIF:
                scopes.pop()
            found[at] = (opener + 1,) if op == Op.ENDLOOP else (at + 1,)
        elif op in _JUMPS:
            if op in (Op.RET, Op.RETC):
                target = end
            else:
                opener = scopes[-ins.aux]
                target = regions[opener][1] + 1 if op in (Op.BREAK, Op.BREAKC) else opener + 1
            conditional = op in (Op.BREAKC, Op.CONTINUEC, Op.RETC)
            found[at] = (target, at + 1) if conditional else (target,)
    return found


def remove_dead(code: list[Ins]) -> list[Ins]:
    """The code without instructions whose results nobody reads, and with results that are only moved to an output put there."""
    successors = _successors(code)
    starts = sorted({0, *(t for s in successors for t in s), *(i + 1 for i, s in enumerate(successors) if s)})
    starts = [s for s in starts if s < len(code)]
    block_of = {start: n for n, start in enumerate(starts)}
    bounds = [(s, starts[n + 1] if n + 1 < len(starts) else len(code)) for n, s in enumerate(starts)]
    uses, defs, nexts = [], [], []
    for first, last in bounds:
        use = define = 0
        for ins in code[first:last]:
            for number in ins.reads():
                if not define >> number & 1:
                    use |= 1 << number
            for number in ins.writes():
                define |= 1 << number
        uses.append(use)
        defs.append(define)
        following = successors[last - 1] or (last,)
        nexts.append([block_of[t] for t in following if t in block_of])
    live_in = [0] * len(bounds)
    live_out = [0] * len(bounds)
    changed = True
    while changed:
        changed = False
        for n in range(len(bounds) - 1, -1, -1):
            out = 0
            for m in nexts[n]:
                out |= live_in[m]
            live_out[n] = out
            into = uses[n] | (out & ~defs[n])
            if into != live_in[n]:
                live_in[n] = into
                changed = True
    keep = [True] * len(code)
    for n, (first, last) in enumerate(bounds):
        _sweep(code, first, last, live_out[n], keep)
    return [ins for ins, wanted in zip(code, keep, strict=True) if wanted]


def _sweep(code: list[Ins], first: int, last: int, live: int, keep: list[bool]) -> None:
    """Backwards through one block, with the registers that are live behind it."""
    moves: dict[int, int] = {}  # temp number -> index of the move into an output that is its only reader
    for at in range(last - 1, first - 1, -1):
        ins = code[at]
        kind = ins.dst >> 28
        effect = ins.op in _EFFECTS
        if effect:
            moves.clear()
        if kind == 1:
            written = ins.writes()
            if not any(live >> number & 1 for number in written):
                if not effect:
                    keep[at] = False
                    continue
                if ins.op in _OPTIONAL_RESULT:
                    ins.dst = NONE
            for number in written:
                live &= ~(1 << number)
            for number in written:
                move = moves.pop(number, None)
                if move is not None and ins.span == 1:
                    ins.dst = code[move].dst
                    keep[move] = False
        elif kind == Kind.OUTPUT:
            for number in [n for n, m in moves.items() if code[m].dst == ins.dst]:
                del moves[number]
        candidate = -1
        if ins.op == Op.MOV and kind == Kind.OUTPUT and not ins.mods:
            source = ins.src[0]
            if source >> 28 == 1 and not source & MODIFIERS and not live >> (source & INDEX_MASK) & 1:
                candidate = source & INDEX_MASK
        for number in ins.reads():
            live |= 1 << number
            moves.pop(number, None)
        if candidate >= 0:
            moves[candidate] = at


def number_registers(code: list[Ins]) -> int:
    """Number the registers that are used from 0 on, consecutive ones staying consecutive; returns how many there are."""
    used: set[int] = set()
    for ins in code:
        used.update(ins.reads())
        if ins.dst >> 28 == 1:
            first = ins.dst & INDEX_MASK
            used.update(range(first, first + ins.span))
    number = {old: new for new, old in enumerate(sorted(used))}
    for ins in code:
        if ins.dst >> 28 == 1:
            ins.dst = TEMP | number[ins.dst & INDEX_MASK]
        for i, word in enumerate(ins.src):
            if word >> 28 == 1:
                ins.src[i] = TEMP | (word & MODIFIERS) | number[word & INDEX_MASK]
    return len(used)
