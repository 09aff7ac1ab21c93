"""d3dkmddi.h: the arguments between the graphics kernel and a display miniport.

Capabilities and segments, devices and contexts, allocations, rendering, presents, paging, patching, submission, interrupts,
preemption, engine reset, scheduling, and the display half (VidPN, source address). Models the ``d3dkmddi`` reference.
Declarations only.

DEVIATES, everywhere in this module:

* ``pDmaBuffer`` is the writable rest of the DMA buffer (``uint8`` array, ``DmaSize`` bytes) and does not advance: the miniport
  counts what it wrote in ``DmaBufferUsed``; ``DmaBufferPrivateDataUsed`` and ``PatchLocationListOutUsed`` (elements) likewise.
* A union is a member that holds one of several dataclasses (``Parameters``), and the tag is derived from its class.
* An MDL is an opaque object that the kernel made; a handle is an ``int``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import ClassVar, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from .d3dkmdt import (
    D3DKMDT_ENUMCOFUNCMODALITY_PIVOT_TYPE,
    D3DKMDT_GDISURFACEDATA,
    D3DKMDT_MONITOR_CONNECTIVITY_CHECKS,
    D3DKMDT_PREEMPTION_CAPS,
    D3DKMDT_SHADOWSURFACEDATA,
    D3DKMDT_SHAREDPRIMARYSURFACEDATA,
    D3DKMDT_STAGINGSURFACEDATA,
    D3DKMDT_STANDARDALLOCATION_TYPE,
    D3DKMDT_VIDPN_PRESENT_PATH,
    D3DKMDT_VIDPN_SOURCE_MODE,
    D3DKMDT_VIDPN_TARGET_MODE,
    DXGK_COLORTRANSFORMCAPS,
)
from .d3dukmdt import (
    D3DDDI_ALLOCATIONPRIORITY,
    D3DDDI_ESCAPEFLAGS,
    D3DDDI_FLIPINTERVAL_TYPE,
    D3DDDI_ID_ALL,
    D3DDDI_RATIONAL,
    D3DDDI_ROTATION,
    D3DDDI_VIDEO_PRESENT_SOURCE_ID,
    D3DDDI_VIDEO_PRESENT_TARGET_ID,
    D3DDDIFORMAT,
    D3DGPU_VIRTUAL_ADDRESS,
    D3DKMT_HANDLE,
    DXGKDDI_INTERFACE_VERSION,
    HANDLE,
    PHYSICAL_ADDRESS,
    RECT,
    Layout,
    PrivateData,
    StructArray,
)

ByteArray: TypeAlias = npt.NDArray[np.uint8]

# --- capabilities ---------------------------------------------------------------------------------------------------


class DXGK_QUERYADAPTERINFOTYPE(IntEnum):
    """What DxgkDdiQueryAdapterInfo is asked for (DXGKQAITYPE_)."""

    UMDRIVERPRIVATE = 0
    DRIVERCAPS = 1
    QUERYSEGMENT = 2
    RESERVED = 3
    QUERYSEGMENT2 = 4
    QUERYSEGMENT3 = 5
    NUMPOWERCOMPONENTS = 6
    POWERCOMPONENTINFO = 7
    PREFERREDGPUNODE = 8
    POWERCOMPONENTPSTATEINFO = 9
    HISTORYBUFFERPRECISION = 0xA
    QUERYSEGMENT4 = 0xB
    SEGMENTMEMORYSTATE = 0xC
    GPUMMUCAPS = 0xD
    PAGETABLELEVELDESC = 0xE
    PHYSICALADAPTERCAPS = 0xF
    DISPLAY_DRIVERCAPS_EXTENSION = 0x10
    INTEGRATED_DISPLAY_DESCRIPTOR = 0x11
    UEFIFRAMEBUFFERRANGES = 0x12
    QUERYCOLORIMETRYOVERRIDES = 0x13
    DISPLAYID_DESCRIPTOR = 0x14
    FRAMEBUFFERSAVESIZE = 0x15
    HARDWARERESERVEDRANGES = 0x16
    INTEGRATED_DISPLAY_DESCRIPTOR2 = 0x17
    NODEPERFDATA = 0x18
    ADAPTERPERFDATA = 0x19
    ADAPTERPERFDATA_CAPS = 0x1A
    GPUVERSION = 0x1B
    DEVICE_TYPE_CAPS = 0x1C
    WDDMDEVICECAPS = 0x1D
    GPUPCAPS = 0x1E
    QUERYTARGETGAMMACAPS = 0x1F
    SCANOUT_CAPS = 0x21
    PHYSICAL_MEMORY_CAPS = 0x22
    IOMMU_CAPS = 0x23
    HARDWARERESERVEDRANGES2 = 0x24
    NATIVE_FENCE_CAPS = 0x25
    USERMODESUBMISSION_CAPS = 0x26


@dataclass(slots=True)
class DXGKARG_QUERYADAPTERINFO:
    """A question about the adapter. ``pOutputData`` is out: the dataclass of the type (DXGK_DRIVERCAPS for DRIVERCAPS,
    DXGK_QUERYSEGMENTOUT for QUERYSEGMENT, bytes of at most ``OutputDataSize`` for UMDRIVERPRIVATE)."""

    Type: DXGK_QUERYADAPTERINFOTYPE
    pInputData: object | None = None
    InputDataSize: int = 0
    pOutputData: object | None = None
    OutputDataSize: int = 0


class DXGK_VIDSCHCAPS(IntFlag):
    """Scheduling capabilities; HwQueuePacketCap is a four-bit field in the same word."""

    NONE = 0
    MultiEngineAware = 0x1
    VSyncPowerSaveAware = 0x2
    PreemptionAware = 0x4
    NoDmaPatching = 0x8
    CancelCommandAware = 0x10
    No64BitAtomics = 0x20
    LowIrqlPreemptCommand = 0x40
    NativeGpuFence = 0x800


DXGK_VIDSCHCAPS_HWQUEUEPACKETCAP_SHIFT: Final = 7
DXGK_VIDSCHCAPS_HWQUEUEPACKETCAP_MASK: Final = 0x780


def vidsch_hw_queue_packet_cap(caps: int) -> int:
    """HwQueuePacketCap of a DXGK_VIDSCHCAPS word: the most DMA packets queued to a node, 0..15."""
    return (caps & DXGK_VIDSCHCAPS_HWQUEUEPACKETCAP_MASK) >> DXGK_VIDSCHCAPS_HWQUEUEPACKETCAP_SHIFT


def vidsch_caps(flags: DXGK_VIDSCHCAPS, *, HwQueuePacketCap: int) -> DXGK_VIDSCHCAPS:
    """`flags` with HwQueuePacketCap set. Raises ValueError when it does not fit four bits."""
    if not 0 <= HwQueuePacketCap <= 15:
        raise ValueError(f"HwQueuePacketCap {HwQueuePacketCap} is not in 0..15")
    return DXGK_VIDSCHCAPS(
        (flags & ~DXGK_VIDSCHCAPS_HWQUEUEPACKETCAP_MASK) | HwQueuePacketCap << DXGK_VIDSCHCAPS_HWQUEUEPACKETCAP_SHIFT
    )


class DXGK_FLIPCAPS(IntFlag):
    """Flip capabilities. Immediate flips and interval one are always supported."""

    NONE = 0
    FlipOnVSyncWithNoWait = 0x1
    FlipOnVSyncMmIo = 0x2
    FlipInterval = 0x4
    FlipImmediateMmIo = 0x8
    FlipIndependent = 0x10
    DdiPresentForIFlip = 0x20
    FlipImmediateOnHSync = 0x40


class DXGK_VIDMMCAPS(IntFlag):
    """Memory-management capabilities, first word; the paging node is a word of its own."""

    NONE = 0
    OutOfOrderLock = 0x1
    DedicatedPagingEngine = 0x2
    PagingEngineCanSwizzle = 0x4
    SectionBackedPrimary = 0x8
    CrossAdapterResource = 0x10
    VirtualAddressingSupported = 0x20
    GpuMmuSupported = 0x40
    IoMmuSupported = 0x80
    ReplicateGdiContent = 0x100
    NonCpuVisiblePrimary = 0x200
    ParavirtualizationSupported = 0x400
    IoMmuSecureModeSupported = 0x800
    DisableSelfRefreshVRAMInS3 = 0x1000
    IoMmuSecureModeRequired = 0x2000
    MapAperture2Supported = 0x4000
    CrossAdapterResourceTexture = 0x8000
    CrossAdapterResourceScanout = 0x1_0000
    AlwaysPoweredVRAM = 0x2_0000


@dataclass(slots=True)
class DXGK_DRIVERCAPS:
    """Capabilities of the miniport (the members that this project uses)."""

    HighestAcceptableAddress: PHYSICAL_ADDRESS = 0xFFFF_FFFF_FFFF_FFFF
    MaxAllocationListSlotId: int = 0
    ApertureSegmentCommitLimit: int = 0
    MaxPointerWidth: int = 0
    MaxPointerHeight: int = 0
    PointerCaps: int = 0
    InterruptMessageNumber: int = 0
    NumberOfSwizzlingRanges: int = 0
    MaxOverlays: int = 0
    ColorTransformCaps: DXGK_COLORTRANSFORMCAPS = DXGK_COLORTRANSFORMCAPS.NONE
    PresentationCaps: int = 0
    MaxQueuedFlipOnVSync: int = 0
    FlipCaps: DXGK_FLIPCAPS = DXGK_FLIPCAPS.NONE
    SchedulingCaps: DXGK_VIDSCHCAPS = DXGK_VIDSCHCAPS.NONE
    MemoryManagementCaps: DXGK_VIDMMCAPS = DXGK_VIDMMCAPS.NONE
    PagingNode: int = 0
    NbAsymetricProcessingNodes: int = 1
    WDDMVersion: DXGKDDI_INTERFACE_VERSION = DXGKDDI_INTERFACE_VERSION.WIN8
    PreemptionCaps: D3DKMDT_PREEMPTION_CAPS = field(default_factory=D3DKMDT_PREEMPTION_CAPS)
    SupportNonVGA: bool = False
    SupportSmoothRotation: bool = False
    SupportPerEngineTDR: bool = False
    SupportDirectFlip: bool = False
    SupportMultiPlaneOverlay: bool = False
    SupportRuntimePowerManagement: bool = False
    SupportSurpriseRemovalInHibernation: bool = False
    HybridDiscrete: bool = False
    MaxOverlayPlanes: int = 0
    MaxQueuedMultiPlaneOverlayFlipVSync: int = 0
    MiscCaps: int = 0
    MaxHwQueuedFlips: int = 0
    HwQueuedFlipCaps: int = 0
    _SIZE_: ClassVar[int] = 592
    _LAYOUT_: ClassVar[Layout] = (
        ("HighestAcceptableAddress", 0, 8),
        ("MaxAllocationListSlotId", 8, 4),
        ("ApertureSegmentCommitLimit", 16, 8),
        ("MaxPointerWidth", 24, 4),
        ("MaxPointerHeight", 28, 4),
        ("PointerCaps", 32, 4),
        ("InterruptMessageNumber", 36, 4),
        ("NumberOfSwizzlingRanges", 40, 4),
        ("MaxOverlays", 44, 4),
        ("ColorTransformCaps", 48, 4),
        ("PresentationCaps", 52, 4),
        ("MaxQueuedFlipOnVSync", 56, 4),
        ("FlipCaps", 60, 4),
        ("SchedulingCaps", 64, 4),
        ("MemoryManagementCaps", 68, 4),
        ("PagingNode", 72, 4),
        ("NbAsymetricProcessingNodes", 76, 4),
        ("WDDMVersion", 336, 4),
        ("PreemptionCaps", 528, 8),
        ("SupportNonVGA", 536, 1),
        ("SupportSmoothRotation", 537, 1),
        ("SupportPerEngineTDR", 538, 1),
        ("SupportDirectFlip", 539, 1),
        ("SupportMultiPlaneOverlay", 540, 1),
        ("SupportRuntimePowerManagement", 541, 1),
        ("SupportSurpriseRemovalInHibernation", 542, 1),
        ("HybridDiscrete", 543, 1),
        ("MaxOverlayPlanes", 544, 4),
        ("MaxQueuedMultiPlaneOverlayFlipVSync", 572, 4),
        ("MiscCaps", 576, 4),
        ("MaxHwQueuedFlips", 580, 4),
        ("HwQueuedFlipCaps", 584, 4),
    )


class DXGK_ENGINE_TYPE(IntEnum):
    """What a node is for."""

    OTHER = 0
    ENGINE_3D = 1
    VIDEO_DECODE = 2
    VIDEO_ENCODE = 3
    VIDEO_PROCESSING = 4
    SCENE_ASSEMBLY = 5
    COPY = 6
    OVERLAY = 7
    CRYPTO = 8


@dataclass(slots=True)
class DXGKARG_GETNODEMETADATA:
    """What a node is; every member is out."""

    EngineType: DXGK_ENGINE_TYPE = DXGK_ENGINE_TYPE.OTHER
    FriendlyName: str = ""
    Flags: int = 0
    GpuMmuSupported: bool = False
    IoMmuSupported: bool = False


class DXGK_SEGMENTFLAGS(IntFlag):
    """Properties of a segment."""

    NONE = 0
    Aperture = 0x1
    Agp = 0x2
    CpuVisible = 0x4
    UseBanking = 0x8
    CacheCoherent = 0x10
    PitchAlignment = 0x20
    PopulatedFromSystemMemory = 0x40
    PreservedDuringStandby = 0x80
    PreservedDuringHibernate = 0x100
    PartiallyPreservedDuringHibernate = 0x200
    DirectFlip = 0x400
    Use64KBPages = 0x800
    ReservedSysMem = 0x1000
    SupportsCpuHostAperture = 0x2000
    SupportsCachedCpuHostAperture = 0x4000
    ApplicationTarget = 0x8000
    VprSupported = 0x1_0000
    VprPreservedDuringStandby = 0x2_0000
    EncryptedPagingSupported = 0x4_0000
    LocalBudgetGroup = 0x8_0000
    NonLocalBudgetGroup = 0x10_0000
    PopulatedByReservedDDRByFirmware = 0x20_0000


@dataclass(slots=True)
class DXGK_SEGMENTDESCRIPTOR:
    """One segment: addresses and sizes in bytes. An allocation's address is ``BaseAddress`` plus its offset."""

    BaseAddress: PHYSICAL_ADDRESS
    Size: int
    CommitLimit: int
    Flags: DXGK_SEGMENTFLAGS
    CpuTranslatedAddress: PHYSICAL_ADDRESS = 0
    NbOfBanks: int = 0
    pBankRangeTable: Sequence[int] | None = None
    _SIZE_: ClassVar[int] = 56
    _LAYOUT_: ClassVar[Layout] = (
        ("BaseAddress", 0, 8),
        ("CpuTranslatedAddress", 8, 8),
        ("Size", 16, 8),
        ("NbOfBanks", 24, 4),
        ("pBankRangeTable", 32, 8),
        ("CommitLimit", 40, 8),
        ("Flags", 48, 4),
    )


