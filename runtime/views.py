"""Views: the rules of their descriptions, the subresources they cover, and creating them in the driver.

Models D3D11_SHADER_RESOURCE_VIEW_DESC and its sisters, and the D3D11DDIARG_CREATE…VIEW structures. A view of a fully typed texture
has that format (back buffers may be cast within their family); a view of a typeless one any usable format of the family.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from wddm.client.enums import (
    BindFlag,
    BufferExSrvFlag,
    BufferUavFlag,
    DsvDimension,
    DsvFlag,
    ResourceMiscFlag,
    RtvDimension,
    SrvDimension,
    UavDimension,
)
from wddm.ddi import d3d10umddi as dd
from wddm.ddi.dxgiformat import BACK_BUFFER_CAST_FAMILIES, DXGI_FORMAT, FormatAbility, FormatInfo
from wddm.wire import api

from .errors import invalid_arg, require
from .objects import DeviceObject, Kind
from .resources import Resource, format_info

if TYPE_CHECKING:
    from .device import Device

ALL: Final = 0xFFFF_FFFF
_R: Final = dd.D3D10DDIRESOURCE_TYPE


class View(DeviceObject):
    """A view. It covers mips ``mip`` to ``mip_end`` of array slices ``slice`` to ``slice_end`` (ends outside)."""

    __slots__ = ("dimension", "flags", "format", "mip", "mip_end", "resource", "slice", "slice_end")
    destroy_slot = ""

    def __init__(self, device: Device, resource: Resource) -> None:
        super().__init__(device)
        self.resource = resource
        self.format = DXGI_FORMAT.UNKNOWN
        self.dimension = 0
        self.flags = 0
        self.mip, self.mip_end, self.slice, self.slice_end = 0, 1, 0, 1

    def overlaps(self, other: View) -> bool:
        """Whether both cover a subresource of the same resource."""
        return (
            self.resource is other.resource
            and self.mip < other.mip_end
            and other.mip < self.mip_end
            and self.slice < other.slice_end
            and other.slice < self.slice_end
        )

    def destroy(self) -> None:
        """Destroy…View; the resource may go with it."""
        self.device.tell(self.destroy_slot, self.handle)
        self.resource.views -= 1
        self.device.unref(self.resource)


class ShaderResourceView(View):
    """ID3D11ShaderResourceView."""

    __slots__ = ()
    kind = Kind.SHADER_RESOURCE_VIEW
    destroy_slot = "pfnDestroyShaderResourceView"


class RenderTargetView(View):
    """ID3D11RenderTargetView."""

    __slots__ = ()
    kind = Kind.RENDER_TARGET_VIEW
    destroy_slot = "pfnDestroyRenderTargetView"


class DepthStencilView(View):
    """ID3D11DepthStencilView."""

    __slots__ = ()
    kind = Kind.DEPTH_STENCIL_VIEW
    destroy_slot = "pfnDestroyDepthStencilView"


class UnorderedAccessView(View):
    """ID3D11UnorderedAccessView."""

    __slots__ = ()
    kind = Kind.UNORDERED_ACCESS_VIEW
    destroy_slot = "pfnDestroyUnorderedAccessView"


# What each kind of view is, by the number in CreateView: class, dimension names, needed bind flag, words for people.
_KINDS: Final[tuple[tuple[type[View], type[Any], BindFlag, str], ...]] = (
    (ShaderResourceView, SrvDimension, BindFlag.SHADER_RESOURCE, "shader-resource view"),
    (RenderTargetView, RtvDimension, BindFlag.RENDER_TARGET, "render-target view"),
    (DepthStencilView, DsvDimension, BindFlag.DEPTH_STENCIL, "depth-stencil view"),
    (UnorderedAccessView, UavDimension, BindFlag.UNORDERED_ACCESS, "unordered-access view"),
)
_RESOURCE_OF: Final = {
    "BUFFER": _R.BUFFER,
    "BUFFEREX": _R.BUFFER,
    "TEXTURE1D": _R.TEXTURE1D,
    "TEXTURE1DARRAY": _R.TEXTURE1D,
    "TEXTURE2D": _R.TEXTURE2D,
    "TEXTURE2DARRAY": _R.TEXTURE2D,
    "TEXTURE2DMS": _R.TEXTURE2D,
    "TEXTURE2DMSARRAY": _R.TEXTURE2D,
    "TEXTURE3D": _R.TEXTURE3D,
    "TEXTURECUBE": _R.TEXTURE2D,
    "TEXTURECUBEARRAY": _R.TEXTURE2D,
}


def _natural(resource: Resource, kind: int) -> str:
    """The dimension of a view without a description."""
    if resource.dimension is _R.BUFFER:
        return "BUFFEREX" if kind == 0 and resource.misc_flags & ResourceMiscFlag.BUFFER_ALLOW_RAW_VIEWS else "BUFFER"
    if resource.dimension is _R.TEXTURE3D:
        return "TEXTURE3D"
    if kind == 0 and resource.misc_flags & ResourceMiscFlag.TEXTURECUBE:
        return "TEXTURECUBEARRAY" if resource.array_size > 6 else "TEXTURECUBE"
    name = "TEXTURE1D" if resource.dimension is _R.TEXTURE1D else "TEXTURE2D"
    if resource.sample_count > 1:
        name += "MS"
    return name + ("ARRAY" if resource.array_size > 1 else "")


def _format(resource: Resource, kind: int, value: int, what: str) -> FormatInfo:
    """The view's format: its own, or the resource's."""
    if resource.dimension is _R.BUFFER:
        return format_info(value)
    info = format_info(value) if value else resource.info
    own = resource.info
    require(not info.typeless, f"format: a {what} of typeless {info.format.name} needs a typed format")
    if info.format is own.format:
        return info
    same_family = info.family is not None and info.family is own.family
    require(same_family, f"format: {info.format.name} is not of the family of the resource's {own.format.name}")
    castable = own.typeless or (resource.swap_chain is not None and own.family in BACK_BUFFER_CAST_FAMILIES)
    require(castable, f"format: the resource is fully typed {own.format.name}, a view of it cannot be {info.format.name}")
    return info


_WANTED: Final = (
    FormatAbility.SHADER_LOAD,
    FormatAbility.RENDER_TARGET,
    FormatAbility.DEPTH_STENCIL,
    FormatAbility.TYPED_UNORDERED_ACCESS_VIEW,
)


def view_of(device: Device, m: api.CreateView) -> tuple[View, Any]:
    """A view as described, not created yet, and its DDI argument. Raises ApiError."""
    require(m.kind < len(_KINDS), f"kind: {m.kind} is no kind of view")
    cls, dimensions, bind, what = _KINDS[m.kind]
    resource = device.objects.get(m.resource, Resource, "resource")
    require(resource.device is device, "resource: it belongs to another device")
    require(bool(resource.bind_flags & bind), f"resource: it was not created with bind flag {bind.name}, a {what} needs it")
    if resource.swap_chain is not None and m.kind != 0:
        first = resource.swap_chain.buffers[:1]
        require(first == [resource], f"resource: of a swap chain's buffers only the first can be written, not with a {what}")
    name = _natural(resource, m.kind) if m.default else _dimension_name(dimensions, m.dimension, what)
    if m.default:
        require(name in dimensions.__members__, f"resource: it has no {what}")
    require(_RESOURCE_OF[name] is resource.dimension, f"dimension: {name} does not fit a {resource.dimension.name.lower()}")
    view = cls(device, resource)
    view.flags = m.flags
    view.dimension = int(dimensions[name])
    if resource.dimension is _R.BUFFER:
        argument = _buffer_view(view, m, name, what)
    else:
        info = _format(resource, m.kind, m.format, what)
        ability = _WANTED[m.kind]
        usable = info.allows(ability) or (m.kind == 0 and info.allows(FormatAbility.SHADER_SAMPLE))
        require(usable, f"format: {info.format.name} cannot be used by a {what}")
        view.format = info.format
        argument = _texture_view(view, m, name, what)
    return view, argument


def _dimension_name(dimensions: type[Any], value: int, what: str) -> str:
    if value == 0 or value not in dimensions._value2member_map_:
        raise invalid_arg(f"dimension: {value} is no dimension of a {what}")
    return str(dimensions(value).name)


def _range(first: int, count: int, most: int, name: str) -> int:
    """How many elements from ``first``. Raises ApiError unless they are among ``most``."""
    require(first < most, f"{name}: the first, {first}, is beyond the {most} there are")
    count = most - first if count == ALL else count
    require(0 < count <= most - first, f"{name}: {count} from {first}, there are {most}")
    return count


def _buffer_view(view: View, m: api.CreateView, name: str, what: str) -> Any:
    resource = view.resource
    structured = resource.stride > 0
    uav = isinstance(view, UnorderedAccessView)
    raw = bool(m.flags & (BufferUavFlag.RAW if uav else BufferExSrvFlag.RAW))
    if m.default and resource.misc_flags & ResourceMiscFlag.BUFFER_ALLOW_RAW_VIEWS and (uav or name == "BUFFEREX"):
        raw, m.format, m.flags = True, DXGI_FORMAT.R32_TYPELESS, m.flags | 1
    info = _format(resource, m.kind, m.format, what)
    if structured:
        require(info.format is DXGI_FORMAT.UNKNOWN, f"format: {info.format.name}, a view of a structured buffer has UNKNOWN")
        require(not raw, "flags: a structured buffer has no RAW views")
        element = resource.stride
    elif raw:
        require(
            bool(resource.misc_flags & ResourceMiscFlag.BUFFER_ALLOW_RAW_VIEWS),
            "flags: RAW needs a buffer with BUFFER_ALLOW_RAW_VIEWS",
        )
        require(info.format is DXGI_FORMAT.R32_TYPELESS, f"format: {info.format.name}, a RAW view has R32_TYPELESS")
        element = 4
    else:
        require(info.format is not DXGI_FORMAT.UNKNOWN and not info.typeless, f"format: a {what} of a buffer needs a typed format")
        ability = _WANTED[m.kind] | FormatAbility.BUFFER
        require(info.allows(ability), f"format: {info.format.name} cannot be used by a {what} of a buffer")
        element = info.bytes
    if uav:
        require(not m.flags & ~7, f"flags: {m.flags:#x} has unknown bits")
        counters = m.flags & (BufferUavFlag.APPEND | BufferUavFlag.COUNTER)
        require(not counters or structured, "flags: APPEND and COUNTER need a structured buffer")
        require(counters != BufferUavFlag.APPEND | BufferUavFlag.COUNTER, "flags: APPEND and COUNTER exclude each other")
    elif name == "BUFFEREX":
        require(not m.flags & ~1, f"flags: {m.flags:#x} has unknown bits")
    else:
        require(m.flags == 0, f"flags: {m.flags:#x}, a {what} of dimension {name} has none")
    count = _range(m.first, m.count, resource.byte_width // element, "num_elements")
    view.format = info.format
    h = resource.handle
    if uav:
        flags = dd.D3D11_DDI_BUFFER_UAV_FLAG(m.flags)
        buffer_uav = dd.D3D11DDIARG_BUFFER_UNORDEREDACCESSVIEW(m.first, count, flags)
        return dd.D3D11DDIARG_CREATEUNORDEREDACCESSVIEW(h, info.format, _R.BUFFER, Buffer=buffer_uav)
    if isinstance(view, RenderTargetView):
        return dd.D3D10DDIARG_CREATERENDERTARGETVIEW(
            h, info.format, _R.BUFFER, Buffer=dd.D3D10DDIARG_BUFFER_VIEW(m.first, count)
        )
    if name == "BUFFEREX" or structured:
        extended = dd.D3D11DDIARG_BUFFEREX_SHADERRESOURCEVIEW(m.first, count, dd.D3D11_DDI_BUFFEREX_SRV_FLAG(int(raw)))
        return dd.D3D11DDIARG_CREATESHADERRESOURCEVIEW(h, info.format, _R.BUFFEREX, BufferEx=extended)
    return dd.D3D11DDIARG_CREATESHADERRESOURCEVIEW(
        h, info.format, _R.BUFFER, Buffer=dd.D3D10DDIARG_BUFFER_VIEW(m.first, count)
    )


def _texture_view(view: View, m: api.CreateView, name: str, what: str) -> Any:
    resource = view.resource
    multisampled = "MS" in name
    require(
        multisampled == (resource.sample_count > 1),
        f"dimension: {name} for a resource with {resource.sample_count} sample{'s' if resource.sample_count > 1 else ''}",
    )
    if isinstance(view, DepthStencilView):
        require(not m.flags & ~int(DsvFlag.READ_ONLY_DEPTH | DsvFlag.READ_ONLY_STENCIL), f"flags: {m.flags:#x} has unknown bits")
        stencil = format_info(view.format).stencil
        require(stencil or not m.flags & DsvFlag.READ_ONLY_STENCIL, "flags: READ_ONLY_STENCIL for a format without stencil")
    else:
        require(m.flags == 0, f"flags: {m.flags:#x}, a {what} of a texture has none")
    if isinstance(view, ShaderResourceView):
        mips = _range(m.mip, 1 if multisampled else m.mips, resource.mip_levels, "mip_levels")
    else:
        require(m.mip < resource.mip_levels, f"mip_slice: {m.mip}, there are {resource.mip_levels}")
        mips = 1
    view.mip, view.mip_end = m.mip, m.mip + mips
    first, count = (0, ALL) if m.default else (m.first, m.count)
    if name == "TEXTURE3D":
        if isinstance(view, ShaderResourceView):
            first, count = 0, 1
        else:
            count = _range(first, count, max(resource.depth >> m.mip, 1), "w_size")
        view.slice, view.slice_end = 0, 1
    elif name.startswith("TEXTURECUBE"):
        require(bool(resource.misc_flags & ResourceMiscFlag.TEXTURECUBE), f"dimension: {name} of a texture without TEXTURECUBE")
        if name == "TEXTURECUBE":
            first, count = 0, 1
        else:
            require(first + 6 <= resource.array_size, f"first_2d_array_face: {first}, there are {resource.array_size} faces")
            count = _range(0, count, (resource.array_size - first) // 6, "num_cubes")
        view.slice, view.slice_end = first, first + 6 * count
    else:
        if not name.endswith("ARRAY"):
            require(first == 0 and count in (1, ALL), f"array_size: a view of dimension {name} has one slice, the first")
            count = 1
        count = _range(first, count, resource.array_size, "array_size")
        view.slice, view.slice_end = first, first + count
    return _texture_argument(view, name, first, count, mips)


def _texture_argument(view: View, name: str, first: int, count: int, mips: int) -> Any:
    h, f, mip = view.resource.handle, view.format, view.mip
    if isinstance(view, ShaderResourceView):
        if name == "TEXTURE3D":
            tex3d = dd.D3D10DDIARG_TEX3D_SHADERRESOURCEVIEW(mip, mips)
            return dd.D3D11DDIARG_CREATESHADERRESOURCEVIEW(h, f, _R.TEXTURE3D, Tex3D=tex3d)
        if name.startswith("TEXTURECUBE"):
            cube = dd.D3D10_1DDIARG_TEXCUBE_SHADERRESOURCEVIEW(mip, mips, first, count)
            return dd.D3D11DDIARG_CREATESHADERRESOURCEVIEW(h, f, _R.TEXTURECUBE, TexCube=cube)
        tex = dd.D3D10DDIARG_TEX_SHADERRESOURCEVIEW(mip, mips, first, count)
        if name.startswith("TEXTURE1D"):
            return dd.D3D11DDIARG_CREATESHADERRESOURCEVIEW(h, f, _R.TEXTURE1D, Tex1D=tex)
        return dd.D3D11DDIARG_CREATESHADERRESOURCEVIEW(h, f, _R.TEXTURE2D, Tex2D=tex)
    single = dd.D3D10DDIARG_TEX_VIEW(mip, first, count)
    one = name.startswith("TEXTURE1D")
    if isinstance(view, DepthStencilView):
        flags = dd.D3D11_DDI_CREATE_DEPTH_STENCIL_VIEW_FLAG(view.flags)
        if one:
            return dd.D3D11DDIARG_CREATEDEPTHSTENCILVIEW(h, f, _R.TEXTURE1D, flags, Tex1D=single)
        return dd.D3D11DDIARG_CREATEDEPTHSTENCILVIEW(h, f, _R.TEXTURE2D, flags, Tex2D=single)
    made: Any = (
        dd.D3D10DDIARG_CREATERENDERTARGETVIEW
        if isinstance(view, RenderTargetView)
        else dd.D3D11DDIARG_CREATEUNORDEREDACCESSVIEW
    )
    if name == "TEXTURE3D":
        return made(h, f, _R.TEXTURE3D, Tex3D=dd.D3D10DDIARG_TEX3D_VIEW(mip, first, count))
    if one:
        return made(h, f, _R.TEXTURE1D, Tex1D=single)
    return made(h, f, _R.TEXTURE2D, Tex2D=single)


_CREATE: Final = {
    ShaderResourceView: ("pfnCalcPrivateShaderResourceViewSize", "pfnCreateShaderResourceView"),
    RenderTargetView: ("pfnCalcPrivateRenderTargetViewSize", "pfnCreateRenderTargetView"),
    DepthStencilView: ("pfnCalcPrivateDepthStencilViewSize", "pfnCreateDepthStencilView"),
    UnorderedAccessView: ("pfnCalcPrivateUnorderedAccessViewSize", "pfnCreateUnorderedAccessView"),
}


async def create_view(device: Device, m: api.CreateView) -> View:
    """Check a description and create the view in the driver. Raises ApiError."""
    view, argument = view_of(device, m)
    calc, create = _CREATE[type(view)]
    getattr(device.ddi, calc)(argument)
    await device.create(create, argument, view.handle, view.handle)
    view.resource.views += 1
    view.resource.refs += 1
    return view
