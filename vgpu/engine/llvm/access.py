"""Memory that shaders index: buffers, unordered access, shared memory, indexable arrays, constants by computed index.

Every access is tested against the size of what it names before an address is formed: reads outside give 0, writes outside are
dropped. Shapes decide the instruction: a uniform address is one scalar load, a stride of one element a vector load or store
(one test for all lanes), anything else a gather or scatter of the lanes that are inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

from wddm.hw.descriptors import ViewDimension
from wddm.hw.formats import FORMATS, Format, FormatInfo
from wddm.hw.isa import AtomicOp, Kind, Op

from . import formats, records
from .analysis import Instruction
from .builder import I1, I8, I16, I32, I64, PTR, Function, Value
from .codegen import processor

if TYPE_CHECKING:
    from .shader import Translator

_FIELD: Final = {name: records.offset(records.RESOURCE, name) for name in records.RESOURCE.names or ()}


def both(a: Value | None, b: Value | None) -> Value | None:
    """The intersection of masks, None being everything."""
    if a is None or b is None:
        return b if a is None else a
    a, b = a._both(b)
    return a & b


def and_(a: Value, b: Value) -> Value:
    """The intersection of two masks, either of which may be a scalar condition."""
    a, b = a._both(b)
    return a & b


# --- dwords at byte offsets ------------------------------------------------------------------------------------------


def load_dwords(
    t: Translator,
    base: Value,
    at: Value,
    inside: Sequence[Value],
    consecutive: Value | None,
    mask: Value | None,
    *,
    look: bool = False,
) -> list[Value]:
    """Dwords at byte offset ``at`` (4-aligned, scalar or per lane), one per entry of ``inside``, the masks of who may read.

    ``consecutive``: a condition under which all lanes read neighbouring dwords, all inside; where there is none, ``look`` asks to
    find out from the addresses whether they are neighbours, or all the same.
    """
    f = t.f
    if not at.type.lanes:
        where = f.offset(base, at.zext(I64))
        return [f.load(I32, ok.select(f.offset(where, 4 * c), t.nowhere())) for c, ok in enumerate(inside)]

    def gather() -> list[Value]:
        index = at.shr(2)
        result = []
        for c, ok in enumerate(inside):
            lanes = both(t.full(ok), mask)
            assert lanes is not None
            first = f.offset(base, 4 * c)
            if lanes.name == t.everyone().name and not _gathers():
                result.append(one_by_one(t, first, index))
            else:
                result.append(f.gather(t.ivec, f.index(first, I32, index), lanes))
        return result

    if consecutive is None and not look:
        return gather()
    slots = [f.var(t.ivec) for _ in inside]
    first = f.offset(base, at[0].zext(I64))

    def neighbours() -> None:
        for c, v in enumerate(slots):
            v.set(f.load(t.ivec, first, 4 * c))

    def scattered() -> None:
        for v, x in zip(slots, gather(), strict=True):
            v.set(x)

    if consecutive is None:
        outside = (~t.full(reduce(and_, inside))).sext(I32)
        ahead = at - at[0]
        with f.if_else(f.is_zero(outside | ahead)) as otherwise:
            for c, v in enumerate(slots):
                v.set(t.full(f.load(I32, first, 4 * c)))
            otherwise()
            if len(inside) == 1:
                with f.if_else(f.is_zero(outside | (ahead ^ (t.lane_index() << 2)))) as apart:
                    neighbours()
                    apart()
                    scattered()
            else:
                scattered()
    else:
        with f.if_else(consecutive) as otherwise:
            neighbours()
            otherwise()
            scattered()
    return [v.get() for v in slots]


def one_by_one(t: Translator, base: Value, index: Value) -> Value:
    """Dword ``index`` of an array for every lane."""
    f = t.f
    result = f.undefined(t.ivec)
    for lane in range(t.lanes):
        result = result.insert(lane, f.load(I32, f.index(base, I32, index[lane].zext(I64))))
    return result


def _gathers() -> bool:
    """Whether the processor's gather is faster than a load for each lane: only where it has AVX-512."""
    return bool(processor()[1].get("avx512vl"))


def store_dwords(
    t: Translator,
    base: Value,
    at: Value,
    values: Sequence[Value | None],
    inside: Sequence[Value],
    consecutive: Value | None,
    mask: Value | None,
) -> None:
    """The counterpart of :func:`load_dwords`; entries that are None are not written. The highest lane wins."""
    f = t.f

    def scatter() -> None:
        index = t.full(at).shr(2)
        for c, (x, ok) in enumerate(zip(values, inside, strict=True)):
            if x is not None:
                lanes = both(t.full(ok), mask)
                assert lanes is not None
                f.scatter(t.full(x), f.index(f.offset(base, 4 * c), I32, index), lanes)

    if consecutive is None or sum(x is not None for x in values) != 1:
        scatter()
        return
    with f.if_else(consecutive) as otherwise:
        first = f.offset(base, t.full(at)[0].zext(I64))
        for c, x in enumerate(values):
            if x is not None:
                if mask is None:
                    f.store(t.full(x), first, 4 * c)
                else:
                    f.masked_store(t.full(x), f.offset(first, 4 * c), mask, align=4)
        otherwise()
        scatter()


