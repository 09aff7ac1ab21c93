"""Compute: groups and their numbers, shared memory and barriers, atomics, append, consume and counters, indirect dispatch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.stack.d3d11.lab import Lab
from wddm import BindFlag, BufferUavFlag, Format

U32 = np.uint32


async def test_thread_numbers(lab: Lab) -> None:
    source = """
    RWStructuredBuffer<uint4> o : register(u0);
    [numthreads(4, 2, 3)] void cs(uint3 g : SV_GroupID, uint3 t : SV_GroupThreadID, uint3 d : SV_DispatchThreadID, uint i : SV_GroupIndex) {
        uint at = ((d.z * 4 + d.y) * 12) + d.x; uint group = g.x + g.y * 3 + g.z * 6;
        o[at] = uint4(group, t.x | t.y << 8 | t.z << 16, d.x | d.y << 8 | d.z << 16, i); }
    """
    got = (await lab.compute(source, 12 * 4 * 6 * 4, dtype=U32, stride=16, groups=(3, 2, 2))).reshape(6, 4, 12, 4)
    z, y, x = np.mgrid[0:6, 0:4, 0:12]
    np.testing.assert_array_equal(got[..., 0], x // 4 + y // 2 * 3 + z // 3 * 6)
    np.testing.assert_array_equal(got[..., 1], x % 4 | y % 2 << 8 | z % 3 << 16)
    np.testing.assert_array_equal(got[..., 2], x | y << 8 | z << 16)
    np.testing.assert_array_equal(got[..., 3], z % 3 * 8 + y % 2 * 4 + x % 4)


async def test_shared_memory_through_barriers(lab: Lab) -> None:
    """A reduction, a reversal and a transposition with all groups on their own memory."""
    source = """
    StructuredBuffer<int> from : register(t0); RWStructuredBuffer<int> to : register(u0);
    groupshared int line[128]; groupshared int2 pair[8][16]; groupshared float4 wide[4];
    [numthreads(16, 8, 1)] void cs(uint i : SV_GroupIndex, uint3 g : SV_GroupID, uint3 t : SV_GroupThreadID) {
        line[i] = from[g.x * 128 + i];
        pair[t.y][t.x] = int2(from[g.x * 128 + i], i);
        if (i < 4) wide[i] = 0;
        GroupMemoryBarrierWithGroupSync();
        for (uint n = 64; n > 0; n >>= 1) { if (i < n) line[i] += line[i + n]; GroupMemoryBarrierWithGroupSync(); }
        int2 p = pair[7 - t.y][15 - t.x];
        if (i == 127) wide[3].y = 2.5;
        AllMemoryBarrierWithGroupSync();
        to[g.x * 128 + i] = line[0] + p.x * 1000 + p.y + (int)(wide[3].y * 2); }
    """
    data = np.random.default_rng(1).integers(-50, 50, 384).astype(np.int32)
    _, view = await lab.structured(data, 4)
    got = await lab.compute(source, 384, view, dtype=np.int32, groups=(3, 1, 1))
    for group in range(3):
        part = data[group * 128 : group * 128 + 128]
        np.testing.assert_array_equal(got[group * 128 : group * 128 + 128], part.sum() + part[::-1] * 1000 + np.arange(127, -1, -1) + 5)


ATOMICS = """
StructuredBuffer<uint> from : register(t0); RWStructuredBuffer<uint> to : register(u0);
groupshared uint s[10];
#define ALL(at, low, high) \\
    InterlockedAdd(at[0], v); InterlockedAnd(at[1], v | 0xFFFF0000); InterlockedOr(at[2], v); InterlockedXor(at[3], v); \\
    InterlockedMin(at[4], v); InterlockedMax(at[5], v); InterlockedMin(low, (int)v); InterlockedMax(high, (int)v); \\
    InterlockedCompareStore(at[8], 5, v); InterlockedExchange(at[9], 77, old);
