"""d3d10umddi.h: the Direct3D 10 and 11 device-driver interface of a user-mode driver.

Adapter entry and versions, capabilities, device creation, resources, views, states, shaders, queries, and the function tables
in header order with the error category of each D3D11 slot. Models "Initializing Communication with the Direct3D Version 11 DDI",
"Handling Errors" and the ``d3d10umddi`` reference. Declarations only.

A device function's first argument is hDevice (the hDrvDevice of CreateDevice). Functions return nothing (or an awaitable of
nothing, see ``d3dukmdt.Void``): a failure goes through pfnSetErrorCb, and success is told by not calling it.

DEVIATES: a driver handle is a number that the runtime chose, not the address of driver memory; the sizes of the Calc…Size
functions are honoured as numbers only. Where the header has an out pointer for one plain value (CheckFormatSupport,
CheckMultisampleQualityLevels, CheckDirectFlipSupport, CheckDeferredContextHandleSizes), the function returns it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum, IntFlag
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from .d3dukmdt import D3DDDI_OPENALLOCATIONINFO, D3DKMT_HANDLE, RECT, Layout, PrivateData, Result, Void
from .d3dumddi import D3DDDI_ADAPTERCALLBACKS, D3DDDI_DEVICECALLBACKS
from .dxgiddi import DXGI_DDI_BASE_ARGS, DXGI_DDI_PRIMARY_DESC
from .dxgiformat import DXGI_FORMAT
from .status import HRESULT

D3D10DDI_HRTADAPTER: TypeAlias = int
D3D10DDI_HADAPTER: TypeAlias = int
D3D10DDI_HRTDEVICE: TypeAlias = int
D3D10DDI_HDEVICE: TypeAlias = int
D3D10DDI_HRTCORELAYER: TypeAlias = int
D3D10DDI_HRESOURCE: TypeAlias = int
D3D10DDI_HRTRESOURCE: TypeAlias = int
D3D10DDI_HSHADERRESOURCEVIEW: TypeAlias = int
D3D10DDI_HRTSHADERRESOURCEVIEW: TypeAlias = int
D3D10DDI_HRENDERTARGETVIEW: TypeAlias = int
D3D10DDI_HRTRENDERTARGETVIEW: TypeAlias = int
D3D10DDI_HDEPTHSTENCILVIEW: TypeAlias = int
D3D10DDI_HRTDEPTHSTENCILVIEW: TypeAlias = int
D3D11DDI_HUNORDEREDACCESSVIEW: TypeAlias = int
D3D11DDI_HRTUNORDEREDACCESSVIEW: TypeAlias = int
D3D10DDI_HELEMENTLAYOUT: TypeAlias = int
D3D10DDI_HRTELEMENTLAYOUT: TypeAlias = int
D3D10DDI_HBLENDSTATE: TypeAlias = int
D3D10DDI_HRTBLENDSTATE: TypeAlias = int
D3D10DDI_HDEPTHSTENCILSTATE: TypeAlias = int
D3D10DDI_HRTDEPTHSTENCILSTATE: TypeAlias = int
D3D10DDI_HRASTERIZERSTATE: TypeAlias = int
D3D10DDI_HRTRASTERIZERSTATE: TypeAlias = int
D3D10DDI_HSHADER: TypeAlias = int
D3D10DDI_HRTSHADER: TypeAlias = int
D3D10DDI_HSAMPLER: TypeAlias = int
D3D10DDI_HRTSAMPLER: TypeAlias = int
D3D10DDI_HQUERY: TypeAlias = int
D3D10DDI_HRTQUERY: TypeAlias = int
D3D11DDI_HCOMMANDLIST: TypeAlias = int
D3D11DDI_HRTCOMMANDLIST: TypeAlias = int

Bytes: TypeAlias = bytes | bytearray | memoryview | npt.NDArray[np.uint8]
"""Readable memory of the application."""
Float4: TypeAlias = Sequence[float]
"""Four numbers: red, green, blue, alpha."""

# --- versions -------------------------------------------------------------------------------------------------------

D3D10_DDI_MAJOR_VERSION: Final = 10
D3D11_DDI_MAJOR_VERSION: Final = 11


class DDI_VERSION(IntEnum):
    """Interface words, (major << 16) | minor, of the published interfaces."""

    D3D10on9 = 0x000A_0000
    D3D10_0 = 0x000A_0001
    D3D10_1 = 0x000A_0002
    D3D10_0_x_VISTA = 0x000A_0003
    D3D10_1_x_VISTA = 0x000A_0004
    D3D10_0_x = 0x000A_0006
    D3D10_1_x = 0x000A_0007
    D3D10_0_7 = 0x000A_0009
    D3D10_1_7 = 0x000A_000A
    D3D11_0_VISTA = 0x000B_0009
    D3D11_0 = 0x000B_000A
    D3D11_0_7 = 0x000B_000B
    D3D11_1_RC = 0x000B_000E
    D3D11_1 = 0x000B_000F
    WDDM1_3 = 0x000B_0010
    WDDM2_0 = 0x000B_0020
    WDDM2_1 = 0x000B_0022
    WDDM2_2 = 0x000B_0023
    WDDM2_3 = 0x000B_0024
    WDDM2_4 = 0x000B_0025
    WDDM2_5 = 0x000B_0026
    WDDM2_6 = 0x000B_0027
    WDDM2_7 = 0x000B_0028
    WDDM2_8 = 0x000B_0029
    WDDM2_9 = 0x000B_002A
    WDDM3_0 = 0x000B_002B


DDI_BUILD_VERSION: Final[Mapping[int, int]] = MappingProxyType({
    DDI_VERSION.D3D10on9: 0,
    DDI_VERSION.D3D10_0: 4,
    DDI_VERSION.D3D10_1: 1,
    DDI_VERSION.D3D10_0_x_VISTA: 0,
    DDI_VERSION.D3D10_1_x_VISTA: 0,
    DDI_VERSION.D3D10_0_x: 0,
    DDI_VERSION.D3D10_1_x: 0,
    DDI_VERSION.D3D10_0_7: 0,
    DDI_VERSION.D3D10_1_7: 0,
    DDI_VERSION.D3D11_0_VISTA: 0,
    DDI_VERSION.D3D11_0: 2,
    DDI_VERSION.D3D11_0_7: 2,
    DDI_VERSION.D3D11_1_RC: 1,
    DDI_VERSION.D3D11_1: 0,
    DDI_VERSION.WDDM1_3: 1,
    DDI_VERSION.WDDM2_0: 9,
    DDI_VERSION.WDDM2_1: 2,
    DDI_VERSION.WDDM2_2: 5,
    DDI_VERSION.WDDM2_3: 1,
    DDI_VERSION.WDDM2_4: 1,
    DDI_VERSION.WDDM2_5: 0,
    DDI_VERSION.WDDM2_6: 4,
    DDI_VERSION.WDDM2_7: 1,
    DDI_VERSION.WDDM2_8: 0,
    DDI_VERSION.WDDM2_9: 0,
    DDI_VERSION.WDDM3_0: 0,
})  # fmt: skip
"""Build that each interface was published with (high word of Version)."""

DXGI_QFE_BUILD: Final = 8
RESOLVE_SHARED_BUILD: Final = 9
OFFER_RECLAIM_BUILD: Final = 10
VISTA_GOLD_BUILD: Final = 6000


def make_interface(major: int, minor: int) -> int:
    """Interface word."""
    return (major & 0xFFFF) << 16 | (minor & 0xFFFF)


def make_version(build: int, revision: int = 0) -> int:
    """Version word; a driver compares the build only."""
    return (build & 0xFFFF) << 16 | (revision & 0xFFFF)


def supported_version(Interface: int, build: int | None = None) -> int:
    """GetSupportedVersions entry: (Interface << 32) | (build << 16); the published build when none is given."""
    return Interface << 32 | (DDI_BUILD_VERSION[Interface] if build is None else build) << 16


def interface_of(supported: int) -> int:
    """Interface word of a GetSupportedVersions entry."""
    return supported >> 32 & 0xFFFF_FFFF


def version_of(supported: int) -> int:
    """Version word of a GetSupportedVersions entry."""
    return supported & 0xFFFF_FFFF


def version_compatible(driver_version: int, runtime_version: int) -> bool:
    """A runtime serves a driver when its build is at least the one that the driver was made for."""
    return runtime_version >> 16 >= driver_version >> 16


def choose_version(runtime: Sequence[int], driver: Sequence[int]) -> int | None:
    """The newest entry of `driver` that `runtime` offers too (same Interface, runtime build not older), or None."""
    offered = {interface_of(entry): version_of(entry) for entry in runtime}
    common = [
        entry
        for entry in driver
        if interface_of(entry) in offered and version_compatible(version_of(entry), offered[interface_of(entry)])
    ]
    return max(common, default=None)


# --- adapter --------------------------------------------------------------------------------------------------------


class D3D10_2DDICAPS_TYPE(IntEnum):
    """What GetCaps is asked for."""

    D3D11DDICAPS_THREADING = 0x80
    D3D11DDICAPS_SHADER = 0x81
    D3D11DDICAPS_3DPIPELINESUPPORT = 0x82
    D3D11_1DDICAPS_D3D11_OPTIONS = 0x83
    D3D11_1DDICAPS_ARCHITECTURE_INFO = 0x84
    D3D11_1DDICAPS_SHADER_MIN_PRECISION_SUPPORT = 0x86
    D3DWDDM1_3DDICAPS_D3D11_OPTIONS1 = 0x88
    D3DWDDM1_3DDICAPS_MARKER = 0x89
    D3DWDDM2_0DDICAPS_D3D11_OPTIONS2 = 0x8F
    D3DWDDM2_0DDICAPS_MEMORY_ARCHITECTURE = 0x91
    D3DWDDM2_0DDICAPS_TEXTURE_LAYOUT = 0x95
    D3DWDDM2_0DDICAPS_SWIZZLE_PATTERN = 0x96
    D3DWDDM2_0DDICAPS_D3D11_OPTIONS3 = 0x98
    D3DWDDM2_0DDICAPS_GPUVA_CAPS = 0x99
    D3DWDDM2_0DDICAPS_TEXTURE_LAYOUT1 = 0x9A
    D3DWDDM2_2DDICAPS_SHADERCACHE = 0x9B
    D3DWDDM2_2DDICAPS_TEXTURE_LAYOUT = 0x9C
    D3DWDDM2_2DDICAPS_SWIZZLE_PATTERN = 0x9D
    D3D12_DOWNLEVEL_DDICAPS_UMDFILENAME = 0xC8


class D3D11DDI_THREADING_CAPS(IntFlag):
    """Answer to THREADING."""

    NONE = 0
    FREETHREADED = 0x1
    COMMANDLISTS = 0x2
    COMMANDLISTS_BUILD_2 = 0x4


class D3D11DDI_SHADER_CAPS(IntFlag):
    """Answer to SHADER."""

    NONE = 0
    DOUBLES = 0x1
    COMPUTE_PLUS_RAW_AND_STRUCTURED_BUFFERS_IN_SHADER_4_X = 0x2
    DEBUGGABLE = 0x4
    REQUIRES_TRANSLATION_INFO_FOR_DX9 = 0x8
    SPECIFIED_STENCIL_REF = 0x10
    TYPED_UAV_LOAD_ADDITIONAL_FORMATS = 0x20
    ROVS = 0x40


class D3D11DDI_3DPIPELINELEVEL(IntEnum):
    """Pipeline levels; the answer to 3DPIPELINESUPPORT has one bit for each."""

    LEVEL_10_0 = 0
    LEVEL_10_1 = 1
    LEVEL_11_0 = 2
    LEVEL_11_1 = 3
    LEVEL_9_1 = 4
    LEVEL_9_2 = 5
    LEVEL_9_3 = 6
    LEVEL_12_0 = 7
    LEVEL_12_1 = 8


def encode_pipeline_support(*levels: D3D11DDI_3DPIPELINELEVEL) -> int:
    """Caps word of 3DPIPELINESUPPORT."""
    word = 0
    for level in levels:
        word |= 1 << level
    return word


@dataclass(slots=True)
class D3D11_1DDI_D3D11_OPTIONS_DATA:
    """Answer to D3D11_OPTIONS."""

    OutputMergerLogicOp: bool = False
    AssignDebugBinarySupport: bool = False


@dataclass(slots=True)
class D3DDDICAPS_ARCHITECTURE_INFO:
    """Answer to ARCHITECTURE_INFO."""

    TileBasedDeferredRenderer: bool = False


@dataclass(slots=True)
class D3D10_2DDIARG_GETCAPS:
    """A question of the runtime. ``pData`` is out: the flags word or the dataclass of the type, None where the driver does not
    know it; ``pInfo`` narrows some types."""

    Type: D3D10_2DDICAPS_TYPE
    pInfo: object | None = None
    pData: object | None = None
    DataSize: int = 0
    _SIZE_: ClassVar[int] = 32
    _LAYOUT_: ClassVar[Layout] = (("Type", 0, 4), ("pInfo", 8, 8), ("pData", 16, 8), ("DataSize", 24, 4))


@dataclass(slots=True)
class D3D10DDIARG_CALCPRIVATEDEVICESIZE:
    """Argument of CalcPrivateDeviceSize."""

    Interface: int
    Version: int
    Flags: int = 0


class D3D10DDI_CREATEDEVICE_FLAGS(IntFlag):
    """Flags of CreateDevice; the pipeline level is a split field, see ``create_device_pipeline_level``."""

    NONE = 0
    DISABLE_EXTRA_THREAD_CREATION = 0x1
    SINGLETHREADED = 0x10
    DEBUGGABLE = 0x20
    ENABLE_INCREASED_PRIORITY = 0x1000


D3D11DDI_CREATEDEVICE_FLAG_3DPIPELINESUPPORT_MASK: Final = 0xCE


def create_device_flags(
    level: D3D11DDI_3DPIPELINELEVEL, flags: D3D10DDI_CREATEDEVICE_FLAGS = D3D10DDI_CREATEDEVICE_FLAGS.NONE
) -> int:
    """Flags word with the level in bits 1-3 (its low three bits) and 6-7 (its high two bits)."""
    return int(flags) | (level & 7) << 1 | (level & 0x18) << 3


def create_device_pipeline_level(flags: int) -> int:
    """Pipeline level of a Flags word."""
    return (flags & 0xE) >> 1 | (flags & 0xC0) >> 3


@dataclass(slots=True)
class D3D10DDIARG_CREATEDEVICE:
    """Create a device. The driver fills the device table and the DXGI table that the runtime made.

    DEVIATES: the union of device-table pointers is the one member ``pDeviceFuncs``, of the class that ``device_funcs_class``
    names for the Interface; likewise ``p11UMCallbacks`` stands for the union of core-layer callbacks.
    """

    hRTDevice: D3D10DDI_HRTDEVICE
    Interface: int
    Version: int
    pKTCallbacks: D3DDDI_DEVICECALLBACKS
    pDeviceFuncs: "D3D10DDI_DEVICEFUNCS"
    hDrvDevice: D3D10DDI_HDEVICE
    DXGIBaseDDI: DXGI_DDI_BASE_ARGS
    hRTCoreLayer: D3D10DDI_HRTCORELAYER
    p11UMCallbacks: "D3D11DDI_CORELAYER_DEVICECALLBACKS"
    Flags: int = 0
    ppfnRetrieveSubObject: Callable[..., int] | None = None
    _SIZE_: ClassVar[int] = 88
    _LAYOUT_: ClassVar[Layout] = (
        ("hRTDevice", 0, 8),
        ("Interface", 8, 4),
        ("Version", 12, 4),
        ("pKTCallbacks", 16, 8),
        ("pDeviceFuncs", 24, 8),
        ("hDrvDevice", 32, 8),
        ("DXGIBaseDDI", 40, 16),
        ("hRTCoreLayer", 56, 8),
        ("p11UMCallbacks", 64, 8),
        ("Flags", 72, 4),
        ("ppfnRetrieveSubObject", 80, 8),
    )


@dataclass(slots=True)
class D3D10DDI_ADAPTERFUNCS:
    """What OpenAdapter10 fills."""

    pfnCalcPrivateDeviceSize: Callable[[D3D10DDI_HADAPTER, D3D10DDIARG_CALCPRIVATEDEVICESIZE], int] | None = None
    pfnCreateDevice: Callable[[D3D10DDI_HADAPTER, D3D10DDIARG_CREATEDEVICE], Result] | None = None
    pfnCloseAdapter: Callable[[D3D10DDI_HADAPTER], Result] | None = None


@dataclass(slots=True)
class D3D10_2DDI_ADAPTERFUNCS(D3D10DDI_ADAPTERFUNCS):
    """What OpenAdapter10_2 fills. DEVIATES: pfnGetSupportedVersions takes (hAdapter, capacity or None) and returns (HRESULT,
    count, entries): None asks for the count, a capacity below it fails with HRESULT_ERROR_INSUFFICIENT_BUFFER."""

    pfnGetSupportedVersions: Callable[[D3D10DDI_HADAPTER, int | None], tuple[int, int, list[int]]] | None = None
    pfnGetCaps: Callable[[D3D10DDI_HADAPTER, D3D10_2DDIARG_GETCAPS], int] | None = None


@dataclass(slots=True)
class D3D10DDIARG_OPENADAPTER:
    """Argument of OpenAdapter10 and OpenAdapter10_2; ``hAdapter`` is in/out, the driver fills the runtime's table."""

    hRTAdapter: D3D10DDI_HRTADAPTER
    Interface: int
    Version: int
    pAdapterCallbacks: D3DDDI_ADAPTERCALLBACKS
    pAdapterFuncs: D3D10DDI_ADAPTERFUNCS | None = None
    pAdapterFuncs_2: D3D10_2DDI_ADAPTERFUNCS | None = None
    hAdapter: D3D10DDI_HADAPTER = 0
    _SIZE_: ClassVar[int] = 40
    _LAYOUT_: ClassVar[Layout] = (
        ("hRTAdapter", 0, 8),
        ("hAdapter", 8, 8),
        ("Interface", 16, 4),
        ("Version", 20, 4),
        ("pAdapterCallbacks", 24, 8),
        ("pAdapterFuncs", 32, 8),
        ("pAdapterFuncs_2", 32, 8),
    )


