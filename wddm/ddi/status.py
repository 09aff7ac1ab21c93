"""Status codes: NTSTATUS, HRESULT and bug checks, with what each says (ntstatus.h, winerror.h, d3d9.h, dxgitype.h).

Codes are unsigned 32-bit numbers, on the wire and here. The module names them, classifies them and translates an
NTSTATUS of the kernel into the HRESULT that a user-mode caller sees; it never raises for an unknown number.
Models the pages "DXGI_ERROR", "DXGI_STATUS", "D3DERR", "Returning Error Codes Received from Runtime Functions" and the
bug-check reference.
"""

from enum import IntEnum
from types import MappingProxyType
from typing import Final

FACILITY_NULL: Final = 0x000
FACILITY_WIN32: Final = 0x007
FACILITY_GRAPHICS: Final = 0x026
FACILITY_DIRECT3D: Final = 0x876
FACILITY_DXGI: Final = 0x87A
FACILITY_DXGI_DDI: Final = 0x87B
FACILITY_D3D11: Final = 0x87C
FACILITY_NT_BIT: Final = 0x1000_0000
NT_FACILITY_GRAPHICS: Final = 0x01E
NT_FACILITY_MONITOR: Final = 0x01D


class _Code(IntEnum):
    """A 32-bit code with a sentence for people."""

    sentence: str

    def __new__(cls, value: int, sentence: str = "") -> "_Code":
        code = int.__new__(cls, value)
        code._value_ = value
        code.sentence = sentence
        return code

    def __str__(self) -> str:
        return f"{self.name} (0x{self.value:08X})"


