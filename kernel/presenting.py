"""Presents: from D3DKMTPresent to a flip or to DMA packets that blit.

A flip is validated by DxgkDdiPresent without a DMA buffer (MMIO flips), stands in its context's queue behind the rendering that it
shows, and goes to the display when that is complete. A blit or colour fill becomes DMA packets. Models "DxgkDdiPresent" and
sections 5 and 6 of present-and-display. DEVIATES: there are no windows; a blit goes to an allocation, not to a window.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from wddm.ddi import d3dkmddi as ddi
from wddm.ddi.d3dkmddi import DXGK_PRESENT_DESTINATION_INDEX, DXGK_PRESENT_SOURCE_INDEX, DXGK_PRESENTFLAGS
from wddm.ddi.d3dkmthk import D3DKMT_PRESENTFLAGS as Flag
from wddm.ddi.d3dukmdt import D3DDDI_FLIPINTERVAL_TYPE, D3DDDIFORMAT, RECT
from wddm.ddi.status import NTSTATUS, ntstatus_name
from wddm.wire import thunk
from wddm.wire.thunk import PresentRetired

from .adapter import Adapter
from .display.display import Present
from .errors import refusal
from .objects import Context, InstanceHandle
from .vidmm.allocation import Allocation
from .vidsch.allocation_list import ConvertedList, fill_addresses
from .vidsch.packets import CallPacket, DmaPacket, PacketKind
from .vidsch.render import check_used

_OK: Final = NTSTATUS.STATUS_SUCCESS
_FLIP: Final = Flag.Flip | Flag.FlipDoNotFlip | Flag.FlipDoNotWait | Flag.FlipRestart
_BLIT: Final = Flag.Blt | Flag.ColorFill | Flag.DstRectValid | Flag.SrcRectValid
_MAX_PARTS: Final = 64


class Presenter:
    """Presents on one adapter."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter

    def present(self, context: Context, message: thunk.Present) -> None:
        """Queue a present. Raises CallError: nothing was queued."""
        flags = message.flags
        if flags & Flag.Flip and not flags & ~int(_FLIP):
            self._flip(context, message)
        elif bool(flags & Flag.Blt) != bool(flags & Flag.ColorFill) and not flags & ~int(_BLIT):
            self._blit(context, message)
        else:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"present flags {flags:#x} are not supported together")

    # ----- flips -------------------------------------------------------------------------------------------------------------

    def _flip(self, context: Context, message: thunk.Present) -> None:
        if message.flip_interval > D3DDDI_FLIPINTERVAL_TYPE.IMMEDIATE_ALLOW_TEARING:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"flip_interval {message.flip_interval} is not in 0..5")
        display, device = self.adapter.display, context.device
        display.source(message.VidPnSourceId)
        instance = self._allocation(context, message.hSource, "hSource")
        if message.hDestination:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "a flip has no hDestination")
        allocation = instance.allocation
        if not instance.opened.info.primary or instance.opened.info.VidPnSourceId != message.VidPnSourceId:
            raise refusal(
                NTSTATUS.STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE,
                f"hSource {message.hSource:#x} is no primary of source {message.VidPnSourceId}",
            )
        arguments = ddi.DXGKARG_PRESENT(
            pAllocationList=self._list(instance, None).array,
            Flags=DXGK_PRESENTFLAGS.Flip,
            FlipInterval=D3DDDI_FLIPINTERVAL_TYPE(message.flip_interval),
        )
        status = self.adapter.host.DxgkDdiPresent(context.hKmd, arguments)
        if status != _OK:
            raise refusal(status, self.adapter.explain(f"DxgkDdiPresent refused the flip: {ntstatus_name(status)}"))
        tearing = message.flip_interval == D3DDDI_FLIPINTERVAL_TYPE.IMMEDIATE_ALLOW_TEARING
        can_tear = bool(self.adapter.caps.FlipCaps & ddi.DXGK_FLIPCAPS.FlipImmediateMmIo)
        present = Present(device, context, message.id, [allocation])
        device.queued_presents += 1
        action = partial(
            display.flip,
            message.VidPnSourceId,
            present,
            0 if tearing else message.flip_interval,
            tearing=tearing and can_tear,
            repeat=bool(message.flags & Flag.FlipDoNotFlip),
            restart=bool(message.flags & Flag.FlipRestart),
        )
        started = partial(display.expect, message.VidPnSourceId, present)
        self.adapter.vidsch.enqueue(context, CallPacket(started, action, partial(self._dropped, present), present.uses))

    def _dropped(self, present: Present) -> None:
        """The device was lost before the flip came to the display."""
        if not present.told:
            present.told = True
            present.device.queued_presents -= 1
            self._retired(present.context, present.id, shown=False, source=0)

    def _retired(self, context: Context, number: int, *, shown: bool, source: int) -> None:
        now = self.adapter.clock()
        vblank = self.adapter.display.sources[source].flips.vblank if self.adapter.display.sources else 0
        context.device.process.tell(
            PresentRetired(hContext=context.handle, id=number, shown=shown, vblank_count=vblank, time_ns=int(now * 1e9))
        )

    def busy(self, context: Context, message: thunk.Present) -> bool:
        """FlipDoNotWait with a full queue: the present is given back at once."""
        if message.flags & Flag.FlipDoNotWait and self.full(context):
            source = message.VidPnSourceId if message.VidPnSourceId < len(self.adapter.display.sources) else 0
            self._retired(context, message.id, shown=False, source=source)
            return True
        return False

    def full(self, context: Context) -> bool:
        """Whether the device has as many presents queued as it may."""
        return context.device.queued_presents >= self.adapter.options.max_queued_presents

    # ----- blits -------------------------------------------------------------------------------------------------------------

    def _blit(self, context: Context, message: thunk.Present) -> None:
        fill = bool(message.flags & Flag.ColorFill)
        source = None if fill else self._allocation(context, message.hSource, "hSource")
        destination = self._allocation(context, message.hDestination, "hDestination")
        listed = self._list(source, destination)
        fill_addresses(listed, self.adapter.vidmm.epoch)
        whole = self._size(destination.allocation)
        dst = _rect(message.dst_rect) if message.flags & Flag.DstRectValid else whole
        src = whole if source is None else self._size(source.allocation)
        if message.flags & Flag.SrcRectValid:
            src = _rect(message.src_rect)
        packets: list[DmaPacket] = []
        try:
            self._passes(context, message, listed, fill, dst, src, packets)
        except BaseException:
            for packet in packets:
                self.adapter.pool.release(packet.dma)
            raise
        packets[-1].on_finish.append(partial(self._blitted, context, message, packets[-1]))
        for packet in packets:
            self.adapter.vidsch.enqueue(context, packet)

    def _blitted(self, context: Context, message: thunk.Present, packet: DmaPacket) -> None:
        self._retired(context, message.id, shown=not packet.aborted, source=0)

    def _passes(
        self,
        context: Context,
        message: thunk.Present,
        listed: ConvertedList,
        fill: bool,
        dst: RECT,
        src: RECT,
        packets: list[DmaPacket],
    ) -> None:
        info, pool = context.info, self.adapter.pool
        multipass, sequence = 0, self.adapter.vidsch.next_sequence()
        while len(packets) < _MAX_PARTS:
            dma = pool.acquire(info.DmaBufferSize, info.DmaBufferPrivateDataSize, info.PatchLocationListSize)
            arguments = ddi.DXGKARG_PRESENT(
                pAllocationList=listed.array,
                Flags=DXGK_PRESENTFLAGS.ColorFill if fill else DXGK_PRESENTFLAGS.Blt,
                pDmaBuffer=dma.array,
                DmaSize=dma.size,
                pDmaBufferPrivateData=dma.private,
                DmaBufferPrivateDataSize=len(dma.private),
                pPatchLocationListOut=dma.patches,
                PatchLocationListOutSize=len(dma.patches),
                MultipassOffset=multipass,
                Color=message.color,
                DstRect=dst,
                SrcRect=src,
                SubRectCnt=1,
                pDstSubRects=[dst],
                DmaBufferPhysicalAddress=dma.address,
            )
            try:
                status = self.adapter.host.DxgkDdiPresent(context.hKmd, arguments)
                check_used(dma, arguments.DmaBufferUsed, arguments.DmaBufferPrivateDataUsed, arguments.PatchLocationListOutUsed)
                if status not in (_OK, NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER):
                    raise refusal(status, self.adapter.explain(f"DxgkDdiPresent refused the blit: {ntstatus_name(status)}"))
            except BaseException:
                pool.release(dma)
                raise
            packets.append(
                DmaPacket(
                    context,
                    PacketKind.PRESENT,
                    dma,
                    arguments.DmaBufferUsed,
                    arguments.DmaBufferPrivateDataUsed or len(dma.private),
                    sequence,
                    flags=ddi.DXGK_SUBMITCOMMANDFLAGS.Present,
                    patch_count=arguments.PatchLocationListOutUsed,
                    allocations=listed,
                    uses=listed.uses,
                    writes=listed.writes,
                )
            )
            if status == _OK:
                return
            multipass = arguments.MultipassOffset
        raise refusal(NTSTATUS.STATUS_INSUFFICIENT_RESOURCES, f"a blit takes more than {_MAX_PARTS} DMA buffers")

    # ----- helpers -----------------------------------------------------------------------------------------------------------

    def _allocation(self, context: Context, handle: int, field: str) -> InstanceHandle:
        instance = context.device.process.table.get(handle, InstanceHandle, field)
        if instance.opened.device is not context.device:
            raise refusal(NTSTATUS.STATUS_GRAPHICS_WRONG_ALLOCATION_DEVICE, f"{field} {handle:#x} belongs to another device")
        if instance.allocation.offered:
            raise refusal(NTSTATUS.STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE, f"{field} {handle:#x} is offered")
        return instance

    def _list(self, source: InstanceHandle | None, destination: InstanceHandle | None) -> ConvertedList:
        """NULL, source, destination."""
        array = np.zeros(3, ddi.DXGK_ALLOCATIONLIST_DTYPE)
        flags = np.zeros(3, np.uint32)
        entries: list[Allocation | None] = [None, None, None]
        instances: list[InstanceHandle | None] = [None, source, destination]
        for index, instance in ((DXGK_PRESENT_SOURCE_INDEX, source), (DXGK_PRESENT_DESTINATION_INDEX, destination)):
            if instance is not None:
                array["hDeviceSpecificAllocation"][index] = instance.opened.hDeviceSpecific
                entries[index] = instance.allocation
        writes = []
        if destination is not None:
            flags[DXGK_PRESENT_DESTINATION_INDEX] = ddi.DXGK_ALLOCATIONLIST_WRITEOPERATION
            writes.append(destination.allocation)
        uses = list(dict.fromkeys(e for e in entries if e is not None))
        return ConvertedList(b"", array, flags, instances, entries, uses, writes, [])

    def _size(self, allocation: Allocation) -> RECT:
        arguments = ddi.DXGKARG_DESCRIBEALLOCATION(allocation.info.hAllocation)
        status = self.adapter.host.call("DxgkDdiDescribeAllocation", self.adapter.host.hAdapter, arguments)
        if status != _OK or arguments.Format is D3DDDIFORMAT.UNKNOWN:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "the allocation is nothing that can be presented")
        return RECT(0, 0, arguments.Width, arguments.Height)


def _rect(rect: thunk.Rect | None) -> RECT:
    if rect is None:
        raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "a rectangle that the flags promise is missing")
    if rect.left >= rect.right or rect.top >= rect.bottom:
        raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"an empty rectangle {rect.left},{rect.top}..{rect.right},{rect.bottom}")
    return RECT(rect.left, rect.top, rect.right, rect.bottom)
