"""Composing DrawPrimitives2 command buffers: one method for each command, named as the command.

A buffer is written front to back; every method returns the buffer, so that commands can be chained, and ``bytes(buffer)`` is what
:meth:`~wddm.client.dp2.Dp2Context.draw_primitives2` takes. Structures have the layouts of :mod:`wddm.ddi.d3dhal`; floats given for
a state travel by their bits. Nothing is judged here: that is the driver's part.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from wddm.ddi import d3dhal
from wddm.ddi.d3dhal import D3DHAL_DP2OPERATION as OP
from wddm.ddi.d3dhal import D3DHAL_SETLIGHT, D3DHAL_STATESET, D3DISSUE

Rect = Sequence[int]


def dword(value: float) -> int:
    """A state's value as its DWORD: floats by their bits, integers as they are."""
    if isinstance(value, int | np.integer):
        return int(value) & 0xFFFF_FFFF
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def argb(red: float, green: float, blue: float, alpha: float = 1.0) -> int:
    """A D3DCOLOR of components in 0..1."""
    r, g, b, a = (min(255, max(0, round(255 * v))) for v in (red, green, blue, alpha))
    return a << 24 | r << 16 | g << 8 | b


class Dp2CommandBuffer:
    """A DP2 command buffer being written."""

    def __init__(self) -> None:
        self._data = bytearray()

    def __bytes__(self) -> bytes:
        return bytes(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def clear_commands(self) -> Self:
        """Begin anew."""
        self._data.clear()
        return self

    def command(self, op: int, count: int, *payload: bytes) -> Self:
        """Any command: its header with the count, then its payload as it is."""
        self._data += struct.pack("<BBH", op, 0, count)
        for part in payload:
            self._data += part
        return self

    def _records(self, op: OP, rows: Iterable[Sequence[Any]]) -> Self:
        """A command of structures in which all members are DWORDs; floats by their bits."""
        rows = list(rows)
        return self.command(op, len(rows), b"".join(struct.pack(f"<{len(r)}I", *map(dword, r)) for r in rows))

    def _structure(self, op: OP, dtype: np.dtype[Any], *rows: tuple[Any, ...], tail: bytes = b"") -> Self:
        return self.command(op, len(rows), np.array(list(rows), dtype).tobytes(), tail)

    def _align(self) -> None:
        self._data += bytes(-len(self._data) % 4)

    # ----- states ----------------------------------------------------------------------------------------------------------

    def render_states(self, states: Mapping[Any, float]) -> Self:
        """RENDERSTATE: {D3DRENDERSTATETYPE: value}."""
        return self._records(OP.RENDERSTATE, states.items())

    def render_state(self, state: int, value: float) -> Self:
        """RENDERSTATE of one state."""
        return self.render_states({state: value})

    def texture_stage_states(self, stage: int, states: Mapping[Any, float]) -> Self:
        """TEXTURESTAGESTATE: {D3DTEXTURESTAGESTATETYPE: value} of one stage."""
        rows = b"".join(struct.pack("<HHI", stage, int(code), dword(value)) for code, value in states.items())
        return self.command(OP.TEXTURESTAGESTATE, len(states), rows)

    def texture(self, stage: int, surface: int) -> Self:
        """The texture of a stage, 0 for none."""
        return self.texture_stage_states(stage, {d3dhal.D3DTEXTURESTAGESTATETYPE.TEXTUREMAP: surface})

    def viewport_info(self, x: int, y: int, width: int, height: int) -> Self:
        """VIEWPORTINFO."""
        return self._records(OP.VIEWPORTINFO, [(x, y, width, height)])

    def w_info(self, near: float, far: float) -> Self:
        """WINFO."""
        return self._records(OP.WINFO, [(float(near), float(far))])

    def z_range(self, low: float, high: float) -> Self:
        """ZRANGE."""
        return self._records(OP.ZRANGE, [(float(low), float(high))])

    def set_scissor_rect(self, left: int, top: int, right: int, bottom: int) -> Self:
        """SETSCISSORRECT."""
        return self._records(OP.SETSCISSORRECT, [(left, top, right, bottom)])

    def set_render_target(self, surface: int, depth: int = 0) -> Self:
        """SETRENDERTARGET."""
        return self._records(OP.SETRENDERTARGET, [(surface, depth)])

    def set_render_target2(self, index: int, surface: int) -> Self:
        """SETRENDERTARGET2."""
        return self._records(OP.SETRENDERTARGET2, [(index, surface)])

    def set_depth_stencil(self, surface: int) -> Self:
        """SETDEPTHSTENCIL."""
        return self._records(OP.SETDEPTHSTENCIL, [(surface,)])

    def set_clip_plane(self, index: int, plane: Sequence[float]) -> Self:
        """SETCLIPPLANE."""
        return self._structure(OP.SETCLIPPLANE, d3dhal.D3DHAL_DP2SETCLIPPLANE_DTYPE, (index, plane))

    def state_set(self, operation: int, handle: int = 0, type: int = 0) -> Self:
        """STATESET: D3DHAL_STATESET, the set, D3DSTATEBLOCKTYPE."""
        return self._records(OP.STATESET, [(operation, handle, type)])

    def begin_state_set(self, handle: int) -> Self:
        """What follows up to :meth:`end_state_set` is recorded."""
        return self.state_set(D3DHAL_STATESET.BEGIN, handle)

    def end_state_set(self) -> Self:
        """The recording ends."""
        return self.state_set(D3DHAL_STATESET.END)

    def execute_state_set(self, handle: int) -> Self:
        """Set what was recorded."""
        return self.state_set(D3DHAL_STATESET.EXECUTE, handle)

    # ----- transformation and lighting -------------------------------------------------------------------------------------

    def set_transform(self, type: int, matrix: npt.ArrayLike) -> Self:
        """SETTRANSFORM: rows of a matrix for row vectors."""
        return self._structure(OP.SETTRANSFORM, d3dhal.D3DHAL_DP2SETTRANSFORM_DTYPE, (type, np.asarray(matrix, np.float32)))

    def multiply_transform(self, type: int, matrix: npt.ArrayLike) -> Self:
        """MULTIPLYTRANSFORM."""
        return self._structure(
            OP.MULTIPLYTRANSFORM, d3dhal.D3DHAL_DP2MULTIPLYTRANSFORM_DTYPE, (type, np.asarray(matrix, np.float32))
        )

    def set_material(
        self,
        diffuse: Sequence[float] = (1, 1, 1, 1),
        ambient: Sequence[float] = (0, 0, 0, 0),
        specular: Sequence[float] = (0, 0, 0, 0),
        emissive: Sequence[float] = (0, 0, 0, 0),
        power: float = 0.0,
    ) -> Self:
        """SETMATERIAL."""
        return self._structure(OP.SETMATERIAL, d3dhal.D3DMATERIAL7_DTYPE, (diffuse, ambient, specular, emissive, power))

    def create_light(self, index: int) -> Self:
        """CREATELIGHT."""
        return self._records(OP.CREATELIGHT, [(index,)])

    def set_light(self, index: int, type: int, **members: Any) -> Self:
        """SETLIGHT with data; members of D3DLIGHT7 by name, the others 0 (Range and Attenuation0: no end, and 1)."""
        light = np.zeros((), d3dhal.D3DLIGHT7_DTYPE)
        light["Type"], light["Range"], light["Attenuation0"] = type, 3.0e38, 1.0
        for name, value in members.items():
            light[name] = value
        return self.command(OP.SETLIGHT, 1, struct.pack("<II", index, D3DHAL_SETLIGHT.DATA), light.tobytes())

    def enable_light(self, index: int, enable: bool = True) -> Self:
        """SETLIGHT that turns a light on or off."""
        return self._records(OP.SETLIGHT, [(index, D3DHAL_SETLIGHT.ENABLE if enable else D3DHAL_SETLIGHT.DISABLE)])

    # ----- primitives of the call's vertices -------------------------------------------------------------------------------

    def points(self, *runs: tuple[int, int]) -> Self:
        """POINTS: (first vertex, count) of each run."""
        return self.command(OP.POINTS, len(runs), b"".join(struct.pack("<HH", count, start) for start, count in runs))

    def _start(self, op: OP, start: int, count: int) -> Self:
        return self.command(op, count, struct.pack("<H", start))

    def line_list(self, start: int, count: int) -> Self:
        """LINELIST of ``count`` lines."""
        return self._start(OP.LINELIST, start, count)

    def line_strip(self, start: int, count: int) -> Self:
        """LINESTRIP of ``count`` lines."""
        return self._start(OP.LINESTRIP, start, count)

    def triangle_list(self, start: int, count: int) -> Self:
        """TRIANGLELIST of ``count`` triangles."""
        return self._start(OP.TRIANGLELIST, start, count)

    def triangle_strip(self, start: int, count: int) -> Self:
        """TRIANGLESTRIP of ``count`` triangles."""
        return self._start(OP.TRIANGLESTRIP, start, count)

    def triangle_fan(self, start: int, count: int) -> Self:
        """TRIANGLEFAN of ``count`` triangles."""
        return self._start(OP.TRIANGLEFAN, start, count)

    def _indexed(self, op: OP, count: int, indices: npt.ArrayLike, start: int | None) -> Self:
        words = np.asarray(indices).reshape(-1).astype("<u2").tobytes()
        return self.command(op, count, b"" if start is None else struct.pack("<H", start), words)

    def indexed_line_list(self, indices: Sequence[int], start: int | None = None) -> Self:
        """INDEXEDLINELIST, or INDEXEDLINELIST2 with a start vertex that is added to every index."""
        op = OP.INDEXEDLINELIST if start is None else OP.INDEXEDLINELIST2
        return self._indexed(op, len(indices) // 2, indices, start)

    def indexed_line_strip(self, indices: Sequence[int], start: int = 0) -> Self:
        """INDEXEDLINESTRIP."""
        return self._indexed(OP.INDEXEDLINESTRIP, len(indices) - 1, indices, start)

    def indexed_triangle_list(self, indices: Sequence[int], start: int = 0) -> Self:
        """INDEXEDTRIANGLELIST2."""
        return self._indexed(OP.INDEXEDTRIANGLELIST2, len(indices) // 3, indices, start)

    def indexed_triangle_list_edges(self, triangles: Sequence[tuple[int, int, int, int]]) -> Self:
        """INDEXEDTRIANGLELIST: three indices and D3DTRIFLAG for each triangle."""
        return self._indexed(OP.INDEXEDTRIANGLELIST, len(triangles), triangles, None)

    def indexed_triangle_strip(self, indices: Sequence[int], start: int = 0) -> Self:
        """INDEXEDTRIANGLESTRIP."""
        return self._indexed(OP.INDEXEDTRIANGLESTRIP, len(indices) - 2, indices, start)

    def indexed_triangle_fan(self, indices: Sequence[int], start: int = 0) -> Self:
        """INDEXEDTRIANGLEFAN."""
        return self._indexed(OP.INDEXEDTRIANGLEFAN, len(indices) - 2, indices, start)

    def triangle_fan_inline(self, count: int, vertices: bytes, edges: int = 0xFFFF_FFFF) -> Self:
        """TRIANGLEFAN_IMM of ``count`` triangles whose ``count`` + 2 vertices are in the buffer."""
        self.command(OP.TRIANGLEFAN_IMM, count, struct.pack("<I", edges))
        return self._inline(vertices)

    def line_list_inline(self, count: int, vertices: bytes) -> Self:
        """LINELIST_IMM of ``count`` lines."""
        self.command(OP.LINELIST_IMM, count)
        return self._inline(vertices)

    def _inline(self, vertices: bytes) -> Self:
        self._align()
        self._data += vertices
        self._align()
        return self

    # ----- streams and draws of DirectX 8 and 9 ----------------------------------------------------------------------------

    def set_stream_source(self, stream: int, buffer: int, stride: int, offset: int | None = None) -> Self:
        """SETSTREAMSOURCE, or SETSTREAMSOURCE2 with an offset."""
        if offset is None:
            return self._records(OP.SETSTREAMSOURCE, [(stream, buffer, stride)])
        return self._records(OP.SETSTREAMSOURCE2, [(stream, buffer, offset, stride)])

    def set_stream_source_um(self, stream: int, stride: int) -> Self:
        """SETSTREAMSOURCEUM: the call's vertices."""
        return self._records(OP.SETSTREAMSOURCEUM, [(stream, stride)])

    def set_stream_source_freq(self, stream: int, divider: int) -> Self:
        """SETSTREAMSOURCEFREQ."""
        return self._records(OP.SETSTREAMSOURCEFREQ, [(stream, divider)])

    def set_indices(self, buffer: int, stride: int = 2) -> Self:
        """SETINDICES."""
        return self._records(OP.SETINDICES, [(buffer, stride)])

    def draw_primitive(self, type: int, start: int, count: int) -> Self:
        """DRAWPRIMITIVE: D3DPRIMITIVETYPE, first vertex, primitives."""
        return self._records(OP.DRAWPRIMITIVE, [(type, start, count)])

    def draw_primitive2(self, type: int, byte: int, count: int) -> Self:
        """DRAWPRIMITIVE2: the first vertex by its byte."""
        return self._records(OP.DRAWPRIMITIVE2, [(type, byte, count)])

    def draw_indexed_primitive(self, type: int, base: int, low: int, vertices: int, start: int, count: int) -> Self:
        """DRAWINDEXEDPRIMITIVE: base vertex, lowest index, vertices in use, first index, primitives."""
        return self._records(OP.DRAWINDEXEDPRIMITIVE, [(type, base, low, vertices, start, count)])

    def draw_indexed_primitive2(self, type: int, base: int, low: int, vertices: int, byte: int, count: int) -> Self:
        """DRAWINDEXEDPRIMITIVE2: base vertex and first index by their bytes."""
        return self._records(OP.DRAWINDEXEDPRIMITIVE2, [(type, base, low, vertices, byte, count)])

    def clipped_triangle_fan(self, byte: int, edges: int, count: int) -> Self:
        """CLIPPEDTRIANGLEFAN."""
        return self._records(OP.CLIPPEDTRIANGLEFAN, [(byte, edges, count)])

    def _patch(self, op: OP, handle: int, info: Sequence[int] | None, segments: Sequence[float] | None) -> Self:
        flags = d3dhal.RTPATCHFLAG.NONE
        flags |= d3dhal.RTPATCHFLAG.HASSEGS if segments is not None else 0
        flags |= d3dhal.RTPATCHFLAG.HASINFO if info is not None else 0
        parts = [struct.pack(f"<{len(segments)}f", *segments)] if segments is not None else []
        parts += [struct.pack(f"<{len(info)}I", *info)] if info is not None else []
        return self.command(op, 1, struct.pack("<II", handle, flags), *parts)

    def draw_rect_patch(
        self, handle: int = 0, info: Sequence[int] | None = None, segments: Sequence[float] | None = None
    ) -> Self:
        """DRAWRECTPATCH: info = first column, first row, width, height, stride, D3DBASISTYPE, D3DDEGREETYPE; four segments."""
        return self._patch(OP.DRAWRECTPATCH, handle, info, segments)

    def draw_tri_patch(
        self, handle: int = 0, info: Sequence[int] | None = None, segments: Sequence[float] | None = None
    ) -> Self:
        """DRAWTRIPATCH: info = first vertex, vertices, D3DBASISTYPE, D3DDEGREETYPE; three segments."""
        return self._patch(OP.DRAWTRIPATCH, handle, info, segments)

    # ----- shaders ---------------------------------------------------------------------------------------------------------

    def create_vertex_shader(self, handle: int, declaration: bytes, code: bytes = b"") -> Self:
        """CREATEVERTEXSHADER: a DirectX 8 declaration with or without code."""
        return self.command(OP.CREATEVERTEXSHADER, 1, struct.pack("<III", handle, len(declaration), len(code)), declaration, code)

    def set_vertex_shader(self, handle: int) -> Self:
        """SETVERTEXSHADER: a handle, or an FVF for the fixed function."""
        return self._records(OP.SETVERTEXSHADER, [(handle,)])

    def delete_vertex_shader(self, handle: int) -> Self:
        """DELETEVERTEXSHADER."""
        return self._records(OP.DELETEVERTEXSHADER, [(handle,)])

    def create_vertex_shader_decl(self, handle: int, elements: Sequence[tuple[int, int, int, int, int, int]]) -> Self:
        """CREATEVERTEXSHADERDECL: (stream, offset, type, method, usage, usage index) of each element."""
        rows = np.array(list(elements), d3dhal.D3DVERTEXELEMENT9_DTYPE).tobytes()
        return self.command(OP.CREATEVERTEXSHADERDECL, 1, struct.pack("<II", handle, len(elements)), rows)

    def set_vertex_shader_decl(self, handle: int) -> Self:
        """SETVERTEXSHADERDECL: a handle (odd), or an FVF."""
        return self._records(OP.SETVERTEXSHADERDECL, [(handle,)])

    def create_vertex_shader_func(self, handle: int, code: bytes) -> Self:
        """CREATEVERTEXSHADERFUNC."""
        return self.command(OP.CREATEVERTEXSHADERFUNC, 1, struct.pack("<II", handle, len(code)), code)

    def set_vertex_shader_func(self, handle: int) -> Self:
        """SETVERTEXSHADERFUNC, 0 for the fixed function."""
        return self._records(OP.SETVERTEXSHADERFUNC, [(handle,)])

    def create_pixel_shader(self, handle: int, code: bytes) -> Self:
        """CREATEPIXELSHADER."""
        return self.command(OP.CREATEPIXELSHADER, 1, struct.pack("<II", handle, len(code)), code)

    def set_pixel_shader(self, handle: int) -> Self:
        """SETPIXELSHADER, 0 for the fixed function."""
        return self._records(OP.SETPIXELSHADER, [(handle,)])

    def _constants(self, op: OP, register: int, values: npt.ArrayLike, dtype: str, width: int) -> Self:
        data = np.asarray(values).astype(dtype).reshape(-1)
        return self.command(op, 1, struct.pack("<II", register, len(data) // width), data.tobytes())

    def set_vertex_shader_const(self, register: int, values: npt.ArrayLike) -> Self:
        """SETVERTEXSHADERCONST: four floats for each register."""
        return self._constants(OP.SETVERTEXSHADERCONST, register, values, "<f4", 4)

    def set_pixel_shader_const(self, register: int, values: npt.ArrayLike) -> Self:
        """SETPIXELSHADERCONST."""
        return self._constants(OP.SETPIXELSHADERCONST, register, values, "<f4", 4)

    def set_vertex_shader_const_i(self, register: int, values: npt.ArrayLike) -> Self:
        """SETVERTEXSHADERCONSTI: four integers for each register."""
        return self._constants(OP.SETVERTEXSHADERCONSTI, register, values, "<i4", 4)

    def set_vertex_shader_const_b(self, register: int, values: npt.ArrayLike) -> Self:
        """SETVERTEXSHADERCONSTB."""
        return self._constants(OP.SETVERTEXSHADERCONSTB, register, values, "<u4", 1)

    # ----- memory ----------------------------------------------------------------------------------------------------------

    def clear(
        self, flags: int, color: int = 0, depth: float = 1.0, stencil: int = 0, rects: Sequence[Rect] = ()
    ) -> Self:
        """CLEAR: D3DCLEAR, an ARGB colour; without rectangles the whole viewport (with COMPUTERECTS)."""
        first, rest = (tuple(rects[0]), rects[1:]) if rects else ((0, 0, 0, 0), ())
        if not rects:
            flags |= d3dhal.D3DCLEAR.COMPUTERECTS
        head = struct.pack("<IIfI4i", flags, color, depth, stencil, *first)
        return self.command(OP.CLEAR, len(rects), head, *(struct.pack("<4i", *r) for r in rest))

    def tex_blt(self, target: int, source: int, at: tuple[int, int], rect: Rect, flags: int = 0) -> Self:
        """TEXBLT."""
        return self.command(OP.TEXBLT, 1, struct.pack("<IIii4iI", target, source, *at, *rect, flags))

    def volume_blt(self, target: int, source: int, at: tuple[int, int, int], box: Sequence[int]) -> Self:
        """VOLUMEBLT: box = left, top, right, bottom, front, back."""
        return self.command(OP.VOLUMEBLT, 1, struct.pack("<12I", target, source, *at, *box, 0))

    def buffer_blt(self, target: int, source: int, at: int, first: int, size: int) -> Self:
        """BUFFERBLT."""
        return self._records(OP.BUFFERBLT, [(target, source, at, first, size, 0)])

    def blt(
        self, target: int, rect: Rect, source: int, source_rect: Rect, *, mip: int = 0, source_mip: int = 0, flags: int = 0,
    ) -> Self:  # fmt: skip
        """BLT."""
        row = struct.pack("<I4iII4iII", source, *source_rect, source_mip, target, *rect, mip, flags)
        return self.command(OP.BLT, 1, row)

    def color_fill(self, surface: int, rect: Rect, color: int) -> Self:
        """COLORFILL."""
        return self.command(OP.COLORFILL, 1, struct.pack("<I4iI", surface, *rect, color))

    def generate_mip_sub_levels(self, surface: int, filter: int = 2) -> Self:
        """GENERATEMIPSUBLEVELS."""
        return self._records(OP.GENERATEMIPSUBLEVELS, [(surface, filter)])

    def set_palette(self, palette: int, surface: int, *, alpha: bool = False) -> Self:
        """SETPALETTE: the surface's texels are indices from now on; palette 0 detaches."""
        return self._records(OP.SETPALETTE, [(palette, d3dhal.DDRAWIPAL_ALPHA if alpha else 0, surface)])

    def update_palette(self, palette: int, entries: Sequence[int], start: int = 0) -> Self:
        """UPDATEPALETTE: ARGB entries."""
        data = np.asarray(entries).astype("<u4").tobytes()
        return self.command(OP.UPDATEPALETTE, 1, struct.pack("<IHH", palette, start, len(entries)), data)

    # ----- queries ---------------------------------------------------------------------------------------------------------

    def create_query(self, query: int, type: int) -> Self:
        """CREATEQUERY: D3DQUERYTYPE."""
        return self._records(OP.CREATEQUERY, [(query, type)])

    def delete_query(self, query: int) -> Self:
        """DELETEQUERY."""
        return self._records(OP.DELETEQUERY, [(query,)])

    def begin_query(self, query: int) -> Self:
        """ISSUEQUERY with D3DISSUE_BEGIN."""
        return self._records(OP.ISSUEQUERY, [(query, D3DISSUE.BEGIN)])

    def end_query(self, query: int) -> Self:
        """ISSUEQUERY with D3DISSUE_END."""
        return self._records(OP.ISSUEQUERY, [(query, D3DISSUE.END)])
