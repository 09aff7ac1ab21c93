"""Texture sampling: level of detail, addressing, filtering, comparison, gathering; vectorised over lanes.

Filter weights and mip fractions have 8 bits. Linear filtering picks its texels and weights from coordinates in 1/256 texel;
cube maps are seamless along edges (a corner takes one of its neighbours).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vgpu.engine import Packet
from wddm.hw.descriptors import AddressMode, Comparison, Filter, Sampler, ViewDimension
from wddm.hw.formats import NumberType

from .surface import Texture, refuse

Array = npt.NDArray[Any]
COMPARE: Final[dict[Comparison, Callable[[Array, Array], Array]]] = {
    Comparison.NEVER: lambda a, b: np.zeros(np.broadcast(a, b).shape, bool),
    Comparison.LESS: np.less,
    Comparison.EQUAL: np.equal,
    Comparison.LESS_EQUAL: np.less_equal,
    Comparison.GREATER: np.greater,
    Comparison.NOT_EQUAL: np.not_equal,
    Comparison.GREATER_EQUAL: np.greater_equal,
    Comparison.ALWAYS: lambda a, b: np.ones(np.broadcast(a, b).shape, bool),
}
DEFAULT: Final = Sampler()


@lru_cache(maxsize=256)
def _sampler(data: tuple[int, ...]) -> Sampler:
    s = Sampler.unpack(data)
    for mode in (s.address_u, s.address_v, s.address_w):
        if not AddressMode.WRAP <= mode <= AddressMode.MIRROR_ONCE:
            raise refuse(f"address mode {mode}")
    if s.compare and not Comparison.NEVER <= s.comparison <= Comparison.ALWAYS:
        raise refuse(f"comparison {s.comparison}")
    if s.max_anisotropy > 16:
        raise refuse(f"anisotropy {s.max_anisotropy}")
    return s


def sampler(packet: Packet) -> Sampler:
    """The sampler in a SET_SAMPLER packet."""
    return _sampler(tuple(packet["data"].tolist()))


def _finite(value: Array) -> Array:
    return np.clip(np.nan_to_num(value.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0), -(2.0**40), 2.0**40)


# --- cubes ------------------------------------------------------------------------------------------------------------

#: For each face: axes (0 x, 1 y, 2 z) of s, t and the major axis, and their signs.
_S_AXIS, _S_SIGN = np.array([2, 2, 0, 0, 0, 0]), np.array([-1.0, 1, 1, 1, 1, -1])
_T_AXIS, _T_SIGN = np.array([1, 1, 2, 2, 1, 1]), np.array([-1.0, -1, 1, -1, -1, -1])
_M_AXIS, _M_SIGN = np.array([0, 0, 1, 1, 2, 2]), np.array([1.0, -1, 1, -1, 1, -1])


def cube_face(x: Array, y: Array, z: Array) -> Array:
    """Which face a direction hits: +x -x +y -y +z -z. Ties: z before y before x."""
    ax, ay, az = np.abs(x), np.abs(y), np.abs(z)
    on_z = (az >= ax) & (az >= ay)
    on_y = ~on_z & (ay >= ax)
    return np.where(on_z, 4 + (z < 0), np.where(on_y, 2 + (y < 0), 0 + (x < 0)))


def _project(face: Array, direction: Array) -> tuple[Array, Array, Array]:
    """s, t and the (positive) major coordinate of a direction ``(n, 3)`` seen from a face."""
    n = np.arange(len(face))
    s = direction[n, _S_AXIS[face]] * _S_SIGN[face]
    t = direction[n, _T_AXIS[face]] * _T_SIGN[face]
    return s, t, direction[n, _M_AXIS[face]] * _M_SIGN[face]


def _fold(face: Array, i: Array, j: Array, size: Array) -> tuple[Array, Array, Array]:
    """Texels beyond a face's edge, on the neighbour they belong to."""
    j = np.where((i < 0) | (i >= size), np.clip(j, 0, size - 1), j)
    outside = (i < 0) | (i >= size) | (j < 0) | (j >= size)
    s, t = (2 * i + 1) / size - 1, (2 * j + 1) / size - 1
    depth = np.where(outside, 1 - 1 / size, 1.0)
    direction = np.zeros((len(face), 3))
    n = np.arange(len(face))
    direction[n, _S_AXIS[face]] = np.clip(s, -1, 1) * _S_SIGN[face]
    direction[n, _T_AXIS[face]] = np.clip(t, -1, 1) * _T_SIGN[face]
    direction[n, _M_AXIS[face]] = depth * _M_SIGN[face]
    on_s, on_t = np.abs(s) > 1, np.abs(t) > 1
    axis = np.where(on_s, _S_AXIS[face], np.where(on_t, _T_AXIS[face], _M_AXIS[face]))
    new = 2 * axis + (direction[n, axis] < 0)
    ns, nt, _ = _project(new, direction)
    ni = np.clip(np.floor((ns + 1) / 2 * size), 0, size - 1).astype(np.int64)
    nj = np.clip(np.floor((nt + 1) / 2 * size), 0, size - 1).astype(np.int64)
    return np.where(outside, new, face), np.where(outside, ni, i), np.where(outside, nj, j)


