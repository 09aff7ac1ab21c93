"""The heart of a device: what is bound, what of it the current command buffer does not know yet, and recording work.

Pipeline state starts anew with every submission, so each command buffer sets again whatever its draws use: at its start every
binding is *dirty*, and a draw first emits what is dirty. A binding is a key (kind, stage, slot) and a value; changing where a
resource lies dirties the keys that it is bound to.

:meth:`Core.work` and :meth:`Core.perform` record; when the result does not fit (packets, lists, bytes named), what was recorded
is taken back, the buffer is submitted and the recording repeated in the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import IntEnum
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from umd.callbacks import Callbacks
from umd.command_buffer import CommandBuffer, Mark, packet
from umd.errors import DeviceError
from umd.memory import Allocation, AllocationManager
from umd.upload import Heap, Later, UploadRing
from wddm.ddi.d3d10umddi import D3D11DDI_CORELAYER_DEVICECALLBACKS
from wddm.ddi.status import HRESULT
from wddm.hw.driver import AllocationFlag
from wddm.hw.packets import Op

if TYPE_CHECKING:
    from umd.query import Query
    from umd.resource import Resource

_log = logging.getLogger("umd")
Pending = Awaitable[None] | None
#: Repeats of one recording before it is given up: every repeat follows a submission or new memory.
MAX_REPEATS = 64
#: Packets that are worth a submission of their own while the GPU has nothing to do: it works while more is recorded.
EAGER_PACKETS = 4096


class Bind(IntEnum):
    """Kinds of binding; the high half of a key."""

    SHADER = 0
    CONSTANT_BUFFER = 1
    RESOURCE = 2
    SAMPLER = 3
    UAV = 4
    VERTEX_BUFFER = 5
    INDEX_BUFFER = 6
    LAYOUT = 7
    TOPOLOGY = 8
    STREAM_OUTPUT = 9
    RENDER_TARGETS = 10
    DEPTH_STENCIL = 11
    BLEND = 12
    BLEND_FACTOR = 13
    DEPTH_STENCIL_STATE = 14
    RASTERIZER = 15
    VIEWPORTS = 16
    SCISSORS = 17
    PREDICATION = 18


def key(kind: int, stage: int = 0, slot: int = 0) -> int:
    """The key of a binding; its low 16 bits are the ``slot`` field of its packet."""
    return kind << 16 | stage << 8 | slot


PREDICATION_KEY = key(Bind.PREDICATION)
Emitter = Callable[["Core", int, Any], None]


@dataclass(slots=True)
class Bindings:
    """Everything that is bound at a time."""

    slots: dict[int, Any]
    owners: dict[int, Resource]
    topology: int
    target_count: int
    samples_agree: bool


class Core:
    """State and recording of one device (one kernel context)."""

    def __init__(
        self,
        callbacks: Callbacks,
        batch: CommandBuffer,
        h_rt_core_layer: int,
        core_layer: D3D11DDI_CORELAYER_DEVICECALLBACKS,
        budget: int,
    ) -> None:
        self.callbacks = callbacks
        self.batch = batch
        self.h_rt_core_layer = h_rt_core_layer
        self.core_layer = core_layer
        batch.budget = budget
        self.memory = AllocationManager(callbacks, lambda: batch.serial)
        self.ring = UploadRing(self.memory, batch.completed, self.wait_for)
        self.shader_heap = Heap(self.memory, AllocationFlag.SHADER_CODE, 64, reuse=False)
        self.query_heap = Heap(self.memory, AllocationFlag.CPU_READ, 128, reuse=True)
        self.counter_heap = Heap(self.memory, AllocationFlag.UNORDERED_ACCESS, 64, reuse=True)
        self.slots: dict[int, Any] = {}
        self._owners: dict[int, Resource] = {}
        self.dirty: set[int] = set()
        self.emitters: list[Emitter] = []
        self.target_count = 0  #: render targets bound, in all
        self.topology = 0
        self.stages_changed: Callable[[], None] = lambda: None  #: set by the shader functions
        self.samples_agree = True  #: all bound targets have one sample count
        self.drawable = False  #: the bound stages fit together (see ``shaders.fits``)
        self.rasterizes = True  #: False: a pass-through geometry shader streams out and nothing is rasterized
        self.emitted_stream_resets: list[Any] = []  #: stream-output targets whose counter the recording at hand sets
        self.open_queries: list[Query] = []
        self.reserve = 1  #: packets kept free for ending the open queries when the buffer is submitted
        self._start = 0  #: packets of the current buffer that only carry open queries on
        self._eager = EAGER_PACKETS  #: packets from which on an idle GPU gets what is recorded
        self.error_text = ""  #: the sentence of the last error, for people

    # --- bindings ------------------------------------------------------------------------------------------------------
    def bind(self, key: int, value: Any, resource: Resource | None = None) -> None:
        """Bind ``value`` (None: nothing). ``resource``: whose place the emitted packet will name."""
        slots = self.slots
        if slots.get(key) is value:
            return
        old = self._owners.pop(key, None)
        if old is not None:
            old.keys.discard(key)
        if value is None:
            del slots[key]
        else:
            slots[key] = value
            if resource is not None:
                self._owners[key] = resource
                resource.keys.add(key)
        self.dirty.add(key)

    def bind_packets(self, key: int, value: bytes | tuple[bytes, ...]) -> None:
        """Bind state that is made of packets alone; the same again changes nothing."""
        if self.slots.get(key) != value:
            self.slots[key] = value
            self.dirty.add(key)

    def exchange(self, other: Bindings | None = None) -> Bindings:
        """Bind ``other`` (None: nothing at all) in place of everything that is bound, and return what was."""
        before = Bindings(self.slots, self._owners, self.topology, self.target_count, self.samples_agree)
        after = other if other is not None else Bindings({}, {}, 0, 0, True)
        for k, resource in before.owners.items():
            resource.keys.discard(k)
        for k, resource in after.owners.items():
            resource.keys.add(k)
        self.dirty |= before.slots.keys() | after.slots.keys()
        self.slots, self._owners = after.slots, after.owners
        self.topology, self.target_count, self.samples_agree = after.topology, after.target_count, after.samples_agree
        self.stages_changed()
        return before

    def moved(self, resource: Resource) -> None:
        """The resource lies elsewhere now: whatever names it is emitted again."""
        if resource.keys:
            self.dirty |= resource.keys

    def _emit(self, keys: set[int]) -> None:
        slots, emitters = self.slots, self.emitters
        for k in keys:
            emitters[k >> 16](self, k, slots.get(k))

    # --- recording -----------------------------------------------------------------------------------------------------
    def work(self, data: bytes) -> Pending:
        """A draw or dispatch: the state that it needs, then the packet."""
        batch = self.batch
        packets = batch.packets
        dirty = self.dirty
        if dirty:
            mark = len(packets), len(batch.patches), len(batch.allocations), batch.bytes
            self.dirty = set()
            slots, emitters = self.slots, self.emitters
            try:
                for k in dirty:
                    emitters[k >> 16](self, k, slots.get(k))
            except Later as later:
                self._take_back(mark, dirty)
                return self._again(later, lambda: packets.append(data), True)
            packets.append(data)
            if batch.over(self.reserve, mark):
                return self._overflow(mark, lambda: packets.append(data), True, dirty)
            if self.emitted_stream_resets:
                self._commit_resets()
            return None if len(packets) < self._eager else self._hand_over()
        packets.append(data)
        if len(packets) > batch.max_packets - self.reserve:
            mark = (len(packets) - 1, len(batch.patches), len(batch.allocations), batch.bytes)
            return self._overflow(mark, lambda: packets.append(data), True, set())
        return None if len(packets) < self._eager else self._hand_over()

    def _hand_over(self) -> Pending:
        """Much is recorded: submit it when the GPU has nothing to do."""
        batch = self.batch
        self._eager = len(batch.packets) + EAGER_PACKETS
        return self.flush() if batch.completed() >= batch.serial - 1 else None

    def perform(self, record: Callable[[], None], *, state: bool = False) -> Pending:
        """Run ``record``, which adds packets and may raise Later; it may be run again. ``state``: it is a draw or dispatch."""
        batch = self.batch
        mark = batch.mark()
        dirty = self._wanted(state)
        try:
            self._emit(dirty)
            record()
        except Later as later:
            self._take_back(mark, dirty)
            return self._again(later, record, state)
        if batch.over(self.reserve, mark):
            return self._overflow(mark, record, state, dirty)
        if self.emitted_stream_resets:
            self._commit_resets()
        return None

    def _commit_resets(self) -> None:
        """Counters that have been set once go on by themselves."""
        for target in self.emitted_stream_resets:
            target.start = None
        self.emitted_stream_resets.clear()

    def _wanted(self, state: bool) -> set[int]:
        """Take the dirty keys that matter: all for a draw, predication for copies and clears."""
        if state:
            dirty, self.dirty = self.dirty, set()
            return dirty
        if PREDICATION_KEY in self.dirty:
            self.dirty.discard(PREDICATION_KEY)
            return {PREDICATION_KEY}
        return set()

    def unpredicated(self, record: Callable[[], None]) -> Pending:
        """As :meth:`perform`, executed whatever the predicate says: the driver's own uploads."""
        if PREDICATION_KEY not in self.slots:
            return self.perform(record)

        def around() -> None:
            self.emitters[Bind.PREDICATION](self, PREDICATION_KEY, None)
            record()
            self.dirty.add(PREDICATION_KEY)

        return self.perform(around)

    def _take_back(self, mark: Mark, dirty: set[int]) -> None:
        self.batch.rollback(mark)
        self.emitted_stream_resets.clear()
        self.dirty |= dirty

    def _overflow(self, mark: Mark, record: Callable[[], None], state: bool, dirty: set[int]) -> Pending:
        """The recording since ``mark`` does not fit: submit what precedes it and record it again."""
        batch = self.batch
        if mark[0] <= self._start:
            if batch.full:
                self._take_back(mark, dirty)
                raise DeviceError.out_of_memory("one piece of work needs more packets or allocations than a command buffer has")
            if self.emitted_stream_resets:
                self._commit_resets()
            return None  # alone it names more memory than the budget: let the kernel try
        self._take_back(mark, dirty)
        pending = self.flush()
        if pending is not None:
            return self._resume(pending, record, state)
        return self.perform(record, state=state)

    async def _resume(self, pending: Awaitable[None], record: Callable[[], None], state: bool) -> None:
        await pending
        following = self.perform(record, state=state)
        if following is not None:
            await following

    async def _again(self, later: Later, record: Callable[[], None], state: bool) -> None:
        await later.work()
        following = self.perform(record, state=state)
        if following is not None:
            await following

    async def retry(self, operation: Callable[[], Any]) -> Any:
        """Run a plain operation that may raise Later until it is through."""
        for _ in range(MAX_REPEATS):
            try:
                return operation()
            except Later as later:
                await later.work()
        raise DeviceError.out_of_memory("memory for the GPU's own use does not suffice")

    def stage(self, target: Allocation, at: int, data: npt.NDArray[np.uint8]) -> None:
        """Record: ``data`` (at most a chunk of the ring) to byte ``at`` of ``target``, through the ring. Raises Later."""
        size = data.nbytes
        chunk, offset = self.ring.take(size)
        chunk.array[offset : offset + size] = data
        slot = Op.COPY_BUFFER << 12
        self.batch.add_at(packet(Op.COPY_BUFFER, extent=size, extent2=size), slot, target, at, True)
        self.batch.patch_second(slot | 1, chunk.allocation, offset)

    # --- submission ----------------------------------------------------------------------------------------------------
    def flush(self) -> Pending:
        """Submit what is recorded (nothing: only free what was destroyed)."""
        batch = self.batch
        if len(batch.packets) <= self._start:
            self.memory.drain()
            return None
        for query in self.open_queries:
            query.suspend(self)
        pending: Pending = None
        self._start = 0
        self._eager = EAGER_PACKETS
        try:
            pending = batch.submit()
        finally:
            self.dirty = set(self.slots)
            self.memory.drain()
        amortize = self.core_layer.pfnPerformAmortizedProcessingCb
        if amortize is not None:
            amortize(self.h_rt_core_layer)
        if self.open_queries:
            try:
                self._resume_queries()
            except Later as later:
                return self._resume_queries_later(pending, later)
        return pending

    def _resume_queries(self) -> None:
        """Queries that were open when a buffer was submitted go on in the new one. Raises Later."""
        for query in self.open_queries:
            query.resume(self)
        self._start = len(self.batch.packets)

    async def _resume_queries_later(self, pending: Pending, later: Later) -> None:
        if pending is not None:
            await pending
        await later.work()
        await self.retry(self._resume_queries)

    def open_query(self, query: Query) -> None:
        """The query counts from here on, over submissions as well."""
        query.open = True
        self.open_queries.append(query)
        self.reserve = 1 + 2 * len(self.open_queries)

    def close_query(self, query: Query) -> None:
        """The query has ended."""
        query.open = False
        self.open_queries.remove(query)
        self.reserve = 1 + 2 * len(self.open_queries)

    @property
    def recorded(self) -> bool:
        """Whether anything waits to be submitted."""
        return len(self.batch.packets) > self._start

    async def wait_for(self, serial: int) -> None:
        """Submit what is needed and wait until the GPU is done with submission ``serial``."""
        if serial >= self.batch.serial:
            pending = self.flush()
            if pending is not None:
                await pending
        # Recording that was taken back may have noted a submission that never came: then what came before it counts.
        await self.batch.wait(min(serial, self.batch.serial - 1))

    def report(self, hr: int, text: str = "") -> None:
        """pfnSetErrorCb, which carries a code alone; the sentence goes to the log."""
        self.error_text = text
        if hr != HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING:
            _log.warning("%s; reported as 0x%08X", text, hr)
        if self.core_layer.pfnSetErrorCb is not None:
            self.core_layer.pfnSetErrorCb(self.h_rt_core_layer, hr)


async def settle(value: Any) -> Any:
    """The result of an entry that may be an awaitable."""
    return await value if isawaitable(value) else value
