"""The pixel stage: interpolation, the pixel program on quads with helper lanes, and the order of tests and writes.

Weights are evaluated in float64 at the pixel centre, the centroid or a sample, and made perspective-correct with 1/w; attributes
are float32. Depth and stencil are tested before the program only when it asks for it; otherwise after, as if in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vgpu.engine import StopWord
from wddm.hw.isa import (
    OUTPUT_COVERAGE_REGISTER,
    OUTPUT_DEPTH_REGISTER,
    OUTPUT_STENCIL_REGISTER,
    Interpolation,
    ProgramFlag,
    SystemRegister,
    SystemValue,
)

from .merge import Merger
from .queries import Counters
from .raster import SUBPIXEL, Quads, Setup
from .resources import sample_positions
from .shader import Interpreter, Lanes, Program

Array = npt.NDArray[Any]
_GENERATED = {
    SystemValue.POSITION: SystemRegister.POSITION_X,
    SystemValue.PRIMITIVE_ID: SystemRegister.PRIMITIVE_ID,
    SystemValue.IS_FRONT_FACE: SystemRegister.FRONT_FACE,
    SystemValue.SAMPLE_INDEX: SystemRegister.SAMPLE_INDEX,
    SystemValue.RENDER_TARGET_ARRAY_INDEX: SystemRegister.RENDER_TARGET_ARRAY_INDEX,
    SystemValue.VIEWPORT_ARRAY_INDEX: SystemRegister.VIEWPORT_ARRAY_INDEX,
}
_FLAT = Interpolation.CONSTANT
_NOPERSPECTIVE = (
    Interpolation.LINEAR_NOPERSPECTIVE,
    Interpolation.LINEAR_NOPERSPECTIVE_CENTROID,
    Interpolation.LINEAR_NOPERSPECTIVE_SAMPLE,
)
_CENTROID = (Interpolation.LINEAR_CENTROID, Interpolation.LINEAR_NOPERSPECTIVE_CENTROID)
_SAMPLE = (Interpolation.LINEAR_SAMPLE, Interpolation.LINEAR_NOPERSPECTIVE_SAMPLE)


class Primitives:
    """What pixels need to know of the primitives they come from, per source primitive."""

    def __init__(self, rows: Array, vertices: Array, primitive_id: Array, layer: Array, viewport: Array, depth: Array) -> None:
        self.rows = rows  #: (R, V) outputs of the last vertex stage
        self.vertices = vertices  #: (P, k)
        self.primitive_id = primitive_id
        self.layer = layer
        self.viewport = viewport
        self.depth = depth  #: (P, 2): smallest and largest depth of the viewport


class PixelStage:
    """Shades and merges quads of one draw."""

    def __init__(
        self, program: Program | None, bindings: dict[str, Any], merger: Merger, counters: Counters, stop: StopWord
    ) -> None:
        self.program = program
        self.bindings = bindings
        self.merger = merger
        self.counters = counters
        self.stop = stop
        self.samples = merger.samples
        self.early = program is not None and bool(program.binary.flags & ProgramFlag.EARLY_DEPTH_STENCIL)
        self.per_sample = program is not None and (program.samples or any(d[4] in _SAMPLE for d in program.inputs))

    def run(self, setup: Setup, primitives: Primitives, quads: Quads) -> None:
        """One batch of quads, primitives ascending."""
        mask = np.array([self.merger.sample_mask >> s & 1 for s in range(self.samples)], bool)
        quads.coverage &= mask
        if self.per_sample and self.samples > 1:
            for s in range(self.samples):
                only = np.zeros_like(quads.coverage)
                only[:, :, s] = quads.coverage[:, :, s]
                some = only.any(axis=(1, 2))
                if some.any():
                    part = Quads(quads.primitive[some], quads.x[some], quads.y[some], only[some])
                    _Shading(self, setup, primitives, part, s).run()
        elif quads.coverage.any():
            _Shading(self, setup, primitives, quads, None).run()


class _Shading:
    """One batch in work. Lanes are pixels: quad * 4 + place."""

    def __init__(self, stage: PixelStage, setup: Setup, primitives: Primitives, quads: Quads, sample: int | None) -> None:
        self.stage, self.setup, self.primitives, self.sample = stage, setup, primitives, sample
        self.t = np.repeat(quads.primitive, 4)
        self.x = (2 * quads.x[:, None] + np.array([0, 1, 0, 1])).reshape(-1)
        self.y = (2 * quads.y[:, None] + np.array([0, 0, 1, 1])).reshape(-1)
        self.coverage = quads.coverage.reshape(len(self.t), -1)
        self.part = quads.part.reshape(-1) if quads.part is not None else None
        self.source = setup.source[self.t]
        self.n = len(self.t)
        # Setups to look at: one for all lanes while they come from one primitive.
        self.t_near = self.t[:1] if self.t[0] == self.t[-1] else self.t
        self.source_near = setup.source[self.t_near]
        self._centre_weights: Array | None = None
        self.offsets = 128 + 16 * sample_positions(stage.samples)

    # --- interpolation -----------------------------------------------------------------------------------------------

    def weights_at(self, px: Array, py: Array) -> Array:
        """Weights ``(3, n)`` of piece vertices at fixed-point places; linear on the screen."""
        linear, divisor = self.setup.linear[self.t_near], self.setup.divisor[self.t_near]
        return np.stack([(linear[:, k, 0] * px + linear[:, k, 1] * py + linear[:, k, 2]) / divisor for k in range(3)])

    def centre_weights(self) -> Array:
        """:meth:`weights_at` the centre, kept."""
        if self._centre_weights is None:
            self._centre_weights = self.weights_at(*self.centre())
        return self._centre_weights

    def centre(self) -> tuple[Array, Array]:
        """The pixel centre, or the sample when shading per sample."""
        dx, dy = (128, 128) if self.sample is None else self.offsets[self.sample]
        return self.x * SUBPIXEL + dx, self.y * SUBPIXEL + dy

    def centroid(self) -> tuple[Array, Array]:
        """The centre where fully or not at all covered, else the first covered sample."""
        px, py = self.centre()
        some = self.coverage.any(1) & ~self.coverage.all(1)
        first = self.offsets[self.coverage.argmax(1)]
        return np.where(some, self.x * SUBPIXEL + first[:, 0], px), np.where(some, self.y * SUBPIXEL + first[:, 1], py)

    def source_weights(self, w: Array, perspective: bool) -> Array:
        """Weights ``(3, n)`` of the source primitive's vertices, from those of the piece's."""
        if perspective:
            w = w * self.setup.inverse_w[self.t_near].T
            w = w / w.sum(axis=0)
        if len(self.t_near) == 1:
            single: Array = self.setup.weights[self.t[0]].T @ w
            return single
        result: Array = np.einsum("kn,nkj->jn", w, self.setup.weights[self.t])
        return result

    def attribute(self, row: int, weights: Array | None) -> Array:
        """An output row interpolated, or (without weights) the leading vertex's; uint32."""
        rows, vertices = self.primitives.rows, self.primitives.vertices[self.source_near]
        if row >= len(rows):
            return np.zeros(self.n, np.uint32)
        if weights is None:
            flat: Array = np.broadcast_to(rows[row][vertices[:, 0]], (self.n,))
            return flat
        values = rows[row].view(np.float32).astype(np.float64)
        total = sum(weights[j] * values[vertices[:, j]] for j in range(vertices.shape[1]))
        return np.asarray(total, np.float32).view(np.uint32)

    def depth_from(self, w: Array) -> Array:
        """Depth with bias, clamped to the viewport's range; float32."""
        z = (w * self.setup.z[self.t_near].T).sum(axis=0) + self.setup.bias[self.t_near]
        low, high = self.primitives.depth[self.source_near].T
        result: Array = np.clip(z, low, high).astype(np.float32)
        return result

    # --- the program -------------------------------------------------------------------------------------------------

    def _system(self) -> dict[int, Array]:
        px, py = self.centre()
        w = self.centre_weights()
        primitives = self.primitives
        floats = {
            SystemRegister.POSITION_X: px / SUBPIXEL,
            SystemRegister.POSITION_Y: py / SUBPIXEL,
            SystemRegister.POSITION_Z: self.depth_from(w),
            SystemRegister.POSITION_W: 1 / (w * self.setup.inverse_w[self.t_near].T).sum(axis=0),
        }
        out: dict[int, Array] = {k: np.asarray(v, np.float32).view(np.uint32) for k, v in floats.items()}
        out[SystemRegister.PRIMITIVE_ID] = primitives.primitive_id[self.source].astype(np.uint32)
        out[SystemRegister.FRONT_FACE] = np.where(self.setup.front[self.t], np.uint32(0xFFFF_FFFF), np.uint32(0))
        out[SystemRegister.SAMPLE_INDEX] = np.full(self.n, self.sample or 0, np.uint32)
        bits = (1 << np.arange(self.coverage.shape[1])).astype(np.uint32)
        out[SystemRegister.COVERAGE] = (self.coverage * bits).sum(axis=1).astype(np.uint32)
        out[SystemRegister.RENDER_TARGET_ARRAY_INDEX] = primitives.layer[self.source].astype(np.uint32)
        out[SystemRegister.VIEWPORT_ARRAY_INDEX] = primitives.viewport[self.source].astype(np.uint32)
        return out

    def _inputs(self, program: Program, system: dict[int, Array]) -> Array:
        out = np.zeros((program.input_rows, self.n), np.uint32)
        places: dict[tuple[bool, bool], Array] = {}
        for _, register, mask, value, mode in program.inputs:
            generated = _GENERATED.get(SystemValue(value))
            for c in range(4):
                if not mask >> c & 1:
                    continue
                row = register * 4 + c
                if generated is not None:
                    out[row] = system[generated + (c if value == SystemValue.POSITION else 0)]
                elif mode == _FLAT:
                    out[row] = self.attribute(row, None)
                else:
                    key = (mode in _CENTROID and self.sample is None, mode not in _NOPERSPECTIVE)
                    if key not in places:
                        w = self.weights_at(*self.centroid()) if key[0] else self.centre_weights()
                        places[key] = self.source_weights(w, key[1])
                    out[row] = self.attribute(row, places[key])
        return out

    def _evaluate(self, index: int, mode: str, arguments: tuple[Array, ...]) -> Array:
        """Pull-model interpolation of input dword ``index``."""
        assert self.stage.program is not None
        declared = next(d for d in self.stage.program.inputs if d[1] == index >> 2)
        if declared[4] == _FLAT:
            return self.attribute(index, None)
        if mode == "centroid":
            px, py = self.centroid()
        elif mode == "sample":
            at = self.offsets[np.minimum(arguments[0].astype(np.int64), len(self.offsets) - 1)]
            px, py = self.x * SUBPIXEL + at[:, 0], self.y * SUBPIXEL + at[:, 1]
        else:
            dx, dy = ((a.astype(np.int64) & 15 ^ 8) - 8 for a in arguments)
            px, py = self.x * SUBPIXEL + 128 + 16 * dx, self.y * SUBPIXEL + 128 + 16 * dy
        return self.attribute(index, self.source_weights(self.weights_at(px, py), declared[4] not in _NOPERSPECTIVE))

    # --- from coverage to memory -------------------------------------------------------------------------------------

    def run(self) -> None:
        stage, program = self.stage, self.stage.program
        tested = stage.early
        if tested:
            self._test(None, None)
            if not self.coverage.any():
                return
        colors: dict[int, Array] = {}
        depth = stencil = None
        if program is not None:
            x = self._shade(program)
            stage.counters.add("ps_invocations", int((~self._helpers).sum()))
            self.coverage &= ~x.discarded[:, None]
            rows = x.outputs
            if self.part is not None:
                for register in range(min(8, len(rows) // 4)):
                    rows[4 * register + 3] = (rows[4 * register + 3].view(np.float32) * self.part).view(np.uint32)
            declared = {(d[1], d[3]) for d in program.outputs}
            registers = {r for r, _ in declared}
            colors = {r: rows[4 * r : 4 * r + 4].T for r in registers if r < 8}
            if OUTPUT_COVERAGE_REGISTER in registers:
                bits = rows[4 * OUTPUT_COVERAGE_REGISTER]
                self.coverage &= (bits[:, None] >> np.arange(self.coverage.shape[1], dtype=np.uint32) & 1).astype(bool)
            if stage.merger.alpha_to_coverage and 0 in colors:
                self._alpha_to_coverage(np.ascontiguousarray(colors[0][:, 3]).view(np.float32))
            if OUTPUT_STENCIL_REGISTER in registers:
                stencil = rows[4 * OUTPUT_STENCIL_REGISTER]
            if OUTPUT_DEPTH_REGISTER in registers:
                depth = self._written_depth(np.ascontiguousarray(rows[4 * OUTPUT_DEPTH_REGISTER]).view(np.float32), declared)
        if not tested:
            self._test(depth, stencil)
        self._write(colors)

    def _shade(self, program: Program) -> Interpreter:
        system = self._system() if program.systems or any(d[3] in _GENERATED for d in program.inputs) else {}
        self._helpers = ~np.asarray(self.coverage.any(axis=1))
        lanes = Lanes(
            self.n,
            self._inputs(program, system),
            system=system,
            helper=self._helpers,
            rasterizer_samples=self.stage.samples,
            evaluate=self._evaluate,
            **self.stage.bindings,
        )
        x = Interpreter(program, lanes, self.stage.stop)
        x.run()
        return x

    def _written_depth(self, value: Array, declared: set[tuple[int, int]]) -> Array:
        low, high = self.primitives.depth[self.source].T
        value = np.clip(np.where(np.isnan(value), 0, value), low, high).astype(np.float32)
        own = self.depth_from(self.centre_weights())
        if (OUTPUT_DEPTH_REGISTER, SystemValue.DEPTH_GREATER_EQUAL) in declared:
            return np.maximum(value, own)
        if (OUTPUT_DEPTH_REGISTER, SystemValue.DEPTH_LESS_EQUAL) in declared:
            return np.minimum(value, own)
        return value

    def _alpha_to_coverage(self, alpha: Array) -> None:
        samples = self.coverage.shape[1]
        count = np.floor(np.clip(np.where(np.isnan(alpha), 0, alpha), 0, 1) * samples + 0.5)
        self.coverage &= np.arange(samples) < count[:, None]

    def _fragments(self) -> tuple[Array, Array]:
        """Covered (lane, sample) pairs."""
        lane, sample = np.nonzero(self.coverage)
        return lane, sample

    def _layers(self, lane: Array, sample: Array) -> list[Array]:
        """Fragments split so that no place occurs twice in a part, in order of primitives."""
        if len(lane) < 2 or self.t[lane[0]] == self.t[lane[-1]]:
            return [np.arange(len(lane))]
        m = self.stage.merger
        place = ((self.primitives.layer[self.source[lane]] * 8 + sample) * m.height + self.y[lane]) * m.width + self.x[lane]
        order = np.argsort(place, kind="stable")
        ranked = place[order]
        start = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
        rank = np.empty(len(lane), np.int64)
        rank[order] = np.arange(len(lane)) - np.repeat(start, np.diff(np.append(start, len(lane))))
        return [np.flatnonzero(rank == r) for r in range(int(rank.max()) + 1)]

    def _test(self, depth: Array | None, stencil: Array | None) -> None:
        """Depth and stencil test of every covered sample; coverage keeps those that pass."""
        merger = self.stage.merger
        lane, sample = self._fragments()
        if not len(lane):
            return
        if merger.depth is not None and (merger.ds.depth_enable or merger.ds.stencil_enable):
            if depth is not None:
                z = depth[lane]
            else:
                z = np.empty(len(lane), np.float32)
                for s in range(self.coverage.shape[1]):
                    dx, dy = self.offsets[s]
                    own = sample == s
                    w = self.weights_at(self.x * SUBPIXEL + dx, self.y * SUBPIXEL + dy)
                    z[own] = self.depth_from(w)[lane[own]]
            layer = self.primitives.layer[self.source[lane]]
            front = self.setup.front[self.t[lane]]
            passed = np.zeros(len(lane), bool)
            for part in self._layers(lane, sample):
                at = lane[part]
                ref = stencil[at] if stencil is not None else None
                passed[part] = merger.test(layer[part], self.y[at], self.x[at], sample[part], z[part], front[part], ref)
            self.coverage[lane, sample] = passed
        self.stage.counters.add("occlusion", int(self.coverage.sum()))

    def _write(self, colors: dict[int, Array]) -> None:
        merger = self.stage.merger
        if not merger.targets or not colors:
            return
        lane, sample = self._fragments()
        layer = self.primitives.layer[self.source[lane]]
        second = colors.get(1)
        for part in self._layers(lane, sample):
            at = lane[part]
            for slot in merger.targets:
                if slot in colors:
                    other = second[at] if second is not None and slot == 0 else None
                    merger.write(slot, layer[part], self.y[at], self.x[at], sample[part], colors[slot][at], other)
