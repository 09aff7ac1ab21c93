"""Buffers and textures: the rules of their descriptions, and creating them in the driver.

Models "Resource Limits (Direct3D 11)", D3D11_BUFFER_DESC, D3D11_TEXTURE*_DESC and D3D11DDIARG_CREATERESOURCE.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from wddm.client.enums import BindFlag, CpuAccessFlag, ResourceMiscFlag, Usage
from wddm.ddi import d3d10umddi as dd
from wddm.ddi.dxgiddi import DXGI_DDI_PRIMARY_DESC
from wddm.ddi.dxgiformat import DXGI_FORMAT, FORMATS, TYPELESS_FAMILIES, FormatAbility, FormatInfo
from wddm.wire import api

from .errors import invalid_arg, require
from .objects import DeviceObject, Kind

if TYPE_CHECKING:
    from .device import Device

MAX_TEXTURE_DIMENSION: Final = 16384  #: D3D11_REQ_TEXTURE2D_U_OR_V_DIMENSION
MAX_TEXTURE3D_DIMENSION: Final = 2048
MAX_ARRAY: Final = 2048
MAX_CONSTANT_BUFFER: Final = 4096 * 16
MAX_RESOURCE_BYTES: Final = 1 << 31
MAX_STRUCTURE_STRIDE: Final = 2048

_BINDS: Final = (
    BindFlag.VERTEX_BUFFER
    | BindFlag.INDEX_BUFFER
    | BindFlag.CONSTANT_BUFFER
    | BindFlag.SHADER_RESOURCE
    | BindFlag.STREAM_OUTPUT
    | BindFlag.RENDER_TARGET
    | BindFlag.DEPTH_STENCIL
    | BindFlag.UNORDERED_ACCESS
)
_BUFFER_MISC: Final = (
    ResourceMiscFlag.DRAWINDIRECT_ARGS | ResourceMiscFlag.BUFFER_ALLOW_RAW_VIEWS | ResourceMiscFlag.BUFFER_STRUCTURED
)
_TEXTURE_MISC: Final = ResourceMiscFlag.GENERATE_MIPS | ResourceMiscFlag.TEXTURECUBE | ResourceMiscFlag.RESOURCE_CLAMP
_OUTPUTS: Final = (
    BindFlag.RENDER_TARGET | BindFlag.DEPTH_STENCIL | BindFlag.UNORDERED_ACCESS | BindFlag.STREAM_OUTPUT
)


class Resource(DeviceObject):
    """A buffer or texture. ``outputs`` and ``inputs`` count the pipeline slots it is bound to for writing and reading."""

    __slots__ = (
        "array_size",
        "bind_flags",
        "byte_width",
        "cpu_access_flags",
        "depth",
        "dimension",
        "format",
        "height",
        "info",
        "inputs",
        "mapped",
        "mip_levels",
        "misc_flags",
        "outputs",
        "sample_count",
        "sample_quality",
        "stride",
        "swap_chain",
        "usage",
        "views",
        "width",
        "written",
    )

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.dimension = dd.D3D10DDIRESOURCE_TYPE.BUFFER
        self.usage = Usage.DEFAULT
        # Plain numbers: operators of IntFlag cost a microsecond each.
        self.bind_flags = 0
        self.cpu_access_flags = 0
        self.misc_flags = 0
        self.format = DXGI_FORMAT.UNKNOWN
        self.info: FormatInfo = FORMATS[DXGI_FORMAT.UNKNOWN]
        self.width = self.height = self.depth = 1
        self.mip_levels = self.array_size = self.sample_count = 1
        self.sample_quality = 0
        self.byte_width = self.stride = 0
        self.inputs = self.outputs = 0
        self.views = 0
        self.written = False  #: was an output since it was last bound as an input
        self.swap_chain: Any = None  #: the chain whose back buffer this is
        self.mapped: dict[int, dd.D3D10DDI_MAPPED_SUBRESOURCE] = {}

    @property
    def subresources(self) -> int:
        """How many."""
        return self.mip_levels * self.array_size

    def size(self, mip: int) -> tuple[int, int, int]:
        """Texels of a mip level."""
        return max(self.width >> mip, 1), max(self.height >> mip, 1), max(self.depth >> mip, 1)

    def mip_bytes(self, mip: int) -> tuple[int, int, int]:
        """Bytes of a row, of a slice and of all of a mip level, packed."""
        if self.dimension is dd.D3D10DDIRESOURCE_TYPE.BUFFER:
            return self.byte_width, self.byte_width, self.byte_width
        width, height, depth = self.size(mip)
        row = self.info.row_bytes(width)
        return row, row * self.info.rows(height), row * self.info.rows(height) * depth

    def destroy(self) -> None:
        """DestroyResource."""
        self.device.tell("pfnDestroyResource", self.handle)


class Buffer(Resource):
    """ID3D11Buffer."""

    __slots__ = ()
    kind = Kind.BUFFER


class Texture(Resource):
    """ID3D11Texture1D, 2D or 3D."""

    __slots__ = ()
    kind = Kind.TEXTURE


def _flags(value: int, allowed: int, name: str) -> None:
    require(not value & ~int(allowed), f"{name}: {value:#x} has bits that do not belong here ({value & ~int(allowed):#x})")


def _usage(value: int) -> Usage:
    require(value in (0, 1, 2, 3), f"usage: {value} is no D3D11_USAGE")
    return Usage(value)


def _check_usage(usage: Usage, bind: int, cpu: int, has_data: bool) -> None:
    """The rules between usage, bind flags, CPU access and initial data that buffers and textures share."""
    _flags(cpu, CpuAccessFlag.READ | CpuAccessFlag.WRITE, "cpu_access_flags")
    if usage is Usage.DEFAULT:
        require(cpu == 0, "cpu_access_flags: a DEFAULT resource allows no CPU access")
    elif usage is Usage.IMMUTABLE:
        require(has_data, "initial data: an IMMUTABLE resource needs it")
        require(cpu == 0, "cpu_access_flags: an IMMUTABLE resource allows no CPU access")
        require(not bind & _OUTPUTS, "bind_flags: an IMMUTABLE resource cannot be written by the GPU")
        require(bind != 0, "bind_flags: an IMMUTABLE resource needs at least one")
    elif usage is Usage.DYNAMIC:
        require(cpu == CpuAccessFlag.WRITE, "cpu_access_flags: a DYNAMIC resource has WRITE and nothing else")
        require(bind != 0, "bind_flags: a DYNAMIC resource needs at least one")
        require(not bind & _OUTPUTS, "bind_flags: a DYNAMIC resource cannot be written by the GPU")
    else:
        require(cpu != 0, "cpu_access_flags: a STAGING resource needs READ, WRITE or both")
        require(bind == 0, "bind_flags: a STAGING resource cannot be bound")


def buffer_of(device: Device, m: api.CreateBuffer) -> Buffer:
    """A buffer as described, not created yet. Raises ApiError."""
    usage = _usage(m.usage)
    _flags(m.bind_flags, _BINDS & ~BindFlag.DEPTH_STENCIL, "bind_flags")
    _flags(m.misc_flags, _BUFFER_MISC, "misc_flags")
    require(0 < m.byte_width < MAX_RESOURCE_BYTES, f"byte_width: {m.byte_width} is not in 1..{MAX_RESOURCE_BYTES - 1}")
    _check_usage(usage, m.bind_flags, m.cpu_access_flags, bool(m.initial))
    if m.bind_flags & BindFlag.CONSTANT_BUFFER:
        require(m.bind_flags == BindFlag.CONSTANT_BUFFER, "bind_flags: CONSTANT_BUFFER goes with no other flag")
        require(m.byte_width % 16 == 0, f"byte_width: {m.byte_width} of a constant buffer is no multiple of 16")
        require(m.byte_width <= MAX_CONSTANT_BUFFER, f"byte_width: a constant buffer has at most {MAX_CONSTANT_BUFFER} bytes")
    structured = bool(m.misc_flags & ResourceMiscFlag.BUFFER_STRUCTURED)
    raw = bool(m.misc_flags & ResourceMiscFlag.BUFFER_ALLOW_RAW_VIEWS)
    views = m.bind_flags & (BindFlag.SHADER_RESOURCE | BindFlag.UNORDERED_ACCESS)
    if structured:
        stride = m.structure_byte_stride
        require(
            0 < stride <= MAX_STRUCTURE_STRIDE and stride % 4 == 0,
            f"structure_byte_stride: {stride} is no multiple of 4 in 4..{MAX_STRUCTURE_STRIDE}",
        )
        require(m.byte_width % stride == 0, f"byte_width: {m.byte_width} is no multiple of structure_byte_stride {stride}")
        require(not raw, "misc_flags: BUFFER_STRUCTURED and BUFFER_ALLOW_RAW_VIEWS exclude each other")
        require(
            not m.bind_flags & (BindFlag.VERTEX_BUFFER | BindFlag.INDEX_BUFFER | BindFlag.STREAM_OUTPUT | BindFlag.RENDER_TARGET),
            "bind_flags: a structured buffer is bound by shader-resource and unordered-access views only",
        )
    if raw:
        require(views != 0, "misc_flags: BUFFER_ALLOW_RAW_VIEWS needs SHADER_RESOURCE or UNORDERED_ACCESS in bind_flags")
    if m.misc_flags & ResourceMiscFlag.DRAWINDIRECT_ARGS:
        require(usage is Usage.DEFAULT, "usage: a DRAWINDIRECT_ARGS buffer is DEFAULT")
        require(not structured, "misc_flags: DRAWINDIRECT_ARGS and BUFFER_STRUCTURED exclude each other")
    require(len(m.initial) <= 1, f"initial data: {len(m.initial)} pieces, a buffer has one subresource")
    buffer = Buffer(device)
    buffer.usage, buffer.byte_width, buffer.width = usage, m.byte_width, m.byte_width
    buffer.bind_flags, buffer.misc_flags, buffer.cpu_access_flags = m.bind_flags, m.misc_flags, m.cpu_access_flags
    buffer.stride = m.structure_byte_stride if structured else 0
    return buffer


_DIMENSIONS: Final = {
    1: (dd.D3D10DDIRESOURCE_TYPE.TEXTURE1D, FormatAbility.TEXTURE1D, "Texture1D"),
    2: (dd.D3D10DDIRESOURCE_TYPE.TEXTURE2D, FormatAbility.TEXTURE2D, "Texture2D"),
    3: (dd.D3D10DDIRESOURCE_TYPE.TEXTURE3D, FormatAbility.TEXTURE3D, "Texture3D"),
}


def format_info(value: int, name: str = "format") -> FormatInfo:
    """The description of a format. Raises E_INVALIDARG for a number that is none."""
    if value not in DXGI_FORMAT._value2member_map_ or value == DXGI_FORMAT.FORCE_UINT:
        raise invalid_arg(f"{name}: {value} is no DXGI_FORMAT")
    return FORMATS[DXGI_FORMAT(value)]


def family_allows(info: FormatInfo, ability: FormatAbility) -> bool:
    """Whether the format, or for a typeless one some format of its family, has an ability."""
    if info.allows(ability):
        return True
    return info.typeless and any(FORMATS[f].allows(ability) for f in TYPELESS_FAMILIES.get(info.format, ()))


def texture_of(device: Device, m: api.CreateTexture) -> Texture:
    """A texture as described, not created yet. Raises ApiError."""
    require(m.dimension in _DIMENSIONS, f"dimension: {m.dimension} is not 1, 2 or 3")
    dimension, ability, what = _DIMENSIONS[m.dimension]
    usage = _usage(m.usage)
    info = format_info(m.format)
    require(info.format is not DXGI_FORMAT.UNKNOWN, "format: a texture needs one")
    require(info.bits > 0 and info.allows(ability), f"format: {info.format.name} is not supported for a {what}")
    limit = MAX_TEXTURE3D_DIMENSION if m.dimension == 3 else MAX_TEXTURE_DIMENSION
    for name, value, most in (
        ("width", m.width, limit),
        ("height", m.height, limit if m.dimension > 1 else 1),
        ("depth", m.depth, limit if m.dimension == 3 else 1),
        ("array_size", m.array_size, MAX_ARRAY if m.dimension < 3 else 1),
    ):
        require(0 < value <= most, f"{name}: {value} of a {what} is not in 1..{most}")
    full = max(m.width, m.height, m.depth).bit_length()
    require(m.mip_levels <= full, f"mip_levels: {m.mip_levels}, a texture of this size has {full}")
    mips = m.mip_levels or (1 if m.sample_count > 1 else full)
    _flags(m.bind_flags, _BINDS & ~(BindFlag.VERTEX_BUFFER | BindFlag.INDEX_BUFFER | BindFlag.CONSTANT_BUFFER | BindFlag.STREAM_OUTPUT), "bind_flags")  # noqa: E501
    _flags(m.misc_flags, _TEXTURE_MISC, "misc_flags")
    _check_usage(usage, m.bind_flags, m.cpu_access_flags, bool(m.initial))
    _check_binds(info, m, what)
    if info.compressed:
        require(
            m.width % 4 == 0 and (m.height % 4 == 0 or m.dimension == 1),
            f"width, height: {m.width}x{m.height} of a block-compressed format are no multiples of 4",
        )
    if usage is Usage.DYNAMIC:
        require(mips == 1 and m.array_size == 1, "mip_levels, array_size: a DYNAMIC texture has one subresource")
    _check_samples(device, info, m, mips, what)
    if m.misc_flags & ResourceMiscFlag.TEXTURECUBE:
        require(m.dimension == 2 and m.width == m.height, "misc_flags: TEXTURECUBE needs a square Texture2D")
        require(m.array_size % 6 == 0, f"array_size: {m.array_size} of a cube texture is no multiple of 6")
        require(info.allows(FormatAbility.TEXTURECUBE), f"format: {info.format.name} is not supported for cube textures")
    if m.misc_flags & ResourceMiscFlag.GENERATE_MIPS:
        both = BindFlag.RENDER_TARGET | BindFlag.SHADER_RESOURCE
        require(m.bind_flags & both == both, "misc_flags: GENERATE_MIPS needs RENDER_TARGET and SHADER_RESOURCE in bind_flags")
        require(
            family_allows(info, FormatAbility.MIP_AUTOGEN), f"format: mips of {info.format.name} cannot be generated"
        )
    if m.misc_flags & ResourceMiscFlag.RESOURCE_CLAMP:
        require(usage is Usage.DEFAULT or usage is Usage.IMMUTABLE, "misc_flags: RESOURCE_CLAMP needs DEFAULT or IMMUTABLE usage")
    texture = Texture(device)
    texture.dimension, texture.usage, texture.format, texture.info = dimension, usage, info.format, info
    texture.width, texture.height, texture.depth = m.width, m.height, m.depth
    texture.mip_levels, texture.array_size = mips, m.array_size
    texture.sample_count, texture.sample_quality = m.sample_count, m.sample_quality
    texture.bind_flags, texture.misc_flags, texture.cpu_access_flags = m.bind_flags, m.misc_flags, m.cpu_access_flags
    total = sum(texture.mip_bytes(mip)[2] for mip in range(mips)) * m.array_size * m.sample_count
    require(total < MAX_RESOURCE_BYTES, f"width: the texture has {total} bytes, at most {MAX_RESOURCE_BYTES - 1} are allowed")
    require(
        len(m.initial) in (0, texture.subresources),
        f"initial data: {len(m.initial)} pieces for {texture.subresources} subresources",
    )
    return texture


def _check_binds(info: FormatInfo, m: api.CreateTexture, what: str) -> None:
    name = info.format.name
    if m.bind_flags & BindFlag.RENDER_TARGET:
        require(family_allows(info, FormatAbility.RENDER_TARGET), f"bind_flags: {name} cannot be a render target")
    if m.bind_flags & BindFlag.DEPTH_STENCIL:
        require(m.dimension < 3, "bind_flags: a Texture3D cannot be DEPTH_STENCIL")
        require(family_allows(info, FormatAbility.DEPTH_STENCIL), f"bind_flags: {name} cannot be a depth-stencil buffer")
        require(
            not m.bind_flags & (BindFlag.RENDER_TARGET | BindFlag.UNORDERED_ACCESS),
            "bind_flags: DEPTH_STENCIL excludes RENDER_TARGET and UNORDERED_ACCESS",
        )
    if m.bind_flags & BindFlag.SHADER_RESOURCE:
        readable = family_allows(info, FormatAbility.SHADER_LOAD) or family_allows(info, FormatAbility.SHADER_SAMPLE)
        require(readable, f"bind_flags: shaders cannot read {name}{'; use the typeless format' if info.depth else ''}")
    if m.bind_flags & BindFlag.UNORDERED_ACCESS:
        require(
            family_allows(info, FormatAbility.TYPED_UNORDERED_ACCESS_VIEW), f"bind_flags: {name} has no unordered-access views"
        )


def _check_samples(device: Device, info: FormatInfo, m: api.CreateTexture, mips: int, what: str) -> None:
    require(m.sample_count >= 1, "sample_count: 0 samples")
    if m.sample_count == 1:
        require(m.sample_quality == 0, f"sample_quality: {m.sample_quality} with one sample")
        return
    require(m.dimension == 2, f"sample_count: a {what} has one sample")
    require(mips == 1, "mip_levels: a multisampled texture has one level")
    require(m.usage == Usage.DEFAULT and not m.initial, "usage: a multisampled texture is DEFAULT, without initial data")
    require(
        bool(m.bind_flags & (BindFlag.RENDER_TARGET | BindFlag.DEPTH_STENCIL)),
        "bind_flags: a multisampled texture is a RENDER_TARGET or DEPTH_STENCIL",
    )
    require(not m.bind_flags & BindFlag.UNORDERED_ACCESS, "bind_flags: a multisampled texture has no UNORDERED_ACCESS")
    require(not m.misc_flags, "misc_flags: a multisampled texture has none of them")
    levels = device.quality_levels(info.format, m.sample_count)
    require(levels > 0, f"sample_count: {info.format.name} does not support {m.sample_count} samples")
    require(m.sample_quality < levels, f"sample_quality: {m.sample_quality}, there are {levels} levels")


_DDI_BINDS: Final = (
    (BindFlag.UNORDERED_ACCESS, dd.D3D10_DDI_RESOURCE_BIND_FLAG.UNORDERED_ACCESS),
    (BindFlag.DECODER, dd.D3D10_DDI_RESOURCE_BIND_FLAG.DECODER),
)
_DDI_MISC: Final = (
    (ResourceMiscFlag.GENERATE_MIPS, dd.D3D10_DDI_RESOURCE_MISC_FLAG.AUTO_GEN_MIP_MAP),
    (ResourceMiscFlag.DRAWINDIRECT_ARGS, dd.D3D10_DDI_RESOURCE_MISC_FLAG.DRAWINDIRECT_ARGS),
    (ResourceMiscFlag.BUFFER_ALLOW_RAW_VIEWS, dd.D3D10_DDI_RESOURCE_MISC_FLAG.BUFFER_ALLOW_RAW_VIEWS),
    (ResourceMiscFlag.BUFFER_STRUCTURED, dd.D3D10_DDI_RESOURCE_MISC_FLAG.BUFFER_STRUCTURED),
    (ResourceMiscFlag.RESOURCE_CLAMP, dd.D3D10_DDI_RESOURCE_MISC_FLAG.RESOURCE_CLAMP),
)


def ddi_bind_flags(flags: int) -> dd.D3D10_DDI_RESOURCE_BIND_FLAG:
    """The DDI's bind flags: the low seven bits agree, the others do not."""
    found = dd.D3D10_DDI_RESOURCE_BIND_FLAG(flags & 0x7F)
    for ours, theirs in _DDI_BINDS:
        if flags & ours:
            found |= theirs
    return found


