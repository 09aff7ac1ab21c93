"""DxgkDdiRender and DxgkDdiRenderKm: from an untrusted command buffer to a DMA buffer.

Models the pages "dxgkddi_render" and "_dxgkarg_render". A command buffer is an array of fixed-size packets, so the whole of it
is validated by columns: opcodes, privilege, slots, every patch location, every extent against the allocation that it names. User
memory is captured once, and only the captured bytes are validated and copied; nothing is copied before everything has passed. The
driver rebuilds the patch list (it may ignore the user's one) and pre-patches what the kernel has placed already.

When the DMA buffer is full, the rest goes into a further one (MultipassOffset counts packets). Paging may come between the two, so
that the further part begins by binding again what was bound before it, with patch locations of its own; the rest of the state goes
on with the context.

A DMA buffer is never split: every patch location has SplitOffset 0, and a slot of its own for each allocation (the index in the
list), which says that all are needed from the first byte to the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from wddm.ddi.d3dkmddi import DXGK_ALLOCATIONLIST_SEGMENTID_MASK, DXGK_ALLOCATIONLIST_WRITEOPERATION, DXGKARG_RENDER
from wddm.ddi.d3dukmdt import D3DDDI_PATCHLOCATIONLIST_DTYPE
from wddm.ddi.status import NTSTATUS
from wddm.hw.packets import ADDRESS2_OFFSET, ADDRESS_OFFSET, PACKET, PACKET_SIZE, PACKETS, Op, Stage

from .private import DMA_PRIVATE_SIZE, DmaFlag, write_dma_private

Array = npt.NDArray[Any]

#: Opcodes below it are state.
FIRST_WORK_OP: Final = 0x40
_OPS: Final = 256
_KNOWN, _PRIVILEGED, _COPY = 1, 2, 4
#: By any 16-bit opcode: what it is.
_CLASS: Final = np.zeros(1 << 16, np.uint8)
_SLOTS: Final = np.ones(_OPS, np.uint16)
_STAGES: Final = np.ones(_OPS, np.uint16)
#: Per address column: may it be given, must it be given, does the packet write through it.
_GIVEN: Final = np.zeros((2, _OPS), bool)
_REQUIRED: Final = np.zeros((2, _OPS), bool)
_WRITES: Final = np.zeros((2, _OPS), bool)

for _op, _info in PACKETS.items():
    _CLASS[_op] = _KNOWN | (_PRIVILEGED if _info.privileged else 0) | (_COPY if _info.copy_node else 0)
    _SLOTS[_op] = max(1, _info.slots)
    _STAGES[_op] = len(Stage) if _info.staged else 1
    _GIVEN[:, _op] = bool(_info.address), bool(_info.address2)
    _REQUIRED[:, _op] = bool(_info.address) and not _info.optional, bool(_info.address2) and not _info.optional2
    _WRITES[:, _op] = "w" in _info.address, "w" in _info.address2


class Refused(Exception):
    """The command buffer breaks a rule: the NTSTATUS for Dxgkrnl, and a sentence that names the packet."""

    def __init__(self, status: NTSTATUS, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


@dataclass(slots=True)
class Commands:
    """A captured and validated command buffer. ``patches`` are in the order of the buffer; ``rows`` are their packets."""

    packets: Array
    op: Array
    patches: Array
    rows: npt.NDArray[np.int64]
    bound: npt.NDArray[np.bool_]  #: (2, packets): whether an address column names an allocation


def _first(bad: Array) -> int:
    return int(np.argmax(bad))


def check_packets(packets: Array, *, copy_node: bool = False) -> Array:
    """Opcodes, privilege, slots and hand-written addresses. Returns the opcodes; raises Refused."""
    op: Array = packets["op"]
    kind = _CLASS[op]
    wanted = _KNOWN | _PRIVILEGED | _COPY if copy_node else _KNOWN | _PRIVILEGED
    bad = (kind & wanted) != wanted & ~_PRIVILEGED
    if bad.any():
        at = _first(bad)
        if not kind[at]:
            raise Refused(NTSTATUS.STATUS_ILLEGAL_INSTRUCTION, f"packet {at}: no opcode {int(op[at]):#x}")
        name = Op(int(op[at])).name
        if kind[at] & _PRIVILEGED:
            raise Refused(NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION, f"packet {at}: {name} is privileged")
        raise Refused(NTSTATUS.STATUS_ILLEGAL_INSTRUCTION, f"packet {at}: the copy node takes no {name}")
    addressed = (packets["address"] | packets["address2"]) != 0
    if addressed.any():
        # Only the kernel knows where things are: an address that user mode wrote could reach anybody's memory.
        at = _first(addressed)
        raise Refused(NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION, f"packet {at}: an address that is not patched")
    slot = packets["slot"]
    stage = slot >> 8
    bad = (stage >= _STAGES[op]) | ((slot & 0xFF) >= _SLOTS[op])
    bad |= (op == Op.SET_UAV) & (stage != Stage.PIXEL) & (stage != Stage.COMPUTE)
    if bad.any():
        at = _first(bad)
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, f"packet {at}: {Op(int(op[at])).name} has no slot {int(slot[at]):#x}")
    return op


def address_rules(packets: Array, column: npt.NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """Of one address (``column`` 0 or 1) of each packet: may it be given, must it be given, does the packet write through it."""
    op = packets["op"]
    writes = _WRITES[column, op]
    # A source surface and a depth buffer bound read-only are read although their packets could write.
    writes &= ~((op == Op.SET_SURFACE) & (packets["slot"] == 1))
    writes &= ~((op == Op.SET_DEPTH_STENCIL) & ((packets["arg"] & 3) == 3))
    return _GIVEN[column, op], _REQUIRED[column, op], writes


def check_patches(packets: Array, op: Array, patches: Array, allocations: Array, sizes: npt.NDArray[np.uint64]) -> Commands:
    """Every patch location against its packet, its allocation and its extent. Raises Refused.

    ``allocations`` is the DXGK_ALLOCATIONLIST, ``sizes`` the bytes of each (0 for the NULL element).
    """
    offset = patches["PatchOffset"].astype(np.int64)
    if (offset[1:] < offset[:-1]).any():
        order = np.argsort(offset, kind="stable")
        patches, offset = patches[order], offset[order]
    row, within = offset // PACKET_SIZE, offset % PACKET_SIZE
    bad = (row >= len(packets)) | ((within != ADDRESS_OFFSET) & (within != ADDRESS2_OFFSET))
    if bad.any():
        raise Refused(NTSTATUS.STATUS_INVALID_USER_BUFFER, f"patch offset {int(offset[_first(bad)])} is no address field")
    twice = offset[1:] == offset[:-1]
    if twice.any():
        raise Refused(NTSTATUS.STATUS_INVALID_USER_BUFFER, f"offset {int(offset[_first(twice)])} is patched twice")
    index = patches["AllocationIndex"]
    bad = index >= len(allocations)
    if bad.any():
        at = _first(bad)
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, f"packet {int(row[at])}: no allocation {int(index[at])} in the list")
    column = (within == ADDRESS2_OFFSET).astype(np.intp)
    target = op[row]
    given, _, writes = address_rules(packets[row], column)
    bad = ~given
    if bad.any():
        at = _first(bad)
        name = Op(int(target[at])).name
        raise Refused(NTSTATUS.STATUS_INVALID_USER_BUFFER, f"packet {int(row[at])}: {name} takes no address there")
    null = allocations["hDeviceSpecificAllocation"][index] == 0
    extent = np.where(column == 0, packets["extent"][row], packets["extent2"][row]).astype(np.uint64)
    end = patches["AllocationOffset"].astype(np.uint64) + extent
    bad = ~null & ((end > sizes[index]) | (extent == 0))
    if bad.any():
        at = _first(bad)
        where = f"packet {int(row[at])}: bytes up to {int(end[at])} of an allocation of {int(sizes[index[at]])}"
        raise Refused(NTSTATUS.STATUS_INVALID_USER_BUFFER, where if extent[at] else f"packet {int(row[at])}: an extent of 0 bytes")
    # A packet that writes needs WriteOperation: residency and busy tracking rest on it.
    bad = ~null & writes & ((allocations["Value"][index] & DXGK_ALLOCATIONLIST_WRITEOPERATION) == 0)
    if bad.any():
        at = _first(bad)
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, f"packet {int(row[at])} writes what is listed without WriteOperation")
    bound = np.zeros((2, len(packets)), bool)
    bound[column[~null], row[~null]] = True
    for side in (0, 1):
        bad = _REQUIRED[side, op] & ~bound[side]
        if bad.any():
            at = _first(bad)
            raise Refused(NTSTATUS.STATUS_INVALID_HANDLE, f"packet {at}: {Op(int(op[at])).name} without its allocation")
    return Commands(packets, op, patches, row, bound)


def pre_patch(packets: Array, patches: Array, allocations: Array) -> None:
    """Write the addresses of allocations that have a place (SegmentId not 0) into ``packets``.

    Patch may be skipped when nothing moves, so this is an obligation and not an optimisation.
    """
    index = patches["AllocationIndex"]
    placed = (allocations["Value"][index] & DXGK_ALLOCATIONLIST_SEGMENTID_MASK) != 0
    placed &= allocations["hDeviceSpecificAllocation"][index] != 0
    if not placed.any():
        return
    chosen = patches[placed]
    address = allocations["PhysicalAddress"][chosen["AllocationIndex"]] + chosen["AllocationOffset"].astype(np.uint64)
    write_addresses(packets, chosen["PatchOffset"].astype(np.int64), address)


def write_addresses(packets: Array, offsets: npt.NDArray[np.int64], addresses: Array) -> None:
    """Store 64-bit addresses at byte offsets that are multiples of 8."""
    packets.view(np.uint64)[offsets // 8] = addresses


def patch_list(offsets: Array, indices: Array, allocation_offsets: Array) -> Array:
    """A patch location list: these byte offsets in the DMA buffer get these allocations' addresses plus these bytes."""
    found = np.zeros(len(offsets), D3DDDI_PATCHLOCATIONLIST_DTYPE)
    found["AllocationIndex"] = found["Value"] = indices  # Value: SlotId, and reserved bits
    found["AllocationOffset"] = allocation_offsets
    found["PatchOffset"] = offsets
    return found


