"""Round trips are taken apart at the right events."""

from bench.hops import STEPS, split
from wddm.trace import Event

US = 1000


def event(at, process, name, **arguments):
    return Event(at * US, process, name, arguments)


ROUND = [
    event(90, "kernel", "DxgkDdiSubmitCommand"),  # of the round before
    event(130, "runtime", "Draw"),
    event(140, "kernel", "DxgkDdiInterruptRoutine"),  # a vertical blank, beside the path
    event(141, "kernel", "DxgkCbNotifyInterrupt"),
    event(150, "runtime", "pfnRenderCb"),
    event(180, "kernel", "DxgkDdiRender"),
    event(190, "runtime", "pfnSignalSynchronizationObject2Cb"),
    event(240, "kernel", "DxgkDdiSubmitCommand"),
    event(250, "vgpu", "Interrupt", cause=8),  # vertical blank
    event(300, "vgpu", "Interrupt", cause=1, fence=7),
    event(400, "kernel", "DxgkCbNotifyInterrupt"),
]


def test_each_step_lies_between_its_events():
    found = split(ROUND, 100 * US, [110 * US, 320 * US], 310 * US)
    assert found is not None
    assert list(found) == list(STEPS)
    assert list(found.values()) == [10, 20, 20, 30, 60, 60, 10]


def test_steps_add_up_to_the_round_trip():
    found = split(ROUND, 100 * US, [], 310 * US)
    assert found is not None
    assert sum(found.values()) == 210


def test_a_client_that_sees_the_fence_before_its_interrupt_is_told_has_waited_no_longer():
    found = split(ROUND, 100 * US, [110 * US], 290 * US)
    assert found is not None
    assert found[STEPS[-1]] == 0
    assert found[STEPS[-2]] == 50


def test_a_round_that_never_left_the_runtime_has_no_steps():
    assert split([event(120, "runtime", "Flush")], 100 * US, [], 130 * US) is None
    assert split([], 0, [], 10) is None
