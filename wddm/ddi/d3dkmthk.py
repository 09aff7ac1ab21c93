"""d3dkmthk.h: the D3DKMT thunks between a user-mode runtime and the graphics kernel.

Enumerations, flags and argument structures that the runtime's side of the thunk boundary mirrors: adapters, devices, contexts,
allocations, present, device state, priorities, fences, VidPN source ownership. Models the ``d3dkmthk`` reference. Declarations
only.

Every thunk takes one structure and returns an NTSTATUS. What travels between processes is declared in ``wddm.wire``; these are the
names and numbers it uses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Final

import numpy as np
import numpy.typing as npt

from .d3dukmdt import (
    D3DDDI_ALLOCATIONINFO,
    D3DDDI_CREATECONTEXTFLAGS,
    D3DDDI_ESCAPEFLAGS,
    D3DDDI_FLIPINTERVAL_TYPE,
    D3DDDI_RATIONAL,
    D3DDDI_ROTATION,
    D3DDDI_SYNCHRONIZATIONOBJECTINFO2,
    D3DDDI_VIDEO_PRESENT_SOURCE_ID,
    D3DDDI_VIDEO_PRESENT_TARGET_ID,
    D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING,
    D3DDDICB_LOCKFLAGS,
    D3DDDIFORMAT,
    D3DKMT_HANDLE,
    HANDLE,
    RECT,
    PrivateData,
    StructArray,
)

# --- adapters -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class D3DKMT_OPENADAPTERFROMLUID:
    """Open an adapter by its luid (64 bits); ``hAdapter`` is out."""

    AdapterLuid: int
    hAdapter: D3DKMT_HANDLE = 0


@dataclass(slots=True)
class D3DKMT_ADAPTERINFO:
    """One adapter of an enumeration."""

    hAdapter: D3DKMT_HANDLE
    AdapterLuid: int
    NumOfSources: int
    bPrecisePresentRegionsPreferred: bool = False


@dataclass(slots=True)
class D3DKMT_ENUMADAPTERS2:
    """Adapters of the system (out)."""

    NumAdapters: int = 0
    pAdapters: list[D3DKMT_ADAPTERINFO] = field(default_factory=list)


@dataclass(slots=True)
class D3DKMT_CLOSEADAPTER:
    """Close an adapter."""

    hAdapter: D3DKMT_HANDLE


class KMTQUERYADAPTERINFOTYPE(IntEnum):
    """What D3DKMTQueryAdapterInfo is asked for (KMTQAITYPE_; those that this project uses)."""

    UMDRIVERPRIVATE = 0
    UMDRIVERNAME = 1
    UMOPENGLINFO = 2
    GETSEGMENTSIZE = 3
    ADAPTERGUID = 4
    FLIPQUEUEINFO = 5
    ADAPTERADDRESS = 6
    SETWORKINGSETINFO = 7
    ADAPTERREGISTRYINFO = 8
    CURRENTDISPLAYMODE = 9
    MODELIST = 10
    CHECKDRIVERUPDATESTATUS = 11
    VIRTUALADDRESSINFO = 12
    DRIVERVERSION = 13
    ADAPTERTYPE = 15
    OUTPUTDUPLCONTEXTSCOUNT = 16
    WDDM_1_2_CAPS = 17
    UMD_DRIVER_VERSION = 18
    DIRECTFLIP_SUPPORT = 19
    MULTIPLANEOVERLAY_SUPPORT = 20
    DLIST_DRIVER_NAME = 21
    WDDM_1_3_CAPS = 22
    NODEMETADATA = 25
    PHYSICALADAPTERCOUNT = 30


@dataclass(slots=True)
class D3DKMT_QUERYADAPTERINFO:
    """A question about an adapter; the data is in/out."""

    hAdapter: D3DKMT_HANDLE
    Type: KMTQUERYADAPTERINFOTYPE
    pPrivateDriverData: bytearray
    PrivateDriverDataSize: int = 0


@dataclass(slots=True)
class D3DKMT_SEGMENTSIZEINFO:
    """Answer to GETSEGMENTSIZE, bytes."""

    DedicatedVideoMemorySize: int = 0
    DedicatedSystemMemorySize: int = 0
    SharedSystemMemorySize: int = 0


@dataclass(slots=True)
class D3DKMT_FLIPQUEUEINFO:
    """Answer to FLIPQUEUEINFO; FlipFlags bit 0 is FlipInterval."""

    MaxHardwareFlipQueueLength: int = 1
    MaxSoftwareFlipQueueLength: int = 3
    FlipFlags: int = 0


# --- devices and contexts -------------------------------------------------------------------------------------------


class D3DKMT_CREATEDEVICEFLAGS(IntFlag):
    """Kinds of device."""

    NONE = 0
    LegacyMode = 0x1
    RequestVSync = 0x2
    DisableGpuTimeout = 0x4
    TestDevice = 0x8


@dataclass(slots=True)
class D3DKMT_CREATEDEVICE:
    """Create a device; ``hDevice`` is out."""

    hAdapter: D3DKMT_HANDLE
    Flags: D3DKMT_CREATEDEVICEFLAGS = D3DKMT_CREATEDEVICEFLAGS.NONE
    hDevice: D3DKMT_HANDLE = 0


@dataclass(slots=True)
class D3DKMT_DESTROYDEVICE:
    """Destroy a device."""

    hDevice: D3DKMT_HANDLE


class D3DKMT_CLIENTHINT(IntEnum):
    """Who creates a context."""

    UNKNOWN = 0
    OPENGL = 1
    CDD = 2
    OPENCL = 3
    VULKAN = 4
    CUDA = 5
    RESERVED = 6
    DX7 = 7
    DX8 = 8
    DX9 = 9
    DX10 = 10
    DX11 = 11
    DX12 = 12


@dataclass(slots=True)
class D3DKMT_CREATECONTEXT:
    """Create a context; the last seven members are out (buffers as in D3DDDICB_CREATECONTEXT)."""

    hDevice: D3DKMT_HANDLE
    NodeOrdinal: int
    EngineAffinity: int = 1
    Flags: D3DDDI_CREATECONTEXTFLAGS = D3DDDI_CREATECONTEXTFLAGS.NONE
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    ClientHint: D3DKMT_CLIENTHINT = D3DKMT_CLIENTHINT.DX11
    hContext: D3DKMT_HANDLE = 0
    pCommandBuffer: npt.NDArray[np.uint8] | None = None
    CommandBufferSize: int = 0
    pAllocationList: StructArray | None = None
    AllocationListSize: int = 0
    pPatchLocationList: StructArray | None = None
    PatchLocationListSize: int = 0


@dataclass(slots=True)
class D3DKMT_DESTROYCONTEXT:
    """Destroy a context."""

    hContext: D3DKMT_HANDLE


class D3DKMT_SCHEDULINGPRIORITYCLASS(IntEnum):
    """GPU priority class of a process."""

    IDLE = 0
    BELOW_NORMAL = 1
    NORMAL = 2
    ABOVE_NORMAL = 3
    HIGH = 4
    REALTIME = 5


D3DKMT_CONTEXT_PRIORITY_MIN: Final = -7
D3DKMT_CONTEXT_PRIORITY_MAX: Final = 7


@dataclass(slots=True)
class D3DKMT_SETCONTEXTSCHEDULINGPRIORITY:
    """In-process priority of a context, -7..7."""

    hContext: D3DKMT_HANDLE
    Priority: int


class D3DKMT_DEVICEEXECUTION_STATE(IntEnum):
    """Can a device go on?"""

    ACTIVE = 1
    RESET = 2
    HUNG = 3
    STOPPED = 4
    ERROR_OUTOFMEMORY = 5
    ERROR_DMAFAULT = 6
    ERROR_DMAPAGEFAULT = 7


class D3DKMT_DEVICESTATE_TYPE(IntEnum):
    """What D3DKMTGetDeviceState is asked for."""

    EXECUTION = 1
    PRESENT = 2
    RESET = 3
    PRESENT_DWM = 4
    PAGE_FAULT = 5
    PRESENT_QUEUE = 6


class D3DKMT_DEVICERESET_STATE(IntFlag):
    """Answer to RESET."""

    NONE = 0
    DesktopSwitched = 0x1


@dataclass(slots=True)
class D3DKMT_PRESENT_STATS:
    """Answer to PRESENT: refresh counts, times in ticks of the performance counter."""

    PresentCount: int = 0
    PresentRefreshCount: int = 0
    SyncRefreshCount: int = 0
    SyncQPCTime: int = 0
    SyncGPUTime: int = 0


@dataclass(slots=True)
class D3DKMT_DEVICEPRESENT_STATE:
    """Answer to PRESENT for a source (out)."""

    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    PresentStats: D3DKMT_PRESENT_STATS = field(default_factory=D3DKMT_PRESENT_STATS)


@dataclass(slots=True)
class D3DKMT_DEVICEPAGEFAULT_STATE:
    """Answer to PAGE_FAULT (out)."""

    FaultedPrimitiveAPISequenceNumber: int = 0
    FaultedPipelineStage: int = 0
    FaultedBindTableEntry: int = 0
    PageFaultFlags: int = 0
    FaultErrorCode: int = 0
    FaultedVirtualAddress: int = 0


@dataclass(slots=True)
class D3DKMT_GETDEVICESTATE:
    """State of a device; the answer of ``StateType`` is out (PRESENT: the source is in)."""

    hDevice: D3DKMT_HANDLE
    StateType: D3DKMT_DEVICESTATE_TYPE
    ExecutionState: D3DKMT_DEVICEEXECUTION_STATE | None = None
    PresentState: D3DKMT_DEVICEPRESENT_STATE | None = None
    ResetState: D3DKMT_DEVICERESET_STATE | None = None
    PageFaultState: D3DKMT_DEVICEPAGEFAULT_STATE | None = None
    PresentQueueState: bool | None = None


# --- allocations ----------------------------------------------------------------------------------------------------


class D3DKMT_CREATEALLOCATIONFLAGS(IntFlag):
    """Flags of D3DKMTCreateAllocation."""

    NONE = 0
    CreateResource = 0x1
    CreateShared = 0x2
    NonSecure = 0x4
    CreateProtected = 0x8
    RestrictSharedAccess = 0x10
    ExistingSysMem = 0x20
    NtSecuritySharing = 0x40
    ReadOnly = 0x80
    CreateWriteCombined = 0x100
    CreateCached = 0x200
    SwapChainBackBuffer = 0x400
    CrossAdapter = 0x800
    OpenCrossAdapter = 0x1000
    PartialSharedCreation = 0x2000
    Zeroed = 0x4000
    WriteWatch = 0x8000
    StandardAllocation = 0x1_0000
    ExistingSection = 0x2_0000
    AllowNotZeroed = 0x4_0000
    PhysicallyContiguous = 0x8_0000
    NoKmdAccess = 0x10_0000
    SharedDisplayable = 0x20_0000


@dataclass(slots=True)
class D3DKMT_CREATEALLOCATION:
    """Create allocations; ``hResource`` is in/out, ``hGlobalShare`` and each hAllocation are out."""

    hDevice: D3DKMT_HANDLE
    pAllocationInfo: Sequence[D3DDDI_ALLOCATIONINFO]
    NumAllocations: int = 0
    hResource: D3DKMT_HANDLE = 0
    hGlobalShare: D3DKMT_HANDLE = 0
    pPrivateRuntimeData: PrivateData | None = None
    PrivateRuntimeDataSize: int = 0
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    Flags: D3DKMT_CREATEALLOCATIONFLAGS = D3DKMT_CREATEALLOCATIONFLAGS.NONE
    hPrivateRuntimeResourceHandle: HANDLE = 0


@dataclass(slots=True)
class D3DKMT_DESTROYALLOCATION:
    """Free a resource (with all its allocations) or listed allocations."""

    hDevice: D3DKMT_HANDLE
    hResource: D3DKMT_HANDLE = 0
    phAllocationList: Sequence[D3DKMT_HANDLE] = ()
    AllocationCount: int = 0


@dataclass(slots=True)
class D3DKMT_LOCK:
    """CPU access; ``hAllocation`` is in/out, ``pData`` out."""

    hDevice: D3DKMT_HANDLE
    hAllocation: D3DKMT_HANDLE
    Flags: D3DDDICB_LOCKFLAGS
    PrivateDriverData: int = 0
    NumPages: int = 0
    pPages: Sequence[int] | None = None
    pData: npt.NDArray[np.uint8] | None = None


@dataclass(slots=True)
class D3DKMT_UNLOCK:
    """End of CPU access."""

    hDevice: D3DKMT_HANDLE
    phAllocations: Sequence[D3DKMT_HANDLE]
    NumAllocations: int = 0


class D3DKMT_ESCAPETYPE(IntEnum):
    """Whom an escape is for (those that this project uses)."""

    DRIVERPRIVATE = 0
    VIDMM = 1
    TDRDBGCTRL = 2
    VIDSCH = 3
    DEVICE = 4


@dataclass(slots=True)
class D3DKMT_ESCAPE:
    """Private message to the miniport or (by type) to the kernel."""

    hAdapter: D3DKMT_HANDLE
    Type: D3DKMT_ESCAPETYPE
    pPrivateDriverData: bytearray
    PrivateDriverDataSize: int = 0
    hDevice: D3DKMT_HANDLE = 0
    Flags: D3DDDI_ESCAPEFLAGS = D3DDDI_ESCAPEFLAGS.NONE
    hContext: D3DKMT_HANDLE = 0


# --- submission -----------------------------------------------------------------------------------------------------


class D3DKMT_RENDERFLAGS(IntFlag):
    """Flags of D3DKMTRender."""

    NONE = 0
    ResizeCommandBuffer = 0x1
    ResizeAllocationList = 0x2
    ResizePatchLocationList = 0x4
    NullRendering = 0x8
    PresentRedirected = 0x10


@dataclass(slots=True)
class D3DKMT_RENDER:
    """Submit the context's command buffer; the New… members are out (sizes in/out), as is ``QueuedBufferCount``."""

    hContext: D3DKMT_HANDLE
    CommandLength: int
    AllocationCount: int
    PatchLocationCount: int
    CommandOffset: int = 0
    pNewCommandBuffer: npt.NDArray[np.uint8] | None = None
    NewCommandBufferSize: int = 0
    pNewAllocationList: StructArray | None = None
    NewAllocationListSize: int = 0
    pNewPatchLocationList: StructArray | None = None
    NewPatchLocationListSize: int = 0
    Flags: D3DKMT_RENDERFLAGS = D3DKMT_RENDERFLAGS.NONE
    BroadcastContextCount: int = 0
    BroadcastContext: Sequence[D3DKMT_HANDLE] = ()
    QueuedBufferCount: int = 0


