"""Dxgkrnl as this driver uses it: the services of DXGKRNL_INTERFACE that it cannot do without.

Models "_dxgkrnl_interface". A kernel that offers less is refused when the device is started, so that no service is missed later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from wddm.ddi.d3dkmddi import DXGK_INTERRUPT_PARAMETERS, DXGK_VIDPN_INTERFACE, DXGKARGCB_NOTIFY_INTERRUPT_DATA
from wddm.ddi.dispmprt import (
    CM_RESOURCE_TYPE,
    DXGKARGCB_GETHANDLEDATA,
    DXGKRNL_INTERFACE,
    MEMORY_CACHING_TYPE,
    ContiguousMemory,
    MappedMemory,
)
from wddm.ddi.status import NTSTATUS

#: Name of the events whose text explains a refusal.
_EVENT: Final = "vgpu"
_NEEDED: Final = (
    "DxgkCbGetDeviceInformation",
    "DxgkCbMapMemory",
    "DxgkCbUnmapMemory",
    "DxgkCbQueueDpc",
    "DxgkCbSynchronizeExecution",
    "DxgkCbGetHandleData",
    "DxgkCbNotifyInterrupt",
    "DxgkCbNotifyDpc",
    "DxgkCbQueryVidPnInterface",
    "DxgkCbAllocateContiguousMemory",
    "DxgkCbFreeContiguousMemory",
)


class Unavailable(Exception):
    """The kernel cannot give what was asked for; ``status`` is what the entry returns."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class Kernel:
    """The services, for one adapter. Raises Unavailable when one of them is missing."""

    def __init__(self, interface: DXGKRNL_INTERFACE) -> None:
        missing = [name for name in _NEEDED if getattr(interface, name) is None]
        if missing:
            raise Unavailable(NTSTATUS.STATUS_INVALID_PARAMETER, f"Dxgkrnl offers no {missing[0]}")
        self._services: Any = interface
        self._device = interface.DeviceHandle

    def map_registers(self) -> MappedMemory:
        """Map the adapter's first memory resource, the register file. Raises Unavailable."""
        _, info = self._services.DxgkCbGetDeviceInformation(self._device)
        bars = [] if info is None else [r for r in info.TranslatedResourceList if r.Type is CM_RESOURCE_TYPE.MEMORY]
        if not bars:
            raise Unavailable(NTSTATUS.STATUS_UNSUCCESSFUL, "the adapter has no register file")
        status, mapped = self._services.DxgkCbMapMemory(
            self._device, bars[0].Start, bars[0].Length, False, False, MEMORY_CACHING_TYPE.MmNonCached
        )
        if status != NTSTATUS.STATUS_SUCCESS or mapped is None:
            raise Unavailable(NTSTATUS.STATUS_UNSUCCESSFUL, "the register file cannot be mapped")
        registers: MappedMemory = mapped
        return registers

    def unmap(self, mapped: MappedMemory) -> None:
        """Give a mapping back."""
        self._services.DxgkCbUnmapMemory(self._device, mapped)

    def allocate(self, size: int) -> ContiguousMemory:
        """Page-locked memory that the device reaches. Raises Unavailable."""
        status, memory = self._services.DxgkCbAllocateContiguousMemory(self._device, size)
        if status != NTSTATUS.STATUS_SUCCESS or memory is None:
            raise Unavailable(NTSTATUS.STATUS_NO_MEMORY, f"no {size} bytes of contiguous memory")
        found: ContiguousMemory = memory
        return found

    def free(self, memory: ContiguousMemory) -> None:
        """Give it back."""
        self._services.DxgkCbFreeContiguousMemory(self._device, memory)

    def handle_data(self, handle: int) -> int:
        """Our handle of a kernel handle; 0 for none."""
        found: int = self._services.DxgkCbGetHandleData(DXGKARGCB_GETHANDLEDATA(handle))
        return found

    def query_vidpn(self, handle: int) -> tuple[int, DXGK_VIDPN_INTERFACE | None]:
        """The functions of a VidPN."""
        found: tuple[int, DXGK_VIDPN_INTERFACE | None] = self._services.DxgkCbQueryVidPnInterface(handle)
        return found

    def explain(self, why: str) -> None:
        """Leave a sentence about the entry that is running: an event, for whoever looks at those."""
        if self._services.DxgkCbLogEtwEvent is not None:
            self._services.DxgkCbLogEtwEvent(_EVENT, 0, why.encode())

    # ----- interrupts ------------------------------------------------------------------------------------------------------

    def notify_interrupt(self, parameters: DXGK_INTERRUPT_PARAMETERS) -> None:
        """Tell the scheduler; at interrupt level only."""
        self._services.DxgkCbNotifyInterrupt(self._device, DXGKARGCB_NOTIFY_INTERRUPT_DATA(parameters))

    def queue_dpc(self) -> None:
        """Ask for the DPC; before the interrupt routine returns."""
        self._services.DxgkCbQueueDpc(self._device)

    def notify_dpc(self) -> None:
        """In the DPC: what was notified takes effect."""
        self._services.DxgkCbNotifyDpc(self._device)

    def report(self, parameters: DXGK_INTERRUPT_PARAMETERS) -> None:
        """Notify outside an interrupt: at interrupt level, and then a DPC, as if one had come."""

        def at_interrupt_level(what: Any) -> bool:
            self.notify_interrupt(what)
            self.queue_dpc()
            return True

        run: Callable[..., Any] = self._services.DxgkCbSynchronizeExecution
        run(self._device, at_interrupt_level, parameters, 0)
