"""Unordered access views, raw and structured buffers, thread-group shared memory, atomics and barriers."""

from __future__ import annotations

from umd.shader.errors import ShaderError
from umd.shader.ir import NONE
from umd.shader.resources import mapped, result, view
from umd.shader.translator import SharedBlock, Translator, handles, mnemonic
from wddm.dxbc.opcodes import OPCODES, Dimension, Opcode, RegisterType
from wddm.dxbc.program import Instruction, Operand
from wddm.hw.isa import AtomicOp, Op

_ATOMICS = {
    Opcode.ATOMIC_AND: AtomicOp.AND,
    Opcode.ATOMIC_OR: AtomicOp.OR,
    Opcode.ATOMIC_XOR: AtomicOp.XOR,
    Opcode.ATOMIC_CMP_STORE: AtomicOp.COMPARE_EXCHANGE,
    Opcode.ATOMIC_IADD: AtomicOp.ADD,
    Opcode.ATOMIC_IMAX: AtomicOp.IMAX,
    Opcode.ATOMIC_IMIN: AtomicOp.IMIN,
    Opcode.ATOMIC_UMAX: AtomicOp.UMAX,
    Opcode.ATOMIC_UMIN: AtomicOp.UMIN,
    Opcode.IMM_ATOMIC_IADD: AtomicOp.ADD,
    Opcode.IMM_ATOMIC_AND: AtomicOp.AND,
    Opcode.IMM_ATOMIC_OR: AtomicOp.OR,
    Opcode.IMM_ATOMIC_XOR: AtomicOp.XOR,
    Opcode.IMM_ATOMIC_EXCH: AtomicOp.EXCHANGE,
    Opcode.IMM_ATOMIC_CMP_EXCH: AtomicOp.COMPARE_EXCHANGE,
    Opcode.IMM_ATOMIC_IMAX: AtomicOp.IMAX,
    Opcode.IMM_ATOMIC_IMIN: AtomicOp.IMIN,
    Opcode.IMM_ATOMIC_UMAX: AtomicOp.UMAX,
    Opcode.IMM_ATOMIC_UMIN: AtomicOp.UMIN,
}


def _shared(t: Translator, operand: Operand) -> SharedBlock:
    number = t.static_index(operand, "shared memory")
    block = t.shared.get(number)
    if block is None:
        raise ShaderError(f"g{number} is not declared")
    return block


def _add(t: Translator, word: int, constant: int) -> int:
    return t.builder.value(Op.IADD, word, t.builder.literal(constant)) if constant else word


def _shared_address(t: Translator, block: SharedBlock, index: int | None, offset: int) -> int:
    """Byte address in shared memory; whatever lies outside of the g# becomes an address outside of shared memory.

    A software device takes the tame member of what Direct3D leaves undefined: no g# reaches into another.
    """
    b = t.builder
    if index is None:
        address = offset
    else:
        count = block.size // block.stride
        clamped = b.value(Op.UMIN, index, b.literal(count))
        address = b.value(Op.IMAD, clamped, b.literal(block.stride), offset)
    if len(t.shared) == 1:
        return address
    inside = b.value(Op.ULT, address, b.literal(block.size))
    return b.value(Op.SELECT, inside, _add(t, address, block.base), b.literal(0xFFFFFFF0))


def _need(t: Translator, number: int, found: Dimension, wanted: Dimension, name: str) -> None:
    if found is not wanted:
        raise ShaderError(f"{name}{number} is a {found.name.lower()}, not a {wanted.name.lower()}")


@handles(Opcode.LD_RAW, Opcode.LD_RAW_S, Opcode.LD_STRUCTURED, Opcode.LD_STRUCTURED_S)
def load(t: Translator, i: Instruction) -> None:
    operands = dict(zip(OPCODES[i.opcode].roles, i.operands, strict=True))
    structured = "index" in operands
    source = operands["tug"]
    index = t.plain(operands["index"], (0,), "u")[0] if structured else None
    offset = t.plain(operands["byteoff"], (0,), "u")[0]
    if source.type is RegisterType.THREAD_GROUP_SHARED_MEMORY:
        block = _shared(t, source)
        if bool(block.stride) is not structured:
            raise ShaderError(f"g{source.index} is {'structured' if block.stride else 'raw'}")
        address = _shared_address(t, block, index, offset)
        result(t, operands["d"], source.swizzle, Op.SHARED_LOAD, (address,), aux=0)
        mapped(t, operands)
        return
    uav = source.type is RegisterType.UNORDERED_ACCESS_VIEW
    slot, resource = view(t, source, uav=uav)
    wanted = Dimension.STRUCTURED_BUFFER if structured else Dimension.RAW_BUFFER
    _need(t, slot, resource.dimension, wanted, "u" if uav else "t")
    if structured:
        op = Op.UAV_LOAD_STRUCTURED if uav else Op.LOAD_STRUCTURED
    else:
        op = Op.UAV_LOAD_RAW if uav else Op.LOAD_RAW
    result(t, operands["d"], source.swizzle, op, (offset,) if index is None else (index, offset), aux=slot)
    mapped(t, operands)


