"""Constant expressions: lowered like any other, and constant when only immediates come out."""

from __future__ import annotations

from collections.abc import Callable

from wddm.hlsl import tree
from wddm.hlsl.diagnostics import Sink
from wddm.hlsl.ir.builder import TooLarge
from wddm.hlsl.ir.nodes import Imm
from wddm.hlsl.types import Numeric, Object, Struct

from .places import Place
from .resources import ResourceLowering
from .state import UNDEFINED, LoweringProblem, Restart

__all__ = ["evaluator"]

_PURE = (
    tree.Constant, tree.Reference, tree.Swizzle, tree.FieldOf, tree.Element, tree.Convert, tree.Operation, tree.Conditional,
    tree.Aggregate, tree.CallIntrinsic,
)  # fmt: skip
_IMPURE = ("Interlocked", "Evaluate", "tex", "Process", "AllMemory", "Device", "Group", "clip", "abort", "sincos", "modf",
           "frexp", "ddx", "ddy", "fwidth", "GetRender")  # fmt: skip


class _Evaluator(ResourceLowering):
    def load_vertex(self, place: Place, lanes: tuple[int, ...], token: object) -> tuple[()]:
        raise LoweringProblem

    def assigned_later(self, variable: tree.Variable) -> bool:
        return True


def evaluator(sink: Sink, stage: str, model: int) -> Callable[[tree.Expression], tuple[int, ...] | None]:
    """A function from expressions to the lanes of their value, or None when that is not known when compiling."""

    def evaluate(expression: tree.Expression) -> tuple[int, ...] | None:
        if isinstance(expression, tree.Constant):
            return expression.lanes
        if not constant(expression):
            return None
        lowering = _Evaluator(Sink(), stage, model)
        try:
            lanes = lowering.value(expression)
        except (LoweringProblem, Restart, TooLarge):
            return None
        if lowering.restart_wanted:
            return None
        bits: list[int] = []
        for lane in lanes:
            if not isinstance(lane, Imm) or lane is UNDEFINED:
                return None
            bits.append(lane.bits)
        return tuple(bits)

    def constant(expression: tree.Expression) -> bool:
        """Quick refusal: only pure expressions over constants."""
        for part in tree.walk(expression):
            if not isinstance(part, _PURE):
                return False
            if isinstance(part, tree.Reference):
                variable = part.variable
                if variable.constant is None or isinstance(variable.type, Object):
                    return False
                if variable.storage == "uniform" and "const" not in variable.modifiers:
                    return False
                if variable.storage == "uniform" and variable.buffer is not None:
                    return False
            elif isinstance(part, tree.CallIntrinsic) and part.name.startswith(_IMPURE):
                return False
        return isinstance(expression.type, Numeric | Struct) or not isinstance(expression.type, Object)

    return evaluate