# --- coordinates ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Place:
    """Where to sample: normalised coordinates per axis (float64), layer, cube face, and derivatives per axis."""

    axes: list[Array]
    layer: Array
    face: Array | None = None
    ddx: list[Array] | None = None
    ddy: list[Array] | None = None


def place(
    texture: Texture, coords: list[Array], array: bool, ddx: list[Array] | None = None, ddy: list[Array] | None = None
) -> Place:
    """Address vectors to places. ``coords``: float32 rows; the array slice last."""
    rows = [_finite(c) for c in coords]
    n = len(rows[0])
    groups = texture.slices // 6 if texture.shape.cube else texture.slices
    layer = np.zeros(n, np.int64)
    if array:
        layer = np.clip(np.rint(rows.pop()), 0, (1 if texture.shape.volume else groups) - 1).astype(np.int64)
    d = None if ddx is None else [_finite(v) for v in ddx]
    e = None if ddy is None else [_finite(v) for v in ddy]
    if not texture.shape.cube:
        return Place(rows, layer, None, d, e)
    direction = np.stack(rows, 1)
    face = cube_face(*rows)
    s, t, m = _project(face, direction)
    m = np.where(m > 0, m, 1.0)

    def slope(v: list[Array] | None) -> list[Array] | None:
        if v is None:
            return None
        ds, dt, dm = _project(face, np.stack(v[:3], 1))
        return [(ds * m - s * dm) / (2 * m * m), (dt * m - t * dm) / (2 * m * m)]

    return Place([(s / m + 1) / 2, (t / m + 1) / 2], layer * 6, face, slope(d), slope(e))


def scale_of(texture: Texture, p: Place) -> tuple[Array, Array]:
    """Lengths, in texels of mip 0, of the derivatives along x and y."""
    sizes = [float(v) for v in texture.extent(0)][: len(p.axes)]
    assert p.ddx is not None
    assert p.ddy is not None
    lengths = [np.sqrt(sum((v * s) ** 2 for v, s in zip(d, sizes, strict=False))) for d in (p.ddx, p.ddy)]
    return lengths[0], lengths[1]


def unclamped_lod(texture: Texture, p: Place) -> Array:
    """log2 of the longer footprint axis, as ``lod`` of an isotropic filter."""
    a, b = scale_of(texture, p)
    return np.log2(np.maximum(np.maximum(a, b), 2.0**-126))


def clamp_lod(texture: Texture, s: Sampler, lod: Array) -> Array:
    """Bias and clamps of the sampler, then those of the view."""
    lod = np.where(np.isnan(lod), 0, lod) + s.mip_lod_bias
    lod = np.minimum(np.maximum(lod, s.min_lod), s.max_lod)
    least = max(0.0, texture.view.min_lod - texture.first_mip)
    return np.clip(lod, min(least, texture.mips - 1), texture.mips - 1)


