"""The API boundary: what a client says to the Direct3D 11 and DXGI runtime, and the runtime to it.

One connection is one client process. Creating, mapping, reading, presenting and waiting are requests; what a Direct3D immediate
context records travels in :class:`Commands` notifications, a list of ``[code, argument, …]`` whose table is in
:mod:`wddm.wire.api_commands`. Ids are 32-bit, typed, never 0 and never used twice on one connection. Failures are ``RemoteError``
with an HRESULT as code.

Where the link passes descriptors, a client announces one block of memory per device through which its data goes up, and mapped
resources come as the pages themselves; elsewhere bytes travel inside the messages.
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Final

from .message import I32, I64, U8, U32, U64, Commands, Descriptor, MaxLen, Protocol, Struct
from .thunk import AdapterInfo, Scanout

API: Final = Protocol("wddm.api", 1)

MAX_DATA: Final = 1 << 26  #: bytes of data inside one message
MAX_BYTECODE: Final = 1 << 22
MAX_SUBRESOURCES: Final = 1 << 15
UPLOAD_HEADER: Final = 64  #: bytes in front of the upload area; the first u64 counts the bytes the runtime has taken

Data = Annotated[bytes, MaxLen(MAX_DATA)]
Name = Annotated[str, MaxLen(1024)]


class HelloReply(Struct):
    """Who answers, and whether the link passes descriptors."""

    protocol: str
    version: U32
    descriptors: bool


@API.request(reply=HelloReply)
class Hello(Struct):
    """First message; names the process for messages and statistics."""

    protocol: str
    version: U32
    process: Annotated[str, MaxLen(256)] = ""


# ----- adapter and display -------------------------------------------------------------------------------------------------


@API.request(reply=AdapterInfo)
class GetAdapterInfo(Struct):
    """The adapter with its segments, nodes, outputs and counters as they are now."""


@API.request(reply=Scanout)
class ReadDisplay(Struct):
    """What the monitor of a video present source shows."""

    source: U32 = 0


class DisplayModeInfo(Struct):
    """A mode of an output: pixels, DXGI_FORMAT, Hz as a fraction."""

    width: U32
    height: U32
    format: U32
    refresh_numerator: U32
    refresh_denominator: U32


class DisplayModeList(Struct):
    """The modes, the monitor's preferred one first."""

    modes: list[DisplayModeInfo]


@API.request(reply=DisplayModeList)
class GetDisplayModes(Struct):
    """IDXGIOutput::GetDisplayModeList, all formats."""

    source: U32 = 0


class VerticalBlankInfo(Struct):
    """Which one, and when (nanoseconds of the kernel's clock)."""

    vblank_count: U64
    time_ns: I64


@API.request(reply=VerticalBlankInfo)
class WaitForVerticalBlank(Struct):
    """IDXGIOutput::WaitForVBlank."""

    source: U32 = 0


# ----- device --------------------------------------------------------------------------------------------------------------


class DeviceCreated(Struct):
    """The device and, where the link allows, the page with the value of its fence: u64 at ``fence_offset``."""

    device: U32
    feature_level: U32
    driver: str
    fence: Descriptor | None
    fence_size: U32
    fence_offset: U32


@API.request(reply=DeviceCreated)
class CreateDevice(Struct):
    """D3D11CreateDevice. ``flags`` are D3D11_CREATE_DEVICE_FLAG; feature levels in order of preference, 0xb000 = 11_0."""

    flags: U32 = 0
    feature_levels: Annotated[list[U32], MaxLen(16)] = field(default_factory=list)


@API.request()
class DestroyDevice(Struct):
    """The last reference to a device: it goes with everything made on it."""

    device: U32


@API.notification()
class AnnounceUpload(Struct):
    """The client's upload area of a device: UPLOAD_HEADER bytes, then ``size`` bytes of data. Once per device."""

    device: U32
    memory: Descriptor
    size: U32


class RemovedReason(Struct):
    """S_OK, or why the device was removed."""

    code: U32
    name: str
    sentence: str


@API.request(reply=RemovedReason)
class GetDeviceRemovedReason(Struct):
    """ID3D11Device::GetDeviceRemovedReason."""

    device: U32


class FormatSupport(Struct):
    """D3D11_FORMAT_SUPPORT and D3D11_FORMAT_SUPPORT2."""

    support: U32
    support2: U32


@API.request(reply=FormatSupport)
class CheckFormatSupport(Struct):
    """ID3D11Device::CheckFormatSupport and CheckFeatureSupport(FORMAT_SUPPORT2)."""

    device: U32
    format: U32


class QualityLevels(Struct):
    """How many; 0 = not supported."""

    levels: U32


