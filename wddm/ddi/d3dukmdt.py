"""d3dukmdt.h: what user mode and kernel mode share.

Ids and limits, the lists that travel with a command buffer, allocations, segment preferences, priorities, residency,
offer and reclaim, synchronisation objects, GPU virtual addresses, page-table entries and the Direct3D format numbers.
Models the ``d3dukmdt`` pages of the driver reference. Declarations only.

Numbers are plain ``int``; a handle is an ``int`` with 0 for NULL. A private-data pointer is any bytes-like object.
"""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import ClassVar, Final, TypeAlias

import numpy as np
import numpy.typing as npt

HANDLE: TypeAlias = int
D3DKMT_HANDLE: TypeAlias = int
PHYSICAL_ADDRESS: TypeAlias = int
D3DGPU_VIRTUAL_ADDRESS: TypeAlias = int
D3DGPU_SIZE_T: TypeAlias = int
D3DDDI_VIDEO_PRESENT_SOURCE_ID: TypeAlias = int
D3DDDI_VIDEO_PRESENT_TARGET_ID: TypeAlias = int
PrivateData: TypeAlias = bytes | bytearray | memoryview
Layout: TypeAlias = tuple[tuple[str, int, int], ...]
"""Members of a structure on x64: (name, byte offset, byte size); members of a union share an offset."""
StructArray: TypeAlias = npt.NDArray[np.void]
"""A numpy structured array of one of the ``…_DTYPE`` records."""
Result: TypeAlias = int | Awaitable[int]
"""What a user-mode entry or callback returns. DEVIATES: Windows calls block; here one that has to wait returns an awaitable of
its HRESULT in place of the HRESULT."""
Void: TypeAlias = Awaitable[None] | None
"""What a user-mode entry without a result returns. DEVIATES: an awaitable when it has to wait."""

D3DDDI_ID_UNINITIALIZED: Final = 0xFFFF_FFFF
D3DDDI_ID_NOTAPPLICABLE: Final = 0
D3DDDI_ID_ANY: Final = 0xFFFF_FFFE
D3DDDI_ID_ALL: Final = 0xFFFF_FFFD

D3DDDI_MAX_BROADCAST_CONTEXT: Final = 64
D3DDDI_MAX_OBJECT_WAITED_ON: Final = 32
D3DDDI_MAX_OBJECT_SIGNALED: Final = 32
D3DDDI_MAX_WRITTEN_PRIMARIES: Final = 16


class DXGKDDI_INTERFACE_VERSION(IntEnum):
    """Miniport interface versions, by driver model."""

    VISTA = 0x1052
    VISTA_SP1 = 0x1053
    WIN7 = 0x2005
    WIN8 = 0x300E
    WDDM1_3 = 0x4002
    WDDM1_3_PATH_INDEPENDENT_ROTATION = 0x4003
    WDDM2_0 = 0x5023
    WDDM2_1 = 0x6003
    WDDM2_2 = 0x700A
    WDDM2_3 = 0x8001
    WDDM2_4 = 0x9006
    WDDM2_5 = 0xA00B
    WDDM2_6 = 0xB004
    WDDM2_7 = 0xC004
    WDDM2_8 = 0xD001
    WDDM2_9 = 0xE003
    WDDM3_0 = 0xF003
    WDDM3_1 = 0x10004


class D3D_UMD_INTERFACE_VERSION(IntEnum):
    """User-mode driver interface versions, by driver model."""

    VISTA = 0x000C
    WIN7 = 0x2003
    WIN8_M3 = 0x3001
    WIN8_CP = 0x3002
    WIN8_RC = 0x3003
    WIN8 = 0x3004
    WDDM1_3 = 0x4002
    WDDM2_0 = 0x5002
    WDDM2_1_1 = 0x6000
    WDDM2_1_2 = 0x6001
    WDDM2_1_3 = 0x6002
    WDDM2_1 = 0x6003
    WDDM2_2_1 = 0x7000
    WDDM2_2 = 0x7001
    WDDM2_3 = 0x8001
    WDDM2_4 = 0x9001
    WDDM2_5 = 0xA002
    WDDM2_6 = 0xB003
    WDDM2_7 = 0xC001
    WDDM2_8 = 0xD000
    WDDM2_9 = 0xE000
    WDDM3_0 = 0xF000
    WDDM3_1 = 0x10000


