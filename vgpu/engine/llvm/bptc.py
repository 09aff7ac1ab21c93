"""BC7 and BC6H texels: one scalar function per format, shared by all fetches of a module and called lane by lane.

The formats choose among many bit layouts block by block, which no two lanes need share; tables drive the code instead of branches.
"""

from __future__ import annotations

from typing import Final

from vgpu.engine.reference.blocks import ANCHORS, BC6H_MODES, PARTITIONS
from wddm.hw.formats import Format, FormatInfo

from .access import for_lanes
from .builder import I8, I32, I64, PTR, Function, Type, Value

I128: Final = Type("i", 128)
#: Per mode of BC7: subsets, partition, rotation, selection, colour and alpha bits, a p-bit per end, per subset, index bits, second.
BC7_MODES: Final = (
    (3, 4, 0, 0, 4, 0, 1, 0, 3, 0),
    (2, 6, 0, 0, 6, 0, 0, 1, 3, 0),
    (3, 6, 0, 0, 5, 0, 0, 0, 2, 0),
    (2, 6, 0, 0, 7, 0, 1, 0, 2, 0),
    (1, 0, 2, 1, 5, 6, 0, 0, 2, 3),
    (1, 0, 2, 0, 7, 8, 0, 0, 2, 2),
    (1, 0, 0, 0, 7, 7, 1, 0, 4, 0),
    (2, 6, 0, 0, 5, 5, 1, 0, 2, 0),
)
WEIGHTS: Final = (
    (0,) * 16,
    (0,) * 16,
    (0, 21, 43, 64) + (0,) * 12,
    (0, 9, 18, 27, 37, 46, 55, 64) + (0,) * 8,
    (0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64),
)


def _table(f: Function, name: str, values: list[int]) -> Value:
    tables = f.module.tables
    if name not in tables:
        tables[name] = f.module.table(name, I8, values)
    return Value(f, PTR, tables[name])


def _look(f: Function, table: Value, index: Value) -> Value:
    return f.load(I8, f.index(table, I8, index.zext(I64))).zext(I32)


def _bits(f: Function, block: Value, at: Value, width: Value) -> Value:
    """``width`` bits from bit ``at``."""
    low = block.shr((at & 127).zext(I128)).trunc(I32)
    return low & ((f.value(1, I32) << width) - 1)


def _partition(f: Function, subsets: Value, partition: Value, texel: Value) -> Value:
    table = _table(f, "bptc_partitions", [int(v) for n in (1, 2, 3) for v in PARTITIONS[n].reshape(-1)])
    return _look(f, table, ((subsets - 1) << 10) + (partition << 4) + texel)


def _index(f: Function, block: Value, at: Value, width: Value, texel: Value, subsets: Value, partition: Value) -> Value:
    """A texel's index: ``width`` bits each, one less for the first texel of each subset."""
    anchors = [int(v) for n in (1, 2, 3) for row in ANCHORS[n] for v in (*row.tolist(), 99, 99, 99)[:4]]
    table = _table(f, "bptc_anchors", anchors)
    row = ((subsets - 1) << 8) + (partition << 2)
    before, short = f.value(0, I32), f.value(0, I32)
    for k in range(3):
        anchor = _look(f, table, row + k)
        before = before + (anchor < texel).zext(I32)
        short = short + anchor.eq(texel).zext(I32)
    return _bits(f, block, at + width * texel - before, f.max(width - short, 0)) & 15


def _weight(f: Function, bits: Value, index: Value) -> Value:
    table = _table(f, "bptc_weights", [v for row in WEIGHTS for v in row])
    return _look(f, table, (bits << 4) + index)


