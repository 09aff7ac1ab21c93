"""Flow control: structured regions, switches as blocks, subroutines and interface calls inlined.

A switch becomes a BLOCK that ``break`` leaves: one IF per group of labels, the default group last. That is exact because
falling through is legal only between labels without code. A called body becomes a BLOCK that ``ret`` leaves.
"""

from __future__ import annotations

from umd.shader.errors import ShaderError
from umd.shader.ir import NONE
from umd.shader.translator import HANDLERS, Scope, Translator, handles, mnemonic
from wddm.dxbc.opcodes import Opcode, RegisterType
from wddm.dxbc.program import Instruction, Operand
from wddm.hw.isa import MAX_NESTING, Mod, Op

#: Calls may nest this deep (Direct3D's limit).
MAX_CALL_DEPTH = 32
_OPENERS = {Opcode.IF: Opcode.ENDIF, Opcode.LOOP: Opcode.ENDLOOP, Opcode.SWITCH: Opcode.ENDSWITCH}
_OPENED_BY = {Op.ENDIF: (Op.IF, Op.ELSE), Op.ENDLOOP: (Op.LOOP,), Op.ENDBLOCK: (Op.BLOCK,)}
_JUMPS = (Opcode.BREAK, Opcode.CONTINUE, Opcode.RET)


def translate_code(t: Translator, code: list[Instruction]) -> None:
    """Emit a stretch of code whose regions are all closed in it."""
    floor, t.region_floor = t.region_floor, len(t.regions)
    at = 0
    builder = t.builder
    while at < len(code):
        i = code[at]
        try:
            if i.opcode is Opcode.SWITCH:
                end = _matching(code, at)
                _switch(t, i, code[at + 1 : end])
                at = end
            else:
                handler = HANDLERS.get(i.opcode)
                if handler is None:
                    raise ShaderError(f"{mnemonic(i)} has no meaning here")
                handler(t, i)
        except ShaderError as error:
            if error.offset is None:
                raise ShaderError(f"{mnemonic(i)}: {error.message}", i.offset) from None
            raise
        builder.end_instruction()
        at += 1
    if len(t.regions) != t.region_floor:
        raise ShaderError(f"{t.regions[-1].name.lower()} is never closed")
    t.region_floor = floor


def _matching(code: list[Instruction], at: int) -> int:
    """Index of the instruction that closes the region opened at ``at``."""
    closers = [_OPENERS[code[at].opcode]]
    for j in range(at + 1, len(code)):
        opcode = code[j].opcode
        if opcode in _OPENERS:
            closers.append(_OPENERS[opcode])
        elif opcode is closers[-1]:
            closers.pop()
            if not closers:
                return j
        elif opcode in (Opcode.ENDIF, Opcode.ENDLOOP, Opcode.ENDSWITCH):
            raise ShaderError(f"{mnemonic(code[j])} closes nothing", code[j].offset)
    raise ShaderError(f"{mnemonic(code[at])} is never closed", code[at].offset)


def _open(t: Translator, op: Op, kind: str | None, *src: int, mods: int = 0) -> None:
    t.regions.append(op)
    if len(t.regions) > MAX_NESTING:
        raise ShaderError(f"more than {MAX_NESTING} regions within each other")
    t.builder.emit(op, NONE, *src, mods=mods)
    if kind is not None:
        t.scopes.append(Scope(kind))


def _close(t: Translator, op: Op, *, scope: bool) -> None:
    if not t.regions or t.regions[-1] not in _OPENED_BY[op] or len(t.regions) <= t.region_floor:
        raise ShaderError(f"{op.name.lower()} closes nothing")
    t.regions.pop()
    t.builder.emit(op)
    if scope:
        t.scopes.pop()


def _depth(t: Translator, kinds: tuple[str, ...], what: str) -> int:
    """How many regions lie between here and the innermost one of ``kinds``, itself counted."""
    for depth, scope in enumerate(reversed(t.scopes), 1):
        if scope.kind in kinds:
            return depth
        if scope.kind == "call":
            break
    raise ShaderError(f"{what} outside of a region that it could leave")


def _test(t: Translator, i: Instruction) -> tuple[int, int]:
    """The condition word and the modifier that says which way it is tested."""
    word = t.plain(i.operands[0], (0,), "u")[0]
    return word, 0 if i.test_nonzero else int(Mod.TEST_ZERO)


