"""What the processes of a private stack cost: processor time and memory, read from /proc."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import Final

from wddm.client.gpu import Gpu

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def pids(gpu: Gpu) -> dict[str, int]:
    """The client (this process) and the processes of the private stack behind ``gpu``, from the client's side to the hardware."""
    found = {"client": os.getpid()}
    if gpu.stack is not None:
        children = gpu.stack.children
        found |= {name: children[name].pid for name in ("runtime", "kernel", "vgpu") if name in children}
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def cpu(gpu: Gpu) -> dict[str, float]:
    """Processor seconds of each process so far."""
    return {name: cpu_seconds(pid) for name, pid in pids(gpu).items()}


def _kib(path: Path, key: str) -> float:
    for line in path.read_text().splitlines():
        if line.startswith(f"{key}:"):
            return float(line.split()[1])
    return 0.0


def memory(gpu: Gpu) -> dict[str, tuple[float, float]]:
    """(VmRSS, Pss) of each process in MiB. Pss is 0 where the system does not tell it."""
    found = {}
    for name, pid in pids(gpu).items():
        proc = Path(f"/proc/{pid}")
        rss = _kib(proc / "status", "VmRSS") / 1024
        try:
            pss = _kib(proc / "smaps_rollup", "Pss") / 1024
        except OSError:  # not every kernel has it, and not for every process
            pss = 0.0
        found[name] = (rss, pss)
    return found


class Others:
    """How much the rest of the machine did since this was made."""

    def __init__(self) -> None:
        self._began, self._busy, self._ours = time.monotonic(), busy_seconds(), self._used()

    @staticmethod
    def _used() -> float:
        """Of this process and of its children that have ended."""
        usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    def cores(self) -> float:
        """Cores that processes of others kept busy."""
        wall = time.monotonic() - self._began
        return max(0.0, busy_seconds() - self._busy - (self._used() - self._ours)) / wall if wall > 0 else 0.0


def busy_seconds() -> float:
    """Processor seconds of the whole machine so far, idle and waiting for disks left out."""
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / _TICKS
