"""DxgkDdiPresent: flips are validated, blits and colour fills become packets.

Models "dxgkddi_present" and "_dxgkarg_present". Flips are programmed by SetVidPnSourceAddress (FlipOnVSyncMmIo), so that a flip
arrives here without a DMA buffer. Blits convert and stretch in one pass of the BLT packet: nothing half done is ever visible in
the destination.

Colours: what a display shows of integers is sRGB, of floats linear light. Integers are copied as they stand; between integers and
floats they are converted, and also when LinearToSrgb says that the source's integers are linear. DEVIATES: the part of a stretched
blit that a clip rectangle leaves is taken from whole texels of the source.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from wddm.ddi.d3dkmddi import (
    DXGK_PRESENT_DESTINATION_INDEX,
    DXGK_PRESENT_SOURCE_INDEX,
    DXGK_PRESENTFLAGS,
    DXGKARG_PRESENT,
)
from wddm.ddi.d3dukmdt import RECT
from wddm.ddi.status import NTSTATUS
from wddm.hw.descriptors import View, ViewDimension, float_bits
from wddm.hw.driver import AllocationFlag, AllocationKind
from wddm.hw.formats import Format
from wddm.hw.packets import ADDRESS_OFFSET, PACKET, PACKET_SIZE, Blt, ClearKind, Op

from .allocation import SCANOUT_FORMATS, Allocation, Allocations
from .private import DMA_PRIVATE_SIZE, DmaFlag, write_dma_private
from .render import Refused, patch_list, pre_patch

Array = npt.NDArray[Any]

_FLIP: Final = DXGK_PRESENTFLAGS.Flip | DXGK_PRESENTFLAGS.FlipWithNoWait
_SUPPORTED: Final = _FLIP | DXGK_PRESENTFLAGS.Blt | DXGK_PRESENTFLAGS.ColorFill | DXGK_PRESENTFLAGS.LinearToSrgb
#: How integers that carry sRGB are seen as they stand, and how as light.
_AS_STORED: Final = {
    Format.B8G8R8A8_UNORM_SRGB: Format.B8G8R8A8_UNORM,
    Format.R8G8B8A8_UNORM_SRGB: Format.R8G8B8A8_UNORM,
}
_AS_LIGHT: Final = {
    Format.B8G8R8A8_UNORM: Format.B8G8R8A8_UNORM_SRGB,
    Format.B8G8R8X8_UNORM: Format.B8G8R8X8_UNORM_SRGB,
    Format.R8G8B8A8_UNORM: Format.R8G8B8A8_UNORM_SRGB,
}


def present(arguments: DXGKARG_PRESENT, allocations: Allocations, *, copy_node: bool = False) -> NTSTATUS:
    """DxgkDdiPresent. Raises Refused."""
    unknown = int(arguments.Flags) & ~int(_SUPPORTED)
    if unknown:
        raise Refused(NTSTATUS.STATUS_ILLEGAL_INSTRUCTION, f"present flags {unknown:#x} are not supported")
    source = allocations.device_allocation(_handle(arguments, DXGK_PRESENT_SOURCE_INDEX))
    destination = allocations.device_allocation(_handle(arguments, DXGK_PRESENT_DESTINATION_INDEX))
    if arguments.Flags & _FLIP:
        return _flip(arguments, source, destination)
    if copy_node:
        raise Refused(NTSTATUS.STATUS_ILLEGAL_INSTRUCTION, "the copy node neither blits nor fills")
    if destination is None:
        raise Refused(NTSTATUS.STATUS_INVALID_HANDLE, "a blit has a destination")
    if arguments.Flags & DXGK_PRESENTFLAGS.ColorFill:
        if source is not None:
            raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, "a colour fill has no source")
        head = [_surface(0, destination, _stored(destination))]
        return _emit(arguments, head, [DXGK_PRESENT_DESTINATION_INDEX], _fills(arguments, destination))
    if source is None:
        raise Refused(NTSTATUS.STATUS_INVALID_HANDLE, "a blit has a source")
    from_, to = _formats(source, destination, linear=bool(arguments.Flags & DXGK_PRESENTFLAGS.LinearToSrgb))
    head = [_surface(0, destination, to), _surface(1, source, from_)]
    places = [DXGK_PRESENT_DESTINATION_INDEX, DXGK_PRESENT_SOURCE_INDEX]
    return _emit(arguments, head, places, _blits(arguments, source, destination))


def _flip(arguments: DXGKARG_PRESENT, source: Allocation | None, destination: Allocation | None) -> NTSTATUS:
    """A flip is only validated; SetVidPnSourceAddress will do it."""
    if source is None or destination is not None or arguments.Flags & ~_FLIP:
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, "a flip has a source, no destination, and is nothing else")
    if not source.flags & AllocationFlag.PRIMARY:
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, "what is flipped to was not created as a primary")
    return NTSTATUS.STATUS_SUCCESS


def _handle(arguments: DXGKARG_PRESENT, index: int) -> int:
    list_ = arguments.pAllocationList
    return int(list_["hDeviceSpecificAllocation"][index]) if index < len(list_) else 0


def _stored(allocation: Allocation) -> Format:
    """The format that shows an allocation's numbers as they stand. Raises Refused for what is no display surface."""
    if allocation.kind is not AllocationKind.TEXTURE or allocation.format not in SCANOUT_FORMATS or allocation.depth != 1:
        raise Refused(
            NTSTATUS.STATUS_GRAPHICS_CANNOTCOLORCONVERT,
            f"a {allocation.kind.name.lower()} of format {allocation.format.name} is no display surface",
        )
    return _AS_STORED.get(allocation.format, allocation.format)


