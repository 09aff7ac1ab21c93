"""Runs of small draws: what follows a draw that the interpreter has made goes on in machine code, as far as it is known.

State that was met in this command buffer since the last flush is an automaton. A node is what resource, sampler, blend and depth
packets had set when a draw was made, with the DRAW record that came of it; an edge is a packet that led from one to another. So an
application that goes back and forth between some states pays for each change of state once in a buffer. Everything else that a
record depends on is the *ground*: when it changes, the automaton begins anew.
"""

from __future__ import annotations

import ctypes
import struct
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from vgpu.engine import PipelineState
from wddm.hw.formats import Format
from wddm.hw.memory import APERTURE_BASE, LOCAL_BASE
from wddm.hw.packets import PACKET, PACKET_SIZE, Op

from . import primitives, records
from .followed import FOLLOWED
from .run_function import EDGE, EDGES, NODE_HEAD, RUN, RUN_HEAD, RUN_HEAD_FORMAT, edge_place

if TYPE_CHECKING:
    from .draws import DrawState

_HEAD: Final = struct.Struct(RUN_HEAD_FORMAT)
assert _HEAD.size == RUN_HEAD.itemsize
_RUN: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
#: Packets that lead from node to node.
EDGE_OPS: Final = frozenset(
    map(int, (Op.SET_RESOURCE, Op.SET_SAMPLER, Op.SET_BLEND, Op.SET_BLEND_FACTOR, Op.SET_DEPTH_STENCIL_STATE))
)
_VERTEX_BUFFER: Final = int(Op.SET_VERTEX_BUFFER)
_BUFFERS: Final = frozenset(map(int, (Op.SET_CONSTANT_BUFFER, Op.SET_VERTEX_BUFFER, Op.SET_INDEX_BUFFER)))
_UNBINDABLE: Final = _BUFFERS | {int(Op.SET_RESOURCE)}
NODES: Final = 64
#: Draws and vertices after which a run lets others have a turn.
_DRAWS: Final = 256
_VERTICES: Final = 1 << 16
#: Draws of a context before there are runs: who draws little never waits for their function to be compiled.
_FIRST_PAUSE: Final = 16
#: Runs in a row that came to nothing before only some draws are followed by one.
_PATIENCE: Final = 8
_MOST_WORDS: Final = 256  #: of a block of bindings
_DRAW_BYTES: Final = records.DRAW.itemsize
#: What of FRONT a draw's state alone decides.
_FIRST, _LAST = (records.offset(records.FRONT, name) for name in ("vertex_function", "ia_vertices"))
_VIEWPORTS: Final = records.offset(records.FRONT, "viewports")
#: Versions of the state that is no edge, among those that a draw follows.
_ground: Final = itemgetter(*(i for i, op in enumerate(FOLLOWED) if op not in EDGE_OPS and op not in _BUFFERS))
_NOTHING: Final = np.empty(0, PACKET)

Packets = npt.NDArray[np.void]


