"""Compute kernels: groups of threads as loops over vectors.

A kernel takes groups from a shared counter until its limit, so that any number of threads may run it at once. Without barriers a
group is a loop over its vectors. With barriers the program is cut at them: what lies between runs vector by vector with the
registers kept in memory, and control flow that contains a barrier runs once for the group (Direct3D demands that it is uniform).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wddm.hw.isa import INDEX_MASK, Kind, Op, ShaderProgram, SystemRegister

from .analysis import Analysis, Instruction, analyse, instructions, match_blocks, read, written
from .builder import I1, I16, I32, I64, PTR, VOID, Function, Module, Type, Value, Variable
from .float_mode import restore_float_mode, set_float_mode, uses_doubles
from .shader import ShaderKey, Stage, Translator, _Region

#: What a kernel is given.
ARGUMENTS = np.dtype(
    [
        ("block", "<u8"),  # bindings
        ("counter", "<u8"),  # pointer to the next group (u64)
        ("limit", "<u8"),  # groups below it are taken
        ("chunk", "<u8"),  # groups taken at a time
        ("stop", "<u8"),  # pointer to the stop word
        ("x", "<u4"),
        ("y", "<u4"),
        ("z", "<u4"),
        ("reserved", "<u4"),
    ]
)


class ComputeStage(Stage):
    """Thread and group numbers, shared memory."""

    def __init__(self, program: ShaderProgram, lanes: int) -> None:
        self.group = program.group
        self.lanes = lanes
        self.threads = program.group[0] * program.group[1] * program.group[2]
        self.partial = self.threads % lanes != 0
        self.group_ids: Sequence[Value] = ()
        self.vector: Value | None = None  # index of the vector in the group
        self.shared_pointer: Value | None = None

    def operand_shape(self, word: int) -> int | None:
        if word >> 28 != Kind.SYSTEM:
            return None
        register = word & INDEX_MASK
        if register in (SystemRegister.GROUP_ID_X, SystemRegister.GROUP_ID_Y, SystemRegister.GROUP_ID_Z):
            return 0
        if register == SystemRegister.ID_IN_GROUP_FLAT:
            return 1
        x, y, _ = self.group
        axis = _axis(register)
        rows = x % self.lanes == 0 or self.threads == x
        slices = (x * y) % self.lanes == 0 or self.threads == x * y
        return ((1 if rows else None), (0 if rows else None), (0 if slices else None))[axis]

    def system(self, t: Translator, register: int) -> Value:
        f = t.f
        base = SystemRegister.GROUP_ID_X
        if base <= register < base + 3:
            return self.group_ids[register - base]
        assert self.vector is not None
        first = self.vector * self.lanes
        if register == SystemRegister.ID_IN_GROUP_FLAT:
            return first + t.lane_index()
        axis = _axis(register)
        x, y, _ = self.group
        shape = self.operand_shape(Kind.SYSTEM << 28 | register)
        flat = first if shape is not None else first + t.lane_index()
        if axis == 0:
            inside = flat if self.threads == x else flat.urem(f.value(x, flat.type))
            if shape == 1:
                inside = inside + t.lane_index()
        elif axis == 1:
            inside = flat.udiv(f.value(x, flat.type)).urem(f.value(y, flat.type))
        else:
            inside = flat.udiv(f.value(x * y, flat.type))
        if register <= SystemRegister.THREAD_ID_Z:
            return self.group_ids[axis] * self.group[axis] + inside
        return inside

    def shared(self, t: Translator) -> Value:
        assert self.shared_pointer is not None
        return self.shared_pointer


def _axis(register: int) -> int:
    return (register - (SystemRegister.THREAD_ID_X if register <= SystemRegister.THREAD_ID_Z else SystemRegister.ID_IN_GROUP_X)) % 3


def compile_kernel(program: ShaderProgram, key: ShaderKey, lanes: int) -> str:
    """The IR of ``kernel(ARGUMENTS*)``."""
    m = Module()
    f = m.function("kernel", VOID, [PTR])
    (arguments,) = f.arguments
    fields = ARGUMENTS.fields
    assert fields is not None

    def argument(name: str, t: Type) -> Value:
        return f.load(t, arguments, int(fields[name][1]), constant=True)

    saved = set_float_mode(f, denormals=uses_doubles(program))
    with f.prologue():
        block, counter, stop = argument("block", PTR), argument("counter", PTR), argument("stop", PTR)
        limit, chunk = argument("limit", I64), argument("chunk", I64)
        x, y = argument("x", I32), argument("y", I32)
    stage = ComputeStage(program, lanes)
    stage.shared_pointer = f.array(I32, (program.shared_bytes + 3) // 4 + 16)  # none declared: every access is outside
    code = instructions(program)
    barriers = any(ins[0] == Op.BARRIER for ins in code) and stage.threads > lanes
    with f.loop() as chunks:
        first = f.atomic("add", counter, chunk)
        chunks.break_if(first.uge(limit))
        chunks.break_if(f.emit(I32, f"load volatile i32, {stop}, align 4").ne(0))
        last = f.umin(first + chunk, limit)
        with f.count(first, last, type=I64) as flat:
            wide_x, wide_y = x.zext(I64), y.zext(I64)
            row = flat.udiv(wide_x)
            stage.group_ids = (
                (flat - row * wide_x).trunc(I32),
                row.urem(wide_y).trunc(I32),
                row.udiv(wide_y).trunc(I32),
            )
            if program.shared_bytes:
                f.fill(stage.shared_pointer, 0, program.shared_bytes)
            if barriers:
                _Barriers(f, lanes, program, key, stage, block, stop, code).write()
            else:
                _plain(f, lanes, program, key, stage, block, stop)
    restore_float_mode(f, saved)
    f.ret()
    return str(m)


def _plain(f: Function, lanes: int, program: ShaderProgram, key: ShaderKey, stage: ComputeStage, block: Value, stop: Value) -> None:
    with f.count(0, -(-stage.threads // lanes)) as vector:
        stage.vector = vector
        mask = (vector * lanes + f.vector(I32, range(lanes))) < stage.threads if stage.partial else None
        t = _ComputeTranslator(f, lanes, program, key, stage, block, stop)
        t.run(mask)


class _ComputeTranslator(Translator):
    """A group of one vector needs no barriers: they only order what the lanes do in step anyway."""

    def find(self) -> Analysis:
        assert isinstance(self.stage, ComputeStage)
        return analyse(self.code, self.program, self._operand_shape, partial=self.stage.partial)

    def instruction(self, ins: Instruction) -> None:
        if ins[0] != Op.BARRIER:
            super().instruction(ins)


class _Barriers:
    """Cuts a program at its barriers. See the module docstring."""

    def __init__(
        self,
        f: Function,
        lanes: int,
        program: ShaderProgram,
        key: ShaderKey,
        stage: ComputeStage,
        block: Value,
        stop: Value,
        code: list[Instruction],
    ) -> None:
        self.f, self.lanes, self.program, self.stage, self.stop = f, lanes, program, stage, stop
        self.code, self.pairs = code, match_blocks(code)
        #: Threads may have ended when others wait at a barrier: every segment looks at who is left, as in a group that is not full.
        self.returns = any(ins[0] in (Op.RET, Op.RETC) for ins in code[:-1])
        stage.partial |= self.returns
        self.t = _ComputeTranslator(f, lanes, program, key, stage, block, stop)
        self.vectors = -(-stage.threads // lanes)
        touched: set[int] = set()
        for ins in code:
            touched |= read(ins, program.temp_count) | set(written(ins))
        self.place = {temp: n for n, temp in enumerate(sorted(touched))}
        self.registers = f.array(self.t.ivec, max(1, len(self.place)) * self.vectors)
        self.live = f.array(Type("i", lanes), self.vectors, 4)
        self.array_memory = {n: f.array(self.t.ivec, max(1, size) * self.vectors) for n, (_, size) in self.t.arrays.items()}
        self.group = self._group_level()
        self.ends: list[tuple[str, str, str]] = []  # of enclosing group-level constructs: kind, next, end

    def _group_level(self) -> set[int]:
        """Starts of constructs that contain a barrier, or leave one that does."""
        result: set[int] = set()
        stack: list[int] = []
        exits: list[tuple[list[int], int]] = []
        for i, (op, _, _, _, aux, _) in enumerate(self.code):
            if op in (Op.IF, Op.LOOP, Op.BLOCK):
                stack.append(i)
            elif op in (Op.ENDIF, Op.ENDLOOP, Op.ENDBLOCK):
                stack.pop()
            elif op == Op.BARRIER:
                result.update(stack)
            elif op in (Op.BREAK, Op.BREAKC, Op.CONTINUE, Op.CONTINUEC):
                levels = [s for s in stack if self.code[s][0] in (Op.LOOP, Op.BLOCK)]
                exits.append((list(stack), levels[-max(1, aux)]))
        changed = True
        while changed:
            changed = False
            for inside, target in exits:
                if target in result:
                    more = [s for s in inside if s >= target and s not in result]
                    changed = changed or bool(more)
                    result.update(more)
        return result

    def write(self) -> None:
        """The whole group."""
        f = self.f
        f.fill(self.registers, 0, max(1, len(self.place)) * self.vectors * self.lanes * 4)
        for n, memory in self.array_memory.items():
            f.fill(memory, 0, self.t.arrays[n][1] * self.vectors * self.lanes * 4)
        with f.count(0, self.vectors) as v:
            mask = (v * self.lanes + self.t.lane_index()) < self.stage.threads
            f.store(f.mask_bits(mask), f.index(self.live, Type("i", self.lanes), v))
        done = f.label()
        self.ends.append(("function", done, done))
        self._sequence(0, len(self.code))
        self.ends.pop()
        f.place(done)

    def _sequence(self, start: int, stop: int) -> None:
        f, code = self.f, self.code
        i = begin = start
        while i < stop:
            op = code[i][0]
            if op in (Op.IF, Op.LOOP, Op.BLOCK) and i not in self.group:
                end = self.pairs[i]
                i = (self.pairs[end] if code[end][0] == Op.ELSE else end) + 1
                continue
            group_exit = op in (Op.BREAK, Op.BREAKC, Op.CONTINUE, Op.CONTINUEC)
            if op != Op.BARRIER and not group_exit and op not in (Op.IF, Op.LOOP, Op.BLOCK):
                i += 1
                continue
            self._segment(begin, i)
            if op == Op.IF:
                middle = self.pairs[i]
                has_else = code[middle][0] == Op.ELSE
                end = self.pairs[middle] if has_else else middle
                yes, no, behind = f.label(), f.label(), f.label()
                f.branch(self._condition(i), yes, no)
                f.place(yes)
                self.ends.append(("if", behind, behind))
                self._sequence(i + 1, middle)
                f.jump(behind)
                f.place(no)
                if has_else:
                    self._sequence(middle + 1, end)
                self.ends.pop()
                f.place(behind)
                i = end + 1
            elif op in (Op.LOOP, Op.BLOCK):
                end = self.pairs[i]
                head, following, behind = f.label(), f.label(), f.label()
                f.place(head)
                self.ends.append(("loop", following, behind))
                self._sequence(i + 1, end)
                self.ends.pop()
                f.place(following)
                if op == Op.LOOP:
                    stopped = f.emit(I32, f"load volatile i32, {self.stop}, align 4").ne(0)
                    f.branch(stopped | self._deserted() if self.returns else stopped, behind, head)
                f.place(behind)
                i = end + 1
            elif group_exit:
                levels = [e for e in self.ends if e[0] == "loop"]
                _, following, behind = levels[-max(1, code[i][4])]
                where = following if op in (Op.CONTINUE, Op.CONTINUEC) else behind
                if op in (Op.BREAK, Op.CONTINUE):
                    f.jump(where)
                else:
                    go_on = f.label()
                    f.branch(self._condition(i), where, go_on)
                    f.place(go_on)
                i += 1
            else:
                i += 1
            begin = i
        self._segment(begin, stop)

    def _deserted(self) -> Value:
        """Whether all threads of the group have returned."""
        f, narrow = self.f, Type("i", self.lanes)
        left = f.var(narrow, 0)
        with f.count(0, self.vectors) as v:
            left.set(left.get() | f.load(narrow, f.index(self.live, narrow, v)))
        return left.get().eq(0)

    def _condition(self, i: int) -> Value:
        """A condition for the whole group: that of its first thread."""
        t = self.t
        t.at = i
        word = self.code[i][3][0]
        if word >> 28 == Kind.TEMP:
            x = self.f.load(I32, self._register(word & INDEX_MASK, self.f.value(0, I32)))
            if word >> 27 & 1:
                x = 0 - x
        else:
            self.stage.vector = self.f.value(0, I32)
            x = t.integer(word)
            x = x[0] if x.type.lanes else x
        return x.eq(0) if self.code[i][1] & 4 else x.ne(0)

    def _register(self, temp: int, vector: Value) -> Value:
        return self.f.index(self.registers, self.t.ivec, vector * len(self.place) + self.place[temp])

    def _segment(self, start: int, stop: int) -> None:
        """Instructions without barriers, for every vector."""
        if start >= stop:
            return
        f, t = self.f, self.t
        narrow = Type("i", self.lanes)
        with f.count(0, self.vectors) as v:
            self.stage.vector = v
            t.reset()
            place = f.index(self.live, narrow, v)
            t.begin(f.bits_mask(f.load(narrow, place).zext(I32), self.lanes))
            live = t.regions[0].live
            for kind, _, _ in self.ends[1:]:
                t.regions.append(_Region("loop" if kind == "loop" else "if", live, alive=live))
            original = dict(t.arrays)
            for n, memory in self.array_memory.items():
                t.arrays[n] = (f.index(memory, t.ivec, v * max(1, original[n][1])), original[n][1])
            t.range(start, stop)
            while len(t.regions) > 1:
                t.regions.pop()
            t.arrays = original
            outside = {temp for ins in self.code[start:stop] for temp in written(ins)}
            t.finish_segment(
                lambda temp: f.load(t.ivec, self._register(temp, v)), lambda temp: f.load(I32, self._register(temp, v))
            )
            for temp in sorted(outside):
                f.store(t.vector_temp(temp).get(), self._register(temp, v), align=64)
            f.store(f.mask_bits(live.get()), place)


__all__ = ["ARGUMENTS", "I1", "I16", "ComputeStage", "Variable", "compile_kernel"]
