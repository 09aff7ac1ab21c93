"""Anything that fits must come out right: several processes, too little memory, a device that takes its time, links that copy.

The fake device checks on every step that nothing is reached that is not there, and the miniport that nothing is submitted without
a place; here the content is compared with a model.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fake_gpu import PAGE, Place
from tests.support.thunk_client import Commands, Stack, ThunkClient, stack
from wddm.ddi.d3dukmdt import D3DDDICB_LOCKFLAGS as Lock


@dataclass
class Player:
    """One process with its allocations and what ought to be in them."""

    client: ThunkClient
    contexts: list[int]
    handles: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    model: list[int] = field(default_factory=list)


async def player(s: Stack, places: list[tuple[Place, int]], contexts: int = 1) -> Player:
    client = await (await s.client()).start()
    one = Player(client, [client.hContext])
    for place, pages in places:
        one.handles.append(await client.allocate(pages * PAGE, place))
        one.sizes.append(pages * PAGE)
        one.model.append(0)
    return one


async def check(s: Stack, one: Player) -> None:
    """Copy everything to staging and compare."""
    client = one.client
    fence = await client.fence()
    for value, (handle, size, expected) in enumerate(zip(one.handles, one.sizes, one.model, strict=True), 1):
        staging = await client.allocate(size, Place.APERTURE)
        client.tell(Commands().copy(staging, handle, size).message(client.hContext))
        client.signal(fence, value)
        await client.wait(fence, value)
        assert set(await client.read(staging)) == {expected}, f"allocation {value - 1}"
    assert not client.changed


PLACES = [
    (Place.LOCAL, 2),
    (Place.LOCAL, 1),
    (Place.FLEXIBLE, 3),
    (Place.ANYWHERE, 1),
    (Place.ANYWHERE, 2),
    (Place.APERTURE, 1),
    (Place.FLEXIBLE, 1),
]

_event = st.one_of(
    st.tuples(st.just("fill"), st.integers(0, 1), st.integers(0, 6), st.integers(1, 255)),
    st.tuples(st.just("copy"), st.integers(0, 1), st.integers(0, 6), st.integers(0, 6)),
    st.tuples(st.just("all"), st.integers(0, 1), st.integers(1, 255), st.just(0)),
    st.tuples(st.just("lock"), st.integers(0, 1), st.sampled_from([3, 4, 5]), st.integers(1, 255)),
    st.tuples(st.just("step"), st.integers(0, 1), st.just(0), st.just(0)),
    st.tuples(st.just("settle"), st.just(0), st.just(0), st.just(0)),
)


async def play(events: list[tuple[str, int, int, int]], *, local: int, auto: bool, descriptors: bool) -> None:
    async with stack(local=local * PAGE, aperture=12 * PAGE, auto=auto, descriptors=descriptors) as s:
        players = [await player(s, PLACES), await player(s, PLACES)]
        for kind, who, first, second in events:
            one = players[who % 2]
            client = one.client
            if kind == "fill":
                client.tell(Commands().fill(one.handles[first], second, one.sizes[first]).message(client.hContext))
                one.model[first] = second
            elif kind == "copy" and first != second and one.sizes[first] == one.sizes[second]:
                client.tell(Commands().copy(one.handles[first], one.handles[second], one.sizes[first]).message(client.hContext))
                one.model[first] = one.model[second]
            elif kind == "all":
                commands = Commands().use(*one.handles[:4])
                client.tell(commands.fill(one.handles[0], first, one.sizes[0]).message(client.hContext))
                one.model[0] = first
            elif kind == "lock":

                async def lock(one: Player = one, first: int = first, second: int = second) -> None:
                    await one.client.write(one.handles[first], bytes([second]) * one.sizes[first])

                async with trio.open_nursery() as nursery:
                    nursery.start_soon(lock)
                    while not auto and nursery.child_tasks:
                        await s.settle()
                        s.gpu.step(1)
                        s.gpu.step(0)
                        await s.settle()
                one.model[first] = second
            elif kind == "step":
                s.gpu.step(who)
            else:
                await s.settle()
        s.gpu.auto = True
        for node in (1, 0, 1, 0):
            s.gpu.drain(node)
            await s.settle()
        for one in players:
            await check(s, one)


@pytest.mark.parametrize("descriptors", [True, False])
@settings(max_examples=15, deadline=None)
@given(events=st.lists(_event, min_size=3, max_size=40), local=st.sampled_from([6, 8, 11, 30]), auto=st.booleans())
def test_content_survives_any_history(events: list[tuple[str, int, int, int]], local: int, auto: bool, descriptors: bool) -> None:
    async def main() -> None:
        await play(events, local=local, auto=auto, descriptors=descriptors)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def test_processor_and_device_write_different_bytes_of_one_page() -> None:
    """Over a link that copies, what the processor writes while the device works is not overwritten by what comes back."""
    async with stack(auto=False, descriptors=False) as s:
        client = await (await s.client()).start()
        buffer = await client.allocate(PAGE, Place.APERTURE)
        await client.write(buffer, b"A" * PAGE)
        client.tell(Commands().fill(buffer, 0x42, 16, 100).message(client.hContext))
        await s.settle()
        s.gpu.drain(1)
        await s.settle()
        await client.write(buffer, b"C" * 8, Lock.IgnoreSync)
        s.gpu.drain(0)
        await s.settle()
        assert await client.read(buffer) == b"C" * 8 + b"A" * 92 + b"B" * 16 + b"A" * (PAGE - 116)


async def test_who_waits_for_room_is_served() -> None:
    """Two contexts keep video memory busy; a third that needs most of it gets its turn."""
    async with stack(local=8 * PAGE, auto=False) as s:
        players = [await player(s, [(Place.LOCAL, 2)]) for _ in range(2)]
        big = await player(s, [(Place.LOCAL, 7)])
        for _ in range(30):
            for one in players:
                one.client.tell(Commands().fill(one.handles[0], 1, PAGE).message(one.client.hContext))
        big.client.tell(Commands().fill(big.handles[0], 2, PAGE).message(big.client.hContext))
        done, fence = [], await big.client.fence()
        big.client.signal(fence, 1)

        async def wait() -> None:
            await big.client.wait(fence, 1)
            done.append(s.adapter.vidsch.nodes[0].completed_count)

        s.nursery.start_soon(wait)
        for _ in range(60):
            await s.settle()
            s.gpu.step(1)
            await s.settle()
            s.gpu.step(0)
        await s.settle()
        assert done
        assert done[0] < 30, "not only after everybody else"
