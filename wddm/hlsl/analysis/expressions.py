"""Analysis of expressions: operators, members, swizzles, indices, constructors, initialisers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wddm.hlsl import syntax as ast
from wddm.hlsl import tree
from wddm.hlsl.conversions import common_base, common_shape
from wddm.hlsl.ir.fold import double_bits
from wddm.hlsl.ir.nodes import float_pattern
from wddm.hlsl.lexer import Token
from wddm.hlsl.types import (
    BOOL,
    INT,
    STRING,
    UINT,
    VOID,
    Array,
    Numeric,
    Object,
    Struct,
    Type,
    lane_count,
    scalar,
    vector,
)

from .context import Context, NamespaceSymbol

__all__ = ["ExpressionAnalysis"]

_COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!="})
_BITWISE = frozenset({"&", "|", "^", "<<", ">>", "~"})


class ExpressionAnalysis(Context):
    def expression(self, node: ast.Expression) -> tree.Expression:
        """The typed tree of an expression."""
        return _HANDLERS[type(node)](self, node)

    def value(self, node: ast.Expression) -> tree.Expression:
        """An expression that must have a value."""
        result = self.expression(node)
        if result.type is VOID:
            self.fail(3022, "the expression has no value", node.token)
        return result

    def call(self, node: ast.Call) -> tree.Expression:
        raise NotImplementedError

    def method_call(self, node: ast.MethodCall) -> tree.Expression:
        raise NotImplementedError

    def resolve_type(self, node: ast.TypeName) -> Type:
        raise NotImplementedError

    def sized(self, type_: Type, dimensions: list[ast.Expression | None], token: Token) -> Type:
        raise NotImplementedError

    # -- leaves --------------------------------------------------------------------------------------------------

    def literal(self, node: ast.Literal) -> tree.Expression:
        if node.base == "string":
            return tree.Constant(node.token, STRING, ())
        type_ = scalar(node.base)
        if type_.kind == "d":
            lanes: tuple[int, ...] = double_bits(float(node.value))
        elif type_.kind == "f":
            lanes = (float_pattern(float(node.value)),)
        elif type_.kind == "b":
            lanes = (0xFFFFFFFF if node.value else 0,)
        else:
            lanes = (int(node.value) & 0xFFFFFFFF,)
        return tree.Constant(node.token, type_, lanes, literal=node.literal and type_.kind != "b")

    def name(self, node: ast.Name) -> tree.Expression:  # noqa: RET503 - the last call does not return
        path = node.path
        if len(path) == 1 and self.function is not None:
            found = next((scope[path[0]] for scope in reversed(self.scopes) if path[0] in scope), None)
            if found is None and (this := self.this_member(path[0], node.token)) is not None:
                return this
        symbol = self.find(path)
        if isinstance(symbol, tree.Variable):
            return tree.Reference(node.token, symbol.type, symbol)
        text = "::".join(path)
        if isinstance(symbol, Type):
            self.fail(3005, f"identifier '{text}' is a type, not a variable", node.token)
        if isinstance(symbol, NamespaceSymbol):
            self.fail(3005, f"identifier '{text}' is a namespace, not a variable", node.token)
        if self.find_functions(path):
            self.fail(3005, f"identifier '{text}' is a function, not a variable", node.token)
        self.fail(3004, f"undeclared identifier '{text}'", node.token)

    def this_member(self, name: str, token: Token) -> tree.Expression | None:
        """A field of the object whose method is being analysed."""
        function = self.function
        if function is None or function.owner is None:
            return None
        member = function.owner.find(name)
        if member is not None and function.this is not None:
            this = tree.Reference(token, function.owner, function.this)
            return tree.FieldOf(token, member.type, this, member)
        owner: Struct | None = function.owner
        while owner is not None:
            static = self.globals.get(f"{owner.name}::{name}")
            if isinstance(static, tree.Variable):
                return tree.Reference(token, static.type, static)
            owner = owner.base
        if name == "this" and function.this is not None:
            return tree.Reference(token, function.owner, function.this)
        return None

    # -- operators -----------------------------------------------------------------------------------------------

    def unary(self, node: ast.Unary) -> tree.Expression:
        operand = self.value(node.operand)
        if node.operator in ("++", "--"):
            return self.step(node.token, operand, node.operator, postfix=False)
        type_ = self.require_numeric(operand)
        operator = node.operator
        if operator == "!":
            target = type_.with_base("bool")
            return tree.Operation(node.token, target, "!", [self.convert(operand, target)])
        if operator == "~" and type_.kind not in "biu":
            self.fail(3082, "int or unsigned int type required", node.token)
        if type_.kind == "b":
            type_ = type_.with_base("int")
            operand = self.convert(operand, type_)
        if operator == "+":
            return operand
        if operator == "-" and isinstance(operand, tree.Constant) and operand.literal:
            folded = self.evaluate(tree.Operation(node.token, type_, "neg", [operand]))
            if folded is not None:
                return tree.Constant(operand.token, type_, folded, literal=True)
        name = "neg" if operator == "-" else "~"
        return tree.Operation(node.token, type_, name, [operand], literal=operand.literal)

    def postfix(self, node: ast.Postfix) -> tree.Expression:
        return self.step(node.token, self.value(node.operand), node.operator, postfix=True)

    def step(self, token: Token, operand: tree.Expression, operator: str, *, postfix: bool) -> tree.Expression:
        type_ = self.require_numeric(operand)
        if type_.kind == "b":
            self.fail(3020, "type mismatch: a bool cannot be incremented", token)
        self.require_target(operand, token)
        return tree.IncrementDecrement(token, type_, operand, 1 if operator == "++" else -1, postfix)

    def binary(self, node: ast.Binary) -> tree.Expression:
        if node.operator == ",":
            left, right = self.expression(node.left), self.expression(node.right)
            items = left.items if isinstance(left, tree.Sequence) else [left]
            return tree.Sequence(node.token, right.type, [*items, right])
        return self.combine(node.token, node.operator, self.value(node.left), self.value(node.right))

    def combine(
        self, token: Token, operator: str, left: tree.Expression, right: tree.Expression
    ) -> tree.Expression:
        """``left operator right`` with both sides brought to the type it is computed in."""
        shape, operand = self.operand_type(token, operator, left, right)
        if operator in ("<<", ">>"):
            amount = shape.with_base("uint" if self.require_numeric(right).kind == "u" else "int")
            operands = [self.convert(left, operand, token), self.convert(right, amount, token)]
        else:
            operands = [self.convert(left, operand, token), self.convert(right, operand, token)]
        if operator in ("/", "%") and operand.kind in "iu":
            divisor = operands[1]
            if operand.kind == "i" and not isinstance(divisor, tree.Constant):
                self.warn(3556, "integer divides may be much slower, try using uints if possible", token)
            if isinstance(divisor, tree.Constant) and 0 in divisor.lanes:
                self.fail(4010, "integer divide by zero", token)
        boolean = operator in _COMPARISONS or operator in ("&&", "||")
        result = operand.with_base("bool") if boolean else operand
        literal = left.literal and right.literal and not boolean
        return tree.Operation(token, result, operator, operands, literal=literal)

    def operand_type(
        self, token: Token, operator: str, left: tree.Expression, right: tree.Expression
    ) -> tuple[Numeric, Numeric]:
        """(shape, type of the left operand) in which an operator computes."""
        a, b = self.require_numeric(left), self.require_numeric(right)
        if operator in ("&&", "||"):
            base = "bool"
        elif operator in ("<<", ">>"):
            base = a.base if a.kind != "b" else "int"
        else:
            base = common_base(a, b, left.literal, right.literal)
            if base == "bool" and operator not in ("==", "!="):
                base = "int"
        if operator in _BITWISE and (a.kind not in "biu" or b.kind not in "biu"):
            self.fail(3082, "int or unsigned int type required", token)
        shape = common_shape(base, a, b)
        if shape is None:
            self.fail(3020, f"type mismatch: '{a}' {operator} '{b}'", token)
        return shape, shape

    def assign(self, node: ast.Assign) -> tree.Expression:
        target = self.value(node.target)
        self.require_target(target, node.target.token)
        if isinstance(target.type, Object):
            self.fail(3025, f"'{target.type}' objects cannot be assigned", node.token)
        if node.operator == "=":
            value = self.initial_value(target.type, node.value)
            return tree.Assign(node.token, target.type, target, value)
        value = self.value(node.value)
        operator = node.operator[:-1]
        type_ = self.require_numeric(target)
        shape, compute = self.operand_type(node.token, operator, target, value)
        if shape.count < type_.count:
            self.fail(3020, f"type mismatch: '{type_}' {node.operator} '{value.type}'", node.token)
        compute = compute if compute.count == type_.count else type_.with_base(compute.base)
        if operator in ("<<", ">>"):
            value = self.convert(value, compute.with_base("int"), node.token)
        else:
            value = self.convert(value, compute, node.token)
        if operator in ("/", "%") and compute.kind in "iu" and isinstance(value, tree.Constant) and 0 in value.lanes:
            self.fail(4010, "integer divide by zero", node.token)
        return tree.Assign(node.token, type_, target, value, operator, compute)

    def ternary(self, node: ast.Ternary) -> tree.Expression:
        condition = self.value(node.condition)
        then, otherwise = self.value(node.then), self.value(node.otherwise)
        test = self.require_numeric(condition)
        if not isinstance(then.type, Numeric) or not isinstance(otherwise.type, Numeric):
            if test.count != 1 or then.type is not otherwise.type or isinstance(then.type, Object):
                self.fail(3020, f"type mismatch: '{then.type}' and '{otherwise.type}' in ?:", node.token)
            return tree.Conditional(node.token, then.type, self.convert(condition, BOOL), then, otherwise)
        base = common_base(then.type, otherwise.type, then.literal, otherwise.literal)
        shape = common_shape(base, then.type, otherwise.type)
        if shape is not None and test.count > 1:
            shape = common_shape(base, shape, test)
        if shape is None:
            self.fail(3020, f"type mismatch: '{then.type}' and '{otherwise.type}' in ?:", node.token)
        width = shape if test.count > 1 else scalar("bool")
        condition = self.convert(condition, width.with_base("bool"))
        return tree.Conditional(
            node.token, shape, condition, self.convert(then, shape), self.convert(otherwise, shape),
            literal=then.literal and otherwise.literal,
        )

    def cast(self, node: ast.Cast) -> tree.Expression:
        type_ = self.sized(self.resolve_type(node.type), list(node.dimensions), node.token)
        operand = self.value(node.operand)
        if type_ is VOID or isinstance(type_, Object):
            self.fail(3017, f"cannot convert from '{operand.type}' to '{type_}'", node.token)
        if operand.type is type_:
            return tree.Convert(node.token, type_, operand)
        result = self.convert(operand, type_, node.token, explicit=True)
        result.literal = False
        return result

    # -- access --------------------------------------------------------------------------------------------------

    def member(self, node: ast.Member) -> tree.Expression:  # noqa: RET503 - the last call does not return
        object_ = self.value(node.object)
        type_ = object_.type
        if isinstance(type_, Struct):
            found = type_.find(node.name)
            if found is not None:
                return tree.FieldOf(node.token, found.type, object_, found)
            static = self.globals.get(f"{type_.name}::{node.name}")
            if isinstance(static, tree.Variable):
                return tree.Reference(node.token, static.type, static)
            self.fail(3018, f"invalid subscript '{node.name}': '{type_}' has no such member", node.token)
        if isinstance(type_, Numeric):
            places = matrix_swizzle(type_, node.name) if type_.shape == "matrix" else vector_swizzle(type_, node.name)
            if not places:
                self.fail(3018, f"invalid subscript '{node.name}'", node.token)
            result = type_.with_count(len(places))
            return tree.Swizzle(node.token, result, object_, places, literal=object_.literal)
        if isinstance(type_, Array) and node.name == "Length":
            return tree.Constant(node.token, INT, (type_.size,))
        self.fail(3018, f"invalid subscript '{node.name}' on '{type_}'", node.token)

    def index(self, node: ast.Index) -> tree.Expression:
        inner = node.object
        if isinstance(inner, ast.Index) and isinstance(inner.object, ast.Member):
            word = inner.object.name
            if word in ("mips", "sample"):
                texture = self.value(inner.object.object)
                if isinstance(texture.type, Object):
                    return self.resource_index(node, texture, self.value(inner.index), word)
        object_ = self.value(inner)
        type_ = object_.type
        if isinstance(type_, Object):
            return self.resource_index(node, object_, None, "")
        index = self.value(node.index)
        if not isinstance(index.type, Numeric) or index.type.count != 1:
            self.fail(3120, "invalid type for index - index must be a scalar", node.index.token)
        index = self.convert(index, UINT if index.type.kind == "u" else INT)
        if isinstance(type_, Array):
            result, size = type_.element, type_.size
        elif isinstance(type_, Numeric) and type_.shape == "matrix":
            result, size = vector(type_.base, type_.columns), type_.rows
        elif isinstance(type_, Numeric) and type_.shape == "vector":
            result, size = scalar(type_.base), type_.count
        else:
            self.fail(3121, "array, matrix, vector, or indexable object type expected in index expression", node.token)
        known = self.evaluate(index)
        if known is not None:
            number = known[0] - (1 << 32) if known[0] >> 31 else known[0]
            if not 0 <= number < size:
                self.fail(3504, f"array index out of bounds: {number} of {size}", node.index.token)
            index = tree.Constant(node.index.token, INT, (number,))
        return tree.Element(node.token, result, object_, index)

    def resource_index(
        self, node: ast.Index, object_: tree.Expression, level: tree.Expression | None, word: str
    ) -> tree.Expression:
        type_ = object_.type
        assert isinstance(type_, Object)
        kind = type_.kind
        if kind.family in ("raw", "sampler", "stream") or kind.counter or "CUBE" in kind.dimension or type_.element is None:
            self.fail(3121, f"'{type_}' cannot be indexed", node.token)
        if level is not None:
            fits = kind.family == "texture" and not kind.writable and (word == "sample") == kind.multisampled
            if not fits:
                self.fail(3018, f"invalid subscript '{word}' on '{type_}'", node.token)
            level = self.convert(level, UINT)
        index = self.value(node.index)
        count = kind.coordinates + kind.array if kind.family == "texture" else 1
        self.require_numeric(index)
        index = self.convert(index, UINT if count == 1 else vector("uint", count), node.index.token)
        return tree.Element(node.token, type_.element, object_, index, level)

    # -- constructors and initialisers ---------------------------------------------------------------------------

    def construct(self, node: ast.Construct) -> tree.Expression:
        type_ = self.resolve_type(node.type)
        if not isinstance(type_, Numeric):
            self.fail(3037, "constructors only defined for numeric base types", node.token)
        items = [self.value(argument) for argument in node.arguments]
        if len(items) == 1 and type_.count == 1:
            return self.convert(items[0], type_, node.token, explicit=True)
        total = sum(self.require_numeric(item).count for item in items)
        if total != type_.count:
            self.fail(3014, f"incorrect number of arguments to numeric-type constructor: {total} components for "
                      f"'{type_}'", node.token)  # fmt: skip
        converted = [self.convert(item, item.numeric.with_base(type_.base), explicit=True) for item in items]
        literal = bool(items) and all(item.literal for item in items)
        return tree.Aggregate(node.token, type_, converted, literal=literal)

    def initial_value(self, type_: Type, node: ast.Expression) -> tree.Expression:
        """An initialiser or assigned value, ``{…}`` allowed, as ``type_``."""
        if not isinstance(node, ast.InitializerList):
            return self.convert(self.value(node), type_, node.token)
        pieces = self.flatten(node)
        want = lane_count(type_)
        pieces.reverse()
        result = self.fill(type_, pieces, node.token)
        if pieces:
            self.fail(3037, f"initializer does not match type: too many values for '{type_}' ({want} expected)", node.token)
        return result

    def flatten(self, node: ast.Expression) -> list[tree.Expression]:
        if isinstance(node, ast.InitializerList):
            return [piece for item in node.items for piece in self.flatten(item)]
        return [self.value(node)]

    def fill(self, type_: Type, pieces: list[tree.Expression], token: Token) -> tree.Expression:
        """Take what ``type_`` needs off the end of ``pieces`` (they stand in reverse)."""
        if pieces and pieces[-1].type is type_:
            return pieces.pop()
        if isinstance(type_, Array):
            return tree.Aggregate(token, type_, [self.fill(type_.element, pieces, token) for _ in range(type_.size)])
        if isinstance(type_, Struct):
            return tree.Aggregate(token, type_, [self.fill(f.type, pieces, token) for f in type_.fields])
        if not isinstance(type_, Numeric):
            self.fail(3037, f"'{type_}' cannot be initialized with a list", token)
        items: list[tree.Expression] = []
        missing = type_.count
        while missing:
            if not pieces:
                self.fail(3037, f"initializer does not match type: too few values for '{type_}'", token)
            piece = pieces.pop()
            if isinstance(piece.type, Struct):
                pieces += reversed([tree.FieldOf(token, f.type, piece, f) for f in piece.type.fields])
                continue
            if isinstance(piece.type, Array):
                element = piece.type.element
                parts = [tree.Element(token, element, piece, tree.Constant(token, INT, (i,))) for i in range(piece.type.size)]
                pieces += reversed(parts)
                continue
            count = self.require_numeric(piece).count
            base = piece.numeric
            if count > missing:
                places = tuple(range(count))
                rest = tree.Swizzle(token, base.with_count(count - missing), piece, places[missing:])
                pieces.append(rest)
                piece = tree.Swizzle(token, base.with_count(missing), piece, places[:missing])
                count = missing
            items.append(self.convert(piece, piece.numeric.with_base(type_.base), token))
            missing -= count
        if len(items) == 1 and items[0].type is type_:
            return items[0]
        return tree.Aggregate(token, type_, items)

    def initializer_list(self, node: ast.InitializerList) -> tree.Expression:
        self.fail(3000, "syntax error: an initializer list cannot stand here", node.token)


def vector_swizzle(type_: Numeric, name: str) -> tuple[int, ...]:
    """Component numbers of ``xyzw`` or ``rgba`` names; empty when the name is no swizzle of this type."""
    if not 1 <= len(name) <= 4:
        return ()
    for letters in ("xyzw", "rgba"):
        places = tuple(letters.find(c) for c in name)
        if min(places) >= 0:
            return places if max(places) < type_.count else ()
    return ()


def matrix_swizzle(type_: Numeric, name: str) -> tuple[int, ...]:
    """Component numbers, row after row, of ``_m00_m11`` or ``_11_22`` names."""
    out: list[int] = []
    zero_based = name.startswith("_m")
    step = 4 if zero_based else 3
    if len(name) % step or not 1 <= len(name) // step <= 4:
        return ()
    for at in range(0, len(name), step):
        part = name[at : at + step]
        if not part.startswith("_m" if zero_based else "_") or not part[-2:].isdigit() or not part[-2:].isascii():
            return ()
        row, column = (int(c) - (0 if zero_based else 1) for c in part[-2:])
        if not (0 <= row < type_.rows and 0 <= column < type_.columns):
            return ()
        out.append(row * type_.columns + column)
    return tuple(out)


_HANDLERS: dict[type, Callable[[ExpressionAnalysis, Any], tree.Expression]] = {
    ast.Literal: ExpressionAnalysis.literal,
    ast.Name: ExpressionAnalysis.name,
    ast.Unary: ExpressionAnalysis.unary,
    ast.Postfix: ExpressionAnalysis.postfix,
    ast.Binary: ExpressionAnalysis.binary,
    ast.Assign: ExpressionAnalysis.assign,
    ast.Ternary: ExpressionAnalysis.ternary,
    ast.Cast: ExpressionAnalysis.cast,
    ast.Member: ExpressionAnalysis.member,
    ast.Index: ExpressionAnalysis.index,
    ast.Construct: ExpressionAnalysis.construct,
    ast.InitializerList: ExpressionAnalysis.initializer_list,
    ast.Call: lambda self, node: self.call(node),
    ast.MethodCall: lambda self, node: self.method_call(node),
}
