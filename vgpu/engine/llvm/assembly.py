"""The main function of a front end: draw by draw, primitives are assembled from the vertex or index stream into batches.

Vertices are shared by index within a batch and an instance. A full batch goes to the ``process`` function, which shades it, sets it
up and bins it.
"""

from __future__ import annotations

from typing import Final

from wddm.hw.packets import STRIPS

from . import primitives
from .builder import I16, I32, I64, PTR, VOID, Module, Value
from .float_mode import restore_float_mode, set_float_mode
from .front_function import BATCH, HASH, LIST_STRIDE, FrontFunction, FrontKey

STEPS: Final = 1 << 18  #: primitives (or strip indices) until the caller may be preempted


class Assembly(FrontFunction):
    """``front(FRONT*)``."""

    def __init__(self, module: Module, key: FrontKey) -> None:
        super().__init__(module, key.lanes, "front", I32, private=False)
        self.key = key
        found = primitives.shape(key.topology)
        assert found is not None
        self.size, self.step = found
        self.strip = key.topology in STRIPS
        self.cuts = self.strip and key.index_size != 0
        self.hashed = self.strip or key.index_size != 0

    def write(self) -> None:
        """Its body."""
        f = self.f
        saved = set_float_mode(f)
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
        batch = self.get("batch", I32) if self.key.corners else f.value(BATCH, I32)
        with f.loop() as instances:
            instances.break_if(instance.get().uge(self.get("instances", I32)))
            self.instance_now = instance.get()
            self.epoch.set(self.epoch.get() + 1)
            if self.strip and not self.cuts:
                with f.if_(step.get().eq(0) & steps.ne(0)):
                    self.begin_strip()
            with f.loop() as loop:
                now = step.get()
                loop.break_if(now.uge(steps))
                self.assemble(now)
                step.set(now + 1)
                left = budget.get() - 1
                budget.set(left)
                with f.if_((self.list_count.get() >= batch) | (left <= 0)):
                    left = left - self.process()
                    budget.set(left)
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
        """Add the primitive of a step to the list. With cuts a step is an index: a cut begins a new strip, else it may complete a
        primitive.
        """
        f = self.f
        if not self.cuts:
            self.primitive(f.value(0, I32), step, (step + 1).eq(self.get("primitives", I32)))
            return
        cut = 0xFFFF if self.key.index_size == 2 else -1
        with f.if_else(self.index(step).eq(cut)) as otherwise:
            self.run.set(step + 1)
            otherwise()
            beyond = step - self.run.get() - (self.size - 1)
            with f.if_((beyond >= 0) & (beyond & (self.step - 1)).eq(0)):
                # The next primitive wants as many more indices as a step has, none of them a cut.
                last = (step + self.step).uge(self.count)
                for i in range(1, self.step + 1) if self.key.corners else ():
                    last = last | self.index(step + i).eq(cut)
                number = beyond >> (self.step.bit_length() - 1)
                with f.if_(number.eq(0)):
                    self.begin_strip()
                self.primitive(self.run.get(), number, last)

    def begin_strip(self) -> None:
        """A strip has its first primitive: it reads more vertices than the others."""
        self.tally("ia_vertices", self.f.value(self.size - self.step, I32))

    def primitive(self, start: Value, number: Value, last: Value) -> None:
        """Add primitive ``number`` of what begins at a position; ``last``: of the strip."""
        topology = self.key.topology
        positions = [start + x for x in primitives.positions(topology, number, last)]
        if self.key.corners:
            self.add_whole(positions)
        else:
            self.add([self.corner(x) for x in primitives.main(topology, positions)])

    def add_whole(self, positions: list[Value]) -> None:
        """Add a whole primitive by the positions of its vertices."""
        f = self.f
        if self.key.corners < len(positions):
            positions = primitives.main(self.key.topology, positions)
        n = self.list_count.get()
        at = n.zext(I64)
        for k, position in enumerate(positions):
            f.store(self.corner(position), f.index(f.offset(self.area["assembled_corners"], LIST_STRIDE * k), I32, at))
        f.store(self.number.get(), f.index(self.area["assembled_numbers"], I32, at))
        self.number.set(self.number.get() + 1)
        self.list_count.set(n + 1)

    def add(self, corners: list[Value]) -> None:
        f = self.f
        n = self.list_count.get()
        at = n.zext(I64)
        number = self.number.get()
        for target, x in zip([*self.lists[: len(corners)], *self.lists[3:]], [*corners, corners[0], number], strict=True):
            f.store(x, f.index(target, I32, at))
        self.number.set(number + 1)
        self.list_count.set(n + 1)

    def process(self) -> Value:
        """Hand the batch over; returns how much stages in between made of it."""
        f = self.f
        count = self.vertex_count.get()
        before = self.made()
        with f.if_(self.list_count.get() > 0):
            self.tally("ia_vertices", self.list_count.get() * self.step)
            f.call("process", VOID, [self.front, count, self.list_count.get()])
        self.vertex_count.set(0)
        self.list_count.set(0)
        self.epoch.set(self.epoch.get() + 1)
        return self.made() - before

    def made(self) -> Value:
        """What other stages did so far: invocations, and primitives that they made."""
        f = self.f
        total = f.value(0, I64)
        if self.key.corners:
            for name in ("ds_invocations", "gs_invocations", "gs_primitives", "clipper_invocations"):
                total = total + self.live(name, I64)
        return total.trunc(I32)
