"""DxgkDdiRender and DxgkDdiRenderKm: from an untrusted command buffer to a DMA buffer.

Models the pages "dxgkddi_render" and "_dxgkarg_render". A command buffer is an array of fixed-size packets, so the whole of it
is validated by columns: opcodes, privilege, slots, every patch location, every extent against the allocation that it names.
Nothing is copied before everything has passed. The driver rebuilds the patch list (it may ignore the user's one), pre-patches
what the kernel has placed already, and goes on in a further DMA buffer when this one is full (MultipassOffset counts packets).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from miniport.private import DmaFlag, write_dma_private
from wddm.ddi.d3dkmddi import DXGK_ALLOCATIONLIST_SEGMENTID_MASK, DXGK_ALLOCATIONLIST_WRITEOPERATION, DXGKARG_RENDER
from wddm.ddi.d3dukmdt import D3DDDI_PATCHLOCATIONLIST_DTYPE
from wddm.ddi.status import NTSTATUS
from wddm.hw.packets import ADDRESS2_OFFSET, ADDRESS_OFFSET, PACKET, PACKET_SIZE, PACKETS, Op, Stage

Array = npt.NDArray[Any]

_OPS: Final = 256
_KNOWN: Final = np.zeros(_OPS, bool)
_PRIVILEGED: Final = np.zeros(_OPS, bool)
_STAGED: Final = np.zeros(_OPS, bool)
_SLOTS: Final = np.ones(_OPS, np.uint32)
#: Per address column: may it be given, must it be given, does the packet write through it.
_GIVEN: Final = np.zeros((2, _OPS), bool)
_REQUIRED: Final = np.zeros((2, _OPS), bool)
_WRITES: Final = np.zeros((2, _OPS), bool)

for _op, _info in PACKETS.items():
    _KNOWN[_op] = True
    _PRIVILEGED[_op] = _info.privileged
    _STAGED[_op] = _info.staged
    _SLOTS[_op] = max(1, _info.slots)
    _GIVEN[:, _op] = bool(_info.address), bool(_info.address2)
    _REQUIRED[:, _op] = bool(_info.address) and not _info.optional, bool(_info.address2) and not _info.optional2
    _WRITES[:, _op] = "w" in _info.address, "w" in _info.address2


class Refused(Exception):
    """The command buffer breaks a rule: the NTSTATUS for Dxgkrnl, and a sentence that names the packet."""

    def __init__(self, status: NTSTATUS, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


def _first(bad: Array) -> int:
    return int(np.argmax(bad))


def check_packets(packets: Array) -> Array:
    """Opcodes, privilege, slots and hand-written addresses. Returns the opcodes; raises Refused."""
    op: Array = packets["op"]
    unknown = op >= _OPS
    if unknown.any():
        raise Refused(NTSTATUS.STATUS_ILLEGAL_INSTRUCTION, f"packet {_first(unknown)}: no opcode {int(op[_first(unknown)]):#x}")
    unknown = ~_KNOWN[op]
    if unknown.any():
        raise Refused(NTSTATUS.STATUS_ILLEGAL_INSTRUCTION, f"packet {_first(unknown)}: no opcode {int(op[_first(unknown)]):#x}")
    privileged = _PRIVILEGED[op]
    if privileged.any():
        at = _first(privileged)
        raise Refused(NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION, f"packet {at}: {Op(int(op[at])).name} is privileged")
    addressed = (packets["address"] != 0) | (packets["address2"] != 0)
    if addressed.any():
        # Only the kernel knows where things are: an address that user mode wrote could reach anybody's memory.
        at = _first(addressed)
        raise Refused(NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION, f"packet {at}: an address that is not patched")
    slot = packets["slot"].astype(np.uint32)
    stage = slot >> 8
    bad = np.where(_STAGED[op], stage >= len(Stage), stage != 0) | ((slot & 0xFF) >= _SLOTS[op])
    if bad.any():
        at = _first(bad)
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, f"packet {at}: {Op(int(op[at])).name} has no slot {int(slot[at]):#x}")
    return op


def check_patches(packets: Array, op: Array, patches: Array, allocations: Array, sizes: npt.NDArray[np.uint64]) -> Array:
    """Every patch location against its packet, its allocation and its extent.

    ``allocations`` is the DXGK_ALLOCATIONLIST, ``sizes`` the bytes of each (0 for the NULL element). Returns the patch list in
    the order of the buffer; raises Refused.
    """
    offset = patches["PatchOffset"].astype(np.int64)
    row, within = offset // PACKET_SIZE, offset % PACKET_SIZE
    bad = (row >= len(packets)) | ((within != ADDRESS_OFFSET) & (within != ADDRESS2_OFFSET))
    if bad.any():
        at = _first(bad)
        raise Refused(NTSTATUS.STATUS_INVALID_USER_BUFFER, f"patch {at}: offset {int(offset[at])} is no address field")
    order = np.argsort(offset, kind="stable")
    patches, offset, row, within = patches[order], offset[order], row[order], within[order]
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
    bad = ~_GIVEN[column, target]
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
    # A packet that writes needs WriteOperation: residency and busy tracking rest on it. A source surface and a depth buffer
    # bound read-only are read although their packets could write.
    writes = _WRITES[column, target]
    writes &= ~((target == Op.SET_SURFACE) & (packets["slot"][row] == 1))
    writes &= ~((target == Op.SET_DEPTH_STENCIL) & ((packets["arg"][row] & 3) == 3))
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
    return patches


def pre_patch(packets: Array, patches: Array, allocations: Array, first: int) -> None:
    """Write the addresses of allocations that have a place (SegmentId not 0) into ``packets``, whose first is packet ``first``.

    Patch may be skipped when nothing moves, so this is an obligation and not an optimisation.
    """
    index = patches["AllocationIndex"]
    placed = (allocations["Value"][index] & DXGK_ALLOCATIONLIST_SEGMENTID_MASK) != 0
    placed &= allocations["hDeviceSpecificAllocation"][index] != 0
    if not placed.any():
        return
    chosen = patches[placed]
    address = allocations["PhysicalAddress"][chosen["AllocationIndex"]] + chosen["AllocationOffset"].astype(np.uint64)
    write_addresses(packets, chosen["PatchOffset"].astype(np.int64) - first * PACKET_SIZE, address)


def write_addresses(packets: Array, offsets: npt.NDArray[np.int64], addresses: Array) -> None:
    """Store 64-bit addresses at byte offsets that are multiples of 8."""
    packets.view(np.uint64)[offsets // 8] = addresses


def render(arguments: DXGKARG_RENDER, sizes: npt.NDArray[np.uint64]) -> NTSTATUS:
    """Translate (the rest of) a command buffer. ``sizes`` as in :func:`check_patches`. Raises Refused.

    Returns STATUS_SUCCESS, or STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER with MultipassOffset at the first packet left.
    """
    length = arguments.CommandLength
    if length % PACKET_SIZE or length > arguments.pCommand.nbytes:
        raise Refused(NTSTATUS.STATUS_INVALID_USER_BUFFER, f"{length} bytes of commands are no whole packets")
    packets: Array = arguments.pCommand[:length].view(PACKET)
    patches: Array = arguments.pPatchLocationListIn[: arguments.PatchLocationListInSize]
    allocations: Array = arguments.pAllocationList[: arguments.AllocationListSize]
    op = check_packets(packets)
    patches = check_patches(packets, op, patches, allocations, sizes)
    first = arguments.MultipassOffset
    if first > len(packets):
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, f"MultipassOffset {first} lies behind {len(packets)} packets")
    return emit(arguments, packets, patches, allocations, first)


def emit(arguments: DXGKARG_RENDER, packets: Array, patches: Array, allocations: Array, first: int) -> NTSTATUS:
    """Copy what fits of validated packets from ``first`` on, with its part of the patch list, into the DMA buffer."""
    begin = int(np.searchsorted(patches["PatchOffset"], first * PACKET_SIZE))
    count = min(len(packets) - first, arguments.DmaSize // PACKET_SIZE)
    end = int(np.searchsorted(patches["PatchOffset"], (first + count) * PACKET_SIZE))
    if end - begin > arguments.PatchLocationListOutSize:
        # Stop before the packet whose patch does not fit any more.
        end = begin + arguments.PatchLocationListOutSize
        count = int(patches["PatchOffset"][end]) // PACKET_SIZE - first
        end = int(np.searchsorted(patches["PatchOffset"], (first + count) * PACKET_SIZE))
    if count == 0 and first < len(packets):
        raise Refused(NTSTATUS.STATUS_INVALID_USER_BUFFER, f"packet {first} does not fit an empty DMA buffer")
    part = patches[begin:end]
    destination: Array = arguments.pDmaBuffer[: count * PACKET_SIZE].view(PACKET)
    destination[:] = packets[first : first + count]
    pre_patch(destination, part, allocations, first)
    out: Array = arguments.pPatchLocationListOut[: len(part)]
    assert out.dtype == D3DDDI_PATCHLOCATIONLIST_DTYPE
    out[:] = part
    out["PatchOffset"] -= first * PACKET_SIZE
    out["SplitOffset"] = 0
    write_dma_private(arguments.pDmaBufferPrivateData, DmaFlag.CONTINUE if first else DmaFlag.NONE)
    arguments.DmaBufferUsed = count * PACKET_SIZE
    arguments.PatchLocationListOutUsed = len(part)
    arguments.MultipassOffset = first + count
    done = arguments.MultipassOffset == len(packets)
    return NTSTATUS.STATUS_SUCCESS if done else NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
