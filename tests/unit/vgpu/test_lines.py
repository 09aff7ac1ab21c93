"""The diamond-exit rule, against the rule itself in rational arithmetic."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from vgpu.engine.reference import raster


def holds(x: Fraction, y: Fraction, steep: bool) -> bool:
    """Whether a diamond round the origin holds a point."""
    distance = abs(x) + abs(y)
    return distance < 128 or (distance == 128 and y > 0) or (steep and (x, y) == (128, 0))


def leaves(x0: int, y0: int, x1: int, y1: int) -> bool:
    """Whether the line leaves the diamond: it is inside somewhere, and not at its end."""
    dx, dy = x1 - x0, y1 - y0
    steep = abs(dy) > abs(dx)
    if holds(Fraction(x1), Fraction(y1), steep):
        return False
    at = {Fraction(0), Fraction(1)}  # ends, and where it crosses the lines that bound the diamond or go through its corners
    for a, b, c in ((1, 1, 128), (1, 1, -128), (1, -1, 128), (1, -1, -128), (1, 0, 0), (0, 1, 0)):
        if across := a * dx + b * dy:
            t = Fraction(c - a * x0 - b * y0, across)
            at |= {t} if 0 <= t <= 1 else set()
    ordered = sorted(at)
    places = ordered + [(a + b) / 2 for a, b in pairwise(ordered)]
    return any(holds(x0 + t * dx, y0 + t * dy, steep) for t in places)


@pytest.mark.parametrize("unit", [1, 16, 37, 64, 128])
def test_diamonds(unit: int) -> None:
    """``unit``: ends lie on this grid, so that lines go through corners and along sides."""
    r = random.Random(unit)
    seen = set()
    for _ in range(1500):
        x0, y0, x1, y1 = (r.randint(-6, 6) * unit for _ in range(4))
        if (x0, y0) != (x1, y1):
            got = bool(raster.leaves_diamond(x0, y0, x1, y1, np.array(0), np.array(0)))
            assert got is leaves(x0, y0, x1, y1), (x0, y0, x1, y1)
            seen.add(got)
    assert len(seen) == (1 if unit == 1 else 2)


@pytest.mark.parametrize("seed", range(20))
def test_no_pixel_of_a_line_is_missed(seed: int) -> None:
    r = random.Random(seed)
    x0, y0, x1, y1 = (r.randint(-8, 40) * r.choice([32, 64, 77]) for _ in range(4))
    ys, xs = np.mgrid[0:16, 0:16]
    lit = raster.leaves_diamond(x0, y0, x1, y1, xs * 256 + 128, ys * 256 + 128)
    px, py = raster.line_pixels(x0, y0, x1, y1, np.array([0, 0, 16, 16]))
    picture = np.zeros((16, 16), bool)
    picture[py, px] = True
    assert len(px) == picture.sum() == lit.sum()
    assert np.array_equal(picture, lit)
