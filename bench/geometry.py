"""What the workloads draw, made once for every side: positions, colours, images, matrices.

Only numpy, since the peers' processes import it too. Clip space has depth 0..1, as in Direct3D; vertices are (float3 ``p``, four
bytes ``c``) of 16 bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

VERTEX = np.dtype([("p", "<f4", 3), ("c", "u1", 4)])

#: Triangles of ``soup`` and ``grid``, and the size they are made for.
SMALL_COUNT = 100_000
SMALL_SIZE = (1280, 720)
#: Triangles of ``large``, and the size they are made for.
LARGE_COUNT = 100
LARGE_SIZE = (1280, 720)


def soup(count: int = SMALL_COUNT, size: tuple[int, int] = SMALL_SIZE, area: float = 10.0) -> npt.NDArray[Any]:
    """Triangles of about ``area`` pixels at random places and depths, none sharing a vertex."""
    width, height = size
    random = np.random.default_rng(2)
    corner = random.uniform([0, 0], [width, height], (count, 2))
    angle = random.uniform(0, 2 * np.pi, count)
    leg = np.sqrt(2 * area)
    along = np.stack([np.cos(angle), np.sin(angle)], -1) * leg
    across = np.stack([-np.sin(angle), np.cos(angle)], -1) * leg
    position = np.stack([corner, corner + along, corner + across], 1)
    depth = np.repeat(random.uniform(0.05, 0.95, (count, 1, 1)), 3, 1)
    vertices = np.zeros(count * 3, VERTEX)
    vertices["p"] = np.concatenate([position / [width / 2, height / 2] - 1, depth], -1).reshape(-1, 3)
    vertices["c"] = random.integers(0, 255, (count * 3, 4), dtype=np.uint8)
    return vertices


def grid(columns: int = 400, rows: int = 125) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint32]]:
    """An indexed mesh over the whole target, two triangles a cell: vertices and 32-bit indices."""
    x, y = np.meshgrid(np.linspace(-1, 1, columns + 1), np.linspace(-1, 1, rows + 1))
    random = np.random.default_rng(3)
    vertices = np.zeros(x.size, VERTEX)
    vertices["p"] = np.stack([x.ravel(), y.ravel(), random.uniform(0.2, 0.8, x.size)], -1)
    vertices["c"] = random.integers(0, 255, (x.size, 4), dtype=np.uint8)
    first = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)[None]).ravel()
    below = first + columns + 1
    indices = np.stack([first, first + 1, below, first + 1, below + 1, below], -1)
    return vertices, indices.astype("<u4").ravel()


#: Orders of ``large``: by chance, back to front (every pixel passes), front to back.
ORDERS = ("random", "b2f", "f2b")


def large(order: str) -> npt.NDArray[Any]:
    """Triangles that each cover a large part of the target, in one of ``ORDERS``."""
    random = np.random.default_rng(4)
    p = random.uniform(-1.3, 1.3, (4000, 3, 2))
    area = np.abs((p[:, 1, 0] - p[:, 0, 0]) * (p[:, 2, 1] - p[:, 0, 1]) - (p[:, 1, 1] - p[:, 0, 1]) * (p[:, 2, 0] - p[:, 0, 0])) / 2
    p = p[area > 1.2][:LARGE_COUNT]
    depth = np.linspace(0.95, 0.05, LARGE_COUNT)
    if order == "f2b":
        depth = depth[::-1]
    elif order == "random":
        depth = random.permutation(depth)
    vertices = np.zeros((LARGE_COUNT, 3), VERTEX)
    vertices["p"][..., :2] = p
    vertices["p"][..., 2] = depth[:, None] + random.uniform(-0.004, 0.004, (LARGE_COUNT, 3))
    vertices["c"] = random.integers(0, 255, (LARGE_COUNT, 3, 4), dtype=np.uint8)
    return vertices.reshape(-1)


def noise(size: int) -> npt.NDArray[np.uint8]:
    """A square image of random texels, (size, size, 4)."""
    return np.random.default_rng(1).integers(0, 255, (size, size, 4), dtype=np.uint8)


def checker() -> npt.NDArray[np.uint8]:
    """A 256x256 board of two colours, (256, 256, 4)."""
    i, j = np.mgrid[0:256, 0:256]
    t = np.where((i // 32 + j // 32) % 2, 255, 64).astype(np.uint8)
    return np.stack([t, 255 - t, np.full_like(t, 128), np.full_like(t, 255)], -1)


def mip_chain(image: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.uint8]]:
    """The image and its halves down to one texel."""
    levels = [image]
    while levels[-1].shape[0] > 1:
        wide = levels[-1].astype(np.uint16)
        quarter = (wide[::2, ::2] + wide[1::2, ::2] + wide[::2, 1::2] + wide[1::2, 1::2]) >> 2
        levels.append(np.ascontiguousarray(quarter.astype(np.uint8)))
    return levels


def cube() -> npt.NDArray[np.float32]:
    """36 vertices: position, normal, uv, 32 bytes each."""
    vertices = []
    for axis in range(3):
        for side in (-1, 1):
            right, up = (axis + 1) % 3, (axis + 2) % 3
            corners = []
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                position, normal = [0.0] * 3, [0.0] * 3
                position[axis], position[right], position[up] = side, a, b
                normal[axis] = side
                corners.append([*position, *normal, (a + 1) / 2, (b + 1) / 2])
            vertices += [corners[i] for i in (0, 1, 2, 0, 2, 3)]
    return np.array(vertices, np.float32)


def cube_matrices(count: int = 256, aspect: float = 1280 / 720) -> list[npt.NDArray[np.float32]]:
    """Model-view-projection of a spin, one matrix a frame, column by column as GLSL, WGSL and HLSL read constants."""
    near, far = 0.1, 100.0
    k = 1 / np.tan(np.radians(60) / 2)
    q = far / (near - far)
    projection = np.array([[k / aspect, 0, 0, 0], [0, k, 0, 0], [0, 0, q, near * q], [0, 0, -1, 0]])
    place = np.eye(4)
    place[2, 3] = -4
    found = []
    for i in range(count):
        a, b = i * 0.03, i * 0.021
        ry = np.array([[np.cos(a), 0, np.sin(a), 0], [0, 1, 0, 0], [-np.sin(a), 0, np.cos(a), 0], [0, 0, 0, 1]])
        rx = np.array([[1, 0, 0, 0], [0, np.cos(b), -np.sin(b), 0], [0, np.sin(b), np.cos(b), 0], [0, 0, 0, 1]])
        found.append(np.ascontiguousarray((projection @ place @ rx @ ry).T, dtype=np.float32))
    return found


def places(count: int) -> npt.NDArray[np.float32]:
    """Four numbers for each small draw: its place, and what colours it."""
    return np.random.default_rng(5).uniform(-1, 0.9, (count, 4)).astype(np.float32)


def matrices(size: int = 512) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """The two factors of the matrix product."""
    random = np.random.default_rng(6)
    return random.random((size, size), dtype=np.float32), random.random((size, size), dtype=np.float32)


def frame_bytes(size: int) -> npt.NDArray[np.uint8]:
    """What is uploaded: ``size`` random bytes."""
    return np.random.default_rng(7).integers(0, 255, size, dtype=np.uint8)