@dataclass(slots=True)
class DXGK_QUERYSEGMENTOUT:
    """Answer to QUERYSEGMENT: first the count, on the second call the list (segment n is element n-1)."""

    NbSegment: int = 0
    pSegmentDescriptor: list[DXGK_SEGMENTDESCRIPTOR] | None = None
    PagingBufferSegmentId: int = 0
    PagingBufferSize: int = 0
    PagingBufferPrivateDataSize: int = 0
    _SIZE_: ClassVar[int] = 32
    _LAYOUT_: ClassVar[Layout] = (
        ("NbSegment", 0, 4),
        ("pSegmentDescriptor", 8, 8),
        ("PagingBufferSegmentId", 16, 4),
        ("PagingBufferSize", 20, 4),
        ("PagingBufferPrivateDataSize", 24, 4),
    )


class DXGK_PAGETABLEUPDATEMODE(IntEnum):
    """How the OS names a page table to update."""

    CPU_VIRTUAL = 0
    GPU_VIRTUAL = 1
    GPU_PHYSICAL = 2


class DXGK_GPUMMUCAPS_FLAGS(IntFlag):
    """Flags word of DXGK_GPUMMUCAPS."""

    NONE = 0
    ReadOnlyMemorySupported = 0x1
    NoExecuteMemorySupported = 0x2
    ZeroInPteSupported = 0x4
    ExplicitPageTableInvalidation = 0x8
    CacheCoherentMemorySupported = 0x10
    PageTableUpdateRequireAddressSpaceIdle = 0x20
    LargePageSupported = 0x40
    DualPteSupported = 0x80
    AllowNonAlignedLargePageAddress = 0x100
    SysMem64KBPageSupported = 0x200
    InvalidTlbEntriesNotCached = 0x400
    SysMemLargePageSupported = 0x800
    CachedPageTables = 0x1000


@dataclass(slots=True)
class DXGK_GPUMMUCAPS:
    """GPU memory-management unit. ``SourcePageTableVaInTransfer`` is bit 0 of LegacyBehaviors."""

    Value: DXGK_GPUMMUCAPS_FLAGS = DXGK_GPUMMUCAPS_FLAGS.NONE
    PageTableUpdateMode: DXGK_PAGETABLEUPDATEMODE = DXGK_PAGETABLEUPDATEMODE.CPU_VIRTUAL
    VirtualAddressBitCount: int = 0
    LeafPageTableSizeFor64KPagesInBytes: int = 0
    PageTableLevelCount: int = 0
    SourcePageTableVaInTransfer: bool = False
    _SIZE_: ClassVar[int] = 24
    _LAYOUT_: ClassVar[Layout] = (
        ("Value", 0, 4),
        ("PageTableUpdateMode", 4, 4),
        ("VirtualAddressBitCount", 8, 4),
        ("LeafPageTableSizeFor64KPagesInBytes", 12, 4),
        ("PageTableLevelCount", 16, 4),
    )


@dataclass(slots=True)
class DXGK_PAGE_TABLE_LEVEL_DESC:
    """One level of the page tables; level 0 is the leaf."""

    PageTableIndexBitCount: int
    PageTableSegmentId: int
    PagingProcessPageTableSegmentId: int
    PageTableSizeInBytes: int
    PageTableAlignmentInBytes: int = 0
    _SIZE_: ClassVar[int] = 20
    _LAYOUT_: ClassVar[Layout] = (
        ("PageTableIndexBitCount", 0, 4),
        ("PageTableSegmentId", 4, 4),
        ("PagingProcessPageTableSegmentId", 8, 4),
        ("PageTableSizeInBytes", 12, 4),
        ("PageTableAlignmentInBytes", 16, 4),
    )


# --- devices and contexts -------------------------------------------------------------------------------------------


class DXGK_CREATEDEVICEFLAGS(IntFlag):
    """Kinds of device."""

    NONE = 0
    SystemDevice = 0x1
    GdiDevice = 0x2


class DXGK_DEVICEINFOFLAGS(IntFlag):
    """Flags of DXGK_DEVICEINFO."""

    NONE = 0
    GuaranteedDmaBufferContract = 0x1


@dataclass(slots=True)
class DXGK_DEVICEINFO:
    """Sizes of a device without context support; every member is out."""

    DmaBufferSize: int = 0
    DmaBufferSegmentSet: int = 0
    DmaBufferPrivateDataSize: int = 0
    AllocationListSize: int = 0
    PatchLocationListSize: int = 0
    Flags: DXGK_DEVICEINFOFLAGS = DXGK_DEVICEINFOFLAGS.NONE
    _SIZE_: ClassVar[int] = 24
    _LAYOUT_: ClassVar[Layout] = (
        ("DmaBufferSize", 0, 4),
        ("DmaBufferSegmentSet", 4, 4),
        ("DmaBufferPrivateDataSize", 8, 4),
        ("AllocationListSize", 12, 4),
        ("PatchLocationListSize", 16, 4),
        ("Flags", 20, 4),
    )


@dataclass(slots=True)
class DXGKARG_CREATEDEVICE:
    """``hDevice`` in: the kernel's handle; out: the miniport's. ``pInfo`` is out."""

    hDevice: HANDLE
    Flags: DXGK_CREATEDEVICEFLAGS = DXGK_CREATEDEVICEFLAGS.NONE
    pInfo: DXGK_DEVICEINFO | None = None
    Pasid: int = 0
    hKmdProcess: HANDLE = 0
    _SIZE_: ClassVar[int] = 32
    _LAYOUT_: ClassVar[Layout] = (
        ("hDevice", 0, 8),
        ("Flags", 8, 4),
        ("pInfo", 8, 8),
        ("Pasid", 16, 4),
        ("hKmdProcess", 24, 8),
    )


class DXGK_CREATECONTEXTFLAGS(IntFlag):
    """Kinds of context."""

    NONE = 0
    SystemContext = 0x1
    GdiContext = 0x2
    VirtualAddressing = 0x4
    SystemProtectedContext = 0x8
    HwQueueSupported = 0x10


class DXGK_CONTEXTINFO_CAPS(IntFlag):
    """WDDM 2 capabilities of a context."""

    NONE = 0
    NoPatchingRequired = 0x1
    DriverManagesResidency = 0x2
    UseIoMmu = 0x4


DXGK_GDI_ALLOCATIONLISTSIZE: Final = 256
"""Elements that the allocation list of a GDI context must have."""


@dataclass(slots=True)
class DXGK_CONTEXTINFO:
    """Buffer sizes of a context (bytes, elements): initial and least. Every member is out.

    ``DmaBufferSegmentSet`` names aperture segments only, bit 0 for segment 1; 0 = contiguous system memory.
    """

    DmaBufferSize: int = 0
    DmaBufferSegmentSet: int = 0
    DmaBufferPrivateDataSize: int = 0
    AllocationListSize: int = 0
    PatchLocationListSize: int = 0
    Reserved: int = 0
    Caps: DXGK_CONTEXTINFO_CAPS = DXGK_CONTEXTINFO_CAPS.NONE
    PagingCompanionNodeId: int = 0
    _SIZE_: ClassVar[int] = 32
    _LAYOUT_: ClassVar[Layout] = (
        ("DmaBufferSize", 0, 4),
        ("DmaBufferSegmentSet", 4, 4),
        ("DmaBufferPrivateDataSize", 8, 4),
        ("AllocationListSize", 12, 4),
        ("PatchLocationListSize", 16, 4),
        ("Reserved", 20, 4),
        ("Caps", 24, 4),
        ("PagingCompanionNodeId", 28, 4),
    )


@dataclass(slots=True)
class DXGKARG_CREATECONTEXT:
    """``hContext`` in: the kernel's handle; out: the miniport's. ``ContextInfo`` is out."""

    hContext: HANDLE
    NodeOrdinal: int
    EngineAffinity: int = 1
    Flags: DXGK_CREATECONTEXTFLAGS = DXGK_CREATECONTEXTFLAGS.NONE
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    ContextInfo: DXGK_CONTEXTINFO = field(default_factory=DXGK_CONTEXTINFO)
    _SIZE_: ClassVar[int] = 72
    _LAYOUT_: ClassVar[Layout] = (
        ("hContext", 0, 8),
        ("NodeOrdinal", 8, 4),
        ("EngineAffinity", 12, 4),
        ("Flags", 16, 4),
        ("pPrivateDriverData", 24, 8),
        ("PrivateDriverDataSize", 32, 4),
        ("ContextInfo", 36, 32),
    )


