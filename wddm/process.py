"""What the processes of the stack have in common: options, readiness, signals, clean ends.

A main is an async function that gets the parsed options, opens its listeners and calls :func:`announce` when it serves. It ends
by a signal, by the end of its parent (``--lifeline``), or with one sentence on stderr and status 1 for expected failures.
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import trio

from wddm import trace
from wddm.wire.address import Address
from wddm.wire.transport import Listener


class ProcessError(Exception):
    """An expected failure: its text is what the person reads."""


def address(text: str) -> Address:
    """For argparse: an address, or a message that tells what is wrong."""
    try:
        return Address.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def size(text: str) -> int:
    """For argparse: bytes, with K, M or G for powers of 1024."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    number, factor = (text[:-1], units[text[-1:].upper()]) if text[-1:].upper() in units else (text, 1)
    try:
        value = int(number) * factor
    except ValueError:
        value = 0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r}: a size is a number of bytes such as 268435456, 256M or 1G")
    return value


def resolution(text: str) -> tuple[int, int]:
    """For argparse: WIDTHxHEIGHT."""
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal() and 0 < int(width) <= 16384 and 0 < int(height) <= 16384):
        raise argparse.ArgumentTypeError(f"{text!r}: a size is WIDTHxHEIGHT, each up to 16384, such as 1280x720")
    return int(width), int(height)


def parser(name: str, description: str, *, connects_to: str | None) -> argparse.ArgumentParser:
    """A parser with the common options; add the process's own."""
    p = argparse.ArgumentParser(prog=f"python -m {name}", description=description)
    p.add_argument(
        "--listen",
        type=address,
        action="append",
        required=True,
        metavar="ADDRESS",
        help="serve here: unix:PATH or tcp:HOST:PORT (may be given several times)",
    )
    if connects_to is not None:
        p.add_argument("--connect", type=address, required=True, metavar="ADDRESS", help=f"where {connects_to} serves")
    p.add_argument("--trace", type=Path, metavar="FILE", help="write the timeline of this process here, one JSON object a line")
    p.add_argument("--log-level", default="warning", choices=["debug", "info", "warning", "error"], help="default: warning")
    p.add_argument("--lifeline", type=int, metavar="FD", help=argparse.SUPPRESS)
    return p


def first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error inside groups of groups."""
    error = group.exceptions[0]
    return first(error) if isinstance(error, BaseExceptionGroup) else error


def open_listeners(addresses: Sequence[Address]) -> list[Listener]:
    """Listen on all, or raise ProcessError."""
    opened: list[Listener] = []
    try:
        for where in addresses:
            opened.append(Listener.open(where))
    except OSError as error:
        for listener in opened:
            listener.close()
        raise ProcessError(error.strerror or str(error)) from None
    return opened


def announce(name: str, listeners: Sequence[Listener]) -> None:
    """Tell people and parents that the process serves."""
    for listener in listeners:
        print(f"{name}: listening on {listener.address}", file=sys.stderr, flush=True)


def run(name: str, options: argparse.Namespace, main: Callable[[argparse.Namespace], Awaitable[None]]) -> int:
    """Run ``main`` until it ends or is told to; returns the exit status."""
    logging.basicConfig(level=options.log_level.upper(), format=f"{name}: %(levelname)s: %(message)s", stream=sys.stderr)
    # What start-up made stays: the collector need not look at it again, and pauses stay short.
    gc.collect()
    gc.freeze()
    try:
        if options.trace is None:
            return _run(name, options, main)
        with options.trace.open("w") as file:
            trace.start(trace.file_sink(file))
            try:
                return _run(name, options, main)
            finally:
                trace.stop()
    except OSError as error:
        print(f"{name}: {error.strerror}: {error.filename}" if error.filename else f"{name}: {error}", file=sys.stderr)
        return 1


def _run(name: str, options: argparse.Namespace, main: Callable[[argparse.Namespace], Awaitable[None]]) -> int:
    status = 0

    async def supervised() -> None:
        nonlocal status
        async with trio.open_nursery() as nursery:
            await nursery.start(_end_on_signal, nursery.cancel_scope)
            if options.lifeline is not None:
                nursery.start_soon(_end_with_parent, options.lifeline, nursery.cancel_scope)
            await main(options)
            nursery.cancel_scope.cancel()

    try:
        trio.run(supervised, strict_exception_groups=True)
    except* ProcessError as group:
        for error in _leaves(group):
            print(f"{name}: {error}", file=sys.stderr, flush=True)
        status = 1
    return status


def _leaves(group: BaseExceptionGroup[ProcessError]) -> list[ProcessError]:
    found: list[ProcessError] = []
    for error in group.exceptions:
        found.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return found


async def _end_on_signal(
    scope: trio.CancelScope, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """The first signal ends the process in good order; a second one, while it does, at once."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()
            return


async def _end_with_parent(fd: int, scope: trio.CancelScope) -> None:
    """The parent holds the other end of a pipe: it is at its end when the parent is gone, however it went."""
    os.set_blocking(fd, False)
    await trio.lowlevel.wait_readable(fd)
    scope.cancel()
