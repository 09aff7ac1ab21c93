"""A draw from vertices to pixels: the order of the stages, and triangle setup between the last vertex stage and the rasteriser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vgpu.engine import DrawCall, FaultError, PipelineState, Step, StopWord
from vgpu.memory import Memory
from wddm.hw.descriptors import CullMode, FillMode, Rasterizer, bits_float
from wddm.hw.formats import NumberType
from wddm.hw.interrupts import Fault
from wddm.hw.isa import SystemRegister, SystemValue
from wddm.hw.packets import Op, Stage, Topology

from . import bindings, clip, geometry, raster, stream_output, tessellation, vertex
from .bindings import packet
from .merge import Merger
from .pixel import PixelStage, Primitives
from .queries import Counters
from .resources import sample_positions
from .shader import Interpreter, Lanes, Program

Array = npt.NDArray[Any]
#: Dwords of registers that lanes in flight may have together.
REGISTER_FILE: Final = 1 << 24


def lanes_at_once(program: Program) -> int:
    """How many lanes of a program run together: a multiple of 4."""
    size = program.binary.temp_count + sum(program.arrays.values()) + program.output_rows + program.input_rows + 1
    result: int = max(64, min(65536, REGISTER_FILE // size) // 4 * 4)
    return result


@dataclass(slots=True)
class Assembled:
    """Primitives on their way: output rows of the stage before ``(rows, vertices)`` and who is a primitive with whom."""

    program: Program  #: that wrote the rows
    rows: Array
    primitives: Array  #: (P, k)
    primitive_id: Array  #: (P,)


class Draw:
    """One draw call with its state resolved."""

    def __init__(self, memory: Memory, state: PipelineState, call: DrawCall, counters: Counters, stop: StopWord) -> None:
        self.memory, self.state, self.call, self.counters, self.stop = memory, state, call, counters, stop
        programs = {stage: bindings.program(memory, state, stage) for stage in Stage if stage != Stage.COMPUTE}
        vs = programs[Stage.VERTEX]
        if vs is None:
            raise FaultError(Fault.PIPELINE, "draw without a vertex program")
        self.vs = vs
        self.hs, self.ds, self.gs, self.ps = (programs[s] for s in (Stage.HULL, Stage.DOMAIN, Stage.GEOMETRY, Stage.PIXEL))
        p = packet(state, Op.SET_TOPOLOGY)
        self.topology = int(p["arg"]) if p is not None else 0
        patches = self.topology >= Topology.PATCHLIST_1
        if (self.hs is None) != (self.ds is None) or (self.hs is not None and not patches):
            raise FaultError(Fault.PIPELINE, "hull and domain programs go together, and with patches")
        self.last = self.gs or self.ds or vs
        self.targets = stream_output.Targets(memory, state, self.last, counters)
        self.bound = {p.stage: bindings.bind(memory, state, p) for p in (vs, self.hs, self.ds, self.gs, self.ps) if p is not None}
        stream = self.last.binary.rasterized_stream if self.gs is not None else 0
        self.rasterized_stream = stream
        self.rasterizes = stream < 4 and self.last.output_of(SystemValue.POSITION) is not None
        if patches and self.hs is None and self.gs is None:
            self.rasterizes = False
        if self.rasterizes:
            self.merger = Merger(memory, state)
            pixel_bindings = self.bound.get(Stage.PIXEL, {})
            self.pixels = PixelStage(self.ps, pixel_bindings, self.merger, counters, stop)
            self.fixed = _Fixed(state, self.merger)

    def run(self) -> Iterator[Step]:
        """Draw; yields between batches, and True first if a program has a loop."""
        if any(p.has_loop for p in (self.vs, self.hs, self.ds, self.gs, self.ps) if p is not None):
            yield True
        for batch in vertex.assemble(self.memory, self.state, self.call):
            self.counters.add("ia_vertices", batch.read)
            self.counters.add("ia_primitives", len(batch.primitives))
            rows = self._vertices(batch)
            yield None
            stream = Assembled(self.vs, rows, batch.primitives, batch.primitive_id)
            if self.hs is not None and self.ds is not None:
                parts = tessellation.run(self.hs, self.ds, self.bound, stream, self.counters, self.stop)
            else:
                parts = iter([stream])
            for part in parts:
                for done in self._geometry(part):
                    self.targets.write(done.stream, done.assembled)
                    if self.rasterizes and done.stream == self.rasterized_stream:
                        for _ in self._rasterize(done.assembled):
                            yield None
                yield None

    def _vertices(self, batch: vertex.Batch) -> Array:
        """Run the vertex program; output rows."""
        p = self.vs
        inputs = vertex.fetch(self.memory, self.state, self.call, batch, p.input_rows)
        system = {SystemRegister.VERTEX_ID: batch.vertex_id, SystemRegister.INSTANCE_ID: batch.instance.astype(np.uint32)}
        for _, register, mask, value, _extra in p.inputs:
            generated = {SystemValue.VERTEX_ID: SystemRegister.VERTEX_ID, SystemValue.INSTANCE_ID: SystemRegister.INSTANCE_ID}
            if value in generated:
                inputs[register * 4 + ((mask & -mask).bit_length() - 1)] = system[generated[SystemValue(value)]]
        count = len(batch.fetch)
        self.counters.add("vs_invocations", count)
        out = np.empty((p.output_rows, count), np.uint32)
        step = lanes_at_once(p)
        for i in range(0, count, step):
            part = slice(i, min(i + step, count))
            lanes = Lanes(
                part.stop - i,
                inputs[:, part],
                system={k: v[part] for k, v in system.items()},
                **self.bound[Stage.VERTEX],
            )
            x = Interpreter(p, lanes, self.stop)
            x.run()
            out[:, part] = x.outputs
        return out

    def _geometry(self, stream: Assembled) -> Iterator[geometry.Emitted]:
        if self.gs is not None:
            yield from geometry.run(self.gs, self.bound[Stage.GEOMETRY], stream, self.topology, self.counters, self.stop)
            return
        if self.hs is None:
            stream.primitives = vertex.main_vertices(self.topology, stream.primitives)
        yield geometry.Emitted(0, stream)

    # --- setup and rasterisation -------------------------------------------------------------------------------------

    def _rasterize(self, stream: Assembled) -> Iterator[Step]:
        count = len(stream.primitives)
        if not count:
            return
        self.counters.add("clipper_invocations", count)
        setup, primitives = self.fixed.setup(stream)
        self.counters.add("clipper_primitives", len(setup))
        if not len(setup) or (self.ps is None and self.merger.depth is None):
            return
        k = stream.primitives.shape[1]
        samples = self.merger.samples
        places = sample_positions(samples)
        if k == 3 and self.fixed.state.fill == FillMode.WIREFRAME:
            t, e = np.nonzero(setup.edges)
            found = raster.lines(setup, np.stack([t, e, (e + 1) % 3], 1), samples)
        elif k == 3:
            found = raster.polygons(setup.x, setup.y, setup.rectangle, places)
        elif k == 2 and self.fixed.state.multisample:
            found = raster.polygons(*raster.fat_lines(setup), setup.rectangle, places)
        elif k == 2 and self.fixed.state.antialiased_line and samples == 1:
            found = raster.smooth(*raster.fat_lines(setup), setup.rectangle)
        elif k == 2:
            ends = np.stack([np.arange(len(setup)), np.zeros(len(setup), int), np.ones(len(setup), int)], 1)
            found = raster.lines(setup, ends, samples)
        else:
            found = raster.polygons(*raster.point_squares(setup), setup.rectangle, places)
        limit = lanes_at_once(self.ps) // 4 if self.ps is not None else raster.QUADS
        for quads in found:
            for i in range(0, len(quads.x), limit):
                s = slice(i, i + limit)
                covered = quads.part[s] if quads.part is not None else None
                part = raster.Quads(quads.primitive[s], quads.x[s], quads.y[s], quads.coverage[s], covered)
                self.pixels.run(setup, primitives, part)
                yield None


class _Fixed:
    """Rasteriser state, viewports and scissors, and the arithmetic from clip space to setups."""

    def __init__(self, state: PipelineState, merger: Merger) -> None:
        self.merger = merger
        p = packet(state, Op.SET_RASTERIZER)
        self.state = Rasterizer.unpack(p["data"].tolist()) if p is not None else Rasterizer()
        if self.state.fill not in tuple(FillMode) or self.state.cull not in tuple(CullMode):
            raise FaultError(Fault.BAD_DESCRIPTOR, f"fill mode {self.state.fill}, cull mode {self.state.cull}")
        self.viewports = np.zeros((16, 6))
        self.rectangles = np.zeros((16, 4), np.int64)
        count = int(v["arg"]) if (v := packet(state, Op.SET_VIEWPORT)) is not None else 0
        for i in range(min(count, 16)):
            v = packet(state, Op.SET_VIEWPORT, i)
            if v is not None:
                self._viewport(i, [bits_float(w) for w in v["data"].tolist()[:6]], packet(state, Op.SET_SCISSOR, i))
        self.count = min(count, 16)

    def _viewport(self, i: int, values: list[float], scissor: Any) -> None:
        x, y, width, height, _low, _high = values
        if not np.isfinite(values).all() or width <= 0 or height <= 0 or max(map(abs, (x, y, width, height))) > clip.RANGE:
            return  # nothing is drawn through it
        self.viewports[i] = values
        box = np.ceil([x - 0.5, y - 0.5, x + width - 0.5, y + height - 0.5]).astype(np.int64)
        low_bound, high_bound = np.zeros(2, np.int64), np.array([self.merger.width, self.merger.height])
        if self.state.scissor:
            edges = scissor["data"][:4].view(np.int32).astype(np.int64) if scissor is not None else np.zeros(4, np.int64)
            low_bound, high_bound = np.maximum(low_bound, edges[:2]), np.minimum(high_bound, edges[2:])
        self.rectangles[i] = [*np.maximum(box[:2], low_bound), *np.minimum(box[2:], high_bound)]

    def setup(self, stream: Assembled) -> tuple[raster.Setup, Primitives]:
        """Clip, project, cull; what is left, and what its pixels need to know."""
        p, rows, vertices = stream.program, stream.rows, stream.primitives
        k = vertices.shape[1]
        at = p.output_of(SystemValue.POSITION)
        assert at is not None
        position = rows[at : at + 4].view(np.float32).astype(np.float64).T[vertices]
        leading = vertices[:, 0]
        viewport = self._index(p, rows, SystemValue.VIEWPORT_ARRAY_INDEX, leading, max(self.count, 1))
        layer = self._index(p, rows, SystemValue.RENDER_TARGET_ARRAY_INDEX, leading, self.merger.layers)
        box = self.viewports[viewport]
        clips, culls = (
            rows[p.output_rows_of(v)].view(np.float32).astype(np.float64).T[vertices]
            for v in (SystemValue.CLIP_DISTANCE, SystemValue.CULL_DISTANCE)
        )
        solid = k == 3 and self.state.fill == FillMode.SOLID
        pieces = clip.clip(position, clips, culls, self.state.depth_clip, _limits(box), sides=solid)
        drawn = self.rectangles[viewport[pieces.source]]
        some = (drawn[:, 2] > drawn[:, 0]) & (drawn[:, 3] > drawn[:, 1])
        source, weights, clipped = pieces.source[some], pieces.weights[some], pieces.position[some]
        v = box[source][:, None, :]
        inverse_w = 1 / clipped[:, :, 3]
        x = v[..., 0] + (clipped[:, :, 0] * inverse_w + 1) * 0.5 * v[..., 2]
        y = v[..., 1] + (1 - clipped[:, :, 1] * inverse_w) * 0.5 * v[..., 3]
        z = v[..., 4] + clipped[:, :, 2] * inverse_w * (v[..., 5] - v[..., 4])
        setup = self._build(k, raster.snap(x), raster.snap(y), z, inverse_w, weights, source, drawn[some])
        identity = stream.primitive_id
        if p.stage == Stage.GEOMETRY and (row := p.output_of(SystemValue.PRIMITIVE_ID)) is not None:
            identity = rows[row][leading]
        return setup, Primitives(rows, vertices, identity, layer, viewport, box[:, 4:6])

    @staticmethod
    def _index(p: Program, rows: Array, value: SystemValue, leading: Array, count: int) -> Array:
        row = p.output_of(value)
        if row is None:
            return np.zeros(len(leading), np.int64)
        index = rows[row][leading].astype(np.int64)
        return np.where(index < count, index, 0)

    def _build(
        self, k: int, x: Array, y: Array, z: Array, inverse_w: Array, weights: Array, source: Array, rectangle: Array
    ) -> raster.Setup:
        n = len(source)
        front: Array = np.ones(n, bool)
        bias = np.zeros(n)
        padded = np.zeros((n, 3, 3))
        padded[:, :k, :k] = weights
        if k < 3:
            pad = [(0, 0), (0, 3 - k)]
            inverse_w, z = np.pad(inverse_w, pad, constant_values=1), np.pad(z, pad)
            linear, divisor = raster.line_linear(x, y) if k == 2 else (np.zeros((n, 3, 3)), np.ones(n))
            if k == 1:
                linear[:, 0, 2] = 1
            else:  # ends that fall together
                same = (x[:, 0] == x[:, 1]) & (y[:, 0] == y[:, 1])
                linear[same] = 0
                linear[same, 0, 2] = 1
            x, y = np.pad(x, pad), np.pad(y, pad)
            return raster.Setup(x, y, linear, divisor, padded, inverse_w, z, source, front, rectangle, bias, np.zeros((n, 3), bool))
        _, area = raster.triangle_linear(x, y)
        front = (area < 0) if self.state.front_counter_clockwise else (area > 0)
        keep = area != 0
        if self.state.cull != CullMode.NONE:
            keep &= front == (self.state.cull == CullMode.BACK)
        order = np.where((area < 0)[:, None], [0, 2, 1], [0, 1, 2])
        x, y, z, inverse_w = (np.take_along_axis(v, order, 1) for v in (x, y, z, inverse_w))
        padded = np.take_along_axis(padded, order[:, :, None], 1)
        linear, area = raster.triangle_linear(x, y)
        edges = ((padded == 0) & (np.roll(padded, -1, axis=1) == 0)).any(axis=2)
        setup = raster.Setup(
            x, y, linear.astype(np.float64), area.astype(np.float64), padded, inverse_w, z, source, front, rectangle, bias, edges
        ).pick(keep)
        setup.bias = self._bias(setup)
        return setup

    def _bias(self, setup: raster.Setup) -> Array:
        """Depth bias: constant in units of the format, slope-scaled, clamped."""
        s, depth = self.state, self.merger.depth
        n = len(setup)
        if depth is None or depth.info.depth is None or (not s.depth_bias and not s.slope_scaled_depth_bias):
            return np.zeros(n)
        channel = depth.info.depth
        if channel.type == NumberType.FLOAT:
            largest = np.abs(setup.z).max(axis=1)
            _, exponent = np.frexp(largest)
            unit: Array = np.where(largest > 0, np.exp2(exponent - 1.0 - 23), 0)  # the last place of 0 is nothing
        else:
            unit = np.full(n, 2.0**-channel.bits)
        gradient = np.einsum("tkc,tk->tc", setup.linear[:, :, :2], setup.z) / setup.divisor[:, None] * raster.SUBPIXEL
        bias: Array = s.depth_bias * unit + s.slope_scaled_depth_bias * np.abs(gradient).max(axis=1)
        if s.depth_bias_clamp > 0:
            bias = np.minimum(bias, s.depth_bias_clamp)
        elif s.depth_bias_clamp < 0:
            bias = np.maximum(bias, s.depth_bias_clamp)
        return bias


def _limits(box: Array) -> Array:
    """Normalised device coordinates at the ends of the fixed-point range, per primitive's viewport."""
    r = clip.RANGE
    x, y, width, height = (box[:, i] for i in range(4))
    width, height = np.where(width > 0, width, 1), np.where(height > 0, height, 1)
    return np.stack([2 * (-r - x) / width - 1, 2 * (r - x) / width - 1, 1 - 2 * (r - y) / height, 1 - 2 * (-r - y) / height], 1)