# --- resources ------------------------------------------------------------------------------------------------------


class D3D10DDIRESOURCE_TYPE(IntEnum):
    """Resource and view dimensions."""

    BUFFER = 1
    TEXTURE1D = 2
    TEXTURE2D = 3
    TEXTURE3D = 4
    TEXTURECUBE = 5
    BUFFEREX = 6


class D3D10_DDI_RESOURCE_USAGE(IntEnum):
    """Usage."""

    DEFAULT = 0
    IMMUTABLE = 1
    DYNAMIC = 2
    STAGING = 3


class D3D10_DDI_RESOURCE_BIND_FLAG(IntFlag):
    """Where a resource may be bound."""

    NONE = 0
    VERTEX_BUFFER = 0x1
    INDEX_BUFFER = 0x2
    CONSTANT_BUFFER = 0x4
    SHADER_RESOURCE = 0x8
    STREAM_OUTPUT = 0x10
    RENDER_TARGET = 0x20
    DEPTH_STENCIL = 0x40
    PRESENT = 0x80
    UNORDERED_ACCESS = 0x100
    DECODER = 0x200
    VIDEO_ENCODER = 0x400
    CAPTURE = 0x800


class D3D10_DDI_CPU_ACCESS(IntFlag):
    """CPU access that a resource allows (MapFlags)."""

    NONE = 0
    WRITE = 0x1
    READ = 0x2


class D3D10_DDI_RESOURCE_MISC_FLAG(IntFlag):
    """Further properties."""

    NONE = 0
    AUTO_GEN_MIP_MAP = 0x1
    SHARED = 0x2
    DISCARD_ON_PRESENT = 0x8
    DRAWINDIRECT_ARGS = 0x10
    BUFFER_ALLOW_RAW_VIEWS = 0x20
    BUFFER_STRUCTURED = 0x40
    RESOURCE_CLAMP = 0x80
    REMOTE = 0x400
    RESTRICTED_CONTENT = 0x800
    RESTRICT_SHARED_RESOURCE_DRIVER = 0x1000
    CROSS_ADAPTER = 0x2000
    TILED = 0x4000
    TILE_POOL = 0x8000
    HW_PROTECTED = 0x1_0000
    DISPLAYABLE_SURFACE = 0x2_0000
    CONTAINS_HW_PROTECTED = 0x4_0000
    PHYSICALLY_CONTIGUOUS = 0x100_0000


class D3D10_DDI_MAP(IntEnum):
    """How a resource is mapped."""

    READ = 1
    WRITE = 2
    READWRITE = 3
    WRITE_DISCARD = 4
    WRITE_NOOVERWRITE = 5


class D3D10_DDI_MAP_FLAG(IntFlag):
    """Flags of a map."""

    NONE = 0
    DONOTWAIT = 0x10_0000


class D3D10_DDI_FORMAT_SUPPORT(IntFlag):
    """Optional abilities of a format; what the format requires anyway is not told."""

    NONE = 0
    SHADER_SAMPLE = 0x1
    RENDERTARGET = 0x2
    BLENDABLE = 0x4
    MULTISAMPLE_RENDERTARGET = 0x8
    MULTISAMPLE_LOAD = 0x10
    DECODER_OUTPUT = 0x20
    VIDEO_PROCESSOR_OUTPUT = 0x40
    VIDEO_PROCESSOR_INPUT = 0x80
    VERTEX_BUFFER = 0x100
    UAV_WRITES = 0x200
    BUFFER = 0x400
    CAPTURE = 0x800
    VIDEO_ENCODER = 0x1000
    OUTPUT_MERGER_LOGIC_OP = 0x2000
    SHADER_GATHER = 0x4000
    MULTIPLANE_OVERLAY = 0x8000
    TILED = 0x1_0000
    UAV_READS = 0x2_0000
    NOT_SUPPORTED = 0x8000_0000


@dataclass(slots=True)
class DXGI_SAMPLE_DESC:
    """Samples per pixel and quality level."""

    Count: int = 1
    Quality: int = 0
    _SIZE_: ClassVar[int] = 8
    _LAYOUT_: ClassVar[Layout] = (("Count", 0, 4), ("Quality", 4, 4))


@dataclass(slots=True)
class D3D10DDI_MIPINFO:
    """Size of a mip level in texels, and padded for block formats."""

    TexelWidth: int
    TexelHeight: int
    TexelDepth: int
    PhysicalWidth: int
    PhysicalHeight: int
    PhysicalDepth: int


@dataclass(slots=True)
class D3D10_DDIARG_SUBRESOURCE_UP:
    """Initial data of a subresource; pitches in bytes."""

    pSysMem: Bytes
    SysMemPitch: int = 0
    SysMemSlicePitch: int = 0


