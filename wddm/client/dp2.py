"""Direct3D of DirectX 6 to 9 as a client sees it: a context that takes whole DrawPrimitives2 command buffers.

A context is made on a device. Surfaces are the device's resources under small numbers of the client's choice; what is drawn into a
swap chain's buffer is presented as ever. Buffers are composed with :class:`~wddm.client.dp2_commands.Dp2CommandBuffer`, or come
from anywhere else.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from wddm.ddi.d3dhal import D3DHAL_DP2OPERATION, fvf_size
from wddm.ddi.status import HRESULT
from wddm.wire import api
from wddm.wire.message import Nothing

from .dp2_commands import Dp2CommandBuffer
from .errors import D3DError
from .resources import DeviceChild, Resource

if TYPE_CHECKING:
    from .device_base import Data, DeviceBase

_HEADER: Final = struct.Struct("<BBHI")
_ENTRY: Final = struct.Struct("<II")
MAX_POLLS: Final = 1000  #: empty command buffers while answers are awaited


class Dp2Error(D3DError):
    """A command buffer failed at byte ``error_offset``, whose command is named; everything before it was carried out."""

    def __init__(self, code: int, name: str, sentence: str, error_offset: int) -> None:
        super().__init__(code, name, sentence)
        self.error_offset = error_offset


class Dp2Context(DeviceChild):
    """A legacy Direct3D context."""

    __slots__ = ("_answers", "_next")

    def __init__(self, device: DeviceBase, id: int) -> None:
        super().__init__(device, id)
        self._next = 1
        self._answers: dict[int, bytes] = {}

    async def create_surface(self, resource: Resource, *, handle: int = 0, format: int = 0, subresource: int = 0) -> int:
        """D3dCreateSurfaceEx: returns the number by which command buffers name ``resource``; 0 chooses the next one that is free.

        ``format``: D3DFORMAT of a texture whose texels mean what no DXGI format says (P8, L8, A8L8, L16). ``subresource``: the mip
        level or cube face that drawing and blits go to; sampling sees all of a texture.
        """
        chosen = handle or self._next
        message = api.CreateSurfaceEx(
            context=self.id, surface=chosen, resource=resource.id, format=format, subresource=subresource
        )
        await self.device.call(message, Nothing)
        self._next = max(self._next, chosen + 1)
        return chosen

    async def destroy_surface(self, handle: int) -> None:
        """The number names nothing any more; the resource stays."""
        await self.device.call(api.CreateSurfaceEx(context=self.id, surface=handle), Nothing)

    async def draw_primitives2(
        self,
        commands: bytes | bytearray | Dp2CommandBuffer,
        vertices: Data | None = None,
        *,
        fvf: int = 0,
        vertex_size: int = 0,
        vertex_offset: int = 0,
        vertex_count: int | None = None,
        vertex_surface: int = 0,
    ) -> None:
        """D3dDrawPrimitives2 of a whole command buffer. Raises Dp2Error at the command that failed.

        The vertices are ``vertices`` (an array or bytes) or those of a surface, ``vertex_size`` bytes each (0: what ``fvf`` says),
        from ``vertex_offset`` bytes on; without a count, all of an array. Answers to queries are kept for :meth:`get_query_data`.
        """
        await self._draw(bytes(commands), vertices, fvf, vertex_size, vertex_offset, vertex_count, vertex_surface, 0)

    async def _draw(
        self, commands: bytes, vertices: Data | None, fvf: int, size: int, offset: int, count: int | None, surface: int, room: int,
    ) -> None:  # fmt: skip
        device = self.device
        data = np.frombuffer(vertices, np.uint8) if not isinstance(vertices, np.ndarray) and vertices is not None else vertices
        if not size and fvf:
            try:
                size = fvf_size(fvf)
            except ValueError as error:
                raise D3DError.of(HRESULT.E_INVALIDARG, f"fvf: {error}") from None
        if count is None:
            count = (data.nbytes - offset) // size if data is not None and size else 0
        message = api.DrawPrimitives2(
            context=self.id,
            commands=device.blob(np.frombuffer(commands, np.uint8)) if commands else api.Blob(),
            vertex_type=fvf,
            vertices=device.blob(data) if data is not None and data.nbytes else api.Blob(),
            vertex_surface=surface,
            vertex_offset=offset,
            vertex_length=count,
            vertex_size=size,
            room=room,
        )
        reply = await device.call(message, api.PrimitivesDrawn)
        if reply.ddrval & 0x8000_0000:
            what = f"{reply.command} at byte {reply.error_offset}" if reply.command else f"byte {reply.error_offset}"
            raise Dp2Error(reply.ddrval, reply.name, f"DrawPrimitives2: {what}", reply.error_offset)
        self._take(reply.response)

    def _take(self, response: bytes) -> None:
        """Keep the answers of a response buffer."""
        at = 0
        while at + _HEADER.size <= len(response):
            opcode, _, count, size = _HEADER.unpack_from(response, at)
            inner = at + _HEADER.size
            for _ in range(count if opcode == D3DHAL_DP2OPERATION.RESPONSEQUERY else 0):
                query, length = _ENTRY.unpack_from(response, inner)
                inner += _ENTRY.size
                self._answers[query] = response[inner : inner + length]
                inner += length
            at += max(size, _HEADER.size)

    async def get_query_data(self, query: int) -> bytes:
        """The answer to a query that was issued with END: sends empty command buffers until it has come.

        Raises D3DError when it does not come.
        """
        for _ in range(MAX_POLLS):
            if query in self._answers:
                return self._answers.pop(query)
            await self._draw(b"", None, 0, 0, 0, 0, 0, 4096)
            if query not in self._answers:
                await self.device.immediate_context.wait_idle()
        raise D3DError.of(HRESULT.D3DERR_NOTAVAILABLE, f"query {query} has no answer to come")

    async def render_states(self) -> npt.NDArray[np.uint32]:
        """The runtime's copy of the render states: 256 DWORDs."""
        reply = await self.device.call(api.GetRenderStates(context=self.id), api.RenderStates)
        return np.frombuffer(reply.data, "<u4").copy()