def _bc7(outer: Function) -> None:
    """``bc7(block, texel)``: RGBA, 8 bits each."""
    f = outer.module.function("bc7", I32, [I128, I32], private=True)
    block, texel = f.arguments
    first = block.trunc(I32) & 255
    with f.if_(first.eq(0)):
        f.ret(0)
    mode = f.call("llvm.cttz.i32", I32, [first, f.value(0, Type("i", 1))])
    modes = _table(f, "bc7_modes", [v for row in BC7_MODES for v in row])
    subsets, partition_bits, rotation_bits, selection_bits, color_bits, alpha_bits, each, shared, ib, ib2 = (
        _look(f, modes, mode * 10 + k) for k in range(10)
    )
    at = mode + 1
    partition = _bits(f, block, at, partition_bits)
    at = at + partition_bits
    rotation = _bits(f, block, at, rotation_bits)
    at = at + rotation_bits
    selection = _bits(f, block, at, selection_bits)
    at = at + selection_bits
    subset = _partition(f, subsets, partition, texel)
    ends: list[list[Value]] = []
    for channel in range(4):
        width = alpha_bits if channel == 3 else color_bits
        ends.append([_bits(f, block, at + (subset * 2 + e) * width, width) for e in (0, 1)])
        at = at + subsets * 2 * width
    has_p = each | shared
    p = [_bits(f, block, at + each.ne(0).select(subset * 2 + e, subset), f.value(1, I32)) for e in (0, 1)]
    at = at + each * subsets * 2 + shared * subsets
    full: list[list[Value]] = []
    for channel in range(4):
        width = (alpha_bits if channel == 3 else color_bits) + has_p
        row = []
        for e in (0, 1):
            value = has_p.ne(0).select((ends[channel][e] << 1) | p[e], ends[channel][e])
            value = value << (8 - width)
            value = value | value.shr(width)
            row.append(alpha_bits.eq(0).select(255, value) if channel == 3 else value)
        full.append(row)
    one = _weight(f, ib, _index(f, block, at, ib, texel, subsets, partition))
    single = f.value(1, I32)
    second_at = at + (ib << 4) - subsets
    two = _weight(f, ib2, _index(f, block, second_at, ib2, texel, single, f.value(0, I32)))
    dual, chosen = ib2.ne(0), selection.ne(0)
    color_weight = (dual & chosen).select(two, one)
    alpha_weight = dual.select(chosen.select(one, two), one)
    out = []
    for channel in range(4):
        w = alpha_weight if channel == 3 else color_weight
        out.append(((64 - w) * full[channel][0] + w * full[channel][1] + 32).shr(6))
    alpha = out[3]
    for channel in range(3):
        swap = rotation.eq(channel + 1)
        out[channel], alpha = swap.select(alpha, out[channel]), swap.select(out[channel], alpha)
    f.ret(out[0] | (out[1] << 8) | (out[2] << 16) | (alpha << 24))


