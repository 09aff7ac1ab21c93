"""dxgiddi.h: the DXGI device-driver interface of a user-mode driver.

Presents, blits, rotation of back buffers, gamma capabilities, residency, offer and reclaim, overlay planes; the function tables
of every version in slot order and the callbacks. Models the ``dxgiddi`` reference and "Supporting the DXGI DDI". Declarations only.

Every entry takes one argument structure and returns an HRESULT number, or an awaitable of it; ``hDevice`` and resource handles are
the driver's own, never kernel or runtime handles. Callbacks take (hRTDevice, argument) instead.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum, IntFlag
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from .d3dukmdt import (
    D3DDDI_COLOR_SPACE_TYPE,
    D3DDDI_OFFER_FLAGS,
    D3DDDI_OFFER_PRIORITY,
    D3DDDI_RATIONAL,
    D3DDDI_RECLAIM_RESULT,
    D3DDDI_TRIMRESIDENCYSET_FLAGS,
    D3DDDI_VIDEO_PRESENT_SOURCE_ID,
    D3DKMT_HANDLE,
    HANDLE,
    RECT,
    Layout,
    PrivateData,
    Result,
)
from .dxgiformat import DXGI_FORMAT

DXGI_DDI_HDEVICE: TypeAlias = int
DXGI_DDI_HRESOURCE: TypeAlias = int

DXGI_DDI_MAX_MULTIPLANE_OVERLAY_ALLOCATIONS: Final = 16
DXGI_GAMMA_CONTROL_POINTS: Final = 1025


class DXGI_DDI_FLIP_INTERVAL_TYPE(IntEnum):
    """Vertical syncs that a flip waits for."""

    IMMEDIATE = 0
    ONE = 1
    TWO = 2
    THREE = 3
    FOUR = 4
    IMMEDIATE_ALLOW_TEARING = 5


class DXGI_DDI_MODE_ROTATION(IntEnum):
    """Rotation of contents."""

    UNSPECIFIED = 0
    IDENTITY = 1
    ROTATE90 = 2
    ROTATE180 = 3
    ROTATE270 = 4


class DXGI_DDI_MODE_SCANLINE_ORDER(IntEnum):
    """Scan-line order of a mode."""

    UNSPECIFIED = 0
    PROGRESSIVE = 1
    UPPER_FIELD_FIRST = 2
    LOWER_FIELD_FIRST = 3


class DXGI_DDI_MODE_SCALING(IntEnum):
    """Scaling of a mode."""

    UNSPECIFIED = 0
    STRETCHED = 1
    CENTERED = 2


class DXGI_DDI_RESIDENCY(IntEnum):
    """Where a resource is."""

    FULLY_RESIDENT = 1
    RESIDENT_IN_SHARED_MEMORY = 2
    EVICTED_TO_DISK = 3


@dataclass(slots=True)
class DXGI_DDI_MODE_DESC:
    """Display mode; the refresh rate in Hz."""

    Width: int
    Height: int
    Format: DXGI_FORMAT
    RefreshRate: D3DDDI_RATIONAL = field(default_factory=D3DDDI_RATIONAL)
    ScanlineOrdering: DXGI_DDI_MODE_SCANLINE_ORDER = DXGI_DDI_MODE_SCANLINE_ORDER.UNSPECIFIED
    Rotation: DXGI_DDI_MODE_ROTATION = DXGI_DDI_MODE_ROTATION.UNSPECIFIED
    Scaling: DXGI_DDI_MODE_SCALING = DXGI_DDI_MODE_SCALING.UNSPECIFIED
    _SIZE_: ClassVar[int] = 32
    _LAYOUT_: ClassVar[Layout] = (
        ("Width", 0, 4),
        ("Height", 4, 4),
        ("Format", 8, 4),
        ("RefreshRate", 12, 8),
        ("ScanlineOrdering", 20, 4),
        ("Rotation", 24, 4),
        ("Scaling", 28, 4),
    )


class DXGI_DDI_PRIMARY_FLAGS(IntFlag):
    """What the runtime says about a primary."""

    NONE = 0
    OPTIONAL = 0x1
    NONPREROTATED = 0x2
    STEREO = 0x4
    INDIRECT = 0x8


class DXGI_DDI_PRIMARY_DRIVER_FLAGS(IntFlag):
    """What the driver answers about a primary."""

    NONE = 0
    NO_SCANOUT = 0x1


@dataclass(slots=True)
class DXGI_DDI_PRIMARY_DESC:
    """A resource that may be scanned out; ``DriverFlags`` is out."""

    Flags: DXGI_DDI_PRIMARY_FLAGS
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    ModeDesc: DXGI_DDI_MODE_DESC
    DriverFlags: DXGI_DDI_PRIMARY_DRIVER_FLAGS = DXGI_DDI_PRIMARY_DRIVER_FLAGS.NONE
    _SIZE_: ClassVar[int] = 44
    _LAYOUT_: ClassVar[Layout] = (
        ("Flags", 0, 4),
        ("VidPnSourceId", 4, 4),
        ("ModeDesc", 8, 32),
        ("DriverFlags", 40, 4),
    )


# --- present --------------------------------------------------------------------------------------------------------


class DXGI_DDI_PRESENT_FLAGS(IntFlag):
    """How to present."""

    NONE = 0
    Blt = 0x1
    Flip = 0x2
    PreferRight = 0x4
    TemporaryMono = 0x8
    AllowTearing = 0x10
    AllowFlexibleRefresh = 0x20
    NoScanoutTransform = 0x40


@dataclass(slots=True)
class DXGI_DDI_ARG_PRESENT:
    """Present one surface; ``pDXGIContext`` goes unchanged into the callback. ``hDstResource`` 0: the kernel picks it."""

    hDevice: DXGI_DDI_HDEVICE
    hSurfaceToPresent: DXGI_DDI_HRESOURCE
    Flags: DXGI_DDI_PRESENT_FLAGS
    SrcSubResourceIndex: int = 0
    hDstResource: DXGI_DDI_HRESOURCE = 0
    DstSubResourceIndex: int = 0
    pDXGIContext: object | None = None
    FlipInterval: DXGI_DDI_FLIP_INTERVAL_TYPE = DXGI_DDI_FLIP_INTERVAL_TYPE.IMMEDIATE
    _SIZE_: ClassVar[int] = 56
    _LAYOUT_: ClassVar[Layout] = (
        ("hDevice", 0, 8),
        ("hSurfaceToPresent", 8, 8),
        ("SrcSubResourceIndex", 16, 4),
        ("hDstResource", 24, 8),
        ("DstSubResourceIndex", 32, 4),
        ("pDXGIContext", 40, 8),
        ("Flags", 48, 4),
        ("FlipInterval", 52, 4),
    )


@dataclass(slots=True)
class DXGI_DDI_ARG_PRESENTSURFACE:
    """One surface of Present1."""

    hSurface: DXGI_DDI_HRESOURCE
    SubResourceIndex: int = 0


@dataclass(slots=True)
class DXGI_DDI_ARG_PRESENT1:
    """Present and release ownership of surfaces; the last one is shown. ``BackBufferMultiplicity`` is out."""

    hDevice: DXGI_DDI_HDEVICE
    phSurfacesToPresent: Sequence[DXGI_DDI_ARG_PRESENTSURFACE]
    SurfacesToPresent: int
    Flags: DXGI_DDI_PRESENT_FLAGS
    hDstResource: DXGI_DDI_HRESOURCE = 0
    DstSubResourceIndex: int = 0
    pDXGIContext: object | None = None
    FlipInterval: DXGI_DDI_FLIP_INTERVAL_TYPE = DXGI_DDI_FLIP_INTERVAL_TYPE.IMMEDIATE
    Reserved: int = 0
    pDirtyRects: Sequence[RECT] = ()
    DirtyRects: int = 0
    BackBufferMultiplicity: int = 0
    _SIZE_: ClassVar[int] = 80
    _LAYOUT_: ClassVar[Layout] = (
        ("hDevice", 0, 8),
        ("phSurfacesToPresent", 8, 8),
        ("SurfacesToPresent", 16, 4),
        ("hDstResource", 24, 8),
        ("DstSubResourceIndex", 32, 4),
        ("pDXGIContext", 40, 8),
        ("Flags", 48, 4),
        ("FlipInterval", 52, 4),
        ("Reserved", 56, 4),
        ("pDirtyRects", 64, 8),
        ("DirtyRects", 72, 4),
        ("BackBufferMultiplicity", 76, 4),
    )


@dataclass(slots=True)
class DXGI1_6_1_DDI_ARG_PRESENT:
    """Present1 with ``RotationHint`` in place of the reserved word."""

    hDevice: DXGI_DDI_HDEVICE
    phSurfacesToPresent: Sequence[DXGI_DDI_ARG_PRESENTSURFACE]
    SurfacesToPresent: int
    Flags: DXGI_DDI_PRESENT_FLAGS
    hDstResource: DXGI_DDI_HRESOURCE = 0
    DstSubResourceIndex: int = 0
    pDXGIContext: object | None = None
    FlipInterval: DXGI_DDI_FLIP_INTERVAL_TYPE = DXGI_DDI_FLIP_INTERVAL_TYPE.IMMEDIATE
    RotationHint: DXGI_DDI_MODE_ROTATION = DXGI_DDI_MODE_ROTATION.UNSPECIFIED
    pDirtyRects: Sequence[RECT] = ()
    DirtyRects: int = 0
    BackBufferMultiplicity: int = 0
    _SIZE_: ClassVar[int] = 80
    _LAYOUT_: ClassVar[Layout] = (
        *((name, at, size) for name, at, size in DXGI_DDI_ARG_PRESENT1._LAYOUT_ if name != "Reserved"),
        ("RotationHint", 56, 4),
    )


@dataclass(slots=True)
class DXGIDDICB_PRESENT:
    """What the driver hands to pfnPresentCb: kernel handles, and the context to queue to. ``bOptimizeForComposition`` is out."""

    hSrcAllocation: D3DKMT_HANDLE
    hContext: HANDLE
    hDstAllocation: D3DKMT_HANDLE = 0
    pDXGIContext: object | None = None
    BroadcastContextCount: int = 0
    BroadcastContext: Sequence[HANDLE] = ()
    BroadcastSrcAllocation: Sequence[D3DKMT_HANDLE] | None = None
    BroadcastDstAllocation: Sequence[D3DKMT_HANDLE] | None = None
    PrivateDriverDataSize: int = 0
    pPrivateDriverData: PrivateData | None = None
    bOptimizeForComposition: bool = False
    SyncIntervalOverrideValid: bool = False
    SyncIntervalOverride: DXGI_DDI_FLIP_INTERVAL_TYPE = DXGI_DDI_FLIP_INTERVAL_TYPE.IMMEDIATE
    _SIZE_: ClassVar[int] = 592
    _LAYOUT_: ClassVar[Layout] = (
        ("hSrcAllocation", 0, 4),
        ("hDstAllocation", 4, 4),
        ("pDXGIContext", 8, 8),
        ("hContext", 16, 8),
        ("BroadcastContextCount", 24, 4),
        ("BroadcastContext", 32, 512),
        ("BroadcastSrcAllocation", 544, 8),
        ("BroadcastDstAllocation", 552, 8),
        ("PrivateDriverDataSize", 560, 4),
        ("pPrivateDriverData", 568, 8),
        ("bOptimizeForComposition", 576, 1),
        ("SyncIntervalOverrideValid", 580, 4),
        ("SyncIntervalOverride", 584, 4),
    )


@dataclass(slots=True)
class DXGIDDICB_SUBMITPRESENTBLTTOHWQUEUE:
    """Present by blit on a hardware queue; the fence id is signalled when the blit is done."""

    hSrcAllocation: D3DKMT_HANDLE
    hDstAllocation: D3DKMT_HANDLE
    hHwQueue: HANDLE
    HwQueueProgressFenceId: int
    pDXGIContext: object | None = None
    PrivateDriverDataSize: int = 0
    pPrivateDriverData: PrivateData | None = None


@dataclass(slots=True)
class DXGIDDICB_SUBMITPRESENTTOHWQUEUE:
    """Present on hardware queues; ``bOptimizeForComposition`` is out."""

    BroadcastSrcAllocations: Sequence[D3DKMT_HANDLE]
    hHwQueues: Sequence[HANDLE]
    BroadcastHwQueueCount: int = 0
    pDXGIContext: object | None = None
    BroadcastDstAllocations: Sequence[D3DKMT_HANDLE] | None = None
    PrivateDriverDataSize: int = 0
    pPrivateDriverData: PrivateData | None = None
    bOptimizeForComposition: bool = False
    SyncIntervalOverrideValid: bool = False
    SyncIntervalOverride: DXGI_DDI_FLIP_INTERVAL_TYPE = DXGI_DDI_FLIP_INTERVAL_TYPE.IMMEDIATE


# --- gamma, modes, residency, rotation, blits -----------------------------------------------------------------------


@dataclass(slots=True)
class DXGI_GAMMA_CONTROL_CAPABILITIES:
    """What a gamma curve can be; ``ControlPointPositions`` has room for 1025 float32, ``NumGammaControlPoints`` are valid."""

    ScaleAndOffsetSupported: bool = False
    MaxConvertedValue: float = 1.0
    MinConvertedValue: float = 0.0
    NumGammaControlPoints: int = 0
    ControlPointPositions: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros(DXGI_GAMMA_CONTROL_POINTS, np.float32))
    _SIZE_: ClassVar[int] = 4116
    _LAYOUT_: ClassVar[Layout] = (
        ("ScaleAndOffsetSupported", 0, 4),
        ("MaxConvertedValue", 4, 4),
        ("MinConvertedValue", 8, 4),
        ("NumGammaControlPoints", 12, 4),
        ("ControlPointPositions", 16, 4100),
    )


DXGI_GAMMA_CONTROL_DTYPE: Final = np.dtype(
    [("Scale", "<f4", (3,)), ("Offset", "<f4", (3,)), ("GammaCurve", "<f4", (DXGI_GAMMA_CONTROL_POINTS, 3))]
)
"""RGB scale, RGB offset, 1025 RGB points; 12324 bytes."""


@dataclass(slots=True)
class DXGI_DDI_ARG_GET_GAMMA_CONTROL_CAPS:
    """``pGammaCapabilities`` is out."""

    hDevice: DXGI_DDI_HDEVICE
    pGammaCapabilities: DXGI_GAMMA_CONTROL_CAPABILITIES = field(default_factory=DXGI_GAMMA_CONTROL_CAPABILITIES)


@dataclass(slots=True)
class DXGI_DDI_ARG_SETDISPLAYMODE:
    """Scan out this primary."""

    hDevice: DXGI_DDI_HDEVICE
    hResource: DXGI_DDI_HRESOURCE
    SubResourceIndex: int = 0


@dataclass(slots=True)
class DXGI_DDI_ARG_SETRESOURCEPRIORITY:
    """Eviction priority of a resource, any 32-bit number."""

    hDevice: DXGI_DDI_HDEVICE
    hResource: DXGI_DDI_HRESOURCE
    Priority: int


@dataclass(slots=True)
class DXGI_DDI_ARG_QUERYRESOURCERESIDENCY:
    """Where resources are; ``pStatus`` is out, one each."""

    hDevice: DXGI_DDI_HDEVICE
    pResources: Sequence[DXGI_DDI_HRESOURCE]
    Resources: int
    pStatus: list[DXGI_DDI_RESIDENCY] = field(default_factory=list)


@dataclass(slots=True)
class DXGI_DDI_ARG_ROTATE_RESOURCE_IDENTITIES:
    """Slot i takes the allocation of slot i+1, the last takes the first's."""

    hDevice: DXGI_DDI_HDEVICE
    pResources: Sequence[DXGI_DDI_HRESOURCE]
    Resources: int