class D3DKMT_PRESENTFLAGS(IntFlag):
    """What a present does."""

    NONE = 0
    Blt = 0x1
    ColorFill = 0x2
    Flip = 0x4
    FlipDoNotFlip = 0x8
    FlipDoNotWait = 0x10
    FlipRestart = 0x20
    DstRectValid = 0x40
    SrcRectValid = 0x80
    RestrictVidPnSource = 0x100
    SrcColorKey = 0x200
    DstColorKey = 0x400
    LinearToSrgb = 0x800
    PresentCountValid = 0x1000
    Rotate = 0x2000
    PresentToBitmap = 0x4000
    RedirectedFlip = 0x8000
    RedirectedBlt = 0x1_0000
    FlipStereo = 0x2_0000
    FlipStereoTemporaryMono = 0x4_0000
    FlipStereoPreferRight = 0x8_0000
    BltStereoUseRight = 0x10_0000
    PresentHistoryTokenOnly = 0x20_0000
    PresentRegionsValid = 0x40_0000
    PresentDDA = 0x80_0000
    ProtectedContentBlankedOut = 0x100_0000
    RemoteSession = 0x200_0000
    CrossAdapter = 0x400_0000
    DurationValid = 0x800_0000
    PresentIndirect = 0x1000_0000
    PresentHMD = 0x2000_0000


