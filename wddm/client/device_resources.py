"""Creating buffers, textures and views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from wddm.wire import api

from .device_base import Data, DeviceBase, as_array, invalid, pitches
from .enums import BindFlag, Usage
from .pixels import texels
from .resources import (
    Buffer,
    DepthStencilView,
    RenderTargetView,
    Resource,
    ShaderResourceView,
    Texture,
    Texture1D,
    Texture2D,
    Texture3D,
    UnorderedAccessView,
)
from .views import dsv_desc, rtv_desc, srv_desc, uav_desc

_T = TypeVar("_T", bound=Texture)


class DeviceResources(DeviceBase):
    """Buffers, textures, views."""

    async def create_buffer(
        self,
        data: Data | int,
        *,
        bind_flags: int = 0,
        usage: int = 0,
        cpu_access_flags: int = 0,
        misc_flags: int = 0,
        structure_byte_stride: int = 0,
        byte_width: int | None = None,
    ) -> Buffer:
        """A buffer of ``data`` (its size in bytes, or its initial content).

        A constant buffer is made a multiple of 16 bytes when its content is given.
        """
        initial: list[api.SubresourceData] = []
        late: npt.NDArray[Any] | None = None
        if isinstance(data, (int, np.integer)):
            width = int(data)
        else:
            content = as_array(data)
            width = content.nbytes if byte_width is None else byte_width
            if bind_flags & BindFlag.CONSTANT_BUFFER and byte_width is None:
                width = (width + 15) & ~15
            if content.nbytes > width:
                raise invalid(f"byte_width {width}: the data has {content.nbytes} bytes")
            if content.nbytes < width:
                padded = np.zeros(width, np.uint8)
                padded[: content.nbytes] = np.ascontiguousarray(content).reshape(-1).view(np.uint8)
                content = padded
            if self._too_big([content], usage, bind_flags):
                late = content
            else:
                initial.append(api.SubresourceData(blob=self.blob(content)))
        reply = await self.call(
            api.CreateBuffer(
                device=self.id,
                byte_width=width,
                usage=usage,
                bind_flags=bind_flags,
                cpu_access_flags=cpu_access_flags,
                misc_flags=misc_flags,
                structure_byte_stride=structure_byte_stride,
                initial=initial,
            ),
            api.Created,
        )
        buffer = Buffer(self, reply.id, usage, bind_flags, cpu_access_flags, misc_flags, width, structure_byte_stride)
        if late is not None:
            self.immediate_context.update_subresource(buffer, late)
        return buffer

    def _too_big(self, arrays: Sequence[npt.NDArray[Any]], usage: int, bind_flags: int) -> bool:
        """Whether initial data do not fit a message, and can be written afterwards instead."""
        if sum(a.nbytes for a in arrays) <= api.MAX_DATA:
            return False
        if usage != Usage.DEFAULT or bind_flags & BindFlag.DEPTH_STENCIL:
            raise invalid(f"data: more than {api.MAX_DATA} bytes for a resource that cannot be updated")
        return True

    async def create_texture1d(
        self,
        data: Data | Sequence[Data] | None = None,
        *,
        format: int,
        width: int | None = None,
        mip_levels: int = 1,
        array_size: int = 1,
        usage: int = 0,
        bind_flags: int | None = None,
        cpu_access_flags: int = 0,
        misc_flags: int = 0,
    ) -> Texture1D:
        """A 1D texture; ``data`` is an array of shape (width, channels) or one for each subresource.

        Textures are made for shaders to read unless ``bind_flags`` or STAGING usage say otherwise.
        """
        message, data = self._texture(1, data, format, (width,), mip_levels, array_size)
        return await self._create_texture(Texture1D, message, data, usage, bind_flags, cpu_access_flags, misc_flags)

    async def create_texture2d(
        self,
        data: Data | Sequence[Data] | None = None,
        *,
        format: int,
        width: int | None = None,
        height: int | None = None,
        mip_levels: int = 1,
        array_size: int = 1,
        sample_count: int = 1,
        sample_quality: int = 0,
        usage: int = 0,
        bind_flags: int | None = None,
        cpu_access_flags: int = 0,
        misc_flags: int = 0,
    ) -> Texture2D:
        """A 2D texture; ``data`` is an array of shape (height, width, channels) or one for each subresource (mips of slice 0,
        mips of slice 1…). Without ``width`` and ``height`` the size is that of the first array; ``mip_levels`` 0 makes all."""
        message, data = self._texture(2, data, format, (width, height), mip_levels, array_size)
        message.sample_count, message.sample_quality = sample_count, sample_quality
        return await self._create_texture(Texture2D, message, data, usage, bind_flags, cpu_access_flags, misc_flags)

    async def create_texture3d(
        self,
        data: Data | Sequence[Data] | None = None,
        *,
        format: int,
        width: int | None = None,
        height: int | None = None,
        depth: int | None = None,
        mip_levels: int = 1,
        usage: int = 0,
        bind_flags: int | None = None,
        cpu_access_flags: int = 0,
        misc_flags: int = 0,
    ) -> Texture3D:
        """A 3D texture; ``data`` is an array of shape (depth, height, width, channels) or one for each mip."""
        message, data = self._texture(3, data, format, (width, height, depth), mip_levels, 1)
        return await self._create_texture(Texture3D, message, data, usage, bind_flags, cpu_access_flags, misc_flags)

    def _texture(
        self,
        dimension: int,
        data: Data | Sequence[Data] | None,
        format: int,
        size: tuple[int | None, ...],
        mip_levels: int,
        array_size: int,
    ) -> tuple[api.CreateTexture, list[npt.NDArray[Any]]]:
        """The message without its data, and the data as arrays."""
        arrays: list[npt.NDArray[Any]] = []
        if data is not None:
            one = isinstance(data, (np.ndarray, bytes, bytearray, memoryview)) or not isinstance(data, Sequence)
            arrays = list(map(as_array, [data] if one else data))
        if None in size:
            if not arrays:
                raise invalid("width: a texture without data needs its size")
            try:
                form = texels(format)
            except ValueError as error:
                raise invalid(f"format: {error}") from None
            spatial = arrays[0].shape[:dimension]
            if form.down > 1 or len(spatial) < dimension:
                raise invalid(f"width: the size cannot be told from data of shape {arrays[0].shape}")
            size = tuple(
                known if known is not None else found for known, found in zip(size, reversed(spatial), strict=True)
            )
        width, height, depth = (*size, 1, 1)[:3]
        assert width is not None
        assert height is not None
        assert depth is not None
        message = api.CreateTexture(
            device=self.id,
            dimension=dimension,
            width=width,
            height=height,
            depth=depth,
            mip_levels=mip_levels,
            array_size=array_size,
            format=format,
        )
        return message, arrays

    async def _create_texture(
        self,
        kind: type[_T],
        message: api.CreateTexture,
        arrays: Sequence[npt.NDArray[Any]],
        usage: int,
        bind_flags: int | None,
        cpu_access_flags: int,
        misc_flags: int,
    ) -> _T:
        if bind_flags is None:
            bind_flags = 0 if usage == Usage.STAGING else BindFlag.SHADER_RESOURCE
        mips = message.mip_levels or max(message.width, message.height, message.depth).bit_length()
        late = self._too_big(arrays, usage, bind_flags)
        for index, array in enumerate(arrays):
            mip = index % mips
            row, depth = pitches(message.format, *(max(n >> mip, 1) for n in (message.width, message.height, message.depth)))
            need = depth * max(message.depth >> mip, 1)
            if array.nbytes != need:
                raise invalid(f"data of subresource {index}: {array.nbytes} bytes of shape {array.shape}, it has {need}")
            if not late:
                message.initial.append(api.SubresourceData(blob=self.blob(array), row_pitch=row, depth_pitch=depth))
        message.usage, message.bind_flags = usage, bind_flags
        message.cpu_access_flags, message.misc_flags = cpu_access_flags, misc_flags
        reply = await self.call(message, api.Created)
        texture = self.adopt_texture(kind, reply.id, message)
        if late:
            for index, array in enumerate(arrays):
                self.immediate_context.update_subresource(texture, array, index)
        return texture

    def adopt_texture(self, kind: type[_T], id: int, message: api.CreateTexture) -> _T:
        """The object of a texture that exists."""
        return kind(
            self,
            id,
            message.usage,
            message.bind_flags,
            message.cpu_access_flags,
            message.misc_flags,
            dimension=message.dimension,
            width=message.width,
            height=message.height,
            depth=message.depth,
            mip_levels=message.mip_levels,
            array_size=message.array_size,
            format=message.format,
            sample_count=message.sample_count,
        )

    # ----- views -----------------------------------------------------------------------------------------------------------

    async def create_shader_resource_view(
        self,
        resource: Resource,
        *,
        format: int | None = None,
        dimension: int | None = None,
        most_detailed_mip: int = 0,
        mip_levels: int | None = None,
        first_array_slice: int = 0,
        array_size: int | None = None,
        first_element: int = 0,
        num_elements: int | None = None,
        first_2d_array_face: int = 0,
        num_cubes: int | None = None,
        flags: int = 0,
    ) -> ShaderResourceView:
        """A view for shaders to read. Without keywords: of the whole resource in its own format."""
        message = srv_desc(
            resource, format, dimension, most_detailed_mip, mip_levels, first_array_slice, array_size, first_element,
            num_elements, first_2d_array_face, num_cubes, flags,
        )  # fmt: skip
        return ShaderResourceView(resource, (await self.call(message, api.Created)).id)

    async def create_render_target_view(
        self,
        resource: Resource,
        *,
        format: int | None = None,
        dimension: int | None = None,
        mip_slice: int = 0,
        first_array_slice: int = 0,
        array_size: int | None = None,
        first_w_slice: int = 0,
        w_size: int | None = None,
        first_element: int = 0,
        num_elements: int | None = None,
    ) -> RenderTargetView:
        """A view to render to. Without keywords: of the most detailed mip, all slices, in the resource's format."""
        message = rtv_desc(
            resource, format, dimension, mip_slice, first_array_slice, array_size, first_w_slice, w_size, first_element,
            num_elements,
        )  # fmt: skip
        return RenderTargetView(resource, (await self.call(message, api.Created)).id)

    async def create_depth_stencil_view(
        self,
        resource: Resource,
        *,
        format: int | None = None,
        dimension: int | None = None,
        mip_slice: int = 0,
        first_array_slice: int = 0,
        array_size: int | None = None,
        flags: int = 0,
    ) -> DepthStencilView:
        """A depth-stencil view; ``flags`` are DsvFlag."""
        message = dsv_desc(resource, format, dimension, mip_slice, first_array_slice, array_size, flags)
        return DepthStencilView(resource, (await self.call(message, api.Created)).id)

    async def create_unordered_access_view(
        self,
        resource: Resource,
        *,
        format: int | None = None,
        dimension: int | None = None,
        mip_slice: int = 0,
        first_array_slice: int = 0,
        array_size: int | None = None,
        first_w_slice: int = 0,
        w_size: int | None = None,
        first_element: int = 0,
        num_elements: int | None = None,
        flags: int = 0,
    ) -> UnorderedAccessView:
        """A view for shaders to read and write; ``flags`` are BufferUavFlag."""
        message = uav_desc(
            resource, format, dimension, mip_slice, first_array_slice, array_size, first_w_slice, w_size, first_element,
            num_elements, flags,
        )  # fmt: skip
        return UnorderedAccessView(resource, (await self.call(message, api.Created)).id)
