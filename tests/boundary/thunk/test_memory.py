"""Allocations across the thunk boundary: residency, paging, locks, renaming, offers, sharing."""

from __future__ import annotations

import pytest

from tests.support.fake_gpu import PAGE, Place
from tests.support.thunk_client import Commands, ThunkClient, stack
from wddm.ddi.d3dukmdt import D3DDDI_RESIDENCYSTATUS as Where
from wddm.ddi.d3dukmdt import D3DDDICB_LOCKFLAGS as Lock
from wddm.ddi.status import HRESULT, NTSTATUS
from wddm.wire import thunk
from wddm.wire.connection import RemoteError


async def residency(client: ThunkClient, *handles: int) -> list[int]:
    message = thunk.QueryAllocationResidency(hDevice=client.hDevice, handles=list(handles))
    return (await client.ask(message, thunk.Residency)).statuses


async def finish(client: ThunkClient, fence: int, value: int) -> None:
    client.signal(fence, value)
    await client.wait(fence, value)


@pytest.mark.parametrize("descriptors", [True, False])
@pytest.mark.parametrize("place", [Place.LOCAL, Place.ANYWHERE, Place.FLEXIBLE])
async def test_working_set_larger_than_video_memory(place: Place, descriptors: bool) -> None:
    async with stack(local=8 * PAGE, aperture=32 * PAGE, descriptors=descriptors) as s:
        client = await (await s.client()).start()
        fence = await client.fence()
        handles = [await client.allocate(2 * PAGE, place) for _ in range(10)]
        staging = await client.allocate(2 * PAGE, Place.APERTURE)
        for value, handle in enumerate(handles, 1):
            client.tell(Commands().fill(handle, value, 2 * PAGE).message(client.hContext))
        for step, (value, handle) in enumerate(enumerate(handles, 1), 1):
            client.tell(Commands().copy(staging, handle, 2 * PAGE).message(client.hContext))
            await finish(client, fence, step)
            assert await client.read(staging) == bytes([value]) * 2 * PAGE
        assert not client.changed
        assert (await client.statistics())["evictions"] > 0


async def test_one_list_that_local_memory_cannot_hold_spills_to_the_aperture() -> None:
    async with stack(local=8 * PAGE, aperture=32 * PAGE) as s:
        client = await (await s.client()).start()
        fence = await client.fence()
        flexible = [await client.allocate(2 * PAGE, Place.FLEXIBLE) for _ in range(6)]
        fixed = await client.allocate(4 * PAGE, Place.LOCAL)
        client.tell(Commands().use(*flexible).message(client.hContext))
        await finish(client, fence, 1)
        commands = Commands()
        for value, handle in enumerate(flexible, 1):
            commands.fill(handle, value, 2 * PAGE)
        client.tell(commands.fill(fixed, 9, 4 * PAGE).message(client.hContext))
        await finish(client, fence, 2)
        assert not client.changed
        assert await residency(client, fixed) == [Where.RESIDENTINGPUMEMORY]
        assert Where.RESIDENTINSHAREDMEMORY in await residency(client, *flexible)


async def test_out_of_video_memory_fails_one_device_and_no_other() -> None:
    async with stack(local=8 * PAGE, aperture=8 * PAGE) as s:
        client = await (await s.client()).start("greedy")
        other = await (await s.client()).start("modest")
        handles = [await client.allocate(3 * PAGE, Place.LOCAL) for _ in range(3)]
        client.tell(Commands().use(*handles).message(client.hContext))
        await client.until(lambda: client.changed)
        told = client.changed[0]
        assert (told.state, told.reason) == (5, HRESULT.D3DDDIERR_OUTOFVIDEOMEMORY)
        assert "no room for 3 allocations (36864 bytes)" in told.sentence
        fence = await other.fence()
        small = await other.allocate(PAGE, Place.LOCAL)
        other.tell(Commands().fill(small, 1, PAGE).message(other.hContext))
        await finish(other, fence, 1)
        assert not other.changed


