"""The hull and domain stages around the tessellator.

The control-point entry runs per output control point (pass-through programs hand the input on), the patch-constant entry once per
patch, the tessellator per patch, the domain program per domain point.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vgpu.engine import FaultError, StopWord
from wddm.hw.interrupts import Fault
from wddm.hw.isa import ProgramFlag, SystemRegister, SystemValue
from wddm.hw.packets import Stage

from . import tessellator
from .queries import Counters
from .shader import Interpreter, Lanes, Program

if TYPE_CHECKING:
    from .draw import Assembled

Array = npt.NDArray[Any]
#: Domain points shaded together, and dwords of control points that they may see together.
POINTS = 16384
SEEN = 1 << 24
#: Patches tessellated together.
PATCHES = 16
_EDGES: dict[int, tuple[SystemValue, ...]] = {
    tessellator.QUAD: (SystemValue.QUAD_EDGE_U0, SystemValue.QUAD_EDGE_V0, SystemValue.QUAD_EDGE_U1, SystemValue.QUAD_EDGE_V1),
    tessellator.TRIANGLE: (SystemValue.TRI_EDGE_U0, SystemValue.TRI_EDGE_V0, SystemValue.TRI_EDGE_W0),
    tessellator.ISOLINE: (SystemValue.LINE_DENSITY, SystemValue.LINE_DETAIL),
}
_INSIDE: dict[int, tuple[SystemValue, ...]] = {
    tessellator.QUAD: (SystemValue.QUAD_INSIDE_U, SystemValue.QUAD_INSIDE_V),
    tessellator.TRIANGLE: (SystemValue.TRI_INSIDE,),
    tessellator.ISOLINE: (),
}


def run(
    hs: Program, ds: Program, bound: dict[Any, Any], stream: Assembled, counters: Counters, stop: StopWord
) -> Iterator[Assembled]:
    """Domain vertices and primitives, some patches at a time."""
    points = hs.binary.primitive & 0xFF
    if stream.primitives.shape[1] != points:
        raise FaultError(Fault.PIPELINE, f"hull program of {points} control points gets patches of {stream.primitives.shape[1]}")
    if hs.binary.topology & 15 != ds.binary.topology & 15:
        raise FaultError(Fault.PIPELINE, "hull and domain programs of different domains")
    for first in range(0, len(stream.primitives), PATCHES):
        yield from _Patches(hs, ds, bound, stream, slice(first, first + PATCHES), counters, stop).run()


class _Patches:
    """Some patches on their way through the stages."""

    def __init__(
        self,
        hs: Program,
        ds: Program,
        bound: dict[Any, Any],
        stream: Assembled,
        which: slice,
        counters: Counters,
        stop: StopWord,
    ) -> None:
        self.hs, self.ds, self.bound, self.counters, self.stop = hs, ds, bound, counters, stop
        self.primitive_id = stream.primitive_id[which].astype(np.uint32)
        self.count = len(self.primitive_id)
        rows = _at_least(stream.rows, hs.input_rows)
        #: (points, rows, patches)
        self.input = np.ascontiguousarray(rows[:, stream.primitives[which]].transpose(2, 0, 1))

    def run(self) -> Iterator[Assembled]:
        control = self._control_points()
        constants = self._constants(control)
        self.counters.add("hs_invocations", self.count)
        domain = self.hs.binary.topology & 15
        partitioning, output = self.hs.binary.topology >> 4 & 15, self.hs.binary.topology >> 8
        limit = float(np.array([self.hs.binary.max_tess_factor], np.uint32).view(np.float32)[0]) or tessellator.MAX_FACTOR
        meshes = []
        for i in range(self.count):
            edges, inside = (self._factors(values[domain], constants, i) for values in (_EDGES, _INSIDE))
            meshes.append(tessellator.tessellate(domain, partitioning, output, edges, inside, limit))
        most = min(POINTS, SEEN // max(1, control.shape[0] * max(control.shape[1], self.ds.input_rows)))
        start = 0
        while start < self.count:
            end, total = start, 0
            while end < self.count and (end == start or total + len(meshes[end].points) <= most):
                total += len(meshes[end].points)
                end += 1
            if total:
                yield self._domain(meshes[start:end], np.arange(start, end), control, constants)
            start = end

    def _control_points(self) -> Array:
        """Hull outputs ``(points, rows, patches)``."""
        p, count = self.hs, self.count
        if p.binary.flags & ProgramFlag.PASS_THROUGH:
            return self.input
        points = p.binary.primitive >> 8
        if not points:
            return np.zeros((0, p.output_rows, count), np.uint32)
        patch, point = np.repeat(np.arange(count), points), np.tile(np.arange(points, dtype=np.uint32), count)
        lanes = Lanes(
            count * points,
            vertices=np.ascontiguousarray(self.input[:, :, patch]),
            system={SystemRegister.PRIMITIVE_ID: self.primitive_id[patch], SystemRegister.CONTROL_POINT_ID: point},
            **self.bound[Stage.HULL],
        )
        x = Interpreter(p, lanes, self.stop)
        x.run(0, p.binary.patch_entry)
        return np.ascontiguousarray(x.outputs.reshape(p.output_rows, count, points).transpose(2, 0, 1))

    def _constants(self, control: Array) -> Array:
        """Patch constants ``(rows, patches)``."""
        p = self.hs
        lanes = Lanes(
            self.count,
            vertices=self.input,
            patch=np.zeros((p.patch_rows, self.count), np.uint32),
            control_points=control,
            system={SystemRegister.PRIMITIVE_ID: self.primitive_id},
            **self.bound[Stage.HULL],
        )
        x = Interpreter(p, lanes, self.stop)
        x.run(p.binary.patch_entry)
        assert lanes.patch is not None
        return lanes.patch

    def _factors(self, values: tuple[SystemValue, ...], constants: Array, patch: int) -> tuple[float, ...]:
        """Tessellation factors of a patch; 1 where the program declares none."""
        rows: dict[int, int] = {}
        for _, register, mask, value, _extra in sorted(self.hs.patch, key=lambda d: d[1]):
            rows.setdefault(value, register * 4 + ((mask & -mask).bit_length() - 1))
        floats = constants.view(np.float32)
        return tuple(float(floats[rows[v], patch]) if v in rows else 1.0 for v in values)

    def _domain(self, meshes: list[tessellator.Mesh], patches: Array, control: Array, constants: Array) -> Assembled:
        """Run the domain program over the points of some patches."""
        from .draw import Assembled

        sizes = [len(m.points) for m in meshes]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        patch = np.repeat(patches, sizes)
        coordinates = np.array([point for m in meshes for point in m.points], np.float32)
        if coordinates.shape[1] == 2:
            coordinates = np.pad(coordinates, [(0, 0), (0, 1)])
        u, v, w = (np.ascontiguousarray(coordinates[:, i]).view(np.uint32) for i in range(3))
        p = self.ds
        wide = np.zeros((control.shape[0], max(control.shape[1], p.input_rows), control.shape[2]), np.uint32)
        wide[:, : control.shape[1]] = control
        lanes = Lanes(
            len(patch),
            vertices=np.ascontiguousarray(wide[:, :, patch]),
            patch=_at_least(constants, p.patch_rows)[:, patch],
            system={
                SystemRegister.PRIMITIVE_ID: self.primitive_id[patch],
                SystemRegister.DOMAIN_U: u,
                SystemRegister.DOMAIN_V: v,
                SystemRegister.DOMAIN_W: w,
            },
            **self.bound[Stage.DOMAIN],
        )
        self.counters.add("ds_invocations", len(patch))
        x = Interpreter(p, lanes, self.stop)
        x.run()
        primitives = [np.array(m.primitives, np.int64) + s for m, s in zip(meshes, starts, strict=False) if m.primitives]
        numbers = np.repeat(self.primitive_id[patches], [len(m.primitives) for m in meshes])
        return Assembled(p, x.outputs, np.concatenate(primitives), numbers)


def _at_least(rows: Array, count: int) -> Array:
    """Rows padded with zeros to ``count``."""
    if len(rows) >= count:
        return rows
    return np.concatenate([rows, np.zeros((count - len(rows), rows.shape[1]), np.uint32)])
