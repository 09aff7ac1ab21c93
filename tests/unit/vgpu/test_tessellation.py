"""The tessellator, and hull and domain programs around it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.vgpu.rig import Rig, Surface
from vgpu.engine.reference import tessellator as t
from wddm.hw.formats import Format
from wddm.hw.packets import Op, Topology

FACTOR = st.floats(0.1, 70)


@pytest.mark.parametrize("partitioning", [1, 2, 3, 4])
@settings(deadline=None, max_examples=25)
@given(st.data())
def test_edges_are_cut_symmetrically_and_grow_smoothly(partitioning: int, data: st.DataObject) -> None:
    factor = t.clamp_factor(data.draw(FACTOR), partitioning)
    odd = t.is_odd(factor, partitioning)
    places = t.cuts(factor, odd)
    assert len(places) == t.segments(factor, odd) + 1
    assert places[0] == 0
    assert places[-1] == t.ONE
    assert all(b >= a for a, b in itertools.pairwise(places))
    assert [t.ONE - p for p in reversed(places)] == list(places)
    if partitioning in (3, 4):
        # A little more of the factor moves no point far.
        more = t.cuts(factor + 64, odd)
        if len(more) == len(places):
            assert max(abs(a - b) for a, b in zip(places, more, strict=True)) <= 64


def test_points_are_those_of_direct3d() -> None:
    """By hand from the rule: even 3 lies half way between 2 and 4 segments; thirds and sevenths are rounded reciprocals."""
    assert t.cuts(3 * t.ONE, False) == (0, 0x6000, 0x8000, 0xA000, 0x10000)
    assert t.cuts(3 * t.ONE, True) == (0, 0x5555, 0xAAAB, 0x10000)
    assert t.cuts(7 * t.ONE, True)[1:4] == (0x2492, 2 * 0x2492, 3 * 0x2492)
    assert t.cuts(2 * t.ONE, True) == (0, 0x2AAB, 0xD555, 0x10000)  # half way from one segment to three
    assert t.cuts(t.ONE, False) == (0, 0x8000, 0x10000)
    fan = t.tessellate(t.TRIANGLE, t.INTEGER, t.OUTPUT_CW, (1, 1, 1), (2,))
    assert fan.points[-1] == (0x5555 / 65536, 0x5555 / 65536, 0x5556 / 65536)


def test_clamping() -> None:
    assert t.clamp_factor(2.1, t.INTEGER) == 3 * t.ONE
    assert t.clamp_factor(5, t.POWER_OF_TWO) == 8 * t.ONE
    assert t.clamp_factor(0.5, t.FRACTIONAL_EVEN) == 2 * t.ONE
    assert t.clamp_factor(64, t.FRACTIONAL_ODD) == 63 * t.ONE
    assert t.clamp_factor(30, t.INTEGER, 8) == 8 * t.ONE
    assert t.segments(t.clamp_factor(3.2, t.FRACTIONAL_ODD), True) == 5
    assert t.segments(t.clamp_factor(2.2, t.FRACTIONAL_EVEN), False) == 4


def _area(a: t.Point, b: t.Point, c: t.Point) -> float:
    return ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2


@pytest.mark.parametrize("domain", [t.QUAD, t.TRIANGLE])
@pytest.mark.parametrize("partitioning", [1, 2, 3, 4])
@settings(deadline=None, max_examples=15)
@given(st.data())
def test_triangles_tile_the_domain(domain: int, partitioning: int, data: st.DataObject) -> None:
    """Areas of one sign that add up to the domain's: nothing is left out, nothing covered twice."""
    edges = tuple(data.draw(FACTOR) for _ in range(4 if domain == t.QUAD else 3))
    inside = tuple(data.draw(FACTOR) for _ in range(2 if domain == t.QUAD else 1))
    mesh = t.tessellate(domain, partitioning, t.OUTPUT_CW, edges, inside)
    areas = [_area(*(mesh.points[i] for i in p)) for p in mesh.primitives]
    assert sum(areas) == pytest.approx(1 if domain == t.QUAD else 0.5)
    assert all(a >= -1 / t.ONE for a in areas)  # corners lie on a grid: a sliver may turn over
    if domain == t.TRIANGLE:
        assert all(sum(p) == pytest.approx(1) for p in mesh.points)
    ccw = t.tessellate(domain, partitioning, t.OUTPUT_CCW, edges, inside)
    assert sum(_area(*(ccw.points[i] for i in p)) for p in ccw.primitives) == pytest.approx(-sum(areas))


