"""Random programs, run as HLSL and as Python: same numbers, whatever is unrolled, flattened or left as it is."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.support.dxbc_interpreter import run_compute
from tests.support.hlsl import sound
from wddm import hlsl

LANES = 16
VARIABLES = ("x", "y", "z", "w", "v.x", "v.y", "v.z", "v.w", "t[0]", "t[1]", "t[2]")


class Break(Exception):
    pass


class Continue(Exception):
    pass


class Return(Exception):
    pass


def wrap(n: int) -> int:
    return (n + (1 << 31)) % (1 << 32) - (1 << 31)


@dataclass
class Generator:
    """Builds statements as pairs of HLSL text and a Python function over an environment of ints."""

    random: random.Random
    loops: int = 0
    unrolled: list[bool] = field(default_factory=list)
    depth: int = 0

    def expression(self, depth: int = 0) -> tuple[str, object]:
        r = self.random
        kind = r.randrange(9 if depth < 3 else 3)
        if kind == 0:
            n = r.randrange(-9, 10)
            return f"({n})", lambda e, n=n: n
        if kind in (1, 2):
            name = r.choice(VARIABLES)
            return name, lambda e, name=name: e[name]
        a, fa = self.expression(depth + 1)
        b, fb = self.expression(depth + 1)
        if kind == 3:
            c, fc = self.condition(depth + 1)
            return f"({c} ? {a} : {b})", lambda e: fa(e) if fc(e) else fb(e)
        if kind == 4:
            return f"t[({a}) & 3 ? 1 : 2]", lambda e: e["t[1]"] if fa(e) & 3 else e["t[2]"]
        if kind == 5:
            return f"max({a}, {b})", lambda e: max(fa(e), fb(e))
        op = r.choice("+-*&|^")
        apply = {"+": lambda p, q: p + q, "-": lambda p, q: p - q, "*": lambda p, q: p * q, "&": lambda p, q: p & q,
                 "|": lambda p, q: p | q, "^": lambda p, q: p ^ q}[op]  # fmt: skip
        return f"({a} {op} {b})", lambda e: wrap(apply(fa(e), fb(e)))

    def condition(self, depth: int = 0) -> tuple[str, object]:
        a, fa = self.expression(depth + 1)
        b, fb = self.expression(depth + 1)
        op = self.random.choice(("<", ">", "==", "!=", "<=", ">="))
        apply = {"<": int.__lt__, ">": int.__gt__, "==": int.__eq__, "!=": int.__ne__, "<=": int.__le__, ">=": int.__ge__}[op]
        if self.random.random() < 0.2:
            return f"(({a} & 3) {op} 1)", lambda e: apply(fa(e) & 3, 1)
        return f"({a} {op} {b})", lambda e: apply(fa(e), fb(e))

    def block(self, count: int) -> tuple[str, object]:
        parts = [self.statement() for _ in range(count)]

        def run(e: dict[str, int]) -> None:
            for _, f in parts:
                f(e)

        return "{ " + " ".join(text for text, _ in parts) + " }", run

    def statement(self) -> tuple[str, object]:
        r = self.random
        self.depth += 1
        try:
            kind = r.randrange(12 if self.depth < 4 else 5)
            if kind < 5:
                return self.assignment()
            if kind < 8:
                return self.branch()
            if kind < 10:
                return self.loop()
            if kind == 10:
                return self.switch()
            return self.jump()
        finally:
            self.depth -= 1

    def assignment(self) -> tuple[str, object]:
        r = self.random
        if r.random() < 0.2:
            names = r.sample(("x", "y", "z", "w"), 4)
            place = "".join(names)

            def swizzle(e: dict[str, int]) -> None:
                values = [e[f"v.{n}"] for n in names]
                for n, value in zip("xyzw", values, strict=True):
                    e[f"v.{n}"] = value

            return f"v = v.{place};", swizzle
        name = r.choice(VARIABLES)
        text, f = self.expression()
        if r.random() < 0.3:
            a, fa = self.expression(2)
            index = f"t[({a}) & 1]"

            def indexed(e: dict[str, int]) -> None:
                value = f(e)
                e["t[1]" if fa(e) & 1 else "t[0]"] = value

            return f"{index} = {text};", indexed
        op = r.choice(("=", "=", "+=", "-=", "^="))
        apply = {"=": lambda p, q: q, "+=": lambda p, q: p + q, "-=": lambda p, q: p - q, "^=": lambda p, q: p ^ q}[op]

        def assign(e: dict[str, int]) -> None:
            value = f(e)
            e[name] = wrap(apply(e[name], value))

        return f"{name} {op} {text};", assign

    def branch(self) -> tuple[str, object]:
        c, fc = self.condition()
        then, ft = self.block(self.random.randrange(1, 4))
        attribute = self.random.choice(("", "", "[branch] ", "[flatten] "))
        if self.random.random() < 0.5:
            return f"{attribute}if ({c}) {then}", lambda e: ft(e) if fc(e) else None
        other, fo = self.block(self.random.randrange(1, 3))
        return f"{attribute}if ({c}) {then} else {other}", lambda e: ft(e) if fc(e) else fo(e)

    def loop(self) -> tuple[str, object]:
        self.loops += 1
        name, count = f"i{self.loops}", self.random.randrange(1, 5)
        attribute = self.random.choice(("", "[loop] ", "[unroll] "))
        self.unrolled.append(True)
        body, fb = self.block(self.random.randrange(1, 4))
        self.unrolled.pop()

        def run(e: dict[str, int]) -> None:
            for _ in range(count):
                try:
                    fb(e)
                except Break:
                    break
                except Continue:
                    continue

        return f"{attribute}for (int {name} = 0; {name} < {count}; {name}++) {body}", run

    def switch(self) -> tuple[str, object]:
        selector, fs = self.expression(1)
        cases = [self.block(self.random.randrange(1, 3)) for _ in range(3)]
        text = f"switch (({selector}) & 3) {{ case 0: {cases[0][0]} break; case 1: case 2: {cases[1][0]} break; default: {cases[2][0]} break; }}"

        def run(e: dict[str, int]) -> None:
            number = fs(e) & 3
            with suppress(Break):
                cases[0 if number == 0 else 1 if number in (1, 2) else 2][1](e)

        return text, run

    def jump(self) -> tuple[str, object]:
        c, fc = self.condition()
        kinds = ["return"]
        if self.unrolled:
            kinds += ["break", "continue"] * 2
        kind = self.random.choice(kinds)
        exception = {"return": Return, "break": Break, "continue": Continue}[kind]

        def run(e: dict[str, int]) -> None:
            if fc(e):
                raise exception

        return f"if ({c}) {'return x ^ y;' if kind == 'return' else kind + ';'}", run


HEAD = """
StructuredBuffer<int4> from; RWStructuredBuffer<int> to; cbuffer C {{ int zero; }};
static int4 v; static int t[3];
int f(int x, int y, int z, int w) {{ {body} return x + y; }}
[numthreads({lanes}, 1, 1)] void main(uint i : SV_GroupIndex) {{
    int4 a = from[i]; v = from[i].wzyx; t[0] = a.x; t[1] = a.y; t[2] = 3;
    int r = f(a.x, a.y, a.z, a.w); to[i] = r + v.x * 3 + v.y * 5 + v.z * 7 + v.w * 11 + t[0] * 13 + t[1] * 17 + t[2] * 19; }}
