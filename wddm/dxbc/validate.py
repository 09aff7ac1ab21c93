"""Whether a token program makes sense: the rules a runtime enforces before a driver sees the code.

Owns the judgement only: :func:`check` lists what is wrong, :func:`validate` raises the first of it.  Stages and
shader models of opcodes, declared registers, index limits, flow control, the call graph, hull phases.  It never
changes a program.  Models the shader checks of the D3D11 runtime.
"""

from __future__ import annotations

from contextlib import suppress

from .errors import DxbcError
from .opcodes import OPCODES, Opcode, ProgramType
from .program import Declaration, Instruction, Phase, Program
from .tokens import MODELS
from .validate_declarations import Registers, check_declarations
from .validate_flow import check_flow
from .validate_instructions import check_instruction

__all__ = ["MAX_FAULTS", "check", "validate"]

MAX_FAULTS = 100
"""Faults after which :func:`check` stops looking."""


def validate(program: Program) -> None:
    """Accept the program or raise its first fault.

    :raises DxbcError: ``where`` is the declaration or instruction, ``offset`` its byte when it was decoded.
    """
    faults = check(program, limit=1)
    if faults:
        raise faults[0]


def check(program: Program, *, limit: int = MAX_FAULTS) -> list[DxbcError]:
    """Everything that is wrong, in program order within each rule, at most ``limit`` faults."""
    report = Report(limit)
    with suppress(_Enough):
        _check(program, report)
    return report.faults


class _Enough(Exception):
    pass


class Report:
    """Collects faults."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.faults: list[DxbcError] = []

    def __call__(self, message: str, where: Declaration | Instruction | Phase | Program | None = None) -> None:
        offset = None
        if where is not None and not isinstance(where, Program) and where.offset:
            offset = 4 * where.offset
        if isinstance(where, (Declaration, Instruction)):
            message = f"{OPCODES[where.opcode].mnemonic}: {message}"
        self.faults.append(DxbcError(message, offset, where))
        if len(self.faults) >= self.limit:
            raise _Enough


_REQUIRED = {
    ProgramType.GEOMETRY: (Opcode.DCL_INPUTPRIMITIVE, Opcode.DCL_OUTPUTTOPOLOGY, Opcode.DCL_MAXOUT),
    ProgramType.HULL: (
        Opcode.DCL_INPUT_CONTROL_POINT_COUNT,
        Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT,
        Opcode.DCL_TESSELLATOR_DOMAIN,
        Opcode.DCL_TESSELLATOR_PARTITIONING,
        Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE,
    ),
    ProgramType.DOMAIN: (Opcode.DCL_TESSELLATOR_DOMAIN,),
    ProgramType.COMPUTE: (Opcode.DCL_THREAD_GROUP,),
}


def _check(program: Program, report: Report) -> None:
    if program.model not in MODELS or (
        program.major < 5 and program.type in (ProgramType.HULL, ProgramType.DOMAIN)
    ):
        report(f"there is no profile {program.profile}", program)
        return
    for opcode in _REQUIRED.get(program.type, ()):
        if program.find(opcode) is None:
            report(f"a {program.type.prefix} program needs {OPCODES[opcode].mnemonic}", program)
    if program.type is ProgramType.HULL:
        _check_phases(program, report)
        if program.instructions:
            report("the code of a hull shader stands in its phases", program)
    elif program.phases:
        report(f"a {program.type.prefix} program has no phases", program)
    shared = Registers.of(program)
    check_declarations(program, None, program.declarations, shared, report)
    for phase, declarations, instructions in program.bodies():
        registers = shared
        if phase is not None:
            registers = shared.for_phase(phase)
            check_declarations(program, phase, declarations, registers, report)
        elif program.type is ProgramType.HULL:
            continue
        for instruction in instructions:
            check_instruction(instruction, program, registers, report)
        check_flow(instructions, phase if phase is not None else program, report)
    _check_counters(program, report)


def _check_phases(program: Program, report: Report) -> None:
    order = (Opcode.HS_CONTROL_POINT_PHASE, Opcode.HS_FORK_PHASE, Opcode.HS_JOIN_PHASE)
    last = 0
    for phase in program.phases:
        if phase.kind not in order:
            report(f"{phase.kind.name} is no hull shader phase", phase)
            continue
        place = order.index(phase.kind)
        if place < last:
            report("control-point phase, fork phases and join phases stand in this order", phase)
        last = max(last, place)
    if sum(phase.kind is order[0] for phase in program.phases) > 1:
        report("a hull shader has at most one control-point phase", program)


def _check_counters(program: Program, report: Report) -> None:
    """One shader may not both append to and consume from a UAV."""
    users: dict[int, Opcode] = {}
    for _, _, instructions in program.bodies():
        for instruction in instructions:
            if instruction.opcode in (Opcode.IMM_ATOMIC_ALLOC, Opcode.IMM_ATOMIC_CONSUME):
                if len(instruction.operands) == 2:
                    slot = instruction.operands[1].index
                    if users.setdefault(slot, instruction.opcode) is not instruction.opcode:
                        report(f"u{slot} is both appended to and consumed from", instruction)