def _address(mode: int, index: Array, size: Array) -> tuple[Array, Array]:
    """Texel index by address mode, and where the border shows."""
    inside = (index >= 0) & (index < size)
    if mode == AddressMode.WRAP:
        return index % size, np.zeros(1, bool)
    if mode == AddressMode.MIRROR:
        around = index % (2 * size)
        return np.where(around < size, around, 2 * size - 1 - around), np.zeros(1, bool)
    if mode == AddressMode.MIRROR_ONCE:
        index = np.where(index < 0, -1 - index, index)
    clamped = np.clip(index, 0, size - 1)
    return clamped, (~inside if mode == AddressMode.BORDER else np.zeros(1, bool))


class _Fetch:
    """Reads texels of one level for all lanes."""

    def __init__(self, texture: Texture, s: Sampler, p: Place, level: Array, reference: Array | None) -> None:
        self.texture, self.s, self.p, self.level, self.reference = texture, s, p, level, reference
        self.sizes = [v for v in texture.extent(level)]
        self.border = np.array(s.border, np.float32)
        info = texture.info
        if info.channels:
            present = {c.component for c in info.channels}
            self.border = np.array([s.border[i] if i in present else float(i == 3) for i in range(4)], np.float32)

    def texel(self, index: list[Array]) -> Array:
        """Colours ``(n, 4)`` as float32 (or raw for integer formats) of texels at integer places."""
        t, s = self.texture, self.s
        outside: Array = np.zeros(1, bool)
        axes: list[Array] = []
        layer = self.p.layer
        if t.shape.cube:
            assert self.p.face is not None
            face, i, j = _fold(self.p.face, index[0], index[1], self.sizes[0])
            axes, layer = [i, j], layer + face
        else:
            modes = (s.address_u, s.address_v, s.address_w)
            for mode, i, size in zip(modes, index, self.sizes, strict=False):
                at, out = _address(mode, i, size)
                axes.append(at)
                outside = outside | out
        x = axes[0]
        y = axes[1] if len(axes) > 1 else np.zeros_like(x)
        if len(axes) > 2:
            layer = axes[2]
        raw = t.read(self.level, layer, y, x)
        if t.info.is_integer:
            return raw
        color = raw.view(np.float32)
        if outside.any():
            color = np.where(np.broadcast_to(outside, (len(x),))[:, None], self.border, color)
        if self.reference is not None:
            passed = COMPARE[Comparison(s.comparison)](self.reference, color[:, 0])
            color = np.zeros_like(color)
            color[:] = passed[:, None]
        return color

    def corners(self, linear: Array, offsets: tuple[int, ...]) -> tuple[list[list[Array]], list[Array]]:
        """Per axis the two texel indices and the weight of the second (0 where ``linear`` is false)."""
        pairs, weights = [], []
        for k, axis in enumerate(self.p.axes):
            scaled = axis * self.sizes[k]
            fixed = np.floor((scaled - 0.5) * 256 + 0.5).astype(np.int64)
            near = np.where(linear, fixed >> 8, np.floor(scaled).astype(np.int64))
            weight = np.where(linear, (fixed & 255) / 256, 0.0).astype(np.float32)
            offset = offsets[k] if k < len(offsets) else 0
            pairs.append([near + offset, near + offset + 1])
            weights.append(weight)
        return pairs, weights

    def filtered(self, linear: Array, offsets: tuple[int, ...]) -> Array:
        """Point or linear filtering within the level."""
        pairs, weights = self.corners(linear, offsets)

        def along(axis: int, chosen: list[Array]) -> Array:
            if axis < 0:
                return self.texel(chosen)
            first = along(axis - 1, [pairs[axis][0], *chosen])
            if not weights[axis].any():
                return first
            second = along(axis - 1, [pairs[axis][1], *chosen])
            w = weights[axis][:, None]
            # A weight of 0 must not let NaN or infinity through.
            return np.where(w > 0, first * (1 - w) + second * w, first)

        return along(len(pairs) - 1, [])


