"""A graphics card that a test owns: a bus device and the miniport that drives it, as small as the kernel's tests allow.

The device has local memory, an aperture, two nodes and one head. Work runs at once (``auto``) or when the test says so
(:meth:`FakeGpu.step`); vertical sync comes when the test says so. A command is one 48-byte record; user mode may write FILL, COPY,
HANG and FAULT, the miniport adds the privileged ones. Nothing of :mod:`wddm.hw` is used: the kernel must not care.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import trio

from wddm.ddi import d3dkmddi as ddi
from wddm.ddi import dispmprt
from wddm.ddi.d3dkmdt import (
    D3DKMDT_2DREGION,
    D3DKMDT_GRAPHICS_RENDERING_FORMAT,
    D3DKMDT_MODE_PREFERENCE,
    D3DKMDT_VIDPN_SOURCE_MODE_TYPE,
    DXGK_COLORTRANSFORMCAPS,
)
from wddm.ddi.d3dukmdt import D3DDDI_RATIONAL, D3DDDIFORMAT, segment_preference
from wddm.ddi.status import NTSTATUS
from wddm.wire import bus
from wddm.wire.channel import Channel
from wddm.wire.memory import SharedMemory
from wddm.wire.transport import Transport

PAGE: Final = 4096
LOCAL: Final = 1 << 32
APERTURE: Final = 1 << 40

RECORD: Final = np.dtype(
    [
        ("op", "<u4"),
        ("value", "<u4"),
        ("address", "<u8"),
        ("size", "<u4"),
        ("pad", "<u4"),
        ("address2", "<u8"),
        ("more", "<u8", (2,)),
    ]
)
assert RECORD.itemsize == 48


class Op(IntEnum):
    """Records. From 16 on privileged."""

    NOP = 0
    FILL = 1  #: ``size`` bytes at address get the byte ``value``
    COPY = 2  #: ``size`` bytes from address2 to address
    HANG = 3  #: never ends
    FAULT = 4
    STUBBORN = 5  #: never ends, and does not give way to a preemption
    SYSTEM_COPY = 16
    SYSTEM_FILL = 17
    MAP = 18  #: pages value.. get the system memory at address2, size pages
    UNMAP = 19


class Reg(IntEnum):
    """Register offsets."""

    MAGIC = 0x00
    LOCAL_SIZE = 0x04
    APERTURE_SIZE = 0x08
    WIDTH = 0x0C
    HEIGHT = 0x10
    CAUSE = 0x20
    SOURCE = 0x24
    FENCE = 0x28
    PREEMPT_FENCE = 0x2C
    SURFACE_LO = 0x30
    SURFACE_HI = 0x34
    FAULT = 0x38
    # what a submission is written to, NODE last
    S_ADDRESS_LO = 0x40
    S_ADDRESS_HI = 0x44
    S_SIZE = 0x48
    S_FENCE = 0x4C
    S_FLAGS = 0x50
    S_SIGNALS = 0x54
    S_SIGNAL = 0x58  #: two of them, 16 bytes each: address lo, hi, value lo, hi
    S_NODE = 0x78
    PREEMPT = 0x80  #: node | fence << 8
    RESET = 0x84  #: node, 0xFF: all
    FLIP_LO = 0x90
    FLIP_HI = 0x94
    FLIP = 0x98  #: 1 at vertical sync, 2 at once
    VISIBLE = 0x9C
    MODE_WIDTH = 0xA0
    MODE_HEIGHT = 0xA4
    GAMMA = 0xA8


class Cause(IntEnum):
    """Interrupt causes."""

    FENCE = 1
    PREEMPTED = 2
    FAULT = 3
    VSYNC = 4


@dataclass
class Submission:
    """What the device was given."""

    address: int
    size: int
    fence: int
    flags: int
    signals: list[tuple[int, int]]
    at: int = 0  #: records done


@dataclass
class FakeNode:
    """A queue and what stopped it."""

    queue: deque[Submission] = field(default_factory=deque)
    completed: int = 0
    stopped: bool = False
    hanging: str = ""


class FakeGpu:
    """The device end of the bus."""

    def __init__(
        self,
        transport: Transport,
        *,
        local: int = 64 * PAGE,
        aperture: int = 64 * PAGE,
        auto: bool = True,
        descriptors: bool = True,
    ) -> None:
        self.channel = Channel(transport, bus.BUS, server=True, name="fake gpu")
        self.descriptors = descriptors and self.channel.passes_descriptors
        self.local = np.zeros(local, np.uint8)
        self.local[:] = 0xEE  # what others left there
        self.aperture: dict[int, tuple[int, int]] = {}
        self.blocks: dict[int, npt.NDArray[np.uint8]] = {}
        self.nodes = [FakeNode(), FakeNode()]
        self.auto = auto
        self.registers = np.zeros(64, np.uint32)
        self.registers[[0, 1, 2, 3, 4]] = 0xFA4E, local, aperture, 640, 360
        self.armed: int | None = None
        self.surface = 0
        self.vblank = 0
        self.log: list[str] = []
        self.writes: list[tuple[int, int]] = []
        self.deaf = False  #: takes no preemption
        self.channel.on_all(
            {
                bus.Hello: self._hello,
                bus.ReadRegisters: lambda m: bus.Registers(values=[int(self.registers[o // 4]) for o in m.offsets]),
                bus.WriteRegisters: self._write_registers,
                bus.AddMemory: self._add,
                bus.RemoveMemory: lambda m: self.blocks.__delitem__(m.id),
                bus.WriteMemory: self._write_memory,
                bus.ReadMemory: lambda m: bus.MemoryData(data=self.view(m.address, m.size).tobytes()),
                bus.ReadFrame: self._read_frame,
            }
        )

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the bus until it ends."""
        await self.channel.run(task_status=task_status)

    # ----- bus ---------------------------------------------------------------------------------------------------------------

    def _hello(self, message: bus.Hello) -> bus.HelloReply:
        return bus.HelloReply(
            protocol=bus.BUS.name, version=bus.BUS.version, descriptors=self.descriptors, registers=self.registers.tobytes()
        )

    def _add(self, message: bus.AddMemory) -> None:
        assert message.id not in self.blocks
        if message.memory is None:
            self.blocks[message.id] = np.zeros(message.size, np.uint8)
        else:
            with SharedMemory.open(message.memory.number, message.size) as memory:
                self.blocks[message.id] = memory.array

    def _write_memory(self, message: bus.WriteMemory) -> None:
        self.view(message.address, len(message.data))[:] = np.frombuffer(message.data, np.uint8)

    def _read_frame(self, message: bus.ReadFrame) -> bus.Frame:
        width, height = int(self.registers[Reg.MODE_WIDTH // 4]), int(self.registers[Reg.MODE_HEIGHT // 4])
        data = bytes(width * height * 4)
        if self.registers[Reg.VISIBLE // 4] and self.surface:
            data = self.view(self.surface, len(data)).tobytes()
        return bus.Frame(width=width, height=height, vblank_count=self.vblank, data=data)

    def view(self, address: int, size: int) -> npt.NDArray[np.uint8]:
        """Bytes of local or system memory."""
        if address >= bus.SYSTEM_BASE:
            block, offset = (address - bus.SYSTEM_BASE) >> 36, address & ((1 << 36) - 1)
            assert offset + size <= len(self.blocks[block])
            return self.blocks[block][offset : offset + size]
        assert address >= LOCAL
        assert address + size <= LOCAL + len(self.local), f"{address:#x}+{size:#x} outside local memory"
        return self.local[address - LOCAL : address - LOCAL + size]

    def _pieces(self, address: int, size: int) -> list[npt.NDArray[np.uint8]]:
        if not APERTURE <= address < bus.SYSTEM_BASE:
            return [self.view(address, size)]
        found, at = [], address - APERTURE
        while size:
            page, offset = divmod(at, PAGE)
            block, source = self.aperture[page]
            count = min(size, PAGE - offset)
            found.append(self.blocks[block][source * PAGE + offset : source * PAGE + offset + count])
            at, size = at + count, size - count
        return found

    def read(self, address: int, size: int) -> npt.NDArray[np.uint8]:
        """A copy of bytes anywhere."""
        return np.concatenate(self._pieces(address, size)) if size else np.zeros(0, np.uint8)

    def write(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        """Store bytes anywhere."""
        at = 0
        for piece in self._pieces(address, len(data)):
            piece[:] = data[at : at + len(piece)]
            at += len(piece)

    # ----- registers ---------------------------------------------------------------------------------------------------------

    def _write_registers(self, message: bus.WriteRegisters) -> None:
        for offset, value in zip(message.offsets, message.values, strict=True):
            self.registers[offset // 4] = value
            self.writes.append((offset, value))
            if offset == Reg.S_NODE:
                self._submit(value)
            elif offset == Reg.PREEMPT:
                self._preempt(value & 0xFF, value >> 8)
            elif offset == Reg.RESET:
                self._reset(value)
            elif offset == Reg.FLIP:
                self.armed = self._pair(Reg.FLIP_LO)
                if value == 2:
                    self.surface, self.armed = self.armed, None

    def _pair(self, low: int) -> int:
        return int(self.registers[low // 4]) | int(self.registers[low // 4 + 1]) << 32

    def _submit(self, node: int) -> None:
        count = int(self.registers[Reg.S_SIGNALS // 4])
        signals = [(self._pair(Reg.S_SIGNAL + i * 16), self._pair(Reg.S_SIGNAL + i * 16 + 8)) for i in range(count)]
        get = lambda r: int(self.registers[r // 4])  # noqa: E731
        self.nodes[node].queue.append(
            Submission(self._pair(Reg.S_ADDRESS_LO), get(Reg.S_SIZE), get(Reg.S_FENCE), get(Reg.S_FLAGS), signals)
        )
        self.log.append(f"submit {node} {get(Reg.S_FENCE)}")
        if self.auto:
            self.drain(node)

    def _preempt(self, node: int, fence: int) -> None:
        state = self.nodes[node]
        if self.deaf or state.hanging == "stubborn":
            return
        state.queue.clear()
        state.hanging = ""
        self.log.append(f"preempted {node}")
        self.interrupt(Cause.PREEMPTED, node, fence=state.completed, preempt=fence)

    def _reset(self, which: int) -> None:
        for number, node in enumerate(self.nodes):
            if which in (number, 0xFF):
                node.queue.clear()
                node.stopped, node.hanging = False, ""
        if which == 0xFF:
            self.aperture.clear()
            self.local[:] = 0xDD
        self.log.append(f"reset {which}")

    def interrupt(self, cause: Cause, source: int, *, fence: int = 0, preempt: int = 0, fault: int = 0) -> None:
        """Raise an interrupt with its latched registers."""
        values = {
            Reg.CAUSE: int(cause),
            Reg.SOURCE: source,
            Reg.FENCE: fence,
            Reg.PREEMPT_FENCE: preempt,
            Reg.SURFACE_LO: self.surface & 0xFFFF_FFFF,
            Reg.SURFACE_HI: self.surface >> 32,
            Reg.FAULT: fault,
        }
        self.channel.notify(bus.InterruptRaised(offsets=[int(o) for o in values], values=list(values.values())))

    # ----- work --------------------------------------------------------------------------------------------------------------

    def drain(self, node: int) -> None:
        """Run everything that is queued."""
        while self.step(node):
            pass

    def step(self, node: int = 0) -> bool:
        """Run the oldest submission to its end, if it has one. Returns whether one ended."""
        state = self.nodes[node]
        if state.stopped or not state.queue or state.hanging:
            return False
        work = state.queue[0]
        if not work.flags & 1:  # not null rendering
            records = np.frombuffer(self.view(work.address, work.size).tobytes(), RECORD) if work.size else np.zeros(0, RECORD)
            for record in records:
                op = Op(int(record["op"]))
                if op in (Op.HANG, Op.STUBBORN):
                    state.hanging = op.name.lower()
                    return False
                if op is Op.FAULT:
                    state.stopped = True
                    self.interrupt(Cause.FAULT, node, fence=work.fence, fault=7)
                    return False
                self._execute(op, record)
        state.queue.popleft()
        for address, value in work.signals:
            self.view(address, 8).view(np.uint64)[0] = value
        state.completed = work.fence
        self.log.append(f"complete {node} {work.fence}")
        self.interrupt(Cause.FENCE, node, fence=work.fence)
        return True

    def _execute(self, op: Op, record: Any) -> None:
        address, address2, size = int(record["address"]), int(record["address2"]), int(record["size"])
        if op in (Op.FILL, Op.SYSTEM_FILL):
            self.write(address, np.full(size, int(record["value"]) & 0xFF, np.uint8))
        elif op in (Op.COPY, Op.SYSTEM_COPY):
            self.write(address, self.read(address2, size))
        elif op is Op.MAP:
            block, offset = (address2 - bus.SYSTEM_BASE) >> 36, address2 & ((1 << 36) - 1)
            for page in range(size):
                assert int(record["value"]) + page not in self.aperture, "an aperture page is mapped twice"
                self.aperture[int(record["value"]) + page] = block, offset // PAGE + page
        elif op is Op.UNMAP:
            for page in range(size):
                del self.aperture[int(record["value"]) + page]

    def vsync(self) -> None:
        """A vertical sync: latch what is armed, raise the interrupt."""
        self.vblank += 1
        if self.armed is not None:
            self.surface, self.armed = self.armed, None
        self.interrupt(Cause.VSYNC, 0)


# ----- the miniport --------------------------------------------------------------------------------------------------------------


PRIVATE: Final = np.dtype([("size", "<u8"), ("flags", "<u4"), ("width", "<u4"), ("height", "<u4"), ("pad", "<u4")])


class Place(IntEnum):
    """``flags`` of an allocation's private data."""

    LOCAL = 1  #: local memory only
    APERTURE = 2  #: aperture only, CpuVisible
    ANYWHERE = 3  #: local memory first, then the aperture; CpuVisible
    FLEXIBLE = 4  #: local memory first, then the aperture; not for the processor
    VISIBLE = 5  #: local memory only, and CpuVisible


def allocation_private(size: int, place: Place, *, width: int = 0, height: int = 0) -> bytes:
    """Private data of an allocation."""
    record = np.zeros(1, PRIVATE)
    record[0] = size, place, width, height, 0
    return record.tobytes()


@dataclass
class FakeAllocation:
    """What the miniport knows."""

    size: int
    place: Place
    width: int
    height: int


class FakeMiniport:
    """Entries for one adapter. ``before`` can replace the answer of an entry: a function of its arguments that returns a status or
    None."""

    dma_size = 48 * 64
    cap = 4
    preempt_ok = True

    def __init__(self) -> None:
        self.allocations: dict[int, FakeAllocation] = {}
        self.opened: dict[int, int] = {}
        self.devices: set[int] = set()
        self.contexts: set[int] = set()
        self.next = 0x100
        self.submitted: list[deque[int]] = [deque(), deque()]
        self.completed = [0, 0]
        self.before: dict[str, Callable[..., Any]] = {}
        self.calls: list[str] = []
        self.table: dispmprt.DRIVER_INITIALIZATION_DATA | None = None

    def handle(self) -> int:
        self.next += 0x10
        return self.next

    def DriverEntry(self, DxgkInitialize: Callable[[dispmprt.DRIVER_INITIALIZATION_DATA], int]) -> int:
        """Register every method called like an entry."""
        entries = {name: self._wrap(name) for name in dispmprt.entry_names() if hasattr(self, name)}
        self.table = dispmprt.DRIVER_INITIALIZATION_DATA(**entries)
        return DxgkInitialize(self.table)

    def _wrap(self, name: str) -> Callable[..., Any]:
        def entry(*arguments: Any) -> Any:
            self.calls.append(name)
            if name in self.before:
                answer = self.before[name](*arguments)
                if answer is not None:
                    return answer
            return getattr(self, name)(*arguments)

        return entry

    # start
    def DxgkDdiAddDevice(self, pdo: object) -> tuple[int, int]:
        return 0, 0x77

    def DxgkDdiStartDevice(self, h: int, info: Any, kernel: dispmprt.DXGKRNL_INTERFACE) -> tuple[int, int, int]:
        self.kernel: Any = kernel
        _, device = self.kernel.DxgkCbGetDeviceInformation(kernel.DeviceHandle)
        bar = device.TranslatedResourceList[0]
        _, self.bar = self.kernel.DxgkCbMapMemory(kernel.DeviceHandle, bar.Start, bar.Length, False, False, 0)
        assert self.bar.read32(Reg.MAGIC) == 0xFA4E
        return 0, 1, 1

    def DxgkDdiQueryChildRelations(self, h: int) -> tuple[int, list[Any]]:
        return 0, [dispmprt.DXGK_CHILD_DESCRIPTOR(0)]

    def DxgkDdiQueryChildStatus(self, h: int, status: Any, non_destructive: bool) -> int:
        status.Connected = True
        return 0

    def DxgkDdiQueryAdapterInfo(self, h: int, a: ddi.DXGKARG_QUERYADAPTERINFO) -> int:
        if a.Type is ddi.DXGK_QUERYADAPTERINFOTYPE.DRIVERCAPS:
            flags = ddi.DXGK_VIDSCHCAPS
            a.pOutputData = ddi.DXGK_DRIVERCAPS(
                FlipCaps=ddi.DXGK_FLIPCAPS.FlipOnVSyncMmIo | ddi.DXGK_FLIPCAPS.FlipImmediateMmIo,
                SchedulingCaps=ddi.vidsch_caps(
                    flags.MultiEngineAware | flags.PreemptionAware | flags.CancelCommandAware, HwQueuePacketCap=self.cap
                ),
                ColorTransformCaps=DXGK_COLORTRANSFORMCAPS.Gamma_Rgb256x3x16,
                PagingNode=1,
                NbAsymetricProcessingNodes=2,
                SupportPerEngineTDR=True,
            )
        elif a.Type is ddi.DXGK_QUERYADAPTERINFOTYPE.QUERYSEGMENT:
            answer: Any = a.pOutputData
            local, aperture = self.bar.read32(Reg.LOCAL_SIZE), self.bar.read32(Reg.APERTURE_SIZE)
            answer.NbSegment = 2
            answer.PagingBufferSize = self.dma_size
            answer.PagingBufferPrivateDataSize = 64
            if answer.pSegmentDescriptor is not None:
                answer.pSegmentDescriptor = [
                    ddi.DXGK_SEGMENTDESCRIPTOR(LOCAL, local, local, ddi.DXGK_SEGMENTFLAGS.NONE),
                    ddi.DXGK_SEGMENTDESCRIPTOR(APERTURE, aperture, aperture, ddi.DXGK_SEGMENTFLAGS.Aperture),
                ]
        else:
            a.pOutputData = b"fake"
        return 0

    def DxgkDdiGetNodeMetadata(self, h: int, node: int, a: ddi.DXGKARG_GETNODEMETADATA) -> int:
        a.EngineType = ddi.DXGK_ENGINE_TYPE.COPY if node else ddi.DXGK_ENGINE_TYPE.ENGINE_3D
        a.FriendlyName = ("3D", "Copy")[node]
        return 0

    # objects
    def DxgkDdiCreateDevice(self, h: int, a: ddi.DXGKARG_CREATEDEVICE) -> int:
        a.hDevice = self.handle()
        self.devices.add(a.hDevice)
        return 0

    def DxgkDdiDestroyDevice(self, h: int) -> int:
        self.devices.remove(h)
        return 0

    def DxgkDdiCreateContext(self, h: int, a: ddi.DXGKARG_CREATECONTEXT) -> int:
        assert h in self.devices
        a.hContext = self.handle()
        self.contexts.add(a.hContext)
        a.ContextInfo.DmaBufferSize = self.dma_size
        a.ContextInfo.DmaBufferPrivateDataSize = 64
        a.ContextInfo.AllocationListSize = 32
        a.ContextInfo.PatchLocationListSize = 128
        return 0

    def DxgkDdiDestroyContext(self, h: int) -> int:
        self.contexts.remove(h)
        return 0

    def DxgkDdiCreateAllocation(self, h: int, a: ddi.DXGKARG_CREATEALLOCATION) -> int:
        records = []
        for info in a.pAllocationInfo:
            if info.PrivateDriverDataSize != PRIVATE.itemsize:
                return NTSTATUS.STATUS_INVALID_PARAMETER
            record = np.frombuffer(bytes(info.pPrivateDriverData or b""), PRIVATE)[0]
            if int(record["flags"]) not in set(Place) or not 0 < int(record["size"]) < 1 << 40:
                return NTSTATUS.STATUS_INVALID_PARAMETER
            records.append(record)
        for info, record in zip(a.pAllocationInfo, records, strict=True):
            place = Place(int(record["flags"]))
            info.hAllocation = self.handle()
            info.Size, info.Alignment = int(record["size"]), PAGE
            local, aperture = (place is not Place.APERTURE), place not in (Place.LOCAL, Place.VISIBLE)
            info.PreferredSegment = segment_preference(1 if local else 2)
            info.SupportedReadSegmentSet = info.SupportedWriteSegmentSet = (1 if local else 0) | (2 if aperture else 0)
            if place not in (Place.LOCAL, Place.FLEXIBLE):
                info.Flags = ddi.DXGK_ALLOCATIONINFOFLAGS.CpuVisible
            self.allocations[info.hAllocation] = FakeAllocation(
                info.Size, place, int(record["width"]), int(record["height"])
            )
        a.hResource = self.handle()
        return 0

    def DxgkDdiDestroyAllocation(self, h: int, a: ddi.DXGKARG_DESTROYALLOCATION) -> int:
        for handle in a.pAllocationList:
            assert handle not in self.opened.values(), "destroyed while open"
            del self.allocations[handle]
        return 0

    def DxgkDdiOpenAllocation(self, h: int, a: ddi.DXGKARG_OPENALLOCATION) -> int:
        for info in a.pOpenAllocation:
            info.hDeviceSpecificAllocation = self.handle()
            found = self.kernel.DxgkCbGetHandleData(dispmprt.DXGKARGCB_GETHANDLEDATA(info.hAllocation))
            assert found in self.allocations
            self.opened[info.hDeviceSpecificAllocation] = found
        return 0

    def DxgkDdiCloseAllocation(self, h: int, a: ddi.DXGKARG_CLOSEALLOCATION) -> int:
        for handle in a.pOpenHandleList:
            del self.opened[handle]
        return 0

    def DxgkDdiDescribeAllocation(self, h: int, a: ddi.DXGKARG_DESCRIBEALLOCATION) -> int:
        found = self.allocations[a.hAllocation]
        a.Width, a.Height = found.width, found.height
        a.Format = D3DDDIFORMAT.A8B8G8R8 if found.width else D3DDDIFORMAT.UNKNOWN
        a.RefreshRate = D3DDDI_RATIONAL(60, 1)
        return 0

    # rendering
    def DxgkDdiRender(self, h: int, a: ddi.DXGKARG_RENDER) -> int:
        assert h in self.contexts
        if a.CommandLength % RECORD.itemsize:
            return NTSTATUS.STATUS_INVALID_USER_BUFFER
        records = a.pCommand[: a.CommandLength].view(RECORD)
        patches = a.pPatchLocationListIn
        if (records["op"] >= Op.SYSTEM_COPY).any():
            return NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION
        if (records["op"] > Op.STUBBORN).any() or (records["address"] != 0).any() or (records["address2"] != 0).any():
            return NTSTATUS.STATUS_ILLEGAL_INSTRUCTION
        if (patches["AllocationIndex"] >= len(a.pAllocationList)).any():
            return NTSTATUS.STATUS_INVALID_PARAMETER
        patched = set()
        for entry in patches:
            row, within = divmod(int(entry["PatchOffset"]), RECORD.itemsize)
            if row >= len(records) or within not in (8, 24):
                return NTSTATUS.STATUS_INVALID_USER_BUFFER
            handle = int(a.pAllocationList["hDeviceSpecificAllocation"][entry["AllocationIndex"]])
            if handle == 0 or handle not in self.opened:
                return NTSTATUS.STATUS_INVALID_HANDLE
            size = self.allocations[self.opened[handle]].size
            if int(entry["AllocationOffset"]) + int(records["size"][row]) > size:
                return NTSTATUS.STATUS_INVALID_USER_BUFFER
            patched.add((row, within))
        for row, op in enumerate(records["op"].tolist()):
            if op in (Op.FILL, Op.COPY) and ((row, 8) not in patched or (op == Op.COPY and (row, 24) not in patched)):
                return NTSTATUS.STATUS_INVALID_HANDLE
        first = a.MultipassOffset
        count = min(len(records) - first, a.DmaSize // RECORD.itemsize)
        a.pDmaBuffer[: count * RECORD.itemsize] = records[first : first + count].view(np.uint8)
        low, high = first * RECORD.itemsize, (first + count) * RECORD.itemsize
        part = patches[(patches["PatchOffset"] >= low) & (patches["PatchOffset"] < high)].copy()
        part["PatchOffset"] -= low
        a.pPatchLocationListOut[: len(part)] = part
        a.PatchLocationListOutUsed = len(part)
        a.DmaBufferUsed = count * RECORD.itemsize
        a.MultipassOffset = first + count
        return 0 if first + count == len(records) else NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER

    def DxgkDdiPresent(self, h: int, a: ddi.DXGKARG_PRESENT) -> int:
        if a.pDmaBuffer is None:
            return 0
        records = np.zeros(1, RECORD)
        source, destination = (int(v) for v in a.pAllocationList["hDeviceSpecificAllocation"][1:3])
        target = self.allocations[self.opened[destination]]
        records["op"] = Op.FILL if a.Flags & ddi.DXGK_PRESENTFLAGS.ColorFill else Op.COPY
        records["value"], records["size"] = a.Color, target.size
        a.pDmaBuffer[: records.nbytes] = records.view(np.uint8)
        patches: Any = a.pPatchLocationListOut
        patches["AllocationIndex"][0], patches["PatchOffset"][0], patches["AllocationOffset"][0] = 2, 8, 0
        a.PatchLocationListOutUsed = 1
        if source:
            patches["AllocationIndex"][1], patches["PatchOffset"][1], patches["AllocationOffset"][1] = 1, 24, 0
            a.PatchLocationListOutUsed = 2
        a.DmaBufferUsed = records.nbytes
        return 0

    def DxgkDdiPatch(self, h: int, a: ddi.DXGKARG_PATCH) -> int:
        if a.pPatchLocationList is None or a.pAllocationList is None:
            return 0
        for entry in a.pPatchLocationList[: a.PatchLocationListSubmissionLength]:
            target = a.pAllocationList[entry["AllocationIndex"]]
            assert int(target["Value"]) & 0x3E, "submitted without a place"
            at = int(entry["PatchOffset"])
            address = int(target["PhysicalAddress"]) + int(entry["AllocationOffset"])
            a.pDmaBuffer[at : at + 8] = np.frombuffer(address.to_bytes(8, "little"), np.uint8)
        return 0

    def DxgkDdiSubmitCommand(self, h: int, a: ddi.DXGKARG_SUBMITCOMMAND) -> int:
        write = self.bar.write32
        size = a.DmaBufferSubmissionEndOffset - a.DmaBufferSubmissionStartOffset
        private: Any = a.pDmaBufferPrivateData
        signals = private[:40].view(np.uint64)
        count = int(signals[0])
        write(Reg.S_ADDRESS_LO, a.DmaBufferPhysicalAddress & 0xFFFF_FFFF)
        write(Reg.S_ADDRESS_HI, a.DmaBufferPhysicalAddress >> 32)
        write(Reg.S_SIZE, size)
        write(Reg.S_FENCE, a.SubmissionFenceId)
        write(Reg.S_FLAGS, 1 if a.Flags & ddi.DXGK_SUBMITCOMMANDFLAGS.NullRendering else 0)
        write(Reg.S_SIGNALS, count)
        for index in range(count):
            for part in range(2):
                value = int(signals[1 + index * 2 + part])
                write(Reg.S_SIGNAL + index * 16 + part * 8, value & 0xFFFF_FFFF)
                write(Reg.S_SIGNAL + index * 16 + part * 8 + 4, value >> 32)
        write(Reg.S_NODE, a.NodeOrdinal)
        self.submitted[a.NodeOrdinal].append(a.SubmissionFenceId)
        return 0

    def DxgkDdiSignalMonitoredFence(self, h: int, a: ddi.DXGKARG_SIGNALMONITOREDFENCE) -> int:
        private: Any = a.pDmaBufferPrivateData
        signals = private[:40].view(np.uint64)
        count = int(signals[0])
        if count == 2:
            return NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
        signals[1 + count * 2], signals[2 + count * 2] = a.MonitoredFenceGpuVa, a.MonitoredFenceValue
        signals[0] = count + 1
        return 0

    def DxgkDdiCancelCommand(self, h: int, a: ddi.DXGKARG_CANCELCOMMAND) -> int:
        return 0

    def DxgkDdiPreemptCommand(self, h: int, a: ddi.DXGKARG_PREEMPTCOMMAND) -> int:
        if not self.submitted[a.NodeOrdinal]:
            data = ddi.DXGK_INTERRUPT_DMA_PREEMPTED(a.PreemptionFenceId, self.completed[a.NodeOrdinal], a.NodeOrdinal)

            def report(argument: Any) -> bool:
                self.kernel.DxgkCbNotifyInterrupt(1, ddi.DXGKARGCB_NOTIFY_INTERRUPT_DATA(argument))
                return bool(self.kernel.DxgkCbQueueDpc(1))

            self.kernel.DxgkCbSynchronizeExecution(1, report, data, 0)
            return 0
        self.bar.write32(Reg.PREEMPT, a.NodeOrdinal | a.PreemptionFenceId << 8)
        return 0

    def DxgkDdiBuildPagingBuffer(self, h: int, a: ddi.DXGKARG_BUILDPAGINGBUFFER) -> int:
        what: Any = a.Parameters
        row = np.zeros(1, RECORD)

        def place(location: Any) -> int:
            return int(location.pMdl.PhysicalAddress if location.SegmentId == 0 else location.SegmentAddress)

        name = a.Operation.name
        if name == "DISCARD_CONTENT" or (name == "TRANSFER" and what.TransferSize == 0):
            return 0
        if a.DmaSize < RECORD.itemsize:
            return NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
        if name == "TRANSFER":
            row[0] = Op.SYSTEM_COPY, 0, place(what.Destination), what.TransferSize, 0, place(what.Source), 0
        elif name == "FILL":
            row[0] = Op.SYSTEM_FILL, what.FillPattern, place(what.Destination), what.FillSize, 0, 0, 0
        elif name == "MAP_APERTURE_SEGMENT":
            row[0] = Op.MAP, what.OffsetInPages, 0, what.NumberOfPages, 0, what.pMdl.PhysicalAddress, 0
        elif name == "UNMAP_APERTURE_SEGMENT":
            row[0] = Op.UNMAP, what.OffsetInPages, 0, what.NumberOfPages, 0, 0, 0
        else:
            return NTSTATUS.STATUS_NOT_SUPPORTED
        a.pDmaBuffer[: RECORD.itemsize] = row.view(np.uint8)
        a.DmaBufferUsed = RECORD.itemsize
        return 0

    # interrupts
    def DxgkDdiInterruptRoutine(self, h: int, message: int) -> bool:
        read = self.bar.read32
        cause, source, fence = read(Reg.CAUSE), read(Reg.SOURCE), read(Reg.FENCE)
        parameters: Any
        if cause == Cause.FENCE:
            self._completed(source, fence)
            parameters = ddi.DXGK_INTERRUPT_DMA_COMPLETED(fence, source)
        elif cause == Cause.PREEMPTED:
            self._completed(source, fence)
            self.submitted[source].clear()
            parameters = ddi.DXGK_INTERRUPT_DMA_PREEMPTED(read(Reg.PREEMPT_FENCE), fence, source)
        elif cause == Cause.FAULT:
            parameters = ddi.DXGK_INTERRUPT_DMA_FAULTED(fence, NTSTATUS.STATUS_ILLEGAL_INSTRUCTION, source)
        elif cause == Cause.VSYNC:
            parameters = ddi.DXGK_INTERRUPT_CRTC_VSYNC(source, read(Reg.SURFACE_LO) | read(Reg.SURFACE_HI) << 32)
        else:
            return False
        self.kernel.DxgkCbNotifyInterrupt(1, ddi.DXGKARGCB_NOTIFY_INTERRUPT_DATA(parameters))
        self.kernel.DxgkCbQueueDpc(1)
        return True

    def _completed(self, node: int, fence: int) -> None:
        while self.submitted[node] and self.submitted[node][0] <= fence:
            self.submitted[node].popleft()
        self.completed[node] = max(self.completed[node], fence)

    def DxgkDdiDpcRoutine(self, h: int) -> None:
        self.kernel.DxgkCbNotifyDpc(1)

    # reset
    def DxgkDdiQueryDependentEngineGroup(self, h: int, a: ddi.DXGKARG_QUERYDEPENDENTENGINEGROUP) -> int:
        a.DependentNodeOrdinalMask = 1 << a.NodeOrdinal
        return 0

    def DxgkDdiQueryEngineStatus(self, h: int, a: ddi.DXGKARG_QUERYENGINESTATUS) -> int:
        a.Responsive = False
        return 0

    def DxgkDdiResetEngine(self, h: int, a: ddi.DXGKARG_RESETENGINE) -> int:
        pending = self.submitted[a.NodeOrdinal]
        a.LastAbortedFenceId = pending[0] if pending else self.completed[a.NodeOrdinal]
        pending.clear()
        self.completed[a.NodeOrdinal] = a.LastAbortedFenceId
        self.bar.write32(Reg.RESET, a.NodeOrdinal)
        return 0

    def DxgkDdiResetFromTimeout(self, h: int) -> int:
        self.bar.write32(Reg.RESET, 0xFF)
        for pending in self.submitted:
            pending.clear()
        return 0

    def DxgkDdiRestartFromTimeout(self, h: int) -> int:
        return 0

    def DxgkDdiEscape(self, h: int, a: ddi.DXGKARG_ESCAPE) -> int:
        a.pPrivateDriverData[:] = bytes(reversed(a.pPrivateDriverData))
        return 0

    # display
    def DxgkDdiIsSupportedVidPn(self, h: int, a: ddi.DXGKARG_ISSUPPORTEDVIDPN) -> int:
        source, _ = self._pinned(a.hDesiredVidPn)
        a.IsVidPnSupported = source is None or source.Format.PrimSurfSize.cx <= 1920
        return 0

    def _pinned(self, vidpn: int) -> tuple[Any, Any]:
        _, functions = self.kernel.DxgkCbQueryVidPnInterface(vidpn)
        _, handle, modes = functions.pfnAcquireSourceModeSet(vidpn, 0)
        _, source = modes.pfnAcquirePinnedModeInfo(handle)
        _, handle, modes = functions.pfnAcquireTargetModeSet(vidpn, 0)
        _, target = modes.pfnAcquirePinnedModeInfo(handle)
        return source, target

    def DxgkDdiEnumVidPnCofuncModality(self, h: int, a: ddi.DXGKARG_ENUMVIDPNCOFUNCMODALITY) -> int:
        vidpn = a.hConstrainingVidPn
        _, functions = self.kernel.DxgkCbQueryVidPnInterface(vidpn)
        _, sources, source_modes = functions.pfnCreateNewSourceModeSet(vidpn, 0)
        _, targets, target_modes = functions.pfnCreateNewTargetModeSet(vidpn, 0)
        for width, height in ((8, 8), (640, 360), (64, 32)):
            size = D3DKMDT_2DREGION(width, height)
            _, mode = source_modes.pfnCreateNewModeInfo(sources)
            mode.Type = D3DKMDT_VIDPN_SOURCE_MODE_TYPE.GRAPHICS
            mode.Format = D3DKMDT_GRAPHICS_RENDERING_FORMAT(size, size, width * 4, D3DDDIFORMAT.A8B8G8R8)
            assert source_modes.pfnAddMode(sources, mode) == 0
            _, signal = target_modes.pfnCreateNewModeInfo(targets)
            signal.VideoSignalInfo.ActiveSize = size
            signal.VideoSignalInfo.VSyncFreq = D3DDDI_RATIONAL(60, 1)
            if width == 640:
                signal.Preference = D3DKMDT_MODE_PREFERENCE.PREFERRED
            assert target_modes.pfnAddMode(targets, signal) == 0
        assert functions.pfnAssignSourceModeSet(vidpn, 0, sources) == 0
        assert functions.pfnAssignTargetModeSet(vidpn, 0, targets) == 0
        return 0

    def DxgkDdiCommitVidPn(self, h: int, a: ddi.DXGKARG_COMMITVIDPN) -> int:
        source, target = self._pinned(a.hFunctionalVidPn)
        assert source is not None
        assert target is not None
        self.bar.write32(Reg.MODE_WIDTH, source.Format.PrimSurfSize.cx)
        self.bar.write32(Reg.MODE_HEIGHT, source.Format.PrimSurfSize.cy)
        return 0

    def DxgkDdiSetVidPnSourceAddress(self, h: int, a: ddi.DXGKARG_SETVIDPNSOURCEADDRESS) -> int:
        self.bar.write32(Reg.FLIP_LO, a.PrimaryAddress & 0xFFFF_FFFF)
        self.bar.write32(Reg.FLIP_HI, a.PrimaryAddress >> 32)
        flags = ddi.DXGK_SETVIDPNSOURCEADDRESS_FLAGS
        self.bar.write32(Reg.FLIP, 2 if a.Flags & (flags.FlipImmediate | flags.ModeChange) else 1)
        return 0

    def DxgkDdiSetVidPnSourceVisibility(self, h: int, a: ddi.DXGKARG_SETVIDPNSOURCEVISIBILITY) -> int:
        self.bar.write32(Reg.VISIBLE, int(a.Visible))
        return 0

    def DxgkDdiUpdateActiveVidPnPresentPath(self, h: int, a: ddi.DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH) -> int:
        ramp = a.VidPnPresentPathInfo.GammaRamp.Data
        self.bar.write32(Reg.GAMMA, 0 if ramp is None else int(ramp["Red"][0][255]))
        return 0


#: The miniport that the kernel under test loads by name; each test makes a new one.
current = FakeMiniport()


def DriverEntry(DxgkInitialize: Callable[[dispmprt.DRIVER_INITIALIZATION_DATA], int]) -> int:
    """``tests.support.fake_gpu:DriverEntry``."""
    return current.DriverEntry(DxgkInitialize)


@contextlib.contextmanager
def installed(miniport: FakeMiniport) -> Any:
    """Let ``DriverEntry`` register ``miniport``."""
    global current
    before, current = current, miniport
    try:
        yield miniport
    finally:
        current = before
