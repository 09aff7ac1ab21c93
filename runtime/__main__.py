"""``python -m runtime``: the Direct3D 11 and DXGI runtime with its user-mode driver."""

from __future__ import annotations

import argparse
import contextlib
import gc
import resource
import sys
from collections.abc import Sequence

import trio

from wddm.process import announce, open_listeners, parser, run
from wddm.wire.channel import serve
from wddm.wire.transport import Transport, connect

from .server import Runtime, RuntimeOptions


def _parser() -> argparse.ArgumentParser:
    p = parser("runtime", __doc__ or "", connects_to="the kernel")
    p.add_argument("--driver", metavar="MODULE:ENTRY", help="user-mode driver; default: the one that the adapter names")
    return p


def _raise_descriptor_limit() -> None:
    """Sessions hold descriptors of shared pages: take what the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def _main(options: argparse.Namespace) -> None:
    async def connect_kernel() -> Transport:
        return await connect(options.connect)

    runtime = Runtime(connect_kernel, RuntimeOptions(driver=options.driver))

    async def session(transport: Transport) -> None:
        """What a session maps lives in cycles of its objects: take it back now, not when the collector happens to look."""
        await runtime.session(transport)
        gc.collect()

    listeners = open_listeners(options.listen)
    gc.collect()
    gc.freeze()  # code and types stay for ever: a collection between clients looks at sessions alone
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(serve, listeners, session)
            announce("runtime", listeners)
            await trio.sleep_forever()
    finally:
        for listener in listeners:
            listener.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the process; returns its exit status."""
    _raise_descriptor_limit()
    return run("runtime", _parser().parse_args(arguments), _main)


if __name__ == "__main__":
    sys.exit(main())