@handles(Opcode.STORE_RAW, Opcode.STORE_STRUCTURED)
def store(t: Translator, i: Instruction) -> None:
    operands = dict(zip(OPCODES[i.opcode].roles, i.operands, strict=True))
    target = operands["ug"]
    mask = target.mask
    if mask not in (1, 3, 7, 15):
        raise ShaderError("the mask of a store is x, xy, xyz or xyzw")
    structured = "index" in operands
    count = mask.bit_length()
    index = t.plain(operands["index"], (0,), "u")[0] if structured else None
    offset = t.plain(operands["byteoff"], (0,), "u")[0]
    value = t.address(operands["a"], tuple(range(count)), "r")
    if target.type is RegisterType.THREAD_GROUP_SHARED_MEMORY:
        block = _shared(t, target)
        if bool(block.stride) is not structured:
            raise ShaderError(f"g{target.index} is {'structured' if block.stride else 'raw'}")
        address = _shared_address(t, block, index, offset)
        t.builder.emit(Op.SHARED_STORE, NONE, address, NONE, value, aux=mask << 16, widths=(0, 0, count))
        return
    slot, resource = view(t, target, uav=True)
    _need(t, slot, resource.dimension, Dimension.STRUCTURED_BUFFER if structured else Dimension.RAW_BUFFER, "u")
    op = Op.UAV_STORE_RAW if index is None else Op.UAV_STORE_STRUCTURED
    src = (offset, NONE, value) if index is None else (index, offset, value)
    t.builder.emit(op, NONE, *src, aux=slot | mask << 16, widths=(0, 0, count))
    t.uses_uav = True


@handles(Opcode.LD_UAV_TYPED, Opcode.LD_UAV_TYPED_S)
def load_typed(t: Translator, i: Instruction) -> None:
    operands = dict(zip(OPCODES[i.opcode].roles, i.operands, strict=True))
    slot, resource = view(t, operands["u"], uav=True)
    positions = tuple(range(resource.dimension.coordinates))
    address = t.address(operands["addr"], positions, "i")
    result(t, operands["d"], operands["u"].swizzle, Op.UAV_LOAD, (address,), aux=slot, widths=(len(positions),))
    mapped(t, operands)


@handles(Opcode.STORE_UAV_TYPED)
def store_typed(t: Translator, i: Instruction) -> None:
    target, address, value = i.operands
    slot, resource = view(t, target, uav=True)
    positions = tuple(range(resource.dimension.coordinates))
    src = (t.address(address, positions, "i"), t.address(value, (0, 1, 2, 3), "r"))
    t.builder.emit(Op.UAV_STORE, NONE, *src, aux=slot | 15 << 16, widths=(len(positions), 4))
    t.uses_uav = True


@handles(*_ATOMICS)
def atomic(t: Translator, i: Instruction) -> None:
    operands = dict(zip(OPCODES[i.opcode].roles, i.operands, strict=True))
    target, address = operands["ug"], operands["addr"]
    b = t.builder
    value = t.plain(operands["a"], (0,), "u")[0]
    compare = t.plain(operands["cmp"], (0,), "u")[0] if "cmp" in operands else NONE
    where = t.destination(operands["d"]) if "d" in operands else []
    old = NONE
    if where:
        first = where[0][1]
        # The old value goes to a register first when it is wanted in several places or in an array.
        old = first if len(where) == 1 and isinstance(first, int) else b.scratch()
    kind = _ATOMICS[i.opcode]
    if target.type is RegisterType.THREAD_GROUP_SHARED_MEMORY:
        block = _shared(t, target)
        parts = t.plain(address, (0, 1) if block.stride else (0,), "u")
        at = _shared_address(t, block, parts[0] if block.stride else None, parts[-1])
        b.emit(Op.SHARED_ATOMIC, old, at, NONE, value, compare, aux2=kind)
    else:
        slot, resource = view(t, target, uav=True)
        t.uses_uav = True
        if resource.dimension is Dimension.RAW_BUFFER:
            src, widths = (t.plain(address, (0,), "u")[0], NONE), (0, 0, 0, 0)
        elif resource.dimension is Dimension.STRUCTURED_BUFFER:
            index, offset = t.plain(address, (0, 1), "u")
            src, widths = (index, offset), (0, 0, 0, 0)
        else:
            count = resource.dimension.coordinates
            src, widths = (t.address(address, tuple(range(count)), "i"), NONE), (count, 0, 0, 0)
        b.emit(Op.UAV_ATOMIC, old, *src, value, compare, aux=slot, aux2=kind, widths=widths)
    if where and old != where[0][1]:
        for _, d in where:
            b.store(d, old)


@handles(Opcode.IMM_ATOMIC_ALLOC, Opcode.IMM_ATOMIC_CONSUME)
def counter(t: Translator, i: Instruction) -> None:
    d, target = i.operands
    slot, resource = view(t, target, uav=True)
    if resource.dimension is not Dimension.STRUCTURED_BUFFER:
        raise ShaderError(f"{mnemonic(i)}: u{slot} is not structured")
    t.uses_uav = True
    t.counters.add(slot)
    op = Op.UAV_COUNTER_INC if i.opcode is Opcode.IMM_ATOMIC_ALLOC else Op.UAV_COUNTER_DEC
    word = t.builder.scratch()
    t.builder.emit(op, word, aux=slot)
    for _, where in t.destination(d):
        t.builder.store(where, word)


@handles(Opcode.SYNC)
def sync(t: Translator, i: Instruction) -> None:
    # SyncFlags and the hardware's SyncFlag number the same four things alike.
    t.builder.emit(Op.BARRIER, aux=int(i.sync_flags))
