"""Asynchronous queries: created, issued and answered through the command stream.

An answer overwrites the command buffer when the call returns; the runtime sends empty buffers until all has come. Models "Handling
Asynchronous Queries".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from umd.core import settle
from umd.dp2.errors import D3DERR_NOTAVAILABLE, CommandError
from umd.dp2.surfaces import handles
from umd.errors import WasStillDrawing
from wddm.ddi.d3d10umddi import D3D10DDI_QUERY, D3D10DDIARG_CREATEQUERY
from wddm.ddi.d3dhal import D3DHAL_DP2OPERATION, D3DISSUE, D3DQUERYTYPE

if TYPE_CHECKING:
    from umd.device import Device

MAX_QUERIES: Final = 4096
_HEADER: Final = struct.Struct("<BBHI")
_ENTRY: Final = struct.Struct("<II")
#: D3DDEVINFO_VCACHE: no post-transform cache order is better than another, so that long strips are best.
_VCACHE: Final = struct.pack("<4sIII", b"CACH", 0, 0, 0)
_DRIVER: Final = {D3DQUERYTYPE.EVENT: D3D10DDI_QUERY.EVENT, D3DQUERYTYPE.OCCLUSION: D3D10DDI_QUERY.OCCLUSION}


@dataclass(slots=True)
class _Query:
    type: D3DQUERYTYPE
    h_query: int = 0
    begun: bool = False
    samples: int = 1


@dataclass(slots=True)
class Queries:
    """The queries of one context."""

    device: Device
    _queries: dict[int, _Query] = field(default_factory=dict)
    _issued: list[int] = field(default_factory=list)  #: answers to come, in order of their END

    @property
    def waiting(self) -> bool:
        """Whether answers are to come."""
        return bool(self._issued)

    def create(self, id: int, type: int) -> None:
        """CREATEQUERY. Raises CommandError."""
        if type not in D3DQUERYTYPE._value2member_map_:
            raise CommandError.params(f"query type {type}")
        if id in self._queries:
            raise CommandError.params(f"query {id} exists already")
        if len(self._queries) >= MAX_QUERIES:
            raise CommandError.params(f"{MAX_QUERIES} queries exist already")
        query = _Query(D3DQUERYTYPE(type))
        if query.type in _DRIVER:
            query.h_query = next(handles)
            self.device.queries.CreateQuery(0, D3D10DDIARG_CREATEQUERY(int(_DRIVER[query.type])), query.h_query, 0)
        elif query.type is not D3DQUERYTYPE.VCACHE:
            raise CommandError(D3DERR_NOTAVAILABLE, f"queries of type {query.type.name}")
        self._queries[id] = query

    def _get(self, id: int) -> _Query:
        query = self._queries.get(id)
        if query is None:
            raise CommandError.params(f"query {id} does not exist")
        return query

    def delete(self, id: int) -> None:
        """DELETEQUERY. Raises CommandError."""
        query = self._get(id)
        if query.h_query:
            self.device.queries.DestroyQuery(0, query.h_query)
        del self._queries[id]
        self._issued = [i for i in self._issued if i != id]

    async def issue(self, id: int, flags: int, samples: int) -> None:
        """ISSUEQUERY; ``samples`` of a pixel of the target. Raises CommandError."""
        query = self._get(id)
        functions = self.device.queries
        if flags & D3DISSUE.BEGIN and query.type is D3DQUERYTYPE.OCCLUSION:
            if query.begun:
                await settle(functions.QueryEnd(0, query.h_query))
            await settle(functions.QueryBegin(0, query.h_query))
            query.begun = True
            self._issued = [i for i in self._issued if i != id]
        if flags & D3DISSUE.END:
            if query.type is D3DQUERYTYPE.OCCLUSION and not query.begun:
                raise CommandError.call(f"query {id} ends without having begun")
            if query.h_query:
                await settle(functions.QueryEnd(0, query.h_query))
            query.begun, query.samples = False, samples
            self._issued = [i for i in self._issued if i != id] + [id]

    async def respond(self, buffer: memoryview) -> int:
        """Write what answers there are over ``buffer``; returns their bytes, 0 = none. Answers that do not fit come next time."""
        ready: list[tuple[int, bytes]] = []
        for id in self._issued:
            data = await self._answer(self._queries[id])
            if data is not None:
                ready.append((id, data))
        if not ready:
            return 0
        at, told = _HEADER.size, 0
        for left, (id, data) in zip(range(len(ready) - 1, -1, -1), ready, strict=True):
            end = at + _ENTRY.size + len(data)
            if end > len(buffer) - (_HEADER.size if left else 0):
                break  # behind all but the last there must be room to say that more is to come
            _ENTRY.pack_into(buffer, at, id, len(data))
            buffer[at + _ENTRY.size : end] = data
            at, told = end, told + 1
        more = told < len(ready)
        if (at if told else 0) + (_HEADER.size if more else 0) > len(buffer):
            return 0
        answered = {id for id, _ in ready[:told]}
        self._issued = [id for id in self._issued if id not in answered]
        if told:
            _HEADER.pack_into(buffer, 0, D3DHAL_DP2OPERATION.RESPONSEQUERY, 0, told, at)
        else:
            at = 0
        if more:
            _HEADER.pack_into(buffer, at, D3DHAL_DP2OPERATION.RESPONSECONTINUE, 0, 0, _HEADER.size)
            at += _HEADER.size
        return at

    async def _answer(self, query: _Query) -> bytes | None:
        """The data of an answer, None while the GPU is at it."""
        if query.type is D3DQUERYTYPE.VCACHE:
            return _VCACHE
        data = bytearray(8 if query.type is D3DQUERYTYPE.OCCLUSION else 4)
        try:
            await settle(self.device.queries.QueryGetData(0, query.h_query, data, len(data), 0))
        except WasStillDrawing:
            return None
        if query.type is D3DQUERYTYPE.EVENT:
            return bytes(data)
        # The hardware counts samples, in 64 bits; told are pixels, in 32.
        pixels = -(-int(struct.unpack("<Q", data)[0]) // query.samples)
        return struct.pack("<I", min(pixels, 0xFFFFFFFF))

    def clear(self) -> None:
        """The context ends."""
        for id in list(self._queries):
            self.delete(id)
