"""100 large overlapping depth-tested triangles at 1280x720, smooth colour: random depth order, back to front, front to back."""

from __future__ import annotations

from functools import partial

from .library import Loop, Ours, Scene, coloured, duration, frames, geometry


async def large(ours: Ours, order: str) -> Loop:
    """All of them in one draw."""
    target = await ours.target(*geometry.LARGE_SIZE, depth=True)
    await coloured(ours)
    vertices = geometry.large(order)
    await ours.vertices(vertices)

    def frame(_: int) -> None:
        ours.clear(target)
        ours.ctx.draw(len(vertices))

    return frames(ours, frame, wait=True)


SCENES: tuple[Scene, ...] = tuple(
    duration(f"tri_large.{order}", "ms/frame", 1e3, partial(large, order=order)) for order in geometry.ORDERS
)
