"""Runs scenes: a private stack with empty caches for each group, a fresh device for each scene, a limit of time for each.

A scene that fails becomes a figure that tells why. After one that took too long, or that the stack did not survive, the next gets a
new stack.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import trio

from bench.figures import Figure, failed
from bench.options import Options, progress
from wddm.client.errors import D3DError
from wddm.client.gpu import Gpu
from wddm.hlsl import CompileError
from wddm.stack import StackError, launch

from .library import Ours, Scene


def sentence(group: BaseExceptionGroup[BaseException]) -> str:
    """What the exceptions in a group say."""
    parts = (sentence(e) if isinstance(e, BaseExceptionGroup) else str(e) or type(e).__name__ for e in group.exceptions)
    return "; ".join(dict.fromkeys(parts))


@contextmanager
def empty_caches() -> Iterator[None]:
    """Processes that are started meanwhile know no shader of an earlier run; the peers' caches are off as well."""
    names = ("XDG_CACHE_HOME", "WDDM_CACHE_DIR")
    before = {name: os.environ.get(name) for name in names}
    with tempfile.TemporaryDirectory(prefix="wddm-bench-") as folder:
        os.environ.update(dict.fromkeys(names, folder))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def scenes(group: str) -> tuple[Scene, ...]:
    """The scenes of a group by its name."""
    found: tuple[Scene, ...] = import_module(f"bench.scenes.{group}").SCENES
    return found


async def measure_group(group: str, options: Options) -> list[Figure]:
    """Every wanted test of a group."""
    waiting = [scene for scene in scenes(group) if options.wants(*scene.tests)]
    figures: list[Figure] = []
    while waiting:
        refusal = ""
        try:
            with empty_caches():
                async with launch(**options.stack()) as gpu:
                    while waiting:
                        scene = waiting.pop(0)
                        found, healthy = await _one(gpu, scene, options)
                        figures += found
                        if not healthy:
                            break
        except* StackError as group:
            refusal = sentence(group)
        if refusal:
            figures += [failed(test, refusal) for scene in waiting for test in scene.tests]
            waiting = []
    return [figure for figure in figures if options.wants(figure.test)]


async def _one(gpu: Gpu, scene: Scene, options: Options) -> tuple[list[Figure], bool]:
    progress(scene.tests[0])
    why: object
    with trio.move_on_after(options.pace.limit) as scope:
        try:
            return await scene.measure(await Ours.open(gpu), options.pace), True
        except (D3DError, CompileError) as error:
            why = error
    if scope.cancelled_caught:
        why = f"no result within {options.pace.limit:g} s"
    if gpu.stack.failure is not None:
        why = gpu.stack.failure
    for test in scene.tests:
        progress(f"{test} failed: {why}")
    return [failed(test, why) for test in scene.tests], not scope.cancelled_caught and gpu.stack.failure is None
