"""d3dkmdt.h: kernel-mode data types: video present networks, modes, gamma, standard allocations, preemption.

A source is a view (a chain of primaries), a target is an output, a path joins them. Models "Introduction to Video
Present Networks" and the ``d3dkmdt`` reference. Declarations only.
"""

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from .d3dukmdt import (
    D3DDDI_GDISURFACETYPE,
    D3DDDI_RATIONAL,
    D3DDDI_VIDEO_PRESENT_SOURCE_ID,
    D3DDDI_VIDEO_PRESENT_TARGET_ID,
    D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING,
    D3DDDIFORMAT,
    Layout,
)


@dataclass(slots=True)
class D3DKMDT_2DREGION:
    """Width and height."""

    cx: int = 0
    cy: int = 0
    _SIZE_: ClassVar[int] = 8
    _LAYOUT_: ClassVar[Layout] = (("cx", 0, 4), ("cy", 4, 4))


@dataclass(slots=True)
class D3DKMDT_2DOFFSET:
    """Signed offset of a corner."""

    cx: int = 0
    cy: int = 0
    _SIZE_: ClassVar[int] = 8
    _LAYOUT_: ClassVar[Layout] = (("cx", 0, 4), ("cy", 4, 4))


class D3DKMDT_VIDPN_SOURCE_MODE_TYPE(IntEnum):
    """Kinds of source mode."""

    UNINITIALIZED = 0
    GRAPHICS = 1
    TEXT = 2
    GRAPHICS_STEREO = 3
    GRAPHICS_STEREO_ADVANCED_SCAN = 4


class D3DKMDT_COLOR_BASIS(IntEnum):
    """Colour basis of a surface or signal."""

    UNINITIALIZED = 0
    INTENSITY = 1
    SRGB = 2
    SCRGB = 3
    YCBCR = 4
    YPBPR = 5


class D3DKMDT_PIXEL_VALUE_ACCESS_MODE(IntEnum):
    """How a pixel's value becomes a colour."""

    UNINITIALIZED = 0
    DIRECT = 1
    PRESETPALETTE = 2
    SETTABLEPALETTE = 3


class D3DKMDT_VIDPN_PRESENT_PATH_SCALING(IntEnum):
    """Scaling of a path (VPPS); pinned when IDENTITY, CENTERED or STRETCHED."""

    UNINITIALIZED = 0
    IDENTITY = 1
    CENTERED = 2
    STRETCHED = 3
    ASPECTRATIOCENTEREDMAX = 4
    CUSTOM = 5
    UNPINNED = 254
    NOTSPECIFIED = 255


class D3DKMDT_VIDPN_PRESENT_PATH_SCALING_SUPPORT(IntFlag):
    """Scalings that a path supports, bit by bit."""

    NONE = 0
    Identity = 0x1
    Centered = 0x2
    Stretched = 0x4
    AspectRatioCenteredMax = 0x8
    Custom = 0x10


class D3DKMDT_VIDPN_PRESENT_PATH_ROTATION(IntEnum):
    """Rotation of a path (VPPR); values 5 to 16 are the rotations with an offset of a quarter, half, three quarters."""

    UNINITIALIZED = 0
    IDENTITY = 1
    ROTATE90 = 2
    ROTATE180 = 3
    ROTATE270 = 4
    IDENTITY_OFFSET90 = 5
    ROTATE90_OFFSET90 = 6
    ROTATE180_OFFSET90 = 7
    ROTATE270_OFFSET90 = 8
    IDENTITY_OFFSET180 = 9
    ROTATE90_OFFSET180 = 10
    ROTATE180_OFFSET180 = 11
    ROTATE270_OFFSET180 = 12
    IDENTITY_OFFSET270 = 13
    ROTATE90_OFFSET270 = 14
    ROTATE180_OFFSET270 = 15
    ROTATE270_OFFSET270 = 16
    UNPINNED = 254
    NOTSPECIFIED = 255


class D3DKMDT_VIDPN_PRESENT_PATH_ROTATION_SUPPORT(IntFlag):
    """Rotations that a path supports, bit by bit."""

    NONE = 0
    Identity = 0x1
    Rotate90 = 0x2
    Rotate180 = 0x4
    Rotate270 = 0x8


class D3DKMDT_VIDPN_PRESENT_PATH_IMPORTANCE(IntEnum):
    """Importance of a path, the primary one first."""

    UNINITIALIZED = 0
    PRIMARY = 1
    SECONDARY = 2
    TERTIARY = 3
    QUATERNARY = 4
    QUINARY = 5
    SENARY = 6
    SEPTENARY = 7
    OCTONARY = 8
    NONARY = 9
    DENARY = 10


