"""DP2 command buffers: opcodes, payload sizes, vertex formats, state defaults."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wddm.ddi import d3dhal
from wddm.ddi.d3dhal import D3DFVF, D3DHAL_DP2OPERATION, D3DRENDERSTATETYPE, D3DTEXTURESTAGESTATETYPE, DP2_COMMANDS

# Opcode, bytes that come once after the header, bytes of an element, elements beyond the count ("=" for exactly one element).
PAYLOADS = """\
POINTS 0 4 0
INDEXEDLINELIST 0 4 0
INDEXEDTRIANGLELIST 0 8 0
RENDERSTATE 0 8 0
LINELIST 0 2 =
LINESTRIP 0 2 =
INDEXEDLINESTRIP 2 2 1
TRIANGLELIST 0 2 =
TRIANGLESTRIP 0 2 =
INDEXEDTRIANGLESTRIP 2 2 2
TRIANGLEFAN 0 2 =
INDEXEDTRIANGLEFAN 2 2 2
TRIANGLEFAN_IMM 4 0 0
LINELIST_IMM 0 0 0
TEXTURESTAGESTATE 0 8 0
INDEXEDTRIANGLELIST2 2 6 0
INDEXEDLINELIST2 2 4 0
VIEWPORTINFO 0 16 =
WINFO 0 8 =
SETPALETTE 0 12 0
UPDATEPALETTE 0 8 =
ZRANGE 0 8 0
SETMATERIAL 0 68 0
SETLIGHT 0 8 0
CREATELIGHT 0 4 0
SETTRANSFORM 0 68 0
TEXBLT 0 36 0
STATESET 0 12 0
SETPRIORITY 0 8 0
SETRENDERTARGET 0 8 0
CLEAR 32 16 -1
SETTEXLOD 0 8 0
SETCLIPPLANE 0 20 0
CREATEVERTEXSHADER 0 12 0
DELETEVERTEXSHADER 0 4 0
SETVERTEXSHADER 0 4 0
SETVERTEXSHADERCONST 0 8 0
SETSTREAMSOURCE 0 12 0
SETSTREAMSOURCEUM 0 8 0
SETINDICES 0 8 0
DRAWPRIMITIVE 0 12 0
DRAWINDEXEDPRIMITIVE 0 24 0
CREATEPIXELSHADER 0 8 0
DELETEPIXELSHADER 0 4 0
SETPIXELSHADER 0 4 0
SETPIXELSHADERCONST 0 8 0
CLIPPEDTRIANGLEFAN 0 12 0
DRAWPRIMITIVE2 0 12 0
DRAWINDEXEDPRIMITIVE2 0 24 0
DRAWRECTPATCH 0 8 0
DRAWTRIPATCH 0 8 0
VOLUMEBLT 0 48 0
BUFFERBLT 0 24 0
MULTIPLYTRANSFORM 0 68 0
ADDDIRTYRECT 0 20 0
ADDDIRTYBOX 0 28 0
CREATEVERTEXSHADERDECL 0 8 0
DELETEVERTEXSHADERDECL 0 4 0
SETVERTEXSHADERDECL 0 4 0
CREATEVERTEXSHADERFUNC 0 8 0
DELETEVERTEXSHADERFUNC 0 4 0
SETVERTEXSHADERFUNC 0 4 0
SETVERTEXSHADERCONSTI 0 8 0
SETSCISSORRECT 0 16 0
SETSTREAMSOURCE2 0 16 0
BLT 0 52 0
COLORFILL 0 24 0
SETVERTEXSHADERCONSTB 0 8 0
CREATEQUERY 0 8 0
SETRENDERTARGET2 0 8 0
SETDEPTHSTENCIL 0 4 0
RESPONSECONTINUE 0 0 0
RESPONSEQUERY 0 8 0
GENERATEMIPSUBLEVELS 0 8 0
DELETEQUERY 0 4 0
ISSUEQUERY 0 8 0
SETPIXELSHADERCONSTI 0 8 0
SETPIXELSHADERCONSTB 0 8 0
SETSTREAMSOURCEFREQ 0 8 0
SURFACEBLT 0 52 0
SETCONVOLUTIONKERNELMONO 0 12 =
COMPOSERECTS 0 32 =
"""


@pytest.mark.parametrize("line", PAYLOADS.splitlines())
def test_payload_shapes(line: str) -> None:
    name, once, each, more = line.split()
    command = DP2_COMMANDS[D3DHAL_DP2OPERATION[name]]
    assert (command.once.itemsize if command.once else 0) == int(once)
    assert (command.each.itemsize if command.each else 0) == int(each)
    assert command.single == (more == "=")
    assert command.plus == (0 if more == "=" else int(more))
    for member, unit in command.tail:
        assert command.each is not None
        assert member in (command.each.names or ())
        assert unit in (1, 4, 8, 16)


def test_every_opcode_has_a_shape() -> None:
    assert list(DP2_COMMANDS) == list(D3DHAL_DP2OPERATION)
    assert len(PAYLOADS.splitlines()) == len(D3DHAL_DP2OPERATION) == 82
    assert {command.level for command in DP2_COMMANDS.values()} == {"6", "7", "8", "8.1", "9", "9Ex"}
    unassigned = {0, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 37, 68, 69, 70, 78, 92}
    assert {int(op) for op in D3DHAL_DP2OPERATION} == set(range(99)) - unassigned
    conditional = {op.name for op, command in DP2_COMMANDS.items() if command.conditional}
    assert conditional == {"SETLIGHT", "DRAWRECTPATCH", "DRAWTRIPATCH", "SETCONVOLUTIONKERNELMONO"}
    assert {op.name for op, command in DP2_COMMANDS.items() if command.inline} == {"TRIANGLEFAN_IMM", "LINELIST_IMM"}
    assert {op.name for op, command in DP2_COMMANDS.items() if command.response} == {"RESPONSECONTINUE", "RESPONSEQUERY"}


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        (d3dhal.D3DHAL_DP2COMMAND_DTYPE, 4),
        (d3dhal.D3DHAL_DP2RESPONSE_DTYPE, 8),
        (d3dhal.D3DLIGHT7_DTYPE, 104),
        (d3dhal.D3DMATERIAL7_DTYPE, 68),
        (d3dhal.D3DVERTEXELEMENT9_DTYPE, 8),
        (d3dhal.D3DRECTPATCH_INFO_DTYPE, 28),
        (d3dhal.D3DTRIPATCH_INFO_DTYPE, 16),
        (d3dhal.D3DDEVINFO_VCACHE_DTYPE, 16),
        (d3dhal.D3DHAL_DP2EXT_DTYPE, 8),
    ],
)
def test_record_sizes(dtype: np.dtype[Any], size: int) -> None:
    assert dtype.itemsize == size


def test_record_offsets() -> None:
    def offset(dtype: np.dtype[Any], name: str) -> int:
        assert dtype.fields is not None
        return int(dtype.fields[name][1])

    light = d3dhal.D3DLIGHT7_DTYPE
    assert [offset(light, name) for name in light.names or ()] == [0, 4, 20, 36, 52, 64, 76, 80, 84, 88, 92, 96, 100]
    blt = d3dhal.D3DHAL_DP2BLT_DTYPE
    assert [offset(blt, name) for name in blt.names or ()] == [0, 4, 20, 24, 28, 44, 48]
    assert offset(d3dhal.D3DHAL_DP2CLEAR_DTYPE, "Rects") == 16
    assert offset(d3dhal.D3DHAL_DP2VOLUMEBLT_DTYPE, "srcBox") == 20
    assert offset(d3dhal.D3DHAL_DP2TEXBLT_DTYPE, "dwFlags") == 32
    assert offset(d3dhal.D3DHAL_DP2RESPONSE_DTYPE, "dwTotalSize") == 4


@pytest.mark.parametrize(
    ("fvf", "size"),
    [
        (d3dhal.D3DFVF_TLVERTEX, 32),
        (d3dhal.D3DFVF_VERTEX, 32),
        (d3dhal.D3DFVF_LVERTEX, 32),
        (D3DFVF.XYZRHW | 0x200, 32),
        (D3DFVF.XYZ, 12),
        (D3DFVF.XYZB5 | D3DFVF.NORMAL, 44),
        (D3DFVF.XYZW, 16),
        (D3DFVF.XYZRHW | 0x100 | 1 << 16, 28),
        (D3DFVF.XYZRHW | 0x300 | 3 << 16 | 2 << 18, 16 + 4 + 16 + 8),
    ],
)
def test_fvf_sizes(fvf: int, size: int) -> None:
    assert d3dhal.fvf_size(fvf) == size


def test_fvf_errors() -> None:
    with pytest.raises(ValueError, match="eight are the most"):
        d3dhal.fvf_size(D3DFVF.XYZ | 0x900)
    with pytest.raises(ValueError, match="unknown position code 0x4000"):
        d3dhal.fvf_size(0x4000)


@given(st.integers(0, 0xFFFF_FFFF))
@settings(deadline=None, max_examples=200)
def test_any_fvf_has_a_size_or_an_error(fvf: int) -> None:
    sets = (fvf & d3dhal.D3DFVF_TEXCOUNT_MASK) >> d3dhal.D3DFVF_TEXCOUNT_SHIFT
    if sets > 8 or fvf & d3dhal.D3DFVF_POSITION_MASK not in (*range(0, 0x10, 2), 0x4002):
        with pytest.raises(ValueError, match=f"0x{fvf:08X}"):
            d3dhal.fvf_size(fvf)
    else:
        assert d3dhal.fvf_size(fvf) % 4 == 0
        assert d3dhal.fvf_size(fvf) <= 4 * (8 + 3 + 1 + 2 + 4 * sets)


def test_render_states() -> None:
    states = D3DRENDERSTATETYPE
    assert states.ZENABLE.value == 7
    assert states.STIPPLEPATTERN31.value == 95
    assert states.WRAP15.value == 205
    assert states.BLENDOPALPHA.value == 209
    assert states["POSITIONORDER"] is states["POSITIONDEGREE"]
    assert max(states) < d3dhal.D3DHAL_MAX_RSTATES
    defaults = d3dhal.D3DRENDERSTATE_DEFAULTS
    assert defaults[states.CULLMODE] == d3dhal.D3DCULL.CCW
    assert defaults[states.ZFUNC] == d3dhal.D3DCMPFUNC.LESSEQUAL
    assert defaults[states.ALPHAFUNC] == d3dhal.D3DCMPFUNC.ALWAYS
    assert defaults[states.SRCBLEND] == d3dhal.D3DBLEND.ONE
    assert defaults[states.DESTBLEND] == d3dhal.D3DBLEND.ZERO
    assert defaults[states.COLORWRITEENABLE] == 0xF
    assert defaults[states.FOGEND] == 1.0
    assert isinstance(defaults[states.FOGEND], float)
    assert defaults[states.CCW_STENCILZFAIL] == d3dhal.D3DSTENCILOP.KEEP
    assert states.CULLMODE in d3dhal.VERTEX_RENDERSTATES - d3dhal.PIXEL_RENDERSTATES
    assert states.ZENABLE in d3dhal.PIXEL_RENDERSTATES - d3dhal.VERTEX_RENDERSTATES
    assert states.FOGSTART in d3dhal.PIXEL_RENDERSTATES & d3dhal.VERTEX_RENDERSTATES


def test_texture_stage_states() -> None:
    states = D3DTEXTURESTAGESTATETYPE
    assert d3dhal.D3DSAMP_TO_TSS[3] is states.ADDRESSW
    assert d3dhal.D3DSAMP_TO_TSS[13] is states.DMAPOFFSET
    assert d3dhal.texture_stage_default(0, states.COLOROP) == d3dhal.D3DTEXTUREOP.MODULATE
    assert d3dhal.texture_stage_default(1, states.COLOROP) == d3dhal.D3DTEXTUREOP.DISABLE
    assert d3dhal.texture_stage_default(0, states.ALPHAOP) == d3dhal.D3DTEXTUREOP.SELECTARG1
    assert d3dhal.texture_stage_default(5, states.TEXCOORDINDEX) == 5
    assert d3dhal.texture_stage_default(5, states.ADDRESSU) == d3dhal.D3DTEXTUREADDRESS.WRAP
    assert d3dhal.texture_stage_default(5, states.MAXANISOTROPY) == 1
    assert d3dhal.texture_stage_default(5, states.BORDERCOLOR) == 0


def test_enumerations() -> None:
    assert d3dhal.D3DTEXTUREOP.LERP.value == 26
    assert d3dhal.D3DBLEND.INVSRCCOLOR2.value == 17
    assert d3dhal.D3DDECLTYPE.FLOAT16_4.value == 16
    assert d3dhal.D3DDECLUSAGE.SAMPLE.value == 13
    assert d3dhal.D3DDECLMETHOD.LOOKUPPRESAMPLED.value == 6
    assert d3dhal.D3DTEXTUREFILTERTYPE.CONVOLUTIONMONO.value == 8
    assert d3dhal.D3DTEXTUREMIPFILTER.LINEAR.value == 3
    assert d3dhal.D3DVERTEXBLENDFLAGS.TWEENING.value == 255
    assert d3dhal.D3DISSUE.BEGIN.value == 2
    assert d3dhal.D3DHAL_STATESET.CREATE.value == 5
    assert d3dhal.D3DTRIFLAG.EDGEENABLETRIANGLE.value == 0x700
