"""The adapter: one virtual GPU as its kernel-mode driver knows it, and every DxgkDdi entry that Dxgkrnl may call.

Models the dispmprt and d3dkmddi reference pages entry by entry; the entries themselves are thin and leave the work to the rooms
beside: rendering, paging, presents, submission, allocations, display.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from miniport import render, submission
from miniport.allocation import Allocations
from miniport.display import Display
from miniport.hardware import Registers
from miniport.present import present
from miniport.private import DMA_PRIVATE_SIZE, add_signal
from miniport.segments import PAGING_BUFFER_SIZE, MemorySizes, descriptors
from wddm.ddi.d3dkmddi import (
    DXGK_CREATECONTEXTFLAGS,
    DXGK_DEVICEINFO,
    DXGK_DRIVERCAPS,
    DXGK_ENGINE_TYPE,
    DXGK_FLIPCAPS,
    DXGK_INTERRUPT_CRTC_VSYNC,
    DXGK_INTERRUPT_DMA_COMPLETED,
    DXGK_INTERRUPT_DMA_FAULTED,
    DXGK_INTERRUPT_DMA_PREEMPTED,
    DXGK_INTERRUPT_PARAMETERS,
    DXGK_INTERRUPT_TYPE,
    DXGK_QUERYADAPTERINFOTYPE,
    DXGK_QUERYSEGMENTOUT,
    DXGK_VIDMMCAPS,
    DXGK_VIDSCHCAPS,
    DXGKARG_COLLECTDBGINFO,
    DXGKARG_CREATECONTEXT,
    DXGKARG_CREATEDEVICE,
    DXGKARG_DESTROYALLOCATION,
    DXGKARG_ESCAPE,
    DXGKARG_GETNODEMETADATA,
    DXGKARG_OPENALLOCATION,
    DXGKARG_PREEMPTCOMMAND,
    DXGKARG_PRESENT,
    DXGKARG_QUERYADAPTERINFO,
    DXGKARG_QUERYCURRENTFENCE,
    DXGKARG_RENDER,
    DXGKARG_SIGNALMONITOREDFENCE,
    DXGKARG_SUBMITCOMMAND,
    DXGKARGCB_NOTIFY_INTERRUPT_DATA,
    vidsch_caps,
)
from wddm.ddi.d3dkmdt import (
    D3DKMDT_COMPUTE_PREEMPTION_GRANULARITY,
    D3DKMDT_GRAPHICS_PREEMPTION_GRANULARITY,
    D3DKMDT_PREEMPTION_CAPS,
    DXGK_COLORTRANSFORMCAPS,
)
from wddm.ddi.d3dukmdt import DXGKDDI_INTERFACE_VERSION
from wddm.ddi.dispmprt import (
    CM_RESOURCE_TYPE,
    DXGKARGCB_GETHANDLEDATA,
    DXGKRNL_INTERFACE,
    MEMORY_CACHING_TYPE,
)
from wddm.ddi.status import NTSTATUS
from wddm.hw import registers as manual
from wddm.hw.driver import ADAPTER_PRIVATE, CONTEXT_PRIVATE, private_record, read_private
from wddm.hw.interrupts import Fault, Interrupt, unlatch
from wddm.hw.packets import PACKET_SIZE
from wddm.hw.registers import RESET_KEY, Node, Register

OK: Final = NTSTATUS.STATUS_SUCCESS
#: Bytes of a DMA buffer, and elements of its lists: enough for some thousand draws with everything changed between them.
DMA_BUFFER_SIZE: Final = 1 << 20
ALLOCATION_LIST_SIZE: Final = 4096
PATCH_LIST_SIZE: Final = 2 * DMA_BUFFER_SIZE // PACKET_SIZE
#: Binding slots that patch entries may name; 24 bits are the field's width.
MAX_SLOT_ID: Final = 1 << 16

_FAULT_STATUS: Final = {
    Fault.PRIVILEGE: NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION,
    Fault.BAD_PACKET: NTSTATUS.STATUS_ILLEGAL_INSTRUCTION,
    Fault.BAD_SHADER: NTSTATUS.STATUS_ILLEGAL_INSTRUCTION,
}


def _service(function: Any) -> Any:
    """A kernel service that this driver cannot do without."""
    if function is None:
        raise RuntimeError("Dxgkrnl offers less than this driver needs")
    return function


@dataclass(slots=True)
class Device:
    """A device: the process's face towards this adapter."""

    handle: int
    system: bool


