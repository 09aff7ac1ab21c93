"""The immediate context: carries out recorded commands one after another.

For each command: what the arguments name, the rules of Direct3D 11, what changed, the driver's entry. A command that breaks a rule
is dropped and reported; those after it go on. Nothing here waits for the GPU; where the driver waits for the kernel, the rest of
the batch waits too. Binding for writing unbinds from reading, and what is bound for writing cannot be bound for reading.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from wddm.client.enums import BindFlag, CpuAccessFlag, MapFlag, MapType, ResourceMiscFlag, ShaderStage, Usage
from wddm.ddi import d3d10umddi as dd
from wddm.ddi.dxgiformat import DXGI_FORMAT, FormatAbility
from wddm.ddi.status import HRESULT, hresult_name
from wddm.wire import api
from wddm.wire import api_commands as c
from wddm.wire.message import ProtocolError

from . import bindings as b
from .bindings import Bindings
from .errors import ApiError, api_code, invalid_arg, require
from .objects import DeviceObject
from .queries import Query
from .resources import Buffer, Resource, Texture, format_info
from .shaders import InputLayout, Shader, link_faults
from .states import (
    BlendState,
    DepthStencilState,
    RasterizerState,
    SamplerState,
    State,
    create_blend_state,
    create_depth_stencil_state,
    create_rasterizer_state,
    create_sampler_state,
)
from .views import DepthStencilView, RenderTargetView, ShaderResourceView, UnorderedAccessView, View

if TYPE_CHECKING:
    from .device import Device

_log = logging.getLogger("runtime")

Pending = Awaitable[Any] | None
_PREFIX: Final = ("Vs", "Hs", "Ds", "Gs", "Ps", "Cs")
_BUFFER: Final = dd.D3D10DDIRESOURCE_TYPE.BUFFER
_TEXTURE3D: Final = dd.D3D10DDIRESOURCE_TYPE.TEXTURE3D
_TOPOLOGIES: Final = frozenset((*range(6), *range(10, 14), *range(33, 65)))
MAX_DISPATCH: Final = 65535
MAX_COORDINATE: Final = 32768.0
KEEP: Final = 0xFFFF_FFFF


def sequence(calls: Iterable[Callable[[], Any]]) -> Pending:
    """Call one after another; from the first that waits on, later."""
    rest = iter(calls)
    for call in rest:
        pending = call()
        if pending is not None:
            return _rest(pending, rest)
    return None


async def _rest(pending: Awaitable[Any], rest: Iterator[Callable[[], Any]]) -> None:
    await pending
    for call in rest:
        following = call()
        if following is not None:
            await following


def _handles(objects: Sequence[Any]) -> list[int]:
    return [o.handle if o is not None else 0 for o in objects]


class Context:
    """ID3D11DeviceContext of one device, in the runtime."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.core = device.core
        self.bound = Bindings()
        self.retired: list[DeviceObject] = []  #: without holders, but bound
        self._checked: set[tuple[int, ...]] = set()
        self._unchecked = True
        self._drawable = False
        self._defaults: dict[type[State], State] = {}
        self._table: dict[int, tuple[c.Command, Callable[..., Any]]] = {}

    async def start(self) -> None:
        """Bind the driver's entries, make the default states, tell the driver the state that a device begins with."""
        ddi, device = self.device.ddi, self.device
        self._ddi = ddi
        self._set_shader = [getattr(ddi, f"pfn{p}SetShader") for p in _PREFIX]
        self._set_constant_buffers = [getattr(ddi, f"pfn{p}SetConstantBuffers") for p in _PREFIX]
        self._set_shader_resources = [getattr(ddi, f"pfn{p}SetShaderResources") for p in _PREFIX]
        self._set_samplers = [getattr(ddi, f"pfn{p}SetSamplers") for p in _PREFIX]
        self._table = {code: (command, getattr(self, command.name)) for code, command in c.COMMANDS.items()}
        for cls, made in (
            (BlendState, await create_blend_state(device, api.CreateBlendState(device=0, targets=[api.RenderTargetBlend()]))),
            (
                DepthStencilState,
                await create_depth_stencil_state(
                    device, api.CreateDepthStencilState(device=0, front=api.StencilFace(), back=api.StencilFace())
                ),
            ),
            (RasterizerState, await create_rasterizer_state(device, api.CreateRasterizerState(device=0))),
            (SamplerState, await create_sampler_state(device, api.CreateSamplerState(device=0, border_color=[1.0] * 4))),
        ):
            made.refs += 1
            self._defaults[cls] = made
        for slot, arguments in (
            ("pfnSetBlendState", (self._defaults[BlendState].handle, (1.0, 1.0, 1.0, 1.0), KEEP)),
            ("pfnSetDepthStencilState", (self._defaults[DepthStencilState].handle, 0)),
            ("pfnSetRasterizerState", (self._defaults[RasterizerState].handle,)),
        ):
            device.raise_error(await device.invoke(slot, *arguments), slot)

    def abandon(self) -> None:
        """The device is lost."""
        self.retired.clear()

    # ----- carrying out ----------------------------------------------------------------------------------------------------

    def execute(self, commands: list[Any]) -> Pending:
        """Carry out a batch. Raises ProtocolError for what is no command; returns an awaitable when the driver waits."""
        index, pending = self._run(commands, 0)
        if pending is None and not self.device.unfinished:
            return None
        return self._later(commands, index, pending)

    def _run(self, commands: list[Any], start: int) -> tuple[int, Pending]:
        table, core, removed = self._table, self.core, self.device
        for index in range(start, len(commands)):
            command = commands[index]
            if type(command) is not list or not command:
                raise ProtocolError("a command is a list that begins with its code")
            code = command[0]
            found = table.get(code) if type(code) is int else None
            if found is None:
                raise ProtocolError(f"no command has the code {code!r:.40}")
            declaration, handler = found
            tests = declaration.tests
            if len(command) != len(tests) + 1:
                declaration.check(command)
            place = 1
            for test in tests:
                if not test(command[place]):
                    declaration.check(command)
                place += 1
            if removed.removed is not None:
                continue
            try:
                pending = handler(*command[1:])
            except ApiError as error:
                self._report(declaration.name, error)
                continue
            if pending is not None:
                return index, pending
            if core.error is not None:
                self._report_driver(declaration.name)
        if self.retired:
            self._reap()
        return len(commands), None

    async def _later(self, commands: list[Any], index: int, pending: Pending) -> None:
        while pending is not None:
            name = c.COMMANDS[commands[index][0]].name
            try:
                await pending
            except ApiError as error:
                self._report(name, error)
            if self.core.error is not None:
                self._report_driver(name)
            index, pending = self._run(commands, index + 1)
        await self.device.finish()

    def _report(self, name: str, error: ApiError) -> None:
        self.device.session.notify(
            api.ErrorReported(
                device=self.device.id, code=error.code, name=error.name, sentence=error.sentence, command=name
            )
        )

    def _report_driver(self, name: str) -> None:
        code = self.core.take()
        if code is not None:
            self._report(name, ApiError(api_code(code), f"the driver reported {hresult_name(code)}"))

    def warn(self, name: str, sentence: str) -> None:
        """Something an app hardly wants."""
        self.device.session.notify(
            api.ErrorReported(
                device=self.device.id, code=0, name="WARNING", sentence=sentence, command=name, warning=True
            )
        )

    # ----- life of objects -------------------------------------------------------------------------------------------------

    def retire(self, found: DeviceObject) -> None:
        """Nobody holds the object: destroy it, or remember it while it is bound."""
        if self.bound.holds(found):
            self.retired.append(found)
        else:
            found.destroy()

    def _reap(self) -> None:
        waiting, self.retired = self.retired, []
        for found in waiting:
            if found.refs == 0:
                self.retire(found)

    def destroy(self, id: int) -> None:
        found = self.device.objects.by_id.get(id)
        if not isinstance(found, DeviceObject) or found.device is not self.device:
            raise self.device.objects.refuse(id, DeviceObject, "id")
        self.device.objects.remove(id)
        self.device.unref(found)

    def _slots(self, start: int, ids: list[int], most: int, cls: type[Any], what: str) -> list[Any]:
        """The objects that go into slots from ``start``. Raises ApiError."""
        if start + len(ids) > most:
            raise invalid_arg(f"start_slot: {len(ids)} {what} from slot {start}, there are {most} slots")
        by_id, device = self.device.objects.by_id, self.device
        found = []
        for id in ids:
            if id == 0:
                found.append(None)
                continue
            object = by_id.get(id)
            if not isinstance(object, cls):
                raise device.objects.refuse(id, cls, what)
            if object.device is not device:
                raise invalid_arg(f"{what}: {id} belongs to another device")
            found.append(object)
        return found

    # ----- whole state -----------------------------------------------------------------------------------------------------

    def clear_state(self) -> Pending:
        bound, ddi = self.bound, self._ddi
        calls: list[Callable[[], Any]] = []
        for stage in range(b.STAGES):
            if bound.shaders[stage] is not None:
                calls.append(lambda stage=stage: self.set_shader(stage, 0))
            for slots, method in (
                (bound.constant_buffers[stage], self.set_constant_buffers),
                (bound.shader_resources[stage], self.set_shader_resources),
                (bound.samplers[stage], self.set_samplers),
            ):
                used = _used(slots)
                if used:
                    calls.append(lambda method=method, stage=stage, used=used: method(stage, 0, [0] * used))
        calls += [
            lambda: self.cs_set_unordered_access_views(0, [0] * b.UAVS, [KEEP] * b.UAVS),
            lambda: self.so_set_targets([], []),
            lambda: self.om_set_render_targets([], 0),
            lambda: self.om_set_blend_state(0, [1.0] * 4, KEEP),
            lambda: self.om_set_depth_stencil_state(0, 0),
            lambda: self.rs_set_state(0),
            lambda: self.rs_set_viewports([]),
            lambda: self.rs_set_scissor_rects([]),
            lambda: self.ia_set_input_layout(0),
            lambda: self.ia_set_vertex_buffers(0, [0] * b.VERTEX_BUFFERS, [0] * b.VERTEX_BUFFERS, [0] * b.VERTEX_BUFFERS),
            lambda: self.ia_set_index_buffer(0, 0, 0),
            lambda: self.ia_set_primitive_topology(0),
            lambda: self.set_predication(0, False),
        ]
        del ddi
        return sequence(calls)

    def flush(self) -> Pending:
        pending: Pending = self._ddi.pfnFlush()
        return pending

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
            if not buffer.bind_flags & BindFlag.VERTEX_BUFFER:
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
            start, len(ids), _handles(buffers), strides, offsets
        )

    def ia_set_index_buffer(self, id: int, format: int, offset: int) -> Pending:
        buffer: Buffer | None = None
        if id:
            buffer = self.device.get(id, Buffer, "index_buffer")
            assert buffer is not None
            require(bool(buffer.bind_flags & BindFlag.INDEX_BUFFER), "index_buffer: it was not created with INDEX_BUFFER")
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
        buffers = self._slots(start, ids, b.CONSTANT_BUFFERS, Buffer, "constant_buffers")
        slots, end = self.bound.constant_buffers[stage], start + len(ids)
        if slots[start:end] == buffers:
            return None
        for i, buffer in enumerate(buffers):
            if buffer is not None and not buffer.bind_flags & BindFlag.CONSTANT_BUFFER:
                raise invalid_arg(f"constant_buffers[{i}]: it was not created with bind flag CONSTANT_BUFFER")
        _count_inputs(slots[start:end], buffers)
        slots[start:end] = buffers
        return self._set_constant_buffers[stage](start, len(ids), _handles(buffers))  # type: ignore[no-any-return]

    def set_shader_resources(self, stage: int, start: int, ids: list[int]) -> Pending:
        if stage >= b.STAGES:
            raise invalid_arg(f"stage: {stage} is none")
        views = self._slots(start, ids, b.SHADER_RESOURCES, ShaderResourceView, "shader_resource_views")
        slots, end = self.bound.shader_resources[stage], start + len(ids)
        hazards = None
        for i, view in enumerate(views):
            if view is None:
                continue
            resource = view.resource
            if resource.outputs and self.bound.written(view):
                self.warn(
                    "set_shader_resources",
                    f"shader_resource_views[{i}] of the {ShaderStage(stage).name.lower()} shader is bound for writing: "
                    "NULL is bound instead",
                )
                views[i] = None
            elif resource.written and not resource.outputs:
                resource.written = False
                hazards = [*(hazards or ()), view]
        if slots[start:end] == views:
            return None
        _count_view_inputs(slots[start:end], views)
        slots[start:end] = views
        set_views = self._set_shader_resources[stage]
        if hazards is None:
            return set_views(start, len(ids), _handles(views))  # type: ignore[no-any-return]
        calls: list[Callable[[], Any]] = [
            lambda v=v: self._ddi.pfnShaderResourceViewReadAfterWriteHazard(v.handle, v.resource.handle) for v in hazards
        ]
        return sequence([*calls, lambda: set_views(start, len(ids), _handles(views))])

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

    # ----- outputs: unordered access, stream output, render targets --------------------------------------------------------

    def cs_set_unordered_access_views(self, start: int, ids: list[int], counts: list[int]) -> Pending:
        if len(ids) != len(counts):
            raise invalid_arg(f"initial_counts: {len(counts)} for {len(ids)} views")
        views = self._slots(start, ids, b.UAVS, UnorderedAccessView, "unordered_access_views")
        _no_overlap([v for v in views if v is not None], "unordered_access_views")
        bound, end = self.bound, start + len(ids)
        calls = self._make_way(views, keep_cs=(start, end))
        _count_view_outputs(bound.cs_uavs[start:end], views)
        bound.cs_uavs[start:end] = views
        calls.append(lambda: self._ddi.pfnCsSetUnorderedAccessViews(start, len(ids), _handles(views), counts))
        return sequence(calls)

    def so_set_targets(self, ids: list[int], offsets: list[int]) -> Pending:
        if len(ids) != len(offsets):
            raise invalid_arg(f"offsets: {len(offsets)} for {len(ids)} targets")
        buffers = self._slots(0, ids, b.SO_BUFFERS, Buffer, "targets")
        for i, buffer in enumerate(buffers):
            if buffer is not None and not buffer.bind_flags & BindFlag.STREAM_OUTPUT:
                raise invalid_arg(f"targets[{i}]: it was not created with bind flag STREAM_OUTPUT")
            if buffer is not None and buffers.index(buffer) != i:
                raise invalid_arg(f"targets[{i}]: the buffer is there twice")
        bound = self.bound
        before = _used(bound.so_buffers)
        calls = self._make_way_for_buffers([x for x in buffers if x is not None])
        new = [*buffers, *[None] * (b.SO_BUFFERS - len(buffers))]
        for old in bound.so_buffers:
            if old is not None:
                old.outputs -= 1
        for buffer in new:
            if buffer is not None:
                buffer.outputs += 1
                buffer.written = True
        bound.so_buffers, bound.so_offsets = new, [*offsets, *[0] * (b.SO_BUFFERS - len(offsets))]
        if not buffers and not before:
            return sequence(calls)
        count, clear = len(buffers), max(before - len(buffers), 0)
        calls.append(lambda: self._ddi.pfnSoSetTargets(count, clear, _handles(buffers), list(offsets)))
        return sequence(calls)

    def om_set_render_targets(self, ids: list[int], dsv: int) -> Pending:
        return self.om_set_render_targets_and_unordered_access_views(False, ids, dsv, len(ids), False, [], [])

    def om_set_render_targets_and_unordered_access_views(
        self,
        keep_targets: bool,
        ids: list[int],
        dsv_id: int,
        uav_start: int,
        keep_uavs: bool,
        uav_ids: list[int],
        counts: list[int],
    ) -> Pending:
        bound = self.bound
        if len(uav_ids) != len(counts):
            raise invalid_arg(f"initial_counts: {len(counts)} for {len(uav_ids)} views")
        dsv: DepthStencilView | None
        if keep_targets:
            targets, dsv = bound.render_targets[: _used(bound.render_targets)], bound.depth_stencil
        else:
            targets = self._slots(0, ids, b.RENDER_TARGETS, RenderTargetView, "render_target_views")
            dsv = self.device.get(dsv_id, DepthStencilView, "depth_stencil_view") if dsv_id else None
        uavs: list[UnorderedAccessView | None]
        if keep_uavs:
            uavs = list(bound.om_uavs)
        else:
            if uav_ids and uav_start < _used(targets):
                raise invalid_arg(f"uav_start_slot: {uav_start}, render targets take the slots below {_used(targets)}")
            found = self._slots(uav_start, uav_ids, b.UAVS, UnorderedAccessView, "unordered_access_views")
            uavs = [None] * b.UAVS
            uavs[uav_start : uav_start + len(found)] = found
        if not keep_targets:
            _check_targets(targets, dsv)
        views: list[View | None] = [*targets, *uavs, dsv]
        _no_overlap([v for v in views if v is not None], "views")
        new_targets = [*targets, *[None] * (b.RENDER_TARGETS - len(targets))]
        if (
            new_targets == bound.render_targets
            and dsv is bound.depth_stencil
            and uavs == bound.om_uavs
            and not any(count != KEEP for count in counts)
        ):
            return None
        calls = self._make_way(views, keep_om=True)
        old_count, old_uavs = _used(bound.render_targets), bound.om_uavs
        _count_view_outputs([*bound.render_targets, *bound.om_uavs], [*new_targets, *uavs])
        for old, sign in ((bound.depth_stencil, -1), (dsv, 1)):
            if old is not None and b.writes(old):
                old.resource.outputs += sign
                old.resource.written = True
        bound.render_targets, bound.depth_stencil, bound.om_uavs = new_targets, dsv, uavs
        calls.append(lambda: self._tell_targets(targets, old_count, old_uavs, uav_start, len(uav_ids), counts, keep_uavs))
        return sequence(calls)

    def _tell_targets(
        self,
        targets: Sequence[RenderTargetView | None],
        old_count: int,
        old_uavs: Sequence[UnorderedAccessView | None],
        uav_start: int,
        uav_count: int,
        counts: list[int],
        keep_uavs: bool,
    ) -> Pending:
        """SetRenderTargets: targets and how many more to unbind; UAV slots, and the range among them that changed."""
        bound = self.bound
        dsv, uavs = bound.depth_stencil, bound.om_uavs
        changed = [i for i in range(b.UAVS) if uavs[i] is not old_uavs[i]]
        if not keep_uavs and uav_count:
            changed += [uav_start, uav_start + uav_count - 1]
        first = min(changed, default=0)
        size = max(changed, default=-1) - first + 1 if changed else 0
        all_counts = [KEEP] * b.UAVS
        if not keep_uavs:
            all_counts[uav_start : uav_start + uav_count] = counts
        used = [i for i in range(b.UAVS) if uavs[i] is not None]
        start = min(used, default=first)
        end = max(used, default=start - 1) + 1
        return self._ddi.pfnSetRenderTargets(  # type: ignore[no-any-return]
            _handles(targets),
            len(targets),
            max(old_count - len(targets), 0),
            dsv.handle if dsv is not None else 0,
            _handles(uavs[start:end]),
            all_counts[start:end],
            start,
            end - start,
            first,
            size,
        )

    def _make_way(
        self, outputs: Sequence[View | None], keep_cs: tuple[int, int] | None = None, keep_om: bool = False
    ) -> list[Callable[[], Any]]:
        """Unbind from everything else what is about to be bound for writing; returns the driver calls that tell it."""
        calls: list[Callable[[], Any]] = []
        for view in outputs:
            if view is None:
                continue
            if isinstance(view, DepthStencilView) and not b.writes(view):
                continue
            resource = view.resource
            if resource.inputs:
                calls += self._unbind_inputs(view)
            if resource.outputs:
                calls += self._unbind_outputs(view, keep_cs, keep_om)
        return calls

    def _make_way_for_buffers(self, buffers: Sequence[Resource]) -> list[Callable[[], Any]]:
        calls: list[Callable[[], Any]] = []
        for buffer in buffers:
            whole = View(self.device, buffer)
            if buffer.inputs:
                calls += self._unbind_inputs(whole)
            if buffer.outputs:
                calls += self._unbind_outputs(whole, None, False)
        return calls

    def _unbind_inputs(self, out: View) -> list[Callable[[], Any]]:
        bound, ddi, calls = self.bound, self._ddi, []
        resource = out.resource
        for stage, slots in enumerate(bound.shader_resources):
            for i, view in enumerate(slots):
                if view is not None and view.resource is resource and out.overlaps(view) and b.writes_what(out, view):
                    slots[i] = None
                    resource.inputs -= 1
                    calls.append(lambda stage=stage, i=i: self._set_shader_resources[stage](i, 1, [0]))
        if resource.dimension is _BUFFER:
            for i, buffer in enumerate(bound.vertex_buffers):
                if buffer is resource:
                    bound.vertex_buffers[i] = None
                    resource.inputs -= 1
                    calls.append(lambda i=i: ddi.pfnIaSetVertexBuffers(i, 1, [0], [0], [0]))
            if bound.index_buffer is resource:
                calls.append(lambda: self.ia_set_index_buffer(0, 0, 0))
        return calls

    def _unbind_outputs(self, out: View, keep_cs: tuple[int, int] | None, keep_om: bool) -> list[Callable[[], Any]]:
        bound, ddi = self.bound, self._ddi
        calls: list[Callable[[], Any]] = []
        resource = out.resource
        for i, view in enumerate(bound.cs_uavs):
            inside = keep_cs is not None and keep_cs[0] <= i < keep_cs[1]
            if view is not None and not inside and view.overlaps(out):
                bound.cs_uavs[i] = None
                resource.outputs -= 1
                calls.append(lambda i=i: ddi.pfnCsSetUnorderedAccessViews(i, 1, [0], [KEEP]))  # type: ignore[misc]
        if any(buffer is resource for buffer in bound.so_buffers):
            kept = [x if x is not resource else None for x in bound.so_buffers]
            offsets, before = bound.so_offsets, _used(bound.so_buffers)
            bound.so_buffers = kept
            resource.outputs -= 1
            calls.append(lambda: ddi.pfnSoSetTargets(before, 0, _handles(kept[:before]), offsets[:before]))
        if not keep_om and any(v.overlaps(out) for v in (*bound.render_targets, *bound.om_uavs, bound.depth_stencil) if v):
            targets = [None if v is not None and v.overlaps(out) else v for v in bound.render_targets]
            uavs = [None if v is not None and v.overlaps(out) else v for v in bound.om_uavs]
            depth = bound.depth_stencil
            if depth is not None and depth.overlaps(out):
                if b.writes(depth):
                    depth.resource.outputs -= 1
                depth = None
            old_count, old_uavs = _used(bound.render_targets), bound.om_uavs
            _count_view_outputs([*bound.render_targets, *bound.om_uavs], [*targets, *uavs])
            bound.render_targets, bound.om_uavs, bound.depth_stencil = targets, uavs, depth
            given = targets[: _used(targets)]
            calls.append(lambda: self._tell_targets(given, old_count, old_uavs, 0, 0, [], True))
        return calls

    def unbind_resource(self, resource: Resource) -> Pending:
        """Take a resource (a back buffer after its flip) out of the whole pipeline."""
        whole = View(self.device, resource)
        whole.mip_end, whole.slice_end = 1 << 30, 1 << 30
        calls: list[Callable[[], Any]] = []
        if resource.outputs:
            calls += self._unbind_outputs(whole, None, False)
        if resource.inputs:
            calls += self._unbind_inputs(whole)
        return sequence(calls)

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
        factors = tuple(map(float, factor))
        bound = self.bound
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

    # ----- draws -----------------------------------------------------------------------------------------------------------

    def _ready(self) -> bool:
        """Whether the pipeline can draw; checks how its stages link whenever they have changed."""
        if self._unchecked:
            self._unchecked = False
            self._check_pipeline()
        return self._drawable

    def _check_pipeline(self) -> None:
        bound = self.bound
        vs, hs, ds, gs, ps = bound.shaders[:5]
        key = tuple(s.handle if s is not None else 0 for s in (*bound.shaders[:5], bound.layout))
        self._drawable = vs is not None and (hs is None) == (ds is None)
        if key in self._checked or (vs is None and key in self._checked):
            return
        if len(self._checked) > 4096:
            self._checked.clear()
        self._checked.add(key)
        if vs is None:
            self.warn("draw", "no vertex shader is bound: nothing is drawn")
            return
        if (hs is None) != (ds is None):
            self.warn("draw", "a hull shader needs a domain shader and the other way round: nothing is drawn")
        faults = []
        if bound.layout is not None and bound.layout.inputs.elements != vs.inputs.elements:
            faults += link_faults(bound.layout.inputs, vs.inputs, "input layout to vertex shader")
        chain = [s for s in (vs, hs, ds, gs, ps) if s is not None]
        for before, after in zip(chain, chain[1:], strict=False):
            if before is hs:
                continue  # the domain shader's inputs are control points and patch constants
            what = f"{before.stage.name.lower()} to {after.stage.name.lower()} shader"
            faults += link_faults(before.outputs, after.inputs, what)
        for fault in faults:
            self.warn("draw", fault)

    def draw(self, count: int, start: int) -> Pending:
        if self._unchecked or not self._drawable:
            if not self._ready():
                return None
        return self._ddi.pfnDraw(count, start)  # type: ignore[no-any-return]

    def draw_indexed(self, count: int, start: int, base: int) -> Pending:
        if self._unchecked or not self._drawable:
            if not self._ready():
                return None
        return self._ddi.pfnDrawIndexed(count, start, base)  # type: ignore[no-any-return]

    def draw_instanced(self, count: int, instances: int, start: int, first: int) -> Pending:
        if not self._ready():
            return None
        return self._ddi.pfnDrawInstanced(count, instances, start, first)  # type: ignore[no-any-return]

    def draw_indexed_instanced(self, count: int, instances: int, start: int, base: int, first: int) -> Pending:
        if not self._ready():
            return None
        return self._ddi.pfnDrawIndexedInstanced(count, instances, start, base, first)  # type: ignore[no-any-return]

    def draw_auto(self) -> Pending:
        buffer = self.bound.vertex_buffers[0]
        if buffer is None or not buffer.bind_flags & BindFlag.STREAM_OUTPUT:
            raise invalid_arg("vertex buffer 0: draw_auto needs a buffer there that was created with STREAM_OUTPUT")
        if not self._ready():
            return None
        return self._ddi.pfnDrawAuto()  # type: ignore[no-any-return]

    def _arguments(self, id: int, offset: int, size: int) -> Buffer:
        buffer: Buffer = self.device.get(id, Buffer, "buffer")
        require(
            bool(buffer.misc_flags & ResourceMiscFlag.DRAWINDIRECT_ARGS), "buffer: it was not created with DRAWINDIRECT_ARGS"
        )
        require(offset % 4 == 0, f"aligned_byte_offset: {offset} is no multiple of 4")
        require(offset + size <= buffer.byte_width, f"aligned_byte_offset: {size} bytes at {offset} of {buffer.byte_width}")
        return buffer

    def draw_instanced_indirect(self, id: int, offset: int) -> Pending:
        buffer = self._arguments(id, offset, 16)
        if not self._ready():
            return None
        return self._ddi.pfnDrawInstancedIndirect(buffer.handle, offset)  # type: ignore[no-any-return]

    def draw_indexed_instanced_indirect(self, id: int, offset: int) -> Pending:
        buffer = self._arguments(id, offset, 20)
        if not self._ready():
            return None
        return self._ddi.pfnDrawIndexedInstancedIndirect(buffer.handle, offset)  # type: ignore[no-any-return]

    def dispatch(self, x: int, y: int, z: int) -> Pending:
        if x > MAX_DISPATCH or y > MAX_DISPATCH or z > MAX_DISPATCH:
            raise invalid_arg(f"thread_group_count: {x} x {y} x {z}, each is at most {MAX_DISPATCH}")
        if self.bound.shaders[ShaderStage.COMPUTE] is None:
            raise invalid_arg("compute shader: none is bound")
        if not (x and y and z):
            return None
        return self._ddi.pfnDispatch(x, y, z)  # type: ignore[no-any-return]

    def dispatch_indirect(self, id: int, offset: int) -> Pending:
        buffer = self._arguments(id, offset, 12)
        if self.bound.shaders[ShaderStage.COMPUTE] is None:
            raise invalid_arg("compute shader: none is bound")
        return self._ddi.pfnDispatchIndirect(buffer.handle, offset)  # type: ignore[no-any-return]

    # ----- clears ----------------------------------------------------------------------------------------------------------

    def clear_render_target_view(self, id: int, color: list[float]) -> Pending:
        view = self.device.get(id, RenderTargetView, "render_target_view")
        view.resource.written = True
        return self._ddi.pfnClearRenderTargetView(view.handle, tuple(map(float, color)))  # type: ignore[no-any-return]

    def clear_depth_stencil_view(self, id: int, flags: int, depth: float, stencil: int) -> Pending:
        view = self.device.get(id, DepthStencilView, "depth_stencil_view")
        require(not flags & ~3, f"clear_flags: {flags:#x} has unknown bits")
        require(0 <= depth <= 1, f"depth: {depth} is not in 0..1")
        require(stencil <= 0xFF, f"stencil: {stencil} is not in 0..255")
        require(b.writes(view), "depth_stencil_view: it is read-only")
        view.resource.written = True
        return self._ddi.pfnClearDepthStencilView(  # type: ignore[no-any-return]
            view.handle, dd.D3D10_DDI_CLEAR_FLAG(flags), float(depth), stencil
        )

    def clear_unordered_access_view_uint(self, id: int, values: list[int]) -> Pending:
        view = self.device.get(id, UnorderedAccessView, "unordered_access_view")
        return self._ddi.pfnClearUnorderedAccessViewUint(view.handle, tuple(values))  # type: ignore[no-any-return]

    def clear_unordered_access_view_float(self, id: int, values: list[float]) -> Pending:
        view = self.device.get(id, UnorderedAccessView, "unordered_access_view")
        require(view.resource.stride == 0, "unordered_access_view: a structured buffer is cleared with integers")
        return self._ddi.pfnClearUnorderedAccessViewFloat(view.handle, tuple(map(float, values)))  # type: ignore[no-any-return]

    # ----- copies ----------------------------------------------------------------------------------------------------------

    def _copy_pair(self, destination: int, source: int) -> tuple[Resource, Resource]:
        target: Resource = self.device.get(destination, Resource, "dst_resource")
        origin: Resource = self.device.get(source, Resource, "src_resource")
        require(target.usage is not Usage.IMMUTABLE, "dst_resource: it is IMMUTABLE")
        require(target.dimension is origin.dimension, "dst_resource, src_resource: they are of different kinds")
        require(target.sample_count == origin.sample_count, "dst_resource, src_resource: different sample counts")
        same = target.format == origin.format or (
            target.info.family is not None and target.info.family is origin.info.family
        )
        require(same, f"dst_resource, src_resource: {origin.format.name} cannot be copied to {target.format.name}")
        require(not target.mapped, "dst_resource: it is mapped")
        require(not origin.mapped, "src_resource: it is mapped")
        return target, origin

    def copy_resource(self, destination: int, source: int) -> Pending:
        target, origin = self._copy_pair(destination, source)
        require(target is not origin, "dst_resource, src_resource: they are the same")
        for name in ("width", "height", "depth", "mip_levels", "array_size"):
            ours, theirs = getattr(target, name), getattr(origin, name)
            require(ours == theirs, f"dst_resource, src_resource: {name} {ours} and {theirs}")
        target.written = True
        return self._ddi.pfnResourceCopy(target.handle, origin.handle)  # type: ignore[no-any-return]

    def copy_subresource_region(
        self, destination: int, sub: int, x: int, y: int, z: int, source: int, source_sub: int, box: list[int] | None
    ) -> Pending:
        target, origin = self._copy_pair(destination, source)
        require(sub < target.subresources, f"dst_subresource: {sub}, there are {target.subresources}")
        require(source_sub < origin.subresources, f"src_subresource: {source_sub}, there are {origin.subresources}")
        require(target is not origin or sub != source_sub, "dst_resource: a subresource cannot be copied onto itself")
        size = origin.size(source_sub % origin.mip_levels)
        region = _box(box, size, origin, "src_box")
        if region is None:
            return None
        whole = origin.sample_count > 1 or origin.bind_flags & BindFlag.DEPTH_STENCIL or target.bind_flags & BindFlag.DEPTH_STENCIL
        if whole:
            require(
                box is None or (region[:3] == (0, 0, 0) and region[3:] == size),
                "src_box: of multisampled and depth-stencil resources only whole subresources can be copied",
            )
            require(x == y == z == 0, "dst_x, dst_y, dst_z: must be 0 for multisampled and depth-stencil resources")
        room = target.size(sub % target.mip_levels)
        block = target.info.block_size
        for name, at, low, high, most in (
            ("dst_x", x, region[0], region[3], room[0]),
            ("dst_y", y, region[1], region[4], room[1]),
            ("dst_z", z, region[2], region[5], room[2]),
        ):
            if name != "dst_z" and block > 1:
                require(at % block == 0, f"{name}: {at} is no multiple of {block}")
                most = -(-most // block) * block
                high = -(-high // block) * block
            require(at + high - low <= most, f"{name}: {high - low} texels at {at} leave the destination's {most}")
        argument = None if box is None else dd.D3D10_DDI_BOX(*region)
        target.written = True
        return self._ddi.pfnResourceCopyRegion(  # type: ignore[no-any-return]
            target.handle, sub, x, y, z, origin.handle, source_sub, argument
        )

    def _data(self, data: Any) -> Any:
        """The memory of a command's data."""
        if type(data) is bytes:
            return np.frombuffer(data, np.uint8)
        upload = self.device.upload
        if upload is None:
            raise invalid_arg("data: no upload area was announced")
        return upload.view(data[0], data[1])

    def _taken(self, data: Any) -> None:
        if type(data) is list and self.device.upload is not None:
            self.device.upload.taken(data[0] + data[1])

    def _using(self, data: Any, call: Callable[[Any], Any]) -> Pending:
        """Give the driver data of the client, and the place back when it has read them."""
        try:
            pending = call(self._data(data))
        except ApiError:
            self._taken(data)
            raise
        if pending is None:
            self._taken(data)
            return None
        return self._used_later(data, pending)

    async def _used_later(self, data: Any, pending: Awaitable[Any]) -> None:
        try:
            await pending
        finally:
            self._taken(data)

    def update_subresource(
        self, id: int, sub: int, box: list[int] | None, data: Any, row_pitch: int, depth_pitch: int
    ) -> Pending:
        return self._using(data, lambda memory: self._update(id, sub, box, memory, row_pitch, depth_pitch))

    def _update(self, id: int, sub: int, box: list[int] | None, memory: Any, row_pitch: int, depth_pitch: int) -> Pending:
        target: Resource = self.device.get(id, Resource, "dst_resource")
        require(target.usage is Usage.DEFAULT, f"dst_resource: it is {target.usage.name}, only DEFAULT ones can be updated")
        require(target.sample_count == 1, "dst_resource: it is multisampled")
        require(not target.bind_flags & BindFlag.DEPTH_STENCIL, "dst_resource: depth-stencil resources cannot be updated")
        require(sub < target.subresources, f"dst_subresource: {sub}, there are {target.subresources}")
        size = target.size(sub % target.mip_levels)
        region = _box(box, size, target, "dst_box")
        if region is None:
            return None
        width, height, depth = region[3] - region[0], region[4] - region[1], region[5] - region[2]
        if target.dimension is _BUFFER:
            row, rows = width, 1
        else:
            row, rows = target.info.row_bytes(width), target.info.rows(height)
        row_pitch = row_pitch or row
        depth_pitch = depth_pitch or row_pitch * rows
        need = (depth - 1) * depth_pitch + (rows - 1) * row_pitch + row
        require(memory.nbytes >= need, f"data: {memory.nbytes} bytes, the box takes {need} with its pitches")
        argument = None if box is None else dd.D3D10_DDI_BOX(*region)
        if target.bind_flags & BindFlag.CONSTANT_BUFFER:
            require(box is None, "dst_box: a constant buffer is updated as a whole")
            return self._ddi.pfnDefaultConstantBufferUpdateSubresourceUP(  # type: ignore[no-any-return]
                target.handle, sub, None, memory, row_pitch, depth_pitch
            )
        return self._ddi.pfnResourceUpdateSubresourceUP(  # type: ignore[no-any-return]
            target.handle, sub, argument, memory, row_pitch, depth_pitch
        )

    def copy_structure_count(self, id: int, offset: int, view_id: int) -> Pending:
        target: Buffer = self.device.get(id, Buffer, "dst_buffer")
        view: UnorderedAccessView = self.device.get(view_id, UnorderedAccessView, "src_view")
        require(bool(view.flags & 6), "src_view: it has neither APPEND nor COUNTER")
        require(offset % 4 == 0 and offset + 4 <= target.byte_width, f"dst_aligned_byte_offset: {offset}")
        require(target.usage is not Usage.IMMUTABLE, "dst_buffer: it is IMMUTABLE")
        return self._ddi.pfnCopyStructureCount(target.handle, offset, view.handle)  # type: ignore[no-any-return]

    def resolve_subresource(self, destination: int, sub: int, source: int, source_sub: int, format: int) -> Pending:
        target: Texture = self.device.get(destination, Texture, "dst_resource")
        origin: Texture = self.device.get(source, Texture, "src_resource")
        require(target.usage is Usage.DEFAULT, "dst_resource: it is not DEFAULT")
        require(origin.sample_count > 1, "src_resource: it is not multisampled")
        require(target.sample_count == 1, "dst_resource: it is multisampled")
        require(sub < target.subresources, f"dst_subresource: {sub}, there are {target.subresources}")
        require(source_sub < origin.subresources, f"src_subresource: {source_sub}, there are {origin.subresources}")
        info = format_info(format)
        require(info.allows(FormatAbility.MULTISAMPLE_RESOLVE), f"format: {info.format.name} cannot be resolved")
        for name, resource in (("dst_resource", target), ("src_resource", origin)):
            fits = resource.format == info.format or (resource.info.typeless and resource.info.family is info.family)
            require(fits, f"{name}: {resource.format.name} cannot be resolved as {info.format.name}")
        ours, theirs = target.size(sub % target.mip_levels), origin.size(0)
        require(ours == theirs, f"dst_resource, src_resource: sizes {ours} and {theirs}")
        target.written = True
        return self._ddi.pfnResourceResolveSubresource(  # type: ignore[no-any-return]
            target.handle, sub, origin.handle, source_sub, info.format
        )

    def generate_mips(self, id: int) -> Pending:
        view: ShaderResourceView = self.device.get(id, ShaderResourceView, "shader_resource_view")
        resource = view.resource
        require(
            bool(resource.misc_flags & ResourceMiscFlag.GENERATE_MIPS),
            "shader_resource_view: the resource was not created with GENERATE_MIPS",
        )
        require(
            format_info(view.format).allows(FormatAbility.MIP_AUTOGEN), f"format: mips of {view.format.name} cannot be generated"
        )
        return self._ddi.pfnGenMips(view.handle)  # type: ignore[no-any-return]

    def set_resource_min_lod(self, id: int, lod: float) -> Pending:
        resource: Texture = self.device.get(id, Texture, "resource")
        require(bool(resource.misc_flags & ResourceMiscFlag.RESOURCE_CLAMP), "resource: it was not created with RESOURCE_CLAMP")
        require(0 <= lod, f"min_lod: {lod} is negative")
        return self._ddi.pfnSetResourceMinLOD(resource.handle, float(lod))  # type: ignore[no-any-return]

    # ----- mapping ---------------------------------------------------------------------------------------------------------

    def _map_slots(self, resource: Resource, kind: MapType) -> tuple[str, str]:
        """Which entries map and unmap, by usage and bind flags."""
        if resource.usage is Usage.STAGING:
            return "pfnStagingResourceMap", "pfnStagingResourceUnmap"
        if resource.bind_flags & BindFlag.CONSTANT_BUFFER:
            return "pfnDynamicConstantBufferMapDiscard", "pfnDynamicConstantBufferUnmap"
        if resource.bind_flags in (BindFlag.VERTEX_BUFFER, BindFlag.INDEX_BUFFER, BindFlag.VERTEX_BUFFER | BindFlag.INDEX_BUFFER):
            if kind is MapType.WRITE_NO_OVERWRITE:
                return "pfnDynamicIABufferMapNoOverwrite", "pfnDynamicIABufferUnmap"
            return "pfnDynamicIABufferMapDiscard", "pfnDynamicIABufferUnmap"
        if kind is MapType.WRITE_NO_OVERWRITE:
            return "pfnResourceMap", "pfnResourceUnmap"
        return "pfnDynamicResourceMapDiscard", "pfnDynamicResourceUnmap"

    def check_map(self, id: int, sub: int, type_: int, flags: int) -> tuple[Resource, MapType]:
        """What a map needs. Raises ApiError."""
        resource: Resource = self.device.get(id, Resource, "resource")
        require(type_ in MapType._value2member_map_, f"map_type: {type_} is no D3D11_MAP")
        kind = MapType(type_)
        require(not flags & ~int(MapFlag.DO_NOT_WAIT), f"map_flags: {flags:#x} has unknown bits")
        require(sub < resource.subresources, f"subresource: {sub}, there are {resource.subresources}")
        require(sub not in resource.mapped, f"subresource: {sub} is mapped already")
        access = resource.cpu_access_flags
        if kind in (MapType.READ, MapType.READ_WRITE):
            require(bool(access & CpuAccessFlag.READ), f"map_type: {kind.name} of a resource without CPU access READ")
        if kind is not MapType.READ:
            require(bool(access & CpuAccessFlag.WRITE), f"map_type: {kind.name} of a resource without CPU access WRITE")
        if kind in (MapType.WRITE_DISCARD, MapType.WRITE_NO_OVERWRITE):
            require(resource.usage is Usage.DYNAMIC, f"map_type: {kind.name} is for DYNAMIC resources")
            require(not flags, f"map_flags: DO_NOT_WAIT with {kind.name}, which never waits")
            if kind is MapType.WRITE_NO_OVERWRITE:
                allowed = BindFlag.VERTEX_BUFFER | BindFlag.INDEX_BUFFER
                require(
                    resource.dimension is _BUFFER and bool(resource.bind_flags & allowed),
                    "map_type: WRITE_NO_OVERWRITE is for vertex and index buffers",
                )
        else:
            require(resource.usage is Usage.STAGING, f"map_type: {kind.name} is for STAGING resources")
        return resource, kind

    async def map(self, id: int, sub: int, type_: int, flags: int) -> tuple[Resource, dd.D3D10DDI_MAPPED_SUBRESOURCE]:
        """ID3D11DeviceContext::Map. Raises ApiError."""
        resource, kind = self.check_map(id, sub, type_, flags)
        slot, _ = self._map_slots(resource, kind)
        mapped = dd.D3D10DDI_MAPPED_SUBRESOURCE()
        self.core.do_not_wait = bool(flags)
        try:
            code = await self.device.invoke(
                slot, resource.handle, sub, dd.D3D10_DDI_MAP(type_), dd.D3D10_DDI_MAP_FLAG(flags), mapped
            )
        finally:
            self.core.do_not_wait = False
        self.device.raise_error(code, "Map")
        self.device.check_removed()
        if mapped.pData is None:
            self.core.fault(f"the driver's {slot.removeprefix('pfn')} returned no memory")
            self.device.check_removed()
        resource.mapped[sub] = mapped
        return resource, mapped

    def unmap(self, id: int, sub: int) -> Pending:
        resource: Resource = self.device.get(id, Resource, "resource")
        return self._unmap(resource, sub)

    def _unmap(self, resource: Resource, sub: int) -> Pending:
        if resource.mapped.pop(sub, None) is None:
            raise invalid_arg(f"subresource: {sub} is not mapped")
        _, slot = self._map_slots(resource, MapType.WRITE_DISCARD)
        return getattr(self._ddi, slot)(resource.handle, sub)  # type: ignore[no-any-return]

    def unmap_written(self, id: int, sub: int, data: Any) -> Pending:
        resource: Resource = self.device.get(id, Resource, "resource")
        mapped = resource.mapped.get(sub)
        if mapped is None:
            raise invalid_arg(f"subresource: {sub} is not mapped")

        def write(memory: Any) -> Pending:
            self._copy_in(mapped, 0, memory)
            return self._unmap(resource, sub)

        return self._using(data, write)

    def write_dynamic(self, id: int, sub: int, type_: int, offset: int, data: Any) -> Pending:
        return self._using(data, lambda memory: self._write_dynamic(id, sub, type_, offset, memory))

    def _write_dynamic(self, id: int, sub: int, type_: int, offset: int, memory: Any) -> Pending:
        require(type_ in (MapType.WRITE_DISCARD, MapType.WRITE_NO_OVERWRITE), f"map_type: {type_} is not WRITE_DISCARD or WRITE_NO_OVERWRITE")  # noqa: E501
        resource, kind = self.check_map(id, sub, type_, 0)
        total = resource.mip_bytes(0)[2]
        if resource.dimension is _BUFFER:
            require(offset + memory.nbytes <= total, f"data: {memory.nbytes} bytes at {offset} of {total}")
        else:
            require(offset == 0 and memory.nbytes == total, f"data: {memory.nbytes} bytes, the texture has {total}")
        slot, _ = self._map_slots(resource, kind)
        mapped = dd.D3D10DDI_MAPPED_SUBRESOURCE()
        pending = getattr(self._ddi, slot)(
            resource.handle, sub, dd.D3D10_DDI_MAP(type_), dd.D3D10_DDI_MAP_FLAG.NONE, mapped
        )
        if pending is not None:
            return self._write_later(pending, resource, sub, mapped, offset, memory)
        return self._write_now(resource, sub, mapped, offset, memory)

    async def _write_later(
        self, pending: Awaitable[Any], resource: Resource, sub: int, mapped: Any, offset: int, memory: Any
    ) -> None:
        await pending
        following = self._write_now(resource, sub, mapped, offset, memory)
        if following is not None:
            await following

    def _write_now(self, resource: Resource, sub: int, mapped: Any, offset: int, memory: Any) -> Pending:
        if mapped.pData is None:
            return None  # the driver has reported why
        resource.mapped[sub] = mapped
        if resource.dimension is _BUFFER:
            self._copy_in(mapped, offset, memory)
        else:
            row, slice_, _ = resource.mip_bytes(0)
            rows, depth = slice_ // row, resource.depth
            target = np.frombuffer(mapped.pData, np.uint8)
            source = memory.reshape(depth, rows, row)
            for z in range(depth):
                start = z * mapped.DepthPitch
                plane = target[start : start + (rows - 1) * mapped.RowPitch + row]
                view = np.lib.stride_tricks.as_strided(plane, (rows, row), (mapped.RowPitch, 1))
                view[...] = source[z]
        return self._unmap(resource, sub)

    @staticmethod
    def _copy_in(mapped: dd.D3D10DDI_MAPPED_SUBRESOURCE, offset: int, memory: Any) -> None:
        target = memoryview(mapped.pData).cast("B")  # type: ignore[arg-type]
        end = min(offset + memory.nbytes, target.nbytes)
        target[offset:end] = memory.data[: end - offset]

    # ----- queries ---------------------------------------------------------------------------------------------------------

    def begin(self, id: int) -> Pending:
        query: Query = self.device.get(id, Query, "query")
        require(query.has_begin, f"query: {query.type.name} has no begin")
        if query.begun:
            self.warn("begin", "the query was begun already and starts anew")
        query.begun, query.issued = True, False
        return self._ddi.pfnQueryBegin(query.handle)  # type: ignore[no-any-return]

    def end(self, id: int) -> Pending:
        query: Query = self.device.get(id, Query, "query")
        if query.has_begin:
            require(query.begun, "query: it was not begun")
        query.begun, query.issued = False, True
        return self._ddi.pfnQueryEnd(query.handle)  # type: ignore[no-any-return]

    def set_predication(self, id: int, value: bool) -> Pending:
        query: Query | None = self.device.get(id, Query, "predicate") if id else None
        if query is not None:
            require(query.is_predicate, f"predicate: a {query.type.name} query is no predicate")
        if query is self.bound.predicate and value == self.bound.predicate_value:
            return None
        self.bound.predicate, self.bound.predicate_value = query, value
        return self._ddi.pfnSetPredication(query.handle if query else 0, value)  # type: ignore[no-any-return]

    # ----- state refresh ---------------------------------------------------------------------------------------------------

    def refresh(self, group: str, base: int, count: int) -> Pending:
        """Send a binding group again (pfnState…Cb): with what is bound now."""
        bound, ddi = self.bound, self._ddi
        prefix, rest = group[:2], group[2:]
        if prefix in _PREFIX and rest in ("Srv", "Shader", "Sampler", "ConstBuf", "Uav"):
            return self._refresh_stage(_PREFIX.index(prefix), rest, base, count)
        if group == "IaInputLayout":
            return ddi.pfnIaSetInputLayout(bound.layout.handle if bound.layout else 0)  # type: ignore[no-any-return]
        if group == "IaVertexBuf":
            end = base + count
            handles = _handles(bound.vertex_buffers[base:end])
            return ddi.pfnIaSetVertexBuffers(base, len(handles), handles, bound.strides[base:end], bound.offsets[base:end])  # type: ignore[no-any-return]
        if group == "IaIndexBuf":
            handle = bound.index_buffer.handle if bound.index_buffer else 0
            return ddi.pfnIaSetIndexBuffer(handle, DXGI_FORMAT(bound.index_format), bound.index_offset)  # type: ignore[no-any-return]
        if group == "IaPrimitiveTopology":
            return ddi.pfnIaSetTopology(dd.D3D10_DDI_PRIMITIVE_TOPOLOGY(bound.topology))  # type: ignore[no-any-return]
        if group == "OmRenderTargets":
            targets = bound.render_targets[: _used(bound.render_targets)]
            return self._tell_targets(targets, 0, [None] * b.UAVS, 0, 0, [], True)
        if group == "OmBlendState":
            blend = bound.blend or self._defaults[BlendState]
            return ddi.pfnSetBlendState(blend.handle, bound.blend_factor, bound.sample_mask)  # type: ignore[no-any-return]
        if group == "OmDepthState":
            state = bound.depth_state or self._defaults[DepthStencilState]
            return ddi.pfnSetDepthStencilState(state.handle, bound.stencil_ref)  # type: ignore[no-any-return]
        if group == "RsRastState":
            return ddi.pfnSetRasterizerState((bound.rasterizer or self._defaults[RasterizerState]).handle)  # type: ignore[no-any-return]
        if group == "RsViewports":
            return ddi.pfnSetViewports(len(bound.viewports), 0, bound.viewports)  # type: ignore[no-any-return]
        if group == "RsScissor":
            return ddi.pfnSetScissorRects(len(bound.scissors), 0, bound.scissors)  # type: ignore[no-any-return]
        if group == "SoTargets":
            count = _used(bound.so_buffers)
            return ddi.pfnSoSetTargets(count, 0, _handles(bound.so_buffers[:count]), [KEEP] * count)  # type: ignore[no-any-return]
        return None

    def _refresh_stage(self, stage: int, rest: str, base: int, count: int) -> Pending:
        bound, end = self.bound, base + count
        if rest == "Shader":
            shader = bound.shaders[stage]
            return self._set_shader[stage](shader.handle if shader else 0)  # type: ignore[no-any-return]
        if rest == "Uav":
            handles = _handles(bound.cs_uavs[base:end])
            return self._ddi.pfnCsSetUnorderedAccessViews(base, len(handles), handles, [KEEP] * len(handles))  # type: ignore[no-any-return]
        if rest == "Sampler":
            default = self._defaults[SamplerState].handle
            handles = [s.handle if s is not None else default for s in bound.samplers[stage][base:end]]
            return self._set_samplers[stage](base, len(handles), handles)  # type: ignore[no-any-return]
        if rest == "Srv":
            handles = _handles(bound.shader_resources[stage][base:end])
            return self._set_shader_resources[stage](base, len(handles), handles)  # type: ignore[no-any-return]
        handles = _handles(bound.constant_buffers[stage][base:end])
        return self._set_constant_buffers[stage](base, len(handles), handles)  # type: ignore[no-any-return]


def _used(slots: Sequence[Any]) -> int:
    """Slots up to the last that is taken."""
    for i in range(len(slots), 0, -1):
        if slots[i - 1] is not None:
            return i
    return 0


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


def _count_view_outputs(old: Sequence[View | None], new: Sequence[View | None]) -> None:
    for view in old:
        if view is not None:
            view.resource.outputs -= 1
    for view in new:
        if view is not None:
            view.resource.outputs += 1
            view.resource.written = True


def _no_overlap(views: Sequence[View], what: str) -> None:
    """Raise E_INVALIDARG when two of the views, bound for writing together, cover the same subresource."""
    for i, view in enumerate(views):
        for other in views[:i]:
            if view.overlaps(other) and not (view.resource.dimension in (_BUFFER, _TEXTURE3D) and view is not other):
                raise invalid_arg(f"{what}: two of them cover the same subresource")


def _check_targets(targets: Sequence[RenderTargetView | None], dsv: DepthStencilView | None) -> None:
    """Raise E_INVALIDARG unless all targets agree in samples, and size."""
    first: View | None = None
    for view in (*targets, dsv):
        if view is None:
            continue
        if first is None:
            first = view
            continue
        ours, theirs = view.resource, first.resource
        require(
            ours.sample_count == theirs.sample_count and ours.sample_quality == theirs.sample_quality,
            "render_target_views, depth_stencil_view: different sample counts",
        )
        if ours.dimension is not _BUFFER and theirs.dimension is not _BUFFER and view is not dsv:
            require(
                ours.size(view.mip)[:2] == theirs.size(first.mip)[:2], "render_target_views: render targets of different sizes"
            )


def _box(box: list[int] | None, size: tuple[int, int, int], resource: Resource, name: str) -> tuple[int, ...] | None:
    """The box, or the whole; None when it is empty. Raises E_INVALIDARG when it leaves the subresource."""
    if box is None:
        return (0, 0, 0, *size)
    left, top, front, right, bottom, back = box
    if left >= right or top >= bottom or front >= back:
        return None
    block = resource.info.block_size
    width, height, depth = size
    if block > 1:
        require(left % block == 0 and top % block == 0, f"{name}: left {left}, top {top} are no multiples of {block}")
        require(right % block == 0 or right == width, f"{name}: right {right} is no multiple of {block}")
        require(bottom % block == 0 or bottom == height, f"{name}: bottom {bottom} is no multiple of {block}")
        width, height = -(-width // block) * block, -(-height // block) * block
    require(right <= width and bottom <= height and back <= depth, f"{name}: {box} leaves the subresource of {size}")
    return left, top, front, right, bottom, back


