"""DxgkDdiQueryAdapterInfo: what the adapter can do, its segments, and what the user-mode driver should know.

Models "dxgkddi_queryadapterinfo", "_dxgk_drivercaps" and "_dxgk_querysegmentout".
"""

from __future__ import annotations

from typing import Final

from wddm.ddi.d3dkmddi import (
    DXGK_DRIVERCAPS,
    DXGK_FLIPCAPS,
    DXGK_QUERYADAPTERINFOTYPE,
    DXGK_QUERYSEGMENTOUT,
    DXGK_VIDMMCAPS,
    DXGK_VIDSCHCAPS,
    DXGKARG_QUERYADAPTERINFO,
    vidsch_caps,
)
from wddm.ddi.d3dkmdt import (
    D3DKMDT_COMPUTE_PREEMPTION_GRANULARITY,
    D3DKMDT_GRAPHICS_PREEMPTION_GRANULARITY,
    D3DKMDT_PREEMPTION_CAPS,
    DXGK_COLORTRANSFORMCAPS,
)
from wddm.ddi.d3dukmdt import DXGKDDI_INTERFACE_VERSION
from wddm.ddi.status import NTSTATUS
from wddm.hw.driver import ADAPTER_PRIVATE, private_record
from wddm.hw.registers import Node, Register

from .hardware import Registers
from .private import DMA_PRIVATE_SIZE
from .segments import PAGING_BUFFER_SIZE, MemorySizes, descriptors
from .submission import HW_QUEUE_PACKET_CAP

#: Slots of patch locations: one for each element of an allocation list.
MAX_SLOT_ID: Final = 1 << 16


def query_adapter_info(arguments: DXGKARG_QUERYADAPTERINFO, registers: Registers, memory: MemorySizes) -> NTSTATUS:
    """DxgkDdiQueryAdapterInfo."""
    kinds = DXGK_QUERYADAPTERINFOTYPE
    if arguments.Type is kinds.DRIVERCAPS:
        arguments.pOutputData = driver_caps(memory)
    elif arguments.Type is kinds.QUERYSEGMENT:
        answer = arguments.pOutputData
        if not isinstance(answer, DXGK_QUERYSEGMENTOUT):
            return NTSTATUS.STATUS_INVALID_PARAMETER
        segments = descriptors(memory)
        answer.NbSegment = len(segments)
        if answer.pSegmentDescriptor is not None:  # asked a second time, with room for them
            answer.pSegmentDescriptor = segments
        answer.PagingBufferSegmentId = 0
        answer.PagingBufferSize = PAGING_BUFFER_SIZE
        answer.PagingBufferPrivateDataSize = DMA_PRIVATE_SIZE
    elif arguments.Type is kinds.UMDRIVERPRIVATE:
        data = umd_private(registers, memory)
        if arguments.OutputDataSize < len(data):
            return NTSTATUS.STATUS_BUFFER_TOO_SMALL
        arguments.pOutputData = data
    else:
        return NTSTATUS.STATUS_NOT_SUPPORTED
    return NTSTATUS.STATUS_SUCCESS


def driver_caps(memory: MemorySizes) -> DXGK_DRIVERCAPS:
    """DXGK_DRIVERCAPS."""
    scheduling = DXGK_VIDSCHCAPS.MultiEngineAware | DXGK_VIDSCHCAPS.PreemptionAware | DXGK_VIDSCHCAPS.CancelCommandAware
    scheduling |= DXGK_VIDSCHCAPS.NoDmaPatching  # buffers have no split points: there are no parts to look for leaks in
    return DXGK_DRIVERCAPS(
        MaxAllocationListSlotId=MAX_SLOT_ID,
        ApertureSegmentCommitLimit=memory.aperture,
        ColorTransformCaps=DXGK_COLORTRANSFORMCAPS.Gamma_Rgb256x3x16,
        MaxQueuedFlipOnVSync=1,
        FlipCaps=DXGK_FLIPCAPS.FlipOnVSyncMmIo | DXGK_FLIPCAPS.FlipImmediateMmIo | DXGK_FLIPCAPS.FlipIndependent,
        SchedulingCaps=vidsch_caps(scheduling, HwQueuePacketCap=HW_QUEUE_PACKET_CAP),
        # Primaries are scanned out of all local memory, most of which the processor does not see.
        MemoryManagementCaps=DXGK_VIDMMCAPS.DedicatedPagingEngine | DXGK_VIDMMCAPS.NonCpuVisiblePrimary,
        PagingNode=Node.COPY,
        NbAsymetricProcessingNodes=len(Node),
        # DEVIATES: it also has FlipIndependent, node metadata and monitored fences, which are of later versions.
        WDDMVersion=DXGKDDI_INTERFACE_VERSION.WIN8,
        PreemptionCaps=D3DKMDT_PREEMPTION_CAPS(
            GraphicsPreemptionGranularity=D3DKMDT_GRAPHICS_PREEMPTION_GRANULARITY.PRIMITIVE_BOUNDARY,
            ComputePreemptionGranularity=D3DKMDT_COMPUTE_PREEMPTION_GRANULARITY.THREAD_GROUP_BOUNDARY,
        ),
        SupportNonVGA=True,
        SupportPerEngineTDR=True,
    )


def umd_private(registers: Registers, memory: MemorySizes) -> bytes:
    """ADAPTER_PRIVATE for the user-mode driver."""
    read = registers.read
    return bytes(
        private_record(
            ADAPTER_PRIVATE,
            interface_version=read(Register.INTERFACE_VERSION),
            local_size=memory.local,
            visible_window=memory.visible,
            aperture_size=memory.aperture,
            node_count=read(Register.NODE_COUNT),
            engine_kind=read(Register.ENGINE_KIND),
            engine_threads=read(Register.ENGINE_THREADS),
            timestamp_frequency=read(Register.TIMESTAMP_FREQUENCY),
            head_count=read(Register.HEAD_COUNT),
        )
    )