def sample(
    texture: Texture, s: Sampler, p: Place, lod: Array, *, offsets: tuple[int, ...] = (0, 0, 0), reference: Array | None = None
) -> Array:
    """Sample at a clamped ``lod``; colours ``(n, 4)`` float32, or raw uint32 for integer formats."""
    integer = texture.info.is_integer
    reference = _reference(texture, reference)
    linear = np.where(lod <= 0, s.mag_filter == Filter.LINEAR, s.min_filter == Filter.LINEAR) | s.anisotropic
    if integer:
        linear = np.zeros(len(lod), bool)
    if s.mip_filter == Filter.POINT or integer:
        level = np.clip(np.floor(lod + 0.5), 0, texture.mips - 1).astype(np.int64)
        return _Fetch(texture, s, p, level, reference).filtered(linear, offsets)
    fixed = np.floor(lod * 256 + 0.5).astype(np.int64)
    level = fixed >> 8
    weight = ((fixed & 255) / 256).astype(np.float32)[:, None]
    near = _Fetch(texture, s, p, level, reference).filtered(linear, offsets)
    if not weight.any():
        return near
    far = _Fetch(texture, s, p, np.minimum(level + 1, texture.mips - 1), reference).filtered(linear, offsets)
    return np.where(weight > 0, near * (1 - weight) + far * weight, near)


def _reference(texture: Texture, reference: Array | None) -> Array | None:
    """Against UNORM depth the reference is clamped to its range."""
    if reference is None or texture.info.type != NumberType.UNORM:
        return reference
    return np.clip(reference, np.float32(0), np.float32(1))


def sample_footprint(
    texture: Texture, s: Sampler, p: Place, bias: Array, *, offsets: tuple[int, ...] = (0, 0, 0), reference: Array | None = None
) -> Array:
    """Sample with derivatives: isotropic, or anisotropic along the longer axis for 2D textures."""
    a, b = scale_of(texture, p)
    if not s.anisotropic or s.max_anisotropy <= 1 or texture.view.dimension != ViewDimension.TEXTURE2D:
        lod = np.log2(np.maximum(np.maximum(a, b), 2.0**-126)) + bias
        return sample(texture, s, p, clamp_lod(texture, s, lod), offsets=offsets, reference=reference)
    assert p.ddx is not None
    assert p.ddy is not None
    longer, shorter = np.maximum(a, b), np.maximum(np.minimum(a, b), 2.0**-126)
    probes = np.clip(np.ceil(longer / shorter), 1, s.max_anisotropy).astype(np.int64)
    lod = clamp_lod(texture, s, np.log2(np.maximum(longer / probes, 2.0**-126)) + bias)
    axis = [np.where(a >= b, u, v) for u, v in zip(p.ddx, p.ddy, strict=True)]
    total = np.zeros((len(a), 4), np.float32)
    for k in range(int(probes.max())):
        shift = np.where(k < probes, (2 * k + 1) / (2 * probes) - 0.5, 0)
        moved = Place([c + d * shift for c, d in zip(p.axes, axis, strict=True)], p.layer, p.face)
        color = sample(texture, s, moved, lod, offsets=offsets, reference=reference)
        if color.dtype == np.uint32:
            return color
        total += np.where((k < probes)[:, None], color, 0)
    return (total / probes[:, None]).astype(np.float32)


def gather(
    texture: Texture, s: Sampler, p: Place, component: int, offsets: list[Array], reference: Array | None = None
) -> Array:
    """One component of the four texels that linear filtering would take on the first mip: (0,1) (1,1) (1,0) (0,0)."""
    n = len(p.axes[0])
    fetch = _Fetch(texture, s, p, np.zeros(n, np.int64), _reference(texture, reference))
    pairs, _ = fetch.corners(np.ones(n, bool), ())
    out = np.zeros((n, 4), np.float32 if not texture.info.is_integer else np.uint32)
    for k, (i, j) in enumerate(((0, 1), (1, 1), (1, 0), (0, 0))):
        index = [pairs[0][i] + offsets[0], pairs[1][j] + offsets[1]]
        out[:, k] = fetch.texel(index)[:, component]
    return out