@dataclass(slots=True)
class D3D11DDIARG_CREATERESOURCE:
    """Create a resource; the Direct3D 10 structure is the first 64 bytes. Subresource = mip + slice * MipLevels."""

    pMipInfoList: Sequence[D3D10DDI_MIPINFO]
    ResourceDimension: D3D10DDIRESOURCE_TYPE
    Format: DXGI_FORMAT
    BindFlags: D3D10_DDI_RESOURCE_BIND_FLAG = D3D10_DDI_RESOURCE_BIND_FLAG.NONE
    Usage: D3D10_DDI_RESOURCE_USAGE = D3D10_DDI_RESOURCE_USAGE.DEFAULT
    MapFlags: D3D10_DDI_CPU_ACCESS = D3D10_DDI_CPU_ACCESS.NONE
    MiscFlags: D3D10_DDI_RESOURCE_MISC_FLAG = D3D10_DDI_RESOURCE_MISC_FLAG.NONE
    SampleDesc: DXGI_SAMPLE_DESC = field(default_factory=DXGI_SAMPLE_DESC)
    MipLevels: int = 1
    ArraySize: int = 1
    pInitialDataUP: Sequence[D3D10_DDIARG_SUBRESOURCE_UP] | None = None
    pPrimaryDesc: DXGI_DDI_PRIMARY_DESC | None = None
    ByteStride: int = 0
    DecoderBufferType: int = 0
    TextureLayout: int = 0
    _SIZE_: ClassVar[int] = 80
    _LAYOUT_: ClassVar[Layout] = (
        ("pMipInfoList", 0, 8),
        ("pInitialDataUP", 8, 8),
        ("ResourceDimension", 16, 4),
        ("Usage", 20, 4),
        ("BindFlags", 24, 4),
        ("MapFlags", 28, 4),
        ("MiscFlags", 32, 4),
        ("Format", 36, 4),
        ("SampleDesc", 40, 8),
        ("MipLevels", 48, 4),
        ("ArraySize", 52, 4),
        ("pPrimaryDesc", 56, 8),
        ("ByteStride", 64, 4),
        ("DecoderBufferType", 68, 4),
        ("TextureLayout", 72, 4),
    )


@dataclass(slots=True)
class D3D10DDIARG_OPENRESOURCE:
    """Open a shared resource."""

    pOpenAllocationInfo: Sequence[D3DDDI_OPENALLOCATIONINFO]
    hKMResource: D3DKMT_HANDLE
    NumAllocations: int = 0
    pPrivateDriverData: PrivateData | None = None
    PrivateDriverDataSize: int = 0


@dataclass(slots=True)
class D3D10DDI_MAPPED_SUBRESOURCE:
    """Result of a map (out); pitches in bytes."""

    pData: npt.NDArray[np.uint8] | None = None
    RowPitch: int = 0
    DepthPitch: int = 0


@dataclass(slots=True)
class D3D10_DDI_BOX:
    """Box in texels; right, bottom and back are exclusive."""

    left: int
    top: int
    front: int
    right: int
    bottom: int
    back: int


@dataclass(slots=True)
class D3D10_DDI_VIEWPORT:
    """Viewport in pixels and depth range."""

    TopLeftX: float
    TopLeftY: float
    Width: float
    Height: float
    MinDepth: float = 0.0
    MaxDepth: float = 1.0


D3D10_DDI_RECT: TypeAlias = RECT

# --- views ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class D3D10DDIARG_BUFFER_VIEW:
    """Elements of a buffer (render-target and shader-resource views)."""

    FirstElement: int
    NumElements: int


class D3D11_DDI_BUFFEREX_SRV_FLAG(IntFlag):
    """Flags of an extended buffer view."""

    NONE = 0
    RAW = 0x1


@dataclass(slots=True)
class D3D11DDIARG_BUFFEREX_SHADERRESOURCEVIEW:
    """Elements of a raw or structured buffer."""

    FirstElement: int
    NumElements: int
    Flags: D3D11_DDI_BUFFEREX_SRV_FLAG = D3D11_DDI_BUFFEREX_SRV_FLAG.NONE


@dataclass(slots=True)
class D3D10DDIARG_TEX_SHADERRESOURCEVIEW:
    """Mips and slices of a 1D or 2D texture."""

    MostDetailedMip: int
    MipLevels: int
    FirstArraySlice: int = 0
    ArraySize: int = 1


@dataclass(slots=True)
class D3D10DDIARG_TEX3D_SHADERRESOURCEVIEW:
    """Mips of a 3D texture."""

    MostDetailedMip: int
    MipLevels: int


@dataclass(slots=True)
class D3D10_1DDIARG_TEXCUBE_SHADERRESOURCEVIEW:
    """Mips and cubes of a cube texture."""

    MostDetailedMip: int
    MipLevels: int
    First2DArrayFace: int = 0
    NumCubes: int = 1


@dataclass(slots=True)
class D3D11DDIARG_CREATESHADERRESOURCEVIEW:
    """Shader-resource view; the member of ``ResourceDimension`` is set (BUFFEREX: BufferEx)."""

    hDrvResource: D3D10DDI_HRESOURCE
    Format: DXGI_FORMAT
    ResourceDimension: D3D10DDIRESOURCE_TYPE
    Buffer: D3D10DDIARG_BUFFER_VIEW | None = None
    Tex1D: D3D10DDIARG_TEX_SHADERRESOURCEVIEW | None = None
    Tex2D: D3D10DDIARG_TEX_SHADERRESOURCEVIEW | None = None
    Tex3D: D3D10DDIARG_TEX3D_SHADERRESOURCEVIEW | None = None
    TexCube: D3D10_1DDIARG_TEXCUBE_SHADERRESOURCEVIEW | None = None
    BufferEx: D3D11DDIARG_BUFFEREX_SHADERRESOURCEVIEW | None = None


@dataclass(slots=True)
class D3D10DDIARG_TEX_VIEW:
    """One mip and slices of a texture (render-target, depth-stencil and unordered-access views)."""

    MipSlice: int
    FirstArraySlice: int = 0
    ArraySize: int = 1


@dataclass(slots=True)
class D3D10DDIARG_TEX3D_VIEW:
    """One mip and depth slices of a 3D texture."""

    MipSlice: int
    FirstW: int
    WSize: int


@dataclass(slots=True)
class D3D10DDIARG_CREATERENDERTARGETVIEW:
    """Render-target view; the member of ``ResourceDimension`` is set."""

    hDrvResource: D3D10DDI_HRESOURCE
    Format: DXGI_FORMAT
    ResourceDimension: D3D10DDIRESOURCE_TYPE
    Buffer: D3D10DDIARG_BUFFER_VIEW | None = None
    Tex1D: D3D10DDIARG_TEX_VIEW | None = None
    Tex2D: D3D10DDIARG_TEX_VIEW | None = None
    Tex3D: D3D10DDIARG_TEX3D_VIEW | None = None
    TexCube: D3D10DDIARG_TEX_VIEW | None = None


class D3D11_DDI_CREATE_DEPTH_STENCIL_VIEW_FLAG(IntFlag):
    """Planes that the view does not write."""

    NONE = 0
    READ_ONLY_DEPTH = 0x1
    READ_ONLY_STENCIL = 0x2


@dataclass(slots=True)
class D3D11DDIARG_CREATEDEPTHSTENCILVIEW:
    """Depth-stencil view; the member of ``ResourceDimension`` is set."""

    hDrvResource: D3D10DDI_HRESOURCE
    Format: DXGI_FORMAT
    ResourceDimension: D3D10DDIRESOURCE_TYPE
    Flags: D3D11_DDI_CREATE_DEPTH_STENCIL_VIEW_FLAG = D3D11_DDI_CREATE_DEPTH_STENCIL_VIEW_FLAG.NONE
    Tex1D: D3D10DDIARG_TEX_VIEW | None = None
    Tex2D: D3D10DDIARG_TEX_VIEW | None = None
    TexCube: D3D10DDIARG_TEX_VIEW | None = None


class D3D11_DDI_BUFFER_UAV_FLAG(IntFlag):
    """Flags of a buffer's unordered-access view."""

    NONE = 0
    RAW = 0x1
    APPEND = 0x2
    COUNTER = 0x4


@dataclass(slots=True)
class D3D11DDIARG_BUFFER_UNORDEREDACCESSVIEW:
    """Elements of a buffer."""

    FirstElement: int
    NumElements: int
    Flags: D3D11_DDI_BUFFER_UAV_FLAG = D3D11_DDI_BUFFER_UAV_FLAG.NONE


@dataclass(slots=True)
class D3D11DDIARG_CREATEUNORDEREDACCESSVIEW:
    """Unordered-access view; the member of ``ResourceDimension`` is set."""

    hDrvResource: D3D10DDI_HRESOURCE
    Format: DXGI_FORMAT
    ResourceDimension: D3D10DDIRESOURCE_TYPE
    Buffer: D3D11DDIARG_BUFFER_UNORDEREDACCESSVIEW | None = None
    Tex1D: D3D10DDIARG_TEX_VIEW | None = None
    Tex2D: D3D10DDIARG_TEX_VIEW | None = None
    Tex3D: D3D10DDIARG_TEX3D_VIEW | None = None


class D3D10_DDI_CLEAR_FLAG(IntFlag):
    """Planes of a depth-stencil clear."""

    NONE = 0
    DEPTH = 0x1
    STENCIL = 0x2


# --- input assembler ------------------------------------------------------------------------------------------------


class D3D10_DDI_PRIMITIVE_TOPOLOGY(IntEnum):
    """Primitive topologies; a patch list of n control points is 32 + n."""

    UNDEFINED = 0
    POINTLIST = 1
    LINELIST = 2
    LINESTRIP = 3
    TRIANGLELIST = 4
    TRIANGLESTRIP = 5
    LINELIST_ADJ = 10
    LINESTRIP_ADJ = 11
    TRIANGLELIST_ADJ = 12
    TRIANGLESTRIP_ADJ = 13
    CONTROL_POINT_PATCHLIST_1 = 33
    CONTROL_POINT_PATCHLIST_2 = 34
    CONTROL_POINT_PATCHLIST_3 = 35
    CONTROL_POINT_PATCHLIST_4 = 36
    CONTROL_POINT_PATCHLIST_5 = 37
    CONTROL_POINT_PATCHLIST_6 = 38
    CONTROL_POINT_PATCHLIST_7 = 39
    CONTROL_POINT_PATCHLIST_8 = 40
    CONTROL_POINT_PATCHLIST_9 = 41
    CONTROL_POINT_PATCHLIST_10 = 42
    CONTROL_POINT_PATCHLIST_11 = 43
    CONTROL_POINT_PATCHLIST_12 = 44
    CONTROL_POINT_PATCHLIST_13 = 45
    CONTROL_POINT_PATCHLIST_14 = 46
    CONTROL_POINT_PATCHLIST_15 = 47
    CONTROL_POINT_PATCHLIST_16 = 48
    CONTROL_POINT_PATCHLIST_17 = 49
    CONTROL_POINT_PATCHLIST_18 = 50
    CONTROL_POINT_PATCHLIST_19 = 51
    CONTROL_POINT_PATCHLIST_20 = 52
    CONTROL_POINT_PATCHLIST_21 = 53
    CONTROL_POINT_PATCHLIST_22 = 54
    CONTROL_POINT_PATCHLIST_23 = 55
    CONTROL_POINT_PATCHLIST_24 = 56
    CONTROL_POINT_PATCHLIST_25 = 57
    CONTROL_POINT_PATCHLIST_26 = 58
    CONTROL_POINT_PATCHLIST_27 = 59
    CONTROL_POINT_PATCHLIST_28 = 60
    CONTROL_POINT_PATCHLIST_29 = 61
    CONTROL_POINT_PATCHLIST_30 = 62
    CONTROL_POINT_PATCHLIST_31 = 63
    CONTROL_POINT_PATCHLIST_32 = 64


