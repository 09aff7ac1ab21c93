"""A readable builder of vector code: Python expressions on :class:`Value` write LLVM IR as text.

Owns the notation in which every stage of the engine is written: operators on values (scalars mix with vectors and Python
numbers), ``with f.if_(condition):``, ``with f.loop() as l:``, variables that the optimiser turns into registers, loads, stores,
gathers and scatters. It never compiles and knows nothing about graphics.

A :class:`Module` collects functions; ``str(module)`` is its IR. Writing text directly keeps building a few microseconds per
instruction cheaper than an object model of the IR would be, and the text is the key of the code cache.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import ClassVar, Final, Union

Number = Union["Value", int, float]


class Type:
    """``kind`` "i", "f", "p" (pointer) or "v" (void); ``bits`` per lane; ``lanes`` 0 for scalars. Equal types are one object."""

    __slots__ = ("bits", "element", "kind", "lanes", "text")

    kind: str
    bits: int
    lanes: int
    element: str  #: IR name of one lane
    text: str  #: IR name

    _all: ClassVar[dict[tuple[str, int, int], Type]] = {}

    def __new__(cls, kind: str, bits: int = 0, lanes: int = 0) -> Type:
        found = cls._all.get((kind, bits, lanes))
        if found is None:
            found = super().__new__(cls)
            found.kind, found.bits, found.lanes = kind, bits, lanes
            names = {"i": f"i{bits}", "f": {16: "half", 32: "float", 64: "double"}.get(bits, ""), "p": "ptr", "v": "void"}
            found.element = names[kind]
            found.text = f"<{lanes} x {found.element}>" if lanes else found.element
            found = cls._all.setdefault((kind, bits, lanes), found)
        return found

    @property
    def scalar(self) -> Type:
        """The type of one lane."""
        return Type(self.kind, self.bits)

    def vector(self, lanes: int) -> Type:
        """``lanes`` of this type (0: the scalar)."""
        return self if lanes == self.lanes else Type(self.kind, self.bits, lanes)

    def __str__(self) -> str:
        return self.text

    @property
    def size(self) -> int:
        """Bytes in memory of the whole value."""
        return max(1, self.bits // 8) * max(1, self.lanes)


VOID: Final = Type("v")
I1: Final = Type("i", 1)
I8: Final = Type("i", 8)
I16: Final = Type("i", 16)
I32: Final = Type("i", 32)
I64: Final = Type("i", 64)
F16: Final = Type("f", 16)
F32: Final = Type("f", 32)
F64: Final = Type("f", 64)
PTR: Final = Type("p", 64)


def _literal(t: Type, value: int | float) -> str:
    """IR spelling of one lane of a constant."""
    if t.kind == "f":
        if t.bits == 32:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        elif t.bits == 16:
            return "0xH" + struct.pack(">e", value).hex().upper()
        return "0x" + struct.pack(">d", value).hex().upper()
    if t.kind == "p":
        return "null" if value == 0 else f"inttoptr (i64 {int(value)} to ptr)"
    value = int(value)
    if t.bits == 1:
        return "true" if value else "false"
    value &= (1 << t.bits) - 1
    return str(value - (1 << t.bits) if value >> (t.bits - 1) else value)


@cache
def _picks(lanes: tuple[int, ...]) -> str:
    """The last operand of shufflevector."""
    if not any(lanes):
        return "zeroinitializer"
    return "<" + ", ".join("i32 poison" if i < 0 else f"i32 {i}" for i in lanes) + ">"


class Value:
    """A value in a function under construction. Integer comparison and ``>>`` are signed; see ``ult``, ``shr`` and so on."""

    __slots__ = ("f", "name", "type")

    def __init__(self, f: Function, type: Type, name: str) -> None:
        self.f, self.type, self.name = f, type, name

    def __str__(self) -> str:
        return f"{self.type.text} {self.name}"

    @property
    def known(self) -> int | None:
        """The number (unsigned 32 bits) of an integer literal."""
        return int(self.name) & 0xFFFF_FFFF if not self.type.lanes and self.name.lstrip("-").isdigit() else None

    # -- arithmetic ---------------------------------------------------------------------------------------------------
    def _both(self, other: Number) -> tuple[Value, Value]:
        a, b = self, self.f.value(other, self.type)
        if a.type is b.type:
            return a, b
        if a.type.lanes != b.type.lanes:
            if a.type.lanes == 0:
                a = self.f.splat(a, b.type.lanes)
            elif b.type.lanes == 0:
                b = self.f.splat(b, a.type.lanes)
        if a.type is not b.type:
            raise TypeError(f"{a.type} with {b.type}")
        return a, b

    def _op(self, integer: str, float_: str, other: Number, *, swap: bool = False) -> Value:
        a, b = self._both(other)
        if swap:
            a, b = b, a
        op = float_ if a.type.kind == "f" else integer
        return self.f.emit(a.type, f"{op} {a.type.text} {a.name}, {b.name}")

    def __add__(self, o: Number) -> Value:
        return self._op("add", "fadd", o)

    def __radd__(self, o: Number) -> Value:
        return self._op("add", "fadd", o, swap=True)

    def __sub__(self, o: Number) -> Value:
        return self._op("sub", "fsub", o)

    def __rsub__(self, o: Number) -> Value:
        return self._op("sub", "fsub", o, swap=True)

    def __mul__(self, o: Number) -> Value:
        return self._op("mul", "fmul", o)

    def __rmul__(self, o: Number) -> Value:
        return self._op("mul", "fmul", o, swap=True)

    def __truediv__(self, o: Number) -> Value:
        return self._op("sdiv", "fdiv", o)

    def __rtruediv__(self, o: Number) -> Value:
        return self._op("sdiv", "fdiv", o, swap=True)

    def udiv(self, o: Number) -> Value:
        """Unsigned quotient; undefined for a zero divisor."""
        return self._op("udiv", "", o)

    def urem(self, o: Number) -> Value:
        """Unsigned remainder; undefined for a zero divisor."""
        return self._op("urem", "", o)

    def __neg__(self) -> Value:
        if self.type.kind == "f":
            return self.f.emit(self.type, f"fneg {self.type} {self.name}")
        return 0 - self

    def __and__(self, o: Number) -> Value:
        return self._op("and", "", o)

    def __or__(self, o: Number) -> Value:
        return self._op("or", "", o)

    def __xor__(self, o: Number) -> Value:
        return self._op("xor", "", o)

    def __invert__(self) -> Value:
        return self ^ -1

    def __lshift__(self, o: Number) -> Value:
        return self._op("shl", "", o)

    def __rshift__(self, o: Number) -> Value:
        return self._op("ashr", "", o)

    def shr(self, o: Number) -> Value:
        """Logical shift right."""
        return self._op("lshr", "", o)

    # -- comparison ---------------------------------------------------------------------------------------------------
    def _compare(self, integer: str, float_: str, other: Number) -> Value:
        a, b = self._both(other)
        op = f"fcmp {float_}" if a.type.kind == "f" else f"icmp {integer}"
        return self.f.emit(I1.vector(a.type.lanes), f"{op} {a.type.text} {a.name}, {b.name}")

    def __lt__(self, o: Number) -> Value:
        return self._compare("slt", "olt", o)

    def __le__(self, o: Number) -> Value:
        return self._compare("sle", "ole", o)

    def __gt__(self, o: Number) -> Value:
        return self._compare("sgt", "ogt", o)

    def __ge__(self, o: Number) -> Value:
        return self._compare("sge", "oge", o)

    def eq(self, o: Number) -> Value:
        """Equal (ordered for floats)."""
        return self._compare("eq", "oeq", o)

    def ne(self, o: Number) -> Value:
        """Not equal (true for NaN)."""
        return self._compare("ne", "une", o)

    def ult(self, o: Number) -> Value:
        """Unsigned less than."""
        return self._compare("ult", "ult", o)

    def ule(self, o: Number) -> Value:
        """Unsigned less or equal."""
        return self._compare("ule", "ule", o)

    def ugt(self, o: Number) -> Value:
        """Unsigned greater than."""
        return self._compare("ugt", "ugt", o)

    def uge(self, o: Number) -> Value:
        """Unsigned greater or equal."""
        return self._compare("uge", "uge", o)

    # -- conversion ---------------------------------------------------------------------------------------------------
    def _cast(self, op: str, t: Type) -> Value:
        t = t.vector(self.type.lanes)
        if t is self.type:
            return self
        return self.f.emit(t, f"{op} {self.type.text} {self.name} to {t.text}")

    def bits(self, t: Type) -> Value:
        """The same bits lane by lane as another type of the same width."""
        return self._cast("bitcast", t)

    def zext(self, t: Type) -> Value:
        """Zero-extend."""
        return self._cast("zext", t)

    def sext(self, t: Type) -> Value:
        """Sign-extend; of a mask: all ones or 0."""
        return self._cast("sext", t)

    def trunc(self, t: Type) -> Value:
        """Keep the low bits."""
        return self._cast("trunc", t)

    def to_float(self, t: Type = F32) -> Value:
        """From a signed integer, rounding to nearest even."""
        return self._cast("sitofp", t)

    def unsigned_to_float(self, t: Type = F32) -> Value:
        """From an unsigned integer."""
        return self._cast("uitofp", t)

    def to_int(self, t: Type = I32) -> Value:
        """Towards zero; undefined outside the range."""
        return self._cast("fptosi", t)

    def to_unsigned(self, t: Type = I32) -> Value:
        """Towards zero; undefined outside the range."""
        return self._cast("fptoui", t)

    def resize_float(self, t: Type) -> Value:
        """Between half, float and double."""
        return self._cast("fpext" if t.bits > self.type.bits else "fptrunc", t)

    # -- lanes --------------------------------------------------------------------------------------------------------
    def __getitem__(self, lane: int | Value) -> Value:
        index = str(lane) if isinstance(lane, Value) else f"i32 {lane}"
        return self.f.emit(self.type.scalar, f"extractelement {self}, {index}")

    def insert(self, lane: int | Value, x: Number) -> Value:
        """A copy with one lane replaced."""
        index = str(lane) if isinstance(lane, Value) else f"i32 {lane}"
        x = self.f.value(x, self.type.scalar)
        return self.f.emit(self.type, f"insertelement {self}, {x}, {index}")

    def shuffle(self, lanes: Sequence[int], other: Value | None = None) -> Value:
        """Lanes picked from this value and ``other`` behind it; -1 leaves a lane undefined."""
        second = other.name if other is not None else "poison"
        return self.f.emit(
            self.type.vector(len(lanes)),
            f"shufflevector {self}, {self.type.text} {second}, <{len(lanes)} x i32> {_picks(tuple(lanes))}",
        )

    def select(self, yes: Number, no: Number) -> Value:
        """This mask or condition chooses."""
        if not isinstance(yes, Value):
            if not isinstance(no, Value):
                raise TypeError("select of two Python numbers has no type")
            yes = self.f.value(yes, no.type)
        yes, other = yes._both(no)
        condition = self
        if condition.type.lanes and not yes.type.lanes:
            yes, other = self.f.splat(yes, condition.type.lanes), self.f.splat(other, condition.type.lanes)
        return self.f.emit(yes.type, f"select {condition}, {yes}, {other}")


class Variable:
    """A mutable local; the optimiser promotes it to a register."""

    __slots__ = ("f", "pointer", "type")

    def __init__(self, f: Function, type: Type, pointer: Value) -> None:
        self.f, self.type, self.pointer = f, type, pointer

    def get(self) -> Value:
        """Its value now."""
        return self.f.emit(self.type, f"load {self.type.text}, ptr {self.pointer.name}")

    def set(self, x: Number) -> None:
        """Give it a value."""
        x = self.f.value(x, self.type)
        if x.type is not self.type:
            x = self.f.splat(x, self.type.lanes)
        self.f.line(f"store {x.type.text} {x.name}, ptr {self.pointer.name}")


class MaskVariable(Variable):
    """A mutable mask, kept as integers of all ones or 0: what crosses blocks as bits would be repacked in each of them.

    Where masks are combined over several blocks, :attr:`wide` keeps the optimiser from making bits of them again.
    """

    __slots__ = ()

    @property
    def wide(self) -> Value:
        """Its value now, as lanes of all ones or 0."""
        wide = I32.vector(self.type.lanes)
        return self.f.emit(wide, f"load {wide}, {self.pointer}")

    def get(self) -> Value:
        """Its value now."""
        return self.wide < 0

    def set(self, x: Number) -> None:
        """Give it a value: a mask, or lanes of all ones or 0."""
        mask = self.f.value(x, self.type)
        self.f.line(f"store {mask.sext(I32)}, {self.pointer}")


class Loop:
    """A loop under construction."""

    def __init__(self, f: Function, body: str, end: str) -> None:
        self.f, self.body, self.end = f, body, end

    def break_if(self, condition: Value) -> None:
        """Leave when true."""
        go_on = self.f.label()
        self.f.line(f"br {condition}, label %{self.end}, label %{go_on}")
        self.f.place(go_on)

    def continue_if(self, condition: Value) -> None:
        """Next turn when true. Not for counted loops, whose step stands at the end."""
        go_on = self.f.label()
        self.f.line(f"br {condition}, label %{self.body}, label %{go_on}")
        self.f.place(go_on)


class Function:
    """A function under construction; see the module docstring."""

    def __init__(self, module: Module, name: str, result: Type, arguments: Sequence[Type], attributes: str) -> None:
        self.module, self.name, self.result = module, name, result
        self.attributes = attributes
        self.group = 1 if attributes else 0
        self._lines: list[str] = []
        self._entry: list[str] = []
        self._count = 0
        self._terminated = False
        self.arguments = [Value(self, t, f"%a{i}") for i, t in enumerate(arguments)]

    # -- text ---------------------------------------------------------------------------------------------------------
    def line(self, text: str) -> None:
        """An instruction without result."""
        if self._terminated:
            self.place(self.label())
        self._lines.append(text)
        if text.startswith(("br ", "ret", "unreachable", "switch")):
            self._terminated = True

    def emit(self, type: Type, text: str) -> Value:
        """An instruction with a result."""
        if self._terminated:
            self.place(self.label())
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f"{name} = {text}")
        return Value(self, type, name)

    def label(self) -> str:
        """A new label."""
        self._count += 1
        return f"L{self._count}"

    def place(self, label: str) -> None:
        """Start a block here, falling through into it."""
        if not self._terminated:
            self._lines.append(f"br label %{label}")
        self._lines.append(f"{label}:")
        self._terminated = False

    def jump(self, label: str) -> None:
        """Go to a label."""
        self.line(f"br label %{label}")

    def branch(self, condition: Value, yes: str, no: str) -> None:
        """Go to one of two labels."""
        self.line(f"br {condition}, label %{yes}, label %{no}")

    def __str__(self) -> str:
        arguments = ", ".join(f"{a.type} {a.name}" for a in self.arguments)
        body = "\n".join(["entry:", *self._entry, *self._lines])
        if not self._terminated:
            body += "\nret void" if self.result is VOID else "\nunreachable"
        return f"define {self.attributes} {self.result} @{self.name}({arguments}) #{self.group} {{\n{body}\n}}"

    @contextmanager
    def prologue(self) -> Iterator[None]:
        """What is written inside happens once, where the function starts. No control flow."""
        lines, terminated = self._lines, self._terminated
        self._lines, self._terminated = self._entry, False
        yield
        self._lines, self._terminated = lines, terminated

    def mark(self) -> int:
        """This place in the text, for :meth:`insert_at`."""
        return len(self._lines)

    @contextmanager
    def insert_at(self, mark: int) -> Iterator[None]:
        """What is written inside goes to an earlier place. No control flow."""
        lines, terminated = self._lines, self._terminated
        self._lines, self._terminated = [], False
        yield
        lines[mark:mark] = self._lines
        self._lines, self._terminated = lines, terminated

    # -- values -------------------------------------------------------------------------------------------------------
    def value(self, x: Number, t: Type) -> Value:
        """``x`` itself, or the constant ``x`` of type ``t`` in every lane."""
        if isinstance(x, Value):
            return x
        text = _literal(t, x)
        return Value(self, t, f"splat ({t.element} {text})" if t.lanes else text)

    def vector(self, t: Type, values: Sequence[int | float]) -> Value:
        """A constant vector, lane by lane; ``t`` is the type of one lane."""
        inside = ", ".join(f"{t.element} {_literal(t, v)}" for v in values)
        return Value(self, t.vector(len(values)), f"<{inside}>")

    def splat(self, x: Value, lanes: int) -> Value:
        """The scalar ``x`` in every lane."""
        if x.type.lanes == lanes:
            return x
        wide = x.type.vector(lanes)
        one = self.emit(wide, f"insertelement {wide.text} poison, {x.type.text} {x.name}, i32 0")
        return self.emit(wide, f"shufflevector {wide.text} {one.name}, {wide.text} poison, <{lanes} x i32> zeroinitializer")

    def pack(self, values: Sequence[Value]) -> Value:
        """A vector of scalars."""
        t = values[0].type.vector(len(values))
        v = Value(self, t, "poison")
        for i, x in enumerate(values):
            v = v.insert(i, x)
        return v

    def undefined(self, t: Type) -> Value:
        """Any value."""
        return Value(self, t, "poison")

    def null(self, t: Type) -> Value:
        """All bits zero."""
        return Value(self, t, "zeroinitializer" if t.lanes else _literal(t, 0))

    def reinterpret(self, x: Value, t: Type) -> Value:
        """All bits of ``x`` as a type of the same total width, lanes regrouped."""
        if x.type is t:
            return x
        return self.emit(t, f"bitcast {x} to {t}")

    def concat(self, a: Value, b: Value) -> Value:
        """The lanes of ``a``, then those of ``b``."""
        return a.shuffle(range(a.type.lanes + b.type.lanes), b)

    def mask(self, lanes: int, initial: Number | None = None) -> MaskVariable:
        """A local mask."""
        v = self.var(I1.vector(lanes), initial)
        assert isinstance(v, MaskVariable)
        return v

    def var(self, t: Type, initial: Number | None = None) -> Variable:
        """A local variable, set here when ``initial`` is given."""
        self._count += 1
        pointer = Value(self, PTR, f"%p{self._count}")
        is_mask = t.bits == 1 and t.lanes > 0
        self._entry.append(f"{pointer.name} = alloca {I32.vector(t.lanes) if is_mask else t}")
        v = MaskVariable(self, t, pointer) if is_mask else Variable(self, t, pointer)
        if initial is not None:
            v.set(initial)
        return v

    def array(self, t: Type, count: int, align: int = 64) -> Value:
        """Pointer to ``count`` elements on the stack."""
        self._count += 1
        pointer = Value(self, PTR, f"%p{self._count}")
        self._entry.append(f"{pointer.name} = alloca [{count} x {t}], align {align}")
        return pointer

    # -- calls --------------------------------------------------------------------------------------------------------
    def call(self, name: str, result: Type, arguments: Sequence[Value]) -> Value:
        """Call a function or intrinsic by name; intrinsics are declared by their use."""
        self.module.declare(name, result, [a.type for a in arguments])
        text = f"call {result} @{name}({', '.join(map(str, arguments))})"
        if result.kind == "v":
            self.line(text)
            return Value(self, VOID, "")
        return self.emit(result, text)

    def call_pointer(self, pointer: Value, result: Type, arguments: Sequence[Value]) -> Value:
        """Call through a pointer."""
        text = f"call {result} {pointer.name}({', '.join(map(str, arguments))})"
        if result.kind == "v":
            self.line(text)
            return Value(self, VOID, "")
        return self.emit(result, text)

    def intrinsic(self, name: str, *arguments: Value) -> Value:
        """``llvm.<name>`` overloaded on the type of the first argument, which is the result's type too."""
        t = arguments[0].type
        suffix = f"v{t.lanes}{t.kind}{t.bits}" if t.lanes else f"{t.kind}{t.bits}"
        return self.call(f"llvm.{name}.{suffix}", t, arguments)

    def fma(self, a: Value, b: Number, c: Number) -> Value:
        """a * b + c rounded once."""
        x, y = a._both(b)
        z = self.value(c, x.type)
        if z.type.lanes != x.type.lanes:
            if x.type.lanes:
                z = self.splat(z, x.type.lanes)
            else:
                x, y = self.splat(x, z.type.lanes), self.splat(y, z.type.lanes)
        return self.intrinsic("fma", x, y, z)

    def min(self, a: Value, b: Number) -> Value:
        """Signed minimum; floats: the second operand when either is NaN."""
        return self._extreme("min", a, b)

    def max(self, a: Value, b: Number) -> Value:
        """Signed maximum; floats: the second operand when either is NaN."""
        return self._extreme("max", a, b)

    def _extreme(self, name: str, a: Value, b: Number) -> Value:
        x, y = a._both(b)
        if x.type.kind == "i":
            return self.intrinsic(f"s{name}", x, y)
        if not isinstance(b, Value):
            return self.intrinsic(f"{name}num", x, y)  # one instruction, the constant second; a select of 0 becomes two
        return ((x < y) if name == "min" else (x > y)).select(x, y)

    def umin(self, a: Value, b: Number) -> Value:
        """Unsigned minimum."""
        return self.intrinsic("umin", *a._both(b))

    def umax(self, a: Value, b: Number) -> Value:
        """Unsigned maximum."""
        return self.intrinsic("umax", *a._both(b))

    def floor(self, a: Value) -> Value:
        """Largest integer not above."""
        return self.intrinsic("floor", a)

    def abs(self, a: Value) -> Value:
        """Magnitude of a float."""
        return self.intrinsic("fabs", a)

    def saturate(self, a: Value) -> Value:
        """Clamp to 0..1; NaN gives 0."""
        return self.min(self.max(a, 0.0), 1.0)

    def any(self, mask: Value) -> Value:
        """Whether a lane is set."""
        return self.mask_bits(mask).ne(0)

    def is_zero(self, x: Value) -> Value:
        """Whether all bits of a vector are 0."""
        return self.reinterpret(x, Type("i", x.type.bits * x.type.lanes)).eq(0)

    def all(self, mask: Value) -> Value:
        """Whether every lane is set."""
        return self.mask_bits(mask).eq(-1)

    def mask_bits(self, mask: Value) -> Value:
        """A mask as an integer, lane 0 lowest."""
        return self.emit(Type("i", mask.type.lanes), f"bitcast {mask} to i{mask.type.lanes}")

    def bits_mask(self, bits: Value, lanes: int) -> Value:
        """The mask with the low ``lanes`` bits of an i32."""
        return (self.splat(bits, lanes) & self.vector(I32, [1 << i for i in range(lanes)])).ne(0)

    # -- memory -------------------------------------------------------------------------------------------------------
    def offset(self, pointer: Value, bytes: Number) -> Value:
        """``pointer`` + bytes; a vector of offsets gives a vector of pointers."""
        if isinstance(bytes, int) and bytes == 0:
            return pointer
        amount = self.value(bytes, I64)
        lanes = max(amount.type.lanes, pointer.type.lanes)
        return self.emit(PTR.vector(lanes), f"getelementptr i8, {pointer}, {amount}")

    def index(self, pointer: Value, t: Type, index: Number) -> Value:
        """Pointer to element ``index`` (signed) of an array of ``t``; a vector of indices gives a vector of pointers."""
        i = self.value(index, I64)
        return self.emit(PTR.vector(i.type.lanes), f"getelementptr {t}, {pointer}, {i}")

    def load(
        self,
        t: Type,
        pointer: Value,
        offset: Number = 0,
        *,
        align: int | None = None,
        constant: bool = False,
        volatile: bool = False,
    ) -> Value:
        """Load ``t``; ``constant`` promises that nothing writes there while this function runs; ``volatile`` asks for this very
        load.
        """
        p = self.offset(pointer, offset)
        suffix = ", !invariant.load !0" if constant else ""
        return self.emit(t, f"load {'volatile ' if volatile else ''}{t}, {p}, align {align or max(1, t.bits // 8)}{suffix}")

    def store(self, x: Value, pointer: Value, offset: Number = 0, *, align: int | None = None) -> None:
        """Store."""
        p = self.offset(pointer, offset)
        self.line(f"store {x}, {p}, align {align or max(1, x.type.bits // 8)}")

    def masked_load(self, t: Type, pointer: Value, mask: Value, otherwise: Value | None = None, *, align: int = 1) -> Value:
        """Load the lanes in ``mask`` of consecutive elements; the others are ``otherwise`` or 0."""
        other = otherwise if otherwise is not None else self.null(t)
        name = f"llvm.masked.load.v{t.lanes}{t.kind}{t.bits}.p0"
        return self.call(name, t, [pointer, self.value(align, I32), mask, other])

    def masked_store(self, x: Value, pointer: Value, mask: Value, *, align: int = 1) -> None:
        """Store the lanes in ``mask`` to consecutive elements."""
        t = x.type
        name = f"llvm.masked.store.v{t.lanes}{t.kind}{t.bits}.p0"
        self.call(name, VOID, [x, pointer, self.value(align, I32), mask])

    def gather(self, t: Type, pointers: Value, mask: Value, otherwise: Value | None = None, *, align: int | None = None) -> Value:
        """Load each lane in ``mask`` from its own pointer."""
        other = otherwise if otherwise is not None else self.null(t)
        name = f"llvm.masked.gather.v{t.lanes}{t.kind}{t.bits}.v{t.lanes}p0"
        return self.call(name, t, [pointers, self.value(align or max(1, t.bits // 8), I32), mask, other])

    def scatter(self, x: Value, pointers: Value, mask: Value, *, align: int | None = None) -> None:
        """Store each lane in ``mask`` to its own pointer, lowest lane first."""
        t = x.type
        name = f"llvm.masked.scatter.v{t.lanes}{t.kind}{t.bits}.v{t.lanes}p0"
        self.call(name, VOID, [x, pointers, self.value(align or max(1, t.bits // 8), I32), mask])

    def copy(self, target: Value, source: Value, bytes: Number) -> None:
        """memcpy."""
        n = self.value(bytes, I64)
        self.call("llvm.memcpy.p0.p0.i64", VOID, [target, source, n, self.value(0, I1)])

    def fill(self, target: Value, byte: Number, bytes: Number) -> None:
        """memset."""
        n = self.value(bytes, I64)
        self.call("llvm.memset.p0.i64", VOID, [target, self.value(byte, I8), n, self.value(0, I1)])

    def atomic(self, op: str, pointer: Value, x: Value) -> Value:
        """Read, modify, write; returns the old value. ``op`` as LLVM spells it (add, and, umax, xchg, ...)."""
        return self.emit(x.type, f"atomicrmw {op} {pointer}, {x} monotonic")

    def compare_exchange(self, pointer: Value, expected: Value, x: Value) -> Value:
        """Write ``x`` when memory holds ``expected``; returns the old value."""
        both = Type("v")  # a pair; only ever taken apart here
        pair = self.emit(both, f"cmpxchg {pointer}, {expected}, {x} monotonic monotonic")
        return self.emit(x.type, f"extractvalue {{ {x.type}, i1 }} {pair.name}, 0")

    def atomic_add(self, pointer: Value, x: Value) -> Value:
        """Fetch and add."""
        return self.emit(x.type, f"atomicrmw add {pointer}, {x} monotonic")

    # -- control flow -------------------------------------------------------------------------------------------------
    @contextmanager
    def if_(self, condition: Value) -> Iterator[None]:
        """Run the body when the scalar condition holds."""
        yes, end = self.label(), self.label()
        self.branch(condition, yes, end)
        self.place(yes)
        yield
        self.place(end)

    @contextmanager
    def if_else(self, condition: Value) -> Iterator[Otherwise]:
        """``with f.if_else(c) as otherwise: …; otherwise(); …``."""
        yes, no, end = self.label(), self.label(), self.label()
        self.branch(condition, yes, no)
        self.place(yes)
        o = Otherwise(self, no, end)
        yield o
        if not o.used:
            o()
        self.place(end)

    @contextmanager
    def loop(self) -> Iterator[Loop]:
        """Repeat until :meth:`Loop.break_if`."""
        body, end = self.label(), self.label()
        self.place(body)
        yield Loop(self, body, end)
        if not self._terminated:
            self.jump(body)
        self.place(end)

    @contextmanager
    def count(self, start: Number, stop: Number, step: Number = 1, *, type: Type = I32) -> Iterator[Value]:
        """A counted loop: start, start + step, … below stop (signed)."""
        i = self.var(type, start)
        with self.loop() as loop:
            now = i.get()
            loop.break_if(now >= stop)
            yield now
            i.set(now + step)

    def ret(self, x: Number | None = None) -> None:
        """Return."""
        self.line("ret void" if x is None else f"ret {self.value(x, self.result)}")


class Otherwise:
    """The switch to the else part of :meth:`Function.if_else`."""

    def __init__(self, f: Function, no: str, end: str) -> None:
        self.f, self.no, self.end, self.used = f, no, end, False

    def __call__(self) -> None:
        self.used = True
        self.f.jump(self.end)
        self.f.place(self.no)


#: Whether denormals are flushed is known where the code runs alone: a program with doubles keeps them (see :mod:`.float_mode`).
_ATTRIBUTES: Final = (
    '"denormal-fp-math"="dynamic,dynamic" "no-trapping-math"="true" '
    '"prefer-vector-width"="512" "min-legal-vector-width"="512"'
)


class Module:
    """Functions that are compiled together."""

    def __init__(self) -> None:
        self._functions: list[Function] = []
        self._names: set[str] = set()
        self._declared: dict[str, str] = {}
        self._globals: list[str] = []
        self.tables: dict[str, str] = {}  #: constant tables by name, for those who share them

    def function(self, name: str, result: Type, arguments: Sequence[Type], *, private: bool = False) -> Function:
        """A new function. ``private`` ones are called from within the module alone, and not inlined."""
        f = Function(self, name, result, arguments, "internal" if private else "")
        self._functions.append(f)
        self._names.add(name)
        return f

    def declare(self, name: str, result: Type, arguments: Sequence[Type]) -> None:
        """Note that ``name`` is called."""
        if name not in self._declared:
            self._declared[name] = f"declare {result} @{name}({', '.join(map(str, arguments))})"

    def table(self, name: str, t: Type, values: Sequence[int | float]) -> str:
        """A constant table; returns its IR name."""
        inside = ", ".join(f"{t.element} {_literal(t, v)}" for v in values)
        self._globals.append(f"@{name} = internal constant [{len(values)} x {t.element}] [{inside}], align 64")
        return f"@{name}"

    def __str__(self) -> str:
        declares = [d for n, d in self._declared.items() if n not in self._names]
        return "\n".join(
            [
                *self._globals,
                *declares,
                *map(str, self._functions),
                f"attributes #0 = {{ nounwind {_ATTRIBUTES} }}",
                f"attributes #1 = {{ noinline nounwind {_ATTRIBUTES} }}",
                "!0 = !{}",
            ]
        )
