"""The blocking face: the same objects, plain calls."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

import wddm
from tests.boundary.api.fakes import one_client
from wddm import blocking
from wddm.client import Device, Gpu, ImmediateContext, SwapChain


@asynccontextmanager
async def _gpu() -> AsyncIterator[Gpu]:
    async with one_client() as (_, gpu):
        yield gpu


def test_a_program() -> None:
    with blocking._opened(_gpu()) as gpu:
        with gpu.create_device() as other:
            assert other.feature_level == 0xB000
        device = gpu.create_device()
        context = device.immediate_context
        assert context is device.immediate_context
        buffer = device.create_buffer(np.arange(8, dtype=np.float32), bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        context.ia_set_vertex_buffers(0, [buffer], [4], [0])
        for _ in range(2000):
            context.draw(3)
        context.wait_idle()
        chain = gpu.create_swap_chain(device, width=64, height=64, format=wddm.Format.R8G8B8A8_UNORM)
        rtv = device.create_render_target_view(chain.get_buffer(0))
        context.om_set_render_targets([rtv])
        assert chain.present(sync_interval=1) == 0
        assert chain.width == 64
        with pytest.raises(wddm.D3DError, match="byte_width"):
            device.create_buffer(0)


def test_what_the_body_raises_comes_out() -> None:
    with pytest.raises(KeyError), blocking._opened(_gpu()):
        raise KeyError("body")


def test_a_loop_that_fails_to_start_says_why() -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[Any]:
        raise ConnectionRefusedError("nobody there")
        yield

    with pytest.raises(ConnectionRefusedError, match="nobody there"), blocking._opened(broken()):
        pass


def test_every_public_member_is_there() -> None:
    for cls in (Gpu, Device, ImmediateContext, SwapChain):
        made = getattr(blocking, cls.__name__)
        for name, member in inspect.getmembers(cls, inspect.isfunction):
            if not name.startswith("_"):
                assert hasattr(made, name) == inspect.iscoroutinefunction(member) or name in made._direct


def test_importing_the_package_loads_nothing() -> None:
    code = "import sys, wddm.wire.address; print([m for m in ('trio', 'numpy', 'wddm.client') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_names_of_the_package() -> None:
    assert wddm.BlendOption is wddm.Blend
    assert "create_device" in dir(wddm.Gpu)
    assert {"launch", "connect", "Format", "D3DError"} <= set(dir(wddm))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = wddm.nothing
