"""The adapter: one virtual GPU as its kernel-mode driver knows it, from AddDevice to RemoveDevice.

Models the dispmprt and d3dkmddi reference pages entry by entry; the entries themselves are thin and leave the work to the rooms
beside: rendering, paging, presents, submission, interrupts, allocations, display. What a refusal was about goes to the kernel as an
event; the device that it happened to can ask for it by an escape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from wddm.ddi.d3dkmddi import (
    DXGK_CREATECONTEXTFLAGS,
    DXGK_DEVICEINFO,
    DXGK_ENGINE_TYPE,
    DXGK_INTERRUPT_TYPE,
    DXGKARG_CANCELCOMMAND,
    DXGKARG_COLLECTDBGINFO,
    DXGKARG_CREATECONTEXT,
    DXGKARG_CREATEDEVICE,
    DXGKARG_ESCAPE,
    DXGKARG_GETNODEMETADATA,
    DXGKARG_OPENALLOCATION,
    DXGKARG_PRESENT,
    DXGKARG_QUERYADAPTERINFO,
    DXGKARG_RENDER,
    DXGKARG_SIGNALMONITOREDFENCE,
    DXGKARG_SUBMITCOMMAND,
)
from wddm.ddi.dispmprt import DXGKRNL_INTERFACE, ContiguousMemory
from wddm.ddi.status import NTSTATUS
from wddm.hw import registers as manual
from wddm.hw.driver import CONTEXT_PRIVATE, read_private
from wddm.hw.interrupts import Interrupt
from wddm.hw.packets import PACKET_SIZE
from wddm.hw.registers import RESET_KEY, Node, Register

from . import render, short, submission
from .allocation import Allocations
from .caps import query_adapter_info
from .display import Display
from .hardware import Registers
from .kernel import Kernel, Unavailable
from .present import present
from .private import DMA_PRIVATE_SIZE, add_signal, record_at, spend
from .segments import MemorySizes

OK: Final = NTSTATUS.STATUS_SUCCESS
#: Bytes of a DMA buffer, and elements of its lists: enough for some thousand draws with everything changed between them.
DMA_BUFFER_SIZE: Final = 1 << 20
ALLOCATION_LIST_SIZE: Final = 4096
GDI_ALLOCATION_LIST_SIZE: Final = 256  #: what a GDI context has to have
PATCH_LIST_SIZE: Final = 2 * DMA_BUFFER_SIZE // PACKET_SIZE
#: The question that an escape may ask: why was the last buffer of this device refused? Its answer takes the place of the data.
ESCAPE_WHY: Final = b"WHY?"

#: RenderKm may not answer these (DxgkDdiRender may).
_RENDER_KM: Final = {
    NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION: NTSTATUS.STATUS_INVALID_PARAMETER,
    NTSTATUS.STATUS_ILLEGAL_INSTRUCTION: NTSTATUS.STATUS_INVALID_PARAMETER,
}


@dataclass(slots=True)
class Device:
    """A device: the process's face towards this adapter."""

    handle: int
    system: bool
    last_refusal: str = ""  #: why its last buffer was refused


@dataclass(slots=True)
class Context:
    """A context. ``hardware`` is the number by which the hardware keeps its state; 0 is the kernel's own."""

    handle: int
    device: int
    node: int
    hardware: int
    used: bool = False  #: whether the hardware has heard of it


