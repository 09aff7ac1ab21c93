"""How each kind of binding becomes packets.

An emitter writes the packet of one key with its patch locations; value None unbinds. Slot ids of patch locations number the places
of the hardware's state: ``op << 12 | slot << 1 | second address``.
"""

from __future__ import annotations

from umd.command_buffer import HEAD_STRUCT, PACKET_STRUCT, ZERO_DATA, packet
from umd.core import Bind, Core, Emitter
from umd.placement import place
from umd.resource import Resource
from umd.shaders import ShaderFunctions
from umd.state import DEFAULT_BLEND, DEFAULT_DEPTH_STENCIL, DEFAULT_RASTERIZER, DEFAULT_SAMPLER
from umd.view import View
from wddm.hw.packets import ADDRESS_OFFSET, PACKET_SIZE, Op

MAX_CONSTANT_BYTES = 65536
_HEAD = HEAD_STRUCT.pack
_SET_VERTEX_BUFFER, _SET_INDEX_BUFFER = int(Op.SET_VERTEX_BUFFER), int(Op.SET_INDEX_BUFFER)
_SET_RESOURCE = int(Op.SET_RESOURCE)
KEEP_COUNTER = 0xFFFFFFFF  #: initial count or offset that leaves a counter as it is


def slot_id(op: int, slot: int, second: int = 0) -> int:
    """The place of the hardware's state that a patch location belongs to."""
    return op << 12 | slot << 1 | second


class ConstantRange:
    """Part of a buffer bound as constants (11.1): bytes from ``first``."""

    __slots__ = ("first", "resource", "size")

    def __init__(self, resource: Resource, first: int, size: int) -> None:
        self.resource, self.first, self.size = resource, first, size

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ConstantRange)
            and (self.resource, self.first, self.size) == (other.resource, other.first, other.size)
        )  # fmt: skip

    __hash__ = None  # type: ignore[assignment]


def _emit_constant_range(core: Core, slot: int, bound: ConstantRange) -> None:
    r = bound.resource
    size = min(bound.size, r.size - bound.first, MAX_CONSTANT_BYTES)
    if size <= 0:
        core.batch.add(packet(Op.SET_CONSTANT_BUFFER, slot))
        return
    data = packet(Op.SET_CONSTANT_BUFFER, slot, extent=size, data=(size,))
    core.batch.add_at(data, slot_id(Op.SET_CONSTANT_BUFFER, slot), place(core, r), r.offset + bound.first)


_CONSTANT_PACKETS: dict[tuple[int, int], bytes] = {}


def emit_constant_buffer(core: Core, k: int, r: Resource | ConstantRange | None) -> None:
    slot = k & 0xFFFF
    batch = core.batch
    if r.__class__ is ConstantRange:
        _emit_constant_range(core, slot, r)
        return
    assert not isinstance(r, ConstantRange)
    if r is None:
        batch.packets.append(_HEAD(2, slot, 0, 0, 0, 0, 0) + ZERO_DATA)
        return
    allocation = r.allocation
    if allocation is None:
        allocation = place(core, r)
    size = r.size
    data = _CONSTANT_PACKETS.get((slot, size))
    if data is None:
        bound = min(size, MAX_CONSTANT_BYTES)
        data = packet(Op.SET_CONSTANT_BUFFER, slot, extent=bound, data=(bound,))
        if len(_CONSTANT_PACKETS) < 4096:
            _CONSTANT_PACKETS[slot, size] = data
    if allocation.batch != batch.serial:
        batch.reference(allocation)
    packets = batch.packets
    start = len(packets) * PACKET_SIZE
    batch.patches.extend((allocation.index, 0x2000 | slot << 1, 0, r.offset, start + ADDRESS_OFFSET, start))
    packets.append(data)


