"""DxgkDdiInterruptRoutine: from the registers that an interrupt carries to what the scheduler is told.

Models "dxgkddi_interrupt_routine" and "dxgkcb_notify_interrupt": at interrupt level, one notification, the DPC queued before the
routine returns. Reports that are no news (work that a reset has overtaken) are dismissed without one.
"""

from __future__ import annotations

from typing import Final

from wddm.ddi.d3dkmddi import (
    DXGK_INTERRUPT_CRTC_VSYNC,
    DXGK_INTERRUPT_DMA_COMPLETED,
    DXGK_INTERRUPT_DMA_FAULTED,
    DXGK_INTERRUPT_DMA_PREEMPTED,
    DXGK_INTERRUPT_PARAMETERS,
)
from wddm.ddi.status import NTSTATUS
from wddm.hw.interrupts import Fault, Interrupt, InterruptMessage, unlatch

from .adapter import Adapter
from .submission import Submission

_FAULTS: Final = {int(fault): fault.name for fault in Fault}
_FAULT_STATUS: Final[dict[int, NTSTATUS]] = {
    Fault.PRIVILEGE: NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION,
    Fault.BAD_PACKET: NTSTATUS.STATUS_ILLEGAL_INSTRUCTION,
    Fault.BAD_SHADER: NTSTATUS.STATUS_ILLEGAL_INSTRUCTION,
}


def interrupt(adapter: Adapter) -> bool:
    """DxgkDdiInterruptRoutine. False: not raised by this device, or nothing that it raises for us."""
    try:
        message = unlatch(adapter.mapped.read32)
    except ValueError:
        return False
    if message.cause == Interrupt.VSYNC:
        if message.head >= adapter.display.heads:
            return False
        parameters: DXGK_INTERRUPT_PARAMETERS | None = DXGK_INTERRUPT_CRTC_VSYNC(message.head, message.surface)
    else:
        if message.cause == Interrupt.RESET_DONE or message.node >= len(adapter.nodes):
            return False
        parameters = _node_report(adapter, message)
    if parameters is not None:
        adapter.kernel.notify_interrupt(parameters)
        adapter.kernel.queue_dpc()
    return True


def _node_report(adapter: Adapter, message: InterruptMessage) -> DXGK_INTERRUPT_PARAMETERS | None:
    node = adapter.nodes[message.node]
    if message.cause == Interrupt.FENCE:
        return DXGK_INTERRUPT_DMA_COMPLETED(message.fence, node.node) if node.completed(message.fence) else None
    if message.cause == Interrupt.PREEMPTED:
        if not node.preempted(message.preempt_fence, message.fence):
            return None
        return DXGK_INTERRUPT_DMA_PREEMPTED(message.preempt_fence, node.last_completed, node.node)
    stopped = node.faulted(message.fence)
    return None if stopped is None else _fault(adapter, message, stopped)


def _fault(adapter: Adapter, message: InterruptMessage, stopped: Submission) -> DXGK_INTERRUPT_DMA_FAULTED:
    """The node stands at a submission until it is reset. What it was is said first: the kernel asks when it is notified."""
    name = _FAULTS.get(message.fault, f"fault {message.fault}")
    where = f" at {message.fault_address:#x}" if message.fault_address else ""
    adapter.explain(f"the hardware refused packet {message.fault_packet}: {name}{where}", adapter.contexts.get(stopped.context))
    status = _FAULT_STATUS.get(message.fault, NTSTATUS.STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE)
    return DXGK_INTERRUPT_DMA_FAULTED(stopped.fence, status, message.node)
