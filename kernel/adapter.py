"""The adapter: from DriverEntry to a running device, and the place where its managers meet.

Owns the start sequence, the interrupts on their way to scheduler and display, and the loss of devices. Everything here is plain
code: the trio shell is :mod:`kernel.server`, recovery from hangs is :mod:`kernel.recovery`. Models "Initializing Display Miniport
and User-Mode Display Drivers" and the start sequence of ``dispmprt``.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial

from wddm.ddi import d3dkmddi as ddi
from wddm.ddi import dispmprt
from wddm.ddi.d3dukmdt import D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS
from wddm.ddi.status import NTSTATUS, hresult_from_ntstatus, ntstatus_name
from wddm.wire.channel import ChannelClosed
from wddm.wire.thunk import DeviceStateChanged

from .bus_link import BusLink
from .display.display import Display
from .errors import BugCheck, BugCheckError, refusal, vidsch_bug_check
from .handles import HandleSpace
from .miniport_host import MiniportHost, StartError, load, tracer
from .objects import Cause, Context, Device, ExecutionState, InstanceHandle, Process
from .options import Options
from .sync import FENCE_MAXIMUM, MonitoredFence
from .vidmm.allocation import Allocation, AllocationInfo, Segment
from .vidmm.manager import VidMm
from .vidmm.paging import PagingBuilder
from .vidmm.segment import PAGE_SIZE, SegmentSpace
from .vidsch.dma import DmaPool
from .vidsch.node import Node
from .vidsch.policies import make_policy
from .vidsch.render import Renderer
from .vidsch.scheduler import VidSch
from .vidsch.tdr import TdrHistory, TdrSettings, watch

_log = logging.getLogger("kernel")
_OK = NTSTATUS.STATUS_SUCCESS


class Adapter:
    """One adapter. ``clock`` gives seconds; ``changed`` is called when something may have to be done at another time."""

    def __init__(self, options: Options, link: BusLink, registers: bytes, clock: Callable[[], float]) -> None:
        self.options = options
        self.link = link
        self.clock = clock
        self.host = MiniportHost(load(options.miniport), link, registers)
        self.space = HandleSpace()
        self.processes: list[Process] = []
        self.stopped: BugCheck | None = None
        self.changed: Callable[[], None] = lambda: None
        #: Nodes that hang or have faulted, for the recovery: (node, why).
        self.hung: deque[tuple[Node, str]] = deque()
        #: Allocations whose handles are gone, to be destroyed when nothing uses them any more: (instances, action).
        self.dying: list[tuple[list[Allocation], Callable[[], None]]] = []
        self.tdr = TdrSettings(delay=options.tdr_delay)
        self.history = TdrHistory(self.tdr)
        self.faults = 0
        self.refused_notifications = 0
        #: Handles that DxgkDdiOpenAllocation is told about while they are in no table yet.
        self.opening: dict[int, AllocationInfo] = {}
        self._noted: list[ddi.DXGK_INTERRUPT_PARAMETERS] = []
        self._fault_says = ""  #: what the interrupt routine left to say about the last fault

    # ----- start -------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """AddDevice, StartDevice, capabilities, segments, nodes, children, the kernel's own device. Raises StartError."""
        host = self.host
        host.on_interrupt = self._on_interrupt
        host.after_dpc = self._after_dpc
        host.handle_data = self._handle_data
        status, host.hAdapter = host.call("DxgkDdiAddDevice", object(), trace={})
        _must("DxgkDdiAddDevice", status)
        status, sources, targets = host.call(
            "DxgkDdiStartDevice", host.hAdapter, dispmprt.DXGK_START_INFO(), host.interface(), trace={}
        )
        _must("DxgkDdiStartDevice", status)
        status, children = host.call("DxgkDdiQueryChildRelations", host.hAdapter)
        _must("DxgkDdiQueryChildRelations", status)
        for child in children:
            child_status = dispmprt.DXGK_CHILD_STATUS(child.ChildUid)
            _must("DxgkDdiQueryChildStatus", host.call("DxgkDdiQueryChildStatus", host.hAdapter, child_status, True))
        self.caps = self._query_caps()
        segments, paging = self._query_segments()
        self._start_managers(segments, paging)
        self.display = Display(host, self.vidmm, sources, targets, self.clock)
        self.display.changed = self.vidsch.flipped
        self.vidsch.is_scanned_out = self.display.needs
        self.display.start()

    def _query_caps(self) -> ddi.DXGK_DRIVERCAPS:
        arguments = ddi.DXGKARG_QUERYADAPTERINFO(ddi.DXGK_QUERYADAPTERINFOTYPE.DRIVERCAPS)
        _must("DxgkDdiQueryAdapterInfo(DRIVERCAPS)", self.host.call("DxgkDdiQueryAdapterInfo", self.host.hAdapter, arguments))
        caps = arguments.pOutputData
        if not isinstance(caps, ddi.DXGK_DRIVERCAPS):
            raise StartError("DxgkDdiQueryAdapterInfo(DRIVERCAPS) gave no DXGK_DRIVERCAPS")
        if not caps.SchedulingCaps & ddi.DXGK_VIDSCHCAPS.MultiEngineAware:
            raise StartError("the miniport is not MultiEngineAware: it has no contexts")
        if caps.SchedulingCaps & ddi.DXGK_VIDSCHCAPS.CancelCommandAware and not self.host.has("DxgkDdiCancelCommand"):
            raise StartError("the miniport is CancelCommandAware without DxgkDdiCancelCommand")
        if not caps.FlipCaps & ddi.DXGK_FLIPCAPS.FlipOnVSyncMmIo:
            raise StartError("the miniport cannot flip by MMIO, which preemption needs")
        return caps

    def _query_segments(self) -> tuple[dict[int, Segment], ddi.DXGK_QUERYSEGMENTOUT]:
        answer = ddi.DXGK_QUERYSEGMENTOUT()
        arguments = ddi.DXGKARG_QUERYADAPTERINFO(ddi.DXGK_QUERYADAPTERINFOTYPE.QUERYSEGMENT, pOutputData=answer)
        for ask_for_list in (False, True):
            answer.pSegmentDescriptor = [] if ask_for_list else None
            status = self.host.call("DxgkDdiQueryAdapterInfo", self.host.hAdapter, arguments)
            _must("DxgkDdiQueryAdapterInfo(QUERYSEGMENT)", status)
        found = answer.pSegmentDescriptor
        if not found or len(found) != answer.NbSegment or answer.PagingBufferSegmentId != 0:
            raise StartError("DxgkDdiQueryAdapterInfo(QUERYSEGMENT) gave no segments, or paging buffers outside system memory")
        segments: dict[int, Segment] = {}
        for number, descriptor in enumerate(found, 1):
            if descriptor.Size % PAGE_SIZE or descriptor.Size < 0:
                raise StartError(f"segment {number} has {descriptor.Size} bytes, no multiple of a page")
            if descriptor.Size:
                space: SegmentSpace[Allocation] = SegmentSpace(descriptor.Size, descriptor.CommitLimit)
                segments[number] = Segment(number, descriptor, space)
        return segments, answer

    def _start_managers(self, segments: dict[int, Segment], paging: ddi.DXGK_QUERYSEGMENTOUT) -> None:
        host, caps = self.host, self.caps
        new_policy = make_policy(self.options.policy, quantum=self.options.quantum)
        nodes = []
        for ordinal in range(caps.NbAsymetricProcessingNodes):
            metadata = ddi.DXGKARG_GETNODEMETADATA()
            if host.has("DxgkDdiGetNodeMetadata"):
                status = host.call("DxgkDdiGetNodeMetadata", host.hAdapter, ordinal, metadata)
                _must(f"DxgkDdiGetNodeMetadata({ordinal})", status)
            cap = ddi.vidsch_hw_queue_packet_cap(caps.SchedulingCaps) or 1
            nodes.append(Node(ordinal, metadata.EngineType, metadata.FriendlyName, new_policy(), cap))
        if not 0 <= caps.PagingNode < len(nodes):
            raise StartError(f"the paging node is {caps.PagingNode} of {len(nodes)} nodes")
        self.pool = DmaPool(self.link)
        self.vidsch = VidSch(host, self.link, self.pool, nodes, caps.PagingNode, self.clock, self.fail_device)
        self.vidmm = VidMm(self.link, segments, self.vidsch.submit_paging)
        self.vidsch.vidmm = self.vidmm
        self.renderer = Renderer(host, self.pool)
        self.vidsch.builder = PagingBuilder(
            host,
            self.pool,
            size=paging.PagingBufferSize,
            private_size=paging.PagingBufferPrivateDataSize,
            hSystemContext=self._system_context(),
        )

    def _system_context(self) -> int:
        """The kernel's own device and context, on the paging node."""
        device = ddi.DXGKARG_CREATEDEVICE(1, ddi.DXGK_CREATEDEVICEFLAGS.SystemDevice)
        _must("DxgkDdiCreateDevice(SystemDevice)", self.host.call("DxgkDdiCreateDevice", self.host.hAdapter, device))
        context = ddi.DXGKARG_CREATECONTEXT(1, self.caps.PagingNode, Flags=ddi.DXGK_CREATECONTEXTFLAGS.SystemContext)
        _must("DxgkDdiCreateContext(SystemContext)", self.host.call("DxgkDdiCreateContext", device.hDevice, context))
        return context.hContext

    def stop(self) -> None:
        """The kernel ends: DxgkDdiStopDevice, RemoveDevice, Unload, as far as the miniport has them."""
        for name, arguments in (
            ("DxgkDdiStopDevice", (self.host.hAdapter,)),
            ("DxgkDdiRemoveDevice", (self.host.hAdapter,)),
            ("DxgkDdiUnload", ()),
        ):
            if self.host.has(name):
                self.guard(partial(self.host.call, name, *arguments))
        self.host.removed = True

    # ----- the pump ----------------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Do all that can be done now. A broken contract stops the adapter."""
        if self.stopped is not None:
            return
        self.guard(self._pump)
        self.changed()

    def _pump(self) -> None:
        self.host.run_dpc()
        self.vidsch.pump()
        while self.dying and self._sweep():
            self.vidsch.pump()

    def _sweep(self) -> bool:
        """Destroy what nobody uses any more."""
        ready = [entry for entry in self.dying if all(a.pins == 0 and a.holds == 0 and not a.busy() for a in entry[0])]
        if not ready:
            return False
        self.dying = [entry for entry in self.dying if entry not in ready]
        for _, action in ready:
            action()
        return True

    def guard(self, action: Callable[[], None]) -> None:
        """Run ``action``; a broken contract in it stops the adapter. Without the bus there is nothing to do any more."""
        if self.link.channel.closed:
            return
        try:
            action()
        except BugCheckError as error:
            self.bug_check(error.record)
        except ChannelClosed:
            _log.debug("the bus went away under a call")

    # ----- interrupts --------------------------------------------------------------------------------------------------------

    def _on_interrupt(self, data: ddi.DXGKARGCB_NOTIFY_INTERRUPT_DATA) -> None:
        """DxgkCbNotifyInterrupt, at interrupt level: check and note."""
        what = data.Parameters
        if isinstance(what, ddi.DXGK_INTERRUPT_DMA_COMPLETED):
            self.vidsch.note_completed(what.NodeOrdinal, what.SubmissionFenceId)
        elif isinstance(what, ddi.DXGK_INTERRUPT_DMA_PREEMPTED):
            self.vidsch.note_preempted(what.NodeOrdinal, what.PreemptionFenceId, what.LastCompletedFenceId)
        elif isinstance(what, (ddi.DXGK_INTERRUPT_DMA_FAULTED, ddi.DXGK_INTERRUPT_DMA_PAGE_FAULTED)):
            self.vidsch.node(what.NodeOrdinal).stopped = True
            self._fault_says = self.host.explanation()
            self._noted.append(what)
        else:
            self._noted.append(what)

    def _after_dpc(self) -> None:
        """The DPC has called DxgkCbNotifyDpc: what was noted takes effect."""
        self.vidsch.dpc()
        noted, self._noted = self._noted, []
        for what in noted:
            if isinstance(what, ddi.DXGK_INTERRUPT_CRTC_VSYNC):
                self.display.vsync(what.VidPnTargetId, what.PhysicalAddress)
            elif isinstance(what, ddi.DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED):
                self.vidsch.waits.look_at_fences()
            elif isinstance(what, ddi.DXGK_INTERRUPT_DMA_FAULTED):
                self._faulted(what.NodeOrdinal, what.FaultedFenceId, ExecutionState.ERROR_DMAFAULT, what.Status)
            elif isinstance(what, ddi.DXGK_INTERRUPT_DMA_PAGE_FAULTED):
                status = NTSTATUS.STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE
                self._faulted(what.NodeOrdinal, what.FaultedFenceId, ExecutionState.ERROR_DMAPAGEFAULT, status)
            elif isinstance(what, ddi.DXGK_INTERRUPT_GPU_ENGINE_TIMEOUT):
                self.hung.append((self.vidsch.node(what.NodeOrdinal), "the hardware reports that the engine hangs"))

    def _faulted(self, ordinal: int, fence: int, state: ExecutionState, status: int) -> None:
        node = self.vidsch.node(ordinal)
        self.faults += 1
        packet = next((p for p in node.hw if p.fence == fence), None)
        if packet is None:
            raise vidsch_bug_check(0x1, f"a fault of fence {fence}, which node {ordinal} does not have", fence)
        why = f"the hardware stopped at a DMA buffer of node {ordinal}: {ntstatus_name(status)}"
        if self._fault_says:
            why = f"{why}; {self._fault_says}"
        if packet.context is None:
            raise vidsch_bug_check(0x5, f"a paging buffer faulted: {why}", fence)
        self.fail_device(packet.context.device, state, hresult_from_ntstatus(status), why)
        self.hung.append((node, why))

    def explain(self, what: str) -> str:
        """``what``, with what the miniport left to say about it."""
        more = self.host.explanation()
        return f"{what}; {more}" if more else what

    # ----- loss of devices ---------------------------------------------------------------------------------------------------

    def fail_device(self, device: Device, state: ExecutionState, reason: int, sentence: str) -> None:
        """The device leaves the ACTIVE state, for good: its queues are dropped, its fences released, its process told."""
        if device.cause is not None:
            return
        device.cause = Cause(state, reason, sentence)
        _log.warning("device of %s: %s: %s", device.process, state.name, sentence)
        tracer("DeviceStateChanged", hDevice=device.handle, state=state.name, sentence=sentence)
        for context in device.contexts:
            self.vidsch.cancel(context)
        for item in device.sync_objects:
            if isinstance(item, MonitoredFence):
                if not item.flags & D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS.NoSignalMaxValueOnTdr:
                    item.signal(FENCE_MAXIMUM, rewind=True)
                    self.vidsch.waits.signalled(item)
        device.process.tell(
            DeviceStateChanged(hDevice=device.handle, state=int(state), reason=int(reason), sentence=sentence[:4096])
        )

    def bug_check(self, record: BugCheck) -> None:
        """Stop the adapter: every device is lost."""
        if self.stopped is not None:
            return
        self.stopped = record
        _log.critical("%s", record)
        tracer("BugCheck", code=int(record.code), parameter1=record.parameter1, sentence=record.sentence)
        for process in self.processes:
            for device in process.devices:
                if device.cause is None:
                    reason = hresult_from_ntstatus(NTSTATUS.STATUS_DEVICE_REMOVED)
                    device.cause = Cause(ExecutionState.STOPPED, reason, str(record))
                    process.tell(
                        DeviceStateChanged(
                            hDevice=device.handle, state=int(ExecutionState.STOPPED), reason=reason, sentence=str(record)
                        )
                    )
        self.changed()

    def check_running(self) -> None:
        """Raises CallError (STATUS_DEVICE_REMOVED) after a bug check, or when the bus is gone."""
        if self.stopped is not None:
            raise refusal(NTSTATUS.STATUS_DEVICE_REMOVED, str(self.stopped))
        if self.link.channel.closed:
            raise refusal(NTSTATUS.STATUS_DEVICE_REMOVED, "the device is gone")

    # ----- services with handles ---------------------------------------------------------------------------------------------

    def find_allocation(self, handle: int) -> InstanceHandle | None:
        """An allocation handle of any process, for the miniport."""
        for process in self.processes:
            item = process.table.peek(handle)
            if isinstance(item, InstanceHandle):
                return item
        return None

    def _handle_data(self, arguments: dispmprt.DXGKARGCB_GETHANDLEDATA) -> int:
        """DxgkCbGetHandleData: the miniport's handle of a kernel handle."""
        opening = self.opening.get(arguments.hObject)
        if opening is not None:
            return opening.hAllocation
        item = self.find_allocation(arguments.hObject)
        if item is None:
            return 0
        if arguments.Flags & dispmprt.DXGKCB_GETHANDLEDATAFLAGS.DeviceSpecific:
            return item.opened.hDeviceSpecific
        return item.opened.info.hAllocation

    def next_deadline(self) -> float | None:
        """When something has to be done even if nothing happens."""
        earliest = self.vidsch.wake_at()
        for node in self.vidsch.nodes:
            if node.hw:  # the others have nothing that could hang
                _, time = watch(node, self.clock(), self.tdr)
                if time is not None and (earliest is None or time < earliest):
                    earliest = time
        return earliest

    def statistics(self) -> list[tuple[str, int]]:
        """Named counters."""
        nodes = self.vidsch.nodes
        return [
            ("dma_buffers", sum(n.submitted_count for n in nodes if n is not self.vidsch.paging_node)),
            ("paging_buffers", self.vidsch.paging_count),
            ("evictions", self.vidmm.evictions),
            ("page_ins", self.vidmm.page_ins),
            ("bytes_paged", self.vidmm.bytes_paged),
            ("preemptions", sum(n.preempt_fences for n in nodes)),
            ("engine_resets", self.history.engine),
            ("adapter_resets", self.history.adapter),
            ("faults", self.faults),
            ("refused_notifications", self.refused_notifications),
            ("system_memory", self.link.used),
            ("allocations", len(self.vidmm.all)),
            ("processes", len(self.processes)),
            ("interrupts", self.host.interrupts),
        ]


def _must(what: str, status: int) -> None:
    if status != _OK:
        raise StartError(f"{what} returned {ntstatus_name(status)}")


def contexts_of(process: Process) -> list[Context]:
    """All contexts of a process."""
    return [context for device in process.devices for context in device.contexts]