def _emit_view(core: Core, op: int, k: int, view: View, arg: int = 0, write: bool = False) -> None:
    slot = k & 0xFFFF
    r = view.resource
    allocation = r.allocation
    if allocation is None:
        allocation = place(core, r)
    core.batch.add_at(_HEAD(op, slot, r.size, 0, 0, arg, 0) + view.data, op << 12 | slot << 1, allocation, r.offset, write)


def emit_resource(core: Core, k: int, view: View | None) -> None:
    slot, batch = k & 0xFFFF, core.batch
    if view is None:
        batch.packets.append(_HEAD(_SET_RESOURCE, slot, 0, 0, 0, 0, 0) + ZERO_DATA)
        return
    r = view.resource
    batch.add_at(
        _HEAD(_SET_RESOURCE, slot, r.size, 0, 0, 0, 0) + view.data, _SET_RESOURCE << 12 | slot << 1, r.allocation or place(core, r),
        r.offset,
    )  # fmt: skip


_DEFAULT_SAMPLER_DATA = packet(0, data=DEFAULT_SAMPLER)[32:]


def emit_sampler(core: Core, k: int, data: bytes | None) -> None:
    core.batch.add(_HEAD(Op.SET_SAMPLER, k & 0xFFFF, 0, 0, 0, 0, 0) + (data or _DEFAULT_SAMPLER_DATA))


def emit_unordered(core: Core, k: int, view: View | None) -> None:
    slot = k & 0xFFFF
    if view is None:
        core.batch.add(_HEAD(Op.SET_UAV, slot, 0, 0, 0, 0, 0) + ZERO_DATA)
        return
    r = view.resource
    counter = view.counter
    data = _HEAD(Op.SET_UAV, slot, r.size, 0, 4 if counter else 0, 0, 0) + view.data
    core.batch.add_at(data, slot_id(Op.SET_UAV, slot), place(core, r), r.offset, True)
    if counter is not None:
        core.batch.patch_second(slot_id(Op.SET_UAV, slot, 1), counter.allocation, counter.offset, True)


VertexBuffer = tuple[Resource, int, int]


def emit_vertex_buffer(core: Core, k: int, bound: VertexBuffer | None) -> None:
    slot = k & 0xFFFF
    if bound is None or bound[2] >= bound[0].size:
        core.batch.add(packet(Op.SET_VERTEX_BUFFER, slot))
        return
    r, stride, offset = bound
    data = PACKET_STRUCT.pack(_SET_VERTEX_BUFFER, slot, r.size - offset, 0, 0, 0, 0, stride, 0, 0, 0, 0, 0, 0, 0)
    core.batch.add_at(data, _SET_VERTEX_BUFFER << 12 | slot << 1, r.allocation or place(core, r), r.offset + offset)


def emit_index_buffer(core: Core, k: int, bound: VertexBuffer | None) -> None:
    if bound is None or bound[2] >= bound[0].size:
        core.batch.add(packet(Op.SET_INDEX_BUFFER))
        return
    r, format, offset = bound
    data = PACKET_STRUCT.pack(_SET_INDEX_BUFFER, 0, r.size - offset, 0, 0, 0, 0, format, 0, 0, 0, 0, 0, 0, 0)
    core.batch.add_at(data, _SET_INDEX_BUFFER << 12, r.allocation or place(core, r), r.offset + offset)


def emit_packet(default: bytes) -> Emitter:
    """The emitter of a state that is one packet."""

    def emit(core: Core, k: int, data: bytes | None) -> None:
        core.batch.add(data or default)

    return emit


def emit_packets(default: bytes) -> Emitter:
    """The emitter of a state that is several packets."""

    def emit(core: Core, k: int, data: tuple[bytes, ...] | None) -> None:
        if data is None:
            core.batch.add(default)
        else:
            core.batch.packets.extend(data)

    return emit


def emit_viewports(core: Core, k: int, data: tuple[bytes, ...] | None) -> None:
    """Without a viewport nothing is drawn: that is also how a stream-output pass without a rasterized stream is told."""
    if data is None or not core.rasterizes:
        core.batch.add(packet(Op.SET_VIEWPORT))
    else:
        core.batch.packets.extend(data)


