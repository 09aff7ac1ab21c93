"""DriverEntry: the table of entries that this miniport registers with Dxgkrnl.

Models "driverentry-of-display-miniport-driver" and "_driver_initialization_data". Entries that are None here are optional for a
render-and-display driver at this interface version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from miniport import paging, submission
from miniport.adapter import OK, Adapter
from miniport.allocation import standard_allocation
from wddm.ddi.d3dkmddi import (
    DXGK_INTERRUPT_TYPE,
    DXGKARG_CLOSEALLOCATION,
    DXGKARG_CREATECONTEXT,
    DXGKARG_CREATEDEVICE,
    DXGKARG_GETNODEMETADATA,
    DXGKARG_OPENALLOCATION,
    DXGKARG_PATCH,
    DXGKARG_PRESENT,
    DXGKARG_QUERYDEPENDENTENGINEGROUP,
    DXGKARG_QUERYENGINESTATUS,
    DXGKARG_RENDER,
    DXGKARG_RESETENGINE,
    DXGKARG_SETVIDPNSOURCEADDRESS,
    DXGKARG_SIGNALMONITOREDFENCE,
)
from wddm.ddi.dispmprt import (
    DRIVER_INITIALIZATION_DATA,
    DXGK_CHILD_DESCRIPTOR,
    DXGK_CHILD_STATUS,
    DXGK_START_INFO,
    DXGKRNL_INTERFACE,
)
from wddm.ddi.status import NTSTATUS


class Driver:
    """The loaded driver: its adapters, and by whose handle an entry is meant for which."""

    def __init__(self) -> None:
        self._adapters: dict[int, Adapter] = {}
        self._device_adapter: dict[int, Adapter] = {}
        self._context_adapter: dict[int, Adapter] = {}

    def _adapter(self, handle: int) -> Adapter:
        return self._adapters[handle]

    def add_device(self, physical_device: object) -> tuple[int, int]:
        """DxgkDdiAddDevice."""
        adapter = Adapter(0x10 + len(self._adapters))
        self._adapters[adapter.handle] = adapter
        return OK, adapter.handle

    def start_device(self, handle: int, info: DXGK_START_INFO, interface: DXGKRNL_INTERFACE) -> tuple[int, int, int]:
        """DxgkDdiStartDevice."""
        return self._adapter(handle).start(interface)

    def remove_device(self, handle: int) -> int:
        """DxgkDdiRemoveDevice."""
        return OK if self._adapters.pop(handle, None) is not None else NTSTATUS.STATUS_INVALID_HANDLE

    def create_device(self, handle: int, arguments: DXGKARG_CREATEDEVICE) -> int:
        """DxgkDdiCreateDevice."""
        adapter = self._adapter(handle)
        status = adapter.create_device(arguments)
        if status == OK:
            self._device_adapter[arguments.hDevice] = adapter
        return status

    def destroy_device(self, device: int) -> int:
        """DxgkDdiDestroyDevice."""
        adapter = self._device_adapter.pop(device, None)
        return NTSTATUS.STATUS_INVALID_HANDLE if adapter is None else adapter.destroy_device(device)

    def create_context(self, device: int, arguments: DXGKARG_CREATECONTEXT) -> int:
        """DxgkDdiCreateContext."""
        adapter = self._device_adapter.get(device)
        if adapter is None:
            return NTSTATUS.STATUS_INVALID_HANDLE
        status = adapter.create_context(device, arguments)
        if status == OK:
            self._context_adapter[arguments.hContext] = adapter
        return status

    def destroy_context(self, context: int) -> int:
        """DxgkDdiDestroyContext."""
        adapter = self._context_adapter.pop(context, None)
        return NTSTATUS.STATUS_INVALID_HANDLE if adapter is None else adapter.destroy_context(context)

    def open_allocation(self, device: int, arguments: DXGKARG_OPENALLOCATION) -> int:
        """DxgkDdiOpenAllocation."""
        adapter = self._device_adapter.get(device)
        return NTSTATUS.STATUS_INVALID_HANDLE if adapter is None else adapter.open_allocation(device, arguments)

    def close_allocation(self, device: int, arguments: DXGKARG_CLOSEALLOCATION) -> int:
        """DxgkDdiCloseAllocation."""
        adapter = self._device_adapter.get(device)
        if adapter is None:
            return NTSTATUS.STATUS_INVALID_HANDLE
        adapter.allocations.close(list(arguments.pOpenHandleList))
        return OK

    def render(self, context: int, arguments: DXGKARG_RENDER) -> int:
        """DxgkDdiRender and DxgkDdiRenderKm."""
        adapter = self._context_adapter.get(context)
        return NTSTATUS.STATUS_INVALID_HANDLE if adapter is None else adapter.render(arguments)

    def present(self, context: int, arguments: DXGKARG_PRESENT) -> int:
        """DxgkDdiPresent."""
        adapter = self._context_adapter.get(context)
        return NTSTATUS.STATUS_INVALID_HANDLE if adapter is None else adapter.present(arguments)

    def set_source_address(self, handle: int, arguments: DXGKARG_SETVIDPNSOURCEADDRESS) -> int:
        """DxgkDdiSetVidPnSourceAddress."""
        adapter = self._adapter(handle)
        return adapter.display.set_address(arguments, adapter.allocations.adapter_allocation(arguments.hAllocation))

    def child_relations(self, handle: int) -> tuple[int, list[DXGK_CHILD_DESCRIPTOR]]:
        """DxgkDdiQueryChildRelations: one monitor a head, always connected."""
        return OK, [DXGK_CHILD_DESCRIPTOR(head) for head in range(self._adapter(handle).display.heads)]

    def child_status(self, handle: int, status: DXGK_CHILD_STATUS, non_destructive: bool) -> int:
        """DxgkDdiQueryChildStatus."""
        status.Connected = True
        return OK

    def patch(self, handle: int, arguments: DXGKARG_PATCH) -> int:
        """DxgkDdiPatch."""
        submission.patch(arguments)
        return OK

    def node_metadata(self, handle: int, node: int, answer: DXGKARG_GETNODEMETADATA) -> int:
        """DxgkDdiGetNodeMetadata."""
        return self._adapter(handle).node_metadata(node, answer)

    def dependent_group(self, handle: int, arguments: DXGKARG_QUERYDEPENDENTENGINEGROUP) -> int:
        """DxgkDdiQueryDependentEngineGroup: every node is reset alone."""
        arguments.DependentNodeOrdinalMask = 1 << arguments.NodeOrdinal
        return OK

    def engine_status(self, handle: int, arguments: DXGKARG_QUERYENGINESTATUS) -> int:
        """DxgkDdiQueryEngineStatus."""
        self._adapter(handle).nodes[arguments.NodeOrdinal].query_status(arguments)
        return OK

    def reset_engine(self, handle: int, arguments: DXGKARG_RESETENGINE) -> int:
        """DxgkDdiResetEngine."""
        self._adapter(handle).nodes[arguments.NodeOrdinal].reset(arguments)
        return OK

    def control_interrupt(self, handle: int, kind: DXGK_INTERRUPT_TYPE, enable: bool) -> int:
        """DxgkDdiControlInterrupt: vertical sync can be switched."""
        return self._adapter(handle).control_interrupt(kind, enable)

    def signal_fence(self, handle: int, arguments: DXGKARG_SIGNALMONITOREDFENCE) -> int:
        """DxgkDdiSignalMonitoredFence: leave the signal for SubmitCommand."""
        return self._adapter(handle).signal_fence(arguments)


def DriverEntry(DxgkInitialize: Callable[[DRIVER_INITIALIZATION_DATA], int]) -> int:
    """Register with Dxgkrnl. Returns its NTSTATUS."""
    d = Driver()
    a: Final = d._adapter
    table = DRIVER_INITIALIZATION_DATA(
        DxgkDdiAddDevice=d.add_device,
        DxgkDdiStartDevice=d.start_device,
        DxgkDdiStopDevice=lambda h: a(h).stop(),
        DxgkDdiRemoveDevice=d.remove_device,
        DxgkDdiInterruptRoutine=lambda h, message: a(h).interrupt(),
        DxgkDdiDpcRoutine=lambda h: a(h).dpc(),
        DxgkDdiQueryChildRelations=d.child_relations,
        DxgkDdiQueryChildStatus=d.child_status,
        DxgkDdiUnload=lambda: None,
        DxgkDdiQueryAdapterInfo=lambda h, p: a(h).query_adapter_info(p),
        DxgkDdiCreateDevice=d.create_device,
        DxgkDdiCreateAllocation=lambda h, p: a(h).allocations.create(p),
        DxgkDdiDestroyAllocation=lambda h, p: a(h).destroy_allocation(p),
        DxgkDdiDescribeAllocation=lambda h, p: a(h).allocations.describe(p),
        DxgkDdiGetStandardAllocationDriverData=lambda h, p: standard_allocation(p),
        DxgkDdiPatch=d.patch,
        DxgkDdiSubmitCommand=lambda h, p: a(h).submit(p),
        DxgkDdiPreemptCommand=lambda h, p: a(h).preempt(p),
        DxgkDdiBuildPagingBuffer=lambda h, p: paging.build_paging_buffer(p),
        DxgkDdiResetFromTimeout=lambda h: a(h).reset_from_timeout(),
        DxgkDdiRestartFromTimeout=lambda h: a(h).restart_from_timeout(),
        DxgkDdiEscape=lambda h, p: a(h).escape(p),
        DxgkDdiCollectDbgInfo=lambda h, p: a(h).collect_debug_info(p),
        DxgkDdiQueryCurrentFence=lambda h, p: a(h).query_fence(p),
        DxgkDdiIsSupportedVidPn=lambda h, p: a(h).display.is_supported(p),
        DxgkDdiRecommendFunctionalVidPn=lambda h, p: a(h).display.recommend(p),
        DxgkDdiEnumVidPnCofuncModality=lambda h, p: a(h).display.enumerate(p),
        DxgkDdiSetVidPnSourceAddress=d.set_source_address,
        DxgkDdiSetVidPnSourceVisibility=lambda h, p: a(h).display.set_visibility(p),
        DxgkDdiCommitVidPn=lambda h, p: a(h).display.commit(p),
        DxgkDdiUpdateActiveVidPnPresentPath=lambda h, p: a(h).display.update_path(p),
        DxgkDdiControlInterrupt=d.control_interrupt,
        DxgkDdiDestroyDevice=d.destroy_device,
        DxgkDdiOpenAllocation=d.open_allocation,
        DxgkDdiCloseAllocation=d.close_allocation,
        DxgkDdiRender=d.render,
        DxgkDdiPresent=d.present,
        DxgkDdiCreateContext=d.create_context,
        DxgkDdiDestroyContext=d.destroy_context,
        DxgkDdiRenderKm=d.render,
        DxgkDdiQueryDependentEngineGroup=d.dependent_group,
        DxgkDdiQueryEngineStatus=d.engine_status,
        DxgkDdiResetEngine=d.reset_engine,
        DxgkDdiCancelCommand=lambda h, p: OK,  # DMA buffers hold nothing that must be given back
        DxgkDdiGetNodeMetadata=d.node_metadata,
        DxgkDdiSignalMonitoredFence=d.signal_fence,
    )
    return DxgkInitialize(table)