class Span:
    """A buffer as the accesses need it: base, the masks of who is inside, and when all lanes are neighbours."""

    def __init__(self, base: Value, at: Value, inside: list[Value], consecutive: Value | None) -> None:
        self.base, self.at, self.inside, self.consecutive = base, at, inside, consecutive


def raw_span(t: Translator, base: Value, size: Value, at: Value, count: int, stride: int | None) -> Span:
    """Byte addressing: each dword is tested for itself."""
    f = t.f
    at = at & ~3
    whole = size & ~3
    inside = []
    for c in range(count):
        limit = f.call("llvm.usub.sat.i32", I32, [whole, f.value(4 * c, I32)]) if c else whole
        inside.append(at.ult(limit))
    consecutive = None
    if stride == 4 and at.type.lanes:
        last = at[0].zext(I64) + 4 * (t.lanes + count - 1)
        consecutive = last.ule(whole.zext(I64))
    return Span(base, at, inside, consecutive)


def structured_span(
    t: Translator, base: Value, elements: Value, stride: int, index: Value, byte: Value, count: int, shape: int | None
) -> Span:
    """Element addressing: the index against the number of elements, each dword against the element's size."""
    byte = byte & ~3
    index, byte = index._both(byte)
    at = index * stride + byte
    element_ok = index.ult(elements)
    inside = [element_ok & (byte + 4 * c).ult(max(0, stride - 3)) & byte.ult(max(0, stride - 3)) for c in range(count)]
    consecutive = None
    if shape == 4 and at.type.lanes and stride == 4:
        last = index[0].zext(I64) + t.lanes
        consecutive = last.ule(elements.zext(I64)) & byte[0].eq(0) if count == 1 else None
    return Span(base, at, inside, consecutive)


def _buffer(t: Translator, ins: Instruction, kind: str, count: int) -> Span | None:
    """The span that a raw or structured instruction names; None when nothing fitting is bound."""
    op, _, _, src, aux, _ = ins
    slot = aux & 0xFF
    key = (t.views if kind == "t" else t.uavs).get(slot)
    structured = op in (Op.LOAD_STRUCTURED, Op.UAV_LOAD_STRUCTURED, Op.UAV_STORE_STRUCTURED)
    if op == Op.UAV_ATOMIC:
        structured = src[1] != 0
    wanted = ViewDimension.STRUCTURED_BUFFER if structured else ViewDimension.RAW_BUFFER
    if key is None or key.dimension != wanted:
        return None
    base = t.field(kind, slot, _FIELD["base"], PTR)
    if structured:
        index_shape, byte_shape = t.affine(src[0]), t.affine(src[1])
        shape = None if index_shape is None or byte_shape != 0 else index_shape * key.stride
        elements = t.field(kind, slot, _FIELD["count"])
        return structured_span(t, base, elements, key.stride, t.integer(src[0]), t.integer(src[1]), count, shape)
    size = t.field(kind, slot, _FIELD["size"])
    return raw_span(t, base, size, t.integer(src[0]), count, t.affine(src[0]))


def _count(aux: int) -> int:
    return (aux >> 16 & 15).bit_length()


def _load(t: Translator, ins: Instruction) -> None:
    """LOAD_RAW, LOAD_STRUCTURED and their unordered forms."""
    kind = "u" if ins[0] >= Op.UAV_LOAD else "t"
    count = _count(ins[4])
    span = _buffer(t, ins, kind, count) if count else None
    if span is None:
        t.write_masked(ins, [t.zero()] * 4)
        return
    values = load_dwords(t, span.base, span.at, span.inside, span.consecutive, t.mask(), look=True)
    t.write_masked(ins, [*values, *[t.zero()] * (4 - count)])


def _store(t: Translator, ins: Instruction) -> None:
    """UAV_STORE_RAW and UAV_STORE_STRUCTURED."""
    count = _count(ins[4])
    span = _buffer(t, ins, "u", count)
    if span is None:
        return
    values = [t.integer(ins[3][2], c) if ins[4] >> 16 >> c & 1 else None for c in range(count)]
    store_dwords(t, span.base, span.at, values, span.inside, span.consecutive, t.stage.effects(t, t.mask()))


# --- typed elements --------------------------------------------------------------------------------------------------


