"""A kernel for the miniport to talk to: registers that remember what was written, services that remember what was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from miniport import DriverEntry
from miniport.private import DMA_PRIVATE_SIZE
from wddm.ddi import d3dkmddi as ddi
from wddm.ddi import dispmprt
from wddm.ddi.d3dkmddi import DXGKARG_CREATECONTEXT, DXGKARG_CREATEDEVICE, DXGKARG_SUBMITCOMMAND
from wddm.ddi.status import NTSTATUS
from wddm.hw import registers as manual
from wddm.hw.driver import CONTEXT_PRIVATE, private_record
from wddm.hw.interrupts import InterruptMessage, latch
from wddm.hw.memory import bus_address
from wddm.hw.packets import RING_ENTRY, RING_ENTRY_SIZE
from wddm.hw.registers import HeadRegister, NodeRegister, Register, head_register, name_register, node_register

OK = NTSTATUS.STATUS_SUCCESS


class RegisterFile:
    """Registers that hold what was written; ``writes`` in order, by name."""

    def __init__(self, heads: int = 1) -> None:
        self.values: dict[int, int] = {}
        self.writes: list[tuple[str, int]] = []
        for register, value in {
            Register.DEVICE_ID: manual.DEVICE_ID,
            Register.INTERFACE_VERSION: manual.INTERFACE_VERSION,
            Register.NODE_COUNT: 2,
            Register.HEAD_COUNT: heads,
            Register.LOCAL_SIZE_LO: 256 << 20,
            Register.VISIBLE_WINDOW_LO: 16 << 20,
            Register.APERTURE_SIZE_LO: 1 << 30,
            Register.ENGINE_THREADS: 2,
            Register.TIMESTAMP_FREQUENCY: 1_000_000_000,
        }.items():
            self.values[register] = value
        for head in range(heads):
            for name, value in {
                HeadRegister.MAX_WIDTH: 4096,
                HeadRegister.MAX_HEIGHT: 4096,
                HeadRegister.NATIVE_WIDTH: 1280,
                HeadRegister.NATIVE_HEIGHT: 720,
                HeadRegister.REFRESH_NUMERATOR: 60,
                HeadRegister.REFRESH_DENOMINATOR: 1,
            }.items():
                self.values[head_register(head, name)] = value

    def read32(self, offset: int) -> int:
        assert name_register(offset) is not None
        return self.values.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        assert 0 <= value < 1 << 32
        self.values[offset] = value
        self.writes.append((str(name_register(offset)), value))

    def take(self) -> list[tuple[str, int]]:
        """What has been written since the last look."""
        writes, self.writes = self.writes, []
        return writes

    def node(self, node: int, register: NodeRegister) -> int:
        return self.values.get(node_register(node, register), 0)

    def set_node(self, node: int, register: NodeRegister, value: int) -> None:
        self.values[node_register(node, register)] = value


@dataclass(eq=False)
class Memory:
    """Contiguous memory."""

    array: npt.NDArray[np.uint8]
    PhysicalAddress: int


@dataclass
class Kernel:
    """The services. ``log`` says in order what the miniport did with them."""

    registers: RegisterFile = field(default_factory=RegisterFile)
    log: list[Any] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    mapped: int = 0
    handles: dict[int, int] = field(default_factory=dict)
    fail: set[str] = field(default_factory=set)
    level: int = 0  #: > 0: at interrupt level
    query_vidpn: Callable[[int], tuple[int, ddi.DXGK_VIDPN_INTERFACE | None]] = lambda handle: (0xC01E_0303, None)

    def interface(self) -> dispmprt.DXGKRNL_INTERFACE:
        return dispmprt.DXGKRNL_INTERFACE(
            DeviceHandle=77,
            DxgkCbGetDeviceInformation=self.information,
            DxgkCbMapMemory=self.map,
            DxgkCbUnmapMemory=self.unmap,
            DxgkCbQueueDpc=self.queue_dpc,
            DxgkCbSynchronizeExecution=self.synchronize,
            DxgkCbGetHandleData=lambda arguments: self.handles.get(arguments.hObject, 0),
            DxgkCbNotifyInterrupt=self.notify_interrupt,
            DxgkCbNotifyDpc=lambda device: self.log.append("notify dpc"),
            DxgkCbQueryVidPnInterface=lambda handle: self.query_vidpn(handle),
            DxgkCbLogEtwEvent=lambda event, kind, data: self.log.append(("why", data.decode())),
            DxgkCbAllocateContiguousMemory=self.allocate,
            DxgkCbFreeContiguousMemory=self.free,
        )

    def information(self, device: int) -> tuple[int, dispmprt.DXGK_DEVICE_INFO | None]:
        kinds = dispmprt.CM_RESOURCE_TYPE
        found = (
            dispmprt.CM_PARTIAL_RESOURCE_DESCRIPTOR(kinds.INTERRUPT, 0, 1),
            dispmprt.CM_PARTIAL_RESOURCE_DESCRIPTOR(kinds.MEMORY, 0xF000_0000, manual.REGISTER_FILE_SIZE),
        )
        return OK, dispmprt.DXGK_DEVICE_INFO(TranslatedResourceList=() if "bar" in self.fail else found)

    def map(self, device: int, address: int, length: int, *how: object) -> tuple[int, RegisterFile | None]:
        assert (address, length) == (0xF000_0000, manual.REGISTER_FILE_SIZE)
        if "map" in self.fail:
            return NTSTATUS.STATUS_UNSUCCESSFUL, None
        self.mapped += 1
        return OK, self.registers

    def unmap(self, device: int, mapped: object) -> int:
        assert mapped is self.registers
        self.mapped -= 1
        return OK

    def allocate(self, device: int, size: int) -> tuple[int, Memory | None]:
        if f"allocate {len(self.memory)}" in self.fail:
            return NTSTATUS.STATUS_NO_MEMORY, None
        self.memory.append(Memory(np.zeros(size, np.uint8), bus_address(len(self.memory) + 1)))
        return OK, self.memory[-1]

    def free(self, device: int, memory: Memory) -> int:
        self.memory.remove(memory)
        return OK

    def synchronize(self, device: int, routine: Callable[[Any], bool], context: Any, message: int) -> tuple[int, bool]:
        self.level += 1
        try:
            return OK, routine(context)
        finally:
            self.level -= 1

    def notify_interrupt(self, device: int, data: ddi.DXGKARGCB_NOTIFY_INTERRUPT_DATA) -> None:
        assert device == 77
        assert self.level == 1, "notified below interrupt level"
        self.log.append(data.Parameters)

    def queue_dpc(self, device: int) -> bool:
        self.log.append("queue dpc")
        return True

    def take(self) -> list[Any]:
        """What has happened since the last look."""
        log, self.log = self.log, []
        return log


class Rig:
    """A started adapter."""

    def __init__(self, *, heads: int = 1) -> None:
        self.kernel = Kernel(RegisterFile(heads))
        self.registers = self.kernel.registers
        self.table = load()
        assert self.table.DxgkDdiAddDevice is not None
        _, self.hAdapter = self.table.DxgkDdiAddDevice(None)
        self.started = self("StartDevice", dispmprt.DXGK_START_INFO(), self.kernel.interface())
        self.registers.take()

    def __call__(self, entry: str, *arguments: Any) -> Any:
        """An entry whose first argument is the adapter."""
        return getattr(self.table, f"DxgkDdi{entry}")(self.hAdapter, *arguments)

    def entry(self, name: str, *arguments: Any) -> Any:
        """Any entry."""
        return getattr(self.table, f"DxgkDdi{name}")(*arguments)

    def device(self) -> int:
        arguments = DXGKARG_CREATEDEVICE(hDevice=1)
        assert self("CreateDevice", arguments) == OK
        return arguments.hDevice

    def context(self, device: int, node: int = 0) -> int:
        arguments = DXGKARG_CREATECONTEXT(1, node, pPrivateDriverData=private_record(CONTEXT_PRIVATE, node=node))
        assert self.entry("CreateContext", device, arguments) == OK
        return arguments.hContext

    def ring(self, node: int = 0) -> npt.NDArray[Any]:
        """The entries of a node's ring."""
        return self.kernel.memory[node].array.view(RING_ENTRY)

    def new_entries(self, node: int, since: int) -> list[Any]:
        """Entries from counter ``since`` to the doorbell."""
        ring, entries = self.ring(node), self.registers.node(node, NodeRegister.RING_ENTRIES)
        assert len(ring) == entries == len(self.kernel.memory[node].array) // RING_ENTRY_SIZE
        return [ring[i % entries].copy() for i in range(since, self.registers.node(node, NodeRegister.RING_TAIL))]

    def submit(
        self, fence: int, context: int = 0, *, node: int = 0, private: npt.NDArray[np.uint8] | None = None, **more: Any
    ) -> int:
        status: int = self(
            "SubmitCommand",
            DXGKARG_SUBMITCOMMAND(
                hContext=context,
                DmaBufferSegmentId=0,
                DmaBufferPhysicalAddress=bus_address(9),
                DmaBufferSize=4096,
                DmaBufferSubmissionStartOffset=0,
                DmaBufferSubmissionEndOffset=more.pop("size", 128),
                SubmissionFenceId=fence,
                NodeOrdinal=node,
                pDmaBufferPrivateData=private,
                DmaBufferPrivateDataSize=0 if private is None else len(private),
                **more,
            ),
        )
        return status

    def interrupt(self, message: InterruptMessage) -> bool:
        """The device raises an interrupt."""
        self.registers.values.update(latch(message))
        self.kernel.level += 1
        try:
            return bool(self("InterruptRoutine", 0))
        finally:
            self.kernel.level -= 1


def load() -> dispmprt.DRIVER_INITIALIZATION_DATA:
    """The table that DriverEntry registers."""
    found: list[dispmprt.DRIVER_INITIALIZATION_DATA] = []

    def DxgkInitialize(data: dispmprt.DRIVER_INITIALIZATION_DATA) -> int:
        found.append(data)
        return OK

    assert DriverEntry(DxgkInitialize) == OK
    return found[0]


def private_data() -> npt.NDArray[np.uint8]:
    """The private data of a fresh DMA buffer."""
    return np.zeros(DMA_PRIVATE_SIZE, np.uint8)
