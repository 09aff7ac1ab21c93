"""The command stream: every command's length, cut-off commands, alignment, and bytes that mean nothing."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from umd.dp2.errors import D3DERR_COMMAND_UNPARSED, CommandError
from umd.dp2.parser import OP, UnknownCommand, parse
from wddm.ddi.d3dhal import DP2_COMMANDS

#: Payloads that depend on their own flags or counts, and how long they are.
SPECIAL = {
    OP.SETLIGHT: (struct.pack("<II", 3, 2) + bytes(104), 112),
    OP.DRAWRECTPATCH: (struct.pack("<II", 0, 3) + bytes(44), 52),
    OP.DRAWTRIPATCH: (struct.pack("<II", 0, 3) + bytes(28), 36),
    OP.SETCONVOLUTIONKERNELMONO: (struct.pack("<III", 2, 3, 3) + bytes(20), 32),
    OP.UPDATEPALETTE: (struct.pack("<IHH", 1, 0, 2) + bytes(8), 16),
    OP.CREATEVERTEXSHADER: (struct.pack("<III", 1, 8, 4) + bytes(12), 24),
    OP.CREATEPIXELSHADER: (struct.pack("<II", 1, 6) + bytes(6), 14),
    OP.CREATEVERTEXSHADERDECL: (struct.pack("<II", 1, 2) + bytes(16), 24),
    OP.CREATEVERTEXSHADERFUNC: (struct.pack("<II", 1, 5) + bytes(5), 13),
    OP.SETVERTEXSHADERCONST: (struct.pack("<II", 0, 2) + bytes(32), 40),
    OP.SETPIXELSHADERCONST: (struct.pack("<II", 0, 1) + bytes(16), 24),
    OP.SETVERTEXSHADERCONSTI: (struct.pack("<II", 0, 1) + bytes(16), 24),
    OP.SETPIXELSHADERCONSTI: (struct.pack("<II", 0, 1) + bytes(16), 24),
    OP.SETVERTEXSHADERCONSTB: (struct.pack("<II", 0, 3) + bytes(12), 20),
    OP.SETPIXELSHADERCONSTB: (struct.pack("<II", 0, 3) + bytes(12), 20),
}
ASSIGNED = [op for op, shape in DP2_COMMANDS.items() if not shape.response]


def payload(op: OP, count: int) -> bytes:
    """A payload of zeros for ``count``, or the special one."""
    if op in SPECIAL:
        return SPECIAL[op][0]
    shape = DP2_COMMANDS[op]
    size = shape.once.itemsize if shape.once is not None else 0
    if shape.each is not None:
        size += shape.each.itemsize * (1 if shape.single else max(0, count + shape.plus))
    if shape.inline is not None:
        size += (shape.inline[0] * count + shape.inline[1]) * 20
    return bytes(size)


def stream(op: int, count: int, data: bytes) -> memoryview:
    return memoryview(bytearray(struct.pack("<BBH", op, 0, count) + data))


@pytest.mark.parametrize("op", ASSIGNED, ids=lambda op: op.name)
def test_every_command_is_as_long_as_its_payload(op: OP) -> None:
    for count in (1,) if op in SPECIAL else (1, 2, 0):
        data = payload(op, count)
        buffer = stream(op, count, data)
        command = parse(buffer, 0, len(buffer), 20)
        assert (command.op, command.count, command.offset, command.end) == (op, count, 0, len(buffer))
        if op in SPECIAL:
            assert len(data) == SPECIAL[op][1]


@pytest.mark.parametrize("op", ASSIGNED, ids=lambda op: op.name)
def test_a_command_that_is_cut_off_is_refused_at_every_byte(op: OP) -> None:
    buffer = stream(op, 1, payload(op, 1))
    for end in range(len(buffer)):
        with pytest.raises(CommandError) as caught:
            parse(buffer, 0, end, 20)
        assert caught.value.hr == D3DERR_COMMAND_UNPARSED


@pytest.mark.parametrize("opcode", sorted(set(range(256)) - {int(op) for op in ASSIGNED}))
def test_what_is_not_assigned_or_only_answered_is_unknown(opcode: int) -> None:
    with pytest.raises(UnknownCommand) as caught:
        parse(stream(opcode, 1, bytes(64)), 0, 68, 20)
    assert (caught.value.opcode, caught.value.offset) == (opcode, 0)


def test_values_arrive() -> None:
    buffer = stream(OP.RENDERSTATE, 2, struct.pack("<IIIf", 7, 1, 38, 0.5))
    command = parse(buffer, 0, len(buffer), 0)
    assert command.each.tolist() == [(7, 1), (38, 0x3F000000)]
    buffer = stream(OP.INDEXEDTRIANGLESTRIP, 2, struct.pack("<H4H", 3, 0, 1, 2, 3))
    command = parse(buffer, 0, len(buffer), 0)
    assert int(command.once["wVStart"]) == 3
    assert command.each["wIndex"].tolist() == [0, 1, 2, 3]


def test_headers_are_not_aligned_but_inline_vertices_are() -> None:
    # A payload of two bytes, so that the next header is at 6 and the edge flags at 10; vertices begin at 16.
    data = struct.pack("<BBHH", OP.LINELIST, 0, 1, 0) + struct.pack("<BBHI", OP.TRIANGLEFAN_IMM, 0, 1, 7) + bytes(2)
    vertices = bytes(range(18))  # three of six bytes, so that the end is rounded up as well
    buffer = memoryview(bytearray(data + vertices + bytes(2) + struct.pack("<BBH", OP.LINELIST, 0, 0) + bytes(2)))
    first = parse(buffer, 0, len(buffer), 6)
    fan = parse(buffer, first.end, len(buffer), 6)
    assert first.end == 6
    assert int(fan.once["dwEdgeFlags"]) == 7
    assert fan.vertices is not None
    assert bytes(fan.vertices) == vertices
    assert fan.end == 36
    assert parse(buffer, fan.end, len(buffer), 6).op is OP.LINELIST


def test_the_last_alignment_may_be_missing() -> None:
    buffer = stream(OP.LINELIST_IMM, 1, bytes(2 * 5))
    assert parse(buffer, 0, len(buffer), 5).end == len(buffer)


def test_a_clear_has_a_rectangle_even_for_none() -> None:
    for count, size in ((0, 32), (1, 32), (3, 64)):
        command = parse(stream(OP.CLEAR, count, bytes(size)), 0, size + 4, 0)
        assert command.end == size + 4
        assert len(command.each) == max(0, count - 1)


def test_a_palette_update_is_one_whatever_the_count_says() -> None:
    assert parse(stream(OP.UPDATEPALETTE, 9, SPECIAL[OP.UPDATEPALETTE][0]), 0, 20, 0).end == 20


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=200), st.integers(0, 80), st.integers(0, 64))
def test_any_bytes_are_commands_or_an_error(data: bytes, offset: int, vertex_size: int) -> None:
    buffer = memoryview(bytearray(data))
    at = min(offset, len(data))
    while at < len(data):
        try:
            command = parse(buffer, at, len(data), vertex_size)
        except (CommandError, UnknownCommand):
            return
        assert at + 4 <= command.end <= len(data)
        at = command.end


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(ASSIGNED), st.integers(0, 3)), max_size=8))
def test_commands_in_a_row_are_found_again(rows: list[tuple[Any, int]]) -> None:
    data = bytearray()
    for op, count in rows:
        count = 1 if op in SPECIAL else count
        shape = DP2_COMMANDS[op]
        data += struct.pack("<BBH", op, 0, count)
        if shape.inline is not None:
            data += bytes(shape.once.itemsize if shape.once is not None else 0)
            data += bytes(-len(data) % 4) + bytes((shape.inline[0] * count + shape.inline[1]) * 20)
        else:
            data += payload(op, count)
    found, at, buffer = [], 0, memoryview(data)
    while at < len(data):
        command = parse(buffer, at, len(data), 20)
        found.append((command.op, command.count))
        at = command.end
    assert found == [(op, 1 if op in SPECIAL else count) for op, count in rows]
