"""The ``wddm`` command."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from wddm.process import address, resolution, size
from wddm.stack import DEFAULT_ENGINE
from wddm.wire.address import Address

if TYPE_CHECKING:
    from wddm.client.gpu import Gpu
    from wddm.wire.thunk import AdapterInfo


def default_run_dir() -> Path:
    """Where ``wddm up`` puts its sockets when not told: private to the user, the same for every command."""
    runtime_dir = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime_dir) / "wddm" if runtime_dir else Path(tempfile.gettempdir()) / f"wddm-{os.getuid()}"


def _stack_options(p: argparse.ArgumentParser, *, default_size: str) -> None:
    p.add_argument("--vram", type=size, default=256 << 20, metavar="BYTES", help="video memory, such as 256M (default) or 1G")
    p.add_argument("--aperture", type=size, default=1 << 30, metavar="BYTES", help="aperture onto system memory (default 1G)")
    p.add_argument("--size", type=resolution, default=resolution(default_size), metavar="WxH", help=f"default {default_size}")
    p.add_argument("--refresh", type=float, default=60.0, metavar="HZ", help="refresh rate of the display (default 60)")
    engines = "what executes draws (default: %(default)s)"
    p.add_argument("--engine", choices=["reference", "llvm"], default=DEFAULT_ENGINE, help=engines)
    p.add_argument("--trace-dir", type=Path, metavar="DIR", help="write the timeline of every process here")
    p.add_argument("--log-level", default="warning", choices=["debug", "info", "warning", "error"])


def build_parser() -> argparse.ArgumentParser:
    """All commands."""
    p = argparse.ArgumentParser(
        prog="wddm",
        description="The Windows Display Driver Model as a running GPU stack: no Windows, no GPU.",
        epilog="Each process also starts alone: python -m vgpu, python -m kernel, python -m runtime (see their --help).",
    )
    commands = p.add_subparsers(dest="command", required=True, metavar="COMMAND")

    up = commands.add_parser("up", help="start a stack and keep it running", description=_up.__doc__)
    _stack_options(up, default_size="1280x720")
    up.add_argument("--run-dir", type=Path, default=default_run_dir(), help="where the sockets lie (default: %(default)s)")
    up.add_argument("--tcp", type=address, metavar="tcp:HOST:PORT", help="serve clients here as well")
    up.add_argument("--kernel-argument", action="append", default=[], metavar="ARG", help="pass ARG to python -m kernel")
    up.add_argument("--vgpu-argument", action="append", default=[], metavar="ARG", help="pass ARG to python -m vgpu")
    up.set_defaults(run=_up)

    demo = commands.add_parser("demo", help="draw the cube and tell what happened", description=_demo.__doc__)
    _stack_options(demo, default_size="640x360")
    demo.add_argument("--connect", type=address, metavar="ADDRESS", help="use a running stack instead of a private one")
    demo.add_argument("--frames", type=_positive, default=120, help="default 120")
    demo.add_argument("--out", type=Path, default=Path("cube.png"), help="picture of the last frame (default cube.png)")
    demo.set_defaults(run=_demo)

    info = commands.add_parser("info", help="what a running stack is and does", description=_info.__doc__)
    info.add_argument("--connect", type=address, metavar="ADDRESS", help="default: the stack that 'wddm up' started")
    info.set_defaults(run=_info)

    shader = commands.add_parser("hlsl", help="compile HLSL to DXBC", add_help=False)
    shader.add_argument("arguments", nargs=argparse.REMAINDER)
    shader.set_defaults(run=_hlsl)
    return p


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return int(text)


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "vram": options.vram,
        "aperture": options.aperture,
        "size": options.size,
        "refresh": options.refresh,
        "engine": options.engine,
        "trace_dir": options.trace_dir,
        "log_level": options.log_level,
    }


def _up(options: argparse.Namespace) -> int:
    """Start virtual GPU, kernel and runtime; say where clients connect; stop all on Ctrl-C. When a process dies, the others are
    stopped and the sentence tells which one, and how."""
    from wddm.stack import StackOptions, open_stack

    settings = StackOptions(
        **_settings(options),
        run_dir=options.run_dir,
        tcp=options.tcp,
        kernel_arguments=options.kernel_argument,
        vgpu_arguments=options.vgpu_argument,
    )

    async def main() -> int:
        failure: str | None = None
        async with open_stack(settings) as stack, trio.open_nursery() as nursery:
            for name, child in stack.children.items():
                print(f"{name:<8} process {child.pid:<8} {stack.addresses[name]}")
            if stack.tcp is not None:
                print(f"clients  {stack.tcp}")
            print(f"clients  {stack.address}      (Ctrl-C stops the stack)", flush=True)

            async def watch() -> None:
                nonlocal failure
                failure = await stack.wait_failed()
                nursery.cancel_scope.cancel()

            nursery.start_soon(watch)
            with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async for _ in signals:
                    nursery.cancel_scope.cancel()
                    break
        if failure is not None:
            print(f"wddm: {failure}", file=sys.stderr)
            return 1
        print("stopped")
        return 0

    return trio.run(main)


def _demo(options: argparse.Namespace) -> int:
    """Draw a textured, lit, spinning cube on a private stack (or a running one), one frame a vertical sync; then say what happened
    in numbers and write the last frame."""
    from wddm import demo

    where = options.connect or "a private stack"
    print(f"drawing {options.frames} frames of {options.size[0]}x{options.size[1]} on {where}", file=sys.stderr, flush=True)
    settings = _settings(options)
    picture_size = settings.pop("size")
    report = trio.run(
        lambda: demo.run(connect=options.connect, frames=options.frames, size=picture_size, out=options.out, **settings)
    )
    print(demo.table(report))
    print(f"  picture: {options.out}")
    return 0


def _info(options: argparse.Namespace) -> int:
    """What a running stack is (adapter, driver, memory, nodes, outputs) and what it has done so far."""
    import wddm

    where = options.connect or Address(path=str(default_run_dir() / "runtime.sock"))

    async def ask() -> tuple[AdapterInfo, list[str]]:
        async with wddm.connect(where) as gpu:
            info = await gpu.info()
            return info, await _capabilities(gpu, [source.id for source in info.sources])

    info, capabilities = trio.run(ask)
    print(f"{info.name}  (miniport {info.driver}, user-mode driver {info.umd}, WDDM interface {info.wddm_version:#x})")
    for line in capabilities:
        print(f"  {line}")
    for segment in info.segments:
        kind = "aperture" if segment.aperture else "memory, CPU-visible" if segment.cpu_visible else "memory"
        print(f"  segment {segment.id}  {segment.size / 2**20:8.0f} MiB, {segment.used / 2**20:.1f} MiB used  {kind}")
    for node in info.nodes:
        done = f"{node.completed} of {node.submitted} done, {node.preempted} preempted, busy {node.busy_ns / 1e9:.2f} s"
        print(f"  node {node.ordinal}     {node.name}: {done}")
    for source in info.sources:
        rate = source.refresh_numerator / max(1, source.refresh_denominator)
        mode = f"{source.width}x{source.height} at {rate:g} Hz" if source.width else "no mode"
        print(f"  source {source.id}   {mode}, {source.vblank_count} vertical blanks, {source.flips} flips")
    for statistic in info.statistics:
        print(f"  {statistic.name}: {statistic.value}")
    return 0


async def _capabilities(gpu: Gpu, sources: list[int]) -> list[str]:
    """Versions, and what the driver and the outputs can do, a line each."""
    from importlib.metadata import version

    import wddm
    from wddm.wire.api import API

    async with await gpu.create_device() as device:
        level = device.feature_level.name.removeprefix("LEVEL_")
        samples = [n for n in (2, 4, 8) if await device.check_multisample_quality_levels(wddm.Format.R8G8B8A8_UNORM, n)]
        formats = [f for f in wddm.Format if f not in (wddm.Format.UNKNOWN, wddm.Format.FORCE_UINT)]
        targets = [f for f in formats if await device.check_format_support(f) & wddm.FormatSupport.RENDER_TARGET]
    lines = [
        f"versions    wddm {version('wddm')}, protocol {API.name} {API.version}",
        f"Direct3D    feature level {level}, {len(targets)} render target formats, {', '.join(map(str, samples)) or 'no'} samples",
    ]
    for source in sources:
        modes = await gpu.get_display_modes(source)
        first = modes[0] if modes else None
        best = f", preferred {first.width}x{first.height}" if first else ""
        lines.append(f"output {source}    {len(modes)} modes{best}")
    return lines


def _hlsl(options: argparse.Namespace) -> int:
    from wddm.hlsl.command import main as compile_main

    return compile_main(options.arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; expected failures are one sentence and status 1."""
    from wddm.client import D3DError
    from wddm.stack import StackError

    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["hlsl"]:
        # Its options are the compiler's own, /T and the like included.
        return _hlsl(argparse.Namespace(arguments=arguments[1:]))
    options = build_parser().parse_args(arguments)
    failures: list[str] = []
    status = 1
    try:
        status = options.run(options)
    except* (StackError, D3DError, OSError) as group:
        failures = _sentences(group)
    except* KeyboardInterrupt:
        status = 130
    for failure in failures:
        print(f"wddm: {failure}", file=sys.stderr)
    return status


def _sentences(group: BaseExceptionGroup[BaseException]) -> list[str]:
    found: list[str] = []
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            found += _sentences(error)
        elif isinstance(error, OSError) and error.strerror:
            found.append(f"{error.strerror}: {error.filename}" if error.filename else error.strerror)
        else:
            found.append(str(error))
    return found


if __name__ == "__main__":
    raise SystemExit(main())