class HRESULT(_Code):
    """Result of a user-mode call. Bit 31 set means failure; several names of one number are aliases of the first."""

    S_OK = 0x0000_0000, "The call succeeded."
    S_FALSE = 0x0000_0001, "The call succeeded with a negative or partial answer."
    E_NOTIMPL = 0x8000_4001, "The function is not implemented."
    E_NOINTERFACE = 0x8000_4002, "The object does not offer the requested interface."
    E_POINTER = 0x8000_4003, "A required pointer was null."
    E_ABORT = 0x8000_4004, "The operation was given up."
    E_FAIL = 0x8000_4005, "The call failed for an unspecified reason."
    E_UNEXPECTED = 0x8000_FFFF, "The call met a state that must not occur."
    E_PENDING = 0x8000_000A, "Not done yet: wait for the paging-fence value that came with the answer."
    E_ACCESSDENIED = 0x8007_0005, "The caller lacks the right to do this."
    E_HANDLE = 0x8007_0006, "The handle is not valid."
    E_OUTOFMEMORY = 0x8007_000E, "Memory ran out."
    E_INVALIDARG = 0x8007_0057, "An argument is not valid."
    HRESULT_ERROR_INSUFFICIENT_BUFFER = 0x8007_007A, "The array given is too small for the answer."

    D3DDDIERR_OUTOFVIDEOMEMORY = 0x8876_017C, "Video memory could not even be virtualised."
    D3DDDIERR_WASSTILLDRAWING = 0x8876_021C, "The allocation is in use by the GPU and the caller asked not to wait."
    D3DDDIERR_NOTAVAILABLE = 0x8876_086A, "The hardware resource asked for (aperture, overlay) is not available."
    D3DDDIERR_INVALIDCALL = 0x8876_086C, "The call is not valid here."
    D3DDDIERR_DEVICEREMOVED = 0x8876_0870, "The adapter was stopped or reset; the device is lost for good."
    D3DDDIERR_PRIVILEGEDINSTRUCTION = (
        0x8876_0871,
        "The command buffer holds an instruction beyond the process' privilege.",
    )
    D3DDDIERR_INVALIDINSTRUCTION = (
        0x8876_0872,
        "The command buffer holds an instruction that the hardware does not support.",
    )
    D3DDDIERR_ILLEGALINSTRUCTION = 0x8876_0872, "The documentation's name for D3DDDIERR_INVALIDINSTRUCTION."
    D3DDDIERR_INVALIDHANDLE = 0x8876_0873, "The command buffer names a handle that is not valid."
    D3DDDIERR_INVALIDUSERBUFFER = 0x8876_0879, "The command buffer's data or instructions run short or over."
    D3DDDIERR_INCOMPATIBLEPRIVATEFORMAT = (
        0x8876_087A,
        "Convert the primary to the returned private format and call again.",
    )
    D3DDDIERR_UNSUPPORTEDOVERLAY = 0x8876_087B, "The overlay's size or mode is not supported."
    D3DDDIERR_UNSUPPORTEDOVERLAYFORMAT = 0x8876_087C, "The overlay's format is not supported."
    D3DDDIERR_UNSUPPORTEDCRYPTO = 0x8876_087E, "The encryption type is not supported."
    D3DDDIERR_APPLICATIONERROR = 0x8876_0885, "The application, not the driver, misused the device."
    D3DDDIERR_OUTOFHWPROTECTEDMEMORY = 0x8876_0887, "Hardware-protected memory ran out."
    D3DDDIERR_CANTEVICTPINNEDALLOCATION = 0xC026_2109, "The lock needs an eviction but the allocation is pinned."
    D3DDDIERR_CANTRENDERLOCKEDALLOCATION = 0xC026_2111, "A locked allocation is referenced and could not be moved."

    D3DERR_WRONGTEXTUREFORMAT = 0x8876_0818, "The texture's format does not fit this use."
    D3DERR_UNSUPPORTEDCOLOROPERATION = 0x8876_0819, "The colour operation is not supported."
    D3DERR_UNSUPPORTEDCOLORARG = 0x8876_081A, "The colour argument is not supported."
    D3DERR_UNSUPPORTEDALPHAOPERATION = 0x8876_081B, "The alpha operation is not supported."
    D3DERR_UNSUPPORTEDALPHAARG = 0x8876_081C, "The alpha argument is not supported."
    D3DERR_TOOMANYOPERATIONS = 0x8876_081D, "More texture operations are asked for than the device can chain."
    D3DERR_CONFLICTINGTEXTUREFILTER = 0x8876_081E, "The texture filters cannot be used together."
    D3DERR_UNSUPPORTEDFACTORVALUE = 0x8876_081F, "The texture-factor value is not supported."
    D3DERR_CONFLICTINGRENDERSTATE = 0x8876_0821, "The render states cannot be used together."
    D3DERR_UNSUPPORTEDTEXTUREFILTER = 0x8876_0822, "The texture filter is not supported."
    D3DERR_CONFLICTINGTEXTUREPALETTE = 0x8876_0826, "The textures' palettes cannot be used together."
    D3DERR_DRIVERINTERNALERROR = 0x8876_0827, "The driver failed inside."
    D3DERR_NOTFOUND = 0x8876_0866, "The item asked for does not exist."
    D3DERR_MOREDATA = 0x8876_0867, "There is more data than the buffer can hold."
    D3DERR_DEVICELOST = 0x8876_0868, "The device was lost because of another device; it can be reset later."
    D3DERR_DEVICENOTRESET = 0x8876_0869, "The device was lost and may be reset now."
    D3DERR_INVALIDDEVICE = 0x8876_086B, "The device type is not valid."
    D3DERR_DRIVERINVALIDCALL = 0x8876_086D, "Not used."
    D3DERR_DEVICEHUNG = 0x8876_0874, "This device caused the adapter to be reset."
    D3DERR_CANNOTPROTECTCONTENT = 0x8876_087D, "The content cannot be protected."
    D3DERR_PRESENT_STATISTICS_DISJOINT = 0x8876_0884, "Present statistics were interrupted; read them again."
    D3DERR_COMMAND_UNPARSED = 0x8876_0BB8, "The command is known neither to the driver nor to the runtime's parser."
    D3DERR_OUTOFVIDEOMEMORY = 0x8876_017C, "Video memory ran out."
    D3DERR_WASSTILLDRAWING = 0x8876_021C, "The surface is in use and the caller asked not to wait."
    DDERR_WASSTILLDRAWING = 0x8876_021C, "The surface is in use and the caller asked not to wait."
    D3DERR_NOTAVAILABLE = 0x8876_086A, "The device does not support the query."
    D3DERR_INVALIDCALL = 0x8876_086C, "The call is not valid here."
    D3DERR_DEVICEREMOVED = 0x8876_0870, "The adapter is gone; devices must be found anew."
    D3DERR_UNSUPPORTEDOVERLAY = 0x8876_087B, "The overlay is not supported."
    D3DERR_UNSUPPORTEDOVERLAYFORMAT = 0x8876_087C, "The overlay's format is not supported."
    D3DERR_UNSUPPORTEDCRYPTO = 0x8876_087E, "The encryption type is not supported."
    D3DOK_NOAUTOGEN = 0x0876_086F, "The call succeeded but mip levels will not be generated."
    S_NOT_RESIDENT = 0x0876_0875, "At least one allocation is paged out to disk."
    S_RESIDENT_IN_SHARED_MEMORY = 0x0876_0876, "None is on disk, but at least one is outside the GPU's own memory."
    S_PRESENT_MODE_CHANGED = 0x0876_0877, "The desktop's mode changed; presents may convert or stretch."
    S_PRESENT_OCCLUDED = 0x0876_0878, "The window is minimised or its monitor is owned full screen by another device."

    DXGI_DDI_ERR_WASSTILLDRAWING = 0x887B_0001, "The resource or query is busy and the caller asked not to wait."
    DXGI_DDI_ERR_UNSUPPORTED = 0x887B_0002, "The driver cannot scan out such a primary, or does not know the counter."
    DXGI_DDI_ERR_NONEXCLUSIVE = 0x887B_0003, "The counter is exclusive and somebody else has it."

    DXGI_STATUS_OCCLUDED = 0x087A_0001, "The window's content cannot be seen; stop rendering and test for its return."
    DXGI_STATUS_CLIPPED = 0x087A_0002, "The window's content is clipped."
    DXGI_STATUS_NO_REDIRECTION = 0x087A_0004, "The device shares no surfaces with the compositor."
    DXGI_STATUS_NO_DESKTOP_ACCESS = 0x087A_0005, "The desktop cannot be reached."
    DXGI_STATUS_GRAPHICS_VIDPN_SOURCE_IN_USE = 0x087A_0006, "The output belongs to another owner."
    DXGI_STATUS_MODE_CHANGED = 0x087A_0007, "The desktop's mode changed; resize the buffers."
    DXGI_STATUS_MODE_CHANGE_IN_PROGRESS = 0x087A_0008, "A mode change is under way."
    DXGI_STATUS_UNOCCLUDED = 0x087A_0009, "The window can be seen again."
    DXGI_STATUS_DDA_WAS_STILL_DRAWING = 0x087A_000A, "Desktop duplication is busy."

    DXGI_ERROR_INVALID_CALL = 0x887A_0001, "The application gave parameters that are not valid."
    DXGI_ERROR_NOT_FOUND = 0x887A_0002, "The item or ordinal asked for does not exist."
    DXGI_ERROR_MORE_DATA = 0x887A_0003, "The buffer is too small for the data."
    DXGI_ERROR_UNSUPPORTED = 0x887A_0004, "The device or driver lacks the feature."
    DXGI_ERROR_DEVICE_REMOVED = 0x887A_0005, "The device is lost; ask for the removal reason and create a new one."
    DXGI_ERROR_DEVICE_HUNG = 0x887A_0006, "This application's commands hung the GPU."
    DXGI_ERROR_DEVICE_RESET = 0x887A_0007, "The GPU was reset because of somebody else's commands; create a new device."
    DXGI_ERROR_WAS_STILL_DRAWING = (
        0x887A_000A,
        "The GPU was busy and the caller asked not to wait; nothing was scheduled.",
    )
    DXGI_ERROR_FRAME_STATISTICS_DISJOINT = 0x887A_000B, "Frame statistics were interrupted; read them again."
    DXGI_ERROR_GRAPHICS_VIDPN_SOURCE_IN_USE = 0x887A_000C, "The output is already owned exclusively."
    DXGI_ERROR_DRIVER_INTERNAL_ERROR = 0x887A_0020, "The driver broke its contract; the device was removed."
    DXGI_ERROR_NONEXCLUSIVE = 0x887A_0021, "A global counter is in use."
    DXGI_ERROR_NOT_CURRENTLY_AVAILABLE = 0x887A_0022, "Not possible now, but it may be later."
    DXGI_ERROR_REMOTE_CLIENT_DISCONNECTED = 0x887A_0023, "Reserved: the remote client went away."
    DXGI_ERROR_REMOTE_OUTOFMEMORY = 0x887A_0024, "Reserved: the remote side ran out of memory."
    DXGI_ERROR_ACCESS_LOST = 0x887A_0026, "Desktop duplication was invalidated."
    DXGI_ERROR_WAIT_TIMEOUT = 0x887A_0027, "No new desktop frame came in time."
    DXGI_ERROR_SESSION_DISCONNECTED = 0x887A_0028, "The remote session is disconnected."
    DXGI_ERROR_RESTRICT_TO_OUTPUT_STALE = 0x887A_0029, "The output that content is restricted to is gone or changed."
    DXGI_ERROR_CANNOT_PROTECT_CONTENT = 0x887A_002A, "The content cannot be protected."
    DXGI_ERROR_ACCESS_DENIED = 0x887A_002B, "The access is not allowed, such as a write to a read-only shared resource."
    DXGI_ERROR_NAME_ALREADY_EXISTS = 0x887A_002C, "The name of the shared handle is taken."
    DXGI_ERROR_SDK_COMPONENT_MISSING = 0x887A_002D, "The debug layer is not installed."
    DXGI_ERROR_NOT_CURRENT = 0x887A_002E, "The factory no longer describes the system."
    DXGI_ERROR_HW_PROTECTION_OUTOFMEMORY = 0x887A_0030, "Hardware-protected memory ran out."
    DXGI_ERROR_DYNAMIC_CODE_POLICY_VIOLATION = 0x887A_0031, "The process' policy forbids code made at run time."
    DXGI_ERROR_NON_COMPOSITED_UI = 0x887A_0032, "The user interface is not composited."
    DXGI_ERROR_ALREADY_EXISTS = 0x887A_0036, "The declaration was already made."

    D3D11_ERROR_TOO_MANY_UNIQUE_STATE_OBJECTS = 0x887C_0001, "Too many different state objects of one kind exist."
    D3D11_ERROR_FILE_NOT_FOUND = 0x887C_0002, "The file was not found."
    D3D11_ERROR_TOO_MANY_UNIQUE_VIEW_OBJECTS = 0x887C_0003, "Too many different view objects of one kind exist."
    D3D11_ERROR_DEFERRED_CONTEXT_MAP_WITHOUT_INITIAL_DISCARD = (
        0x887C_0004,
        "The first map of a dynamic resource on a deferred context must discard.",
    )

    ERROR_GRAPHICS_DRIVER_MISMATCH = 0xC026_2009, "The user-mode driver and the miniport are of different builds."


