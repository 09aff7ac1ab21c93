"""``python -m bench.scenes GROUP``: one group on a private stack, one JSON object a line, as the peers' workloads print."""

from __future__ import annotations

import argparse
import json

import trio

from bench.options import Options
from bench.timing import QUICK, Pace

from . import GROUPS
from .runner import measure_group


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.scenes", description=__doc__)
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--engine")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    options = Options(
        pace=QUICK if chosen.quick else Pace(), engine=chosen.engine, threads=chosen.threads, only=tuple(chosen.only)
    )
    for figure in trio.run(measure_group, chosen.group, options):
        print(json.dumps(figure.to_json()), flush=True)


if __name__ == "__main__":
    main()
