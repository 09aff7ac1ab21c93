"""Which values differ between neighbours, and what may therefore not stand where.

Gradients need all four pixels of a quad, barriers need the whole group: neither may stand under a condition that
varies (X4014, X3663).
"""

from __future__ import annotations

from wddm.hlsl.diagnostics import Position, Sink
from wddm.hlsl.ir.builder import varying
from wddm.hlsl.ir.nodes import GRADIENTS, Break, If, Instr, Loop, Region, Switch, each_instruction
from wddm.hlsl.lexer import Token

__all__ = ["check_uniformity"]


def check_uniformity(region: Region, sink: Sink, nowhere: Position) -> bool:
    """Report gradients and barriers in varying flow.

    True when loops stand in the way that may be unrolled: they have been marked, and lowering should start over.
    """
    _propagate(region)
    checker = _Checker(sink, nowhere)
    checker.region(region, None)
    return checker.again


def _propagate(region: Region) -> None:
    """Loop-carried values may turn out to vary only after their loop was lowered."""
    instructions = list(each_instruction(region))
    if not any(i.op == "phi" for i in instructions):
        return
    changed = True
    while changed:
        changed = False
        for instr in instructions:
            if not instr.varying and any(varying(v) for src in instr.srcs for v in src):
                instr.varying = changed = True


def _divergent(node: Loop, region: Region, under: bool) -> bool:
    """Whether a loop is left at different times: a break under a varying condition."""
    for inner in region:
        if isinstance(inner, Break) and inner.target is node:
            if under or (inner.condition is not None and varying(inner.condition)):
                return True
        elif isinstance(inner, If):
            deeper = under or varying(inner.condition)
            if _divergent(node, inner.then, deeper) or _divergent(node, inner.otherwise, deeper):
                return True
        elif isinstance(inner, Loop):
            if _divergent(node, inner.body, under):
                return True
        elif isinstance(inner, Switch):
            deeper = under or varying(inner.selector)
            if any(_divergent(node, case, deeper) for _, _, case in inner.cases):
                return True
    return False


class _Checker:
    def __init__(self, sink: Sink, nowhere: Position) -> None:
        self.sink = sink
        self.nowhere = nowhere
        self.again = False

    def region(self, region: Region, inside: If | Loop | Switch | None) -> None:
        for node in region:
            if isinstance(node, Instr):
                if inside is None:
                    continue
                if node.op in GRADIENTS:
                    at = inside.token.position if isinstance(inside.token, Token) else self.nowhere
                    if isinstance(inside, Loop):
                        source = inside.token
                        at = source.token.position
                        if source.hint == "kept":
                            source.hint = "unroll"
                            self.again = True
                            self.sink.warning(3570, "gradient instruction used in a loop with varying iteration, attempting to "
                                              "unroll the loop", at)  # fmt: skip
                            continue
                        if self.again:
                            continue
                        self.sink.error(4014, "cannot have gradient operations inside loops with divergent flow control", at)
                    else:
                        self.sink.error(4014, "cannot have gradient operations in branches with divergent flow control", at)
                elif node.op == "sync" and "threads" in node.info[0]:
                    self.sink.error(3663, "thread sync operation found in varying flow control, consider reformulating your "
                                    "algorithm so all threads will hit the sync simultaneously", node.info[1].position)  # fmt: skip
            elif isinstance(node, If):
                deeper = node if varying(node.condition) else inside
                self.region(node.then, deeper)
                self.region(node.otherwise, deeper)
            elif isinstance(node, Loop):
                self.region(node.body, node if _divergent(node, node.body, False) else inside)
            elif isinstance(node, Switch):
                deeper_switch = node if varying(node.selector) else inside
                for _, _, case in node.cases:
                    self.region(case, deeper_switch)
