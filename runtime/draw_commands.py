"""Commands that make work: draws, dispatches, queries; and how stages link, looked at when they change."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Final

from wddm.client.enums import BindFlag, ResourceMiscFlag, ShaderStage

from .commands import Call, CommandGroup, Pending, sequence
from .errors import invalid_arg, require
from .queries import Query
from .resources import Buffer
from .shaders import link_faults

MAX_DISPATCH: Final = 65535
_STREAM_OUTPUT: Final = int(BindFlag.STREAM_OUTPUT)
_DRAWINDIRECT_ARGS: Final = int(ResourceMiscFlag.DRAWINDIRECT_ARGS)
_MAX_CHECKED: Final = 4096



class DrawCommands(CommandGroup):
    """Draws, dispatches, queries."""

    _checked: set[tuple[int, ...]]  #: combinations of stages whose linkage was told

    # ----- draws -----------------------------------------------------------------------------------------------------------

    def _ready(self) -> bool:
        """Whether the pipeline can draw; checks how its stages link whenever they have changed."""
        if self._unchecked:
            self._unchecked = False
            self._check_pipeline()
        return self._drawable

    def _check_pipeline(self) -> None:
        bound = self.bound
        vs, hs, ds, gs, ps = bound.shaders[:5]
        key = tuple(s.handle if s is not None else 0 for s in (*bound.shaders[:5], bound.layout))
        self._drawable = vs is not None and (hs is None) == (ds is None)
        if key in self._checked or (vs is None and key in self._checked):
            return
        if len(self._checked) > _MAX_CHECKED:
            self._checked.clear()
        self._checked.add(key)
        if vs is None:
            self.warn("draw", "no vertex shader is bound: nothing is drawn")
            return
        if (hs is None) != (ds is None):
            self.warn("draw", "a hull shader needs a domain shader and the other way round: nothing is drawn")
        faults = []
        if bound.layout is not None and bound.layout.inputs.elements != vs.inputs.elements:
            faults += link_faults(bound.layout.inputs, vs.inputs, "input layout to vertex shader")
        chain = [s for s in (vs, hs, ds, gs, ps) if s is not None]
        for before, after in pairwise(chain):
            if before is hs:
                continue  # the domain shader's inputs are control points and patch constants
            what = f"{before.stage.name.lower()} to {after.stage.name.lower()} shader"
            faults += link_faults(before.outputs, after.inputs, what)
        for fault in faults:
            self.warn("draw", fault)

    def draw(self, count: int, start: int) -> Pending:
        if self._unchecked or not self._drawable:
            if not self._ready():
                return None
        return self._ddi.pfnDraw(count, start)  # type: ignore[no-any-return]

    def draw_indexed(self, count: int, start: int, base: int) -> Pending:
        if self._unchecked or not self._drawable:
            if not self._ready():
                return None
        return self._ddi.pfnDrawIndexed(count, start, base)  # type: ignore[no-any-return]

    def draw_instanced(self, count: int, instances: int, start: int, first: int) -> Pending:
        if not self._ready():
            return None
        return self._ddi.pfnDrawInstanced(count, instances, start, first)  # type: ignore[no-any-return]

    def draw_indexed_instanced(self, count: int, instances: int, start: int, base: int, first: int) -> Pending:
        if not self._ready():
            return None
        return self._ddi.pfnDrawIndexedInstanced(count, instances, start, base, first)  # type: ignore[no-any-return]

    def draw_auto(self) -> Pending:
        buffer = self.bound.vertex_buffers[0]
        if buffer is None or not buffer.bind_flags & _STREAM_OUTPUT:
            raise invalid_arg("vertex buffer 0: draw_auto needs a buffer there that was created with STREAM_OUTPUT")
        if not self._ready():
            return None
        return self._ddi.pfnDrawAuto()  # type: ignore[no-any-return]

    def _arguments(self, id: int, offset: int, size: int) -> Buffer:
        buffer: Buffer = self.device.get(id, Buffer, "buffer")
        require(bool(buffer.misc_flags & _DRAWINDIRECT_ARGS), "buffer: it was not created with DRAWINDIRECT_ARGS")
        if offset % 4 or offset + size > buffer.byte_width:
            raise invalid_arg(f"aligned_byte_offset: {offset} is no multiple of 4, or {size} bytes leave {buffer.byte_width}")
        return buffer

    def draw_instanced_indirect(self, id: int, offset: int) -> Pending:
        buffer = self._arguments(id, offset, 16)
        if not self._ready():
            return None
        return self._ddi.pfnDrawInstancedIndirect(buffer.handle, offset)  # type: ignore[no-any-return]

    def draw_indexed_instanced_indirect(self, id: int, offset: int) -> Pending:
        buffer = self._arguments(id, offset, 20)
        if not self._ready():
            return None
        return self._ddi.pfnDrawIndexedInstancedIndirect(buffer.handle, offset)  # type: ignore[no-any-return]

    def dispatch(self, x: int, y: int, z: int) -> Pending:
        if x > MAX_DISPATCH or y > MAX_DISPATCH or z > MAX_DISPATCH:
            raise invalid_arg(f"thread_group_count: {x} x {y} x {z}, each is at most {MAX_DISPATCH}")
        if self.bound.shaders[ShaderStage.COMPUTE] is None:
            raise invalid_arg("compute shader: none is bound")
        if not (x and y and z):
            return None
        return self._ddi.pfnDispatch(x, y, z)  # type: ignore[no-any-return]

    def dispatch_indirect(self, id: int, offset: int) -> Pending:
        buffer = self._arguments(id, offset, 12)
        if self.bound.shaders[ShaderStage.COMPUTE] is None:
            raise invalid_arg("compute shader: none is bound")
        return self._ddi.pfnDispatchIndirect(buffer.handle, offset)  # type: ignore[no-any-return]

    # ----- queries ---------------------------------------------------------------------------------------------------------

    def begin(self, id: int) -> Pending:
        query: Query = self.device.get(id, Query, "query")
        require(query.has_begin, f"query: {query.type.name} has no begin")
        calls: list[Call] = [partial(self._ddi.pfnQueryBegin, query.handle)]
        if query.begun:  # drivers see begin and end in turn
            self.warn("begin", "the query was begun already and starts anew")
            calls.insert(0, partial(self._ddi.pfnQueryEnd, query.handle))
        query.begun, query.issued = True, False
        return sequence(calls)

    def end(self, id: int) -> Pending:
        query: Query = self.device.get(id, Query, "query")
        if query.has_begin:
            require(query.begun, "query: it was not begun")
        query.begun, query.issued = False, True
        return self._ddi.pfnQueryEnd(query.handle)  # type: ignore[no-any-return]
