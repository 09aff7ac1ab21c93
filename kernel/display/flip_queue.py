"""The flips of one source: which frame goes to the screen at which vertical sync, and which never does.

A plain object: it is told about flips and vertical syncs and answers what to program and what has retired. One flip is armed in
hardware at a time. A frame with interval n stays at least n vertical blanks; a frame with interval 0 cuts that short to one, and is
itself dropped when a newer frame waits behind it. A flip retires when a vertical sync reports its address, or when it was dropped
and can no longer come on the screen. Models sections 2, 6 and 14 of present-and-display.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum


class FlipKind(Enum):
    """When a flip is latched."""

    VSYNC = "at a vertical sync"
    TEARING = "at once"
    REPEAT = "not at all: the frame on the screen counts again (FlipDoNotFlip)"


@dataclass(slots=True, eq=False)
class Flip:
    """One present. ``address`` of its surface; ``interval`` 0..4; ``token`` is the caller's."""

    address: int
    interval: int
    token: object
    kind: FlipKind = FlipKind.VSYNC


@dataclass(slots=True)
class FlipActions:
    """What to do now, in this order: program ``arm``; tell that ``shown`` came to the screen and ``dropped`` never will;
    ``released`` left the screen."""

    arm: Flip | None = None
    shown: list[Flip] = field(default_factory=list)
    dropped: list[Flip] = field(default_factory=list)
    released: list[Flip] = field(default_factory=list)


@dataclass(slots=True)
class FlipQueue:
    """``displayed``: on the screen; ``armed``: in hardware, latched at the next vertical sync; ``queue``: waiting."""

    displayed: Flip | None = None
    armed: Flip | None = None
    queue: deque[Flip] = field(default_factory=deque)
    vblank: int = 0
    #: Count of the vertical blank at which the displayed frame came (or counted again).
    since: int = 0
    #: Replaced while armed: may have been latched all the same, so they retire when a later frame is on the screen.
    _replaced: list[Flip] = field(default_factory=list)

    def add(self, flip: Flip, *, restart: bool = False) -> FlipActions:
        """A flip whose rendering is complete. ``restart`` drops what waits before it."""
        actions = FlipActions()
        if restart:
            actions.dropped += self.queue
            self.queue.clear()
        if flip.kind is FlipKind.TEARING:
            # Newer than everything that waits: at once.
            actions.dropped += self.queue
            self.queue.clear()
            if self.armed is not None:
                self._replaced.append(self.armed)
                self.armed = None
            actions.arm = flip
            self._show(flip, actions)
            return actions
        if flip.interval == 0:
            # The frame before it need not stay longer than one vertical blank.
            before = self.queue[-1] if self.queue else self.armed or self.displayed
            if before is not None:
                before.interval = min(before.interval, 1)
        self.queue.append(flip)
        self._arm(actions)
        return actions

    def vsync(self, address: int) -> FlipActions:
        """A vertical sync: ``address`` is scanned out from now on."""
        self.vblank += 1
        actions = FlipActions()
        armed = self.armed
        if armed is not None and (armed.kind is FlipKind.REPEAT or armed.address == address):
            self.armed = None
            self._show(armed, actions)
        self._arm(actions)
        return actions

    def clear(self) -> FlipActions:
        """Forget everything: the source shows nothing of this queue any more."""
        actions = FlipActions(dropped=[*self._replaced, *([self.armed] if self.armed else []), *self.queue])
        if self.displayed is not None:
            actions.released.append(self.displayed)
        self.displayed = self.armed = None
        self.queue.clear()
        self._replaced.clear()
        return actions

    def drop(self, tokens: list[object]) -> FlipActions:
        """Drop waiting flips with one of these tokens (their device is lost); what is armed or displayed stays."""
        actions = FlipActions(dropped=[f for f in self.queue if f.token in tokens])
        self.queue = deque(f for f in self.queue if f.token not in tokens)
        return actions

    def show_now(self, flip: Flip) -> FlipActions:
        """A mode change put ``flip`` on the screen."""
        actions = self.clear()
        self.displayed, self.since = flip, self.vblank
        return actions

    def _show(self, flip: Flip, actions: FlipActions) -> None:
        previous = self.displayed
        actions.shown.append(flip)
        actions.dropped += self._replaced
        self._replaced.clear()
        self.since = self.vblank
        if flip.kind is FlipKind.REPEAT and previous is not None:
            # The frame stays; only its time begins anew.
            actions.released.append(flip)
            self.displayed = Flip(previous.address, flip.interval, previous.token)
            return
        if previous is not None:
            actions.released.append(previous)
        self.displayed = flip

    def _arm(self, actions: FlipActions) -> None:
        # Of frames that nobody has to see only the newest counts.
        while len(self.queue) > 1 and self.queue[0].interval == 0:
            actions.dropped.append(self.queue.popleft())
        if not self.queue:
            return
        candidate = self.queue[0]
        if self.armed is not None:
            if self.armed.interval != 0 or self.armed.kind is FlipKind.REPEAT:
                return
            # An armed frame of interval 0 gives way to a newer one.
            self._replaced.append(self.armed)
            self.armed = None
        elif not self._due():
            return
        self.queue.popleft()
        self.armed = candidate
        if candidate.kind is FlipKind.VSYNC:
            actions.arm = candidate

    def _due(self) -> bool:
        """Whether the frame on the screen may give way at the coming vertical sync."""
        displayed = self.displayed
        return displayed is None or self.vblank + 1 - self.since >= max(1, displayed.interval)
