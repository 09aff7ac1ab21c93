"""State objects: checked, and made once for each content, as the Direct3D runtime does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from wddm.client import enums
from wddm.ddi import d3d10umddi as dd
from wddm.ddi.status import HRESULT
from wddm.wire import api

from .errors import ApiError, float4, float32, require
from .objects import DeviceObject, Kind

if TYPE_CHECKING:
    from .device import Device

MAX_UNIQUE: Final = 4096  #: D3D11_REQ_…_OBJECT_COUNT_PER_DEVICE


class State(DeviceObject):
    """A state object; ``key`` is its content."""

    __slots__ = ("key",)
    slot = ""  #: what Create… and Destroy… are called in the driver's table

    def __init__(self, device: Device, key: Any) -> None:
        super().__init__(device)
        self.key = key

    def destroy(self) -> None:
        """Destroy… of the driver."""
        self.device.states.pop((type(self), self.key), None)
        self.device.tell(f"pfnDestroy{self.slot}", self.handle)


class BlendState(State):
    """ID3D11BlendState."""

    __slots__ = ()
    kind = Kind.BLEND_STATE
    slot = "BlendState"


class DepthStencilState(State):
    """ID3D11DepthStencilState."""

    __slots__ = ()
    kind = Kind.DEPTH_STENCIL_STATE
    slot = "DepthStencilState"


class RasterizerState(State):
    """ID3D11RasterizerState."""

    __slots__ = ()
    kind = Kind.RASTERIZER_STATE
    slot = "RasterizerState"


class SamplerState(State):
    """ID3D11SamplerState."""

    __slots__ = ()
    kind = Kind.SAMPLER_STATE
    slot = "Sampler"


async def _make(device: Device, cls: type[State], key: Any, argument: Any) -> State:
    found: State | None = device.states.get((cls, key))
    if found is not None:
        return found
    unique = sum(1 for kind, _ in device.states if kind is cls)
    if unique >= MAX_UNIQUE:
        raise ApiError(
            HRESULT.D3D11_ERROR_TOO_MANY_UNIQUE_STATE_OBJECTS, f"{MAX_UNIQUE} different {cls.__name__} objects exist already"
        )
    state = cls(device, key)
    getattr(device.ddi, f"pfnCalcPrivate{cls.slot}Size")(argument)
    await device.create(f"pfnCreate{cls.slot}", argument, state.handle, state.handle)
    device.states[cls, key] = state
    return state


def _enum(kind: type[Any], value: int, name: str) -> Any:
    require(value in kind._value2member_map_, f"{name}: {value} is no {kind.__name__}")
    return kind(value)


_ALPHA_WRONG: Final = frozenset(
    {
        enums.Blend.SRC_COLOR,
        enums.Blend.INV_SRC_COLOR,
        enums.Blend.DEST_COLOR,
        enums.Blend.INV_DEST_COLOR,
        enums.Blend.SRC1_COLOR,
        enums.Blend.INV_SRC1_COLOR,
    }
)


def blend_desc(m: api.CreateBlendState) -> tuple[Any, dd.D3D10_1_DDI_BLEND_DESC]:
    """The content and the DDI structure of a blend state. Raises E_INVALIDARG."""
    require(len(m.targets) >= 1, "render_target: no description")
    targets = list(m.targets) if m.independent_blend_enable else [m.targets[0]] * 8
    targets += [api.RenderTargetBlend()] * (8 - len(targets))
    described, key = [], []
    for i, t in enumerate(targets):
        where = f"render_target[{i}]"
        require(not t.write_mask & ~15, f"{where}.render_target_write_mask: {t.write_mask:#x} has more than four bits")
        if t.blend_enable:
            for name, value in (("src_blend_alpha", t.src_blend_alpha), ("dest_blend_alpha", t.dest_blend_alpha)):
                require(value not in _ALPHA_WRONG, f"{where}.{name}: a colour factor cannot scale alpha")
            desc = dd.D3D10_DDI_RENDER_TARGET_BLEND_DESC1(
                True,
                dd.D3D10_DDI_BLEND(int(_enum(enums.Blend, t.src_blend, f"{where}.src_blend"))),
                dd.D3D10_DDI_BLEND(int(_enum(enums.Blend, t.dest_blend, f"{where}.dest_blend"))),
                dd.D3D10_DDI_BLEND_OP(int(_enum(enums.BlendOp, t.blend_op, f"{where}.blend_op"))),
                dd.D3D10_DDI_BLEND(int(_enum(enums.Blend, t.src_blend_alpha, f"{where}.src_blend_alpha"))),
                dd.D3D10_DDI_BLEND(int(_enum(enums.Blend, t.dest_blend_alpha, f"{where}.dest_blend_alpha"))),
                dd.D3D10_DDI_BLEND_OP(int(_enum(enums.BlendOp, t.blend_op_alpha, f"{where}.blend_op_alpha"))),
                dd.D3D10_DDI_COLOR_WRITE_ENABLE(t.write_mask),
            )
        else:  # what is not used does not count: equal states stay equal
            desc = dd.D3D10_DDI_RENDER_TARGET_BLEND_DESC1(
                RenderTargetWriteMask=dd.D3D10_DDI_COLOR_WRITE_ENABLE(t.write_mask)
            )
        described.append(desc)
        key.append(
            (
                desc.BlendEnable, desc.SrcBlend, desc.DestBlend, desc.BlendOp, desc.SrcBlendAlpha, desc.DestBlendAlpha,
                desc.BlendOpAlpha, desc.RenderTargetWriteMask,
            )
        )  # fmt: skip
    content = (m.alpha_to_coverage_enable, m.independent_blend_enable, tuple(key))
    return content, dd.D3D10_1_DDI_BLEND_DESC(m.alpha_to_coverage_enable, m.independent_blend_enable, tuple(described))


async def create_blend_state(device: Device, m: api.CreateBlendState) -> State:
    """ID3D11Device::CreateBlendState."""
    return await _make(device, BlendState, *blend_desc(m))


def _face(f: api.StencilFace, where: str) -> dd.D3D10_DDI_DEPTH_STENCILOP_DESC:
    return dd.D3D10_DDI_DEPTH_STENCILOP_DESC(
        _enum(dd.D3D10_DDI_STENCIL_OP, f.fail_op, f"{where}.stencil_fail_op"),
        _enum(dd.D3D10_DDI_STENCIL_OP, f.depth_fail_op, f"{where}.stencil_depth_fail_op"),
        _enum(dd.D3D10_DDI_STENCIL_OP, f.pass_op, f"{where}.stencil_pass_op"),
        _enum(dd.D3D10_DDI_COMPARISON_FUNC, f.func, f"{where}.stencil_func"),
    )


def depth_stencil_desc(m: api.CreateDepthStencilState) -> tuple[Any, dd.D3D10_DDI_DEPTH_STENCIL_DESC]:
    """The content and the DDI structure of a depth-stencil state. Raises E_INVALIDARG."""
    for name, value in (("stencil_read_mask", m.stencil_read_mask), ("stencil_write_mask", m.stencil_write_mask)):
        require(value <= 0xFF, f"{name}: {value:#x} has more than eight bits")
    desc = dd.D3D10_DDI_DEPTH_STENCIL_DESC(DepthEnable=m.depth_enable, StencilEnable=m.stencil_enable)
    key: list[Any] = [m.depth_enable, m.stencil_enable]
    if m.depth_enable:
        desc.DepthWriteMask = _enum(dd.D3D10_DDI_DEPTH_WRITE_MASK, m.depth_write_mask, "depth_write_mask")
        desc.DepthFunc = _enum(dd.D3D10_DDI_COMPARISON_FUNC, m.depth_func, "depth_func")
        key += [desc.DepthWriteMask, desc.DepthFunc]
    if m.stencil_enable:
        desc.StencilReadMask, desc.StencilWriteMask = m.stencil_read_mask, m.stencil_write_mask
        desc.FrontFace, desc.BackFace = _face(m.front, "front_face"), _face(m.back, "back_face")
        for f in (m.front, m.back):
            key += [f.fail_op, f.depth_fail_op, f.pass_op, f.func]
        key += [m.stencil_read_mask, m.stencil_write_mask]
    return tuple(key), desc


async def create_depth_stencil_state(device: Device, m: api.CreateDepthStencilState) -> State:
    """ID3D11Device::CreateDepthStencilState."""
    return await _make(device, DepthStencilState, *depth_stencil_desc(m))


def rasterizer_desc(m: api.CreateRasterizerState) -> tuple[Any, dd.D3D10_DDI_RASTERIZER_DESC]:
    """The content and the DDI structure of a rasterizer state. Raises E_INVALIDARG."""
    for name, value in (("depth_bias_clamp", m.depth_bias_clamp), ("slope_scaled_depth_bias", m.slope_scaled_depth_bias)):
        require(not math.isnan(value), f"{name}: not a number")
    key = (
        m.fill_mode, m.cull_mode, m.front_counter_clockwise, m.depth_bias, float32(m.depth_bias_clamp),
        float32(m.slope_scaled_depth_bias),
        m.depth_clip_enable, m.scissor_enable, m.multisample_enable, m.antialiased_line_enable,
    )  # fmt: skip
    return key, dd.D3D10_DDI_RASTERIZER_DESC(
        _enum(dd.D3D10_DDI_FILL_MODE, m.fill_mode, "fill_mode"),
        _enum(dd.D3D10_DDI_CULL_MODE, m.cull_mode, "cull_mode"),
        *key[2:],
    )


async def create_rasterizer_state(device: Device, m: api.CreateRasterizerState) -> State:
    """ID3D11Device::CreateRasterizerState."""
    return await _make(device, RasterizerState, *rasterizer_desc(m))


def sampler_desc(m: api.CreateSamplerState) -> tuple[Any, dd.D3D10_DDI_SAMPLER_DESC]:
    """The content and the DDI structure of a sampler state. Raises E_INVALIDARG."""
    filter = _enum(enums.Filter, m.filter, "filter")
    u, v, w = (
        _enum(dd.D3D10_DDI_TEXTURE_ADDRESS_MODE, value, name)
        for name, value in (("address_u", m.address_u), ("address_v", m.address_v), ("address_w", m.address_w))
    )
    require(len(m.border_color) == 4, f"border_color: {len(m.border_color)} numbers, it has four")
    anisotropic = bool(filter & 0x40)
    comparison = bool(filter & 0x80)
    require(not anisotropic or 1 <= m.max_anisotropy <= 16, f"max_anisotropy: {m.max_anisotropy} is not in 1..16")
    require(
        not math.isnan(m.mip_lod_bias) and -16.0 <= m.mip_lod_bias < 16.0, f"mip_lod_bias: {m.mip_lod_bias} is not in -16..15.99"
    )
    require(not math.isnan(m.min_lod) and not math.isnan(m.max_lod), "min_lod, max_lod: not a number")
    func = dd.D3D10_DDI_COMPARISON_FUNC.NEVER
    if comparison:
        func = _enum(dd.D3D10_DDI_COMPARISON_FUNC, m.comparison_func, "comparison_func")
    border = float4(m.border_color) if dd.D3D10_DDI_TEXTURE_ADDRESS_MODE.BORDER in (u, v, w) else (0.0, 0.0, 0.0, 0.0)
    bias, low, high = float32(m.mip_lod_bias), float32(m.min_lod), float32(m.max_lod)
    aniso = m.max_anisotropy if anisotropic else 1
    desc = dd.D3D10_DDI_SAMPLER_DESC(dd.D3D10_DDI_FILTER(int(filter)), u, v, w, bias, aniso, func, border, low, high)
    key = (filter, u, v, w, bias, aniso, func, border, low, high)
    return key, desc


async def create_sampler_state(device: Device, m: api.CreateSamplerState) -> State:
    """ID3D11Device::CreateSamplerState."""
    return await _make(device, SamplerState, *sampler_desc(m))
