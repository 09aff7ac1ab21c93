"""dispmprt.h: the display port: what a miniport registers, and what the graphics kernel offers it.

DRIVER_INITIALIZATION_DATA holds every DxgkDdi* entry in header order, DXGKRNL_INTERFACE the DxgkCb* services; with the structures
of start, children and resources. Models the ``dispmprt`` reference. Declarations only.

Entries return an NTSTATUS number unless told otherwise. Their first argument is hAdapter (what AddDevice returned as the device
context), hDevice or hContext as in the header. DEVIATES: AddDevice returns (status, context) and StartDevice (status, number of
sources, number of children); a service with out parameters returns (status, value…).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import IntEnum, IntFlag
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .d3dkmddi import (
    DXGK_INTERRUPT_TYPE,
    DXGK_VIDPN_INTERFACE,
    DXGKARG_ACQUIRESWIZZLINGRANGE,
    DXGKARG_BUILDPAGINGBUFFER,
    DXGKARG_CANCELCOMMAND,
    DXGKARG_CLOSEALLOCATION,
    DXGKARG_COLLECTDBGINFO,
    DXGKARG_COMMITVIDPN,
    DXGKARG_CREATEALLOCATION,
    DXGKARG_CREATECONTEXT,
    DXGKARG_CREATEDEVICE,
    DXGKARG_CREATEPROCESS,
    DXGKARG_DESCRIBEALLOCATION,
    DXGKARG_DESTROYALLOCATION,
    DXGKARG_ENUMVIDPNCOFUNCMODALITY,
    DXGKARG_ESCAPE,
    DXGKARG_GETNODEMETADATA,
    DXGKARG_GETROOTPAGETABLESIZE,
    DXGKARG_GETSCANLINE,
    DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA,
    DXGKARG_ISSUPPORTEDVIDPN,
    DXGKARG_OPENALLOCATION,
    DXGKARG_PATCH,
    DXGKARG_PREEMPTCOMMAND,
    DXGKARG_PRESENT,
    DXGKARG_QUERYADAPTERINFO,
    DXGKARG_QUERYCURRENTFENCE,
    DXGKARG_QUERYDEPENDENTENGINEGROUP,
    DXGKARG_QUERYENGINESTATUS,
    DXGKARG_RECOMMENDFUNCTIONALVIDPN,
    DXGKARG_RECOMMENDMONITORMODES,
    DXGKARG_RECOMMENDVIDPNTOPOLOGY,
    DXGKARG_RELEASESWIZZLINGRANGE,
    DXGKARG_RENDER,
    DXGKARG_RESETENGINE,
    DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES,
    DXGKARG_SETPALETTE,
    DXGKARG_SETPOINTERPOSITION,
    DXGKARG_SETPOINTERSHAPE,
    DXGKARG_SETROOTPAGETABLE,
    DXGKARG_SETUPPRIORITYBANDS,
    DXGKARG_SETVIDPNSOURCEADDRESS,
    DXGKARG_SETVIDPNSOURCEVISIBILITY,
    DXGKARG_SUBMITCOMMAND,
    DXGKARG_SUBMITCOMMANDTOHWQUEUE,
    DXGKARG_SUBMITCOMMANDVIRTUAL,
    DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH,
    DXGKARGCB_NOTIFY_INTERRUPT_DATA,
)
from .d3dkmdt import D3DKMDT_VIDEO_OUTPUT_TECHNOLOGY
from .d3dukmdt import D3DDDI_VIDEO_PRESENT_TARGET_ID, D3DKMT_HANDLE, DXGKDDI_INTERFACE_VERSION, HANDLE, PHYSICAL_ADDRESS

# --- start and resources --------------------------------------------------------------------------------------------


class CM_RESOURCE_TYPE(IntEnum):
    """Kinds of hardware resource."""

    PORT = 1
    INTERRUPT = 2
    MEMORY = 3


@dataclass(slots=True)
class CM_PARTIAL_RESOURCE_DESCRIPTOR:
    """One resource of the adapter: a bus range in bytes, or an interrupt (``Start`` is its vector, ``Length`` the messages)."""

    Type: CM_RESOURCE_TYPE
    Start: PHYSICAL_ADDRESS
    Length: int
    Flags: int = 0


@dataclass(slots=True)
class DXGK_DEVICE_INFO:
    """What DxgkCbGetDeviceInformation tells: the adapter's resources and the system's memory, in bytes."""

    MiniportDeviceContext: object | None = None
    PhysicalDeviceObject: object | None = None
    DeviceRegistryPath: str = ""
    TranslatedResourceList: tuple[CM_PARTIAL_RESOURCE_DESCRIPTOR, ...] = ()
    SystemMemorySize: int = 0
    HighestPhysicalAddress: PHYSICAL_ADDRESS = 0
    AgpApertureBase: PHYSICAL_ADDRESS = 0
    AgpApertureSize: int = 0


@dataclass(slots=True)
class DXGK_START_INFO:
    """What StartDevice is told."""

    RequiredDmaQueueEntry: int = 0
    AdapterGuid: bytes = bytes(16)
    AdapterLuid: int = 0


class MEMORY_CACHING_TYPE(IntEnum):
    """How a mapping is cached."""

    MmNonCached = 0
    MmCached = 1
    MmWriteCombined = 2


class MappedMemory(Protocol):
    """What DxgkCbMapMemory maps: registers or memory at byte offsets from the start of the mapping."""

    def read32(self, offset: int) -> int:
        """READ_REGISTER_ULONG."""
        ...

    def write32(self, offset: int, value: int) -> None:
        """WRITE_REGISTER_ULONG; posted."""
        ...


class ContiguousMemory(Protocol):
    """What DxgkCbAllocateContiguousMemory gives: page-locked system memory that the device reaches by bus address."""

    @property
    def array(self) -> npt.NDArray[np.uint8]:
        """The bytes, as the processor sees them."""
        ...

    @property
    def PhysicalAddress(self) -> PHYSICAL_ADDRESS:
        """Bus address of the first byte."""
        ...


# --- children -------------------------------------------------------------------------------------------------------


class DXGK_CHILD_DEVICE_TYPE(IntEnum):
    """Kinds of child device."""

    TypeUninitialized = 0
    TypeVideoOutput = 1
    TypeOther = 2
    TypeIntegratedDisplay = 3


class DXGK_CHILD_DEVICE_HPD_AWARENESS(IntEnum):
    """Can the adapter tell whether the child is connected?"""

    HpdAwarenessUninitialized = 0
    HpdAwarenessAlwaysConnected = 1
    HpdAwarenessNone = 2
    HpdAwarenessPolled = 3
    HpdAwarenessInterruptible = 4


@dataclass(slots=True)
class DXGK_CHILD_DESCRIPTOR:
    """One child (output) of the adapter; ``ChildUid`` is the target id."""

    ChildUid: D3DDDI_VIDEO_PRESENT_TARGET_ID
    ChildDeviceType: DXGK_CHILD_DEVICE_TYPE = DXGK_CHILD_DEVICE_TYPE.TypeVideoOutput
    HpdAwareness: DXGK_CHILD_DEVICE_HPD_AWARENESS = DXGK_CHILD_DEVICE_HPD_AWARENESS.HpdAwarenessAlwaysConnected
    InterfaceTechnology: D3DKMDT_VIDEO_OUTPUT_TECHNOLOGY = D3DKMDT_VIDEO_OUTPUT_TECHNOLOGY.OTHER
    AcpiUid: int = 0


class DXGK_CHILD_STATUS_TYPE(IntEnum):
    """What a child status tells."""

    StatusUninitialized = 0
    StatusConnection = 1
    StatusRotation = 2


@dataclass(slots=True)
class DXGK_CHILD_STATUS:
    """Status of a child: ``Connected`` or ``Angle`` (degrees), by type."""

    ChildUid: D3DDDI_VIDEO_PRESENT_TARGET_ID
    Type: DXGK_CHILD_STATUS_TYPE = DXGK_CHILD_STATUS_TYPE.StatusConnection
    Connected: bool = False
    Angle: int = 0


@dataclass(slots=True)
class DXGK_DEVICE_DESCRIPTOR:
    """Part of a monitor's descriptor (EDID); ``DescriptorBuffer`` is out."""

    DescriptorOffset: int
    DescriptorLength: int
    DescriptorBuffer: bytearray = field(default_factory=bytearray)