@dataclass(slots=True)
class RECT:
    """Rectangle in pixels; right and bottom are exclusive."""

    left: int = 0
    top: int = 0
    right: int = 0
    bottom: int = 0
    _SIZE_: ClassVar[int] = 16
    _LAYOUT_: ClassVar[Layout] = (("left", 0, 4), ("top", 4, 4), ("right", 8, 4), ("bottom", 12, 4))


@dataclass(slots=True)
class D3DDDI_RATIONAL:
    """Frequency as a fraction, in Hz."""

    Numerator: int = 0
    Denominator: int = 1
    _SIZE_: ClassVar[int] = 8
    _LAYOUT_: ClassVar[Layout] = (("Numerator", 0, 4), ("Denominator", 4, 4))


class D3DDDI_FLIPINTERVAL_TYPE(IntEnum):
    """Vertical syncs that a flip waits for."""

    IMMEDIATE = 0
    ONE = 1
    TWO = 2
    THREE = 3
    FOUR = 4
    IMMEDIATE_ALLOW_TEARING = 5


class D3DDDI_ROTATION(IntEnum):
    """Rotation of a present path, in quarter turns."""

    IDENTITY = 1
    ROTATE90 = 2
    ROTATE180 = 3
    ROTATE270 = 4


class D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING(IntEnum):
    """Order in which the scan lines of a signal travel."""

    UNINITIALIZED = 0
    PROGRESSIVE = 1
    INTERLACED_UPPERFIELDFIRST = 2
    INTERLACED_LOWERFIELDFIRST = 3
    OTHER = 255


class D3DDDI_COLOR_SPACE_TYPE(IntEnum):
    """Colour space of a surface that is scanned out."""

    RGB_FULL_G22_NONE_P709 = 0
    RGB_FULL_G10_NONE_P709 = 1
    RGB_STUDIO_G22_NONE_P709 = 2
    RGB_STUDIO_G22_NONE_P2020 = 3
    RESERVED = 4
    YCBCR_FULL_G22_NONE_P709_X601 = 5
    YCBCR_STUDIO_G22_LEFT_P601 = 6
    YCBCR_FULL_G22_LEFT_P601 = 7
    YCBCR_STUDIO_G22_LEFT_P709 = 8
    YCBCR_FULL_G22_LEFT_P709 = 9
    YCBCR_STUDIO_G22_LEFT_P2020 = 10
    YCBCR_FULL_G22_LEFT_P2020 = 11
    RGB_FULL_G2084_NONE_P2020 = 12
    YCBCR_STUDIO_G2084_LEFT_P2020 = 13
    RGB_STUDIO_G2084_NONE_P2020 = 14
    YCBCR_STUDIO_G22_TOPLEFT_P2020 = 15
    YCBCR_STUDIO_G2084_TOPLEFT_P2020 = 16
    RGB_FULL_G22_NONE_P2020 = 17


# --- lists that travel with a command buffer ------------------------------------------------------------------------

D3DDDI_ALLOCATIONLIST_DTYPE: Final = np.dtype([("hAllocation", "<u4"), ("Value", "<u4")])
"""One allocation that a command buffer references: D3DKMT handle and flags word; 8 bytes."""
D3DDDI_ALLOCATIONLIST_WRITEOPERATION: Final = 0x1
D3DDDI_ALLOCATIONLIST_DONOTRETIREINSTANCE: Final = 0x2
D3DDDI_ALLOCATIONLIST_OFFERPRIORITY_SHIFT: Final = 2
D3DDDI_ALLOCATIONLIST_OFFERPRIORITY_MASK: Final = 0x1C
D3DDDI_ALLOCATIONLIST_RESERVED_MASK: Final = 0xFFFF_FFE0

D3DDDI_PATCHLOCATIONLIST_DTYPE: Final = np.dtype(
    [
        ("AllocationIndex", "<u4"),
        ("Value", "<u4"),
        ("DriverId", "<u4"),
        ("AllocationOffset", "<u4"),
        ("PatchOffset", "<u4"),
        ("SplitOffset", "<u4"),
    ]
)
"""One place of a DMA buffer that takes an allocation's address; 24 bytes. ``Value`` holds the slot id."""
D3DDDI_PATCHLOCATIONLIST_SLOTID_MASK: Final = 0x00FF_FFFF
D3DDDI_PATCHLOCATIONLIST_RESERVED_MASK: Final = 0xFF00_0000


