"""Whole draws on the reference engine: coverage, interpolation, order, targets."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from tests.unit.vgpu.rig import COLOR_PS, ELEMENTS, PASS_VS, Rig, Surface
from vgpu.engine.reference import vertex
from wddm.hw import descriptors as ds
from wddm.hw.formats import Format
from wddm.hw.packets import Op, Topology


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()


def pixels_to_clip(points: np.ndarray, width: int, height: int) -> np.ndarray:
    """(n, 2) pixel positions as (n, 4) clip positions."""
    out = np.zeros((len(points), 4), np.float32)
    out[:, 0] = points[:, 0] / width * 2 - 1
    out[:, 1] = 1 - points[:, 1] / height * 2
    out[:, 3] = 1
    return out


def set_up(rig: Rig, target: Surface, positions: np.ndarray, colors: np.ndarray | None = None) -> None:
    """Pass-through shaders, a triangle list, no culling."""
    vertices = np.ones((len(positions), 8), np.float32)
    vertices[:, :4] = positions
    if colors is not None:
        vertices[:, 4:] = colors
    rig.shader(PASS_VS)
    rig.shader(COLOR_PS)
    rig.vertices(vertices, ELEMENTS, 32)
    rig.topology(Topology.TRIANGLELIST)
    rig.viewport(0, 0, target.width, target.height)
    rig.target(target)
    rig.rasterizer(cull=1)


def covered(points: list[tuple[float, float]], width: int, height: int) -> np.ndarray:
    """Coverage by the top-left rule, in rational arithmetic, pixel by pixel."""
    p = [(Fraction(round(x * 256), 256), Fraction(round(y * 256), 256)) for x, y in points]
    area = (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[1][1] - p[0][1]) * (p[2][0] - p[0][0])
    out = np.zeros((height, width), bool)
    if area == 0:
        return out
    if area < 0:
        p[1], p[2] = p[2], p[1]
    for y in range(height):
        for x in range(width):
            cx, cy = x + Fraction(1, 2), y + Fraction(1, 2)
            inside = True
            for i in range(3):
                (ax, ay), (bx, by) = p[i], p[(i + 1) % 3]
                e = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
                top_left = (ay == by and bx > ax) or by < ay
                inside = inside and (e > 0 or (e == 0 and top_left))
            out[y, x] = inside
    return out


def test_one_triangle(rig: Rig) -> None:
    target = Surface(rig, Format.R8G8B8A8_UNORM, 16, 8)
    rig.clear(target, 0, 0, 0.2, 1)
    corners = [(1.0, 1.0), (13.25, 2.5), (4.0, 7.75)]
    set_up(rig, target, pixels_to_clip(np.array(corners), 16, 8))
    rig.draw(3)
    rig.run()
    image = target.elements()
    want = covered(corners, 16, 8)
    assert (image[want] == 255).all()
    assert (image[~want] == [0, 0, 51, 255]).all()
    assert want.sum() > 20


def test_top_left_rule_on_all_triangles_of_a_small_grid(rig: Rig) -> None:
    """Half-pixel corners: every tie there is. Drawn in one batch each, additively, and compared with rational arithmetic."""
    target = Surface(rig, Format.R8G8B8A8_UNORM, 4, 4)
    grid = [(x / 2, y / 2) for x in range(0, 7, 1) for y in range(0, 7, 3)]
    rng = np.random.default_rng(1)
    for _ in range(60):
        corners = [grid[i] for i in rng.integers(0, len(grid), 3)]
        rig.clear(target, 0, 0, 0, 0)
        set_up(rig, target, pixels_to_clip(np.array(corners), 4, 4))
        rig.draw(3)
        rig.run()
        assert ((target.elements()[:, :, 0] == 255) == covered(corners, 4, 4)).all(), corners


def test_neighbours_share_no_pixel_and_leave_none_out(rig: Rig) -> None:
    """A fan around a point covers each pixel of its hull exactly once, whatever the corners."""
    rng = np.random.default_rng(2)
    target = Surface(rig, Format.R8_UNORM, 32, 32)
    for _ in range(10):
        angles = np.sort(rng.random(9)) * 2 * np.pi
        ring = np.stack([16 + 13 * np.cos(angles), 16 + 13 * np.sin(angles)], 1)
        fan = np.concatenate([[np.array([16.3, 15.9]), ring[i], ring[(i + 1) % 9]] for i in range(9)])
        rig.clear(target, 0)
        set_up(rig, target, pixels_to_clip(fan, 32, 32), np.full((27, 4), 0.1))
        rig.blend(ds.TargetBlend(enable=True, src=ds.BlendFactor.ONE, dst=ds.BlendFactor.ONE))
        rig.draw(27)
        rig.run()
        assert target.elements().max() <= 26 or any(np.diff(np.append(angles, angles[0] + 2 * np.pi)) > np.pi)


def test_perspective_interpolation_against_float64(rig: Rig) -> None:
    target = Surface(rig, Format.R32G32B32A32_FLOAT, 16, 16)
    w = np.array([1.0, 4.0, 2.0])
    screen = np.array([(0.0, 0.0), (16.0, 1.0), (3.0, 16.0)])
    position = pixels_to_clip(screen, 16, 16) * w[:, None]
    colors = np.array([[1, 0, 0, 5], [0, 1, 0, -3], [0, 0, 1, 7]], np.float32)
    set_up(rig, target, position, colors)
    rig.draw(3)
    rig.run()
    image = target.typed("<f4")
    want = covered([(float(x), float(y)) for x, y in screen], 16, 16)
    for y, x in np.argwhere(want):
        matrix = np.stack([screen[:, 0], screen[:, 1], np.ones(3)])
        b = np.linalg.solve(matrix, np.array([x + 0.5, y + 0.5, 1])) / w
        b /= b.sum()
        assert image[y, x] == pytest.approx(b @ colors, abs=2e-6, rel=2e-6)


def test_triangles_of_one_draw_are_merged_in_order(rig: Rig) -> None:
    target = Surface(rig, Format.R8G8B8A8_UNORM, 8, 8)
    quad = pixels_to_clip(np.array([(0, 0), (16, 0), (0, 16)]), 8, 8)
    set_up(rig, target, np.concatenate([quad] * 5), np.repeat(np.arange(5) / 255, 3)[:, None] * np.ones(4))
    rig.draw(15)
    rig.run()
    assert (target.elements() == 4).all()


@pytest.mark.parametrize(("near", "row"), [(0.5, 5), (-0.5, 7)])
def test_near_plane_clipping(rig: Rig, near: float, row: int) -> None:
    """A triangle that reaches behind the eye shows what lies before it."""
    target = Surface(rig, Format.R32G32B32A32_FLOAT, 8, 8)
    position = np.array([[-1, -0.5, 0.5, 1], [1, -0.5, 0.5, 1], [0, 0, near, near]], np.float32)
    set_up(rig, target, position, np.ones((3, 4)))
    rig.draw(3)
    rig.run()
    image = target.typed("<f4")[:, :, 0]
    assert image[row, 4] == 1
    assert image[12 - row, 4] == 0


def test_indexed_strips_and_cuts(rig: Rig) -> None:
    target = Surface(rig, Format.R8G8B8A8_UNORM, 8, 4)
    squares = [(0, 0), (0, 4), (4, 0), (4, 4), (5, 0), (5, 4), (8, 0), (8, 4)]
    set_up(rig, target, pixels_to_clip(np.array(squares, np.float64), 8, 4))
    rig.topology(Topology.TRIANGLESTRIP)
    address, size = rig.upload(np.array([9, 0, 1, 2, 3, 0xFFFF, 4, 5, 6, 7], np.uint16))
    rig.emit(Op.SET_INDEX_BUFFER, address=address, extent=size, data=[Format.R16_UINT])
    rig.emit(Op.DRAW_INDEXED, data=[9, 1, 1, 0, 0])
    rig.run()
    row = target.elements()[2, :, 0]
    assert row.tolist() == [255, 255, 255, 255, 0, 255, 255, 255]


@pytest.mark.parametrize("topology", [1, 3, 5, 13, 40])
def test_huge_draws_take_no_memory_at_once(rig: Rig, topology: int) -> None:
    """Two thousand million vertices: batches come one by one, and can be abandoned."""
    target = Surface(rig, Format.R8_UNORM, 2, 2)
    set_up(rig, target, pixels_to_clip(np.array([(5.0, 5.0)] * 3), 2, 2))
    rig.topology(topology)
    address, size = rig.upload(np.array([0, 1, 2, 0xFFFF, 1, 2, 0], np.uint16))
    rig.emit(Op.SET_INDEX_BUFFER, address=address, extent=size, data=[Format.R16_UINT])
    rig.emit(Op.DRAW_INDEXED, data=[2**31, 2**32 - 1, 0, 0, 0])
    steps = rig.start().run()
    for _ in range(5):
        next(steps)


def test_pieces_of_strips_are_those_of_the_whole() -> None:
    for topology in (Topology.TRIANGLESTRIP, Topology.TRIANGLESTRIP_ADJ, Topology.LINESTRIP_ADJ, Topology.TRIANGLELIST):
        whole = vertex.primitives_of(topology, 20001)
        parts = list(vertex._pieces(topology, [(0, 20001)]))
        assert (np.concatenate([positions for positions, _ in parts]) == whole).all()
        assert len(parts) > 1
        assert [begun for _, begun in parts] == [1] + [0] * (len(parts) - 1)
        assert vertex.primitive_count(topology, 20001) == len(whole)
