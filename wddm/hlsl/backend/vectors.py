"""Which values share a register.

A token operand reads components of one register.  Here every operand is made so: lanes that an operand needs together
are put into one :class:`Group` (a register to be), as long as there are at most four; where that fails, component-wise
instructions are split and others get their lanes gathered by moves.  Lanes of a group have components of their own, so
sharing never clashes; the allocator places groups later.
"""

from __future__ import annotations

from wddm.hlsl.ir.nodes import (
    COMPONENTWISE,
    DOUBLE_OPS,
    STATUS,
    Fixed,
    If,
    Imm,
    Instr,
    Lane,
    Loop,
    Node,
    Region,
    Switch,
    Value,
    Vec,
)

__all__ = ["Group", "Web", "form_vectors"]


class Web:
    """Lanes that live in one component of one register."""

    __slots__ = ("group", "lanes", "mask")

    def __init__(self, lane: Lane, group: Group) -> None:
        self.lanes = [lane]
        self.group = group
        self.mask = 0


class Group:
    """Up to four webs of one register; ``pinned`` ones keep their components (doubles)."""

    __slots__ = ("pinned", "webs")

    def __init__(self, pinned: bool = False) -> None:
        self.webs: list[Web] = []
        self.pinned = pinned


_SPLIT_SOURCES = {"output": (0,), "array_store": (1,)}
"""Effects whose operand may be written in pieces."""

_SCALAR_OK = frozenset({"phi", "discard"})


def form_vectors(region: Region) -> dict[Lane, Web]:
    """Make all operands of ``region`` encodable; the web of every lane."""
    former = _Former()
    former.declare(region)
    former.gather_region(region)
    former.split_region(region)
    return former.webs


