"""The timeline: recorded only when somebody listens, written line by line, merged in the order of time."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path

import numpy as np
import pytest

from wddm import trace
from wddm.trace import Event, Tracer, file_sink


@pytest.fixture
def recorded() -> Iterator[list[Event]]:
    events: list[Event] = []
    ticks = iter(range(100, 1000, 10))
    trace.start(events.append, clock=lambda: next(ticks))
    yield events
    trace.stop()


class Colour(IntEnum):
    RED = 3


def test_nothing_is_recorded_when_nobody_listens() -> None:
    tracer = Tracer("kernel")
    assert not tracer.enabled
    tracer("DxgkDdiRender", hContext=1)


def test_events_have_time_process_name_and_arguments(recorded: list[Event]) -> None:
    kernel, vgpu = Tracer("kernel"), Tracer("vgpu")
    assert kernel.enabled
    kernel("DxgkDdiRender", hContext=7)
    vgpu("Fence")
    assert recorded == [Event(100, "kernel", "DxgkDdiRender", {"hContext": 7}), Event(110, "vgpu", "Fence", {})]


def test_there_is_one_sink(recorded: list[Event]) -> None:
    with pytest.raises(RuntimeError, match="tracing is on already"):
        trace.start(recorded.append)
    trace.stop()
    Tracer("kernel")("Unheard")
    assert not recorded
    trace.start(recorded.append)  # the fixture stops it
    Tracer("kernel")("Heard")
    assert recorded[0].time_ns > 0  # the machine's clock again


def test_a_file_gets_one_object_a_line_at_once() -> None:
    file = io.StringIO()
    write = file_sink(file)
    write(Event(5, "kernel", "A", {"n": np.uint32(7), "f": np.float32(0.5), "e": Colour.RED, "b": b"ab", "o": Path("x")}))
    assert file.getvalue().endswith("\n")
    assert json.loads(file.getvalue()) == {
        "t": 5,
        "p": "kernel",
        "n": "A",
        "a": {"n": 7, "f": 0.5, "e": 3, "b": "6162", "o": "x"},
    }


def test_files_are_merged_in_the_order_of_time(tmp_path: Path) -> None:
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for path, times in ((a, (1, 5, 9)), (b, (2, 5, 7))):
        with path.open("w") as file:
            write = file_sink(file)
            for t in times:
                write(Event(t, path.stem, f"e{t}", {"text": "ü\n"}))
    events = trace.read([a, b])
    assert [(e.time_ns, e.process) for e in events] == [(1, "a"), (2, "b"), (5, "a"), (5, "b"), (7, "b"), (9, "a")]
    assert events[0].arguments == {"text": "ü\n"}
    assert trace.read([]) == []


def test_a_line_that_was_cut_off_is_dropped_and_a_bad_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    good = '{"t": 1, "p": "kernel", "n": "A", "a": {}}\n'
    path.write_text(good + good[:-10])
    assert len(trace.read([path])) == 1
    path.write_text("")
    assert trace.read([path]) == []
    for bad in ("{]\n", '{"t": 1}\n', "5\n"):
        path.write_text(good + bad + good)
        with pytest.raises(ValueError, match=rf"{path}:2: no trace event"):
            trace.read([path])
