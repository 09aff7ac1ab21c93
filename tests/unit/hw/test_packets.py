"""Packets and ring entries: records of the size that the manual tells, and a table that says everything about every op."""

from __future__ import annotations

import numpy as np
import pytest

from wddm.hw import packets
from wddm.hw.packets import ADDRESS2_OFFSET, ADDRESS_OFFSET, PACKET, PACKETS, QUERY_SIZES, RING_ENTRY, Op, QueryKind, Stage


def test_fields_lie_where_the_manual_says() -> None:
    fields = PACKET.fields
    assert fields is not None
    assert {name: (str(f[0].base), f[1]) for name, f in fields.items()} == {
        "op": ("uint16", 0),
        "slot": ("uint16", 2),
        "extent": ("uint32", 4),
        "address": ("uint64", ADDRESS_OFFSET),
        "extent2": ("uint32", 16),
        "arg": ("uint32", 20),
        "address2": ("uint64", ADDRESS2_OFFSET),
        "data": ("uint32", 32),
    }
    ring = RING_ENTRY.fields
    assert ring is not None
    assert [f[1] for f in ring.values()] == [0, 4, 8, 12, 16, 24, 28, 32, 40, 48, 56]
    assert packets.MAX_BUFFER % PACKET.itemsize == 0


def test_every_op_is_described() -> None:
    assert set(PACKETS) == set(Op)
    assert all(int(op) < 256 for op in Op)


@pytest.mark.parametrize("op", Op, ids=lambda op: op.name)
def test_a_description_makes_sense(op: Op) -> None:
    info = PACKETS[op]
    assert set(info.address) <= set("rw")
    assert set(info.address2) <= set("rw")
    assert info.privileged == (op >= 0x80)
    # Work needs its addresses, state may go without: address 0 unbinds.
    assert info.optional == (bool(info.address) and op < 0x40)
    if not info.address2:
        assert info.optional2
    if info.staged:
        assert info.slots
        assert (len(Stage) - 1) << 8 | info.slots - 1 < 1 << 16
    assert info.slots <= 256


def test_query_blocks_hold_their_state_and_results() -> None:
    assert set(QUERY_SIZES) == set(QueryKind)
    assert all(size >= 16 and size % 8 == 0 for size in QUERY_SIZES.values())
    assert QUERY_SIZES[QueryKind.PIPELINE_STATISTICS] == 8 + 11 * 8


def test_records_are_little_endian() -> None:
    row = np.zeros(1, PACKET)
    row["op"], row["address"] = Op.DRAW, 0x1122_3344_5566_7788
    assert row.tobytes()[:16] == bytes([0x40, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11])
