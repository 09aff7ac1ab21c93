"""One process: the thunks of one connection, each a small handler.

A request that is refused fails with a status and a sentence. A notification that is refused puts its device into the error state;
when no device can be told from it, all devices of the process. Work is done in :meth:`Session.after_batch`, when everything that
had arrived has been looked at, so that a signal can still join the buffer before it. Models the D3DKMT entry points.
"""

from __future__ import annotations

import dataclasses
import inspect
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

import trio

from wddm.ddi import d3dkmddi as ddi
from wddm.ddi.d3dkmthk import D3DKMT_SCHEDULINGPRIORITYCLASS
from wddm.ddi.d3dukmdt import (
    D3DDDI_OFFER_PRIORITY,
    D3DDDI_RESIDENCYSTATUS,
    D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS,
    D3DDDICB_SIGNALFLAGS,
)
from wddm.ddi.status import NTSTATUS, hresult_from_ntstatus, ntstatus_name
from wddm.wire import thunk
from wddm.wire.channel import CallError, Channel, ChannelClosed
from wddm.wire.message import Descriptor, ProtocolError, Struct

from .adapter import Adapter
from .bus_link import MemoryBlock
from .display.display import Present
from .errors import BugCheckError, refusal
from .handles import HandleTable
from .lifecycle import Lifecycle
from .locking import Locks
from .miniport_host import tracer
from .objects import AdapterHandle, Context, Device, ExecutionState, InstanceHandle, OpenResource, Process
from .presenting import Presenter
from .sync import CpuNotification, CpuWait, MonitoredFence, SyncObject
from .vidmm.allocation import Allocation
from .vidmm.manager import Residency
from .vidsch.dma import DmaBuffer
from .vidsch.packets import Broadcast, DmaPacket, PacketKind, PacketState, SignalPacket, WaitPacket

_log = logging.getLogger("kernel")
_OK = NTSTATUS.STATUS_SUCCESS
_M = TypeVar("_M", bound=Struct)
_AT_SUBMISSION: Final = int(D3DDDICB_SIGNALFLAGS.SignalAtSubmission)
_REWIND: Final = int(D3DDDICB_SIGNALFLAGS.AllowFenceRewind)
_NO_SIGNAL: Final = int(D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoSignal)
_NO_WAIT: Final = int(D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoWait)


