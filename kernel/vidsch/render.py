"""From a command buffer to DMA packets: the DxgkDdiRender loop.

The command buffer is a snapshot that user mode can no longer change; the miniport validates and translates it into as many DMA
buffers as it takes (STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER and MultipassOffset). All parts are made before the first is queued, so
that a refusal in the middle leaves nothing behind. Models "dxgkddi_render" and "Submitting a Command Buffer".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from kernel.errors import BugCheckCode, BugCheckError, refusal, vidmm_bug_check
from wddm.ddi.d3dkmddi import DXGK_SUBMITCOMMANDFLAGS, DXGKARG_RENDER
from wddm.ddi.d3dukmdt import D3DDDI_CREATECONTEXTFLAGS, D3DDDI_PATCHLOCATIONLIST_DTYPE
from wddm.ddi.d3dumddi import D3DDDICB_RENDERFLAGS
from wddm.ddi.status import NTSTATUS, ntstatus_name

from .allocation_list import ConvertedList, convert, fill_addresses
from .dma import DmaBuffer, DmaPool
from .packets import DmaPacket, PacketKind

if TYPE_CHECKING:
    from kernel.handles import HandleTable
    from kernel.objects import Context
    from wddm.wire.thunk import Render

_NULL_RENDER: Final = int(D3DDDICB_RENDERFLAGS.NullRendering)
_NULL_CONTEXT: Final = int(D3DDDI_CREATECONTEXTFLAGS.NullRendering)
_NULL_SUBMIT: Final = int(DXGK_SUBMITCOMMANDFLAGS.NullRendering)
#: DMA buffers that one command buffer may take.
MAX_PARTS: Final = 4096


class RenderHost(Protocol):
    """The miniport's entry, and the sentence that it left for its last refusal."""

    def DxgkDdiRender(self, hContext: int, arguments: DXGKARG_RENDER) -> int: ...
    def explanation(self) -> str: ...


class Renderer:
    """Translates command buffers with one miniport."""

    def __init__(self, host: RenderHost, pool: DmaPool) -> None:
        self._host = host
        self._pool = pool

    def translate(self, context: Context, message: Render, table: HandleTable, sequence: int, epoch: int) -> list[DmaPacket]:
        """The DMA packets of a command buffer, in order. Raises CallError: nothing was queued."""
        size = context.info.DmaBufferSize
        if len(message.commands) > size:
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER, f"a command buffer of {len(message.commands)} bytes; the context has {size}"
            )
        patches = message.patch_location_list
        count, rest = divmod(len(patches), D3DDDI_PATCHLOCATIONLIST_DTYPE.itemsize)
        if rest or count > context.info.PatchLocationListSize:
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER,
                f"a patch location list of {len(patches)} bytes; the context has room for {context.info.PatchLocationListSize}"
                f" elements of {D3DDDI_PATCHLOCATIONLIST_DTYPE.itemsize} bytes",
            )
        listed = convert(message.allocation_list, context, table)
        fill_addresses(listed, epoch)
        null = message.flags & _NULL_RENDER or context.flags & _NULL_CONTEXT
        packets: list[DmaPacket] = []
        try:
            self._passes(context, message, listed, sequence, bool(null), packets)
        except BaseException:
            for packet in packets:
                self._pool.release(packet.dma)
            raise
        packets[-1].offers = listed.offers
        return packets

    def _passes(
        self,
        context: Context,
        message: Render,
        listed: ConvertedList,
        sequence: int,
        null: bool,
        packets: list[DmaPacket],
    ) -> None:
        info = context.info
        commands = np.frombuffer(message.commands, np.uint8)
        patches_in = np.frombuffer(message.patch_location_list, D3DDDI_PATCHLOCATIONLIST_DTYPE)
        multipass = 0
        while len(packets) < MAX_PARTS:
            dma = self._pool.acquire(info.DmaBufferSize, info.DmaBufferPrivateDataSize, info.PatchLocationListSize)
            arguments = dma.render_arguments
            arguments.pCommand = commands
            arguments.CommandLength = len(commands)
            arguments.pAllocationList = listed.array
            arguments.AllocationListSize = len(listed.array)
            arguments.pPatchLocationListIn = patches_in
            arguments.PatchLocationListInSize = len(patches_in)
            arguments.MultipassOffset = multipass
            arguments.DmaBufferUsed = arguments.DmaBufferPrivateDataUsed = arguments.PatchLocationListOutUsed = 0
            try:
                status = self._host.DxgkDdiRender(context.hKmd, arguments)
                check_used(dma, arguments.DmaBufferUsed, arguments.DmaBufferPrivateDataUsed, arguments.PatchLocationListOutUsed)
                if status not in (NTSTATUS.STATUS_SUCCESS, NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER):
                    why = f"DxgkDdiRender refused the command buffer: {ntstatus_name(status)}"
                    more = self._host.explanation()
                    raise refusal(status, f"{why}; {more}" if more else why)
                if status != NTSTATUS.STATUS_SUCCESS and arguments.MultipassOffset == multipass and not arguments.DmaBufferUsed:
                    raise refusal(NTSTATUS.STATUS_INVALID_USER_BUFFER, "one command does not fit a whole DMA buffer")
            except BaseException:
                self._pool.release(dma)
                raise
            packets.append(
                DmaPacket(
                    context,
                    PacketKind.RENDER,
                    dma,
                    arguments.DmaBufferUsed,
                    arguments.DmaBufferPrivateDataUsed or len(dma.private),
                    sequence,
                    flags=_NULL_SUBMIT if null else 0,
                    patch_count=arguments.PatchLocationListOutUsed,
                    allocations=listed,
                    uses=listed.uses,
                    writes=listed.writes,
                )
            )
            if status == NTSTATUS.STATUS_SUCCESS:
                return
            multipass = arguments.MultipassOffset
        raise BugCheckError(
            BugCheckCode.VIDEO_DXGKRNL_FATAL_ERROR, 0, f"DxgkDdiRender took {MAX_PARTS} DMA buffers for one command buffer"
        )


def check_used(dma: DmaBuffer, used: int, private_used: int, patches: int) -> None:
    """What the miniport says it wrote. Raises BugCheckError (0x10E): it would have written over other memory."""
    if not 0 <= used <= dma.size:
        raise vidmm_bug_check(0x12, f"{used} bytes were written to a DMA buffer of {dma.size}", used, dma.size)
    if not 0 <= private_used <= len(dma.private):
        raise vidmm_bug_check(0x13, f"{private_used} bytes of private data; there are {len(dma.private)}", private_used)
    if not 0 <= patches <= len(dma.patches):
        raise vidmm_bug_check(0x12, f"{patches} patch locations; there is room for {len(dma.patches)}", patches)
