"""The typed tree: what semantic analysis makes of the syntax tree, and what lowering reads.

Owns symbols (:class:`Variable`, :class:`Function`, :class:`ConstantBuffer`) and typed expressions and statements.
Names are resolved, overloads chosen, every implicit conversion is a :class:`Convert`.  Expressions stand where
their type allows; nothing here is wrong any more except what only the flow of values shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .diagnostics import Position
from .lexer import Token
from .methods import Signature
from .types import VOID, Field, Numeric, Struct, Type

__all__ = [
    "Aggregate", "Assign", "Block", "Break", "CallFunction", "CallIntrinsic", "CallMethod", "CaseGroup", "Conditional",
    "Constant", "ConstantBuffer", "Continue", "Convert", "Declare", "Discard", "Element", "Evaluate", "Expression",
    "FieldOf", "Function", "If", "IncrementDecrement", "Loop", "Operation", "Reference", "Return", "Sequence",
    "Statement", "Switch", "Swizzle", "Unit", "Variable", "walk",
]  # fmt: skip


# -- symbols ---------------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Variable:
    """Anything with a name and a value, or a resource.

    ``storage``: local, parameter, static, uniform, groupshared, this.  ``constant`` holds the lanes of a value known
    when it was declared.  ``offset`` counts dwords in ``buffer``.
    """

    name: str
    type: Type
    storage: str
    position: Position
    modifiers: frozenset[str] = frozenset()
    semantic: str = ""
    initializer: Expression | None = None
    constant: tuple[int, ...] | None = None
    buffer: ConstantBuffer | None = None
    offset: int = 0
    registers: dict[str, int] = field(default_factory=dict)
    scalarised: bool = True
    """False once an index was met that is not known: then it lives in an indexable register."""

    @property
    def is_const(self) -> bool:
        return "const" in self.modifiers or self.storage == "uniform"

    @property
    def is_out(self) -> bool:
        return "out" in self.modifiers or "inout" in self.modifiers

    @property
    def is_in(self) -> bool:
        return "out" not in self.modifiers


@dataclass(eq=False, slots=True)
class ConstantBuffer:
    """``size`` is in dwords, not rounded up; ``slot`` is the register written in the source or None."""

    name: str
    kind: str
    position: Position
    variables: list[Variable] = field(default_factory=list)
    size: int = 0
    slot: int | None = None


@dataclass(eq=False, slots=True)
class Function:
    name: str
    returns: Type
    parameters: list[Variable]
    position: Position
    semantic: str = ""
    attributes: dict[str, list[int | str | float]] = field(default_factory=dict)
    body: Block | None = None
    owner: Struct | None = None
    static: bool = False
    this: Variable | None = None
    precise: bool = False
    modifiers: frozenset[str] = frozenset()
    calls: list[tuple[Function, Position]] = field(default_factory=list)
    assigned: frozenset[Variable] | None = None
    """Globals it may write, itself or through what it calls; filled in by lowering when asked for."""


@dataclass(slots=True)
class Unit:
    """A translation unit.  ``globals`` holds statics, uniforms, resources and shared memory in order."""

    functions: dict[str, list[Function]]
    globals: list[Variable]
    buffers: list[ConstantBuffer]


# -- expressions -----------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Expression:
    token: Token
    type: Type
    literal: bool = field(default=False, kw_only=True)
    """Made of unsuffixed literals alone; such a value takes the precision of what it meets."""

    @property
    def numeric(self) -> Numeric:
        """The type, which the analysis has made sure is numeric."""
        assert isinstance(self.type, Numeric)
        return self.type


@dataclass(eq=False, slots=True)
class Constant(Expression):
    """``lanes``: 32-bit patterns, in the order of lanes."""

    lanes: tuple[int, ...]


@dataclass(eq=False, slots=True)
class Reference(Expression):
    variable: Variable


@dataclass(eq=False, slots=True)
class Swizzle(Expression):
    """Components ``places`` of a scalar, vector or matrix (row after row)."""

    object: Expression
    places: tuple[int, ...]


@dataclass(eq=False, slots=True)
class FieldOf(Expression):
    object: Expression
    field: Field


@dataclass(eq=False, slots=True)
class Element(Expression):
    """``object[index]``: of an array, vector, matrix or resource; ``level`` is the mip or sample of ``.mips[][]``."""

    object: Expression
    index: Expression
    level: Expression | None = None


@dataclass(eq=False, slots=True)
class Convert(Expression):
    operand: Expression


@dataclass(eq=False, slots=True)
class Operation(Expression):
    """``operator`` over operands of one type (comparisons give bool)."""

    operator: str
    operands: list[Expression]


@dataclass(eq=False, slots=True)
class Assign(Expression):
    """``target = value``, or ``target = target operator value`` computed in ``compute``."""

    target: Expression
    value: Expression
    operator: str = ""
    compute: Numeric | None = None


@dataclass(eq=False, slots=True)
class IncrementDecrement(Expression):
    target: Expression
    delta: int
    postfix: bool


@dataclass(eq=False, slots=True)
class Conditional(Expression):
    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(eq=False, slots=True)
class Sequence(Expression):
    items: list[Expression]


@dataclass(eq=False, slots=True)
class Aggregate(Expression):
    """Lanes of ``items`` one after the other: constructors and initialiser lists."""

    items: list[Expression]


@dataclass(eq=False, slots=True)
class CallFunction(Expression):
    function: Function
    arguments: list[Expression]
    object: Expression | None = None


@dataclass(eq=False, slots=True)
class CallIntrinsic(Expression):
    name: str
    arguments: list[Expression]


@dataclass(eq=False, slots=True)
class CallMethod(Expression):
    object: Expression
    name: str
    arguments: list[Expression]
    signature: Signature


# -- statements ------------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Statement:
    token: Token


@dataclass(eq=False, slots=True)
class Block(Statement):
    statements: list[Statement]


@dataclass(eq=False, slots=True)
class Evaluate(Statement):
    expression: Expression


@dataclass(eq=False, slots=True)
class Declare(Statement):
    variable: Variable


@dataclass(eq=False, slots=True)
class If(Statement):
    """``hint``: branch, flatten or empty."""

    hint: str
    condition: Expression
    then: Statement
    otherwise: Statement | None


@dataclass(eq=False, slots=True)
class Loop(Statement):
    """Any loop.  ``hint``: loop, unroll or empty; ``limit``: of ``[unroll(n)]``, 0 when none."""

    hint: str
    limit: int
    initializer: Statement | None
    condition: Expression | None
    step: Expression | None
    body: Statement
    test_first: bool = True


@dataclass(slots=True)
class CaseGroup:
    labels: list[int]
    default: bool
    statements: list[Statement]


@dataclass(eq=False, slots=True)
class Switch(Statement):
    selector: Expression
    cases: list[CaseGroup]
    hint: str = ""


@dataclass(eq=False, slots=True)
class Break(Statement):
    pass


@dataclass(eq=False, slots=True)
class Continue(Statement):
    pass


@dataclass(eq=False, slots=True)
class Return(Statement):
    value: Expression | None


@dataclass(eq=False, slots=True)
class Discard(Statement):
    pass


def walk(node: object) -> Iterator[object]:
    """Every statement and expression under ``node``, itself first."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, list):
            stack += reversed(current)
            continue
        if current is None:
            continue
        yield current
        names = _CHILDREN.get(type(current))
        if names:
            stack += [getattr(current, name) for name in reversed(names)]


_CHILDREN: dict[type, tuple[str, ...]] = {
    Swizzle: ("object",),
    FieldOf: ("object",),
    Element: ("object", "index", "level"),
    Convert: ("operand",),
    Operation: ("operands",),
    Assign: ("target", "value"),
    IncrementDecrement: ("target",),
    Conditional: ("condition", "then", "otherwise"),
    Sequence: ("items",),
    Aggregate: ("items",),
    CallFunction: ("object", "arguments"),
    CallIntrinsic: ("arguments",),
    CallMethod: ("object", "arguments"),
    Block: ("statements",),
    Evaluate: ("expression",),
    If: ("condition", "then", "otherwise"),
    Loop: ("initializer", "condition", "step", "body"),
    CaseGroup: ("statements",),
    Switch: ("selector", "cases"),
    Return: ("value",),
}


def void_token(token: Token) -> Expression:
    """An expression without a value, to stand in where an error was reported."""
    return Sequence(token, VOID, [])
