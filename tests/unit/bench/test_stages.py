"""Stages of a submission: each is measured as often as asked, and each time the hardware has done the work."""

from __future__ import annotations

import pytest

from bench import stages
from tests.support.scenes import Simple
from tests.support.stack import whole_stack


@pytest.mark.parametrize("case", ["empty", "draw"])
async def test_a_submission_is_handed_in_again(case: str) -> None:
    with stages.watched() as channels:
        async with whole_stack() as stack, stack.connect() as gpu:
            scene = await Simple.create(gpu, size=(8, 8))
            messages = await stages.capture(scene, case, channels["wddm.thunk", False])
            assert [type(m).__name__ for m in messages] == ["Render"]
            assert stack.kernel.adapter is not None
            before = stack.kernel.adapter.vidsch.nodes[0].completed_count
            spent = stages.replay(stack, messages, channels, 3)
            assert [len(times) for times in spent.values()] == [3] * 6
            assert stack.kernel.adapter.vidsch.nodes[0].completed_count == before + 3
