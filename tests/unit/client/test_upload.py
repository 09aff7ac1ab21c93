"""The upload ring: data arrives whole, nothing unread is overwritten, a full ring says so."""

from __future__ import annotations

from collections import deque

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from wddm.client.upload import UploadRing
from wddm.wire.api import UPLOAD_HEADER

SIZE = 4096


def view(ring: UploadRing, position: int, size: int) -> bytes:
    start = UPLOAD_HEADER + position % ring.size
    return bytes(ring.memory.array[start : start + size])


@given(st.lists(st.tuples(st.integers(1, SIZE + 100), st.integers(0, 3)), max_size=60))
@settings(deadline=None, max_examples=100)
def test_unread_data_stays(steps: list[tuple[int, int]]) -> None:
    ring = UploadRing(SIZE)
    taken = ring.memory.array[:8].view(np.uint64)
    unread: deque[tuple[int, bytes]] = deque()
    for number, (size, reads) in enumerate(steps):
        data = np.full(size, number % 251, np.uint8)
        place = ring.put(data)
        if place is None:
            assert unread or size > SIZE
        else:
            position, length = place
            assert length == size
            assert position % SIZE + size <= SIZE
            unread.append((position, data.tobytes()))
        for position, content in unread:
            assert view(ring, position, len(content)) == content
        for _ in range(min(reads, len(unread))):
            position, content = unread.popleft()
            taken[0] = position + len(content)
    ring.close()


def test_strided_data_goes_up_in_order() -> None:
    ring = UploadRing(SIZE)
    data = np.arange(32, dtype=np.uint16).reshape(4, 8)[:, ::2]
    place = ring.put(data)
    assert place is not None
    assert view(ring, *place) == data.tobytes()
    ring.close()


def test_an_idle_ring_begins_again() -> None:
    ring = UploadRing(SIZE)
    taken = ring.memory.array[:8].view(np.uint64)
    for _ in range(10):
        place = ring.put(np.zeros(3000, np.uint8))
        assert place is not None
        assert place[0] % SIZE == 0
        taken[0] = sum(place)
    ring.close()
