"""Analysis of types as written: names, templates, objects, array dimensions."""

from __future__ import annotations

from wddm.hlsl import syntax as ast
from wddm.hlsl.lexer import Token
from wddm.hlsl.types import (
    FLOAT,
    OBJECTS,
    STRING,
    VOID,
    Array,
    Numeric,
    Object,
    Type,
    lane_count,
    matrix,
    numeric_named,
    vector,
)

from .statements import StatementAnalysis

__all__ = ["MAX_LANES", "TypeAnalysis"]

MAX_LANES = 65536
"""Components of one variable; the largest constant buffer has a quarter of it."""


class TypeAnalysis(StatementAnalysis):
    def resolve_type(self, node: ast.TypeName) -> Type:
        words = {t.text for t in node.modifiers}
        row_major = node.row_major
        if "row_major" in words or "column_major" in words:
            if {"row_major", "column_major"} <= words:
                self.fail(3048, "a matrix is either row_major or column_major", node.token)
            row_major = "row_major" in words
        name = node.path[-1]
        symbol = self.find(node.path)
        type_: Type
        if isinstance(symbol, Type):
            type_ = symbol
            if isinstance(type_, Numeric) and type_.shape == "matrix" and ({"row_major", "column_major"} & words):
                type_ = type_.with_row_major(row_major)
        elif len(node.path) > 1 or symbol is not None:
            self.fail(3000, f"'{'::'.join(node.path)}' is not a type", node.token)
        elif name in ("vector", "matrix"):
            type_ = self.template_numeric(node, name, row_major)
        elif (numeric := numeric_named(name, row_major)) is not None:
            type_ = numeric
        elif name in ("void", "string"):
            type_ = VOID if name == "void" else STRING
        else:
            type_ = self.object_type(node, words)
        if type_ is STRING and self.function is not None:
            self.fail(3000, "strings cannot be used here", node.token)
        if {"unorm", "snorm"} & words and not (isinstance(type_, Numeric) and type_.kind == "f"):
            self.fail(3085, "unorm and snorm apply to float types", node.token)
        return type_

    def template_numeric(self, node: ast.TypeName, name: str, row_major: bool) -> Type:
        arguments = list(node.arguments)
        base: Type = FLOAT
        if arguments and isinstance(arguments[0], ast.TypeName):
            base = self.resolve_type(arguments.pop(0))  # type: ignore[arg-type]
        if not isinstance(base, Numeric) or base.shape != "scalar":
            self.fail(3000, f"'{name}' needs a scalar type", node.token)
        sizes: list[int] = []
        for argument in arguments:
            if isinstance(argument, ast.TypeName):
                self.fail(3000, f"'{name}' needs numbers as its sizes", node.token)
            sizes.append(self.integer_constant(argument, self.value(argument), 3053, "a dimension"))
        if not node.arguments:
            sizes = [4] if name == "vector" else [4, 4]
        if len(sizes) != (1 if name == "vector" else 2) or not all(1 <= s <= 4 for s in sizes):
            self.fail(3052, f"'{name}' dimensions must be between 1 and 4", node.token)
        return vector(base.base, sizes[0]) if name == "vector" else matrix(base.base, sizes[0], sizes[1], row_major)

    def object_type(self, node: ast.TypeName, words: set[str]) -> Type:
        name = node.path[-1]
        name = {"texture": "Texture2D", "texture1D": "Texture1D", "texture2D": "Texture2D", "texture3D": "Texture3D",
                "textureCUBE": "TextureCube", "Texture": "Texture2D"}.get(name, name)  # fmt: skip
        kind = OBJECTS.get(name)
        if kind is None:
            self.fail(3000, f"unrecognized identifier '{name}'", node.token)
        arguments = list(node.arguments)
        element: Type | None = None
        norm = ""
        if arguments:
            first = arguments.pop(0)
            if not isinstance(first, ast.TypeName) or kind.family in ("sampler", "raw"):
                self.fail(3000, f"'{name}' takes no such argument", node.token)
            element = self.resolve_type(first)
            norm = next((t.text for t in first.modifiers if t.text in ("unorm", "snorm")), "")
        count = 0
        if arguments:
            if isinstance(arguments[0], ast.TypeName) or not (kind.multisampled or kind.family == "patch"):
                self.fail(3000, f"'{name}' takes no such argument", node.token)
            count = self.integer_constant(arguments[0], self.value(arguments[0]), 3053, "a count")
            limit = 128 if kind.multisampled else 32
            if not 0 <= count <= limit:
                self.fail(3052, f"'{name}': the count must be between 0 and {limit}", node.token)
        if kind.family in ("texture", "buffer"):
            if element is None:
                if kind.writable or kind.family == "buffer":
                    self.fail(3000, f"'{name}' needs an element type", node.token)
                element = vector("float", 4)
            if not isinstance(element, Numeric) or element.shape == "matrix" or lane_count(element) > 4:
                self.fail(3081, f"'{name}': the element type must be a scalar or vector that fits four 32-bit "
                          f"components, not '{element}'", node.token)  # fmt: skip
            if element.kind == "b":
                self.fail(3081, f"'{name}': elements cannot be bool", node.token)
        elif kind.family in ("structured", "stream", "patch"):
            if element is None:
                self.fail(3000, f"'{name}' needs an element type", node.token)
            if lane_count(element) == 0 or (kind.family == "structured" and lane_count(element) > 512):
                self.fail(3081, f"'{name}': '{element}' cannot be its element", node.token)
            if kind.family == "patch" and count == 0:
                self.fail(3081, f"'{name}' needs the number of control points", node.token)
        return Object(kind, element, count, norm)

    def sized(self, type_: Type, dimensions: list[ast.Expression | None], token: Token) -> Type:
        """``type_`` as an array of the dimensions written behind the name."""
        sizes: list[int] = []
        for dimension in dimensions:
            if dimension is None:
                self.fail(3065, "array dimensions of type must be explicit", token)
            size = self.integer_constant(dimension, self.value(dimension), 3058, "an array dimension")
            if not 1 <= size <= 65536:
                self.fail(3058, "array dimension must be between 1 and 65536", dimension.token)
            sizes.append(size)
        if sizes and type_ is VOID:
            self.fail(3038, "an array cannot be of void", token)
        for size in reversed(sizes):
            type_ = Array.of(type_, size)
            if max(lane_count(type_), size) > MAX_LANES:
                self.fail(3059, f"the array is too large: more than {MAX_LANES} components", token)
        return type_
