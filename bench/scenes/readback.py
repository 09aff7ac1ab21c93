"""Read-back and upload of a 1920x1080 RGBA8 frame (8.3 MB), as a Direct3D 11 app does it.

Read: copy to a staging texture, Map, copy out into memory that is kept, Unmap. Upload: UpdateSubresource, and the wait.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import wddm
from wddm.client.resources import Texture2D

from .library import QUAD, RGBA8, Loop, Ours, Scene, Target, duration, geometry

WIDTH, HEIGHT = 1920, 1080
BYTES = WIDTH * HEIGHT * 4


async def staging(ours: Ours, format: int = RGBA8) -> Texture2D:
    """A staging texture of the frame's size."""
    return await ours.device.create_texture2d(
        width=WIDTH, height=HEIGHT, format=format, usage=wddm.Usage.STAGING, bind_flags=0, cpu_access_flags=wddm.CpuAccessFlag.READ
    )


async def copy_out(ours: Ours, source: Texture2D, through: Texture2D, out: npt.NDArray[np.uint8]) -> None:
    """The frame into ``out``, (height, width, 4)."""
    ours.ctx.copy_resource(through, source)
    mapped = await ours.ctx.map(through, 0, wddm.MapType.READ)
    np.copyto(out, np.ndarray(out.shape, np.uint8, mapped.data.data, 0, (mapped.row_pitch, out.shape[2], 1)))
    ours.ctx.unmap(through)


async def _frame(ours: Ours) -> tuple[Target, npt.NDArray[np.uint8]]:
    target = await ours.target(WIDTH, HEIGHT)
    ours.clear(target, (0.2, 0.4, 0.6, 1))
    await ours.ctx.wait_idle()
    return target, np.zeros((HEIGHT, WIDTH, 4), np.uint8)


async def idle(ours: Ours) -> Loop:
    """Of a frame that was drawn before."""
    target, out = await _frame(ours)
    through = await staging(ours)

    async def loop(count: int) -> None:
        for _ in range(count):
            await copy_out(ours, target.texture, through, out)

    return loop


async def after_clear(ours: Ours) -> Loop:
    """Of a frame that was just cleared."""
    target, out = await _frame(ours)
    through = await staging(ours)

    async def loop(count: int) -> None:
        for _ in range(count):
            ours.clear(target, (0.2, 0.4, 0.6, 1))
            await copy_out(ours, target.texture, through, out)

    return loop


async def bgra(ours: Ours) -> Loop:
    """In another order of channels: Direct3D converts by drawing into a target of that format."""
    source, out = await _frame(ours)
    view = await ours.device.create_shader_resource_view(source.texture)
    swapped = await ours.target(WIDTH, HEIGHT, format=wddm.Format.B8G8R8A8_UNORM)
    await ours.program(
        QUAD + "Texture2D<float4> t : register(t0); float4 ps_main(Pixel i) : SV_Target { return t[uint2(i.position.xy)]; }"
    )
    ours.ctx.ps_set_shader_resources(0, [view])
    through = await staging(ours, wddm.Format.B8G8R8A8_UNORM)
    ours.drawn = None  # its channels lie in another order than the peers'

    async def loop(count: int) -> None:
        for _ in range(count):
            ours.ctx.draw(6)
            await copy_out(ours, swapped.texture, through, out)

    return loop


async def upload(ours: Ours) -> Loop:
    """A texture."""
    texture = await ours.device.create_texture2d(width=WIDTH, height=HEIGHT, format=RGBA8)
    data = geometry.frame_bytes(BYTES)

    async def loop(count: int) -> None:
        for _ in range(count):
            ours.ctx.update_subresource(texture, data)
            await ours.ctx.wait_idle()

    return loop


async def upload_buffer(ours: Ours) -> Loop:
    """A buffer."""
    buffer = await ours.device.create_buffer(BYTES, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
    data = geometry.frame_bytes(BYTES)

    async def loop(count: int) -> None:
        for _ in range(count):
            ours.ctx.update_subresource(buffer, data)
            await ours.ctx.wait_idle()

    return loop


SCENES: tuple[Scene, ...] = (
    duration("readback.1080p.idle", "ms", 1e3, idle),
    duration("readback.1080p.after_clear", "ms", 1e3, after_clear),
    duration("readback.1080p.bgra", "ms", 1e3, bgra),
    duration("upload.1080p", "ms", 1e3, upload),
    duration("upload.buffer8MB", "ms", 1e3, upload_buffer),
)
