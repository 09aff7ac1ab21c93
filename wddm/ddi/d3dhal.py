"""d3dhal.h: the DrawPrimitives2 (DP2) command buffer of Direct3D drivers, DirectX 6 to 9.

Opcodes with the shape of their payload, every payload structure as a numpy dtype of exact size, flexible vertex formats, render
states with defaults, texture-stage states, and the enumerations of state values. Models "Direct3D Command Buffers" and the
``d3dhal`` reference. Declarations only: the parser is the driver's.

A stream is { D3DHAL_DP2COMMAND, payload }; nothing is padded, so a header may stand at an address that is 2 modulo 4. The two
commands with inline vertices align to 4 bytes (relative to the buffer) before the first vertex and after the last.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from .d3dukmdt import Layout

Dtype: TypeAlias = np.dtype[Any]

D3DHAL_MAX_RSTATES: Final = 256
D3DHAL_TSS_RENDERSTATEBASE: Final = 256
D3DHAL_TSS_MAXSTAGES: Final = 8
D3DHAL_TSS_STATESPERSTAGE: Final = 64
DDRAWIPAL_ALPHA: Final = 0x2000


def _words(*names: str) -> Dtype:
    """Record of DWORDs."""
    return np.dtype([(name, "<u4") for name in names])


def _shorts(*names: str) -> Dtype:
    """Record of WORDs."""
    return np.dtype([(name, "<u2") for name in names])


# --- the call -------------------------------------------------------------------------------------------------------


class D3DHALDP2(IntFlag):
    """dwFlags of the call; the last two are set by the driver."""

    NONE = 0
    USERMEMVERTICES = 0x1
    EXECUTEBUFFER = 0x2
    SWAPVERTEXBUFFER = 0x4
    SWAPCOMMANDBUFFER = 0x8
    REQVERTEXBUFSIZE = 0x10
    REQCOMMANDBUFSIZE = 0x20
    VIDMEMVERTEXBUF = 0x40
    VIDMEMCOMMANDBUF = 0x80


@dataclass(slots=True)
class D3DHAL_DRAWPRIMITIVES2DATA:
    """Argument of D3dDrawPrimitives2. Offsets in bytes; ``dwVertexLength`` counts vertices.

    ``lpDDVertex`` (a surface's handle; 0 = none) and ``lpVertices`` share a place (USERMEMVERTICES tells which), and so do
    ``dwVertexSize`` (in) and ``ddrval`` (out). ``dwErrorOffset`` is out: offset of the first command not handled, or on success the
    size of the response.
    """

    dwhContext: int
    dwFlags: D3DHALDP2
    dwVertexType: int
    lpDDCommands: memoryview
    dwCommandOffset: int
    dwCommandLength: int
    lpDDVertex: int
    lpVertices: memoryview | None
    dwVertexOffset: int
    dwVertexLength: int
    dwVertexSize: int
    lpdwRStates: np.ndarray[Any, np.dtype[np.uint32]]
    dwReqVertexBufSize: int = 0
    dwReqCommandBufSize: int = 0
    ddrval: int = 0
    dwErrorOffset: int = 0
    _SIZE_: ClassVar[int] = 72
    _LAYOUT_: ClassVar[Layout] = (
        ("dwhContext", 0, 8),
        ("dwFlags", 8, 4),
        ("dwVertexType", 12, 4),
        ("lpDDCommands", 16, 8),
        ("dwCommandOffset", 24, 4),
        ("dwCommandLength", 28, 4),
        ("lpDDVertex", 32, 8),
        ("lpVertices", 32, 8),
        ("dwVertexOffset", 40, 4),
        ("dwVertexLength", 44, 4),
        ("dwReqVertexBufSize", 48, 4),
        ("dwReqCommandBufSize", 52, 4),
        ("lpdwRStates", 56, 8),
        ("dwVertexSize", 64, 4),
        ("ddrval", 64, 4),
        ("dwErrorOffset", 68, 4),
    )


D3DHAL_DP2COMMAND_DTYPE: Final = np.dtype([("bCommand", "u1"), ("bReserved", "u1"), ("wPrimitiveCount", "<u2")])
"""Header of a command; ``wPrimitiveCount`` is wStateCount for commands that are no primitives. 4 bytes."""
D3DHAL_DP2RESPONSE_DTYPE: Final = np.dtype(
    [("bCommand", "u1"), ("bReserved", "u1"), ("wStateCount", "<u2"), ("dwTotalSize", "<u4")]
)
"""Header of a response, which overwrites the command buffer; 8 bytes, counted in ``dwTotalSize``."""
D3DHAL_DP2RESPONSEQUERY_DTYPE: Final = _words("dwQueryID", "dwSize")

# --- payload structures ---------------------------------------------------------------------------------------------

D3DHAL_DP2POINTS_DTYPE: Final = _shorts("wCount", "wVStart")
D3DHAL_DP2STARTVERTEX_DTYPE: Final = _shorts("wVStart")
D3DHAL_DP2LINELIST_DTYPE: Final = _shorts("wVStart")
D3DHAL_DP2LINESTRIP_DTYPE: Final = _shorts("wVStart")
D3DHAL_DP2TRIANGLELIST_DTYPE: Final = _shorts("wVStart")
D3DHAL_DP2TRIANGLESTRIP_DTYPE: Final = _shorts("wVStart")
D3DHAL_DP2TRIANGLEFAN_DTYPE: Final = _shorts("wVStart")
D3DHAL_DP2TRIANGLEFAN_IMM_DTYPE: Final = _words("dwEdgeFlags")
D3DHAL_DP2INDEXEDLINELIST_DTYPE: Final = _shorts("wV1", "wV2")
D3DHAL_DP2INDEXEDTRIANGLELIST_DTYPE: Final = _shorts("wV1", "wV2", "wV3", "wFlags")
D3DHAL_DP2INDEXEDTRIANGLELIST2_DTYPE: Final = _shorts("wV1", "wV2", "wV3")
D3DHAL_DP2INDEX_DTYPE: Final = _shorts("wIndex")
D3DHAL_DP2RENDERSTATE_DTYPE: Final = _words("RenderState", "dwState")
D3DHAL_DP2TEXTURESTAGESTATE_DTYPE: Final = np.dtype([("wStage", "<u2"), ("TSState", "<u2"), ("dwValue", "<u4")])
D3DHAL_DP2VIEWPORTINFO_DTYPE: Final = _words("dwX", "dwY", "dwWidth", "dwHeight")
D3DHAL_DP2WINFO_DTYPE: Final = np.dtype([("dvWNear", "<f4"), ("dvWFar", "<f4")])
D3DHAL_DP2SETPALETTE_DTYPE: Final = _words("dwPaletteHandle", "dwPaletteFlags", "dwSurfaceHandle")
D3DHAL_DP2UPDATEPALETTE_DTYPE: Final = np.dtype([("dwPaletteHandle", "<u4"), ("wStartIndex", "<u2"), ("wNumEntries", "<u2")])
D3DHAL_DP2ZRANGE_DTYPE: Final = np.dtype([("dvMinZ", "<f4"), ("dvMaxZ", "<f4")])
D3DMATERIAL7_DTYPE: Final = np.dtype(
    [
        ("Diffuse", "<f4", (4,)),
        ("Ambient", "<f4", (4,)),
        ("Specular", "<f4", (4,)),
        ("Emissive", "<f4", (4,)),
        ("Power", "<f4"),
    ]
)
D3DHAL_DP2SETLIGHT_DTYPE: Final = _words("dwIndex", "dwDataType")
D3DLIGHT7_DTYPE: Final = np.dtype(
    [
        ("Type", "<u4"),
        ("Diffuse", "<f4", (4,)),
        ("Specular", "<f4", (4,)),
        ("Ambient", "<f4", (4,)),
        ("Position", "<f4", (3,)),
        ("Direction", "<f4", (3,)),
        ("Range", "<f4"),
        ("Falloff", "<f4"),
        ("Attenuation0", "<f4"),
        ("Attenuation1", "<f4"),
        ("Attenuation2", "<f4"),
        ("Theta", "<f4"),
        ("Phi", "<f4"),
    ]
)
D3DHAL_DP2CREATELIGHT_DTYPE: Final = _words("dwIndex")
D3DHAL_DP2SETTRANSFORM_DTYPE: Final = np.dtype([("xfrmType", "<u4"), ("matrix", "<f4", (4, 4))])
RECTL_DTYPE: Final = np.dtype([("left", "<i4"), ("top", "<i4"), ("right", "<i4"), ("bottom", "<i4")])
POINTL_DTYPE: Final = np.dtype([("x", "<i4"), ("y", "<i4")])
D3DBOX_DTYPE: Final = _words("Left", "Top", "Right", "Bottom", "Front", "Back")
D3DRANGE_DTYPE: Final = _words("Offset", "Size")
D3DHAL_DP2TEXBLT_DTYPE: Final = np.dtype(
    [
        ("dwDDDestSurface", "<u4"),
        ("dwDDSrcSurface", "<u4"),
        ("pDest", POINTL_DTYPE),
        ("rSrc", RECTL_DTYPE),
        ("dwFlags", "<u4"),
    ]
)
D3DHAL_DP2STATESET_DTYPE: Final = _words("dwOperation", "dwParam", "sbType")
D3DHAL_DP2SETPRIORITY_DTYPE: Final = _words("dwDDSurface", "dwPriority")
D3DHAL_DP2SETRENDERTARGET_DTYPE: Final = _words("hRenderTarget", "hZBuffer")
D3DHAL_DP2CLEAR_DTYPE: Final = np.dtype(
    [
        ("dwFlags", "<u4"),
        ("dwFillColor", "<u4"),
        ("dvFillDepth", "<f4"),
        ("dwFillStencil", "<u4"),
        ("Rects", RECTL_DTYPE, (1,)),
    ]
)
D3DHAL_DP2SETTEXLOD_DTYPE: Final = _words("dwDDSurface", "dwLOD")
D3DHAL_DP2SETCLIPPLANE_DTYPE: Final = np.dtype([("dwIndex", "<u4"), ("plane", "<f4", (4,))])
D3DHAL_DP2CREATEVERTEXSHADER_DTYPE: Final = _words("dwHandle", "dwDeclSize", "dwCodeSize")
D3DHAL_DP2VERTEXSHADER_DTYPE: Final = _words("dwHandle")
D3DHAL_DP2SETVERTEXSHADERCONST_DTYPE: Final = _words("dwRegister", "dwCount")
D3DHAL_DP2SETSTREAMSOURCE_DTYPE: Final = _words("dwStream", "dwVBHandle", "dwStride")
D3DHAL_DP2SETSTREAMSOURCEUM_DTYPE: Final = _words("dwStream", "dwStride")
D3DHAL_DP2SETINDICES_DTYPE: Final = _words("dwVBHandle", "dwStride")
D3DHAL_DP2DRAWPRIMITIVE_DTYPE: Final = _words("primType", "VStart", "PrimitiveCount")
D3DHAL_DP2DRAWINDEXEDPRIMITIVE_DTYPE: Final = np.dtype(
    [
        ("primType", "<u4"),
        ("BaseVertexIndex", "<i4"),
        ("MinIndex", "<u4"),
        ("NumVertices", "<u4"),
        ("StartIndex", "<u4"),
        ("PrimitiveCount", "<u4"),
    ]
)
"""BaseVertexIndex is signed from DirectX 9 on, unsigned before."""
D3DHAL_DP2CREATEPIXELSHADER_DTYPE: Final = _words("dwHandle", "dwCodeSize")
D3DHAL_DP2PIXELSHADER_DTYPE: Final = _words("dwHandle")
D3DHAL_DP2SETPIXELSHADERCONST_DTYPE: Final = _words("dwRegister", "dwCount")
D3DHAL_CLIPPEDTRIANGLEFAN_DTYPE: Final = _words("FirstVertexOffset", "dwEdgeFlags", "PrimitiveCount")
D3DHAL_DP2DRAWPRIMITIVE2_DTYPE: Final = _words("primType", "FirstVertexOffset", "PrimitiveCount")
D3DHAL_DP2DRAWINDEXEDPRIMITIVE2_DTYPE: Final = np.dtype(
    [
        ("primType", "<u4"),
        ("BaseVertexOffset", "<i4"),
        ("MinIndex", "<u4"),
        ("NumVertices", "<u4"),
        ("StartIndexOffset", "<u4"),
        ("PrimitiveCount", "<u4"),
    ]
)
D3DHAL_DP2DRAWRECTPATCH_DTYPE: Final = _words("Handle", "Flags")
D3DHAL_DP2DRAWTRIPATCH_DTYPE: Final = _words("Handle", "Flags")
D3DRECTPATCH_INFO_DTYPE: Final = _words(
    "StartVertexOffsetWidth", "StartVertexOffsetHeight", "Width", "Height", "Stride", "Basis", "Degree"
)
D3DTRIPATCH_INFO_DTYPE: Final = _words("StartVertexOffset", "NumVertices", "Basis", "Degree")
D3DHAL_DP2VOLUMEBLT_DTYPE: Final = np.dtype(
    [
        ("dwDDDestSurface", "<u4"),
        ("dwDDSrcSurface", "<u4"),
        ("dwDestX", "<u4"),
        ("dwDestY", "<u4"),
        ("dwDestZ", "<u4"),
        ("srcBox", D3DBOX_DTYPE),
        ("dwFlags", "<u4"),
    ]
)
D3DHAL_DP2BUFFERBLT_DTYPE: Final = np.dtype(
    [
        ("dwDDDestSurface", "<u4"),
        ("dwDDSrcSurface", "<u4"),
        ("dwOffset", "<u4"),
        ("rSrc", D3DRANGE_DTYPE),
        ("dwFlags", "<u4"),
    ]
)
D3DHAL_DP2MULTIPLYTRANSFORM_DTYPE: Final = np.dtype([("xfrmType", "<u4"), ("matrix", "<f4", (4, 4))])
D3DHAL_DP2ADDDIRTYRECT_DTYPE: Final = np.dtype([("dwSurface", "<u4"), ("rDirtyArea", RECTL_DTYPE)])
D3DHAL_DP2ADDDIRTYBOX_DTYPE: Final = np.dtype([("dwSurface", "<u4"), ("DirtyBox", D3DBOX_DTYPE)])
D3DHAL_DP2CREATEVERTEXSHADERDECL_DTYPE: Final = _words("dwHandle", "dwNumVertexElements")
D3DVERTEXELEMENT9_DTYPE: Final = np.dtype(
    [
        ("Stream", "<u2"),
        ("Offset", "<u2"),
        ("Type", "u1"),
        ("Method", "u1"),
        ("Usage", "u1"),
        ("UsageIndex", "u1"),
    ]
)
D3DHAL_DP2CREATEVERTEXSHADERFUNC_DTYPE: Final = _words("dwHandle", "dwSize")
D3DHAL_DP2SETSCISSORRECT_DTYPE: Final = RECTL_DTYPE
D3DHAL_DP2SETSTREAMSOURCE2_DTYPE: Final = _words("dwStream", "dwVBHandle", "dwOffset", "dwStride")
D3DHAL_DP2BLT_DTYPE: Final = np.dtype(
    [
        ("dwSource", "<u4"),
        ("rSource", RECTL_DTYPE),
        ("dwSourceMipLevel", "<u4"),
        ("dwDest", "<u4"),
        ("rDest", RECTL_DTYPE),
        ("dwDestMipLevel", "<u4"),
        ("Flags", "<u4"),
    ]
)
D3DHAL_DP2SURFACEBLT_DTYPE: Final = D3DHAL_DP2BLT_DTYPE
D3DHAL_DP2COLORFILL_DTYPE: Final = np.dtype([("dwSurface", "<u4"), ("rRect", RECTL_DTYPE), ("Color", "<u4")])
D3DHAL_DP2CREATEQUERY_DTYPE: Final = _words("dwQueryID", "QueryType")
D3DHAL_DP2SETRENDERTARGET2_DTYPE: Final = _words("RTIndex", "hRenderTarget")
D3DHAL_DP2SETDEPTHSTENCIL_DTYPE: Final = _words("hZBuffer")
D3DHAL_DP2GENERATEMIPSUBLEVELS_DTYPE: Final = _words("hSurface", "Filter")
D3DHAL_DP2DELETEQUERY_DTYPE: Final = _words("dwQueryID")
D3DHAL_DP2ISSUEQUERY_DTYPE: Final = _words("dwQueryID", "dwFlags")
D3DHAL_DP2SETSTREAMSOURCEFREQ_DTYPE: Final = _words("dwStream", "dwDivider")
D3DHAL_DP2SETCONVOLUTIONKERNELMONO_DTYPE: Final = _words("dwWidth", "dwHeight", "dwFlags")
D3DHAL_DP2COMPOSERECTS_DTYPE: Final = np.dtype(
    [
        ("SrcSurfaceHandle", "<u4"),
        ("DstSurfaceHandle", "<u4"),
        ("SrcRectDescsVBHandle", "<u4"),
        ("NumRects", "<u4"),
        ("DstRectDescsVBHandle", "<u4"),
        ("Operation", "<u4"),
        ("XOffset", "<i4"),
        ("YOffset", "<i4"),
    ]
)
D3DHAL_DP2EXT_DTYPE: Final = _words("dwExtToken", "dwSize")
D3DDEVINFO_VCACHE_DTYPE: Final = _words("Pattern", "OptMethod", "CacheSize", "MagicNumber")

# --- opcodes --------------------------------------------------------------------------------------------------------


class D3DHAL_DP2OPERATION(IntEnum):
    """Opcodes (D3DDP2OP_)."""

    POINTS = 1
    INDEXEDLINELIST = 2
    INDEXEDTRIANGLELIST = 3
    RENDERSTATE = 8
    LINELIST = 15
    LINESTRIP = 16
    INDEXEDLINESTRIP = 17
    TRIANGLELIST = 18
    TRIANGLESTRIP = 19
    INDEXEDTRIANGLESTRIP = 20
    TRIANGLEFAN = 21
    INDEXEDTRIANGLEFAN = 22
    TRIANGLEFAN_IMM = 23
    LINELIST_IMM = 24
    TEXTURESTAGESTATE = 25
    INDEXEDTRIANGLELIST2 = 26
    INDEXEDLINELIST2 = 27
    VIEWPORTINFO = 28
    WINFO = 29
    SETPALETTE = 30
    UPDATEPALETTE = 31
    ZRANGE = 32
    SETMATERIAL = 33
    SETLIGHT = 34
    CREATELIGHT = 35
    SETTRANSFORM = 36
    TEXBLT = 38
    STATESET = 39
    SETPRIORITY = 40
    SETRENDERTARGET = 41
    CLEAR = 42
    SETTEXLOD = 43
    SETCLIPPLANE = 44
    CREATEVERTEXSHADER = 45
    DELETEVERTEXSHADER = 46
    SETVERTEXSHADER = 47
    SETVERTEXSHADERCONST = 48
    SETSTREAMSOURCE = 49
    SETSTREAMSOURCEUM = 50
    SETINDICES = 51
    DRAWPRIMITIVE = 52
    DRAWINDEXEDPRIMITIVE = 53
    CREATEPIXELSHADER = 54
    DELETEPIXELSHADER = 55
    SETPIXELSHADER = 56
    SETPIXELSHADERCONST = 57
    CLIPPEDTRIANGLEFAN = 58
    DRAWPRIMITIVE2 = 59
    DRAWINDEXEDPRIMITIVE2 = 60
    DRAWRECTPATCH = 61
    DRAWTRIPATCH = 62
    VOLUMEBLT = 63
    BUFFERBLT = 64
    MULTIPLYTRANSFORM = 65
    ADDDIRTYRECT = 66
    ADDDIRTYBOX = 67
    CREATEVERTEXSHADERDECL = 71
    DELETEVERTEXSHADERDECL = 72
    SETVERTEXSHADERDECL = 73
    CREATEVERTEXSHADERFUNC = 74
    DELETEVERTEXSHADERFUNC = 75
    SETVERTEXSHADERFUNC = 76
    SETVERTEXSHADERCONSTI = 77
    SETSCISSORRECT = 79
    SETSTREAMSOURCE2 = 80
    BLT = 81
    COLORFILL = 82
    SETVERTEXSHADERCONSTB = 83
    CREATEQUERY = 84
    SETRENDERTARGET2 = 85
    SETDEPTHSTENCIL = 86
    RESPONSECONTINUE = 87
    RESPONSEQUERY = 88
    GENERATEMIPSUBLEVELS = 89
    DELETEQUERY = 90
    ISSUEQUERY = 91
    SETPIXELSHADERCONSTI = 93
    SETPIXELSHADERCONSTB = 94
    SETSTREAMSOURCEFREQ = 95
    SURFACEBLT = 96
    SETCONVOLUTIONKERNELMONO = 97
    COMPOSERECTS = 98


@dataclass(frozen=True, slots=True)
class DP2Command:
    """Shape of a payload, N being the header's count.

    ``once`` comes first, one time; ``each`` follows N + ``plus`` times, or one time when ``single``. ``tail`` lists, for each
    element, the members that count the data after it and the bytes of one unit. ``inline`` is the number of inline vertices as
    (per primitive, more), 4-byte aligned before and after. A ``conditional`` element has data that depends on its flags; the
    comment at the table tells which. ``response`` commands go from driver to runtime only.
    """

    level: str
    each: Dtype | None = None
    once: Dtype | None = None
    plus: int = 0
    single: bool = False
    tail: tuple[tuple[str, int], ...] = ()
    inline: tuple[int, int] | None = None
    conditional: bool = False
    response: bool = False


_OP: Final = D3DHAL_DP2OPERATION
DP2_COMMANDS: Final[Mapping[D3DHAL_DP2OPERATION, DP2Command]] = MappingProxyType({
    _OP.POINTS: DP2Command("6", D3DHAL_DP2POINTS_DTYPE),
    _OP.INDEXEDLINELIST: DP2Command("6", D3DHAL_DP2INDEXEDLINELIST_DTYPE),
    _OP.INDEXEDTRIANGLELIST: DP2Command("6", D3DHAL_DP2INDEXEDTRIANGLELIST_DTYPE),
    _OP.RENDERSTATE: DP2Command("6", D3DHAL_DP2RENDERSTATE_DTYPE),
    _OP.LINELIST: DP2Command("6", D3DHAL_DP2LINELIST_DTYPE, single=True),
    _OP.LINESTRIP: DP2Command("6", D3DHAL_DP2LINESTRIP_DTYPE, single=True),
    _OP.INDEXEDLINESTRIP: DP2Command("6", D3DHAL_DP2INDEX_DTYPE, D3DHAL_DP2STARTVERTEX_DTYPE, plus=1),
    _OP.TRIANGLELIST: DP2Command("6", D3DHAL_DP2TRIANGLELIST_DTYPE, single=True),
    _OP.TRIANGLESTRIP: DP2Command("6", D3DHAL_DP2TRIANGLESTRIP_DTYPE, single=True),
    _OP.INDEXEDTRIANGLESTRIP: DP2Command("6", D3DHAL_DP2INDEX_DTYPE, D3DHAL_DP2STARTVERTEX_DTYPE, plus=2),
    _OP.TRIANGLEFAN: DP2Command("6", D3DHAL_DP2TRIANGLEFAN_DTYPE, single=True),
    _OP.INDEXEDTRIANGLEFAN: DP2Command("6", D3DHAL_DP2INDEX_DTYPE, D3DHAL_DP2STARTVERTEX_DTYPE, plus=2),
    _OP.TRIANGLEFAN_IMM: DP2Command("6", once=D3DHAL_DP2TRIANGLEFAN_IMM_DTYPE, inline=(1, 2)),
    _OP.LINELIST_IMM: DP2Command("6", inline=(2, 0)),
    _OP.TEXTURESTAGESTATE: DP2Command("6", D3DHAL_DP2TEXTURESTAGESTATE_DTYPE),
    _OP.INDEXEDTRIANGLELIST2: DP2Command("6", D3DHAL_DP2INDEXEDTRIANGLELIST2_DTYPE, D3DHAL_DP2STARTVERTEX_DTYPE),
    _OP.INDEXEDLINELIST2: DP2Command("6", D3DHAL_DP2INDEXEDLINELIST_DTYPE, D3DHAL_DP2STARTVERTEX_DTYPE),
    _OP.VIEWPORTINFO: DP2Command("6", D3DHAL_DP2VIEWPORTINFO_DTYPE, single=True),
    _OP.WINFO: DP2Command("6", D3DHAL_DP2WINFO_DTYPE, single=True),
    _OP.SETPALETTE: DP2Command("7", D3DHAL_DP2SETPALETTE_DTYPE),
    _OP.UPDATEPALETTE: DP2Command("7", D3DHAL_DP2UPDATEPALETTE_DTYPE, single=True, tail=(("wNumEntries", 4),)),
    _OP.ZRANGE: DP2Command("7", D3DHAL_DP2ZRANGE_DTYPE),
    _OP.SETMATERIAL: DP2Command("7", D3DMATERIAL7_DTYPE),
    # SETLIGHT: a D3DLIGHT7 follows an element whose dwDataType is DATA.
    _OP.SETLIGHT: DP2Command("7", D3DHAL_DP2SETLIGHT_DTYPE, conditional=True),
    _OP.CREATELIGHT: DP2Command("7", D3DHAL_DP2CREATELIGHT_DTYPE),
    _OP.SETTRANSFORM: DP2Command("7", D3DHAL_DP2SETTRANSFORM_DTYPE),
    _OP.TEXBLT: DP2Command("7", D3DHAL_DP2TEXBLT_DTYPE),
    _OP.STATESET: DP2Command("7", D3DHAL_DP2STATESET_DTYPE),
    _OP.SETPRIORITY: DP2Command("7", D3DHAL_DP2SETPRIORITY_DTYPE),
    _OP.SETRENDERTARGET: DP2Command("7", D3DHAL_DP2SETRENDERTARGET_DTYPE),
    # CLEAR: the first structure holds one rectangle even when N is 0; N-1 rectangles follow.
    _OP.CLEAR: DP2Command("7", RECTL_DTYPE, D3DHAL_DP2CLEAR_DTYPE, plus=-1),
    _OP.SETTEXLOD: DP2Command("7", D3DHAL_DP2SETTEXLOD_DTYPE),
    _OP.SETCLIPPLANE: DP2Command("7", D3DHAL_DP2SETCLIPPLANE_DTYPE),
    _OP.CREATEVERTEXSHADER: DP2Command("8", D3DHAL_DP2CREATEVERTEXSHADER_DTYPE, tail=(("dwDeclSize", 1), ("dwCodeSize", 1))),
    _OP.DELETEVERTEXSHADER: DP2Command("8", D3DHAL_DP2VERTEXSHADER_DTYPE),
    _OP.SETVERTEXSHADER: DP2Command("8", D3DHAL_DP2VERTEXSHADER_DTYPE),
    _OP.SETVERTEXSHADERCONST: DP2Command("8", D3DHAL_DP2SETVERTEXSHADERCONST_DTYPE, tail=(("dwCount", 16),)),
    _OP.SETSTREAMSOURCE: DP2Command("8", D3DHAL_DP2SETSTREAMSOURCE_DTYPE),
    _OP.SETSTREAMSOURCEUM: DP2Command("8", D3DHAL_DP2SETSTREAMSOURCEUM_DTYPE),
    _OP.SETINDICES: DP2Command("8", D3DHAL_DP2SETINDICES_DTYPE),
    _OP.DRAWPRIMITIVE: DP2Command("8", D3DHAL_DP2DRAWPRIMITIVE_DTYPE),
    _OP.DRAWINDEXEDPRIMITIVE: DP2Command("8", D3DHAL_DP2DRAWINDEXEDPRIMITIVE_DTYPE),
    _OP.CREATEPIXELSHADER: DP2Command("8", D3DHAL_DP2CREATEPIXELSHADER_DTYPE, tail=(("dwCodeSize", 1),)),
    _OP.DELETEPIXELSHADER: DP2Command("8", D3DHAL_DP2PIXELSHADER_DTYPE),
    _OP.SETPIXELSHADER: DP2Command("8", D3DHAL_DP2PIXELSHADER_DTYPE),
    _OP.SETPIXELSHADERCONST: DP2Command("8", D3DHAL_DP2SETPIXELSHADERCONST_DTYPE, tail=(("dwCount", 16),)),
    _OP.CLIPPEDTRIANGLEFAN: DP2Command("8", D3DHAL_CLIPPEDTRIANGLEFAN_DTYPE),
    _OP.DRAWPRIMITIVE2: DP2Command("8", D3DHAL_DP2DRAWPRIMITIVE2_DTYPE),
    _OP.DRAWINDEXEDPRIMITIVE2: DP2Command("8", D3DHAL_DP2DRAWINDEXEDPRIMITIVE2_DTYPE),
    # Patches: four (rectangle) or three (triangle) floats with HASSEGS, then the info structure with HASINFO.
    _OP.DRAWRECTPATCH: DP2Command("8", D3DHAL_DP2DRAWRECTPATCH_DTYPE, conditional=True),
    _OP.DRAWTRIPATCH: DP2Command("8", D3DHAL_DP2DRAWTRIPATCH_DTYPE, conditional=True),
    _OP.VOLUMEBLT: DP2Command("8", D3DHAL_DP2VOLUMEBLT_DTYPE),
    _OP.BUFFERBLT: DP2Command("8", D3DHAL_DP2BUFFERBLT_DTYPE),
    _OP.MULTIPLYTRANSFORM: DP2Command("8", D3DHAL_DP2MULTIPLYTRANSFORM_DTYPE),
    _OP.ADDDIRTYRECT: DP2Command("8.1", D3DHAL_DP2ADDDIRTYRECT_DTYPE),
    _OP.ADDDIRTYBOX: DP2Command("8.1", D3DHAL_DP2ADDDIRTYBOX_DTYPE),
    _OP.CREATEVERTEXSHADERDECL: DP2Command("9", D3DHAL_DP2CREATEVERTEXSHADERDECL_DTYPE, tail=(("dwNumVertexElements", 8),)),
    _OP.DELETEVERTEXSHADERDECL: DP2Command("9", D3DHAL_DP2VERTEXSHADER_DTYPE),
    _OP.SETVERTEXSHADERDECL: DP2Command("9", D3DHAL_DP2VERTEXSHADER_DTYPE),
    _OP.CREATEVERTEXSHADERFUNC: DP2Command("9", D3DHAL_DP2CREATEVERTEXSHADERFUNC_DTYPE, tail=(("dwSize", 1),)),
    _OP.DELETEVERTEXSHADERFUNC: DP2Command("9", D3DHAL_DP2VERTEXSHADER_DTYPE),
    _OP.SETVERTEXSHADERFUNC: DP2Command("9", D3DHAL_DP2VERTEXSHADER_DTYPE),
    _OP.SETVERTEXSHADERCONSTI: DP2Command("9", D3DHAL_DP2SETVERTEXSHADERCONST_DTYPE, tail=(("dwCount", 16),)),
    _OP.SETSCISSORRECT: DP2Command("9", D3DHAL_DP2SETSCISSORRECT_DTYPE),
    _OP.SETSTREAMSOURCE2: DP2Command("9", D3DHAL_DP2SETSTREAMSOURCE2_DTYPE),
    _OP.BLT: DP2Command("9", D3DHAL_DP2BLT_DTYPE),
    _OP.COLORFILL: DP2Command("9", D3DHAL_DP2COLORFILL_DTYPE),
    _OP.SETVERTEXSHADERCONSTB: DP2Command("9", D3DHAL_DP2SETVERTEXSHADERCONST_DTYPE, tail=(("dwCount", 4),)),
    _OP.CREATEQUERY: DP2Command("9", D3DHAL_DP2CREATEQUERY_DTYPE),
    _OP.SETRENDERTARGET2: DP2Command("9", D3DHAL_DP2SETRENDERTARGET2_DTYPE),
    _OP.SETDEPTHSTENCIL: DP2Command("9", D3DHAL_DP2SETDEPTHSTENCIL_DTYPE),
    _OP.RESPONSECONTINUE: DP2Command("9", response=True),
    _OP.RESPONSEQUERY: DP2Command("9", D3DHAL_DP2RESPONSEQUERY_DTYPE, tail=(("dwSize", 1),), response=True),
    _OP.GENERATEMIPSUBLEVELS: DP2Command("9", D3DHAL_DP2GENERATEMIPSUBLEVELS_DTYPE),
    _OP.DELETEQUERY: DP2Command("9", D3DHAL_DP2DELETEQUERY_DTYPE),
    _OP.ISSUEQUERY: DP2Command("9", D3DHAL_DP2ISSUEQUERY_DTYPE),
    _OP.SETPIXELSHADERCONSTI: DP2Command("9", D3DHAL_DP2SETPIXELSHADERCONST_DTYPE, tail=(("dwCount", 16),)),
    _OP.SETPIXELSHADERCONSTB: DP2Command("9", D3DHAL_DP2SETPIXELSHADERCONST_DTYPE, tail=(("dwCount", 4),)),
    _OP.SETSTREAMSOURCEFREQ: DP2Command("9", D3DHAL_DP2SETSTREAMSOURCEFREQ_DTYPE),
    _OP.SURFACEBLT: DP2Command("9", D3DHAL_DP2SURFACEBLT_DTYPE),
    # Convolution kernel: dwWidth floats with ROW_WEIGHTS, then dwHeight floats with COL_WEIGHTS; absent weights are 1.0.
    _OP.SETCONVOLUTIONKERNELMONO: DP2Command("9Ex", D3DHAL_DP2SETCONVOLUTIONKERNELMONO_DTYPE, single=True, conditional=True),
    _OP.COMPOSERECTS: DP2Command("9Ex", D3DHAL_DP2COMPOSERECTS_DTYPE, single=True),
})  # fmt: skip
"""Every assigned opcode. An opcode that is not here has an unknown length and goes to the runtime's parse callback."""


class D3DTRIFLAG(IntFlag):
    """Edge flags of INDEXEDTRIANGLELIST (wFlags)."""

    NONE = 0
    EDGEENABLE1 = 0x100
    EDGEENABLE2 = 0x200
    EDGEENABLE3 = 0x400
    EDGEENABLETRIANGLE = 0x700


class D3DHAL_SETLIGHT(IntEnum):
    """dwDataType of SETLIGHT."""

    ENABLE = 0
    DISABLE = 1
    DATA = 2


class D3DHAL_STATESET(IntEnum):
    """dwOperation of STATESET."""

    BEGIN = 0
    END = 1
    DELETE = 2
    EXECUTE = 3
    CAPTURE = 4
    CREATE = 5


class D3DSTATEBLOCKTYPE(IntEnum):
    """sbType of STATESET."""

    NONE = 0
    ALL = 1
    PIXELSTATE = 2
    VERTEXSTATE = 3


class D3DCLEAR(IntFlag):
    """dwFlags of CLEAR."""

    NONE = 0
    TARGET = 0x1
    ZBUFFER = 0x2
    STENCIL = 0x4
    COMPUTERECTS = 0x8


class RTPATCHFLAG(IntFlag):
    """Flags of patches."""

    NONE = 0
    HASSEGS = 0x1
    HASINFO = 0x2


class CONVOLUTIONKERNELFLAG(IntFlag):
    """dwFlags of SETCONVOLUTIONKERNELMONO."""

    NONE = 0
    ROW_WEIGHTS = 0x1
    COL_WEIGHTS = 0x2


class D3DQUERYTYPE(IntEnum):
    """Query types of DirectX 9."""

    VCACHE = 4
    RESOURCEMANAGER = 5
    VERTEXSTATS = 6
    EVENT = 8
    OCCLUSION = 9
    TIMESTAMP = 10
    TIMESTAMPDISJOINT = 11
    TIMESTAMPFREQ = 12
    PIPELINETIMINGS = 13
    INTERFACETIMINGS = 14
    VERTEXTIMINGS = 15
    PIXELTIMINGS = 16
    BANDWIDTHTIMINGS = 17
    CACHEUTILIZATION = 18
    MEMORYPRESSURE = 19


class D3DISSUE(IntFlag):
    """dwFlags of ISSUEQUERY."""

    NONE = 0
    END = 0x1
    BEGIN = 0x2


# --- flexible vertex format -----------------------------------------------------------------------------------------


class D3DFVF(IntFlag):
    """FVF bits; the position is the field under POSITION_MASK, not single bits."""

    NONE = 0
    RESERVED0 = 0x1
    XYZ = 0x2
    XYZRHW = 0x4
    XYZB1 = 0x6
    XYZB2 = 0x8
    XYZB3 = 0xA
    XYZB4 = 0xC
    XYZB5 = 0xE
    NORMAL = 0x10
    PSIZE = 0x20
    DIFFUSE = 0x40
    SPECULAR = 0x80
    TEX1 = 0x100
    LASTBETA_UBYTE4 = 0x1000
    XYZW = 0x4002
    LASTBETA_D3DCOLOR = 0x8000


D3DFVF_POSITION_MASK: Final = 0x400E
D3DFVF_TEXCOUNT_MASK: Final = 0xF00
D3DFVF_TEXCOUNT_SHIFT: Final = 8
D3DFVF_TLVERTEX: Final = 0x1C4
D3DFVF_VERTEX: Final = 0x112
D3DFVF_LVERTEX: Final = 0x1E2
_FVF_POSITION_FLOATS: Final = MappingProxyType({0x0: 0, 0x2: 3, 0x4: 4, 0x6: 4, 0x8: 5, 0xA: 6, 0xC: 7, 0xE: 8, 0x4002: 4})
_FVF_TEX_FLOATS: Final = (2, 3, 4, 1)


def fvf_texture_floats(fvf: int) -> tuple[int, ...]:
    """Floats of each texture-coordinate set, in order. Raises ValueError for more than eight sets."""
    count = (fvf & D3DFVF_TEXCOUNT_MASK) >> D3DFVF_TEXCOUNT_SHIFT
    if count > 8:
        raise ValueError(f"FVF 0x{fvf:08X} has {count} texture-coordinate sets, eight are the most")
    return tuple(_FVF_TEX_FLOATS[fvf >> 16 + 2 * index & 3] for index in range(count))


def fvf_size(fvf: int) -> int:
    """Bytes of a vertex. Raises ValueError for a position code or a number of sets that does not exist."""
    position = fvf & D3DFVF_POSITION_MASK
    if position not in _FVF_POSITION_FLOATS:
        raise ValueError(f"FVF 0x{fvf:08X} has the unknown position code 0x{position:04X}")
    words = _FVF_POSITION_FLOATS[position] + sum(fvf_texture_floats(fvf))
    words += 3 * bool(fvf & D3DFVF.NORMAL)
    words += sum(bool(fvf & part) for part in (D3DFVF.PSIZE, D3DFVF.DIFFUSE, D3DFVF.SPECULAR))
    return 4 * words


# --- render states --------------------------------------------------------------------------------------------------


class D3DRENDERSTATETYPE(IntEnum):
    """Render states of DirectX 3 to 9. POSITIONORDER and NORMALORDER are the DirectX 8 names of two numbers."""

    TEXTUREHANDLE = 1
    ANTIALIAS = 2
    TEXTUREADDRESS = 3
    TEXTUREPERSPECTIVE = 4
    WRAPU = 5
    WRAPV = 6
    ZENABLE = 7
    FILLMODE = 8
    SHADEMODE = 9
    LINEPATTERN = 10
    MONOENABLE = 11
    ROP2 = 12
    PLANEMASK = 13
    ZWRITEENABLE = 14
    ALPHATESTENABLE = 15
    LASTPIXEL = 16
    TEXTUREMAG = 17
    TEXTUREMIN = 18
    SRCBLEND = 19
    DESTBLEND = 20
    TEXTUREMAPBLEND = 21
    CULLMODE = 22
    ZFUNC = 23
    ALPHAREF = 24
    ALPHAFUNC = 25
    DITHERENABLE = 26
    ALPHABLENDENABLE = 27
    FOGENABLE = 28
    SPECULARENABLE = 29
    ZVISIBLE = 30
    SUBPIXEL = 31
    SUBPIXELX = 32
    STIPPLEDALPHA = 33
    FOGCOLOR = 34
    FOGTABLEMODE = 35
    FOGSTART = 36
    FOGEND = 37
    FOGDENSITY = 38
    STIPPLEENABLE = 39
    EDGEANTIALIAS = 40
    COLORKEYENABLE = 41
    BORDERCOLOR = 43
    TEXTUREADDRESSU = 44
    TEXTUREADDRESSV = 45
    MIPMAPLODBIAS = 46
    ZBIAS = 47
    RANGEFOGENABLE = 48
    ANISOTROPY = 49
    FLUSHBATCH = 50
    TRANSLUCENTSORTINDEPENDENT = 51
    STENCILENABLE = 52
    STENCILFAIL = 53
    STENCILZFAIL = 54
    STENCILPASS = 55
    STENCILFUNC = 56
    STENCILREF = 57
    STENCILMASK = 58
    STENCILWRITEMASK = 59
    TEXTUREFACTOR = 60
    EVICTMANAGEDTEXTURES = 61
    SCENECAPTURE = 62
    STIPPLEPATTERN00 = 64
    STIPPLEPATTERN01 = 65
    STIPPLEPATTERN02 = 66
    STIPPLEPATTERN03 = 67
    STIPPLEPATTERN04 = 68
    STIPPLEPATTERN05 = 69
    STIPPLEPATTERN06 = 70
    STIPPLEPATTERN07 = 71
    STIPPLEPATTERN08 = 72
    STIPPLEPATTERN09 = 73
    STIPPLEPATTERN10 = 74
    STIPPLEPATTERN11 = 75
    STIPPLEPATTERN12 = 76
    STIPPLEPATTERN13 = 77
    STIPPLEPATTERN14 = 78
    STIPPLEPATTERN15 = 79
    STIPPLEPATTERN16 = 80
    STIPPLEPATTERN17 = 81
    STIPPLEPATTERN18 = 82
    STIPPLEPATTERN19 = 83
    STIPPLEPATTERN20 = 84
    STIPPLEPATTERN21 = 85
    STIPPLEPATTERN22 = 86
    STIPPLEPATTERN23 = 87
    STIPPLEPATTERN24 = 88
    STIPPLEPATTERN25 = 89
    STIPPLEPATTERN26 = 90
    STIPPLEPATTERN27 = 91
    STIPPLEPATTERN28 = 92
    STIPPLEPATTERN29 = 93
    STIPPLEPATTERN30 = 94
    STIPPLEPATTERN31 = 95
    WRAP0 = 128
    WRAP1 = 129
    WRAP2 = 130
    WRAP3 = 131
    WRAP4 = 132
    WRAP5 = 133
    WRAP6 = 134
    WRAP7 = 135
    CLIPPING = 136
    LIGHTING = 137
    EXTENTS = 138
    AMBIENT = 139
    FOGVERTEXMODE = 140
    COLORVERTEX = 141
    LOCALVIEWER = 142
    NORMALIZENORMALS = 143
    COLORKEYBLENDENABLE = 144
    DIFFUSEMATERIALSOURCE = 145
    SPECULARMATERIALSOURCE = 146
    AMBIENTMATERIALSOURCE = 147
    EMISSIVEMATERIALSOURCE = 148
    VERTEXBLEND = 151
    CLIPPLANEENABLE = 152
    SOFTWAREVERTEXPROCESSING = 153
    POINTSIZE = 154
    POINTSIZE_MIN = 155
    POINTSPRITEENABLE = 156
    POINTSCALEENABLE = 157
    POINTSCALE_A = 158
    POINTSCALE_B = 159
    POINTSCALE_C = 160
    MULTISAMPLEANTIALIAS = 161
    MULTISAMPLEMASK = 162
    PATCHEDGESTYLE = 163
    PATCHSEGMENTS = 164
    DEBUGMONITORTOKEN = 165
    POINTSIZE_MAX = 166
    INDEXEDVERTEXBLENDENABLE = 167
    COLORWRITEENABLE = 168
    DELETERTPATCH = 169
    TWEENFACTOR = 170
    BLENDOP = 171
    POSITIONDEGREE = 172
    POSITIONORDER = 172
    NORMALDEGREE = 173
    NORMALORDER = 173
    SCISSORTESTENABLE = 174
    SLOPESCALEDEPTHBIAS = 175
    ANTIALIASEDLINEENABLE = 176
    MINTESSELLATIONLEVEL = 178
    MAXTESSELLATIONLEVEL = 179
    ADAPTIVETESS_X = 180
    ADAPTIVETESS_Y = 181
    ADAPTIVETESS_Z = 182
    ADAPTIVETESS_W = 183
    ENABLEADAPTIVETESSELLATION = 184
    TWOSIDEDSTENCILMODE = 185
    CCW_STENCILFAIL = 186
    CCW_STENCILZFAIL = 187
    CCW_STENCILPASS = 188
    CCW_STENCILFUNC = 189
    COLORWRITEENABLE1 = 190
    COLORWRITEENABLE2 = 191
    COLORWRITEENABLE3 = 192
    BLENDFACTOR = 193
    SRGBWRITEENABLE = 194
    DEPTHBIAS = 195
    MAXVERTEXSHADERINST = 196
    MAXPIXELSHADERINST = 197
    WRAP8 = 198
    WRAP9 = 199
    WRAP10 = 200
    WRAP11 = 201
    WRAP12 = 202
    WRAP13 = 203
    WRAP14 = 204
    WRAP15 = 205
    SEPARATEALPHABLENDENABLE = 206
    SRCBLENDALPHA = 207
    DESTBLENDALPHA = 208
    BLENDOPALPHA = 209


D3DRENDERSTATE_DEFAULTS: Final[Mapping[D3DRENDERSTATETYPE, int | float]] = MappingProxyType({
    D3DRENDERSTATETYPE.ANTIALIAS: 0,
    D3DRENDERSTATETYPE.ZENABLE: 0,
    D3DRENDERSTATETYPE.FILLMODE: 3,
    D3DRENDERSTATETYPE.SHADEMODE: 2,
    D3DRENDERSTATETYPE.LINEPATTERN: 0,
    D3DRENDERSTATETYPE.ZWRITEENABLE: 1,
    D3DRENDERSTATETYPE.ALPHATESTENABLE: 0,
    D3DRENDERSTATETYPE.LASTPIXEL: 1,
    D3DRENDERSTATETYPE.SRCBLEND: 2,
    D3DRENDERSTATETYPE.DESTBLEND: 1,
    D3DRENDERSTATETYPE.CULLMODE: 3,
    D3DRENDERSTATETYPE.ZFUNC: 4,
    D3DRENDERSTATETYPE.ALPHAREF: 0,
    D3DRENDERSTATETYPE.ALPHAFUNC: 8,
    D3DRENDERSTATETYPE.DITHERENABLE: 0,
    D3DRENDERSTATETYPE.ALPHABLENDENABLE: 0,
    D3DRENDERSTATETYPE.FOGENABLE: 0,
    D3DRENDERSTATETYPE.SPECULARENABLE: 0,
    D3DRENDERSTATETYPE.FOGCOLOR: 0,
    D3DRENDERSTATETYPE.FOGTABLEMODE: 0,
    D3DRENDERSTATETYPE.FOGSTART: 0.0,
    D3DRENDERSTATETYPE.FOGEND: 1.0,
    D3DRENDERSTATETYPE.FOGDENSITY: 1.0,
    D3DRENDERSTATETYPE.EDGEANTIALIAS: 0,
    D3DRENDERSTATETYPE.COLORKEYENABLE: 0,
    D3DRENDERSTATETYPE.ZBIAS: 0,
    D3DRENDERSTATETYPE.RANGEFOGENABLE: 0,
    D3DRENDERSTATETYPE.STENCILENABLE: 0,
    D3DRENDERSTATETYPE.STENCILFAIL: 1,
    D3DRENDERSTATETYPE.STENCILZFAIL: 1,
    D3DRENDERSTATETYPE.STENCILPASS: 1,
    D3DRENDERSTATETYPE.STENCILFUNC: 8,
    D3DRENDERSTATETYPE.STENCILREF: 0,
    D3DRENDERSTATETYPE.STENCILMASK: 0xFFFFFFFF,
    D3DRENDERSTATETYPE.STENCILWRITEMASK: 0xFFFFFFFF,
    D3DRENDERSTATETYPE.TEXTUREFACTOR: 0xFFFFFFFF,
    D3DRENDERSTATETYPE.WRAP0: 0,
    D3DRENDERSTATETYPE.WRAP1: 0,
    D3DRENDERSTATETYPE.WRAP2: 0,
    D3DRENDERSTATETYPE.WRAP3: 0,
    D3DRENDERSTATETYPE.WRAP4: 0,
    D3DRENDERSTATETYPE.WRAP5: 0,
    D3DRENDERSTATETYPE.WRAP6: 0,
    D3DRENDERSTATETYPE.WRAP7: 0,
    D3DRENDERSTATETYPE.CLIPPING: 1,
    D3DRENDERSTATETYPE.LIGHTING: 1,
    D3DRENDERSTATETYPE.AMBIENT: 0,
    D3DRENDERSTATETYPE.FOGVERTEXMODE: 0,
    D3DRENDERSTATETYPE.COLORVERTEX: 1,
    D3DRENDERSTATETYPE.LOCALVIEWER: 1,
    D3DRENDERSTATETYPE.NORMALIZENORMALS: 0,
    D3DRENDERSTATETYPE.DIFFUSEMATERIALSOURCE: 1,
    D3DRENDERSTATETYPE.SPECULARMATERIALSOURCE: 2,
    D3DRENDERSTATETYPE.AMBIENTMATERIALSOURCE: 0,
    D3DRENDERSTATETYPE.EMISSIVEMATERIALSOURCE: 0,
    D3DRENDERSTATETYPE.VERTEXBLEND: 0,
    D3DRENDERSTATETYPE.CLIPPLANEENABLE: 0,
    D3DRENDERSTATETYPE.POINTSIZE: 64.0,
    D3DRENDERSTATETYPE.POINTSIZE_MIN: 1.0,
    D3DRENDERSTATETYPE.POINTSPRITEENABLE: 0,
    D3DRENDERSTATETYPE.POINTSCALEENABLE: 0,
    D3DRENDERSTATETYPE.POINTSCALE_A: 1.0,
    D3DRENDERSTATETYPE.POINTSCALE_B: 0.0,
    D3DRENDERSTATETYPE.POINTSCALE_C: 0.0,
    D3DRENDERSTATETYPE.MULTISAMPLEANTIALIAS: 1,
    D3DRENDERSTATETYPE.MULTISAMPLEMASK: 0xFFFFFFFF,
    D3DRENDERSTATETYPE.PATCHEDGESTYLE: 0,
    D3DRENDERSTATETYPE.PATCHSEGMENTS: 1.0,
    D3DRENDERSTATETYPE.DEBUGMONITORTOKEN: 0,
    D3DRENDERSTATETYPE.POINTSIZE_MAX: 64.0,
    D3DRENDERSTATETYPE.INDEXEDVERTEXBLENDENABLE: 0,
    D3DRENDERSTATETYPE.COLORWRITEENABLE: 0xF,
    D3DRENDERSTATETYPE.TWEENFACTOR: 0.0,
    D3DRENDERSTATETYPE.BLENDOP: 1,
    D3DRENDERSTATETYPE.POSITIONDEGREE: 3,
    D3DRENDERSTATETYPE.NORMALDEGREE: 1,
    D3DRENDERSTATETYPE.SCISSORTESTENABLE: 0,
    D3DRENDERSTATETYPE.SLOPESCALEDEPTHBIAS: 0.0,
    D3DRENDERSTATETYPE.ANTIALIASEDLINEENABLE: 0,
    D3DRENDERSTATETYPE.MINTESSELLATIONLEVEL: 1.0,
    D3DRENDERSTATETYPE.MAXTESSELLATIONLEVEL: 1.0,
    D3DRENDERSTATETYPE.ADAPTIVETESS_X: 0.0,
    D3DRENDERSTATETYPE.ADAPTIVETESS_Y: 0.0,
    D3DRENDERSTATETYPE.ADAPTIVETESS_Z: 1.0,
    D3DRENDERSTATETYPE.ADAPTIVETESS_W: 0.0,
    D3DRENDERSTATETYPE.ENABLEADAPTIVETESSELLATION: 0,
    D3DRENDERSTATETYPE.TWOSIDEDSTENCILMODE: 0,
    D3DRENDERSTATETYPE.CCW_STENCILFAIL: 1,
    D3DRENDERSTATETYPE.CCW_STENCILZFAIL: 1,
    D3DRENDERSTATETYPE.CCW_STENCILPASS: 1,
    D3DRENDERSTATETYPE.CCW_STENCILFUNC: 8,
    D3DRENDERSTATETYPE.COLORWRITEENABLE1: 0xF,
    D3DRENDERSTATETYPE.COLORWRITEENABLE2: 0xF,
    D3DRENDERSTATETYPE.COLORWRITEENABLE3: 0xF,
    D3DRENDERSTATETYPE.BLENDFACTOR: 0xFFFFFFFF,
    D3DRENDERSTATETYPE.SRGBWRITEENABLE: 0,
    D3DRENDERSTATETYPE.DEPTHBIAS: 0.0,
    D3DRENDERSTATETYPE.WRAP8: 0,
    D3DRENDERSTATETYPE.WRAP9: 0,
    D3DRENDERSTATETYPE.WRAP10: 0,
    D3DRENDERSTATETYPE.WRAP11: 0,
    D3DRENDERSTATETYPE.WRAP12: 0,
    D3DRENDERSTATETYPE.WRAP13: 0,
    D3DRENDERSTATETYPE.WRAP14: 0,
    D3DRENDERSTATETYPE.WRAP15: 0,
    D3DRENDERSTATETYPE.SEPARATEALPHABLENDENABLE: 0,
    D3DRENDERSTATETYPE.SRCBLENDALPHA: 2,
    D3DRENDERSTATETYPE.DESTBLENDALPHA: 1,
    D3DRENDERSTATETYPE.BLENDOPALPHA: 1,
})  # fmt: skip
"""Defaults of DirectX 9 and, for states that ended before it, of their time; a float stands for its IEEE bits. ZENABLE is TRUE
when a depth buffer was made with the device, POINTSIZE 64 when the driver reports no value of its own."""

_RS: Final = D3DRENDERSTATETYPE
PIXEL_RENDERSTATES: Final = frozenset({
    _RS.ZENABLE, _RS.FILLMODE, _RS.SHADEMODE, _RS.LINEPATTERN, _RS.ZWRITEENABLE, _RS.ALPHATESTENABLE, _RS.LASTPIXEL, _RS.SRCBLEND,
    _RS.DESTBLEND, _RS.ZFUNC, _RS.ALPHAREF, _RS.ALPHAFUNC, _RS.DITHERENABLE, _RS.STIPPLEDALPHA, _RS.FOGSTART, _RS.FOGEND,
    _RS.FOGDENSITY, _RS.EDGEANTIALIAS, _RS.ALPHABLENDENABLE, _RS.ZBIAS, _RS.STENCILENABLE, _RS.STENCILFAIL, _RS.STENCILZFAIL,
    _RS.STENCILPASS, _RS.STENCILFUNC, _RS.STENCILREF, _RS.STENCILMASK, _RS.STENCILWRITEMASK, _RS.TEXTUREFACTOR, _RS.WRAP0,
    _RS.WRAP1, _RS.WRAP2, _RS.WRAP3, _RS.WRAP4, _RS.WRAP5, _RS.WRAP6, _RS.WRAP7, _RS.COLORWRITEENABLE, _RS.BLENDOP,
})  # fmt: skip
"""What a state block of type PIXELSTATE captures."""
VERTEX_RENDERSTATES: Final = frozenset({
    _RS.SHADEMODE, _RS.SPECULARENABLE, _RS.CULLMODE, _RS.FOGENABLE, _RS.FOGCOLOR, _RS.FOGTABLEMODE, _RS.FOGSTART, _RS.FOGEND,
    _RS.FOGDENSITY, _RS.RANGEFOGENABLE, _RS.AMBIENT, _RS.COLORVERTEX, _RS.FOGVERTEXMODE, _RS.CLIPPING, _RS.LIGHTING,
    _RS.NORMALIZENORMALS, _RS.LOCALVIEWER, _RS.EMISSIVEMATERIALSOURCE, _RS.AMBIENTMATERIALSOURCE, _RS.DIFFUSEMATERIALSOURCE,
    _RS.SPECULARMATERIALSOURCE, _RS.VERTEXBLEND, _RS.CLIPPLANEENABLE, _RS.SOFTWAREVERTEXPROCESSING, _RS.POINTSIZE,
    _RS.POINTSIZE_MIN, _RS.POINTSPRITEENABLE, _RS.POINTSCALEENABLE, _RS.POINTSCALE_A, _RS.POINTSCALE_B, _RS.POINTSCALE_C,
    _RS.MULTISAMPLEANTIALIAS, _RS.MULTISAMPLEMASK, _RS.PATCHEDGESTYLE, _RS.PATCHSEGMENTS, _RS.POINTSIZE_MAX,
    _RS.INDEXEDVERTEXBLENDENABLE, _RS.TWEENFACTOR,
})  # fmt: skip
"""What a state block of type VERTEXSTATE captures."""

# --- texture-stage states -------------------------------------------------------------------------------------------


class D3DTEXTURESTAGESTATETYPE(IntEnum):
    """Texture-stage states by kernel code."""

    TEXTUREMAP = 0
    COLOROP = 1
    COLORARG1 = 2
    COLORARG2 = 3
    ALPHAOP = 4
    ALPHAARG1 = 5
    ALPHAARG2 = 6
    BUMPENVMAT00 = 7
    BUMPENVMAT01 = 8
    BUMPENVMAT10 = 9
    BUMPENVMAT11 = 10
    TEXCOORDINDEX = 11
    ADDRESS = 12
    ADDRESSU = 13
    ADDRESSV = 14
    BORDERCOLOR = 15
    MAGFILTER = 16
    MINFILTER = 17
    MIPFILTER = 18
    MIPMAPLODBIAS = 19
    MAXMIPLEVEL = 20
    MAXANISOTROPY = 21
    BUMPENVLSCALE = 22
    BUMPENVLOFFSET = 23
    TEXTURETRANSFORMFLAGS = 24
    ADDRESSW = 25
    COLORARG0 = 26
    ALPHAARG0 = 27
    RESULTARG = 28
    SRGBTEXTURE = 29
    ELEMENTINDEX = 30
    DMAPOFFSET = 31
    CONSTANT = 32


_TSS: Final = D3DTEXTURESTAGESTATETYPE
D3DSAMP_TO_TSS: Final[Mapping[int, D3DTEXTURESTAGESTATETYPE]] = MappingProxyType({
    1: _TSS.ADDRESSU, 2: _TSS.ADDRESSV, 3: _TSS.ADDRESSW, 4: _TSS.BORDERCOLOR, 5: _TSS.MAGFILTER, 6: _TSS.MINFILTER,
    7: _TSS.MIPFILTER, 8: _TSS.MIPMAPLODBIAS, 9: _TSS.MAXMIPLEVEL, 10: _TSS.MAXANISOTROPY, 11: _TSS.SRGBTEXTURE,
    12: _TSS.ELEMENTINDEX, 13: _TSS.DMAPOFFSET,
})  # fmt: skip
"""DirectX 9 sampler state -> the texture-stage code under which a driver gets it."""


def texture_stage_default(stage: int, state: D3DTEXTURESTAGESTATETYPE) -> int:
    """Default of a texture-stage state; floats are 0.0 throughout."""
    if state is _TSS.COLOROP:
        return D3DTEXTUREOP.MODULATE if stage == 0 else D3DTEXTUREOP.DISABLE
    if state is _TSS.ALPHAOP:
        return D3DTEXTUREOP.SELECTARG1 if stage == 0 else D3DTEXTUREOP.DISABLE
    if state is _TSS.TEXCOORDINDEX:
        return stage
    return _TSS_DEFAULTS.get(state, 0)


class D3DTSS_TCI(IntEnum):
    """High word of TEXCOORDINDEX."""

    PASSTHRU = 0x0
    CAMERASPACENORMAL = 0x1_0000
    CAMERASPACEPOSITION = 0x2_0000
    CAMERASPACEREFLECTIONVECTOR = 0x3_0000
    SPHEREMAP = 0x4_0000


# --- values of states -----------------------------------------------------------------------------------------------


class D3DFILLMODE(IntEnum):
    """Fill modes."""

    POINT = 1
    WIREFRAME = 2
    SOLID = 3


class D3DSHADEMODE(IntEnum):
    """Shade modes."""

    FLAT = 1
    GOURAUD = 2
    PHONG = 3


class D3DCULL(IntEnum):
    """Culling."""

    NONE = 1
    CW = 2
    CCW = 3


class D3DCMPFUNC(IntEnum):
    """Comparisons."""

    NEVER = 1
    LESS = 2
    EQUAL = 3
    LESSEQUAL = 4
    GREATER = 5
    NOTEQUAL = 6
    GREATEREQUAL = 7
    ALWAYS = 8


class D3DBLEND(IntEnum):
    """Blend factors."""

    ZERO = 1
    ONE = 2
    SRCCOLOR = 3
    INVSRCCOLOR = 4
    SRCALPHA = 5
    INVSRCALPHA = 6
    DESTALPHA = 7
    INVDESTALPHA = 8
    DESTCOLOR = 9
    INVDESTCOLOR = 10
    SRCALPHASAT = 11
    BOTHSRCALPHA = 12
    BOTHINVSRCALPHA = 13
    BLENDFACTOR = 14
    INVBLENDFACTOR = 15
    SRCCOLOR2 = 16
    INVSRCCOLOR2 = 17


class D3DBLENDOP(IntEnum):
    """Blend operations."""

    ADD = 1
    SUBTRACT = 2
    REVSUBTRACT = 3
    MIN = 4
    MAX = 5


class D3DSTENCILOP(IntEnum):
    """Stencil operations."""

    KEEP = 1
    ZERO = 2
    REPLACE = 3
    INCRSAT = 4
    DECRSAT = 5
    INVERT = 6
    INCR = 7
    DECR = 8


class D3DFOGMODE(IntEnum):
    """Fog modes."""

    NONE = 0
    EXP = 1
    EXP2 = 2
    LINEAR = 3


class D3DTEXTUREADDRESS(IntEnum):
    """Texture addressing."""

    WRAP = 1
    MIRROR = 2
    CLAMP = 3
    BORDER = 4
    MIRRORONCE = 5


class D3DTEXTUREFILTERTYPE(IntEnum):
    """Texture filters of DirectX 8 and 9."""

    NONE = 0
    POINT = 1
    LINEAR = 2
    ANISOTROPIC = 3
    PYRAMIDALQUAD = 6
    GAUSSIANQUAD = 7
    CONVOLUTIONMONO = 8


class D3DTEXTUREOP(IntEnum):
    """Texture operations."""

    DISABLE = 1
    SELECTARG1 = 2
    SELECTARG2 = 3
    MODULATE = 4
    MODULATE2X = 5
    MODULATE4X = 6
    ADD = 7
    ADDSIGNED = 8
    ADDSIGNED2X = 9
    SUBTRACT = 10
    ADDSMOOTH = 11
    BLENDDIFFUSEALPHA = 12
    BLENDTEXTUREALPHA = 13
    BLENDFACTORALPHA = 14
    BLENDTEXTUREALPHAPM = 15
    BLENDCURRENTALPHA = 16
    PREMODULATE = 17
    MODULATEALPHA_ADDCOLOR = 18
    MODULATECOLOR_ADDALPHA = 19
    MODULATEINVALPHA_ADDCOLOR = 20
    MODULATEINVCOLOR_ADDALPHA = 21
    BUMPENVMAP = 22
    BUMPENVMAPLUMINANCE = 23
    DOTPRODUCT3 = 24
    MULTIPLYADD = 25
    LERP = 26


class D3DMATERIALCOLORSOURCE(IntEnum):
    """Where a material colour comes from."""

    MATERIAL = 0
    COLOR1 = 1
    COLOR2 = 2


class D3DDECLTYPE(IntEnum):
    """Types of a vertex element."""

    FLOAT1 = 0
    FLOAT2 = 1
    FLOAT3 = 2
    FLOAT4 = 3
    D3DCOLOR = 4
    UBYTE4 = 5
    SHORT2 = 6
    SHORT4 = 7
    UBYTE4N = 8
    SHORT2N = 9
    SHORT4N = 10
    USHORT2N = 11
    USHORT4N = 12
    UDEC3 = 13
    DEC3N = 14
    FLOAT16_2 = 15
    FLOAT16_4 = 16
    UNUSED = 17


class D3DDECLUSAGE(IntEnum):
    """Uses of a vertex element."""

    POSITION = 0
    BLENDWEIGHT = 1
    BLENDINDICES = 2
    NORMAL = 3
    PSIZE = 4
    TEXCOORD = 5
    TANGENT = 6
    BINORMAL = 7
    TESSFACTOR = 8
    POSITIONT = 9
    COLOR = 10
    FOG = 11
    DEPTH = 12
    SAMPLE = 13


class D3DDECLMETHOD(IntEnum):
    """Tessellation of a vertex element."""

    DEFAULT = 0
    PARTIALU = 1
    PARTIALV = 2
    CROSSUV = 3
    UV = 4
    LOOKUP = 5
    LOOKUPPRESAMPLED = 6


class D3DTEXTUREMAGFILTER(IntEnum):
    """Magnification filters of DirectX 7."""

    POINT = 1
    LINEAR = 2
    FLATCUBIC = 3
    GAUSSIANCUBIC = 4
    ANISOTROPIC = 5


class D3DTEXTUREMINFILTER(IntEnum):
    """Minification filters of DirectX 7."""

    POINT = 1
    LINEAR = 2
    ANISOTROPIC = 3


class D3DTEXTUREMIPFILTER(IntEnum):
    """Mip filters of DirectX 7."""

    NONE = 1
    POINT = 2
    LINEAR = 3


class D3DLIGHTTYPE(IntEnum):
    """Types of light."""

    POINT = 1
    SPOT = 2
    DIRECTIONAL = 3


class D3DPRIMITIVETYPE(IntEnum):
    """Primitive types."""

    POINTLIST = 1
    LINELIST = 2
    LINESTRIP = 3
    TRIANGLELIST = 4
    TRIANGLESTRIP = 5
    TRIANGLEFAN = 6


class D3DVERTEXBLENDFLAGS(IntEnum):
    """Vertex blending: weights, or the special forms."""

    DISABLE = 0
    WEIGHTS_1 = 1
    WEIGHTS_2 = 2
    WEIGHTS_3 = 3
    TWEENING = 255
    WEIGHTS_0 = 256


class D3DZBUFFERTYPE(IntEnum):
    """Depth buffering."""

    DISABLED = 0
    ENABLED = 1
    USEW = 2


class D3DBASISTYPE(IntEnum):
    """Basis of a patch."""

    BEZIER = 0
    BSPLINE = 1
    CATMULL_ROM = 2


class D3DDEGREETYPE(IntEnum):
    """Degree of a patch."""

    LINEAR = 1
    QUADRATIC = 2
    CUBIC = 3
    QUINTIC = 5


class D3DTA(IntFlag):
    """Texture arguments: a selector in the low four bits, and modifiers."""

    NONE = 0
    DIFFUSE = 0
    CURRENT = 1
    TEXTURE = 2
    TFACTOR = 3
    SPECULAR = 4
    TEMP = 5
    CONSTANT = 6
    COMPLEMENT = 0x10
    ALPHAREPLICATE = 0x20


D3DTA_SELECTMASK: Final = 0xF


class D3DTTFF(IntEnum):
    """Texture-transform flags; PROJECTED is added to a count."""

    DISABLE = 0
    COUNT1 = 1
    COUNT2 = 2
    COUNT3 = 3
    COUNT4 = 4
    PROJECTED = 256


class D3DWRAP(IntFlag):
    """Wrapping of texture coordinates."""

    NONE = 0
    U = 0x1
    V = 0x2
    W = 0x4
    COORD_3 = 0x8


class D3DCOLORWRITEENABLE(IntFlag):
    """Channels that are written."""

    NONE = 0
    RED = 0x1
    GREEN = 0x2
    BLUE = 0x4
    ALPHA = 0x8


_TSS_DEFAULTS: Final[Mapping[D3DTEXTURESTAGESTATETYPE, int]] = MappingProxyType({
    _TSS.COLORARG1: int(D3DTA.TEXTURE),
    _TSS.COLORARG2: int(D3DTA.CURRENT),
    _TSS.ALPHAARG1: int(D3DTA.TEXTURE),
    _TSS.ALPHAARG2: int(D3DTA.CURRENT),
    _TSS.ADDRESS: int(D3DTEXTUREADDRESS.WRAP),
    _TSS.ADDRESSU: int(D3DTEXTUREADDRESS.WRAP),
    _TSS.ADDRESSV: int(D3DTEXTUREADDRESS.WRAP),
    _TSS.ADDRESSW: int(D3DTEXTUREADDRESS.WRAP),
    _TSS.MAGFILTER: int(D3DTEXTUREFILTERTYPE.POINT),
    _TSS.MINFILTER: int(D3DTEXTUREFILTERTYPE.POINT),
    _TSS.MIPFILTER: int(D3DTEXTUREFILTERTYPE.NONE),
    _TSS.MAXANISOTROPY: 1,
    _TSS.COLORARG0: int(D3DTA.CURRENT),
    _TSS.ALPHAARG0: int(D3DTA.CURRENT),
    _TSS.RESULTARG: int(D3DTA.CURRENT),
})  # fmt: skip


class D3DTRANSFORMSTATETYPE(IntEnum):
    """Transforms; from DirectX 8 on, world matrix i is 256 + i."""

    WORLD = 1
    VIEW = 2
    PROJECTION = 3
    WORLD1 = 4
    WORLD2 = 5
    WORLD3 = 6
    TEXTURE0 = 16
    TEXTURE1 = 17
    TEXTURE2 = 18
    TEXTURE3 = 19
    TEXTURE4 = 20
    TEXTURE5 = 21
    TEXTURE6 = 22
    TEXTURE7 = 23


D3DTS_WORLDMATRIX_BASE: Final = 256
