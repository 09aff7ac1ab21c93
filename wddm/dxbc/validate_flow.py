"""Flow control of one body of code: blocks that open and close, case labels, subroutines and who calls whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .opcodes import OPCODES, Opcode, RegisterType
from .program import Instruction

__all__ = ["MAX_CALL_DEPTH", "MAX_NESTING", "check_flow"]

MAX_NESTING = 64
"""Blocks within each other, per subroutine."""

MAX_CALL_DEPTH = 32

_CLOSED_BY = {Opcode.ENDIF: Opcode.IF, Opcode.ENDLOOP: Opcode.LOOP, Opcode.ENDSWITCH: Opcode.SWITCH}
_LABELS = (Opcode.CASE, Opcode.DEFAULT)
_Label = tuple[RegisterType, int]


@dataclass(slots=True)
class _Block:
    opener: Opcode
    falls_in: bool
    """Whether control reaches the block at all."""
    leaves: bool = False
    """Whether control reaches what stands behind it: by a break, or past a finished branch."""
    has_else: bool = False
    cases: set[int] = field(default_factory=set)
    has_default: bool = False
    seen_label: bool = False


def check_flow(instructions: list[Instruction], place: Any, report: Callable[..., None]) -> None:
    """Report unbalanced or misplaced blocks and labels; ``place`` is the phase or program the code belongs to."""
    _Flow(place, report).run(instructions)


class _Flow:
    def __init__(self, place: Any, report: Callable[..., None]) -> None:
        self.place = place
        self.report = report
        self.blocks: list[_Block] = []
        self.live = True
        """Whether control can reach the next instruction."""
        self.routine: _Label | None = None
        self.calls: dict[_Label | None, list[tuple[_Label, Instruction]]] = {None: []}
        self.defined: dict[_Label, Instruction] = {}

    def run(self, instructions: list[Instruction]) -> None:
        previous: Instruction | None = None
        for instruction in instructions:
            if len(self.blocks) > MAX_NESTING:
                return
            opcode = instruction.opcode
            if opcode is Opcode.CUSTOMDATA or opcode is Opcode.NOP:
                continue
            if self.blocks and self.blocks[-1].opener is Opcode.SWITCH and not self.blocks[-1].seen_label:
                if opcode not in _LABELS and opcode is not Opcode.ENDSWITCH:
                    self.report("code stands between switch and its first case", instruction)
                    self.blocks[-1].seen_label = True
            handler = _HANDLERS.get(opcode)
            if handler is not None:
                handler(self, instruction, previous)
            previous = instruction
        for block in self.blocks:
            self.report(f"a {OPCODES[block.opener].mnemonic} is never closed", previous or self.place)
        if not self.blocks and (previous is None or previous.opcode is not Opcode.RET):
            self.report("the code does not end with ret", previous or self.place)
        self.check_calls()

    def open(self, instruction: Instruction, previous: Instruction | None) -> None:
        self.blocks.append(_Block(instruction.opcode, self.live))
        if len(self.blocks) > MAX_NESTING:
            self.report(f"blocks nest deeper than {MAX_NESTING}", instruction)

    def other(self, instruction: Instruction, previous: Instruction | None) -> None:
        if not self.blocks or self.blocks[-1].opener is not Opcode.IF or self.blocks[-1].has_else:
            self.report("there is no open if", instruction)
            return
        block = self.blocks[-1]
        block.has_else = True
        block.leaves |= self.live
        self.live = block.falls_in

    def close(self, instruction: Instruction, previous: Instruction | None) -> None:
        opener = _CLOSED_BY[instruction.opcode]
        if not self.blocks or self.blocks[-1].opener is not opener:
            inner = f", the open block is a {OPCODES[self.blocks[-1].opener].mnemonic}" if self.blocks else ""
            self.report(f"there is no open {OPCODES[opener].mnemonic}{inner}", instruction)
            return
        block = self.blocks.pop()
        if opener is Opcode.IF:
            self.live |= block.leaves or (block.falls_in and not block.has_else)
        elif opener is Opcode.LOOP:
            self.live = block.leaves
        else:
            self.live |= block.leaves or (block.falls_in and not block.has_default)

    def case(self, instruction: Instruction, previous: Instruction | None) -> None:
        if not self.blocks or self.blocks[-1].opener is not Opcode.SWITCH:
            self.report("stands outside of a switch", instruction)
            return
        block = self.blocks[-1]
        # Labels may share code, but code may not run into the next label.
        if block.seen_label and self.live and (previous is None or previous.opcode not in _LABELS):
            self.report("the code before the label falls through", instruction)
        block.seen_label = True
        self.live = block.falls_in
        if instruction.opcode is Opcode.DEFAULT:
            if block.has_default:
                self.report("the switch has two defaults", instruction)
            block.has_default = True
        elif instruction.operands and instruction.operands[0].values:
            value = instruction.operands[0].values[0]
            if value in block.cases:
                self.report(f"the switch has two cases of {value}", instruction)
            block.cases.add(value)

    def leave(self, instruction: Instruction, previous: Instruction | None) -> None:
        block = next((b for b in reversed(self.blocks) if b.opener is not Opcode.IF), None)
        if block is None:
            self.report("stands outside of loop and switch", instruction)
            return
        block.leaves |= self.live
        if instruction.opcode is Opcode.BREAK:
            self.live = False

    def again(self, instruction: Instruction, previous: Instruction | None) -> None:
        if not any(block.opener is Opcode.LOOP for block in self.blocks):
            self.report("stands outside of a loop", instruction)
        if instruction.opcode is Opcode.CONTINUE:
            self.live = False

    def back(self, instruction: Instruction, previous: Instruction | None) -> None:
        self.live = False

    def label(self, instruction: Instruction, previous: Instruction | None) -> None:
        if self.blocks or previous is None or previous.opcode is not Opcode.RET:
            self.report("a subroutine begins behind the ret of the code before it", instruction)
        name = _label(instruction)
        if name in self.defined:
            self.report("the label is defined twice", instruction)
        self.defined[name] = instruction
        self.routine = name
        self.calls.setdefault(name, [])
        self.live = True

    def call(self, instruction: Instruction, previous: Instruction | None) -> None:
        self.calls[self.routine].append((_label(instruction), instruction))

    def check_calls(self) -> None:
        """Every call has its label, nothing calls itself, and no chain of calls is deeper than the limit.

        Routines are finished callees first; a callee that is begun but not finished is a recursion.
        """
        depth: dict[_Label | None, int] = {}
        begun: set[_Label | None] = set()
        for root in list(self.calls):
            stack: list[tuple[_Label | None, int]] = [(root, 0)] if root not in depth else []
            begun.update(routine for routine, _ in stack)
            while stack:
                routine, position = stack.pop()
                calls = self.calls[routine]
                if position == len(calls):
                    depth[routine] = max((depth.get(name, 0) + 1 for name, _ in calls), default=0)
                    if depth[routine] > MAX_CALL_DEPTH >= max((depth.get(n, 0) for n, _ in calls), default=0):
                        self.report(f"calls nest deeper than {MAX_CALL_DEPTH}", calls[0][1])
                    continue
                stack.append((routine, position + 1))
                name, instruction = calls[position]
                if name not in self.calls:
                    self.report("the label that is called does not exist", instruction)
                elif name not in begun:
                    begun.add(name)
                    stack.append((name, 0))
                elif name not in depth:
                    self.report("the subroutine calls itself", instruction)


def _label(instruction: Instruction) -> _Label:
    operand = instruction.operands[-1] if instruction.operands else None
    return (operand.type, operand.index) if operand is not None else (RegisterType.LABEL, 0)


_HANDLERS: dict[Opcode, Callable[[_Flow, Instruction, Instruction | None], None]] = {
    Opcode.IF: _Flow.open,
    Opcode.LOOP: _Flow.open,
    Opcode.SWITCH: _Flow.open,
    Opcode.ELSE: _Flow.other,
    Opcode.ENDIF: _Flow.close,
    Opcode.ENDLOOP: _Flow.close,
    Opcode.ENDSWITCH: _Flow.close,
    Opcode.CASE: _Flow.case,
    Opcode.DEFAULT: _Flow.case,
    Opcode.BREAK: _Flow.leave,
    Opcode.BREAKC: _Flow.leave,
    Opcode.CONTINUE: _Flow.again,
    Opcode.CONTINUEC: _Flow.again,
    Opcode.RET: _Flow.back,
    Opcode.LABEL: _Flow.label,
    Opcode.CALL: _Flow.call,
    Opcode.CALLC: _Flow.call,
}
