"""The fuzzer's targets for a bounded time; ``./dev fuzz`` runs them for as long as asked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.fuzz import targets
from tests.fuzz.targets import TARGETS, GuardedScene
from vgpu.engine import Engine, StopWord
from vgpu.engine.llvm import LlvmEngine
from vgpu.memory import Memory
from wddm.hw.memory import LOCAL_BASE

SEEDS = {"draws": 4, "stages": 4, "dispatches": 6, "threads": 4, "kernels": 12, "damage": 20}


@pytest.mark.parametrize(("name", "seed"), [(name, seed) for name in TARGETS for seed in range(SEEDS[name])])
def test_nothing_is_wrong(name: str, seed: int) -> None:
    assert TARGETS[name](seed) is None


class _Stray(LlvmEngine):
    """Writes where it should not when a scene is done."""

    def flush(self, state, *, parallel: bool = True) -> None:  # type: ignore[no-untyped-def]
        self.memory.view(LOCAL_BASE + 4096, 1 << 16, write=True)[:] = 7
        super().flush(state, parallel=parallel)


class _Wrong(LlvmEngine):
    """Leaves a little less than asked."""

    def dispatch(self, state, groups):  # type: ignore[no-untyped-def]
        return super().dispatch(state, (1, 1, 1))


@pytest.mark.parametrize(("kind", "told"), [(_Stray, "a gap between surfaces was written"), (_Wrong, "bytes differ")])
def test_it_notices(kind: Callable[[Memory, StopWord], Engine], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "LlvmEngine", kind)
    assert any(told in (TARGETS["dispatches"](seed) or "") for seed in range(8))


def test_some_allocations_end_where_memory_does() -> None:
    ends = []
    for seed in range(8):
        s = GuardedScene(LlvmEngine, seed)
        ends += [at + 12 for at in (s.allocate(12) for _ in range(12))]
        s.allocate(np.iinfo(np.uint16).max)
        s.memory.close()
    assert LOCAL_BASE + targets.LOCAL in ends
