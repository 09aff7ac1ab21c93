"""Starting a stack: virtual GPU, kernel and runtime as child processes, joined by unix sockets in a run directory.

The parent binds all sockets first and hands them down, so that the three processes start side by side and connect without
retrying. Each child holds the read end of a pipe and ends when the parent is gone, however it went.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import trio

from wddm.nursery import body_nursery
from wddm.run_directory import private_directory
from wddm.wire.address import Address
from wddm.wire.transport import Listener

if TYPE_CHECKING:
    from wddm.client.gpu import Gpu

#: Seconds that a process may take to serve, and to end when asked to.
START_TIMEOUT: Final = 60.0
STOP_TIMEOUT: Final = 5.0
#: Seconds that the last words of a dead process are waited for, which somebody else may keep open.
LAST_WORDS_TIMEOUT: Final = 1.0
#: What executes draws when nobody says.
DEFAULT_ENGINE: Final = "llvm"
#: The processes from the bottom of the stack to its top, and whom each connects to.
_UPSTREAM: Final = {"vgpu": None, "kernel": "vgpu", "runtime": "kernel"}


class StackError(Exception):
    """A process of the stack did not start, or died. The text tells which, how, and its last words."""


@dataclass(frozen=True, slots=True)
class StackOptions:
    """How to start a stack. Sizes in bytes, ``size`` in pixels, ``refresh`` in Hz."""

    vram: int = 256 << 20
    aperture: int = 1 << 30
    size: tuple[int, int] = (1280, 720)
    refresh: float = 60.0
    engine: str = DEFAULT_ENGINE
    threads: int | None = None
    tcp: Address | None = None  #: runtime serves here too
    run_dir: Path | None = None  #: default: a fresh private directory that is removed at the end
    trace_dir: Path | None = None  #: one trace file a process
    log_level: str = "warning"
    vgpu_arguments: Sequence[str] = ()
    kernel_arguments: Sequence[str] = ()
    runtime_arguments: Sequence[str] = ()


@dataclass
class Child:
    """One process of the stack."""

    name: str
    process: trio.Process
    ready: trio.Event = field(default_factory=trio.Event)
    last_words: deque[str] = field(default_factory=lambda: deque(maxlen=20))
    silent: trio.Event = field(default_factory=trio.Event)  #: it can say nothing more
    stopping: bool = False

    @property
    def pid(self) -> int:
        """Process id."""
        return self.process.pid

    def hear(self, line: str) -> bool:
        """Take a line that it said; whether it is for people."""
        if line.startswith(f"{self.name}: listening on "):
            self.ready.set()
            return False
        self.last_words.append(line)
        return True

    def obituary(self) -> str:
        """How it ended, in words."""
        code = self.process.returncode
        if code is None:
            how = "is running"
        elif code < 0:
            how = f"was killed by {_signal_name(-code)}"
        else:
            how = f"exited with status {code}"
        # Of what argparse says, the last line tells what is wrong.
        wrong = [line for line in self.last_words if line.startswith(f"python -m {self.name}: error: ")]
        words = " | ".join(wrong or self.last_words)
        return f"{self.name} (process {self.pid}) {how}" + (f": {words}" if words else "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


class Stack:
    """A running stack. ``address`` is where clients connect."""

    def __init__(self, options: StackOptions, run_dir: Path) -> None:
        self.options = options
        self.run_dir = run_dir
        self.children: dict[str, Child] = {}
        self.addresses: dict[str, Address] = {
            name: Address(path=str(run_dir / f"{name}.sock")) for name in _UPSTREAM
        }
        #: Where clients reach the runtime over TCP, when asked for; its port is the one that was found for port 0.
        self.tcp: Address | None = None
        self.failure: str | None = None
        self._failed = trio.Event()
        self._sockets: list[Path] = []  # that we bound

    @property
    def address(self) -> str:
        """The runtime's address, ``unix:PATH``."""
        return str(self.addresses["runtime"])

    async def wait_failed(self) -> str:
        """Wait until a process dies that should not; returns the sentence that tells it."""
        await self._failed.wait()
        assert self.failure is not None
        return self.failure

    def _fail(self, why: str) -> None:
        if self.failure is None:
            self.failure = why
            self._failed.set()
        for child in self.children.values():
            child.ready.set()

    def _ended(self, child: Child) -> None:
        """A process has ended. One that dies takes those above it along: the lowest of the dead tells how."""
        for other in self.children.values():
            if other is child:
                self._fail(child.obituary())
                return
            if other.process.returncode is not None and not other.stopping:
                return  # its own end is noticed as well


@contextlib.asynccontextmanager
async def open_stack(options: StackOptions | None = None, **settings: Any) -> AsyncIterator[Stack]:
    """Start a stack, and stop it at the end. ``settings`` are fields of :class:`StackOptions`. Raises StackError."""
    options = StackOptions(**settings) if options is None else options
    with contextlib.ExitStack() as cleanup:
        try:
            if options.run_dir is None:
                run_dir = cleanup.enter_context(private_directory())
            else:
                run_dir = options.run_dir
                run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            if options.trace_dir is not None:
                options.trace_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StackError(f"cannot make {error.filename}: {error.strerror}") from None
        lifeline, held = os.pipe()
        cleanup.callback(os.close, held)  # when everybody has ended
        stack = Stack(options, run_dir)
        async with body_nursery(lambda: _stop(stack)) as nursery:
            await _start(stack, nursery, lifeline)
            yield stack


