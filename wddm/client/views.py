"""Descriptions of views as messages: the dimension, where it is not given, is the natural one of the resource."""

from __future__ import annotations

from typing import Final

from wddm.wire import api

from .enums import DsvDimension, ResourceMiscFlag, RtvDimension, SrvDimension, UavDimension
from .resources import Buffer, Resource, Texture

ALL: Final = 0xFFFF_FFFF
SRV, RTV, DSV, UAV = range(4)


def _some(value: int | None) -> int:
    return ALL if value is None else value


def _view(resource: Resource, kind: int) -> api.CreateView:
    return api.CreateView(resource=resource.id, kind=kind, default=True)


def _texture(resource: Resource) -> Texture:
    assert isinstance(resource, Texture)
    return resource


def srv_dimension(resource: Resource, raw: bool) -> SrvDimension:
    """The natural dimension of a shader-resource view."""
    if isinstance(resource, Buffer):
        return SrvDimension.BUFFEREX if raw else SrvDimension.BUFFER
    texture = _texture(resource)
    if texture.dimension == 3:
        return SrvDimension.TEXTURE3D
    if texture.misc_flags & ResourceMiscFlag.TEXTURECUBE:
        return SrvDimension.TEXTURECUBEARRAY if texture.array_size > 6 else SrvDimension.TEXTURECUBE
    array = texture.array_size > 1
    if texture.dimension == 1:
        return SrvDimension.TEXTURE1DARRAY if array else SrvDimension.TEXTURE1D
    if texture.sample_count > 1:
        return SrvDimension.TEXTURE2DMSARRAY if array else SrvDimension.TEXTURE2DMS
    return SrvDimension.TEXTURE2DARRAY if array else SrvDimension.TEXTURE2D


def rtv_dimension(resource: Resource) -> RtvDimension:
    """The natural dimension of a render-target view."""
    if isinstance(resource, Buffer):
        return RtvDimension.BUFFER
    texture = _texture(resource)
    if texture.dimension == 3:
        return RtvDimension.TEXTURE3D
    array = texture.array_size > 1
    if texture.dimension == 1:
        return RtvDimension.TEXTURE1DARRAY if array else RtvDimension.TEXTURE1D
    if texture.sample_count > 1:
        return RtvDimension.TEXTURE2DMSARRAY if array else RtvDimension.TEXTURE2DMS
    return RtvDimension.TEXTURE2DARRAY if array else RtvDimension.TEXTURE2D


def dsv_dimension(resource: Resource) -> DsvDimension:
    """The natural dimension of a depth-stencil view."""
    name = rtv_dimension(resource).name
    return DsvDimension[name] if name in DsvDimension.__members__ else DsvDimension.UNKNOWN


def uav_dimension(resource: Resource) -> UavDimension:
    """The natural dimension of an unordered-access view."""
    name = rtv_dimension(resource).name
    return UavDimension[name] if name in UavDimension.__members__ else UavDimension.UNKNOWN


def srv_desc(
    resource: Resource,
    format: int | None,
    dimension: int | None,
    most_detailed_mip: int,
    mip_levels: int | None,
    first_array_slice: int,
    array_size: int | None,
    first_element: int,
    num_elements: int | None,
    first_2d_array_face: int,
    num_cubes: int | None,
    flags: int,
) -> api.CreateView:
    """D3D11_SHADER_RESOURCE_VIEW_DESC; NULL when every argument is its default."""
    message = _view(resource, SRV)
    given = (format, dimension, mip_levels, array_size, num_elements, num_cubes)
    if all(v is None for v in given) and not (
        most_detailed_mip or first_array_slice or first_element or first_2d_array_face or flags
    ):
        return message
    message.default = False
    message.format = format or 0
    message.dimension = srv_dimension(resource, bool(flags)) if dimension is None else dimension
    message.flags = flags
    message.mip, message.mips = most_detailed_mip, _some(mip_levels)
    if isinstance(resource, Buffer):
        message.first, message.count = first_element, _some(num_elements)
    elif message.dimension in (SrvDimension.TEXTURECUBE, SrvDimension.TEXTURECUBEARRAY):
        message.first, message.count = first_2d_array_face, _some(num_cubes)
    else:
        message.first, message.count = first_array_slice, _some(array_size)
    return message


def _slice_desc(
    message: api.CreateView,
    resource: Resource,
    format: int | None,
    dimension: int,
    mip_slice: int,
    array: tuple[int, int | None],
    w: tuple[int, int | None],
    elements: tuple[int, int | None],
    flags: int,
) -> api.CreateView:
    message.default = False
    message.format, message.dimension, message.flags = format or 0, dimension, flags
    message.mip, message.mips = mip_slice, 1
    if isinstance(resource, Buffer):
        first, count = elements
    elif _texture(resource).dimension == 3:
        first, count = w
    else:
        first, count = array
    message.first, message.count = first, _some(count)
    return message


def rtv_desc(
    resource: Resource,
    format: int | None,
    dimension: int | None,
    mip_slice: int,
    first_array_slice: int,
    array_size: int | None,
    first_w_slice: int,
    w_size: int | None,
    first_element: int,
    num_elements: int | None,
) -> api.CreateView:
    """D3D11_RENDER_TARGET_VIEW_DESC; NULL when every argument is its default."""
    message = _view(resource, RTV)
    if all(v is None for v in (format, dimension, array_size, w_size, num_elements)) and not (
        mip_slice or first_array_slice or first_w_slice or first_element
    ):
        return message
    return _slice_desc(
        message, resource, format, rtv_dimension(resource) if dimension is None else dimension, mip_slice,
        (first_array_slice, array_size), (first_w_slice, w_size), (first_element, num_elements), 0,
    )  # fmt: skip


def dsv_desc(
    resource: Resource,
    format: int | None,
    dimension: int | None,
    mip_slice: int,
    first_array_slice: int,
    array_size: int | None,
    flags: int,
) -> api.CreateView:
    """D3D11_DEPTH_STENCIL_VIEW_DESC; NULL when every argument is its default."""
    message = _view(resource, DSV)
    if format is None and dimension is None and array_size is None and not (mip_slice or first_array_slice or flags):
        return message
    return _slice_desc(
        message, resource, format, dsv_dimension(resource) if dimension is None else dimension, mip_slice,
        (first_array_slice, array_size), (0, None), (0, None), flags,
    )  # fmt: skip


def uav_desc(
    resource: Resource,
    format: int | None,
    dimension: int | None,
    mip_slice: int,
    first_array_slice: int,
    array_size: int | None,
    first_w_slice: int,
    w_size: int | None,
    first_element: int,
    num_elements: int | None,
    flags: int,
) -> api.CreateView:
    """D3D11_UNORDERED_ACCESS_VIEW_DESC; NULL when every argument is its default."""
    message = _view(resource, UAV)
    if all(v is None for v in (format, dimension, array_size, w_size, num_elements)) and not (
        mip_slice or first_array_slice or first_w_slice or first_element or flags
    ):
        return message
    return _slice_desc(
        message, resource, format, uav_dimension(resource) if dimension is None else dimension, mip_slice,
        (first_array_slice, array_size), (first_w_slice, w_size), (first_element, num_elements), flags,
    )  # fmt: skip