@API.request(reply=QualityLevels)
class CheckMultisampleQualityLevels(Struct):
    """ID3D11Device::CheckMultisampleQualityLevels."""

    device: U32
    format: U32
    sample_count: U32


# ----- what goes up --------------------------------------------------------------------------------------------------------


class Blob(Struct):
    """Data: inside the message, or ``size`` bytes at a position of the upload area (positions only grow)."""

    data: Data = b""
    position: U64 = 0
    size: U32 = 0


class SubresourceData(Struct):
    """D3D11_SUBRESOURCE_DATA: pitches in bytes."""

    blob: Blob
    row_pitch: U32 = 0
    depth_pitch: U32 = 0


Initial = Annotated[list[SubresourceData], MaxLen(MAX_SUBRESOURCES)]


class Created(Struct):
    """The id of a new object."""

    id: U32


# ----- resources -----------------------------------------------------------------------------------------------------------


@API.request(reply=Created)
class CreateBuffer(Struct):
    """D3D11_BUFFER_DESC."""

    device: U32
    byte_width: U32
    usage: U32 = 0
    bind_flags: U32 = 0
    cpu_access_flags: U32 = 0
    misc_flags: U32 = 0
    structure_byte_stride: U32 = 0
    initial: Initial = field(default_factory=list)


@API.request(reply=Created)
class CreateTexture(Struct):
    """D3D11_TEXTURE1D_DESC, …2D_DESC and …3D_DESC by ``dimension`` 1, 2, 3. ``mip_levels`` 0 asks for all of them."""

    device: U32
    dimension: U8
    width: U32
    height: U32 = 1
    depth: U32 = 1
    mip_levels: U32 = 1
    array_size: U32 = 1
    format: U32
    sample_count: U32 = 1
    sample_quality: U32 = 0
    usage: U32 = 0
    bind_flags: U32 = 0
    cpu_access_flags: U32 = 0
    misc_flags: U32 = 0
    initial: Initial = field(default_factory=list)


# ----- views ---------------------------------------------------------------------------------------------------------------


@API.request(reply=Created)
class CreateView(Struct):
    """A view: ``kind`` is SRV 0, RTV 1, DSV 2, UAV 3; ``dimension`` the D3D11_*_DIMENSION of that kind, 0 with ``default``.

    ``first`` and ``count`` are elements of a buffer, array slices, or W slices of a 3D view; ``mip`` and ``mips`` the most
    detailed level and how many (0xFFFFFFFF: all from there). ``default`` asks for the view of a NULL description.
    """

    resource: U32
    kind: U8
    default: bool = False
    format: U32 = 0
    dimension: U32 = 0
    flags: U32 = 0
    mip: U32 = 0
    mips: U32 = 0xFFFF_FFFF
    first: U32 = 0
    count: U32 = 0xFFFF_FFFF


# ----- shaders and input layouts -------------------------------------------------------------------------------------------

Bytecode = Annotated[bytes, MaxLen(MAX_BYTECODE)]


class StreamOutputEntry(Struct):
    """D3D11_SO_DECLARATION_ENTRY; an empty semantic is a gap."""

    stream: U32
    semantic: Name
    index: U32
    start: U8
    count: U8
    slot: U8


@API.request(reply=Created)
class CreateShader(Struct):
    """A shader of ``stage`` VS 0, HS 1, DS 2, GS 3, PS 4, CS 5. With ``stream_output`` a GS may also be a VS or DS container."""

    device: U32
    stage: U8
    bytecode: Bytecode
    stream_output: bool = False
    declarations: Annotated[list[StreamOutputEntry], MaxLen(512)] = field(default_factory=list)
    strides: Annotated[list[U32], MaxLen(4)] = field(default_factory=list)
    rasterized_stream: U32 = 0


class InputElement(Struct):
    """D3D11_INPUT_ELEMENT_DESC; ``offset`` 0xFFFFFFFF appends."""

    semantic: Name
    index: U32
    format: U32
    slot: U32
    offset: U32
    per_instance: bool = False
    step_rate: U32 = 0


@API.request(reply=Created)
class CreateInputLayout(Struct):
    """Elements, and the shader (its id, or a container) whose input signature they must serve."""

    device: U32
    elements: Annotated[list[InputElement], MaxLen(64)]
    shader: U32 = 0
    bytecode: Bytecode = b""


# ----- states --------------------------------------------------------------------------------------------------------------


class RenderTargetBlend(Struct):
    """D3D11_RENDER_TARGET_BLEND_DESC."""

    blend_enable: bool = False
    src_blend: U32 = 2
    dest_blend: U32 = 1
    blend_op: U32 = 1
    src_blend_alpha: U32 = 2
    dest_blend_alpha: U32 = 1
    blend_op_alpha: U32 = 1
    write_mask: U32 = 15


