"""Clears, copies, mips and blits against plain numpy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.vgpu.rig import Rig, Surface
from vgpu.engine import FaultError
from vgpu.engine.reference import formats
from wddm.hw.descriptors import View, ViewDimension, float_bits
from wddm.hw.formats import FORMATS, Format
from wddm.hw.interrupts import Fault
from wddm.hw.packets import Blt, ClearKind, CopyRegion, Op


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()


def surfaces(rig: Rig, target: Surface, source: Surface | None = None, **views: int) -> None:
    rig.emit(Op.SET_SURFACE, slot=0, **target.view(**views))
    if source is not None:
        rig.emit(Op.SET_SURFACE, slot=1, **source.view())


def test_clears_with_rectangles_slices_and_integers(rig: Rig) -> None:
    s = Surface(rig, Format.R8G8B8A8_UNORM, 6, 4, mips=2, slices=2)
    surfaces(rig, s, first_mip=1, mip_count=1, first_slice=1, slice_count=1)
    rig.emit(Op.CLEAR_COLOR, data=[float_bits(v) for v in (1, 0.5, 0, 1)])
    rig.run()
    assert s.elements(mip=1, slice=1).reshape(-1, 4).tolist() == [[255, 128, 0, 255]] * 6
    assert not s.elements(mip=0, slice=1).any()
    assert not s.elements(mip=1, slice=0).any()
    surfaces(rig, s, mip_count=1, slice_count=1)
    rig.emit(Op.CLEAR_COLOR, arg=ClearKind.UINT | ClearKind.RECTANGLE, data=[0x1FF, 2, 3, 4, 1, 1, 3, 100])
    rig.run()
    got = s.elements()
    assert got[1:4, 1:3].reshape(-1, 4).tolist() == [[255, 2, 3, 4]] * 6
    assert got.sum() == 6 * 264
    i = Surface(rig, Format.R16_SINT, 2, 2)
    rig.clear(i, -5.7)
    rig.run()
    assert (i.typed("<i2") == -5).all()


def test_clears_of_buffers(rig: Rig) -> None:
    address = rig.allocate(64)
    raw = View(ViewDimension.RAW_BUFFER, 0, 8, 2).pack()
    rig.emit(Op.SET_SURFACE, address=address, extent=64, data=raw)
    rig.emit(Op.CLEAR_COLOR, arg=ClearKind.UINT, data=[9])
    typed = View(ViewDimension.BUFFER, Format.R16G16_UNORM, 2, 12).pack()
    rig.emit(Op.SET_SURFACE, address=address, extent=64, data=typed)
    rig.emit(Op.CLEAR_COLOR, data=[float_bits(1), 0])
    rig.run()
    assert rig.read(address, 16).tolist() == [0, 0, *[9] * 8, 0, 0, 0xFFFF, 0xFFFF, 0, 0]


@pytest.mark.parametrize("format", [Format.D16_UNORM, Format.D24_UNORM_S8_UINT, Format.D32_FLOAT_S8X24_UINT], ids=lambda f: f.name)
def test_depth_clears_keep_the_other_plane(rig: Rig, format: Format) -> None:
    s = Surface(rig, format, 3, 2)
    rig.clear_depth(s, 0.5, 3)
    rig.clear_depth(s, 1.0, 9, arg=1)
    rig.run()
    cell = s.elements()[1, 2]
    if format == Format.D24_UNORM_S8_UINT:
        assert cell.tolist() == [255, 255, 255, 3]
    elif format == Format.D16_UNORM:
        assert cell.tolist() == [255, 255]
    else:
        assert cell[:5].tolist() == [0, 0, 128, 63, 3]


def region(rig: Rig, **fields: int) -> None:
    data = [0] * 8
    for name, value in fields.items():
        data[CopyRegion[name]] = value
    rig.emit(Op.COPY_REGION, data=data)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_boxes_are_copied_or_refused(data: st.DataObject) -> None:
    rig = Rig(size=1 << 20)
    some = [Format.R8_UINT, Format.R32G32B32_FLOAT, Format.BC1_UNORM, Format.R16G16B16A16_FLOAT, Format.R8_UNORM]
    formats = st.sampled_from(some)
    size = st.integers(1, 13)
    to = Surface(rig, data.draw(formats), data.draw(size), data.draw(size), slices=2)
    from_ = Surface(rig, data.draw(formats), data.draw(size), data.draw(size), slices=3)
    rng = np.random.default_rng(1)
    for s in range(3):
        cells = from_.elements(slice=s)
        cells[:] = rng.integers(0, 256, cells.shape)
    ti, fi = FORMATS[to.format], FORMATS[from_.format]
    place = st.integers(0, 9)
    tx, ty, fx, fy = (data.draw(place) for _ in range(4))
    width, height, slices = data.draw(size), data.draw(size), data.draw(st.integers(1, 3))
    surfaces(rig, to, from_)
    region(
        rig,
        DST_XY=tx | ty << 16,
        SRC_XY=fx | fy << 16,
        SRC_SUBRESOURCE=1 << 16,
        SIZE_WH=width | height << 16,
        SLICES=slices,
    )
    columns, rows = -(-width // fi.block), -(-height // fi.block)
    ok = (
        ti.bytes_per_block == fi.bytes_per_block
        and not (tx % ti.block or ty % ti.block or fx % fi.block or fy % fi.block)
        and slices <= 2
        and tx // ti.block + columns <= to.elements().shape[1]
        and ty // ti.block + rows <= to.elements().shape[0]
        and fx // fi.block + columns <= from_.elements().shape[1]
        and fy // fi.block + rows <= from_.elements().shape[0]
    )
    if not ok:
        with pytest.raises(FaultError) as caught:
            rig.run()
        assert caught.value.fault == Fault.BAD_PACKET
    else:
        rig.run()
        for s in range(slices):
            x, y, u, v = tx // ti.block, ty // ti.block, fx // fi.block, fy // fi.block
            got, want = to.elements(slice=s), from_.elements(slice=1 + s)
            assert (got[y : y + rows, x : x + columns] == want[v : v + rows, u : u + columns]).all()
    rig.close()


def test_volumes_and_arrays_copy_into_each_other(rig: Rig) -> None:
    volume, array = Surface(rig, Format.R8_UINT, 2, 2, depth=4), Surface(rig, Format.R8_UINT, 2, 2, slices=3)
    for z in range(4):
        volume.elements(z=z)[:] = z + 1
    surfaces(rig, array, volume)
    region(rig, SRC_Z=1 | 3 << 16, SIZE_WH=2 | 2 << 16)
    rig.run()
    assert [int(array.elements(slice=s)[0, 0, 0]) for s in range(3)] == [2, 3, 4]
    surfaces(rig, volume, array)
    region(rig, DST_Z=2, SRC_SUBRESOURCE=0, SIZE_WH=1 | 1 << 16, SLICES=2)
    rig.run()
    assert [int(volume.elements(z=z)[0, 0, 0]) for z in range(4)] == [1, 2, 2, 3]


def test_mips_average_four_texels_in_linear_light(rig: Rig) -> None:
    s = Surface(rig, Format.R8_UNORM, 5, 2, mips=3)
    s.put(np.array([[0, 100, 200, 40, 7], [50, 50, 0, 0, 9]], np.uint8))
    surfaces(rig, s)
    rig.emit(Op.GENERATE_MIPS)
    rig.run()
    assert s.elements(mip=1).reshape(-1).tolist() == [50, 60]
    assert s.elements(mip=2).reshape(-1).tolist() == [55]
    srgb = Surface(rig, Format.R8G8B8A8_UNORM_SRGB, 2, 1, mips=2)
    srgb.put(np.array([[[0] * 4, [255] * 4]], np.uint8))
    surfaces(rig, srgb)
    rig.emit(Op.GENERATE_MIPS)
    rig.run()
    assert srgb.elements(mip=1)[0, 0].tolist() == [188, 188, 188, 128]


def blit(rig: Rig, target: Surface, source: Surface, to: tuple[int, ...], from_: tuple[int, ...], flags: int) -> None:
    surfaces(rig, target, source)
    data = [0] * 8
    data[Blt.DST_LEFT_TOP], data[Blt.DST_RIGHT_BOTTOM] = to[0] | to[1] << 16, to[2] | to[3] << 16
    data[Blt.SRC_LEFT_TOP], data[Blt.SRC_RIGHT_BOTTOM] = from_[0] | from_[1] << 16, from_[2] | from_[3] << 16
    data[Blt.FLAGS] = flags
    rig.emit(Op.BLT, data=data)
    rig.run()


@pytest.mark.parametrize("turns", range(4))
def test_blits_rotate_counter_clockwise_and_convert(rig: Rig, turns: int) -> None:
    source = Surface(rig, Format.R8G8B8A8_UNORM, 3, 2)
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 3, 4) * 10
    source.put(pixels)
    want = np.rot90(pixels, turns)[:, :, [2, 1, 0, 3]]
    target = Surface(rig, Format.B8G8R8A8_UNORM, 5, 5)
    blit(rig, target, source, (1, 1, 1 + want.shape[1], 1 + want.shape[0]), (0, 0, 3, 2), turns | 4)
    assert (target.elements()[1 : 1 + want.shape[0], 1 : 1 + want.shape[1]] == want).all()
    assert not target.elements()[0].any()


def test_blits_stretch(rig: Rig) -> None:
    source = Surface(rig, Format.R8_UNORM, 2, 1)
    source.put(np.array([[0, 200]], np.uint8))
    target = Surface(rig, Format.R8_UNORM, 4, 1)
    blit(rig, target, source, (0, 0, 4, 1), (0, 0, 2, 1), 0)
    assert target.elements().reshape(-1).tolist() == [0, 50, 150, 200]
    blit(rig, target, source, (0, 0, 4, 1), (0, 0, 2, 1), 4)
    assert target.elements().reshape(-1).tolist() == [0, 0, 200, 200]
    blit(rig, target, source, (2, 0, 40, 9), (1, 0, 2, 1), 0)
    assert target.elements().reshape(-1).tolist() == [0, 0, 200, 200]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from([Op.CLEAR_COLOR, Op.CLEAR_DEPTH_STENCIL, Op.COPY_REGION, Op.RESOLVE, Op.GENERATE_MIPS, Op.BLT]), st.data())
def test_any_descriptor_and_data(op: Op, data: st.DataObject) -> None:
    """Garbage ends in a fault or touches the surface alone."""
    rig = Rig(size=1 << 20)
    small = st.one_of(st.integers(0, 20), st.integers(0, 2**32 - 1))
    for slot in (0, 1):
        view = Surface(rig, Format.R8G8B8A8_UNORM, 8, 8).view()
        words = list(view["data"])
        for at in data.draw(st.lists(st.integers(0, 7), max_size=3)):
            words[at] = data.draw(small)
        rig.emit(Op.SET_SURFACE, slot=slot, **{**view, "data": words})
    guard = rig.allocate(4096)
    rig.emit(op, arg=data.draw(small), data=data.draw(st.lists(small, max_size=8)))
    try:
        rig.run()
    except FaultError as error:
        assert error.why
    assert not rig.memory.view(guard, 4096).any()
    rig.close()


_BYTES = [
    Format.R8G8B8A8_UNORM, Format.R8G8B8A8_UNORM_SRGB, Format.B8G8R8A8_UNORM, Format.B8G8R8X8_UNORM, Format.R8_UNORM,
    Format.R8G8_UNORM, Format.A8_UNORM, Format.R10G10B10A2_UNORM,
]  # fmt: skip


@pytest.mark.parametrize("target", _BYTES, ids=lambda f: f.name)
@pytest.mark.parametrize("source", _BYTES, ids=lambda f: f.name)
def test_blits_of_bytes_in_another_order_give_what_conversion_gives(rig: Rig, target: Format, source: Format) -> None:
    a, b = Surface(rig, source, 40, 32), Surface(rig, target, 40, 32)
    size = FORMATS[source].bytes_per_block
    values = np.random.default_rng(1).integers(0, 256, (32, 40, size), np.uint8)
    values[:, :8] = np.arange(256, dtype=np.uint8).reshape(32, 8, 1)
    a.put(values)
    blit(rig, b, a, (3, 2, 39, 31), (4, 3, 40, 32), 0)
    rig.run()
    want = formats.pack(FORMATS[target], formats.unpack(FORMATS[source], values[3:32, 4:40].reshape(-1, size)))
    assert (b.elements()[2:31, 3:39].reshape(want.shape) == want).all()
    assert not b.elements()[:2].any()
    assert not b.elements()[:, :3].any()


@pytest.mark.parametrize(
    "format",
    [Format.R8G8B8A8_UNORM, Format.R8G8B8A8_UNORM_SRGB, Format.R16G16B16A16_UNORM, Format.B5G6R5_UNORM, Format.R10G10B10A2_UNORM,
     Format.B8G8R8X8_UNORM, Format.R8_SNORM, Format.R16_FLOAT],
    ids=lambda f: f.name,
)  # fmt: skip
@pytest.mark.parametrize("same", [0.0, 0.5, 0.9, 1.0])
def test_resolves_of_samples_that_agree_give_what_the_average_gives(rig: Rig, format: Format, same: float) -> None:
    info, random = FORMATS[format], np.random.default_rng(2)
    a, b = Surface(rig, format, 64, 64, samples=4), Surface(rig, format, 64, 64)
    samples = random.integers(0, 256, (4, 64, 64, info.bytes_per_block), np.uint8)
    agree = random.random((64, 64)) < same
    samples[1:, agree] = samples[0, agree]
    for i in range(4):
        a.put(samples[i], sample=i)
    surfaces(rig, b, a)
    rig.emit(Op.RESOLVE, arg=format)
    rig.run()
    total = np.zeros((64 * 64, 4))
    with np.errstate(all="ignore"):
        for one in samples:
            total += formats.unpack(info, one.reshape(64 * 64, -1)).view(np.float32)
        want = formats.pack(info, formats.bits(total / 4))
    assert (b.elements().reshape(want.shape) == want).all()