class DXGI_DDI_ARG_BLT_FLAGS(IntFlag):
    """What a blit does besides copying."""

    NONE = 0
    Resolve = 0x1
    Convert = 0x2
    Stretch = 0x4
    Present = 0x8


@dataclass(slots=True)
class DXGI_DDI_ARG_BLT:
    """Copy a whole subresource to a rectangle (right and bottom exclusive)."""

    hDevice: DXGI_DDI_HDEVICE
    hDstResource: DXGI_DDI_HRESOURCE
    hSrcResource: DXGI_DDI_HRESOURCE
    DstLeft: int
    DstTop: int
    DstRight: int
    DstBottom: int
    DstSubresource: int = 0
    SrcSubresource: int = 0
    Flags: DXGI_DDI_ARG_BLT_FLAGS = DXGI_DDI_ARG_BLT_FLAGS.NONE
    Rotate: DXGI_DDI_MODE_ROTATION = DXGI_DDI_MODE_ROTATION.IDENTITY
    _SIZE_: ClassVar[int] = 64
    _LAYOUT_: ClassVar[Layout] = (
        ("hDevice", 0, 8),
        ("hDstResource", 8, 8),
        ("DstSubresource", 16, 4),
        ("DstLeft", 20, 4),
        ("DstTop", 24, 4),
        ("DstRight", 28, 4),
        ("DstBottom", 32, 4),
        ("hSrcResource", 40, 8),
        ("SrcSubresource", 48, 4),
        ("Flags", 52, 4),
        ("Rotate", 56, 4),
    )


