"""Commands that bind: input assembler, shader stages, state objects, viewports, predication.

A binding that changes nothing does not reach the driver. What is bound for writing cannot be bound for reading: NULL is bound in
its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from wddm.client.enums import BindFlag, ShaderStage
from wddm.ddi import d3d10umddi as dd
from wddm.ddi.dxgiformat import DXGI_FORMAT

from . import bindings as b
from .commands import Call, CommandGroup, Pending, handles, sequence
from .errors import float4, invalid_arg, require
from .queries import Query
from .resources import Buffer, Resource
from .shaders import InputLayout, Shader
from .states import BlendState, DepthStencilState, RasterizerState, SamplerState
from .views import ShaderResourceView, View

_TOPOLOGIES: Final = frozenset((*range(6), *range(10, 14), *range(33, 65)))
MAX_COORDINATE: Final = 32768.0
_VERTEX_BUFFER: Final = int(BindFlag.VERTEX_BUFFER)
_INDEX_BUFFER: Final = int(BindFlag.INDEX_BUFFER)
_CONSTANT_BUFFER: Final = int(BindFlag.CONSTANT_BUFFER)



class BindCommands(CommandGroup):
    """Binding, except of what the pipeline writes to."""

    _set_shader: list[Callable[..., Any]]
    _set_constant_buffers: list[Callable[..., Any]]
    _set_shader_resources: list[Callable[..., Any]]
    _set_samplers: list[Callable[..., Any]]

    # ----- input assembler -------------------------------------------------------------------------------------------------

    def ia_set_input_layout(self, id: int) -> Pending:
        layout = self.device.get(id, InputLayout, "input_layout") if id else None
        if layout is self.bound.layout:
            return None
        self.bound.layout = layout
        self._unchecked = True
        return self._ddi.pfnIaSetInputLayout(layout.handle if layout else 0)  # type: ignore[no-any-return]

    def ia_set_vertex_buffers(self, start: int, ids: list[int], strides: list[int], offsets: list[int]) -> Pending:
        if not len(ids) == len(strides) == len(offsets):
            raise invalid_arg(f"vertex_buffers: {len(ids)} buffers, {len(strides)} strides, {len(offsets)} offsets")
        buffers = self._slots(start, ids, b.VERTEX_BUFFERS, Buffer, "vertex_buffers")
        for i, buffer in enumerate(buffers):
            if buffer is None:
                continue
            if not buffer.bind_flags & _VERTEX_BUFFER:
                raise invalid_arg(f"vertex_buffers[{i}]: it was not created with bind flag VERTEX_BUFFER")
            if strides[i] > 2048:
                raise invalid_arg(f"strides[{i}]: {strides[i]} bytes, at most 2048 are allowed")
            if buffer.outputs and self.bound.buffer_written(buffer):
                self.warn("ia_set_vertex_buffers", f"vertex_buffers[{i}] is bound for writing: NULL is bound instead")
                buffers[i] = None
        bound, end = self.bound, start + len(ids)
        if (
            bound.vertex_buffers[start:end] == buffers
            and bound.strides[start:end] == strides
            and bound.offsets[start:end] == offsets
        ):
            return None
        _count_inputs(bound.vertex_buffers[start:end], buffers)
        bound.vertex_buffers[start:end] = buffers
        bound.strides[start:end], bound.offsets[start:end] = strides, offsets
        return self._ddi.pfnIaSetVertexBuffers(  # type: ignore[no-any-return]
            start, len(ids), handles(buffers), strides, offsets
        )

    def ia_set_index_buffer(self, id: int, format: int, offset: int) -> Pending:
        buffer: Buffer | None = None
        if id:
            buffer = self.device.get(id, Buffer, "index_buffer")
            assert buffer is not None
            require(bool(buffer.bind_flags & _INDEX_BUFFER), "index_buffer: it was not created with INDEX_BUFFER")
            if format not in (DXGI_FORMAT.R16_UINT, DXGI_FORMAT.R32_UINT):
                raise invalid_arg(f"format: {format}, indices are R16_UINT or R32_UINT")
            require(offset % (2 if format == DXGI_FORMAT.R16_UINT else 4) == 0, f"offset: {offset} is not aligned to an index")
            if buffer.outputs and self.bound.buffer_written(buffer):
                self.warn("ia_set_index_buffer", "index_buffer is bound for writing: NULL is bound instead")
                buffer = None
        if buffer is None:
            format, offset = 0, 0
        bound = self.bound
        if (buffer, format, offset) == (bound.index_buffer, bound.index_format, bound.index_offset):
            return None
        _count_inputs([bound.index_buffer], [buffer])
        bound.index_buffer, bound.index_format, bound.index_offset = buffer, format, offset
        return self._ddi.pfnIaSetIndexBuffer(buffer.handle if buffer else 0, DXGI_FORMAT(format), offset)  # type: ignore[no-any-return]

    def ia_set_primitive_topology(self, topology: int) -> Pending:
        if topology not in _TOPOLOGIES:
            raise invalid_arg(f"topology: {topology} is no primitive topology")
        if topology == self.bound.topology:
            return None
        self.bound.topology = topology
        return self._ddi.pfnIaSetTopology(dd.D3D10_DDI_PRIMITIVE_TOPOLOGY(topology))  # type: ignore[no-any-return]

    # ----- shader stages ---------------------------------------------------------------------------------------------------

    def set_shader(self, stage: int, id: int) -> Pending:
        if stage >= b.STAGES:
            raise invalid_arg(f"stage: {stage} is none")
        shader = self.device.get(id, Shader, "shader") if id else None
        if shader is not None and shader.stage != stage:
            raise invalid_arg(f"shader: it is a {shader.stage.name} shader, not {ShaderStage(stage).name}")
        if shader is self.bound.shaders[stage]:
            return None
        self.bound.shaders[stage] = shader
        self._unchecked = True
        return self._set_shader[stage](shader.handle if shader else 0)  # type: ignore[no-any-return]

    def set_constant_buffers(self, stage: int, start: int, ids: list[int]) -> Pending:
        if stage >= b.STAGES:
            raise invalid_arg(f"stage: {stage} is none")
        end = start + len(ids)
        if end > b.CONSTANT_BUFFERS:
            raise invalid_arg(f"start_slot: {len(ids)} constant_buffers from slot {start}, there are {b.CONSTANT_BUFFERS} slots")
        slots, by_id = self.bound.constant_buffers[stage], self.device.objects.by_id
        buffers, changed = [], False
        for slot, id in enumerate(ids, start):
            buffer = by_id.get(id)
            if buffer is None and id:
                raise self.device.objects.refuse(id, Buffer, "constant_buffers")
            if buffer is not slots[slot]:
                changed = True
                if buffer is not None:
                    self._check_constant_buffer(id, buffer, slot - start)
            buffers.append(buffer)
        if not changed:
            return None
        slots[start:end] = buffers  # never bound for writing: not counted among the inputs of the resource
        return self._set_constant_buffers[stage](start, len(ids), handles(buffers))  # type: ignore[no-any-return]

    def _check_constant_buffer(self, id: int, buffer: Any, place: int) -> None:
        if type(buffer) is not Buffer:
            raise self.device.objects.refuse(id, Buffer, "constant_buffers")
        if buffer.device is not self.device:
            raise invalid_arg(f"constant_buffers: {id} belongs to another device")
        if not buffer.bind_flags & _CONSTANT_BUFFER:
            raise invalid_arg(f"constant_buffers[{place}]: it was not created with bind flag CONSTANT_BUFFER")

    def set_shader_resources(self, stage: int, start: int, ids: list[int]) -> Pending:
        if stage >= b.STAGES:
            raise invalid_arg(f"stage: {stage} is none")
        end = start + len(ids)
        if end > b.SHADER_RESOURCES:
            raise self._no_slot(start, ids, b.SHADER_RESOURCES, "shader_resource_views")
        slots, by_id = self.bound.shader_resources[stage], self.device.objects.by_id
        views: list[ShaderResourceView | None] = []
        hazards, changed = None, False
        for slot, id in enumerate(ids, start):
            view = by_id.get(id)
            if view is not slots[slot] or (view is None and id):
                if id:
                    view = self._readable(view, id, stage, slot - start)
                changed = changed or view is not slots[slot]
            if view is not None:
                resource = view.resource
                if resource.written and not resource.outputs:
                    resource.written = False
                    hazards = [*(hazards or ()), view]
            views.append(view)
        if not changed:
            return None
        _count_view_inputs(slots[start:end], views)
        slots[start:end] = views
        set_views = self._set_shader_resources[stage]
        if hazards is None:
            return set_views(start, len(ids), handles(views))  # type: ignore[no-any-return]
        calls: list[Call] = [
            partial(self._ddi.pfnShaderResourceViewReadAfterWriteHazard, v.handle, v.resource.handle) for v in hazards
        ]
        return sequence([*calls, lambda: set_views(start, len(ids), handles(views))])

    def _readable(self, view: Any, id: int, stage: int, place: int) -> ShaderResourceView | None:
        """A view that is to be bound, or None when it is bound for writing. Raises ApiError."""
        if type(view) is not ShaderResourceView:
            raise self.device.objects.refuse(id, ShaderResourceView, "shader_resource_views")
        if view.device is not self.device:
            raise invalid_arg(f"shader_resource_views: {id} belongs to another device")
        if view.resource.outputs and self.bound.written(view):
            self.warn(
                "set_shader_resources",
                f"shader_resource_views[{place}] of the {ShaderStage(stage).name.lower()} shader is bound for writing: "
                "NULL is bound instead",
            )
            return None
        return view

    def set_samplers(self, stage: int, start: int, ids: list[int]) -> Pending:
        if stage >= b.STAGES:
            raise invalid_arg(f"stage: {stage} is none")
        samplers = self._slots(start, ids, b.SAMPLERS, SamplerState, "samplers")
        slots, end = self.bound.samplers[stage], start + len(ids)
        if slots[start:end] == samplers:
            return None
        slots[start:end] = samplers
        default = self._defaults[SamplerState].handle
        return self._set_samplers[stage](  # type: ignore[no-any-return]
            start, len(ids), [s.handle if s is not None else default for s in samplers]
        )

    # ----- rasterizer and output merger ------------------------------------------------------------------------------------

    def rs_set_state(self, id: int) -> Pending:
        state = self.device.get(id, RasterizerState, "rasterizer_state") if id else None
        if state is self.bound.rasterizer:
            return None
        self.bound.rasterizer = state
        return self._ddi.pfnSetRasterizerState((state or self._defaults[RasterizerState]).handle)  # type: ignore[no-any-return]

    def rs_set_viewports(self, viewports: list[list[float]]) -> Pending:
        found = []
        for i, (x, y, width, height, near, far) in enumerate(viewports):
            if not (0 <= width <= MAX_COORDINATE and 0 <= height <= MAX_COORDINATE):
                raise invalid_arg(f"viewports[{i}]: width {width}, height {height} are not in 0..32768")
            if not (-MAX_COORDINATE <= x <= x + width <= MAX_COORDINATE and -MAX_COORDINATE <= y <= y + height <= MAX_COORDINATE):
                raise invalid_arg(f"viewports[{i}]: it reaches beyond -32768..32767")
            if not 0 <= near <= far <= 1:
                raise invalid_arg(f"viewports[{i}]: depths {near}..{far} are not in 0..1")
            found.append(dd.D3D10_DDI_VIEWPORT(float(x), float(y), float(width), float(height), float(near), float(far)))
        if found == self.bound.viewports:
            return None
        clear = max(len(self.bound.viewports) - len(found), 0)
        self.bound.viewports = found
        return self._ddi.pfnSetViewports(len(found), clear, found)  # type: ignore[no-any-return]

    def rs_set_scissor_rects(self, rects: list[list[int]]) -> Pending:
        found = []
        for i, (left, top, right, bottom) in enumerate(rects):
            if not (0 <= left <= right and 0 <= top <= bottom):
                raise invalid_arg(f"rects[{i}]: left {left}, top {top}, right {right}, bottom {bottom}")
            found.append(dd.D3D10_DDI_RECT(left, top, right, bottom))
        if found == self.bound.scissors:
            return None
        clear = max(len(self.bound.scissors) - len(found), 0)
        self.bound.scissors = found
        return self._ddi.pfnSetScissorRects(len(found), clear, found)  # type: ignore[no-any-return]

    def om_set_blend_state(self, id: int, factor: list[float], mask: int) -> Pending:
        state = self.device.get(id, BlendState, "blend_state") if id else None
        bound = self.bound
        factors = tuple(factor)
        if factors != bound.blend_factor:
            factors = float4(factor)
        if state is bound.blend and factors == bound.blend_factor and mask == bound.sample_mask:
            return None
        bound.blend, bound.blend_factor, bound.sample_mask = state, factors, mask
        return self._ddi.pfnSetBlendState((state or self._defaults[BlendState]).handle, factors, mask)  # type: ignore[no-any-return]

    def om_set_depth_stencil_state(self, id: int, ref: int) -> Pending:
        state = self.device.get(id, DepthStencilState, "depth_stencil_state") if id else None
        ref &= 0xFF
        bound = self.bound
        if state is bound.depth_state and ref == bound.stencil_ref:
            return None
        bound.depth_state, bound.stencil_ref = state, ref
        return self._ddi.pfnSetDepthStencilState((state or self._defaults[DepthStencilState]).handle, ref)  # type: ignore[no-any-return]

    def set_predication(self, id: int, value: bool) -> Pending:
        query: Query | None = self.device.get(id, Query, "predicate") if id else None
        if query is not None:
            require(query.is_predicate, f"predicate: a {query.type.name} query is no predicate")
        if query is self.bound.predicate and value == self.bound.predicate_value:
            return None
        self.bound.predicate, self.bound.predicate_value = query, value
        return self._ddi.pfnSetPredication(query.handle if query else 0, value)  # type: ignore[no-any-return]


def _count_inputs(old: Sequence[Resource | None], new: Sequence[Resource | None]) -> None:
    for resource in old:
        if resource is not None:
            resource.inputs -= 1
    for resource in new:
        if resource is not None:
            resource.inputs += 1


def _count_view_inputs(old: Sequence[View | None], new: Sequence[View | None]) -> None:
    for view in old:
        if view is not None:
            view.resource.inputs -= 1
    for view in new:
        if view is not None:
            view.resource.inputs += 1
