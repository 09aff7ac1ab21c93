"""Drawing: what a context's state binds to the device, and the draw itself.

Everything that the pipeline needs is bound anew when state changed since the last draw; shaders and layouts are kept by what they
are made of. Bindings are the device's ordinary ones, and so are the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from umd.command_buffer import packet
from umd.core import Bind, key, settle
from umd.dp2 import fixed, pixel, transient, vertex
from umd.dp2.assembly import Assembly
from umd.dp2.errors import CommandError
from umd.dp2.formats import FETCH, VertexFormat
from umd.dp2.output import bind_output, bind_screen, sampler_packet
from umd.dp2.primitives import Primitives, Topology, fan
from umd.dp2.programs import Programs
from umd.dp2.state import RS, TSS, USER_MEMORY, Kind, State
from umd.dp2.surfaces import Surface, Surfaces, handles
from umd.resource import Resource
from umd.state import layout_packets
from wddm.ddi.d3d10umddi import (
    D3D10_DDI_INPUT_CLASSIFICATION,
    D3D10DDIARG_CREATEELEMENTLAYOUT,
    D3D10DDIARG_INPUT_ELEMENT_DESC,
    D3D10DDIARG_STAGE_IO_SIGNATURES,
)
from wddm.ddi.d3dhal import D3DFILLMODE, D3DHAL_TSS_MAXSTAGES
from wddm.hw.formats import Format
from wddm.hw.packets import Op, Stage

if TYPE_CHECKING:
    from umd.device import Device

MAX_TARGETS: Final = 4
MAX_CACHED: Final = 512
MAX_FANS: Final = 4096  #: triangles of a fan whose indices are kept
#: SETSTREAMSOURCEFREQ: the two high bits say what the low ones count.
INDEXED_DATA: Final = 1 << 30
INSTANCE_DATA: Final = 1 << 31


@dataclass(slots=True)
class Source:
    """Where one stream's vertices are: a buffer, bytes of a vertex, byte of the first."""

    resource: Resource
    stride: int
    offset: int
    frequency: int = 1

    def holds(self, size: int) -> int:
        """How many vertices of ``size`` bytes lie in it."""
        room = self.resource.size - self.offset
        if room < size:
            return 0
        return 1 << 32 if not self.stride else (room - size) // self.stride + 1