@dataclass(slots=True)
class Context:
    """A context. ``hardware`` is the number by which the hardware keeps its state; 0 is the kernel's own."""

    handle: int
    device: int
    node: int
    hardware: int


class Adapter:
    """One adapter from AddDevice to RemoveDevice."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.allocations = Allocations()
        self.devices: dict[int, Device] = {}
        self.contexts: dict[int, Context] = {}
        self.last_refusal = ""  #: sentence of the last buffer that Render or Present refused, for Escape
        self._next_handle = handle << 20
        self._next_hardware_context = 1
        self._free_hardware_contexts: list[int] = []

    def _new_handle(self) -> int:
        self._next_handle += 8
        return self._next_handle

    # ----- start -----------------------------------------------------------------------------------------------------------

    def start(self, interface: DXGKRNL_INTERFACE) -> tuple[int, int, int]:
        """DxgkDdiStartDevice: map the registers, look at the device, make the rings."""
        self._kernel = interface
        _, info = _service(interface.DxgkCbGetDeviceInformation)(interface.DeviceHandle)
        bar = next(r for r in info.TranslatedResourceList if r.Type is CM_RESOURCE_TYPE.MEMORY)
        status, mapped = _service(interface.DxgkCbMapMemory)(
            interface.DeviceHandle, bar.Start, bar.Length, False, False, MEMORY_CACHING_TYPE.MmNonCached
        )
        if status != OK or mapped is None:
            return NTSTATUS.STATUS_UNSUCCESSFUL, 0, 0
        self._mapped = mapped
        self.registers = registers = Registers(mapped)
        if (
            registers.read(Register.DEVICE_ID) != manual.DEVICE_ID
            or registers.read(Register.INTERFACE_VERSION) >> 16 != manual.INTERFACE_VERSION >> 16
        ):
            return NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH, 0, 0
        self.memory = MemorySizes(
            registers.read64(Register.LOCAL_SIZE_LO),
            registers.read64(Register.VISIBLE_WINDOW_LO),
            registers.read64(Register.APERTURE_SIZE_LO),
        )
        self.display = Display(registers, registers.read(Register.HEAD_COUNT), _service(interface.DxgkCbQueryVidPnInterface))
        self.nodes = []
        for node in range(registers.read(Register.NODE_COUNT)):
            status, ring = _service(interface.DxgkCbAllocateContiguousMemory)(interface.DeviceHandle, submission.RING_SIZE)
            if status != OK or ring is None:
                return NTSTATUS.STATUS_NO_MEMORY, 0, 0
            self.nodes.append(submission.NodeQueue(registers, node, ring.array, ring.PhysicalAddress))
        self._power_up()
        return OK, self.display.heads, self.display.heads

    def _power_up(self) -> None:
        self.registers.write(Register.INTERRUPT_ENABLE, Interrupt.FENCE | Interrupt.PREEMPTED | Interrupt.FAULT | Interrupt.VSYNC)
        for node in self.nodes:
            node.start()

    def stop(self) -> int:
        """DxgkDdiStopDevice: quiet."""
        self.registers.write(Register.INTERRUPT_ENABLE, 0)
        self.registers.write(Register.RESET, RESET_KEY)
        return OK

    def query_adapter_info(self, arguments: DXGKARG_QUERYADAPTERINFO) -> int:
        """DxgkDdiQueryAdapterInfo."""
        kinds = DXGK_QUERYADAPTERINFOTYPE
        if arguments.Type is kinds.DRIVERCAPS:
            arguments.pOutputData = self._caps()
        elif arguments.Type is kinds.QUERYSEGMENT:
            segments = descriptors(self.memory)
            answer = arguments.pOutputData
            if not isinstance(answer, DXGK_QUERYSEGMENTOUT):
                return NTSTATUS.STATUS_INVALID_PARAMETER
            asked = answer.pSegmentDescriptor is not None
            answer.NbSegment = len(segments)
            answer.pSegmentDescriptor = segments if asked else None
            answer.PagingBufferSegmentId = 0
            answer.PagingBufferSize = PAGING_BUFFER_SIZE
            answer.PagingBufferPrivateDataSize = DMA_PRIVATE_SIZE
        elif arguments.Type is kinds.UMDRIVERPRIVATE:
            data = self._umd_private()
            if arguments.OutputDataSize < len(data):
                return NTSTATUS.STATUS_BUFFER_TOO_SMALL
            arguments.pOutputData = data
        else:
            return NTSTATUS.STATUS_NOT_SUPPORTED
        return OK

    def _caps(self) -> DXGK_DRIVERCAPS:
        flags = DXGK_VIDSCHCAPS.MultiEngineAware | DXGK_VIDSCHCAPS.PreemptionAware | DXGK_VIDSCHCAPS.CancelCommandAware
        flags |= DXGK_VIDSCHCAPS.NoDmaPatching  # buffers are never split at SplitOffset, so leaks across parts cannot be
        return DXGK_DRIVERCAPS(
            MaxAllocationListSlotId=MAX_SLOT_ID,
            ApertureSegmentCommitLimit=self.memory.aperture,
            ColorTransformCaps=DXGK_COLORTRANSFORMCAPS.Gamma_Rgb256x3x16,
            MaxQueuedFlipOnVSync=1,
            FlipCaps=DXGK_FLIPCAPS.FlipOnVSyncMmIo | DXGK_FLIPCAPS.FlipImmediateMmIo | DXGK_FLIPCAPS.FlipIndependent,
            SchedulingCaps=vidsch_caps(flags, HwQueuePacketCap=submission.HW_QUEUE_PACKET_CAP),
            MemoryManagementCaps=DXGK_VIDMMCAPS.DedicatedPagingEngine,
            PagingNode=Node.COPY,
            NbAsymetricProcessingNodes=len(self.nodes),
            WDDMVersion=DXGKDDI_INTERFACE_VERSION.WIN8,
            PreemptionCaps=D3DKMDT_PREEMPTION_CAPS(
                GraphicsPreemptionGranularity=D3DKMDT_GRAPHICS_PREEMPTION_GRANULARITY.PRIMITIVE_BOUNDARY,
                ComputePreemptionGranularity=D3DKMDT_COMPUTE_PREEMPTION_GRANULARITY.THREAD_GROUP_BOUNDARY,
            ),
            SupportNonVGA=True,
            SupportPerEngineTDR=True,
        )

    def _umd_private(self) -> bytes:
        read = self.registers.read
        return bytes(
            private_record(
                ADAPTER_PRIVATE,
                interface_version=read(Register.INTERFACE_VERSION),
                local_size=self.memory.local,
                visible_window=self.memory.visible,
                aperture_size=self.memory.aperture,
                node_count=read(Register.NODE_COUNT),
                engine_kind=read(Register.ENGINE_KIND),
                engine_threads=read(Register.ENGINE_THREADS),
                timestamp_frequency=read(Register.TIMESTAMP_FREQUENCY),
                head_count=read(Register.HEAD_COUNT),
            )
        )

    def node_metadata(self, node: int, answer: DXGKARG_GETNODEMETADATA) -> int:
        """DxgkDdiGetNodeMetadata."""
        if node >= len(self.nodes):
            return NTSTATUS.STATUS_INVALID_PARAMETER
        graphics = node == Node.GRAPHICS
        answer.EngineType = DXGK_ENGINE_TYPE.ENGINE_3D if graphics else DXGK_ENGINE_TYPE.COPY
        answer.FriendlyName = "3D and compute" if graphics else "Copy"
        return OK

    # ----- devices and contexts --------------------------------------------------------------------------------------------

    def create_device(self, arguments: DXGKARG_CREATEDEVICE) -> int:
        """DxgkDdiCreateDevice."""
        device = Device(self._new_handle(), bool(arguments.Flags & arguments.Flags.SystemDevice))
        self.devices[device.handle] = device
        arguments.hDevice = device.handle
        arguments.pInfo = DXGK_DEVICEINFO(DMA_BUFFER_SIZE, 0, DMA_PRIVATE_SIZE, ALLOCATION_LIST_SIZE, PATCH_LIST_SIZE)
        return OK

    def create_context(self, device: int, arguments: DXGKARG_CREATECONTEXT) -> int:
        """DxgkDdiCreateContext: DMA buffers in contiguous system memory (segment set 0)."""
        if device not in self.devices or arguments.NodeOrdinal >= len(self.nodes) or arguments.EngineAffinity != 1:
            return NTSTATUS.STATUS_INVALID_PARAMETER
        system = bool(arguments.Flags & DXGK_CREATECONTEXTFLAGS.SystemContext)
        if not system:
            try:
                private = read_private(CONTEXT_PRIVATE, arguments.pPrivateDriverData)
            except ValueError:
                return NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH
            if int(private["node"]) != arguments.NodeOrdinal:
                return NTSTATUS.STATUS_INVALID_PARAMETER
        context = Context(self._new_handle(), device, arguments.NodeOrdinal, 0 if system else self._hardware_context())
        self.contexts[context.handle] = context
        arguments.hContext = context.handle
        info = arguments.ContextInfo
        info.DmaBufferSize = DMA_BUFFER_SIZE
        info.DmaBufferSegmentSet = 0
        info.DmaBufferPrivateDataSize = DMA_PRIVATE_SIZE
        info.AllocationListSize = ALLOCATION_LIST_SIZE
        info.PatchLocationListSize = PATCH_LIST_SIZE
        return OK

    def _hardware_context(self) -> int:
        if self._free_hardware_contexts:
            return self._free_hardware_contexts.pop()
        self._next_hardware_context += 1
        return self._next_hardware_context - 1

    def destroy_context(self, handle: int) -> int:
        """DxgkDdiDestroyContext. The hardware's state of it is dropped when the number is used again: every buffer that does not
        continue another starts from defaults."""
        context = self.contexts.pop(handle, None)
        if context is None:
            return NTSTATUS.STATUS_INVALID_HANDLE
        if context.hardware:
            self._free_hardware_contexts.append(context.hardware)
        return OK

    def destroy_device(self, handle: int) -> int:
        """DxgkDdiDestroyDevice."""
        return OK if self.devices.pop(handle, None) is not None else NTSTATUS.STATUS_INVALID_HANDLE

    # ----- allocations -----------------------------------------------------------------------------------------------------

    def destroy_allocation(self, arguments: DXGKARG_DESTROYALLOCATION) -> int:
        """DxgkDdiDestroyAllocation."""
        self.allocations.destroy(list(arguments.pAllocationList))
        return OK

    def open_allocation(self, device: int, arguments: DXGKARG_OPENALLOCATION) -> int:
        """DxgkDdiOpenAllocation: kernel handle to our allocation by DxgkCbGetHandleData, then a handle for this device."""
        for info in arguments.pOpenAllocation:
            handle = _service(self._kernel.DxgkCbGetHandleData)(DXGKARGCB_GETHANDLEDATA(info.hAllocation))
            if self.allocations.adapter_allocation(handle) is None:
                return NTSTATUS.STATUS_INVALID_HANDLE
            info.hDeviceSpecificAllocation = self.allocations.open(handle)
        return OK

    def _say(self, why: str) -> None:
        """Leave the sentence for Escape, and with the kernel, which adds it to the status."""
        self.last_refusal = why
        log = self._kernel.DxgkCbLogEtwEvent
        if log is not None:
            log("miniport", 0, why.encode())

    # ----- rendering -------------------------------------------------------------------------------------------------------

    def render(self, arguments: DXGKARG_RENDER) -> int:
        """DxgkDdiRender, DxgkDdiRenderKm."""
        handles = arguments.pAllocationList["hDeviceSpecificAllocation"][: arguments.AllocationListSize].tolist()
        sizes: npt.NDArray[np.uint64] = np.array([self.allocations.size(h) for h in handles], np.uint64)
        try:
            return render.render(arguments, sizes)
        except render.Refused as refused:
            self._say(refused.why)
            return refused.status

    def present(self, arguments: DXGKARG_PRESENT) -> int:
        """DxgkDdiPresent."""
        try:
            return present(arguments, self.allocations)
        except render.Refused as refused:
            self._say(refused.why)
            return refused.status

    def submit(self, arguments: DXGKARG_SUBMITCOMMAND) -> int:
        """DxgkDdiSubmitCommand."""
        context = self.contexts.get(arguments.hContext)
        hardware = 0 if context is None else context.hardware
        self.nodes[arguments.NodeOrdinal].submit(arguments, hardware)
        return OK

    def signal_fence(self, arguments: DXGKARG_SIGNALMONITOREDFENCE) -> int:
        """DxgkDdiSignalMonitoredFence: the ring entry of this DMA buffer will write the value. Two fit; a third needs a buffer of
        its own (STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)."""
        added = add_signal(arguments.pDmaBufferPrivateData, arguments.MonitoredFenceGpuVa, arguments.MonitoredFenceValue)
        arguments.DmaBufferPrivateDataUsed = DMA_PRIVATE_SIZE if added else 0
        return OK if added else NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER

    def control_interrupt(self, kind: DXGK_INTERRUPT_TYPE, enable: bool) -> int:
        """DxgkDdiControlInterrupt: vertical sync can be switched."""
        if kind is not DXGK_INTERRUPT_TYPE.CRTC_VSYNC:
            return NTSTATUS.STATUS_NOT_IMPLEMENTED
        self.display.enable_vsync(enable)
        return OK

    def escape(self, arguments: DXGKARG_ESCAPE) -> int:
        """DxgkDdiEscape: the one question is why the last buffer was refused. The answer replaces the data."""
        if bytes(arguments.pPrivateDriverData[:4]) != b"WHY?":
            return NTSTATUS.STATUS_INVALID_PARAMETER
        arguments.pPrivateDriverData[:] = self.last_refusal.encode()
        return OK

    # ----- interrupts ------------------------------------------------------------------------------------------------------

    def interrupt(self) -> bool:
        """DxgkDdiInterruptRoutine: tell the scheduler what the latched registers say; queue the DPC before leaving."""
        message = unlatch(self._mapped.read32)
        if message.cause == Interrupt.FENCE:
            node = self.nodes[message.node]
            if node.completed(message.fence):
                self._notify(DXGK_INTERRUPT_DMA_COMPLETED(message.fence, message.node))
        elif message.cause == Interrupt.PREEMPTED:
            self.nodes[message.node].preempted(message.fence)
            self._notify(DXGK_INTERRUPT_DMA_PREEMPTED(message.preempt_fence, message.fence, message.node))
        elif message.cause == Interrupt.FAULT:
            status = _FAULT_STATUS.get(Fault(message.fault), NTSTATUS.STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE)
            where = f" at {message.fault_address:#x}" if message.fault_address else ""
            self._say(f"the hardware refused packet {message.fault_packet}: {Fault(message.fault).name}{where}")
            self._notify(DXGK_INTERRUPT_DMA_FAULTED(message.fence, status, message.node))
        elif message.cause == Interrupt.VSYNC:
            self._notify(DXGK_INTERRUPT_CRTC_VSYNC(message.head, message.surface))
        else:
            return False  # not ours to report
        _service(self._kernel.DxgkCbQueueDpc)(self._kernel.DeviceHandle)
        return True

    def _notify(self, parameters: DXGK_INTERRUPT_PARAMETERS) -> None:
        data = DXGKARGCB_NOTIFY_INTERRUPT_DATA(parameters)
        _service(self._kernel.DxgkCbNotifyInterrupt)(self._kernel.DeviceHandle, data)

    def dpc(self) -> None:
        """DxgkDdiDpcRoutine."""
        _service(self._kernel.DxgkCbNotifyDpc)(self._kernel.DeviceHandle)

    def _notify_at_interrupt_level(self, parameters: DXGK_INTERRUPT_DMA_COMPLETED | DXGK_INTERRUPT_DMA_PREEMPTED) -> None:
        """Report outside an interrupt: at device level, then a DPC, as if one had come."""

        def report(argument: Any) -> bool:
            self._notify(argument)
            _service(self._kernel.DxgkCbQueueDpc)(self._kernel.DeviceHandle)
            return True

        _service(self._kernel.DxgkCbSynchronizeExecution)(self._kernel.DeviceHandle, report, parameters, 0)

    def preempt(self, arguments: DXGKARG_PREEMPTCOMMAND) -> int:
        """DxgkDdiPreemptCommand."""
        self.nodes[arguments.NodeOrdinal].preempt(arguments, self._notify_at_interrupt_level)
        return OK

    def query_fence(self, arguments: DXGKARG_QUERYCURRENTFENCE) -> int:
        """DxgkDdiQueryCurrentFence."""
        self.nodes[arguments.NodeOrdinal].query_fence(arguments, self._notify_at_interrupt_level)
        return OK

    def reset_from_timeout(self) -> int:
        """DxgkDdiResetFromTimeout: the device touches no memory from here on; content of local memory is lost."""
        self.registers.write(Register.RESET, RESET_KEY)
        for node in self.nodes:
            node.abandon()
        return OK

    def restart_from_timeout(self) -> int:
        """DxgkDdiRestartFromTimeout."""
        self._power_up()
        return OK

    def collect_debug_info(self, arguments: DXGKARG_COLLECTDBGINFO) -> int:
        """DxgkDdiCollectDbgInfo."""
        lines = [
            f"node {n.node}: submitted {n.last_submitted} completed {n.last_completed} in ring {list(n.submitted)}"
            for n in self.nodes
        ]
        text = "\n".join([*lines, self.last_refusal]).encode()[: arguments.BufferSize]
        arguments.pBuffer[: len(text)] = text
        return OK