@dataclass(slots=True)
class DXGI_DDI_ARG_BLT1:
    """Copy a rectangle to a rectangle (right and bottom exclusive)."""

    hDevice: DXGI_DDI_HDEVICE
    hDstResource: DXGI_DDI_HRESOURCE
    hSrcResource: DXGI_DDI_HRESOURCE
    DstLeft: int
    DstTop: int
    DstRight: int
    DstBottom: int
    SrcLeft: int
    SrcTop: int
    SrcRight: int
    SrcBottom: int
    DstSubresource: int = 0
    SrcSubresource: int = 0
    Flags: DXGI_DDI_ARG_BLT_FLAGS = DXGI_DDI_ARG_BLT_FLAGS.NONE
    Rotate: DXGI_DDI_MODE_ROTATION = DXGI_DDI_MODE_ROTATION.IDENTITY
    _SIZE_: ClassVar[int] = 80
    _LAYOUT_: ClassVar[Layout] = (
        ("hDevice", 0, 8),
        ("hDstResource", 8, 8),
        ("DstSubresource", 16, 4),
        ("DstLeft", 20, 4),
        ("DstTop", 24, 4),
        ("DstRight", 28, 4),
        ("DstBottom", 32, 4),
        ("hSrcResource", 40, 8),
        ("SrcSubresource", 48, 4),
        ("SrcLeft", 52, 4),
        ("SrcTop", 56, 4),
        ("SrcRight", 60, 4),
        ("SrcBottom", 64, 4),
        ("Flags", 68, 4),
        ("Rotate", 72, 4),
    )