@handles(Opcode.IF)
def if_(t: Translator, i: Instruction) -> None:
    word, mods = _test(t, i)
    _open(t, Op.IF, None, word, mods=mods)


@handles(Opcode.ELSE)
def else_(t: Translator, i: Instruction) -> None:
    if not t.regions or t.regions[-1] is not Op.IF or len(t.regions) <= t.region_floor:
        raise ShaderError("else without an if")
    t.regions[-1] = Op.ELSE
    t.builder.emit(Op.ELSE)


@handles(Opcode.ENDIF)
def endif(t: Translator, i: Instruction) -> None:
    _close(t, Op.ENDIF, scope=False)


@handles(Opcode.LOOP)
def loop(t: Translator, i: Instruction) -> None:
    _open(t, Op.LOOP, "loop")


@handles(Opcode.ENDLOOP)
def endloop(t: Translator, i: Instruction) -> None:
    _close(t, Op.ENDLOOP, scope=True)


@handles(Opcode.BREAK)
def break_(t: Translator, i: Instruction) -> None:
    t.builder.emit(Op.BREAK, aux=_depth(t, ("loop", "switch"), "break"))


@handles(Opcode.BREAKC)
def breakc(t: Translator, i: Instruction) -> None:
    word, mods = _test(t, i)
    t.builder.emit(Op.BREAKC, NONE, word, mods=mods, aux=_depth(t, ("loop", "switch"), "breakc"))


@handles(Opcode.CONTINUE)
def continue_(t: Translator, i: Instruction) -> None:
    t.builder.emit(Op.CONTINUE, aux=_depth(t, ("loop",), "continue"))


@handles(Opcode.CONTINUEC)
def continuec(t: Translator, i: Instruction) -> None:
    word, mods = _test(t, i)
    t.builder.emit(Op.CONTINUEC, NONE, word, mods=mods, aux=_depth(t, ("loop",), "continuec"))


def _return_depth(t: Translator) -> int:
    """Regions to leave to get out of the innermost inlined body; 0 in the main program."""
    for depth, scope in enumerate(reversed(t.scopes), 1):
        if scope.kind == "call":
            return depth
    return 0


@handles(Opcode.RET)
def ret(t: Translator, i: Instruction) -> None:
    depth = _return_depth(t)
    t.builder.emit(Op.BREAK if depth else Op.RET, aux=depth)


@handles(Opcode.RETC)
def retc(t: Translator, i: Instruction) -> None:
    word, mods = _test(t, i)
    depth = _return_depth(t)
    t.builder.emit(Op.BREAKC if depth else Op.RETC, NONE, word, mods=mods, aux=depth)


@handles(Opcode.DISCARD)
def discard(t: Translator, i: Instruction) -> None:
    word, mods = _test(t, i)
    t.builder.emit(Op.DISCARD, NONE, word, mods=mods)
    t.uses_discard = True


@handles(Opcode.NOP, Opcode.ABORT, Opcode.DEBUG_BREAK, Opcode.CUSTOMDATA)
def nothing(t: Translator, i: Instruction) -> None:
    """No effect on what the program computes: debug hooks, comments and messages."""


def _switch(t: Translator, i: Instruction, body: list[Instruction]) -> None:
    b = t.builder
    selector = b.keep()
    b.emit(Op.MOV, selector, t.plain(i.operands[0], (0,), "i")[0])
    groups: list[tuple[list[int], bool, list[Instruction]]] = []
    at = 0
    while at < len(body):
        labels: list[int] = []
        default = False
        while at < len(body) and body[at].opcode in (Opcode.CASE, Opcode.DEFAULT, Opcode.NOP, Opcode.CUSTOMDATA):
            if body[at].opcode is Opcode.CASE:
                operand = body[at].operands[0]
                if operand.type is not RegisterType.IMMEDIATE32:
                    raise ShaderError("case label that is no immediate", body[at].offset)
                labels.append(operand.values[0])
            default |= body[at].opcode is Opcode.DEFAULT
            at += 1
        start = at
        while at < len(body) and body[at].opcode not in (Opcode.CASE, Opcode.DEFAULT):
            at = _matching(body, at) + 1 if body[at].opcode in _OPENERS else at + 1
        code = body[start:at]
        if code and not labels and not default:
            raise ShaderError("code before the first label of a switch", code[0].offset)
        groups.append((labels, default, code))
    _open(t, Op.BLOCK, "switch")
    for labels, default, code in sorted(groups, key=lambda g: g[1]):
        if not code:
            continue
        if not default:
            test = b.value(Op.IEQ, selector, b.literal(labels[0]))
            for label in labels[1:]:
                test = b.value(Op.OR, test, b.value(Op.IEQ, selector, b.literal(label)))
            _open(t, Op.IF, None, test)
        translate_code(t, code)
        if not default:
            if code[-1].opcode not in _JUMPS:
                b.emit(Op.BREAK, aux=_depth(t, ("switch",), "break"))
            _close(t, Op.ENDIF, scope=False)
    _close(t, Op.ENDBLOCK, scope=True)