class NTSTATUS(_Code):
    """Result of a kernel-mode call. Bit 31 set means warning or error; 0x4xxxxxxx is informational and a success."""

    STATUS_SUCCESS = 0x0000_0000, "The call succeeded."
    STATUS_TIMEOUT = 0x0000_0102, "The wait ran out of time."
    STATUS_PENDING = 0x0000_0103, "The operation is queued."
    STATUS_DEVICE_BUSY = 0x8000_0011, "The device is busy."
    STATUS_UNSUCCESSFUL = 0xC000_0001, "The call failed for an unspecified reason."
    STATUS_NOT_IMPLEMENTED = 0xC000_0002, "The device does not support this."
    STATUS_INVALID_HANDLE = 0xC000_0008, "A handle is not valid."
    STATUS_INVALID_PARAMETER = 0xC000_000D, "A parameter is not valid."
    STATUS_NO_MEMORY = 0xC000_0017, "System memory ran out."
    STATUS_ILLEGAL_INSTRUCTION = 0xC000_001D, "The command stream holds an instruction that the GPU does not support."
    STATUS_ACCESS_DENIED = 0xC000_0022, "The caller lacks the right to do this."
    STATUS_BUFFER_TOO_SMALL = 0xC000_0023, "The buffer is too small for the answer."
    STATUS_OBJECT_TYPE_MISMATCH = 0xC000_0024, "The handle names an object of another type."
    STATUS_INTEGER_OVERFLOW = 0xC000_0095, "A size is too large to be expressed."
    STATUS_PRIVILEGED_INSTRUCTION = 0xC000_0096, "The command stream touches memory beyond the process' privilege."
    STATUS_INSUFFICIENT_RESOURCES = 0xC000_009A, "The system lacks the resources for this."
    STATUS_DEVICE_NOT_READY = 0xC000_00A3, "The device is not ready."
    STATUS_IO_TIMEOUT = 0xC000_00B5, "The device did not answer in time."
    STATUS_NOT_SUPPORTED = 0xC000_00BB, "The request is not supported."
    STATUS_INVALID_USER_BUFFER = 0xC000_00E8, "The command buffer's data or instructions run short or over."
    STATUS_CANCELLED = 0xC000_0120, "The operation was cancelled."
    STATUS_INVALID_DEVICE_STATE = 0xC000_0184, "The device is in a state that does not allow this."
    STATUS_INVALID_BUFFER_SIZE = 0xC000_0206, "The buffer's size is wrong."
    STATUS_NOT_FOUND = 0xC000_0225, "The item was not found."
    STATUS_RETRY = 0xC000_022D, "The request must be made again later."
    STATUS_DEVICE_REMOVED = 0xC000_02B6, "The adapter was stopped or the display was reset."
    STATUS_DEVICE_HUNG = 0xC000_0507, "The device hung."
    STATUS_MONITOR_NO_DESCRIPTOR = 0xC01D_0001, "The monitor has no descriptor."
    STATUS_MONITOR_UNKNOWN_DESCRIPTOR_FORMAT = 0xC01D_0002, "The monitor's descriptor has an unknown format."
    STATUS_MONITOR_INVALID_DESCRIPTOR_CHECKSUM = 0xC01D_0003, "The monitor's descriptor has a wrong checksum."
    STATUS_MONITOR_NO_MORE_DESCRIPTOR_DATA = 0xC01D_0008, "The offset lies past the end of the descriptor."

    STATUS_GRAPHICS_LINK_CONFIGURATION_IN_PROGRESS = 0x801E_0000, "Link training is under way."
    STATUS_GRAPHICS_NOT_EXCLUSIVE_MODE_OWNER = 0xC01E_0000, "The device does not own the source exclusively."
    STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER = 0xC01E_0001, "The DMA buffer is full; call again with a new one."
    STATUS_GRAPHICS_INVALID_DISPLAY_ADAPTER = 0xC01E_0002, "The adapter is not valid."
    STATUS_GRAPHICS_ADAPTER_WAS_RESET = 0xC01E_0003, "The adapter was reset and its state is gone."
    STATUS_GRAPHICS_INVALID_DRIVER_MODEL = 0xC01E_0004, "The driver is not of the expected model."
    STATUS_GRAPHICS_PRESENT_MODE_CHANGED = 0xC01E_0005, "The mode changed since the surface was made."
    STATUS_GRAPHICS_PRESENT_OCCLUDED = 0xC01E_0006, "The window's client area cannot be seen."
    STATUS_GRAPHICS_PRESENT_DENIED = 0xC01E_0007, "Presenting this content is not allowed."
    STATUS_GRAPHICS_CANNOTCOLORCONVERT = 0xC01E_0008, "The present would need a colour conversion that cannot be done."
    STATUS_GRAPHICS_DRIVER_MISMATCH = 0xC01E_0009, "Private data of the user-mode driver is of another driver build."
    STATUS_GRAPHICS_PARTIAL_DATA_POPULATED = 0x401E_000A, "Only part of the data was filled."
    STATUS_GRAPHICS_PRESENT_REDIRECTION_DISABLED = 0xC01E_000B, "Redirection of the window is off."
    STATUS_GRAPHICS_PRESENT_UNOCCLUDED = 0xC01E_000C, "The window can be seen again."
    STATUS_GRAPHICS_WINDOWDC_NOT_AVAILABLE = 0xC01E_000D, "The window's device context is not available."
    STATUS_GRAPHICS_WINDOWLESS_PRESENT_DISABLED = 0xC01E_000E, "Presenting without a window is off."
    STATUS_GRAPHICS_PRESENT_INVALID_WINDOW = 0xC01E_000F, "The window is not valid."
    STATUS_GRAPHICS_PRESENT_BUFFER_NOT_BOUND = 0xC01E_0010, "The buffer is not bound to what is presented to."
    STATUS_GRAPHICS_VAIL_STATE_CHANGED = 0xC01E_0011, "The isolation layer changed state."
    STATUS_GRAPHICS_INDIRECT_DISPLAY_ABANDON_SWAPCHAIN = (
        0xC01E_0012,
        "The indirect display's swap chain must be given up.",
    )
    STATUS_GRAPHICS_INDIRECT_DISPLAY_DEVICE_STOPPED = 0xC01E_0013, "The indirect display's device stopped."
    STATUS_GRAPHICS_MPO_ALLOCATION_UNPINNED = 0xC01E_0018, "An allocation of an overlay plane is no longer pinned."

    STATUS_GRAPHICS_NO_VIDEO_MEMORY = 0xC01E_0100, "No place was found for the allocation."
    STATUS_GRAPHICS_CANT_LOCK_MEMORY = 0xC01E_0101, "Pages could not be locked."
    STATUS_GRAPHICS_ALLOCATION_BUSY = 0xC01E_0102, "The GPU still uses the allocation."
    STATUS_GRAPHICS_TOO_MANY_REFERENCES = 0xC01E_0103, "Too many references to the allocation are outstanding."
    STATUS_GRAPHICS_TRY_AGAIN_LATER = 0xC01E_0104, "Try again after a while."
    STATUS_GRAPHICS_TRY_AGAIN_NOW = 0xC01E_0105, "Try again at once."
    STATUS_GRAPHICS_ALLOCATION_INVALID = (
        0xC01E_0106,
        "A mode change invalidated the primary; open it again and resubmit.",
    )
    STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE = 0xC01E_0107, "All swizzling ranges are in use."
    STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED = 0xC01E_0108, "No swizzling range can serve this allocation."
    STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION = (
        0xC01E_0109,
        "The lock needs an eviction but the allocation is pinned.",
    )
    STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE = 0xC01E_0110, "The allocation was not created for this use."
    STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION = (
        0xC01E_0111,
        "A locked allocation is referenced and cannot be moved.",
    )
    STATUS_GRAPHICS_ALLOCATION_CLOSED = 0xC01E_0112, "The allocation is closed."
    STATUS_GRAPHICS_INVALID_ALLOCATION_INSTANCE = 0xC01E_0113, "The allocation instance is not valid."
    STATUS_GRAPHICS_INVALID_ALLOCATION_HANDLE = 0xC01E_0114, "The allocation handle is not valid."
    STATUS_GRAPHICS_WRONG_ALLOCATION_DEVICE = 0xC01E_0115, "The allocation belongs to another device."
    STATUS_GRAPHICS_ALLOCATION_CONTENT_LOST = 0xC01E_0116, "The allocation's content was discarded."

    STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE = 0xC01E_0200, "The device's DMA stream is in error and the device is lost."
    STATUS_GRAPHICS_SKIP_ALLOCATION_PREPARATION = 0x401E_0201, "Allocations need not be prepared."

    STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY = 0xC01E_0300, "The VidPN's topology is not valid."
    STATUS_GRAPHICS_VIDPN_TOPOLOGY_NOT_SUPPORTED = 0xC01E_0301, "The VidPN's topology is not supported."
    STATUS_GRAPHICS_VIDPN_TOPOLOGY_CURRENTLY_NOT_SUPPORTED = 0xC01E_0302, "The topology is not supported at present."
    STATUS_GRAPHICS_INVALID_VIDPN = 0xC01E_0303, "The VidPN is not valid."
    STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE = 0xC01E_0304, "There is no such video present source."
    STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET = 0xC01E_0305, "There is no such video present target."
    STATUS_GRAPHICS_VIDPN_MODALITY_NOT_SUPPORTED = 0xC01E_0306, "The VidPN's combination of modes is not supported."
    STATUS_GRAPHICS_MODE_NOT_PINNED = 0x401E_0307, "No mode of the set is pinned."
    STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET = 0xC01E_0308, "The source mode set is not valid."
    STATUS_GRAPHICS_INVALID_VIDPN_TARGETMODESET = 0xC01E_0309, "The target mode set is not valid."
    STATUS_GRAPHICS_INVALID_FREQUENCY = 0xC01E_030A, "The signal's frequency is not valid."
    STATUS_GRAPHICS_INVALID_ACTIVE_REGION = 0xC01E_030B, "The signal's active region is not valid."
    STATUS_GRAPHICS_INVALID_TOTAL_REGION = 0xC01E_030C, "The signal's total region is not valid."
    STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE_MODE = 0xC01E_0310, "The source mode is not valid."
    STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET_MODE = 0xC01E_0311, "The target mode is not valid."
    STATUS_GRAPHICS_PINNED_MODE_MUST_REMAIN_IN_SET = 0xC01E_0312, "A pinned mode must stay in its set."
    STATUS_GRAPHICS_PATH_ALREADY_IN_TOPOLOGY = 0xC01E_0313, "The topology already has this path."
    STATUS_GRAPHICS_MODE_ALREADY_IN_MODESET = 0xC01E_0314, "The mode set already has this mode."
    STATUS_GRAPHICS_INVALID_VIDEOPRESENTSOURCESET = 0xC01E_0315, "The set of sources is not valid."
    STATUS_GRAPHICS_INVALID_VIDEOPRESENTTARGETSET = 0xC01E_0316, "The set of targets is not valid."
    STATUS_GRAPHICS_SOURCE_ALREADY_IN_SET = 0xC01E_0317, "The set already has this source."
    STATUS_GRAPHICS_TARGET_ALREADY_IN_SET = 0xC01E_0318, "The set already has this target."
    STATUS_GRAPHICS_INVALID_VIDPN_PRESENT_PATH = 0xC01E_0319, "The path is not valid."
    STATUS_GRAPHICS_NO_RECOMMENDED_VIDPN_TOPOLOGY = 0xC01E_031A, "The miniport has no topology to recommend."
    STATUS_GRAPHICS_INVALID_MONITOR_FREQUENCYRANGESET = (
        0xC01E_031B,
        "The monitor's set of frequency ranges is not valid.",
    )
    STATUS_GRAPHICS_INVALID_MONITOR_FREQUENCYRANGE = 0xC01E_031C, "The monitor's frequency range is not valid."
    STATUS_GRAPHICS_FREQUENCYRANGE_NOT_IN_SET = 0xC01E_031D, "The set lacks this frequency range."
    STATUS_GRAPHICS_NO_PREFERRED_MODE = 0x401E_031E, "The set has no preferred mode."
    STATUS_GRAPHICS_FREQUENCYRANGE_ALREADY_IN_SET = 0xC01E_031F, "The set already has this frequency range."
    STATUS_GRAPHICS_STALE_MODESET = 0xC01E_0320, "The mode set is out of date."
    STATUS_GRAPHICS_INVALID_MONITOR_SOURCEMODESET = 0xC01E_0321, "The monitor's source mode set is not valid."
    STATUS_GRAPHICS_INVALID_MONITOR_SOURCE_MODE = 0xC01E_0322, "The monitor's source mode is not valid."
    STATUS_GRAPHICS_NO_RECOMMENDED_FUNCTIONAL_VIDPN = 0xC01E_0323, "The miniport could not build a functional VidPN."
    STATUS_GRAPHICS_MODE_ID_MUST_BE_UNIQUE = 0xC01E_0324, "Another mode of the set has this id."
    STATUS_GRAPHICS_EMPTY_ADAPTER_MONITOR_MODE_SUPPORT_INTERSECTION = (
        0xC01E_0325,
        "No mode suits both adapter and monitor.",
    )
    STATUS_GRAPHICS_VIDEO_PRESENT_TARGETS_LESS_THAN_SOURCES = 0xC01E_0326, "There are fewer targets than sources."
    STATUS_GRAPHICS_PATH_NOT_IN_TOPOLOGY = 0xC01E_0327, "The path is not in the active VidPN."
    STATUS_GRAPHICS_ADAPTER_MUST_HAVE_AT_LEAST_ONE_SOURCE = 0xC01E_0328, "An adapter needs at least one source."
    STATUS_GRAPHICS_ADAPTER_MUST_HAVE_AT_LEAST_ONE_TARGET = 0xC01E_0329, "An adapter needs at least one target."
    STATUS_GRAPHICS_INVALID_MONITORDESCRIPTORSET = 0xC01E_032A, "The set of monitor descriptors is not valid."
    STATUS_GRAPHICS_INVALID_MONITORDESCRIPTOR = 0xC01E_032B, "The monitor descriptor is not valid."
    STATUS_GRAPHICS_MONITORDESCRIPTOR_NOT_IN_SET = 0xC01E_032C, "The set lacks this monitor descriptor."
    STATUS_GRAPHICS_MONITORDESCRIPTOR_ALREADY_IN_SET = 0xC01E_032D, "The set already has this monitor descriptor."
    STATUS_GRAPHICS_MONITORDESCRIPTOR_ID_MUST_BE_UNIQUE = 0xC01E_032E, "Another monitor descriptor has this id."
    STATUS_GRAPHICS_INVALID_VIDPN_TARGET_SUBSET_TYPE = 0xC01E_032F, "The kind of target subset is not valid."
    STATUS_GRAPHICS_RESOURCES_NOT_RELATED = 0xC01E_0330, "The resources do not belong together."
    STATUS_GRAPHICS_SOURCE_ID_MUST_BE_UNIQUE = 0xC01E_0331, "Another source has this id."
    STATUS_GRAPHICS_TARGET_ID_MUST_BE_UNIQUE = 0xC01E_0332, "Another target has this id."
    STATUS_GRAPHICS_NO_AVAILABLE_VIDPN_TARGET = 0xC01E_0333, "The source has no usable target, hence no modes."
    STATUS_GRAPHICS_MONITOR_COULD_NOT_BE_ASSOCIATED_WITH_ADAPTER = 0xC01E_0334, "The monitor fits no adapter."
    STATUS_GRAPHICS_NO_VIDPNMGR = 0xC01E_0335, "The adapter has no VidPN manager."
    STATUS_GRAPHICS_NO_ACTIVE_VIDPN = 0xC01E_0336, "The adapter has no active VidPN."
    STATUS_GRAPHICS_STALE_VIDPN_TOPOLOGY = 0xC01E_0337, "The topology is out of date."
    STATUS_GRAPHICS_MONITOR_NOT_CONNECTED = 0xC01E_0338, "The target has no monitor."
    STATUS_GRAPHICS_SOURCE_NOT_IN_TOPOLOGY = 0xC01E_0339, "The source is not in the topology."
    STATUS_GRAPHICS_INVALID_PRIMARYSURFACE_SIZE = 0xC01E_033A, "The source mode's primary size is not valid."
    STATUS_GRAPHICS_INVALID_VISIBLEREGION_SIZE = 0xC01E_033B, "The source mode's visible size is not valid."
    STATUS_GRAPHICS_INVALID_STRIDE = 0xC01E_033C, "The source mode's stride is not valid."
    STATUS_GRAPHICS_INVALID_PIXELFORMAT = 0xC01E_033D, "The source mode's pixel format is not valid."
    STATUS_GRAPHICS_INVALID_COLORBASIS = 0xC01E_033E, "The colour basis is not valid."
    STATUS_GRAPHICS_INVALID_PIXELVALUEACCESSMODE = 0xC01E_033F, "The pixel-value access mode is not valid."
    STATUS_GRAPHICS_TARGET_NOT_IN_TOPOLOGY = 0xC01E_0340, "The target is not in the topology."
    STATUS_GRAPHICS_NO_DISPLAY_MODE_MANAGEMENT_SUPPORT = 0xC01E_0341, "The adapter does not manage display modes."
    STATUS_GRAPHICS_VIDPN_SOURCE_IN_USE = 0xC01E_0342, "Another client owns the source."
    STATUS_GRAPHICS_CANT_ACCESS_ACTIVE_VIDPN = 0xC01E_0343, "The active VidPN cannot be reached."
    STATUS_GRAPHICS_INVALID_PATH_IMPORTANCE_ORDINAL = 0xC01E_0344, "The path's importance is not valid."
    STATUS_GRAPHICS_INVALID_PATH_CONTENT_GEOMETRY_TRANSFORMATION = (
        0xC01E_0345,
        "The path's transformation is not valid.",
    )
    STATUS_GRAPHICS_PATH_CONTENT_GEOMETRY_TRANSFORMATION_NOT_SUPPORTED = (
        0xC01E_0346,
        "The path does not support this rotation or scaling.",
    )
    STATUS_GRAPHICS_INVALID_GAMMA_RAMP = 0xC01E_0347, "The gamma ramp is malformed."
    STATUS_GRAPHICS_GAMMA_RAMP_NOT_SUPPORTED = 0xC01E_0348, "This type of gamma ramp is not supported."
    STATUS_GRAPHICS_MULTISAMPLING_NOT_SUPPORTED = 0xC01E_0349, "Multisampling is not supported."
    STATUS_GRAPHICS_MODE_NOT_IN_MODESET = 0xC01E_034A, "The mode is not in the set."
    STATUS_GRAPHICS_DATASET_IS_EMPTY = 0x401E_034B, "The set has nothing to enumerate."
    STATUS_GRAPHICS_NO_MORE_ELEMENTS_IN_DATASET = 0x401E_034C, "The enumeration is at its end."
    STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY_RECOMMENDATION_REASON = (
        0xC01E_034D,
        "The reason for recommending is not valid.",
    )
    STATUS_GRAPHICS_INVALID_PATH_CONTENT_TYPE = 0xC01E_034E, "The path's content type is not valid."
    STATUS_GRAPHICS_INVALID_COPYPROTECTION_TYPE = 0xC01E_034F, "The copy-protection type is not valid."
    STATUS_GRAPHICS_UNASSIGNED_MODESET_ALREADY_EXISTS = (
        0xC01E_0350,
        "A mode set that is not assigned yet exists already.",
    )
    STATUS_GRAPHICS_PATH_CONTENT_GEOMETRY_TRANSFORMATION_NOT_PINNED = (
        0x401E_0351,
        "The path's transformation is not pinned.",
    )
    STATUS_GRAPHICS_INVALID_SCANLINE_ORDERING = 0xC01E_0352, "The scan-line order is not valid."
    STATUS_GRAPHICS_TOPOLOGY_CHANGES_NOT_ALLOWED = 0xC01E_0353, "The topology must not change now."
    STATUS_GRAPHICS_NO_AVAILABLE_IMPORTANCE_ORDINALS = 0xC01E_0354, "All importance ordinals are taken."
    STATUS_GRAPHICS_INCOMPATIBLE_PRIVATE_FORMAT = (
        0xC01E_0355,
        "The primary must be converted to the private format first.",
    )
    STATUS_GRAPHICS_INVALID_MODE_PRUNING_ALGORITHM = 0xC01E_0356, "The mode-pruning algorithm is not valid."
    STATUS_GRAPHICS_INVALID_MONITOR_CAPABILITY_ORIGIN = (
        0xC01E_0357,
        "The origin of the monitor's capability is not valid.",
    )
    STATUS_GRAPHICS_INVALID_MONITOR_FREQUENCYRANGE_CONSTRAINT = (
        0xC01E_0358,
        "The frequency-range constraint is not valid.",
    )
    STATUS_GRAPHICS_MAX_NUM_PATHS_REACHED = 0xC01E_0359, "The topology holds as many paths as it can."
    STATUS_GRAPHICS_CANCEL_VIDPN_TOPOLOGY_AUGMENTATION = (
        0xC01E_035A,
        "The miniport wants the topology not augmented further.",
    )
    STATUS_GRAPHICS_INVALID_CLIENT_TYPE = 0xC01E_035B, "The VidPN client's type is not valid."
    STATUS_GRAPHICS_CLIENTVIDPN_NOT_SET = 0xC01E_035C, "The client has not set a VidPN."

    STATUS_GRAPHICS_SPECIFIED_CHILD_ALREADY_CONNECTED = 0xC01E_0400, "The child is connected already."
    STATUS_GRAPHICS_CHILD_DESCRIPTOR_NOT_SUPPORTED = 0xC01E_0401, "The child has no descriptor."
    STATUS_GRAPHICS_UNKNOWN_CHILD_STATUS = 0x401E_042F, "The child's status is not known."
    STATUS_GRAPHICS_NOT_A_LINKED_ADAPTER = 0xC01E_0430, "The adapter is not in a link."
    STATUS_GRAPHICS_LEADLINK_NOT_ENUMERATED = 0xC01E_0431, "The lead adapter was not enumerated yet."
    STATUS_GRAPHICS_CHAINLINKS_NOT_ENUMERATED = 0xC01E_0432, "The chained adapters were not enumerated yet."
    STATUS_GRAPHICS_ADAPTER_CHAIN_NOT_READY = 0xC01E_0433, "The chain of adapters is not ready."
    STATUS_GRAPHICS_CHAINLINKS_NOT_STARTED = 0xC01E_0434, "The chained adapters were not started."
    STATUS_GRAPHICS_CHAINLINKS_NOT_POWERED_ON = 0xC01E_0435, "The chained adapters are not powered."
    STATUS_GRAPHICS_INCONSISTENT_DEVICE_LINK_STATE = 0xC01E_0436, "The adapters of the link disagree about its state."
    STATUS_GRAPHICS_LEADLINK_START_DEFERRED = 0x401E_0437, "The lead adapter will be started later."
    STATUS_GRAPHICS_NOT_POST_DEVICE_DRIVER = 0xC01E_0438, "The driver does not drive the boot display."
    STATUS_GRAPHICS_POLLING_TOO_FREQUENTLY = 0x401E_0439, "The child is polled too often."
    STATUS_GRAPHICS_START_DEFERRED = 0x401E_043A, "The adapter will be started later."
    STATUS_GRAPHICS_ADAPTER_ACCESS_NOT_EXCLUDED = 0xC01E_043B, "Others still have access to the adapter."
    STATUS_GRAPHICS_DEPENDABLE_CHILD_STATUS = 0x401E_043C, "The child's status can be relied on."
    STATUS_GRAPHICS_SESSION_TYPE_CHANGE_IN_PROGRESS = 0xC01E_05E8, "The session's type is being changed."


