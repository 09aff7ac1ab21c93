"""The front end of a draw: vertices in batches, primitive assembly, clipping, triangle setup and binning.

``front(FRONT*)`` returns 0 when the draw is done, 1 when the arena is nearly full or enough was done for now (the caller
rasterizes and calls again). It is a module of these functions: :class:`~vgpu.engine.llvm.assembly.Assembly` collects a batch,
:class:`_Process` shades it, :class:`_Sink` clips it, a :class:`~vgpu.engine.llvm.setup.Setup` makes records and bins them.
With stages in between (hull, domain, geometry), the sink is a module of its own that the last of them calls.
"""

from __future__ import annotations

from . import vertex
from .assembly import Assembly
from .builder import I32, I64, PTR, VOID, Module
from .clipper import Clipper
from .front_function import FrontFunction, FrontKey, Primitive, clip_components, record_bytes, scratch_bytes
from .shapes import SETUPS


def compile_front(key: FrontKey) -> str:
    """The IR of ``front``."""
    m = Module()
    Assembly(m, key).write()
    _Process(m, key).write()
    if not key.corners:
        _Sink(m, key.lanes, key.primitive).write()
        SETUPS[key.primitive](m, key.lanes).write()
    return str(m)


def compile_sink(lanes: int, primitive: Primitive) -> str:
    """The IR of ``sink``."""
    m = Module()
    _Sink(m, lanes, primitive, private=False).write()
    SETUPS[primitive](m, lanes).write()
    return str(m)


class _Process(FrontFunction):
    """``process(FRONT*, vertices, primitives)``: shade the vertices of a batch and hand it on."""

    def __init__(self, module: Module, key: FrontKey) -> None:
        super().__init__(module, key.lanes, "process", VOID, [I32, I32])
        self.key = key

    def write(self) -> None:
        """Its body."""
        f = self.f
        count, primitives = self.arguments
        self.tally("vs_invocations", count)
        self.tally("ia_primitives", primitives)
        store = self.area["assembled_store"] if self.key.corners else self.store
        f.call_pointer(self.get("vertex_function", PTR), VOID, [self.front, self.ids, self.instances, count, store])
        following, output = self.get("next_function", PTR), self.get("stream_output_function", PTR)

        def stream_out() -> None:
            with f.if_(output.ne(0)):
                f.call_pointer(output, VOID, [self.front, f.value(0, I32), primitives])

        if self.key.corners:
            with f.if_else(following.ne(0)) as otherwise:
                f.call_pointer(following, VOID, [self.front, count, primitives])
                otherwise()
                stream_out()
        else:
            stream_out()
            with f.if_(self.get("rasterize", I32).ne(0)):
                f.call("sink", VOID, [self.front, count, primitives])
        f.ret()


class _Sink(FrontFunction):
    """``sink(FRONT*, vertices, primitives)``: clip where needed, set up and bin."""

    def __init__(self, module: Module, lanes: int, primitive: Primitive, *, private: bool = True) -> None:
        super().__init__(module, lanes, "sink", VOID, [I32, I32], private=private)
        self.primitive = primitive

    def write(self) -> None:
        """Its body."""
        f = self.f
        count, primitives = self.arguments
        self.tally("clipper_invocations", primitives)
        some = f.var(self.ivec, 0)
        stride = (self.components * (self.lanes * 4)).zext(I64)
        block = f.var(PTR, self.store)
        with f.count(0, count, self.lanes) as first:
            code = f.load(self.ivec, block.get(), vertex.CODE * self.lanes * 4, align=4)
            code = ((first + f.vector(I32, range(self.lanes))) < count).select(code, 0)
            some.set(some.get() | code)
            block.set(f.offset(block.get(), stride))
        wanted = f.call(f"llvm.vector.reduce.or.v{self.lanes}i32", I32, [some.get()]) & self.get("clip", I32) & vertex.NEEDS_CLIP
        wanted = wanted | self.get("many_viewports", I32)
        with f.if_else(wanted.eq(0)) as otherwise:
            f.call("setup", VOID, [self.front, primitives, *self.lists])
            otherwise()
            Clipper(self, self.primitive).run(count, primitives)
        f.ret()


__all__ = ["SETUPS", "FrontKey", "Primitive", "clip_components", "compile_front", "compile_sink", "record_bytes", "scratch_bytes"]