async def test_an_allocation_that_fits_nowhere_is_refused() -> None:
    async with stack(local=8 * PAGE) as s:
        client = await (await s.client()).start()
        with pytest.raises(RemoteError, match="fits none of its segments") as refused:
            await client.allocate(9 * PAGE, Place.LOCAL)
        assert refused.value.code == NTSTATUS.STATUS_GRAPHICS_NO_VIDEO_MEMORY
        with pytest.raises(RemoteError) as refused:
            await client.allocate(1 << 41, Place.LOCAL)
        assert refused.value.code == NTSTATUS.STATUS_INVALID_PARAMETER
        assert not s.miniport.allocations


@pytest.mark.parametrize("descriptors", [True, False])
async def test_fresh_video_memory_shows_nobody_elses_bytes(descriptors: bool) -> None:
    async with stack(descriptors=descriptors) as s:
        client = await (await s.client()).start()
        fence = await client.fence()
        local, staging = await client.allocate(PAGE, Place.LOCAL), await client.allocate(PAGE, Place.APERTURE)
        client.tell(Commands().copy(staging, local, PAGE).message(client.hContext))
        await finish(client, fence, 1)
        assert await client.read(staging) == bytes(PAGE)


@pytest.mark.parametrize("descriptors", [True, False])
async def test_lock_brings_content_home_and_render_takes_it_back(descriptors: bool) -> None:
    async with stack(descriptors=descriptors) as s:
        client = await (await s.client()).start()
        fence = await client.fence()
        one, two = await client.allocate(PAGE, Place.ANYWHERE), await client.allocate(PAGE, Place.ANYWHERE)
        client.tell(Commands().fill(one, 3, PAGE).message(client.hContext))
        await finish(client, fence, 1)
        assert await residency(client, one) == [Where.RESIDENTINGPUMEMORY]
        assert await client.read(one) == b"\3" * PAGE
        assert await residency(client, one) == [Where.NOTRESIDENT]
        await client.write(one, b"hello")
        client.tell(Commands().copy(two, one, PAGE).message(client.hContext))
        await finish(client, fence, 2)
        assert (await client.read(two))[:6] == b"hello\3"


async def test_a_busy_allocation_is_waited_for_or_refused() -> None:
    async with stack(auto=False) as s:
        client = await (await s.client()).start()
        buffer = await client.allocate(PAGE, Place.APERTURE)
        other = await client.allocate(PAGE, Place.APERTURE)
        client.tell(Commands().copy(other, buffer, PAGE).message(client.hContext))
        await s.settle()
        s.gpu.drain(1)  # paging
        await s.settle()
        for flags, status in (
            (Lock.DonotWait, NTSTATUS.STATUS_GRAPHICS_ALLOCATION_BUSY),
            (Lock.DonotWait | Lock.WriteOnly, NTSTATUS.STATUS_GRAPHICS_ALLOCATION_BUSY),
        ):
            with pytest.raises(RemoteError) as refused:
                await client.lock(buffer, flags)
            assert refused.value.code == status
        # It is only read: reading beside the GPU is fine, and so is promising not to overwrite.
        for flags in (Lock.DonotWait | Lock.ReadOnly, Lock.DonotWait | Lock.IgnoreSync):
            await client.lock(buffer, flags)
            client.unlock(buffer)
        with pytest.raises(RemoteError):
            await client.lock(other, Lock.DonotWait | Lock.ReadOnly)
        got: list[thunk.Locked] = []

        async def wait() -> None:
            got.append(await client.lock(other))

        s.nursery.start_soon(wait)
        await s.settle()
        assert not got
        s.gpu.drain(0)
        await s.settle()
        assert got