class D3DKMT_PRESENT_MODEL(IntEnum):
    """Kinds of present-history token."""

    UNINITIALIZED = 0
    REDIRECTED_GDI = 1
    REDIRECTED_FLIP = 2
    REDIRECTED_BLT = 3
    REDIRECTED_VISTABLT = 4
    SCREENCAPTUREFENCE = 5
    REDIRECTED_GDI_SYSMEM = 6
    REDIRECTED_COMPOSITION = 7
    SURFACECOMPLETE = 8
    FLIPMANAGER = 9


@dataclass(slots=True)
class D3DKMT_PRESENTHISTORYTOKEN:
    """What the compositor is told about a present; ``Token`` has the members of the model."""

    Model: D3DKMT_PRESENT_MODEL
    Token: object | None = None
    TokenSize: int = 0
    CompositionBindingId: int = 0


@dataclass(slots=True)
class D3DKMT_PRESENT:
    """Present; ``bOptimizeForComposition`` is out. ``hContext`` shares its place with hDevice."""

    hContext: D3DKMT_HANDLE
    hSource: D3DKMT_HANDLE
    Flags: D3DKMT_PRESENTFLAGS
    hWindow: HANDLE = 0
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID = 0
    hDestination: D3DKMT_HANDLE = 0
    Color: int = 0
    DstRect: RECT = field(default_factory=RECT)
    SrcRect: RECT = field(default_factory=RECT)
    SubRectCnt: int = 0
    pSrcSubRects: Sequence[RECT] = ()
    PresentCount: int = 0
    FlipInterval: D3DDDI_FLIPINTERVAL_TYPE = D3DDDI_FLIPINTERVAL_TYPE.IMMEDIATE
    BroadcastContextCount: int = 0
    BroadcastContext: Sequence[D3DKMT_HANDLE] = ()
    PresentLimitSemaphore: HANDLE = 0
    PresentHistoryToken: D3DKMT_PRESENTHISTORYTOKEN | None = None
    pPresentRegions: Sequence[RECT] | None = None
    Duration: int = 0
    BroadcastSrcAllocation: Sequence[D3DKMT_HANDLE] | None = None
    BroadcastDstAllocation: Sequence[D3DKMT_HANDLE] | None = None
    PrivateDriverDataSize: int = 0
    pPrivateDriverData: PrivateData | None = None
    bOptimizeForComposition: bool = False


