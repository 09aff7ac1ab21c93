"""``./dev bench``: measures, and prints a table of medians over several runs, each beside a limit or peer of the same run."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import trio

from bench import figures
from bench.floors import cores
from bench.options import Options, progress
from bench.processes import Others
from bench.scenes import GROUPS
from bench.timing import QUICK, Pace

#: What can be measured, and what it tells. The first four need no argument.
SETS: Final = {
    "latency": "submit to fence as the client sees it, against both floors; where the microseconds go",
    "draws": "10,000 small draws a frame with nothing, constants, blend or texture changing; time of each process",
    "cube": "1280x720 cube: frames a second, share of each boundary, bytes copied, start time, memory",
    "transfer": "read-back and upload of a 1080p frame against memcpy",
    "scenes": f"every workload of the peers on our side ({', '.join(GROUPS)})",
    "peers": "scenes, and Mesa's llvmpipe, vtest and lavapipe and SwiftShader side by side; installs what is missing",
}
DEFAULT: Final = ("latency", "draws", "cube", "transfer")

EPILOG = """sets:
{sets}

examples:
  ./dev bench                                  {default}
  ./dev bench latency --runs 5
  ./dev bench scenes --only 'tri_*' --engine reference
  ./dev bench peers --only 'fill.*' --only 'latency.*' --json peers.json

Values are medians over the runs; a ratio is ours divided by the limit, taken within each run. The machine matters
more than the program when something else runs on it: close it first. docs/measuring.md tells how to read the table.
"""


def parser() -> argparse.ArgumentParser:
    """All options."""
    sets = "\n".join(f"  {name:<10}{text}" for name, text in SETS.items())
    p = argparse.ArgumentParser(
        prog="./dev bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG.format(sets=sets, default=" ".join(DEFAULT)),
    )
    p.add_argument("what", nargs="*", metavar="SET", help=f"default: {' '.join(DEFAULT)}")
    p.add_argument("--runs", type=_positive, default=3, metavar="N", help="runs, each on a fresh stack (default 3)")
    p.add_argument("--quick", action="store_true", help="short samples: a look, not a measurement")
    p.add_argument("--only", action="append", default=[], metavar="PATTERN", help="tests whose name matches, such as 'fill.*'")
    p.add_argument("--engine", choices=["reference", "llvm"], help="what executes draws (default: the stack's own default)")
    p.add_argument("--threads", type=_positive, metavar="N", help="threads of the engine (default: the engine chooses)")
    p.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON as well")
    p.add_argument("--list", action="store_true", help="list the tests of the scenes and stop")
    peers = p.add_argument_group("peers")
    peers.add_argument("--peer", action="append", default=[], metavar="NAME", help="this one only (may be given several times)")
    peers.add_argument("--no-install", action="store_true", help="use the peers that are there, install none")
    peers.add_argument("--keep", type=Path, metavar="FILE", help="append every record of every run here, one JSON object a line")
    return p


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return int(text)


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {"processor": model, "cores": cores(), "python": platform.python_version()}


async def _scenes(options: Options) -> list[figures.Figure]:
    from bench.scenes.runner import measure_group

    found = []
    for group in GROUPS:
        found += await measure_group(group, options)
    for figure in found:
        if figure.error is None:
            figure.against = options.limits.of(figure.test)
    return found


def _measurement(name: str) -> Callable[[Options], Awaitable[list[figures.Figure]]]:
    return _scenes if name == "scenes" else import_module(f"bench.{name}").measure


def measure(name: str, options: Options) -> tuple[list[figures.Row], str | None, float]:
    """The rows of one set over all runs, why it ended early, if it did, and the cores that other processes used meanwhile."""
    from bench.scenes.runner import sentence
    from wddm.client.errors import D3DError
    from wddm.hlsl import CompileError
    from wddm.stack import StackError

    runs: list[list[figures.Figure]] = []
    trouble, others = None, Others()
    try:
        for run in range(options.runs):
            progress(f"{name}: run {run + 1} of {options.runs}")
            runs.append(trio.run(_measurement(name), options))
    except* (StackError, D3DError, CompileError, OSError, subprocess.CalledProcessError) as group:
        trouble = sentence(group)
    except* KeyboardInterrupt:
        trouble = "stopped"
    return figures.merge([[f for f in run if options.wants(f.test)] for run in runs]), trouble, others.cores()


def main(arguments: list[str] | None = None) -> int:
    """Measure and print. Status 1 when something could not be measured."""
    p = parser()
    chosen = p.parse_args(arguments)
    unknown = [name for name in chosen.what if name not in SETS]
    if unknown:
        p.error(f"there is no set {unknown[0]!r}; the sets are {', '.join(SETS)}")
    if chosen.list:
        from bench.scenes.runner import scenes

        for group in GROUPS:
            print("\n".join(test for scene in scenes(group) for test in scene.tests))
        return 0
    options = Options(chosen.runs, QUICK if chosen.quick else Pace(), chosen.engine, chosen.threads, tuple(chosen.only))
    report: dict[str, Any] = {"machine": machine(), "sets": {}}
    status = 0
    for name in chosen.what or DEFAULT:
        if name == "peers":
            from bench.peers import session

            result = session.measure(options, chosen.peer, install=not chosen.no_install, keep=chosen.keep)
            print(f"\npeers: {_where(report['machine'])}\n{result.text()}")
            report["sets"][name] = result.to_json()
            trouble = result.trouble
        else:
            rows, trouble, others = measure(name, options)
            print(f"\n{name}: {SETS[name]}\n  {_where(report['machine'])}, runs: {chosen.runs}, others used {others:.1f} cores")
            print(figures.table(rows), flush=True)
            report["sets"][name] = {"other_cpu": round(others, 2), "rows": figures.rows_to_json(rows)}
            status |= any(row.error is not None for row in rows)
        if trouble:
            print(f"bench: {name}: {trouble}", file=sys.stderr)
            status = 130 if trouble == "stopped" else 1
        if chosen.json is not None:
            chosen.json.write_text(json.dumps(report, indent=1) + "\n")
        if status == 130:
            break
    return status


def _where(found: dict[str, Any]) -> str:
    return f"{found['processor']}, {found['cores']} cores, Python {found['python']}"


if __name__ == "__main__":
    raise SystemExit(main())
