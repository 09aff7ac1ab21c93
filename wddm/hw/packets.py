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
validates and the kernel patches whole columns. ``PACKETS[op]`` tells what each op does with its addresses. Fields that an op does
not name are written 0; the hardware ignores them.

Execution of an entry: the packets in order, each as if it were complete before the next begins; then the signals (u64 each); then
``fence`` into FENCE_COMPLETED; then FENCE, when asked for. A node executes one entry at a time, in ring order; entries of different
nodes run beside each other. The hardware copies a buffer when it begins with it: what the processor writes into it afterwards
changes nothing. Addresses are looked at when a packet uses them, for a binding when work uses the binding.

Contexts: a context begins to exist with its first SUBMIT and ends with CONTEXT_DESTROY; one that does not exist may be destroyed.
Each node has contexts of its own. A context holds pipeline state and, after a preemption, the buffer that was stopped.

State: a buffer submitted without ``RingFlag.CONTINUE`` starts with nothing bound and the default state of Direct3D (solid fill,
back-face culling, depth clip, depth test LESS with writes but no depth buffer, no blending, write mask 15, sample mask all
ones, blend factors 1, no viewport: nothing is drawn without one); with it, it goes on with the state its context had, open queries
included. State never outlives a context. Bindings hold the addresses of their packets, so that a buffer that continues another
must bind again whatever may have moved meanwhile.

Preemption (CONTROL.PREEMPT) stops the running buffer between packets or inside a draw, dispatch or copy, keeps it with its
context, drops the other entries of the ring, and raises PREEMPTED with the last completed id. An entry with ``RESUME`` goes on with
the kept buffer of its context, at its old addresses, whatever its own address and size; its fence and signals are those of the new
entry. Any other SUBMIT of the context forgets the kept buffer.
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
        ("op", "<u4"),  # RingOp; another one, and unknown flags, fault
        ("flags", "<u4"),  # RingFlag
        ("fence", "<u4"),  # id written to FENCE_COMPLETED when the entry is done
        ("context", "<u4"),  # hardware context; 0 is the kernel's own
        ("address", "<u8"),  # bus address of the first packet
        ("size", "<u4"),  # bytes, multiple of PACKET_SIZE, at most MAX_BUFFER; 0 = signals and fence only
        ("reserved", "<u4"),  # 0, or it faults
        ("signal_address", "<u8"),  # bus address (multiple of 8) of a u64 that gets signal_value after the work is done; 0 = none
        ("signal_value", "<u8"),
        ("signal_address2", "<u8"),
        ("signal_value2", "<u8"),
    ]
)
RING_ENTRY_SIZE: Final = 64
MAX_BUFFER: Final = 64 << 20  #: bytes of one DMA buffer
MAX_RING: Final = 1 << 16  #: entries of one ring
assert RING_ENTRY.itemsize == RING_ENTRY_SIZE


class RingOp(IntEnum):
    """What a ring entry asks for."""

    SUBMIT = 1  #: run ``size`` bytes of packets, write the signals, report the fence
    CONTEXT_DESTROY = 2  #: forget ``context``; then signals, fence and interrupt as for SUBMIT. Address, size and RESUME: ignored


class RingFlag(IntFlag):
    """How."""

    PRIVILEGED = 1  #: packets may be privileged and may name bus addresses
    CONTINUE = 2  #: keep the context's pipeline state
    RESUME = 4  #: go on where a preemption stopped this context's buffer (ignored when nothing was kept)
    INTERRUPT = 8  #: raise FENCE when done
    NULL_RENDERING = 16  #: do not execute, only signals, fence and interrupt; the context's state stays as it was


class Stage(IntEnum):
    """Shader stages, as in the high byte of ``slot``."""

    VERTEX = 0
    HULL = 1
    DOMAIN = 2
    GEOMETRY = 3
    PIXEL = 4
    COMPUTE = 5


