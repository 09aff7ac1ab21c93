"""Points, lines and wireframe on both engines: the same pixels, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from wddm.hw.descriptors import FillMode, InputElement, Rasterizer, TargetBlend
from wddm.hw.formats import Format
from wddm.hw.packets import Op, Topology

VS = (
    "vertex temps=1\ninput 0 xyzw\ninput 1 xyzw\ninput 2 x\noutput 0 xyzw sv=POSITION\noutput 1 xyzw\n"
    "output 2 x sv=CLIP_DISTANCE\nmov o2.x, v2.x\n"
) + "".join(f"mov o{r}.{c}, v{r}.{c}\n" for r in (0, 1) for c in "xyzw")
PS = "pixel temps=1\ninput 1 xyzw interp={0}\noutput 0 xyzw sv=TARGET\n" + "".join(f"mov o0.{c}, v1.{c}\n" for c in "xyzw")
#: Every pixel that is drawn twice shows.
ADD = TargetBlend(True, 2, 2, 1, 2, 2, 1, 15)
SIZE = 150, 83


def scene(
    topology: Topology,
    n: int = 40,
    seed: int = 1,
    *,
    rasterizer: Rasterizer | None = None,
    interp: str = "CONSTANT",
    samples: int = 1,
    grid: int = 0,
    reach: float = 1.2,
    far: float = 1.0,
    w: tuple[float, float] = (1, 1),
    z: tuple[float, float] = (0, 1),
    clip: bool = False,
    indexed: bool = False,
    depth: bool = True,
    blend: TargetBlend | None = ADD,
) -> Callable[[Scene], list[Surface]]:
    """Random vertices; ``grid``: snapped to that part of a pixel, so that lines go through corners; ``far``: how much farther away
    every third is.
    """

    def build(s: Scene) -> list[Surface]:
        width, height = SIZE
        r = np.random.default_rng(seed)
        v = np.zeros((n, 9), np.float32)
        place = r.uniform(-reach, reach, (n, 2))
        place[1::3] *= far
        if grid:
            half = np.array([width, height]) / 2
            place = np.rint(place * half * grid) / grid / half
        ws = r.uniform(*w, n)
        v[:, 0:2], v[:, 2], v[:, 3] = place * ws[:, None], r.uniform(*z, n) * ws, ws
        v[:, 4:8] = r.uniform(0, 0.4, (n, 4))
        v[:, 8] = r.uniform(-0.5, 1, n) if clip else 1
        rt = s.texture(Format.R16G16B16A16_UNORM, width, height, samples=samples)
        four = Format.R32G32B32A32_FLOAT
        elements = [InputElement(0, 0, four, 0), InputElement(1, 0, four, 16), InputElement(2, 0, Format.R32_FLOAT, 32)]
        s.vertices(v, 36, elements)
        s.shader(VS)
        s.shader(PS.format(interp))
        s.bind(Op.SET_RENDER_TARGET, rt, arg=1)
        out = [rt]
        if depth:
            d = s.texture(Format.D32_FLOAT, width, height, samples=samples)
            s.memory.view(d.address, d.size, write=True)[:] = r.uniform(0, 1, d.size // 4).astype(np.float32).view(np.uint8)
            s.bind(Op.SET_DEPTH_STENCIL, d)
            out.append(d)
        s.viewport(width, height)
        s.emit(Op.SET_TOPOLOGY, arg=topology)
        if blend is not None:
            s.blend(blend)
        s.rasterizer(rasterizer or Rasterizer(cull=1))
        if indexed:
            indices = r.integers(0, n, 2 * n).astype(np.uint16)
            indices[r.random(2 * n) < 0.1] = 0xFFFF
            s.indices(indices)
            s.draw_indexed(2 * n)
        else:
            s.draw(n)
        return out

    return build


WIRE = Rasterizer(fill=FillMode.WIREFRAME, cull=1)
FAT = Rasterizer(cull=1, multisample=True)
SMOOTH = Rasterizer(cull=1, antialiased_line=True)
LINES = (Topology.LINELIST, Topology.LINESTRIP, Topology.LINELIST_ADJ, Topology.LINESTRIP_ADJ)
CASES: dict[str, dict[str, Any]] = {
    "points": {"topology": Topology.POINTLIST, "n": 300},
    "points between pixels": {"topology": Topology.POINTLIST, "n": 300, "grid": 2},
    "points of samples": {"topology": Topology.POINTLIST, "n": 100, "samples": 4},
    "points clipped": {"topology": Topology.POINTLIST, "n": 300, "z": (-0.5, 1.5), "w": (-1, 2), "clip": True},
    **{t.name.lower(): {"topology": t} for t in LINES},
    **{f"{t.name.lower()} indexed": {"topology": t, "indexed": True} for t in LINES},
    "lines through corners": {"topology": Topology.LINELIST, "n": 200, "grid": 2, "reach": 0.2},
    "lines on diamonds": {"topology": Topology.LINELIST, "n": 400, "grid": 2, "reach": 0.05},
    "lines clipped": {"topology": Topology.LINELIST, "n": 100, "z": (-0.5, 1.5), "w": (-1, 2), "clip": True},
    "lines beyond fixed point": {"topology": Topology.LINELIST, "far": 2000.0},
    "lines of samples": {"topology": Topology.LINELIST, "samples": 4},
    "fat lines": {"topology": Topology.LINELIST, "rasterizer": FAT},
    "fat lines of samples": {"topology": Topology.LINESTRIP, "rasterizer": FAT, "samples": 8, "n": 20},
    "short fat lines": {"topology": Topology.LINESTRIP, "rasterizer": FAT, "samples": 4, "reach": 0.02, "n": 100},
    "fat lines clipped": {"topology": Topology.LINELIST, "rasterizer": FAT, "z": (-0.5, 1.5), "w": (-1, 2), "clip": True},
    "smooth lines": {"topology": Topology.LINELIST, "rasterizer": SMOOTH, "depth": False},
    "smooth strip clipped": {"topology": Topology.LINESTRIP, "rasterizer": SMOOTH, "z": (-0.5, 1.5), "w": (-1, 2), "clip": True},
    "short smooth lines": {"topology": Topology.LINELIST, "rasterizer": SMOOTH, "reach": 0.02, "n": 100},
    "smooth lines of samples are aliased": {"topology": Topology.LINELIST, "rasterizer": SMOOTH, "samples": 4},
    "wireframe": {"topology": Topology.TRIANGLELIST, "rasterizer": WIRE, "n": 60},
    "wireframe strip": {"topology": Topology.TRIANGLESTRIP, "rasterizer": WIRE, "n": 20},
    "wireframe of shared corners": {"topology": Topology.TRIANGLELIST, "rasterizer": WIRE, "n": 90, "grid": 2, "reach": 0.1},
    "wireframe clipped": {
        "topology": Topology.TRIANGLELIST, "rasterizer": WIRE, "n": 90, "z": (-0.5, 1.5), "w": (-1, 2), "clip": True,
    },
    "wireframe beyond fixed point": {"topology": Topology.TRIANGLELIST, "rasterizer": WIRE, "n": 60, "far": 2000.0},
    "wireframe with bias": {
        "topology": Topology.TRIANGLELIST, "n": 60,
        "rasterizer": Rasterizer(fill=FillMode.WIREFRAME, cull=1, depth_bias=1000, slope_scaled_depth_bias=1.5),
    },
    "wireframe of front faces": {
        "topology": Topology.TRIANGLELIST, "n": 60,
        "rasterizer": Rasterizer(fill=FillMode.WIREFRAME, cull=3, front_counter_clockwise=True),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bits_equal(name: str) -> None:
    for reference, compiled in run_both(scene(**CASES[name])):
        assert reference.any()
        assert np.array_equal(reference, compiled)


@pytest.mark.parametrize("interp", ["LINEAR", "LINEAR_NOPERSPECTIVE"])
@pytest.mark.parametrize("topology", [Topology.POINTLIST, *LINES[:2], Topology.TRIANGLELIST])
def test_interpolation(interp: str, topology: Topology) -> None:
    for reference, compiled in run_both(scene(topology, interp=interp, w=(0.2, 3), rasterizer=WIRE, depth=False)):
        assert reference.any()
        assert np.abs(reference.view(np.uint16).astype(int) - compiled.view(np.uint16)).max() <= 2


_RASTERIZERS = st.builds(
    Rasterizer,
    fill=st.sampled_from(list(FillMode)), cull=st.integers(1, 3), multisample=st.booleans(), antialiased_line=st.booleans(), depth_clip=st.booleans(),
    front_counter_clockwise=st.booleans(), depth_bias=st.integers(-100, 100), slope_scaled_depth_bias=st.sampled_from([0.0, 2.0]),
)  # fmt: skip
_LIST_OR_STRIP = st.sampled_from([t for t in Topology if Topology.UNDEFINED < t < Topology.PATCHLIST_1])


@settings(deadline=None, max_examples=8, database=None)
@given(
    topology=_LIST_OR_STRIP, rasterizer=_RASTERIZERS, seed=st.integers(0, 1000), samples=st.sampled_from([1, 2]),
    grid=st.sampled_from([0, 1, 2, 4]), reach=st.sampled_from([0.05, 0.5, 2.0]), far=st.sampled_from([1.0, 1000.0]), clip=st.booleans(),
    indexed=st.booleans(), w=st.sampled_from([(1, 1), (-0.5, 2)]), z=st.sampled_from([(0, 1), (-0.5, 1.5)]),
)  # fmt: skip
def test_any_primitive_agrees(topology: Topology, **options: Any) -> None:
    color, depth = run_both(scene(topology, n=24, **options))
    assert np.array_equal(*color)
    # A depth half-way between two floats is rounded by the last bits of the doubles that it is computed in.
    assert np.abs(depth[0].view(np.int32) - depth[1].view(np.int32).astype(np.int64)).max() <= 1


@pytest.mark.parametrize("topology", [1, 3, 5])
@pytest.mark.parametrize("rasterizer", [WIRE, FAT, Rasterizer(cull=1)], ids=["wireframe", "fat", "plain"])
def test_what_a_geometry_program_makes(topology: int, rasterizer: Rasterizer) -> None:
    """Points, lines or triangles from points."""
    program = f"geometry temps=2 primitive=1 topology={topology} max_vertices=4\ninput 0 xyzw\ninput 1 xyzw\ninput 2 x\n"
    program += "output 0 xyzw sv=POSITION\noutput 1 xyzw\n"
    for x, y in ((0.0, 0.0), (0.1, 0.02), (0.03, 0.15), (-0.1, 0.1)):
        for c, name in enumerate("xyzw"):
            program += f"load_input r0, {c}, 0\nfadd o0.{name}, r0, {(x, y, 0.0, 0.0)[c]}\nload_input o1.{name}, {4 + c}, 0\n"
        program += "emit 0\n"
    draw = scene(Topology.POINTLIST, 30, rasterizer=rasterizer, samples=2, z=(-0.2, 1.2))

    def build(s: Scene) -> list[Surface]:
        s.shader(program)
        return draw(s)

    for reference, compiled in run_both(build):
        assert reference.any()
        assert np.array_equal(reference, compiled)


def test_alpha_tells_how_much_of_a_pixel_a_smooth_line_covers() -> None:
    """A horizontal line 1.4 pixels wide along the middle of a row: most of it in that row, the rest in its neighbours."""

    def build(s: Scene) -> list[Surface]:
        rt = s.texture(Format.R32G32B32A32_FLOAT, 16, 5)
        v = np.zeros((2, 9), np.float32)
        v[:, 0], v[:, 3:] = (-0.5, 0.5), 1
        four = Format.R32G32B32A32_FLOAT
        s.vertices(v, 36, [InputElement(0, 0, four, 0), InputElement(1, 0, four, 16), InputElement(2, 0, Format.R32_FLOAT, 32)])
        s.shader(VS)
        s.shader(PS.format("CONSTANT"))
        s.bind(Op.SET_RENDER_TARGET, rt, arg=1)
        s.viewport(16, 5)
        s.emit(Op.SET_TOPOLOGY, arg=Topology.LINELIST)
        s.rasterizer(SMOOTH)
        s.draw(2)
        return [rt]

    for engine in run_both(build)[0]:
        alpha = engine.view(np.float32)[: 5 * 64].reshape(5, -1, 4)[:, :16, 3]
        assert alpha[:, 8].tolist() == [0, 0.25, 1, 0.25, 0]
        assert (alpha == alpha[:, 8:9]).sum() == 5 * 8 + 2 * 8
