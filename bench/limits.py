"""What the machine allows: memory copied and set, arithmetic, and hand-written loops for the work of the scenes.

``ceilings.c`` holds the loops; it is compiled where a C compiler and AVX2 are there. Without them, memory and matrix arithmetic by
numpy remain. Values are medians, measured when first asked for. The floors under a round trip are in :mod:`bench.floors`.
"""

from __future__ import annotations

import ctypes
import json
import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from bench import floors

FRAME: Final = 1920 * 1080 * 4
HERE: Final = Path(__file__).parent
RESULTS: Final = HERE / "results"

#: How a test's name begins, and the loop of ceilings.c that tells its limit in the same unit.
CEILINGS: Final = (
    ("fill.", "fill"),
    ("blend.", "blend16.f32"),
    ("texture.", "bilinear.gather"),
    ("tri_small.", "tri_small.soup"),
    ("shader.mad200.gflops", "mandel64.fixed"),
    ("shader.mandel64.fixed.gflops", "mandel64.fixed"),
    ("compute.saxpy16M", "saxpy16M"),
    ("compute.matmul512", "matmul512.naive"),
)


def _both(count: int, work: Callable[[int], None]) -> float:
    """Seconds of ``work(i)`` in ``count`` threads at once."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


class Limits:
    """Limits of this machine, each measured once. Bytes a second, flop a second, seconds."""

    def __init__(self) -> None:
        self._known: dict[str, float] = {}

    def _once(self, name: str, measure: Callable[[], float]) -> float:
        if name not in self._known:
            self._known[name] = measure()
        return self._known[name]

    def memcpy_seconds(self, size: int = FRAME) -> float:
        """Seconds in which one thread copies ``size`` bytes that it has touched before."""
        return self._once(f"memcpy {size}", lambda: copy_seconds(size))

    def memset_rate(self) -> float:
        """Bytes a second that all cores set, frames of 8 MB."""
        return self._once("memset", _memset_rate)

    def gemm_rate(self) -> float:
        """Flop a second of a 1024x1024 float matrix product by numpy's BLAS."""
        return self._once("gemm", _gemm_rate)

    def doorbell(self) -> float:
        """Microseconds of three one-way hops and a polled fence."""
        return self._once("doorbell", lambda: statistics.median(floors.apart(2000)[0]))

    def ceiling(self, loop: str) -> float | None:
        """What a loop of ceilings.c does on two threads in its own unit; None without a compiler or AVX2."""
        if loop not in self._known:
            value = _ceiling(loop)
            if value is None:
                return None
            self._known[loop] = value
        return self._known[loop]

    def of(self, test: str) -> dict[str, float]:
        """The limits that stand beside a test, in the test's unit."""
        if test.startswith("latency."):
            return {} if test.endswith(".p99") else {"doorbell floor": self.doorbell()}
        if test.startswith(("readback.", "upload.")):
            return {"memcpy": self.memcpy_seconds() * 1e3}
        found = {}
        if test.startswith("fill."):
            found["memset"] = self.memset_rate() / 4e9
        elif test.startswith("frameloop."):
            # Colour and depth of 1280x720 set once, and read back where that belongs to the frame.
            frame = 1280 * 720 * 4
            taken = 2 * frame / self.memset_rate()
            if test.endswith(".readback"):
                taken += self.memcpy_seconds() * frame / FRAME
            found["memory"] = 1 / taken
        elif test.startswith("compute.matmul512"):
            found["BLAS"] = self.gemm_rate() / 1e9
        for beginning, loop in CEILINGS:
            if test.startswith(beginning):
                value = self.ceiling(loop)
                if value is not None:
                    found["AVX2 loop"] = value
        return found


def copy_seconds(size: int, samples: int = 9) -> float:
    """Seconds in which one thread copies ``size`` bytes between two arrays that it has touched before; the median."""
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    found = []
    for _ in range(samples):
        began = time.perf_counter()
        np.copyto(target, source)
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def _memset_rate() -> float:
    libc = ctypes.CDLL(None)
    libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    count, rounds = floors.cores(), 16
    targets = [np.zeros(FRAME, np.uint8) for _ in range(count)]
    addresses = [target.ctypes.data for target in targets]

    def work(i: int) -> None:
        for _ in range(rounds):
            libc.memset(addresses[i], 1, FRAME)

    _both(count, work)
    return statistics.median(count * rounds * FRAME / _both(count, work) for _ in range(5))


def _gemm_rate() -> float:
    a = np.random.default_rng(0).random((1024, 1024), dtype=np.float32)
    found = []
    for _ in range(6):
        began = time.perf_counter()
        a @ a
        found.append(2 * 1024**3 / (time.perf_counter() - began))
    return statistics.median(found[1:])


def _ceiling(loop: str) -> float | None:
    compiler = shutil.which("cc")
    if compiler is None or " avx2 " not in Path("/proc/cpuinfo").read_text():
        return None
    source, program = HERE / "ceilings.c", RESULTS / "ceilings"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        RESULTS.mkdir(exist_ok=True)
        command = [compiler, "-O3", "-mavx2", "-mfma", "-o", str(program), str(source), "-lpthread", "-lm"]
        subprocess.run(command, check=True)
    lines = subprocess.run([str(program), loop], check=True, capture_output=True, text=True).stdout.splitlines()
    for record in map(json.loads, lines):
        if record["test"] == f"{loop}.2t":
            return float(record["median"])
    return None
