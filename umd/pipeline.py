"""Entries that bind resources, views, samplers, targets and stream-output buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from umd.command_buffer import packet
from umd.core import Bind, Core, Pending, key
from umd.emit import KEEP_COUNTER, ConstantRange, StreamTarget, slot_id
from umd.errors import DeviceError
from umd.resource import Resource, ResourceFunctions
from umd.shaders import ShaderFunctions
from umd.state import StateFunctions
from umd.view import View, ViewFunctions
from wddm.hw.packets import Op, Stage


class PipelineFunctions:
    """Entries that bind resources, views and samplers. Those of the six stages are made from one function each."""

    def __init__(
        self, core: Core, resources: ResourceFunctions, views: ViewFunctions, states: StateFunctions, shaders: ShaderFunctions
    ) -> None:
        self.core = core
        self.resources = resources
        self.views = views
        self.states = states
        self._pixel_uavs: set[int] = set()
        core.stages_changed = shaders.changed
        for name, stage in (
            ("Vs", Stage.VERTEX),
            ("Hs", Stage.HULL),
            ("Ds", Stage.DOMAIN),
            ("Gs", Stage.GEOMETRY),
            ("Ps", Stage.PIXEL),
            ("Cs", Stage.COMPUTE),
        ):
            setattr(self, f"{name}SetConstantBuffers", self._constant_buffers(stage))
            setattr(self, f"{name}SetShaderResources", self._shader_resources(stage))
            setattr(self, f"{name}SetSamplers", self._samplers(stage))
            setattr(self, f"{name}SetShader", shaders.setter(stage))
            setattr(self, f"{name}SetShaderWithIfaces", shaders.interface_setter(stage))

    def _constant_buffers(self, stage: Stage) -> Callable[..., None]:
        base = key(Bind.CONSTANT_BUFFER, stage)
        bind, resources = self.core.bind, self.resources.resources

        def SetConstantBuffers(
            hDevice: int,
            StartBuffer: int,
            NumBuffers: int,
            handles: Sequence[int],
            pFirstConstant: Sequence[int] | None = None,
            pNumConstants: Sequence[int] | None = None,
        ) -> None:
            for k, h in enumerate(handles[:NumBuffers], base + StartBuffer):
                r = resources.get(h)
                if pFirstConstant is None or pNumConstants is None or r is None:
                    bind(k, r, r)
                    continue
                i = k - base - StartBuffer
                # The 11.1 form counts constants of 16 bytes.
                bound = ConstantRange(r, pFirstConstant[i] * 16, pNumConstants[i] * 16)
                if bound != self.core.slots.get(k):
                    bind(k, bound, r)

        return SetConstantBuffers

    def _shader_resources(self, stage: Stage) -> Callable[..., None]:
        base = key(Bind.RESOURCE, stage)
        bind, views = self.core.bind, self.views.shader_resources

        def SetShaderResources(hDevice: int, Offset: int, NumViews: int, handles: Sequence[int]) -> None:
            for k, h in enumerate(handles[:NumViews], base + Offset):
                view = views.get(h)
                bind(k, view, None if view is None else view.resource)

        return SetShaderResources

    def _samplers(self, stage: Stage) -> Callable[..., None]:
        base = key(Bind.SAMPLER, stage)
        bind, samplers = self.core.bind, self.states.samplers

        def SetSamplers(hDevice: int, Offset: int, NumSamplers: int, handles: Sequence[int]) -> None:
            for k, h in enumerate(handles[:NumSamplers], base + Offset):
                bind(k, samplers.get(h))

        return SetSamplers

    # --- input assembler -----------------------------------------------------------------------------------------------
    def IaSetVertexBuffers(
        self, hDevice: int, Start: int, Num: int, handles: Sequence[int], strides: Sequence[int], offsets: Sequence[int]
    ) -> None:
        core = self.core
        for i in range(Num):
            r = self.resources.resources.get(handles[i])
            k = key(Bind.VERTEX_BUFFER, 0, Start + i)
            bound = None if r is None else (r, strides[i], offsets[i])
            if bound != core.slots.get(k):
                core.bind(k, bound, r)

    def IaSetIndexBuffer(self, hDevice: int, hBuffer: int, Format: int, Offset: int) -> None:
        r = self.resources.resources.get(hBuffer)
        k = key(Bind.INDEX_BUFFER)
        bound = None if r is None else (r, int(Format), Offset)
        if bound != self.core.slots.get(k):
            self.core.bind(k, bound, r)

    # --- output merger -------------------------------------------------------------------------------------------------
    def SetRenderTargets(
        self,
        hDevice: int,
        targets: Sequence[int],
        NumRTVs: int,
        ClearSlots: int,
        hDepthStencilView: int,
        uavs: Sequence[int],
        initial_counts: Sequence[int],
        UAVStartSlot: int,
        NumUAVs: int,
        UAVRangeStart: int,
        UAVRangeSize: int,
    ) -> Pending:
        core = self.core
        views = [self.views.render_targets.get(h) for h in targets[:NumRTVs]]
        count = max((i + 1 for i, v in enumerate(views) if v is not None), default=0)
        before = core.target_count
        core.target_count = count
        for slot in range(8):
            view = views[slot] if slot < len(views) else None
            k = key(Bind.RENDER_TARGETS, 0, slot)
            bound = None if view is None else (view, count)
            if bound != core.slots.get(k):
                core.bind(k, bound, None if view is None else view.resource)
        if before and not count:
            core.dirty.add(key(Bind.RENDER_TARGETS))  # tells the count, which no bound target does now
        depth = self.views.depth_stencils.get(hDepthStencilView)
        core.bind(key(Bind.DEPTH_STENCIL), depth, None if depth is None else depth.resource)
        samples = {v.resource.samples for v in (*views, depth) if v is not None}
        if (len(samples) < 2) is not core.samples_agree:
            core.samples_agree = len(samples) < 2
            core.stages_changed()
        wanted = {UAVStartSlot + i: uavs[i] for i in range(NumUAVs)}
        for slot in self._pixel_uavs - set(wanted):
            core.bind(key(Bind.UAV, Stage.PIXEL, slot), None)
        self._pixel_uavs = {slot for slot, h in wanted.items() if h}
        return self._unordered(Stage.PIXEL, UAVStartSlot, NumUAVs, uavs, initial_counts)

    def CsSetUnorderedAccessViews(
        self, hDevice: int, StartSlot: int, NumViews: int, handles: Sequence[int], initial_counts: Sequence[int]
    ) -> Pending:
        return self._unordered(Stage.COMPUTE, StartSlot, NumViews, handles, initial_counts)

    def _unordered(
        self, stage: Stage, start: int, count: int, handles: Sequence[int], initial_counts: Sequence[int]
    ) -> Pending:
        core = self.core
        resets: list[tuple[View, int]] = []
        homeless: list[Resource] = []
        for i in range(count):
            view = self.views.unordered.get(handles[i])
            core.bind(key(Bind.UAV, stage, start + i), view, None if view is None else view.resource)
            if view is None:
                continue
            if view.resource.renamed:
                homeless.append(view.resource)
            if view.counter is not None and i < len(initial_counts) and initial_counts[i] & KEEP_COUNTER != KEEP_COUNTER:
                resets.append((view, initial_counts[i]))
        if homeless:
            raise DeviceError.invalid("an unordered access view of a buffer that the processor maps")
        if not resets:
            return None
        return core.unpredicated(lambda: _set_counters(core, resets))

    # --- stream output -------------------------------------------------------------------------------------------------
    def SoSetTargets(
        self, hDevice: int, SOTargets: int, ClearTargets: int, handles: Sequence[int], offsets: Sequence[int]
    ) -> None:
        for slot in range(4):
            r = self.resources.resources.get(handles[slot]) if slot < min(SOTargets, len(handles)) else None
            target = None if r is None else StreamTarget(r, offsets[slot] & 0xFFFFFFFF)
            self.core.bind(key(Bind.STREAM_OUTPUT, 0, slot), target, r)

    # --- hazards -------------------------------------------------------------------------------------------------------
    def ShaderResourceViewReadAfterWriteHazard(self, hDevice: int, hView: int, hResource: int) -> None:
        """One context's packets are executed in order and see all that earlier ones wrote: there is nothing to resolve."""

    def ResourceReadAfterWriteHazard(self, hDevice: int, hResource: int) -> None:
        """As for views."""


def _set_counters(core: Core, resets: list[tuple[View, int]]) -> None:
    for view, value in resets:
        counter: Any = view.counter
        data = packet(Op.FILL_BUFFER, extent=4, data=(value & 0xFFFFFFFF,))
        core.batch.add_at(data, slot_id(Op.FILL_BUFFER, 0), counter.allocation, counter.offset, True)
