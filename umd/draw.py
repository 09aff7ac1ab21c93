"""Draws and dispatches: the packet of the work itself, behind whatever state it needs."""

from __future__ import annotations

from functools import lru_cache

from umd.command_buffer import PACKET_STRUCT, packet
from umd.core import Bind, Core, Pending, key
from umd.emit import slot_id
from umd.errors import DeviceError
from umd.placement import place
from umd.resource import Resource, ResourceFunctions
from wddm.hw.packets import Op, Stage

_PACK = PACKET_STRUCT.pack
_DRAW, _DRAW_INDEXED, _DISPATCH = int(Op.DRAW), int(Op.DRAW_INDEXED), int(Op.DISPATCH)
_COMPUTE_SHADER = key(Bind.SHADER, Stage.COMPUTE)
#: Bytes of arguments that indirect work reads.
_ARGUMENT_BYTES = {Op.DRAW_INDIRECT: 16, Op.DRAW_INDEXED_INDIRECT: 20, Op.DISPATCH_INDIRECT: 12}


#: Few draws differ in their arguments from all of lately.
_draws = lru_cache(maxsize=1024)


@_draws
def _draw(count: int, start: int) -> bytes:
    return _PACK(_DRAW, 0, 0, 0, 0, 0, 0, count, 1, start, 0, 0, 0, 0, 0)


@_draws
def _draw_indexed(count: int, start: int, base: int) -> bytes:
    return _PACK(_DRAW_INDEXED, 0, 0, 0, 0, 0, 0, count, 1, start, base & 0xFFFFFFFF, 0, 0, 0, 0)


class DrawFunctions:
    """Entries that draw and dispatch. Work whose stages do not fit together does nothing."""

    def __init__(self, core: Core, resources: ResourceFunctions) -> None:
        self.core = core
        self.resources = resources
        self._work = core.work

    def Draw(self, hDevice: int, VertexCount: int, StartVertexLocation: int) -> Pending:
        if not self.core.drawable:
            return None
        return self._work(_draw(VertexCount, StartVertexLocation))

    def DrawIndexed(self, hDevice: int, IndexCount: int, StartIndexLocation: int, BaseVertexLocation: int) -> Pending:
        if not self.core.drawable:
            return None
        return self._work(_draw_indexed(IndexCount, StartIndexLocation, BaseVertexLocation))

    def DrawInstanced(
        self,
        hDevice: int,
        VertexCountPerInstance: int,
        InstanceCount: int,
        StartVertexLocation: int,
        StartInstanceLocation: int,
    ) -> Pending:
        if not self.core.drawable:
            return None
        data = (VertexCountPerInstance, InstanceCount, StartVertexLocation, StartInstanceLocation)
        return self._work(_PACK(_DRAW, 0, 0, 0, 0, 0, 0, *data, 0, 0, 0, 0))

    def DrawIndexedInstanced(
        self,
        hDevice: int,
        IndexCountPerInstance: int,
        InstanceCount: int,
        StartIndexLocation: int,
        BaseVertexLocation: int,
        StartInstanceLocation: int,
    ) -> Pending:
        if not self.core.drawable:
            return None
        base = BaseVertexLocation & 0xFFFFFFFF
        data = (IndexCountPerInstance, InstanceCount, StartIndexLocation, base, StartInstanceLocation)
        return self._work(_PACK(_DRAW_INDEXED, 0, 0, 0, 0, 0, 0, *data, 0, 0, 0))

    def DrawAuto(self, hDevice: int) -> Pending:
        bound = self.core.slots.get(key(Bind.VERTEX_BUFFER))
        if not self.core.drawable or bound is None or bound[0].fill_counter is None:
            return None  # nothing was streamed into what is bound: no vertices
        _, stride, offset = bound
        if not stride:
            return None
        counter = bound[0].fill_counter
        data = packet(Op.DRAW_AUTO, extent=4, arg=offset)
        core = self.core
        return core.perform(
            lambda: core.batch.add_at(data, slot_id(Op.DRAW_AUTO, 0), counter.allocation, counter.offset), state=True
        )

    def _indirect(self, op: Op, h: int, offset: int) -> Pending:
        r: Resource = self.resources.get(h)
        if not (self.core.drawable if op is not Op.DISPATCH_INDIRECT else _COMPUTE_SHADER in self.core.slots):
            return None
        size = _ARGUMENT_BYTES[op]
        if offset % 4 or offset + size > r.size:
            raise DeviceError.invalid(f"{op.name} with arguments at byte {offset} of a buffer of {r.size}")
        core = self.core
        data = packet(op, extent=size)
        return core.perform(
            lambda: core.batch.add_at(data, slot_id(op, 0), place(core, r), r.offset + offset), state=True
        )

    def DrawInstancedIndirect(self, hDevice: int, hBuffer: int, Offset: int) -> Pending:
        return self._indirect(Op.DRAW_INDIRECT, hBuffer, Offset)

    def DrawIndexedInstancedIndirect(self, hDevice: int, hBuffer: int, Offset: int) -> Pending:
        return self._indirect(Op.DRAW_INDEXED_INDIRECT, hBuffer, Offset)

    def Dispatch(self, hDevice: int, X: int, Y: int, Z: int) -> Pending:
        if _COMPUTE_SHADER not in self.core.slots:
            return None
        return self._work(_PACK(_DISPATCH, 0, 0, 0, 0, 0, 0, X, Y, Z, 0, 0, 0, 0, 0))

    def DispatchIndirect(self, hDevice: int, hBuffer: int, Offset: int) -> Pending:
        return self._indirect(Op.DISPATCH_INDIRECT, hBuffer, Offset)