class Services:
    """What the sessions of one adapter share."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.lifecycle = Lifecycle(adapter)
        self.locks = Locks(adapter, self.lifecycle, wait_for)
        self.presenter = Presenter(adapter)


async def wait_for(start: Callable[[Callable[[], None]], None]) -> None:
    """Wait until the callback that ``start`` is given has been called."""
    event = trio.Event()
    start(event.set)
    await event.wait()


class Session:
    """The kernel's end of one connection."""

    def __init__(self, services: Services, channel: Channel) -> None:
        self.services = services
        self.adapter = services.adapter
        self.channel = channel
        self.process = Process("", HandleTable(services.adapter.space), self._tell)
        self._greeted = False
        requests: dict[type[Any], Callable[[Any], Any]] = {
            thunk.OpenAdapter: self._open_adapter,
            thunk.QueryAdapterInfo: self._query_adapter_info,
            thunk.Escape: self._escape,
            thunk.CreateDevice: self._create_device,
            thunk.DestroyDevice: self._destroy_device,
            thunk.CreateContext: self._create_context,
            thunk.DestroyContext: self._destroy_context,
            thunk.GetDeviceState: self._get_device_state,
            thunk.CreateAllocation: self._create_allocation,
            thunk.OpenResource: self._open_resource,
            thunk.Lock: self._lock,
            thunk.ReadAllocation: self._read_allocation,
            thunk.QueryAllocationResidency: self._query_residency,
            thunk.ReclaimAllocations: self._reclaim,
            thunk.CreateSynchronizationObject: self._create_sync,
            thunk.WaitFromCpu: self._wait_from_cpu,
            thunk.GetDisplayModeList: self._get_modes,
            thunk.SetDisplayMode: self._set_display_mode,
            thunk.SetVidPnSourceOwner: self._set_owner,
            thunk.WaitForVerticalBlankEvent: self._wait_vblank,
            thunk.SetGammaRamp: self._set_gamma,
            thunk.ReadScanout: self._read_scanout,
        }
        notifications: dict[type[Any], Callable[[Any], Awaitable[None] | None]] = {
            thunk.Render: self._render,
            thunk.Present: self._present,
            thunk.SignalSynchronizationObject: self._signal,
            thunk.WaitForSynchronizationObject: self._wait,
            thunk.SignalFromCpu: self._signal_from_cpu,
            thunk.DestroySynchronizationObject: self._destroy_sync,
            thunk.DestroyAllocation: self._destroy_allocation,
            thunk.Unlock: self._unlock,
            thunk.WriteAllocation: self._write_allocation,
            thunk.SetAllocationPriority: self._set_allocation_priority,
            thunk.OfferAllocations: self._offer,
            thunk.SetContextSchedulingPriority: self._set_priority,
        }
        channel.on(thunk.Hello, self._hello)
        for struct, handler in requests.items():
            channel.on(struct, partial(self._request, handler))
        for struct, notified in notifications.items():
            channel.on(struct, partial(self._notification, notified))

    async def run(self) -> None:
        """Serve until the connection ends, then reap the process."""
        self.adapter.processes.append(self.process)
        try:
            await self.channel.run(after_batch=self.after_batch)
        finally:
            self.channel.close()
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 60):
                await self._reap()
            self.adapter.processes.remove(self.process)

    async def _reap(self) -> None:
        if self.adapter.stopped is None:
            done = trio.Event()
            self.adapter.guard(partial(self.services.lifecycle.reap, self.process, done.set))
            self.adapter.pump()
            while not done.is_set() and self.adapter.stopped is None and not self.adapter.link.channel.closed:
                with trio.move_on_after(1):  # the adapter may stop meanwhile
                    await done.wait()

    def after_batch(self) -> None:
        """Everything that had arrived has been handled."""
        self.adapter.pump()

    def _tell(self, message: Struct) -> None:
        if not self.channel.closed:
            try:
                self.channel.notify(message)
            except ChannelClosed:
                _log.debug("%s left before it was told %s", self.process, type(message).__name__)

    # ----- how messages are taken --------------------------------------------------------------------------------------------

    def _check_greeted(self) -> None:
        if not self._greeted:
            raise ProtocolError("the first message is hello")

    def _request(self, handler: Callable[[_M], Any], message: _M) -> Any:
        self._check_greeted()
        self.adapter.check_running()
        if tracer.enabled:
            _trace(message)
        try:
            result = handler(message)
        except (BugCheckError, ChannelClosed) as error:
            raise self._stopped(error) from None
        return self._later(result) if inspect.isawaitable(result) else result

    async def _later(self, result: Awaitable[Any]) -> Any:
        try:
            return await result
        except (BugCheckError, ChannelClosed) as error:
            raise self._stopped(error) from None

    def _stopped(self, error: BugCheckError | ChannelClosed) -> CallError:
        """A call ran into a broken contract, or the bus went away under it."""
        if isinstance(error, BugCheckError):
            self.adapter.bug_check(error.record)
        return refusal(NTSTATUS.STATUS_DEVICE_REMOVED, str(error))

    def _notification(self, handler: Callable[[_M], Awaitable[None] | None], message: _M) -> Awaitable[None] | None:
        self._check_greeted()
        if self.adapter.stopped is not None or self.adapter.link.channel.closed:
            return None  # every device has been told already, or will be when run() ends
        if tracer.enabled:
            _trace(message)
        try:
            return handler(message)
        except (BugCheckError, ChannelClosed) as error:
            self._stopped(error)
        except CallError as error:
            self._refuse(message, error)
        return None

    def _refuse(self, message: Struct, error: CallError) -> None:
        """A refused notification: its device is in error from now on."""
        self.adapter.refused_notifications += 1
        device = self._device_of(message)
        sentence = f"{type(message).__name__}: {error.message}"
        for one in [device] if device is not None else list(self.process.devices):
            self.adapter.fail_device(one, ExecutionState.STOPPED, hresult_from_ntstatus(error.code), sentence)
        if device is None and not self.process.devices:
            _log.warning("%s: %s", self.process, sentence)

    def _device_of(self, message: Struct) -> Device | None:
        for field in ("hDevice", "hContext", "hSyncObject", "hAllocation"):
            item = self.process.table.peek(getattr(message, field, 0))
            if isinstance(item, Device):
                return item
            if isinstance(item, (Context, SyncObject)):
                return item.device
            if isinstance(item, InstanceHandle):
                return item.opened.device
        return None

    # ----- adapter -----------------------------------------------------------------------------------------------------------

    def _hello(self, message: thunk.Hello) -> thunk.HelloReply:
        if message.protocol != thunk.THUNK.name or message.version != thunk.THUNK.version:
            raise ProtocolError(
                f"hello: {message.protocol} {message.version} where {thunk.THUNK.name} {thunk.THUNK.version} is spoken"
            )
        if self._greeted:
            raise ProtocolError("hello came twice")
        if len(self.adapter.processes) > self.adapter.options.max_processes:
            raise ProtocolError(f"the kernel serves {self.adapter.options.max_processes} processes already")
        self._greeted = True
        self.process.name = message.process
        return thunk.HelloReply(
            protocol=thunk.THUNK.name, version=thunk.THUNK.version, descriptors=self.channel.passes_descriptors
        )

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

    def _check_adapter(self, handle: int) -> None:
        self.process.table.get(handle, AdapterHandle, "hAdapter")

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

    # ----- devices and contexts ----------------------------------------------------------------------------------------------

    def _device(self, handle: int) -> Device:
        return self.process.table.get(handle, Device, "hDevice")

    def _context(self, handle: int) -> Context:
        return self.process.table.get(handle, Context, "hContext")

    def _create_device(self, message: thunk.CreateDevice) -> thunk.DeviceCreated:
        self._check_adapter(message.hAdapter)
        return thunk.DeviceCreated(hDevice=self.services.lifecycle.create_device(self.process, message.flags).handle)

    def _destroy_device(self, message: thunk.DestroyDevice) -> Awaitable[None]:
        return self._when_done(partial(self.services.lifecycle.destroy_device, self._device(message.hDevice)))

    def _when_done(self, start: Callable[[Callable[[], None]], None]) -> Awaitable[None]:
        """Start something that calls back; the request is answered when it has."""
        event = trio.Event()
        start(event.set)
        self.adapter.pump()
        return event.wait()

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

    # ----- allocations -------------------------------------------------------------------------------------------------------

    def _create_allocation(self, message: thunk.CreateAllocation) -> thunk.AllocationsCreated:
        return self.services.lifecycle.create_allocations(self._device(message.hDevice), message)

    def _open_resource(self, message: thunk.OpenResource) -> thunk.SharedOpened:
        return self.services.lifecycle.open_resource(self._device(message.hDevice), message.hGlobalShare)

    def _instances(self, device: Device, handles: list[int], hResource: int = 0) -> list[InstanceHandle]:
        """The instances that a resource or a list of handles names. Raises CallError."""
        if hResource:
            resource = self.process.table.get(hResource, OpenResource, "hResource")
            if resource.device is not device:
                raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, f"hResource {hResource:#x} belongs to another device")
            return [o.instances[0] for o in resource.allocations]
        found = []
        for index, handle in enumerate(handles):
            instance = self.process.table.get(handle, InstanceHandle, f"handles[{index}]")
            if instance.opened.device is not device:
                raise refusal(
                    NTSTATUS.STATUS_GRAPHICS_WRONG_ALLOCATION_DEVICE, f"handles[{index}] {handle:#x} belongs to another device"
                )
            found.append(instance)
        return found

    def _destroy_allocation(self, message: thunk.DestroyAllocation) -> None:
        device = self._device(message.hDevice)
        if message.hResource:
            resource = self.process.table.get(message.hResource, OpenResource, "hResource")
            if resource.device is not device:
                raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, f"hResource {message.hResource:#x} belongs to another device")
            self.services.lifecycle.destroy_resource(resource)
            return
        opened = list(dict.fromkeys(i.opened for i in self._instances(device, message.handles)))
        if len(set(message.handles)) != len(message.handles):
            raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, "a handle stands twice in the list to destroy")
        self.services.lifecycle.destroy_opened(opened)

    def _lock(self, message: thunk.Lock) -> thunk.Locked | Awaitable[thunk.Locked]:
        device = self._device(message.hDevice)
        instance = self.process.table.get(message.hAllocation, InstanceHandle, "hAllocation")
        locked = self.services.locks.lock(device, instance, message.flags)
        return self._locked(*locked) if isinstance(locked, tuple) else self._lock_later(locked)

    async def _lock_later(self, waiting: Awaitable[tuple[InstanceHandle, MemoryBlock]]) -> thunk.Locked:
        return self._locked(*await waiting)

    def _locked(self, instance: InstanceHandle, block: MemoryBlock) -> thunk.Locked:
        memory = Descriptor(block.memory.descriptor) if self.channel.passes_descriptors else None
        return thunk.Locked(hAllocation=instance.handle, size=instance.allocation.info.size, memory=memory)

    def _unlock(self, message: thunk.Unlock) -> None:
        device = self._device(message.hDevice)
        for instance in self._instances(device, message.handles):
            self.services.locks.unlock(device, instance)

    def _read_allocation(self, message: thunk.ReadAllocation) -> thunk.AllocationData:
        instance = self.process.table.get(message.hAllocation, InstanceHandle, "hAllocation")
        return thunk.AllocationData(data=self.services.locks.read(instance, message.offset, message.size))

    def _write_allocation(self, message: thunk.WriteAllocation) -> None:
        instance = self.process.table.get(message.hAllocation, InstanceHandle, "hAllocation")
        self.services.locks.write(instance, message.offset, message.data)

    def _set_allocation_priority(self, message: thunk.SetAllocationPriority) -> None:
        instances = self._instances(self._device(message.hDevice), message.handles, message.hResource)
        priorities = message.priorities
        if message.hResource and len(priorities) == 1:
            priorities = priorities * len(instances)
        if len(priorities) != len(instances) or 0 in priorities:
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER, f"{len(message.priorities)} priorities for {len(instances)} allocations, none 0"
            )
        for instance, priority in zip(instances, priorities, strict=True):
            instance.opened.info.priority = priority

    def _query_residency(self, message: thunk.QueryAllocationResidency) -> thunk.Residency:
        instances = self._instances(self._device(message.hDevice), message.handles, message.hResource)
        return thunk.Residency(statuses=[_residency(i.allocation) for i in instances])

    def _offer(self, message: thunk.OfferAllocations) -> None:
        instances = self._instances(self._device(message.hDevice), message.handles)
        if not D3DDDI_OFFER_PRIORITY.LOW <= message.priority <= D3DDDI_OFFER_PRIORITY.AUTO:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"offer priority {message.priority} is not in 1..4")
        for instance in instances:
            if instance.locks or instance.allocation.offered:
                raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"{instance.handle:#x} is locked or offered already")
        for instance in instances:
            instance.allocation.offered = message.priority

    def _reclaim(self, message: thunk.ReclaimAllocations) -> thunk.Reclaimed:
        instances = self._instances(self._device(message.hDevice), message.handles)
        discarded = [i.allocation.lost for i in instances]
        for instance in instances:
            instance.allocation.offered = 0
            instance.allocation.lost = False
        return thunk.Reclaimed(discarded=discarded)

    # ----- submission --------------------------------------------------------------------------------------------------------

    def _active_context(self, handle: int) -> Context | None:
        """The context; None when its device is lost (which was told already): what follows is dropped."""
        context = self._context(handle)
        return context if context.device.cause is None else None

    def _render(self, message: thunk.Render) -> Awaitable[None] | None:
        context = self._active_context(message.hContext)
        if context is None:
            return None
        adapter = self.adapter
        packets = adapter.renderer.translate(
            context, message, self.process.table, adapter.vidsch.next_sequence(), adapter.vidmm.epoch
        )
        for packet in packets:
            adapter.vidsch.enqueue(context, packet)
        if len(context.queue) > adapter.options.max_queued_packets:
            return self._room(context)
        return None

    async def _room(self, context: Context) -> None:
        """Hold the sender back while the queue is long and moving. One that a wait holds up cannot be waited for: it may be this
        sender who has to signal."""
        limit = self.adapter.options.max_queued_packets
        self.adapter.pump()
        while len(context.queue) > limit and context.device.cause is None:
            if type(context.queue[0]) is WaitPacket:
                if len(context.queue) > 64 * limit:
                    raise_to = f"{len(context.queue)} packets are queued behind a wait"
                    self.adapter.fail_device(
                        context.device,
                        ExecutionState.ERROR_OUTOFMEMORY,
                        hresult_from_ntstatus(NTSTATUS.STATUS_NO_MEMORY),
                        raise_to,
                    )
                return
            await wait_for(context.on_space.append)

    def _present(self, message: thunk.Present) -> Awaitable[None] | None:
        context = self._active_context(message.hContext)
        if context is None:
            return None
        presenter = self.services.presenter
        if presenter.busy(context, message):
            return None
        presenter.present(context, message)
        if context.device.queued_presents > self.adapter.options.max_queued_presents:
            return self._present_room(context)
        return None

    async def _present_room(self, context: Context) -> None:
        """Hold the sender back while its device has too many presents queued."""
        device = context.device
        self.adapter.pump()
        while device.queued_presents > self.adapter.options.max_queued_presents and device.cause is None:
            if context.queue and type(context.queue[0]) is WaitPacket:
                return
            await wait_for(context.on_space.append)

    def _sync_objects(self, handles: list[int]) -> list[SyncObject]:
        found = []
        for index, handle in enumerate(handles):
            item = self.process.table.peek(handle)
            if not isinstance(item, SyncObject):
                self.process.table.get(handle, SyncObject, f"handles[{index}]")
            assert isinstance(item, SyncObject)
            found.append(item)
        return found

    def _signal(self, message: thunk.SignalSynchronizationObject) -> None:
        context = self._active_context(message.hContext)
        others = [self._context(h) for h in message.broadcast]
        if context is None:
            return
        if message.flags & ~(_AT_SUBMISSION | _REWIND):
            raise refusal(NTSTATUS.STATUS_NOT_SUPPORTED, f"signal flags {message.flags:#x} are not supported")
        objects = self._sync_objects(message.handles)
        if not objects:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "nothing to signal")
        rewind, at_submission = bool(message.flags & _REWIND), bool(message.flags & _AT_SUBMISSION)
        for item in objects:
            if item.flags & _NO_SIGNAL:
                raise refusal(NTSTATUS.STATUS_ACCESS_DENIED, f"{item.handle:#x} was created with NoSignal")
        fences = [o for o in objects if isinstance(o, MonitoredFence)]
        if len(fences) == len(objects) and not others and not at_submission:
            for fence in fences:
                wrong = fence.queue(message.value, rewind=rewind)
                if wrong is not None:
                    raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, wrong)
                self._signal_by_gpu(context, fence, message.value, rewind=rewind)
            return
        broadcast = Broadcast(1 + len(others))
        for one in (context, *others):
            self.adapter.vidsch.enqueue(one, SignalPacket(objects, message.value, broadcast, rewind, at_submission))

    def _signal_by_gpu(self, context: Context, fence: MonitoredFence, value: int, *, rewind: bool) -> None:
        """Let the last buffer write the value, or a submission of its own; the CPU does when nothing is pending."""
        vidsch = self.adapter.vidsch
        if context.idle:
            fence.signal(value, rewind=rewind)
            vidsch.signalled(fence)
            return
        last = context.queue[-1] if context.queue else None
        if type(last) is DmaPacket and last.state is not PacketState.SUBMITTED and self._attach(last.dma, last.kind, fence, value):
            last.signals.append((fence, value))
            return
        info = context.info
        dma = self.adapter.pool.acquire(info.DmaBufferSize, info.DmaBufferPrivateDataSize, info.PatchLocationListSize)
        if not self._attach(dma, PacketKind.SIGNAL, fence, value):
            self.adapter.pool.release(dma)
            vidsch.enqueue(context, SignalPacket([fence], value, Broadcast(1), rewind))
            return
        packet = DmaPacket(context, PacketKind.SIGNAL, dma, 0, len(dma.private), vidsch.next_sequence())
        packet.signals.append((fence, value))
        vidsch.enqueue(context, packet)

    def _attach(self, dma: DmaBuffer, kind: PacketKind, fence: MonitoredFence, value: int) -> bool:
        """DxgkDdiSignalMonitoredFence for a DMA buffer; False when it can take no more signals."""
        host = self.adapter.host
        if not host.has("DxgkDdiSignalMonitoredFence"):
            return False
        kinds = ddi.DXGK_MONITORED_FENCE_KERNEL_SUBMISSION_TYPE
        arguments = ddi.DXGKARG_SIGNALMONITOREDFENCE(
            fence.address,
            value,
            dma.array,
            dma.size,
            dma.private,
            len(dma.private),
            kinds.PRESENTBLT if kind is PacketKind.PRESENT else kinds.RENDERGDI,
        )
        return bool(host.call("DxgkDdiSignalMonitoredFence", host.hAdapter, arguments) == _OK)

    def _wait(self, message: thunk.WaitForSynchronizationObject) -> None:
        context = self._active_context(message.hContext)
        if context is None:
            return
        objects = self._sync_objects(message.handles)
        if not objects or len(set(message.handles)) != len(objects):
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "nothing, or one object twice, to wait for")
        for item in objects:
            if item.flags & _NO_WAIT:
                raise refusal(NTSTATUS.STATUS_ACCESS_DENIED, f"{item.handle:#x} was created with NoWait")
            if isinstance(item, CpuNotification):
                raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "the GPU cannot wait for a CPU notification")
        self.adapter.vidsch.enqueue(context, WaitPacket(objects, message.value))

    def _fences(self, handles: list[int], values: list[int]) -> list[MonitoredFence]:
        if len(handles) != len(values) or not handles:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"{len(handles)} fences and {len(values)} values")
        return [self.process.table.get(h, MonitoredFence, f"handles[{i}]") for i, h in enumerate(handles)]

    def _signal_from_cpu(self, message: thunk.SignalFromCpu) -> None:
        fences = self._fences(message.handles, message.values)
        for fence in fences:
            if fence.flags & _NO_SIGNAL:
                raise refusal(NTSTATUS.STATUS_ACCESS_DENIED, f"{fence.handle:#x} was created with NoSignal")
        for fence, value in zip(fences, message.values, strict=True):
            wrong = fence.signal(value)
            if wrong is not None:
                raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, wrong)
            self.adapter.vidsch.signalled(fence)

    def _wait_from_cpu(self, message: thunk.WaitFromCpu) -> Awaitable[None] | None:
        fences = self._fences(message.handles, message.values)
        for fence in fences:
            if fence.flags & _NO_WAIT:
                raise refusal(NTSTATUS.STATUS_ACCESS_DENIED, f"{fence.handle:#x} was created with NoWait")
        event = trio.Event()
        failures: list[str] = []

        def done(sentence: str | None) -> None:
            if sentence is not None:
                failures.append(sentence)
            event.set()

        wait = CpuWait(fences, message.values, message.any, done)
        if wait.satisfied:
            return None
        for fence in fences:
            if wait not in fence.cpu_waits:
                fence.cpu_waits.append(wait)
            self.adapter.vidsch.fences_with_waiters.add(fence)
        return self._finish_cpu_wait(wait, event, failures)

    async def _finish_cpu_wait(self, wait: CpuWait, event: trio.Event, failures: list[str]) -> None:
        try:
            await event.wait()
        finally:
            for fence in wait.fences:
                if wait in fence.cpu_waits:
                    fence.cpu_waits.remove(wait)
        if failures:
            raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, failures[0])

    def _create_sync(
        self, message: thunk.CreateSynchronizationObject
    ) -> thunk.SyncObjectCreated | Awaitable[thunk.SyncObjectCreated]:
        item = self.services.lifecycle.create_sync(self._device(message.hDevice), message)
        if not isinstance(item, MonitoredFence) or not self.channel.passes_descriptors:
            return thunk.SyncObjectCreated(hSyncObject=item.handle, page=None, page_size=0, offset=0)
        return _fence_created(item) if item.page.sealed else self._seal(item)

    async def _seal(self, fence: MonitoredFence) -> thunk.SyncObjectCreated:
        assert self.process.pages is not None
        await self.process.pages.seal(fence.page)
        return _fence_created(fence)

    def _destroy_sync(self, message: thunk.DestroySynchronizationObject) -> None:
        self.services.lifecycle.destroy_sync(self._sync_objects([message.hSyncObject])[0])

    # ----- display -----------------------------------------------------------------------------------------------------------

    def _get_modes(self, message: thunk.GetDisplayModeList) -> thunk.DisplayModes:
        self._check_adapter(message.hAdapter)
        self.adapter.display.source(message.VidPnSourceId)
        return thunk.DisplayModes(
            modes=[
                thunk.DisplayMode(
                    width=m.width,
                    height=m.height,
                    format=int(m.format),
                    refresh_numerator=m.refresh[0],
                    refresh_denominator=m.refresh[1],
                )
                for m in self.adapter.display.modes(message.VidPnSourceId)
            ]
        )

    async def _set_display_mode(self, message: thunk.SetDisplayMode) -> None:
        device = self._device(message.hDevice)
        self.services.lifecycle.check_active(device)
        instance = self.process.table.get(message.hPrimary, InstanceHandle, "hPrimary")
        info, adapter = instance.opened.info, self.adapter
        if instance.opened.device is not device:
            raise refusal(
                NTSTATUS.STATUS_GRAPHICS_WRONG_ALLOCATION_DEVICE, f"hPrimary {message.hPrimary:#x} belongs to another device"
            )
        if not info.primary:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"hPrimary {message.hPrimary:#x} was not created as a primary")
        source = adapter.display.source(info.VidPnSourceId)
        adapter.display.check_mode_owner(source, device)
        allocation = instance.allocation
        present = Present(device, device.contexts[0] if device.contexts else _no_context(device), 0, [allocation], told=True)
        allocation.holds += 1
        try:
            await self._make_resident(device, allocation)
        finally:
            allocation.holds -= 1
        try:
            adapter.display.set_mode(source, present, allocation)
        except CallError:
            adapter.vidmm.release(present.uses)
            raise
        finally:
            adapter.pump()

    async def _make_resident(self, device: Device, allocation: Allocation) -> None:
        """Bring it into its segment and pin it. Raises CallError."""
        adapter = self.adapter
        while True:
            self.services.lifecycle.check_active(device)
            residency, batch = adapter.vidmm.prepare([allocation])
            adapter.pump()
            if residency is Residency.READY:
                return
            if batch is not None:
                if not batch.done:
                    await wait_for(batch.on_done.append)
                return
            await wait_for(adapter.vidsch.on_memory.append)

    def _set_owner(self, message: thunk.SetVidPnSourceOwner) -> None:
        device = self._device(message.hDevice)
        self.services.lifecycle.check_active(device)
        self.adapter.display.set_owner(device, message.VidPnSourceId, message.owner_type)

    async def _wait_vblank(self, message: thunk.WaitForVerticalBlankEvent) -> thunk.VerticalBlank:
        self._check_adapter(message.hAdapter)
        source = self.adapter.display.source(message.VidPnSourceId)
        event = trio.Event()
        found: list[tuple[int, float]] = []

        def done(count: int, now: float) -> None:
            found.append((count, now))
            event.set()

        source.vblank_waits.append(done)
        try:
            await event.wait()
        finally:
            if done in source.vblank_waits:
                source.vblank_waits.remove(done)
        return thunk.VerticalBlank(vblank_count=found[0][0], time_ns=int(found[0][1] * 1e9))

    def _set_gamma(self, message: thunk.SetGammaRamp) -> None:
        device = self._device(message.hDevice)
        self.services.lifecycle.check_active(device)
        source = self.adapter.display.source(message.VidPnSourceId)
        self.adapter.display.check_mode_owner(source, device)
        self.adapter.display.set_gamma(source, message.ramp)

    async def _read_scanout(self, message: thunk.ReadScanout) -> thunk.Scanout:
        self._check_adapter(message.hAdapter)
        source = self.adapter.display.source(message.VidPnSourceId)
        frame = await self.adapter.link.read_frame(source.id)
        return thunk.Scanout(
            width=frame.width, height=frame.height, vblank_count=frame.vblank_count, data=frame.data
        )


def _trace(message: Struct) -> None:
    """One D3DKMT call: its small members."""
    members = {field.name: getattr(message, field.name) for field in dataclasses.fields(message)}  # type: ignore[arg-type]
    tracer(f"D3DKMT{type(message).__name__}", **{n: v for n, v in members.items() if isinstance(v, (int, str))})


def _fence_created(fence: MonitoredFence) -> thunk.SyncObjectCreated:
    memory = fence.page.block.memory
    return thunk.SyncObjectCreated(
        hSyncObject=fence.handle, page=Descriptor(memory.descriptor), page_size=memory.size, offset=fence.slot * 8
    )


def _no_context(device: Device) -> Context:
    """Stands for "no context" in a mode set."""
    return Context(device, 0, ddi.DXGK_CONTEXTINFO(), 0)


def _residency(allocation: Allocation) -> int:
    if allocation.in_memory_segment:
        return D3DDDI_RESIDENCYSTATUS.RESIDENTINGPUMEMORY
    if allocation.in_aperture:
        return D3DDDI_RESIDENCYSTATUS.RESIDENTINSHAREDMEMORY
    return D3DDDI_RESIDENCYSTATUS.NOTRESIDENT