@dataclass(slots=True)
class DXGI_DDI_ARG_RESOLVESHAREDRESOURCE:
    """The next owner of the shared resource must see one coherent surface."""

    hDevice: DXGI_DDI_HDEVICE
    hResource: DXGI_DDI_HRESOURCE


@dataclass(slots=True)
class DXGI_DDI_ARG_OFFERRESOURCES:
    """The content is not needed. ``Flags`` belongs to OfferResources1."""

    hDevice: DXGI_DDI_HDEVICE
    pResources: Sequence[DXGI_DDI_HRESOURCE]
    Resources: int
    Priority: D3DDDI_OFFER_PRIORITY


@dataclass(slots=True)
class DXGI_DDI_ARG_OFFERRESOURCES1:
    """The content is not needed, and memory may be decommitted."""

    hDevice: DXGI_DDI_HDEVICE
    pResources: Sequence[DXGI_DDI_HRESOURCE]
    Resources: int
    Priority: D3DDDI_OFFER_PRIORITY
    Flags: D3DDDI_OFFER_FLAGS = D3DDDI_OFFER_FLAGS.NONE


@dataclass(slots=True)
class DXGI_DDI_ARG_RECLAIMRESOURCES:
    """The content is needed again; ``pDiscarded`` is out unless None."""

    hDevice: DXGI_DDI_HDEVICE
    pResources: Sequence[DXGI_DDI_HRESOURCE]
    Resources: int
    pDiscarded: list[bool] | None = None


@dataclass(slots=True)
class DXGI_DDI_ARG_RECLAIMRESOURCES1:
    """The content is needed again; ``pResults`` is out."""

    hDevice: DXGI_DDI_HDEVICE
    pResources: Sequence[DXGI_DDI_HRESOURCE]
    Resources: int
    pResults: list[D3DDDI_RECLAIM_RESULT] = field(default_factory=list)


@dataclass(slots=True)
class DXGI_DDI_ARG_TRIMRESIDENCYSET:
    """Give up memory."""

    hDevice: DXGI_DDI_HDEVICE
    TrimFlags: D3DDDI_TRIMRESIDENCYSET_FLAGS
    NumBytesToTrim: int = 0


# --- overlay planes -------------------------------------------------------------------------------------------------


class DXGI_DDI_MULTIPLANE_OVERLAY_FEATURE_CAPS(IntFlag):
    """What overlay planes can do."""

    NONE = 0
    ROTATION_WITHOUT_INDEPENDENT_FLIP = 0x1
    VERTICAL_FLIP = 0x2
    HORIZONTAL_FLIP = 0x4
    DEINTERLACE = 0x8
    STEREO = 0x10
    RGB = 0x20
    YUV = 0x40
    BILINEAR_FILTER = 0x80
    HIGH_FILTER = 0x100
    ROTATION = 0x200
    FULLSCREEN_POST_COMPOSITION = 0x400
    RESERVED1 = 0x800
    SHARED = 0x1000
    IMMEDIATE = 0x2000
    PLANE0_FOR_VIRTUAL_MODE_ONLY = 0x4000


class DXGI_DDI_MULTIPLANE_OVERLAY_FLAGS(IntFlag):
    """How a plane is shown."""

    NONE = 0
    VERTICAL_FLIP = 0x1
    HORIZONTAL_FLIP = 0x2
    FULLSCREEN_POST_COMPOSITION = 0x4
    NO_SCANOUT_TRANSFORMATION = 0x8


class DXGI_DDI_MULTIPLANE_OVERLAY_BLEND(IntEnum):
    """Blending with the planes below."""

    OPAQUE = 0
    ALPHABLEND = 1


class DXGI_DDI_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT(IntEnum):
    """Fields of a frame."""

    PROGRESSIVE = 0
    INTERLACED_TOP_FIELD_FIRST = 1
    INTERLACED_BOTTOM_FIELD_FIRST = 2


