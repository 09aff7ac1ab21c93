"""The rest of the pipeline: multisampling, lines and points, geometry, stream output, compute, queries, textures in programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.unit.vgpu.rig import COLOR_PS, ELEMENTS, PASS_VS, Rig, Surface
from tests.unit.vgpu.test_draw import covered, pixels_to_clip, set_up
from vgpu.engine import FaultError
from vgpu.engine.reference.resources import sample_positions
from wddm.hw import descriptors as ds
from wddm.hw.descriptors import View, ViewDimension
from wddm.hw.formats import Format
from wddm.hw.interrupts import Fault
from wddm.hw.packets import Op, Stage, Topology


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()


@pytest.mark.parametrize("samples", [2, 4, 8])
def test_samples_are_covered_one_by_one_and_resolve(rig: Rig, samples: int) -> None:
    target, flat = Surface(rig, Format.R8_UNORM, 8, 8, samples=samples), Surface(rig, Format.R8_UNORM, 8, 8)
    corners = [(0.5, 0.75), (7.25, 2.0), (2.5, 7.5)]
    set_up(rig, target, pixels_to_clip(np.array(corners), 8, 8))
    rig.draw(3)
    rig.emit(Op.SET_SURFACE, slot=0, **flat.view())
    rig.emit(Op.SET_SURFACE, slot=1, **target.view())
    rig.emit(Op.RESOLVE, arg=Format.R8_UNORM)
    rig.run()
    total = np.zeros((8, 8))
    for s, (dx, dy) in enumerate(sample_positions(samples).tolist()):
        moved = [(x - dx / 16, y - dy / 16) for x, y in corners]
        want = covered(moved, 8, 8)
        assert ((target.elements(sample=s)[:, :, 0] == 255) == want).all()
        total += want
    assert (flat.elements()[:, :, 0] == np.floor(total / samples * 255 + 0.5)).all()
    assert len(np.unique(total)) > 2


def test_sample_frequency_mask_and_coverage(rig: Rig) -> None:
    target = Surface(rig, Format.R8_UNORM, 2, 2, samples=4)
    set_up(rig, target, pixels_to_clip(np.array([(0, 0), (4, 0), (0, 4)]), 2, 2))
    rig.shader("pixel temps=2\noutput 0 xyzw sv=TARGET\nutof r0, $SAMPLE_INDEX\nfmul o0.x, r0, 0.2\n")
    rig.emit(Op.SET_BLEND_FACTOR, data=[0, 0, 0, 0, 0b1011])
    rig.draw(3)
    rig.run()
    assert [int(target.elements(sample=s)[0, 0, 0]) for s in range(4)] == [0, 51, 0, 153]
    rig.clear(target, 0)
    rig.shader("pixel temps=2\noutput 0 xyzw sv=TARGET\noutput 33 x sv=COVERAGE\nmov o0.x, 1.0\nmov o33.x, 6\n")
    rig.emit(Op.SET_BLEND_FACTOR, data=[0, 0, 0, 0, 0xFFFFFFFF])
    rig.draw(3)
    rig.run()
    assert [int(target.elements(sample=s)[1, 1, 0]) for s in range(4)] == [0, 255, 255, 0]


def test_alpha_to_coverage(rig: Rig) -> None:
    target = Surface(rig, Format.R8G8B8A8_UNORM, 1, 1, samples=4)
    for alpha, count in ((0.0, 0), (0.5, 2), (1.0, 4)):
        rig.clear(target, 0, 0, 0, 0)
        set_up(rig, target, pixels_to_clip(np.array([(0, 0), (4, 0), (0, 4)]), 1, 1), np.array([1, 1, 1, alpha]))
        rig.blend(ds.TargetBlend(), arg=1)
        rig.draw(3)
        rig.run()
        assert sum(int(target.elements(sample=s)[0, 0, 0]) for s in range(4)) == 255 * count


def lit(rig: Rig, points: list[tuple[float, float]], topology: Topology, size: int = 8, **state: Any) -> set[tuple[int, int]]:
    target = Surface(rig, Format.R8_UNORM, size, size)
    set_up(rig, target, pixels_to_clip(np.array(points), size, size))
    rig.topology(topology)
    rig.rasterizer(**{"cull": 1, **state})
    rig.draw(len(points))
    rig.run()
    return {(int(x), int(y)) for y, x in np.argwhere(target.elements()[:, :, 0])}


def test_points_light_the_pixel_they_lie_in(rig: Rig) -> None:
    assert lit(rig, [(1.5, 2.5), (3.01, 0.99), (7.99, 7.99)], Topology.POINTLIST) == {(1, 2), (3, 0), (7, 7)}


def test_lines_leave_diamonds(rig: Rig) -> None:
    assert lit(rig, [(0.5, 1.5), (4.5, 1.5)], Topology.LINELIST) == {(0, 1), (1, 1), (2, 1), (3, 1)}
    assert lit(rig, [(4.5, 1.5), (0.5, 1.5)], Topology.LINELIST) == {(4, 1), (3, 1), (2, 1), (1, 1)}
    assert lit(rig, [(2.5, 6.5), (2.5, 3.5)], Topology.LINELIST) == {(2, 6), (2, 5), (2, 4)}
    assert lit(rig, [(0.5, 0.5), (4.5, 4.5)], Topology.LINELIST) == {(0, 0), (1, 1), (2, 2), (3, 3)}
    assert lit(rig, [(1.4, 1.5), (1.6, 1.5)], Topology.LINELIST) == set()  # never leaves the diamond
    strip = lit(rig, [(0.5, 0.5), (3.5, 0.5), (3.5, 3.5)], Topology.LINESTRIP)
    assert strip == {(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2)}


@pytest.mark.parametrize("seed", range(5))
def test_long_lines_have_one_pixel_per_column_or_row(rig: Rig, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.random(2) * 32, rng.random(2) * 32
    pixels = lit(rig, [tuple(a), tuple(b)], Topology.LINELIST, size=32)
    axis = int(abs(b - a)[1] > abs(b - a)[0])
    places = [p[axis] for p in pixels]
    assert len(places) == len(set(places))
    assert abs(len(places) - abs(b - a)[axis]) <= 1


def test_wireframe_draws_edges_once(rig: Rig) -> None:
    pixels = lit(rig, [(0.5, 0.5), (6.5, 0.5), (0.5, 6.5)], Topology.TRIANGLELIST, fill=2)
    assert {(x, 0) for x in range(6)} <= pixels
    assert (1, 1) not in pixels
    assert (2, 2) not in pixels


def test_multisampled_lines_are_rectangles(rig: Rig) -> None:
    pixels = lit(rig, [(1.0, 3.0), (7.0, 3.0)], Topology.LINELIST, multisample=True)
    assert pixels == {(x, y) for x in range(1, 7) for y in (2, 3)}


@pytest.mark.parametrize(
    ("state", "front"), [({"cull": 3}, True), ({"cull": 2}, False), ({"cull": 3, "front_counter_clockwise": True}, False)]
)
def test_culling(rig: Rig, state: dict[str, Any], front: bool) -> None:
    clockwise = [(0.0, 0.0), (8.0, 0.0), (0.0, 8.0)]
    assert bool(lit(rig, clockwise, Topology.TRIANGLELIST, **state)) == front
    assert bool(lit(rig, clockwise[::-1], Topology.TRIANGLELIST, **state)) != front


def test_scissor_and_viewport_bounds(rig: Rig) -> None:
    target = Surface(rig, Format.R8_UNORM, 8, 8)
    set_up(rig, target, pixels_to_clip(np.array([(-8, -8), (24, -8), (-8, 24)]), 8, 8))
    rig.viewport(1, 2, 5, 4)
    rig.rasterizer(cull=1, scissor=True)
    rig.emit(Op.SET_SCISSOR, arg=1, data=[0, 3, 4, 100])
    rig.draw(3)
    rig.run()
    want = np.zeros((8, 8), np.uint8)
    want[3:6, 1:4] = 255
    assert (target.elements()[:, :, 0] == want).all()


def test_clip_and_cull_distances(rig: Rig) -> None:
    target = Surface(rig, Format.R8_UNORM, 8, 8)
    text = PASS_VS.replace("output 1 xyzw", "output 1 xyzw\noutput 2 x sv=CLIP_DISTANCE") + "mov o2.x, v1.x\n"
    colors = np.array([[-1, 1, 1, 1], [1, 1, 1, 1], [-1, 1, 1, 1]], np.float32)
    quad = pixels_to_clip(np.array([(0, 0), (8, 0), (0, 8)]), 8, 8)
    set_up(rig, target, quad, colors)
    rig.shader(text)
    rig.shader("pixel\noutput 0 x sv=TARGET\nmov o0.x, 1.0")
    rig.draw(3)
    rig.run()
    image = target.elements()[:, :, 0]
    assert image[0].tolist() == [0, 0, 0, 0, 255, 255, 255, 0]
    rig.clear(target, 0)
    rig.shader(text.replace("CLIP", "CULL"))
    rig.draw(3)
    rig.run()
    assert (image[0, :7] == 255).all()


# --- instances, layers, viewports ---------------------------------------------------------------------------------------------


def test_instances_layers_and_system_values(rig: Rig) -> None:
    target = Surface(rig, Format.R32G32B32A32_UINT, 2, 2, slices=3)
    set_up(rig, target, pixels_to_clip(np.array([(0, 0), (4, 0), (0, 4)]), 2, 2))
    rig.target(target, flags=ds.ViewFlag.ARRAY)
    rig.shader(
        PASS_VS.replace("output 1 xyzw", "output 1 xyzw\noutput 2 x sv=RENDER_TARGET_ARRAY_INDEX\noutput 3 xy")
        + "mov o2.x, $INSTANCE_ID\nmov o3.x, $VERTEX_ID\nmov o3.y, $INSTANCE_ID\n"
    )
    rig.shader(
        "pixel\ninput 3 xy interp=CONSTANT\noutput 0 xyzw sv=TARGET\nmov o0.x, v3.y\nmov o0.y, $RENDER_TARGET_ARRAY_INDEX\n"
        "mov o0.z, $PRIMITIVE_ID\nmov o0.w, $FRONT_FACE\n"
    )
    rig.draw(3, instances=4, start_instance=9)
    rig.run()
    got = [target.typed("<u4", slice=s)[1, 1].tolist() for s in range(3)]
    assert got == [[3, 0, 0, 0xFFFFFFFF], [1, 1, 0, 0xFFFFFFFF], [2, 2, 0, 0xFFFFFFFF]]  # layer 3 does not exist: 0


def test_per_instance_data(rig: Rig) -> None:
    target = Surface(rig, Format.R8_UNORM, 4, 1)
    positions = pixels_to_clip(np.array([(0, 0), (2, 0), (0, 2)]), 4, 1)
    set_up(rig, target, positions)
    offsets, size = rig.upload(np.array([0, 0.5, 1.0, 1.5], np.float32))
    rig.emit(Op.SET_VERTEX_BUFFER, slot=3, address=offsets, extent=size, data=[4])
    elements = [ds.InputElement(0, 0, Format.R32G32B32A32_FLOAT, 0), ds.InputElement(2, 3, Format.R32_FLOAT, 0, True, 2)]
    rig.layout(elements)
    rig.shader(
        "vertex\ninput 0 xyzw\ninput 2 x\noutput 0 xyzw sv=POSITION\noutput 1 x\nfadd o0.x, v0.x, v2.x\n"
        "mov o0.y, v0.y\nmov o0.w, 1.0\nmov o1.x, 1.0\n"
    )
    rig.shader("pixel\ninput 1 x\noutput 0 x sv=TARGET\nmov o0.x, v1.x")
    rig.draw(3, instances=4, start_instance=1)
    rig.run()
    assert target.elements()[0, :, 0].tolist() == [0, 255, 255, 0]


# --- geometry and stream output -----------------------------------------------------------------------------------------------

GS = """
geometry temps=8 primitive=3 topology=5 max_vertices=4
input 0 xyzw sv=POSITION
input 1 xyzw
output 0 xyzw sv=POSITION
output 1 xyzw
stream_output 0 xy buffer=0 stream=0 offset=0
stream_output 1 x buffer=0 stream=0 offset=8
stream_stride 0 12
loop
  uge r0, r1, 3
  breakc r0 1
  load_input r2, 0, r1
  load_input r3, 1, r1
  fmul o0.x, r2, 0.5
  fmul o0.y, r3, 0.5
  mov o0.w, 1.0
  mov o1.x, $PRIMITIVE_ID
  utof o1.y, r1
  emit 0
  iadd r1, r1, 1
