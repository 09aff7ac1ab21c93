"""Runs ours and the peers alternately in one session, each group of workloads in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.figures import Figure, failed
from bench.options import Options, progress
from bench.processes import Others
from bench.scenes import GROUPS

from . import install as installation
from .compare import OURS, Comparison, Record

#: For every peer: no hardware, no shaders compiled in an earlier run.
COMMON: Final = {"LIBGL_ALWAYS_SOFTWARE": "1", "MESA_SHADER_CACHE_DISABLE": "true"}
VTEST_SERVER: Final = "virgl_test_server"
#: Where Mesa's client looks for the server; it cannot be told otherwise.
VTEST_SOCKET: Final = "/tmp/.virgl_test"
#: Seconds that a group of workloads, and the start of the server, may take.
GROUP_LIMIT: Final = 900.0
SERVER_LIMIT: Final = 10.0


@dataclass(frozen=True)
class Peer:
    """A driver, and the environment that chooses it."""

    name: str
    api: str
    environment: dict[str, str] = field(default_factory=dict)


def peers() -> tuple[Peer, ...]:
    """All that are known."""
    driver = str(installation.swiftshader_driver())
    return (
        Peer("llvmpipe", "gl", {"GALLIUM_DRIVER": "llvmpipe"}),
        Peer("vtest", "gl", {"GALLIUM_DRIVER": "virpipe"}),
        Peer("lavapipe", "wgpu"),
        Peer("swiftshader", "wgpu", {"VK_ICD_FILENAMES": driver, "VK_DRIVER_FILES": driver}),
    )


class NotThereError(Exception):
    """A peer that cannot run here; the text tells why."""


@dataclass
class Result:
    """What :func:`measure` found."""

    comparison: Comparison
    trouble: str | None = None
    missing: list[str] = field(default_factory=list)

    def text(self) -> str:
        """For people."""
        return "\n".join([self.comparison.text(), *(f"  not measured: {why}" for why in self.missing)])

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {**self.comparison.to_json(), "missing": self.missing}


def measure(options: Options, names: Sequence[str] = (), *, install: bool = True, keep: Path | None = None) -> Result:
    """Install the peers (unless told not to), run everything ``options.runs`` times, compare. ``names``: these peers only."""
    known = {peer.name: peer for peer in peers()}
    for name in names:
        if name not in known:
            return Result(Comparison([]), f"there is no peer {name!r}; there are {', '.join(known)}")
    missing = installation.install() if install else []
    there = []
    for peer in [known[name] for name in names or known]:
        try:
            _probe(peer)
            there.append(peer)
        except NotThereError as error:
            missing.append(f"{peer.name}: {error}")
    for why in missing:
        progress(why)
    groups = [group for group in GROUPS if options.wants(*_tests(group))]
    records: list[Record] = []
    trouble = None
    try:
        for run in range(options.runs):
            for group in groups:
                sides: list[Peer | None] = [None, *there]
                turn = run % len(sides)  # nobody always runs first, after the machine was at rest
                for side in sides[turn:] + sides[:turn]:
                    found = _group(side, group, run, options)
                    records += found
                    if keep is not None:
                        with keep.open("a") as file:
                            file.writelines(json.dumps(record.to_json()) + "\n" for record in found)
    except KeyboardInterrupt:
        trouble = "stopped"
    limits = {}
    if trouble is None:
        progress("limits of the machine")
        limits = {test: options.limits.of(test) for test in dict.fromkeys(r.figure.test for r in records)}
    return Result(Comparison(records, limits), trouble, missing)


def _tests(group: str) -> list[str]:
    from bench.scenes.runner import scenes

    return [test for scene in scenes(group) for test in scene.tests]


def _environment(peer: Peer, options: Options) -> dict[str, str]:
    pace = options.pace
    return {
        **os.environ,
        **COMMON,
        **peer.environment,
        "PEER_API": peer.api,
        "PEER_SAMPLES": str(pace.samples),
        "PEER_TARGET": str(pace.target),
        "PEER_SLOW": str(pace.slow),
        "PEER_ROUNDS": str(pace.rounds),
        "PEER_ONLY": "|".join(options.only),
    }


def _probe(peer: Peer) -> None:
    """Raise NotThereError when a peer does not start."""
    if not installation.python().exists():
        raise NotThereError("its Python environment is not installed")
    if peer.name == "swiftshader" and not installation.swiftshader_driver().exists():
        raise NotThereError("its driver is not installed")
    if peer.name == "vtest" and shutil.which(VTEST_SERVER) is None:
        raise NotThereError(f"{VTEST_SERVER} is not installed")
    figures, info = _run(peer, "fill", {**_environment(peer, Options()), "PEER_ONLY": "none"})
    if info is None:
        raise NotThereError(figures[0].error if figures and figures[0].error else "it does not start")
    progress(f"{peer.name}: {info.get('renderer', '')}, {info.get('version', '')}")


def _group(peer: Peer | None, group: str, run: int, options: Options) -> list[Record]:
    """One group on one side."""
    name = OURS if peer is None else peer.name
    progress(f"run {run + 1} of {options.runs}: {group} on {name}")
    others = Others()
    if peer is None:
        figures = _ours(group, options)
    else:
        try:
            figures, _ = _run(peer, group, _environment(peer, options))
        except NotThereError as error:
            figures = [failed(group, error)]
    other = others.cores()
    return [Record(name, run, figure, other) for figure in figures if figure.error is not None or options.wants(figure.test)]


def _ours(group: str, options: Options) -> list[Figure]:
    command = [sys.executable, "-m", "bench.scenes", group]
    if options.engine is not None:
        command += ["--engine", options.engine]
    if options.threads is not None:
        command += ["--threads", str(options.threads)]
    if options.quick:
        command.append("--quick")
    for pattern in options.only:
        command += ["--only", pattern]
    return _figures(command, None, group)[0]


def _run(peer: Peer, group: str, environment: dict[str, str]) -> tuple[list[Figure], dict[str, str] | None]:
    """The figures of a group and what the driver calls itself."""
    command = [str(installation.python()), "-m", f"bench.peers.workloads.{group}"]
    if peer.name != "vtest":
        return _figures(command, environment, group)
    with _vtest_server(environment):
        return _figures(command, environment, group)


def _figures(command: Sequence[str], environment: dict[str, str] | None, group: str) -> tuple[list[Figure], dict[str, str] | None]:
    """Run, and read the lines of JSON."""
    figures, info = [], None
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=GROUP_LIMIT, check=False
        )
        output, said, status = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as error:
        output, said, status = _text(error.stdout), f"not done within {GROUP_LIMIT:g} s", 1
    for line in output.splitlines():
        if line.startswith("{"):
            record = json.loads(line)
            if "info" in record:
                info = record["info"]
            elif "test" in record:
                figures.append(Figure.from_json(record))
    if status != 0:
        words = said.strip().splitlines()
        figures.append(failed(group, words[-1] if words else f"status {status}"))
    return figures, info


def _text(output: bytes | str | None) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


@contextmanager
def _vtest_server(environment: dict[str, str]) -> Iterator[None]:
    """A server over llvmpipe that serves one client and ends with it, so that its processor time is counted as the peer's."""
    if _served():
        raise NotThereError(f"another {VTEST_SERVER} serves {VTEST_SOCKET} already")
    server = subprocess.Popen(
        [VTEST_SERVER, "--no-loop-or-fork", "--use-egl-surfaceless"],
        env={**environment, "GALLIUM_DRIVER": "llvmpipe"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + SERVER_LIMIT
        while not _served():
            if server.poll() is not None or time.monotonic() > until:
                raise NotThereError(f"{VTEST_SERVER} does not start")
            time.sleep(0.02)
        yield
    finally:
        try:
            server.wait(5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _served() -> bool:
    """Whether somebody listens at the server's place."""
    return any(line.endswith(f" {VTEST_SOCKET}") for line in Path("/proc/net/unix").read_text().splitlines())