class D3DDDI_OFFER_PRIORITY(IntEnum):
    """How dear the content of an offered allocation is."""

    NONE = 0
    LOW = 1
    NORMAL = 2
    HIGH = 3
    AUTO = 4


def allocation_list_value(
    *,
    WriteOperation: bool = False,
    DoNotRetireInstance: bool = False,
    OfferPriority: D3DDDI_OFFER_PRIORITY = D3DDDI_OFFER_PRIORITY.NONE,
) -> int:
    """The ``Value`` word of a D3DDDI_ALLOCATIONLIST element."""
    return (
        (D3DDDI_ALLOCATIONLIST_WRITEOPERATION if WriteOperation else 0)
        | (D3DDDI_ALLOCATIONLIST_DONOTRETIREINSTANCE if DoNotRetireInstance else 0)
        | int(OfferPriority) << D3DDDI_ALLOCATIONLIST_OFFERPRIORITY_SHIFT
    )


# --- allocations ----------------------------------------------------------------------------------------------------


class D3DDDI_ALLOCATIONINFO_FLAGS(IntFlag):
    """Flags word of D3DDDI_ALLOCATIONINFO and D3DDDI_ALLOCATIONINFO2."""

    NONE = 0
    Primary = 0x1
    Stereo = 0x2
    OverridePriority = 0x4


@dataclass(slots=True)
class D3DDDI_ALLOCATIONINFO:
    """One allocation asked for by the user-mode driver (pfnAllocateCb).

    ``pPrivateDriverData`` travels to the miniport, which may write into it (then give a ``bytearray``).
    """

    pPrivateDriverData: PrivateData | None = None
    pSystemMem: memoryview | None = None
    PrivateDriverDataSize: int = 0
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID = D3DDDI_ID_NOTAPPLICABLE
    Flags: D3DDDI_ALLOCATIONINFO_FLAGS = D3DDDI_ALLOCATIONINFO_FLAGS.NONE
    hAllocation: D3DKMT_HANDLE = 0
    _SIZE_: ClassVar[int] = 40
    _LAYOUT_: ClassVar[Layout] = (
        ("hAllocation", 0, 4),
        ("pSystemMem", 8, 8),
        ("pPrivateDriverData", 16, 8),
        ("PrivateDriverDataSize", 24, 4),
        ("VidPnSourceId", 28, 4),
        ("Flags", 32, 4),
    )


@dataclass(slots=True)
class D3DDDI_ALLOCATIONINFO2:
    """WDDM 2 form of D3DDDI_ALLOCATIONINFO."""

    pPrivateDriverData: PrivateData | None = None
    pSystemMem: memoryview | None = None
    PrivateDriverDataSize: int = 0
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID = D3DDDI_ID_NOTAPPLICABLE
    Flags: D3DDDI_ALLOCATIONINFO_FLAGS = D3DDDI_ALLOCATIONINFO_FLAGS.NONE
    Priority: int = 0
    hAllocation: D3DKMT_HANDLE = 0
    GpuVirtualAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    _SIZE_: ClassVar[int] = 96
    _LAYOUT_: ClassVar[Layout] = (
        ("hAllocation", 0, 4),
        ("pSystemMem", 8, 8),
        ("pPrivateDriverData", 16, 8),
        ("PrivateDriverDataSize", 24, 4),
        ("VidPnSourceId", 28, 4),
        ("Flags", 32, 4),
        ("GpuVirtualAddress", 40, 8),
        ("Priority", 48, 4),
    )


@dataclass(slots=True)
class D3DDDI_OPENALLOCATIONINFO:
    """One allocation of a shared resource that is being opened."""

    hAllocation: D3DKMT_HANDLE
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0


class D3DDDI_ALLOCATIONPRIORITY(IntEnum):
    """Named eviction priorities; any 32-bit value between them is legal."""

    MINIMUM = 0x2800_0000
    LOW = 0x5000_0000
    NORMAL = 0x7800_0000
    HIGH = 0xA000_0000
    MAXIMUM = 0xC800_0000


