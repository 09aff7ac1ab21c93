"""Textures and typed buffers in shaders: addresses of texels, loads and stores, sizes, sampling and gathering.

Filter weights and mip fractions have 8 bits, as Direct3D allows. The level of detail is found per quad. Everything outside reads 0.
Sizes and pitches of mips come from the record of the view; views with a single mip use scalars.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from wddm.hw.descriptors import AddressMode, Comparison, Filter, ViewDimension
from wddm.hw.formats import FORMATS, Format, FormatInfo, NumberType
from wddm.hw.isa import Kind, Op

from . import blocks, cube, formats, maths, records
from .access import and_, both, fetch, store_elements
from .analysis import Instruction
from .builder import F32, I1, I32, I64, PTR, Function, Value

if TYPE_CHECKING:
    from .shader import SamplerKey, Translator, ViewKey

_FIELD: Final = {name: records.offset(records.RESOURCE, name) for name in records.RESOURCE.names or ()}
_SAMPLER: Final = {name: records.offset(records.SAMPLER, name) for name in records.SAMPLER.names or ()}
AXES: Final = {
    ViewDimension.BUFFER: 1,
    ViewDimension.TEXTURE1D: 1,
    ViewDimension.TEXTURE2D: 2,
    ViewDimension.TEXTURE3D: 3,
    ViewDimension.TEXTURECUBE: 3,
}


def signed_byte(word: int, index: int) -> int:
    """An immediate texel offset."""
    value = word >> 8 * index & 0xFF
    return value - 256 if value > 127 else value


class View:
    """A bound texture view in a shader. Mips count from the view's first one; they are scalars when there is but one."""

    def __init__(self, t: Translator, kind: str, slot: int, key: ViewKey) -> None:
        self.t, self.kind, self.slot, self.key = t, kind, slot, key
        self.info: FormatInfo = FORMATS[Format(key.format)]
        self.dimension = ViewDimension(key.dimension)
        self.volume = self.dimension == ViewDimension.TEXTURE3D
        self.cube = self.dimension == ViewDimension.TEXTURECUBE
        self.axes = AXES[self.dimension]

    def field(self, name: str) -> Value:
        """A field of the record."""
        return self.t.field(self.kind, self.slot, _FIELD[name])

    @property
    def base(self) -> Value:
        """Host address of the resource."""
        return self.t.field(self.kind, self.slot, _FIELD["base"], PTR)

    def table(self, name: str, level: Value | None) -> Value:
        """An entry of a per-mip table (``level`` None: the only mip)."""
        t, f = self.t, self.t.f
        record = self.t.record(self.kind, self.slot)
        at = f.offset(record, _FIELD[name])
        first = self.field("first_mip")
        if level is None:
            key = (self.kind + name, self.slot, -1)
            if key not in t.fields:
                with f.prologue():
                    at = f.offset(record, _FIELD[name])
                    t.fields[key] = f.load(I32, f.index(at, I32, first.zext(I64)), constant=True)
            return t.fields[key]
        mip = level + first
        if not mip.type.lanes:
            return f.load(I32, f.index(at, I32, mip.zext(I64)), constant=True)
        return f.gather(t.ivec, f.index(at, I32, mip & 15), t.everyone())

    def extent(self, level: Value | None) -> list[Value]:
        """Width, height, depth of a mip, as many as there are axes."""
        f = self.t.f
        names = ("width", "height", "depth")[: 2 if self.cube else self.axes]
        if level is None:
            out = []
            for name in names:
                key = (self.kind + "extent" + name, self.slot, -1)
                if key not in self.t.fields:
                    size, first = self.field(name), self.field("first_mip")
                    with f.prologue():
                        self.t.fields[key] = f.umax(size.shr(first), 1)
                out.append(self.t.fields[key])
            return out
        mip = (level + self.field("first_mip")) & 31
        return [
            f.umax(f.splat(self.field(n), mip.type.lanes).shr(mip) if mip.type.lanes else self.field(n).shr(mip), 1) for n in names
        ]

    def address(self, level: Value | None, layer: Value | None, y: Value | None, x: Value, sample: Value | None = None) -> Value:
        """Byte offset of the element (or block) that holds a texel. Coordinates must be inside."""
        info = self.info
        columns = x.shr(2) if info.is_block else x.shr(1) if info.pair else x
        at = columns * info.bytes_per_block + self.table("mip_offset", level)
        if y is not None:
            at = at + (y.shr(2) if info.is_block else y) * self.table("row_pitch", level)
        if self.volume:
            at = at + (self.field("first_slice") + (layer if layer is not None else 0)) * self.table("depth_pitch", level)
        elif layer is not None:
            at = at + (layer + self.field("first_slice")) * self.field("slice_pitch")
        else:
            at = at + self.field("first_slice") * self.field("slice_pitch")
        if sample is not None:
            at = at + sample * self.field("sample_pitch")
        return at

    def texel(
        self,
        at: Value,
        inside: Value | None,
        y: Value | None,
        x: Value,
        *,
        raw_unorm: bool = False,
        consecutive: Value | None = None,
    ) -> list[Value]:
        """Red, green, blue, alpha of texels at byte offsets. ``raw_unorm``: UNORM channels undivided."""
        f, info = self.t.f, self.info
        words = fetch(self.t, info, self.base, at, inside, consecutive)
        if info.is_block:
            number = (x & 3) if y is None else ((y & 3) << 2) + (x & 3)
            return blocks.decode(f, info, words, number)
        if info.pair:
            return blocks.decode_pair(f, info, words[0], x & 1)
        if raw_unorm:
            like = words[0]
            out = [maths.broadcast_like(f, 0, like).bits(F32)] * 3 + [maths.broadcast_like(f, formats.ONE_BITS, like).bits(F32)]
            for c in info.channels:
                raw = words[c.shift // 32].shr(c.shift % 32) & ((1 << c.bits) - 1)
                out[c.component] = raw.to_float()
            return out
        return formats.unpack(f, info, words)


def resolve(t: Translator, kind: str, slot: int) -> View | None:
    """The texture view or typed buffer in a slot; None when nothing fitting is bound."""
    key = (t.views if kind == "t" else t.uavs).get(slot)
    if key is None or key.dimension not in AXES:
        return None
    return View(t, kind, slot, key)


# --- loads and stores ------------------------------------------------------------------------------------------------


def element_address(
    t: Translator, kind: str, slot: int, key: ViewKey, coordinates: list[Value]
) -> tuple[Value, Value, Value] | None:
    """``(base, byte offset, who is inside)`` of typed elements at integer coordinates (mip 0)."""
    view = View(t, kind, slot, key)
    inside, at, _, _ = _place(t, view, coordinates, None, None, (0, 0, 0))
    return view.base, t.full(at), inside


def _place(
    t: Translator, view: View, coordinates: list[Value], mip: Value | None, sample: Value | None, offsets: tuple[int, int, int]
) -> tuple[Value, Value, Value | None, Value]:
    """(inside, byte offset, y, x) of texels at integer coordinates; what is outside goes to offset 0 of the mip."""
    f = t.f
    if view.dimension == ViewDimension.BUFFER:
        x = coordinates[0]
        inside = x.ult(view.field("size"))
        x = inside.select(x, 0)
        at = x * view.info.bytes_per_block
        return inside, at + view.field("skew") if view.info.bytes_per_block < 4 else at, None, x
    inside = f.value(1, I1)
    level: Value | None = None
    if mip is not None:
        inside = mip.ult(view.field("mips"))
        level = inside.select(mip, 0)
    axes = [c + o if o else c for c, o in zip(coordinates[: view.axes], offsets, strict=False)]
    for a, size in zip(axes, view.extent(level), strict=True):
        inside = and_(inside, a.ult(size))
    layer: Value | None = None
    if view.volume:
        layer = axes[2]
        inside = and_(inside, layer.ult(view.field("slices")))
    elif t.is_array(view.kind, view.slot):
        layer = coordinates[view.axes]
        inside = and_(inside, layer.ult(view.field("slices")))
    if sample is not None:
        inside = and_(inside, sample.ult(view.field("samples")))
        sample = inside.select(sample, 0)

    def safe(v: Value) -> Value:
        return inside.select(v, 0)

    x, y = safe(axes[0]), safe(axes[1]) if view.axes > 1 else None
    at = view.address(level, safe(layer) if layer is not None else None, y, x, sample)
    return inside, at, y, x


def _consecutive(t: Translator, view: View, ins: Instruction, inside: Value) -> Value | None:
    """When the texels of all lanes are neighbours in a row."""
    if t.affine(ins[3][0]) != 1 or view.info.bytes_per_block != 4 or view.info.is_block or not inside.type.lanes:
        return None
    base = ins[3][0]
    others = view.axes + t.is_array(view.kind, view.slot)
    if any(t.affine(base + k) != 0 for k in range(1, others)) or (ins[3][1] and t.affine(ins[3][1]) != 0) or ins[3][2]:
        return None
    return t.f.all(inside)


def _load(t: Translator, ins: Instruction) -> None:
    """LOAD and UAV_LOAD."""
    op, _, _, src, aux, aux2 = ins
    view = resolve(t, "u" if op == Op.UAV_LOAD else "t", aux & 0xFF)
    if view is None:
        t.write_masked(ins, [t.zero()] * 4)
        return
    coordinates = t.integers(src[0], view.axes + t.is_array(view.kind, view.slot))
    plain = op == Op.UAV_LOAD
    mip = (
        None
        if plain or src[1] >> 28 == Kind.NONE or (src[1] >> 28 == Kind.LITERAL and t.literal_is_zero(src[1]))
        else t.integer(src[1])
    )
    sample = None if plain or src[2] >> 28 == Kind.NONE else t.integer(src[2])
    offsets = (0, 0, 0) if plain else (signed_byte(aux2, 0), signed_byte(aux2, 1), signed_byte(aux2, 2))
    inside, at, y, x = _place(t, view, coordinates, mip, sample, offsets)
    mask = t.mask()
    visible = inside if not at.type.lanes or mask is None else both(t.full(inside), mask)
    values = view.texel(at, visible, y, x, consecutive=_consecutive(t, view, ins, t.full(inside)) if at.type.lanes else None)
    zero = t.zero()
    t.write_masked(ins, [inside.select(v.bits(I32), zero) for v in values])


def _store(t: Translator, ins: Instruction) -> None:
    """UAV_STORE."""
    f = t.f
    view = resolve(t, "u", ins[4] & 0xFF)
    if view is None or view.info.is_block or not view.info.channels:
        return
    coordinates = t.integers(ins[3][0], view.axes + t.is_array("u", view.slot))
    inside, at, _, _ = _place(t, view, coordinates, None, None, (0, 0, 0))
    values = [t.full(v) for v in t.integers(ins[3][1], 4)]
    words = formats.pack(f, view.info, values if view.info.is_integer else [v.bits(F32) for v in values])
    mask = both(t.full(inside), t.stage.effects(t, t.mask()))
    assert mask is not None
    consecutive = _consecutive(t, view, ins, t.full(inside)) if at.type.lanes else None
    if consecutive is None:
        store_elements(t, view.info, view.base, at, words, mask)
        return
    with f.if_else(consecutive) as otherwise:
        f.masked_store(t.full(words[0]), f.offset(view.base, t.full(at)[0].zext(I64)), mask, align=4)
        otherwise()
        store_elements(t, view.info, view.base, at, words, mask)


# --- sizes -----------------------------------------------------------------------------------------------------------


def _resinfo(t: Translator, ins: Instruction) -> None:
    """RESINFO and UAV_RESINFO."""
    uav = ins[0] == Op.UAV_RESINFO
    view = resolve(t, "u" if uav else "t", ins[4] & 0xFF)
    if view is None or view.dimension == ViewDimension.BUFFER:
        t.write_masked(ins, [t.zero()] * 4)
        return
    mip = t.zero() if uav else t.integer(ins[3][0])
    inside = mip.ult(view.field("mips"))
    sizes = [inside.select(v, 0) for v in view.extent(inside.select(mip, 0))]
    if uav and view.volume:
        sizes[2] = view.field("slices")
    plain = len(sizes)
    if t.is_array(view.kind, view.slot):
        layers = view.field("slices")
        sizes.append(layers.udiv(t.f.value(6, I32)) if view.cube else layers)
    control = ins[5] >> 24
    values = []
    for k, size in enumerate([*sizes, *[t.zero()] * (3 - len(sizes)), view.field("mips")]):
        if control == 2:
            values.append(size)
        elif control == 1 and k < plain:
            values.append((1.0 / size.unsigned_to_float()).bits(I32))
        else:
            values.append(size.unsigned_to_float().bits(I32))
    t.write_masked(ins, values)


def _sample_count(t: Translator, slot: int) -> Value:
    if slot == 255:
        return t.f.value(t.stage.samples, I32)
    view = resolve(t, "t", slot)
    return view.field("samples") if view is not None and view.dimension != ViewDimension.BUFFER else t.zero()


def _sampleinfo(t: Translator, ins: Instruction) -> None:
    count = _sample_count(t, ins[4] & 0xFF)
    x = count if ins[5] >> 24 else count.unsigned_to_float().bits(I32)
    t.write_masked(ins, [x, t.zero(), t.zero(), t.zero()])


def _samplepos(t: Translator, ins: Instruction) -> None:
    from .coverage import SAMPLES

    f = t.f
    name = "sample_positions"
    if name not in f.module.tables:
        places = [p for n in (1, 2, 4, 8) for xy in (SAMPLES[n] + ((0, 0),) * 8)[:8] for p in xy]
        f.module.tables[name] = f.module.table(name, F32, [p / 16 for p in places])
    count = _sample_count(t, ins[4] & 0xFF)
    index = t.full(t.integer(ins[3][0]))
    inside = index.ult(count)
    row = count.eq(8).select(48, count.eq(4).select(32, count.eq(2).select(16, t.zero())))
    at = inside.select(index * 2 + row, 0)
    pointer = Value(f, PTR, f.module.tables[name])
    values = [f.gather(t.ivec, f.index(f.offset(pointer, 4 * c), I32, at), inside) for c in range(2)]
    t.write_masked(ins, [*values, t.zero(), t.zero()])


def _bufinfo(t: Translator, ins: Instruction) -> None:
    kind = "u" if ins[0] == Op.UAV_BUFINFO else "t"
    slot = ins[4] & 0xFF
    key = (t.views if kind == "t" else t.uavs).get(slot)
    if key is None or key.dimension not in (ViewDimension.BUFFER, ViewDimension.RAW_BUFFER, ViewDimension.STRUCTURED_BUFFER):
        t.write_masked(ins, [t.zero()] * 4)
        return
    count = t.field(kind, slot, _FIELD["size" if key.dimension != ViewDimension.STRUCTURED_BUFFER else "count"])
    t.write_masked(ins, [count] * 4)


# --- sampling --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Place:
    """Where to sample: normalised coordinates per axis, array layer, cube face."""

    axes: list[Value]
    layer: Value | None
    face: Value | None = None
    ddx: list[Value] | None = None
    ddy: list[Value] | None = None


def _finite(f: Function, x: Value) -> Value:
    """NaN and infinities count as 0."""
    return (f.abs(x) < 3.0e38).select(x, 0.0)


class Sampling:
    """One sampling instruction."""

    def __init__(
        self, t: Translator, view: View, key: SamplerKey, slot: int, offsets: tuple[int, int, int], reference: Value | None
    ) -> None:
        self.t, self.f, self.view, self.key, self.slot, self.offsets = t, t.f, view, key, slot, offsets
        info = view.info
        self.integer = info.is_integer
        self.reference = reference
        if reference is not None and info.type is NumberType.UNORM:
            self.reference = t.f.saturate(reference)
        plain = not info.is_block and not info.pair and not info.srgb
        #: Filter undivided codes and divide once at the end.
        bits = {c.bits for c in info.channels}
        same = len(bits) == 1
        self.divisor = (
            float((1 << max(bits)) - 1) if plain and same and info.type is NumberType.UNORM and reference is None else 0.0
        )
        borders = AddressMode.BORDER in key.address[: view.axes] and not view.cube
        if borders or max(bits, default=0) > 16:
            self.divisor = 0.0
        self.modes = [self.wrap_free(m) for m in key.address]

    def wrap_free(self, mode: int) -> int:
        return mode

    def sampler_field(self, name: str) -> Value:
        return self.t.field("s", self.slot, _SAMPLER[name], F32)

    # -- level of detail ----------------------------------------------------------------------------------------------
    def clamp_lod(self, lod: Value) -> Value:
        """Bias and clamps of the sampler, then those of the view."""
        f, view = self.f, self.view
        lod = lod.ne(lod).select(0.0, lod) + self.sampler_field("lod_bias")
        lod = f.min(f.max(lod, self.sampler_field("min_lod")), self.sampler_field("max_lod"))
        last = (view.field("mips") - 1).to_float()
        least = f.max(view.t.field(view.kind, view.slot, _FIELD["min_lod"], F32) - view.field("first_mip").to_float(), 0.0)
        return f.min(f.max(lod, f.min(least, last)), last)

    def scales(self, p: Place) -> tuple[Value, Value]:
        """Squared lengths, in texels of mip 0, of the derivatives along x and y."""
        assert p.ddx is not None
        assert p.ddy is not None
        sizes = [s.to_float() for s in self.view.extent(None)]
        squares = []
        for d in (p.ddx, p.ddy):
            total: Value | None = None
            for v, size in zip(d, sizes, strict=False):
                scaled = v * size
                total = scaled * scaled if total is None else self.f.fma(scaled, scaled, total)
            assert total is not None
            squares.append(total)
        return squares[0], squares[1]

    def log2_length(self, square: Value) -> Value:
        """log2 of a length given by its square."""
        return maths.log2(self.f, self.f.max(square, 2.0**-126)) * 0.5

    # -- texels -------------------------------------------------------------------------------------------------------
    def axis_index(self, mode: int, index: Value, size: Value) -> tuple[Value, Value | None]:
        """Texel index by address mode, and where the border shows. The index is at most one period away."""
        f = self.f
        index, size = index._both(size)
        if mode == AddressMode.WRAP:
            index = (index < 0).select(index + size, index)
            return (index >= size).select(index - size, index), None
        if mode == AddressMode.MIRROR:
            double = size << 1
            index = (index < 0).select(index + double, index)
            index = (index >= double).select(index - double, index)
            return (index >= size).select(double - 1 - index, index), None
        if mode == AddressMode.MIRROR_ONCE:
            index = (index < 0).select(-1 - index, index)
            return f.min(f.max(index, 0), size - 1), None
        clamped = f.min(f.max(index, 0), size - 1)
        return clamped, clamped.ne(index) if mode == AddressMode.BORDER else None

    def period(self, mode: int, index: Value, size: Value) -> Value:
        """Bring an index with an offset to within one period of 0..size."""
        if mode not in (AddressMode.WRAP, AddressMode.MIRROR):
            return index
        f = self.f
        size = size if mode == AddressMode.WRAP else size << 1
        index, size = index._both(size)
        quotient = f.floor(index.to_float() / size.to_float()).to_int()
        return index - quotient * size

    def reduce(self, mode: int, x: Value) -> Value:
        """Normalised coordinates to one period, so that indices are at most one period away."""
        f = self.f
        if mode == AddressMode.WRAP:
            return x - f.floor(x)
        if mode == AddressMode.MIRROR:
            return f.fma(f.floor(x * 0.5), -2.0, x)
        return x

    def texel(self, p: Place, level: Value | None, index: list[Value], sizes: list[Value]) -> list[Value]:
        """Colours of texels at integer places: floats, or bits for integer formats."""
        f, view, t = self.f, self.view, self.t
        layer = p.layer
        outside: Value | None = None
        if view.cube:
            assert p.face is not None
            face, x, y = cube.fold(f, p.face, index[0], index[1], sizes[0])
            layer = face if layer is None else layer + face
            axes: list[Value] = [x, y]
        else:
            axes = []
            for k, i in enumerate(index):
                at, out = self.axis_index(self.modes[k], i, sizes[k])
                axes.append(at)
                if out is not None:
                    outside = out if outside is None else outside | out
            if view.volume:
                layer = axes[2]
        y_axis = axes[1] if len(axes) > 1 else None
        at = view.address(level, layer, y_axis, axes[0])
        color = view.texel(t.full(at), None, y_axis, axes[0], raw_unorm=self.divisor != 0.0)
        if self.integer:
            return [c.bits(I32) for c in color]
        if outside is not None:
            present = {c.component for c in view.info.channels} if view.info.channels else set(range(4))
            for c in range(4):
                if c in present:
                    border = t.field("s", self.slot, _SAMPLER["border"] + 4 * c, F32)
                else:
                    border = f.value(1.0 if c == 3 else 0.0, F32)
                color[c] = outside.select(f.splat(border, t.lanes), color[c])
        if self.reference is not None:
            passed = self.compare(color[0])
            color = [passed.select(1.0, f.value(0.0, t.fvec))] * 4
        return color

    def compare(self, value: Value) -> Value:
        from .depth import compare

        assert self.reference is not None
        function = self.key.comparison if 1 <= self.key.comparison <= 8 else Comparison.NEVER
        return compare(self.f, function, self.t.full(self.reference), value)

    def corners(self, p: Place, sizes: list[Value], linear: Value | bool) -> tuple[list[tuple[Value, Value]], list[Value | None]]:
        """Per axis the two texel indices and the weight of the second (None: 0)."""
        f = self.f
        pairs: list[tuple[Value, Value]] = []
        weights: list[Value | None] = []
        for k, axis in enumerate(p.axes):
            mode = self.modes[k] if not self.view.cube else AddressMode.CLAMP
            size = sizes[k]
            x = self.reduce(mode, axis)
            scale = size.to_float()
            limit = 8388608.0
            near: Value
            weight: Value | None = None
            if linear is not True:
                near = f.floor(f.max(f.min(x * scale, limit), -limit)).to_int()
            if linear is not False:
                fixed = f.floor(f.max(f.min(f.fma(x, scale * 256.0, -127.5), limit * 128), -limit * 128)).to_int()
                low = fixed >> 8
                weight = (fixed & 255).to_float() * (1.0 / 256)
                if linear is True:
                    near = low
                else:
                    near = linear.select(low, near)
                    weight = linear.select(weight, 0.0)
            offset = self.offsets[k]
            if offset:
                near = self.period(mode, near + offset, size)
            pairs.append((near, near + 1))
            weights.append(weight)
        return pairs, weights

    def filtered(self, p: Place, level: Value | None, linear: Value | bool) -> list[Value]:
        """Point or linear filtering within a level."""
        f = self.f
        sizes = self.view.extent(level)
        pairs, weights = self.corners(p, sizes, linear)
        exact = self.view.info.type not in (NumberType.UNORM, NumberType.SNORM)

        def along(axis: int, chosen: list[Value]) -> list[Value]:
            if axis < 0:
                return self.texel(p, level, chosen, sizes)
            first = along(axis - 1, [pairs[axis][0], *chosen])
            w = weights[axis]
            if w is None:
                return first
            second = along(axis - 1, [pairs[axis][1], *chosen])
            out = []
            for a, b in zip(first, second, strict=True):
                if a is b or a.name == b.name:
                    out.append(a)
                    continue
                mixed = f.fma(b - a, w, a)
                # A weight of 0 must not let NaN or infinity through.
                out.append((w > 0.0).select(mixed, a) if exact else mixed)
            return out

        return along(len(pairs) - 1, [])

    def sample(self, p: Place, lod: Value | None) -> list[Value]:
        """Sample at a clamped ``lod`` (None: the view has one mip and the filter does not depend on it)."""
        t, f, key = self.t, self.f, self.key
        same = key.min_filter == key.mag_filter
        linear: Value | bool
        if self.integer:
            linear = False
        elif key.anisotropy > 1:
            linear = True
        elif same:
            linear = key.min_filter == Filter.LINEAR
        else:
            assert lod is not None
            magnified = lod <= 0.0
            linear = magnified if key.mag_filter == Filter.LINEAR else magnified ^ True
        if self.view.key.single_mip:
            return self.finish(self.filtered(p, None, linear))
        assert lod is not None
        last = self.view.field("mips") - 1
        if key.mip_filter == Filter.POINT or self.integer:
            level = f.min(f.max(f.floor(lod + 0.5).to_int(), 0), last)
            return self.finish(self.filtered(p, level, linear))
        fixed = f.floor(lod * 256.0 + 0.5).to_int()
        level, part = fixed >> 8, fixed & 255
        near = self.filtered(p, level, linear)
        slots = [f.var(t.fvec, x) for x in near]
        with f.if_(f.any(part.ne(0))):
            far = self.filtered(p, f.min(level + 1, last), linear)
            weight = part.to_float() * (1.0 / 256)
            for v, a, b in zip(slots, near, far, strict=True):
                v.set(part.ne(0).select(f.fma(b - a, weight, a), a))
        return self.finish([v.get() for v in slots])

    def finish(self, color: list[Value]) -> list[Value]:
        """Divide what was filtered undivided."""
        if not self.divisor:
            return color
        present = {c.component for c in self.view.info.channels}
        return [formats.divide_exactly(self.f, x, self.divisor) if c in present else x for c, x in enumerate(color)]

    @property
    def needs_lod(self) -> bool:
        """Whether the result depends on the level of detail."""
        same = self.key.min_filter == self.key.mag_filter or self.key.anisotropy > 1 or self.integer
        return not (self.view.key.single_mip and same)


def place(t: Translator, view: View, word: int, gradients: tuple[list[Value], list[Value]] | None) -> Place:
    """An address vector to a place."""
    f = t.f
    array = t.is_array(view.kind, view.slot)
    rows = [_finite(f, t.full(x)) for x in t.floats(word, view.axes + array)]
    layer: Value | None = None
    if array:
        layers = view.field("slices")
        if view.cube:
            layers = layers.udiv(f.value(6, I32))
        number = f.intrinsic("rint", rows.pop())
        top = (layers - 1).to_float()
        layer = f.min(f.max(number, 0.0), f.value(0.0, F32) if view.volume else top).to_int()
    if gradients is None:
        ddx = ddy = None
    else:
        ddx, ddy = ([_finite(f, t.full(v)) for v in d] for d in gradients)
    if not view.cube:
        return Place(rows, layer, None, ddx, ddy)
    face, axes, slopes = cube.project(f, rows, [d for d in (ddx, ddy) if d is not None])
    if layer is not None:
        layer = layer * 6
    return Place(axes, layer, face, *slopes) if slopes else Place(axes, layer, face)


def _sampling(t: Translator, ins: Instruction, reference: Value | None) -> Sampling | None:
    view = resolve(t, "t", ins[4] & 0xFF)
    if view is None or view.dimension == ViewDimension.BUFFER or view.key.multisampled:
        t.write_masked(ins, [t.zero()] * 4)
        return None
    slot = ins[4] >> 8 & 0xFF
    aux2 = ins[5]
    return Sampling(t, view, t.samplers[slot], slot, (signed_byte(aux2, 0), signed_byte(aux2, 1), signed_byte(aux2, 2)), reference)


def _sample(t: Translator, ins: Instruction) -> None:
    """All SAMPLE forms and LOD."""
    from .shader import derivative

    f = t.f
    op, _, _, src, _, _ = ins
    compares = op in (Op.SAMPLE_COMPARE, Op.SAMPLE_COMPARE_LZ)
    s = _sampling(t, ins, t.full(t.float(src[1])) if compares else None)
    if s is None:
        return
    view = s.view
    if op in (Op.SAMPLE_LEVEL, Op.SAMPLE_COMPARE_LZ):
        lod = None
        if s.needs_lod:
            lod = s.clamp_lod(f.value(0.0, t.fvec) if compares else t.full(t.float(src[1])))
        t.write_masked(ins, s.sample(place(t, view, src[0], None), lod))
        return
    axes = view.axes
    if op == Op.SAMPLE_GRAD:
        gradients = (t.floats(src[1], axes), t.floats(src[2], axes))
    else:
        rows = [t.full(x) for x in t.floats(src[0], axes)]
        gradients = ([derivative(t, x, True, False) for x in rows], [derivative(t, x, False, False) for x in rows])
    if op != Op.LOD and not s.needs_lod and s.key.anisotropy <= 1:
        t.write_masked(ins, s.sample(place(t, view, src[0], None), None))
        return
    p = place(t, view, src[0], gradients)
    a, b = s.scales(p)
    if op == Op.LOD:
        free = s.log2_length(f.max(a, b))
        t.write_masked(ins, [s.clamp_lod(free), free + s.sampler_field("lod_bias"), t.zero(), t.zero()])
        return
    bias = t.full(t.float(src[1])) if op == Op.SAMPLE_BIAS else None
    if s.key.anisotropy > 1 and view.dimension == ViewDimension.TEXTURE2D:
        t.write_masked(ins, _anisotropic(t, s, p, a, b, bias))
        return
    lod = s.log2_length(f.max(a, b))
    t.write_masked(ins, s.sample(p, s.clamp_lod(lod if bias is None else lod + bias)))


def _anisotropic(t: Translator, s: Sampling, p: Place, a: Value, b: Value, bias: Value | None) -> list[Value]:
    """Probes along the longer axis of the footprint."""
    f = t.f
    longer, shorter = f.intrinsic("sqrt", f.max(a, b)), f.intrinsic("sqrt", f.max(f.min(a, b), 2.0**-126))
    probes = f.min(f.max(f.intrinsic("ceil", longer / shorter), 1.0), float(s.key.anisotropy))
    lod = maths.log2(f, f.max(longer / probes, 2.0**-126))
    lod = s.clamp_lod(lod if bias is None else lod + bias)
    assert p.ddx is not None
    assert p.ddy is not None
    axis = [(a >= b).select(u, v) for u, v in zip(p.ddx, p.ddy, strict=True)]
    totals = [f.var(t.fvec, 0.0) for _ in range(4)]
    first = [f.var(t.ivec, 0) for _ in range(4)]
    k = f.var(F32, 0.0)
    with f.loop() as loop:
        now = k.get()
        active = now < probes
        loop.break_if(~f.any(active))
        shift = active.select((now * 2.0 + 1.0) / (probes * 2.0) - 0.5, 0.0)
        moved = Place([f.fma(d, shift, c) for c, d in zip(p.axes, axis, strict=True)], p.layer, p.face)
        for n, x in enumerate(s.sample(moved, lod)):
            if s.integer:
                first[n].set(now.eq(0.0).select(x, first[n].get()))
            else:
                totals[n].set(totals[n].get() + active.select(x, 0.0))
        k.set(now + 1.0)
    return [v.get() for v in first] if s.integer else [v.get() / probes for v in totals]


def _gather(t: Translator, ins: Instruction) -> None:
    """GATHER4 and its forms: (0,1) (1,1) (1,0) (0,0)."""
    f = t.f
    op, _, _, src, aux, _ = ins
    compares = op in (Op.GATHER4_COMPARE, Op.GATHER4_OFFSET_COMPARE)
    s = _sampling(t, ins, t.full(t.float(src[1])) if compares else None)
    if s is None:
        return
    s.divisor = 0.0
    immediate = s.offsets
    s.offsets = (0, 0, 0)
    p = place(t, s.view, src[0], None)
    level = None if s.view.key.single_mip else f.value(0, t.ivec)
    sizes = s.view.extent(level)
    pairs, _ = s.corners(p, sizes, True)
    if op in (Op.GATHER4_OFFSET, Op.GATHER4_OFFSET_COMPARE):
        offsets = [(t.full(v) << 26) >> 26 for v in t.integers(src[2], 2)]
    else:
        offsets = [f.value(o, t.ivec) for o in immediate[:2]]
    component = aux >> 20 & 3
    out = []
    for i, j in ((0, 1), (1, 1), (1, 0), (0, 0)):
        index = []
        for k, pick in enumerate((i, j)[: len(pairs)]):
            mode = s.modes[k] if not s.view.cube else AddressMode.CLAMP
            index.append(s.period(mode, pairs[k][pick] + offsets[k], sizes[k]))
        out.append(s.texel(p, level, index, sizes)[component])
    t.write_masked(ins, out)


OPERATIONS: Final[dict[int, Callable[[Translator, Instruction], None]]] = {
    **{op: _sample for op in range(Op.SAMPLE, Op.SAMPLE_COMPARE_LZ + 1)},
    **{op: _gather for op in range(Op.GATHER4, Op.GATHER4_OFFSET_COMPARE + 1)},
    Op.LOD: _sample,
    Op.LOAD: _load,
    Op.UAV_LOAD: _load,
    Op.UAV_STORE: _store,
    Op.RESINFO: _resinfo,
    Op.UAV_RESINFO: _resinfo,
    Op.SAMPLEINFO: _sampleinfo,
    Op.SAMPLEPOS: _samplepos,
    Op.BUFINFO: _bufinfo,
    Op.UAV_BUFINFO: _bufinfo,
}
