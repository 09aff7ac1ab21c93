"""Signals of monitored fences that the hardware writes: behind everything that a context has queued so far.

A signal rides on the last DMA buffer that is not with the hardware yet, while the miniport has room for it there, and else on an
empty one of its own. Models the monitored fences of "Context Monitoring"; DEVIATES as DxgkDdiSignalMonitoredFence tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wddm.ddi.d3dkmddi import DXGK_MONITORED_FENCE_KERNEL_SUBMISSION_TYPE
from wddm.ddi.status import NTSTATUS

from .sync import MonitoredFence
from .vidsch.dma import DmaBuffer
from .vidsch.packets import Broadcast, DmaPacket, PacketKind, PacketState, SignalPacket

if TYPE_CHECKING:
    from .adapter import Adapter
    from .objects import Context

_OK: Final = NTSTATUS.STATUS_SUCCESS
_PRESENTBLT: Final = DXGK_MONITORED_FENCE_KERNEL_SUBMISSION_TYPE.PRESENTBLT
_RENDERGDI: Final = DXGK_MONITORED_FENCE_KERNEL_SUBMISSION_TYPE.RENDERGDI


class Signalling:
    """Of one adapter."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def signal(self, context: Context, fence: MonitoredFence, value: int, *, rewind: bool = False) -> None:
        """Let the last buffer write the value, or a submission of its own; the CPU does when nothing is pending."""
        adapter = self._adapter
        vidsch = adapter.vidsch
        if context.idle:
            fence.signal(value, rewind=rewind)
            vidsch.waits.signalled(fence)
            return
        last = context.queue[-1] if context.queue else None
        if type(last) is DmaPacket and last.state is not PacketState.SUBMITTED and self._attach(last.dma, last.kind, fence, value):
            last.signals.append((fence, value))
            return
        info = context.info
        dma = adapter.pool.acquire(info.DmaBufferSize, info.DmaBufferPrivateDataSize, info.PatchLocationListSize)
        if not self._attach(dma, PacketKind.SIGNAL, fence, value):
            adapter.pool.release(dma)
            vidsch.enqueue(context, SignalPacket([fence], value, Broadcast(1), rewind))
            return
        packet = DmaPacket(context, PacketKind.SIGNAL, dma, 0, len(dma.private), vidsch.next_sequence())
        packet.signals.append((fence, value))
        vidsch.enqueue(context, packet)

    def _attach(self, dma: DmaBuffer, kind: PacketKind, fence: MonitoredFence, value: int) -> bool:
        """DxgkDdiSignalMonitoredFence for a DMA buffer; False when it can take no more signals."""
        host = self._adapter.host
        if not host.has("DxgkDdiSignalMonitoredFence"):
            return False
        arguments = dma.signal_arguments
        arguments.MonitoredFenceGpuVa = fence.address
        arguments.MonitoredFenceValue = value
        arguments.KernelSubmissionType = _PRESENTBLT if kind is PacketKind.PRESENT else _RENDERGDI
        return bool(host.call("DxgkDdiSignalMonitoredFence", host.hAdapter, arguments) == _OK)
