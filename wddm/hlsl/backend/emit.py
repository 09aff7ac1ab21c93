"""Items to instructions: operands, masks, swizzles, opcodes.

Owns the spelling of every operation in tokens.  Decides nothing: registers are given, operands are encodable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wddm.dxbc.opcodes import (
    Dimension,
    Opcode,
    RegisterType,
    ResinfoReturn,
    ReturnType,
    Selection,
    SyncFlags,
)
from wddm.dxbc.program import Index, Instruction, Operand, imm_int, null
from wddm.hlsl import layout
from wddm.hlsl.ir.nodes import COMPONENTWISE, DOUBLE_OPS, STATUS, Fixed, Imm, Instr, Lane, Value
from wddm.hlsl.lowering.resources import TextureAccess
from wddm.hlsl.lowering.state import IndexableArray, SharedMemory

from .linear import Item
from .operands import MODIFIERS, OperandWriter, return_types

__all__ = ["Emitter"]

_RENAMED = {
    "fneg": Opcode.MOV, "fabs": Opcode.MOV, "sat": Opcode.MOV, "cb_load": Opcode.MOV, "icb_load": Opcode.MOV,
    "array_load": Opcode.MOV, "vertex_load": Opcode.MOV,
}  # fmt: skip
_EXTRA_MODIFIER = {"fneg": 1, "fabs": 2}


class Emitter(OperandWriter):
    """Writes the instructions of one phase."""

    # -- items ---------------------------------------------------------------------------------------------------

    def run(self, items: list[Item]) -> list[Instruction]:
        for item in items:
            if item.instr is not None:
                self.op(item.instr)
            else:
                self.flow(item)
        return tidy(self.out)

    def add(self, opcode: Opcode, *operands: Operand, **fields: Any) -> Instruction:
        made = Instruction(opcode, list(operands), **fields)
        self.out.append(made)
        return made

    def flow(self, item: Item) -> None:
        kind = item.kind
        if kind == "copy":
            self.copy(item)
        elif kind in ("if", "breakc", "switch"):
            assert item.value is not None
            operand = self.scalar(item.value)
            opcode = {"if": Opcode.IF, "breakc": Opcode.BREAKC, "switch": Opcode.SWITCH}[kind]
            self.add(opcode, operand, test_nonzero=kind != "switch" and not item.negated)
        elif kind == "case":
            self.add(Opcode.CASE, imm_int(item.number))
        else:
            self.add(Opcode[kind.upper()])

    def copy(self, item: Item) -> None:
        """All moves at once, in an order in which nothing is overwritten before it is read."""
        pending: list[tuple[tuple[int, int], Value]] = []
        for lane, value in zip(item.dsts, item.srcs, strict=True):
            target = self.places[lane]
            if not (isinstance(value, Lane) and self.places[value] == target):
                pending.append((target, value))
        while pending:
            groups: dict[tuple[int, object], list[tuple[tuple[int, int], Value]]] = {}
            for target, value in pending:
                groups.setdefault((target[0], self.register_key(value)), []).append((target, value))
            batches = [*groups.values(), *[[move] for move in pending]]
            ready = next((batch for batch in batches if self.unread(batch, pending)), None)
            if ready is not None:
                self.move(ready[0][0][0], ready)
                pending = [p for p in pending if p not in ready]
                continue
            target = pending[0][0]  # a circle: what is about to be overwritten moves out of the way
            spare = Instr("mov", [(item.dsts[0],)], 1).lanes[0]
            self.places[spare] = (self.temps, target[1])
            self.temps += 1
            readers = [i for i, (_, v) in enumerate(pending) if isinstance(v, Lane) and self.places[v] == target]
            self.move(self.places[spare][0], [(self.places[spare], pending[readers[0]][1])])
            for i in readers:
                pending[i] = (pending[i][0], spare)

    def unread(self, batch: list[tuple[tuple[int, int], Value]], pending: list[tuple[tuple[int, int], Value]]) -> bool:
        """Whether nothing that the moves of ``batch`` overwrite is still to be read by others."""
        read = {self.places[v] for t, v in pending if isinstance(v, Lane) and (t, v) not in batch}
        return not any(target in read for target, _ in batch)

    def register_key(self, value: Value) -> object:
        if isinstance(value, Imm):
            return "immediate"
        type_, indices, _ = self.register(value)
        return (type_, tuple(i.immediate for i in indices))

    def move(self, register: int, moves: list[tuple[tuple[int, int], Value]]) -> None:
        components = tuple(t[1] for t, _ in moves)
        mask = sum(1 << c for c in components)
        destination = Operand(RegisterType.TEMP, 4, Selection.MASK, mask, [Index(register)])
        self.add(Opcode.MOV, destination, self.source(tuple(v for _, v in moves), components))

    # -- operations ----------------------------------------------------------------------------------------------

    def op(self, instr: Instr) -> None:
        op = instr.op
        handler = _SPECIAL.get(op)
        if handler is not None:
            handler(self, instr)
        elif op in DOUBLE_OPS:
            self.double(instr)
        elif op in COMPONENTWISE:
            self.componentwise(instr)
        elif op in ("dp2", "dp3", "dp4"):
            destination, _ = self.destination(instr)
            modifiers = instr.modifiers or [0, 0]
            sources = [self.vector(src) for src in instr.srcs]
            for source, modifier in zip(sources, modifiers, strict=True):
                source.modifier = MODIFIERS[modifier]
            self.finish(instr, self.add(Opcode[op.upper()], destination, *sources, saturate=instr.saturate))
        else:
            self.texture(instr)

    def pair(self, instr: Instr) -> None:
        """Sine and cosine, or quotient and remainder, of the same sources."""
        half = len(instr.lanes) // 2
        first, at = self.destination(instr, instr.lanes[:half])
        second, also_at = self.destination(instr, instr.lanes[half:])
        modifiers = instr.modifiers or [0] * len(instr.srcs)
        sources = [self.source(src * 2, at + also_at, m) for src, m in zip(instr.srcs, modifiers, strict=True)]
        opcode = Opcode.SINCOS if instr.op == "sincos" else Opcode.UDIV
        self.finish(instr, self.add(opcode, first, second, *sources))

    def finish(self, instr: Instr, made: Instruction) -> None:
        if instr.precise and self.model >= 50 and made.operands:
            made.precise_mask = made.operands[0].mask

    def componentwise(self, instr: Instr) -> None:
        op = instr.op
        if op == "mov" and instr not in self.outputs and not instr.modifiers and not instr.saturate:
            still = [
                i for i, lane in enumerate(instr.lanes)
                if not (isinstance(v := instr.srcs[0][i], Lane) and self.places[v] == self.places[lane])
            ]  # fmt: skip
            if not still:
                return
            lanes = [instr.lanes[i] for i in still]
            destination, at = self.destination(instr, lanes)
            self.add(Opcode.MOV, destination, self.source(tuple(instr.srcs[0][i] for i in still), at))
            return
        destination, at = self.destination(instr)
        modifiers = instr.modifiers or [0] * len(instr.srcs)
        if op in _EXTRA_MODIFIER:
            modifiers = [_compose(_EXTRA_MODIFIER[op], modifiers[0])]
        sources = [self.source(src, at, modifier) for src, modifier in zip(instr.srcs, modifiers, strict=True)]
        saturate = instr.saturate or op == "sat"
        if op in ("sin", "cos"):
            pair = (destination, null()) if op == "sin" else (null(), destination)
            made = self.add(Opcode.SINCOS, *pair, *sources, saturate=saturate)
        elif op in ("udiv", "urem"):
            pair = (destination, null()) if op == "udiv" else (null(), destination)
            made = self.add(Opcode.UDIV, *pair, *sources)
        elif op in ("imul", "imul_hi", "umul_hi"):
            pair = (null(), destination) if op == "imul" else (destination, null())
            made = self.add(Opcode.UMUL if op == "umul_hi" else Opcode.IMUL, *pair, *sources)
        elif op in ("uaddc_carry", "usubb_borrow"):
            made = self.add(Opcode.UADDC if op == "uaddc_carry" else Opcode.USUBB, null(), destination, *sources)
        else:
            made = self.add(_RENAMED.get(op) or Opcode[op.upper()], destination, *sources, saturate=saturate)
        self.finish(instr, made)

    def double(self, instr: Instr) -> None:
        destination, _ = self.destination(instr)
        sources: list[Operand] = []
        for src in instr.srcs:
            if instr.op in ("ftod", "itod", "utod"):
                sources.append(self.scalar(src[0]))
            elif all(isinstance(v, Imm) for v in src):
                words = tuple(v.bits for v in src)  # type: ignore[attr-defined]
                sources.append(Operand(RegisterType.IMMEDIATE64, 1 if len(words) == 2 else 4, Selection.MASK, 0, [], words))
            else:
                sources.append(self.source(src * (4 // len(src)), (0, 1, 2, 3)))
        self.finish(instr, self.add(Opcode[instr.op.upper()], destination, *sources))

    def relative(self, instr: Instr) -> None:
        """Loads through an index that is only known when the program runs."""
        destination, at = self.destination(instr)
        base = instr.srcs[0][0]
        owner, number = instr.info
        index = Index(number) if isinstance(base, Imm) else Index(number, self.scalar(base))
        if isinstance(base, Imm):
            index = Index(number + base.bits)
        if instr.op == "cb_load":
            type_, indices = RegisterType.CONSTANT_BUFFER, [Index(self.slot_of(owner)), index]
        elif instr.op == "icb_load":
            type_, indices = RegisterType.IMMEDIATE_CONSTANT_BUFFER, [index]
        elif instr.op == "array_load":
            type_, indices = RegisterType.INDEXABLE_TEMP, [Index(owner.number), index]
        else:
            vertex = Index(base.bits) if isinstance(base, Imm) else Index(0, self.scalar(base))
            type_, indices = RegisterType[owner], [vertex, Index(number)]
        assert instr.components is not None
        known = dict(zip(at, instr.components, strict=True))
        swizzle, last = 0, instr.components[0]
        for position in range(4):
            last = known.get(position, last)
            swizzle |= last << (2 * position)
        selection, selector = (Selection.SELECT1, last) if len(at) == 1 else (Selection.SWIZZLE, swizzle)
        self.add(Opcode.MOV, destination, Operand(type_, 4, selection, selector, indices))

    def array_store(self, instr: Instr) -> None:
        array, register, components = instr.info
        assert isinstance(array, IndexableArray)
        base = instr.srcs[0][0]
        index = Index(register + base.bits) if isinstance(base, Imm) else Index(register, self.scalar(base))
        mask = sum(1 << c for c in components)
        target = Operand(RegisterType.INDEXABLE_TEMP, 4, Selection.MASK, mask, [Index(array.number), index])
        self.add(Opcode.MOV, target, self.source(instr.srcs[1], components))

    def store_output(self, instr: Instr) -> None:
        file, number, components, _ = instr.info
        modifier = instr.modifiers[0] if instr.modifiers else 0
        self.add(Opcode.MOV, self.output(RegisterType[file], number, components),
                 self.source(instr.srcs[0], components, modifier))  # fmt: skip

    def discard(self, instr: Instr) -> None:
        self.add(Opcode.DISCARD, self.scalar(instr.srcs[0][0]), test_nonzero=not instr.info)

    def emit_vertex(self, instr: Instr) -> None:
        emit = instr.op == "emit"
        if self.model >= 50:
            opcode = Opcode.EMIT_STREAM if emit else Opcode.CUT_STREAM
            self.add(opcode, Operand(RegisterType.STREAM, 0, Selection.MASK, 0, [Index(instr.info)]))
        else:
            self.add(Opcode.EMIT if emit else Opcode.CUT)

    def sync(self, instr: Instr) -> None:
        flags = SyncFlags.NONE
        for word in instr.info[0]:
            flags |= {"global": SyncFlags.UAV_GLOBAL, "shared": SyncFlags.SHARED_MEMORY,
                      "threads": SyncFlags.THREADS_IN_GROUP}[word]  # fmt: skip
        self.add(Opcode.SYNC, sync_flags=flags)

    def store(self, instr: Instr) -> None:
        resource = instr.info
        values = instr.srcs[-1]
        mask = 0xF if instr.op == "store_uav_typed" else (1 << len(values)) - 1
        target = self.memory(resource, Selection.MASK, mask)
        addresses = [self.vector(src) for src in instr.srcs[:-1]]
        self.add(Opcode[instr.op.upper()], target, *addresses, self.vector(values))

    def atomic(self, instr: Instr) -> None:
        name, resource = instr.info
        target = self.memory(resource, Selection.MASK, 0, 0)
        operands = [target, self.vector(instr.srcs[0]), *[self.scalar(src[0]) for src in instr.srcs[1:]]]
        if name.startswith("imm_"):
            operands.insert(0, self.destination(instr)[0])
        self.add(Opcode[name.upper()], *operands)

    def counter(self, instr: Instr) -> None:
        opcode = Opcode.IMM_ATOMIC_ALLOC if instr.op == "alloc" else Opcode.IMM_ATOMIC_CONSUME
        self.add(opcode, self.destination(instr)[0], self.memory(instr.info, Selection.MASK, 0, 0))

    def texture(self, instr: Instr) -> None:
        """Everything that reads a resource."""
        op, srcs, access = instr.op, instr.srcs, instr.info
        heads: list[Operand] = []
        if op.endswith("_s"):
            assert instr.components is not None
            values = [lane for lane, c in zip(instr.lanes, instr.components, strict=True) if c != STATUS]
            status = [lane for lane, c in zip(instr.lanes, instr.components, strict=True) if c == STATUS]
            destination, at = self.destination(instr, values) if values else (null(), ())
            heads.append(self.destination(instr, status)[0] if status else null())
            op = op.removesuffix("_s")
        else:
            destination, at = self.destination(instr)
        if access == "rasterizer":
            source = Operand(RegisterType.RASTERIZER, 4, Selection.SWIZZLE, 0xE4, [])
            operands = [source] if op == "sampleinfo" else [source, self.scalar(srcs[0][0])]
            made = self.add(Opcode[op.upper()], destination, *operands)
            if op == "sampleinfo":
                made.resinfo_return = ResinfoReturn.UINT
            return
        if op.startswith("eval_"):
            value = srcs[0][0]
            assert isinstance(value, Fixed)
            assert instr.components is not None
            indices = [Index(value.register.index)]
            swizzle = sum(instr.components[0] << (2 * i) for i in range(4))
            source = Operand(RegisterType.INPUT, 4, Selection.SWIZZLE, swizzle, indices)
            self.add(Opcode[op.upper()], destination, source, *[self.vector(s) for s in srcs[1:]])
            return
        resource = self.swizzled(instr, at, access)
        opcode = Opcode[instr.op.upper()]
        if op == "ld_raw" or op == "ld_structured":
            made = self.add(opcode, destination, *heads, *[self.vector(s) for s in srcs], resource)
        elif op in ("resinfo", "sampleinfo", "bufinfo", "samplepos"):
            first = [self.scalar(srcs[0][0])] if op == "resinfo" else []
            last = [self.scalar(srcs[0][0])] if op == "samplepos" else []
            made = self.add(Opcode[op.upper()], destination, *first, resource, *last)
            if op in ("resinfo", "sampleinfo"):
                made.resinfo_return = ResinfoReturn.UINT
        else:
            operands = [self.vector(srcs[0])]
            rest = [self.vector(s) for s in srcs[1:]]
            if op.startswith("gather4_po"):
                operands.append(rest.pop(0))
            operands.append(resource)
            if access.sampler is not None:
                operands.append(self.sampler(access, access.channel if op.startswith("gather4") else None))
            made = self.add(opcode, destination, *heads, *operands, *rest)
            made.texel_offset = access.offset
        self.describe(made, access)

    def describe(self, made: Instruction, access: Any) -> None:
        """Shader model 5 repeats the resource's shape at each access."""
        if self.model < 50 or isinstance(access, SharedMemory):
            if isinstance(access, SharedMemory) and self.model >= 50:
                made.resource_dimension = Dimension.STRUCTURED_BUFFER
                made.resource_stride = access.stride * 4
                made.resource_return_types = (ReturnType.MIXED,) * 4
            return
        binding = (access.texture if isinstance(access, TextureAccess) else access).binding
        kind = binding.type.kind
        made.resource_dimension = Dimension[kind.dimension]
        if kind.family == "structured":
            assert binding.type.element is not None
            made.resource_stride = layout.size(binding.type.element, "tight") * 4
        if kind.family in ("structured", "raw"):
            made.resource_return_types = (ReturnType.MIXED,) * 4
        else:
            made.resource_return_types = return_types(binding)

    def abort(self, instr: Instr) -> None:
        self.add(Opcode.ABORT)


