"""The timeline: what happened, in which process, when.

A room that traces makes a :class:`Tracer` for its process and calls it with an event's name and arguments. Nothing is recorded,
and next to nothing spent, until :func:`start` gives a sink. Times are ``time.monotonic_ns`` (one clock for all processes of a
machine), or a simulated clock's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any


@dataclass(frozen=True, slots=True)
class Event:
    """One event. ``process`` is runtime, kernel, vgpu or client; ``name`` usually a WDDM entry point."""

    time_ns: int
    process: str
    name: str
    arguments: dict[str, Any]


Sink = Callable[[Event], None]
_sink: Sink | None = None
_clock: Callable[[], int] = time.monotonic_ns


class Tracer:
    """Records events of one process. Calling it when tracing is off costs one test; guard hot places with ``enabled``."""

    __slots__ = ("process",)

    def __init__(self, process: str) -> None:
        self.process = process

    @property
    def enabled(self) -> bool:
        """Whether anybody listens."""
        return _sink is not None

    def __call__(self, name: str, **arguments: Any) -> None:
        if _sink is not None:
            _sink(Event(_clock(), self.process, name, arguments))


def start(sink: Sink, *, clock: Callable[[], int] | None = None) -> None:
    """Send events to ``sink`` from now on. Only one sink at a time: starting twice is an error."""
    global _sink, _clock
    if _sink is not None:
        raise RuntimeError("tracing is on already")
    _clock = clock or time.monotonic_ns
    _sink = sink


def stop() -> None:
    """Record nothing more."""
    global _sink, _clock
    _sink, _clock = None, time.monotonic_ns


def file_sink(file: IO[str]) -> Sink:
    """A sink that writes one JSON object per line, at once, so that a killed process loses nothing."""

    def write(event: Event) -> None:
        record = {"t": event.time_ns, "p": event.process, "n": event.name, "a": event.arguments}
        file.write(json.dumps(record, default=_plain) + "\n")
        file.flush()

    return write


def _plain(value: Any) -> Any:
    """For JSON: numpy numbers as numbers, bytes in hexadecimal, anything else by its text."""
    if getattr(value, "ndim", None) == 0:
        return value.item()
    return value.hex() if isinstance(value, (bytes, bytearray)) else str(value)


def read(paths: Iterable[Path]) -> list[Event]:
    """Merge trace files in the order of time. A last line that a killed process left half-written is dropped.

    Raises ValueError for a line that is no event, with its place.
    """
    events = []
    for path in paths:
        *lines, _cut_off = path.read_text().split("\n")
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                events.append(Event(record["t"], record["p"], record["n"], record["a"]))
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"{path}:{number}: no trace event: {line[:80]}") from None
    return sorted(events, key=lambda event: event.time_ns)
