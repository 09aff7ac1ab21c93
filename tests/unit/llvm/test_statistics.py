"""Pipeline statistics and occlusion of any draw, as both engines count them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm import test_primitives, test_samples
from tests.unit.llvm.conftest import run_both
from tests.unit.llvm.test_draws import DISCARD, STENCIL, triangles
from tests.unit.llvm.test_primitives import FAT, LINES, WIRE
from vgpu.engine.reference.queries import STATISTICS
from wddm.hw.packets import Op, QueryKind, Topology

Build = Callable[[Scene], list[Surface]]


def counted(draw: Build, *, times: int = 1) -> Build:
    """The query blocks of a draw."""

    def build(s: Scene) -> list[Surface]:
        blocks = [
            (QueryKind.PIPELINE_STATISTICS, s.buffer(np.zeros(12, np.uint64))),
            (QueryKind.OCCLUSION, s.buffer(np.zeros(2, np.uint64))),
        ]
        for _ in range(times):
            draw(s)  # not counted
            for kind, block in blocks:
                s.emit(Op.QUERY_BEGIN, address=block.address, extent=block.size, arg=kind)
            draw(s)
            for kind, block in blocks:
                s.emit(Op.QUERY_END, address=block.address, extent=block.size, arg=kind)
        return [block for _, block in blocks]

    return build


def statistics(draw: Build) -> dict[str, int]:
    """What the reference engine counts, after the compiled one counted the same."""
    found, occlusion = run_both(counted(draw))
    assert np.array_equal(*occlusion)
    values = [dict(zip(STATISTICS, engine.view(np.uint64)[1:].tolist(), strict=True)) for engine in found]
    assert values[0] == values[1]
    return values[0]


SCENES: dict[str, Build] = {
    "list": triangles(60, z=(0, 1)),
    "clipped": triangles(60, w=(-1, 3), z=(-0.5, 1.5)),
    "beyond the sides": triangles(60, size=3.0),
    "indexed": triangles(80, indexed=True),
    "strip": triangles(60, topology=Topology.TRIANGLESTRIP),
    "strip with cuts": triangles(60, topology=Topology.TRIANGLESTRIP, indexed=True),
    "samples": triangles(30, samples=4),
    "depth": triangles(60, state=STENCIL),
    "discard": triangles(60, ps=DISCARD.replace("{", "{{"), samples=2),
    "per sample": triangles(20, ps=test_samples.text(test_samples.EXACT["index"]), samples=4),
    "tests first": triangles(40, ps=test_samples.text(test_samples.PLAIN, flags="flags=1"), state=STENCIL),
    "points": test_primitives.scene(Topology.POINTLIST, 200),
    "points of samples": test_primitives.scene(Topology.POINTLIST, 100, samples=4),
    "lines": test_primitives.scene(LINES[0], 100),
    "line strip with cuts": test_primitives.scene(LINES[1], 50, indexed=True, clip=True),
    "fat lines": test_primitives.scene(LINES[0], 60, rasterizer=FAT, samples=4),
    "wireframe": test_primitives.scene(Topology.TRIANGLELIST, 60, rasterizer=WIRE, z=(-0.5, 1.5)),
}


@pytest.mark.parametrize("name", SCENES)
def test_engines_count_the_same(name: str) -> None:
    found = statistics(SCENES[name])
    assert all(found[k] for k in ("ia_vertices", "ia_primitives", "vs_invocations", "clipper_invocations", "ps_invocations"))


@pytest.mark.parametrize(
    ("topology", "vertices", "primitives"),
    [
        (Topology.TRIANGLESTRIP, 4, 2), (Topology.LINESTRIP, 4, 3), (Topology.LINESTRIP_ADJ, 5, 2),
        (Topology.TRIANGLESTRIP_ADJ, 10, 3), (Topology.TRIANGLELIST, 6, 2), (Topology.LINELIST_ADJ, 8, 2),
    ],
)  # fmt: skip
def test_a_strip_reads_each_vertex_once(topology: Topology, vertices: int, primitives: int) -> None:
    extra: dict[str, Any] = {"rasterizer": WIRE, "depth": False}
    for engine in run_both(counted(test_primitives.scene(topology, vertices, **extra)))[0]:
        assert engine.view(np.uint64)[1:3].tolist() == [vertices, primitives]


def test_large_draws_read_each_vertex_once() -> None:
    """More primitives than a batch of either engine."""
    draw = test_primitives.scene(Topology.LINESTRIP, 9000, reach=0.01, depth=False)
    for engine in run_both(counted(draw))[0]:
        assert engine.view(np.uint64)[1:3].tolist() == [9000, 8999]
