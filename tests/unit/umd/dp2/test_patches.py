"""Rectangle and triangle patches: curves against their formulas, and pictures."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from tests.unit.umd.dp2.rig import PLAIN, Legacy
from umd.dp2.errors import CommandError
from umd.dp2.patches import triangle_weights, weights
from wddm.client.dp2_commands import Dp2CommandBuffer
from wddm.ddi.d3dhal import D3DBASISTYPE as BASIS
from wddm.ddi.d3dhal import D3DRENDERSTATETYPE as RS

RED = 0xFFFF0000


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_bezier_curves(degree: int) -> None:
    rng = np.random.default_rng(degree)
    points = rng.normal(size=degree * 2 + 1)
    curve = weights(len(points), BASIS.BEZIER, degree, 4) @ points
    for piece in range(2):
        for i in range(5):
            level, t = points[piece * degree : piece * degree + degree + 1], i / 4
            while len(level) > 1:  # de Casteljau
                level = level[:-1] * (1 - t) + level[1:] * t
            assert np.isclose(curve[piece * 4 + i], level[0])


@pytest.mark.parametrize("basis", [BASIS.BSPLINE, BASIS.CATMULL_ROM])
def test_uniform_cubics(basis: BASIS) -> None:
    matrix = weights(6, basis, 3, 4)
    assert matrix.shape == (13, 6)
    assert np.allclose(matrix.sum(1), 1)
    assert np.allclose(matrix @ np.arange(6.0), np.linspace(1, 4, 13))  # straight lines stay straight, and are gone evenly
    if basis is BASIS.CATMULL_ROM:
        assert np.allclose(matrix[::4], np.eye(6)[1:5])  # through its points
    else:
        assert np.allclose(matrix[0, :4], [1 / 6, 4 / 6, 1 / 6, 0])


@pytest.mark.parametrize(("count", "basis", "degree"), [(3, BASIS.BEZIER, 3), (5, BASIS.BEZIER, 3), (1, BASIS.BEZIER, 1), (3, BASIS.BSPLINE, 3)])
def test_curves_that_are_none(count: int, basis: BASIS, degree: int) -> None:
    with pytest.raises(CommandError):
        weights(count, basis, degree, 2)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_triangles(degree: int) -> None:
    matrix, triangles = triangle_weights(degree, 3)
    assert matrix.shape == (10, (degree + 1) * (degree + 2) // 2)
    assert np.allclose(matrix.sum(1), 1)
    assert len(triangles) == 3 * 9
    corners = [0, (degree + 1) * (degree + 2) // 2 - 1 - degree, (degree + 1) * (degree + 2) // 2 - 1]
    assert np.allclose(matrix[[0, 6, 9]][:, corners], np.eye(3))
    # Every triangle is wound alike and they cover the whole.
    places = np.array([(row - i, i) for row in range(4) for i in range(row + 1)], float)
    a, b, c = (places[triangles.reshape(-1, 3)[:, k]] for k in range(3))
    areas = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    assert np.allclose(areas, areas[0])
    assert np.isclose(abs(areas.sum()), 9)


def points(coordinates: Any) -> bytes:
    return b"".join(struct.pack("<4fI", x, y, 0.5, 1.0, RED) for x, y in coordinates)


async def test_a_rectangle_patch_is_drawn_kept_and_deleted() -> None:
    legacy = await Legacy.start(16, 16)
    # A bicubic patch over the square from 1 to 12, behind one row and one column that do not belong to it.
    at = np.linspace(1, 12, 4) - 0.5
    control = [(99.0, 99.0)] * 5 + [p for y in at for p in [(99.0, 99.0), *((x, y) for x in at)]]
    await legacy.buffer(10, points(control))
    commands = Dp2CommandBuffer().set_vertex_shader(PLAIN).set_stream_source(0, 10, 20).render_state(RS.PATCHSEGMENTS, 3.0)
    await legacy.draw(commands.draw_rect_patch(7, (1, 1, 4, 4, 5, BASIS.BEZIER, 3)))
    expected = np.zeros((16, 16), np.uint32)
    expected[1:12, 1:12] = RED
    assert ((await legacy.pixels()) == expected).all()
    # From the cache: streams do not matter any more.
    await legacy.draw(Dp2CommandBuffer().clear(1, 0).set_stream_source(0, 0, 0).draw_rect_patch(7, segments=(1, 1, 1, 1)))
    assert ((await legacy.pixels()) == expected).all()
    # A handle that nobody defined, and one that was deleted, draw nothing.
    await legacy.draw(Dp2CommandBuffer().clear(1, 0).render_state(RS.DELETERTPATCH, 7).draw_rect_patch(7).draw_tri_patch(8))
    assert ((await legacy.pixels()) == 0).all()


async def test_a_curved_edge() -> None:
    legacy = await Legacy.start(16, 16)
    # A quadratic edge that bulges: y = 8 - 16 t (1 - t) / 2 at its top, straight at the bottom.
    rows = [[(0, 8), (8, 0), (16, 8)], [(0, 12), (8, 12), (16, 12)], [(0, 16), (8, 16), (16, 16)]]
    await legacy.buffer(10, points([(x - 0.5, y - 0.5) for row in rows for x, y in row]))
    commands = Dp2CommandBuffer().set_vertex_shader(PLAIN).set_stream_source(0, 10, 20)
    await legacy.draw(commands.draw_rect_patch(0, (0, 0, 3, 3, 3, BASIS.BEZIER, 2), (16, 16, 16, 16)))
    covered = ((await legacy.pixels()) == RED).sum(0)
    t = (np.arange(16) + 0.5) / 16
    assert np.abs(covered - (16 - (8 - 16 * t * (1 - t)))).max() <= 1


async def test_a_triangle_patch() -> None:
    legacy = await Legacy.start(16, 16)
    corner = [(0, 0), (16, 0), (0, 16)]
    middle = [tuple((np.array(a) + b) / 2) for a, b in ((corner[0], corner[1]), (corner[0], corner[2]), (corner[1], corner[2]))]
    order = [corner[0], middle[0], middle[1], corner[1], middle[2], corner[2]]
    await legacy.buffer(10, points([(x - 0.5, y - 0.5) for x, y in order]))
    commands = Dp2CommandBuffer().set_vertex_shader(PLAIN).set_stream_source(0, 10, 20).render_state(RS.CULLMODE, 1)
    await legacy.draw(commands.draw_tri_patch(0, (0, 6, BASIS.BEZIER, 2), (4, 4, 4)))
    y, x = np.mgrid[:16, :16]
    image = await legacy.pixels()
    inside = x + y + 1 < 16
    assert (image[inside] == RED).all()
    assert (image[x + y + 1 > 16] == 0).all()


@pytest.mark.parametrize(
    "commands",
    [
        Dp2CommandBuffer().draw_rect_patch(0), Dp2CommandBuffer().draw_rect_patch(0, (0, 0, 4, 4, 3, 0, 3)),
        Dp2CommandBuffer().draw_rect_patch(0, (0, 0, 4, 4, 400, 0, 3)), Dp2CommandBuffer().draw_rect_patch(0, (0, 0, 4, 5, 4, 0, 3)),
        Dp2CommandBuffer().draw_rect_patch(0, (0, 0, 2, 2, 2, 9, 1)), Dp2CommandBuffer().draw_tri_patch(0, (0, 4, 0, 1)),
        Dp2CommandBuffer().draw_rect_patch(0, (0xFFFFFFFF, 0xFFFFFFFF, 2, 2, 0xFFFFFFFF, 0, 1)),
        Dp2CommandBuffer().draw_rect_patch(0, (0, 0, 0xFFFFFFFF, 0xFFFFFFFF, 2, 0, 1)),
    ],
)  # fmt: skip
async def test_patches_that_are_none(commands: Dp2CommandBuffer) -> None:
    legacy = await Legacy.start(4, 4)
    await legacy.buffer(10, points([(0, 0)] * 16))
    await legacy.draw(Dp2CommandBuffer().set_vertex_shader(PLAIN).set_stream_source(0, 10, 20))
    assert await legacy.call(commands) == 0x80070057