@pytest.mark.parametrize("descriptors", [True, False])
async def test_discard_renames_a_busy_allocation(descriptors: bool) -> None:
    async with stack(auto=False, descriptors=descriptors) as s:
        client = await (await s.client()).start()
        buffer, results = await client.allocate(PAGE, Place.APERTURE), [await client.allocate(PAGE, Place.APERTURE) for _ in "ab"]
        assert await client.write(buffer, b"first", Lock.Discard) == buffer
        client.tell(Commands().copy(results[0], buffer, PAGE).message(client.hContext))
        await s.settle()
        renamed = await client.write(buffer, b"second", Lock.Discard)
        assert renamed != buffer
        client.tell(Commands().copy(results[1], renamed, PAGE).message(client.hContext))
        for _ in range(4):
            await s.settle()
            s.gpu.drain(1)
            await s.settle()
            s.gpu.drain(0)
        await s.settle()
        assert (await client.read(results[0]))[:5] == b"first"
        assert (await client.read(results[1]))[:6] == b"second"
        # Both are idle: the same instance comes back, and destroying one destroys them all.
        assert await client.write(renamed, b"third", Lock.Discard) == renamed
        client.tell(thunk.DestroyAllocation(hDevice=client.hDevice, handles=[renamed]))
        await s.settle()
        with pytest.raises(RemoteError, match="was destroyed"):
            await client.lock(buffer)
        assert not client.changed


async def test_what_cannot_be_locked() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        invisible = await client.allocate(PAGE, Place.LOCAL)
        visible = await client.allocate(PAGE, Place.ANYWHERE)
        with pytest.raises(RemoteError, match="not CpuVisible"):
            await client.lock(invisible)
        with pytest.raises(RemoteError, match="do not go together"):
            await client.lock(visible, Lock.ReadOnly | Lock.WriteOnly)
        with pytest.raises(RemoteError) as refused:
            await client.lock(visible, Lock.AcquireAperture)
        assert refused.value.code == HRESULT.D3DDDIERR_NOTAVAILABLE
        fence = await client.fence()
        client.tell(Commands().fill(visible, 1, PAGE).message(client.hContext))
        await finish(client, fence, 1)
        with pytest.raises(RemoteError) as refused:
            await client.lock(visible, Lock.DonotEvict)
        assert refused.value.code == HRESULT.D3DDDIERR_NOTAVAILABLE
        client.unlock(visible)
        await client.until(lambda: client.changed)
        assert "is not locked" in client.changed[0].sentence


async def test_a_locked_allocation_is_rendered_from_the_aperture_or_not_at_all() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        fence = await client.fence()
        either = await client.allocate(PAGE, Place.ANYWHERE)
        await client.lock(either)
        client.tell(Commands().fill(either, 4, PAGE).message(client.hContext))
        await finish(client, fence, 1)
        assert await residency(client, either) == [Where.RESIDENTINSHAREDMEMORY]
        local = await client.allocate(PAGE, Place.VISIBLE)
        await client.lock(local)
        client.tell(Commands().fill(local, 4, PAGE).message(client.hContext))
        await client.until(lambda: client.changed)
        assert client.changed[0].reason == HRESULT.D3DDDIERR_CANTRENDERLOCKEDALLOCATION


async def test_offer_and_reclaim() -> None:
    async with stack(local=4 * PAGE) as s:
        client = await (await s.client()).start()
        fence = await client.fence()
        kept, offered = await client.allocate(2 * PAGE, Place.LOCAL), await client.allocate(2 * PAGE, Place.LOCAL)
        client.tell(Commands().fill(kept, 1, PAGE).fill(offered, 2, PAGE).message(client.hContext))
        await finish(client, fence, 1)
        client.tell(thunk.OfferAllocations(hDevice=client.hDevice, handles=[offered], priority=1))
        reclaim = thunk.ReclaimAllocations(hDevice=client.hDevice, handles=[offered])
        assert (await client.ask(reclaim, thunk.Reclaimed)).discarded == [False]
        client.tell(thunk.OfferAllocations(hDevice=client.hDevice, handles=[offered], priority=1))
        more = await client.allocate(2 * PAGE, Place.LOCAL)
        client.tell(Commands().fill(more, 3, PAGE).message(client.hContext))
        await finish(client, fence, 2)
        assert await residency(client, kept, offered, more) == [1, 3, 1]
        assert (await client.ask(reclaim, thunk.Reclaimed)).discarded == [True]
        client.tell(thunk.OfferAllocations(hDevice=client.hDevice, handles=[offered], priority=1))
        client.tell(Commands().use(offered).message(client.hContext))
        await client.until(lambda: client.changed)
        assert "is offered and must be reclaimed" in client.changed[0].sentence


