"""The shaders in examples/hlsl compile for every stage they hold, to legal programs of sensible size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.dxbc_interpreter import run_compute, run_stage
from tests.support.hlsl import sound
from wddm import hlsl

FOLDER = Path(__file__).parents[3] / "examples" / "hlsl"

# File, entry point, profile, most instructions, most temps.
ENTRIES = [
    ("blinn_phong", "vertex", "vs_5_0", 24, 3),
    ("blinn_phong", "pixel", "ps_5_0", 150, 7),
    ("mandelbrot", "vertex", "vs_4_0", 12, 2),
    ("mandelbrot", "pixel", "ps_4_0", 32, 3),
    ("particles", "simulate", "cs_5_0", 50, 4),
    ("particles", "vertex", "vs_5_0", 9, 2),
    ("particles", "expand", "gs_4_0", 30, 2),
    ("particles", "pixel", "ps_4_0", 12, 2),
    ("terrain", "vertex", "vs_5_0", 3, 0),
    ("terrain", "hull", "hs_5_0", 60, 3),
    ("terrain", "evaluate", "ds_5_0", 44, 4),
    ("terrain", "pixel", "ps_5_0", 18, 2),
    ("scan", "scan", "cs_5_0", 100, 2),
    ("deferred", "geometry", "ps_4_1", 12, 2),
    ("deferred", "shade", "cs_5_0", 85, 7),
]


def read(name: str) -> str:
    return (FOLDER / f"{name}.hlsl").read_text()


@pytest.mark.parametrize(("name", "entry", "profile", "instructions", "temps"), ENTRIES, ids=[f"{e[0]}-{e[1]}" for e in ENTRIES])
def test_compiles(name: str, entry: str, profile: str, instructions: int, temps: int) -> None:
    result = hlsl.compile_with_diagnostics(read(name), entry, profile, filename=f"{name}.hlsl")
    assert result.blob is not None, result.text
    assert result.diagnostics == ()
    sound(result.blob)
    statistics = hlsl.reflect(result.blob).statistics
    assert statistics is not None
    assert statistics.instructions <= instructions
    assert statistics.temps <= temps


def test_every_file_is_listed() -> None:
    assert {p.stem for p in FOLDER.glob("*.hlsl")} == {e[0] for e in ENTRIES}


def test_scan_sums() -> None:
    numbers = np.random.default_rng(0).integers(0, 1000, 512).astype(np.uint32)
    sums, totals = np.zeros(512, np.uint32), np.zeros(4, np.uint32)
    run_compute(hlsl.compile(read("scan"), "scan", "cs_5_0"), textures={0: numbers}, uavs={0: sums, 1: totals})
    np.testing.assert_array_equal(sums, np.cumsum(numbers))
    assert list(totals) == [numbers.sum(), numbers.sum(), 0, 0]


def test_mandelbrot_counts() -> None:
    blob = hlsl.compile(read("mandelbrot"), "pixel")
    points = np.array([[0, 0], [2, 2], [-0.75, 0.2], [0.3, 0.5]], np.float32)
    constants = np.zeros(8, np.uint32)
    constants[4] = 64
    out, _ = run_stage(blob, {"POINT": points}, buffers={0: constants})
    colors = out["SV_Target0"].view(np.float32)

    def count(c: complex) -> int:
        z, n = 0j, 0
        while n < 64 and abs(z) ** 2 < 16:
            z, n = z * z + c, n + 1
        return n

    for point, color in zip(points, colors, strict=True):
        assert (count(complex(*point)) == 64) == (color[:3] == 0).all()