class D3DKMT_QUEUEDLIMIT_TYPE(IntEnum):
    """Which limit is set or asked for."""

    SET_QUEUEDLIMIT_PRESENT = 1
    GET_QUEUEDLIMIT_PRESENT = 2


D3DKMT_DEFAULT_QUEUED_PRESENTS: Final = 3
D3DKMT_DEFAULT_QUEUED_PENDING_FLIPS: Final = 1


@dataclass(slots=True)
class D3DKMT_SETQUEUEDLIMIT:
    """Limits of a device (in or out by type): presents queued, and flips pending for a source."""

    hDevice: D3DKMT_HANDLE
    Type: D3DKMT_QUEUEDLIMIT_TYPE
    QueuedPresentLimit: int = D3DKMT_DEFAULT_QUEUED_PRESENTS
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID = 0
    QueuedPendingFlipLimit: int = D3DKMT_DEFAULT_QUEUED_PENDING_FLIPS


# --- display --------------------------------------------------------------------------------------------------------


class D3DKMT_VIDPNSOURCEOWNER_TYPE(IntEnum):
    """Who owns a source."""

    UNOWNED = 0
    SHARED = 1
    EXCLUSIVE = 2
    EXCLUSIVEGDI = 3
    EMULATED = 4


@dataclass(slots=True)
class D3DKMT_SETVIDPNSOURCEOWNER:
    """Own or give up sources."""

    hDevice: D3DKMT_HANDLE
    pType: Sequence[D3DKMT_VIDPNSOURCEOWNER_TYPE]
    pVidPnSourceId: Sequence[D3DDDI_VIDEO_PRESENT_SOURCE_ID]
    VidPnSourceCount: int = 0


