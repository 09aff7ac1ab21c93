"""Brings the peers onto the machine: Mesa and its vtest server from Debian's packages, their Python faces from PyPI into an
environment of their own, SwiftShader's Vulkan driver out of Debian's chromium-common package. Everything but the packages lies
below ``bench/results``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from bench.limits import RESULTS
from bench.options import progress

PACKAGES: Final = (
    "libgl1",
    "libegl1",
    "libgl1-mesa-dri",
    "libegl-mesa0",
    "libglx-mesa0",
    "mesa-vulkan-drivers",
    "libvulkan1",
    "virgl-server",
)
PYTHON_PACKAGES: Final = ("moderngl==5.13.0", "wgpu==0.32.0", "numpy")
ENVIRONMENT: Final = RESULTS / "peers"
SWIFTSHADER: Final = RESULTS / "swiftshader"
DRIVER: Final = "libvk_swiftshader.so"


def python() -> Path:
    """The Python of the peers' environment; it may not be there."""
    return ENVIRONMENT / "bin" / "python"


def swiftshader_driver() -> Path:
    """The description of SwiftShader's Vulkan driver; it may not be there."""
    return SWIFTSHADER / "icd.json"


def install() -> list[str]:
    """Install what is missing; returns what could not be, in sentences."""
    RESULTS.mkdir(exist_ok=True)
    problems = []
    for step in (_packages, _environment, _swiftshader):
        try:
            problem = step()
        except (OSError, subprocess.CalledProcessError) as error:
            problem = _why(error)
        if problem:
            problems.append(problem)
    return problems


def _why(error: OSError | subprocess.CalledProcessError) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        last = (error.stderr or "").strip().splitlines()[-1:]
        return f"'{' '.join(map(str, error.cmd[:3]))} ...' failed: {''.join(last) or f'status {error.returncode}'}"
    return str(error)


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd, env=environment, stdin=subprocess.DEVNULL)
    return done.stdout


def _packages() -> str | None:
    if shutil.which("dpkg-query") is None:
        return f"no Debian packages here; the peers need {' '.join(PACKAGES)} or what your system calls them"
    missing = [name for name in PACKAGES if not _installed(name)]
    if not missing:
        return None
    if os.geteuid() != 0:
        return f"packages are missing; as root: apt-get install {' '.join(missing)}"
    progress(f"installing {' '.join(missing)}")
    _run("apt-get", "update", "-q")
    _run("apt-get", "install", "-q", "-y", "--no-install-recommends", *missing)
    return None


def _installed(package: str) -> bool:
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True, text=True, check=False)
    return done.stdout.endswith(" installed")


def _environment() -> str | None:
    stamp = ENVIRONMENT / "installed"
    if stamp.exists() and stamp.read_text() == "\n".join(PYTHON_PACKAGES):
        return None
    progress(f"installing {' '.join(PYTHON_PACKAGES)} into an environment of their own")
    if shutil.which("uv"):
        _run("uv", "venv", "--quiet", "--allow-existing", "--python", sys.executable, ENVIRONMENT)
        _run("uv", "pip", "install", "--quiet", "--python", python(), *PYTHON_PACKAGES)
    else:
        _run(sys.executable, "-m", "venv", ENVIRONMENT)
        _run(python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PYTHON_PACKAGES)
    stamp.write_text("\n".join(PYTHON_PACKAGES))
    return None


def _swiftshader() -> str | None:
    if swiftshader_driver().exists():
        return None
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return "SwiftShader comes out of Debian's chromium-common package, and this is no Debian"
    progress("fetching Debian's chromium-common package for its SwiftShader (about 30 MB, once)")
    with tempfile.TemporaryDirectory(dir=RESULTS) as folder:
        # Older than the lists say is gone from the servers; apt-get download needs no privileges, but a fresh list.
        if os.geteuid() == 0:
            _run("apt-get", "update", "-q")
        _run("apt-get", "download", "-q", "chromium-common", cwd=Path(folder))
        for package in Path(folder).glob("*.deb"):
            _run("dpkg-deb", "-x", package, folder)
        found = list(Path(folder).rglob(DRIVER))
        if not found:
            return f"Debian's chromium-common package has no {DRIVER}"
        SWIFTSHADER.mkdir(exist_ok=True)
        shutil.copy(found[0], SWIFTSHADER / DRIVER)
    description = {"file_format_version": "1.0.0", "ICD": {"library_path": str(SWIFTSHADER / DRIVER), "api_version": "1.1.0"}}
    swiftshader_driver().write_text(json.dumps(description))
    return None