class D3D10_DDI_INPUT_CLASSIFICATION(IntEnum):
    """How often an input element advances."""

    PER_VERTEX_DATA = 0
    PER_INSTANCE_DATA = 1


D3D10_DDI_APPEND_ALIGNED_ELEMENT: Final = 0xFFFF_FFFF


@dataclass(slots=True)
class D3D10DDIARG_INPUT_ELEMENT_DESC:
    """One vertex element; ``InputRegister`` is the vertex shader's."""

    InputSlot: int
    AlignedByteOffset: int
    Format: DXGI_FORMAT
    InputSlotClass: D3D10_DDI_INPUT_CLASSIFICATION = D3D10_DDI_INPUT_CLASSIFICATION.PER_VERTEX_DATA
    InstanceDataStepRate: int = 0
    InputRegister: int = 0


@dataclass(slots=True)
class D3D10DDIARG_CREATEELEMENTLAYOUT:
    """Element layout."""

    pVertexElements: Sequence[D3D10DDIARG_INPUT_ELEMENT_DESC]
    NumElements: int = 0


# --- states ---------------------------------------------------------------------------------------------------------


class D3D10_DDI_BLEND(IntEnum):
    """Blend factors."""

    ZERO = 1
    ONE = 2
    SRC_COLOR = 3
    INV_SRC_COLOR = 4
    SRC_ALPHA = 5
    INV_SRC_ALPHA = 6
    DEST_ALPHA = 7
    INV_DEST_ALPHA = 8
    DEST_COLOR = 9
    INV_DEST_COLOR = 10
    SRC_ALPHASAT = 11
    BLEND_FACTOR = 14
    INV_BLEND_FACTOR = 15
    SRC1_COLOR = 16
    INV_SRC1_COLOR = 17
    SRC1_ALPHA = 18
    INV_SRC1_ALPHA = 19


class D3D10_DDI_BLEND_OP(IntEnum):
    """Blend operations."""

    ADD = 1
    SUBTRACT = 2
    REV_SUBTRACT = 3
    MIN = 4
    MAX = 5


class D3D11_1_DDI_LOGIC_OP(IntEnum):
    """Output-merger logic operations (11.1)."""

    CLEAR = 0
    SET = 1
    COPY = 2
    COPY_INVERTED = 3
    NOOP = 4
    INVERT = 5
    AND = 6
    NAND = 7
    OR = 8
    NOR = 9
    XOR = 10
    EQUIV = 11
    AND_REVERSE = 12
    AND_INVERTED = 13
    OR_REVERSE = 14
    OR_INVERTED = 15


class D3D10_DDI_COLOR_WRITE_ENABLE(IntFlag):
    """Channels that are written."""

    NONE = 0
    RED = 0x1
    GREEN = 0x2
    BLUE = 0x4
    ALPHA = 0x8
    ALL = 0xF


@dataclass(slots=True)
class D3D10_DDI_RENDER_TARGET_BLEND_DESC1:
    """Blending of one render target."""

    BlendEnable: bool = False
    SrcBlend: D3D10_DDI_BLEND = D3D10_DDI_BLEND.ONE
    DestBlend: D3D10_DDI_BLEND = D3D10_DDI_BLEND.ZERO
    BlendOp: D3D10_DDI_BLEND_OP = D3D10_DDI_BLEND_OP.ADD
    SrcBlendAlpha: D3D10_DDI_BLEND = D3D10_DDI_BLEND.ONE
    DestBlendAlpha: D3D10_DDI_BLEND = D3D10_DDI_BLEND.ZERO
    BlendOpAlpha: D3D10_DDI_BLEND_OP = D3D10_DDI_BLEND_OP.ADD
    RenderTargetWriteMask: D3D10_DDI_COLOR_WRITE_ENABLE = D3D10_DDI_COLOR_WRITE_ENABLE.ALL


D3D10_DDI_SIMULTANEOUS_RENDER_TARGET_COUNT: Final = 8


@dataclass(slots=True)
class D3D10_1_DDI_BLEND_DESC:
    """Blend state of eight render targets."""

    AlphaToCoverageEnable: bool = False
    IndependentBlendEnable: bool = False
    RenderTarget: Sequence[D3D10_DDI_RENDER_TARGET_BLEND_DESC1] = field(
        default_factory=lambda: tuple(
            D3D10_DDI_RENDER_TARGET_BLEND_DESC1() for _ in range(D3D10_DDI_SIMULTANEOUS_RENDER_TARGET_COUNT)
        )
    )


class D3D10_DDI_COMPARISON_FUNC(IntEnum):
    """Comparisons."""

    NEVER = 1
    LESS = 2
    EQUAL = 3
    LESS_EQUAL = 4
    GREATER = 5
    NOT_EQUAL = 6
    GREATER_EQUAL = 7
    ALWAYS = 8


class D3D10_DDI_STENCIL_OP(IntEnum):
    """Stencil operations."""

    KEEP = 1
    ZERO = 2
    REPLACE = 3
    INCR_SAT = 4
    DECR_SAT = 5
    INVERT = 6
    INCR = 7
    DECR = 8


class D3D10_DDI_DEPTH_WRITE_MASK(IntEnum):
    """Is depth written?"""

    ZERO = 0
    ALL = 1


@dataclass(slots=True)
class D3D10_DDI_DEPTH_STENCILOP_DESC:
    """Stencil operations of one face."""

    StencilFailOp: D3D10_DDI_STENCIL_OP = D3D10_DDI_STENCIL_OP.KEEP
    StencilDepthFailOp: D3D10_DDI_STENCIL_OP = D3D10_DDI_STENCIL_OP.KEEP
    StencilPassOp: D3D10_DDI_STENCIL_OP = D3D10_DDI_STENCIL_OP.KEEP
    StencilFunc: D3D10_DDI_COMPARISON_FUNC = D3D10_DDI_COMPARISON_FUNC.ALWAYS


@dataclass(slots=True)
class D3D10_DDI_DEPTH_STENCIL_DESC:
    """Depth and stencil state; masks are eight bits."""

    DepthEnable: bool = True
    DepthWriteMask: D3D10_DDI_DEPTH_WRITE_MASK = D3D10_DDI_DEPTH_WRITE_MASK.ALL
    DepthFunc: D3D10_DDI_COMPARISON_FUNC = D3D10_DDI_COMPARISON_FUNC.LESS
    StencilEnable: bool = False
    FrontEnable: bool = True
    BackEnable: bool = True
    StencilReadMask: int = 0xFF
    StencilWriteMask: int = 0xFF
    FrontFace: D3D10_DDI_DEPTH_STENCILOP_DESC = field(default_factory=D3D10_DDI_DEPTH_STENCILOP_DESC)
    BackFace: D3D10_DDI_DEPTH_STENCILOP_DESC = field(default_factory=D3D10_DDI_DEPTH_STENCILOP_DESC)


class D3D10_DDI_FILL_MODE(IntEnum):
    """Fill modes."""

    WIREFRAME = 2
    SOLID = 3


class D3D10_DDI_CULL_MODE(IntEnum):
    """Which faces are culled."""

    NONE = 1
    FRONT = 2
    BACK = 3


@dataclass(slots=True)
class D3D10_DDI_RASTERIZER_DESC:
    """Rasterizer state."""

    FillMode: D3D10_DDI_FILL_MODE = D3D10_DDI_FILL_MODE.SOLID
    CullMode: D3D10_DDI_CULL_MODE = D3D10_DDI_CULL_MODE.BACK
    FrontCounterClockwise: bool = False
    DepthBias: int = 0
    DepthBiasClamp: float = 0.0
    SlopeScaledDepthBias: float = 0.0
    DepthClipEnable: bool = True
    ScissorEnable: bool = False
    MultisampleEnable: bool = False
    AntialiasedLineEnable: bool = False


class D3D10_DDI_FILTER(IntEnum):
    """Sampler filters."""

    MIN_MAG_MIP_POINT = 0x00
    MIN_MAG_POINT_MIP_LINEAR = 0x01
    MIN_POINT_MAG_LINEAR_MIP_POINT = 0x04
    MIN_POINT_MAG_MIP_LINEAR = 0x05
    MIN_LINEAR_MAG_MIP_POINT = 0x10
    MIN_LINEAR_MAG_POINT_MIP_LINEAR = 0x11
    MIN_MAG_LINEAR_MIP_POINT = 0x14
    MIN_MAG_MIP_LINEAR = 0x15
    ANISOTROPIC = 0x55
    COMPARISON_MIN_MAG_MIP_POINT = 0x80
    COMPARISON_MIN_MAG_POINT_MIP_LINEAR = 0x81
    COMPARISON_MIN_POINT_MAG_LINEAR_MIP_POINT = 0x84
    COMPARISON_MIN_POINT_MAG_MIP_LINEAR = 0x85
    COMPARISON_MIN_LINEAR_MAG_MIP_POINT = 0x90
    COMPARISON_MIN_LINEAR_MAG_POINT_MIP_LINEAR = 0x91
    COMPARISON_MIN_MAG_LINEAR_MIP_POINT = 0x94
    COMPARISON_MIN_MAG_MIP_LINEAR = 0x95
    COMPARISON_ANISOTROPIC = 0xD5
    TEXT_1BIT = 0x8000_0000

    @property
    def mip_linear(self) -> bool:
        """Bit 0: mip levels are blended."""
        return bool(self & 0x1)

    @property
    def mag_linear(self) -> bool:
        """Bit 2: magnification is linear."""
        return bool(self & 0x4)

    @property
    def min_linear(self) -> bool:
        """Bit 4: minification is linear."""
        return bool(self & 0x10)

    @property
    def anisotropic(self) -> bool:
        """Bit 6: anisotropic."""
        return bool(self & 0x40)

    @property
    def comparison(self) -> bool:
        """Bit 7: compares before filtering."""
        return bool(self & 0x80)


class D3D10_DDI_TEXTURE_ADDRESS_MODE(IntEnum):
    """What lies outside a texture."""

    WRAP = 1
    MIRROR = 2
    CLAMP = 3
    BORDER = 4
    MIRRORONCE = 5


@dataclass(slots=True)
class D3D10_DDI_SAMPLER_DESC:
    """Sampler state."""

    Filter: D3D10_DDI_FILTER = D3D10_DDI_FILTER.MIN_MAG_MIP_LINEAR
    AddressU: D3D10_DDI_TEXTURE_ADDRESS_MODE = D3D10_DDI_TEXTURE_ADDRESS_MODE.CLAMP
    AddressV: D3D10_DDI_TEXTURE_ADDRESS_MODE = D3D10_DDI_TEXTURE_ADDRESS_MODE.CLAMP
    AddressW: D3D10_DDI_TEXTURE_ADDRESS_MODE = D3D10_DDI_TEXTURE_ADDRESS_MODE.CLAMP
    MipLODBias: float = 0.0
    MaxAnisotropy: int = 16
    ComparisonFunc: D3D10_DDI_COMPARISON_FUNC = D3D10_DDI_COMPARISON_FUNC.NEVER
    BorderColor: Float4 = (0.0, 0.0, 0.0, 0.0)
    MinLOD: float = 0.0
    MaxLOD: float = 3.402823466e38


