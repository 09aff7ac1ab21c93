"""Compute: saxpy over 16 M floats with groups of 64 and 256, and a 512x512 matrix product, naive and with tiles in group memory.
The product is compared with numpy's."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

import wddm
from bench.figures import Figure, failed
from bench.timing import Loop, Pace, seconds
from wddm.client.resources import Buffer

from .library import Ours, Scene, compiled, frames, geometry, rate

FLOATS = 16 << 20
SIZE = 512
ROW = 65536  #: invocations of one row of groups: a dispatch has at most 65535 groups each way
CHUNK = 8 << 20  #: bytes uploaded in one piece

SAXPY = """
StructuredBuffer<float> x : register(t0);
RWStructuredBuffer<float> y : register(u0);
cbuffer Factor : register(b0) { float a; };
[numthreads(GROUP, 1, 1)]
void cs_main(uint3 id : SV_DispatchThreadID)
{
    uint i = id.y * 65536 + id.x;
    y[i] = a * x[i] + y[i];
}
"""

PRODUCT = """
StructuredBuffer<float> a : register(t0);
StructuredBuffer<float> b : register(t1);
RWStructuredBuffer<float> c : register(u0);
"""
NAIVE = (
    PRODUCT
    + """
[numthreads(16, 16, 1)]
void cs_main(uint3 id : SV_DispatchThreadID)
{
    float s = 0;
    [loop] for (uint k = 0; k < 512; k++) s += a[id.y * 512 + k] * b[k * 512 + id.x];
    c[id.y * 512 + id.x] = s;
}
"""
)
TILED = (
    PRODUCT
    + """
groupshared float sa[16][16];
groupshared float sb[16][16];
[numthreads(16, 16, 1)]
void cs_main(uint3 id : SV_DispatchThreadID, uint3 l : SV_GroupThreadID)
{
    float s = 0;
    [loop] for (uint t = 0; t < 32; t++)
    {
        sa[l.y][l.x] = a[id.y * 512 + t * 16 + l.x];
        sb[l.y][l.x] = b[(t * 16 + l.y) * 512 + id.x];
        GroupMemoryBarrierWithGroupSync();
        [loop] for (uint k = 0; k < 16; k++) s += sa[l.y][k] * sb[k][l.x];
        GroupMemoryBarrierWithGroupSync();
    }
    c[id.y * 512 + id.x] = s;
}
"""
)


async def floats(ours: Ours, data: npt.NDArray[np.float32]) -> Buffer:
    """A structured buffer of float32, filled piece by piece."""
    buffer = await ours.device.create_buffer(
        data.nbytes,
        bind_flags=wddm.BindFlag.SHADER_RESOURCE | wddm.BindFlag.UNORDERED_ACCESS,
        misc_flags=wddm.ResourceMiscFlag.BUFFER_STRUCTURED,
        structure_byte_stride=4,
    )
    raw = data.reshape(-1).view(np.uint8)
    for start in range(0, raw.size, CHUNK):
        piece = raw[start : start + CHUNK]
        ours.ctx.update_subresource(buffer, piece, 0, (start, 0, 0, start + piece.size, 1, 1))
        await ours.ctx.wait_idle()
    ours.keep(buffer)
    return buffer


async def bind(ours: Ours, source: str, inputs: list[Buffer], output: Buffer) -> None:
    """Bind the compute shader with its buffers."""
    shader = await ours.device.create_compute_shader(compiled(source, "cs_main", "cs_5_0"))
    views = [await ours.device.create_shader_resource_view(b) for b in inputs]
    uav = await ours.device.create_unordered_access_view(output)
    ours.ctx.cs_set_shader(shader)
    ours.ctx.cs_set_shader_resources(0, views)
    ours.ctx.cs_set_unordered_access_views(0, [uav])
    ours.keep(shader, uav, *views)


async def saxpy(ours: Ours, group: int) -> Loop:
    """y = a x + y."""
    x, y = await floats(ours, np.full(FLOATS, 1, np.float32)), await floats(ours, np.full(FLOATS, 2, np.float32))
    await bind(ours, SAXPY.replace("GROUP", str(group)), [x], y)
    constants = await ours.constants()
    ours.ctx.write(constants, np.array([0.5, 0, 0, 0], np.float32))
    ours.ctx.cs_set_constant_buffers(0, [constants])
    return frames(ours, lambda _: ours.ctx.dispatch(ROW // group, FLOATS // ROW), wait=True)


def product(name: str, source: str) -> Scene:
    """c = a b; the result is checked."""
    test = f"compute.matmul512.{name}"

    async def measure(ours: Ours, pace: Pace) -> list[Figure]:
        a, b = geometry.matrices(SIZE)
        left, right, out = await floats(ours, a), await floats(ours, b), await floats(ours, np.zeros_like(a))
        await bind(ours, source, [left, right], out)
        loop = frames(ours, lambda _: ours.ctx.dispatch(SIZE // 16, SIZE // 16), wait=True)
        taken = await seconds(loop, pace)
        found = (await ours.ctx.read_buffer(out, np.float32)).reshape(SIZE, SIZE)
        if not np.allclose(found, a @ b, rtol=1e-3):
            return [failed(test, "the product is wrong")]
        return [Figure(test, "Gflop/s", [2 * SIZE**3 / t / 1e9 for t in taken])]

    return Scene((test,), measure)


SCENES: tuple[Scene, ...] = (
    *(rate(f"compute.saxpy16M.wg{group}", "GB/s", FLOATS * 12 / 1e9, partial(saxpy, group=group)) for group in (64, 256)),
    product("naive", NAIVE),
    product("tiled", TILED),
)
