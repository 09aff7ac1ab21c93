"""Texture stages against numpy: every operation, argument and modifier."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.umd.dp2.rig import Legacy
from wddm.client.dp2_commands import Dp2CommandBuffer
from wddm.ddi.d3dhal import D3DFVF, D3DTA
from wddm.ddi.d3dhal import D3DRENDERSTATETYPE as RS
from wddm.ddi.d3dhal import D3DTEXTUREOP as TOP
from wddm.ddi.d3dhal import D3DTEXTURESTAGESTATETYPE as TSS

DIFFUSE, SPECULAR, FACTOR, CONSTANT = 0xC0804020, 0x40306090, 0x60A0E030, 0x9050B070
TEXELS = (0x80FF8030, 0x50204060)
OPS = [op for op in TOP if op not in (TOP.DISABLE, TOP.PREMODULATE, TOP.BUMPENVMAP, TOP.BUMPENVMAPLUMINANCE)]
ARGS = st.sampled_from([D3DTA.DIFFUSE, D3DTA.CURRENT, D3DTA.TEXTURE, D3DTA.TFACTOR, D3DTA.SPECULAR, D3DTA.TEMP, D3DTA.CONSTANT])
MODIFIED = st.tuples(ARGS, st.sampled_from([0, 0x10, 0x20, 0x30])).map(lambda t: int(t[0]) | t[1])


def rgba(word: int) -> Any:
    return np.array([word >> 16 & 255, word >> 8 & 255, word & 255, word >> 24 & 255]) / 255


def operation(op: TOP, a0: Any, a1: Any, a2: Any, blend: dict[TOP, float], texel: Any) -> Any:
    """One operation on whole colours; alpha is the fourth component."""
    table: dict[TOP, Any] = {
        TOP.SELECTARG1: a1, TOP.SELECTARG2: a2, TOP.MODULATE: a1 * a2, TOP.MODULATE2X: 2 * a1 * a2, TOP.MODULATE4X: 4 * a1 * a2,
        TOP.ADD: a1 + a2, TOP.ADDSIGNED: a1 + a2 - 0.5, TOP.ADDSIGNED2X: 2 * (a1 + a2 - 0.5), TOP.SUBTRACT: a1 - a2,
        TOP.ADDSMOOTH: a1 + a2 - a1 * a2, TOP.BLENDTEXTUREALPHAPM: a1 + a2 * (1 - texel[3]),
        TOP.MODULATEALPHA_ADDCOLOR: a1 + a1[3] * a2, TOP.MODULATECOLOR_ADDALPHA: a1 * a2 + a1[3],
        TOP.MODULATEINVALPHA_ADDCOLOR: (1 - a1[3]) * a2 + a1, TOP.MODULATEINVCOLOR_ADDALPHA: (1 - a1) * a2 + a1[3],
        TOP.MULTIPLYADD: a0 + a1 * a2, TOP.LERP: a0 * a1 + (1 - a0) * a2,
        TOP.DOTPRODUCT3: np.full(4, 4 * ((a1[:3] - 0.5) * (a2[:3] - 0.5)).sum()),
    }  # fmt: skip
    if op in blend:
        return a1 * blend[op] + a2 * (1 - blend[op])
    return table[op]


def cascade(stages: list[dict[TSS, int]]) -> Any:
    """The colour that comes out of the stages."""
    diffuse = rgba(DIFFUSE)
    current, temp = diffuse.copy(), np.zeros(4)
    for index, stage in enumerate(stages):
        texel = rgba(TEXELS[index])
        sources = {0: diffuse, 1: current, 2: texel, 3: rgba(FACTOR), 4: rgba(SPECULAR), 5: temp, 6: rgba(CONSTANT)}
        blend = {
            TOP.BLENDDIFFUSEALPHA: diffuse[3], TOP.BLENDTEXTUREALPHA: texel[3], TOP.BLENDFACTORALPHA: rgba(FACTOR)[3],
            TOP.BLENDCURRENTALPHA: current[3],
        }  # fmt: skip

        def argument(value: int, sources: Any = sources) -> Any:
            color = sources[value & 15]
            color = 1 - color if value & 0x10 else color
            return np.full(4, color[3]) if value & 0x20 else color

        colors = [argument(stage[c]) for c in (TSS.COLORARG0, TSS.COLORARG1, TSS.COLORARG2)]
        alphas = [argument(stage[c]) for c in (TSS.ALPHAARG0, TSS.ALPHAARG1, TSS.ALPHAARG2)]
        result = operation(TOP(stage[TSS.COLOROP]), *colors, blend, texel)
        if stage[TSS.COLOROP] != TOP.DOTPRODUCT3:
            alpha = operation(TOP(stage[TSS.ALPHAOP]), *alphas, blend, texel)[3]
            result = np.append(result[:3], alpha)
        result = np.clip(result, 0, 1)
        if stage[TSS.RESULTARG] == 5:
            temp = result
        else:
            current = result
    return current


async def drawn(stages: list[dict[TSS, int]]) -> Any:
    """The same by the driver and the reference engine."""
    legacy = await Legacy.start(2, 2)
    commands = Dp2CommandBuffer().render_state(RS.TEXTUREFACTOR, FACTOR)
    for index, stage in enumerate(stages):
        await legacy.texture(5 + index, np.full((1, 1), TEXELS[index], np.uint32))
        commands.texture(index, 5 + index).texture_stage_states(index, {**stage, TSS.CONSTANT: CONSTANT})
    rows = b"".join(
        struct.pack("<4f2I4f", x, y, 0, 1, DIFFUSE, SPECULAR, 0, 0, 0, 0) for x, y in ((-0.5, -0.5), (1.5, -0.5), (1.5, 1.5), (-0.5, 1.5))
    )
    fvf = D3DFVF.XYZRHW | D3DFVF.DIFFUSE | D3DFVF.SPECULAR | 0x200
    await legacy.draw(commands.triangle_fan(0, 2), rows, fvf)
    return rgba(int((await legacy.pixels())[0, 0]))


STAGE = st.fixed_dictionaries(
    {
        TSS.COLOROP: st.sampled_from(OPS), TSS.COLORARG0: MODIFIED, TSS.COLORARG1: MODIFIED, TSS.COLORARG2: MODIFIED,
        TSS.ALPHAOP: st.sampled_from([o for o in OPS if o is not TOP.DOTPRODUCT3]), TSS.ALPHAARG0: MODIFIED, TSS.ALPHAARG1: MODIFIED,
        TSS.ALPHAARG2: MODIFIED, TSS.RESULTARG: st.sampled_from([1, 1, 5]),
    }
)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(st.lists(STAGE, min_size=1, max_size=2))
def test_cascades(stages: list[dict[TSS, int]]) -> None:
    assert np.abs(trio.run(drawn, stages) - cascade(stages)).max() <= 1.01 / 255


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
async def test_every_operation(op: TOP) -> None:
    alpha = TOP.SELECTARG1 if op is TOP.DOTPRODUCT3 else op
    stage = {
        TSS.COLOROP: op, TSS.COLORARG0: 3, TSS.COLORARG1: 2, TSS.COLORARG2: 0, TSS.ALPHAOP: alpha, TSS.ALPHAARG0: 3, TSS.ALPHAARG1: 2,
        TSS.ALPHAARG2: 0, TSS.RESULTARG: 1,
    }  # fmt: skip
    assert np.abs(await drawn([stage]) - cascade([stage])).max() <= 1.01 / 255


async def test_without_a_texture_the_colour_passes() -> None:
    legacy = await Legacy.start(2, 2)
    rows = b"".join(struct.pack("<4fI", x, y, 0, 1, 0x40302010) for x, y in ((-0.5, -0.5), (1.5, -0.5), (1.5, 1.5), (-0.5, 1.5)))
    await legacy.draw(Dp2CommandBuffer().triangle_fan(0, 2), rows, D3DFVF.XYZRHW | D3DFVF.DIFFUSE)
    assert ((await legacy.pixels()) == 0x40302010).all()


async def test_specular_is_added_behind_the_stages() -> None:
    legacy = await Legacy.start(2, 2)
    rows = b"".join(
        struct.pack("<4f2I", x, y, 0, 1, 0x40302010, 0xFF0102F8) for x, y in ((-0.5, -0.5), (1.5, -0.5), (1.5, 1.5), (-0.5, 1.5))
    )
    commands = Dp2CommandBuffer().render_state(RS.SPECULARENABLE, 1).triangle_fan(0, 2)
    await legacy.draw(commands, rows, D3DFVF.XYZRHW | D3DFVF.DIFFUSE | D3DFVF.SPECULAR)
    assert ((await legacy.pixels()) == 0x403122FF).all()


async def test_bump_maps_move_the_next_stage_s_coordinates() -> None:
    legacy = await Legacy.start(4, 1)
    ramp = np.array([[0xFF000000, 0xFF404040, 0xFF808080, 0xFFC0C0C0]], np.uint32)
    await legacy.texture(6, ramp)
    # Signed (du, dv) = (1, 0) in half of the texels: with a matrix of 1/4, one texel further.
    await legacy.texture(5, np.array([[[0, 0], [127, 0]]], np.int8), 51)
    rows = b"".join(
        struct.pack("<8f", x, y, 0, 1, u, 0.5, u, 0.5) for x, y, u in ((-0.5, -0.5, 0), (3.5, -0.5, 1), (3.5, 0.5, 1), (-0.5, 0.5, 0))
    )
    commands = (
        Dp2CommandBuffer().texture(0, 5).texture(1, 6)
        .texture_stage_states(0, {TSS.COLOROP: TOP.BUMPENVMAP, TSS.BUMPENVMAT00: 0.25, TSS.BUMPENVMAT11: 0.25})
        .texture_stage_states(1, {TSS.COLOROP: TOP.SELECTARG1, TSS.ALPHAOP: TOP.SELECTARG1, TSS.TEXCOORDINDEX: 1}).triangle_fan(0, 2)
    )  # fmt: skip
    await legacy.draw(commands, rows, D3DFVF.XYZRHW | 0x200)
    assert (await legacy.pixels())[0].tolist() == [0xFF000000, 0xFF404040, 0xFFC0C0C0, 0xFF000000]


async def test_luminance_formats_are_grey() -> None:
    legacy = await Legacy.start(2, 2)
    rows = b"".join(struct.pack("<6f", x, y, 0, 1, 0, 0) for x, y in ((-0.5, -0.5), (1.5, -0.5), (1.5, 1.5), (-0.5, 1.5)))
    for handle, texels, format, d3dformat, expected in (
        (5, np.array([[0x40]], np.uint8), 61, 50, 0xFF404040),
        (6, np.array([[[0x40, 0x80]]], np.uint8), 49, 51, 0x80404040),
    ):
        await legacy.texture(handle, texels, format, d3dformat)
        await legacy.draw(Dp2CommandBuffer().texture(0, handle).triangle_fan(0, 2), rows, D3DFVF.XYZRHW | D3DFVF.TEX1)
        assert ((await legacy.pixels()) == expected).all(), hex(expected)


async def test_the_texture_states_of_directx_5_are_those_of_stage_0() -> None:
    legacy = await Legacy.start(2, 2)
    await legacy.texture(5, np.full((1, 1), 0x80FF8040, np.uint32))
    rows = b"".join(struct.pack("<4fI2f", x, y, 0, 1, 0xFF808080, 0, 0) for x, y in ((-0.5, -0.5), (1.5, -0.5), (1.5, 1.5), (-0.5, 1.5)))
    commands = Dp2CommandBuffer().render_states({RS.TEXTUREHANDLE: 5, RS.TEXTUREMAPBLEND: 7, RS.TEXTUREADDRESS: 3})
    await legacy.draw(commands.triangle_fan(0, 2), rows, D3DFVF.XYZRHW | D3DFVF.DIFFUSE | D3DFVF.TEX1)
    assert ((await legacy.pixels()) == 0x80FF8040).all()