class _Former:
    def __init__(self) -> None:
        self.webs: dict[Lane, Web] = {}
        self.gathered: list[dict[object, Vec]] = [{}]
        """Operands put together before, by scope."""

    # -- groups --------------------------------------------------------------------------------------------------

    def define(self, instr: Instr) -> None:
        if not instr.lanes:
            return
        group = Group(pinned=instr.op in DOUBLE_OPS and len(instr.lanes) % 2 == 0 and instr.op not in ("dtof",))
        for lane in instr.lanes:
            home = group
            if instr.components is not None and instr.components[lane.index] == STATUS:
                home = Group()  # a destination of its own
            web = Web(lane, home)
            home.webs.append(web)
            self.webs[lane] = web

    def declare(self, region: Region) -> None:
        for node in region:
            if isinstance(node, Instr):
                self.define(node)
            elif isinstance(node, If):
                self.declare(node.then)
                self.declare(node.otherwise)
                for phi in node.phis:
                    self.define(phi)
            elif isinstance(node, Loop):
                for phi in node.phis:
                    self.define(phi)
                self.declare(node.body)
                for phi in node.exit_phis:
                    self.define(phi)
            elif isinstance(node, Switch):
                for _, _, case in node.cases:
                    self.declare(case)
                for phi in node.exit_phis:
                    self.define(phi)

    def merge(self, groups: list[Group], room: int = 0) -> bool:
        """Make one group of several, if ``room`` more components still fit."""
        if any(g.pinned for g in groups) and len(groups) > 1:
            return False
        if sum(len(g.webs) for g in groups) + room > 4:
            return False
        first = groups[0]
        for other in groups[1:]:
            for web in other.webs:
                web.group = first
            first.webs += other.webs
            other.webs = []
        return True

    def groups_of(self, values: Vec) -> list[Group]:
        out: list[Group] = []
        for value in values:
            if isinstance(value, Lane):
                group = self.webs[value].group
                if group not in out:
                    out.append(group)
        return out

    # -- whole operands ------------------------------------------------------------------------------------------

    def encodable(self, values: Vec) -> bool:
        first = values[0]
        if isinstance(first, Imm):
            return all(isinstance(v, Imm) for v in values)
        if isinstance(first, Fixed):
            return all(isinstance(v, Fixed) and v.register is first.register for v in values)
        return all(isinstance(v, Lane) for v in values) and len(self.groups_of(values)) == 1

    def gather(self, values: Vec, out: list[Node]) -> Vec:
        """``values`` from one register, with moves into it where needed (appended to ``out``)."""
        if not values or self.encodable(values):
            return values
        for table in self.gathered:
            if values in table:
                return table[values]
        result = self.gathered[-1][values] = self.assemble(values, out)
        return result

    def as_temp(self, values: Vec, out: list[Node]) -> Vec:
        for table in self.gathered:
            if ("temp", values) in table:
                return table["temp", values]
        moved = self.move(list(values), out)
        result = self.gathered[-1]["temp", values] = tuple(moved[v] for v in values)
        return result

    def assemble(self, values: Vec, out: list[Node]) -> Vec:
        groups = self.groups_of(values)
        foreign = list(dict.fromkeys(v for v in values if not isinstance(v, Lane)))
        if groups and self.merge(groups, len(foreign)):
            if not foreign:
                return values
            moved = self.move(foreign, out)
            self.merge([groups[0], self.webs[moved[foreign[0]]].group])
            return tuple(moved.get(v, v) for v in values)
        distinct = list(dict.fromkeys(values))
        moved = self.move(distinct, out)
        return tuple(moved[v] for v in values)

    def move(self, values: list[Value], out: list[Node]) -> dict[Value, Lane]:
        instr = Instr("mov", [tuple(values)], len(values))
        self.define(instr)
        out.append(instr)
        return dict(zip(values, instr.lanes, strict=True))

    def gather_double(self, instr: Instr, at: int, out: list[Node]) -> None:
        """Doubles must stand in xy or zw, low half first."""
        src = instr.srcs[at]
        if all(isinstance(v, Imm) for v in src):
            return
        first = src[0]
        if isinstance(first, Fixed):
            fits = all(
                isinstance(lo, Fixed) and isinstance(hi, Fixed) and lo.register is hi.register is first.register
                and lo.component % 2 == 0 and hi.component == lo.component + 1
                for lo, hi in zip(src[::2], src[1::2], strict=True)
            )  # fmt: skip
            if fits:
                return
        if all(isinstance(v, Lane) for v in src):
            groups = self.groups_of(src)
            if len(groups) == 1 and groups[0].pinned:
                webs = groups[0].webs
                places = [webs.index(self.webs[v]) for v in src if isinstance(v, Lane)]
                if all(lo % 2 == 0 and hi == lo + 1 for lo, hi in zip(places[::2], places[1::2], strict=True)):
                    return
        instr_mov = Instr("mov", [src], len(src))
        self.define(instr_mov)
        self.webs[instr_mov.lanes[0]].group.pinned = True
        out.append(instr_mov)
        instr.srcs[at] = tuple(instr_mov.lanes)

    def gather_region(self, region: Region) -> None:
        out: list[Node] = []
        self.gathered.append({})
        for node in region:
            if isinstance(node, Instr):
                self.gather_instr(node, out)
            elif isinstance(node, If):
                self.gather_region(node.then)
                self.gather_region(node.otherwise)
            elif isinstance(node, Loop):
                self.gather_region(node.body)
            elif isinstance(node, Switch):
                for _, _, case in node.cases:
                    self.gather_region(case)
            out.append(node)
        self.gathered.pop()
        region[:] = out

    def gather_instr(self, instr: Instr, out: list[Node]) -> None:
        op = instr.op
        if op in COMPONENTWISE or op in _SCALAR_OK:
            return
        if op in DOUBLE_OPS:
            for at in range(len(instr.srcs)):
                if op not in ("ftod", "itod", "utod"):
                    self.gather_double(instr, at, out)
            return
        relative = op in ("cb_load", "icb_load", "array_load", "vertex_load", "array_store")
        for at, src in enumerate(instr.srcs):
            if at in _SPLIT_SOURCES.get(op, ()):
                continue
            if relative and at == 0 and not isinstance(src[0], Imm | Lane):
                instr.srcs[at] = self.as_temp(src, out)  # an index must be a temp
            else:
                instr.srcs[at] = self.gather(src, out)

    # -- component-wise instructions -----------------------------------------------------------------------------

    def split_region(self, region: Region) -> None:
        out: list[Node] = []
        for node in region:
            if isinstance(node, Instr):
                out += self.split(node)
                continue
            if isinstance(node, If):
                self.split_region(node.then)
                self.split_region(node.otherwise)
            elif isinstance(node, Loop):
                self.split_region(node.body)
            elif isinstance(node, Switch):
                for _, _, case in node.cases:
                    self.split_region(case)
            out.append(node)
        region[:] = out

    def split(self, instr: Instr) -> list[Instr]:
        """The instruction, or several that together do its work and each can be encoded."""
        if instr.op in _SPLIT_SOURCES:
            return self.split_effect(instr, _SPLIT_SOURCES[instr.op][0])
        if instr.op not in COMPONENTWISE or instr.op == "phi" or len(instr.lanes) == 1:
            return [instr]
        for src in instr.srcs:
            if not self.encodable(src) and all(isinstance(v, Lane) for v in src):
                self.merge(self.groups_of(src))
        if all(self.encodable(src) for src in instr.srcs):
            return [instr]
        pieces: dict[tuple[object, ...], list[int]] = {}
        for i in range(len(instr.lanes)):
            pieces.setdefault(tuple(self.key(src[i]) for src in instr.srcs), []).append(i)
        out: list[Instr] = []
        for places in pieces.values():
            piece = Instr(instr.op, [tuple(src[i] for i in places) for src in instr.srcs], 0, None, instr.info)
            piece.lanes = [instr.lanes[i] for i in places]
            for index, lane in enumerate(piece.lanes):
                lane.instr, lane.index = piece, index
            piece.modifiers, piece.saturate, piece.precise = instr.modifiers, instr.saturate, instr.precise
            out.append(piece)
        return out

    def split_effect(self, instr: Instr, at: int) -> list[Instr]:
        src = instr.srcs[at]
        if self.encodable(src):
            return [instr]
        if all(isinstance(v, Lane) for v in src) and self.merge(self.groups_of(src)):
            return [instr]
        pieces: dict[object, list[int]] = {}
        for i, value in enumerate(src):
            pieces.setdefault(self.key(value), []).append(i)
        out: list[Instr] = []
        for places in pieces.values():
            head, number, components, *rest = instr.info if instr.op == "output" else (*instr.info,)
            info = (head, number, tuple(components[i] for i in places), *rest)
            piece = Instr(instr.op, [*instr.srcs[:at], tuple(src[i] for i in places), *instr.srcs[at + 1 :]], 0, None, info)
            piece.modifiers = instr.modifiers
            out.append(piece)
        return out

    def key(self, value: Value) -> object:
        if isinstance(value, Lane):
            return self.webs[value].group
        if isinstance(value, Fixed):
            return value.register
        return "immediate"