# --- shaders --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class D3D10DDIARG_SIGNATURE_ENTRY:
    """One register of a signature: system value (shader-token numbering), register, component mask."""

    SystemValue: int
    Register: int
    Mask: int


@dataclass(slots=True)
class D3D11_1DDIARG_SIGNATURE_ENTRY:
    """11.1 form with component type and minimum precision."""

    SystemValue: int
    Register: int
    Mask: int
    RegisterComponentType: int = 0
    MinPrecision: int = 0


@dataclass(slots=True)
class D3D10DDIARG_STAGE_IO_SIGNATURES:
    """Signatures of a shader."""

    pInputSignature: Sequence[D3D10DDIARG_SIGNATURE_ENTRY] = ()
    NumInputSignatureEntries: int = 0
    pOutputSignature: Sequence[D3D10DDIARG_SIGNATURE_ENTRY] = ()
    NumOutputSignatureEntries: int = 0


@dataclass(slots=True)
class D3D11DDIARG_TESSELLATION_IO_SIGNATURES:
    """Signatures of a hull or domain shader."""

    pInputSignature: Sequence[D3D10DDIARG_SIGNATURE_ENTRY] = ()
    NumInputSignatureEntries: int = 0
    pOutputSignature: Sequence[D3D10DDIARG_SIGNATURE_ENTRY] = ()
    NumOutputSignatureEntries: int = 0
    pPatchConstantSignature: Sequence[D3D10DDIARG_SIGNATURE_ENTRY] = ()
    NumPatchConstantSignatureEntries: int = 0


ShaderCode: TypeAlias = npt.NDArray[np.uint32]
"""Token stream of a shader, version token first, length token second."""


@dataclass(slots=True)
class D3D11DDIARG_STREAM_OUTPUT_DECLARATION_ENTRY:
    """One output: stream, slot, register (0xFFFFFFFF = gap) and component mask."""

    Stream: int
    OutputSlot: int
    RegisterIndex: int
    RegisterMask: int


D3D11DDI_SO_NO_RASTERIZED_STREAM: Final = 0xFFFF_FFFF


@dataclass(slots=True)
class D3D11DDIARG_CREATEGEOMETRYSHADERWITHSTREAMOUTPUT:
    """Geometry shader with stream output; ``pShaderCode`` None for a pass-through one."""

    pShaderCode: ShaderCode | None
    pOutputStreamDecl: Sequence[D3D11DDIARG_STREAM_OUTPUT_DECLARATION_ENTRY]
    NumEntries: int
    BufferStridesInBytes: Sequence[int] = ()
    NumStrides: int = 0
    RasterizedStream: int = 0


@dataclass(slots=True)
class D3D11DDIARG_POINTERDATA:
    """Class-linkage data of one interface."""

    uCBID: int
    uCBOffset: int
    uBaseSamplerID: int
    uBaseTexID: int


# --- queries --------------------------------------------------------------------------------------------------------


class D3D10DDI_QUERY(IntEnum):
    """Query types; well-known counters from 0x1000, the device's own from 0x40000000."""

    EVENT = 0
    OCCLUSION = 1
    TIMESTAMP = 2
    TIMESTAMPDISJOINT = 3
    PIPELINESTATS = 4
    OCCLUSIONPREDICATE = 5
    STREAMOUTPUTSTATS = 6
    STREAMOVERFLOWPREDICATE = 7
    D3D11_PIPELINESTATS = 8
    STREAMOUTPUTSTATS_STREAM0 = 9
    STREAMOUTPUTSTATS_STREAM1 = 10
    STREAMOUTPUTSTATS_STREAM2 = 11
    STREAMOUTPUTSTATS_STREAM3 = 12
    STREAMOVERFLOWPREDICATE_STREAM0 = 13
    STREAMOVERFLOWPREDICATE_STREAM1 = 14
    STREAMOVERFLOWPREDICATE_STREAM2 = 15
    STREAMOVERFLOWPREDICATE_STREAM3 = 16


D3D10DDI_COUNTER_WELLKNOWN_FIRST: Final = 0x1000
D3D10DDI_COUNTER_WELLKNOWN_LAST: Final = 0x1011
D3D10DDI_COUNTER_DEVICE_DEPENDENT_0: Final = 0x4000_0000


class D3D10DDI_QUERY_MISCFLAG(IntFlag):
    """Flags of a query."""

    NONE = 0
    PREDICATEHINT = 0x1


class D3D10_DDI_GET_DATA_FLAG(IntFlag):
    """Flags of QueryGetData."""

    NONE = 0
    DO_NOT_FLUSH = 0x1


@dataclass(slots=True)
class D3D10DDIARG_CREATEQUERY:
    """Create a query."""

    Query: int
    MiscFlags: D3D10DDI_QUERY_MISCFLAG = D3D10DDI_QUERY_MISCFLAG.NONE


D3D10_DDI_QUERY_DATA_TIMESTAMP_DISJOINT_DTYPE: Final = np.dtype(
    {"names": ["Frequency", "Disjoint"], "formats": ["<u8", "<i4"], "offsets": [0, 8], "itemsize": 16}
)
D3D11_DDI_QUERY_DATA_PIPELINE_STATISTICS_DTYPE: Final = np.dtype(
    [
        ("IAVertices", "<u8"),
        ("IAPrimitives", "<u8"),
        ("VSInvocations", "<u8"),
        ("GSInvocations", "<u8"),
        ("GSPrimitives", "<u8"),
        ("CInvocations", "<u8"),
        ("CPrimitives", "<u8"),
        ("PSInvocations", "<u8"),
        ("HSInvocations", "<u8"),
        ("DSInvocations", "<u8"),
        ("CSInvocations", "<u8"),
    ]
)
"""Answer to D3D11_PIPELINESTATS; PIPELINESTATS is its first eight members."""
D3D10_DDI_QUERY_DATA_SO_STATISTICS_DTYPE: Final = np.dtype([("NumPrimitivesWritten", "<u8"), ("PrimitivesStorageNeeded", "<u8")])


class D3D10DDI_COUNTER_TYPE(IntEnum):
    """Type of a counter's value."""

    FLOAT32 = 0
    UINT16 = 1
    UINT32 = 2
    UINT64 = 3


@dataclass(slots=True)
class D3D10DDI_COUNTER_INFO:
    """What counters the device has (out)."""

    LastDeviceDependentCounter: int = 0
    NumSimultaneousCounters: int = 0
    NumDetectableParallelUnits: int = 0


# --- deferred contexts ----------------------------------------------------------------------------------------------


class D3D11DDI_HANDLETYPE(IntEnum):
    """Kinds of context-local handle."""

    RESOURCE = 0
    SHADERRESOURCEVIEW = 1
    RENDERTARGETVIEW = 2
    DEPTHSTENCILVIEW = 3
    SHADER = 4
    ELEMENTLAYOUT = 5
    BLENDSTATE = 6
    DEPTHSTENCILSTATE = 7
    RASTERIZERSTATE = 8
    SAMPLERSTATE = 9
    QUERY = 10
    COMMANDLIST = 11
    UNORDEREDACCESSVIEW = 12
    VIDEODECODER = 13
    VIDEOPROCESSORENUM = 14
    VIDEOPROCESSOR = 15
    VIDEOPROCESSORINPUTVIEW = 16
    VIDEOPROCESSOROUTPUTVIEW = 17
    VIDEODECODEROUTPUTVIEW = 18
    CACHESESSION = 19


@dataclass(slots=True)
class D3D11DDI_HANDLESIZE:
    """A size that handles of a kind can have."""

    HandleType: D3D11DDI_HANDLETYPE
    DriverPrivateSize: int


@dataclass(slots=True)
class D3D11DDIARG_CREATEDEFERREDCONTEXT:
    """Create a deferred context; the table is the runtime's and filled by the driver (see ``DEFERRED_CONTEXT_NULL_SLOTS``).

    DEVIATES: the unions of table pointers are the one members ``p11ContextFuncs`` and ``p11UMCallbacks``.
    """

    p11ContextFuncs: "D3D10DDI_DEVICEFUNCS"
    hDrvContext: D3D10DDI_HDEVICE
    hRTCoreLayer: D3D10DDI_HRTCORELAYER
    p11UMCallbacks: "D3D11DDI_CORELAYER_DEVICECALLBACKS"
    Flags: int = 0
    _SIZE_: ClassVar[int] = 40
    _LAYOUT_: ClassVar[Layout] = (
        ("p11ContextFuncs", 0, 8),
        ("hDrvContext", 8, 8),
        ("hRTCoreLayer", 16, 8),
        ("p11UMCallbacks", 24, 8),
        ("Flags", 32, 4),
    )


@dataclass(slots=True)
class D3D11DDIARG_CREATECOMMANDLIST:
    """Turn a deferred context's recording into a command list."""

    hDeferredContext: D3D10DDI_HDEVICE


@dataclass(slots=True)
class D3D11DDIARG_CALCPRIVATEDEFERREDCONTEXTSIZE:
    """Argument of CalcPrivateDeferredContextSize."""

    Flags: int = 0


# --- core-layer callbacks -------------------------------------------------------------------------------------------

_Refresh: TypeAlias = Callable[[D3D10DDI_HRTCORELAYER], None]
_RefreshRange: TypeAlias = Callable[[D3D10DDI_HRTCORELAYER, int, int], None]


@dataclass(slots=True)
class D3D10DDI_CORELAYER_DEVICECALLBACKS:
    """Callbacks into the runtime's core layer, 26 entries: errors, and state-refresh by group (base, count for ranges)."""

    pfnSetErrorCb: Callable[[D3D10DDI_HRTCORELAYER, int], None] | None = None
    pfnStateVsConstBufCb: _RefreshRange | None = None
    pfnStatePsSrvCb: _RefreshRange | None = None
    pfnStatePsShaderCb: _Refresh | None = None
    pfnStatePsSamplerCb: _RefreshRange | None = None
    pfnStateVsShaderCb: _Refresh | None = None
    pfnStatePsConstBufCb: _RefreshRange | None = None
    pfnStateIaInputLayoutCb: _Refresh | None = None
    pfnStateIaVertexBufCb: _RefreshRange | None = None
    pfnStateIaIndexBufCb: _Refresh | None = None
    pfnStateGsConstBufCb: _RefreshRange | None = None
    pfnStateGsShaderCb: _Refresh | None = None
    pfnStateIaPrimitiveTopologyCb: _Refresh | None = None
    pfnStateVsSrvCb: _RefreshRange | None = None
    pfnStateVsSamplerCb: _RefreshRange | None = None
    pfnStateGsSrvCb: _RefreshRange | None = None
    pfnStateGsSamplerCb: _RefreshRange | None = None
    pfnStateOmRenderTargetsCb: _Refresh | None = None
    pfnStateOmBlendStateCb: _Refresh | None = None
    pfnStateOmDepthStateCb: _Refresh | None = None
    pfnStateRsRastStateCb: _Refresh | None = None
    pfnStateSoTargetsCb: _Refresh | None = None
    pfnStateRsViewportsCb: _Refresh | None = None
    pfnStateRsScissorCb: _Refresh | None = None
    pfnDisableDeferredStagingResourceDestructionCb: _Refresh | None = None
    pfnStateTextFilterSizeCb: _Refresh | None = None