class BUGCHECK(_Code):
    """Bug checks and live dumps that WDDM defines."""

    VIDEO_MEMORY_MANAGEMENT_INTERNAL = 0x10E, "A rule between the memory manager and the miniport was broken."
    VIDEO_DXGKRNL_FATAL_ERROR = 0x113, "The graphics kernel found a violation."
    VIDEO_TDR_FAILURE = 0x116, "Recovery from a hang failed, or there were more than five in a minute."
    VIDEO_TDR_TIMEOUT_DETECTED = 0x117, "The adapter hung and was recovered."
    VIDEO_SCHEDULER_INTERNAL_ERROR = 0x119, "A rule between the scheduler and the miniport was broken."
    VIDEO_ENGINE_TIMEOUT_DETECTED = 0x141, "An engine hung and was reset."
    VIDEO_TDR_APPLICATION_BLOCKED = 0x142, "A process hung engines repeatedly and may no longer use the GPU."

    @property
    def is_live_dump(self) -> bool:
        """True for a report after which the system goes on."""
        return self in (
            BUGCHECK.VIDEO_TDR_TIMEOUT_DETECTED,
            BUGCHECK.VIDEO_ENGINE_TIMEOUT_DETECTED,
            BUGCHECK.VIDEO_TDR_APPLICATION_BLOCKED,
        )


