"""d3dumddi.h: the kernel services that the runtime gives a user-mode driver, and their arguments.

D3DDDICB_* structures, D3DDDI_DEVICECALLBACKS with its 65 slots in header order, D3DDDI_ADAPTERCALLBACKS, and the FORMATOP bits of
Direct3D 9 drivers. Every callback takes (hRTDevice, argument) and returns an HRESULT number (or an awaitable of it, see
``d3dukmdt.Result``). Declarations only.

DEVIATES: a command buffer is a writable ``uint8`` array, lists are numpy structured arrays of the ``d3dukmdt`` dtypes; CPU
memory of a lock is a ``uint8`` array over the allocation's pages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import ClassVar, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from .d3dukmdt import (
    D3DDDI_ALLOCATIONINFO,
    D3DDDI_ALLOCATIONINFO2,
    D3DDDI_CREATECONTEXTFLAGS,
    D3DDDI_CREATEHWQUEUEFLAGS,
    D3DDDI_ESCAPEFLAGS,
    D3DDDI_EVICT_FLAGS,
    D3DDDI_MAKERESIDENT,
    D3DDDI_MAPGPUVIRTUALADDRESS,
    D3DDDI_OFFER_FLAGS,
    D3DDDI_OFFER_PRIORITY,
    D3DDDI_PAGINGQUEUE_PRIORITY,
    D3DDDI_RECLAIM_RESULT,
    D3DDDI_RESERVEGPUVIRTUALADDRESS,
    D3DDDI_RESIDENCYSTATUS,
    D3DDDI_SYNCHRONIZATIONOBJECTINFO,
    D3DDDI_SYNCHRONIZATIONOBJECTINFO2,
    D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION_TYPE,
    D3DDDI_VIDEO_PRESENT_SOURCE_ID,
    D3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPU_FLAGS,
    D3DDDICB_LOCKFLAGS,
    D3DDDICB_SIGNALFLAGS,
    D3DGPU_SIZE_T,
    D3DGPU_VIRTUAL_ADDRESS,
    D3DKMT_HANDLE,
    HANDLE,
    Layout,
    PrivateData,
    Result,
    StructArray,
)

# --- allocations ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class D3DDDICB_ALLOCATE:
    """Create allocations. ``hResource`` 0 attaches them to the device (not for shared ones); ``hKMResource`` is out, and
    ``hAllocation`` of each element."""

    pAllocationInfo: Sequence[D3DDDI_ALLOCATIONINFO]
    NumAllocations: int = 0
    hResource: HANDLE = 0
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    pAllocationInfo2: Sequence[D3DDDI_ALLOCATIONINFO2] | None = None
    hKMResource: D3DKMT_HANDLE = 0
    _SIZE_: ClassVar[int] = 40
    _LAYOUT_: ClassVar[Layout] = (
        ("pPrivateDriverData", 0, 8),
        ("PrivateDriverDataSize", 8, 4),
        ("hResource", 16, 8),
        ("hKMResource", 24, 4),
        ("NumAllocations", 28, 4),
        ("pAllocationInfo", 32, 8),
        ("pAllocationInfo2", 32, 8),
    )


@dataclass(slots=True)
class D3DDDICB_DEALLOCATE:
    """Free a resource with all its allocations (``hResource`` not 0), or the listed allocations."""

    hResource: HANDLE = 0
    NumAllocations: int = 0
    HandleList: Sequence[D3DKMT_HANDLE] = ()


class D3DDDICB_DESTROYALLOCATION2FLAGS(IntFlag):
    """Flags of pfnDeallocate2Cb."""

    NONE = 0
    AssumeNotInUse = 0x1
    SynchronousDestroy = 0x2


@dataclass(slots=True)
class D3DDDICB_DEALLOCATE2:
    """WDDM 2 form of D3DDDICB_DEALLOCATE."""

    hResource: HANDLE = 0
    NumAllocations: int = 0
    HandleList: Sequence[D3DKMT_HANDLE] = ()
    Flags: D3DDDICB_DESTROYALLOCATION2FLAGS = D3DDDICB_DESTROYALLOCATION2FLAGS.NONE


@dataclass(slots=True)
class D3DDDICB_SETPRIORITY:
    """Eviction priorities: one value for a resource, or one per listed allocation."""

    pPriorities: Sequence[int]
    hResource: HANDLE = 0
    NumAllocations: int = 0
    HandleList: Sequence[D3DKMT_HANDLE] = ()


@dataclass(slots=True)
class D3DDDICB_QUERYRESIDENCY:
    """Where allocations are; ``pResidencyStatus`` is out, one per allocation or one for the resource."""

    hResource: HANDLE = 0
    NumAllocations: int = 0
    HandleList: Sequence[D3DKMT_HANDLE] = ()
    pResidencyStatus: list[D3DDDI_RESIDENCYSTATUS] = field(default_factory=list)


@dataclass(slots=True)
class D3DDDICB_OFFERALLOCATIONS:
    """The content is not needed: runtime resources, or allocations when ``pResources`` is None."""

    NumAllocations: int
    Priority: D3DDDI_OFFER_PRIORITY
    pResources: Sequence[HANDLE] | None = None
    HandleList: Sequence[D3DKMT_HANDLE] | None = None
    Flags: D3DDDI_OFFER_FLAGS = D3DDDI_OFFER_FLAGS.NONE


@dataclass(slots=True)
class D3DDDICB_RECLAIMALLOCATIONS:
    """The content is needed again; ``pDiscarded`` is out, True where it was lost (None: not asked for)."""

    NumAllocations: int
    pResources: Sequence[HANDLE] | None = None
    HandleList: Sequence[D3DKMT_HANDLE] | None = None
    pDiscarded: list[bool] | None = None


@dataclass(slots=True)
class D3DDDICB_RECLAIMALLOCATIONS2:
    """WDDM 2 form: paging is queued and ``PagingFenceValue`` (out) tells when the GPU may use the allocations."""

    PagingQueue: D3DKMT_HANDLE
    NumAllocations: int
    pResources: Sequence[HANDLE] | None = None
    HandleList: Sequence[D3DKMT_HANDLE] | None = None
    pDiscarded: list[bool] | None = None
    pResults: list[D3DDDI_RECLAIM_RESULT] | None = None
    PagingFenceValue: int = 0


@dataclass(slots=True)
class D3DDDICB_EVICT:
    """Take allocations off the residency list; ``NumBytesToTrim`` is out."""

    NumAllocations: int
    AllocationList: Sequence[D3DKMT_HANDLE]
    Flags: D3DDDI_EVICT_FLAGS = D3DDDI_EVICT_FLAGS.NONE
    NumBytesToTrim: int = 0


@dataclass(slots=True)
class D3DDDICB_LOCK:
    """CPU access (WDDM 1). ``hAllocation`` is in/out: Discard may return another instance. ``pData`` is out."""

    hAllocation: D3DKMT_HANDLE
    Flags: D3DDDICB_LOCKFLAGS
    PrivateDriverData: int = 0
    NumPages: int = 0
    pPages: Sequence[int] | None = None
    pData: npt.NDArray[np.uint8] | None = None
    GpuVirtualAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    _SIZE_: ClassVar[int] = 48
    _LAYOUT_: ClassVar[Layout] = (
        ("hAllocation", 0, 4),
        ("PrivateDriverData", 4, 4),
        ("NumPages", 8, 4),
        ("pPages", 16, 8),
        ("pData", 24, 8),
        ("Flags", 32, 4),
        ("GpuVirtualAddress", 40, 8),
    )


@dataclass(slots=True)
class D3DDDICB_UNLOCK:
    """End of CPU access."""

    phAllocations: Sequence[D3DKMT_HANDLE]
    NumAllocations: int = 0


@dataclass(slots=True)
class D3DDDICB_LOCK2:
    """CPU access (WDDM 2): never waits, never renames. ``pData`` is out."""

    hAllocation: D3DKMT_HANDLE
    Flags: int = 0
    pData: npt.NDArray[np.uint8] | None = None


@dataclass(slots=True)
class D3DDDICB_UNLOCK2:
    """End of CPU access (WDDM 2)."""

    hAllocation: D3DKMT_HANDLE


@dataclass(slots=True)
class D3DDDICB_INVALIDATECACHE:
    """Forget cached CPU lines of a range, in bytes."""

    hAllocation: D3DKMT_HANDLE
    Offset: int
    Length: int


@dataclass(slots=True)
class D3DDDICB_UPDATEALLOCATIONPROPERTY:
    """Move an allocation to other segments; ``PagingFenceValue`` is out."""

    hPagingQueue: D3DKMT_HANDLE
    hAllocation: D3DKMT_HANDLE
    SupportedSegmentSet: int = 0
    PreferredSegment: int = 0
    Flags: int = 0
    PagingFenceValue: int = 0


# --- contexts and submission ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class D3DDDICB_CREATECONTEXT:
    """Create a GPU context. The first command buffer and its lists (sizes in bytes and elements) are out."""

    NodeOrdinal: int
    EngineAffinity: int = 1
    Flags: D3DDDI_CREATECONTEXTFLAGS = D3DDDI_CREATECONTEXTFLAGS.NONE
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    hContext: HANDLE = 0
    pCommandBuffer: npt.NDArray[np.uint8] | None = None
    CommandBufferSize: int = 0
    pAllocationList: StructArray | None = None
    AllocationListSize: int = 0
    pPatchLocationList: StructArray | None = None
    PatchLocationListSize: int = 0
    CommandBuffer: D3DGPU_VIRTUAL_ADDRESS = 0
    _SIZE_: ClassVar[int] = 96
    _LAYOUT_: ClassVar[Layout] = (
        ("NodeOrdinal", 0, 4),
        ("EngineAffinity", 4, 4),
        ("Flags", 8, 4),
        ("pPrivateDriverData", 16, 8),
        ("PrivateDriverDataSize", 24, 4),
        ("hContext", 32, 8),
        ("pCommandBuffer", 40, 8),
        ("CommandBufferSize", 48, 4),
        ("pAllocationList", 56, 8),
        ("AllocationListSize", 64, 4),
        ("pPatchLocationList", 72, 8),
        ("PatchLocationListSize", 80, 4),
        ("CommandBuffer", 88, 8),
    )


@dataclass(slots=True)
class D3DDDICB_CREATECONTEXTVIRTUAL:
    """Create a context that submits GPU virtual addresses; ``hContext`` is out."""

    NodeOrdinal: int
    EngineAffinity: int = 1
    Flags: D3DDDI_CREATECONTEXTFLAGS = D3DDDI_CREATECONTEXTFLAGS.NONE
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    hContext: HANDLE = 0


@dataclass(slots=True)
class D3DDDICB_DESTROYCONTEXT:
    """Destroy a context."""

    hContext: HANDLE


class D3DDDICB_RENDERFLAGS(IntFlag):
    """Flags of pfnRenderCb."""

    NONE = 0
    ResizeCommandBuffer = 0x1
    ResizeAllocationList = 0x2
    ResizePatchLocationList = 0x4
    NullRendering = 0x8


class D3DDDI_MARKERLOGTYPE(IntEnum):
    """Kind of event-tracing marker that a submission carries."""

    NONE = 0
    PROFILE = 1
    BATCHED_PROFILE = 2


@dataclass(slots=True)
class D3DDDICB_RENDER:
    """Submit the current command buffer. ``CommandLength`` counts bytes from offset zero of the buffer.

    The ``New…`` members are out, the sizes also in as resize requests; after the call, even a failed one, the driver reads them
    again and never touches the old arrays.
    """

    CommandLength: int
    NumAllocations: int
    NumPatchLocations: int
    hContext: HANDLE = 0
    CommandOffset: int = 0
    Flags: D3DDDICB_RENDERFLAGS = D3DDDICB_RENDERFLAGS.NONE
    BroadcastContextCount: int = 0
    BroadcastContext: Sequence[HANDLE] = ()
    pNewCommandBuffer: npt.NDArray[np.uint8] | None = None
    NewCommandBufferSize: int = 0
    pNewAllocationList: StructArray | None = None
    NewAllocationListSize: int = 0
    pNewPatchLocationList: StructArray | None = None
    NewPatchLocationListSize: int = 0
    QueuedBufferCount: int = 0
    NewCommandBuffer: D3DGPU_VIRTUAL_ADDRESS = 0
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    MarkerLogType: D3DDDI_MARKERLOGTYPE = D3DDDI_MARKERLOGTYPE.NONE
    RenderCBSequence: int = 1
    _SIZE_: ClassVar[int] = 680
    _LAYOUT_: ClassVar[Layout] = (
        ("CommandLength", 0, 4),
        ("CommandOffset", 4, 4),
        ("NumAllocations", 8, 4),
        ("NumPatchLocations", 12, 4),
        ("pNewCommandBuffer", 16, 8),
        ("NewCommandBufferSize", 24, 4),
        ("pNewAllocationList", 32, 8),
        ("NewAllocationListSize", 40, 4),
        ("pNewPatchLocationList", 48, 8),
        ("NewPatchLocationListSize", 56, 4),
        ("Flags", 60, 4),
        ("hContext", 64, 8),
        ("BroadcastContextCount", 72, 4),
        ("BroadcastContext", 80, 512),
        ("QueuedBufferCount", 592, 4),
        ("NewCommandBuffer", 600, 8),
        ("pPrivateDriverData", 608, 8),
        ("PrivateDriverDataSize", 616, 4),
        ("MarkerLogType", 620, 4),
        ("RenderCBSequence", 624, 4),
    )


@dataclass(slots=True)
class D3DDDICB_SUBMITCOMMAND:
    """Submit commands at a GPU virtual address."""

    Commands: D3DGPU_VIRTUAL_ADDRESS
    CommandLength: int
    hContext: HANDLE
    BroadcastContextCount: int = 0
    BroadcastContext: Sequence[HANDLE] = ()
    Flags: D3DDDICB_RENDERFLAGS = D3DDDICB_RENDERFLAGS.NONE
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    NumPrimaries: int = 0
    WrittenPrimaries: Sequence[D3DKMT_HANDLE] = ()


@dataclass(slots=True)
class D3DDDICB_PRESENT:
    """Present of a Direct3D 9 driver."""

    hSrcAllocation: D3DKMT_HANDLE
    hDstAllocation: D3DKMT_HANDLE = 0
    hContext: HANDLE = 0
    BroadcastContextCount: int = 0
    BroadcastContext: Sequence[HANDLE] = ()


@dataclass(slots=True)
class D3DDDICB_SETDISPLAYMODE:
    """Scan out a primary; the attribute is out with D3DDDIERR_INCOMPATIBLEPRIVATEFORMAT."""

    hPrimaryAllocation: D3DKMT_HANDLE
    PrivateDriverFormatAttribute: int = 0


@dataclass(slots=True)
class D3DDDICB_SETDISPLAYPRIVATEDRIVERFORMAT:
    """Private format of a source."""

    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    PrivateDriverFormatAttribute: int


@dataclass(slots=True)
class D3DDDICB_ESCAPE:
    """Private message to the miniport, which may change the data in place."""

    pPrivateDriverData: bytearray
    PrivateDriverDataSize: int = 0
    hDevice: HANDLE = 0
    Flags: D3DDDI_ESCAPEFLAGS = D3DDDI_ESCAPEFLAGS.NONE
    hContext: HANDLE = 0


@dataclass(slots=True)
class D3DDDICB_LOGUMDMARKER:
    """Tracing marker of the driver."""

    DataSize: int
    pData: PrivateData


@dataclass(slots=True)
class D3DDDICB_PRESENTMULTIPLANEOVERLAY:
    """Overlay present of a Direct3D 9 driver."""

    hContext: HANDLE
    AllocationInfoCount: int
    AllocationInfo: Sequence[tuple[D3DKMT_HANDLE, int]]
    BroadcastContextCount: int = 0
    BroadcastContext: Sequence[HANDLE] = ()


# --- synchronisation ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class D3DDDICB_CREATESYNCHRONIZATIONOBJECT:
    """Create a mutex or semaphore; ``hSyncObject`` is out."""

    Info: D3DDDI_SYNCHRONIZATIONOBJECTINFO
    hSyncObject: D3DKMT_HANDLE = 0


@dataclass(slots=True)
class D3DDDICB_CREATESYNCHRONIZATIONOBJECT2:
    """Create a synchronisation object of any type; ``hSyncObject`` is out."""

    Info: D3DDDI_SYNCHRONIZATIONOBJECTINFO2
    hSyncObject: D3DKMT_HANDLE = 0


@dataclass(slots=True)
class D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT:
    """Destroy a synchronisation object."""

    hSyncObject: D3DKMT_HANDLE


@dataclass(slots=True)
class D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT:
    """Queue a wait in a context; at most D3DDDI_MAX_OBJECT_WAITED_ON objects."""

    hContext: HANDLE
    ObjectHandleArray: Sequence[D3DKMT_HANDLE]
    ObjectCount: int = 0


@dataclass(slots=True)
class D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT2:
    """Queue a wait with a fence value."""

    hContext: HANDLE
    ObjectHandleArray: Sequence[D3DKMT_HANDLE]
    ObjectCount: int = 0
    FenceValue: int = 0


@dataclass(slots=True)
class D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT:
    """Queue a signal in a context; at most D3DDDI_MAX_OBJECT_SIGNALED objects."""

    hContext: HANDLE
    ObjectHandleArray: Sequence[D3DKMT_HANDLE]
    ObjectCount: int = 0
    Flags: D3DDDICB_SIGNALFLAGS = D3DDDICB_SIGNALFLAGS.NONE


@dataclass(slots=True)
class D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT2:
    """Queue a signal that counts when every listed context has reached it. ``FenceValue`` shares its place with the event."""

    hContext: HANDLE
    ObjectHandleArray: Sequence[D3DKMT_HANDLE]
    ObjectCount: int = 0
    Flags: D3DDDICB_SIGNALFLAGS = D3DDDICB_SIGNALFLAGS.NONE
    BroadcastContextCount: int = 0
    BroadcastContext: Sequence[HANDLE] = ()
    FenceValue: int = 0
    CpuEventHandle: HANDLE = 0


@dataclass(slots=True)
class D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU:
    """Wait on the CPU; ``hAsyncEvent`` 0 blocks, else the event is set later."""

    ObjectHandleArray: Sequence[D3DKMT_HANDLE]
    FenceValueArray: Sequence[int]
    ObjectCount: int = 0
    hAsyncEvent: HANDLE = 0
    Flags: D3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPU_FLAGS = D3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPU_FLAGS.NONE


@dataclass(slots=True)
class D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMCPU:
    """Signal from the CPU."""

    ObjectHandleArray: Sequence[D3DKMT_HANDLE]
    FenceValueArray: Sequence[int]
    ObjectCount: int = 0
    Flags: D3DDDICB_SIGNALFLAGS = D3DDDICB_SIGNALFLAGS.NONE


@dataclass(slots=True)
class D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMGPU:
    """Hold later buffers of a context until the fences reach their values."""

    hContext: HANDLE
    ObjectHandleArray: Sequence[D3DKMT_HANDLE]
    MonitoredFenceValueArray: Sequence[int]
    ObjectCount: int = 0


@dataclass(slots=True)
class D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU:
    """Signal by a software packet of a context."""

    hContext: HANDLE
    ObjectHandleArray: Sequence[D3DKMT_HANDLE]
    MonitoredFenceValueArray: Sequence[int]
    ObjectCount: int = 0


@dataclass(slots=True)
class D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2:
    """Signal by software packets of several contexts."""

    ObjectHandleArray: Sequence[D3DKMT_HANDLE]
    BroadcastContextArray: Sequence[HANDLE]
    ObjectCount: int = 0
    BroadcastContextCount: int = 0
    Flags: D3DDDICB_SIGNALFLAGS = D3DDDICB_SIGNALFLAGS.NONE
    MonitoredFenceValueArray: Sequence[int] = ()
    CpuEventHandle: HANDLE = 0


@dataclass(slots=True)
class D3DDDICB_CREATEPAGINGQUEUE:
    """Create a paging queue; every member but the first and the last is out. The fence mapping is one read-only value."""

    Priority: D3DDDI_PAGINGQUEUE_PRIORITY = D3DDDI_PAGINGQUEUE_PRIORITY.NORMAL
    hPagingQueue: D3DKMT_HANDLE = 0
    hSyncObject: D3DKMT_HANDLE = 0
    FenceValueCPUVirtualAddress: npt.NDArray[np.uint64] | None = None
    PhysicalAdapterIndex: int = 0


@dataclass(slots=True)
class D3DDDICB_DESTROYPAGINGQUEUE:
    """Destroy a paging queue."""

    hPagingQueue: D3DKMT_HANDLE


# --- GPU virtual addresses ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class D3DDDICB_FREEGPUVIRTUALADDRESS:
    """Free a range of GPU virtual addresses."""

    BaseAddress: D3DGPU_VIRTUAL_ADDRESS
    Size: D3DGPU_SIZE_T


@dataclass(slots=True)
class D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION:
    """One step of an update; the members that its type needs are set."""

    OperationType: D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION_TYPE
    BaseAddress: D3DGPU_VIRTUAL_ADDRESS
    SizeInBytes: D3DGPU_SIZE_T
    hAllocation: D3DKMT_HANDLE = 0
    AllocationOffsetInBytes: D3DGPU_SIZE_T = 0
    SourceAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    Protection: int = 0
    DriverProtection: int = 0


@dataclass(slots=True)
class D3DDDICB_UPDATEGPUVIRTUALADDRESS:
    """Change mappings in rendering order; Flags bit 0 is DoNotWait."""

    hContext: HANDLE
    hFenceObject: D3DKMT_HANDLE
    Operations: Sequence[D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION]
    NumOperations: int = 0
    FenceValue: int = 0
    Flags: int = 0


# --- hardware queues ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class D3DDDICB_CREATEHWCONTEXT:
    """Create a hardware context; ``hHwContext`` is out."""

    NodeOrdinal: int
    EngineAffinity: int = 1
    Flags: int = 0
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    hHwContext: HANDLE = 0


@dataclass(slots=True)
class D3DDDICB_DESTROYHWCONTEXT:
    """Destroy a hardware context."""

    hHwContext: HANDLE


@dataclass(slots=True)
class D3DDDICB_CREATEHWQUEUE:
    """Create a hardware queue; the last four members are out."""

    hHwContext: HANDLE
    Flags: D3DDDI_CREATEHWQUEUEFLAGS = D3DDDI_CREATEHWQUEUEFLAGS.NONE
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    hHwQueue: HANDLE = 0
    hHwQueueProgressFence: D3DKMT_HANDLE = 0
    HwQueueProgressFenceCPUVirtualAddress: npt.NDArray[np.uint64] | None = None
    HwQueueProgressFenceGPUVirtualAddress: D3DGPU_VIRTUAL_ADDRESS = 0


@dataclass(slots=True)
class D3DDDICB_DESTROYHWQUEUE:
    """Destroy a hardware queue."""

    hHwQueue: HANDLE


@dataclass(slots=True)
class D3DDDICB_SUBMITCOMMANDTOHWQUEUE:
    """Submit to a hardware queue; at most D3DDDI_MAX_WRITTEN_PRIMARIES primaries."""

    hHwQueue: HANDLE
    HwQueueProgressFenceId: int
    Commands: D3DGPU_VIRTUAL_ADDRESS
    CommandLength: int
    Flags: int = 0
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    NumPrimaries: int = 0
    WrittenPrimaries: Sequence[D3DKMT_HANDLE] = ()


# --- overlays -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class D3DDDICB_KERNELOVERLAYINFO:
    """An overlay: an allocation and private data."""

    hAllocation: D3DKMT_HANDLE
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0


@dataclass(slots=True)
class D3DDDICB_CREATEOVERLAY:
    """Create an overlay; ``hKernelOverlay`` is out."""

    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    OverlayInfo: D3DDDICB_KERNELOVERLAYINFO
    hKernelOverlay: HANDLE = 0


@dataclass(slots=True)
class D3DDDICB_UPDATEOVERLAY:
    """Change an overlay."""

    hKernelOverlay: HANDLE
    OverlayInfo: D3DDDICB_KERNELOVERLAYINFO


@dataclass(slots=True)
class D3DDDICB_FLIPOVERLAY:
    """Show another allocation in an overlay."""

    hKernelOverlay: HANDLE
    hSource: D3DKMT_HANDLE
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0


@dataclass(slots=True)
class D3DDDICB_DESTROYOVERLAY:
    """Destroy an overlay."""

    hKernelOverlay: HANDLE


# --- tables ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class D3DDDICB_QUERYADAPTERINFO:
    """Private data from the miniport (UMDRIVERPRIVATE), written into ``pPrivateDriverData``."""

    pPrivateDriverData: bytearray
    PrivateDriverDataSize: int = 0


@dataclass(slots=True)
class D3DDDICB_GETMULTISAMPLEMETHODLIST:
    """Multisample methods of a source mode; ``pMethodList`` is out, pairs of samples and quality levels."""

    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    Width: int
    Height: int
    Format: int
    pMethodList: list[tuple[int, int]] | None = None
    MethodCount: int = 0


@dataclass(slots=True)
class D3DDDI_ADAPTERCALLBACKS:
    """Callbacks of an adapter; the first argument is hRTAdapter."""

    pfnQueryAdapterInfoCb: Callable[[HANDLE, D3DDDICB_QUERYADAPTERINFO], Result] | None = None
    pfnGetMultisampleMethodListCb: Callable[[HANDLE, D3DDDICB_GETMULTISAMPLEMETHODLIST], Result] | None = None
    pfnQueryAdapterInfoCb2: Callable[[HANDLE, D3DDDICB_QUERYADAPTERINFO], Result] | None = None


Untyped: TypeAlias = Callable[[HANDLE, object], Result]
"""A callback whose argument this project does not use: (hRTDevice, argument) -> HRESULT."""


@dataclass(slots=True)
class D3DDDI_DEVICECALLBACKS:
    """Kernel services of a device, 65 slots in header order; the first argument is hRTDevice."""

    pfnAllocateCb: Callable[[HANDLE, D3DDDICB_ALLOCATE], Result] | None = None
    pfnDeallocateCb: Callable[[HANDLE, D3DDDICB_DEALLOCATE], Result] | None = None
    pfnSetPriorityCb: Callable[[HANDLE, D3DDDICB_SETPRIORITY], Result] | None = None
    pfnQueryResidencyCb: Callable[[HANDLE, D3DDDICB_QUERYRESIDENCY], Result] | None = None
    pfnSetDisplayModeCb: Callable[[HANDLE, D3DDDICB_SETDISPLAYMODE], Result] | None = None
    pfnPresentCb: Callable[[HANDLE, D3DDDICB_PRESENT], Result] | None = None
    pfnRenderCb: Callable[[HANDLE, D3DDDICB_RENDER], Result] | None = None
    pfnLockCb: Callable[[HANDLE, D3DDDICB_LOCK], Result] | None = None
    pfnUnlockCb: Callable[[HANDLE, D3DDDICB_UNLOCK], Result] | None = None
    pfnEscapeCb: Callable[[HANDLE, D3DDDICB_ESCAPE], Result] | None = None
    pfnCreateOverlayCb: Callable[[HANDLE, D3DDDICB_CREATEOVERLAY], Result] | None = None
    pfnUpdateOverlayCb: Callable[[HANDLE, D3DDDICB_UPDATEOVERLAY], Result] | None = None
    pfnFlipOverlayCb: Callable[[HANDLE, D3DDDICB_FLIPOVERLAY], Result] | None = None
    pfnDestroyOverlayCb: Callable[[HANDLE, D3DDDICB_DESTROYOVERLAY], Result] | None = None
    pfnCreateContextCb: Callable[[HANDLE, D3DDDICB_CREATECONTEXT], Result] | None = None
    pfnDestroyContextCb: Callable[[HANDLE, D3DDDICB_DESTROYCONTEXT], Result] | None = None
    pfnCreateSynchronizationObjectCb: Callable[[HANDLE, D3DDDICB_CREATESYNCHRONIZATIONOBJECT], Result] | None = None
    pfnDestroySynchronizationObjectCb: Callable[[HANDLE, D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT], Result] | None = None
    pfnWaitForSynchronizationObjectCb: Callable[[HANDLE, D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT], Result] | None = None
    pfnSignalSynchronizationObjectCb: Callable[[HANDLE, D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT], Result] | None = None
    pfnSetAsyncCallbacksCb: Callable[[HANDLE, bool], None] | None = None
    pfnSetDisplayPrivateDriverFormatCb: Callable[[HANDLE, D3DDDICB_SETDISPLAYPRIVATEDRIVERFORMAT], Result] | None = None
    pfnOfferAllocationsCb: Callable[[HANDLE, D3DDDICB_OFFERALLOCATIONS], Result] | None = None
    pfnReclaimAllocationsCb: Callable[[HANDLE, D3DDDICB_RECLAIMALLOCATIONS], Result] | None = None
    pfnCreateSynchronizationObject2Cb: Callable[[HANDLE, D3DDDICB_CREATESYNCHRONIZATIONOBJECT2], Result] | None = None
    pfnWaitForSynchronizationObject2Cb: Callable[[HANDLE, D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT2], Result] | None = None
    pfnSignalSynchronizationObject2Cb: Callable[[HANDLE, D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT2], Result] | None = None
    pfnPresentMultiPlaneOverlayCb: Callable[[HANDLE, D3DDDICB_PRESENTMULTIPLANEOVERLAY], Result] | None = None
    pfnLogUMDMarkerCb: Callable[[HANDLE, D3DDDICB_LOGUMDMARKER], Result] | None = None
    pfnMakeResidentCb: Callable[[HANDLE, D3DDDI_MAKERESIDENT], Result] | None = None
    pfnEvictCb: Callable[[HANDLE, D3DDDICB_EVICT], Result] | None = None
    pfnWaitForSynchronizationObjectFromCpuCb: Callable[[HANDLE, D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU], Result] | None = None
    pfnSignalSynchronizationObjectFromCpuCb: Callable[[HANDLE, D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMCPU], Result] | None = None
    pfnWaitForSynchronizationObjectFromGpuCb: Callable[[HANDLE, D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMGPU], Result] | None = None
    pfnSignalSynchronizationObjectFromGpuCb: Callable[[HANDLE, D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU], Result] | None = None
    pfnCreatePagingQueueCb: Callable[[HANDLE, D3DDDICB_CREATEPAGINGQUEUE], Result] | None = None
    pfnDestroyPagingQueueCb: Callable[[HANDLE, D3DDDICB_DESTROYPAGINGQUEUE], Result] | None = None
    pfnLock2Cb: Callable[[HANDLE, D3DDDICB_LOCK2], Result] | None = None
    pfnUnlock2Cb: Callable[[HANDLE, D3DDDICB_UNLOCK2], Result] | None = None
    pfnInvalidateCacheCb: Callable[[HANDLE, D3DDDICB_INVALIDATECACHE], Result] | None = None
    pfnReserveGpuVirtualAddressCb: Callable[[HANDLE, D3DDDI_RESERVEGPUVIRTUALADDRESS], Result] | None = None
    pfnMapGpuVirtualAddressCb: Callable[[HANDLE, D3DDDI_MAPGPUVIRTUALADDRESS], Result] | None = None
    pfnFreeGpuVirtualAddressCb: Callable[[HANDLE, D3DDDICB_FREEGPUVIRTUALADDRESS], Result] | None = None
    pfnUpdateGpuVirtualAddressCb: Callable[[HANDLE, D3DDDICB_UPDATEGPUVIRTUALADDRESS], Result] | None = None
    pfnCreateContextVirtualCb: Callable[[HANDLE, D3DDDICB_CREATECONTEXTVIRTUAL], Result] | None = None
    pfnSubmitCommandCb: Callable[[HANDLE, D3DDDICB_SUBMITCOMMAND], Result] | None = None
    pfnDeallocate2Cb: Callable[[HANDLE, D3DDDICB_DEALLOCATE2], Result] | None = None
    pfnSignalSynchronizationObjectFromGpu2Cb: Callable[[HANDLE, D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2], Result] | None = None
    pfnReclaimAllocations2Cb: Callable[[HANDLE, D3DDDICB_RECLAIMALLOCATIONS2], Result] | None = None
    pfnGetResourcePresentPrivateDriverDataCb: Untyped | None = None
    pfnUpdateAllocationPropertyCb: Callable[[HANDLE, D3DDDICB_UPDATEALLOCATIONPROPERTY], Result] | None = None
    pfnOfferAllocations2Cb: Callable[[HANDLE, D3DDDICB_OFFERALLOCATIONS], Result] | None = None
    pfnReclaimAllocations3Cb: Callable[[HANDLE, D3DDDICB_RECLAIMALLOCATIONS2], Result] | None = None
    pfnAcquireResourceCb: Untyped | None = None
    pfnReleaseResourceCb: Untyped | None = None
    pfnCreateHwContextCb: Callable[[HANDLE, D3DDDICB_CREATEHWCONTEXT], Result] | None = None
    pfnDestroyHwContextCb: Callable[[HANDLE, D3DDDICB_DESTROYHWCONTEXT], Result] | None = None
    pfnCreateHwQueueCb: Callable[[HANDLE, D3DDDICB_CREATEHWQUEUE], Result] | None = None
    pfnDestroyHwQueueCb: Callable[[HANDLE, D3DDDICB_DESTROYHWQUEUE], Result] | None = None
    pfnSubmitCommandToHwQueueCb: Callable[[HANDLE, D3DDDICB_SUBMITCOMMANDTOHWQUEUE], Result] | None = None
    pfnSubmitWaitForSyncObjectsToHwQueueCb: Untyped | None = None
    pfnSubmitSignalSyncObjectsToHwQueueCb: Untyped | None = None
    pfnSubmitPresentBltToHwQueueCb: Untyped | None = None
    pfnSubmitPresentToHwQueueCb: Untyped | None = None
    pfnSubmitHistorySequenceCb: Untyped | None = None


# --- formats of Direct3D 9 drivers ----------------------------------------------------------------------------------


class FORMATOP_OPERATIONS(IntFlag):
    """Operations that a Direct3D 9 driver supports for a format."""

    NONE = 0
    TEXTURE = 0x1
    VOLUMETEXTURE = 0x2
    CUBETEXTURE = 0x4
    OFFSCREEN_RENDERTARGET = 0x8
    SAME_FORMAT_RENDERTARGET = 0x10
    ZSTENCIL = 0x40
    ZSTENCIL_WITH_ARBITRARY_COLOR_DEPTH = 0x80
    SAME_FORMAT_UP_TO_ALPHA_RENDERTARGET = 0x100
    DISPLAYMODE = 0x400
    ACCELERATION_3D = 0x800
    PIXELSIZE = 0x1000
    CONVERT_TO_ARGB = 0x2000
    OFFSCREENPLAIN = 0x4000
    SRGBREAD = 0x8000
    BUMPMAP = 0x1_0000
    DMAP = 0x2_0000
    NOFILTER = 0x4_0000
    MEMBEROFGROUP_ARGB = 0x8_0000
    SRGBWRITE = 0x10_0000
    NOALPHABLEND = 0x20_0000
    AUTOGENMIPMAP = 0x40_0000
    VERTEXTEXTURE = 0x80_0000
    NOTEXCOORDWRAPNORMIP = 0x100_0000
    PLANAR = 0x200_0000
    OVERLAY = 0x400_0000
    CAPTURE = 0x800_0000
    VIDEO_ENCODER = 0x1000_0000
    MULTIPLANE_OVERLAY = 0x2000_0000


FORMATOP_DTYPE: Final = np.dtype(
    [
        ("Format", "<u4"),
        ("Operations", "<u4"),
        ("FlipMsTypes", "<u4"),
        ("BltMsTypes", "<u4"),
        ("PrivateFormatBitCount", "<u4"),
    ]
)
"""One supported format of a Direct3D 9 driver; 20 bytes. Bit n-1 of a sample mask stands for n samples."""
