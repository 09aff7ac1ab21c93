"""Both engines side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.gpu_scene import Scene, Surface
from vgpu.engine.llvm import LlvmEngine
from vgpu.engine.reference import ReferenceEngine

Build = Callable[[Scene], list[Surface]]


def run_both(build: Build, *, threads: int = 1, lanes: int | None = None) -> list[tuple[Any, Any]]:
    """Build the same scene on the reference engine and the compiled one; the bytes of its surfaces, in pairs.

    The code is optimised from the beginning.
    """
    out = []
    for kind in ("reference", "llvm"):
        scene = Scene(
            lambda m, s, kind=kind: ReferenceEngine(m, s)
            if kind == "reference"
            else LlvmEngine(m, s, threads, lanes=lanes, patience=0)
        )
        surfaces = build(scene)
        scene.run()
        out.append([scene.memory.view(s.address, s.size).copy() for s in surfaces])
    return list(zip(*out, strict=True))


@pytest.fixture(autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests share one code cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def difference(pair: tuple[Any, Any]) -> int:
    """How many bytes differ."""
    return int((pair[0] != pair[1]).sum())