class DXGK_ADAPTER_POWER_STATE(IntEnum):
    """Device power states."""

    PowerDeviceUnspecified = 0
    PowerDeviceD0 = 1
    PowerDeviceD1 = 2
    PowerDeviceD2 = 3
    PowerDeviceD3 = 4


# --- services -------------------------------------------------------------------------------------------------------


class DXGK_HANDLE_TYPE(IntEnum):
    """Kernel handles whose miniport data can be asked for."""

    DXGK_HANDLE_INVALID = 0
    DXGK_HANDLE_ALLOCATION = 1
    DXGK_HANDLE_RESOURCE = 2


class DXGKCB_GETHANDLEDATAFLAGS(IntFlag):
    """Flags of DxgkCbGetHandleData."""

    NONE = 0
    DeviceSpecific = 0x1


@dataclass(slots=True)
class DXGKARGCB_GETHANDLEDATA:
    """Which handle's data: the allocation's, or with DeviceSpecific the opened allocation's."""

    hObject: D3DKMT_HANDLE
    Type: DXGK_HANDLE_TYPE = DXGK_HANDLE_TYPE.DXGK_HANDLE_ALLOCATION
    Flags: DXGKCB_GETHANDLEDATAFLAGS = DXGKCB_GETHANDLEDATAFLAGS.NONE