@dataclass(slots=True)
class DXGKARG_CREATEPROCESS:
    """``hKmdProcess`` is out."""

    hDxgkProcess: HANDLE
    Flags: int = 0
    NumPasid: int = 0
    pPasid: Sequence[int] | None = None
    hKmdProcess: HANDLE = 0


# --- allocations ----------------------------------------------------------------------------------------------------


class DXGK_ALLOCATIONINFOFLAGS(IntFlag):
    """Properties that the miniport gives an allocation (WDDM 1 form)."""

    NONE = 0
    CpuVisible = 0x1
    PermanentSysMem = 0x2
    Cached = 0x4
    Protected = 0x8
    ExistingSysMem = 0x10
    ExistingKernelSysMem = 0x20
    FromEndOfSegment = 0x40
    Swizzled = 0x80
    Overlay = 0x100
    Capture = 0x200
    UseAlternateVA = 0x400
    SynchronousPaging = 0x800
    LinkMirrored = 0x1000
    LinkInstanced = 0x2000
    HistoryBuffer = 0x4000


class DXGK_ALLOCATIONINFOFLAGS_WDDM2_0(IntFlag):
    """Properties that the miniport gives an allocation (WDDM 2 form of the same word)."""

    NONE = 0
    CpuVisible = 0x1
    PermanentSysMem = 0x2
    Cached = 0x4
    Protected = 0x8
    ExistingSysMem = 0x10
    ExistingKernelSysMem = 0x20
    FromEndOfSegment = 0x40
    DisableLargePageMapping = 0x80
    Overlay = 0x100
    Capture = 0x200
    CreateInVpr = 0x400
    MapApertureCpuVisible = 0x2000
    HistoryBuffer = 0x4000
    AccessedPhysically = 0x8000
    ExplicitResidencyNotification = 0x1_0000
    HardwareProtected = 0x2_0000
    CpuVisibleOnDemand = 0x4_0000


@dataclass(slots=True)
class DXGK_ALLOCATIONINFO:
    """One allocation to create. The private data is in; every other member is out.

    Sizes in bytes; bit n of a segment set is segment n+1; ``AllocationPriority`` 0 is not valid.
    ``HintedBank`` and ``PreferredSegment`` are the packed words of DXGK_SEGMENTBANKPREFERENCE / D3DDDI_SEGMENTPREFERENCE.
    """

    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    Alignment: int = 0
    Size: int = 0
    PitchAlignedSize: int = 0
    HintedBank: int = 0
    PreferredSegment: int = 0
    SupportedReadSegmentSet: int = 0
    SupportedWriteSegmentSet: int = 0
    EvictionSegmentSet: int = 0
    MaximumRenamingListLength: int = 0
    PhysicalAdapterIndex: int = 0
    hAllocation: HANDLE = 0
    Flags: DXGK_ALLOCATIONINFOFLAGS = DXGK_ALLOCATIONINFOFLAGS.NONE
    FlagsWddm2: DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 = DXGK_ALLOCATIONINFOFLAGS_WDDM2_0.NONE
    pAllocationUsageHint: object | None = None
    AllocationPriority: int = D3DDDI_ALLOCATIONPRIORITY.NORMAL
    Flags2: int = 0
    _SIZE_: ClassVar[int] = 88
    _LAYOUT_: ClassVar[Layout] = (
        ("pPrivateDriverData", 0, 8),
        ("PrivateDriverDataSize", 8, 4),
        ("Alignment", 12, 4),
        ("Size", 16, 8),
        ("PitchAlignedSize", 24, 8),
        ("HintedBank", 32, 4),
        ("PreferredSegment", 36, 4),
        ("SupportedReadSegmentSet", 40, 4),
        ("SupportedWriteSegmentSet", 44, 4),
        ("EvictionSegmentSet", 48, 4),
        ("MaximumRenamingListLength", 52, 4),
        ("PhysicalAdapterIndex", 52, 4),
        ("hAllocation", 56, 8),
        ("Flags", 64, 4),
        ("FlagsWddm2", 64, 4),
        ("pAllocationUsageHint", 72, 8),
        ("AllocationPriority", 80, 4),
        ("Flags2", 84, 4),
    )


def segment_bank_preference(*choices: tuple[int, bool] | int) -> int:
    """DXGK_SEGMENTBANKPREFERENCE: up to four banks (0-127) in order; a pair adds "from the end of the bank".

    Raises ValueError for more than four choices or a bank that does not fit seven bits.
    """
    if len(choices) > 4:
        raise ValueError(f"a bank preference has four places, {len(choices)} were given")
    value = 0
    for place, choice in enumerate(choices):
        bank, from_end = (choice, False) if isinstance(choice, int) else choice
        if not 0 <= bank <= 127:
            raise ValueError(f"bank {bank} of preference {place} is not in 0..127")
        value |= (bank | (0x80 if from_end else 0)) << 8 * place
    return value


class DXGK_CREATEALLOCATIONFLAGS(IntFlag):
    """Flags of DXGKARG_CREATEALLOCATION."""

    NONE = 0
    Resource = 0x1


@dataclass(slots=True)
class DXGKARG_CREATEALLOCATION:
    """Allocations to create. ``hResource`` in: what an earlier call returned for the resource, or 0; out: the miniport's."""

    pAllocationInfo: list[DXGK_ALLOCATIONINFO]
    NumAllocations: int = 0
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    hResource: HANDLE = 0
    Flags: DXGK_CREATEALLOCATIONFLAGS = DXGK_CREATEALLOCATIONFLAGS.NONE
    _SIZE_: ClassVar[int] = 40
    _LAYOUT_: ClassVar[Layout] = (
        ("pPrivateDriverData", 0, 8),
        ("PrivateDriverDataSize", 8, 4),
        ("NumAllocations", 12, 4),
        ("pAllocationInfo", 16, 8),
        ("hResource", 24, 8),
        ("Flags", 32, 4),
    )


@dataclass(slots=True)
class DXGK_OPENALLOCATIONINFO:
    """One allocation to open for a device. ``hDeviceSpecificAllocation`` is out and not NULL."""

    hAllocation: D3DKMT_HANDLE
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    hDeviceSpecificAllocation: HANDLE = 0


class DXGK_OPENALLOCATIONFLAGS(IntFlag):
    """Flags of DXGKARG_OPENALLOCATION."""

    NONE = 0
    Create = 0x1
    ReadOnly = 0x2


@dataclass(slots=True)
class DXGKARG_OPENALLOCATION:
    """Allocations to open for a device; private data may be changed only with the Create flag."""

    pOpenAllocation: list[DXGK_OPENALLOCATIONINFO]
    NumAllocations: int = 0
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverSize: int = 0
    Flags: DXGK_OPENALLOCATIONFLAGS = DXGK_OPENALLOCATIONFLAGS.NONE
    SubresourceIndex: int = 0
    SubresourceOffset: int = 0
    Pitch: int = 0


@dataclass(slots=True)
class DXGKARG_CLOSEALLOCATION:
    """Device-specific handles to close."""

    pOpenHandleList: Sequence[HANDLE]
    NumAllocations: int = 0


class DXGK_DESTROYALLOCATIONFLAGS(IntFlag):
    """Flags of DXGKARG_DESTROYALLOCATION."""

    NONE = 0
    DestroyResource = 0x1


@dataclass(slots=True)
class DXGKARG_DESTROYALLOCATION:
    """Allocations (miniport handles) to destroy, and the resource with DestroyResource."""

    pAllocationList: Sequence[HANDLE]
    NumAllocations: int = 0
    hResource: HANDLE = 0
    Flags: DXGK_DESTROYALLOCATIONFLAGS = DXGK_DESTROYALLOCATIONFLAGS.NONE


@dataclass(slots=True)
class D3DDDI_MULTISAMPLINGMETHOD:
    """Samples per pixel and quality levels."""

    NumSamples: int = 1
    NumQualityLevels: int = 0


class DXGK_DESCRIBEALLOCATIONFLAGS(IntFlag):
    """Flags of DXGKARG_DESCRIBEALLOCATION."""

    NONE = 0
    CheckDisplayMode = 0x1


@dataclass(slots=True)
class DXGKARG_DESCRIBEALLOCATION:
    """What a primary or present source is; every member but ``hAllocation`` is out."""

    hAllocation: HANDLE
    Width: int = 0
    Height: int = 0
    Format: D3DDDIFORMAT = D3DDDIFORMAT.UNKNOWN
    MultisampleMethod: D3DDDI_MULTISAMPLINGMETHOD = field(default_factory=D3DDDI_MULTISAMPLINGMETHOD)
    RefreshRate: D3DDDI_RATIONAL = field(default_factory=D3DDDI_RATIONAL)
    PrivateDriverFormatAttribute: int = 0
    Flags: DXGK_DESCRIBEALLOCATIONFLAGS = DXGK_DESCRIBEALLOCATIONFLAGS.NONE
    Rotation: D3DDDI_ROTATION = D3DDDI_ROTATION.IDENTITY


@dataclass(slots=True)
class DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA:
    """Private data for an allocation that the OS creates. Called for the sizes first (buffers None), then for the data."""

    StandardAllocationType: D3DKMDT_STANDARDALLOCATION_TYPE
    Parameters: D3DKMDT_SHAREDPRIMARYSURFACEDATA | D3DKMDT_SHADOWSURFACEDATA | D3DKMDT_STAGINGSURFACEDATA | D3DKMDT_GDISURFACEDATA
    pAllocationPrivateDriverData: bytearray | None = None
    AllocationPrivateDriverDataSize: int = 0
    pResourcePrivateDriverData: bytearray | None = None
    ResourcePrivateDriverDataSize: int = 0


@dataclass(slots=True)
class DXGKARG_ACQUIRESWIZZLINGRANGE:
    """A CPU range to program; ``RangeSize`` and ``CPUTranslatedAddress`` are in/out."""

    hAllocation: HANDLE
    RangeId: int
    SegmentId: int
    PrivateDriverData: int = 0
    RangeSize: int = 0
    CPUTranslatedAddress: PHYSICAL_ADDRESS = 0
    _SIZE_: ClassVar[int] = 40
    _LAYOUT_: ClassVar[Layout] = (
        ("hAllocation", 0, 8),
        ("PrivateDriverData", 8, 4),
        ("RangeId", 12, 4),
        ("SegmentId", 16, 4),
        ("RangeSize", 24, 8),
        ("CPUTranslatedAddress", 32, 8),
    )


@dataclass(slots=True)
class DXGKARG_RELEASESWIZZLINGRANGE:
    """A CPU range that is no longer needed."""

    hAllocation: HANDLE
    RangeId: int
    PrivateDriverData: int = 0


# --- rendering ------------------------------------------------------------------------------------------------------

DXGK_ALLOCATIONLIST_DTYPE: Final = np.dtype(
    {
        "names": ["hDeviceSpecificAllocation", "Value", "PhysicalAddress"],
        "formats": ["<u8", "<u4", "<u8"],
        "offsets": [0, 8, 16],
        "itemsize": 24,
    }
)
"""One element of the converted allocation list; 24 bytes. Handle 0 = no allocation; SegmentId 0 = not placed.
In WDDM 2 ``PhysicalAddress`` shares its place with the GPU virtual address."""
DXGK_ALLOCATIONLIST_WRITEOPERATION: Final = 0x1
DXGK_ALLOCATIONLIST_SEGMENTID_SHIFT: Final = 1
DXGK_ALLOCATIONLIST_SEGMENTID_MASK: Final = 0x3E