@dataclass(slots=True)
class D3D11DDI_CORELAYER_DEVICECALLBACKS(D3D10DDI_CORELAYER_DEVICECALLBACKS):
    """Direct3D 11 appends entries 26 to 39."""

    pfnStateHsSrvCb: _RefreshRange | None = None
    pfnStateHsShaderCb: _Refresh | None = None
    pfnStateHsSamplerCb: _RefreshRange | None = None
    pfnStateHsConstBufCb: _RefreshRange | None = None
    pfnStateDsSrvCb: _RefreshRange | None = None
    pfnStateDsShaderCb: _Refresh | None = None
    pfnStateDsSamplerCb: _RefreshRange | None = None
    pfnStateDsConstBufCb: _RefreshRange | None = None
    pfnPerformAmortizedProcessingCb: _Refresh | None = None
    pfnStateCsSrvCb: _RefreshRange | None = None
    pfnStateCsUavCb: _RefreshRange | None = None
    pfnStateCsShaderCb: _Refresh | None = None
    pfnStateCsSamplerCb: _RefreshRange | None = None
    pfnStateCsConstBufCb: _RefreshRange | None = None


# --- device functions -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class D3D10DDI_DEVICEFUNCS:
    """Direct3D 10.0 device functions, 101 slots. DEVIATES: slots that Direct3D 11 gave other arguments have the Direct3D 11 form
    (SetRenderTargets, the create and calculate-size functions) in every table."""

    pfnDefaultConstantBufferUpdateSubresourceUP: (
        Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int, D3D10_DDI_BOX | None, Bytes, int, int], Void] | None
    ) = None
    pfnVsSetConstantBuffers: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HRESOURCE]], Void] | None = None
    pfnPsSetShaderResources: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HSHADERRESOURCEVIEW]], Void] | None = None
    pfnPsSetShader: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HSHADER], Void] | None = None
    pfnPsSetSamplers: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HSAMPLER]], Void] | None = None
    pfnVsSetShader: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HSHADER], Void] | None = None
    pfnDrawIndexed: Callable[[D3D10DDI_HDEVICE, int, int, int], Void] | None = None
    pfnDraw: Callable[[D3D10DDI_HDEVICE, int, int], Void] | None = None
    pfnDynamicIABufferMapNoOverwrite: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HRESOURCE,
                int,
                D3D10_DDI_MAP,
                D3D10_DDI_MAP_FLAG,
                D3D10DDI_MAPPED_SUBRESOURCE,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDynamicIABufferUnmap: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int], Void] | None = None
    pfnDynamicConstantBufferMapDiscard: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HRESOURCE,
                int,
                D3D10_DDI_MAP,
                D3D10_DDI_MAP_FLAG,
                D3D10DDI_MAPPED_SUBRESOURCE,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDynamicIABufferMapDiscard: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HRESOURCE,
                int,
                D3D10_DDI_MAP,
                D3D10_DDI_MAP_FLAG,
                D3D10DDI_MAPPED_SUBRESOURCE,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDynamicConstantBufferUnmap: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int], Void] | None = None
    pfnPsSetConstantBuffers: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HRESOURCE]], Void] | None = None
    pfnIaSetInputLayout: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HELEMENTLAYOUT], Void] | None = None
    pfnIaSetVertexBuffers: (
        Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HRESOURCE], Sequence[int], Sequence[int]], Void] | None
    ) = None
    pfnIaSetIndexBuffer: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, DXGI_FORMAT, int], Void] | None = None
    pfnDrawIndexedInstanced: Callable[[D3D10DDI_HDEVICE, int, int, int, int, int], Void] | None = None
    pfnDrawInstanced: Callable[[D3D10DDI_HDEVICE, int, int, int, int], Void] | None = None
    pfnDynamicResourceMapDiscard: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HRESOURCE,
                int,
                D3D10_DDI_MAP,
                D3D10_DDI_MAP_FLAG,
                D3D10DDI_MAPPED_SUBRESOURCE,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDynamicResourceUnmap: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int], Void] | None = None
    pfnGsSetConstantBuffers: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HRESOURCE]], Void] | None = None
    pfnGsSetShader: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HSHADER], Void] | None = None
    pfnIaSetTopology: Callable[[D3D10DDI_HDEVICE, D3D10_DDI_PRIMITIVE_TOPOLOGY], Void] | None = None
    pfnStagingResourceMap: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HRESOURCE,
                int,
                D3D10_DDI_MAP,
                D3D10_DDI_MAP_FLAG,
                D3D10DDI_MAPPED_SUBRESOURCE,
            ],
            Void,
        ]
        | None
    ) = None
    pfnStagingResourceUnmap: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int], Void] | None = None
    pfnVsSetShaderResources: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HSHADERRESOURCEVIEW]], Void] | None = None
    pfnVsSetSamplers: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HSAMPLER]], Void] | None = None
    pfnGsSetShaderResources: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HSHADERRESOURCEVIEW]], Void] | None = None
    pfnGsSetSamplers: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HSAMPLER]], Void] | None = None
    pfnSetRenderTargets: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                Sequence[D3D10DDI_HRENDERTARGETVIEW],
                int,
                int,
                D3D10DDI_HDEPTHSTENCILVIEW,
                Sequence[D3D11DDI_HUNORDEREDACCESSVIEW],
                Sequence[int],
                int,
                int,
                int,
                int,
            ],
            Void,
        ]
        | None
    ) = None
    pfnShaderResourceViewReadAfterWriteHazard: (
        Callable[[D3D10DDI_HDEVICE, D3D10DDI_HSHADERRESOURCEVIEW, D3D10DDI_HRESOURCE], Void] | None
    ) = None
    pfnResourceReadAfterWriteHazard: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE], Void] | None = None
    pfnSetBlendState: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HBLENDSTATE, Float4, int], Void] | None = None
    pfnSetDepthStencilState: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HDEPTHSTENCILSTATE, int], Void] | None = None
    pfnSetRasterizerState: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRASTERIZERSTATE], Void] | None = None
    pfnQueryEnd: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HQUERY], Void] | None = None
    pfnQueryBegin: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HQUERY], Void] | None = None
    pfnResourceCopyRegion: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HRESOURCE,
                int,
                int,
                int,
                int,
                D3D10DDI_HRESOURCE,
                int,
                D3D10_DDI_BOX | None,
            ],
            Void,
        ]
        | None
    ) = None
    pfnResourceUpdateSubresourceUP: (
        Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int, D3D10_DDI_BOX | None, Bytes, int, int], Void] | None
    ) = None
    pfnSoSetTargets: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HRESOURCE], Sequence[int]], Void] | None = None
    pfnDrawAuto: Callable[[D3D10DDI_HDEVICE], Void] | None = None
    pfnSetViewports: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10_DDI_VIEWPORT]], Void] | None = None
    pfnSetScissorRects: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10_DDI_RECT]], Void] | None = None
    pfnClearRenderTargetView: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRENDERTARGETVIEW, Float4], Void] | None = None
    pfnClearDepthStencilView: (
        Callable[[D3D10DDI_HDEVICE, D3D10DDI_HDEPTHSTENCILVIEW, D3D10_DDI_CLEAR_FLAG, float, int], Void] | None
    ) = None
    pfnSetPredication: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HQUERY, bool], Void] | None = None
    pfnQueryGetData: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HQUERY,
                bytearray | memoryview | None,
                int,
                D3D10_DDI_GET_DATA_FLAG,
            ],
            Void,
        ]
        | None
    ) = None
    pfnFlush: Callable[[D3D10DDI_HDEVICE], Void] | None = None
    pfnGenMips: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HSHADERRESOURCEVIEW], Void] | None = None
    pfnResourceCopy: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, D3D10DDI_HRESOURCE], Void] | None = None
    pfnResourceResolveSubresource: (
        Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int, D3D10DDI_HRESOURCE, int, DXGI_FORMAT], Void] | None
    ) = None
    pfnResourceMap: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HRESOURCE,
                int,
                D3D10_DDI_MAP,
                D3D10_DDI_MAP_FLAG,
                D3D10DDI_MAPPED_SUBRESOURCE,
            ],
            Void,
        ]
        | None
    ) = None
    pfnResourceUnmap: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int], Void] | None = None
    pfnResourceIsStagingBusy: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE], bool] | None = None
    pfnRelocateDeviceFuncs: Callable[[D3D10DDI_HDEVICE, "D3D10DDI_DEVICEFUNCS"], Void] | None = None
    pfnCalcPrivateResourceSize: Callable[[D3D10DDI_HDEVICE, D3D11DDIARG_CREATERESOURCE], int] | None = None
    pfnCalcPrivateOpenedResourceSize: Callable[[D3D10DDI_HDEVICE, D3D10DDIARG_OPENRESOURCE], int] | None = None
    pfnCreateResource: (
        Callable[[D3D10DDI_HDEVICE, D3D11DDIARG_CREATERESOURCE, D3D10DDI_HRESOURCE, D3D10DDI_HRTRESOURCE], Void] | None
    ) = None
    pfnOpenResource: (
        Callable[[D3D10DDI_HDEVICE, D3D10DDIARG_OPENRESOURCE, D3D10DDI_HRESOURCE, D3D10DDI_HRTRESOURCE], Void] | None
    ) = None
    pfnDestroyResource: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE], Void] | None = None
    pfnCalcPrivateShaderResourceViewSize: Callable[[D3D10DDI_HDEVICE, D3D11DDIARG_CREATESHADERRESOURCEVIEW], int] | None = None
    pfnCreateShaderResourceView: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D11DDIARG_CREATESHADERRESOURCEVIEW,
                D3D10DDI_HSHADERRESOURCEVIEW,
                D3D10DDI_HRTSHADERRESOURCEVIEW,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDestroyShaderResourceView: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HSHADERRESOURCEVIEW], Void] | None = None
    pfnCalcPrivateRenderTargetViewSize: Callable[[D3D10DDI_HDEVICE, D3D10DDIARG_CREATERENDERTARGETVIEW], int] | None = None
    pfnCreateRenderTargetView: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDIARG_CREATERENDERTARGETVIEW,
                D3D10DDI_HRENDERTARGETVIEW,
                D3D10DDI_HRTRENDERTARGETVIEW,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDestroyRenderTargetView: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRENDERTARGETVIEW], Void] | None = None
    pfnCalcPrivateDepthStencilViewSize: Callable[[D3D10DDI_HDEVICE, D3D11DDIARG_CREATEDEPTHSTENCILVIEW], int] | None = None
    pfnCreateDepthStencilView: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D11DDIARG_CREATEDEPTHSTENCILVIEW,
                D3D10DDI_HDEPTHSTENCILVIEW,
                D3D10DDI_HRTDEPTHSTENCILVIEW,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDestroyDepthStencilView: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HDEPTHSTENCILVIEW], Void] | None = None
    pfnCalcPrivateElementLayoutSize: Callable[[D3D10DDI_HDEVICE, D3D10DDIARG_CREATEELEMENTLAYOUT], int] | None = None
    pfnCreateElementLayout: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDIARG_CREATEELEMENTLAYOUT,
                D3D10DDI_HELEMENTLAYOUT,
                D3D10DDI_HRTELEMENTLAYOUT,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDestroyElementLayout: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HELEMENTLAYOUT], Void] | None = None
    pfnCalcPrivateBlendStateSize: Callable[[D3D10DDI_HDEVICE, D3D10_1_DDI_BLEND_DESC], int] | None = None
    pfnCreateBlendState: (
        Callable[[D3D10DDI_HDEVICE, D3D10_1_DDI_BLEND_DESC, D3D10DDI_HBLENDSTATE, D3D10DDI_HRTBLENDSTATE], Void] | None
    ) = None
    pfnDestroyBlendState: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HBLENDSTATE], Void] | None = None
    pfnCalcPrivateDepthStencilStateSize: Callable[[D3D10DDI_HDEVICE, D3D10_DDI_DEPTH_STENCIL_DESC], int] | None = None
    pfnCreateDepthStencilState: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10_DDI_DEPTH_STENCIL_DESC,
                D3D10DDI_HDEPTHSTENCILSTATE,
                D3D10DDI_HRTDEPTHSTENCILSTATE,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDestroyDepthStencilState: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HDEPTHSTENCILSTATE], Void] | None = None
    pfnCalcPrivateRasterizerStateSize: Callable[[D3D10DDI_HDEVICE, D3D10_DDI_RASTERIZER_DESC], int] | None = None
    pfnCreateRasterizerState: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10_DDI_RASTERIZER_DESC,
                D3D10DDI_HRASTERIZERSTATE,
                D3D10DDI_HRTRASTERIZERSTATE,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDestroyRasterizerState: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRASTERIZERSTATE], Void] | None = None
    pfnCalcPrivateShaderSize: Callable[[D3D10DDI_HDEVICE, ShaderCode, D3D10DDIARG_STAGE_IO_SIGNATURES], int] | None = None
    pfnCreateVertexShader: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                ShaderCode,
                D3D10DDI_HSHADER,
                D3D10DDI_HRTSHADER,
                D3D10DDIARG_STAGE_IO_SIGNATURES,
            ],
            Void,
        ]
        | None
    ) = None
    pfnCreateGeometryShader: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                ShaderCode,
                D3D10DDI_HSHADER,
                D3D10DDI_HRTSHADER,
                D3D10DDIARG_STAGE_IO_SIGNATURES,
            ],
            Void,
        ]
        | None
    ) = None
    pfnCreatePixelShader: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                ShaderCode,
                D3D10DDI_HSHADER,
                D3D10DDI_HRTSHADER,
                D3D10DDIARG_STAGE_IO_SIGNATURES,
            ],
            Void,
        ]
        | None
    ) = None
    pfnCalcPrivateGeometryShaderWithStreamOutput: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D11DDIARG_CREATEGEOMETRYSHADERWITHSTREAMOUTPUT,
                D3D10DDIARG_STAGE_IO_SIGNATURES,
            ],
            int,
        ]
        | None
    ) = None
    pfnCreateGeometryShaderWithStreamOutput: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D11DDIARG_CREATEGEOMETRYSHADERWITHSTREAMOUTPUT,
                D3D10DDI_HSHADER,
                D3D10DDI_HRTSHADER,
                D3D10DDIARG_STAGE_IO_SIGNATURES,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDestroyShader: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HSHADER], Void] | None = None
    pfnCalcPrivateSamplerSize: Callable[[D3D10DDI_HDEVICE, D3D10_DDI_SAMPLER_DESC], int] | None = None
    pfnCreateSampler: Callable[[D3D10DDI_HDEVICE, D3D10_DDI_SAMPLER_DESC, D3D10DDI_HSAMPLER, D3D10DDI_HRTSAMPLER], Void] | None = (
        None
    )
    pfnDestroySampler: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HSAMPLER], Void] | None = None
    pfnCalcPrivateQuerySize: Callable[[D3D10DDI_HDEVICE, D3D10DDIARG_CREATEQUERY], int] | None = None
    pfnCreateQuery: Callable[[D3D10DDI_HDEVICE, D3D10DDIARG_CREATEQUERY, D3D10DDI_HQUERY, D3D10DDI_HRTQUERY], Void] | None = None
    pfnDestroyQuery: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HQUERY], Void] | None = None
    pfnCheckFormatSupport: Callable[[D3D10DDI_HDEVICE, DXGI_FORMAT], int] | None = None
    pfnCheckMultisampleQualityLevels: Callable[[D3D10DDI_HDEVICE, DXGI_FORMAT, int], int] | None = None
    pfnCheckCounterInfo: Callable[[D3D10DDI_HDEVICE, D3D10DDI_COUNTER_INFO], Void] | None = None
    pfnCheckCounter: Callable[..., Void] | None = None
    pfnDestroyDevice: Callable[[D3D10DDI_HDEVICE], Void] | None = None
    pfnSetTextFilterSize: Callable[[D3D10DDI_HDEVICE, int, int], Void] | None = None


