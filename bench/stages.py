"""Processor time of the stages of a submission in kernel and virtual GPU: wake-ups, sockets and other processes left out.

``python -m bench.stages [--case empty|draw] [--rounds N]``: one submission of a whole stack in one process is captured where it
enters the kernel, and handed in again and again with fence values that go up, each stage called by itself. For comparing before and
after a change on a busy machine: the tenth percentile hardly moves with the load, where a latency moves with everything. Caches are
warm, which they are not in a process that has just been woken: there each stage costs two to three times as much.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import trio

import wddm
from bench.figures import percentile
from tests.support.scenes import Simple
from tests.support.stack import WholeStack, whole_stack
from wddm.hw.registers import EngineKind
from wddm.wire import thunk
from wddm.wire.channel import Channel
from wddm.wire.connection import Connection

#: Channels by protocol and end, as they are made.
Channels = dict[tuple[str, bool], Channel]


@contextmanager
def watched() -> Iterator[Channels]:
    """Every channel that is made meanwhile."""
    found: Channels = {}
    make = Channel.__init__

    def made(self: Channel, *arguments: object, **named: object) -> None:
        make(self, *arguments, **named)  # type: ignore[arg-type]
        found[self.protocol.name, self._server] = self

    setattr(Channel, "__init__", made)  # noqa: B010
    try:
        yield found
    finally:
        setattr(Channel, "__init__", make)  # noqa: B010


@contextmanager
def tapped(channel: Channel, *, swallow: bool) -> Iterator[list[bytes]]:
    """What the channel sends meanwhile; ``swallow``: it is not sent."""
    sent: list[bytes] = []
    send = channel.transport.send_nowait

    def tap(data: bytes, descriptors: Sequence[int] = ()) -> tuple[bytes, Sequence[int]]:
        sent.append(data)
        return (b"", ()) if swallow else send(data, descriptors)

    setattr(channel.transport, "send_nowait", tap)  # noqa: B010
    try:
        yield sent
    finally:
        setattr(channel.transport, "send_nowait", send)  # noqa: B010


async def capture(scene: Simple, case: str, channel: Channel) -> list[thunk.Render]:
    """What the runtime sends to the kernel for one submission."""
    ctx, query = scene.ctx, await scene.device.create_query(wddm.QueryType.TIMESTAMP)
    ctx.om_set_render_targets([scene.rtv])
    with tapped(channel, swallow=False) as sent:
        for _ in range(60):  # the last ones find everything in its place
            sent.clear()
            if case == "draw":
                ctx.draw(3, 0)
            else:
                ctx.end(query)
            ctx.signal()
            for _ in range(60):
                await trio.lowlevel.checkpoint()
    receiver = Connection(thunk.THUNK, server=True)
    return [event.message for data in sent for event in receiver.receive(data)]  # type: ignore[union-attr]


def replay(stack: WholeStack, messages: Sequence[thunk.Render], channels: Channels, rounds: int) -> dict[str, list[float]]:
    """Microseconds of each stage, each time."""
    process, kernel, device = channels["wddm.thunk", True], channels["wddm.bus", False], channels["wddm.bus", True]
    assert stack.kernel.adapter is not None
    pump, kick = stack.kernel.adapter.pump, stack.server.kick
    encoder = Connection(thunk.THUNK, server=False)

    def take(channel: Channel, pieces: list[bytes]) -> Callable[[], None]:
        def handle() -> None:
            for data in pieces:
                for event in channel._connection.receive(data):
                    channel._handle(event)
            pieces.clear()

        return handle

    incoming: list[bytes] = []
    with tapped(kernel, swallow=True) as doorbells, tapped(device, swallow=True) as interrupts:
        stages: dict[str, Callable[[], None]] = {
            "kernel: messages": take(process, incoming),
            "kernel: pump to the doorbell": pump,
            "vgpu: registers": take(device, doorbells),
            "vgpu: work to the interrupt": kick,
            "kernel: interrupt": take(kernel, interrupts),
            "kernel: pump behind it": pump,
        }
        spent: dict[str, list[float]] = {name: [] for name in stages}
        for _ in range(rounds):
            for message in messages:
                message.values = [value + 1 for value in message.values]
            incoming.append(b"".join(encoder.send_notification(message)[0] for message in messages))
            for name, stage in stages.items():
                began = time.perf_counter_ns()
                stage()
                spent[name].append((time.perf_counter_ns() - began) / 1e3)
    return spent


async def measure(case: str, rounds: int) -> None:
    """Print the figures."""
    with watched() as channels:
        async with whole_stack(engine=EngineKind.LLVM) as stack, stack.connect() as gpu:
            messages = await capture(await Simple.create(gpu, size=(8, 8)), case, channels["wddm.thunk", False])
            spent = replay(stack, messages, channels, rounds)
    for name, times in spent.items():
        print(f"{name:30}{percentile(times, 10):7.1f} us   median {percentile(times, 50):.1f}")
    print(f"{'together':30}{sum(percentile(times, 10) for times in spent.values()):7.1f} us   (tenth percentiles of {rounds})")


def main() -> None:
    """Command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--case", choices=["empty", "draw"], default="empty")
    p.add_argument("--rounds", type=int, default=2000)
    options = p.parse_args()
    trio.run(measure, options.case, options.rounds)


if __name__ == "__main__":
    main()