class D3DKMDT_VIDPN_PRESENT_PATH_CONTENT(IntEnum):
    """What a path shows."""

    UNINITIALIZED = 0
    GRAPHICS = 1
    VIDEO = 2
    NOTSPECIFIED = 255


class D3DKMDT_MODE_PREFERENCE(IntEnum):
    """Whether a monitor prefers a mode."""

    UNINITIALIZED = 0
    PREFERRED = 1
    NOTPREFERRED = 2


class D3DKMDT_MONITOR_CONNECTIVITY_CHECKS(IntEnum):
    """Whether a commit needs the monitors to be connected."""

    UNINITIALIZED = 0
    IGNORE = 1
    ENFORCE = 2


class D3DKMDT_ENUMCOFUNCMODALITY_PIVOT_TYPE(IntEnum):
    """What stays as it is while cofunctional modes are enumerated."""

    UNINITIALIZED = 0
    VIDPNSOURCE = 1
    VIDPNTARGET = 2
    SCALING = 3
    ROTATION = 4
    NOPIVOT = 5


class D3DKMDT_VIDEO_OUTPUT_TECHNOLOGY(IntEnum):
    """Connector of a target."""

    UNINITIALIZED = -2
    OTHER = -1
    HD15 = 0
    SVIDEO = 1
    COMPOSITE_VIDEO = 2
    COMPONENT_VIDEO = 3
    DVI = 4
    HDMI = 5
    LVDS = 6
    D_JPN = 8
    SDI = 9
    DISPLAYPORT_EXTERNAL = 10
    DISPLAYPORT_EMBEDDED = 11
    UDI_EXTERNAL = 12
    UDI_EMBEDDED = 13
    SDTVDONGLE = 14
    MIRACAST = 15
    INDIRECT_WIRED = 16
    INTERNAL = 0x8000_0000


class D3DKMDT_VIDEO_SIGNAL_STANDARD(IntEnum):
    """Standard that a signal's timing follows (the few that this project names)."""

    UNINITIALIZED = 0
    VESA_DMT = 1
    VESA_GTF = 2
    VESA_CVT = 3
    OTHER = 255


@dataclass(slots=True)
class D3DKMDT_GRAPHICS_RENDERING_FORMAT:
    """Surface of a graphics source mode; ``Stride`` in bytes."""

    PrimSurfSize: D3DKMDT_2DREGION
    VisibleRegionSize: D3DKMDT_2DREGION
    Stride: int
    PixelFormat: D3DDDIFORMAT
    ColorBasis: D3DKMDT_COLOR_BASIS = D3DKMDT_COLOR_BASIS.SRGB
    PixelValueAccessMode: D3DKMDT_PIXEL_VALUE_ACCESS_MODE = D3DKMDT_PIXEL_VALUE_ACCESS_MODE.DIRECT
    _SIZE_: ClassVar[int] = 32
    _LAYOUT_: ClassVar[Layout] = (
        ("PrimSurfSize", 0, 8),
        ("VisibleRegionSize", 8, 8),
        ("Stride", 16, 4),
        ("PixelFormat", 20, 4),
        ("ColorBasis", 24, 4),
        ("PixelValueAccessMode", 28, 4),
    )


@dataclass(slots=True)
class D3DKMDT_VIDPN_SOURCE_MODE:
    """One source mode; the format union is the graphics form, text modes are not modelled."""

    Id: int
    Type: D3DKMDT_VIDPN_SOURCE_MODE_TYPE
    Format: D3DKMDT_GRAPHICS_RENDERING_FORMAT
    _SIZE_: ClassVar[int] = 40
    _LAYOUT_: ClassVar[Layout] = (("Id", 0, 4), ("Type", 4, 4), ("Format", 8, 32))


@dataclass(slots=True)
class D3DKMDT_VIDEO_SIGNAL_INFO:
    """Timing of a signal: sizes in pixels and lines, rates in Hz. ``VSyncFreqDivider`` shares a word with the order."""

    TotalSize: D3DKMDT_2DREGION
    ActiveSize: D3DKMDT_2DREGION
    VSyncFreq: D3DDDI_RATIONAL
    HSyncFreq: D3DDDI_RATIONAL
    PixelRate: int
    VideoStandard: D3DKMDT_VIDEO_SIGNAL_STANDARD = D3DKMDT_VIDEO_SIGNAL_STANDARD.OTHER
    ScanLineOrdering: D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING = D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING.PROGRESSIVE
    VSyncFreqDivider: int = 0
    _SIZE_: ClassVar[int] = 56
    _LAYOUT_: ClassVar[Layout] = (
        ("VideoStandard", 0, 4),
        ("TotalSize", 4, 8),
        ("ActiveSize", 12, 8),
        ("VSyncFreq", 20, 8),
        ("HSyncFreq", 28, 8),
        ("PixelRate", 40, 8),
        ("ScanLineOrdering", 48, 4),
    )


