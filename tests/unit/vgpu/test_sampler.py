"""Sampling against straightforward scalar Python: addressing, filtering, mips, comparison, gathering, cubes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.vgpu.rig import Rig, Surface
from vgpu.engine import FaultError
from vgpu.engine.reference import sampler as sampling
from vgpu.engine.reference.surface import Texture, _shape
from wddm.hw.descriptors import AddressMode, Comparison, Filter, Sampler, View, ViewDimension, ViewFlag
from wddm.hw.formats import Format

Array = npt.NDArray[Any]
MODES = list(AddressMode)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()


def make(rig: Rig, width: int, height: int, *, mips: int = 1, slices: int = 1, depth: int = 1, **view: Any) -> Texture:
    """A float texture of random numbers."""
    surface = Surface(rig, Format.R32G32B32A32_FLOAT, width, height, mips=mips, slices=slices, depth=depth)
    rng = np.random.default_rng(width * 100 + height)
    data = rig.memory.view(surface.address, surface.layout.size, write=True).view(np.float32)
    data[:] = rng.random(data.size, np.float32)
    fields = surface.view(**view)
    return Texture(_shape(fields["data"]), rig.memory.view(surface.address, surface.layout.size))


def texel(t: Texture, mip: int, layer: int, y: int, x: int) -> Array:
    colors = t.read(np.array([mip]), np.array([layer]), np.array([y]), np.array([x]))
    return np.asarray(colors.view(np.float32)[0], np.float64)


def address(mode: int, i: int, n: int) -> int | None:
    """Texel index by address mode, None for the border."""
    if mode == AddressMode.WRAP:
        return i % n
    if mode == AddressMode.MIRROR:
        i %= 2 * n
        return i if i < n else 2 * n - 1 - i
    if mode == AddressMode.MIRROR_ONCE:
        return min(i if i >= 0 else -1 - i, n - 1)
    if mode == AddressMode.BORDER:
        return i if 0 <= i < n else None
    return min(max(i, 0), n - 1)


def scalar(t: Texture, s: Sampler, u: float, v: float, mip: int, linear: bool) -> Array:
    """Bilinear or point sampling of one level."""
    width, height, _ = (int(e) for e in t.extent(mip))
    modes = (s.address_u, s.address_v)

    def at(i: int, j: int) -> Array:
        x, y = address(modes[0], i, width), address(modes[1], j, height)
        return np.array(s.border) if x is None or y is None else texel(t, mip, 0, y, x)

    if not linear:
        return at(math.floor(np.float64(u) * width), math.floor(np.float64(v) * height))
    fx, fy = math.floor((u * width - 0.5) * 256 + 0.5), math.floor((v * height - 0.5) * 256 + 0.5)
    i, j, a, b = fx >> 8, fy >> 8, (fx & 255) / 256, (fy & 255) / 256
    row0, row1 = (at(i, j + d) * (1 - a) + (at(i + 1, j + d) * a if a else 0) for d in (0, 1))
    return row0 * (1 - b) + (row1 * b if b else 0)


def sample(t: Texture, s: Sampler, u: float, v: float, lod: float = 0.0, **more: Any) -> Array:
    p = sampling.place(t, [np.array([u], np.float32), np.array([v], np.float32)], False)
    with np.errstate(all="ignore"):
        return np.asarray(sampling.sample(t, s, p, sampling.clamp_lod(t, s, np.array([lod])), **more)[0], np.float64)


COORDINATE = st.floats(-3, 3, width=32)


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@pytest.mark.parametrize("linear", [False, True])
@settings(deadline=None, max_examples=25)
@given(st.data())
def test_address_modes_and_filters(rig: Rig, mode: AddressMode, linear: bool, data: st.DataObject) -> None:
    t = TEXTURES.setdefault("plain", make(rig, 7, 5))
    f = Filter.LINEAR if linear else Filter.POINT
    s = Sampler(min_filter=f, mag_filter=f, mip_filter=0, address_u=mode, address_v=mode, border=(9, 8, 7, 6))
    u, v = data.draw(COORDINATE), data.draw(COORDINATE)
    assert sample(t, s, u, v) == pytest.approx(scalar(t, s, u, v, 0, linear), abs=1e-5)


TEXTURES: dict[str, Texture] = {}


@settings(deadline=None, max_examples=40)
@given(st.floats(-2, 5), st.floats(0, 1, width=32), st.floats(0, 1, width=32), st.floats(-1, 1), st.booleans())
def test_mips(rig: Rig, lod: float, u: float, v: float, bias: float, linear_mips: bool) -> None:
    t = TEXTURES.setdefault("mips", make(rig, 16, 8, mips=5))
    s = Sampler(mip_filter=int(linear_mips), mip_lod_bias=bias, min_lod=0.5, max_lod=3.5)
    lod_clamped = min(max(lod + np.float64(bias), 0.5), 3.5)
    if linear_mips:
        fixed = math.floor(lod_clamped * 256 + 0.5)
        level, f = fixed >> 8, (fixed & 255) / 256
        want = scalar(t, s, u, v, level, True) * (1 - f) + scalar(t, s, u, v, min(level + 1, 4), True) * f
    else:
        want = scalar(t, s, u, v, math.floor(lod_clamped + 0.5), True)
    assert sample(t, s, u, v, lod) == pytest.approx(want, abs=1e-5)


def test_magnification_and_minification_have_their_own_filters(rig: Rig) -> None:
    t = make(rig, 9, 9, mips=4)
    s = Sampler(mag_filter=Filter.POINT, min_filter=Filter.LINEAR, mip_filter=Filter.POINT)
    u, v = float(np.float32(0.4)), float(np.float32(0.3))
    assert sample(t, s, 0.4, 0.3, 0.0) == pytest.approx(scalar(t, s, u, v, 0, False))
    assert sample(t, s, 0.4, 0.3, 0.1) == pytest.approx(scalar(t, s, u, v, 0, True), abs=1e-6)


def test_offsets_and_views_into_arrays_and_mips(rig: Rig) -> None:
    t = make(rig, 8, 8, mips=3, slices=4, first_mip=1, mip_count=2, first_slice=2, slice_count=2, flags=ViewFlag.ARRAY)
    s = Sampler(min_filter=0, mag_filter=0, mip_filter=0)
    coords = [np.array([0.1], np.float32), np.array([0.6], np.float32), np.array([1.4], np.float32)]
    p = sampling.place(t, coords, True)
    got = sampling.sample(t, s, p, np.array([0.0]), offsets=(1, -1, 0))[0]
    assert got == pytest.approx(texel(t, 0, 1, 1, 1))
    assert int(t.extent(0)[0]) == 4


def test_volumes_filter_in_three_axes(rig: Rig) -> None:
    t = make(rig, 2, 2, depth=2)
    p = sampling.place(t, [np.array([0.5], np.float32)] * 3, False)
    got = sampling.sample(t, Sampler(), p, np.array([0.0]))[0]
    want = np.mean([texel(t, 0, z, y, x) for z in (0, 1) for y in (0, 1) for x in (0, 1)], axis=0)
    assert got == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize("comparison", list(Comparison), ids=lambda c: c.name)
def test_comparison_filters_the_results(rig: Rig, comparison: Comparison) -> None:
    t = make(rig, 4, 4)
    s = Sampler(compare=True, comparison=comparison)
    got = sample(t, s, 0.4, 0.55, reference=np.array([0.5], np.float32))[0]
    names = ("", "__never__", "__lt__", "__eq__", "__le__", "__gt__", "__ne__", "__ge__", "__always__")
    name = names[comparison]

    def passed(x: int, y: int) -> float:
        d = float(texel(t, 0, 0, y, x)[0])
        return {"__never__": 0.0, "__always__": 1.0}.get(name, float(getattr(0.5, name, lambda d: 0)(d)))

    fx, fy = math.floor((float(np.float32(0.4)) * 4 - 0.5) * 256 + 0.5), math.floor((float(np.float32(0.55)) * 4 - 0.5) * 256 + 0.5)
    a, b, i, j = (fx & 255) / 256, (fy & 255) / 256, fx >> 8, fy >> 8
    rows = [passed(i, j + d) * (1 - a) + passed(i + 1, j + d) * a for d in (0, 1)]
    assert got == pytest.approx(rows[0] * (1 - b) + rows[1] * b, abs=1e-6)


def test_gather_order(rig: Rig) -> None:
    t = make(rig, 4, 4)
    p = sampling.place(t, [np.array([0.5], np.float32), np.array([0.5], np.float32)], False)
    zero = [np.array([0]), np.array([0])]
    got = sampling.gather(t, Sampler(), p, 2, zero)[0]
    assert got == pytest.approx([texel(t, 0, 0, y, x)[2] for x, y in ((1, 2), (2, 2), (2, 1), (1, 1))])


def test_lod_and_anisotropy_from_derivatives(rig: Rig) -> None:
    t = make(rig, 16, 16, mips=5)
    one, zero = np.array([0.5], np.float32), np.array([0.0], np.float32)
    p = sampling.place(t, [one, one], False, [np.array([4 / 16], np.float32), zero], [zero, np.array([1 / 16], np.float32)])
    assert sampling.unclamped_lod(t, p)[0] == pytest.approx(2)
    isotropic = sampling.sample_footprint(t, Sampler(), p, np.zeros(1))
    assert isotropic == pytest.approx(sampling.sample(t, Sampler(), p, np.array([2.0])))
    s = Sampler(anisotropic=True, max_anisotropy=4)
    got = sampling.sample_footprint(t, s, p, np.zeros(1))[0]
    want = np.mean([sample(t, Sampler(), 0.5 + 0.25 * ((2 * k + 1) / 8 - 0.5), 0.5) for k in range(4)], axis=0)
    assert got == pytest.approx(want, abs=1e-6)


DIRECTIONS = {0: (1, 0, 0), 1: (-1, 0, 0), 2: (0, 1, 0), 3: (0, -1, 0), 4: (0, 0, 1), 5: (0, 0, -1)}


@pytest.mark.parametrize("face", range(6))
def test_cube_faces_and_seamless_edges(rig: Rig, face: int) -> None:
    t = make(rig, 4, 4, slices=6, dimension=ViewDimension.TEXTURECUBE)
    s = Sampler()

    def at(x: float, y: float, z: float) -> Array:
        p = sampling.place(t, [np.array([v], np.float32) for v in (x, y, z)], False)
        with np.errstate(all="ignore"):
            return np.asarray(sampling.sample(t, s, p, np.array([0.0]))[0])

    middle = np.mean([texel(t, 0, face, y, x) for x in (1, 2) for y in (1, 2)], axis=0)
    assert at(*DIRECTIONS[face]) == pytest.approx(middle, abs=1e-6)
    # Across an edge both sides agree: the filter takes texels of both faces.
    for other in range(6):
        if other // 2 != face // 2:
            a, b = np.array(DIRECTIONS[face]), np.array(DIRECTIONS[other])
            assert at(*(a * 1.0001 + b)) == pytest.approx(at(*(a + b * 1.0001)), abs=0.01)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 2**32 - 1), min_size=8, max_size=8))
def test_any_sampler_and_view_bits(words: list[int]) -> None:
    with contextlib.suppress(FaultError):
        sampling._sampler(tuple(words))
    with contextlib.suppress(FaultError):
        _shape(tuple(words))
    view = View(ViewDimension.TEXTURE2D, Format.R8_UNORM, 4, 4, mip_count=words[0] & 0xFF, slice_count=words[1] & 0xFFFF)
    with contextlib.suppress(FaultError):
        _shape(view.pack())


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e30, -1e30])
def test_wild_coordinates_stay_inside(rig: Rig, value: float) -> None:
    t = TEXTURES.setdefault("plain", make(rig, 7, 5))
    for mode in MODES:
        out = sample(t, Sampler(address_u=mode, address_v=mode), value, value)
        assert np.isfinite(out).all()
