"""Presents on their way: what the driver's callback must know of one, and how many of a device may be queued."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trio

from wddm.ddi.dxgiddi import DXGIDDICB_PRESENT
from wddm.wire import thunk

if TYPE_CHECKING:
    from .swap_chain import SwapChain

# D3DKMT_PRESENTFLAGS
KMT_BLT: Final = 0x1
KMT_FLIP: Final = 0x4
KMT_FLIP_RESTART: Final = 0x20
MAX_FRAME_LATENCY: Final = 16


class PresentContext:
    """pDXGIContext of one present: what the callback must know, and where its retirement goes."""

    __slots__ = ("chain", "count", "flags", "id", "interval", "submitted")

    def __init__(self, chain: SwapChain, id: int, count: int, flags: int, interval: int) -> None:
        self.chain = chain
        self.id = id
        self.count = count
        self.flags = flags
        self.interval = interval
        self.submitted = False

    def message(self, arg: DXGIDDICB_PRESENT) -> thunk.Present:
        """The thunk of the driver's callback."""
        interval = int(arg.SyncIntervalOverride) if arg.SyncIntervalOverrideValid else self.interval
        return thunk.Present(
            hContext=arg.hContext,
            id=self.id,
            hSource=arg.hSrcAllocation,
            hDestination=arg.hDstAllocation,
            VidPnSourceId=self.chain.source,
            flags=self.flags,
            flip_interval=interval,
        )

    def retired(self, message: thunk.PresentRetired) -> None:
        """The kernel is done with it."""
        self.chain.on_retired(self, message)


class FrameQueue:
    """Presents of a device that the display is not done with: at most as many as the frame latency."""

    def __init__(self) -> None:
        self.outstanding = 0
        self._changed = trio.Event()

    def add(self) -> None:
        """One more."""
        self.outstanding += 1

    def done(self) -> None:
        """One less."""
        self.outstanding -= 1
        self.wake()

    def wake(self) -> None:
        """Let waiters look again."""
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    async def wait(self) -> None:
        """Until something changes."""
        await self._changed.wait()
