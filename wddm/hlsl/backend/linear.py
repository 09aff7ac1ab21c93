"""The tree of regions as a line of items, and which lanes live where along it.

Phis become parallel copies at the ends of the paths.  Liveness is found by going backwards over the line until
nothing changes; a lane's range is a bit mask with two bits per item (reading, writing), so that two ranges clash when
their masks do.
"""

from __future__ import annotations

from wddm.hlsl.ir.nodes import Break, If, Instr, Lane, Loop, Region, Switch, Value

from .vectors import Web

__all__ = ["Item", "coalesce", "linearise", "live_ranges"]


class Item:
    """``kind``: op, copy, if, else, endif, loop, endloop, break, breakc, switch, case, default, endswitch."""

    __slots__ = ("dsts", "instr", "kind", "negated", "number", "srcs", "value")

    def __init__(
        self, kind: str, *, instr: Instr | None = None, value: Value | None = None, negated: bool = False, number: int = 0,
        dsts: list[Lane] | None = None, srcs: list[Value] | None = None,
    ) -> None:
        self.kind = kind
        self.instr = instr
        self.value = value
        self.negated = negated
        self.number = number
        self.dsts = dsts or []
        self.srcs = srcs or []


def linearise(region: Region) -> list[Item]:
    """Items in program order."""
    out: list[Item] = []
    _line(region, out)
    return out


def _copies(phis: list[Instr], path: int, out: list[Item]) -> None:
    dsts: list[Lane] = []
    srcs: list[Value] = []
    for phi in phis:
        if path < len(phi.srcs):
            dsts += phi.lanes
            srcs += phi.srcs[path]
    if dsts:
        out.append(Item("copy", dsts=dsts, srcs=srcs))


def _line(region: Region, out: list[Item]) -> None:
    for node in region:
        if isinstance(node, Instr):
            out.append(Item("op", instr=node))
        elif isinstance(node, If):
            _line_if(node, out)
        elif isinstance(node, Loop):
            _copies(node.phis, 0, out)
            out.append(Item("loop"))
            _line(node.body, out)
            _copies(node.phis, 1, out)
            out.append(Item("endloop"))
        elif isinstance(node, Switch):
            out.append(Item("switch", value=node.selector))
            for labels, default, case in node.cases:
                out += [Item("case", number=label) for label in labels]
                if default:
                    out.append(Item("default"))
                _line(case, out)
            out.append(Item("endswitch"))
        elif isinstance(node, Break):
            path = node.target.breaks.index(node)
            if any(path < len(phi.srcs) for phi in node.target.exit_phis):
                if node.condition is not None:
                    out.append(Item("if", value=node.condition, negated=node.negated))
                _copies(node.target.exit_phis, path, out)
                out.append(Item("break"))
                if node.condition is not None:
                    out.append(Item("endif"))
            elif node.condition is not None:
                out.append(Item("breakc", value=node.condition, negated=node.negated))
            else:
                out.append(Item("break"))


def _line_if(node: If, out: list[Item]) -> None:
    sides: list[list[Item]] = []
    for path, region in enumerate((node.then, node.otherwise)):
        side: list[Item] = []
        _line(region, side)
        if not (side and side[-1].kind == "break"):
            _copies(node.phis, path, side)
        sides.append(side)
    then, otherwise = sides
    negated = node.negated
    if not then:
        then, otherwise, negated = otherwise, then, not negated
    if not then:
        return
    out.append(Item("if", value=node.condition, negated=negated))
    out += then
    if otherwise:
        out.append(Item("else"))
        out += otherwise
    out.append(Item("endif"))


def _successors(items: list[Item]) -> list[list[int]]:
    """Where control can go from each item."""
    count = len(items)
    out: list[list[int]] = [[i + 1] for i in range(count)]
    stack: list[tuple[str, int, list[int]]] = []  # kind, start, items that leave it
    for i, item in enumerate(items):
        kind = item.kind
        if kind in ("if", "loop", "switch"):
            stack.append((kind, i, []))
            if kind == "switch":
                out[i] = []
        elif kind == "else":
            _, start, leaving = stack.pop()
            out[start].append(i + 1)
            stack.append(("else", i, leaving))
        elif kind == "endif":
            opener, start, _ = stack.pop()
            if opener == "if":
                out[start].append(i)
            else:
                out[start] = [i]
        elif kind in ("case", "default"):
            out[stack[-1][1]].append(i)
        elif kind in ("break", "breakc"):
            target = next(entry for entry in reversed(stack) if entry[0] in ("loop", "switch"))
            target[2].append(i)
            out[i] = [] if kind == "break" else [i + 1]
        elif kind in ("endloop", "endswitch"):
            _, start, leaving = stack.pop()
            if kind == "endloop":
                out[i] = [start]
            for leaver in leaving:
                out[leaver].append(i + 1 if kind == "endloop" else i)
    return out


