"""From render states and texture-stage states to the hardware's blend, depth-stencil, rasterizer and sampler state.

DEVIATES: w-buffers (ZENABLE = USEW) compare z, dithering, line patterns, stipples, edge antialiasing, ROP2 and plane masks have no
effect, and LASTPIXEL is always on: the hardware has none of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from umd.command_buffer import packet
from umd.core import Bind, Core, key
from umd.dp2.state import Kind, State
from umd.state import blend_packet, depth_stencil_data, rasterizer_packet, sampler_data
from wddm.ddi.d3d10umddi import (
    D3D10_1_DDI_BLEND_DESC,
    D3D10_DDI_DEPTH_STENCIL_DESC,
    D3D10_DDI_DEPTH_STENCILOP_DESC,
    D3D10_DDI_FILTER,
    D3D10_DDI_RASTERIZER_DESC,
    D3D10_DDI_RENDER_TARGET_BLEND_DESC1,
    D3D10_DDI_SAMPLER_DESC,
)
from wddm.ddi.d3dhal import (
    D3DBLEND,
    D3DBLENDOP,
    D3DCMPFUNC,
    D3DCULL,
    D3DFILLMODE,
    D3DRENDERSTATETYPE,
    D3DSTENCILOP,
    D3DTEXTUREADDRESS,
    D3DTEXTUREFILTERTYPE,
    D3DTEXTURESTAGESTATETYPE,
)
from wddm.hw.descriptors import float_bits
from wddm.hw.formats import Format
from wddm.hw.packets import Op

RS = D3DRENDERSTATETYPE
TSS = D3DTEXTURESTAGESTATETYPE
_B = D3DBLEND
#: A colour factor in the place of an alpha factor.
_ALPHA_FACTOR: Final[dict[int, int]] = {
    _B.SRCCOLOR: 5, _B.INVSRCCOLOR: 6, _B.DESTCOLOR: 7, _B.INVDESTCOLOR: 8, _B.SRCALPHASAT: 2,
    _B.SRCCOLOR2: 18, _B.INVSRCCOLOR2: 19,
}  # fmt: skip
#: What one unit of depth bias is for each depth format: DEPTHBIAS is a difference of depths.
_BIAS_UNITS: Final = {
    Format.D16_UNORM: 65535.0,
    Format.D24_UNORM_S8_UINT: 16777215.0,
    Format.D32_FLOAT: 8388608.0,
    Format.D32_FLOAT_S8X24_UINT: 8388608.0,
}


def color(word: int) -> tuple[float, float, float, float]:
    """A D3DCOLOR as red, green, blue, alpha in 0..1."""
    return (word >> 16 & 255) / 255, (word >> 8 & 255) / 255, (word & 255) / 255, (word >> 24 & 255) / 255


def _known(value: int, values: Any, otherwise: int) -> Any:
    """A state's value, or the default for a number that means nothing."""
    return value if value in values._value2member_map_ else otherwise


def bind_output(core: Core, state: State, depth_format: int) -> None:
    """Bind blend, depth-stencil and rasterizer state. ``depth_format``: of the depth buffer, 0 = there is none."""
    derive = state.derive
    core.bind_packets(key(Bind.BLEND), derive("blend", lambda: _blend(state)))
    core.bind_packets(key(Bind.BLEND_FACTOR), derive("blend factor", lambda: _blend_factor(state)))
    core.bind_packets(
        key(Bind.DEPTH_STENCIL_STATE), derive(("depth stencil", depth_format), lambda: _depth_stencil(state, depth_format))
    )
    core.bind_packets(key(Bind.RASTERIZER), derive(("rasterizer", depth_format), lambda: _rasterizer(state, depth_format)))


def _blend_factor(state: State) -> bytes:
    factor = tuple(float_bits(c) for c in color(state.render(RS.BLENDFACTOR)))
    return packet(Op.SET_BLEND_FACTOR, data=(*factor, state.render(RS.MULTISAMPLEMASK) & 0xFFFFFFFF))


def _factors(src: int, dst: int) -> tuple[int, int]:
    """BOTHSRCALPHA and BOTHINVSRCALPHA say both factors at once."""
    if src == _B.BOTHSRCALPHA:
        return _B.SRCALPHA, _B.INVSRCALPHA
    if src == _B.BOTHINVSRCALPHA:
        return _B.INVSRCALPHA, _B.SRCALPHA
    return _known(src, D3DBLEND, _B.ONE), _known(dst, D3DBLEND, _B.ZERO)


