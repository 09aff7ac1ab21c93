"""From a token program to the hardware's program: the one entry of this package.

Swizzles become scalar operations, subroutines and interface calls are inlined, switches become blocks, hull phases two entries;
then moves are forwarded and dead code dropped. What the tokens say wrongly is a :class:`~umd.shader.errors.ShaderError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from umd.shader import arithmetic, doubles, flow, memory, resources, stages  # they register their opcodes
from umd.shader.declarations import Records, declare
from umd.shader.errors import ShaderError
from umd.shader.ir import Ins
from umd.shader.optimize import forward_copies, number_registers, remove_dead
from umd.shader.translator import HANDLERS, Body, ClassInstance, Translator
from wddm.dxbc.opcodes import OPCODES, Opcode, OpcodeGroup, ProgramType, RegisterType
from wddm.dxbc.program import Instruction, Phase, Program
from wddm.hw.isa import (
    DECLARATION,
    INSTRUCTION,
    MAX_TEMPS,
    DeclarationKind,
    ProgramFlag,
    ShaderProgram,
)
from wddm.hw.packets import Stage

__all__ = ["ClassInstance", "ShaderError", "SignatureElement", "StreamElement", "StreamOutput", "attach_stream_output", "translate"]

_GROUPS = (arithmetic, doubles, flow, memory, resources, stages)
STAGES = {
    ProgramType.VERTEX: Stage.VERTEX,
    ProgramType.HULL: Stage.HULL,
    ProgramType.DOMAIN: Stage.DOMAIN,
    ProgramType.GEOMETRY: Stage.GEOMETRY,
    ProgramType.PIXEL: Stage.PIXEL,
    ProgramType.COMPUTE: Stage.COMPUTE,
}
#: ``register`` of a stream-output element that leaves a gap.
GAP = 0xFFFFFFFF
NO_STREAM = 0xFFFFFFFF
#: Token instructions that calls may inline to.
MAX_INLINED = 1 << 16


@dataclass(frozen=True, slots=True)
class SignatureElement:
    """One register of a signature, as the DDI gives it."""

    register: int
    mask: int
    system_value: int = 0


@dataclass(frozen=True, slots=True)
class StreamElement:
    """One element of a stream-output declaration: the masked components of an output register, or a gap of that many dwords."""

    register: int
    mask: int
    target: int
    stream: int = 0


@dataclass(frozen=True, slots=True)
class StreamOutput:
    """What a geometry shader streams out."""

    elements: tuple[StreamElement, ...]
    strides: tuple[int, ...] = ()  #: bytes per vertex of each target; () = tight
    rasterized_stream: int = 0


def translate(
    program: Program,
    *,
    instances: Sequence[ClassInstance] = (),
    signature: Sequence[SignatureElement] = (),
    stream_output: StreamOutput | None = None,
) -> ShaderProgram:
    """Translate ``program``. ``instances`` are the class instances bound to its interfaces; ``signature`` is the input
    signature, needed for a hull shader that passes its control points through.

    Raises ShaderError for anything the hardware cannot run, naming the instruction's dword.
    """
    if program.model > (5, 0):
        raise ShaderError(f"shader model {program.major}.{program.minor}; 5.0 is the highest of this interface")
    t = Translator(program, tuple(instances))
    shader = ShaderProgram(stage=int(STAGES[program.type]))
    records = Records()
    common = declare(t, program.declarations, records, shader, None)
    phases: list[tuple[Phase, Body]] = []
    for phase in program.phases:
        body = declare(t, phase.declarations, records, shader, phase.kind)
        if not body.icb_length:
            body.icb_base, body.icb_length = common.icb_base, common.icb_length
        body.arrays = {**common.arrays, **body.arrays}
        phases.append((phase, body))
    if program.type is ProgramType.HULL:
        _hull_points(t, phases, records, shader, signature)
        code, shader.patch_entry = _hull(t, phases)
    else:
        t.body = common
        main = _split(t, program.instructions)
        flow.translate_code(t, main[:-1] if main and main[-1].opcode is Opcode.RET else main)
        code = remove_dead_in(t.builder.ins)
    if t.uses_discard:
        records.flags |= ProgramFlag.USES_DISCARD
    shader.flags = records.flags
    shader.temp_count = number_registers(code)
    if shader.temp_count > MAX_TEMPS:
        raise ShaderError(f"{shader.temp_count} registers in use; {MAX_TEMPS} exist")
    shader.declarations = records.array(t.counters)
    shader.literals = np.array(t.builder.literals, np.uint32)
    shader.icb = np.array(t.builder.icb, np.uint32)
    shader.instructions = pack(code)
    if stream_output is not None:
        attach_stream_output(shader, stream_output)
    return shader


def remove_dead_in(code: list[Ins]) -> list[Ins]:
    """Both optimisation passes over one entry."""
    forward_copies(code)
    return remove_dead(code)


def _split(t: Translator, code: list[Instruction]) -> list[Instruction]:
    """The main program; subroutines and function bodies go to the translator."""
    main: list[Instruction] = code
    current: list[Instruction] | None = None
    for at, i in enumerate(code):
        if i.opcode is Opcode.LABEL:
            if current is None:
                main = code[:at]
            current = []
            operand = i.operands[0]
            table = t.functions if operand.type is RegisterType.FUNCTION_BODY else t.subroutines
            number = operand.index
            if number in table:
                raise ShaderError(f"label {number} stands twice", i.offset)
            table[number] = current
        elif current is not None:
            current.append(i)
    _check_expansion(t, main)
    return main


def _check_expansion(t: Translator, main: list[Instruction]) -> None:
    """Refuse a program whose calls would inline to more instructions than MAX_INLINED, before a single one is emitted."""
    sizes: dict[int, int] = {}

    def size(code: list[Instruction], depth: int) -> int:
        total = len(code)
        for i in code:
            if i.opcode in (Opcode.CALL, Opcode.CALLC):
                number = i.operands[-1].index
                if number not in sizes:
                    if depth >= flow.MAX_CALL_DEPTH:
                        return MAX_INLINED + 1
                    sizes[number] = 0  # recursion is refused where it is met
                    sizes[number] = size(t.subroutines.get(number, []), depth + 1)
                total += sizes[number]
        return total

    if size(main, 0) > MAX_INLINED:
        raise ShaderError(f"calls inline to more than {MAX_INLINED} instructions, or nest deeper than {flow.MAX_CALL_DEPTH}")


def _hull(t: Translator, phases: list[tuple[Phase, Body]]) -> tuple[list[Ins], int]:
    entry = stages.hull(t, phases)
    points = remove_dead_in(t.builder.ins[:entry])
    patch = remove_dead_in(t.builder.ins[entry:])
    return points + patch, len(points)


def _hull_points(
    t: Translator,
    phases: list[tuple[Phase, Body]],
    records: Records,
    shader: ShaderProgram,
    signature: Sequence[SignatureElement],
) -> None:
    """A hull shader without a control-point phase passes its input control points through."""
    if any(phase.kind is Opcode.HS_CONTROL_POINT_PHASE for phase, _ in phases):
        return
    records.flags |= ProgramFlag.PASS_THROUGH
    if signature:
        records.inout = {k: m for k, m in records.inout.items() if k[0] != DeclarationKind.INPUT}
    for element in signature:
        records.add(DeclarationKind.INPUT, element.register, element.mask, element.system_value, 0)
    for (kind, register, value, _), mask in list(records.inout.items()):
        if kind == DeclarationKind.INPUT:
            records.add(DeclarationKind.OUTPUT, register, mask, value, 0)


def pack(code: list[Ins]) -> npt.NDArray[np.void]:
    """The instructions as records."""
    rows = [
        (i.op, i.mods, i.dst, tuple(i.src) if len(i.src) == 4 else (*i.src, *(0,) * (4 - len(i.src))), i.aux, i.aux2)
        for i in code
    ]
    return np.array(rows, INSTRUCTION)


def attach_stream_output(shader: ShaderProgram, stream_output: StreamOutput) -> None:
    """Add stream-output records to the last stage before the rasterizer: a geometry shader, or the vertex or domain shader
    whose output is streamed without one."""
    offsets = [0, 0, 0, 0]
    rows: list[tuple[int, int, int, int, int]] = []
    for e in stream_output.elements:
        if not 0 <= e.target < 4 or not 0 <= e.stream < 4 or not 0 < e.mask < 16:
            raise ShaderError(f"stream output element with target {e.target}, stream {e.stream}, mask {e.mask:#x}")
        if e.register != GAP:
            row = (DeclarationKind.STREAM_OUTPUT, e.register, e.mask, e.target | e.stream << 8, offsets[e.target])
            rows.append(row)
        offsets[e.target] += 4 * e.mask.bit_count()
    for target, tight in enumerate(offsets):
        stride = stream_output.strides[target] if target < len(stream_output.strides) else 0
        if tight or stride:
            if stride and stride < tight:
                raise ShaderError(f"stream output stride {stride} of target {target} is less than its {tight} bytes")
            rows.append((DeclarationKind.STREAM_STRIDE, target, 0, stride or tight, 0))
    shader.declarations = np.concatenate([shader.declarations, np.array(rows, DECLARATION)])
    shader.rasterized_stream = stream_output.rasterized_stream


def unhandled() -> list[Opcode]:
    """Executable opcodes without a translation; a test asserts that there are none."""
    skipped = (OpcodeGroup.DECLARATION, OpcodeGroup.RESERVED, OpcodeGroup.PHASE)
    return [
        o for o, info in OPCODES.items() if info.group not in skipped and o not in HANDLERS and o is not Opcode.SWITCH
    ]