@dataclass(slots=True)
class D3DKMDT_VIDPN_TARGET_MODE:
    """One target mode: a signal and whether the monitor prefers it."""

    Id: int
    VideoSignalInfo: D3DKMDT_VIDEO_SIGNAL_INFO
    Preference: D3DKMDT_MODE_PREFERENCE = D3DKMDT_MODE_PREFERENCE.NOTPREFERRED


class D3DDDI_GAMMARAMP_TYPE(IntEnum):
    """Kinds of gamma ramp."""

    UNINITIALIZED = 0
    DEFAULT = 1
    RGB256x3x16 = 2
    DXGI_1 = 3
    MATRIX_3x4 = 4
    MATRIX_V2 = 5


class DXGK_COLORTRANSFORMCAPS(IntFlag):
    """Gamma and colour transforms that a driver supports."""

    NONE = 0
    Gamma_Rgb256x3x16 = 0x1
    Gamma_Dxgi1 = 0x2
    Transform_3x4Matrix = 0x4
    WideColor = 0x8
    HighColor = 0x10
    Transform_Matrix_V2 = 0x20


D3DDDI_GAMMA_RAMP_RGB256x3x16_DTYPE: Final = np.dtype([("Red", "<u2", (256,)), ("Green", "<u2", (256,)), ("Blue", "<u2", (256,))])
"""Three tables of 256 16-bit outputs; 1536 bytes."""
D3DDDI_GAMMA_RAMP_DXGI_1_DTYPE: Final = np.dtype(
    [("Scale", "<f4", (3,)), ("Offset", "<f4", (3,)), ("GammaCurve", "<f4", (1025, 3))]
)
"""RGB scale, RGB offset and a curve of 1025 RGB points; 12324 bytes."""


@dataclass(slots=True)
class D3DKMDT_GAMMA_RAMP:
    """A gamma ramp; ``Data`` has the dtype of ``Type`` (None for DEFAULT)."""

    Type: D3DDDI_GAMMARAMP_TYPE = D3DDDI_GAMMARAMP_TYPE.DEFAULT
    DataSize: int = 0
    Data: npt.NDArray[np.void] | None = None
    _SIZE_: ClassVar[int] = 24
    _LAYOUT_: ClassVar[Layout] = (("Type", 0, 4), ("DataSize", 8, 8), ("Data", 16, 8))


@dataclass(slots=True)
class D3DKMDT_VIDPN_PRESENT_PATH_TRANSFORMATION:
    """Scaling and rotation of a path, and which of them are supported (out)."""

    Scaling: D3DKMDT_VIDPN_PRESENT_PATH_SCALING = D3DKMDT_VIDPN_PRESENT_PATH_SCALING.IDENTITY
    ScalingSupport: D3DKMDT_VIDPN_PRESENT_PATH_SCALING_SUPPORT = D3DKMDT_VIDPN_PRESENT_PATH_SCALING_SUPPORT.NONE
    Rotation: D3DKMDT_VIDPN_PRESENT_PATH_ROTATION = D3DKMDT_VIDPN_PRESENT_PATH_ROTATION.IDENTITY
    RotationSupport: D3DKMDT_VIDPN_PRESENT_PATH_ROTATION_SUPPORT = D3DKMDT_VIDPN_PRESENT_PATH_ROTATION_SUPPORT.NONE
    _SIZE_: ClassVar[int] = 16
    _LAYOUT_: ClassVar[Layout] = (
        ("Scaling", 0, 4),
        ("ScalingSupport", 4, 4),
        ("Rotation", 8, 4),
        ("RotationSupport", 12, 4),
    )


