"""Every kind of resource goes up and comes back the same, by shared pages on a unix socket and by bytes over TCP."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import wddm
from tests.e2e.conftest import client, stack_of_processes
from tests.e2e.test_frames import free_port
from wddm.client.device import Device
from wddm.wire.address import Address

RGBA8, WRITE, READ = wddm.Format.R8G8B8A8_UNORM, wddm.CpuAccessFlag.WRITE, wddm.CpuAccessFlag.READ


def noise(*shape: int, dtype: Any = np.uint8) -> npt.NDArray[Any]:
    return np.random.default_rng(sum(shape)).integers(0, 256, shape).astype(dtype)


async def textures(device: Device) -> None:
    ctx = device.immediate_context
    line = noise(33, 4)
    assert (await ctx.read_texture(await device.create_texture1d(line, format=RGBA8)) == line).all()
    floats = noise(9, 7, 4, dtype=np.float32)
    plane = await device.create_texture2d(floats, format=wddm.Format.R32G32B32A32_FLOAT)
    back = await ctx.read_texture(plane)
    assert (back.dtype, back.shape) == (np.float32, (9, 7, 4))
    assert (back == floats).all()
    ctx.update_subresource(plane, floats[:2, :3] + 1, 0, (4, 5, 0, 7, 7, 1))
    assert (await ctx.read_texture(plane, 0, (4, 5, 0, 7, 7, 1)) == floats[:2, :3] + 1).all()
    layers = [noise(n, n, 4) for _ in range(6) for n in (16, 8, 4, 2, 1)]
    cube = await device.create_texture2d(
        layers, format=RGBA8, mip_levels=5, array_size=6, misc_flags=wddm.ResourceMiscFlag.TEXTURECUBE
    )
    for index, layer in enumerate(layers):
        assert (await ctx.read_texture(cube, index) == layer).all()
    levels = [noise(n, n, n, 4) for n in (8, 4, 2, 1)]
    volume = await device.create_texture3d(levels, format=RGBA8, mip_levels=4)
    for index, level in enumerate(levels):
        assert (await ctx.read_texture(volume, index) == level).all()


async def mapped(device: Device) -> None:
    ctx = device.immediate_context
    staging = await device.create_texture2d(
        width=20, height=10, format=RGBA8, usage=wddm.Usage.STAGING, cpu_access_flags=READ | WRITE
    )
    target = await device.create_texture2d(width=20, height=10, format=RGBA8)
    picture = noise(10, 20, 4)
    for kind in (wddm.MapType.WRITE, wddm.MapType.READ_WRITE):
        pages = await ctx.map(staging, 0, kind)
        for y in range(10):
            pages.data[y * pages.row_pitch :][:80] = picture[y].reshape(-1)
        ctx.unmap(staging)
        ctx.copy_resource(target, staging)
        assert (await ctx.read_texture(target) == picture).all()
        picture = picture[::-1].copy()
    pages = await ctx.map(staging, 0, wddm.MapType.READ)
    with pytest.raises(ValueError, match="read-only"):
        pages.data[0] = 0
    ctx.unmap(staging)
    dynamic = await device.create_texture2d(width=20, height=10, format=RGBA8, usage=wddm.Usage.DYNAMIC, cpu_access_flags=WRITE)
    pages = await ctx.map(dynamic, 0, wddm.MapType.WRITE_DISCARD)
    for y in range(10):
        pages.data[y * pages.row_pitch :][:80] = picture[y].reshape(-1)
    ctx.unmap(dynamic)
    assert (await ctx.read_texture(dynamic) == picture).all()


async def buffers(device: Device) -> None:
    ctx = device.immediate_context
    for flags in (wddm.BindFlag.VERTEX_BUFFER, wddm.BindFlag.INDEX_BUFFER, wddm.BindFlag.CONSTANT_BUFFER):
        content = noise(1024, dtype=np.float32)
        buffer = await device.create_buffer(content, bind_flags=flags)
        assert (await ctx.read_buffer(buffer, np.float32) == content).all()
    dynamic = await device.create_buffer(
        4096, bind_flags=wddm.BindFlag.VERTEX_BUFFER, usage=wddm.Usage.DYNAMIC, cpu_access_flags=WRITE
    )
    expected = np.zeros(4096, np.uint8)
    for part, kind in enumerate((wddm.MapType.WRITE_DISCARD, wddm.MapType.WRITE_NO_OVERWRITE, wddm.MapType.WRITE_NO_OVERWRITE)):
        pages = await ctx.map(dynamic, 0, kind)
        expected[part * 1000 : part * 1000 + 500] = pages.data[part * 1000 : part * 1000 + 500] = noise(500)
        ctx.unmap(dynamic)
    back = await ctx.read_buffer(dynamic)
    for part in range(3):
        assert (back[part * 1000 : part * 1000 + 500] == expected[part * 1000 : part * 1000 + 500]).all()


async def test_over_both_links() -> None:
    tcp = Address(host="127.0.0.1", port=free_port())
    async with stack_of_processes(tcp=tcp) as stack:
        for where, shared in ((stack.address, True), (str(tcp), False)):
            async with client(stack, where) as gpu, await gpu.create_device() as device:
                assert device.passes_descriptors is shared
                await textures(device)
                await mapped(device)
                await buffers(device)
