"""Cube maps: from directions to faces, and texels beyond an edge to the neighbour they belong to."""

from __future__ import annotations

from typing import Final

from .builder import I32, Function, Value

#: For each face +x -x +y -y +z -z: axis and sign of s, t and the major axis.
_S: Final = ((2, -1), (2, 1), (0, 1), (0, 1), (0, 1), (0, -1))
_T: Final = ((1, -1), (1, -1), (2, 1), (2, -1), (1, -1), (1, -1))
_M: Final = ((0, 1), (0, -1), (1, 1), (1, -1), (2, 1), (2, -1))


def _choose(f: Function, face: Value, rows: list[Value], table: tuple[tuple[int, int], ...]) -> Value:
    """The coordinate that ``table`` names for each lane's face."""
    result = rows[table[0][0]] * float(table[0][1])
    for number in range(1, 6):
        axis, sign = table[number]
        result = face.eq(number).select(rows[axis] if sign > 0 else -rows[axis], result)
    return result


def face_of(f: Function, rows: list[Value]) -> Value:
    """Which face a direction hits. Ties: z before y before x."""
    x, y, z = rows
    ax, ay, az = f.abs(x), f.abs(y), f.abs(z)
    on_z = (az >= ax) & (az >= ay)
    on_y = ay >= ax
    zero = f.value(0, I32.vector(x.type.lanes))

    def sided(v: Value, base: int) -> Value:
        return (v < 0.0).select(base + 1, zero + base)

    return on_z.select(sided(z, 4), on_y.select(sided(y, 2), sided(x, 0)))


def project(f: Function, rows: list[Value], derivatives: list[list[Value]]) -> tuple[Value, list[Value], list[list[Value]]]:
    """Face, coordinates 0..1 on it, and the derivatives of those."""
    face = face_of(f, rows)
    s, t, m = (_choose(f, face, rows, table) for table in (_S, _T, _M))
    m = (m > 0.0).select(m, 1.0)
    slopes = []
    for d in derivatives:
        ds, dt, dm = (_choose(f, face, d, table) for table in (_S, _T, _M))
        scale = 0.5 / (m * m)
        slopes.append([(ds * m - s * dm) * scale, (dt * m - t * dm) * scale])
    return face, [(s / m + 1.0) * 0.5, (t / m + 1.0) * 0.5], slopes


def fold(f: Function, face: Value, i: Value, j: Value, size: Value) -> tuple[Value, Value, Value]:
    """Texels beyond a face's edge, on the neighbour they belong to: ``(face, i, j)``. A corner takes one of its neighbours."""
    lanes = face.type.lanes
    size = size if size.type.lanes else f.splat(size, lanes)
    last = size - 1
    i_out = (i < 0) | (i > last)
    j = i_out.select(f.min(f.max(j, 0), last), j)
    outside = i_out | (j < 0) | (j > last)
    out_face, out_i, out_j = f.var(face.type, face), f.var(i.type, i), f.var(j.type, j)
    with f.if_(f.any(outside)):
        scale = 1.0 / size.to_float()
        s = f.fma((i * 2 + 1).to_float(), scale, -1.0)
        t = f.fma((j * 2 + 1).to_float(), scale, -1.0)
        depth = 1.0 - scale
        on_s, on_t = f.abs(s) > 1.0, f.abs(t) > 1.0
        clipped_s, clipped_t = f.max(f.min(s, 1.0), -1.0), f.max(f.min(t, 1.0), -1.0)
        direction: list[Value] = []
        for axis in range(3):
            value: Value = f.value(0.0, s.type)
            for number in range(6):
                for source, table in ((clipped_s, _S), (clipped_t, _T), (depth, _M)):
                    if table[number][0] == axis:
                        value = face.eq(number).select(source * float(table[number][1]), value)
            direction.append(value)
        new: Value = f.value(0, face.type)
        for number in range(6):
            for condition, table in ((on_t & ~on_s, _T), (on_s, _S)):
                axis = table[number][0]
                hit = face.eq(number) & condition
                new = hit.select((direction[axis] < 0.0).select(2 * axis + 1, f.value(2 * axis, face.type)), new)
        half = size.to_float() * 0.5

        def texel(table: tuple[tuple[int, int], ...]) -> Value:
            x = (_choose(f, new, direction, table) + 1.0) * half
            return f.min(f.max(f.floor(x).to_int(), 0), last)

        out_face.set(outside.select(new, face))
        out_i.set(outside.select(texel(_S), i))
        out_j.set(outside.select(texel(_T), j))
    return out_face.get(), out_i.get(), out_j.get()