class SCHEDULER_ERROR(_Code):
    """Parameter 1 of bug check 0x119."""

    INVALID_FENCE_ID = 0x1, "The reported fence id is not valid."
    SUBMIT_COMMAND_FAILED = 0x2, "SubmitCommand or PreemptCommand failed."
    PATCH_FAILED = 0x3, "Patch failed."
    INVALID_FLIP_QUEUE_LENGTH = 0x4, "The flip-queue length capability is not valid."
    SYSTEM_COMMAND_FAULTED = 0x5, "A system or paging command faulted."
    NO_PHYSICAL_ADAPTER_MASK = 0x6, "A linked adapter's interrupt has no PhysicalAdapterMask."
    VSYNC_ON_RENDER_ONLY_ADAPTER = 0x7, "A render-only adapter reported a vertical sync."
    RESET_NODE_NOT_IN_MASK = 0x8, "The node that caused the reset is not in the dependent mask."
    CANCEL_COMMAND_FAILED = 0x9, "CancelCommand failed."
    ABORTED_FENCE_OUT_OF_RANGE = 0xA, "ResetEngine returned an aborted fence that was never outstanding."
    MPO_SET_SOURCE_ADDRESS_FAILED = 0xB, "SetVidPnSourceAddressWithMultiPlaneOverlay failed."
    FATAL_HARDWARE_PAGE_FAULT = 0xC, "PageFaultFlags tell a fatal hardware fault."
    INVALID_PAGE_FAULT_FLAGS = 0xD, "PageFaultFlags of the interrupt are wrong."
    VSYNC_PLANE_OUT_OF_RANGE = 0xE, "A vertical sync names a plane above the maximum."
    INTERRUPT_AFTER_ENGINE_RESET = 0x10, "An interrupt came after the engine's reset and before it resumed."
    SUSPEND_FENCE_NOT_GENERATED = 0x11, "The suspend fence was not generated yet."
    NATIVE_FENCE_MONITORED_UPDATE = 0x12, "A native fence's monitored value could not be updated."
    NATIVE_FENCE_CURRENT_UPDATE = 0x13, "A native fence's current value could not be updated."
    INTERNAL_STATE_400 = 0x400, "The scheduler's own state is wrong."
    NO_PASSIVE_FLIP_PACKETS = 0xE00, "No packets are left for passive flips."
    INTERNAL_STATE_1000 = 0x1000, "The scheduler's own state is wrong."
    INTERNAL_STATE_A000 = 0xA000, "The scheduler's own state is wrong."
    INTERNAL_STATE_10000 = 0x10000, "The scheduler's own state is wrong."


