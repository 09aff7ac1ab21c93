"""Ring entries and command packets: the fixed-size records that the command processor executes.

A *ring entry* (64 bytes) names a DMA buffer by its bus address, the hardware context it belongs to and the fence id to
report. A DMA buffer is an array of *packets* (64 bytes each)::

    byte  0  u16 op          Op
          2  u16 slot        stage << 8 | slot for bindings; otherwise as the op says
          4  u32 extent      bytes that may be touched from ``address``
          8  u64 address     physical address, 0 = nothing bound. Patched, never written by user mode
         16  u32 extent2     the same for ``address2``
         20  u32 arg
         24  u64 address2
         32  u32 data[8]     as the op says; floats by their bits

Because records are fixed-size, a command buffer is a numpy array of :data:`PACKET`: the driver appends rows, the miniport
validates and the kernel patches whole columns. ``PACKETS[op]`` tells what each op does with its addresses.

State: a buffer submitted without ``RingFlag.CONTINUE`` starts with nothing bound and the default state of Direct3D (solid fill,
back-face culling, depth clip, depth test LESS with writes but no depth buffer, no blending, write mask 15, sample mask all
ones, blend factors 1, no viewport: nothing is drawn without one); with it, it goes on with the state its context had. State
never outlives a context.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Final

import numpy as np

PACKET: Final = np.dtype(
    [
        ("op", "<u2"),
        ("slot", "<u2"),
        ("extent", "<u4"),
        ("address", "<u8"),
        ("extent2", "<u4"),
        ("arg", "<u4"),
        ("address2", "<u8"),
        ("data", "<u4", (8,)),
    ]
)
PACKET_SIZE: Final = 64
ADDRESS_OFFSET: Final = 8  #: byte offset of ``address`` in a packet: one of the two places that may be patched
ADDRESS2_OFFSET: Final = 24
assert PACKET.itemsize == PACKET_SIZE

RING_ENTRY: Final = np.dtype(
    [
        ("op", "<u4"),  # RingOp
        ("flags", "<u4"),  # RingFlag
        ("fence", "<u4"),  # id written to FENCE_COMPLETED when the entry is done
        ("context", "<u4"),  # hardware context; 0 is the kernel's own
        ("address", "<u8"),  # bus address of the first packet
        ("size", "<u4"),  # bytes, multiple of PACKET_SIZE; 0 = fence only
        ("reserved", "<u4"),
        ("signal_address", "<u8"),  # bus address of a u64 that gets signal_value after the work is done; 0 = none
        ("signal_value", "<u8"),
        ("signal_address2", "<u8"),
        ("signal_value2", "<u8"),
    ]
)
RING_ENTRY_SIZE: Final = 64
assert RING_ENTRY.itemsize == RING_ENTRY_SIZE


class RingOp(IntEnum):
    """What a ring entry asks for."""

    SUBMIT = 1  #: run ``size`` bytes of packets, write the signals, report the fence
    CONTEXT_DESTROY = 2  #: forget the state of ``context``; report the fence


class RingFlag(IntFlag):
    """How."""

    PRIVILEGED = 1  #: packets may be privileged and may name bus addresses
    CONTINUE = 2  #: keep the context's pipeline state
    RESUME = 4  #: go on where a preemption stopped this context's buffer (ignored when nothing was saved)
    INTERRUPT = 8  #: raise FENCE when done
    NULL_RENDERING = 16  #: do not execute, only signal


class Stage(IntEnum):
    """Shader stages, as in the high byte of ``slot``."""

    VERTEX = 0
    HULL = 1
    DOMAIN = 2
    GEOMETRY = 3
    PIXEL = 4
    COMPUTE = 5


class Op(IntEnum):
    """Packet opcodes. 0x01-0x3F state, 0x40-0x5F work, 0x60-0x7F memory, 0x80- privileged."""

    NOP = 0x00
    # --- state -------------------------------------------------------------------------------------------------------
    SET_SHADER = 0x01  #: slot = stage << 8. address/extent: an isa.py program; 0 unbinds
    SET_CONSTANT_BUFFER = 0x02  #: slot = stage << 8 | 0..14. address/extent; data[0] bytes bound (reads beyond give 0)
    SET_RESOURCE = 0x03  #: slot = stage << 8 | 0..127. A view descriptor (descriptors.py) in data
    SET_SAMPLER = 0x04  #: slot = stage << 8 | 0..15. A sampler descriptor in data
    SET_UAV = 0x05  #: slot = stage << 8 | 0..7 (PIXEL: output merger, COMPUTE). View descriptor; address2: u32 counter
    SET_VERTEX_BUFFER = 0x06  #: slot 0..31. address/extent; data[0] stride
    SET_INDEX_BUFFER = 0x07  #: address/extent; data[0] Format R16_UINT or R32_UINT
    SET_INPUT_LAYOUT = 0x08  #: slot = first element; arg = total elements; data: up to 4 elements of 2 dwords
    SET_TOPOLOGY = 0x09  #: arg: Topology
    SET_STREAM_OUTPUT = 0x0A  #: slot 0..3. address/extent: target; address2: u32 fill counter in bytes; arg 1: reset to data[0]
    SET_RENDER_TARGET = 0x0B  #: slot 0..7. View descriptor; arg = number of targets bound in all
    SET_DEPTH_STENCIL = 0x0C  #: View descriptor (mips = 1); arg bit 0 depth read-only, bit 1 stencil read-only
    SET_BLEND = 0x0D  #: data[0..7]: packed blend per target; arg: BlendFlag | logic op << 8
    SET_BLEND_FACTOR = 0x0E  #: data[0..3] floats; data[4] sample mask
    SET_DEPTH_STENCIL_STATE = 0x0F  #: data[0] packed depth, data[1] front, data[2] back stencil, data[3] reference
    SET_RASTERIZER = 0x10  #: data[0] RasterizerFlag/packed, data[1] depth bias (i32), data[2] clamp, data[3] slope (floats)
    SET_VIEWPORT = 0x11  #: slot 0..15; arg = count; data: x, y, width, height, min depth, max depth (floats)
    SET_SCISSOR = 0x12  #: slot 0..15; arg = count; data: left, top, right, bottom (i32)
    SET_PREDICATION = 0x13  #: address/extent: query result (u64); arg: value that lets work pass | 2; address 0 = off
    SET_SURFACE = 0x14  #: slot 0 = destination, 1 = source of the copies and clears below. View descriptor
    # --- work --------------------------------------------------------------------------------------------------------
    DRAW = 0x40  #: data: vertex count, instance count, start vertex, start instance
    DRAW_INDEXED = 0x41  #: data: index count, instance count, start index, base vertex (i32), start instance
    DRAW_INDIRECT = 0x42  #: address/extent: the four dwords of DRAW
    DRAW_INDEXED_INDIRECT = 0x43  #: address/extent: the five dwords of DRAW_INDEXED
    DRAW_AUTO = 0x44  #: address/extent: u32 bytes filled by stream output into vertex buffer 0; arg: vertex offset bytes
    DISPATCH = 0x45  #: data: groups x, y, z
    DISPATCH_INDIRECT = 0x46  #: address/extent: three dwords
    # --- memory ------------------------------------------------------------------------------------------------------
    CLEAR_COLOR = 0x60  #: surface 0; data[0..3] values; arg: ClearKind; data[4..7] rectangle when arg bit 8 is set
    CLEAR_DEPTH_STENCIL = 0x61  #: surface 0; arg bit 0 depth, bit 1 stencil; data[0] depth float, data[1] stencil
    COPY_BUFFER = 0x62  #: extent bytes from address2 to address (extent2 >= extent). The ranges may not overlap
    FILL_BUFFER = 0x63  #: extent bytes at address get data[0] (multiple of 4)
    COPY_REGION = 0x64  #: surface 1 box to surface 0; data as CopyRegion; same element size
    RESOLVE = 0x65  #: surface 1 (multisampled) to surface 0; arg: Format to average in
    GENERATE_MIPS = 0x66  #: surface 0: each mip of the view from the one above (box filter)
    BLT = 0x67  #: surface 1 whole to surface 0 rectangle; data as Blt: convert, stretch (bilinear), rotate
    QUERY_BEGIN = 0x68  #: address/extent: a query block (queries.py layout); arg: QueryKind
    QUERY_END = 0x69  #: the same
    UPDATE_INLINE = 0x6A  #: extent (1..32) bytes of data to address: small buffer updates in stream order
    # --- privileged --------------------------------------------------------------------------------------------------
    MAP_APERTURE = 0x80  #: data[0] first aperture page, data[1] pages; address2: bus address
    UNMAP_APERTURE = 0x81  #: data[0] first aperture page, data[1] pages
    WRITE_FENCE = 0x82  #: address: bus address of a u64; data[0..1] value
    COPY_SYSTEM = 0x83  #: as COPY_BUFFER, with any kind of address
    FILL_SYSTEM = 0x84  #: as FILL_BUFFER, with any kind of address


@dataclass(frozen=True, slots=True)
class PacketInfo:
    """What the miniport must know to validate an op without executing it."""

    address: str = ""  #: "", "r", "w" or "rw": what is done with [address, address + extent)
    address2: str = ""
    optional: bool = False  #: address may be 0 (unbind)
    optional2: bool = True
    privileged: bool = False
    copy_node: bool = False  #: the copy node takes it as well
    slots: int = 0  #: number of slots; ``slot & 0xFF`` must be below it (0: slot must be 0)
    staged: bool = False  #: the high byte of slot is a Stage


PACKETS: Final[dict[Op, PacketInfo]] = {
    Op.NOP: PacketInfo(copy_node=True),
    Op.SET_SHADER: PacketInfo("r", optional=True, slots=1, staged=True),
    Op.SET_CONSTANT_BUFFER: PacketInfo("r", optional=True, slots=15, staged=True),
    Op.SET_RESOURCE: PacketInfo("r", optional=True, slots=128, staged=True),
    Op.SET_SAMPLER: PacketInfo(slots=16, staged=True),
    Op.SET_UAV: PacketInfo("rw", "rw", optional=True, slots=8, staged=True),
    Op.SET_VERTEX_BUFFER: PacketInfo("r", optional=True, slots=32),
    Op.SET_INDEX_BUFFER: PacketInfo("r", optional=True),
    Op.SET_INPUT_LAYOUT: PacketInfo(slots=32),
    Op.SET_TOPOLOGY: PacketInfo(),
    Op.SET_STREAM_OUTPUT: PacketInfo("rw", "rw", optional=True, slots=4),
    Op.SET_RENDER_TARGET: PacketInfo("rw", optional=True, slots=8),
    Op.SET_DEPTH_STENCIL: PacketInfo("rw", optional=True),
    Op.SET_BLEND: PacketInfo(),
    Op.SET_BLEND_FACTOR: PacketInfo(),
    Op.SET_DEPTH_STENCIL_STATE: PacketInfo(),
    Op.SET_RASTERIZER: PacketInfo(),
    Op.SET_VIEWPORT: PacketInfo(slots=16),
    Op.SET_SCISSOR: PacketInfo(slots=16),
    Op.SET_PREDICATION: PacketInfo("r", optional=True),
    Op.SET_SURFACE: PacketInfo("rw", optional=True, slots=2, copy_node=True),
    Op.DRAW: PacketInfo(),
    Op.DRAW_INDEXED: PacketInfo(),
    Op.DRAW_INDIRECT: PacketInfo("r"),
    Op.DRAW_INDEXED_INDIRECT: PacketInfo("r"),
    Op.DRAW_AUTO: PacketInfo("r"),
    Op.DISPATCH: PacketInfo(),
    Op.DISPATCH_INDIRECT: PacketInfo("r"),
    Op.CLEAR_COLOR: PacketInfo(),
    Op.CLEAR_DEPTH_STENCIL: PacketInfo(),
    Op.COPY_BUFFER: PacketInfo("w", "r", optional2=False, copy_node=True),
    Op.FILL_BUFFER: PacketInfo("w", copy_node=True),
    Op.COPY_REGION: PacketInfo(copy_node=True),
    Op.RESOLVE: PacketInfo(),
    Op.GENERATE_MIPS: PacketInfo(),
    Op.BLT: PacketInfo(),
    Op.QUERY_BEGIN: PacketInfo("rw"),
    Op.QUERY_END: PacketInfo("rw"),
    Op.UPDATE_INLINE: PacketInfo("w", copy_node=True),
    Op.MAP_APERTURE: PacketInfo(privileged=True, copy_node=True),
    Op.UNMAP_APERTURE: PacketInfo(privileged=True, copy_node=True),
    Op.WRITE_FENCE: PacketInfo(privileged=True, copy_node=True),
    Op.COPY_SYSTEM: PacketInfo("w", "r", optional2=False, privileged=True, copy_node=True),
    Op.FILL_SYSTEM: PacketInfo("w", privileged=True, copy_node=True),
}


class Topology(IntEnum):
    """Primitive topologies; control-point patch lists of n points are ``PATCHLIST_1 + n - 1`` (33..64)."""

    UNDEFINED = 0
    POINTLIST = 1
    LINELIST = 2
    LINESTRIP = 3
    TRIANGLELIST = 4
    TRIANGLESTRIP = 5
    LINELIST_ADJ = 10
    LINESTRIP_ADJ = 11
    TRIANGLELIST_ADJ = 12
    TRIANGLESTRIP_ADJ = 13
    PATCHLIST_1 = 33
    PATCHLIST_32 = 64


class ClearKind(IntFlag):
    """``arg`` of CLEAR_COLOR."""

    FLOAT = 0  #: data are floats, converted to the view's format
    UINT = 1  #: data are integers, stored as they are (truncated to the channel)
    RECTANGLE = 256  #: data[4..7]: left, top, right, bottom


class QueryKind(IntEnum):
    """``arg`` of QUERY_BEGIN/END. The block at address holds u64 results; its size is QUERY_SIZES[kind] bytes.

    BEGIN adds nothing and remembers counters; END writes results. EVENT and TIMESTAMP have only an END. u64[0] of a block is
    the state: 0 = pending, 1 = done (written last); results follow from u64[1].
    """

    EVENT = 0
    OCCLUSION = 1  #: u64 samples passed
    TIMESTAMP = 2  #: u64 ticks
    TIMESTAMP_DISJOINT = 3  #: u64 frequency, u64 disjoint
    PIPELINE_STATISTICS = 4  #: 11 x u64 in D3D11_QUERY_DATA_PIPELINE_STATISTICS order
    OCCLUSION_PREDICATE = 5  #: u64 0/1
    STREAM_OUTPUT_STATISTICS = 6  #: u64 primitives written, u64 storage needed; arg bits 8.. = stream
    STREAM_OVERFLOW_PREDICATE = 7  #: u64 0/1; arg bits 8.. = stream, 4 = any


QUERY_SIZES: Final[dict[QueryKind, int]] = {
    QueryKind.EVENT: 16,
    QueryKind.OCCLUSION: 16,
    QueryKind.TIMESTAMP: 16,
    QueryKind.TIMESTAMP_DISJOINT: 24,
    QueryKind.PIPELINE_STATISTICS: 96,
    QueryKind.OCCLUSION_PREDICATE: 16,
    QueryKind.STREAM_OUTPUT_STATISTICS: 24,
    QueryKind.STREAM_OVERFLOW_PREDICATE: 16,
}


class CopyRegion(IntEnum):
    """Dwords of COPY_REGION's data. Boxes are in texels of the named mip; block formats in multiples of 4 (or to the edge)."""

    DST_SUBRESOURCE = 0  #: mip | slice << 16, counted in the view
    DST_XY = 1  #: x | y << 16
    DST_Z = 2
    SRC_SUBRESOURCE = 3
    SRC_XY = 4
    SRC_Z = 5  #: z | depth << 16
    SIZE_WH = 6  #: width | height << 16
    SLICES = 7  #: number of array slices copied (at least 1)


class Blt(IntEnum):
    """Dwords of BLT's data."""

    DST_LEFT_TOP = 0  #: left | top << 16
    DST_RIGHT_BOTTOM = 1
    SRC_LEFT_TOP = 2  #: in mip 0, slice 0 of the source view
    SRC_RIGHT_BOTTOM = 3
    FLAGS = 4  #: bits 0..1 rotation in quarter turns counter-clockwise, bit 2 point filter instead of bilinear


#: Draw and dispatch limits.
MAX_DISPATCH_GROUPS: Final = 65535
MAX_DRAW_VERTICES: Final = 1 << 31
