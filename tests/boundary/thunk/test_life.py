"""The life of a command buffer across the thunk boundary: device, context, allocation, lock, render, interrupt, fence."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from tests.support.fake_gpu import Place
from tests.support.thunk_client import Commands, stack
from wddm import trace
from wddm.wire.memory import SharedMemory


@pytest.mark.parametrize("descriptors", [True, False])
async def test_render_reaches_memory(descriptors: bool) -> None:
    async with stack(descriptors=descriptors) as s:
        client = await (await s.client()).start()
        local = await client.allocate(4096, Place.LOCAL)
        staging = await client.allocate(4096, Place.APERTURE)
        fence = await client.fence()
        client.tell(Commands().fill(local, 0x5A, 4096).copy(staging, local, 4096).message(client.hContext))
        client.signal(fence, 1)
        await client.wait(fence, 1)
        assert await client.read(staging) == b"\x5a" * 4096
        assert not client.changed


async def test_fence_page_is_read_only_and_written_by_the_device() -> None:
    async with stack() as s:
        client = await (await s.client()).start()
        fence = await client.fence(7)
        reply = client.fence_reply
        assert reply.page is not None
        client.descriptors.clear()  # this test closes it
        with SharedMemory.open(reply.page.number, reply.page_size, read_only=True) as page:
            values = page.array.view(np.uint64)
            slot = reply.offset // 8
            assert values[slot] == 7
            client.tell(Commands().op(0).message(client.hContext))
            client.signal(fence, 8)
            await client.wait(fence, 8)
            assert values[slot] == 8
            with pytest.raises(OSError, match="not permitted"):
                mmap.mmap(page.descriptor, 4096, mmap.MAP_SHARED, mmap.PROT_WRITE)


async def test_the_numbered_life_of_a_frame() -> None:
    """The order of render-and-dma section 1: pages before the buffer that needs them, interrupt before DPC before retirement."""
    events: list[trace.Event] = []
    async with stack() as s:
        client = await (await s.client()).start()
        local = await client.allocate(4096, Place.LOCAL)
        fence = await client.fence()
        trace.start(events.append)
        try:
            client.tell(Commands().fill(local, 1, 4096).message(client.hContext))
            client.signal(fence, 1)
            await client.wait(fence, 1)
        finally:
            trace.stop()
    names = [e.name for e in events if e.process == "kernel"]
    interrupt = [
        "DxgkDdiInterruptRoutine",
        "DxgkCbNotifyInterrupt",
        "DxgkCbQueueDpc",
        "DxgkDdiDpcRoutine",
        "DxgkCbNotifyDpc",
        "Retire",
    ]
    assert [n for n in names if n != "D3DKMTWaitFromCpu"] == [
        "D3DKMTRender",
        "DxgkDdiRender",
        "D3DKMTSignalSynchronizationObject",
        "DxgkDdiSignalMonitoredFence",
        "DxgkDdiBuildPagingBuffer",
        "DxgkDdiPatch",
        "DxgkDdiSubmitCommand",
        *interrupt,
        "DxgkDdiPatch",
        "DxgkDdiSubmitCommand",
        *interrupt,
    ]