def _bc6h(outer: Function, name: str, signed: bool) -> None:
    """``name(block, texel)``: three halves in 64 bits. Reserved modes are black."""
    modes = BC6H_MODES
    order = [c + e for c in "rgb" for e in "wxyz"] + ["d"]
    f = outer.module.function(name, I64, [I128, I32], private=True)
    block, texel = f.arguments
    longest = max(len(layout) for *_, layout in modes)
    number = block.trunc(I32) & 31
    number = (number & 2).eq(0).select(number & 3, number)
    which = [99] * 32
    for n, (code, *_) in enumerate(modes):
        which[code] = n
    mode = _look(f, _table(f, "bc6h_which", which), number)
    with f.if_(mode.eq(99)):
        f.ret(0)
    fields, shifts, places, heads = [], [], [], []
    for code, bits, deltas, layout in modes:
        padded = [*layout, *[("d", 15, 0)] * (longest - len(layout))]
        fields += [order.index(field) for field, _, _ in padded]
        shifts += [bit for _, bit, _ in padded]
        places += [at for _, _, at in padded]
        two = any(field == "d" for field, _, _ in layout)
        heads += [bits, *deltas, int(two), int(code not in (0x1E, 0x03)), layout[-1][2] + 1, len(layout)]
    head = _table(f, "bc6h_heads", heads)
    width, *rest = (_look(f, head, (mode << 3) + k) for k in range(8))
    deltas_, two_, transformed, index_at, length = rest[:3], rest[3], rest[4], rest[5], rest[6]
    values = f.array(I32, 16)
    f.fill(values, 0, 64)
    tables = [_table(f, f"bc6h_{n}", v) for n, v in (("fields", fields), ("shifts", shifts), ("places", places))]
    with f.count(0, length) as k:
        field, shift, place = (_look(f, t, mode * longest + k) for t in tables)
        bit = _bits(f, block, place, f.value(1, I32))
        target = f.index(values, I32, field.zext(I64))
        f.store(f.load(I32, target) | bit << shift, target)
    partition = f.load(I32, values, 4 * 12)
    subsets = two_ + 1
    subset = _partition(f, subsets, partition, texel)
    index_bits = 4 - two_
    weight = _weight(f, index_bits, _index(f, block, index_at, index_bits, texel, subsets, partition))

    def extend(x: Value, bits: Value) -> Value:
        up = 32 - bits
        return (x << up) >> up

    def unquantize(x: Value) -> Value:
        if not signed:
            wide = ((x << 16) + 0x8000) >> width
            middle = x.eq(0).select(0, x.eq((f.value(1, I32) << width) - 1).select(0xFFFF, wide))
            return (width >= 15).select(x, middle)
        magnitude = f.max(x, 0 - x)
        top = (f.value(1, I32) << (width - 1)) - 1
        wide = ((magnitude << 15) + 0x4000) >> (width - 1)
        middle = magnitude.eq(0).select(0, (magnitude >= top).select(0x7FFF, wide))
        middle = (x < 0).select(0 - middle, middle)
        return (width >= 16).select(x, middle)

    result = f.value(0, I64)
    for c in range(3):
        base = f.load(I32, values, 16 * c)
        if signed:
            base = extend(base, width)
        ends = [base]
        for e in (1, 2, 3):
            value = f.load(I32, values, 4 * (4 * c + e))
            moved = (base + extend(value, deltas_[c])) & ((f.value(1, I32) << width) - 1)
            value = transformed.ne(0).select(moved, value)
            ends.append(extend(value, width) if signed else value)
        low = subset.ne(0).select(ends[2], ends[0])
        high = subset.ne(0).select(ends[3], ends[1])
        mixed = ((64 - weight) * unquantize(low) + weight * unquantize(high) + 32) >> 6
        if signed:
            size = (f.max(mixed, 0 - mixed) * 31) >> 5
            half = (mixed < 0).select(size | 0x8000, size)
        else:
            half = (mixed * 31) >> 6
        result = result | ((half & 0xFFFF).zext(I64) << (16 * c))
    f.ret(result)


def decode(f: Function, info: FormatInfo, words: list[Value], texel: Value) -> list[Value]:
    """The dwords of a decoded texel: one of RGBA8 for BC7, two of three halves for BC6H."""
    lanes = texel.type.lanes
    bc7 = info.format in (Format.BC7_UNORM, Format.BC7_UNORM_SRGB, Format.BC7_TYPELESS)
    name = "bc7" if bc7 else "bc6h_signed" if info.format == Format.BC6H_SF16 else "bc6h"
    if name not in f.module._names:
        if bc7:
            _bc7(f)
        else:
            _bc6h(f, name, info.format == Format.BC6H_SF16)
    result = I32 if bc7 else I64

    def one(parts: list[Value], number: Value) -> Value:
        block = parts[0].zext(I128)
        for k in (1, 2, 3):
            block = block | parts[k].zext(I128) << (32 * k)
        return f.call(name, result, [block, number])

    if not lanes:
        value = one(words, texel)
    else:
        out = f.var(result.vector(lanes), f.null(result.vector(lanes)))
        for_lanes(
            f,
            f.value(1, Type("i", 1, lanes)),
            lambda lane: out.set(out.get().insert(lane, one([w[lane] for w in words], texel[lane]))),
        )
        value = out.get()
    return [value] if bc7 else [value.trunc(I32), value.shr(32).trunc(I32)]