class Runs:
    """The automaton of one context."""

    def __init__(self, d: DrawState) -> None:
        self._d = d
        self._function: Any = None
        self._run = np.zeros(1, RUN)
        self._pointer = int(self._run.ctypes.data)
        self._bytes = (ctypes.c_char * RUN.itemsize).from_address(self._pointer)
        self._edges = np.zeros(EDGES, EDGE)
        self._constants = np.zeros(_MOST_WORDS, np.uint64)
        self._nodes = np.zeros((NODES, NODE_HEAD + _DRAW_BYTES + 8 * _MOST_WORDS), np.uint8)
        self._numbers: dict[frozenset[tuple[int, bytes]], int] = {}
        self._states: list[dict[int, bytes]] = []  #: of each node: packet by op << 16 | slot
        self._complete: list[bool] = []
        self._edge_count = 0
        self._ground: Any = None
        self._packets = _NOTHING
        self._seen = 0  #: packets of the buffer that the node in hand stands behind
        self._node = 0
        self._vain = 0  #: runs in a row that came to nothing
        self._pause = _FIRST_PAUSE  #: draws that are not followed by a run

    def _start(self) -> None:
        """What stays the same for all runs."""
        d, engine = self._d, self._d.engine
        self._function = _RUN(engine.pipelines.run())
        memory, r = engine.memory, self._run
        r["front"], r["record_base"], r["stop"] = d.front_pointer, engine.record_base, engine.stop.address
        r["vertex_block"], r["zeros"] = d.vs_pointer, engine.zeros
        r["local_end"], r["aperture_end"] = LOCAL_BASE + memory.local_size, APERTURE_BASE + memory.aperture_size
        r["local_delta"] = (memory.pointer(LOCAL_BASE, 0) - LOCAL_BASE) & 0xFFFF_FFFF_FFFF_FFFF
        r["aperture_delta"] = (memory.aperture_pointer - APERTURE_BASE) & 0xFFFF_FFFF_FFFF_FFFF
        r["bound"] = memory.bound_pointer
        r["constants"], r["nodes"], r["edges"] = (a.ctypes.data for a in (self._constants, self._nodes, self._edges))
        r["node_bytes"] = self._nodes.shape[1]

    def go_on(self, state: PipelineState, packets: Packets, first: int, end: int) -> tuple[int, bool]:
        """Carry out packets from ``first`` on, behind a draw that was just made.

        Returns the first that was not carried out, and whether it is a draw in the middle of which the bins must be emptied.
        """
        if self._pause:
            self._pause -= 1
            return first, False
        d, engine = self._d, self._d.engine
        if self._function is None:
            self._start()
        self._follow(packets, first - 1)
        words = d.ps_constants.words
        self._constants[: len(words)] = words
        _HEAD.pack_into(
            self._bytes, 0, packets.ctypes.data, d.draw_pointer, d.index[0], _VERTICES, d.index[1], first, end, self._node,
            engine.record_next, 0, _DRAWS, 0,
        )  # fmt: skip
        r = self._run
        r["low"], r["high"] = 0xFFFF_FFFF_FFFF_FFFF, 0
        self._function(self._pointer)
        _, d.draw_pointer, *_, at, _, self._node, engine.record_next, full, left, _ = _HEAD.unpack_from(self._bytes, 0)
        low, high = r["low"][0].tolist(), r["high"][0].tolist()
        for start, stop in zip(low, high, strict=True):
            if stop:
                engine.use_constant_range(start, stop)
        self._seen = at
        if at > first:
            self._catch_up(state, packets[first:at])
        if left < _DRAWS or full:
            self._vain = 0
        else:
            self._vain += 1
            if self._vain > _PATIENCE:
                self._pause = min(self._vain, 64)
        return at, bool(full)

    def _catch_up(self, state: PipelineState, packets: Packets) -> None:
        """What state packets have done, for the interpreter."""
        last = dict(zip(zip(packets["op"].tolist(), packets["slot"].tolist(), strict=True), range(len(packets)), strict=True))
        for (op, slot), i in last.items():
            if not 0 < op < 0x40:
                continue
            bound = state.bindings.setdefault(op, {})
            packet = packets[i]
            if op in _UNBINDABLE and not int(packet["address"]):
                bound.pop(slot, None)
            else:
                bound[slot] = packet
            state.version[op] = state.version.get(op, 0) + 1
            if op == _VERTEX_BUFFER:
                self._d.vertex_slots |= 1 << slot

    # -- learning -----------------------------------------------------------------------------------------------------
    def _follow(self, packets: Packets, drawn: int) -> None:
        """Learn from the packets up to a draw that the interpreter made: where they lead, and the record of the draw."""
        d = self._d
        ground = self._ground_now()
        if packets is not self._packets or ground != self._ground:
            self._begin(packets, ground)
        else:
            for op, slot, raw in _edges_in(packets[self._seen : drawn]):
                self._step(op << 16 | slot, raw)
        if self._crowded:
            self._begin(packets, ground)
        if not self._complete[self._node]:
            node = self._nodes[self._node]
            record = ctypes.string_at(d.draw_pointer, _DRAW_BYTES) + struct.pack(f"<{len(d.ps_resources)}Q", *d.ps_resources)
            node[NODE_HEAD : NODE_HEAD + len(record)] = np.frombuffer(record, np.uint8)
            node[0] = 1
            self._complete[self._node] = True

    @property
    def _crowded(self) -> bool:
        return len(self._states) >= NODES or self._edge_count >= EDGES // 2

    def _ground_now(self) -> Any:
        d = self._d
        front, end = d.front_bytes.raw, records.FRONT.itemsize
        vs, pipeline = d.vs_bound, d.pipeline
        assert vs is not None
        assert pipeline is not None
        return (
            d.epoch, d.indexed, d.vs, d.ps, _ground(d.now), pipeline.codes[1], d.ranges, vs.number, vs.resources,
            front[_FIRST:_LAST], front[_VIEWPORTS:end],
        )  # fmt: skip

    def _begin(self, packets: Packets, ground: Any) -> None:
        """A new automaton with the state of now as its only node."""
        d, r, state = self._d, self._run, self._d.state
        self._packets, self._ground = packets, ground
        self._edges["taken"] = self._edge_count = 0
        self._numbers.clear()
        self._states.clear()
        self._complete.clear()
        self._node = self._number(
            {op << 16 | slot: p.tobytes() for op in EDGE_OPS for slot, p in (state.bindings.get(op) or {}).items()}
        )
        pipeline = d.pipeline
        assert pipeline is not None
        r["front_function"] = pipeline.front_address
        r["record_limit"] = d.record_limit
        r["draw_op"] = Op.DRAW_INDEXED if d.indexed else Op.DRAW
        r["index_format"], r["index_shift"] = (Format.R16_UINT, 1) if d.index_size == 2 else (Format.R32_UINT, 2)
        shape = primitives.shape(d.topology)
        assert shape is not None
        r["fewer"], r["divisor"] = shape[0] - shape[1], shape[1]
        r["rasterize"] = d.rasterizes
        r["constant_bytes"], r["resource_bytes"] = 8 * len(d.ps_constants.words), 8 * len(d.ps_resources)
        places = r["places"][0]
        places[:] = 0
        for base, constants in ((d.vs_pointer, d.vs_constants), (int(self._constants.ctypes.data), d.ps_constants)):
            for i, slot in constants.slots:
                places[slot >> 8 << 4 | slot & 15] = base + 16 * i

    def _number(self, state: dict[int, bytes]) -> int:
        """The node of a state, made when it is new."""
        key = frozenset(state.items())
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._states)
            self._states.append(state)
            self._complete.append(False)
            self._nodes[found, 0] = 0
        return found

    def _step(self, place: int, raw: bytes) -> None:
        """Follow a packet from the node in hand, along a new edge if need be."""
        if self._crowded:
            return  # it begins anew in any case
        node, edges = self._node, self._edges
        words = np.frombuffer(raw, np.uint64)
        at = edge_place(node, raw)
        while edges["taken"][at]:
            if edges["node"][at] == node and (edges["packet"][at] == words).all():
                self._node = int(edges["next"][at])
                return
            at = (at + 1) % EDGES
        state = dict(self._states[node])
        if place >> 16 in _UNBINDABLE and not any(raw[8:16]):
            state.pop(place, None)
        else:
            state[place] = raw
        self._node = self._number(state)
        edges[at] = 1, node, self._node, 0, words
        self._edge_count += 1


def _edges_in(packets: Packets) -> list[tuple[int, int, bytes]]:
    """Op, slot and bytes of the packets that are edges."""
    raw = packets.tobytes()
    return [
        (op, slot, raw[i * PACKET_SIZE : (i + 1) * PACKET_SIZE])
        for i, (op, slot) in enumerate(zip(packets["op"].tolist(), packets["slot"].tolist(), strict=True))
        if op in EDGE_OPS
    ]


__all__ = ["Runs"]
