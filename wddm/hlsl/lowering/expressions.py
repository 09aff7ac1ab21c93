"""Lowering of expressions: operators, assignment, access, calls of user functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wddm.hlsl import tree
from wddm.hlsl.ir.nodes import FALSE, ONE, TRUE, Value, Vec, imm, imm_float
from wddm.hlsl.lexer import Token
from wddm.hlsl.types import Array, Numeric, Object, Struct, lane_count

from .convert import convert
from .effects import written_globals
from .places import Place, PlaceLowering
from .state import UNDEFINED, Binding, JumpScope, Resource

__all__ = ["ExpressionLowering"]

_FLOAT = {"+": "add", "*": "mul", "/": "div", "<": "lt", ">=": "ge", "==": "eq", "!=": "ne"}
_SIGNED = {"+": "iadd", "*": "imul", "<": "ilt", ">=": "ige", "==": "ieq", "!=": "ine", "&": "and", "|": "or", "^": "xor",
           "<<": "ishl", ">>": "ishr"}  # fmt: skip
_UNSIGNED = _SIGNED | {"<": "ult", ">=": "uge", ">>": "ushr", "/": "udiv", "%": "urem"}
_DOUBLE = {"+": "dadd", "*": "dmul", "/": "ddiv", "<": "dlt", ">=": "dge", "==": "deq", "!=": "dne"}
_BOOL = {"&&": "and", "||": "or", "==": "ieq", "!=": "ine", "&": "and", "|": "or", "^": "xor"}


class ExpressionLowering(PlaceLowering):
    def value(self, node: tree.Expression) -> Vec:
        """The lanes of an expression's value."""
        return _HANDLERS[type(node)](self, node)

    def scalar(self, node: tree.Expression) -> Value:
        return self.value(node)[0]

    def intrinsic(self, node: tree.CallIntrinsic) -> Vec:
        raise NotImplementedError

    def method(self, node: tree.CallMethod) -> Vec:
        raise NotImplementedError

    def statements(self, nodes: list[tree.Statement]) -> None:
        raise NotImplementedError

    # -- places --------------------------------------------------------------------------------------------------

    def place(self, node: tree.Expression) -> Place:
        """Where an expression's value lives; a value that lives nowhere becomes a place of its own."""
        if isinstance(node, tree.Reference):
            return self.of_variable(node.variable, node.token)
        if isinstance(node, tree.FieldOf):
            return self.member(self.place(node.object), node.field)
        if isinstance(node, tree.Swizzle):
            return self.swizzle(self.place(node.object), node.places)
        if isinstance(node, tree.Element):
            if isinstance(node.object.type, Object):
                return self.resource_element(node)
            if isinstance(node.object.type, Array) and _holds_objects(node.object.type):
                self.fail(3500, "array of resources used as a value", node.token)
            inner = self.place(node.object)
            return self.element(inner, self.scalar(node.index), node.token)
        if isinstance(node, tree.Convert) and isinstance(node.operand.type, Struct) and isinstance(node.type, Struct):
            inner = self.place(node.operand)
            if inner.storage in ("variable", "value"):
                return Place(inner.storage, inner.base, node.type, inner.offset)
        return Place("value", self.value(node), node.type)

    def access(self, node: tree.Expression) -> Vec:
        return self.load(self.place(node), node.token)

    def resource_element(self, node: tree.Element) -> Place:
        raise NotImplementedError

    def resource(self, node: tree.Expression) -> Resource:  # noqa: RET503 - the last call does not return
        """The resource that an expression of object type names."""
        if isinstance(node, tree.Reference):
            variable = node.variable
            held = self.env.get(variable)
            if isinstance(held, Resource):
                return held
            if variable.storage == "uniform":
                found = Resource(self.binding(variable))
                self.check_model(found.binding, node.token)
                return found
            if variable.initializer is not None:
                return self.resource(variable.initializer)
            self.fail(3000, f"'{variable.name}' is no resource that is known here", node.token)
        if isinstance(node, tree.Element):
            index = self.scalar(node.index)
            bits = getattr(index, "bits", None)
            if not isinstance(bits, int):
                self.need_literal(3512, "resource array index must be a literal expression", node.token)
            array = node.object.type
            assert isinstance(array, Array)
            if bits >= array.size:
                self.need_literal(3504, f"array index out of bounds: {bits} of {array.size}", node.token)
            outer = self.resource(node.object)
            return Resource(outer.binding, outer.index + bits * _object_count(array.element))
        if isinstance(node, tree.Convert):
            return self.resource(node.operand)
        self.fail(3000, "this is no resource that is known when compiling", node.token)

    def check_model(self, binding: Binding, token: Token) -> None:
        """X3700 for objects that the shader model does not have (compute shaders of 4.x have two kinds of UAV)."""
        kind = binding.type.kind
        if self.model >= 50:
            return
        first = 41 if kind.name == "TextureCubeArray" else 40
        if kind.register == "u" and not (self.stage == "c" and kind.name in ("RWStructuredBuffer", "RWByteAddressBuffer")):
            first = 50
        if kind.family in ("raw", "structured") and self.stage not in "cvpg":
            first = 50
        if self.model < first:
            self.fail(3700, f"'{kind.name}' needs shader model {first / 10}", token)

    def binding(self, variable: tree.Variable, letter: str = "") -> Binding:
        """The binding of a resource variable, made on first use."""
        inner = variable.type
        count = 1
        while isinstance(inner, Array):
            count *= inner.size
            inner = inner.element
        assert isinstance(inner, Object)
        letter = letter or inner.kind.register
        found = self.module.bindings.get((id(variable), letter))
        if found is None:
            found = Binding(variable.name, inner, letter, count, variable)
            self.module.bindings[id(variable), letter] = found
        return found

    # -- leaves --------------------------------------------------------------------------------------------------

    def constant(self, node: tree.Constant) -> Vec:
        return tuple(imm(bits) for bits in node.lanes)

    def reference(self, node: tree.Reference) -> Vec:
        if isinstance(node.type, Object) or _holds_objects(node.type):
            self.fail(3500, f"'{node.variable.name}' is a resource, not a value", node.token)
        return self.load(self.of_variable(node.variable, node.token), node.token)

    def accessed(self, node: tree.Swizzle | tree.FieldOf | tree.Element) -> Vec:
        self.step(node.token)
        if isinstance(node, tree.Swizzle) and not isinstance(node.object, tree.Reference | tree.FieldOf | tree.Element):
            lanes = self.value(node.object)
            if node.object.numeric.kind == "d":
                return tuple(lanes[2 * p + half] for p in node.places for half in (0, 1))
            return tuple(lanes[p] for p in node.places)
        return self.load(self.place(node), node.token)

    def converted(self, node: tree.Convert) -> Vec:
        return convert(self.b, self.value(node.operand), node.operand.type, node.type)

    def aggregate(self, node: tree.Aggregate) -> Vec:
        out: list[Value] = []
        for item in node.items:
            out += self.value(item)
        return tuple(out)

    def sequence(self, node: tree.Sequence) -> Vec:
        result: Vec = ()
        for item in node.items:
            result = self.value(item)
        return result

    # -- operators -----------------------------------------------------------------------------------------------

    def operation(self, node: tree.Operation) -> Vec:
        self.step(node.token)
        operands = [self.value(operand) for operand in node.operands]
        return self.operate(node.operator, node.operands[0].numeric, *operands)

    def operate(self, operator: str, type_: Numeric, *operands: Vec) -> Vec:
        """An operator over lanes of ``type_``."""
        b, kind = self.b, type_.kind
        a = operands[0]
        if operator == "neg":
            return self.negate(a, kind)
        if operator in ("!", "~"):
            return b.op("not", a)
        c = operands[1]
        if operator == ">":
            return self.operate("<", type_, c, a)
        if operator == "<=":
            return self.operate(">=", type_, c, a)
        if operator == "-":
            return self.operate("+", type_, a, self.negate(c, kind))
        if kind == "b":
            return b.op(_BOOL[operator], a, c)
        if kind == "f":
            if operator == "%":
                return self.float_modulo(a, c)
            return b.op(_FLOAT[operator], a, c)
        if kind == "d":
            if operator == "%":
                quotient = b.double("ddiv", a, c)
                whole = b.double("itod", b.double("dtoi", quotient))
                return b.double("dadd", a, self.negate(b.double("dmul", whole, c), "d"))
            return b.double(_DOUBLE[operator], a, c)
        if kind == "i":
            if operator in "/%":
                return self.signed_divide(operator, a, c)
            return b.op(_SIGNED[operator], a, c)
        return b.op(_UNSIGNED[operator], a, c)

    def negate(self, lanes: Vec, kind: str) -> Vec:
        if kind == "d":
            flipped = self.b.op("xor", lanes[1::2], (imm(0x80000000),))
            return tuple(v for pair in zip(lanes[::2], flipped, strict=True) for v in pair)
        return self.b.op("fneg" if kind == "f" else "ineg", lanes)

    def float_modulo(self, a: Vec, c: Vec) -> Vec:
        """Remainder with the sign of the left side: ±frc(abs(a / c)) · abs(c)."""
        b = self.b
        ratio = b.op("div", a, c)
        part = b.op("frc", b.op("fabs", ratio))
        signed = b.op("movc", b.op("ge", ratio, b.op("fneg", ratio)), part, b.op("fneg", part))
        return b.op("mul", signed, c)

    def signed_divide(self, operator: str, a: Vec, c: Vec) -> Vec:
        """Magnitudes divided unsigned, then the sign put back."""
        b = self.b
        left = b.op("imax", a, b.op("ineg", a))
        right = b.op("imax", c, b.op("ineg", c))
        result = b.op("udiv" if operator == "/" else "urem", left, right)
        sign = b.op("xor", a, c) if operator == "/" else a
        negative = b.op("and", sign, (imm(0x80000000),))
        return b.op("movc", negative, b.op("ineg", result), result)

    def conditional(self, node: tree.Conditional) -> Vec:
        condition = self.value(node.condition)
        then, otherwise = self.value(node.then), self.value(node.otherwise)
        if isinstance(node.type, Numeric) and node.type.kind == "d" and len(condition) > 1:
            condition = tuple(v for v in condition for _ in (0, 1))
        return self.b.op("movc", condition, then, otherwise) if then else ()

    # -- assignment ----------------------------------------------------------------------------------------------

    def assign(self, node: tree.Assign) -> Vec:
        self.step(node.token)
        outer = self.b.precise
        root = node.target
        while isinstance(root, tree.Swizzle | tree.FieldOf | tree.Element):
            root = root.object
        if isinstance(root, tree.Reference) and "precise" in root.variable.modifiers:
            self.b.precise = True
        if not node.operator:
            value = self.value(node.value)
            place = self.place(node.target)
            self.store(place, value, node.token)
        else:
            value = self.value(node.value)
            place = self.place(node.target)
            assert node.compute is not None
            target = node.target.numeric
            old = convert(self.b, self.load(place, node.token), target, node.compute)
            value = self.operate(node.operator, node.compute, old, value)
            value = convert(self.b, value, node.compute, target)
            self.store(place, value, node.token)
        self.b.precise = outer
        return value

    def increment(self, node: tree.IncrementDecrement) -> Vec:
        self.step(node.token)
        place = self.place(node.target)
        type_ = node.target.numeric
        old = self.load(place, node.token)
        if type_.kind == "f":
            new = self.b.op("add", old, (imm_float(float(node.delta)),))
        elif type_.kind == "d":
            one = self.b.double("ftod", (ONE if node.delta > 0 else imm_float(-1.0),))
            new = self.b.double("dadd", old, one)
        else:
            new = self.b.op("iadd", old, (imm(node.delta),))
        self.store(place, new, node.token)
        return old if node.postfix else new

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, node: tree.CallFunction) -> Vec:
        self.step(node.token)
        function = node.function
        if function.body is None:
            self.fail(3501, f"'{function.name}': function has no body", node.token)
        bound: list[tuple[tree.Variable, Any]] = []
        outs: list[tuple[Place, tree.Variable, tree.Expression]] = []
        for argument, parameter in zip(node.arguments, function.parameters, strict=True):
            if isinstance(parameter.type, Object) or _holds_objects(parameter.type):
                bound.append((parameter, self.object_argument(argument)))
                continue
            value: Vec = (UNDEFINED,) * lane_count(parameter.type)
            if parameter.is_out:
                place = self.place(argument)
                outs.append((place, parameter, argument))
                if parameter.is_in:
                    value = convert(self.b, self.quiet_load(place, argument.token), argument.type, parameter.type)
            else:
                value = self.value(argument)
            bound.append((parameter, value))
        this: Place | None = None
        if function.this is not None and node.object is not None:
            this = self.place(node.object)
            if this.storage != "value" and function.this in self.written(function):
                outs.append((this, function.this, node.object))
            bound.append((function.this, self.quiet_load(this, node.token)[: lane_count(function.this.type)]))
        scope = self.enter(function)
        saved = {variable: self.env.get(variable) for variable, _ in bound}
        for variable, value in bound:
            self.env[variable] = value
            if not variable.scalarised and isinstance(value, tuple):
                self.store(self.of_memory(variable), value, node.token)
        outer_precise = self.b.precise
        self.b.precise = outer_precise or function.precise
        self.statements(function.body.statements)
        self.b.precise = outer_precise
        result = self.leave(function, scope, node.token)
        finals = [self.final(variable, node.token) for _, variable, _ in outs]
        for variable, old in saved.items():
            if old is None:
                self.env.pop(variable, None)
            else:
                self.env[variable] = old
        for (place, variable, argument), lanes in zip(outs, finals, strict=True):
            if variable is function.this:
                target = Place(place.storage, place.base, variable.type, place.offset, place.dynamic, address=place.address)
                self.store(target, lanes, node.token)
            else:
                self.store(place, convert(self.b, lanes, variable.type, argument.type), node.token)
        return result

    def final(self, variable: tree.Variable, token: Any) -> Vec:
        return self.quiet_load(self.of_variable(variable, token), token)

    def of_memory(self, variable: tree.Variable) -> Place:
        return Place("array", self.indexable(variable), variable.type)

    def object_argument(self, node: tree.Expression) -> Any:
        """What a parameter of object type is bound to: a resource, or a place (patches, streams)."""
        root: Any = node
        while isinstance(root, tree.Convert):
            root = root.operand
        if isinstance(root, tree.Reference):
            held = self.env.get(root.variable)
            if held is not None and not isinstance(held, tuple):
                return held
        return self.resource(node)

    def enter(self, function: tree.Function) -> JumpScope:
        scope = JumpScope("function")
        scope.result = (scope, "result")
        self.jumps.append(scope)
        self.env[scope] = (FALSE,)
        self.env[scope.result] = (UNDEFINED,) * lane_count(function.returns)
        return scope

    def leave(self, function: tree.Function, scope: JumpScope, token: Any) -> Vec:
        self.jumps.pop()
        flag = self.env.pop(scope, (FALSE,))[0]
        result: Vec = self.env.pop(scope.result, ())
        if result and self.dead != "virtual" and flag is not TRUE:
            self.sink.error(3507, f"'{function.name}': Not all control paths return a value", function.position)
        if self.dead == "virtual":
            self.dead = ""
        return result

    def written(self, function: tree.Function) -> frozenset[tree.Variable]:
        return written_globals(function)


def _holds_objects(type_: object) -> bool:
    while isinstance(type_, Array):
        type_ = type_.element
    return isinstance(type_, Object)


def _object_count(type_: object) -> int:
    count = 1
    while isinstance(type_, Array):
        count *= type_.size
        type_ = type_.element
    return count


_HANDLERS: dict[type, Callable[[ExpressionLowering, Any], Vec]] = {
    tree.Constant: ExpressionLowering.constant,
    tree.Reference: ExpressionLowering.reference,
    tree.Swizzle: ExpressionLowering.accessed,
    tree.FieldOf: ExpressionLowering.accessed,
    tree.Element: ExpressionLowering.accessed,
    tree.Convert: ExpressionLowering.converted,
    tree.Operation: ExpressionLowering.operation,
    tree.Assign: ExpressionLowering.assign,
    tree.IncrementDecrement: ExpressionLowering.increment,
    tree.Conditional: ExpressionLowering.conditional,
    tree.Sequence: ExpressionLowering.sequence,
    tree.Aggregate: ExpressionLowering.aggregate,
    tree.CallFunction: ExpressionLowering.call,
    tree.CallIntrinsic: lambda self, node: self.intrinsic(node),
    tree.CallMethod: lambda self, node: self.method(node),
}
