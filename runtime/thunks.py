"""From kernel callbacks of a driver to thunk messages: D3DDDI_DEVICECALLBACKS and the DXGI present callback.

Command buffers are numpy arrays that stay here: pfnRenderCb sends their bytes and hands the same arrays back. What the kernel
must answer is an awaitable of the HRESULT; what it queues returns at once. Memory is in ``allocation_thunks``, fences are in
``sync_thunks``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from wddm.ddi import d3dumddi as um
from wddm.ddi.dxgiddi import DXGI_DDI_BASE_CALLBACKS, DXGIDDICB_PRESENT
from wddm.ddi.status import HRESULT
from wddm.trace import Tracer
from wddm.wire import thunk
from wddm.wire.message import Nothing

from .kernel_link import S_OK
from .kernel_memory import ContextBuffers, resized
from .sync_thunks import SyncThunks

tracer = Tracer("runtime")
_RESIZE: Final = int(
    um.D3DDDICB_RENDERFLAGS.ResizeCommandBuffer
    | um.D3DDDICB_RENDERFLAGS.ResizeAllocationList
    | um.D3DDDICB_RENDERFLAGS.ResizePatchLocationList
)


class KernelDevice(SyncThunks):
    """One kernel device. Its callbacks are what the user-mode driver gets."""

    async def create_context(self, hRTDevice: int, arg: um.D3DDDICB_CREATECONTEXT) -> int:
        """pfnCreateContextCb."""
        message = thunk.CreateContext(
            hDevice=self.hDevice,
            node_ordinal=arg.NodeOrdinal,
            engine_affinity=arg.EngineAffinity,
            flags=int(arg.Flags),
            private=bytes(arg.pPrivateDriverData or b""),
        )
        code, reply = await self._ask(message, thunk.ContextCreated)
        if reply is None:
            return code
        if max(reply.command_buffer_size, reply.allocation_list_size, reply.patch_location_list_size) > thunk.MAX_COMMAND:
            return int(HRESULT.E_UNEXPECTED)
        buffers = self.contexts[reply.hContext] = ContextBuffers(
            reply.command_buffer_size, reply.allocation_list_size, reply.patch_location_list_size
        )
        arg.hContext = reply.hContext
        arg.pCommandBuffer, arg.CommandBufferSize = buffers.commands, len(buffers.commands)
        arg.pAllocationList, arg.AllocationListSize = buffers.allocations, len(buffers.allocations)
        arg.pPatchLocationList, arg.PatchLocationListSize = buffers.patches, len(buffers.patches)
        return S_OK

    async def destroy_context(self, hRTDevice: int, arg: um.D3DDDICB_DESTROYCONTEXT) -> int:
        """pfnDestroyContextCb."""
        self.contexts.pop(arg.hContext, None)
        return (await self._ask(thunk.DestroyContext(hContext=arg.hContext), Nothing))[0]

    def render(self, hRTDevice: int, arg: um.D3DDDICB_RENDER) -> Any:
        """pfnRenderCb: the bytes go, the arrays come back as the next buffer."""
        buffers = self.contexts.get(arg.hContext)
        if buffers is None:
            return int(HRESULT.E_INVALIDARG)
        start, end, flags = arg.CommandOffset, arg.CommandLength, int(arg.Flags)
        if (
            not 0 <= start <= end <= len(buffers.commands)
            or not 0 <= arg.NumAllocations <= len(buffers.allocations)
            or not 0 <= arg.NumPatchLocations <= len(buffers.patches)
        ):
            return int(HRESULT.E_INVALIDARG)
        if not self.link.channel.passes_descriptors:
            self.submitting(buffers.allocations[: arg.NumAllocations])
        code = self._tell(
            thunk.Render(
                hContext=arg.hContext,
                sequence=arg.RenderCBSequence & 0xFFFF_FFFF,
                commands=buffers.commands[start:end].tobytes(),
                allocation_list=buffers.allocations_bytes[: arg.NumAllocations * 8].tobytes(),
                patch_location_list=buffers.patches_bytes[: arg.NumPatchLocations * 24].tobytes(),
                flags=flags,
            ),
            hold=True,
        )
        if flags & _RESIZE:
            buffers = self.contexts[arg.hContext] = resized(buffers, arg)
        arg.pNewCommandBuffer, arg.NewCommandBufferSize = buffers.commands, len(buffers.commands)
        arg.pNewAllocationList, arg.NewAllocationListSize = buffers.allocations, len(buffers.allocations)
        arg.pNewPatchLocationList, arg.NewPatchLocationListSize = buffers.patches, len(buffers.patches)
        if self.link.channel.congested:
            return self._drained(code)
        return code

    async def _drained(self, code: int) -> int:
        """A slow kernel slows the driver."""
        await self.link.channel.drained()
        return code

    async def escape(self, hRTDevice: int, arg: um.D3DDDICB_ESCAPE) -> int:
        """pfnEscapeCb."""
        data = arg.pPrivateDriverData
        message = thunk.Escape(
            hAdapter=self.link.hAdapter, hDevice=self.hDevice, hContext=arg.hContext, data=bytes(data)
        )
        code, reply = await self._ask(message, thunk.AdapterData)
        if reply is not None:
            data[: len(reply.data)] = reply.data[: len(data)]
        return code

    async def set_display_mode(self, hRTDevice: int, arg: um.D3DDDICB_SETDISPLAYMODE) -> int:
        """pfnSetDisplayModeCb."""
        return (await self._ask(thunk.SetDisplayMode(hDevice=self.hDevice, hPrimary=arg.hPrimaryAllocation), Nothing))[0]

    def present(self, hRTDevice: int, arg: DXGIDDICB_PRESENT) -> int:
        """The DXGI pfnPresentCb: only inside Present, with its pDXGIContext."""
        context = self.presenting
        if context is None or arg.pDXGIContext is not context or context.submitted:
            return int(HRESULT.E_INVALIDARG)
        context.submitted = True
        message = context.message(arg)
        self.presents[message.id] = context
        return self._tell(message)

    # ----- tables ----------------------------------------------------------------------------------------------------------

    def callbacks(self) -> um.D3DDDI_DEVICECALLBACKS:
        """The kernel services, traced. What WDDM 2 and overlays add is absent, as with the negotiated 11.0 interface."""
        table = um.D3DDDI_DEVICECALLBACKS()
        for name, function in (
            ("pfnAllocateCb", self.allocate),
            ("pfnDeallocateCb", self.deallocate),
            ("pfnSetPriorityCb", self.set_priority),
            ("pfnQueryResidencyCb", self.query_residency),
            ("pfnSetDisplayModeCb", self.set_display_mode),
            ("pfnRenderCb", self.render),
            ("pfnLockCb", self.lock),
            ("pfnUnlockCb", self.unlock),
            ("pfnEscapeCb", self.escape),
            ("pfnCreateContextCb", self.create_context),
            ("pfnDestroyContextCb", self.destroy_context),
            ("pfnCreateSynchronizationObjectCb", self.create_sync),
            ("pfnDestroySynchronizationObjectCb", self.destroy_sync),
            ("pfnWaitForSynchronizationObjectCb", self._wait_sync),
            ("pfnSignalSynchronizationObjectCb", self._signal_sync),
            ("pfnOfferAllocationsCb", self.offer),
            ("pfnReclaimAllocationsCb", self.reclaim),
            ("pfnCreateSynchronizationObject2Cb", self.create_sync2),
            ("pfnWaitForSynchronizationObject2Cb", self._wait_sync),
            ("pfnSignalSynchronizationObject2Cb", self._signal_sync),
            ("pfnWaitForSynchronizationObjectFromCpuCb", self._wait_from_cpu),
            ("pfnSignalSynchronizationObjectFromCpuCb", self._signal_from_cpu),
            ("pfnWaitForSynchronizationObjectFromGpuCb", self._wait_from_gpu),
            ("pfnSignalSynchronizationObjectFromGpuCb", self._signal_from_gpu),
        ):
            setattr(table, name, traced_callback(name, function))
        table.pfnSetAsyncCallbacksCb = lambda hRTDevice, on: None
        return table

    def dxgi_callbacks(self) -> DXGI_DDI_BASE_CALLBACKS:
        """The DXGI table: the present callback."""
        return DXGI_DDI_BASE_CALLBACKS(pfnPresentCb=traced_callback("pfnPresentCb", self.present))


def traced_callback(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The callback, traced when somebody listens."""
    if not tracer.enabled:
        return function

    def call(hRTDevice: int, arg: Any) -> Any:
        tracer(name, hRTDevice=hRTDevice, **_traced(name, arg))
        return function(hRTDevice, arg)

    return call


def _traced(name: str, arg: Any) -> dict[str, Any]:
    """The few members of an argument that a timeline wants."""
    found = {}
    for member in ("hContext", "hAllocation", "hResource", "CommandLength", "NumAllocations", "NodeOrdinal", "FenceValue"):
        value = getattr(arg, member, None)
        if value is not None:
            found[member] = int(value)
    return found
