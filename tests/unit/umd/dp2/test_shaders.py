"""Vertex and pixel shaders of DirectX 8 and 9: what their instructions compute, and code that is none."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.umd.dp2.rig import PLAIN, Legacy, quad
from tests.unit.umd.dp2.shader_code import OPCODES, assemble
from umd.dp2.bytecode import parse
from umd.dp2.errors import CommandError
from wddm.client.dp2_commands import Dp2CommandBuffer
from wddm.ddi.d3dhal import D3DFVF
from wddm.ddi.d3dhal import D3DPRIMITIVETYPE as PT
from wddm.ddi.d3dhal import D3DRENDERSTATETYPE as RS
from wddm.ddi.d3dhal import D3DTEXTURESTAGESTATETYPE as TSS

VS, PS = 11, 12
A, B, C = np.array([0.25, -0.5, 0.75, 2.0]), np.array([0.5, 0.25, -1.0, 4.0]), np.array([1.5, 0.125, 0.375, -0.25])


async def pixel(code: str, *commands: Dp2CommandBuffer, vertices: bytes = b"", fvf: int = PLAIN, setup: Any = None) -> Any:
    """The colour that a pixel shader gives one float target: four floats."""
    legacy = await Legacy.start(2, 2)
    target = await legacy.gpu.texture(2, 2, 2, bind=0x20 | 8)
    assert legacy.surface(9, target) == 0
    if setup is not None:
        await setup(legacy)
    buffer = Dp2CommandBuffer().set_render_target(9).clear(1, 0).create_pixel_shader(PS, assemble(code)).set_pixel_shader(PS)
    buffer.set_pixel_shader_const(20, [A, B, C])
    data = bytes(buffer) + b"".join(bytes(c) for c in commands) + bytes(Dp2CommandBuffer().triangle_fan(0, 2))
    await legacy.draw(data, vertices or quad(0, 0, 2, 2, 0x80FF4020), fvf)
    return (await legacy.gpu.read_texture(target, 2, 2, 16)).view(np.float32)[0, 0].astype(np.float64)


BODIES = {
    "mov r0, c20": A, "add r0, c20, c21": A + B, "sub r0, c20, c21": A - B, "mad r0, c20, c21, c22": A * B + C, "mul r0, c20, c21": A * B,
    "rcp r0, c20.w": np.full(4, 0.5), "rsq r0, c21.w": np.full(4, 0.5), "dp3 r0, c20, c21": np.full(4, A[:3] @ B[:3]),
    "dp4 r0, c20, c21": np.full(4, A @ B), "min r0, c20, c21": np.minimum(A, B), "max r0, c20, c21": np.maximum(A, B),
    "exp r0, c20.w": np.full(4, 4.0), "log r0, c21.w": np.full(4, 2.0), "lrp r0, c20, c21, c22": A * B + (1 - A) * C,
    "frc r0, c22": C - np.floor(C), "pow r0, c21.w, c20.y": np.full(4, 0.5), "crs r0.xyz, c20, c21": np.append(np.cross(A[:3], B[:3]), 0),
    "abs r0, c20": np.abs(A), "nrm r0, c20": A / np.linalg.norm(A[:3]), "cmp r0, c20, c21, c22": np.where(A >= 0, B, C),
    "dp2add r0, c20, c21, c22.x": np.full(4, A[0] * B[0] + A[1] * B[1] + C[0]), "m3x2 r0.xy, c20, c20": np.array([A[:3] @ A[:3], A[:3] @ B[:3], 0, 0]),
    "mov r0, -c20.wzyx": -A[::-1], "mov_sat r0, c20": np.clip(A, 0, 1), "mov r0, c20_abs": np.abs(A), "mov r0, -c20_abs": -np.abs(A),
    "sincos r0.xy, c20.x, c21, c22": np.array([np.cos(0.25), np.sin(0.25), 0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda b: b.split(",")[0])
async def test_arithmetic_of_model_2(body: str) -> None:
    code = f"ps_2_0\ndef c0, 0, 0, 0, 0\nmov r0, c0\n{body}\nmov oC0, r0"
    assert np.allclose(await pixel(code), BODIES[body], atol=2e-5)


FLOW = {
    "if": ("defb b0, 1\ndefi i0, 1, 0, 0, 0\nif b0\nmov r0, c20\nelse\nmov r0, c21\nendif", A),
    "if not": ("defb b0, 1\nif !b0\nmov r0, c20\nelse\nmov r0, c21\nendif", B),
    "if compare": ("if_lt c20.x, c21.x\nmov r0, c20\nelse\nmov r0, c21\nendif", A),
    "rep": ("defi i0, 3, 0, 0, 0\nrep i0\nadd r0, r0, c20\nendrep", 3 * A),
    "nested": ("defi i0, 3, 0, 0, 0\ndefi i1, 2, 0, 0, 0\nrep i0\nrep i1\nadd r0, r0, c20\nendrep\nadd r0, r0, c21\nendrep", 6 * A + 3 * B),
    "break": ("defi i0, 9, 0, 0, 0\nrep i0\nadd r0, r0, c20\nbreak_ge r0.w, c21.w\nendrep", 2 * A),
    "call": ("call l0\ncall l0\nmov oC0, r0\nret\nlabel l0\nadd r0, r0, c20\nret", 2 * A),
    "call if": ("defb b1, 0\ncallnz l0, b1\ncallnz l1, !b1\nmov oC0, r0\nret\nlabel l0\nadd r0, r0, c20\nret\nlabel l1\nadd r0, r0, c21\nret", B),
    "setp": ("setp_gt p0, c20, c21\n(p0) mov r0, c20\n(!p0) mov r0, c22", np.where(A > B, A, C)),
    "breakp": ("defi i0, 9, 0, 0, 0\nrep i0\nadd r0, r0, c20\nsetp_ge p0, r0, c21\nbreakp p0.w\nendrep", 2 * A),
}


@pytest.mark.parametrize("name", FLOW)
async def test_flow(name: str) -> None:
    body, expected = FLOW[name]
    code = f"ps_2_1\ndef c0, 0, 0, 0, 0\nmov r0, c0\n{body}\n" + ("" if "oC0" in body else "mov oC0, r0\n")
    assert np.allclose(await pixel(code), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("mul_x2 r0, v0, c0", [1, 0.5 * 64 / 255 * 2, 32 / 255, 128 / 255]),
        ("mov_sat r0, v0_bx2", [1, 0, 0, 2 * 128 / 255 - 1]),
        ("mov r0, 1-v0", [0, 1 - 64 / 255, 1 - 32 / 255, 1 - 128 / 255]),
        ("add r0, v0_bias, c0", [1, 64 / 255, 32 / 255, 128 / 255]),
        ("mov_d2 r0, v0", [0.5, 32 / 255, 16 / 255, 64 / 255]),
        ("mov r0, c0\ncnd r0.xyz, r0.w, v0, c1\n", [1, 1, 1, 0.5]),
        ("mov r0.xyz, v0\n+mov r0.w, v0.z", [1, 64 / 255, 32 / 255, 32 / 255]),
        ("mov r0, v0\nmov r0.xyz, r0.w\n+mov r0.w, r0.z", [128 / 255] * 3 + [32 / 255]),
    ],
)  # fmt: skip
async def test_model_1_1(body: str, expected: list[float]) -> None:
    code = f"ps_1_1\ndef c0, 0.5, 0.5, 0.5, 0.5\ndef c1, 1, 1, 1, 1\n{body}"
    assert np.allclose(await pixel(code), expected, atol=1e-3)


TEXELS = np.array([[0xFF102030, 0xFF405060, 0xFF708090, 0xFFA0B0C0]], np.uint32)


def textured(u: float, v: float = 0.5, more: tuple[float, ...] = ()) -> bytes:
    """A quad whose coordinates are the same everywhere."""
    rows = [(-0.5, -0.5), (1.5, -0.5), (1.5, 1.5), (-0.5, 1.5)]
    return b"".join(struct.pack(f"<4f{2 + len(more)}f", x, y, 0.5, 1.0, u, v, *more) for x, y in rows)


async def _ramp(legacy: Legacy) -> None:
    await legacy.texture(5, TEXELS)
    await legacy.texture(6, TEXELS)


def rgb(word: int) -> list[float]:
    return [(word >> 16 & 255) / 255, (word >> 8 & 255) / 255, (word & 255) / 255, 1.0]


@pytest.mark.parametrize(
    "code",
    [
        "ps_1_1\ntex t0\nmov r0, t0",
        "ps_1_4\ntexld r0, t0\n",
        "ps_2_0\ndcl t0.xy\ndcl_2d s0\ntexld r1, t0, s0\nmov oC0, r1",
        "ps_3_0\ndcl_texcoord0 v3.xy\ndcl_2d s0\ntexld r1, v3, s0\nmov oC0, r1",
        "ps_3_0\ndef c0, 0, 0, 0, 0\ndcl_texcoord0 v3.xy\ndcl_2d s0\nmov r0, c0\nmov r0.xy, v3\ntexldl r1, r0, s0\nmov oC0, r1",
        "ps_2_1\ndcl t0.xy\ndcl_2d s0\ndsx r1, t0\ndsy r2, t0\ntexldd r1, t0, s0, r1, r2\nmov oC0, r1",
    ],
    ids=["1.1", "1.4", "2.0", "3.0", "lod", "gradients"],
)
async def test_sampling(code: str) -> None:
    commands = Dp2CommandBuffer().texture(0, 5)
    found = await pixel(code, commands, vertices=textured(0.625), fvf=D3DFVF.XYZRHW | D3DFVF.TEX1, setup=_ramp)
    assert np.allclose(found, rgb(0xFF708090), atol=1e-4)


async def test_projection_and_dependent_reads() -> None:
    commands = Dp2CommandBuffer().texture(0, 5).texture(1, 6)
    four = D3DFVF.XYZRHW | D3DFVF.TEX1 | 2 << 16
    code = "ps_2_0\ndcl t0\ndcl_2d s0\ntexldp r0, t0, s0\nmov oC0, r0"
    found = await pixel(code, commands, vertices=textured(1.25, 1.0, (0.0, 2.0)), fvf=four, setup=_ramp)
    assert np.allclose(found, rgb(0xFF708090), atol=1e-4)
    # The green and blue of texel 1 (0x50, 0x60) are the coordinates of the next read: u = 0.31 is texel 1 again.
    code = "ps_1_1\ntex t0\ntexreg2gb t1, t0\nmov r0, t1"
    found = await pixel(code, commands, vertices=textured(0.375), fvf=D3DFVF.XYZRHW | D3DFVF.TEX1, setup=_ramp)
    assert np.allclose(found, rgb(0xFF405060), atol=1e-4)
    # A row times a texel: 0.25 * (0x40 + 0x50) / 255 + 0.5 * 0x60 / 255 = 0.329 is texel 1, and the second row gives v.
    three = D3DFVF.XYZRHW | 0x300 | 1 << 18 | 1 << 20
    code = "ps_1_1\ntex t0\ntexm3x2pad t1, t0\ntexm3x2tex t2, t0\nmov r0, t2"
    vertices = textured(0.375, 0.5, (0.25, 0.25, 0.5, 0.5, 0.5, 0.5))
    found = await pixel(code, Dp2CommandBuffer().texture(0, 5).texture(2, 6), vertices=vertices, fvf=three, setup=_ramp)
    assert np.allclose(found, rgb(0xFF405060), atol=1e-4)


async def test_bump_of_model_1() -> None:
    async def setup(legacy: Legacy) -> None:
        await legacy.texture(5, np.array([[[64, 0]]], np.int8), 51)
        await legacy.texture(6, TEXELS)

    commands = Dp2CommandBuffer().texture(0, 5).texture(1, 6).texture_stage_states(1, {TSS.BUMPENVMAT00: 0.5})
    vertices = textured(0.125, 0.5, (0.125, 0.5))
    found = await pixel("ps_1_1\ntex t0\ntexbem t1, t0\nmov r0, t1", commands, vertices=vertices, fvf=D3DFVF.XYZRHW | 0x200, setup=setup)
    assert np.allclose(found, rgb(0xFF405060), atol=1e-4)  # 0.125 + 64 / 127 / 2 = 0.377


async def test_kill_depth_alpha_test_and_fog() -> None:
    killed = await pixel("ps_2_0\ntexkill r0\nmov oC0, c20".replace("texkill", "mov r0, c20\ntexkill"))
    assert (killed == 0).all()
    kept = await pixel("ps_2_0\nmov r0, c20\ntexkill r0.xzw\nmov oC0, c20")
    assert np.allclose(kept, A)
    tested = await pixel("ps_2_0\nmov oC0, c20", Dp2CommandBuffer().render_states({RS.ALPHATESTENABLE: 1, RS.ALPHAFUNC: 2, RS.ALPHAREF: 255}))
    assert (tested == 0).all()
    fogged = {RS.FOGENABLE: 1, RS.FOGCOLOR: 0xFF00FF00, RS.FOGTABLEMODE: 3, RS.FOGSTART: 0.0, RS.FOGEND: 1.0}
    assert np.allclose(await pixel("ps_2_0\nmov oC0, c21", Dp2CommandBuffer().render_states(fogged)), [0.25, 0.625, -0.5, 4.0], atol=1e-5)
    # Model 3.0 has fog of its own.
    assert np.allclose(await pixel("ps_3_0\nmov oC0, c21", Dp2CommandBuffer().render_states(fogged)), B)


async def test_positions_and_faces_of_model_3() -> None:
    legacy = await Legacy.start(4, 4)
    code = "ps_3_0\ndef c0, 0.25, 0.25, 0, 1\nmov r0, c0\nmul r0.xy, vPos, c0\nmov r0.z, vFace.x\nmov oC0, r0"
    commands = Dp2CommandBuffer().create_pixel_shader(PS, assemble(code)).set_pixel_shader(PS).triangle_fan(0, 2)
    await legacy.draw(commands, quad(0, 0, 4, 4, 0))
    image = await legacy.pixels()
    assert (image[2, 3] >> 16 & 255, image[2, 3] >> 8 & 255, image[2, 3] & 255) == (191, 128, 255)


# --- vertex shaders ----------------------------------------------------------------------------------------------------------
ELEMENTS = [(0, 0, 2, 0, 0, 0), (0, 12, 3, 0, 5, 0), (0, 28, 4, 0, 10, 0), (0, 32, 5, 0, 2, 0)]
CORNERS = [(-1, 1), (1, 1), (1, -1), (-1, -1)]


def stream() -> bytes:
    """Position, four floats, colour, four bytes: 36 bytes each."""
    return b"".join(struct.pack("<3f4fI4B", x, y, 0.5, *A, 0xFF336699, 1, 2, 3, 4) for x, y in CORNERS)


async def shaded(code: str, *more: Dp2CommandBuffer, pixel_code: str = "ps_2_0\nmov oC0, t0", elements: Any = ELEMENTS) -> Any:
    """What a vertex shader puts into oT0, through a pixel shader into a float target."""
    legacy = await Legacy.start(2, 2)
    target = await legacy.gpu.texture(2, 2, 2, bind=0x20 | 8)
    assert legacy.surface(9, target) == 0
    await legacy.buffer(20, stream())
    setup = (
        Dp2CommandBuffer().set_render_target(9).clear(1, 0).create_vertex_shader_decl(31, elements).set_vertex_shader_decl(31)
        .create_vertex_shader_func(VS, assemble(code)).set_vertex_shader_func(VS).set_vertex_shader_const(20, [A, B, C])
        .create_pixel_shader(PS, assemble(pixel_code)).set_pixel_shader(PS).set_stream_source(0, 20, 36)
    )  # fmt: skip
    await legacy.draw(bytes(setup) + b"".join(bytes(m) for m in more) + bytes(Dp2CommandBuffer().draw_primitive(PT.TRIANGLEFAN, 0, 2)))
    return (await legacy.gpu.read_texture(target, 2, 2, 16)).view(np.float32)[0, 0].astype(np.float64)


HEAD = "vs_2_0\ndcl_position v0\ndcl_texcoord v1\ndcl_color v2\nmov oPos, v0\n"
VERTEX = {
    "mov oT0, v1": A, "mov oT0, v2": np.array([0x33, 0x66, 0x99, 0xFF]) / 255, "mad oT0, v1, c21, c22": A * B + C,
    "slt oT0, c20, c21": (A < B) * 1.0, "sge oT0, c20, c21": (A >= B) * 1.0, "lit oT0, c21.xyzz": np.array([1, 0.5, 4.0, 1]),
    "dst oT0, c20, c21": np.array([1, A[1] * B[1], A[2], B[3]]), "sgn r0, c20, r1, r2\nmov oT0, r0": np.sign(A),
    "m4x4 r0, v1, c20\nmov oT0, r0": None, "mova a0.x, c20.w\nmov oT0, c[a0.x + 19]": B, "expp r0, c20.w\nmov oT0, r0": np.full(4, 4.0),
    "defi i0, 2, 1, 1, 0\nmov r0, c22\nloop aL, i0\nadd r0, r0, c[aL + 19]\nendloop\nmov oT0, r0": A + B + C,
    "mov oT0.xy, v1\nmov oT0.zw, c21": np.array([*A[:2], *B[2:]]),
}  # fmt: skip


@pytest.mark.parametrize("body", VERTEX, ids=lambda b: b.split("\n")[0])
async def test_vertex_arithmetic(body: str) -> None:
    expected = VERTEX[body]
    if expected is None:
        expected = np.array([A @ A, A @ B, A @ C, 0])
    assert np.allclose(await shaded(HEAD + body), expected, atol=1e-5)


async def test_inputs_that_are_missing_and_integers() -> None:
    code = HEAD.replace("dcl_color v2", "dcl_color1 v2")
    assert np.allclose(await shaded(code + "mov oT0, v2"), [0, 0, 0, 1])
    indices = [*ELEMENTS[:3], (0, 32, 5, 0, 3, 0)]
    assert np.allclose(await shaded("vs_2_0\ndcl_position v0\ndcl_normal v1\nmov oPos, v0\nmov oT0, v1", elements=indices), [1, 2, 3, 4])


async def test_model_3_links_by_usage() -> None:
    code = "vs_3_0\ndcl_position v0\ndcl_texcoord v1\ndcl_position o3\ndcl_normal o5\ndcl_texcoord3 o1\nmov o3, v0\nmov o5, v1\nmov o1, c21"
    ps = "ps_3_0\ndcl_normal v0\ndcl_texcoord3 v1\nadd r0, v0, v1\nmov oC0, r0"
    assert np.allclose(await shaded(code, pixel_code=ps), A + B, atol=1e-5)


async def test_constants_that_a_shader_defines_stay_its_own() -> None:
    code = HEAD + "def c20, 1, 2, 3, 4\nadd oT0, c20, c21"
    assert np.allclose(await shaded(code), np.array([1, 2, 3, 4]) + B)


async def test_a_directx_8_shader_with_its_declaration_and_fixed_pixels() -> None:
    legacy = await Legacy.start(2, 2)
    await legacy.buffer(20, stream())
    declaration = struct.pack("<8I", 1 << 29, 2 << 29 | 2 << 16, 2 << 29 | 1 << 28 | 4 << 16, 2 << 29 | 4 << 16 | 5,
                              4 << 29 | 1 << 25 | 7, 0, 0, 0)[:-12] + struct.pack("<4fI", 0.5, 0.5, 0.5, 1.0, 0xFFFFFFFF)  # fmt: skip
    code = assemble("vs_1_1\nmov oPos, v0\nmul oD0, v5, c7")
    commands = (
        Dp2CommandBuffer().create_vertex_shader(41, declaration, code).set_vertex_shader(41).set_stream_source(0, 20, 36)
        .draw_primitive(PT.TRIANGLEFAN, 0, 2)
    )  # fmt: skip
    await legacy.draw(commands)
    image = await legacy.pixels()
    assert all(abs(((int(image[0, 0]) >> s) & 255) - e) <= 1 for s, e in ((24, 0xFF), (16, 0x1A), (8, 0x33), (0, 0x4D)))
    # Back to the fixed function by an FVF.
    await legacy.draw(Dp2CommandBuffer().set_vertex_shader(PLAIN).clear(1, 0).triangle_fan(0, 2), quad(0, 0, 2, 2, 0xFF010203))
    assert ((await legacy.pixels()) == 0xFF010203).all()


async def test_fog_and_point_size_of_a_vertex_shader() -> None:
    legacy = await Legacy.start(8, 8)
    await legacy.buffer(20, struct.pack("<3f", 0.0, 0.0, 0.5))
    code = assemble("vs_2_0\ndef c0, 0.25, 3, 0, 1\ndcl_position v0\nmov oPos, v0\nmov oFog, c0.x\nmov oPts, c0.y\nmov oD0, c0.w")
    commands = (
        Dp2CommandBuffer().set_vertex_shader(D3DFVF.XYZ).create_vertex_shader_func(VS, code).set_vertex_shader_func(VS)
        .set_stream_source(0, 20, 12).render_states({RS.FOGENABLE: 1, RS.FOGVERTEXMODE: 3, RS.FOGCOLOR: 0xFF00FF00, RS.POINTSIZE: 2.0})
        .draw_primitive(PT.POINTLIST, 0, 1)
    )  # fmt: skip
    await legacy.draw(commands)
    image = await legacy.pixels()
    assert (image != 0).sum() == 9
    assert image[4, 4] in (0xFF40FF40, 0xFF3FFF3F)


# --- what is refused -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "code",
    [
        b"", b"\0\0\2\xff", struct.pack("<I", 0xFFFF0200), struct.pack("<2I", 0xFFFF0900, 0xFFFF), struct.pack("<3I", 0xFFFF0200, 200, 0xFFFF),
        assemble("vs_2_0\nmov oPos, c0"), assemble("ps_2_0\nif b0\nmov oC0, c0"), assemble("ps_2_0\nendif"),
        assemble("ps_2_0\ncall l3\nret"), assemble("ps_2_0\nmov oC0, r40"), assemble("ps_2_0\nmov oC0, c300"), assemble("ps_2_0\nbreak"),
        assemble("ps_1_1\ntex t7"), assemble("ps_3_0\nmov oC0, v9"), assemble("ps_2_0\ndefi i77, 1, 1, 1, 1"),
    ],
)  # fmt: skip
async def test_code_that_is_none_is_refused_at_creation(code: bytes) -> None:
    legacy = await Legacy.start(2, 2)
    assert await legacy.call(Dp2CommandBuffer().create_pixel_shader(PS, code)) in (0x80070057, 0x80004001)
    assert await legacy.call(Dp2CommandBuffer().set_pixel_shader(PS).triangle_fan(0, 2), quad(0, 0, 2, 2, 0)) == 0x8876086C
    await legacy.draw(Dp2CommandBuffer().set_pixel_shader(0).triangle_fan(0, 2), quad(0, 0, 2, 2, 0xFF0000FF))
    assert ((await legacy.pixels()) == 0xFF0000FF).all()


WORDS = st.integers(0, 0xFFFFFFFF) | st.sampled_from([1 << 31 | f << 28 | n for f in range(8) for n in range(4)]).flatmap(
    lambda w: st.integers(0, 0xFFFF).map(lambda bits: w | bits << 16 & 0x0FFF0000 | 0x000F0000)
)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from([0xFFFF0101, 0xFFFF0104, 0xFFFF0200, 0xFFFF0300, 0xFFFE0101, 0xFFFE0200, 0xFFFE0300]),
       st.lists(st.sampled_from(sorted(OPCODES.values())) | WORDS, max_size=24))  # fmt: skip
def test_any_words_are_code_or_refused(version: int, words: list[int]) -> None:
    from umd.dp2.programs import Programs

    data = struct.pack(f"<{len(words) + 2}I", version, *words, 0xFFFF)
    try:
        code = parse(data)
    except CommandError:
        return
    programs = Programs()
    try:
        (programs.create_pixel_shader if code.pixel else programs.create_function)(1, data)
    except CommandError as error:
        assert error.hr in (0x80070057, 0x80004001)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from([b for b in BODIES if "r0," in b]), min_size=1, max_size=6))
def test_any_sequence_of_instructions_runs(bodies: list[str]) -> None:
    body = "\n".join(bodies)
    trio.run(pixel, f"ps_2_0\ndef c0, 0, 0, 0, 0\nmov r0, c0\n{body}\nmov oC0, r0")