@handles(Opcode.CASE, Opcode.DEFAULT, Opcode.ENDSWITCH, Opcode.LABEL)
def misplaced(t: Translator, i: Instruction) -> None:
    raise ShaderError(f"{mnemonic(i)} stands outside of its construct")


def _label(operand: Operand) -> int:
    if operand.type is not RegisterType.LABEL or not operand.indices:
        raise ShaderError("the target of a call is a label")
    return operand.indices[0].immediate


def _inline(t: Translator, name: tuple[str, int], code: list[Instruction] | None) -> None:
    if code is None:
        raise ShaderError(f"{name[0]} {name[1]} does not exist")
    if name in t.call_stack:
        raise ShaderError(f"{name[0]} {name[1]} calls itself")
    if len(t.call_stack) >= MAX_CALL_DEPTH:
        raise ShaderError(f"calls nest deeper than {MAX_CALL_DEPTH}")
    t.call_stack.append(name)
    inline_body(t, code)
    t.call_stack.pop()


def inline_body(t: Translator, code: list[Instruction]) -> None:
    """Emit a body whose ``ret`` goes on behind it; the block is left out when only the last instruction returns."""
    if code and code[-1].opcode is Opcode.RET:
        code = code[:-1]
    if any(i.opcode in (Opcode.RET, Opcode.RETC) for i in code):
        _open(t, Op.BLOCK, "call")
        translate_code(t, code)
        _close(t, Op.ENDBLOCK, scope=True)
    else:
        # Loops around the call may not be left from inside: hide them, but leave the count of regions right.
        hidden, t.scopes = t.scopes, []
        translate_code(t, code)
        t.scopes = hidden


@handles(Opcode.CALL)
def call(t: Translator, i: Instruction) -> None:
    number = _label(i.operands[0])
    _inline(t, ("label", number), t.subroutines.get(number))


@handles(Opcode.CALLC)
def callc(t: Translator, i: Instruction) -> None:
    word, mods = _test(t, i)
    _open(t, Op.IF, None, word, mods=mods)
    number = _label(i.operands[1])
    _inline(t, ("label", number), t.subroutines.get(number))
    _close(t, Op.ENDIF, scope=False)


@handles(Opcode.FCALL)
def fcall(t: Translator, i: Instruction) -> None:
    operand = i.operands[0]
    if operand.type is not RegisterType.INTERFACE or len(operand.indices) != 2:
        raise ShaderError("fcall needs an interface with two indices")
    number, relative = t.index(operand.indices[0])
    interface = t.interfaces.get(number)
    if interface is None or relative is not None:
        raise ShaderError(f"fp{number} is not declared")
    element, computed = t.index(operand.indices[1])
    if computed is None:
        _call_interface(t, interface.first + element, i.function_index)
        return
    b = t.builder
    selector = b.keep()
    b.emit(Op.IADD, selector, computed, b.literal(element))
    for n in range(interface.length):
        _open(t, Op.IF, None, b.value(Op.IEQ, selector, b.literal(n)))
        _call_interface(t, interface.first + n, i.function_index)
        _close(t, Op.ENDIF, scope=False)


def _call_interface(t: Translator, element: int, site: int) -> None:
    if element >= len(t.instances):
        raise ShaderError(f"no class instance is bound to interface element {element}")
    table = t.tables.get(t.instances[element].table)
    if table is None or site >= len(table):
        raise ShaderError(f"function table {t.instances[element].table} has no call site {site}")
    _inline(t, ("function body", table[site]), t.functions.get(table[site]))
