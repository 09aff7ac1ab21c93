"""Groups to temps: first fit, component by component."""

from __future__ import annotations

from wddm.hlsl.ir.nodes import Lane

from .vectors import Group, Web

__all__ = ["allocate"]

def allocate(webs: dict[Lane, Web]) -> tuple[dict[Lane, tuple[int, int]], int]:
    """(register, component) of every lane, and how many temps that takes."""
    groups: list[Group] = []
    seen: set[Group] = set()
    for web in webs.values():
        group = web.group
        if group not in seen:
            seen.add(group)
            live = [w for w in group.webs if w.mask]
            if live:
                groups.append(group)
    groups.sort(key=_start)
    occupied: list[list[int]] = []
    places: dict[Lane, tuple[int, int]] = {}
    for group in groups:
        chosen = [w for w in group.webs if w.mask]
        pinned = group.pinned
        register = 0
        while True:
            if register == len(occupied):
                occupied.append([0, 0, 0, 0])
            order = _fit(group.webs if pinned else chosen, occupied[register], pinned)
            if order is not None:
                break
            register += 1
        for web, component in zip(group.webs if pinned else chosen, order, strict=True):
            occupied[register][component] |= web.mask
            for lane in web.lanes:
                places[lane] = (register, component)
    return places, len(occupied)


def _start(group: Group) -> int:
    return min((w.mask & -w.mask).bit_length() for w in group.webs if w.mask)


def _fit(webs: list[Web], row: list[int], pinned: bool) -> tuple[int, ...] | None:
    """Components for the webs of a group in a register, or None."""
    if pinned:
        options = [tuple(range(start, start + len(webs))) for start in range(0, 5 - len(webs), 2)]
        return next((o for o in options if all(not row[c] & w.mask for c, w in zip(o, webs, strict=True))), None)
    taken: list[int] = []
    return tuple(taken) if _match(webs, 0, row, taken) else None


def _match(webs: list[Web], at: int, row: list[int], taken: list[int]) -> bool:
    """Find components for ``webs[at:]`` that are not in ``taken``; ascending ones first."""
    if at == len(webs):
        return True
    mask = webs[at].mask
    for component in range(4):
        if component not in taken and not row[component] & mask:
            taken.append(component)
            if _match(webs, at + 1, row, taken):
                return True
            taken.pop()
    return False