def segment_preference(*choices: tuple[int, bool] | int) -> int:
    """D3DDDI_SEGMENTPREFERENCE: up to five segment ids (1-31) in order; a pair adds "from the end of the segment".

    Raises ValueError for more than five choices or an id that does not fit 5 bits.
    """
    if len(choices) > 5:
        raise ValueError(f"a segment preference has five places, {len(choices)} were given")
    value = 0
    for place, choice in enumerate(choices):
        segment, from_end = (choice, False) if isinstance(choice, int) else choice
        if not 0 <= segment <= 31:
            raise ValueError(f"segment id {segment} of preference {place} is not in 0..31")
        value |= (segment | (0x20 if from_end else 0)) << 6 * place
    return value


def segment_preference_choices(value: int) -> tuple[tuple[int, bool], ...]:
    """The (segment id, from end) pairs of a D3DDDI_SEGMENTPREFERENCE up to the first empty place."""
    found: list[tuple[int, bool]] = []
    for place in range(5):
        word = (value >> 6 * place) & 0x3F
        if not word & 0x1F:
            break
        found.append((word & 0x1F, bool(word & 0x20)))
    return tuple(found)


class D3DDDI_RESIDENCYSTATUS(IntEnum):
    """Where an allocation is; a resource reports the worst of its allocations."""

    RESIDENTINGPUMEMORY = 1
    RESIDENTINSHAREDMEMORY = 2
    NOTRESIDENT = 3


class D3DDDI_OFFER_FLAGS(IntFlag):
    """Flags of pfnOfferAllocations2Cb."""

    NONE = 0
    AllowDecommit = 0x1


class D3DDDI_RECLAIM_RESULT(IntEnum):
    """What became of an offered allocation."""

    OK = 0
    DISCARDED = 1
    NOT_COMMITTED = 2


class D3DDDICB_LOCKFLAGS(IntFlag):
    """Flags of pfnLockCb."""

    NONE = 0
    ReadOnly = 0x1
    WriteOnly = 0x2
    DonotWait = 0x4
    IgnoreSync = 0x8
    LockEntire = 0x10
    DonotEvict = 0x20
    AcquireAperture = 0x40
    Discard = 0x80
    NoExistingReference = 0x100
    UseAlternateVA = 0x200
    IgnoreReadSync = 0x400


class D3DDDI_ESCAPEFLAGS(IntFlag):
    """Flags of an escape."""

    NONE = 0
    HardwareAccess = 0x1


class D3DDDI_CREATECONTEXTFLAGS(IntFlag):
    """Flags of pfnCreateContextCb and D3DKMTCreateContext."""

    NONE = 0
    NullRendering = 0x1
    InitialData = 0x2
    DisableGpuTimeout = 0x4
    SynchronizationOnly = 0x8
    HwQueueSupported = 0x10
    NoKmdAccess = 0x20


class D3DDDI_CREATEHWQUEUEFLAGS(IntFlag):
    """Flags of pfnCreateHwQueueCb."""

    NONE = 0
    DisableGpuTimeout = 0x1
    NoBroadcastSignal = 0x2
    NoBroadcastWait = 0x4
    NoKmdAccess = 0x8
    UserModeSubmission = 0x10


# --- residency (WDDM 2) ---------------------------------------------------------------------------------------------


class D3DDDI_MAKERESIDENT_FLAGS(IntFlag):
    """Flags of D3DDDI_MAKERESIDENT."""

    NONE = 0
    CantTrimFurther = 0x1
    MustSucceed = 0x2


@dataclass(slots=True)
class D3DDDI_MAKERESIDENT:
    """Add allocations to the device's residency list. ``NumAllocations`` is in/out; the last two members are out."""

    hPagingQueue: D3DKMT_HANDLE
    AllocationList: Sequence[D3DKMT_HANDLE]
    NumAllocations: int = 0
    PriorityList: Sequence[int] | None = None
    Flags: D3DDDI_MAKERESIDENT_FLAGS = D3DDDI_MAKERESIDENT_FLAGS.NONE
    PagingFenceValue: int = 0
    NumBytesToTrim: int = 0
    _SIZE_: ClassVar[int] = 48
    _LAYOUT_: ClassVar[Layout] = (
        ("hPagingQueue", 0, 4),
        ("NumAllocations", 4, 4),
        ("AllocationList", 8, 8),
        ("PriorityList", 16, 8),
        ("Flags", 24, 4),
        ("PagingFenceValue", 32, 8),
        ("NumBytesToTrim", 40, 8),
    )


