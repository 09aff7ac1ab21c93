"""The host of a miniport: loads it by name, calls its entries, offers it the kernel's services.

Every entry is called through here: it is traced, may not be re-entered, and its register writes are posted as one message when
it returns. The order of an interrupt is enforced: DxgkDdiInterruptRoutine, DxgkCbNotifyInterrupt, DxgkCbQueueDpc before it
returns, DxgkDdiDpcRoutine, DxgkCbNotifyDpc. What a miniport may never do ends in a bug check. Models "DRIVER_INITIALIZATION_DATA",
"DXGKRNL_INTERFACE" and "Threading and Synchronization". DEVIATES: there is one thread, so that levels 0 to 3 reduce to "one entry
at a time" and to what interrupt level may do.
"""

from __future__ import annotations

import dataclasses
import importlib
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from wddm.ddi import d3dkmddi as ddi
from wddm.ddi import dispmprt
from wddm.ddi.status import NTSTATUS, ntstatus_name
from wddm.trace import Tracer
from wddm.wire.bus import InterruptRaised
from wddm.wire.channel import CallError, ChannelClosed

from .bus_link import BusLink, MemoryBlock
from .errors import BugCheckCode, BugCheckError, vidsch_bug_check

tracer: Final = Tracer("kernel")
_log = logging.getLogger("kernel")
_OK: Final = NTSTATUS.STATUS_SUCCESS
#: Where the platform puts the register BAR for DxgkCbMapMemory.
REGISTER_BAR: Final = 0xF000_0000


class StartError(Exception):
    """The adapter cannot be started; the text tells why."""


class RegisterBar:
    """The mapped registers. Reads see the snapshot of the last refresh and what was written since; writes are collected."""

    def __init__(self, snapshot: bytes) -> None:
        self.size = len(snapshot) // 4 * 4
        self._values = [int.from_bytes(snapshot[at : at + 4], "little") for at in range(0, self.size, 4)]
        self.offsets: list[int] = []
        self.values: list[int] = []

    def read32(self, offset: int) -> int:
        """READ_REGISTER_ULONG."""
        if offset & 3 or not 0 <= offset < self.size:
            raise self._outside(offset)
        return self._values[offset >> 2]

    def write32(self, offset: int, value: int) -> None:
        """WRITE_REGISTER_ULONG, posted when the entry returns."""
        if offset & 3 or not 0 <= offset < self.size:
            raise self._outside(offset)
        self._values[offset >> 2] = value
        self.offsets.append(offset)
        self.values.append(value)

    def latch(self, offsets: Sequence[int], values: Sequence[int]) -> None:
        """The device says what registers held when it raised an interrupt."""
        for offset, value in zip(offsets, values, strict=False):
            if not offset & 3 and 0 <= offset < self.size:
                self._values[offset >> 2] = value

    def take(self) -> tuple[list[int], list[int]]:
        """The offsets and values of the writes that were collected; they are forgotten here."""
        found = self.offsets, self.values
        self.offsets, self.values = [], []
        return found

    def refresh(self, values: list[int]) -> None:
        """All registers as they are now."""
        self._values = values

    @staticmethod
    def _outside(offset: int) -> BugCheckError:
        return BugCheckError(
            BugCheckCode.VIDEO_DXGKRNL_FATAL_ERROR, 0, f"the miniport touched register offset {offset:#x}, which does not exist"
        )


def load(name: str) -> dispmprt.DRIVER_INITIALIZATION_DATA:
    """Load ``module:DriverEntry`` and let it register its entries. Raises StartError."""
    module_name, _, entry_name = name.partition(":")
    if not module_name or not entry_name:
        raise StartError(f"a miniport is named module:DriverEntry, not {name!r}")
    try:
        entry = getattr(importlib.import_module(module_name), entry_name)
    except (ImportError, AttributeError) as error:
        raise StartError(f"cannot load the miniport {name}: {error}") from None
    registered: list[dispmprt.DRIVER_INITIALIZATION_DATA] = []

    def DxgkInitialize(data: dispmprt.DRIVER_INITIALIZATION_DATA) -> int:
        registered.append(data)
        return _OK

    tracer("DriverEntry", miniport=name)
    status = entry(DxgkInitialize)
    if status != _OK or not registered:
        raise StartError(f"DriverEntry of {name} returned {ntstatus_name(status)} and registered {len(registered)} times")
    return registered[0]