endloop
cut 0
"""


def test_geometry_programs_and_stream_output(rig: Rig) -> None:
    target = Surface(rig, Format.R8_UNORM, 8, 8)
    first = pixels_to_clip(np.array([(0, 0), (8, 0), (0, 8)]), 8, 8)
    second = pixels_to_clip(np.array([(8, 8), (0, 8), (8, 0)]), 8, 8)
    set_up(rig, target, np.concatenate([first, second]))
    rig.shader(GS)
    rig.shader("pixel\noutput 0 x sv=TARGET\nmov o0.x, 1.0")
    buffer, counter, query = rig.allocate(64), rig.allocate(4), rig.allocate(96)
    rig.emit(Op.SET_STREAM_OUTPUT, address=buffer, extent=64, address2=counter, extent2=4, arg=1, data=[0])
    rig.emit(Op.QUERY_BEGIN, address=query, extent=24, arg=6)
    rig.emit(Op.QUERY_BEGIN, address=query + 32, extent=16, arg=7)
    rig.draw(6)
    rig.emit(Op.QUERY_END, address=query, extent=24, arg=6)
    rig.emit(Op.QUERY_END, address=query + 32, extent=16, arg=7)
    rig.run()
    want = np.zeros((8, 8), np.uint8)
    want[2:6, 2:6] = 255
    assert (target.elements()[:, :, 0] == want).all()
    assert rig.read(counter, 1).tolist() == [36]  # a second primitive does not fit 64 bytes
    rows = rig.read(buffer, 9, "<f4").reshape(3, 3)
    assert rows[:, :2].tolist() == [[-0.5, 0.5], [0.5, 0.5], [-0.5, -0.5]]
    assert rig.read(query, 3, "<u8").tolist() == [1, 1, 2]
    assert rig.read(query + 32, 2, "<u8").tolist() == [1, 1]
    # And back in with DRAW_AUTO.
    rig.clear(target, 0)
    rig.emit(Op.SET_SHADER, slot=Stage.GEOMETRY << 8)
    rig.emit(Op.SET_STREAM_OUTPUT)
    rig.emit(Op.SET_VERTEX_BUFFER, address=buffer, extent=64, data=[12])
    rig.layout([ds.InputElement(0, 0, Format.R32G32_FLOAT, 0)])
    rig.emit(Op.DRAW_AUTO, address=counter, extent=4)
    rig.run()
    assert (target.elements()[:, :, 0] == np.where(covered([(2, 2), (6, 2), (2, 6)], 8, 8), 255, 0)).all()


def test_geometry_sees_adjacency_and_instances(rig: Rig) -> None:
    buffer, counter = rig.allocate(4096), rig.allocate(4)
    rig.shader(PASS_VS)
    rig.shader(
        "geometry temps=4 primitive=7 topology=1 max_vertices=1 instances=2 rasterized_stream=0xffffffff\n"
        "input 0 xyzw sv=POSITION\noutput 0 xyzw sv=POSITION\nstream_output 0 xyzw buffer=2 stream=0 offset=0\nstream_stride 2 16\n"
        "load_input o0.x, 0, 1\nload_input o0.y, 0, 5\nutof o0.z, $GS_INSTANCE_ID\nload_input o0.w, 0, 4\nemit 0\n"
    )
    vertices = np.zeros((10, 8), np.float32)
    vertices[:, 0] = range(10)
    rig.vertices(vertices, ELEMENTS, 32)
    rig.topology(Topology.TRIANGLESTRIP_ADJ)
    rig.emit(Op.SET_STREAM_OUTPUT, slot=2, address=buffer, extent=4096, address2=counter, extent2=4)
    rig.draw(10)
    rig.run()
    rows = rig.read(buffer, 24, "<f4").reshape(6, 4).tolist()
    assert rows == [
        [1, 3, 0, 4], [1, 3, 1, 4],
        [5, 0, 0, 4], [5, 0, 1, 4],
        [2, 7, 0, 8], [2, 7, 1, 8],
    ]  # fmt: skip


# --- compute ------------------------------------------------------------------------------------------------------------------

SUM = """
compute temps=8 group=8,1,1 shared_bytes=32
uav 0 RAW_BUFFER
resource 0 BUFFER
shl r0, $ID_IN_GROUP_X, 2
mov r1, $THREAD_ID_X
load r2, r1 t0 mask=x
mov r4, r2
shared_store r0, r4 mask=x
barrier 3
ieq r5, $ID_IN_GROUP_X, 0
if r5
  loop
    uge r6, r7, 32
    breakc r6 1
    shared_load r4, r7 mask=x
    iadd r3, r3, r4
    iadd r7, r7, 4
  endloop
  shl r0, $GROUP_ID_X, 2
  uav_store_raw r0, r3 u0 mask=x
