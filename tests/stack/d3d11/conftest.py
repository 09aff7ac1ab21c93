"""``lab``: a fresh device on a whole stack of its own, once with each engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.stack.d3d11.lab import ENGINES, Lab
from tests.support.stack import whole_stack


@pytest.fixture(params=list(ENGINES.values()), ids=list(ENGINES))
async def lab(request: Any, autojump_clock: Any) -> AsyncIterator[Lab]:
    async with whole_stack(engine=request.param) as stack, stack.connect() as gpu:
        yield Lab(gpu, await gpu.create_device())
