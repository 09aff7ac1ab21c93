"""The records that Python fills and generated code reads: one place for their layout.

Offsets are bytes. All pointers are host addresses that were checked against the extent of what they name before they got here.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np

#: A buffer or texture as a shader sees it. For buffers ``size`` is bytes (raw, structured) or elements (typed).
RESOURCE: Final = np.dtype(
    [
        ("base", "<u8"),
        ("counter", "<u8"),  # host address of the UAV counter, or of a word nobody reads
        ("size", "<u4"),
        ("width", "<u4"),
        ("height", "<u4"),
        ("depth", "<u4"),
        ("slices", "<u4"),  # seen by the view
        ("first_slice", "<u4"),
        ("slice_pitch", "<u4"),
        ("mips", "<u4"),  # seen by the view
        ("first_mip", "<u4"),
        ("samples", "<u4"),
        ("sample_pitch", "<u4"),
        ("min_lod", "<f4"),
        ("stride", "<u4"),
        ("count", "<u4"),  # structured: elements
        ("skew", "<u4"),  # typed buffers of small elements: bytes from base, a multiple of four, to the first element
        ("reserved", "<u4"),
        ("mip_offset", "<u4", (16,)),  # indexed by the mip of the resource
        ("row_pitch", "<u4", (16,)),
        ("depth_pitch", "<u4", (16,)),
    ]
)
SAMPLER: Final = np.dtype(
    [
        ("lod_bias", "<f4"),
        ("min_lod", "<f4"),
        ("max_lod", "<f4"),
        ("reserved", "<u4"),
        ("border", "<f4", (4,)),
    ]
)


def offset(dtype: np.dtype[np.void], name: str) -> int:
    """Byte offset of a field."""
    fields = dtype.fields
    assert fields is not None
    return int(fields[name][1])


#: A vertex buffer as the fetch sees it.
VERTEX_BUFFER: Final = np.dtype([("base", "<u8"), ("size", "<u4"), ("stride", "<u4")])

#: A stream-output buffer, and the word that counts its bytes (0: no buffer).
STREAM_BUFFER: Final = np.dtype([("base", "<u8"), ("filled", "<u8"), ("size", "<u4"), ("reserved", "<u4")])

#: A viewport, and the rectangle of pixels that may be drawn (inclusive).
VIEWPORT: Final = np.dtype(
    [
        ("x", "<f8"),
        ("y", "<f8"),
        ("width", "<f8"),
        ("height", "<f8"),
        ("near", "<f8"),
        ("far", "<f8"),
        ("left", "<i4"),
        ("top", "<i4"),
        ("right", "<i4"),
        ("bottom", "<i4"),
    ]
)

#: What changes with nearly every draw call; the head of FRONT, packed by one struct. ``instance`` and ``primitive`` say where
#: to go on after the bins were emptied.
FRONT_HEAD: Final = np.dtype(
    [
        ("vertex_block", "<u8"),
        ("draw", "<u8"),  # DRAW record
        ("index_buffer", "<u8"),
        ("index_count", "<u4"),  # indices that the buffer holds
        ("start", "<u4"),  # first index
        ("count", "<u4"),  # vertices or indices per instance
        ("primitives", "<u4"),  # per instance
        ("add", "<u4"),  # what a vertex number gets added when it is fetched
        ("instances", "<u4"),
        ("start_instance", "<u4"),
        ("instance", "<u4"),
        ("primitive", "<u4"),
        ("run", "<u4"),  # indexed strips: where the current strip begins
        ("primitive_id", "<u4"),
        ("rasterize", "<u4"),
    ]
)
FRONT_HEAD_FORMAT: Final = "<3Q12I"
FRONT: Final = np.dtype(
    [
        *[(name, FRONT_HEAD[name]) for name in FRONT_HEAD.names or ()],
        ("vertex_function", "<u8"),
        ("next_function", "<u8"),  # what whole primitives go to, when that is not the rasterizer
        ("tessellator_function", "<u8"),
        ("domain_function", "<u8"),
        ("geometry_function", "<u8"),  # behind the domain stage
        ("sink_function", "<u8"),  # the rasterizer, for the stages in between
        ("stream_output_function", "<u8"),  # 0: none
        ("hull_block", "<u8"),  # bindings
        ("domain_block", "<u8"),
        ("geometry_block", "<u8"),
        ("pass", "<u8"),  # PASS record
        ("stop", "<u8"),
        ("scratch", "<u8"),  # vertex store and lists
        ("cull", "<u4"),  # bit 0: drop clockwise on screen, bit 1: drop counter-clockwise
        ("front_ccw", "<u4"),
        ("clip", "<u4"),  # mask of clip planes that are tested
        ("bias", "<f4"),  # depth bias, in depth units
        ("bias_slope", "<f4"),
        ("bias_clamp", "<f4"),
        ("bias_float", "<u4"),  # depth is floating point: the unit depends on the primitive's largest depth
        ("viewport_count", "<u4"),
        ("components", "<u4"),  # per vertex in the store
        ("record_bytes", "<u4"),  # of a triangle record, a multiple of 16
        ("multisampled", "<u4"),
        ("plane_count", "<u4"),
        ("batch", "<u4"),  # whole primitives at a time
        ("many_viewports", "<u4"),  # vertices choose theirs
        ("clip_components", "<u4", (8,)),  # of the clip distances, 0 = none
        ("ia_vertices", "<u8"),  # statistics
        ("vs_invocations", "<u8"),
        ("ia_primitives", "<u8"),
        ("clipper_invocations", "<u8"),
        ("clipper_primitives", "<u8"),
        ("hs_invocations", "<u8"),
        ("ds_invocations", "<u8"),
        ("gs_invocations", "<u8"),
        ("gs_primitives", "<u8"),
        *[(f"so_needed{stream}", "<u8") for stream in range(4)],
        *[(f"so_written{stream}", "<u8") for stream in range(4)],
        ("stream_buffers", STREAM_BUFFER, (4,)),
        ("buffers", VERTEX_BUFFER, (32,)),
        ("viewports", VIEWPORT, (16,)),
        ("planes", "<u4", (128, 2)),  # component (0xFFFFFFFF: zero), mode
    ]
)

#: What outlives the draw call until its tiles are done.
DRAW: Final = np.dtype(
    [
        ("pixel_function", "<u8"),
        ("merger_function", "<u8"),
        ("pixel_block", "<u8"),
        ("counters", "<u8"),  # pointer to per-thread counters (u64, 64 bytes apart)
        ("depth_ranges", "<u8"),  # pointer to smallest and largest depth (floats) per viewport
        ("sample_mask", "<u4"),
        ("stencil_reference", "<u4"),
        ("blend_factor", "<f4", (4,)),
    ]
)
DRAW_FORMAT: Final = "<5Q2I4I"

#: A render target or depth buffer of a pass.
SURFACE: Final = np.dtype(
    [("base", "<u8"), ("row_pitch", "<u4"), ("sample_pitch", "<u4"), ("slice_pitch", "<u4"), ("slices", "<u4")]
)

#: The surfaces drawn to, the bins and the arena. One per context.
PASS: Final = np.dtype(
    [
        ("targets", SURFACE, (8,)),
        ("depth", SURFACE),
        ("width", "<i4"),
        ("height", "<i4"),
        ("tiles_x", "<i4"),
        ("tiles_y", "<i4"),
        ("next_tile", "<u4"),
        ("layers", "<u4"),  # array slices that all surfaces have
        ("cursors", "<u8"),  # per tile: index of the next free entry
        ("chunks", "<u8"),  # u32 entries in chunks of 16, the last the index of the next chunk
        ("chunk_next", "<u4"),  # first chunk not in use
        ("chunk_limit", "<u4"),
        ("arena", "<u8"),  # triangles and draws
        ("arena_next", "<u4"),  # bytes in use
        ("arena_limit", "<u4"),
        ("stop", "<u8"),
        ("thread_scratch", "<u8"),  # per thread: pointer to scratch
        ("raster", "<u8"),  # the function that empties the bins
        ("triangles", "<u8"),  # binned since the last raster: how much work there is
        ("entries", "<u8"),
    ]
)

TILE: Final = 64
CHUNK: Final = 16  #: entries of a bin chunk, one of them the link


class Shape(IntEnum):
    """How a record says which pixels its primitive covers."""

    TRIANGLE = 0  #: three edges
    QUAD = 1  #: four edges of a parallelogram
    LINE = 2  #: two ends, diamond-exit rule
    WIREFRAME = 3  #: three corners, lines between them
    SMOOTH = 4  #: four edges; alpha is multiplied by how much of a pixel is covered


#: Head of a primitive's record: u32/f32 words by name. Planes (value at the origin, d/dx, d/dy) follow from TRIANGLE_PLANES on.
TRIANGLE: Final = {
    "draw": 0,  # u64
    "flags": 2,  # 1 = front facing; bits 1..3 edges of a wireframe that are not drawn; bits 8.. render target slice, 24.. viewport
    "primitive": 3,
    "a": 4,  # edge i: a * x + b * y + c >= 0, in 1/256 pixel
    "b": 7,
    "c": 10,  # three i64
    "left": 16,
    "top": 17,
    "right": 18,
    "bottom": 19,
    "x": 20,  # origin of the planes, pixels
    "y": 21,
    "z": 22,  # plane of f64
    "w": 28,  # plane of 1/w
}
TRIANGLE_PLANES: Final = 31
#: In place of a triangle's edges: those of a parallelogram, whose a and b are negative for edges 2 and 3 ...
QUAD: Final = {"a": 4, "b": 6, "c": 8}
#: ... and the corners of lines, in 1/256 pixel.
LINE: Final = {"x": 4, "y": 7}
#: Edge k of a wireframe (from corner k to the next, clockwise) is left out where this bit + k of the flags is set.
HIDDEN_SHIFT: Final = 1
#: Modes of planes.
CONSTANT, LINEAR, PERSPECTIVE = 0, 1, 2
