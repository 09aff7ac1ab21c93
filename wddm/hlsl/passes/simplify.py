"""Phis that choose between one thing and itself disappear; so does everything nobody reads.

Lowering makes a phi for each variable that a loop may write; most loop variables of unrolled or simple code are not
written at all.  :func:`remove_trivial_phis` finds those, :func:`remove_dead_code` keeps only what an effect needs, lane
by lane, and drops control flow that has become empty.
"""

from __future__ import annotations

from wddm.hlsl.ir.nodes import (
    COMPONENTWISE,
    EFFECTS,
    Break,
    If,
    Instr,
    Lane,
    Loop,
    Node,
    Region,
    Switch,
    Value,
    each_instruction,
    each_region,
)

__all__ = ["remove_dead_code", "remove_trivial_phis", "replace_values"]


def remove_trivial_phis(region: Region) -> None:
    """Replace phis whose sources are all one value (or the phi itself)."""
    phis = [i for i in each_instruction(region) if i.op == "phi"]
    mapping: dict[Value, Value] = {}

    def resolve(value: Value) -> Value:
        seen: list[Value] = []
        while value in mapping:
            seen.append(value)
            value = mapping[value]
        for v in seen:
            mapping[v] = value
        return value

    changed = True
    while changed:
        changed = False
        for phi in phis:
            for index, lane in enumerate(phi.lanes):
                if lane in mapping:
                    continue
                only: Value | None = None
                for src in phi.srcs:
                    value = resolve(src[index])
                    if value is lane or value is only:
                        continue
                    if only is not None:
                        break
                    only = value
                else:
                    if only is not None:
                        mapping[lane] = only
                        changed = True
    if mapping:
        replace_values(region, {lane: resolve(lane) for lane in mapping})
        for phi in phis:
            phi.keep([i for i, lane in enumerate(phi.lanes) if lane not in mapping])


def replace_values(region: Region, mapping: dict[Value, Value]) -> None:
    """Put other values in place of some, everywhere."""
    get = mapping.get
    for instr in each_instruction(region):
        for at, src in enumerate(instr.srcs):
            if any(v in mapping for v in src):
                instr.srcs[at] = tuple(get(v, v) for v in src)
    for current in each_region(region):
        for node in current:
            if isinstance(node, If | Break) and node.condition is not None:
                node.condition = get(node.condition, node.condition)
            elif isinstance(node, Switch):
                node.selector = get(node.selector, node.selector)


class _Marker:
    """Finds the lanes and control nodes that effects need, directly or not."""

    def __init__(self, region: Region) -> None:
        self.needed: set[Lane] = set()
        self.nodes: set[Node] = set()
        self.parents: dict[Node, Node] = {}
        self.work: list[Value] = []
        self.breaks: dict[Node, list[Break]] = {}
        roots: list[Instr] = []
        self.visit(region, None, roots)
        for root in roots:
            self.node(self.parents.get(root))
            for src in root.srcs:
                self.work += src
        while self.work:
            self.value(self.work.pop())

    def visit(self, region: Region, parent: Node | None, roots: list[Instr]) -> None:
        for node in region:
            if parent is not None:
                self.parents[node] = parent
            if isinstance(node, Instr):
                if node.op in EFFECTS:
                    roots.append(node)
            elif isinstance(node, If):
                for phi in node.phis:
                    self.parents[phi] = node
                self.visit(node.then, node, roots)
                self.visit(node.otherwise, node, roots)
            elif isinstance(node, Loop):
                for phi in (*node.phis, *node.exit_phis):
                    self.parents[phi] = node
                self.visit(node.body, node, roots)
            elif isinstance(node, Switch):
                for phi in node.exit_phis:
                    self.parents[phi] = node
                for _, _, case in node.cases:
                    self.visit(case, node, roots)
            elif isinstance(node, Break):
                self.breaks.setdefault(node.target, []).append(node)

    def node(self, node: Node | None) -> None:
        """A control node is needed: so are its condition, its breaks and what encloses it."""
        while node is not None and node not in self.nodes:
            self.nodes.add(node)
            if isinstance(node, If):
                self.work.append(node.condition)
            elif isinstance(node, Switch):
                self.work.append(node.selector)
            for leaving in self.breaks.get(node, ()):
                self.nodes.add(leaving)
                if leaving.condition is not None:
                    self.work.append(leaving.condition)
                self.node(self.parents.get(leaving))
            node = self.parents.get(node)

    def value(self, value: Value) -> None:
        if not isinstance(value, Lane) or value in self.needed:
            return
        self.needed.add(value)
        instr = value.instr
        self.node(self.parents.get(instr))
        if instr.op in COMPONENTWISE:
            self.work += [src[value.index] for src in instr.srcs]
        else:
            for src in instr.srcs:
                self.work += src


def remove_dead_code(region: Region) -> None:
    """Drop lanes, instructions and control flow that no effect needs."""
    marker = _Marker(region)
    _sweep(region, marker)


def _shrink(instr: Instr, needed: set[Lane]) -> bool:
    """Keep the needed lanes; whether any is left."""
    wanted = [i for i, lane in enumerate(instr.lanes) if lane in needed]
    if wanted and len(wanted) < len(instr.lanes):
        if instr.op in ("dadd", "dmul", "dmin", "dmax", "ddiv", "drcp", "dfma", "ftod", "itod", "utod"):
            return True
        instr.keep(wanted)
    return bool(wanted)


def _sweep(region: Region, marker: _Marker) -> None:
    kept: list[Node] = []
    needed = marker.needed
    for node in region:
        if isinstance(node, Instr):
            if node.op in EFFECTS:
                if node.op == "atomic" and node.lanes and node.lanes[0] not in needed and "_exch" not in node.info[0]:
                    node.info = (node.info[0].replace("imm_", ""), node.info[1])
                    node.keep([])
                    node.components = None
                kept.append(node)
            elif _shrink(node, needed):
                kept.append(node)
        elif node in marker.nodes:
            kept.append(node)
            if isinstance(node, If):
                node.phis = [phi for phi in node.phis if _shrink(phi, needed)]
                _sweep(node.then, marker)
                _sweep(node.otherwise, marker)
                if not node.then and not node.otherwise and not node.phis:
                    kept.pop()
            elif isinstance(node, Loop):
                node.phis = [phi for phi in node.phis if _shrink(phi, needed)]
                node.exit_phis = [phi for phi in node.exit_phis if _shrink(phi, needed)]
                _sweep(node.body, marker)
            elif isinstance(node, Switch):
                node.exit_phis = [phi for phi in node.exit_phis if _shrink(phi, needed)]
                for _, _, case in node.cases:
                    _sweep(case, marker)
    region[:] = kept
