"""The output merger: queued stamps into render targets, in order.

``merger(PASS*, DRAW*, queue*, count)`` is compiled per formats and blend state, apart from any shader, so that a blend toggle costs
little. Blending is float32 with separate roundings, source and factors clamped as the target's type demands; conversion to the
target is exact (see :mod:`.formats`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wddm.hw.descriptors import BlendFactor, BlendOp
from wddm.hw.formats import FORMATS, Format, NumberType

from . import formats, maths, records
from .builder import F32, I32, I64, PTR, VOID, Function, Module, Value
from .pixel import ENTRY_HEAD, ENTRY_MASKS, ENTRY_SLICE, ENTRY_X, ENTRY_Y, entry_bytes
from .rows import Rows


@dataclass(frozen=True, slots=True)
class TargetKey:
    """One render target: its format and blend dword as far as they matter."""

    slot: int
    format: int
    enable: bool
    factors: tuple[int, int, int, int, int, int]  #: src, dst, op, src alpha, dst alpha, op alpha
    write_mask: int
    logic: int = -1  #: logic operation, -1 = none


@dataclass(frozen=True, slots=True)
class MergerKey:
    """What a merger is compiled for."""

    targets: tuple[TargetKey, ...]
    outputs: tuple[int, ...]  #: of the pixel function
    samples: int
    lanes: int
    uniform: frozenset[int] = frozenset()  #: outputs that are one value for all lanes


_COLOR_ONE: Final = {
    BlendFactor.SRC_COLOR: BlendFactor.SRC_ALPHA,
    BlendFactor.INV_SRC_COLOR: BlendFactor.INV_SRC_ALPHA,
    BlendFactor.DEST_COLOR: BlendFactor.DEST_ALPHA,
    BlendFactor.INV_DEST_COLOR: BlendFactor.INV_DEST_ALPHA,
    BlendFactor.SRC1_COLOR: BlendFactor.SRC1_ALPHA,
    BlendFactor.INV_SRC1_COLOR: BlendFactor.INV_SRC1_ALPHA,
}

_LOGIC: Final[tuple[Callable[[Value, Value], Value], ...]] = (
    lambda s, d: s & 0,  # CLEAR
    lambda s, d: s | -1,  # SET
    lambda s, d: s,  # COPY
    lambda s, d: ~s,  # COPY_INVERTED
    lambda s, d: d,  # NOOP
    lambda s, d: ~d,  # INVERT
    lambda s, d: s & d,  # AND
    lambda s, d: ~(s & d),  # NAND
    lambda s, d: s | d,  # OR
    lambda s, d: ~(s | d),  # NOR
    lambda s, d: s ^ d,  # XOR
    lambda s, d: ~(s ^ d),  # EQUIV
    lambda s, d: s & ~d,  # AND_REVERSE
    lambda s, d: ~s & d,  # AND_INVERTED
    lambda s, d: s | ~d,  # OR_REVERSE
    lambda s, d: ~s | d,  # OR_INVERTED
)


def compile_merger(key: MergerKey) -> str:
    """The IR of ``merger``."""
    m = Module()
    f = m.function("merger", VOID, [PTR, PTR, PTR, I32])
    pass_, draw, queue, count = f.arguments
    size = entry_bytes(len(key.outputs), key.lanes)
    with f.prologue():
        factor_at = records.offset(records.DRAW, "blend_factor")
        factors = [f.splat(f.load(F32, draw, factor_at + 4 * c), key.lanes) for c in range(4)]
        width, height = (f.load(I32, pass_, records.offset(records.PASS, n)) for n in ("width", "height"))
        surfaces = {}
        for target in key.targets:
            at = target.slot * records.SURFACE.itemsize
            surfaces[target.slot] = (
                f.load(PTR, pass_, at),
                *(
                    f.load(I32, pass_, at + records.offset(records.SURFACE, n))
                    for n in ("row_pitch", "sample_pitch", "slice_pitch", "slices")
                ),
            )
    with f.count(0, count) as i:
        entry = f.offset(queue, (i * size).zext(I64))
        x, y, layer = (f.load(I32, entry, 4 * k) for k in (ENTRY_X, ENTRY_Y, ENTRY_SLICE))
        inside = ((x + key.lanes // 2) <= width) & ((y + 2) <= height)
        colors = {
            index: f.load(
                F32 if index in key.uniform else F32.vector(key.lanes), entry, 4 * ENTRY_HEAD + k * key.lanes * 4, align=4
            )
            for k, index in enumerate(key.outputs)
        }
        for target in key.targets:
            base, pitch, sample_pitch, slice_pitch, slices = surfaces[target.slot]
            info = FORMATS[Format(target.format)]
            place = y.zext(I64) * pitch.zext(I64) + (x * info.bytes_per_block).zext(I64)
            place = place + f.umin(layer, slices - 1).zext(I64) * slice_pitch.zext(I64)
            for sample in range(key.samples):
                bits = f.load(I32, entry, 4 * (ENTRY_MASKS + sample))
                where = f.offset(base, place + sample_pitch.zext(I64) * sample if sample else place)
                rows = Rows(f, key.lanes, where, pitch, info.bytes_per_block, inside)
                if key.samples > 1:
                    with f.if_(bits.ne(0)):
                        _Target(f, key, target, colors, factors).write(rows, bits)
                else:
                    _Target(f, key, target, colors, factors).write(rows, bits)
    f.ret()
    return str(m)


class _Target:
    def __init__(self, f: Function, key: MergerKey, target: TargetKey, colors: dict[int, Value], factors: list[Value]) -> None:
        self.f, self.key, self.target = f, key, target
        self.info = FORMATS[Format(target.format)]
        self.lanes = key.lanes
        self.channels = {c.component: c for c in self.info.channels}
        self.source = [self.color(colors, target.slot, c) for c in range(4)]
        second = any(o >> 2 == 1 for o in key.outputs) and target.slot == 0
        self.source1 = [self.color(colors, 1, c) for c in range(4)] if second else self.source
        self.constant = [self.clamp(x) for x in factors]
        self.dest: list[Value] = []

    def color(self, colors: dict[int, Value], slot: int, c: int) -> Value:
        value = colors.get(slot * 4 + c)
        if value is None:
            value = self.f.value(0.0, F32)
        return self.clamp(value)

    def clamp(self, x: Value) -> Value:
        """The range of the target's numbers, before blending."""
        if not self.target.enable:
            return x
        if self.info.type is NumberType.UNORM:
            return self.f.saturate(x)
        if self.info.type is NumberType.SNORM:
            return self.f.max(self.f.min(x.ne(x).select(0.0, x), 1.0), -1.0)
        return x

    def write(self, rows: Rows, bits: Value) -> None:
        """Blend and store the pixels whose bits are set."""
        f, target = self.f, self.target
        whole = bits.eq((1 << self.lanes) - 1)

        def mask() -> Value:
            return f.bits_mask(bits, self.lanes)

        present = sum(1 << c for c in self.channels)
        partial = (target.write_mask & present) != present
        used = target.enable or target.logic >= 0 or partial
        old = rows.load(mask) if used else []
        integer = self.info.is_integer
        values = self.source
        if target.enable and not integer:
            self.dest = formats.unpack(f, self.info, old)
            values = self.blend()
        words = formats.pack(f, self.info, [v.bits(I32) for v in values] if integer else values)
        words = [f.splat(w, self.lanes) for w in words]
        if target.logic >= 0:
            words = [_LOGIC[target.logic](w, o) for w, o in zip(words, old, strict=True)]
        if partial:
            keep = [0] * len(words)
            for c, channel in self.channels.items():
                if target.write_mask >> c & 1:
                    keep[channel.shift // 32] |= ((1 << channel.bits) - 1) << channel.shift % 32
            words = [(w & k) | (o & ~k) for w, o, k in zip(words, old, keep, strict=True)]
        rows.store(words, mask, whole=whole, old=old or None)

    def blend(self) -> list[Value]:
        src, dst, op, src_alpha, dst_alpha, op_alpha = self.target.factors
        result = []
        for c in range(4):
            if c == 3:
                s, d, o = src_alpha, dst_alpha, op_alpha
                s, d = _COLOR_ONE.get(BlendFactor(s), s), _COLOR_ONE.get(BlendFactor(d), d)
            else:
                s, d, o = src, dst, op
            result.append(self.combine(o, s, d, c))
        return result

    def combine(self, op: int, s: int, d: int, c: int) -> Value:
        f = self.f
        if op in (BlendOp.MIN, BlendOp.MAX):
            # The other when one is NaN, which only floats can be.
            of_numbers, of_floats = (f.min, maths.minimum) if op == BlendOp.MIN else (f.max, maths.maximum)
            x, y = self.source[c], self.dest[c]
            return of_floats(f, x, y) if self.info.type is NumberType.FLOAT else of_numbers(x, y)
        a, b = self.product(self.source[c], s, c), self.product(self.dest[c], d, c)
        if op == BlendOp.SUBTRACT:
            a, b = a, (-b if b is not None else None)
        elif op == BlendOp.REV_SUBTRACT:
            a, b = (-a if a is not None else None), b
        if a is None or b is None:
            rest = a if a is not None else b
            return rest if rest is not None else f.value(0.0, F32.vector(self.lanes))
        return a + b

    def product(self, x: Value, factor: int, c: int) -> Value | None:
        """x times a factor; None for a factor of zero."""
        if factor == BlendFactor.ZERO:
            # Infinity times zero is no number; where infinities cannot be, nothing is left of the product.
            return None if self.info.type in (NumberType.UNORM, NumberType.SNORM) else x * 0.0
        if factor == BlendFactor.ONE:
            return x
        return x * self.factor(factor, c)

    def factor(self, factor: int, c: int) -> Value:
        s, d, k, s1 = self.source, self.dest, self.constant, self.source1
        match BlendFactor(factor):
            case BlendFactor.SRC_COLOR:
                return s[c]
            case BlendFactor.INV_SRC_COLOR:
                return 1.0 - s[c]
            case BlendFactor.SRC_ALPHA:
                return s[3]
            case BlendFactor.INV_SRC_ALPHA:
                return 1.0 - s[3]
            case BlendFactor.DEST_ALPHA:
                return d[3]
            case BlendFactor.INV_DEST_ALPHA:
                return 1.0 - d[3]
            case BlendFactor.DEST_COLOR:
                return d[c]
            case BlendFactor.INV_DEST_COLOR:
                return 1.0 - d[c]
            case BlendFactor.SRC_ALPHA_SAT:
                return self.f.value(1.0, s[3].type) if c == 3 else self.f.min(s[3], 1.0 - d[3])
            case BlendFactor.BLEND_FACTOR:
                return k[c]
            case BlendFactor.INV_BLEND_FACTOR:
                return 1.0 - k[c]
            case BlendFactor.SRC1_COLOR:
                return s1[c]
            case BlendFactor.INV_SRC1_COLOR:
                return 1.0 - s1[c]
            case BlendFactor.SRC1_ALPHA:
                return s1[3]
            case BlendFactor.INV_SRC1_ALPHA:
                return 1.0 - s1[3]
        raise ValueError(f"blend factor {factor}")


__all__ = ["MergerKey", "TargetKey", "compile_merger"]