async def test_a_shared_resource_outlives_its_creator() -> None:
    async with stack() as s:
        maker, user = await (await s.client()).start("maker"), await (await s.client()).start("user")
        from tests.support.fake_gpu import allocation_private

        made = await maker.ask(
            thunk.CreateAllocation(
                hDevice=maker.hDevice,
                allocations=[thunk.AllocationInfo(private=allocation_private(PAGE, Place.FLEXIBLE))],
                create_resource=True,
                shared=True,
                private=b"resource",
            ),
            thunk.AllocationsCreated,
        )
        fence = await maker.fence()
        maker.tell(Commands().fill(made.handles[0], 0x42, PAGE).message(maker.hContext))
        await finish(maker, fence, 1)
        opened = await user.ask(
            thunk.OpenResource(hDevice=user.hDevice, hGlobalShare=made.hResource), thunk.SharedOpened
        )
        assert opened.private == b"resource"
        maker.channel.close()
        await s.settle()
        assert len(s.miniport.allocations) == 1
        staging, fence = await user.allocate(PAGE, Place.APERTURE), await user.fence()
        user.tell(Commands().copy(staging, opened.handles[0], PAGE).message(user.hContext))
        await finish(user, fence, 1)
        assert await user.read(staging) == b"\x42" * PAGE
        user.tell(thunk.DestroyAllocation(hDevice=user.hDevice, hResource=opened.hResource))
        await s.settle()
        assert len(s.miniport.allocations) == 1  # the staging one
        with pytest.raises(RemoteError, match="names no shared resource"):
            await user.ask(thunk.OpenResource(hDevice=user.hDevice, hGlobalShare=made.hResource), thunk.SharedOpened)


async def test_destruction_waits_for_the_gpu() -> None:
    async with stack(auto=False) as s:
        client = await (await s.client()).start()
        buffer = await client.allocate(PAGE, Place.APERTURE)
        client.tell(Commands().fill(buffer, 1, PAGE).message(client.hContext))
        client.tell(thunk.DestroyAllocation(hDevice=client.hDevice, handles=[buffer]))
        await s.settle()
        assert len(s.miniport.allocations) == 1
        s.gpu.drain(1)
        await s.settle()
        assert len(s.miniport.allocations) == 1
        s.gpu.drain(0)
        await s.settle()
        assert not s.miniport.allocations
        s.gpu.drain(1)  # the page leaves the aperture before its memory goes
        await s.settle()
        assert not client.changed
        assert not s.gpu.aperture


@pytest.mark.parametrize("descriptors", [True, False])
async def test_reading_and_writing_by_chunks(descriptors: bool) -> None:
    async with stack(descriptors=True) as s:
        client = await (await s.client(descriptors=descriptors)).start()
        buffer = await client.allocate(2 * PAGE, Place.APERTURE)
        await client.lock(buffer)
        client.tell(thunk.WriteAllocation(hAllocation=buffer, offset=PAGE - 2, data=b"abcd"))
        got = await client.ask(thunk.ReadAllocation(hAllocation=buffer, offset=PAGE - 3, size=6), thunk.AllocationData)
        assert got.data == b"\0abcd\0"
        for offset, size in ((2 * PAGE, 1), (0, 2 * PAGE + 1), (0, 1 << 21), (1 << 63, 1)):
            with pytest.raises(RemoteError, match="an allocation of 8192 bytes"):
                await client.ask(thunk.ReadAllocation(hAllocation=buffer, offset=offset, size=size), thunk.AllocationData)
        # What was mapped once stays in reach, as shared pages do.
        client.unlock(buffer)
        client.tell(thunk.WriteAllocation(hAllocation=buffer, offset=0, data=b"abcd"))
        assert (await client.read(buffer))[:4] == b"abcd"
        other = await client.allocate(PAGE, Place.APERTURE)
        client.tell(thunk.WriteAllocation(hAllocation=other, offset=0, data=b"abcd"))
        await client.until(lambda: client.changed)
        assert "has never been locked" in client.changed[0].sentence
