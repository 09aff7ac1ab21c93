"""Run directories: those of the dead go, those of the living stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from wddm.run_directory import private_directory

STAY = """
import sys
from wddm.run_directory import private_directory
with private_directory() as path:
    (path / "vgpu.sock").touch()
    print(path, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's directory for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_it_goes_with_its_stack(temporary: Path) -> None:
    with private_directory() as path:
        assert path.stat().st_mode & 0o777 == 0o700
        assert path.parent == temporary
    assert not list(temporary.iterdir())


def test_what_a_killed_stack_left_goes_with_the_next_start(temporary: Path) -> None:
    foreign = temporary / "wddm-notes"
    foreign.mkdir()
    with subprocess.Popen([sys.executable, "-c", STAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().decode().strip())
        with private_directory() as ours:
            assert {ours, theirs, foreign} == set(temporary.iterdir())
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
        assert theirs.exists()
        with private_directory() as ours:
            assert {ours, foreign} == set(temporary.iterdir())
