"""The kernel as a process: the bus on one side, thunk sessions on the other, one nursery.

The trio shell around :mod:`kernel.adapter`: it feeds interrupts in, runs the watchdog at the right times and ends when the bus is
lost. Models the place of Dxgkrnl between D3DKMT and the PCI bus.
"""

from __future__ import annotations

import logging
import math

import trio

from wddm.wire.bus import BUS, Hello, HelloReply, InterruptRaised
from wddm.wire.channel import CallError, Channel, ChannelClosed
from wddm.wire.connection import RemoteError
from wddm.wire.thunk import THUNK
from wddm.wire.transport import Transport

from .adapter import Adapter
from .bus_link import BusLink, CopyingLink, SharedLink
from .errors import BugCheck, BugCheckError
from .miniport_host import StartError
from .options import Options
from .process import Session
from .recovery import Recovery
from .thunks.group import Services
from .vidsch.tdr import Watch, watch

_log = logging.getLogger("kernel")


class BusLost(Exception):
    """The device is gone, or refused us; the text tells why."""


class Stopped(Exception):
    """The adapter was stopped by a bug check; ``record`` tells why."""

    def __init__(self, record: BugCheck) -> None:
        super().__init__(str(record))
        self.record = record


class Kernel:
    """One adapter and its processes: ``await nursery.start(kernel.run, bus)``, then ``await kernel.session(transport)`` each."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.adapter: Adapter | None = None
        self.services: Services | None = None
        self._wakeup = trio.Event()
        self._armed = math.inf
        self._ended = trio.Event()
        self._link: BusLink | None = None

    # ----- the bus -----------------------------------------------------------------------------------------------------------

    async def run(self, bus: Transport, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take the bus, start the adapter and serve. Raises BusLost, StartError or Stopped; returns only by being cancelled."""
        channel = Channel(bus, BUS, server=False, name="bus")
        channel.on(InterruptRaised, self._interrupt)
        try:
            await self._serve(channel, task_status)
        finally:
            channel.close()
            if self._link is not None:
                self._link.close()

    async def _serve(self, channel: Channel, task_status: trio.TaskStatus[None]) -> None:
        problem: Exception | None = None
        async with trio.open_nursery() as nursery:
            await nursery.start(self._run_bus, channel)
            try:
                await self._start(channel, nursery)
            except (StartError, BusLost) as error:
                problem = error
            except ChannelClosed as error:
                problem = BusLost(str(error))
            except (BugCheckError, CallError) as error:
                problem = StartError(str(error))
            else:
                task_status.started()
                assert self.adapter is not None
                try:
                    await self._ended.wait()
                finally:
                    self.adapter.stop()
                if self.adapter.stopped is not None:
                    problem = Stopped(self.adapter.stopped)
                else:
                    problem = BusLost(_why(channel))
            nursery.cancel_scope.cancel()
        assert problem is not None
        raise problem

    async def _run_bus(self, channel: Channel, *, task_status: trio.TaskStatus[None]) -> None:
        await channel.run(after_batch=self._pump, task_status=task_status)
        self._ended.set()

    async def _start(self, channel: Channel, nursery: trio.Nursery) -> None:
        try:
            hello = await channel.request(Hello(protocol=BUS.name, version=BUS.version), HelloReply)
        except RemoteError as error:
            raise BusLost(f"the device refused the bus: {error}") from None
        if (hello.protocol, hello.version) != (BUS.name, BUS.version):
            raise BusLost(f"the device speaks {hello.protocol} {hello.version}, not {BUS.name} {BUS.version}")
        shared = hello.descriptors and channel.passes_descriptors
        link: BusLink = (SharedLink if shared else CopyingLink)(channel, limit=self.options.system_memory)
        self._link = link
        nursery.start_soon(link.run)
        adapter = Adapter(self.options, link, hello.registers, trio.lowlevel.current_clock().current_time)
        adapter.start()
        link.collected = adapter.pump
        adapter.changed = self._changed
        self.adapter = adapter
        self.services = Services(adapter)
        await link.read_registers([])
        nursery.start_soon(self._watch, Recovery(adapter))

    def _interrupt(self, message: InterruptRaised) -> None:
        adapter = self.adapter
        if adapter is not None and adapter.stopped is None:
            try:
                adapter.host.interrupt(message)
            except BugCheckError as error:
                adapter.bug_check(error.record)
            except ChannelClosed:
                _log.debug("an interrupt came after the adapter was removed")

    def _pump(self) -> None:
        if self.adapter is not None:
            self.adapter.pump()

    # ----- time --------------------------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """After every pump: wake the watchdog only when it has something to do earlier than it thinks."""
        adapter = self.adapter
        assert adapter is not None
        if adapter.stopped is not None:
            self._ended.set()
        elif adapter.hung:
            self._wakeup.set()
        else:
            deadline = adapter.next_deadline()
            if deadline is not None and deadline < self._armed:
                self._wakeup.set()

    async def _watch(self, recovery: Recovery) -> None:
        """Policies and the watchdog get their turns."""
        adapter = recovery.adapter
        while adapter.stopped is None:
            deadline = adapter.next_deadline()
            self._armed = math.inf if deadline is None else deadline
            self._wakeup = trio.Event()
            if not adapter.hung:
                with trio.move_on_at(self._armed):
                    await self._wakeup.wait()
            self._armed = -math.inf
            try:
                await self._look(recovery)
            except BugCheckError as error:
                adapter.bug_check(error.record)
            except ChannelClosed:
                return  # the bus is gone, and run() tells so
            adapter.pump()

    async def _look(self, recovery: Recovery) -> None:
        adapter = recovery.adapter
        now = adapter.clock()
        for node in adapter.vidsch.nodes:
            what, _ = watch(node, now, adapter.tdr)
            if what is Watch.PREEMPT:
                adapter.vidsch.preempt(node, because_of_time=True)
            elif what is Watch.HUNG:
                adapter.hung.append((node, f"node {node.ordinal} did not give way within {adapter.tdr.delay} s"))
        while adapter.hung:
            node, why = adapter.hung.popleft()
            await recovery.recover(node, why)

    # ----- processes ---------------------------------------------------------------------------------------------------------

    async def session(self, transport: Transport) -> None:
        """Serve one process until it leaves."""
        channel = Channel(transport, THUNK, server=True, name="thunk")
        services = self.services
        if services is None or services.adapter.stopped is not None:
            channel.close("the kernel has no adapter")
            return
        await Session(services, channel).run()


def _why(channel: Channel) -> str:
    error = channel.protocol_error
    return f"the bus broke the protocol: {error}" if error is not None else "the device is gone"
