"""``bench transfer``: read-back and upload of a 1920x1080 RGBA8 frame, against one copy of as many bytes in memory."""

from __future__ import annotations

from functools import partial

import numpy as np

import wddm
from bench import limits
from bench.figures import Figure
from bench.options import Options, progress
from bench.scenes import readback
from bench.scenes.library import RGBA8, Loop, Ours, geometry
from bench.timing import seconds
from wddm.stack import launch


async def read_texture(ours: Ours) -> Loop:
    """The convenient way: a new array each time."""
    target = await ours.target(readback.WIDTH, readback.HEIGHT)
    ours.clear(target)
    await ours.ctx.wait_idle()

    async def loop(count: int) -> None:
        for _ in range(count):
            await ours.ctx.read_texture(target.texture)

    return loop


async def mapped(ours: Ours) -> Loop:
    """Copy to staging and Map; the client looks at the pages and copies nothing."""
    target = await ours.target(readback.WIDTH, readback.HEIGHT)
    ours.clear(target)
    through = await readback.staging(ours)

    async def loop(count: int) -> None:
        for _ in range(count):
            ours.ctx.copy_resource(through, target.texture)
            await ours.ctx.map(through, 0, wddm.MapType.READ)
            ours.ctx.unmap(through)

    return loop


async def map_write(ours: Ours) -> Loop:
    """Map a dynamic texture with WRITE_DISCARD, fill its pages, Unmap, copy it to a texture that is drawn from."""
    create = partial(ours.device.create_texture2d, width=readback.WIDTH, height=readback.HEIGHT, format=RGBA8)
    dynamic = await create(usage=wddm.Usage.DYNAMIC, cpu_access_flags=wddm.CpuAccessFlag.WRITE)
    texture = await create()
    data = geometry.frame_bytes(readback.BYTES).reshape(readback.HEIGHT, readback.WIDTH * 4)

    async def loop(count: int) -> None:
        for _ in range(count):
            pages = await ours.ctx.map(dynamic, 0, wddm.MapType.WRITE_DISCARD)
            np.copyto(np.ndarray(data.shape, np.uint8, pages.data.data, 0, (pages.row_pitch, 1)), data)
            ours.ctx.unmap(dynamic)
            ours.ctx.copy_resource(texture, dynamic)
            await ours.ctx.wait_idle()

    return loop


CASES = (
    ("transfer.readback.copied", readback.idle),
    ("transfer.readback.read_texture", read_texture),
    ("transfer.readback.mapped", mapped),
    ("transfer.upload.update", readback.upload),
    ("transfer.upload.map", map_write),
    ("transfer.upload.buffer", readback.upload_buffer),
)


async def measure(options: Options) -> list[Figure]:
    """One run. The limit is measured beside each case."""
    figures = []
    async with launch(**options.stack()) as gpu:
        for test, prepare in CASES:
            if not options.wants(test):
                continue
            progress(test)
            before = limits.copy_seconds(readback.BYTES)
            loop = await prepare(await Ours.open(gpu))
            taken = await seconds(loop, options.pace)
            limit = (before + limits.copy_seconds(readback.BYTES)) / 2
            figures.append(Figure(test, "ms", [t * 1e3 for t in taken], "low", {"memcpy": limit * 1e3}))
    return figures
