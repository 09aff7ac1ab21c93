"""DxgkDdiRender for short command buffers: the rules of :mod:`miniport.render`, packet by packet.

Columns pay off from some dozens of packets on; a draw or two are faster one by one. What a kind of packet may do is learnt from the
columns themselves, once, so that the rules stand in one place. What a command buffer may be given follows from its bytes alone, and
is remembered: one frame's commands are often the last one's, with other addresses. Only what passes is translated here: anything
that breaks a rule, or does not fit into one DMA buffer, is left to the columns, which know the sentence.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

import numpy as np

from wddm.ddi.d3dkmddi import (
    DXGK_ALLOCATIONLIST_DTYPE,
    DXGK_ALLOCATIONLIST_SEGMENTID_MASK,
    DXGK_ALLOCATIONLIST_WRITEOPERATION,
    DXGKARG_RENDER,
)
from wddm.ddi.d3dukmdt import D3DDDI_PATCHLOCATIONLIST_DTYPE
from wddm.hw.packets import ADDRESS2_OFFSET, ADDRESS_OFFSET, PACKET, PACKET_SIZE

from .private import DMA_PRIVATE_SIZE, DmaFlag, write_dma_private
from .render import Refused, address_rules, check_packets

#: Bytes of commands from which on the columns are faster.
LONGEST: Final = 128 * PACKET_SIZE
#: op, slot, extent, address, extent2, arg, address2
_PACKET: Final = struct.Struct("<HHIQIIQ32x")
#: AllocationIndex, Value, DriverId, AllocationOffset, PatchOffset, SplitOffset
_PATCH: Final = struct.Struct("<6I")
_patch_offset: Final = itemgetter(4)
#: hDeviceSpecificAllocation, Value, PhysicalAddress
_ALLOCATION: Final = struct.Struct("<QI4xQ")
_ADDRESS: Final = struct.Struct("<Q")
_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
assert _PACKET.size == PACKET_SIZE
assert _PATCH.size == D3DDDI_PATCHLOCATIONLIST_DTYPE.itemsize
assert _ALLOCATION.size == DXGK_ALLOCATIONLIST_DTYPE.itemsize

#: Of each address that a packet may be given: its place in the packet, must it be given, does the packet write through it.
Places = tuple[tuple[int, bool, bool], ...]
#: Of each address that a command buffer may be given: its place in the buffer, must it be given, is it written through, its extent.
Plan = tuple[tuple[int, bool, bool, int], ...]


@lru_cache(maxsize=4096)
def _places(op: int, slot: int, arg: int, copy_node: bool) -> Places | None:
    """The addresses of such a packet, or None when it is refused. ``arg``: its lowest two bits, all that rules look at."""
    packet = np.zeros(1, PACKET)
    packet["op"], packet["slot"], packet["arg"] = op, slot, arg
    try:
        check_packets(packet, copy_node=copy_node)
    except Refused:
        return None
    found = []
    for column, place in enumerate((ADDRESS_OFFSET, ADDRESS2_OFFSET)):
        given, required, writes = (bool(rule[0]) for rule in address_rules(packet, np.array([column])))
        if given:
            found.append((place, required, writes))
    return tuple(found)


@lru_cache(maxsize=256)
def _plan(commands: bytes, copy_node: bool) -> Plan | None:
    """The addresses of a command buffer in order, or None when it is refused whatever they are."""
    found = []
    at = 0
    for op, slot, extent, address, extent2, arg, address2 in _PACKET.iter_unpack(commands):
        places = _places(op, slot, arg & 3, copy_node)
        if places is None or address or address2:
            return None
        for place, required, writes in places:
            found.append((at + place, required, writes, extent if place == ADDRESS_OFFSET else extent2))
        at += PACKET_SIZE
    return tuple(found)


def translate(arguments: DXGKARG_RENDER, size_of: Callable[[int], int], *, copy_node: bool = False) -> bool:
    """What :func:`miniport.render.render` does, when it would take one pass and succeed. False: nothing was written.

    ``size_of``: bytes of an allocation by its device-specific handle.
    """
    length, count = arguments.CommandLength, arguments.PatchLocationListInSize
    private = arguments.pDmaBufferPrivateData
    if (
        not 0 <= length <= min(LONGEST, arguments.DmaSize, arguments.pCommand.nbytes)
        or length % PACKET_SIZE
        or arguments.MultipassOffset
        or not 0 <= count <= min(2 * LONGEST // PACKET_SIZE, arguments.PatchLocationListOutSize)
        or private is None
        or private.nbytes < DMA_PRIVATE_SIZE
    ):
        return False
    commands = arguments.pCommand[:length].tobytes()
    plan = _plan(commands, copy_node)
    if plan is None:
        return False
    patches_in: Any = arguments.pPatchLocationListIn
    patches_out: Any = arguments.pPatchLocationListOut
    allocations: Any = arguments.pAllocationList
    count = min(count, len(patches_in))
    given = [_PATCH.unpack_from(patches_in, at) for at in range(0, count * _PATCH.size, _PATCH.size)]
    given.sort(key=_patch_offset)
    entries = iter(given)
    entry = next(entries, None)
    listed = min(arguments.AllocationListSize, len(allocations))
    out, addresses = [], []
    for at, required, writes, size in plan:
        if entry is None or entry[4] != at:
            if required:
                return False
            continue
        index, _, _, offset, _, _ = entry
        entry = next(entries, None)
        if index >= listed:
            return False
        handle, value, physical = _ALLOCATION.unpack_from(allocations, index * _ALLOCATION.size)
        if handle:
            if not size or offset + size > size_of(handle) or (writes and not value & DXGK_ALLOCATIONLIST_WRITEOPERATION):
                return False
            if value & DXGK_ALLOCATIONLIST_SEGMENTID_MASK:
                addresses.append((at, physical + offset & _MASK))
        elif required:
            return False
        out.append((index, index, 0, offset, at, 0))
    if entry is not None:
        return False  # it is no place for an address, or given twice
    write_dma_private(private, DmaFlag.NONE)
    memory = arguments.pDmaBuffer.data
    memory[:length] = commands
    for at, address in addresses:
        _ADDRESS.pack_into(memory, at, address)
    for number, location in enumerate(out):
        _PATCH.pack_into(patches_out, number * _PATCH.size, *location)
    arguments.DmaBufferUsed = length
    arguments.DmaBufferPrivateDataUsed = DMA_PRIVATE_SIZE
    arguments.PatchLocationListOutUsed = len(out)
    arguments.MultipassOffset = length // PACKET_SIZE
    return True
