"""Lowering of the intrinsic functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from wddm.hlsl import tree
from wddm.hlsl.intrinsics import INTRINSICS
from wddm.hlsl.ir.nodes import FALSE, ONE, TRUE, ZERO, Fixed, Imm, Value, Vec, imm, imm_float
from wddm.hlsl.types import Numeric

from .convert import change_base, convert
from .loops import LoopLowering

__all__ = ["IntrinsicLowering"]


_FIVE = ("Interlocked", "Evaluate", "Process", "msad4", "asdouble")


class IntrinsicLowering(LoopLowering):
    def intrinsic(self, node: tree.CallIntrinsic) -> Vec:
        self.step(node.token)
        name = node.name
        known = INTRINSICS.get(name)
        self.need_model(known.model if known else 50 if name.startswith(_FIVE) else 40, name, node.token)
        handler = _HANDLERS.get(name)
        if handler is not None:
            return handler(self, node)
        if name.startswith("tex"):
            return self.legacy_sample(node)
        if name.startswith("Interlocked"):
            return self.interlocked(node)
        if name.startswith("Process"):
            return self.process_tessellation(node)
        arguments = [self.value(a) for a in node.arguments]
        kind = node.arguments[0].numeric.kind if arguments else "f"
        return _VALUES[name](self, kind, *arguments)

    def legacy_sample(self, node: tree.CallIntrinsic) -> Vec:
        raise NotImplementedError

    def interlocked(self, node: tree.CallIntrinsic) -> Vec:
        raise NotImplementedError

    def process_tessellation(self, node: tree.CallIntrinsic) -> Vec:
        raise NotImplementedError

    # -- small helpers -------------------------------------------------------------------------------------------

    def c(self, value: float) -> Vec:
        return (imm_float(value),)

    def mad(self, a: Vec, x: Vec, c: Vec) -> Vec:
        return self.b.op("add", self.b.op("mul", a, x), c)

    def minus(self, a: Vec, x: Vec) -> Vec:
        return self.b.op("add", a, self.b.op("fneg", x))

    def polynomial(self, x: Vec, coefficients: list[float]) -> Vec:
        """Horner's rule, highest power first."""
        result = self.c(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.mad(result, x, self.c(coefficient))
        return result

    def set_out(self, node: tree.CallIntrinsic, index: int, lanes: Vec, type_: Numeric) -> None:
        target = node.arguments[index]
        self.store(self.place(target), convert(self.b, lanes, type_, target.type), node.token)

    # -- with out parameters or other peculiarities --------------------------------------------------------------

    def clip(self, node: tree.CallIntrinsic) -> Vec:
        self.need_stage("p", "clip", node.token)
        tests = self.b.op("lt", self.value(node.arguments[0]), (ZERO,))
        any_ = tests[0]
        for test in tests[1:]:
            any_ = self.b.one("or", any_, test)
        if any_ is not FALSE:
            self.b.effect("discard", [(any_,)])
        return ()

    def sincos(self, node: tree.CallIntrinsic) -> Vec:
        angle = self.value(node.arguments[0])
        sine, cosine = self.b.op("sin", angle), self.b.op("cos", angle)
        type_ = node.arguments[0].numeric
        self.set_out(node, 1, sine, type_)
        self.set_out(node, 2, cosine, type_)
        return ()

    def modf(self, node: tree.CallIntrinsic) -> Vec:
        value = self.value(node.arguments[0])
        whole = self.b.op("round_z", value)
        self.set_out(node, 1, whole, node.arguments[0].numeric)
        return self.minus(value, whole)

    def frexp(self, node: tree.CallIntrinsic) -> Vec:
        """Mantissa in [0.5, 1) and exponent; both 0 for 0."""
        b = self.b
        x = self.value(node.arguments[0])
        nonzero = b.op("ne", x, (ZERO,))
        biased = b.op("and", b.op("ushr", x, (imm(23),)), (imm(0xFF),))
        exponent = b.op("and", b.op("itof", b.op("iadd", biased, (imm(-126),))), nonzero)
        mantissa = b.op("or", b.op("and", x, (imm(0x807FFFFF),)), (imm(0x3F000000),))
        self.set_out(node, 1, exponent, node.arguments[0].numeric)
        return b.op("and", mantissa, nonzero)

    def asuint(self, node: tree.CallIntrinsic) -> Vec:
        lanes = self.value(node.arguments[0])
        if len(node.arguments) == 1:
            return lanes
        type_ = node.arguments[0].numeric.with_base("uint")
        self.set_out(node, 1, lanes[::2], type_)
        self.set_out(node, 2, lanes[1::2], type_)
        return ()

    def asdouble(self, node: tree.CallIntrinsic) -> Vec:
        low, high = (self.value(a) for a in node.arguments)
        return tuple(v for pair in zip(low, high, strict=True) for v in pair)

    def msad4(self, node: tree.CallIntrinsic) -> Vec:
        """Masked sums of absolute differences at four byte offsets into ``source``."""
        b = self.b
        reference, source, accumulated = (self.value(a) for a in node.arguments)
        shifted = [source[0]] + [
            b.one("or", b.one("ushr", source[0], imm(8 * k)), b.one("ishl", source[1], imm(32 - 8 * k))) for k in (1, 2, 3)
        ]
        return b.op("msad", reference, tuple(shifted), accumulated)

    def evaluate_attribute(self, node: tree.CallIntrinsic) -> Vec:
        """Pull-model evaluation: the argument must be an input, untouched."""
        self.need_stage("p", node.name, node.token)
        lanes = self.value(node.arguments[0])
        rest = [self.value(a) for a in node.arguments[1:]]
        # The documentation says AtCentroid, the compiler of the SDK says Centroid.
        op = {"EvaluateAttributeAtCentroid": "eval_centroid", "EvaluateAttributeCentroid": "eval_centroid",
              "EvaluateAttributeAtSample": "eval_sample_index",
              "EvaluateAttributeSnapped": "eval_snapped"}[node.name]  # fmt: skip
        out: list[Value] = []
        for lane in lanes:
            if not isinstance(lane, Fixed) or lane.register.file != "INPUT":
                self.fail(3085, f"{node.name} needs an input of the shader", node.token)
            out += self.b.vector(op, [lane.register.lanes, *rest], (lane.component,), varying=True)
        return tuple(out)

    def barrier(self, node: tree.CallIntrinsic) -> Vec:
        flags = {"AllMemoryBarrier": ("global", "shared"), "DeviceMemoryBarrier": ("global",), "GroupMemoryBarrier": ("shared",)}
        name = node.name.removesuffix("WithGroupSync")
        listed = flags[name] + (("threads",) if node.name.endswith("WithGroupSync") else ())
        self.need_stage("cp" if node.name == "DeviceMemoryBarrier" else "c", node.name, node.token)
        self.b.effect("sync", [], (tuple(listed), node.token))
        self.b.touch_memory()
        return ()

    def derivative(self, node: tree.CallIntrinsic) -> Vec:
        self.need_stage("p", node.name, node.token)
        value = self.value(node.arguments[0])
        name = node.name
        if name == "fwidth":
            return self.b.op("add", self.b.op("fabs", self.gradient("x", "", value)),
                             self.b.op("fabs", self.gradient("y", "", value)))  # fmt: skip
        return self.gradient(name[2], name[3:], value)

    def gradient(self, axis: str, how: str, value: Vec) -> Vec:
        if all(type(v) is Imm for v in value):
            return (ZERO,) * len(value)
        how = how or ("_coarse" if self.model >= 50 else "")
        return self.b.op(f"deriv_rt{axis}{how}", value)

    def sample_count(self, node: tree.CallIntrinsic) -> Vec:
        self.need_stage("p", node.name, node.token)
        return self.b.vector("sampleinfo", [], (0,), "rasterizer", key=("rasterizer",))

    def sample_position(self, node: tree.CallIntrinsic) -> Vec:
        self.need_stage("p", node.name, node.token)
        index = self.value(node.arguments[0])
        return self.b.vector("samplepos", [index], (0, 1), "rasterizer", key=("rasterizer",))

    # -- matrices ------------------------------------------------------------------------------------------------

    def multiply(self, node: tree.CallIntrinsic) -> Vec:
        left, right = node.arguments
        x, y = self.value(left), self.value(right)
        a, c = left.numeric, right.numeric
        kind = a.kind if a.kind != "b" else "i"
        x, y = change_base(self.b, x, a.kind, kind), change_base(self.b, y, c.kind, kind)
        if a.shape == "scalar" or c.shape == "scalar":
            return self.operate("*", node.numeric.with_base(a.base) if kind != "d" else node.numeric, x, y)
        rows, inner = (1, a.count) if a.shape == "vector" else (a.rows, a.columns)
        columns = 1 if c.shape == "vector" else c.columns
        return self.product(kind, x, y, rows, inner, columns)

    def product(self, kind: str, x: Vec, y: Vec, rows: int, inner: int, columns: int) -> Vec:
        """Matrix product of lanes.  Dot products where columns lie in registers, sums of scaled rows otherwise."""
        if kind == "d":
            return self.double_product(x, y, rows, inner, columns)
        out: list[Value] = []
        if kind == "f" and (rows == 1 or columns == 1 or _in_registers([y[j::columns] for j in range(columns)])):
            by_dots = columns == 1 or _in_registers([y[j::columns] for j in range(columns)])
            by_dots = by_dots if columns > 1 or rows == 1 else _in_registers([x[i * inner : (i + 1) * inner] for i in range(rows)])
            if by_dots:
                for i in range(rows):
                    row = x[i * inner : (i + 1) * inner]
                    for j in range(columns):
                        out.append(self.b.dot(row, y[j::columns]))
                return tuple(out)
        add, mul = ("add", "mul") if kind == "f" else ("iadd", "imul")
        if columns == 1:  # columns of the left matrix scaled by the vector's components
            total: Vec | None = None
            for k in range(inner):
                term = self.b.op(mul, x[k::inner], (y[k],))
                total = term if total is None else self.b.op(add, term, total)
            return total or ()
        for i in range(rows):
            total = None
            for k in range(inner):
                term = self.b.op(mul, y[k * columns : (k + 1) * columns], (x[i * inner + k],))
                total = term if total is None else self.b.op(add, term, total)
            out += total or ()
        return tuple(out)

    def double_product(self, x: Vec, y: Vec, rows: int, inner: int, columns: int) -> Vec:
        out: list[Value] = []
        for i in range(rows):
            for j in range(columns):
                total: Vec | None = None
                for k in range(inner):
                    p, q = 2 * (i * inner + k), 2 * (k * columns + j)
                    term = self.b.double("dmul", x[p : p + 2], y[q : q + 2])
                    total = term if total is None else self.b.double("dadd", total, term)
                out += total or ()
        return tuple(out)

    def transpose(self, node: tree.CallIntrinsic) -> Vec:
        lanes = self.value(node.arguments[0])
        type_ = node.arguments[0].numeric
        unit = 2 if type_.kind == "d" else 1
        return tuple(
            lanes[(i * type_.columns + j) * unit + u]
            for j in range(type_.columns) for i in range(type_.rows) for u in range(unit)
        )  # fmt: skip

    def determinant(self, node: tree.CallIntrinsic) -> Vec:
        lanes = self.value(node.arguments[0])
        n = node.arguments[0].numeric.rows
        return (self.minor([list(lanes[i * n : (i + 1) * n]) for i in range(n)]),)

    def minor(self, rows: list[list[Value]]) -> Value:
        b = self.b
        if len(rows) == 1:
            return rows[0][0]
        if len(rows) == 2:
            (p, q), (r, s) = rows
            return b.one("add", b.one("mul", p, s), b.one("fneg", b.one("mul", q, r)))
        minors: list[Value] = []
        for j in range(len(rows)):
            value = self.minor([[*row[:j], *row[j + 1 :]] for row in rows[1:]])
            minors.append(b.one("fneg", value) if j % 2 else value)
        return b.dot(tuple(rows[0]), tuple(minors))

    # -- plain values --------------------------------------------------------------------------------------------

    def abs_(self, kind: str, x: Vec) -> Vec:
        if kind == "f":
            return self.b.op("fabs", x)
        if kind == "d":
            high = self.b.op("and", x[1::2], (imm(0x7FFFFFFF),))
            return tuple(v for pair in zip(x[::2], high, strict=True) for v in pair)
        return self.b.op("imax", x, self.b.op("ineg", x)) if kind == "i" else x

    def truth(self, kind: str, x: Vec) -> Vec:
        return change_base(self.b, x, kind, "b")

    def all_(self, kind: str, x: Vec, op: str = "and") -> Vec:
        lanes = list(self.truth(kind, x))
        while len(lanes) > 1:
            half = len(lanes) // 2
            joined = self.b.op(op, tuple(lanes[:half]), tuple(lanes[half : 2 * half]))
            lanes = list(joined) + lanes[2 * half :]
        return (lanes[0],)

    def extreme(self, which: str, kind: str, x: Vec, y: Vec) -> Vec:
        if kind == "d":
            return self.b.double("d" + which, x, y)
        return self.b.op({"f": "", "i": "i", "u": "u", "b": "i"}[kind] + which, x, y)

    def clamp(self, kind: str, x: Vec, low: Vec, high: Vec) -> Vec:
        return self.extreme("min", kind, self.extreme("max", kind, x, low), high)

    def saturate(self, kind: str, x: Vec) -> Vec:
        return self.b.op("sat", x)

    def sign(self, kind: str, x: Vec) -> Vec:
        """int(0 < x) − int(x < 0), as truths are 0 and −1."""
        b = self.b
        if kind == "u":
            return b.op("and", b.op("ine", x, (ZERO,)), (imm(1),))
        if kind == "d":
            zero: Vec = (ZERO, ZERO)
            return b.op("iadd", b.double("dlt", x, zero), b.op("ineg", b.double("dlt", zero, x)))
        less = "lt" if kind == "f" else "ilt"
        return b.op("iadd", b.op(less, x, (ZERO,)), b.op("ineg", b.op(less, (ZERO,), x)))

    def lerp(self, kind: str, x: Vec, y: Vec, s: Vec) -> Vec:
        return self.mad(s, self.minus(y, x), x)

    def smoothstep(self, kind: str, low: Vec, high: Vec, x: Vec) -> Vec:
        b = self.b
        t = b.op("sat", b.op("div", self.minus(x, low), self.minus(high, low)))
        return b.op("mul", b.op("mul", t, t), self.mad(t, self.c(-2.0), self.c(3.0)))

    def step_(self, kind: str, edge: Vec, x: Vec) -> Vec:
        return self.b.op("and", self.b.op("ge", x, edge), (ONE,))

    def dot(self, kind: str, x: Vec, y: Vec) -> Vec:
        if kind == "f":
            return (self.b.dot(x, y),)
        return self.product(kind, x, y, 1, len(x) // (2 if kind == "d" else 1), 1)

    def length(self, kind: str, x: Vec) -> Vec:
        return (self.b.one("sqrt", self.b.dot(x, x)),)

    def distance(self, kind: str, x: Vec, y: Vec) -> Vec:
        return self.length("f", self.minus(x, y))

    def normalize(self, kind: str, x: Vec) -> Vec:
        return self.b.op("mul", x, (self.b.one("rsq", self.b.dot(x, x)),))

    def cross(self, kind: str, x: Vec, y: Vec) -> Vec:
        b = self.b
        yzx, zxy = (1, 2, 0), (2, 0, 1)
        first = b.op("mul", tuple(x[i] for i in yzx), tuple(y[i] for i in zxy))
        return self.minus(first, b.op("mul", tuple(x[i] for i in zxy), tuple(y[i] for i in yzx)))

    def reflect(self, kind: str, i: Vec, n: Vec) -> Vec:
        d = self.b.dot(i, n)
        return self.minus(i, self.b.op("mul", n, (self.b.one("add", d, d),)))

    def refract(self, kind: str, i: Vec, n: Vec, eta: Vec) -> Vec:
        b = self.b
        d = (b.dot(n, i),)
        k = self.minus(self.c(1.0), b.op("mul", b.op("mul", eta, eta), self.minus(self.c(1.0), b.op("mul", d, d))))
        scale = b.op("add", b.op("mul", eta, d), b.op("sqrt", k))
        bent = self.minus(b.op("mul", eta, i), b.op("mul", scale, n))
        return b.op("movc", b.op("ge", k, (ZERO,)), bent, (ZERO,))

    def faceforward(self, kind: str, n: Vec, i: Vec, ng: Vec) -> Vec:
        return self.b.op("movc", (self.b.one("lt", self.b.dot(i, ng), ZERO),), n, self.b.op("fneg", n))

    def pow_(self, kind: str, x: Vec, y: Vec) -> Vec:
        """x to the y as exp2(y · log2 x); small whole powers are multiplied out."""
        b = self.b
        if len(set(y)) == 1 and isinstance(y[0], Imm) and not b.precise:
            known = {0x3F800000: 1, 0x40000000: 2, 0x40400000: 3, 0x40800000: 4}.get(y[0].bits, 0)
            if known:
                if known == 1:
                    return x
                square = b.op("mul", x, x)
                return square if known == 2 else b.op("mul", square, x if known == 3 else square)
            if y[0].bits == 0x3F000000:
                return b.op("sqrt", x)
        return b.op("exp", b.op("mul", y, b.op("log", x)))

    def exp_(self, kind: str, x: Vec) -> Vec:
        return self.b.op("exp", self.b.op("mul", x, self.c(math.log2(math.e))))

    def log_(self, kind: str, x: Vec, base: float = math.e) -> Vec:
        return self.b.op("mul", self.b.op("log", x), self.c(math.log(2) / math.log(base)))

    def fmod(self, kind: str, x: Vec, y: Vec) -> Vec:
        return self.float_modulo(x, y)

    def ldexp(self, kind: str, x: Vec, exponent: Vec) -> Vec:
        return self.b.op("mul", x, self.b.op("exp", exponent))

    def rcp(self, kind: str, x: Vec) -> Vec:
        return self.b.op("rcp", x)

    def tan(self, kind: str, x: Vec) -> Vec:
        return self.b.op("div", self.b.op("sin", x), self.b.op("cos", x))

    def hyperbolic(self, which: str, x: Vec) -> Vec:
        b = self.b
        up = self.exp_("f", x)
        down = self.exp_("f", b.op("fneg", x))
        if which == "tanh":
            return b.op("div", self.minus(up, down), b.op("add", up, down))
        combined = self.minus(up, down) if which == "sinh" else b.op("add", up, down)
        return b.op("mul", combined, self.c(0.5))

    def acos(self, kind: str, x: Vec) -> Vec:
        """sqrt(1 − abs x) · polynomial, mirrored for negative x (Abramowitz and Stegun 4.4.46)."""
        b = self.b
        a = b.op("fabs", x)
        inner = self.polynomial(a, [-0.0012624911, 0.0066700901, -0.0170881256, 0.0308918810, -0.0501743046,
                                    0.0889789874, -0.2145988016, 1.5707963050])  # fmt: skip
        result = b.op("mul", inner, b.op("sqrt", self.minus(self.c(1.0), a)))
        return b.op("movc", b.op("lt", x, (ZERO,)), self.minus(self.c(math.pi), result), result)

    def asin(self, kind: str, x: Vec) -> Vec:
        return self.minus(self.c(math.pi / 2), self.acos("f", x))

    def atan_small(self, x: Vec) -> Vec:
        """Arc tangent on [0, 1]: odd polynomial (Abramowitz and Stegun 4.4.49)."""
        square = self.b.op("mul", x, x)
        return self.b.op("mul", x, self.polynomial(square, [
            0.0028662257, -0.0161657367, 0.0429096138, -0.0752896400, 0.1065626393, -0.1420889944, 0.1999355085,
            -0.3333314528, 1.0]))  # fmt: skip

    def atan(self, kind: str, x: Vec) -> Vec:
        b = self.b
        a = b.op("fabs", x)
        steep = b.op("lt", self.c(1.0), a)
        reduced = b.op("movc", steep, b.op("div", self.c(1.0), a), a)
        angle = self.atan_small(reduced)
        angle = b.op("movc", steep, self.minus(self.c(math.pi / 2), angle), angle)
        return b.op("movc", b.op("lt", x, (ZERO,)), b.op("fneg", angle), angle)

    def atan2(self, kind: str, y: Vec, x: Vec) -> Vec:
        b = self.b
        ax, ay = b.op("fabs", x), b.op("fabs", y)
        big, small = b.op("max", ax, ay), b.op("min", ax, ay)
        ratio = b.op("div", small, big)
        ratio = b.op("movc", b.op("eq", big, (ZERO,)), (ZERO,), ratio)
        angle = self.atan_small(ratio)
        angle = b.op("movc", b.op("lt", ax, ay), self.minus(self.c(math.pi / 2), angle), angle)
        angle = b.op("movc", b.op("ilt", x, (ZERO,)), self.minus(self.c(math.pi), angle), angle)  # sign bit of x
        return b.op("or", angle, b.op("and", y, (imm(0x80000000),)))

    def lit(self, kind: str, n_l: Vec, n_h: Vec, m: Vec) -> Vec:
        b = self.b
        diffuse = b.op("max", n_l, (ZERO,))
        power = self.pow_("f", n_h, m)
        dark = b.op("or", b.op("lt", n_l, (ZERO,)), b.op("lt", n_h, (ZERO,)))
        specular = b.op("movc", dark, (ZERO,), power)
        return (ONE, diffuse[0], specular[0], ONE)

    def dst(self, kind: str, x: Vec, y: Vec) -> Vec:
        return (ONE, self.b.one("mul", x[1], y[1]), x[2], y[3])

    def color_to_ubyte4(self, kind: str, x: Vec) -> Vec:
        """Components times 255.002, in the order z y x w, truncated."""
        return self.b.op("round_z", self.b.op("mul", tuple(x[i] for i in (2, 1, 0, 3)), self.c(255.001953)))

    def is_special(self, which: str, x: Vec) -> Vec:
        b = self.b
        magnitude = b.op("and", x, (imm(0x7FFFFFFF),))
        infinity: Vec = (imm(0x7F800000),)
        if which == "inf":
            return b.op("ieq", magnitude, infinity)
        if which == "nan":
            return b.op("ilt", infinity, magnitude)
        return b.op("ilt", magnitude, infinity)

    def first_bit_high(self, kind: str, x: Vec) -> Vec:
        """Counted from bit 0 in HLSL, from bit 31 in the instruction."""
        b = self.b
        found = b.op("firstbit_shi" if kind == "i" else "firstbit_hi", x)
        counted = b.op("iadd", (imm(31),), b.op("ineg", found))
        return b.op("movc", b.op("ieq", found, (TRUE,)), (TRUE,), counted)

    def half_round(self, kind: str, x: Vec) -> Vec:
        return self.b.op("round_ne", x)

    def mad_any(self, kind: str, x: Vec, y: Vec, z: Vec) -> Vec:
        if kind == "d":
            return self.b.double("dadd", self.b.double("dmul", x, y), z)
        if kind == "f":
            return self.mad(x, y, z)
        return self.b.op("iadd", self.b.op("imul", x, y), z)

    def fma(self, kind: str, x: Vec, y: Vec, z: Vec) -> Vec:
        if kind == "d":
            return self.b.double("dfma", x, y, z)
        return self.mad_any(kind, x, y, z)


def _in_registers(vectors: list[Vec]) -> bool:
    """Whether each vector lies in one fixed register, so that a dot product can read it whole."""
    for vec in vectors:
        first = vec[0]
        if not isinstance(first, Fixed):
            return False
        if any(not isinstance(v, Fixed) or v.register is not first.register for v in vec):
            return False
    return True


_Plain = Callable[..., Vec]


def _op(name: str) -> _Plain:
    return lambda self, kind, *args: self.b.op(name, *args)


def _scaled(factor: float) -> _Plain:
    return lambda self, kind, x: self.b.op("mul", x, self.c(factor))


I = IntrinsicLowering  # noqa: E741

_VALUES: dict[str, _Plain] = {
    "abs": I.abs_, "acos": I.acos, "all": I.all_, "any": lambda self, kind, x: self.all_(kind, x, "or"), "asin": I.asin,
    "atan": I.atan, "atan2": I.atan2, "ceil": _op("round_pi"), "clamp": I.clamp, "cos": _op("cos"),
    "cosh": lambda self, kind, x: self.hyperbolic("cosh", x),
    "CheckAccessFullyMapped": _op("check_access_fully_mapped"),
    "countbits": _op("countbits"), "cross": I.cross,
    "D3DCOLORtoUBYTE4": I.color_to_ubyte4, "degrees": _scaled(180 / math.pi), "distance": I.distance, "dot": I.dot,
    "dst": I.dst, "exp": I.exp_, "exp2": _op("exp"), "f16tof32": _op("f16tof32"), "f32tof16": _op("f32tof16"),
    "faceforward": I.faceforward, "firstbithigh": I.first_bit_high, "firstbitlow": _op("firstbit_lo"),
    "floor": _op("round_ni"), "fma": I.fma, "fmod": I.fmod, "frac": _op("frc"),
    "isfinite": lambda self, kind, x: self.is_special("finite", x), "isinf": lambda self, kind, x: self.is_special("inf", x),
    "isnan": lambda self, kind, x: self.is_special("nan", x), "ldexp": I.ldexp, "length": I.length, "lerp": I.lerp,
    "lit": I.lit, "log": I.log_, "log10": lambda self, kind, x: self.log_(kind, x, 10.0), "log2": _op("log"),
    "mad": I.mad_any, "max": lambda self, kind, x, y: self.extreme("max", kind, x, y),
    "min": lambda self, kind, x, y: self.extreme("min", kind, x, y), "normalize": I.normalize, "pow": I.pow_,
    "radians": _scaled(math.pi / 180), "rcp": I.rcp, "reflect": I.reflect, "refract": I.refract,
    "reversebits": _op("bfrev"), "round": I.half_round, "rsqrt": _op("rsq"), "saturate": I.saturate, "sign": I.sign,
    "sin": _op("sin"), "sinh": lambda self, kind, x: self.hyperbolic("sinh", x), "smoothstep": I.smoothstep,
    "sqrt": _op("sqrt"), "step": I.step_, "tan": I.tan, "tanh": lambda self, kind, x: self.hyperbolic("tanh", x),
    "trunc": _op("round_z"),
}  # fmt: skip

_HANDLERS: dict[str, Callable[[IntrinsicLowering, tree.CallIntrinsic], Vec]] = {
    "clip": I.clip, "sincos": I.sincos, "modf": I.modf, "frexp": I.frexp, "asuint": I.asuint, "asdouble": I.asdouble,
    "msad4": I.msad4, "asfloat": lambda self, node: self.value(node.arguments[0]),
    "asint": lambda self, node: self.value(node.arguments[0]),
    "mul": I.multiply, "transpose": I.transpose, "determinant": I.determinant,
    "EvaluateAttributeAtCentroid": I.evaluate_attribute, "EvaluateAttributeCentroid": I.evaluate_attribute,
    "EvaluateAttributeAtSample": I.evaluate_attribute,
    "EvaluateAttributeSnapped": I.evaluate_attribute, "GetRenderTargetSampleCount": I.sample_count,
    "GetRenderTargetSamplePosition": I.sample_position, "abort": lambda self, node: self.b.effect("abort", []),
    **dict.fromkeys(("ddx", "ddy", "fwidth", "ddx_coarse", "ddx_fine", "ddy_coarse", "ddy_fine"), I.derivative),
    **dict.fromkeys(("AllMemoryBarrier", "AllMemoryBarrierWithGroupSync", "DeviceMemoryBarrier",
                     "DeviceMemoryBarrierWithGroupSync", "GroupMemoryBarrier", "GroupMemoryBarrierWithGroupSync"), I.barrier),
}  # fmt: skip