def _light(format: Format) -> Format:
    """The format that shows its light. Raises Refused where the hardware has none."""
    if format is Format.R16G16B16A16_FLOAT:
        return format
    if format not in _AS_LIGHT:
        raise Refused(NTSTATUS.STATUS_GRAPHICS_CANNOTCOLORCONVERT, f"{format.name} cannot be converted from or to linear light")
    return _AS_LIGHT[format]


def _formats(source: Allocation, destination: Allocation, *, linear: bool) -> tuple[Format, Format]:
    """How source and destination are seen, so that the BLT packet converts what has to be converted."""
    from_, to = _stored(source), _stored(destination)
    floats = [f is Format.R16G16B16A16_FLOAT for f in (from_, to)]
    if linear and not floats[0]:
        return from_, _light(to)
    return (_light(from_), _light(to)) if floats[0] != floats[1] else (from_, to)


def _surface(slot: int, allocation: Allocation, format: Format) -> Array:
    row = np.zeros(1, PACKET)
    row["op"], row["slot"], row["extent"] = Op.SET_SURFACE, slot, allocation.size
    row["data"] = View(
        ViewDimension.TEXTURE2D,
        format,
        allocation.width,
        allocation.height,
        mips=allocation.mips,
        slices=allocation.slices,
        samples=allocation.samples,
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
    colour = [(arguments.Color >> shift & 0xFF) / 255 for shift in (16, 8, 0, 24)]  # A8R8G8B8
    if destination.format is Format.R16G16B16A16_FLOAT:
        colour[:3] = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]  # sRGB to light
    rows["data"][:, :4] = [float_bits(c) for c in colour]
    rows["data"][:, 4:] = np.array(rects, np.uint32).reshape(-1, 4)
    return rows


def _blits(arguments: DXGKARG_PRESENT, source: Allocation, destination: Allocation) -> Array:
    outer, inner = arguments.DstRect, arguments.SrcRect
    if outer.right <= outer.left or outer.bottom <= outer.top:
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, f"an empty destination rectangle {outer}")
    if not (0 <= inner.left < inner.right <= source.width and 0 <= inner.top < inner.bottom <= source.height):
        raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, f"a source rectangle {inner} outside its surface")
    rows = []
    for rect in _rectangles(arguments):
        left, top, right, bottom = _clip(rect, destination)
        left, top = max(left, outer.left), max(top, outer.top)
        right, bottom = min(right, outer.right), min(bottom, outer.bottom)
        if left >= right or top >= bottom:
            continue
        x0, x1 = _part(inner.left, inner.right, outer.left, outer.right, left, right)
        y0, y1 = _part(inner.top, inner.bottom, outer.top, outer.bottom, top, bottom)
        if source is destination and x0 < right and left < x1 and y0 < bottom and top < y1:
            raise Refused(NTSTATUS.STATUS_INVALID_PARAMETER, "a blit within one surface whose rectangles overlap")
        row = np.zeros(1, PACKET)
        row["op"] = Op.BLT
        row["data"][0, Blt.DST_LEFT_TOP] = left | top << 16
        row["data"][0, Blt.DST_RIGHT_BOTTOM] = right | bottom << 16
        row["data"][0, Blt.SRC_LEFT_TOP] = x0 | y0 << 16
        row["data"][0, Blt.SRC_RIGHT_BOTTOM] = x1 | y1 << 16
        rows.append(row)
    return np.concatenate(rows) if rows else np.zeros(0, PACKET)


def _part(low: int, high: int, begin: int, end: int, left: int, right: int) -> tuple[int, int]:
    """The texels of low..high that belong to left..right when low..high is stretched over begin..end: whole ones, at least one."""
    size, over = high - low, end - begin
    first = low + (left - begin) * size // over
    last = low + (2 * (right - begin) * size + over) // (2 * over)
    return first, min(high, max(first + 1, last))


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
    part = patch_list(np.arange(len(head)) * PACKET_SIZE + ADDRESS_OFFSET, np.array(places), np.zeros(len(head), np.uint32))
    pre_patch(rows, part, arguments.pAllocationList)
    if not write_dma_private(arguments.pDmaBufferPrivateData, DmaFlag.NONE):
        raise Refused(
            NTSTATUS.STATUS_INSUFFICIENT_RESOURCES, f"a DMA buffer without {DMA_PRIVATE_SIZE} bytes of private data"
        )
    buffer[: len(rows) * PACKET_SIZE] = rows.view(np.uint8)
    patches[: len(part)] = part
    arguments.DmaBufferUsed = len(rows) * PACKET_SIZE
    arguments.DmaBufferPrivateDataUsed = DMA_PRIVATE_SIZE
    arguments.PatchLocationListOutUsed = len(part)
    arguments.MultipassOffset += count
    if count < len(rest):
        return NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
    return NTSTATUS.STATUS_SUCCESS
