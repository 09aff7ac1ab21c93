"""Clears and copies at the speed of memory: whole planes of elements of 1 to 16 bytes by a compiled fill, rows of bytes; on all
threads.

Only what is simple is done here (whole views, no conversion but the one of a colour); everything else says False and is left to the
reference engine.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from vgpu.engine import Packet, PipelineState
from vgpu.engine.reference import formats as conversion
from vgpu.engine.reference.copy import regions
from wddm.hw.descriptors import ViewDimension, bits_float
from wddm.hw.formats import FORMATS, Format
from wddm.hw.packets import Op

from .bindings import BUFFERS, ResolvedView
from .builder import I8, I64, PTR, VOID, Module, Type

if TYPE_CHECKING:
    from .engine import LlvmEngine

_FILL: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64
)
#: Bytes below which one thread fills, or copies, alone: waking another one takes as long as some hundred kilobytes.
PARALLEL_BYTES: Final = 1 << 20
PARALLEL_COPY: Final = 2 << 20


def compile_fill() -> str:
    """The IR of ``fill(pointer, pitch, rows, bytes, low, high)``: rows of a repeating 16-byte pattern."""
    m = Module()
    f = m.function("fill", VOID, [PTR, I64, I64, I64, I64, I64])
    pointer, pitch, rows, size, low, high = f.arguments
    wide = Type("i", 64, 8)
    pattern = f.pack([low, high, low, high, low, high, low, high])
    memory = f.array(wide, 1)
    f.store(pattern, memory, align=64)
    whole = size & -64
    rest = size & 63
    with f.count(0, rows, type=I64) as row:
        start = f.offset(pointer, row * pitch)
        with f.count(0, whole, 64, type=I64) as at:
            f.store(pattern, start, at, align=1)
        with f.if_(rest > 0):
            end = f.offset(start, whole)
            with f.count(0, rest, type=I64) as at:
                f.store(f.load(I8, memory, at), end, at)
    f.ret()
    return str(m)


def _fill(engine: LlvmEngine, pointer: int, pitch: int, rows: int, size: int, element: bytes) -> None:
    """Fill rows with an element."""
    function = _FILL(engine.pipelines.part("fill", (), compile_fill)["fill"])
    pattern = (element * 16)[:16]
    low, high = int.from_bytes(pattern[:8], "little"), int.from_bytes(pattern[8:], "little")
    if engine.threads == 1 or rows < engine.threads or rows * size < PARALLEL_BYTES:
        function(pointer, pitch, rows, size, low, high)
        return
    share = -(-rows // engine.threads)

    def part(thread: int) -> None:
        first = thread * share
        count = min(share, rows - first)
        if count > 0:
            function(pointer + first * pitch, pitch, count, size, low, high)

    engine.workers.run(part)


def _planes(engine: LlvmEngine, v: ResolvedView, element: bytes) -> None:
    """Fill every plane that a view sees."""
    assert v.layout is not None
    view = v.view
    for mip in range(view.first_mip, view.first_mip + view.mip_count):
        for layer in range(view.first_slice, view.first_slice + view.slice_count):
            sub = v.layout[mip, layer]
            for sample in range(view.samples):
                at = v.base + sub.offset + sample * sub.sample_pitch
                _fill(engine, at, sub.row_pitch, sub.height, sub.width * len(element), element)


def copy(engine: LlvmEngine, to: npt.NDArray[np.uint8], source: npt.NDArray[np.uint8]) -> None:
    """Copy bytes, or rows of bytes, between places that share none."""
    if engine.threads == 1 or to.nbytes < PARALLEL_COPY:
        to[:] = source
        return
    share = -(-len(to) // engine.threads)

    def part(thread: int) -> None:
        first = thread * share
        to[first : first + share] = source[first : first + share]

    engine.workers.run(part)


def copy_region(engine: LlvmEngine, state: PipelineState, packet: Packet) -> None:
    """COPY_REGION. Raises FaultError."""
    for to, source in regions(engine.memory, state, packet):
        if np.may_share_memory(to, source):
            to[:] = source
        else:
            copy(engine, to, source)


def _surface(engine: LlvmEngine, state: PipelineState) -> ResolvedView | None:
    p = state.bindings.get(Op.SET_SURFACE, {}).get(0)
    if p is None or int(p["data"][3]) >> 8 & 0xFF in (*BUFFERS, ViewDimension.TEXTURE3D):
        return None
    return engine.bindings.view(p, write=True)


def clear_color(engine: LlvmEngine, state: PipelineState, packet: Packet) -> bool:
    """CLEAR_COLOR of a whole view with floats."""
    if int(packet["arg"]):
        return False
    v = _surface(engine, state)
    if v is None:
        return False
    info = FORMATS[Format(v.view.format)]
    if info.is_block or info.pair or not info.channels or info.is_integer or 16 % info.bytes_per_block:
        return False
    with np.errstate(all="ignore"):
        element = conversion.pack(info, packet["data"][None, :4].astype(np.uint32))[0].tobytes()
    _planes(engine, v, element)
    return True


def clear_depth_stencil(engine: LlvmEngine, state: PipelineState, packet: Packet) -> bool:
    """CLEAR_DEPTH_STENCIL of everything that an element holds."""
    flags = int(packet["arg"])
    v = _surface(engine, state)
    if v is None or flags not in (1, 3):
        return False
    info = FORMATS[Format(v.view.format)]
    if info.depth is None or info.bytes_per_block == 8 or (info.stencil is not None and flags != 3):
        return False
    depth = np.array([bits_float(int(packet["data"][0]))], np.float32)
    with np.errstate(all="ignore"):
        word = int(conversion.depth_to_bits(depth, info.depth)[0])
    if info.stencil is not None:
        word |= (int(packet["data"][1]) & 255) << info.stencil.shift
    _planes(engine, v, word.to_bytes(info.bytes_per_block, "little"))
    return True


__all__ = ["clear_color", "clear_depth_stencil", "copy", "copy_region"]
