"""Stands for vgpu, kernel and runtime in tests of starting a stack: ``python -m NAME`` runs it from a directory of its own.

What it does is written in ``NAME.do`` beside it: serve | talk | silent | deaf | fail WORDS… | exit STATUS WORDS… |
half WORDS… | killed SIGNAL | orphan.
It says in ``NAME.said`` what it was started with.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

import trio

from wddm.process import ProcessError, announce, open_listeners, parser, run

NAME = Path(__file__).stem
HERE = Path(__file__).parent


async def main(options: argparse.Namespace) -> None:
    """Serve until told to end, or do something worse."""
    what, *words = (HERE / f"{NAME}.do").read_text().split()
    (HERE / f"{NAME}.said").write_text(
        json.dumps({"pid": os.getpid(), "session": os.getsid(0), "arguments": sys.argv[1:], "lifeline": options.lifeline})
    )
    if what == "exit":
        print(*words[1:], sep="\n", file=sys.stderr, flush=True)
        os._exit(int(words[0]))
    if what == "fail":
        raise ProcessError(" ".join(words))
    if what == "killed":
        os.kill(os.getpid(), int(words[0]))
    if what == "half":
        sys.stderr.write(" ".join(words))
        sys.stderr.flush()
        os._exit(5)
    if what == "orphan":  # somebody else keeps our last words open
        command = [sys.executable, "-c", "import select; select.select([0], [], [])"]
        await trio.lowlevel.open_process(command, stdin=os.dup(options.lifeline), stderr=2)
        os._exit(6)
    listeners = open_listeners(options.listen)
    if what == "talk":
        print("out of pixels", file=sys.stderr, flush=True)
    if what != "silent":
        announce(NAME, listeners)
    if what == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        announce("deaf", [])
        with trio.CancelScope(shield=True):
            await trio.sleep_forever()
    try:
        await trio.sleep_forever()
    finally:
        for listener in listeners:
            listener.close()


if __name__ == "__main__":
    p = parser(NAME, "a fake", connects_to=None if NAME == "vgpu" else "somebody")
    if NAME == "vgpu":
        for option in ("vram", "aperture", "size", "refresh", "engine", "threads"):
            p.add_argument(f"--{option}", type=int if option == "threads" else str)
    sys.exit(run(NAME, p.parse_args(), main))