class DXGI_DDI_MULTIPLANE_OVERLAY_YCbCr_FLAGS(IntFlag):
    """YUV conversion."""

    NONE = 0
    NOMINAL_RANGE = 0x1
    BT709 = 0x2
    xvYCC = 0x4


class DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_FORMAT(IntEnum):
    """Stereo layout."""

    MONO = 0
    HORIZONTAL = 1
    VERTICAL = 2
    SEPARATE = 3
    MONO_OFFSET = 4
    ROW_INTERLEAVED = 5
    COLUMN_INTERLEAVED = 6
    CHECKERBOARD = 7


class DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE(IntEnum):
    """Which eye is flipped."""

    NONE = 0
    FRAME0 = 1
    FRAME1 = 2


class DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_CAPS(IntFlag):
    """Stereo abilities."""

    NONE = 0
    SEPARATE = 0x1
    ROW_INTERLEAVED = 0x4
    COLUMN_INTERLEAVED = 0x8
    CHECKERBOARD = 0x10
    FLIP_MODE = 0x20


class DXGI_DDI_MULTIPLANE_OVERLAY_STRETCH_QUALITY(IntEnum):
    """Scaling filter."""

    BILINEAR = 1
    HIGH = 2


@dataclass(slots=True)
class DXGI_DDI_MULTIPLANE_OVERLAY_CAPS:
    """Planes of a source, the primary included."""

    MaxPlanes: int = 0
    NumCapabilityGroups: int = 0


@dataclass(slots=True)
class DXGI_DDI_MULTIPLANE_OVERLAY_GROUP_CAPS:
    """One group of planes; factors are final size / original size."""

    NumPlanes: int = 0
    MaxStretchFactor: float = 1.0
    MaxShrinkFactor: float = 1.0
    OverlayCaps: DXGI_DDI_MULTIPLANE_OVERLAY_FEATURE_CAPS = DXGI_DDI_MULTIPLANE_OVERLAY_FEATURE_CAPS.NONE
    StereoCaps: DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_CAPS = DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_CAPS.NONE


@dataclass(slots=True)
class DXGI_DDI_MULTIPLANE_OVERLAY_ATTRIBUTES:
    """Placement of a plane (1.3 form): source relative to the resource, destination to the monitor."""

    SrcRect: RECT
    DstRect: RECT
    ClipRect: RECT
    Flags: DXGI_DDI_MULTIPLANE_OVERLAY_FLAGS = DXGI_DDI_MULTIPLANE_OVERLAY_FLAGS.NONE
    Rotation: DXGI_DDI_MODE_ROTATION = DXGI_DDI_MODE_ROTATION.IDENTITY
    Blend: DXGI_DDI_MULTIPLANE_OVERLAY_BLEND = DXGI_DDI_MULTIPLANE_OVERLAY_BLEND.OPAQUE
    DirtyRectCount: int = 0
    pDirtyRects: Sequence[RECT] = ()
    VideoFrameFormat: DXGI_DDI_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT = DXGI_DDI_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT.PROGRESSIVE
    YCbCrFlags: DXGI_DDI_MULTIPLANE_OVERLAY_YCbCr_FLAGS = DXGI_DDI_MULTIPLANE_OVERLAY_YCbCr_FLAGS.NONE
    StereoFormat: DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_FORMAT = DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_FORMAT.MONO
    StereoLeftViewFrame0: bool = False
    StereoBaseViewFrame0: bool = False
    StereoFlipMode: DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE = DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE.NONE
    StretchQuality: DXGI_DDI_MULTIPLANE_OVERLAY_STRETCH_QUALITY = DXGI_DDI_MULTIPLANE_OVERLAY_STRETCH_QUALITY.BILINEAR


@dataclass(slots=True)
class DXGI_DDI_MULTIPLANE_OVERLAY_ATTRIBUTES1:
    """Placement of a plane (1.4 form): a colour space in place of the YUV flags, and a colour key."""

    SrcRect: RECT
    DstRect: RECT
    ClipRect: RECT
    Flags: DXGI_DDI_MULTIPLANE_OVERLAY_FLAGS = DXGI_DDI_MULTIPLANE_OVERLAY_FLAGS.NONE
    Rotation: DXGI_DDI_MODE_ROTATION = DXGI_DDI_MODE_ROTATION.IDENTITY
    Blend: DXGI_DDI_MULTIPLANE_OVERLAY_BLEND = DXGI_DDI_MULTIPLANE_OVERLAY_BLEND.OPAQUE
    DirtyRectCount: int = 0
    pDirtyRects: Sequence[RECT] = ()
    VideoFrameFormat: DXGI_DDI_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT = DXGI_DDI_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT.PROGRESSIVE
    ColorSpace: D3DDDI_COLOR_SPACE_TYPE = D3DDDI_COLOR_SPACE_TYPE.RGB_FULL_G22_NONE_P709
    StereoFormat: DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_FORMAT = DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_FORMAT.MONO
    StereoLeftViewFrame0: bool = False
    StereoBaseViewFrame0: bool = False
    StereoFlipMode: DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE = DXGI_DDI_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE.NONE
    StretchQuality: DXGI_DDI_MULTIPLANE_OVERLAY_STRETCH_QUALITY = DXGI_DDI_MULTIPLANE_OVERLAY_STRETCH_QUALITY.BILINEAR
    ColorKey: int = 0


@dataclass(slots=True)
class DXGI_DDI_ARG_GETMULTIPLANEOVERLAYCAPS:
    """The caps are out."""

    hDevice: DXGI_DDI_HDEVICE
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    MultiplaneOverlayCaps: DXGI_DDI_MULTIPLANE_OVERLAY_CAPS = field(default_factory=DXGI_DDI_MULTIPLANE_OVERLAY_CAPS)