@dataclass(slots=True)
class D3D10_1DDI_DEVICEFUNCS(D3D10DDI_DEVICEFUNCS):
    """Direct3D 10.1 device functions, 103 slots."""

    pfnResourceConvert: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, D3D10DDI_HRESOURCE], Void] | None = None
    pfnResourceConvertRegion: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HRESOURCE,
                int,
                int,
                int,
                int,
                D3D10DDI_HRESOURCE,
                int,
                D3D10_DDI_BOX | None,
            ],
            Void,
        ]
        | None
    ) = None


@dataclass(slots=True)
class D3D11DDI_DEVICEFUNCS(D3D10_1DDI_DEVICEFUNCS):
    """Direct3D 11.0 device functions, 150 slots. ``ERROR_CATEGORIES`` has a letter for each, see ``ErrorCategory``."""

    pfnDrawIndexedInstancedIndirect: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int], Void] | None = None
    pfnDrawInstancedIndirect: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int], Void] | None = None
    pfnCommandListExecute: Callable[[D3D10DDI_HDEVICE, D3D11DDI_HCOMMANDLIST], Void] | None = None
    pfnHsSetShaderResources: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HSHADERRESOURCEVIEW]], Void] | None = None
    pfnHsSetShader: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HSHADER], Void] | None = None
    pfnHsSetSamplers: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HSAMPLER]], Void] | None = None
    pfnHsSetConstantBuffers: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HRESOURCE]], Void] | None = None
    pfnDsSetShaderResources: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HSHADERRESOURCEVIEW]], Void] | None = None
    pfnDsSetShader: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HSHADER], Void] | None = None
    pfnDsSetSamplers: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HSAMPLER]], Void] | None = None
    pfnDsSetConstantBuffers: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HRESOURCE]], Void] | None = None
    pfnCreateHullShader: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                ShaderCode,
                D3D10DDI_HSHADER,
                D3D10DDI_HRTSHADER,
                D3D11DDIARG_TESSELLATION_IO_SIGNATURES,
            ],
            Void,
        ]
        | None
    ) = None
    pfnCreateDomainShader: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                ShaderCode,
                D3D10DDI_HSHADER,
                D3D10DDI_HRTSHADER,
                D3D11DDIARG_TESSELLATION_IO_SIGNATURES,
            ],
            Void,
        ]
        | None
    ) = None
    pfnCheckDeferredContextHandleSizes: Callable[[D3D10DDI_HDEVICE], list[D3D11DDI_HANDLESIZE]] | None = None
    pfnCalcDeferredContextHandleSize: Callable[[D3D10DDI_HDEVICE, D3D11DDI_HANDLETYPE, int], int] | None = None
    pfnCalcPrivateDeferredContextSize: Callable[[D3D10DDI_HDEVICE, D3D11DDIARG_CALCPRIVATEDEFERREDCONTEXTSIZE], int] | None = None
    pfnCreateDeferredContext: Callable[[D3D10DDI_HDEVICE, D3D11DDIARG_CREATEDEFERREDCONTEXT], Void] | None = None
    pfnAbandonCommandList: Callable[[D3D10DDI_HDEVICE], Void] | None = None
    pfnCalcPrivateCommandListSize: Callable[[D3D10DDI_HDEVICE, D3D11DDIARG_CREATECOMMANDLIST], int] | None = None
    pfnCreateCommandList: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D11DDIARG_CREATECOMMANDLIST,
                D3D11DDI_HCOMMANDLIST,
                D3D11DDI_HRTCOMMANDLIST,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDestroyCommandList: Callable[[D3D10DDI_HDEVICE, D3D11DDI_HCOMMANDLIST], Void] | None = None
    pfnCalcPrivateTessellationShaderSize: (
        Callable[[D3D10DDI_HDEVICE, ShaderCode, D3D11DDIARG_TESSELLATION_IO_SIGNATURES], int] | None
    ) = None
    pfnPsSetShaderWithIfaces: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HSHADER,
                int,
                Sequence[int],
                Sequence[D3D11DDIARG_POINTERDATA],
            ],
            Void,
        ]
        | None
    ) = None
    pfnVsSetShaderWithIfaces: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HSHADER,
                int,
                Sequence[int],
                Sequence[D3D11DDIARG_POINTERDATA],
            ],
            Void,
        ]
        | None
    ) = None
    pfnGsSetShaderWithIfaces: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HSHADER,
                int,
                Sequence[int],
                Sequence[D3D11DDIARG_POINTERDATA],
            ],
            Void,
        ]
        | None
    ) = None
    pfnHsSetShaderWithIfaces: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HSHADER,
                int,
                Sequence[int],
                Sequence[D3D11DDIARG_POINTERDATA],
            ],
            Void,
        ]
        | None
    ) = None
    pfnDsSetShaderWithIfaces: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HSHADER,
                int,
                Sequence[int],
                Sequence[D3D11DDIARG_POINTERDATA],
            ],
            Void,
        ]
        | None
    ) = None
    pfnCsSetShaderWithIfaces: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D10DDI_HSHADER,
                int,
                Sequence[int],
                Sequence[D3D11DDIARG_POINTERDATA],
            ],
            Void,
        ]
        | None
    ) = None
    pfnCreateComputeShader: Callable[[D3D10DDI_HDEVICE, ShaderCode, D3D10DDI_HSHADER, D3D10DDI_HRTSHADER], Void] | None = None
    pfnCsSetShader: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HSHADER], Void] | None = None
    pfnCsSetShaderResources: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HSHADERRESOURCEVIEW]], Void] | None = None
    pfnCsSetSamplers: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HSAMPLER]], Void] | None = None
    pfnCsSetConstantBuffers: Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D10DDI_HRESOURCE]], Void] | None = None
    pfnCalcPrivateUnorderedAccessViewSize: Callable[[D3D10DDI_HDEVICE, D3D11DDIARG_CREATEUNORDEREDACCESSVIEW], int] | None = None
    pfnCreateUnorderedAccessView: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D11DDIARG_CREATEUNORDEREDACCESSVIEW,
                D3D11DDI_HUNORDEREDACCESSVIEW,
                D3D11DDI_HRTUNORDEREDACCESSVIEW,
            ],
            Void,
        ]
        | None
    ) = None
    pfnDestroyUnorderedAccessView: Callable[[D3D10DDI_HDEVICE, D3D11DDI_HUNORDEREDACCESSVIEW], Void] | None = None
    pfnClearUnorderedAccessViewUint: Callable[[D3D10DDI_HDEVICE, D3D11DDI_HUNORDEREDACCESSVIEW, Sequence[int]], Void] | None = None
    pfnClearUnorderedAccessViewFloat: Callable[[D3D10DDI_HDEVICE, D3D11DDI_HUNORDEREDACCESSVIEW, Float4], Void] | None = None
    pfnCsSetUnorderedAccessViews: (
        Callable[[D3D10DDI_HDEVICE, int, int, Sequence[D3D11DDI_HUNORDEREDACCESSVIEW], Sequence[int]], Void] | None
    ) = None
    pfnDispatch: Callable[[D3D10DDI_HDEVICE, int, int, int], Void] | None = None
    pfnDispatchIndirect: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int], Void] | None = None
    pfnSetResourceMinLOD: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, float], Void] | None = None
    pfnCopyStructureCount: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int, D3D11DDI_HUNORDEREDACCESSVIEW], Void] | None = None
    pfnRecycleCommandList: Callable[[D3D10DDI_HDEVICE, D3D11DDI_HCOMMANDLIST], Void] | None = None
    pfnRecycleCreateCommandList: (
        Callable[
            [
                D3D10DDI_HDEVICE,
                D3D11DDIARG_CREATECOMMANDLIST,
                D3D11DDI_HCOMMANDLIST,
                D3D11DDI_HRTCOMMANDLIST,
            ],
            int,
        ]
        | None
    ) = None
    pfnRecycleCreateDeferredContext: Callable[[D3D10DDI_HDEVICE, D3D11DDIARG_CREATEDEFERREDCONTEXT], Result] | None = None
    pfnRecycleDestroyCommandList: Callable[[D3D10DDI_HDEVICE, D3D11DDI_HCOMMANDLIST], Void] | None = None
    ERROR_CATEGORIES: ClassVar[str] = (
        "RRRRRRRRWRWWRRRRRRRWRRRRWRRRRRRRRRRRRRRRRRRRRRRWR?"
        "R?WRN?NNMMRNMRNMRNMRNMRNMRNMRNMRNMMMNMRNMRNCRNNN?R"
        "RRRRRMRRRRRRRRMMNNNM?NMRNMMMMMMMRRRRNMRRRRRRRRR??R"
    )