@dataclass(slots=True)
class D3DKMT_DISPLAYMODE:
    """A display mode."""

    Width: int
    Height: int
    Format: D3DDDIFORMAT
    IntegerRefreshRate: int
    RefreshRate: D3DDDI_RATIONAL
    ScanLineOrdering: D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING = D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING.PROGRESSIVE
    DisplayOrientation: D3DDDI_ROTATION = D3DDDI_ROTATION.IDENTITY
    DisplayFixedOutput: int = 0
    Flags: int = 0


@dataclass(slots=True)
class D3DKMT_GETDISPLAYMODELIST:
    """Modes of a source: the count with None, then the list (out)."""

    hAdapter: D3DKMT_HANDLE
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    pModeList: list[D3DKMT_DISPLAYMODE] | None = None
    ModeCount: int = 0


@dataclass(slots=True)
class D3DKMT_SETDISPLAYMODE:
    """Scan out a primary; the attribute is out."""

    hDevice: D3DKMT_HANDLE
    hPrimaryAllocation: D3DKMT_HANDLE
    ScanLineOrdering: D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING = D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING.PROGRESSIVE
    DisplayOrientation: D3DDDI_ROTATION = D3DDDI_ROTATION.IDENTITY
    PrivateDriverFormatAttribute: int = 0
    Flags: int = 0