def fetch(
    t: Translator, info: FormatInfo, base: Value, at: Value, inside: Value | None, consecutive: Value | None = None
) -> list[Value]:
    """The dwords of the elements at byte offsets ``at``; lanes that are not ``inside`` read 0."""
    f = t.f
    size = info.bytes_per_block
    if not at.type.lanes:
        ok = inside if inside is not None else f.value(1, I1)
        where = ok.select(f.offset(base, (at & ~3).zext(I64)), t.nowhere())
        words = [f.load(I32, where, 4 * c) for c in range(formats.dword_count(info))]
    else:
        lanes = t.everyone() if inside is None else t.full(inside)
        oks = [lanes] * formats.dword_count(info)
        words = load_dwords(t, base, at & ~3 if size < 4 else at, oks, consecutive if size == 4 else None, None)
    if size < 4:
        words = [words[0].shr((at & 3) << 3)]
    return words


def store_elements(t: Translator, info: FormatInfo, base: Value, at: Value, words: Sequence[Value], mask: Value) -> None:
    """Write elements at byte offsets ``at`` in the lanes of ``mask``."""
    f = t.f
    size = info.bytes_per_block
    at = t.full(at)
    if size >= 4:
        for c, word in enumerate(words):
            f.scatter(t.full(word), f.index(f.offset(base, 4 * c), I32, at.shr(2)), mask)
        return
    narrow = I8 if size == 1 else I16
    f.scatter(t.full(words[0]).trunc(narrow), f.offset(base, at.zext(I64)), mask)


# --- atomics ---------------------------------------------------------------------------------------------------------

_ATOMIC: Final = {
    AtomicOp.AND: "and",
    AtomicOp.OR: "or",
    AtomicOp.XOR: "xor",
    AtomicOp.ADD: "add",
    AtomicOp.IMAX: "max",
    AtomicOp.IMIN: "min",
    AtomicOp.UMAX: "umax",
    AtomicOp.UMIN: "umin",
    AtomicOp.EXCHANGE: "xchg",
}


def for_lanes(f: Function, mask: Value, body: Callable[[Value], None]) -> None:
    """Run ``body(lane)`` for each lane in ``mask``, lowest first."""
    bits = f.var(I32, f.mask_bits(mask).zext(I32))
    with f.loop() as loop:
        left = bits.get()
        loop.break_if(left.eq(0))
        lane = f.call("llvm.cttz.i32", I32, [left, f.value(0, I1)])
        bits.set(left & (left - 1))
        body(lane)


def atomic(
    t: Translator, op: int, base: Value, at: Value, value: Value, compare: Value, inside: Value, mask: Value | None
) -> Value:
    """Read-modify-write lane by lane; returns the old values (0 for lanes outside)."""
    f = t.f
    old = f.var(t.ivec, f.null(t.ivec))
    at, value, compare = t.full(at), t.full(value), t.full(compare)
    lanes = both(t.full(inside), mask)
    assert lanes is not None

    def body(lane: Value) -> None:
        pointer = f.offset(base, at[lane].zext(I64))
        if op == AtomicOp.COMPARE_EXCHANGE:
            before = f.compare_exchange(pointer, compare[lane], value[lane])
        else:
            before = f.atomic(_ATOMIC[AtomicOp(op)], pointer, value[lane])
        old.set(old.get().insert(lane, before))

    for_lanes(f, lanes, body)
    return old.get()


def _uav_atomic(t: Translator, ins: Instruction) -> None:
    from .texture import element_address

    _, _, dst, src, aux, aux2 = ins
    slot = aux & 0xFF
    key = t.uavs.get(slot)
    if key is not None and key.dimension in (ViewDimension.RAW_BUFFER, ViewDimension.STRUCTURED_BUFFER):
        span = _buffer(t, ins, "u", 1)
        place = None if span is None else (span.base, span.at, span.inside[0])
    elif key is not None and key.format in (Format.R32_UINT, Format.R32_SINT):
        place = element_address(t, "u", slot, key, t.integers(src[0], 4))
    else:
        place = None
    old = t.zero()
    if place is not None:
        mask = t.stage.effects(t, t.mask())
        old = atomic(t, aux2, place[0], place[1], t.integer(src[2]), t.integer(src[3]), place[2], mask)
    if dst >> 28 != Kind.NONE:
        t.write(dst, old)


def _counter(t: Translator, ins: Instruction) -> None:
    """UAV_COUNTER_INC gives the old value, UAV_COUNTER_DEC the new one."""
    f = t.f
    slot = ins[4] & 0xFF
    key = t.uavs.get(slot)
    if key is None or not key.counter:
        t.write(ins[2], t.zero())
        return
    pointer = t.field("u", slot, _FIELD["counter"], PTR)
    mask = t.stage.effects(t, t.mask_value())
    assert mask is not None
    result = f.var(t.ivec, f.null(t.ivec))
    step = 1 if ins[0] == Op.UAV_COUNTER_INC else -1

    def body(lane: Value) -> None:
        old = f.atomic("add", pointer, f.value(step, I32))
        result.set(result.get().insert(lane, old if step > 0 else old - 1))

    for_lanes(f, mask, body)
    t.write(ins[2], result.get())