DXGK_PRESENT_SOURCE_INDEX: Final = 1
DXGK_PRESENT_DESTINATION_INDEX: Final = 2


def dxgk_allocation_list_value(*, WriteOperation: bool = False, SegmentId: int = 0) -> int:
    """The ``Value`` word of a DXGK_ALLOCATIONLIST element; SegmentId 0..31."""
    return (DXGK_ALLOCATIONLIST_WRITEOPERATION if WriteOperation else 0) | (SegmentId & 0x1F) << 1


@dataclass(slots=True)
class DXGKARG_RENDER:
    """Translate a command buffer into a DMA buffer (DxgkDdiRender, DxgkDdiRenderKm).

    ``pCommand`` is a snapshot of user memory (untrusted); ``pAllocationList`` has DXGK_ALLOCATIONLIST_DTYPE, the patch lists have
    D3DDDI_PATCHLOCATIONLIST_DTYPE. ``pDmaBuffer`` takes ``DmaSize`` bytes and starts on a page; ``MultipassOffset`` is the
    miniport's own between calls for one command buffer, 0 at the first.
    DEVIATES: pointers do not advance, see ``DmaBufferUsed``, ``DmaBufferPrivateDataUsed``, ``PatchLocationListOutUsed`` (out).
    """

    pCommand: ByteArray
    CommandLength: int
    pDmaBuffer: ByteArray
    DmaSize: int
    pDmaBufferPrivateData: ByteArray | None
    DmaBufferPrivateDataSize: int
    pAllocationList: StructArray
    AllocationListSize: int
    pPatchLocationListIn: StructArray
    PatchLocationListInSize: int
    pPatchLocationListOut: StructArray
    PatchLocationListOutSize: int
    MultipassOffset: int = 0
    DmaBufferSegmentId: int = 0
    DmaBufferPhysicalAddress: PHYSICAL_ADDRESS = 0
    DmaBufferUsed: int = 0
    DmaBufferPrivateDataUsed: int = 0
    PatchLocationListOutUsed: int = 0
    _SIZE_: ClassVar[int] = 112
    _LAYOUT_: ClassVar[Layout] = (
        ("pCommand", 0, 8),
        ("CommandLength", 8, 4),
        ("pDmaBuffer", 16, 8),
        ("DmaSize", 24, 4),
        ("pDmaBufferPrivateData", 32, 8),
        ("DmaBufferPrivateDataSize", 40, 4),
        ("pAllocationList", 48, 8),
        ("AllocationListSize", 56, 4),
        ("pPatchLocationListIn", 64, 8),
        ("PatchLocationListInSize", 72, 4),
        ("pPatchLocationListOut", 80, 8),
        ("PatchLocationListOutSize", 88, 4),
        ("MultipassOffset", 92, 4),
        ("DmaBufferSegmentId", 96, 4),
        ("DmaBufferPhysicalAddress", 104, 8),
    )


class DXGK_PRESENTFLAGS(IntFlag):
    """What a present does."""

    NONE = 0
    Blt = 0x1
    ColorFill = 0x2
    Flip = 0x4
    FlipWithNoWait = 0x8
    SrcColorKey = 0x10
    DstColorKey = 0x20
    LinearToSrgb = 0x40
    Rotate = 0x80
    FlipStereo = 0x100
    FlipStereoTemporaryMono = 0x200
    FlipStereoPreferRight = 0x400
    BltStereoUseRight = 0x800
    FlipWithMultiPlaneOverlay = 0x1000
    RedirectedFlip = 0x2000


@dataclass(slots=True)
class DXGKARG_PRESENT:
    """Translate a present. ``pDmaBuffer`` is None for an MMIO flip (validate only).

    ``pAllocationList``: element 0 NULL, DXGK_PRESENT_SOURCE_INDEX, DXGK_PRESENT_DESTINATION_INDEX. ``MultipassOffset`` is the
    progress through ``pDstSubRects``. DEVIATES: pointers do not advance, see the ``…Used`` members (out).
    """

    pAllocationList: StructArray
    Flags: DXGK_PRESENTFLAGS
    pDmaBuffer: ByteArray | None = None
    DmaSize: int = 0
    pDmaBufferPrivateData: ByteArray | None = None
    DmaBufferPrivateDataSize: int = 0
    pAllocationInfo: object | None = None
    pPresentMultiPlaneOverlayInfo: object | None = None
    pPatchLocationListOut: StructArray | None = None
    PatchLocationListOutSize: int = 0
    MultipassOffset: int = 0
    Color: int = 0
    DstRect: RECT = field(default_factory=RECT)
    SrcRect: RECT = field(default_factory=RECT)
    SubRectCnt: int = 0
    pDstSubRects: Sequence[RECT] = ()
    FlipInterval: D3DDDI_FLIPINTERVAL_TYPE = D3DDDI_FLIPINTERVAL_TYPE.IMMEDIATE
    DmaBufferSegmentId: int = 0
    DmaBufferPhysicalAddress: PHYSICAL_ADDRESS = 0
    Reserved: int = 0
    DmaBufferGpuVirtualAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    NumSrcAllocations: int = 0
    NumDstAllocations: int = 0
    PrivateDriverDataSize: int = 0
    pPrivateDriverData: PrivateData | None = None
    DmaBufferUsed: int = 0
    DmaBufferPrivateDataUsed: int = 0
    PatchLocationListOutUsed: int = 0
    _SIZE_: ClassVar[int] = 168
    _LAYOUT_: ClassVar[Layout] = (
        ("pDmaBuffer", 0, 8),
        ("DmaSize", 8, 4),
        ("pDmaBufferPrivateData", 16, 8),
        ("DmaBufferPrivateDataSize", 24, 4),
        ("pAllocationList", 32, 8),
        ("pAllocationInfo", 32, 8),
        ("pPresentMultiPlaneOverlayInfo", 32, 8),
        ("pPatchLocationListOut", 40, 8),
        ("PatchLocationListOutSize", 48, 4),
        ("MultipassOffset", 52, 4),
        ("Color", 56, 4),
        ("DstRect", 60, 16),
        ("SrcRect", 76, 16),
        ("SubRectCnt", 92, 4),
        ("pDstSubRects", 96, 8),
        ("FlipInterval", 104, 4),
        ("Flags", 108, 4),
        ("DmaBufferSegmentId", 112, 4),
        ("DmaBufferPhysicalAddress", 120, 8),
        ("Reserved", 128, 4),
        ("DmaBufferGpuVirtualAddress", 136, 8),
        ("NumSrcAllocations", 144, 4),
        ("NumDstAllocations", 148, 4),
        ("PrivateDriverDataSize", 152, 4),
        ("pPrivateDriverData", 160, 8),
    )


# --- paging ---------------------------------------------------------------------------------------------------------


class DXGK_BUILDPAGINGBUFFER_OPERATION(IntEnum):
    """Paging operations."""

    TRANSFER = 0
    FILL = 1
    DISCARD_CONTENT = 2
    READ_PHYSICAL = 3
    WRITE_PHYSICAL = 4
    MAP_APERTURE_SEGMENT = 5
    UNMAP_APERTURE_SEGMENT = 6
    SPECIAL_LOCK_TRANSFER = 7
    VIRTUAL_TRANSFER = 8
    VIRTUAL_FILL = 9
    INIT_CONTEXT_RESOURCE = 10
    UPDATE_PAGE_TABLE = 11
    FLUSH_TLB = 12
    UPDATE_CONTEXT_ALLOCATION = 13
    COPY_PAGE_TABLE_ENTRIES = 14
    NOTIFY_RESIDENCY = 15
    SIGNAL_MONITORED_FENCE = 16
    MAP_APERTURE_SEGMENT2 = 17


class DXGK_TRANSFERFLAGS(IntFlag):
    """Flags of a transfer; a move in one piece carries both TransferStart and TransferEnd."""

    NONE = 0
    Swizzle = 0x1
    Unswizzle = 0x2
    AllocationIsIdle = 0x4
    TransferStart = 0x8
    TransferEnd = 0x10


class DXGK_DISCARDCONTENTFLAGS(IntFlag):
    """Flags of DISCARD_CONTENT."""

    NONE = 0
    AllocationIsIdle = 0x1


class DXGK_MAPAPERTUREFLAGS(IntFlag):
    """Flags of MAP_APERTURE_SEGMENT."""

    NONE = 0
    CacheCoherent = 0x1


class DXGK_UPDATEPAGETABLEFLAGS(IntFlag):
    """Flags of UPDATE_PAGE_TABLE."""

    NONE = 0
    Repeat = 0x1
    InitialUpdate = 0x2
    NotifyEviction = 0x4
    Use64KBPages = 0x8
    NativeFence = 0x10


class DXGK_MEMORY_TRANSFER_DIRECTION(IntEnum):
    """Direction of VIRTUAL_TRANSFER."""

    SYSTEM_TO_LOCAL = 0
    LOCAL_TO_SYSTEM = 1
    LOCAL_TO_LOCAL = 2


