"""The syntax tree: what the parser read, no types, no names resolved.

Every node keeps the token to blame.  Expressions, statements, declarations; :class:`TypeName` is a type as written.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .lexer import Token

__all__ = [
    "Assign", "Attribute", "Binary", "Block", "Break", "BufferDeclaration", "Call", "Case", "Cast", "Construct",
    "Continue", "Declaration", "DeclarationStatement", "Discard", "DoWhile", "Empty", "Expression",
    "ExpressionStatement", "For", "FunctionDeclaration", "If", "Index", "InitializerList", "InterfaceDeclaration",
    "Literal", "Member", "MethodCall", "Name", "Namespace", "PackOffset", "Parameter", "Postfix", "Register", "Return",
    "Semantic", "Statement", "StructDeclaration", "Switch", "Ternary", "TypeName", "Typedef", "Unary",
    "VariableDeclaration", "While",
]  # fmt: skip


# -- expressions -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Expression:
    token: Token


@dataclass(slots=True)
class Literal(Expression):
    """``base`` is int, uint, float, half, double, bool or string; ``literal`` says that no suffix fixed it."""

    base: str
    value: int | float | str
    literal: bool = True


@dataclass(slots=True)
class Name(Expression):
    path: tuple[str, ...]


@dataclass(slots=True)
class Unary(Expression):
    operator: str
    operand: Expression


@dataclass(slots=True)
class Postfix(Expression):
    operator: str
    operand: Expression


@dataclass(slots=True)
class Binary(Expression):
    operator: str
    left: Expression
    right: Expression


@dataclass(slots=True)
class Assign(Expression):
    """``operator`` is ``=`` or ``+=`` and so on."""

    operator: str
    target: Expression
    value: Expression


@dataclass(slots=True)
class Ternary(Expression):
    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(slots=True)
class Cast(Expression):
    type: TypeName
    dimensions: list[Expression]
    operand: Expression


@dataclass(slots=True)
class Construct(Expression):
    type: TypeName
    arguments: list[Expression]


@dataclass(slots=True)
class Call(Expression):
    path: tuple[str, ...]
    arguments: list[Expression]


@dataclass(slots=True)
class MethodCall(Expression):
    object: Expression
    name: str
    arguments: list[Expression]


@dataclass(slots=True)
class Member(Expression):
    object: Expression
    name: str


@dataclass(slots=True)
class Index(Expression):
    object: Expression
    index: Expression


@dataclass(slots=True)
class InitializerList(Expression):
    items: list[Expression]


# -- types and declarations ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class TypeName:
    """``modifiers`` are words such as const, row_major, unorm; ``definition`` is set for ``struct {…} x``."""

    token: Token
    path: tuple[str, ...]
    arguments: list[TypeName | Expression] = field(default_factory=list)
    modifiers: list[Token] = field(default_factory=list)
    definition: StructDeclaration | None = None
    row_major: bool = False


@dataclass(slots=True)
class Semantic:
    token: Token
    name: str


@dataclass(slots=True)
class Register:
    """``register(b3)``; ``profile`` restricts it to one stage; ``letter`` may be any of b t s u c i."""

    token: Token
    letter: str
    number: int
    profile: str = ""


@dataclass(slots=True)
class PackOffset:
    """``dword`` counts from the start of the buffer."""

    token: Token
    dword: int


@dataclass(slots=True)
class Attribute:
    token: Token
    name: str
    arguments: list[Expression]


@dataclass(slots=True)
class Declaration:
    token: Token


@dataclass(slots=True)
class VariableDeclaration(Declaration):
    name: str
    type: TypeName
    dimensions: list[Expression | None] = field(default_factory=list)
    semantic: Semantic | None = None
    registers: list[Register] = field(default_factory=list)
    pack_offset: PackOffset | None = None
    initializer: Expression | None = None


@dataclass(slots=True)
class Parameter(VariableDeclaration):
    pass


@dataclass(slots=True)
class FunctionDeclaration(Declaration):
    path: tuple[str, ...]
    returns: TypeName
    parameters: list[Parameter]
    body: Block | None
    semantic: Semantic | None
    attributes: list[Attribute]


@dataclass(slots=True)
class StructDeclaration(Declaration):
    name: str
    bases: list[TypeName]
    members: list[Declaration]


@dataclass(slots=True)
class BufferDeclaration(Declaration):
    """``kind`` is cbuffer or tbuffer."""

    kind: str
    name: str
    registers: list[Register]
    members: list[Declaration]


@dataclass(slots=True)
class Typedef(Declaration):
    name: str
    type: TypeName
    dimensions: list[Expression | None]


@dataclass(slots=True)
class Namespace(Declaration):
    name: str
    declarations: list[Declaration]


@dataclass(slots=True)
class InterfaceDeclaration(Declaration):
    name: str


# -- statements ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Statement:
    token: Token


@dataclass(slots=True)
class Empty(Statement):
    pass


@dataclass(slots=True)
class Block(Statement):
    statements: list[Statement]


@dataclass(slots=True)
class DeclarationStatement(Statement):
    declarations: list[Declaration]


@dataclass(slots=True)
class ExpressionStatement(Statement):
    expression: Expression


@dataclass(slots=True)
class If(Statement):
    attributes: list[Attribute]
    condition: Expression
    then: Statement
    otherwise: Statement | None


@dataclass(slots=True)
class For(Statement):
    attributes: list[Attribute]
    initializer: Statement | None
    condition: Expression | None
    step: Expression | None
    body: Statement


@dataclass(slots=True)
class While(Statement):
    attributes: list[Attribute]
    condition: Expression
    body: Statement


@dataclass(slots=True)
class DoWhile(Statement):
    attributes: list[Attribute]
    body: Statement
    condition: Expression


@dataclass(slots=True)
class Case:
    """Labels that stand together and the statements that follow; a label of None is ``default``."""

    token: Token
    labels: list[Expression | None]
    statements: list[Statement]


@dataclass(slots=True)
class Switch(Statement):
    attributes: list[Attribute]
    selector: Expression
    cases: list[Case]


@dataclass(slots=True)
class Break(Statement):
    pass


@dataclass(slots=True)
class Continue(Statement):
    pass


@dataclass(slots=True)
class Return(Statement):
    value: Expression | None


@dataclass(slots=True)
class Discard(Statement):
    pass
