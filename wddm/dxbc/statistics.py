"""The STAT and SFI0 chunks: instruction statistics, and the optional features a shader needs."""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields
from enum import IntFlag

from .errors import DxbcError

__all__ = ["FeatureFlags", "Statistics"]


class FeatureFlags(IntFlag):
    """SFI0: what the device must be able to do (64 bits)."""

    NONE = 0
    DOUBLES = 1 << 0
    COMPUTE_PLUS_RAW_AND_STRUCTURED_BUFFERS_IN_4_X = 1 << 1
    UAVS_AT_EVERY_STAGE = 1 << 2
    SIXTY_FOUR_UAVS = 1 << 3
    MINIMUM_PRECISION = 1 << 4
    DOUBLE_EXTENSIONS_11_1 = 1 << 5
    SHADER_EXTENSIONS_11_1 = 1 << 6
    LEVEL_9_COMPARISON_FILTERING = 1 << 7
    TILED_RESOURCES = 1 << 8
    STENCIL_REF = 1 << 9
    INNER_COVERAGE = 1 << 10
    TYPED_UAV_LOAD_ADDITIONAL_FORMATS = 1 << 11
    RASTERIZER_ORDERED_VIEWS = 1 << 12
    VIEWPORT_AND_RT_ARRAY_INDEX_FROM_ANY_STAGE = 1 << 13

    @classmethod
    def parse(cls, data: bytes) -> FeatureFlags:
        """Read a chunk payload.  :raises DxbcError: not 8 bytes, or unknown flags."""
        if len(data) != 8:
            raise DxbcError(f"SFI0 of {len(data)} bytes, it has 8", 0)
        (bits,) = struct.unpack("<Q", data)
        if bits >> 14:
            raise DxbcError(f"SFI0 has unknown flags 0x{bits >> 14 << 14:x}", 0)
        return cls(bits)

    def to_chunk(self) -> bytes:
        """The chunk payload."""
        return struct.pack("<Q", self.value)


@dataclass(slots=True)
class Statistics:
    """STAT: counts of what the compiler produced; purely informative.  Fields stand in stored order."""

    instructions: int = 0
    temps: int = 0
    defs: int = 0
    declarations: int = 0
    float_ops: int = 0
    int_ops: int = 0
    uint_ops: int = 0
    static_flow: int = 0
    dynamic_flow: int = 0
    macros: int = 0
    temp_arrays: int = 0
    array_ops: int = 0
    cuts: int = 0
    emits: int = 0
    texture_normal: int = 0
    texture_loads: int = 0
    texture_compares: int = 0
    texture_bias: int = 0
    texture_gradients: int = 0
    movs: int = 0
    movcs: int = 0
    conversions: int = 0
    bitwise: int = 0
    input_primitive: int = 0
    output_topology: int = 0
    max_output_vertices: int = 0
    gathers: int = 0
    lod_queries: int = 0
    sample_frequency: int = 0
    # From here on shader model 5.
    gs_instances: int = 0
    control_points: int = 0
    tess_output_primitive: int = 0
    tess_partitioning: int = 0
    tess_domain: int = 0
    barriers: int = 0
    interlocked: int = 0
    texture_stores: int = 0

    @classmethod
    def parse(cls, data: bytes) -> Statistics:
        """Read a chunk payload of 29 (shader model 4) or 37 dwords.  :raises DxbcError: any other size."""
        if len(data) not in (4 * 29, 4 * 37):
            raise DxbcError(f"STAT of {len(data)} bytes, it has 116 or 148", 0)
        return cls(*struct.unpack(f"<{len(data) // 4}I", data))

    def to_bytes(self, major: int = 5) -> bytes:
        """The chunk payload for that shader model.  :raises DxbcError: a count beyond 32 bits."""
        values = [getattr(self, f.name) for f in fields(self)][: 37 if major >= 5 else 29]
        try:
            return struct.pack(f"<{len(values)}I", *values)
        except struct.error:
            raise DxbcError("STAT: a count does not fit a dword") from None
