"""Clipping in homogeneous coordinates: near and far planes (unless depth clip is off), clip and cull distances, and w > 0.

Left, right, top and bottom need no cutting: the rasteriser looks at pixels of the viewport alone. Only primitives that reach out of
the fixed-point range are cut there, far outside the viewport, so that cutting never moves an edge that can be seen.

Vertices of cut primitives are kept as weights of the original ones, from which everything is interpolated. Sums go from the first
vertex to the last, each product rounded: another order would move what is cut out of primitives that reach far behind the eye.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
#: Pixels from the origin within which vertices may lie.
RANGE: Final = 32768.0
#: What an infinite distance counts as.
FAR: Final = float(np.finfo(np.float32).max)


@dataclass(slots=True)
class Pieces:
    """What is left: points, lines or triangles. ``weights[t, v]`` are weights of the source primitive's vertices."""

    source: Array  #: (T,) primitive
    weights: Array  #: (T, k, k) float64
    position: Array  #: (T, k, 4) float64, clip space


def clip(
    position: Array, clip_distance: Array, cull_distance: Array, depth_clip: bool, limits: Array, *, sides: bool = False
) -> Pieces:
    """Clip ``position (P, k, 4)`` (k = 1, 2, 3). Distances: ``(P, k, m)``. ``limits (P, 4)``: smallest and largest x, then y,
    in normalised device coordinates, that fixed point holds in the primitive's viewport. ``sides``: drop what lies beyond the
    left, right, top or bottom of the view volume as a whole (not lines and points: they are wider than their vertices tell).
    """
    k = position.shape[1]
    keep = np.asarray(np.isfinite(position).all(axis=(1, 2)))
    if cull_distance.shape[2]:
        culled = np.asarray((~(cull_distance >= 0)).all(axis=1))
        keep &= ~culled.any(axis=1)
    x, y, z, w = (position[:, :, i] for i in range(4))
    if sides:
        beyond = np.asarray(np.stack([x < -w, x > w, y < -w, y > w], 2).all(axis=1))
        keep &= ~beyond.any(axis=1)
    low_x, high_x, low_y, high_y = (limits[:, i, None] for i in range(4))
    planes = [w - 2.0**-100]
    if depth_clip:
        planes += [z, w - z]
    planes += [x - low_x * w, high_x * w - x, y - low_y * w, high_y * w - y]
    distances = np.concatenate([np.stack(planes, 2), np.nan_to_num(clip_distance, nan=-1.0, posinf=FAR, neginf=-FAR)], 2)
    inside: Array = distances >= 0
    some = np.asarray(inside.any(axis=1))
    keep &= some.all(axis=1)
    whole = keep & inside.all(axis=(1, 2))
    cut = np.flatnonzero(keep & ~whole)
    source: list[int] = []
    weights: list[Array] = []
    for p in cut.tolist():
        for piece in _cut(distances[p], k):
            source.append(p)
            weights.append(piece)
    intact = np.flatnonzero(whole)
    all_source = np.concatenate([intact, np.array(source, np.int64)])
    identity = np.broadcast_to(np.eye(k), (len(intact), k, k))
    all_weights = np.concatenate([identity, np.array(weights).reshape(-1, k, k)])
    order = np.argsort(all_source, kind="stable")
    all_source, all_weights = all_source[order], all_weights[order]
    moved = weigh(all_weights, position[all_source])
    untouched = np.isin(all_source, intact)
    moved[untouched] = position[all_source[untouched]]
    positive = (moved[:, :, 3] > 0).all(axis=1)
    return Pieces(all_source[positive], all_weights[positive], moved[positive])


def weigh(weights: Array, values: Array) -> Array:
    """Sums ``(T, v, c)`` of ``values (T, k, c)`` by ``weights (T, v, k)``."""
    out: Array = weights[:, :, 0, None] * values[:, None, 0]
    for n in range(1, values.shape[1]):
        out += weights[:, :, n, None] * values[:, None, n]
    return out


def _cut(distances: Array, k: int) -> list[Array]:
    """Pieces of one primitive as weights ``(k, k)``; ``distances (k, planes)``."""
    polygon = list(np.eye(k))
    for plane in range(distances.shape[1]):
        d = distances[:, plane]
        if (d >= 0).all():
            continue
        sides = [float(weigh(v[None, None], d[None, :, None])[0, 0, 0]) for v in polygon]
        out: list[Array] = []
        count = len(polygon)
        for i in range(count if k > 2 else count - 1):
            a, b, da, db = polygon[i], polygon[(i + 1) % count], sides[i], sides[(i + 1) % count]
            if da >= 0:
                out.append(a)
            if (da >= 0) != (db >= 0):
                # From the inside to the outside, whichever way the edge runs: neighbours get the same vertex.
                t = da / (da - db) if da >= 0 else db / (db - da)
                out.append(a + (b - a) * t if da >= 0 else b + (a - b) * t)
        if k == 2 and sides[-1] >= 0:
            out.append(polygon[-1])
        if k == 1:
            out = [v for v, s in zip(polygon, sides, strict=True) if s >= 0]
        polygon = out
        if len(polygon) < k:
            return []
    if k < 3:
        return [np.array(polygon)]
    return [np.array([polygon[0], polygon[i], polygon[i + 1]]) for i in range(1, len(polygon) - 1)]
