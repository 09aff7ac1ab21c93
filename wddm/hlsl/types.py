"""The types of HLSL.

Owns :class:`Numeric` (scalars, vectors, matrices; interned, so equal types are one object), :class:`Array`,
:class:`Struct`, :class:`Object` and the table of object kinds.  Knows how many 32-bit lanes a value takes; knows
nothing of memory layout (see :mod:`.layout`) or of conversions (see :mod:`.conversions`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .diagnostics import Position

if TYPE_CHECKING:
    from .tree import Function

__all__ = [
    "BOOL", "DOUBLE", "FLOAT", "INT", "KINDS", "MIN_PRECISION", "OBJECTS", "STRING", "UINT", "VOID", "Array", "Field",
    "Numeric", "Object", "ObjectKind", "Simple", "Struct", "Type", "lane_count", "matrix", "numeric_named", "scalar",
    "vector",
]  # fmt: skip

KINDS = {
    "bool": "b", "int": "i", "uint": "u", "dword": "u", "float": "f", "half": "f", "double": "d",
    "min16float": "f", "min10float": "f", "min16int": "i", "min12int": "i", "min16uint": "u",
}  # fmt: skip
"""Scalar type names and what they compute as: b, i, u, f or d."""

MIN_PRECISION = frozenset({"min16float", "min10float", "min16int", "min12int", "min16uint"})


class Type:
    """Any type; identity is equality."""

    __slots__ = ()


class Simple(Type):
    """``void`` and ``string``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


VOID = Simple("void")
STRING = Simple("string")


class Numeric(Type):
    """A scalar, vector or matrix.  ``row_major`` matters in memory alone; lanes are always row after row."""

    __slots__ = ("base", "columns", "count", "kind", "name", "row_major", "rows", "shape")
    _known: dict[tuple[str, str, int, int, bool], Numeric] = {}

    base: str
    shape: str
    rows: int
    columns: int
    row_major: bool
    count: int
    kind: str
    name: str

    @classmethod
    def of(cls, base: str, shape: str, rows: int, columns: int, row_major: bool = False) -> Numeric:
        key = (base, shape, rows, columns, row_major)
        made = cls._known.get(key)
        if made is None:
            made = cls()
            made.base, made.shape, made.rows, made.columns, made.row_major = key
            made.count = rows * columns
            made.kind = KINDS[base]
            suffix = {"scalar": "", "vector": str(columns), "matrix": f"{rows}x{columns}"}[shape]
            made.name = base + suffix
            cls._known[key] = made
        return made

    def with_base(self, base: str) -> Numeric:
        return Numeric.of(base, self.shape, self.rows, self.columns, self.row_major)

    def with_count(self, count: int) -> Numeric:
        """A scalar or vector of the same base."""
        return scalar(self.base) if count == 1 else vector(self.base, count)

    def with_row_major(self, row_major: bool) -> Numeric:
        return Numeric.of(self.base, self.shape, self.rows, self.columns, row_major)

    def __str__(self) -> str:
        return self.name


def scalar(base: str) -> Numeric:
    return Numeric.of(base, "scalar", 1, 1)


def vector(base: str, count: int) -> Numeric:
    return Numeric.of(base, "vector", 1, count)


def matrix(base: str, rows: int, columns: int, row_major: bool = False) -> Numeric:
    return Numeric.of(base, "matrix", rows, columns, row_major)


FLOAT, INT, UINT, BOOL, DOUBLE = (scalar(b) for b in ("float", "int", "uint", "bool", "double"))

_NUMERIC = re.compile(rf"({'|'.join(sorted(KINDS, key=len, reverse=True))})([1-4])?(?:x([1-4]))?\Z")


def numeric_named(name: str, row_major: bool = False) -> Numeric | None:
    """``float``, ``int3``, ``half2x4`` … to its type; None for any other name."""
    found = _NUMERIC.match(name)
    if found is None:
        return None
    base, rows, columns = found.groups()
    if base == "dword":
        base = "uint"
    if rows is None:
        return scalar(base) if columns is None else None
    if columns is None:
        return vector(base, int(rows))
    return matrix(base, int(rows), int(columns), row_major)


class Array(Type):
    """``size`` elements of one type."""

    __slots__ = ("element", "size")
    _known: dict[tuple[int, int], Array] = {}

    def __init__(self, element: Type, size: int) -> None:
        self.element = element
        self.size = size

    @classmethod
    def of(cls, element: Type, size: int) -> Array:
        key = (id(element), size)
        made = cls._known.get(key)
        if made is None or made.element is not element:
            made = cls(element, size)
            if isinstance(element, Numeric):  # structures live as long as their compilation: no entry for them
                cls._known[key] = made
        return made

    def __str__(self) -> str:
        inner: Type = self
        sizes = ""
        while isinstance(inner, Array):
            sizes += f"[{inner.size}]"
            inner = inner.element
        return f"{inner}{sizes}"


@dataclass(eq=False, slots=True)
class Field:
    """A data member; ``lane`` is where its value starts in the flattened structure."""

    name: str
    type: Type
    position: Position
    semantic: str = ""
    modifiers: frozenset[str] = frozenset()
    lane: int = 0


