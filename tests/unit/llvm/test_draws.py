"""Draws on both engines: coverage, depth, stencil and blending bit for bit; interpolated colour within one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from vgpu.command_processor import Execution
from vgpu.engine import PipelineState
from vgpu.engine.llvm import LlvmEngine
from vgpu.fault import FaultError
from wddm.hw.descriptors import DepthStencil, InputElement, Rasterizer, StencilFace, TargetBlend
from wddm.hw.formats import FORMATS, Format
from wddm.hw.packets import Op, QueryKind, Stage, Topology
from wddm.hw.registers import Node

VS = "vertex temps=1\ninput 0 xyzw\ninput 1 xyzw\noutput 0 xyzw sv=POSITION\noutput 1 xyzw\n" + "".join(
    f"mov o{r}.{c}, v{r}.{c}\n" for r in (0, 1) for c in "xyzw"
)
PS = "pixel temps=1\ninput 1 xyzw interp={0}\noutput 0 xyzw sv=TARGET\n" + "".join(f"mov o0.{c}, v1.{c}\n" for c in "xyzw")
#: The same colours, worked out pixel by pixel: nothing tells the engine that they are equal.
PIXEL_BY_PIXEL = "pixel temps=2\ninput 1 xyzw interp={0}\noutput 0 xyzw sv=TARGET\nfmul r0, $POSITION_X, 0.0\n" + "".join(
    f"fadd o0.{c}, v1.{c}, r0\n" for c in "xyzw"
)
ALPHA = TargetBlend(True, 5, 6, 1, 5, 6, 1, 15)


def triangles(
    n: int = 50,
    seed: int = 1,
    *,
    interp: str = "CONSTANT",
    depth: Format | None = Format.D24_UNORM_S8_UINT,
    format: Format = Format.R8G8B8A8_UNORM,
    blend: TargetBlend | None = None,
    state: DepthStencil | None = None,
    rasterizer: Rasterizer | None = None,
    samples: int = 1,
    w: tuple[float, float] = (1, 1),
    z: tuple[float, float] = (0, 1),
    size: float = 0.4,
    indexed: bool = False,
    topology: Topology = Topology.TRIANGLELIST,
    ps: str = PS,
) -> Callable[[Scene], list[Surface]]:
    """Random triangles over random depth."""

    def build(s: Scene) -> list[Surface]:
        width, height = 203, 117
        r = np.random.default_rng(seed)
        p = r.uniform(-1, 1, (n, 1, 2)) + r.uniform(-size, size, (n, 3, 2))
        ws = r.uniform(*w, (n, 3))
        v = np.zeros((n, 3, 8), np.float32)
        v[..., 0:2], v[..., 2], v[..., 3] = p * ws[..., None], r.uniform(*z, (n, 3)) * ws, ws
        v[..., 4:] = r.uniform(0, 1, (n, 3, 4))
        rt = s.texture(format, width, height, samples=samples)
        four = Format.R32G32B32A32_FLOAT
        s.vertices(v, 32, [InputElement(0, 0, four, 0), InputElement(1, 0, four, 16)])
        s.shader(VS)
        s.shader(ps.format(interp))
        s.bind(Op.SET_RENDER_TARGET, rt, arg=1)
        out = [rt]
        if depth is not None:
            d = s.texture(depth, width, height, samples=samples)
            raw = s.memory.view(d.address, d.size, write=True)
            floats = depth in (Format.D32_FLOAT, Format.D32_FLOAT_S8X24_UINT)
            raw[:] = r.uniform(0, 1, d.size // 4).astype(np.float32).view(np.uint8) if floats else r.integers(0, 256, d.size)
            s.bind(Op.SET_DEPTH_STENCIL, d)
            out.append(d)
        s.viewport(width, height)
        s.emit(Op.SET_TOPOLOGY, arg=topology)
        if blend is not None:
            s.blend(blend)
        if state is not None:
            s.depth_state(state)
        s.rasterizer(rasterizer or Rasterizer(cull=1))
        if indexed:
            indices = r.integers(0, 3 * n, 3 * n).astype(np.uint16)
            indices[r.random(3 * n) < 0.05] = 0xFFFF
            s.indices(indices)
            s.draw_indexed(3 * n)
        else:
            s.draw(3 * n)
        return out

    return build


STENCIL = DepthStencil(True, True, 2, True, 0xF0, 0x3F, StencilFace(3, 4, 7, 3), StencilFace(8, 6, 5, 6), 0x55)
BIAS = Rasterizer(cull=1, depth_bias=1000, slope_scaled_depth_bias=1.5)
EXACT: dict[str, dict[str, Any]] = {
    "flat": {},
    "d16": {"depth": Format.D16_UNORM},
    "d32": {"depth": Format.D32_FLOAT},
    "d32s8": {"depth": Format.D32_FLOAT_S8X24_UINT},
    "perspective": {"w": (0.2, 3)},
    "clipped": {"w": (-1, 3), "z": (-0.5, 1.5)},
    "huge": {"n": 20, "size": 400.0},
    "beyond fixed point": {"size": 40000.0},
    "blend": {"blend": ALPHA},
    "subtract": {"blend": TargetBlend(True, 9, 11, 3, 7, 8, 2, 7)},
    "many small": {"n": 2000, "size": 0.03},
    "four samples": {"samples": 4},
    "eight samples, blend": {"samples": 8, "blend": ALPHA},
    "stencil": {"state": STENCIL},
    "indexed": {"indexed": True, "n": 100},
    "strip": {"topology": Topology.TRIANGLESTRIP},
    "strip with cuts": {"topology": Topology.TRIANGLESTRIP, "indexed": True},
    "list with neighbours": {"topology": Topology.TRIANGLELIST_ADJ},
    "strip with neighbours": {"topology": Topology.TRIANGLESTRIP_ADJ},
    "front faces dropped": {"rasterizer": Rasterizer(cull=2, front_counter_clockwise=True)},
    "depth bias": {"rasterizer": BIAS},
    "depth bias d32": {"rasterizer": BIAS, "depth": Format.D32_FLOAT},
    "depth bias d32, nearest": {"rasterizer": BIAS, "depth": Format.D32_FLOAT, "z": (0, 0)},
    "half floats": {"format": Format.R16G16B16A16_FLOAT, "blend": ALPHA},
    "small floats": {"format": Format.R11G11B10_FLOAT},
    "565": {"format": Format.B5G6R5_UNORM, "blend": ALPHA},
    "1010102": {"format": Format.R10G10B10A2_UNORM, "blend": ALPHA},
    "snorm": {"format": Format.R8G8_SNORM, "blend": ALPHA},
    "one byte": {"format": Format.R8_UNORM},
    "full floats": {"format": Format.R32G32B32A32_FLOAT, "blend": ALPHA},
}


@pytest.mark.parametrize("ps", [PS, PIXEL_BY_PIXEL])
@pytest.mark.parametrize("name", EXACT)
def test_bits_equal(name: str, ps: str) -> None:
    for reference, compiled in run_both(triangles(**EXACT[name], ps=ps)):
        assert reference.any() or name == "subtract"
        assert np.array_equal(reference, compiled)


@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("interp", ["LINEAR", "LINEAR_NOPERSPECTIVE"])
def test_interpolation(interp: str, lanes: int) -> None:
    color, depth = run_both(triangles(interp=interp, w=(0.2, 3)), lanes=lanes)
    assert np.array_equal(*depth)
    assert np.abs(color[0].astype(int) - color[1]).max() <= 1


@pytest.mark.parametrize("op", [4, 5], ids=["min", "max"])
@pytest.mark.parametrize("format", [Format.R32G32B32A32_FLOAT, Format.R16G16B16A16_FLOAT, Format.R11G11B10_FLOAT])
def test_the_smaller_and_the_larger_of_no_number_and_a_number_is_the_number(op: int, format: Format) -> None:
    nan, inf = np.nan, np.inf
    colors = np.array([[nan, 1, nan, nan], [2, nan, 0, nan], [-inf, 0.5, inf, nan]], np.float32)
    stored = np.array([[1, 1, nan, 1], [nan, 1, 2, nan], [inf, nan, nan, 0]], np.float32)

    def build(s: Scene) -> list[Surface]:
        target = s.texture(format, 3, 1)
        layout = [InputElement(0, 0, Format.R32G32B32A32_FLOAT, 0), InputElement(1, 1, Format.R32G32B32A32_FLOAT, 0, True)]
        s.vertices(np.array([[-1, 3, 0, 1], [3, -1, 0, 1], [-1, -1, 0, 1]], np.float32), 16, layout)
        s.shader(VS)
        s.shader(PS.format("CONSTANT"))
        s.bind(Op.SET_RENDER_TARGET, target, arg=1)
        s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
        s.rasterizer(Rasterizer(cull=1, scissor=True))
        s.viewport(3, 1)
        for values, blend in ((stored, TargetBlend()), (colors, TargetBlend(True, 2, 2, op, 2, 2, op, 15))):
            s.blend(blend)
            for x, color in enumerate(values):
                address, size = s.upload(color)
                s.emit(Op.SET_VERTEX_BUFFER, slot=1, address=address, extent=size, data=[0])
                s.emit(Op.SET_SCISSOR, data=[x, 0, x + 1, 1])
                s.draw(3)
        return [target]

    ((reference, compiled),) = run_both(build)
    dtype = {16: np.float32, 8: np.float16, 4: np.uint32}[FORMATS[format].bytes_per_block]
    a, b = (x.view(dtype)[: 3 * (4 if dtype != np.uint32 else 1)] for x in (reference, compiled))
    assert np.array_equal(a, b, equal_nan=dtype != np.uint32)
    if dtype != np.uint32:
        expected = (np.fmin if op == 4 else np.fmax)(colors, stored)
        assert np.array_equal(a.reshape(3, 4).astype(np.float32), expected, equal_nan=True)


DISTANCES = VS.replace("output 1 xyzw\n", "output 1 xyzw\noutput 6 xyzw sv=CLIP_DISTANCE\n") + "".join(
    f"mov o6.{c}, v1.{c}\n" for c in "xyzw"
)


@pytest.mark.parametrize("seed", range(4))
def test_what_reaches_far_behind_the_eye_is_cut_alike(seed: int) -> None:
    """Rounding decides what is left of a triangle of which one corner has w = -1e12 and another w = 1e20."""

    def build(s: Scene) -> list[Surface]:
        r = np.random.default_rng(seed)
        n, (width, height) = 300, (65, 33)
        v = np.zeros((n, 3, 8), np.float32)
        v[..., :4] = r.uniform(-2, 2, (n, 3, 4))
        wild = r.random((n, 3, 4)) < 0.3
        v[..., :4][wild] *= 10.0 ** r.uniform(-30, 30, int(wild.sum()))
        v[..., 4:] = r.uniform(-1, 2, (n, 3, 4)) * 10.0 ** r.integers(-3, 25, (n, 3, 4))
        v[..., 4:][r.random((n, 3, 4)) < 0.1] = np.inf
        four = Format.R32G32B32A32_FLOAT
        block = s.buffer(np.zeros(2 * n, np.uint64))
        s.vertices(v, 32, [InputElement(0, 0, four, 0), InputElement(1, 0, four, 16)])
        s.shader(DISTANCES)
        s.shader(PS.format("CONSTANT"))
        s.bind(Op.SET_RENDER_TARGET, s.texture(Format.R8G8B8A8_UNORM, width, height), arg=1)
        s.viewport(width, height)
        s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
        s.rasterizer(Rasterizer(cull=1))
        for i in range(n):
            query = {"address": block.address + 16 * i, "extent": 16, "arg": QueryKind.OCCLUSION}
            s.emit(Op.QUERY_BEGIN, **query)
            s.draw(3, start=3 * i)
            s.emit(Op.QUERY_END, **query)
        return [block]

    ((reference, compiled),) = run_both(build)
    drawn = reference.view(np.uint64)[1::2]
    assert np.count_nonzero(drawn) > 5
    assert np.array_equal(drawn, compiled.view(np.uint64)[1::2])


def test_index_and_base_vertex_are_added_in_32_bits() -> None:
    def build(s: Scene) -> list[Surface]:
        v = np.array([[-1, 3, 0, 1], [3, -1, 0, 1], [-1, -1, 0, 1]], np.float32)
        target = s.texture(Format.R8G8B8A8_UNORM, 4, 4)
        s.vertices(np.concatenate([v, np.ones_like(v)], 1), 32, [InputElement(r, 0, Format.R32G32B32A32_FLOAT, 16 * r) for r in (0, 1)])
        s.shader(VS)
        s.shader(PS.format("CONSTANT"))
        s.bind(Op.SET_RENDER_TARGET, target, arg=1)
        s.viewport(4, 4)
        s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
        s.rasterizer(Rasterizer(cull=1))
        s.indices(np.array([0xFFFFFFFE, 0xFFFFFFFF, 0], np.uint32))
        s.draw_indexed(3, base=2)
        return [target]

    for data in run_both(build)[0]:
        assert np.count_nonzero(data == 255) == 64


def test_threads_change_nothing() -> None:
    pictures = []
    for threads in (1, 2, 3):
        scene = Scene(lambda m, s, threads=threads: LlvmEngine(m, s, threads))
        surfaces = triangles(3000, size=0.05, blend=ALPHA, interp="LINEAR")(scene)
        scene.run()
        pictures.append([scene.memory.view(x.address, x.size).tobytes() for x in surfaces])
    assert pictures[0] == pictures[1] == pictures[2]


DISCARD = "pixel temps=2\ninput 1 xyzw interp=CONSTANT\noutput 0 xyzw sv=TARGET\nflt r0, v1.x, 0.5\ndiscard r0\n" + "".join(
    f"mov o0.{c}, v1.{c}\n" for c in "xyzw"
)
DEPTH_OUT = (
    "pixel temps=2\ninput 1 xyzw interp=CONSTANT\noutput 0 xyzw sv=TARGET\noutput 32 x sv=DEPTH\nmov o32.x, v1.y\n"
    + "".join(f"mov o0.{c}, v1.{c}\n" for c in "xyzw")
)


@pytest.mark.parametrize("ps", [DISCARD, DEPTH_OUT])
@pytest.mark.parametrize("samples", [1, 4])
def test_late_depth(ps: str, samples: int) -> None:
    for reference, compiled in run_both(triangles(ps=ps.replace("{", "{{"), samples=samples, state=STENCIL)):
        assert np.array_equal(reference, compiled)


SOME_UNIFORM = """pixel temps=6
input 1 xyzw interp={interp}
output 0 xyzw sv=TARGET
constants 0 4
flt r0, v1.x, 0.5
flt r1, $POSITION_X, 90.0
mov o0.x, 0.25
mov o0.y, v1.y
mov o0.z, c0[1]
mov o0.w, 0.75
if r0
mov o0.x, v1.z
endif
if r1
mov o0.y, 1.0
endif
block
breakc r1, 1
mov o0.z, 0.5
endblock
retc r1
mov o0.w, v1.w
"""


@pytest.mark.parametrize("interp", ["CONSTANT", "LINEAR_NOPERSPECTIVE"])
@pytest.mark.parametrize("samples", [1, 4])
def test_outputs_that_pixels_share(interp: str, samples: int) -> None:
    """Written in branches that all pixels take, that some take, and after some have returned."""

    def build(s: Scene) -> list[Surface]:
        s.constants(Stage.PIXEL, 0, np.array([0.1, 0.6, 0.3, 0.9], np.float32))
        return triangles(ps=SOME_UNIFORM.replace("{interp}", interp), samples=samples, blend=ALPHA)(s)

    color, depth = run_both(build)
    assert color[0].any()
    assert np.array_equal(*depth)
    assert np.abs(color[0].astype(int) - color[1]).max() <= (interp != "CONSTANT")


def test_occlusion_is_exact() -> None:
    def build(s: Scene) -> list[Surface]:
        block = s.buffer(np.zeros(4, np.uint64))
        s.emit(Op.QUERY_BEGIN, address=block.address, extent=16, arg=QueryKind.OCCLUSION)
        triangles(samples=2)(s)
        s.emit(Op.QUERY_END, address=block.address, extent=16, arg=QueryKind.OCCLUSION)
        return [block]

    ((reference, compiled),) = run_both(build)
    assert reference.view(np.uint64)[1] > 100
    assert np.array_equal(reference, compiled)


_COMPARE = st.integers(1, 8)
_FACTOR = st.sampled_from([*range(1, 12), *range(14, 20)])
_BLEND = st.builds(
    TargetBlend, st.booleans(), _FACTOR, _FACTOR, st.integers(1, 5), _FACTOR, _FACTOR, st.integers(1, 5), st.integers(0, 15)
)
_FACE = st.builds(StencilFace, _COMPARE, _COMPARE, _COMPARE, _COMPARE)
_BYTE = st.integers(0, 255)
_DEPTH = st.builds(DepthStencil, st.booleans(), st.booleans(), _COMPARE, st.booleans(), _BYTE, _BYTE, _FACE, _FACE, _BYTE)


@settings(deadline=None, max_examples=12, database=None)
@given(blend=_BLEND, state=_DEPTH, samples=st.sampled_from([1, 2]), seed=st.integers(0, 1000), rest=st.sampled_from(list(EXACT)))
def test_any_state_agrees(blend: TargetBlend, state: DepthStencil, samples: int, seed: int, rest: str) -> None:
    options = {k: v for k, v in EXACT[rest].items() if k not in ("samples", "depth")}
    options = {"n": 20, **options, "seed": seed, "blend": blend, "state": state, "samples": samples}
    if "float" in rest:
        options.pop("blend")  # infinities and NaN of dual sources are told apart by their bits alone
    for reference, compiled in run_both(triangles(**options)):
        assert np.array_equal(reference, compiled)


@pytest.mark.parametrize("stopped", [False, True], ids=["forgotten", "stopped"])
def test_what_waits_for_a_context_that_was_reset_is_never_drawn(stopped: bool) -> None:
    """Its targets' memory may belong to somebody else by the time when the bins would be emptied."""
    s = Scene(lambda m, stop: LlvmEngine(m, stop))
    target = triangles(depth=None)(s)[0]
    packets = np.concatenate(s.packets)
    for _ in Execution(s.memory, s.engine, Node.GRAPHICS, s.state, packets.tobytes(), False).run():
        pass
    if stopped:
        s.stop.set()
        with pytest.raises(FaultError):
            s.engine.flush(s.state)
        s.stop.clear()
        s.pixels(target)[:] = 0  # what was drawn before the stop was noticed
    s.engine.forget(s.state)
    s.state = PipelineState()
    s.packets = []
    other = triangles(depth=None)(s)[0]
    s.run(keep=True)
    assert not s.pixels(target).any()
    assert s.pixels(other).any()
    alone = Scene(lambda m, stop: LlvmEngine(m, stop))
    expected = triangles(depth=None)(alone)[0]
    alone.run()
    assert np.array_equal(s.pixels(other), alone.pixels(expected))