class D3DDDI_EVICT_FLAGS(IntFlag):
    """Flags of D3DDDICB_EVICT."""

    NONE = 0
    EvictOnlyIfNecessary = 0x1
    NotWrittenTo = 0x2


class D3DDDI_TRIMRESIDENCYSET_FLAGS(IntFlag):
    """Why the driver is asked to give up memory."""

    NONE = 0
    PeriodicTrim = 0x1
    RestartPeriodicTrim = 0x2
    TrimToBudget = 0x4


class D3DDDI_PAGINGQUEUE_PRIORITY(IntEnum):
    """Priority of a device paging queue."""

    BELOW_NORMAL = -1
    NORMAL = 0
    ABOVE_NORMAL = 1


# --- GPU virtual addresses ------------------------------------------------------------------------------------------


class D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE(IntFlag):
    """Access that a mapping gives; read is always allowed."""

    NONE = 0
    Write = 0x1
    Execute = 0x2
    Zero = 0x4
    NoAccess = 0x8
    SystemUseOnly = 0x10


class D3DDDIGPUVIRTUALADDRESS_RESERVATION_TYPE(IntEnum):
    """What an access to a reserved range does."""

    RESERVE_NO_ACCESS = 0
    RESERVE_ZERO = 1
    RESERVE_NO_COMMIT = 2


@dataclass(slots=True)
class D3DDDI_MAPGPUVIRTUALADDRESS:
    """Map (part of) an allocation at a GPU virtual address; sizes in 4 KB pages, addresses in bytes."""

    hPagingQueue: D3DKMT_HANDLE
    SizeInPages: D3DGPU_SIZE_T
    hAllocation: D3DKMT_HANDLE = 0
    BaseAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    MinimumAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    MaximumAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    OffsetInPages: D3DGPU_SIZE_T = 0
    Protection: D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE = D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE.NONE
    DriverProtection: int = 0
    Reserved0: int = 0
    Reserved1: int = 0
    VirtualAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    PagingFenceValue: int = 0
    _SIZE_: ClassVar[int] = 104
    _LAYOUT_: ClassVar[Layout] = (
        ("hPagingQueue", 0, 4),
        ("BaseAddress", 8, 8),
        ("MinimumAddress", 16, 8),
        ("MaximumAddress", 24, 8),
        ("hAllocation", 32, 4),
        ("OffsetInPages", 40, 8),
        ("SizeInPages", 48, 8),
        ("Protection", 56, 8),
        ("DriverProtection", 64, 8),
        ("Reserved0", 72, 4),
        ("Reserved1", 80, 8),
        ("VirtualAddress", 88, 8),
        ("PagingFenceValue", 96, 8),
    )


@dataclass(slots=True)
class D3DDDI_RESERVEGPUVIRTUALADDRESS:
    """Reserve a range of GPU virtual addresses; ``hPagingQueue`` shares its place with ``hAdapter``."""

    hPagingQueue: D3DKMT_HANDLE
    Size: D3DGPU_SIZE_T
    BaseAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    MinimumAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    MaximumAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    ReservationType: D3DDDIGPUVIRTUALADDRESS_RESERVATION_TYPE = D3DDDIGPUVIRTUALADDRESS_RESERVATION_TYPE.RESERVE_NO_ACCESS
    DriverProtection: int = 0
    VirtualAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    PagingFenceValue: int = 0
    _SIZE_: ClassVar[int] = 72
    _LAYOUT_: ClassVar[Layout] = (
        ("hPagingQueue", 0, 4),
        ("BaseAddress", 8, 8),
        ("MinimumAddress", 16, 8),
        ("MaximumAddress", 24, 8),
        ("Size", 32, 8),
        ("ReservationType", 40, 4),
        ("DriverProtection", 48, 8),
        ("VirtualAddress", 56, 8),
        ("PagingFenceValue", 64, 8),
    )


