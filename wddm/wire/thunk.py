"""The thunk layer: what user mode says to the kernel, and it to user mode (the D3DKMT entry points).

One connection is one process. What returns a handle or data is a request; what Windows queues (render, present, signal, wait,
unlock, destroy) is a notification. Failures of requests are ``RemoteError`` with an NTSTATUS or HRESULT as code; failures of
notifications put the device into an error state and are told by DeviceStateChanged. Handles are 32-bit, typed, never 0.

Where the link passes descriptors, Lock hands out the allocation's pages themselves; elsewhere their bytes travel by
ReadAllocation and WriteAllocation in bounded chunks.
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Final

from .message import I32, I64, U8, U32, U64, Descriptor, MaxLen, Protocol, Struct

THUNK: Final = Protocol("wddm.thunk", 1)

MAX_COMMAND: Final = 1 << 24  #: bytes of one command buffer
MAX_PRIVATE: Final = 1 << 16  #: bytes of driver private data
ALLOCATION_CHUNK: Final = 1 << 20  #: bytes per ReadAllocation/WriteAllocation
MAX_HANDLES: Final = 1 << 16

PrivateData = Annotated[bytes, MaxLen(MAX_PRIVATE)]
Handles = Annotated[list[U32], MaxLen(MAX_HANDLES)]


class HelloReply(Struct):
    """Who answers, and whether the link passes descriptors."""

    protocol: str
    version: U32
    descriptors: bool


@THUNK.request(reply=HelloReply)
class Hello(Struct):
    """First message; names the process for messages and statistics."""

    protocol: str
    version: U32
    process: Annotated[str, MaxLen(256)] = ""


# ----- adapter -------------------------------------------------------------------------------------------------------------


class Segment(Struct):
    """One memory segment, with its use in bytes."""

    id: U32
    size: U64
    used: U64
    aperture: bool
    cpu_visible: bool


class NodeInfo(Struct):
    """One node: DXGK_ENGINE_TYPE and counters since start."""

    ordinal: U32
    engine_type: U32
    name: str
    submitted: U64
    completed: U64
    preempted: U64
    busy_ns: U64


class SourceInfo(Struct):
    """One video present source and its current mode; all 0 when none is set."""

    id: U32
    width: U32
    height: U32
    format: U32
    refresh_numerator: U32
    refresh_denominator: U32
    vblank_count: U64
    flips: U64
    visible: bool


class Statistic(Struct):
    """A named counter."""

    name: str
    value: U64


class AdapterInfo(Struct):
    """An adapter, its driver and what it is doing."""

    hAdapter: U32
    name: str
    driver: str  #: the miniport's name
    umd: str  #: the user-mode driver to load, "module:Entry" (the registry value of Windows)
    wddm_version: U32
    segments: list[Segment]
    nodes: list[NodeInfo]
    sources: list[SourceInfo]
    statistics: list[Statistic]
    shared_fences: bool  #: whether CreateSynchronizationObject hands out fence pages on this link


@THUNK.request(reply=AdapterInfo)
class OpenAdapter(Struct):
    """Open the adapter (there is one). May be called again for fresh counters: the handle stays."""


class AdapterData(Struct):
    """Data of QueryAdapterInfo or Escape."""

    data: bytes


@THUNK.request(reply=AdapterData)
class QueryAdapterInfo(Struct):
    """DxgkDdiQueryAdapterInfo of ``type`` (DXGK_QUERYADAPTERINFOTYPE; only UMDRIVERPRIVATE is open to user mode)."""

    hAdapter: U32
    type: U32
    input: PrivateData = b""
    output_size: U32 = MAX_PRIVATE


@THUNK.request(reply=AdapterData)
class Escape(Struct):
    """The private channel to the miniport (DxgkDdiEscape)."""

    hAdapter: U32
    hDevice: U32 = 0
    hContext: U32 = 0
    data: PrivateData = b""


# ----- devices and contexts ------------------------------------------------------------------------------------------------


class DeviceCreated(Struct):
    """The new device."""

    hDevice: U32


@THUNK.request(reply=DeviceCreated)
class CreateDevice(Struct):
    """D3DKMTCreateDevice → DxgkDdiCreateDevice."""

    hAdapter: U32
    flags: U32 = 0


@THUNK.request()
class DestroyDevice(Struct):
    """Waits for its work and destroys it with all it owns."""

    hDevice: U32


class ContextCreated(Struct):
    """The new context and the sizes of its buffers: bytes, elements, elements."""

    hContext: U32
    command_buffer_size: U32
    allocation_list_size: U32
    patch_location_list_size: U32


@THUNK.request(reply=ContextCreated)
class CreateContext(Struct):
    """D3DKMTCreateContext → DxgkDdiCreateContext."""

    hDevice: U32
    node_ordinal: U32 = 0
    engine_affinity: U32 = 1
    flags: U32 = 0
    private: PrivateData = b""


@THUNK.request()
class DestroyContext(Struct):
    """Waits for its work and destroys it."""

    hContext: U32


class DeviceState(Struct):
    """D3DKMT_DEVICEEXECUTION_STATE, the reason as HRESULT (0 while active) and the sentence that tells the cause."""

    state: U32
    reason: U32
    sentence: str


@THUNK.request(reply=DeviceState)
class GetDeviceState(Struct):
    """D3DKMTGetDeviceState."""

    hDevice: U32


@THUNK.notification(from_server=True)
class DeviceStateChanged(Struct):
    """The device left the ACTIVE state, for good."""

    hDevice: U32
    state: U32
    reason: U32
    sentence: str


@THUNK.notification()
class SetContextSchedulingPriority(Struct):
    """In-process priority, -7..7."""

    hContext: U32
    priority: I32


# ----- allocations ---------------------------------------------------------------------------------------------------------


class AllocationInfo(Struct):
    """D3DDDI_ALLOCATIONINFO, its in members."""

    private: PrivateData = b""
    flags: U32 = 0
    VidPnSourceId: U32 = 0


class AllocationsCreated(Struct):
    """Handles, and the private data as the miniport left it."""

    hResource: U32
    handles: Handles
    privates: list[PrivateData]


@THUNK.request(reply=AllocationsCreated)
class CreateAllocation(Struct):
    """D3DKMTCreateAllocation → DxgkDdiCreateAllocation, DxgkDdiOpenAllocation. ``create_resource`` groups them in a resource."""

    hDevice: U32
    allocations: Annotated[list[AllocationInfo], MaxLen(4096)]
    create_resource: bool = False
    shared: bool = False
    hResource: U32 = 0
    private: PrivateData = b""


class SharedOpened(Struct):
    """A shared resource, opened for a device."""

    hResource: U32
    private: PrivateData
    handles: Handles
    privates: list[PrivateData]


@THUNK.request(reply=SharedOpened)
class OpenResource(Struct):
    """D3DKMTOpenResource by the global handle (the hResource of the creator of a shared resource)."""

    hDevice: U32
    hGlobalShare: U32


@THUNK.notification()
class DestroyAllocation(Struct):
    """Either a resource with all its allocations, or listed allocations. Deferred until the GPU is done."""

    hDevice: U32
    hResource: U32 = 0
    handles: Handles = field(default_factory=list)


class Locked(Struct):
    """The pages, ``size`` bytes. ``hAllocation`` may be another instance after Discard."""

    hAllocation: U32
    size: U64
    memory: Descriptor | None


@THUNK.request(reply=Locked)
class Lock(Struct):
    """pfnLockCb: ``flags`` is D3DDDICB_LOCKFLAGS. Waits while the GPU uses the allocation, unless told otherwise."""

    hDevice: U32
    hAllocation: U32
    flags: U32 = 0


@THUNK.notification()
class Unlock(Struct):
    """pfnUnlockCb."""

    hDevice: U32
    handles: Handles


class AllocationData(Struct):
    """Bytes of an allocation."""

    data: bytes


@THUNK.request(reply=AllocationData)
class ReadAllocation(Struct):
    """Bytes of a locked allocation, for links without descriptors."""

    hAllocation: U32
    offset: U64
    size: U32


@THUNK.notification()
class WriteAllocation(Struct):
    """Change bytes of a locked allocation, for links without descriptors."""

    hAllocation: U32
    offset: U64
    data: Annotated[bytes, MaxLen(ALLOCATION_CHUNK)]


@THUNK.notification()
class SetAllocationPriority(Struct):
    """pfnSetPriorityCb, for a resource or for listed allocations."""

    hDevice: U32
    hResource: U32 = 0
    handles: Handles = field(default_factory=list)
    priorities: Annotated[list[U32], MaxLen(MAX_HANDLES)] = field(default_factory=list)


class Residency(Struct):
    """D3DDDI_RESIDENCYSTATUS for each."""

    statuses: list[U8]


@THUNK.request(reply=Residency)
class QueryAllocationResidency(Struct):
    """pfnQueryResidencyCb."""

    hDevice: U32
    hResource: U32 = 0
    handles: Handles = field(default_factory=list)


@THUNK.notification()
class OfferAllocations(Struct):
    """pfnOfferAllocationsCb: content is no longer needed, from the end of work already submitted."""

    hDevice: U32
    handles: Handles
    priority: U32


class Reclaimed(Struct):
    """Which have lost their content."""

    discarded: list[bool]


@THUNK.request(reply=Reclaimed)
class ReclaimAllocations(Struct):
    """pfnReclaimAllocationsCb."""

    hDevice: U32
    handles: Handles


# ----- submission ----------------------------------------------------------------------------------------------------------


@THUNK.notification()
class Render(Struct):
    """pfnRenderCb → DxgkDdiRender. Lists are arrays of D3DDDI_ALLOCATIONLIST and D3DDDI_PATCHLOCATIONLIST records.

    ``fences`` and ``values``: signals of monitored fences that follow in the command stream, as SignalSynchronizationObject would
    queue them one by one: nearly every submission has some.
    """

    hContext: U32
    sequence: U32
    commands: Annotated[bytes, MaxLen(MAX_COMMAND)]
    allocation_list: Annotated[bytes, MaxLen(1 << 22)]
    patch_location_list: Annotated[bytes, MaxLen(MAX_COMMAND)]
    flags: U32 = 0
    fences: Annotated[list[U32], MaxLen(32)] = field(default_factory=list)
    values: Annotated[list[U64], MaxLen(32)] = field(default_factory=list)


class Rect(Struct):
    """A RECT: right and bottom are outside."""

    left: I32
    top: I32
    right: I32
    bottom: I32


@THUNK.notification()
class Present(Struct):
    """D3DKMTPresent → DxgkDdiPresent. ``flags`` is D3DKMT_PRESENTFLAGS; ``id`` comes back in PresentRetired."""

    hContext: U32
    id: U64
    hSource: U32
    hDestination: U32 = 0
    VidPnSourceId: U32 = 0
    flags: U32 = 0
    flip_interval: U32 = 1
    src_rect: Rect | None = None
    dst_rect: Rect | None = None
    color: U32 = 0


@THUNK.notification(from_server=True)
class PresentRetired(Struct):
    """A present has come to the screen (``shown``), or was dropped or failed. Earlier buffers are free again."""

    hContext: U32
    id: U64
    shown: bool
    vblank_count: U64
    time_ns: I64


# ----- synchronisation -----------------------------------------------------------------------------------------------------


class SyncObjectCreated(Struct):
    """The object. For monitored fences on links that pass descriptors, the page with its value: u64 at ``offset``."""

    hSyncObject: U32
    page: Descriptor | None
    page_size: U32
    offset: U32


@THUNK.request(reply=SyncObjectCreated)
class CreateSynchronizationObject(Struct):
    """D3DKMTCreateSynchronizationObject2. ``type``, ``flags`` as d3dukmdt; ``initial`` state, count or value; ``maximum`` count."""

    hDevice: U32
    type: U32
    flags: U32 = 0
    initial: U64 = 0
    maximum: U32 = 0


@THUNK.notification()
class DestroySynchronizationObject(Struct):
    """Destroy it; waiters are released with an error."""

    hSyncObject: U32


@THUNK.notification()
class SignalSynchronizationObject(Struct):
    """Queue a signal in the command stream of ``hContext`` (and broadcast ones). ``value`` for fences."""

    hContext: U32
    handles: Annotated[list[U32], MaxLen(32)]
    value: U64 = 0
    flags: U32 = 0
    broadcast: Annotated[list[U32], MaxLen(64)] = field(default_factory=list)


@THUNK.notification()
class WaitForSynchronizationObject(Struct):
    """Queue a wait in the command stream of ``hContext``."""

    hContext: U32
    handles: Annotated[list[U32], MaxLen(32)]
    value: U64 = 0


@THUNK.notification()
class SignalFromCpu(Struct):
    """Set monitored fences from the CPU."""

    handles: Annotated[list[U32], MaxLen(32)]
    values: Annotated[list[U64], MaxLen(32)]


@THUNK.request()
class WaitFromCpu(Struct):
    """Answered when all (or, with ``any``, one) of the fences have reached their values."""

    handles: Annotated[list[U32], MaxLen(32)]
    values: Annotated[list[U64], MaxLen(32)]
    any: bool = False


# ----- display -------------------------------------------------------------------------------------------------------------


class DisplayMode(Struct):
    """A mode of a source."""

    width: U32
    height: U32
    format: U32
    refresh_numerator: U32
    refresh_denominator: U32


class DisplayModes(Struct):
    """The modes, the first one preferred by the monitor."""

    modes: list[DisplayMode]


@THUNK.request(reply=DisplayModes)
class GetDisplayModeList(Struct):
    """D3DKMTGetDisplayModeList."""

    hAdapter: U32
    VidPnSourceId: U32 = 0


@THUNK.request()
class SetDisplayMode(Struct):
    """D3DKMTSetDisplayMode: scan out a primary → DxgkDdiCommitVidPn."""

    hDevice: U32
    hPrimary: U32


@THUNK.request()
class SetVidPnSourceOwner(Struct):
    """Take (EXCLUSIVE 2, SHARED 1) or give up (UNOWNED 0) a video present source."""

    hDevice: U32
    VidPnSourceId: U32
    owner_type: U32


class VerticalBlank(Struct):
    """Which one, and when (nanoseconds of the kernel's clock)."""

    vblank_count: U64
    time_ns: I64


@THUNK.request(reply=VerticalBlank)
class WaitForVerticalBlankEvent(Struct):
    """Answered at the next vertical blank."""

    hAdapter: U32
    VidPnSourceId: U32 = 0


@THUNK.request()
class SetGammaRamp(Struct):
    """Three tables of 256 u16 (1536 bytes), or nothing for the identity → DxgkDdiUpdateActiveVidPnPresentPath."""

    hDevice: U32
    VidPnSourceId: U32
    ramp: Annotated[bytes, MaxLen(1536)]


class Scanout(Struct):
    """The picture on the monitor: height x width x 4 bytes R, G, B, A."""

    width: U32
    height: U32
    vblank_count: U64
    data: bytes


@THUNK.request(reply=Scanout)
class ReadScanout(Struct):
    """What the monitor of a source shows now (a frame grabber)."""

    hAdapter: U32
    VidPnSourceId: U32 = 0