"""


def program(seed: int) -> tuple[str, np.ndarray, list[int]]:
    """Source, inputs (LANES, 4), and what Python says each lane gives."""
    generator = Generator(random.Random(seed))
    text, function = generator.block(6)
    data = np.random.default_rng(seed).integers(-20, 20, (LANES, 4))
    want = []
    for row in data.tolist():
        e = dict(zip("xyzw", row, strict=True))
        e.update(dict(zip(("v.x", "v.y", "v.z", "v.w"), row[::-1], strict=True)))
        e.update({"t[0]": row[0], "t[1]": row[1], "t[2]": 3})
        try:
            function(e)  # type: ignore[operator]
            result = e["x"] + e["y"]
        except Return:
            result = e["x"] ^ e["y"]
        total = result + sum(e[n] * k for n, k in zip(("v.x", "v.y", "v.z", "v.w", "t[0]", "t[1]", "t[2]"),
                                                       (3, 5, 7, 11, 13, 17, 19), strict=True))  # fmt: skip
        want.append(wrap(total))
    return HEAD.format(body=text, lanes=LANES), data, want


@pytest.mark.parametrize("seed", range(40))
def test_random_program(seed: int) -> None:
    source, data, want = program(seed)
    blob = hlsl.compile(source, profile="cs_5_0")
    sound(blob)
    out = np.zeros(LANES, np.uint32)
    run_compute(blob, textures={0: data.astype(np.uint32).reshape(-1)}, uavs={0: out}, buffers={0: np.zeros(4, np.uint32)})
    np.testing.assert_array_equal(out.view(np.int32), want)