def live_ranges(items: list[Item], webs: dict[Lane, Web]) -> None:
    """Fill in the mask of every web: bit 2i when a lane is live into item i, bit 2i+1 when out of it."""
    numbers: dict[Web, int] = {}
    listed: list[Web] = []

    def bit(value: Value) -> int:
        if not isinstance(value, Lane):
            return 0
        web = webs[value]
        number = numbers.get(web)
        if number is None:
            number = numbers[web] = len(listed)
            listed.append(web)
        return 1 << number

    count = len(items)
    uses, defs = [0] * count, [0] * count
    for i, item in enumerate(items):
        if item.instr is not None:
            for src in item.instr.srcs:
                for value in src:
                    uses[i] |= bit(value)
            for lane in item.instr.lanes:
                defs[i] |= bit(lane)
        for value in item.srcs:
            uses[i] |= bit(value)
        for lane in item.dsts:
            defs[i] |= bit(lane)
        if item.value is not None:
            uses[i] |= bit(item.value)
    successors = _successors(items)
    into, out = [0] * (count + 1), [0] * count
    changed = True
    while changed:
        changed = False
        for i in range(count - 1, -1, -1):
            after = 0
            for successor in successors[i]:
                after |= into[successor]
            before = (after & ~defs[i]) | uses[i]
            if after != out[i] or before != into[i]:
                out[i], into[i] = after, before
                changed = True
    masks, since = [0] * len(listed), [0] * len(listed)
    before = 0
    for position in range(2 * count + 1):
        i = position >> 1
        now = 0 if i == count else out[i] | defs[i] if position & 1 else into[i]
        changed_bits = before ^ now
        while changed_bits:
            low = changed_bits & -changed_bits
            number = low.bit_length() - 1
            if now & low:
                since[number] = position
            else:
                masks[number] |= ((1 << (position - since[number])) - 1) << since[number]
            changed_bits ^= low
        before = now
    for web, mask in zip(listed, masks, strict=True):
        web.mask = mask


def coalesce(items: list[Item], webs: dict[Lane, Web]) -> None:
    """Give both sides of a copy one web where their ranges do not clash, so that nothing is left to copy."""
    for item in reversed(items):
        if item.kind == "copy":
            pairs = list(zip(item.dsts, item.srcs, strict=True))
        elif item.instr is not None and item.instr.op == "mov" and not item.instr.modifiers and not item.instr.saturate:
            pairs = list(zip(item.instr.lanes, item.instr.srcs[0], strict=True))
        else:
            continue
        lanes = [(dst, src) for dst, src in pairs if isinstance(src, Lane)]
        while lanes:  # joining moves webs about: look at the groups anew each time
            first = (webs[lanes[0][0]].group, webs[lanes[0][1]].group)
            together = [p for p in lanes if (webs[p[0]].group, webs[p[1]].group) == first]
            lanes = [p for p in lanes if p not in together]
            _join([(webs[dst], webs[src]) for dst, src in together], webs)


def _join(pairs: list[tuple[Web, Web]], webs: dict[Lane, Web]) -> None:
    first, second = pairs[0][0].group, pairs[0][1].group
    if not first.webs or not second.webs:
        return
    if first.pinned or second.pinned:
        return
    fitting: list[tuple[Web, Web]] = []
    seen: set[Web] = set()
    for a, b in pairs:
        if a in seen or b in seen or a is b or a.mask & b.mask:
            continue
        seen |= {a, b}
        fitting.append((a, b))
    if not fitting:
        return
    if first is not second:
        if len(first.webs) + len(second.webs) - len(fitting) > 4:
            return
        for web in second.webs:
            web.group = first
        first.webs += second.webs
        second.webs = []
    for a, b in fitting:
        a.lanes += b.lanes
        a.mask |= b.mask
        for lane in b.lanes:
            webs[lane] = a
        first.webs.remove(b)
