"""Value classes of the API: viewports, boxes, mapped memory, results of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "Box",
    "FrameStatistics",
    "InputElement",
    "Mapped",
    "PipelineStatistics",
    "Rect",
    "RenderTargetBlend",
    "StencilOps",
    "StreamOutputElement",
    "StreamOutputStatistics",
    "TimestampDisjoint",
    "VerticalBlank",
    "Viewport",
]


class Viewport(NamedTuple):
    """D3D11_VIEWPORT: pixels, and depths in 0..1."""

    top_left_x: float
    top_left_y: float
    width: float
    height: float
    min_depth: float = 0.0
    max_depth: float = 1.0


class Rect(NamedTuple):
    """D3D11_RECT: right and bottom are outside."""

    left: int
    top: int
    right: int
    bottom: int


class Box(NamedTuple):
    """D3D11_BOX: right, bottom and back are outside."""

    left: int
    top: int
    front: int
    right: int
    bottom: int
    back: int


class InputElement(NamedTuple):
    """D3D11_INPUT_ELEMENT_DESC; a plain tuple with at least three members serves as well."""

    semantic_name: str
    semantic_index: int
    format: int
    input_slot: int = 0
    aligned_byte_offset: int = 0xFFFF_FFFF
    input_slot_class: int = 0
    instance_data_step_rate: int = 0


class StreamOutputElement(NamedTuple):
    """D3D11_SO_DECLARATION_ENTRY; ``semantic_name`` None makes a gap of ``component_count`` components."""

    stream: int
    semantic_name: str | None
    semantic_index: int
    start_component: int
    component_count: int
    output_slot: int = 0


@dataclass(frozen=True, slots=True)
class RenderTargetBlend:
    """D3D11_RENDER_TARGET_BLEND_DESC with the API's defaults."""

    blend_enable: bool = False
    src_blend: int = 2
    dest_blend: int = 1
    blend_op: int = 1
    src_blend_alpha: int = 2
    dest_blend_alpha: int = 1
    blend_op_alpha: int = 1
    render_target_write_mask: int = 15


@dataclass(frozen=True, slots=True)
class StencilOps:
    """D3D11_DEPTH_STENCILOP_DESC with the API's defaults."""

    stencil_fail_op: int = 1
    stencil_depth_fail_op: int = 1
    stencil_pass_op: int = 1
    stencil_func: int = 8


class VerticalBlank(NamedTuple):
    """Which vertical blank, and when in nanoseconds."""

    vblank_count: int
    time_ns: int


class FrameStatistics(NamedTuple):
    """DXGI_FRAME_STATISTICS; ``sync_qpc_time`` in nanoseconds."""

    present_count: int
    present_refresh_count: int
    sync_refresh_count: int
    sync_qpc_time: int
    sync_gpu_time: int


class TimestampDisjoint(NamedTuple):
    """D3D11_QUERY_DATA_TIMESTAMP_DISJOINT: ticks per second, and whether timestamps in between are worthless."""

    frequency: int
    disjoint: bool


class PipelineStatistics(NamedTuple):
    """D3D11_QUERY_DATA_PIPELINE_STATISTICS."""

    ia_vertices: int
    ia_primitives: int
    vs_invocations: int
    gs_invocations: int
    gs_primitives: int
    c_invocations: int
    c_primitives: int
    ps_invocations: int
    hs_invocations: int
    ds_invocations: int
    cs_invocations: int


class StreamOutputStatistics(NamedTuple):
    """D3D11_QUERY_DATA_SO_STATISTICS."""

    num_primitives_written: int
    primitives_storage_needed: int


@dataclass(slots=True)
class Mapped:
    """D3D11_MAPPED_SUBRESOURCE. ``data`` is uint8, valid until unmap; pitches in bytes."""

    data: npt.NDArray[np.uint8]
    row_pitch: int
    depth_pitch: int

    def view(self, dtype: Any) -> npt.NDArray[Any]:
        """The bytes as an array of ``dtype`` (what does not fill a whole element is left out)."""
        kind = np.dtype(dtype)
        return self.data[: self.data.size // kind.itemsize * kind.itemsize].view(kind)
