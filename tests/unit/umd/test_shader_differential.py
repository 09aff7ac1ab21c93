"""Random programs give the same bits before and after translation: token by token against the reference engine.

The oracle is the interpreter of token programs in ``tests/support``, which knows nothing of the hardware.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.dxbc_interpreter import Machine
from umd.shader.translate import translate
from vgpu.engine import StopWord
from vgpu.engine.reference import surface
from vgpu.engine.reference.shader import Interpreter, Lanes, load
from vgpu.memory import Memory
from wddm.dxbc.disassembler import format_program
from wddm.dxbc.opcodes import Opcode, ProgramType, RegisterType
from wddm.dxbc.program import (
    Declaration,
    Index,
    Instruction,
    Operand,
    Program,
    imm_int,
    indexable,
    null,
    register,
    temp,
    uav,
)
from wddm.hw.descriptors import View, ViewDimension
from wddm.hw.formats import Format
from wddm.hw.isa import SystemRegister
from wddm.hw.isa_check import check
from wddm.hw.memory import LOCAL_BASE
from wddm.hw.packets import PACKET

LANES, TEMPS, ARRAY = 8, 4, 3
OUTPUT = LANES * TEMPS * 16
UNARY = [Opcode[n] for n in ["MOV", "NOT", "INEG", "COUNTBITS", "BFREV", "FIRSTBIT_HI", "FIRSTBIT_LO", "FIRSTBIT_SHI"]]
BINARY = [Opcode[n] for n in ["IADD", "AND", "OR", "XOR", "ISHL", "ISHR", "USHR", "IMAX", "UMIN", "IEQ", "INE", "ILT", "UGE"]]
PAIRS = [Opcode[n] for n in ["IMUL", "UMUL", "UDIV"]]
memory = Memory(1 << 20, 1 << 16, 0)


@st.composite
def sources(draw: st.DrawFn) -> Operand:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return imm_int(*(draw(st.sampled_from([0, 1, 2, 31, 0xFFFFFFFF, 0x80000000, 12345])) for _ in range(4)))
    swizzle = "".join(draw(st.sampled_from("xyzw")) for _ in range(4))
    if kind == 1:
        at = Index(draw(st.integers(0, ARRAY - 1)))
        return indexable(0, at, swizzle)
    return temp(draw(st.integers(0, TEMPS - 1)), swizzle)


@st.composite
def destinations(draw: st.DrawFn) -> Operand:
    mask = draw(st.integers(1, 15))
    if draw(st.integers(0, 9)) == 0:
        return indexable(0, draw(st.integers(0, ARRAY - 1)), mask=mask)
    return temp(draw(st.integers(0, TEMPS - 1)), mask=mask)


@st.composite
def statements(draw: st.DrawFn, depth: int, in_loop: bool) -> list[Instruction]:
    kind = draw(st.integers(0, 11))
    source, destination = sources(), destinations()
    if kind <= 2:
        return [Instruction(draw(st.sampled_from(UNARY)), [draw(destination), draw(source)])]
    if kind <= 5:
        operands = [draw(destination), draw(source), draw(source)]
        i = Instruction(draw(st.sampled_from(BINARY)), operands)
        if i.opcode is Opcode.IADD and operands[2].type is RegisterType.TEMP:
            operands[2] = -operands[2]
        return [i]
    if kind == 6:
        first, second = draw(destination), draw(destination)
        if first.type is second.type and first.indices == second.indices:
            second = null()
        return [Instruction(draw(st.sampled_from(PAIRS)), [first, second, draw(source), draw(source)])]
    if kind == 7:
        return [Instruction(Opcode.MOVC, [draw(destination), draw(source), draw(source), draw(source)])]
    if kind in (8, 9) and in_loop:
        return [Instruction(Opcode.BREAKC, [scalar(draw)], test_nonzero=draw(st.booleans()))]
    if depth == 0:
        return []
    body = st.lists(statements(depth - 1, in_loop), max_size=4).map(lambda parts: [i for part in parts for i in part])
    if kind <= 10:
        inside = [Instruction(Opcode.IF, [scalar(draw)], test_nonzero=draw(st.booleans())), *draw(body)]
        if draw(st.booleans()):
            inside += [Instruction(Opcode.ELSE), *draw(body)]
        return [*inside, Instruction(Opcode.ENDIF)]
    if draw(st.booleans()):
        return draw(switches(depth))
    # A counter that nothing else writes bounds the loop.
    counter = TEMPS + depth
    looped = st.lists(statements(depth - 1, True), max_size=4).map(lambda parts: [i for part in parts for i in part])
    return [
        Instruction(Opcode.MOV, [temp(counter, mask="x"), imm_int(0)]),
        Instruction(Opcode.LOOP),
        Instruction(Opcode.UGE, [temp(counter, mask="y"), temp(counter, "x"), imm_int(draw(st.integers(1, 4)))]),
        Instruction(Opcode.BREAKC, [temp(counter, "y")], test_nonzero=True),
        Instruction(Opcode.IADD, [temp(counter, mask="x"), temp(counter, "x"), imm_int(1)]),
        *draw(looped),
        Instruction(Opcode.ENDLOOP),
    ]


@st.composite
def switches(draw: st.DrawFn, depth: int) -> list[Instruction]:
    body = st.lists(statements(depth - 1, False), min_size=1, max_size=3).map(lambda parts: [i for part in parts for i in part])
    out = [
        Instruction(Opcode.AND, [temp(TEMPS, mask="x"), scalar(draw), imm_int(3)]),
        Instruction(Opcode.SWITCH, [temp(TEMPS, "x")]),
    ]
    labels = draw(st.permutations([0, 1, 2, None]))
    for label in labels:
        out.append(Instruction(Opcode.DEFAULT) if label is None else Instruction(Opcode.CASE, [imm_int(label)]))
        if draw(st.integers(0, 3)) or label == labels[-1]:
            out += [*draw(body), Instruction(Opcode.BREAK)]
    return [*out, Instruction(Opcode.ENDSWITCH)]


def scalar(draw: st.DrawFn) -> Operand:
    return temp(draw(st.integers(0, TEMPS - 1)), draw(st.sampled_from("xyzw")))


class Case:
    """A program whose counterexample reads as a listing."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def __repr__(self) -> str:
        return "\n" + format_program(self.program)


