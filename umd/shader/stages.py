"""What only some stages have: vertices that a geometry shader emits, and the phases of a hull shader made into two entries.

The fork and join phases become one *patch-constant entry*: each phase's code once per instance, in stream order, its instance
id a literal. Whatever a phase declares for itself (registers, arrays, constants) is its own again in the next.
"""

from __future__ import annotations

from umd.shader.errors import ShaderError
from umd.shader.flow import inline_body, translate_code
from umd.shader.ir import NONE
from umd.shader.translator import Body, Translator, handles
from wddm.dxbc.opcodes import Opcode
from wddm.dxbc.program import Instruction, Phase
from wddm.hw.isa import Op

#: Fork or join phases run at most this often (one output register each).
MAX_PHASE_INSTANCES = 32
_EMITS = {
    Opcode.EMIT: (Op.EMIT,),
    Opcode.CUT: (Op.CUT,),
    Opcode.EMITTHENCUT: (Op.EMIT, Op.CUT),
    Opcode.EMIT_STREAM: (Op.EMIT,),
    Opcode.CUT_STREAM: (Op.CUT,),
    Opcode.EMITTHENCUT_STREAM: (Op.EMIT, Op.CUT),
}


@handles(*_EMITS)
def emit(t: Translator, i: Instruction) -> None:
    stream = t.static_index(i.operands[0], "stream") if i.operands else 0
    for op in _EMITS[i.opcode]:
        t.builder.emit(op, NONE, aux=stream)


def hull(t: Translator, bodies: list[tuple[Phase, Body]]) -> int:
    """Emit both entries of a hull shader; returns the index of the patch-constant entry's first instruction."""
    b = t.builder
    for phase, body in bodies:
        if phase.kind is Opcode.HS_CONTROL_POINT_PHASE:
            t.body = body
            translate_code(t, _without_last_ret(phase.instructions))
            b.emit(Op.RET)
    entry = len(b.ins)
    t.patch_constant_phase = True
    for phase, body in bodies:
        if phase.kind is Opcode.HS_CONTROL_POINT_PHASE:
            continue
        t.body = body
        if not 0 <= phase.instance_count <= MAX_PHASE_INSTANCES:
            raise ShaderError(f"a phase with {phase.instance_count} instances; {MAX_PHASE_INSTANCES} are the most", phase.offset)
        for instance in range(phase.instance_count):
            body.fork_instance = instance
            inline_body(t, phase.instructions)
    b.emit(Op.RET)
    return entry


def _without_last_ret(code: list[Instruction]) -> list[Instruction]:
    return code[:-1] if code and code[-1].opcode is Opcode.RET else code