class D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION_TYPE(IntEnum):
    """One step of UpdateGpuVirtualAddress, in rendering order."""

    MAP = 0
    UNMAP = 1
    COPY = 2
    MAP_PROTECT = 3


DXGK_PTE_DTYPE: Final = np.dtype([("Flags", "<u8"), ("PageAddress", "<u8")])
"""A page-table entry as the OS hands it to the miniport; 16 bytes."""
DXGK_PTE_VALID: Final = 0x1
DXGK_PTE_ZERO: Final = 0x2
DXGK_PTE_CACHECOHERENT: Final = 0x4
DXGK_PTE_READONLY: Final = 0x8
DXGK_PTE_NOEXECUTE: Final = 0x10
DXGK_PTE_SEGMENT_SHIFT: Final = 5
DXGK_PTE_SEGMENT_MASK: Final = 0x3E0
DXGK_PTE_LARGEPAGE: Final = 0x400
DXGK_PTE_PHYSICALADAPTERINDEX_SHIFT: Final = 11
DXGK_PTE_PHYSICALADAPTERINDEX_MASK: Final = 0x1_F800
DXGK_PTE_PAGETABLEPAGESIZE_SHIFT: Final = 17
DXGK_PTE_PAGETABLEPAGESIZE_MASK: Final = 0x6_0000
DXGK_PTE_PAGE_TABLE_PAGE_4KB: Final = 0
DXGK_PTE_PAGE_TABLE_PAGE_64KB: Final = 1


# --- synchronisation objects ----------------------------------------------------------------------------------------


class D3DDDI_SYNCHRONIZATIONOBJECT_TYPE(IntEnum):
    """Kinds of synchronisation object."""

    SYNCHRONIZATION_MUTEX = 1
    SEMAPHORE = 2
    FENCE = 3
    CPU_NOTIFICATION = 4
    MONITORED_FENCE = 5
    PERIODIC_MONITORED_FENCE = 6


D3DDDI_SYNCHRONIZATION_TYPE_LIMIT: Final = 7


class D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS(IntFlag):
    """Sharing and restrictions of a synchronisation object."""

    NONE = 0
    Shared = 0x1
    NtSecuritySharing = 0x2
    CrossAdapter = 0x4
    TopOfPipeline = 0x8
    NoSignal = 0x10
    NoWait = 0x20
    NoSignalMaxValueOnTdr = 0x40
    NoGPUAccess = 0x80
    SignalByKmd = 0x100
    LocalMemoryPreferred = 0x200


@dataclass(slots=True)
class D3DDDI_SYNCHRONIZATIONMUTEX:
    """Union member for a mutex; True = initially owned."""

    InitialState: bool = False


@dataclass(slots=True)
class D3DDDI_SEMAPHORE:
    """Union member for a semaphore."""

    MaxCount: int = 1
    InitialCount: int = 0


@dataclass(slots=True)
class D3DDDI_FENCE:
    """Union member for a fence."""

    FenceValue: int = 0


@dataclass(slots=True)
class D3DDDI_CPUNOTIFICATION:
    """Union member for a CPU notification; ``Event`` is set when signalled."""

    Event: HANDLE = 0


@dataclass(slots=True)
class D3DDDI_MONITOREDFENCE:
    """Union member for a monitored fence. The CPU mapping (out) is a read-only view of one 64-bit value."""

    InitialFenceValue: int = 0
    EngineAffinity: int = 0
    FenceValueCPUVirtualAddress: npt.NDArray[np.uint64] | None = None
    FenceValueGPUVirtualAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    _SIZE_: ClassVar[int] = 32
    _LAYOUT_: ClassVar[Layout] = (
        ("InitialFenceValue", 0, 8),
        ("FenceValueCPUVirtualAddress", 8, 8),
        ("FenceValueGPUVirtualAddress", 16, 8),
        ("EngineAffinity", 24, 4),
    )


