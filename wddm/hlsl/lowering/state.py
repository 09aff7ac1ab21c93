"""The state of one lowering: environment, jump scopes, bindings, and what makes it start over.

The environment maps every variable to the tuple of values it holds here; so reading a variable costs nothing and
SSA form comes by itself.  A variable that turns out to be indexed with an unknown number is marked and the lowering
starts over with that variable in memory (:class:`Restart`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from wddm.hlsl import tree
from wddm.hlsl.diagnostics import Sink
from wddm.hlsl.ir.builder import Builder
from wddm.hlsl.ir.nodes import FALSE, Imm, Loop, Switch, Value, Vec
from wddm.hlsl.lexer import Token
from wddm.hlsl.types import Object, Type

__all__ = ["UNDEFINED", "Binding", "IndexableArray", "JumpScope", "LoweringProblem", "Module", "Resource", "Restart", "State"]

UNDEFINED = Imm(0)
"""The value of a component that nothing has written.  Reads as 0."""

FLATTEN_COST = 10
"""Instructions of both sides together up to which a branch becomes a selection unasked."""

MAX_STEPS = 150_000
"""Statements and expressions lowered, counted again each time a function is inlined or a loop unrolled."""


class LoweringProblem(Exception):
    """An error has been recorded from which this lowering cannot go on."""


class Restart(Exception):
    """Something was learnt (a variable must live in memory, a loop must be unrolled); lower again from the start."""


@dataclass(eq=False, slots=True)
class Binding:
    """A resource or sampler variable and the registers it gets; ``slot`` is set when registers are assigned.

    ``letter`` may differ from the type's for a legacy sampler, which is a texture and a sampler at once.
    """

    name: str
    type: Object
    letter: str
    count: int
    variable: tree.Variable
    slot: int = -1
    used: set[int] = field(default_factory=set)
    comparison: bool = False
    counter: str = ""
    dimension: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """One element of a binding."""

    binding: Binding
    index: int = 0


@dataclass(eq=False, slots=True)
class IndexableArray:
    """A variable in an indexable temp: ``registers`` of up to four components."""

    variable: tree.Variable
    registers: int
    components: int
    number: int = -1


@dataclass(eq=False, slots=True)
class SharedMemory:
    """A groupshared variable: ``count`` structures of ``stride`` dwords."""

    variable: tree.Variable
    element: Type
    stride: int
    count: int
    number: int = -1


@dataclass(eq=False, slots=True)
class JumpScope:
    """Something that return, break or continue leaves.

    With ``node`` it is a loop or switch of the output and is left with a real break; without, leaving it sets its
    flag in the environment and what follows is guarded.  ``result`` is the environment key of a function's value.
    """

    kind: str  # function, break, continue
    node: Loop | Switch | None = None
    exits: list[dict[Any, Any]] = field(default_factory=list)
    result: Any = None
    varying: bool = False


class Module:
    """What one compilation gathers besides code: bindings, memory, the immediate constant buffer."""

    def __init__(self) -> None:
        self.bindings: dict[tuple[int, str], Binding] = {}
        self.arrays: dict[int, IndexableArray] = {}
        self.shared: dict[int, SharedMemory] = {}
        self.icb: list[tuple[int, int, int, int]] = []
        self.icb_places: dict[Any, int] = {}


class State:
    """Shared by all parts of the lowering."""

    def __init__(self, sink: Sink, stage: str, model: int) -> None:
        self.sink = sink
        self.stage = stage
        self.model = model
        self.module = Module()
        self.b = Builder()
        self.env: dict[Any, Any] = {}
        self.dead = ""
        """Empty where control can be; else "real" behind a break, "virtual" where a flag says so."""
        self.jumps: list[JumpScope] = []
        self.steps = 0
        self.loops: list[tree.Loop] = []
        self.restart_wanted = False
        """Something was learnt that makes this lowering useless; it goes on to learn more."""
        self.feedback: tuple[Vec | None, tree.Expression | None] = (None, None)
        """Clamp and status that the method being lowered was given; the first read takes them."""
        self.flatten_cost = FLATTEN_COST

    # -- errors --------------------------------------------------------------------------------------------------

    def fail(self, code: int, message: str, token: Token) -> NoReturn:
        self.sink.error(code, message, token.position)
        raise LoweringProblem

    def warn(self, code: int, message: str, token: Token) -> None:
        self.sink.warning(code, message, token.position)

    def step(self, token: Token) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.fail(3584, "the program is too large when its functions are inlined and its loops unrolled", token)

    def need_literal(self, code: int, message: str, token: Token) -> NoReturn:
        """A literal was needed and is none: unroll the loops around and try again, or fail."""
        again = False
        for loop in self.loops:
            if loop.hint in ("", "kept"):
                loop.hint = "unroll"
                again = True
        if again:
            raise Restart
        self.fail(code, message, token)

    # -- flags ---------------------------------------------------------------------------------------------------

    def innermost_real(self) -> int:
        for index in range(len(self.jumps) - 1, -1, -1):
            if self.jumps[index].node is not None:
                return index
        return -1

    def flag(self, scope: JumpScope) -> Value:
        lanes: Vec = self.env.get(scope, (FALSE,))
        return lanes[0]
