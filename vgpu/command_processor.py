"""The command processor: decodes packets, keeps pipeline state, moves memory, and drives an engine.

One processor per node; the graphics node and the copy node share this code (the copy node takes fewer ops). An
:class:`Execution` runs one DMA buffer for one context as a generator that yields where it may be preempted: after every work
packet, now and then between state packets, and inside whatever the engine yields in. Kept and resumed, it goes on where it was.

A buffer is copied before it is looked at, so that what was validated is what runs. The whole buffer is validated first; packets
before the first bad one are executed. Every refusal is a FaultError; ``Execution.packet`` tells where.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from vgpu.engine import DrawCall, Engine, FaultError, Packet, PipelineState, Step
from vgpu.memory import Memory
from wddm.hw.interrupts import Fault
from wddm.hw.memory import BUS_BASE
from wddm.hw.packets import (
    MAX_DISPATCH_GROUPS,
    MAX_DRAW_VERTICES,
    PACKET,
    PACKET_SIZE,
    PACKETS,
    QUERY_SIZES,
    Op,
    PacketInfo,
    QueryKind,
    Stage,
)
from wddm.hw.registers import Node

#: The first five dwords of a packet's data. Reading a field of a numpy record takes ten times as long.
_numbers: Final[Callable[[Any], tuple[int, ...]]] = struct.Struct("<32x5I12x").unpack
#: ``(op, slot, address, address2)`` of each packet, one after another.
_heads: Final[Callable[[Any], Iterator[tuple[int, int, int, int]]]] = struct.Struct("<2H4xQ8xQ32x").iter_unpack
#: State packets executed between two places of preemption.
STATE_PACKETS_PER_YIELD: Final = 512
#: Bytes copied or filled between two places of preemption.
CHUNK: Final = 16 << 20
#: Queries that a context may have open.
MAX_OPEN_QUERIES: Final = 4096

#: Kinds of queries that only end, and the highest stream of those that have one.
_NEVER_BEGIN: Final = (int(QueryKind.EVENT), int(QueryKind.TIMESTAMP))
_QUERY_STREAMS: Final = {int(QueryKind.STREAM_OUTPUT_STATISTICS): 3, int(QueryKind.STREAM_OVERFLOW_PREDICATE): 4}

#: Packets up to which a buffer is validated one by one.
FEW_PACKETS: Final = 128

_OPS: Final = max(Op) + 1
#: As plain integers, for the loop over the packets.
_STREAM_OUTPUT, _PREDICATION = int(Op.SET_STREAM_OUTPUT), int(Op.SET_PREDICATION)
_DRAWS: Final = frozenset(map(int, (Op.DRAW, Op.DRAW_INDEXED)))
_SLOTS: Final = len(Stage) << 8 | 0xFF  #: beyond every slot that an op may have
_PREDICATED: Final = frozenset(
    (
        *(op for op in Op if 0x40 <= op < 0x60),
        Op.CLEAR_COLOR,
        Op.CLEAR_DEPTH_STENCIL,
        Op.COPY_BUFFER,
        Op.FILL_BUFFER,
        Op.COPY_REGION,
        Op.RESOLVE,
        Op.GENERATE_MIPS,
        Op.UPDATE_INLINE,
    )
)


class _Rule(NamedTuple):
    """What packets of one op may say: slots, and the lowest and highest value of each address."""

    privileged: bool
    slots: frozenset[int]
    low: int
    high: int
    low2: int
    high2: int


def _rule(op: Op, info: PacketInfo) -> _Rule:
    stages = tuple(Stage) if info.staged else (0,)
    if op == Op.SET_UAV:
        stages = (Stage.PIXEL, Stage.COMPUTE)
    slots = frozenset(stage << 8 | index for stage in stages for index in range(max(info.slots, 1)))
    top, top2 = (BUS_BASE - 1 if named else 0 for named in (info.address, info.address2))
    if info.privileged:
        top = top2 = (1 << 64) - 1
    return _Rule(info.privileged, slots, int(bool(info.address) and not info.optional), top, int(not info.optional2), top2)


#: The rule of each op, by number; None for an op that the node has not.
_RULES: Final[dict[Node, list[_Rule | None]]] = {
    node: [
        _rule(Op(op), info) if (info := PACKETS.get(op)) and (node == Node.GRAPHICS or info.copy_node) else None  # type: ignore[call-overload]
        for op in range(_OPS)
    ]
    for node in Node
}


class _Table:
    """:data:`_RULES` by columns, for one node. The last row is that of all ops beyond; the last slot that of all slots beyond."""

    def __init__(self, rules: list[_Rule | None]) -> None:
        self.allowed = np.zeros((_OPS + 1, _SLOTS), bool)
        self.privileged = np.zeros(_OPS + 1, bool)
        self.low, self.high, self.low2, self.high2 = np.zeros((4, _OPS + 1), np.uint64)
        for op, rule in enumerate(rules):
            if rule is not None:
                self.allowed[op, list(rule.slots)] = True
                self.privileged[op], _, self.low[op], self.high[op], self.low2[op], self.high2[op] = rule


_TABLES: Final = {node: _Table(rules) for node, rules in _RULES.items()}
#: State ops whose address 0 means "unbound".
_UNBINDABLE: Final = frozenset(op for op, info in PACKETS.items() if op < 0x40 and info.optional)


def first_bad_packet(
    raw: bytes, packets: npt.NDArray[np.void], node: Node, privileged: bool
) -> tuple[int, Fault, str] | None:
    """The first packet that cannot be executed, whatever the state: ``(index, fault, why)``, or None. ``raw``: their bytes."""
    few = len(packets) <= FEW_PACKETS
    i = _first_of_few(raw, node, privileged) if few else _first_of_many(packets, node, privileged)
    if i is None:
        return None
    op, slot, address, address2 = (int(packets[name][i]) for name in ("op", "slot", "address", "address2"))
    rule = _RULES[node][op] if op < _OPS else None
    if rule is None:
        return i, Fault.BAD_PACKET, f"op {op:#x} is unknown to the {node.name.lower()} node"
    name = Op(op).name
    if rule.privileged and not privileged:
        return i, Fault.PRIVILEGE, f"{name} in an unprivileged buffer"
    if not rule.privileged and max(address, address2) >= BUS_BASE:
        return i, Fault.PRIVILEGE, f"{name} names a bus address"
    if slot not in rule.slots:
        return i, Fault.BAD_PACKET, f"{name} slot {slot:#x}"
    return i, Fault.BAD_PACKET, f"{name} with addresses {address:#x}, {address2:#x}"


def _first_of_few(raw: bytes, node: Node, privileged: bool) -> int | None:
    """Packet by packet: a call of numpy costs as much as several of them."""
    rules = _RULES[node]
    for i, (op, slot, address, address2) in enumerate(_heads(raw)):
        rule = rules[op] if op < _OPS else None
        if rule is None:
            return i
        high_privilege, slots, low, high, low2, high2 = rule
        if high_privilege and not privileged:
            return i
        if slot not in slots or not low <= address <= high or not low2 <= address2 <= high2:
            return i
    return None


def _first_of_many(packets: npt.NDArray[np.void], node: Node, privileged: bool) -> int | None:
    """By columns."""
    table = _TABLES[node]
    code, slot = np.minimum(packets["op"], _OPS), np.minimum(packets["slot"], _SLOTS - 1)
    address, address2 = packets["address"], packets["address2"]
    bad = ~table.allowed[code, slot]
    bad |= (address < table.low[code]) | (address > table.high[code])
    bad |= (address2 < table.low2[code]) | (address2 > table.high2[code])
    if not privileged:
        bad |= table.privileged[code]
    i = int(bad.argmax())
    return i if bad[i] else None


def reset_state(state: PipelineState) -> None:
    """Back to the default state; what the engine keeps stays."""
    for op in state.bindings:
        state.version[op] = state.version.get(op, 0) + 1
    state.bindings.clear()
    state.queries.clear()


class Execution:
    """One DMA buffer in execution. ``packet`` is the index of the packet in hand."""

    def __init__(
        self, memory: Memory, engine: Engine, node: Node, state: PipelineState, data: bytes, privileged: bool
    ) -> None:
        """``data``: the buffer, a multiple of 64 bytes, which nobody changes any more."""
        self._memory = memory
        self._engine = engine
        self._node = node
        self._privileged = privileged
        self.state = state
        self.packet = 0
        self._raw = data
        self._packets = np.frombuffer(data, PACKET)

    def run(self) -> Iterator[Step]:
        """Execute; each ``yield`` is a place for preemption (True: what comes next may not end). Raises FaultError."""
        packets = self._packets
        bad = first_bad_packet(self._raw, packets, self._node, self._privileged)
        end = len(packets) if bad is None else bad[0]
        bindings, version = self.state.bindings, self.state.version
        unknown_length = not self._engine.marks_loops
        since = 0
        heads = _heads(self._raw)
        following = 0
        while following < end:
            i = following
            following += 1
            op, slot, address, _ = next(heads)
            if op < 0x40:
                if not op:
                    continue
                bound = bindings.get(op)
                if bound is None:
                    bound = bindings[op] = {}
                if address or op not in _UNBINDABLE:
                    bound[slot] = packets[i]
                else:
                    bound.pop(slot, None)
                version[op] = version.get(op, 0) + 1
                if op == _STREAM_OUTPUT:
                    self.packet = i
                    self._stream_output(packets[i])
                since += 1
                if since >= STATE_PACKETS_PER_YIELD:
                    since = 0
                    self.packet = i
                    yield None
                continue
            self.packet = i
            if _PREDICATION in bindings and op in _PREDICATED and not self._passes():
                continue
            work = _HANDLERS[op](self, packets[i])
            if work is not None:
                if unknown_length and op < 0x60:
                    yield True
                yield from work
            since = 0
            yield None
            if op in _DRAWS and following < end and not bindings.get(_PREDICATION):
                following, work = self._engine.go_on(self.state, packets, following, end)
                if following > i + 1:
                    heads = _heads(memoryview(self._raw)[following * PACKET_SIZE :])
                    self.packet = following - 1
                    if work is not None:
                        yield from work
                    yield None
        self.packet = end
        if bad is not None:
            raise FaultError(bad[1], bad[2], address=int(packets[end]["address"]))

    # --- state with side effects -------------------------------------------------------------------------------------

    def _stream_output(self, packet: Packet) -> None:
        """``arg`` 1 sets the fill counter."""
        arg = int(packet["arg"])
        if arg > 1:
            raise FaultError(Fault.BAD_PACKET, f"SET_STREAM_OUTPUT arg {arg}")
        if arg and int(packet["address2"]):
            self._write(int(packet["address2"]), np.array([packet["data"][0]], np.uint32))

    def _passes(self) -> bool:
        """Whether predicated work is executed: the query result, as a truth value, equals bit 0 of ``arg``."""
        packet = self.state.bindings[Op.SET_PREDICATION].get(0)
        if packet is None:
            return True
        arg, extent = int(packet["arg"]), int(packet["extent"])
        if arg > 3 or extent < 8:
            raise FaultError(Fault.BAD_PACKET, f"SET_PREDICATION arg {arg} extent {extent}")
        self._engine.flush(self.state)
        return bool(self._memory.view(int(packet["address"]), 8).any()) == bool(arg & 1)

    # --- draws and dispatches ----------------------------------------------------------------------------------------

    def _draw(self, packet: Packet) -> Iterator[Step] | None:
        count, instances, start, start_instance, _ = _numbers(packet)
        return self._start_draw(DrawCall(False, count, instances, start, 0, start_instance))

    def _draw_indexed(self, packet: Packet) -> Iterator[Step] | None:
        count, instances, start, base, start_instance = _numbers(packet)
        return self._start_draw(DrawCall(True, count, instances, start, _signed(base), start_instance))

    def _draw_indirect(self, packet: Packet) -> Iterator[Step] | None:
        count, instances, start, start_instance = self._arguments(packet, 4)
        return self._start_draw(DrawCall(False, count, instances, start, 0, start_instance))

    def _draw_indexed_indirect(self, packet: Packet) -> Iterator[Step] | None:
        count, instances, start, base, start_instance = self._arguments(packet, 5)
        return self._start_draw(DrawCall(True, count, instances, start, _signed(base), start_instance))

    def _draw_auto(self, packet: Packet) -> Iterator[Step] | None:
        (filled,) = self._arguments(packet, 1)
        buffer = self.state.bindings.get(Op.SET_VERTEX_BUFFER, {}).get(0)
        stride = int(buffer["data"][0]) if buffer is not None else 0
        if not stride:
            raise FaultError(Fault.PIPELINE, "DRAW_AUTO without a vertex buffer 0 that has a stride")
        return self._start_draw(DrawCall(False, max(filled - int(packet["arg"]), 0) // stride))

    def _start_draw(self, call: DrawCall) -> Iterator[Step] | None:
        if call.count > MAX_DRAW_VERTICES:
            raise FaultError(Fault.BAD_PACKET, f"draw of {call.count} vertices")
        if not call.count or not call.instances:
            return None
        return self._engine.draw(self.state, call)

    def _dispatch(self, packet: Packet) -> Iterator[Step] | None:
        x, y, z, *_ = _numbers(packet)
        return self._start_dispatch(x, y, z)

    def _dispatch_indirect(self, packet: Packet) -> Iterator[Step] | None:
        x, y, z = self._arguments(packet, 3)
        return self._start_dispatch(x, y, z)

    def _start_dispatch(self, x: int, y: int, z: int) -> Iterator[Step] | None:
        if max(x, y, z) > MAX_DISPATCH_GROUPS:
            raise FaultError(Fault.BAD_PACKET, f"dispatch of {x}x{y}x{z} groups")
        return self._engine.dispatch(self.state, (x, y, z)) if x and y and z else None

    def _arguments(self, packet: Packet, count: int) -> list[int]:
        """``count`` dwords from memory, written by any earlier work."""
        if int(packet["extent"]) < 4 * count:
            raise FaultError(Fault.BAD_PACKET, f"{int(packet['extent'])} bytes of arguments; {4 * count} are read")
        self._engine.flush(self.state)
        values: list[int] = self._memory.view(int(packet["address"]), 4 * count).view(np.uint32).tolist()
        return values

    # --- surfaces and queries: the engine's ---------------------------------------------------------------------------

    def _query(self, packet: Packet) -> None:
        op, arg, address = int(packet["op"]), int(packet["arg"]), int(packet["address"])
        kind, stream = arg & 0xFF, arg >> 8
        size = QUERY_SIZES.get(kind)  # type: ignore[call-overload]
        if size is None or int(packet["extent"]) < size:
            raise FaultError(Fault.BAD_PACKET, f"query kind {kind} with {int(packet['extent'])} bytes", address=address)
        if stream > _QUERY_STREAMS.get(kind, 0):
            raise FaultError(Fault.BAD_PACKET, f"query kind {kind} of stream {stream}", address=address)
        self._memory.view(address, size, write=True)
        queries = self.state.queries
        if op == Op.QUERY_BEGIN:
            if kind in _NEVER_BEGIN or address in queries or len(queries) >= MAX_OPEN_QUERIES:
                raise FaultError(Fault.BAD_PACKET, f"query kind {kind} cannot begin", address=address)
            self._engine.query_begin(self.state, packet)
            queries[address] = packet
        else:
            begun = queries.pop(address, None)
            if kind not in _NEVER_BEGIN and (begun is None or int(begun["arg"]) != arg):
                raise FaultError(Fault.BAD_PACKET, f"query kind {kind} ends that has not begun", address=address)
            self._engine.query_end(self.state, packet)

    # --- memory ------------------------------------------------------------------------------------------------------

    def _copy_buffer(self, packet: Packet) -> Iterator[Step]:
        extent, target, source = int(packet["extent"]), int(packet["address"]), int(packet["address2"])
        if int(packet["extent2"]) < extent or (target < source + extent and source < target + extent and extent):
            raise FaultError(Fault.BAD_PACKET, f"copy of {extent} bytes from {source:#x}+{int(packet['extent2'])} to {target:#x}")
        privileged = int(packet["op"]) == Op.COPY_SYSTEM
        self._engine.before_read(self.state, source, extent)
        self._engine.before_write(self.state, target, extent)
        for at in range(0, extent, CHUNK):
            size = min(CHUNK, extent - at)
            # Looked up chunk by chunk: pages may change owner while this buffer is preempted.
            to = self._memory.view(target + at, size, write=True, privileged=privileged)
            self._engine.copy(to, self._memory.view(source + at, size, privileged=privileged))
            yield None

    def _fill(self, packet: Packet) -> Iterator[Step]:
        extent, target = int(packet["extent"]), int(packet["address"])
        if extent % 4:
            raise FaultError(Fault.BAD_PACKET, f"fill of {extent} bytes; a multiple of 4")
        privileged = int(packet["op"]) == Op.FILL_SYSTEM
        self._engine.before_write(self.state, target, extent)
        value = packet["data"][0]
        for at in range(0, extent, CHUNK):
            size = min(CHUNK, extent - at)
            self._memory.view(target + at, size, write=True, privileged=privileged).view(np.uint32)[:] = value
            yield None

    def _update_inline(self, packet: Packet) -> None:
        extent = int(packet["extent"])
        if not 1 <= extent <= 32:
            raise FaultError(Fault.BAD_PACKET, f"UPDATE_INLINE of {extent} bytes")
        self._write(int(packet["address"]), packet["data"].view(np.uint8)[:extent])

    def _write(self, address: int, data: npt.NDArray[Any]) -> None:
        raw = data.view(np.uint8)
        view = self._memory.view(address, raw.size, write=True)
        self._engine.before_write(self.state, address, raw.size)
        view[:] = raw

    def _map_aperture(self, packet: Packet) -> None:
        first, count, *_ = packet["data"].tolist()
        self._engine.flush(self.state)
        if int(packet["op"]) == Op.MAP_APERTURE:
            self._memory.map_aperture(first, count, int(packet["address2"]))
        else:
            self._memory.unmap_aperture(first, count)

    def _write_fence(self, packet: Packet) -> None:
        address = int(packet["address"])
        if address < BUS_BASE or address % 8:
            raise FaultError(Fault.BAD_PACKET, f"WRITE_FENCE to {address:#x}", address=address)
        self._engine.flush(self.state)
        self._memory.view(address, 8, write=True, privileged=True)[:] = packet["data"][:2].view(np.uint8)


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def _engine_call(name: str) -> Callable[[Execution, Packet], None]:
    def call(execution: Execution, packet: Packet) -> None:
        getattr(execution._engine, name)(execution.state, packet)

    return call


def _nothing(execution: Execution, packet: Packet) -> None:
    return None


_HANDLERS: Final[dict[int, Callable[[Execution, Packet], Iterator[Step] | None]]] = {
    Op.NOP: _nothing,
    Op.DRAW: Execution._draw,
    Op.DRAW_INDEXED: Execution._draw_indexed,
    Op.DRAW_INDIRECT: Execution._draw_indirect,
    Op.DRAW_INDEXED_INDIRECT: Execution._draw_indexed_indirect,
    Op.DRAW_AUTO: Execution._draw_auto,
    Op.DISPATCH: Execution._dispatch,
    Op.DISPATCH_INDIRECT: Execution._dispatch_indirect,
    Op.CLEAR_COLOR: _engine_call("clear_color"),
    Op.CLEAR_DEPTH_STENCIL: _engine_call("clear_depth_stencil"),
    Op.COPY_BUFFER: Execution._copy_buffer,
    Op.FILL_BUFFER: Execution._fill,
    Op.COPY_REGION: _engine_call("copy_region"),
    Op.RESOLVE: _engine_call("resolve"),
    Op.GENERATE_MIPS: _engine_call("generate_mips"),
    Op.BLT: _engine_call("blt"),
    Op.QUERY_BEGIN: Execution._query,
    Op.QUERY_END: Execution._query,
    Op.UPDATE_INLINE: Execution._update_inline,
    Op.MAP_APERTURE: Execution._map_aperture,
    Op.UNMAP_APERTURE: Execution._map_aperture,
    Op.WRITE_FENCE: Execution._write_fence,
    Op.COPY_SYSTEM: Execution._copy_buffer,
    Op.FILL_SYSTEM: Execution._fill,
}
