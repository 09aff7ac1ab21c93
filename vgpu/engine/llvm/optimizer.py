"""Optimisation in the background: a process that compiles one module after the other.

A process and not a thread, since LLVM calls of one process wait for each other here: the next shader's first picture must not.
It is started when there is a request, and ends with the engine or when it is idle; when it dies, what it worked on stays as it was
and the next request starts another.
"""

from __future__ import annotations

import contextlib
import queue
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Hashable
from typing import Final

from . import codegen

#: Requests that may wait. An IR text has tens of kilobytes.
WAITING: Final = 64
#: Seconds without a request after which the process ends.
IDLE: Final = 5.0

Child = subprocess.Popen[bytes]


class _Shared:
    """What the thread and the owner share; the thread keeps no owner alive."""

    def __init__(self, idle: float) -> None:
        self.idle = idle
        self.requests: queue.Queue[tuple[Hashable, str] | None] = queue.Queue(WAITING + 1)
        self.done: deque[tuple[Hashable, bytes | None]] = deque()
        self.lock = threading.Lock()
        self.child: Child | None = None
        self.closed = False

    def start(self) -> Child | None:
        """The running process; None after :meth:`close`. Raises OSError."""
        if self.child is not None and self.child.poll() is not None:
            self.end()
        with self.lock:
            if self.closed:
                return None
            if self.child is None:
                command = [sys.executable, "-P", codegen.__file__]
                # Our own error stream must end with us: who reads it wants to know when.
                self.child = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
                )
            return self.child

    def end(self) -> None:
        """End the process and take it in."""
        with self.lock:
            child, self.child = self.child, None
        if child is not None:
            child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout):
                assert stream is not None
                with contextlib.suppress(BrokenPipeError):  # of what it did not read any more
                    stream.close()

    def close(self) -> None:
        """Nothing is started or finished any more."""
        with self.lock:
            self.closed = True
            if self.child is not None:
                self.child.kill()  # wakes the thread if it reads; the thread takes the process in
        self.requests.put(None)

    def work(self) -> None:
        """The thread."""
        while (request := self.next()) is not None and not self.closed:
            token, ir = request
            self.done.append((token, self.ask(ir)))
            del request, token  # they do not outlive their owner by waiting here
            self.requests.task_done()
        self.end()

    def next(self) -> tuple[Hashable, str] | None:
        """The next request. The process ends when none comes for a while: others have a use for its memory."""
        try:
            return self.requests.get(timeout=self.idle)
        except queue.Empty:
            self.end()
            return self.requests.get()

    def ask(self, ir: str) -> bytes | None:
        """The object of ``ir``; None when there is none to get."""
        try:
            child = self.start()
            if child is None:
                return None
            assert child.stdin is not None
            assert child.stdout is not None
            codegen.write_message(child.stdin, ir.encode())
            image = codegen.read_message(child.stdout)
        except OSError:  # it cannot be started, or died
            image = None
        if image is None:
            self.end()
        return image or None


class Optimizer:
    """See the module docstring. :attr:`done` holds ``(token, object)`` of finished requests, with None for failed ones. Tokens must
    not keep the owner alive."""

    def __init__(self, *, idle: float = IDLE) -> None:
        self._shared = _Shared(idle)
        self.done = self._shared.done
        self.thread: threading.Thread | None = None
        self.close = weakref.finalize(self, self._shared.close)

    @property
    def full(self) -> bool:
        """Too many requests wait to take another."""
        return self._shared.requests.qsize() >= WAITING

    def want(self, token: Hashable, ir: str) -> None:
        """Ask for the object of ``ir`` at level FULL. Not while :attr:`full`."""
        if self.thread is None:
            self.thread = threading.Thread(target=self._shared.work, daemon=True, name="vgpu-optimizer")
            self.thread.start()
        self._shared.requests.put((token, ir))

    def wait(self) -> None:
        """Until all that was asked for is in :attr:`done`."""
        self._shared.requests.join()

    @property
    def process(self) -> Child | None:
        """The process, while there is one."""
        return self._shared.child