class Renderer:
    """What draws for one context."""

    def __init__(self, device: Device, state: State, surfaces: Surfaces, programs: Programs) -> None:
        self._device = device
        self._core = device.core
        self._state = state
        self._surfaces = surfaces
        self._programs = programs
        self._shaders: dict[Any, int] = {}
        self._layouts: dict[Any, tuple[bytes, ...]] = {}
        self._prepared: Any = None
        self._targets: Any = None
        self._fan: tuple[Resource, int, int] | None = None  #: indices of a long fan, as they are bound
        self._bound_constants: dict[int, bytes] = {}
        self.size = (0, 0)  #: of the target, in pixels

    def forget(self) -> None:
        """Bindings and surfaces are not what they were: the next draw binds everything."""
        self._prepared = self._targets = None
        self._bound_constants.clear()
        self._state.forget()

    def destroy(self) -> None:
        """The context ends."""
        for shader in self._shaders.values():
            self._device.shaders.DestroyShader(0, shader)
        self._shaders.clear()

    # --- drawing -------------------------------------------------------------------------------------------------------
    async def draw(
        self, format: VertexFormat, sources: dict[int, Source], primitives: Primitives, *, base: int = 0
    ) -> None:
        """Draw vertices of ``sources``; ``base`` is added to indices. Raises CommandError, DeviceError."""
        fill = self._state.render(RS.FILLMODE)
        if fill == D3DFILLMODE.POINT and primitives.topology >= Topology.TRIANGLES:
            # DEVIATES: with point fill no triangle is culled.
            primitives = Primitives(Topology.POINTS, primitives.start, primitives.count, primitives.indices)
        elif fill == D3DFILLMODE.WIREFRAME and primitives.edges is not None:
            # DEVIATES: triangles of which not every edge is shown are drawn as lines, and none is culled.
            primitives = Primitives(Topology.LINES, indices=primitives.edges)
        elif primitives.fans > MAX_FANS:
            primitives = Primitives(primitives.topology, indices=fan(primitives.fans, primitives.start))
        indices = primitives.indices
        count = primitives.count if indices is None else len(indices)
        if not count:
            return
        self.check(format, sources, primitives.highest() + base, (int(indices.min()) + base) if indices is not None else 0)
        await self.prepare(format, sources, primitives.topology)
        if indices is None:
            instances, draws, start = self._instances(sources), self._device.draws, primitives.start
            if not primitives.fans:
                await settle(draws.DrawInstanced(0, count, instances, start, 0))
                return
            # Every fan has the same indices; where it starts is the base vertex.
            if self._fan is None:
                self._fan = transient.small(fan(MAX_FANS).astype("<u4").tobytes()), int(Format.R32_UINT), 0
            self._core.bind(key(Bind.INDEX_BUFFER), self._fan, self._fan[0])
            await settle(draws.DrawIndexedInstanced(0, 3 * primitives.fans, instances, 0, start, 0))
            return
        buffer, owned = await transient.buffer(self._core, indices.astype("<u4").tobytes())
        self._device.core.bind(key(Bind.INDEX_BUFFER), (buffer, int(Format.R32_UINT), 0), buffer)
        await settle(self._device.draws.DrawIndexedInstanced(0, count, self._instances(sources), 0, base, 0))
        if owned is not None:
            self._core.bind(key(Bind.INDEX_BUFFER), None)
            self._core.memory.destroy(owned)

    async def draw_indexed(
        self, format: VertexFormat, sources: dict[int, Source], topology: Topology, indices: tuple[Resource, int, int], count: int,
        base: int,
    ) -> None:  # fmt: skip
        """Draw with an index buffer: (buffer, stride, byte of the first). Raises CommandError, DeviceError."""
        buffer, stride, offset = indices
        if self._state.render(RS.FILLMODE) == D3DFILLMODE.POINT:
            topology = Topology.POINTS
        await self.prepare(format, sources, topology)
        self._core.bind(
            key(Bind.INDEX_BUFFER), (buffer, int(Format.R16_UINT if stride == 2 else Format.R32_UINT), offset), buffer
        )
        await settle(self._device.draws.DrawIndexedInstanced(0, count, self._instances(sources), 0, base, 0))

    @staticmethod
    def check(format: VertexFormat, sources: dict[int, Source], highest: int, lowest: int) -> None:
        """Every vertex that is named lies in its buffer."""
        for stream in format.streams:
            source = sources.get(stream)
            if source is None or source.frequency & INSTANCE_DATA:
                continue
            if lowest < 0 or highest >= source.holds(format.size(stream)):
                raise CommandError.params(
                    f"vertices {lowest} to {highest} of stream {stream}, which holds {source.holds(format.size(stream))}"
                )

    @staticmethod
    def _instances(sources: dict[int, Source]) -> int:
        """How often the geometry is drawn."""
        counts = [s.frequency & 0x3FFF_FFFF for s in sources.values() if s.frequency & INDEXED_DATA]
        return max(counts, default=1)

    # --- binding -------------------------------------------------------------------------------------------------------
    async def prepare(self, format: VertexFormat, sources: dict[int, Source], topology: Topology) -> None:
        """Bind what a draw needs. Raises CommandError, DeviceError."""
        state = self._state
        self._bind_sources(sources)
        points = topology is Topology.POINTS and fixed.needs_size(state, format)
        wanted = (format, topology, points, tuple(sorted((s, v.frequency) for s, v in sources.items())))
        if wanted == self._prepared and not state.changed and not self._surfaces.changed:
            return
        self._prepared = None
        depth_format = await self.bind_targets()
        bind_output(self._core, state, depth_format)
        bind_screen(self._core, state, self.size, format.transformed)
        self._core.bind_packets(key(Bind.TOPOLOGY), _topology(topology))
        if self._core.topology != topology:
            self._core.topology = int(topology)
            self._core.stages_changed()
        textures: list[Surface | None] = state.derive("textures", self._textures)
        await self._bind_shaders(format, sources, textures, points)
        self._bind_textures(textures)
        self._prepared = wanted
        state.changed = self._surfaces.changed = False

    def _bind_sources(self, sources: dict[int, Source]) -> None:
        core = self._core
        for stream, source in sources.items():
            bound = (source.resource, source.stride, source.offset)
            k = key(Bind.VERTEX_BUFFER, 0, stream)
            if core.slots.get(k) != bound:
                core.bind(k, bound, source.resource)

    async def bind_targets(self) -> int:
        """Bind colour targets and depth buffer; returns the format of the latter, 0 = none. Raises CommandError."""
        bound = self._state.derive("targets", self._wanted_targets)
        views, depth_view, depth_format, self.size = bound
        if bound is not self._targets:
            await settle(self._device.pipeline.SetRenderTargets(0, views, len(views), 0, depth_view, (), (), 0, 0, 0, 0))
            self._targets = bound
        return int(depth_format)

    def _wanted_targets(self) -> tuple[list[int], int, int, tuple[int, int]]:
        """Colour views, depth view, format of the depth buffer, pixels."""
        state, surfaces = self._state, self._surfaces
        srgb = bool(state.render(RS.SRGBWRITEENABLE))
        views: list[int] = []
        size: tuple[int, int] | None = None
        for index in range(MAX_TARGETS):
            handle = state.get(Kind.TARGET, index)
            if not handle:
                views.append(0)
                continue
            surface, view = surfaces.target(handle, srgb)
            size = size or surface.size
            views.append(view)
        depth, depth_view, depth_format = state.get(Kind.DEPTH), 0, 0
        if depth:
            surface, depth_view = surfaces.depth(depth)
            depth_format = surface.resource.format
            size = size or surface.size
        if size is None:
            raise CommandError.call("there is no render target")
        return views, depth_view, depth_format, size

    def _textures(self) -> list[Surface | None]:
        """The texture of each stage."""
        found: list[Surface | None] = []
        for stage in range(D3DHAL_TSS_MAXSTAGES):
            handle = self._state.stage(stage, TSS.TEXTUREMAP)
            found.append(self._surfaces.texture(handle) if handle else None)
        return found

    async def _bind_shaders(
        self, format: VertexFormat, sources: dict[int, Source], textures: list[Surface | None], points: bool
    ) -> None:
        device, state = self._device, self._state
        own_pixel = self._programs.pixel(state, textures)
        if own_pixel is None:
            facts = tuple((t.kind, t.swizzle, bool(t.palette)) if t is not None else None for t in textures)
            pixel_key = state.derive(("pixel", format.transformed, facts), lambda: fixed.pixel_key(state, format, textures))
            sampled = tuple(pixel.samples(s) for s in pixel_key.stages)
            await self._set(Stage.PIXEL, pixel_key, lambda: pixel.pixel_shader(pixel_key))
            self._constants(Stage.PIXEL, state.derive("pixel constants", lambda: fixed.pixel_constants(state)))
            for stage, surface in enumerate(textures):
                if surface is not None and surface.palette and stage < len(sampled) and sampled[stage]:
                    self._constants(Stage.PIXEL, self._surfaces.palette(surface.palette), pixel.PALETTES + stage)
        else:
            sampled = (True,) * D3DHAL_TSS_MAXSTAGES
            await self._set(Stage.PIXEL, own_pixel.key, own_pixel.write)
            self._constants(Stage.PIXEL, own_pixel.constants)
        own_vertex = self._programs.vertex(state, format)
        if own_vertex is None:
            vertex_key = state.derive(
                ("vertex", format, sampled, points), lambda: fixed.vertex_key(state, format, sampled, points)
            )
            await self._set(Stage.VERTEX, vertex_key, lambda: vertex.vertex_shader(vertex_key))
            constants = state.derive(
                ("vertex constants", vertex_key, self.size), lambda: fixed.vertex_constants(state, vertex_key, self.size)
            )
            coordinates, planes = fixed.coordinate_mask(vertex_key), bin(vertex_key.planes).count("1")
            layout: Sequence[int] = [e.register for e in format.elements]
        else:
            await self._set(Stage.VERTEX, own_vertex.key, own_vertex.write)
            constants, coordinates, planes, layout = own_vertex.constants, 0xFF, 0, own_vertex.registers
        self._constants(Stage.VERTEX, constants)
        self._bind_layout(format, layout, sources)
        if points:
            sprite = bool(state.render(RS.POINTSPRITEENABLE))
            await self._set(
                Stage.GEOMETRY, ("point", coordinates, planes, sprite), lambda: vertex.point_shader(coordinates, planes, sprite)
            )
            screen = fixed.vertex_constants(state, vertex.VertexKey(format), self.size)
            self._constants(Stage.GEOMETRY, screen)
        else:
            device.pipeline.GsSetShader(0, 0)  # type: ignore[attr-defined]

    async def _set(self, stage: Stage, wanted: Any, write: Callable[[], Assembly]) -> None:
        """Bind the shader of a key, made when it is not there."""
        shaders = self._device.shaders
        handle = self._shaders.get((stage, wanted))
        if handle is None:
            if len(self._shaders) >= MAX_CACHED:
                self.destroy()
            handle = next(handles)
            create = {
                Stage.VERTEX: shaders.CreateVertexShader,
                Stage.PIXEL: shaders.CreatePixelShader,
                Stage.GEOMETRY: shaders.CreateGeometryShader,
            }[stage]
            await settle(create(0, write().tokens(), handle, 0, D3D10DDIARG_STAGE_IO_SIGNATURES()))
            self._shaders[stage, wanted] = handle
        shaders.setter(stage)(0, handle)

    def _constants(self, stage: Stage, data: bytes, slot: int = 0) -> None:
        """Bind constants, unless the same bytes are bound."""
        k = key(Bind.CONSTANT_BUFFER, stage, slot)
        if self._bound_constants.get(k) != data:
            r = transient.constants(data)
            self._core.bind(k, r, r)
            self._bound_constants[k] = data

    def _bind_layout(self, format: VertexFormat, registers: Sequence[int], sources: dict[int, Source]) -> None:
        rates = tuple(sorted((s, v.frequency) for s, v in sources.items() if v.frequency & INSTANCE_DATA))
        wanted = (format, tuple(registers), rates)
        packets = self._layouts.get(wanted)
        if packets is None:
            steps = {stream: frequency & 0x3FFF_FFFF for stream, frequency in rates}
            C = D3D10_DDI_INPUT_CLASSIFICATION
            elements = [
                D3D10DDIARG_INPUT_ELEMENT_DESC(
                    e.stream, e.offset, int(FETCH[e.type]),  # type: ignore[arg-type]
                    C.PER_INSTANCE_DATA if e.stream in steps else C.PER_VERTEX_DATA, steps.get(e.stream, 0), register,
                )
                for e, register in zip(format.elements, registers, strict=True)
                if 0 <= register < 32
            ]  # fmt: skip
            if len(self._layouts) >= MAX_CACHED:
                self._layouts.clear()
            packets = self._layouts[wanted] = layout_packets(D3D10DDIARG_CREATEELEMENTLAYOUT(elements, len(elements)))
        self._core.bind(key(Bind.LAYOUT), packets)

    def _bind_textures(self, textures: list[Surface | None]) -> None:
        core, state = self._core, self._state
        for stage, surface in enumerate(textures):
            k = key(Bind.RESOURCE, Stage.PIXEL, stage)
            if surface is None:
                core.bind(k, None)
                continue
            view = self._surfaces.sampling(surface, bool(state.stage(stage, TSS.SRGBTEXTURE)))
            core.bind(k, view, view.resource)
            point = bool(surface.palette)
            sampler = state.derive(("sampler", stage, point), partial(sampler_packet, state, stage, point=point))
            core.bind_packets(key(Bind.SAMPLER, Stage.PIXEL, stage), sampler)

    # --- streams -------------------------------------------------------------------------------------------------------
    def sources(self, format: VertexFormat, user: Source | None) -> dict[int, Source]:
        """The streams that a format reads, as they are set. ``user``: the call's memory. Raises CommandError."""
        found: dict[int, Source] = {}
        for stream in format.streams:
            bound = self._state.get(Kind.STREAM, stream)
            if bound is None:
                raise CommandError.call(f"stream {stream} has no source")
            handle, offset, stride = bound
            frequency = self._state.get(Kind.STREAM_FREQUENCY, stream)
            if handle == USER_MEMORY:
                if user is None:
                    raise CommandError.call(f"stream {stream} is the call's memory, and the call has none")
                found[stream] = Source(user.resource, stride, user.offset, frequency)
            else:
                found[stream] = Source(self._surfaces.buffer(handle, "vertex buffer"), stride, offset, frequency)
        return found


def _topology(topology: Topology) -> bytes:
    return packet(Op.SET_TOPOLOGY, arg=int(topology))


def indices_of(data: Any, stride: int, offset: int, count: int) -> Any:
    """Indices from the bytes of an index buffer."""
    return np.frombuffer(data[offset : offset + count * stride].tobytes(), "<u2" if stride == 2 else "<u4").astype(np.uint32)
