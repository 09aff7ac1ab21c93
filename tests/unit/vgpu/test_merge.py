"""Depth, stencil, blending, logic operations and masks against direct formulas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.unit.vgpu.rig import COLOR_PS, ELEMENTS, PASS_VS, Rig, Surface
from wddm.hw import descriptors as ds
from wddm.hw.descriptors import BlendFactor, BlendOp, Comparison, StencilFace, StencilOp, TargetBlend
from wddm.hw.formats import Format
from wddm.hw.packets import Op, Topology

FULL = np.array([[-1, 1], [3, 1], [-1, -3]], np.float32)


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()


def full_screen(rig: Rig, target: Surface | None, *layers: tuple[float, tuple[float, ...]], clockwise: bool = True) -> None:
    """Bind everything and vertices of full-screen triangles of (depth, colour)."""
    vertices = np.zeros((len(layers), 3, 8), np.float32)
    for i, (z, color) in enumerate(layers):
        vertices[i, :, :2] = FULL if clockwise else FULL[::-1]
        vertices[i, :, 2], vertices[i, :, 3], vertices[i, :, 4:] = z, 1, color
    rig.shader(PASS_VS)
    rig.shader(COLOR_PS)
    rig.vertices(vertices, ELEMENTS, 32)
    rig.topology(Topology.TRIANGLELIST)
    if target is not None:
        rig.viewport(0, 0, target.width, target.height)
        rig.target(target)
    rig.rasterizer(cull=1)


def bind_depth(rig: Rig, depth: Surface, arg: int = 0) -> None:
    rig.emit(Op.SET_DEPTH_STENCIL, arg=arg, **depth.view())
    rig.viewport(0, 0, depth.width, depth.height)


DEPTH_FORMATS = [Format.D16_UNORM, Format.D24_UNORM_S8_UINT, Format.D32_FLOAT, Format.D32_FLOAT_S8X24_UINT]


@pytest.mark.parametrize("format", DEPTH_FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize("comparison", list(Comparison), ids=lambda c: c.name)
def test_depth_comparisons(rig: Rig, format: Format, comparison: Comparison) -> None:
    target, depth = Surface(rig, Format.R8_UNORM, 2, 2), Surface(rig, format, 2, 2)
    passes = {1: (), 2: (0.25,), 3: (0.5,), 4: (0.25, 0.5), 5: (0.75,), 6: (0.25, 0.75), 7: (0.5, 0.75), 8: (0.25, 0.5, 0.75)}
    for z in (0.25, 0.5, 0.75):
        rig.clear(target, 0)
        rig.clear_depth(depth, 0.5, 7)
        full_screen(rig, target, (z, (1, 1, 1, 1)))
        bind_depth(rig, depth)
        rig.depth_stencil(comparison=comparison)
        rig.draw(3)
        rig.run()
        passed = z in passes[comparison]
        assert (target.elements() == 255 * passed).all()
        raw = depth.elements()[0, 0]
        want = z if passed else 0.5
        if format == Format.D16_UNORM:
            assert raw.view("<u2")[0] == int(want * 65535 + 0.5)
        elif format == Format.D24_UNORM_S8_UINT:
            assert raw.view("<u4")[0] & 0xFFFFFF == int(want * (2**24 - 1) + 0.5)
            assert raw[3] == 7
        else:
            assert raw[:4].copy().view("<f4")[0] == want


def test_triangles_of_one_draw_see_each_others_depth(rig: Rig) -> None:
    target, depth = Surface(rig, Format.R8_UNORM, 2, 2), Surface(rig, Format.D32_FLOAT, 2, 2)
    rig.clear_depth(depth, 1.0)
    full_screen(rig, target, (0.5, (0.2,) * 4), (0.75, (0.4,) * 4), (0.25, (0.6,) * 4), (0.25, (0.8,) * 4))
    bind_depth(rig, depth)
    query = rig.allocate(16)
    rig.emit(Op.QUERY_BEGIN, address=query, extent=16, arg=1)
    rig.draw(12)
    rig.emit(Op.QUERY_END, address=query, extent=16, arg=1)
    rig.run()
    assert (target.elements() == 153).all()
    assert rig.read(query, 2, "<u8").tolist() == [1, 8]


def test_depth_bias_and_read_only(rig: Rig) -> None:
    target, depth = Surface(rig, Format.R8_UNORM, 2, 2), Surface(rig, Format.D24_UNORM_S8_UINT, 2, 2)
    rig.clear_depth(depth, 1.0)
    full_screen(rig, target, (0.5, (1, 1, 1, 1)))
    bind_depth(rig, depth)
    rig.rasterizer(cull=1, depth_bias=100)
    rig.draw(3)
    rig.run()
    raw = int(depth.elements()[0, 0].copy().view("<u4")[0]) & 0xFFFFFF
    assert raw == int((0.5 + 100 / 2**24) * (2**24 - 1) + 0.5)
    full_screen(rig, target, (0.25, (0, 0, 0, 0)))
    bind_depth(rig, depth, arg=1)
    rig.draw(3)
    rig.run()
    assert int(depth.elements()[0, 0].copy().view("<u4")[0]) & 0xFFFFFF == raw
    assert (target.elements() == 0).all()


def _stencil(op: int, value: int, ref: int) -> int:
    saturated = {4: min(value + 1, 255), 5: max(value - 1, 0)}
    return {1: value, 2: 0, 3: ref, 6: value ^ 255, 7: value + 1 & 255, 8: value - 1 & 255, **saturated}[op]


@pytest.mark.parametrize("op", list(StencilOp), ids=lambda o: o.name)
@pytest.mark.parametrize("start", [0, 100, 255])
def test_stencil_operations_of_both_faces(rig: Rig, op: StencilOp, start: int) -> None:
    target, depth = Surface(rig, Format.R8_UNORM, 1, 1), Surface(rig, Format.D24_UNORM_S8_UINT, 1, 1)
    for clockwise in (True, False):
        for case, comparison, z in (("fail", 1, 0.5), ("depth_fail", 8, 0.9), ("passed", 8, 0.1)):
            rig.clear_depth(depth, 0.5, start)
            full_screen(rig, target, (z, (1, 1, 1, 1)), clockwise=clockwise)
            bind_depth(rig, depth)
            face = StencilFace(**{case: op}, comparison=comparison)
            faces: dict[str, Any] = {"front" if clockwise else "back": face}
            rig.depth_stencil(stencil_enable=True, reference=77, write_mask=0xF0, **faces)
            rig.draw(3)
            rig.run()
            got = int(depth.elements()[0, 0, 3])
            assert got == (start & 0x0F) | (_stencil(op, start, 77) & 0xF0), (clockwise, case)


@pytest.mark.parametrize("comparison", list(Comparison), ids=lambda c: c.name)
def test_stencil_comparisons_with_mask(rig: Rig, comparison: Comparison) -> None:
    depth, target = Surface(rig, Format.D32_FLOAT_S8X24_UINT, 1, 1), Surface(rig, Format.R8_UNORM, 1, 1)
    names = [None, "", "__lt__", "__eq__", "__le__", "__gt__", "__ne__", "__ge__", ""]
    for ref in (3, 5, 7):
        rig.clear(target, 0)
        rig.clear_depth(depth, 1, 0xF5)
        full_screen(rig, target, (0.5, (1, 1, 1, 1)))
        bind_depth(rig, depth)
        face = StencilFace(comparison=comparison)
        rig.depth_stencil(stencil_enable=True, depth_enable=False, reference=ref, read_mask=0x0F, front=face)
        rig.draw(3)
        rig.run()
        want = {1: False, 8: True}.get(comparison)
        if want is None:
            want = bool(getattr(ref, str(names[comparison]))(5))
        assert bool(target.elements()[0, 0, 0]) == want


SOURCE, SOURCE1, DEST, CONSTANT = ((0.8, 0.3, 0.6, 0.4), (0.1, 0.9, 0.5, 0.7), (0.2, 0.5, 0.9, 0.6), (0.25, 0.5, 0.75, 1.0))


def _factor(factor: int, alpha: bool) -> np.ndarray[Any, Any]:
    s, s1, d, f = (np.array(v) for v in (SOURCE, SOURCE1, DEST, CONSTANT))
    return {
        BlendFactor.ZERO: np.zeros(4),
        BlendFactor.ONE: np.ones(4),
        BlendFactor.SRC_COLOR: s,
        BlendFactor.INV_SRC_COLOR: 1 - s,
        BlendFactor.SRC_ALPHA: np.full(4, s[3]),
        BlendFactor.INV_SRC_ALPHA: np.full(4, 1 - s[3]),
        BlendFactor.DEST_ALPHA: np.full(4, d[3]),
        BlendFactor.INV_DEST_ALPHA: np.full(4, 1 - d[3]),
        BlendFactor.DEST_COLOR: d,
        BlendFactor.INV_DEST_COLOR: 1 - d,
        BlendFactor.SRC_ALPHA_SAT: np.array([min(s[3], 1 - d[3])] * 3 + [1]),
        BlendFactor.BLEND_FACTOR: f,
        BlendFactor.INV_BLEND_FACTOR: 1 - f,
        BlendFactor.SRC1_COLOR: s1,
        BlendFactor.INV_SRC1_COLOR: 1 - s1,
        BlendFactor.SRC1_ALPHA: np.full(4, s1[3]),
        BlendFactor.INV_SRC1_ALPHA: np.full(4, 1 - s1[3]),
    }[BlendFactor(factor)]


DUAL_PS = "pixel\noutput 0 xyzw sv=TARGET\noutput 1 xyzw sv=TARGET\n" + "".join(
    f"mov o{r}.{c}, {float(v[i])}\n" for r, v in ((0, SOURCE), (1, SOURCE1)) for i, c in enumerate("xyzw")
)


@pytest.mark.parametrize("op", list(BlendOp), ids=lambda o: o.name)
def test_blend_factors_and_operations(rig: Rig, op: BlendOp) -> None:
    target = Surface(rig, Format.R32G32B32A32_FLOAT, 1, 1)
    factors = list(BlendFactor)
    for i, src in enumerate(factors):
        dst = factors[(i * 7 + 3) % len(factors)]
        rig.clear(target, *DEST)
        full_screen(rig, target, (0, (0,) * 4))
        rig.shader(DUAL_PS)
        rig.blend(TargetBlend(True, src, dst, op, dst, src, op))
        rig.emit(Op.SET_BLEND_FACTOR, data=[*(ds.float_bits(v) for v in CONSTANT), 0xFFFFFFFF])
        rig.draw(3)
        rig.run()
        s, d = np.array(SOURCE), np.array(DEST)
        sf = np.append(_factor(src, False)[:3], _factor(dst, True)[3])
        df = np.append(_factor(dst, False)[:3], _factor(src, True)[3])
        want = {1: s * sf + d * df, 2: s * sf - d * df, 3: d * df - s * sf, 4: np.minimum(s, d), 5: np.maximum(s, d)}[op]
        assert target.typed("<f4")[0, 0] == pytest.approx(want, abs=1e-6), (src, dst)


def test_unorm_targets_clamp_before_blending_and_floats_do_not(rig: Rig) -> None:
    for format, want in ((Format.R8G8B8A8_UNORM, [255, 128, 0, 255]), (Format.R32G32B32A32_FLOAT, [4.5, 0.5, -2, 1.5])):
        target = Surface(rig, format, 1, 1)
        rig.clear(target, 0.5, 0, 0, 0.5)
        full_screen(rig, target, (0, (4, 0.5, -2, 1)))
        rig.blend(TargetBlend(True, BlendFactor.ONE, BlendFactor.ONE, src_alpha=BlendFactor.ONE, dst_alpha=BlendFactor.ONE))
        rig.draw(3)
        rig.run()
        got = target.elements()[0, 0] if format == Format.R8G8B8A8_UNORM else target.typed("<f4")[0, 0]
        assert got.tolist() == want


def test_srgb_targets_blend_in_linear_light(rig: Rig) -> None:
    target = Surface(rig, Format.R8G8B8A8_UNORM_SRGB, 1, 1)
    rig.clear(target, 1, 1, 1, 1)
    full_screen(rig, target, (0, (0, 0, 0, 0.5)))
    rig.blend(TargetBlend(True, BlendFactor.SRC_ALPHA, BlendFactor.INV_SRC_ALPHA))
    rig.draw(3)
    rig.run()
    assert target.elements()[0, 0].tolist() == [188, 188, 188, 128]


def test_write_mask_keeps_the_bits_of_other_channels(rig: Rig) -> None:
    target = Surface(rig, Format.R10G10B10A2_UNORM, 1, 1)
    target.put(np.array([0x12345678], np.uint32))
    full_screen(rig, target, (0, (1, 1, 1, 1)))
    rig.blend(TargetBlend(write_mask=0b0010))
    rig.draw(3)
    rig.run()
    assert target.typed("<u4")[0, 0, 0] == 0x12345678 | 0x3FF << 10


@pytest.mark.parametrize("op", range(16))
def test_logic_operations(rig: Rig, op: int) -> None:
    target = Surface(rig, Format.R8_UINT, 1, 1)
    target.put(np.array([0b0101_0011], np.uint8))
    full_screen(rig, target, (0, (0,) * 4))
    rig.shader("pixel\noutput 0 xyzw sv=TARGET\nmov o0.x, 0b\n".replace("0b", str(0b0000_1111)))
    rig.blend(TargetBlend(), arg=2 | op << 8)
    rig.draw(3)
    rig.run()
    s, d = 0b0000_1111, 0b0101_0011
    want = [0, 255, s, ~s, d, ~d, s & d, ~(s & d), s | d, ~(s | d), s ^ d, ~(s ^ d), s & ~d, ~s & d, s | ~d, ~s | d][op] & 255
    assert target.elements()[0, 0, 0] == want


def test_several_targets_have_their_own_state(rig: Rig) -> None:
    first, second = Surface(rig, Format.R8G8B8A8_UNORM, 2, 2), Surface(rig, Format.R32_SINT, 2, 2)
    full_screen(rig, first, (0, (1, 0, 0, 1)))
    rig.target(second, 3)
    rig.shader("pixel\noutput 0 xyzw sv=TARGET\noutput 3 x sv=TARGET\nmov o0.y, 1.0\nmov o3.x, -5\n")
    rig.draw(3)
    rig.run()
    assert first.elements()[1, 1].tolist() == [0, 255, 0, 0]
    assert (second.typed("<i4") == -5).all()


def test_discard_depth_output_and_early_tests(rig: Rig) -> None:
    target, depth = Surface(rig, Format.R8_UNORM, 4, 1), Surface(rig, Format.D32_FLOAT, 4, 1)
    counter = rig.allocate(16)
    body = """
    output 0 xyzw sv=TARGET
    uav 1 RAW_BUFFER
    uav_atomic _, 0, _, 1 u1 atomic=ADD
    """
    for flags, shaded in ((16, 4), (17, 2)):
        rig.memory.view(counter, 4, write=True)[:] = 0
        rig.clear(target, 0)
        rig.clear_depth(depth, 1.0)
        full_screen(rig, target, (0.5, (1, 1, 1, 1)))
        bind_depth(rig, depth)
        rig.emit(Op.SET_SCISSOR, arg=1, data=[0, 0, 2, 1])
        rig.rasterizer(cull=1, scissor=True)
        rig.draw(3)
        rig.rasterizer(cull=1)
        view = ds.View(ds.ViewDimension.RAW_BUFFER, 0, 4, 0).pack()
        rig.emit(Op.SET_UAV, slot=4 << 8 | 1, address=counter, extent=16, data=view)
        rig.shader(f"pixel temps=2 flags={flags}\n" + "\n".join(body.splitlines()[:4]) + "\nmov o0.x, 0.2")
        rig.draw(3)
        rig.run()
        assert rig.read(counter, 1).tolist() == [shaded]
        assert target.elements()[0, :, 0].tolist() == [255, 255, 51, 51]
    rig.clear(target, 0)
    rig.clear_depth(depth, 1.0)
    full_screen(rig, target, (0.5, (1, 1, 1, 1)))
    bind_depth(rig, depth)
    rig.shader(
        "pixel temps=2 flags=12\noutput 0 xyzw sv=TARGET\noutput 32 x sv=DEPTH\nflt r0, $POSITION_X, 1.0\n"
        "discard r0\nmov o0.x, 1.0\nmov o32.x, 0.125\n"
    )
    rig.draw(3)
    rig.run()
    assert target.elements()[0, :, 0].tolist() == [0, 255, 255, 255]
    assert depth.typed("<f4")[0, :, 0].tolist() == [1, 0.125, 0.125, 0.125]