@dataclass(slots=True)
class D3D11_1DDI_DEVICEFUNCS(D3D11DDI_DEVICEFUNCS):
    """Direct3D 11.1 device functions, 155 slots; some earlier slots take further arguments (constant-buffer ranges, copy flags)."""

    pfnDiscard: Callable[[D3D10DDI_HDEVICE, D3D11DDI_HANDLETYPE, int, Sequence[D3D10_DDI_RECT], int], Void] | None = None
    pfnAssignDebugBinary: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HSHADER, int, bytes], Void] | None = None
    pfnDynamicConstantBufferMapNoOverwrite: (
        Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, int, D3D10_DDI_MAP, D3D10_DDI_MAP_FLAG, D3D10DDI_MAPPED_SUBRESOURCE], Void]
        | None
    ) = None
    pfnCheckDirectFlipSupport: Callable[[D3D10DDI_HDEVICE, D3D10DDI_HRESOURCE, D3D10DDI_HRESOURCE, int], bool] | None = None
    pfnClearView: Callable[[D3D10DDI_HDEVICE, D3D11DDI_HANDLETYPE, int, Float4, Sequence[D3D10_DDI_RECT], int], Void] | None = None


@dataclass(slots=True)
class D3DWDDM1_3DDI_DEVICEFUNCS(D3D11_1DDI_DEVICEFUNCS):
    """WDDM 1.3 device functions, 164 slots."""

    pfnUpdateTileMappings: Callable[..., Any] | None = None
    pfnCopyTileMappings: Callable[..., Any] | None = None
    pfnCopyTiles: Callable[..., Any] | None = None
    pfnUpdateTiles: Callable[..., Any] | None = None
    pfnTiledResourceBarrier: Callable[..., Any] | None = None
    pfnGetMipPacking: Callable[..., Any] | None = None
    pfnResizeTilePool: Callable[..., Any] | None = None
    pfnSetMarker: Callable[..., Any] | None = None
    pfnSetMarkerMode: Callable[..., Any] | None = None


@dataclass(slots=True)
class D3DWDDM2_0DDI_DEVICEFUNCS(D3DWDDM1_3DDI_DEVICEFUNCS):
    """WDDM 2.0 device functions, 168 slots."""

    pfnSetHardwareProtection: Callable[..., Any] | None = None
    pfnGetResourceLayout: Callable[..., Any] | None = None
    pfnRetrieveShaderComment: Callable[..., Any] | None = None
    pfnSetHardwareProtectionState: Callable[..., Any] | None = None


@dataclass(slots=True)
class D3DWDDM2_1DDI_DEVICEFUNCS(D3DWDDM2_0DDI_DEVICEFUNCS):
    """WDDM 2.1 device functions, 170 slots."""

    pfnAcquireResource: Callable[..., Any] | None = None
    pfnReleaseResource: Callable[..., Any] | None = None


@dataclass(slots=True)
class D3DWDDM2_2DDI_DEVICEFUNCS(D3DWDDM2_1DDI_DEVICEFUNCS):
    """WDDM 2.2 device functions, 174 slots."""

    pfnCalcPrivateShaderCacheSessionSize: Callable[..., Any] | None = None
    pfnCreateShaderCacheSession: Callable[..., Any] | None = None
    pfnDestroyShaderCacheSession: Callable[..., Any] | None = None
    pfnSetShaderCacheSession: Callable[..., Any] | None = None


@dataclass(slots=True)
class D3DWDDM2_6DDI_DEVICEFUNCS(D3DWDDM2_2DDI_DEVICEFUNCS):
    """WDDM 2.6 device functions, 176 slots."""

    pfnQueryScanoutCaps: Callable[..., Any] | None = None
    pfnPrepareScanoutTransformation: Callable[..., Any] | None = None


def table_size(table_class: type[Any]) -> int:
    """Slots of a function table class."""
    return len(fields(table_class))


_DEVICE_TABLES: Final = (
    (DDI_VERSION.WDDM2_6, D3DWDDM2_6DDI_DEVICEFUNCS),
    (DDI_VERSION.WDDM2_2, D3DWDDM2_2DDI_DEVICEFUNCS),
    (DDI_VERSION.WDDM2_1, D3DWDDM2_1DDI_DEVICEFUNCS),
    (0x000B_0011, D3DWDDM2_0DDI_DEVICEFUNCS),
    (DDI_VERSION.WDDM1_3, D3DWDDM1_3DDI_DEVICEFUNCS),
    (DDI_VERSION.D3D11_1_RC, D3D11_1DDI_DEVICEFUNCS),
    (0x000B_0000, D3D11DDI_DEVICEFUNCS),
)
_D3D10_1_INTERFACES: Final = frozenset(
    {DDI_VERSION.D3D10_1, DDI_VERSION.D3D10_1_x_VISTA, DDI_VERSION.D3D10_1_x, DDI_VERSION.D3D10_1_7}
)


def device_funcs_class(Interface: int) -> type[D3D10DDI_DEVICEFUNCS]:
    """The device table of a negotiated Interface; early WDDM 2.0 builds used 11.17."""
    for least, table in _DEVICE_TABLES:
        if Interface >= least:
            return table
    return D3D10_1DDI_DEVICEFUNCS if Interface in _D3D10_1_INTERFACES else D3D10DDI_DEVICEFUNCS


def core_layer_callbacks_class(Interface: int) -> type[D3D10DDI_CORELAYER_DEVICECALLBACKS]:
    """The core-layer table of a negotiated Interface."""
    return D3D11DDI_CORELAYER_DEVICECALLBACKS if Interface >> 16 >= 11 else D3D10DDI_CORELAYER_DEVICECALLBACKS


_SLOT_NUMBERS: Final[Mapping[str, int]] = MappingProxyType({f.name: n for n, f in enumerate(fields(D3D11DDI_DEVICEFUNCS))})


def slot_number(slot: str) -> int:
    """Place of a D3D11DDI_DEVICEFUNCS entry. Raises KeyError for a name that is none."""
    return _SLOT_NUMBERS[slot]


DEFERRED_CONTEXT_NULL_SLOTS: Final[frozenset[str]] = frozenset(
    {
        "pfnStagingResourceMap",
        "pfnStagingResourceUnmap",
        "pfnQueryGetData",
        "pfnFlush",
        "pfnResourceMap",
        "pfnResourceUnmap",
        "pfnResourceIsStagingBusy",
        "pfnOpenResource",
        "pfnCheckFormatSupport",
        "pfnCheckMultisampleQualityLevels",
        "pfnCheckCounterInfo",
        "pfnCheckCounter",
        "pfnCheckDeferredContextHandleSizes",
        "pfnCalcDeferredContextHandleSize",
        "pfnCreateDeferredContext",
        "pfnSetResourceMinLOD",
        *(f.name for f in fields(D3D11DDI_DEVICEFUNCS) if f.name.startswith("pfnCalcPrivate")),
    }
)
"""Entries that must be None in the table of a deferred context."""


# --- errors ---------------------------------------------------------------------------------------------------------


class ErrorCategory(IntEnum):
    """What a device function may report through pfnSetErrorCb ("Handling Errors"), by the letter of ERROR_CATEGORIES."""

    NoErrors = ord("N")
    AllowDeviceRemoved = ord("R")
    AllowOutOfMemory = ord("M")
    AllowCounterCreationErrors = ord("C")
    AllowMapErrors = ord("W")
    Special = ord("?")


_REMOVED: Final = frozenset({HRESULT.D3DDDIERR_DEVICEREMOVED})
_ALLOWED: Final[Mapping[ErrorCategory, frozenset[HRESULT]]] = MappingProxyType({
    ErrorCategory.NoErrors: frozenset(),
    ErrorCategory.AllowDeviceRemoved: _REMOVED,
    ErrorCategory.AllowOutOfMemory: _REMOVED | {HRESULT.E_OUTOFMEMORY},
    ErrorCategory.AllowCounterCreationErrors: _REMOVED | {HRESULT.E_OUTOFMEMORY, HRESULT.DXGI_DDI_ERR_NONEXCLUSIVE},
    ErrorCategory.AllowMapErrors: _REMOVED | {HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING},
})  # fmt: skip

# Entries whose rule is their own: the page of each, and for the recycle functions that they return their HRESULT.
_ALLOWED_BY_SLOT: Final[Mapping[str, frozenset[HRESULT]]] = MappingProxyType({
    "pfnGenMips": _REMOVED | {HRESULT.E_FAIL, HRESULT.E_INVALIDARG},
    "pfnResourceResolveSubresource": _REMOVED,
    "pfnRelocateDeviceFuncs": frozenset(),
    "pfnAbandonCommandList": frozenset(),
    "pfnCheckCounter": frozenset({HRESULT.DXGI_DDI_ERR_UNSUPPORTED, HRESULT.E_INVALIDARG}),
    "pfnRecycleCreateCommandList": frozenset(),
    "pfnRecycleCreateDeferredContext": frozenset(),
})  # fmt: skip


def error_category(slot: str) -> ErrorCategory:
    """Category of a D3D11DDI_DEVICEFUNCS entry. Raises KeyError for a name that is none."""
    return ErrorCategory(ord(D3D11DDI_DEVICEFUNCS.ERROR_CATEGORIES[slot_number(slot)]))


def allowed_errors(slot: str, *, do_not_wait: bool = False, creates_primary: bool = False) -> frozenset[HRESULT]:
    """Codes that an entry may report through pfnSetErrorCb; any other, S_OK included, loses the device.

    A map may say WASSTILLDRAWING only when it was asked not to wait, QueryGetData always. CreateResource may say UNSUPPORTED
    for a primary.
    """
    category = error_category(slot)
    if category is ErrorCategory.Special:
        return _ALLOWED_BY_SLOT[slot]
    allowed = _ALLOWED[category]
    if category is ErrorCategory.AllowMapErrors and slot != "pfnQueryGetData" and not do_not_wait:
        return allowed - {HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING}
    if slot == "pfnCreateResource" and creates_primary:
        return allowed | {HRESULT.DXGI_DDI_ERR_UNSUPPORTED}
    return allowed
