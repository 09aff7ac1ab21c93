"""``python -m tests.fuzz [TARGET…] --seconds N --seed S``: fuzz, print what was wrong and how much was run; status 1 if anything was.

A seed that crashed the process is the last one in ``--log``; ``--seconds 0`` runs one seed of each target again.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
import traceback

from tests.fuzz.targets import TARGETS, seen


def main() -> int:
    """Run the targets in turn; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz the virtual GPU's engines.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"one of {', '.join(TARGETS)}; default: all, in turn")
    parser.add_argument("--seconds", type=float, default=60, help="how long, in all (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--log", help="a file that gets each seed before it is run")
    arguments = parser.parse_args()
    chosen = arguments.targets or list(TARGETS)
    for name in chosen:
        if name not in TARGETS:
            parser.error(f"there is no target {name!r}")
    faulthandler.enable()
    runs = dict.fromkeys(chosen, 0)
    bad, seed, end = 0, arguments.seed, time.monotonic() + arguments.seconds
    while True:
        for name in chosen:
            if arguments.log:
                with open(arguments.log, "w") as log:
                    log.write(f"{name} --seed {seed}\n")
            try:
                wrong = TARGETS[name](seed)
            except Exception:
                wrong = traceback.format_exc()
            if wrong is not None:
                bad += 1
                print(f"{name} --seed {seed}: {wrong}", flush=True)
            runs[name] += 1
        seed += 1
        if time.monotonic() >= end:
            break
    for what, count in seen.most_common():
        print(f"{count:8} {what}")
    print(f"{sum(runs.values())} runs ({', '.join(f'{n} {name}' for name, n in runs.items())}), {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
