"""Threads that run generated code beside the caller. ctypes lets go of the interpreter lock, so they really run at once."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Workers:
    """``threads - 1`` sleeping helpers; :meth:`run` wakes them, joins in as thread 0 and returns when all are done."""

    def __init__(self, threads: int) -> None:
        self._work: Callable[[int], object] | None = None
        self._start = [threading.Semaphore(0) for _ in range(threads - 1)]
        self._done = threading.Semaphore(0)
        for index, start in enumerate(self._start):
            threading.Thread(target=self._loop, args=(index + 1, start), daemon=True, name=f"vgpu-{index + 1}").start()

    def _loop(self, index: int, start: threading.Semaphore) -> None:
        while True:
            start.acquire()
            work = self._work
            if work is None:
                return
            work(index)
            self._done.release()

    def run(self, work: Callable[[int], object]) -> None:
        """``work(thread)`` on every thread."""
        self._work = work
        for start in self._start:
            start.release()
        work(0)
        for _ in self._start:
            self._done.acquire()

    def close(self) -> None:
        """End the helpers."""
        self._work = None
        for start in self._start:
            start.release()
        self._start = []