@dataclass(slots=True)
class D3DDDI_PERIODICMONITOREDFENCE:
    """Union member for a periodic monitored fence; ``Time`` is the lead before vsync in units of 100 ns."""

    hAdapter: D3DKMT_HANDLE = 0
    VidPnTargetId: D3DDDI_VIDEO_PRESENT_TARGET_ID = 0
    Time: int = 0
    EngineAffinity: int = 0
    FenceValueCPUVirtualAddress: npt.NDArray[np.uint64] | None = None
    FenceValueGPUVirtualAddress: D3DGPU_VIRTUAL_ADDRESS = 0
    _SIZE_: ClassVar[int] = 40
    _LAYOUT_: ClassVar[Layout] = (
        ("hAdapter", 0, 4),
        ("VidPnTargetId", 4, 4),
        ("Time", 8, 8),
        ("FenceValueCPUVirtualAddress", 16, 8),
        ("FenceValueGPUVirtualAddress", 24, 8),
        ("EngineAffinity", 32, 4),
    )


@dataclass(slots=True)
class D3DDDI_SYNCHRONIZATIONOBJECTINFO:
    """Vista form: mutex or semaphore."""

    Type: D3DDDI_SYNCHRONIZATIONOBJECT_TYPE
    SynchronizationMutex: D3DDDI_SYNCHRONIZATIONMUTEX | None = None
    Semaphore: D3DDDI_SEMAPHORE | None = None
    _SIZE_: ClassVar[int] = 68
    _LAYOUT_: ClassVar[Layout] = (("Type", 0, 4), ("SynchronizationMutex", 4, 4), ("Semaphore", 4, 8))


@dataclass(slots=True)
class D3DDDI_SYNCHRONIZATIONOBJECTINFO2:
    """What to create; exactly the union member of ``Type`` is set."""

    Type: D3DDDI_SYNCHRONIZATIONOBJECT_TYPE
    Flags: D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS = D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NONE
    SynchronizationMutex: D3DDDI_SYNCHRONIZATIONMUTEX | None = None
    Semaphore: D3DDDI_SEMAPHORE | None = None
    Fence: D3DDDI_FENCE | None = None
    CPUNotification: D3DDDI_CPUNOTIFICATION | None = None
    MonitoredFence: D3DDDI_MONITOREDFENCE | None = None
    PeriodicMonitoredFence: D3DDDI_PERIODICMONITOREDFENCE | None = None
    SharedHandle: D3DKMT_HANDLE = 0
    _SIZE_: ClassVar[int] = 80
    _LAYOUT_: ClassVar[Layout] = (
        ("Type", 0, 4),
        ("Flags", 4, 4),
        ("SynchronizationMutex", 8, 4),
        ("Semaphore", 8, 8),
        ("Fence", 8, 8),
        ("CPUNotification", 8, 8),
        ("MonitoredFence", 8, 32),
        ("PeriodicMonitoredFence", 8, 40),
        ("SharedHandle", 72, 4),
    )


class D3DDDICB_SIGNALFLAGS(IntFlag):
    """Flags of pfnSignalSynchronizationObject…Cb."""

    NONE = 0
    SignalAtSubmission = 0x1
    EnqueueCpuEvent = 0x2
    AllowFenceRewind = 0x4


class D3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPU_FLAGS(IntFlag):
    """Flags of pfnWaitForSynchronizationObjectFromCpuCb; default is to wait for all."""

    NONE = 0
    WaitAny = 0x1


class D3DDDI_DOORBELLSTATUS(IntEnum):
    """State of a user-mode submission doorbell."""

    CONNECTED = 0
    CONNECTED_NOTIFY_KMD = 1
    DISCONNECTED_RETRY = 2
    DISCONNECTED_ABORT = 3


@dataclass(slots=True)
class D3DDDI_NATIVEFENCEMAPPING:
    """Where a native fence's values are (out)."""

    CurrentValueCpuVa: npt.NDArray[np.uint64] | None = None
    CurrentValueGpuVa: D3DGPU_VIRTUAL_ADDRESS = 0
    MonitoredValueGpuVa: D3DGPU_VIRTUAL_ADDRESS = 0


@dataclass(slots=True)
class D3DDDI_CREATENATIVEFENCEINFO:
    """A native fence to create."""

    InitialFenceValue: int = 0
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0
    EngineAffinity: int = 0
    Flags: D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS = D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NONE
    hSyncObject: D3DKMT_HANDLE = 0
    NativeFenceMapping: D3DDDI_NATIVEFENCEMAPPING = field(default_factory=D3DDDI_NATIVEFENCEMAPPING)