def capture(arguments: DXGKARG_RENDER, sizes: npt.NDArray[np.uint64], *, copy_node: bool) -> Commands:
    """Take the command buffer and its patch list out of user memory, and validate them. Raises Refused."""
    length = arguments.CommandLength
    if length % PACKET_SIZE or not 0 <= length <= arguments.pCommand.nbytes:
        raise Refused(NTSTATUS.STATUS_INVALID_USER_BUFFER, f"{length} bytes of commands are no whole packets")
    packets: Array = np.array(arguments.pCommand[:length]).view(PACKET)
    patches: Array = np.array(arguments.pPatchLocationListIn[: arguments.PatchLocationListInSize])
    allocations: Array = arguments.pAllocationList[: arguments.AllocationListSize]
    op = check_packets(packets, copy_node=copy_node)
    return check_patches(packets, op, patches, allocations, sizes)


def render(arguments: DXGKARG_RENDER, sizes: npt.NDArray[np.uint64], *, copy_node: bool = False) -> NTSTATUS:
    """Translate (the rest of) a command buffer, for a context of the copy node or the graphics node. Raises Refused.

    ``sizes`` as in :func:`check_patches`. Returns STATUS_SUCCESS, or STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER with MultipassOffset
    at the first packet left.
    """
    commands = capture(arguments, sizes, copy_node=copy_node)
    first = arguments.MultipassOffset
    if first > len(commands.packets):
        raise Refused(
            NTSTATUS.STATUS_INVALID_PARAMETER, f"MultipassOffset {first} lies behind {len(commands.packets)} packets"
        )
    return emit(arguments, commands, first)


