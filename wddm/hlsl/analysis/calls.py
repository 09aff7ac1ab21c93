"""Analysis of calls: overload resolution, intrinsics, methods of structures and objects."""

from __future__ import annotations

from wddm.hlsl import methods, tree
from wddm.hlsl import syntax as ast
from wddm.hlsl.conversions import IMPOSSIBLE, conversion_cost
from wddm.hlsl.intrinsics import INTRINSICS, SPECIAL, Intrinsic, parameter_types
from wddm.hlsl.lexer import Token
from wddm.hlsl.types import (
    FLOAT,
    UINT,
    VOID,
    Object,
    Struct,
    Type,
    matrix,
    scalar,
    vector,
)

from .expressions import ExpressionAnalysis

__all__ = ["CallAnalysis"]

_LEGACY_COORDINATES = {"tex1D": 1, "tex2D": 2, "tex3D": 3, "texCUBE": 3}


class CallAnalysis(ExpressionAnalysis):
    def call(self, node: ast.Call) -> tree.Expression:  # noqa: RET503 - the last call does not return
        arguments = [self.value(argument) for argument in node.arguments]
        name = "::".join(node.path)
        if len(node.path) == 1 and self.function is not None and self.function.owner is not None:
            found = struct_methods(self.function.owner, name)
            if found:
                this = self.function.this
                object_ = None if this is None else tree.Reference(node.token, this.type, this)
                return self.resolve(node.token, name, found, arguments, object_)
        candidates = self.find_functions(node.path)
        if not candidates and len(node.path) == 2:
            owner = self.find(node.path[:1])
            if isinstance(owner, Struct):  # Base::method() inside a method, or a static one
                this = self.function.this if self.function is not None else None
                object_ = None if this is None else tree.Reference(node.token, this.type, this)
                return self.resolve(node.token, name, struct_methods(owner, node.path[1]), arguments, object_)
        if candidates:
            return self.resolve(node.token, name, candidates, arguments, None)
        if name in INTRINSICS:
            return self.intrinsic(node.token, INTRINSICS[name], arguments)
        if name in SPECIAL:
            return self.special(node.token, name, arguments)
        if self.find(node.path) is not None:
            self.fail(3005, f"identifier '{name}' is not a function", node.token)
        self.fail(3004, f"undeclared identifier '{name}'", node.token)

    # -- user functions ------------------------------------------------------------------------------------------

    def resolve(
        self, token: Token, name: str, candidates: list[tree.Function], arguments: list[tree.Expression],
        object_: tree.Expression | None,
    ) -> tree.Expression:
        """The cheapest candidate; X3013 when none fits, X3067 when two fit equally well."""
        ranked: list[tuple[int, tree.Function]] = []
        for function in candidates:
            cost = self.call_cost(function, arguments)
            if cost < IMPOSSIBLE:
                ranked.append((cost, function))
        if not ranked:
            if len(candidates) == 1:
                self.explain(candidates[0], name, token, arguments)
            self.fail(3013, f"'{name}': no matching {len(arguments)} parameter function", token)
        ranked.sort(key=lambda pair: pair[0])
        if len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
            self.fail(3067, f"'{name}': ambiguous function call", token)
        function = ranked[0][1]
        passed: list[tree.Expression] = []
        for index, parameter in enumerate(function.parameters):
            if index < len(arguments):
                passed.append(self.pass_argument(arguments[index], parameter))
            else:
                assert parameter.initializer is not None
                passed.append(parameter.initializer)
        if self.function is not None:
            self.function.calls.append((function, token.position))
        if function.owner is not None and not function.static and object_ is None:
            self.fail(3013, f"'{name}': a method needs an object", token)
        return tree.CallFunction(token, function.returns, function, passed, None if function.static else object_)

    def call_cost(self, function: tree.Function, arguments: list[tree.Expression]) -> int:
        if len(arguments) > len(function.parameters):
            return IMPOSSIBLE
        total = 0
        for index, parameter in enumerate(function.parameters):
            if index >= len(arguments):
                if parameter.initializer is None:
                    return IMPOSSIBLE
                continue
            argument = arguments[index]
            if parameter.is_in:
                total += conversion_cost(argument.type, parameter.type, argument.literal)
            if parameter.is_out:
                total += conversion_cost(parameter.type, argument.type)
        return total

    def explain(self, function: tree.Function, name: str, token: Token, arguments: list[tree.Expression]) -> None:
        """Say which argument does not fit when there is only one function to call."""
        if len(arguments) != len(function.parameters):
            return
        for argument, parameter in zip(arguments, function.parameters, strict=True):
            if parameter.is_in and conversion_cost(argument.type, parameter.type, argument.literal) >= IMPOSSIBLE:
                self.fail(3017, f"'{name}': cannot convert argument '{parameter.name}' from '{argument.type}' to "
                          f"'{parameter.type}'", token)  # fmt: skip

    def pass_argument(self, argument: tree.Expression, parameter: tree.Variable) -> tree.Expression:
        if parameter.is_out:
            self.require_target(argument, argument.token)
            return argument
        return self.convert(argument, parameter.type)

    # -- intrinsics ----------------------------------------------------------------------------------------------

    def intrinsic(self, token: Token, intrinsic: Intrinsic, arguments: list[tree.Expression]) -> tree.Expression:
        if len(arguments) != len(intrinsic.parameters):
            self.fail(3013, f"'{intrinsic.name}': no matching {len(arguments)} parameter intrinsic function", token)
        types = [(self.require_numeric(a), a.literal) for a in arguments]
        found = parameter_types(intrinsic, types)
        if found is None:
            listed = ", ".join(str(t) for t, _ in types)
            self.fail(3013, f"'{intrinsic.name}': no matching intrinsic function for ({listed})", token)
        parameters, result = found
        passed: list[tree.Expression] = []
        for letter, argument, target in zip(intrinsic.parameters, arguments, parameters, strict=True):
            if letter.startswith("&"):
                self.require_target(argument, argument.token)
                if conversion_cost(target, argument.type) >= IMPOSSIBLE:
                    self.fail(3017, f"cannot convert from '{target}' to '{argument.type}'", argument.token)
                passed.append(argument)
            else:
                if conversion_cost(argument.type, target, argument.literal) >= IMPOSSIBLE:
                    self.fail(3013, f"'{intrinsic.name}': no matching intrinsic function for '{argument.type}'", token)
                passed.append(self.convert(argument, target))
        if intrinsic.name == "pow" and not _never_negative(arguments[0]):
            self.warn(3571, "pow(f, e) will not work for negative f, use abs(f) or conditionally handle negative "
                      "values if you expect them", token)  # fmt: skip
        literal = result is not VOID and bool(arguments) and all(a.literal for a in arguments)
        return tree.CallIntrinsic(token, result, intrinsic.name, passed, literal=literal)

    def special(self, token: Token, name: str, arguments: list[tree.Expression]) -> tree.Expression:
        if name.startswith("tex"):
            return self.legacy_sample(token, name, arguments)
        if name.startswith("Interlocked"):
            return self.interlocked(token, name, arguments)
        if name.startswith("Process"):
            return self.process_tessellation(token, name, arguments)
        if name.startswith("Evaluate"):
            self.count(token, name, arguments, 1 if name.endswith("Centroid") else 2)
            self.require_numeric(arguments[0])
            rest = []
            if name.endswith("Sample"):
                rest = [self.convert(arguments[1], UINT)]
            elif name.endswith("Snapped"):
                rest = [self.convert(arguments[1], vector("int", 2))]
            return tree.CallIntrinsic(token, arguments[0].type, name, [arguments[0], *rest])
        if name == "msad4":
            self.count(token, name, arguments, 3)
            kinds = (UINT, vector("uint", 2), vector("uint", 4))
            passed = [self.convert(a, t) for a, t in zip(arguments, kinds, strict=True)]
            return tree.CallIntrinsic(token, vector("uint", 4), name, passed)
        if name == "asdouble":
            self.count(token, name, arguments, 2)
            shape = self.require_numeric(arguments[0])
            if shape.count > 2:
                self.fail(3013, "'asdouble' takes scalars or vectors of two", token)
            passed = [self.convert(a, shape.with_base("uint")) for a in arguments]
            return tree.CallIntrinsic(token, shape.with_base("double"), name, passed)
        if name == "asuint" and len(arguments) == 3:
            source = self.require_numeric(arguments[0]).with_base("double")
            for argument in arguments[1:]:
                self.require_target(argument, argument.token)
                if conversion_cost(source.with_base("uint"), argument.type) >= IMPOSSIBLE:
                    self.fail(3017, f"cannot convert from '{source}' to '{argument.type}'", argument.token)
            return tree.CallIntrinsic(token, VOID, name, [self.convert(arguments[0], source), *arguments[1:]])
        self.count(token, name, arguments, 2 if name == "mul" else 1)
        a = self.require_numeric(arguments[0])
        for argument in arguments[1:]:
            self.require_numeric(argument)
        if name == "mul":
            return self.multiply(token, arguments)
        if name == "transpose":
            if a.shape != "matrix":
                self.fail(3013, "'transpose' takes a matrix", token)
            return tree.CallIntrinsic(token, matrix(a.base, a.columns, a.rows, a.row_major), name, arguments)
        if name == "determinant":
            if a.shape != "matrix" or a.rows != a.columns:
                self.fail(3013, "'determinant' takes a square matrix", token)
            return tree.CallIntrinsic(token, FLOAT, name, [self.convert(arguments[0], a.with_base("float"))])
        if a.kind == "d":
            self.fail(3013, f"'{name}' does not take doubles", token)
        if a.kind == "b":
            self.fail(3013, f"'{name}' does not take bools", token)
        base = {"asfloat": "float", "asint": "int", "asuint": "uint"}[name]
        return tree.CallIntrinsic(token, a.with_base(base), name, arguments)

    def count(self, token: Token, name: str, arguments: list[tree.Expression], wanted: int) -> None:
        if len(arguments) != wanted:
            self.fail(3013, f"'{name}': no matching {len(arguments)} parameter intrinsic function", token)

    def multiply(self, token: Token, arguments: list[tree.Expression]) -> tree.Expression:
        a, b = arguments[0].numeric, arguments[1].numeric
        scalars = [tree.Constant(x.token, scalar(x.numeric.base), (0,), literal=x.literal) for x in arguments]
        base = self.operand_type(token, "+", *scalars)[0].base
        result: Type
        if a.shape == "scalar" or b.shape == "scalar":
            shape = b if a.shape == "scalar" else a
            result = shape.with_base(base)
        elif a.shape == "vector" and b.shape == "vector":
            count = min(a.count, b.count)
            a, b = vector(base, count), vector(base, count)
            result = scalar(base)
        elif a.shape == "vector":
            inner = min(a.count, b.rows)
            a, b = vector(base, inner), matrix(base, inner, b.columns, b.row_major)
            result = vector(base, b.columns)
        elif b.shape == "vector":
            inner = min(a.columns, b.count)
            a, b = matrix(base, a.rows, inner, a.row_major), vector(base, inner)
            result = vector(base, a.rows)
        else:
            inner = min(a.columns, b.rows)
            a, b = matrix(base, a.rows, inner, a.row_major), matrix(base, inner, b.columns, b.row_major)
            result = matrix(base, a.rows, b.columns, a.row_major)
        passed = [self.convert(arguments[0], a.with_base(base)), self.convert(arguments[1], b.with_base(base))]
        return tree.CallIntrinsic(token, result, "mul", passed)

    def legacy_sample(self, token: Token, name: str, arguments: list[tree.Expression]) -> tree.Expression:
        root = next(r for r in ("texCUBE", "tex1D", "tex2D", "tex3D") if name.startswith(r))
        kind = name[len(root) :]
        grad = kind == "grad" or (kind == "" and len(arguments) == 4)
        self.count(token, name, arguments, 4 if grad else 2)
        sampler = arguments[0].type
        wanted = {"tex1D": "sampler1D", "tex2D": "sampler2D", "tex3D": "sampler3D", "texCUBE": "samplerCUBE"}[root]
        if not isinstance(sampler, Object) or sampler.kind.name not in (wanted, "sampler"):
            self.fail(3017, f"cannot convert from '{sampler}' to '{wanted}'", token)
        count = _LEGACY_COORDINATES[root]
        width = 4 if kind in ("bias", "lod", "proj") else count
        types: list[Type] = [vector("float", width) if width > 1 else FLOAT]
        if grad:
            types += [types[0], types[0]]
        passed = [self.convert(a, t) for a, t in zip(arguments[1:], types, strict=True)]
        method = root + ("grad" if grad else kind)
        return tree.CallIntrinsic(token, vector("float", 4), method, [arguments[0], *passed])

    def interlocked(self, token: Token, name: str, arguments: list[tree.Expression]) -> tree.Expression:
        operation = name[len("Interlocked") :]
        values = 2 if operation.startswith("Compare") else 1
        with_original = operation in ("Exchange", "CompareExchange")
        allowed = {1 + values + 1} if with_original else {1 + values, 1 + values + (operation != "CompareStore")}
        if len(arguments) not in allowed:
            self.fail(3013, f"'{name}': no matching {len(arguments)} parameter intrinsic function", token)
        target = arguments[0]
        type_ = self.require_numeric(target)
        if type_.count != 1 or type_.kind not in "iu":
            self.fail(3013, f"'{name}' works on an int or uint, not on '{type_}'", token)
        self.require_target(target, target.token)
        passed = [target] + [self.convert(a, type_) for a in arguments[1 : 1 + values]]
        for original in arguments[1 + values :]:
            self.require_target(original, original.token)
            if conversion_cost(type_, original.type) >= IMPOSSIBLE:
                self.fail(3017, f"cannot convert from '{type_}' to '{original.type}'", original.token)
            passed.append(original)
        return tree.CallIntrinsic(token, VOID, name, passed)

    def process_tessellation(self, token: Token, name: str, arguments: list[tree.Expression]) -> tree.Expression:
        if name == "ProcessIsolineTessFactors":
            ins: list[Type] = [FLOAT, FLOAT]
            outs: list[Type] = [FLOAT, FLOAT]
        elif "Tri" in name:
            ins, outs = [vector("float", 3), FLOAT], [vector("float", 3), FLOAT, FLOAT]
        elif "2D" in name:
            ins = [vector("float", 4), vector("float", 2)]
            outs = [vector("float", 4), vector("float", 2), vector("float", 2)]
        else:
            ins = [vector("float", 4), FLOAT]
            outs = [vector("float", 4), vector("float", 2), vector("float", 2)]
        self.count(token, name, arguments, len(ins) + len(outs))
        passed = [self.convert(a, t) for a, t in zip(arguments, ins, strict=False)]
        for argument, type_ in zip(arguments[len(ins) :], outs, strict=True):
            self.require_target(argument, argument.token)
            if argument.type is not type_:
                self.fail(3017, f"cannot convert from '{type_}' to '{argument.type}'", argument.token)
            passed.append(argument)
        return tree.CallIntrinsic(token, VOID, name, passed)

    # -- methods -------------------------------------------------------------------------------------------------

    def method_call(self, node: ast.MethodCall) -> tree.Expression:
        object_ = self.value(node.object)
        arguments = [self.value(argument) for argument in node.arguments]
        type_ = object_.type
        if isinstance(type_, Struct):
            found = struct_methods(type_, node.name)
            if not found:
                self.fail(3018, f"invalid subscript '{node.name}': '{type_}' has no such method", node.token)
            return self.resolve(node.token, node.name, found, arguments, object_)
        if not isinstance(type_, Object):
            self.fail(3018, f"invalid subscript '{node.name}' on '{type_}'", node.token)
        listed = methods.signatures(type_, node.name)
        if not listed:
            self.fail(3018, f"invalid subscript '{node.name}': '{type_}' has no such method", node.token)
        best: methods.Signature | None = None
        best_cost = IMPOSSIBLE
        for signature in listed:
            cost = self.signature_cost(signature, arguments)
            if cost < best_cost:
                best, best_cost = signature, cost
        if best is None:
            self.fail(3013, f"'{node.name}': no matching {len(arguments)} parameter intrinsic method", node.token)
        passed: list[tree.Expression] = []
        for argument, parameter in zip(arguments, best.parameters, strict=True):
            if parameter.out:
                self.require_target(argument, argument.token)
                passed.append(argument)
            elif isinstance(parameter.type, str):
                passed.append(argument)
            else:
                passed.append(self.convert(argument, parameter.type))
        if 0 <= best.offset < len(passed):
            offset = passed[best.offset]
            lanes = self.evaluate(offset)
            if lanes is None:
                if self.function is None:
                    self.fail(3518, "texture access must have literal offset and multisample index", offset.token)
            else:
                passed[best.offset] = tree.Constant(offset.token, offset.type, lanes)
        return tree.CallMethod(node.token, best.result, object_, node.name, passed, best)

    def signature_cost(self, signature: methods.Signature, arguments: list[tree.Expression]) -> int:
        if len(arguments) != len(signature.parameters):
            return IMPOSSIBLE
        total = 0
        for argument, parameter in zip(arguments, signature.parameters, strict=True):
            if isinstance(parameter.type, str):
                if not methods.is_sampler(argument.type, parameter.type == "comparison"):
                    return IMPOSSIBLE
            elif parameter.out:
                total += conversion_cost(parameter.type, argument.type)
            else:
                total += conversion_cost(argument.type, parameter.type, argument.literal)
        return total


def _never_negative(value: tree.Expression) -> bool:
    """Whether a value is known to be 0 or more, so that pow takes it."""
    if isinstance(value, tree.Constant):
        return not any(bits >> 31 for bits in value.lanes)
    if isinstance(value, tree.CallIntrinsic):
        if value.name in ("saturate", "abs", "sqrt", "exp", "exp2", "length", "distance", "rsqrt", "frac"):
            return True
        if value.name == "max":
            return any(_never_negative(a) for a in value.arguments)
        return value.name in ("min", "pow", "smoothstep") and all(_never_negative(a) for a in value.arguments)
    if isinstance(value, tree.Convert | tree.Swizzle):
        return _never_negative(value.operand if isinstance(value, tree.Convert) else value.object)
    return False


def struct_methods(struct: Struct, name: str) -> list[tree.Function]:
    """Methods of that name, own ones before inherited ones."""
    current: Struct | None = struct
    while current is not None:
        found = current.methods.get(name)
        if found:
            return found
        current = current.base
    return []
