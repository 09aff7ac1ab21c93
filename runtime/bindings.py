"""What is bound to the pipeline, and the rule that nothing is read and written at once.

Owns the slots. Knows which slot conflicts with which; tells the driver nothing: :mod:`runtime.output_commands` does. The counts of
uses are on the resources (``inputs``, ``outputs``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from wddm.client.enums import DsvFlag
from wddm.ddi.dxgiformat import DXGI_FORMAT, FORMATS

from .objects import DeviceObject
from .queries import Query
from .resources import Resource
from .shaders import InputLayout, Shader
from .states import State
from .views import DepthStencilView, RenderTargetView, ShaderResourceView, UnorderedAccessView, View

STAGES: Final = 6
CONSTANT_BUFFERS: Final = 14
SHADER_RESOURCES: Final = 128
SAMPLERS: Final = 16
VERTEX_BUFFERS: Final = 32
RENDER_TARGETS: Final = 8
UAVS: Final = 8
SO_BUFFERS: Final = 4
VIEWPORTS: Final = 16

_STENCIL_PLANE: Final = (DXGI_FORMAT.X24_TYPELESS_G8_UINT, DXGI_FORMAT.X32_TYPELESS_G8X24_UINT)


class Bindings:
    """The slots of one immediate context, empty at first. ``om_uavs`` counts from slot 0 like render targets do."""

    def __init__(self) -> None:
        self.shaders: list[Shader | None] = [None] * STAGES
        self.constant_buffers: list[list[Resource | None]] = [[None] * CONSTANT_BUFFERS for _ in range(STAGES)]
        self.shader_resources: list[list[ShaderResourceView | None]] = [[None] * SHADER_RESOURCES for _ in range(STAGES)]
        self.samplers: list[list[State | None]] = [[None] * SAMPLERS for _ in range(STAGES)]
        self.cs_uavs: list[UnorderedAccessView | None] = [None] * UAVS
        self.layout: InputLayout | None = None
        self.topology = 0
        self.vertex_buffers: list[Resource | None] = [None] * VERTEX_BUFFERS
        self.strides = [0] * VERTEX_BUFFERS
        self.offsets = [0] * VERTEX_BUFFERS
        self.index_buffer: Resource | None = None
        self.index_format = 0
        self.index_offset = 0
        self.so_buffers: list[Resource | None] = [None] * SO_BUFFERS
        self.so_offsets = [0] * SO_BUFFERS
        self.render_targets: list[RenderTargetView | None] = [None] * RENDER_TARGETS
        self.depth_stencil: DepthStencilView | None = None
        self.om_uavs: list[UnorderedAccessView | None] = [None] * UAVS
        self.blend: State | None = None
        self.blend_factor: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
        self.sample_mask = 0xFFFF_FFFF
        self.depth_state: State | None = None
        self.stencil_ref = 0
        self.rasterizer: State | None = None
        self.viewports: list[Any] = []
        self.scissors: list[Any] = []
        self.predicate: Query | None = None
        self.predicate_value = False

    def groups(self) -> tuple[Sequence[object], ...]:
        """All slots, a sequence for each kind and stage. A kind of slot has the same place in every answer."""
        single = (self.layout, self.index_buffer, self.depth_stencil, self.blend, self.depth_state, self.rasterizer, self.predicate)
        many = (self.shaders, self.cs_uavs, self.vertex_buffers, self.so_buffers, self.render_targets, self.om_uavs)
        return (single, *many, *self.constant_buffers, *self.samplers, *self.shader_resources)

    def holder(self, found: DeviceObject) -> int | None:
        """The place in :meth:`groups` of slots that hold the object (a resource: as a buffer), None when no slot does."""
        return next((at for at, slots in enumerate(self.groups()) if found in slots), None)

    # ----- outputs ---------------------------------------------------------------------------------------------------------

    def output_views(self) -> Iterator[View]:
        """Every view that the pipeline writes through."""
        for view in (*self.render_targets, *self.om_uavs, *self.cs_uavs):
            if view is not None:
                yield view
        if self.depth_stencil is not None:
            yield self.depth_stencil

    def written(self, view: ShaderResourceView) -> bool:
        """Whether a shader-resource view overlaps something that is bound for writing."""
        resource = view.resource
        if any(resource is buffer for buffer in self.so_buffers):
            return True
        return any(out.overlaps(view) and writes_what(out, view) for out in self.output_views())

    def buffer_written(self, buffer: Resource) -> bool:
        """Whether a buffer is bound for writing."""
        return any(buffer is b for b in self.so_buffers) or any(v.resource is buffer for v in self.output_views())


def writes(view: DepthStencilView) -> bool:
    """Whether a depth-stencil view writes any plane."""
    read_only = DsvFlag(view.flags)
    if not read_only & DsvFlag.READ_ONLY_DEPTH and FORMATS[view.format].depth:
        return True
    return FORMATS[view.format].stencil and not read_only & DsvFlag.READ_ONLY_STENCIL


def writes_what(out: View, view: ShaderResourceView) -> bool:
    """Whether ``out``, which overlaps ``view``, writes what ``view`` reads: of depth and stencil, its plane."""
    if not isinstance(out, DepthStencilView):
        return True
    flag = DsvFlag.READ_ONLY_STENCIL if view.format in _STENCIL_PLANE else DsvFlag.READ_ONLY_DEPTH
    return not out.flags & flag
