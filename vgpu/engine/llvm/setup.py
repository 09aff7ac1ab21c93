"""Setup: from corners in the vertex store to records of primitives, W at once.

Positions are snapped to 16.8 fixed point; attribute planes start from the snapped first corner. What is common to points, lines and
triangles is here: culling, records, planes, bins. :mod:`.shapes` says how each kind covers pixels and how its attributes change
across the screen.
"""

from __future__ import annotations

from typing import ClassVar, Final

from . import bins, maths, records, vertex
from .access import for_lanes
from .builder import F32, I8, I32, I64, PTR, VOID, Module, Type, Value
from .front_function import FrontFunction
from .records import CONSTANT, PERSPECTIVE, TRIANGLE, TRIANGLE_PLANES, Shape

#: In the list of leading corners: the corner, and above it the edges that wireframe leaves out.
LEADING_BITS: Final = 24
LEADING: Final = -1  #: in place of a corner's number: the leading corner

Box = tuple[Value, Value, Value, Value]  #: left, top, right, bottom pixel, inclusive


class Setup(FrontFunction):
    """``setup(FRONT*, count, three corner lists, leading corners, primitive ids)``."""

    corners: ClassVar[int]  #: of a primitive
    shape: ClassVar[Shape]  #: what its records hold
    reject: ClassVar[int]  #: clip codes that make it invisible when all corners have them

    def __init__(self, module: Module, lanes: int) -> None:
        super().__init__(module, lanes, "setup", VOID, [I32, PTR, PTR, PTR, PTR, PTR])

    def write(self) -> None:
        """Its body."""
        f = self.f
        count, *lists = self.arguments
        with f.count(0, count, self.lanes) as first:
            self.vector(first, count, lists)
        f.ret()

    # -- what a kind of primitive adds --------------------------------------------------------------------------------
    def prepare(self, mask: Value) -> Value:
        """Look at the snapped corners ``x``, ``y``; returns the primitives of ``mask`` that are not culled."""
        return mask

    def box(self) -> Box:
        """The pixels that may be covered."""
        raise NotImplementedError

    def front_facing(self) -> Value:
        """Mask of the primitives that show their front."""
        return self.f.value(1, self.mask.type)

    def prepare_gradients(self) -> None:
        """Make what :meth:`gradient` needs."""

    def gradient(self, values: list[Value]) -> tuple[Value, Value]:
        """How a value that the corners have changes from pixel to pixel, in x and y; f32 or f64."""
        raise NotImplementedError

    def depth_bias(self, z: list[Value], ddx: Value, ddy: Value) -> Value | None:
        """What is added to depth."""
        return None

    def geometry(self) -> None:
        """Put the shape into the record; may add to ``flags``."""
        raise NotImplementedError

    # -- W primitives -------------------------------------------------------------------------------------------------
    def gather(self, k: int, c: int | Value, mask: Value, t: Type = F32) -> Value:
        """Component ``c`` of corner ``k``."""
        f, at = self.f, c * (self.lanes * 4)
        pointer = f.offset(self.store, at if isinstance(at, int) else at.zext(I64))
        return f.gather(t.vector(self.lanes), f.index(pointer, t, self.place[k]), mask)

    def vector(self, first: Value, count: Value, lists: list[Value]) -> None:
        """W primitives: cull, then records and bins of what is left."""
        f, w = self.f, self.lanes
        valid = (first + f.vector(I32, range(w))) < count
        at = first.zext(I64) << 2
        chosen = [valid.select(f.load(self.ivec, source, at, align=4), 0) for source in (*lists[: self.corners], lists[3])]
        self.identity = f.load(self.ivec, lists[4], at, align=4)
        self.hidden = chosen[-1].shr(LEADING_BITS)
        chosen[-1] = chosen[-1] & ((1 << LEADING_BITS) - 1)
        shift = w.bit_length() - 1
        self.place = [v.shr(shift) * (self.components * w) + (v & (w - 1)) for v in chosen]
        codes = [self.gather(k, vertex.CODE, valid, I32) for k in range(self.corners)]
        common, either = codes[0], codes[0]
        for code in codes[1:]:
            common, either = common & code, either | code
        hidden = common & self.get("clip", I32) & self.reject
        mask = valid & (hidden | (either & vertex.NOT_A_NUMBER)).eq(0)
        self.x, self.y = ([self.gather(k, c, mask, I32) for k in range(self.corners)] for c in (vertex.SCREEN_X, vertex.SCREEN_Y))
        mask = self.mask = self.prepare(mask)
        self.viewport = viewport = self.gather(LEADING, vertex.VIEWPORT, mask, I32)

        def bound(name: str) -> Value:
            base = records.offset(records.FRONT, "viewports") + records.offset(records.VIEWPORT, name)
            return f.gather(self.ivec, f.index(f.offset(self.front, base), I8, viewport * records.VIEWPORT.itemsize), mask)

        # Cut to the viewport's rectangle.
        bounds = tuple(bound(name) for name in ("left", "top", "right", "bottom"))
        mask = mask & (bounds[0] <= bounds[2]) & (bounds[1] <= bounds[3])
        self.tally("clipper_primitives", f.call("llvm.ctpop.i32", I32, [f.mask_bits(mask).zext(I32)]))
        box = self.box()
        left, top, right, bottom = self.limits = (
            f.max(box[0], bounds[0]), f.max(box[1], bounds[1]), f.min(box[2], bounds[2]), f.min(box[3], bounds[3])
        )  # fmt: skip
        self.mask = mask & (left <= right) & (top <= bottom)
        with f.if_(f.any(self.mask)):
            self.records_and_bins()

    def put_word(self, word: int, value: Value) -> None:
        """Write a word of the records."""
        f = self.f
        f.scatter(f.splat(value, self.lanes), f.index(f.offset(self.arena, 4 * word), I8, self.offset), self.mask, align=4)

    def put_long(self, word: int, value: Value) -> None:
        """Write 64 bits of the records."""
        self.put_word(word, value.trunc(I32))
        self.put_word(word + 1, value.shr(32).trunc(I32))

    def room(self) -> None:
        """Make room for the records, emptying the bins if need be: ``arena``, and each lane's ``offset`` in it."""
        f, w = self.f, self.lanes
        left, top, right, bottom = self.limits
        bits = f.mask_bits(self.mask).zext(I32)
        population = f.call("llvm.ctpop.i32", I32, [bits])
        spans = ((right >> 6) - (left >> 6) + 1) * ((bottom >> 6) - (top >> 6) + 1)
        tiles = f.call(f"llvm.vector.reduce.add.v{w}i32", I32, [self.mask.select(spans, 0)])
        all_tiles = self.passed("tiles_x", I32) * self.passed("tiles_y", I32)
        chunks = f.umin(tiles, all_tiles * 2)
        size = self.get("record_bytes", I32)
        short_chunks = (self.passed("chunk_next", I32) + chunks).ugt(self.passed("chunk_limit", I32))
        short_arena = (self.passed("arena_next", I32) + size * w).ugt(self.passed("arena_limit", I32))
        with f.if_(short_chunks | short_arena):
            f.store(f.value(0, I32), self.pass_, records.offset(records.PASS, "next_tile"))
            f.call_pointer(self.passed("raster", PTR), VOID, [self.pass_, f.value(0, I32)])
            f.store(all_tiles, self.pass_, records.offset(records.PASS, "chunk_next"))
            f.store(f.value(0, I32), self.pass_, records.offset(records.PASS, "arena_next"))
        start = self.passed("arena_next", I32)
        self.arena = self.passed("arena", PTR)
        f.store(start + population * size, self.pass_, records.offset(records.PASS, "arena_next"))
        for name, amount in (("triangles", population), ("entries", tiles)):
            counter_at = records.offset(records.PASS, name)
            f.store(f.load(I64, self.pass_, counter_at) + amount.zext(I64), self.pass_, counter_at)
        below = f.vector(I32, [(1 << i) - 1 for i in range(w)])
        self.offset = start + f.intrinsic("ctpop", f.splat(bits, w) & below) * size

    def records_and_bins(self) -> None:
        """Write the records of the lanes in ``mask`` and put them into bins."""
        f, w, mask = self.f, self.lanes, self.mask
        self.room()
        flags = self.front_facing().zext(I32) | (self.gather(LEADING, vertex.SLICE, mask, I32) & 0xFFFF) << 8
        self.flags = flags | self.viewport << 24
        self.geometry()
        self.put_word(TRIANGLE["flags"], self.flags)
        self.put_long(TRIANGLE["draw"], f.splat(f.emit(I64, f"ptrtoint {self.draw} to i64"), w))
        self.put_word(TRIANGLE["primitive"], self.identity)
        for name, value in zip(("left", "top", "right", "bottom"), self.limits, strict=True):
            self.put_word(TRIANGLE[name], value)
        self.put_word(TRIANGLE["x"], self.x[0].to_float() * (1.0 / 256))
        self.put_word(TRIANGLE["y"], self.y[0].to_float() * (1.0 / 256))
        self.planes()
        boxes = []
        for value in (self.offset, *self.limits):
            memory = f.array(self.ivec, 1)
            f.store(value, memory, align=64)
            boxes.append(memory)

        def body(lane: Value) -> None:
            offset, *box = (f.load(I32, f.index(memory, I32, lane.zext(I64))) for memory in boxes)
            bins.put(self, self.shape, self.arena, offset, box)

        for_lanes(f, mask, body)

    def planes(self) -> None:
        """Planes of depth, 1/w and the attributes: gradients in pixels from the snapped corners."""
        f, w, mask, corners = self.f, self.lanes, self.mask, range(self.corners)
        self.prepare_gradients()
        z = [
            maths.to_double(f, self.gather(k, vertex.SCREEN_Z, mask, I32), self.gather(k, vertex.SCREEN_Z_HIGH, mask, I32))
            for k in corners
        ]
        ddx, ddy = self.gradient(z)
        bias = self.depth_bias(z, ddx, ddy)
        for k, value in enumerate((z[0] if bias is None else z[0] + bias, ddx, ddy)):
            for half, part in enumerate(maths.from_double(f, value)):
                self.put_word(TRIANGLE["z"] + 2 * k + half, part)
        reciprocal = [self.gather(k, vertex.RECIPROCAL_W, mask) for k in corners]
        for k, value in enumerate((reciprocal[0], *self.gradient(reciprocal))):
            self.put_word(TRIANGLE["w"] + k, value)
        planes = f.offset(self.front, records.offset(records.FRONT, "planes"))
        with f.count(0, self.get("plane_count", I32)) as n:
            entry = f.offset(planes, (n << 3).zext(I64))
            component, mode = f.load(I32, entry), f.load(I32, entry, 4)
            present = mask & f.splat(component.ne(-1), w)
            target = f.offset(self.arena, (n * 12 + 4 * TRIANGLE_PLANES).zext(I64))

            def put(word: int, value: Value) -> None:
                f.scatter(value, f.index(f.offset(target, 4 * word), I8, self.offset), mask, align=4)

            with f.if_else(mode.eq(CONSTANT)) as otherwise:
                put(0, self.gather(LEADING, component, present, I32))
                otherwise()
                perspective = mode.eq(PERSPECTIVE)
                values = [self.gather(k, component, present) * perspective.select(r, 1.0) for k, r in enumerate(reciprocal)]
                for k, value in enumerate((values[0], *self.gradient(values))):
                    put(k, value)


__all__ = ["LEADING", "LEADING_BITS", "Box", "Setup"]
