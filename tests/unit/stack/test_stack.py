"""Starting and ending a stack, with processes that do as they are told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

import wddm.stack
from wddm.stack import StackError, StackOptions, open_stack
from wddm.wire.address import Address
from wddm.wire.transport import Listener, connect

NAMES = ("vgpu", "kernel", "runtime")


class Fakes:
    """The directory that the fakes are in."""

    def __init__(self, where: Path) -> None:
        self.where = where
        source = Path(__file__).with_name("fake_process.py").read_text()
        for name in NAMES:
            (where / f"{name}.py").write_text(source)
            self.do(name, "serve")

    def do(self, name: str, *what: str | int) -> None:
        """What a process does."""
        (self.where / f"{name}.do").write_text(" ".join(map(str, what)))

    def said(self, name: str) -> Any:
        """What it was started with."""
        return json.loads((self.where / f"{name}.said").read_text())


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    where = tmp_path / "fakes"
    where.mkdir()
    repository = str(Path(wddm.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [repository, os.environ.get("PYTHONPATH")])))
    monkeypatch.chdir(where)  # "python -m" looks here first
    return Fakes(where)


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def wait_ended(pid: int) -> None:
    """For a process that is no child of ours."""
    with trio.fail_after(20):
        try:
            number = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        await trio.lowlevel.wait_readable(number)
        os.close(number)


# ----- a life without trouble -------------------------------------------------------------------------------------------------


async def test_a_stack_starts_serves_and_leaves_nothing(fakes: Fakes, capfd: pytest.CaptureFixture[str]) -> None:
    before = open_descriptors()
    async with open_stack(vram=1 << 20, size=(64, 48), refresh=59.94005994, threads=3, kernel_arguments=["--log-level", "error"]) as stack:
        run_dir = stack.run_dir
        assert sorted(p.name for p in run_dir.glob("*.sock")) == [f"{n}.sock" for n in sorted(NAMES)]
        for name in NAMES:
            transport = await connect(stack.addresses[name])
            transport.close()
        vgpu = fakes.said("vgpu")["arguments"]
        assert [vgpu[vgpu.index(o) + 1] for o in ("--vram", "--size", "--refresh", "--threads")] == [
            "1048576",
            "64x48",
            "59.94005994",
            "3",
        ]
        assert "error" in fakes.said("kernel")["arguments"]
        for name, upstream in (("kernel", "vgpu"), ("runtime", "kernel")):
            arguments = fakes.said(name)["arguments"]
            assert arguments[arguments.index("--connect") + 1] == str(stack.addresses[upstream])
        pids = [child.pid for child in stack.children.values()]
        assert all(fakes.said(name)["session"] == stack.children[name].pid for name in NAMES)  # no Ctrl-C but ours
        assert stack.failure is None
        assert stack.address == f"unix:{run_dir}/runtime.sock"
        assert stack.tcp is None
    assert all(child.process.returncode == 0 for child in stack.children.values())
    assert all(map(ended, pids))
    assert not run_dir.exists()
    assert open_descriptors() == before
    assert capfd.readouterr() == ("", "")


async def test_two_stacks_live_side_by_side(fakes: Fakes) -> None:
    async with open_stack() as one, open_stack(tcp=Address(host="127.0.0.1")) as two:
        assert one.run_dir != two.run_dir
        assert not {c.pid for c in one.children.values()} & {c.pid for c in two.children.values()}
        assert two.tcp is not None
        assert two.tcp.port > 0
        (await connect(two.tcp)).close()
    assert one.failure is two.failure is None


async def test_traces_go_where_they_are_wanted(fakes: Fakes, tmp_path: Path) -> None:
    async with open_stack(trace_dir=tmp_path / "a" / "traces"):
        pass
    assert sorted(p.name for p in (tmp_path / "a" / "traces").iterdir()) == ["kernel.jsonl", "runtime.jsonl", "vgpu.jsonl"]


async def test_a_run_directory_of_ones_own_is_private_and_left_empty(fakes: Fakes, tmp_path: Path) -> None:
    run_dir = tmp_path / "deep" / "run"
    async with open_stack(StackOptions(run_dir=run_dir)):
        assert run_dir.stat().st_mode & 0o777 == 0o700
    assert list(run_dir.iterdir()) == []


async def test_what_dead_processes_left_is_replaced(fakes: Fakes, tmp_path: Path) -> None:
    for name in NAMES:
        Listener.open(Address(path=str(tmp_path / f"{name}.sock"))).release()
    async with open_stack(run_dir=tmp_path) as stack:
        (await connect(stack.addresses["kernel"])).close()


# ----- what the body raises ---------------------------------------------------------------------------------------------------


async def test_what_the_body_raises_comes_out_as_it_is(fakes: Fakes) -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_stack() as stack:
            raise ZeroDivisionError
    assert all(child.process.returncode == 0 for child in stack.children.values())


async def test_a_cancelled_body_still_ends_the_processes(fakes: Fakes) -> None:
    with trio.CancelScope() as scope:
        async with open_stack() as stack:
            scope.cancel()
            await trio.sleep_forever()
    assert all(child.process.returncode == 0 for child in stack.children.values())


# ----- starts that fail ---------------------------------------------------------------------------------------------------------


async def refused(**settings: Any) -> str:
    """The sentence of a stack that does not start."""
    before = open_descriptors()
    with pytest.raises(StackError) as info:
        async with open_stack(**settings):
            pass
    assert open_descriptors() == before
    return str(info.value)


@pytest.mark.parametrize("name", NAMES)
async def test_a_process_that_does_not_start_is_named_with_its_words(fakes: Fakes, name: str, tmp_path: Path) -> None:
    fakes.do(name, "fail", "no", "pixels", "left")
    why = await refused(run_dir=tmp_path)
    assert why == f"{name} (process {fakes.said(name)['pid']}) exited with status 1: {name}: no pixels left"
    assert not list(tmp_path.glob("*.sock"))


async def test_of_bad_options_only_the_last_line_is_told(fakes: Fakes, capfd: pytest.CaptureFixture[str]) -> None:
    why = await refused(vgpu_arguments=["--threads", "many"])
    assert why.endswith("exited with status 2: python -m vgpu: error: argument --threads: invalid int value: 'many'")
    assert "usage: python -m vgpu" in capfd.readouterr().err
    with pytest.raises(TypeError, match="colour"):
        await refused(colour="red")


async def test_a_module_that_is_not_there_is_told(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    (fakes.where / "kernel.py").write_text("raise SystemExit('no kernel here')")
    assert "kernel (process" in (why := await refused())
    assert why.endswith("exited with status 1: no kernel here")


async def test_a_process_that_does_not_serve_in_time_is_told(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wddm.stack, "START_TIMEOUT", 0.5)
    fakes.do("kernel", "silent")
    fakes.do("runtime", "silent")
    assert await refused() in (
        "kernel and runtime did not serve within 0.5 s",
        "vgpu and kernel and runtime did not serve within 0.5 s",  # a slow machine
    )


async def test_another_process_failing_is_noticed_while_one_is_waited_for(fakes: Fakes) -> None:
    fakes.do("vgpu", "silent")
    fakes.do("runtime", "exit", 3, "no", "luck")
    with trio.fail_after(20):
        why = await refused()
    assert why.startswith("runtime (process")
    assert why.endswith("exited with status 3: no | luck")


async def test_an_address_in_use_is_told_and_left_alone(fakes: Fakes, tmp_path: Path) -> None:
    listener = Listener.open(Address(path=str(tmp_path / "kernel.sock")))
    assert await refused(run_dir=tmp_path) == f"cannot listen on unix:{tmp_path}/kernel.sock: another process serves it"
    assert [p.name for p in tmp_path.glob("*.sock")] == ["kernel.sock"]
    (await connect(listener.address)).close()
    listener.close()
    taken = Listener.open(Address(host="127.0.0.1"))
    assert await refused(tcp=taken.address) == f"cannot listen on {taken.address}: Address already in use"
    taken.close()


async def test_a_second_stack_in_the_same_place_does_the_first_no_harm(fakes: Fakes, tmp_path: Path) -> None:
    async with open_stack(run_dir=tmp_path) as first:
        assert "another process serves it" in await refused(run_dir=tmp_path)
        for name in NAMES:
            (await connect(first.addresses[name])).close()
        assert first.failure is None


async def test_directories_that_cannot_be_are_told(fakes: Fakes, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert await refused(run_dir=tmp_path / "file" / "x") == f"cannot make {tmp_path}/file/x: Not a directory"
    assert (await refused(trace_dir=tmp_path / "file")).startswith(f"cannot make {tmp_path}/file: File exists")
    assert "AF_UNIX path too long" in await refused(run_dir=tmp_path / ("x" * 100))


# ----- processes that die -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
async def test_a_killed_process_is_named(fakes: Fakes, name: str) -> None:
    fakes.do(name, "talk")
    async with open_stack() as stack:
        victim = stack.children[name]
        os.kill(victim.pid, signal.SIGKILL)
        with trio.fail_after(20):
            assert await stack.wait_failed() == f"{name} (process {victim.pid}) was killed by SIGKILL: out of pixels"
    assert [c.process.returncode for c in stack.children.values()] == [-9 if n == name else 0 for n in NAMES]


async def test_the_lowest_of_the_dead_is_named_whoever_is_noticed_first(fakes: Fakes) -> None:
    """A process takes those above it along, and they may be found dead before it."""
    async with open_stack() as stack:
        for name in NAMES:
            os.kill(stack.children[name].pid, signal.SIGKILL)
            os.waitid(os.P_PID, stack.children[name].pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - nothing may run meanwhile
        with trio.fail_after(20):
            assert (await stack.wait_failed()).startswith("vgpu ")


@pytest.mark.parametrize(
    ("what", "how"),
    [
        (("killed", int(signal.SIGRTMIN) + 2), f"was killed by signal {int(signal.SIGRTMIN) + 2}"),
        (("killed", int(signal.SIGSEGV)), "was killed by SIGSEGV"),
        (("half", "no", "newline"), "exited with status 5: no newline"),
        (("orphan",), "exited with status 6"),
    ],
)
async def test_every_end_has_words(fakes: Fakes, what: tuple[str | int, ...], how: str) -> None:
    fakes.do("vgpu", *what)
    assert (await refused()).endswith(how)


async def test_what_a_process_says_is_passed_on(fakes: Fakes, capfd: pytest.CaptureFixture[str]) -> None:
    fakes.do("runtime", "talk")
    async with open_stack() as stack:
        os.kill(stack.children["runtime"].pid, signal.SIGTERM)
        with trio.fail_after(20):
            await stack.wait_failed()
    assert capfd.readouterr().err == "out of pixels\n"


async def test_a_process_that_does_not_listen_is_killed(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wddm.stack, "STOP_TIMEOUT", 0.2)
    fakes.do("kernel", "deaf")
    async with open_stack() as stack:
        pass
    assert [c.process.returncode for c in stack.children.values()] == [0, -9, 0]
    assert stack.failure is None


async def test_when_the_parent_is_killed_its_processes_end(fakes: Fakes, tmp_path: Path) -> None:
    program = (
        "import trio, wddm.stack\n"
        "async def main():\n"
        f"    async with wddm.stack.open_stack(run_dir=wddm.stack.Path({str(tmp_path)!r})):\n"
        "        print('serving', flush=True)\n"
        "        await trio.sleep_forever()\n"
        "trio.run(main)\n"
    )
    parent = await trio.lowlevel.open_process([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    async with parent.stdout:
        try:
            with trio.fail_after(30):
                assert await parent.stdout.receive_some()
            pids = [fakes.said(name)["pid"] for name in NAMES]
            assert not any(map(ended, pids))
        finally:
            parent.kill()
            await parent.wait()
    for pid in pids:
        await wait_ended(pid)


# ----- as an iterator of commands ---------------------------------------------------------------------------------------------


def test_no_command_line_names_what_was_not_asked_for() -> None:
    lines: Callable[[StackOptions], dict[str, list[str]]] = wddm.stack._command_lines
    assert "--threads" not in lines(StackOptions())["vgpu"]
    assert lines(StackOptions(runtime_arguments=["--x"]))["runtime"] == ["--x"]
