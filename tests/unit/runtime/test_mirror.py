"""Mirrors: the driver's changes go out, the kernel's come in, neither loses the other's."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.mirror import PAGE, Mirror

SIZE = 50 * PAGE + 30
_writes = st.lists(st.tuples(st.booleans(), st.integers(0, SIZE - 1), st.integers(1, 3000), st.integers(0, 255)), max_size=20)


def push(mirror: Mirror, kernel: np.ndarray) -> None:
    for offset, data in mirror.changes(2 * PAGE):
        assert data.nbytes <= 2 * PAGE
        kernel[offset : offset + data.nbytes] = data


def pull(mirror: Mirror, kernel: np.ndarray) -> None:
    for at in range(0, SIZE, PAGE):
        mirror.merge(at, kernel[at : at + PAGE].tobytes())


@given(_writes)
@settings(deadline=None, max_examples=60)
def test_both_sides_see_everything(writes: list[tuple[bool, int, int, int]]) -> None:
    """Each side writes its own half of every page; after an exchange both hold both."""
    mirror, kernel = Mirror(SIZE), np.zeros(SIZE, np.uint8)
    expected = np.zeros(SIZE, np.uint8)
    half = np.arange(SIZE) % PAGE < PAGE // 2
    for driver, offset, size, value in writes:
        span = np.zeros(SIZE, bool)
        span[offset : offset + size] = True
        span &= half if driver else ~half
        (mirror.array if driver else kernel)[span] = value
        expected[span] = value
        if driver:
            pull(mirror, kernel)  # what the kernel has comes in without harm to what is not sent yet
            push(mirror, kernel)
        else:
            pull(mirror, kernel)
        assert (mirror.array == expected).all()
    push(mirror, kernel)
    assert (kernel == expected).all()


def test_nothing_changed_is_nothing_sent() -> None:
    mirror = Mirror(SIZE)
    assert list(mirror.changes(PAGE)) == []
    mirror.array[PAGE : 3 * PAGE] = 1
    mirror.array[-1] = 2
    assert [(at, d.nbytes) for at, d in mirror.changes(1 << 20)] == [(PAGE, 2 * PAGE), (50 * PAGE, 30)]
    assert list(mirror.changes(PAGE)) == []
