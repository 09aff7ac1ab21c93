"""Geometry programs and stream output on both engines: pictures, bytes, counters and queries bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.stages import HEAD, geometry_scene, stage_scene
from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from tests.unit.llvm.test_draws import PS, VS
from vgpu.engine.llvm import LlvmEngine
from vgpu.fault import FaultError
from wddm.hw.descriptors import InputElement, Rasterizer
from wddm.hw.formats import Format
from wddm.hw.packets import Op, QueryKind, Stage, Topology


def check(build: Callable[[Scene], list[Surface]], *, lanes: int | None = None) -> None:
    """Everything is the same."""
    for number, (reference, compiled) in enumerate(run_both(build, lanes=lanes)):
        assert np.array_equal(reference, compiled), number


@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("seed", range(6))
def test_programs(seed: int, lanes: int) -> None:
    check(geometry_scene(seed), lanes=lanes)


@settings(deadline=None, max_examples=15, database=None)
@given(seed=st.integers(0, 1 << 32), streams=st.integers(1, 2), topology=st.sampled_from([1, 3, 5]))
def test_random_programs(seed: int, streams: int, topology: int) -> None:
    check(geometry_scene(seed, streams=streams, topology=topology))


@pytest.mark.parametrize("seed", range(8))
def test_statistics(seed: int) -> None:
    """Every stage counts alike; how often vertices are shaded again is the engine's business."""

    def build(s: Scene) -> list[Surface]:
        stage_scene(s, seed)
        draw = next(i for i, p in enumerate(s.packets) if p["op"][0] in (Op.DRAW, Op.DRAW_INDEXED))
        rest, s.packets = s.packets[draw:], s.packets[:draw]
        query = s.buffer(np.zeros(12, np.uint64))
        s.emit(Op.QUERY_BEGIN, address=query.address, extent=96, arg=QueryKind.PIPELINE_STATISTICS)
        s.packets += rest
        s.emit(Op.QUERY_END, address=query.address, extent=96, arg=QueryKind.PIPELINE_STATISTICS)
        return [query]

    reference, compiled = (x.view(np.uint64) for x in run_both(build)[0])
    assert reference[1] > 0
    others = [i for i in range(12) if i != 3]
    assert reference[others].tolist() == compiled[others].tolist()


def test_many_vertices_per_invocation() -> None:
    """As many as the hardware takes, and more than the lists hold."""
    text = "geometry temps=8 primitive=1 topology=5 max_vertices=1024\n" + HEAD + (
        "load_input r0, 0, 0\nload_input r1, 1, 0\nmov o0.z, 0.5\nmov o0.w, 1.0\nmov o1.y, 1.0\nloop\nuge r3, r2, 1100\nbreakc r3, 1\n"
        "and r4, r2, 1\nutof r4, r4\nutof r5, r2\nfmad o0.x, r5, 0.002, r0\nfmad o0.y, r4, 0.1, r1\nfmul o1.x, r5, 0.001\nemit 0\n"
        "iadd r2, r2, 1\nendloop\n"
    )  # fmt: skip

    def build(s: Scene) -> list[Surface]:
        target = s.texture(Format.R8G8B8A8_UNORM, 200, 100)
        v = np.zeros((21, 8), np.float32)
        v[:, :2] = np.random.default_rng(1).uniform(-1, 1, (21, 2))
        four = Format.R32G32B32A32_FLOAT
        s.vertices(v, 32, [InputElement(0, 0, four, 0), InputElement(1, 0, four, 16)])
        for program_text in (VS, text, PS.format("CONSTANT")):
            s.shader(program_text)
        s.bind(Op.SET_RENDER_TARGET, target, arg=1)
        s.viewport(200, 100)
        s.emit(Op.SET_TOPOLOGY, arg=Topology.POINTLIST)
        s.rasterizer(Rasterizer(cull=1))
        s.draw(21)
        return [target]

    check(build)


def test_vertex_outputs_are_streamed_and_drawn_again() -> None:
    """Without a geometry program; whole patches too; DRAW_AUTO takes what was written."""
    streaming = VS.replace("mov", "stream_output 0 xyzw buffer=1 stream=0 offset=0\nstream_output 1 xyzw buffer=1 stream=0 offset=16\n"
                           "stream_stride 1 32\nmov", 1)  # fmt: skip

    def build(s: Scene) -> list[Surface]:
        target = s.texture(Format.R8G8B8A8_UNORM, 64, 64)
        v = np.random.default_rng(2).uniform(0, 1, (60, 8)).astype(np.float32)
        four = Format.R32G32B32A32_FLOAT
        elements = [InputElement(0, 0, four, 0), InputElement(1, 0, four, 16)]
        s.vertices(v, 32, elements)
        s.shader(streaming)
        s.shader(PS.format("CONSTANT"))
        s.bind(Op.SET_RENDER_TARGET, target, arg=1)
        s.viewport(64, 64)
        s.rasterizer(Rasterizer(cull=1))
        buffer, fill = s.buffer(np.zeros(1000, np.uint32)), s.buffer(np.zeros(1, np.uint32))
        s.emit(Op.SET_STREAM_OUTPUT, slot=1, address=buffer.address, extent=4000, address2=fill.address, extent2=4)
        s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLESTRIP)
        s.draw(20)
        s.emit(Op.SET_TOPOLOGY, arg=Topology.PATCHLIST_1 + 6)
        s.draw(60)
        s.emit(Op.SET_STREAM_OUTPUT, slot=1)
        s.shader(VS)
        s.emit(Op.SET_VERTEX_BUFFER, address=buffer.address, extent=4000, data=[32])
        s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
        s.emit(Op.DRAW_AUTO, address=fill.address, extent=4)
        return [target, buffer, fill]

    check(build)