@dataclass(slots=True)
class D3DKMT_WAITFORVERTICALBLANKEVENT:
    """Wait for the next vertical blank of a source."""

    hAdapter: D3DKMT_HANDLE
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    hDevice: D3DKMT_HANDLE = 0


@dataclass(slots=True)
class D3DKMT_GETSCANLINE:
    """Where the beam is; the last two members are out."""

    hAdapter: D3DKMT_HANDLE
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    InVerticalBlank: bool = False
    ScanLine: int = 0


@dataclass(slots=True)
class D3DKMT_VIDPNTARGET:
    """A source's target (out)."""

    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    VidPnTargetId: D3DDDI_VIDEO_PRESENT_TARGET_ID = 0


# --- synchronisation, memory budgets --------------------------------------------------------------------------------


@dataclass(slots=True)
class D3DKMT_CREATESYNCHRONIZATIONOBJECT2:
    """Create a synchronisation object; ``hSyncObject`` is out."""

    hDevice: D3DKMT_HANDLE
    Info: D3DDDI_SYNCHRONIZATIONOBJECTINFO2
    hSyncObject: D3DKMT_HANDLE = 0


@dataclass(slots=True)
class D3DKMT_DESTROYSYNCHRONIZATIONOBJECT:
    """Destroy a synchronisation object."""

    hSyncObject: D3DKMT_HANDLE


class D3DKMT_MEMORY_SEGMENT_GROUP(IntEnum):
    """Groups that budgets count."""

    LOCAL = 0
    NON_LOCAL = 1


@dataclass(slots=True)
class D3DKMT_QUERYVIDEOMEMORYINFO:
    """Budget of a process in a group, bytes; the last four members are out."""

    hAdapter: D3DKMT_HANDLE
    MemorySegmentGroup: D3DKMT_MEMORY_SEGMENT_GROUP
    hProcess: HANDLE = 0
    PhysicalAdapterIndex: int = 0
    Budget: int = 0
    CurrentUsage: int = 0
    CurrentReservation: int = 0
    AvailableForReservation: int = 0


@dataclass(slots=True)
class D3DKMT_TRIMNOTIFICATION:
    """The kernel asks a device to give up memory; flags as D3DDDI_TRIMRESIDENCYSET_FLAGS."""

    Context: object
    Flags: int
    NumBytesToTrim: int = 0


class D3DKMT_TDR_LEVEL(IntEnum):
    """TdrLevel."""

    OFF = 0
    BUGCHECK = 1
    RECOVER_VGA = 2
    RECOVER = 3


class D3DKMT_TDR_DEBUGMODE(IntEnum):
    """TdrDebugMode."""

    BREAK = 0
    IGNORE = 1
    RECOVER_NO_PROMPT = 2
    RECOVER_UNCONDITIONAL = 3


TDR_DELAY_SECONDS: Final = 2
TDR_DDI_DELAY_SECONDS: Final = 5
TDR_LIMIT_TIME_SECONDS: Final = 60
TDR_LIMIT_COUNT: Final = 5
TDR_DOD_DELAY_SECONDS: Final = 2