@dataclass(slots=True)
class DXGK_PAGING_LOCATION:
    """One side of a transfer: a segment address (base + offset, bytes), or an MDL when ``SegmentId`` is 0."""

    SegmentId: int = 0
    SegmentAddress: PHYSICAL_ADDRESS = 0
    pMdl: object | None = None


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_TRANSFER:
    """Move (part of) an allocation. ``TransferOffset`` in bytes applies to the segment side, ``MdlOffset`` in pages to the
    system side. Size 0 tells an eviction without content. ``hAllocation`` 0: copy as it is."""

    hAllocation: HANDLE
    Source: DXGK_PAGING_LOCATION
    Destination: DXGK_PAGING_LOCATION
    TransferSize: int
    TransferOffset: int = 0
    Flags: DXGK_TRANSFERFLAGS = DXGK_TRANSFERFLAGS.NONE
    MdlOffset: int = 0
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.TRANSFER


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_FILL:
    """Fill an idle allocation of a memory segment with a 32-bit pattern."""

    hAllocation: HANDLE
    FillSize: int
    FillPattern: int
    Destination: DXGK_PAGING_LOCATION
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.FILL


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_DISCARD_CONTENT:
    """The allocation is evicted without being copied back."""

    hAllocation: HANDLE
    SegmentId: int
    SegmentAddress: PHYSICAL_ADDRESS
    Flags: DXGK_DISCARDCONTENTFLAGS = DXGK_DISCARDCONTENTFLAGS.NONE
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.DISCARD_CONTENT


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_READ_PHYSICAL:
    """Read one to eight bytes; the value does not matter."""

    SegmentId: int
    PhysicalAddress: PHYSICAL_ADDRESS
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.READ_PHYSICAL


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_WRITE_PHYSICAL:
    """Write one to eight bytes of any value."""

    SegmentId: int
    PhysicalAddress: PHYSICAL_ADDRESS
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.WRITE_PHYSICAL


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_MAP_APERTURE_SEGMENT:
    """Map pages of an MDL (from page ``MdlOffset``) into an aperture. ``hDevice`` 0 for the primary, ``hAllocation`` 0 for a
    DMA buffer."""

    hDevice: HANDLE
    hAllocation: HANDLE
    SegmentId: int
    OffsetInPages: int
    NumberOfPages: int
    pMdl: object
    Flags: DXGK_MAPAPERTUREFLAGS = DXGK_MAPAPERTUREFLAGS.NONE
    MdlOffset: int = 0
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.MAP_APERTURE_SEGMENT


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_UNMAP_APERTURE_SEGMENT:
    """Map the range to the dummy page, which the GPU may go on reading."""

    hDevice: HANDLE
    hAllocation: HANDLE
    SegmentId: int
    OffsetInPages: int
    NumberOfPages: int
    DummyPage: PHYSICAL_ADDRESS
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.UNMAP_APERTURE_SEGMENT


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_SPECIAL_LOCK_TRANSFER:
    """Transfer to or from the alternate CPU range of a locked allocation."""

    hAllocation: HANDLE
    Source: DXGK_PAGING_LOCATION
    Destination: DXGK_PAGING_LOCATION
    TransferSize: int
    SwizzlingRangeId: int
    SwizzlingRangeData: int
    TransferOffset: int = 0
    Flags: DXGK_TRANSFERFLAGS = DXGK_TRANSFERFLAGS.NONE
    MdlOffset: int = 0
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.SPECIAL_LOCK_TRANSFER


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_VIRTUAL_TRANSFER:
    """Transfer between GPU virtual addresses."""

    hAllocation: HANDLE
    AllocationOffsetInBytes: int
    TransferSizeInBytes: int
    SourceVirtualAddress: D3DGPU_VIRTUAL_ADDRESS
    DestinationVirtualAddress: D3DGPU_VIRTUAL_ADDRESS
    TransferDirection: DXGK_MEMORY_TRANSFER_DIRECTION
    SourcePageTable: D3DGPU_VIRTUAL_ADDRESS = 0
    DestinationPageTable: D3DGPU_VIRTUAL_ADDRESS = 0
    Flags: DXGK_TRANSFERFLAGS = DXGK_TRANSFERFLAGS.NONE
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.VIRTUAL_TRANSFER


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_VIRTUAL_FILL:
    """Fill at a GPU virtual address."""

    hAllocation: HANDLE
    AllocationOffsetInBytes: int
    FillSizeInBytes: int
    FillPattern: int
    DestinationVirtualAddress: D3DGPU_VIRTUAL_ADDRESS
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.VIRTUAL_FILL


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_INIT_CONTEXT_RESOURCE:
    """Initialise an allocation that holds a context's state."""

    hAllocation: HANDLE
    Destination: DXGK_PAGING_LOCATION
    VirtualAddress: int = 0
    GpuVirtualAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.INIT_CONTEXT_RESOURCE


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_UPDATE_PAGE_TABLE:
    """Write page-table entries (DXGK_PTE_DTYPE); level 0 is the leaf."""

    PageTableLevel: int
    hAllocation: HANDLE
    PageTableAddress: int
    pPageTableEntries: StructArray
    StartIndex: int
    NumPageTableEntries: int
    Flags: DXGK_UPDATEPAGETABLEFLAGS = DXGK_UPDATEPAGETABLEFLAGS.NONE
    DriverProtection: int = 0
    AllocationOffsetInBytes: int = 0
    hProcess: HANDLE = 0
    UpdateMode: DXGK_PAGETABLEUPDATEMODE = DXGK_PAGETABLEUPDATEMODE.CPU_VIRTUAL
    pPageTableEntries64KB: StructArray | None = None
    FirstPteVirtualAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.UPDATE_PAGE_TABLE


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_FLUSH_TLB:
    """Forget translations of a range."""

    RootPageTableAddress: PHYSICAL_ADDRESS
    hProcess: HANDLE
    StartVirtualAddress: D3DGPU_VIRTUAL_ADDRESS
    EndVirtualAddress: D3DGPU_VIRTUAL_ADDRESS
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.FLUSH_TLB


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_UPDATE_CONTEXT_ALLOCATION:
    """Write driver data into a context allocation."""

    ContextAllocation: D3DGPU_VIRTUAL_ADDRESS
    ContextAllocationSize: int
    pDriverPrivateData: PrivateData | None = None
    DriverPrivateDataSize: int = 0
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.UPDATE_CONTEXT_ALLOCATION


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_COPY_RANGE:
    """One range of COPY_PAGE_TABLE_ENTRIES."""

    NumPageTableEntries: int
    SrcPageTableAddress: D3DGPU_VIRTUAL_ADDRESS
    DstPageTableAddress: D3DGPU_VIRTUAL_ADDRESS
    SrcStartPteIndex: int
    DstStartPteIndex: int


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_COPY_PAGE_TABLE_ENTRIES:
    """Copy page-table entries."""

    pRanges: Sequence[DXGK_BUILDPAGINGBUFFER_COPY_RANGE]
    NumRanges: int = 0
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.COPY_PAGE_TABLE_ENTRIES


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_NOTIFY_RESIDENCY:
    """The residency of an allocation changed."""

    hAllocation: HANDLE
    PhysicalAddress: PHYSICAL_ADDRESS
    Resident: bool
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.NOTIFY_RESIDENCY


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_SIGNAL_MONITORED_FENCE:
    """Let the GPU write a monitored fence."""

    MonitoredFenceGpuVa: D3DGPU_VIRTUAL_ADDRESS
    MonitoredFenceValue: int
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.SIGNAL_MONITORED_FENCE


@dataclass(slots=True)
class DXGK_BUILDPAGINGBUFFER_MAP_APERTURE_SEGMENT2:
    """As MAP_APERTURE_SEGMENT with an address descriptor list (an opaque object)."""

    hDevice: HANDLE
    hAllocation: HANDLE
    SegmentId: int
    OffsetInPages: int
    NumberOfPages: int
    Adl: object
    Flags: DXGK_MAPAPERTUREFLAGS = DXGK_MAPAPERTUREFLAGS.NONE
    AdlOffset: int = 0
    CpuVisibleAddress: PHYSICAL_ADDRESS = 0
    Operation: ClassVar[DXGK_BUILDPAGINGBUFFER_OPERATION] = DXGK_BUILDPAGINGBUFFER_OPERATION.MAP_APERTURE_SEGMENT2


DXGK_BUILDPAGINGBUFFER_PARAMETERS: TypeAlias = (
    DXGK_BUILDPAGINGBUFFER_TRANSFER
    | DXGK_BUILDPAGINGBUFFER_FILL
    | DXGK_BUILDPAGINGBUFFER_DISCARD_CONTENT
    | DXGK_BUILDPAGINGBUFFER_READ_PHYSICAL
    | DXGK_BUILDPAGINGBUFFER_WRITE_PHYSICAL
    | DXGK_BUILDPAGINGBUFFER_MAP_APERTURE_SEGMENT
    | DXGK_BUILDPAGINGBUFFER_UNMAP_APERTURE_SEGMENT
    | DXGK_BUILDPAGINGBUFFER_SPECIAL_LOCK_TRANSFER
    | DXGK_BUILDPAGINGBUFFER_VIRTUAL_TRANSFER
    | DXGK_BUILDPAGINGBUFFER_VIRTUAL_FILL
    | DXGK_BUILDPAGINGBUFFER_INIT_CONTEXT_RESOURCE
    | DXGK_BUILDPAGINGBUFFER_UPDATE_PAGE_TABLE
    | DXGK_BUILDPAGINGBUFFER_FLUSH_TLB
    | DXGK_BUILDPAGINGBUFFER_UPDATE_CONTEXT_ALLOCATION
    | DXGK_BUILDPAGINGBUFFER_COPY_PAGE_TABLE_ENTRIES
    | DXGK_BUILDPAGINGBUFFER_NOTIFY_RESIDENCY
    | DXGK_BUILDPAGINGBUFFER_SIGNAL_MONITORED_FENCE
    | DXGK_BUILDPAGINGBUFFER_MAP_APERTURE_SEGMENT2
)


@dataclass(slots=True)
class DXGKARG_BUILDPAGINGBUFFER:
    """Append one paging operation to a paging buffer; operations are packed tightly.

    ``MultipassOffset`` is 0 at the first call of an operation and the miniport's own between its iterations.
    DEVIATES: ``Parameters`` is the union, ``Operation`` derives from it; pointers do not advance (``…Used``, out).
    """

    pDmaBuffer: ByteArray
    DmaSize: int
    Parameters: DXGK_BUILDPAGINGBUFFER_PARAMETERS
    pDmaBufferPrivateData: ByteArray | None = None
    DmaBufferPrivateDataSize: int = 0
    MultipassOffset: int = 0
    hSystemContext: HANDLE = 0
    DmaBufferGpuVirtualAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    DmaBufferWriteOffset: int = 0
    DmaBufferUsed: int = 0
    DmaBufferPrivateDataUsed: int = 0
    _SIZE_: ClassVar[int] = 320
    _LAYOUT_: ClassVar[Layout] = (
        ("pDmaBuffer", 0, 8),
        ("DmaSize", 8, 4),
        ("pDmaBufferPrivateData", 16, 8),
        ("DmaBufferPrivateDataSize", 24, 4),
        ("Operation", 28, 4),
        ("MultipassOffset", 32, 4),
        ("Parameters", 40, 256),
        ("hSystemContext", 296, 8),
        ("DmaBufferGpuVirtualAddress", 304, 8),
        ("DmaBufferWriteOffset", 312, 4),
    )

    @property
    def Operation(self) -> DXGK_BUILDPAGINGBUFFER_OPERATION:
        """Tag of the union."""
        return self.Parameters.Operation


@dataclass(slots=True)
class DXGKARG_SETROOTPAGETABLE:
    """Root page table of a context, segment-relative."""

    hContext: HANDLE
    Address: PHYSICAL_ADDRESS
    NumEntries: int


@dataclass(slots=True)
class DXGKARG_GETROOTPAGETABLESIZE:
    """Entries of a root page table (in/out); the entry returns its size in bytes."""

    NumberOfPte: int
    PhysicalAdapterIndex: int = 0


# --- patch, submission ----------------------------------------------------------------------------------------------


class DXGK_PATCHFLAGS(IntFlag):
    """Kind of DMA buffer to patch."""

    NONE = 0
    Paging = 0x1
    Present = 0x2
    RedirectedPresent = 0x4
    NullRendering = 0x8


@dataclass(slots=True)
class DXGKARG_PATCH:
    """Write final addresses into a DMA buffer, in place. ``hDevice``/``hContext`` share a place, both 0 for system paging.

    ``pDmaBuffer`` is the whole buffer; the lists are whole too (None for paging) and the ``…Submission…`` members tell the part
    to process. The patched value is the allocation's address plus AllocationOffset, stored at PatchOffset.
    """

    hContext: HANDLE
    pDmaBuffer: ByteArray
    DmaBufferSize: int
    DmaBufferSubmissionStartOffset: int
    DmaBufferSubmissionEndOffset: int
    SubmissionFenceId: int
    hDevice: HANDLE = 0
    DmaBufferSegmentId: int = 0
    DmaBufferPhysicalAddress: PHYSICAL_ADDRESS = 0
    pDmaBufferPrivateData: ByteArray | None = None
    DmaBufferPrivateDataSize: int = 0
    DmaBufferPrivateDataSubmissionStartOffset: int = 0
    DmaBufferPrivateDataSubmissionEndOffset: int = 0
    pAllocationList: StructArray | None = None
    AllocationListSize: int = 0
    pPatchLocationList: StructArray | None = None
    PatchLocationListSize: int = 0
    PatchLocationListSubmissionStart: int = 0
    PatchLocationListSubmissionLength: int = 0
    Flags: DXGK_PATCHFLAGS = DXGK_PATCHFLAGS.NONE
    EngineOrdinal: int = 0
    _SIZE_: ClassVar[int] = 120
    _LAYOUT_: ClassVar[Layout] = (
        ("hDevice", 0, 8),
        ("hContext", 0, 8),
        ("DmaBufferSegmentId", 8, 4),
        ("DmaBufferPhysicalAddress", 16, 8),
        ("pDmaBuffer", 24, 8),
        ("DmaBufferSize", 32, 4),
        ("DmaBufferSubmissionStartOffset", 36, 4),
        ("DmaBufferSubmissionEndOffset", 40, 4),
        ("pDmaBufferPrivateData", 48, 8),
        ("DmaBufferPrivateDataSize", 56, 4),
        ("DmaBufferPrivateDataSubmissionStartOffset", 60, 4),
        ("DmaBufferPrivateDataSubmissionEndOffset", 64, 4),
        ("pAllocationList", 72, 8),
        ("AllocationListSize", 80, 4),
        ("pPatchLocationList", 88, 8),
        ("PatchLocationListSize", 96, 4),
        ("PatchLocationListSubmissionStart", 100, 4),
        ("PatchLocationListSubmissionLength", 104, 4),
        ("SubmissionFenceId", 108, 4),
        ("Flags", 112, 4),
        ("EngineOrdinal", 116, 4),
    )


