"""Methods that bind: input assembler, shader stages, stream output, rasterizer, output merger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wddm.wire import api_commands as c

from .context_base import ContextBase
from .enums import Format
from .resources import (
    BlendState,
    Buffer,
    DepthStencilState,
    DepthStencilView,
    InputLayout,
    RasterizerState,
    RenderTargetView,
    SamplerState,
    Shader,
    ShaderResourceView,
    UnorderedAccessView,
)


def _ids(objects: Sequence[Any]) -> list[int]:
    return [o.id if o is not None else 0 for o in objects]


class ContextBindings(ContextBase):
    """Everything that is bound to the pipeline."""

    # ----- input assembler -------------------------------------------------------------------------------------------------

    def ia_set_input_layout(self, input_layout: InputLayout | None) -> None:
        """Bind an input layout."""
        self._record(c.IA_SET_INPUT_LAYOUT, input_layout.id if input_layout is not None else 0)

    def ia_set_vertex_buffers(
        self,
        start_slot: int,
        vertex_buffers: Sequence[Buffer | None],
        strides: Sequence[int],
        offsets: Sequence[int],
    ) -> None:
        """Bind vertex buffers with strides and offsets in bytes."""
        self._record(c.IA_SET_VERTEX_BUFFERS, start_slot, _ids(vertex_buffers), list(strides), list(offsets))

    def ia_set_index_buffer(self, index_buffer: Buffer | None, format: int = Format.R32_UINT, offset: int = 0) -> None:
        """Bind an index buffer of R16_UINT or R32_UINT indices."""
        self._record(c.IA_SET_INDEX_BUFFER, index_buffer.id if index_buffer is not None else 0, format, offset)

    def ia_set_primitive_topology(self, topology: int) -> None:
        """Set how vertices make primitives."""
        self._record(c.IA_SET_PRIMITIVE_TOPOLOGY, topology)

    # ----- vertex shader stage -------------------------------------------------------------------------------------

    def vs_set_shader(self, shader: Shader | None) -> None:
        """Bind a vertex shader."""
        self._record(c.SET_SHADER, 0, shader.id if shader is not None else 0)

    def vs_set_constant_buffers(self, start_slot: int, constant_buffers: Sequence[Buffer | None]) -> None:
        """Bind constant buffers of the vertex shader."""
        self._record(c.SET_CONSTANT_BUFFERS, 0, start_slot, _ids(constant_buffers))

    def vs_set_shader_resources(self, start_slot: int, shader_resource_views: Sequence[ShaderResourceView | None]) -> None:
        """Bind shader-resource views of the vertex shader."""
        self._record(c.SET_SHADER_RESOURCES, 0, start_slot, _ids(shader_resource_views))

    def vs_set_samplers(self, start_slot: int, samplers: Sequence[SamplerState | None]) -> None:
        """Bind samplers of the vertex shader."""
        self._record(c.SET_SAMPLERS, 0, start_slot, _ids(samplers))

    # ----- hull shader stage ---------------------------------------------------------------------------------------

    def hs_set_shader(self, shader: Shader | None) -> None:
        """Bind a hull shader."""
        self._record(c.SET_SHADER, 1, shader.id if shader is not None else 0)

    def hs_set_constant_buffers(self, start_slot: int, constant_buffers: Sequence[Buffer | None]) -> None:
        """Bind constant buffers of the hull shader."""
        self._record(c.SET_CONSTANT_BUFFERS, 1, start_slot, _ids(constant_buffers))

    def hs_set_shader_resources(self, start_slot: int, shader_resource_views: Sequence[ShaderResourceView | None]) -> None:
        """Bind shader-resource views of the hull shader."""
        self._record(c.SET_SHADER_RESOURCES, 1, start_slot, _ids(shader_resource_views))

    def hs_set_samplers(self, start_slot: int, samplers: Sequence[SamplerState | None]) -> None:
        """Bind samplers of the hull shader."""
        self._record(c.SET_SAMPLERS, 1, start_slot, _ids(samplers))

    # ----- domain shader stage -------------------------------------------------------------------------------------

    def ds_set_shader(self, shader: Shader | None) -> None:
        """Bind a domain shader."""
        self._record(c.SET_SHADER, 2, shader.id if shader is not None else 0)

    def ds_set_constant_buffers(self, start_slot: int, constant_buffers: Sequence[Buffer | None]) -> None:
        """Bind constant buffers of the domain shader."""
        self._record(c.SET_CONSTANT_BUFFERS, 2, start_slot, _ids(constant_buffers))

    def ds_set_shader_resources(self, start_slot: int, shader_resource_views: Sequence[ShaderResourceView | None]) -> None:
        """Bind shader-resource views of the domain shader."""
        self._record(c.SET_SHADER_RESOURCES, 2, start_slot, _ids(shader_resource_views))

    def ds_set_samplers(self, start_slot: int, samplers: Sequence[SamplerState | None]) -> None:
        """Bind samplers of the domain shader."""
        self._record(c.SET_SAMPLERS, 2, start_slot, _ids(samplers))

    # ----- geometry shader stage -----------------------------------------------------------------------------------

    def gs_set_shader(self, shader: Shader | None) -> None:
        """Bind a geometry shader."""
        self._record(c.SET_SHADER, 3, shader.id if shader is not None else 0)

    def gs_set_constant_buffers(self, start_slot: int, constant_buffers: Sequence[Buffer | None]) -> None:
        """Bind constant buffers of the geometry shader."""
        self._record(c.SET_CONSTANT_BUFFERS, 3, start_slot, _ids(constant_buffers))

    def gs_set_shader_resources(self, start_slot: int, shader_resource_views: Sequence[ShaderResourceView | None]) -> None:
        """Bind shader-resource views of the geometry shader."""
        self._record(c.SET_SHADER_RESOURCES, 3, start_slot, _ids(shader_resource_views))

    def gs_set_samplers(self, start_slot: int, samplers: Sequence[SamplerState | None]) -> None:
        """Bind samplers of the geometry shader."""
        self._record(c.SET_SAMPLERS, 3, start_slot, _ids(samplers))

    # ----- pixel shader stage --------------------------------------------------------------------------------------

    def ps_set_shader(self, shader: Shader | None) -> None:
        """Bind a pixel shader."""
        self._record(c.SET_SHADER, 4, shader.id if shader is not None else 0)

    def ps_set_constant_buffers(self, start_slot: int, constant_buffers: Sequence[Buffer | None]) -> None:
        """Bind constant buffers of the pixel shader."""
        self._record(c.SET_CONSTANT_BUFFERS, 4, start_slot, _ids(constant_buffers))

    def ps_set_shader_resources(self, start_slot: int, shader_resource_views: Sequence[ShaderResourceView | None]) -> None:
        """Bind shader-resource views of the pixel shader."""
        self._record(c.SET_SHADER_RESOURCES, 4, start_slot, _ids(shader_resource_views))

    def ps_set_samplers(self, start_slot: int, samplers: Sequence[SamplerState | None]) -> None:
        """Bind samplers of the pixel shader."""
        self._record(c.SET_SAMPLERS, 4, start_slot, _ids(samplers))

    # ----- compute shader stage ------------------------------------------------------------------------------------

    def cs_set_shader(self, shader: Shader | None) -> None:
        """Bind a compute shader."""
        self._record(c.SET_SHADER, 5, shader.id if shader is not None else 0)

    def cs_set_constant_buffers(self, start_slot: int, constant_buffers: Sequence[Buffer | None]) -> None:
        """Bind constant buffers of the compute shader."""
        self._record(c.SET_CONSTANT_BUFFERS, 5, start_slot, _ids(constant_buffers))

    def cs_set_shader_resources(self, start_slot: int, shader_resource_views: Sequence[ShaderResourceView | None]) -> None:
        """Bind shader-resource views of the compute shader."""
        self._record(c.SET_SHADER_RESOURCES, 5, start_slot, _ids(shader_resource_views))

    def cs_set_samplers(self, start_slot: int, samplers: Sequence[SamplerState | None]) -> None:
        """Bind samplers of the compute shader."""
        self._record(c.SET_SAMPLERS, 5, start_slot, _ids(samplers))

    def cs_set_unordered_access_views(
        self,
        start_slot: int,
        unordered_access_views: Sequence[UnorderedAccessView | None],
        initial_counts: Sequence[int] | None = None,
    ) -> None:
        """Bind unordered-access views of the compute shader; a count of 0xFFFFFFFF keeps the view's own."""
        views = _ids(unordered_access_views)
        self._record(c.CS_SET_UNORDERED_ACCESS_VIEWS, start_slot, views, _counts(views, initial_counts))

    # ----- stream output, rasterizer, output merger ------------------------------------------------------------------------

    def so_set_targets(self, targets: Sequence[Buffer | None], offsets: Sequence[int]) -> None:
        """Bind stream-output buffers; an offset of 0xFFFFFFFF appends."""
        self._record(c.SO_SET_TARGETS, _ids(targets), list(offsets))

    def rs_set_state(self, rasterizer_state: RasterizerState | None) -> None:
        """Bind a rasterizer state, None for the default."""
        self._record(c.RS_SET_STATE, rasterizer_state.id if rasterizer_state is not None else 0)

    def rs_set_viewports(self, viewports: Sequence[Sequence[float]]) -> None:
        """Set the viewports."""
        self._record(c.RS_SET_VIEWPORTS, [tuple(v) if len(v) == 6 else (*v, 0.0, 1.0)[:6] for v in viewports])

    def rs_set_scissor_rects(self, rects: Sequence[Sequence[int]]) -> None:
        """Set the scissor rectangles."""
        self._record(c.RS_SET_SCISSOR_RECTS, [tuple(r) for r in rects])

    def om_set_blend_state(
        self,
        blend_state: BlendState | None,
        blend_factor: Sequence[float] | None = None,
        sample_mask: int = 0xFFFF_FFFF,
    ) -> None:
        """Bind a blend state, None for the default."""
        factor = (1.0, 1.0, 1.0, 1.0) if blend_factor is None else tuple(blend_factor)
        self._record(c.OM_SET_BLEND_STATE, blend_state.id if blend_state is not None else 0, factor, sample_mask)

    def om_set_depth_stencil_state(self, depth_stencil_state: DepthStencilState | None, stencil_ref: int = 0) -> None:
        """Bind a depth-stencil state, None for the default."""
        self._record(
            c.OM_SET_DEPTH_STENCIL_STATE, depth_stencil_state.id if depth_stencil_state is not None else 0, stencil_ref
        )

    def om_set_render_targets(
        self,
        render_target_views: Sequence[RenderTargetView | None],
        depth_stencil_view: DepthStencilView | None = None,
    ) -> None:
        """Bind render targets and a depth-stencil view; unbinds all others and the pixel shader's UAVs."""
        dsv = depth_stencil_view.id if depth_stencil_view is not None else 0
        self._record(c.OM_SET_RENDER_TARGETS, _ids(render_target_views), dsv)

    def om_set_render_targets_and_unordered_access_views(
        self,
        render_target_views: Sequence[RenderTargetView | None] | None,
        depth_stencil_view: DepthStencilView | None,
        uav_start_slot: int,
        unordered_access_views: Sequence[UnorderedAccessView | None] | None,
        initial_counts: Sequence[int] | None = None,
    ) -> None:
        """Bind render targets and the pixel shader's UAVs; None keeps those that are bound."""
        dsv = depth_stencil_view.id if depth_stencil_view is not None else 0
        views = _ids(unordered_access_views or ())
        self._record(
            c.OM_SET_RENDER_TARGETS_AND_UNORDERED_ACCESS_VIEWS,
            render_target_views is None,
            _ids(render_target_views or ()),
            dsv,
            uav_start_slot,
            unordered_access_views is None,
            views,
            _counts(views, initial_counts),
        )


def _counts(views: list[int], counts: Sequence[int] | None) -> list[int]:
    return [0xFFFF_FFFF] * len(views) if counts is None else list(counts)
