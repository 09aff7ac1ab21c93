"""Callbacks about synchronisation: objects, signals and waits in a context's stream, monitored fences."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from wddm.ddi import d3dumddi as um
from wddm.ddi.d3dukmdt import D3DDDI_SYNCHRONIZATIONOBJECT_TYPE
from wddm.ddi.status import HRESULT
from wddm.wire import thunk
from wddm.wire.channel import ChannelClosed
from wddm.wire.memory import SharedMemory
from wddm.wire.message import Nothing

from .allocation_thunks import AllocationThunks
from .kernel_link import REMOVED, S_OK
from .kernel_memory import FencePage


class SyncThunks(AllocationThunks):
    """Fences, mutexes, semaphores of one kernel device."""

    async def create_fence(self, *, keep: bool = False) -> tuple[int, int]:
        """A monitored fence of the runtime itself, from 0: HRESULT and handle."""
        return await self._create_sync(int(D3DDDI_SYNCHRONIZATIONOBJECT_TYPE.MONITORED_FENCE), 0, 0, 0, keep=keep)

    async def _create_sync(
        self, type: int, flags: int, initial: int, maximum: int, *, keep: bool = False
    ) -> tuple[int, int]:
        """HRESULT and handle. ``keep``: the descriptor of a fence's page will be passed on."""
        message = thunk.CreateSynchronizationObject(
            hDevice=self.hDevice, type=type, flags=flags, initial=initial, maximum=maximum
        )
        code, reply = await self._ask(message, thunk.SyncObjectCreated)
        if reply is None:
            return code, 0
        if type == D3DDDI_SYNCHRONIZATIONOBJECT_TYPE.MONITORED_FENCE:
            memory = None
            if reply.page is not None:
                memory = SharedMemory.open(reply.page.number, reply.page_size, read_only=True)
                if not keep:
                    memory.close()
            self.fences[reply.hSyncObject] = FencePage(memory, reply.page_size, reply.offset, initial)
        return S_OK, reply.hSyncObject

    async def create_sync(self, hRTDevice: int, arg: um.D3DDDICB_CREATESYNCHRONIZATIONOBJECT) -> int:
        """pfnCreateSynchronizationObjectCb: mutexes and semaphores."""
        info = arg.Info
        if info.SynchronizationMutex is not None:
            initial, maximum = int(info.SynchronizationMutex.InitialState), 0
        elif info.Semaphore is not None:
            initial, maximum = info.Semaphore.InitialCount, info.Semaphore.MaxCount
        else:
            return int(HRESULT.E_INVALIDARG)
        code, arg.hSyncObject = await self._create_sync(int(info.Type), 0, initial, maximum)
        return code

    async def create_sync2(self, hRTDevice: int, arg: um.D3DDDICB_CREATESYNCHRONIZATIONOBJECT2) -> int:
        """pfnCreateSynchronizationObject2Cb: all types."""
        info, maximum = arg.Info, 0
        if info.SynchronizationMutex is not None:
            initial = int(info.SynchronizationMutex.InitialState)
        elif info.Semaphore is not None:
            initial, maximum = info.Semaphore.InitialCount, info.Semaphore.MaxCount
        elif info.Fence is not None:
            initial = info.Fence.FenceValue
        elif info.MonitoredFence is not None:
            initial = info.MonitoredFence.InitialFenceValue
        else:
            return int(HRESULT.E_INVALIDARG)
        code, arg.hSyncObject = await self._create_sync(int(info.Type), int(info.Flags), initial, maximum)
        fence = self.fences.get(arg.hSyncObject)
        if info.MonitoredFence is not None and fence is not None:
            info.MonitoredFence.FenceValueCPUVirtualAddress = fence.value
        return code

    def destroy_sync(self, hRTDevice: int, arg: um.D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT) -> int:
        """pfnDestroySynchronizationObjectCb."""
        return self.destroy_fence(arg.hSyncObject)

    def destroy_fence(self, hSyncObject: int) -> int:
        """Destroy a synchronisation object."""
        fence = self.fences.pop(hSyncObject, None)
        if fence is not None and fence.memory is not None:
            fence.memory.close()
        return self._tell(thunk.DestroySynchronizationObject(hSyncObject=hSyncObject))

    def signal(self, hContext: int, handles: list[int], value: int, flags: int = 0, broadcast: list[int] | None = None) -> int:
        """Queue a signal in the command stream of a context."""
        message = thunk.SignalSynchronizationObject(
            hContext=hContext, handles=handles, value=value, flags=flags, broadcast=broadcast or []
        )
        code = S_OK
        try:
            if all(handle in self.fences for handle in handles):
                self.link.signal(message)
            else:
                self.link.notify(message)
        except ChannelClosed:
            code = REMOVED
        for handle in handles:
            fence = self.fences.get(handle)
            if fence is not None and fence.memory is None:
                fence.renders[value] = self.renders
                self._follow(handle, fence, value)
        return code

    def _follow(self, handle: int, fence: FencePage, value: int) -> None:
        """Keep up the copy of a fence whose page cannot come here."""
        fence.wanted = max(fence.wanted, value)
        if not fence.following and self.link.nursery is not None:
            fence.following = True
            self.link.nursery.start_soon(self._following, handle, fence)

    async def _following(self, handle: int, fence: FencePage) -> None:
        while int(fence.value[0]) < fence.wanted:
            value = fence.wanted
            code, _ = await self._ask(thunk.WaitFromCpu(handles=[handle], values=[value]), Nothing)
            if code != S_OK:
                break
            await self._reached(fence, value)
        fence.following = False

    def _signal_sync(self, hRTDevice: int, arg: Any) -> int:
        """pfnSignalSynchronizationObjectCb and …2Cb."""
        return self.signal(
            arg.hContext,
            list(arg.ObjectHandleArray),
            getattr(arg, "FenceValue", 0),
            int(arg.Flags),
            list(getattr(arg, "BroadcastContext", ())),
        )

    def _wait_sync(self, hRTDevice: int, arg: Any) -> int:
        """pfnWaitForSynchronizationObjectCb and …2Cb."""
        return self._tell(
            thunk.WaitForSynchronizationObject(
                hContext=arg.hContext, handles=list(arg.ObjectHandleArray), value=getattr(arg, "FenceValue", 0)
            )
        )

    async def wait_from_cpu(self, handles: list[int], values: list[int], any: bool = False) -> int:
        """Until the fences have reached their values."""
        code, _ = await self._ask(thunk.WaitFromCpu(handles=handles, values=values, any=any), Nothing)
        if code == S_OK and not any:
            for handle, value in zip(handles, values, strict=True):
                fence = self.fences.get(handle)
                if fence is not None and fence.memory is None:
                    await self._reached(fence, value)
        return code

    async def _reached(self, fence: FencePage, value: int) -> None:
        """A fence without a page has reached a value: first what the GPU wrote before it, then the value."""
        passed = [v for v in fence.renders if v <= value]
        await self.pull_finished(max((fence.renders[v] for v in passed), default=0))
        for v in passed:
            fence.renders.pop(v, None)
        fence.value[0] = max(int(fence.value[0]), value)

    def _wait_from_cpu(self, hRTDevice: int, arg: um.D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU) -> Awaitable[int]:
        """pfnWaitForSynchronizationObjectFromCpuCb. DEVIATES: hAsyncEvent is not used, the awaitable takes its place."""
        return self.wait_from_cpu(list(arg.ObjectHandleArray), list(arg.FenceValueArray), bool(int(arg.Flags) & 1))

    def _signal_from_cpu(self, hRTDevice: int, arg: um.D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMCPU) -> int:
        """pfnSignalSynchronizationObjectFromCpuCb."""
        return self._tell(thunk.SignalFromCpu(handles=list(arg.ObjectHandleArray), values=list(arg.FenceValueArray)))

    def _signal_from_gpu(self, hRTDevice: int, arg: um.D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU) -> int:
        """pfnSignalSynchronizationObjectFromGpuCb."""
        code = S_OK
        for handle, value in zip(arg.ObjectHandleArray, arg.MonitoredFenceValueArray, strict=True):
            code = self.signal(arg.hContext, [handle], value) or code
        return code

    def _wait_from_gpu(self, hRTDevice: int, arg: um.D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMGPU) -> int:
        """pfnWaitForSynchronizationObjectFromGpuCb."""
        code = S_OK
        for handle, value in zip(arg.ObjectHandleArray, arg.MonitoredFenceValueArray, strict=True):
            code = self._tell(thunk.WaitForSynchronizationObject(hContext=arg.hContext, handles=[handle], value=value)) or code
        return code