class Op(IntEnum):
    """Packet opcodes. 0x01-0x3F state, 0x40-0x5F work, 0x60-0x7F memory, 0x80- privileged.

    State is per op and slot; the last packet counts. One whose address may be 0 unbinds with it. A state packet is not looked into
    before work uses it: a bad descriptor faults there, and never when nothing uses it. "view": a view descriptor
    (:class:`~wddm.hw.descriptors.View`) in data. All state but SET_VIEWPORT to SET_SURFACE is read by draws of the stages that
    declare it, SET_SHADER, SET_CONSTANT_BUFFER, SET_RESOURCE, SET_SAMPLER and SET_UAV of stage COMPUTE by dispatches.
    """

    NOP = 0x00
    # --- state -------------------------------------------------------------------------------------------------------
    SET_SHADER = 0x01  #: slot = stage << 8. address/extent: an isa.py program of that stage
    SET_CONSTANT_BUFFER = 0x02  #: slot = stage << 8 | 0..14. address/extent; data[0] bytes bound (reads beyond give 0)
    SET_RESOURCE = 0x03  #: slot = stage << 8 | 0..127. view
    SET_SAMPLER = 0x04  #: slot = stage << 8 | 0..15. A sampler descriptor in data
    SET_UAV = 0x05  #: slot = stage << 8 | 0..7 (PIXEL: every graphics stage, COMPUTE). view; address2: u32 counter, 0 = none
    SET_VERTEX_BUFFER = 0x06  #: slot 0..31. address/extent: reads beyond give 0; data[0] stride in bytes
    SET_INDEX_BUFFER = 0x07  #: address/extent: indices beyond are 0; data[0] Format R16_UINT or R32_UINT
    SET_INPUT_LAYOUT = 0x08  #: slot = first element; arg = elements in all; data: up to 4 elements (InputElement) of 2 dwords
    SET_TOPOLOGY = 0x09  #: arg: Topology
    SET_STREAM_OUTPUT = 0x0A  #: slot 0..3. address/extent: target; address2: u32 bytes written; arg 1: set it to data[0], now
    SET_RENDER_TARGET = 0x0B  #: slot 0..7. view of one mip; arg = number of targets bound in all
    SET_DEPTH_STENCIL = 0x0C  #: view of one mip; arg bit 0 depth read-only, bit 1 stencil read-only
    SET_BLEND = 0x0D  #: data[0..7]: TargetBlend per target; arg: BlendFlag | logic op << 8
    SET_BLEND_FACTOR = 0x0E  #: data[0..3] floats; data[4] sample mask
    SET_DEPTH_STENCIL_STATE = 0x0F  #: data: DepthStencil
    SET_RASTERIZER = 0x10  #: data: Rasterizer
    SET_VIEWPORT = 0x11  #: slot 0..15; arg of slot 0 = viewports in use; data: x, y, width, height, min depth, max depth (floats)
    SET_SCISSOR = 0x12  #: slot 0..15; data: left, top, right, bottom (i32; right and bottom excluded). A slot never set: empty
    SET_PREDICATION = 0x13  #: address/extent: a u64; draws, dispatches, clears, copies: only if (it != 0) == arg bit 0; bit 1: hint
    SET_SURFACE = 0x14  #: slot 0 = destination, 1 = source of the copies and clears below. view
    # --- work: nothing happens when a count is 0 -------------------------------------------------------------------------
    DRAW = 0x40  #: data: vertex count, instance count, start vertex, start instance
    DRAW_INDEXED = 0x41  #: data: index count, instance count, start index, base vertex (i32), start instance
    DRAW_INDIRECT = 0x42  #: address/extent: the four dwords of DRAW
    DRAW_INDEXED_INDIRECT = 0x43  #: address/extent: the five dwords of DRAW_INDEXED
    DRAW_AUTO = 0x44  #: address/extent: u32 bytes n; draws max(n - arg, 0) // (stride of vertex buffer 0) vertices, one instance
    DISPATCH = 0x45  #: data: groups x, y, z
    DISPATCH_INDIRECT = 0x46  #: address/extent: three dwords
    # --- memory: boxes and rectangles that reach out of a surface fault, but for clears and the right and bottom of BLT ----------
    CLEAR_COLOR = 0x60  #: surface 0, all that its view sees; data[0..3] red to alpha; arg: ClearKind
    CLEAR_DEPTH_STENCIL = 0x61  #: surface 0; arg bit 0 depth, bit 1 stencil; data[0] depth float, data[1] stencil (low 8 bits)
    COPY_BUFFER = 0x62  #: extent bytes from address2 to address (extent2 >= extent). The ranges may not overlap
    FILL_BUFFER = 0x63  #: extent bytes at address get data[0] (multiple of 4)
    COPY_REGION = 0x64  #: surface 1 box to surface 0; data: CopyRegion; bits, between formats of equal element size and samples
    RESOLVE = 0x65  #: surface 1 to surface 0, every slice: average of the samples as arg: Format (first sample of integers)
    GENERATE_MIPS = 0x66  #: surface 0: each mip that the view sees from the one above, average of 2x2(x2) texels
    BLT = 0x67  #: surface 1 to surface 0; data: Blt. Convert, stretch (bilinear), rotate; samples of the source are averaged
    QUERY_BEGIN = 0x68  #: address/extent: a query block (QueryKind); arg: QueryKind | stream << 8
    QUERY_END = 0x69  #: the same address and arg
    UPDATE_INLINE = 0x6A  #: extent (1..32) bytes of data to address: small buffer updates in stream order
    # --- privileged --------------------------------------------------------------------------------------------------
    MAP_APERTURE = 0x80  #: data[0] first aperture page, data[1] pages; address2: bus address of the first (page-aligned)
    UNMAP_APERTURE = 0x81  #: data[0] first aperture page, data[1] pages; unbound ones may be among them
    WRITE_FENCE = 0x82  #: address: bus address (multiple of 8) of a u64; data[0..1] value, low dword first
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


