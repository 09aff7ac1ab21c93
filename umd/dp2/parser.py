"""The DP2 command stream: one command after the other, whole and inside its bounds.

The table of payload shapes is the header's (``DP2_COMMANDS``); here are the walk over it, the payloads that depend on flags, and
inline vertices. Nothing is carried out and no value is judged but what decides how long a command is. Models "Direct3D Command
Buffers".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from umd.dp2.errors import D3DERR_COMMAND_UNPARSED, CommandError
from wddm.ddi.d3dhal import (
    CONVOLUTIONKERNELFLAG,
    D3DHAL_DP2COMMAND_DTYPE,
    D3DHAL_DP2OPERATION,
    D3DHAL_SETLIGHT,
    D3DLIGHT7_DTYPE,
    D3DRECTPATCH_INFO_DTYPE,
    D3DTRIPATCH_INFO_DTYPE,
    DP2_COMMANDS,
    RTPATCHFLAG,
    DP2Command,
)

OP = D3DHAL_DP2OPERATION
HEADER_SIZE: Final = D3DHAL_DP2COMMAND_DTYPE.itemsize


@dataclass(slots=True)
class Command:
    """One command of the stream.

    ``once`` is the structure that comes one time, ``each`` the array of structures that are counted, ``tails`` the bytes behind
    each of these where it has any, ``vertices`` the inline vertices. Offsets are bytes of the buffer.
    """

    op: D3DHAL_DP2OPERATION
    count: int
    offset: int
    end: int
    each: Any = None
    once: Any = None
    tails: list[memoryview] = field(default_factory=list)
    vertices: memoryview | None = None


class UnknownCommand(Exception):
    """No command has this opcode, so that nobody here knows how long it is."""

    def __init__(self, opcode: int, offset: int) -> None:
        self.opcode = opcode
        self.offset = offset
        super().__init__(f"no command has the opcode {opcode}")


class _Payload:
    """A place in the payload of one command."""

    def __init__(self, buffer: memoryview, at: int, end: int) -> None:
        self.buffer = buffer
        self.at = at
        self.end = end

    def bytes(self, size: int) -> memoryview:
        """The next ``size`` bytes. Raises CommandError when they go beyond the stream."""
        at = self.at
        if size > self.end - at:
            raise CommandError(
                D3DERR_COMMAND_UNPARSED, f"the command goes on for {size} bytes at byte {at}, the stream ends at {self.end}"
            )
        self.at = at + size
        return self.buffer[at : at + size]

    def records(self, dtype: np.dtype[Any], count: int) -> Any:
        """The next ``count`` structures, without a copy."""
        return np.frombuffer(self.bytes(dtype.itemsize * count), dtype)

    def align(self) -> None:
        """To the next DWORD of the buffer; the end of the stream may come before it."""
        self.at = min((self.at + 3) & ~3, self.end)


def parse(buffer: memoryview, offset: int, end: int, vertex_size: int) -> Command:
    """The command at ``offset`` of a stream that ends at ``end``. ``vertex_size``: bytes of an inline vertex.

    Raises UnknownCommand, and CommandError for a command that is cut off.
    """
    payload = _Payload(buffer, offset, end)
    header = payload.records(D3DHAL_DP2COMMAND_DTYPE, 1)[0]
    opcode, count = int(header["bCommand"]), int(header["wPrimitiveCount"])
    shape = _SHAPES.get(opcode)
    if shape is None:
        raise UnknownCommand(opcode, offset)
    command = Command(OP(opcode), count, offset, offset)
    if shape.once is not None:
        command.once = payload.records(shape.once, 1)[0]
    if shape.inline is not None:
        per_primitive, more = shape.inline
        payload.align()
        command.vertices = payload.bytes((per_primitive * count + more) * vertex_size)
        payload.align()
    elif shape.each is not None:
        _elements(command, shape, payload)
    command.end = payload.at
    return command


def _elements(command: Command, shape: DP2Command, payload: _Payload) -> None:
    assert shape.each is not None
    number = 1 if shape.single else max(0, command.count + shape.plus)
    tail: Callable[[Any], int] | None = None
    if shape.tail:
        parts = shape.tail
        tail = lambda element: sum(int(element[member]) * unit for member, unit in parts)  # noqa: E731
    elif shape.conditional:
        tail = _CONDITIONAL[command.op]
    if tail is None:
        command.each = payload.records(shape.each, number)
        return
    elements = []
    for _ in range(number):
        element = payload.records(shape.each, 1)[0]
        elements.append(element)
        command.tails.append(payload.bytes(tail(element)))
    command.each = elements


def _light(element: Any) -> int:
    return D3DLIGHT7_DTYPE.itemsize if element["dwDataType"] == D3DHAL_SETLIGHT.DATA else 0


def _patch(floats: int, info: int) -> Callable[[Any], int]:
    def size(element: Any) -> int:
        flags = int(element["Flags"])
        return (4 * floats if flags & RTPATCHFLAG.HASSEGS else 0) + (info if flags & RTPATCHFLAG.HASINFO else 0)

    return size


def _kernel(element: Any) -> int:
    flags = int(element["dwFlags"])
    rows = int(element["dwWidth"]) if flags & CONVOLUTIONKERNELFLAG.ROW_WEIGHTS else 0
    columns = int(element["dwHeight"]) if flags & CONVOLUTIONKERNELFLAG.COL_WEIGHTS else 0
    return 4 * (rows + columns)


_SHAPES: Final = {int(op): shape for op, shape in DP2_COMMANDS.items() if not shape.response}
_CONDITIONAL: Final[dict[D3DHAL_DP2OPERATION, Callable[[Any], int]]] = {
    OP.SETLIGHT: _light,
    OP.DRAWRECTPATCH: _patch(4, D3DRECTPATCH_INFO_DTYPE.itemsize),
    OP.DRAWTRIPATCH: _patch(3, D3DTRIPATCH_INFO_DTYPE.itemsize),
    OP.SETCONVOLUTIONKERNELMONO: _kernel,
}