Target = tuple[View, int]


def emit_render_target(core: Core, k: int, bound: Target | None) -> None:
    slot = k & 0xFF
    if bound is None:
        count = core.target_count
        core.batch.add(packet(Op.SET_RENDER_TARGET, slot, arg=count))
    else:
        view, count = bound
        _emit_view(core, Op.SET_RENDER_TARGET, slot, view, count, True)


def emit_depth_stencil(core: Core, k: int, view: View | None) -> None:
    if view is None:
        core.batch.add(packet(Op.SET_DEPTH_STENCIL))
    else:
        _emit_view(core, Op.SET_DEPTH_STENCIL, 0, view, view.read_only, view.read_only != 3)


class StreamTarget:
    """A bound stream-output target. The fill counter is set to ``start`` the first time it is emitted, unless it goes on."""

    __slots__ = ("resource", "start")

    def __init__(self, resource: Resource, start: int) -> None:
        self.resource = resource
        self.start: int | None = None if start == KEEP_COUNTER else start


def emit_stream_output(core: Core, k: int, target: StreamTarget | None) -> None:
    slot = k & 0xFF
    if target is None:
        core.batch.add(packet(Op.SET_STREAM_OUTPUT, slot))
        return
    r = target.resource
    if r.fill_counter is None:
        r.fill_counter = core.counter_heap.take(4)
        # A place may have been somebody's before: a counter that has never counted starts at 0.
        target.start = target.start or 0
    reset = target.start is not None
    start = target.start if target.start is not None else 0
    data = packet(Op.SET_STREAM_OUTPUT, slot, extent=r.size, extent2=4, arg=int(reset), data=(start,))
    core.batch.add_at(data, slot_id(Op.SET_STREAM_OUTPUT, slot), place(core, r), r.offset, True)
    counter = r.fill_counter
    core.batch.patch_second(slot_id(Op.SET_STREAM_OUTPUT, slot, 1), counter.allocation, counter.offset, True)
    core.emitted_stream_resets.append(target)


def emitters(shaders: ShaderFunctions, emit_predication: Emitter) -> list[Emitter]:
    """The emitter of each :class:`~umd.core.Bind`."""
    table: dict[Bind, Emitter] = {
        Bind.SHADER: shaders.emit,
        Bind.CONSTANT_BUFFER: emit_constant_buffer,
        Bind.RESOURCE: emit_resource,
        Bind.SAMPLER: emit_sampler,
        Bind.UAV: emit_unordered,
        Bind.VERTEX_BUFFER: emit_vertex_buffer,
        Bind.INDEX_BUFFER: emit_index_buffer,
        Bind.LAYOUT: emit_packets(packet(Op.SET_INPUT_LAYOUT)),
        Bind.TOPOLOGY: emit_packet(packet(Op.SET_TOPOLOGY)),
        Bind.STREAM_OUTPUT: emit_stream_output,
        Bind.RENDER_TARGETS: emit_render_target,
        Bind.DEPTH_STENCIL: emit_depth_stencil,
        Bind.BLEND: emit_packet(DEFAULT_BLEND),
        Bind.BLEND_FACTOR: emit_packet(packet(Op.SET_BLEND_FACTOR, data=(0x3F800000,) * 4 + (0xFFFFFFFF,))),
        Bind.DEPTH_STENCIL_STATE: emit_packet(packet(Op.SET_DEPTH_STENCIL_STATE, data=DEFAULT_DEPTH_STENCIL)),
        Bind.RASTERIZER: emit_packet(DEFAULT_RASTERIZER),
        Bind.VIEWPORTS: emit_viewports,
        Bind.SCISSORS: emit_packets(packet(Op.SET_SCISSOR)),
        Bind.PREDICATION: emit_predication,
    }
    return [table[b] for b in Bind]
