"""Two results of one hardware operation: sine with cosine, quotient with remainder.

They are separate operations up to here, so that each folds, is shared and dies on its own.  Runs last.
"""

from __future__ import annotations

from wddm.hlsl.ir.nodes import Instr, Node, Region, each_region

__all__ = ["PAIRS", "join_pairs"]

PAIRS = {"sin": ("sincos", 0), "cos": ("sincos", 1), "udiv": ("udivrem", 0), "urem": ("udivrem", 1)}
"""Operation → the joint one, and which of its results it is."""


def join_pairs(region: Region) -> None:
    """Replace each first half by the joint operation and drop the second, where both are wanted of the same sources."""
    for current in each_region(region):
        waiting: dict[object, Instr] = {}
        dropped: set[Node] = set()
        for node in current:
            if not isinstance(node, Instr) or node.op not in PAIRS or node.saturate or len(node.lanes) > 2:
                continue
            joint, place = PAIRS[node.op]
            key = (joint, tuple(node.srcs), tuple(node.modifiers or ()), node.precise)
            first = waiting.get((key, 1 - place))
            if first is None:
                waiting[key, place] = node
                continue
            del waiting[key, 1 - place]
            halves = (first.lanes, node.lanes) if place == 1 else (node.lanes, first.lanes)
            first.lanes = [*halves[0], *halves[1]]
            for index, lane in enumerate(first.lanes):
                lane.instr, lane.index = first, index
            first.op = joint
            dropped.add(node)
        if dropped:
            current[:] = [n for n in current if n not in dropped]
