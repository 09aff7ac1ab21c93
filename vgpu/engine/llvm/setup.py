"""Triangle setup: from corners in the vertex store to triangle records, W at once.

Positions are snapped to 16.8 fixed point; edge functions are exact, with the top-left rule folded into the constant; attribute
planes start from the snapped positions.
"""

from __future__ import annotations

from collections.abc import Callable

from . import bins, maths, records, vertex
from .access import for_lanes
from .builder import F32, F64, I8, I32, I64, PTR, VOID, Module, Type, Value
from .front_function import FrontFunction
from .records import CONSTANT, PERSPECTIVE, TRIANGLE, TRIANGLE_PLANES


class Setup(FrontFunction):
    """``setup(FRONT*, count, corner lists…)``."""

    def __init__(self, module: Module, lanes: int) -> None:
        super().__init__(module, lanes, "setup", VOID, [I32, PTR, PTR, PTR, PTR, PTR])

    def write(self) -> None:
        """Its body."""
        f = self.f
        count, *lists = self.arguments
        with f.count(0, count, self.lanes) as first:
            self.vector(first, count, lists)
        f.ret()

    def vector(self, first: Value, count: Value, lists: list[Value]) -> None:
        """W triangles: cull, edges, planes, records, bins."""
        f, w = self.f, self.lanes
        lane = f.vector(I32, range(w))
        valid = (first + lane) < count
        at = first.zext(I64) << 2
        corners = [valid.select(f.load(self.ivec, source, at, align=4), 0) for source in lists[:4]]
        shift = w.bit_length() - 1
        place = [v.shr(shift) * (self.components * w) + (v & (w - 1)) for v in corners]

        def gather(k: int, c: int | Value, mask: Value, t: Type = F32) -> Value:
            at_component = c * (w * 4)
            pointer = f.offset(self.store, at_component if isinstance(at_component, int) else at_component.zext(I64))
            return f.gather(t.vector(w), f.index(pointer, t, place[k]), mask)

        clip_mask = self.get("clip", I32)
        codes = [gather(k, vertex.CODE, valid, I32) for k in range(3)]
        hidden = (codes[0] & codes[1] & codes[2]) & clip_mask & vertex.REJECT
        bad = (codes[0] | codes[1] | codes[2]) & vertex.NOT_A_NUMBER
        mask = valid & (hidden | bad).eq(0)
        x = [gather(k, vertex.SCREEN_X, mask, I32) for k in range(3)]
        y = [gather(k, vertex.SCREEN_Y, mask, I32) for k in range(3)]
        dx1, dy1, dx2, dy2 = x[1] - x[0], y[1] - y[0], x[2] - x[0], y[2] - y[0]
        area = dx1.to_float(F64) * dy2.to_float(F64) - dx2.to_float(F64) * dy1.to_float(F64)
        clockwise, counter = area > 0.0, area < 0.0
        cull = self.get("cull", I32)
        keep_cw, keep_ccw = (cull & 1).eq(0), (cull & 2).eq(0)
        mask = mask & ((clockwise & keep_cw) | (counter & keep_ccw))
        front_facing = clockwise ^ self.get("front_ccw", I32).ne(0)
        # Pixels whose samples may be covered, cut to the viewport's rectangle.
        smallest_x, largest_x = f.min(f.min(x[0], x[1]), x[2]), f.max(f.max(x[0], x[1]), x[2])
        smallest_y, largest_y = f.min(f.min(y[0], y[1]), y[2]), f.max(f.max(y[0], y[1]), y[2])
        multisampled = self.get("multisampled", I32).ne(0)
        low, high = multisampled.select(0, f.value(127, I32)), multisampled.select(0, f.value(-128, I32))
        viewport = gather(3, vertex.VIEWPORT, mask, I32)

        def bound(name: str) -> Value:
            base = records.offset(records.FRONT, "viewports") + records.offset(records.VIEWPORT, name)
            return f.gather(self.ivec, f.index(f.offset(self.front, base), I8, viewport * records.VIEWPORT.itemsize), mask)

        left, top = f.max((smallest_x + low) >> 8, bound("left")), f.max((smallest_y + low) >> 8, bound("top"))
        right, bottom = f.min((largest_x + high) >> 8, bound("right")), f.min((largest_y + high) >> 8, bound("bottom"))
        mask = mask & (left <= right) & (top <= bottom)
        with f.if_(f.any(mask)):
            self.records_and_bins(
                mask,
                gather,
                first,
                lists,
                x,
                y,
                (dx1, dy1, dx2, dy2),
                area,
                counter,
                front_facing,
                viewport,
                (left, top, right, bottom),
            )

    def records_and_bins(
        self,
        mask: Value,
        gather: Callable[..., Value],
        first: Value,
        lists: list[Value],
        x: list[Value],
        y: list[Value],
        sides: tuple[Value, Value, Value, Value],
        area: Value,
        counter: Value,
        front_facing: Value,
        viewport: Value,
        box: tuple[Value, Value, Value, Value],
    ) -> None:
        """Write the records of the lanes in ``mask`` and put them into bins."""
        f, w = self.f, self.lanes
        left, top, right, bottom = box
        dx1, dy1, dx2, dy2 = sides
        bits = f.mask_bits(mask).zext(I32)
        population = f.call("llvm.ctpop.i32", I32, [bits])
        self.tally("clipper_out", population)
        # Room first: the bins may have to be emptied to get it.
        spans = ((right >> 6) - (left >> 6) + 1) * ((bottom >> 6) - (top >> 6) + 1)
        tiles = f.call(f"llvm.vector.reduce.add.v{w}i32", I32, [mask.select(spans, 0)])
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
        arena = self.passed("arena", PTR)
        f.store(start + population * size, self.pass_, records.offset(records.PASS, "arena_next"))
        for name, amount in (("triangles", population), ("entries", tiles)):
            counter_at = records.offset(records.PASS, name)
            f.store(f.load(I64, self.pass_, counter_at) + amount.zext(I64), self.pass_, counter_at)
        below = f.vector(I32, [(1 << i) - 1 for i in range(w)])
        rank = f.intrinsic("ctpop", f.splat(bits, w) & below)
        offset = start + rank * size

        def put(word: int, value: Value) -> None:
            value = f.splat(value, w)
            f.scatter(value, f.index(f.offset(arena, 4 * word), I8, offset), mask, align=4)

        # Corners in clockwise order for the edges.
        bx, by = counter.select(x[2], x[1]), counter.select(y[2], y[1])
        cx, cy = counter.select(x[1], x[2]), counter.select(y[1], y[2])
        px, py = (x[0], bx, cx), (y[0], by, cy)
        for i in range(3):
            j = (i + 1) % 3
            a, b = py[i] - py[j], px[j] - px[i]
            c = -(a.sext(I64) * px[i].sext(I64) + b.sext(I64) * py[i].sext(I64))
            top_left = (a > 0) | (a.eq(0) & (b > 0))
            c = c - top_left.select(0, f.value(1, c.type))
            put(TRIANGLE["a"] + i, a)
            put(TRIANGLE["b"] + i, b)
            put(TRIANGLE["c"] + 2 * i, c.trunc(I32))
            put(TRIANGLE["c"] + 2 * i + 1, (c >> 32).trunc(I32))
        draw = f.emit(I64, f"ptrtoint {self.draw} to i64")
        put(TRIANGLE["draw"], draw.trunc(I32))
        put(TRIANGLE["draw"] + 1, draw.shr(32).trunc(I32))
        flags = front_facing.zext(I32)
        flags = flags | (gather(3, vertex.SLICE, mask, I32) & 0xFFFF) << 8
        flags = flags | viewport << 24
        put(TRIANGLE["flags"], flags)
        put(TRIANGLE["primitive"], f.load(self.ivec, lists[4], first.zext(I64) << 2, align=4))
        for name, value in zip(("left", "top", "right", "bottom"), box, strict=True):
            put(TRIANGLE[name], value)
        put(TRIANGLE["x"], x[0].to_float() * (1.0 / 256))
        put(TRIANGLE["y"], y[0].to_float() * (1.0 / 256))
        # Planes: gradients in pixels from the snapped corners.
        inverse = 256.0 / area
        fx1, fy1, fx2, fy2 = (d.to_float(F64) * inverse for d in (dx1, dy1, dx2, dy2))
        gx1, gy1, gx2, gy2 = (d.resize_float(F32) for d in (fx1, fy1, fx2, fy2))

        def plane(word: int, values: list[Value]) -> None:
            one, two = values[1] - values[0], values[2] - values[0]
            put(word, values[0])
            put(word + 1, f.fma(one, gy2, -(two * gy1)))
            put(word + 2, f.fma(two, gx1, -(one * gx2)))

        z = [
            maths.to_double(f, gather(k, vertex.SCREEN_Z, mask, I32), gather(k, vertex.SCREEN_Z_HIGH, mask, I32)) for k in range(3)
        ]
        one, two = z[1] - z[0], z[2] - z[0]
        ddx, ddy = one * fy2 - two * fy1, two * fx1 - one * fx2
        for k, value in enumerate((z[0] + self.depth_bias(z, ddx, ddy), ddx, ddy)):
            for half, part in enumerate(maths.from_double(f, value)):
                put(TRIANGLE["z"] + 2 * k + half, part)
        reciprocal = [gather(k, vertex.RECIPROCAL_W, mask) for k in range(3)]
        plane(TRIANGLE["w"], reciprocal)
        planes = f.offset(self.front, records.offset(records.FRONT, "planes"))
        with f.count(0, self.get("plane_count", I32)) as n:
            entry = f.offset(planes, (n << 3).zext(I64))
            component, mode = f.load(I32, entry), f.load(I32, entry, 4)
            present = mask & f.splat(component.ne(-1), w)
            target = f.offset(arena, (n * 12 + 4 * TRIANGLE_PLANES).zext(I64))

            def put_plane(word: int, value: Value, target: Value = target) -> None:
                f.scatter(value, f.index(f.offset(target, 4 * word), I8, offset), mask, align=4)

            with f.if_else(mode.eq(CONSTANT)) as otherwise:
                put_plane(0, gather(3, component, present, I32))
                otherwise()
                perspective = mode.eq(PERSPECTIVE)
                values = [gather(k, component, present) * perspective.select(r, 1.0) for k, r in enumerate(reciprocal)]
                one, two = values[1] - values[0], values[2] - values[0]
                put_plane(0, values[0])
                put_plane(1, f.fma(one, gy2, -(two * gy1)))
                put_plane(2, f.fma(two, gx1, -(one * gx2)))
        boxes = []
        for value in box:
            memory = f.array(self.ivec, 1)
            f.store(value, memory, align=64)
            boxes.append(memory)
        offsets = f.array(self.ivec, 1)
        f.store(offset, offsets, align=64)

        def body(lane: Value) -> None:
            def pick(memory: Value) -> Value:
                return f.load(I32, f.index(memory, I32, lane.zext(I64)))

            bins.put(self, arena, pick(offsets), [pick(b) for b in boxes])

        for_lanes(f, mask, body)

    def depth_bias(self, z: list[Value], ddx: Value, ddy: Value) -> Value:
        """Direct3D's depth bias: a constant in units of the format, plus the largest slope times a factor, clamped."""
        f = self.f
        constant = self.get("bias", F32).resize_float(F64)
        largest = f.max(f.max(f.abs(z[0]), f.abs(z[1])), f.abs(z[2]))
        # The unit of floating-point depth: the last place of the largest depth of the triangle.
        exponent = (largest.bits(I64) & (0x7FF << 52)) - (23 << 52)
        float_unit = (exponent > 0).select(exponent, 0).bits(F64)
        bias = self.get("bias_float", I32).ne(0).select(float_unit * constant, f.splat(constant, self.lanes))
        bias = bias + f.max(f.abs(ddx), f.abs(ddy)) * self.get("bias_slope", F32).resize_float(F64)
        clamp = self.get("bias_clamp", F32).resize_float(F64)
        up, down = f.min(bias, clamp), f.max(bias, clamp)
        return (clamp > 0.0).select(up, (clamp < 0.0).select(down, bias))
