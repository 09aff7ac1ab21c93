"""Which type becomes which: implicit and explicit conversions, common types, costs for overload resolution.

Pure functions of types.  Models what fxc accepts: scalars spread to any shape, vectors and matrices may lose
components (with a warning where implicit), nothing gains components.
"""

from __future__ import annotations

from .types import MIN_PRECISION, Array, Numeric, Object, Struct, Type, lane_count, matrix, scalar, vector

__all__ = ["IMPOSSIBLE", "common_base", "common_shape", "conversion_cost", "explicit_allowed", "truncates"]

IMPOSSIBLE = 1 << 20

_RANK = {
    "bool": 0, "min12int": 1, "min16int": 2, "min16uint": 3, "int": 4, "uint": 5, "min10float": 6, "min16float": 7,
    "half": 8, "float": 9, "double": 10,
}  # fmt: skip

TRUNCATION = 1 << 10
_SPREAD = 1 << 5


def common_base(a: Numeric, b: Numeric, literal_a: bool = False, literal_b: bool = False) -> str:
    """Base type that two operands of an operator compute in; an unsuffixed literal bends to the other side."""
    if literal_a != literal_b:
        bends, stays = (a, b) if literal_a else (b, a)
        if bends.base == stays.base:
            return stays.base
        if bends.kind == stays.kind or (bends.kind in "bi" and stays.kind != "b"):
            return stays.base
        if bends.kind == "f" and stays.kind == "d":
            return "double"
    higher = a if _RANK[a.base] >= _RANK[b.base] else b
    return higher.base


def common_shape(base: str, a: Numeric, b: Numeric) -> Numeric | None:
    """Type of an element-wise operator over shapes ``a`` and ``b``: the smaller one; None when they do not go together."""
    if a.count == 1 and a.shape != "matrix":
        return Numeric.of(base, b.shape, b.rows, b.columns, b.row_major) if b.shape != "scalar" else a.with_base(base)
    if b.count == 1 and b.shape != "matrix":
        return Numeric.of(base, a.shape, a.rows, a.columns, a.row_major)
    if a.shape == "matrix" and b.shape == "matrix":
        rows, columns = min(a.rows, b.rows), min(a.columns, b.columns)
        fits = (a.rows >= rows and a.columns >= columns) and (b.rows >= rows and b.columns >= columns)
        one_is_smaller = (a.rows, a.columns) == (rows, columns) or (b.rows, b.columns) == (rows, columns)
        return matrix(base, rows, columns, a.row_major) if fits and one_is_smaller else None
    if a.shape != "matrix" and b.shape != "matrix":
        return vector(base, min(a.count, b.count))
    m, v = (a, b) if a.shape == "matrix" else (b, a)
    if 1 in (m.rows, m.columns):
        return vector(base, min(m.count, v.count))
    if m.count == v.count:
        return vector(base, m.count)
    if m.count == 1:
        return scalar(base)
    return None


def truncates(source: Type, target: Type) -> bool:
    """Whether components get lost on the way."""
    return isinstance(source, Numeric) and isinstance(target, Numeric) and source.count > target.count


def _base_cost(source: Numeric, target: Numeric, literal: bool) -> int:
    if source.base == target.base:
        return 0
    if literal:
        if source.kind == target.kind or (source.kind == "i" and target.kind == "u"):
            return 1
        if source.kind == "f" and target.kind == "d":
            return 3
    if source.kind == target.kind:
        return 1 if _RANK[target.base] > _RANK[source.base] else 2
    if source.kind == "b" or target.kind == "b":
        return 4 if target.kind in "iu" else 6
    if source.kind in "iu":
        return 2 if target.kind in "iu" else 4
    if source.kind == "f" and target.kind == "d":
        return 3
    return 5 if target.kind == "f" else 8


def conversion_cost(source: Type, target: Type, literal: bool = False) -> int:
    """0 for the same type, more for worse conversions, :data:`IMPOSSIBLE` when there is no implicit one."""
    if source is target:
        return 0
    if isinstance(source, Numeric) and isinstance(target, Numeric):
        cost = _base_cost(source, target, literal)
        if source.shape == target.shape and source.rows == target.rows and source.columns == target.columns:
            return cost
        if source.count == 1 and source.shape != "matrix":
            return cost + (_SPREAD if target.count > 1 else 1)
        if target.count == 1:
            return cost + (1 if source.count == 1 else TRUNCATION)
        if source.shape == "matrix" and target.shape == "matrix":
            if source.rows >= target.rows and source.columns >= target.columns:
                return cost + TRUNCATION
            return IMPOSSIBLE
        if source.shape == "vector" and target.shape == "vector":
            return cost + TRUNCATION if source.count > target.count else IMPOSSIBLE
        m = source if source.shape == "matrix" else target
        if 1 in (m.rows, m.columns):
            return cost + (TRUNCATION if source.count > target.count else 1) if source.count >= target.count else IMPOSSIBLE
        return cost + 2 if source.count == target.count else IMPOSSIBLE
    if isinstance(source, Array) and isinstance(target, Array):
        return conversion_cost(source.element, target.element) if source.size == target.size and _same_memory(
            source.element, target.element
        ) else IMPOSSIBLE
    if isinstance(source, Object) and isinstance(target, Object):
        if source.same(target):
            return 0
        sampler = target.kind.family == source.kind.family == "sampler"
        return 1 if sampler and target.kind.name != "SamplerComparisonState" != source.kind.name else IMPOSSIBLE
    if isinstance(source, Struct) and isinstance(target, Struct):
        parent = source.base
        while parent is not None:
            if parent is target:
                return 1
            parent = parent.base
    return IMPOSSIBLE


def _same_memory(a: Type, b: Type) -> bool:
    if isinstance(a, Numeric) and isinstance(b, Numeric):
        return a.with_row_major(False) is b.with_row_major(False)
    return conversion_cost(a, b) == 0


def explicit_allowed(source: Type, target: Type) -> bool:
    """Whether a cast may do it: all implicit conversions, same-sized vector/matrix, flattening of aggregates."""
    if conversion_cost(source, target) < IMPOSSIBLE:
        return True
    if isinstance(source, Object) or isinstance(target, Object):
        return False
    if isinstance(source, Numeric) and isinstance(target, Numeric):
        return source.count == target.count
    if isinstance(source, Numeric) and source.count == 1:
        return lane_count(target) > 0
    have, want = lane_count(source), lane_count(target)
    return have >= want > 0


def is_min_precision(type_: Numeric) -> bool:
    return type_.base in MIN_PRECISION
