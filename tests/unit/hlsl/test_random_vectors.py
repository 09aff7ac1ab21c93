"""Random vector expressions: swizzles, constructors, dot products, l-value swizzles, structures; exact in float32."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.dxbc_interpreter import run_stage
from tests.support.hlsl import sound
from wddm import hlsl

LANES = 8
Value = Callable[[dict[str, Any]], Any]
NAMES = ("a", "b", "c", "d", "s.p", "s.q")


def clamp(x: Any) -> Any:
    return np.clip(x, -9, 9)


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def vector(self, n: int, depth: int = 0) -> tuple[str, Value]:
        r = self.random
        kind = r.randrange(9 if depth < 4 else 2)
        if kind == 0:
            values = [r.randrange(-5, 6) for _ in range(n)]
            text = f"float{n}({', '.join(map(str, values))})" if n > 1 else f"({values[0]}.0)"
            return text, lambda e: np.tile(np.array(values, float), (LANES, 1))
        if kind in (1, 2):
            name, places = r.choice(NAMES), [r.randrange(4) for _ in range(n)]
            return f"{name}.{''.join('xyzw'[p] for p in places)}", lambda e: e[name][:, places]
        if kind == 3:
            split = r.randrange(1, n) if n > 1 else 0
            if not split:
                x, fx = self.vector(4, depth + 1)
                y, fy = self.vector(4, depth + 1)
                size = r.choice((2, 3, 4))
                cut = "xyzw"[:size]
                return f"clamp(dot(({x}).{cut}, ({y}).{cut}), -9, 9)", lambda e: clamp(
                    (fx(e)[:, :size] * fy(e)[:, :size]).sum(1, keepdims=True))  # fmt: skip
            x, fx = self.vector(split, depth + 1)
            y, fy = self.vector(n - split, depth + 1)
            return f"float{n}({x}, {y})", lambda e: np.concatenate([fx(e), fy(e)], 1)
        x, fx = self.vector(n, depth + 1)
        if kind == 4:
            return f"-({x})", lambda e: -fx(e)
        if kind == 5:
            return f"abs({x})", lambda e: np.abs(fx(e))
        y, fy = self.vector(n, depth + 1)
        if kind == 6:
            z, fz = self.vector(n, depth + 1)
            return f"({x} < {y} ? {z} : {x})", lambda e: np.where(fx(e) < fy(e), fz(e), fx(e))
        if kind == 7:
            return f"clamp({x} * {y} - {x}, -9, 9)", lambda e: clamp(fx(e) * fy(e) - fx(e))
        return f"clamp({x} + {y}, -9, 9)", lambda e: clamp(fx(e) + fy(e))

    def statement(self, depth: int = 0) -> tuple[str, Callable[[dict[str, Any], Any], None]]:
        r = self.random
        if depth < 2 and r.random() < 0.25:
            x, fx = self.vector(1, 2)
            body = [self.statement(depth + 1) for _ in range(3)]
            attribute = r.choice(("", "[branch] ", "[flatten] "))

            def branch(e: dict[str, Any], mask: Any) -> None:
                taken = mask & (fx(e)[:, 0] > 0)
                for _, f in body:
                    f(e, taken)

            return f"{attribute}if ({x} > 0) {{ {' '.join(t for t, _ in body)} }}", branch
        name, n = r.choice(NAMES), r.randrange(1, 5)
        places = r.sample(range(4), n)
        x, fx = self.vector(n)

        def assign(e: dict[str, Any], mask: Any) -> None:
            value = fx(e)
            target = e[name].copy()
            for k, p in enumerate(places):
                target[mask, p] = value[mask, k]
            e[name] = target

        return f"{name}.{''.join('xyzw'[p] for p in places)} = {x};", assign


SOURCE = """struct S {{ float4 p, q; }};
float4 main(float4 a : A, float4 b : B, float2 c0 : C, float2 c1 : D) : SV_Target {{
    float4 c = float4(c0, c1), d = a.wzyx; S s; s.p = b.yxwz; s.q = float4(c1.y, a.xy, 1); {body}
    return a + b * 3 + c * 5 + d * 7 + s.p * 11 + s.q * 13; }}"""


@pytest.mark.parametrize("seed", range(30))
def test_random_vectors(seed: int) -> None:
    generator = Generator(seed)
    statements = [generator.statement() for _ in range(8)]
    blob = hlsl.compile(SOURCE.format(body=" ".join(t for t, _ in statements)))
    sound(blob)
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-5, 6, (2, LANES, 4)).astype(float)
    c = rng.integers(-5, 6, (LANES, 4)).astype(float)
    out, _ = run_stage(blob, {"A": a, "B": b, "C": c[:, :2], "D": c[:, 2:]})
    e = {"a": a, "b": b, "c": c, "d": a[:, ::-1], "s.p": b[:, [1, 0, 3, 2]],
         "s.q": np.stack([c[:, 3], a[:, 0], a[:, 1], np.ones(LANES)], 1)}  # fmt: skip
    for _, run in statements:
        run(e, np.ones(LANES, bool))
    want = sum(e[n] * k for n, k in zip(NAMES, (1, 3, 5, 7, 11, 13), strict=True))
    np.testing.assert_array_equal(out["SV_Target0"].view(np.float32), want)