def live_bindings(commands: Commands, first: int) -> npt.NDArray[np.int64]:
    """The packets before ``first`` whose allocations are bound there, in order."""
    state = np.flatnonzero(commands.op[:first] < FIRST_WORK_OP)[::-1]
    place = commands.op[state].astype(np.uint32) << 16 | commands.packets["slot"][state]
    _, newest = np.unique(place, return_index=True)
    last = np.sort(state[newest])
    return last[commands.bound[:, last].any(axis=0)]


def emit(arguments: DXGKARG_RENDER, commands: Commands, first: int) -> NTSTATUS:
    """Copy what fits of the packets from ``first`` on, behind the bindings that they need, into the DMA buffer."""
    packets, patches = commands.packets, commands.patches
    again = live_bindings(commands, first) if 0 < first < len(packets) else np.zeros(0, np.int64)
    rebound = patches[np.isin(commands.rows, again)] if len(again) else patches[:0]
    begin = int(np.searchsorted(commands.rows, first))
    count = min(len(packets) - first, max(0, arguments.DmaSize // PACKET_SIZE - len(again)))
    end = int(np.searchsorted(commands.rows, first + count))
    room = max(0, arguments.PatchLocationListOutSize - len(rebound))
    if end - begin > room:
        # Stop before the packet whose patch does not fit any more.
        count = int(commands.rows[begin + room]) - first
        end = int(np.searchsorted(commands.rows, first + count))
    if count == 0 and first < len(packets):
        raise Refused(NTSTATUS.STATUS_INVALID_USER_BUFFER, f"packet {first} does not fit an empty DMA buffer")
    if not write_dma_private(arguments.pDmaBufferPrivateData, DmaFlag.CONTINUE if first else DmaFlag.NONE):
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, f"a DMA buffer without {DMA_PRIVATE_SIZE} bytes of private data")
    part: Array = arguments.pDmaBuffer[: (len(again) + count) * PACKET_SIZE].view(PACKET)
    part[len(again) :] = packets[first : first + count]
    locations = patches[begin:end]
    offsets = locations["PatchOffset"].astype(np.int64) + (len(again) - first) * PACKET_SIZE
    if len(again):
        part[: len(again)] = packets[again]
        # Binding a stream output target again must not set its counter again.
        part["arg"][: len(again)][commands.op[again] == Op.SET_STREAM_OUTPUT] = 0
        moved, within = np.divmod(rebound["PatchOffset"].astype(np.int64), PACKET_SIZE)
        offsets = np.concatenate([np.searchsorted(again, moved) * PACKET_SIZE + within, offsets])
        locations = np.concatenate([rebound, locations])
    listed = patch_list(offsets, locations["AllocationIndex"], locations["AllocationOffset"])
    pre_patch(part, listed, arguments.pAllocationList)
    arguments.pPatchLocationListOut[: len(listed)] = listed
    arguments.DmaBufferUsed = part.nbytes
    arguments.DmaBufferPrivateDataUsed = DMA_PRIVATE_SIZE
    arguments.PatchLocationListOutUsed = len(listed)
    arguments.MultipassOffset = first + count
    done = arguments.MultipassOffset == len(packets)
    return NTSTATUS.STATUS_SUCCESS if done else NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