endif
"""


def test_groups_share_memory(rig: Rig) -> None:
    values = np.arange(40, dtype=np.uint16) * 3
    source, size = rig.upload(values)
    target = rig.allocate(64)
    rig.shader(SUM)
    view = View(ViewDimension.BUFFER, Format.R16_UINT, 40, 0).pack()
    rig.emit(Op.SET_RESOURCE, slot=5 << 8, address=source, extent=size, data=view)
    rig.emit(Op.SET_UAV, slot=5 << 8, address=target, extent=64, data=View(ViewDimension.RAW_BUFFER, 0, 16, 0).pack())
    rig.emit(Op.DISPATCH, data=[5, 1, 1])
    rig.run()
    assert rig.read(target, 6).tolist() == [*values.reshape(5, 8).sum(axis=1).tolist(), 0]


def test_counters_structures_and_textures_in_compute(rig: Rig) -> None:
    buffer, counter = rig.allocate(256), rig.allocate(4)
    image = Surface(rig, Format.R8G8B8A8_UNORM, 4, 4)
    rig.shader(
        "compute temps=16 group=4,4,1\nuav 0 STRUCTURED_BUFFER stride=8 counter\nuav 1 TEXTURE2D\n"
        "uav_counter_inc r0 u0\nmov r4, $ID_IN_GROUP_FLAT\nmov r5, 77\nuav_store_structured r0, 0, r4 u0 mask=xy\n"
        "mov r6, $THREAD_ID_X\nmov r7, $THREAD_ID_Y\nutof r8, r6\nfmul r8, r8, 0.25\nmov r11, 1.0\nuav_store r6, r8 u1\n"
    )
    view = View(ViewDimension.STRUCTURED_BUFFER, 0, 10, 0, stride=8, flags=ds.ViewFlag.COUNTER).pack()
    rig.emit(Op.SET_UAV, slot=5 << 8, address=buffer, extent=256, address2=counter, extent2=4, data=view)
    rig.emit(Op.SET_UAV, slot=5 << 8 | 1, **image.view())
    rig.emit(Op.DISPATCH, data=[1, 1, 1])
    rig.run()
    rows = rig.read(buffer, 22).reshape(11, 2)
    assert rows[:, 0].tolist() == [*range(10), 0]  # beyond ten elements nothing is written
    assert rig.read(counter, 1).tolist() == [16]
    assert image.elements()[2, :, 0].tolist() == [0, 64, 128, 191]


def test_a_textured_draw_with_mips_and_derivatives(rig: Rig) -> None:
    texture = Surface(rig, Format.R8G8B8A8_UNORM, 8, 8, mips=4)
    for mip, size in enumerate((8, 4, 2, 1)):
        texture.put(np.full((size, size, 4), 40 * mip + 40, np.uint8), mip=mip)
    target = Surface(rig, Format.R8G8B8A8_UNORM, 4, 4)
    coordinates = np.array([[0, 0, 0, 0], [2, 0, 0, 0], [0, 2, 0, 0]])
    set_up(rig, target, pixels_to_clip(np.array([(0, 0), (8, 0), (0, 8)]), 4, 4), coordinates)
    rig.shader(
        "pixel temps=8\ninput 1 xy interp=LINEAR\noutput 0 xyzw sv=TARGET\nresource 2 TEXTURE2D\nsampler 1\n"
        "mov r0, v1.x\nmov r1, v1.y\nsample r4, r0 t2 s1\nmov o0.x, r4\n"
        "resinfo r4, 1 t2 control=2\nutof r4, r4\nfmul o0.y, r4, 0.1\nddx_coarse o0.z, v1.x\n"
    )
    rig.emit(Op.SET_RESOURCE, slot=4 << 8 | 2, **texture.view())
    rig.emit(Op.SET_SAMPLER, slot=4 << 8 | 1, data=ds.Sampler().pack())
    rig.draw(3)
    rig.run()
    assert (target.elements()[:, :, 0] == 80).all()  # two texels a pixel: mip 1
    assert (target.elements()[:, :, 1] == 102).all()
    assert (target.elements()[:, :, 2] == 64).all()


def test_statistics(rig: Rig) -> None:
    target = Surface(rig, Format.R8_UNORM, 4, 4)
    set_up(rig, target, pixels_to_clip(np.array([(0, 0), (8, 0), (0, 8), (-9, -9), (-8, -9), (-9, -8)]), 4, 4))
    query, stamp = rig.allocate(96), rig.allocate(48)
    rig.emit(Op.QUERY_BEGIN, address=query, extent=96, arg=4)
    rig.draw(6)
    rig.emit(Op.QUERY_END, address=query, extent=96, arg=4)
    rig.emit(Op.QUERY_END, address=stamp, extent=16, arg=2)
    rig.emit(Op.QUERY_END, address=stamp + 16, extent=16, arg=0)
    rig.run()
    done, *rest = rig.read(query, 12, "<u8").tolist()
    assert done == 1
    assert rest[:3] == [6, 2, 6]
    assert rest[5] == 2
    assert rest[7] == 16
    assert rig.read(stamp, 4, "<u8")[[0, 2, 3]].tolist() == [1, 1, 1]


# --- what cannot be drawn --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("break_it", "fault"),
    [
        (lambda r, t: r.emit(Op.SET_SHADER, slot=0), Fault.PIPELINE),
        (lambda r, t: r.topology(0), Fault.PIPELINE),
        (lambda r, t: r.topology(99), Fault.PIPELINE),
        (lambda r, t: r.emit(Op.SET_SHADER, slot=4 << 8, address=t.address, extent=64), Fault.BAD_SHADER),
        (lambda r, t: r.target(t, format=99), Fault.BAD_DESCRIPTOR),
        (lambda r, t: r.target(t, format=Format.BC1_UNORM), Fault.BAD_DESCRIPTOR),
        (lambda r, t: r.target(t, first_mip=1), Fault.BAD_DESCRIPTOR),
        (lambda r, t: r.target(t, slices=4, slice_count=4), Fault.BAD_DESCRIPTOR),
        (lambda r, t: r.emit(Op.SET_RASTERIZER, data=[0]), Fault.BAD_DESCRIPTOR),
        (lambda r, t: r.emit(Op.SET_INPUT_LAYOUT, arg=40), Fault.BAD_DESCRIPTOR),
        (lambda r, t: r.layout([ds.InputElement(0, 0, Format.BC1_UNORM, 0)]), Fault.BAD_DESCRIPTOR),
        (lambda r, t: r.emit(Op.SET_RENDER_TARGET, arg=1, **{**t.view(), "address": 1 << 41}), Fault.ADDRESS),
        (lambda r, t: r.target(Surface(r, Format.R8_UNORM, 4, 4, samples=4), 1), Fault.PIPELINE),
    ],
)
def test_bad_state_faults_at_the_draw(rig: Rig, break_it: object, fault: Fault) -> None:
    target = Surface(rig, Format.R8_UNORM, 4, 4)
    set_up(rig, target, pixels_to_clip(np.array([(0, 0), (8, 0), (0, 8)]), 4, 4))
    rig.run()
    assert callable(break_it)
    break_it(rig, target)
    rig.draw(3)
    with pytest.raises(FaultError) as caught:
        rig.run()
    assert caught.value.fault == fault


@pytest.mark.parametrize("values", [(np.nan, 0, 0, 1), (np.inf, 0, 0, 1), (0, 0, 0, 0), (0, 0, 0, -1), (1e38, 1e38, 1e38, 1e-38)])
def test_wild_positions_draw_nothing_harmful(rig: Rig, values: tuple[float, ...]) -> None:
    target = Surface(rig, Format.R8_UNORM, 4, 4)
    position = pixels_to_clip(np.array([(0, 0), (8, 0), (0, 8)]), 4, 4)
    position[1] = values
    set_up(rig, target, position)
    rig.draw(3)
    rig.shader(COLOR_PS)
    rig.run()
