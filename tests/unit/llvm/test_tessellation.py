"""Hull and domain programs around the tessellator on both engines: every vertex, triangle and pixel alike."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from tests.unit.llvm.test_draws import PS, VS
from vgpu.engine.llvm import LlvmEngine
from vgpu.fault import FaultError
from wddm.hw.descriptors import InputElement, Rasterizer, float_bits
from wddm.hw.formats import Format
from wddm.hw.packets import Op, Stage, Topology

ISOLINE, TRIANGLE, QUAD = 1, 2, 3
FACTORS = {
    ISOLINE: ["LINE_DENSITY", "LINE_DETAIL"],
    TRIANGLE: ["TRI_EDGE_U0", "TRI_EDGE_V0", "TRI_EDGE_W0", "TRI_INSIDE"],
    QUAD: ["QUAD_EDGE_U0", "QUAD_EDGE_V0", "QUAD_EDGE_U1", "QUAD_EDGE_V1", "QUAD_INSIDE_U", "QUAD_INSIDE_V"],
}
GEOMETRY = """geometry temps=8 primitive=3 topology=5 max_vertices=3
input 0 xyzw sv=POSITION
input 1 xyzw
output 0 xyzw sv=POSITION
output 1 xyzw
stream_output 0 xyzw buffer=0 stream=0 offset=0
stream_output 1 xyzw buffer=0 stream=0 offset=16
stream_stride 0 32
loop
uge r1, r0, 3
breakc r1, 1
load_input o0.x, 0, r0
load_input o0.y, 1, r0
load_input o0.z, 2, r0
load_input o0.w, 3, r0
load_input o1.x, 4, 0
load_input o1.y, 5, 1
load_input o1.z, 6, 2
utof o1.w, $PRIMITIVE_ID
emit 0
iadd r0, r0, 1
endloop
"""


def hull(r: random.Random, domain: int, partitioning: int, output: int, points: int) -> tuple[str, int]:
    """A hull program that takes its factors from control point 0 and from constants; and the points it makes."""
    limit = r.choice(["", f" max_tess_factor={float_bits(r.choice([1.0, 3.0, 7.5]))}"])
    made = 0 if (through := r.random() < 0.3) else r.randrange(3, 6)
    head = f"hull temps=8 primitive={made << 8 | points} topology={domain | partitioning << 4 | output << 8}"
    lines = [head + limit + (" flags=32" if through else ""), "input 0 xyzw", "input 1 xyzw", "output 0 xyzw", "output 1 xyzw"]
    lines += ["constants 0 8"]
    lines += [f"patch {i} {'xy'[i & 1]} sv={name}" for i, name in enumerate(FACTORS[domain])] + ["patch 7 xyz"]
    if not through:
        lines += [f"urem r4, $CONTROL_POINT_ID, {points}", "utof r5, $CONTROL_POINT_ID"]
        for c in range(8):
            lines.append(f"load_input r{c & 3}, {c}, r4")
            lines += ["fmul r6, r5, 0.001", f"fadd o{c >> 2}.{'xyzw'[c & 3]}, r6, r{c & 3}"]
        lines.append("patch_entry")
    for i in range(len(FACTORS[domain])):
        lines.append(f"load_input r0, {4 + i % 4}, {r.choice(['0', '1'])}")
        lines.append(f"fmul o{i}.{'xy'[i & 1]}, r0, c0[{i}]")
    lines += ["load_control_point r1, 1, 1", "load_patch r2, 0", "fadd o7.x, r1, r2", "utof o7.y, $PRIMITIVE_ID", "mov o7.z, -0.5"]
    return "\n".join(lines), made or points


def domain_program(r: random.Random, domain: int, points: int, *, streams: bool) -> str:
    """A domain program that puts its points around control points and tells its location."""
    lines = [f"domain temps=16 primitive={points} topology={domain}", "input 0 xyzw", "input 1 xyzw"]
    lines += [f"patch {i} {'xy'[i & 1]} sv={name}" for i, name in enumerate(FACTORS[domain])] + ["patch 7 xyz"]
    lines += ["output 0 xyzw sv=POSITION", "output 1 xyzw"]
    if streams:
        lines += ["stream_output 0 xyzw buffer=0 stream=0 offset=0", "stream_output 1 xyzw buffer=0 stream=0 offset=16"]
        lines += ["stream_stride 0 32"]
    lines += [f"load_input r{c + 4 * k}, {c}, {k % points}" for k in range(3) for c in range(3)]
    for c, name in enumerate("xyz"):
        lines += [f"fadd r12, r{4 + c}, -r{c}", "fmul r12, r12, $DOMAIN_U", f"fadd r12, r12, r{c}"]
        lines += [f"fadd r13, r{8 + c}, -r{c}", "fmul r13, r13, $DOMAIN_V", f"fadd o0.{name}, r13, r12"]
    lines += ["mov o0.w, 1.0", "mov o1.x, $DOMAIN_U", "mov o1.y, $DOMAIN_V", "mov o1.z, $DOMAIN_W"]
    lines += ["load_patch r14, 29", "utof r15, $PRIMITIVE_ID", "fadd r14, r14, r15", f"load_patch r15, {r.choice([28, 30, 40])}"]
    lines += ["fadd o1.w, r14, r15", "ftou r14, r14", f"urem r14, r14, {points}", "load_input r15, 5, r14", "fadd o1.w, o1.w, r15"]
    return "\n".join(lines).replace("fadd o1.w, r14, r15", "fadd r11, r14, r15").replace("fadd o1.w, o1.w, r15", "fadd o1.w, r11, r15")


def scene(
    seed: int, domain: int, partitioning: int, output: int, factors: Sequence[float], *, geometry: bool = False, patches: int = 5
) -> Callable[[Scene], list[Surface]]:
    """Random patches with these factors (of the constants), which the vertices scale."""

    def build(s: Scene) -> list[Surface]:
        r, numbers = random.Random(seed), np.random.default_rng(seed)
        points = r.choice([2, 3, 4, 11, 32])
        hull_text, made = hull(r, domain, partitioning, output, points)
        n = points * patches + 1
        v = np.zeros((n, 8), np.float32)
        v[:, :2], v[:, 2], v[:, 3] = numbers.uniform(-1.1, 1.1, (n, 2)), numbers.uniform(0, 1, n), 1
        v[:, 4:] = numbers.choice([1, 1, 1, 0.5, 1.25, 2, -1 if r.random() < 0.1 else 1], (n, 4))
        target, depth = s.texture(Format.R8G8B8A8_UNORM, 67, 45), s.texture(Format.D32_FLOAT, 67, 45)
        s.memory.view(depth.address, depth.size, write=True).view(np.float32)[:] = 0.8
        four = Format.R32G32B32A32_FLOAT
        s.vertices(v, 32, [InputElement(0, 0, four, 0), InputElement(1, 0, four, 16)])
        texts = [VS.replace(" sv=POSITION", ""), hull_text, domain_program(r, domain, made, streams=not geometry)]
        for text in texts + [GEOMETRY] * geometry + [PS.format("CONSTANT")]:
            s.shader(text)
        s.constants(Stage.HULL, 0, np.array([*factors, *[1.0] * 8][:8], np.float32))
        s.bind(Op.SET_RENDER_TARGET, target, arg=1)
        s.bind(Op.SET_DEPTH_STENCIL, depth)
        s.viewport(67, 45)
        s.rasterizer(Rasterizer(cull=1))
        s.emit(Op.SET_TOPOLOGY, arg=Topology.PATCHLIST_1 + points - 1)
        streamed, fill = s.buffer(np.zeros(500000, np.uint32)), s.buffer(np.zeros(1, np.uint32))
        s.emit(Op.SET_STREAM_OUTPUT, address=streamed.address, extent=streamed.size, address2=fill.address, extent2=4)
        s.draw(n, r.choice([1, 2]))
        return [target, depth, streamed, fill]

    return build


def check(build: Callable[[Scene], list[Surface]], *, lanes: int | None = None) -> int:
    """Everything is the same; how many bytes were streamed."""
    pairs = run_both(build, lanes=lanes)
    for number, (reference, compiled) in enumerate(pairs):
        assert np.array_equal(reference, compiled), number
    return int(pairs[3][0].view(np.uint32)[0])


KINDS = [(d, o) for d in (ISOLINE, TRIANGLE, QUAD) for o in (1, 2, 3, 4) if (d == ISOLINE) == (o == 2) or o == 1]


@pytest.mark.parametrize("partitioning", [1, 2, 3, 4])
@pytest.mark.parametrize(("domain", "output"), KINDS)
def test_every_kind(domain: int, output: int, partitioning: int) -> None:
    for seed, factors in enumerate(((1, 1, 1, 1, 1, 1), (2.5, 3, 7.25, 1, 4.5, 6))):
        assert check(scene(seed, domain, partitioning, output, factors, patches=3))


FACTOR = st.one_of(st.floats(0.25, 66, width=32), st.sampled_from([0.0, -1.0, float("nan"), 1.0, 2.0, 1.0000001, 1e-40, float("inf")]))


@settings(deadline=None, max_examples=12, database=None)
@given(
    seed=st.integers(0, 1 << 30),
    kind=st.sampled_from(KINDS),
    partitioning=st.integers(1, 4),
    factors=st.lists(FACTOR, min_size=6, max_size=6),
    lanes=st.sampled_from([8, 16]),
)
def test_random_factors(seed: int, kind: tuple[int, int], partitioning: int, factors: list[float], lanes: int) -> None:
    check(scene(seed, kind[0], partitioning, kind[1], factors, patches=3), lanes=lanes)


@pytest.mark.parametrize("domain", [TRIANGLE, QUAD])
def test_a_geometry_program_behind(domain: int) -> None:
    for seed in range(2):
        assert check(scene(seed, domain, 1, 3, (3, 4, 5, 2, 6, 3), geometry=True, patches=20))


def test_the_largest_patches() -> None:
    for domain, partitioning in itertools.product((TRIANGLE, QUAD), (1, 3)):
        assert check(scene(5, domain, partitioning, 4, [64] * 6, patches=2))


def bad(*texts: str, topology: int = Topology.PATCHLIST_1 + 3) -> Scene:
    """A scene of four-point patches with these programs instead."""
    s = Scene(lambda m, stop: LlvmEngine(m, stop))
    scene(4, QUAD, 1, 3, [2] * 6)(s)
    s.packets = [p for p in s.packets if p["op"][0] != Op.DRAW]
    for text in texts:
        s.shader(text)
    s.emit(Op.SET_TOPOLOGY, arg=topology)
    return s


def test_stages_that_do_not_fit_are_refused() -> None:
    s = bad(hull(random.Random(4), QUAD, 1, 3, 5)[0])
    s.draw(8)
    with pytest.raises(FaultError, match="hull program of 5 control points gets patches of 4"):
        s.run()
    s = bad(domain_program(random.Random(1), TRIANGLE, 4, streams=False), hull(random.Random(4), QUAD, 1, 3, 4)[0])
    s.draw(8)
    with pytest.raises(FaultError, match="different domains"):
        s.run()
    s = bad(topology=Topology.TRIANGLELIST)
    s.draw(3)
    with pytest.raises(FaultError, match="go together"):
        s.run()


ENDLESS = "loop\nmov r0, r0\nendloop\n"


@pytest.mark.parametrize("where", ["control points", "patch constants", "domain"])
def test_endless_programs_are_stopped(where: str) -> None:
    text = "hull temps=8 primitive=0x404 topology=0x313\noutput 0 x\n" + "".join(
        f"patch {i} x sv={name}\n" for i, name in enumerate(FACTORS[QUAD])
    )
    text += ENDLESS * (where == "control points") + "mov o0.x, 1.0\npatch_entry\n" + ENDLESS * (where == "patch constants")
    text += "".join(f"mov o{i}.x, 2.0\n" for i in range(6))
    after = "domain temps=8 primitive=4 topology=3\noutput 0 xyzw sv=POSITION\noutput 1 xyzw\n" + ENDLESS * (where == "domain")
    s = bad(text, after)
    s.draw(8)
    s.stop.set()
    with pytest.raises(FaultError, match="stop"):
        s.run()


def test_threads_and_a_small_arena_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bins that overflow in the middle of a batch, and of a patch, are emptied in order, by any number of threads."""
    build = scene(6, QUAD, 1, 3, [9, 14, 11, 10, 13, 8], patches=60)

    def picture(threads: int) -> list[bytes]:
        s = Scene(lambda m, stop: LlvmEngine(m, stop, threads))
        surfaces = build(s)
        s.run()
        return [s.memory.view(x.address, x.size).tobytes() for x in surfaces]

    whole = picture(1)
    monkeypatch.setattr("vgpu.engine.llvm.engine.ARENA_BYTES", 1 << 16)
    assert whole == picture(1) == picture(2) == picture(3)
