"""Which variables a piece of the typed tree may write: what a loop has to merge."""

from __future__ import annotations

from collections.abc import Iterable

from wddm.hlsl import tree

__all__ = ["assigned_in", "contains"]

_WRITING = frozenset({"sincos", "modf", "frexp", "asuint"})


def root(node: tree.Expression) -> tree.Variable | None:
    """The variable that an l-value is part of."""
    current: object = node
    while True:
        if isinstance(current, tree.Swizzle | tree.FieldOf | tree.Element):
            current = current.object
        elif isinstance(current, tree.Reference):
            return current.variable
        else:
            return None


def assigned_in(nodes: Iterable[object]) -> set[tree.Variable]:
    """Variables written in ``nodes``, those that called functions write included."""
    out: set[tree.Variable] = set()

    def add(target: tree.Expression) -> None:
        variable = root(target)
        if variable is not None:
            out.add(variable)

    for node in nodes:
        for part in tree.walk(node):
            if isinstance(part, tree.Assign | tree.IncrementDecrement):
                add(part.target)
            elif isinstance(part, tree.CallFunction):
                for argument, parameter in zip(part.arguments, part.function.parameters, strict=True):
                    if parameter.is_out:
                        add(argument)
                if part.object is not None:
                    add(part.object)
                out |= written_globals(part.function)
            elif isinstance(part, tree.CallIntrinsic):
                if part.name in _WRITING or part.name.startswith(("Interlocked", "Process")):
                    for argument in part.arguments:
                        add(argument)
            elif isinstance(part, tree.CallMethod):
                for argument in part.arguments:
                    add(argument)
    return out


def written_globals(function: tree.Function) -> frozenset[tree.Variable]:
    """Statics that a call of ``function`` may write."""
    if function.assigned is None:
        function.assigned = frozenset()
        if function.body is not None:
            found = assigned_in([function.body])
            function.assigned = frozenset(v for v in found if v.storage in ("static", "this"))
    return function.assigned


def contains(node: object, *kinds: type) -> bool:
    """Whether a node of one of the kinds is under ``node``."""
    return any(isinstance(part, kinds) for part in tree.walk(node))