@st.composite
def compute_programs(draw: st.DrawFn) -> Case:
    lane = register(RegisterType.INPUT_THREAD_ID_IN_GROUP_FLATTENED, components=1)
    start = [
        Instruction(
            Opcode.IMAD,
            [temp(n, mask="xyzw"), lane, imm_int(0x9E3779B9, 7, 0x10001, n), imm_int(n, 5, n * 77, 0xFFFFFFFF)],
        )
        for n in range(TEMPS)
    ]
    start += [Instruction(Opcode.MOV, [temp(n, mask="xyzw"), imm_int(0)]) for n in range(TEMPS, TEMPS + 4)]
    start += [Instruction(Opcode.MOV, [indexable(0, n, mask="xyzw"), imm_int(n, 2, 3, 4)]) for n in range(ARRAY)]
    body = [i for part in draw(st.lists(statements(2, False), max_size=12)) for i in part]
    end = [Instruction(Opcode.ISHL, [temp(TEMPS, mask="x"), lane, imm_int(4 + (TEMPS - 1).bit_length())])]
    for n in range(TEMPS):
        end.append(Instruction(Opcode.STORE_RAW, [uav(0, mask="xyzw"), temp(TEMPS, "x"), temp(n)]))
        end.append(Instruction(Opcode.IADD, [temp(TEMPS, mask="x"), temp(TEMPS, "x"), imm_int(16)]))
    declarations = [
        Declaration(Opcode.DCL_UAV_RAW, uav(0, "")),
        Declaration(Opcode.DCL_INPUT, lane),
        Declaration(Opcode.DCL_TEMPS, count=TEMPS + 4),
        Declaration(Opcode.DCL_INDEXABLETEMP, register=0, count=ARRAY, components=4),
        Declaration(Opcode.DCL_THREAD_GROUP, thread_group=(LANES, 1, 1)),
    ]
    return Case(Program(ProgramType.COMPUTE, 5, 0, declarations, [*start, *body, *end, Instruction(Opcode.RET)]))


def expected(program: Program) -> Any:
    machine = Machine(LANES, uavs={0: np.zeros(OUTPUT // 4, np.uint32)})
    flat = np.arange(LANES, dtype=np.uint32)
    machine.inputs = {(RegisterType.INPUT_THREAD_ID_IN_GROUP_FLATTENED, 0): np.tile(flat[:, None], (1, 4))}
    machine.run(program)
    return machine.uavs[0]


def executed(program: Program) -> Any:
    shader = translate(program)
    check(shader)
    address = LOCAL_BASE + 4096
    memory.view(address, OUTPUT, write=True)[:] = 0
    packet = np.zeros(1, PACKET)[0]
    packet["address"], packet["extent"] = address, OUTPUT
    packet["data"][:] = View(ViewDimension.RAW_BUFFER, Format.R32_TYPELESS, OUTPUT // 4, 0).pack()
    lanes = Lanes(
        LANES,
        system={int(SystemRegister.ID_IN_GROUP_FLAT): np.arange(LANES, dtype=np.uint32)},
        uavs={0: surface.bind(memory, packet, write=True)},
        shared=np.zeros((1, 0), np.uint32),
        group=np.zeros(LANES, np.int64),
    )
    Interpreter(load(shader.to_bytes()), lanes, StopWord()).run()
    return memory.view(address, OUTPUT).view(np.uint32).copy()


@settings(deadline=None, max_examples=80)
@given(compute_programs())
def test_same_bits(case: Case) -> None:
    assert executed(case.program).tolist() == expected(case.program).tolist()