@dataclass(slots=True)
class D3DKMDT_VIDPN_PRESENT_PATH:
    """A path from a source to a target. Copy protection and dynamic ranges are not modelled."""

    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID
    VidPnTargetId: D3DDDI_VIDEO_PRESENT_TARGET_ID
    ImportanceOrdinal: D3DKMDT_VIDPN_PRESENT_PATH_IMPORTANCE = D3DKMDT_VIDPN_PRESENT_PATH_IMPORTANCE.PRIMARY
    ContentTransformation: D3DKMDT_VIDPN_PRESENT_PATH_TRANSFORMATION = field(
        default_factory=D3DKMDT_VIDPN_PRESENT_PATH_TRANSFORMATION
    )
    VisibleFromActiveTLOffset: D3DKMDT_2DOFFSET = field(default_factory=D3DKMDT_2DOFFSET)
    VisibleFromActiveBROffset: D3DKMDT_2DOFFSET = field(default_factory=D3DKMDT_2DOFFSET)
    VidPnTargetColorBasis: D3DKMDT_COLOR_BASIS = D3DKMDT_COLOR_BASIS.SRGB
    Content: D3DKMDT_VIDPN_PRESENT_PATH_CONTENT = D3DKMDT_VIDPN_PRESENT_PATH_CONTENT.GRAPHICS
    GammaRamp: D3DKMDT_GAMMA_RAMP = field(default_factory=D3DKMDT_GAMMA_RAMP)
    _SIZE_: ClassVar[int] = 360
    _LAYOUT_: ClassVar[Layout] = (
        ("VidPnSourceId", 0, 4),
        ("VidPnTargetId", 4, 4),
        ("ImportanceOrdinal", 8, 4),
        ("ContentTransformation", 12, 16),
        ("VisibleFromActiveTLOffset", 28, 8),
        ("VisibleFromActiveBROffset", 36, 8),
        ("VidPnTargetColorBasis", 44, 4),
        ("Content", 64, 4),
        ("GammaRamp", 336, 24),
    )


# --- standard allocations -------------------------------------------------------------------------------------------


class D3DKMDT_STANDARDALLOCATION_TYPE(IntEnum):
    """Allocations that the OS itself creates."""

    SHAREDPRIMARYSURFACE = 1
    SHADOWSURFACE = 2
    STAGINGSURFACE = 3
    GDISURFACE = 4
    VGPU = 5


@dataclass(slots=True)
class D3DKMDT_SHAREDPRIMARYSURFACEDATA:
    """The desktop's primary of a source."""

    Width: int
    Height: int
    Format: D3DDDIFORMAT
    RefreshRate: D3DDDI_RATIONAL
    VidPnSourceId: D3DDDI_VIDEO_PRESENT_SOURCE_ID


@dataclass(slots=True)
class D3DKMDT_SHADOWSURFACEDATA:
    """System-memory shadow of a primary; ``Pitch`` is out, in bytes."""

    Width: int
    Height: int
    Format: D3DDDIFORMAT
    Pitch: int = 0


@dataclass(slots=True)
class D3DKMDT_STAGINGSURFACEDATA:
    """Staging surface; ``Pitch`` is out, in bytes."""

    Width: int
    Height: int
    Pitch: int = 0


@dataclass(slots=True)
class D3DKMDT_GDISURFACEDATA:
    """Surface of GDI acceleration; ``Pitch`` is out, in bytes."""

    Width: int
    Height: int
    Format: D3DDDIFORMAT
    Type: D3DDDI_GDISURFACETYPE
    Flags: int = 0
    Pitch: int = 0


# --- preemption -----------------------------------------------------------------------------------------------------


class D3DKMDT_GRAPHICS_PREEMPTION_GRANULARITY(IntEnum):
    """Finest boundary at which graphics work can be preempted."""

    NONE = 0
    DMA_BUFFER_BOUNDARY = 100
    PRIMITIVE_BOUNDARY = 200
    TRIANGLE_BOUNDARY = 300
    PIXEL_BOUNDARY = 400
    SHADER_BOUNDARY = 500


class D3DKMDT_COMPUTE_PREEMPTION_GRANULARITY(IntEnum):
    """Finest boundary at which compute work can be preempted."""

    NONE = 0
    DMA_BUFFER_BOUNDARY = 100
    DISPATCH_BOUNDARY = 200
    THREAD_GROUP_BOUNDARY = 300
    THREAD_BOUNDARY = 400
    SHADER_BOUNDARY = 500


@dataclass(slots=True)
class D3DKMDT_PREEMPTION_CAPS:
    """How finely the hardware preempts."""

    GraphicsPreemptionGranularity: D3DKMDT_GRAPHICS_PREEMPTION_GRANULARITY = (
        D3DKMDT_GRAPHICS_PREEMPTION_GRANULARITY.DMA_BUFFER_BOUNDARY
    )
    ComputePreemptionGranularity: D3DKMDT_COMPUTE_PREEMPTION_GRANULARITY = (
        D3DKMDT_COMPUTE_PREEMPTION_GRANULARITY.DMA_BUFFER_BOUNDARY
    )
    _SIZE_: ClassVar[int] = 8
    _LAYOUT_: ClassVar[Layout] = (("GraphicsPreemptionGranularity", 0, 4), ("ComputePreemptionGranularity", 4, 4))
