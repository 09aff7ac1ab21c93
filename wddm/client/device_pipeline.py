"""Creating shaders, input layouts, state objects and queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from wddm.wire import api

from .device_base import DeviceBase
from .enums import APPEND_ALIGNED_ELEMENT, ShaderStage
from .resources import (
    BlendState,
    DepthStencilState,
    InputLayout,
    Query,
    RasterizerState,
    SamplerState,
    Shader,
)
from .values import RenderTargetBlend, StencilOps


class DevicePipeline(DeviceBase):
    """Shaders, layouts, states, queries."""

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


def container_bytes(bytecode: Any) -> bytes:
    """The bytes of a DXBC container."""
    if isinstance(bytecode, (bytes, bytearray, memoryview)):
        return bytes(bytecode)
    to_bytes = getattr(bytecode, "to_bytes", None)
    if to_bytes is None or isinstance(bytecode, int):
        raise TypeError(f"a shader is a DXBC container (bytes), not {type(bytecode).__name__}")
    return bytes(to_bytes())
