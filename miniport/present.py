"""DxgkDdiPresent: flips are validated, blits and colour fills become packets.

Models "dxgkddi_present" and "_dxgkarg_present". Flips are programmed by SetVidPnSourceAddress (FlipOnVSyncMmIo), so that a flip
arrives here without a DMA buffer. Blits convert and stretch in one pass of the BLT packet: nothing half done is ever visible in
the destination.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from miniport.allocation import SCANOUT_FORMATS, Allocation, Allocations
from miniport.private import DmaFlag, write_dma_private
from miniport.render import Refused, pre_patch
from wddm.ddi.d3dkmddi import (
    DXGK_PRESENT_DESTINATION_INDEX,
    DXGK_PRESENT_SOURCE_INDEX,
    DXGK_PRESENTFLAGS,
    DXGKARG_PRESENT,
)
from wddm.ddi.d3dukmdt import D3DDDI_PATCHLOCATIONLIST_DTYPE, RECT
from wddm.ddi.status import NTSTATUS
from wddm.hw.descriptors import View, ViewDimension, float_bits
from wddm.hw.driver import AllocationKind
from wddm.hw.packets import ADDRESS_OFFSET, PACKET, PACKET_SIZE, Blt, ClearKind, Op

Array = npt.NDArray[Any]


def present(arguments: DXGKARG_PRESENT, allocations: Allocations) -> NTSTATUS:
    """DxgkDdiPresent. Raises Refused."""
    source = allocations.device_allocation(_handle(arguments, DXGK_PRESENT_SOURCE_INDEX))
    destination = allocations.device_allocation(_handle(arguments, DXGK_PRESENT_DESTINATION_INDEX))
    if arguments.Flags & (DXGK_PRESENTFLAGS.Flip | DXGK_PRESENTFLAGS.FlipWithNoWait):
        if source is None or destination is not None:
            raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, "a flip has a source and no destination")
        if source.format not in SCANOUT_FORMATS or source.samples != 1:
            raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, f"{source.format.name} cannot be scanned out")
        return NTSTATUS.STATUS_SUCCESS
    if destination is None:
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, "a blit has a destination")
    if arguments.Flags & DXGK_PRESENTFLAGS.ColorFill:
        return _emit(arguments, [_surface(0, destination)], [DXGK_PRESENT_DESTINATION_INDEX], _fills(arguments, destination))
    if source is None:
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, "a blit has a source")
    head = [_surface(0, destination), _surface(1, source)]
    places = [DXGK_PRESENT_DESTINATION_INDEX, DXGK_PRESENT_SOURCE_INDEX]
    return _emit(arguments, head, places, _blits(arguments, source, destination))


def _handle(arguments: DXGKARG_PRESENT, index: int) -> int:
    list_ = arguments.pAllocationList
    return int(list_["hDeviceSpecificAllocation"][index]) if index < len(list_) else 0


def _surface(slot: int, allocation: Allocation) -> Array:
    if allocation.kind is not AllocationKind.TEXTURE or allocation.format not in SCANOUT_FORMATS:
        raise Refused(NTSTATUS.STATUS_GRAPHICS_CANNOTCOLORCONVERT, f"{allocation.format.name} is no display format")
    row = np.zeros(1, PACKET)
    row["op"], row["slot"], row["extent"] = Op.SET_SURFACE, slot, allocation.size
    row["data"] = View(
        ViewDimension.TEXTURE2D,
        allocation.format,
        allocation.width,
        allocation.height,
        samples=allocation.samples,
        slices=allocation.slices,
    ).pack()
    return row


def _rectangles(arguments: DXGKARG_PRESENT) -> list[RECT]:
    return list(arguments.pDstSubRects[: arguments.SubRectCnt]) or [arguments.DstRect]


def _clip(rect: RECT, allocation: Allocation) -> tuple[int, int, int, int]:
    left, top = max(rect.left, 0), max(rect.top, 0)
    return left, top, min(rect.right, allocation.width), min(rect.bottom, allocation.height)


def _fills(arguments: DXGKARG_PRESENT, destination: Allocation) -> Array:
    rects = [_clip(rect, destination) for rect in _rectangles(arguments)]
    rects = [r for r in rects if r[0] < r[2] and r[1] < r[3]]
    rows = np.zeros(len(rects), PACKET)
    rows["op"] = Op.CLEAR_COLOR
    rows["arg"] = ClearKind.RECTANGLE
    colour = arguments.Color  # A8R8G8B8
    rows["data"][:, :4] = [float_bits((colour >> shift & 0xFF) / 255) for shift in (16, 8, 0, 24)]
    rows["data"][:, 4:] = np.array(rects, np.uint32).reshape(-1, 4)
    return rows


def _blits(arguments: DXGKARG_PRESENT, source: Allocation, destination: Allocation) -> Array:
    outer, inner = arguments.DstRect, arguments.SrcRect
    if outer.right <= outer.left or outer.bottom <= outer.top:
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, f"an empty destination rectangle {outer}")
    if not (0 <= inner.left < inner.right <= source.width and 0 <= inner.top < inner.bottom <= source.height):
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, f"a source rectangle {inner} outside its surface")
    scale_x = (inner.right - inner.left) / (outer.right - outer.left)
    scale_y = (inner.bottom - inner.top) / (outer.bottom - outer.top)
    rows = []
    for rect in _rectangles(arguments):
        left, top, right, bottom = _clip(rect, destination)
        left, top = max(left, outer.left), max(top, outer.top)
        right, bottom = min(right, outer.right), min(bottom, outer.bottom)
        if left >= right or top >= bottom:
            continue
        # The part of the source that belongs to this clip rectangle; whole texels, at least one.
        x0, y0 = int(inner.left + (left - outer.left) * scale_x), int(inner.top + (top - outer.top) * scale_y)
        x1 = min(inner.right, max(x0 + 1, round(inner.left + (right - outer.left) * scale_x)))
        y1 = min(inner.bottom, max(y0 + 1, round(inner.top + (bottom - outer.top) * scale_y)))
        row = np.zeros(1, PACKET)
        row["op"] = Op.BLT
        row["data"][0, Blt.DST_LEFT_TOP] = left | top << 16
        row["data"][0, Blt.DST_RIGHT_BOTTOM] = right | bottom << 16
        row["data"][0, Blt.SRC_LEFT_TOP] = x0 | y0 << 16
        row["data"][0, Blt.SRC_RIGHT_BOTTOM] = x1 | y1 << 16
        rows.append(row)
    return np.concatenate(rows) if rows else np.zeros(0, PACKET)


def _emit(arguments: DXGKARG_PRESENT, head: list[Array], places: list[int], work: Array) -> NTSTATUS:
    """Surfaces first, then as many rectangles as fit; MultipassOffset counts rectangles."""
    buffer, patches = arguments.pDmaBuffer, arguments.pPatchLocationListOut
    if buffer is None or patches is None:
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, "a blit needs a DMA buffer and a patch list")
    rest = work[arguments.MultipassOffset :]
    room = arguments.DmaSize // PACKET_SIZE - len(head)
    if arguments.PatchLocationListOutSize < len(head) or (room < 1 and len(rest)):
        raise Refused(NTSTATUS.STATUS_INSUFFICIENT_RESOURCES, "a DMA buffer that cannot hold one rectangle")
    count = min(len(rest), room)
    rows = np.concatenate([*head, rest[:count]])
    part = np.zeros(len(head), D3DDDI_PATCHLOCATIONLIST_DTYPE)
    part["AllocationIndex"] = places
    part["PatchOffset"] = np.arange(len(head)) * PACKET_SIZE + ADDRESS_OFFSET
    pre_patch(rows, part, arguments.pAllocationList, 0)
    buffer[: len(rows) * PACKET_SIZE] = rows.view(np.uint8)
    patches[: len(part)] = part
    write_dma_private(arguments.pDmaBufferPrivateData, DmaFlag.NONE)
    arguments.DmaBufferUsed = len(rows) * PACKET_SIZE
    arguments.PatchLocationListOutUsed = len(part)
    arguments.MultipassOffset += count
    if count < len(rest):
        return NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
    return NTSTATUS.STATUS_SUCCESS
