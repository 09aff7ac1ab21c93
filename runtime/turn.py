"""One at a time, in order of arrival: how a device's calls enter a driver that is not free-threaded.

A call that ends at once costs a test. While one waits for the kernel, those behind it wait in line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

import trio


class Turn:
    """The line in front of one driver device."""

    __slots__ = ("_busy", "_waiting")

    def __init__(self) -> None:
        self._busy = False
        self._waiting: deque[trio.Event] = deque()

    def enter(self, call: Callable[[], Any]) -> Any:
        """Call ``call`` now, or when those before are done. Returns its result, or an awaitable of it."""
        if self._busy:
            event = trio.Event()
            self._waiting.append(event)
            return self._later(event, call)
        self._busy = True
        try:
            result = call()
        except BaseException:
            self._leave()
            raise
        if isawaitable(result):
            return self._finish(result)
        self._leave()
        return result

    async def _later(self, event: trio.Event, call: Callable[[], Any]) -> Any:
        try:
            await event.wait()
        except BaseException:
            if event.is_set():
                self._leave()
            else:
                self._waiting.remove(event)
            raise
        try:
            result = call()
            return await result if isawaitable(result) else result
        finally:
            self._leave()

    async def _finish(self, result: Awaitable[Any]) -> Any:
        try:
            return await result
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()  # stays busy: it is the next one's turn
        else:
            self._busy = False
