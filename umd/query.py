"""Queries and predication.

A query's result lies in blocks that the GPU writes. Pipeline state, open queries included, ends with each submission, so a query
that is open when a buffer is submitted gets one block per submission; its result is their sum. It is signalled when the fence has
passed the submission with its last block. EVENT needs no block: the fence is the event.
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable
from typing import Any

from umd.command_buffer import packet
from umd.core import PREDICATION_KEY, Core, Pending
from umd.emit import slot_id
from umd.errors import DeviceError, WasStillDrawing
from umd.upload import Place
from wddm.ddi.d3d10umddi import (
    D3D10_DDI_GET_DATA_FLAG,
    D3D10DDI_COUNTER_INFO,
    D3D10DDI_QUERY,
    D3D10DDIARG_CREATEQUERY,
)
from wddm.ddi.status import HRESULT
from wddm.hw.packets import QUERY_SIZES, Op, QueryKind

Q = D3D10DDI_QUERY
_KINDS: dict[int, tuple[QueryKind, int]] = {
    Q.EVENT: (QueryKind.EVENT, 0),
    Q.OCCLUSION: (QueryKind.OCCLUSION, 0),
    Q.TIMESTAMP: (QueryKind.TIMESTAMP, 0),
    Q.TIMESTAMPDISJOINT: (QueryKind.TIMESTAMP_DISJOINT, 0),
    Q.PIPELINESTATS: (QueryKind.PIPELINE_STATISTICS, 0),
    Q.D3D11_PIPELINESTATS: (QueryKind.PIPELINE_STATISTICS, 0),
    Q.OCCLUSIONPREDICATE: (QueryKind.OCCLUSION_PREDICATE, 0),
    Q.STREAMOUTPUTSTATS: (QueryKind.STREAM_OUTPUT_STATISTICS, 0),
    Q.STREAMOVERFLOWPREDICATE: (QueryKind.STREAM_OVERFLOW_PREDICATE, 4),
    **{Q.STREAMOUTPUTSTATS_STREAM0 + s: (QueryKind.STREAM_OUTPUT_STATISTICS, s) for s in range(4)},
    **{Q.STREAMOVERFLOWPREDICATE_STREAM0 + s: (QueryKind.STREAM_OVERFLOW_PREDICATE, s) for s in range(4)},
}
_PREDICATES = (QueryKind.OCCLUSION_PREDICATE, QueryKind.STREAM_OVERFLOW_PREDICATE)
#: A query that is open over more submissions than this is summed up by the processor as they end.
MAX_SEGMENTS = 8


class Query:
    """A driver query."""

    __slots__ = ("arg", "blocks", "extent", "folded", "issued", "kind", "open", "serial", "spare", "type")

    def __init__(self, type: int) -> None:
        self.type = type
        self.kind, stream = _KINDS[type]
        self.arg = int(self.kind) | stream << 8
        self.extent = QUERY_SIZES[self.kind]
        self.blocks: list[tuple[Place, int]] = []  #: blocks of this issue, and the submission that each belongs to
        self.spare: list[Place] = []  #: blocks of earlier issues
        self.folded: list[int] = []  #: sum of blocks that were read already
        self.serial = 0  #: submission that ends it
        self.open = False
        self.issued = False

    def begin(self) -> None:
        """A new issue: earlier results are gone."""
        self.spare += [place for place, _ in self.blocks]
        self.blocks = []
        self.folded = []
        self.issued = False

    def next_block(self, core: Core) -> None:
        """A block for the submission being recorded, unless there is one. Raises Later."""
        serial = core.batch.serial
        if self.blocks and self.blocks[-1][1] == serial:
            return
        if len(self.blocks) > MAX_SEGMENTS:
            self._fold(core.batch.completed())
        place = self.spare.pop() if self.spare else core.query_heap.take(self.extent)
        self.blocks.append((place, serial))

    def _fold(self, completed: int) -> None:
        """Read the blocks that are done, so that they can be used again."""
        done = [block for block in self.blocks if block[1] <= completed]
        rest = [block for block in self.blocks if block[1] > completed]
        self.blocks = done
        self.folded = self.values((self.extent - 8) // 8)
        self.spare += [place for place, _ in done]
        self.blocks = rest

    def record(self, core: Core, op: Op) -> None:
        """QUERY_BEGIN or QUERY_END on the newest block."""
        place, _ = self.blocks[-1]
        data = packet(op, extent=self.extent, arg=self.arg)
        core.batch.add_at(data, slot_id(op, 0), place.allocation, place.offset, True)

    def suspend(self, core: Core) -> None:
        """The buffer is about to be submitted while the query is open."""
        self.record(core, Op.QUERY_END)

    def resume(self, core: Core) -> None:
        """A new buffer starts while the query is open. Raises Later."""
        if self.blocks[-1][1] != core.batch.serial:
            self.next_block(core)
            self.record(core, Op.QUERY_BEGIN)

    def values(self, count: int) -> list[int]:
        """The first ``count`` results, summed over the segments."""
        total = list(self.folded[:count]) + [0] * (count - len(self.folded))
        for place, _ in self.blocks:
            words = struct.unpack_from(f"<{count}Q", place.view, 8)
            if self.kind is QueryKind.TIMESTAMP_DISJOINT:
                total = [words[0], total[1] | words[1]]
            elif self.kind is QueryKind.TIMESTAMP:
                total = [words[0]]
            else:
                total = [a + b for a, b in zip(total, words, strict=True)]
        return total

    def result(self) -> bytes:
        """The data as QueryGetData gives them."""
        if self.kind is QueryKind.EVENT:
            return struct.pack("<i", 1)
        if self.kind is QueryKind.OCCLUSION or self.kind is QueryKind.TIMESTAMP:
            return struct.pack("<Q", self.values(1)[0])
        if self.kind is QueryKind.TIMESTAMP_DISJOINT:
            frequency, disjoint = self.values(2)
            return struct.pack("<Qi4x", frequency, 1 if disjoint else 0)
        if self.kind in _PREDICATES:
            return struct.pack("<i", 1 if self.values(1)[0] else 0)
        count = {Q.PIPELINESTATS: 8, Q.D3D11_PIPELINESTATS: 11}.get(self.type, 2)  # type: ignore[call-overload]
        return struct.pack(f"<{count}Q", *self.values(count))


class Predicate:
    """A predicate that is bound, and the value that lets work pass."""

    __slots__ = ("passes", "query")

    def __init__(self, query: Query, passes: int) -> None:
        self.query = query
        self.passes = passes


def emit_predication(core: Core, k: int, predicate: Predicate | None) -> None:
    """SET_PREDICATION."""
    if predicate is None or not predicate.query.blocks:
        core.batch.add(packet(Op.SET_PREDICATION))
        return
    place, _ = predicate.query.blocks[-1]
    data = packet(Op.SET_PREDICATION, extent=8, arg=predicate.passes | 2)
    core.batch.add_at(data, slot_id(Op.SET_PREDICATION, 0), place.allocation, place.offset + 8)


class QueryFunctions:
    """Entries about queries, counters and predication."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.queries: dict[int, Query] = {}

    def get(self, h: int) -> Query:
        found = self.queries.get(h)
        if found is None:
            raise DeviceError.invalid(f"no query {h:#x}")
        return found

    def CalcPrivateQuerySize(self, hDevice: int, arg: D3D10DDIARG_CREATEQUERY) -> int:
        return 64

    def CreateQuery(self, hDevice: int, arg: D3D10DDIARG_CREATEQUERY, hQuery: int, hRTQuery: int) -> None:
        if arg.Query not in _KINDS:
            raise DeviceError(HRESULT.DXGI_DDI_ERR_NONEXCLUSIVE, f"query or counter {arg.Query:#x} does not exist")
        self.queries[hQuery] = Query(arg.Query)

    def DestroyQuery(self, hDevice: int, hQuery: int) -> None:
        query = self.queries.pop(hQuery, None)
        if query is None:
            return
        core = self.core
        if query.open:
            query.suspend(core)
            core.close_query(query)
        bound = core.slots.get(PREDICATION_KEY)
        if bound is not None and bound.query is query:
            core.bind(PREDICATION_KEY, None)
        for place in (*(p for p, _ in query.blocks), *query.spare):
            core.query_heap.give(place)

    def QueryBegin(self, hDevice: int, hQuery: int) -> Pending:
        query = self.get(hQuery)
        core = self.core
        if query.open or query.kind in (QueryKind.EVENT, QueryKind.TIMESTAMP):
            raise DeviceError.invalid("a query that cannot begin")
        query.begin()

        def record() -> None:
            query.next_block(core)
            query.record(core, Op.QUERY_BEGIN)

        pending = core.perform(record)
        if pending is None:
            core.open_query(query)
            return None
        return self._open_after(pending, query)

    async def _open_after(self, pending: Awaitable[None], query: Query) -> None:
        await pending
        self.core.open_query(query)

    def QueryEnd(self, hDevice: int, hQuery: int) -> Pending:
        query = self.get(hQuery)
        core = self.core
        pending: Pending = None
        if query.kind is QueryKind.EVENT:
            query.serial = core.batch.serial if core.recorded else core.batch.serial - 1
        elif query.kind is QueryKind.TIMESTAMP:
            query.begin()

            def record() -> None:
                query.next_block(core)
                query.record(core, Op.QUERY_END)
                query.serial = core.batch.serial

            pending = core.perform(record)
        elif query.open:
            # Room for the end of every open query is kept free: no submission comes between.
            query.record(core, Op.QUERY_END)
            query.serial = core.batch.serial
            core.close_query(query)
        else:
            raise DeviceError.invalid("a query that ends without having begun")
        query.issued = True
        bound = core.slots.get(PREDICATION_KEY)
        if bound is not None and bound.query is query:
            core.dirty.add(PREDICATION_KEY)
        return pending

    def QueryGetData(self, hDevice: int, hQuery: int, pData: Any, DataSize: int, Flags: int) -> Pending:
        query = self.get(hQuery)
        core = self.core
        if query.issued and query.serial <= core.batch.completed():
            if pData is not None and DataSize:
                result = query.result()
                size = min(DataSize, len(result))
                memoryview(pData).cast("B")[:size] = result[:size]
            return None
        if query.serial >= core.batch.serial and not Flags & D3D10_DDI_GET_DATA_FLAG.DO_NOT_FLUSH:
            pending = core.flush()
            if pending is not None:
                return _busy_after(pending)
        raise WasStillDrawing

    def SetPredication(self, hDevice: int, hQuery: int, PredicateValue: bool) -> Pending:
        core = self.core
        query = self.queries.get(hQuery)
        if query is None:
            core.bind(PREDICATION_KEY, None)
            return None
        if query.kind not in _PREDICATES:
            raise DeviceError.invalid("a query that is no predicate")
        # Work is dropped when the result equals the value given here.
        predicate = Predicate(query, 0 if PredicateValue else 1)
        if len(query.blocks) > 1 or query.folded:
            return self._folded(predicate)
        core.bind(PREDICATION_KEY, predicate)
        return None

    async def _folded(self, predicate: Predicate) -> None:
        """A predicate that was open over several submissions: one block gets the result of all."""
        query, core = predicate.query, self.core
        await core.wait_for(query.serial)
        value = 1 if query.values(1)[0] else 0
        query.spare += [place for place, _ in query.blocks[:-1]]
        query.blocks = query.blocks[-1:]
        query.folded = []
        struct.pack_into("<QQ", query.blocks[0][0].view, 0, 1, value)
        core.bind(PREDICATION_KEY, predicate)

    # --- counters --------------------------------------------------------------------------------------------------------
    def CheckCounterInfo(self, hDevice: int, info: D3D10DDI_COUNTER_INFO) -> None:
        info.LastDeviceDependentCounter = 0
        info.NumSimultaneousCounters = 0
        info.NumDetectableParallelUnits = 1

    def CheckCounter(self, hDevice: int, Query: int, *args: Any) -> None:
        if Query >= 0x40000000:
            raise DeviceError.invalid(f"device-dependent counter {Query:#x} does not exist")
        raise DeviceError(HRESULT.DXGI_DDI_ERR_UNSUPPORTED, f"well-known counter {Query:#x} is not supported")


async def _busy_after(pending: Awaitable[None]) -> None:
    await pending
    raise WasStillDrawing