@API.request(reply=Created)
class CreateBlendState(Struct):
    """D3D11_BLEND_DESC: eight targets, or one without ``independent``."""

    device: U32
    alpha_to_coverage_enable: bool = False
    independent_blend_enable: bool = False
    targets: Annotated[list[RenderTargetBlend], MaxLen(8)]


class StencilFace(Struct):
    """D3D11_DEPTH_STENCILOP_DESC."""

    fail_op: U32 = 1
    depth_fail_op: U32 = 1
    pass_op: U32 = 1
    func: U32 = 8


@API.request(reply=Created)
class CreateDepthStencilState(Struct):
    """D3D11_DEPTH_STENCIL_DESC."""

    device: U32
    depth_enable: bool = True
    depth_write_mask: U32 = 1
    depth_func: U32 = 2
    stencil_enable: bool = False
    stencil_read_mask: U32 = 0xFF
    stencil_write_mask: U32 = 0xFF
    front: StencilFace
    back: StencilFace


@API.request(reply=Created)
class CreateRasterizerState(Struct):
    """D3D11_RASTERIZER_DESC."""

    device: U32
    fill_mode: U32 = 3
    cull_mode: U32 = 3
    front_counter_clockwise: bool = False
    depth_bias: I32 = 0
    depth_bias_clamp: float = 0.0
    slope_scaled_depth_bias: float = 0.0
    depth_clip_enable: bool = True
    scissor_enable: bool = False
    multisample_enable: bool = False
    antialiased_line_enable: bool = False


@API.request(reply=Created)
class CreateSamplerState(Struct):
    """D3D11_SAMPLER_DESC."""

    device: U32
    filter: U32 = 0x15
    address_u: U32 = 3
    address_v: U32 = 3
    address_w: U32 = 3
    mip_lod_bias: float = 0.0
    max_anisotropy: U32 = 1
    comparison_func: U32 = 1
    border_color: Annotated[list[float], MaxLen(4)]
    min_lod: float = -3.4028234663852886e38
    max_lod: float = 3.4028234663852886e38


# ----- queries -------------------------------------------------------------------------------------------------------------


@API.request(reply=Created)
class CreateQuery(Struct):
    """D3D11_QUERY_DESC."""

    device: U32
    query: U32
    misc_flags: U32 = 0


class QueryData(Struct):
    """``ready``, and then the result's fields in the order of its D3D11_QUERY_DATA structure."""

    ready: bool
    values: Annotated[list[U64], MaxLen(16)]


@API.request(reply=QueryData)
class GetData(Struct):
    """ID3D11DeviceContext::GetData. ``wait`` answers only when the result is there; ``flags`` 1 is DONOTFLUSH."""

    query: U32
    flags: U32 = 0
    wait: bool = False


# ----- legacy Direct3D: DrawPrimitives2 -----------------------------------------------------------------------------------


@API.request(reply=Created)
class CreateDp2Context(Struct):
    """D3dContextCreate: a context of DirectX 6 to 9 on a device, which takes DP2 command buffers."""

    device: U32


@API.request()
class CreateSurfaceEx(Struct):
    """D3dCreateSurfaceEx: the number by which command buffers name a resource (0: the surface goes). ``format``: D3DFORMAT, 0 =
    what the resource's own format says. ``subresource``: the mip level or face that is drawn to."""

    context: U32
    surface: U32
    resource: U32 = 0
    format: U32 = 0
    subresource: U32 = 0


class PrimitivesDrawn(Struct):
    """ddrval; dwErrorOffset of a failure, with the name of the code and of the command; the answers to queries."""

    ddrval: U32
    name: str
    error_offset: U32
    command: str
    response: bytes


@API.request(reply=PrimitivesDrawn)
class DrawPrimitives2(Struct):
    """D3dDrawPrimitives2: a whole command buffer with the vertices that it draws.

    Vertices are user memory (``vertices``), or ``vertex_surface``. ``vertex_offset`` is in bytes, ``vertex_length`` in vertices.
    ``room``: bytes that answers to queries may take, when they are more than the commands.
    """

    context: U32
    commands: Blob
    vertex_type: U32 = 0
    vertices: Blob = field(default_factory=Blob)
    vertex_surface: U32 = 0
    vertex_offset: U32 = 0
    vertex_length: U32 = 0
    vertex_size: U32 = 0
    room: U32 = 0


class RenderStates(Struct):
    """256 DWORDs, little-endian."""

    data: bytes


@API.request(reply=RenderStates)
class GetRenderStates(Struct):
    """The runtime's copy of a context's render states (lpdwRStates), as the driver keeps it."""

    context: U32