class DXGK_SUBMITCOMMANDFLAGS(IntFlag):
    """Kind of submission."""

    NONE = 0
    Paging = 0x1
    Present = 0x2
    RedirectedPresent = 0x4
    NullRendering = 0x8
    Flip = 0x10
    FlipWithNoWait = 0x20
    ContextSwitch = 0x40
    Resubmission = 0x80
    VirtualMachineData = 0x100


@dataclass(slots=True)
class DXGKARG_SUBMITCOMMAND:
    """Give a DMA buffer to the hardware. ``hDevice``/``hContext`` share a place, both 0 for system paging.

    Execute from the start offset to the end offset (bytes), then write ``SubmissionFenceId``.
    """

    hContext: HANDLE
    DmaBufferSegmentId: int
    DmaBufferPhysicalAddress: PHYSICAL_ADDRESS
    DmaBufferSize: int
    DmaBufferSubmissionStartOffset: int
    DmaBufferSubmissionEndOffset: int
    SubmissionFenceId: int
    NodeOrdinal: int
    hDevice: HANDLE = 0
    pDmaBufferPrivateData: ByteArray | None = None
    DmaBufferPrivateDataSize: int = 0
    DmaBufferPrivateDataSubmissionStartOffset: int = 0
    DmaBufferPrivateDataSubmissionEndOffset: int = 0
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID = 0
    FlipInterval: D3DDDI_FLIPINTERVAL_TYPE = D3DDDI_FLIPINTERVAL_TYPE.IMMEDIATE
    Flags: DXGK_SUBMITCOMMANDFLAGS = DXGK_SUBMITCOMMANDFLAGS.NONE
    EngineOrdinal: int = 0
    DmaBufferVirtualAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    _SIZE_: ClassVar[int] = 96
    _LAYOUT_: ClassVar[Layout] = (
        ("hDevice", 0, 8),
        ("hContext", 0, 8),
        ("DmaBufferSegmentId", 8, 4),
        ("DmaBufferPhysicalAddress", 16, 8),
        ("DmaBufferSize", 24, 4),
        ("DmaBufferSubmissionStartOffset", 28, 4),
        ("DmaBufferSubmissionEndOffset", 32, 4),
        ("pDmaBufferPrivateData", 40, 8),
        ("DmaBufferPrivateDataSize", 48, 4),
        ("DmaBufferPrivateDataSubmissionStartOffset", 52, 4),
        ("DmaBufferPrivateDataSubmissionEndOffset", 56, 4),
        ("SubmissionFenceId", 60, 4),
        ("VidPnSourceId", 64, 4),
        ("FlipInterval", 68, 4),
        ("Flags", 72, 4),
        ("EngineOrdinal", 76, 4),
        ("DmaBufferVirtualAddress", 80, 8),
        ("NodeOrdinal", 88, 4),
    )


@dataclass(slots=True)
class DXGKARG_SUBMITCOMMANDVIRTUAL:
    """Give commands at a GPU virtual address to the hardware (WDDM 2)."""

    hContext: HANDLE
    DmaBufferVirtualAddress: D3DGPU_VIRTUAL_ADDRESS
    DmaBufferSize: int
    SubmissionFenceId: int
    NodeOrdinal: int
    pDmaBufferPrivateData: ByteArray | None = None
    DmaBufferPrivateDataSize: int = 0
    DmaBufferUmdPrivateDataSize: int = 0
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID = 0
    FlipInterval: D3DDDI_FLIPINTERVAL_TYPE = D3DDDI_FLIPINTERVAL_TYPE.IMMEDIATE
    Flags: DXGK_SUBMITCOMMANDFLAGS = DXGK_SUBMITCOMMANDFLAGS.NONE
    EngineOrdinal: int = 0


@dataclass(slots=True)
class DXGKARG_SUBMITCOMMANDTOHWQUEUE:
    """Give commands to a hardware queue."""

    hHwQueue: HANDLE
    HwQueueProgressFenceId: int
    DmaBufferVirtualAddress: D3DGPU_VIRTUAL_ADDRESS
    DmaBufferSize: int
    pDmaBufferPrivateData: ByteArray | None = None
    DmaBufferPrivateDataSize: int = 0
    Flags: DXGK_SUBMITCOMMANDFLAGS = DXGK_SUBMITCOMMANDFLAGS.NONE
    HwQueueProgressFenceGpuVa: D3DGPU_VIRTUAL_ADDRESS = 0
    HwQueueProgressFenceCpuVa: npt.NDArray[np.uint64] | None = None


class DXGK_MONITORED_FENCE_KERNEL_SUBMISSION_TYPE(IntEnum):
    """Which DMA buffer signals a monitored fence."""

    BUILD_PAGING_BUFFER = 0
    RENDERGDI = 1
    PRESENTBLT = 2


@dataclass(slots=True)
class DXGKARG_SIGNALMONITOREDFENCE:
    """Let a DMA buffer write a monitored fence (64 bits) when it is done. INSUFFICIENT_DMA_BUFFER: it can take no more signals.

    DEVIATES: also asked for buffers of DxgkDdiRender, whose hardware cannot write fences from user mode; pointers do not advance
    (``…Used``, out).
    """

    MonitoredFenceGpuVa: D3DGPU_VIRTUAL_ADDRESS
    MonitoredFenceValue: int
    pDmaBuffer: ByteArray | None = None
    DmaSize: int = 0
    pDmaBufferPrivateData: ByteArray | None = None
    DmaBufferPrivateDataSize: int = 0
    KernelSubmissionType: DXGK_MONITORED_FENCE_KERNEL_SUBMISSION_TYPE = (
        DXGK_MONITORED_FENCE_KERNEL_SUBMISSION_TYPE.BUILD_PAGING_BUFFER
    )
    MonitoredFenceCpuVa: npt.NDArray[np.uint64] | None = None
    hHwQueue: HANDLE = 0
    DmaBufferUsed: int = 0
    DmaBufferPrivateDataUsed: int = 0


@dataclass(slots=True)
class DXGKARG_CANCELCOMMAND:
    """A packet that will never reach the hardware: release what belongs to it."""

    hContext: HANDLE
    pDmaBuffer: ByteArray
    DmaBufferSize: int
    DmaBufferSubmissionStartOffset: int
    DmaBufferSubmissionEndOffset: int
    pDmaBufferPrivateData: ByteArray | None = None
    DmaBufferPrivateDataSize: int = 0
    DmaBufferPrivateDataSubmissionStartOffset: int = 0
    DmaBufferPrivateDataSubmissionEndOffset: int = 0
    pAllocationList: StructArray | None = None
    AllocationListSize: int = 0
    pPatchLocationList: StructArray | None = None
    PatchLocationListSize: int = 0
    PatchLocationListSubmissionStart: int = 0
    PatchLocationListSubmissionLength: int = 0


@dataclass(slots=True)
class DXGKARG_QUERYCURRENTFENCE:
    """Newest completed fence of a node; ``CurrentFence`` is out."""

    NodeOrdinal: int
    EngineOrdinal: int = 0
    CurrentFence: int = 0


@dataclass(slots=True)
class DXGKARG_PREEMPTCOMMAND:
    """Stop everything queued on a node; no flag is defined."""

    PreemptionFenceId: int
    NodeOrdinal: int
    EngineOrdinal: int = 0
    Flags: int = 0
    _SIZE_: ClassVar[int] = 16
    _LAYOUT_: ClassVar[Layout] = (
        ("PreemptionFenceId", 0, 4),
        ("NodeOrdinal", 4, 4),
        ("EngineOrdinal", 8, 4),
        ("Flags", 12, 4),
    )


@dataclass(slots=True)
class DXGKARG_QUERYDEPENDENTENGINEGROUP:
    """Nodes that are reset together, the asked one included; the mask (64 bits) is out."""

    NodeOrdinal: int
    EngineOrdinal: int = 0
    DependentNodeOrdinalMask: int = 0


@dataclass(slots=True)
class DXGKARG_QUERYENGINESTATUS:
    """Has the node made progress? DEVIATES: EngineStatus.Responsive is ``Responsive`` (out)."""

    NodeOrdinal: int
    EngineOrdinal: int = 0
    Responsive: bool = False


@dataclass(slots=True)
class DXGKARG_RESETENGINE:
    """Reset a node; ``LastAbortedFenceId`` is out and between the last completed and the last submitted id."""

    NodeOrdinal: int
    EngineOrdinal: int = 0
    LastAbortedFenceId: int = 0


@dataclass(slots=True)
class DXGKARG_COLLECTDBGINFO:
    """Fill ``pBuffer`` with what helps to explain ``Reason`` (a bug-check code)."""

    Reason: int
    pBuffer: bytearray
    BufferSize: int
    pExtension: object | None = None


@dataclass(slots=True)
class DXGKARG_ESCAPE:
    """Private message from the user-mode driver; the miniport may change the data in place."""

    hDevice: HANDLE
    pPrivateDriverData: bytearray
    PrivateDriverDataSize: int
    Flags: D3DDDI_ESCAPEFLAGS = D3DDDI_ESCAPEFLAGS.NONE
    hContext: HANDLE = 0
    hKmdProcessHandle: HANDLE = 0


# --- interrupts -----------------------------------------------------------------------------------------------------


class DXGK_INTERRUPT_TYPE(IntEnum):
    """What an interrupt reports."""

    DMA_COMPLETED = 1
    DMA_PREEMPTED = 2
    CRTC_VSYNC = 3
    DMA_FAULTED = 4
    DISPLAYONLY_VSYNC = 5
    DISPLAYONLY_PRESENT_PROGRESS = 6
    CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY = 7
    MICACAST_CHUNK_PROCESSING_COMPLETE = 8
    DMA_PAGE_FAULTED = 9
    CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY2 = 10
    MONITORED_FENCE_SIGNALED = 11
    HWQUEUE_PAGE_FAULTED = 12
    HWCONTEXTLIST_SWITCH_COMPLETED = 13
    PERIODIC_MONITORED_FENCE_SIGNALED = 14
    SCHEDULING_LOG_INTERRUPT = 15
    GPU_ENGINE_TIMEOUT = 16
    SUSPEND_CONTEXT_COMPLETED = 17
    CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY3 = 18
    NATIVE_FENCE_SIGNALED = 19
    GPU_ENGINE_STATE_CHANGE = 20


class DXGKCB_NOTIFY_INTERRUPT_DATA_FLAGS(IntFlag):
    """Flags of DXGKARGCB_NOTIFY_INTERRUPT_DATA."""

    NONE = 0
    ValidPhysicalAdapterMask = 0x1
    EvaluateLegacyMonitoredFences = 0x2


class DXGK_PAGE_FAULT_FLAGS(IntFlag):
    """What a page fault was."""

    NONE = 0
    WRITE = 0x1
    FENCE_INVALID = 0x2
    ADAPTER_RESET_REQUIRED = 0x4
    ENGINE_RESET_REQUIRED = 0x8
    FATAL_HARDWARE_ERROR = 0x10
    IOMMU = 0x20
    HW_CONTEXT_VALID = 0x40
    PROCESS_HANDLE_VALID = 0x80