@dataclass(slots=True)
class DXGI_DDI_ARG_GETMULTIPLANEOVERLAYGROUPCAPS:
    """The caps are out."""

    hDevice: DXGI_DDI_HDEVICE
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    GroupIndex: int
    MultiplaneOverlayGroupCaps: DXGI_DDI_MULTIPLANE_OVERLAY_GROUP_CAPS = field(
        default_factory=DXGI_DDI_MULTIPLANE_OVERLAY_GROUP_CAPS
    )


@dataclass(slots=True)
class DXGI_DDI_CHECK_MULTIPLANE_OVERLAY_SUPPORT_PLANE_INFO:
    """One plane to check."""

    hResource: DXGI_DDI_HRESOURCE
    PlaneAttributes: DXGI_DDI_MULTIPLANE_OVERLAY_ATTRIBUTES
    SubResourceIndex: int = 0


@dataclass(slots=True)
class DXGI_DDI_ARG_CHECKMULTIPLANEOVERLAYSUPPORT:
    """Can these planes be shown together? ``Supported`` is out."""

    hDevice: DXGI_DDI_HDEVICE
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    pPlaneInfo: Sequence[DXGI_DDI_CHECK_MULTIPLANE_OVERLAY_SUPPORT_PLANE_INFO]
    NumPlaneInfo: int = 0
    Supported: bool = False


@dataclass(slots=True)
class DXGI_DDI_ARG_CHECKMULTIPLANEOVERLAYCOLORSPACESUPPORT:
    """Can a plane have this format in this colour space? ``Supported`` is out."""

    hDevice: DXGI_DDI_HDEVICE
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    Format: DXGI_FORMAT
    ColorSpace: D3DDDI_COLOR_SPACE_TYPE
    Supported: bool = False


@dataclass(slots=True)
class DXGI_DDI_ARG_CHECKPRESENTDURATIONSUPPORT:
    """Durations of a refresh in units of 100 ns; the last two members are out, 0 = none."""

    hDevice: DXGI_DDI_HDEVICE
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    DesiredPresentDuration: int
    ClosestSmallerDuration: int = 0
    ClosestLargerDuration: int = 0


@dataclass(slots=True)
class DXGI_DDI_PRESENT_MULTIPLANE_OVERLAY:
    """One plane to present; layer 0 is the topmost."""

    LayerIndex: int
    Enabled: bool
    hResource: DXGI_DDI_HRESOURCE
    PlaneAttributes: DXGI_DDI_MULTIPLANE_OVERLAY_ATTRIBUTES | DXGI_DDI_MULTIPLANE_OVERLAY_ATTRIBUTES1
    SubResourceIndex: int = 0


@dataclass(slots=True)
class DXGI_DDI_ARG_PRESENTMULTIPLANEOVERLAY:
    """Present planes. ``pRotationHints`` belongs to the 1.6_1 form."""

    hDevice: DXGI_DDI_HDEVICE
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    pPresentPlanes: Sequence[DXGI_DDI_PRESENT_MULTIPLANE_OVERLAY]
    PresentPlaneCount: int = 0
    pDXGIContext: object | None = None
    Flags: DXGI_DDI_PRESENT_FLAGS = DXGI_DDI_PRESENT_FLAGS.NONE
    FlipInterval: DXGI_DDI_FLIP_INTERVAL_TYPE = DXGI_DDI_FLIP_INTERVAL_TYPE.IMMEDIATE
    Reserved: int = 0
    pRotationHints: Sequence[DXGI_DDI_MODE_ROTATION] | None = None


@dataclass(slots=True)
class DXGIDDI_MULTIPLANE_OVERLAY_ALLOCATION_INFO:
    """Allocation that a plane shows."""

    PresentAllocation: D3DKMT_HANDLE
    SubResourceIndex: int = 0


@dataclass(slots=True)
class DXGIDDICB_PRESENT_MULTIPLANE_OVERLAY:
    """What the driver hands to pfnPresentMultiplaneOverlayCb; at most 16 allocations."""

    hContext: HANDLE
    AllocationInfo: Sequence[DXGIDDI_MULTIPLANE_OVERLAY_ALLOCATION_INFO]
    AllocationInfoCount: int = 0
    pDXGIContext: object | None = None
    BroadcastContextCount: int = 0
    BroadcastContext: Sequence[HANDLE] = ()


@dataclass(slots=True)
class DXGIDDI_MULTIPLANE_OVERLAY_PLANE_INFO:
    """Contexts and allocations of one plane."""

    pContextList: Sequence[HANDLE]
    pAllocationList: Sequence[D3DKMT_HANDLE]
    ContextCount: int = 0
    DriverPrivateDataSize: int = 0
    pDriverPrivateData: PrivateData | None = None
    SyncIntervalOverrideValid: bool = False
    SyncIntervalOverride: DXGI_DDI_FLIP_INTERVAL_TYPE = DXGI_DDI_FLIP_INTERVAL_TYPE.IMMEDIATE


@dataclass(slots=True)
class DXGIDDICB_PRESENT_MULTIPLANE_OVERLAY1:
    """What the driver hands to pfnPresentMultiplaneOverlay1Cb."""

    ppPresentPlanes: Sequence[DXGIDDI_MULTIPLANE_OVERLAY_PLANE_INFO]
    PresentPlaneCount: int = 0
    pDXGIContext: object | None = None


# --- tables ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class DXGI_DDI_BASE_CALLBACKS:
    """Callbacks of the runtime; the first argument is hRTDevice. The driver keeps the table, not its entries."""

    pfnPresentCb: Callable[[HANDLE, DXGIDDICB_PRESENT], Result] | None = None
    pfnPresentMultiplaneOverlayCb: Callable[[HANDLE, DXGIDDICB_PRESENT_MULTIPLANE_OVERLAY], Result] | None = None
    pfnPresentMultiplaneOverlay1Cb: Callable[[HANDLE, DXGIDDICB_PRESENT_MULTIPLANE_OVERLAY1], Result] | None = None
    pfnSubmitPresentBltToHwQueueCb: Callable[[HANDLE, DXGIDDICB_SUBMITPRESENTBLTTOHWQUEUE], Result] | None = None
    pfnSubmitPresentToHwQueueCb: Callable[[HANDLE, DXGIDDICB_SUBMITPRESENTTOHWQUEUE], Result] | None = None


