"""Queries and predicates: begin, end, results.

Models ID3D11Query, ID3D11Predicate, QueryBegin/QueryEnd/QueryGetData. A query is idle, begun, or issued; a result is asked for with
QueryGetData, which says WASSTILLDRAWING until the GPU is done.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from wddm.client.enums import QueryMiscFlag, QueryType
from wddm.ddi import d3d10umddi as dd
from wddm.ddi.status import HRESULT
from wddm.wire import api

from .errors import require
from .objects import DeviceObject, Kind

if TYPE_CHECKING:
    from .device import Device

_Q: Final = dd.D3D10DDI_QUERY
#: DDI number and result layout (struct format of the driver's data) of each API query.
_TABLE: Final[dict[QueryType, tuple[dd.D3D10DDI_QUERY, str]]] = {
    QueryType.EVENT: (_Q.EVENT, "<i"),
    QueryType.OCCLUSION: (_Q.OCCLUSION, "<Q"),
    QueryType.TIMESTAMP: (_Q.TIMESTAMP, "<Q"),
    QueryType.TIMESTAMP_DISJOINT: (_Q.TIMESTAMPDISJOINT, "<Qi4x"),
    QueryType.PIPELINE_STATISTICS: (_Q.D3D11_PIPELINESTATS, "<11Q"),
    QueryType.OCCLUSION_PREDICATE: (_Q.OCCLUSIONPREDICATE, "<i"),
    QueryType.SO_STATISTICS: (_Q.STREAMOUTPUTSTATS, "<2Q"),
    QueryType.SO_OVERFLOW_PREDICATE: (_Q.STREAMOVERFLOWPREDICATE, "<i"),
    QueryType.SO_STATISTICS_STREAM0: (_Q.STREAMOUTPUTSTATS_STREAM0, "<2Q"),
    QueryType.SO_OVERFLOW_PREDICATE_STREAM0: (_Q.STREAMOVERFLOWPREDICATE_STREAM0, "<i"),
    QueryType.SO_STATISTICS_STREAM1: (_Q.STREAMOUTPUTSTATS_STREAM1, "<2Q"),
    QueryType.SO_OVERFLOW_PREDICATE_STREAM1: (_Q.STREAMOVERFLOWPREDICATE_STREAM1, "<i"),
    QueryType.SO_STATISTICS_STREAM2: (_Q.STREAMOUTPUTSTATS_STREAM2, "<2Q"),
    QueryType.SO_OVERFLOW_PREDICATE_STREAM2: (_Q.STREAMOVERFLOWPREDICATE_STREAM2, "<i"),
    QueryType.SO_STATISTICS_STREAM3: (_Q.STREAMOUTPUTSTATS_STREAM3, "<2Q"),
    QueryType.SO_OVERFLOW_PREDICATE_STREAM3: (_Q.STREAMOVERFLOWPREDICATE_STREAM3, "<i"),
}
_NO_BEGIN: Final = frozenset({QueryType.EVENT, QueryType.TIMESTAMP})


class Query(DeviceObject):
    """ID3D11Query."""

    __slots__ = ("begun", "issued", "layout", "type")
    kind = Kind.QUERY

    def __init__(self, device: Device, type: QueryType) -> None:
        super().__init__(device)
        self.type = type
        self.layout = struct.Struct(_TABLE[type][1])
        self.begun = False
        self.issued = False

    @property
    def has_begin(self) -> bool:
        """Whether the query counts between begin and end."""
        return self.type not in _NO_BEGIN

    @property
    def is_predicate(self) -> bool:
        """Whether it can be a predicate."""
        return "PREDICATE" in self.type.name

    def destroy(self) -> None:
        """DestroyQuery; one that still counts is ended first."""
        if self.begun:
            self.device.tell("pfnQueryEnd", self.handle)
        self.device.tell("pfnDestroyQuery", self.handle)


async def create_query(device: Device, m: api.CreateQuery) -> Query:
    """ID3D11Device::CreateQuery. Raises ApiError."""
    require(m.query in QueryType._value2member_map_, f"query: {m.query} is no D3D11_QUERY")
    require(not m.misc_flags & ~int(QueryMiscFlag.PREDICATEHINT), f"misc_flags: {m.misc_flags:#x} has unknown bits")
    query = Query(device, QueryType(m.query))
    require(not m.misc_flags or query.is_predicate, "misc_flags: PREDICATEHINT is for predicates")
    argument = dd.D3D10DDIARG_CREATEQUERY(int(_TABLE[query.type][0]), dd.D3D10DDI_QUERY_MISCFLAG(m.misc_flags))
    device.ddi.pfnCalcPrivateQuerySize(argument)
    await device.create("pfnCreateQuery", argument, query.handle, query.handle)
    return query


async def get_data(query: Query, flags: int) -> api.QueryData:
    """QueryGetData. Raises ApiError."""
    device = query.device
    data = bytearray(query.layout.size)
    code = await device.invoke(
        "pfnQueryGetData", query.handle, data, len(data), dd.D3D10_DDI_GET_DATA_FLAG(flags & 1)
    )
    if code == HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING:
        return api.QueryData(ready=False, values=[])
    device.raise_error(code, "GetData")
    return api.QueryData(ready=True, values=[v & 0xFFFF_FFFF_FFFF_FFFF for v in query.layout.unpack(data)])