def tidy(code: list[Instruction]) -> list[Instruction]:
    """Branches that copies left empty when both sides came to share a register."""
    out: list[Instruction] = []
    for made in code:
        opcode = made.opcode
        if opcode is Opcode.ENDIF and out:
            if out[-1].opcode is Opcode.ELSE:
                out.pop()
            if out[-1].opcode is Opcode.IF:
                out.pop()
                continue
            if len(out) > 1 and out[-1].opcode is Opcode.BREAK and out[-2].opcode is Opcode.IF:
                out.pop()
                test = out.pop()
                out.append(Instruction(Opcode.BREAKC, test.operands, test_nonzero=test.test_nonzero))
                continue
        elif opcode is Opcode.ELSE and out and out[-1].opcode is Opcode.IF:
            test = out.pop()
            out.append(Instruction(Opcode.IF, test.operands, test_nonzero=not test.test_nonzero))
            continue
        out.append(made)
    return out


def _compose(outer: int, inner: int) -> int:
    """Modifier that ``outer`` makes of a source that has ``inner`` already."""
    if outer & 2:
        return outer
    return inner ^ 1


_SPECIAL: dict[str, Callable[[Emitter, Instr], None]] = {
    "cb_load": Emitter.relative, "icb_load": Emitter.relative, "array_load": Emitter.relative,
    "vertex_load": Emitter.relative, "array_store": Emitter.array_store, "output": Emitter.store_output,
    "sincos": Emitter.pair, "udivrem": Emitter.pair,
    "discard": Emitter.discard, "emit": Emitter.emit_vertex, "cut": Emitter.emit_vertex, "sync": Emitter.sync,
    "store_uav_typed": Emitter.store, "store_raw": Emitter.store, "store_structured": Emitter.store,
    "atomic": Emitter.atomic, "alloc": Emitter.counter, "consume": Emitter.counter, "abort": Emitter.abort,
}  # fmt: skip