@dataclass(slots=True)
class DXGI_DDI_BASE_FUNCTIONS:
    """Entries of version 1.0."""

    pfnPresent: Callable[[DXGI_DDI_ARG_PRESENT], Result] | None = None
    pfnGetGammaCaps: Callable[[DXGI_DDI_ARG_GET_GAMMA_CONTROL_CAPS], Result] | None = None
    pfnSetDisplayMode: Callable[[DXGI_DDI_ARG_SETDISPLAYMODE], Result] | None = None
    pfnSetResourcePriority: Callable[[DXGI_DDI_ARG_SETRESOURCEPRIORITY], Result] | None = None
    pfnQueryResourceResidency: Callable[[DXGI_DDI_ARG_QUERYRESOURCERESIDENCY], Result] | None = None
    pfnRotateResourceIdentities: Callable[[DXGI_DDI_ARG_ROTATE_RESOURCE_IDENTITIES], Result] | None = None
    pfnBlt: Callable[[DXGI_DDI_ARG_BLT], Result] | None = None


@dataclass(slots=True)
class DXGI1_1_DDI_BASE_FUNCTIONS(DXGI_DDI_BASE_FUNCTIONS):
    """Version 1.1 appends one entry."""

    pfnResolveSharedResource: Callable[[DXGI_DDI_ARG_RESOLVESHAREDRESOURCE], Result] | None = None


@dataclass(slots=True)
class DXGI1_2_DDI_BASE_FUNCTIONS(DXGI1_1_DDI_BASE_FUNCTIONS):
    """Version 1.2 appends seven entries."""

    pfnBlt1: Callable[[DXGI_DDI_ARG_BLT1], Result] | None = None
    pfnOfferResources: Callable[[DXGI_DDI_ARG_OFFERRESOURCES], Result] | None = None
    pfnReclaimResources: Callable[[DXGI_DDI_ARG_RECLAIMRESOURCES], Result] | None = None
    pfnGetMultiplaneOverlayCaps: Callable[[DXGI_DDI_ARG_GETMULTIPLANEOVERLAYCAPS], Result] | None = None
    pfnGetMultiplaneOverlayFilterRange: Callable[[object], Result] | None = None
    pfnCheckMultiplaneOverlaySupport: Callable[[DXGI_DDI_ARG_CHECKMULTIPLANEOVERLAYSUPPORT], Result] | None = None
    pfnPresentMultiplaneOverlay: Callable[[DXGI_DDI_ARG_PRESENTMULTIPLANEOVERLAY], Result] | None = None


@dataclass(slots=True)
class DXGI1_3_DDI_BASE_FUNCTIONS(DXGI1_1_DDI_BASE_FUNCTIONS):
    """Version 1.3 gives slot 12 to the group caps, reserves slot 13 and appends three entries."""

    pfnBlt1: Callable[[DXGI_DDI_ARG_BLT1], Result] | None = None
    pfnOfferResources: Callable[[DXGI_DDI_ARG_OFFERRESOURCES], Result] | None = None
    pfnReclaimResources: Callable[[DXGI_DDI_ARG_RECLAIMRESOURCES], Result] | None = None
    pfnGetMultiplaneOverlayCaps: Callable[[DXGI_DDI_ARG_GETMULTIPLANEOVERLAYCAPS], Result] | None = None
    pfnGetMultiplaneOverlayGroupCaps: Callable[[DXGI_DDI_ARG_GETMULTIPLANEOVERLAYGROUPCAPS], Result] | None = None
    pfnReserved1: Callable[[object], Result] | None = None
    pfnPresentMultiplaneOverlay: Callable[[DXGI_DDI_ARG_PRESENTMULTIPLANEOVERLAY], Result] | None = None
    pfnReserved2: Callable[[object], Result] | None = None
    pfnPresent1: Callable[[DXGI_DDI_ARG_PRESENT1], Result] | None = None
    pfnCheckPresentDurationSupport: Callable[[DXGI_DDI_ARG_CHECKPRESENTDURATIONSUPPORT], Result] | None = None


@dataclass(slots=True)
class DXGI1_4_DDI_BASE_FUNCTIONS(DXGI1_3_DDI_BASE_FUNCTIONS):
    """Version 1.4 appends three entries."""

    pfnTrimResidencySet: Callable[[DXGI_DDI_ARG_TRIMRESIDENCYSET], Result] | None = None
    pfnCheckMultiplaneOverlayColorSpaceSupport: Callable[[DXGI_DDI_ARG_CHECKMULTIPLANEOVERLAYCOLORSPACESUPPORT], Result] | None = (
        None
    )
    pfnPresentMultiplaneOverlay1: Callable[[DXGI_DDI_ARG_PRESENTMULTIPLANEOVERLAY], Result] | None = None