#: Vertices of a primitive, neighbours included, and the step from one to the next in the vertex stream. A patch of n
#: vertices is (n, n).
PRIMITIVE_SHAPES: Final = {
    Topology.POINTLIST: (1, 1),
    Topology.LINELIST: (2, 2),
    Topology.LINESTRIP: (2, 1),
    Topology.TRIANGLELIST: (3, 3),
    Topology.TRIANGLESTRIP: (3, 1),
    Topology.LINELIST_ADJ: (4, 4),
    Topology.LINESTRIP_ADJ: (4, 1),
    Topology.TRIANGLELIST_ADJ: (6, 6),
    Topology.TRIANGLESTRIP_ADJ: (6, 2),
}
STRIPS: Final = (Topology.LINESTRIP, Topology.TRIANGLESTRIP, Topology.LINESTRIP_ADJ, Topology.TRIANGLESTRIP_ADJ)


class ClearKind(IntFlag):
    """``arg`` of CLEAR_COLOR."""

    FLOAT = 0  #: data are floats, converted to the view's format
    UINT = 1  #: data are integers, stored as they are (truncated to the channel)
    RECTANGLE = 256  #: only data[4..7]: left, top, right, bottom (i32), as far as the surface goes; buffers: elements [left, right)


class QueryKind(IntEnum):
    """``arg`` of QUERY_BEGIN/END. The block at address holds u64 results; its size is QUERY_SIZES[kind] bytes.

    BEGIN sets u64[0] to 0 and remembers the context's counters, which count all work of its buffers in between; END writes the
    results from u64[1] on and then u64[0] = 1. EVENT and TIMESTAMP have only an END. Queries are told apart by their addresses;
    many may be open, of one kind too.
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
    """Dwords of COPY_REGION's data. Boxes are in texels of the named mip of the source; corners of block formats are multiples of
    the block, and a size is rounded up to whole blocks. Between a block format and another one, a block counts as one texel.
    """

    DST_SUBRESOURCE = 0  #: mip | slice << 16, counted in the view; z of 3D textures is counted in the texture
    DST_XY = 1  #: x | y << 16
    DST_Z = 2
    SRC_SUBRESOURCE = 3
    SRC_XY = 4
    SRC_Z = 5  #: z | depth << 16
    SIZE_WH = 6  #: width | height << 16
    SLICES = 7  #: number of array slices copied (at least 1)


class Blt(IntEnum):
    """Dwords of BLT's data. Rectangles lie in the first mip and slice of the views; right and bottom are excluded.

    The source rectangle is stretched over the whole destination rectangle, of which the part inside the surface is written. The
    centre of a destination texel falls on a place in the source; texels outside the source rectangle do not contribute. Integers
    are never filtered. Surfaces may not share bytes.
    """

    DST_LEFT_TOP = 0  #: left | top << 16
    DST_RIGHT_BOTTOM = 1
    SRC_LEFT_TOP = 2  #: inside the surface, and not empty
    SRC_RIGHT_BOTTOM = 3
    FLAGS = 4  #: bits 0..1 rotation in quarter turns counter-clockwise, bit 2 point filter instead of bilinear


#: Draw and dispatch limits.
MAX_DISPATCH_GROUPS: Final = 65535
MAX_DRAW_VERTICES: Final = 1 << 31