class D3DDDI_GDISURFACETYPE(IntEnum):
    """Uses of a GDI surface (standard allocation)."""

    INVALID = 0
    TEXTURE = 1
    STAGING_CPUVISIBLE = 2
    STAGING = 3
    LOOKUPTABLE = 4
    EXISTINGSYSMEM = 5
    TEXTURE_CPUVISIBLE = 6
    TEXTURE_CROSSADAPTER = 7
    TEXTURE_CPUVISIBLE_CROSSADAPTER = 8


# --- formats --------------------------------------------------------------------------------------------------------


def _fourcc(text: str) -> int:
    return int.from_bytes(text.encode("ascii"), "little")


class D3DDDIFORMAT(IntEnum):
    """Direct3D 9 format numbers; names list channels from the most significant bit down."""

    UNKNOWN = 0
    R8G8B8 = 20
    A8R8G8B8 = 21
    X8R8G8B8 = 22
    R5G6B5 = 23
    X1R5G5B5 = 24
    A1R5G5B5 = 25
    A4R4G4B4 = 26
    R3G3B2 = 27
    A8 = 28
    A8R3G3B2 = 29
    X4R4G4B4 = 30
    A2B10G10R10 = 31
    A8B8G8R8 = 32
    X8B8G8R8 = 33
    G16R16 = 34
    A2R10G10B10 = 35
    A16B16G16R16 = 36
    A8P8 = 40
    P8 = 41
    L8 = 50
    A8L8 = 51
    A4L4 = 52
    V8U8 = 60
    L6V5U5 = 61
    X8L8V8U8 = 62
    Q8W8V8U8 = 63
    V16U16 = 64
    W11V11U10 = 65
    A2W10V10U10 = 67
    D16_LOCKABLE = 70
    D32 = 71
    S1D15 = 72
    D15S1 = 73
    S8D24 = 74
    D24S8 = 75
    X8D24 = 76
    D24X8 = 77
    X4S4D24 = 78
    D24X4S4 = 79
    D16 = 80
    L16 = 81
    D32F_LOCKABLE = 82
    D24FS8 = 83
    D32_LOCKABLE = 84
    S8_LOCKABLE = 85
    G8R8 = 91
    R8 = 92
    VERTEXDATA = 100
    INDEX16 = 101
    INDEX32 = 102
    Q16W16V16U16 = 110
    R16F = 111
    G16R16F = 112
    A16B16G16R16F = 113
    R32F = 114
    G32R32F = 115
    A32B32G32R32F = 116
    CxV8U8 = 117
    A1 = 118
    A2B10G10R10_XR_BIAS = 119
    PICTUREPARAMSDATA = 150
    MACROBLOCKDATA = 151
    RESIDUALDIFFERENCEDATA = 152
    DEBLOCKINGDATA = 153
    INVERSEQUANTIZATIONDATA = 154
    SLICECONTROLDATA = 155
    BITSTREAMDATA = 156
    MOTIONVECTORBUFFER = 157
    FILMGRAINBUFFER = 158
    BINARYBUFFER = 199
    DXT1 = _fourcc("DXT1")
    DXT2 = _fourcc("DXT2")
    DXT3 = _fourcc("DXT3")
    DXT4 = _fourcc("DXT4")
    DXT5 = _fourcc("DXT5")
    UYVY = _fourcc("UYVY")
    YUY2 = _fourcc("YUY2")
    R8G8_B8G8 = _fourcc("RGBG")
    G8R8_G8B8 = _fourcc("GRGB")
    MULTI2_ARGB8 = _fourcc("MET1")
    NV12 = _fourcc("NV12")
    YV12 = _fourcc("YV12")
    AYUV = _fourcc("AYUV")
    P010 = _fourcc("P010")
    FORCE_UINT = 0x7FFF_FFFF


D3DDDIFMT_DXVA_RESERVED_FIRST: Final = 159
D3DDDIFMT_DXVACOMPBUFFER_BASE: Final = 150
D3DDDIFMT_DXVACOMPBUFFER_MAX: Final = 181
