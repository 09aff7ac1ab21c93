"""ID3D11Device as a client holds it: creates objects, one awaited round trip each.

Descriptions are keyword arguments with the API's names and defaults. Initial data are numpy arrays; big ones go up through shared
memory. The immediate context is :attr:`Device.immediate_context`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from wddm.ddi.status import HRESULT
from wddm.wire import api
from wddm.wire.memory import SharedMemory
from wddm.wire.message import Descriptor, Nothing, Struct

from .enums import (
    APPEND_ALIGNED_ELEMENT,
    BindFlag,
    FeatureLevel,
    FormatSupport,
    FormatSupport2,
    ShaderStage,
    Usage,
)
from .errors import D3DError
from .pixels import texels
from .resources import (
    BlendState,
    Buffer,
    DepthStencilState,
    DepthStencilView,
    DeviceChild,
    InputLayout,
    Query,
    RasterizerState,
    RenderTargetView,
    Resource,
    SamplerState,
    Shader,
    ShaderResourceView,
    Texture,
    Texture1D,
    Texture2D,
    Texture3D,
    UnorderedAccessView,
)
from .upload import UPLOAD_FROM, UploadRing
from .values import RenderTargetBlend, StencilOps
from .views import dsv_desc, rtv_desc, srv_desc, uav_desc

if TYPE_CHECKING:
    from .context import ImmediateContext
    from .session import Session

_log = logging.getLogger("wddm.client")
_R = TypeVar("_R", bound=Struct)

UPLOAD_SIZE: Final = 32 << 20  #: bytes of a device's upload area

#: A numpy array, or bytes.
Data = npt.NDArray[Any] | bytes | bytearray | memoryview


class RemovedReason(NamedTuple):
    """Why a device was removed; ``code`` 0 while it was not."""

    code: int
    name: str
    sentence: str


def invalid(sentence: str) -> D3DError:
    """E_INVALIDARG."""
    return D3DError.of(HRESULT.E_INVALIDARG, sentence)


def as_array(data: Data) -> npt.NDArray[Any]:
    """Data as an array of known element size."""
    return data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)


class Device:
    """A Direct3D 11 device on a :class:`~wddm.client.gpu.Gpu`."""

    def __init__(self, session: Session, created: api.DeviceCreated) -> None:
        from .context import ImmediateContext

        self._session = session
        self.id = created.device
        self.feature_level = FeatureLevel(created.feature_level)
        self.driver = created.driver
        self.removed: D3DError | None = None
        #: Ids whose objects nobody holds any more, destroyed with the next batch.
        self.doomed: list[int] = []
        self._errors: list[D3DError] = []
        self._ring: UploadRing | None = None
        self._memories: dict[int, SharedMemory] = {}
        self.fence_page: npt.NDArray[np.uint64] | None = None
        self._fence_memory: SharedMemory | None = None
        if created.fence is not None:
            memory = SharedMemory.open(created.fence.number, created.fence_size, read_only=True)
            self._fence_memory = memory
            self.fence_page = memory.array[created.fence_offset : created.fence_offset + 8].view(np.uint64)
        self.immediate_context: ImmediateContext = ImmediateContext(self)
        self.spins = session.spins
        session.devices[self.id] = self

    # ----- messages --------------------------------------------------------------------------------------------------------

    async def call(self, message: Struct, reply: type[_R]) -> _R:
        """Send what was recorded, ask, wait. Raises D3DError; DXGI_ERROR_DEVICE_REMOVED from every call once it is lost."""
        if self.removed is not None:
            raise D3DError(*self._removed_error())
        self.immediate_context.send()
        try:
            return await self._session.request(message, reply)
        except D3DError as error:
            if self._session.lost is not None:
                self.removed = error
            raise

    def send(self, message: Struct) -> None:
        """Notify the runtime."""
        if self.removed is None:
            self._session.notify(message)

    def run_sync(self, function: Any) -> None:
        """Run ``function`` where the link may be used."""
        self._session.run_sync(function)

    def _removed_error(self) -> tuple[int, str, str]:
        assert self.removed is not None
        lost = HRESULT.DXGI_ERROR_DEVICE_REMOVED
        return int(lost), lost.name, f"the device is lost: {self.removed.name}: {self.removed.sentence}"

    def report(self, message: api.ErrorReported) -> None:
        """A recorded command failed: told by the next awaited call of the context."""
        text = f"{message.command}: {message.sentence}"
        if message.warning:
            _log.warning("%s: %s", message.name, text)
        elif len(self._errors) < 64:
            self._errors.append(D3DError(message.code, message.name, text))

    def raise_recorded(self) -> None:
        """Raise the first error of the commands recorded before, with the others as notes."""
        if self._errors:
            errors, self._errors = self._errors, []
            for error in errors[1:]:
                errors[0].add_note(str(error))
            raise errors[0]

    def blob(self, data: npt.NDArray[Any]) -> api.Blob:
        """Data for a creation message."""
        place = self.place(data)
        if isinstance(place, bytes):
            if len(place) > api.MAX_DATA:
                raise invalid(f"{len(place)} bytes of data in one piece, at most {api.MAX_DATA} can travel on this link")
            return api.Blob(data=place)
        return api.Blob(position=place[0], size=place[1])

    def place(self, data: npt.NDArray[Any]) -> bytes | tuple[int, int]:
        """Data for a command: a place in the upload area, or the bytes themselves."""
        size = data.nbytes
        if size >= UPLOAD_FROM and self._session.passes_descriptors:
            ring = self._ring
            if ring is None:
                ring = self._ring = UploadRing(UPLOAD_SIZE)
                message = api.AnnounceUpload(
                    device=self.id, memory=Descriptor(ring.memory.descriptor), size=ring.size
                )
                self.run_sync(lambda: self.send(message))
            place = ring.put(data)
            if place is not None:
                return place
        return data.tobytes()

    def memory(self, mapped: api.Mapped) -> npt.NDArray[np.uint8]:
        """The pages of a mapped resource."""
        memory = self._memories.get(mapped.memory_id)
        if memory is None:
            if mapped.memory is None:
                raise D3DError.of(HRESULT.E_FAIL, f"memory {mapped.memory_id} never came")
            memory = SharedMemory.open(mapped.memory.number, mapped.memory_size)
            memory.close()
            self._memories[mapped.memory_id] = memory
        elif mapped.memory is not None:
            os.close(mapped.memory.number)
        return memory.array[mapped.offset : mapped.offset + mapped.size]

    def forget_memory(self, memory_id: int) -> None:
        """The pages are gone."""
        self._memories.pop(memory_id, None)

    def forget(self) -> None:
        """Give up everything that this end holds."""
        if self._ring is not None:
            self._ring.close()
        if self._fence_memory is not None:
            self._fence_memory.close()
        self._memories.clear()

    # ----- device ----------------------------------------------------------------------------------------------------------

    async def get_device_removed_reason(self) -> RemovedReason:
        """S_OK, or why the device is lost. Never raises for a lost device."""
        if self._session.lost is None:
            try:
                reply = await self._session.request(api.GetDeviceRemovedReason(device=self.id), api.RemovedReason)
                return RemovedReason(reply.code, reply.name, reply.sentence)
            except D3DError:
                if self._session.lost is None:
                    raise
        assert self._session.lost is not None
        return RemovedReason(self._session.lost.code, self._session.lost.name, self._session.lost.sentence)

    async def close(self) -> None:
        """Destroy the device with everything made on it. A lost device may be closed too."""
        if self.id in self._session.devices and self._session.lost is None:
            self.immediate_context.send()
            await self._session.request(api.DestroyDevice(device=self.id), Nothing)
        self._session.devices.pop(self.id, None)
        self.removed = self.removed or D3DError.of(HRESULT.DXGI_ERROR_DEVICE_REMOVED, "the device was closed")
        self.forget()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def check_format_support(self, format: int) -> FormatSupport:
        """ID3D11Device::CheckFormatSupport."""
        return FormatSupport((await self.call(api.CheckFormatSupport(device=self.id, format=format), api.FormatSupport)).support)

    async def check_format_support2(self, format: int) -> FormatSupport2:
        """CheckFeatureSupport(D3D11_FEATURE_FORMAT_SUPPORT2)."""
        reply = await self.call(api.CheckFormatSupport(device=self.id, format=format), api.FormatSupport)
        return FormatSupport2(reply.support2)

    async def check_multisample_quality_levels(self, format: int, sample_count: int) -> int:
        """How many quality levels a format has with ``sample_count`` samples; 0 = not supported."""
        message = api.CheckMultisampleQualityLevels(device=self.id, format=format, sample_count=sample_count)
        return (await self.call(message, api.QualityLevels)).levels

    async def set_maximum_frame_latency(self, latency: int) -> None:
        """IDXGIDevice1::SetMaximumFrameLatency: 1..16 frames, 0 for the default of 3."""
        await self.call(api.SetMaximumFrameLatency(device=self.id, latency=latency), Nothing)

    # ----- resources -------------------------------------------------------------------------------------------------------

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
        return Buffer(self, reply.id, usage, bind_flags, cpu_access_flags, misc_flags, width, structure_byte_stride)

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
            arrays = [as_array(data)] if isinstance(data, (np.ndarray, bytes, bytearray, memoryview)) else list(map(as_array, data))
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
        arrays: Iterable[npt.NDArray[Any]],
        usage: int,
        bind_flags: int | None,
        cpu_access_flags: int,
        misc_flags: int,
    ) -> _T:
        if bind_flags is None:
            bind_flags = 0 if usage == Usage.STAGING else BindFlag.SHADER_RESOURCE
        mips = message.mip_levels or max(message.width, message.height, message.depth).bit_length()
        for index, array in enumerate(arrays):
            mip = index % mips
            row, depth = pitches(message.format, *(max(n >> mip, 1) for n in (message.width, message.height, message.depth)))
            need = depth * max(message.depth >> mip, 1)
            if array.nbytes != need:
                raise invalid(f"data of subresource {index}: {array.nbytes} bytes of shape {array.shape}, it has {need}")
            message.initial.append(api.SubresourceData(blob=self.blob(array), row_pitch=row, depth_pitch=depth))
        message.usage, message.bind_flags = usage, bind_flags
        message.cpu_access_flags, message.misc_flags = cpu_access_flags, misc_flags
        reply = await self.call(message, api.Created)
        return self.adopt_texture(kind, reply.id, message)

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

    # ----- shaders ---------------------------------------------------------------------------------------------------------

    async def _create_shader(self, stage: ShaderStage, bytecode: Any) -> Shader:
        message = api.CreateShader(device=self.id, stage=stage, bytecode=container_bytes(bytecode))
        return Shader(self, (await self.call(message, api.Created)).id, stage)

    async def create_vertex_shader(self, bytecode: Any) -> Shader:
        """A vertex shader from a DXBC container: bytes, or an object with ``to_bytes()``."""
        return await self._create_shader(ShaderStage.VERTEX, bytecode)

    async def create_hull_shader(self, bytecode: Any) -> Shader:
        """A hull shader."""
        return await self._create_shader(ShaderStage.HULL, bytecode)

    async def create_domain_shader(self, bytecode: Any) -> Shader:
        """A domain shader."""
        return await self._create_shader(ShaderStage.DOMAIN, bytecode)

    async def create_geometry_shader(self, bytecode: Any) -> Shader:
        """A geometry shader."""
        return await self._create_shader(ShaderStage.GEOMETRY, bytecode)

    async def create_pixel_shader(self, bytecode: Any) -> Shader:
        """A pixel shader."""
        return await self._create_shader(ShaderStage.PIXEL, bytecode)

    async def create_compute_shader(self, bytecode: Any) -> Shader:
        """A compute shader."""
        return await self._create_shader(ShaderStage.COMPUTE, bytecode)

    async def create_geometry_shader_with_stream_output(
        self,
        bytecode: Any,
        so_declaration: Iterable[Sequence[Any]],
        buffer_strides: Sequence[int] = (),
        rasterized_stream: int = 0,
    ) -> Shader:
        """A geometry shader (or the vertex or domain shader that feeds stream output) with StreamOutputElement-like tuples."""
        declarations = [
            api.StreamOutputEntry(
                stream=stream, semantic=name or "", index=index, start=start, count=count, slot=(*rest, 0)[0]
            )
            for stream, name, index, start, count, *rest in so_declaration
        ]
        message = api.CreateShader(
            device=self.id,
            stage=ShaderStage.GEOMETRY,
            bytecode=container_bytes(bytecode),
            stream_output=True,
            declarations=declarations,
            strides=list(buffer_strides),
            rasterized_stream=rasterized_stream,
        )
        return Shader(self, (await self.call(message, api.Created)).id, ShaderStage.GEOMETRY)

    async def create_input_layout(self, elements: Iterable[Sequence[Any]], shader: Any) -> InputLayout:
        """An input layout of InputElement-like tuples (name, index, format[, slot[, offset[, class[, step rate]]]]) for a vertex
        shader, given as the object or as its container."""
        described = []
        for name, index, format, *rest in elements:
            filled: list[Any] = [*rest, *(0, APPEND_ALIGNED_ELEMENT, 0, 0)[len(rest) :]]
            slot, offset, step, rate = filled
            described.append(
                api.InputElement(
                    semantic=name,
                    index=index,
                    format=format,
                    slot=slot,
                    offset=offset,
                    per_instance=bool(step),
                    step_rate=rate,
                )
            )
        message = api.CreateInputLayout(device=self.id, elements=described)
        if isinstance(shader, Shader):
            message.shader = shader.id
        else:
            message.bytecode = container_bytes(shader)
        return InputLayout(self, (await self.call(message, api.Created)).id)

    # ----- states ----------------------------------------------------------------------------------------------------------

    async def create_blend_state(
        self,
        *,
        alpha_to_coverage_enable: bool = False,
        independent_blend_enable: bool = False,
        render_target: RenderTargetBlend | Sequence[RenderTargetBlend] = RenderTargetBlend(),  # noqa: B008
    ) -> BlendState:
        """A blend state; without ``independent_blend_enable`` the first target's description serves all."""
        targets = [render_target] if isinstance(render_target, RenderTargetBlend) else list(render_target)
        message = api.CreateBlendState(
            device=self.id,
            alpha_to_coverage_enable=alpha_to_coverage_enable,
            independent_blend_enable=independent_blend_enable,
            targets=[
                api.RenderTargetBlend(
                    blend_enable=t.blend_enable,
                    src_blend=t.src_blend,
                    dest_blend=t.dest_blend,
                    blend_op=t.blend_op,
                    src_blend_alpha=t.src_blend_alpha,
                    dest_blend_alpha=t.dest_blend_alpha,
                    blend_op_alpha=t.blend_op_alpha,
                    write_mask=t.render_target_write_mask,
                )
                for t in targets
            ],
        )
        return BlendState(self, (await self.call(message, api.Created)).id)

    async def create_depth_stencil_state(
        self,
        *,
        depth_enable: bool = True,
        depth_write_mask: int = 1,
        depth_func: int = 2,
        stencil_enable: bool = False,
        stencil_read_mask: int = 0xFF,
        stencil_write_mask: int = 0xFF,
        front_face: StencilOps = StencilOps(),  # noqa: B008
        back_face: StencilOps = StencilOps(),  # noqa: B008
    ) -> DepthStencilState:
        """A depth-stencil state."""
        front, back = (
            api.StencilFace(
                fail_op=f.stencil_fail_op,
                depth_fail_op=f.stencil_depth_fail_op,
                pass_op=f.stencil_pass_op,
                func=f.stencil_func,
            )
            for f in (front_face, back_face)
        )
        message = api.CreateDepthStencilState(
            device=self.id,
            depth_enable=depth_enable,
            depth_write_mask=depth_write_mask,
            depth_func=depth_func,
            stencil_enable=stencil_enable,
            stencil_read_mask=stencil_read_mask,
            stencil_write_mask=stencil_write_mask,
            front=front,
            back=back,
        )
        return DepthStencilState(self, (await self.call(message, api.Created)).id)

    async def create_rasterizer_state(
        self,
        *,
        fill_mode: int = 3,
        cull_mode: int = 3,
        front_counter_clockwise: bool = False,
        depth_bias: int = 0,
        depth_bias_clamp: float = 0.0,
        slope_scaled_depth_bias: float = 0.0,
        depth_clip_enable: bool = True,
        scissor_enable: bool = False,
        multisample_enable: bool = False,
        antialiased_line_enable: bool = False,
    ) -> RasterizerState:
        """A rasterizer state."""
        message = api.CreateRasterizerState(
            device=self.id,
            fill_mode=fill_mode,
            cull_mode=cull_mode,
            front_counter_clockwise=front_counter_clockwise,
            depth_bias=depth_bias,
            depth_bias_clamp=depth_bias_clamp,
            slope_scaled_depth_bias=slope_scaled_depth_bias,
            depth_clip_enable=depth_clip_enable,
            scissor_enable=scissor_enable,
            multisample_enable=multisample_enable,
            antialiased_line_enable=antialiased_line_enable,
        )
        return RasterizerState(self, (await self.call(message, api.Created)).id)

    async def create_sampler_state(
        self,
        *,
        filter: int = 0x15,
        address_u: int = 3,
        address_v: int = 3,
        address_w: int = 3,
        mip_lod_bias: float = 0.0,
        max_anisotropy: int = 1,
        comparison_func: int = 1,
        border_color: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
        min_lod: float = -3.4028234663852886e38,
        max_lod: float = 3.4028234663852886e38,
    ) -> SamplerState:
        """A sampler state."""
        message = api.CreateSamplerState(
            device=self.id,
            filter=filter,
            address_u=address_u,
            address_v=address_v,
            address_w=address_w,
            mip_lod_bias=mip_lod_bias,
            max_anisotropy=max_anisotropy,
            comparison_func=comparison_func,
            border_color=[float(c) for c in border_color],
            min_lod=min_lod,
            max_lod=max_lod,
        )
        return SamplerState(self, (await self.call(message, api.Created)).id)

    async def create_query(self, query: int, misc_flags: int = 0) -> Query:
        """A query of a QueryType."""
        message = api.CreateQuery(device=self.id, query=query, misc_flags=misc_flags)
        return Query(self, (await self.call(message, api.Created)).id, query)

    async def create_predicate(self, query: int, misc_flags: int = 0) -> Query:
        """A query that can be a predicate: OCCLUSION_PREDICATE or SO_OVERFLOW_PREDICATE…"""
        return await self.create_query(query, misc_flags)

    def release(self, *objects: DeviceChild) -> None:
        """Give several objects up."""
        for child in objects:
            child.release()


_T = TypeVar("_T", bound=Texture)


def pitches(format: int, width: int, height: int, depth: int = 1) -> tuple[int, int]:
    """Bytes of a row and of a slice, packed. Raises D3DError for a format without a memory layout."""
    try:
        form = texels(format)
    except ValueError as error:
        raise invalid(f"format: {error}") from None
    row = form.row_bytes(width)
    return row, row * form.rows(height)


def container_bytes(bytecode: Any) -> bytes:
    """The bytes of a DXBC container."""
    if isinstance(bytecode, (bytes, bytearray, memoryview)):
        return bytes(bytecode)
    to_bytes = getattr(bytecode, "to_bytes", None)
    if to_bytes is None:
        raise TypeError(f"a shader is a DXBC container (bytes), not {type(bytecode).__name__}")
    return bytes(to_bytes())