def _blend(state: State) -> bytes:
    r = state.render
    src, dst = _factors(r(RS.SRCBLEND), r(RS.DESTBLEND))
    op = _known(r(RS.BLENDOP), D3DBLENDOP, D3DBLENDOP.ADD)
    if r(RS.SEPARATEALPHABLENDENABLE):
        src_alpha, dst_alpha = _factors(r(RS.SRCBLENDALPHA), r(RS.DESTBLENDALPHA))
        op_alpha = _known(r(RS.BLENDOPALPHA), D3DBLENDOP, D3DBLENDOP.ADD)
    else:
        src_alpha, dst_alpha, op_alpha = src, dst, op
    masks = (RS.COLORWRITEENABLE, RS.COLORWRITEENABLE1, RS.COLORWRITEENABLE2, RS.COLORWRITEENABLE3)
    alpha = _ALPHA_FACTOR.get(src_alpha, src_alpha), _ALPHA_FACTOR.get(dst_alpha, dst_alpha), op_alpha
    return _blend_packet(bool(r(RS.ALPHABLENDENABLE)), (src, dst, op), alpha, tuple(r(mask) & 0xF for mask in masks))


@lru_cache(256)
def _blend_packet(enabled: bool, colors: Any, alpha: Any, masks: tuple[int, ...]) -> bytes:
    targets = [D3D10_DDI_RENDER_TARGET_BLEND_DESC1(enabled, *colors, *alpha, masks[min(i, 3)]) for i in range(8)]  # type: ignore[call-arg]
    return blend_packet(D3D10_1_DDI_BLEND_DESC(False, True, targets))


def _depth_stencil(state: State, depth_format: int) -> bytes:
    r = state.render
    keep = D3DSTENCILOP.KEEP

    def face(fail: int, zfail: int, passes: int, func: int) -> D3D10_DDI_DEPTH_STENCILOP_DESC:
        one, two, three = (_known(r(code), D3DSTENCILOP, keep) for code in (fail, zfail, passes))
        return D3D10_DDI_DEPTH_STENCILOP_DESC(one, two, three, _known(r(func), D3DCMPFUNC, D3DCMPFUNC.ALWAYS))

    front = face(RS.STENCILFAIL, RS.STENCILZFAIL, RS.STENCILPASS, RS.STENCILFUNC)
    back = front
    if r(RS.TWOSIDEDSTENCILMODE):
        back = face(RS.CCW_STENCILFAIL, RS.CCW_STENCILZFAIL, RS.CCW_STENCILPASS, RS.CCW_STENCILFUNC)
    desc = D3D10_DDI_DEPTH_STENCIL_DESC(
        DepthEnable=bool(r(RS.ZENABLE)) and bool(depth_format),
        DepthWriteMask=1 if r(RS.ZWRITEENABLE) else 0,  # type: ignore[arg-type]
        DepthFunc=_known(r(RS.ZFUNC), D3DCMPFUNC, D3DCMPFUNC.LESSEQUAL),
        StencilEnable=bool(r(RS.STENCILENABLE)) and bool(depth_format),
        StencilReadMask=r(RS.STENCILMASK) & 0xFF,
        StencilWriteMask=r(RS.STENCILWRITEMASK) & 0xFF,
        FrontFace=front,
        BackFace=back,
    )
    data = depth_stencil_data(desc)
    return packet(Op.SET_DEPTH_STENCIL_STATE, data=(*data[:3], r(RS.STENCILREF) & 0xFF, *data[4:]))


def _rasterizer(state: State, depth_format: int) -> bytes:
    r = state.render
    units = _BIAS_UNITS.get(Format(depth_format), 0.0) if depth_format else 0.0
    # ZBIAS 0..16 is of DirectX 3 to 8: greater is nearer.
    bias = state.render_float(RS.DEPTHBIAS) - min(r(RS.ZBIAS), 16) / 65536
    whole = int(max(-(1 << 24), min(1 << 24, bias * units))) if bias == bias else 0
    return rasterizer_packet(
        D3D10_DDI_RASTERIZER_DESC(
            FillMode=2 if r(RS.FILLMODE) == D3DFILLMODE.WIREFRAME else 3,  # type: ignore[arg-type]
            CullMode=_known(r(RS.CULLMODE), D3DCULL, D3DCULL.CCW),
            DepthBias=whole,
            SlopeScaledDepthBias=state.render_float(RS.SLOPESCALEDEPTHBIAS),
            ScissorEnable=True,  # the viewport clips, and SCISSORTESTENABLE may clip more
            MultisampleEnable=bool(r(RS.MULTISAMPLEANTIALIAS)),
            AntialiasedLineEnable=bool(r(RS.ANTIALIASEDLINEENABLE)),
        )
    )


