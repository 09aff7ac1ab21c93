"""``python -m kernel``: the graphics kernel, with a miniport, between a virtual GPU and any number of processes."""

from __future__ import annotations

import argparse
import contextlib
import resource
import sys

import trio

from wddm import process
from wddm.wire.channel import serve
from wddm.wire.transport import connect

from .miniport_host import StartError
from .options import Options
from .server import BusLost, Kernel, Stopped
from .vidsch.policies import POLICIES


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number of seconds")
    return value


def _parser() -> argparse.ArgumentParser:
    default = Options()
    p = process.parser("kernel", __doc__ or "", connects_to="the virtual GPU")
    p.add_argument("--miniport", default=default.miniport, metavar="MODULE:ENTRY", help="the kernel-mode driver (%(default)s)")
    p.add_argument("--umd", default=default.umd, metavar="MODULE:ENTRY", help="the user-mode driver to name (%(default)s)")
    p.add_argument("--policy", choices=POLICIES, default=default.policy, help="scheduling policy (%(default)s)")
    p.add_argument("--quantum", type=_seconds, default=default.quantum, metavar="S", help="seconds of a turn (%(default)s)")
    p.add_argument(
        "--tdr-delay", type=_seconds, default=default.tdr_delay, metavar="S", help="seconds until a hang is one (%(default)s)"
    )
    p.add_argument("--max-processes", type=int, default=default.max_processes, metavar="N", help="(%(default)s)")
    return p


async def _main(arguments: argparse.Namespace) -> None:
    options = Options(
        miniport=arguments.miniport,
        umd=arguments.umd,
        policy=arguments.policy,
        quantum=arguments.quantum,
        tdr_delay=arguments.tdr_delay,
        max_processes=arguments.max_processes,
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        # Every allocation that the processor sees has a descriptor of its own.
        with contextlib.suppress(ValueError, OSError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    listeners = process.open_listeners(arguments.listen)
    try:
        kernel = Kernel(options)
        bus = await connect(arguments.connect)
        async with trio.open_nursery() as nursery:
            await nursery.start(kernel.run, bus)
            await nursery.start(serve, listeners, kernel.session)
            process.announce("kernel", listeners)
    except* (OSError, StartError, BusLost, Stopped, ValueError) as group:
        error = process.first(group)
        raise process.ProcessError((isinstance(error, OSError) and error.strerror) or str(error)) from None
    finally:
        for listener in listeners:
            listener.close()


if __name__ == "__main__":
    sys.exit(process.run("kernel", _parser().parse_args(), _main))