class DXGK_RENDER_PIPELINE_STAGE(IntEnum):
    """Stage that faulted."""

    UNKNOWN = 0
    INPUT_ASSEMBLER = 1
    VERTEX_SHADER = 2
    GEOMETRY_SHADER = 3
    STREAM_OUTPUT = 4
    RASTERIZER = 5
    PIXEL_SHADER = 6
    OUTPUT_MERGER = 7


class DXGK_GENERAL_ERROR_CODE(IntEnum):
    """General code of a fault."""

    PAGE_FAULT = 0
    INVALID_INSTRUCTION = 1


DXGK_FAULT_ERROR_CODE_ISDEVICESPECIFIC: Final = 0x1


def fault_error_code(code: int, *, device_specific: bool = False) -> int:
    """DXGK_FAULT_ERROR_CODE: bit 0 tells a device-specific code, bits 1-31 hold the code."""
    return (code & 0x7FFF_FFFF) << 1 | (DXGK_FAULT_ERROR_CODE_ISDEVICESPECIFIC if device_specific else 0)


class DXGK_ENGINE_STATE(IntEnum):
    """State of an engine."""

    ACTIVE = 0
    IDLE = 1
    HUNG = 2


@dataclass(slots=True)
class DXGK_INTERRUPT_DMA_COMPLETED:
    """Every submission of the node up to ``SubmissionFenceId`` is complete."""

    SubmissionFenceId: int
    NodeOrdinal: int
    EngineOrdinal: int = 0
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.DMA_COMPLETED


@dataclass(slots=True)
class DXGK_INTERRUPT_DMA_PREEMPTED:
    """The preemption is done; what was submitted after ``LastCompletedFenceId`` will be submitted again."""

    PreemptionFenceId: int
    LastCompletedFenceId: int
    NodeOrdinal: int
    EngineOrdinal: int = 0
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.DMA_PREEMPTED


@dataclass(slots=True)
class DXGK_INTERRUPT_CRTC_VSYNC:
    """Vertical retrace began and the address was latched; ``PhysicalAddress`` is scanned out now."""

    VidPnTargetId: D3DDDI_VIDEO_PRESENT_TARGET_ID
    PhysicalAddress: PHYSICAL_ADDRESS
    PhysicalAdapterMask: int = 0
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.CRTC_VSYNC


@dataclass(slots=True)
class DXGK_INTERRUPT_DMA_FAULTED:
    """The hardware stopped at a submission; ``Status`` is an NTSTATUS."""

    FaultedFenceId: int
    Status: int
    NodeOrdinal: int
    EngineOrdinal: int = 0
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.DMA_FAULTED


@dataclass(slots=True)
class DXGK_INTERRUPT_DMA_PAGE_FAULTED:
    """An access to memory failed; ``FaultErrorCode`` is a DXGK_FAULT_ERROR_CODE word."""

    FaultedFenceId: int
    PageFaultFlags: DXGK_PAGE_FAULT_FLAGS
    FaultedVirtualAddress: D3DGPU_VIRTUAL_ADDRESS
    NodeOrdinal: int
    EngineOrdinal: int = 0
    FaultedPrimitiveAPISequenceNumber: int = 0
    FaultedPipelineStage: DXGK_RENDER_PIPELINE_STAGE = DXGK_RENDER_PIPELINE_STAGE.UNKNOWN
    FaultedBindTableEntry: int = 0
    PageTableLevel: int = 0
    FaultErrorCode: int = 0
    FaultedProcessHandle: HANDLE = 0
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.DMA_PAGE_FAULTED


@dataclass(slots=True)
class DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED:
    """The GPU wrote a monitored fence; the OS looks at the waits."""

    NodeOrdinal: int
    EngineOrdinal: int = 0
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.MONITORED_FENCE_SIGNALED


@dataclass(slots=True)
class DXGK_INTERRUPT_PERIODIC_MONITORED_FENCE_SIGNALED:
    """The time before vertical sync that a periodic fence waits for has come."""

    VidPnTargetId: D3DDDI_VIDEO_PRESENT_TARGET_ID
    NotificationID: int
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.PERIODIC_MONITORED_FENCE_SIGNALED


@dataclass(slots=True)
class DXGK_INTERRUPT_GPU_ENGINE_TIMEOUT:
    """The hardware itself found that an engine hangs."""

    NodeOrdinal: int
    EngineOrdinal: int = 0
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.GPU_ENGINE_TIMEOUT


@dataclass(slots=True)
class DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED:
    """A context was suspended."""

    hContext: HANDLE
    ContextSuspendFence: int
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.SUSPEND_CONTEXT_COMPLETED


@dataclass(slots=True)
class DXGK_INTERRUPT_NATIVE_FENCE_SIGNALED:
    """Native fences were signalled; None = look at all of them."""

    NodeOrdinal: int
    EngineOrdinal: int = 0
    SignaledNativeFenceCount: int = 0
    pSignaledNativeFenceArray: Sequence[HANDLE] | None = None
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.NATIVE_FENCE_SIGNALED


@dataclass(slots=True)
class DXGK_INTERRUPT_GPU_ENGINE_STATE_CHANGE:
    """An engine goes to another power state."""

    NodeOrdinal: int
    NewState: int
    EngineOrdinal: int = 0
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.GPU_ENGINE_STATE_CHANGE


@dataclass(slots=True)
class DXGK_INTERRUPT_DISPLAYONLY_VSYNC:
    """Vertical retrace of a display-only adapter."""

    VidPnTargetId: D3DDDI_VIDEO_PRESENT_TARGET_ID
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.DISPLAYONLY_VSYNC


@dataclass(slots=True)
class DXGK_MULTIPLANE_OVERLAY_VSYNC_INFO:
    """One plane's address at vertical retrace."""

    LayerIndex: int
    PhysicalAddress: PHYSICAL_ADDRESS
    Enabled: bool = True


@dataclass(slots=True)
class DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY:
    """Vertical retrace with the address of every plane."""

    VidPnTargetId: D3DDDI_VIDEO_PRESENT_TARGET_ID
    pMultiPlaneOverlayVsyncInfo: Sequence[DXGK_MULTIPLANE_OVERLAY_VSYNC_INFO]
    MultiPlaneOverlayVsyncInfoCount: int = 0
    PhysicalAdapterMask: int = 0
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY


@dataclass(slots=True)
class DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED:
    """An access of a hardware queue failed; the fence id has 64 bits."""

    FaultedFenceId: int
    PageFaultFlags: DXGK_PAGE_FAULT_FLAGS
    FaultedVirtualAddress: D3DGPU_VIRTUAL_ADDRESS
    NodeOrdinal: int
    hHwQueue: HANDLE
    EngineOrdinal: int = 0
    FaultErrorCode: int = 0
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.HWQUEUE_PAGE_FAULTED


@dataclass(slots=True)
class DXGK_INTERRUPT_HWCONTEXTLIST_SWITCH_COMPLETED:
    """The hardware runs another list of contexts; the fence has 64 bits."""

    NodeOrdinal: int
    ContextSwitchFence: int
    EngineOrdinal: int = 0
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.HWCONTEXTLIST_SWITCH_COMPLETED


@dataclass(slots=True)
class DXGK_INTERRUPT_SCHEDULING_LOG:
    """The scheduling log of a node is to be read."""

    NodeOrdinal: int
    EngineOrdinal: int = 0
    InterruptType: ClassVar[DXGK_INTERRUPT_TYPE] = DXGK_INTERRUPT_TYPE.SCHEDULING_LOG_INTERRUPT


DXGK_INTERRUPT_PARAMETERS: TypeAlias = (
    DXGK_INTERRUPT_DMA_COMPLETED
    | DXGK_INTERRUPT_DMA_PREEMPTED
    | DXGK_INTERRUPT_CRTC_VSYNC
    | DXGK_INTERRUPT_DMA_FAULTED
    | DXGK_INTERRUPT_DMA_PAGE_FAULTED
    | DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED
    | DXGK_INTERRUPT_PERIODIC_MONITORED_FENCE_SIGNALED
    | DXGK_INTERRUPT_GPU_ENGINE_TIMEOUT
    | DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED
    | DXGK_INTERRUPT_NATIVE_FENCE_SIGNALED
    | DXGK_INTERRUPT_GPU_ENGINE_STATE_CHANGE
    | DXGK_INTERRUPT_DISPLAYONLY_VSYNC
    | DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY
    | DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED
    | DXGK_INTERRUPT_HWCONTEXTLIST_SWITCH_COMPLETED
    | DXGK_INTERRUPT_SCHEDULING_LOG
)


@dataclass(slots=True)
class DXGKARGCB_NOTIFY_INTERRUPT_DATA:
    """Argument of DxgkCbNotifyInterrupt. DEVIATES: ``Parameters`` is the union, ``InterruptType`` derives from it."""

    Parameters: DXGK_INTERRUPT_PARAMETERS
    Flags: DXGKCB_NOTIFY_INTERRUPT_DATA_FLAGS = DXGKCB_NOTIFY_INTERRUPT_DATA_FLAGS.NONE
    _LAYOUT_: ClassVar[Layout] = (("InterruptType", 0, 4), ("Parameters", 8, 64), ("Flags", 72, 4))

    @property
    def InterruptType(self) -> DXGK_INTERRUPT_TYPE:
        """Tag of the union."""
        return self.Parameters.InterruptType


# --- scheduling -----------------------------------------------------------------------------------------------------


class DXGK_SCHEDULING_PRIORITY_BAND(IntEnum):
    """Bands of hardware scheduling."""

    IDLE = 0
    NORMAL = 1
    FOCUS = 2
    REALTIME = 3


DXGK_PRIORITY_BAND_COUNT: Final = 4
DXGK_REALTIME_LEVEL_COUNT: Final = 32


@dataclass(slots=True)
class DXGKARG_SETUPPRIORITYBANDS:
    """Times of the bands in units of 100 ns; the NORMAL band's share (0..50 percent) while FOCUS starves it."""

    gracePeriodForBand: tuple[int, int, int, int]
    processQuantumForBand: tuple[int, int, int, int]
    processGracePeriodForBand: tuple[int, int, int, int]
    targetNormalBandPercentage: int = 10
    _SIZE_: ClassVar[int] = 104
    _LAYOUT_: ClassVar[Layout] = (
        ("gracePeriodForBand", 0, 32),
        ("processQuantumForBand", 32, 32),
        ("processGracePeriodForBand", 64, 32),
        ("targetNormalBandPercentage", 96, 4),
    )


@dataclass(slots=True)
class DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES:
    """Priority of a context; times in units of 100 ns, in-process priority -7..7, real-time level 0..31."""

    hContext: HANDLE
    priorityBand: DXGK_SCHEDULING_PRIORITY_BAND
    realtimeBandPriorityLevel: int = 0
    inProcessPriority: int = 0
    quantum: int = 0
    gracePeriodSamePriority: int = 0
    gracePeriodLowerPriority: int = 0
    _SIZE_: ClassVar[int] = 48
    _LAYOUT_: ClassVar[Layout] = (
        ("hContext", 0, 8),
        ("priorityBand", 8, 4),
        ("realtimeBandPriorityLevel", 12, 4),
        ("inProcessPriority", 16, 4),
        ("quantum", 24, 8),
        ("gracePeriodSamePriority", 32, 8),
        ("gracePeriodLowerPriority", 40, 8),
    )


# --- display --------------------------------------------------------------------------------------------------------


