"""A Direct3D context of the DrawPrimitives2 DDI: it walks command buffers and carries out what they say.

State commands change :class:`State` (or the state set that is recorded), primitive and blit commands become the device's ordinary
work. A command that cannot be carried out ends the call with its offset; what came before it stays done. Models D3dDrawPrimitives2
and "Direct3D Command Buffers".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final

from umd.dp2 import transient
from umd.dp2.blits import Blits
from umd.dp2.commands import StateCommands
from umd.dp2.errors import D3DERR_COMMAND_UNPARSED, DD_OK, CommandError
from umd.dp2.formats import VertexFormat, fvf_format
from umd.dp2.parser import HEADER_SIZE, OP, Command, UnknownCommand, parse
from umd.dp2.patches import Patches, tessellate
from umd.dp2.primitives import (
    PRIMITIVE_COMMANDS,
    TOPOLOGIES,
    Primitives,
    Topology,
    fan,
    fan_edges,
    of_command,
    primitives,
    vertices,
)
from umd.dp2.programs import Programs
from umd.dp2.queries import Queries
from umd.dp2.renderer import Renderer, Source, indices_of
from umd.dp2.state import RS, USER_MEMORY, Kind, State
from umd.dp2.surfaces import Surfaces
from umd.errors import DeviceError
from umd.memory import Allocation
from umd.resource import Resource
from wddm.ddi.d3dhal import D3DFILLMODE, D3DHAL_DRAWPRIMITIVES2DATA, D3DHALDP2, D3DPRIMITIVETYPE, RTPATCHFLAG
from wddm.ddi.ddrawint import ParseUnknownCommand

if TYPE_CHECKING:
    from umd.device import Device

MAX_VERTEX_SIZE: Final = 65535
Handler = Callable[[Command], Awaitable[None] | None]


class Context:
    """One context."""

    def __init__(self, device: Device, parse_unknown: ParseUnknownCommand | None) -> None:
        self.device = device
        self.state = State()
        self.surfaces = Surfaces(device)
        self.programs = Programs()
        self.renderer = Renderer(device, self.state, self.surfaces, self.programs)
        self.blits = Blits(device, self.state, self.surfaces, self.renderer)
        self.queries = Queries(device)
        self.patches = Patches(device.core)
        self.commands = StateCommands(self.state, self.surfaces, self.programs, self.queries, self.patches)
        self._parse_unknown = parse_unknown
        self._data: D3DHAL_DRAWPRIMITIVES2DATA
        self._vertex_size = 0
        self._vertices: Source | None = None
        self._owned: list[Allocation] = []  #: memory of this call, given back behind the commands that name it
        self._handlers: dict[OP, Handler] = {
            **self.commands.handlers,
            **dict.fromkeys(PRIMITIVE_COMMANDS, self._primitives),
            OP.DRAWPRIMITIVE: self._draw_primitive,
            OP.DRAWPRIMITIVE2: self._draw_primitive2,
            OP.DRAWINDEXEDPRIMITIVE: self._draw_indexed,
            OP.DRAWINDEXEDPRIMITIVE2: self._draw_indexed2,
            OP.CLIPPEDTRIANGLEFAN: self._clipped_fan,
            OP.CLEAR: self.blits.clear,
            OP.TEXBLT: self._each(self.blits.texblt),
            OP.VOLUMEBLT: self._each(self.blits.volumeblt),
            OP.BUFFERBLT: self._each(self.blits.bufferblt),
            OP.BLT: self._each(self.blits.blt),
            OP.SURFACEBLT: self._each(self.blits.surfaceblt),
            OP.COLORFILL: self._each(self.blits.colorfill),
            OP.GENERATEMIPSUBLEVELS: self._each(self.blits.generate_mips),
            OP.ISSUEQUERY: self._issue,
            OP.DRAWRECTPATCH: self._draw_patch,
            OP.DRAWTRIPATCH: self._draw_patch,
        }

    @staticmethod
    def _each(handle: Callable[[Any], Awaitable[None]]) -> Handler:
        async def run(command: Command) -> None:
            for element in command.each:
                await handle(element)

        return run

    def destroy(self) -> None:
        """D3dContextDestroy."""
        self.queries.clear()
        self.surfaces.clear()
        self.renderer.destroy()

    # --- the call ------------------------------------------------------------------------------------------------------
    async def draw_primitives2(self, data: D3DHAL_DRAWPRIMITIVES2DATA) -> None:
        """D3dDrawPrimitives2: sets ``ddrval`` and ``dwErrorOffset``. What Direct3D 11 had bound is bound again afterwards."""
        core = self.device.core
        self._data, self._vertex_size = data, data.dwVertexSize  # the result takes the place of the size
        self._vertices = None
        data.ddrval, data.dwErrorOffset = DD_OK, 0
        self.commands.begin(data)
        before = core.exchange()
        self.renderer.forget()
        try:
            await self._run(data)
        except (CommandError, DeviceError) as error:
            data.ddrval = error.hr
            core.error_text = f"DrawPrimitives2: {error}"
        finally:
            core.exchange(before)
            for allocation in self._owned:
                core.memory.destroy(allocation)
            self._owned.clear()

    async def _run(self, data: D3DHAL_DRAWPRIMITIVES2DATA) -> None:
        buffer, at = data.lpDDCommands, data.dwCommandOffset
        end = at + data.dwCommandLength
        data.dwErrorOffset = min(at, 0xFFFF_FFFF)
        if end > len(buffer):
            raise CommandError.params(f"commands up to byte {end} of a buffer of {len(buffer)}")
        if self._vertex_size > MAX_VERTEX_SIZE:
            raise CommandError.params(f"vertices of {self._vertex_size} bytes")
        while at < end:
            data.dwErrorOffset = at
            try:
                command = parse(buffer, at, end, self._vertex_size)
            except UnknownCommand as unknown:
                at = self._unknown(unknown, buffer, end)
                continue
            handler = self._handlers.get(command.op)
            if handler is None:
                # DEVIATES: COMPOSERECTS is refused with DDERR_UNSUPPORTED.
                raise CommandError.unsupported(f"{command.op.name} is not supported")
            pending = handler(command)
            if isawaitable(pending):
                await pending
            at = command.end
        data.dwErrorOffset = await self.queries.respond(buffer) if self.queries.waiting else 0

    def _unknown(self, unknown: UnknownCommand, buffer: memoryview, end: int) -> int:
        """The runtime may know the command; returns where the next one is. Raises CommandError."""
        if self._parse_unknown is None:
            raise CommandError(D3DERR_COMMAND_UNPARSED, str(unknown))
        hr, size = self._parse_unknown(buffer[unknown.offset : end])
        if hr:
            raise CommandError(hr, f"{unknown}, says the runtime")
        if size < HEADER_SIZE or unknown.offset + size > end:
            raise CommandError(D3DERR_COMMAND_UNPARSED, f"the runtime says that the unknown command has {size} bytes")
        return unknown.offset + size

    # --- vertices ------------------------------------------------------------------------------------------------------
    async def _call_vertices(self) -> Source:
        """The call's own vertices: user memory or a surface. Raises CommandError, DeviceError."""
        if self._vertices is not None:
            return self._vertices
        data, size = self._data, self._vertex_size
        length = data.dwVertexLength * size
        if data.dwFlags & D3DHALDP2.USERMEMVERTICES:
            memory = data.lpVertices
            if memory is None or data.dwVertexOffset + length > len(memory):
                raise CommandError.params(f"{length} bytes of vertices at byte {data.dwVertexOffset} of user memory")
            used = memory[data.dwVertexOffset : data.dwVertexOffset + length]
            if not length:
                raise CommandError.params("the call has no vertices")
            self._vertices = Source(await self._memory(used), size, 0)
        else:
            if not data.lpDDVertex:
                raise CommandError.params("the call has no vertex buffer")
            resource = self.surfaces.buffer(data.lpDDVertex, "vertex buffer")
            if data.dwVertexOffset + length > resource.size:
                raise CommandError.params(f"{length} bytes of vertices at byte {data.dwVertexOffset} of {resource.size}")
            self._vertices = Source(resource, size, data.dwVertexOffset)
        return self._vertices

    def _call_format(self) -> VertexFormat:
        """The format of the call's vertices, which must fill its vertex size."""
        format = fvf_format(self._data.dwVertexType)
        if self._vertex_size < format.size(0):
            raise CommandError.params(f"vertices of {self._vertex_size} bytes; their format has {format.size(0)}")
        return format

    async def _primitives(self, command: Command) -> None:
        """The commands of DirectX 6: vertices of the call, or inline."""
        format = self._call_format()
        if command.vertices is not None:
            if not command.count:
                return
            source = Source(await self._memory(command.vertices), self._vertex_size, 0)
            limit = len(command.vertices) // self._vertex_size
        else:
            source = Source(None, 0, 0)  # type: ignore[arg-type]  # fetched when there is something to draw
            limit = self._data.dwVertexLength
        for part in of_command(command):
            highest = part.highest()
            if highest >= limit:
                raise CommandError.params(f"vertex {highest} of {limit}")
            if highest < 0:
                continue
            if command.vertices is None:
                source = await self._call_vertices()
            await self.renderer.draw(format, {0: source}, part)

    async def _memory(self, data: memoryview) -> Resource:
        """A buffer for data of this call."""
        resource, owned = await transient.buffer(self.device.core, data)
        if owned is not None:
            self._owned.append(owned)
        return resource

    # --- the draws of DirectX 8 ------------------------------------------------------------------------------------------
    async def _sources(self, format: VertexFormat) -> dict[int, Source]:
        user: Source | None = None
        if any((s := self.state.get(Kind.STREAM, stream)) is not None and s[0] == USER_MEMORY for stream in format.streams):
            user = await self._call_vertices()
        return self.renderer.sources(format, user)

    async def _draw_primitive(self, command: Command) -> None:
        format = self.programs.format(self.state)
        sources = await self._sources(format)
        for e in command.each:
            await self.renderer.draw(
                format, sources, primitives(int(e["primType"]), int(e["VStart"]), int(e["PrimitiveCount"]))
            )

    async def _shifted(self, byte: int) -> tuple[VertexFormat, dict[int, Source]]:
        """Stream 0 from a byte on."""
        format = self.programs.format(self.state)
        sources = await self._sources(format)
        source = sources.get(0)
        if source is None:
            raise CommandError.call("the vertex format does not read stream 0")
        if not 0 <= source.offset + byte <= source.resource.size:
            raise CommandError.params(f"vertices from byte {source.offset + byte} of {source.resource.size}")
        return format, {**sources, 0: Source(source.resource, source.stride, source.offset + byte, source.frequency)}

    async def _draw_primitive2(self, command: Command) -> None:
        for e in command.each:
            format, sources = await self._shifted(int(e["FirstVertexOffset"]))
            await self.renderer.draw(format, sources, primitives(int(e["primType"]), 0, int(e["PrimitiveCount"])))

    async def _clipped_fan(self, command: Command) -> None:
        for e in command.each:
            format, sources = await self._shifted(int(e["FirstVertexOffset"]))
            count = int(e["PrimitiveCount"])
            vertices(D3DPRIMITIVETYPE.TRIANGLEFAN, count)
            edges = fan_edges(count, int(e["dwEdgeFlags"]))
            await self.renderer.draw(format, sources, Primitives(Topology.TRIANGLES, indices=fan(count), edges=edges))

    async def _draw_indexed(self, command: Command) -> None:
        for e in command.each:
            format = self.programs.format(self.state)
            sources = await self._sources(format)
            stride = self._index_stride()
            await self._indexed(format, sources, e, int(e["BaseVertexIndex"]), int(e["StartIndex"]) * stride)

    async def _draw_indexed2(self, command: Command) -> None:
        for e in command.each:
            format, sources = await self._shifted(0)
            base = int(e["BaseVertexOffset"])
            stride = sources[0].stride
            if not stride or base % stride:
                # Whole vertices are what the hardware can step; the rest is an offset of the stream.
                format, sources = await self._shifted(base)
                base = 0
            await self._indexed(format, sources, e, base // stride if stride else 0, int(e["StartIndexOffset"]))

    def _index_stride(self) -> int:
        bound = self.state.get(Kind.INDICES)
        if bound is None:
            raise CommandError.call("there are no indices")
        return int(bound[1])

    async def _indexed(self, format: VertexFormat, sources: dict[int, Source], e: Any, base: int, offset: int) -> None:
        """One element of an indexed draw; ``offset``: byte of the first index."""
        stride = self._index_stride()
        handle = self.state.get(Kind.INDICES)[0]
        type, number = int(e["primType"]), int(e["PrimitiveCount"])
        count = vertices(type, number)
        buffer = self.surfaces.buffer(handle, "index buffer")
        if offset + count * stride > buffer.size or offset % stride:
            raise CommandError.params(f"{count} indices of {stride} bytes from byte {offset} of {buffer.size}")
        if not count:
            return
        low, high = base + int(e["MinIndex"]), base + int(e["MinIndex"]) + int(e["NumVertices"]) - 1
        self.renderer.check(format, sources, high, low)
        if type == D3DPRIMITIVETYPE.TRIANGLEFAN:
            words = indices_of(await transient.read(self.device.core, buffer), stride, offset, count)
            if self.state.render(RS.FILLMODE) != D3DFILLMODE.POINT:
                words = words[fan(number)]
            await self.renderer.draw(format, sources, Primitives(Topology.TRIANGLES, indices=words), base=base)
            return
        await self.renderer.draw_indexed(
            format, sources, TOPOLOGIES[D3DPRIMITIVETYPE(type)], (buffer, stride, offset), count, base
        )

    async def _draw_patch(self, command: Command) -> None:
        """DRAWRECTPATCH and DRAWTRIPATCH; streams count only where a patch is defined."""
        for e, tail in zip(command.each, command.tails, strict=True):
            format, sources = None, {}
            if int(e["Flags"]) & RTPATCHFLAG.HASINFO:
                format = self.programs.format(self.state)
                sources = await self._sources(format)
            found = await self.patches.find(e, tail, command.op is OP.DRAWRECTPATCH, format, sources)
            if found is None:
                continue
            patch, segments = found
            data, triangles = tessellate(patch, segments, self.state.render_float(RS.PATCHSEGMENTS))
            source = Source(await self._memory(memoryview(data)), patch.format.size(0), 0)
            await self.renderer.draw(patch.format, {0: source}, triangles)

    async def _issue(self, command: Command) -> None:
        handle = self.state.get(Kind.TARGET, 0)
        samples = self.surfaces.get(handle).resource.samples if handle else 1
        for e in command.each:
            await self.queries.issue(int(e["dwQueryID"]), int(e["dwFlags"]), samples)
