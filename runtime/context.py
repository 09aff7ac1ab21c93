"""The immediate context: carries out recorded commands one after another.

For each command: what the arguments name, the rules of Direct3D 11, what changed, the driver's entry. A command that breaks a rule
is dropped and reported; those after it go on. Nothing here waits for the GPU; where the driver waits for the kernel, the rest of
the batch waits too. The commands themselves are in ``bind_commands``, ``output_commands``, ``draw_commands``, ``copy_commands`` and
``map_commands``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from wddm.ddi import d3d10umddi as dd
from wddm.ddi.dxgiformat import DXGI_FORMAT
from wddm.ddi.status import HRESULT, hresult_name
from wddm.wire import api
from wddm.wire import api_commands as c
from wddm.wire.message import ProtocolError

from . import bindings as b
from .bindings import Bindings
from .commands import Call, Pending, handles, sequence, used
from .draw_commands import DrawCommands
from .errors import ApiError, api_code
from .map_commands import MapCommands
from .objects import DeviceObject
from .output_commands import KEEP, OutputCommands
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

if TYPE_CHECKING:
    from .device import Device

_PREFIX: Final = ("Vs", "Hs", "Ds", "Gs", "Ps", "Cs")


class Context(OutputCommands, DrawCommands, MapCommands):
    """ID3D11DeviceContext of one device, in the runtime."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.core = device.core
        self.bound = Bindings()
        self.retired: dict[DeviceObject, int] = {}  #: without holders, but bound: the place of the slots in ``Bindings.groups``
        self._checked: set[tuple[int, ...]] = set()
        self._unchecked = True
        self._drawable = False
        self._defaults: dict[type[State], State] = {}
        self._table: dict[int, tuple[c.Command, Callable[[list[Any]], Any]]] = {}

    async def start(self) -> None:
        """Bind the driver's entries, make the default states, tell the driver the state that a device begins with."""
        ddi, device = self.device.ddi, self.device
        self._ddi = ddi
        self._set_shader = [getattr(ddi, f"pfn{p}SetShader") for p in _PREFIX]
        self._set_constant_buffers = [getattr(ddi, f"pfn{p}SetConstantBuffers") for p in _PREFIX]
        self._set_shader_resources = [getattr(ddi, f"pfn{p}SetShaderResources") for p in _PREFIX]
        self._set_samplers = [getattr(ddi, f"pfn{p}SetSamplers") for p in _PREFIX]
        self._table = {code: (command, command.carrier(getattr(self, command.name))) for code, command in c.COMMANDS.items()}
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
        """Carry out a batch. What is not allowed is reported, and the commands after it go on. Raises ProtocolError for what is no
        command; returns an awaitable when the driver waits."""
        index, pending = self._run(commands, 0)
        if pending is None and not self.device.unfinished:
            return None
        return self._later(commands, index, pending)

    def _run(self, commands: list[Any], start: int) -> tuple[int, Pending]:
        table, core, device = self._table, self.core, self.device
        for index in range(start, len(commands)):
            command = commands[index]
            if type(command) is not list or not command:
                raise ProtocolError("a command is a list that begins with its code")
            code = command[0]
            found = table.get(code) if type(code) is int else None
            if found is None:
                raise ProtocolError(f"no command has the code {code!r:.40}")
            declaration, carry_out = found
            try:
                if device.removed is not None:
                    declaration.check(command)
                    continue
                pending = carry_out(command)
            except ApiError as error:
                self._report(declaration.name, error)
                continue
            except ProtocolError as error:  # an argument that a program got wrong, as any other bad parameter
                words = str(error).removeprefix(f"command {declaration.name}: ")
                self._report(declaration.name, ApiError(HRESULT.E_INVALIDARG, words))
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

    # ----- life of objects -------------------------------------------------------------------------------------------------

    def retire(self, found: DeviceObject) -> None:
        """Nobody holds the object: destroy it, or remember it while it is bound."""
        holder = self.bound.holder(found)
        if holder is None:
            found.destroy()
        else:
            self.retired[found] = holder

    def _reap(self) -> None:
        """Destroy what was retired and is bound no more. Most stay where they were seen last: look there first."""
        groups = self.bound.groups()
        moved = [found for found, holder in self.retired.items() if found.refs or found not in groups[holder]]
        for found in moved:
            del self.retired[found]
            if not found.refs:
                self.retire(found)

    def destroy(self, id: int) -> None:
        found = self.device.objects.by_id.get(id)
        if not isinstance(found, DeviceObject) or found.device is not self.device:
            raise self.device.objects.refuse(id, DeviceObject, "id")
        self.device.objects.remove(id)
        self.device.unref(found)

    # ----- whole state -----------------------------------------------------------------------------------------------------

    def clear_state(self) -> Pending:
        bound = self.bound
        calls: list[Call] = []
        for stage in range(b.STAGES):
            if bound.shaders[stage] is not None:
                calls.append(partial(self.set_shader, stage, 0))
            for slots, method in (
                (bound.constant_buffers[stage], self.set_constant_buffers),
                (bound.shader_resources[stage], self.set_shader_resources),
                (bound.samplers[stage], self.set_samplers),
            ):
                count = used(slots)
                if count:
                    calls.append(partial(method, stage, 0, [0] * count))
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
        return sequence(calls)

    def flush(self) -> Pending:
        pending: Pending = self._ddi.pfnFlush()
        return pending

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
            found = handles(bound.vertex_buffers[base:end])
            return ddi.pfnIaSetVertexBuffers(base, len(found), found, bound.strides[base:end], bound.offsets[base:end])  # type: ignore[no-any-return]
        if group == "IaIndexBuf":
            handle = bound.index_buffer.handle if bound.index_buffer else 0
            return ddi.pfnIaSetIndexBuffer(handle, DXGI_FORMAT(bound.index_format), bound.index_offset)  # type: ignore[no-any-return]
        if group == "IaPrimitiveTopology":
            return ddi.pfnIaSetTopology(dd.D3D10_DDI_PRIMITIVE_TOPOLOGY(bound.topology))  # type: ignore[no-any-return]
        if group == "OmRenderTargets":
            targets = bound.render_targets[: used(bound.render_targets)]
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
            count = used(bound.so_buffers)
            return ddi.pfnSoSetTargets(count, 0, handles(bound.so_buffers[:count]), [KEEP] * count)  # type: ignore[no-any-return]
        return None

    def _refresh_stage(self, stage: int, rest: str, base: int, count: int) -> Pending:
        bound, end = self.bound, base + count
        if rest == "Shader":
            shader = bound.shaders[stage]
            return self._set_shader[stage](shader.handle if shader else 0)  # type: ignore[no-any-return]
        if rest == "Uav":
            found = handles(bound.cs_uavs[base:end])
            return self._ddi.pfnCsSetUnorderedAccessViews(base, len(found), found, [KEEP] * len(found))  # type: ignore[no-any-return]
        if rest == "Sampler":
            default = self._defaults[SamplerState].handle
            found = [s.handle if s is not None else default for s in bound.samplers[stage][base:end]]
            return self._set_samplers[stage](base, len(found), found)  # type: ignore[no-any-return]
        if rest == "Srv":
            found = handles(bound.shader_resources[stage][base:end])
            return self._set_shader_resources[stage](base, len(found), found)  # type: ignore[no-any-return]
        found = handles(bound.constant_buffers[stage][base:end])
        return self._set_constant_buffers[stage](base, len(found), found)  # type: ignore[no-any-return]