@dataclass(slots=True)
class DXGKARGCB_ENUMHANDLECHILDREN:
    """Children of a resource, by index."""

    hObject: D3DKMT_HANDLE
    Index: int


@dataclass(slots=True)
class DXGKARGCB_CREATECONTEXTALLOCATION:
    """Memory for a context's state; ``hAllocation`` and ``ContextAllocationVirtualAddress`` are out."""

    hAdapter: HANDLE
    hDevice: HANDLE
    hContext: HANDLE
    hDriverAllocation: HANDLE
    Size: int
    Alignment: int = 4096
    SupportedSegmentSet: int = 0
    EvictionSegmentSet: int = 0
    PreferredSegment: int = 0
    Flags: int = 0
    hAllocation: D3DKMT_HANDLE = 0
    ContextAllocationVirtualAddress: int = 0


@dataclass(slots=True)
class DXGKRNL_INTERFACE:
    """Services of the graphics kernel. ``DeviceHandle`` is the first argument of those that need the adapter.

    GetHandleData returns the HANDLE that the miniport gave the object (0: no such object). NotifyInterrupt is called at interrupt
    level, before QueueDpc; NotifyDpc in the DPC. SynchronizeExecution runs (function, context) at interrupt level and returns
    (status, what the function returned).
    """

    DeviceHandle: HANDLE = 0
    Version: int = int(DXGKDDI_INTERFACE_VERSION.WIN8)
    DxgkCbEvalAcpiMethod: Callable[..., int] | None = None
    DxgkCbGetDeviceInformation: Callable[[HANDLE], tuple[int, DXGK_DEVICE_INFO | None]] | None = None
    DxgkCbIndicateChildStatus: Callable[[HANDLE, DXGK_CHILD_STATUS], int] | None = None
    DxgkCbMapMemory: (
        Callable[[HANDLE, PHYSICAL_ADDRESS, int, bool, bool, MEMORY_CACHING_TYPE], tuple[int, MappedMemory | None]] | None
    ) = None
    DxgkCbQueueDpc: Callable[[HANDLE], bool] | None = None
    DxgkCbQueryServices: Callable[..., int] | None = None
    DxgkCbReadDeviceSpace: Callable[[HANDLE, int, int, int], tuple[int, bytes]] | None = None
    DxgkCbSynchronizeExecution: Callable[[HANDLE, Callable[[Any], bool], Any, int], tuple[int, bool]] | None = None
    DxgkCbUnmapMemory: Callable[[HANDLE, MappedMemory], int] | None = None
    DxgkCbWriteDeviceSpace: Callable[[HANDLE, int, bytes, int], int] | None = None
    DxgkCbIsDevicePresent: Callable[..., int] | None = None
    DxgkCbGetHandleData: Callable[[DXGKARGCB_GETHANDLEDATA], HANDLE] | None = None
    DxgkCbGetHandleParent: Callable[[D3DKMT_HANDLE], D3DKMT_HANDLE] | None = None
    DxgkCbEnumHandleChildren: Callable[[DXGKARGCB_ENUMHANDLECHILDREN], D3DKMT_HANDLE] | None = None
    DxgkCbNotifyInterrupt: Callable[[HANDLE, DXGKARGCB_NOTIFY_INTERRUPT_DATA], None] | None = None
    DxgkCbNotifyDpc: Callable[[HANDLE], None] | None = None
    DxgkCbQueryVidPnInterface: Callable[[HANDLE], tuple[int, DXGK_VIDPN_INTERFACE | None]] | None = None
    DxgkCbQueryMonitorInterface: Callable[..., int] | None = None
    DxgkCbGetCaptureAddress: Callable[..., int] | None = None
    DxgkCbLogEtwEvent: Callable[[str, int, bytes], None] | None = None
    DxgkCbExcludeAdapterAccess: Callable[..., int] | None = None
    DxgkCbCreateContextAllocation: Callable[[DXGKARGCB_CREATECONTEXTALLOCATION], int] | None = None
    DxgkCbDestroyContextAllocation: Callable[[HANDLE, D3DKMT_HANDLE], int] | None = None
    DxgkCbSetPowerComponentActive: Callable[..., int] | None = None
    DxgkCbSetPowerComponentIdle: Callable[..., int] | None = None
    DxgkCbAcquirePostDisplayOwnership: Callable[..., int] | None = None
    DxgkCbPowerRuntimeControlRequest: Callable[..., int] | None = None
    DxgkCbSetPowerComponentLatency: Callable[..., int] | None = None
    DxgkCbSetPowerComponentResidency: Callable[..., int] | None = None
    DxgkCbCompleteFStateTransition: Callable[..., int] | None = None
    DxgkCbAllocateContiguousMemory: Callable[[HANDLE, int], tuple[int, ContiguousMemory | None]] | None = None
    DxgkCbFreeContiguousMemory: Callable[[HANDLE, ContiguousMemory], int] | None = None


