"""Values from one type to another."""

from __future__ import annotations

from wddm.hlsl.ir.builder import Builder
from wddm.hlsl.ir.nodes import ONE, ZERO, Vec, imm
from wddm.hlsl.types import Array, Numeric, Struct, Type, lane_count

__all__ = ["change_base", "convert", "reshape"]

_DIRECT = {
    ("i", "f"): "itof", ("u", "f"): "utof", ("f", "i"): "ftoi", ("f", "u"): "ftou",
    ("f", "d"): "ftod", ("i", "d"): "itod", ("u", "d"): "utod",
    ("d", "f"): "dtof", ("d", "i"): "dtoi", ("d", "u"): "dtou",
}  # fmt: skip


def change_base(b: Builder, lanes: Vec, source: str, target: str) -> Vec:
    """Lanes of kind ``source`` (one of b i u f d) as kind ``target``."""
    if source == target or {source, target} == {"i", "u"}:
        return lanes
    if target == "b":
        if source == "d":
            return b.double("dne", lanes, (ZERO, ZERO))
        return b.op("ne" if source == "f" else "ine", lanes, (ZERO,))
    if source == "b":
        if target == "f":
            return b.op("and", lanes, (ONE,))
        if target == "d":
            return b.double("ftod", b.op("and", lanes, (ONE,)))
        return b.op("and", lanes, (imm(1),))
    op = _DIRECT[source, target]
    if "d" in (source, target):
        return b.double(op, lanes)
    return b.op(op, lanes)


def reshape(lanes: Vec, source: Numeric, target: Numeric) -> Vec:
    """Spread or cut components; the base stays."""
    unit = 2 if source.kind == "d" else 1
    if source.count == target.count:
        return lanes
    if source.count == 1:
        return lanes * target.count
    if source.shape == "matrix" and target.shape == "matrix":
        out: list[int] = []
        for row in range(target.rows):
            start = row * source.columns * unit
            out += range(start, start + target.columns * unit)
        return tuple(lanes[i] for i in out)
    return lanes[: target.count * unit]


def convert(b: Builder, lanes: Vec, source: Type, target: Type) -> Vec:
    """``lanes`` of type ``source`` as ``target``; the analysis has made sure that it can be done."""
    if source is target:
        return lanes
    if isinstance(source, Numeric) and isinstance(target, Numeric):
        return change_base(b, reshape(lanes, source, target), source.kind, target.kind)
    if isinstance(source, Numeric) and source.count == 1:
        parts: list[Vec] = []
        for leaf in leaves(target):
            parts.append(convert(b, lanes, source, leaf))
        return tuple(v for part in parts for v in part)
    have = [leaf.kind for leaf in leaves(source) for _ in range(leaf.count)]
    want = [leaf.kind for leaf in leaves(target) for _ in range(leaf.count)]
    if have[: len(want)] == want:
        return lanes[: lane_count(target)]
    out: list[Vec] = []
    at = 0
    for a, c in zip(have, want, strict=False):
        width = 2 if a == "d" else 1
        out.append(change_base(b, lanes[at : at + width], a, c))
        at += width
    return tuple(v for part in out for v in part)


def leaves(type_: Type) -> list[Numeric]:
    """Numeric parts of a type in order."""
    if isinstance(type_, Numeric):
        return [type_]
    if isinstance(type_, Array):
        return leaves(type_.element) * type_.size
    if isinstance(type_, Struct):
        return [leaf for member in type_.fields for leaf in leaves(member.type)]
    return []
