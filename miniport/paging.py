"""DxgkDdiBuildPagingBuffer: moving allocations, as packets for the copy node.

Models "dxgkddi_buildpagingbuffer" and its operations. Paging buffers are the driver's own: their packets are privileged and name
system memory by bus address. Operations are appended; one that does not fit answers STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER and is
asked again with a fresh buffer; MultipassOffset counts its packets. The first operation of a buffer takes its private data.
Operations of the GPU virtual address model and of capabilities that this driver does not report are STATUS_NOT_SUPPORTED.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from wddm.ddi.d3dkmddi import (
    DXGK_BUILDPAGINGBUFFER_DISCARD_CONTENT,
    DXGK_BUILDPAGINGBUFFER_FILL,
    DXGK_BUILDPAGINGBUFFER_MAP_APERTURE_SEGMENT,
    DXGK_BUILDPAGINGBUFFER_READ_PHYSICAL,
    DXGK_BUILDPAGINGBUFFER_SIGNAL_MONITORED_FENCE,
    DXGK_BUILDPAGINGBUFFER_TRANSFER,
    DXGK_BUILDPAGINGBUFFER_UNMAP_APERTURE_SEGMENT,
    DXGK_BUILDPAGINGBUFFER_WRITE_PHYSICAL,
    DXGK_PAGING_LOCATION,
    DXGKARG_BUILDPAGINGBUFFER,
)
from wddm.ddi.status import NTSTATUS
from wddm.hw.memory import PAGE_SIZE
from wddm.hw.packets import PACKET, PACKET_SIZE, Op

from .mdl import mdl_address
from .private import DMA_PRIVATE_SIZE, DmaFlag, write_dma_private

#: Bytes moved by one packet: small enough that the copy node can be preempted often, and that extents fit 32 bits.
TRANSFER_CHUNK: Final = 1 << 26


def build_paging_buffer(arguments: DXGKARG_BUILDPAGINGBUFFER) -> NTSTATUS:
    """Append one operation."""
    operation = arguments.Parameters
    if isinstance(operation, DXGK_BUILDPAGINGBUFFER_TRANSFER):
        rows = _transfer(operation)
    elif isinstance(operation, DXGK_BUILDPAGINGBUFFER_FILL):
        rows = _fill(operation)
    elif isinstance(operation, DXGK_BUILDPAGINGBUFFER_MAP_APERTURE_SEGMENT):
        rows = _map(operation)
    elif isinstance(operation, DXGK_BUILDPAGINGBUFFER_UNMAP_APERTURE_SEGMENT):
        rows = _unmap(operation)
    elif isinstance(operation, DXGK_BUILDPAGINGBUFFER_SIGNAL_MONITORED_FENCE):
        rows = _signal(operation)
    elif isinstance(
        operation,
        (DXGK_BUILDPAGINGBUFFER_DISCARD_CONTENT, DXGK_BUILDPAGINGBUFFER_READ_PHYSICAL, DXGK_BUILDPAGINGBUFFER_WRITE_PHYSICAL),
    ):
        rows = np.zeros(0, PACKET)  # the memory is coherent, and nothing is kept about content
    else:
        return NTSTATUS.STATUS_NOT_SUPPORTED
    rows = rows[arguments.MultipassOffset :]
    count = min(len(rows), arguments.DmaSize // PACKET_SIZE)
    arguments.pDmaBuffer[: count * PACKET_SIZE] = rows[:count].view(np.uint8)
    arguments.DmaBufferUsed = count * PACKET_SIZE
    if write_dma_private(arguments.pDmaBufferPrivateData, DmaFlag.PRIVILEGED):
        arguments.DmaBufferPrivateDataUsed = DMA_PRIVATE_SIZE  # later operations find none left
    if count < len(rows):
        arguments.MultipassOffset += count
        return NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
    return NTSTATUS.STATUS_SUCCESS


def _place(location: DXGK_PAGING_LOCATION, offset: int, mdl_pages: int) -> int:
    """Where one side of a transfer begins: TransferOffset counts on the segment side, MdlOffset on the system side."""
    if location.SegmentId == 0:
        return mdl_address(location.pMdl) + mdl_pages * PAGE_SIZE
    return location.SegmentAddress + offset


def _chunks(size: int) -> npt.NDArray[np.int64]:
    return np.arange(0, size, TRANSFER_CHUNK, dtype=np.int64)


def _transfer(operation: DXGK_BUILDPAGINGBUFFER_TRANSFER) -> npt.NDArray[Any]:
    size = operation.TransferSize
    if size == 0:  # an eviction without content (after a reset): nothing to move
        return np.zeros(0, PACKET)
    begin = _chunks(size)
    rows = np.zeros(len(begin), PACKET)
    rows["op"] = Op.COPY_SYSTEM
    rows["extent"] = rows["extent2"] = np.minimum(size - begin, TRANSFER_CHUNK)
    source = _place(operation.Source, operation.TransferOffset, operation.MdlOffset)
    destination = _place(operation.Destination, operation.TransferOffset, operation.MdlOffset)
    rows["address"] = begin.astype(np.uint64) + np.uint64(destination)
    rows["address2"] = begin.astype(np.uint64) + np.uint64(source)
    return rows


def _fill(operation: DXGK_BUILDPAGINGBUFFER_FILL) -> npt.NDArray[Any]:
    begin = _chunks(operation.FillSize)
    rows = np.zeros(len(begin), PACKET)
    rows["op"] = Op.FILL_SYSTEM
    rows["extent"] = np.minimum(operation.FillSize - begin, TRANSFER_CHUNK)
    rows["address"] = begin.astype(np.uint64) + np.uint64(operation.Destination.SegmentAddress)
    rows["data"][:, 0] = operation.FillPattern
    return rows


def _map(operation: DXGK_BUILDPAGINGBUFFER_MAP_APERTURE_SEGMENT) -> npt.NDArray[Any]:
    rows = np.zeros(1, PACKET)
    rows["op"] = Op.MAP_APERTURE
    rows["address2"] = mdl_address(operation.pMdl) + operation.MdlOffset * PAGE_SIZE
    rows["data"][0, :2] = operation.OffsetInPages, operation.NumberOfPages
    return rows


def _unmap(operation: DXGK_BUILDPAGINGBUFFER_UNMAP_APERTURE_SEGMENT) -> npt.NDArray[Any]:
    # DEVIATES: the device has its own dummy pages (zeros, private to the range); the kernel's DummyPage is not used.
    rows = np.zeros(1, PACKET)
    rows["op"] = Op.UNMAP_APERTURE
    rows["data"][0, :2] = operation.OffsetInPages, operation.NumberOfPages
    return rows


def _signal(operation: DXGK_BUILDPAGINGBUFFER_SIGNAL_MONITORED_FENCE) -> npt.NDArray[Any]:
    rows = np.zeros(1, PACKET)
    rows["op"] = Op.WRITE_FENCE
    rows["address"] = operation.MonitoredFenceGpuVa
    rows["data"][0, :2] = operation.MonitoredFenceValue & 0xFFFF_FFFF, operation.MonitoredFenceValue >> 32
    return rows