def test_stages_that_do_not_fit_are_refused() -> None:
    s = Scene(lambda m, stop: LlvmEngine(m, stop))
    geometry_scene(1)(s)
    s.packets = s.packets[:-12]
    s.shader("geometry primitive=2 topology=5 max_vertices=3\n" + HEAD + "emit 0\n")
    s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
    s.draw(2)
    s.run()  # no primitive, no harm
    s.draw(3)
    with pytest.raises(FaultError, match="geometry program of 2 vertices gets primitives of 3"):
        s.run()


def test_an_endless_geometry_program_is_stopped() -> None:
    s = Scene(lambda m, stop: LlvmEngine(m, stop))
    geometry_scene(1)(s)
    s.shader("geometry primitive=3 topology=5 max_vertices=3\n" + HEAD + "loop\nemit 0\nendloop\n")
    s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
    s.packets = [p for p in s.packets if p["op"][0] not in (Op.DRAW, Op.DRAW_INDEXED)]
    s.draw(30)
    s.stop.set()
    with pytest.raises(FaultError, match="stop"):
        s.run()




@pytest.mark.parametrize("topology", [Topology.TRIANGLELIST, Topology.TRIANGLESTRIP, Topology.LINELIST, Topology.POINTLIST])
def test_a_primitive_goes_through_the_viewport_of_its_leading_vertex(topology: Topology) -> None:
    """Also when its other vertices name others; so with the slice of an array."""
    text = VS.replace("mov", "output 2 x sv=VIEWPORT_ARRAY_INDEX\noutput 3 x sv=RENDER_TARGET_ARRAY_INDEX\nftou o2.x, v1.w\n"
                      "ftou o3.x, v1.z\nmov", 1)  # fmt: skip

    def build(s: Scene) -> list[Surface]:
        r = np.random.default_rng(3)
        target = s.texture(Format.R8G8B8A8_UNORM, 64, 48, slices=3)
        v = np.zeros((90, 8), np.float32)
        v[:, :2], v[:, 2] = r.uniform(-1.4, 1.4, (90, 2)), r.uniform(-0.2, 1.2, 90)
        v[:, 3], v[:, 4:] = r.uniform(0.3, 2, 90), r.uniform(0, 4, (90, 4))
        v[:, 4:6] /= 4
        four = Format.R32G32B32A32_FLOAT
        s.vertices(v, 32, [InputElement(0, 0, four, 0), InputElement(1, 0, four, 16)])
        s.shader(text)
        s.shader(PS.format("CONSTANT"))
        s.bind(Op.SET_RENDER_TARGET, target, arg=1)
        for slot, (x, y, width, height) in enumerate(((0, 0, 64, 48), (5, 7.5, 20, 30), (40, 2, 30, 12.25))):
            s.viewport(width, height, x, y, slot=slot)
        s.emit(Op.SET_TOPOLOGY, arg=topology)
        s.rasterizer(Rasterizer(cull=1))
        s.draw(90)
        return [target]

    check(build)


def test_stream_output_waits_for_pixels_that_read_what_it_overwrites() -> None:
    """Constants of a draw in the bins, and the picture that another buffer lies in."""

    def build(s: Scene) -> list[Surface]:
        target = s.texture(Format.R8G8B8A8_UNORM, 64, 64)
        s.vertices(np.float32([[-1, -1, 0, 1], [3, -1, 0, 1], [-1, 3, 0, 1]]), 16, [InputElement(0, 0, Format.R32G32B32A32_FLOAT, 0)])
        s.shader("vertex\ninput 0 xyzw\noutput 0 xyzw sv=POSITION\n" + "".join(f"mov o0.{c}, v0.{c}\n" for c in "xyzw"))
        s.shader("pixel\nconstants 0 4\noutput 0 xyzw sv=TARGET\n" + "".join(f"mov o0.{c}, c0[{i}]\n" for i, c in enumerate("xyzw")))
        constants = s.constants(Stage.PIXEL, 0, np.float32([0.2, 0.4, 0.6, 0.8]))
        s.bind(Op.SET_RENDER_TARGET, target, arg=1)
        s.viewport(64, 64)
        s.rasterizer(Rasterizer(cull=1))
        s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
        s.draw(3)
        s.shader(
            "vertex\ninput 0 xyzw\noutput 0 xyzw\nstream_output 0 xyzw buffer=0 stream=0 offset=0\nstream_stride 0 16\n"
            + "".join(f"mov o0.{c}, 1.0\n" for c in "xyzw")
        )
        fill = s.buffer(np.zeros(1, np.uint32))
        s.emit(Op.SET_TOPOLOGY, arg=Topology.POINTLIST)
        s.emit(Op.SET_STREAM_OUTPUT, address=constants, extent=16, address2=fill.address, extent2=4)
        s.draw(1)
        s.emit(Op.SET_STREAM_OUTPUT, address=target.address, extent=1600, address2=fill.address, extent2=4, arg=1)
        s.draw(100)
        return [target, fill]

    check(build)