class VIDMM_ERROR(_Code):
    """Parameter 1 of bug check 0x10E."""

    UNMAP_APERTURE_FAILED = 0x3, "Unmapping from an aperture segment failed."
    DEFERRED_COMMAND_FAILED = 0x5, "A deferred command failed."
    SPLIT_REFERENCE_INVALID = 0x8, "A split DMA buffer has a reference that is not valid."
    EVICT_FAILED = 0x9, "An eviction failed."
    INVALID_PINNED_USE = 0xA, "A pinned allocation was used wrongly."
    BUILD_PAGING_BUFFER_STATUS = 0xB, "BuildPagingBuffer returned a status it must not return."
    SEGMENT_LEAK = 0xC, "A segment has a leak."
    SEGMENT_MISUSE = 0xD, "A segment was used improperly."
    MAP_APERTURE_FAILED = 0xE, "Mapping into an aperture segment failed."
    ACQUIRE_SWIZZLING_STATUS = 0xF, "AcquireSwizzlingRange returned a status it must not return."
    RELEASE_SWIZZLING_STATUS = 0x10, "ReleaseSwizzlingRange returned a status it must not return."
    INVALID_APERTURE_USE = 0x11, "An aperture was used wrongly."
    DMA_BUFFER_OVERFLOW = 0x12, "A DMA buffer was written past its end."
    PRIVATE_DATA_OVERFLOW = 0x13, "A DMA buffer's private data was written past its end."
    PURGE_FAILED = 0x14, "Purging all segments failed."
    GUARANTEED_CONTRACT_BROKEN = 0x16, "The guaranteed DMA-buffer contract was broken."
    SYSTEM_COMMAND_FAILED = 0x17, "A system command failed unexpectedly."
    RELEASE_PINNED_FAILED = 0x18, "Releasing a pinned allocation failed."
    PATCH_FAILED = 0x19, "Patching a DMA buffer failed."
    SHARED_OWNER_FREED = 0x1A, "The owner of a shared allocation was freed."