# --- the miniport's entries -----------------------------------------------------------------------------------------

Entry: TypeAlias = Callable[..., int]
"""An entry whose arguments this project does not use."""


@dataclass(slots=True)
class DRIVER_INITIALIZATION_DATA:
    """What DriverEntry registers with DxgkInitialize: every entry in header order; None where the miniport has none."""

    Version: int = int(DXGKDDI_INTERFACE_VERSION.WIN8)
    # Vista
    DxgkDdiAddDevice: Callable[[object], tuple[int, HANDLE]] | None = None
    DxgkDdiStartDevice: Callable[[HANDLE, DXGK_START_INFO, DXGKRNL_INTERFACE], tuple[int, int, int]] | None = None
    DxgkDdiStopDevice: Callable[[HANDLE], int] | None = None
    DxgkDdiRemoveDevice: Callable[[HANDLE], int] | None = None
    DxgkDdiDispatchIoRequest: Entry | None = None
    DxgkDdiInterruptRoutine: Callable[[HANDLE, int], bool] | None = None
    DxgkDdiDpcRoutine: Callable[[HANDLE], None] | None = None
    DxgkDdiQueryChildRelations: Callable[[HANDLE], tuple[int, list[DXGK_CHILD_DESCRIPTOR]]] | None = None
    DxgkDdiQueryChildStatus: Callable[[HANDLE, DXGK_CHILD_STATUS, bool], int] | None = None
    DxgkDdiQueryDeviceDescriptor: Callable[[HANDLE, int, DXGK_DEVICE_DESCRIPTOR], int] | None = None
    DxgkDdiSetPowerState: Callable[[HANDLE, int, DXGK_ADAPTER_POWER_STATE, int], int] | None = None
    DxgkDdiNotifyAcpiEvent: Entry | None = None
    DxgkDdiResetDevice: Callable[[HANDLE], None] | None = None
    DxgkDdiUnload: Callable[[], None] | None = None
    DxgkDdiQueryInterface: Entry | None = None
    DxgkDdiControlEtwLogging: Entry | None = None
    DxgkDdiQueryAdapterInfo: Callable[[HANDLE, DXGKARG_QUERYADAPTERINFO], int] | None = None
    DxgkDdiCreateDevice: Callable[[HANDLE, DXGKARG_CREATEDEVICE], int] | None = None
    DxgkDdiCreateAllocation: Callable[[HANDLE, DXGKARG_CREATEALLOCATION], int] | None = None
    DxgkDdiDestroyAllocation: Callable[[HANDLE, DXGKARG_DESTROYALLOCATION], int] | None = None
    DxgkDdiDescribeAllocation: Callable[[HANDLE, DXGKARG_DESCRIBEALLOCATION], int] | None = None
    DxgkDdiGetStandardAllocationDriverData: Callable[[HANDLE, DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA], int] | None = None
    DxgkDdiAcquireSwizzlingRange: Callable[[HANDLE, DXGKARG_ACQUIRESWIZZLINGRANGE], int] | None = None
    DxgkDdiReleaseSwizzlingRange: Callable[[HANDLE, DXGKARG_RELEASESWIZZLINGRANGE], int] | None = None
    DxgkDdiPatch: Callable[[HANDLE, DXGKARG_PATCH], int] | None = None
    DxgkDdiSubmitCommand: Callable[[HANDLE, DXGKARG_SUBMITCOMMAND], int] | None = None
    DxgkDdiPreemptCommand: Callable[[HANDLE, DXGKARG_PREEMPTCOMMAND], int] | None = None
    DxgkDdiBuildPagingBuffer: Callable[[HANDLE, DXGKARG_BUILDPAGINGBUFFER], int] | None = None
    DxgkDdiSetPalette: Callable[[HANDLE, DXGKARG_SETPALETTE], int] | None = None
    DxgkDdiSetPointerPosition: Callable[[HANDLE, DXGKARG_SETPOINTERPOSITION], int] | None = None
    DxgkDdiSetPointerShape: Callable[[HANDLE, DXGKARG_SETPOINTERSHAPE], int] | None = None
    DxgkDdiResetFromTimeout: Callable[[HANDLE], int] | None = None
    DxgkDdiRestartFromTimeout: Callable[[HANDLE], int] | None = None
    DxgkDdiEscape: Callable[[HANDLE, DXGKARG_ESCAPE], int] | None = None
    DxgkDdiCollectDbgInfo: Callable[[HANDLE, DXGKARG_COLLECTDBGINFO], int] | None = None
    DxgkDdiQueryCurrentFence: Callable[[HANDLE, DXGKARG_QUERYCURRENTFENCE], int] | None = None
    DxgkDdiIsSupportedVidPn: Callable[[HANDLE, DXGKARG_ISSUPPORTEDVIDPN], int] | None = None
    DxgkDdiRecommendFunctionalVidPn: Callable[[HANDLE, DXGKARG_RECOMMENDFUNCTIONALVIDPN], int] | None = None
    DxgkDdiEnumVidPnCofuncModality: Callable[[HANDLE, DXGKARG_ENUMVIDPNCOFUNCMODALITY], int] | None = None
    DxgkDdiSetVidPnSourceAddress: Callable[[HANDLE, DXGKARG_SETVIDPNSOURCEADDRESS], int] | None = None
    DxgkDdiSetVidPnSourceVisibility: Callable[[HANDLE, DXGKARG_SETVIDPNSOURCEVISIBILITY], int] | None = None
    DxgkDdiCommitVidPn: Callable[[HANDLE, DXGKARG_COMMITVIDPN], int] | None = None
    DxgkDdiUpdateActiveVidPnPresentPath: Callable[[HANDLE, DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH], int] | None = None
    DxgkDdiRecommendMonitorModes: Callable[[HANDLE, DXGKARG_RECOMMENDMONITORMODES], int] | None = None
    DxgkDdiRecommendVidPnTopology: Callable[[HANDLE, DXGKARG_RECOMMENDVIDPNTOPOLOGY], int] | None = None
    DxgkDdiGetScanLine: Callable[[HANDLE, DXGKARG_GETSCANLINE], int] | None = None
    DxgkDdiStopCapture: Entry | None = None
    DxgkDdiControlInterrupt: Callable[[HANDLE, DXGK_INTERRUPT_TYPE, bool], int] | None = None
    DxgkDdiCreateOverlay: Entry | None = None
    DxgkDdiDestroyDevice: Callable[[HANDLE], int] | None = None
    DxgkDdiOpenAllocation: Callable[[HANDLE, DXGKARG_OPENALLOCATION], int] | None = None
    DxgkDdiCloseAllocation: Callable[[HANDLE, DXGKARG_CLOSEALLOCATION], int] | None = None
    DxgkDdiRender: Callable[[HANDLE, DXGKARG_RENDER], int] | None = None
    DxgkDdiPresent: Callable[[HANDLE, DXGKARG_PRESENT], int] | None = None
    DxgkDdiUpdateOverlay: Entry | None = None
    DxgkDdiFlipOverlay: Entry | None = None
    DxgkDdiDestroyOverlay: Entry | None = None
    DxgkDdiCreateContext: Callable[[HANDLE, DXGKARG_CREATECONTEXT], int] | None = None
    DxgkDdiDestroyContext: Callable[[HANDLE], int] | None = None
    DxgkDdiLinkDevice: Entry | None = None
    DxgkDdiSetDisplayPrivateDriverFormat: Entry | None = None
    # Windows 7
    DxgkDdiDescribePageTable: Entry | None = None
    DxgkDdiUpdatePageTable: Entry | None = None
    DxgkDdiUpdatePageDirectory: Entry | None = None
    DxgkDdiMovePageDirectory: Entry | None = None
    DxgkDdiSubmitRender: Entry | None = None
    DxgkDdiCreateAllocation2: Entry | None = None
    DxgkDdiRenderKm: Callable[[HANDLE, DXGKARG_RENDER], int] | None = None
    Reserved: Entry | None = None
    DxgkDdiQueryVidPnHWCapability: Entry | None = None
    # Windows 8
    DxgkDdiSetPowerComponentFState: Entry | None = None
    DxgkDdiQueryDependentEngineGroup: Callable[[HANDLE, DXGKARG_QUERYDEPENDENTENGINEGROUP], int] | None = None
    DxgkDdiQueryEngineStatus: Callable[[HANDLE, DXGKARG_QUERYENGINESTATUS], int] | None = None
    DxgkDdiResetEngine: Callable[[HANDLE, DXGKARG_RESETENGINE], int] | None = None
    DxgkDdiStopDeviceAndReleasePostDisplayOwnership: Entry | None = None
    DxgkDdiSystemDisplayEnable: Entry | None = None
    DxgkDdiSystemDisplayWrite: Entry | None = None
    DxgkDdiCancelCommand: Callable[[HANDLE, DXGKARG_CANCELCOMMAND], int] | None = None
    DxgkDdiGetChildContainerId: Entry | None = None
    DxgkDdiPowerRuntimeControlRequest: Entry | None = None
    DxgkDdiSetVidPnSourceAddressWithMultiPlaneOverlay: Entry | None = None
    DxgkDdiNotifySurpriseRemoval: Entry | None = None
    # WDDM 1.3
    DxgkDdiGetNodeMetadata: Callable[[HANDLE, int, DXGKARG_GETNODEMETADATA], int] | None = None
    DxgkDdiSetPowerPState: Entry | None = None
    DxgkDdiControlInterrupt2: Entry | None = None
    DxgkDdiCheckMultiPlaneOverlaySupport: Entry | None = None
    DxgkDdiCalibrateGpuClock: Entry | None = None
    DxgkDdiFormatHistoryBuffer: Entry | None = None
    # WDDM 2.0
    DxgkDdiRenderGdi: Entry | None = None
    DxgkDdiSubmitCommandVirtual: Callable[[HANDLE, DXGKARG_SUBMITCOMMANDVIRTUAL], int] | None = None
    DxgkDdiSetRootPageTable: Callable[[HANDLE, DXGKARG_SETROOTPAGETABLE], None] | None = None
    DxgkDdiGetRootPageTableSize: Callable[[HANDLE, DXGKARG_GETROOTPAGETABLESIZE], int] | None = None
    DxgkDdiMapCpuHostAperture: Entry | None = None
    DxgkDdiUnmapCpuHostAperture: Entry | None = None
    DxgkDdiCheckMultiPlaneOverlaySupport2: Entry | None = None
    DxgkDdiCreateProcess: Callable[[HANDLE, DXGKARG_CREATEPROCESS], int] | None = None
    DxgkDdiDestroyProcess: Callable[[HANDLE, HANDLE], int] | None = None
    DxgkDdiSetVidPnSourceAddressWithMultiPlaneOverlay2: Entry | None = None
    Reserved1: Entry | None = None
    Reserved2: Entry | None = None
    DxgkDdiPowerRuntimeSetDeviceHandle: Entry | None = None
    DxgkDdiSetStablePowerState: Entry | None = None
    DxgkDdiSetVideoProtectedRegion: Entry | None = None
    # WDDM 2.1
    DxgkDdiCheckMultiPlaneOverlaySupport3: Entry | None = None
    DxgkDdiSetVidPnSourceAddressWithMultiPlaneOverlay3: Entry | None = None
    DxgkDdiPostMultiPlaneOverlayPresent: Entry | None = None
    DxgkDdiValidateUpdateAllocationProperty: Entry | None = None
    DxgkDdiControlModeBehavior: Entry | None = None
    DxgkDdiUpdateMonitorLinkInfo: Entry | None = None
    # WDDM 2.2
    DxgkDdiCreateHwContext: Entry | None = None
    DxgkDdiDestroyHwContext: Entry | None = None
    DxgkDdiCreateHwQueue: Entry | None = None
    DxgkDdiDestroyHwQueue: Entry | None = None
    DxgkDdiSubmitCommandToHwQueue: Callable[[HANDLE, DXGKARG_SUBMITCOMMANDTOHWQUEUE], int] | None = None
    DxgkDdiSwitchToHwContextList: Entry | None = None
    DxgkDdiResetHwEngine: Entry | None = None
    DxgkDdiCreatePeriodicFrameNotification: Entry | None = None
    DxgkDdiDestroyPeriodicFrameNotification: Entry | None = None
    DxgkDdiSetTimingsFromVidPn: Entry | None = None
    DxgkDdiSetTargetGamma: Entry | None = None
    DxgkDdiSetTargetContentType: Entry | None = None
    DxgkDdiSetTargetAnalogCopyProtection: Entry | None = None
    DxgkDdiSetTargetAdjustedColorimetry: Entry | None = None
    DxgkDdiDisplayDetectControl: Entry | None = None
    DxgkDdiQueryConnectionChange: Entry | None = None
    DxgkDdiExchangePreStartInfo: Entry | None = None
    DxgkDdiGetMultiPlaneOverlayCaps: Entry | None = None
    DxgkDdiGetPostCompositionCaps: Entry | None = None
    # WDDM 2.3
    DxgkDdiUpdateHwContextState: Entry | None = None
    DxgkDdiCreateProtectedSession: Entry | None = None
    DxgkDdiDestroyProtectedSession: Entry | None = None
    # WDDM 2.4
    DxgkDdiSetSchedulingLogBuffer: Entry | None = None
    DxgkDdiSetupPriorityBands: Callable[[HANDLE, DXGKARG_SETUPPRIORITYBANDS], int] | None = None
    DxgkDdiNotifyFocusPresent: Entry | None = None
    DxgkDdiSetContextSchedulingProperties: Callable[[HANDLE, DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES], int] | None = None
    DxgkDdiSuspendContext: Entry | None = None
    DxgkDdiResumeContext: Entry | None = None
    DxgkDdiSetVirtualMachineData: Entry | None = None
    DxgkDdiBeginExclusiveAccess: Entry | None = None
    DxgkDdiEndExclusiveAccess: Entry | None = None
    DxgkDdiQueryDiagnosticTypesSupport: Entry | None = None
    DxgkDdiControlDiagnosticReporting: Entry | None = None
    DxgkDdiResumeHwEngine: Entry | None = None
    # WDDM 2.5
    DxgkDdiSignalMonitoredFence: Entry | None = None
    DxgkDdiPresentToHwQueue: Entry | None = None
    DxgkDdiValidateSubmitCommand: Entry | None = None
    DxgkDdiSetTargetAdjustedColorimetry2: Entry | None = None
    DxgkDdiSetTrackedWorkloadPowerLevel: Entry | None = None
    # WDDM 2.6
    DxgkDdiSaveMemoryForHotUpdate: Entry | None = None
    DxgkDdiRestoreMemoryForHotUpdate: Entry | None = None
    DxgkDdiCollectDiagnosticInfo: Entry | None = None
    Reserved3: Entry | None = None
    # WDDM 2.7
    DxgkDdiControlInterrupt3: Entry | None = None
    # WDDM 2.9
    DxgkDdiSetFlipQueueLogBuffer: Entry | None = None
    DxgkDdiUpdateFlipQueueLog: Entry | None = None
    DxgkDdiCancelQueuedFlips: Entry | None = None
    DxgkDdiSetInterruptTargetPresentId: Entry | None = None
    # WDDM 3.0
    DxgkDdiSetAllocationBackingStore: Entry | None = None
    DxgkDdiCreateCpuEvent: Entry | None = None
    DxgkDdiDestroyCpuEvent: Entry | None = None
    DxgkDdiCancelFlips: Entry | None = None
    # WDDM 3.1
    DxgkDdiCreateNativeFence: Entry | None = None
    DxgkDdiDestroyNativeFence: Entry | None = None
    DxgkDdiUpdateMonitoredValues: Entry | None = None
    DxgkDdiNotifyCurrentValueUpdates: Entry | None = None
    DxgkDdiCreateDoorbell: Entry | None = None
    DxgkDdiConnectDoorbell: Entry | None = None
    DxgkDdiDisconnectDoorbell: Entry | None = None
    DxgkDdiDestroyDoorbell: Entry | None = None
    DxgkDdiNotifyWorkSubmission: Entry | None = None
    DxgkDdiFlushHwQueue: Entry | None = None


def entry_names() -> tuple[str, ...]:
    """Names of the entries in header order."""
    return tuple(f.name for f in fields(DRIVER_INITIALIZATION_DATA) if f.name != "Version")


DriverEntry: TypeAlias = Callable[[Callable[[DRIVER_INITIALIZATION_DATA], int]], int]
"""A miniport's DriverEntry: takes DxgkInitialize, registers its entries with it and returns an NTSTATUS."""
