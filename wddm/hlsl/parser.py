"""Tokens to syntax tree: declarations, types, statements.

Owns the grammar of everything but expressions, which :mod:`.expressions` adds.  Knows which names are types, because
HLSL cannot be parsed otherwise; knows nothing else of meaning.  After a syntax error it skips to the next statement or
declaration, so that several errors are found in one run.  Nesting is bounded.
"""

from __future__ import annotations

from typing import TypeVar

from . import syntax as ast
from .diagnostics import Sink
from .expressions import ExpressionParser, SyntaxProblem
from .lexer import EOF, ID, INT, Token
from .preprocessor import Preprocessed

__all__ = ["parse"]

V = TypeVar("V", bound=ast.VariableDeclaration)


def parse(source: Preprocessed, sink: Sink, *, row_major: bool) -> list[ast.Declaration]:
    """The declarations of a translation unit in order; syntax errors go to ``sink``."""
    return _Parser(source, sink, row_major).translation_unit()


class _Parser(ExpressionParser):
    # -- declarations --------------------------------------------------------------------------------------------

    def translation_unit(self) -> list[ast.Declaration]:
        declarations: list[ast.Declaration] = []
        while self.token.kind != EOF:
            self.declaration_safely(declarations)
        return declarations

    def declaration_safely(self, into: list[ast.Declaration], *, inside: bool = False) -> None:
        start, depth, scopes, namespace = self.index, self.depth, len(self.types), self.namespace
        try:
            into += self.declarations()
        except SyntaxProblem:
            self.depth, self.namespace = depth, namespace
            del self.types[scopes:]
            if self.index == start and not (inside and self.token.text == "}"):
                self.advance()
            self.skip_declaration(inside=inside)

    def skip_declaration(self, *, inside: bool = False) -> None:
        """To behind the next ``;`` or ``}`` that is not inside braces; ``inside``: up to the ``}`` that closes the outside."""
        depth = 0
        while self.token.kind != EOF:
            text = self.token.text
            if inside and depth == 0 and text == "}":
                return
            self.advance()
            if text == "{":
                depth += 1
            elif text == "}":
                depth -= 1
                if depth <= 0:
                    self.accept(";")
                    return
            elif text == ";" and depth == 0:
                return

    def declarations(self) -> list[ast.Declaration]:
        """One top-level or member declaration; several variables may come of it."""
        token = self.token
        text = token.text
        if text == ";":
            self.advance()
            return []
        if text == "typedef":
            return [self.typedef()]
        if text in ("cbuffer", "tbuffer"):
            return [self.buffer()]
        if text in ("ConstantBuffer", "TextureBuffer") and self.peek(1).text == "<":
            self.fail(3000, f"{text}<T> needs shader model 5.1")
        if text == "namespace":
            return [self.namespace_declaration()]
        if text == "interface":
            return [self.interface()]
        if text in ("technique", "technique10", "technique11", "fxgroup"):
            self.sink.warning(3568, f"{text!r}: effects are ignored", token.position)
            while self.token.text != "{" and self.token.kind != EOF:
                self.advance()
            self.skip_declaration()
            return []
        attributes = self.attributes()
        type_ = self.type_name(definition_allowed=True)
        if self.accept(";"):
            if type_.definition is None:
                self.sink.warning(3084, "a declaration declares nothing", token.position)
                return []
            return [type_.definition]
        name = self.identifier()
        path = [name.text]
        while self.accept("::"):
            path.append(self.identifier().text)
        if self.token.text == "(":
            found: list[ast.Declaration] = [self.function(name, tuple(path), type_, attributes)]
        else:
            found = list(self.variables(name, type_))
        if type_.definition is not None:
            found.insert(0, type_.definition)
        return found

    def variables(self, name: Token, type_: ast.TypeName) -> list[ast.VariableDeclaration]:
        out = [self.declarator(name, type_, ast.VariableDeclaration)]
        while self.accept(","):
            out.append(self.declarator(self.identifier(), type_, ast.VariableDeclaration))
        self.expect(";")
        return out

    def declarator(self, name: Token, type_: ast.TypeName, make: type[V]) -> V:
        variable = make(name, name.text, type_)
        variable.dimensions = self.dimensions()
        self.bindings(variable)
        if self.token.text == "<" and isinstance(variable, ast.VariableDeclaration):
            self.skip_annotation()
        if self.accept("="):
            if self.token.text == "sampler_state":
                self.advance()
                self.skip_declaration_block()
            else:
                variable.initializer = self.initializer()
        elif self.token.text == "{":
            self.skip_declaration_block()
        return variable

    def skip_declaration_block(self) -> None:
        """The state block of an effect's sampler."""
        self.sink.warning(3568, "state blocks belong to effects and are ignored", self.token.position)
        depth = 0
        while self.token.kind != EOF:
            depth += (self.token.text == "{") - (self.token.text == "}")
            self.advance()
            if depth == 0:
                return

    def skip_annotation(self) -> None:
        while self.token.text != ">" and self.token.kind != EOF:
            self.advance()
        self.expect(">")

    def bindings(self, variable: ast.VariableDeclaration) -> None:
        while self.accept(":"):
            token = self.identifier()
            if token.text == "register":
                variable.registers.append(self.register(token))
            elif token.text == "packoffset":
                variable.pack_offset = self.pack_offset(token)
            else:
                variable.semantic = ast.Semantic(token, token.text)

    def register(self, token: Token) -> ast.Register:
        self.expect("(")
        profile = ""
        name = self.identifier()
        if self.accept(","):
            profile, name = name.text, self.identifier()
        letter, digits = name.text[:1].lower(), name.text[1:]
        if not digits.isascii() or not digits.isdigit() or len(digits) > 9 or letter not in "btsuci":
            self.sink.error(3591, f"register {name.text!r} is not valid: b, t, s, u or c and a number", name.position)
            letter, digits = "?", "0"
        number = int(digits)
        if self.accept("["):
            number += self.integer()
            self.expect("]")
        if self.accept(","):
            space = self.identifier()
            if space.text != "space0":
                self.sink.error(3721, "register spaces need shader model 5.1", space.position)
        self.expect(")")
        return ast.Register(name, letter, number, profile)

    def pack_offset(self, token: Token) -> ast.PackOffset:
        self.expect("(")
        name = self.identifier()
        if name.text[:1] != "c" or not (name.text[1:] or "0").isdigit() or len(name.text) > 6:
            self.fail(3530, f"packoffset {name.text!r} is not valid: c and a number", name)
        dword = 4 * int(name.text[1:] or "0")
        if self.accept("["):
            dword += 4 * self.integer()
            self.expect("]")
        if self.accept("."):
            component = self.identifier()
            place = "xyzw".find(component.text) if len(component.text) == 1 else -1
            place = "rgba".find(component.text) if place < 0 and len(component.text) == 1 else place
            if place < 0:
                self.fail(3530, f"packoffset component {component.text!r} is not valid", component)
            dword += place
        self.expect(")")
        return ast.PackOffset(token, dword)

    def integer(self) -> int:
        token = self.token
        if token.kind != INT or len(token.text) > 9 or not token.text.isdigit():
            self.fail(3000, f"syntax error: unexpected {self.describe(token)}, expected a number")
        self.advance()
        return int(token.text)

    def function(
        self, name: Token, path: tuple[str, ...], returns: ast.TypeName, attributes: list[ast.Attribute]
    ) -> ast.FunctionDeclaration:
        self.expect("(")
        parameters: list[ast.Parameter] = []
        if self.token.text == "void" and self.peek(1).text == ")":
            self.advance()
        while self.token.text != ")":
            type_ = self.type_name()
            anonymous = self.token.kind != ID
            parameter_name = self.token if anonymous else self.identifier()
            parameter = self.declarator(parameter_name, type_, ast.Parameter)
            if anonymous:
                parameter.name = ""
            parameters.append(parameter)
            if not self.accept(","):
                break
        self.expect(")")
        semantic: ast.Semantic | None = None
        while self.accept(":"):
            token = self.identifier()
            if token.text == "register":
                self.register(token)
            else:
                semantic = ast.Semantic(token, token.text)
        body: ast.Block | None = None
        if not self.accept(";"):
            if self.token.text != "{":
                self.unexpected("'{' or ';'")
            self.types.append(set())
            body = self.block()
            self.types.pop()
            self.accept(";")
        return ast.FunctionDeclaration(name, path, returns, parameters, body, semantic, attributes)

    def typedef(self) -> ast.Declaration:
        token = self.advance()
        type_ = self.type_name(definition_allowed=True)
        name = self.identifier()
        dimensions = self.dimensions()
        self.expect(";")
        self.declare_type(name.text)
        return ast.Typedef(token, name.text, type_, dimensions)

    def buffer(self) -> ast.Declaration:
        token = self.advance()
        name = self.identifier()
        registers: list[ast.Register] = []
        while self.accept(":"):
            word = self.identifier()
            if word.text != "register":
                self.fail(3000, f"syntax error: unexpected {word.text!r}, expected register", word)
            registers.append(self.register(word))
        members = self.members("a constant buffer")
        self.accept(";")
        return ast.BufferDeclaration(name, token.text, name.text, registers, members)

    def members(self, what: str) -> list[ast.Declaration]:
        self.expect("{")
        members: list[ast.Declaration] = []
        self.types.append(set())
        while self.token.text != "}" and self.token.kind != EOF:
            if self.token.text in ("cbuffer", "tbuffer", "namespace", "technique", "interface"):
                self.fail(3000, f"syntax error: {self.token.text!r} cannot stand in {what}")
            self.declaration_safely(members, inside=True)
        self.types.pop()
        self.expect("}")
        return members

    def namespace_declaration(self) -> ast.Declaration:
        token = self.advance()
        name = self.identifier()
        outer = self.namespace
        self.namespace = (*outer, name.text)
        self.expect("{")
        declarations: list[ast.Declaration] = []
        with self.nested():
            while self.token.text != "}" and self.token.kind != EOF:
                self.declaration_safely(declarations, inside=True)
        self.namespace = outer
        self.expect("}")
        self.accept(";")
        return ast.Namespace(token, name.text, declarations)

    def interface(self) -> ast.Declaration:
        self.advance()
        name = self.identifier()
        self.declare_type(name.text)
        self.skip_declaration()
        return ast.InterfaceDeclaration(name, name.text)

    def struct_definition(self) -> ast.StructDeclaration:
        token = self.advance()
        name = self.identifier() if self.token.kind == ID else None
        if name is not None:
            self.declare_type(name.text)
        bases: list[ast.TypeName] = []
        if self.accept(":"):
            bases.append(self.type_name())
            while self.accept(","):
                bases.append(self.type_name())
        with self.nested():
            members = self.members("a structure")
        return ast.StructDeclaration(name or token, name.text if name else "<unnamed>", bases, members)

    # -- types ---------------------------------------------------------------------------------------------------

    def type_name(self, *, definition_allowed: bool = False) -> ast.TypeName:
        first = self.token
        modifiers: list[Token] = []
        while self.is_modifier():
            modifiers.append(self.advance())
        token = self.token
        row_major = self.source.row_major_at(self.index, self.row_major)
        if token.text in ("struct", "class"):
            if self.peek(1).kind == ID and self.peek(2).text not in ("{", ":"):
                self.advance()
                return self.finish_type(ast.TypeName(first, self.path(), [], modifiers, None, row_major))
            if not definition_allowed:
                self.fail(3000, "syntax error: a structure cannot be defined here")
            definition = self.struct_definition()
            return self.finish_type(ast.TypeName(token, (definition.name,), [], modifiers, definition, row_major))
        if token.text == "unsigned" and self.peek(1).text == "int":
            self.advance()
            self.advance()
            return self.finish_type(ast.TypeName(token, ("uint",), [], modifiers, None, row_major))
        if not self.is_type():
            if token.kind == ID and self.peek(1).kind == ID:
                self.fail(3000, f"unrecognized identifier {token.text!r}")
            self.unexpected("a type")
        path = self.path()
        arguments: list[ast.TypeName | ast.Expression] = []
        if self.token.text == "<" and path[-1] not in self.types[0]:
            self.advance()
            while True:
                arguments.append(self.type_name() if self.is_type() or self.is_modifier() else self.shift())
                if not self.accept(","):
                    break
            self.close_angle()
        return self.finish_type(ast.TypeName(token, path, arguments, modifiers, None, row_major))

    def finish_type(self, type_: ast.TypeName) -> ast.TypeName:
        while self.token.text in ("const", "row_major", "column_major"):
            type_.modifiers.append(self.advance())
        return type_

    def close_angle(self) -> None:
        """``>``; of ``>>`` only the first half is taken."""
        token = self.token
        if token.text == ">>":
            half = Token(token.kind, ">", token.file, token.line, token.column + 1)
            self.tokens[self.index] = half
            self.token = half
            return
        self.expect(">")

    # -- statements ----------------------------------------------------------------------------------------------

    def block(self) -> ast.Block:
        token = self.expect("{")
        statements: list[ast.Statement] = []
        self.types.append(set())
        with self.nested():
            while self.token.text != "}" and self.token.kind != EOF:
                self.statement_safely(statements)
        self.types.pop()
        self.expect("}")
        return ast.Block(token, statements)

    def statement_safely(self, into: list[ast.Statement]) -> None:
        start, depth, scopes = self.index, self.depth, len(self.types)
        try:
            into.append(self.statement())
        except SyntaxProblem:
            self.depth = depth
            del self.types[scopes:]
            if self.index == start:
                self.advance()
            self.skip_statement()

    def skip_statement(self) -> None:
        depth = 0
        while self.token.kind != EOF:
            text = self.token.text
            if text == "}" and depth == 0:
                return
            self.advance()
            depth += (text == "{") - (text == "}")
            if depth == 0 and text in (";", "}"):
                return

    def statement(self) -> ast.Statement:
        with self.nested():
            token = self.token
            text = token.text
            if text == "{":
                return self.block()
            if text == ";":
                self.advance()
                return ast.Empty(token)
            attributes = self.attributes()
            text = self.token.text
            handler = getattr(self, "statement_" + text, None) if text in _STATEMENTS else None
            if handler is not None:
                result: ast.Statement = handler(attributes)
                return result
            if attributes:
                for attribute in attributes:
                    self.sink.warning(3554, f"unknown attribute {attribute.name}, or attribute invalid for this "
                                      "statement", attribute.token.position)  # fmt: skip
                return self.statement()
            if self.starts_declaration():
                return self.declaration_statement()
            expression = self.expression()
            self.expect(";")
            return ast.ExpressionStatement(token, expression)

    def starts_declaration(self) -> bool:
        if self.token.text in ("typedef", "struct", "class", "unsigned") or self.is_modifier():
            return True
        if not self.is_type():
            return False
        following = self.peek(self.path_length())
        return following.kind == ID or following.text == "<" or following.text not in ("(", ".", "::", "[", "=")

    def declaration_statement(self) -> ast.Statement:
        token = self.token
        if token.text == "typedef":
            return ast.DeclarationStatement(token, [self.typedef()])
        type_ = self.type_name(definition_allowed=True)
        found: list[ast.Declaration] = [type_.definition] if type_.definition is not None else []
        if type_.definition is None or self.token.text != ";":
            found += self.variables(self.identifier(), type_)
        else:
            self.expect(";")
        return ast.DeclarationStatement(token, found)

    def statement_if(self, attributes: list[ast.Attribute]) -> ast.Statement:
        token = self.advance()
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        then = self.statement()
        otherwise = None
        if self.accept("else"):
            otherwise = self.statement()
        return ast.If(token, attributes, condition, then, otherwise)

    def statement_for(self, attributes: list[ast.Attribute]) -> ast.Statement:
        token = self.advance()
        self.expect("(")
        self.types.append(set())
        initializer: ast.Statement | None = None
        if self.starts_declaration():
            initializer = self.declaration_statement()
        elif not self.accept(";"):
            initializer = ast.ExpressionStatement(self.token, self.expression())
            self.expect(";")
        condition = None if self.token.text == ";" else self.expression()
        self.expect(";")
        step = None if self.token.text == ")" else self.expression()
        self.expect(")")
        body = self.statement()
        self.types.pop()
        return ast.For(token, attributes, initializer, condition, step, body)

    def statement_while(self, attributes: list[ast.Attribute]) -> ast.Statement:
        token = self.advance()
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        return ast.While(token, attributes, condition, self.statement())

    def statement_do(self, attributes: list[ast.Attribute]) -> ast.Statement:
        token = self.advance()
        body = self.statement()
        self.expect("while")
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        self.expect(";")
        return ast.DoWhile(token, attributes, body, condition)

    def statement_switch(self, attributes: list[ast.Attribute]) -> ast.Statement:
        token = self.advance()
        self.expect("(")
        selector = self.expression()
        self.expect(")")
        self.expect("{")
        cases: list[ast.Case] = []
        while self.token.text != "}" and self.token.kind != EOF:
            if self.token.text not in ("case", "default"):
                self.unexpected("case, default or '}'")
            case = ast.Case(self.token, [], [])
            while self.token.text in ("case", "default"):
                word = self.advance()
                case.labels.append(self.ternary() if word.text == "case" else None)
                self.expect(":")
            while self.token.text not in ("case", "default", "}") and self.token.kind != EOF:
                self.statement_safely(case.statements)
            cases.append(case)
        self.expect("}")
        return ast.Switch(token, attributes, selector, cases)

    def statement_break(self, _: list[ast.Attribute]) -> ast.Statement:
        token = self.advance()
        self.expect(";")
        return ast.Break(token)

    def statement_continue(self, _: list[ast.Attribute]) -> ast.Statement:
        token = self.advance()
        self.expect(";")
        return ast.Continue(token)

    def statement_discard(self, _: list[ast.Attribute]) -> ast.Statement:
        token = self.advance()
        self.expect(";")
        return ast.Discard(token)

    def statement_return(self, _: list[ast.Attribute]) -> ast.Statement:
        token = self.advance()
        value = None if self.token.text == ";" else self.expression()
        self.expect(";")
        return ast.Return(token, value)

    def attributes(self) -> list[ast.Attribute]:
        out: list[ast.Attribute] = []
        while self.token.text == "[":
            self.advance()
            double = self.accept("[")
            name = self.identifier()
            arguments: list[ast.Expression] = []
            if self.accept("("):
                while self.token.text != ")":
                    arguments.append(self.ternary())
                    if not self.accept(","):
                        break
                self.expect(")")
            self.expect("]")
            if double:
                self.expect("]")
            out.append(ast.Attribute(name, name.text.lower(), arguments))
        return out


_STATEMENTS = frozenset({"if", "for", "while", "do", "switch", "break", "continue", "discard", "return"})