# ----- commands, mapping, waiting ------------------------------------------------------------------------------------------


@API.notification()
class ExecuteCommands(Struct):
    """What the immediate context has recorded, in order. ``signal`` not 0: flush, then set the device's fence to it."""

    device: U32
    commands: Commands
    signal: U64 = 0


class Mapped(Struct):
    """A mapped subresource: its pages (descriptor only when ``memory_id`` is new to the client), or a copy of its bytes.

    ``memory_id`` 0: the bytes are in ``data``, and unmap must bring back what a write map changed.
    """

    row_pitch: U32
    depth_pitch: U32
    size: U64
    memory_id: U32 = 0
    memory: Descriptor | None = None
    memory_size: U64 = 0
    offset: U64 = 0
    data: bytes = b""


@API.request(reply=Mapped)
class Map(Struct):
    """ID3D11DeviceContext::Map. ``type`` is D3D11_MAP, ``flags`` D3D11_MAP_FLAG."""

    resource: U32
    subresource: U32
    type: U32
    flags: U32 = 0


@API.notification(from_server=True)
class ForgetMemory(Struct):
    """The pages of ``memory_id`` are gone from the adapter; the number will not come back."""

    memory_id: U32


@API.request()
class WaitFence(Struct):
    """Answered when the device's fence has reached ``value``."""

    device: U32
    value: U64


# ----- swap chains ---------------------------------------------------------------------------------------------------------


class SwapChainCreated(Struct):
    """The chain, the ids of the buffers an app may see, and their size in pixels."""

    id: U32
    buffers: list[U32]
    width: U32
    height: U32


@API.request(reply=SwapChainCreated)
class CreateSwapChain(Struct):
    """DXGI_SWAP_CHAIN_DESC1 on video present source ``source``; sizes 0 take the output's mode."""

    device: U32
    width: U32 = 0
    height: U32 = 0
    format: U32
    buffer_count: U32 = 2
    sample_count: U32 = 1
    sample_quality: U32 = 0
    buffer_usage: U32 = 0x20
    swap_effect: U32 = 4
    flags: U32 = 0
    scaling: U32 = 0
    source: U32 = 0


class Presented(Struct):
    """S_OK or a success code such as DXGI_STATUS_OCCLUDED."""

    status: U32


@API.request(reply=Presented)
class Present(Struct):
    """IDXGISwapChain::Present."""

    swap_chain: U32
    sync_interval: U32 = 0
    flags: U32 = 0


@API.request(reply=SwapChainCreated)
class ResizeBuffers(Struct):
    """IDXGISwapChain::ResizeBuffers. 0 keeps the count or takes the output's size; format 0 keeps it."""

    swap_chain: U32
    buffer_count: U32 = 0
    width: U32 = 0
    height: U32 = 0
    format: U32 = 0
    flags: U32 = 0


class FrameStatistics(Struct):
    """DXGI_FRAME_STATISTICS; the time in nanoseconds of the kernel's clock."""

    present_count: U32
    present_refresh_count: U32
    sync_refresh_count: U32
    sync_qpc_time: I64
    sync_gpu_time: I64


@API.request(reply=FrameStatistics)
class GetFrameStatistics(Struct):
    """IDXGISwapChain::GetFrameStatistics."""

    swap_chain: U32


class PresentCount(Struct):
    """Successful presents of the chain."""

    count: U32


@API.request(reply=PresentCount)
class GetLastPresentCount(Struct):
    """IDXGISwapChain::GetLastPresentCount."""

    swap_chain: U32


@API.request()
class SetMaximumFrameLatency(Struct):
    """IDXGIDevice1::SetMaximumFrameLatency: 1..16, 0 for the default of 3."""

    device: U32
    latency: U32


@API.request()
class SetGammaControl(Struct):
    """IDXGIOutput::SetGammaControl as three tables of 256 u16, or nothing for the identity."""

    swap_chain: U32
    ramp: Annotated[bytes, MaxLen(1536)]


# ----- events --------------------------------------------------------------------------------------------------------------


@API.notification(from_server=True)
class DeviceRemoved(Struct):
    """The device is lost for good."""

    device: U32
    code: U32
    name: str
    sentence: str


@API.notification(from_server=True)
class ErrorReported(Struct):
    """A recorded command failed, or (``warning``) does something an app hardly wants. The others went on."""

    device: U32
    code: U32
    name: str
    sentence: str
    command: str
    warning: bool = False


@API.notification(from_server=True)
class PresentRetired(Struct):
    """A present has come to the screen (``shown``), or was dropped. ``count`` is its number in the chain."""

    swap_chain: U32
    count: U32
    shown: bool
    vblank_count: U64
    time_ns: I64