class MiniportHost:
    """One miniport on one adapter. ``on_interrupt`` takes what DxgkCbNotifyInterrupt says; ``after_dpc`` runs after its DPC."""

    def __init__(self, data: dispmprt.DRIVER_INITIALIZATION_DATA, link: BusLink, registers: bytes) -> None:
        self.data = data
        self.link = link
        self.registers = RegisterBar(registers)
        self.hAdapter = 0
        self.interrupts = 0
        self.on_interrupt: Callable[[ddi.DXGKARGCB_NOTIFY_INTERRUPT_DATA], None] = lambda data: None
        self.after_dpc: Callable[[], None] = lambda: None
        self.handle_data: Callable[[dispmprt.DXGKARGCB_GETHANDLEDATA], int] = lambda arguments: 0
        self.handle_parent: Callable[[int], int] = lambda handle: 0
        self.handle_child: Callable[[int, int], int] = lambda handle, index: 0
        self.query_vidpn: Callable[[int], tuple[int, ddi.DXGK_VIDPN_INTERFACE | None]] = lambda handle: (
            NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN,
            None,
        )
        self.child_status: Callable[[dispmprt.DXGK_CHILD_STATUS], None] = lambda status: None
        self.removed = False
        self._active: str | None = None  # the entry that has not returned
        self._at_interrupt_level = False
        self._notified = False
        self._dpc_queued = False
        self._dpc_notified = False
        self._explanation = ""
        self._memory: list[MemoryBlock] = []

    # ----- calling entries ---------------------------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether the miniport registered this entry."""
        return getattr(self.data, name) is not None

    def call(self, name: str, *arguments: Any, trace: dict[str, Any] | None = None) -> Any:
        """Call an entry. Raises BugCheckError when the miniport fails inside, or has no such entry, and ChannelClosed when the
        adapter was removed: the kernel ends, and what arrives late finds no driver any more."""
        if self.removed:
            raise ChannelClosed(f"{name}: the adapter was removed")
        entry = getattr(self.data, name)
        if entry is None:
            raise BugCheckError(BugCheckCode.VIDEO_DXGKRNL_FATAL_ERROR, 0, f"the miniport has no {name}")
        if self._active is not None:
            raise BugCheckError(
                BugCheckCode.VIDEO_DXGKRNL_FATAL_ERROR, 0, f"{name} was called while {self._active} had not returned"
            )
        if tracer.enabled:
            tracer(name, **(trace if trace is not None else _summary(arguments)))
        self._active = name
        self._explanation = ""
        try:
            return entry(*arguments)
        except (BugCheckError, ChannelClosed):  # a bus that goes away under the miniport is not its failure
            raise
        except Exception as error:
            _log.exception("the miniport failed in %s", name)
            raise BugCheckError(
                BugCheckCode.VIDEO_DXGKRNL_FATAL_ERROR, 0, f"the miniport failed in {name}: {type(error).__name__}: {error}"
            ) from error
        finally:
            self._active = None
            if self.registers.offsets:
                self._post()

    def _post(self) -> None:
        """Send the register writes of the entry that has returned."""
        if not self.link.shared:
            for block in self._memory:
                self.link.to_device(block)
        self.link.write_registers(*self.registers.take())

    def explanation(self) -> str:
        """The sentence that the last entry left (DxgkCbLogEtwEvent), or nothing."""
        return self._explanation

    async def refresh(self) -> None:
        """Read all registers, so that the miniport's next look sees them as they are."""
        self.registers.refresh(await self.link.read_registers(list(range(0, self.registers.size, 4))))

    # ----- entries with rules of their own -----------------------------------------------------------------------------------

    def DxgkDdiPatch(self, arguments: ddi.DXGKARG_PATCH) -> None:
        """Never fails."""
        status = self.call("DxgkDdiPatch", self.hAdapter, arguments)
        if status != _OK:
            raise vidsch_bug_check(0x3, f"DxgkDdiPatch returned {ntstatus_name(status)}", status)

    def DxgkDdiSubmitCommand(self, arguments: ddi.DXGKARG_SUBMITCOMMAND) -> None:
        """Never fails."""
        status = self.call("DxgkDdiSubmitCommand", self.hAdapter, arguments)
        if status != _OK:
            raise vidsch_bug_check(0x2, f"DxgkDdiSubmitCommand returned {ntstatus_name(status)}", status)

    def DxgkDdiPreemptCommand(self, arguments: ddi.DXGKARG_PREEMPTCOMMAND) -> None:
        """Never fails."""
        status = self.call("DxgkDdiPreemptCommand", self.hAdapter, arguments)
        if status != _OK:
            raise vidsch_bug_check(0x2, f"DxgkDdiPreemptCommand returned {ntstatus_name(status)}", status)

    def DxgkDdiCancelCommand(self, arguments: ddi.DXGKARG_CANCELCOMMAND) -> None:
        """Only for miniports that know it; never fails."""
        if not self.has("DxgkDdiCancelCommand"):
            return
        status = self.call("DxgkDdiCancelCommand", self.hAdapter, arguments)
        if status != _OK:
            raise vidsch_bug_check(0x9, f"DxgkDdiCancelCommand returned {ntstatus_name(status)}", status)

    def DxgkDdiBuildPagingBuffer(self, arguments: ddi.DXGKARG_BUILDPAGINGBUFFER) -> int:
        """See :mod:`kernel.vidmm.paging`."""
        summary = {"Operation": arguments.Operation.name, **_summary((arguments.Parameters,))} if tracer.enabled else None
        status: int = self.call("DxgkDdiBuildPagingBuffer", self.hAdapter, arguments, trace=summary)
        return status

    def DxgkDdiRender(self, hContext: int, arguments: ddi.DXGKARG_RENDER) -> int:
        """See :mod:`kernel.vidsch.render`."""
        trace = None
        if tracer.enabled:
            length, multipass = arguments.CommandLength, arguments.MultipassOffset
            trace = {"hContext": hContext, "CommandLength": length, "MultipassOffset": multipass}
        status: int = self.call("DxgkDdiRender", hContext, arguments, trace=trace)
        return status

    def DxgkDdiPresent(self, hContext: int, arguments: ddi.DXGKARG_PRESENT) -> int:
        """See :mod:`kernel.display.present`."""
        status: int = self.call("DxgkDdiPresent", hContext, arguments)
        return status

    # ----- interrupts --------------------------------------------------------------------------------------------------------

    def interrupt(self, message: InterruptRaised) -> None:
        """An interrupt: its routine at interrupt level, then the DPC that it queued."""
        self.registers.latch(message.offsets, message.values)
        self.interrupts += 1
        self._notified = False
        self._at_interrupt_level = True
        try:
            ours = self.call("DxgkDdiInterruptRoutine", self.hAdapter, 0, trace={})
        finally:
            self._at_interrupt_level = False
        if self._notified and not self._dpc_queued:
            raise BugCheckError(
                BugCheckCode.VIDEO_DXGKRNL_FATAL_ERROR, 0, "the interrupt routine notified Dxgkrnl without queueing a DPC"
            )
        if not ours:
            _log.debug("an interrupt was not the miniport's")
        self.run_dpc()

    def run_dpc(self) -> None:
        """Run the DPC if one is queued."""
        while self._dpc_queued:
            self._dpc_queued = self._dpc_notified = False
            self.call("DxgkDdiDpcRoutine", self.hAdapter, trace={})
            if self._dpc_notified:
                self.after_dpc()

    # ----- services ----------------------------------------------------------------------------------------------------------

    def interface(self) -> dispmprt.DXGKRNL_INTERFACE:
        """DXGKRNL_INTERFACE for StartDevice."""
        return dispmprt.DXGKRNL_INTERFACE(
            DeviceHandle=1,
            DxgkCbGetDeviceInformation=self._get_device_information,
            DxgkCbIndicateChildStatus=self._indicate_child_status,
            DxgkCbMapMemory=self._map_memory,
            DxgkCbUnmapMemory=lambda device, memory: _OK,
            DxgkCbQueueDpc=self._queue_dpc,
            DxgkCbSynchronizeExecution=self._synchronize_execution,
            DxgkCbGetHandleData=lambda arguments: self.handle_data(arguments),
            DxgkCbGetHandleParent=lambda handle: self.handle_parent(handle),
            DxgkCbEnumHandleChildren=lambda arguments: self.handle_child(arguments.hObject, arguments.Index),
            DxgkCbNotifyInterrupt=self._notify_interrupt,
            DxgkCbNotifyDpc=self._notify_dpc,
            DxgkCbQueryVidPnInterface=lambda handle: self.query_vidpn(handle),
            DxgkCbLogEtwEvent=self._log_event,
            DxgkCbAllocateContiguousMemory=self._allocate,
            DxgkCbFreeContiguousMemory=self._free,
        )

    def _allocate(self, device: int, size: int) -> tuple[int, dispmprt.ContiguousMemory | None]:
        try:
            block = self.link.create(size, "miniport", reserve=True)
        except CallError as error:
            return error.code, None
        self._memory.append(block)
        return _OK, block

    def _free(self, device: int, memory: dispmprt.ContiguousMemory) -> int:
        if not isinstance(memory, MemoryBlock) or memory not in self._memory:
            return NTSTATUS.STATUS_INVALID_PARAMETER
        self._memory.remove(memory)
        self.link.remove(memory)
        return _OK

    def _get_device_information(self, device: int) -> tuple[int, dispmprt.DXGK_DEVICE_INFO | None]:
        resources = (
            dispmprt.CM_PARTIAL_RESOURCE_DESCRIPTOR(dispmprt.CM_RESOURCE_TYPE.MEMORY, REGISTER_BAR, self.registers.size),
            dispmprt.CM_PARTIAL_RESOURCE_DESCRIPTOR(dispmprt.CM_RESOURCE_TYPE.INTERRUPT, 0, 1),
        )
        return _OK, dispmprt.DXGK_DEVICE_INFO(
            MiniportDeviceContext=self.hAdapter,
            PhysicalDeviceObject=self,
            TranslatedResourceList=resources,
            SystemMemorySize=self.link.limit,
        )

    def _map_memory(
        self, device: int, address: int, length: int, io: bool, user: bool, caching: dispmprt.MEMORY_CACHING_TYPE
    ) -> tuple[int, dispmprt.MappedMemory | None]:
        if address != REGISTER_BAR or not 0 < length <= self.registers.size or io or user:
            return NTSTATUS.STATUS_INVALID_PARAMETER, None
        return _OK, self.registers

    def _indicate_child_status(self, device: int, status: dispmprt.DXGK_CHILD_STATUS) -> int:
        tracer("DxgkCbIndicateChildStatus", child=status.ChildUid, connected=status.Connected)
        self.child_status(status)
        return _OK

    def _notify_interrupt(self, device: int, data: ddi.DXGKARGCB_NOTIFY_INTERRUPT_DATA) -> None:
        if not self._at_interrupt_level:
            raise BugCheckError(
                BugCheckCode.VIDEO_DXGKRNL_FATAL_ERROR, 0, "DxgkCbNotifyInterrupt was called below interrupt level"
            )
        if tracer.enabled:
            tracer("DxgkCbNotifyInterrupt", InterruptType=data.InterruptType.name, **_summary((data.Parameters,)))
        self._notified = True
        self.on_interrupt(data)

    def _queue_dpc(self, device: int) -> bool:
        tracer("DxgkCbQueueDpc")
        first, self._dpc_queued = not self._dpc_queued, True
        return first

    def _notify_dpc(self, device: int) -> None:
        if self._active != "DxgkDdiDpcRoutine":
            raise BugCheckError(BugCheckCode.VIDEO_DXGKRNL_FATAL_ERROR, 0, "DxgkCbNotifyDpc was called outside the DPC")
        tracer("DxgkCbNotifyDpc")
        self._dpc_notified = True

    def _synchronize_execution(
        self, device: int, routine: Callable[[Any], bool], context: Any, message: int
    ) -> tuple[int, bool]:
        before, self._at_interrupt_level = self._at_interrupt_level, True
        try:
            return _OK, routine(context)
        finally:
            self._at_interrupt_level = before

    def _log_event(self, event: str, kind: int, data: bytes) -> None:
        text = bytes(data).decode("utf-8", "replace")
        self._explanation = text or event
        tracer("DxgkCbLogEtwEvent", event=event, type=kind, text=text)


def _summary(arguments: tuple[Any, ...]) -> dict[str, Any]:
    """The small members of an argument structure, for the trace."""
    found: dict[str, Any] = {}
    for argument in arguments:
        if dataclasses.is_dataclass(argument) and not isinstance(argument, type):
            for field in dataclasses.fields(argument):
                value = getattr(argument, field.name)
                if isinstance(value, (int, str)):
                    found[field.name] = value if isinstance(value, str) else int(value)
        elif isinstance(argument, int):
            found.setdefault("handle", argument)
    return found
