"""ddrawint.h and the call side of d3dhal.h: how a legacy Direct3D runtime finds a driver's entries, and surfaces.

DdGetDriverInfo with a GUID exchanges tables: D3DCallbacks gives the context entries, D3DCallbacks3 gives DrawPrimitives2,
Miscellaneous2Callbacks gives CreateSurfaceEx, and D3DParseUnknownCommandCallback hands the runtime's parser to the driver. An entry
returns DDHAL_DRIVER_HANDLED and puts its HRESULT into the argument's ``ddrval``. Models "DirectDraw driver functions" and
"Direct3D driver initialization".

DEVIATES: a DirectDraw object stands for a Direct3D 11 driver device (``hDrvDevice``), and a surface for a resource of that device
(``hDrvResource``): memory, swap chains and presenting are those of the device.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, TypeAlias

from .d3dhal import D3DHAL_DRAWPRIMITIVES2DATA

DDHAL_DRIVER_NOTHANDLED: Final = 0
DDHAL_DRIVER_HANDLED: Final = 1

GUID_D3DCallbacks: Final = "7bf06990-8794-11d0-9139-080036d2ef02"
GUID_D3DCallbacks3: Final = "ddf41230-ec0a-11d0-a9b6-00aa00c0993e"
GUID_Miscellaneous2Callbacks: Final = "406b2f00-3e5a-11d1-b640-00aa00a1f96a"
GUID_D3DParseUnknownCommandCallback: Final = "2e04ffa0-98e4-11d1-8ce1-00a0c90629a8"

#: What an entry returns: DDHAL_DRIVER_…, or an awaitable of it when it has to wait.
DriverResult: TypeAlias = int | Awaitable[int]
#: D3dParseUnknownCommand: (command stream from the unknown command on) -> (HRESULT, bytes to go on behind).
ParseUnknownCommand: TypeAlias = Callable[[memoryview], tuple[int, int]]


class D3DFORMAT(IntEnum):
    """Surface formats whose meaning no DXGI format has; UNKNOWN is what the resource's own format says."""

    UNKNOWN = 0
    P8 = 41
    L8 = 50
    A8L8 = 51
    L16 = 81


@dataclass(slots=True)
class DD_GETDRIVERINFODATA:
    """Argument of DdGetDriverInfo: ``lpvData`` is what the GUID says, in or out."""

    hDrvDevice: int
    guidInfo: str
    lpvData: Any = None
    ddRVal: int = 0


@dataclass(slots=True)
class DD_SURFACE_LOCAL:
    """A surface: the number by which command buffers name it, the resource behind it, what its texels mean.

    ``dwSubresource`` is the mip level or cube face (``mip + face * mips``) that is drawn to; a texture is sampled whole.
    """

    dwSurfaceHandle: int
    hDrvResource: int
    ddpfSurface: D3DFORMAT = D3DFORMAT.UNKNOWN
    dwSubresource: int = 0


@dataclass(slots=True)
class DD_CREATESURFACEEXDATA:
    """Argument of D3dCreateSurfaceEx: the surface exists from now on, or, without a resource, no longer."""

    dwhContext: int
    lpDDSLcl: DD_SURFACE_LOCAL
    ddRVal: int = 0


@dataclass(slots=True)
class D3DHAL_CONTEXTCREATEDATA:
    """Argument of D3dContextCreate. ``dwhContext`` is out. A context begins without a target: SETRENDERTARGET gives it one."""

    hDrvDevice: int
    dwhContext: int = 0
    ddrval: int = 0


@dataclass(slots=True)
class D3DHAL_CONTEXTDESTROYDATA:
    """Argument of D3dContextDestroy."""

    dwhContext: int
    ddrval: int = 0


@dataclass(slots=True)
class D3DHAL_CALLBACKS:
    """Context entries."""

    ContextCreate: Callable[[D3DHAL_CONTEXTCREATEDATA], DriverResult] | None = None
    ContextDestroy: Callable[[D3DHAL_CONTEXTDESTROYDATA], DriverResult] | None = None


@dataclass(slots=True)
class D3DHAL_CALLBACKS3:
    """The drawing entry."""

    DrawPrimitives2: Callable[[D3DHAL_DRAWPRIMITIVES2DATA], DriverResult] | None = None


@dataclass(slots=True)
class DD_MISCELLANEOUS2CALLBACKS:
    """Surfaces."""

    CreateSurfaceEx: Callable[[DD_CREATESURFACEEXDATA], DriverResult] | None = None