class Adapter:
    """One adapter. ``new_handle`` gives handles that no other adapter of the driver has."""

    def __init__(self, handle: int, new_handle: Callable[[], int]) -> None:
        self.handle = handle
        self.devices: dict[int, Device] = {}
        self.contexts: dict[int, Context] = {}
        self.nodes: list[submission.NodeQueue] = []
        self.last_refusal = ""  #: the last sentence of all, for CollectDbgInfo
        self._new_handle = new_handle
        self._rings: list[ContiguousMemory] = []
        self._hardware_contexts = 0

    # ----- start and stop --------------------------------------------------------------------------------------------------

    def start(self, interface: DXGKRNL_INTERFACE) -> tuple[int, int, int]:
        """DxgkDdiStartDevice: map the registers, look at the device, make the rings."""
        try:
            self.kernel = kernel = Kernel(interface)
            self.mapped = kernel.map_registers()
        except Unavailable as error:
            return error.status, 0, 0
        try:
            self._look()
            for node in Node:  # more than the manual names stay idle
                self._rings.append(kernel.allocate(submission.RING_SIZE))
                ring = self._rings[-1]
                self.nodes.append(submission.NodeQueue(self.registers, node, ring.array, ring.PhysicalAddress))
        except Unavailable as error:
            kernel.explain(error.why)
            self._give_back()
            return error.status, 0, 0
        self.display = Display(self.registers, self.registers.read(Register.HEAD_COUNT), kernel.query_vidpn)
        self.allocations = Allocations(self.memory, self.explain)
        self._power_up()
        return OK, self.display.heads, self.display.heads

    def _look(self) -> None:
        """Whether this is the device that the driver is for. Raises Unavailable."""
        self.registers = registers = Registers(self.mapped)
        found, version = registers.read(Register.DEVICE_ID), registers.read(Register.INTERFACE_VERSION)
        nodes = registers.read(Register.NODE_COUNT)
        if found != manual.DEVICE_ID or version >> 16 != manual.INTERFACE_VERSION >> 16 or nodes < len(Node):
            raise Unavailable(
                NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH,
                f"device {found:#x} with interface {version:#x} and {nodes} nodes is not for this driver",
            )
        self.memory = MemorySizes(
            registers.read64(Register.LOCAL_SIZE_LO),
            registers.read64(Register.VISIBLE_WINDOW_LO),
            registers.read64(Register.APERTURE_SIZE_LO),
        )

    def _power_up(self) -> None:
        self.registers.write(Register.INTERRUPT_ENABLE, Interrupt.FENCE | Interrupt.PREEMPTED | Interrupt.FAULT | Interrupt.VSYNC)
        for node in self.nodes:
            node.start()

    def stop(self) -> int:
        """DxgkDdiStopDevice: quiet, and what the kernel gave is given back."""
        self.registers.write(Register.INTERRUPT_ENABLE, 0)
        self.registers.write(Register.RESET, RESET_KEY)
        self._give_back()
        return OK

    def _give_back(self) -> None:
        for ring in self._rings:
            self.kernel.free(ring)
        self._rings.clear()
        self.nodes.clear()
        self.kernel.unmap(self.mapped)

    # ----- what the adapter is -----------------------------------------------------------------------------------------------

    def query_adapter_info(self, arguments: DXGKARG_QUERYADAPTERINFO) -> int:
        """DxgkDdiQueryAdapterInfo."""
        return query_adapter_info(arguments, self.registers, self.memory)

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
        if arguments.NodeOrdinal >= len(self.nodes) or arguments.EngineAffinity != 1:
            self.explain(f"there is no engine {arguments.EngineAffinity:#x} of node {arguments.NodeOrdinal}")
            return NTSTATUS.STATUS_INVALID_PARAMETER
        hardware = 0
        if not arguments.Flags & DXGK_CREATECONTEXTFLAGS.SystemContext:
            try:
                private = read_private(CONTEXT_PRIVATE, arguments.pPrivateDriverData)
                if int(private["node"]) != arguments.NodeOrdinal or private["flags"]:
                    raise ValueError(f"private data for node {int(private['node'])} with flags {int(private['flags']):#x}")
            except ValueError as error:
                self.explain(str(error))
                return NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH
            # Never used twice: nothing that the hardware keeps of one context can come to another.
            hardware = self._hardware_contexts + 1
            if hardware >> 32:
                return NTSTATUS.STATUS_NO_MEMORY
            self._hardware_contexts = hardware
        context = Context(self._new_handle(), device, arguments.NodeOrdinal, hardware)
        self.contexts[context.handle] = context
        arguments.hContext = context.handle
        gdi = arguments.Flags & DXGK_CREATECONTEXTFLAGS.GdiContext
        info = arguments.ContextInfo
        info.DmaBufferSize = DMA_BUFFER_SIZE
        info.DmaBufferSegmentSet = 0
        info.DmaBufferPrivateDataSize = DMA_PRIVATE_SIZE
        info.AllocationListSize = GDI_ALLOCATION_LIST_SIZE if gdi else ALLOCATION_LIST_SIZE
        info.PatchLocationListSize = PATCH_LIST_SIZE
        return OK

    def destroy_context(self, handle: int) -> int:
        """DxgkDdiDestroyContext: the hardware will forget it."""
        context = self.contexts.pop(handle, None)
        if context is None:
            return NTSTATUS.STATUS_INVALID_HANDLE
        if context.used and context.hardware:
            self.nodes[context.node].forget(context.hardware)
        return OK

    def destroy_device(self, handle: int) -> int:
        """DxgkDdiDestroyDevice."""
        return OK if self.devices.pop(handle, None) is not None else NTSTATUS.STATUS_INVALID_HANDLE

    # ----- allocations -----------------------------------------------------------------------------------------------------

    def open_allocation(self, arguments: DXGKARG_OPENALLOCATION) -> int:
        """DxgkDdiOpenAllocation: kernel handle to our allocation by DxgkCbGetHandleData, then a handle for this device."""
        opened = [self.allocations.open(self.kernel.handle_data(info.hAllocation)) for info in arguments.pOpenAllocation]
        if not all(opened):
            self.allocations.close([handle for handle in opened if handle])
            return NTSTATUS.STATUS_INVALID_HANDLE
        for info, handle in zip(arguments.pOpenAllocation, opened, strict=True):
            info.hDeviceSpecificAllocation = handle
        return OK

    # ----- rendering -------------------------------------------------------------------------------------------------------

    def render(self, hContext: int, arguments: DXGKARG_RENDER, *, kernel_mode: bool = False) -> int:
        """DxgkDdiRender, DxgkDdiRenderKm."""
        context = self.contexts[hContext]
        copy_node = context.node == Node.COPY
        if short.translate(arguments, self.allocations.size, copy_node=copy_node):
            return OK
        handles = arguments.pAllocationList["hDeviceSpecificAllocation"][: arguments.AllocationListSize].tolist()
        sizes: npt.NDArray[np.uint64] = np.array([self.allocations.size(h) for h in handles], np.uint64)
        try:
            return render.render(arguments, sizes, copy_node=copy_node)
        except render.Refused as refused:
            self.explain(refused.why, context)
            return _RENDER_KM.get(refused.status, refused.status) if kernel_mode else refused.status

    def present(self, hContext: int, arguments: DXGKARG_PRESENT) -> int:
        """DxgkDdiPresent."""
        context = self.contexts[hContext]
        try:
            return present(arguments, self.allocations, copy_node=context.node == Node.COPY)
        except render.Refused as refused:
            self.explain(refused.why, context)
            return refused.status

    def submit(self, arguments: DXGKARG_SUBMITCOMMAND) -> int:
        """DxgkDdiSubmitCommand. What the contract rules out is refused: no buffer of a process may run as the kernel's."""
        node = self.node(arguments.NodeOrdinal, arguments.EngineOrdinal)
        context = self.contexts.get(arguments.hContext)
        if node is None or (context is None) != (arguments.hContext == 0):
            return NTSTATUS.STATUS_INVALID_PARAMETER
        if context is None:
            submitted = node.submit(arguments, 0, 0)
        elif context.node != arguments.NodeOrdinal:
            return NTSTATUS.STATUS_INVALID_PARAMETER
        else:
            context.used = True
            submitted = node.submit(arguments, context.handle, context.hardware)
        return OK if submitted else NTSTATUS.STATUS_INVALID_PARAMETER

    def cancel(self, arguments: DXGKARG_CANCELCOMMAND) -> int:
        """DxgkDdiCancelCommand: what the buffer's private data asks for will not be done."""
        spend(record_at(arguments.pDmaBufferPrivateData, arguments.DmaBufferPrivateDataSubmissionStartOffset))
        return OK

    def signal_fence(self, arguments: DXGKARG_SIGNALMONITOREDFENCE) -> int:
        """DxgkDdiSignalMonitoredFence: the ring entry of this DMA buffer will write the value. Two fit; a third needs a buffer of
        its own (STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)."""
        added = add_signal(arguments.pDmaBufferPrivateData, arguments.MonitoredFenceGpuVa, arguments.MonitoredFenceValue)
        arguments.DmaBufferPrivateDataUsed = DMA_PRIVATE_SIZE if added else 0
        return OK if added else NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER

    def node(self, ordinal: int, engine: int) -> submission.NodeQueue | None:
        """A node of the one engine there is; None where there is none."""
        return self.nodes[ordinal] if 0 <= ordinal < len(self.nodes) and engine == 0 else None

    def control_interrupt(self, kind: DXGK_INTERRUPT_TYPE, enable: bool) -> int:
        """DxgkDdiControlInterrupt: vertical sync can be switched."""
        if kind is not DXGK_INTERRUPT_TYPE.CRTC_VSYNC:
            return NTSTATUS.STATUS_NOT_IMPLEMENTED
        self.display.enable_vsync(enable)
        return OK

    # ----- explanations ----------------------------------------------------------------------------------------------------

    def explain(self, why: str, context: Context | None = None) -> None:
        """Say why something is refused: to the kernel, and to the device that it belongs to."""
        self.last_refusal = why
        self.kernel.explain(why)
        device = None if context is None else self.devices.get(context.device)
        if device is not None:
            device.last_refusal = why

    def escape(self, arguments: DXGKARG_ESCAPE) -> int:
        """DxgkDdiEscape: ESCAPE_WHY. A device hears about nothing but its own buffers."""
        context = self.contexts.get(arguments.hContext)
        device = self.devices.get(arguments.hDevice if context is None else context.device)
        if device is None or bytes(arguments.pPrivateDriverData) != ESCAPE_WHY:
            return NTSTATUS.STATUS_INVALID_PARAMETER
        arguments.pPrivateDriverData[:] = device.last_refusal.encode()
        return OK

    def collect_debug_info(self, arguments: DXGKARG_COLLECTDBGINFO) -> int:
        """DxgkDdiCollectDbgInfo."""
        lines = [
            f"node {n.node}: submitted {n.last_submitted} completed {n.last_completed} in ring {[s.fence for s in n.submitted]}"
            for n in self.nodes
        ]
        text = "\n".join([*lines, self.last_refusal]).encode()[: arguments.BufferSize]
        arguments.pBuffer[: len(text)] = text
        return OK

    # ----- reset of the whole adapter --------------------------------------------------------------------------------------

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