def sampler_packet(state: State, stage: int, *, point: bool) -> bytes:
    """The data of SET_SAMPLER for a stage. ``point``: texels are indices and must not be filtered.

    DEVIATES: filters have the numbers of DirectX 8 and 9; cubic filters are linear.
    """
    get = state.stage
    F = D3DTEXTUREFILTERTYPE
    mag, min_, mip = get(stage, TSS.MAGFILTER), get(stage, TSS.MINFILTER), get(stage, TSS.MIPFILTER)
    if point:
        mag, min_, mip = F.POINT, F.POINT, min(mip, F.POINT)
    anisotropic = F.ANISOTROPIC in (mag, min_)
    filter = 0x55 if anisotropic else (0x10 if min_ > F.POINT else 0) | (0x04 if mag > F.POINT else 0)
    if mip >= F.LINEAR:
        filter |= 0x01
    elif anisotropic:
        filter &= ~0x01
    least = float(min(get(stage, TSS.MAXMIPLEVEL), 32))
    wrap = D3DTEXTUREADDRESS.WRAP
    u, v, w = (_known(get(stage, c), D3DTEXTUREADDRESS, wrap) for c in (TSS.ADDRESSU, TSS.ADDRESSV, TSS.ADDRESSW))
    bias = state.stage_float(stage, TSS.MIPMAPLODBIAS)
    data = sampler_data(
        D3D10_DDI_SAMPLER_DESC(
            D3D10_DDI_FILTER(filter | (0x40 if anisotropic else 0)),
            u,
            v,
            w,
            MipLODBias=max(-16.0, min(15.99, bias)) if bias == bias else 0.0,
            MaxAnisotropy=get(stage, TSS.MAXANISOTROPY),
            BorderColor=color(get(stage, TSS.BORDERCOLOR)),
            MinLOD=least,
            MaxLOD=3.402823466e38 if mip != F.NONE else least,
        )
    )
    return packet(0, data=data)[32:]


def bind_screen(core: Core, state: State, size: tuple[int, int], transformed: bool) -> None:
    """Bind viewport and scissor."""
    viewport, scissor = state.derive(("screen", size, transformed), lambda: _screen(state, size, transformed))
    core.bind_packets(key(Bind.VIEWPORTS), viewport)
    core.bind_packets(key(Bind.SCISSORS), scissor)


def _screen(state: State, size: tuple[int, int], transformed: bool) -> tuple[tuple[bytes], tuple[bytes]]:
    """Packets of viewport and scissor. Pixel centres are whole numbers in Direct3D 9 and halves in the hardware.

    Transformed vertices are given in pixels of the target: they get a viewport of its whole size.
    """
    width, height = size
    x, y, w, h = viewport_of(state, size)
    z_min, z_max = state.get(Kind.ZRANGE)
    if transformed:
        values = (0.5, 0.5, float(width), float(height), 0.0, 1.0)
    else:
        values = (x + 0.5, y + 0.5, float(w), float(h), max(0.0, min(1.0, z_min)), max(0.0, min(1.0, z_max)))
    viewport = packet(Op.SET_VIEWPORT, 0, arg=1, data=tuple(float_bits(v) for v in values))
    left, top, right, bottom = max(0, x), max(0, y), min(width, x + w), min(height, y + h)
    scissor = state.get(Kind.SCISSOR)
    if scissor is not None and state.render(RS.SCISSORTESTENABLE):
        left, top, right, bottom = max(left, scissor[0]), max(top, scissor[1]), min(right, scissor[2]), min(bottom, scissor[3])
    box = (left, top, max(left, right), max(top, bottom))
    return (viewport,), (packet(Op.SET_SCISSOR, 0, arg=1, data=tuple(v & 0xFFFFFFFF for v in box)),)


def viewport_of(state: State, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The viewport as (x, y, width, height); the whole target when none was set."""
    found = state.get(Kind.VIEWPORT)
    return found if found is not None else (0, 0, *size)