class DXGK_SETVIDPNSOURCEADDRESS_FLAGS(IntFlag):
    """When and how a new address is latched."""

    NONE = 0
    ModeChange = 0x1
    FlipImmediate = 0x2
    FlipOnNextVSync = 0x4
    FlipStereo = 0x8
    FlipStereoTemporaryMono = 0x10
    FlipStereoPreferRight = 0x20
    SharedPrimaryTransition = 0x40
    IndependentFlipExclusive = 0x80
    MoveFlip = 0x100


DXGK_MAX_SOURCEADDRESS_CONTEXTS: Final = 65


@dataclass(slots=True)
class DXGKARG_SETVIDPNSOURCEADDRESS:
    """Scan out another primary. ``ContextCount`` 0 = mode switch; ``Duration`` in units of 100 ns, 0 = default refresh."""

    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    PrimarySegment: int
    PrimaryAddress: PHYSICAL_ADDRESS
    hAllocation: HANDLE = 0
    ContextCount: int = 0
    Context: Sequence[HANDLE] = ()
    Flags: DXGK_SETVIDPNSOURCEADDRESS_FLAGS = DXGK_SETVIDPNSOURCEADDRESS_FLAGS.NONE
    Duration: int = 0
    PrimaryData: Sequence[object] = ()
    DriverPrivateDataSize: int = 0
    pDriverPrivateData: PrivateData | None = None
    _SIZE_: ClassVar[int] = 2112
    _LAYOUT_: ClassVar[Layout] = (
        ("VidPnSourceId", 0, 4),
        ("PrimarySegment", 4, 4),
        ("PrimaryAddress", 8, 8),
        ("hAllocation", 16, 8),
        ("ContextCount", 24, 4),
        ("Context", 32, 520),
        ("Flags", 552, 4),
        ("Duration", 556, 4),
        ("PrimaryData", 560, 1536),
        ("DriverPrivateDataSize", 2096, 4),
        ("pDriverPrivateData", 2104, 8),
    )


@dataclass(slots=True)
class DXGKARG_SETVIDPNSOURCEVISIBILITY:
    """Start (True) or stop scanning a source; vertical sync goes on either way."""

    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    Visible: bool


@dataclass(slots=True)
class DXGKARG_ISSUPPORTEDVIDPN:
    """Is the VidPN supported? Handle 0 = the empty one; ``IsVidPnSupported`` is out."""

    hDesiredVidPn: HANDLE
    IsVidPnSupported: bool = False


@dataclass(slots=True)
class DXGKARG_RECOMMENDFUNCTIONALVIDPN:
    """Fill the VidPN with a functional one."""

    hRecommendedFunctionalVidPn: HANDLE
    NumberOfVidPnTargets: int = 0
    pVidPnTargetPrioritizationVector: Sequence[int] = ()
    RequestReason: int = 0
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0


@dataclass(slots=True)
class DXGKARG_RECOMMENDVIDPNTOPOLOGY:
    """Augment the VidPN's topology with a path from the source."""

    hVidPn: HANDLE
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    RequestReason: int = 0
    hFallbackTopology: HANDLE = 0


@dataclass(slots=True)
class DXGKARG_RECOMMENDMONITORMODES:
    """Add modes to a monitor's mode set."""

    VideoPresentTargetId: D3DDDI_VIDEO_PRESENT_TARGET_ID
    hMonitorSourceModeSet: HANDLE
    pMonitorSourceModeSetInterface: object | None = None


@dataclass(slots=True)
class DXGKARG_ENUMVIDPNCOFUNCMODALITY:
    """Make every unpinned mode set cofunctional, but leave the pivot (the ids that its type needs) alone."""

    hConstrainingVidPn: HANDLE
    EnumPivotType: D3DKMDT_ENUMCOFUNCMODALITY_PIVOT_TYPE
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID = 0
    VidPnTargetId: D3DDDI_VIDEO_PRESENT_TARGET_ID = 0


class DXGKARG_COMMITVIDPN_FLAGS(IntFlag):
    """Flags of DXGKARG_COMMITVIDPN."""

    NONE = 0
    PathPowerTransition = 0x1
    PathPoweredOff = 0x2


@dataclass(slots=True)
class DXGKARG_COMMITVIDPN:
    """Make a VidPN the active one: one source's paths, or all of it as one transaction for D3DDDI_ID_ALL."""

    hFunctionalVidPn: HANDLE
    AffectedVidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID = D3DDDI_ID_ALL
    MonitorConnectivityChecks: D3DKMDT_MONITOR_CONNECTIVITY_CHECKS = D3DKMDT_MONITOR_CONNECTIVITY_CHECKS.IGNORE
    hPrimaryAllocation: HANDLE = 0
    Flags: DXGKARG_COMMITVIDPN_FLAGS = DXGKARG_COMMITVIDPN_FLAGS.NONE


@dataclass(slots=True)
class DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH:
    """Change rotation, gamma and the like of an active path."""

    VidPnPresentPathInfo: D3DKMDT_VIDPN_PRESENT_PATH


@dataclass(slots=True)
class DXGKARG_GETSCANLINE:
    """Where the beam is; the last two members are out."""

    VidPnTargetId: D3DDDI_VIDEO_PRESENT_TARGET_ID
    InVerticalBlank: bool = False
    ScanLine: int = 0


@dataclass(slots=True)
class DXGKARG_SETPALETTE:
    """Palette of a source: RGB entries from ``FirstEntry``."""

    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    FirstEntry: int
    NumEntries: int
    pLookupTable: npt.NDArray[np.uint8]


@dataclass(slots=True)
class DXGKARG_SETPOINTERPOSITION:
    """Position of the hardware pointer."""

    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    X: int
    Y: int
    Visible: bool = True


@dataclass(slots=True)
class DXGKARG_SETPOINTERSHAPE:
    """Shape of the hardware pointer; ``Pitch`` in bytes."""

    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    Flags: int
    Width: int
    Height: int
    Pitch: int
    pPixels: npt.NDArray[np.uint8]
    XHot: int = 0
    YHot: int = 0


@dataclass(slots=True)
class DXGK_VIDPN_INTERFACE:
    """What a miniport may ask of a VidPN (DxgkCbQueryVidPnInterface). The sets and topologies come with an interface of their
    own; a function returns (status, value…) where the header has out parameters."""

    pfnGetTopology: Callable[[HANDLE], "tuple[int, HANDLE, DXGK_VIDPNTOPOLOGY_INTERFACE | None]"] | None = None
    pfnAcquireSourceModeSet: Callable[[HANDLE, int], "tuple[int, HANDLE, DXGK_VIDPNSOURCEMODESET_INTERFACE | None]"] | None = None
    pfnReleaseSourceModeSet: Callable[[HANDLE, HANDLE], int] | None = None
    pfnCreateNewSourceModeSet: Callable[[HANDLE, int], "tuple[int, HANDLE, DXGK_VIDPNSOURCEMODESET_INTERFACE | None]"] | None = None
    pfnAssignSourceModeSet: Callable[[HANDLE, int, HANDLE], int] | None = None
    pfnAssignMultisamplingMethodSet: Callable[[HANDLE, int, Sequence[D3DDDI_MULTISAMPLINGMETHOD]], int] | None = None
    pfnAcquireTargetModeSet: Callable[[HANDLE, int], "tuple[int, HANDLE, DXGK_VIDPNTARGETMODESET_INTERFACE | None]"] | None = None
    pfnReleaseTargetModeSet: Callable[[HANDLE, HANDLE], int] | None = None
    pfnCreateNewTargetModeSet: Callable[[HANDLE, int], "tuple[int, HANDLE, DXGK_VIDPNTARGETMODESET_INTERFACE | None]"] | None = None
    pfnAssignTargetModeSet: Callable[[HANDLE, int, HANDLE], int] | None = None


@dataclass(slots=True)
class DXGK_VIDPNTOPOLOGY_INTERFACE:
    """Paths of a topology; a function returns (status, value…) where the header has out parameters."""

    pfnGetNumPaths: Callable[[HANDLE], tuple[int, int]] | None = None
    pfnGetNumPathsFromSource: Callable[[HANDLE, int], tuple[int, int]] | None = None
    pfnEnumPathTargetsFromSource: Callable[[HANDLE, int, int], tuple[int, int]] | None = None
    pfnAcquireFirstPathInfo: Callable[[HANDLE], tuple[int, D3DKMDT_VIDPN_PRESENT_PATH | None]] | None = None
    pfnAcquireNextPathInfo: Callable[[HANDLE, D3DKMDT_VIDPN_PRESENT_PATH], tuple[int, D3DKMDT_VIDPN_PRESENT_PATH | None]] | None = (
        None
    )
    pfnReleasePathInfo: Callable[[HANDLE, D3DKMDT_VIDPN_PRESENT_PATH], int] | None = None
    pfnUpdatePathSupportInfo: Callable[[HANDLE, D3DKMDT_VIDPN_PRESENT_PATH], int] | None = None
    pfnCreateNewPathInfo: Callable[[HANDLE], tuple[int, D3DKMDT_VIDPN_PRESENT_PATH | None]] | None = None
    pfnAddPath: Callable[[HANDLE, D3DKMDT_VIDPN_PRESENT_PATH], int] | None = None
    pfnRemovePath: Callable[[HANDLE, int, int], int] | None = None


@dataclass(slots=True)
class DXGK_VIDPNSOURCEMODESET_INTERFACE:
    """Modes of a source mode set; a function returns (status, value…) where the header has out parameters."""

    pfnGetNumModes: Callable[[HANDLE], tuple[int, int]] | None = None
    pfnAcquireFirstModeInfo: Callable[[HANDLE], tuple[int, D3DKMDT_VIDPN_SOURCE_MODE | None]] | None = None
    pfnAcquireNextModeInfo: Callable[[HANDLE, D3DKMDT_VIDPN_SOURCE_MODE], tuple[int, D3DKMDT_VIDPN_SOURCE_MODE | None]] | None = (
        None
    )
    pfnAcquirePinnedModeInfo: Callable[[HANDLE], tuple[int, D3DKMDT_VIDPN_SOURCE_MODE | None]] | None = None
    pfnReleaseModeInfo: Callable[[HANDLE, D3DKMDT_VIDPN_SOURCE_MODE], int] | None = None
    pfnCreateNewModeInfo: Callable[[HANDLE], tuple[int, D3DKMDT_VIDPN_SOURCE_MODE | None]] | None = None
    pfnAddMode: Callable[[HANDLE, D3DKMDT_VIDPN_SOURCE_MODE], int] | None = None
    pfnPinMode: Callable[[HANDLE, int], int] | None = None


@dataclass(slots=True)
class DXGK_VIDPNTARGETMODESET_INTERFACE:
    """Modes of a target mode set; a function returns (status, value…) where the header has out parameters."""

    pfnGetNumModes: Callable[[HANDLE], tuple[int, int]] | None = None
    pfnAcquireFirstModeInfo: Callable[[HANDLE], tuple[int, D3DKMDT_VIDPN_TARGET_MODE | None]] | None = None
    pfnAcquireNextModeInfo: Callable[[HANDLE, D3DKMDT_VIDPN_TARGET_MODE], tuple[int, D3DKMDT_VIDPN_TARGET_MODE | None]] | None = (
        None
    )
    pfnAcquirePinnedModeInfo: Callable[[HANDLE], tuple[int, D3DKMDT_VIDPN_TARGET_MODE | None]] | None = None
    pfnReleaseModeInfo: Callable[[HANDLE, D3DKMDT_VIDPN_TARGET_MODE], int] | None = None
    pfnCreateNewModeInfo: Callable[[HANDLE], tuple[int, D3DKMDT_VIDPN_TARGET_MODE | None]] | None = None
    pfnAddMode: Callable[[HANDLE, D3DKMDT_VIDPN_TARGET_MODE], int] | None = None
    pfnPinMode: Callable[[HANDLE, int], int] | None = None
