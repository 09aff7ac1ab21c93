"""Analysis of statements: scopes, conditions, loops, attributes, local declarations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wddm.hlsl import syntax as ast
from wddm.hlsl import tree
from wddm.hlsl.types import BOOL, VOID, Array, Object, Type

from .calls import CallAnalysis
from .context import SemanticProblem

__all__ = ["StatementAnalysis"]

_LOOP_ATTRIBUTES = {"unroll", "loop", "fastopt", "allow_uav_condition"}


class StatementAnalysis(CallAnalysis):
    loops = 0
    breakable = 0

    def statement(self, node: ast.Statement) -> tree.Statement:
        """The typed tree of a statement; after an error, an empty one."""
        try:
            return _HANDLERS[type(node)](self, node)
        except SemanticProblem:
            return tree.Block(node.token, [])

    def block(self, node: ast.Block) -> tree.Statement:
        self.scopes.append({})
        statements = [self.statement(s) for s in node.statements]
        self.scopes.pop()
        return tree.Block(node.token, statements)

    def scoped(self, node: ast.Statement) -> tree.Statement:
        self.scopes.append({})
        result = self.statement(node)
        self.scopes.pop()
        return result

    def empty(self, node: ast.Empty) -> tree.Statement:
        return tree.Block(node.token, [])

    def evaluate_statement(self, node: ast.ExpressionStatement) -> tree.Statement:
        return tree.Evaluate(node.token, self.expression(node.expression))

    def declare_locals(self, node: ast.DeclarationStatement) -> tree.Statement:
        out: list[tree.Statement] = []
        for declaration in node.declarations:
            try:
                if isinstance(declaration, ast.VariableDeclaration):
                    variable = self.local(declaration)
                    if variable.storage == "local":
                        out.append(tree.Declare(declaration.token, variable))
                else:
                    self.declaration(declaration)
            except SemanticProblem:
                self.recover(declaration)
        return out[0] if len(out) == 1 else tree.Block(node.token, out)

    def recover(self, declaration: ast.Declaration) -> None:
        """Enter the name of a variable whose declaration was wrong, so that its uses are not errors too."""
        if isinstance(declaration, ast.VariableDeclaration) and declaration.name not in self.scopes[-1]:
            try:
                type_ = self.sized(self.resolve_type(declaration.type), declaration.dimensions, declaration.token)
            except SemanticProblem:
                return
            if type_ is not VOID:
                self.scopes[-1][declaration.name] = tree.Variable(
                    declaration.name, type_, "local", declaration.token.position
                )

    def local(self, node: ast.VariableDeclaration) -> tree.Variable:
        """A local variable, entered into its scope behind its initialiser (which may use the outer one)."""
        words = {t.text for t in node.type.modifiers}
        type_ = self.resolve_type(node.type)
        for bad in ("extern", "uniform", "groupshared", "in", "out", "inout"):
            if bad in words:
                self.fail(3055, f"'{bad}' cannot be used on a local variable", node.token)
        if type_ is VOID:
            self.fail(3038, f"'{node.name}': a variable cannot be void", node.token)
        if node.semantic is not None:
            self.error(3043, f"'{node.name}': semantics have no meaning on local variables", node.semantic.token)
        initializer: tree.Expression | None = None
        type_, initializer = self.declared_type(type_, node)
        storage = "static" if "static" in words else "local"
        variable = tree.Variable(node.name, type_, storage, node.token.position, frozenset(words), initializer=initializer)
        if isinstance(type_, Object) and initializer is None and type_.kind.family != "stream":
            self.fail(3000, f"'{node.name}': a local '{type_}' must be initialized with a resource", node.token)
        if initializer is None and "const" in words:
            self.fail(3012, f"'{node.name}': missing initial value", node.token)
        self.set_constant(variable)
        if storage == "static":
            self.unit.globals.append(variable)
        self.declare_local(node, variable)
        return variable

    def declare_local(self, node: ast.VariableDeclaration, variable: tree.Variable) -> None:
        known = self.scopes[-1].get(node.name)
        if isinstance(known, tree.Variable) and "leaked" in known.modifiers:
            del self.scopes[-1][node.name]
        self.declare(node.name, variable, node.token)

    def declared_type(self, type_: Type, node: ast.VariableDeclaration) -> tuple[Type, tree.Expression | None]:
        """Type with dimensions applied (``[]`` takes its size from the initialiser), and the initialiser."""
        if node.dimensions and node.dimensions[0] is None and node.initializer is not None:
            inner = self.sized(type_, node.dimensions[1:], node.token)
            if not isinstance(node.initializer, ast.InitializerList):
                value = self.value(node.initializer)
                if not isinstance(value.type, Array):
                    self.fail(3065, "array dimensions of type must be explicit", node.token)
                return value.type, value
            pieces = self.flatten(node.initializer)
            pieces.reverse()
            items: list[tree.Expression] = []
            while pieces:
                items.append(self.fill(inner, pieces, node.token))
            if not items:
                self.fail(3058, "array dimension must be between 1 and 65536", node.token)
            array = Array.of(inner, len(items))
            return array, tree.Aggregate(node.token, array, items)
        type_ = self.sized(type_, node.dimensions, node.token)
        if node.initializer is None:
            return type_, None
        return type_, self.initial_value(type_, node.initializer)

    def set_constant(self, variable: tree.Variable) -> None:
        """Remember the value of a ``const`` variable when it is known now."""
        if variable.initializer is not None and "const" in variable.modifiers and not isinstance(variable.type, Object):
            variable.constant = self.evaluate(variable.initializer)

    # -- flow ----------------------------------------------------------------------------------------------------

    def condition(self, node: ast.Expression) -> tree.Expression:
        value = self.value(node)
        type_ = self.require_numeric(value)
        if type_.count != 1:
            self.fail(3019, f"condition must be a scalar, not '{type_}'", node.token)
        return self.convert(value, BOOL)

    def hint(self, attributes: list[ast.Attribute], allowed: set[str]) -> str:
        hint = ""
        for attribute in attributes:
            if attribute.name not in allowed:
                self.warn(3554, f"unknown attribute {attribute.name}, or attribute invalid for this statement",
                          attribute.token)  # fmt: skip
            elif attribute.name not in ("fastopt", "allow_uav_condition"):
                if hint and hint != attribute.name:
                    self.error(3524, f"attributes {hint} and {attribute.name} contradict each other", attribute.token)
                hint = attribute.name
        return hint

    def branch(self, node: ast.If) -> tree.Statement:
        hint = self.hint(node.attributes, {"branch", "flatten"})
        condition = self.condition(node.condition)
        then = self.scoped(node.then)
        otherwise = self.scoped(node.otherwise) if node.otherwise is not None else None
        return tree.If(node.token, hint, condition, then, otherwise)

    def loop(
        self, node: ast.For | ast.While | ast.DoWhile, initializer: ast.Statement | None, condition: ast.Expression | None,
        step: ast.Expression | None, *, test_first: bool,
    ) -> tree.Statement:
        hint = self.hint(node.attributes, _LOOP_ATTRIBUTES)
        limit = 0
        for attribute in node.attributes:
            if attribute.name == "unroll" and attribute.arguments:
                argument = attribute.arguments[0]
                limit = self.integer_constant(argument, self.value(argument), 3527, "the count of [unroll]")
                if not 1 <= limit <= 4096:
                    self.fail(3527, "the count of [unroll] must be between 1 and 4096", argument.token)
        self.scopes.append({})
        typed_initializer = self.statement(initializer) if initializer is not None else None
        typed_condition = self.condition(condition) if condition is not None else None
        typed_step = self.expression(step) if step is not None else None
        self.loops += 1
        self.breakable += 1
        body = self.scoped(node.body)
        self.loops -= 1
        self.breakable -= 1
        leaked = self.scopes.pop()
        for name, symbol in leaked.items():  # a loop variable stays visible behind its loop
            if isinstance(symbol, tree.Variable) and name not in self.scopes[-1]:
                symbol.modifiers |= {"leaked"}
                self.scopes[-1][name] = symbol
        return tree.Loop(node.token, hint, limit, typed_initializer, typed_condition, typed_step, body, test_first)

    def for_loop(self, node: ast.For) -> tree.Statement:
        return self.loop(node, node.initializer, node.condition, node.step, test_first=True)

    def while_loop(self, node: ast.While) -> tree.Statement:
        return self.loop(node, None, node.condition, None, test_first=True)

    def do_loop(self, node: ast.DoWhile) -> tree.Statement:
        return self.loop(node, None, node.condition, None, test_first=False)

    def switch(self, node: ast.Switch) -> tree.Statement:
        hint = self.hint(node.attributes, {"branch", "flatten", "forcecase", "call"})
        selector = self.value(node.selector)
        type_ = self.require_numeric(selector)
        if type_.count != 1:
            self.fail(3019, "switch needs a scalar", node.selector.token)
        selector = self.convert(selector, type_.with_base("uint" if type_.kind == "u" else "int"))
        seen: set[int] = set()
        default_seen = False
        groups: list[tree.CaseGroup] = []
        self.breakable += 1
        self.scopes.append({})
        for case in node.cases:
            labels: list[int] = []
            default = False
            for label in case.labels:
                if label is None:
                    if default_seen:
                        self.error(3021, "switch has more than one default", case.token)
                    default = default_seen = True
                    continue
                number = self.integer_constant(label, self.value(label), 3522, "a case label") & 0xFFFFFFFF
                if number in seen:
                    self.error(3532, f"duplicate case {number} in switch statement", label.token)
                seen.add(number)
                labels.append(number)
            statements = [self.statement(s) for s in case.statements]
            groups.append(tree.CaseGroup(labels, default, statements))
        self.scopes.pop()
        self.breakable -= 1
        for index, (case, group) in enumerate(zip(node.cases, groups, strict=True)):
            last = index == len(groups) - 1
            if not ends(group.statements) and not last and group.statements:
                self.error(3533, "non-empty case statements must have break or return", case.token)
        if not groups:
            self.warn(3586, "switch statement has no cases", node.token)
        return tree.Switch(node.token, selector, groups, hint)

    def break_(self, node: ast.Break) -> tree.Statement:
        if not self.breakable:
            self.fail(3512, "break must be inside a loop or switch", node.token)
        return tree.Break(node.token)

    def continue_(self, node: ast.Continue) -> tree.Statement:
        if not self.loops:
            self.fail(3513, "continue must be inside a loop", node.token)
        return tree.Continue(node.token)

    def return_(self, node: ast.Return) -> tree.Statement:
        function = self.function
        assert function is not None
        if node.value is None:
            if function.returns is not VOID:
                self.fail(3080, f"'{function.name}': function must return a value", node.token)
            return tree.Return(node.token, None)
        value = self.expression(node.value)
        if function.returns is VOID:
            if value.type is not VOID:
                self.fail(3079, f"'{function.name}': void functions cannot return a value", node.token)
            return tree.Block(node.token, [tree.Evaluate(node.token, value), tree.Return(node.token, None)])
        return tree.Return(node.token, self.convert(value, function.returns, node.value.token))

    def discard(self, node: ast.Discard) -> tree.Statement:
        return tree.Discard(node.token)

    def declaration(self, node: ast.Declaration) -> None:
        raise NotImplementedError


def ends(statements: list[tree.Statement]) -> bool:
    """Whether control surely leaves: the last statement breaks, returns, continues or discards and so on."""
    for statement in reversed(statements):
        if isinstance(statement, tree.Break | tree.Return | tree.Continue):
            return True
        if isinstance(statement, tree.Block):
            if not statement.statements:
                continue
            return ends(statement.statements)
        if isinstance(statement, tree.If):
            return statement.otherwise is not None and ends([statement.then]) and ends([statement.otherwise])
        return False
    return False



_HANDLERS: dict[type, Callable[[StatementAnalysis, Any], tree.Statement]] = {
    ast.Block: StatementAnalysis.block,
    ast.Empty: StatementAnalysis.empty,
    ast.DeclarationStatement: StatementAnalysis.declare_locals,
    ast.ExpressionStatement: StatementAnalysis.evaluate_statement,
    ast.If: StatementAnalysis.branch,
    ast.For: StatementAnalysis.for_loop,
    ast.While: StatementAnalysis.while_loop,
    ast.DoWhile: StatementAnalysis.do_loop,
    ast.Switch: StatementAnalysis.switch,
    ast.Break: StatementAnalysis.break_,
    ast.Continue: StatementAnalysis.continue_,
    ast.Return: StatementAnalysis.return_,
    ast.Discard: StatementAnalysis.discard,
}
