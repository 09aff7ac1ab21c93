"""Clears and copies at the speed of memory: whole planes of elements of 1 to 16 bytes by a compiled fill, rows of bytes; on all
threads.

Only what is simple is done here (whole views, no conversion but the one of a colour); everything else says False and is left to the
reference engine.
"""

from __future__ import annotations

import ctypes
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from vgpu.engine import Packet, PipelineState
from vgpu.engine.reference import copy as conversion
from wddm.hw.descriptors import ViewDimension
from wddm.hw.formats import FORMATS, Format
from wddm.hw.packets import ClearKind, Op

from .bindings import BUFFERS, ResolvedView
from .builder import I8, I64, PTR, VOID, Module, Type

if TYPE_CHECKING:
    from .engine import LlvmEngine

_FILL: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_uint64] * 7)
#: Bytes below which one thread fills, or copies, alone: waking another one takes as long as some hundred kilobytes.
PARALLEL_BYTES: Final = 1 << 20
PARALLEL_COPY: Final = 2 << 20


def compile_fill(keeps: bool) -> str:
    """The IR of ``fill(pointer, pitch, rows, bytes, low, high, keep low, keep high)``: rows of a repeating 16-byte pattern.

    ``keeps``: some bits stay as they are; without, the last two arguments are not looked at.
    """
    m = Module()
    f = m.function("fill", VOID, [PTR, *[I64] * 7])
    pointer, pitch, rows, size, low, high, keep_low, keep_high = f.arguments
    wide = Type("i", 64, 8)
    pattern, keep = f.pack([low, high] * 4), f.pack([keep_low, keep_high] * 4)
    memory, kept = f.array(wide, 1), f.array(wide, 1)
    f.store(pattern, memory, align=64)
    f.store(keep, kept, align=64)
    whole = size & -64
    rest = size & 63
    with f.count(0, rows, type=I64) as row:
        start = f.offset(pointer, row * pitch)
        with f.count(0, whole, 64, type=I64) as at:
            f.store(f.load(wide, start, at, align=1) & keep | pattern if keeps else pattern, start, at, align=1)
        with f.if_(rest > 0):
            end = f.offset(start, whole)
            with f.count(0, rest, type=I64) as at:
                new = f.load(I8, memory, at)
                f.store(f.load(I8, end, at) & f.load(I8, kept, at) | new if keeps else new, end, at)
    f.ret()
    return str(m)


def _fill(engine: LlvmEngine, pointer: int, pitch: int, rows: int, size: int, element: bytes, keep: bytes) -> None:
    """Fill rows with an element but for the bits ``keep``."""
    keeps = any(keep)
    function = _FILL(engine.pipelines.part("fill", keeps, lambda: compile_fill(keeps))["fill"])
    low, high = struct.unpack("<2Q", (element * 16)[:16])
    keep_low, keep_high = struct.unpack("<2Q", (keep * 16)[:16])
    if engine.threads == 1 or rows < engine.threads or rows * size < PARALLEL_BYTES:
        function(pointer, pitch, rows, size, low, high, keep_low, keep_high)
        return
    share = -(-rows // engine.threads)

    def part(thread: int) -> None:
        first = thread * share
        count = min(share, rows - first)
        if count > 0:
            function(pointer + first * pitch, pitch, count, size, low, high, keep_low, keep_high)

    engine.workers.run(part)


def _planes(engine: LlvmEngine, v: ResolvedView, element: bytes, keep: bytes) -> None:
    """Fill every plane that a view sees, but for the bits ``keep`` of each element."""
    assert v.layout is not None
    view = v.view
    for mip in range(view.first_mip, view.first_mip + view.mip_count):
        for layer in range(view.first_slice, view.first_slice + view.slice_count):
            sub = v.layout[mip, layer]
            for sample in range(view.samples):
                at = v.base + sub.offset + sample * sub.sample_pitch
                _fill(engine, at, sub.row_pitch, sub.height, sub.width * len(element), element, keep)


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
    for to, source in conversion.regions(engine.memory, state, packet):
        if np.may_share_memory(to, source):
            to[:] = source
        else:
            copy(engine, to, source)


def _surface(engine: LlvmEngine, state: PipelineState) -> ResolvedView | None:
    p = state.bindings.get(Op.SET_SURFACE, {}).get(0)
    if p is None or int(p["data"][3]) >> 8 & 0xFF in (*BUFFERS, ViewDimension.TEXTURE3D):
        return None
    return engine.bindings.view(p, write=True)


@lru_cache(maxsize=256)
def _color(format: Format, kind: int, words: tuple[int, ...]) -> bytes:
    with np.errstate(all="ignore"):
        return conversion.element(FORMATS[format], kind, list(words)).tobytes()


@lru_cache(maxsize=256)
def _depth_stencil(format: Format, flags: int, depth: int, stencil: int) -> tuple[bytes, bytes]:
    info = FORMATS[format]
    with np.errstate(all="ignore"):
        keep, value = conversion.depth_stencil_bits(info, flags, depth, stencil)
    return value.to_bytes(info.bytes_per_block, "little"), keep.to_bytes(info.bytes_per_block, "little")


def clear_color(engine: LlvmEngine, state: PipelineState, packet: Packet) -> bool:
    """CLEAR_COLOR of a whole view."""
    kind = int(packet["arg"])
    if kind & ~int(ClearKind.UINT):
        return False
    v = _surface(engine, state)
    if v is None:
        return False
    info = FORMATS[Format(v.view.format)]
    if info.is_block or info.pair or not info.channels or 16 % info.bytes_per_block:
        return False
    element = _color(info.format, kind, tuple(packet["data"][:4].tolist()))
    _planes(engine, v, element, bytes(len(element)))
    return True


def clear_depth_stencil(engine: LlvmEngine, state: PipelineState, packet: Packet) -> bool:
    """CLEAR_DEPTH_STENCIL."""
    flags = int(packet["arg"])
    v = _surface(engine, state)
    if v is None or flags & ~3:
        return False
    info = FORMATS[Format(v.view.format)]
    if info.depth is None:
        return False
    _planes(engine, v, *_depth_stencil(info.format, flags, *packet["data"][:2].tolist()))
    return True


__all__ = ["clear_color", "clear_depth_stencil", "copy", "copy_region"]
