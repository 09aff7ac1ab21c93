"""A device: its kernel context and fence, the function tables, and the error category of each entry.

Models CreateDevice(D3D10), "Handling Errors" and DestroyDevice. Entries are methods of the function groups, found by their DDI
names; each is wrapped so that a failure inside the driver reaches ``pfnSetErrorCb`` with a code that the entry may report.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from umd.callbacks import Callbacks
from umd.clear import ClearFunctions
from umd.command_buffer import CommandBuffer
from umd.copy import CopyFunctions
from umd.core import Core, Pending
from umd.draw import DrawFunctions
from umd.dxgi import DxgiFunctions
from umd.emit import emitters
from umd.errors import DeviceError
from umd.format_support import FormatFunctions
from umd.mapping import MappingFunctions
from umd.pipeline import PipelineFunctions
from umd.query import QueryFunctions, emit_predication
from umd.resource import ResourceFunctions
from umd.shaders import ShaderFunctions
from umd.state import StateFunctions
from umd.update import UpdateFunctions
from umd.view import ViewFunctions
from wddm.ddi.d3d10umddi import D3D10DDIARG_CREATEDEVICE, D3D11DDI_DEVICEFUNCS, allowed_errors
from wddm.ddi.d3dukmdt import (
    D3DDDI_MONITOREDFENCE,
    D3DDDI_SYNCHRONIZATIONOBJECT_TYPE,
    D3DDDI_SYNCHRONIZATIONOBJECTINFO2,
)
from wddm.ddi.d3dumddi import (
    D3DDDICB_CREATECONTEXT,
    D3DDDICB_CREATESYNCHRONIZATIONOBJECT2,
    D3DDDICB_DESTROYCONTEXT,
    D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT,
)
from wddm.ddi.status import HRESULT
from wddm.hw.driver import CONTEXT_PRIVATE, private_record
from wddm.hw.registers import Node

#: Entries of deferred contexts and command lists: not offered (see GetCaps), so left unset.
COMMAND_LIST_ENTRIES = frozenset(
    {
        "pfnCommandListExecute",
        "pfnCheckDeferredContextHandleSizes",
        "pfnCalcDeferredContextHandleSize",
        "pfnCalcPrivateDeferredContextSize",
        "pfnCreateDeferredContext",
        "pfnAbandonCommandList",
        "pfnCalcPrivateCommandListSize",
        "pfnCreateCommandList",
        "pfnDestroyCommandList",
        "pfnRecycleCommandList",
        "pfnRecycleCreateCommandList",
        "pfnRecycleCreateDeferredContext",
        "pfnRecycleDestroyCommandList",
    }
)
_REMOVED = int(HRESULT.D3DDDIERR_DEVICEREMOVED)
_DO_NOT_WAIT = 0x100000
#: Part of video memory that one submission may name; the rest is for what else runs.
BUDGET_FRACTION = 0.5
MIN_BUDGET = 16 << 20


#: Live devices by their hDrvDevice, for entries that are given no more than that.
DEVICES: WeakValueDictionary[int, Device] = WeakValueDictionary()


class Device:
    """One driver device."""

    def __init__(self, arg: D3D10DDIARG_CREATEDEVICE, local_size: int) -> None:
        self._arg = arg
        self.hal: Any = None  #: the legacy Direct3D side, once it is asked for
        self._local_size = local_size
        self.callbacks = Callbacks(arg.hRTDevice, arg.pKTCallbacks)
        self.core: Core
        self._groups: list[Any] = []
        self._funcs: Any = arg.pDeviceFuncs

    # --- life ------------------------------------------------------------------------------------------------------------
    async def create(self) -> None:
        """Context, fence, first memory, tables. Raises DeviceError; then nothing is left behind."""
        private = private_record(CONTEXT_PRIVATE, node=Node.GRAPHICS)
        context = D3DDDICB_CREATECONTEXT(
            NodeOrdinal=Node.GRAPHICS, pPrivateDriverData=bytes(private), PrivateDriverDataSize=len(private)
        )
        await self.callbacks.call("pfnCreateContextCb", context)
        try:
            fence = D3DDDI_MONITOREDFENCE()
            info = D3DDDI_SYNCHRONIZATIONOBJECTINFO2(
                D3DDDI_SYNCHRONIZATIONOBJECT_TYPE.MONITORED_FENCE, MonitoredFence=fence
            )
            sync = D3DDDICB_CREATESYNCHRONIZATIONOBJECT2(info)
            await self.callbacks.call("pfnCreateSynchronizationObject2Cb", sync)
            found = info.MonitoredFence or fence
            if found.FenceValueCPUVirtualAddress is None:
                raise DeviceError.invalid("the fence has no mapping")
            values = np.asarray(found.FenceValueCPUVirtualAddress)
            batch = CommandBuffer(self.callbacks, context, sync.hSyncObject, values)
            budget = max(MIN_BUDGET, int(self._local_size * BUDGET_FRACTION))
            self.core = Core(self.callbacks, batch, self._arg.hRTCoreLayer, self._arg.p11UMCallbacks, budget)
            await self.core.ring.grow()
            await self.core.shader_heap.grow(0)
        except DeviceError:
            await self.callbacks.call("pfnDestroyContextCb", D3DDDICB_DESTROYCONTEXT(context.hContext))
            raise
        self._make_groups()
        DEVICES[self._arg.hDrvDevice] = self
        self.fill(self._funcs)
        base = self._arg.DXGIBaseDDI
        self._fill_dxgi(base.pDXGIDDIBaseFunctions)

    def _make_groups(self) -> None:
        core = self.core
        self.resources = ResourceFunctions(core)
        self.views = ViewFunctions(core, self.resources)
        self.states = StateFunctions(core)
        self.shaders = ShaderFunctions(core)
        self.pipeline = PipelineFunctions(core, self.resources, self.views, self.states, self.shaders)
        self.copies = CopyFunctions(core, self.resources, self.views)
        self.clears = ClearFunctions(core, self.views)
        self.draws = DrawFunctions(core, self.resources)
        self.queries = QueryFunctions(core)
        self.formats = FormatFunctions()
        self.dxgi = DxgiFunctions(core, self.resources, self.copies, self._arg.DXGIBaseDDI.pDXGIBaseCallbacks)
        core.emitters = emitters(self.shaders, emit_predication)
        self._groups = [
            self,
            self.resources,
            self.views,
            self.states,
            self.shaders,
            self.pipeline,
            MappingFunctions(core, self.resources),
            UpdateFunctions(core, self.resources),
            self.clears,
            self.copies,
            self.draws,
            self.queries,
            self.formats,
        ]

    # --- tables ----------------------------------------------------------------------------------------------------------
    def fill(self, table: Any) -> None:
        """Fill the runtime's device table, whichever version it has; entries that no group has stay unset."""
        known = {f.name for f in fields(D3D11DDI_DEVICEFUNCS)}
        for f in fields(table):
            if f.name in COMMAND_LIST_ENTRIES:
                continue
            entry = self._find(f.name[3:])
            if entry is not None:
                slot = f.name if f.name in known else "pfnDraw"
                setattr(table, f.name, self._guard(slot, entry))

    def _find(self, name: str) -> Callable[..., Any] | None:
        for group in self._groups:
            entry = getattr(group, name, None)
            if entry is not None:
                found: Callable[..., Any] = entry
                return found
        return None

    def _fill_dxgi(self, table: Any) -> None:
        for f in fields(table):
            entry = getattr(self.dxgi, f.name[3:], None)
            if entry is not None:
                setattr(table, f.name, _guard_dxgi(entry))

    def _guard(self, slot: str, entry: Callable[..., Any]) -> Callable[..., Any]:
        """The entry as the runtime calls it."""

        def call(*args: Any) -> Any:
            try:
                result = entry(*args)
            except DeviceError as error:
                self._report(slot, error, args)
                return None
            if result is None or result.__class__ is int or result.__class__ is bool:
                return result
            if isinstance(result, Awaitable):
                return self._settle(slot, result, args)
            return result

        return call

    async def _settle(self, slot: str, pending: Awaitable[Any], args: tuple[Any, ...]) -> Any:
        try:
            return await pending
        except DeviceError as error:
            self._report(slot, error, args)
            return None

    def _report(self, slot: str, error: DeviceError, args: tuple[Any, ...]) -> None:
        """pfnSetErrorCb with a code of the entry's category: a code that it may not report would be a driver bug to the runtime."""
        do_not_wait = "Map" in slot and len(args) > 4 and bool(args[4] & _DO_NOT_WAIT)
        primary = slot == "pfnCreateResource" and getattr(args[1], "pPrimaryDesc", None) is not None
        allowed = allowed_errors(slot, do_not_wait=do_not_wait, creates_primary=primary)
        hr = error.hr
        if hr not in allowed:
            if HRESULT.E_OUTOFMEMORY in allowed and hr != _REMOVED:
                hr = int(HRESULT.E_OUTOFMEMORY)
            elif HRESULT.D3DDDIERR_DEVICEREMOVED in allowed:
                hr = _REMOVED
            else:
                self.core.error_text = f"{slot}: {error}"
                return
        self.core.report(hr, f"{slot}: {error}")

    # --- entries of the device itself --------------------------------------------------------------------------------------
    def Flush(self, hDevice: int, *flags: int) -> Pending:
        return self.core.flush()

    def RelocateDeviceFuncs(self, hDevice: int, table: Any) -> None:
        """The table has moved: later changes of entries (there are none) would go there."""
        self._funcs = table

    async def DestroyDevice(self, hDevice: int) -> None:
        core = self.core
        self.hal = None
        if DEVICES.get(hDevice) is self:
            del DEVICES[hDevice]
        for query in list(core.open_queries):
            core.close_query(query)
        core.batch.packets.clear()
        core.batch.patches = type(core.batch.patches)("I")
        core.batch.allocations.clear()
        for r in self.resources.resources.values():
            for allocation in r.instances:
                core.memory.destroy(allocation)
        self.resources.resources.clear()
        chunks = core.ring.allocations()
        for heap in (core.shader_heap, core.query_heap, core.counter_heap):
            chunks += heap.allocations()
        for allocation in chunks:
            core.memory.destroy(allocation)
        # Everything must be gone when this returns; the kernel waits for the GPU.
        core.memory.drain()
        destroy = D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT(core.batch.h_fence)
        if self.callbacks.table.pfnDestroySynchronizationObjectCb is not None:
            await self.callbacks.call("pfnDestroySynchronizationObjectCb", destroy)
        await self.callbacks.call("pfnDestroyContextCb", D3DDDICB_DESTROYCONTEXT(core.batch.h_context))


def _guard_dxgi(entry: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A DXGI entry returns its HRESULT; failures inside the driver become one."""

    def call(arg: Any) -> Any:
        try:
            result = entry(arg)
        except DeviceError as error:
            return error.hr
        return result if result.__class__ is int else _dxgi_result(result)

    return call


def _dxgi_result(result: Any) -> Any:
    if isinstance(result, Awaitable):
        return _settle_dxgi(result)
    return int(result)


async def _settle_dxgi(pending: Awaitable[Any]) -> int:
    try:
        return int(await pending)
    except DeviceError as error:
        return error.hr