def _command_lines(options: StackOptions) -> dict[str, list[str]]:
    width, height = options.size
    vgpu = ["--vram", str(options.vram), "--aperture", str(options.aperture), "--size", f"{width}x{height}"]
    vgpu += ["--refresh", str(options.refresh), "--engine", options.engine]
    if options.threads is not None:
        vgpu += ["--threads", str(options.threads)]
    return {
        "vgpu": [*vgpu, *options.vgpu_arguments],
        "kernel": list(options.kernel_arguments),
        "runtime": list(options.runtime_arguments),
    }


async def _start(stack: Stack, nursery: trio.Nursery, lifeline: int) -> None:
    listeners: dict[str, list[Listener]] = {}
    try:
        try:
            for name, where in stack.addresses.items():
                listeners[name] = [Listener.open(where)]
                stack._sockets.append(Path(str(where.path)))
            if stack.options.tcp is not None:
                listeners["runtime"].append(Listener.open(stack.options.tcp))
                stack.tcp = listeners["runtime"][-1].address
        except OSError as error:
            raise StackError(error.strerror or str(error)) from None
        for name in stack.addresses:
            stack.children[name] = child = Child(name, await _spawn(stack, name, listeners[name], lifeline))
            nursery.start_soon(_watch, stack, child)
    finally:
        os.close(lifeline)
        for group in listeners.values():
            for listener in group:
                listener.release()
    with trio.move_on_after(START_TIMEOUT) as scope:
        for child in stack.children.values():
            await child.ready.wait()
            if stack.failure is not None:
                raise StackError(stack.failure)
    if scope.cancelled_caught:
        waiting = [c.name for c in stack.children.values() if not c.ready.is_set()]
        raise StackError(f"{' and '.join(waiting)} did not serve within {START_TIMEOUT:g} s")


async def _spawn(stack: Stack, name: str, listeners: Sequence[Listener], lifeline: int) -> trio.Process:
    options, fds = stack.options, [listener.detach_for() for listener in listeners]
    command = [sys.executable, "-m", name, *_command_lines(options)[name], "--log-level", options.log_level]
    command += ["--lifeline", str(lifeline)]
    for fd in fds:
        command += ["--listen", f"fd:{fd}"]
    upstream = _UPSTREAM[name]
    if upstream is not None:
        command += ["--connect", str(stack.addresses[upstream])]
    if options.trace_dir is not None:
        command += ["--trace", str(options.trace_dir / f"{name}.jsonl")]
    return await trio.lowlevel.open_process(
        command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(lifeline, *fds),
        start_new_session=True,  # Ctrl-C is for us; we end them in order
    )


async def _watch(stack: Stack, child: Child) -> None:
    """Read what a process says; notice its end. Goes on until then: nobody may write into a pipe that nobody reads."""
    with trio.CancelScope(shield=True):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_listen, child)
            await child.process.wait()
            with trio.move_on_after(LAST_WORDS_TIMEOUT):
                await child.silent.wait()
            nursery.cancel_scope.cancel()
    if not child.stopping:
        stack._ended(child)


async def _listen(child: Child) -> None:
    stream = child.process.stderr
    assert stream is not None
    rest = b""
    async with stream:
        async for chunk in stream:
            *lines, rest = (rest + chunk).split(b"\n")
            _hear(child, lines)
    _hear(child, [rest] if rest else [])
    child.silent.set()


def _hear(child: Child, lines: Sequence[bytes]) -> None:
    for line in lines:
        text = line.decode(errors="replace")
        if child.hear(text):
            print(text, file=sys.stderr, flush=True)


async def _stop(stack: Stack) -> None:
    """End the processes from the top of the stack to the bottom; kill what does not end in time."""
    for child in reversed(stack.children.values()):
        if child.process.returncode is not None:
            continue
        child.stopping = True
        child.process.send_signal(signal.SIGTERM)
        with trio.move_on_after(STOP_TIMEOUT):
            await child.process.wait()
        if child.process.returncode is None:
            child.process.kill()
            await child.process.wait()
    for socket in stack._sockets:  # of those that could not take them away
        socket.unlink(missing_ok=True)


@contextlib.asynccontextmanager
async def launch(*, progress: Callable[[str], None] | None = None, **settings: Any) -> AsyncIterator[Gpu]:
    """A private stack and a connection to it: ``async with wddm.launch() as gpu: …``.

    ``settings`` are fields of :class:`StackOptions` (``vram``, ``size``, ``refresh``, ``engine``, …). Raises StackError.
    """
    from wddm.client.gpu import connect

    if progress is not None:
        progress("starting virtual GPU, kernel and runtime")
    async with open_stack(**settings) as stack, connect(stack.address) as gpu:
        gpu.stack = stack
        yield gpu
