"""Private data of the driver pair: records of fixed size, and what is none of them is refused in words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wddm.hw import driver
from wddm.hw.driver import (
    ADAPTER_PRIVATE,
    ALLOCATION_PRIVATE,
    CONTEXT_PRIVATE,
    PRIVATE_MAGIC,
    PRIVATE_VERSION,
    RESOURCE_PRIVATE,
    PrivateDataMismatch,
    private_record,
    read_private,
)

RECORDS = [ADAPTER_PRIVATE, CONTEXT_PRIVATE, RESOURCE_PRIVATE, ALLOCATION_PRIVATE]


@pytest.mark.parametrize("dtype", RECORDS)
def test_a_record_comes_out_again(dtype: np.dtype) -> None:
    names = [n for n in dtype.names or () if n not in ("magic", "version", "reserved")]
    data = private_record(dtype, **{n: i + 1 for i, n in enumerate(names)})
    assert len(data) == dtype.itemsize
    record = read_private(dtype, data)
    assert [int(record[n]) for n in names] == list(range(1, len(names) + 1))
    for kind in (bytes, memoryview):
        assert read_private(dtype, kind(data)) == record


@pytest.mark.parametrize("dtype", RECORDS)
@settings(deadline=None, max_examples=50)
@given(data=st.none() | st.binary(max_size=100))
def test_any_bytes_are_a_record_or_refused(dtype: np.dtype, data: bytes | None) -> None:
    with pytest.raises(ValueError, match="private data"):
        read_private(dtype, data)


def test_another_version_is_told_from_nonsense() -> None:
    data = private_record(CONTEXT_PRIVATE)
    data[4] = PRIVATE_VERSION + 1
    with pytest.raises(PrivateDataMismatch, match=f"magic {PRIVATE_MAGIC:#x} version {PRIVATE_VERSION + 1}"):
        read_private(CONTEXT_PRIVATE, data)
    with pytest.raises(PrivateDataMismatch, match="private data of 15 bytes, 16 expected"):
        read_private(CONTEXT_PRIVATE, data[:-1])


def test_reserved_fields_are_zero() -> None:
    data = private_record(ALLOCATION_PRIVATE)
    data[-1] = 1
    with pytest.raises(ValueError, match="reserved"):
        read_private(ALLOCATION_PRIVATE, data)
    assert len(data) == driver.ALLOCATION_PRIVATE_SIZE
