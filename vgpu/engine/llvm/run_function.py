"""Runs of small draws in machine code: ``run(RUN*)`` carries out packets one after another until one is beyond it.

It knows draws, constant, vertex and index buffers, and changes of the rest of the state that have been met before: those are an
automaton, whose nodes are DRAW records to begin with and whose edges are packets (see :mod:`vgpu.engine.llvm.runs`, which owns the
records). A packet that it does not know, or that does not pass its checks, is left to the interpreter, which refuses or learns it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from wddm.hw.memory import APERTURE_BASE, LOCAL_BASE
from wddm.hw.packets import MAX_DRAW_VERTICES, PACKET, PACKET_SIZE, Op, Stage

from . import records
from .builder import I1, I16, I32, I64, PTR, VOID, Function, Loop, Module, Type, Value

EDGES: Final = 256  #: places of the table of edges, at most half of them taken
PRIME: Final = 0x9E37_79B9_7F4A_7C15
#: Pages of a buffer in the aperture beyond which the interpreter looks at it.
_MOST_PAGES: Final = 32
_DRAW_BYTES: Final = records.DRAW.itemsize

#: What changes with every run; packed by one struct.
RUN_HEAD: Final = np.dtype(
    [
        ("packets", "<u8"),
        ("draw", "<u8"),  # the DRAW record of the next draw; 0: to be made
        ("index_buffer", "<u8"),
        ("budget", "<i8"),  # vertices after which it returns
        ("index_count", "<u4"),
        ("at", "<u4"),  # the packet in hand
        ("end", "<u4"),
        ("node", "<u4"),
        ("record_next", "<u4"),  # bytes of the arena of records in use
        ("full", "<u4"),  # out: the draw in hand waits for the bins to be emptied
        ("draws", "<u4"),  # draws after which it returns
        ("reserved", "<u4"),
    ]
)
RUN_HEAD_FORMAT: Final = "<3Qq8I"
#: What stays the same for all runs of one automaton, and what a run tells.
RUN: Final = np.dtype(
    [
        *[(name, RUN_HEAD[name]) for name in RUN_HEAD.names or ()],
        ("low", "<u8", (2,)),  # out: the constants that pixels read, in local memory and in the aperture, lie within these
        ("high", "<u8", (2,)),
        ("front", "<u8"),  # FRONT record
        ("front_function", "<u8"),
        ("vertex_block", "<u8"),
        ("record_base", "<u8"),
        ("local_end", "<u8"),
        ("local_delta", "<u8"),  # address + delta: host address
        ("aperture_end", "<u8"),
        ("aperture_delta", "<u8"),
        ("bound", "<u8"),  # u32 for each aperture page, 0: unbound
        ("zeros", "<u8"),
        ("stop", "<u8"),
        ("constants", "<u8"),  # pointer and dwords of each constant buffer of the pixel program
        ("nodes", "<u8"),
        ("edges", "<u8"),
        ("record_limit", "<u4"),
        ("draw_op", "<u4"),  # the kind of draw that the front end is made for
        ("index_format", "<u4"),
        ("index_shift", "<u4"),  # log2 of the bytes of an index
        ("fewer", "<u4"),  # an instance has (count - fewer) / divisor primitives
        ("divisor", "<u4"),
        ("rasterize", "<u4"),
        ("constant_bytes", "<u4"),
        ("resource_bytes", "<u4"),
        ("node_bytes", "<u4"),
        ("places", "<u8", (len(Stage) * 16,)),  # where pointer and dwords of a constant buffer go; 0: nobody reads them
    ]
)
#: A node begins with this, a DRAW record follows, then the resources of the pixel program's block.
NODE_HEAD: Final = 8  #: u32 1: complete, it may be drawn with
EDGE: Final = np.dtype([("taken", "<u4"), ("node", "<u4"), ("next", "<u4"), ("reserved", "<u4"), ("packet", "<u8", (8,))])


def edge_place(node: int, packet: bytes) -> int:
    """Where in the table to look for an edge first."""
    h = node * PRIME & 0xFFFF_FFFF_FFFF_FFFF
    for at in range(0, PACKET_SIZE, 8):
        h = (h ^ int.from_bytes(packet[at : at + 8], "little")) * PRIME & 0xFFFF_FFFF_FFFF_FFFF
    return h >> 56


assert EDGES == 256


def compile_run() -> str:
    """The IR of ``run``."""
    m = Module()
    _Run(m.function("run", VOID, [PTR])).write()
    return str(m)


def _packet(name: str) -> int:
    return records.offset(PACKET, name)


class _Run:
    def __init__(self, f: Function) -> None:
        self.f = f
        (self.record,) = f.arguments
        with f.prologue():
            self.packets, self.front, self.edges = (self.get(name, PTR) for name in ("packets", "front", "edges"))
            self.end = self.get("end")

    def get(self, name: str, t: Type = I32) -> Value:
        """A field of RUN."""
        return self.f.load(t, self.record, records.offset(RUN, name))

    def put(self, name: str, x: Value, index: int = 0) -> None:
        """Write a field of RUN."""
        self.f.store(x, self.record, records.offset(RUN, name) + 8 * index)

    def write(self) -> None:
        """The loop over the packets."""
        f = self.f
        with f.loop() as loop:
            at = self.get("at")
            loop.break_if(at.uge(self.end))
            packet = f.offset(self.packets, at.zext(I64) << 6)
            op = f.load(I16, packet, _packet("op")).zext(I32)
            slot = f.load(I16, packet, _packet("slot")).zext(I32)
            with f.if_else(op.eq(self.get("draw_op"))) as otherwise:
                self.draw(loop, packet)
                otherwise()
                with f.if_else(op.eq(int(Op.SET_CONSTANT_BUFFER))) as otherwise_vertices:
                    self.constants(loop, packet, slot)
                    otherwise_vertices()
                    with f.if_else(op.eq(int(Op.SET_VERTEX_BUFFER))) as otherwise_indices:
                        self.vertex_buffer(loop, packet, slot)
                        otherwise_indices()
                        with f.if_else(op.eq(int(Op.SET_INDEX_BUFFER))) as otherwise_edge:
                            self.index_buffer(loop, packet)
                            otherwise_edge()
                            with f.if_(op.ne(int(Op.NOP))):
                                self.step(loop, packet)
            self.put("at", self.get("at") + 1)
        f.ret()

    # -- addresses ----------------------------------------------------------------------------------------------------
    def place(self, loop: Loop, packet: Value) -> tuple[Value, Value, Value]:
        """Host address, extent and whether it is in the aperture of what a packet names; leaves the run when it is nowhere."""
        f = self.f
        address, extent = f.load(I64, packet, _packet("address")), f.load(I32, packet, _packet("extent"))
        end = address + extent.zext(I64)
        local = address.uge(LOCAL_BASE) & end.ule(self.get("local_end", I64))
        result = f.var(I64, address + self.get("local_delta", I64))
        with f.if_(~local):
            loop.break_if(address.ult(APERTURE_BASE) | end.ugt(self.get("aperture_end", I64)))
            first = (address - APERTURE_BASE).shr(12)
            last = (address - APERTURE_BASE + extent.zext(I64) - extent.ne(0).zext(I64)).shr(12)
            loop.break_if((last - first) > _MOST_PAGES)
            bound = self.get("bound", PTR)
            with f.count(first, last + 1, type=I64) as page:
                loop.break_if(f.load(I32, f.index(bound, I32, page)).eq(0))
            result.set(address + self.get("aperture_delta", I64))
        return result.get(), extent, ~local

    # -- state --------------------------------------------------------------------------------------------------------
    def constants(self, loop: Loop, packet: Value, slot: Value) -> None:
        """SET_CONSTANT_BUFFER: pointer and dwords to where the stage's program reads them."""
        f = self.f
        stage = slot.shr(8)
        places = f.offset(self.record, records.offset(RUN, "places"))
        place = f.load(PTR, f.index(places, I64, (stage << 4 | slot & 15).zext(I64)))
        with f.if_(place.ne(0)):
            pointer, words = f.var(I64, self.get("zeros", I64)), f.var(I64, 0)
            address = f.load(I64, packet, _packet("address"))
            with f.if_(address.ne(0)):
                where, extent, far = self.place(loop, packet)
                size = f.umin(f.umin(f.load(I32, packet, _packet("data")), extent), f.value(65536, I32))
                pointer.set(where)
                words.set(size.shr(2).zext(I64))
                with f.if_(stage.eq(int(Stage.PIXEL))):
                    end = address + extent.zext(I64)
                    for index, condition in ((0, ~far), (1, far)):
                        with f.if_(condition):
                            at_low, at_high = (records.offset(RUN, name) + 8 * index for name in ("low", "high"))
                            f.store(f.umin(f.load(I64, self.record, at_low), address), self.record, at_low)
                            f.store(f.umax(f.load(I64, self.record, at_high), end), self.record, at_high)
            f.store(pointer.get(), place)
            f.store(words.get(), place, 8)
            with f.if_(stage.eq(int(Stage.PIXEL))):
                self.put("draw", f.value(0, I64))

    def vertex_buffer(self, loop: Loop, packet: Value, slot: Value) -> None:
        """SET_VERTEX_BUFFER: to the front end's record."""
        f = self.f
        pointer, size, stride = f.var(I64, 0), f.var(I32, 0), f.var(I32, 0)
        with f.if_(f.load(I64, packet, _packet("address")).ne(0)):
            where, extent, _ = self.place(loop, packet)
            pointer.set(where)
            size.set(extent)
            stride.set(f.load(I32, packet, _packet("data")))
        start = records.offset(records.FRONT, "buffers")
        place = f.offset(self.front, (slot * records.VERTEX_BUFFER.itemsize + start).zext(I64))
        for name, value in (("base", pointer), ("size", size), ("stride", stride)):
            f.store(value.get(), place, records.offset(records.VERTEX_BUFFER, name))

    def index_buffer(self, loop: Loop, packet: Value) -> None:
        """SET_INDEX_BUFFER of the format that the front end is made for."""
        f = self.f
        loop.break_if(f.load(I32, packet, _packet("data")).ne(self.get("index_format")))
        loop.break_if(f.load(I64, packet, _packet("address")).eq(0))
        where, extent, _ = self.place(loop, packet)
        self.put("index_buffer", where)
        self.put("index_count", extent.shr(self.get("index_shift")))

    def step(self, loop: Loop, packet: Value) -> None:
        """Any other packet: along the edge that it is."""
        f = self.f
        node = self.get("node")
        words = [f.load(I64, packet, 8 * i) for i in range(8)]
        h = node.zext(I64) * PRIME
        for word in words:
            h = (h ^ word) * PRIME
        place = f.var(I64, h.shr(56))
        found = f.var(PTR, 0)
        with f.loop() as search:
            edge = f.offset(self.edges, place.get() * EDGE.itemsize)
            loop.break_if(f.load(I32, edge, records.offset(EDGE, "taken")).eq(0))
            same = f.load(I32, edge, records.offset(EDGE, "node")).eq(node)
            for i, word in enumerate(words):
                same = same & f.load(I64, edge, records.offset(EDGE, "packet") + 8 * i).eq(word)
            found.set(edge)
            search.break_if(same)
            place.set((place.get() + 1) & (EDGES - 1))
        self.put("node", f.load(I32, found.get(), records.offset(EDGE, "next")))
        self.put("draw", f.value(0, I64))

    # -- draws --------------------------------------------------------------------------------------------------------
    def draw(self, loop: Loop, packet: Value) -> None:
        """DRAW or DRAW_INDEXED."""
        f = self.f
        indexed = self.get("draw_op").eq(int(Op.DRAW_INDEXED))
        data = [f.load(I32, packet, _packet("data") + 4 * i) for i in range(5)]
        count, instances, start = data[:3]
        start_instance = indexed.select(data[4], data[3])
        loop.break_if(count.ugt(MAX_DRAW_VERTICES))
        fewer = self.get("fewer")
        primitives = count.ugt(fewer).select(count - fewer, 0).udiv(self.get("divisor"))
        with f.if_(primitives.ne(0) & instances.ne(0)):
            loop.break_if(f.load(I32, self.get("stop", PTR)).ne(0))
            with f.if_(self.get("draw", I64).eq(0)):
                self.make_record(loop)
            head = {
                "vertex_block": self.get("vertex_block", I64), "draw": self.get("draw", I64),
                "index_buffer": self.get("index_buffer", I64), "index_count": self.get("index_count"),
                "start": start, "count": count, "primitives": primitives, "add": indexed.select(data[3], start),
                "instances": instances, "start_instance": start_instance, "rasterize": self.get("rasterize"),
            }  # fmt: skip
            for name in records.FRONT_HEAD.names or ():
                f.store(head.get(name, f.value(0, I32)), self.front, records.offset(records.FRONT, name))
            full = f.call_pointer(self.get("front_function", PTR), I32, [self.front])
            self.put("full", full)
            loop.break_if(full.ne(0))
            left = self.get("draws") - 1
            budget = self.get("budget", I64) - count.zext(I64) * instances.zext(I64)
            self.put("draws", left)
            self.put("budget", budget)
            with f.if_(left.eq(0) | (budget < 0)):
                self.put("at", self.get("at") + 1)
                loop.break_if(f.value(1, I1))

    def make_record(self, loop: Loop) -> None:
        """The DRAW record of the node with the constants of now; leaves the run when the node is not complete or room is short."""
        f = self.f
        node = f.offset(self.get("nodes", PTR), self.get("node").zext(I64) * self.get("node_bytes").zext(I64))
        loop.break_if(f.load(I32, node).eq(0))
        start = self.get("record_next")
        loop.break_if(start.ugt(self.get("record_limit")))
        record = self.get("record_base", I64) + start.zext(I64)
        pointer = f.offset(self.get("record_base", PTR), start.zext(I64))
        constants, resources = self.get("constant_bytes").zext(I64), self.get("resource_bytes").zext(I64)
        f.copy(pointer, f.offset(node, NODE_HEAD), _DRAW_BYTES)
        block = f.offset(pointer, _DRAW_BYTES)
        f.store(record + _DRAW_BYTES, pointer, records.offset(records.DRAW, "pixel_block"))
        f.copy(block, self.get("constants", PTR), constants)
        f.copy(f.offset(block, constants), f.offset(node, NODE_HEAD + _DRAW_BYTES), resources)
        self.put("draw", record)
        self.put("record_next", start + _DRAW_BYTES + (constants + resources).trunc(I32))


__all__ = ["EDGE", "EDGES", "NODE_HEAD", "RUN", "RUN_HEAD", "RUN_HEAD_FORMAT", "compile_run", "edge_place"]