"""
LOCAL = ATOMICS + """
groupshared int low, high;
[numthreads(64, 1, 1)] void cs(uint i : SV_GroupIndex) {
    uint v = from[i], old;
    if (i < 10) s[i] = i == 1 || i == 4 ? 0xFFFFFFFF : i == 8 ? 5 : 0;
    if (i == 0) { low = 0x7FFFFFFF; high = 0x80000000; }
    GroupMemoryBarrierWithGroupSync();
    ALL(s, low, high)
    GroupMemoryBarrierWithGroupSync();
    if (i < 10) to[i] = i == 6 ? (uint)low : i == 7 ? (uint)high : s[i];
}
"""
GLOBAL = ATOMICS + """
RWStructuredBuffer<int> signs : register(u1);
[numthreads(64, 1, 1)] void cs(uint i : SV_GroupIndex) { uint v = from[i], old; ALL(to, signs[0], signs[1]) }
"""


def atomics(data: Any) -> list[int]:
    """What ten words hold after all lanes went through."""
    v = data.astype(U32)
    return [
        int(v.sum(dtype=U32)), int(np.bitwise_and.reduce(v | 0xFFFF0000)), int(np.bitwise_or.reduce(v)), int(np.bitwise_xor.reduce(v)),
        int(v.min()), int(v.max()), int(v.view(np.int32).min()), int(v.view(np.int32).max()),
    ]  # fmt: skip


async def test_atomics_on_shared_memory(lab: Lab) -> None:
    data = np.random.default_rng(7).integers(0, 2**32, 64, dtype=U32)
    _, view = await lab.structured(data, 4)
    got = await lab.compute(LOCAL, 10, view, dtype=U32)
    want = atomics(data)
    assert got[:6].tolist() == want[:6]
    assert got[6:8].view(np.int32).tolist() == want[6:]
    assert got[8] in data
    assert got[9] == 77


async def test_atomics_on_buffers(lab: Lab) -> None:
    data = np.random.default_rng(8).integers(0, 2**32, 64, dtype=U32)
    _, source = await lab.structured(data, 4)
    first = np.array([0, 0xFFFFFFFF, 0, 0, 0xFFFFFFFF, 0, 0, 0, 5, 0], U32)
    out, uav = await lab.structured(first, 4, uav=True)
    signs, signs_view = await lab.structured(np.array([0x7FFFFFFF, -0x80000000], np.int32), 4, uav=True)
    await lab.cs(GLOBAL)
    lab.ctx.cs_set_shader_resources(0, [source])
    lab.ctx.cs_set_unordered_access_views(0, [uav, signs_view])
    lab.ctx.dispatch(1)
    got = await lab.ctx.read_buffer(out, U32)
    want = atomics(data)
    assert got[:6].tolist() == want[:6]
    assert (await lab.ctx.read_buffer(signs, np.int32)).tolist() == want[6:]
    assert got[8] in data
    assert got[9] == 77


async def test_atomics_give_each_its_own_old_value(lab: Lab) -> None:
    """Tickets: what atomics return is a permutation, whatever the order; exchange chains end in what is left."""
    source = """
    RWStructuredBuffer<uint> o : register(u0); RWByteAddressBuffer raw : register(u1); RWTexture2D<uint> t : register(u2); RWBuffer<int> b : register(u3);
    [numthreads(32, 1, 1)] void cs(uint3 d : SV_DispatchThreadID) {
        uint a, x, c, m; int y;
        raw.InterlockedAdd(4, 1, a); InterlockedAdd(t[uint2(1, 1)], 2, x); InterlockedAdd(b[2], -3, y);
        raw.InterlockedExchange(8, d.x + 1, c); raw.InterlockedCompareExchange(12, d.x, d.x + 1, m);
        o[d.x] = a; o[64 + d.x] = x; o[128 + d.x] = (uint)y; o[192 + d.x] = c; if (m == d.x) o[256 + d.x] = 1; }
    """
    device, ctx = lab.device, lab.ctx
    raw, raw_view = await lab.raw(np.zeros(8, U32), uav=True)
    texture = await device.create_texture2d(np.zeros((2, 2, 1), U32), format=Format.R32_UINT, bind_flags=BindFlag.UNORDERED_ACCESS)
    typed, typed_view = await lab.typed(np.zeros(4, np.int32), Format.R32_SINT, uav=True)
    ctx.cs_set_unordered_access_views(1, [raw_view, await device.create_unordered_access_view(texture), typed_view])
    got = (await lab.compute(source, 320, dtype=U32, groups=(2, 1, 1))).reshape(5, 64)
    assert sorted(got[0].tolist()) == list(range(64))
    assert sorted(got[1].tolist()) == list(range(0, 128, 2))
    assert sorted(got[2].view(np.int32).tolist()) == list(range(-189, 1, 3))
    words = (await ctx.read_buffer(raw, U32)).tolist()
    assert sorted([*got[3].tolist(), words[2]]) == list(range(65))
    assert words[1] == 64
    assert int(got[4].sum()) == words[3] >= 1
    assert (await ctx.read_texture(texture))[1, 1, 0] == 128
    assert (await ctx.read_buffer(typed, np.int32)).tolist() == [0, 0, -192, 0]


async def test_append_consume_and_counters(lab: Lab) -> None:
    device, ctx = lab.device, lab.ctx
    source = """
    struct E { uint a; float b; };
    AppendStructuredBuffer<E> to : register(u0); ConsumeStructuredBuffer<E> from : register(u1); RWStructuredBuffer<uint> hits : register(u2);
    RWStructuredBuffer<uint> down : register(u3);
    [numthreads(16, 1, 1)] void cs(uint i : SV_DispatchThreadID) {
        E e = from.Consume(); e.b += 0.5; if (e.a & 1) to.Append(e);
        if (e.a % 3 == 0) { uint n = hits.IncrementCounter(); hits[n] = e.a; }
        if (i < 3) { uint left = down.DecrementCounter(); down[left] = 1; } }
    """
    elements = np.zeros(24, [("a", "<u4"), ("b", "<f4")])
    elements["a"], elements["b"] = np.arange(24), np.arange(24) * 2
    to, to_view = await lab.structured(np.zeros(64, U32), 8, uav=True, flags=BufferUavFlag.APPEND)
    _, from_view = await lab.structured(elements, 8, uav=True, flags=BufferUavFlag.APPEND)
    hits, hits_view = await lab.structured(np.full(32, 99, U32), 4, uav=True, flags=BufferUavFlag.COUNTER)
    down, down_view = await lab.structured(np.zeros(8, U32), 4, uav=True, flags=BufferUavFlag.COUNTER)
    counts = await device.create_buffer(16)
    await lab.cs(source)
    ctx.cs_set_unordered_access_views(0, [to_view, from_view, hits_view, down_view], [2, 20, 0, 7])
    ctx.dispatch(1)
    for number, view in enumerate((to_view, from_view, hits_view, down_view)):
        ctx.copy_structure_count(counts, 4 * number, view)
    # Elements 19 down to 4 were consumed, eight of them odd, appended from place 2 on.
    assert (await ctx.read_buffer(counts, U32)).tolist() == [10, 4, 5, 4]
    rows = (await ctx.read_buffer(to, U32)).reshape(32, 2)
    assert not rows[:2].any()
    assert not rows[10:].any()
    assert sorted(rows[2:10, 0].tolist()) == list(range(5, 20, 2))
    np.testing.assert_array_equal(rows[2:10, 1].view(np.float32), rows[2:10, 0] * 2 + 0.5)
    got = await ctx.read_buffer(hits, U32)
    assert sorted(got[:5].tolist()) == [6, 9, 12, 15, 18]
    assert (got[5:] == 99).all()
    # A decremented counter gives its value after the step.
    assert (await ctx.read_buffer(down, U32)).tolist() == [0, 0, 0, 0, 1, 1, 1, 0]
    # -1 keeps the counter: eight more of the same view go on behind.
    ctx.cs_set_unordered_access_views(0, [to_view, from_view, hits_view, down_view], [0xFFFFFFFF, 20, 0xFFFFFFFF, 0xFFFFFFFF])
    ctx.dispatch(1)
    for number, view in enumerate((to_view, from_view, hits_view, down_view)):
        ctx.copy_structure_count(counts, 4 * number, view)
    assert (await ctx.read_buffer(counts, U32)).tolist() == [18, 4, 10, 1]


async def test_a_group_of_1024_threads_and_32_kilobytes(lab: Lab) -> None:
    source = """
    RWStructuredBuffer<uint> o : register(u0); groupshared uint s[8192];
    [numthreads(32, 32, 1)] void cs(uint i : SV_GroupIndex) {
        for (uint k = 0; k < 8; k++) s[i * 8 + k] = i ^ k;
        GroupMemoryBarrierWithGroupSync();
        uint sum = 0; for (uint n = 0; n < 8; n++) sum += s[n * 1024 + (1023 - i)];
        o[i] = sum; }
    """
    words = (np.arange(1024)[:, None] ^ np.arange(8)).reshape(8, 1024)
    got = await lab.compute(source, 1024, dtype=U32)
    np.testing.assert_array_equal(got, words.sum(0)[::-1])


async def test_dispatch_results_are_seen_by_the_next(lab: Lab) -> None:
    """Fifty dependent dispatches in one batch: each reads what the one before wrote."""
    source = """
    RWStructuredBuffer<uint> a : register(u0); RWStructuredBuffer<uint> b : register(u1);
    [numthreads(8, 1, 1)] void cs(uint i : SV_DispatchThreadID) { b[i] = a[(i + 1) % 8] * 2 + i; }
    """
    await lab.cs(source)
    first, first_view = await lab.structured(np.arange(8, dtype=U32), 4, uav=True)
    _, second_view = await lab.structured(np.zeros(8, U32), 4, uav=True)
    values = np.arange(8, dtype=U32)
    for number in range(50):
        views = [first_view, second_view] if number % 2 == 0 else [second_view, first_view]
        lab.ctx.cs_set_unordered_access_views(0, views)
        lab.ctx.dispatch(1)
        values = np.roll(values, -1) * U32(2) + np.arange(8, dtype=U32)
    assert (await lab.ctx.read_buffer(first, U32)).tolist() == values.tolist()


async def test_an_empty_dispatch_does_nothing(lab: Lab) -> None:
    source = "RWStructuredBuffer<uint> o : register(u0); [numthreads(1, 1, 1)] void cs() { o[0] = 1; }"
    assert (await lab.compute(source, 1, dtype=U32, groups=(0, 1, 1))).tolist() == [0]
    assert (await lab.compute(source, 1, dtype=U32, groups=(1, 0, 5))).tolist() == [0]


@pytest.mark.parametrize("size", [(1, 1, 1), (5, 3, 2), (64, 1, 16), (1, 1, 64)])
async def test_group_shapes(lab: Lab, size: tuple[int, int, int]) -> None:
    source = f"RWStructuredBuffer<uint> o : register(u0); [numthreads{size}] void cs(uint i : SV_GroupIndex, uint3 g : SV_GroupID) {{ InterlockedAdd(o[g.x], i + 1); }}"
    count = size[0] * size[1] * size[2]
    assert (await lab.compute(source, 3, dtype=U32, groups=(3, 1, 1))).tolist() == [count * (count + 1) // 2] * 3
