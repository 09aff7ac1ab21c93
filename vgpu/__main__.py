"""``python -m vgpu``: the virtual GPU as a process that serves the bus."""

from __future__ import annotations

import argparse
import os
import sys
from fractions import Fraction

import trio

from vgpu.device import Device
from vgpu.server import Server, TrioClock
from wddm import process
from wddm.hw.registers import EngineKind
from wddm.wire.channel import serve


def _refresh(text: str) -> tuple[int, int]:
    try:
        rate = Fraction(text).limit_denominator(1001)
    except (ValueError, ZeroDivisionError):
        rate = Fraction(0)
    if not 1 <= rate <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r}: a refresh rate is a number from 1 to 1000 such as 60, 59.94 or 60000/1001")
    return rate.numerator, rate.denominator


def _parser() -> argparse.ArgumentParser:
    p = process.parser("vgpu", "The virtual GPU: memory, engines and displays, programmed over the bus.", connects_to=None)
    p.add_argument("--vram", type=process.size, default=256 << 20, metavar="BYTES", help="video memory (default 256M)")
    p.add_argument("--aperture", type=process.size, default=1 << 30, metavar="BYTES", help="aperture onto system memory (1G)")
    p.add_argument("--window", type=process.size, metavar="BYTES", help="video memory that the processor sees (16M)")
    p.add_argument("--engine", choices=["reference", "llvm"], default="llvm", help="what executes packets (llvm)")
    p.add_argument("--threads", type=int, metavar="N", help="threads of the llvm engine (all processors)")
    p.add_argument("--heads", type=int, default=1, choices=range(5), help="display heads (1)")
    p.add_argument(
        "--size", type=process.resolution, default=(1920, 1080), metavar="WxH", help="the monitors' native size (1920x1080)"
    )
    p.add_argument("--refresh", type=_refresh, default=(60, 1), metavar="HZ", help="the monitors' refresh rate (60)")
    return p


async def _main(options: argparse.Namespace) -> None:
    window = min(options.window or 16 << 20, options.vram)
    try:
        device = Device(
            options.vram,
            options.aperture,
            window,
            heads=options.heads,
            engine=EngineKind[options.engine.upper()],
            threads=options.threads or os.cpu_count() or 1,
            size=options.size,
            refresh=options.refresh,
            clock=TrioClock(),
        )
    except (ValueError, OSError) as error:
        raise process.ProcessError(str(error)) from None
    listeners = process.open_listeners(options.listen)
    server = Server(device)
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(server.run)
            process.announce("vgpu", listeners)
            try:
                await serve(listeners, server.session)
            finally:
                server.stop()
    finally:
        for listener in listeners:
            listener.close()
        device.close()


if __name__ == "__main__":
    sys.exit(process.run("vgpu", _parser().parse_args(), _main))
