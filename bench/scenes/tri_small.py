"""100,000 triangles of about 10 pixels at 1280x720 in one draw, depth test on. soup: own vertices, random place and depth; grid: an
indexed mesh with shared vertices."""

from __future__ import annotations

import wddm

from .library import Loop, Ours, Scene, coloured, frames, geometry, rate

MILLIONS = geometry.SMALL_COUNT / 1e6


async def soup(ours: Ours) -> Loop:
    """Every triangle with vertices of its own."""
    target = await ours.target(*geometry.SMALL_SIZE, depth=True)
    await coloured(ours)
    vertices = geometry.soup()
    await ours.vertices(vertices)

    def frame(_: int) -> None:
        ours.clear(target)
        ours.ctx.draw(len(vertices))

    return frames(ours, frame, wait=True)


async def grid(ours: Ours) -> Loop:
    """A mesh."""
    target = await ours.target(*geometry.SMALL_SIZE, depth=True)
    await coloured(ours)
    vertices, indices = geometry.grid()
    await ours.vertices(vertices)
    buffer = await ours.device.create_buffer(indices, bind_flags=wddm.BindFlag.INDEX_BUFFER)
    ours.ctx.ia_set_index_buffer(buffer, wddm.Format.R32_UINT, 0)
    ours.keep(buffer)

    def frame(_: int) -> None:
        ours.clear(target)
        ours.ctx.draw_indexed(len(indices))

    return frames(ours, frame, wait=True)


SCENES: tuple[Scene, ...] = (
    rate("tri_small.soup", "Mtri/s", MILLIONS, soup),
    rate("tri_small.grid", "Mtri/s", MILLIONS, grid),
)