@dataclass(slots=True)
class DXGI1_5_DDI_BASE_FUNCTIONS(DXGI1_1_DDI_BASE_FUNCTIONS):
    """Version 1.5 gives slot 9 to OfferResources1 and appends ReclaimResources1."""

    pfnBlt1: Callable[[DXGI_DDI_ARG_BLT1], Result] | None = None
    pfnOfferResources1: Callable[[DXGI_DDI_ARG_OFFERRESOURCES1], Result] | None = None
    pfnReclaimResources: Callable[[DXGI_DDI_ARG_RECLAIMRESOURCES], Result] | None = None
    pfnGetMultiplaneOverlayCaps: Callable[[DXGI_DDI_ARG_GETMULTIPLANEOVERLAYCAPS], Result] | None = None
    pfnGetMultiplaneOverlayGroupCaps: Callable[[DXGI_DDI_ARG_GETMULTIPLANEOVERLAYGROUPCAPS], Result] | None = None
    pfnReserved1: Callable[[object], Result] | None = None
    pfnPresentMultiplaneOverlay: Callable[[DXGI_DDI_ARG_PRESENTMULTIPLANEOVERLAY], Result] | None = None
    pfnReserved2: Callable[[object], Result] | None = None
    pfnPresent1: Callable[[DXGI_DDI_ARG_PRESENT1], Result] | None = None
    pfnCheckPresentDurationSupport: Callable[[DXGI_DDI_ARG_CHECKPRESENTDURATIONSUPPORT], Result] | None = None
    pfnTrimResidencySet: Callable[[DXGI_DDI_ARG_TRIMRESIDENCYSET], Result] | None = None
    pfnCheckMultiplaneOverlayColorSpaceSupport: Callable[[DXGI_DDI_ARG_CHECKMULTIPLANEOVERLAYCOLORSPACESUPPORT], Result] | None = (
        None
    )
    pfnPresentMultiplaneOverlay1: Callable[[DXGI_DDI_ARG_PRESENTMULTIPLANEOVERLAY], Result] | None = None
    pfnReclaimResources1: Callable[[DXGI_DDI_ARG_RECLAIMRESOURCES1], Result] | None = None


@dataclass(slots=True)
class DXGI1_6_1_DDI_BASE_FUNCTIONS(DXGI1_1_DDI_BASE_FUNCTIONS):
    """Version 1.6_1 changes the arguments of slots 16 and 20."""

    pfnBlt1: Callable[[DXGI_DDI_ARG_BLT1], Result] | None = None
    pfnOfferResources1: Callable[[DXGI_DDI_ARG_OFFERRESOURCES1], Result] | None = None
    pfnReclaimResources: Callable[[DXGI_DDI_ARG_RECLAIMRESOURCES], Result] | None = None
    pfnGetMultiplaneOverlayCaps: Callable[[DXGI_DDI_ARG_GETMULTIPLANEOVERLAYCAPS], Result] | None = None
    pfnGetMultiplaneOverlayGroupCaps: Callable[[DXGI_DDI_ARG_GETMULTIPLANEOVERLAYGROUPCAPS], Result] | None = None
    pfnReserved1: Callable[[object], Result] | None = None
    pfnPresentMultiplaneOverlay: Callable[[DXGI_DDI_ARG_PRESENTMULTIPLANEOVERLAY], Result] | None = None
    pfnReserved2: Callable[[object], Result] | None = None
    pfnPresent1: Callable[[DXGI1_6_1_DDI_ARG_PRESENT], Result] | None = None
    pfnCheckPresentDurationSupport: Callable[[DXGI_DDI_ARG_CHECKPRESENTDURATIONSUPPORT], Result] | None = None
    pfnTrimResidencySet: Callable[[DXGI_DDI_ARG_TRIMRESIDENCYSET], Result] | None = None
    pfnCheckMultiplaneOverlayColorSpaceSupport: Callable[[DXGI_DDI_ARG_CHECKMULTIPLANEOVERLAYCOLORSPACESUPPORT], Result] | None = (
        None
    )
    pfnPresentMultiplaneOverlay1: Callable[[DXGI_DDI_ARG_PRESENTMULTIPLANEOVERLAY], Result] | None = None
    pfnReclaimResources1: Callable[[DXGI_DDI_ARG_RECLAIMRESOURCES1], Result] | None = None


@dataclass(slots=True)
class DXGI_DDI_BASE_ARGS:
    """The DXGI tables that travel with CreateDevice. ``pDXGIDDIBaseFunctions`` is the table of ``base_functions_class``, made by
    the runtime and filled by the driver. DEVIATES: the union of table pointers is this one member."""

    pDXGIBaseCallbacks: DXGI_DDI_BASE_CALLBACKS
    pDXGIDDIBaseFunctions: DXGI_DDI_BASE_FUNCTIONS
    _SIZE_: ClassVar[int] = 16
    _LAYOUT_: ClassVar[Layout] = (("pDXGIBaseCallbacks", 0, 8), ("pDXGIDDIBaseFunctions", 8, 8))


def table_size(table_class: type[Any]) -> int:
    """Slots of a function table class."""
    return len(fields(table_class))


def base_functions_class(Interface: int, Version: int) -> type[DXGI_DDI_BASE_FUNCTIONS]:
    """The table that a device of this negotiated Interface and Version has; nothing else may be written to."""
    major, minor = Interface >> 16, Interface & 0xFFFF
    if major == 11:
        for least, table in (
            (35, DXGI1_6_1_DDI_BASE_FUNCTIONS),
            (34, DXGI1_5_DDI_BASE_FUNCTIONS),
            (17, DXGI1_4_DDI_BASE_FUNCTIONS),
            (16, DXGI1_3_DDI_BASE_FUNCTIONS),
            (14, DXGI1_2_DDI_BASE_FUNCTIONS),
        ):
            if minor >= least:
                return table
    build = Version & 0xFFFF
    if (major == 10 and build >= (6000 | 9)) or (major == 11 and build >= 9) or major > 11:
        return DXGI1_1_DDI_BASE_FUNCTIONS
    return DXGI_DDI_BASE_FUNCTIONS


def base_callback_count(Interface: int) -> int:
    """Valid entries of DXGI_DDI_BASE_CALLBACKS for a negotiated Interface."""
    major, minor = Interface >> 16, Interface & 0xFFFF
    if major != 11 or minor < 14:
        return 1
    return 2 + sum(minor >= least for least in (35, 37, 38))