def test_edge_points_depend_on_their_edge_alone() -> None:
    one = t.tessellate(t.QUAD, t.INTEGER, t.OUTPUT_CW, (3, 5, 7, 2), (4, 4))
    two = t.tessellate(t.QUAD, t.INTEGER, t.OUTPUT_CW, (9, 5, 1, 1), (2, 8))
    assert {p for p in one.points if p[1] == 0} == {p for p in two.points if p[1] == 0}


def test_culled_and_plain_patches() -> None:
    assert t.tessellate(t.QUAD, t.INTEGER, t.OUTPUT_CW, (1, 0, 1, 1), (1, 1)).points == []
    assert t.tessellate(t.TRIANGLE, t.INTEGER, t.OUTPUT_CW, (1, math.nan, 1), (1,)).points == []
    assert len(t.tessellate(t.QUAD, t.INTEGER, t.OUTPUT_CW, (1, 1, 1, 1), (1, 1)).primitives) == 2
    assert len(t.tessellate(t.TRIANGLE, t.FRACTIONAL_ODD, t.OUTPUT_CW, (1, 1, 1), (1,)).primitives) == 1
    lines = t.tessellate(t.ISOLINE, t.INTEGER, t.OUTPUT_LINE, (3, 4), ())
    assert len(lines.primitives) == 12
    assert max(p[1] for p in lines.points) == 0xAAAB / 65536
    points = t.tessellate(t.QUAD, t.INTEGER, t.OUTPUT_POINT, (2, 2, 2, 2), (2, 2))
    assert len(points.primitives) == len(points.points) == 9


VS = "vertex\ninput 0 xyzw\noutput 0 xyzw\n" + "".join(f"mov o0.{c}, v0.{c}\n" for c in "xyzw")
HS = """
hull temps=8 primitive=0x404 topology=0x313
input 0 xyzw
output 0 xyzw
patch 0 x sv=QUAD_EDGE_U0
patch 1 x sv=QUAD_EDGE_V0
patch 2 x sv=QUAD_EDGE_U1
patch 3 x sv=QUAD_EDGE_V1
patch 4 x sv=QUAD_INSIDE_U
patch 5 x sv=QUAD_INSIDE_V
load_input r0, 0, $CONTROL_POINT_ID
load_input r1, 1, $CONTROL_POINT_ID
mov o0.x, r0
mov o0.y, r1
mov o0.w, 1.0
patch_entry
load_control_point r0, 3, 2
fmul r0, r0, 3.0
mov o0.x, r0
mov o1.x, r0
mov o2.x, 5.0
load_patch r1, 0
mov o3.x, r1
mov o4.x, 4.0
mov o5.x, 2.0
"""
DS = """
domain temps=16 primitive=4 topology=3
input 0 xyzw
patch 0 x sv=QUAD_EDGE_U0
output 0 xyzw sv=POSITION
load_input r0, 0, 0
load_input r1, 0, 1
load_input r2, 1, 0
load_input r3, 1, 2
fadd r4, r1, -r0
fmad o0.x, r4, $DOMAIN_U, r0
fadd r5, r3, -r2
fmad o0.y, r5, $DOMAIN_V, r2
mov o0.w, 1.0
"""
PS = "pixel\noutput 0 xyzw sv=TARGET\n" + "".join(f"mov o0.{c}, 1.0\n" for c in "xyzw")


def test_a_tessellated_quad_covers_its_square() -> None:
    rig = Rig()
    target = Surface(rig, Format.R8_UNORM, 16, 16)
    corners = np.array([[-0.5, 0.5], [0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]], np.float32)
    for text in (VS, HS, DS, PS):
        rig.shader(text)
    rig.vertices(np.pad(corners, [(0, 0), (0, 2)]).astype(np.float32), [(0, Format.R32G32B32A32_FLOAT, 0)], 16)
    rig.topology(Topology.PATCHLIST_1 + 3)
    rig.viewport(0, 0, 16, 16)
    rig.target(target)
    query = rig.allocate(96)
    rig.emit(Op.QUERY_BEGIN, address=query, extent=96, arg=4)
    rig.draw(4)
    rig.emit(Op.QUERY_END, address=query, extent=96, arg=4)
    rig.run()
    want = np.zeros((16, 16), np.uint8)
    want[4:12, 4:12] = 255
    assert (target.elements()[:, :, 0] == want).all()  # clockwise output is front-facing: default culling keeps it
    statistics = rig.read(query, 12, "<u8").tolist()
    mesh = t.tessellate(t.QUAD, t.INTEGER, t.OUTPUT_CW, (3, 3, 5, 3), (4, 2))
    assert statistics[:4] == [1, 4, 1, 4]
    assert statistics[9:11] == [1, len(mesh.points)]
    assert statistics[7] == len(mesh.primitives)
    rig.close()
