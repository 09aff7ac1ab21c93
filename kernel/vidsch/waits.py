"""Waits and signals in the contexts' streams: who waits for which synchronisation object, and who is let go.

The scheduler calls it when a wait or a signal comes to the head of a queue; it answers by asking the scheduler to look at contexts
again. Models "pfnWaitForSynchronizationObject2Cb", "pfnSignalSynchronizationObject2Cb" and "Context Monitoring".
"""

from __future__ import annotations

from collections.abc import Callable

from kernel.objects import Context, Device, ExecutionState
from kernel.sync import CpuNotification, CpuWait, MonitoredFence, SyncObject
from wddm.ddi.status import NTSTATUS, hresult_from_ntstatus

from .packets import Broadcast, SignalPacket, WaitPacket


class Waits:
    """Of one adapter. ``look_at`` asks for another look at a context; ``fail_device`` as in the scheduler."""

    def __init__(
        self, look_at: Callable[[Context], None], fail_device: Callable[[Device, ExecutionState, int, str], None]
    ) -> None:
        self._look_at = look_at
        self._fail_device = fail_device
        self.fences_with_waiters: set[MonitoredFence] = set()

    def try_wait(self, context: Context, packet: WaitPacket) -> bool:
        """Whether the wait at the head of ``context`` goes through; if not, it stands in line."""
        objects = packet.objects
        if all(o.can_take(packet.value) and (not o.waiters or o.waiters[0] is context) for o in objects):
            for item in objects:
                item.take(packet.value)
                if context in item.waiters:
                    item.waiters.remove(context)
                self.wake(item)
            return True
        if not packet.queued:
            packet.queued = True
            for item in objects:
                item.waiters.append(context)
                if isinstance(item, MonitoredFence):
                    self.fences_with_waiters.add(item)
        return False

    def signal(self, packet: SignalPacket) -> None:
        """One context has come to the signal; the last one of a broadcast does it."""
        packet.broadcast.missing -= 1
        if packet.broadcast.missing > 0:
            return
        for item in packet.objects:
            if item.destroyed:
                continue
            wrong = item.signal(packet.value, rewind=packet.rewind)
            if wrong is not None:
                self._fail_device(
                    item.device,
                    ExecutionState.STOPPED,
                    hresult_from_ntstatus(NTSTATUS.STATUS_INVALID_PARAMETER),
                    f"signal of {item.handle:#x}: {wrong}",
                )
            self.signalled(item)

    def signalled(self, item: SyncObject) -> None:
        """The object's value or count changed: those that wait for it look again."""
        self.wake(item)
        if isinstance(item, MonitoredFence) and item.cpu_waits:
            for wait in [w for w in item.cpu_waits if w.satisfied]:
                self.end_cpu_wait(wait, None)
        if isinstance(item, CpuNotification):
            item.waiters.clear()

    def wake(self, item: SyncObject) -> None:
        """Let those look again who may have been waiting for this change."""
        if isinstance(item, MonitoredFence):
            # Waiters for a high value do not hold up those for a low one.
            for context in item.waiters:
                self._look_at(context)
        elif item.waiters:
            self._look_at(item.waiters[0])

    @staticmethod
    def end_cpu_wait(wait: CpuWait, sentence: str | None) -> None:
        """A wait of the CPU is over."""
        for fence in wait.fences:
            if wait in fence.cpu_waits:
                fence.cpu_waits.remove(wait)
        wait.done(sentence)

    def look_at_fences(self) -> None:
        """The hardware may have written monitored fences: look at all that somebody waits for."""
        for fence in list(self.fences_with_waiters):
            if fence.waiters or fence.cpu_waits:
                self.signalled(fence)
            if not fence.waiters and not fence.cpu_waits:
                self.fences_with_waiters.discard(fence)

    def forget(self, context: Context, packet: WaitPacket) -> None:
        """The wait is cancelled: whoever stands behind it may go."""
        for item in packet.objects:
            if context in item.waiters:
                item.waiters.remove(context)
                self.wake(item)


def drop_from_broadcast(broadcast: Broadcast) -> None:
    """A cancelled signal never comes: what waits for all contexts never fires."""
    broadcast.missing += 1 << 20
