"""Thunks of adapter, devices and contexts. Models D3DKMTOpenAdapter…, QueryAdapterInfo, Escape, CreateDevice, CreateContext,
GetDeviceState and their counterparts."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import Final

from kernel.errors import refusal
from kernel.objects import AdapterHandle, ExecutionState
from wddm.ddi import d3dkmddi as ddi
from wddm.ddi.d3dkmthk import D3DKMT_SCHEDULINGPRIORITYCLASS
from wddm.ddi.status import NTSTATUS, ntstatus_name
from wddm.wire import thunk

from .group import Handlers, ThunkGroup

_OK: Final = NTSTATUS.STATUS_SUCCESS


class AdapterThunks(ThunkGroup):
    """Adapter, devices, contexts."""

    def requests(self) -> Handlers:
        """What is answered."""
        return {
            thunk.OpenAdapter: self._open_adapter,
            thunk.QueryAdapterInfo: self._query_adapter_info,
            thunk.Escape: self._escape,
            thunk.CreateDevice: self._create_device,
            thunk.DestroyDevice: self._destroy_device,
            thunk.CreateContext: self._create_context,
            thunk.DestroyContext: self._destroy_context,
            thunk.GetDeviceState: self._get_device_state,
        }

    def notifications(self) -> Handlers:
        """What is only told."""
        return {
            thunk.SetContextSchedulingPriority: self._set_priority,
        }

    def _open_adapter(self, message: thunk.OpenAdapter) -> thunk.AdapterInfo:
        adapter, process = self.adapter, self.process
        if not process.hAdapter:
            process.hAdapter = process.table.add(AdapterHandle())
        return thunk.AdapterInfo(
            hAdapter=process.hAdapter,
            name="Virtual GPU",
            driver=adapter.options.miniport,
            umd=adapter.options.umd,
            wddm_version=int(adapter.caps.WDDMVersion),
            segments=[
                thunk.Segment(
                    id=s.id,
                    size=s.space.size,
                    used=s.space.used,
                    aperture=s.aperture,
                    cpu_visible=bool(s.descriptor.Flags & ddi.DXGK_SEGMENTFLAGS.CpuVisible),
                )
                for s in adapter.vidmm.segments.values()
            ],
            nodes=[
                thunk.NodeInfo(
                    ordinal=n.ordinal,
                    engine_type=int(n.engine_type),
                    name=n.name,
                    submitted=n.submitted_count,
                    completed=n.completed_count,
                    preempted=n.preempted_count,
                    busy_ns=n.busy_ns,
                )
                for n in adapter.vidsch.nodes
            ],
            sources=[
                thunk.SourceInfo(
                    id=s.id,
                    width=s.mode.width if s.mode else 0,
                    height=s.mode.height if s.mode else 0,
                    format=int(s.mode.format) if s.mode else 0,
                    refresh_numerator=s.mode.refresh[0] if s.mode else 0,
                    refresh_denominator=s.mode.refresh[1] if s.mode else 0,
                    vblank_count=s.flips.vblank,
                    flips=s.flip_count,
                    visible=s.visible,
                )
                for s in adapter.display.sources
            ],
            statistics=[thunk.Statistic(name=name, value=value) for name, value in adapter.statistics()],
            shared_fences=self.channel.passes_descriptors,
        )

    def _query_adapter_info(self, message: thunk.QueryAdapterInfo) -> thunk.AdapterData:
        self._check_adapter(message.hAdapter)
        if message.type != ddi.DXGK_QUERYADAPTERINFOTYPE.UMDRIVERPRIVATE:
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER, f"type {message.type}: only UMDRIVERPRIVATE (0) is open to user mode"
            )
        arguments = ddi.DXGKARG_QUERYADAPTERINFO(
            ddi.DXGK_QUERYADAPTERINFOTYPE.UMDRIVERPRIVATE,
            message.input,
            len(message.input),
            OutputDataSize=message.output_size,
        )
        host = self.adapter.host
        status = host.call("DxgkDdiQueryAdapterInfo", host.hAdapter, arguments)
        data = arguments.pOutputData
        if status != _OK or not isinstance(data, (bytes, bytearray)):
            raise refusal(status or NTSTATUS.STATUS_UNSUCCESSFUL, f"the miniport gave no data: {ntstatus_name(status)}")
        return thunk.AdapterData(data=bytes(data))

    def _escape(self, message: thunk.Escape) -> thunk.AdapterData:
        self._check_adapter(message.hAdapter)
        hDevice = self._device(message.hDevice).hKmd if message.hDevice else 0
        hContext = self._context(message.hContext).hKmd if message.hContext else 0
        data = bytearray(message.data)
        host = self.adapter.host
        status = host.call(
            "DxgkDdiEscape", host.hAdapter, ddi.DXGKARG_ESCAPE(hDevice, data, len(data), hContext=hContext)
        )
        if status != _OK:
            raise refusal(status, f"the miniport refused the escape: {ntstatus_name(status)}")
        return thunk.AdapterData(data=bytes(data))

    def _create_device(self, message: thunk.CreateDevice) -> thunk.DeviceCreated:
        self._check_adapter(message.hAdapter)
        return thunk.DeviceCreated(hDevice=self.services.lifecycle.create_device(self.process, message.flags).handle)

    def _destroy_device(self, message: thunk.DestroyDevice) -> Awaitable[None]:
        return self._when_done(partial(self.services.lifecycle.destroy_device, self._device(message.hDevice)))

    def _create_context(self, message: thunk.CreateContext) -> thunk.ContextCreated:
        context = self.services.lifecycle.create_context(self._device(message.hDevice), message)
        return thunk.ContextCreated(
            hContext=context.handle,
            command_buffer_size=context.info.DmaBufferSize,
            allocation_list_size=context.info.AllocationListSize,
            patch_location_list_size=context.info.PatchLocationListSize,
        )

    def _destroy_context(self, message: thunk.DestroyContext) -> Awaitable[None]:
        return self._when_done(partial(self.services.lifecycle.destroy_context, self._context(message.hContext)))

    def _get_device_state(self, message: thunk.GetDeviceState) -> thunk.DeviceState:
        cause = self._device(message.hDevice).cause
        if cause is None:
            return thunk.DeviceState(state=int(ExecutionState.ACTIVE), reason=0, sentence="")
        return thunk.DeviceState(state=int(cause.state), reason=int(cause.reason), sentence=cause.sentence)

    def _set_priority(self, message: thunk.SetContextSchedulingPriority) -> None:
        context = self._context(message.hContext)
        if not -7 <= message.priority <= 7:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"priority {message.priority} is not in -7..7")
        context.in_process_priority = message.priority
        context.process_priority_class = D3DKMT_SCHEDULINGPRIORITYCLASS.NORMAL
