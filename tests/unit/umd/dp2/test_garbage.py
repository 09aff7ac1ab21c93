"""Whatever is in a command buffer, the driver answers with an HRESULT and an offset, and goes on working."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.umd.dp2.rig import DEPTH, TARGET, Legacy, quad
from wddm.client.dp2_commands import Dp2CommandBuffer
from wddm.ddi.d3dhal import D3DHAL_TSS_MAXSTAGES, D3DRENDERSTATETYPE, D3DTEXTURESTAGESTATETYPE, DP2_COMMANDS

RED = 0xFFFF0000
COMMANDS = [op for op, shape in DP2_COMMANDS.items() if not shape.response]
#: Numbers that mean something somewhere: handles, counts, edges of ranges, floats that are none.
WORDS = st.sampled_from(
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 20, 23, 32, 64, 255, 256, 257, 0x101, 0x112, 0x142, 0x144, 0x1C4, 0x3F800000, 0xBF800000,
     0x7F800000, 0x7FC00000, 0xFF800000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x10000, 0x40000000, 0x3DCCCCCD, 0x42000000]
) | st.integers(0, 0xFFFFFFFF)  # fmt: skip


@st.composite
def command(draw: Any) -> bytes:
    """A command of likely words, cut or not."""
    op = draw(st.sampled_from(COMMANDS))
    count = draw(st.integers(0, 3))
    shape = DP2_COMMANDS[op]
    size = (shape.once.itemsize if shape.once is not None else 0) + (
        shape.each.itemsize * (1 if shape.single else max(0, count + shape.plus)) if shape.each is not None else 0
    )
    words = draw(st.lists(WORDS, min_size=size // 4 + 1, max_size=size // 4 + 1))
    data = struct.pack(f"<{len(words)}I", *words)[:size]
    if size == 2:
        data = struct.pack("<H", draw(st.integers(0, 9)))
    return struct.pack("<BBH", op, 0, count) + data + draw(st.sampled_from([b"", bytes(24), bytes(200)]) if shape.tail or shape.conditional else st.just(b""))


@st.composite
def states(draw: Any) -> bytes:
    """State that a draw will meet."""
    buffer = Dp2CommandBuffer()
    codes = [int(c) for c in D3DRENDERSTATETYPE]
    stage_codes = [int(c) for c in D3DTEXTURESTAGESTATETYPE]
    small = st.integers(0, 26) | WORDS
    buffer.render_states({draw(st.sampled_from(codes)): draw(small) for _ in range(draw(st.integers(0, 6)))})
    for _ in range(draw(st.integers(0, 4))):
        stage = draw(st.integers(0, D3DHAL_TSS_MAXSTAGES - 1) | st.just(0))
        buffer.texture_stage_states(stage, {draw(st.sampled_from(stage_codes)): draw(small) for _ in range(3)})
    return bytes(buffer)


async def fresh() -> Legacy:
    legacy = await Legacy.start(depth=True)
    await legacy.texture(5, np.full((4, 4), RED, np.uint32))
    await legacy.buffer(6, quad(0, 0, 4, 4, RED))
    await legacy.buffer(7, struct.pack("<6H", 0, 1, 2, 0, 2, 3))
    return legacy


async def survives(buffers: list[bytes]) -> None:
    legacy = await fresh()
    for data in buffers:
        hr = await legacy.call(data, quad(0, 0, 8, 8, RED))
        assert hr in (0, 0x80004001, 0x80070057, 0x8876086A, 0x8876086C, 0x88760BB8), hex(hr)
        if hr:
            assert 0 <= legacy.error_offset < len(data)
    assert legacy.gpu.errors == []
    # A recording may still be open; then it is ended first.
    await legacy.call(Dp2CommandBuffer().end_state_set())
    commands = Dp2CommandBuffer().set_render_target(TARGET, DEPTH).clear(1, 0, rects=[(0, 0, 8, 8)])
    await legacy.draw(commands)
    assert ((await legacy.pixels()) == 0).all()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(command(), max_size=4).map(b"".join) | st.binary(max_size=64), max_size=4))
def test_any_commands_are_carried_out_or_refused(buffers: list[bytes]) -> None:
    trio.run(survives, buffers)


@settings(deadline=None, max_examples=60)
@given(st.lists(states(), min_size=1, max_size=3))
def test_any_state_draws(buffers: list[bytes]) -> None:
    draw = bytes(Dp2CommandBuffer().triangle_fan(0, 2).line_list(0, 1).points((0, 2)))
    trio.run(survives, [data + draw for data in buffers])
