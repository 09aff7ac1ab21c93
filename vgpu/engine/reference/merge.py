"""The output merger: depth, stencil, blending, logic operations and write masks, fragment by fragment.

A fragment is one sample of one pixel. Callers pass fragments of distinct places; where primitives overlap they call once per layer,
in order. Blending is float32; values are clamped to the target's range first when it is UNORM or SNORM.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vgpu.engine import FaultError, PipelineState
from vgpu.memory import Memory
from wddm.hw.descriptors import (
    BlendFactor,
    BlendFlag,
    BlendOp,
    Comparison,
    DepthStencil,
    StencilFace,
    StencilOp,
    TargetBlend,
    ViewDimension,
    bits_float,
)
from wddm.hw.formats import Channel, FormatInfo, NumberType
from wddm.hw.interrupts import Fault
from wddm.hw.packets import Op

from . import formats
from .bindings import packet
from .sampler import COMPARE
from .surface import Buffer, Texture, refuse, surface_bytes, texture, unpack_view

Array = npt.NDArray[Any]
Color = npt.NDArray[np.float32]


class BufferTarget:
    """A typed buffer as a render target of one row."""

    def __init__(self, buffer: Buffer) -> None:
        self._rows = buffer.data.reshape(-1, buffer.stride)
        self.info = buffer.info
        self.width, self.height, self.layers, self.samples = buffer.count, 1, 1, 1

    def offsets(self, layer: Array, y: Array, x: Array, sample: Array) -> Array:
        """Places of pixels."""
        return x

    def read_raw(self, at: Array) -> formats.Bytes:
        """Elements ``(n, bytes)``."""
        return self._rows[at]

    def write_raw(self, at: Array, raw: formats.Bytes) -> None:
        """Elements to memory."""
        self._rows[at] = raw


class TextureTarget:
    """The first mip of a texture view as a render target or depth-stencil target."""

    def __init__(self, bound: Texture) -> None:
        width, height, _ = bound.extent(0)
        self._texture = bound
        self.info = bound.info
        self.width, self.height, self.layers, self.samples = int(width), int(height), bound.slices, bound.shape.samples
        self.read_raw, self.write_raw = bound.read_raw, bound.write_raw

    def offsets(self, layer: Array, y: Array, x: Array, sample: Array) -> Array:
        """Places of samples."""
        return self._texture.offsets(0, layer, y, x, sample)


Target = BufferTarget | TextureTarget


def target(memory: Memory, bound: Any) -> Target:
    """The render target in a binding packet."""
    data = tuple(bound["data"].tolist())
    if data[3] >> 8 & 0xFF == ViewDimension.BUFFER:
        return BufferTarget(Buffer(unpack_view(data), surface_bytes(memory, bound, write=True)))
    return TextureTarget(texture(memory, bound, write=True))


class Merger:
    """Output-merger state of one draw, resolved."""

    def __init__(self, memory: Memory, state: PipelineState) -> None:
        self.targets: dict[int, Target] = {}
        bound = state.bindings.get(Op.SET_RENDER_TARGET, {})
        for slot, p in sorted(bound.items()):
            info = (t := target(memory, p)).info
            if not info.channels or info.is_block or info.pair or info.type == NumberType.TYPELESS:
                raise refuse(f"render target of {info.format.name}")
            self.targets[slot] = t
        self.depth: TextureTarget | None = None
        p = packet(state, Op.SET_DEPTH_STENCIL)
        if p is not None:
            depth = target(memory, p)
            if not isinstance(depth, TextureTarget) or depth.info.depth is None:
                raise refuse(f"depth-stencil target of {depth.info.format.name}")
            self.depth = depth
        self.read_only = int(p["arg"]) if p is not None else 0
        everything: list[Target] = [*self.targets.values(), *([self.depth] if self.depth else [])]
        samples = {t.samples for t in everything}
        if len(samples) > 1:
            raise FaultError(Fault.PIPELINE, f"targets of {sorted(samples)} samples together")
        self.samples = samples.pop() if samples else 1
        self.width = min((t.width for t in everything), default=16384)
        self.height = min((t.height for t in everything), default=16384)
        self.layers = min((t.layers for t in everything), default=1)
        self._blend_state(state)
        p = packet(state, Op.SET_DEPTH_STENCIL_STATE)
        self.ds = DepthStencil.unpack(p["data"].tolist()) if p is not None else DepthStencil()
        self._check_depth_stencil()

    def _blend_state(self, state: PipelineState) -> None:
        p = packet(state, Op.SET_BLEND)
        words = p["data"].tolist() if p is not None else [TargetBlend().pack()] * 8
        arg = int(p["arg"]) if p is not None else 0
        self.blends = [TargetBlend.unpack(w) for w in words]
        for b in self.blends:
            if b.enable:
                for factor in (b.src, b.dst, b.src_alpha, b.dst_alpha):
                    if factor not in _FACTORS:
                        raise refuse(f"blend factor {factor}")
                if not BlendOp.ADD <= b.op <= BlendOp.MAX or not BlendOp.ADD <= b.op_alpha <= BlendOp.MAX:
                    raise refuse(f"blend operation {b.op}, {b.op_alpha}")
        self.alpha_to_coverage = bool(arg & BlendFlag.ALPHA_TO_COVERAGE)
        self.logic = (arg >> 8 & 15) if arg & BlendFlag.LOGIC_OP else None
        p = packet(state, Op.SET_BLEND_FACTOR)
        data = p["data"].tolist() if p is not None else None
        self.factor = np.array([bits_float(v) for v in data[:4]] if data else [1.0] * 4, np.float32)
        self.sample_mask = data[4] if data else 0xFFFF_FFFF

    def _check_depth_stencil(self) -> None:
        s = self.ds
        if s.depth_enable and not Comparison.NEVER <= s.comparison <= Comparison.ALWAYS:
            raise refuse(f"depth comparison {s.comparison}")
        if s.stencil_enable:
            for face in (s.front, s.back):
                ops = (face.fail, face.depth_fail, face.passed)
                if any(not StencilOp.KEEP <= o <= StencilOp.DECR for o in ops) or not 1 <= face.comparison <= 8:
                    raise refuse(f"stencil operations {ops}, comparison {face.comparison}")

    # --- depth and stencil -------------------------------------------------------------------------------------------

    def test(self, layer: Array, y: Array, x: Array, sample: Array, z: Array, front: Array, reference: Array | None) -> Array:
        """Depth and stencil test with their writes; which fragments pass. ``reference``: stencil references of the program."""
        passed: Array = np.ones(len(x), bool)
        if self.depth is None or not (self.ds.depth_enable or self.ds.stencil_enable):
            return passed
        info = self.depth.info
        assert info.depth is not None
        at = self.depth.offsets(layer, y, x, sample)
        raw = self.depth.read_raw(at)
        new = raw
        if self.ds.depth_enable:
            stored = formats.read_plane(raw, info.depth)
            incoming = formats.depth_to_bits(z, info.depth)
            passed = _compare_depth(self.ds.comparison, incoming, stored, info.depth)
            if self.ds.depth_write and not self.read_only & 1:
                value = np.where(passed, incoming, stored)
                new = formats.write_plane(new, info.depth, value)
        if self.ds.stencil_enable and info.stencil is not None:
            stencil = formats.read_plane(raw, info.stencil)
            ok, value = self._stencil(stencil, passed, front, reference)
            if not self.read_only & 2:
                mask = np.uint32(self.ds.write_mask)
                value = stencil & ~mask | value & mask
                if self.ds.depth_enable and info.depth:
                    # A fragment that fails the stencil test writes no depth.
                    new = np.where(ok[:, None], new, raw)
                new = formats.write_plane(new, info.stencil, value)
            else:
                new = np.where(ok[:, None], new, raw)
            passed = passed & ok
        if new is not raw:
            self.depth.write_raw(at, new)
        return passed

    def _stencil(self, stored: Array, depth_passed: Array, front: Array, reference: Array | None) -> tuple[Array, Array]:
        """Which pass, and the new values."""
        read = np.uint32(self.ds.read_mask)
        ref = np.broadcast_to(np.uint32(self.ds.reference), stored.shape) if reference is None else reference & np.uint32(0xFF)
        ok: Array = np.zeros(len(stored), bool)
        value = stored
        for face, lanes in ((self.ds.front, front), (self.ds.back, ~front)):
            good = COMPARE[Comparison(face.comparison)](ref & read, stored & read)
            ok = np.where(lanes, good, ok)
            value = np.where(lanes, _stencil_value(face, good, depth_passed, stored, ref), value)
        return ok, value

    # --- colour ------------------------------------------------------------------------------------------------------

    def write(self, slot: int, layer: Array, y: Array, x: Array, sample: Array, color: Array, second: Array | None) -> None:
        """Blend colours ``(n, 4)`` (bits) into a target; ``second``: the second source."""
        t, blend = self.targets[slot], self.blends[slot]
        if not blend.write_mask or not len(x):
            return
        info = t.info
        at = t.offsets(layer, y, x, sample)
        raw = t.read_raw(at)
        if self.logic is not None:
            new = _LOGIC[self.logic](formats.pack(info, color), raw)
        else:
            if blend.enable and not info.is_integer:
                old = formats.unpack(info, raw).view(np.float32)
                source = np.ascontiguousarray(color).view(np.float32)
                other = source if second is None else np.ascontiguousarray(second).view(np.float32)
                color = formats.bits(self._blend(blend, info, source, other, old))
            new = formats.pack(info, color)
        t.write_raw(at, _masked(info, blend.write_mask, new, raw))

    def _blend(self, b: TargetBlend, info: FormatInfo, source: Color, second: Color, old: Color) -> Color:
        clamp = _CLAMPS.get(info.type)
        factor = np.broadcast_to(self.factor, source.shape)
        if clamp is not None:
            source, second, factor = (np.clip(_no_nan(v), *clamp) for v in (source, second, factor))
        out = np.empty_like(source)
        for part, (src, dst, op) in (
            (slice(0, 3), (b.src, b.dst, b.op)),
            (slice(3, 4), (b.src_alpha, b.dst_alpha, b.op_alpha)),
        ):
            s, d = source[:, part], old[:, part]
            if op not in (BlendOp.MIN, BlendOp.MAX):
                s = s * _FACTORS[src](source, second, old, factor)[:, part]
                d = d * _FACTORS[dst](source, second, old, factor)[:, part]
            out[:, part] = _OPERATIONS[op](s, d)
        return out


def _no_nan(value: Array) -> Array:
    return np.where(np.isnan(value), np.float32(0), value)


def _compare_depth(comparison: int, incoming: Array, stored: Array, channel: Channel) -> Array:
    function = COMPARE[Comparison(comparison)]
    if channel.type == NumberType.FLOAT:
        incoming, stored = incoming.view(np.float32), np.ascontiguousarray(stored).view(np.float32)
    passed: Array = function(incoming, stored)
    return passed


def _stencil_value(face: StencilFace, good: Array, depth_passed: Array, stored: Array, ref: Array) -> Array:
    one = np.uint32(1)
    results = {
        StencilOp.KEEP: stored,
        StencilOp.ZERO: np.zeros_like(stored),
        StencilOp.REPLACE: ref,
        StencilOp.INCR_SAT: np.minimum(stored + one, np.uint32(255)),
        StencilOp.DECR_SAT: np.maximum(stored, one) - one,
        StencilOp.INVERT: ~stored & np.uint32(255),
        StencilOp.INCR: stored + one & np.uint32(255),
        StencilOp.DECR: stored - one & np.uint32(255),
    }
    fail, depth_fail, passed = (results[StencilOp(o)] for o in (face.fail, face.depth_fail, face.passed))
    return np.where(good, np.where(depth_passed, passed, depth_fail), fail)


def _masked(info: FormatInfo, write_mask: int, new: formats.Bytes, old: formats.Bytes) -> formats.Bytes:
    """New bits of the channels in the mask, old bits of the others."""
    if all(write_mask >> c.component & 1 for c in info.channels):
        return new
    keep = 0
    for c in info.channels:
        if not write_mask >> c.component & 1:
            keep |= ((1 << c.bits) - 1) << c.shift
    mask = np.frombuffer(keep.to_bytes(info.bytes_per_block, "little"), np.uint8)
    return new & ~mask | old & mask


def _alpha(v: Color) -> Color:
    return np.broadcast_to(v[:, 3:4], v.shape)


def _saturated(s: Color, s1: Color, d: Color, f: Color) -> Color:
    out = np.ones_like(s)
    out[:, :3] = np.minimum(s[:, 3:4], 1 - d[:, 3:4])
    return out


_CLAMPS: Final = {NumberType.UNORM: (np.float32(0), np.float32(1)), NumberType.SNORM: (np.float32(-1), np.float32(1))}
_ONE: Final = np.float32(1)
_FACTORS: Final[dict[int, Callable[[Color, Color, Color, Color], Color]]] = {
    BlendFactor.ZERO: lambda s, s1, d, f: np.zeros_like(s),
    BlendFactor.ONE: lambda s, s1, d, f: np.ones_like(s),
    BlendFactor.SRC_COLOR: lambda s, s1, d, f: s,
    BlendFactor.INV_SRC_COLOR: lambda s, s1, d, f: _ONE - s,
    BlendFactor.SRC_ALPHA: lambda s, s1, d, f: _alpha(s),
    BlendFactor.INV_SRC_ALPHA: lambda s, s1, d, f: _ONE - _alpha(s),
    BlendFactor.DEST_ALPHA: lambda s, s1, d, f: _alpha(d),
    BlendFactor.INV_DEST_ALPHA: lambda s, s1, d, f: _ONE - _alpha(d),
    BlendFactor.DEST_COLOR: lambda s, s1, d, f: d,
    BlendFactor.INV_DEST_COLOR: lambda s, s1, d, f: _ONE - d,
    BlendFactor.SRC_ALPHA_SAT: _saturated,
    BlendFactor.BLEND_FACTOR: lambda s, s1, d, f: f,
    BlendFactor.INV_BLEND_FACTOR: lambda s, s1, d, f: _ONE - f,
    BlendFactor.SRC1_COLOR: lambda s, s1, d, f: s1,
    BlendFactor.INV_SRC1_COLOR: lambda s, s1, d, f: _ONE - s1,
    BlendFactor.SRC1_ALPHA: lambda s, s1, d, f: _alpha(s1),
    BlendFactor.INV_SRC1_ALPHA: lambda s, s1, d, f: _ONE - _alpha(s1),
}
_OPERATIONS: Final[dict[int, Callable[[Color, Color], Color]]] = {
    BlendOp.ADD: np.add,
    BlendOp.SUBTRACT: np.subtract,
    BlendOp.REV_SUBTRACT: lambda s, d: d - s,
    BlendOp.MIN: np.fmin,
    BlendOp.MAX: np.fmax,
}
#: On the bits of elements: source, destination.
_LOGIC: Final[list[Callable[[Array, Array], Array]]] = [
    lambda s, d: np.zeros_like(d),  # CLEAR
    lambda s, d: np.full_like(d, 255),  # SET
    lambda s, d: s,  # COPY
    lambda s, d: ~s,  # COPY_INVERTED
    lambda s, d: d,  # NOOP
    lambda s, d: ~d,  # INVERT
    lambda s, d: s & d,
    lambda s, d: ~(s & d),
    lambda s, d: s | d,
    lambda s, d: ~(s | d),
    lambda s, d: s ^ d,
    lambda s, d: ~(s ^ d),
    lambda s, d: s & ~d,  # AND_REVERSE
    lambda s, d: ~s & d,  # AND_INVERTED
    lambda s, d: s | ~d,  # OR_REVERSE
    lambda s, d: ~s | d,  # OR_INVERTED
]
