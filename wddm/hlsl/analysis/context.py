"""What all of the analysis shares: the profile, scopes, names, errors, conversions of expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from wddm.hlsl import syntax as ast
from wddm.hlsl import tree
from wddm.hlsl.conversions import IMPOSSIBLE, TRUNCATION, conversion_cost, explicit_allowed
from wddm.hlsl.diagnostics import Position, Sink
from wddm.hlsl.ir.fold import as_float
from wddm.hlsl.lexer import Token
from wddm.hlsl.types import Array, Numeric, Object, Struct, Type

__all__ = ["Context", "Profile", "Scope", "SemanticProblem", "Symbol"]


class SemanticProblem(Exception):
    """A semantic error has been recorded; the analysis goes on with the next statement or declaration."""


@dataclass(frozen=True, slots=True)
class Profile:
    """``stage`` is one of v p g h d c, ``model`` 40, 41 or 50."""

    name: str
    stage: str
    model: int


@dataclass(frozen=True, slots=True)
class NamespaceSymbol:
    name: str


Symbol = tree.Variable | Type | NamespaceSymbol
Scope = dict[str, Symbol]


class Context:
    def __init__(self, sink: Sink, profile: Profile) -> None:
        self.sink = sink
        self.profile = profile
        self.unit = tree.Unit({}, [], [])
        self.globals: Scope = {}
        self.scopes: list[Scope] = []
        self.namespace: tuple[str, ...] = ()
        self.function: tree.Function | None = None
        self.struct: Struct | None = None
        self.evaluate: Callable[[tree.Expression], tuple[int, ...] | None] = lambda _: None

    # -- errors --------------------------------------------------------------------------------------------------

    def fail(self, code: int, message: str, token: Token) -> NoReturn:
        self.sink.error(code, message, token.position)
        raise SemanticProblem

    def error(self, code: int, message: str, token: Token) -> None:
        self.sink.error(code, message, token.position)

    def warn(self, code: int, message: str, token: Token) -> None:
        self.sink.warning(code, message, token.position)

    # -- names ---------------------------------------------------------------------------------------------------

    def declare(self, name: str, symbol: Symbol, token: Token) -> None:
        """Enter a name into the innermost scope; X3003 when it is taken there."""
        if self.scopes:
            scope, key = self.scopes[-1], name
        else:
            scope, key = self.globals, "::".join((*self.namespace, name))
        known = scope.get(key)
        reopened = isinstance(known, NamespaceSymbol) and isinstance(symbol, NamespaceSymbol)
        function = known is None and not self.scopes and key in self.unit.functions
        if function or (known is not None and not reopened):
            self.error(3003, f"redefinition of '{name}'", token)
        scope[key] = symbol

    def find(self, path: tuple[str, ...]) -> Symbol | None:
        """Look a name up, innermost scope first, then the namespaces outwards."""
        if len(path) == 1:
            for scope in reversed(self.scopes):
                found = scope.get(path[0])
                if found is not None:
                    return found
        for prefix in self.prefixes():
            found = self.globals.get("::".join((*prefix, *path)))
            if found is not None:
                return found
        return None

    def prefixes(self) -> list[tuple[str, ...]]:
        return [self.namespace[:count] for count in range(len(self.namespace), -1, -1)]

    def find_functions(self, path: tuple[str, ...]) -> list[tree.Function]:
        for prefix in self.prefixes():
            found = self.unit.functions.get("::".join((*prefix, *path)))
            if found:
                return found
        return []

    # -- conversions ---------------------------------------------------------------------------------------------

    def convert(
        self, value: tree.Expression, target: Type, token: Token | None = None, *, explicit: bool = False
    ) -> tree.Expression:
        """``value`` as ``target``: X3017 when that cannot be, X3206 when components are lost without a cast."""
        source = value.type
        if source is target:
            return value
        token = token or value.token
        cost = conversion_cost(source, target, value.literal)
        if cost >= IMPOSSIBLE:
            if not explicit:
                kind = "implicitly convert" if explicit_allowed(source, target) else "convert"
                self.fail(3017, f"cannot {kind} from '{source}' to '{target}'", token)
            if not explicit_allowed(source, target):
                self.fail(3017, f"cannot convert from '{source}' to '{target}'", token)
        if not explicit and isinstance(source, Numeric) and isinstance(target, Numeric):
            if cost >= TRUNCATION:
                what = "matrix" if source.shape == "matrix" else "vector"
                self.warn(3206, f"implicit truncation of {what} type", token)
            if source.kind == "d" and target.kind in "fiu" and not value.literal:
                self.warn(3205, "conversion from larger type to smaller, possible loss of data", token)
        if isinstance(value, tree.Constant) and isinstance(target, Numeric) and isinstance(source, Numeric):
            folded = self.evaluate(tree.Convert(value.token, target, value))
            if folded is not None:
                return tree.Constant(value.token, target, folded, literal=value.literal and source.kind == target.kind)
        return tree.Convert(value.token, target, value)

    def require_numeric(self, value: tree.Expression) -> Numeric:
        if not isinstance(value.type, Numeric):
            self.fail(3022, f"scalar, vector, or matrix expected, not '{value.type}'", value.token)
        return value.type

    # -- l-values ------------------------------------------------------------------------------------------------

    def require_target(self, target: tree.Expression, token: Token) -> None:
        """X3025 unless ``target`` may be written to."""
        node = target
        while True:
            if isinstance(node, tree.Swizzle):
                if len(set(node.places)) != len(node.places):
                    self.fail(3025, "l-value names a component twice", token)
                node = node.object
            elif isinstance(node, tree.FieldOf):
                node = node.object
            elif isinstance(node, tree.Element):
                if isinstance(node.object.type, Object):
                    if not node.object.type.kind.writable:
                        self.fail(3025, f"l-value specifies const object: '{node.object.type}' cannot be written", token)
                    return
                node = node.object
            elif isinstance(node, tree.Reference):
                variable = node.variable
                if variable.storage == "uniform":
                    self.fail(3025, "l-value specifies const object; global variables are implicitly constant", token)
                if variable.is_const:
                    self.fail(3025, f"l-value specifies const object '{variable.name}'", token)
                return
            else:
                self.fail(3025, "expression is not an l-value", token)

    def integer_constant(self, node: ast.Expression, value: tree.Expression, code: int, what: str) -> int:
        """Value of an expression that must be a scalar known now; error ``code`` otherwise."""
        lanes = self.evaluate(value) if isinstance(value.type, Numeric) and value.type.count == 1 else None
        if lanes is None or not isinstance(value.type, Numeric):
            self.fail(code, f"{what} must be a literal scalar expression", node.token)
        bits = lanes[0]
        if value.type.kind == "f":
            number = as_float(bits)
            return int(number) if abs(number) < 2**31 else 2**31
        if value.type.kind == "u":
            return bits
        return bits - (1 << 32) if bits >> 31 and value.type.kind == "i" else min(bits, 1) if value.type.kind == "b" else bits

    def position(self, token: Token) -> Position:
        return token.position


def array_of(element: Type, sizes: list[int]) -> Type:
    for size in reversed(sizes):
        element = Array.of(element, size)
    return element
