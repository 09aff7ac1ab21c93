"""Real processes, real sockets: one stack for a whole module where tests leave it as they find it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from wddm.client.gpu import Gpu, connect
from wddm.stack import Stack, open_stack


@asynccontextmanager
async def stack_of_processes(**settings: Any) -> AsyncIterator[Stack]:
    """A private stack with a small display."""
    settings.setdefault("size", (320, 240))
    settings.setdefault("vram", 64 << 20)
    async with open_stack(**settings) as stack:
        yield stack


@asynccontextmanager
async def client(stack: Stack, where: str | None = None) -> AsyncIterator[Gpu]:
    """A client of it."""
    async with connect(where or stack.address) as gpu:
        yield gpu


@pytest.fixture
def open_descriptors() -> Any:
    """Number of descriptors this process has open."""
    return lambda: len(os.listdir("/proc/self/fd"))
