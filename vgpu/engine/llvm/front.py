"""The front end of a draw: vertices in batches, primitive assembly, clipping, triangle setup and binning, all in one function.

``front(FRONT*)`` returns 0 when the draw is done, 1 when the arena is nearly full or enough was done for now (the caller
rasterizes and calls again).
Setup works on W triangles at once: snapped positions in 16.8 fixed point, exact edge functions with the top-left rule folded
into the constant, attribute planes from the snapped positions. Binning goes tile by tile with trivial reject and accept.

Vertices seldom need the clipper (a guard band wider than any target stands around the screen); batches that do are rewritten
triangle by triangle before setup, so that order is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wddm.hw.packets import Topology

from . import maths, records, vertex
from .access import for_lanes
from .builder import F32, F64, I8, I16, I32, I64, PTR, VOID, Function, Module, Type, Value, Variable
from .compute import restore_float_mode, set_float_mode
from .records import CHUNK, TILE, TRIANGLE, TRIANGLE_PLANES
from .vertex import FIRST_OUTPUT, VertexLayout

BATCH: Final = 256  #: primitives
#: Vertices the clipper may add before its output is set up, and triangles.
CLIP_VERTICES: Final = 512
LIST: Final = 768
HASH: Final = 1024
STEPS: Final = 1 << 18  #: primitives (or strip indices) until the caller may be preempted
POLYGON: Final = 20  #: a triangle cut by 15 planes has at most 18 corners

CONSTANT, LINEAR, PERSPECTIVE = 0, 1, 2

#: The signed distance of a corner (clip-space position, local vertex) from a clip plane.
Distance = Callable[[list[Value], Value], Value]


@dataclass(frozen=True, slots=True)
class FrontKey:
    """What a front end is compiled for: little, so that a new shader needs none."""

    topology: int
    index_size: int
    lanes: int


def record_bytes(planes: int) -> int:
    """Size of a triangle record, a multiple of 16."""
    return ((TRIANGLE_PLANES + 3 * planes + 3) & ~3) * 4


def scratch_bytes(lanes: int) -> int:
    """Bytes of scratch that a front end needs at most (32 output registers)."""
    vertices = BATCH * 3 + CLIP_VERTICES + 2 * lanes
    return 4 * (vertices * (FIRST_OUTPUT + 128) + 2 * vertices + 2 * 5 * LIST + 3 * HASH) + 8192


def clip_components(layout: VertexLayout) -> tuple[int, ...]:
    """Where the eight possible clip distances lie in the store."""
    places = [layout.component(r * 4 + c) or 0 for r, c in layout.clip]
    return tuple((places + [0] * 8)[:8])


def primitive_count(topology: int, vertices: int) -> int | None:
    """Triangles of a draw without strip cuts; None for what is not triangles."""
    if topology == Topology.TRIANGLELIST:
        return vertices // 3
    if topology == Topology.TRIANGLESTRIP:
        return max(0, vertices - 2)
    if topology == Topology.TRIANGLELIST_ADJ:
        return vertices // 6
    if topology == Topology.TRIANGLESTRIP_ADJ:
        return max(0, (vertices - 4) // 2)
    return None


def compile_front(key: FrontKey) -> str:
    """The IR of ``front``."""
    return _Front(key).write()


class _Front:
    def __init__(self, key: FrontKey) -> None:
        self.key, self.lanes = key, key.lanes
        self.m = Module()
        self.f = f = self.m.function("front", I32, [PTR])
        (self.front,) = f.arguments
        self.ivec, self.fvec = I32.vector(key.lanes), F32.vector(key.lanes)
        self.strip = key.topology in (Topology.TRIANGLESTRIP, Topology.TRIANGLESTRIP_ADJ)
        self.cuts = self.strip and key.index_size != 0
        self.hashed = self.strip or key.index_size != 0
        vertices = BATCH * 3 + CLIP_VERTICES + 2 * key.lanes
        sizes = {"ids": vertices, "instances": vertices, **{f"list{i}": LIST for i in range(10)}}
        sizes |= {"tag": HASH, "generation": HASH, "slot": HASH, "store": vertices * (FIRST_OUTPUT + 128)}
        self.places: dict[str, int] = {}
        at = 0
        for name, words in sizes.items():
            self.places[name] = at
            at += (words * 4 + 63) & ~63

    def enter(self, f: Function) -> None:
        """Write into ``f``, whose first argument is the FRONT record."""
        self.f, self.front = f, f.arguments[0]
        with f.prologue():
            self.pass_, self.draw = self.get("pass", PTR), self.get("draw", PTR)
            scratch = self.get("scratch", PTR)
            area = {name: f.offset(scratch, at) for name, at in self.places.items()}
            self.components = self.get("components", I32)
        self.ids, self.instances, self.store = area["ids"], area["instances"], area["store"]
        self.tag, self.generation, self.slot = area["tag"], area["generation"], area["slot"]
        self.lists = [area[f"list{i}"] for i in range(5)]  # three corners, provoking corner, primitive id
        self.clipped = [area[f"list{i}"] for i in range(5, 10)]

    # -- fields -------------------------------------------------------------------------------------------------------
    def get(self, name: str, t: Type) -> Value:
        """A field of FRONT that stays."""
        return vertex.front_field(self.f, self.front, name, t)

    def live(self, name: str, t: Type = I32) -> Value:
        """A field of FRONT that changes."""
        return self.f.load(t, self.front, records.offset(records.FRONT, name))

    def put(self, name: str, x: Value) -> None:
        """Write a field of FRONT."""
        self.f.store(x, self.front, records.offset(records.FRONT, name))

    def tally(self, name: str, x: Value) -> None:
        """Add to a statistic."""
        at = records.offset(records.FRONT, name)
        self.f.store(self.f.load(I64, self.front, at) + x.zext(I64), self.front, at)

    def passed(self, name: str, t: Type) -> Value:
        """A field of PASS, now."""
        return self.f.load(t, self.pass_, records.offset(records.PASS, name))

    # -- the function -------------------------------------------------------------------------------------------------
    def write(self) -> str:
        f = self.f
        saved = set_float_mode(f)
        self.enter(f)
        with f.prologue():
            self.index_buffer, self.index_count = self.get("index_buffer", PTR), self.get("index_count", I32)
            self.start, self.count = self.get("start", I32), self.get("count", I32)
        self.vertex_count, self.list_count = f.var(I32, 0), f.var(I32, 0)
        self.epoch = f.var(I32, 1)
        self.run, self.number = f.var(I32), f.var(I32)
        self.run.set(self.live("run"))
        self.number.set(self.live("primitive_id"))
        if self.hashed:
            f.fill(self.generation, 0, HASH * 4)
        result = f.var(I32, 0)
        budget = f.var(I32, STEPS)
        instance = f.var(I32)
        instance.set(self.live("instance"))
        step = f.var(I32)
        step.set(self.live("primitive"))
        done = f.label()
        stop = self.get("stop", PTR)
        steps = self.count if self.cuts else self.get("primitives", I32)
        with f.loop() as instances:
            instances.break_if(instance.get().uge(self.get("instances", I32)))
            self.instance_now = instance.get()
            self.epoch.set(self.epoch.get() + 1)
            with f.loop() as loop:
                now = step.get()
                loop.break_if(now.uge(steps))
                self.assemble(now)
                step.set(now + 1)
                left = budget.get() - 1
                budget.set(left)
                with f.if_((self.list_count.get() >= BATCH) | (left <= 0)):
                    self.process()
                    full = self.passed("arena_next", I32).ugt(self.passed("arena_limit", I32).shr(2) * 3)
                    stopped = f.emit(I32, f"load volatile i32, {stop}, align 4").ne(0)
                    with f.if_(full | stopped | (left <= 0)):
                        self.put("instance", instance.get())
                        self.put("primitive", step.get())
                        self.put("run", self.run.get())
                        self.put("primitive_id", self.number.get())
                        result.set(1)
                        f.jump(done)
            instance.set(instance.get() + 1)
            step.set(0)
            self.run.set(0)
            self.number.set(0)
        self.put("instance", instance.get())
        self.process()
        f.place(done)
        restore_float_mode(f, saved)
        f.ret(result.get())
        return str(self.m)

    # -- assembly -----------------------------------------------------------------------------------------------------
    def index(self, position: Value) -> Value:
        """The index at a position of the index stream; beyond the buffer 0."""
        f, size = self.f, self.key.index_size
        at = position + self.start
        inside = at.ult(self.index_count) & at.uge(position)
        safe = inside.select(at, 0)
        pointer = inside.select(f.offset(self.index_buffer, safe.zext(I64) * size), f.offset(self.front, 0))
        x = f.load(I16, pointer).zext(I32) if size == 2 else f.load(I32, pointer, align=2)
        return inside.select(x, 0)

    def corner(self, position: Value) -> Value:
        """The local number of the vertex at a position of the stream."""
        f = self.f
        wanted = self.index(position) if self.key.index_size else position
        if not self.hashed:
            return self.new_vertex(wanted)
        h = (wanted & (HASH - 1)).zext(I64)
        hit = f.load(I32, f.index(self.tag, I32, h)).eq(wanted) & f.load(I32, f.index(self.generation, I32, h)).eq(self.epoch.get())
        result = f.var(I32)
        with f.if_else(hit) as otherwise:
            result.set(f.load(I32, f.index(self.slot, I32, h)))
            otherwise()
            new = self.new_vertex(wanted)
            f.store(wanted, f.index(self.tag, I32, h))
            f.store(self.epoch.get(), f.index(self.generation, I32, h))
            f.store(new, f.index(self.slot, I32, h))
            result.set(new)
        return result.get()

    def new_vertex(self, wanted: Value) -> Value:
        f = self.f
        n = self.vertex_count.get()
        f.store(wanted, f.index(self.ids, I32, n.zext(I64)))
        f.store(self.instance_now, f.index(self.instances, I32, n.zext(I64)))
        self.vertex_count.set(n + 1)
        return n

    def assemble(self, step: Value) -> None:
        """Add the primitive of a step to the list."""
        topology = self.key.topology
        if topology == Topology.TRIANGLELIST:
            self.add([self.corner(step * 3 + k) for k in range(3)])
        elif topology == Topology.TRIANGLELIST_ADJ:
            self.add([self.corner(step * 6 + 2 * k) for k in range(3)])
        elif not self.cuts:
            scale = 1 if topology == Topology.TRIANGLESTRIP else 2
            odd = step & 1
            first = step * scale
            self.add([self.corner(first), self.corner(first + (odd + 1) * scale), self.corner(first + (2 - odd) * scale)])
        else:
            self.strip_step(step)

    def strip_step(self, position: Value) -> None:
        """An index of a strip: a cut begins a new one, else it may complete a triangle."""
        f = self.f
        scale = 1 if self.key.topology == Topology.TRIANGLESTRIP else 2
        is_cut = self.index(position).eq(0xFFFF if self.key.index_size == 2 else -1)
        with f.if_else(is_cut) as otherwise:
            self.run.set(position + 1)
            otherwise()
            length = position - self.run.get()
            # With adjacency a triangle needs six positions, and the next two more.
            needed = 2 if scale == 1 else 5
            ready = length >= needed
            if scale == 2:
                ready = ready & ((length - needed) & 1).eq(0)
            with f.if_(ready):
                n = (length - needed) if scale == 1 else (length - needed).shr(1)
                first = self.run.get() + n * scale
                odd = n & 1
                self.add([self.corner(first), self.corner(first + (odd + 1) * scale), self.corner(first + (2 - odd) * scale)])

    def add(self, corners: list[Value]) -> None:
        f = self.f
        n = self.list_count.get()
        at = n.zext(I64)
        number = self.number.get()
        for target, x in zip(self.lists, [*corners, corners[0], number], strict=True):
            f.store(x, f.index(target, I32, at))
        self.number.set(number + 1)
        self.list_count.set(n + 1)

    # -- a batch ------------------------------------------------------------------------------------------------------
    def process(self) -> None:
        """Shade the vertices, clip where needed, set up and bin."""
        f, key, lanes = self.f, self.key, self.lanes
        count = self.vertex_count.get()
        name = "process"
        if name not in self.m._names:
            self._write_process(name)
        with f.if_(self.list_count.get() > 0):
            f.call(name, VOID, [self.front, count, self.list_count.get()])
        self.vertex_count.set(0)
        self.list_count.set(0)
        self.epoch.set(self.epoch.get() + 1)
        assert lanes == key.lanes

    def _write_process(self, name: str) -> None:
        """``process(FRONT*, vertices, primitives)`` as a function of its own: it is called from two places."""
        outer = self.__dict__.copy()
        f = self.m.function(name, VOID, [PTR, I32, I32], private=True)
        self.enter(f)
        _, count, primitives = f.arguments
        self.tally("vertices_shaded", count)
        self.tally("primitives_in", primitives)
        f.call_pointer(self.get("vertex_function", PTR), VOID, [self.front, self.ids, self.instances, count, self.store])
        with f.if_(self.get("rasterize", I32).ne(0)):
            self.tally("clipper_in", primitives)
            self._write_setup("setup")
            some = f.var(self.ivec, 0)
            stride = (self.components * (self.lanes * 4)).zext(I64)
            block = f.var(PTR, self.store)
            with f.count(0, count, self.lanes) as first:
                code = f.load(self.ivec, block.get(), vertex.CODE * self.lanes * 4, align=4)
                code = ((first + f.vector(I32, range(self.lanes))) < count).select(code, 0)
                some.set(some.get() | code)
                block.set(f.offset(block.get(), stride))
            wanted = (
                f.call(f"llvm.vector.reduce.or.v{self.lanes}i32", I32, [some.get()]) & self.get("clip", I32) & vertex.NEEDS_CLIP
            )
            with f.if_else(wanted.eq(0)) as otherwise:
                f.call("setup", VOID, [self.front, primitives, *self.lists])
                otherwise()
                self.clip_list(count, primitives)
        f.ret()
        self.__dict__.update(outer)

    # -- clipping -----------------------------------------------------------------------------------------------------
    def load_component(self, v: Value, component: int | Value) -> Value:
        """A component of local vertex ``v`` (scalar)."""
        return self.f.load(I32, self.component_pointer(v, component))

    def component_pointer(self, v: Value, component: int | Value) -> Value:
        w = self.lanes
        at = (v.shr(w.bit_length() - 1) * (self.components * w)) + (v & (w - 1)) + component * w
        return self.f.index(self.store, I32, at.zext(I64))

    def clip_list(self, vertices: Value, primitives: Value) -> None:
        """Rewrite the list: clipped triangles become fans of new vertices, in place and in order."""
        f = self.f
        clip_mask = self.get("clip", I32)
        new_vertices, new_count = f.var(I32), f.var(I32, 0)
        base = (vertices + (self.lanes - 1)) & ~(self.lanes - 1)
        new_vertices.set(base)
        polygon = [f.array(F64, POLYGON * 3) for _ in range(2)]

        def flush() -> None:
            f.call("setup", VOID, [self.front, new_count.get(), *self.clipped])
            new_count.set(0)
            new_vertices.set(base)

        def emit(values: list[Value]) -> None:
            at = new_count.get().zext(I64)
            for target, x in zip(self.clipped, values, strict=True):
                f.store(x, f.index(target, I32, at))
            new_count.set(new_count.get() + 1)

        with f.count(0, primitives) as i:
            with f.if_((new_count.get() > LIST - POLYGON) | (new_vertices.get() - base > CLIP_VERTICES - 2 * POLYGON)):
                flush()
            members = [f.load(I32, f.index(source, I32, i.zext(I64))) for source in self.lists]
            codes = [self.load_component(v, vertex.CODE) for v in members[:3]]
            either = (codes[0] | codes[1] | codes[2]) & clip_mask
            reject = (codes[0] & codes[1] & codes[2] & clip_mask & vertex.REJECT).ne(0)
            bad = ((codes[0] | codes[1] | codes[2]) & vertex.NOT_A_NUMBER).ne(0)
            with f.if_else((either & vertex.NEEDS_CLIP).eq(0)) as otherwise:
                emit(members)
                otherwise()
                with f.if_((reject | bad).eq(0)):
                    self.clip_triangle(members, either, polygon, new_vertices, emit)
        flush()

    def clip_triangle(
        self, members: list[Value], planes: Value, polygon: list[Value], new_vertices: Variable, emit: Callable[[list[Value]], None]
    ) -> None:
        """Sutherland-Hodgman against the planes in ``planes``. The polygon's corners are weights of the triangle's, in f64."""
        f = self.f
        size = f.var(I32, 3)
        source, target = f.var(PTR, polygon[0]), f.var(PTR, polygon[1])
        for k in range(3):
            for c in range(3):
                f.store(f.value(1.0 if k == c else 0.0, F64), polygon[0], 8 * (3 * k + c))

        def weight(base: Value, k: Value, c: int) -> Value:
            return f.offset(f.index(base, I8, (k * 24).zext(I64)), 8 * c)

        corners = [
            [self.load_component(members[k], c).bits(F32).resize_float(F64) for c in range(vertex.CLIP_X, vertex.CLIP_W + 1)]
            for k in range(3)
        ]
        index = self.load_component(members[0], vertex.VIEWPORT)
        for bit, distance in self.plane_distances(index):
            with f.if_((planes & bit).ne(0) & (size.get() > 0)):
                d = [distance(corners[k], members[k]) for k in range(3)]

                def side(base: Value, k: Value, d: list[Value] = d) -> Value:
                    w = [f.load(F64, weight(base, k, c)) for c in range(3)]
                    return w[0] * d[0] + w[1] * d[1] + w[2] * d[2]

                kept = f.var(I32, 0)
                with f.count(0, size.get()) as corner:
                    following = (corner + 1).eq(size.get()).select(0, corner + 1)
                    s, t = source.get(), target.get()
                    d0, d1 = side(s, corner), side(s, following)
                    in0, in1 = d0 >= 0.0, d1 >= 0.0
                    with f.if_(in0):
                        f.copy(weight(t, kept.get(), 0), weight(s, corner, 0), 24)
                        kept.set(kept.get() + 1)
                    with f.if_(in0 ^ in1):
                        # From the inside to the outside, whichever way the edge runs: neighbours get the same vertex.
                        inner, outer = in0.select(corner, following), in0.select(following, corner)
                        di, do = in0.select(d0, d1), in0.select(d1, d0)
                        part = di / (di - do)
                        for c in range(3):
                            a, b = f.load(F64, weight(s, inner, c)), f.load(F64, weight(s, outer, c))
                            f.store(a + (b - a) * part, weight(t, kept.get(), c))
                        kept.set(kept.get() + 1)
                size.set(kept.get())
                old = source.get()
                source.set(target.get())
                target.set(old)
        with f.if_(size.get() >= 3):
            first = new_vertices.get()
            s = source.get()
            with f.count(0, size.get()) as number:
                w = [f.load(F64, weight(s, number, c)) for c in range(3)]
                position = [w[0] * corners[0][c] + w[1] * corners[1][c] + w[2] * corners[2][c] for c in range(4)]
                projected = vertex.project(f, self.front, position, index)
                for c, x in projected.items():
                    if c >= 0:
                        f.store(x.bits(I32), self.component_pointer(first + number, c))
                # Cut so close to the eye that nothing is left of w: such pieces are dropped.
                code = (position[3] > 0.0).select(0, f.value(vertex.NOT_A_NUMBER, I32))
                f.store(code, self.component_pointer(first + number, vertex.CODE))
                for c in (vertex.VIEWPORT, vertex.SLICE):
                    f.store(self.load_component(members[0], c), self.component_pointer(first + number, c))
                with f.count(FIRST_OUTPUT, self.components) as place:
                    own = [self.load_component(members[n], place).bits(F32).resize_float(F64) for n in range(3)]
                    value = (w[0] * own[0] + w[1] * own[1] + w[2] * own[2]).resize_float(F32)
                    f.store(value.bits(I32), self.component_pointer(first + number, place))
            new_vertices.set(first + size.get())
            with f.count(1, size.get() - 1) as number:
                emit([first, first + number, first + number + 1, members[3], members[4]])

    def plane_distances(self, viewport: Value | None) -> list[tuple[int, Distance]]:
        """(code bits, distance of a corner) of every clip plane."""
        f = self.f

        def field(name: str) -> Value:
            return vertex.viewport_field(f, self.front, name, viewport, F64)

        def limit(name: str, size: str, end: float) -> Value:
            """Normalised device coordinate at an end of the fixed-point range."""
            extent = field(size)
            extent = (extent > 0.0).select(extent, 1.0)
            return (2.0 * (end - field(name))) / extent

        low_x, high_x = limit("x", "width", -vertex.RANGE) - 1.0, limit("x", "width", vertex.RANGE) - 1.0
        low_y, high_y = 1.0 - limit("y", "height", vertex.RANGE), 1.0 - limit("y", "height", -vertex.RANGE)
        # A corner behind the eye has no place on the screen: cut at every side then.
        sides = vertex.GUARD_LEFT | vertex.GUARD_RIGHT | vertex.GUARD_BOTTOM | vertex.GUARD_TOP | vertex.BEHIND
        planes: list[tuple[int, Distance]] = [
            (vertex.BEHIND, lambda p, v: p[3] - 2.0**-100),
            (vertex.NEAR, lambda p, v: p[2]),
            (vertex.FAR, lambda p, v: p[3] - p[2]),
            (sides, lambda p, v: p[0] - low_x * p[3]),
            (sides, lambda p, v: high_x * p[3] - p[0]),
            (sides, lambda p, v: p[1] - low_y * p[3]),
            (sides, lambda p, v: high_y * p[3] - p[1]),
        ]

        clip_at = records.offset(records.FRONT, "clip_components")

        def user(number: int) -> Distance:
            def distance(p: list[Value], v: Value) -> Value:
                component = f.load(I32, self.front, clip_at + 4 * number)
                d = self.load_component(v, component).bits(F32).resize_float(F64)
                return d.ne(d).select(-1.0, d)

            return distance

        planes += [(vertex.USER << i, user(i)) for i in range(8)]
        return planes

    # -- setup --------------------------------------------------------------------------------------------------------
    def _write_setup(self, name: str) -> None:
        """``setup(FRONT*, count, corner lists…)``."""
        outer = self.__dict__.copy()
        f = self.m.function(name, VOID, [PTR, I32, PTR, PTR, PTR, PTR, PTR], private=True)
        self.enter(f)
        _, count, *lists = f.arguments
        with f.count(0, count, self.lanes) as first:
            self.setup_vector(first, count, lists)
        f.ret()
        self.__dict__.update(outer)

    def setup_vector(self, first: Value, count: Value, lists: list[Value]) -> None:
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

            self.bin(arena, pick(offsets), [pick(b) for b in boxes])

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

    # -- bins ---------------------------------------------------------------------------------------------------------
    def append(self, tile: Value, entry: Value) -> None:
        """Add an entry to a tile's bin."""
        f = self.f
        cursors, chunks = self.passed("cursors", PTR), self.passed("chunks", PTR)
        place = f.index(cursors, I32, tile.zext(I64))
        cursor = f.load(I32, place)
        f.store(entry, f.index(chunks, I32, cursor.zext(I64)))
        following = cursor + 1
        f.store(following, place)
        with f.if_((following & (CHUNK - 1)).eq(CHUNK - 1)):
            at = records.offset(records.PASS, "chunk_next")
            new = f.load(I32, self.pass_, at)
            f.store(new + 1, self.pass_, at)
            f.store(new, f.index(chunks, I32, following.zext(I64)))
            f.store(new * CHUNK, place)

    def bin(self, arena: Value, offset: Value, box: list[Value]) -> None:
        """Put one triangle into the bins of the tiles it may touch; bit 31 of an entry: covers the tile."""
        f = self.f
        left, top, right, bottom = box
        tiles_x = self.passed("tiles_x", I32)
        x0, y0, x1, y1 = left >> 6, top >> 6, right >> 6, bottom >> 6
        entry = offset.shr(4)
        with f.if_else(x0.eq(x1) & y0.eq(y1)) as otherwise:
            self.append(y0 * tiles_x + x0, entry)
            otherwise()
            triangle = f.offset(arena, offset.zext(I64))
            edges = []
            for i in range(3):
                a = f.load(I32, triangle, 4 * (TRIANGLE["a"] + i)).sext(I64)
                b = f.load(I32, triangle, 4 * (TRIANGLE["b"] + i)).sext(I64)
                c = f.load(I64, triangle, 4 * (TRIANGLE["c"] + 2 * i), align=4)
                span = TILE * 256
                up = (f.max(a, 0) + f.max(b, 0)) * span
                down = (f.min(a, 0) + f.min(b, 0)) * span
                edges.append((a * span, b * span, c + up, up - down))
            with f.count(y0, y1 + 1) as ty:
                row = [b * ty.sext(I64) + c for _, b, c, _ in edges]
                full_rows = (ty * TILE >= top) & (ty * TILE + (TILE - 1) <= bottom)
                with f.count(x0, x1 + 1) as tx:
                    best = [r + a * tx.sext(I64) for (a, _, _, _), r in zip(edges, row, strict=True)]
                    with f.if_((best[0] | best[1] | best[2]) >= 0):
                        worst = [b - e[3] for b, e in zip(best, edges, strict=True)]
                        full = full_rows & (tx * TILE >= left) & (tx * TILE + (TILE - 1) <= right)
                        full = full & ((worst[0] | worst[1] | worst[2]) >= 0)
                        self.append(ty * tiles_x + tx, entry | full.select(-(1 << 31), f.value(0, I32)))
