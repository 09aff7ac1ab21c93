"""Interpolation modes, pull-model evaluation, derivatives and resource queries as pixel programs see them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.unit.vgpu.rig import PASS_VS, Rig, Surface
from tests.unit.vgpu.test_draw import pixels_to_clip, set_up
from vgpu.engine.reference.resources import sample_positions
from wddm.hw import descriptors as ds
from wddm.hw.descriptors import View, ViewDimension, ViewFlag
from wddm.hw.formats import Format
from wddm.hw.packets import Op


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()


SCREEN = np.array([(0.0, 0.0), (16.0, 0.0), (0.0, 16.0)])


def shade(rig: Rig, ps: str, *, samples: int = 1, w: tuple[float, ...] = (1, 1, 1), colors: object = None) -> Surface:
    """Draw a half-screen triangle whose attribute is its place on the screen, in pixels."""
    target = Surface(rig, Format.R32G32B32A32_FLOAT, 16, 16, samples=samples)
    attributes = np.zeros((3, 4))
    attributes[:, :2] = SCREEN
    attributes = attributes if colors is None else np.asarray(colors, np.float64)
    set_up(rig, target, pixels_to_clip(SCREEN, 16, 16) * np.array(w)[:, None], attributes)
    rig.shader(PASS_VS)
    rig.shader(ps)
    rig.draw(3)
    rig.run()
    return target


def through(mode: str) -> str:
    return f"pixel\ninput 1 xy interp={mode}\noutput 0 xyzw sv=TARGET\nmov o0.x, v1.x\nmov o0.y, v1.y\n"


def test_noperspective_is_linear_on_the_screen_and_perspective_is_not(rig: Rig) -> None:
    flat = shade(rig, through("LINEAR_NOPERSPECTIVE"), w=(1, 5, 2)).typed("<f4")
    assert flat[3, 4, :2] == pytest.approx([4.5, 3.5], abs=1e-5)
    bent = shade(rig, through("LINEAR"), w=(1, 5, 2)).typed("<f4")
    b = np.array([1 - 8 / 16, 4.5 / 16, 3.5 / 16]) / [1, 5, 2]
    b /= b.sum()
    assert bent[3, 4, :2] == pytest.approx(b @ SCREEN, rel=1e-5)


def test_constant_takes_the_leading_vertex(rig: Rig) -> None:
    image = shade(rig, through("CONSTANT"), colors=np.array([[7, 8, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2]])).typed("<f4")
    assert image[2, 2, :2].tolist() == [7, 8]


def test_centroid_and_sample_places(rig: Rig) -> None:
    offsets = sample_positions(4) / 16
    centre = shade(rig, through("LINEAR"), samples=4)
    centroid = shade(rig, through("LINEAR_CENTROID"), samples=4)
    sample = shade(rig, through("LINEAR_SAMPLE"), samples=4)
    inner = (4, 3)
    for s in range(4):
        assert centre.typed("<f4", sample=s)[inner][:2] == pytest.approx([3.5, 4.5], abs=1e-5)
        assert centroid.typed("<f4", sample=s)[inner][:2] == pytest.approx([3.5, 4.5], abs=1e-5)
        assert sample.typed("<f4", sample=s)[inner][:2] == pytest.approx([3.5, 4.5] + offsets[s], abs=1e-5)
    edge = (9, 6)  # the diagonal x + y = 16 runs through: two samples are covered
    covered = [s for s in range(4) if offsets[s].sum() < 0]
    for s in range(4):
        got = centroid.typed("<f4", sample=s)[edge][:2]
        want = [6.5, 9.5] + offsets[covered[0]] if s in covered else [0, 0]
        assert got == pytest.approx(want, abs=1e-5)


def test_pull_model_evaluation(rig: Rig) -> None:
    head = "pixel temps=4\ninput 1 xy interp=LINEAR\noutput 0 xyzw sv=TARGET\n"
    offsets = sample_positions(4) / 16
    at = shade(rig, head + "eval_sample o0.x, v1.x, 2\neval_sample o0.y, v1.y, 2\n", samples=4).typed("<f4")
    assert at[4, 3, :2] == pytest.approx([3.5, 4.5] + offsets[2], abs=1e-5)
    at = shade(rig, head + "eval_snapped o0.x, v1.x, -8, 7\neval_snapped o0.y, -v1.y, -8, 7\neval_centroid o0.z, v1.x\n").typed("<f4")
    assert at[4, 3, :3] == pytest.approx([3.0, -(4.5 + 7 / 16), 3.5], abs=1e-5)


def test_positions_and_derivatives(rig: Rig) -> None:
    text = (
        "pixel temps=4\noutput 0 xyzw sv=TARGET\nfmul r0, $POSITION_X, $POSITION_Y\nddx_coarse o0.x, r0\nddy_coarse o0.y, r0\n"
        "ddx_fine o0.z, r0\nddy_fine o0.w, r0\n"
    )
    image = shade(rig, text).typed("<f4")
    for y in range(8):
        for x in range(7):
            qx, qy = x & ~1, y & ~1
            want = [qy + 0.5, qx + 0.5, y + 0.5, x + 0.5]
            assert image[y, x].tolist() == want
    image = shade(rig, "pixel\noutput 0 xyzw sv=TARGET\nmov o0.x, $POSITION_W\nmov o0.y, $POSITION_Z\n", w=(2, 2, 2)).typed("<f4")
    assert image[3, 3, 0] == 2


QUERIES = {
    "resinfo r4, 0 t0 control=2": [16, 8, 3, 5],
    "resinfo r4, 2 t0 control=2": [4, 2, 3, 5],
    "resinfo r4, 7 t0 control=2": [0, 0, 3, 5],
    "sampleinfo r4 t1 control=1": [4, 0, 0, 0],
    "sampleinfo r4 rasterizer=1 control=1": [1, 0, 0, 0],
    "bufinfo r4 t2": [9, 9, 9, 9],
    "bufinfo r4 t3": [28, 28, 28, 28],
    "resinfo r4, 0 t4 control=2": [4, 4, 0, 1],
    "resinfo r4, 0 t5 control=2": [0, 0, 0, 0],
}


@pytest.mark.parametrize("line", QUERIES)
def test_sizes(rig: Rig, line: str) -> None:
    target = Surface(rig, Format.R32G32B32A32_UINT, 2, 2)
    set_up(rig, target, pixels_to_clip(np.array([(0, 0), (4, 0), (0, 4)]), 2, 2))
    moves = "".join(f"mov o0.{c}, r{4 + i}\n" for i, c in enumerate("xyzw"))
    rig.shader(
        "pixel temps=8\noutput 0 xyzw sv=TARGET\nresource 0 TEXTURE2D array\nresource 1 TEXTURE2D ms\n"
        f"resource 2 STRUCTURED_BUFFER stride=12\nresource 3 RAW_BUFFER\nresource 4 TEXTURECUBE\nresource 5 TEXTURE3D\n{line}\n{moves}"
    )
    array = Surface(rig, Format.R8_UNORM, 16, 8, mips=5, slices=4)
    several = Surface(rig, Format.R8_UNORM, 4, 4, samples=4)
    cube = Surface(rig, Format.R8_UNORM, 4, 4, slices=6)
    views = [
        array.view(first_slice=1, slice_count=3, flags=ViewFlag.ARRAY),
        several.view(),
        {"address": rig.allocate(256), "extent": 256, "data": View(ViewDimension.STRUCTURED_BUFFER, 0, 9, 1, stride=12).pack()},
        {"address": rig.allocate(256), "extent": 256, "data": View(ViewDimension.RAW_BUFFER, 0, 7, 1).pack()},
        cube.view(dimension=ViewDimension.TEXTURECUBE),
        cube.view(),  # not what slot 5 declares: as if nothing were bound
    ]
    for slot, view in enumerate(views):
        rig.emit(Op.SET_RESOURCE, slot=0x400 | slot, **view)
    rig.draw(3)
    rig.run()
    assert target.typed("<u4")[1, 1].tolist() == QUERIES[line]


SAMPLES = {
    "sample_level r4, r0, 1.0 t0 s0": 100,
    "sample_bias r4, r0, 1.0 t0 s0": 100,
    "sample r4, r0 t0 s0": 50,
    "sample_grad r4, r0, r2, r2 t0 s0": 200,
    "sample r4, r0 t1 s0": 0,
    "load r4, r12, 2 t0": 200,
    "load r4, r12, 9 t0": 0,
    "gather4 r4, r0 t0 s0 component=x": 50,
    "sample_level r4, r0, 0.0 t0 s5": 50,
}


@pytest.mark.parametrize("line", SAMPLES)
def test_sample_operations(rig: Rig, line: str) -> None:
    texture = Surface(rig, Format.R8_UNORM, 4, 4, mips=3)
    for mip, value in enumerate((50, 100, 200)):
        texture.elements(mip=mip)[:] = value
    target = Surface(rig, Format.R8_UNORM, 4, 4)
    coordinates = np.zeros((3, 4))
    coordinates[:, :2] = np.array([(0, 0), (2, 0), (0, 2)])
    set_up(rig, target, pixels_to_clip(np.array([(0, 0), (8, 0), (0, 8)]), 4, 4), coordinates)
    rig.shader(
        "pixel temps=16\ninput 1 xy interp=LINEAR\noutput 0 xyzw sv=TARGET\nresource 0 TEXTURE2D\n"
        f"resource 1 TEXTURE2D\nsampler 0\nsampler 5\nmov r0, v1.x\nmov r1, v1.y\nmov r2, 1.0\nmov r3, 0.0\n{line}\nmov o0.x, r4\n"
    )
    rig.emit(Op.SET_RESOURCE, slot=0x400, **texture.view())
    rig.emit(Op.SET_SAMPLER, slot=0x400, data=ds.Sampler().pack())
    rig.draw(3)
    rig.run()
    assert (target.elements() == SAMPLES[line]).all()