def create_argument(
    resource: Resource,
    data: Sequence[tuple[npt.NDArray[np.uint8], int, int]],
    primary: DXGI_DDI_PRIMARY_DESC | None = None,
) -> dd.D3D11DDIARG_CREATERESOURCE:
    """D3D11DDIARG_CREATERESOURCE of a resource; ``data`` is memory, row pitch and slice pitch of each subresource."""
    mips = []
    for mip in range(resource.mip_levels):
        width, height, depth = resource.size(mip)
        block = resource.info.block_size
        mips.append(
            dd.D3D10DDI_MIPINFO(
                width, height, depth, -(-width // block) * block, -(-height // block) * block, depth
            )
        )
    misc = dd.D3D10_DDI_RESOURCE_MISC_FLAG.NONE
    for ours, theirs in _DDI_MISC:
        if resource.misc_flags & ours:
            misc |= theirs
    access = dd.D3D10_DDI_CPU_ACCESS.NONE
    if resource.cpu_access_flags & CpuAccessFlag.WRITE:
        access |= dd.D3D10_DDI_CPU_ACCESS.WRITE
    if resource.cpu_access_flags & CpuAccessFlag.READ:
        access |= dd.D3D10_DDI_CPU_ACCESS.READ
    bind = ddi_bind_flags(resource.bind_flags)
    if primary is not None:
        bind |= dd.D3D10_DDI_RESOURCE_BIND_FLAG.PRESENT
    cube = bool(resource.misc_flags & ResourceMiscFlag.TEXTURECUBE)
    return dd.D3D11DDIARG_CREATERESOURCE(
        pMipInfoList=mips,
        ResourceDimension=dd.D3D10DDIRESOURCE_TYPE.TEXTURECUBE if cube else resource.dimension,
        Format=resource.format,
        BindFlags=bind,
        Usage=dd.D3D10_DDI_RESOURCE_USAGE(int(resource.usage)),
        MapFlags=access,
        MiscFlags=misc,
        SampleDesc=dd.DXGI_SAMPLE_DESC(resource.sample_count, resource.sample_quality),
        MipLevels=resource.mip_levels,
        ArraySize=resource.array_size,
        pInitialDataUP=[dd.D3D10_DDIARG_SUBRESOURCE_UP(memory, row, slice) for memory, row, slice in data] or None,
        pPrimaryDesc=primary,
        ByteStride=resource.stride,
    )


def initial_data(resource: Resource, pieces: Sequence[api.SubresourceData]) -> list[tuple[npt.NDArray[np.uint8], int, int]]:
    """The memory of initial data, checked to be long enough for its pitches. Raises ApiError."""
    found = []
    for index, piece in enumerate(pieces):
        memory = resource.device.blob(piece.blob)
        mip = index % resource.mip_levels
        row, _, _ = resource.mip_bytes(mip)
        _, height, depth = resource.size(mip)
        rows = 1 if resource.dimension is dd.D3D10DDIRESOURCE_TYPE.BUFFER else resource.info.rows(height)
        row_pitch = piece.row_pitch or row
        slice_pitch = piece.depth_pitch or row_pitch * rows
        if rows > 1:
            require(row_pitch >= row, f"initial data {index}: row pitch {row_pitch} is less than a row's {row} bytes")
        need = (depth - 1) * slice_pitch + (rows - 1) * row_pitch + row
        require(
            memory.nbytes >= need, f"initial data {index}: {memory.nbytes} bytes, the subresource takes {need} with its pitches"
        )
        found.append((memory, row_pitch, slice_pitch))
    return found


async def create_in_driver(
    resource: Resource,
    pieces: Sequence[api.SubresourceData],
    primary: DXGI_DDI_PRIMARY_DESC | None = None,
) -> None:
    """CalcPrivateResourceSize and CreateResource. Raises ApiError."""
    device = resource.device
    argument = create_argument(resource, initial_data(resource, pieces), primary)
    device.ddi.pfnCalcPrivateResourceSize(argument)
    device.core.creates_primary = primary is not None
    try:
        await device.create("pfnCreateResource", argument, resource.handle, resource.handle)
    finally:
        device.core.creates_primary = False
        for piece in pieces:
            device.blob_taken(piece.blob)