# --- shared memory ---------------------------------------------------------------------------------------------------


def _shared_span(t: Translator, word: int, count: int) -> Span:
    base = t.stage.shared(t)
    size = t.f.value(t.program.shared_bytes, I32)
    return raw_span(t, base, size, t.integer(word), count, t.affine(word))


def _shared_load(t: Translator, ins: Instruction) -> None:
    count = _count(ins[4])
    span = _shared_span(t, ins[3][0], count)
    values = load_dwords(t, span.base, span.at, span.inside, span.consecutive, t.mask(), look=True)
    t.write_masked(ins, [*values, *[t.zero()] * (4 - count)])


def _shared_store(t: Translator, ins: Instruction) -> None:
    count = _count(ins[4])
    span = _shared_span(t, ins[3][0], count)
    values = [t.integer(ins[3][2], c) if ins[4] >> 16 >> c & 1 else None for c in range(count)]
    store_dwords(t, span.base, span.at, values, span.inside, span.consecutive, t.stage.effects(t, t.mask()))


def _shared_atomic(t: Translator, ins: Instruction) -> None:
    _, _, dst, src, _, aux2 = ins
    span = _shared_span(t, src[0], 1)
    mask = t.stage.effects(t, t.mask())
    old = atomic(t, aux2, span.base, span.at, t.integer(src[2]), t.integer(src[3]), span.inside[0], mask)
    if dst >> 28 != Kind.NONE:
        t.write(dst, old)


# --- arrays and constants --------------------------------------------------------------------------------------------


def _array_pointers(f: Function, t: Translator, array: Value, index: Value) -> Value:
    return f.index(array, I32, index * t.lanes + t.lane_index())


def load_array(t: Translator, array: int, index: Value) -> Value:
    """A dword of an indexable array, each lane its own index."""
    pointer, size = t.arrays[array]
    ok = both(index.ult(size), t.mask())
    assert ok is not None
    return t.f.gather(t.ivec, _array_pointers(t.f, t, pointer, index), ok)


def store_array(t: Translator, array: int, index: Value, x: Value) -> None:
    """Write a dword of an indexable array."""
    pointer, size = t.arrays[array]
    ok = both(index.ult(size), t.mask())
    assert ok is not None
    t.f.scatter(x, _array_pointers(t.f, t, pointer, index), ok)


def _lookup(t: Translator, pointer: Value, size: Value, index: Value) -> Value:
    f = t.f
    if not index.type.lanes:
        where = index.ult(size).select(f.offset(pointer, index.zext(I64) << 2), t.nowhere())
        return f.load(I32, where)
    ok = both(index.ult(size), t.mask())
    assert ok is not None
    return f.gather(t.ivec, f.index(pointer, I32, index), ok)


def load_constant(t: Translator, slot: int, index: Value) -> Value:
    """A dword of a constant buffer by computed index. A buffer has at most 4096 x 4 dwords."""
    pointer, size = t.constant_buffer(slot)
    return _lookup(t, pointer, t.f.umin(size, 16384), index)


def load_icb(t: Translator, index: Value) -> Value:
    """A dword of the immediate constant buffer. No address is formed far from the table: code reaches it by 32-bit distances."""
    icb = t.program.icb
    if not len(icb):
        return t.zero()
    tables = t.f.module.tables
    if "icb" not in tables:
        tables["icb"] = t.f.module.table("icb", I32, icb.tolist())
    return _lookup(t, Value(t.f, PTR, tables["icb"]), t.f.value(len(icb), I32), t.f.umin(index, len(icb)))


OPERATIONS: Final[dict[int, Callable[[Translator, Instruction], None]]] = {
    Op.LOAD_RAW: _load,
    Op.LOAD_STRUCTURED: _load,
    Op.UAV_LOAD_RAW: _load,
    Op.UAV_LOAD_STRUCTURED: _load,
    Op.UAV_STORE_RAW: _store,
    Op.UAV_STORE_STRUCTURED: _store,
    Op.UAV_ATOMIC: _uav_atomic,
    Op.UAV_COUNTER_INC: _counter,
    Op.UAV_COUNTER_DEC: _counter,
    Op.SHARED_LOAD: _shared_load,
    Op.SHARED_STORE: _shared_store,
    Op.SHARED_ATOMIC: _shared_atomic,
}

__all__ = ["FORMATS", "OPERATIONS", "fetch", "store_elements"]
