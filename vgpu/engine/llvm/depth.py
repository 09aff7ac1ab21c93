"""Depth and stencil of a stamp: test and update, sample by sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wddm.hw.descriptors import Comparison, StencilOp
from wddm.hw.formats import FORMATS, Format

from . import formats
from .builder import F32, I1, I32, Function, MaskVariable, Value
from .rows import Rows


@dataclass(frozen=True, slots=True)
class DepthKey:
    """Depth and stencil state that is compiled in; ``format`` 0: no depth buffer."""

    format: int = 0
    test: int = 0  #: comparison, 0 = no test
    write: bool = False
    stencil: bool = False
    read_mask: int = 0
    write_mask: int = 0
    front: tuple[int, int, int, int] = (1, 1, 1, 8)  #: fail, depth fail, pass, comparison
    back: tuple[int, int, int, int] = (1, 1, 1, 8)


def plain_depth(f: Function, z: Value, info_bits: int, is_float: bool) -> Value:
    """Depth as it is stored, from a clamped float."""
    return z.bits(I32) if is_float else formats.unorm(f, z, info_bits)


def compare(f: Function, function: int, a: Value, b: Value) -> Value:
    """Comparison a ? b by Direct3D number; integers unsigned."""
    if a.type.kind == "f":
        return {
            Comparison.NEVER: lambda: f.value(0, I1.vector(a.type.lanes)),
            Comparison.LESS: lambda: a < b,
            Comparison.EQUAL: lambda: a.eq(b),
            Comparison.LESS_EQUAL: lambda: a <= b,
            Comparison.GREATER: lambda: a > b,
            Comparison.NOT_EQUAL: lambda: a.ne(b),
            Comparison.GREATER_EQUAL: lambda: a >= b,
            Comparison.ALWAYS: lambda: f.value(1, I1.vector(a.type.lanes)),
        }[Comparison(function)]()
    always, never = f.value(1, I1.vector(a.type.lanes)), f.value(0, I1.vector(a.type.lanes))
    return {
        Comparison.NEVER: lambda: never,
        Comparison.LESS: lambda: a.ult(b),
        Comparison.EQUAL: lambda: a.eq(b),
        Comparison.LESS_EQUAL: lambda: a.ule(b),
        Comparison.GREATER: lambda: a.ugt(b),
        Comparison.NOT_EQUAL: lambda: a.ne(b),
        Comparison.GREATER_EQUAL: lambda: a.uge(b),
        Comparison.ALWAYS: lambda: always,
    }[Comparison(function)]()


def stencil_operation(f: Function, op: int, old: Value, reference: Value) -> Value:
    """The new 8-bit stencil value."""
    return {
        StencilOp.KEEP: lambda: old,
        StencilOp.ZERO: lambda: old & 0,
        StencilOp.REPLACE: lambda: reference,
        StencilOp.INCR_SAT: lambda: f.umin(old + 1, 255),
        StencilOp.DECR_SAT: lambda: old.eq(0).select(0, old - 1),
        StencilOp.INVERT: lambda: ~old & 255,
        StencilOp.INCR: lambda: (old + 1) & 255,
        StencilOp.DECR: lambda: (old - 1) & 255,
    }[StencilOp(op)]()


def depth_stencil(
    f: Function,
    key: DepthKey,
    rows: Rows,
    mask: MaskVariable,
    z: Value,
    reference: Value,
    front_facing: Value,
    *,
    test: bool,
    write: bool,
) -> None:
    """Test ``z`` and the stencil ``reference`` of a sample of each pixel in ``mask``, which keeps what passes; update or not."""
    lanes = z.type.lanes
    info = FORMATS[Format(key.format)]
    assert info.depth is not None
    size, bits, is_float = info.bytes_per_block, info.depth.bits, info.depth.bits == 32
    if is_float:
        z = f.saturate(z)
    new = plain_depth(f, z, bits, is_float)
    words = rows.load(mask.get)
    before = mask.wide
    old = words[0] if bits in (16, 32) else words[0] & 0xFF_FFFF
    stencil_word = words[1] & 255 if size == 8 else words[0].shr(24)
    shown = (new.bits(F32), old.bits(F32)) if is_float else (new, old)
    passes = compare(f, key.test, *shown) if key.test and test else f.value(1, I1.vector(lanes))
    depth_ok = before & passes.sext(I32)  # masks stay lanes of all ones or 0 from block to block
    stencil = None
    if key.stencil:

        def faces(k: int, make: Callable[[int], Value]) -> Value:
            one, two = make(key.front[k]), make(key.back[k])
            return one if key.front == key.back else front_facing.select(one, two)

        ref = f.splat(reference, lanes)
        masked_ref, masked_old = ref & key.read_mask, stencil_word & key.read_mask
        stencil_ok = faces(3, lambda fn: compare(f, fn, masked_ref, masked_old)).sext(I32) & before
        depth_ok = depth_ok & stencil_ok
        failed = faces(0, lambda op: stencil_operation(f, op, stencil_word, ref))
        depth_failed = faces(1, lambda op: stencil_operation(f, op, stencil_word, ref))
        passed = faces(2, lambda op: stencil_operation(f, op, stencil_word, ref))
        updated = (stencil_ok < 0).select((depth_ok < 0).select(passed, depth_failed), failed)
        stencil = (updated & key.write_mask) | (stencil_word & (255 & ~key.write_mask))
    if write:
        depth_write = key.write and key.test

        def written() -> Value:
            return (before if stencil is not None else depth_ok) < 0

        if size == 8:
            second = words[1] if stencil is None else (words[1] & ~255) | stencil
            first = (depth_ok < 0).select(new, old) if depth_write else old
            if depth_write or stencil is not None:
                rows.store([first, second], written, old=words)
        elif bits == 24:
            low = (depth_ok < 0).select(new, old) if depth_write else old
            high = (stencil_word if stencil is None else stencil) << 24
            if depth_write or stencil is not None:
                rows.store([low | high], written, old=words)
        elif depth_write:
            rows.store([new], written, old=words)
    mask.set(depth_ok)
