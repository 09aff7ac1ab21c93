"""Sample frequency, centroid and interpolation at chosen places on both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from tests.unit.llvm.test_draws import ALPHA, STENCIL, triangles
from wddm.hw.descriptors import BlendFlag, DepthStencil, TargetBlend
from wddm.hw.formats import Format
from wddm.hw.packets import Op

HEAD = "pixel temps=8 {flags}\ninput 1 xyzw interp={interp}\noutput 0 xyzw sv=TARGET\n"
#: What runs per sample, or looks at one: it writes exact numbers.
EXACT = {
    "index": HEAD + "utof r0, $SAMPLE_INDEX\nfmul o0.x, r0, 0.125\nmov o0.y, v1.y\nmov o0.z, v1.z\nmov o0.w, 1.0\n",
    "place": HEAD + "fmul r0, $POSITION_X, 0.25\nffrc o0.x, r0\nfmul r0, $POSITION_Y, 0.25\nffrc o0.y, r0\nmov o0.z, v1.z\nmov o0.w, v1.w\n",
    "covered": HEAD + "utof r0, $COVERAGE\nfmul o0.x, r0, 0.00390625\nmov o0.y, v1.y\nmov o0.z, v1.z\nmov o0.w, 1.0\n",
    "discard": HEAD + "utof r0, $SAMPLE_INDEX\nfmul r0, r0, 0.125\nflt r1, v1.x, r0\ndiscard r1\n"
    + "mov o0.x, r0\nmov o0.y, v1.y\nmov o0.z, v1.z\nmov o0.w, v1.w\n",
    "coverage out": HEAD + "output 33 x sv=COVERAGE\niadd r0, $SAMPLE_INDEX, 5\nmov o33.x, r0\n"
    + "".join(f"mov o0.{c}, v1.{c}\n" for c in "xyzw"),
    "depth out": HEAD + "output 32 x sv=DEPTH\nutof r0, $SAMPLE_INDEX\nfmul r0, r0, 0.125\nfadd o32.x, r0, v1.y\n"
    + "".join(f"mov o0.{c}, v1.{c}\n" for c in "xyzw"),
}  # fmt: skip
MODES = [mode + where for mode in ("LINEAR", "LINEAR_NOPERSPECTIVE") for where in ("", "_CENTROID", "_SAMPLE")]
PLAIN = HEAD + "".join(f"mov o0.{c}, v1.{c}\n" for c in "xyzw")
EVALUATED = {
    "centroid": "eval_centroid o0.{c}, v1.{c}\n",
    "sample": "mov r0, $PRIMITIVE_ID\nand r0, r0, 7\neval_sample o0.{c}, v1.{c}, r0\n",
    "snapped": "mov r0, $PRIMITIVE_ID\niadd r1, r0, 9\neval_snapped o0.{c}, v1.{c}, r0, r1\n",
    "own sample": "eval_sample o0.{c}, v1.{c}, $SAMPLE_INDEX\n",
    "negative": "eval_snapped r0, -v1.{c}, -3, 5\nfadd o0.{c}, r0, 1.0\n",
}


def text(source: str, interp: str = "CONSTANT", flags: str = "") -> str:
    """A program ready for :func:`triangles`, which fills in braces."""
    return source.replace("{interp}", interp).replace("{flags}", flags)


def build(ps: str, *, to_coverage: bool = False, **options: Any) -> Callable[[Scene], list[Surface]]:
    """Triangles through a program; ``to_coverage``: of alpha."""
    draw = triangles(ps=ps, blend=None if to_coverage else options.pop("blend", None), **options)

    def with_state(s: Scene) -> list[Surface]:
        if to_coverage:
            s.emit(Op.SET_BLEND, arg=BlendFlag.ALPHA_TO_COVERAGE, data=[TargetBlend().pack()] * 8)
        return draw(s)

    return with_state


@pytest.mark.parametrize("samples", [1, 2, 4, 8])
@pytest.mark.parametrize("name", EXACT)
def test_bits_equal(name: str, samples: int) -> None:
    for reference, compiled in run_both(build(text(EXACT[name]), samples=samples, n=20, state=STENCIL)):
        assert reference.any()
        assert np.array_equal(reference, compiled)


@pytest.mark.parametrize("name", ["index", "covered"])
@pytest.mark.parametrize("flags", ["flags=1", "flags=2"])
def test_order_of_tests(name: str, flags: str) -> None:
    for reference, compiled in run_both(build(text(EXACT[name], flags=flags), samples=4, n=20, state=STENCIL, blend=ALPHA)):
        assert np.array_equal(reference, compiled)


@pytest.mark.parametrize("name", ["index", "discard"])
def test_alpha_to_coverage(name: str) -> None:
    for reference, compiled in run_both(build(text(EXACT[name]), samples=8, n=20, to_coverage=True)):
        assert reference.any()
        assert np.array_equal(reference, compiled)


@pytest.mark.parametrize("interp", MODES)
@pytest.mark.parametrize("samples", [1, 4])
def test_interpolation(interp: str, samples: int) -> None:
    color, depth = run_both(build(text(PLAIN, interp), samples=samples, n=20, w=(0.3, 2)))
    assert np.array_equal(*depth)
    assert color[0].any()
    assert np.abs(color[0].astype(int) - color[1]).max() <= 1


@pytest.mark.parametrize("name", EVALUATED)
@pytest.mark.parametrize("interp", ["LINEAR", "LINEAR_NOPERSPECTIVE_CENTROID", "CONSTANT"])
def test_evaluation(name: str, interp: str) -> None:
    ps = text(HEAD, interp) + "".join(EVALUATED[name].replace("{c}", c) for c in "xyzw")
    for samples in (1, 8):
        color, _ = run_both(build(ps, samples=samples, n=20, w=(0.3, 2), size=1.0))
        assert color[0].any()
        assert np.abs(color[0].astype(int) - color[1]).max() <= 1


@settings(deadline=None, max_examples=6, database=None)
@given(
    name=st.sampled_from(list(EXACT)), samples=st.sampled_from([2, 4, 8]), seed=st.integers(0, 1000),
    state=st.sampled_from([None, STENCIL, DepthStencil(True, True, 2, False)]), to_coverage=st.booleans(),
    flags=st.sampled_from(["", "flags=1", "flags=2"]),
    depth=st.sampled_from([None, Format.D16_UNORM, Format.D24_UNORM_S8_UINT, Format.D32_FLOAT_S8X24_UINT]),
)  # fmt: skip
def test_any_program_agrees(name: str, flags: str, **options: Any) -> None:
    if flags == "flags=1" and name == "depth out":
        flags = ""
    for reference, compiled in run_both(build(text(EXACT[name], flags=flags), n=12, **options)):
        assert np.array_equal(reference, compiled)


@pytest.mark.parametrize("mask", [0b0101, 0b1000])
@pytest.mark.parametrize("name", ["index", "covered"])
@pytest.mark.parametrize("flags", ["", "flags=2"])
def test_samples_outside_the_mask_are_not_drawn(name: str, flags: str, mask: int) -> None:
    draw = build(text(EXACT[name], flags=flags), samples=4, n=20, state=STENCIL)

    def masked(s: Scene) -> list[Surface]:
        s.emit(Op.SET_BLEND_FACTOR, data=[0, 0, 0, 0, mask])
        return draw(s)

    for (reference, compiled), (whole, _) in zip(run_both(masked), run_both(draw), strict=True):
        assert np.array_equal(reference, compiled)
        assert not np.array_equal(reference, whole)
