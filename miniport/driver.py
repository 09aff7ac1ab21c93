"""DriverEntry: the table of entries that this miniport registers with Dxgkrnl.

Models "driverentry-of-display-miniport-driver" and "_driver_initialization_data". Entries that are None here are optional for a
render-and-display driver at this interface version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from wddm.ddi.d3dkmddi import (
    DXGK_INTERRUPT_TYPE,
    DXGKARG_CLOSEALLOCATION,
    DXGKARG_CREATECONTEXT,
    DXGKARG_CREATEDEVICE,
    DXGKARG_DESTROYALLOCATION,
    DXGKARG_OPENALLOCATION,
    DXGKARG_PATCH,
    DXGKARG_PREEMPTCOMMAND,
    DXGKARG_PRESENT,
    DXGKARG_QUERYCURRENTFENCE,
    DXGKARG_QUERYDEPENDENTENGINEGROUP,
    DXGKARG_QUERYENGINESTATUS,
    DXGKARG_RENDER,
    DXGKARG_RESETENGINE,
    DXGKARG_SETVIDPNSOURCEADDRESS,
    DXGKARG_SIGNALMONITOREDFENCE,
    DXGKARG_SUBMITCOMMAND,
)
from wddm.ddi.dispmprt import (
    DRIVER_INITIALIZATION_DATA,
    DXGK_CHILD_DESCRIPTOR,
    DXGK_CHILD_STATUS,
    DXGK_START_INFO,
    DXGKRNL_INTERFACE,
)
from wddm.ddi.status import NTSTATUS

from . import paging, submission
from .adapter import OK, Adapter
from .allocation import standard_allocation
from .interrupts import interrupt

_BAD_HANDLE: Final = NTSTATUS.STATUS_INVALID_HANDLE
_BAD_PARAMETER: Final = NTSTATUS.STATUS_INVALID_PARAMETER


class Driver:
    """The loaded driver: its adapters, and by whose handle an entry is meant for which."""

    def __init__(self) -> None:
        self._adapters: dict[int, Adapter] = {}
        self._device_adapter: dict[int, Adapter] = {}
        self._context_adapter: dict[int, Adapter] = {}
        self._last_handle = 0

    def _new_handle(self) -> int:
        self._last_handle += 8
        return self._last_handle

    def adapter(self, handle: int) -> Adapter:
        """The adapter of a handle that AddDevice gave."""
        return self._adapters[handle]

    # ----- adapters --------------------------------------------------------------------------------------------------------

    def add_device(self, physical_device: object) -> tuple[int, int]:
        """DxgkDdiAddDevice."""
        adapter = Adapter(self._new_handle(), self._new_handle)
        self._adapters[adapter.handle] = adapter
        return OK, adapter.handle

    def start_device(self, handle: int, info: DXGK_START_INFO, interface: DXGKRNL_INTERFACE) -> tuple[int, int, int]:
        """DxgkDdiStartDevice."""
        return self.adapter(handle).start(interface)

    def remove_device(self, handle: int) -> int:
        """DxgkDdiRemoveDevice."""
        adapter = self._adapters.pop(handle, None)
        if adapter is None:
            return _BAD_HANDLE
        for table in (self._device_adapter, self._context_adapter):
            for key in [key for key, owner in table.items() if owner is adapter]:
                del table[key]
        return OK

    def dpc(self, handle: int) -> None:
        """DxgkDdiDpcRoutine."""
        self.adapter(handle).kernel.notify_dpc()

    def child_relations(self, handle: int) -> tuple[int, list[DXGK_CHILD_DESCRIPTOR]]:
        """DxgkDdiQueryChildRelations: one monitor a head, always connected."""
        return OK, [DXGK_CHILD_DESCRIPTOR(head) for head in range(self.adapter(handle).display.heads)]

    def child_status(self, handle: int, status: DXGK_CHILD_STATUS, non_destructive: bool) -> int:
        """DxgkDdiQueryChildStatus."""
        if status.ChildUid >= self.adapter(handle).display.heads:
            return _BAD_PARAMETER
        status.Connected = True
        return OK

    # ----- devices, contexts, allocations ------------------------------------------------------------------------------------

    def create_device(self, handle: int, arguments: DXGKARG_CREATEDEVICE) -> int:
        """DxgkDdiCreateDevice."""
        adapter = self.adapter(handle)
        status = adapter.create_device(arguments)
        if status == OK:
            self._device_adapter[arguments.hDevice] = adapter
        return status

    def destroy_device(self, device: int) -> int:
        """DxgkDdiDestroyDevice."""
        adapter = self._device_adapter.pop(device, None)
        return _BAD_HANDLE if adapter is None else adapter.destroy_device(device)

    def create_context(self, device: int, arguments: DXGKARG_CREATECONTEXT) -> int:
        """DxgkDdiCreateContext."""
        adapter = self._device_adapter.get(device)
        if adapter is None:
            return _BAD_HANDLE
        status = adapter.create_context(device, arguments)
        if status == OK:
            self._context_adapter[arguments.hContext] = adapter
        return status

    def destroy_context(self, context: int) -> int:
        """DxgkDdiDestroyContext."""
        adapter = self._context_adapter.pop(context, None)
        return _BAD_HANDLE if adapter is None else adapter.destroy_context(context)

    def destroy_allocation(self, handle: int, arguments: DXGKARG_DESTROYALLOCATION) -> int:
        """DxgkDdiDestroyAllocation."""
        return self.adapter(handle).allocations.destroy(list(arguments.pAllocationList))

    def open_allocation(self, device: int, arguments: DXGKARG_OPENALLOCATION) -> int:
        """DxgkDdiOpenAllocation."""
        adapter = self._device_adapter.get(device)
        return _BAD_HANDLE if adapter is None else adapter.open_allocation(arguments)

    def close_allocation(self, device: int, arguments: DXGKARG_CLOSEALLOCATION) -> int:
        """DxgkDdiCloseAllocation."""
        adapter = self._device_adapter.get(device)
        return _BAD_HANDLE if adapter is None else adapter.allocations.close(list(arguments.pOpenHandleList))

    # ----- work ------------------------------------------------------------------------------------------------------------

    def render(self, context: int, arguments: DXGKARG_RENDER) -> int:
        """DxgkDdiRender."""
        adapter = self._context_adapter.get(context)
        return _BAD_HANDLE if adapter is None else adapter.render(context, arguments)

    def render_km(self, context: int, arguments: DXGKARG_RENDER) -> int:
        """DxgkDdiRenderKm."""
        adapter = self._context_adapter.get(context)
        return _BAD_HANDLE if adapter is None else adapter.render(context, arguments, kernel_mode=True)

    def present(self, context: int, arguments: DXGKARG_PRESENT) -> int:
        """DxgkDdiPresent."""
        adapter = self._context_adapter.get(context)
        return _BAD_HANDLE if adapter is None else adapter.present(context, arguments)

    def submit(self, handle: int, arguments: DXGKARG_SUBMITCOMMAND) -> int:
        """DxgkDdiSubmitCommand."""
        return self._adapters[handle].submit(arguments)

    def signal_fence(self, handle: int, arguments: DXGKARG_SIGNALMONITOREDFENCE) -> int:
        """DxgkDdiSignalMonitoredFence."""
        return self._adapters[handle].signal_fence(arguments)

    def interrupt(self, handle: int, message: int) -> bool:
        """DxgkDdiInterruptRoutine."""
        return interrupt(self._adapters[handle])

    def patch(self, handle: int, arguments: DXGKARG_PATCH) -> int:
        """DxgkDdiPatch."""
        submission.patch(arguments)
        return OK

    def set_source_address(self, handle: int, arguments: DXGKARG_SETVIDPNSOURCEADDRESS) -> int:
        """DxgkDdiSetVidPnSourceAddress."""
        adapter = self.adapter(handle)
        return adapter.display.set_address(arguments, adapter.allocations.adapter_allocation(arguments.hAllocation))

    # ----- nodes -----------------------------------------------------------------------------------------------------------

    def preempt(self, handle: int, arguments: DXGKARG_PREEMPTCOMMAND) -> int:
        """DxgkDdiPreemptCommand."""
        adapter = self.adapter(handle)
        node = adapter.node(arguments.NodeOrdinal, arguments.EngineOrdinal)
        if node is None:
            return _BAD_PARAMETER
        node.preempt(arguments, adapter.kernel.report)
        return OK

    def query_fence(self, handle: int, arguments: DXGKARG_QUERYCURRENTFENCE) -> int:
        """DxgkDdiQueryCurrentFence."""
        adapter = self.adapter(handle)
        node = adapter.node(arguments.NodeOrdinal, arguments.EngineOrdinal)
        if node is None:
            return _BAD_PARAMETER
        node.query_fence(arguments, adapter.kernel.report)
        return OK

    def dependent_group(self, handle: int, arguments: DXGKARG_QUERYDEPENDENTENGINEGROUP) -> int:
        """DxgkDdiQueryDependentEngineGroup: every node is reset alone."""
        if self.adapter(handle).node(arguments.NodeOrdinal, arguments.EngineOrdinal) is None:
            return _BAD_PARAMETER
        arguments.DependentNodeOrdinalMask = 1 << arguments.NodeOrdinal
        return OK

    def engine_status(self, handle: int, arguments: DXGKARG_QUERYENGINESTATUS) -> int:
        """DxgkDdiQueryEngineStatus."""
        node = self.adapter(handle).node(arguments.NodeOrdinal, arguments.EngineOrdinal)
        if node is None:
            return _BAD_PARAMETER
        node.query_status(arguments)
        return OK

    def reset_engine(self, handle: int, arguments: DXGKARG_RESETENGINE) -> int:
        """DxgkDdiResetEngine."""
        node = self.adapter(handle).node(arguments.NodeOrdinal, arguments.EngineOrdinal)
        if node is None:
            return _BAD_PARAMETER
        node.reset(arguments)
        return OK

    def control_interrupt(self, handle: int, kind: DXGK_INTERRUPT_TYPE, enable: bool) -> int:
        """DxgkDdiControlInterrupt: vertical sync can be switched."""
        return self.adapter(handle).control_interrupt(kind, enable)


def DriverEntry(DxgkInitialize: Callable[[DRIVER_INITIALIZATION_DATA], int]) -> int:
    """Register with Dxgkrnl. Returns its NTSTATUS."""
    d = Driver()
    a: Final = d.adapter
    table = DRIVER_INITIALIZATION_DATA(
        DxgkDdiAddDevice=d.add_device,
        DxgkDdiStartDevice=d.start_device,
        DxgkDdiStopDevice=lambda h: a(h).stop(),
        DxgkDdiRemoveDevice=d.remove_device,
        DxgkDdiInterruptRoutine=d.interrupt,
        DxgkDdiDpcRoutine=d.dpc,
        DxgkDdiQueryChildRelations=d.child_relations,
        DxgkDdiQueryChildStatus=d.child_status,
        DxgkDdiUnload=lambda: None,
        DxgkDdiQueryAdapterInfo=lambda h, p: a(h).query_adapter_info(p),
        DxgkDdiCreateDevice=d.create_device,
        DxgkDdiCreateAllocation=lambda h, p: a(h).allocations.create(p),
        DxgkDdiDestroyAllocation=d.destroy_allocation,
        DxgkDdiDescribeAllocation=lambda h, p: a(h).allocations.describe(p),
        DxgkDdiGetStandardAllocationDriverData=lambda h, p: standard_allocation(p),
        DxgkDdiPatch=d.patch,
        DxgkDdiSubmitCommand=d.submit,
        DxgkDdiPreemptCommand=d.preempt,
        DxgkDdiBuildPagingBuffer=lambda h, p: paging.build_paging_buffer(p),
        DxgkDdiResetFromTimeout=lambda h: a(h).reset_from_timeout(),
        DxgkDdiRestartFromTimeout=lambda h: a(h).restart_from_timeout(),
        DxgkDdiEscape=lambda h, p: a(h).escape(p),
        DxgkDdiCollectDbgInfo=lambda h, p: a(h).collect_debug_info(p),
        DxgkDdiQueryCurrentFence=d.query_fence,
        DxgkDdiIsSupportedVidPn=lambda h, p: a(h).display.is_supported(p),
        DxgkDdiRecommendFunctionalVidPn=lambda h, p: a(h).display.recommend(p),
        DxgkDdiEnumVidPnCofuncModality=lambda h, p: a(h).display.enumerate(p),
        DxgkDdiSetVidPnSourceAddress=d.set_source_address,
        DxgkDdiSetVidPnSourceVisibility=lambda h, p: a(h).display.set_visibility(p),
        DxgkDdiCommitVidPn=lambda h, p: a(h).display.commit(p),
        DxgkDdiUpdateActiveVidPnPresentPath=lambda h, p: a(h).display.update_path(p),
        DxgkDdiGetScanLine=lambda h, p: a(h).display.scan_line(p),
        DxgkDdiControlInterrupt=d.control_interrupt,
        DxgkDdiDestroyDevice=d.destroy_device,
        DxgkDdiOpenAllocation=d.open_allocation,
        DxgkDdiCloseAllocation=d.close_allocation,
        DxgkDdiRender=d.render,
        DxgkDdiPresent=d.present,
        DxgkDdiCreateContext=d.create_context,
        DxgkDdiDestroyContext=d.destroy_context,
        DxgkDdiRenderKm=d.render_km,
        DxgkDdiQueryDependentEngineGroup=d.dependent_group,
        DxgkDdiQueryEngineStatus=d.engine_status,
        DxgkDdiResetEngine=d.reset_engine,
        DxgkDdiCancelCommand=lambda h, p: a(h).cancel(p),
        DxgkDdiGetNodeMetadata=lambda h, node, p: a(h).node_metadata(node, p),
        DxgkDdiSignalMonitoredFence=d.signal_fence,
    )
    return DxgkInitialize(table)
