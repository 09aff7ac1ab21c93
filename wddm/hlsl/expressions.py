"""Tokens to syntax tree: expressions, and the token cursor that the whole parser stands on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from . import syntax as ast
from .diagnostics import Sink
from .lexer import EOF, FLOAT, ID, INT, STRING, Token
from .preprocessor import Preprocessed
from .types import OBJECTS, numeric_named
from .words import ASSIGNMENTS, BINARY, MODIFIERS, RESERVED, SOFT_MODIFIERS

__all__ = ["ExpressionParser", "SyntaxProblem"]

MAX_DEPTH = 200
"""Nesting of expressions, statements and declarations."""

MAX_CHAIN = 2000
"""Operators in a row, such as a + b + c …: their tree is as deep as the row is long."""

_TEMPLATES = frozenset({"vector", "matrix"})
_LEGACY_TYPES = {"texture", "texture1D", "texture2D", "texture3D", "textureCUBE", "Texture", "samplerCUBE",
                 "sampler_state", "SamplerComparisonState"}  # fmt: skip


class SyntaxProblem(Exception):
    """A syntax error has been recorded; the parser must find a place to go on."""


class ExpressionParser:
    """A cursor over the tokens, scopes of type names, and the expression grammar."""

    def __init__(self, source: Preprocessed, sink: Sink, row_major: bool) -> None:
        self.source = source
        self.tokens = source.tokens
        self.sink = sink
        self.row_major = row_major
        self.index = 0
        self.token = self.tokens[0]
        self.types: list[set[str]] = [set()]
        self.namespace: tuple[str, ...] = ()
        self.depth = 0
        self._builtin: dict[str, bool] = {}

    # -- cursor --------------------------------------------------------------------------------------------------

    def advance(self) -> Token:
        token = self.token
        if token.kind != EOF:
            self.index += 1
            self.token = self.tokens[self.index]
        return token

    def peek(self, distance: int) -> Token:
        return self.tokens[min(self.index + distance, len(self.tokens) - 1)]

    def accept(self, text: str) -> bool:
        token = self.token
        if token.text == text and token.kind != STRING and token.kind != EOF:
            self.index += 1
            self.token = self.tokens[self.index]
            return True
        return False

    def expect(self, text: str) -> Token:
        token = self.token
        if token.text != text or token.kind == STRING:
            self.unexpected(f"'{text}'")
        return self.advance()

    def identifier(self) -> Token:
        token = self.token
        if token.kind != ID or (token.text in RESERVED and token.text not in ("register", "packoffset")):
            self.unexpected("an identifier")
        return self.advance()

    def describe(self, token: Token) -> str:
        return "end of file" if token.kind == EOF else f"token '{token.text[:60]}'"

    def unexpected(self, wanted: str) -> NoReturn:
        self.fail(3000, f"syntax error: unexpected {self.describe(self.token)}, expected {wanted}")

    def fail(self, code: int, message: str, token: Token | None = None) -> NoReturn:
        self.sink.error(code, message, (token or self.token).position)
        raise SyntaxProblem

    @contextmanager
    def nested(self) -> Iterator[None]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.sink.fatal(3001, f"the source is nested more than {MAX_DEPTH} deep", self.token.position)
        yield
        self.depth -= 1

    # -- types ---------------------------------------------------------------------------------------------------

    def builtin_type(self, name: str) -> bool:
        known = self._builtin.get(name)
        if known is None:
            known = (
                numeric_named(name) is not None
                or name in OBJECTS
                or name in _TEMPLATES
                or name in _LEGACY_TYPES
                or name in ("void", "string")
            )
            self._builtin[name] = known
        return known

    def is_type(self) -> bool:
        """Whether a type name starts here (modifiers aside)."""
        token = self.token
        if token.kind != ID:
            return False
        name = token.text
        if self.peek(1).text == "::":
            name = "::".join(self.peek(i).text for i in range(0, self.path_length(), 2))
            return any(name in scope for scope in self.types)
        return any(name in scope for scope in self.types) or self.builtin_type(name)

    def declare_type(self, name: str) -> None:
        """Names count as types from here on; in a namespace also with any part of the path in front."""
        scope = self.types[-1]
        scope.add(name)
        for start in range(len(self.namespace)):
            scope.add("::".join((*self.namespace[start:], name)))

    def is_modifier(self) -> bool:
        token = self.token
        if token.kind != ID or token.text not in MODIFIERS:
            return False
        return token.text not in SOFT_MODIFIERS or self.peek(1).kind == ID

    def path_length(self) -> int:
        length = 1
        while self.peek(length).text == "::":
            length += 2
        return length

    def path(self) -> tuple[str, ...]:
        names = [self.advance().text]
        while self.accept("::"):
            names.append(self.identifier().text)
        return tuple(names)

    def type_name(self, *, definition_allowed: bool = False) -> ast.TypeName:
        raise NotImplementedError

    def dimensions(self) -> list[ast.Expression | None]:
        out: list[ast.Expression | None] = []
        while self.accept("["):
            out.append(None if self.token.text == "]" else self.ternary())
            self.expect("]")
        return out

    # -- expressions ---------------------------------------------------------------------------------------------

    def expression(self) -> ast.Expression:
        left = self.assignment()
        while self.token.text == ",":
            token = self.advance()
            left = ast.Binary(token, ",", left, self.assignment())
        return left

    def initializer(self) -> ast.Expression:
        if self.token.text != "{":
            return self.assignment()
        with self.nested():
            token = self.advance()
            items: list[ast.Expression] = []
            while self.token.text != "}":
                items.append(self.initializer())
                if not self.accept(","):
                    break
            self.expect("}")
            return ast.InitializerList(token, items)

    def assignment(self) -> ast.Expression:
        with self.nested():
            left = self.ternary()
            if self.token.text in ASSIGNMENTS and self.token.kind != STRING:
                token = self.advance()
                return ast.Assign(token, token.text, left, self.initializer() if token.text == "=" else self.assignment())
            return left

    def ternary(self) -> ast.Expression:
        condition = self.binary(1)
        if self.token.text == "?":
            with self.nested():
                token = self.advance()
                then = self.assignment()
                self.expect(":")
                return ast.Ternary(token, condition, then, self.assignment())
        return condition

    def shift(self) -> ast.Expression:
        """An expression that may stand between angle brackets: no comparisons."""
        return self.binary(9)

    def binary(self, level: int) -> ast.Expression:
        left = self.unary()
        links = 0
        while True:
            token = self.token
            priority = BINARY.get(token.text, 0)
            if priority < level or token.kind == STRING:
                return left
            links += 1
            if links > MAX_CHAIN:
                self.sink.fatal(3001, "the expression is too long", token.position)
            self.advance()
            left = ast.Binary(token, token.text, left, self.binary(priority + 1))

    def unary(self) -> ast.Expression:
        token = self.token
        text = token.text
        if token.kind == "op":
            if text in ("-", "+", "!", "~", "++", "--"):
                with self.nested():
                    self.advance()
                    return ast.Unary(token, text, self.unary())
            if text == "(":
                with self.nested():
                    return self.parenthesis()
        return self.postfix(self.primary())

    def parenthesis(self) -> ast.Expression:
        token = self.advance()
        if (self.is_type() and self.is_cast()) or self.is_modifier():
            type_ = self.type_name()
            dimensions = [d for d in self.dimensions() if d is not None]
            self.expect(")")
            return ast.Cast(token, type_, dimensions, self.unary())
        inner = self.expression()
        self.expect(")")
        return self.postfix(inner)

    def is_cast(self) -> bool:
        """``(float3)x`` against ``(float3(1, 2, 3))``."""
        following = self.peek(self.path_length()).text
        return following in (")", "[", "<")

    def primary(self) -> ast.Expression:
        token = self.token
        if token.kind == INT or token.kind == FLOAT:
            self.advance()
            return self.number(token)
        if token.kind == STRING:
            self.advance()
            return ast.Literal(token, "string", token.text[1:-1])
        if token.kind != ID:
            self.unexpected("an expression")
        if token.text in ("true", "false"):
            self.advance()
            return ast.Literal(token, "bool", int(token.text == "true"))
        if self.is_type():
            if self.peek(self.path_length()).text in ("(", "<"):
                type_ = self.type_name()
                return ast.Construct(token, type_, self.arguments())
            self.fail(3000, f"syntax error: unexpected type {token.text!r} in an expression")
        if token.text in RESERVED:
            self.unexpected("an expression")
        path = self.path()
        if self.token.text == "(":
            return ast.Call(token, path, self.arguments())
        return ast.Name(token, path)

    def arguments(self) -> list[ast.Expression]:
        self.expect("(")
        out: list[ast.Expression] = []
        while self.token.text != ")":
            out.append(self.assignment())
            if not self.accept(","):
                break
        self.expect(")")
        return out

    def postfix(self, left: ast.Expression) -> ast.Expression:
        links = 0
        while True:
            token = self.token
            text = token.text
            links += 1
            if links > MAX_CHAIN:
                self.sink.fatal(3001, "the expression is too long", token.position)
            if text == ".":
                self.advance()
                name = self.identifier()
                if self.token.text == "(":
                    left = ast.MethodCall(name, left, name.text, self.arguments())
                else:
                    left = ast.Member(name, left, name.text)
            elif text == "[":
                self.advance()
                index = self.expression()
                self.expect("]")
                left = ast.Index(token, left, index)
            elif text in ("++", "--"):
                self.advance()
                left = ast.Postfix(token, text, left)
            else:
                return left

    def number(self, token: Token) -> ast.Expression:
        text = token.text
        if token.kind == FLOAT:
            suffix = text[-1].lower()
            digits = text[:-1] if suffix in "fhl" else text
            base = {"h": "half", "l": "double"}.get(suffix, "float")
            return ast.Literal(token, base, float(digits[:1000]), suffix not in "fhl")
        digits = text.rstrip("uUlL")
        if digits[:2] in ("0x", "0X"):
            value = int(digits, 16)
        elif len(digits) > 1 and digits[0] == "0" and all(c in "01234567" for c in digits):
            value = int(digits[:60], 8)
        else:
            value = int(digits[:60])
        if value > 0xFFFFFFFF:
            self.sink.error(3094, "integer literal is too large for 32 bits", token.position)
            value = 0
        unsigned = "u" in text[len(digits) :].lower() or value > 0x7FFFFFFF
        return ast.Literal(token, "uint" if unsigned else "int", value, not unsigned)
