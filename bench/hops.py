"""Where a round trip spends its time: client, runtime, kernel, virtual GPU, and the wake-ups between them.

Taken from the timelines (``wddm.trace``) of a run of its own, since writing them costs about as much as some of the steps; so the
shares tell more than the sums. The client's stamps are taken here, with the same clock.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from bench.figures import Figure
from bench.options import Options
from bench.scenes.library import Ours
from bench.timing import Loop
from wddm import trace
from wddm.stack import launch
from wddm.trace import Event

#: The steps in the order in which a submission takes them.
STEPS: Final = (
    "client: record, encode",
    "send, wake-up of the runtime",
    "runtime: validate, drive the UMD",
    "wake-up of the kernel",
    "kernel: render, patch, submit",
    "bus and virtual GPU",
    "fence seen by the client",
)
#: What the kernel does for interrupts lies beside the path of a submission.
_BESIDE: Final = ("DxgkDdiInterrupt", "DxgkCb", "DxgkDdiDpc")
_SUBMIT: Final = ("DxgkDdiSubmitCommand", "DxgkDdiSubmitCommandVirtual")
#: Cause bit of an interrupt that tells of a fence.
_FENCE_CAUSE: Final = 1
#: Seconds of quiet before each round trip, so that what follows the one before is over.
_QUIET: Final = 0.002


def split(events: Sequence[Event], began: int, sends: Sequence[int], ended: int) -> dict[str, float] | None:
    """Microseconds of each step of one round trip, from ``events`` in the order of time; stamps in nanoseconds.

    ``sends``: when the client handed bytes to its socket. None when a step left no event between ``began`` and ``ended``.
    """
    window = [e for e in events if began <= e.time_ns <= ended]
    runtime = [e.time_ns for e in window if e.process == "runtime"]
    kernel = [e for e in window if e.process == "kernel" and not e.name.startswith(_BESIDE)]
    submitted = [e.time_ns for e in kernel if e.name in _SUBMIT]
    if not runtime or not submitted:
        return None
    kernel_began, kernel_ended = kernel[0].time_ns, submitted[-1]
    handed_over = max((t for t in runtime if t <= kernel_began), default=runtime[0])
    done = [e.time_ns for e in events if e.process == "vgpu" and e.time_ns >= kernel_ended and _tells_fence(e)]
    # The fence is written before its interrupt is raised: a client that looks may see it first.
    finished = min(done[0], ended) if done else ended
    sent = max((t for t in sends if t <= runtime[0]), default=began)
    stamps = [began, sent, runtime[0], handed_over, kernel_began, kernel_ended, finished, ended]
    return {step: max(0, b - a) / 1e3 for step, a, b in zip(STEPS, stamps, stamps[1:], strict=False)}


def _tells_fence(event: Event) -> bool:
    cause = event.arguments.get("cause", 0)
    return event.name == "Interrupt" and isinstance(cause, int) and bool(cause & _FENCE_CAUSE)


async def measure(
    test: str, prepare: Callable[[Ours], Awaitable[Loop]], options: Options, rounds: int | None = None
) -> list[Figure]:
    """Run ``prepare``'s loop once at a time on a stack that traces; one figure a step, its share of the sum in the note."""
    windows: list[tuple[int, list[int], int]] = []
    with tempfile.TemporaryDirectory(prefix="wddm-bench-") as folder:
        async with launch(**options.stack(trace_dir=Path(folder))) as gpu:
            ours = await Ours.open(gpu)
            loop = await prepare(ours)
            sends = _stamp_sends(ours)
            await loop(5)
            until = time.monotonic() + options.pace.limit / 8
            for _ in range(rounds or options.pace.rounds // 2):
                quiet = time.perf_counter() + _QUIET
                while time.perf_counter() < quiet:  # busy, as an app between two frames: an idle machine wakes up slower
                    pass
                sends.clear()
                began = time.monotonic_ns()
                await loop(1)
                ended = time.monotonic_ns()
                windows.append((began, list(sends), ended))
                if ended > until * 1e9:
                    break
        events = trace.read([Path(folder, f"{name}.jsonl") for name in ("runtime", "kernel", "vgpu")])
    parts = [part for part in _split_all(events, windows) if part is not None]
    if not parts:
        return []
    medians = {step: statistics.median(part[step] for part in parts) for step in STEPS}
    total = sum(medians.values())
    figures = []
    for i, step in enumerate(STEPS, 1):
        share = f"{100 * medians[step] / total:3.0f} %  {step}"
        figures.append(Figure(f"{test}.hop{i}", "us traced", [part[step] for part in parts], "low", note=share))
    return figures


def _split_all(events: Sequence[Event], windows: Sequence[tuple[int, list[int], int]]) -> list[dict[str, float] | None]:
    """As :func:`split` for each window, looking at each event once."""
    found, start = [], 0
    for began, sends, ended in windows:
        while start < len(events) and events[start].time_ns < began:
            start += 1
        stop = start
        while stop < len(events) and events[stop].time_ns <= ended + 1_000_000:
            stop += 1
        found.append(split(events[start:stop], began, sends, ended))
    return found


def _stamp_sends(ours: Ours) -> list[int]:
    """A list that gets a stamp whenever the client is about to hand bytes to its socket."""
    stamps: list[int] = []
    transport = ours.device._session.channel.transport
    send = transport.send_nowait

    def stamped(data: bytes, descriptors: Sequence[int] = ()) -> tuple[bytes, Sequence[int]]:
        stamps.append(time.monotonic_ns())
        return send(data, descriptors)

    setattr(transport, "send_nowait", stamped)  # noqa: B010
    return stamps