@dataclass(eq=False)
class Struct(Type):
    """A structure; fields of the base come first."""

    name: str
    base: Struct | None = None
    fields: list[Field] = field(default_factory=list)
    methods: dict[str, list[Function]] = field(default_factory=dict)
    lanes: int = 0

    def add(self, member: Field) -> None:
        member.lane = self.lanes
        self.fields.append(member)
        self.lanes += lane_count(member.type)

    def find(self, name: str) -> Field | None:
        for member in self.fields:
            if member.name == name:
                return member
        return None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """What the compiler must know of an object type.

    ``register``: t, s, u, or empty for streams and patches.  ``coordinates``: of a sample address without the slice.
    """

    name: str
    register: str
    dimension: str = ""
    coordinates: int = 0
    array: bool = False
    family: str = ""  # texture, buffer, structured, raw, sampler, stream, patch
    writable: bool = False
    counter: str = ""  # append, consume, counter

    @property
    def multisampled(self) -> bool:
        return "MS" in self.dimension


def _object_kinds() -> dict[str, ObjectKind]:
    kinds: list[ObjectKind] = []
    for name, dimension, coordinates in (
        ("Texture1D", "TEXTURE1D", 1), ("Texture2D", "TEXTURE2D", 2), ("Texture3D", "TEXTURE3D", 3),
        ("TextureCube", "TEXTURECUBE", 3), ("Texture2DMS", "TEXTURE2DMS", 2),
    ):  # fmt: skip
        kinds.append(ObjectKind(name, "t", dimension, coordinates, family="texture"))
        if name != "Texture3D":
            kinds.append(ObjectKind(name + "Array", "t", dimension + "ARRAY", coordinates, True, "texture"))
    for name, dimension, coordinates, array in (
        ("RWTexture1D", "TEXTURE1D", 1, False), ("RWTexture2D", "TEXTURE2D", 2, False),
        ("RWTexture3D", "TEXTURE3D", 3, False), ("RWTexture1DArray", "TEXTURE1DARRAY", 1, True),
        ("RWTexture2DArray", "TEXTURE2DARRAY", 2, True),
    ):  # fmt: skip
        kinds.append(ObjectKind(name, "u", dimension, coordinates, array, "texture", True))
    kinds += [
        ObjectKind("Buffer", "t", "BUFFER", 1, family="buffer"),
        ObjectKind("RWBuffer", "u", "BUFFER", 1, family="buffer", writable=True),
        ObjectKind("StructuredBuffer", "t", "STRUCTURED_BUFFER", 1, family="structured"),
        ObjectKind("RWStructuredBuffer", "u", "STRUCTURED_BUFFER", 1, family="structured", writable=True),
        ObjectKind("AppendStructuredBuffer", "u", "STRUCTURED_BUFFER", 1, family="structured", writable=True,
                   counter="append"),
        ObjectKind("ConsumeStructuredBuffer", "u", "STRUCTURED_BUFFER", 1, family="structured", writable=True,
                   counter="consume"),
        ObjectKind("ByteAddressBuffer", "t", "RAW_BUFFER", 1, family="raw"),
        ObjectKind("RWByteAddressBuffer", "u", "RAW_BUFFER", 1, family="raw", writable=True),
        ObjectKind("SamplerState", "s", family="sampler"),
        ObjectKind("SamplerComparisonState", "s", family="sampler"),
        ObjectKind("sampler", "s", "TEXTURE2D", 2, family="sampler"),
        ObjectKind("sampler1D", "s", "TEXTURE1D", 1, family="sampler"),
        ObjectKind("sampler2D", "s", "TEXTURE2D", 2, family="sampler"),
        ObjectKind("sampler3D", "s", "TEXTURE3D", 3, family="sampler"),
        ObjectKind("samplerCUBE", "s", "TEXTURECUBE", 3, family="sampler"),
        ObjectKind("PointStream", "", family="stream"),
        ObjectKind("LineStream", "", family="stream"),
        ObjectKind("TriangleStream", "", family="stream"),
        ObjectKind("InputPatch", "", family="patch"),
        ObjectKind("OutputPatch", "", family="patch"),
    ]
    return {kind.name: kind for kind in kinds}


OBJECTS = _object_kinds()


class Object(Type):
    """A resource, sampler, stream or patch; ``element`` as in ``Texture2D<element>``; ``count``: samples or points."""

    __slots__ = ("count", "element", "kind", "norm")

    def __init__(self, kind: ObjectKind, element: Type | None = None, count: int = 0, norm: str = "") -> None:
        self.kind = kind
        self.element = element
        self.count = count
        self.norm = norm  # unorm or snorm

    def same(self, other: Type) -> bool:
        return (
            isinstance(other, Object)
            and self.kind is other.kind
            and self.count == other.count
            and str(self.element) == str(other.element)
        )

    def __str__(self) -> str:
        if self.element is None or self.kind.family in ("raw", "sampler"):
            return self.kind.name
        return f"{self.kind.name}<{self.element}{f',{self.count}' if self.count else ''}>"


def lane_count(type_: Type) -> int:
    """32-bit lanes of a value of this type; a double takes two, an object none."""
    if isinstance(type_, Numeric):
        return type_.count * (2 if type_.kind == "d" else 1)
    if isinstance(type_, Array):
        return type_.size * lane_count(type_.element)
    if isinstance(type_, Struct):
        return type_.lanes
    return 0