_GRAPHICS_NT: Final = 0xC01E_0000
_GRAPHICS_HR: Final = 0xC026_2000

# Informational NTSTATUS whose HRESULT twin keeps success severity, and the two twins with a number of their own.
_TWIN_EXCEPTIONS: Final = MappingProxyType(
    {
        NTSTATUS.STATUS_GRAPHICS_MODE_NOT_PINNED: 0x0026_2307,
        NTSTATUS.STATUS_GRAPHICS_NO_PREFERRED_MODE: 0x0026_231E,
        NTSTATUS.STATUS_GRAPHICS_DATASET_IS_EMPTY: 0x0026_234B,
        NTSTATUS.STATUS_GRAPHICS_NO_MORE_ELEMENTS_IN_DATASET: 0x0026_234C,
        NTSTATUS.STATUS_GRAPHICS_PATH_CONTENT_GEOMETRY_TRANSFORMATION_NOT_PINNED: 0x0026_2351,
        NTSTATUS.STATUS_GRAPHICS_LINK_CONFIGURATION_IN_PROGRESS: 0xC026_2017,
        NTSTATUS.STATUS_GRAPHICS_SESSION_TYPE_CHANGE_IN_PROGRESS: 0xC026_05E8,
    }
)

# What a kernel callback (pfnXxxCb) hands to the user-mode driver for a failure below it.
NTSTATUS_TO_HRESULT: Final = MappingProxyType(
    {
        NTSTATUS.STATUS_SUCCESS: HRESULT.S_OK,
        NTSTATUS.STATUS_PENDING: HRESULT.E_PENDING,
        NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION: HRESULT.D3DDDIERR_PRIVILEGEDINSTRUCTION,
        NTSTATUS.STATUS_ILLEGAL_INSTRUCTION: HRESULT.D3DDDIERR_INVALIDINSTRUCTION,
        NTSTATUS.STATUS_INVALID_HANDLE: HRESULT.D3DDDIERR_INVALIDHANDLE,
        NTSTATUS.STATUS_INVALID_USER_BUFFER: HRESULT.D3DDDIERR_INVALIDUSERBUFFER,
        NTSTATUS.STATUS_INVALID_PARAMETER: HRESULT.E_INVALIDARG,
        NTSTATUS.STATUS_NO_MEMORY: HRESULT.E_OUTOFMEMORY,
        NTSTATUS.STATUS_INSUFFICIENT_RESOURCES: HRESULT.E_OUTOFMEMORY,
        NTSTATUS.STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION: HRESULT.D3DDDIERR_CANTRENDERLOCKEDALLOCATION,
        NTSTATUS.STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION: HRESULT.D3DDDIERR_CANTEVICTPINNEDALLOCATION,
        NTSTATUS.STATUS_DEVICE_REMOVED: HRESULT.D3DDDIERR_DEVICEREMOVED,
        NTSTATUS.STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE: HRESULT.D3DDDIERR_DEVICEREMOVED,
        NTSTATUS.STATUS_GRAPHICS_ALLOCATION_BUSY: HRESULT.D3DDDIERR_WASSTILLDRAWING,
        NTSTATUS.STATUS_GRAPHICS_NO_VIDEO_MEMORY: HRESULT.D3DDDIERR_OUTOFVIDEOMEMORY,
        NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH: HRESULT.ERROR_GRAPHICS_DRIVER_MISMATCH,
        NTSTATUS.STATUS_GRAPHICS_INCOMPATIBLE_PRIVATE_FORMAT: HRESULT.D3DDDIERR_INCOMPATIBLEPRIVATEFORMAT,
        NTSTATUS.STATUS_GRAPHICS_PRESENT_MODE_CHANGED: HRESULT.S_PRESENT_MODE_CHANGED,
        NTSTATUS.STATUS_GRAPHICS_PRESENT_OCCLUDED: HRESULT.S_PRESENT_OCCLUDED,
    }
)

