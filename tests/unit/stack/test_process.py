"""What the processes have in common: options in words, expected failures in one sentence, clean ends by signal and lifeline."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

import wddm
from wddm import process
from wddm.process import ProcessError, announce, open_listeners, parser, resolution, size
from wddm.wire.address import Address

# ----- options ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "value"), [("1", 1), ("4096", 4096), ("3K", 3072), ("2m", 2 << 20), ("1G", 1 << 30)])
def test_sizes(text: str, value: int) -> None:
    assert size(text) == value


@pytest.mark.parametrize("text", ["", "G", "0", "-1", "-1G", "1.5G", "lots", "1T", "1 0x"])
def test_what_is_no_size_is_told_with_an_example(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="a size is a number of bytes such as 268435456, 256M or 1G"):
        size(text)


def test_resolutions() -> None:
    assert resolution("1280x720") == (1280, 720)
    for text in ("", "x", "1280", "0x5", "5x0", "-1x5", "20000x5", "1280x720x3", "1280X720"):
        with pytest.raises(argparse.ArgumentTypeError, match="WIDTHxHEIGHT"):
            resolution(text)


def test_common_options(capsys: pytest.CaptureFixture[str]) -> None:
    p = parser("kernel", "the kernel", connects_to="the virtual GPU")
    options = p.parse_args(["--listen", "unix:/a", "--listen", "tcp:h:1", "--connect", "unix:/b", "--trace", "t.jsonl"])
    assert options.listen == [Address(path="/a"), Address(host="h", port=1)]
    assert (options.connect, options.trace, options.log_level, options.lifeline) == (Address(path="/b"), Path("t.jsonl"), "warning", None)
    for wrong, said in (
        (["--listen", "ftp:x", "--connect", "unix:/b"], "an address is unix:PATH or tcp:HOST:PORT"),
        (["--listen", "unix:/a"], "--connect"),
        (["--connect", "unix:/b"], "--listen"),
        (["--listen", "unix:/a", "--connect", "unix:/b", "--log-level", "loud"], "invalid choice"),
    ):
        with pytest.raises(SystemExit) as info:
            p.parse_args(wrong)
        assert info.value.code == 2
        assert said in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parser("vgpu", "hardware", connects_to=None).parse_args(["--help"])
    said = capsys.readouterr().out
    assert "--connect" not in said
    assert "--lifeline" not in said


async def test_listeners_are_opened_all_or_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = Address(path=str(tmp_path / "a.sock")), Address(path=str(tmp_path / "no" / "b.sock"))
    with pytest.raises(ProcessError, match=r"^cannot listen on unix:.*/no/b\.sock: No such file or directory$"):
        open_listeners([good, bad])
    assert not list(tmp_path.glob("*.sock"))
    listeners = open_listeners([good, Address(host="127.0.0.1")])
    announce("kernel", listeners)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"kernel: listening on {good}", f"kernel: listening on tcp:127.0.0.1:{listeners[1].address.port}"]
    for listener in listeners:
        listener.close()


def test_the_first_error_of_groups_of_groups() -> None:
    inner, other = ValueError(), KeyError()
    assert process.first(ExceptionGroup("", [ExceptionGroup("", [inner]), other])) is inner


# ----- running ----------------------------------------------------------------------------------------------------------------

PROGRAM = """
import argparse, sys, trio
from wddm.process import ProcessError, parser, run
from wddm import trace
async def main(options):
    {body}
sys.exit(run("demo", parser("demo", "x", connects_to=None).parse_args(), main))
"""


@asynccontextmanager
async def running(body: str, *arguments: str, pass_fds: Sequence[int] = ()) -> AsyncIterator[trio.Process]:
    """A process with this main; it says "ready" when it gets there."""
    program = PROGRAM.format(body=body.replace("\n", "\n    "))
    repository = str(Path(wddm.__file__).parents[1])
    started = await trio.lowlevel.open_process(
        [sys.executable, "-c", program, "--listen", "unix:/unused", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": repository},
        pass_fds=pass_fds,
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


async def outcome(started: trio.Process) -> tuple[int, str]:
    """Status, and what it said on stderr."""
    assert started.stderr is not None
    with trio.fail_after(30):
        said = b"".join([chunk async for chunk in started.stderr])
        return await started.wait(), said.decode()


async def says(started: trio.Process, words: bytes) -> None:
    """Wait until it has said this."""
    assert started.stdout is not None
    said = b""
    with trio.fail_after(30):
        while words not in said:
            chunk = await started.stdout.receive_some()
            assert chunk, said
            said += chunk


async def ready(started: trio.Process) -> None:
    await says(started, b"ready\n")


FOREVER = "print('ready', flush=True)\nawait trio.sleep_forever()"


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("pass", 0, ""),
        ("raise ProcessError('no pixels left')", 1, "demo: no pixels left\n"),
        ("raise ExceptionGroup('', [ExceptionGroup('', [ProcessError('a')]), ProcessError('b')])", 1, "demo: a\ndemo: b\n"),
    ],
)
async def test_a_main_ends_with_a_status_and_at_most_a_sentence(body: str, status: int, said: str) -> None:
    async with running(body) as started:
        assert await outcome(started) == (status, said)


async def test_a_fault_of_ours_is_a_traceback() -> None:
    async with running("raise ExceptionGroup('', [ProcessError('expected'), ZeroDivisionError('ours')])") as started:
        status, said = await outcome(started)
    assert status == 1
    assert "demo: expected" in said
    assert "ZeroDivisionError: ours" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_a_process_in_good_order(number: signal.Signals) -> None:
    body = f"try:\n    {FOREVER.replace(chr(10), chr(10) + '    ')}\nfinally:\n    print('bye', file=sys.stderr)"
    async with running(body) as started:
        await ready(started)
        started.send_signal(number)
        assert await outcome(started) == (0, "bye\n")


async def test_a_second_signal_ends_it_at_once() -> None:
    body = "print('ready', flush=True)\ntry:\n    await trio.sleep_forever()\nfinally:\n    print('ending', flush=True)\n"
    body += "    with trio.CancelScope(shield=True):\n        await trio.sleep_forever()"
    async with running(body) as started:
        await ready(started)
        started.send_signal(signal.SIGTERM)
        await says(started, b"ending\n")
        started.send_signal(signal.SIGTERM)
        with trio.fail_after(30):
            assert await started.wait() == -signal.SIGTERM


async def test_a_process_ends_with_its_lifeline() -> None:
    read, write = os.pipe()
    async with running(FOREVER, "--lifeline", str(read), pass_fds=(read,)) as started:
        os.close(read)
        await ready(started)
        assert started.returncode is None
        os.close(write)
        assert await outcome(started) == (0, "")


async def test_a_trace_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    body = "trace.Tracer('demo')('Hello', number=5)"
    async with running(body, "--trace", str(tmp_path / "t.jsonl")) as started:
        assert await outcome(started) == (0, "")
    assert '"n": "Hello", "a": {"number": 5}' in (tmp_path / "t.jsonl").read_text()
    async with running(body, "--trace", str(tmp_path / "no" / "t.jsonl")) as started:
        assert await outcome(started) == (1, f"demo: No such file or directory: {tmp_path}/no/t.jsonl\n")