_WIN32_OF_NT: Final = MappingProxyType(
    {
        NTSTATUS.STATUS_ACCESS_DENIED: HRESULT.E_ACCESSDENIED,
        NTSTATUS.STATUS_BUFFER_TOO_SMALL: HRESULT.HRESULT_ERROR_INSUFFICIENT_BUFFER,
        NTSTATUS.STATUS_NOT_IMPLEMENTED: HRESULT.E_NOTIMPL,
        NTSTATUS.STATUS_UNSUCCESSFUL: HRESULT.E_FAIL,
    }
)

_HRESULTS: Final = MappingProxyType({int(code): code for code in HRESULT})
_NTSTATUSES: Final = MappingProxyType({int(code): code for code in NTSTATUS})
_TWIN_NAMES: Final = MappingProxyType({twin: status for status, twin in _TWIN_EXCEPTIONS.items()})


def make_hresult(severity: int, facility: int, code: int) -> int:
    """MAKE_HRESULT: severity 0 or 1, facility up to 13 bits, code 16 bits."""
    return (severity & 1) << 31 | (facility & 0x1FFF) << 16 | (code & 0xFFFF)


def hresult_facility(hr: int) -> int:
    """Bits 28-16 of an HRESULT."""
    return (hr >> 16) & 0x1FFF


def hresult_code(hr: int) -> int:
    """Bits 15-0 of an HRESULT."""
    return hr & 0xFFFF


def succeeded(hr: int) -> bool:
    """SUCCEEDED(hr): bit 31 is clear. Accepts signed and unsigned forms."""
    return not hr & 0x8000_0000


def failed(hr: int) -> bool:
    """FAILED(hr): bit 31 is set. True for E_PENDING too, which is not an error of the callbacks that return it."""
    return bool(hr & 0x8000_0000)


def nt_success(status: int) -> bool:
    """NT_SUCCESS(status): success and informational severities."""
    return not status & 0x8000_0000


def nt_severity(status: int) -> int:
    """Bits 31-30 of an NTSTATUS: 0 success, 1 informational, 2 warning, 3 error."""
    return (status >> 30) & 3


def hresult_from_win32(code: int) -> int:
    """HRESULT_FROM_WIN32: 0 stays 0, a positive Win32 code goes to facility 7."""
    return code if code <= 0 else 0x8007_0000 | (code & 0xFFFF)


def hresult_from_nt(status: int) -> int:
    """HRESULT_FROM_NT: the NTSTATUS with FACILITY_NT_BIT set."""
    return (status & 0xFFFF_FFFF) | FACILITY_NT_BIT


def graphics_twin(status: int) -> int | None:
    """The ERROR_GRAPHICS_X number of a STATUS_GRAPHICS_X, or None when `status` is not a graphics status."""
    status &= 0xFFFF_FFFF
    known = _NTSTATUSES.get(status)
    if known is not None and known in _TWIN_EXCEPTIONS:
        return _TWIN_EXCEPTIONS[known]
    if (status >> 16) & 0xFFF != NT_FACILITY_GRAPHICS:
        return None
    return (status & 0xC000_0000) | (_GRAPHICS_HR & 0x3FFF_FFFF) | (status & 0xFFF)


def hresult_from_ntstatus(status: int) -> int:
    """What a user-mode caller sees for a kernel `status`: the callback table first, then the graphics twin, a Win32
    code, and last the general NT form. A success that has no entry is S_OK."""
    status &= 0xFFFF_FFFF
    known = _NTSTATUSES.get(status)
    if known is not None:
        for table in (NTSTATUS_TO_HRESULT, _WIN32_OF_NT):
            if known in table:
                return table[known]
    if nt_success(status):
        return HRESULT.S_OK
    twin = graphics_twin(status)
    return hresult_from_nt(status) if twin is None else twin


def find_hresult(value: int) -> HRESULT | None:
    """The named HRESULT of a number, or None."""
    return _HRESULTS.get(value & 0xFFFF_FFFF)


def find_ntstatus(value: int) -> NTSTATUS | None:
    """The named NTSTATUS of a number, or None."""
    return _NTSTATUSES.get(value & 0xFFFF_FFFF)


def _status_of_twin(hr: int) -> NTSTATUS | None:
    if hr in _TWIN_NAMES:
        return _TWIN_NAMES[hr]
    if hr & 0x3FFF_F000 != _GRAPHICS_HR & 0x3FFF_F000:
        return None
    return _NTSTATUSES.get((hr & 0xC000_0000) | (_GRAPHICS_NT & 0x3FFF_FFFF) | (hr & 0xFFF))


def hresult_name(value: int) -> str:
    """Name of an HRESULT; ERROR_GRAPHICS_X for a graphics twin; ``HRESULT(0x…)`` for a number without a name."""
    value &= 0xFFFF_FFFF
    known = _HRESULTS.get(value)
    if known is not None:
        return known.name
    status = _status_of_twin(value)
    return f"HRESULT(0x{value:08X})" if status is None else status.name.replace("STATUS_", "ERROR_", 1)


def hresult_sentence(value: int) -> str:
    """The sentence of an HRESULT, or one that tells severity and facility of a number without a name."""
    value &= 0xFFFF_FFFF
    known = _HRESULTS.get(value) or _status_of_twin(value)
    if known is not None:
        return known.sentence
    kind = "failure" if failed(value) else "success"
    return f"An unnamed {kind} code of facility 0x{hresult_facility(value):03X}."


def ntstatus_name(value: int) -> str:
    """Name of an NTSTATUS; ``NTSTATUS(0x…)`` for a number without a name."""
    known = find_ntstatus(value)
    return f"NTSTATUS(0x{value & 0xFFFF_FFFF:08X})" if known is None else known.name


def ntstatus_sentence(value: int) -> str:
    """The sentence of an NTSTATUS, or one that tells the severity of a number without a name."""
    known = find_ntstatus(value)
    if known is not None:
        return known.sentence
    return f"An unnamed {('success', 'informational', 'warning', 'error')[nt_severity(value)]} status."
